"""How things of a scene stand to each other, for phrases that pick a thing by its place.

Thresholds, and what they were chosen by. LIBERO-Spatial's ten texts ("next to the ramekin", ...) must each hold of the
bowl that LIBERO means, and only "next to the ramekin" in task 0 also of the other one, in all 50 initial states.
Measured there after settling, smallest to largest over the states [m]:

- gap between the outlines of a bowl and what it is called next to: 0.000 to 0.057 (tasks 1, 6, 8); of the two bowls
  and the ramekin in task 0: 0.000 to 0.068; to the nearest bowl that stands on the table and is not called so: 0.098.
- from the middle of the bowl "between" to the line that joins the middles of the two others: 0.000 to 0.023; the other
  bowl's: 0.095 to 0.145.
- from the middle of the bowl at the "table center" to that of the table: 0.075 to 0.076; the next bowl on the table
  that is called otherwise: 0.130.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np

from gym_grounding.adapters.libero.geometry import Array, Box, Geometry, gap
from gym_grounding.adapters.libero.predicates import Judge
from gym_grounding.types import Goal, Predicate, SceneFacts

NEAR = 0.08
"""Largest gap between the outlines of things that are next to each other [m]."""
BESIDE = 0.30
"""Largest gap between the outlines of a thing and what it is left of, right of, behind or in front of [m]."""
IN_LINE = 0.06
"""Largest distance of a thing's middle from the line between two others that it is between [m]."""
CENTRE = 0.10
"""Largest distance of a thing's middle from that of the work surface for it to be at its centre [m]."""
LEVEL = 0.01
"""A thing stands on the work surface when it is at most this much above [m]."""
RIM = 0.03
"""A thing is on another when its lowest point is at most this much below the other's highest one [m]: inside a rim,
or beside a knob."""

Relation = tuple[str, str, str]


class Relations:
    """Which relations hold in a simulator's present state.

    Args:
        env: LIBERO's problem object.
        scene: its scene.
        geometry: of the same ``env``.
        judge: of the same ``env``.
    """

    def __init__(self, env: Any, scene: SceneFacts, geometry: Geometry, judge: Judge) -> None:
        self._env, self._geometry, self._judge = env, geometry, judge
        self._movable = [entity.name for entity in scene.of_kind("object")]
        self._surface = next(entity.name for entity in scene.of_kind("surface"))
        self._sites = {entity.name: entity.category for entity in scene.of_kind("site")}
        self._supports = {entity.name: entity.supports for entity in scene.of_kind("site")}

    def holding(self) -> set[Relation]:
        """(relation, movable thing, reference) of every relation that holds now.

        Relations: ``on``, ``in``, ``under``; ``next to`` and ``between`` among things on one support; ``near``, as
        ``next to`` whatever they stand on; ``left``, ``right``, ``front``, ``behind`` on the nearest of the four sides;
        ``center``. References are objects and fixtures, for ``on`` and ``in`` their regions as well; for ``between``
        two names in alphabetical order, joined by a blank; for ``center`` the work surface.
        """
        geometry = self._geometry
        self._boxes = {name: geometry.box(name) for name in geometry.names}
        self._outlines = {name: geometry.outline(name) for name in geometry.names}
        self._contacts = geometry.touching()
        stacked = {*self._resting(), *self._inside()}
        stacked |= {("under", b, a) for relation, a, b in stacked if relation == "on" and b in self._movable}
        found = set(stacked)
        for name in self._movable:
            if self._on_surface(name) and self._from_centre(name) <= CENTRE:
                found.add(("center", name, self._surface))
            for other in geometry.names:
                if other != name:
                    found |= {(relation, name, other) for relation in self._pairwise(name, other, stacked)}
        return found | set(self._between(stacked))

    def _resting(self) -> Iterator[Relation]:
        for name in self._movable:
            for other, box in self._boxes.items():
                if other != name and (self._holds("on", name, other, movable=True) or self._on_top(name, box, other)):
                    yield ("on", name, other)
            for site, carrier in self._sites.items():
                if "on.reference" in self._supports[site] and carrier != name and self._holds("on", name, site):
                    yield ("on", name, site)
                    yield ("on", name, carrier)

    def _inside(self) -> Iterator[Relation]:
        for name in self._movable:
            for site, carrier in self._sites.items():
                if "in.reference" not in self._supports[site] or carrier == name:
                    continue
                if self._holds("in", name, site) or self._within(name, site):
                    yield ("in", name, site)
                    yield ("in", name, carrier)

    def _pairwise(self, name: str, other: str, stacked: set[Relation]) -> Iterator[str]:
        mine, its = self._boxes[name], self._boxes[other]
        if its.covers(mine.centre) and mine.high[2] <= its.low[2] + LEVEL:
            yield "under"
        if {(relation, *pair) for relation in ("on", "in") for pair in ((name, other), (other, name))} & stacked:
            return
        between = self._gap(name, other)
        if between <= NEAR:
            yield "near"
            if _supports(name, stacked) == _supports(other, stacked):
                yield "next to"
        along_x, along_y = (mine.centre - its.centre)[:2]
        if between <= BESIDE:
            if abs(along_x) >= abs(along_y):
                yield "front" if along_x > 0 else "behind"
            if abs(along_y) >= abs(along_x):
                yield "right" if along_y > 0 else "left"

    def _between(self, stacked: set[Relation]) -> Iterator[Relation]:
        for name in self._movable:
            level = _supports(name, stacked)
            others = [other for other in self._boxes if other != name and _supports(other, stacked) == level]
            for first, second in combinations(sorted(others), 2):
                if _in_line(self._boxes[name], self._boxes[first], self._boxes[second]):
                    yield ("between", name, f"{first} {second}")

    def _holds(self, predicate: str, name: str, reference: str, movable: bool = False) -> bool:
        if movable and reference not in self._movable:
            return False
        return self._judge.holds(Goal((Predicate(predicate, (name, reference)),)))

    def _on_top(self, name: str, box: Box, other: str) -> bool:
        mine = self._boxes[name]
        touching = frozenset((name, other)) in self._contacts
        return touching and box.covers(mine.centre) and bool(mine.low[2] >= box.high[2] - RIM)

    def _within(self, name: str, site: str) -> bool:
        """Whether a thing's middle is in a region's box, 1 cm let through; LIBERO turns the box the wrong way round."""
        data = self._env.sim.data
        place, turn = data.get_site_xpos(site), data.get_site_xmat(site)
        local = turn.T @ (self._boxes[name].centre - place)
        return bool(np.all(np.abs(local) <= np.array(self._env.object_sites_dict[site].size) + LEVEL))

    def _on_surface(self, name: str) -> bool:
        return bool(self._boxes[name].low[2] <= self._geometry.origin[2] + LEVEL)

    def _from_centre(self, name: str) -> float:
        return float(np.linalg.norm((self._boxes[name].centre - self._geometry.origin)[:2]))

    def _gap(self, name: str, other: str) -> float:
        rough = _box_gap(self._boxes[name], self._boxes[other])
        return gap(self._outlines[name], self._outlines[other]) if rough <= BESIDE else rough


def _supports(name: str, stacked: set[Relation]) -> frozenset[str]:
    """What a thing is on or in; nothing for what stands on the work surface."""
    return frozenset(reference for relation, one, reference in stacked if one == name and relation in ("on", "in"))


def _in_line(box: Box, first: Box, second: Box) -> bool:
    start, end, point = first.centre[:2], second.centre[:2], box.centre[:2]
    length = float(np.linalg.norm(end - start))
    if length == 0:
        return False
    direction = (end - start) / length
    along = float((point - start) @ direction)
    aside = float(abs(direction[0] * (point - start)[1] - direction[1] * (point - start)[0]))
    return 0 < along < length and aside <= IN_LINE


def _box_gap(first: Box, second: Box) -> float:
    """Horizontal distance of two boxes [m]; never more than that of the outlines within them."""
    apart: Array = np.maximum(0, np.maximum(first.low, second.low) - np.minimum(first.high, second.high))
    return float(np.linalg.norm(apart[:2]))

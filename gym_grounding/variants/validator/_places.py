"""Places that a goal names: boxes beside things, made from where the things stand, and whether they are free."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping

from gym_grounding.types import Goal, Predicate, Region, SceneFacts
from gym_grounding.variants.types import Footprint, Layout

SIDES: Mapping[str, tuple[int, int]] = {"front": (1, 0), "behind": (-1, 0), "left": (0, -1), "right": (0, 1)}
"""Side of a thing -> direction in the frame of the work surface, (x, y)."""
GAP = 0.02
"""Free space between a thing and the box beside it [m]."""
HALF_SIDE = 0.05
"""Half the side of a box for one thing [m]."""
HALF_SIDE_OF_TWO = 0.08
"""Half the side of a box for two things [m]."""
HALF_SIDE_OF_TWO_WIDE = 0.10
"""The same for two wide things [m]."""
WIDE = 0.12
"""Distance of their origins from which two things side by side count as wide [m]; the smaller box leaves 4 cm more."""
NEAR, FAR = 0.30, 0.80
"""Distances from the robot's base within which the arm puts things down [m]."""
DECIMALS = 4
"""Digits of a box's corners [m]."""


def added(literals: Collection[Predicate], scene: SceneFacts, layout: Layout) -> tuple[Region, ...]:
    """The boxes that literals name and that the scene does not have; names that spell no box are left out.

    Args:
        literals: of one goal; how many of them name a box decides on its size.
        scene: their scene.
        layout: where things stand.
    """
    named: dict[str, list[str]] = {}
    for literal in sorted(literals):
        if literal.name == "on" and literal.args[-1] not in scene.entities:
            named.setdefault(literal.args[-1], []).append(literal.args[0])
    boxes = (_box(name, tuple(moved), scene, layout) for name, moved in named.items())
    return tuple(box for box in boxes if box is not None)


def spelled(name: str, scene: SceneFacts) -> tuple[str, str, str] | None:
    """(surface, thing, side) of a name such as ``main_table_plate_1_right``; None when it spells no box."""
    for surface in scene.of_kind("surface"):
        for side in SIDES:
            thing = name.removeprefix(f"{surface.name}_").removesuffix(f"_{side}")
            entity = scene.entities.get(thing)
            whole = f"{surface.name}_{thing}_{side}" == name
            if whole and entity is not None and entity.kind in ("object", "fixture"):
                return surface.name, thing, side
    return None


def taken(goal: Goal, scene: SceneFacts, layout: Layout) -> Iterator[str]:
    """Why a place that the goal names cannot take what shall be put there, one reason at a time."""
    moved = {literal.args[0] for literal in goal.all_of if literal.name in ("on", "in")}
    for region in goal.regions:
        yield from _out_of_reach(region, layout)
        own = spelled(region.name, scene)
        for name, footprint in sorted(layout.footprints.items()):
            if name not in moved and (own is None or name != own[1]) and _overlap(region, footprint):
                yield f"{region.name} overlaps {name}"
    for literal in goal.all_of:
        if literal.name == "on" and literal.args[1] in scene.entities:
            yield from _occupied(literal, moved, layout)


def step(literal: Predicate, scene: SceneFacts, layout: Layout) -> float:
    """How far above the work surface a literal's target stands [m]; 0 for a place on the surface itself."""
    target = scene.entities.get(literal.args[-1])
    if target is None or target.kind == "zone":
        return 0.0
    footprint = layout.footprints.get(target.category if target.kind == "site" else target.name)
    return footprint.top if footprint is not None else 0.0


def _box(name: str, moved: tuple[str, ...], scene: SceneFacts, layout: Layout) -> Region | None:
    parts = spelled(name, scene)
    if parts is None or parts[1] not in layout.footprints:
        return None
    surface, thing, side = parts
    at, half = layout.footprints[thing], _half_side(moved, layout)
    x, y = (at.x_min + at.x_max) / 2, (at.y_min + at.y_max) / 2
    along_x, along_y = SIDES[side]
    x += along_x * ((at.x_max - at.x_min) / 2 + GAP + half)
    y += along_y * ((at.y_max - at.y_min) / 2 + GAP + half)
    corners = (round(value, DECIMALS) for value in (x - half, y - half, x + half, y + half))
    x_min, y_min, x_max, y_max = corners
    return Region(name, surface, (x_min, y_min, x_max, y_max))


def _half_side(moved: tuple[str, ...], layout: Layout) -> float:
    if len(moved) < 2:
        return HALF_SIDE
    shapes = [layout.footprints[name] for name in moved if name in layout.footprints]
    # Predicates read a body's origin: two origins in the box are as far apart as two halves of the things.
    apart = sum(max(shape.x_max - shape.x_min, shape.y_max - shape.y_min) / 2 for shape in shapes)
    return HALF_SIDE_OF_TWO_WIDE if apart > WIDE else HALF_SIDE_OF_TWO


def _out_of_reach(region: Region, layout: Layout) -> Iterator[str]:
    x_min, y_min, x_max, y_max = region.ranges
    distance = math.dist(((x_min + x_max) / 2, (y_min + y_max) / 2), layout.robot)
    if distance < NEAR:
        yield f"the centre of {region.name} is {distance:.3f} m from the robot's base, under {NEAR:.2f} m"
    if distance > FAR:
        yield f"the centre of {region.name} is {distance:.3f} m from the robot's base, over {FAR:.2f} m"


def _overlap(region: Region, footprint: Footprint) -> bool:
    x_min, y_min, x_max, y_max = region.ranges
    apart = x_max <= footprint.x_min or footprint.x_max <= x_min or y_max <= footprint.y_min or footprint.y_max <= y_min
    return not apart


def _occupied(literal: Predicate, moved: Collection[str], layout: Layout) -> Iterator[str]:
    for (relation, thing, reference), states in sorted(layout.relations.items()):
        if relation == "on" and reference == literal.args[1] and thing not in moved and states:
            yield f"{thing} stands on {reference} in {states} of {layout.of} settled states"

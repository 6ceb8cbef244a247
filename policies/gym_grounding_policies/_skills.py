"""What the scripted policy knows of LIBERO-Goal's scene: shapes, grasps and places, and which goals they serve.

Lengths in metres, world frame, z up. The numbers are read off the collision geoms of the compiled scene (robosuite
model XML of the objects; table arena of LIBERO); a simulator test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gym_grounding.types import Goal, Predicate, Region
from gym_grounding_policies._rotation import Array, heading, turn

Row = Mapping[str, NDArray[np.float64]]
"""The observation of one episode."""

TABLE = 0.900
"""Height of the table's top."""
LIFT = 0.15
"""How far above its start an object is held for a ``lifted`` goal; the predicate asks for 0.10."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A movable object, in its own frame.

    Attributes:
        bottom, top: lowest and highest point relative to the origin.
        radius: largest distance from the vertical axis.
        floor: height above the origin at which something laid on or into it comes to rest.
        grip: height above the origin at which the fingers hold it.
        rim: distance from the axis at which the fingers hold it; 0 for a grasp through the middle.
        hang: lowest point relative to the origin while held; dishes held at the rim sag.
        slack: how far above ``grip`` the fingers may close; more where they meet the table first.
        across: angle of the closing axis in the object's frame [rad] for a grasp through the middle; None if any does.
    """

    bottom: float
    top: float
    radius: float
    floor: float
    grip: float
    rim: float = 0.0
    hang: float = 0.0
    slack: float = 0.007
    across: float | None = None


SHAPES: Mapping[str, Shape] = {
    "akita_black_bowl_1": Shape(0.0016, 0.0521, 0.054, 0.007, grip=0.032, rim=0.048),
    "cream_cheese_1": Shape(-0.0089, 0.0089, 0.046, 0.009, grip=0.0, hang=-0.009, across=np.pi / 2),
    "wine_bottle_1": Shape(0.0011, 0.158, 0.0225, 0.158, grip=0.120),
    "plate_1": Shape(-0.0025, 0.0164, 0.073, 0.0055, grip=0.002, rim=0.055, hang=-0.07, slack=0.013),
}
"""Movable objects by name. The bottle's ``floor`` is its tip: nothing is placed on it."""


SLIPPING = ("plate_1",)
"""Objects that creep out of the fingers within some hundred steps: carried, but not held up to the end."""


@dataclass(frozen=True, slots=True)
class Place:
    """A spot on a fixture or on the table.

    Attributes:
        carrier: fixture whose pose moves it; empty for the table.
        offset: of the spot relative to the carrier's origin, in the carrier's frame; absolute for the table.
    """

    carrier: str
    offset: tuple[float, float, float]


PLACES: Mapping[str, Place] = {
    # Body "burner" of the stove and the top of its collision box; the site cook_region has the burner's x and y.
    "flat_stove_1_cook_region": Place("flat_stove_1", (0.15, 0.0, 0.0255)),
    # Site top_side of the cabinet; the board's upper face is 1.5 mm above the site.
    "wooden_cabinet_1_top_side": Place("wooden_cabinet_1", (0.0035, 0.0157, 0.223)),
    # BDDL :ranges (-0.09 0.17 -0.01 0.25) of main_table, whose centre is the world's origin.
    "main_table_stove_front_region": Place("", (-0.05, 0.21, TABLE)),
}
SURFACE = "main_table"


@dataclass(frozen=True, slots=True)
class Obstacle:
    """An upright cylinder around something that must not be hit: a fixture, in its own frame.

    Attributes:
        centre: of the cylinder relative to the fixture's origin.
        radius, top: size; ``top`` is relative to the origin.
    """

    centre: tuple[float, float]
    radius: float
    top: float


FIXTURES: Mapping[str, tuple[Obstacle, ...]] = {
    "wooden_cabinet_1": (Obstacle((0.0035, 0.0157), 0.16, 0.223),),
    "flat_stove_1": (Obstacle((0.15, 0.0), 0.13, 0.0255), Obstacle((-0.01, 0.0), 0.055, 0.051)),  # burner, knob
    "wine_rack_1": (Obstacle((0.0, 0.0), 0.15, 0.335),),
}


@dataclass(frozen=True, slots=True)
class Skill:
    """Pick ``thing`` and put it at ``place``, on ``base`` (another object), or hold it up (neither)."""

    thing: str
    place: Place | None = None
    base: str | None = None

    @property
    def lifts(self) -> bool:
        """Whether the object is only held up."""
        return self.place is None and self.base is None


def skill_for(goal: Goal | None) -> Skill | None:
    """The skill that reaches ``goal``, or None: drawers, knob, rack, the plate held up, several predicates at once."""
    if goal is None or len(goal.all_of) != 1:
        return None
    (predicate,) = goal.all_of
    if not predicate.args or predicate.args[0] not in SHAPES:
        return None
    if predicate.name == "lifted":
        return Skill(predicate.args[0]) if predicate.args[0] not in SLIPPING else None
    if predicate.name != "on" or len(predicate.args) != 2:
        return None
    return _placing(predicate, goal.regions)


def _placing(predicate: Predicate, regions: tuple[Region, ...]) -> Skill | None:
    thing, target = predicate.args
    if target in SHAPES:
        return Skill(thing, base=target) if _carries(target, thing) else None
    if target in PLACES:
        return Skill(thing, PLACES[target])
    for region in regions:
        if region.name == target and region.surface == SURFACE:
            x_min, y_min, x_max, y_max = region.ranges
            return Skill(thing, Place("", ((x_min + x_max) / 2, (y_min + y_max) / 2, TABLE)))
    return None


def _carries(base: str, thing: str) -> bool:
    return base in ("plate_1", "akita_black_bowl_1", "cream_cheese_1") and thing not in (base, "plate_1")


NEEDED = ("robot0_eef_pos", "robot0_eef_quat", *(f"{n}_{p}" for n in (*SHAPES, *FIXTURES) for p in ("pos", "quat")))
"""Observation keys that every skill reads."""
FINGERS = ("robot0_gripper_qpos", "robot0_gripper_qvel")
"""Observation keys that tell, without memory, whether something is held."""


def spot(skill: Skill, row: Row) -> Array:
    """Where the object's origin belongs, shape (3,); not for a lift."""
    if skill.base is not None:
        support = row[f"{skill.base}_pos"] + np.array([0.0, 0.0, SHAPES[skill.base].floor])
    else:
        assert skill.place is not None
        support, carrier = np.array(skill.place.offset), skill.place.carrier
        if carrier:
            support = row[f"{carrier}_pos"] + turn(row[f"{carrier}_quat"], support)
    return np.append(support[:2], support[2] - SHAPES[skill.thing].bottom)


def grasp(thing: str, row: Row) -> tuple[Array, float]:
    """Grip point (3,) and angle of the closing axis seen from above [rad].

    A rim is held on the side towards +y, away from the cabinet's handles and the rack, so that the hand needs no turn
    from its rest.
    """
    shape, origin = SHAPES[thing], row[f"{thing}_pos"]
    point = origin + np.array([0.0, shape.rim, shape.grip])
    if shape.across is None:
        return point, np.pi / 2
    return point, heading(row[f"{thing}_quat"]) + shape.across


def clearance(row: Row, start: Array, end: Array, width: float, ignore: tuple[str, ...]) -> float:
    """Height of the highest thing within ``width`` of the way from ``start`` to ``end`` seen from above."""
    height = TABLE
    for centre, radius, top in _obstacles(row, ignore):
        if _distance(centre, start[:2], end[:2]) < radius + width:
            height = max(height, top)
    return height


def _obstacles(row: Row, ignore: tuple[str, ...]) -> list[tuple[Array, float, float]]:
    found = [
        (row[f"{name}_pos"][:2], shape.radius, float(row[f"{name}_pos"][2] + shape.top))
        for name, shape in SHAPES.items()
        if name not in ignore
    ]
    for name, obstacles in FIXTURES.items():
        origin = row[f"{name}_pos"]
        for obstacle in obstacles:
            centre = origin + turn(row[f"{name}_quat"], np.array([*obstacle.centre, 0.0]))
            found.append((centre[:2], obstacle.radius, float(origin[2] + obstacle.top)))
    return found


def _distance(point: Array, start: Array, end: Array) -> float:
    """Distance of ``point`` from the segment, shapes (2,)."""
    along = end - start
    length = float(along @ along)
    share = 0.0 if length < 1e-12 else float(np.clip((point - start) @ along / length, 0.0, 1.0))
    return float(np.linalg.norm(point - start - share * along))

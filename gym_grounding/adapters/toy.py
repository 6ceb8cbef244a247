"""A small world in NumPy alone: a hand, a few things on a table, drawers and lamps. It carries the fast tests.

Any scene of a registry can be built: objects stand on an inner ring, fixtures and zones on an outer one, in file order,
moved a little by the initial state. The hand moves freely; closing the gripper grasps the object at the hand, or, where
there is none, flips the joint whose handle is there (a drawer opens or shuts, a lamp goes on or off). What is let go
falls straight down onto the highest support below it.

Frames: x to the front (towards the camera), y to the right, z up from the table's surface; all lengths in metres.

Surprises:
    Gripper: +1 closes, -1 opens, 0 keeps it; only the sign counts, as in LIBERO.
    Initial states hang 2 cm above the table and fall in the first control step, so settling matters.
    A joint is at 0 (shut, off) or 1 (open, on); a preset may be anything, and over 0.5 counts as open or on.
    An object in a drawer stays reachable from above, also when the drawer is shut.
    Pictures in ``raw`` orientation have their rows reversed, as LIBERO's have.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from gym_grounding.adapters._base import Expert, Observation
from gym_grounding.errors import InvalidOption, RegistryError, SimulatorError
from gym_grounding.types import Entity, Goal, Predicate, Region, SceneFacts, SceneSettings, Task

STRIDE = 0.05
"""Way of the hand per control step at full action [m]."""
HALF_WIDTH = 0.40
"""Half the side of the square table [m]."""
HOVER = 0.20
"""Height of the hand at the start [m]."""
CEILING = 0.30
"""Greatest height of the hand [m]."""
LIFT = 0.10
"""``lifted`` asks for this much above the height after settling [m]."""
_INNER, _OUTER = 0.14, 0.30
_OBJECT_HEIGHT, _OBJECT_REACH, _GRASP_DEPTH = 0.04, 0.03, 0.02
_FIXTURE_HEIGHT, _FIXTURE_HALF = 0.06, 0.05
_SITE_HALF, _SITE_SPACING, _ZONE_HALF = 0.04, 0.09, 0.05
_DRAWER_FLOOR = 0.01
_HANG = 0.02
_TOLERANCE = 0.005
_SHIFTS, _DRAWS = (0.03, 0.08), 1000
_RENDER_SIZE = 128
_PREDICATES = ("on", "in", "open", "close", "turnon", "turnoff", "lifted")

Point = list[float]


@dataclass(frozen=True, slots=True)
class _Box:
    """A square place, its centre, half side and the height on which things rest [m]."""

    x: float
    y: float
    half_x: float
    half_y: float
    top: float

    def covers(self, point: Point) -> bool:
        return abs(point[0] - self.x) < self.half_x and abs(point[1] - self.y) < self.half_y


class ToyScene:
    """One table. See the module's docstring for its rules, ``adapters.Scene`` for its methods."""

    def __init__(self, scene: SceneFacts, settings: SceneSettings) -> None:
        self._settings = settings
        self._objects = scene.of_kind("object")
        self._fixed = scene.of_kind("fixture", "zone")
        self._sites = scene.of_kind("site")
        self._fixtures = scene.of_kind("fixture")
        self._handles = tuple(e for e in (*self._sites, *self._fixtures) if e.joints and not self._drawers(e))
        self._layout = _state_layout(scene)
        self._hand: Point = [0.0, 0.0, HOVER]
        self._home: Point = list(self._hand)
        self._closed = False
        self._held: str | None = None
        self._hanging = False
        self._steps = 0
        self._points: dict[str, Point] = {}
        self._settled: dict[str, float] = {}
        self._joints: dict[str, float] = {}
        self._boxes: dict[str, _Box] = {}

    def reset(self, task: Task, init_state: int, joints: Mapping[str, float] | None = None) -> Observation:
        if not 0 <= init_state < task.init_states:
            raise InvalidOption(f"init_state {init_state} of {task.id}: choose 0 to {task.init_states - 1}")
        self._place(task.id, init_state)
        self._hand, self._closed, self._held, self._steps = [0.0, 0.0, HOVER], False, None, 0
        self._joints = {entity.name: 0.0 for entity in self._handles}
        for name, position in (joints or {}).items():
            if name not in self._joints:
                raise InvalidOption(f"no joint {name!r} in this scene; it has {', '.join(self._joints) or 'none'}")
            self._joints[name] = float(position)
        idle = np.zeros(4)
        for _ in range(self._settings.settle_steps):
            self._advance(idle)
        self._home = list(self._hand)
        self._settled = {entity.name: self._points[entity.name][2] for entity in self._objects}
        return self._observe()

    def step(self, action: NDArray[np.float64]) -> Observation:
        self._advance(action)
        return self._observe()

    def holds(self, goal: Goal) -> bool:
        return all(self._holds(predicate, goal.regions) for predicate in goal.all_of)

    def displacement(self) -> float:
        return math.dist(self._hand, self._home)

    def state(self) -> NDArray[np.float64]:
        numbers = [float(self._steps), *self._hand, float(self._closed)]
        for entity in self._objects:
            numbers += self._points[entity.name]
        return np.array(numbers + list(self._joints.values()))

    def render(self) -> NDArray[np.uint8]:
        return self._draw(_RENDER_SIZE)

    def close(self) -> None:
        """Nothing to give back."""

    def _place(self, task: str, init_state: int) -> None:
        seed = int.from_bytes(hashlib.sha256(task.encode()).digest()[:4], "big")
        count = len(self._fixed) + len(self._objects)
        shifts = np.random.default_rng([seed, init_state]).uniform(-1.0, 1.0, (count, 2))
        for index, entity in enumerate(self._fixed):
            angle = 2.0 * math.pi * (index + 0.5) / len(self._fixed)
            x, y = _ring(_OUTER, angle, 0.01 * shifts[index])
            is_fixture = entity.kind == "fixture"
            half = _FIXTURE_HALF if is_fixture else _ZONE_HALF
            self._boxes[entity.name] = _Box(x, y, half, half, _FIXTURE_HEIGHT if is_fixture else 0.0)
        for fixture in self._fixtures:
            self._place_sites(fixture)
        for index, entity in enumerate(self._objects):
            x, y = _ring(_INNER, 2.0 * math.pi * index / len(self._objects), 0.02 * shifts[len(self._fixed) + index])
            self._points[entity.name] = [x, y, _HANG]
        if self._settings.starts == "displaced":
            self._displace(task, np.random.default_rng([seed, init_state, 1]))
        self._hanging = True

    def _displace(self, task: str, generator: np.random.Generator) -> None:
        """Shift every object by 3 to 8 cm, to where it has room and nothing lies under it."""
        for entity in self._objects:
            point = self._points[entity.name]
            others = [self._points[other.name] for other in self._objects if other is not entity]
            for _ in range(_DRAWS):
                x, y = _ring(generator.uniform(*_SHIFTS), generator.uniform(0.0, 2.0 * math.pi), point)
                roomy = all(math.dist((x, y), other[:2]) >= 2 * _OBJECT_REACH for other in others)
                if roomy and not any(box.covers([x, y]) for box in self._boxes.values()):
                    self._points[entity.name] = [x, y, _HANG]
                    break
            else:
                raise SimulatorError(f"{entity.name} of {task} finds no place 3 to 8 cm away; use the starts 'libero'")

    def _place_sites(self, fixture: Entity) -> None:
        body = self._boxes[fixture.name]
        sites = [site for site in self._sites if site.category == fixture.name]
        for index, site in enumerate(sites):
            y = body.y + _SITE_SPACING * (index - (len(sites) - 1) / 2)
            self._boxes[site.name] = _Box(body.x, y, _SITE_HALF, _SITE_HALF, body.top)

    def _drawers(self, entity: Entity) -> tuple[Entity, ...]:
        return tuple(site for site in self._sites if site.category == entity.name and site.joints)

    def _advance(self, action: NDArray[np.float64]) -> None:
        dx, dy, dz, grip = action.tolist()
        hand = self._hand
        hand[0] = min(max(hand[0] + STRIDE * dx, -HALF_WIDTH), HALF_WIDTH)
        hand[1] = min(max(hand[1] + STRIDE * dy, -HALF_WIDTH), HALF_WIDTH)
        hand[2] = min(max(hand[2] + STRIDE * dz, 0.0), CEILING)
        self._steps += 1
        if grip > 0.0 and not self._closed:
            self._closed = True
            self._grasp_or_flip()
        elif grip < 0.0 and self._closed:
            self._closed, self._held = False, None
            self._fall()
        if self._held is not None:
            self._points[self._held] = [hand[0], hand[1], max(hand[2] - _OBJECT_HEIGHT / 2, 0.0)]
        if self._hanging:
            self._fall()

    def _grasp_or_flip(self) -> None:
        x, y, z = self._hand
        for entity in self._objects:
            point = self._points[entity.name]
            near = math.hypot(point[0] - x, point[1] - y) <= _OBJECT_REACH
            if near and abs(point[2] + _OBJECT_HEIGHT / 2 - z) <= _GRASP_DEPTH:
                self._held = entity.name
                self._fall()
                return
        for entity in self._handles:
            box = self._boxes[entity.name]
            if math.hypot(box.x - x, box.y - y) <= _OBJECT_REACH and abs(z - box.top) <= _OBJECT_REACH:
                self._joints[entity.name] = 1.0 - self._joints[entity.name]
                return

    def _fall(self) -> None:
        """Everything that is not held comes to rest, lowest first, so that stacks survive."""
        self._hanging = False
        resting: list[Point] = []
        for entity in sorted(self._objects, key=lambda entity: self._points[entity.name][2]):
            if entity.name == self._held:
                continue
            point = self._points[entity.name]
            point[2] = self._support(point, resting)
            resting.append(point)

    def _support(self, point: Point, resting: list[Point]) -> float:
        heights = [0.0]
        for entity in (*self._fixed, *self._sites):
            box = self._boxes[entity.name]
            if box.covers(point):
                if self._joints.get(entity.name, 0.0) > 0.5 and entity.kind == "site":
                    return _DRAWER_FLOOR
                # What lies in a drawer stays there when the drawer is shut.
                heights.append(box.top if point[2] > _DRAWER_FLOOR + _TOLERANCE else point[2])
        heights += [
            other[2] + _OBJECT_HEIGHT
            for other in resting
            if math.hypot(point[0] - other[0], point[1] - other[1]) < _OBJECT_REACH
        ]
        return max(heights)

    def _holds(self, predicate: Predicate, regions: tuple[Region, ...]) -> bool:
        name, subject = predicate.name, predicate.args[0]
        if name in ("open", "close"):
            names = [site.name for site in self._sites if site.category == subject and site.joints] or [subject]
            is_open = [self._joints[joint] > 0.5 for joint in names]
            return any(is_open) if name == "open" else not any(is_open)
        if name in ("turnon", "turnoff"):
            return (self._joints[subject] > 0.5) == (name == "turnon")
        point = self._points[subject]
        if name == "lifted":
            return point[2] >= self._settled[subject] + LIFT - 1e-9
        if name not in ("on", "in"):
            raise RegistryError(f"the toy adapter has no predicate {name!r}; it has {', '.join(_PREDICATES)}")
        return subject != self._held and self._rests(point, name, predicate.args[1], regions)

    def _rests(self, point: Point, name: str, reference: str, regions: tuple[Region, ...]) -> bool:
        if reference in self._points:
            other = self._points[reference]
            near = math.hypot(point[0] - other[0], point[1] - other[1]) < _OBJECT_REACH
            return near and abs(point[2] - other[2] - _OBJECT_HEIGHT) < _TOLERANCE
        box = self._boxes.get(reference) or _region_box(reference, regions)
        height = _DRAWER_FLOOR if name == "in" else box.top
        return box.covers(point) and abs(point[2] - height) < _TOLERANCE

    def _observe(self) -> Observation:
        numbers = [*self._hand, float(self._closed)]
        observation: Observation = {}
        if self._settings.observation != "pixels":
            for kind, name in self._layout:
                numbers += self._read(kind, name)
            flat = np.array(numbers)
            start = 4
            for kind, name in self._layout:
                end = start + (3 if kind != "joint" else len(self._read(kind, name)))
                observation[f"{name}_joint_pos" if kind == "joint" else f"{name}_pos"] = flat[start:end]
                start = end
        else:
            flat = np.array(numbers)
        observation["hand_pos"], observation["hand_gripper"] = flat[:3], flat[3:4]
        if self._settings.observation != "state":
            observation["table_image"] = _orient(self._draw(self._settings.image_size), self._settings.orientation)
        return observation

    def _read(self, kind: str, name: str) -> list[float]:
        if kind == "point":
            return self._points[name]
        if kind == "box":
            box = self._boxes[name]
            return [box.x, box.y, box.top]
        names = [site.name for site in self._sites if site.category == name and site.joints] or [name]
        return [self._joints[joint] for joint in names]

    def _draw(self, size: int) -> NDArray[np.uint8]:
        """The table from above, upright: rows to the front (+x), columns to the right (+y); brighter is higher."""
        picture = np.full((size, size, 3), 60, np.uint8)
        scale = size / (2 * HALF_WIDTH)

        def square(x: float, y: float, half: float, colour: tuple[int, int, int]) -> None:
            low_x, high_x, low_y, high_y = (
                max(int((edge + HALF_WIDTH) * scale), 0) for edge in (x - half, x + half, y - half, y + half)
            )
            picture[low_x : high_x + 1, low_y : high_y + 1] = colour

        for index, entity in enumerate((*self._fixed, *self._sites)):
            box = self._boxes[entity.name]
            lit = 120 * int(self._joints.get(entity.name, 0.0) > 0.5)
            square(box.x, box.y, box.half_x, (90 + lit, 90 + (37 * index) % 100, 120))
        for index, entity in enumerate(self._objects):
            x, y, z = self._points[entity.name]
            square(x, y, _OBJECT_HEIGHT / 2, (200, (80 * index) % 256, min(int(400 * z), 255)))
        square(self._hand[0], self._hand[1], 0.01, (0, 255, 0) if self._closed else (255, 255, 255))
        return picture


class ToyAdapter:
    """Opens toy scenes.

    Observations: ``hand_pos`` (3) [m] and ``hand_gripper`` (1, 1 when closed) always; ``table_image`` (size, size, 3)
    uint8 with ``pixels`` and ``both``; with ``state`` and ``both`` also NAME_pos (3) [m] of every object, fixture,
    site and zone, and NAME_joint_pos (k) of every fixture with k joints. Actions: Box(-1, 1, (4,)): the hand's way
    along x, y and z in units of ``STRIDE``, and the gripper.
    """

    name = "toy"
    fps = 20

    def observation_space(self, scene: SceneFacts, settings: SceneSettings) -> spaces.Dict:
        shapes = {"hand_pos": 3, "hand_gripper": 1}
        if settings.observation != "pixels":
            for kind, name in _state_layout(scene):
                joints = scene.entities[name].joints
                shapes[f"{name}_joint_pos" if kind == "joint" else f"{name}_pos"] = joints if kind == "joint" else 3
        boxes: dict[str, spaces.Space[NDArray[np.generic]]] = {}
        for key, length in shapes.items():
            boxes[key] = spaces.Box(-np.inf, np.inf, (length,), np.float64)
        if settings.observation != "state":
            boxes["table_image"] = spaces.Box(0, 255, (settings.image_size, settings.image_size, 3), np.uint8)
        return spaces.Dict(boxes)

    def action_space(self, scene: SceneFacts) -> spaces.Box:
        return spaces.Box(-1.0, 1.0, (4,), np.float32)

    def open(self, scene: SceneFacts, tasks: Mapping[str, Task], settings: SceneSettings) -> ToyScene:
        return ToyScene(scene, settings)

    def expert(self, scene: SceneFacts, tasks: Mapping[str, Task], goal: Goal) -> Expert:
        """Plays a goal of the scene."""
        from gym_grounding.adapters._toy_expert import ToyExpert

        return ToyExpert(scene, goal)

    def verify(self, task: Task) -> None:
        """Toy tasks have no source files."""

    def versions(self) -> dict[str, str]:
        return {"numpy": np.__version__}


def _state_layout(scene: SceneFacts) -> tuple[tuple[str, str], ...]:
    """What the state observation lists: (``point``, ``box`` or ``joint``, entity name)."""
    points = [("point", entity.name) for entity in scene.of_kind("object")]
    boxes = [("box", entity.name) for entity in scene.of_kind("fixture", "zone", "site")]
    joints = [("joint", entity.name) for entity in scene.of_kind("fixture") if entity.joints]
    return (*points, *boxes, *joints)


def _ring(radius: float, angle: float, shift: Sequence[float] | NDArray[np.float64]) -> tuple[float, float]:
    return radius * math.cos(angle) + float(shift[0]), radius * math.sin(angle) + float(shift[1])


def _region_box(name: str, regions: tuple[Region, ...]) -> _Box:
    for region in regions:
        if region.name == name:
            x_min, y_min, x_max, y_max = region.ranges
            return _Box((x_min + x_max) / 2, (y_min + y_max) / 2, (x_max - x_min) / 2, (y_max - y_min) / 2, 0.0)
    raise RegistryError(f"goal names {name!r}, which is neither in the toy scene nor an added region")


def _orient(upright: NDArray[np.uint8], orientation: str) -> NDArray[np.uint8]:
    if orientation == "upright":
        return upright
    return np.ascontiguousarray(upright[::-1] if orientation == "raw" else upright[:, ::-1])


ADAPTER = ToyAdapter()

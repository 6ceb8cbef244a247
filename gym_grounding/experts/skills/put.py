"""Pick a thing up and put it somewhere."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from gym_grounding.adapters import Frame
from gym_grounding.errors import NoPlan
from gym_grounding.experts.control import CLOSED, METRES, OPENED, Command, turn_between
from gym_grounding.experts.skills._base import DONE, FAILED, RUNNING, Step
from gym_grounding.experts.skills._way import Relief, over
from gym_grounding.experts.skills.grasp import LEANS, Grasp, Ways, axes, blocker, candidates, near
from gym_grounding.experts.skills.release import Destination, Release
from gym_grounding.experts.world import OPEN, World

Array = NDArray[np.float64]

DOWN = np.array([0.0, 0.0, -1.0])
FETCH, CLOSE, LIFT, CARRY, LET_GO, RETREAT = "fetch", "close", "lift", "carry", "let go", "retreat"
TRIES = 5
"""Grasps tried before the deed is given up."""
CLEAR = 0.05
"""Room between the hand, or what it holds, and what it passes over [m]."""
BLOCKED = 25.0
"""A grasp that costs more than this is not tried: the hand would run into things."""
GENTLE = 0.012
"""Offset asked for in one step when something is laid down askew: it must not be pushed out of the fingers [m]."""
PATIENCE = 30
"""Steps that a thing gets to come to rest once it is let go."""
OVER_SILL = 0.012
"""How high over its rest a thing is carried in from the side [m]."""
STEEP, NARROW = 1.5, 8.0
"""How far it stays back on its way in for each metre beside its line: from above, and from the side."""
TURNS = (0.0, np.pi / 2, -np.pi / 2, np.pi)
"""Turns about the vertical that are tried for what goes in from the side [rad]."""
SWING = 0.6
"""Largest turn of the hand that brings a thing back that swung about the fingers [rad]."""
SETTLES = 0.01
"""How near its place it is set down then [m]."""
STUCK = 6
"""Steps without coming nearer after which a thing close to its place lies on something."""
UPSET = 0.35
"""A thing that has turned by more since its grasp was chosen needs another one [rad]."""
FALL = 0.1
"""From as high as this a thing is let fall that gets no lower [m]."""
SLOW = 260
"""Steps after which the deed is given up."""


@dataclass(frozen=True, slots=True, eq=False)
class Carrying:
    """What a pick or a put remembers.

    Attributes:
        phase: what it does.
        grasp: how it holds the thing.
        release: where it lets go.
        drop: how far above the rest pose it lets go [m].
        relief: what stands around.
        bottom: height of the thing's lowest point relative to its origin at rest [m].
        since: steps in this phase.
        steps: steps in all.
        height: height of the thing's origin when it was taken [m].
        held: the thing in the hand's frame when it was taken; None before.
        failed: grasps that failed, in the thing's frame.
        spot: where the fingers close, shape (3,), world [m].
        nearest: how near the thing has come to its place along the entry [m].
        stuck: steps in which it has come no nearer.
        turn: of the thing about the vertical, from how it was taken to its place, shape (3, 3).
    """

    phase: str
    grasp: Grasp
    release: Release | None
    drop: float
    relief: Relief
    bottom: float
    since: int = 0
    steps: int = 0
    height: float = 0.0
    held: Frame | None = None
    failed: tuple[Frame, ...] = ()
    spot: Array | None = None
    nearest: float = np.inf
    stuck: int = 0
    turn: Array = field(default_factory=lambda: np.eye(3))


@dataclass(frozen=True, slots=True)
class Put:
    """Pick ``thing`` up, carry it to ``destination``, let it go and draw back."""

    thing: str
    destination: Destination

    @property
    def words(self) -> str:
        """Such as ``put plate_1 on flat_stove_1_cook_region``."""
        return f"put {self.thing} {self.destination.words}"

    def done(self, world: World) -> bool:
        """Whether the thing rests at its place and the hand is off it."""
        return self.destination.reached(world, self.thing) and off(world, self.thing)

    def advance(self, world: World, memory: Carrying | None) -> Step:
        """See ``Skill.advance``."""
        if memory is None:
            memory = self._begun(world)
        if memory.steps > SLOW:
            return Step(Command(None, grip=OPENED), None, FAILED, f"not done after {SLOW} steps, while: {memory.phase}")
        memory = replace(memory, steps=memory.steps + 1, since=memory.since + 1)
        if memory.phase in (FETCH, CLOSE, LIFT):
            return pick(self, world, memory)
        return self._place(world, memory)

    def _begun(self, world: World, failed: tuple[Frame, ...] = ()) -> Carrying:
        memory = planned(world, self.thing, self.destination, failed)
        if is_held(world, self.thing):
            held = _in_hand(world, self.thing)
            return replace(memory, phase=CARRY, held=held, height=float(world.frame(self.thing).position[2]))
        return memory

    def again(self, world: World, memory: Carrying, reason: str) -> Step:
        """Another grasp, or the end."""
        failed = (*memory.failed, memory.grasp.hand)
        if len(failed) >= TRIES:
            return Step(Command(None, grip=OPENED), None, FAILED, reason)
        try:
            following = planned(world, self.thing, self.destination, failed)
        except NoPlan as problem:
            return Step(Command(None, grip=OPENED), None, FAILED, f"{reason}; {problem}")
        return Step(Command(None, grip=OPENED), replace(following, steps=memory.steps))

    def _place(self, world: World, memory: Carrying) -> Step:
        if memory.phase == CARRY:
            return self._carry(world, memory)
        if memory.phase == LET_GO:
            if world.width > min(OPEN - 0.006, memory.grasp.width + 0.02) or memory.since > 12:
                memory = _to(memory, RETREAT)
            return Step(Command(world.hand.position, world.hand.rotation, OPENED), memory, careful=True)
        return self._retreat(world, memory)

    def _carry(self, world: World, memory: Carrying) -> Step:
        assert memory.release is not None
        if dropped(world, self.thing, memory):
            if self.destination.reached(world, self.thing):
                return Step(Command(world.hand.position, world.hand.rotation, OPENED), _to(memory, LET_GO))
            return self.again(world, memory, f"{self.thing} slipped out of the fingers")
        release, way = memory.release, _way(world, self.thing, memory)
        memory = _watched(memory, way.along if way.inside else np.inf)
        if _there(memory, way):
            return Step(Command(world.hand.position, way.rotation, OPENED), _to(memory, LET_GO), careful=True)
        careful, gently = way.inside and way.along < 0.03, way.inside and release.rotation is not None
        aim = self._funnel(release, way) if way.inside else self._cruise(world, memory, way)
        target = world.hand.position + aim - world.frame(self.thing).position
        return Step(Command(target, way.rotation, CLOSED, reach=GENTLE if gently else METRES), memory, careful=careful)

    @staticmethod
    def _funnel(release: Release, way: Way) -> Array:
        """Where the thing should head for on the last piece of its way: deeper the closer it is to its line."""
        steep = STEEP if _downward(release) else NARROW
        aim = way.goal - release.entry * float(np.clip(steep * (way.error - 0.008), 0, release.depth))
        aim = aim - release.entry * min(0.05, 0.1 * way.turn)
        result: Array = aim + 0.01 * release.entry - way.sagging * DOWN
        return result

    def _cruise(self, world: World, memory: Carrying, way: Way) -> Array:
        """Where it should head for before that: over everything to the beginning of the last piece."""
        assert memory.release is not None
        now, lowest = world.frame(self.thing).position, float(world.cloud(self.thing)[:, 2].min())
        before = way.goal - memory.release.entry * memory.release.depth
        top = memory.relief.highest(now[:2], before[:2], self._breadth(world) + 0.015)
        height = top + CLEAR + now[2] - lowest
        if float(np.linalg.norm(before[:2] - now[:2])) < 0.03:
            height = before[2]
        return over(now, np.array([*before[:2], max(before[2], height)]), height, 0.03)

    def _breadth(self, world: World) -> float:
        cloud = world.cloud(self.thing)[:, :2]
        return float(np.linalg.norm(cloud - world.frame(self.thing).position[:2], axis=1).max())

    def _retreat(self, world: World, memory: Carrying) -> Step:
        release, hand = memory.release, world.hand
        back = -hand.rotation[:, 2]
        if release is not None and release.entry[2] > -0.7:
            back = -release.entry
        target = hand.position + 0.04 * back + np.array([0.0, 0.0, 0.01])
        clear = off(world, self.thing)
        if clear and not self.destination.reached(world, self.thing) and memory.since < PATIENCE:
            return Step(Command(hand.position, hand.rotation, OPENED), memory)  # it may still be sliding into place
        if clear or memory.since > PATIENCE:
            status = DONE if self.destination.reached(world, self.thing) else FAILED
            reason = "" if status == DONE else f"{self.thing} did not stay where it was put"
            return Step(Command(target, hand.rotation, OPENED), memory, status, reason)
        return Step(Command(target, hand.rotation, OPENED), memory)


def planned(world: World, thing: str, destination: Destination | None, failed: tuple[Frame, ...]) -> Carrying:
    """Grasp and release for a thing.

    Raises:
        NoPlan: no grasp, or no room at the destination; names what could be moved out of the way.
    """
    releases: list[Release | None] = [None]
    if destination is not None:
        releases = list(destination.releases(world, thing))
    frame, cloud, others = world.frame(thing), world.cloud(thing), world.others({thing})
    leans = LEANS if any(one is None or one.entry[2] < -0.7 for one in releases) else (0.5, 1.0, 1.4)
    found = [one for one in candidates(world, thing, world.hand.rotation, leans) if not _alike(one, failed)]
    if not found:
        raise NoPlan(f"{thing} cannot be taken hold of: nothing of it fits between the fingers")
    chosen = _together(Ways(found, world, thing, near(others, frame.position)), releases, others)
    if chosen is None:
        raise NoPlan(f"{thing} cannot be taken hold of: the arm does not get there")
    if chosen.grasp.cost > BLOCKED:
        stops = blocker(world, thing, frame.then(chosen.grasp.hand))
        if stops or len(failed) >= 2:
            raise NoPlan(f"{thing} cannot be taken hold of: {stops or 'something'} is in the way of every grasp", stops)
    bottom = float(cloud[:, 2].min() - frame.position[2])
    relief = Relief.of(others, world.anatomy.ground)
    return Carrying(FETCH, chosen.grasp, chosen.release, chosen.drop, relief, bottom, failed=failed, turn=chosen.turn)


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """A grasp and a release that go together, see ``Carrying``; the grasp's cost is that of both."""

    grasp: Grasp
    release: Release | None
    drop: float
    turn: Array


def _together(ways: Ways, releases: list[Release | None], others: Array) -> Match | None:
    """The grasp, the release and the height to fall that go together best; None where the arm gets to none."""
    chosen: Match | None = None
    for rank, release in enumerate(releases):
        for drop in _drops(release):
            for angle in TURNS if release is not None and _any_turn(release) else (0.0,):
                turn = Rotation.from_rotvec([0.0, 0.0, angle]).as_matrix()
                goal = None if release is None else _goal(release, drop, turn @ ways.frame.rotation)
                grasp = ways.best(goal, np.empty((0, 3)) if goal is None else near(others, goal.position))
                cost = np.inf if grasp is None else grasp.cost + 2.0 * rank + 20 * drop + 0.3 * abs(angle)
                if grasp is not None and (chosen is None or cost < chosen.grasp.cost):
                    chosen = Match(replace(grasp, cost=cost), release, drop, turn)
        if chosen is not None and chosen.grasp.cost < 6.0 + 2.0 * rank:
            break
    return chosen


def _goal(release: Release, drop: float, rotation: Array) -> Frame:
    rotation = rotation if release.rotation is None else release.rotation
    return Frame(release.position - release.entry * drop, rotation)


def _any_turn(release: Release) -> bool:
    """Whether a thing that goes in from the side may be turned about the vertical."""
    return release.rotation is None and not _downward(release)


@dataclass(frozen=True, slots=True, eq=False)
class Way:
    """How a held thing is off its place.

    Attributes:
        goal: where its origin should come to, shape (3,), world [m].
        rotation: the hand's axes for it, shape (3, 3), world.
        along: what is left to go along the entry [m].
        error: how far it is beside that line [m].
        turn: how far the hand is from ``rotation`` [rad].
        sagging: how much lower than planned it hangs [m].
        inside: whether it is on the last piece of the way.
    """

    goal: Array
    rotation: Array
    along: float
    error: float
    turn: float
    sagging: float
    inside: bool


def _way(world: World, thing: str, memory: Carrying) -> Way:
    assert memory.release is not None
    release, frame, downward = memory.release, world.frame(thing), _downward(memory.release)
    rotation = _turned(world, thing, memory)
    goal = release.position - release.entry * memory.drop
    sagging = max(0.0, (frame.position[2] + memory.bottom) - float(world.cloud(thing)[:, 2].min()))
    along = float((goal - frame.position) @ release.entry)
    if not downward and release.rotation is None and along > SETTLES:
        goal = goal - (sagging + OVER_SILL) * DOWN
    error = float(np.linalg.norm(goal - frame.position - along * release.entry))
    turn = float(np.linalg.norm(turn_between(world.hand.rotation, rotation)))
    # What hangs askew is set down flat: once over its place it is lowered as if it did not hang.
    sagging *= float(np.clip((error - release.slack) / 0.01, 0, 1)) if downward else 0.0
    return Way(goal, rotation, along, error, turn, sagging, error < 0.06 and along < release.depth + 0.03)


def _turned(world: World, thing: str, memory: Carrying) -> Array:
    """The hand's axes, shape (3, 3), world, with which the thing comes to its place."""
    assert memory.release is not None
    assert memory.held is not None
    if memory.release.rotation is not None:
        return np.asarray(memory.release.rotation @ memory.held.rotation.T)
    if not _downward(memory.release):
        return np.asarray(memory.turn @ _levelled(world, thing, memory))
    if memory.stuck > 2 * STUCK:
        return axes(np.array([0.0, 1.0, 0.0]))  # the wrist may be at its end: any turn will do for the thing
    return memory.grasp.rotation


def _there(memory: Carrying, way: Way) -> bool:
    """Whether it may be let go: at its place, or lying on something close to it."""
    assert memory.release is not None
    if way.along - way.sagging < 0.006 and way.error < memory.release.slack and way.turn < 0.15:
        return True
    askew = memory.release.rotation is not None and memory.stuck > STUCK // 3
    if askew and memory.nearest < 0.04 and way.error < 0.03:
        return True
    if _downward(memory.release) and memory.stuck > PATIENCE and way.along < FALL and way.error < 0.025:
        return True  # it gets no lower in the hand, whose own size stops it
    return memory.stuck > STUCK and way.along < 0.025 and way.error < 0.02


def _downward(release: Release) -> bool:
    return bool(release.entry[2] < -0.7)


def _levelled(world: World, thing: str, memory: Carrying) -> Array:
    """Hand axes, shape (3, 3), that bring a thing that swung about the fingers back to how it stood when taken."""
    assert memory.held is not None
    stood = memory.grasp.rotation @ memory.held.rotation
    swung = stood @ (memory.grasp.rotation @ _in_hand(world, thing).rotation).T
    vector = Rotation.from_matrix(swung).as_rotvec()
    angle = float(np.linalg.norm(vector))
    back = Rotation.from_rotvec(vector * min(1.0, SWING / angle) if angle > 0 else vector).as_matrix()
    levelled: Array = back @ memory.grasp.rotation
    return levelled


def _drops(release: Release | None) -> tuple[float, ...]:
    """Heights above the rest from which a thing may be let fall.

    Where the way in is deep the hand often has no room to go along; what the fall costs is weighed against that.
    """
    if release is None:
        return (0.0,)
    most = max(release.free, 0.75 * release.depth if release.entry[2] < -0.7 and release.depth > 0.08 else 0.0)
    return (0.0,) if most <= 0.01 else (0.0, most / 3, 2 * most / 3, most)


def _watched(memory: Carrying, along: float) -> Carrying:
    if along < memory.nearest - 0.001:
        return replace(memory, nearest=along, stuck=0)
    return replace(memory, stuck=memory.stuck + 1 if np.isfinite(along) else 0)


def _alike(one: Grasp, failed: tuple[Frame, ...]) -> bool:
    return any(np.linalg.norm(one.hand.position - other.position) < 0.008 for other in failed)


def pick(deed: object, world: World, memory: Carrying) -> Step:
    """The phases until the thing is off its support; ``deed`` has ``thing`` and ``again``."""
    thing: str = deed.thing  # type: ignore[attr-defined]
    frame, hand = world.frame(thing), world.hand
    target = Frame(frame.apply(memory.grasp.hand.position), memory.grasp.rotation)
    if memory.phase == FETCH:
        if float(np.linalg.norm(turn_between(memory.grasp.rotation, frame.then(memory.grasp.hand).rotation))) > UPSET:
            return deed.again(world, memory, f"{thing} was knocked over")  # type: ignore[attr-defined, no-any-return]
        return _fetch(deed, world, memory, target)
    if memory.phase == CLOSE:
        if memory.since >= 7 and (abs(world.closing) < 0.01 or memory.since > 16):
            if world.width < 0.0015 or not is_held(world, thing):
                return deed.again(world, memory, f"the fingers closed beside {thing}")  # type: ignore[attr-defined, no-any-return]
            held = _in_hand(world, thing)
            memory = replace(_to(memory, LIFT), held=held, height=float(frame.position[2]))
        return Step(Command(memory.spot, memory.grasp.rotation, CLOSED), memory, careful=True)
    assert memory.held is not None
    if dropped(world, thing, memory) or memory.since > 40:
        return deed.again(world, memory, f"{thing} slipped out of the fingers")  # type: ignore[attr-defined, no-any-return]
    if frame.position[2] > memory.height + 0.012 and memory.since > 3:
        memory = _to(memory, CARRY)
    up = np.array([*hand.position[:2], memory.height + 0.04 + hand.position[2] - frame.position[2]])
    return Step(Command(up, hand.rotation, CLOSED, reach=0.03), memory, careful=True)


def _fetch(deed: object, world: World, memory: Carrying, target: Frame) -> Step:
    hand, approach = world.hand, target.rotation[:, 2]
    offset = target.position - hand.position
    depth = float(offset @ approach)
    lateral = float(np.linalg.norm(offset - depth * approach))
    turn = float(np.linalg.norm(turn_between(hand.rotation, target.rotation)))
    if lateral < 0.006 and abs(depth) < memory.grasp.slack and turn < 0.12 and world.width > memory.grasp.width:
        memory = replace(_to(memory, CLOSE), spot=target.position)
        return Step(Command(target.position, target.rotation, CLOSED), memory, careful=True)
    if memory.since > 70:
        return deed.again(world, memory, "the hand does not get there")  # type: ignore[attr-defined, no-any-return]
    backing = float(np.clip(1.5 * (lateral - 0.007), 0, 0.08)) + min(0.05, 0.12 * max(0.0, turn - 0.1))
    if world.width < memory.grasp.width + 0.004:
        backing = max(backing, 0.05)
    aim = target.position - backing * approach
    if lateral > 0.10 or (depth > 0.12 and lateral > 0.03):
        top = memory.relief.highest(hand.position[:2], aim[:2], 0.07)
        aim = over(hand.position, aim, max(top + CLEAR, aim[2]), 0.03)
    careful = lateral < 0.02 and abs(depth) < 0.02
    return Step(Command(aim, target.rotation, OPENED), memory, RUNNING, careful=careful)


def is_held(world: World, thing: str) -> bool:
    """Whether the thing is between closed fingers, as far as an observation shows it."""
    if world.width > OPEN - 0.004:
        return False
    points = world.hand.inverse(world.cloud(thing))
    inside = (np.abs(points[:, 1]) < 0.014) & (np.abs(points[:, 2]) < 0.016)
    return bool(np.any(inside & (np.abs(points[:, 0]) < world.width / 2 + 0.008)))


def off(world: World, thing: str) -> bool:
    """Whether the hand is away from the thing: nothing of it near the open fingers."""
    points = world.hand.inverse(world.cloud(thing))
    near = (
        (np.abs(points[:, 0]) < 0.10) & (np.abs(points[:, 1]) < 0.04) & (points[:, 2] < 0.04) & (points[:, 2] > -0.14)
    )
    return not bool(near.any())


def dropped(world: World, thing: str, memory: Carrying) -> bool:
    """Whether the thing has left the place in the hand where it was taken, or the hand."""
    assert memory.held is not None
    now, then = (float(np.linalg.norm(one.position)) for one in (_in_hand(world, thing), memory.held))
    return not is_held(world, thing) or abs(now - then) > 0.03  # a dish may swing about the fingers


def _in_hand(world: World, thing: str) -> Frame:
    frame = world.frame(thing)
    return Frame(world.hand.inverse(frame.position), world.hand.rotation.T @ frame.rotation)


def _to(memory: Carrying, phase: str) -> Carrying:
    return replace(memory, phase=phase, since=0, nearest=np.inf, stuck=0)

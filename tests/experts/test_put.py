"""Picking up, carrying, setting down and holding, on a bench without forces."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from experts.bench import Bench, run
from experts.scenes import GROUND, anatomy, block, ring
from scipy.spatial.transform import Rotation

from gym_grounding.adapters import Frame
from gym_grounding.errors import NoPlan
from gym_grounding.experts.control import action
from gym_grounding.experts.skills import DONE, FAILED
from gym_grounding.experts.skills._way import Relief
from gym_grounding.experts.skills.grasp import Grasp
from gym_grounding.experts.skills.hold import Hold
from gym_grounding.experts.skills.put import PATIENCE, Carrying, Put, Way, _there, _turned
from gym_grounding.experts.skills.release import Release

HALF = (0.03, 0.02, 0.03)
START, PLACE = np.array([0.05, -0.15, GROUND + 0.03]), np.array([0.0, 0.2, GROUND + 0.03])
LOWER = np.array([0.0, 0.0, 0.027])


@dataclass(frozen=True)
class At:
    """A destination at a fixed pose."""

    release: Release
    wanted: Release | None = None

    words = "there"

    def releases(self, world, thing):
        return [self.release]

    def reached(self, world, thing):
        rest = (self.wanted or self.release).position
        near = np.linalg.norm(world.frame(thing).position - rest) < 0.02
        return bool(near and world.cloud(thing)[:, 2].min() < rest[2])


def bench(position=START, others=(), **options):
    """A block, and ``others``: name -> (movable, pieces, position)."""
    bodies = {"thing_1": (True, (block(HALF),), ())}
    poses = {"thing_1": Frame(np.array(position, float), np.eye(3))}
    for name, (movable, pieces, where) in dict(others).items():
        bodies[name] = (movable, pieces, ())
        poses[name] = Frame(np.array(where, float), np.eye(3))
    return Bench(anatomy(**bodies), poses, "thing_1", 2 * HALF[1], **options)


def there(**changes):
    return Put("thing_1", At(replace(Release(PLACE), **changes)))


def test_a_thing_is_put_where_it_belongs_and_the_hand_draws_back():
    table, deed = bench(), there()
    answer, steps, phases = run(table, deed)
    assert answer.status == DONE, answer.reason
    assert np.linalg.norm(table.poses["thing_1"].position[:2] - PLACE[:2]) < 0.012
    assert deed.done(table.world())
    assert list(dict.fromkeys(phases)) == ["fetch", "close", "lift", "carry", "let go", "retreat"]
    assert steps < 110
    assert table.hand.position[2] > PLACE[2] + 0.04


@pytest.mark.parametrize("moment", [3, 15, 25, 30, 36, 45, 60])
def test_a_lost_memory_is_made_up_for_by_looking(moment):
    table = bench()
    answer, steps, _ = run(table, there(), forget=(moment,))
    assert answer.status == DONE, answer.reason
    assert steps < 150


def test_what_is_held_already_is_not_let_go_of_first():
    table = bench()
    run_to_carry(table)
    _, _, phases = run(table, there())
    assert phases[0] == "carry"
    assert "fetch" not in phases


def run_to_carry(table):
    deed, memory = there(), None
    while memory is None or memory.phase != "carry":
        answer = deed.advance(table.world(), memory)
        memory = answer.memory
        table.step(action(answer.command, table.hand))


def test_what_falls_out_of_the_fingers_is_picked_up_again():
    table = bench(loses=12)
    answer, _, phases = run(table, there())
    assert answer.status == DONE, answer.reason
    assert phases.count("fetch") > 20
    assert table.loses is None


def test_what_cannot_be_gripped_is_given_up_with_a_reason():
    answer, _, phases = run(bench(slips=True), there(), limit=500)
    assert answer.status == FAILED
    assert "the fingers closed beside thing_1" in answer.reason
    assert phases.count("close") >= 20


def test_a_hand_that_does_not_get_there_gives_up():
    answer, _, _ = run(bench(stuck=GROUND + 0.12), there(), limit=500)
    assert answer.status == FAILED
    assert "while: fetch" in answer.reason


def test_other_grasps_are_tried_after_one_that_failed():
    table, deed, memory, grasps = bench(slips=True), there(), None, []
    for _ in range(160):
        answer = deed.advance(table.world(), memory)
        memory = answer.memory
        if memory is None:
            break
        if not any(memory.grasp is one for one in grasps):
            grasps.append(memory.grasp)
        table.step(action(answer.command, table.hand))
    places = [(one.hand.position, one.hand.rotation) for one in grasps]
    assert len(places) > 1
    for number, (position, rotation) in enumerate(places):
        for other, turned in places[:number]:
            apart = np.linalg.norm(position - other) > 0.005
            assert apart or np.trace(rotation.T @ turned) < 1 + 2 * np.cos(0.2)


def test_hand_and_thing_pass_over_a_wall():
    wall = {"wall_1": (False, (block((0.3, 0.01, 0.08)),), (0.0, 0.0, GROUND + 0.08))}
    table = bench(others=wall)
    answer, _, _ = run(table, there())
    assert answer.status == DONE, answer.reason
    over = [thing.position[2] for _, thing, held in table.trace if held and abs(thing.position[1]) < 0.03]
    assert min(over) - HALF[2] > GROUND + 0.16
    assert max(thing.position[2] for _, thing, _ in table.trace) < GROUND + 0.30
    assert not table.struck(["wall_1"])


def test_no_detour_where_nothing_stands():
    table = bench()
    run(table, there())
    assert max(thing.position[2] for _, thing, _ in table.trace) < GROUND + 0.12


def test_fingers_avoid_what_stands_close():
    beside = {"box_1": (True, (block((0.02, 0.03, 0.03)),), START + np.array([0.055, 0.0, 0.0]))}
    table = bench(others=beside)
    answer, _, _ = run(table, there())
    assert answer.status == DONE, answer.reason
    assert not table.struck(["box_1"])


def test_a_thing_that_is_walled_in_names_what_is_in_the_way():
    lid = {"box_1": (True, (block((0.12, 0.12, 0.03)),), START + np.array([0.0, 0.0, 0.061]))}
    with pytest.raises(NoPlan, match="box_1 is in the way") as caught:
        there().advance(bench(others=lid).world(), None)
    assert caught.value.blocker == "box_1"


def test_a_level_entry_is_entered_and_left_level():
    table = bench()
    answer, _, _ = run(table, there(entry=np.array([0.0, 1.0, 0.0]), depth=0.12))
    assert answer.status == DONE, answer.reason
    last = [thing.position for _, thing, held in table.trace if held and thing.position[1] > PLACE[1] - 0.1]
    assert max(abs(one[2] - PLACE[2]) for one in last) < 0.03
    over = [one[2] for one in last if PLACE[1] - 0.08 < one[1] < PLACE[1] - 0.02]
    assert min(over) > PLACE[2] + 0.005  # over the sill
    assert table.hand.position[1] < PLACE[1] - 0.1


def test_a_given_rotation_is_reached():
    turn = Rotation.from_rotvec([0.0, 0.0, 1.0]).as_matrix()
    table = bench()
    answer, _, _ = run(table, there(rotation=turn))
    assert answer.status == DONE, answer.reason
    off = Rotation.from_matrix(turn @ table.poses["thing_1"].rotation.T).magnitude()
    assert off < 0.16


def test_the_hand_stays_out_of_a_deep_place():
    walls = tuple(
        block(half, centre)
        for half, centre in (
            ((0.05, 0.005, 0.07), (0.0, 0.05, 0.07)),
            ((0.05, 0.005, 0.07), (0.0, -0.05, 0.07)),
            ((0.005, 0.05, 0.07), (0.05, 0.0, 0.07)),
            ((0.005, 0.05, 0.07), (-0.05, 0.0, 0.07)),
        )
    )
    table = bench(others={"basket_1": (False, walls, (*PLACE[:2], GROUND))})
    answer, _, _ = run(table, there(free=0.13, depth=0.16, slack=0.01))
    assert answer.status == DONE, answer.reason
    assert not table.struck(["basket_1"])


def test_the_words_name_thing_and_place():
    assert there().words == "put thing_1 there"
    assert Hold("thing_1").words == "hold up thing_1"


def test_a_thing_is_held_up_for_as_long_as_it_is_asked():
    table, deed = bench(), Hold("thing_1")
    assert not deed.done(table.world())
    answer, steps, _ = run(table, deed)
    assert answer.status == DONE
    assert steps < 80
    memory = answer.memory
    for _ in range(30):
        answer = deed.advance(table.world(), memory)
        memory = answer.memory
        table.step(action(answer.command, table.hand))
        assert answer.status == DONE
    assert table.poses["thing_1"].position[2] > START[2] + 0.13
    assert deed.lasting
    assert not deed.done(table.world())


def test_a_bowl_is_carried_by_its_wall():
    scene = anatomy(bowl_1=(True, ring(0.054, 0.05), ()))
    table = Bench(scene, {"bowl_1": Frame(START - LOWER, np.eye(3))}, "bowl_1", 0.008)
    answer, _, _ = run(table, Put("bowl_1", At(Release(PLACE - LOWER))))
    assert answer.status == DONE, answer.reason
    assert np.linalg.norm(table.poses["bowl_1"].position[:2] - PLACE[:2]) < 0.012


def carrying(release, swung=0.0, **changes):
    """A block in the hand that has swung about the fingers, and what the deed remembers of it."""
    table = bench()
    rotation = table.hand.rotation
    table.poses["thing_1"] = Frame(table.hand.position, Rotation.from_rotvec([0.0, swung, 0.0]).as_matrix())
    grasp = Grasp(Frame(np.zeros(3), rotation), rotation, 0.04, 0.0)
    held = Frame(np.zeros(3), rotation.T)
    memory = Carrying("carry", grasp, release, 0.0, Relief.of(np.empty((0, 3)), GROUND), -0.03, held=held)
    return table, replace(memory, **changes)


@pytest.mark.parametrize("turn", [0.0, 1.5])
def test_what_swung_about_the_fingers_is_brought_back_level(turn):
    about = Rotation.from_rotvec([0.0, 0.0, turn]).as_matrix()
    table, memory = carrying(Release(PLACE, entry=np.array([0.0, 1.0, 0.0])), swung=0.4, turn=about)
    hand = _turned(table.world(), "thing_1", memory)
    thing = hand @ table.hand.rotation.T @ table.poses["thing_1"].rotation
    assert thing == pytest.approx(about, abs=1e-6)


@pytest.mark.parametrize(
    ("along", "error", "stuck", "there"),
    [
        (0.08, 0.01, PATIENCE + 1, True),
        (0.12, 0.01, PATIENCE + 1, False),
        (0.08, 0.03, PATIENCE + 1, False),
        (0.08, 0.01, PATIENCE, False),
    ],
)
def test_what_gets_no_lower_is_let_fall_at_last(along, error, stuck, there):
    _, memory = carrying(Release(PLACE), stuck=stuck)
    assert _there(memory, Way(PLACE, np.eye(3), along, error, 0.0, 0.0, True)) == there


def test_what_falls_while_it_is_held_up_is_picked_up_again():
    table, deed, memory, status = bench(loses=45), Hold("thing_1"), None, []
    for _ in range(200):
        answer = deed.advance(table.world(), memory)
        memory = answer.memory
        status.append(answer.status)
        table.step(action(answer.command, table.hand))
    assert table.loses is None
    assert status[-1] == DONE
    assert table.poses["thing_1"].position[2] > START[2] + 0.13

"""The expert's bookkeeping, with deeds that do as they are told."""

from dataclasses import dataclass

import numpy as np
import pytest
from experts.scenes import anatomy, block, observation

from gym_grounding.errors import NoPlan, PolicyError
from gym_grounding.experts import Expert, arm, planner
from gym_grounding.experts.control import Command
from gym_grounding.experts.expert import BLOCKED, ENDED, FREEING, PATIENCE, WAIT
from gym_grounding.experts.skills import DONE, FAILED, RUNNING, Step
from gym_grounding.types import Goal, Predicate

GOAL = Goal((Predicate("on", ("block_1", "bowl_1")),))
SEEN = observation({"block_1": (0.0, 0.0, 0.92)})


@dataclass(frozen=True)
class Deed:
    """Ends after some steps in some way."""

    name: str = "deed"
    steps: int = 2
    status: str = DONE
    lasting: bool = False
    raises: str = ""
    blocker: str = ""

    @property
    def words(self):
        return self.name

    def done(self, world):
        return False

    def advance(self, world, memory):
        if self.raises:
            raise NoPlan(self.raises, self.blocker)
        count = (memory or 0) + 1
        status = self.status if count >= self.steps else RUNNING
        target = world.hand.position + np.array([0.2, 0.0, 0.0])
        return Step(Command(target), count, status, "it would not" if status == FAILED else "", careful=count == 1)


@pytest.fixture
def expert():
    return Expert(anatomy(block_1=(True, (block((0.02, 0.02, 0.02)),), ())), GOAL)


def plan(monkeypatch, *deeds):
    """The planner hands these out one after another, then nothing."""
    left = list(deeds)
    monkeypatch.setattr(planner, "next_deed", lambda goal, world, tired: left.pop(0) if left else None)


def lived(expert, steps, seen=SEEN):
    memory, actions = expert.start(), []
    for _ in range(steps):
        action, memory = expert.act(seen, memory)
        actions.append(action)
    return np.array(actions), memory


def test_deeds_follow_one_another_until_nothing_is_left(expert, monkeypatch):
    plan(monkeypatch, Deed("one"), Deed("two"))
    actions, memory = lived(expert, 6)
    assert memory.plan == ("one", "two")
    assert memory.finished
    assert not memory.problem
    assert np.all(actions[:4, 0] == 1)
    assert np.all(actions[4:] == 0)


def test_a_deed_that_fails_is_given_up_after_some_times(expert, monkeypatch):
    plan(monkeypatch, *[Deed("same", status=FAILED)] * 10)
    _, memory = lived(expert, 20)
    assert memory.plan == ("same",) * PATIENCE
    assert memory.problem == f"same: it would not ({PATIENCE} times)"
    assert not memory.finished


def test_a_goal_without_a_plan_ends_with_the_reason(expert, monkeypatch):
    def none(goal, world, tired):
        raise NoPlan("no skill reaches it")

    monkeypatch.setattr(planner, "next_deed", none)
    actions, memory = lived(expert, 3)
    assert memory.problem == "no skill reaches it"
    assert np.all(actions == 0)


def test_what_blocks_a_deed_is_taken_aside_first(expert, monkeypatch):
    plan(monkeypatch, Deed("blocked", raises="full", blocker="block_1"))
    monkeypatch.setattr(planner, "cleared", lambda problem, goal, world, stopped: Deed(f"clear {problem.blocker}"))
    _, memory = lived(expert, 2)
    assert memory.plan == ("blocked", "clear block_1")
    assert memory.failures == 1


def test_a_deed_that_cannot_begin_is_tried_again_later_and_stays_in_the_plan(expert, monkeypatch):
    monkeypatch.setattr(planner, "next_deed", lambda goal, world, tired: Deed("stuck", raises="in the air"))
    for tries, steps in enumerate((1, WAIT + 2, 2 * WAIT + 3), start=1):
        _, memory = lived(expert, steps)
        assert memory.plan == ("stuck",) * tries
        assert lived(expert, steps - 1)[1].plan == ("stuck",) * (tries - 1)
    assert memory.problem == f"stuck: in the air ({PATIENCE} times)"


def test_what_cannot_begin_does_not_hold_up_another_deed(expert, monkeypatch):
    stuck, other = Deed("stuck", raises="in the air"), Deed("other")
    monkeypatch.setattr(planner, "next_deed", lambda goal, world, tired: other if tired.get(stuck) else stuck)
    assert lived(expert, 1)[1].plan == ("stuck", "other")


def test_what_cannot_be_taken_aside_is_tried_again(expert, monkeypatch):
    def nowhere(problem, goal, world, stopped):
        raise problem

    monkeypatch.setattr(planner, "cleared", nowhere)
    deed = Deed("blocked", raises="full", blocker="block_1")
    monkeypatch.setattr(planner, "next_deed", lambda goal, world, tired: deed)
    assert lived(expert, 3 * WAIT)[1].problem == f"blocked: full ({PATIENCE} times)"


@pytest.mark.parametrize(("key", "value"), [("block_1_pos", np.nan), ("block_1_quat", 0.0), ("robot0_eef_pos", np.inf)])
def test_poses_that_are_none_are_named(expert, key, value):
    broken = {**SEEN, key: np.full_like(SEEN[key], value)}
    with pytest.raises(PolicyError, match=key):
        Expert(expert._anatomy, Goal((Predicate("lifted", ("block_1",)),))).act(broken, expert.start())


def test_deeds_that_undo_each_other_end(expert, monkeypatch):
    plan(monkeypatch, *(Deed(str(number), steps=1) for number in range(100)))
    _, memory = lived(expert, 60)
    assert "not done after 16 deeds" in memory.problem


def test_a_lasting_deed_goes_on_when_it_is_done(expert, monkeypatch):
    plan(monkeypatch, Deed("hold", lasting=True))
    actions, memory = lived(expert, 8)
    assert memory.finished
    assert memory.plan == ("hold",)
    assert np.all(actions[:, 0] == 1)


def test_careful_steps_are_marked(expert, monkeypatch):
    plan(monkeypatch, Deed("one", steps=3))
    assert lived(expert, 1)[1].careful
    plan(monkeypatch, Deed("one", steps=3))
    assert not lived(expert, 2)[1].careful


def test_an_arm_that_does_not_move_draws_back(expert, monkeypatch):
    plan(monkeypatch, Deed("far", steps=500))
    away = observation({"block_1": (0.0, 0.0, 0.92)}, hand=(0.2, 0.1, 1.3))
    away["robot0_joint_pos"][0] += 0.6
    actions, memory = lived(expert, BLOCKED + 3, away)
    assert memory.freeing > 0
    assert actions[-1][0] < 0  # back towards the robot, though the deed wants to go on
    assert actions[-1][6] == 0  # whatever is held stays held
    assert lived(expert, BLOCKED + 3 + FREEING, away)[1].plan == ()  # (the planner has nothing left)


def test_an_arm_with_a_joint_at_its_end_draws_back_until_it_is_as_at_the_start(expert, monkeypatch):
    plan(monkeypatch, Deed("far", steps=500))
    ended = [observation({"block_1": (0.0, 0.0, 0.92)}, hand=(0.001 * step**2, 0.0, 1.3)) for step in range(ENDED + 3)]
    for seen in ended[:-1]:
        seen["robot0_joint_pos"][5] = arm.HIGH[5] - 0.01
    memory = expert.start()
    for seen in ended[:ENDED]:
        _, memory = expert.act(seen, memory)
    assert memory.freeing == FREEING
    _, memory = expert.act(ended[-2], memory)
    assert memory.freeing == FREEING - 1
    _, memory = expert.act(ended[-1], memory)
    assert memory.freeing == 0


def test_answering_leaves_no_trace(expert, monkeypatch):
    monkeypatch.setattr(planner, "next_deed", lambda goal, world, tired: Deed("one"))
    assert np.array_equal(expert.answer(SEEN), expert.answer(SEEN))

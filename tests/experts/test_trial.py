"""What one episode of the oracle shows, in scenes that say when the goal holds."""

from dataclasses import replace

import numpy as np
import pytest
from experts.scenes import anatomy, block, hinge, observation

from gym_grounding.experts import Memory, Noise, attempt, run, trial
from gym_grounding.experts.trial import REST, TOUCH, joint_positions
from gym_grounding.types import Goal, Predicate

ON = Goal((Predicate("on", ("block_1", "bowl_1")),))
SHUT = Goal((Predicate("close", ("cabinet_1",)),))
ANATOMY = anatomy(
    block_1=(True, (block((0.02, 0.02, 0.02)),), ()), cabinet_1=(False, (block((0.1, 0.1, 0.1)),), (hinge(),))
)


class Scene:
    """Holds the goal at the steps that it is told; its joint stands where it is told."""

    def __init__(self, holding, joint=lambda step: 0.0):
        self.holding, self.joint, self.steps, self.actions, self.presets = holding, joint, 0, [], None

    def reset(self, task, init_state, joints=None):
        self.steps, self.presets = 0, (task, init_state, joints)
        return self._seen()

    def step(self, action):
        self.actions.append(action)
        self.steps += 1
        return self._seen()

    def holds(self, goal):
        return self.holding(self.steps)

    def _seen(self):
        poses = {"block_1": (0.0, 0.0, 0.92), "cabinet_1": (0.0, 0.4, 1.0)}
        return observation(poses, joints={"cabinet_1": (self.joint(self.steps),)})


class Scripted:
    """Instead of the expert: finishes, or gives up, after so many steps."""

    def __init__(self, steps, problem="", careful=False):
        self.steps, self.problem, self.careful = steps, problem, careful

    def __call__(self, anatomy, goal):
        return self

    def start(self):
        return Memory(plan=("one deed",), careful=self.careful)

    def act(self, seen, memory):
        count = memory.failures + 1
        over = count >= self.steps
        problem = self.problem if over else ""
        action = np.array([0.5, 0, 0, 0, 0, 0, 1.0]) if not over else np.zeros(7)
        return action, replace(memory, failures=count, finished=over and not problem, problem=problem)


@pytest.fixture
def tried(monkeypatch):
    def judged(scene, expert, goal=ON, **options):
        monkeypatch.setattr(trial, "Expert", expert)
        return attempt(scene, scene.reset(None, 0), goal, anatomy=ANATOMY, **options)

    return judged


def test_stable_when_it_lasts_to_the_end(tried):
    found = tried(Scene(lambda step: step >= 7), Scripted(10))
    assert (found.verdict, found.first, found.problem) == ("stable", 7, "")
    assert found.steps == 10 + REST - 1
    assert found.plan == ("one deed",)


def test_transient_when_it_ends_with_the_touch(tried):
    assert tried(Scene(lambda step: 7 <= step < 12), Scripted(10)).verdict == "transient"


def test_not_reached_says_why(tried):
    found = tried(Scene(lambda step: False), Scripted(10, "no room"))
    assert (found.verdict, found.first, found.problem) == ("not_reached", -1, "no room")


def test_a_goal_that_holds_when_the_oracle_gives_up_is_not_shown_to_last(tried):
    found = tried(Scene(lambda step: step >= 3), Scripted(10, "it fell"))
    assert (found.verdict, found.problem) == ("transient", "it fell")


def test_it_must_hold_in_each_step_of_the_rest(tried):
    last = 10 + REST - 1
    assert tried(Scene(lambda step: step >= 10), Scripted(10)).verdict == "stable"
    assert tried(Scene(lambda step: step >= 11), Scripted(10)).verdict == "transient"
    assert tried(Scene(lambda step: step >= 7 and step != 15), Scripted(10)).verdict == "transient"
    assert tried(Scene(lambda step: 7 <= step < last), Scripted(10)).verdict == "transient"


def test_trivial_when_it_holds_at_the_start(tried):
    found = tried(Scene(lambda step: True), Scripted(10))
    assert (found.verdict, found.first) == ("trivial", 0)


def test_trivial_when_a_touch_makes_a_joint_literal_true(tried):
    def touched(step):
        return 0.8 * TOUCH if step >= 5 else 0.0

    def turned(step):
        return 5 * TOUCH if step >= 5 else 0.0

    assert tried(Scene(lambda step: step >= 5, touched), Scripted(10), SHUT).verdict == "trivial"
    assert tried(Scene(lambda step: step >= 5, turned), Scripted(10), SHUT).verdict == "stable"
    assert tried(Scene(lambda step: step >= 5, touched), Scripted(10), ON).verdict == "stable"


def test_the_horizon_ends_it(tried):
    found = tried(Scene(lambda step: False), Scripted(1000), horizon=30)
    assert found.steps == 30
    assert found.problem == "not finished after 30 steps"
    late = tried(Scene(lambda step: step >= 10), Scripted(1000), horizon=30)
    assert late.verdict == "transient"


def test_watchers_see_clean_and_executed_actions(tried):
    seen = []
    scene = Scene(lambda step: step >= 5)
    tried(
        scene,
        Scripted(10),
        noise=Noise(scales=(1.0,)),
        rng=np.random.default_rng(0),
        on_step=lambda *step: seen.append(step),
    )
    assert len(seen) == len(scene.actions)
    cleans, executed = np.array([one[1] for one in seen]), np.array([one[2] for one in seen])
    assert np.array_equal(executed, np.array(scene.actions))
    assert np.all(cleans[:9, 0] == 0.5)
    assert np.abs(executed[:9] - cleans[:9]).max() > 0.01
    assert np.array_equal(executed[10:], cleans[10:])  # nothing is disturbed once it has finished
    assert [one[4] for one in seen] == [step >= 5 for step in range(1, len(seen) + 1)]


def test_run_starts_the_episode_with_its_presets(monkeypatch):
    monkeypatch.setattr(trial, "Expert", Scripted(3))
    scene = Scene(lambda step: False)
    run(scene, "task", 7, ON, anatomy=ANATOMY, joints={"cabinet_1": 0.3})
    assert scene.presets == ("task", 7, {"cabinet_1": 0.3})
    run(scene, "task", 7, ON, anatomy=ANATOMY)
    assert scene.presets == ("task", 7, None)


def test_joints_of_the_robot_are_not_the_scenes():
    seen = observation({}, joints={"b_1": (0.2,), "a_1": (0.1, 0.3)})
    assert joint_positions(seen) == pytest.approx([0.1, 0.3, 0.2])
    assert joint_positions(observation({})).shape == (0,)

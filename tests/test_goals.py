"""Following goals through an episode."""

from gym_grounding.goals import NEVER, GoalTracker
from gym_grounding.types import Goal, Predicate

GOALS = {name: Goal((Predicate("on", (name, "x")),)) for name in ("original", "target", "Toy-T2")}


class Script:
    """A scene in which the named goals hold."""

    def __init__(self):
        self.now = ()

    def holds(self, goal):
        return goal.all_of[0].args[0] in self.now


def run(start, *steps):
    scene, tracker = Script(), GoalTracker(GOALS)
    scene.now = start
    tracker.start(scene)
    for number, now in enumerate(steps, start=1):
        scene.now = now
        tracker.update(scene, number)
    return tracker


def test_first_step_and_present_state():
    tracker = run((), (), ("original",), ("target",), ("original", "target"))
    assert tracker.first_held == {"original": 2, "target": 3}
    assert tracker.held == {"original", "target"}
    assert tracker.void == frozenset()
    assert [tracker.first_step(label) for label in GOALS] == [2, 3, NEVER]


def test_ever_and_end_differ_once_a_goal_is_lost():
    tracker = run((), ("original",), ())
    assert tracker.reached("original", "ever")
    assert not tracker.reached("original", "end")
    assert not tracker.counts("original")


def test_a_goal_that_holds_from_the_start_never_counts():
    tracker = run(("original",), ("original",), (), ("original", "Toy-T2"))
    assert tracker.void == {"original"}
    assert "original" in tracker.held, "the state itself is still told"
    assert tracker.first_held == {"Toy-T2": 3}
    assert not tracker.reached("original", "ever")
    assert not tracker.reached("original", "end")
    assert not tracker.counts("original")


def test_each_episode_begins_anew():
    scene, tracker = Script(), GoalTracker(GOALS)
    scene.now = ("original",)
    tracker.start(scene)
    scene.now = ("target",)
    tracker.update(scene, 1)
    scene.now = ()
    tracker.start(scene)
    assert (tracker.first_held, tracker.held, tracker.void) == ({}, frozenset(), frozenset())

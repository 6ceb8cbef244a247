"""The scripted policies without a simulator: what they have skills for, what they hear, how they answer pushes."""

import dataclasses
import itertools
import math
import os
import subprocess
import sys

import numpy as np
import pytest
from gym_grounding_policies import _rotation as rotation
from gym_grounding_policies import _skills as skills
from gym_grounding_policies._pick_place import ATTEMPTS, Progress, seen, step
from gym_grounding_policies.scripted import DEAF, LISTENING, Deaf, Listening, has_skill, meanings

from gym_grounding import make, manifest
from gym_grounding.errors import PolicyError, UnknownName
from gym_grounding.testing import check_policy
from gym_grounding.types import Goal, Predicate

BOWL, CHEESE, BOTTLE, PLATE = "akita_black_bowl_1", "cream_cheese_1", "wine_bottle_1", "plate_1"
STOVE, CABINET, FRONT = "flat_stove_1_cook_region", "wooden_cabinet_1_top_side", "main_table_stove_front_region"
UP, TURNED, REST = (0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 1.0, 0.0), (1.0, 0.0, 0.0, 0.0)
POSES = {  # LiberoGoal-T8, initial state 0, after settling, rounded to millimetres
    BOWL: ((-0.098, -0.009, 0.898), (0.0, 0.0, 0.7071, 0.7071)),
    CHEESE: ((-0.046, 0.134, 0.909), TURNED),
    BOTTLE: ((-0.204, -0.062, 0.899), TURNED),
    PLATE: ((0.062, -0.009, 0.902), (0.0, 0.0, 0.7071, 0.7071)),
    "wooden_cabinet_1": ((0.021, -0.246, 0.905), TURNED),
    "flat_stove_1": ((-0.402, 0.207, 0.905), UP),
    "wine_rack_1": ((-0.269, -0.263, 0.920), TURNED),
}


HOLDS = {  # distance of the hand from the axis (least, greatest), height above the origin, closing axis: measured
    BOWL: (0.042, 0.054, 0.015, 0.048, None),
    CHEESE: (0.0, 0.015, -0.008, 0.008, (0.0, 1.0, 0.0)),
    BOTTLE: (0.0, 0.010, 0.095, 0.150, None),
    PLATE: (0.045, 0.072, -0.006, 0.016, None),
}


@pytest.fixture(scope="module")
def registry():
    return manifest.load()


def on(thing, place):
    return Goal((Predicate("on", (thing, place)),))


def an_observation():
    row = {"robot0_eef_pos": np.array([-0.207, 0.002, 1.179]), "robot0_eef_quat": np.array([0.9996, 0, -0.0277, 0])}
    row |= {"robot0_gripper_qpos": np.array([0.0387, -0.0387]), "robot0_gripper_qvel": np.zeros(2)}
    for name, (position, quaternion) in POSES.items():
        row[f"{name}_pos"], row[f"{name}_quat"] = np.array(position), np.array(quaternion)
    return row


class Puppet:
    """A hand that goes where it is told at LIBERO's greatest speed, and things that it carries or that fall."""

    def __init__(self):
        self.row = an_observation()
        self.closing = 0
        self.held = None

    def step(self, action):
        hand = self.row["robot0_eef_pos"]
        move = 0.015 * np.clip(action[:3], -1, 1)
        hand += move
        half = 0.05 * np.clip(action[3:6], -1, 1)
        turned = rotation.product(np.append(half, 1.0), self.row["robot0_eef_quat"])
        self.row["robot0_eef_quat"] = turned / np.linalg.norm(turned)
        self.closing = max(0, self.closing + 1) if action[6] > 0 else min(0, self.closing - 1)
        self.move_fingers(0.003 if action[6] > 0 else 0.0395)
        if self.closing == 10:
            near = [name for name in skills.SHAPES if self._reachable(name)]
            self.held = near[0] if near else None
        if self.closing <= -5 and self.held:
            self.fall(self.held)
            self.held = None
        if self.held:
            self.row[f"{self.held}_pos"] += move

    def move_fingers(self, goal):
        at = self.row["robot0_gripper_qpos"][0]
        move = np.clip(goal - at, -0.005, 0.005)
        self.row["robot0_gripper_qpos"] = np.array([at + move, -at - move])
        self.row["robot0_gripper_qvel"] = 20 * np.array([move, -move])

    def _reachable(self, name):
        """Whether the fingers are at the object, and close across it: radially at a rim, else along its narrow side."""
        inner, outer, low, high, across = HOLDS[name]
        away = self.row["robot0_eef_pos"] - self.row[f"{name}_pos"]
        distance = np.hypot(away[0], away[1])
        fingers = rotation.turn(self.row["robot0_eef_quat"], np.array([0.0, 1.0, 0.0]))
        if across is not None:
            wanted = rotation.turn(self.row[f"{name}_quat"], np.array(across))
        elif inner > 0.0:
            wanted = np.array([away[0], away[1], 0.0]) / distance
        else:
            wanted = fingers
        return inner <= distance <= outer and low < away[2] < high and abs(fingers @ wanted) > 0.97

    def fall(self, name):
        shape, at = skills.SHAPES[name], self.row[f"{name}_pos"]
        supports = [skills.TABLE]
        for other, theirs in skills.SHAPES.items():
            there = self.row[f"{other}_pos"]
            if other != name and np.hypot(*(there - at)[:2]) < theirs.radius:
                supports.append(there[2] + theirs.floor)
        for place in (STOVE, CABINET):
            spot = skills.spot(skills.skill_for(on(name, place)), self.row)
            if np.abs(spot - at)[:2].max() < 0.09:
                supports.append(spot[2] + shape.bottom)
        at[2] = max(supports) - shape.bottom


def play(skill, puppet, steps=400, meddle=lambda puppet, progress: None):
    progress = Progress()
    for _ in range(steps):
        action, progress = step(skill, puppet.row, progress)
        assert np.isfinite(action).all()
        assert np.abs(action).max() <= 1.0
        puppet.step(action)
        meddle(puppet, progress)
    return action, progress


# What they can do


def test_skills_of_the_demo_tasks(registry):
    lacking = {
        variant.id.removeprefix("LiberoGoal-")
        for variant in registry.select(
            suite="LiberoGoal",
            tasks=["LiberoGoal-T1", "LiberoGoal-T4", "LiberoGoal-T8"],
            conditions=["original", "paraphrase", "contrast"],
        )
        if not has_skill(variant.goal or registry.task(variant.task).goal)
    }
    assert lacking == {"T4-ContrastRelation1"}  # in the top drawer


def test_goals_without_a_skill():
    opened = Predicate("open", ("wooden_cabinet_1_top_region",))
    for goal in (
        Goal((opened,)),
        Goal((Predicate("turnon", ("flat_stove_1",)),)),
        Goal((Predicate("in", (BOWL, "wooden_cabinet_1_top_region")),)),
        Goal((Predicate("lifted", (PLATE,)),)),
        Goal((opened, Predicate("on", (BOWL, CABINET)))),
        on(BOWL, "wine_rack_1_top_region"),
        on(BOWL, "main_table_nowhere"),
        on(PLATE, BOWL),
        on(BOWL, BOWL),
        on("akita_black_bowl_2", PLATE),
    ):
        assert not has_skill(goal), goal.id


def test_an_added_region_is_a_place(registry):
    variant = registry.variant("LiberoGoal-T8-ContrastRelation1")
    x_min, y_min, x_max, y_max = variant.goal.regions[0].ranges
    spot = skills.spot(skills.skill_for(variant.goal), an_observation())
    assert x_min + 0.04 < spot[0] < x_max - 0.04
    assert y_min + 0.04 < spot[1] < y_max - 0.04
    assert spot[2] == pytest.approx(POSES[BOWL][0][2], abs=1e-3)


# What they hear


def test_every_meaning(registry):
    heard = meanings(registry, "LiberoGoal")
    seen = set()
    for variant in registry.select(suite="LiberoGoal"):
        seen.add(variant.condition)
        if variant.condition in ("original", "paraphrase", "shuffled", "noise"):
            assert heard[variant.instruction] == registry.task(variant.task).goal, variant.id
        elif variant.condition in ("contrast", "swap") or (variant.condition == "reverse" and not variant.described):
            assert heard[variant.instruction] == variant.goal, variant.id
        elif variant.condition == "reverse":  # asks for what is so already: its goal is never what it asks for
            assert heard[variant.instruction] in (registry.task(variant.task).goal, None), variant.id
        else:
            assert heard[variant.instruction] is None, variant.id
    assert seen >= {"original", "paraphrase", "contrast", "collision"}


def test_a_text_that_is_only_described_has_nothing_to_do_unless_another_row_says_so(toy):
    heard = meanings(toy, "Toy")
    assert heard["open the right drawer"] is None
    assert heard["turn on the lamp"] == toy.task("Toy-T2").goal
    assert heard["turn off the lamp"] == toy.variant("Toy-T2-Reverse1").goal
    assert heard[""] is heard["do not put the mug on the mat"] is None


def test_a_sentence_with_two_meanings_is_refused(registry):
    one, two = "LiberoGoal-T8-Original", "LiberoGoal-T1-Paraphrase2"
    same = dataclasses.replace(registry.variant(two), instruction=registry.variant(one).instruction)
    doubtful = dataclasses.replace(registry, variants={one: registry.variant(one), two: same})
    with pytest.raises(PolicyError, match=f"{one} and {two} say the same, 'put the bowl on the plate'"):
        meanings(doubtful, "LiberoGoal")


def test_an_unknown_sentence_is_refused():
    with pytest.raises(
        UnknownName, match=r"suite LiberoGoal: No instruction 'put the bowl on the plates'.*on the plate'"
    ):
        LISTENING.start(["put the bowl on the plates"], [0])
    with pytest.raises(UnknownName, match="No suite 'LiberoGaol'"):
        Listening(suite="LiberoGaol").start(["put the bowl on the plate"], [0])


def test_collisions_and_goals_without_a_skill_are_answered_by_standing_still(registry):
    texts = [v.instruction for v in registry.select(suite="LiberoGoal", conditions=["collision"])]
    texts.append("turn on the stove")
    observations = {key: np.stack([value] * len(texts)) for key, value in an_observation().items()}
    actions, _ = LISTENING.act(observations, LISTENING.start(texts, range(len(texts))))
    assert actions.tolist() == [[0, 0, 0, 0, 0, 0, -1]] * len(texts)


def test_the_deaf_form_needs_the_task_and_ignores_the_words():
    assert DEAF.needs_task_identity
    assert not LISTENING.needs_task_identity
    observations = {key: np.stack([value] * 3) for key, value in an_observation().items()}
    tasks = ["LiberoGoal-T8", "LiberoGoal-T8", "LiberoGoal-T6"]
    actions, _ = DEAF.act(observations, DEAF.start(["put the bowl on the stove", "xyz", "xyz"], [0, 0, 0], tasks=tasks))
    assert np.array_equal(actions[0], actions[1])
    assert not np.array_equal(actions[0], actions[2])


def test_the_listening_form_follows_the_words():
    state = LISTENING.start(["put the bowl on the stove", "put the bowl on the plate", "pick up the bowl"], [0, 0, 0])
    assert [episode.skill for episode in state] == [
        skills.skill_for(on(BOWL, STOVE)),
        skills.Skill(BOWL, base=PLATE),
        skills.Skill(BOWL),
    ]
    assert state[2].skill.lifts


# The protocol


@pytest.mark.parametrize(
    "policy", [DEAF, LISTENING, Deaf(), Listening()], ids=["DEAF", "LISTENING", "deaf", "listening"]
)
def test_the_contract(policy):
    env = make("LiberoGoal-T8-Original", observation="state")
    texts = ["put the bowl on the plate", "put the cream cheese in the bowl", "pick up the wine bottle"]
    tasks = ["LiberoGoal-T8", "LiberoGoal-T6", "LiberoGoal-T2"]
    check_policy(policy, env.observation_space, env.action_space, texts, tasks=tasks)


def test_observations_without_poses_are_refused():
    state = LISTENING.start(["put the bowl on the plate"], [0])
    seen = {key: value[None] for key, value in an_observation().items() if key.startswith("robot0")}
    with pytest.raises(PolicyError, match=r"lacks akita_black_bowl_1_pos.*observation='state'"):
        LISTENING.act(seen, state)


def test_without_memory_it_needs_the_fingers_too():
    state = LISTENING.start(["put the bowl on the plate"], [0])
    seen = {key: value[None] for key, value in an_observation().items() if key != "robot0_gripper_qpos"}
    with pytest.raises(PolicyError, match=r"lacks robot0_gripper_qpos"):
        LISTENING.mean_action(seen, state)


def test_observations_are_not_written_to():
    row = an_observation()
    before = {key: value.copy() for key, value in row.items()}
    for name, progress in itertools.product(("reach", "close", "lift", "carry", "open", "leave", "done"), (0, 30)):
        step(skills.skill_for(on(BOWL, PLATE)), row, Progress(name, progress))
    assert all(np.array_equal(row[key], before[key]) for key in row)


# How they move


@pytest.mark.parametrize("thing", [BOWL, CHEESE, BOTTLE, PLATE])
@pytest.mark.parametrize("place", [STOVE, CABINET, FRONT, PLATE, BOWL])
def test_every_pair_is_brought_to_its_place_and_left(thing, place):
    skill = skills.skill_for(on(thing, place))
    if skill is None:
        assert thing in (place, PLATE)
        return
    puppet = Puppet()
    action, progress = play(skill, puppet)
    assert (progress.phase, progress.attempt) == ("done", 0)
    assert np.allclose(puppet.row[f"{thing}_pos"], skills.spot(skill, puppet.row), atol=0.012)
    assert puppet.held is None
    assert puppet.row["robot0_eef_pos"][2] > puppet.row[f"{thing}_pos"][2] + 0.1
    assert action.tolist() == [0, 0, 0, 0, 0, 0, -1]


@pytest.mark.parametrize("thing", [BOWL, CHEESE, BOTTLE, PLATE])
@pytest.mark.parametrize("place", [STOVE, CABINET, FRONT, PLATE, BOWL, None])
def test_one_observation_tells_the_phase(thing, place):
    skill = skills.skill_for(Goal((Predicate("lifted", (thing,)),)) if place is None else on(thing, place))
    if skill is None:
        return
    alike = {  # while the fingers press, or open before they move, one observation cannot tell what comes next
        "close": {"close", "lift"},
        "lift": {"lift", "close"},
        "open": {"open", "leave"},
        "leave": {"leave", "done"},
    }
    puppet, progress, phases = Puppet(), Progress(), set()
    for _ in range(300):
        answer, guess = step(skill, puppet.row, seen(skill, puppet.row))
        action, progress = step(skill, puppet.row, progress)
        just_risen = {"lift"} if progress.phase == "carry" and progress.count == 1 else set()
        assert guess.phase in alike.get(progress.phase, {progress.phase}) | just_risen
        if guess.phase == progress.phase and progress.phase in ("reach", "carry", "done"):
            assert np.allclose(answer, action, atol=0.03)  # where a lift began is taken to be the table
        phases.add(guess.phase)
        puppet.step(action)
    assert phases >= ({"reach", "close", "carry"} if place is None else {"reach", "close", "carry", "open", "done"})


def test_the_mean_action_diverges_once_the_object_is_held_and_once_it_lies():
    def answers():
        observations = {key: np.stack([value] * 3) for key, value in puppet.row.items()}
        return LISTENING.mean_action(observations, LISTENING.start(texts, [0, 0, 0]))

    texts = ["put the bowl on the stove", "put the bowl on the plate", "put the wine bottle on top of the cabinet"]
    puppet, progress = Puppet(), Progress()
    stove, plate, bottle = answers()
    assert np.array_equal(stove, plate)
    assert not np.array_equal(stove, bottle)
    while progress.phase != "done":
        action, progress = step(skills.skill_for(on(BOWL, STOVE)), puppet.row, progress)
        if progress.phase == "carry" and progress.count == 10:
            stove, plate, bottle = answers()
            assert np.allclose(stove, action)
            assert np.linalg.norm(stove - plate) > 0.5
            assert bottle[6] == -1.0  # lets go of the bowl
        puppet.step(action)
    stove, plate, _ = answers()
    assert stove.tolist() == [0, 0, 0, 0, 0, 0, -1]
    assert np.abs(plate[:3]).max() > 0.5


def test_the_mean_action_takes_nothing_but_the_skill_from_the_state():
    observations = {key: value[None] for key, value in an_observation().items()}
    (fresh,) = LISTENING.start(["put the bowl on the stove"], [0])
    later = dataclasses.replace(fresh, progress=Progress("close", 3))
    answers = [LISTENING.mean_action(observations, (state,)) for state in (fresh, later)]
    assert np.array_equal(*answers)
    assert not np.array_equal(answers[1], LISTENING.act(observations, (later,))[0])


def test_lifting_holds_the_object_up_to_the_end():
    puppet, heights = Puppet(), []
    play(skills.Skill(BOWL), puppet, 600, lambda puppet, _: heights.append(puppet.row[f"{BOWL}_pos"][2]))
    assert min(heights[100:]) > POSES[BOWL][0][2] + 0.12
    assert puppet.held == BOWL


def test_an_object_that_is_moved_is_followed():
    def meddle(puppet, progress):
        if progress.phase == "reach" and progress.count == 12:
            puppet.row[f"{BOWL}_pos"] += np.array([0.05, 0.04, 0.0])

    puppet = Puppet()
    _, progress = play(skills.Skill(BOWL, base=PLATE), puppet, meddle=meddle)
    assert (progress.phase, progress.attempt) == ("done", 0)
    assert np.allclose(puppet.row[f"{BOWL}_pos"][:2], puppet.row[f"{PLATE}_pos"][:2], atol=0.012)


def test_a_place_that_is_moved_is_followed():
    def meddle(puppet, progress):
        if progress.phase == "carry" and progress.count == 5:
            puppet.row[f"{PLATE}_pos"] += np.array([-0.02, 0.06, 0.0])

    puppet = Puppet()
    play(skills.Skill(BOWL, base=PLATE), puppet, meddle=meddle)
    assert np.allclose(puppet.row[f"{BOWL}_pos"][:2], puppet.row[f"{PLATE}_pos"][:2], atol=0.012)


def test_a_lost_object_is_picked_up_again():
    def meddle(puppet, progress):
        if progress.phase == "carry" and progress.count == 8 and progress.attempt == 0:
            puppet.fall(puppet.held)
            puppet.held = None

    puppet = Puppet()
    _, progress = play(skills.skill_for(on(BOWL, STOVE)), puppet, meddle=meddle)
    assert (progress.phase, progress.attempt) == ("done", 1)
    assert np.allclose(
        puppet.row[f"{BOWL}_pos"], skills.spot(skills.skill_for(on(BOWL, STOVE)), puppet.row), atol=0.012
    )


def test_an_object_that_cannot_be_held_is_given_up():
    def meddle(puppet, progress):
        puppet.held = None

    action, progress = play(skills.Skill(BOWL, base=PLATE), Puppet(), 800, meddle)
    assert (progress.phase, progress.attempt) == ("done", ATTEMPTS - 1)
    assert not action[:6].any()


def test_an_object_that_slips_off_at_its_place_is_left_there():
    def meddle(puppet, progress):
        error = skills.spot(skill, puppet.row) - puppet.row[f"{BOWL}_pos"]
        if progress.phase == "carry" and np.hypot(error[0], error[1]) < 0.02 and progress.attempt == 0:
            puppet.fall(BOWL)
            puppet.held = None
            puppet.row["robot0_eef_pos"] += np.array([0.0, 0.0, 0.06])

    puppet, skill = Puppet(), skills.skill_for(on(BOWL, STOVE))
    _, progress = play(skill, puppet, meddle=meddle)
    assert (progress.phase, progress.attempt) == ("done", 0)


@pytest.mark.parametrize("thing", [BOWL, CHEESE, BOTTLE])
def test_things_are_carried_over_the_cabinets_edge(thing):
    def meddle(puppet, progress):
        at = puppet.row[f"{thing}_pos"]
        if puppet.held and np.abs(at - cabinet)[:2].max() < 0.13:
            bottoms.append(at[2] + skills.SHAPES[thing].bottom)

    bottoms, cabinet = [], np.array(POSES["wooden_cabinet_1"][0])
    play(skills.skill_for(on(thing, CABINET)), Puppet(), meddle=meddle)
    assert len(bottoms) > 5
    assert min(bottoms) > 1.128 - 0.011  # the board's upper face; the last centimetre presses


def test_the_way_leads_over_what_stands_in_it():
    row = an_observation()
    tip = row[f"{BOTTLE}_pos"][2] + skills.SHAPES[BOTTLE].top
    start, end = np.array([-0.204, 0.05, 1.0]), np.array([-0.204, -0.11, 1.0])
    assert skills.clearance(row, start, end, 0.01, ()) == pytest.approx(tip)
    assert skills.clearance(row, start, start, 0.01, ()) == skills.TABLE
    assert skills.clearance(row, end, end, 0.01, ()) == skills.TABLE
    assert skills.clearance(row, start, end, 0.01, (BOTTLE,)) == skills.TABLE


# Rotations


def test_turning_by_a_quarter():
    quarter = np.array([0.0, 0.0, math.sin(math.pi / 4), math.cos(math.pi / 4)])
    assert np.allclose(rotation.turn(quarter, np.array([1.0, 2.0, 3.0])), [-2.0, 1.0, 3.0])
    assert rotation.heading(quarter) == pytest.approx(math.pi / 2)
    assert np.allclose(rotation.product(quarter, rotation.inverse(quarter)), UP)


@pytest.mark.parametrize("angle", [-3.0, -0.4, 0.0, 1e-12, 0.2, 3.1])
def test_rotation_vectors_are_in_the_fixed_frame(angle):
    axis = np.array([2.0, -1.0, 2.0]) / 3.0
    start = np.array(REST)
    end = rotation.product(np.append(axis * math.sin(angle / 2), math.cos(angle / 2)), start)
    assert np.allclose(rotation.rotation_vector(start, end), axis * angle, atol=1e-9)
    assert np.allclose(rotation.rotation_vector(start, -end), axis * angle, atol=1e-9)


# Importing


def test_importing_needs_no_simulator_and_no_torch():
    heavy = ("torch", "stable_baselines3", "h5py", "libero", "robosuite", "mujoco", "scipy", "matplotlib")
    code = (
        "import sys\n"
        "import gym_grounding_policies.basic, gym_grounding_policies.scripted\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, timeout=120
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")

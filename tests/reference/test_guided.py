"""How the privileged policies hand observations to experts and keep their memory."""

from dataclasses import dataclass

import numpy as np
import pytest

from gym_grounding import adapters, make
from gym_grounding.errors import PolicyError
from gym_grounding.policy import load_policy
from gym_grounding.reference import _guided
from gym_grounding.testing import TOY_REGISTRY

TRAY, CHEST, KETTLE = "put the block on the tray", "put the block on the chest", "put the kettle on the tray"


@dataclass(frozen=True)
class Memory:
    step: int = 0
    plan: tuple = ()
    problem: str = ""
    finished: bool = False


class Counting:
    """An expert whose action is the number of its steps, and its answer that of the goal's letters."""

    def __init__(self, goal):
        self.goal, self.asked = goal, 0

    def start(self):
        return Memory()

    def act(self, observation, memory):
        assert observation["hand_pos"].shape == (3,)
        step = memory.step + 1
        problem = "the hand is lame" if step == 3 else ""
        return np.full(4, step / 10), Memory(step, (*memory.plan, f"count to {step}"), problem, step == 4)

    def answer(self, observation):
        self.asked += 1
        return np.full(4, len(self.goal.id) / 100) + observation["hand_pos"][0]


@pytest.fixture
def made(monkeypatch):
    """Goals for which an expert was made."""
    goals = []

    def expert(self, scene, tasks, goal):
        assert set(tasks) >= {"Toy-T0", "Toy-T1", "Toy-T2"}
        goals.append(goal)
        return Counting(goal)

    monkeypatch.setattr(type(adapters.get("toy")), "expert", expert)
    return goals


@pytest.fixture
def shown():
    observation, _ = make("Toy-T0-Original", TOY_REGISTRY, observation="state").reset(seed=0)
    return {key: np.stack([value] * 3) for key, value in observation.items()}


def started(name, texts=(TRAY, CHEST, KETTLE), **options):
    policy = load_policy(name, options, registry=TOY_REGISTRY)
    return policy, policy.start(list(texts), [0, 1, 2], tasks=["Toy-T0"] * 3)


def test_each_episode_keeps_its_own_memory_and_states_are_values(made, shown):
    policy, state = started("oracle")
    one, later = policy.act(shown, state)
    assert one.tolist() == [[0.1] * 4, [0.1] * 4, [0, 0, 0, -1]]
    two, _ = policy.act({key: value[:2] for key, value in shown.items()}, (later[0], state[1]))
    assert two.tolist() == [[0.2] * 4, [0.1] * 4]
    assert policy.act(shown, state)[0].tolist() == one.tolist()


def test_one_expert_is_made_for_each_goal_of_a_scene(made, shown):
    policy, state = started("oracle")
    assert [episode.expert is None for episode in state] == [False, False, True]
    assert [goal.id for goal in made] == ["on(block_1, tray_1_top_side)", "on(block_1, chest_1_top_side)"]
    again = policy.start([CHEST], [9], tasks=["Toy-T1"])
    assert again[0].expert is state[1].expert
    assert len(made) == 2
    _, deaf = started("deaf")
    assert deaf[0].expert is deaf[1].expert is deaf[2].expert


def test_the_mean_action_takes_nothing_but_the_goal_from_the_state(made, shown):
    policy, state = started("oracle")
    _, later = policy.act(shown, state)
    answers = policy.mean_action(shown, state)
    assert np.array_equal(answers, policy.mean_action(shown, later))
    assert answers[0].tolist() != answers[1].tolist()
    assert answers[2].tolist() == [0, 0, 0, -1]


def test_an_observation_is_answered_once_for_each_goal(made, shown, monkeypatch):
    policy, state = started("oracle")
    shown["hand_pos"] = shown["hand_pos"] + 0.01 * np.arange(3)[:, None]
    answers = policy.mean_action(shown, state)
    reworded = {**shown, "instruction": shown["instruction"] + 1}
    assert np.array_equal(policy.mean_action(reworded, state), answers)
    assert [episode.expert.asked for episode in state[:2]] == [1, 1]
    turned = policy.mean_action({key: value[::-1] for key, value in shown.items()}, state)
    assert turned[0, 0] != answers[0, 0]
    assert np.allclose(turned[0] - answers[0], 0.02)
    assert [episode.expert.asked for episode in state[:2]] == [2, 1]
    monkeypatch.setattr(_guided, "REMEMBERED", 3)
    policy.mean_action({**shown, "hand_pos": shown["hand_pos"] + 1}, state)
    assert np.array_equal(policy.mean_action(shown, state), answers)
    assert [episode.expert.asked for episode in state[:2]] == [4, 3], "there was no room for the old ones"


def test_remarks_say_what_is_done_or_why_it_ended(made, shown):
    policy, state = started("oracle")
    assert policy.remarks(state) == ["", "", "nothing to do"]
    said = []
    for _ in range(4):
        _, state = policy.act(shown, state)
        said.append(policy.remarks(state)[0])
    assert said == ["count to 1", "count to 2", "gave up: the hand is lame", "done"]


def test_rows_must_fit(made, shown):
    policy, _ = started("oracle")
    with pytest.raises(ValueError, match="zip"):
        policy.start([TRAY, TRAY], [0], tasks=["Toy-T0"])


def test_an_adapter_without_expert_and_anatomy_cannot_be_played(monkeypatch):
    monkeypatch.delattr(type(adapters.get("toy")), "expert")
    with pytest.raises(
        PolicyError, match=r"nobody can play Toy-T0: the adapter 'toy' has neither expert\(\) nor anatomy"
    ):
        started("oracle")


def test_with_an_anatomy_the_arms_own_expert_plays(monkeypatch, shown):
    from gym_grounding import experts

    told = []

    def arm(anatomy, goal):
        told.append((anatomy, goal.id))
        return Counting(goal)

    monkeypatch.delattr(type(adapters.get("toy")), "expert")
    monkeypatch.setattr(type(adapters.get("toy")), "anatomy", lambda self, *place: place, raising=False)
    monkeypatch.setattr(experts, "Expert", arm, raising=False)
    policy, state = started("deaf", texts=(CHEST,) * 3)
    (((scene, tasks), goal),) = told
    assert (scene.adapter, goal, len(tasks)) == ("toy", "on(block_1, tray_1_top_side)", 3)
    assert policy.act(shown, state)[0].tolist() == [[0.1] * 4] * 3

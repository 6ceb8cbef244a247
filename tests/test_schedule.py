"""The continual schedule walks exactly the cells of its plan."""

import dataclasses
import json
import re
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import SyncVectorEnv
from gymnasium.wrappers import RecordEpisodeStatistics

from gym_grounding import ContinualSchedule, Plan, instruction_text
from gym_grounding.adapters.toy import ToyScene
from gym_grounding.errors import InvalidOption, UnknownName
from gym_grounding.plan import cell_id, episode_seed
from gym_grounding.types import SceneSettings


@pytest.fixture
def make(toy_registry):
    def make(**options):
        options = {"order": (1, 0, 2), "init_states": (0, 3), "observation": "state", "horizon": 3} | options
        return ContinualSchedule("Toy", toy_registry, **options)

    return make


def walk(schedule, count):
    return [schedule.reset()[1]["cell"] for _ in range(count)]


def test_walk_is_the_plans_cells_stage_by_stage(make, toy, toy_registry):
    schedule = make(seeds=(0, 5))
    plan = Plan.make("Toy", registry=toy_registry, order=(1, 0, 2), init_states=(0, 3), seeds=(0, 5), stages="all")
    walked = []
    for stage in range(3):
        assert schedule.stage == stage
        assert schedule.cells() == schedule.cells(stage) == plan.cells(toy, stage)
        walked += walk(schedule, len(schedule.cells()))
        if stage < 2:
            assert schedule.advance() == stage + 1
    assert walked == [cell_id(cell) for cell in plan.cells(toy)]
    with pytest.raises(InvalidOption, match="stage 2 is the last"):
        schedule.advance()


def test_episode_is_the_cells(make, toy):
    schedule = make(stage=2)
    for cell in schedule.cells():
        observation, info = schedule.reset()
        variant = toy.variant(cell.variant)
        assert schedule.cell == cell
        assert info["stage"] == 2
        assert info["cell"] == f"2/{cell.variant}/{cell.init_state}/{cell.seed}"
        assert (info["variant"], info["task"], info["init_state"]) == (variant.id, variant.task, cell.init_state)
        assert info["instruction"] == instruction_text(observation["instruction"]) == variant.instruction
        assert ("target_goal" in info) == (variant.goal is not None)
        steps = [schedule.step(np.zeros(4)) for _ in range(3)]
        assert [step[3] for step in steps] == [False, False, True]
        for _, _, _, _, later in steps:
            assert (later["cell"], later["stage"]) == (info["cell"], 2)
            assert json.loads(json.dumps(later)) == later
            assert type(later["stage"]) is int


def test_walk_begins_again_after_the_last_cell(make):
    schedule = make()
    assert schedule.cells_left == 4
    assert schedule.cell is None
    round_one = walk(schedule, 4)
    assert schedule.cells_left == 0
    assert walk(schedule, 4) == round_one
    assert walk(schedule, 1) == round_one[:1]
    assert schedule.cells_left == 3


def test_a_seed_begins_the_walk_at_the_first_cell(make):
    schedule = make()
    cells = [cell_id(cell) for cell in schedule.cells()]
    assert walk(schedule, 2) == cells[:2]
    assert schedule.reset(seed=4)[1]["cell"] == cells[0]
    assert walk(schedule, 1) == cells[1:2]


def test_a_cell_can_be_chosen(make):
    schedule = make()
    cells = [cell_id(cell) for cell in schedule.cells()]
    assert schedule.reset(options={"cell": 2})[1]["cell"] == cells[2]
    assert walk(schedule, 1) == cells[3:]
    assert schedule.reset(seed=1, options={"cell": 1})[1]["cell"] == cells[1]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"cell": 4}, "cell is 4: stage 0 has 0 to 3"),
        ({"cell": -1}, "cell is -1"),
        ({"cell": True}, "cell is True"),
        ({"cell": "0/Toy"}, "cell is '0/Toy'"),
        ({"init_state": 0}, "no reset option 'init_state' under a schedule"),
    ],
)
def test_bad_reset_options(make, options, text):
    with pytest.raises(InvalidOption, match=re.escape(text)):
        make().reset(options=options)


def test_each_stage_offers_its_training_task(make):
    schedule = make()
    assert [schedule.training_task(stage).id for stage in range(3)] == ["Toy-T1", "Toy-T0", "Toy-T2"]
    assert schedule.stages == 3
    schedule.set_stage(1)
    assert schedule.training_task().instruction == "put the block on the tray"
    env = schedule.training_env()
    _, info = env.reset(seed=0)
    assert (info["variant"], "cell" in info) == ("Toy-T0-Original", False)
    assert env.observation_space == schedule.observation_space
    for stage in (-1, 3):
        with pytest.raises(InvalidOption, match="stage"):
            schedule.training_task(stage)
        with pytest.raises(InvalidOption, match="stage"):
            schedule.set_stage(stage)


def test_contrasts_at_every_stage_on_request(make, toy):
    plain, every = make(), make(final_conditions_every_stage=True)

    def conditions(schedule, stage):
        return {toy.variant(cell.variant).condition for cell in schedule.cells(stage)}

    assert conditions(plain, 0) == conditions(plain, 1) == {"original", "paraphrase"}
    assert conditions(plain, 2) == conditions(every, 0) == {"original", "paraphrase", "contrast", "collision"}


def test_order_by_index_is_liberos():
    schedule = ContinualSchedule(order=7, observation="state")
    assert [schedule.training_task(stage).index for stage in range(10)] == [4, 2, 9, 7, 6, 8, 5, 1, 3, 0]


def test_stage_without_cells_says_so(make):
    schedule = make(tasks=(2,))
    with pytest.raises(InvalidOption, match="stage 0 has no cells: none of its tasks is in"):
        schedule.reset()
    schedule.set_stage(2)
    assert schedule.reset()[1]["task"] == "Toy-T2"


def test_scenes_with_other_objects_are_refused_unless_pictures_hide_them(make):
    with pytest.raises(InvalidOption, match=r"Toy-T1 and Toy-T4 differ in ball_1_pos, .*choose observation='pixels'"):
        make(order=(1, 4))
    schedule = make(order=(1, 4), observation="pixels", stage=1)
    spaces = set()
    for _ in schedule.cells():
        observation, info = schedule.reset()
        assert schedule.observation_space.contains(observation)
        spaces.add(info["task"])
    assert spaces == {"Toy-T1", "Toy-T4"}


def test_unknown_names_are_plans(make):
    with pytest.raises(UnknownName, match="Did you mean 'original'"):
        make(conditions=["orignal"])


def test_action_space_keeps_its_generator_across_scenes(make):
    schedule = make()
    schedule.action_space.seed(3)
    expected = [schedule.action_space.sample() for _ in range(6)]
    schedule.action_space.seed(3)
    drawn = []
    for _ in range(6):
        schedule.reset()
        drawn.append(schedule.action_space.sample())
    assert np.array_equal(expected, drawn)


def test_attributes_follow_the_present_cell(make):
    schedule = make(stage=1)
    assert schedule.unwrapped.task.id == "Toy-T1"
    schedule.reset(options={"cell": 0})
    assert schedule.get_wrapper_attr("variant").id == "Toy-T1-Original"
    schedule.reset(options={"cell": 5})
    assert schedule.get_wrapper_attr("variant").task == "Toy-T0"
    assert schedule.unwrapped.task.id == "Toy-T0"
    schedule.close()
    schedule.close()


def test_scenes_are_given_back_and_randomness_is_the_cells(make, monkeypatch):
    closed = []
    monkeypatch.setattr(ToyScene, "close", lambda scene: closed.append(scene))
    schedule = make(stage=1)
    for cell in schedule.cells():
        schedule.reset()
        assert schedule.np_random_seed == episode_seed(cell)
    assert len(closed) == 4, "five variants, the last still open"
    schedule.reset(seed=123)
    assert schedule.np_random_seed == 123


def test_gymnasium_checker_and_wrappers(make):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_env(make(horizon=50, render_mode="rgb_array"))
    counted = RecordEpisodeStatistics(make())
    counted.reset()
    for _ in range(3):
        info = counted.step(np.zeros(4))[4]
    assert info["episode"]["l"] == 3


def test_stable_baselines_checker(make):
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    checker.check_env(make(horizon=50))


def test_vector_goes_on_with_the_walk(make):
    vector = SyncVectorEnv([lambda: make(horizon=2), lambda: make(horizon=2, order=(0,))])
    _, infos = vector.reset()
    seen = [list(infos["cell"])]
    for _ in range(5):
        _, _, _, truncated, infos = vector.step(np.zeros((2, 4)))
        if not truncated.any():
            seen.append(list(infos["cell"]))
    firsts = list(dict.fromkeys(cells[0] for cells in seen))
    assert firsts == ["0/Toy-T1-Original/0/0", "0/Toy-T1-Original/3/0"]


def test_a_plan_has_a_schedule(toy, toy_registry):
    settings = SceneSettings("both", 16, "upright", 1)
    given = {"order": (1, 0, 2), "conditions": ["original", "collision"], "tiers": ["strict"], "slots": ["object"]}
    given |= {"tasks": (0, 2), "init_states": (0, 3), "seeds": (0, 5), "final_conditions_every_stage": True}
    given |= {"horizon": 3, "stop": "horizon", "settings": settings}
    plan = Plan.make("Toy", registry=toy_registry, stages=(1, 2), batch=7, **given)
    schedule = ContinualSchedule.of(plan)
    assert schedule.plan == Plan.make("Toy", registry=toy_registry, stages="all", **given)
    walked = walk(schedule, len(schedule.cells()))
    schedule.advance()
    walked += walk(schedule, len(schedule.cells()))
    assert walked == [cell_id(cell) for cell in plan.cells(toy)], "it begins with the plan's first stage"
    assert ContinualSchedule.of(plan, stage=2, render_mode="rgb_array").stage == 2
    with pytest.raises(InvalidOption, match="horizon is 0"):
        ContinualSchedule.of(dataclasses.replace(plan, horizon=0))


def test_spec_rebuilds_the_schedule(make, toy):
    schedule = make(conditions=["original"], seeds=np.array([0, 1]), stage=1, render_mode="rgb_array")
    schedule.reset(options={"cell": 5})
    spec = EnvSpec.from_json(schedule.spec.to_json())
    assert spec == schedule.spec
    assert (spec.id, spec.max_episode_steps) == ("GroundingSchedule/Toy-v0", None)
    again = gymnasium.make(spec)
    assert isinstance(again, ContinualSchedule)
    assert (again.plan, again.stage, again.render_mode) == (schedule.plan, 1, "rgb_array")
    assert again.spec == spec
    assert walk(again, 2) == [cell_id(cell) for cell in schedule.cells()[:2]]
    counted = RecordEpisodeStatistics(again).spec
    assert [wrapper.name for wrapper in counted.additional_wrappers] == ["RecordEpisodeStatistics"]
    assert isinstance(gymnasium.make(counted).env, ContinualSchedule)
    schedule.advance()
    assert schedule.spec.kwargs["stage"] == 2


def test_unknown_arguments_are_named(make):
    with pytest.raises(TypeError, match="ordr"):
        make(ordr=3)

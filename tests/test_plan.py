"""Plans: what they ask for, the cells that follow, and what they refuse."""

import collections
import dataclasses
import json
import re

import numpy as np
import pytest

from gym_grounding import Plan, conditions, manifest
from gym_grounding.errors import InvalidOption, UnknownName
from gym_grounding.plan import LIBERO_ORDERS, cell_id, episode_seed
from gym_grounding.records import Cell
from gym_grounding.testing import TOY_REGISTRY
from gym_grounding.types import SceneSettings


@pytest.fixture
def make(toy_registry):
    def make(**options):
        return Plan.make("Toy", registry=toy_registry, **{"init_states": (0, 1)} | options)

    return make


def test_defaults_fit_the_registry(toy, toy_registry):
    plan = Plan.make("Toy", registry=toy_registry, init_states=[0])
    assert plan.order == tuple(f"Toy-T{index}" for index in range(6))
    assert plan.conditions == ("collision", "contrast", "original", "paraphrase")
    assert plan.tiers == ("strict", "permissive")
    assert (plan.stages, plan.seeds, plan.batch, plan.horizon, plan.stop) == ((5,), (0,), 1, 600, "default")
    assert plan.settings == SceneSettings(settle_steps=2)
    assert {cell.variant for cell in plan.cells(toy)} == {row.id for row in toy.select(conditions=plan.conditions)}
    assert plan.registry == toy_registry


def test_shipped_suite_by_default():
    plan = Plan.make()
    assert plan.order[8] == "LiberoGoal-T8"
    assert plan.init_states == tuple(range(20))
    assert plan.registry is None
    shipped = manifest.load()
    assert len(plan.cells(shipped)) == 20 * len(shipped.select("LiberoGoal", conditions=conditions.standard()))
    assert plan.settings.settle_steps == shipped.settle


def test_controls_are_evaluated_where_they_are_named_and_only_at_the_last_stage(make, toy):
    plan = make(conditions=conditions.names(), stages="all")
    assert set(plan.conditions) == set(conditions.names())
    last = {cell.variant for cell in plan.cells(toy, 5)}
    assert last == set(toy.variants)
    earlier = {cell.variant for stage in range(5) for cell in plan.cells(toy, stage)}
    assert {toy.variant(name).condition for name in earlier} == {"original", "paraphrase"}
    alone = make(conditions=["null"])
    assert {cell.variant for cell in alone.cells(toy)} == {"Toy-T0-Null", "Toy-T4-Null"}
    assert {cell.variant for cell in make(conditions=["swap"], slots=["target"], tiers=["strict"]).cells(toy)} == {
        "Toy-T0-Swap1",
        "Toy-T0-Swap2",
        "Toy-T1-Swap1",
    }


def test_cells_come_stage_by_stage_in_training_order(make, toy):
    plan = make(order=(1, 0, 3), stages="all", seeds=(0, 7), conditions=("original", "paraphrase"))
    first, second, third = (plan.cells(toy, stage) for stage in range(3))
    assert plan.cells(toy) == first + second + third
    assert first == tuple(
        Cell(0, variant, init_state, seed)
        for seed in (0, 7)
        for variant in ("Toy-T1-Original", "Toy-T1-Paraphrase1")
        for init_state in (0, 1)
    )
    names = ["Toy-T1-Original", "Toy-T1-Paraphrase1", "Toy-T0-Original", "Toy-T0-Paraphrase1", "Toy-T0-Paraphrase2"]
    assert list(dict.fromkeys(cell.variant for cell in second)) == names
    assert len(third) == 2 * 2 * 7
    assert len(set(plan.cells(toy))) == len(plan.cells(toy))


def test_every_cell_of_the_protocol_is_there_once(make, toy):
    """Counted without the code under test: original and paraphrase at each stage, the others at the last."""
    order = (4, 0, 5, 2, 1, 3)
    plan = make(order=order, stages="all")
    expected = collections.Counter()
    for variant in toy.select(conditions=plan.conditions):
        position = order.index(int(variant.task[-1]))
        lasting = variant.condition in ("original", "paraphrase")
        for stage in range(position, 6) if lasting else [5]:
            expected.update(Cell(stage, variant.id, init_state, 0) for init_state in (0, 1))
    assert collections.Counter(plan.cells(toy)) == expected


def test_final_conditions_at_every_stage(make, toy):
    plan = make(order=(0, 1), stages="all", final_conditions_every_stage=True)
    assert [len({cell.variant for cell in plan.cells(toy, stage)}) for stage in (0, 1)] == [8, 13]


def test_restrictions(make, toy):
    def variants(**options):
        return {cell.variant for cell in make(**options).cells(toy)}

    contrasts = variants(conditions=["contrast"], tiers=["strict"])
    assert contrasts == {name for name, row in toy.variants.items() if row.tier == "strict"}
    assert len(contrasts) == 7
    assert variants(conditions=["contrast"], tiers=["permissive"]) == {
        "Toy-T0-ContrastAction1",
        "Toy-T4-ContrastAction1",
    }
    assert variants(slots=["target"], tasks=[0]) == {
        *("Toy-T0-Original", "Toy-T0-Paraphrase1", "Toy-T0-Paraphrase2"),
        *("Toy-T0-ContrastTarget1", "Toy-T0-CollisionTarget1"),
    }
    assert {name[:6] for name in variants(tasks=["Toy-T2", 4])} == {"Toy-T2", "Toy-T4"}


def test_a_task_that_is_not_yet_trained_is_not_evaluated(make, toy):
    plan = make(order=(0, 1, 2), tasks=(2,), stages="all")
    assert [len(plan.cells(toy, stage)) > 0 for stage in range(3)] == [False, False, True]


def test_spelling_does_not_matter(make):
    one = make(order=(1, 0), conditions=["original", "contrast"], init_states=[3, 1], seeds=[2, 0], tasks=[0, 1])
    two = make(
        order=["Toy-T1", "Toy-T0"],
        conditions=("contrast", "original"),
        init_states=np.array([1, 3]),
        seeds=(0, 2),
        tasks=["Toy-T1", "Toy-T0"],
    )
    assert one == two
    assert one.sha256 == two.sha256
    assert one.tasks == ("Toy-T1", "Toy-T0")


def test_json_and_back(make):
    plan = make(slots=["object"], tasks=[0], stages=[0, 5], settings=SceneSettings("state", 64, "upright", 3), batch=4)
    data = json.loads(json.dumps(plan.to_json()))
    assert Plan.from_json(data) == plan
    assert Plan.from_json(data).sha256 == plan.sha256
    plan.validate()


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.pop("order"),
        lambda data: data.update(colour="red"),
        lambda data: data.pop("settings"),
        lambda data: data.update(settings=3),
        lambda data: data["settings"].update(colour="red"),
    ],
)
def test_foreign_json_is_refused(make, change):
    data = make().to_json()
    change(data)
    with pytest.raises(InvalidOption, match="this is no plan"):
        Plan.from_json(data)


CHANGES = {
    "order": {"order": (1, 0, 2, 3, 4, 5)},
    "stages": {"stages": (0, 5)},
    "conditions": {"conditions": ("original",)},
    "tiers": {"tiers": ("strict",)},
    "slots": {"slots": ("object",)},
    "tasks": {"tasks": (0, 1)},
    "init_states": {"init_states": (0, 2)},
    "seeds": {"seeds": (0, 1)},
    "final_conditions_every_stage": {"final_conditions_every_stage": True},
    "horizon": {"horizon": 300},
    "stop": {"stop": "goal"},
    "batch": {"batch": 2},
    "settings.observation": {"settings": SceneSettings("state", settle_steps=2)},
    "settings.image_size": {"settings": SceneSettings(image_size=64, settle_steps=2)},
    "settings.orientation": {"settings": SceneSettings(orientation="upright", settle_steps=2)},
    "settings.settle_steps": {"settings": SceneSettings(settle_steps=3)},
    "settings.pictures": {"settings": SceneSettings(pictures="fast", settle_steps=2)},
    "settings.starts": {"settings": SceneSettings(starts="displaced", settle_steps=2)},
}


@pytest.mark.parametrize("field", CHANGES)
def test_differences_name_the_field_and_change_the_hash(make, field):
    base, other = make(), make(**CHANGES[field])
    ((name, mine, theirs),) = base.differences(other)
    assert name == field
    assert mine != theirs
    assert base.sha256 != other.sha256
    assert base.differences(make()) == []


def test_every_field_is_covered_by_the_test_above():
    fields = {field.name for field in dataclasses.fields(Plan)} | {
        f"settings.{field.name}" for field in dataclasses.fields(SceneSettings)
    }
    assert fields - CHANGES.keys() == {"suite", "registry", "settings"}


def test_where_the_registry_lies_does_not_matter(make, toy_registry, tmp_path):
    copy = tmp_path / "copy.yaml"
    with open(toy_registry, "rb") as file:
        copy.write_bytes(file.read())
    other = Plan.make("Toy", registry=copy, init_states=(0, 1))
    assert other.registry == str(copy)
    assert make().differences(other) == []
    assert make().sha256 == other.sha256


def test_registry_path_is_made_absolute(toy_registry, monkeypatch):
    folder, _, name = toy_registry.rpartition("/")
    monkeypatch.chdir(folder)
    assert Plan.make("Toy", registry=name, init_states=[0]).registry == toy_registry


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"suite": "LiberoGaol"}, "Did you mean 'LiberoGoal'?"),
        ({"conditions": ["paraphase"]}, "conditions: No condition 'paraphase'. Did you mean 'paraphrase'?"),
        ({"tiers": ["strickt"]}, "tiers: No tier 'strickt'. Did you mean 'strict'?"),
        ({"slots": ["objects"]}, "slots: No slot 'objects'. Did you mean 'object'?"),
        ({"order": ["LiberoGoal-T1", "LiberoGoal-T11"]}, "order: No task 'LiberoGoal-T11'. Did you mean"),
        ({"order": [1, 10]}, "order: No task 'LiberoGoal-T10'"),
        ({"tasks": [12]}, "tasks: No task 'LiberoGoal-T12'"),
        ({"order": [1, 2], "tasks": [3]}, "tasks: No task of the training order 'LiberoGoal-T3'"),
    ],
)
def test_unknown_names(options, text):
    with pytest.raises(UnknownName, match=re.escape(text)):
        Plan.make(**options)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"order": 21}, "order is 21; choose 0 to 20"),
        ({"order": -1}, "order is -1; choose 0 to 20"),
        ({"order": True}, "order is True"),
        ({"order": "LiberoGoal-T1"}, "order is 'LiberoGoal-T1'; give a sequence"),
        ({"order": [1, 1]}, "order names 'LiberoGoal-T1' twice"),
        ({"order": [True]}, "order names True"),
        ({"order": [[1]]}, "order names [1]"),
        ({"order": []}, "order is empty"),
        ({"tasks": []}, "tasks is empty"),
        ({"conditions": "original"}, "conditions is 'original'; give a sequence of names"),
        ({"conditions": []}, "conditions is empty; name at least one, or leave the option out"),
        ({"conditions": ["original", "original"]}, "conditions names 'original' twice"),
        ({"tiers": ()}, "tiers is empty"),
        ({"slots": ()}, "slots is empty"),
        ({"init_states": []}, "init_states is empty"),
        ({"init_states": [0, 50]}, "init_states has 50, but LiberoGoal-T0 has only 0 to 49"),
        ({"init_states": [-1]}, "init_states is -1; give integers from 0 on"),
        ({"init_states": [0, 0]}, "init_states names 0 twice"),
        (
            {"suite": "Toy", "registry": TOY_REGISTRY},
            "init_states is 0:20 by default, but Toy-T0 has only 0 to 4; give init_states=range(5), or "
            "--init-states 0:5",
        ),
        ({"init_states": [0.0]}, "init_states is 0.0"),
        ({"init_states": 5}, "init_states is 5; give a sequence"),
        ({"init_states": "0:5"}, "init_states is '0:5'; give a sequence"),
        ({"seeds": [True]}, "seeds is True"),
        ({"seeds": []}, "seeds is empty"),
        ({"stages": "first"}, "stages is 'first'; choose last, all, or positions 0 to 9"),
        ({"stages": [10]}, "stages has 10, but an order of 10 tasks has only 0 to 9"),
        ({"stages": []}, "stages is empty"),
        ({"horizon": 0}, "horizon is 0"),
        ({"horizon": 2.5}, "horizon is 2.5"),
        ({"stop": "never"}, "stop is 'never'; choose one of default, horizon, goal"),
        ({"batch": 0}, "batch is 0"),
        ({"settings": SceneSettings(observation="image")}, "observation is 'image'"),
        (
            {"conditions": ["contrast"], "stages": [0, 1]},
            "contrast belong to the last stage: add stage 9 or set final_conditions_every_stage",
        ),
        (
            {"conditions": ["collision"], "tasks": [0], "slots": ["relation"]},
            "nothing to evaluate: no registered variant",
        ),
    ],
)
def test_bad_options_name_option_and_remedy(options, text):
    with pytest.raises(InvalidOption, match=re.escape(text)):
        Plan.make(**options)


def test_libero_orders_need_liberos_ten_tasks(make):
    with pytest.raises(InvalidOption, match="order is 3, but Toy has not LIBERO's ten tasks"):
        make(order=3)
    assert Plan.make(order=3).order == tuple(f"LiberoGoal-T{index}" for index in LIBERO_ORDERS[3])


def test_validate_checks_a_plan_from_elsewhere(make, toy):
    plan = make()
    for change, error in (
        ({"order": ("Toy-T9",)}, UnknownName),
        ({"init_states": (7,)}, InvalidOption),
        ({"stages": (6,)}, InvalidOption),
        ({"tasks": ("Toy-T7",)}, UnknownName),
        ({"conditions": ("whispered",)}, UnknownName),
        ({"stop": "?"}, InvalidOption),
    ):
        with pytest.raises(error):
            dataclasses.replace(plan, **change).validate(toy)


def test_no_such_stage(make, toy):
    with pytest.raises(InvalidOption, match="stages has 6, but an order of 6 tasks has only 0 to 5"):
        make().cells(toy, 6)


def test_orders_are_permutations():
    assert len(LIBERO_ORDERS) == 21
    assert LIBERO_ORDERS[0] == tuple(range(10))
    assert {frozenset(order) for order in LIBERO_ORDERS} == {frozenset(range(10))}


@pytest.mark.sim
def test_orders_are_liberos():
    benchmark = pytest.importorskip("libero.libero.benchmark")
    assert [list(order) for order in LIBERO_ORDERS] == [list(order) for order in benchmark.task_orders]


def test_cell_as_one_word():
    assert cell_id(Cell(9, "LiberoGoal-T8-ContrastTarget1", 4, 0)) == "9/LiberoGoal-T8-ContrastTarget1/4/0"


def test_episode_seed_depends_on_the_whole_cell_and_nothing_else(make, toy):
    cells = make(stages="all", seeds=(0, 1, 2)).cells(toy)
    seeds = [episode_seed(cell) for cell in cells]
    assert len(set(seeds)) == len(seeds)
    assert all(type(seed) is int and 0 <= seed < 2**32 for seed in seeds)
    # Written down once: numbers in old run directories depend on it.
    assert episode_seed(Cell(9, "LiberoGoal-T8-ContrastTarget1", 4, 0)) == 458791355

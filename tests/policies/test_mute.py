"""Learned controls: a mute policy hears nothing and a blind one sees no object, in training and in acting."""

import dataclasses

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from click.testing import CliRunner
from gym_grounding_policies import learners
from gym_grounding_policies.commands import main
from gym_grounding_policies.data.language import words_of
from gym_grounding_policies.trained import Trained
from gym_grounding_policies.training.checkpoint import describe, read
from gym_grounding_policies.training.kits import CPU
from gym_grounding_policies.training.lessons import Lessons
from gym_grounding_policies.training.plan import Asked, own_name, planned
from gym_grounding_policies.training.senses import Senses, control_of
from gym_grounding_policies.training.stages import How, train
from policies.training import little, little_arm

from gym_grounding.cli import main as suite
from gym_grounding.errors import InvalidOption, PlanMismatch
from gym_grounding.store import RunStore

METHODS = [name for name in learners.names() if learners.get(name).__module__.startswith("gym_grounding_policies.")]
SMALL = {"l2m": {"slots": 3, "rank": 2}, "dmpel": {"rank": 2, "hidden": 8, "replay_epochs": 1}, "iscil": {"rank": 2}}
KIT = dataclasses.replace(
    CPU,
    recipe=dataclasses.replace(CPU.recipe, epochs=1, batch=32, lr=2e-2),
    windows=dataclasses.replace(CPU.windows, chunk=3, demonstrations=2),
    adapter_lr=2e-2,
    encoder="hashing",
    network={"width": 8, "layers": 1, "executed": 1, "head": "gmm"},
)
ORDER = ("Mini-T1", "Mini-T0")
TEXTS = ["put the cup on the shelf", "open it", "", "...", "put the cup on the cabinet and then do something else"]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A registry and demonstrations of three tasks."""
    return little_arm.world(tmp_path_factory.mktemp("world"), per_task=2)


def asking(world, method="seqft", **changes):
    kit = dataclasses.replace(KIT, **changes)
    return Asked(
        method=method,
        seed=0,
        kit=kit,
        demonstrations=world / "demos",
        tasks=ORDER,
        suite="Mini",
        registry=str(world / "registry.yaml"),
        settings=SMALL.get(method, {}),
    )


@pytest.fixture(scope="module")
def trained(world, tmp_path_factory):
    """Trains a method under a control, once; gives its policy."""
    made = {}

    def get(method, **changes):
        key = (method, *sorted(changes.items()))
        if key not in made:
            out = tmp_path_factory.mktemp("run") / "run"
            asked = asking(world, method, **changes)
            train(planned(asked), asked.demonstrations, out, How(workers=0, progress=False, tensorboard="off"))
            made[key] = Trained(str(out))
        return made[key]

    return get


def scene(seed, rows=1):
    """Observations of the little arm."""
    rng = np.random.default_rng(seed)
    found = {key: rng.uniform(-0.4, 0.4, (rows, size)) for key, size in little_arm.SIZES.items()}
    for key in ("robot0_eef_quat", "cup_1_quat"):
        found[key] /= np.linalg.norm(found[key], axis=1, keepdims=True)
    return found


def moved(observations, seed):
    """The same robot among other things: elsewhere, turned, and one more."""
    other = scene(seed, len(observations["cup_1_pos"]))
    things = {key: other[key] for key in ("cup_1_pos", "cup_1_quat")}
    return observations | things | {"bowl_1_pos": things["cup_1_pos"] + 1, "bowl_1_quat": things["cup_1_quat"]}


def actions(policy, text, steps, tasks=("Mini-T0",)):
    """What a policy does in an episode, and what it notes."""
    state, found = policy.start([text], [3], tasks=tasks), []
    for observations in steps:
        action, state = policy.act(observations, state)
        found.append(np.concatenate([action, policy.mean_action(observations, state)]))
    given = policy.log_prob(steps[0], policy.start([text], [3], tasks=tasks), np.full((1, 7), 0.25))
    return np.array([*np.ravel(found), *given]), policy.notes(state)


def differ(one, other):
    """Whether two answers of ``actions`` are not the same to the last bit."""
    return not np.array_equal(one[0], other[0]) or one[1] != other[1]


STEPS = [scene(seed) for seed in range(3)]
MOVED = [moved(one, 50 + number) for number, one in enumerate(STEPS)]
TURNED = [one | {"robot0_joint_pos": one["robot0_joint_pos"] + 0.1} for one in STEPS]
each = pytest.mark.parametrize("method", METHODS)
some = pytest.mark.parametrize("method", ["seqft", "iscil"])
quiet = pytest.mark.filterwarnings("ignore:iscil")


def test_all_eight_methods_are_tested_here():
    assert len(METHODS) == 8


@each
def test_a_mute_policy_does_the_same_whatever_it_is_told(trained, method):
    policy = trained(method, mute=True)
    first = actions(policy, TEXTS[0], STEPS)
    assert not any(differ(first, actions(policy, text, STEPS)) for text in TEXTS[1:])
    assert differ(first, actions(policy, TEXTS[0], MOVED))
    assert differ(first, actions(policy, TEXTS[0], TURNED))
    assert policy.versions["control"] == "mute"


@quiet
@each
def test_a_blind_policy_does_the_same_wherever_things_are(trained, method):
    policy = trained(method, objects="none")
    first = actions(policy, TEXTS[0], STEPS)
    assert not differ(first, actions(policy, TEXTS[0], MOVED))
    assert differ(first, actions(policy, TEXTS[0], TURNED))
    assert differ(first, actions(policy, TEXTS[1], STEPS))
    assert policy.versions["control"] == "blind"


@quiet
@some
def test_a_mute_and_blind_policy_knows_its_own_body_only(trained, method):
    policy = trained(method, objects="none", mute=True)
    first = actions(policy, TEXTS[0], STEPS)
    assert not any(differ(first, actions(policy, text, MOVED)) for text in TEXTS)
    assert differ(first, actions(policy, TEXTS[0], TURNED))
    assert policy.versions["control"] == "mute blind"


@some
def test_without_a_control_words_and_things_matter(trained, method):
    policy = trained(method)
    first = actions(policy, TEXTS[0], STEPS)
    assert differ(first, actions(policy, TEXTS[1], STEPS))
    assert differ(first, actions(policy, TEXTS[0], MOVED))
    assert "control" not in policy.versions


@pytest.mark.parametrize("method", ["packnet", "tail"])
def test_a_mute_policy_that_needs_the_task_still_goes_by_it(trained, method):
    policy = trained(method, mute=True)
    assert differ(actions(policy, TEXTS[0], STEPS), actions(policy, TEXTS[0], STEPS, tasks=("Mini-T1",)))


def test_lessons_of_a_mute_run_hold_the_empty_instruction(world):
    plan = planned(asking(world, mute=True))
    files = little.files(world / "words")
    senses = Senses(little.INPUTS, "hashing", mute=True)
    lessons = Lessons([[one] for one in files], senses, plan, None, "")
    for number in range(len(files)):
        batch = lessons.windows(number).batch([0, 1])
        assert torch.equal(batch.words["sentence"], torch.zeros(2, 64))
    heard = Lessons([files], dataclasses.replace(senses, mute=False), plan, None, "").windows(0)
    assert heard.batch([0]).words["sentence"].any()


def test_a_run_that_is_not_mute_is_described_as_before(world):
    plain, mute = planned(asking(world)), planned(asking(world, mute=True))
    assert "mute" not in plain.as_dict()["kit"]
    assert "name" not in plain.as_dict()
    assert mute.as_dict()["kit"].pop("mute") is True
    plain.check(plain.as_dict(), world)
    mute.check(mute.as_dict(), world)
    with pytest.raises(PlanMismatch, match=r"kit.mute is true there, false asked"):
        plain.check(mute.as_dict(), world)
    with pytest.raises(PlanMismatch, match=r"kit.mute is false there, true asked"):
        mute.check(plain.as_dict(), world)
    named = planned(dataclasses.replace(asking(world), name="mine"))
    with pytest.raises(PlanMismatch, match=r'name is "mine" there, "" asked'):
        plain.check(named.as_dict(), world)


def test_senses_that_do_not_say_it_hear():
    plain = Senses(little.INPUTS, "hashing")
    assert "mute" not in plain.as_dict()
    assert not Senses.from_dict(plain.as_dict()).mute
    mute = dataclasses.replace(plain, mute=True)
    assert Senses.from_dict(mute.as_dict()) == mute
    assert mute.make_words().name == plain.make_words().name
    with pytest.raises(InvalidOption, match="mute is 'yes'"):
        Senses.from_dict(plain.as_dict() | {"mute": "yes"})


def test_the_empty_instruction_is_the_same_in_training_and_as_a_condition(trained):
    policy = trained("seqft")
    said = policy.start([""], [0])[0].words["sentence"]
    assert torch.equal(said, words_of("hashing").blank(1)["sentence"])


def test_names_of_what_is_withheld():
    assert [control_of(*one) for one in (("all", False), ("joints", True), ("none", False), ("none", True))] == [
        "",
        "mute",
        "blind",
        "mute blind",
    ]
    assert control_of(None, True) == control_of("pictures", True) == "mute"
    assert own_name("er", "") == "er"
    assert own_name("er", "mute blind") == "er mute blind"


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("seqft", {"mute": True}),
        ("er", {}),
        ("seqft mute", {}),
        ("seqft blind", {"mute": True}),
        (" seqft", {}),
        ("a\nb", {}),
        ("x" * 61, {}),
    ],
)
def test_a_name_that_means_something_else_is_refused(world, name, changes):
    with pytest.raises(InvalidOption, match="--name"):
        planned(dataclasses.replace(asking(world, **changes), name=name))


@pytest.mark.parametrize(("name", "changes"), [("seqft", {}), ("seqft mute", {"mute": True}), ("mine", {})])
def test_its_own_name_and_a_new_one_may_be_given(world, name, changes):
    assert planned(dataclasses.replace(asking(world, **changes), name=name)).name == name


def called(*arguments, command=main):
    return CliRunner().invoke(command, list(map(str, arguments)))


def options(world, out, *more):
    shared = ["--registry", world / "registry.yaml", "--demos", world / "demos", "--encoder", "hashing"]
    small = ["--net", "width=8", "--net", "layers=1", "--epochs", "1", "--tensorboard", "off", "--out", out]
    return [*shared, *small, *more]


def training(world, out, *more):
    evaluated = ["--init-states", "0:1", "--horizon", "3", "--workers", "0", "--conditions", "original"]
    return called(
        "train", "--method", "er", "--suite", "Mini", "--order", "0,", *evaluated, *options(world, out, *more)
    )


@pytest.mark.parametrize(
    ("more", "name", "line"),
    [
        ([], "er", "perceives proprioception, all objects, sentences by hashing"),
        (["--mute"], "er mute", "all objects, no sentence (mute: blanked in training and whenever it acts"),
        (["--objects", "none"], "er blind", "proprioception, no object (blind), sentences by hashing"),
        (["--mute", "--objects", "none"], "er mute blind", "no object (blind), no sentence (mute"),
        (["--mute", "--name", "quiet"], "quiet", "no sentence (mute"),
    ],
)
def test_rules_records_and_show_say_what_is_withheld(world, tmp_path, more, name, line):
    result = training(world, tmp_path / "run", *more)
    assert result.exit_code == 0, result.output
    assert line in result.output
    with RunStore.open(tmp_path / "run") as store:
        assert store.header.name == name
        assert store.header.versions.get("control", "") == control_of(*_asked_of(more))
    shown = called("show", tmp_path / "run")
    assert line in shown.output
    if not more:
        return
    report = called("report", tmp_path / "run", "--out", tmp_path / "report", command=suite)
    assert report.exit_code == 0, report.output
    assert name in report.output


def _asked_of(more):
    return ("none" if "none" in more else "all"), "--mute" in more


def test_records_of_a_run_begun_without_a_name_keep_theirs(world, tmp_path):
    out = tmp_path / "run"
    assert training(world, out, "--objects", "none").exit_code == 0
    with RunStore.writer(out) as store, store._transaction():
        store.connection.execute("UPDATE header SET json = '\"er\"' WHERE key = 'name'")
        store.connection.execute("DELETE FROM episodes")
    again = training(world, out, "--objects", "none")
    assert again.exit_code == 0, again.output
    with RunStore.open(out) as store:
        assert store.header.name == "er"
        assert len(store.episodes()) == 1


def test_a_start_hears_as_the_run_does(world, tmp_path):
    for name, more in (("heard", []), ("mute", ["--mute"])):
        result = called("pretrain", "--tasks", "Mini:1,2", *options(world, tmp_path / name, *more))
        assert result.exit_code == 0, result.output
        assert ("perceives proprioception, all objects, no sentence" in result.output) == bool(more)
    assert "mute" not in describe(tmp_path / "heard")["about"]["senses"]
    wrong = training(world, tmp_path / "a", "--mute", "--init", tmp_path / "heard")
    assert wrong.exit_code == 2
    assert "mute False there, True asked; train with the same" in wrong.output
    wrong = training(world, tmp_path / "b", "--init", tmp_path / "mute")
    assert wrong.exit_code == 2
    assert "mute True there, False asked; train with the same" in wrong.output
    good = training(world, tmp_path / "c", "--mute", "--init", tmp_path / "mute")
    assert good.exit_code == 0, good.output
    assert read(tmp_path / "c" / "stage-00").about["senses"]["mute"] is True

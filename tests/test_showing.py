"""``gym-grounding show``: a real episode as a film, and what is said of it."""

import os

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from gym_grounding import cli
from gym_grounding.adapters.toy import ToyScene
from gym_grounding.errors import MissingRenderer, PolicyError
from gym_grounding.plan import Plan
from gym_grounding.policy import PolicySource, load_policy
from gym_grounding.records import Cell
from gym_grounding.rollout import run_cells
from gym_grounding.showing import AFTER, Episode, Moment, show
from gym_grounding.showing._caption import COLOURS, FAINT, OTHER, PAPER, Caption
from gym_grounding.testing import TOY_REGISTRY
from gym_grounding.testing.fakes import RecordingPolicy
from gym_grounding.types import SceneSettings

STATE = SceneSettings("state", 64, "raw", 2)
LIGHT = ["--observation", "state", "--horizon", "5"]


def run(*arguments):
    return CliRunner().invoke(cli.main, ["show", *map(str, arguments), "--registry", TOY_REGISTRY])


def played(toy, variant, policy="oracle", options=None, **more):
    episode = Episode(variant, **{"settings": STATE, **more})
    return list(episode.play(PolicySource(policy, options), toy))


def test_it_ends_with_one_line_that_says_what_was_achieved(tmp_path):
    out = tmp_path / "films" / "a.png"
    done = run("Toy-T0-ContrastTarget1", "--video", out)
    assert done.exit_code == 0, done.output
    assert done.stdout == (
        f"{out}: Toy-T0-ContrastTarget1, initial state 0, oracle, 'put the block on the chest': original goal never "
        "reached, target goal reached at step 11 and true at the end; 31 steps\n"
    )
    assert os.listdir(out.parent) == ["a.png"]


@pytest.mark.parametrize(
    ("variant", "more", "said"),
    [
        ("Grounding/Toy-T0-Original-v0", [], "original goal reached at step 15 and true at the end; 35 steps"),
        (
            "Toy-T0-ContrastTarget1",
            ["--policy", "deaf"],
            "original goal reached at step 15 and true at the end, target",
        ),
        ("Toy-T0-ContrastTarget1", ["--full", "--horizon", 35], "at step 11 and true at the end; 35 steps"),
        ("Toy-T0-ContrastTarget1", ["--horizon", 5], "original goal never reached, target goal never reached; 5 steps"),
        ("Toy-T0-CollisionObject1", ["--horizon", 4], "never reached; 4 steps; nothing to do"),
        ("Toy-T2-Reverse2", ["--horizon", 4], "original goal true from the start, target goal never reached; 4 steps"),
        ("Toy-T0-Swap2", [], "target goal reached at step"),
        ("Toy-T0-Null", ["--policy", "deaf"], "'': original goal reached at step 15 and true at the end; 35 steps"),
        ("Toy-T0-Original", ["--init-state", 3], "initial state 3, oracle"),
        ("Toy-T0-Original", ["--policy", "noisy-oracle", "--policy-option", "p=0.5"], "initial state 0, noisy_oracle"),
        ("Toy-T0-Original", ["--policy", "random", "--horizon", 3], "random, 'put the block on the tray': original"),
        ("Toy-T0-Original", ["--policy", "gym_grounding.testing.fakes:ToyPolicy"], "testing.fakes:ToyPolicy, 'put"),
    ],
)
def test_any_variant_and_policy(tmp_path, variant, more, said):
    done = run(variant, "--video", tmp_path / "a.png", "--size", 64, *more)
    assert done.exit_code == 0, done.output
    assert said in done.stdout
    assert (tmp_path / "a.png").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["Toy-T0-ContrastTraget1"], "No variant 'Toy-T0-ContrastTraget1'. Did you mean 'Toy-T0-ContrastTarget1'"),
        (["Toy-T0-Original", "--policy", "orcale"], "Did you mean 'oracle'"),
        (["Toy-T0-Original", "--policy", "oracle", "--policy-option", "q=1"], "unexpected keyword argument 'q'"),
        (["Toy-T0-Original", "--policy-option", "q"], "--policy-option 'q': write KEY=VALUE"),
        (["Toy-T0-Original", "--init-state", "99"], "init_state is 99: Toy-T0 has 0 to 4"),
        (["Toy-T0-Original", "--horizon", "0"], "horizon is 0"),
        (["Toy-T0-Original", "--size", "10"], "10 is not in the range"),
        (["Toy-T0-Original", "--policy", "oracle", "--observation", "pixels"], "oracle wants observation='state', not"),
    ],
)
def test_bad_input_is_told_and_leaves_nothing(tmp_path, arguments, message):
    done = run(*arguments, "--video", tmp_path / "a.mp4")
    assert done.exit_code == 2, done.output
    assert message in done.output
    assert "Traceback" not in done.output
    assert os.listdir(tmp_path) == []


def test_bad_places_are_told_before_anything_is_played(tmp_path, monkeypatch):
    monkeypatch.setattr(Episode, "play", lambda *_: 1 / 0)
    (tmp_path / "old.mp4").write_bytes(b"mine")
    for place, message in (
        ("a.avi", "end it in .mp4 or .gif"),
        ("old.mp4", "is there already; name another file, or replace it with --force"),
        ("old.mp4/a.mp4", "cannot be written"),
    ):
        done = run("Toy-T0-Original", "--video", tmp_path / place)
        assert done.exit_code == 2, place
        assert message in done.output
    assert (tmp_path / "old.mp4").read_bytes() == b"mine"
    assert run("Toy-T0-Original").exit_code == 2


def test_where_nothing_can_draw_it_says_so(tmp_path, monkeypatch):
    def render(self):
        raise MissingRenderer("no usable GL library; install libegl1")

    monkeypatch.setattr(ToyScene, "render", render)
    done = run("Toy-T0-Original", "--video", tmp_path / "a.mp4")
    assert (done.exit_code, done.output) == (2, "Error: no usable GL library; install libegl1\n")
    assert os.listdir(tmp_path) == []


def test_force_replaces(tmp_path):
    (tmp_path / "a.gif").write_bytes(b"mine")
    done = run("Toy-T0-Original", "--video", tmp_path / "a.gif", "--force", "--size", 64)
    assert done.exit_code == 0, done.output
    with Image.open(tmp_path / "a.gif") as picture:
        assert (picture.n_frames, picture.info["duration"]) == (36, 50)  # the start and 35 steps, 20 in a second


def test_the_episode_is_that_of_evaluate(toy):
    """Text, seed and goals."""
    for variant, seed in (("Toy-T0-Original", 0), ("Toy-T3-CollisionAttribute1", 2)):
        plan = Plan.make("Toy", registry=TOY_REGISTRY, init_states=[1], seeds=[seed], horizon=30, settings=STATE)
        policy = RecordingPolicy(load_policy("random", registry=TOY_REGISTRY))
        (record,) = run_cells(policy, [Cell(5, variant, 1, seed)], plan, toy)
        moments = played(toy, variant, policy, init_state=1, seed=seed, horizon=30)
        assert policy.heard == [(record.instruction, record.episode_seed)] * 2
        assert (moments[-1].step, moments[-1].first) == (record.steps, record.first_held)
        settings = SceneSettings("pixels", 64, "upright", 2)
        drawn = played(toy, variant, "random", init_state=1, seed=seed, horizon=30, settings=settings)
        assert all(np.array_equal(one.picture, two.picture) for one, two in zip(moments, drawn, strict=True))


def test_it_goes_on_for_a_second_after_the_goal(toy):
    moments = played(toy, "Toy-T0-ContrastTarget1", horizon=60)
    reached = moments[-1].first["target"]
    assert [moment.step for moment in moments] == list(range(reached + AFTER + 1))
    assert [("target" in moment.held) for moment in moments] == [step >= reached for step in range(len(moments))]
    assert len(played(toy, "Toy-T0-ContrastTarget1", "deaf", horizon=60)) == 61, "another goal is not awaited"
    unscored = played(toy, "Toy-T0-CollisionObject1", "deaf", horizon=60)
    assert unscored[-1].step == unscored[-1].first["original"] + AFTER


class Breaks:
    observation = "state"

    def start(self, instructions, seed):
        return 0

    def act(self, observations, state):
        return np.full((1, 4), np.nan if state == 3 else 0.0), state + 1


def test_a_policy_that_fails_is_named_with_its_step(toy, tmp_path):
    for policy, message in (
        (Breaks(), "act failed in 5/Toy-T0-Original/0/0 at step 4: it returned"),
        (lambda observation, text: 1 / 0, "act failed in .* at step 1: ZeroDivisionError"),
    ):
        with pytest.raises(PolicyError, match=message):
            show(toy, Episode("Toy-T0-Original", settings=STATE), PolicySource(policy), tmp_path / "a.mp4")
        assert os.listdir(tmp_path) == []


def test_what_a_policy_says_of_itself_is_in_the_moments(toy):
    class Says(Breaks):
        def remarks(self, state):
            return [f"count {state}"]

    moments = list(Episode("Toy-T0-Original", horizon=3, settings=STATE).play(PolicySource(Says()), toy))
    assert [moment.remark for moment in moments] == ["count 0", "count 1", "count 2", "count 3"]
    assert played(toy, "Toy-T0-Original", "still", horizon=1)[0].remark is None


def a_moment(size=128, **changes):
    picture = np.full((size, size, 3), 200, np.uint8)
    picture[: size // 2] = 100  # the upper half is darker
    given = {
        "step": 7,
        "labels": ("original", "target", "Toy-T4"),
        "held": frozenset(),
        "first": {},
        "void": frozenset(),
    }
    return Moment(picture, **{**given, **changes})


def has(bar, colour):
    return bool((np.abs(bar.astype(int) - colour).max(axis=2) < 8).any())


def test_the_caption_stands_below_the_upright_picture():
    framed = Caption("put the block on the tray", 128).framed(a_moment())
    height, width, _ = framed.shape
    assert width == 128
    assert height > 150
    assert height % 2 == 0
    assert (framed[:60] == 100).all()
    assert (framed[68:128] == 200).all()
    assert (framed[-1] == PAPER).all()
    resized = Caption("put the block on the tray", 128).framed(a_moment(32))
    assert resized.shape == framed.shape
    assert (resized[:56] == 100).all()
    assert (resized[72:128] == 200).all()


def test_the_caption_shows_which_goals_hold():
    caption = Caption("put it down", 200)

    def bar(**changes):
        return caption.framed(a_moment(200, **changes))[200:]

    colours = [COLOURS["original"], COLOURS["target"], OTHER]
    assert [has(bar(), colour) for colour in colours] == [False, False, False]
    assert has(bar(), FAINT)
    held = frozenset({"target"})
    assert [has(bar(held=held, first={"target": 3}), colour) for colour in colours] == [False, True, False]
    inked = [(bar(first={"target": 3}, **more) == COLOURS["target"]).all(axis=2).sum() for more in ({}, {"held": held})]
    assert 0 < inked[0] < inked[1], "a ring for what was, a disc for what is"
    everything = bar(held=frozenset({"original", "Toy-T4"}), first={"original": 1, "Toy-T4": 2})
    assert [has(everything, colour) for colour in colours] == [True, False, True]
    assert not np.array_equal(bar(step=7), bar(step=8))


def test_long_sentences_are_wrapped_and_remarks_cut():
    short, long = (Caption(text, 128).framed(a_moment()) for text in ("go", "put the block on the tray " * 4))
    assert len(long) > len(short) + 30
    remarked, longer = (Caption("go", 128).framed(a_moment(remark=text)) for text in ("grasp", "grasp the block " * 9))
    assert len(remarked) > len(short)
    assert remarked.shape == longer.shape
    empty = Caption("go", 128).framed(a_moment(remark=""))
    assert empty.shape == remarked.shape
    margin = slice(-3, None)
    assert (longer[128:, margin] == PAPER).all()
    assert not np.array_equal(Caption("", 128).framed(a_moment()), short), "the empty instruction is named"


@pytest.mark.sim
@pytest.mark.gl
def test_a_film_of_libero(tmp_path):
    out = tmp_path / "a.mp4"
    done = CliRunner().invoke(
        cli.main,
        ["show", "LiberoGoal-T8-ContrastTarget1", "--policy", "still", *LIGHT, "--size", "96", "--video", str(out)],
    )
    assert done.exit_code == 0, done.output
    assert "still, 'put the bowl on the stove': original goal never reached, target goal never reached; 5 steps" in (
        done.stdout
    )
    from moviepy import VideoFileClip

    with VideoFileClip(str(out)) as clip:
        assert clip.fps == 20
        first = clip.get_frame(0)
    assert first[:96].std() > 20
    assert np.abs(first[97:].astype(int) - PAPER).mean() < 40

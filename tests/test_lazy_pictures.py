"""Pictures that wait until they are read, on the way from a scene to a policy."""

import copy
import pickle

import numpy as np
import pytest
from toy_runs import a_plan, without_time

from gym_grounding import manifest as manifests
from gym_grounding import registration, rollout
from gym_grounding.adapters.toy import ToyScene
from gym_grounding.errors import MissingRenderer, SimulatorError
from gym_grounding.pictures import Picture, Reading, drawn
from gym_grounding.policy import CallablePolicy
from gym_grounding.types import SceneSettings

PIXELS = SceneSettings("pixels", 8, settle_steps=2)


def counted(value=7):
    calls = []
    return calls, Picture((2, 3, 3), lambda: (calls.append(1), np.full((2, 3, 3), value, np.uint8))[1])


def test_a_picture_is_drawn_once_and_each_reader_has_an_array_of_its_own():
    calls, picture = counted()
    assert (picture.shape, picture.ndim, picture.size, picture.nbytes, len(picture)) == ((2, 3, 3), 3, 18, 18, 2)
    assert picture.dtype == np.uint8
    assert repr(picture) == "Picture(2, 3, 3), not drawn"
    assert not calls
    assert not picture.drawn
    array = np.asarray(picture)
    array[:] = 0
    assert picture.drawn
    assert np.asarray(picture, np.float32).dtype == np.float32
    assert np.stack([picture, picture]).shape == (2, 2, 3, 3)
    assert picture[0, 0, 0] == np.max(picture) == 7
    assert [row.shape for row in picture] == [(3, 3), (3, 3)]
    pickled = pickle.loads(pickle.dumps(picture))  # noqa: S301  # our own
    for copied in (pickled, copy.deepcopy(picture), drawn({"a": picture})["a"]):
        assert type(copied) is np.ndarray
        assert (copied == 7).all()
    assert calls == [1]


def test_a_picture_that_fails_may_be_read_again():
    outcomes = iter([SimulatorError("no"), np.zeros((1, 1, 3), np.uint8)])

    def draw():
        outcome = next(outcomes)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    picture = Picture((1, 1, 3), draw)
    with pytest.raises(SimulatorError):
        np.asarray(picture)
    assert np.asarray(picture).shape == (1, 1, 3)


def test_a_reading_makes_each_value_once():
    made = []
    reading = Reading({key: lambda key=key: (made.append(key), np.zeros(1))[1] for key in "ab"})
    assert "a" in reading
    assert [*reading] == ["a", "b"]
    assert made == []
    assert reading["b"] is reading["b"]
    assert dict(reading).keys() == {"a", "b"}
    assert made == ["b", "a"]
    with pytest.raises(KeyError):
        reading["c"]


class LazyToy:
    """Toy scenes whose pictures wait; ``drawings`` are the simulated steps at which one was drawn."""

    def __init__(self, monkeypatch, failing=()):
        self.drawings = []
        plain = ToyScene._draw
        toy = self

        def draw(scene, size):
            step, image = scene._steps, plain(scene, size)
            if not scene.lazy:
                return image

            def late():
                toy.drawings.append(step)
                if step in failing:
                    raise failing[step]
                return image

            return Picture(image.shape, late)

        monkeypatch.setattr(ToyScene, "lazy", False, raising=False)
        monkeypatch.setattr(ToyScene, "_draw", draw)
        monkeypatch.setattr("gym_grounding.adapters.toy._orient", lambda image, orientation: image)


class Glimpse:
    """Looks at every third picture, and goes where it is brighter."""

    def __init__(self, every=3):
        self.every = every

    def start(self, instructions, seed):
        return 0, np.zeros((len(instructions), 4))

    def act(self, observations, state):
        step, actions = state
        if step % self.every == 0:
            image = observations["table_image"]
            assert image.dtype == np.uint8
            assert image.flags.writeable
            actions = np.zeros((len(image), 4))
            actions[:, 0] = image.mean(axis=(1, 2, 3)) / 255
        return actions, (step + 1, actions)


def run(policy, plan):
    manifest = manifests.load(plan.registry)
    return list(rollout.run_cells(policy, plan.cells(manifest), plan, manifest))


def pixels(**options):
    given = {"conditions": ["original"], "tasks": [0], "init_states": [0, 1], "horizon": 7, "settings": PIXELS}
    return a_plan(**given | options)


@pytest.mark.parametrize("batch", [1, 2])
def test_a_policy_pays_for_what_it_reads_and_nothing_else_changes(batch, monkeypatch):
    expected = run(Glimpse(), pixels())
    toy = LazyToy(monkeypatch)
    found = run(Glimpse(), pixels(batch=batch))
    assert without_time(found) == without_time(expected)
    assert len(found) == 2
    ends = [9, 9] if batch == 2 else []  # what an ended episode shows beside the others
    assert sorted(toy.drawings) == sorted([2, 5, 8] * 2 + ends)


def test_a_function_of_one_observation_pays_for_what_it_reads(monkeypatch):
    toy = LazyToy(monkeypatch)
    blind = run(CallablePolicy(lambda observation, text: np.zeros(4)), pixels(init_states=[0]))
    assert (blind[0].ended, toy.drawings) == ("truncated", [])
    run(CallablePolicy(lambda observation, text: np.zeros(4) * observation["table_image"][0, 0, 0]), pixels(batch=2))
    assert len(toy.drawings) == 2 * 8


def test_what_cannot_be_drawn_is_the_simulators_fault(monkeypatch):
    LazyToy(monkeypatch, {5: SimulatorError("no light")})
    found = run(Glimpse(), pixels(batch=2))
    assert [(one.kind, one.message) for one in found] == [("simulator", "SimulatorError: no light")] * 2
    monkeypatch.undo()
    LazyToy(monkeypatch, {5: MissingRenderer("no library")})
    with pytest.raises(MissingRenderer):
        run(Glimpse(), pixels(batch=2))


def test_the_policys_clock_stands_still_while_its_pictures_are_drawn(monkeypatch):
    LazyToy(monkeypatch)
    log = []

    class Clock(rollout.Watch):
        def __getattribute__(self, name):
            log.append(name)
            return super().__getattribute__(name)

    plan = pixels(init_states=[0])
    manifest = manifests.load(plan.registry)
    [*rollout.run_unit(Glimpse(), plan.cells(manifest), plan, manifest, Clock())]
    assert log.count("drawing") == 3
    assert log[log.index("drawing") - 1] == "policy_call"


def test_an_environment_is_lazy_only_when_asked(monkeypatch, toy_registry):
    toy = LazyToy(monkeypatch)
    for lazy in (False, True):
        env = registration.make("Toy-T0-Original", toy_registry, observation="pixels", image_size=8, lazy=lazy)
        seen, _ = env.reset(seed=0)
        assert isinstance(seen["table_image"], Picture if lazy else np.ndarray)
        assert toy.drawings == []
        assert env.observation_space.contains(drawn(seen))
        env.close()

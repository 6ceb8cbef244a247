"""Environments in threads: step by step what Gymnasium's SyncVectorEnv gives, and what threads add to it."""

import functools
import gc
import os
import threading

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import gym_grounding
from gym_grounding import ThreadVectorEnv, instruction_text, make_vec
from gym_grounding.errors import InvalidAction, InvalidOption, SimulatorError
from gym_grounding.threads import Crew

MODES = [mode.value for mode in AutoresetMode]
ORIGINAL, CONTRAST, COLLISION, LAMP, FLAT = (
    f"gym_grounding:Grounding/Toy-{name}-v0"
    for name in ("T0-Original", "T0-ContrastTarget1", "T0-CollisionObject1", "T2-Original", "T3-Original")
)

pytestmark = pytest.mark.usefixtures("toy_ids")


class Odd(gymnasium.Wrapper):
    """Ends by itself after ``last`` steps, and says things now and then: numbers, arrays, text, nothing, a mapping."""

    def __init__(self, env, last):
        super().__init__(env)
        self.last, self.count = last, 0

    def reset(self, *, seed=None, options=None):
        observation, info = self.env.reset(seed=seed, options=options)
        self.count = 0
        return observation, {**info, "fresh": True, "options": repr(options)}

    def step(self, action):
        observation, reward, _, truncated, info = self.env.step(action)
        self.count += 1
        told = {"array": np.full(2, self.count), "nothing": None, "deep": {"count": self.count, "text": "a"}}
        told = told if self.count % 2 else {"half": self.count / 2}
        return observation, reward + self.count, self.count >= self.last, truncated, {**info, **told}

    def double(self, number, plus=0):
        return 2 * number + plus


def makers(kind="state"):
    """Ends by the horizon after 4 and 7 steps, by itself after 5, and never scored."""
    make = functools.partial(gymnasium.make, observation=kind, image_size=16, render_mode="rgb_array")
    return [
        functools.partial(make, ORIGINAL, horizon=4),
        lambda: Odd(make(CONTRAST, horizon=100), 5),
        functools.partial(make, COLLISION, horizon=7),
    ]


def both(mode=AutoresetMode.NEXT_STEP, kind="state", **options):
    return (
        SyncVectorEnv(makers(kind), autoreset_mode=mode, **options),
        ThreadVectorEnv(makers(kind), autoreset_mode=mode, **options),
    )


def assert_same(one, other, place="result"):
    assert type(one) is type(other), place
    if isinstance(one, dict):
        assert list(one) == list(other), place
        for key in one:
            assert_same(one[key], other[key], f"{place}[{key!r}]")
    elif isinstance(one, tuple | list):
        assert len(one) == len(other), place
        for index, pair in enumerate(zip(one, other, strict=True)):
            assert_same(*pair, f"{place}[{index}]")
    elif isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape), place
        if one.dtype == object:
            assert_same(list(one), list(other), place)
        else:
            assert np.array_equal(one, other), place
    else:
        assert one == other, place


def actions(count, size=3):
    return np.random.default_rng(3).uniform(-1, 1, (count, size, 4)).astype(np.float32)


@pytest.mark.parametrize("kind", ["state", "both"])
@pytest.mark.parametrize("mode", MODES)
def test_every_result_is_that_of_gymnasium(mode, kind):
    theirs, ours = both(mode, kind)
    over = np.zeros(3, bool)
    for vector in (theirs, ours):
        assert vector.metadata["autoreset_mode"] is AutoresetMode(mode)
    assert_same(theirs.reset(seed=11), ours.reset(seed=11))
    ends = set()
    for action in actions(25):
        if over.any() and mode == "Disabled":
            masked = [{"init_state": 1, "reset_mask": over.copy()} for _ in range(2)]
            assert_same(theirs.reset(options=masked[0]), ours.reset(options=masked[1]))
        result = ours.step(action)
        assert_same(theirs.step(action), result)
        over = result[2] | result[3]
        ends.add(tuple(over))
    assert {(True, False, False), (False, True, False), (False, False, True)} <= ends, "no mixed ends were seen"
    theirs.close(), ours.close()


@pytest.mark.parametrize("mode", MODES)
def test_masks_seeds_and_options_are_those_of_gymnasium(mode):
    theirs, ours = both(mode)
    calls = (
        (3, None),
        (None, {"init_state": 2}),
        (None, None),
        ([4, None, 6], None),
        (np.int64(5), {}),
        (7, {"init_state": 0, "reset_mask": np.array([False, True, True])}),
        ([1, 2, 3], {"reset_mask": np.array([True, False, False])}),
        (None, {"reset_mask": np.array([True, False, True])}),
    )
    for seed, options in calls:
        given = None if options is None else dict(options)
        theirs_seed = int(seed) if isinstance(seed, np.integer) else seed
        assert_same(theirs.reset(seed=theirs_seed, options=given), ours.reset(seed=seed, options=options))
        assert_same(theirs.step(actions(1)[0]), ours.step(actions(1)[0]))
        assert ours.np_random_seed == theirs.np_random_seed
        states = [[rng.bit_generator.state for rng in vector.np_random] for vector in (theirs, ours)]
        assert states[0] == states[1]
    assert "reset_mask" in calls[-1][1], "the caller's options were changed"
    theirs.close(), ours.close()


def test_a_mask_in_the_middle_of_an_episode_starts_only_that_one():
    """Also where autoreset was due: the others go on, and nobody is reset twice."""
    theirs, ours = both("NextStep")
    for vector in (theirs, ours):
        vector.reset(seed=0)
        for action in actions(3):
            vector.step(action)
    for mask in ([True, False, False], [False, True, False]):
        options = [{"reset_mask": np.array(mask)} for _ in range(2)]
        assert_same(theirs.reset(seed=9, options=options[0]), ours.reset(seed=9, options=options[1]))
        for action in actions(4):
            assert_same(theirs.step(action), ours.step(action))
    theirs.close(), ours.close()


def test_what_is_asked_of_all_is_that_of_gymnasium():
    theirs, ours = both()
    for vector in (theirs, ours):
        vector.reset(seed=1)
    assert_same(theirs.render(), ours.render())
    assert ours.num_envs == 3
    assert ours.render_mode == "rgb_array"
    for space in ("action_space", "single_action_space", "observation_space", "single_observation_space"):
        assert getattr(ours, space) == getattr(theirs, space)
    assert ours.get_attr("horizon") == theirs.get_attr("horizon") == (4, 100, 7)
    assert ours.call("has_wrapper_attr", "double") == (False, True, False)
    for vector in (theirs, ours):
        vector.set_attr("horizon", [4, 5, 6])
        vector.set_attr("stop", "goal")
    assert ours.get_attr("horizon") == theirs.get_attr("horizon") == (4, 5, 6)
    assert ours.get_attr("stop") == ("goal",) * 3
    theirs.close(), ours.close()


@pytest.mark.parametrize("copy", [True, False])
def test_copies_are_the_callers_own(copy):
    theirs, ours = both(copy=copy)
    for vector in (theirs, ours):
        first, _ = vector.reset(seed=2)
        second, rewards, terminated, *_ = vector.step(actions(1)[0])
        assert all((first[key] is second[key]) is not copy for key in first)
        kept = rewards.copy()
        rewards += 1.0
        terminated[:] = True
        assert np.array_equal(vector.step(actions(1)[0])[2], [False] * 3)
        assert np.array_equal(kept, rewards - 1.0)
        vector.close()


def test_make_vec_of_gymnasium_gives_copies_in_threads(toy_registry):
    chosen = {"observation": "state", "horizon": 4, "autoreset_mode": "SameStep", "threads": 2}
    ours = gymnasium.make_vec(CONTRAST, num_envs=3, vectorization_mode="vector_entry_point", **chosen)
    assert isinstance(ours, ThreadVectorEnv)
    assert isinstance(gymnasium.make_vec(CONTRAST, num_envs=1), ThreadVectorEnv), "the default of these ids"
    theirs = gymnasium.make_vec(
        CONTRAST,
        num_envs=3,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": "SameStep"},
        observation="state",
        horizon=4,
    )
    assert_same(theirs.reset(seed=3), ours.reset(seed=3))
    for action in actions(9):
        assert_same(theirs.step(action), ours.step(action))
    assert [spec.id for spec in ours.get_attr("spec")] == [spec.id for spec in theirs.get_attr("spec")]
    assert ours.spec.id == "Grounding/Toy-T0-ContrastTarget1-v0"
    again = gymnasium.make_vec(ours.spec)
    assert again.num_envs == 3
    theirs.close(), ours.close(), again.close()


@pytest.mark.filterwarnings("error")
def test_ids_of_all_kinds_are_mixed():
    ids = [ORIGINAL, COLLISION.removeprefix("gym_grounding:"), gymnasium.spec(CONTRAST.partition(":")[2]), FLAT]
    vector = make_vec(ids, observation="pixels", image_size=16, horizon=5)
    observations, infos = vector.reset(seed=[1, 2, 3, 4], options={"init_state": 1})
    told = [instruction_text(row) for row in observations["instruction"]]
    assert told == list(infos["instruction"])
    assert len(set(told)) == 4
    assert infos["task"].tolist() == ["Toy-T0"] * 3 + ["Toy-T3"]
    single = gymnasium.make(FLAT, observation="pixels", image_size=16)
    alone, _ = single.reset(seed=4, options={"init_state": 1})
    assert_same({key: observations[key][3] for key in alone}, alone)
    vector.close()


def test_states_of_other_scenes_stay_separate_or_are_refused():
    ids = [ORIGINAL, FLAT]
    with pytest.raises(InvalidOption, match=r"environment 1 \(.*T3-Original-v0\) and environment 0 .*_pos.*'separate'"):
        make_vec(ids, observation="state")
    vector = make_vec(ids, observation="state", observation_mode="separate")
    singles = [gymnasium.make(name, observation="state") for name in ids]
    observations, _ = vector.reset(seed=5)
    assert_same(observations, tuple(env.reset(seed=5 + i)[0] for i, env in enumerate(singles)))
    assert observations in vector.observation_space
    action = actions(1, 2)[0]
    assert_same(vector.step(action)[0], tuple(env.step(row)[0] for env, row in zip(singles, action, strict=True)))
    vector.close()


class Small(gymnasium.Env):
    """Any environment; not a flat mapping of arrays."""

    def __init__(self, space, high=1.0):
        self.observation_space, self.action_space = space, spaces.Discrete(3)
        self.high = high

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        return self.observation_space.sample(), {}

    def step(self, action):
        return self.observation_space.sample(), float(action), False, False, {}


@pytest.mark.parametrize(
    "space",
    [
        spaces.Box(0, 1, (2,), np.float32),
        spaces.Discrete(5),
        spaces.Tuple([spaces.Discrete(3), spaces.Box(0, 1, (1,))]),
        spaces.Dict(a=spaces.Dict(b=spaces.Box(0, 1, (2,))), c=spaces.Text(4)),
    ],
)
def test_other_spaces_are_batched_as_gymnasium_batches_them(space):
    import copy

    vectors = [kind([lambda: Small(copy.deepcopy(space))] * 2) for kind in (SyncVectorEnv, ThreadVectorEnv)]
    theirs, ours = vectors
    assert_same(theirs.reset(seed=1), ours.reset(seed=1))
    for action in ([0, 1], [2, 2]):
        assert_same(theirs.step(np.array(action)), ours.step(np.array(action)))
    theirs.close(), ours.close()


def test_observation_modes_of_gymnasium():
    low, high = (spaces.Box(0, top, (2,), np.float32) for top in (1, 2))
    fns = [lambda: Small(low), lambda: Small(high)]
    with pytest.raises(InvalidOption, match=r"environment 1 \(1\) and environment 0 \(0\) differ in bounds"):
        ThreadVectorEnv(fns)
    custom = (spaces.Box(0, 9, (2, 2), np.float32), spaces.Box(0, 9, (2,), np.float32))
    for mode in ("different", custom):
        theirs, ours = (kind(fns, observation_mode=mode) for kind in (SyncVectorEnv, ThreadVectorEnv))
        assert ours.observation_space == theirs.observation_space
        assert ours.single_observation_space == theirs.single_observation_space
        assert_same(theirs.reset(seed=1), ours.reset(seed=1))
        ours.close()
    with pytest.raises(InvalidOption, match="differ in bounds, shapes"):
        ThreadVectorEnv([lambda: Small(low), lambda: Small(spaces.Discrete(2))], observation_mode="different")
    with pytest.raises(InvalidOption, match="lazy pictures cannot be batched unread; add observation_mode='separate'"):
        make_vec([ORIGINAL], observation="pixels", lazy=True)
    with pytest.raises(InvalidOption, match="observation_mode is 'odd'"):
        ThreadVectorEnv(fns, observation_mode="odd")


class Where(gymnasium.Wrapper):
    """Notes the threads that enter it."""

    def __init__(self, env, seen):
        super().__init__(env)
        self.seen = seen
        seen.add(threading.get_ident())

    def reset(self, **given):
        self.seen.add(threading.get_ident())
        return self.env.reset(**given)

    def step(self, action):
        self.seen.add(threading.get_ident())
        return self.env.step(action)

    def render(self):
        self.seen.add(threading.get_ident())
        return self.env.render()

    def ask(self):
        self.seen.add(threading.get_ident())

    def close(self):
        self.seen.add(threading.get_ident())
        self.env.close()


@pytest.mark.parametrize(("threads", "expected"), [(1, 1), (2, 2), (3, 3), (9, 5), (None, None)])
def test_each_environment_stays_on_one_thread_and_the_threads_end(threads, expected):
    before = set(threading.enumerate())
    seen = [set() for _ in range(5)]
    make = functools.partial(gymnasium.make, LAMP, observation="state", horizon=2, render_mode="rgb_array")
    vector = ThreadVectorEnv([lambda one=one: Where(make(), one) for one in seen], threads=threads)
    started = set(threading.enumerate()) - before
    vector.reset(seed=0)
    for action in actions(3, 5):
        vector.step(action)
    vector.render(), vector.call("ask")
    vector.close()
    vector.close()
    assert [len(one) for one in seen] == [1] * 5
    expected = min(5, len(os.sched_getaffinity(0))) if expected is None else expected
    assert len(set.union(*seen)) == len(started) == expected
    assert threading.get_ident() not in set.union(*seen)
    assert set(threading.enumerate()) == before
    with pytest.raises(gymnasium.error.ClosedEnvironmentError, match="closed; make a new one to step"):
        vector.step(actions(1, 5)[0])


def test_threads_run_at_the_same_time():
    barrier = threading.Barrier(2)
    crew = Crew(["a", "b"], 2)
    assert sorted(crew.each(lambda index: barrier.wait(20))) == [0, 1]
    crew.end()


def test_a_vector_that_is_dropped_ends_its_threads():
    before = set(threading.enumerate())
    vector = make_vec([LAMP, LAMP], observation="state", threads=2)
    vector.reset()
    started = set(threading.enumerate()) - before
    assert len(started) == 2
    del vector
    gc.collect()
    for thread in started:
        thread.join(20)
    assert not any(thread.is_alive() for thread in started)


class Broken(gymnasium.Wrapper):
    def step(self, action):
        raise SimulatorError("the table fell over")


def test_errors_name_the_environment_and_leave_the_others_usable():
    make = functools.partial(gymnasium.make, LAMP, observation="state")
    names = ["first", "second", "third"]
    vector = ThreadVectorEnv([make, lambda: Broken(make()), make], names, threads=2)
    vector.reset(seed=0)
    with pytest.raises(SimulatorError, match=r"^environment 1 \(second\): the table fell over$"):
        vector.step(actions(1)[0])
    vector.reset(seed=0)
    wrong = actions(1)[0]
    wrong[2, 1] = np.nan
    with pytest.raises(SimulatorError) as caught:
        vector.step(wrong)
    (note,) = caught.value.__notes__
    assert note.startswith("environment 2 (third) failed too: InvalidAction: ")
    with pytest.raises(AttributeError) as caught:
        vector.call("no_such_thing")
    assert "in environment 0 (first)" in caught.value.__notes__
    vector.close()


def test_ids_are_named_in_errors():
    vector = make_vec([ORIGINAL, LAMP], observation="state", observation_mode="separate")
    with pytest.raises(
        gymnasium.error.ResetNeeded, match=r"^environment 0 \(gym_grounding:Grounding/Toy-T0-Orig.*\): "
    ):
        vector.step(actions(1, 2)[0])
    with pytest.raises(InvalidOption, match=r"^environment 0 \(.*\): reset option init_state is 99"):
        vector.reset(options={"init_state": 99})
    vector.close()


def test_what_cannot_be_made_leaves_nothing_behind():
    before = set(threading.enumerate())
    closed = []

    class Closing(gymnasium.Wrapper):
        def close(self):
            closed.append(self)

    def fails():
        raise InvalidOption("no such thing")

    make = functools.partial(gymnasium.make, LAMP, observation="state")
    with pytest.raises(InvalidOption, match=r"environment 1 \(1\): no such thing"):
        ThreadVectorEnv([lambda: Closing(make()), fails], threads=2)
    with pytest.raises(InvalidOption, match=r"environment 1 \(1\) has other actions than environment 0"):
        ThreadVectorEnv([lambda: Closing(make()), lambda: Closing(Small(make().observation_space))])
    assert len(closed) == 3
    assert set(threading.enumerate()) == before


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"ids": []}, "give a sequence"),
        ({"ids": LAMP}, "give a sequence"),
        ({"threads": 0}, "threads is 0"),
        ({"threads": True}, "threads is True"),
        ({"autoreset_mode": "Never"}, "choose one of NextStep, SameStep, Disabled"),
        ({"observation": "smell"}, r"environment 0 \(.*Toy-T2-Original-v0\): "),
    ],
)
def test_nonsense_is_refused(given, message):
    with pytest.raises(InvalidOption, match=message):
        make_vec(**{"ids": [LAMP], **given})


def test_nonsense_is_refused_before_anything_moves():
    vector = make_vec([LAMP, LAMP], observation="state", autoreset_mode="Disabled", horizon=2)
    mask = np.array([True, False])
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"never reset: environment 1 \(.*\); call reset"):
        vector.reset(options={"reset_mask": mask})
    vector.reset(seed=0)
    for options in (np.zeros(2, bool), np.ones(3, bool), [True, False], np.ones(2)):
        with pytest.raises(InvalidOption, match=r"reset_mask is .*shape \(2,\), with a True"):
            vector.reset(options={"reset_mask": options})
    with pytest.raises(InvalidOption, match="3 seeds for 2"):
        vector.reset(seed=[1, 2, 3])
    with pytest.raises(InvalidAction, match="3 actions for 2"):
        vector.step(actions(1, 3)[0])
    with pytest.raises(InvalidOption, match="3 values of horizon for 2"):
        vector.set_attr("horizon", [1, 2, 3])
    assert vector.get_attr("steps") == (0, 0)
    for action in actions(2, 2):
        vector.step(action)
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"over: environment 0 \(.*\), environment 1 .*reset_mask"):
        vector.step(actions(1, 2)[0])
    vector.reset(options={"reset_mask": mask})
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"over: environment 1 "):
        vector.step(actions(1, 2)[0])
    assert vector.get_attr("steps") == (0, 2)
    vector.close()
    with pytest.raises(InvalidOption, match="num_envs is 0"):
        gymnasium.make_vec(LAMP, num_envs=0)
    with pytest.raises(InvalidOption, match="at least one"):
        ThreadVectorEnv([])


def test_a_forked_process_is_told_so():
    vector = make_vec([LAMP], observation="state")
    child = os.fork()
    if child == 0:
        try:
            vector.reset()
        except InvalidOption:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    vector.close()


def test_the_package_offers_both():
    assert {"make_vec", "ThreadVectorEnv"} <= set(gym_grounding.__all__)

"""The core against LIBERO's own code, to the last bit: steps, observations, starts, small models, the cache."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from gym_grounding.adapters.libero import facts, fixtures
from gym_grounding.types import Goal, Slots, Task

pytestmark = pytest.mark.sim

CABINET_OPEN = "pick_up_the_black_bowl_in_the_top_drawer_of_the_wooden_cabinet_and_place_it_on_the_plate"
CASES = {
    "goal": ("libero_goal", "put_the_bowl_on_the_plate", 3),
    "spatial": ("libero_spatial", CABINET_OPEN, 13),
    "object": ("libero_object", "pick_up_the_milk_and_place_it_in_the_basket", 7),
    "long": ("libero_10", "KITCHEN_SCENE6_put_the_yellow_and_white_mug_in_the_microwave_and_close_it", 0),
}
STATE = ("qpos", "qvel", "ctrl", "time", "qacc_warmstart", "xpos", "xquat", "site_xmat", "ncon")


def task(case):
    suite, name, _ = CASES[case]
    return Task(f"{case}-T0", case, 0, name, suite, "", "", Slots(), Goal(()), case, 50)


def moves(count):
    """Contact, out-of-range, unturned and fractional gripper actions, the last zero."""
    actions = np.random.default_rng(1).uniform(-1.0, 1.0, (count, 7))
    actions[: count // 2, 2] = -1.0
    actions[: count // 2, :2] *= 0.3
    actions[2, 3:6] = 0.0
    actions[3] *= 3.0
    actions[4, 6] = 0.0
    actions[5] = 0.0
    return actions


@contextmanager
def opened(case, reference=False):
    from gym_grounding.adapters.libero.simulator import Simulator

    simulator = Simulator(facts.bddl_path(task(case)), draws=False, reference=reference)
    yield simulator
    simulator.close()


def started(simulator, case, number):
    one = task(case)
    row, poses = facts.init_state(one, number), fixtures.poses(one, number)
    return simulator.start(facts.bddl_path(one), number, row, poses, drawing=False)


def differing(seen, expected, ours, theirs):
    """Names of what differs: of observations that both hold, and of the simulators' numbers."""
    assert set(seen) <= set(expected) | {"robot0_joint_pos"}
    keys = [key for key in seen if key in expected and not np.array_equal(seen[key], np.ravel(expected[key]))]
    return keys + [name for name in STATE if not np.array_equal(getattr(ours, name), getattr(theirs, name))]


@pytest.mark.parametrize("case", CASES)
def test_starts_and_steps_on_the_small_model_equal_liberos_own(case, tmp_path, monkeypatch):
    """Both forms of the step, with and without LIBERO's repeated passes, in one run of LIBERO's."""
    from gym_grounding.adapters.libero.core import cache, compiled, layout, model, plain
    from gym_grounding.adapters.libero.core.start import Traces, start
    from gym_grounding.adapters.libero.core.stepper import Stepper
    from gym_grounding.adapters.libero.robosuite_names import mujoco

    monkeypatch.setenv(cache.FOLDER, str(tmp_path))
    _, _, number = CASES[case]
    with opened(case, reference=True) as theirs:
        env = theirs.env
        known = layout.read(env)
        repeated = replace(known, watch=known.watch._replace(again=True))
        steppers = []
        for backend, layout_ in product((compiled, plain), (known, repeated)):
            small = model.small_model(env.model.get_xml())
            steppers.append(Stepper(small, mujoco.MjData(small), layout_, backend))
        assert steppers[0].model is not steppers[1].model
        trace = Traces(theirs._environment).of(facts.bddl_path(task(case)), number)
        bodies = {env.obj_body_id[name]: pose for name, pose in (fixtures.poses(task(case), number) or {}).items()}
        for stepper in steppers:
            start(stepper, trace.warm, facts.init_state(task(case), number), bodies)
        expected = started(theirs, case, number)
        touched = 0
        for action in (None, *moves(24)):
            if action is not None:
                expected = env.step(action)[0]
                touched = max(touched, env.sim.data.ncon)
            for stepper in steppers:
                if action is not None:
                    stepper.step(action)
                assert differing(stepper.observation(), expected, stepper.data, env.sim.data._data) == []
        assert touched > 20
        model.clear()


def test_the_constants_of_a_layout_do_not_depend_on_the_reset():
    from gym_grounding.adapters.libero.core import layout

    with opened("spatial", reference=True) as simulator:
        first = layout.read(simulator.env)
        started(simulator, "spatial", 5)
        second = layout.read(simulator.env)
        for one, other in ((first.rest, second.rest), (first.arm, second.arm), (first.watch, second.watch)):
            assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
        assert first.parts == second.parts


def test_a_simulator_says_what_the_core_does_not_cover():
    from gym_grounding.adapters.libero.core import layout
    from gym_grounding.errors import SimulatorError

    with opened("goal", reference=True) as simulator:
        controller = simulator.env.robots[0].controller
        assert layout.uncovered(simulator.env) == ""
        controller.impedance_mode = "variable"
        with pytest.raises(SimulatorError, match="does not cover the controller OSC_POSE with variable impedance"):
            layout.read(simulator.env)
        controller.impedance_mode = "fixed"
        started(simulator, "goal", 0)
        simulator.step(np.zeros(7), drawing=False)
        with pytest.raises(SimulatorError, match="right after a reset"):
            layout.read(simulator.env)


def test_another_mujoco_is_stepped_by_liberos_own_code(monkeypatch):
    from gym_grounding.adapters.libero.robosuite_names import mujoco

    with opened("goal") as simulator:
        assert simulator._stepper is not None
    monkeypatch.setattr(mujoco, "__version__", "3.3.1")
    with opened("goal") as simulator:
        assert simulator._stepper is None
        started(simulator, "goal", 0)
        assert simulator.step(np.zeros(7), drawing=False)["robot0_eef_pos"].shape == (3,)


def test_a_scene_that_blows_up_is_started_anew_as_by_liberos_own_step(tmp_path, monkeypatch):
    from gym_grounding.adapters.libero.robosuite_names import mjtWarning

    monkeypatch.chdir(tmp_path)  # mujoco writes a log
    with opened("goal") as ours, opened("goal", reference=True) as theirs:
        for simulator in (ours, theirs):
            started(simulator, "goal", 0)
            simulator.env.sim.data.qvel[20] = 1e11
            simulator.step(np.ones(7), drawing=False)
            assert simulator.env.sim.data.warning[mjtWarning.mjWARN_BADQVEL].number == 1
        assert np.array_equal(ours.state(), theirs.state())


def test_threads_and_any_order_of_episodes_change_nothing():
    def episode(simulator, number, actions):
        started(simulator, "long", number)
        for action in actions:
            seen = simulator.step(action, drawing=False)
        return simulator.state().tobytes() + b"".join(part.tobytes() for part in seen.values())

    generator = np.random.default_rng(4)
    episodes = [(int(generator.integers(4)), moves(int(generator.integers(8, 20)))) for _ in range(8)]
    with opened("long") as first, opened("long") as second:
        alone = [episode(first, *one) for one in episodes]
        assert len(set(alone)) == len({(number, len(actions)) for number, actions in episodes}) > 4
        with ThreadPoolExecutor(2) as threads:
            order = generator.permutation(8)
            parts = [(first, order[:4]), (second, order[4:])]
            jobs = [threads.submit(lambda s, o: [episode(s, *episodes[i]) for i in o], *part) for part in parts]
            together = [result for job in jobs for result in job.result()]
        assert [alone[index] for index in order] == together


def test_traces_made_in_threads_are_those_made_alone(monkeypatch):
    """LIBERO draws from NumPy's global generator, which all threads share."""
    from gym_grounding.adapters.libero.core.start import Traces

    bddl = facts.bddl_path(task("goal"))

    def trace(traces, seed):
        found = traces.of(bddl, seed)
        return (
            found.state.tobytes() + found.warm.tobytes() + b"".join(pose.tobytes() for pose in found.fixtures.values())
        )

    with opened("goal") as first, opened("goal") as second:
        alone = [trace(Traces(first._environment), seed) for seed in range(6)]
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        try:
            with ThreadPoolExecutor(2) as threads:
                jobs = [
                    threads.submit(lambda t, seeds: [trace(t, seed) for seed in seeds], Traces(one._environment), seeds)
                    for one, seeds in ((first, range(6)), (second, range(5, -1, -1)))
                ]
                forth, back = (job.result() for job in jobs)
        finally:
            sys.setswitchinterval(interval)
    assert forth == alone == back[::-1]


def test_only_the_thread_that_asks_for_a_small_model_gets_one():
    """Others, and children that are forked meanwhile, compile whole ones, and wait for nobody."""
    from gym_grounding.adapters.libero import environment
    from gym_grounding.adapters.libero.robosuite_names import binding_utils

    compile_ = binding_utils.MjSim.from_xml_string
    bodies = "<body><geom size='.1'/><geom size='.2' contype='0' conaffinity='0'/></body>"
    text = f"<mujoco><worldbody>{bodies}</worldbody></mujoco>"

    def geoms():
        return binding_utils.MjSim.from_xml_string(text).model.ngeom

    with environment.numpy_generator_kept(), environment._small_models():
        assert geoms() == 1
        with ThreadPoolExecutor(1) as threads:
            assert threads.submit(geoms).result() == 2
        child = os.fork()
        if child == 0:
            with ThreadPoolExecutor(1) as threads:  # the child's own lock, which is free
                free = threads.submit(environment._turn.acquire, timeout=5).result()
                os._exit(0 if free and threads.submit(geoms).result() == 2 else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert geoms() == 2
    assert binding_utils.MjSim.from_xml_string == compile_


def test_contacts_without_memory_are_an_error():
    from gym_grounding.adapters.libero.robosuite_names import mjtWarning
    from gym_grounding.errors import SimulatorError

    with opened("long") as simulator:
        started(simulator, "long", 0)
        simulator.step(np.zeros(7), drawing=False)
        simulator.env.sim.data.warning[mjtWarning.mjWARN_CONTACTFULL].number = 1
        with pytest.raises(SimulatorError, match="contacts need more memory than the model has"):
            simulator.step(np.zeros(7), drawing=False)
        started(simulator, "long", 0)
        simulator.step(np.zeros(7), drawing=False)


def test_a_model_is_compiled_once_and_then_read_from_the_disk(tmp_path, monkeypatch):
    from gym_grounding.adapters.libero.core import cache, model

    monkeypatch.setenv(cache.FOLDER, str(tmp_path))
    made = []
    shrink = model.small_text
    monkeypatch.setattr(model, "small_text", lambda text: (made.append(1), shrink(text))[1])
    text = "<mujoco><size nconmax='10'/><worldbody><body><geom size='.1'/></body></worldbody></mujoco>"
    first = model.small_model(text)
    first.body_pos[1] = 3.0
    assert model.small_model(text).body_pos[1, 0] == 0.0
    for damage in (lambda data: data, lambda data: data[:-1] + b"?", lambda data: data[:50], lambda data: b""):
        model.clear()
        entry = next(tmp_path.glob("*.bin"))
        entry.write_bytes(damage(entry.read_bytes()))
        assert model.small_model(text).nbody == 2
    assert len(made) == 4
    model.clear()


def test_products_that_differ_are_not_left_to_compiled_code(monkeypatch):
    from gym_grounding.adapters.libero.core import agreement, compiled

    assert agreement.agrees()
    monkeypatch.setattr(compiled, "multiply", lambda matrix, other: np.dot(matrix, other) + 1e-16)
    with pytest.warns(UserWarning, match="differently in the last bit"):
        assert not agreement.agrees()


def test_without_compiling_the_plain_step_is_chosen():
    code = "from gym_grounding.adapters.libero.core.stepper import fastest; print(fastest().__name__.split('.')[-1])"
    for jit, name in (("1", "plain"), ("0", "compiled")):
        environment = {**os.environ, "NUMBA_DISABLE_JIT": jit}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=300
        )
        assert (done.stdout.strip(), done.stderr) == (name, "")

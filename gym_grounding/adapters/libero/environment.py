"""LIBERO's own environment, compiled once, whose every reset ends like the first reset of a new one.

Surprises:
    A reset places things at random, and its traces outlast the initial state that is set afterwards: the poses of the
    fixtures, and (mujoco 3.3.2) the solver's warm start, about 1e-13, which grows to 1e-7 within 60 steps.
    Where the BDDL file opens or turns something on, each reset of LIBERO's adds a sampler, so that equal seeds give
    other placements after each reset.
"""

from __future__ import annotations

import contextlib
import os
import threading
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gym_grounding.adapters.libero import install, model_text
from gym_grounding.adapters.libero.core.model import small_model
from gym_grounding.adapters.libero.memory import return_freed_memory
from gym_grounding.adapters.libero.robosuite_names import (
    ControlEnv,
    RandomizationError,
    RobosuiteTask,
    binding_utils,
    get_default_path_dict,
    get_libero_path,
    robosuite_parse_problem,
    string_to_array,
)
from gym_grounding.errors import InvalidOption, SimulatorError

ATTEMPTS = 100
"""Placements of the objects that are tried before giving up; LIBERO tries without end."""
_SAMPLERS = (
    "placement_initializer",
    "conditional_placement_initializer",
    "conditional_placement_on_objects_initializer",
    "object_property_initializers",
)


class Environment:
    """A compiled scene with the placement rules of any of its tasks.

    Args:
        bddl: BDDL file of any task of the scene.
        small: compile what moves alone, see ``core.model``.

    Attributes:
        control: LIBERO's ``ControlEnv``, without cameras.
        problem: its inner environment.

    Raises:
        SimulatorError: the scene's objects cannot be placed.
    """

    def __init__(self, bddl: Path, small: bool = False) -> None:
        self.control: Any = _built(bddl, small)
        return_freed_memory()
        self.problem: Any = self.control.env
        self._unplaced = {name: self._compiled_pose(fixture) for name, fixture in self.problem.fixtures_dict.items()}
        self._samplers: dict[Path, dict[str, Any]] = {}
        sim = self.problem.sim
        self._text = "" if small else sim.model.get_xml()
        self._clear = sim.reset
        sim.reset = self._as_loaded

    def reset(self, bddl: Path, seed: int) -> None:
        """End where a new environment of ``bddl`` ends after ``env.seed(seed)`` and ``env.reset()``, to the last bit.

        NumPy's global generator is left as it was.

        Raises:
            SimulatorError: the objects cannot be placed.
        """
        samplers = self._samplers_of(bddl)
        properties = samplers["object_property_initializers"]
        for name, sampler in samplers.items():
            setattr(self.problem, name, sampler)
        # A new environment loads its model once, and each reset loads it again with a copy of these samplers.
        self.problem.object_property_initializers = list(properties)
        with numpy_generator_kept():
            self.control.seed(seed)
            for _ in range(ATTEMPTS):
                self.problem.object_property_initializers += properties
                try:
                    self.problem.reset()
                except RandomizationError:
                    continue
                break
            else:
                raise SimulatorError(f"{bddl}: seed {seed}: its objects found no place in {ATTEMPTS} attempts")
        # The reset leaves the gripper's ramp where the last episode ended.
        for robot in self.problem.robots:
            robot.gripper.current_action = np.zeros(robot.gripper.dof)

    def fixture_poses(self) -> dict[str, NDArray[np.float64]]:
        """Position [m] and quaternion (w, x, y, z) of every fixture, shape (7,), by name."""
        model, bodies = self.problem.sim.model, self.problem.obj_body_id
        return {
            name: np.concatenate([model.body_pos[bodies[name]], model.body_quat[bodies[name]]])
            for name in self.problem.fixtures_dict
        }

    def place_fixture(self, name: str, pose: NDArray[np.float64]) -> None:
        """Put a fixture at a pose as ``fixture_poses`` gives it; takes effect with the next forward pass."""
        model, body = self.problem.sim.model, self.problem.obj_body_id[name]
        model.body_pos[body], model.body_quat[body] = pose[:3], pose[3:]

    def model_text(self) -> str:
        """The compiled model as MJCF text, with the fixtures where they stand now, to the last bit."""
        poses, bodies = self.fixture_poses(), self.fixture_bodies()
        self._text = self._text or binding_utils.MjSim.from_xml_string(self.full_text()).model.get_xml()
        placed = model_text.with_poses(self._text, {bodies[name]: pose for name, pose in poses.items()})
        # Assets lie in PACKAGE/assets, the robot's parts in robosuite.
        folders = (Path(get_libero_path("assets")).parents[1], Path(binding_utils.__file__).parents[2])
        return model_text.without_places(placed, folders)

    def full_text(self) -> str:
        """The whole scene, with all that is only seen, as MJCF text that a new environment would compile."""
        text: str = self.problem.model.get_xml()
        return text

    def fixture_bodies(self) -> dict[str, str]:
        """Name of the body that ``place_fixture`` moves, by name of the fixture."""
        return {name: fixture.root_body for name, fixture in self.problem.fixtures_dict.items()}

    def preset(self, init_state: NDArray[np.float64], joints: Mapping[str, float]) -> NDArray[np.float64]:
        """A copy of an initial state, shape (1 + nq + nv,), in which joints stand elsewhere, at rest.

        Args:
            init_state: time, positions and velocities.
            joints: fixture, object or site -> position of its one joint [m or rad].

        Raises:
            InvalidOption: an entity that is not in the scene or has not exactly one joint.
        """
        model, changed = self.problem.sim.model, init_state.copy()
        for name, position in joints.items():
            joint = self._joint(name)
            changed[1 + model.get_joint_qpos_addr(joint)] = position
            changed[1 + model.nq + model.get_joint_qvel_addr(joint)] = 0.0
        return changed

    def close(self) -> None:
        """Free the scene."""
        self.control.close()

    def _joint(self, name: str) -> str:
        """Name of the one joint of an entity; free joints of movable objects are none."""
        problem = self.problem
        parts = {**problem.fixtures_dict, **problem.object_sites_dict}
        movable = {known: part.joints for known, part in parts.items() if getattr(part, "joints", None)}
        if len(movable.get(name, ())) != 1:
            single = ", ".join(sorted(known for known, names in movable.items() if len(names) == 1))
            has = f"has {len(movable.get(name, ()))} joints" if name in parts else "is no fixture or site of this scene"
            raise InvalidOption(f"joints: {name!r} {has}; preset one of {single or 'nothing here'}")
        joint: str = movable[name][0]
        return joint

    def _as_loaded(self) -> None:
        """Bring model and data to where loading them leaves them; stands for the simulator's ``reset``."""
        for name, pose in self._unplaced.items():
            self.place_fixture(name, pose)
        self._clear()
        # Robosuite runs one forward pass on a new model, and that pass warms the solver.
        self.problem.sim.forward()

    def _compiled_pose(self, fixture: Any) -> NDArray[np.float64]:
        body = self.problem.model.worldbody.find(f"./body[@name='{fixture.root_body}']")
        return np.concatenate([string_to_array(body.get("pos", "0 0 0")), string_to_array(body.get("quat", "1 0 0 0"))])

    def _samplers_of(self, bddl: Path) -> dict[str, Any]:
        if bddl not in self._samplers:
            problem = self.problem
            problem.parsed_problem = robosuite_parse_problem(str(bddl))
            problem.object_property_initializers = []
            problem._setup_placement_initializer(None)
            # Goals are judged by the caller; LIBERO would evaluate this one twice per step.
            problem.parsed_problem["goal_state"] = []
            self._samplers[bddl] = {name: getattr(problem, name) for name in _SAMPLERS}
        return self._samplers[bddl]


@contextlib.contextmanager
def numpy_generator_kept() -> Iterator[None]:
    """Puts NumPy's global generator back as it was; robosuite and LIBERO draw from it, one thread at a time."""
    with _turn:
        state = np.random.get_state()  # noqa: NPY002  # theirs, not ours
        try:
            yield
        finally:
            np.random.set_state(state)  # noqa: NPY002


_turn = threading.RLock()
"""Held while LIBERO's code draws from NumPy's global generator or while its output is swallowed."""
_wanted = threading.local()
"""``small``: whether this thread's scenes are compiled small."""


def _unlock() -> None:
    global _turn
    _turn = threading.RLock()


os.register_at_fork(after_in_child=_unlock)


@contextlib.contextmanager
def _small_models() -> Iterator[None]:
    """Within it, robosuite compiles small models and looks for no geoms that are only seen, in this thread alone."""
    compiled, searched = binding_utils.MjSim.from_xml_string, RobosuiteTask.generate_id_mappings

    def compile_(text: str) -> Any:
        return binding_utils.MjSim(small_model(text)) if _is_small() else compiled(text)

    def search(task: Any, sim: Any) -> None:
        if not _is_small():
            searched(task, sim)

    before = vars(binding_utils.MjSim)["from_xml_string"]
    binding_utils.MjSim.from_xml_string = staticmethod(compile_)
    RobosuiteTask.generate_id_mappings = search
    _wanted.small = True
    try:
        yield
    finally:
        _wanted.small = False
        binding_utils.MjSim.from_xml_string, RobosuiteTask.generate_id_mappings = before, searched


def _is_small() -> bool:
    # A child that is forked meanwhile keeps the patches; there they do nothing.
    return getattr(_wanted, "small", False)


def _built(bddl: Path, small: bool) -> Any:
    if (assets := get_libero_path("assets")) != (own := get_default_path_dict()["assets"]):
        warnings.warn(f"LIBERO's config file takes the assets from {assets}, not from {own}", stacklevel=2)
    with numpy_generator_kept(), install.quiet(), _small_models() if small else contextlib.nullcontext():
        for seed in range(ATTEMPTS):
            np.random.seed(seed)  # noqa: NPY002  # LIBERO's own generator
            try:
                control = ControlEnv(
                    bddl_file_name=str(bddl),
                    use_camera_obs=False,
                    has_offscreen_renderer=False,
                    hard_reset=False,
                    ignore_done=True,
                )
            except RandomizationError:
                continue
            if small:
                # Each reset would look for the geoms again.
                control.env.model.generate_id_mappings = lambda sim: None
            return control
    raise SimulatorError(f"{bddl}: its objects found no place in {ATTEMPTS} attempts")

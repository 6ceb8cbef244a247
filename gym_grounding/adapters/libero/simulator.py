"""One compiled LIBERO scene, stepped by LIBERO's own code. It serves every task, variant and goal of the scene.

Surprises:
    ``reset`` of the simulator places cabinet, stove, rack, caddy and microwave at random; an initial state does not
    hold them. They are written here from a table.
    ``set_init_state`` leaves the gripper's ramp and the controller's goal alone; a ``reset`` must come first.
    Observations are those of the second last of the 25 physics steps (2 ms early), as in LIBERO; goals are judged on
    the last one.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gym_grounding.adapters.libero import install
from gym_grounding.adapters.libero.painter import Painter
from gym_grounding.adapters.libero.robosuite_names import (
    ControlEnv,
    Observable,
    RandomizationError,
    convert_quat,
    get_default_path_dict,
    get_libero_path,
    sensor,
)
from gym_grounding.adapters.libero.spaces import CAMERAS
from gym_grounding.errors import SimulatorError

ATTEMPTS = 100
"""Placements of movable objects that are tried while a scene is compiled; LIBERO tries without end."""


class Simulator:
    """A compiled scene.

    Args:
        bddl: any BDDL file of the scene.
        draws: whether observations hold pictures.

    Raises:
        MissingRenderer: pictures were asked for and cannot be drawn.

    Attributes:
        env: LIBERO's problem object.
        image_size: side of the pictures in observations [pixels]; may change between episodes.
    """

    def __init__(self, bddl: Path, draws: bool) -> None:
        self._control: Any = built(bddl)
        self.env: Any = self._control.env
        # Arm and objects come from the initial state, so the reset need not draw their placement.
        self.env.deterministic_reset = True
        # Goals are judged by the caller; LIBERO would evaluate the one of `bddl` twice per step.
        self.env.parsed_problem["goal_state"] = []
        self.image_size = 128
        self._painter: Painter | None = None
        self._drawing = False
        self._add_fixture_observables()
        if draws:
            try:
                self._add_camera_observables(self._ready_painter())
            except BaseException:
                self.close()
                raise

    def start(
        self, init_state: NDArray[np.float64], fixtures: Mapping[str, NDArray[np.float64]], drawing: bool
    ) -> Mapping[str, Any]:
        """Start an episode; a pure function of its arguments.

        Args:
            init_state: time, positions and velocities, shape (1 + nq + nv,).
            fixtures: name -> position [m] and quaternion (w, x, y, z) of every fixture, shape (7,).
            drawing: whether the returned observation needs its pictures.
        """
        model = self.env.sim.model
        if len(init_state) != 1 + model.nq + model.nv:
            raise SimulatorError(f"An initial state has {len(init_state)} numbers, the scene {1 + model.nq + model.nv}")
        if set(fixtures) != set(self.env.fixtures_dict):
            known = ", ".join(sorted(self.env.fixtures_dict))
            raise SimulatorError(f"Fixture poses for {', '.join(sorted(fixtures))}; the scene has {known}")
        self._drawing = False
        with numpy_generator_kept():
            self.env.reset()
            for robot in self.env.robots:
                robot.gripper.current_action = np.zeros(robot.gripper.dof)
            for name, pose in fixtures.items():
                body = self.env.obj_body_id[name]
                model.body_pos[body], model.body_quat[body] = pose[:3], pose[3:]
            self._drawing = drawing
            observation: Mapping[str, Any] = self._control.set_init_state(init_state)
        return observation

    def step(self, action: NDArray[np.float64], drawing: bool) -> Mapping[str, Any]:
        """Advance one control step (50 ms, 25 physics steps) and return LIBERO's observation."""
        self._drawing = drawing
        observation: Mapping[str, Any] = self.env.step(action)[0]
        return observation

    def state(self) -> NDArray[np.float64]:
        """Time, positions and velocities, shape (1 + nq + nv,), a copy."""
        flat: NDArray[np.float64] = self._control.get_sim_state()
        return flat

    def picture(self, camera: str, size: int) -> NDArray[np.uint8]:
        """A picture of the present state in OpenGL order, shape (size, size, 3); the physics is left alone.

        Raises:
            MissingRenderer: no usable GL library.
        """
        return self._ready_painter().draw(camera, size)

    def close(self) -> None:
        """Free the scene; safe to call twice."""
        if self._painter is not None:
            self._painter.close()
            self._painter = None
        if self._control is not None:
            self._control.close()
            self._control = self.env = None

    def _ready_painter(self) -> Painter:
        if self._painter is None:
            self._painter = Painter(self.env.sim)
        return self._painter

    def _add_fixture_observables(self) -> None:
        for name, fixture in self.env.fixtures_dict.items():
            body = self.env.obj_body_id[name]
            addresses = [self.env.sim.model.get_joint_qpos_addr(joint) for joint in fixture.joints]
            self._observe(f"{name}_pos", "fixture", lambda _, body=body: self._data.body_xpos[body])
            self._observe(
                f"{name}_quat", "fixture", lambda _, body=body: convert_quat(self._data.body_xquat[body], to="xyzw")
            )
            if addresses:
                # An array even for one joint; robosuite turns arrays of one element into numbers.
                self._observe(f"{name}_joint_pos", "fixture", lambda _, a=addresses: self._data.qpos[a])

    def _add_camera_observables(self, painter: Painter) -> None:
        for camera in CAMERAS:

            def look(_: object, camera: str = camera) -> NDArray[np.uint8]:
                if self._drawing:
                    return painter.draw(camera, self.image_size)
                return np.zeros((self.image_size, self.image_size, 3), np.uint8)

            self._observe(f"{camera}_image", "image", look)

    def _observe(self, name: str, modality: str, reading: Any) -> None:
        """Let LIBERO's own clock sample ``reading`` as the observable ``name``."""
        observable = Observable(
            name=name, sensor=sensor(modality=modality)(reading), sampling_rate=self.env.control_freq
        )
        self.env.add_observable(observable)

    @property
    def _data(self) -> Any:
        return self.env.sim.data


@contextlib.contextmanager
def numpy_generator_kept() -> Iterator[None]:
    """Puts NumPy's global generator back as it was; robosuite and LIBERO draw from it."""
    state = np.random.get_state()  # noqa: NPY002  # theirs, not ours
    try:
        yield
    finally:
        np.random.set_state(state)  # noqa: NPY002


def built(bddl: Path) -> Any:
    """LIBERO's ``ControlEnv`` of a BDDL file, without cameras; NumPy's global generator is left alone.

    Raises:
        SimulatorError: its objects cannot be placed.
    """
    if (assets := get_libero_path("assets")) != (own := get_default_path_dict()["assets"]):
        warnings.warn(f"LIBERO's config file takes the assets from {assets}, not from {own}", stacklevel=2)
    with numpy_generator_kept(), install.quiet():
        for seed in range(ATTEMPTS):
            np.random.seed(seed)  # noqa: NPY002  # LIBERO's own generator
            try:
                return ControlEnv(
                    bddl_file_name=str(bddl),
                    use_camera_obs=False,
                    has_offscreen_renderer=False,
                    hard_reset=False,
                    ignore_done=True,
                )
            except RandomizationError:
                continue
    raise SimulatorError(f"{bddl}: no placement of its objects was found in {ATTEMPTS} attempts")

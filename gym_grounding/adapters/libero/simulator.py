"""One compiled LIBERO scene, which serves every task, variant and goal of the scene.

It is stepped by the core, to the last bit as LIBERO's own code steps it, and by that code where the core does not
cover the scene.

Surprises:
    ``set_init_state`` leaves the gripper's ramp, the controller's goal and the fixtures alone; a reset must come first.
    Observations are those of the second last of the 25 physics steps (2 ms early), as in LIBERO; goals are judged on
    the last one.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gym_grounding.adapters.libero.core import layout
from gym_grounding.adapters.libero.core.start import Traces, start
from gym_grounding.adapters.libero.core.stepper import Stepper
from gym_grounding.adapters.libero.environment import Environment
from gym_grounding.adapters.libero.painter import Easel, View
from gym_grounding.adapters.libero.robosuite_names import Observable, convert_quat, sensor
from gym_grounding.adapters.libero.spaces import CAMERAS
from gym_grounding.errors import SimulatorError
from gym_grounding.pictures import Picture


class Simulator:
    """A compiled scene.

    Args:
        bddl: any BDDL file of the scene.
        draws: whether observations hold pictures.
        reference: step LIBERO's own code, whatever the core covers.

    Attributes:
        env: LIBERO's problem object.
        reference: as given.
        fresh: whether observations are float64 arrays, one-dimensional, that nobody else holds.
        image_size: side of the pictures in observations [pixels]; may change between episodes.
        fast: whether they are drawn without reflections and with fewer samples; may change too.
    """

    def __init__(self, bddl: Path, draws: bool, reference: bool = False) -> None:
        environment = Environment(bddl, small=not reference)
        if not reference and layout.uncovered(environment.problem):
            environment.close()
            environment, reference = Environment(bddl), True
        self.reference = reference
        self._environment: Environment | None = environment
        self.env: Any = environment.problem
        self.image_size, self.fast = 128, False
        self._easel = Easel(environment.full_text)
        self._drawing = False
        self._draws = draws
        self._stepper: Stepper | None = None
        self.fresh = False
        self._traces = Traces(environment)
        try:
            if reference:
                self._add_fixture_observables()
                if draws:
                    self._add_camera_observables()
            else:
                sim = self.env.sim
                self._stepper = Stepper(sim.model._model, sim.data._data, layout.read(self.env))
                self.fresh = True
        except BaseException:
            self.close()
            raise

    def start(
        self,
        bddl: Path,
        seed: int,
        init_state: NDArray[np.float64],
        fixtures: Mapping[str, NDArray[np.float64]] | None,
        drawing: bool,
        joints: Mapping[str, float] | None = None,
    ) -> Mapping[str, Any]:
        """Start an episode; a pure function of its arguments.

        Args:
            bddl: BDDL file of the task.
            seed: of LIBERO's reset.
            init_state: time, positions and velocities, shape (1 + nq + nv,).
            fixtures: name -> position [m] and quaternion (w, x, y, z) of every fixture, shape (7,); None leaves them
                where the reset puts them.
            drawing: whether the returned observation needs its pictures; where the core steps, they are ``Picture``s,
                drawn only when read.
            joints: entity -> position of its one joint [m or rad] that takes the place of the initial state's.

        Raises:
            InvalidOption: an entity without exactly one joint.
            SimulatorError: fixture poses or an initial state of another scene.
        """
        environment, model = self._environment, self.env.sim.model
        assert environment is not None
        if len(init_state) != 1 + model.nq + model.nv:
            raise SimulatorError(f"An initial state has {len(init_state)} numbers, the scene {1 + model.nq + model.nv}")
        if fixtures is not None and set(fixtures) != set(self.env.fixtures_dict):
            known = ", ".join(sorted(self.env.fixtures_dict))
            raise SimulatorError(f"Fixture poses for {', '.join(sorted(fixtures))}; the scene has {known}")
        started = environment.preset(init_state, joints) if joints else init_state
        if self._stepper is not None:
            trace = self._traces.of(bddl, seed)
            poses = trace.fixtures if fixtures is None else fixtures
            bodies = {self.env.obj_body_id[name]: pose for name, pose in poses.items()}
            start(self._stepper, trace.warm, started, bodies)
            # LIBERO lights what is on before the first picture, and after all later ones.
            if self._draws:
                self.env._post_process()
            return self._observed(self._stepper)
        self._drawing = False
        environment.reset(bddl, seed)
        for name, pose in (fixtures or {}).items():
            environment.place_fixture(name, pose)
        self._drawing = drawing
        observation: Mapping[str, Any] = environment.control.set_init_state(started)
        return observation

    def step(self, action: NDArray[np.float64], drawing: bool) -> Mapping[str, Any]:
        """Advance one control step (50 ms, 25 physics steps) and return LIBERO's observation."""
        if self._stepper is not None:
            self._stepper.step(action)
            observed = self._observed(self._stepper)
            if self._draws:
                self.env._post_process()
            return observed
        self._drawing = drawing
        observation: Mapping[str, Any] = self.env.step(action)[0]
        return observation

    def state(self) -> NDArray[np.float64]:
        """Time, positions and velocities, shape (1 + nq + nv,), a copy."""
        flat: NDArray[np.float64] = self.env.sim.get_state().flatten()
        return flat

    def drawn(self, bddl: Path, seed: int) -> tuple[NDArray[np.float64], dict[str, NDArray[np.float64]]]:
        """State and fixture poses, as ``start`` takes them, where LIBERO's own samplers place everything for a seed.

        Raises:
            SimulatorError: the objects cannot be placed.
        """
        trace = self._traces.of(bddl, seed)
        return trace.state.copy(), {name: pose.copy() for name, pose in trace.fixtures.items()}

    def look(self, state: NDArray[np.float64], camera: str, size: int) -> NDArray[np.uint8]:
        """A picture of another state; the episode is over. See ``picture``.

        Args:
            state: time, positions and velocities, shape (1 + nq + nv,).
        """
        assert self._environment is not None
        self._drawing = False
        # Also lights what is on, as LIBERO does after each step.
        self._environment.control.set_init_state(state)
        return self.picture(camera, size)

    def model_text(self) -> str:
        """See ``Environment.model_text``."""
        assert self._environment is not None
        return self._environment.model_text()

    def fixture_bodies(self) -> dict[str, str]:
        """See ``Environment.fixture_bodies``."""
        assert self._environment is not None
        return self._environment.fixture_bodies()

    def picture(self, camera: str, size: int) -> NDArray[np.uint8]:
        """A picture of the present state in OpenGL order, shape (size, size, 3); the physics is left alone.

        Raises:
            MissingRenderer: no usable GL library.
        """
        if self._stepper is None:
            return self._drawn_now(camera, size)
        # Lights what is on, which nobody sees before.
        self.env._post_process()
        view = View.of(self._stepper.model, self._stepper.present())
        return self._easel.draw(view, camera, size, self.fast)

    def close(self) -> None:
        """Free the scene; safe to call twice."""
        self._easel.close()
        if self._environment is not None:
            self._environment.close()
            self._environment = self.env = self._stepper = None

    def _observed(self, stepper: Stepper) -> dict[str, Any]:
        observation: dict[str, Any] = stepper.observation()
        if self._draws:
            view, size = View.of(stepper.model, stepper.memory.drawn), self.image_size
            for camera in CAMERAS:
                draw = functools.partial(self._easel.draw, view, camera, size, self.fast)
                observation[f"{camera}_image"] = Picture((size, size, 3), draw)
        return observation

    def _drawn_now(self, camera: str, size: int) -> NDArray[np.uint8]:
        """What LIBERO's own simulator shows at this moment."""
        sim = self.env.sim
        return self._easel.draw(View.of(sim.model, data=sim.data._data), camera, size, self.fast)

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

    def _add_camera_observables(self) -> None:
        for camera in CAMERAS:

            def look(_: object, camera: str = camera) -> NDArray[np.uint8]:
                if self._drawing:
                    return self._drawn_now(camera, self.image_size)
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

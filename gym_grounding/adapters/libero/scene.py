"""An open LIBERO scene."""

from __future__ import annotations

import functools
import os
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gym_grounding.adapters._anatomy import Anatomy
from gym_grounding.adapters._base import Observation
from gym_grounding.adapters.libero import facts, fixtures, install, model_text, spaces
from gym_grounding.adapters.libero.core.goals import Verdicts
from gym_grounding.adapters.libero.displaced import displaced
from gym_grounding.adapters.libero.outline import outline
from gym_grounding.adapters.libero.pool import Pool
from gym_grounding.adapters.libero.predicates import Judge
from gym_grounding.adapters.libero.simulator import Simulator
from gym_grounding.errors import GroundingError, InvalidOption, SimulatorError
from gym_grounding.pictures import Picture, drawn
from gym_grounding.types import Goal, Region, SceneFacts, SceneSettings, Task

IDLE = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0)
"""The action of the settle steps: no motion, gripper open."""
POOL: Pool[Simulator] = Pool()
"""This process's compiled scenes, by scene id and whether they draw."""

_ROWS: dict[str, tuple[slice, ...]] = {
    "raw": (slice(None),),
    "upright": (slice(None, None, -1),),
    "rotated": (slice(None, None, -1), slice(None, None, -1)),
}


class LiberoScene:
    """A LIBERO scene: a Panda arm at 20 control steps per second, driven by offsets of its hand.

    Actions, each in [-1, 1]: 0 to 2 move the hand's goal by up to 5 cm (world x, y, z); 3 to 5 turn it by up to 0.5 rad
    (axis-angle); 6 drives the gripper.

    Episode start: LIBERO's reset seeded with the number of the initial state, gripper ramp zeroed, fixtures placed from
    the table, initial state set once, ``settings.settle_steps`` idle steps. It equals, to the last bit, what a new
    environment of LIBERO's gives after ``env.seed(k); env.reset(); env.set_init_state(states[k])`` and those steps.
    With ``settings.starts`` = ``displaced`` the initial state is first changed as ``displaced.displaced`` says.
    Preset joints are written into the initial state, with no speed; what lies in a drawer is not moved with it.

    Surprises:
        Gripper: +1 closes, -1 opens, 0 holds; only the sign counts. A command takes 8 steps from open to closed.
        Idle steps turn the arm by about 3 degrees: the controller still heads for the pose of the reset.
        Pictures come upside down (``raw``). ``upright`` is the true view, with image-left at world -y; ``rotated`` is
        its mirror image, in which left and right are swapped.
        Quaternions are (x, y, z, w) and floats float64; NAME_to_robot0_eef_quat has only float32's precision.
        Observations are taken 2 ms before the end of the control step; goals are judged at its end.

    Args:
        scene: which scene.
        tasks: its tasks by id; the scene is compiled from the one with the lowest index.
        settings: what to observe.

    Attributes:
        lazy: observations hold a ``pictures.Picture`` where they would hold a picture: drawn when it is first read,
            however many steps and episodes later, but not after ``close``.

    Raises:
        MissingSource, MissingRenderer, WrongVersion, SimulatorError
    """

    def __init__(self, scene: SceneFacts, tasks: Mapping[str, Task], settings: SceneSettings) -> None:
        if not tasks:
            raise InvalidOption(f"Scene {scene.id}: no task is given, so there is no file to compile it from")
        self.lazy = False
        self._scene = scene
        self._settings = settings
        self._arrays = spaces.arrays(scene, settings)
        self._pictures = spaces.pictures(settings)
        self._source = min(tasks.values(), key=lambda task: task.index)
        self._verified: set[str] = set()
        self._raw: Mapping[str, Any] = {}
        self._home: NDArray[np.float64] = np.zeros(3)
        self._hand = self._home
        self._lease: _Lease | None = None
        self._open()

    def reset(self, task: Task, init_state: int, joints: Mapping[str, float] | None = None) -> Observation:
        """See ``adapters.Scene.reset``."""
        state, poses = self.stored_start(task, init_state)
        if self._settings.starts == "displaced":
            self._readied(task)
            self._raw = {}
            with self._simulating(f"displace initial state {init_state} of {task.id}"):
                state = displaced(self._simulator, self._scene, task, init_state, joints)
        return self._begin(f"initial state {init_state}", task, init_state, state, poses, joints=joints)

    def stored_start(
        self, task: Task, init_state: int
    ) -> tuple[NDArray[np.float64], dict[str, NDArray[np.float64]] | None]:
        """What ``reset`` starts from: the initial state, shape (1 + nq + nv,), and the fixtures' poses by name.

        Raises:
            InvalidOption: init_state outside ``range(task.init_states)``.
        """
        return np.array(facts.init_state(task, init_state)), fixtures.poses(task, init_state)

    def drawn_start(self, task: Task, seed: int) -> tuple[NDArray[np.float64], dict[str, NDArray[np.float64]]]:
        """A start that is none of the stored ones: what a new environment of LIBERO's has after its seeded reset.

        Args:
            task: lives in this scene.
            seed: LIBERO's, in [0, 2**32).

        Returns:
            Time, positions and velocities, shape (1 + nq + nv,), and position [m] and quaternion (w, x, y, z) of every
            fixture, shape (7,), by name.
        """
        self._readied(task)
        self._raw = {}
        with self._simulating(f"draw start {seed} of {task.id}"):
            return self._simulator.drawn(facts.bddl_path(task), seed)

    def reset_from(
        self,
        task: Task,
        seed: int,
        state: NDArray[np.float64],
        poses: Mapping[str, NDArray[np.float64]] | None,
        settle_steps: int | None = None,
    ) -> Observation:
        """Start an episode from any state; a pure function of its arguments and the settings, to the last bit.

        Args:
            task: lives in this scene.
            seed: of LIBERO's reset, whose traces outlast the state that is set; a replay needs the recorded one.
            state: time, positions and velocities before settling, shape (1 + nq + nv,).
            poses: of every fixture; None leaves them where the reset puts them.
            settle_steps: instead of the settings' own.

        Raises:
            SimulatorError: a state or fixtures of another scene.
        """
        return self._begin("a given state", task, seed, state, poses, settle_steps)

    def model_text(self) -> str:
        """The scene's model as MJCF text, with the fixtures where they stand in this episode."""
        self._started()
        return self._simulator.model_text()

    def poses_in(self, text: str) -> dict[str, NDArray[np.float64]]:
        """The fixtures' poses in such a text, for ``reset_from``, also one that was written elsewhere.

        Raises:
            InvalidOption: no XML, or a model without these fixtures.
        """
        return model_text.poses(text, self._simulator.fixture_bodies())

    def positions(self) -> int:
        """How many numbers of a state, after its time, are positions; the rest are velocities."""
        return int(self._simulator.env.sim.model.nq)

    def origin(self, task: Task) -> dict[str, Any]:
        """What LIBERO's recorder notes: ``env_name``, ``bddl_text`` and ``controller`` (robosuite's settings)."""
        env = self._simulator.env
        return {
            "env_name": type(env).__name__,
            "bddl_text": facts.bddl_path(task).read_text(encoding="utf-8"),
            "controller": dict(env.robot_configs[0]["controller_config"]),
        }

    def look(self, state: NDArray[np.float64], camera: str, size: int) -> NDArray[np.uint8]:
        """An upright picture of any state with this episode's fixtures, shape (size, size, 3); the episode is over.

        Args:
            state: time, positions and velocities, shape (1 + nq + nv,).
            camera: ``agentview`` or ``robot0_eye_in_hand``.
            size: side of the picture [pixels].

        Raises:
            MissingRenderer: no usable GL library.
        """
        self._raw = {}
        with self._simulating("draw"):
            picture = self._simulator.look(state, camera, size)
        return np.array(picture[_ROWS["upright"]], np.uint8, order="C")

    def step(self, action: NDArray[np.float64]) -> Observation:
        """See ``adapters.Scene.step``."""
        simulator = self._simulator
        with self._simulating("step"):
            self._raw = simulator.step(np.array(action, np.float64), drawing=True)
            self._judge.forget()
            return self._observation()

    def holds(self, goal: Goal) -> bool:
        """See ``adapters.Scene.holds``.

        Raises:
            InvalidOption: the goal names a predicate, entity or surface that the scene does not have.
        """
        self._started()
        return self._judge.holds(goal)

    def displacement(self) -> float:
        """See ``adapters.Scene.displacement``."""
        self._started()
        return float(np.linalg.norm(self._hand - self._home))

    def state(self) -> NDArray[np.float64]:
        """Time [s], positions, velocities: shape (1 + nq + nv,), a copy."""
        self._started()
        return self._simulator.state()

    def render(self) -> NDArray[np.uint8]:
        """The agent view, upright, shape (image_size, image_size, 3): the last observation's where it has one.

        Raises:
            MissingRenderer: the scene observes no pictures and none can be drawn.
        """
        self._started()
        if self._pictures:
            picture = np.asarray(self._raw["agentview_image"])
        else:
            with self._simulating("draw"):
                picture = self._simulator.picture("agentview", self._settings.image_size)
        return np.array(picture[_ROWS["upright"]], np.uint8, order="C")

    def outline(self, region: Region) -> NDArray[np.float64]:
        """(column, row) of an added region's corners in the picture of ``render`` [pixels], shape (4, 2)."""
        self._started()
        return outline(self._simulator.env, region, self._settings.image_size)

    def close(self) -> None:
        """Give the simulator back for the next scene; safe to call twice."""
        if self._lease is not None:
            self._give_back()
        self._lease, self._raw = None, {}

    def _begin(
        self,
        what: str,
        task: Task,
        seed: int,
        state: NDArray[np.float64],
        poses: Mapping[str, NDArray[np.float64]] | None,
        settle_steps: int | None = None,
        joints: Mapping[str, float] | None = None,
    ) -> Observation:
        self._readied(task)
        self._raw = {}
        simulator = self._simulator
        steps = self._settings.settle_steps if settle_steps is None else settle_steps
        with self._simulating(f"start {what} of {task.id}"):
            simulator.image_size, simulator.fast = self._settings.image_size, self._settings.pictures == "fast"
            bddl = facts.bddl_path(task)
            self._raw = simulator.start(bddl, seed, state, poses, drawing=steps == 0, joints=joints)
            for step in range(1, steps + 1):
                self._raw = simulator.step(np.array(IDLE), drawing=step == steps)
            self._judge.settled()
            observation = self._observation()
        self._home = self._hand
        return observation

    def _readied(self, task: Task) -> None:
        """The task's files are the registered ones, and there is a simulator."""
        if task.id not in self._verified:
            facts.verify(task)
            self._verified.add(task.id)
        if self._lease is None or self._lease.broken or self._lease.process != os.getpid():
            self._open()

    def _open(self) -> None:
        self.close()
        facts.verify(self._source)
        if self._pictures:
            install.require_pictures()
        key = (self._scene.id, bool(self._pictures))
        with self._simulating("be compiled"):
            simulator = POOL.acquire(key, lambda: _compiled(facts.bddl_path(self._source), self._scene, key[1]))
        self._lease = _Lease(key, simulator)
        # Also when the scene is dropped without close.
        self._give_back = weakref.finalize(self, self._lease.give_back)
        self._give_back.atexit = False
        judge = Judge(simulator.env, self._scene.id)
        self._judge: Judge | Verdicts = judge if simulator.reference else Verdicts(judge)

    @property
    def _simulator(self) -> Simulator:
        if self._lease is None:
            raise SimulatorError(f"Scene {self._scene.id} is closed; reset it first")
        if self._lease.broken:
            raise SimulatorError(f"Scene {self._scene.id} failed before; reset it first")
        if self._lease.process != os.getpid():
            raise SimulatorError(f"Scene {self._scene.id} was opened in another process; reset it in this one first")
        return self._lease.simulator

    def _started(self) -> None:
        if not self._raw:
            raise SimulatorError(f"Scene {self._scene.id} has no episode; reset it first")

    def _observation(self) -> Observation:
        raw = self._raw
        self._hand = np.array(raw["robot0_eef_pos"])
        observation: Observation
        if self._simulator.fresh:
            observation = {key: raw[key] for key in self._arrays}
        else:
            observation = {key: np.array(raw[key], np.float64).reshape(size) for key, size in self._arrays.items()}
        size, lease = self._settings.image_size, self._lease
        pictures: dict[str, Any] = {
            key: Picture((size, size, 3), functools.partial(self._drawn, raw[key], lease)) for key in self._pictures
        }
        return observation | (pictures if self.lazy else drawn(pictures))

    def _drawn(self, picture: Picture | NDArray[np.uint8], lease: _Lease | None) -> NDArray[np.uint8]:
        if lease is None or lease.returned:
            raise SimulatorError(f"Scene {self._scene.id} was closed before its picture was read; read it earlier")
        with self._simulating("draw"):
            return np.array(np.asarray(picture)[_ROWS[self._settings.orientation]], np.uint8, order="C")

    @contextmanager
    def _simulating(self, deed: str) -> Iterator[None]:
        """Turns what the simulator raises into a ``SimulatorError``, and never uses that simulator again."""
        try:
            yield
        except GroundingError:
            raise
        except Exception as error:
            if self._lease is not None:
                self._lease.broken = True
            raise SimulatorError(f"Scene {self._scene.id} failed to {deed}: {type(error).__name__}: {error}") from error


def anatomy_of(scene: SceneFacts, tasks: Mapping[str, Task]) -> Anatomy:
    """What never changes about a scene's bodies; compiles the scene unless this process has it already.

    Raises:
        MissingSource, WrongVersion, SimulatorError
    """
    # Its geometry takes as long to import as the rest of the package, and stepping needs none.
    from gym_grounding.adapters.libero import anatomy

    if scene.id not in _ANATOMIES:
        simulator = POOL.peek((scene.id, False)) or POOL.peek((scene.id, True))
        if simulator is not None:
            _ANATOMIES[scene.id] = anatomy.read(simulator.env, scene.id)
        else:
            opened = LiberoScene(scene, tasks, SceneSettings(observation="state"))
            try:
                _ANATOMIES[scene.id] = anatomy.read(opened._simulator.env, scene.id)
            finally:
                opened.close()
    return _ANATOMIES[scene.id]


_ANATOMIES: dict[str, Anatomy] = {}


class _Lease:
    """A simulator that is out of the pool."""

    def __init__(self, key: tuple[str, bool], simulator: Simulator) -> None:
        self.key, self.simulator, self.process = key, simulator, os.getpid()
        self.broken = self.returned = False

    def give_back(self) -> None:
        self.returned = True
        if self.process != os.getpid():
            POOL.abandon(self.simulator)
        elif self.broken:
            POOL.discard(self.simulator)
        else:
            POOL.release(self.key, self.simulator)


def _compiled(bddl: Path, scene: SceneFacts, draws: bool) -> Simulator:
    simulator = Simulator(bddl, draws)
    entities = {*simulator.env.object_states_dict}
    absent = [e.name for e in scene.of_kind("object", "fixture", "site", "zone") if e.name not in entities]
    if absent:
        simulator.close()
        raise SimulatorError(f"Scene {scene.id}: {bddl} compiles to a scene without {', '.join(absent)}")
    return simulator

"""A task's scene on the bench: started as the environments start it, things placed by hand, the arm kept still."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gym_grounding.adapters.libero import facts, fixtures
from gym_grounding.adapters.libero.geometry import Array, Box, Geometry
from gym_grounding.adapters.libero.predicates import Judge
from gym_grounding.adapters.libero.robosuite_names import get_mju_user_warning, mjtWarning, set_mju_user_warning
from gym_grounding.adapters.libero.scene import IDLE, POOL
from gym_grounding.adapters.libero.simulator import Simulator
from gym_grounding.errors import GroundingError, SimulatorError
from gym_grounding.types import Goal, SceneFacts, Task

SETTLE = 10
"""Idle control steps between an initial state and the settled one."""
_RAISE, _HIGHEST = 0.005, 0.5
"""Step in which a thing is raised until it is free, and how far at most [m]."""
_FREE = 0.001
"""Overlap that resting contacts have anyway [m]."""
_BAD = (mjtWarning.mjWARN_BADQPOS, mjtWarning.mjWARN_BADQVEL, mjtWarning.mjWARN_BADQACC)


class Bench:
    """One task's compiled scene, for measurements that no episode could make. Draws nothing.

    Args:
        task: the task.
        scene: its scene.

    Attributes:
        env: LIBERO's problem object.
        geometry, judge: of its present state.

    Raises:
        MissingSource, WrongVersion, SimulatorError: the scene cannot be opened.
    """

    def __init__(self, task: Task, scene: SceneFacts) -> None:
        facts.verify(task)
        self.task, self.scene = task, scene
        self._key = (scene.id, False)
        self._broken = False
        with self.measuring("be compiled"):
            self._simulator = POOL.acquire(self._key, lambda: Simulator(facts.bddl_path(task), False))
        try:
            with self.measuring("be read"):
                self.env: Any = self._simulator.env
                self.geometry = Geometry(self.env)
                self.judge = Judge(self.env, scene.id)
                self._robot = _robot(self.env)
        except BaseException:
            self.close()
            raise
        self._begun: int | None = None
        self._state: NDArray[np.float64] = np.zeros(0)
        self._torques: NDArray[np.float64] = np.zeros(0)

    def close(self) -> None:
        """Give the compiled scene back for later use, or free it where something failed."""
        if self._broken:
            POOL.discard(self._simulator)
        else:
            POOL.release(self._key, self._simulator)

    def begin(self, init_state: int) -> None:
        """Set an initial state, without settling."""
        task = self.task
        row, poses = facts.init_state(task, init_state), fixtures.poses(task, init_state)
        self._simulator.start(facts.bddl_path(task), init_state, row, poses, drawing=False)
        self._begun = None
        self.judge.settled()

    def settle(self) -> None:
        """Let the present state settle, as an episode does before its first observation."""
        for _ in range(SETTLE):
            self._simulator.step(np.array(IDLE), drawing=False)
        self.judge.settled()

    def restore(self, init_state: int) -> None:
        """Bring back the settled initial state, whatever was done since: the same to the last bit each time."""
        data = self.env.sim.data
        if self._begun != init_state:
            self.begin(init_state)
            self.settle()
            self._begun = init_state
            self._state, self._torques = self._simulator.state(), data.ctrl.copy()
        self.env.sim.set_state_from_flattened(self._state)
        data.ctrl[:] = self._torques
        data.qacc_warmstart[:] = 0
        self.freshen()
        self.judge.settled()

    def freshen(self) -> None:
        """Make poses, contacts and verdicts follow what was set by hand."""
        self.env.sim.forward()
        self.judge.forget()

    def holds(self, goal: Goal) -> bool:
        """Whether a goal holds now."""
        return self.judge.holds(goal)

    def pose(self, name: str) -> Array:
        """Position [m] and quaternion (w, x, y, z) of a movable object's body, shape (7,), a copy."""
        return np.array(self.env.sim.data.get_joint_qpos(self._free_joint(name)), np.float64)

    def place(self, name: str, pose: Array) -> None:
        """Put a movable object at a pose as ``pose`` gives it, at rest."""
        joint = self._free_joint(name)
        self.env.sim.data.set_joint_qpos(joint, pose)
        self.env.sim.data.set_joint_qvel(joint, np.zeros(6))
        self.freshen()

    def box_at(self, name: str, turn: Array) -> Box:
        """Box of a movable object turned by ``turn``, a quaternion (w, x, y, z), relative to its body's origin."""
        pose = self.pose(name)
        self.place(name, np.concatenate([pose[:3], turn]))
        box = self.geometry.box(name).moved(-pose[:3])
        self.place(name, pose)
        return box

    def lower(self, name: str, spot: Array, turn: Array, height: float) -> bool:
        """Put an object above a spot, its origin over it, turned by ``turn``.

        It starts with its lowest point at the spot, is raised until it overlaps with nothing, and then by ``height``
        [m] more.

        Returns:
            False when it is free nowhere above the spot.
        """
        low = self.box_at(name, turn).low[2]
        for raised in np.arange(0.0, _HIGHEST, _RAISE):
            self.place(name, np.array([spot[0], spot[1], spot[2] - low + raised, *turn]))
            if self.geometry.depth(name) <= _FREE:
                self.place(name, np.array([spot[0], spot[1], spot[2] - low + raised + height, *turn]))
                return True
        return False

    def joint(self, name: str) -> float:
        """Position of a hinge or slide [m or rad]."""
        return float(self.env.sim.data.get_joint_qpos(name))

    def set_joints(self, joints: Mapping[str, float]) -> None:
        """Put hinges and slides at positions [m or rad], at rest."""
        for name, position in joints.items():
            self.env.sim.data.set_joint_qpos(name, position)
            self.env.sim.data.set_joint_qvel(name, 0.0)
        self.freshen()

    def run(self, steps: int, held: Collection[str] = (), pressed: Collection[str] = ()) -> bool:
        """Let physics run for control steps of 50 ms, with the robot kept where it is.

        Args:
            steps: how many.
            held: objects that are kept where they are.
            pressed: hinges and slides that are kept where they are.

        Returns:
            Whether the numbers stayed finite; otherwise mujoco has started the scene anew, and the state means nothing.
        """
        sim, model = self.env.sim, self.env.sim.model
        positions, velocities = list(self._robot[0]), list(self._robot[1])
        for name in held:
            positions += range(*model.get_joint_qpos_addr(self._free_joint(name)))
            velocities += range(*model.get_joint_qvel_addr(self._free_joint(name)))
        positions += [model.get_joint_qpos_addr(joint) for joint in pressed]
        velocities += [model.get_joint_qvel_addr(joint) for joint in pressed]
        kept, qpos, qvel = sim.data.qpos[positions].copy(), sim.data.qpos, sim.data.qvel
        failures = self._failures()
        with _no_log():
            for _ in range(steps * round(self.env.control_timestep / self.env.model_timestep)):
                sim.step()
                qpos[positions] = kept
                qvel[velocities] = 0.0
        self.freshen()
        return self._failures() == failures

    @contextmanager
    def measuring(self, deed: str) -> Iterator[None]:
        """Turns what the simulator raises into a ``SimulatorError`` that names task and deed."""
        try:
            yield
        except GroundingError:
            raise
        except Exception as error:
            self._broken = True
            raise SimulatorError(f"{self.task.id} failed to {deed}: {type(error).__name__}: {error}") from error

    def _failures(self) -> int:
        warnings = self.env.sim.data.warning
        return sum(int(warnings[kind].number) for kind in _BAD)

    def _free_joint(self, name: str) -> str:
        joint: str = self.env.objects_dict[name].joints[-1]
        return joint


@contextmanager
def _no_log() -> Iterator[None]:
    """Keeps mujoco from writing its warnings of bad numbers to a log file in the present folder."""
    before = get_mju_user_warning()
    set_mju_user_warning(lambda _: None)
    try:
        yield
    finally:
        set_mju_user_warning(before)


def _robot(env: Any) -> tuple[list[int], list[int]]:
    """Addresses of the positions and velocities of arm and gripper."""
    positions: list[int] = []
    velocities: list[int] = []
    for robot in env.robots:
        positions += [*robot._ref_joint_pos_indexes, *robot._ref_gripper_joint_pos_indexes]
        velocities += [*robot._ref_joint_vel_indexes, *robot._ref_gripper_joint_vel_indexes]
    return positions, velocities

"""LIBERO: ten-task suites of a Panda arm on tables and floors, with LIBERO's own simulator, goals and initial states.

Nothing here imports robosuite, mujoco or LIBERO before a scene is opened. Spaces, checks and versions come from data.
"""

from __future__ import annotations

from collections.abc import Mapping

from gymnasium import spaces as gym_spaces

from gym_grounding.adapters._anatomy import Anatomy
from gym_grounding.adapters._base import Scene
from gym_grounding.adapters.libero import facts, spaces
from gym_grounding.types import SceneFacts, SceneSettings, Task


class LiberoAdapter:
    """See ``adapters.Adapter``; ``scene.LiberoScene`` lists LIBERO's surprises."""

    name = "libero"
    fps = 20

    def observation_space(self, scene: SceneFacts, settings: SceneSettings) -> gym_spaces.Dict:
        """See ``spaces.observation_space``."""
        return spaces.observation_space(scene, settings)

    def action_space(self, scene: SceneFacts) -> gym_spaces.Box:
        """Box(-1, 1, (7,), float32), whatever the scene."""
        return spaces.action_space()

    def open(self, scene: SceneFacts, tasks: Mapping[str, Task], settings: SceneSettings) -> Scene:
        """Open a scene; compiles it on the process's first use (seconds).

        Raises:
            MissingSource, MissingRenderer, WrongVersion, SimulatorError
        """
        from gym_grounding.adapters.libero.scene import LiberoScene

        return LiberoScene(scene, tasks, settings)

    def anatomy(self, scene: SceneFacts, tasks: Mapping[str, Task]) -> Anatomy:
        """Shapes, joints and regions of a scene, for policies that may look behind the observation.

        Kept for the life of the process; compiles the scene (seconds) where the process has not.

        Raises:
            MissingSource, WrongVersion, SimulatorError
        """
        from gym_grounding.adapters.libero.scene import anatomy_of

        return anatomy_of(scene, tasks)

    def verify(self, task: Task) -> None:
        """See ``facts.verify``."""
        facts.verify(task)

    def versions(self) -> dict[str, str]:
        """See ``facts.recorded_versions``."""
        return facts.recorded_versions()

    def scene_hash(self, scene: SceneFacts) -> str:
        """See ``facts.scene_hash``."""
        return facts.scene_hash(scene)

    def clear(self) -> None:
        """Free the compiled scenes that nobody uses."""
        from gym_grounding.adapters.libero.scene import POOL

        POOL.clear()


ADAPTER = LiberoAdapter()

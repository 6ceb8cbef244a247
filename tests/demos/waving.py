"""A demonstrator for any scene that only waves, for tests of what is recorded, whatever is demonstrated."""

from gym_grounding.demos.settings import Played, Settings

STEPS = 25


class Waving:
    """Moves at random, drawn from the attempt's own numbers, and calls it a success."""

    name, version = "waving", "1"

    def __call__(self, scene, facts, tasks, goal, observation, horizon, noise, rng, told):
        for _ in range(min(STEPS, horizon)):
            clean = rng.uniform(-1.0, 1.0, 7)
            before, observation = observation, scene.step(clean)
            told(before, clean, clean, observation, False)
        return Played(min(STEPS, horizon))


PLAYER = Waving()
SETTINGS = Settings(player="demos.waving:PLAYER")

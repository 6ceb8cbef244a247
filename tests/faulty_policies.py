"""Policies for the tests: some that work, and one for each way in which a policy can fail."""

import os
import signal
import time
from pathlib import Path

import numpy as np

from gym_grounding.adapters.toy import ToyScene

STRIDE = 0.05  # way of the toy hand per step at full action [m]


class Still:
    """Does nothing."""

    def start(self, instructions, seed):
        return len(instructions)

    def act(self, observations, state):
        return np.zeros((state, 4)), state


class Wander(Still):
    """Moves by a random walk that depends on the seed, the words and where the hand is."""

    def start(self, instructions, seed):
        return tuple(
            (len(text), np.random.default_rng(number)) for text, number in zip(instructions, seed, strict=True)
        )

    def act(self, observations, state):
        rows = [
            np.tanh(random.normal(size=4) + np.sin(length) - np.append(hand, 0.0))
            for (length, random), hand in zip(state, observations["hand_pos"], strict=True)
        ]
        return np.stack(rows), state


class Crowd(Wander):
    """Wanders, a little faster in larger batches: as if sums over a batch were rounded differently."""

    def act(self, observations, state):
        actions, state = super().act(observations, state)
        return actions * (1.0 + 1e-6 * len(state)), state


class Lamp(Still):
    """Turns on the lamp, whatever it is told; needs the state observation."""

    observation = "state"

    def act(self, observations, state):
        way = observations["lamp_1_pos"] - observations["hand_pos"]
        there = np.linalg.norm(way, axis=1, keepdims=True) < 0.01
        return np.hstack([np.clip(way / STRIDE, -1, 1), np.where(there, 1.0, 0.0)]), state


class Told(Still):
    """Wants to know the task."""

    needs_task_identity = True

    def start(self, instructions, seed, tasks):
        return len(tasks)


class Staged(Still):
    """Moves as fast as its stage and seed say; refuses the stage ``missing``."""

    def __init__(self, stage, seed, missing=None):
        if stage == missing:
            raise FileNotFoundError(f"no checkpoint of stage {stage}")
        self.speed = 0.1 * stage + 0.01 * seed

    def act(self, observations, state):
        return np.full((state, 4), self.speed), state


class Mute(Exception):
    """Cannot say what is wrong."""

    def __str__(self):
        raise RuntimeError("no words")


RAISED = {
    "raise": ValueError("lost the thread"),
    "quit": SystemExit(3),
    "stop": StopIteration("no more"),
    "close": GeneratorExit(),
    "interrupt": KeyboardInterrupt(),
    "mute": Mute(),
}


class Faulty(Wander):
    """Wanders, and commits ``fault`` at step ``step`` of every episode with the instruction ``at``.

    Args:
        once: a path; the fault is committed only while there is no such file, which is made then.
    """

    def __init__(self, fault, at, step=3, once=None, seconds=600.0):
        self.fault, self.at, self.step = fault, at, step
        self.once = None if once is None else Path(once)
        self.seconds = seconds

    def start(self, instructions, seed):
        if self.fault == "start" and self.at in instructions:
            raise KeyError("no such words")
        return [0, tuple(instructions), super().start(instructions, seed)]

    def act(self, observations, state):
        actions, inner = super().act(observations, state[2])
        state = [state[0] + 1, state[1], inner]
        if self.at in state[1] and state[0] == self.step and self._due():
            return self._commit(actions, state, [text == self.at for text in state[1]])
        return actions, state

    def _due(self):
        if self.once is None:
            return True
        if self.once.exists():
            return False
        self.once.touch()
        return True

    def _commit(self, actions, state, rows):
        if self.fault in RAISED:
            raise RAISED[self.fault]
        match self.fault:
            case "nan":
                actions[rows, 2] = np.nan
            case "shape":
                return actions[:, :3], state
            case "type":
                return actions.astype(complex), state
            case "single":
                return actions
            case "exit":
                os._exit(7)
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "hang":
                time.sleep(self.seconds)
        return actions, state


class Stuck(Still):
    """Is never made for the stage ``at``."""

    def __init__(self, stage, at):
        if stage == at:
            time.sleep(600)


class Slow(Wander):
    """Takes its time for every step."""

    def __init__(self, seconds=0.05):
        self.seconds = seconds

    def act(self, observations, state):
        time.sleep(self.seconds)
        return super().act(observations, state)


class SlowWorld(Still):
    """Is fast itself, but makes the toy simulator of its process slow."""

    def __init__(self, seconds):
        plain = ToyScene.step

        def step(scene, action):
            time.sleep(seconds)
            return plain(scene, action)

        ToyScene.step = step


class Dying(Still):
    """Takes its process down when it is made."""

    def __init__(self):
        os._exit(9)


class Picky(Still):
    """Was made for another kind of observation."""

    observation = "pixels"


def still(observation, instruction):
    return np.zeros(4)


POLICY = Still()


def sway(observation, instruction):
    """Moves LIBERO's arm by where the hand is and what the sentence says."""
    return np.sin(np.arange(7) * sum(instruction.encode()) + 10.0 * observation["robot0_eef_pos"].sum())


class Noting(Still):
    """Notes its instruction's length and the steps that it has taken; ``note`` is what it says of the first row."""

    note = None

    def start(self, instructions, seed):
        return tuple(len(text) for text in instructions), 0

    def act(self, observations, state):
        lengths, step = state
        return np.zeros((len(lengths), 4)), (lengths, step + 1)

    def notes(self, state):
        lengths, step = state
        found = [{"length": length, "taken": np.float64(step), "both": [length, step]} for length in lengths]
        return found if self.note is None else [self.note, *found[1:]]

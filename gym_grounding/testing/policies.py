"""The contract of policies, as a check."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from gym_grounding.policy import Policy, as_policy
from gym_grounding.testing._contract import Rules, global_random, same

PROTOCOL = "protocol"
SHAPE = "shape"
RANGE = "range"
SEEDED = "seeded"
ROWS = "rows"
STATE_IS_A_VALUE = "state_is_a_value"
OBSERVATIONS_UNTOUCHED = "observations_untouched"
MEAN_ACTION = "mean_action"
LOG_PROB = "log_prob"
RUNS = "runs"

_STEPS = 4
_Observations = dict[str, NDArray[Any]]


def check_policy(
    policy: object,
    observation_space: spaces.Dict,
    action_space: spaces.Box,
    instructions: Sequence[str],
    tasks: Sequence[str] | None = None,
    tolerance: float = 1e-6,
) -> None:
    """Check what ``policy.Policy`` promises, on random observations.

    Args:
        policy: the policy, or a function of (observation, instruction).
        observation_space: what one environment observes.
        action_space: Box of the actions.
        instructions: at least two sentences.
        tasks: their task ids; handed over only if the policy has ``needs_task_identity``.
        tolerance: greatest difference of actions that count as equal. Batched matrix products differ in the last bits.

    Raises:
        ContractBroken: lists every broken rule.
        ValueError: fewer than two instructions.
    """
    if len(instructions) < 2:
        raise ValueError("give at least two instructions, so that rows can be compared")
    rules = Rules(f"policy {type(policy).__name__}")
    with rules.guarded(PROTOCOL):
        trial = _Trial(as_policy(policy), observation_space, list(instructions), list(tasks or ()), tolerance)
        with rules.guarded(RUNS):
            _check_actions(rules, trial, action_space)
            _check_seeds(rules, trial)
            _check_rows(rules, trial)
            _check_state(rules, trial)
            _check_probes(rules, trial, action_space)
    rules.conclude()


class _Trial:
    """One policy with a fixed sequence of random observations for B = len(instructions) episodes."""

    def __init__(
        self, policy: Policy, space: spaces.Dict, instructions: list[str], tasks: list[str], tolerance: float
    ) -> None:
        self.policy, self.instructions, self.tasks, self.tolerance = policy, instructions, tasks, tolerance
        self.seeds = list(range(7, 7 + len(instructions)))
        self.untouched = True
        space = copy.deepcopy(space)
        space.seed(0)
        self.steps = [_stacked([space.sample() for _ in instructions]) for _ in range(_STEPS)]

    def start(self, rows: Sequence[int]) -> Any:
        extra: dict[str, Any] = {}
        if getattr(self.policy, "needs_task_identity", False):
            extra["tasks"] = [self.tasks[row] for row in rows]
        return self.policy.start([self.instructions[row] for row in rows], [self.seeds[row] for row in rows], **extra)

    def run(self, rows: Sequence[int]) -> list[NDArray[Any]]:
        state = self.start(rows)
        actions = []
        for step in self.steps:
            shown = {key: value[list(rows)] for key, value in step.items()}
            action, state = self.policy.act(shown, state)
            self.untouched &= all(same(shown[key], step[key][list(rows)]) for key in step)
            actions.append(np.asarray(action))
        return actions

    @property
    def all_rows(self) -> range:
        return range(len(self.instructions))


def _check_actions(rules: Rules, trial: _Trial, space: spaces.Box) -> None:
    expected = (len(trial.instructions), *space.shape)
    for action in trial.run(trial.all_rows):
        shaped = action.shape == expected and np.issubdtype(action.dtype, np.floating)
        rules.check(SHAPE, shaped, f"act gives {action.dtype}{action.shape}; expected floats of shape {expected}")
        inside = np.issubdtype(action.dtype, np.number) and bool((np.abs(action) <= 1.0).all())
        rules.check(RANGE, inside, "act gives numbers outside [-1, 1], or NaN")
    rules.check(OBSERVATIONS_UNTOUCHED, trial.untouched, "act writes into its observations")


def _check_seeds(rules: Rules, trial: _Trial) -> None:
    with global_random(1):
        one = trial.run(trial.all_rows)
    with global_random(2):
        two = trial.run(trial.all_rows)
    rules.check(SEEDED, all(map(same, one, two)), "equal seeds give different actions; seed is the only randomness")


def _check_rows(rules: Rules, trial: _Trial) -> None:
    together = trial.run(trial.all_rows)
    reverse = list(trial.all_rows)[::-1]
    backwards = trial.run(reverse)
    for row in trial.all_rows:
        alone = trial.run([row])
        for step in range(_STEPS):
            mine = together[step][row]
            equal = same(mine, alone[step][0], trial.tolerance)
            rules.check(ROWS, equal, f"episode {row} acts differently alone than beside others")
            equal = same(mine, backwards[step][reverse.index(row)], trial.tolerance)
            rules.check(ROWS, equal, f"episode {row} acts differently at another place of the batch")


def _check_state(rules: Rules, trial: _Trial) -> None:
    state = trial.start(trial.all_rows)
    for step in trial.steps:
        first, following = trial.policy.act(copy.deepcopy(step), state)
        second, following = trial.policy.act(copy.deepcopy(step), state)
        text = "acting twice from one state gives two actions; keep what changes in the state that is returned"
        if not rules.check(STATE_IS_A_VALUE, same(first, second), text):
            return
        state = following


def _check_probes(rules: Rules, trial: _Trial, space: spaces.Box) -> None:
    rows = len(trial.instructions)
    state = trial.start(trial.all_rows)
    mean_action = getattr(trial.policy, "mean_action", None)
    if mean_action is not None:
        with rules.guarded(MEAN_ACTION):
            one, two = (np.asarray(mean_action(trial.steps[0], state)) for _ in range(2))
            rules.check(MEAN_ACTION, one.shape == (rows, *space.shape), f"mean_action gives shape {one.shape}")
            rules.check(MEAN_ACTION, same(one, two), "mean_action is not deterministic")
    log_prob = getattr(trial.policy, "log_prob", None)
    if log_prob is not None:
        with rules.guarded(LOG_PROB):
            density = np.asarray(log_prob(trial.steps[0], state, np.zeros((rows, *space.shape))))
            rules.check(LOG_PROB, density.shape == (rows,), f"log_prob gives shape {density.shape}; expected ({rows},)")


def _stacked(samples: list[Any]) -> _Observations:
    return {key: np.stack([sample[key] for sample in samples]) for key in samples[0]}

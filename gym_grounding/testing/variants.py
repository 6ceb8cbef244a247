"""What every registered variant promises, as a check of one: it opens, says its text, and its goals are open."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gym_grounding import conditions
from gym_grounding import manifest as manifests
from gym_grounding.registration import make
from gym_grounding.testing._contract import Rules, same
from gym_grounding.wrappers import INSTRUCTION_KEY, Instruction, instruction_text

OPENS = "opens"
TEXT = "text"
SPACES = "spaces"
REPEATS = "repeats"
GOALS = "goals"
START = "start"
STEPS = "steps"

_Observation = dict[str, NDArray[Any]]


def check_variant(
    variant_id: str,
    registry: str | Path | None = None,
    steps: int = 5,
    init_state: int = 0,
    observation: str = "state",
) -> None:
    """Open a variant's environment, start it twice, step it, and check text, spaces and goals.

    Args:
        variant_id: such as ``LiberoGoal-T8-ContrastTarget1``.
        registry: path of the registry file; None for the shipped one.
        steps: random actions taken after the second start.
        init_state: number of the initial state.
        observation: ``pixels``, ``state`` or ``both``.

    Raises:
        ContractBroken: lists every broken rule.
        UnknownName: no such variant.
        RegistryError: the registry is malformed.
    """
    manifests.load(registry).variant(variant_id)
    rules = Rules(f"variant {variant_id}")
    with rules.guarded(OPENS):
        path = None if registry is None else str(registry)
        with closing(make(variant_id, path, observation=observation, horizon=max(steps, 1), stop="horizon")) as env:
            first, told = env.reset(seed=0, options={"init_state": init_state})
            _check_shown(rules, env, first, told)
            _check_start(rules, env, told)
            second, again = env.reset(seed=1, options={"init_state": init_state})
            equal = first.keys() == second.keys() and all(same(first[key], second[key]) for key in first)
            rules.check(REPEATS, equal and told == again, f"initial state {init_state} starts differently again")
            with rules.guarded(STEPS):
                _check_steps(rules, env, steps)
    rules.conclude()


def _check_steps(rules: Rules, env: Instruction, steps: int) -> None:
    env.action_space.seed(0)
    for step in range(1, steps + 1):
        shown, reward, terminated, truncated, told = env.step(env.action_space.sample())
        _check_shown(rules, env, shown, told)
        rules.check(STEPS, np.isfinite(reward), f"the reward of step {step} is {reward}")
        ended = (terminated, truncated) == (False, step == steps)
        rules.check(STEPS, ended, f"step {step} of {steps} gives terminated {terminated}, truncated {truncated}")


def _check_shown(rules: Rules, env: Instruction, shown: _Observation, told: dict[str, Any]) -> None:
    """One observation and its info: the text to the letter, arrays inside the space, goals as they belong."""
    variant = env.get_wrapper_attr("variant")
    texts = {"info": told.get(INSTRUCTION_KEY), "observation": instruction_text(shown[INSTRUCTION_KEY])}
    for place, text in texts.items():
        rules.check(TEXT, text == variant.instruction, f"{place} says {text!r}, the row {variant.instruction!r}")
    rules.check(TEXT, told.get("variant") == variant.id, f"info names the variant {told.get('variant')!r}")
    spaces = getattr(env.observation_space, "spaces", {})
    outside = sorted(shown.keys() ^ spaces.keys())
    for key in sorted(shown.keys() & spaces.keys()):
        if shown[key].dtype != spaces[key].dtype or not spaces[key].contains(shown[key]):
            outside.append(key)
    rules.check(SPACES, not outside, f"{', '.join(outside)} of the observation lie outside the space")
    scored = conditions.scored_by(variant)
    rules.check(GOALS, ("is_success" in told) is (scored is not None), f"info has {sorted(told)}; scored by {scored}")
    labels = set(env.get_wrapper_attr("tracker").goals)
    rules.check(GOALS, ("target_goal" in told) is ("target" in labels), f"info has {sorted(told)}; goals are {labels}")


def _check_start(rules: Rules, env: Instruction, told: dict[str, Any]) -> None:
    """After settling neither the goal that scores the variant nor its own, which may only be watched, holds."""
    variant, tracker = env.get_wrapper_attr("variant"), env.get_wrapper_attr("tracker")
    scored = conditions.scored_by(variant)
    for label in {scored, "target"} & tracker.goals.keys():
        rules.check(START, label not in tracker.void, f"{tracker.goals[label].id} holds right after settling")
    if scored is not None:
        rules.check(START, told.get("is_success") is False, "is_success is true before the first step")

"""The contract of instruction conditions, as a check."""

from __future__ import annotations

import dataclasses
import re

from gym_grounding.conditions import Condition, Violation
from gym_grounding.manifest import Manifest
from gym_grounding.testing._contract import Rules
from gym_grounding.types import SLOTS, Goal, Variant

DESCRIBED = "described"
VIOLATIONS = "violations"
ACCEPTS = "accepts"
REFUSES_SLOT = "refuses_slot"
REFUSES_GOAL = "refuses_goal"
REFUSES_TEXT = "refuses_text"

_SCORED_BY = ("original", "target", None)


def check_condition(condition: Condition, manifest: Manifest) -> None:
    """Check what ``conditions.Condition`` promises, on the registered variants of the condition.

    Args:
        condition: the condition.
        manifest: a registry with at least one of its variants.

    Raises:
        ContractBroken: lists every broken rule.
        ValueError: the registry has no such variant.
    """
    rows = [row for row in manifest.variants.values() if row.condition == condition.name]
    if not rows:
        raise ValueError(f"{manifest.path} has no variant of condition {condition.name!r}; add one to check it")
    rules = Rules(f"condition {condition.name}")
    with rules.guarded(DESCRIBED):
        _check_description(rules, condition)
    for row in rows:
        with rules.guarded(VIOLATIONS):
            found = (*_violations(rules, condition, row, manifest), *_links(rules, condition, row, manifest))
            rules.check(ACCEPTS, not found, f"{row.id} is registered, but {found}")
            _check_refusals(rules, condition, row, manifest)
    rules.conclude()


def _check_description(rules: Rules, condition: Condition) -> None:
    named = condition.name.isidentifier() and condition.name == condition.name.lower()
    rules.check(DESCRIBED, named, f"name is {condition.name!r}; expected the module's name")
    label = re.fullmatch("[A-Z][a-z]+", condition.label)
    rules.check(DESCRIBED, label is not None, f"label is {condition.label!r}; expected one capitalised word, for ids")
    scored = condition.scored_by in _SCORED_BY
    rules.check(DESCRIBED, scored, f"scored_by is {condition.scored_by!r}; expected one of {_SCORED_BY}")
    flags = (
        condition.has_slot,
        condition.every_stage,
        condition.control,
        condition.shares_text,
        condition.own_start,
    )
    rules.check(DESCRIBED, all(type(flag) is bool for flag in flags), f"flags are {flags}; expected True or False")
    early = condition.control and condition.every_stage
    rules.check(DESCRIBED, not early, "every_stage is True; a control is evaluated at the last stage only")
    counted = type(condition.per_task) is int and condition.per_task > 0
    rules.check(DESCRIBED, counted, f"per_task is {condition.per_task!r}; expected 1 or more")


def _check_refusals(rules: Rules, condition: Condition, row: Variant, manifest: Manifest) -> None:
    wrong_slot = dataclasses.replace(row, slot=None if condition.has_slot else SLOTS[0])
    refused = _violations(rules, condition, wrong_slot, manifest)
    rules.check(REFUSES_SLOT, bool(refused), f"{row.id} with slot {wrong_slot.slot!r} is accepted")
    goal: Goal | None = None if condition.scored_by == "target" else manifest.task(row.task).goal
    refused = _violations(rules, condition, dataclasses.replace(row, goal=goal), manifest)
    rules.check(REFUSES_GOAL, bool(refused), f"{row.id} with goal {goal.id if goal else None} is accepted")
    for text in ("", "Put it THERE."):
        refused = _violations(rules, condition, dataclasses.replace(row, instruction=text), manifest)
        rules.check(
            REFUSES_TEXT,
            bool(refused) or text == row.instruction,
            f"{row.id} with the instruction {text!r} is accepted",
        )


def _links(rules: Rules, condition: Condition, row: Variant, manifest: Manifest) -> tuple[Violation, ...]:
    return _plain(rules, "links", condition.links(row, manifest.task(row.task), manifest.tasks))


def _violations(rules: Rules, condition: Condition, row: Variant, manifest: Manifest) -> tuple[Violation, ...]:
    return _plain(rules, "violations", condition.violations(row, manifest.task(row.task), manifest.scene_of(row.task)))


def _plain(rules: Rules, name: str, found: tuple[Violation, ...]) -> tuple[Violation, ...]:
    plain = isinstance(found, tuple) and all(isinstance(violation, Violation) for violation in found)
    rules.check(VIOLATIONS, plain, f"{name} gives {found!r}; expected a tuple of Violation")
    return found

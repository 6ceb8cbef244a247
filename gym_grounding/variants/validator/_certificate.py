"""What is put on record of a contrast that passed, and which of several comes first."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from gym_grounding.types import Goal
from gym_grounding.variants.definitions import Definitions
from gym_grounding.variants.types import GoalCount, Witness
from gym_grounding.variants.validator import _places
from gym_grounding.variants.validator._reading import Reading

DEMONSTRATED = ("pair", "parts", "object", "none")
"""How much of a goal LIBERO's demonstrations show, most first."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What the simulator said of a goal."""

    count: GoalCount
    witness: Witness


def certificate(
    reading: Reading, goal: Goal, codes: Collection[str], measured: Measured, definitions: Definitions
) -> dict[str, Any]:
    """The registry's ``certificate`` of a contrast that breaks no rules but those of ``codes``."""
    row: dict[str, Any] = {
        "support": support(goal, codes),
        "demonstrated": demonstrated(reading, goal, definitions),
        "on_path": "on_path" in codes,
        "true_initially": asdict(measured.count),
    }
    trained = trained_goal_of(reading, goal, definitions)
    if trained:
        row["trained_goal_of"] = trained
    movable = movable_reference(reading, goal)
    if movable is not None:
        row["movable_reference"] = movable
    witness = measured.witness
    row["witness"] = {
        "found": witness.found,
        "placement": witness.placement,
        "state": witness.state,
        "original_true": bool(witness.original),
    }
    return row


def support(goal: Goal, codes: Collection[str]) -> str:
    """What a goal rests on: the scene's own predicates and regions, or what had to be added."""
    if "added_predicate" in codes:
        return "added_predicate"
    if "already_true" in codes:
        return "reversed"
    return "added_region" if goal.regions else "native"


def demonstrated(reading: Reading, goal: Goal, definitions: Definitions) -> str:
    """Whether LIBERO's tasks hold the literals (``pair``), their thing and place apart (``parts``), the thing only.

    Of several literals the least shown counts.
    """
    keys = [definitions.literal_key(one, reading.scene.id) for one in goal.all_of]
    return max((_grade(key, definitions.demonstrated) for key in keys), key=DEMONSTRATED.index)


def _grade(key: tuple[str, str, str], shown: Collection[tuple[str, str, str]]) -> str:
    _, subject, target = key
    if key in shown:
        return "pair"
    if not subject or subject not in {other for _, other, _ in shown}:
        return "none"
    return "parts" if target and target in {other for _, _, other in shown} else "object"


def trained_goal_of(reading: Reading, goal: Goal, definitions: Definitions) -> list[str]:
    """Other tasks of the same scene that have this goal."""
    tasks = definitions.tasks.values()
    return [other.id for other in tasks if other.scene == reading.task.scene and other.goal == goal]


def movable_reference(reading: Reading, goal: Goal) -> str | None:
    """The movable thing beside which an added box lies; the box stays where that thing stood."""
    for region in goal.regions:
        parts = _places.spelled(region.name, reading.scene)
        if parts is not None and reading.scene.entities[parts[1]].kind == "object":
            return parts[1]
    return None


def rank(row: Mapping[str, Any]) -> tuple[int, ...]:
    """Order of preference among contrasts of one tier: trained goals, the scene's own places, what was demonstrated."""
    trained, native = "trained_goal_of" in row, row["support"] == "native"
    return int(not trained), int(not native), DEMONSTRATED.index(row["demonstrated"])

"""What a sentence asks for, looked up in the registry: nothing here understands a word."""

from __future__ import annotations

from collections.abc import Sequence

from gym_grounding import conditions
from gym_grounding.errors import PolicyError, UnknownName
from gym_grounding.manifest import Manifest
from gym_grounding.types import Goal, SceneFacts, Variant


def asked(registry: Manifest, task: str, text: str) -> Goal | None:
    """The goal that ``text`` asks for in a task; None where there is nothing to do.

    Originals and paraphrases ask for the task's goal, contrasts and swaps for their own, collisions for none (see
    ``conditions.asked``). The task's own rows are read first, then those of the scene's other tasks, then those of the
    suite that ask for nothing or for a goal that can be named in the scene.

    Raises:
        UnknownName: the suite has no such text.
        PolicyError: rows that are equally near give the text two meanings, or its goal cannot be named in the scene.
    """
    own = registry.task(task)
    suite = registry.select(suite=own.suite)
    same = [row for row in suite if row.instruction == text]
    scene = registry.scene_of(task)
    nearest = (
        [row for row in same if row.task == task],
        [row for row in same if registry.task(row.task).scene == own.scene],
        [row for row in same if _named_in(scene, _asked(registry, row))],
    )
    for rows in nearest:
        if rows:
            return _one_meaning(registry, rows)
    if same:
        raise PolicyError(f"{text!r} belongs to {same[0].task} and names what the scene of {task} does not have")
    raise UnknownName("instruction", text, {row.instruction for row in suite}, f"{task} in suite {own.suite}")


def _one_meaning(registry: Manifest, rows: Sequence[Variant]) -> Goal | None:
    """What rows of one text agree on; where it is described only, a text asks for what is so already."""
    told = [row for row in rows if not row.described]
    if not told:
        return None
    first, *others = told
    goal = _asked(registry, first)
    for other in others:
        if _asked(registry, other) != goal:
            raise PolicyError(
                f"{first.id} and {other.id} say the same, {first.instruction!r}, and mean different goals: no sentence "
                "tells them apart"
            )
    return goal


def _asked(registry: Manifest, row: Variant) -> Goal | None:
    return conditions.asked(row, registry.task(row.task))


def _named_in(scene: SceneFacts, goal: Goal | None) -> bool:
    if goal is None:
        return True
    known = {*scene.entities, *(region.name for region in goal.regions)}
    return all(known.issuperset(predicate.args) for predicate in goal.all_of)

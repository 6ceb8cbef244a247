"""Swapped instructions: another task's canonical text in this task's initial states, where it makes sense there too.

Words and skill are both trained, so what fails is either the language or the new start.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gym_grounding.types import Goal, SceneFacts, Task
from gym_grounding.variants.controls._base import SOURCE
from gym_grounding.variants.language import meaning, parser
from gym_grounding.variants.types import Judgement, Layout, Parse, Phrase, Proposal

if TYPE_CHECKING:
    from gym_grounding.variants.definitions import Definitions
    from gym_grounding.variants.evidence import Evidence


def rows(definitions: Definitions, evidence: Evidence) -> tuple[Judgement, ...]:
    """A judgement for every ordered pair of tasks of a suite."""
    return tuple(
        judge(task, other, definitions, evidence)
        for task in definitions.tasks.values()
        for other in definitions.tasks_of(task.suite)
        if other.id != task.id
    )


def goals(task: Task, definitions: Definitions, layout: Layout) -> tuple[Goal, ...]:
    """Goals of the swaps of a task that ``rows`` will have counted."""
    scene = definitions.scene_of(task.id)
    others = (other for other in definitions.tasks_of(task.suite) if other.id != task.id)
    asked = (_goal(other.instruction, scene, layout) for other in others)
    return tuple(dict.fromkeys(goal for goal in asked if goal is not None and not _unfit(goal, task, scene)))


def judge(task: Task, other: Task, definitions: Definitions, evidence: Evidence) -> Judgement:
    """Whether another task's canonical text may be registered as a swap.

    The goal is what the sentence asks for in this scene, which need not be the other task's own: ten LIBERO-Spatial
    tasks share one goal literal, and the bowl that a sentence describes here may be the other one. The rules, in this
    order: every thing is there (``unknown_entity``) and certain (``ambiguous``, ``unresolved``); the goal needs nothing
    that the scene lacks (``unsupported``), is another one (``same_goal``, ``implied``), and holds in no initial state,
    however it is read (``already_true``).
    """
    scene, layout = definitions.scene_of(task.id), evidence.layout(task)
    proposal = Proposal(task.id, "swap", None, other.instruction, source=SOURCE)
    goal = _goal(other.instruction, scene, layout)
    if goal is None:
        return Judgement(proposal, *_no_goal(parser.parse(other.instruction, scene), scene, layout))
    if refusal := _unfit(goal, task, scene):
        return Judgement(proposal, *refusal, row={"goal": goal})
    count = evidence.count(task, goal)
    initially = {"raw": count.raw, "settled": count.settled, "tolerant": count.tolerant, "of": count.of}
    if count.raw or count.settled or count.tolerant:
        states = max(count.raw, count.settled, count.tolerant)
        return Judgement(
            proposal, "already_true", f"{goal.id} holds in {states} of {count.of} states", row={"goal": goal}
        )
    trained = [one.id for one in definitions.tasks.values() if one.scene == task.scene and one.goal == goal]
    certificate = {"true_initially": initially} | ({"trained_goal_of": trained} if trained else {})
    return Judgement(proposal, row={"goal": goal, "instruction_of": other.id, "certificate": certificate})


def _goal(text: str, scene: SceneFacts, layout: Layout) -> Goal | None:
    literals = meaning.goal_of(parser.parse(text, scene), scene, layout.relations, layout.of)
    return Goal(literals) if literals else None


def _unfit(goal: Goal, task: Task, scene: SceneFacts) -> tuple[str, str] | None:
    """Why a goal cannot be that of a swap: (reason code, words)."""
    added = sorted(name for literal in goal.all_of for name in literal.args if name not in scene.entities)
    if added:
        return "unsupported", f"the scene has no place of its own for {', '.join(added)}"
    if goal == task.goal:
        return "same_goal", f"asks for the task's own goal {goal.id}"
    if set(goal.all_of) < set(task.goal.all_of):
        return "implied", f"{goal.id} is a part of the task's own goal {task.goal.id}"
    return None


def _no_goal(parse: Parse, scene: SceneFacts, layout: Layout) -> tuple[str, str]:
    """Why a sentence has no goal in a scene: (reason code, words)."""
    phrases = [phrase for clause in parse.clauses for one in (*clause.objects, clause.target) for phrase in _inner(one)]
    for phrase in phrases:
        if not phrase.entities and phrase.text not in parse.unresolved:
            return "unknown_entity", f"the scene has no {phrase.text!r}"
    for phrase in (one for one in phrases if one.entities):
        # Asked as of one state: whatever fits in any state is among the answers.
        ever = sorted(meaning.referents(phrase, scene, layout.relations, 1))
        if not ever:
            return "unknown_entity", f"nothing is {phrase.text!r} in any of {layout.of} settled states"
        if _told_by_place(phrase) and len(meaning.referents(phrase, scene, layout.relations, layout.of)) != 1:
            return "ambiguous", f"{phrase.text!r} fits {', '.join(ever)}, or not in every settled state"
    for phrase in phrases:
        if phrase.entities and phrase.text in parse.unresolved:
            fitting = ", ".join(sorted(phrase.entities))
            if len(phrase.entities) == 1:
                return "unknown_entity", f"{phrase.text!r} are several, and the scene has {fitting} only"
            return "ambiguous", f"{phrase.text!r} fits {fitting}"
    if parse.unresolved:
        return "unresolved", f"leaves open: {', '.join(map(repr, parse.unresolved))}"
    return "unsupported", "no predicate says what the text asks for in this scene"


def _inner(phrase: Phrase | None) -> Iterator[Phrase]:
    """A phrase after the ones that tell where it is."""
    if phrase is not None:
        for place in phrase.reference[1] if phrase.reference else ():
            yield from _inner(place)
        yield phrase


def _told_by_place(phrase: Phrase) -> bool:
    return phrase.reference is not None and phrase.reference[0] != "of"

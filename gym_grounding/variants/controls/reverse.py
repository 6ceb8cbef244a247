"""Reversed states: a joint starts where the task would leave it, and the text asks for either of its two states."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gym_grounding.types import Goal, Predicate, SceneFacts, Task
from gym_grounding.variants.controls._base import accepted
from gym_grounding.variants.language import parser
from gym_grounding.variants.types import Judgement, Parse, Phrase

if TYPE_CHECKING:
    from gym_grounding.variants.definitions import Definitions
    from gym_grounding.variants.evidence import Evidence

OPPOSITE = {"open": "close", "close": "open", "turnon": "turnoff", "turnoff": "turnon"}
VERB = {"open": "open", "close": "close", "turnon": "turn on", "turnoff": "turn off"}
PRESET = {("open", "site"): -0.15, ("close", "site"): 0.001, ("close", "fixture"): 0.0, ("turnon", "fixture"): 2.0}
"""(Literal, kind of its entity) -> joint position with which it holds: a drawer pulled out by 0.15 m or pushed in, a
microwave's door shut, a stove's knob turned by 2.0 rad. A drawer at 0 is shut as well, but LIBERO's ``close`` wants
more than that, and at 0.003 and more the front is pressed into its cabinet. Its own closed drawers start between 0 and
0.005 m."""


def rows(definitions: Definitions, evidence: Evidence) -> tuple[Judgement, ...]:
    """Two rows for each joint whose state a task both asks for in words and has in its goal.

    The first text asks for the state that is not so, which is the goal of both. The second asks for what is so already:
    nothing scores it, and who reaches the goal has done the opposite of what is asked.
    """
    return tuple(row for task in definitions.tasks.values() for row in _of_task(task, definitions.scene_of(task.id)))


def _of_task(task: Task, scene: SceneFacts) -> Iterator[Judgement]:
    for met, thing in _states(parser.parse(task.instruction, scene)):
        if met in task.goal.all_of:
            unmet = Predicate(OPPOSITE[met.name], met.args)
            joints = {met.args[0]: PRESET[met.name, scene.entities[met.args[0]].kind]}
            goal = Goal((unmet,))
            yield accepted(task, "reverse", f"{VERB[unmet.name]} the {thing}", {"goal": goal, "joints": joints})
            described = {"goal": goal, "described": True, "joints": joints}
            yield accepted(task, "reverse", f"{VERB[met.name]} the {thing}", described)


def _states(parse: Parse) -> Iterator[tuple[Predicate, str]]:
    """Joint states that a sentence asks for, each with the words for the thing."""
    predicates = {verb: name for name, verb in VERB.items()}
    for clause in parse.clauses:
        for phrase in clause.objects if clause.action in predicates else ():
            if len(phrase.entities) == 1:
                yield Predicate(predicates[clause.action], tuple(phrase.entities)), _called(phrase, parse)


def _called(phrase: Phrase, parse: Parse) -> str:
    """The words of the first phrase that means the same thing; a pronoun comes after it."""
    phrases = [one for clause in parse.clauses for one in (*clause.objects, clause.target) if one is not None]
    return next(one.text for one in phrases if one.entities == phrase.entities)

"""Rules of a contrast's meaning and goal that need no simulator beyond where things stand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from gym_grounding.conditions import _text
from gym_grounding.manifest._goals import goal_problems
from gym_grounding.types import SLOTS, Goal, Predicate, Variant
from gym_grounding.variants.language import meaning
from gym_grounding.variants.types import Clause, Parse
from gym_grounding.variants.validator import _places
from gym_grounding.variants.validator._reading import Finding, Reading, uncertain

WRITTEN = "surface"
"""Code of every fault of the written form."""
PUSHING = frozenset({"push", "pull"})
"""Actions that keep a thing on the surface on which it stands."""
STEP = 0.01
"""Highest step onto which a push gets a thing [m]."""
OPPOSITE: Mapping[str, str] = {"close": "open", "turnoff": "turnon"}
"""Literal that asks for a rest state -> the one that asks to leave it. LIBERO's thresholds for rest exclude rest."""

Rule = Callable[[Reading], Iterator[Finding]]


def written(reading: Reading) -> Iterator[Finding]:
    """Lower-case words, 3 to 40 of them: the form of every registered text."""
    proposal = reading.proposal
    variant = Variant(proposal.task, proposal.task, "contrast", proposal.slot, 1, proposal.instruction)
    for violation in _text.surface(variant):
        yield Finding(WRITTEN, f"the instruction {violation.message}")


def known(reading: Reading) -> Iterator[Finding]:
    """Every name in the goal is an entity of the scene or spells a place beside one, and the sentence is certain."""
    claim = reading.proposal.goal
    for name in sorted({name for literal in claim.all_of for name in literal.args} if claim else ()):
        if name not in reading.scene.entities and _places.spelled(name, reading.scene) is None:
            yield Finding("unknown_entity", f"the claimed goal names {name!r}, which the scene does not have")
    if reading.goal is None:
        yield from uncertain(reading)


def supported(reading: Reading) -> Iterator[Finding]:
    """Each predicate makes sense for its arguments."""
    if reading.goal is None:
        yield Finding("unsupported", "; ".join(filter(None, map(_unsaid(reading), reading.parse.clauses))) or _NOTHING)
        return
    for problem in goal_problems(reading.goal, reading.scene):
        yield Finding("unsupported", problem)


_NOTHING = "no predicate says what the sentence asks for"


def _unsaid(reading: Reading) -> Callable[[Clause], str]:
    """What of a clause no predicate says; empty where one does."""
    scene, layout = reading.scene, reading.layout

    def words(clause: Clause) -> str:
        if meaning.goal_of(Parse(reading.parse.text, (clause,)), scene, layout.relations, layout.of) is not None:
            return ""
        things = ", ".join(phrase.text for phrase in clause.objects)
        if clause.relation is None or clause.target is None:
            return f"no predicate says that {things!r} is acted on by {clause.action!r}"
        return f"no predicate says that {things!r} is {clause.relation!r} {clause.target.text!r}"

    return words


def claimed(reading: Reading) -> Iterator[Finding]:
    """The goal that the proposer claims is the one that the sentence asks for."""
    claim = reading.proposal.goal
    if claim is not None and reading.goal is not None and claim.all_of != reading.goal.all_of:
        yield Finding("wrong_goal", f"claimed is {claim.id}; the sentence asks for {reading.goal.id}")


def another(reading: Reading) -> Iterator[Finding]:
    """The goal is another one, neither a part of the original nor more than it."""
    if reading.goal is None:
        return
    mine, original = frozenset(reading.goal.all_of), frozenset(reading.task.goal.all_of)
    if mine == original:
        yield Finding("same_goal", f"the goal is the original one, {reading.task.goal.id}")
    elif mine < original:
        yield Finding("implied", f"{reading.goal.id} holds whenever the original {reading.task.goal.id} does")
    elif mine > original:
        yield Finding("extends", f"{reading.goal.id} contains the original {reading.task.goal.id}")


def framed(reading: Reading) -> Iterator[Finding]:
    """The canonical instruction has the slot: a word that is added replaces nothing."""
    slot, text = reading.proposal.slot, reading.task.instruction
    if slot in SLOTS and getattr(reading.task.slots, slot) is None:
        code = "no_attribute_word" if slot == "attribute" else f"frame_has_no_{slot}"
        yield Finding(code, f"{text!r} has no {slot}")


def one_slot(reading: Reading) -> Iterator[Finding]:
    """Only the declared slot differs.

    Several may differ in a permissive contrast as long as it is about the same things: nothing new is acted on, or,
    where the object is what changes, nothing else but its attribute.
    """
    slot, differing = reading.proposal.slot or "", [slot for slot in SLOTS if slot in reading.differing]
    listed = " and ".join(filter(None, [", ".join(differing[:-1]), *differing[-1:]])) or "nothing"
    if slot not in differing:
        yield Finding("wrong_slot", f"the declared slot is {slot or 'missing'!r}; what changes is {listed}")
    elif len(differing) > 1:
        told = meaning.explain(reading.canonical, reading.parse)
        yield Finding("several_slots", f"{listed} change together ({told})", _same_things(reading))


def _same_things(reading: Reading) -> bool:
    if reading.proposal.slot == "object":
        return reading.differing <= {"object", "attribute"}
    return _acted_on(reading.parse) <= _acted_on(reading.canonical)


def _acted_on(parse: Parse) -> frozenset[str]:
    return frozenset(name for clause in parse.clauses for phrase in clause.objects for name in phrase.entities)


def told_apart(reading: Reading) -> Iterator[Finding]:
    """Each noun phrase fits exactly one thing of the settled scene; a phrase for two fits exactly those."""
    if reading.goal is not None:
        yield from (finding for finding in uncertain(reading) if finding.code in ("ambiguous", "no_referent"))


def placed(reading: Reading) -> Iterator[Finding]:
    """The place is within reach and free."""
    if reading.goal is not None:
        for problem in _places.taken(reading.goal, reading.scene, reading.layout):
            yield Finding("no_place", problem)


def unburdened(reading: Reading) -> Iterator[Finding]:
    """What is moved carries nothing that would come along."""
    literals = reading.goal.all_of if reading.goal is not None else ()
    moved = {literal.args[0] for literal in literals if literal.name in ("on", "in", "lifted")}
    for (relation, thing, carrier), states in sorted(reading.layout.relations.items()):
        if relation in ("on", "in") and carrier in moved and thing not in moved and states:
            note = f"{thing} is {relation} {carrier} in {states} of {reading.layout.of} settled states and comes along"
            yield Finding("burdened", note)


def off_path(reading: Reading) -> Iterator[Finding]:
    """Who does the original task does not pass through the goal."""
    if reading.goal is None:
        return
    if all(passed(literal, reading) for literal in reading.goal.all_of):
        note = f"who does the original task passes through {reading.goal.id}"
        yield Finding("on_path", note, forgiven=True)


def passed(literal: Predicate, reading: Reading) -> bool:
    """Whether a literal comes true at some time while the original task is done.

    Its own literals do; a thing that is put somewhere is lifted, unless it is pushed; what something is put into is
    open.
    """
    original = reading.task.goal.all_of
    if literal in original:
        return True
    if literal.name == "open":
        filled = [reading.scene.entities[other.args[1]] for other in original if other.name == "in"]
        return any(literal.args[0] in (place.name, place.category) for place in filled)
    if literal.name == "lifted":
        put = any(other.name in ("on", "in") and other.args[0] == literal.args[0] for other in original)
        return put and not _pushed(literal.args[0], reading.canonical)
    return False


def _pushed(name: str, parse: Parse) -> bool:
    pushes = (clause for clause in parse.clauses if clause.action in PUSHING)
    return any(name in phrase.entities for clause in pushes for phrase in clause.objects)


def doable(reading: Reading) -> Iterator[Finding]:
    """The verb can bring the goal about: no push gets a thing onto a step."""
    for literal in reading.goal.all_of if reading.goal else ():
        if literal.name in ("on", "in") and _pushed(literal.args[0], reading.parse):
            height = _places.step(literal, reading.scene, reading.layout)
            if height > STEP:
                note = f"{literal.args[1]} is on a step of {100 * height:.1f} cm; no push gets a thing onto it"
                yield Finding("manner", note)


def own_predicates(reading: Reading) -> Iterator[Finding]:
    """LIBERO's own predicates say it."""
    if reading.goal is not None and any(literal.name == "lifted" for literal in reading.goal.all_of):
        yield Finding("added_predicate", "LIBERO has no predicate for a lift", forgiven=True)


def readable(reading: Reading) -> Iterator[Finding]:
    """No part of the goal asks for rest that is never left: its literal reads false for what is as it should be."""
    goal = reading.goal
    resting = tuple(literal for literal in goal.all_of if rests(literal, reading.task.goal)) if goal else ()
    if goal is not None and resting and len(resting) < len(goal.all_of):
        what = " & ".join(map(str, resting))
        yield Finding("threshold", f"{what} is so from the start but reads false, so doing what is asked never counts")


def rests(literal: Predicate, original: Goal) -> bool:
    """Whether a literal asks for the state that the original asks to leave, which is how the scene starts."""
    opposite = OPPOSITE.get(literal.name)
    return opposite is not None and Predicate(opposite, literal.args) in original.all_of


RULES: tuple[Rule, ...] = (
    written, known, supported, claimed, another, framed, one_slot, told_apart, placed, unburdened, off_path,
    doable, own_predicates, readable,
)  # fmt: skip
"""In the order in which they are told; the first that nothing forgives gives the reason code."""

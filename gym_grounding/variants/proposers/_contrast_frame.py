"""What the rules for contrasts share: a sentence with its places, the names of things, goals with names exchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gym_grounding.types import Entity, Predicate, SceneFacts, Task
from gym_grounding.variants.language import meaning, words
from gym_grounding.variants.proposers._spans import Nouns, Sentence, Span, Spoken, whole
from gym_grounding.variants.types import Clause, Layout, Phrase

if TYPE_CHECKING:
    from gym_grounding.variants.definitions import Definitions

ROLES: Mapping[str, str] = {"open": "open", "close": "close", "turn on": "turnon", "turn off": "turnoff"}
"""Verb that acts on a joint -> predicate, which is also the role of what it acts on."""
SIDES: Mapping[str, str] = {
    "front": "in front of",
    "left": "to the left of",
    "right": "to the right of",
    "behind": "behind",
}
"""Side -> preposition, in the order in which they are proposed."""
FLAT = frozenset({"plate", "cookies", "glazed_rim_porcelain_ramekin", "chefmate_8_frypan"})
"""Movable things that carry others well enough to be spoken of as a place; a pack of butter is none."""
OPEN = frozenset({"akita_black_bowl", "basket", "glazed_rim_porcelain_ramekin"})
"""Movable things that others go into; a book does not go into a mug."""

Place = tuple[str, str]
"""Predicate and reference of where a thing shall be."""
Rewrite = Callable[[Predicate], Predicate]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence, the words that were exchanged, and the goal that it should have; None where only the scene says."""

    instruction: str
    changed: tuple[str, str]
    goal: tuple[Predicate, ...] | None


class Frame:
    """A task's sentence and scene, as the rules look at them.

    Args:
        task: the task.
        scene: its scene.
        definitions: the suites, or None.
        layout: where things stand, or None.
    """

    def __init__(self, task: Task, scene: SceneFacts, definitions: Definitions | None, layout: Layout | None) -> None:
        self.task, self.scene, self.layout = task, scene, layout
        self.sentence = Sentence(task, scene)
        tasks = tuple(definitions.tasks.values()) if definitions is not None else (task,)
        self.others = tuple(other for other in tasks if other.scene == task.scene and other.id != task.id)
        self._texts = tuple(other.instruction for other in tasks if other.suite == task.suite)
        self._nouns = Nouns(scene, self._texts)

    @property
    def spoken(self) -> tuple[Spoken, ...]:
        """The clauses with their places."""
        return self.sentence.spoken

    def placing(self) -> Iterator[Spoken]:
        """Clauses that put things somewhere."""
        return (spoken for spoken in self.spoken if spoken.clause.action in words.PLACING and spoken.clause.target)

    def mentioned(self) -> frozenset[str]:
        """Things, parts standing for wholes, that some clause acts on or has as its target."""
        clauses = self.sentence.parse.clauses
        phrases = [phrase for clause in clauses for phrase in (*clause.objects, clause.target) if phrase]
        return frozenset(self.whole(name).name for phrase in phrases for name in phrase.entities)

    def whole(self, name: str) -> Entity:
        """The thing that a name means; for a part what carries it."""
        return whole(name, self.scene)

    def thing(self, phrase: Phrase) -> Entity | None:
        """The one thing that a phrase means, or the whole of the part; None when it may mean several."""
        things = {self.whole(name).name for name in phrase.entities}
        return self.scene.entities[things.pop()] if len(things) == 1 else None

    def noun(self, entity: Entity) -> str | None:
        """How a thing or part is called here; None for what has no noun of its own."""
        if entity.kind != "site":
            return self._nouns.of(entity)
        owner = self._nouns.of(self.whole(entity.name))
        return f"{entity.names[0]} of the {owner}" if entity.names and owner else None

    def kind(self, entity: Entity) -> str:
        """The noun that things of a kind share, such as ``mug``."""
        return entity.names[0] if entity.names else entity.category

    def parts(self, entity: Entity, role: str) -> tuple[Entity, ...]:
        """Regions of a thing that take an argument role, in file order."""
        sites = self.scene.of_kind("site")
        return tuple(site for site in sites if site.category == entity.name and role in site.supports)

    def on(self, entity: Entity) -> str:
        """The preposition for resting on a thing; what holds things inside has a top, unless the texts say "on"."""
        plain = f" on the {self.noun(entity)} "
        tall = entity.kind == "fixture" and bool(self.parts(entity, "in.reference"))
        return "on top of" if tall and not any(plain in f" {text} " for text in self._texts) else "on"

    def carrier(self, entity: Entity) -> str | None:
        """Name of what a thing rests on when it is on the entity; None where nothing can."""
        if "on.reference" in entity.supports:
            return entity.name
        return next((site.name for site in self.parts(entity, "on.reference")), None)

    def beside(self, entity: Entity, side: str) -> Place | None:
        """The place beside a thing; None in a scene without a work surface."""
        region = meaning.side_region(entity, side, self.scene)
        return ("on", region) if region else None

    def exchanged(self, span: Span, new: str, rewrite: Rewrite | None) -> Candidate:
        """The sentence with other words at a place, and the goal with its literals rewritten; None: goal not known."""
        instruction, changed = self.sentence.exchanged(span, new)
        return Candidate(instruction, changed, self.goal(rewrite) if rewrite else None)

    def goal(self, rewrite: Rewrite) -> tuple[Predicate, ...]:
        """The original goal with its literals rewritten; opening what something is then put into is no literal."""
        opened = {
            Predicate("open", (name,))
            for clause in self.sentence.parse.clauses
            for phrase in clause.objects
            for name in phrase.entities
            if clause.action == "open"
        }
        literals = {rewrite(literal) for literal in self.task.goal.all_of}
        filled = {literal.args[1] for literal in literals if literal.name == "in"}
        literals |= {one for one in map(rewrite, opened) if one.name != "open" or one.args[0] not in filled}
        return tuple(sorted(literals))


def renamed(old: str, new: str) -> Rewrite:
    """One name for another in all literals."""
    return lambda literal: Predicate(literal.name, tuple(new if name == old else name for name in literal.args))


def moved(clause: Clause, place: Place) -> Rewrite:
    """Another place for what a clause moves."""
    names = {name for phrase in clause.objects for name in phrase.entities}

    def rewrite(literal: Predicate) -> Predicate:
        put = literal.name in ("on", "in") and literal.args[0] in names
        return Predicate(place[0], (literal.args[0], place[1])) if put else literal

    return rewrite

"""From verbs with their things and places to orders that can be compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gym_grounding.variants import _audit_words as words
from gym_grounding.variants._audit_phrases import Names
from gym_grounding.variants._audit_tree import Draft, Span, Tree

_SWITCHED = {"open": "open", "close": "close", "turn on": "turnon", "turn off": "turnoff"}
"""Action on a joint -> the role that a thing must support."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is or shall be.

    Attributes:
        relation: class of the preposition; ``where`` when the sentence leaves it to the thing.
        things: entities that it is told by, one set per thing; two for "between".
    """

    relation: str
    things: tuple[frozenset[str], ...]

    def __str__(self) -> str:
        return f"{self.relation} {' and '.join(' or '.join(sorted(thing)) for thing in self.things)}"


@dataclass(frozen=True, slots=True)
class Order:
    """One thing to do.

    Attributes:
        action: class of the verb.
        entities: what the thing's phrase fits.
        several: whether it means all of these.
        standing: where the thing is said to stand.
        goal: where it shall be, or None.
    """

    action: str
    entities: frozenset[str]
    several: bool = False
    standing: frozenset[Place] = frozenset()
    goal: Place | None = None

    def __str__(self) -> str:
        things = (" and " if self.several else " or ").join(sorted(self.entities))
        standing = "".join(f" (now {place})" for place in sorted(self.standing, key=str))
        return f"{self.action} {things}{standing}" + (f" {self.goal}" if self.goal else "")


@dataclass(frozen=True, slots=True)
class Reading:
    """What a sentence says.

    Attributes:
        orders: in the order in which they are to be done.
        doubts: what keeps the reading from being certain, in words; empty when every word has its part.
    """

    orders: tuple[Order, ...]
    doubts: tuple[str, ...]

    def __str__(self) -> str:
        return "; ".join(map(str, self.orders)) or "nothing"


def read(tree: Tree, names: Names) -> Reading:
    """The orders of a sentence."""
    return _Reader(tree, names).reading()


class _Reader:
    def __init__(self, tree: Tree, names: Names) -> None:
        self._tree, self._names = tree, names
        self._doubts = list(tree.doubts)
        self._last: tuple[int, ...] = ()

    def reading(self) -> Reading:
        timed = [(draft.moment, order) for draft in self._tree.drafts for order in self._orders(draft)]
        orders = _joined([order for _, order in sorted(timed, key=lambda pair: pair[0])])
        if not orders:
            self._doubts.append("asks for nothing")
        if unused := [repr(self._tree.text(place)) for place in self._tree.unused()]:
            self._doubts.append(f"{', '.join(unused)} {'has' if len(unused) == 1 else 'have'} no part in it")
        return Reading(tuple(orders), tuple(self._doubts))

    def _orders(self, draft: Draft) -> list[Order]:
        """One order for each thing that the verb acts on."""
        meant = [one for theme in draft.themes for one in self._theme(theme, draft.action)]
        described = [self._place(span, draft) for span in draft.described]
        if draft.action in _SWITCHED:
            self._check_wholes(draft, meant)
            standing, goal = described, None
        else:
            others, goal = self._places(draft)
            standing = [*described, *others]
        self._tree.use(*draft.themes)
        self._last = tuple(theme for theme in draft.themes if not self._tree.is_pronoun(theme)) or self._last
        return [Order(draft.action, entities, several, frozenset(standing), goal) for entities, several in meant]

    def _places(self, draft: Draft) -> tuple[list[Place], Place | None]:
        """(where the thing stands, where it shall be), from the places that hang on a verb."""
        shall = None if draft.action == "take" else draft.where or self._goal(draft)
        rest = [span for span in draft.places if span is not shall]
        for span in rest:
            if draft.action != "take" and not self._tells_thing(span, draft):
                self._doubts.append(f"a second place, told by {self._tree.text(span.start)!r}")
        return [self._place(span, draft) for span in rest], self._place(shall, draft) if shall else None

    def _goal(self, draft: Draft) -> Span | None:
        """The place in front of everything, or else the last one behind verb and thing."""
        ahead = [span for span in draft.places if span.start < min(draft.verb, *draft.themes)]
        behind = [span for span in draft.places if span.start > max(draft.verb, draft.themes[0])]
        return ahead[0] if ahead else behind[-1] if behind else None

    def _tells_thing(self, span: Span, draft: Draft) -> bool:
        """Whether a place stands right behind a noun that the verb acts on, or says from where."""
        return span.relation == "from" or any(
            span.start == theme + 1 and not self._tree.is_pronoun(theme) for theme in draft.themes
        )

    def _check_wholes(self, draft: Draft, meant: Sequence[tuple[frozenset[str], bool]]) -> None:
        """A drawer is opened "on the cabinet"; no other place goes with a switch or a joint."""
        wholes = {self._names.whole_of(name) for entities, _ in meant for name in entities}
        for span in draft.places:
            place = self._place(span, draft)
            if place.relation not in ("on", "in", "from") or not wholes & set().union(*place.things):
                self._doubts.append(f"{draft.action!r} goes with no place, here {place}")

    def _theme(self, theme: int, action: str) -> list[tuple[frozenset[str], bool]]:
        """(entities, all of them) for a noun or pronoun that a verb acts on."""
        mention = self._tree.mentions.get(theme)
        if mention is not None:
            return [(mention.entities, mention.several)]
        found = list(self._last)
        if self._tree.text(theme) in words.RELATIVES:
            found = self._before(theme)[:1]
            self._tree.use(*found)
        elif self._tree.text(theme) != "them":
            nearest = [*found, *self._before(theme)] if len(found) == 1 else self._before(theme)
            found = [place for place in nearest if self._affords(place, action)][:1]
        if not found:
            self._doubts.append(f"{self._tree.text(theme)!r} stays open")
        return [(self._tree.mentions[place].entities, self._tree.mentions[place].several) for place in found]

    def _before(self, place: int) -> list[int]:
        """Names before a word, the nearest first."""
        return sorted((other for other in self._tree.mentions if other < place), reverse=True)

    def _affords(self, place: int, action: str) -> bool:
        """Whether a named thing is one that the action can be about."""
        role = _SWITCHED.get(action)
        scene = self._names.scene
        things = [scene.entities[name] for name in self._tree.mentions[place].entities]
        if role is not None:
            return any(role in thing.supports for thing in things)
        return any(thing.kind == "object" for thing in things)

    def _place(self, span: Span, draft: Draft) -> Place:
        nouns = []
        for noun in span.nouns or (-1,):
            mention = self._tree.mentions.get(noun)
            if mention is not None:
                nouns.append(mention.entities)
                continue
            before = self._before(noun if noun >= 0 else span.start)
            found = [place for place in before if place not in draft.themes and self._holds(place, span.relation)]
            if not found:
                self._doubts.append(f"{self._tree.text(span.start)!r} leaves open of what")
            nouns += [self._tree.mentions[place].entities for place in found[:1]]
        return Place(span.relation, tuple(sorted(nouns, key=sorted)))

    def _holds(self, place: int, relation: str) -> bool:
        """Whether things can be in a named thing, for "inside" and "in it"; true for other relations."""
        entities = self._tree.mentions[place].entities
        return relation != "in" or any("in" in options(name, self._names) for name in entities)


def options(entity: str, names: Names) -> frozenset[str]:
    """Relations, of ``on`` and ``in``, that a thing or one of its parts can be the target of."""
    parts = [other for other in names.scene.entities.values() if other.name == entity or other.category == entity]
    roles = {role for part in parts for role in part.supports}
    return frozenset(relation for relation in ("on", "in") if f"{relation}.reference" in roles)


def _joined(orders: list[Order]) -> list[Order]:
    """Orders with "take x" and "put it on y" made one."""
    kept: list[Order] = []
    for order in orders:
        takes = [other for other in kept if other.action == "take" and other.entities == order.entities]
        if takes and order.action in ("put", "move", "push", "leave"):
            kept = [other for other in kept if other is not takes[-1]]
            action = "put" if order.action in ("move", "leave") else order.action
            order = replace(order, action=action, standing=order.standing | takes[-1].standing)
        kept.append(order)
    return kept


def difference(reading: Reading, canonical: Reading, names: Names) -> str:
    """What a certain reading asks for besides or instead of the canonical one; empty when they agree."""
    rest = list(reading.orders)
    matched, missing = [], []
    for order in canonical.orders:
        match = next((other for other in rest if _same(other, order, names)), None)
        if match is None:
            missing.append(order)
        else:
            rest.remove(match)
            matched.append(match)
    if missing or rest:
        asked = "; ".join(map(str, rest)) or "nothing more"
        return f"asks to {asked}, where the canonical text asks to {'; '.join(map(str, missing)) or 'do no more'}"
    if any(order.action in ("open", "close") for order in matched) and tuple(matched) != reading.orders:
        return f"asks for another order of doing: {reading}"
    return ""


def _same(order: Order, canonical: Order, names: Names) -> bool:
    agrees = order.action == canonical.action or (order.action == "move" and canonical.action in ("put", "push"))
    things = (order.entities, order.several) == (canonical.entities, canonical.several)
    return agrees and things and _same_goal(order, canonical, names) and _same_standing(order, canonical)


def _same_goal(order: Order, canonical: Order, names: Names) -> bool:
    goal, wanted = order.goal, canonical.goal
    if goal is None or wanted is None or goal.relation != "where":
        return goal == wanted
    # "The basket is where it should go" leaves in or on open; that is no doubt where only one of them is possible.
    only = all(len(options(name, names)) == 1 for thing in goal.things for name in thing)
    return goal.things == wanted.things and only and wanted.relation in ("on", "in")


def _same_standing(order: Order, canonical: Order) -> bool:
    if len(order.standing) != len(canonical.standing):
        return False
    return all(any(_same_place(place, other) for other in canonical.standing) for place in order.standing)


def _same_place(place: Place, canonical: Place) -> bool:
    """Equal, or one says "from the stove" of what stands on the stove."""
    relations = {place.relation, canonical.relation}
    loose = "from" in relations and relations <= {"from", "on", "in", "center"}
    return place.things == canonical.things and (len(relations) == 1 or loose)

"""A dependency tree seen as verbs with their things and places. Whether these make sense is for ``_audit_orders``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from gym_grounding.variants import _audit_words as words
from gym_grounding.variants._audit_phrases import Mention, Piece

Token = Any
"""A token of spaCy, which is imported only where an audit is asked for."""
_MOMENTS = {"before": 0.5, "after": -0.5, "once": -0.5, "when": -0.5}
"""Word that opens a clause -> when it happens, relative to the clause that it hangs on."""
_LONGEST_PREPOSITION = 8


@dataclass(frozen=True, slots=True)
class Span:
    """A preposition with its nouns.

    Attributes:
        relation: class of the preposition.
        start: index of its first word.
        nouns: indices of its nouns; none for "inside" alone.
    """

    relation: str
    start: int
    nouns: tuple[int, ...]


@dataclass(slots=True)
class Draft:
    """A verb that asks for something.

    Attributes:
        verb: index of the verb.
        action: class of the verb.
        themes: indices of the nouns and pronouns that it acts on.
        moment: orders with smaller ones are done first.
        places: places that hang on the verb or its things, in the order of the sentence.
        described: places that a relative clause gives to its thing.
        where: the place of "y is where x should go".
    """

    verb: int
    action: str
    themes: tuple[int, ...]
    moment: float
    places: list[Span] = field(default_factory=list)
    described: list[Span] = field(default_factory=list)
    where: Span | None = None


class Tree:
    """One parsed sentence.

    Args:
        doc: spaCy's tree.
        pieces: its words; a name of a thing is one word.

    Attributes:
        mentions: index of a word -> the name that it stands for.
        doubts: what cannot be made out, in words.
    """

    def __init__(self, doc: Any, pieces: Sequence[Piece]) -> None:
        self._doc = doc
        self._used: set[int] = set()
        self._placed: set[int] = set()
        self.mentions: dict[int, Mention] = {
            place: piece.mention for place, piece in enumerate(pieces) if piece.mention is not None
        }
        self.doubts: list[str] = []
        self._by_verb: dict[int, Draft] = {}
        self._read()

    @property
    def drafts(self) -> list[Draft]:
        """The verbs that ask for something, in the order of the sentence."""
        return list(self._by_verb.values())

    def is_pronoun(self, place: int) -> bool:
        """Whether the word stands for a thing named before."""
        return place not in self.mentions

    def text(self, place: int) -> str:
        """The word, or the name that it stands for."""
        mention = self.mentions.get(place)
        return " ".join(mention.words) if mention else str(self._doc[place].text)

    def use(self, *places: int) -> None:
        """Note that the words have a part in the meaning."""
        self._used.update(places)

    def unused(self) -> Iterator[int]:
        """Words that have no part in the meaning and are not known to need none."""
        for token in self._doc:
            silent = token.text in words.ARTICLES | words.SILENT | words.SUBJECTS and token.i not in self.mentions
            helping = token.dep_ in ("aux", "auxpass") and token.text in words.HELPING
            if token.i not in self._used and not silent and not helping and not token.is_punct:
                yield token.i

    def _read(self) -> None:
        for token in self._doc:
            if token.dep_ == "neg" or token.text in words.NEGATIONS:
                self.doubts.append(f"{token.text!r} negates")
        verbs = [token for token in self._doc if token.pos_ in ("VERB", "AUX")]
        particles = {verb.i: particle for verb in verbs if (particle := self._particle(verb)) is not None}
        self.use(*(particle.i for particle in particles.values()))
        spans = list(self._spans())
        self._placed = {noun for span in spans for noun in span.nouns}
        for verb in verbs:
            if verb.i not in self._used:
                self._read_verb(verb, particles.get(verb.i))
        for draft in self.drafts:
            self._ask_where(draft)
        for span in spans:
            self._attach(span)

    def _ask_where(self, draft: Draft) -> None:
        """The place of "the stove is where the bowl should go", when it is told by a thing alone."""
        verb = self._doc[draft.verb]
        for adverb in (child for child in verb.children if child.text == "where"):
            self.use(adverb.i, verb.head.i)
            subject = self._subject(verb.head)
            if subject is not None and subject.i in self.mentions:
                self.use(subject.i)
                draft.where = Span("where", subject.i, (subject.i,))

    def _read_verb(self, verb: Token, particle: Token | None) -> None:
        action, themes = self._action(verb, particle)
        if action and themes:
            self.use(verb.i)
            self._check_mood(verb)
            self._by_verb[verb.i] = Draft(verb.i, action, tuple(themes), verb.i + self._delay(verb))
        elif verb.lemma_ in words.BEARERS and verb.dep_ not in ("aux", "auxpass"):
            self.use(verb.i)

    def _action(self, verb: Token, particle: Token | None) -> tuple[str, list[int]]:
        """Class of the verb, and what it acts on; the thing that shall be somewhere for "go", "belong", "be on"."""
        action = words.WITH_PARTICLE.get((verb.lemma_, particle.text if particle is not None else ""), "")
        action = action or words.PLAIN.get(verb.lemma_, "")
        themes = self._themes(verb, particle)
        if themes or verb.lemma_ not in words.LOCATING or self._describes(verb) or verb.dep_ in ("aux", "auxpass"):
            return action, themes
        subject = self._subject(verb)
        if subject is None or not self._is_thing(subject):
            return "", []
        if verb.lemma_ == "be" and not self._helpers(verb) & words.OBLIGING:
            return "", []
        shall = [subject.i, *(token.i for token in self._joined(subject))]
        return (words.STATES.get(particle.text, "") if particle is not None else "put"), shall

    def _particle(self, verb: Token) -> Token | None:
        """The word that makes another verb of it: "on" of "switch on", "open" of "pull open" and of "is open"."""
        for token in self._doc[verb.i + 1 :]:
            if token.i in self.mentions or token.text in words.ARTICLES | words.PRONOUNS:
                continue
            if (verb.lemma_, token.text) in words.WITH_PARTICLE:
                governs = any(child.dep_ == "pobj" for child in token.children)
                return None if governs and verb.lemma_ in words.PLAIN else token
            if verb.lemma_ == "be" and token.text in words.STATES and not list(token.children):
                return token
            if token.pos_ not in ("ADJ", "ADV"):
                return None
        return None

    def _themes(self, verb: Token, particle: Token | None) -> list[int]:
        """Things that a verb acts on: its objects, or the subject of a passive."""
        own = [child for child in verb.children if child.dep_ in ("dobj", "dative", "nsubjpass")]
        if particle is not None:
            own += [child for child in particle.children if child.dep_ in ("pobj", "dobj", "nsubj")]
        things = [child for child in own if self._is_thing(child) and child.i not in self._placed]
        if not things and (subject := self._subject(verb)) is not None and self._is_passive(verb):
            things = [subject] if self._is_thing(subject) else []
        return sorted(one.i for child in things for one in (child, *self._joined(child)))

    def _is_passive(self, verb: Token) -> bool:
        """Whether the subject is what is acted on, by the verb's own "be" or that of the verb it is joined to."""
        if any(child.dep_ == "auxpass" for child in verb.children):
            return True
        return verb.dep_ == "conj" and verb.head.i != verb.i and self._is_passive(verb.head)

    def _joined(self, noun: Token) -> list[Token]:
        """Further things of "x and y"."""
        return [token for token in noun.conjuncts if token.i > noun.i and self._is_thing(token)]

    def _subject(self, verb: Token) -> Token | None:
        """The subject of the verb or of the verb that it is joined to."""
        for holder in (verb, *(child for child in verb.children if child.dep_ == "auxpass")):
            for child in holder.children:
                if child.dep_ in ("nsubj", "nsubjpass"):
                    return child
        if (bearer := self._bearer_before(verb)) is not None:
            return self._subject(bearer)
        hangs = verb.dep_ in ("conj", "xcomp") and verb.head.i != verb.i and not self._describes(verb.head)
        return self._subject(verb.head) if hangs else None

    def _bearer_before(self, verb: Token) -> Token | None:
        """The "needs" of "needs to be closed", wherever the model hangs the verb."""
        place = verb.i - 1
        while place > 0 and self._doc[place].dep_ in ("aux", "auxpass"):
            place -= 1
        before = self._doc[place]
        return before if place < verb.i - 1 and before.lemma_ in words.BEARERS and before.pos_ == "VERB" else None

    def _is_thing(self, token: Token) -> bool:
        return token.i in self.mentions or token.text in words.PRONOUNS | words.RELATIVES

    def _describes(self, verb: Token) -> bool:
        """Whether the verb only tells which thing is meant: "the bowl that is on the stove"."""
        return verb.dep_ in ("relcl", "acl")

    def _check_mood(self, verb: Token) -> None:
        """An order about a thing needs a "should" or the like, one to "you" any auxiliary, one to nobody nothing."""
        subject = self._subject(verb)
        if subject is None or self._is_asked(verb):
            return
        helpers = self._helpers(verb)
        if subject.text != "you" and not self._is_thing(subject):
            self.doubts.append(f"{subject.text!r} is the one to act")
        elif not helpers & (words.HELPING if subject.text == "you" else words.OBLIGING) and not self._locates(verb):
            self.doubts.append(f"states what is so, by {verb.text!r}, and asks for nothing")

    def _locates(self, verb: Token) -> bool:
        """Whether the plain present asks for something: "the bowl goes on the stove"."""
        return verb.lemma_ in ("go", "belong")

    def _is_asked(self, verb: Token) -> bool:
        """Whether somebody wants that "you" do it: "i would like you to"."""
        before = [token.text for token in self._doc[: verb.i]]
        return "you" in before and any(link.lemma_ in words.BEARERS for link in verb.ancestors)

    def _helpers(self, verb: Token) -> set[str]:
        """Auxiliaries of the verb and of those that it hangs on, and these themselves."""
        found = {child.text for child in verb.children if child.dep_ in ("aux", "auxpass")} & words.AUXILIARIES
        if verb.dep_ in ("conj", "xcomp", "ccomp") and verb.head.i != verb.i:
            found |= {verb.head.text} | self._helpers(verb.head)
        return found

    def _delay(self, verb: Token) -> float:
        """By how much a clause with "after" or "before" is moved to get into the order of doing."""
        for token in (verb, *verb.ancestors):
            for opener, main in self._openers(token):
                if opener.text in _MOMENTS and main.i not in (token.i, verb.i):
                    self.use(opener.i)
                    return float(main.i - verb.i) + _MOMENTS[opener.text]
        return 0.0

    def _openers(self, verb: Token) -> Iterator[tuple[Token, Token]]:
        """(word that opens the clause of a verb, verb of the clause on which that one hangs)."""
        if verb.dep_ == "pcomp":
            yield verb.head, verb.head.head
        yield from ((child, verb.head) for child in verb.children if child.dep_ in ("mark", "advmod"))

    def _spans(self) -> Iterator[Span]:
        start = 0
        while start < len(self._doc):
            span = self._span(start)
            if span is not None:
                end = span.nouns[-1] + 1 if span.nouns else start + len(span.relation.split())
                self.use(*range(start, end))
                yield span
                start = end
            else:
                start += 1

    def _span(self, start: int) -> Span | None:
        """The place whose preposition starts there, if one does."""
        said: list[str] = []
        for token in self._doc[start : start + _LONGEST_PREPOSITION]:
            if said and self._is_thing(token):
                relation = words.RELATIONS.get(" ".join(said))
                return Span(relation, start, self._nouns(relation, token)) if relation else None
            if token.i in self._used:
                break
            if token.text not in words.ARTICLES:
                said.append(token.text)
        for length in (2, 1):
            if relation := words.BARE.get(" ".join(token.text for token in self._doc[start : start + length])):
                return Span(relation, start, ())
        return None

    def _nouns(self, relation: str, noun: Token) -> tuple[int, ...]:
        """The noun of a place; for "between" also the second one."""
        following = [token for token in self._doc[noun.i + 1 :] if token.text not in ("and", "the")]
        pair = relation == "between" and bool(following) and following[0].i in self.mentions
        return (noun.i, following[0].i) if pair else (noun.i,)

    def _attach(self, span: Span) -> None:
        """Give a place to the verb on which it hangs, or to the thing that a relative clause describes by it."""
        chain = [self._doc[span.start], *self._doc[span.start].ancestors]
        for link in chain:
            draft = next((draft for draft in self.drafts if link.i in (draft.verb, *draft.themes)), None)
            if draft is not None:
                draft.places.append(span)
                return
            if self._describes(link) and link.lemma_ in words.LOCATING:
                self.use(link.i)
                draft = next((draft for draft in self.drafts if link.head.i in draft.themes), None)
                if draft is not None:
                    draft.described.append(span)
                    return
                break
        draft = self._asking_where(chain)
        if draft is None:
            self.doubts.append(f"nothing is done at the place that {self._doc[span.start].text!r} tells")
        else:
            draft.where = span

    def _asking_where(self, chain: Sequence[Token]) -> Draft | None:
        """The order of "y is where x should go", for a place in y."""
        for draft in self.drafts:
            verb = self._doc[draft.verb]
            if any(child.text == "where" for child in verb.children) and verb.head in chain and draft.where is None:
                return draft
        return None

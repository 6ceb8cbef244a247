"""Sentence frames of the rule-made paraphrases, and the nouns that they exchange.

A frame is what the canonical instructions of some tasks have in common: a pattern whose groups are phrases with their
articles, and for each kind of paraphrase its sentences. ``[a|b]`` is a choice among words that say the same, ``{x}`` a
phrase. ``{onto}`` is the relation as a direction (``onto``, ``into``), ``{where}`` its place as a phrase ("the top of
the cabinet"), ``{it}`` the pronoun of ``{x}``, ``{s}`` an s where ``{x}`` is one thing, ``{at}`` where ``{x}`` stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

REQUESTS = (
    "would you mind {putting}",
    "i would like you to {put}",
    "would you be so kind as to {put}",
    "i need you to {put}",
)
"""Ways to ask for something without other verbs, once as a clause (``put``) and once as a gerund (``putting``)."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What some canonical instructions have in common.

    Attributes:
        name: for messages and tests.
        pattern: regular expression of the canonical text; its groups are phrases.
        order: the canonical text with groups as phrases, in the infinitive.
        gerund: the same in the gerund.
        verbs: sentences with other verbs.
        passive: (subtype, sentence) in the passive or as a statement of need.
        reordering: (subtype, sentence) in two steps, with the place in front or with a relative clause.
    """

    name: str
    pattern: str
    order: str
    gerund: str
    verbs: tuple[str, ...]
    passive: tuple[tuple[str, str], ...]
    reordering: tuple[tuple[str, str], ...]


FRAMES = (
    Frame(
        name="open_and_put",
        pattern=r"open (?P<y>the \w+ drawer) and put (?P<x>the .+) inside",
        order="open {y} and put {x} inside",
        gerund="opening {y} and putting {x} inside",
        verbs=("pull open {y} and [place|set] {x} inside", "slide open {y} and [place|set] {x} inside"),
        passive=(
            ("passive", "{y} should be opened and {x} should be [placed|set] inside"),
            ("need_statement", "{y} needs to be opened and {x} needs to be [placed|put] inside"),
        ),
        reordering=(
            ("adverbial_clause", "after opening {y} [place|put] {x} inside"),
            ("two_step", "first open {y} then take {x} and [place|put] it inside"),
            ("two_step", "open {y} then take {x} and [place|put] it inside"),
        ),
    ),
    Frame(
        name="open",
        pattern=r"open (?P<part>the \w+ drawer) of (?P<whole>the \w+)",
        order="open {part} of {whole}",
        gerund="opening {part} of {whole}",
        verbs=("[slide|pull] open {part} of {whole}",),
        passive=(
            ("passive", "{part} of {whole} should be [pulled open|opened]"),
            ("need_statement", "{part} of {whole} needs to be [pulled open|opened]"),
        ),
        reordering=(
            ("fronting", "on {whole} [open|pull open] {part}"),
            ("relative_clause", "{part} of {whole} is what should be [opened|pulled open]"),
        ),
    ),
    Frame(
        name="turn_on_and_put",
        pattern=r"turn on (?P<y>the \w+) and put (?P<x>the .+) on it",
        order="turn on {y} and put {x} on it",
        gerund="turning on {y} and putting {x} on it",
        verbs=("switch on {y} and [place|set] {x} on it",),
        passive=(
            ("passive", "{y} should be [switched|turned] on and {x} should be [placed|set] on it"),
            ("need_statement", "{y} needs to be [switched|turned] on and {x} needs to be [placed|set] on it"),
        ),
        reordering=(
            ("adverbial_clause", "after turning on {y} [place|set] {x} on it"),
            ("two_step", "first turn on {y} then take {x} and [place|set] it on {y}"),
            ("two_step", "turn on {y} then take {x} and [place|set] it on {y}"),
        ),
    ),
    Frame(
        name="turn_on",
        pattern=r"turn on (?P<x>the \w+)",
        order="turn on {x}",
        gerund="turning on {x}",
        verbs=("[activate|switch on|power on] {x}",),
        passive=(
            ("passive", "{x} should be [switched|turned] on"),
            ("need_statement", "{x} needs to be [switched|turned] on"),
        ),
        reordering=(("relative_clause", "{x} is what should be [turned|switched] on"),),
    ),
    Frame(
        name="push",
        pattern=r"push (?P<x>the .+) (?P<rel>to the front of) (?P<y>the .+)",
        order="push {x} {rel} {y}",
        gerund="pushing {x} {rel} {y}",
        verbs=("[shove|move|slide] {x} {rel} {y}",),
        passive=(
            ("passive", "{x} should be [slid|pushed] {rel} {y}"),
            ("need_statement", "{x} needs to be [slid|pushed] {rel} {y}"),
        ),
        reordering=(
            ("fronting", "{rel} {y} [push|slide] {x}"),
            ("relative_clause", "the front of {y} is where {x} should be pushed"),
        ),
    ),
    Frame(
        name="pick_up_with_reference",
        pattern=r"pick up (?P<x>the black bowl) (?P<ref>.+) and place it (?P<rel>on) (?P<y>the .+)",
        order="pick up {x} {ref} and place it {rel} {y}",
        gerund="picking up {x} {ref} and placing it {rel} {y}",
        verbs=("[take|grab|lift] {x} {ref} and [set|put] it {rel} {y}",),
        passive=(
            ("passive", "{x} {at} should be [lifted and set on|moved onto|picked up and put on] {y}"),
            ("need_statement", "{x} {at} needs to be [moved onto|picked up and put on|lifted and set on] {y}"),
        ),
        reordering=(
            ("fronting", "onto {y} [place|set|move] {x} that is {at}"),
            ("relative_clause", "{y} is where {x} {at} should [go|be put]"),
            ("relative_clause", "[grab|lift|take] {x} that is {at} and [set|put] it {rel} {y}"),
        ),
    ),
    Frame(
        name="pick_up",
        pattern=r"pick up (?P<x>the .+) and place it (?P<rel>in) (?P<y>the .+)",
        order="pick up {x} and place it {rel} {y}",
        gerund="picking up {x} and placing it {rel} {y}",
        verbs=("[take|grab|lift] {x} and [put|set] it {rel} {y}",),
        passive=(
            ("passive", "{x} should be [placed in|moved into|put in] {y}"),
            ("need_statement", "{x} needs to be [moved into|put in|placed in] {y}"),
        ),
        reordering=(
            ("fronting", "into {y} [put|place|set|move] {x}"),
            ("relative_clause", "{y} is where {x} should [go|be put]"),
        ),
    ),
    Frame(
        name="put_and_close",
        pattern=r"put (?P<x>the .+) (?P<rel>in) (?P<y>the .+) and close it",
        order="put {x} {rel} {y} and close it",
        gerund="putting {x} {rel} {y} and closing it",
        verbs=("[place|set] {x} {rel} {y} and shut it",),
        passive=(
            ("passive", "{x} should be [placed|put] {rel} {y} and {part} should be [shut|closed]"),
            ("need_statement", "{x} needs to be [placed|put] {rel} {y} and {part} needs to be [shut|closed]"),
        ),
        reordering=(
            ("two_step", "take {x} and [set|place] it {rel} {y} then [close|shut] {part}"),
            ("adverbial_clause", "after putting {x} {rel} {y} [close|shut] {part}"),
        ),
    ),
    Frame(
        name="put_and_put",
        pattern=(
            r"put (?P<x>the .+) (?P<rel>on) (?P<y>the .+) "
            r"and put (?P<v>the .+) (?P<to>on|to the right of) (?P<w>the .+)"
        ),
        order="put {x} {rel} {y} and put {v} {to} {w}",
        gerund="putting {x} {rel} {y} and putting {v} {to} {w}",
        verbs=("[place|set] {x} {rel} {y} and [set|place] {v} {to} {w}",),
        passive=(
            ("passive", "{x} should be [placed|set] {rel} {y} and {v} should be [set|placed] {to} {w}"),
            ("need_statement", "{x} needs to be [placed|set] {rel} {y} and {v} needs to be [placed|set] {to} {w}"),
        ),
        reordering=(
            ("fronting", "{rel} {y} [put|place] {x} and {to} {w} [put|place] {v}"),
            ("two_step", "take {x} and [set|place] it {rel} {y} then take {v} and [set|place] it {to} {w}"),
        ),
    ),
    Frame(
        name="put",
        pattern=r"put (?P<x>the .+?|both .+) (?P<rel>on top of|on|in) (?P<y>the .+)",
        order="put {x} {rel} {y}",
        gerund="putting {x} {rel} {y}",
        verbs=("[place|set|position] {x} {rel} {y}",),
        passive=(
            ("passive", "{x} should be [placed {rel}|moved {onto}|set {rel}|positioned {rel}] {y}"),
            ("need_statement", "{x} need{s} to be [moved {onto}|placed {rel}|set {rel}] {y}"),
        ),
        reordering=(
            ("two_step", "[take|grab|lift] {x} and [set|place|position] {it} {rel} {y}"),
            ("relative_clause", "{where} is where {x} should [go|be put]"),
            ("fronting", "{onto} {y} [move|place|set] {x}"),
        ),
    ),
)
"""In order: the first whose pattern matches is a task's frame."""

SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "alphabet soup": ("can of alphabet soup",),
    "bbq sauce": ("barbecue sauce", "bottle of bbq sauce"),
    "butter": ("package of butter", "box of butter"),
    "cabinet": ("cupboard", "chest of drawers"),
    "caddy": ("organizer",),
    "chocolate pudding": ("box of chocolate pudding", "package of chocolate pudding"),
    "cookie box": ("box of cookies",),
    "cream cheese": ("box of cream cheese", "package of cream cheese"),
    "cream cheese box": ("box of cream cheese", "package of cream cheese"),
    "ketchup": ("bottle of ketchup",),
    "microwave": ("microwave oven",),
    "milk": ("carton of milk",),
    "moka pot": ("coffee maker", "coffee pot"),
    "mug": ("cup",),
    "orange juice": ("carton of orange juice",),
    "plate": ("dinner plate",),
    "rack": ("wine rack",),
    "ramekin": ("custard cup",),
    "salad dressing": ("bottle of salad dressing",),
    "stove": ("cooktop", "hob"),
    "tomato sauce": ("can of tomato sauce",),
    "wine bottle": ("bottle of wine",),
}
"""Noun of a canonical text -> nouns for the same thing, in order of preference. The scene says which of them fit
nothing else there."""

OF_PHRASES = (
    (r"from table center", "from the center of the table"),
    (r"open the (\w+ drawer) and", r"open the \1 of the cupboard and"),
    (r"the bottom drawer of", "the drawer at the bottom of"),
    (r"the top drawer of the wooden cabinet", "the drawer at the top of the wooden cupboard"),
    (r"(put .*) on the plate$", r"\1 on the surface of the plate"),
    (r"(place it) on the plate$", r"\1 onto the surface of the plate"),
)
"""Pattern of a canonical text -> the same with a possessive written with "of"."""

DIRECTIONS = {"on": "onto", "in": "into", "on top of": "on top of"}

VERBS: Mapping[str, tuple[str, ...]] = {
    "activate": ("activate",),
    "close": ("close", "closed", "closing"),
    "go": ("go",),
    "grab": ("grab",),
    "lift": ("lift", "lifted"),
    "move": ("move", "moved"),
    "open": ("open", "opened", "opening"),
    "pick": ("pick", "picked", "picking"),
    "place": ("place", "placed", "placing"),
    "position": ("position", "positioned"),
    "power": ("power",),
    "pull": ("pull", "pulled"),
    "push": ("push", "pushed", "pushing"),
    "put": ("put", "putting"),
    "set": ("set",),
    "shove": ("shove",),
    "shut": ("shut",),
    "slide": ("slide", "slid"),
    "switch": ("switch", "switched"),
    "take": ("take",),
    "turn": ("turn", "turned", "turning"),
}
"""Verbs of the canonical texts and of the frames -> their forms that occur there."""

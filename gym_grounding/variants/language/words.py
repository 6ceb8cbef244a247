"""Words that are no things: verbs by class, relations by class, attributes, negation, politeness."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb with the forms that instructions use.

    Attributes:
        base: such as ``switch``.
        participle: such as ``switched``.
        gerund: such as ``switching``.
        particle: word that belongs to it, such as ``on``; empty without one.
        joined: whether the particle may stand before the object ("switch on the stove").
        parted: whether it may stand after the object ("switch the stove on").
    """

    base: str
    participle: str
    gerund: str
    particle: str = ""
    joined: bool = True
    parted: bool = True


def _verbs(*rows: str) -> tuple[Verb, ...]:
    """Rows ``base participle gerund [particle]``; a particle that only follows the object is written ``..open``."""
    verbs = []
    for row in rows:
        base, participle, gerund, *particle = row.split()
        word = particle[0] if particle else ""
        verbs.append(Verb(base, participle, gerund, word.lstrip("."), joined=not word.startswith("..")))
    return tuple(verbs)


VERBS: Mapping[str, tuple[Verb, ...]] = {
    "put": _verbs(
        "put put putting", "place placed placing", "set set setting", "lay laid laying", "rest rested resting",
        "leave left leaving", "deposit deposited depositing", "drop dropped dropping", "stow stowed stowing",
        "position positioned positioning", "store stored storing", "insert inserted inserting",
        "bring brought bringing", "get got getting", "lower lowered lowering",
        "stick stuck sticking", "load loaded loading",
    ),
    "move": _verbs(
        "move moved moving", "shift shifted shifting", "relocate relocated relocating",
        "transfer transferred transferring",
    ),
    "push": _verbs("push pushed pushing", "slide slid sliding", "nudge nudged nudging", "shove shoved shoving"),
    "pull": _verbs("pull pulled pulling", "drag dragged dragging"),
    "pick up": _verbs(
        "pick picked picking up", "pick picked picking", "take taken taking", "grab grabbed grabbing",
        "grasp grasped grasping", "lift lifted lifting", "lift lifted lifting up", "get got getting",
        "fetch fetched fetching", "collect collected collecting", "retrieve retrieved retrieving",
        "take taken taking up", "raise raised raising",
    ),
    "open": _verbs(
        "open opened opening", "open opened opening up", "pull pulled pulling open", "slide slid sliding open",
        "get got getting ..open", "draw drawn drawing open",
    ),
    "close": _verbs(
        "close closed closing", "shut shut shutting", "close closed closing up", "push pushed pushing shut",
        "push pushed pushing closed", "slide slid sliding shut", "slide slid sliding closed",
    ),
    "turn on": _verbs(
        "turn turned turning on", "switch switched switching on", "power powered powering on",
        "power powered powering up", "activate activated activating", "start started starting",
        "start started starting up", "fire fired firing up",
    ),
    "turn off": _verbs(
        "turn turned turning off", "switch switched switching off", "power powered powering off",
        "power powered powering down", "deactivate deactivated deactivating", "shut shut shutting off",
        "shut shut shutting down",
    ),
    "remove": _verbs("remove removed removing"),
}  # fmt: skip
"""Class of verb -> its verbs. ``move`` says neither how: it agrees with ``put`` and with ``push``."""

PLACING = frozenset({"put", "move", "push", "pull"})
"""Classes that ask for a thing to be somewhere."""
LIFTING = frozenset({"pick up"})
SWITCHING = frozenset({"open", "close", "turn on", "turn off"})
"""Classes that act on a joint."""
AGREES: Mapping[str, frozenset[str]] = {"move": frozenset({"put", "push"})}
"""Class -> classes that it may stand for."""

STATES: Mapping[str, str] = {
    "open": "open", "opened": "open", "closed": "close", "shut": "close", "on": "turn on", "off": "turn off",
}  # fmt: skip
"""Word after "is" -> the action that leads to this state."""

RELATIONS: Mapping[str, tuple[str, ...]] = {
    "on": (
        "on", "onto", "on to", "upon", "atop", "on top of", "on the top of", "onto the top of", "to the top of",
        "on the surface of", "on the top surface of", "onto the top surface of", "onto the surface of", "on top on",
    ),
    "in": ("in", "into", "in to", "inside", "inside of", "within", "into the inside of"),
    "front": (
        "in front of", "to the front of", "to the area in front of", "to the space in front of",
        "in the area in front of", "to a spot in front of", "to the spot in front of",
    ),
    "behind": (
        "behind", "to the back of", "in back of", "to the rear of", "to the area behind", "to the space behind",
    ),
    "left": ("to the left of", "on the left of", "left of", "at the left of", "to the left side of"),
    "right": ("to the right of", "on the right of", "right of", "at the right of", "to the right side of"),
    "next to": (
        "next to", "beside", "by", "near", "close to", "adjacent to", "alongside", "right next to", "just next to",
    ),
    "under": ("under", "underneath", "beneath", "below"),
    "between": ("between", "in between", "in the middle between"),
    "off": ("off", "off of"),
    "out of": ("out of", "out from"),
    "away from": ("away from",),
}  # fmt: skip
"""Class of relation -> prepositions."""

PLACES = frozenset({"on", "in", "front", "behind", "left", "right", "next to", "under"})
"""Relations that say where a thing shall be."""
SIDES = ("front", "behind", "left", "right")
LEAVING = frozenset({"off", "out of", "away from"})
BARE: Mapping[str, tuple[str, ...]] = {"in": ("inside",), "on": ("on top",)}
"""Class of relation -> adverbs that stand for relation and target, the target being what was spoken of before."""

ATTRIBUTES: Mapping[str, tuple[str, ...]] = {
    **{word: (word,) for word in (
        "black", "white", "red", "yellow", "green", "blue", "orange", "purple", "pink", "brown", "grey", "silver",
        "golden", "wooden", "metal", "plastic", "glass", "porcelain", "ceramic", "striped", "transparent",
        "left", "right", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "big", "small", "large",
        "little", "tall", "short", "round", "square", "empty", "full", "new", "old", "clean", "dirty", "other",
        "upper", "lower",
    )},
    "top": ("top", "topmost", "uppermost", "highest"),
    "middle": ("middle", "center", "centre", "central"),
    "bottom": ("bottom", "bottommost", "lowermost", "lowest"),
    "front": ("front", "frontmost"),
    "back": ("back", "rear", "rearmost"),
    "yellow and white": ("yellow and white", "white and yellow", "yellow white", "white yellow"),
    "left": ("left", "leftmost", "left hand"),
    "right": ("right", "rightmost", "right hand"),
    "grey": ("grey", "gray"),
}  # fmt: skip
"""Attribute -> its spellings. ``upper`` is no spelling of ``top``: two of three drawers are upper ones."""

NEGATIONS: tuple[str, ...] = (
    "do not", "does not", "did not", "is not", "are not", "must not", "should not", "shall not", "can not", "need not",
    "could not", "would not", "will not", "not", "never", "no", "nor", "without", "avoid", "avoids", "avoiding",
    "except", "except for", "excepting", "instead of", "instead", "rather than", "refrain from", "unless", "neither",
    "nothing", "none", "nowhere", "anything but", "stop", "cease", "forget", "skip", "prevent", "keep from", "but not",
    "other than", "apart from", "hardly", "barely", "undo", "fail to", "cannot",
)  # fmt: skip
"""Words that turn a sentence round. Where one occurs, the sentence counts as negated whatever else it says."""

POLITE: tuple[str, ...] = ("please", "kindly")
REQUESTS: tuple[str, ...] = (
    "could you", "can you", "would you", "will you", "i want you to", "i need you to", "i would like you to",
    "you need to",
    "you should", "you must", "you have to", "you are to", "i ask you to", "i am asking you to", "your task is to",
    "your job is to", "go ahead and", "make sure to", "be sure to", "remember to", "we need you to", "let us",
    "i would like to ask you to", "may i ask you to", "we need to", "you ought to", "the task is to", "it is time to",
    "would you be so kind as to", "i would appreciate it if you would", "it would be great if you could",
)  # fmt: skip
"""Openings after which an order follows in its base form."""
REQUESTS_GERUND: tuple[str, ...] = ("would you mind", "do you mind", "how about", "i would appreciate you")
"""Openings after which an order follows as a gerund."""
TRAILING: tuple[str, ...] = (
    "please",
    "for me",
    "for me please",
    "thanks",
    "thank you",
    "now",
    "will you",
    "would you",
    "could you",
)
MODALS: tuple[str, ...] = (
    "should", "must", "needs to", "need to", "has to", "have to", "ought to", "is to", "are to", "shall",
    "is supposed to", "are supposed to", "is meant to", "are meant to",
)  # fmt: skip
WISHES: tuple[str, ...] = (
    "i want",
    "i need",
    "i would like",
    "we need",
    "we want",
    "i want to have",
    "i would like to have",
    "i wish to have",
)
"""Openings after which a thing and its wished state follow."""
ENSURE: tuple[str, ...] = (
    "make sure",
    "make sure that",
    "ensure",
    "ensure that",
    "see to it that",
    "be sure that",
    "see that",
)
ONCE: tuple[str, ...] = ("once", "after", "as soon as")
THEN: tuple[str, ...] = (
    "and",
    "then",
    "and then",
    "and afterwards",
    "and after that",
    "afterwards",
    "and next",
    "next",
    "and also",
)
AND: tuple[str, ...] = ("and", "and also", "as well as", "together with", "along with", "and then")
DETERMINERS: tuple[str, ...] = ("the", "a", "an")
PRONOUNS = frozenset({"it", "them", "both", "both of them", "them both", "this", "that", "these", "those", "itself"})
OPEN = frozenset({
    "it", "them", "both", "this", "that", "these", "those", "something", "anything", "everything", "someplace",
    "somewhere", "there", "here", "one", "ones", "stuff", "thing", "things", "item", "items", "object", "objects",
    "everywhere", "elsewhere",
})  # fmt: skip
"""Words that leave open what is meant, unless a pattern takes them up."""


def entries() -> frozenset[str]:
    """Every entry of this module, of one or several words."""
    found: set[str] = set(NEGATIONS) | set(POLITE) | set(REQUESTS) | set(REQUESTS_GERUND) | set(TRAILING)
    found.update(MODALS, WISHES, ENSURE, ONCE, THEN, AND, DETERMINERS, PRONOUNS, OPEN, STATES)
    for spellings in (*RELATIONS.values(), *ATTRIBUTES.values(), *BARE.values()):
        found.update(spellings)
    for verbs in VERBS.values():
        for verb in verbs:
            found.update((verb.base, verb.participle, verb.gerund, verb.particle))
    return frozenset(found - {""})

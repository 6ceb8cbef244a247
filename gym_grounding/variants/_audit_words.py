"""Words of audit B: its own classes of verbs and relations, apart from the lexicon of the parser."""

from __future__ import annotations

from collections.abc import Mapping


def _words(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _table(**rows: str) -> dict[str, str]:
    """Word -> class, from class -> words; a class is written with ``_`` for a blank."""
    return {word: name.replace("_", " ") for name, words in rows.items() for word in words.split()}


PLAIN = _table(
    put="put place set lay rest position deposit drop store stow stash bring insert pop load file",
    move="move shift transfer relocate",
    leave="leave",
    push="push shove nudge slide",
    take="take grab grasp lift pick fetch collect retrieve get raise remove",
    open="open",
    close="close shut",
    turn_on="activate start",
    turn_off="deactivate stop",
)
"""Base form of a verb without particle -> its class. ``move`` may stand for ``put`` and for ``push``; ``leave`` is
putting only for what was taken up before."""

WITH_PARTICLE: Mapping[tuple[str, str], str] = {
    **{(verb, "on"): "turn on" for verb in ("turn", "switch", "power")},
    **{(verb, "up"): "turn on" for verb in ("power", "fire", "start")},
    **{(verb, "off"): "turn off" for verb in ("turn", "switch", "power", "shut")},
    **{(verb, "down"): "turn off" for verb in ("power", "shut")},
    **{(verb, "up"): "take" for verb in ("pick", "lift", "take")},
    **{(verb, "down"): "put" for verb in ("put", "set", "lay", "place", "rest")},
    **{(verb, "over"): "move" for verb in ("move", "shift")},
    ("open", "up"): "open",
    **{(verb, "open"): "open" for verb in ("pull", "slide", "draw", "get", "push", "swing")},
    **{(verb, state): "close" for verb in ("pull", "slide", "push", "swing", "get") for state in ("shut", "closed")},
}
"""(base form, particle or state) -> class of the verb with it."""

STATES = _table(open="open opened", close="closed shut", turn_on="on", turn_off="off")
"""Word after "be" -> the action that leads there."""

LOCATING = _words("go belong sit stand rest lie be")
"""Verbs whose subject is the thing that shall be somewhere."""

BEARERS = _words("need want like have be mind ask ought suppose mean make ensure see get")
"""Verbs that carry an order without being one: "needs to", "i would like you to", "make sure that"."""

RELATIONS: Mapping[str, str] = {
    phrase: relation
    for relation, phrases in {
        "on": (
            "on", "onto", "upon", "atop", "on top of", "onto top of", "to top of", "on surface of", "onto surface of",
            "on top surface of", "onto top surface of", "top of", "top surface of", "surface of", "up on", "up onto",
            "down on", "down onto",
        ),
        "in": ("in", "into", "inside", "within", "inside of", "in inside of", "into inside of", "inside in"),
        "front": (
            "in front of", "to front of", "at front of", "front of", "in area in front of", "to area in front of",
            "area in front of", "to spot in front of", "in spot in front of",
        ),
        "behind": ("behind", "to back of", "in back of", "to rear of", "at back of"),
        "left": ("to left of", "on left of", "left of", "to left side of", "on left side of", "at left of"),
        "right": ("to right of", "on right of", "right of", "to right side of", "on right side of", "at right of"),
        "next to": (
            "next to", "beside", "by", "near", "close to", "adjacent to", "alongside", "at side of", "by side of",
            "from next to", "from beside",
        ),
        "under": ("under", "beneath", "below", "underneath"),
        "between": ("between", "in between", "from between"),
        "center": (
            "at center of", "in center of", "from center of", "on center of", "in middle of", "at middle of",
            "from middle of",
        ),
        "from": ("from", "off", "off of", "out of", "from top of"),
    }.items()
    for phrase in phrases
}  # fmt: skip
"""Prepositions without articles -> relation. Only a place where a thing stands can be told by ``from``."""

NEGATIONS = _words(
    "not never no without avoid avoiding except excepting instead rather nor neither none nothing nowhere unless but "
    "cannot dont forget skip refrain prevent fail hardly barely"
)
ORDINALS: Mapping[str, str] = {
    "topmost": "top", "uppermost": "top", "upper": "top", "highest": "top", "lowest": "bottom", "lowermost": "bottom",
    "bottommost": "bottom", "lower": "bottom", "central": "middle", "center": "middle", "rear": "back",
}  # fmt: skip
"""Attribute -> the word that names of parts use."""

ARTICLES = _words("the a an both this that these those its")
SUBJECTS = _words("i we you me us")
OBLIGING = _words("should must shall need needs has have ought")
"""Words that make an order of a statement about a thing; "has" and "have" only as verbs of their own."""
AUXILIARIES = _words("should must shall need ought could can would will")
HELPING = AUXILIARIES | _words("to is are be being")
"""Auxiliaries without a meaning of their own; not "have", which asks whether something was done."""
SILENT = _words("please kindly kind then first next now finally afterwards also and so as to be being that")
"""Words without a share in the meaning of an order."""
PRONOUNS = _words("it them")

BASES = frozenset(PLAIN) | {verb for verb, _ in WITH_PARTICLE}
PARTICLES = frozenset(particle for _, particle in WITH_PARTICLE)
LEADING = ARTICLES | BASES | SUBJECTS | OBLIGING | HELPING | SILENT | PRONOUNS | {"where", "which", "before", "after"}
"""Words behind which no "you should" is missing."""
BARE: Mapping[str, str] = {"inside": "in", "on top": "on"}
"""Adverb that is a place by itself -> relation; what it is told by was named before."""
RELATIVES = _words("which that what")

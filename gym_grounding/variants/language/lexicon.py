"""Words that instructions may use: nouns of the scenes' things and of absent ones. Function words are in ``words``.

Nouns and roles follow LIBERO's asset names and the arguments for which its predicates make sense: ``In`` needs a region
of a fixture or container, ``On`` a movable object or a region that carries, and a basket carries nothing since ``On``
would also hold for what lies inside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gym_grounding.variants.language import words as function_words


@dataclass(frozen=True, slots=True)
class PartFacts:
    """A region that things of a category carry.

    Attributes:
        names: nouns, canonical first; empty for a part that has no noun of its own, such as a stove's plate.
        supports: argument roles, as in ``Entity.supports``.
        joints: articulated joints that move it.
    """

    names: tuple[str, ...] = ()
    supports: frozenset[str] = frozenset()
    joints: int = 0


@dataclass(frozen=True, slots=True)
class Category:
    """A kind of thing in LIBERO's scenes.

    Attributes:
        names: nouns that an instruction may use, canonical first; with its attribute where one is always true of it.
        kind: ``object`` (movable), ``fixture`` or ``surface``.
        supports: argument roles, as in ``Entity.supports``.
        parts: part suffix, such as ``top_region``, -> the part.
        joints: number of articulated joints.
        hollow: whether things can be put *in* it though LIBERO has no region for that; it then reads ``On``.
    """

    names: tuple[str, ...]
    kind: str = "object"
    supports: frozenset[str] = frozenset()
    parts: Mapping[str, PartFacts] = field(default_factory=dict)
    joints: int = 0
    hollow: bool = False


_MOVABLE = frozenset({"on.subject", "on.reference", "in.subject", "lifted"})
_CARRIES = PartFacts((), frozenset({"on.reference"}))
_HOLDS = PartFacts((), frozenset({"in.reference"}))


def _movable(*names: str, hollow: bool = False) -> Category:
    return Category(names, "object", _MOVABLE, hollow=hollow)


def _drawer(name: str) -> PartFacts:
    return PartFacts((f"{name} drawer",), frozenset({"in.reference", "open", "close"}), joints=1)


def _compartment(name: str) -> PartFacts:
    return PartFacts((f"{name} compartment",), frozenset({"in.reference"}))


def _cabinet(look: str) -> Category:
    parts = {f"{name}_region": _drawer(name) for name in ("top", "middle", "bottom")}
    names = ("cabinet", "drawer", "cupboard", "chest", f"{look} cabinet")
    return Category(names, "fixture", frozenset({"open", "close"}), {**parts, "top_side": _CARRIES}, joints=3)


_CADDY = {f"{name}_contain_region": _compartment(name) for name in ("right", "left", "back", "front")}
_MICROWAVE = {"top_side": _CARRIES, "heating_region": _HOLDS}

CATEGORIES: Mapping[str, Category] = {
    "akita_black_bowl": _movable("bowl", "dish", "container", "black bowl", hollow=True),
    "alphabet_soup": _movable("alphabet soup", "soup", "can", "tin"),
    "basket": Category(
        ("basket", "container", "bin"), "object", _MOVABLE - {"on.reference"}, {"contain_region": _HOLDS}
    ),
    "bbq_sauce": _movable("bbq sauce", "barbecue sauce", "sauce", "bottle"),
    "black_book": _movable("book"),
    "butter": _movable("butter", "box", "package"),
    "chefmate_8_frypan": _movable("frying pan", "pan", "skillet", hollow=True),
    "chocolate_pudding": _movable("chocolate pudding", "pudding", "box", "package"),
    "cookies": _movable("cookie box", "cookies", "box", "package"),
    "cream_cheese": _movable("cream cheese", "cream cheese box", "cheese", "box", "package"),
    "desk_caddy": Category(
        ("caddy", "organizer", "compartment", "tray", "box", "desk caddy"), "fixture", frozenset(), _CADDY
    ),
    "flat_stove": Category(
        ("stove", "cooktop", "burner", "hob", "hot plate", "knob"),
        "fixture",
        frozenset({"turnon", "turnoff"}),
        {"cook_region": _CARRIES},
        joints=1,
    ),
    "floor": Category(("floor",), "surface"),
    "glazed_rim_porcelain_ramekin": _movable("ramekin", "bowl", "dish", "cup", hollow=True),
    "ketchup": _movable("ketchup", "bottle", "sauce"),
    "kitchen_table": Category(("table",), "surface"),
    "living_room_table": Category(("table",), "surface"),
    "microwave": Category(
        ("microwave", "oven", "door", "microwave oven"),
        "fixture",
        frozenset({"open", "close"}),
        _MICROWAVE,
        joints=1,
    ),
    "milk": _movable("milk", "carton", "box"),
    "moka_pot": _movable("moka pot", "pot", "coffee maker", "coffee pot", "kettle"),
    "orange_juice": _movable("orange juice", "juice", "carton", "box"),
    "plate": _movable("plate", "dish"),
    "porcelain_mug": _movable("mug", "cup", "white mug", "white cup", hollow=True),
    "red_coffee_mug": _movable("mug", "cup", "red mug", "red cup", hollow=True),
    "salad_dressing": _movable("salad dressing", "dressing", "bottle"),
    "study_table": Category(("table", "desk"), "surface"),
    "table": Category(("table",), "surface"),
    "tomato_sauce": _movable("tomato sauce", "sauce", "can", "tin"),
    "white_cabinet": _cabinet("white"),
    "white_yellow_mug": _movable("mug", "cup", "yellow and white mug", "yellow and white cup", hollow=True),
    "wine_bottle": _movable("wine bottle", "bottle", "wine"),
    "wine_rack": Category(("rack", "wine rack", "stand", "holder"), "fixture", frozenset(), {"top_region": _CARRIES}),
    "wooden_cabinet": _cabinet("wooden"),
}

BACKGROUND: Mapping[str, tuple[str, ...]] = {
    "libero_floor_manipulation": ("rug", "sofa"),
    "libero_kitchen_tabletop_manipulation": ("cabinet", "counter", "cupboard", "drawer", "oven", "sink"),
    "libero_living_room_tabletop_manipulation": ("painting", "picture", "screen", "sofa", "television", "tv"),
    "libero_study_tabletop_manipulation": (
        "book", "bookshelf", "cabinet", "cupboard", "painting", "plant", "shelf",
    ),
    "libero_tabletop_manipulation": (),
}  # fmt: skip
"""Class of scene -> nouns of what its arena shows beside the entities; such a thing is not absent."""

KINDS: Mapping[str, tuple[str, ...]] = {
    "apple": ("fruit",),
    "banana": ("fruit",),
    "basket": ("container", "bin", "hamper"),
    "bbq sauce": ("barbecue sauce", "sauce", "bottle"),
    "blender": ("mixer",),
    "book": ("notebook", "textbook"),
    "bottle": ("wine bottle",),
    "bowl": ("dish", "container"),
    "box": ("container", "package", "carton"),
    "bread": ("loaf",),
    "bucket": ("pail", "container"),
    "butter": ("box", "package"),
    "caddy": ("organizer", "desk caddy"),
    "candle": (),
    "chair": ("seat", "stool"),
    "cookie box": ("cookies", "box", "package"),
    "cream cheese": ("cheese", "box", "package"),
    "cup": ("mug",),
    "cutting board": ("chopping board", "board"),
    "dishwasher": (),
    "fork": ("cutlery",),
    "fridge": ("refrigerator", "icebox"),
    "frying pan": ("pan", "skillet", "frypan"),
    "glass": ("cup", "tumbler"),
    "jar": ("container",),
    "jug": ("pitcher", "container"),
    "kettle": ("pot", "teapot"),
    "knife": ("cutlery",),
    "lamp": ("light",),
    "laptop": ("computer",),
    "lemon": ("fruit",),
    "microwave": ("oven", "microwave oven"),
    "moka pot": ("pot", "kettle", "coffee maker", "coffee pot"),
    "mug": ("cup",),
    "orange": ("fruit",),
    "oven": ("microwave",),
    "pan": ("frying pan", "skillet"),
    "phone": ("telephone",),
    "pillow": ("cushion",),
    "plate": ("dish",),
    "pot": ("kettle", "moka pot", "container"),
    "radio": (),
    "ramekin": ("bowl", "dish", "cup"),
    "saucepan": ("pan", "pot"),
    "shelf": ("bookshelf",),
    "sink": ("basin",),
    "skillet": ("frying pan", "pan"),
    "spatula": ("turner",),
    "spoon": ("cutlery",),
    "sponge": (),
    "teapot": ("pot", "kettle"),
    "television": ("tv", "screen"),
    "toaster": (),
    "towel": ("cloth",),
    "toy": (),
    "tray": ("platter",),
    "vase": ("container",),
    "wine rack": ("rack", "stand", "holder"),
}
"""Noun -> other nouns for it and nouns of its kind, for things that a scene may lack. A collision's noun must share
none of these with anything present, so the kinds are narrow: what a person could point at with that noun."""

VAGUE = frozenset({"box", "container", "dish", "package", "pot"})
"""Nouns that never tell by themselves which thing is meant."""
LOOSE = frozenset({"chest", "holder", "kettle", "knob", "oven", "stand", "tray"})
"""Nouns that some scene's thing may be called by, but that fit other things as well: no good as the only name."""
PACKAGING = frozenset({
    "block", "bottle", "box", "can", "carton", "jar", "pack", "package", "packet", "stick", "tin", "tub",
})  # fmt: skip
"""Nouns that name a thing together with its content: "carton of milk", "milk carton"."""
PARTS: Mapping[str, str] = {"drawer": "cabinet", "compartment": "caddy"}
"""Noun of a part -> noun of what carries it. A part's own word ("top") is its attribute."""
DOORS = frozenset({"microwave"})
"""Things that are opened and closed by a door, which may be named in their place: "the door of the microwave"."""
SURFACES = frozenset({"table", "desk", "floor", "tabletop"})


def kinds_of(noun: str) -> frozenset[str]:
    """The noun, its synonyms and its kinds, over categories and ``KINDS``."""
    found = {noun, *KINDS.get(noun, ())}
    for category in CATEGORIES.values():
        if category.names[0] == noun:
            found.update(category.names)
    return frozenset(found)


def nouns() -> frozenset[str]:
    """Every noun that the lexicon knows, in the singular."""
    named = {name for category in CATEGORIES.values() for name in category.names}
    parts = {name for category in CATEGORIES.values() for part in category.parts.values() for name in part.names}
    kinds = set(KINDS) | {name for names in KINDS.values() for name in names}
    shown = {name for names in BACKGROUND.values() for name in names}
    return frozenset(named | parts | kinds | shown | PACKAGING | set(PARTS) | SURFACES | {"door"})


def words() -> frozenset[str]:
    """Every word that has a meaning to the parser, single words of its longer entries included."""
    entries = nouns() | function_words.entries()
    return frozenset(word for entry in entries for word in entry.split())

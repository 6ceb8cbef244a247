"""What the lexicon's things can do and look like: what a collision about an action or a colour rests on."""

from __future__ import annotations

from collections.abc import Mapping

_BOTTLES = frozenset({"bbq_sauce", "ketchup", "salad_dressing", "wine_bottle"})
_PACKAGES = frozenset({
    "alphabet_soup", "butter", "chocolate_pudding", "cookies", "cream_cheese", "milk", "orange_juice", "tomato_sauce",
})  # fmt: skip
_OPENS = _BOTTLES | _PACKAGES | {"black_book", "microwave", "moka_pot", "white_cabinet", "wooden_cabinet"}
_TURNS = frozenset({"flat_stove", "microwave"})

CAN_BE: Mapping[str, frozenset[str]] = {
    "open": _OPENS,
    "close": _OPENS,
    "turn on": _TURNS,
    "turn off": _TURNS,
}
"""Action -> categories of which it can be asked for in life, whether or not LIBERO has a joint for it: a microwave can
be turned on, a bottle opened. Only what is left out here cannot do it: a flat stove has no door, a drawer no switch."""

COLOURS: Mapping[str, frozenset[str]] = {
    "akita_black_bowl": frozenset({"black", "white", "yellow"}),
    "glazed_rim_porcelain_ramekin": frozenset({"white"}),
    "plate": frozenset({"red", "white"}),
    "porcelain_mug": frozenset({"white"}),
    "red_coffee_mug": frozenset({"red", "white"}),
    "white_yellow_mug": frozenset({"white", "yellow"}),
}
"""Category -> colours of its texture, ornament included: a thin yellow line runs round the black bowl, red rings round
the plate. Of categories left out nothing is known."""

COLOUR_WORDS = frozenset({
    "black", "blue", "brown", "golden", "green", "grey", "orange", "pink", "purple", "red", "silver", "white", "yellow",
})  # fmt: skip
TAKEN_FOR: Mapping[str, frozenset[str]] = {
    "brown": frozenset({"black", "orange", "red"}),
    "golden": frozenset({"orange", "yellow"}),
    "grey": frozenset({"black", "silver", "white"}),
    "orange": frozenset({"brown", "red", "yellow"}),
    "pink": frozenset({"purple", "red", "white"}),
    "purple": frozenset({"blue", "pink"}),
    "silver": frozenset({"grey", "white"}),
}
"""Colour -> colours that some people would give that name, so that a thing which shows one of them is no clear no."""
ORDINALS: Mapping[str, int] = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7,
}  # fmt: skip
"""Attribute -> how many of a kind there must be for one to have it."""

"""Small scenes for tests of the language: LIBERO's things as the lexicon knows them, without LIBERO's files."""

from __future__ import annotations

from gym_grounding.types import Entity, SceneFacts
from gym_grounding.variants.language.lexicon import CATEGORIES


def scene(problem: str, surface: str, things: str, zones: str = "", **further: str) -> SceneFacts:
    """A scene of instances (``plate_1 plate_2``), its surface, goal-grade zones, and further names by instance."""
    entities: dict[str, Entity] = {}
    for name in (*things.split(), surface):
        stem = name if name in CATEGORIES else name.rpartition("_")[0]
        category = CATEGORIES["table" if name == "main_table" else stem]
        names = (*category.names, *([further[name]] if name in further else []))
        entities[name] = Entity(name, stem, category.kind, category.joints, category.supports, names)
        for suffix, part in category.parts.items():
            site = f"{name}_{suffix}"
            entities[site] = Entity(site, name, "site", part.joints, part.supports, part.names)
    for zone in zones.split():
        entities[f"{surface}_{zone}"] = Entity(
            f"{surface}_{zone}", surface, "zone", supports=frozenset({"on.reference"})
        )
    return SceneFacts("of-a-test", "libero", f"libero_{problem}_manipulation", entities)


SCENES = {
    "goal": scene(
        "tabletop",
        "main_table",
        "akita_black_bowl_1 cream_cheese_1 wine_bottle_1 plate_1 wooden_cabinet_1 flat_stove_1 wine_rack_1",
        "stove_front_region",
    ),
    "bowls": scene(
        "tabletop",
        "main_table",
        "akita_black_bowl_1 akita_black_bowl_2 cookies_1 glazed_rim_porcelain_ramekin_1 plate_1 wooden_cabinet_1"
        " flat_stove_1",
    ),
    "basket": scene(
        "floor", "floor", "alphabet_soup_1 basket_1 salad_dressing_1 cream_cheese_1 milk_1 tomato_sauce_1 butter_1"
    ),
    "stove": scene("kitchen_tabletop", "kitchen_table", "chefmate_8_frypan_1 moka_pot_1 flat_stove_1"),
    "pots": scene(
        "kitchen_tabletop",
        "kitchen_table",
        "moka_pot_1 moka_pot_2 flat_stove_1",
        moka_pot_1="right moka pot",
        moka_pot_2="left moka pot",
    ),
    "cabinet": scene(
        "kitchen_tabletop", "kitchen_table", "akita_black_bowl_1 wine_bottle_1 white_cabinet_1 wine_rack_1"
    ),
    "mugs": scene(
        "living_room_tabletop",
        "living_room_table",
        "porcelain_mug_1 red_coffee_mug_1 white_yellow_mug_1 plate_1 plate_2",
        plate_1="left plate",
        plate_2="right plate",
    ),
    "pudding": scene(
        "living_room_tabletop",
        "living_room_table",
        "porcelain_mug_1 red_coffee_mug_1 plate_1 chocolate_pudding_1",
        "plate_left_region plate_right_region",
    ),
    "caddy": scene(
        "study_tabletop",
        "study_table",
        "black_book_1 white_yellow_mug_1 desk_caddy_1",
        "desk_caddy_right_region",
    ),
    "microwave": scene(
        "kitchen_tabletop",
        "kitchen_table",
        "porcelain_mug_1 white_yellow_mug_1 microwave_1",
        "porcelain_mug_front_region",
    ),
}

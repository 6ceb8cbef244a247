"""The parser: what each construct says, what stays open, and what no text can do to it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from variants.language_scenes import SCENES

from gym_grounding.variants.language import lexicon, words
from gym_grounding.variants.language.parser import MAX_WORDS, normal_form, parse


def said(text, scene):
    """A sentence as (action, objects, relation, target) per clause, things by their names in the scene."""
    found = parse(text, SCENES[scene])
    assert found.text == text
    assert found.unresolved == ()
    assert not found.negated
    return [
        (clause.action, tuple(map(_name, clause.objects)), clause.relation, clause.target and _name(clause.target))
        for clause in found.clauses
    ]


def _name(phrase):
    """Names of the entities without the number of a single instance, or the noun of what is absent."""
    return "+".join(sorted(phrase.entities)) or f"no {phrase.noun}"


BOWL, CHEESE, WINE, PLATE = "akita_black_bowl_1", "cream_cheese_1", "wine_bottle_1", "plate_1"
CABINET, STOVE, RACK = "wooden_cabinet_1", "flat_stove_1", "wine_rack_1"
TOP, MIDDLE, BOTTOM = (f"wooden_cabinet_1_{part}_region" for part in ("top", "middle", "bottom"))
LOW = "white_cabinet_1_bottom_region"
SOUP, SAUCE, MUG, MUG2 = "alphabet_soup_1", "tomato_sauce_1", "porcelain_mug_1", "white_yellow_mug_1"
BOWLS = "akita_black_bowl_1+akita_black_bowl_2"


def put(thing, relation, target, action="put"):
    return (action, (thing,), relation, target)


def do(action, thing):
    return (action, (thing,), None, None)


ON_STOVE = [put(BOWL, "on", STOVE)]
OPEN_AND_PUT = [do("open", TOP), put(BOWL, "in", TOP)]
PUT_AND_CLOSE = [put(BOWL, "in", LOW), do("close", LOW)]
HEAT = [do("turn on", STOVE), put("moka_pot_1", "on", STOVE)]
TWO_MUGS = [put(MUG, "on", PLATE), put(MUG2, "on", "plate_2")]
BOTH = [("put", (SOUP, SAUCE), "in", "basket_1")]

CONSTRUCTS = [
    # an order, its verbs and particles
    ("put the bowl on the stove", "goal", ON_STOVE),
    ("set the bowl down on the stove", "goal", ON_STOVE),
    ("set down the bowl on the stove", "goal", ON_STOVE),
    ("turn on the stove", "goal", [do("turn on", STOVE)]),
    ("switch the stove off", "goal", [do("turn off", STOVE)]),
    ("shut down the cooktop", "goal", [do("turn off", STOVE)]),
    ("slide the middle drawer of the cabinet open", "goal", [do("open", MIDDLE)]),
    ("push the top drawer shut", "goal", [do("close", TOP)]),
    ("get the stove turned on", "goal", [do("turn on", STOVE)]),
    ("pick the bowl up", "goal", [do("pick up", BOWL)]),
    ("push the plate to the front of the stove", "goal", [put(PLATE, "front", STOVE, "push")]),
    ("push the plate until it is in front of the stove", "goal", [put(PLATE, "front", STOVE, "push")]),
    ("move the plate across the table to the front of the stove", "goal", [put(PLATE, "front", STOVE, "move")]),
    # relations
    ("put the bowl to the right of the plate", "goal", [put(BOWL, "right", PLATE)]),
    ("put the bowl on the left of the plate", "goal", [put(BOWL, "left", PLATE)]),
    ("put the bowl behind the plate", "goal", [put(BOWL, "behind", PLATE)]),
    ("put the bowl beside the plate", "goal", [put(BOWL, "next to", PLATE)]),
    ("put the bowl underneath the stove", "goal", [put(BOWL, "under", STOVE)]),
    ("take the bowl off the stove", "goal", [put(BOWL, "off", STOVE, "pick up")]),
    ("take the cream cheese out of the bowl", "goal", [put(CHEESE, "out of", BOWL, "pick up")]),
    ("push the plate away from the stove", "goal", [put(PLATE, "away from", STOVE, "push")]),
    # two steps that are one
    ("pick up the bowl and place it on the stove", "goal", ON_STOVE),
    ("take the bowl then set it down on the stove", "goal", ON_STOVE),
    ("take the bowl and leave it on the stove", "goal", ON_STOVE),
    ("place the bowl on the stove after picking it up", "goal", ON_STOVE),
    ("once you have picked up the bowl place it on the stove", "goal", ON_STOVE),
    ("the bowl should be picked up and placed on the stove", "goal", ON_STOVE),
    # requests
    ("could you put the bowl on the stove", "goal", ON_STOVE),
    ("please put the bowl on the stove for me", "goal", ON_STOVE),
    ("i want you to put the bowl on the stove", "goal", ON_STOVE),
    ("would you mind putting the bowl on the stove", "goal", ON_STOVE),
    ("Could you, please, put the bowl on the stove?", "goal", ON_STOVE),
    # passives and needs
    ("the bowl should be placed on the stove", "goal", ON_STOVE),
    ("the bowl needs to be put on the stove", "goal", ON_STOVE),
    ("the bowl should go on the stove", "goal", ON_STOVE),
    ("the bowl belongs on the stove", "goal", ON_STOVE),
    ("i need the bowl on the stove", "goal", ON_STOVE),
    ("make sure the bowl ends up on the stove", "goal", ON_STOVE),
    ("the stove should have the bowl on it", "goal", ON_STOVE),
    ("the middle drawer of the cabinet has to be opened", "goal", [do("open", MIDDLE)]),
    ("i want the stove on", "goal", [do("turn on", STOVE)]),
    ("make sure that the stove is switched on", "goal", [do("turn on", STOVE)]),
    # fronting and clefts
    ("onto the stove move the bowl", "goal", [put(BOWL, "on", STOVE, "move")]),
    ("into the bowl goes the cream cheese", "goal", [put(CHEESE, "in", BOWL)]),
    ("on the cabinet open the middle drawer", "goal", [do("open", MIDDLE)]),
    ("the rack is where the wine bottle belongs", "goal", [put(WINE, "on", RACK)]),
    ("the basket is where the milk should go", "basket", [put("milk_1", "in", "basket_1")]),
    ("on top of the cabinet is where i want the bowl", "goal", [put(BOWL, "on", CABINET)]),
    ("the top of the cabinet is where the bowl should be placed", "goal", [put(BOWL, "on", CABINET)]),
    ("in front of the stove is where you should push the plate", "goal", [put(PLATE, "front", STOVE, "push")]),
    ("the stove is what you should turn on", "goal", [do("turn on", STOVE)]),
    ("it is the bowl that should go on the stove", "goal", ON_STOVE),
    # sequences, in the order in which things are to be done
    ("open the top drawer and put the bowl inside", "goal", OPEN_AND_PUT),
    ("first open the top drawer then put the bowl in it", "goal", OPEN_AND_PUT),
    ("once the top drawer is open put the bowl in it", "goal", OPEN_AND_PUT),
    ("put the bowl inside once the top drawer is open", "goal", OPEN_AND_PUT),
    ("put the bowl in the top drawer after opening it", "goal", OPEN_AND_PUT),
    ("open the top drawer before putting the bowl inside", "goal", OPEN_AND_PUT),
    ("before putting the bowl in the top drawer open it", "goal", OPEN_AND_PUT),
    ("the bowl should go into the top drawer which you need to open first", "goal", OPEN_AND_PUT),
    ("the top drawer should be opened and the bowl placed inside", "goal", OPEN_AND_PUT),
    ("open the top drawer then take the bowl and put it inside", "goal", OPEN_AND_PUT),
    ("open the top drawer and put the bowl in the drawer", "goal", OPEN_AND_PUT),
    ("put the black bowl in the bottom drawer of the cabinet and close it", "cabinet", PUT_AND_CLOSE),
    ("close the bottom drawer of the cabinet after putting the black bowl in it", "cabinet", PUT_AND_CLOSE),
    ("put the black bowl in the bottom drawer of the cabinet which should then be closed", "cabinet", PUT_AND_CLOSE),
    ("put the black bowl in the bottom drawer of the cabinet and close it afterwards", "cabinet", PUT_AND_CLOSE),
    ("turn on the stove and put the moka pot on it", "stove", HEAT),
    ("put the moka pot on the stove which you need to turn on first", "stove", HEAT),
    ("close the microwave then open its door", "microwave", [do("close", "microwave_1"), do("open", "microwave_1")]),
    # two things
    ("put both the alphabet soup and the tomato sauce in the basket", "basket", BOTH),
    ("take the alphabet soup and the tomato sauce and put them both in the basket", "basket", BOTH),
    ("put the alphabet soup in the basket along with the tomato sauce", "basket", BOTH),
    (
        "put the alphabet soup in the basket and the tomato sauce too",
        "basket",
        [put(SOUP, "in", "basket_1"), put(SAUCE, "in", "basket_1")],
    ),
    ("put both moka pots on the stove", "pots", [put("moka_pot_1+moka_pot_2", "on", STOVE)]),
    ("put the left moka pot on the stove", "pots", [put("moka_pot_2", "on", STOVE)]),
    ("put the white mug on the left plate and put the yellow and white mug on the right plate", "mugs", TWO_MUGS),
    ("put the white mug on the left plate and the white and yellow mug on the right plate", "mugs", TWO_MUGS),
    ("put the white cup on the plate on the left and the yellow and white cup on the right plate", "mugs", TWO_MUGS),
    # nouns
    ("open the drawer in the middle of the cabinet", "goal", [do("open", MIDDLE)]),
    ("open the cupboard's lowest drawer", "goal", [do("open", BOTTOM)]),
    ("open the top cabinet drawer", "goal", [do("open", TOP)]),
    ("put the bottle of wine on the wine rack", "goal", [put(WINE, "on", RACK)]),
    ("put the box of cream cheese in the bowl", "goal", [put(CHEESE, "in", BOWL)]),
    ("put the milk carton in the basket", "basket", [put("milk_1", "in", "basket_1")]),
    ("put the can of alphabet soup in the basket", "basket", [put(SOUP, "in", "basket_1")]),
    ("put the bowl that is black on the stove", "goal", ON_STOVE),
    ("push the plate to the stove's front", "goal", [put(PLATE, "front", STOVE, "push")]),
    ("put the book in the compartment at the back of the caddy", "caddy", [
        put("black_book_1", "in", "desk_caddy_1_back_contain_region")
    ]),
    ("close the door of the microwave", "microwave", [do("close", "microwave_1")]),
    # what the scene lacks is no riddle
    ("put the frying pan on the stove", "goal", [put("no frying pan", "on", STOVE)]),
    ("put the skillet on the stove", "goal", [put("no frying pan", "on", STOVE)]),
    ("put the red bowl on the tray", "goal", [put("no bowl", "on", "no tray")]),
    ("open the fourth drawer and put the bowl inside", "goal", [do("open", "no drawer"), put(BOWL, "in", "no drawer")]),
    ("put the black bowl in the basket and close it",
     "cabinet", [put(BOWL, "in", "no basket"), do("close", "no basket")]),
    ("open the stove", "goal", [do("open", STOVE)]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "scene", "expected"), CONSTRUCTS, ids=[text for text, _, _ in CONSTRUCTS])
def test_construct(text, scene, expected):
    assert said(text, scene) == expected


REFERENCES = [
    ("pick up the black bowl next to the plate and place it on the stove", "next to", [PLATE]),
    ("place the black bowl that sits beside the plate on the stove", "next to", [PLATE]),
    (
        "put the black bowl between the plate and the ramekin on the stove",
        "between",
        [PLATE, "glazed_rim_porcelain_ramekin_1"],
    ),
    ("pick up the black bowl on the cookie box and place it on the stove", "on", ["cookies_1"]),
    ("pick up the black bowl from the box of cookies and place it on the stove", "on", ["cookies_1"]),
    ("pick up the black bowl in the top drawer of the wooden cabinet and place it on the stove", "in", [TOP]),
    ("take the black bowl out of the top drawer of the wooden cabinet and place it on the stove", "in", [TOP]),
    ("from the top drawer of the wooden cabinet pick up the black bowl and place it on the stove", "in", [TOP]),
    ("pick up the black bowl from table center and place it on the stove", "center", ["main_table"]),
    ("the black bowl in the middle of the table should be placed on the stove", "center", ["main_table"]),
    ("the stove is where the black bowl to the right of the plate belongs", "right", [PLATE]),
    ("pick up the black bowl under the plate and place it on the stove", "under", [PLATE]),
]


@pytest.mark.parametrize(("text", "relation", "neighbours"), REFERENCES, ids=[text for text, _, _ in REFERENCES])
def test_place_that_tells_which_thing_is_meant(text, relation, neighbours):
    assert said(text, "bowls") == [put(BOWLS, "on", STOVE)]
    phrase = parse(text, SCENES["bowls"]).clauses[0].objects[0]
    assert (phrase.noun, phrase.attribute) == ("bowl", "black")
    assert phrase.reference[0] == relation
    assert [name for other in phrase.reference[1] for name in other.entities] == neighbours


OPEN = [
    ("put it on the stove", "goal", ("it",)),
    ("put something on the stove", "goal", ("something",)),
    ("put the bottle there", "goal", ("there",)),
    ("open the drawer of the cabinet", "goal", ("drawer of the cabinet",)),
    ("put the bowl inside", "goal", ("inside",)),
    ("put the bowl on the plate and put it on the stove", "goal", ("it",)),
    ("put the black bowl on the plate", "bowls", ("black bowl",)),
    ("put the moka pot on the stove", "pots", ("moka pot",)),
    ("put both plates on the stove", "goal", ("plates",)),
    ("put the dish on the stove", "goal", ("dish",)),
    ("put the container on the stove", "goal", ("container",)),
    ("put the box in the bowl", "goal", ("box",)),
    ("put the pot on the stove", "stove", ("pot",)),
    ("put the can in the basket", "basket", ("can",)),
    ("close the oven", "microwave", ("oven",)),
    ("close the door", "microwave", ("close the door",)),
    ("open the bottom drawer of the cupboard", "cabinet", ("cupboard",)),
    ("put the mug in the door of the microwave", "microwave", ("mug", "door of the microwave")),
    ("the cabinet is where the bowl belongs", "goal", ("cabinet",)),
    ("leave the bowl on the stove", "goal", ("leave",)),
    ("get the bowl on the stove", "goal", ("get the bowl on the stove",)),
    ("carefully put the bowl on the stove", "goal", ("carefully",)),
    ("put the zebra on the stove", "goal", ("zebra",)),
    ("turn on the stove and put the moka pot on them", "stove", ("them",)),
    ("the bowl should go into the top drawer which you need to open", "goal",
     ("the bowl should go into the top drawer which you need to open",)),
    ("put the ramekin on the plate and the black bowl next to the ramekin", "bowls", ("black bowl",)),
    ("put the bowl on the stove or the plate", "goal", ("or",)),
    ("put the bowl on the right side of the plate", "goal", ("put the bowl on the right side of the plate",)),
    ("move the bowl", "goal", ("move the bowl",)),
    ("bowl stove", "goal", ("bowl stove",)),
    ("the bowl is on the stove", "goal", ("the bowl is on the stove",)),
    ("put the bowl on the stove 2", "goal", ("2",)),
    ("", "goal", ("",)),
]  # fmt: skip


@pytest.mark.parametrize(("text", "scene", "unresolved"), OPEN, ids=[text or "empty" for text, _, _ in OPEN])
def test_what_stays_open(text, scene, unresolved):
    assert parse(text, SCENES[scene]).unresolved == unresolved


NEGATED = [
    "do not put the bowl on the stove",
    "don't put the bowl on the stove",
    "never put the bowl on the stove",
    "please do not put the bowl on the stove",
    "the bowl must never be put on the stove",
    "the bowl should not be put on the stove",
    "the bowl shouldn\N{RIGHT SINGLE QUOTATION MARK}t be put on the stove",
]


@pytest.mark.parametrize("text", NEGATED)
def test_a_negated_sentence_says_what_it_forbids(text):
    found = parse(text, SCENES["goal"])
    assert found.negated
    assert found.clauses == parse("put the bowl on the stove", SCENES["goal"]).clauses


@pytest.mark.parametrize(
    "text",
    [
        "avoid putting the bowl on the stove",
        "without opening the top drawer put the bowl inside",
        "put everything except the bowl on the stove",
        "put the bowl on the plate instead of the stove",
        "put the bowl anywhere but not on the stove",
    ],
)
def test_other_denials_are_negated_and_open(text):
    found = parse(text, SCENES["goal"])
    assert found.negated
    assert found.unresolved


def test_phrases_keep_the_words_of_the_sentence():
    clause = parse("could you pick up the black bowl and set it atop the cupboard", SCENES["goal"]).clauses[0]
    assert (clause.verbs, clause.preposition) == (("pick up", "set"), "atop")
    assert (clause.objects[0].text, clause.objects[0].noun, clause.objects[0].attribute) == (
        "black bowl",
        "bowl",
        "black",
    )
    assert (clause.target.text, clause.target.noun) == ("cupboard", "cabinet")


def test_an_absent_thing_keeps_noun_and_attribute():
    clause = parse("put the green mug on the fourth drawer of the cabinet", SCENES["goal"]).clauses[0]
    mug, drawer = clause.objects[0], clause.target
    assert (mug.noun, mug.attribute, mug.entities) == ("mug", "green", frozenset())
    assert (drawer.noun, drawer.attribute, drawer.entities) == ("drawer", "fourth", frozenset())
    assert drawer.reference[1][0].entities == {CABINET}


def test_an_attribute_that_nothing_has_is_not_overlooked():
    clause = parse("put the small bowl on the stove", SCENES["goal"]).clauses[0]
    assert (clause.objects[0].attribute, clause.objects[0].entities) == ("small", frozenset())


def test_on_top_of_an_open_drawer_is_the_top_of_its_cabinet():
    clause = parse("open the top drawer and put the bowl on top", SCENES["goal"]).clauses[1]
    assert (clause.relation, clause.target.entities) == ("on", {"wooden_cabinet_1_top_side"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Open the Cabinet's middle drawer!", "open the middle drawer of the cabinet"),
        ("put it on the cabinet's top surface.", "put it on the top surface of the cabinet"),
        ("don't, it's hot", "do not it is hot"),
        (
            "push the plate to  the stove\N{RIGHT SINGLE QUOTATION MARK}s front",
            "push the plate to the front of the stove",
        ),
    ],
)
def test_normal_form(text, expected):
    assert " ".join(normal_form(text)) == expected


WORDS = sorted(lexicon.words())
SENTENCES = sorted({(text, scene) for text, scene, _ in CONSTRUCTS})


@given(
    st.text(max_size=120) | st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join), st.sampled_from(sorted(SCENES))
)
@settings(max_examples=150)
def test_no_text_breaks_it(text, scene):
    found = parse(text, SCENES[scene])
    assert found.text == text
    assert found.clauses or found.unresolved or found.negated


def test_a_text_too_long_to_be_an_instruction_is_not_read():
    text = "put the bowl on the stove and " * (MAX_WORDS // 7 + 1) + "put the bowl on the plate"
    assert parse(text, SCENES["goal"]).unresolved == (text,)


@given(st.sampled_from(SENTENCES), st.text(alphabet="bcdfghjklmnpqrstvwxyz", min_size=4, max_size=9), st.data())
@settings(max_examples=150)
def test_an_unknown_word_anywhere_is_reported(sentence, word, data):
    if word in lexicon.words():
        return
    text, scene = sentence
    at = data.draw(st.integers(0, len(text.split())))
    parts = text.split()
    found = parse(" ".join([*parts[:at], word, *parts[at:]]), SCENES[scene])
    assert any(word in open_word for open_word in found.unresolved)


@given(st.sampled_from(SENTENCES), st.data())
@settings(max_examples=150)
def test_not_anywhere_turns_the_sentence_round(sentence, data):
    text, scene = sentence
    assert not parse(text, SCENES[scene]).negated
    at = data.draw(st.integers(0, len(text.split())))
    parts = text.split()
    assert parse(" ".join([*parts[:at], "not", *parts[at:]]), SCENES[scene]).negated


@given(st.sampled_from(SENTENCES), st.sampled_from(words.NEGATIONS))
@settings(max_examples=60)
def test_every_negation_in_front_is_heard(sentence, negation):
    text, scene = sentence
    assert parse(f"{negation} {text}", SCENES[scene]).negated


@given(st.sampled_from(SENTENCES))
@settings(max_examples=60)
def test_case_spacing_and_a_final_stop_mean_nothing(sentence):
    text, scene = sentence
    odd = f"  {text.upper().replace(' ', '   ')}. "
    assert parse(odd, SCENES[scene]).clauses == parse(text, SCENES[scene]).clauses

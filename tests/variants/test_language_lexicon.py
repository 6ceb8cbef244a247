"""The lexicon agrees with itself, and with what LIBERO's predicates can take."""

import pytest
from variants.language_scenes import SCENES

from gym_grounding.variants.language import lexicon, words
from gym_grounding.variants.language.parser import parse

ROLES = {"on.subject", "on.reference", "in.subject", "in.reference", "open", "close", "turnon", "turnoff", "lifted"}


@pytest.mark.parametrize("name", sorted(lexicon.CATEGORIES))
def test_category(name):
    category = lexicon.CATEGORIES[name]
    assert category.names
    assert len(set(category.names)) == len(category.names)
    assert category.kind in ("object", "fixture", "surface")
    roles = category.supports.union(*(part.supports for part in category.parts.values()))
    assert roles <= ROLES
    assert (category.kind == "object") is ("lifted" in category.supports)
    assert category.names[0] not in lexicon.VAGUE | lexicon.LOOSE
    for part in category.parts.values():
        assert all(part_name.split()[-1] in lexicon.PARTS for part_name in part.names)
        assert (part.joints > 0) is ("open" in part.supports)


def test_a_basket_carries_nothing_on_it():
    assert "on.reference" not in lexicon.CATEGORIES["basket"].supports
    assert lexicon.CATEGORIES["basket"].parts["contain_region"].supports == {"in.reference"}


def test_every_noun_is_lower_case_words():
    for noun in lexicon.nouns() | words.entries():
        assert noun == " ".join(word for word in noun.split() if word.isalpha() and word.islower())


def test_kinds_are_of_what_is_named():
    assert lexicon.kinds_of("microwave") >= {"microwave", "oven"}
    assert lexicon.kinds_of("frying pan") >= {"frying pan", "pan", "skillet"}
    assert "cup" in lexicon.kinds_of("mug")
    assert lexicon.kinds_of("zebra") == {"zebra"}
    assert all(noun not in kinds for noun, kinds in lexicon.KINDS.items())


def test_spellings_belong_to_one_class():
    for table in (words.RELATIONS, words.ATTRIBUTES, words.BARE):
        spellings = [spelling for found in table.values() for spelling in found]
        assert len(spellings) == len(set(spellings))


def test_verbs_of_joints_and_of_places_do_not_share_a_form():
    forms = {
        group: {(verb.base, verb.particle) for action in actions for verb in words.VERBS[action]}
        for group, actions in (("placing", words.PLACING), ("switching", words.SWITCHING))
    }
    assert not forms["placing"] & forms["switching"]


@pytest.mark.parametrize("scene", sorted(SCENES))
def test_every_canonical_noun_names_its_thing(scene):
    for entity in SCENES[scene].of_kind("object", "fixture"):
        twins = [other for other in SCENES[scene].entities.values() if other.names[:1] == entity.names[:1]]
        found = parse(f"put the {entity.names[0]} on the table", SCENES[scene])
        if len(twins) == 1 and not any(
            entity.names[0] in other.names for other in SCENES[scene].entities.values() if other is not entity
        ):
            assert found.unresolved == ()
            assert found.clauses[0].objects[0].entities == {entity.name}
        else:
            assert found.unresolved


@pytest.mark.parametrize(
    "verb",
    sorted({verb.base for action in words.PLACING for verb in words.VERBS[action]} - {"get", "leave", "pull", "drag"}),
)
def test_every_placing_verb_works(verb):
    found = parse(f"{verb} the bowl on top of the plate", SCENES["goal"])
    assert found.unresolved == ()
    assert found.clauses[0].action in words.PLACING

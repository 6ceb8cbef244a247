"""Paraphrases by rule: what is proposed."""

import dataclasses
import re
from collections import Counter

import pytest

from gym_grounding.types import Entity, SceneFacts
from gym_grounding.variants import definitions
from gym_grounding.variants.proposers import ASKED, ProposalRequest, paraphrases
from gym_grounding.variants.proposers import _paraphrase_frames as frames

DEFINED = definitions.load()
VERBS = {form: verb for verb, forms in frames.VERBS.items() for form in forms}
PARTICLES = {"up", "on", "open"}
"""Words that go with a verb: "pick up", "turn on", "pull open"."""


def proposed(task_id, **changed):
    request = ProposalRequest(DEFINED.task(task_id), DEFINED.scene_of(task_id), "paraphrase")
    return paraphrases.propose(dataclasses.replace(request, **changed))


ALL = {task_id: proposed(task_id) for task_id in DEFINED.tasks}
EACH = [pytest.param(one, id=one.instruction) for rows in ALL.values() for one in rows]


def canonical(proposal):
    return DEFINED.task(proposal.task).instruction


def of_kind(kind):
    return [one for rows in ALL.values() for one in rows if one.kind == kind]


@pytest.mark.parametrize("task_id", DEFINED.tasks)
def test_each_task_has_sentences_of_each_kind_in_order(task_id):
    counts = Counter(one.kind for one in ALL[task_id])
    assert tuple(counts) == ("verb_synonym", "request", "passive", "reordering", "noun_synonym") == paraphrases.KINDS
    assert max(counts.values()) <= ASKED
    texts = [one.instruction for one in ALL[task_id]]
    assert len(set(texts)) == len(texts)
    assert DEFINED.task(task_id).instruction not in texts
    assert {(one.task, one.condition, one.slot, one.goal, one.changed, one.source) for one in ALL[task_id]} == {
        (task_id, "paraphrase", None, None, None, "rules/1")
    }


@pytest.mark.parametrize("task_id", DEFINED.tasks)
def test_a_frame_writes_its_canonical_text_again(task_id):
    text = DEFINED.task(task_id).instruction
    frame, phrases = paraphrases.frame_of(text)
    assert frame.order.format(**phrases) == text
    assert frame.gerund.format(**phrases) != text


@pytest.mark.parametrize("frame", frames.FRAMES, ids=lambda frame: frame.name)
def test_every_frame_is_some_task_s(frame):
    assert any(paraphrases.frame_of(task.instruction)[0] is frame for task in DEFINED.tasks.values())


@pytest.mark.parametrize("text", ["sing a song", "put the bowl", "please put the bowl on the stove", ""])
def test_other_instructions_get_nothing(text):
    task = dataclasses.replace(DEFINED.task("LiberoGoal-T1"), instruction=text)
    assert paraphrases.propose(ProposalRequest(task, DEFINED.scene_of(task.id), "paraphrase")) == ()


@pytest.mark.parametrize("proposal", EACH)
def test_the_written_form(proposal):
    assert re.fullmatch(r"[a-z]+( [a-z]+){2,39}", proposal.instruction)
    assert " a " not in f" {proposal.instruction} "


@pytest.mark.parametrize("proposal", [pytest.param(one, id=one.instruction) for one in of_kind("verb_synonym")])
def test_verb_synonyms_change_verbs_and_nothing_else(proposal):
    def rest(text):
        return [word for word in text.split() if word not in VERBS and word not in PARTICLES]

    def verbs(text):
        return [VERBS[word] for word in text.split() if word in VERBS]

    assert rest(proposal.instruction) == rest(canonical(proposal))
    assert verbs(proposal.instruction) != verbs(canonical(proposal))
    assert proposal.also == ()


@pytest.mark.parametrize("proposal", [pytest.param(one, id=one.instruction) for one in of_kind("request")])
def test_requests_keep_every_word(proposal):
    asking = re.match(
        r"(would you mind|i would like you to|would you be so kind as to|i need you to) ", proposal.instruction
    )
    words = [VERBS.get(word, word) for word in proposal.instruction[asking.end() :].split()]
    assert words == [VERBS.get(word, word) for word in canonical(proposal).split()]
    assert ("mind" in asking[0]) == any(word.endswith("ing") for word in proposal.instruction.split() if word in VERBS)
    assert proposal.also == ()


@pytest.mark.parametrize("proposal", [pytest.param(one, id=one.instruction) for one in of_kind("passive")])
def test_passives_say_what_should_be(proposal):
    assert re.search(r" (should|needs? to) be ", proposal.instruction)
    need = " to be " in proposal.instruction
    assert proposal.also[:1] == ("need_statement",) if need else "need_statement" not in proposal.also
    plural = proposal.instruction.startswith("both ")
    assert not re.search(r" needs " if plural else r" need ", proposal.instruction)


@pytest.mark.parametrize("proposal", [pytest.param(one, id=one.instruction) for one in of_kind("reordering")])
def test_reorderings_name_how(proposal):
    marks = {
        "two_step": r"^(first |open |turn on )?.*\b(take|grab|lift)\b.*\b(it|them)\b",
        "fronting": r"^(on|onto|into|to)\b",
        "relative_clause": r" (is where|is what|that is) ",
        "adverbial_clause": r"^after \w+ing ",
    }
    assert re.search(marks[proposal.also[0]], proposal.instruction)


@pytest.mark.parametrize("proposal", [pytest.param(one, id=one.instruction) for one in of_kind("noun_synonym")])
def test_noun_synonyms_exchange_a_noun_or_say_of(proposal):
    text, original = proposal.instruction, canonical(proposal)
    assert [VERBS[word] for word in text.split() if word in VERBS] == [
        VERBS[word] for word in original.split() if word in VERBS
    ]
    if proposal.also[:1] == ("of_phrase",):
        assert text.split().count("of") > original.split().count("of") or " at the " in text
    else:
        back = text
        for noun in paraphrases._nouns(original):
            for other in sorted(frames.SYNONYMS[noun], key=len, reverse=True):
                back = re.sub(rf"\b{other}(s?)\b", rf"{noun}\1", back)
        assert back == original
        assert text != original


def test_a_synonym_fits_one_thing_only():
    """What fits two things of a scene, or something in its background, is not used."""
    texts = {task_id: " ".join(one.instruction for one in rows) for task_id, rows in ALL.items()}
    assert "carton of milk" in texts["LiberoObject-T7"]
    assert " can " not in re.sub("can of (alphabet soup|tomato sauce)", "", texts["LiberoObject-T0"])
    assert "cupboard" in texts["LiberoGoal-T0"]
    assert "cupboard" not in texts["LiberoLong-T3"], "the kitchen has cupboards in its background"


def scene_of(**names):
    entities = {name: Entity(name, name, "object", names=tuple(given)) for name, given in names.items()}
    return SceneFacts("id", "toy", "a_problem", entities, ("cupboard",))


@pytest.mark.parametrize(
    ("other", "noun", "fits"),
    [
        ("cooktop", "stove", True),
        ("hob", "stove", False),  # of a second thing as well
        ("cupboard", "cabinet", False),  # the background shows another
        ("carton of milk", "milk", True),
        ("carton", "milk", False),
        ("bottle of milk", "milk", False),  # milk comes in cartons there
        ("griddle", "stove", False),  # no name of anything
    ],
)
def test_what_counts_as_a_synonym(other, noun, fits):
    scene = scene_of(
        stove=["stove", "cooktop", "hob"],
        heater=["heater", "hob"],
        cabinet=["cabinet", "cupboard"],
        milk=["milk", "carton"],
        juice=["juice", "carton"],
        ketchup=["ketchup", "bottle"],
    )
    assert paraphrases._means_the_same(other, noun, scene) is fits


def test_verbs_vary_over_kinds_and_tasks():
    """No kind is one verb, and a task's kinds do not share theirs."""
    first = {}
    for task_id, rows in ALL.items():
        for one in rows:
            first.setdefault((task_id, one.kind), one.instruction)
    for kind in ("verb_synonym", "passive", "reordering"):
        counts = Counter(
            VERBS[word] for (_, of), text in first.items() if of == kind for word in text.split() if word in VERBS
        )
        assert len(counts) >= 8, kind
    for suite in DEFINED.suites:
        fronts = Counter(
            text.split()[0] for (task_id, kind), text in first.items() if kind == "request" and suite in task_id
        )
        assert min(fronts["would"], fronts["i"]) >= 4
    shared = [
        task_id
        for task_id in DEFINED.tasks
        if {VERBS[word] for word in first[task_id, "verb_synonym"].split() if word in VERBS}
        == {VERBS[word] for word in first[task_id, "passive"].split() if word in VERBS}
    ]
    assert shared == []


def test_texts_to_avoid_are_not_proposed_again():
    taken = ALL["LiberoGoal-T1"][0].instruction
    rest = proposed("LiberoGoal-T1", avoid=(taken,))
    assert taken not in {one.instruction for one in rest}
    assert {one.kind for one in rest} == set(paraphrases.KINDS)


def test_proposals_are_the_same_each_time():
    assert {task_id: proposed(task_id) for task_id in DEFINED.tasks} == ALL

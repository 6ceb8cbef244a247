"""What the validator says of paraphrases, and that every registered one passes both audits."""

import dataclasses

import pytest

from gym_grounding.conditions._base import Violation
from gym_grounding.conditions.paraphrase import CONDITION
from gym_grounding.types import Variant
from gym_grounding.variants import audit, definitions, manual
from gym_grounding.variants.proposers import ProposalRequest, paraphrases
from gym_grounding.variants.types import Proposal
from gym_grounding.variants.validator import paraphrase
from gym_grounding.variants.validator.paraphrase import judge

DEFINED = definitions.load()
TASK, SCENE = DEFINED.task("LiberoGoal-T1"), DEFINED.scene_of("LiberoGoal-T1")


class Listener:
    """An audit with a fixed answer that remembers what it was asked."""

    def __init__(self, answer=""):
        self.answer, self.asked = answer, []

    def agrees(self, text, canonical, scene):
        self.asked.append((text, canonical, scene.id))
        return self.answer


def judged(text, siblings=(), listener=None, task=TASK, **options):
    proposal = Proposal(task.id, "paraphrase", None, text, kind="verb_synonym", source="test")
    return judge(proposal, task, DEFINED.scene_of(task.id), siblings, listener or Listener(), **options)


def test_a_good_one_is_accepted_by_both():
    listener = Listener()
    found = judged("place the bowl on the stove", listener=listener)
    assert (found.accepted, found.reason, found.note, dict(found.row)) == (True, "", "", {})
    assert listener.asked == [("place the bowl on the stove", TASK.instruction, SCENE.id)]


REFUSED = [
    ("Place the bowl on the stove.", "surface", "lower-case words"),
    ("place bowl", "surface", "has 2 words"),
    ("put the bowl on that stove", "redundant", "near copy of 'put the bowl on the stove'"),
    ("please put the bowl on the stove", "redundant", "near copy of 'put the bowl on the stove'"),
    ("place the bowl on the plate", "other_meaning", "target: 'plate' against 'stove'"),
    ("set the wine bottle down on the stove", "other_meaning", "object: 'wine bottle' against 'bowl'"),
    ("never place the bowl on the stove", "other_meaning", "is negated"),
    ("place it over on the stove", "other_meaning", "leaves open: 'it'"),
]


@pytest.mark.parametrize(("text", "reason", "note"), REFUSED)
def test_refusals(text, reason, note):
    listener = Listener()
    found = judged(text, listener=listener)
    assert (found.accepted, found.reason) == (False, reason)
    assert note in found.note
    assert listener.asked == [], "the first rule that fails names the refusal"


def test_a_sibling_is_not_copied():
    text = "place the bowl on the stove"
    assert judged(text, siblings=["set the bowl on the stove"]).accepted
    found = judged(text, siblings=["set the bowl on the stove", "place the bowl onto a stove", text])
    assert (found.reason, found.note) == ("redundant", f"a near copy of {text!r}")


def test_the_second_audit_has_a_word():
    found = judged("place the bowl on the stove", listener=Listener("hears something else"))
    assert (found.reason, found.note) == ("audit_refused", "hears something else")


def test_the_second_audit_may_be_left_out():
    proposal = Proposal(TASK.id, "paraphrase", None, "place the bowl on the stove", kind="verb_synonym")
    assert judge(proposal, TASK, SCENE, (), None).accepted


@pytest.mark.parametrize("manually", [False, True])
def test_what_the_registry_would_refuse_is_refused(monkeypatch, manually):
    """A row that audits or a person accept must also be one that the loader accepts."""
    asked = []

    def violations(variant, task, scene):
        asked.append((variant.instruction, variant.kind, variant.details.get("audit"), task.id, scene.id))
        return (Violation("instruction", "other_entity", "may mean plate_1"),)

    monkeypatch.setattr(paraphrase, "CONDITION", dataclasses.replace(CONDITION, violations=violations))
    text = "let the stove have the bowl on it" if manually else "place the bowl on the stove"
    found = judged(text, manual={(TASK.id, text): "a person likes it"} if manually else {})
    assert (found.reason, found.note, dict(found.row)) == ("other_meaning", "instruction may mean plate_1", {})
    assert asked == [(text, "verb_synonym", "manual" if manually else None, TASK.id, SCENE.id)]


@pytest.mark.parametrize("refused_by", ["parser", "tree"])
def test_a_person_may_overrule_an_audit(refused_by):
    text = "let the stove have the bowl on it" if refused_by == "parser" else "place the bowl on the stove"
    listener = Listener("misheard" if refused_by == "tree" else "")
    assert not judged(text, listener=listener).accepted
    found = judged(text, listener=listener, manual={(TASK.id, text): "have is not known to the parser"})
    assert found.accepted
    assert dict(found.row) == {"audit": "manual", "audit_reason": "have is not known to the parser"}
    elsewhere = judged(text, listener=listener, manual={("LiberoGoal-T2", text): "another task"})
    assert not elsewhere.accepted


@pytest.mark.parametrize("text", ["put the bowl on that stove", "Put it there!"])
def test_a_person_may_not_overrule_form_and_redundancy(text):
    assert judged(text, manual={(TASK.id, text): "i like it"}).reason in ("redundant", "surface")


def test_no_reason_is_written_where_none_is_needed():
    text = "place the bowl on the stove"
    assert dict(judged(text, manual={(TASK.id, text): "it passes anyway"}).row) == {}


@pytest.fixture(scope="module")
def listening():
    pytest.importorskip("spacy")
    pytest.importorskip(audit.MODEL)
    return audit.Audit()


@pytest.fixture(scope="module")
def chosen(listening):
    """Task id -> the judgements of what would be registered, chosen as the builder does."""
    found = {}
    for task in DEFINED.tasks.values():
        scene, kept = DEFINED.scene_of(task.id), [task.instruction]
        proposals = paraphrases.propose(ProposalRequest(task, scene, "paraphrase"))
        for kind in paraphrases.KINDS:
            judgements = (judge(one, task, scene, kept, listening) for one in proposals if one.kind == kind)
            winner = next((one for one in judgements if one.accepted), None)
            if winner is not None:
                kept.append(winner.proposal.instruction)
                found.setdefault(task.id, []).append(winner)
    return found


def test_every_task_gets_all_five_kinds(chosen):
    assert {task_id: [one.proposal.kind for one in rows] for task_id, rows in chosen.items()} == {
        task_id: list(paraphrases.KINDS) for task_id in DEFINED.tasks
    }


def test_none_is_there_by_a_person_s_word(chosen):
    by_hand = [one for rows in chosen.values() for one in rows if one.row]
    assert len(by_hand) == len(manual.MANUAL)


def test_the_registry_takes_them(chosen):
    """Its own check of rows and of pairs finds nothing."""
    for task_id, judgements in chosen.items():
        task, scene = DEFINED.task(task_id), DEFINED.scene_of(task_id)
        rows = [
            Variant(
                f"{task_id}-Paraphrase{number}",
                task_id,
                "paraphrase",
                None,
                number,
                one.proposal.instruction,
                kind=one.proposal.kind,
                details={"also": list(one.proposal.also)} if one.proposal.also else {},
            )
            for number, one in enumerate(judgements, 1)
        ]
        for place, row in enumerate(rows):
            assert CONDITION.violations(row, task, scene) == ()
            assert [found for other in rows[:place] for found in CONDITION.conflicts(row, other)] == []


def test_manual_entries_are_needed_and_explained(listening):
    for (task_id, text), reason in manual.MANUAL.items():
        assert len(reason.split()) >= 5, "says which check misreads the sentence and how"
        assert not judged(text, listener=listening, task=DEFINED.task(task_id), manual={}).accepted


def test_both_audits_are_asked(listening):
    """A sentence that only the parser takes is refused by the other."""
    text = "put the bowl on the stove for me"
    proposal = Proposal(TASK.id, "paraphrase", None, text, kind="request")
    assert judge(proposal, TASK, SCENE, (), None).accepted
    assert judge(proposal, TASK, SCENE, (), listening).reason == "audit_refused"

"""What is made of a language model's answer, whatever it looks like."""

import dataclasses
import json
import re

import pytest

from gym_grounding.types import Goal, Predicate
from gym_grounding.variants.proposers import ProposalRequest, ProposerError, _prompt, _reply
from gym_grounding.variants.proposers._completion import CompletionProposer
from gym_grounding.variants.proposers._surface import normal
from gym_grounding.variants.types import Proposal


def request_of(registry, condition="paraphrase", slot=None, task="Toy-T0", **changes):
    return ProposalRequest(registry.task(task), registry.scene_of(task), condition, slot, **changes)


class Said:
    """A completion that gives one reply and counts how often it is asked."""

    kind, model = "fake", "parrot"

    def __init__(self, text, model="parrot-2", finish="stop"):
        self.sampling = {"temperature": 0.0}
        self.asked = 0
        self.reply = json.dumps({"model": model, "choices": [{"message": {"content": text}, "finish_reason": finish}]})

    def complete(self, body):
        self.asked += 1
        return self.reply


def answer_to(text, request, finish="stop"):
    return CompletionProposer(Said(text, finish=finish)).ask(request)


def texts(answer):
    return [proposal.instruction for proposal in answer.proposals]


def test_the_schemas_in_the_question_are_what_the_reader_reads(toy):
    for condition, slot, schema in [
        ("paraphrase", None, _prompt.PARAPHRASE_SCHEMA),
        ("contrast", "target", _prompt.CONTRAST_SCHEMA),
        ("collision", "target", _prompt.COLLISION_SCHEMA),
    ]:
        filled = schema.replace("...", "put the block on the chest").partition(" (")[0]
        answer = answer_to(filled, request_of(toy, condition, slot))
        assert (texts(answer), answer.problems) == (["put the block on the chest"], ())


def test_a_good_answer_becomes_proposals(toy):
    said = {
        "proposals": [
            {
                "instruction": "put the block on the chest",
                "changed": {"from": "tray", "to": "chest"},
                "goal": [["on", "block_1", "chest_1_top_side"]],
            },
            {"instruction": "put the block on the lamp", "changed": None, "goal": None},
        ]
    }
    answer = answer_to(json.dumps(said), request_of(toy, "contrast", "target"))
    goal = Goal((Predicate("on", ("block_1", "chest_1_top_side")),))
    shared = {"task": "Toy-T0", "condition": "contrast", "slot": "target", "source": "fake:parrot-2"}
    assert answer.proposals == (
        Proposal(instruction="put the block on the chest", changed=("tray", "chest"), goal=goal, **shared),
        Proposal(instruction="put the block on the lamp", **shared),
    )
    assert (answer.problems, answer.model) == ((), "parrot-2")


GOOD = '{"proposals": [{"instruction": "set the block on the tray", "kind": "verb_synonym"}]}'


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"Sure! Here is the object you asked for:\n\n{GOOD}\n\nLet me know if you need more :)",
        GOOD.replace("set the", "  Set   the").replace("tray", "tray. "),
        f"{'no brace here ' * 8000}{GOOD}",
    ],
    ids=["bare", "fenced", "preamble", "capital", "100 kB"],
)
def test_what_surrounds_the_object_does_not_matter(toy, text):
    answer = answer_to(text, request_of(toy))
    assert (texts(answer), answer.problems) == (["set the block on the tray"], ())
    assert answer.proposals[0].kind == "verb_synonym"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the model said nothing"),
        (" \n", "the model said nothing"),
        ("I cannot help with that.", "no JSON object in 'I cannot help"),
        ("} {", "no JSON object"),
        ('{"proposals": [{"instruction": "set the', "no JSON object"),
        ('{"proposals": [}', "malformed JSON"),
        ("{'proposals': []}", "malformed JSON"),
        ('{"proposals": [NaN]}', "malformed JSON .'NaN is no JSON"),
        ('{"a": {"instruction": Infinity}}', "Infinity is no JSON"),
        ('{"a": ' * 100_000 + "}", "malformed JSON"),
        ('{"proposals": ' + "9" * 5000 + "}", "malformed JSON"),
        ('{"proposals": {"instruction": "x"}}', "no list of proposals"),
        ('{"sentences": []}', "no list of proposals"),
        ('{"proposals": null}', "no list of proposals"),
    ],
)
def test_junk_is_an_empty_answer_that_says_why(toy, text, problem):
    answer = answer_to(text, request_of(toy))
    assert answer.proposals == ()
    (line,) = answer.problems
    assert re.search(problem, line)
    assert len(line) < 400


def test_an_answer_that_was_cut_off_says_so(toy):
    answer = answer_to('{"proposals": [{"instruction": "set', request_of(toy), finish="length")
    assert "stopped for 'length'" in answer.problems[0]


def test_an_honest_nothing_is_no_problem(toy):
    answer = answer_to('{"proposals": []}', request_of(toy))
    assert (answer.proposals, answer.problems) == ((), ())


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        ("set the block on the tray", "is no object"),
        (None, "None is no object"),
        ({}, "instruction is None; must be text"),
        ({"instruction": 7}, "instruction is 7; must be text"),
        ({"instruction": ["set"]}, "must be text"),
        ({"instruction": " . "}, "must be printable words"),
        ({"instruction": "set the\x00block"}, "must be printable words"),
        ({"instruction": "set \ud800"}, "must be printable words"),
        ({"instruction": "set " * 30_000}, "120000 characters; at most 1000"),
    ],
)
def test_a_bad_sentence_is_left_out_and_the_others_stay(toy, item, problem):
    text = json.dumps({"proposals": [item, {"instruction": "lay the block on the tray"}]})
    answer = answer_to(text, request_of(toy))
    assert texts(answer) == ["lay the block on the tray"]
    (line,) = answer.problems
    assert line.startswith("proposal 1: ")
    assert problem in line
    assert len(line) < 300
    line.encode()


@pytest.mark.parametrize(
    ("condition", "claim", "problem"),
    [
        ("paraphrase", {"kind": "haiku"}, "'haiku' is none of verb_synonym"),
        ("paraphrase", {"kind": ["passive"]}, "is none of"),
        ("contrast", {"changed": "tray"}, "is no object with from and to"),
        ("contrast", {"changed": {"from": "tray"}}, "to is None"),
        ("contrast", {"changed": {"from": 1, "to": "x"}}, "from is 1"),
        ("contrast", {"goal": "on(block_1, tray_1)"}, "is no list of 1 to 8 literals"),
        ("contrast", {"goal": []}, "is no list"),
        ("contrast", {"goal": [["on", "a", "b"]] * 9}, "is no list"),
        ("contrast", {"goal": [["on"]]}, "is no literal"),
        ("contrast", {"goal": [["on", "a", "b", "c"]]}, "is no literal"),
        ("contrast", {"goal": [["on", "a", 3]]}, "something other than names"),
        ("contrast", {"goal": [["on", "a", "b c"]]}, "something other than names"),
        ("contrast", {"goal": [{"on": "a"}]}, "is no literal"),
    ],
)
def test_a_bad_claim_is_left_out_and_the_sentence_stays(toy, condition, claim, problem):
    text = json.dumps({"proposals": [{"instruction": "lay the block on the tray", **claim}]})
    slot = None if condition == "paraphrase" else "target"
    answer = answer_to(text, request_of(toy, condition, slot))
    (proposal,) = answer.proposals
    assert (proposal.kind, proposal.changed, proposal.goal) == ("", None, None)
    (line,) = answer.problems
    assert problem in line


def test_claims_that_a_condition_does_not_know_are_not_read(toy):
    item = {
        "instruction": "put the big block on the tray",
        "kind": "passive",
        "changed": {"from": "block", "to": "big block"},
        "goal": [["open", "a"]],
    }
    text = json.dumps({"proposals": [item]})
    for condition, slot, kept in [
        ("paraphrase", None, ("passive", None, None)),
        ("collision", "object", ("", ("block", "big block"), None)),
        ("contrast", "object", ("", ("block", "big block"), Goal((Predicate("open", ("a",)),)))),
    ]:
        (one,) = answer_to(text, request_of(toy, condition, slot)).proposals
        assert (one.kind, one.changed, one.goal) == kept


def test_too_many_and_repeated_sentences_are_left_out(toy):
    said = ["lay the block on the tray", "Lay the block on the tray.", "set the block on the tray", "drop the block"]
    text = json.dumps({"proposals": [{"instruction": one} for one in said]})
    answer = answer_to(text, request_of(toy, count=3))
    assert texts(answer) == ["lay the block on the tray", "set the block on the tray"]
    assert answer.problems == (
        "4 proposals, 3 were asked for; the rest is left out",
        "proposal 2: repeats 'lay the block on the tray'",
    )


def test_what_was_asked_once_is_not_asked_again(toy):
    completion = Said(GOOD)
    proposer = CompletionProposer(completion)
    assert proposer.propose(request_of(toy)) == proposer.propose(request_of(toy)) != ()
    assert completion.asked == 1
    proposer.propose(request_of(toy, count=2))
    assert completion.asked == 2


# The endpoint's document


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"choices": []}, ("", "", "")),
        ({"choices": [], "model": "m"}, ("", "m", "")),
        ({"choices": [{"message": {"content": None, "refusal": "no"}, "finish_reason": "stop"}]}, ("", "", "stop")),
        ({"choices": [{"message": {}}]}, ("", "", "")),
        ({"choices": [{"message": {"content": "a"}}, {"message": {"content": "b"}}], "model": 4}, ("a", "", "")),
        ({"choices": [{"message": {"content": [{"type": "text", "text": "a"}, {"text": "b"}]}}]}, ("ab", "", "")),
    ],
)
def test_an_empty_message_is_a_message(document, expected):
    assert dataclasses.astuple(_reply.message(json.dumps(document))) == expected


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ("", "not even JSON"),
        ("<html>Bad gateway</html>", "not even JSON: '<html>"),
        ("[" * 100_000, "not even JSON"),
        ('{"choices": [], "cost": NaN}', "not even JSON"),
        ("[]", "no list of choices"),
        ("null", "no list of choices"),
        ('{"error": {"message": "overloaded"}}', "no list of choices: .*overloaded"),
        ('{"choices": {"0": 1}}', "no list of choices"),
        ('{"choices": ["text"]}', "holds no text"),
        ('{"choices": [{"text": "old style"}]}', "holds no text"),
        ('{"choices": [{"message": {"content": 5}}]}', "holds no text"),
        ('{"choices": [{"message": {"content": ["a"]}}]}', "holds no text"),
    ],
)
def test_what_is_no_chat_completion_is_an_error(raw, problem):
    with pytest.raises(ProposerError, match=problem) as caught:
        _reply.message(raw)
    assert len(str(caught.value)) < 300


# Written form


@pytest.mark.parametrize(
    ("text", "expected", "changes"),
    [
        ("put the block on the tray", "put the block on the tray", ()),
        ("Put the block on the tray.", "put the block on the tray", ("final punctuation", "lower case")),
        ("could you put it there?!", "could you put it there", ("final punctuation",)),
        (
            "\u201cPut it there.\u201d",
            "put it there",
            ("typographic quotes", "outer quotes", "final punctuation", "lower case"),
        ),
        ('"Put it there".', "put it there", ("final punctuation", "outer quotes", "lower case")),
        ('"put it there."!', "put it there", ("final punctuation", "outer quotes")),
        ("the robot\u2019s bowl", "the robot's bowl", ("typographic quotes",)),
        (" a\u00a0 b\n", "a b", ("spaces",)),
        ("please, put it , there", "please put it there", ("commas",)),
        ("put it there,", "put it there", ("final punctuation",)),
        ("put it,there; now, .", "put it there; now", ("commas", "final punctuation")),
        ("'a' is 'b'", "'a' is 'b'", ()),
        ("", "", ()),
        ("?", "", ("final punctuation",)),
    ],
)
def test_the_written_form_keeps_the_words_and_says_what_it_changed(text, expected, changes):
    assert normal(text) == (expected, changes)

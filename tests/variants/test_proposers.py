"""Proposers by name, and the question that a language model is asked."""

import dataclasses
import hashlib
import json
import re

import pytest

from gym_grounding.errors import InvalidOption, UnknownName
from gym_grounding.variants import proposers
from gym_grounding.variants.proposers import (
    ProposalRequest,
    Proposer,
    _prompt,
    paraphrases,
    rules,
)
from gym_grounding.variants.proposers._completion import CompletionProposer, key_of
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


class Fixed:
    """A proposer of one sentence."""

    name = "fixed/1"

    def __init__(self, text="set the block on the tray"):
        self.text = text

    def propose(self, request):
        return (Proposal(request.task.id, request.condition, request.slot, self.text, source=self.name),)


class WithDefinitions(Fixed):
    def __init__(self, definitions):
        super().__init__(str(definitions))


READY = Fixed()
NOTHING = 3


# By name


def test_the_folder_lists_proposers_and_not_their_parts():
    assert proposers.names() == ("openai_compatible", "rules")


def test_every_named_proposer_can_be_made():
    made = {
        "openai_compatible": proposers.get("openai_compatible", base_url="http://localhost:1/v1", model="m"),
        "rules": proposers.get("rules", definitions=object()),
    }
    assert made.keys() == set(proposers.names())
    assert all(isinstance(one, Proposer) for one in made.values())
    assert [one.name for one in made.values()] == ["openai:m", "rules/1"]


def test_an_import_string_names_a_proposer_or_what_makes_one(toy):
    made = proposers.get(f"{__name__}:Fixed", text="lay the block on the tray")
    assert [one.instruction for one in made.propose(request_of(toy))] == ["lay the block on the tray"]
    assert proposers.get(f"{__name__}:READY") is READY
    assert proposers.get(f"{__name__}:WithDefinitions", definitions="these").text == "these"


@pytest.mark.parametrize(
    ("name", "options", "error", "message"),
    [
        ("rule", {}, UnknownName, "No proposer 'rule'. Did you mean 'rules'"),
        ("no_such_package.x:Y", {}, UnknownName, "no module 'no_such_package'"),
        (f"{__name__}:Nobody", {}, UnknownName, "has no attribute 'Nobody'"),
        (f"{__name__}:", {}, UnknownName, "No proposer"),
        (":READY", {}, UnknownName, "No proposer"),
        (f"{__name__}:READY", {"text": "x"}, InvalidOption, "takes no options; got text"),
        (f"{__name__}:Fixed", {"word": 1}, InvalidOption, "'word'; its options: text"),
        (f"{__name__}:WithDefinitions", {}, InvalidOption, "missing a required argument: 'definitions'"),
        (f"{__name__}:NOTHING", {}, InvalidOption, "int is no proposer"),
        (f"{__name__}:Said", {"text": "x"}, InvalidOption, "Said is no proposer"),
        ("openai_compatible", {"model": "m"}, InvalidOption, "base_url"),
        ("openai_compatible", {"model": "m", "base_url": "x", "adress": 1}, InvalidOption, "adress"),
        ("rules", {"definitions": 1, "record": "a", "replay": "b"}, InvalidOption, "exclude each other"),
        ("rules", {"definitions": 1, "replay": "b"}, InvalidOption, "rules/1 asks no language model"),
    ],
)
def test_a_name_or_option_that_does_not_fit_is_explained(name, options, error, message):
    with pytest.raises(error, match=re.escape(message)):
        proposers.get(name, **options)


def test_a_module_that_fails_by_itself_is_not_called_unknown(tmp_path, monkeypatch):
    (tmp_path / "needs_more.py").write_text("import a_library_that_is_not_there\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="a_library_that_is_not_there"):
        proposers.get("needs_more:X")


# The rules


class TestRules:
    @pytest.fixture
    def told(self, monkeypatch):
        """What the three parts of the rule proposer were given; each answers with one sentence."""
        found = []

        def listening(part):
            def propose(request, *more):
                found.append((part, request, *more))
                return (Proposal(request.task.id, request.condition, request.slot, f"a sentence of {part}"),)

            return propose

        for part in ("paraphrases", "contrasts", "collisions"):
            monkeypatch.setattr(getattr(rules, part), "propose", listening(part))
        return found

    def test_each_condition_has_its_part(self, told, toy):
        class Measured:
            def layout(self, task):
                return f"layout of {task.id}"

        asked = [
            request_of(toy, "paraphrase"),
            request_of(toy, "contrast", "target"),
            request_of(toy, "collision", "object", avoid=("x",)),
        ]
        for evidence, layout in ((Measured(), "layout of Toy-T0"), (None, None)):
            told.clear()
            proposer = proposers.get("rules", definitions="defined", evidence=evidence)
            said = [one.instruction for request in asked for one in proposer.propose(request)]
            assert said == ["a sentence of paraphrases", "a sentence of contrasts", "a sentence of collisions"]
            assert told == [
                ("paraphrases", asked[0]),
                ("contrasts", asked[1], "defined", layout),
                ("collisions", asked[2], "defined"),
            ]

    def test_the_definitions_are_liberos_when_none_are_given_and_read_once(self, told, toy, monkeypatch):
        reads = []
        monkeypatch.setattr("gym_grounding.variants.definitions.load", lambda: reads.append("read") or "LIBERO's")
        proposer = proposers.get("rules")
        proposer.propose(request_of(toy))
        assert reads == []
        for condition in ("contrast", "collision"):
            proposer.propose(request_of(toy, condition, "target"))
        assert [one[2] for one in told[1:]] == ["LIBERO's"] * 2
        assert reads == ["read"]

    def test_a_request_without_sense_is_refused(self, told, toy):
        with pytest.raises(InvalidOption, match="condition 'noise' has no proposals"):
            proposers.get("rules", definitions="defined").propose(request_of(toy, "noise"))
        assert told == []


# The question


def question(request):
    (one,) = _prompt.messages(request)
    assert one["role"] == "user"
    return one["content"]


def test_the_question_holds_the_task_the_scene_and_what_is_taken(toy):
    text = question(request_of(toy, "contrast", "target", task="Toy-T0", count=3, avoid=("move it", "move it", "go")))
    task = toy.task("Toy-T0")
    for part in (task.instruction, task.goal.id, 'target "tray"', "no attribute", "- move it\n- go\n", "at most 3 "):
        assert part in text
    assert text.count("move it") == 1
    for entity in toy.scene_of("Toy-T0").entities.values():
        assert all(word in text for word in (entity.name, *entity.names, *entity.supports))


def test_a_zone_that_is_no_goal_is_not_shown_and_the_background_is(toy):
    request = request_of(toy)
    extra = dataclasses.replace(request.scene.entities["toy_table"], name="toy_table_spawn", kind="zone", names=())
    scene = dataclasses.replace(
        request.scene, entities={**request.scene.entities, extra.name: extra}, background=("window", "door")
    )
    text = question(dataclasses.replace(request, scene=scene))
    assert "toy_table_spawn" not in text
    assert "Also in view, never acted on: window, door\n" in text


def test_each_condition_asks_for_its_own(toy):
    asked = {
        condition: question(request_of(toy, condition, slot))
        for condition, slot in [("paraphrase", None), ("contrast", "target"), ("collision", "target")]
    }
    assert len(set(asked.values())) == 3
    assert all(kind in asked["paraphrase"] for kind in _prompt.KINDS)
    assert '"goal"' in asked["contrast"]
    assert '"goal"' not in asked["collision"] + asked["paraphrase"]
    assert all('Change the target, here "tray"' in asked[condition] for condition in ("contrast", "collision"))


def test_a_thing_is_written_in_one_order(toy):
    lines = question(request_of(toy)).splitlines()
    assert "- bowl_1 (bowl): in.subject, lifted, on.reference, on.subject" in lines
    assert "- tray_1 (tray): nothing" in lines


def test_a_changed_prompt_has_a_new_version():
    words = (_prompt.PROMPT, _prompt.PARAPHRASE, _prompt.CONTRAST, _prompt.COLLISION)
    schemas = (_prompt.PARAPHRASE_SCHEMA, _prompt.CONTRAST_SCHEMA, _prompt.COLLISION_SCHEMA)
    text = json.dumps([*(one.template for one in words), *schemas, _prompt.KINDS])
    versions = {1: "c781a304b1e5445b"}
    assert versions[_prompt.TEMPLATE] == hashlib.sha256(text.encode()).hexdigest()[:16], (
        "the prompt's words changed: old recordings answer another question, so raise TEMPLATE and note the new hash"
    )


def test_the_kinds_of_paraphrases_are_those_of_the_rules():
    assert tuple(_prompt.KINDS) == paraphrases.KINDS


def test_a_request_has_no_room_for_what_a_policy_did():
    fields = {field.name for field in dataclasses.fields(ProposalRequest)}
    assert fields == {"task", "scene", "condition", "slot", "count", "avoid"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"condition": "shuffled"}, "choose paraphrase, contrast, collision"),
        ({"slot": "target"}, "a paraphrase changes none"),
        ({"condition": "contrast"}, "slot is None; a contrast changes one of action, object"),
        ({"condition": "collision", "slot": "colour"}, "slot is 'colour'"),
        ({"count": 0}, "count is 0; ask for at least 1"),
    ],
)
def test_a_request_without_sense_is_not_asked(toy, changes, message):
    completion = Said("{}")
    with pytest.raises(InvalidOption, match=message):
        CompletionProposer(completion).ask(request_of(toy, **changes))
    assert completion.asked == 0


def test_the_key_of_a_question_is_that_of_everything_it_depends_on(toy):
    proposer = CompletionProposer(Said("{}"))
    body = proposer.body(request_of(toy))
    assert body.keys() == {"model", "messages", "sampling", "template"}
    keys = {key_of({**body, **change}) for change in ({}, {"model": "x"}, {"template": 99}, {"sampling": {}})}
    keys |= {key_of(proposer.body(request_of(toy, avoid=("go",)))), key_of(proposer.body(request_of(toy, count=2)))}
    assert len(keys) == 6
    assert all(len(key) == 16 and int(key, 16) >= 0 for key in keys)
    assert key_of(dict(reversed(body.items()))) == key_of(body)
    assert key_of({"a": "é"}) == hashlib.sha256('{"a":"é"}'.encode()).hexdigest()[:16]

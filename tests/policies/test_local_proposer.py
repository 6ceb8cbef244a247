"""Sentences from a language model in a folder: with a generator of our own, and with transformers where it is there."""

import json
import os
import socket
import subprocess
import sys

import pytest
from gym_grounding_policies import local_proposer
from gym_grounding_policies.local_proposer import Generated, LocalProposer

from gym_grounding.errors import InvalidOption, MissingSource
from gym_grounding.variants import proposers
from gym_grounding.variants.proposers import ProposalRequest, Proposer, ProposerError, _prompt

NAME = "gym_grounding_policies.local_proposer:PROPOSER"
SENTENCE = "set the block on the tray"
GOOD = json.dumps({"proposals": [{"instruction": SENTENCE, "kind": "verb_synonym"}]})


class Writer:
    """A generator that writes one text and keeps what it was asked."""

    def __init__(self, text=GOOD, finished=True):
        self.written, self.asked = Generated(text, finished), []

    def __call__(self, messages, max_tokens):
        self.asked.append((messages, max_tokens))
        return self.written


@pytest.fixture
def request_of(toy):
    def make(task="Toy-T0"):
        return ProposalRequest(toy.task(task), toy.scene_of(task), "paraphrase")

    return make


def test_the_model_is_asked_the_same_question_as_an_endpoint(request_of, tmp_path):
    writer = Writer()
    proposer = LocalProposer(tmp_path / "tiny-model", max_tokens=300, generate=writer)
    answer = proposer.ask(request_of())
    assert [one.instruction for one in answer.proposals] == [SENTENCE]
    assert {one.source for one in answer.proposals} == {proposer.name} == {"local:tiny-model"}
    assert writer.asked == [(_prompt.messages(request_of()), 300)]


def test_it_is_found_by_its_import_string(tmp_path):
    proposer = proposers.get(NAME, folder=str(tmp_path / "m"), name="named")
    assert isinstance(proposer, Proposer)
    assert proposer.name == "local:named"
    with pytest.raises(InvalidOption, match="its options: folder, name, max_tokens, device, generate"):
        proposers.get(NAME, model="x")


def test_an_answer_that_was_cut_off_says_so(request_of, tmp_path):
    answer = LocalProposer(tmp_path, generate=Writer('{"proposals": [', finished=False)).ask(request_of())
    assert answer.proposals == ()
    assert "stopped for 'length'" in answer.problems[0]


def test_a_recording_replays_without_model_and_folder(request_of, tmp_path):
    writer, answers = Writer(), tmp_path / "answers"
    first = proposers.get(NAME, folder=tmp_path / "m", generate=writer, record=answers).propose(request_of())
    again = proposers.get(NAME, folder="elsewhere/m", replay=answers).propose(request_of())
    assert first == again != ()
    assert len(writer.asked) == 1
    (path,) = answers.iterdir()
    assert str(tmp_path) not in path.read_text("utf-8")
    for changes in ({"folder": "elsewhere/n"}, {"max_tokens": 7}):
        with pytest.raises(MissingSource, match="no recorded answer"):
            proposers.get(NAME, **{"folder": "m", "replay": answers, **changes}).propose(request_of())


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"folder": "/"}, "folder is '/' and has no name"),
        ({"folder": "m", "name": ""}, "has no name"),
        ({"folder": "m", "max_tokens": 0}, "max_tokens is 0"),
        ({"folder": "m", "max_tokens": 1.5}, "max_tokens is 1.5"),
        ({"folder": "m", "max_tokens": True}, "max_tokens is True"),
    ],
)
def test_an_option_outside_its_domain_is_named(options, problem):
    with pytest.raises(InvalidOption, match=problem):
        LocalProposer(**options)


def test_a_name_of_a_hub_is_no_folder_and_nothing_is_fetched(request_of, monkeypatch):
    forbid_connections(monkeypatch)
    with pytest.raises(ProposerError, match=r"some-hub/some-model: holds no config\.json.*nothing is fetched"):
        LocalProposer("some-hub/some-model").propose(request_of())


@pytest.mark.parametrize("library", ["torch", "transformers"])
def test_a_missing_library_names_the_extra(request_of, tmp_path, monkeypatch, library):
    (tmp_path / "config.json").write_text("{}")
    for name in ("torch", "transformers"):
        monkeypatch.setitem(sys.modules, name, None if name == library else object())
    message = rf"needs {library}, which cannot be imported.*pip install 'gym-grounding\[local-proposer\]'"
    with pytest.raises(ProposerError, match=message):
        LocalProposer(tmp_path).propose(request_of())


def test_importing_the_module_and_making_a_proposer_loads_no_library():
    code = (
        "import sys; from gym_grounding_policies.local_proposer import LocalProposer; LocalProposer('m').name; "
        "assert not {'torch', 'transformers'} & sys.modules.keys()"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def forbid_connections(monkeypatch):
    def no_connection(*_, **__):
        raise AssertionError("a local model opened a connection")

    monkeypatch.setattr(socket.socket, "connect", no_connection)
    monkeypatch.setattr(socket, "getaddrinfo", no_connection)


class TestWithTransformers:
    """A tiny model with random weights: what it writes means nothing, so these tests look at how it is asked."""

    WORDS = ("{", "}", "proposals", "put", "the", "block", "on", "tray", "user", "[unknown]", "[end]")

    @pytest.fixture(scope="class")
    def libraries(self):
        reason = "transformers is not installed; pip install 'gym-grounding[local-proposer]'"
        torch = pytest.importorskip("torch", reason=reason)
        return torch, pytest.importorskip("transformers", reason=reason), pytest.importorskip("tokenizers")

    @pytest.fixture
    def folder(self, libraries, tmp_path):
        torch, transformers, tokenizers = libraries
        vocabulary = {word: number for number, word in enumerate(self.WORDS)}
        tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[unknown]"))
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
        kept = transformers.PreTrainedTokenizerFast(
            tokenizer_object=tokenizer, unk_token="[unknown]", eos_token="[end]"
        )
        config = transformers.LlamaConfig(
            vocab_size=len(vocabulary),
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            max_position_embeddings=1024,
            eos_token_id=vocabulary["[end]"],
            bos_token_id=None,
        )
        with torch.random.fork_rng():
            torch.manual_seed(5)
            model = transformers.LlamaForCausalLM(config)
        folder = tmp_path / "tiny"
        model.save_pretrained(folder)
        kept.save_pretrained(folder)
        return folder

    @staticmethod
    def written(folder, text="put the block on the tray", max_tokens=12):
        return local_proposer.loaded(folder)([{"role": "user", "content": text}], max_tokens)

    def test_it_answers_without_a_connection(self, folder, request_of, monkeypatch):
        forbid_connections(monkeypatch)
        answer = LocalProposer(folder, max_tokens=20).ask(request_of())
        assert answer.model == "tiny"
        assert answer.proposals == ()
        assert answer.problems != ()

    def test_it_is_greedy_whatever_the_folder_says(self, folder, libraries):
        torch = libraries[0]
        settings = folder / "generation_config.json"
        plain = self.written(folder)
        changed = {**json.loads(settings.read_text()), "do_sample": True, "temperature": 5.0, "top_k": 0}
        settings.write_text(json.dumps(changed))
        torch.manual_seed(1)
        before = torch.random.get_rng_state()
        assert [self.written(folder) for _ in range(3)] == [plain] * 3
        assert torch.equal(torch.random.get_rng_state(), before)

    def test_only_the_new_text_comes_back_up_to_its_length(self, folder):
        text = self.written(folder, max_tokens=5)
        assert len(text.text.split()) <= 5
        assert not text.text.startswith("put the block on the tray")

    def test_the_end_is_told_from_the_limit(self, folder, libraries):
        torch, transformers, _ = libraries
        model = transformers.AutoModelForCausalLM.from_pretrained(folder)
        with torch.no_grad():
            model.lm_head.weight.zero_()  # all words are equally likely, so the first of the list is written
        model.save_pretrained(folder)
        assert not self.written(folder, max_tokens=5).finished
        settings = folder / "generation_config.json"
        settings.write_text(json.dumps({**json.loads(settings.read_text()), "eos_token_id": [3, 0]}))
        assert self.written(folder, max_tokens=5).finished

    def test_the_question_reaches_the_model_with_the_template_if_it_has_one(self, folder, libraries, monkeypatch):
        torch, transformers, _ = libraries
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        seen = []

        def keep(self, input_ids, attention_mask, **options):
            assert torch.equal(attention_mask, torch.ones_like(input_ids))
            seen.append(tokenizer.decode(input_ids[0]))
            return input_ids

        monkeypatch.setattr(transformers.LlamaForCausalLM, "generate", keep)
        self.written(folder, "put the block")
        turns = "{% for m in messages %}{{ m.role }} {{ m.content }}{% endfor %}"
        tokenizer.chat_template = turns + "{% if add_generation_prompt %} on{% endif %}"
        tokenizer.save_pretrained(folder)
        assert self.written(folder, "put the block") == Generated("", False)
        assert seen == ["put the block", "user put the block on"]

    def test_a_question_that_is_too_long_is_an_error(self, folder, request_of):
        with pytest.raises(ProposerError, match=r"tokens, 1000 are left for the answer.*room for 1024; give fewer"):
            LocalProposer(folder, max_tokens=1000).propose(request_of())

    def test_pickled_weights_are_not_loaded(self, folder, libraries, request_of):
        torch = libraries[0]
        (folder / "model.safetensors").unlink()
        torch.save({}, folder / "pytorch_model.bin")
        with pytest.raises(ProposerError, match=r"tiny: cannot be loaded .*weights as safetensors"):
            LocalProposer(folder).propose(request_of())

    def test_code_in_the_folder_is_not_run(self, folder, request_of):
        settings = folder / "config.json"
        own = {"AutoConfig": "own.Config", "AutoModelForCausalLM": "own.Model"}
        settings.write_text(json.dumps({**json.loads(settings.read_text()), "model_type": "own", "auto_map": own}))
        (folder / "own.py").write_text("raise SystemExit('code of the folder ran')\n")
        with pytest.raises(ProposerError, match="cannot be loaded"):
            LocalProposer(folder).propose(request_of())

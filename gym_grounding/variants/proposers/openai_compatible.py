"""A language model behind any endpoint that speaks OpenAI's ``/chat/completions``: vLLM, llama.cpp, Ollama, ...."""

from __future__ import annotations

import contextlib
import http.client
import json
import math
import os
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from typing import IO, Any
from urllib.parse import urlsplit

from gym_grounding.errors import InvalidOption
from gym_grounding.variants.proposers._base import ProposerError
from gym_grounding.variants.proposers._completion import Body, proposer_with
from gym_grounding.variants.proposers._reply import message, shown

PATH = "/chat/completions"
MOST_BYTES = 1 << 20
"""Largest reply that is read [bytes]."""
MOST_RETRIES = 10
SHORTEST_SECRET = 8
"""Length from which a key is cut out of replies."""
LONGEST_PAUSE = 60.0
"""Longest pause before a retry [s], whatever the endpoint asks for."""


_ADVICE = "does base_url end where /chat/completions begins?"


class OpenAICompletion:
    """Asks an endpoint over HTTP, one question at a time. Proxies are those of the environment; redirects are refused.

    A reply with status 429 or 5xx is asked for again, after the pause that the endpoint names or after ``pause``, twice
    ``pause``, and so on. An empty answer is an answer and is not asked for again.

    Args:
        base_url: address up to the version, such as ``http://localhost:8000/v1``.
        model: name of the model.
        key_variable: name of the environment variable that holds the key; empty sends none. It is read for each
            question, sent as a bearer token, and cut out of every reply and message.
        timeout: longest wait for a reply [s].
        retries: how often a question is asked again.
        temperature, seed: of the sampling.
        max_tokens: length of the answer; None leaves it to the endpoint.
        json_mode: ask for a JSON object, which some endpoints do not know.
        pause: before the first retry [s].

    Raises:
        InvalidOption: an argument outside its domain.
    """

    kind = "openai"

    def __init__(
        self,
        base_url: str,
        model: str,
        key_variable: str = "",
        timeout: float = 120.0,
        retries: int = 3,
        temperature: float = 0.0,
        seed: int = 0,
        max_tokens: int | None = 2048,
        json_mode: bool = True,
        pause: float = 1.0,
    ) -> None:
        self.url = _address(base_url)
        if not (isinstance(model, str) and model.strip()):
            raise InvalidOption(f"model is {model!r}; name the model as the endpoint does")
        _check_number("timeout", timeout, 1e-3, 86_400.0)
        _check_number("retries", retries, 0, MOST_RETRIES)
        _check_number("temperature", temperature, 0.0, 2.0)
        _check_number("pause", pause, 0.0, LONGEST_PAUSE)
        _check_number("seed", seed, 0, 2**31 - 1)
        if max_tokens is not None:
            _check_number("max_tokens", max_tokens, 1, 10**6)
        self._model, self.key_variable = model, key_variable
        self.timeout, self.retries, self.pause = timeout, retries, pause
        length = {} if max_tokens is None else {"max_tokens": max_tokens}
        form = {"response_format": {"type": "json_object"}} if json_mode else {}
        self._sampling: dict[str, Any] = {"temperature": float(temperature), "seed": seed, **length, **form}

    @property
    def model(self) -> str:
        """Name of the model that is asked for."""
        return self._model

    @property
    def sampling(self) -> Mapping[str, Any]:
        """Temperature, seed, length and form of the answer."""
        return self._sampling

    def complete(self, body: Body) -> str:
        """The endpoint's document, without the key.

        Raises:
            InvalidOption: the key's variable is unset or holds something that cannot be a key.
            ProposerError: the endpoint cannot be reached, is too slow, refuses, keeps failing, or speaks no JSON.
        """
        key = _key(self.key_variable)
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        asked = {"model": body["model"], "messages": body["messages"], **body["sampling"]}
        for attempt in range(self.retries + 1):
            request = urllib.request.Request(self.url, json.dumps(asked).encode(), headers, method="POST")
            with self._explained(key):
                status, reply, pause = self._once(request)
            if status < 300:
                break
            if attempt < self.retries:
                time.sleep(min(pause if pause is not None else self.pause * 2**attempt, LONGEST_PAUSE))
        if status >= 300:
            raise ProposerError(
                f"{self.url}: status {status} after {self.retries + 1} attempts, the last with {_excerpt(reply, key)}; "
                "ask again later, or give more retries"
            )
        return self._document(reply, key)

    def _document(self, reply: bytes, key: str) -> str:
        try:
            text = _without(reply.decode("utf-8"), key)
            message(text)
        except UnicodeDecodeError as error:
            raise ProposerError(f"{self.url}: the reply is not UTF-8 at byte {error.start}; {_ADVICE}") from None
        except ProposerError as error:
            raise ProposerError(f"{self.url}: {error}; {_ADVICE}") from error
        return text

    def _once(self, request: urllib.request.Request) -> tuple[int, bytes, float | None]:
        """Status, reply, and the pause that the endpoint asks for [s]; a status that a retry may mend is no error."""
        deadline = time.monotonic() + self.timeout
        try:
            with _OPENER.open(request, timeout=self.timeout) as response:
                return int(response.status), _read(response, deadline), None
        except urllib.error.HTTPError as error:
            with error:
                if error.code != 429 and error.code < 500:
                    raise _Refused(error.code, error.headers.get("Location"), _read(error, deadline)) from None
                return error.code, _read(error, deadline), _seconds(error.headers.get("Retry-After"))

    @contextlib.contextmanager
    def _explained(self, key: str) -> Iterator[None]:
        """Failures of the network as errors that say what to do. The key is in no message."""
        try:
            yield
        except _Refused as refused:
            raise ProposerError(f"{self.url}: {self._refusal(refused, key)}") from None
        except (OSError, http.client.HTTPException, UnicodeError) as error:  # the last for an impossible host name
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            if isinstance(reason, TimeoutError):
                raise ProposerError(
                    f"{self.url}: no complete reply within {self.timeout:g} s; give a larger timeout, or look at the "
                    "endpoint"
                ) from None
            text = _without(str(reason) or type(reason).__name__, key)
            raise ProposerError(f"{self.url}: cannot be asked ({text}); is the endpoint running there?") from None

    def _refusal(self, refused: _Refused, key: str) -> str:
        text = _excerpt(refused.reply, key)
        if refused.status in (401, 403):
            given = f"the key in {self.key_variable}" if key else "a question without a key"
            return f"refuses {given} (status {refused.status}): {text}; name the variable that holds a valid one"
        if 300 <= refused.status < 400:
            return f"redirects to {shown(refused.location)}; give that address if you trust it"
        if refused.status == 404:
            return f"knows no such path, or no model {self.model!r} (status 404): {text}"
        return f"refuses the question (status {refused.status}): {text}"


PROPOSER = proposer_with(OpenAICompletion)


class _Refused(Exception):
    def __init__(self, status: int, location: str | None, reply: bytes) -> None:
        super().__init__(status)
        self.status, self.location, self.reply = status, location, reply


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the key to an address that nobody gave."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect)


def _address(base_url: object) -> str:
    text = base_url.strip().rstrip("/").removesuffix(PATH) if isinstance(base_url, str) else ""
    try:
        parts = urlsplit(text)
        valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        valid = False
    if not valid or not (text.isascii() and text.isprintable() and " " not in text):
        raise InvalidOption(f"base_url is {shown(base_url)}; give an address such as http://localhost:8000/v1")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise InvalidOption(
            f"base_url for {parts.hostname} holds a name, a password or a query; give the bare address, and a key only "
            "through key_variable"
        )
    return text + PATH


def _check_number(name: str, value: object, low: float, high: float) -> None:
    whole = isinstance(low, int)
    kinds = (int,) if whole else (int, float)
    good = isinstance(value, kinds) and not isinstance(value, bool)
    if not good or not (math.isfinite(float(value)) and low <= value <= high):  # type: ignore[arg-type, operator]
        kind = "a whole number" if whole else "a number"
        raise InvalidOption(f"{name} is {shown(value)}; must be {kind} in [{low:g}, {high:g}]")


def _key(variable: str) -> str:
    if not variable:
        return ""
    key = os.environ.get(variable, "").strip()
    if not key:
        raise InvalidOption(f"the environment variable {variable} is unset or empty; put the endpoint's key into it")
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise InvalidOption(f"the environment variable {variable} holds blanks or other odd characters; that is no key")
    return key


def _without(text: str, key: str) -> str:
    """The text without the key, as it is or as JSON may spell it; placeholders such as ``none`` are no secret."""
    if len(key) < SHORTEST_SECRET:
        return text
    escaped = json.dumps(key)[1:-1]
    for spelled in (key, escaped, escaped.replace("/", "\\/")):
        text = text.replace(spelled, "[key]")
    return text


def _excerpt(reply: bytes, key: str) -> str:
    return shown(_without(reply.decode("utf-8", "replace"), key))


def _read(response: IO[bytes], deadline: float) -> bytes:
    """The body of a reply, in pieces, so that one that trickles in ends too."""
    pieces: list[bytes] = []
    size = 0
    while piece := response.read1(1 << 16):  # type: ignore[attr-defined]
        pieces.append(piece)
        size += len(piece)
        if size > MOST_BYTES:
            raise http.client.HTTPException(f"the reply is larger than {MOST_BYTES} bytes")
        if time.monotonic() > deadline:
            raise TimeoutError
    return b"".join(pieces)


def _seconds(header: str | None) -> float | None:
    """The pause that a ``Retry-After`` header names [s]; None for none and for a date."""
    return float(header) if header is not None and header.isdecimal() and len(header) < 9 else None

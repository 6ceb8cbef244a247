"""A learner on disk: a folder with tensors as safetensors and one JSON file; nothing is pickled.

    checkpoint.json                 everything that is not a tensor, and which files belong to it, by their hashes
    learner-HASH.safetensors        the learner's tensors, the actor's included
    training-HASH.safetensors       optimiser and random streams; only where training can go on

The JSON file is written last and replaced at once, so a folder holds the old checkpoint or the new one, whatever
happens in between; files that no checkpoint names are removed by the next one. It has a hash of its own content, so an
edit is found as surely as a damaged tensor.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from gym_grounding.demos.write import write_bytes
from gym_grounding.errors import CorruptRun, UnwritableOutput, WrongVersion

FILE = "checkpoint.json"
FORMAT = "gym-grounding-policies checkpoint"
VERSION = 2
NOW = "now"
"""Folder of the checkpoint from which a run goes on, in the run's folder."""
PARTS = ("learner", "training")
DIGITS = 16
"""Of a file's hash that are in its name [hexadecimal digits]."""

Tensors = Mapping[str, Tensor]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a folder holds.

    Attributes:
        about: what was trained and how, plain values: see ``plan.TrainingPlan`` and ``stages``.
        structure: of the learner, see ``learners._base.Learner.structure``.
        learner: its tensors.
        going_on: plain values of ``loop.Training.state`` and of the stages; empty where training cannot go on.
        training: tensors of ``loop.Training.state``.
    """

    about: Mapping[str, Any]
    structure: Mapping[str, Any]
    learner: Tensors
    going_on: Mapping[str, Any] = field(default_factory=dict)
    training: Tensors = field(default_factory=dict)


def write(folder: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint; the one that is there stays whole until the new one is.

    Raises:
        UnwritableOutput: such as on a full disk.
    """
    parts = {"learner": checkpoint.learner, "training": checkpoint.training}
    files = {name: _write_part(folder, name, tensors) for name, tensors in parts.items() if tensors}
    _sync(folder)
    text = {
        "format": FORMAT,
        "version": VERSION,
        "files": files,
        "about": checkpoint.about,
        "structure": checkpoint.structure,
        "going_on": checkpoint.going_on,
    }
    write_bytes(folder / FILE, (json.dumps(sealed(text), indent=1, allow_nan=False) + "\n").encode())
    _sync(folder)
    kept = {one["name"] for one in files.values()}
    for path in folder.glob("*.safetensors"):
        if path.name not in kept and path.name.partition("-")[0] in PARTS:
            with contextlib.suppress(OSError):  # it does no harm
                path.unlink()


def read(folder: Path, training: bool = False) -> Checkpoint:
    """Read what ``write`` wrote.

    Args:
        training: also what is needed to go on.

    Raises:
        CorruptRun: no checkpoint, or a damaged one; names the file.
        WrongVersion: one of another version of this format.
    """
    text = describe(folder)
    files = text["files"]
    checkpoint = Checkpoint(
        text["about"],
        text["structure"],
        _read_part(folder, files["learner"]),
        text["going_on"] if training else {},
        _read_part(folder, files["training"]) if training and "training" in files else {},
    )
    if training and not checkpoint.going_on:
        raise CorruptRun(f"{folder}: holds weights alone, from which training cannot go on")
    return checkpoint


def describe(folder: Path) -> dict[str, Any]:
    """The JSON of a checkpoint, whose parts are mappings; no tensor is read.

    Raises:
        CorruptRun: no checkpoint, a damaged or an edited one.
        WrongVersion: one of another version of this format.
    """
    path = folder / FILE
    try:
        text = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CorruptRun(f"{folder}: holds no checkpoint (no {FILE})") from None
    except (OSError, ValueError, RecursionError) as error:
        raise CorruptRun(f"{path}: cannot be read ({error}); {remedy(folder)}") from error
    if not isinstance(text, dict) or text.get("format") != FORMAT:
        raise CorruptRun(f"{path}: is no checkpoint of gym-grounding-policies")
    if text.get("version") != VERSION:
        raise WrongVersion(
            f"{path}: is a checkpoint of version {text.get('version')}, this program reads version {VERSION}; "
            "use the version that wrote it"
        )
    if text.get("sha256") != sealed(text)["sha256"]:
        raise CorruptRun(f"{path}: is damaged or was edited (its hash is not that of its content); {remedy(folder)}")
    wrong = _misshapen(text)
    if wrong:
        raise CorruptRun(f"{path}: is damaged ({wrong}); {remedy(folder)}")
    return text


def sealed(text: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a checkpoint's JSON with its hash, the field ``sha256``, made anew; spaces do not count."""
    content: dict[str, Any] = json.loads(json.dumps({key: text[key] for key in text if key != "sha256"}))
    return content | {"sha256": hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()}


def remedy(folder: Path) -> str:
    """What to do about a damaged checkpoint, to end a message: in a run, how to make it again."""
    for run in (folder.parent, folder):
        if exists(run / NOW):
            return (
                f"remove {run / NOW}, and the command that made it trains again from the beginning; records of "
                "evaluations stay"
            )
    return "take another checkpoint"


def exists(folder: Path) -> bool:
    """Whether a folder holds a checkpoint, sound or not."""
    return (folder / FILE).exists()


def plain(tensors: Tensors) -> dict[str, Tensor]:
    """Copies on the CPU that share no memory, as safetensors wants them."""
    return {name: value.detach().to("cpu", copy=True).contiguous() for name, value in tensors.items()}


def _misshapen(text: Mapping[str, Any]) -> str:
    """What is no mapping that should be one; empty where all is well."""
    for name in ("files", "about", "structure", "going_on"):
        if not isinstance(text.get(name), Mapping):
            return f"{name} is no mapping"
    files = text["files"]
    for name in ("learner", *files):
        one = files.get(name)
        if not isinstance(one, Mapping) or not all(isinstance(one.get(key), str) for key in ("name", "sha256")):
            return f"files.{name} has no name and sha256"
    return ""


def _write_part(folder: Path, name: str, tensors: Tensors) -> dict[str, str]:
    content = save(plain(tensors))
    digest = hashlib.sha256(content).hexdigest()
    path = folder / f"{name}-{digest[:DIGITS]}.safetensors"
    if not path.exists() or _hash(path) != digest:
        write_bytes(path, content)
    return {"name": path.name, "sha256": digest}


def _read_part(folder: Path, named: Mapping[str, str]) -> dict[str, Tensor]:
    path = folder / Path(named["name"]).name
    try:
        content = path.read_bytes()
    except OSError as error:
        raise CorruptRun(f"{path}: cannot be read ({error.strerror}); {remedy(folder)}") from error
    if hashlib.sha256(content).hexdigest() != named["sha256"]:
        raise CorruptRun(f"{path}: is damaged (its hash is not the one in {FILE}); {remedy(folder)}")
    try:
        tensors: dict[str, Tensor] = load(content)
    except SafetensorError as error:
        raise CorruptRun(f"{path}: is no safetensors file ({error}); {remedy(folder)}") from error
    return tensors


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync(folder: Path) -> None:
    """Names that were made or replaced in a folder survive a power cut."""
    try:
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise UnwritableOutput(f"{folder}: cannot be written ({error.strerror})") from error

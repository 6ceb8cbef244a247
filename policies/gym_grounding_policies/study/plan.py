"""What a study is: its runs with the very options that `train` gets; written down once, compared when it goes on."""

from __future__ import annotations

import contextlib
import fcntl
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from gym_grounding.demos.write import write_bytes
from gym_grounding.errors import CorruptRun, PlanMismatch, UnwritableOutput
from gym_grounding_policies.study.config import Config, arguments_of

FILE = "study.json"
LOCK = "study.lock"
FORMAT = 1
PRETRAINED, RUNS, LOGS, DONE, REPORT = "pretrained", "runs", "logs", "done", "report"
"""Folders of a study."""


@dataclass(frozen=True, slots=True)
class Run:
    """One method with one seed.

    Attributes:
        folder: its name in the folder of runs.
        name: of the method, in reports.
        method: as in `train --method`.
        seed: training seed.
        options: of `train`, name with underscores -> value, the study's shared ones included.
        arguments: the command line of `train` that decides numbers: without folders, and without what changes none.
    """

    folder: str
    name: str
    method: str
    seed: int
    options: Mapping[str, Any]
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """All runs of a study, seed by seed, so that a study that is stopped early has all methods.

    Attributes:
        runs: in the order in which they are begun.
        pretrain: command line of `pretrain` without folders; None for none.
        probes: see ``config.Config``.
    """

    runs: tuple[Run, ...]
    pretrain: tuple[str, ...] | None
    probes: int

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "format": FORMAT,
            "pretrain": None if self.pretrain is None else list(self.pretrain),
            "probes": self.probes,
            "runs": {run.folder: list(run.arguments) for run in self.runs},
        }

    def keep(self, out: Path) -> None:
        """Write down what the study in a folder is, or check that it is this one; runs may be added.

        Raises:
            PlanMismatch: the folder holds another study; names every difference.
            CorruptRun: what it says of itself cannot be read.
            UnwritableOutput: it cannot be written.
        """
        path, mine = out / FILE, self.as_dict()
        if path.exists():
            stored = stored_plan(path)
            changed = [
                f"{key} is {json.dumps(stored.get(key))} there, {json.dumps(mine[key])} asked"
                for key in ("format", "pretrain", "probes")
                if stored.get(key) != mine[key]
            ]
            for folder in mine["runs"]:
                if folder in stored["runs"] and stored["runs"][folder] != mine["runs"][folder]:
                    there, asked = (" ".join(one["runs"][folder]) for one in (stored, mine))
                    changed.append(f"{folder} is `{there}` there, `{asked}` asked")
            if changed:
                raise PlanMismatch(
                    f"{out} holds another study: {'; '.join(changed[:4])}"
                    + (f"; and {len(changed) - 4} more" if len(changed) > 4 else "")
                    + ". Give another folder, or the same configuration (methods and seeds may be added)"
                )
            mine["runs"] = {**stored["runs"], **mine["runs"]}
        write_bytes(path, (json.dumps(mine, indent=1) + "\n").encode())


def planned(config: Config, train: click.Command, pretrain: click.Command) -> StudyPlan:
    """The runs of a checked configuration.

    Args:
        train, pretrain: the commands, whose options become command lines.
    """
    runs = []
    for seed in config.seeds:
        for entry in config.entries:
            options = {**config.train, **entry.train, "method": entry.method, "seed": seed}
            settings = [f"{key}={json.dumps(value)}" for key, value in sorted(entry.settings.items())]
            named = {"name": entry.name} if entry.named else {}
            full = {**options, **named, **({"settings": settings} if settings else {})}
            folder = re.sub(r"[^A-Za-z0-9_.+-]", "-", f"{entry.name}-{seed}")
            deciding = {key: value for key, value in full.items() if key not in HARMLESS}
            runs.append(Run(folder, entry.name, entry.method, seed, full, tuple(arguments_of(train, deciding))))
    before = None if config.pretrain is None else tuple(arguments_of(pretrain, config.pretrain))
    return StudyPlan(tuple(runs), before, config.probes)


HARMLESS = ("workers", "device", "readers", "compiled", "threads", "init", "registry", "clip")
"""Options that change no number or are folders; `train` compares hashes of what lies in the latter."""


def stored_plan(path: Path) -> dict[str, Any]:
    """What a study wrote down of itself.

    Raises:
        CorruptRun: it cannot be read, or is something else.
    """
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CorruptRun(f"{path}: cannot be read ({error}); remove it, and the same command writes it anew") from error
    runs = stored.get("runs") if isinstance(stored, dict) else None
    if not isinstance(runs, dict) or not all(
        isinstance(one, list) and all(isinstance(text, str) for text in one) for one in runs.values()
    ):
        raise CorruptRun(f"{path}: is damaged (no runs); remove it, and the same command writes it anew")
    assert isinstance(stored, dict)
    return stored


@contextlib.contextmanager
def locked(out: Path) -> Iterator[None]:
    """One process works on a study at a time.

    Raises:
        UnwritableOutput: the folder cannot be made.
        PlanMismatch: another process works on it.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock = (out / LOCK).open("a")
    except OSError as error:
        raise UnwritableOutput(f"{out}: cannot be written ({error.strerror}); name another folder") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise PlanMismatch(f"{out}: another process works on this study; wait for it, or stop it") from None
        yield

"""The records of a finished run as one small file, and back: enough for every report, without weights."""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gym_grounding.demos.write import write_bytes
from gym_grounding.errors import CorruptRun, InvalidOption, PlanMismatch
from gym_grounding.records import EpisodeRecord, ProbeRecord, RunHeader, from_json, to_json
from gym_grounding.report import CURVES
from gym_grounding.store import FILE as RECORDS
from gym_grounding.store import RunStore
from gym_grounding_policies.study.plan import DONE, FILE, RUNS, stored_plan
from gym_grounding_policies.training.plan import FILE as TRAINING

FORMAT = 1
ENDING = ".json.xz"
LARGEST = 256 * 2**20
"""Bytes that a file may unpack to; a study's are a thousandth of that."""
FOLDER = re.compile(r"[A-Za-z0-9_+-][A-Za-z0-9_.+-]{0,80}")


@dataclass(frozen=True, slots=True)
class Packed:
    """What a file of records holds.

    Attributes:
        folder: name of the run's folder in its study.
        arguments: of `train`, as the study wrote them down.
        header, episodes, probes: the records.
        curves: text of the learning curves; empty without any.
        training: text of what the run is.
    """

    folder: str
    arguments: tuple[str, ...]
    header: RunHeader
    episodes: tuple[EpisodeRecord, ...]
    probes: tuple[ProbeRecord, ...]
    curves: str
    training: str


def pack(study: Path, out: Path) -> tuple[Path, ...]:
    """Write the records of every finished run of a study; the same records give the same bytes.

    Returns:
        The files.

    Raises:
        InvalidOption: no run is finished.
        CorruptRun: a run cannot be read.
        UnwritableOutput: such as on a full disk.
    """
    known = stored_plan(study / FILE)["runs"]
    done = [folder for folder in known if (study / DONE / folder).exists()]
    if not done:
        raise InvalidOption(f"{study}: no run is finished, so there is nothing to pack")
    out.mkdir(parents=True, exist_ok=True)
    files = []
    for folder in done:
        files.append(out / f"{folder}{ENDING}")
        write_bytes(files[-1], _packed(study, folder, known[folder]))
    return tuple(files)


def unpack(file: Path, study: Path) -> str:
    """Make a finished run of a file of records; a run that is there already is left alone.

    Returns:
        Name of the run's folder.

    Raises:
        CorruptRun: the file is no such file.
        PlanMismatch: the study has the run with other options.
    """
    found = read(file)
    plan = study / FILE
    if plan.exists():
        known = stored_plan(plan)["runs"].get(found.folder)
        if known is not None and tuple(known) != found.arguments:
            raise PlanMismatch(
                f"{file}: {found.folder} was trained by `{' '.join(found.arguments)}`, the study has it by "
                f"`{' '.join(known)}`; leave the file out, or give the study's own"
            )
    place = study / RUNS / found.folder
    if not (place / RECORDS).exists():
        place.mkdir(parents=True, exist_ok=True)
        write_bytes(place / TRAINING, found.training.encode())
        if found.curves:
            write_bytes(place / CURVES, found.curves.encode())
        with RunStore.create(place, found.header) as store:
            for episode in found.episodes:
                store.add_episode(episode)
            store.add_probes(found.probes)
    done = study / DONE
    done.mkdir(exist_ok=True)
    write_bytes(done / found.folder, b"unpacked\n")
    return found.folder


def read(file: Path) -> Packed:
    """The content of a file of records, every field checked.

    Raises:
        CorruptRun: it cannot be read, or holds something else.
    """
    try:
        data = json.loads(_unpacked(file))
        if data["format"] != FORMAT:
            raise ValueError(f"format {data['format']!r}, this version reads {FORMAT}")
        folder, arguments = data["folder"], data["arguments"]
        texts = (data["curves"], data["training"])
        if not (isinstance(folder, str) and FOLDER.fullmatch(folder)):
            raise ValueError(f"no name of a folder: {folder!r}")
        if not (isinstance(arguments, list) and all(isinstance(one, str) for one in (*arguments, *texts))):
            raise ValueError("its command line is no list of texts")
        return Packed(
            folder,
            tuple(arguments),
            from_json(RunHeader, json.dumps(data["header"])),
            tuple(from_json(EpisodeRecord, json.dumps(one)) for one in data["episodes"]),
            tuple(from_json(ProbeRecord, json.dumps(one)) for one in data["probes"]),
            *texts,
        )
    except (OSError, EOFError, lzma.LZMAError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise CorruptRun(f"{file}: holds no records of a run ({error}); copy it again, or leave it out") from error


def _packed(study: Path, folder: str, arguments: Sequence[str]) -> bytes:
    place = study / RUNS / folder
    with RunStore.open(place) as store:
        episodes = sorted(store.episodes(), key=lambda one: one.cell)
        probes = sorted(store.probes(), key=lambda one: (one.stage, one.variant, one.seed, one.observation))
        data: Mapping[str, Any] = {
            "format": FORMAT,
            "folder": folder,
            "arguments": list(arguments),
            "header": json.loads(to_json(store.header)),
            "episodes": [json.loads(to_json(one)) for one in episodes],
            "probes": [json.loads(to_json(one)) for one in probes],
            "curves": _text(place / CURVES),
            "training": _text(place / TRAINING),
        }
    return lzma.compress(json.dumps(data, sort_keys=True, ensure_ascii=False).encode(), preset=9 | lzma.PRESET_EXTREME)


def _unpacked(file: Path) -> bytes:
    """The content; no more than ``LARGEST`` bytes are ever made of it."""
    decompressor = lzma.LZMADecompressor()
    content = decompressor.decompress(file.read_bytes(), max_length=LARGEST)
    if not decompressor.eof:
        raise ValueError("it is cut off" if decompressor.needs_input else f"it holds more than {LARGEST} bytes")
    return content


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""

"""What the oracle showed, carried from its record into the rows of a registry file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from gym_grounding import manifest as manifests
from gym_grounding.errors import InvalidOption
from gym_grounding.manifest import Manifest, Reach
from gym_grounding.manifest._source import Table, parse
from gym_grounding.plan import HORIZON
from gym_grounding.types import Goal, Variant
from gym_grounding.variants import _yaml
from gym_grounding.variants._evidence_file import replace
from gym_grounding.variants._reached import Reached

HEAD, AFTER = "oracle", "physics"
"""The section that says which oracle it was, in which simulator, and the one behind which it stands."""

Coming: TypeAlias = Mapping[tuple[str, Goal, tuple[tuple[str, float], ...]], Collection[int]]
"""Task id, goal and presets, sorted -> initial states from which it is about to be tried."""


def certified(raw: bytes, record: Reached, file: str = "registry") -> bytes:
    """A registry file whose rows say of every goal what the record says, and nothing where it says nothing.

    Args:
        raw: contents of a file as ``variants build`` writes it.
        record: the oracle's episodes.
        file: its path, for messages.

    Raises:
        RegistryError: the file is not valid.
        InvalidOption: it was not written by ``variants build``, and comments or layout would be lost.
    """
    data, comment = parse(raw, file), _comment(raw)
    if _yaml.dump(data, comment) != raw:
        raise InvalidOption(
            f"{file}: is not in the form in which `gym-grounding variants build` writes registries, so nothing is "
            "written into it. What the oracle showed stands in the record"
        )
    manifest = manifests.parsed(raw, file)
    for row in data["variants"]:
        _certify(row, _reach(manifest, manifest.variants[row["id"]], record))
    return _yaml.dump(_headed(data, record if _anything(manifest, record) else None), comment)


def refuse_loss(manifest: Manifest, record: Reached, coming: Coming | None = None) -> None:
    """Certificates that stand in a registry are not taken out, and none gets fewer starts, without being asked for.

    Args:
        manifest: the registry that would be written.
        record: the oracle's episodes.
        coming: what is about to be tried and recorded.

    Raises:
        InvalidOption: some would be; says how many, of which oracle and simulator, and what to do.
    """
    rows = [row for row in manifest.variants.values() if manifests.reach(row)]
    lost = [row for row in rows if _loses(manifest, row, record, coming or {})]
    if lost:
        theirs = f"oracle {manifest.oracle['version']} in {manifest.oracle['physics']}"
        raise InvalidOption(
            f"{manifest.path}: {len(lost)} of {len(rows)} rows with certificates ({theirs}) would lose them, or have "
            f"them from fewer initial states; the first is {lost[0].id}. {record.path} does not hold as many episodes "
            f"of oracle {record.oracle} in {record.physics}. Try those rows too, leave the registry as it is "
            "(--record-only), or write it all the same (--force)"
        )


def _loses(manifest: Manifest, row: Variant, record: Reached, coming: Coming) -> bool:
    found = manifests.reach(row)
    if found is None or row.goal is None:
        return False
    known = record.outcomes(manifest.tasks[row.task], row.goal, row.joints)
    return len({*known, *coming.get((row.task, row.goal, tuple(sorted(row.joints.items()))), ())}) < found.attempts


def write(path: Path, record: Reached, force: bool = False) -> bool:
    """Write certificates into a registry file; whether it changed.

    Args:
        force: also where certificates are lost.

    Raises:
        RegistryError, InvalidOption: see ``certified`` and ``refuse_loss``; the file is left alone.
        UnwritableOutput: it cannot be written.
    """
    before = path.read_bytes()
    if not force:
        refuse_loss(manifests.parsed(before, str(path)), record)
    after = certified(before, record, str(path))
    manifests.parsed(after, str(path))
    if after == before:
        return False
    replace(path, after.decode())
    return True


def _comment(raw: bytes) -> str:
    lines = []
    for line in raw.decode().splitlines():
        if not line.startswith("#"):
            break
        lines.append(line[2:])
    return "\n".join(lines)


def _reach(manifest: Manifest, variant: Variant, record: Reached) -> Reach | None:
    if variant.goal is None or not record:
        return None
    return record.reach(manifest.tasks[variant.task], variant.goal, variant.joints, variant.judged)


def _anything(manifest: Manifest, record: Reached) -> bool:
    """Whether anything recorded speaks of the file's goals; originals have no certificate, but were tried too."""
    if not record:
        return False
    tasks = manifest.tasks.values()
    variants = manifest.variants.values()
    return any(record.outcomes(task, task.goal) for task in tasks) or any(
        _reach(manifest, variant, record) for variant in variants
    )


def _headed(data: Table, record: Reached | None) -> dict[str, Any]:
    sections: dict[str, Any] = {}
    for name, content in data.items():
        if name != HEAD:
            sections[name] = content
        if name == AFTER and record is not None:
            sections[HEAD] = {"version": record.oracle, "physics": record.physics, "horizon": HORIZON}
    return sections


def _certify(row: dict[str, Any], found: Reach | None) -> None:
    """Put what was found into a row, in the place of what stood there."""
    certificate = {name: value for name, value in row.get("certificate", {}).items() if name not in ("reachable", HEAD)}
    if found is not None:
        certificate |= {"reachable": found.reachable, HEAD: _counts(found)}
    if certificate:
        row["certificate"] = certificate
    else:
        row.pop("certificate", None)


def _counts(found: Reach) -> Mapping[str, Any]:
    steps = {} if found.median_steps is None else {"median_steps": found.median_steps}
    return {
        "attempts": found.attempts,
        "successes": found.successes,
        "stable": found.stable,
        "transient": found.transient,
        "trivial": found.trivial,
        **steps,
        "verdict": found.verdict,
    }

"""Whether a command continues a run, and what its header then says."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from gym_grounding.errors import PlanMismatch
from gym_grounding.records import RunHeader

JOINED = " | "
"""Stands between the versions of a run that was continued with another one."""


def merge_headers(stored: RunHeader, asked: RunHeader, accept_versions: bool, where: str) -> RunHeader:
    """The header of a continued run: ``stored``, and the versions and scenes that ``asked`` adds to it.

    The plan's registry path is not compared, since a run may move to another machine; the registry's hash is.

    Nor is the form, which changes no record; one that is added stands beside the stored one.

    Args:
        accept_versions: write a changed version beside the stored one, separated by `` | ``. A changed source revision
            always is: it tells where to look, the hash of the code among the versions tells whether anything changed.
        where: names the run in errors.

    Raises:
        PlanMismatch: names every field that differs, with both values and the remedy.
    """
    changed = _differences(_identity(stored, asked), _identity(asked, stored))
    if changed:
        raise PlanMismatch(
            f"{where} holds another run: {'; '.join(changed)}. Give another directory, or repeat the stored settings"
        )
    versions, moved = _merge_versions(stored.versions, asked.versions)
    if moved and not accept_versions:
        raise PlanMismatch(
            f"{where} was begun with other versions: {'; '.join(moved)}. Restore the stored ones, give another "
            "directory, or accept the mixture (accept_versions=True, --accept-versions); the header will name both"
        )
    return dataclasses.replace(
        stored,
        versions=versions,
        source_revision=_joined(stored.source_revision, asked.source_revision),
        form=_joined(stored.form, asked.form),
        scenes={**asked.scenes, **stored.scenes},
    )


def _identity(header: RunHeader, other: RunHeader) -> dict[str, Any]:
    """What may not change between the parts of one run; only scenes that both know can be compared."""
    return {
        "name": header.name,
        "policy": header.policy,
        "policy_options": dict(header.policy_options),
        "plan": _without_path(header.plan),
        "registry_sha256": header.registry_sha256,
        "scenes": {scene: value for scene, value in header.scenes.items() if scene in other.scenes},
        "task_identity": header.task_identity,
    }


def _without_path(plan: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in plan.items() if key != "registry"}


def _merge_versions(stored: Mapping[str, str], asked: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Both together, and a phrase for each that changed."""
    merged, moved = dict(stored), []
    for name, version in asked.items():
        known = merged.setdefault(name, version)
        merged[name] = _joined(known, version)
        if merged[name] != known:
            moved.append(f"{name} {known} stored, {version} now")
    return merged, moved


def _joined(known: str, version: str) -> str:
    """``known`` with ``version`` beside it, if it is not among them."""
    return JOINED.join(dict.fromkeys(part for part in (*known.split(JOINED), version) if part))


def _differences(stored: Mapping[str, Any], asked: Mapping[str, Any]) -> list[str]:
    old, new = _flat(stored), _flat(asked)
    return [
        f"{key} {_short(old.get(key, '(none)'))} stored, {_short(new.get(key, '(none)'))} asked"
        for key in dict.fromkeys([*old, *new])
        if old.get(key) != new.get(key)
    ]


def _flat(mapping: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Nested mappings as one: ``plan.settings.image_size`` -> JSON text, so that tuples equal lists."""
    flat: dict[str, str] = {}
    for key, value in mapping.items():
        if isinstance(value, Mapping):
            flat.update(_flat(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return flat


def _short(text: str, limit: int = 160) -> str:
    return text if len(text) <= limit else f"{text[: limit - 3]}..."

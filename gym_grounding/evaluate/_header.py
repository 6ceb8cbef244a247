"""What was run, with the version of everything that can change a number."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
import os
import platform
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gym_grounding import adapters
from gym_grounding.errors import InvalidOption, PolicyError
from gym_grounding.manifest import Manifest
from gym_grounding.plan import Plan
from gym_grounding.policy import PolicySource
from gym_grounding.records import POLICY_FILE, POLICY_SOURCE, RunHeader
from gym_grounding.types import SceneFacts
from gym_grounding.workers import PolicyFacts

DISTRIBUTION = "gym-grounding"
UNKNOWN = "unknown"
GIT_SECONDS = 10.0
SOURCE = "gym-grounding source"
"""Key of the hash of this package's code in a header's versions."""
SOURCE_KINDS = (".py", ".yaml", ".npz")
"""Endings of the files that the package is made of."""
DIGITS = 16
"""Length of the hashes [hexadecimal digits]."""


def make_header(
    name: str, source: PolicySource, plan: Plan, manifest: Manifest, facts: PolicyFacts, form: str = ""
) -> RunHeader:
    """The header of a run that is about to begin.

    Args:
        form: where the episodes run, see ``workers.form_of``.

    Raises:
        InvalidOption: a policy option cannot be written as JSON.
    """
    used = {cell.variant for cell in plan.cells(manifest)}
    tasks = sorted({manifest.variant(variant).task for variant in used})
    return RunHeader(
        name=name,
        policy=source.description,
        policy_options=_as_json(source.options),
        plan=plan.to_json(),
        registry_sha256=manifest.sha256,
        scenes={scene.id: _scene_hash(scene) for scene in map(manifest.scene_of, tasks)},
        versions={**_versions({manifest.adapter_name(task) for task in tasks}), **facts.versions},
        source_revision=source_revision(),
        task_identity=facts.task_identity,
        settings={**plan.settings.to_json(), "horizon": plan.horizon, "stop": plan.stop},
        form=form,
    )


def policy_versions(source: PolicySource) -> dict[str, str]:
    """Hashes of what a policy is made of: its module's file, and each file that an option names by its plain path.

    Raises:
        PolicyError: such a file cannot be read.
    """
    files = {POLICY_SOURCE: source.file} if source.file else {}
    files |= {
        f"{POLICY_FILE} {key}": Path(value)
        for key, value in source.options.items()
        if isinstance(value, str | os.PathLike) and os.path.isfile(value)
    }
    try:
        return {name: _hash_of(path) for name, path in files.items()}
    except OSError as error:
        raise PolicyError(f"{source.description}: {error.filename} cannot be read ({error.strerror})") from error


@functools.cache
def package_hash(folder: Path | None = None) -> str:
    """Hash of the package's code and data, wherever it is installed and whatever else its checkout holds.

    The registry is left out: a header has its hash, and a checkout keeps it elsewhere than a wheel.

    Args:
        folder: the package; None for the installed one.
    """
    folder = folder or Path(__file__).parents[1]
    files = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.suffix in SOURCE_KINDS)
    total = hashlib.sha256()
    for path in files:
        if path != Path("registry.yaml"):
            total.update(f"{path.as_posix()} {_hash_of(folder / path)}\n".encode())
    return total.hexdigest()[:DIGITS]


def _hash_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:DIGITS]


def source_revision(folder: Path | None = None) -> str:
    """Commit of the checkout that holds the package, with ``+dirty`` if tracked files were changed; else empty.

    Args:
        folder: a folder of the package; None for the installed one.
    """
    folder = folder or Path(__file__).parent
    # a site-packages folder may lie inside somebody's checkout without being part of it
    if _git(folder, "ls-files", "--error-unmatch", "--", Path(__file__).name) is None:
        return ""
    commit = _git(folder, "rev-parse", "HEAD")
    changes = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return f"{commit}{'+dirty' if changes else ''}" if commit else ""


def _git(folder: Path, *arguments: str) -> str | None:
    """What git prints; None if it fails, is missing or takes too long."""
    command = ["git", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=GIT_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return done.stdout.strip()


def _versions(adapter_names: set[str]) -> dict[str, str]:
    versions = {
        "python": platform.python_version(),
        "platform": f"{platform.system()}-{platform.machine()}",  # a run may move to another machine of one kind
        **{name: _version(name) for name in (DISTRIBUTION, "gymnasium", "numpy")},
        SOURCE: package_hash(),
    }
    for name in sorted(adapter_names):
        versions |= adapters.get(name).versions()
    return versions


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:  # a checkout that is not installed
        return UNKNOWN


def _scene_hash(scene: SceneFacts) -> str:
    """The adapter's own hash of the scene's source, where it offers one; the scene's id is a hash already."""
    offered = getattr(adapters.get(scene.adapter), "scene_hash", None)
    return scene.id if offered is None else str(offered(scene))


def _as_json(options: Mapping[str, Any]) -> dict[str, Any]:
    try:
        data: dict[str, Any] = json.loads(json.dumps(dict(options), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise InvalidOption(
            f"policy options must be plain data, since the run's header records them: {error}"
        ) from error
    return data

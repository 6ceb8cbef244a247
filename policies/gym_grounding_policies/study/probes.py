"""Probes of a study's runs, where the file asks for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gym_grounding.errors import PolicyError
from gym_grounding_policies.probing import probe_run


def ask(run: Path, demos: Path, demonstrations: int, say: Callable[[str], None]) -> None:
    """Probe the last stage of a run whose weights are at hand; others are left as they are.

    Args:
        run: its folder.
        demos: folder of demonstrations.
        demonstrations: of each task, whose moments are shown.
        say: is told what was found.
    """
    if not any(run.glob("stage-*")):
        say(f"{run.name}: not probed, its weights are not here (only its records)")
        return
    try:
        found = probe_run(run, demos, limit=demonstrations)
    except PolicyError as error:
        say(f"{run.name}: not probed: {error}")
        return
    reason = f"; no language margin: {found.no_margin}" if found.no_margin else ""
    say(f"{run.name}: {found.added} new probes at {found.moments} moments{reason}")

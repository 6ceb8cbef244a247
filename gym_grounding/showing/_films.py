"""Films of chosen episodes of a run: simulated again from the records, and compared with them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from gym_grounding import manifest as manifests
from gym_grounding.errors import CorruptRun, InvalidOption, PlanMismatch, UnwritableOutput
from gym_grounding.manifest import Manifest
from gym_grounding.plan import Plan
from gym_grounding.policy import PolicySource
from gym_grounding.records import EpisodeRecord, RunHeader, to_json
from gym_grounding.showing._episode import Episode, Moment
from gym_grounding.showing._show import Outcome, show
from gym_grounding.store import RunStore
from gym_grounding.types import SceneSettings

LIST = "films.json"
OUTCOMES = ("success", "persistence", "switch", "none")
"""What can be chosen: the goal that scores the episode was reached; the original one although another, or none, was
asked for; a contrast's own and never the original one; no goal at all."""
ASKS_FOR_ORIGINAL = ("original", "paraphrase", "shuffled", "noise")

Progress = Callable[[Iterable[Any], int], Iterable[Any]]


@dataclass(frozen=True, slots=True)
class Chosen:
    """An episode to be filmed.

    Attributes:
        run: its folder.
        header: of the run.
        record: what was recorded of it.
        outcome: one of ``OUTCOMES``.
    """

    run: Path
    header: RunHeader
    record: EpisodeRecord
    outcome: str

    @property
    def file(self) -> str:
        """Name of the film; its last part tells apart runs of one method, such as from other starts."""
        name = "".join(sign if sign.isalnum() else "-" for sign in self.header.name)
        one, header = self.record, self.header
        run = _digest([header.name, header.policy, dict(header.policy_options), dict(header.plan)])[:8]
        return f"{name}-{one.variant}-stage{one.stage}-state{one.init_state}-seed{one.seed}-{self.outcome}-{run}.mp4"


def outcome_of(one: EpisodeRecord) -> str | None:
    """What an episode is an example of; None for what is none of them, such as both goals or another task's."""
    if one.void:
        return None
    if one.condition == "contrast" and one.reached("target") and not one.reached("original"):
        return "switch"
    if one.success:
        return "success" if not (one.condition == "contrast" and one.reached("original")) else None
    if one.condition not in ASKS_FOR_ORIGINAL and one.reached("original"):
        return "persistence"
    return None if one.first_held else "none"


def choose(
    runs: Sequence[Path],
    per: int = 1,
    outcomes: Sequence[str] = OUTCOMES,
    conditions: Sequence[str] | None = None,
    variants: Sequence[str] | None = None,
    seed: int = 0,
) -> tuple[Chosen, ...]:
    """Episodes of the last stage: for each run and condition (or each variant that is named) some of each outcome.

    Args:
        runs: folders of runs.
        per: how many of each.
        outcomes, conditions: which; None for all conditions.
        variants: ids; given, each is a group of its own.
        seed: of the choice; the same records and seed choose the same episodes.

    Raises:
        InvalidOption: an unknown outcome, nothing fits, or two runs are of the same policy and plan.
        CorruptRun: a folder without a readable run.
    """
    unknown = sorted(set(outcomes) - set(OUTCOMES))
    if unknown:
        raise InvalidOption(f"no outcome {unknown[0]!r}; choose from {', '.join(OUTCOMES)}")
    rng = np.random.default_rng(seed)
    found: list[Chosen] = []
    for run in runs:
        with RunStore.open(run) as store:
            header, episodes = store.header, store.episodes()
        groups: dict[tuple[str, str], list[EpisodeRecord]] = {}
        last = max((one.stage for one in episodes), default=0)
        for one in episodes:
            outcome = outcome_of(one)
            wanted = one.condition in (conditions or (one.condition,)) and one.variant in (variants or (one.variant,))
            if outcome in outcomes and wanted and one.stage == last:
                groups.setdefault((one.variant if variants else one.condition, str(outcome)), []).append(one)
        for (_, outcome), listed in sorted(groups.items()):
            listed.sort(key=lambda one: one.cell)
            places = sorted(rng.permutation(len(listed))[:per])
            found += [Chosen(run, header, listed[place], outcome) for place in places]
    if not found:
        raise InvalidOption("no episode of the last stage fits what is asked (outcomes, conditions, variants)")
    _check_names(found)
    return tuple(found)


def _check_names(chosen: Iterable[Chosen]) -> None:
    names: dict[str, Path] = {}
    for one in chosen:
        if one.file in names:
            raise InvalidOption(
                f"{names[one.file]} and {one.run} are runs of the same policy and plan, so their films would have the "
                "same names; give one of them, or make their films in folders of their own"
            )
        names[one.file] = one.run


def make(
    chosen: Sequence[Chosen], out: Path, size: int = 256, progress: Progress = lambda one, total: one
) -> list[str]:
    """Film episodes, and list them in ``films.json``; films that are there and of the same record are kept.

    Args:
        chosen: the episodes.
        out: folder of the films, such as ``films`` in a report's folder.
        size: side of the picture [pixels].
        progress: wraps the episodes; also gets their number.

    Returns:
        One line for each film in which something else happened than was recorded.

    Raises:
        PolicyError: a policy is not at hand, or fails.
        PlanMismatch: the registry that was used is not at hand.
        CorruptRun: the list of films that is there cannot be read.
        UnwritableOutput: such as on a full disk; films that are whole are kept.
        InvalidOption, MissingSource, MissingRenderer, WrongVersion, SimulatorError: see ``Episode.play``.
    """
    old = {str(row["file"]): dict(row) for row in _listed(out / LIST)}
    rows: dict[str, dict[str, Any]] = {}
    for one in progress(chosen, len(chosen)):
        known = old.get(one.file)
        if known is not None and known.get("record") == _hash(one.record) and (out / one.file).is_file():
            rows[one.file] = known
        else:
            rows[one.file] = _row(one, _filmed(one, out / one.file, size))
        _write(out / LIST, {**old, **rows})
    return [f"{name}: {rows[name]['differs']}" for name in rows if not rows[name]["same"]]


def differences(record: EpisodeRecord, last: Moment) -> list[str]:
    """How an episode that was simulated again differs from its record."""
    found = {
        "steps": (record.steps, last.step),
        "goals true from the start": (sorted(record.void), sorted(last.void)),
        "first steps of goals": (dict(record.first_held), dict(last.first)),
        "goals at the end": (sorted(record.held_at_end), sorted(last.held)),
    }
    return [f"{name}: recorded {mine}, now {theirs}" for name, (mine, theirs) in found.items() if mine != theirs]


def _filmed(one: Chosen, path: Path, size: int) -> Outcome:
    plan = Plan.from_json(one.header.plan)
    manifest = _registry(one, plan)
    record, settings = one.record, one.header.settings
    known = {field.name: settings[field.name] for field in fields(SceneSettings) if field.name in settings}
    if known.get("observation") == "state":
        known["image_size"] = size  # nobody but the film sees the pictures
    episode = Episode(
        record.variant,
        record.init_state,
        record.seed,
        horizon=plan.horizon,
        stop=plan.stop,
        full=True,
        settings=SceneSettings(**known),
        stage=record.stage,
    )
    source = PolicySource(one.header.policy, one.header.policy_options)
    return show(manifest, episode, source, path, size=size, force=True)


def _registry(one: Chosen, plan: Plan) -> Manifest:
    manifest = manifests.load(plan.registry)
    if manifest.sha256 != one.header.registry_sha256:
        raise PlanMismatch(
            f"{one.run}: the registry that it used (sha256 {one.header.registry_sha256[:12]}) is not at hand, this one "
            f"has {manifest.sha256[:12]}; its episodes cannot be simulated again"
        )
    return manifest


def _row(one: Chosen, outcome: Outcome) -> dict[str, Any]:
    record, differs = one.record, differences(one.record, outcome.last)
    return {
        "method": one.header.name,
        "run": one.run.resolve().name,
        "variant": record.variant,
        "condition": record.condition,
        "instruction": record.instruction,
        "seed": record.seed,
        "stage": record.stage,
        "init_state": record.init_state,
        "outcome": one.outcome,
        "file": one.file,
        "caption": f"{record.instruction!r}: {outcome.summary}",
        "record": _hash(record),
        "same": not differs,
        "differs": "; ".join(differs),
    }


def _hash(record: EpisodeRecord) -> str:
    """Of everything but the time that it took."""
    return _digest({key: value for key, value in json.loads(to_json(record)).items() if key != "seconds"})[:16]


def _digest(data: Any) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def _listed(path: Path) -> Iterator[Mapping[str, Any]]:
    if not path.exists():
        return
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        yield from ({**row, "file": row["file"]} for row in rows)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise CorruptRun(f"{path}: is no list of films ({error!r}); remove it, and the films are made anew") from error


def _write(path: Path, rows: Mapping[str, Mapping[str, Any]]) -> None:
    """The list of the films whose files are there, whole or not at all."""
    own = [row for name, row in sorted(rows.items()) if (path.parent / name).is_file()]
    unfinished = path.with_suffix(".partial")
    try:
        unfinished.write_text(json.dumps(own, indent=1) + "\n", encoding="utf-8")
        os.replace(unfinished, path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise UnwritableOutput(f"{path}: cannot be written ({error.strerror}); the films are kept") from error

"""One stored observation, the task's own instruction and a variant's: two answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from gym_grounding import manifest as manifests
from gym_grounding.conditions import get
from gym_grounding.errors import InvalidOption, PlanMismatch, PolicyError
from gym_grounding.manifest import Manifest
from gym_grounding.plan import Plan, episode_seed
from gym_grounding.policy import Policy, PolicySource, State, actions_of, begin, blamed, numbers_of
from gym_grounding.probe._observations import StoredObservations, load_observations
from gym_grounding.records import Cell, ProbeRecord
from gym_grounding.store import RunStore
from gym_grounding.types import Variant
from gym_grounding.wrappers import INSTRUCTION_KEY, instruction_bytes

BATCH = 32
"""Observations per call of the policy."""

Stored = str | Path | Mapping[str, StoredObservations]


def probe(
    policy: str | object,
    observations: Stored,
    plan: Plan,
    out: str | Path,
    *,
    options: Mapping[str, Any] | None = None,
    stages: Iterable[int] | None = None,
) -> int:
    """Probe every variant of a run's plan and add the records to the run; how many were new.

    Interrupted, the same call continues. See ``probes_of`` for what is asked of the policy.

    Args:
        policy, options, plan: those of the run.
        observations: a file of ``collect`` or ``save_observations``, or what ``load_observations`` returns.
        out: directory of the run, made by ``evaluate``.
        stages: of the plan, those to probe; None for all.

    Raises:
        PlanMismatch: the run is another one; names what differs.
        PolicyError: the policy cannot be made or answers wrongly.
        InvalidOption: there are no observations of the tasks of the plan's (chosen) stages.
        MissingSource, CorruptRun, UnwritableOutput: a file cannot be read or written.
    """
    stored = load_observations(observations) if isinstance(observations, str | Path) else observations
    manifest = manifests.load(plan.registry)
    source = PolicySource(policy, options)
    RunStore.open(out).close()  # a missing run is an error here, not a place to make one
    with RunStore.writer(out) as store:
        _check_run(store, source, plan, manifest)
        work = _work(stored, plan, manifest, plan.stages if stages is None else tuple(stages))
        done, added = store.done_probes(), 0
        for stage, seed, variant in tqdm(work, unit="variant", disable=None):
            names = {name for name in stored[variant.task].names if (stage, variant.id, seed, name) not in done}
            if names:
                made = source.get(stage, seed, plan.registry)
                records = probes_of(made, variant, stored[variant.task], manifest, stage, seed)
                added += store.add_probes(record for record in records if record.observation in names)
    return added


def _work(
    stored: Mapping[str, StoredObservations], plan: Plan, manifest: Manifest, stages: Sequence[int]
) -> list[tuple[int, int, Variant]]:
    """(stage, seed, variant) of all variants that can be asked at the stored observations of their task.

    An original has nothing to differ from, and a variant that starts elsewhere has other observations.
    """
    work = [
        (stage, seed, variant)
        for stage in plan.stages
        if stage in stages
        for seed in plan.seeds
        for variant in plan.variants(manifest, stage)
        if variant.task in stored and variant.condition != "original" and not get(variant.condition).own_start
    ]
    if not work:
        raise InvalidOption(
            f"the observations are of {', '.join(stored)}; the plan has no variants of these tasks to compare with"
        )
    for task in dict.fromkeys(variant.task for _, _, variant in work):
        settings = stored[task].settings
        if settings not in (None, plan.settings):
            raise InvalidOption(f"the observations of {task} were stored with {settings}, the plan has {plan.settings}")
    return work


def probes_of(
    policy: Policy, variant: Variant, stored: StoredObservations, manifest: Manifest, stage: int, seed: int
) -> Iterator[ProbeRecord]:
    """The answers to each stored observation of a variant's task under the original and under the variant.

    Asked are ``mean_action``, or ``act`` where the policy has none, after ``start`` with the instruction and a seed
    that is the same for both; and, with an expert action, ``log_prob`` where the policy has it. Every observation is
    the first of its own episode: a policy with a memory answers without it. Both instructions are asked in equal
    batches, so a policy that ignores the words answers equally to the last bit. The ``instruction`` in the observation
    is the one that ``start`` was given.

    Raises:
        PolicyError: the policy raised, or its answer has the wrong shape or is not finite.
    """
    (original,) = manifest.select(tasks=[variant.task], conditions=["original"])
    for first in range(0, len(stored.names), BATCH):
        rows = slice(first, first + BATCH)
        batch = _Batch(
            observations={key: array[rows] for key, array in stored.observations.items()},
            experts=None if stored.expert_actions is None else stored.expert_actions[rows],
            seeds=tuple(episode_seed(Cell(stage, variant.id, index, seed)) for index in range(len(stored.names))[rows]),
            task=variant.task,
        )
        (actions_original, probs_original), (actions_variant, probs_variant) = (
            _answers(policy, batch, row.instruction, variant.id) for row in (original, variant)
        )
        for index, name in enumerate(stored.names[rows]):
            yield ProbeRecord(
                stage=stage,
                variant=variant.id,
                seed=seed,
                task=variant.task,
                condition=variant.condition,
                slot=variant.slot,
                tier=variant.tier,
                observation=name,
                action_original=tuple(actions_original[index].tolist()),
                action_variant=tuple(actions_variant[index].tolist()),
                log_prob_original=probs_original[index],
                log_prob_variant=probs_variant[index],
            )


@dataclass(frozen=True, slots=True)
class _Batch:
    """B observations of one task: arrays (B, ...), expert actions (B, n) or None, B seeds."""

    observations: Mapping[str, NDArray[Any]]
    experts: NDArray[Any] | None
    seeds: tuple[int, ...]
    task: str


def _answers(
    policy: Policy, batch: _Batch, instruction: str, variant: str
) -> tuple[NDArray[np.float64], Sequence[float | None]]:
    """Mean actions (B, n) and log densities of the expert's actions under one instruction."""
    count = len(batch.seeds)
    mean_action, log_prob = (getattr(policy, name, None) for name in ("mean_action", "log_prob"))

    def begun() -> tuple[dict[str, NDArray[Any]], State]:
        shown = {INSTRUCTION_KEY: np.tile(instruction_bytes(instruction), (count, 1))}
        observations = {key: array.copy() for key, array in batch.observations.items()} | shown
        return observations, begin(policy, [instruction] * count, batch.seeds, [batch.task] * count)

    with blamed("mean_action" if mean_action else "act", f"a probe of {variant}"):
        if mean_action:
            actions = _finite(numbers_of(mean_action(*begun()), (count, None)))
        else:
            actions = _finite(actions_of(policy, *begun(), (count, None))[0])
    if log_prob is None or batch.experts is None:
        return actions, [None] * count
    with blamed("log_prob", f"a probe of {variant}"):
        return actions, _finite(numbers_of(log_prob(*begun(), batch.experts.copy()), (count,))).tolist()


def _finite(answer: NDArray[Any]) -> NDArray[np.float64]:
    if not np.isfinite(answer).all():
        raise PolicyError("it returned NaN or an infinity")
    return answer.astype(np.float64)


def _check_run(store: RunStore, source: PolicySource, plan: Plan, manifest: Manifest) -> None:
    header = store.header
    differing = [f"plan.{name}" for name, _, _ in Plan.from_json(header.plan).differences(plan)]
    asked = {"policy": source.description, "policy_options": source.options, "registry_sha256": manifest.sha256}
    differing += [name for name, value in asked.items() if getattr(header, name) != value]
    if differing:
        raise PlanMismatch(
            f"{store.path.parent} holds another run: {', '.join(differing)} differ; probe with the run's own settings"
        )

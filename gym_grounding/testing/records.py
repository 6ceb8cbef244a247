"""Records without a simulator: single episodes, and whole runs of an invented deaf or listening policy."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

from gym_grounding import conditions
from gym_grounding.manifest import Manifest
from gym_grounding.metrics import Curve, Evidence
from gym_grounding.plan import Plan
from gym_grounding.records import MOTION_THRESHOLDS, Cell, EpisodeRecord, ProbeRecord, RunHeader
from gym_grounding.store import RunStore
from gym_grounding.types import Variant

BEHAVIOURS = ("deaf", "listening")


def episode(
    condition: str = "original",
    *,
    task: str = "Toy-T0",
    variant: str | None = None,
    slot: str | None = None,
    tier: str | None = None,
    kind: str = "",
    judged: str = "ever",
    stage: int = 0,
    init_state: int = 0,
    seed: int = 0,
    reached: Mapping[str, int] | Iterable[str] = (),
    at_end: Iterable[str] | None = None,
    void: Iterable[str] = (),
    moved: float = 0.3,
    instruction: str = "do it",
    described: bool = False,
    notes: Mapping[str, object] | None = None,
) -> EpisodeRecord:
    """One episode that is consistent in itself.

    Args:
        reached: labels that held at some step, with the first step if it matters (else 10).
        at_end: labels that held after the last step; None for those of ``reached``.
        void: labels that already held right after settling.
        moved: largest distance of the hand from its start [m].
        described: nothing scores the variant, whatever its condition says.
        notes: what the policy noted.
    """
    steps = dict(reached) if isinstance(reached, Mapping) else {label: 10 for label in reached}
    end = tuple(steps if at_end is None else at_end)
    label = None if described else conditions.get(condition).scored_by
    success = None
    if label is not None and label not in void:
        success = label in end if judged == "end" else label in steps
    return EpisodeRecord(
        stage=stage,
        variant=variant or f"{task}-{condition.capitalize()}{(slot or '').capitalize()}1",
        init_state=init_state,
        seed=seed,
        task=task,
        condition=condition,
        slot=slot,
        tier=tier,
        kind=kind,
        judged=judged,
        instruction=instruction,
        instruction_sha256=hashlib.sha256(instruction.encode()).hexdigest(),
        episode_seed=0,
        steps=100,
        ended="terminated" if success and label == "original" else "truncated",
        success=success,
        first_held=steps,
        held_at_end=end,
        void=tuple(void),
        motion_steps={str(at): 1 for at in MOTION_THRESHOLDS if moved >= at},
        displacement=moved,
        action_mean_norm=0.5,
        task_identity=False,
        seconds=0.0,
        notes=notes or {},
    )


def evidence(
    episodes: Iterable[EpisodeRecord] = (),
    *,
    order: Iterable[str] = ("Toy-T0", "Toy-T1", "Toy-T2"),
    stages: Iterable[int] = (0,),
    method: str = "method",
    probes: Iterable[ProbeRecord] = (),
    curves: Iterable[Curve] = (),
    trained: Mapping[str, str] | None = None,
    planned: Iterable[str] = ("original", "paraphrase", "contrast", "collision"),
    instruction_of: Mapping[str, str] | None = None,
    reach: Mapping[str, str] | None = None,
) -> Evidence:
    """What metrics are computed from; every task of the order counts as evaluated."""
    tasks = tuple(order)
    return Evidence(
        method=method,
        order=tasks,
        tasks=tasks,
        stages=tuple(stages),
        conditions=tuple(planned),
        episodes=tuple(episodes),
        probes=tuple(probes),
        curves=tuple(curves),
        trained=trained or {},
        instruction_of=instruction_of or {},
        reach=reach or {},
    )


def invented(
    manifest: Manifest, cell: Cell, behaviour: str, skill: float = 0.7, drift: float = 0.01, frozen: bool = False
) -> EpisodeRecord:
    """What an invented policy does in a cell; whether it masters a goal depends on the goal's task and the start alone.

    Args:
        behaviour: ``deaf`` does the scene's own task whatever it is told; ``listening`` does what it is told and
            stands still where nothing can be done.
        skill: share of starts from which it masters a goal, in [0, 1].
        drift: displacement of the hand when it stands still [m].
        frozen: the policy is the same at every stage.
    """
    variant = manifest.variant(cell.variant)
    asked = conditions.asked(variant, manifest.task(variant.task))
    own = conditions.scored_by(variant) == "target"
    goal = "target" if own and behaviour == "listening" else "original"
    # A preset joint is taken for what the original asks for, so that nothing is left to do for it.
    void = ("original",) if variant.joints else ()
    idle = goal in void or (behaviour == "listening" and (asked is None or variant.described))
    start = (goal, variant.task, 0 if frozen else cell.stage, cell.init_state, cell.seed)
    lucky = not idle and _chance(*start) < skill
    steps = {goal: 40 + int(50 * _chance("step", *start))} if lucky else {}
    return episode(
        variant.condition,
        task=variant.task,
        variant=variant.id,
        slot=variant.slot,
        tier=variant.tier,
        kind=variant.kind,
        judged=variant.judged,
        stage=cell.stage,
        init_state=cell.init_state,
        seed=cell.seed,
        reached=steps,
        at_end=[*steps, *(() if steps else void)],
        void=void,
        moved=drift if idle else 0.3,
        instruction=variant.instruction,
        described=variant.described,
    )


def invented_probe(variant: Variant, cell: Cell, behaviour: str, observation: str) -> ProbeRecord:
    """A probe of an invented policy: the deaf one acts alike under both instructions."""
    shift = 0.0 if behaviour == "deaf" else _chance(variant.id, observation, cell.seed)
    return ProbeRecord(
        stage=cell.stage,
        variant=variant.id,
        seed=cell.seed,
        task=variant.task,
        condition=variant.condition,
        slot=variant.slot,
        tier=variant.tier,
        observation=observation,
        action_original=(0.1, 0.2, 0.0),
        action_variant=(0.1 + shift, 0.2, 0.0),
        log_prob_original=1.0,
        log_prob_variant=1.0 - 2 * shift,
    )


def write_run(
    directory: str | Path,
    manifest: Manifest,
    plan: Plan,
    behaviour: str,
    *,
    name: str | None = None,
    skill: float = 0.7,
    frozen: bool = False,
    skip: Iterable[Cell] = (),
    probes: bool = False,
    versions: Mapping[str, str] | None = None,
) -> Path:
    """A run directory of an invented policy for a plan; ``skip`` leaves cells out, ``frozen`` is one
    policy at every stage.

    Returns:
        The directory.
    """
    left_out = frozenset(skip)
    settings = {**asdict(plan.settings), "horizon": plan.horizon, "stop": plan.stop}
    scenes = {manifest.task(task).scene: "0" * 12 for task in plan.order}
    header = RunHeader(
        name=name or behaviour,
        policy=f"invented:{behaviour}",
        policy_options={},
        plan=plan.to_json(),
        registry_sha256=manifest.sha256,
        scenes=scenes,
        versions=versions or {"numpy": "2.0.0"},
        source_revision="",
        task_identity=False,
        settings=settings,
    )
    cells = plan.cells(manifest)
    with RunStore.create(directory, header) as store:
        store.connection.execute("PRAGMA synchronous=OFF")  # what is invented need not survive a power cut
        for cell in cells:
            if cell not in left_out:
                store.add_episode(invented(manifest, cell, behaviour, skill, frozen=frozen))
        if probes:
            store.add_probes(
                invented_probe(manifest.variant(cell.variant), cell, behaviour, f"start/{cell.init_state}")
                for cell in cells
                if manifest.variant(cell.variant).condition != "original"
            )
    return Path(directory)


def _chance(*parts: object) -> float:
    """A number in [0, 1) that depends on its arguments alone."""
    digest = hashlib.sha256("/".join(str(part) for part in parts).encode()).digest()
    return int.from_bytes(digest[:7], "big") / 2**56

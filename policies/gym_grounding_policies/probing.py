"""Probes of a training run: what its policies would do at moments of demonstrations under two instructions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gym_grounding import manifest as manifests
from gym_grounding.plan import Plan
from gym_grounding.policy import PolicySource
from gym_grounding.probe import probe
from gym_grounding.store import RunStore
from gym_grounding_policies.demonstrations import read_demonstrations
from gym_grounding_policies.training.plan import files_of


@dataclass(frozen=True, slots=True)
class Probed:
    """What was asked.

    Attributes:
        added: records that the run has now and had not before.
        moments: of all tasks together; each is shown under every variant of its task.
        stages: that were asked.
        no_margin: why there is no language margin; empty where there is one.
    """

    added: int
    moments: int
    stages: tuple[int, ...]
    no_margin: str


def probe_run(run: Path, demos: Path, *, every: int = 10, limit: int | None = 2, every_stage: bool = False) -> Probed:
    """Probe the last stage of a run of ``gym-grounding-policies train``, or all, and add the records to the run.

    Every variant of the run's plan that starts where the originals do is asked at each moment of its task, see
    ``probe.probes_of``. Equal calls add nothing, and an interrupted one goes on. The moments are those of the first
    demonstrations: a run that learned from them is probed where it was trained.

    Args:
        run: folder of a run that was evaluated, and that lies where it was trained.
        demos: folder of its tasks' demonstrations.
        every: distance between moments of a demonstration.
        limit: demonstrations of each task; None for all.
        every_stage: all stages of the plan, each with the variants that are evaluated there.

    Raises:
        CorruptRun: there is no run that was evaluated, or a stage is not there.
        PlanMismatch: its records were made by another policy than the checkpoints'.
        InvalidDemonstration: a file is not there or damaged.
        InvalidOption: there are no variants to ask.
        PolicyError: the policy cannot answer, such as one that needs observations which the demonstrations do not hold.
    """
    with RunStore.open(run) as store:
        header = store.header
    plan = Plan.from_json(header.plan)
    stages = plan.stages if every_stage else plan.stages[-1:]
    manifest = manifests.load(plan.registry)
    files = files_of(demos, [manifest.task(name) for name in plan.order])
    stored = {one.task.id: read_demonstrations(one.path, one.task, every, limit) for one in files}
    policy = PolicySource(header.policy, header.policy_options).get(stages[-1], plan.seeds[-1], plan.registry)
    added = probe(header.policy, stored, plan, run, options=header.policy_options, stages=stages)
    moments = sum(len(one.names) for one in stored.values())
    return Probed(added, moments, stages, str(getattr(policy, "no_log_prob", "")))

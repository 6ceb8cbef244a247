"""Whether goals already hold at the start: the certificate ``true_initially`` of a registry, measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass

from gym_grounding import adapters
from gym_grounding.manifest import Manifest
from gym_grounding.types import STARTS, Goal, SceneSettings, Task, Variant


@dataclass(frozen=True, slots=True)
class StartCount:
    """In how many starts of its task a variant's goal holds right after settling.

    Attributes:
        variant: variant id; originals stand for their task's goal.
        settled: number of starts in which the goal holds.
        of: number of starts looked at.
        recorded: number that the registry's certificate states for all initial states; None without one.
    """

    variant: str
    settled: int
    of: int
    recorded: int | None


def count_starts(
    manifest: Manifest, task: Task, init_states: Sequence[int], starts: str = STARTS[0]
) -> tuple[StartCount, ...]:
    """Open a task's scene and evaluate the goals of its original, contrasts, swaps and reverse texts in given starts.

    Args:
        manifest: the registry.
        task: the task.
        init_states: numbers of the starts.
        starts: their set; see ``types.SceneSettings``.

    Raises:
        InvalidOption: an initial state that the task does not have.
        MissingSource, WrongVersion, SimulatorError: the scene cannot be opened.
    """
    goals = _goals(manifest, task)
    facts = manifest.scene_of(task.id)
    settings = SceneSettings(observation="state", settle_steps=manifest.settle, starts=starts)
    counts = dict.fromkeys((variant.id for variant, _ in goals), 0)
    by_joints: dict[tuple[tuple[str, float], ...], list[tuple[str, Goal]]] = {}
    for variant, goal in goals:
        by_joints.setdefault(tuple(sorted(variant.joints.items())), []).append((variant.id, goal))
    scene = adapters.get(facts.adapter).open(facts, {task.id: task}, settings)
    with closing(scene):
        for joints, watched in by_joints.items():
            for init_state in init_states:
                scene.reset(task, init_state, **({"joints": dict(joints)} if joints else {}))
                for name, goal in watched:
                    counts[name] += scene.holds(goal)
    return tuple(StartCount(name, count, len(init_states), _recorded(manifest, name)) for name, count in counts.items())


def disagreements(counts: Iterable[StartCount]) -> tuple[str, ...]:
    """One line for every goal that holds at a start although the registry does not say so."""
    return tuple(
        f"{one.variant}: its goal holds right after settling in {one.settled} of {one.of} starts; "
        f"the registry records {'nothing' if one.recorded is None else one.recorded}"
        for one in counts
        if one.settled > (one.recorded or 0)
    )


def _goals(manifest: Manifest, task: Task) -> list[tuple[Variant, Goal]]:
    """Variants with a goal of their own, and the original for its task's goal, each with that goal."""
    rows = manifest.select(tasks=[task.id])
    return [(row, row.goal or task.goal) for row in rows if row.condition == "original" or row.goal is not None]


def _recorded(manifest: Manifest, variant: str) -> int | None:
    certificate = manifest.variant(variant).details.get("certificate")
    measured = certificate.get("true_initially") if isinstance(certificate, dict) else None
    return measured["settled"] if isinstance(measured, dict) else None

"""Continual-learning summaries of the stage x task matrix c[t, k], for originals and for paraphrases.

c[t, k] is the success on task k after training through the task at position t of the order (t >= k, both counted from
0 here), K the number of tasks in the order. Where a plan evaluates only some tasks, the means run over those, at their
true positions. Every sum needs all its terms: a stage that was not evaluated makes the number None, it is never
skipped. Everything is computed seed by seed, then mean and standard deviation over seeds. Intervals of AUC and NBT draw
seeds and initial states again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gym_grounding.metrics import _bootstrap
from gym_grounding.metrics._balance import Sample, average, outcomes, over_seeds, rate, task_means
from gym_grounding.metrics._base import Curve, Evidence, Measurement, Metric, Scope, Value, quantity
from gym_grounding.metrics._bootstrap import Source, Start
from gym_grounding.metrics.success import ORIGINAL_GOAL, succeeded, unscored
from gym_grounding.records import EpisodeRecord

Matrix = Mapping[tuple[int, int], float]
"""(stage, position of the task in the order) -> success; absent where nothing was evaluated."""


@dataclass(frozen=True, slots=True)
class Incomplete:
    """Why a sum over the matrix has no value."""

    reason: str


def area_under_curve(matrix: Matrix, positions: Sequence[int], length: int) -> float | Incomplete:
    """Matrix AUC: mean over tasks of AUC_k = 1/(K - k + 1) * sum over t >= k of c[t, k] (1-based); in [0, 1].

    The average success on a task from the stage that trained it to the end of the sequence. This form exists for
    paraphrases too, for which no learning curve can exist; LIBERO's AUC (``libero_auc``) starts with FWT_k instead of
    c[k, k]. Source: arXiv 2610.00542 does not say which it uses; this is the reading that all its columns allow.
    """
    columns = _columns(matrix, positions, length)
    if isinstance(columns, Incomplete):
        return columns
    return average(average(column) for column in columns.values())


def negative_backward_transfer(matrix: Matrix, positions: Sequence[int], length: int) -> float | Incomplete:
    """NBT: mean over tasks of NBT_k = 1/(K - k) * sum over t > k of (c[k, k] - c[t, k]) (1-based); in [-1, 1].

    Forgetting: how much success on a task falls after it was learned; lower is better, negative means later training
    helped. The last task has no later stage, so the mean runs over the K - 1 defined terms. c[k, k] is the matrix's own
    entry, not the best value of the learning curve. Source: LIBERO (arXiv 2306.03310); the divisor is our choice, since
    its formula divides by zero at k = K.
    """
    columns = _columns(matrix, [position for position in positions if position < length - 1], length)
    if isinstance(columns, Incomplete):
        return columns
    if not columns:
        return Incomplete("no evaluated task is followed by another one")
    return average(average(column[0] - later for later in column[1:]) for column in columns.values())


def forward_transfer(curve: Sequence[tuple[int, float]]) -> float:
    """FWT: mean over tasks of FWT_k, the mean over the evaluated epochs of the learning curve of task k; in [0, 1].

    The curve is held at its best value from the earliest epoch that reaches it, and epoch 0 (before training) counts.
    Needs learning curves. Source: LIBERO (arXiv 2306.03310).
    """
    values = [success for _, success in sorted(curve)]
    best = values.index(max(values))
    return average([*values[:best], *[values[best]] * (len(values) - best)])


def libero_area(matrix: Matrix, transfer: Mapping[int, float], length: int) -> float | Incomplete:
    """LIBERO's AUC: mean over tasks of 1/(K - k + 1) * (FWT_k + sum over t > k of c[t, k]) (1-based); in [0, 1].

    Needs learning curves, hence originals only. Source: LIBERO (arXiv 2306.03310), section on metrics.
    """
    later = [position for position in transfer if position < length - 1]
    columns = _columns(matrix, later, length)
    if isinstance(columns, Incomplete):
        return columns
    return average(average([value, *columns.get(position, (0.0,))[1:]]) for position, value in transfer.items())


def final_success(episode: EpisodeRecord) -> bool:
    """Final success: mean over tasks of the success at the last planned stage; in [0, 1].

    Source: arXiv 2610.00542.
    """
    return succeeded(episode)


def _columns(matrix: Matrix, positions: Sequence[int], length: int) -> dict[int, tuple[float, ...]] | Incomplete:
    """position k -> (c[k, k], ..., c[K - 1, k]), or which entries are missing."""
    missing = [(stage, k) for k in positions for stage in range(k, length) if (stage, k) not in matrix]
    if missing:
        listed = ", ".join(f"({stage}, {k})" for stage, k in missing[:3])
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        evaluated = ", ".join(str(stage) for stage in sorted({stage for stage, _ in matrix}))
        return Incomplete(
            "needs success after every stage from a task's own to the last; nothing for (stage, position of the task) "
            f"{listed}{more} (evaluated at stage {evaluated or 'none'} of 0 to {length - 1})"
        )
    return {k: tuple(matrix[stage, k] for stage in range(k, length)) for k in positions}


def matrices(evidence: Evidence, condition: str) -> dict[int, Matrix]:
    """seed -> c[t, k] of a condition that the original goal scores; void episodes are left out."""
    return evidence.once("matrices", condition, _matrices)


def _matrices(evidence: Evidence, condition: str) -> dict[int, Matrix]:
    position = {task: index for index, task in enumerate(evidence.order)}
    found: dict[int, dict[tuple[int, int], float]] = {}
    for stage in sorted({episode.stage for episode in evidence.select(condition)}):
        for seed, tasks in task_means(_samples(evidence, condition, stage)).items():
            entries = {(stage, position[task]): mean for task, mean in tasks.items() if task in position}
            found.setdefault(seed, {}).update(entries)
    return dict(found)


def _samples(evidence: Evidence, condition: str, stage: int | None = None) -> tuple[Sample, ...]:
    return outcomes((one for one in evidence.select(condition, stage) if not unscored(one)), succeeded)


def summarise(
    evidence: Evidence, condition: str, formula: Callable[[Matrix, Sequence[int], int], float | Incomplete]
) -> Value:
    """A formula over each seed's matrix, then over seeds; seeds with a gap in their matrix are left out and named."""
    per_seed: dict[int, float] = {}
    refused: dict[int, str] = {}
    positions = [evidence.order.index(task) for task in evidence.tasks]
    for seed, matrix in sorted(matrices(evidence, condition).items()):
        result = formula(matrix, positions, len(evidence.order))
        if isinstance(result, Incomplete):
            refused[seed] = result.reason
        else:
            per_seed[seed] = result
    return _gather(evidence, condition, per_seed, refused)


def areas_of(evidence: Evidence, condition: str) -> tuple[Start, ...]:
    """Mean outcome of each start over the stages from its task's own to the last; incomplete starts are left out.

    Their task-balanced mean is the matrix AUC where every start has all its stages.
    """
    return tuple(Start(*key, average(course)) for key, course in evidence.once("courses", condition, _courses))


def falls_of(evidence: Evidence, condition: str) -> tuple[Start, ...]:
    """Outcome of each start when its task was learned minus its mean over all later stages, as in NBT."""
    found = evidence.once("courses", condition, _courses)
    return tuple(Start(*key, average(course[0] - later for later in course[1:])) for key, course in found if course[1:])


def _courses(evidence: Evidence, condition: str) -> tuple[tuple[tuple[int, str, str, int], tuple[float, ...]], ...]:
    """(seed, task, variant, initial state) and the outcomes from the task's own stage to the last, where all exist."""
    position = {task: index for index, task in enumerate(evidence.order)}
    found: dict[tuple[int, str, str, int], dict[int, float]] = {}
    for one in evidence.select(condition):
        if not unscored(one) and one.stage >= position.get(one.task, one.stage + 1):
            found.setdefault((one.seed, one.task, one.variant, one.init_state), {})[one.stage] = float(succeeded(one))
    needed = {task: tuple(range(place, len(position))) for task, place in position.items()}
    return tuple(
        (key, tuple(course[stage] for stage in needed[key[1]]))
        for key, course in sorted(found.items())
        if len(course) == len(needed[key[1]])
    )


def _gather(evidence: Evidence, condition: str, per_seed: Mapping[int, float], refused: Mapping[int, str]) -> Value:
    if not per_seed:
        reasons = sorted(set(refused.values())) or [f"no {condition} episode"]
        return Value(None, reason="; ".join(reasons))
    samples = tuple(sample for sample in _samples(evidence, condition) if sample.seed in per_seed)
    note = "; ".join(f"seed {seed} left out: {reason}" for seed, reason in sorted(refused.items()))
    return over_seeds(per_seed, samples, note)


def _with_curves(evidence: Evidence) -> Iterator[Measurement]:
    """FWT and LIBERO's AUC, which need learning curves."""
    place = Scope(condition="original")
    curves: dict[int, list[Curve]] = {}
    for curve in evidence.curves:
        curves.setdefault(curve.seed, []).append(curve)
    if not curves:
        for name in ("forward_transfer", "libero_auc"):
            yield Measurement(evidence.method, name, place, Value(None, reason="the run holds no learning curves"))
        return
    position = {task: index for index, task in enumerate(evidence.order)}
    transfers = {
        seed: {position[one.task]: forward_transfer(one.points) for one in of_seed} for seed, of_seed in curves.items()
    }
    means = {seed: average(transfer.values()) for seed, transfer in transfers.items()}
    yield Measurement(evidence.method, "forward_transfer", place, _gather(evidence, "original", means, {}))
    found = matrices(evidence, "original")
    areas = {
        seed: _libero_area(evidence, found.get(seed, {}), transfer) for seed, transfer in sorted(transfers.items())
    }
    good = {seed: area for seed, area in areas.items() if not isinstance(area, Incomplete)}
    bad = {seed: area.reason for seed, area in areas.items() if isinstance(area, Incomplete)}
    yield Measurement(evidence.method, "libero_auc", place, _gather(evidence, "original", good, bad))


def _libero_area(evidence: Evidence, matrix: Matrix, transfer: Mapping[int, float]) -> float | Incomplete:
    without = sorted({evidence.order.index(task) for task in evidence.tasks} - set(transfer))
    if without:
        return Incomplete(f"no learning curve of the task at position {', '.join(str(k) for k in without)}")
    return libero_area(matrix, transfer, len(evidence.order))


def _compute(evidence: Evidence, rng: Source) -> Iterator[Measurement]:
    for condition in ORIGINAL_GOAL:
        final = Scope(condition=condition, stage=evidence.final_stage)
        episodes = evidence.select(condition, evidence.final_stage)
        nothing = f"no {condition} episode at stage {evidence.final_stage}"
        yield Measurement(evidence.method, "final_success", final, rate(episodes, final_success, unscored, nothing))
        whole = Scope(condition=condition)
        for name, formula, values in (
            ("auc", area_under_curve, areas_of),
            ("nbt", negative_backward_transfer, falls_of),
        ):
            value = summarise(evidence, condition, formula)
            if value.mean is not None:
                starts = [start for start in values(evidence, condition) if start.seed in value.per_seed]
                value = replace(value, interval=_bootstrap.interval([starts], _bootstrap.itself, rng))
            yield Measurement(evidence.method, name, whole, value)
    yield from _with_curves(evidence)


METRIC = Metric(
    name="continual",
    title="Continual learning",
    definition=__doc__,
    quantities=(
        quantity(area_under_curve, "auc", "AUC", "rate", "higher"),
        quantity(negative_backward_transfer, "nbt", "NBT", "difference", "lower"),
        quantity(final_success, "final_success", "Final success", "rate", "higher"),
        quantity(forward_transfer, "forward_transfer", "FWT", "rate", "higher"),
        quantity(libero_area, "libero_auc", "AUC (LIBERO)", "rate", "higher"),
    ),
    compute=_bootstrap.per_method_drawn(_compute),
)

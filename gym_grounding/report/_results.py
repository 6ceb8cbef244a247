"""The tables of results, in the paper's rows (methods) and columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gym_grounding.metrics import Scope, Value
from gym_grounding.metrics.collision import INITIATION
from gym_grounding.records import MOTION_THRESHOLDS
from gym_grounding.report import _captions
from gym_grounding.report._book import STANDING_WORDS, Book, quantities
from gym_grounding.report._study import Method
from gym_grounding.report._table import Cell, Column, Table, counts, first_value
from gym_grounding.types import SLOTS, TIERS

ALL = "all"
CONTRAST = ("target_success", "goal_switch_accuracy", "original_persistence", "both_goals", "neither_goal")
GOALS = ("original_goal_persistence", "canonical_goal_activation")
ACTION = ("action_divergence", "language_margin")
OUTCOMES = ("outcome_original", "outcome_other", "outcome_multiple", "outcome_none")


def measured(*names: str) -> tuple[Column, ...]:
    """Columns that hold quantities, with their own labels and units."""
    known = quantities()
    return tuple(Column(name, known[name].label, known[name].unit) for name in names)


METHOD = Column("method", "Method")
N = Column("n_counts", "n", "count")


def summary_table(book: Book) -> Table:
    """One row per method with the number that each condition turns on."""
    known = quantities()
    contrasts = [
        (f"{key}_{tier}", f"{label}, {tier}", name, Scope(condition="contrast", tier=tier, judged="own"))
        for tier in TIERS
        for key, label, name in (("gsa", "GSA", CONTRAST[1]), ("persistence", "Persistence", CONTRAST[2]))
    ]
    parts = [
        ("original", "Original", "final_success", Scope(condition="original")),
        ("gap", "Paraphrase gap", "paraphrase_gap", Scope(condition="paraphrase")),
        *contrasts,
        *((name, known[name].label, name, Scope(condition="collision", judged="ever")) for name in GOALS),
        ("air", "AIR", "action_initiation", Scope(condition="collision", threshold=INITIATION)),
    ]
    rows: list[tuple[Cell, ...]] = []
    for method in book.methods:
        stage = method.evidence.final_stage
        values = (book.at(method.name, name, replace(scope, stage=stage)) for _, _, name, scope in parts)
        rows.append((method.name, *values))
    columns = (METHOD, *(Column(key, label, known[name].unit) for key, label, name, _ in parts))
    return Table("summary", "Methods side by side", caption(book, _captions.SUMMARY), columns, tuple(rows))


def caption(book: Book, text: str) -> str:
    """A caption, with what is counted where a registry certifies goals."""
    return f"{text} {_captions.REACH}" if book.certified else text


def main_table(book: Book) -> Table:
    """Table I: originals against paraphrases, in AUC and in final success."""
    columns = (
        METHOD,
        Column("auc_original", "Original AUC", "rate"),
        Column("auc_paraphrase", "Paraphrase AUC", "rate"),
        Column("gap_auc", "Gap in AUC", "difference"),
        Column("final_original", "Original final", "rate"),
        Column("final_paraphrase", "Paraphrase final", "rate"),
        Column("gap_final", "Gap in final", "difference"),
        Column("n_original", "n original (final)", "count"),
        Column("n_paraphrase", "n paraphrase (final)", "count"),
    )
    rows: list[tuple[Cell, ...]] = []
    for method in book.methods:
        name, stage = method.name, method.evidence.final_stage
        final = [book.value(name, "final_success", condition=one, stage=stage) for one in ("original", "paraphrase")]
        rows.append(
            (
                name,
                *(book.value(name, "auc", condition=one) for one in ("original", "paraphrase")),
                book.value(name, "paraphrase_gap_auc", condition="paraphrase"),
                *final,
                book.value(name, "paraphrase_gap", condition="paraphrase", stage=stage),
                *(counts(value) for value in final),
            )
        )
    return Table(
        "table_1_paraphrase",
        "Table I. Original and paraphrased instructions",
        _captions.MAIN,
        columns,
        tuple(rows),
    )


def continual_table(book: Book) -> Table:
    """Forgetting and, where there are learning curves, forward transfer."""
    columns = (
        METHOD,
        Column("nbt_original", "NBT original", "difference"),
        Column("nbt_paraphrase", "NBT paraphrase", "difference"),
        *measured("forward_transfer", "libero_auc"),
        Column("success_at_end", "Original goal in the final state", "rate"),
    )
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            method.name,
            *(book.value(method.name, "nbt", condition=one) for one in ("original", "paraphrase")),
            *(book.value(method.name, one, condition="original") for one in ("forward_transfer", "libero_auc")),
            book.value(method.name, "success_at_end", condition="original", stage=method.evidence.final_stage),
        )
        for method in book.methods
    )
    return Table(
        "continual",
        "Forgetting and transfer",
        _captions.CONTINUAL,
        columns,
        rows,
    )


def kinds_table(book: Book) -> Table | None:
    """The gap by type of paraphrase."""
    rows: list[tuple[Cell, ...]] = [
        (method.name, scope.kind, value, counts(value))
        for method in book.methods
        for scope in book.scopes(method.name, "paraphrase_gap")
        if scope.kind is not None
        for value in [book.at(method.name, "paraphrase_gap", scope)]
    ]
    if not rows:
        return None
    return Table(
        "paraphrase_kinds",
        "Paraphrase gap by type",
        _captions.KINDS,
        (METHOD, Column("kind", "Type of paraphrase"), *measured("paraphrase_gap"), N),
        tuple(rows),
    )


def contrast_table(book: Book, tier: str) -> Table:
    """Table II (a: strict, b: permissive) for one tier, by slot."""
    rows: list[tuple[Cell, ...]] = []
    for method in book.planned("contrast"):
        for slot in (None, *SLOTS):
            scope = {"condition": "contrast", "tier": tier, "stage": method.evidence.final_stage, "judged": "own"}
            values = [book.value(method.name, name, slot=slot, **scope) for name in CONTRAST]
            rows.append((method.name, slot or ALL, *values, counts(values[0]), values[0].void))
        whole = Scope(condition="contrast", tier=tier, stage=method.evidence.final_stage, judged="own")
        for words, apart in book.apart(method.name, CONTRAST[0], whole):
            values = [book.at(method.name, name, apart) for name in CONTRAST]
            rows.append((method.name, words, *values, counts(values[0]), values[0].void))
    return Table(
        f"table_2_contrasts_{tier}",
        f"Table II{_letter(tier)}. Minimal contrasts, {tier} tier",
        caption(book, f"{_captions.TIERS.get(tier, tier)} {_captions.CONTRASTS}"),
        (METHOD, Column("slot", "Slot"), *measured(*CONTRAST), N, Column("void", "Void", "count")),
        tuple(rows),
    )


def _letter(tier: str) -> str:
    """a for the first tier, b for the second; nothing for a tier that is none of the suite's."""
    return "ab"[TIERS.index(tier)] if tier in TIERS else ""


def contrast_readings(book: Book, tiers: Sequence[str]) -> Table:
    """The contrasts again, judged at some step and at the end."""
    rows: list[tuple[Cell, ...]] = []
    for method in book.planned("contrast"):
        for tier in tiers:
            for judged, words in (("ever", "some step"), ("end", "last step")):
                scope = {"condition": "contrast", "stage": method.evidence.final_stage, "judged": judged}
                values = [book.value(method.name, name, tier=tier, **scope) for name in CONTRAST]
                rows.append((method.name, tier, words, *values, counts(values[0])))
    return Table(
        "contrast_readings",
        "Minimal contrasts judged at some step and at the last step",
        caption(book, _captions.READINGS),
        (METHOD, Column("tier", "Tier"), Column("judged", "Judged at"), *measured(*CONTRAST), N),
        tuple(rows),
    )


def trained_table(book: Book, tiers: Sequence[str]) -> Table | None:
    """Contrasts by whether another task trained the instructed goal."""
    rows: list[tuple[Cell, ...]] = []
    for method in book.planned("contrast"):
        for tier in tiers if method.evidence.trained else ():
            whole = {"condition": "contrast", "tier": tier, "stage": method.evidence.final_stage, "judged": "own"}
            ratio = book.value(method.name, "normalised_goal_switch", trained=True, **whole)
            for trained in (True, False):
                values = [book.value(method.name, name, trained=trained, **whole) for name in CONTRAST[:3]]
                words = "trained" if trained else "never trained"
                rows.append((method.name, tier, words, *values, ratio if trained else None, counts(values[0])))
    if not rows:
        return None
    return Table(
        "contrast_goals",
        "Minimal contrasts by whether the instructed goal was trained",
        caption(book, _captions.TRAINED),
        (
            METHOD,
            Column("tier", "Tier"),
            Column("goal", "Instructed goal"),
            *measured(*CONTRAST[:3], "normalised_goal_switch"),
            N,
        ),
        tuple(rows),
    )


STANDING = ("target_success", "goal_switch_accuracy", "original_persistence")
STANDING_OF_CONTROLS = ("control_success", None, "control_original")
"""What stands in the same columns for swaps and reverse texts, which are no contrasts."""


def standing_table(book: Book, tiers: Sequence[str]) -> Table | None:
    """Instructed goals by what an oracle showed of them; None where no registry says so."""
    rows: list[tuple[Cell, ...]] = []
    for method in book.methods:
        stage = method.evidence.final_stage
        groups: list[tuple[Scope, Sequence[str | None]]] = [
            (Scope(condition="contrast", tier=tier, stage=stage, judged="own"), STANDING) for tier in tiers
        ]
        groups += [(Scope(condition=name, stage=stage), STANDING_OF_CONTROLS) for name in ("swap", "reverse")]
        for whole, names in groups:
            for standing, words in STANDING_WORDS.items():
                scope = replace(whole, reach=standing)
                values = [None if name is None else book.at(method.name, name, scope) for name in names]
                first = values[0]
                if first is not None and (first.n or first.void):
                    rows.append((method.name, whole.condition, whole.tier, words, *values, counts(first), first.void))
    if not rows:
        return None
    return Table(
        "goal_standings",
        "Instructed goals by what an oracle showed of them",
        _captions.STANDINGS,
        (
            METHOD,
            Column("condition", "Condition"),
            Column("tier", "Tier"),
            Column("reach", "Goal"),
            *measured(*STANDING),
            N,
            Column("void", "Void", "count"),
        ),
        tuple(rows),
    )


def collision_table(book: Book) -> Table:
    """AIR, OGP, CGAR and the distribution of outcomes, by slot."""
    rows: list[tuple[Cell, ...]] = []
    for method in book.planned("collision"):
        scope = {"condition": "collision", "stage": method.evidence.final_stage}
        for slot in (None, *SLOTS):
            started = book.value(method.name, "action_initiation", slot=slot, threshold=INITIATION, **scope)
            goals = [book.value(method.name, name, slot=slot, judged="ever", **scope) for name in (*GOALS, *OUTCOMES)]
            rows.append((method.name, slot or ALL, started, *goals, counts(started), goals[0].void))
    return Table(
        "table_collisions",
        "Collisions: instructions that the scene cannot satisfy",
        _captions.COLLISIONS,
        (
            METHOD,
            Column("slot", "Slot"),
            *measured("action_initiation", *GOALS, *OUTCOMES),
            N,
            Column("void", "Void", "count"),
        ),
        tuple(rows),
    )


def collision_end(book: Book) -> Table:
    """The goals of collisions in the final state."""
    rows: list[tuple[Cell, ...]] = []
    for method in book.planned("collision"):
        scope = {"condition": "collision", "stage": method.evidence.final_stage, "judged": "end"}
        values = [book.value(method.name, name, **scope) for name in (*GOALS, *OUTCOMES)]
        rows.append((method.name, *values, counts(values[0])))
    return Table(
        "collisions_final_state",
        "Collisions judged in the final state",
        _captions.COLLISIONS_END,
        (METHOD, *measured(*GOALS, *OUTCOMES), N),
        tuple(rows),
    )


def initiation_table(book: Book) -> Table:
    """Action initiation at every recorded distance, collisions beside originals."""
    rows: list[tuple[Cell, ...]] = []
    for method in book.planned("collision"):
        for condition in ("collision", "original"):
            scope = {"condition": condition, "stage": method.evidence.final_stage}
            values = [book.value(method.name, "action_initiation", threshold=at, **scope) for at in MOTION_THRESHOLDS]
            rows.append((method.name, condition, *values, counts(values[0])))
    columns = (Column(f"air_{threshold:g}", f"{threshold:.2f} m", "rate") for threshold in MOTION_THRESHOLDS)
    return Table(
        "action_initiation",
        "Action initiation at other distances",
        _captions.INITIATIONS,
        (METHOD, Column("condition", "Condition"), *columns, N),
        tuple(rows),
    )


def action_table(book: Book) -> Table:
    """AD and LM by condition, tier and slot; slots only where there are probes."""
    rows: list[tuple[Cell, ...]] = []
    for method in book.methods:
        for scope in book.scopes(method.name, "action_divergence"):
            values = [book.at(method.name, name, scope) for name in ACTION]
            if scope.stage != method.evidence.final_stage:
                continue
            if scope.slot is None or any(value.n for value in values):
                shared = first_value(values)
                rows.append((method.name, scope.condition, scope.tier, scope.slot or ALL, *values, counts(shared)))
    return Table(
        "action_level",
        "Action divergence and language margin",
        _captions.ACTION,
        (
            METHOD,
            Column("condition", "Condition"),
            Column("tier", "Tier"),
            Column("slot", "Slot"),
            *measured(*ACTION),
            N,
        ),
        tuple(rows),
    )


def correlation_table(book: Book) -> Table:
    """Table III: action-level against outcome-level diagnostics."""
    known = quantities()
    rows: list[tuple[Cell, ...]] = []
    for scope in book.scopes("", "action_divergence_correlation"):
        values = [book.at("", f"{name}_correlation", scope) for name in ACTION]
        against = known[str(scope.against)].label
        rows.append((scope.condition, scope.tier, against, *(part for value in values for part in (value, value.n))))
    return Table(
        "table_3_correlations",
        "Table III. Rank correlation of action-level with outcome-level diagnostics",
        caption(book, _captions.CORRELATIONS),
        (
            Column("condition", "Condition"),
            Column("tier", "Tier"),
            Column("outcome", "Outcome"),
            Column("rho_ad", "with AD", "correlation"),
            Column("n_ad", "n", "count"),
            Column("rho_lm", "with LM", "correlation"),
            Column("n_lm", "n", "count"),
        ),
        tuple(rows),
    )


def task_table(book: Book) -> Table:
    """Success per task at the last stage."""
    rows: list[tuple[Cell, ...]] = []
    for method in book.methods:
        for task in method.evidence.tasks:
            scope = {"stage": method.evidence.final_stage, "task": task}
            values = [book.value(method.name, "success", condition=one, **scope) for one in ("original", "paraphrase")]
            rows.append((method.name, task, *(part for value in values for part in (value, counts(value)))))
    return Table(
        "tasks",
        "Success by task at the last stage",
        _captions.TASKS,
        (
            METHOD,
            Column("task", "Task"),
            Column("original", "Original", "rate"),
            Column("n_original", "n", "count"),
            Column("paraphrase", "Paraphrase", "rate"),
            Column("n_paraphrase", "n", "count"),
        ),
        tuple(rows),
    )


def stage_tables(book: Book) -> Iterator[Table]:
    """The stage x task matrix of each condition, where some plan has more than one stage."""
    if all(len(method.evidence.stages) < 2 for method in book.methods):
        return
    tasks = tuple(dict.fromkeys(task for method in book.methods for task in method.evidence.tasks))
    for condition in ("original", "paraphrase"):
        rows = tuple(
            (method.name, stage, *_stage_row(book, method, condition, stage, tasks))
            for method in book.planned(condition)
            for stage in method.evidence.stages
        )
        yield Table(
            f"stages_{condition}",
            f"Success by stage and task: {condition} instructions",
            _captions.STAGES,
            (METHOD, Column("stage", "Stage", "count"), *(Column(task, short(task), "rate") for task in tasks)),
            rows,
            folded=True,
        )


def _stage_row(book: Book, method: Method, condition: str, stage: int, tasks: Sequence[str]) -> Iterator[Value | None]:
    for task in tasks:
        seen = task in method.evidence.order[: stage + 1]
        yield book.value(method.name, "success", condition=condition, stage=stage, task=task) if seen else None


def short(task: str) -> str:
    """A task id without its suite: ``LiberoGoal-T8`` -> ``T8``."""
    return task.rpartition("-")[2]

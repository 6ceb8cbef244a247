"""The figures: what is drawn of a study, and where it stands in the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gym_grounding.metrics import Scope, Value
from gym_grounding.metrics.collision import INITIATION
from gym_grounding.metrics.controls import ORDER as CONTROLS
from gym_grounding.report import _canvas, _captions, _charts
from gym_grounding.report._book import Book, quantities
from gym_grounding.report._canvas import Drawing
from gym_grounding.report._charts import Column, Series
from gym_grounding.report._results import short
from gym_grounding.report._study import Method
from gym_grounding.types import SLOTS

INTERVALS = "Lines: 95 % intervals, as in the table; a dash: nothing to compute it from."
BARS = {
    "contrast": (
        ("goal_switch_accuracy", "instructed only (GSA)", "instructed"),
        ("both_goals", "both", "mixed"),
        ("original_only", "original only", "kept"),
        ("neither_goal", "neither", "nothing"),
    ),
    "collision": (
        ("outcome_original", "original", "kept"),
        ("outcome_other", "one other", "mixed"),
        ("outcome_multiple", "multiple", "several"),
        ("outcome_none", "none", "nothing"),
    ),
}
CONTRASTS = (
    (("Target", "success"), "target_success"),
    (("Goal switch", "(GSA)"), "goal_switch_accuracy"),
    (("Original", "persistence"), "original_persistence"),
    (("Both", "goals"), "both_goals"),
    (("Neither", "goal"), "neither_goal"),
)
COLLISIONS = (
    (("AIR", "hand moves"), "action_initiation"),
    (("OGP", "original goal"), "original_goal_persistence"),
    (("CGAR", "any goal"), "canonical_goal_activation"),
    (("Outcome", "original"), "outcome_original"),
    (("Outcome", "one other"), "outcome_other"),
    (("Outcome", "multiple"), "outcome_multiple"),
    (("Outcome", "none"), "outcome_none"),
)
CONTROL_COLUMNS = (
    (("Swap", "its own goal"), "swap", "control_success"),
    (("Swap", "original goal"), "swap", "control_original"),
    (("Null", "any goal"), "null", "control_canonical"),
    (("Null", "hand moves"), "null", "control_initiation"),
    (("Negated", "original goal"), "negated", "control_original"),
    (("Shuffled", "success"), "shuffled", "control_success"),
    (("Noise", "success"), "noise", "control_success"),
    (("Reverse", "success"), "reverse", "control_success"),
)


@dataclass(frozen=True, slots=True)
class Picture:
    """One figure.

    Attributes:
        name: stem of its file.
        section: name of the section that it belongs to.
        after: name of the table that it follows; it ends its section where there is no such table.
        caption: what it shows.
        drawing: the figure itself.
        method: whose figure it is; None for one that shows all methods.
    """

    name: str
    section: str
    after: str
    caption: str
    drawing: Drawing
    method: str | None = None

    @property
    def png(self) -> bytes:
        """The figure on white paper."""
        return _canvas.png(self.drawing)

    def svg(self) -> str:
        """The figure for the page."""
        return _canvas.svg(self.drawing, self.caption)


def draw(book: Book) -> tuple[Picture, ...]:
    """Every figure for which there is something to draw."""
    tiers = tuple(dict.fromkeys(tier for method in book.planned("contrast") for tier in method.plan.tiers))
    return (
        *_coverage(book),
        *_gaps(book),
        *_over_stages(book, tiers),
        *(picture for number, method in enumerate(book.methods, start=1) for picture in _stages(book, method, number)),
        *(picture for tier in tiers for picture in _contrasts(book, tier)),
        *_collisions(book),
        *_controls(book),
    )


def _coverage(book: Book) -> Iterator[Picture]:
    """What the registry has for each task, and how much of it every method was asked."""
    base = book.methods[0]
    if base.registry is None:
        return
    rows = [one for one in base.registry.select(base.plan.suite) if one.task in base.evidence.order]
    asked = set.intersection(*({one.variant for one in method.evidence.episodes} for method in book.methods))
    places = {one.id: (one.condition, one.slot) for one in rows}
    own = [(condition, slot) for condition in ("contrast", "collision") for slot in SLOTS]
    others = [(name, None) for name in CONTROLS if book.planned(name)]
    columns: list[tuple[str, str | None]] = [("original", None), ("paraphrase", None), *own, *others]
    grid = []
    for task in base.evidence.order:
        cells = [[one.id for one in rows if one.task == task and places[one.id] == column] for column in columns]
        grid.append([(len(asked & set(ids)) / len(ids), str(len(ids))) if ids else None for ids in cells])
    labels = [f"{condition}\n{slot or ''}".rstrip() for condition, slot in columns]
    names = [short(task) for task in base.evidence.order]
    drawing = _charts.heats([("Instructions in the registry", grid)], names, labels, ("task", ""), cell=62)
    caption = (
        "Instructions of the registry by task (row, in training order) and condition (column), as numbers. The deeper "
        "the shade, the larger the share of them that every method has an episode of. A dash: the registry has none."
    )
    yield Picture("manifest_coverage", "runs", "coverage", caption, drawing)


def _gaps(book: Book) -> Iterator[Picture]:
    """Original and paraphrase success below each other, and the signed gap."""
    names, sides, gaps = [], [], []
    for method in book.methods:
        stage = method.evidence.final_stage
        gap = book.value(method.name, "paraphrase_gap", condition="paraphrase", stage=stage)
        if gap.mean is not None:
            names.append(method.name)
            gaps.append((gap,))
            sides.append(
                tuple(
                    book.value(method.name, "final_success", condition=one, stage=stage)
                    for one in ("original", "paraphrase")
                )
            )
    if not names:
        return
    columns = (
        Column(("Final success", "● original ○ paraphrase"), "rate", tuple(sides), width=170),
        Column(("Gap [points]", "original − paraphrase"), "difference", tuple(gaps), width=170),  # noqa: RUF001
    )
    caption = (
        "Final success with original and with paraphrased instructions and the signed gap, at the last stage, "
        f"task-balanced. Right of zero: paraphrases do worse. {INTERVALS}"
    )
    drawing = _charts.dots(names, columns)
    yield Picture("paraphrase_gap", "paraphrase", "table_1_paraphrase", caption, drawing)


Wanted = tuple[str, str, Scope]
"""Title of a panel, quantity, scope without its stage."""


def _over_stages(book: Book, tiers: Sequence[str]) -> Iterator[Picture]:
    """Every metric over stages, one figure per condition."""
    labels = {name: one.label for name, one in quantities().items()}
    originals = [
        ("Original: success", "success", Scope(condition="original")),
        ("Paraphrase: success", "success", Scope(condition="paraphrase")),
        ("Gap: original - paraphrase", "paraphrase_gap", Scope(condition="paraphrase")),
    ]
    yield from _lines(book, "paraphrase", "stages", "continual", "Original and paraphrased instructions", originals)
    for tier in tiers:
        whole = Scope(condition="contrast", tier=tier, judged="own")
        wanted = [(labels[name], name, whole) for _, name in CONTRASTS[:3]]
        words = f"Minimal contrasts, {tier} tier"
        yield from _lines(book, f"contrasts_{tier}", "contrasts", f"table_2_contrasts_{tier}", words, wanted)
    wanted = [(" ".join(head), name, _collision_scope(name)) for head, name in (*COLLISIONS[:3], COLLISIONS[6])]
    yield from _lines(book, "collisions", "collisions", "table_collisions", "Collisions", wanted)
    wanted = [
        (f"{head[0]}: {head[1]}", name, Scope(condition=condition, threshold=_threshold(name)))
        for head, condition, name in CONTROL_COLUMNS
    ]
    yield from _lines(book, "controls", "controls", "table_controls", "Control conditions", wanted)
    probed = dict.fromkeys(
        replace(scope, stage=None)
        for method in book.methods
        for scope in book.scopes(method.name, "action_divergence")
        if scope.slot is None
    )
    wanted = [
        (f"{labels[name]}: {_words(scope)}", name, scope)
        for scope in probed
        for name in ("action_divergence", "language_margin")
    ]
    yield from _lines(book, "actions", "action", "action_level", "Action-level diagnostics", wanted)


def _collision_scope(name: str) -> Scope:
    threshold = _threshold(name)
    return Scope(condition="collision", threshold=threshold, judged=None if threshold else "ever")


def _threshold(name: str) -> float | None:
    return INITIATION if name.endswith("initiation") else None


def _words(scope: Scope) -> str:
    return ", ".join(part for part in (scope.condition, scope.tier) if part)


def _lines(book: Book, name: str, section: str, after: str, words: str, wanted: Sequence[Wanted]) -> Iterator[Picture]:
    """A panel for each wanted number that some method has at two stages or more."""
    units = {name: one.unit for name, one in quantities().items()}
    panels, stages = [], set()
    for title, quantity, scope in wanted:
        series = []
        for number, method in enumerate(book.methods):
            values = {
                stage: book.at(method.name, quantity, replace(scope, stage=stage)) for stage in method.evidence.stages
            }
            found = {stage: value for stage, value in values.items() if value.mean is not None}
            if len(found) > 1:
                series.append(Series(method.name, number, found))
                stages |= set(found)
        if series:
            panels.append((title, units[quantity], series))
    if panels:
        caption = (
            f"{words} over stages: the stage is the position in the training order after which the policy was "
            "evaluated; over the tasks seen until then. Rates and gaps in percent and points, task-balanced."
        )
        drawing = _charts.over_stages(panels, sorted(stages))
        yield Picture(f"over_stages_{name}", section, after, caption, drawing)


def _stages(book: Book, method: Method, number: int) -> Iterator[Picture]:
    """Stage x task heat maps of one method, conditions side by side."""
    tasks, stages = method.evidence.tasks, method.evidence.stages
    places = dict.fromkeys(
        (scope.condition, scope.tier)
        for scope in book.scopes(method.name, "success")
        if scope.task is not None and scope.variant is None
    )
    panels = []
    for condition, tier in places:
        scope = Scope(condition=condition, tier=tier)
        grid = [[_shade(book, method, replace(scope, stage=stage, task=task)) for task in tasks] for stage in stages]
        evaluated = sum(any(cell is not None for cell in row) for row in grid)
        if evaluated > 1 or (evaluated and condition in ("original", "paraphrase")):
            panels.append((_words(scope), grid))
    if not panels:
        return
    caption = (
        f"{method.name}: success [percent] by stage (row: position in the training order after which the policy was "
        "evaluated) and task (column, in training order). A dash: not evaluated."
    )
    rows, columns = [str(stage) for stage in stages], [short(task) for task in tasks]
    drawing = _charts.heats(panels, rows, columns, ("stage", "task"))
    yield Picture(f"stages_{number}", "stages", "continual", caption, drawing, method.name)


def _shade(book: Book, method: Method, scope: Scope) -> tuple[float, str] | None:
    mean = book.at(method.name, "success", scope).mean
    return None if mean is None else (mean, f"{100 * mean:.0f}")


def _contrasts(book: Book, tier: str) -> Iterator[Picture]:
    where = f"table_2_contrasts_{tier}"
    scope = Scope(condition="contrast", tier=tier, judged="own")
    words = f"Minimal contrasts, {tier} tier, at the last stage, task-balanced [percent]."
    wanted = [(head, name, scope) for head, name in CONTRASTS]
    yield from _dots(book, f"contrasts_{tier}", "contrasts", where, f"{words} {INTERVALS}", wanted)
    explained = f"{words} Share of episodes by the goals that were reached. {_captions.TIERS.get(tier, '')}".rstrip()
    yield from _bars(book, f"contrasts_{tier}_by_slot", "contrasts", where, explained, scope)


def _collisions(book: Book) -> Iterator[Picture]:
    words = "Collisions at the last stage, task-balanced [percent]."
    wanted = [(head, name, _collision_scope(name)) for head, name in COLLISIONS]
    caption = (
        f"{words} AIR: the hand moves at least {INITIATION} m; OGP and CGAR: the original and any canonical goal of "
        f"the scene is reached at some step; the four outcomes add up to 100. {INTERVALS}"
    )
    yield from _dots(book, "collisions", "collisions", "table_collisions", caption, wanted)
    explained = f"{words} Share of episodes by the canonical goals of the scene that held at some step."
    scope = Scope(condition="collision", judged="ever")
    yield from _bars(book, "collisions_by_slot", "collisions", "table_collisions", explained, scope)


def _controls(book: Book) -> Iterator[Picture]:
    shown = [column for column in CONTROL_COLUMNS if book.planned(column[1])]
    if not shown:
        return
    wanted = [
        (("Canonical", "success"), "success", Scope(condition="original")),
        *((head, name, Scope(condition=one, threshold=_threshold(name))) for head, one, name in shown),
    ]
    caption = f"Control conditions beside the canonical texts, at the last stage [percent]. {INTERVALS}"
    yield from _dots(book, "controls", "controls", "table_controls", caption, wanted)


def _dots(
    book: Book,
    name: str,
    section: str,
    after: str,
    caption: str,
    wanted: Sequence[tuple[tuple[str, ...], str, Scope]],
) -> Iterator[Picture]:
    """A row of dots for each method that has any of the wanted numbers at its last stage."""
    units = {key: one.unit for key, one in quantities().items()}
    rows: dict[str, list[Value]] = {}
    for method in book.methods:
        stage = method.evidence.final_stage
        values = [book.at(method.name, key, replace(scope, stage=stage)) for _, key, scope in wanted]
        if any(value.mean is not None for value in values):
            rows[method.name] = values
    if not rows:
        return
    columns = [
        Column(head, units[key], tuple((values[place],) for values in rows.values()))
        for place, (head, key, _) in enumerate(wanted)
    ]
    yield Picture(name, section, after, caption, _charts.dots(tuple(rows), columns))


def _bars(book: Book, name: str, section: str, after: str, caption: str, scope: Scope) -> Iterator[Picture]:
    """Stacked outcome shares by slot, one panel per method."""
    parts = BARS[str(scope.condition)]
    panels = []
    for method in book.planned(str(scope.condition)):
        whole = replace(scope, stage=method.evidence.final_stage)
        slots = [(slot or "all slots", _shares(book, method, replace(whole, slot=slot))) for slot in (None, *SLOTS)]
        rows = [(label, shares) for label, shares in slots if shares]
        if rows:
            panels.append((method.name, rows))
    if panels:
        yield Picture(name, section, after, caption, _charts.stacks(panels, parts))


def _shares(book: Book, method: Method, scope: Scope) -> Mapping[str, float]:
    names = [name for name, _, _ in BARS[str(scope.condition)] if name != "original_only"]
    means = {name: book.at(method.name, name, scope).mean for name in names}
    found = {name: mean for name, mean in means.items() if mean is not None}
    if found and scope.condition == "contrast":
        found["original_only"] = max(0.0, 1 - sum(found.values()))
    return found

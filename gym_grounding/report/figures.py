"""The figures, as PNG bytes. The only module that needs matplotlib; nothing here touches a display or global state."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gym_grounding.metrics import Value
from gym_grounding.report import _captions
from gym_grounding.report._book import Book
from gym_grounding.report._results import short
from gym_grounding.report._study import Method
from gym_grounding.types import SLOTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 150
# Colours of Okabe and Ito (2008), told apart with every kind of colour vision
INSTRUCTED, ORIGINAL, MIXED, NOTHING = "#009E73", "#D55E00", "#CC79A7", "#D9D9D9"
STYLE: Any = {
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
}
BARS = {
    "contrast": (
        ("goal_switch_accuracy", "instructed only (GSA)", INSTRUCTED),
        ("both_goals", "both", MIXED),
        ("original_only", "original only", ORIGINAL),
        ("neither_goal", "neither", NOTHING),
    ),
    "collision": (
        ("outcome_original", "original", ORIGINAL),
        ("outcome_other", "one other", MIXED),
        ("outcome_multiple", "multiple", "#56B4E9"),
        ("outcome_none", "none", NOTHING),
    ),
}


@dataclass(frozen=True, slots=True)
class Picture:
    """One figure.

    Attributes:
        name: stem of its file.
        after: name of the table that it follows.
        caption: what it shows.
        png: the picture.
    """

    name: str
    after: str
    caption: str
    png: bytes


def draw(book: Book) -> tuple[Picture, ...]:
    """Every figure for which there is something to draw."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # a user's own style must not change a report
        matplotlib.rcParams.update(STYLE)
        return tuple(_all(book))


def _all(book: Book) -> Iterator[Picture]:
    yield from _gaps(book)
    for number, method in enumerate(book.methods, start=1):
        yield from _stages(book, method, number)
    for tier in dict.fromkeys(tier for method in book.planned("contrast") for tier in method.plan.tiers):
        yield from _bars(book, "contrast", tier)
    yield from _bars(book, "collision", None)


def _stages(book: Book, method: Method, number: int) -> Iterator[Picture]:
    """Stage x task heat maps of one method, originals and paraphrases side by side."""
    import numpy as np

    tasks, stages = method.evidence.tasks, method.evidence.stages
    grids = {}
    for condition in ("original", "paraphrase"):
        cells = [
            [book.value(method.name, "success", condition=condition, stage=stage, task=task).mean for task in tasks]
            for stage in stages
        ]
        grid = np.array([[np.nan if cell is None else cell for cell in row] for row in cells], dtype=float)
        if not np.isnan(grid).all():
            grids[condition] = grid
    if not grids:
        return
    width, height = 1.1 + 0.42 * len(tasks), 0.9 + 0.34 * len(stages)
    figure, axes = _new(len(grids), width, max(height, 1.4))
    for axis, (condition, grid) in zip(axes, grids.items(), strict=True):
        _heat(axis, grid, [short(task) for task in tasks], [str(stage) for stage in stages])
        axis.set_title(condition)
    caption = (
        f"{method.name}: success [percent] by stage (row: position in the training order after which the policy was "
        "evaluated) and task (column, in training order). Hatched: not evaluated."
    )
    yield Picture(f"stages_{number}", "continual", caption, _png(figure))


def _heat(axis: Axes, grid: Any, columns: Sequence[str], rows: Sequence[str]) -> None:
    from matplotlib.patches import Rectangle

    axis.imshow(grid, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for row, column in ((row, column) for row in range(len(rows)) for column in range(len(columns))):
        value = grid[row, column]
        if value != value:
            box = Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, hatch="////", edgecolor="0.8", linewidth=0)
            axis.add_patch(box)
        else:
            colour = "white" if value > 0.6 else "black"
            axis.text(column, row, f"{100 * value:.0f}", ha="center", va="center", color=colour, fontsize=7)
    axis.set_xticks(range(len(columns)), columns)
    axis.set_yticks(range(len(rows)), rows)
    axis.set_xlabel("task")
    axis.set_ylabel("stage")
    axis.tick_params(length=0)
    for side in axis.spines.values():
        side.set_visible(False)


def _bars(book: Book, condition: str, tier: str | None) -> Iterator[Picture]:
    """Stacked outcome shares by slot, one panel per method."""
    shown = []
    for method in book.planned(condition):
        rows = [(slot or "all slots", _shares(book, method, condition, tier, slot)) for slot in (None, *SLOTS)]
        rows = [(label, shares) for label, shares in rows if shares]
        if rows:
            shown.append((method, rows))
    if not shown:
        return
    tallest = max(len(rows) for _, rows in shown)
    figure, axes = _new(len(shown), 3.1, 0.95 + 0.28 * tallest, legend=True)
    for axis, (method, rows) in zip(axes, shown, strict=True):
        _stack(axis, rows, BARS[condition])
        axis.set_title(method.name)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=7.5)
    words = f"Minimal contrasts, {tier} tier" if tier else "Collisions"
    caption = (
        f"{words}: share of episodes [percent] by the goals that were reached, at the last stage, task-balanced. "
        + (_captions.TIERS.get(tier, "") if tier else "Canonical goals of the scene's tasks, at some step.")
    )
    name = f"{condition}s_{tier}" if tier else f"{condition}s"
    yield Picture(name, f"table_2_{name}" if tier else f"table_{name}", caption, _png(figure))


def _shares(book: Book, method: Method, condition: str, tier: str | None, slot: str | None) -> dict[str, float]:
    judged = "own" if condition == "contrast" else "ever"
    scope = {"condition": condition, "tier": tier, "slot": slot, "stage": method.evidence.final_stage, "judged": judged}
    means = {
        name: book.value(method.name, name, **scope).mean for name, _, _ in BARS[condition] if name != "original_only"
    }
    found = {name: mean for name, mean in means.items() if mean is not None}
    if found and condition == "contrast":
        found["original_only"] = max(0.0, 1 - sum(found.values()))
    return found


def _stack(axis: Axes, rows: Sequence[tuple[str, dict[str, float]]], parts: Sequence[tuple[str, str, str]]) -> None:
    positions = range(len(rows))
    left = [0.0] * len(rows)
    for name, label, colour in parts:
        widths = [100 * shares[name] for _, shares in rows]
        axis.barh(
            positions, widths, left=left, color=colour, label=label, height=0.72, edgecolor="white", linewidth=0.5
        )
        for position, (start, width) in enumerate(zip(left, widths, strict=True)):
            if width >= 9:
                axis.text(start + width / 2, position, f"{width:.0f}", ha="center", va="center", fontsize=6.5)
        left = [start + width for start, width in zip(left, widths, strict=True)]
    axis.set_yticks(positions, [label for label, _ in rows])
    axis.set_ylim(len(rows) - 0.5, -0.5)
    axis.set_xlim(0, 100)
    axis.set_xlabel("episodes [percent]")


def _gaps(book: Book) -> Iterator[Picture]:
    """Original and paraphrase success joined by a line, and the gap with its interval."""
    rows = []
    for method in book.methods:
        stage = method.evidence.final_stage
        sides = [
            book.value(method.name, "final_success", condition=one, stage=stage) for one in ("original", "paraphrase")
        ]
        gap = book.value(method.name, "paraphrase_gap", condition="paraphrase", stage=stage)
        if gap.mean is not None:
            rows.append((method.name, sides, gap))
    if not rows:
        return
    figure, (left, right) = _new(2, 3.1, 1.0 + 0.34 * len(rows), legend=True, share=True)
    for position, (_, (original, paraphrase), gap) in enumerate(rows):
        _dumbbell(left, position, original, paraphrase)
        _whisker(right, position, gap)
    left.set_yticks(range(len(rows)), [name for name, _, _ in rows])
    left.set_ylim(len(rows) - 0.5, -0.5)
    left.set_xlim(-3, 103)
    left.set_xlabel("final success [percent]")
    right.axvline(0, color="0.5", linewidth=0.8)
    right.set_xlabel("gap: original - paraphrase [points]")
    handles, labels = left.get_legend_handles_labels()
    known = dict(zip(labels, handles, strict=True))
    figure.legend(list(known.values()), list(known), loc="outside lower center", ncols=2, frameon=False, fontsize=7.5)
    caption = (
        "Final success with original and with paraphrased instructions (left) and the signed gap (right), at the last "
        "stage, task-balanced. Lines: 95 % intervals (Wilson, Newcombe). Right of zero: paraphrases do worse."
    )
    yield Picture("paraphrase_gap", "table_1_paraphrase", caption, _png(figure))


def _dumbbell(axis: Axes, row: int, original: Value, paraphrase: Value) -> None:
    for value, offset, colour, face, label in (
        (original, -0.12, "black", "black", "original"),
        (paraphrase, 0.12, "#0072B2", "white", "paraphrase"),
    ):
        assert value.mean is not None
        if value.interval:
            low, high = value.interval
            axis.plot([100 * low, 100 * high], [row + offset] * 2, color=colour, linewidth=0.9)
        axis.plot(100 * value.mean, row + offset, "o", color=colour, markerfacecolor=face, markersize=5, label=label)


def _whisker(axis: Axes, row: int, gap: Value) -> None:
    assert gap.mean is not None
    if gap.interval:
        axis.plot([100 * bound for bound in gap.interval], [row, row], color="black", linewidth=0.9)
    axis.plot(100 * gap.mean, row, "D", color="black", markersize=4.5)


def _new(
    panels: int, width: float, height: float, legend: bool = False, share: bool = False
) -> tuple[Figure, list[Axes]]:
    """A figure of equal panels, at most four in a row; sizes of a panel in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = min(panels, 4)
    rows = -(-panels // columns)
    size = (width * columns, height * rows + (0.3 if legend else 0))
    figure = Figure(figsize=size, dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(rows, columns, squeeze=False, sharey=share).flatten()
    for spare in grid[panels:]:
        spare.set_axis_off()
    return figure, list(grid[:panels])


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})  # the same bytes whatever the library's version
    return buffer.getvalue()

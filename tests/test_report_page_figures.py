"""The figures of a report: what is drawn of which numbers, colours that can be told apart, both forms of a drawing."""

import html.parser
import io
import itertools
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from gym_grounding import metrics
from gym_grounding.metrics import Scope, Value
from gym_grounding.plan import Plan
from gym_grounding.report import _canvas, _charts, _paint, _results, figures
from gym_grounding.report._book import Book
from gym_grounding.report._canvas import SHAPES, Box, Dot, Drawing, Line, Text
from gym_grounding.report._charts import Column, Series
from gym_grounding.report._study import load
from gym_grounding.testing.records import write_run

CONDITIONS = ("original", "paraphrase", "contrast", "collision", "swap", "null", "negated")


@pytest.fixture(scope="module")
def book(toy, tmp_path_factory):
    """A deaf and a listening method at every stage, the listening one with probes."""
    root = tmp_path_factory.mktemp("runs")
    plan = Plan.make("Toy", registry=toy.path, init_states=range(2), stages="all", conditions=CONDITIONS)
    places = [
        write_run(root / name, toy, plan, name, skill=skill, probes=name == "listening")
        for name, skill in (("deaf", 0.8), ("listening", 0.6))
    ]
    study = load(places)
    return Book.of(study, metrics.measure([one.evidence for one in study.methods], np.random.default_rng(0)))


@pytest.fixture(scope="module")
def pictures(book):
    return {one.name: one for one in figures.draw(book)}


def texts(drawing):
    return [mark.text for mark in drawing.marks if isinstance(mark, Text)]


def titles(drawing):
    return [mark.title for mark in drawing.marks if isinstance(mark, Box | Dot) and mark.title]


def ratio(one, other):
    """Contrast of two colours as WCAG 2 defines it."""
    light, dark = sorted(map(_paint._luminance, (one, other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_every_kind_of_figure_is_drawn(pictures):
    assert {
        *("manifest_coverage", "paraphrase_gap", "over_stages_paraphrase", "stages_1", "stages_2", "controls"),
        *("contrasts_strict", "contrasts_strict_by_slot", "contrasts_permissive", "collisions", "collisions_by_slot"),
    } <= set(pictures)


def test_the_collision_figure_prints_the_measured_rates(book, pictures):
    drawing = pictures["collisions"].drawing
    printed = texts(drawing)
    assert [name for name in printed if name in ("deaf", "listening")] == ["deaf", "listening"]
    ogp = book.value("deaf", "original_goal_persistence", condition="collision", judged="ever", stage=5)
    low, high = (f"{100 * end:.1f}" for end in ogp.interval)
    assert ogp.mean > 0
    assert f"deaf: {100 * ogp.mean:.1f} [{low}, {high}]" in titles(drawing)
    assert sum(text in ("AIR", "OGP", "CGAR", "Outcome") for text in printed) == 7
    lines = [mark for mark in drawing.marks if isinstance(mark, Line) and mark.paint == "series0"]
    assert len(lines) == 2 * 7


def test_every_metric_that_has_stages_is_drawn_over_them(book, pictures):
    drawing = pictures["over_stages_paraphrase"].drawing
    heads = [mark.text for mark in drawing.marks if isinstance(mark, Text) and mark.bold]
    assert heads == ["Original: success", "Paraphrase: success", "Gap: original - paraphrase"]
    for stage in range(6):
        success = book.value("deaf", "success", condition="original", stage=stage)
        gap = book.value("deaf", "paraphrase_gap", condition="paraphrase", stage=stage)
        assert any(title.startswith(f"deaf, stage {stage}: {100 * success.mean:.1f} [") for title in titles(drawing))
        assert gap.mean is not None
    assert len([title for title in titles(drawing) if title.startswith("listening, stage 2: ")]) == 3


@pytest.mark.parametrize(
    ("name", "condition", "quantities"),
    [
        (
            "over_stages_contrasts_strict",
            "contrast",
            {"target_success", "goal_switch_accuracy", "original_persistence"},
        ),
        ("over_stages_collisions", "collision", {"original_goal_persistence", "canonical_goal_activation"}),
    ],
)
def test_conditions_evaluated_at_several_stages_get_their_own_figure(book, pictures, name, condition, quantities):
    """Contrasts and collisions are final by default; here their last numbers stand in for an earlier stage's."""
    assert name not in pictures
    earlier = {
        (method, quantity, Scope(**{**_fields(scope), "stage": 3})): value
        for (method, quantity, scope), value in book.index.items()
        if quantity in quantities and scope.condition == condition and scope.stage == 5
    }
    more = Book(book.study, book.measurements, {**book.index, **earlier})
    found = {one.name: one for one in figures.draw(more)}
    assert name in found
    assert any(", stage 3: " in title for title in titles(found[name].drawing))


def test_probes_of_every_stage_are_drawn_and_only_the_last_are_tabled(book, pictures):
    drawing = pictures["over_stages_actions"].drawing
    heads = [mark.text for mark in drawing.marks if isinstance(mark, Text) and mark.bold]
    assert heads == ["AD: paraphrase", "LM: paraphrase"]
    first = book.value("listening", "action_divergence", condition="paraphrase", stage=0)
    assert f"listening, stage 0: {first.mean:.3f}" in titles(drawing)
    rows = _results.action_table(book).rows
    assert len(rows) == len({row[1:4] for row in rows if row[0] == "listening"}) + sum(row[0] == "deaf" for row in rows)


def _fields(scope):
    return {name: getattr(scope, name) for name in scope.__slots__}


def test_the_heat_map_has_a_cell_for_every_evaluated_task(book, pictures):
    drawing = pictures["stages_1"].drawing
    shades = [mark for mark in drawing.marks if isinstance(mark, Box)]
    panels = {scope.condition for scope in book.scopes("deaf", "success") if scope.task and not scope.variant}
    assert {"original", "paraphrase"} <= panels
    assert len(shades) == 2 * sum(range(1, 7))  # stage t has t + 1 tasks
    assert pictures["stages_1"].method == "deaf"


def test_the_coverage_counts_instructions_and_says_what_was_asked(book, toy, pictures):
    drawing = pictures["manifest_coverage"].drawing
    numbers = [int(text) for text in texts(drawing) if text.isdecimal()]
    kinds = [row for row in toy.variants.values() if row.condition in CONDITIONS]
    assert sum(numbers) == len(kinds)
    assert {mark.paint for mark in drawing.marks if isinstance(mark, Box)} == {f"heat{_paint.LEVELS - 1}"}


def test_texts_and_lines_stand_out_on_light_and_on_dark_paper():
    paper = _paint.PAINTS["paper"]
    for side in (0, 1):
        assert ratio(_paint.PAINTS["ink"][side], paper[side]) >= 7
        assert ratio(_paint.PAINTS["soft"][side], paper[side]) >= 4.5
        for number in range(_paint.SERIES):
            assert ratio(_paint.PAINTS[f"series{number}"][side], paper[side]) >= 4, (number, side)
        for level in range(_paint.LEVELS):
            pair = (_paint.PAINTS[f"{name}{level}"][side] for name in ("heat", "on-heat"))
            assert ratio(*pair) >= 4.5, (level, side)
        for parts in figures.BARS.values():
            for _, _, paint in parts:
                assert ratio(_paint.PAINTS[paint][side], _paint.PAINTS["on-bar"][side]) >= 4.5, (paint, side)


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_deeper_shade_is_never_a_smaller_share(one, other):
    shades = [int(_paint.heat(share)[0].removeprefix("heat")) for share in sorted((one, other))]
    assert shades == sorted(shades)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=12))
def test_names_beside_lines_never_overlap(means):
    series = [Series(f"m{number}", number, {0: Value(0.5), 1: Value(mean)}) for number, mean in enumerate(means)]
    drawing = _charts.over_stages([("t", "rate", series)], [0, 1])
    names = {f"m{number}" for number in range(len(means))}
    heights = sorted(mark.y for mark in drawing.marks if isinstance(mark, Text) and mark.text in names)
    assert len(heights) == len(means)
    assert all(after - before > 8 for before, after in itertools.pairwise(heights))
    assert heights[0] >= 0
    assert heights[-1] <= drawing.height


@given(st.lists(st.floats(-3, 3) | st.none(), min_size=1, max_size=5), st.sampled_from(["difference", "log density"]))
def test_dots_stay_within_their_axes(means, unit):
    values = tuple((Value(mean),) for mean in means)
    drawing = _charts.dots([str(number) for number in range(len(means))], [Column(("head",), unit, values)])
    dots = [mark for mark in drawing.marks if isinstance(mark, Dot)]
    assert len(dots) == sum(mean is not None for mean in means)
    assert all(0 <= dot.x <= drawing.width and 0 <= dot.y <= drawing.height for dot in dots)
    order = [dot.x for dot in sorted(dots, key=lambda dot: dot.y)]
    present = [mean for mean in means if mean is not None]
    assert sorted(range(len(order)), key=order.__getitem__) == sorted(range(len(present)), key=present.__getitem__) or (
        len(set(present)) < len(present) or len(set(order)) < len(order)
    )


class Tags(html.parser.HTMLParser):
    """What an SVG element is made of."""

    def __init__(self):
        super().__init__()
        self.open, self.classes = [], set()

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.classes |= set(dict(attributes).get("class", "").split())
        assert not {"style", "fill", "stroke", "onload"} & {name for name, _ in attributes}

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_svg_is_whole_and_has_only_the_colours_of_its_paper(pictures):
    known = {f"{kind}-{name}" for kind in "fs" for name in _paint.PAINTS} | {"a-middle", "a-end", "b"}
    for picture in pictures.values():
        tags = Tags()
        tags.feed(picture.svg())
        assert tags.open == []
        assert tags.classes <= known
        assert not re.search(r"#[0-9a-f]{6}", picture.svg())


def test_texts_of_a_drawing_are_escaped():
    drawing = Drawing(50, 20, [Text(0, 10, "<script>&"), Dot(5, 5, title='"><b>')])
    found = _canvas.svg(drawing, '"><i>')
    assert "<script" not in found
    assert "<b>" not in found
    assert "<i>" not in found


@pytest.mark.parametrize("shape", SHAPES)
def test_a_picture_shows_what_is_drawn(shape):
    ink = tuple(int(_paint.PAINTS["series1"][0][at : at + 2], 16) for at in (1, 3, 5))
    image = Image.open(io.BytesIO(_canvas.png(Drawing(60, 40, [Dot(20, 30, "series1", shape, radius=5)])))).convert(
        "RGB"
    )
    scale = _canvas.DPI / _canvas.SCREEN
    assert image.getpixel((round((20 + _canvas.MARGIN) * scale), round((30 + _canvas.MARGIN) * scale))) == ink
    assert image.getpixel((round((40 + _canvas.MARGIN) * scale), round((10 + _canvas.MARGIN) * scale))) == (
        255,
        255,
        255,
    )


def test_panels_stand_in_rows_that_fit():
    sheet = _canvas.tiled([Drawing(100, 50, [Text(0, 10, str(number))]) for number in range(5)], 250, gap=10)
    assert (sheet.width, sheet.height) == (210, 170)
    assert [(mark.x, mark.y) for mark in sheet.marks] == [(0, 10), (110, 10), (0, 70), (110, 70), (0, 130)]

"""The page of a report in a real browser: it opens, sorts, filters, prints, is read in the dark, and plays a film."""

import json
import re
import time

import browsing
import numpy as np
import pytest

from gym_grounding.errors import CorruptRun
from gym_grounding.plan import Plan
from gym_grounding.report import _films, write_report
from gym_grounding.report import _write as writing
from gym_grounding.testing.records import write_run

NASTY = '</script><script>window.hacked = 1</script>"><img src=x onerror="window.hacked = 1"> & <b>'
CONDITIONS = ("original", "paraphrase", "contrast", "collision", "swap", "null")
FILM = {
    "variant": "Toy-T0-ContrastTarget1",
    "method": "listening",
    "seed": 0,
    "stage": 5,
    "init_state": 1,
    "outcome": "switch",
    "file": "a film.mp4",
    "caption": f"the bowl & {NASTY}",
}
CELLS = """
([name, place]) => [...document.querySelectorAll(`#table-${name} tbody tr`)].filter(row => !row.hidden)
  .map(row => row.cells[place].firstChild?.textContent ?? "")
"""
BELOW_ZERO = """
(() => {
  const cell = [...document.querySelectorAll("main td.num")].find(cell => cell.textContent.startsWith("\u2212"));
  const table = cell.closest("table");
  return [table.closest("[id^=table-]").id.slice(6), table.tHead.rows[0].cells[cell.cellIndex].textContent];
})()
"""
"""The first table with a number below zero, and the column of that number."""
HEADS = "name => [...document.querySelectorAll(`#table-${name} thead th`)].map(head => head.textContent)"


@pytest.fixture(scope="module")
def browser():
    with browsing.chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def report(toy, tmp_path_factory):
    """Three methods, one of them with a hostile name, all stages; a film of one episode, made by a real encoder."""
    from moviepy import ImageSequenceClip

    root = tmp_path_factory.mktemp("page")
    plan = Plan.make("Toy", registry=toy.path, init_states=range(2), stages="all", conditions=CONDITIONS)
    places = [
        write_run(root / name, toy, plan, name, name=words, probes=name == "deaf", skill=skill)
        for name, words, skill in (("deaf", "deaf", 0.8), ("listening", "listening", 0.5))
    ]
    places.append(write_run(root / "nasty", toy, plan, "deaf", name=NASTY))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "draw", lambda book: ())
        out = write_report(places, root / "report")
    (out / "films").mkdir()
    pictures = [np.full((48, 64, 3), 10 * number, np.uint8) for number in range(20)]
    ImageSequenceClip(pictures, fps=20).write_videofile(str(out / "films" / FILM["file"]), codec="libx264", logger=None)
    (out / "films" / "films.json").write_text(json.dumps([FILM]))
    return write_report(places, out)


class Page(browsing.Visit):
    """The page of the report."""

    def cells(self, table, place):
        return self.page.evaluate(CELLS, [table, place])

    def place(self, table, label):
        return self.page.evaluate(HEADS, table).index(label)

    def values(self, table, label):
        return [value(text) for text in self.cells(table, self.place(table, label))]

    def sort(self, table, label):
        self.page.locator(f"#table-{table} thead").get_by_role("button", name=label, exact=True).click()
        return self.cells(table, self.place(table, label))

    def order(self, table, label):
        head = self.page.locator(f"#table-{table} thead th").nth(self.place(table, label))
        return head.get_attribute("aria-sort")

    def until(self, script):
        """Wait for something; the page's own policy forbids the browser driver's way of waiting."""
        deadline = time.monotonic() + browsing.PATIENCE / 1000
        while not self.page.evaluate(script):
            assert time.monotonic() < deadline, script
            self.page.wait_for_timeout(20)

    def box(self, name):
        return self.page.locator("form").get_by_label(name, exact=True)


@pytest.fixture
def visit(browser, report):
    visits = []

    def opened(end="", folder=report, **options):
        visits.append(Page(browser, f"{folder}/report.html{end}", **options))
        return visits[-1]

    yield opened
    for one in visits:
        assert one.noise == []
        assert one.page.evaluate("window.hacked") is None
        assert all(re.search(r"(report\.html(#.*)?|\.mp4)$", url) for url in one.requests), one.requests
        assert all(url.startswith("file://") for url in one.requests)
        one.context.close()


def value(text):
    found = re.match(r"[−+]?\d+(\.\d+)?", text)  # noqa: RUF001 -- the sign that tables print
    return float(found[0].replace("−", "-")) if found else None  # noqa: RUF001


def test_it_opens_without_a_word_and_asks_for_nothing(visit):
    page = visit()
    assert page.requests == [page.page.url]
    assert page.page.locator("h1").inner_text() == "Language grounding report"
    assert re.fullmatch(r"(\d+) of \1 rows", page.page.locator("output").inner_text())


SORTED = (
    ("table_2_contrasts_strict", "GSA"),
    ("table_2_contrasts_permissive", "Original persistence"),
    ("continual", "NBT original"),
    ("table_controls", "Success"),
    ("paraphrase_kinds", "n"),
)


def test_numbers_sort_both_ways_with_missing_ones_last(visit):
    page, gaps = visit(), 0
    for table, label in SORTED:
        before = page.cells(table, page.place(table, label))
        numbers = [value(text) for text in before]
        missing = [text for text, number in zip(before, numbers, strict=True) if number is None]
        present = sorted((number for number in numbers if number is not None), reverse=True)
        down = page.sort(table, label)
        assert page.order(table, label) == "descending"
        assert [value(text) for text in down[: len(present)]] == present
        assert down[len(present) :] == missing
        up = page.sort(table, label)
        assert page.order(table, label) == "ascending"
        assert [value(text) for text in up[: len(present)]] == present[::-1]
        assert up[len(present) :] == missing
        assert page.sort(table, label) == before
        assert page.order(table, label) is None
        gaps += len(missing)
    assert gaps > 0


def test_numbers_below_zero_sort_below_zero(visit):
    page = visit()
    table, label = page.page.evaluate(BELOW_ZERO)
    numbers = page.values(table, label)
    page.sort(table, label)
    assert (
        page.values(table, label)
        == sorted(numbers, key=lambda number: -float("inf") if number is None else number)[::-1]
    )
    assert min(number for number in numbers if number is not None) < 0


def test_texts_sort_by_words_and_one_column_at_a_time(visit):
    page = visit()
    slots = page.sort("table_2_contrasts_strict", "Slot")
    assert slots == sorted(slots)
    assert page.order("table_2_contrasts_strict", "Slot") == "ascending"
    page.sort("table_2_contrasts_strict", "GSA")
    assert page.order("table_2_contrasts_strict", "Slot") is None


def test_a_name_is_pale_only_below_itself(visit):
    page = visit()
    page.sort("table_2_contrasts_strict", "Slot")
    rows = page.page.evaluate(
        "[...document.querySelectorAll('#table-table_2_contrasts_strict tbody tr')]"
        ".map(row => [row.cells[0].textContent, row.cells[0].classList.contains('repeat')])"
    )
    assert [pale for _, pale in rows] == [
        number > 0 and name == rows[number - 1][0] for number, (name, _) in enumerate(rows)
    ]


def test_a_method_can_be_left_out_of_everything(visit):
    page = visit()
    figures = page.page.locator('figure[data-method="deaf"]')
    assert figures.first.is_visible()
    page.box("deaf").uncheck()
    for table in ("summary", "table_2_contrasts_strict", "tasks", "coverage"):
        assert set(page.cells(table, 0)) == {"listening", NASTY}
    assert not figures.first.is_visible()
    assert page.page.locator('main details[data-method="deaf"]:visible').count() == 0
    assert page.page.locator('main details[data-method="listening"]:visible').count() == 1


def test_condition_slot_and_task_leave_only_their_rows(visit):
    page = visit()
    page.box("Condition").select_option("contrast")
    assert set(page.cells("coverage", 1)) == {"contrast"}
    page.box("Condition").select_option("")
    page.box("Slot").select_option("object")
    assert set(page.cells("table_collisions", 1)) == {"object"}
    assert len(page.cells("summary", 0)) == 3  # it has no slots
    page.box("Task").select_option("Toy-T0")
    assert set(page.cells("tasks", 1)) == {"Toy-T0"}
    shown = page.cells("variants_1", 0)
    assert shown
    assert all(re.fullmatch(r"Toy-T0-\w+Object\d+", name) for name in shown)
    left, total = map(int, re.findall(r"\d+", page.page.locator("output").inner_text()))
    assert left < total


def test_no_row_left_is_said(visit):
    page = visit()
    page.box("Condition").select_option("null")
    page.box("Slot").select_option("attribute")
    assert page.cells("variants_1", 0) == []
    page.page.locator("#table-variants_1 summary").click()
    assert page.page.locator("#table-variants_1").get_by_text("No row fits the filters.").is_visible()
    page.page.get_by_role("button", name="Clear").click()
    assert page.cells("variants_1", 0)
    assert not page.page.locator("#table-variants_1").get_by_text("No row fits the filters.").is_visible()


def test_the_address_keeps_filters_and_place(visit):
    page = visit()
    page.box("deaf").uncheck()
    page.box("Slot").select_option("object")
    page.page.get_by_role("navigation").get_by_role("link", name="Collisions").click()
    page.until("location.hash.includes('slot=object')")
    assert page.hash.startswith("#collisions&method=")
    other = visit(page.hash)
    assert set(other.cells("table_collisions", 1)) == {"object"}
    assert not other.box("deaf").is_checked()
    assert other.page.evaluate(
        "Math.abs(document.getElementById('collisions').getBoundingClientRect().top) < innerHeight"
    )
    other.page.reload()
    assert set(other.cells("table_collisions", 0)) == {"listening", NASTY}
    other.page.get_by_role("button", name="Clear").click()
    assert other.hash == "#collisions"


def test_a_link_opens_what_is_folded(visit):
    page = visit("#table-variants_2")
    assert page.page.locator("#table-variants_2 table").is_visible()
    assert not page.page.locator("#table-variants_1 table").is_visible()


def test_odd_addresses_do_no_harm(visit):
    page = visit("#%")
    for end in ("#method=", "#slot=nonsense&task=..", "#nothing", "#&&=&x"):
        page.page.evaluate("end => { location.hash = end; }", end)
        page.page.reload()
        assert page.page.locator("output").inner_text().endswith(" rows")
        assert page.box("Slot").input_value() == ""


def test_everything_can_be_done_from_the_keyboard(visit):
    page = visit()
    keyboard = page.page.keyboard
    keyboard.press("Tab")
    assert page.page.evaluate("document.activeElement.textContent") == "Skip to the results"
    keyboard.press("Enter")
    page.box("deaf").focus()
    keyboard.press("Space")
    assert "deaf" not in page.cells("summary", 0)
    for _ in range(40):
        keyboard.press("Tab")
        if page.page.evaluate("document.activeElement.closest('#table-summary thead th:nth-child(2)') !== null"):
            break
    assert page.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    keyboard.press("Enter")
    assert page.order("summary", "Original") == "descending"
    keyboard.press("Space")
    assert page.order("summary", "Original") == "ascending"


def test_a_screen_reader_is_told_what_everything_is(visit):
    page = visit()
    for role in ("banner", "navigation", "main", "search"):
        assert page.page.get_by_role(role).count() == 1, role
    unnamed = "name => [...document.querySelectorAll(name)].filter(one => !one.ariaLabel).length"
    assert page.page.evaluate(unnamed, "main svg, main [role=region], video") == 0
    assert page.page.evaluate("document.querySelectorAll('main svg').length") > 8
    assert page.page.evaluate("[...document.querySelectorAll('thead th')].every(head => head.scope === 'col')")
    described = "[...document.querySelectorAll('main table')].every(t => document.getElementById(t.getAttribute('aria-describedby')))"  # noqa: E501
    assert page.page.evaluate(described)
    ids = page.page.evaluate("[...document.querySelectorAll('[id]')].map(one => one.id)")
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out_in_both_schemes(visit, scheme):
    page = visit("#films-Toy-T0-ContrastTarget1", color_scheme=scheme)
    for name in ("h1", ".caption", "figcaption", "tbody td", ".aside", "nav a", "legend", ".films h4", ".warnings li"):
        assert page.page.evaluate(browsing.CONTRAST, name) >= 4.5, name
    dark = "getComputedStyle(document.querySelector('svg .f-ink')).fill"
    assert page.page.evaluate(dark) == ("rgb(26, 26, 26)" if scheme == "light" else "rgb(230, 228, 223)")


def test_a_narrow_window_scrolls_tables_and_figures_only(visit):
    page = visit()
    for width in (768, 380, 320):
        page.page.set_viewport_size({"width": width, "height": 700})
        assert page.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
    wide = "[...document.querySelectorAll('.scroll')].some(one => one.scrollWidth > one.clientWidth)"
    assert page.page.evaluate(wide)


def test_print_has_the_shown_rows_on_white_and_no_filters(visit):
    page = visit("#slot=target", color_scheme="dark")
    page.page.emulate_media(media="print")
    assert not page.page.locator("form").is_visible()
    assert set(page.cells("table_collisions", 1)) == {"target"}
    assert page.page.evaluate("getComputedStyle(document.body).color") == "rgb(26, 26, 26)"
    assert page.page.pdf()[:5] == b"%PDF-"


def test_without_script_every_row_is_there(visit, report):
    page = visit(java_script_enabled=False)
    assert not page.page.locator("form").is_visible()
    assert page.page.locator("#table-table_collisions tbody tr:visible").count() == 18
    assert page.page.locator("thead button").count() == 0


def test_a_film_plays(visit):
    page = visit("#films-Toy-T0-ContrastTarget1")
    assert not [url for url in page.requests if url.endswith(".mp4")]
    video = page.page.locator("video")
    assert video.get_attribute("src") == "films/a%20film.mp4"
    assert video.get_attribute("preload") == "none"
    assert "switch" in page.page.locator(".films figcaption").inner_text()
    video.evaluate("video => { video.muted = true; return video.play(); }")
    page.until("document.querySelector('video').currentTime > 0.2")
    assert video.evaluate("video => [video.videoWidth, video.videoHeight]") == [64, 48]
    page.box("Condition").select_option("collision")
    assert not video.is_visible()


def test_films_outlive_a_new_report_and_only_then_media_are_allowed(report):
    assert (report / "films" / FILM["file"]).stat().st_size > 0
    assert "media-src 'self'" in (report / "report.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"file": "../secret.mp4"}, "does not lie in films/"),
        ({"file": "/etc/passwd"}, "does not lie in"),
        (None, "outcome"),
    ],
)
def test_a_list_of_films_that_cannot_be_trusted_is_refused(tmp_path, change, words):
    row = {name: FILM[name] for name in FILM if name != "outcome"} if change is None else FILM | change
    (tmp_path / "films").mkdir()
    (tmp_path / "films" / "films.json").write_text(json.dumps([FILM, row]))
    with pytest.raises(CorruptRun, match=rf"films\.json: entry 1 is no film .*{words}"):
        _films.read(tmp_path)


def test_the_policy_stops_what_escaping_would_miss(browser, report, tmp_path):
    planted = '<script>window.hacked = 1</script><img src="https://example.invalid/x.png" onerror="window.hacked = 1">'
    path = tmp_path / "report.html"
    path.write_text((report / "report.html").read_text("utf-8").replace("<main>", f"<main>{planted}", 1), "utf-8")
    page = Page(browser, path)
    assert page.page.evaluate("window.hacked") is None
    assert len(page.noise) >= 2
    assert all("Content Security Policy" in line for line in page.noise)
    page.context.close()

"""The gallery in a real browser: filters, deep links, keyboard, both colour schemes, and hostile texts."""

import re

import browsing
import pytest
from variants.pages import hostile, written

from gym_grounding.variants import coverage
from gym_grounding.variants.gallery import write_gallery

IN_VIEW = """
name => {
  const box = document.querySelector(name).getBoundingClientRect();
  return box.top >= 0 && box.bottom <= innerHeight;
}
"""
VISIBLE = "rows => rows.filter(row => row.checkVisibility()).map(row => row.id)"


@pytest.fixture(scope="module")
def browser():
    with browsing.chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def pages(toy, tmp_path_factory):
    return written(toy, tmp_path_factory.mktemp("gallery"))


class Visit(browsing.Visit):
    """One page of the gallery."""

    def rows(self, **wanted):
        chosen = "".join(f'[data-{name}="{value}"]' for name, value in wanted.items())
        return self.page.eval_on_selector_all(f"tr[data-state]{chosen}", VISIBLE)

    def box(self, name, value):
        return self.page.locator(f'input[name="{name}"][value="{value}"]')

    def count(self):
        return self.page.locator("output").inner_text()


@pytest.fixture
def visit(browser, pages):
    visits = []

    def opened(address="Toy.html", folder=pages, **options):
        visits.append(Visit(browser, f"{folder}/{address}", **options))
        return visits[-1]

    yield opened
    for one in visits:
        assert one.noise == []
        outside = [url for url in one.requests if not url.startswith(("file://", "data:image/jpeg;base64,"))]
        assert outside == []
        assert all(re.search(r"\.html(#.*)?$", url) for url in one.requests if url.startswith("file:"))
        one.context.close()


def ids(rows):
    return [row.id for row in rows]


def test_at_first_all_instructions_and_empty_cells_are_there(toy, visit):
    page = visit()
    empty = sum(cell.variant is None for cell in coverage.cells(toy))
    assert page.rows(state="held") == list(toy.variants)
    assert len(page.rows(state="empty")) == empty
    assert page.rows(state="refused") == []
    refused = sum(row.instruction is not None for row in toy.absent)
    total = len(toy.variants) + empty
    assert page.count() == f"{total} of {total + refused} rows"
    assert page.hash == ""


@pytest.mark.parametrize("words", ["kettle", "Kettle ", "put mug", "mug put mat", "right drawer", "behind"])
def test_typing_leaves_the_rows_with_all_the_words(toy, visit, words):
    page = visit()
    page.page.get_by_label("Text").press_sequentially(words)
    wanted = words.casefold().split()
    texts = {
        row.id: f"{row.id} {row.instruction} {row.goal.id if row.goal else ''}".casefold()
        for row in toy.variants.values()
    }
    expected = [name for name, text in texts.items() if all(word in text for word in wanted)]
    assert expected
    assert page.rows(state="held") == expected
    assert page.count().startswith(f"{len(page.rows())} of ")


def test_words_that_occur_nowhere_leave_a_message(visit):
    page = visit()
    assert not page.page.locator("#nothing").is_visible()
    page.page.get_by_label("Text").fill("zebra")
    assert page.rows() == []
    assert page.page.locator("#nothing").is_visible()
    assert page.page.locator("section.task:visible").count() == 0
    assert page.count().startswith("0 of ")


def test_condition_boxes_hide_and_show(toy, visit):
    page = visit()
    left = {row.condition for row in toy.variants.values()}
    assert left > {"original", "paraphrase", "contrast", "collision"}
    for name in ("original", "collision", "contrast"):
        page.page.get_by_label(name, exact=True).click()
        left.remove(name)
        assert page.rows(state="held") == ids(row for row in toy.variants.values() if row.condition in left)
    page.page.get_by_label("contrast", exact=True).click()
    assert page.rows(state="held") == ids(r for r in toy.variants.values() if r.condition in {*left, "contrast"})
    shown = page.page.locator("tr.group:visible th").all_inner_texts()
    assert {text.split()[0] for text in shown} == {*left, "contrast"}


def test_slot_tier_and_task_leave_only_theirs(toy, visit):
    page = visit()
    page.page.get_by_label("Slot").select_option("target")
    assert page.rows(state="held") == ids(row for row in toy.variants.values() if row.slot == "target")
    page.page.get_by_label("Slot").select_option("")
    page.page.get_by_label("Tier").select_option("permissive")
    assert page.rows() == ids(row for row in toy.variants.values() if row.tier == "permissive")
    page.page.get_by_label("Tier").select_option("")
    page.page.get_by_label("Task").select_option("Toy-T3")
    assert page.rows(state="held") == ids(row for row in toy.variants.values() if row.task == "Toy-T3")
    assert page.page.locator("section.task:visible").count() == 1


def test_kinds_of_rows_can_be_chosen(toy, visit):
    page = visit()
    page.page.get_by_label("refused sentences").check()
    assert len(page.rows(state="refused")) == sum(row.instruction is not None for row in toy.absent)
    page.page.get_by_label("instructions", exact=True).uncheck()
    page.page.get_by_label("empty cells").uncheck()
    assert len(page.rows()) == len(page.rows(state="refused")) == 1


def test_the_address_keeps_the_filters(toy, visit):
    page = visit()
    page.page.get_by_label("Text").fill("put the")
    page.page.get_by_label("original", exact=True).uncheck()
    page.page.get_by_label("empty cells").uncheck()
    page.page.get_by_label("Slot").select_option("object")
    shown = page.rows()
    assert shown == ids(r for r in toy.variants.values() if r.slot == "object" and "put the" in r.instruction)
    other = visit(f"Toy.html{page.hash}")
    assert other.rows() == shown
    assert other.page.get_by_label("Text").input_value() == "put the"
    assert not other.page.get_by_label("original", exact=True).is_checked()
    other.page.reload()
    assert other.rows() == shown
    other.page.get_by_role("button", name="Clear").click()
    assert other.rows(state="held") == list(toy.variants)
    assert "text" not in other.hash


def test_a_row_can_be_linked(toy, visit):
    page = visit("Toy.html#Toy-T5-CollisionObject1")
    assert page.rows(state="held") == list(toy.variants)
    row = page.page.locator("#Toy-T5-CollisionObject1")
    assert page.page.evaluate(IN_VIEW, "#Toy-T5-CollisionObject1")
    assert row.evaluate("row => row.matches(':target')")
    plain = page.page.locator("#Toy-T5-Original td")
    colours = [one.evaluate("one => getComputedStyle(one).backgroundColor") for one in (row.locator("td"), plain)]
    assert colours[0] != colours[1]


def test_a_link_to_a_hidden_row_shows_it(toy, visit):
    page = visit("Toy.html#text=kettle&condition=collision", viewport={"width": 1200, "height": 400})
    assert "Toy-T1-Original" not in page.rows()
    page.page.evaluate("location.hash = 'Toy-T1-Original'")
    page.page.wait_for_function("document.getElementById('Toy-T1-Original').checkVisibility()")
    assert page.rows(state="held") == list(toy.variants)
    assert page.page.evaluate(IN_VIEW, "#Toy-T1-Original")
    page.page.go_back()
    page.page.wait_for_function("!document.getElementById('Toy-T1-Original').checkVisibility()")
    assert page.page.get_by_label("Text").input_value() == "kettle"


@pytest.mark.parametrize(
    "end", ["#%", "#condition=", "#slot=nonsense&tier=&task=..", "#nothing", "#state=held&state=empty&x"]
)
def test_odd_addresses_do_no_harm(toy, visit, end):
    page = visit(f"Toy.html{end}")
    assert page.count().endswith(" rows")


def test_the_index_leads_to_a_task(toy, visit):
    page = visit("index.html")
    page.page.get_by_role("link", name=re.compile("^T4 ")).click()
    assert page.page.url.endswith("Toy.html#Toy-T4")
    assert page.page.locator("#Toy-T4").evaluate("one => Math.abs(one.getBoundingClientRect().top) < innerHeight")
    page.page.get_by_role("link", name="All suites").click()
    assert page.page.url.endswith("index.html")


def test_everything_can_be_done_from_the_keyboard(toy, visit):
    page = visit()
    keyboard, focused = page.page.keyboard, lambda: page.page.evaluate("document.activeElement.outerHTML")
    for expected in ("Skip the filters", "All suites", 'name="text"'):
        keyboard.press("Tab")
        assert expected in focused()
    keyboard.type("kettle")
    assert page.rows(state="held") == ids(row for row in toy.variants.values() if "kettle" in row.instruction)
    keyboard.press("Tab")
    assert 'value="original"' in focused()
    keyboard.press("Tab")
    keyboard.press("Tab")
    keyboard.press("Tab")
    assert 'value="collision"' in focused()
    keyboard.press("Space")
    assert page.rows(state="held") == []
    keyboard.press("Space")
    outline = page.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none"


def test_the_region_of_a_row_lights_up_in_the_picture(visit):
    page = visit()
    shape = page.page.locator('polygon[data-region="toy_table_chest_1_behind"]')
    assert shape.get_attribute("class") in (None, "")
    page.page.locator("#Toy-T1-ContrastRelation1 .says").hover()
    assert shape.get_attribute("class") == "on"
    page.page.locator("#Toy-T1-ContrastTarget1 .says").hover()
    assert shape.get_attribute("class") == ""
    page.page.locator("#Toy-T1-ContrastRelation1 th a").focus()
    assert shape.get_attribute("class") == "on"


def test_evidence_opens_on_demand(visit):
    page = visit()
    details = page.page.locator("#Toy-T5-CollisionObject1 details")
    assert not details.locator("li").first.is_visible()
    details.locator("summary").click()
    assert "could be done" in details.locator("ul").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "name", [".says", ".aside", ".none", ".tier", "tr.group th", "mark", "legend", "label.c-paraphrase", "tr:target td"]
)
def test_texts_stand_out_in_both_schemes(visit, scheme, name):
    page = visit("Toy.html#Toy-T1-ContrastTarget1", color_scheme=scheme)
    assert page.page.evaluate(browsing.CONTRAST, name) >= 4.5


def test_the_schemes_differ(visit):
    colours = {
        visit(color_scheme=scheme).page.evaluate("getComputedStyle(document.body).backgroundColor")
        for scheme in ("light", "dark")
    }
    assert len(colours) == 2


def test_print_has_the_shown_rows_and_no_filters(visit):
    page = visit("Toy.html#text=kettle")
    shown = page.rows()
    page.page.emulate_media(media="print")
    assert page.rows() == shown
    assert not page.page.locator("form").is_visible()


def test_a_narrow_window_does_not_scroll_sideways(visit):
    for address in ("Toy.html", "index.html"):
        page = visit(address, viewport={"width": 380, "height": 700})
        assert page.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_without_script_everything_is_shown(toy, visit):
    page = visit(java_script_enabled=False)
    assert not page.page.locator("form").is_visible()
    assert page.page.locator('tr[data-state="held"]:visible').count() == len(toy.variants)
    assert page.page.locator('tr[data-state="refused"]:visible').count() == 1


def test_hostile_texts_do_not_run(toy, visit, tmp_path):
    spoilt = hostile(toy)
    page = visit(folder=written(spoilt, tmp_path))
    page.page.wait_for_timeout(100)
    assert page.page.evaluate("window.hacked") is None
    assert page.rows(state="held") == list(toy.variants)
    page.page.get_by_label("Text").fill("<script>")
    assert page.rows(state="held") == list(toy.variants)
    index = visit("index.html", folder=tmp_path)
    assert index.page.evaluate("window.hacked") is None


def test_the_policy_stops_what_escaping_would_miss(toy, browser, tmp_path):
    write_gallery(toy, tmp_path, draw=None)
    path = tmp_path / "Toy.html"
    planted = '<script>window.hacked = 1</script><img src="https://example.invalid/x.png" onerror="window.hacked = 1">'
    path.write_text(path.read_text().replace("<main", f"{planted}<main", 1))
    page = Visit(browser, path)
    assert page.page.evaluate("window.hacked") is None
    assert len(page.noise) >= 2
    assert all("Content Security Policy" in line for line in page.noise)
    page.context.close()


@pytest.mark.slow
def test_the_shipped_registry_is_counted_right(visit, tmp_path):
    from gym_grounding import manifest as manifests

    manifest = manifests.load()
    write_gallery(manifest, tmp_path, draw=None)
    for suite in manifest.suites:
        page = visit(f"{suite}.html", folder=tmp_path)
        assert page.rows(state="held") == ids(manifest.select(suite=suite))
        for name in ("contrast", "collision"):
            page.go(f"{tmp_path}/{suite}.html#condition={name}&state=held")
            page.page.reload()
            assert page.rows() == ids(manifest.select(suite=suite, conditions=[name]))

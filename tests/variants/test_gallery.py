"""The gallery's pages as files: every row once, everything escaped, nothing from outside."""

import base64
import hashlib
import io
import re
from dataclasses import replace

import numpy as np
import pytest
from variants.pages import HOSTILE, drawn, hostile, read, two_suites, written

from gym_grounding.errors import UnknownName, UnwritableOutput
from gym_grounding.types import Absent
from gym_grounding.variants import coverage
from gym_grounding.variants._pictures import Picture
from gym_grounding.variants.gallery import write_gallery
from gym_grounding.variants.gallery._html import marked


@pytest.fixture(scope="module")
def pages(toy, tmp_path_factory):
    return written(toy, tmp_path_factory.mktemp("gallery"))


def rows(page, **wanted):
    return page.find("tr", **wanted)


def test_every_variant_is_a_row_with_its_text(toy, pages):
    held = rows(read(pages / "Toy.html"), data_state="held")
    assert [row.attributes["id"] for row in held] == list(toy.variants)
    for row, variant in zip(held, toy.variants.values(), strict=True):
        (sentence,) = row.find("p", class_="says")
        assert sentence.text.removesuffix(f" {variant.tier}") == (variant.instruction or "the empty instruction")
        assert row.attributes["data-condition"] == variant.condition
        assert row.attributes.get("data-slot") == variant.slot
        assert row.attributes.get("data-tier") == variant.tier


def test_every_row_stands_with_its_task(toy, pages):
    for section in read(pages / "Toy.html").find("section", class_="task"):
        task = toy.tasks[section.attributes["id"]]
        assert section.find("h2")[0].text.endswith(task.instruction)
        own = [variant.id for variant in toy.variants.values() if variant.task == task.id]
        assert [row.attributes["id"] for row in rows(section, data_state="held")] == own


def test_every_empty_cell_is_a_row_with_its_reason(toy, pages):
    empty = [cell for cell in coverage.cells(toy) if cell.variant is None]
    found = rows(read(pages / "Toy.html"), data_state="empty")
    assert [row.attributes["data-condition"] for row in found] == [cell.condition for cell in empty]
    for row, cell in zip(found, empty, strict=True):
        assert cell.reason.replace("_", " ") in row.text
        assert "id" not in row.attributes
    (lamp,) = (row for row in found if "frame has no target" in row.text)
    assert "turn on(x) has no target" in lamp.text


def test_an_empty_cell_names_every_code(toy, tmp_path):
    second = Absent("Toy-T2", "contrast", "action", "manner", "it cannot", "push the lamp")
    page = read(written(replace(toy, absent=(*toy.absent, second)), tmp_path) / "Toy.html")
    (section,) = page.find("section", id="Toy-T2")
    (cell,) = rows(section, data_state="empty", data_condition="contrast", data_slot="action")
    assert cell.find("p", class_="says")[0].text == "already true, manner"
    assert "2 sentences were refused; the first: the lamp is off" in cell.text


def test_refused_sentences_are_rows(toy, pages):
    (refused,) = rows(read(pages / "Toy.html"), data_state="refused")
    assert "turn off the lamp" in refused.text
    assert "already true" in refused.text
    assert "the lamp is off in every initial state" in refused.text


def test_new_words_are_marked(pages):
    page = read(pages / "Toy.html")
    (row,) = rows(page, id="Toy-T1-ContrastRelation1")
    assert [mark.text for mark in row.find("mark")] == ["behind"]
    (row,) = rows(page, id="Toy-T1-Paraphrase1")
    assert row.find("mark") == []


@pytest.mark.parametrize(
    ("sentence", "part", "html"),
    [
        ("put the onion on the tray", "on", "put the onion <mark>on</mark> the tray"),
        ("put it on", "on", "put it <mark>on</mark>"),
        ("put it down", "on", "put it down"),
        ("put it down", None, "put it down"),
        ("a < b & c", "< b", "a <mark>&lt; b</mark> &amp; c"),
        ("a.b", "a", "<mark>a</mark>.b"),
        ("what? no", "what?", "<mark>what?</mark> no"),
    ],
)
def test_marks_are_whole_words(sentence, part, html):
    assert marked(sentence, part) == html


def test_refused_sentences_without_a_cell_are_rows_too(toy, tmp_path):
    row = Absent("Toy-T3", "swap", None, "already_true", "it is so", "turn on the lamp")
    page = read(written(replace(toy, absent=(*toy.absent, row)), tmp_path) / "Toy.html")
    (section,) = page.find("section", id="Toy-T3")
    (refused,) = rows(section, data_state="refused")
    assert refused.attributes["data-condition"] == "swap"
    assert "turn on the lamp" in refused.text


def test_goals_and_evidence_are_shown(pages):
    page = read(pages / "Toy.html")
    (row,) = rows(page, id="Toy-T1-ContrastRelation1")
    assert row.find("code")[0].text == "on(block_1, toy_table_chest_1_behind)"
    assert row.attributes["data-regions"] == "toy_table_chest_1_behind"
    (collision,) = rows(page, id="Toy-T5-CollisionObject1")
    assert "'kettle' occurs in none of the suite's own instructions" in collision.text
    assert "'open the left drawer' could be done" in collision.text


def test_controls_say_what_is_special_about_them(pages):
    page = read(pages / "Toy.html")
    (swap,) = rows(page, id="Toy-T0-Swap2")
    assert "text of Toy-T2" in swap.text
    first, second = (rows(page, id=f"Toy-T2-Reverse{number}")[0].text for number in (1, 2))
    assert "starts with lamp_1 at 1" in first
    assert "only described" not in first
    assert "only described" in second
    assert "turnoff(lamp_1)" in first
    assert "turnoff(lamp_1)" not in second


def test_regions_lie_over_the_picture_of_their_task(pages):
    page = read(pages / "Toy.html")
    drawn_in = {
        section.attributes["id"]: [shape.attributes["data-region"] for shape in section.find("polygon")]
        for section in page.find("section", class_="task")
    }
    assert drawn_in.pop("Toy-T1") == ["toy_table_chest_1_behind"]
    assert not any(drawn_in.values())
    (shape,) = page.find("polygon")
    assert shape.attributes["points"] == "10.0,10.0 30.0,10.0 30.0,30.0 10.0,30.0"


def test_pictures_are_those_that_were_drawn(toy, pages):
    from matplotlib import image

    page = read(pages / "Toy.html")
    expected = dict(drawn(toy, toy.suite_tasks("Toy"), 48))
    for section in page.find("section", class_="task"):
        (picture,) = section.find("img")
        data = base64.b64decode(picture.attributes["src"].removeprefix("data:image/jpeg;base64,"), validate=True)
        pixels = image.imread(io.BytesIO(data), format="jpeg").astype(int)
        assert np.abs(pixels - expected[section.attributes["id"]].pixels).mean() < 6
        assert (picture.attributes["width"], picture.attributes["height"]) == ("48", "48")
        assert picture.attributes["alt"]


def test_ids_are_unique_and_links_lead_somewhere(pages):
    ids = {}
    for path in pages.glob("*.html"):
        found = re.findall(r'\sid="([^"]*)"', path.read_text())
        assert len(found) == len(set(found))
        ids[path.name] = set(found)
    links = {
        (path.name, link) for path in pages.glob("*.html") for link in re.findall(r'href="([^"]*)"', path.read_text())
    }
    assert len(links) > 20
    for page, link in links:
        target, _, anchor = link.partition("#")
        assert not anchor or anchor in ids[target or page], (page, link)
        assert (target or page) in ids


def test_the_index_links_every_task_and_has_the_coverage(toy, pages):
    index = read(pages / "index.html")
    links = [link.attributes["href"] for link in index.find("a")]
    assert [link for link in links if "#" in link] == [f"Toy.html#{task}" for task in toy.tasks]
    for table in coverage.tables(toy):
        assert table.title in index.text
    for name in dict.fromkeys(variant.condition for variant in toy.variants.values()):
        assert [entry.text for entry in index.find("dt")].count(name) == 1


@pytest.mark.parametrize("name", ["index.html", "Toy.html"])
def test_nothing_comes_from_outside(pages, name):
    text = (pages / name).read_text()
    assert re.findall(r"https?:|@import|url\(|fetch|XMLHttp", re.sub(r'base64,[^"]*', "", text)) == []
    assert all(re.fullmatch(r"#.*|\w+\.html(#.*)?", link) for link in re.findall(r'href="([^"]*)"', text))
    page = read(pages / name)
    assert page.find("link") == []
    assert [tag.attributes for tag in page.find("script") if tag.attributes] == []
    for picture in page.find("img"):
        assert picture.attributes["src"].startswith("data:image/jpeg;base64,")
    (policy,) = page.find("meta", http_equiv="Content-Security-Policy")
    assert "default-src 'none'" in policy.attributes["content"]


def test_the_policy_allows_the_script_of_the_page_and_no_other(pages):
    page = read(pages / "Toy.html")
    (script,) = page.find("script")
    digest = base64.b64encode(hashlib.sha256(script.text.encode()).digest()).decode()
    (policy,) = page.find("meta", http_equiv="Content-Security-Policy")
    assert f"script-src 'sha256-{digest}';" in policy.attributes["content"]
    index = read(pages / "index.html")
    assert index.find("script") == []
    assert "script-src 'none'" in index.find("meta", http_equiv="Content-Security-Policy")[0].attributes["content"]


def test_hostile_texts_are_text(toy, tmp_path):
    page = read(written(hostile(toy), tmp_path) / "Toy.html")
    assert len(page.find("script")) == 1
    assert [picture for picture in page.find("img") if "onerror" in picture.attributes] == []
    assert page.find("b") == []
    assert page.text.count(HOSTILE) >= len(toy.variants) + len(toy.tasks)
    assert len(rows(page, data_state="held")) == len(toy.variants)
    assert read(tmp_path / "index.html").find("script") == []


def test_the_same_registry_gives_the_same_bytes(toy, pages, tmp_path):
    again = written(toy, tmp_path)
    for path in pages.glob("*.html"):
        assert (again / path.name).read_bytes() == path.read_bytes()


def test_without_pictures_nothing_is_drawn(toy, tmp_path):
    write_gallery(toy, tmp_path, draw=None)
    page = read(tmp_path / "Toy.html")
    assert page.find("img") == []
    assert len(rows(page, data_state="held")) == len(toy.variants)


def test_one_suite_alone(toy, tmp_path):
    manifest = two_suites(toy)
    paths = write_gallery(manifest, tmp_path, suite="Other", draw=drawn, size=48)
    assert [path.name for path in paths] == ["index.html", "Other.html"]
    assert {path.name for path in tmp_path.iterdir()} == {"index.html", "Other.html"}
    assert read(tmp_path / "index.html").find("a")[0].attributes["href"] == "Other.html"
    with pytest.raises(UnknownName, match="Othr"):
        write_gallery(manifest, tmp_path, suite="Othr", draw=drawn)


def test_each_suite_has_its_own_rows(toy, tmp_path):
    manifest = two_suites(toy)
    write_gallery(manifest, tmp_path, draw=drawn, size=48)
    for suite in ("Toy", "Other"):
        held = rows(read(tmp_path / f"{suite}.html"), data_state="held")
        assert [row.attributes["id"] for row in held] == [variant.id for variant in manifest.select(suite=suite)]


def test_a_picture_that_cannot_be_drawn_leaves_the_old_pages(toy, pages, tmp_path):
    written(toy, tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def failing(manifest, tasks, size):
        yield tasks[0].id, Picture(np.zeros((size, size, 3), np.uint8))
        raise UnwritableOutput("the second one fails")

    with pytest.raises(UnwritableOutput, match="second"):
        write_gallery(toy, tmp_path, draw=failing)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_file_in_the_way_is_refused_before_anything_is_drawn(toy, tmp_path):
    (tmp_path / "taken").write_text("mine")

    def never(*_):
        raise AssertionError("drawn in vain")

    with pytest.raises(UnwritableOutput, match="taken"):
        write_gallery(toy, tmp_path / "taken", draw=never)
    assert (tmp_path / "taken").read_text() == "mine"


def test_other_files_in_the_folder_stay(toy, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    written(toy, tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_progress_sees_every_picture(toy, tmp_path):
    seen = []

    def counting(pictures, total):
        for one in pictures:
            seen.append((one[0], total))
            yield one

    written(toy, tmp_path, progress=counting)
    assert seen == [(task, len(toy.tasks)) for task in toy.tasks]

"""Counting cells: all of them, once, filled or with a reason."""

from collections import Counter
from dataclasses import replace

import pytest
from mini_registry import dumped, mini, variant

from gym_grounding import conditions
from gym_grounding import manifest as manifests
from gym_grounding.errors import RegistryError
from gym_grounding.types import SLOTS, Absent
from gym_grounding.variants import _figure, _tables, coverage


def loaded(tmp_path, data):
    path = tmp_path / "registry.yaml"
    path.write_bytes(dumped(data))
    return manifests.load(path)


def table(manifest, title):
    (found,) = (one for one in coverage.tables(manifest) if one.title == title)
    return found


def rows(manifest, title):
    found = table(manifest, title)
    return [dict(zip(found.header, row, strict=True)) for row in found.rows]


def test_the_conditions_are_those_that_hold_cells():
    assert sorted(coverage.CONDITIONS) == sorted(conditions.standard())


def test_each_task_has_sixteen_cells(toy):
    found = coverage.cells(toy)
    assert Counter(cell.task for cell in found) == dict.fromkeys(toy.tasks, 1 + 5 + 5 + 5)
    places = [(cell.task, cell.condition, cell.slot, cell.number) for cell in found]
    assert len(places) == len(set(places))


def test_a_cell_is_filled_by_its_variant(toy):
    filled = [cell.variant.id for cell in coverage.cells(toy) if cell.variant]
    assert sorted(filled) == sorted(variant.id for variant in toy.select(conditions=coverage.CONDITIONS))
    for cell in coverage.cells(toy):
        if cell.variant:
            own = (cell.variant.task, cell.variant.condition, cell.variant.slot, cell.variant.number)
            assert own == (cell.task, cell.condition, cell.slot, cell.number)
            assert cell.reason == ""


def test_an_empty_cell_has_the_first_reason_of_the_file(toy):
    refused = Absent("Toy-T2", "contrast", "action", "same_goal", instruction="switch on the lamp")
    (before,) = (c for c in coverage.cells(toy) if (c.task, c.condition, c.slot) == ("Toy-T2", "contrast", "action"))
    assert before.reason == "already_true"
    spoilt = replace(toy, absent=(refused, *toy.absent))
    (after,) = (c for c in coverage.cells(spoilt) if (c.task, c.condition, c.slot) == ("Toy-T2", "contrast", "action"))
    assert after.reason == "same_goal"
    assert [row.reason for row in after.absent] == ["same_goal", "already_true"]


def test_a_refused_sentence_does_not_empty_a_filled_cell(toy):
    row = Absent("Toy-T0", "contrast", "target", "not_chosen", instruction="put the block on the bowl")
    changed = replace(toy, absent=(*toy.absent, row))
    assert [cell.reason for cell in coverage.cells(changed)] == [cell.reason for cell in coverage.cells(toy)]
    assert {"condition": "contrast", "reason": "not_chosen", "sentences": 1}.items() <= next(
        row.items() for row in rows(changed, "Refused sentences") if row["reason"] == "not_chosen"
    )


def test_only_sentences_are_counted_as_refused(toy):
    assert len(toy.absent) > sum(row.instruction is not None for row in toy.absent)
    *_, total = rows(toy, "Refused sentences")
    assert total["sentences"] == sum(row.instruction is not None for row in toy.absent)


def test_a_cell_without_a_reason_is_told(toy):
    (cell,) = (c for c in coverage.cells(toy) if (c.task, c.condition, c.slot) == ("Toy-T2", "collision", "action"))
    assert (cell.variant, cell.reason) == (None, coverage.NO_REASON)


def test_numbers_leave_holes_and_higher_ones_fill_what_is_left(tmp_path):
    data = mini()
    data["variants"] = [row for row in data["variants"] if not row["id"].startswith("Mini-T0-Paraphrase")]
    texts = {2: "place the cup on the shelf", 7: "set the cup on the shelf", 5: "the cup goes on the shelf"}
    for number, text in texts.items():
        data["variants"].append(variant(f"Mini-T0-Paraphrase{number}", "paraphrase", text, number=number, kind="other"))
    manifest = loaded(tmp_path, data)
    group = [cell for cell in coverage.cells(manifest) if (cell.task, cell.condition) == ("Mini-T0", "paraphrase")]
    assert [cell.variant and cell.variant.number for cell in group] == [7, 2, None, None, 5]


@pytest.mark.parametrize("name", ["toy", "shipped"])
def test_sums_agree_with_the_registry(name, toy):
    manifest = toy if name == "toy" else manifests.load()
    for row in rows(manifest, "Cells"):
        suites = list(manifest.suites) if row["suite"] == coverage.ALL else [row["suite"]]
        names = coverage.CONDITIONS if row["condition"] == "sum" else (row["condition"],)
        held = [v for suite in suites for v in manifest.select(suite=suite, conditions=names)]
        tasks = sum(len(manifest.suite_tasks(suite)) for suite in suites)
        size = {"original": 1, "paraphrase": 5, "contrast": 5, "collision": 5}
        assert row["cells"] == tasks * sum(size[one] for one in names)
        assert row["filled"] == len(held)
        assert row["filled"] + row["empty"] == row["cells"]
        if row["condition"] == "contrast":
            tiers = Counter(variant.tier for variant in held)
            assert (row["strict"] or 0, row["permissive"] or 0) == (tiers["strict"], tiers["permissive"])


def test_slots_agree_with_the_registry(toy):
    for row in rows(toy, "Contrasts and collisions by slot"):
        tiers = [row["tier"]] if row["tier"] in ("strict", "permissive") else None
        held = toy.select(suite=row["suite"], conditions=[row["condition"]], tiers=tiers)
        assert [row[slot] for slot in SLOTS] == [sum(v.slot == slot for v in held) for slot in SLOTS]
        assert row["sum"] == len(held)


def test_reasons_add_up_to_the_empty_cells(toy):
    for manifest in (toy, manifests.load()):
        empty = sum(cell.variant is None for cell in coverage.cells(manifest))
        *listed, total = rows(manifest, "Why cells are empty")
        assert sum(row["cells"] for row in listed) == total["cells"] == empty


def test_the_shipped_registry_explains_every_cell():
    found = coverage.cells(manifests.load())
    assert [cell.task for cell in found if cell.reason == coverage.NO_REASON] == []


def papered(tmp_path, paper, **counts):
    data = mini()
    manifest = loaded(tmp_path, data)
    totals = manifests.totals((tmp_path / "registry.yaml").read_bytes())["Mini"]
    data["counts"] = {"Mini": {**totals, "paper": paper, **counts}}
    for task in manifest.tasks:
        for name in ("paraphrase", "contrast", "collision"):
            for slot in (None,) if name == "paraphrase" else SLOTS:
                row = {"task": task, "condition": name, "reason": "no_attribute_word", "note": f"no word of {slot}"}
                data["unavailable"].append(row | ({"slot": slot} if slot else {}))
    return loaded(tmp_path, data)


def test_the_papers_numbers_stand_beside_ours(tmp_path):
    manifest = papered(tmp_path, {"contrast": {"action": 0, "object": 0, "relation": 1, "target": 2, "attribute": 0}})
    (contrast,) = (row for row in rows(manifest, "Cells") if row["condition"] == "contrast")
    assert (contrast["filled"], contrast["paper"]) == (3, 3)
    (theirs,) = (row for row in rows(manifest, "Contrasts and collisions by slot") if row["tier"] == "paper")
    assert [theirs[slot] for slot in SLOTS] == [0, 0, 1, 2, 0]


def test_differences_name_the_cells_that_make_them(tmp_path):
    manifest = papered(tmp_path, {"contrast": {"action": 0, "object": 0, "relation": 1, "target": 2, "attribute": 0}})
    found = rows(manifest, "Differences from the paper")
    more = [row for row in found if row["slot"] == "action"]
    assert [(row["ours"], row["paper"], row["cell"]) for row in more] == [(1, 0, "Mini-T0")]
    assert more[0]["what is there"] == "pick up the cup (permissive: several_slots)"
    fewer = [row for row in found if row["slot"] == "target"]
    assert [row["cell"] for row in fewer] == ["Mini-T1", "Mini-T2", "Mini-T3"]
    assert all((row["ours"], row["paper"]) == (1, 2) for row in fewer)
    assert fewer[0]["what is there"] == "no_attribute_word: no word of target"
    assert [row for row in found if row["slot"] in ("object", "relation", "attribute")] == []


def test_differences_name_everything_that_was_refused(tmp_path):
    manifest = papered(tmp_path, {"contrast": {"action": 2, "object": 0, "relation": 1, "target": 1, "attribute": 0}})
    second = Absent("Mini-T2", "contrast", "action", "manner", "it cannot", "push the lamp")
    manifest = replace(manifest, absent=(*manifest.absent, second))
    (row,) = (r for r in rows(manifest, "Differences from the paper") if r["cell"] == "Mini-T2")
    assert row["what is there"] == "refused: 'turn off the lamp' (already_true), 'push the lamp' (manner)"


def test_equal_numbers_that_hang_on_permissive_rows_are_told(tmp_path):
    manifest = papered(tmp_path, {"contrast": {"action": 1, "object": 0, "relation": 1, "target": 1, "attribute": 0}})
    (row,) = rows(manifest, "Differences from the paper")
    assert (row["slot"], row["ours"], row["paper"], row["cell"]) == ("action", 1, 1, "Mini-T0")


def test_a_total_that_differs_is_explained_by_reasons(tmp_path):
    manifest = papered(tmp_path, {"collision": 4})
    (row,) = rows(manifest, "Differences from the paper")
    assert (row["condition"], row["slot"], row["ours"], row["paper"]) == ("collision", "all", 1, 4)
    assert row["what is there"] == "empty: no_attribute_word 19"
    assert coverage.paper(papered(tmp_path, {"collision": 1})) == {"Mini": {"collision": 1}}
    titles = [one.title for one in coverage.tables(papered(tmp_path, {"collision": 1}))]
    assert "Differences from the paper" not in titles


def test_control_conditions_stand_apart(toy):
    held = {name: len(toy.select(conditions=[name])) for name in conditions.controls()}
    assert sum(held.values()) > 0
    assert coverage.controls(toy) == {("Toy", name): count for name, count in held.items() if count}
    (line,) = rows(toy, "Control conditions")
    assert line.pop("suite") == "Toy"
    assert line.pop("sum") == sum(held.values())
    assert line == {name: count for name, count in held.items() if count}


def test_a_vanished_file_is_told(tmp_path):
    manifest = loaded(tmp_path, mini())
    (tmp_path / "registry.yaml").unlink()
    with pytest.raises(RegistryError, match="keep the file"):
        coverage.tables(manifest)


def test_text_and_markdown_say_the_same(toy):
    tables = coverage.tables(toy)
    text, markdown = _tables.as_text(tables), _tables.as_markdown(tables)
    for one in tables:
        assert one.title in text
        assert f"**{one.title}.**" in markdown
        for row in one.rows:
            words = [str(value) for value in row if value != ""]
            assert any(all(word in line for word in words) for line in text.splitlines())
            line = f"| {' | '.join(_tables.escaped(value) for value in row)} |"
            assert line in markdown.splitlines()


def test_markdown_keeps_pipes_out_of_the_columns():
    one = _tables.Table("T", "C", ("a", "b"), (("x|y\n*z*", 1),))
    lines = _tables.as_markdown([one]).splitlines()
    assert lines[-1] == r"| x\|y \*z\* | 1 |"
    assert lines[-2] == "| --- | ---: |"


def test_columns_are_aligned():
    one = _tables.Table("T", "C", ("name", "n", "words"), (("long name", 7, "x"), ("s", 123, "")))
    assert _tables.as_text([one]).splitlines()[-3:] == ["name         n  words", "long name    7  x", "s          123"]


def test_the_figure_shows_every_kind_of_cell(toy):
    from matplotlib import image
    from matplotlib.colors import to_rgb

    png = _figure.draw(coverage.cells(toy))
    pixels = image.imread(__import__("io").BytesIO(png))[..., :3].reshape(-1, 3)
    for _, _, colour in _figure.KINDS:
        assert (abs(pixels - to_rgb(colour)).max(axis=1) < 0.01).sum() > 100, colour


def test_the_figure_names_what_it_shows(toy):
    cells = coverage.cells(toy)
    png = _figure.draw(cells)
    assert png == _figure.draw(cells)
    assert _figure.digest(cells).encode() in png
    other = replace(cells[-1], variant=toy.variants["Toy-T0-CollisionObject1"])
    assert _figure.digest([*cells[:-1], other]) != _figure.digest(cells)
    assert len(png) < 200_000

"""Every number of docs/statistics.md: its arithmetic, and what the metrics make of its records."""

import ast
import csv
import math
import operator
import re
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

from gym_grounding import metrics
from gym_grounding.metrics import Curve, Scope
from gym_grounding.records import ProbeRecord
from gym_grounding.testing.records import episode, evidence

PAGE = (Path(__file__).parents[2] / "docs" / "statistics.md").read_text(encoding="utf-8")
OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
FUNCTIONS = {"sqrt": math.sqrt, "abs": abs, "max": max, "C": math.comb, "Phi": NormalDist().cdf}


def arithmetic(text):
    """The value of an expression by hand."""

    def of(node):
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.UnaryOp):
            return -of(node.operand)
        if isinstance(node, ast.Call):
            return FUNCTIONS[node.func.id](*map(of, node.args))
        return OPERATORS[type(node.op)](of(node.left), of(node.right))

    return of(ast.parse(text, mode="eval").body)


def examples():
    """(its records, its rows) of each section; a second table of a section without records of its own shares them."""
    for section in re.split(r"^#+ ", PAGE, flags=re.MULTILINE):
        blocks = []
        rows = []
        for found in re.finditer(r"^```csv\n(.*?)^```$|^\| (`[^\n]*)$", section, re.MULTILINE | re.DOTALL):
            block = found[1]
            if block is None:
                rows.append([cell.strip() for cell in found[2].strip("| ").split(" | ")])
                continue
            if rows:
                yield blocks, rows
                blocks, rows = [], []
            blocks.append(list(csv.DictReader(block.splitlines())))
        if rows:
            yield blocks, rows


def numbers(text):
    return tuple(float(one) for one in text.split())


def starts(text):
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def note(text):
    return int(text) if " " not in text else list(numbers(text))


def variant(row):
    return (
        f"{row['task']}-{row['condition'].capitalize()}{(row.get('slot') or '').capitalize()}{row.get('number') or 1}"
    )


def episodes(row):
    """The episodes of a row, one for each start."""
    same = {name: row[name] for name in ("slot", "tier", "kind") if row.get(name)}
    at_end = {"": None, "-": ()}.get(row.get("at_end") or "", (row.get("at_end") or "").split())
    notes = {name.removeprefix("note "): note(value) for name, value in row.items() if name.startswith("note ")}
    for start in starts(row["start"]):
        yield episode(
            row["condition"],
            task=row["task"],
            variant=variant(row),
            stage=int(row.get("stage") or 0),
            seed=int(row.get("seed") or 0),
            init_state=start,
            reached=(row.get("reached") or "").split(),
            at_end=at_end,
            void=(row.get("void") or "").split(),
            moved=float(row.get("moved") or 0.3),
            described=bool(row.get("described")),
            notes=notes,
            **same,
        )


def probe(row, number):
    densities = [float(row[name]) if row.get(name) else None for name in ("log_prob_original", "log_prob_variant")]
    actions = [numbers(row[name]) for name in ("action_original", "action_variant")]
    place = (row["task"], row["condition"], row.get("slot") or None, row.get("tier") or None)
    return ProbeRecord(0, variant(row), 0, *place, str(number), *actions, *densities)


def curves(rows):
    for task in sorted({row["task"] for row in rows}):
        points = [(int(row["epoch"]), float(row["success"])) for row in rows if row["task"] == task]
        yield Curve(0, task, tuple(points))


def proofs(blocks):
    """The evidence of each method in the blocks."""
    rows = [{"task": "A", "method": "method", **row} for block in blocks for row in block]
    order = sorted({row["task"] for row in rows})
    for method in dict.fromkeys(row["method"] for row in rows):
        own = [row for row in rows if row["method"] == method]
        played = [one for row in own if "start" in row for one in episodes(row)]
        owner = {variant(row): row["owner"] for row in own if row.get("owner")}
        yield evidence(
            played,
            order=order,
            stages=sorted({one.stage for one in played} | {0}),
            method=method,
            probes=[probe(row, number) for number, row in enumerate(own) if "action_original" in row],
            curves=curves([row for row in own if "epoch" in row]),
            trained=owner,
            instruction_of=owner,
        )


def scope(text):
    """(method, scope) of a row's second column."""
    words = [word.strip() for word in text.split(",")]
    method = {"all methods": ""}.get(words[0], words[0]) if "=" not in words[0] else "method"
    pairs = dict(word.split("=") for word in words if "=" in word)
    types = {"stage": int, "threshold": float, "trained": lambda word: word == "True"}
    return method, Scope(**{name: types.get(name, str)(value) for name, value in pairs.items()})


def measured(found, name, place):
    """The number that a row speaks of."""
    quantity, _, part = name.strip("`").partition(".")
    (value,) = [one.value for one in found if (one.method, one.scope) == place and one.quantity == quantity]
    sides = {"low": 0, "high": 1}
    return value.interval[sides[part]] if part in sides else getattr(value, part or "mean")


EXAMPLES = list(examples())


@pytest.mark.parametrize(("blocks", "rows"), EXAMPLES, ids=[rows[0][0].strip("`") for _, rows in EXAMPLES])
def test_the_numbers_are_right(blocks, rows):
    found = metrics.measure(list(proofs(blocks)), np.random.default_rng(0))
    for name, place, by_hand, printed in rows:
        digits = len(printed.partition(".")[2])
        assert round(arithmetic(by_hand), digits) == float(printed), (name, by_hand)
        assert measured(found, name, scope(place)) == pytest.approx(arithmetic(by_hand), rel=5e-4, abs=1e-9), name


def test_every_quantity_is_on_the_page():
    named = set(re.findall(r"`(\w+)(?:\.\w+)?`", PAGE))
    every = {one.name for family in metrics.names() for one in metrics.get(family).quantities}
    assert not every - named
    assert sum(len(rows) for _, rows in EXAMPLES) == len(re.findall(r"^\| `", PAGE, re.MULTILINE))


def test_the_page_names_the_numbers_of_the_code():
    from gym_grounding.metrics import _bootstrap, _inference
    from gym_grounding.metrics.collision import INITIATION

    assert f"{_bootstrap.RESAMPLES:,} resamples" in PAGE
    assert (INITIATION, _inference.MARGIN, _inference.DISCORDANT) == (0.05, 0.1, 0.5)
    assert (_inference.LEVEL, _inference.POWER, _inference.FEW_SEEDS) == (0.05, 0.8, 5)

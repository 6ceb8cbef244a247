"""Every reason code that code can give is explained, and the order of the checks is the one in which they are made."""

import ast
import inspect
import re
from pathlib import Path

import pytest

from gym_grounding import manifest as manifests
from gym_grounding import variants
from gym_grounding.types import Variant
from gym_grounding.variants import reasons

FOLDER = Path(variants.__file__).parent
SOURCES = [
    *FOLDER.joinpath("validator").glob("*.py"),
    *FOLDER.joinpath("controls").glob("*.py"),
    *FOLDER.joinpath("proposers").glob("c*.py"),
    FOLDER / "foreign.py",
    FOLDER / "build.py",
]
CALLS = {"Refused": 0, "Finding": 0, "Judgement": 1}
"""What carries a code -> which of its arguments is the code."""
CODE = re.compile(r"[a-z]+(_[a-z]+)*")


def given(tree):
    """Codes that a syntax tree gives: arguments of what carries one, and ``reason=``."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        place = CALLS.get(name)
        values = [node.args[place]] if place is not None and len(node.args) > place else []
        values += [keyword.value for keyword in node.keywords if keyword.arg in ("reason", "code")]
        for value in values:
            for leaf in [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]:
                if isinstance(leaf, ast.Constant) and isinstance(leaf.value, str) and leaf.value:
                    yield leaf.value


def known():
    groups = [*reasons.RULES.values(), reasons.NOTHING, reasons.FOREIGN]
    return {code for group in groups for code in group}


def test_the_sources_give_codes():
    found = {code for path in SOURCES for code in given(ast.parse(path.read_text()))}
    assert len(found) > 15


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_code_in_the_sources_is_explained(path):
    unknown = sorted(set(given(ast.parse(path.read_text()))) - known())
    assert unknown == []


def test_every_code_of_the_shipped_registry_is_explained():
    rows = manifests.load().absent
    assert sorted({row.reason for row in rows} - known()) == []


def test_broken_rules_of_the_shipped_registry_are_rules():
    for variant in manifests.load().variants.values():
        if variant.tier_reason:
            codes = reasons.broken(variant.tier_reason)
            assert codes
            assert set(codes) <= set(reasons.CONTRAST), variant.id


def test_the_checks_of_a_contrast_are_told_in_their_order():
    from gym_grounding.variants.validator import _goal_rules, _reading, contrast

    sources = [*_goal_rules.RULES, contrast._already_true, contrast._without_witness]
    order = list(reasons.CONTRAST)
    found = []
    for rule in sources:
        text = inspect.getsource(rule)
        codes = re.findall(r'Finding\(\s*"([a-z_]+)"', text)
        if rule is _goal_rules.known:
            codes += re.findall(r'Finding\(\s*"([a-z_]+)"', inspect.getsource(_reading.uncertain))
        found += [code for code in dict.fromkeys(codes) if code not in found]
    assert ["surface", *found] == order


def test_the_checks_of_a_swap_and_a_paraphrase_are_told_in_their_order():
    from gym_grounding.variants.controls import swap
    from gym_grounding.variants.validator import paraphrase

    for sources, group in (
        ([swap._no_goal, swap._unfit, swap.judge], reasons.SWAP),
        ([paraphrase.judge, paraphrase._heard], reasons.PARAPHRASE),
    ):
        text = "".join(re.sub(r'"""[^"]*"""', "", inspect.getsource(source)) for source in sources)
        found = list(dict.fromkeys(code for code in re.findall(r'"([a-z_]+)"', text) if code in group))
        assert found == list(group)


def test_no_code_is_explained_in_vain():
    used = {code for path in SOURCES for code in given(ast.parse(path.read_text()))}
    text = "".join(path.read_text() for path in SOURCES)
    unused = {code for code in known() - used if f'"{code}"' not in text and f'"{code.rsplit("_", 1)[0]}_' not in text}
    assert unused == set()


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("several_slots: it drops the target", ("several_slots",)),
        ("several_slots and on_path: both", ("several_slots", "on_path")),
        ("several_slots, on_path and added_predicate: a, b and c", ("several_slots", "on_path", "added_predicate")),
        ("", ()),
    ],
)
def test_codes_of_a_permissive_row(text, codes):
    assert reasons.broken(text) == codes


def kept(condition, slot=None, tier_reason="", **details):
    variant = Variant("X", "T", condition, slot, 1, "text", tier_reason=tier_reason, details=details)
    return [line.partition(":")[0] for line in reasons.rules(variant)]


WITNESSED = {"certificate": {"witness": {"found": True}}}


def test_broken_rules_are_not_among_the_kept():
    assert kept("contrast", "target", **WITNESSED) == list(reasons.CONTRAST)
    permissive = kept("contrast", "action", "several_slots and on_path: ...", **WITNESSED)
    assert permissive == [code for code in reasons.CONTRAST if code not in ("several_slots", "on_path")]
    assert kept("null") == []


def test_what_was_not_looked_for_is_not_said():
    assert kept("contrast", "action", certificate={}) == [
        code for code in reasons.CONTRAST if code not in ("no_witness", "original_holds")
    ]
    assert kept("paraphrase") == list(reasons.PARAPHRASE)
    assert kept("paraphrase", audit="manual") == ["surface", "redundant"]


def test_rules_of_other_slots_are_not_said():
    own = {"object": {"unknown_noun", "background"}, "attribute": {"unknown_value"}, "action": set()}
    own["target"] = own["object"]
    for slot, codes in own.items():
        assert set(kept("collision", slot)) & {"unknown_noun", "background", "unknown_value"} == codes


def test_every_rule_says_both_sides():
    for group in reasons.RULES.values():
        for code, reason in group.items():
            assert CODE.fullmatch(code)
            assert reason.refused
            assert reason.kept
            assert reason.refused != reason.kept


def test_a_code_means_what_its_condition_says():
    assert reasons.meaning("negated", "contrast") != reasons.meaning("negated", "collision")
    assert reasons.meaning("not_chosen", "contrast") == reasons.NOTHING["not_chosen"].refused
    assert reasons.meaning("mine_alone") == ""


def test_the_tables_hold_every_code():
    listed = {row[0] for table in reasons.tables() for row in table.rows}
    assert listed == known() - set(reasons.FOREIGN)

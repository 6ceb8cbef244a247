"""How many goals the oracle reached, and which not, by what the registry's certificates say."""

from __future__ import annotations

from collections import Counter

from gym_grounding import manifest as manifests
from gym_grounding.manifest import NOT_MEASURED, NOT_SHOWN, STANDINGS, Manifest
from gym_grounding.types import TIERS, Variant
from gym_grounding.variants._tables import Table

ASKED = ("contrast", "swap", "reverse")
"""Conditions whose texts have goals of their own, in the order of a page."""


def standings(manifest: Manifest) -> Table:
    """How many goals count as what, by suite, condition and tier; no rows where nothing was measured."""
    count: Counter[tuple[str, str, str, str]] = Counter()
    for variant in manifest.variants.values():
        standing = manifests.standing(variant)
        if standing is not None:
            count[manifest.tasks[variant.task].suite, variant.condition, variant.tier or "", standing] += 1
    suites = list(manifest.suites)
    groups = sorted(
        {key[:3] for key in count},
        key=lambda group: (suites.index(group[0]), ASKED.index(group[1]), (*TIERS, "").index(group[2])),
    )
    rows: list[tuple[object, ...]] = [
        (*group, sum(count[(*group, one)] for one in STANDINGS), *(count[(*group, one)] for one in STANDINGS))
        for group in groups
    ]
    measured = any(key[3] != NOT_MEASURED for key in count)
    return Table(
        "Goals that the oracle reached",
        "Variants with a goal of their own. Stable: the goal still held after the hand had let go and drawn back; "
        "transient: it held at some step only; trivial: it came true without a deed, or by a touch; each as most of "
        "the starts show that reached it. Not shown: reached from none of the initial states that were tried, which "
        f"does not prove it impossible. {manifest.certifier}".rstrip(),
        ("suite", "condition", "tier", "goals", *(one.replace("_", " ") for one in STANDINGS)),
        tuple(rows) if measured else (),
    )


def not_shown(manifest: Manifest) -> Table:
    """The variants that the oracle did not reach."""
    rows = [_row(variant) for variant in manifest.variants.values() if manifests.standing(variant) == NOT_SHOWN]
    return Table(
        "Not shown reachable",
        "Variants whose goal the oracle reached from none of the initial states that it tried. Reports count them "
        "apart. Momentary: starts in which the goal held, but not at the end, where its row asks for that.",
        ("variant", "tier", "instruction", "starts", "momentary"),
        tuple(rows),
    )


def _row(variant: Variant) -> tuple[object, ...]:
    found = manifests.reach(variant)
    assert found is not None  # its standing says so
    momentary = found.stable + found.transient + found.trivial
    return variant.id, variant.tier or "", variant.instruction, found.attempts, momentary

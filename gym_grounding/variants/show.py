"""Everything that a registry knows of one variant, in words."""

from __future__ import annotations

import importlib
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gym_grounding import conditions
from gym_grounding import manifest as manifests
from gym_grounding.manifest import Manifest
from gym_grounding.types import Absent, Region, Task, Variant
from gym_grounding.variants import _pictures
from gym_grounding.variants.reasons import rules

SUPPORT = {
    "native": "judged by the simulator's own predicates on its own entities and regions",
    "added_region": "judged by the simulator's own predicates on a box that the variant adds to the work surface",
    "added_predicate": "judged by a predicate that the suite adds, since the simulator has none for a lift",
    "reversed": "asks for the state in which the thing is found",
}
DEMONSTRATED = {
    "pair": "the demonstrations hold this object together with this target",
    "parts": "the demonstrations hold the object and the target, each with something else",
    "object": "the demonstrations hold the object, the target never",
    "none": "no demonstration ever handles the object",
}
ABSENT = {
    "entity": "the scene has no such thing",
    "affordance": "the thing cannot do that",
    "impossible": "no placement puts the thing there",
    "value": "nothing in the scene has that attribute",
    "referent": "nothing in the scene fits the description",
}
WIDTH = 100
"""Longest line of the text form [characters]."""


@dataclass(frozen=True, slots=True)
class Description:
    """One variant in words.

    Attributes:
        variant: the row.
        task: its task.
        facts: (label, value) pairs: what is asked and how it is scored.
        evidence: what was measured of the goal, or is known of what is absent; one sentence each.
        checks: rules of its condition that it keeps, in the order of the checks; empty for controls.
        broken: strict rules that a permissive row breaks, in words; empty for others.
        siblings: other variants of the same task and condition.
        refused: sentences that were proposed for the same cell and refused.
    """

    variant: Variant
    task: Task
    facts: tuple[tuple[str, str], ...]
    evidence: tuple[str, ...]
    checks: tuple[str, ...]
    broken: str
    siblings: tuple[Variant, ...]
    refused: tuple[Absent, ...]


def describe(manifest: Manifest, name: str) -> Description:
    """Everything about the variant with this id; an environment id is understood too.

    Raises:
        UnknownName: no such variant.
    """
    variant = manifest.variant(variant_id(name, manifest.version))
    task = manifest.tasks[variant.task]
    family = [row for row in manifest.select(tasks=[task.id], conditions=[variant.condition]) if row is not variant]
    same_cell = (variant.task, variant.condition, variant.slot)
    return Description(
        variant=variant,
        task=task,
        facts=tuple(_facts(variant, task)),
        evidence=(*_certificate(variant), *_reach(variant), *_absence(variant)),
        checks=tuple(rules(variant)),
        broken=variant.tier_reason,
        siblings=tuple(family),
        refused=tuple(
            row for row in manifest.absent if row.instruction and (row.task, row.condition, row.slot) == same_cell
        ),
    )


def variant_id(name: str, version: int) -> str:
    """``Grounding/X-v0`` without what surrounds the variant's own id."""
    return name.rsplit("/", 1)[-1].removesuffix(f"-v{version}")


def as_text(found: Description) -> str:
    """For a terminal."""
    variant = found.variant
    lines = [variant.id, f"  {variant.instruction or '(the empty instruction)'}", ""]
    label_width = max(len(label) for label, _ in found.facts) + 2
    for label, value in found.facts:
        lines += _wrapped(value, f"  {label:<{label_width}}", " " * (label_width + 2))
    lines += _listed("What was measured", found.evidence)
    lines += _listed("Rules that it keeps, in the order of the checks", found.checks)
    lines += _listed("Strict rules that it breaks", [found.broken] if found.broken else [])
    lines += _listed("Other variants of the task and condition", [f"{s.id}: {s.instruction}" for s in found.siblings])
    lines += _listed("Proposed for the same cell and refused", [refusal(row) for row in found.refused])
    return "\n".join(lines)


def refusal(row: Absent) -> str:
    """A refused sentence with its reason on one line."""
    return f"{row.instruction}: {row.reason}" + (f", {row.note}" if row.note else "")


def picture(manifest: Manifest, name: str, path: Path, init_state: int = 0, size: int = 512) -> tuple[str, ...]:
    """Write the settled scene of a variant as a PNG, with the regions that its goal adds.

    Returns:
        Names of the regions that were drawn.

    Raises:
        UnknownName, InvalidOption, MissingRenderer, MissingSource, WrongVersion, SimulatorError: see
            ``_pictures.settled``.
        OSError: the file cannot be written.
    """
    variant = manifest.variant(variant_id(name, manifest.version))
    ((_, drawn),) = _pictures.settled(manifest, [manifest.tasks[variant.task]], size, init_state, variant)
    path.write_bytes(_pictures.encoded(_pictures.marked(drawn), "png"))
    return tuple(drawn.regions)


def about(condition: str) -> str:
    """First sentence of a condition's own description."""
    text = importlib.import_module(f"{conditions.__name__}.{condition}").__doc__ or ""
    first = text.strip().splitlines()[0].rstrip(".")
    name, colon, rest = first.partition(": ")
    return rest if colon and condition in name.casefold() else first


def _facts(variant: Variant, task: Task) -> Iterator[tuple[str, str]]:
    yield "task", f"{task.id}: {task.instruction}"
    yield "condition", f"{variant.condition}: {about(variant.condition)}"
    changed = variant.details.get("changed")
    words = f"{changed['from']!r} to {changed['to']!r}" if isinstance(changed, dict) else ""
    kinds = ", ".join(filter(None, [variant.kind, *_texts(variant.details.get("also"))]))
    labelled = (("slot", variant.slot), ("kind", kinds), ("changed", words), ("tier", variant.tier))
    yield from ((label, value) for label, value in labelled if value)
    yield "original goal", task.goal.id
    if variant.goal is not None:
        yield ("opposite goal" if variant.described else "goal"), variant.goal.id
        yield from (("region", _region(region)) for region in variant.goal.regions)
    yield from (("preset joint", f"{name} at {place:g}") for name, place in variant.joints.items())
    yield "scored by", _scored(variant)
    for name in ("instruction_of", "errors", "audit", "audit_reason", "note"):
        if name in variant.details:
            yield name.replace("_", " "), str(variant.details[name])


def _scored(variant: Variant) -> str:
    by = conditions.scored_by(variant)
    if variant.described:
        return "nothing; it asks for what is so already, and who reaches the opposite goal has not listened"
    if by is None:
        return "nothing; behaviour is described"
    when = "after the last step" if variant.judged == "end" else "after some step"
    return f"the {by} goal, which must hold {when}"


def _region(region: Region) -> str:
    x_min, y_min, x_max, y_max = region.ranges
    return f"{region.name}: x {x_min:g} to {x_max:g} m, y {y_min:g} to {y_max:g} m from the centre of {region.surface}"


def _texts(value: object) -> tuple[str, ...]:
    return tuple(str(item) for item in value) if isinstance(value, list | tuple) else ()


def _certificate(variant: Variant) -> Iterator[str]:
    certificate = variant.details.get("certificate")
    if not isinstance(certificate, dict):
        return
    yield from _looked_up(certificate, "support", SUPPORT)
    yield from _initially(certificate.get("true_initially"))
    yield from _witness(certificate.get("witness"))
    if "on_path" in certificate:
        passes = "passes through" if certificate["on_path"] else "does not pass through"
        yield f"on_path: who does the original task {passes} this goal"
    yield from _looked_up(certificate, "demonstrated", DEMONSTRATED)
    trained = _texts(certificate.get("trained_goal_of"))
    yield f"trained_goal_of: {', '.join(trained) if trained else 'no task of the scene has this goal'}"
    if "movable_reference" in certificate:
        yield f"movable_reference: {certificate['movable_reference']} can be moved; the region stays where it stood"


def _reach(variant: Variant) -> Iterator[str]:
    found = manifests.reach(variant)
    if found is None:
        return
    kinds = f"stable {found.stable}, transient {found.transient}, trivial {found.trivial}"
    steps = "" if found.median_steps is None else f", at step {found.median_steps} in the median"
    states = f"{found.successes} of {found.attempts} initial states"
    yield f"oracle: reached from {states} ({kinds}){steps}: {found.verdict.replace('_', ' ')}"
    if not found.successes:
        yield "reachable: not_shown: by none of its starts, which does not prove that the goal is out of reach"


def _looked_up(row: Mapping[str, Any], name: str, words: Mapping[str, str]) -> Iterator[str]:
    if name in row:
        yield f"{name}: {row[name]}: {words.get(str(row[name]), '')}".rstrip(": ")


def _initially(counts: object) -> Iterator[str]:
    if not isinstance(counts, dict):
        return
    words = {"raw": "right after setting the state", "settled": "after settling", "tolerant": "read with tolerance"}
    parts = [f"{counts[name]} {words[name]}" for name in words if name in counts]
    yield f"true_initially: the goal holds in this many of {counts.get('of')} initial states: {', '.join(parts)}"


def _witness(witness: object) -> Iterator[str]:
    if not isinstance(witness, dict):
        return
    if not witness.get("found"):
        yield "witness: no state with the goal true was found"
        return
    how = f" ({witness['placement']})" if witness.get("placement") else ""
    where = f" in initial state {witness['state']}" if witness.get("state") is not None else ""
    text = f"witness: a state with the goal true was found by placing objects{where}{how}"
    if witness.get("original_true") is not None:
        text += f"; the original goal is {'true' if witness['original_true'] else 'false'} there"
    yield text


def _absence(variant: Variant) -> Iterator[str]:
    absent = variant.details.get("absent")
    if not isinstance(absent, dict):
        return
    kind = str(absent.get("kind"))
    yield f"absent: {kind}: {ABSENT.get(kind, '')}".rstrip(": ")
    if absent.get("noun"):
        known = "occurs in" if absent.get("trained_noun") else "occurs in none of"
        yield f"noun: {absent['noun']!r} {known} the suite's own instructions"
    if absent.get("satisfiable_part"):
        yield f"satisfiable_part: {absent['satisfiable_part']!r} could be done"
    shown = absent.get("shown")
    if isinstance(shown, dict):
        yield f"shown: {_shown(shown)}"


def _shown(shown: Mapping[str, Any]) -> str:
    if "tried" in shown:
        return (
            f"{shown['tried']} placements were tried and none held; free there {shown.get('clearance')} m, smallest "
            f"extent of the thing {shown.get('extent')} m"
        )
    return f"something fits the description in {shown.get('in_states')} of {shown.get('of')} settled initial states"


def _wrapped(text: str, first: str, rest: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False) or [first]


def _listed(title: str, lines: Sequence[str]) -> list[str]:
    if not lines:
        return []
    return ["", title, *(part for line in lines for part in _wrapped(line, "  - ", "    "))]

"""Rows of a registry file as the suite's types; whether they agree with each other is checked elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from gym_grounding.manifest._manifest import SuiteInfo
from gym_grounding.manifest._reach import REACHABLE, REACHED, VERDICTS
from gym_grounding.manifest._report import Report, no_such, shown
from gym_grounding.manifest._row import Row, named, rows
from gym_grounding.manifest._source import Table
from gym_grounding.types import (
    JUDGED,
    SLOTS,
    TIERS,
    Absent,
    Entity,
    Goal,
    Predicate,
    Region,
    SceneFacts,
    Slots,
    Task,
    Variant,
)

T = TypeVar("T")
FORMAT = 1
KINDS = ("object", "fixture", "site", "zone", "surface")
ROLES = ("on.subject", "on.reference", "in.subject", "in.reference", "open", "close", "turnon", "turnoff", "lifted")
SUPPORTS = ("native", "added_region", "added_predicate", "reversed")
DEMONSTRATED = ("pair", "parts", "object", "none")
ABSENCES = ("entity", "affordance", "impossible", "value", "referent")
AUDITS = ("manual",)
EMPTY_TEXT = "null"
"""The one condition whose instruction may be empty."""
_TASK = r"[A-Za-z0-9]+-T[0-9]+"
_WORDS = "[a-z_]+"
_ID = r"[A-Za-z0-9]+-T[0-9]+-[A-Za-z]+[0-9]*"
_NAME = r"[A-Za-z0-9_]+"
_SHA256 = r"[0-9a-f]{64}"


@dataclass(slots=True)
class Content:
    """The well-formed rows of a file.

    Attributes:
        paraphrase_kinds: type of the paraphrases with number 1, 2, ...; empty where the file leaves it open.
        spoilt: ids of rows that exist but have problems of their own, so that nobody reports them as unknown too.
    """

    version: int = 0
    paraphrase_kinds: tuple[str, ...] = ()
    physics: dict[str, object] = field(default_factory=dict)
    oracle: dict[str, object] = field(default_factory=dict)
    suites: dict[str, SuiteInfo] = field(default_factory=dict)
    scenes: dict[str, SceneFacts] = field(default_factory=dict)
    tasks: dict[str, Task] = field(default_factory=dict)
    variants: dict[str, Variant] = field(default_factory=dict)
    absent: list[Absent] = field(default_factory=list)
    counts: dict[str, Table] = field(default_factory=dict)
    spoilt: set[str] = field(default_factory=set)


def shape(table: Table, report: Report) -> Content:
    """Every well-formed row of the file; problems of the others go to the report."""
    content = Content()
    known = {"format", "version", "canonical_source", "proposer", "physics", "oracle", "paraphrase_kinds"}
    _head(Row(report, "", table), content)
    for name, row in named(report, table, "suites", known):
        _keep(content.suites, name, SuiteInfo(row.text("adapter"), row.text("source")), row, content)
    for name, row in named(report, table, "scenes", known):
        _keep(content.scenes, name, _scene(name, row), row, content)
    for row in rows(report, table, "tasks", known):
        task = _task(row, content.suites)
        _keep(content.tasks, task.id, task, row, content)
    for row in rows(report, table, "variants", known):
        variant = _variant(row)
        _keep(content.variants, variant.id, variant, row, content)
    _cells(table, report, known, content)
    for key in table:
        if key not in known:
            report.add("", key, no_such("section", key, known))
    for section in ("suites", "scenes", "tasks", "variants"):
        if not table.get(section):
            report.add("", section, "is missing or empty; a registry has suites, scenes, tasks and variants")
    return content


def _cells(table: Table, report: Report, known: set[str], content: Content) -> None:
    for section in ("dropped", "unavailable"):
        for row in rows(report, table, section, known):
            absent = _absent(row, section)
            if row.done():
                content.absent.append(absent)
    for name, row in named(report, table, "counts", known):
        content.counts[name] = row.table


def _keep(kept: dict[str, T], name: str, value: T, row: Row, content: Content) -> None:
    if name in kept or (name in content.spoilt and name):
        row.bad("id", f"{shown(name)} appears twice; ids are unique")
    elif row.done():
        kept[name] = value
    else:
        content.spoilt.add(name)


def _head(row: Row, content: Content) -> None:
    form = row.integer("format", 0, 10**6)
    if row.ok and form != FORMAT:
        row.bad("format", f"is {form}; this version reads format {FORMAT}")
    content.version = row.integer("version", 0, 10**6)
    row.text("canonical_source", "")
    row.text("proposer", "")
    content.paraphrase_kinds = row.texts("paraphrase_kinds", (), _WORDS)
    physics = row.row("physics")
    if physics is None:
        row.bad("physics", "is missing or no mapping; must hold at least 'settle', the number of settling steps")
        return
    physics.integer("settle", 0, 1000)
    for name in physics.table:
        if name != "settle":
            physics.text(name)
    if physics.ok:
        content.physics = dict(physics.table)
    oracle = row.row("oracle")
    if oracle is not None:
        content.oracle = {name: oracle.text(name) for name in ("version", "physics")}
        content.oracle["horizon"] = oracle.integer("horizon", 1, 10**6)
        row.ok &= oracle.done()


def _scene(name: str, row: Row) -> SceneFacts:
    entities: dict[str, Entity] = {}
    for entity, inner in row.members("entities"):
        entities[entity] = _entity(entity, inner)
        inner.done()
    return SceneFacts(name, row.text("adapter"), row.text("problem"), entities, row.texts("background", ()))


def _entity(name: str, row: Row) -> Entity:
    supports = row.texts("supports", ())
    for role in supports:
        if role not in ROLES:
            row.bad("supports", no_such("role", role, ROLES))
    return Entity(
        name=name,
        category=row.text("category"),
        kind=row.choice("kind", KINDS),
        joints=row.integer("joints", 0, 100, 0),
        supports=frozenset(supports),
        names=row.texts("names", ()),
    )


def _task(row: Row, suites: Mapping[str, SuiteInfo]) -> Task:
    suite = row.text("suite", pattern=_NAME)
    instruction = row.text("instruction")
    info = suites.get(suite)
    sums = row.row("checksums")
    checksums = {name: sums.text(name, pattern=_SHA256) for name in sums.table} if sums else {}
    row.ok &= sums is None or sums.ok
    return Task(
        id=row.text("id", pattern=_TASK),
        suite=suite,
        index=row.integer("index", 0, 9999),
        name=row.text("name"),
        source=info.source if info else "",
        instruction=instruction,
        source_instruction=row.text("source_instruction", instruction),
        slots=_slots(row),
        goal=Goal(_literals(row, "goal")),
        scene=row.text("scene"),
        init_states=row.integer("init_states", 1, 10**6),
        checksums=checksums,
    )


def _slots(row: Row) -> Slots:
    inner = row.row("slots")
    if inner is None:
        row.bad("slots", f"is missing or no mapping; name the parts of the instruction: {', '.join(SLOTS)}")
        return Slots()
    parts: dict[str, str] = {}
    for slot in SLOTS:
        if slot in inner:
            value = inner.table[slot]
            parts[slot] = " + ".join(map(str, inner.items(slot))) if isinstance(value, list) else inner.text(slot)
    row.ok &= inner.done()
    return Slots(**parts)


def _literals(row: Row, name: str) -> tuple[Predicate, ...]:
    literals: list[Predicate] = []
    lists = row.items(name, list)
    if row.table.get(name) == []:
        row.bad(name, "is empty; a goal has at least one literal such as [on, cup_1, plate_1]")
    for index, literal in enumerate(lists):
        words = literal if isinstance(literal, list) else []
        if not words or not all(isinstance(word, str) and word for word in words):
            message = f"is {shown(literal)}; a literal is a list of names: [predicate, argument, ...]"
            row.bad(f"{name}[{index}]", message)
            continue
        predicate = Predicate(words[0], tuple(words[1:]))
        if predicate in literals:
            row.bad(f"{name}[{index}]", f"repeats {predicate}; keep one")
        literals.append(predicate)
    return tuple(literals)


def _regions(row: Row) -> tuple[Region, ...]:
    regions: list[Region] = []
    for index, item in enumerate(row.items("regions", Table, ())):
        inner = Row(row.report, row.place, item if isinstance(item, Table) else Table(), f"regions[{index}].")
        ranges = inner.numbers("ranges", 4)
        name, surface = inner.text("name", pattern=_NAME), inner.text("surface", pattern=_NAME)
        if inner.done():
            regions.append(Region(name, surface, (ranges[0], ranges[1], ranges[2], ranges[3])))
        row.ok &= inner.ok
    return tuple(regions)


def _variant(row: Row) -> Variant:
    goal = Goal(_literals(row, "goal"), _regions(row)) if "goal" in row else None
    if goal is None and "regions" in row and row.table["regions"]:
        row.bad("regions", "are given without a goal that could name them; leave them out")
    slot = row.choice("slot", SLOTS, "")
    tier = row.choice("tier", TIERS, "")
    condition = row.text("condition")
    return Variant(
        id=row.text("id", pattern=_ID),
        task=row.text("task"),
        condition=condition,
        slot=slot or None,
        number=row.integer("number", 1, 999, 1),
        instruction=row.text("instruction", pattern="(?s).*" if condition == EMPTY_TEXT else "(?s).+"),
        goal=goal,
        tier=tier or None,
        tier_reason=row.text("tier_reason", ""),
        judged=row.choice("judged", JUDGED, JUDGED[0]),
        kind=row.text("kind", "", pattern=_WORDS),
        described=row.flag("described", False),
        joints=_joints(row),
        details=_details(row),
    )


def _joints(row: Row) -> dict[str, float]:
    inner = row.row("joints")
    if inner is None:
        return {}
    joints = {name: inner.number(name) for name in inner.table}
    if not joints:
        row.bad("joints", "is empty; name an entity and the position of its joint [m or rad], or leave the field out")
    row.ok &= inner.done()
    return joints


def _details(row: Row) -> dict[str, object]:
    """Fields that only reports and the conditions' own rules look at; absent ones are left out."""
    details: dict[str, object] = {}
    for name, read in (("changed", _changed), ("absent", _absence), ("certificate", _certificate)):
        inner = row.row(name)
        if inner is not None:
            details[name] = read(inner)
            row.ok &= inner.done()
    plain: dict[str, Callable[[str], object]] = {
        "also": row.texts,
        "instruction_of": lambda name: row.text(name, pattern=_TASK),
        "errors": lambda name: row.integer(name, 1, 9),
        "audit": lambda name: row.choice(name, AUDITS),
        "audit_reason": row.text,
        "note": row.text,
    }
    return details | {name: get(name) for name, get in plain.items() if name in row}


def _changed(row: Row) -> dict[str, object]:
    return {"from": row.text("from"), "to": row.text("to")}


def _absence(row: Row) -> dict[str, object]:
    absence: dict[str, object] = {"kind": row.choice("kind", ABSENCES)}
    if "noun" in row:
        absence["noun"] = row.text("noun")
        absence["trained_noun"] = row.flag("trained_noun")
    if "satisfiable_part" in row:
        absence["satisfiable_part"] = row.text("satisfiable_part")
    inner = row.row("shown")
    if inner is not None:
        counts = {name: inner.integer(name, 0, 10**6) for name in ("tried", "in_states", "of") if name in inner}
        lengths = {name: inner.number(name, 0.0) for name in ("clearance", "extent") if name in inner}
        absence["shown"] = {**counts, **lengths}
        row.ok &= inner.done()
    return absence


def _certificate(row: Row) -> dict[str, object]:
    """What was measured of a goal, with the file's ``physics``, and ``oracle`` with that of its section."""
    plain: dict[str, Callable[[str], object]] = {
        "support": lambda name: row.choice(name, SUPPORTS),
        "demonstrated": lambda name: row.choice(name, DEMONSTRATED),
        "on_path": row.flag,
        "movable_reference": row.text,
        "reachable": lambda name: row.choice(name, REACHABLE),
    }
    certificate = {name: get(name) for name, get in plain.items() if name in row}
    certificate["trained_goal_of"] = row.texts("trained_goal_of", ())
    for name, read in (("true_initially", _initially), ("witness", _witness), ("oracle", _oracle)):
        inner = row.row(name)
        if inner is not None:
            certificate[name] = read(inner)
            row.ok &= inner.done()
    return certificate


def _initially(row: Row) -> dict[str, object]:
    """In how many of how many initial states the goal already holds: after setting, after settling, with tolerance."""
    of = row.integer("of", 1, 10**6)
    return {**{name: row.integer(name, 0, of) for name in ("raw", "settled", "tolerant")}, "of": of}


def _witness(row: Row) -> dict[str, object]:
    """A state with the goal true that was found by placing objects, and whether the original goal held there."""
    witness: dict[str, object] = {"found": row.flag("found")}
    if "placement" in row:
        witness["placement"] = row.text("placement")
    if "state" in row:
        witness["state"] = row.integer("state", 0, 10**6)
    if "original_true" in row:
        witness["original_true"] = row.flag("original_true")
    return witness


def _oracle(row: Row) -> dict[str, object]:
    """What the oracle's episodes showed: how many starts, and how many of them what."""
    attempts = row.integer("attempts", 1, 10**6)
    counts = {name: row.integer(name, 0, attempts) for name in ("successes", *REACHED)}
    steps = {"median_steps": row.integer("median_steps", 0, 10**6)} if "median_steps" in row else {}
    return {"attempts": attempts, **counts, **steps, "verdict": row.choice("verdict", VERDICTS)}


def _absent(row: Row, section: str) -> Absent:
    refused = section == "dropped"
    return Absent(
        task=row.text("task"),
        condition=row.text("condition"),
        slot=row.choice("slot", SLOTS, "") or None,
        reason=row.text("reason", pattern=_WORDS),
        note=row.text("note", ""),
        instruction=row.text("instruction") if refused else None,
        goal=Goal(_literals(row, "goal"), _regions(row)) if refused and "goal" in row else None,
    )

"""Whether the rows of a registry file agree with each other and with what the simulator can tell."""

from __future__ import annotations

import functools
import importlib.util
import pkgutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from gym_grounding import conditions
from gym_grounding.conditions import Condition, Violation
from gym_grounding.manifest._goals import entity_problems, goal_problems, joint_problems, region_problems
from gym_grounding.manifest._reach import Reach, reach, reach_problems
from gym_grounding.manifest._report import Report, no_such, shown
from gym_grounding.manifest._shape import Content
from gym_grounding.manifest._source import Table
from gym_grounding.types import SLOTS, TIERS, Absent, Goal, Region, Task, Variant

ORIGINAL = "original"
ALL = "all"
"""In ``counts``, all suites together."""
_Text: TypeAlias = tuple[str, str, str | None, str]
_Boxes: TypeAlias = dict[tuple[str, str], tuple[Region, str]]
_Tried: TypeAlias = dict[tuple[str, Goal, tuple[tuple[str, float], ...]], tuple[Reach, str]]


@functools.cache
def _conditions() -> dict[str, Condition]:
    """Every condition by name; listing the folder for each row would be slow."""
    return {name: conditions.get(name) for name in conditions.names()}


@functools.cache
def _adapters() -> tuple[str, ...]:
    """Names of the supplied adapters; the folder is only listed, since adapters are built upon registries."""
    spec = importlib.util.find_spec("gym_grounding.adapters")
    assert spec is not None  # a part of this package
    modules = pkgutil.iter_modules(spec.submodule_search_locations)
    return tuple(module.name for module in modules if not module.name.startswith("_"))


def check(content: Content, report: Report) -> None:
    """Report everything that the well-formed rows get wrong."""
    for scene in content.scenes.values():
        _check_adapter(f"scenes.{scene.id}", scene.adapter, report)
        for entity in scene.entities.values():
            for problem in entity_problems(entity):
                report.add(f"scenes.{scene.id}", f"entities.{entity.name}.supports", problem)
    _check_suites(content, report)
    _check_tasks(content, report)
    _check_variants(content, report)
    texts = {(row.task, row.condition, row.slot, row.instruction): row.id for row in content.variants.values()}
    for absent in content.absent:
        _check_absent(absent, texts, content, report)
    for suite, table in content.counts.items():
        _check_counts(suite, table, content, report)


def _check_adapter(place: str, name: str, report: Report) -> None:
    """An import string is taken as it is: what it names may be installed elsewhere only."""
    if ":" not in name:
        if name not in _adapters():
            report.add(place, "adapter", f"{no_such('adapter', name, _adapters())}, or an import string module:OBJECT")
    elif not all(part.isidentifier() for end in name.split(":", 1) for part in end.split(".")):
        report.add(place, "adapter", f"is {shown(name)}; an import string is module:OBJECT")


def _check_suites(content: Content, report: Report) -> None:
    for suite, info in content.suites.items():
        _check_adapter(f"suites.{suite}", info.adapter, report)
        tasks = [task for task in content.tasks.values() if task.suite == suite]
        if not tasks and not content.spoilt:
            report.add(f"suites.{suite}", "", "has no tasks; add them or leave the suite out")
        for task in tasks:
            scene = content.scenes.get(task.scene)
            if scene is not None and scene.adapter != info.adapter:
                message = f"is in scene {scene.id} of adapter {scene.adapter!r}; its suite has {info.adapter!r}"
                report.add(task.id, "scene", message)


def _check_tasks(content: Content, report: Report) -> None:
    originals = {row.task for row in content.variants.values() if row.condition == ORIGINAL}
    for task in content.tasks.values():
        if task.suite not in content.suites and task.suite not in content.spoilt:
            report.add(task.id, "suite", no_such("suite", task.suite, content.suites))
        if task.id != f"{task.suite}-T{task.index}":
            report.add(task.id, "id", f"must spell suite and index: {task.suite}-T{task.index}")
        scene = content.scenes.get(task.scene)
        if scene is not None:
            for problem in goal_problems(task.goal, scene):
                report.add(task.id, "goal", problem)
        elif task.scene not in content.spoilt:
            report.add(task.id, "scene", no_such("scene", task.scene, content.scenes))
        if task.id not in originals and not content.spoilt:
            report.add(task.id, "", f"has no original; add a variant {task.id}-Original with the canonical text")


def _check_variants(content: Content, report: Report) -> None:
    texts: dict[tuple[str, str], list[Variant]] = {}
    siblings: dict[tuple[str, str, str | None], list[Variant]] = {}
    boxes: _Boxes = {}
    tried: _Tried = {}
    for variant in content.variants.values():
        task = content.tasks.get(variant.task)
        if task is None and variant.task not in content.spoilt:
            report.add(variant.id, "task", no_such("task", variant.task, content.tasks))
        condition = _conditions().get(variant.condition)
        if condition is None:
            report.add(variant.id, "condition", no_such("condition", variant.condition, _conditions()))
            continue
        _check_text(variant, texts, content, report)
        if variant.id != spelled(variant, condition):
            report.add(variant.id, "id", f"must spell task, condition, slot and number: {spelled(variant, condition)}")
        if condition.name == "paraphrase":
            _check_kind(variant, content.paraphrase_kinds, report)
        family = siblings.setdefault((variant.task, variant.condition, variant.slot), [])
        _report(variant, (found for sibling in family for found in condition.conflicts(variant, sibling)), report)
        family.append(variant)
        if task is not None and variant.details.get("instruction_of") not in content.spoilt:
            _report(variant, condition.links(variant, task, content.tasks), report)
        if task is not None and task.scene in content.scenes:
            _report(variant, condition.violations(variant, task, content.scenes[task.scene]), report)
            _check_goal(variant, task, content, report)
            _check_boxes(variant, task, boxes, report)
            _check_reach(variant, tried, content, report)
            _check_noun(variant, task, content, report)
            for name, problem in joint_problems(variant.joints, content.scenes[task.scene]):
                report.add(variant.id, f"joints.{name}", problem)


def _check_text(
    variant: Variant, texts: dict[tuple[str, str], list[Variant]], content: Content, report: Report
) -> None:
    """Texts of a task are different, but that some conditions may share one where it asks for the same goal."""
    known = texts.setdefault((variant.task, " ".join(variant.instruction.casefold().split())), [])
    for other in known:
        if variant.condition == other.condition or not any(
            _conditions()[row.condition].shares_text for row in (variant, other)
        ):
            message = f"{shown(variant.instruction)} is also the text of {other.id}; texts of a task are different"
            report.add(variant.id, "instruction", message)
            break
        if (task := content.tasks.get(variant.task)) is None:
            continue
        mine, theirs = (conditions.asked(row, task) for row in (variant, other))
        # What is only described asks for what is so already, of which its goal is the opposite.
        described = next((row for row in (variant, other) if row.described), None)
        if mine != theirs if described is None else described.goal in (mine, theirs):
            goals = " and ".join(goal.id if goal else "none" for goal in (mine, theirs))
            message = f"{shown(variant.instruction)} is also the text of {other.id}, but their goals differ: {goals}"
            report.add(variant.id, "goal", f"{message}; one sentence has one meaning")
            break
    known.append(variant)


def _check_kind(variant: Variant, kinds: Sequence[str], report: Report) -> None:
    """Where a file fixes the type of each paraphrase number, the row has that type."""
    if not kinds:
        return
    if variant.number > len(kinds):
        report.add(variant.id, "number", f"is {variant.number}; paraphrase_kinds has {len(kinds)} types")
    elif variant.kind != kinds[variant.number - 1]:
        must = f"must be {kinds[variant.number - 1]!r}, the type of number {variant.number} in paraphrase_kinds"
        report.add(variant.id, "kind", f"is {variant.kind!r}; {must}")


def _report(variant: Variant, violations: Iterable[Violation], report: Report) -> None:
    for violation in violations:
        report.add(variant.id, violation.field, f"{violation.message} ({violation.code})")


def _check_goal(variant: Variant, task: Task, content: Content, report: Report) -> None:
    if variant.goal is None:
        return
    scene = content.scenes[task.scene]
    for problem in goal_problems(variant.goal, scene):
        report.add(variant.id, "goal", problem)
    for problem in region_problems(variant.goal, scene):
        report.add(variant.id, "regions", problem)
    certificate = variant.details.get("certificate")
    if isinstance(certificate, dict):
        tasks = content.tasks.values()
        truth = [other.id for other in tasks if other.scene == task.scene and other.goal == variant.goal]
        said = certificate["trained_goal_of"]
        if sorted(said) != sorted(truth) and (said or "support" in certificate):
            message = f"is {list(said)}; in this scene the goal is that of {truth}"
            report.add(variant.id, "certificate.trained_goal_of", message)


def _check_boxes(variant: Variant, task: Task, boxes: _Boxes, report: Report) -> None:
    """One name means one box in a task, whose things stand where they do in its initial states."""
    for region in variant.goal.regions if variant.goal else ():
        first, owner = boxes.setdefault((task.id, region.name), (region, variant.id))
        if first != region:
            report.add(variant.id, "regions", f"{region.name}: is another box than in {owner}; choose another name")


def _check_reach(variant: Variant, tried: _Tried, content: Content, report: Report) -> None:
    """What an oracle showed adds up, and is one thing for one goal from one start, whoever asks for it."""
    for name, problem in reach_problems(variant, bool(content.oracle)):
        report.add(variant.id, name, problem)
    found = reach(variant)
    if found is None or variant.goal is None:
        return
    start = (variant.task, variant.goal, tuple(sorted(variant.joints.items())))
    first, owner = tried.setdefault(start, (found, variant.id))
    counts = [(one.attempts, one.stable, one.transient, one.trivial) for one in (first, found)]
    if counts[0] != counts[1]:
        report.add(
            variant.id, "certificate.oracle", f"counts otherwise than {owner}, which has the same goal and start"
        )


def _check_noun(variant: Variant, task: Task, content: Content, report: Report) -> None:
    """Whether the noun of an absent thing was trained is read off the canonical texts of the suite."""
    absent = variant.details.get("absent")
    if not isinstance(absent, dict) or "noun" not in absent:
        return
    noun = " ".join(str(absent["noun"]).casefold().split())
    forms = {noun, noun.removesuffix("s")}  # "both baskets" is trained where one basket is
    owners = [
        other.id
        for other in content.tasks.values()
        if other.suite == task.suite and any(f" {form} " in f" {other.instruction.casefold()} " for form in forms)
    ]
    if absent["trained_noun"] != bool(owners):
        said = f"is {str(bool(absent['trained_noun'])).lower()}; must be {str(bool(owners)).lower()}"
        where = f"in the canonical text of {', '.join(owners)}" if owners else "in no canonical text of the suite"
        report.add(variant.id, "absent.trained_noun", f"{said}, since {noun!r} is {where}")


def _check_absent(absent: Absent, texts: Mapping[_Text, str], content: Content, report: Report) -> None:
    place = f"{absent.task} {absent.condition} {absent.slot or ''}".rstrip()
    place = f"dropped {place} {shown(absent.instruction)}" if absent.instruction else f"unavailable {place}"
    task = content.tasks.get(absent.task)
    if task is None and absent.task not in content.spoilt:
        report.add(place, "task", no_such("task", absent.task, content.tasks))
    if absent.condition not in _conditions():
        report.add(place, "condition", no_such("condition", absent.condition, _conditions()))
    elif _conditions()[absent.condition].has_slot != (absent.slot is not None):
        state = "is missing" if absent.slot is None else f"is {absent.slot!r}; must be left out"
        report.add(place, "slot", f"{state} in a cell of condition {absent.condition}")
    same = (
        None
        if absent.instruction is None
        else texts.get((absent.task, absent.condition, absent.slot, absent.instruction))
    )
    if same is not None:
        report.add(place, "instruction", f"is also registered, as {same}; keep one")
    if absent.goal is not None and task is not None and task.scene in content.scenes:
        known = {*content.scenes[task.scene].entities, *(region.name for region in absent.goal.regions)}
        for name in sorted({name for predicate in absent.goal.all_of for name in predicate.args} - known):
            report.add(place, "goal", f"names {name!r}, not in the scene: {no_such('entity', name, known)}")


def _check_counts(suite: str, table: Table, content: Content, report: Report) -> None:
    """A suite that states its totals states the true ones, and every cell of it has a variant or a reason."""
    place = f"counts.{suite}"
    if suite not in (ALL, *content.suites):
        report.add(place, "", no_such("suite", suite, content.suites))
        return
    truth = totals(suite, content)
    for name, value in table.items():
        if name == "paper":  # what another study counted, for comparison
            continue
        if name not in truth:
            report.add(place, name, no_such("total", name, truth))
        elif value != truth[name]:
            report.add(place, name, f"is {shown(value)}; the rows give {truth[name]}")
    for cell in uncovered(suite, content):
        report.add(place, "", f"{cell} has neither enough variants nor a dropped or unavailable row with a reason")


def totals(suite: str, content: Content) -> dict[str, object]:
    """Number of variants of a suite by condition; by slot, and for contrasts by tier and slot, where there are any.

    ``ALL`` stands for all suites together.
    """
    rows = [row for row in content.variants.values() if row.task in content.tasks]
    rows = [row for row in rows if suite in (ALL, content.tasks[row.task].suite)]
    result: dict[str, object] = {"cells": len(list(cells(suite, content)))}
    for name in _conditions():
        own = [row for row in rows if row.condition == name]
        if not _conditions()[name].has_slot:
            result[name] = len(own)
            continue
        for tier in TIERS if any(row.tier for row in own) else (None,):
            count = Counter(row.slot for row in own if row.tier == tier)
            result[f"{name}_{tier}" if tier else name] = {slot: count[slot] for slot in SLOTS}
    return result


def cells(suite: str, content: Content) -> Iterator[tuple[str, str, str | None, int]]:
    """Cells of a suite that should hold a variant: task, condition, slot (or None), number."""
    for task in content.tasks.values():
        if suite in (ALL, task.suite):
            for name in conditions.standard():
                condition = _conditions()[name]
                for slot in SLOTS if condition.has_slot else (None,):
                    for number in range(1, condition.per_task + 1):
                        yield task.id, name, slot, number


def uncovered(suite: str, content: Content) -> Iterator[str]:
    """Cells of a suite with fewer variants than they should have and no reason why."""
    have = Counter((row.task, row.condition, row.slot) for row in content.variants.values())
    # Where a sentence was not chosen, another one fills the cell; it is no reason for an empty one.
    reasons = {(row.task, row.condition, row.slot) for row in content.absent if row.reason != "not_chosen"}
    for task, condition, slot, number in cells(suite, content):
        if have[task, condition, slot] < number and (task, condition, slot) not in reasons:
            yield f"{task} {condition} {slot or number}"


def spelled(variant: Variant, condition: Condition) -> str:
    """The id that a variant's fields spell; a condition with one variant per task has no number."""
    unique = condition.per_task == 1 and not condition.has_slot
    number = "" if unique else str(variant.number)
    return f"{variant.task}-{condition.label}{(variant.slot or '').capitalize()}{number}"

"""The page of one suite: every task with its picture, and every sentence of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gym_grounding import manifest as manifests
from gym_grounding.manifest import NOT_SHOWN, Manifest
from gym_grounding.types import SLOTS, TIERS, Absent, Slots, Task, Variant
from gym_grounding.variants._pictures import Picture, encoded
from gym_grounding.variants.coverage import CONDITIONS, Cell, cells
from gym_grounding.variants.gallery._html import attributes, code, document, marked, picture, text
from gym_grounding.variants.reasons import meaning
from gym_grounding.variants.show import about, describe

STATES = (("held", "instructions", True), ("empty", "empty cells", True), ("refused", "refused sentences", False))
"""(state of a row, its label, whether it is shown at first)."""
BADGES = {NOT_SHOWN: "not shown reachable", "transient": "transient", "trivial": "trivial"}
"""What sets a goal apart -> its words."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a task's table.

    Attributes:
        state: ``held`` (a variant), ``empty`` (a cell without one) or ``refused`` (a sentence that was not let in).
        condition, slot, tier: as in the registry.
        label: what the line is called within its condition, such as ``target`` or ``2``.
        sentence: safe HTML.
        aside: safe HTML of the smaller line below it.
        words: what the text filter looks at.
        anchor: id of the line, or None.
        regions: names of the added regions that its goal names.
        evidence: sentences shown on demand.
        standing: what the oracle showed of its goal, where that sets it apart; see ``manifest.standing``.
    """

    state: str
    condition: str
    slot: str | None
    tier: str | None
    label: str
    sentence: str
    aside: str
    words: str
    anchor: str | None = None
    regions: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    standing: str | None = None


def suite_page(manifest: Manifest, suite: str, tasks: Sequence[Task], pictures: Mapping[str, Picture]) -> str:
    """The whole page as HTML.

    Args:
        manifest: the registry.
        suite: name of the suite.
        tasks: its tasks, in order.
        pictures: task id -> picture; a task without one gets none.
    """
    by_task: dict[str, list[Cell]] = {task.id: [] for task in tasks}
    for cell in cells(manifest):
        if cell.task in by_task:
            by_task[cell.task].append(cell)
    rows = {task.id: tuple(_rows(manifest, task, by_task[task.id])) for task in tasks}
    every = [row for members in rows.values() for row in members]
    held = sum(row.state == "held" for row in every)
    empty = sum(row.state == "empty" for row in every)
    body = [
        '<a class="skip" href="#rows">Skip the filters</a>',
        f'<header>\n<p><a href="index.html">All suites</a></p>\n<h1>{text(suite)}</h1>\n'
        f"<p>{len(tasks)} tasks, {held} instructions, {empty} empty cells. <mark>Marked</mark> words replace words of "
        "the original.</p>\n</header>",
        _filters(every, tasks),
        '<main id="rows">',
        *(_section(task, rows[task.id], pictures.get(task.id)) for task in tasks),
        '<p id="nothing" hidden>Nothing fits the filters.</p>\n</main>',
        f"<footer><p>Registry sha256 <code>{text(manifest.sha256)}</code>, version {manifest.version}.</p></footer>",
    ]
    return document(f"{suite}: instructions", body, script=True)


def _rows(manifest: Manifest, task: Task, own: Sequence[Cell]) -> Iterator[Row]:
    """Cells first, each followed by the sentences refused for it; then the control conditions."""
    refused = [row for row in manifest.absent if row.task == task.id and row.instruction is not None]
    groups = dict.fromkeys((cell.condition, cell.slot) for cell in own)
    for condition, slot in groups:
        group = [cell for cell in own if (cell.condition, cell.slot) == (condition, slot)]
        for cell in group:
            yield _held(manifest, cell.variant) if cell.variant else _empty(cell, len(group) > 1)
        yield from (_refused(row) for row in refused if (row.condition, row.slot) == (condition, slot))
    shown = {cell.variant.id for cell in own if cell.variant}
    others = [row for row in manifest.variants.values() if row.task == task.id and row.id not in shown]
    left = [row for row in refused if (row.condition, row.slot) not in groups]
    for condition in dict.fromkeys([row.condition for row in others] + [row.condition for row in left]):
        yield from (_held(manifest, row) for row in others if row.condition == condition)
        yield from (_refused(row) for row in left if row.condition == condition)


def _held(manifest: Manifest, variant: Variant) -> Row:
    found = describe(manifest, variant.id)
    changed = variant.details.get("changed")
    new = str(changed["to"]) if isinstance(changed, dict) else None
    goal = variant.goal
    asks = [code(goal.id)] if goal and not variant.described else []
    asks += [text(line) for line in (_lacks(variant), *_start(variant), variant.tier_reason) if line]
    sentence = marked(variant.instruction, new) if variant.instruction else "<em>the empty instruction</em>"
    words = [variant.id, variant.instruction, goal.id if goal else "", variant.kind, variant.tier_reason]
    standing = manifests.standing(variant)
    apart = standing if standing in BADGES else None
    return Row(
        state="held",
        condition=variant.condition,
        slot=variant.slot,
        tier=variant.tier,
        label=variant.slot or f"{variant.number} {variant.kind.replace('_', ' ')}".rstrip(),
        sentence=sentence,
        aside=" · ".join(asks),
        words=" ".join([*words, _lacks(variant), BADGES.get(apart or "", "")]),
        anchor=variant.id,
        regions=tuple(region.name for region in goal.regions) if goal else (),
        evidence=found.evidence,
        standing=apart,
    )


def _lacks(variant: Variant) -> str:
    absent = variant.details.get("absent")
    if not isinstance(absent, dict):
        return ""
    noun = f": {absent['noun']}" if absent.get("noun") else ""
    return f"absent {absent['kind']}{noun}"


def _start(variant: Variant) -> Iterator[str]:
    """What is special about a control row."""
    if "instruction_of" in variant.details:
        yield f"text of {variant.details['instruction_of']}"
    for name, place in variant.joints.items():
        yield f"starts with {name} at {place:g}"
    if variant.described:
        yield "asks for what is so already, only described"


def _empty(cell: Cell, numbered: bool) -> Row:
    codes = list(dict.fromkeys(row.reason for row in cell.absent)) or [cell.reason]
    refused = sum(row.instruction is not None for row in cell.absent)
    note = next((row.note for row in cell.absent if row.note), "") or meaning(cell.reason, cell.condition)
    if refused > 1:
        note = f"{refused} sentences were refused; the first: {note}"
    return Row(
        state="empty",
        condition=cell.condition,
        slot=cell.slot,
        tier=None,
        label=cell.slot or (str(cell.number) if numbered else ""),
        sentence=f'<span class="none">{text(", ".join(codes).replace("_", " "))}</span>',
        aside=text(note),
        words=f"{cell.task} {cell.condition} {cell.slot or ''} {' '.join(codes)} {note}",
    )


def _refused(row: Absent) -> Row:
    note = row.note or meaning(row.reason, row.condition)
    reason = row.reason.replace("_", " ")
    return Row(
        state="refused",
        condition=row.condition,
        slot=row.slot,
        tier=None,
        label=row.slot or "",
        sentence=f"<s>{text(row.instruction)}</s>",
        aside=f"<strong>{text(reason)}</strong> {text(note)}".rstrip(),
        words=f"{row.task} {row.instruction} {row.reason} {note}",
    )


def _filters(rows: Iterable[Row], tasks: Sequence[Task]) -> str:
    names = sorted({row.condition for row in rows}, key=_position)
    conditions = "\n".join(
        f'<label class="{_colour(name)}"><input type="checkbox" name="condition" value="{text(name)}" checked>'
        f"{text(name)}</label>"
        for name in names
    )
    states = "\n".join(
        f'<label><input type="checkbox" name="state" value="{name}"{" checked" if shown else ""}>{label}</label>'
        for name, label, shown in STATES
    )
    listed = [(task.id, f"{task.id.rsplit('-', 1)[-1]} {task.instruction}") for task in tasks]
    return (
        '<form class="filters" hidden>\n'
        '<label class="text">Text <input type="search" name="text" autocomplete="off" spellcheck="false"></label>\n'
        f"<fieldset><legend>Condition</legend>\n{conditions}\n</fieldset>\n"
        f"{_select('slot', 'Slot', [(name, name) for name in SLOTS])}\n"
        f"{_select('tier', 'Tier', [(name, name) for name in TIERS])}\n"
        f"{_select('task', 'Task', listed)}\n"
        f"<fieldset><legend>Rows</legend>\n{states}\n</fieldset>\n"
        '<p class="count"><output name="count" aria-live="polite"></output>\n'
        '<button type="reset">Clear</button></p>\n</form>'
    )


def _select(name: str, label: str, values: Iterable[tuple[str, str]]) -> str:
    options = "".join(f'<option value="{text(value)}">{text(shown)}</option>' for value, shown in values)
    return f'<label>{label} <select name="{name}"><option value="">all</option>{options}</select></label>'


def _position(name: str) -> tuple[int, str]:
    return (CONDITIONS.index(name) if name in CONDITIONS else len(CONDITIONS), name)


def _colour(condition: str) -> str:
    return f"c-{condition}" if condition in CONDITIONS else "c-control"


def _section(task: Task, rows: Sequence[Row], drawn: Picture | None) -> str:
    number = task.id.rsplit("-", 1)[-1]
    slots = [(name, getattr(task.slots, name)) for name in Slots.__dataclass_fields__]
    facts = [("goal", code(task.goal.id))]
    facts += [(name, text(value)) for name, value in slots if value]
    listed = "".join(f"<dt>{text(name)}</dt><dd>{value}</dd>" for name, value in facts)
    bodies = "\n".join(
        _group(name, [row for row in rows if row.condition == name])
        for name in dict.fromkeys(r.condition for r in rows)
    )
    return (
        f'<section class="task" id="{text(task.id)}" aria-labelledby="{text(task.id)}-title">\n'
        f'<div class="scene">\n{_figure(task, drawn)}<dl>{listed}</dl>\n</div>\n<div class="list">\n'
        f'<h2 id="{text(task.id)}-title"><a href="#{text(task.id)}">{text(number)}</a> {text(task.instruction)}</h2>\n'
        f"<table>\n{bodies}\n</table>\n</div>\n</section>"
    )


def _figure(task: Task, drawn: Picture | None) -> str:
    if drawn is None:
        return ""
    height, width = drawn.pixels.shape[:2]
    shapes = "".join(
        f'<polygon data-region="{text(name)}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in corners)}">'
        f"<title>{text(name)}</title></polygon>"
        for name, corners in drawn.regions.items()
    )
    overlay = f'<svg viewBox="0 0 {width} {height}" aria-hidden="true">{shapes}</svg>' if shapes else ""
    alt = f"Scene of {task.id} after settling, seen from the front"
    return (
        f'<figure><img alt="{text(alt)}" width="{width}" height="{height}" '
        f'src="{picture(encoded(drawn.pixels, "jpeg"))}">{overlay}</figure>\n'
    )


def _group(condition: str, rows: Sequence[Row]) -> str:
    head = (
        f'<tr class="group {_colour(condition)}"><th colspan="2" scope="rowgroup">{text(condition)} '
        f"<span>{text(about(condition))}</span></th></tr>"
    )
    return f"<tbody>\n{head}\n" + "\n".join(_line(row) for row in rows) + "\n</tbody>"


def _line(row: Row) -> str:
    shown = attributes(
        id=row.anchor,
        class_=row.state,
        data_state=row.state,
        data_condition=row.condition,
        data_slot=row.slot,
        data_tier=row.tier,
        data_words=row.words.casefold(),
        data_regions=" ".join(row.regions) or None,
    )
    label = f'<a href="#{text(row.anchor)}">{text(row.label)}</a>' if row.anchor else text(row.label)
    tier = f' <span class="tier {text(row.tier)}">{text(row.tier)}</span>' if row.tier else ""
    if row.standing:
        tier += f' <span class="tier {row.standing}">{BADGES[row.standing]}</span>'
    aside = f'<p class="aside">{row.aside}</p>' if row.aside else ""
    if row.evidence:
        items = "".join(f"<li>{text(line)}</li>" for line in row.evidence)
        aside = f'<details class="aside"><summary>{row.aside}</summary><ul>{items}</ul></details>'
    return f'<tr{shown}><th scope="row">{label}</th><td><p class="says">{row.sentence}{tier}</p>{aside}</td></tr>'

"""The registry file as sections of plain data, from what was chosen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gym_grounding import conditions, manifest
from gym_grounding.adapters.libero.versions import ROBOSUITE_VERSION
from gym_grounding.types import SLOTS, Entity, Goal, SceneFacts, Slots, Task
from gym_grounding.variants import _yaml
from gym_grounding.variants.definitions import Definitions
from gym_grounding.variants.proposers.paraphrases import KINDS
from gym_grounding.variants.types import Judgement

FORMAT = 1
VERSION = 0
"""The N in ``-vN``: rises when numbers of earlier versions are no longer comparable."""
ADAPTER = "libero"
SETTLE = 10
"""Idle control steps before the first observation; certificates are measured after them."""
PAPER: Mapping[str, Mapping[str, Any]] = {
    "all": {"original": 40, "paraphrase": 200, "contrast": 130, "collision": 90},
    "LiberoGoal": {"contrast": {"action": 10, "object": 8, "relation": 8, "target": 8, "attribute": 0}},
}
"""What the paper (arXiv 2610.00542) keeps of its 640 candidates, and its contrasts on LIBERO-Goal."""
HEADER = """\
The benchmark's only data: every scene, task and instruction variant of four LIBERO suites. Written by
`gym-grounding variants build`, compared by `gym-grounding variants build --check`, checked by `gym-grounding validate`.
Edits by hand are lost. docs/instructions.md says how each sentence came in and what every reason code means.

Cells. Each task has 16: 1 original, 5 paraphrases, and one contrast and one collision for each of the 5 slots. A cell
holds a variant, or rows under `dropped` (proposed and refused) or `unavailable` (nothing honest to propose). The
control conditions (swap, null, shuffled, negated, noise, reverse) stand outside the cells.

Written form. Every instruction is lower-case words a to z with single spaces, 3 to 40 words, without punctuation or
digits, like LIBERO's own `task.language`, so that a gap in behaviour is about meaning. Possessives are therefore
written with "of", questions without a question mark. Only the condition null has an empty instruction.

Ids. T is LIBERO's 0-based task id. Numbers start at 1 within task, condition and slot. The number of a paraphrase is
its kind, the same for all tasks: see `paraphrase_kinds`.

Goals. A literal is a list in lower case, as LIBERO's BDDL reader yields it. Predicates are LIBERO's own, except
`lifted` (the body's origin is at least 0.10 m above where it was after settling). `regions` are boxes on a work surface
that a variant adds; ranges are [x_min, y_min, x_max, y_max] in metres from the surface's centre, and a box stays where
its reference stood. Beside a reference: front is +x (away from the robot), behind -x, right +y, left -y.

Tiers of contrasts. strict: exactly one slot changes, the goal is neither part of the original goal nor contains it, it
is false in every initial state, also when thresholds are read with tolerance, and the original behaviour does not pass
through it. permissive: one of these fails, `tier_reason` says which. `judged: end` counts the goal only if it holds
after the last step.

Certificates were measured with the versions under `physics`: `true_initially`, in how many initial states the goal
holds right after setting the state (raw), after settling (settled) and with thresholds read tolerantly (tolerant);
`witness`, a state with the goal true that was found by placing objects in the initial state named; `demonstrated`,
whether LIBERO's 130 tasks hold the same object and target together (pair), each apart (parts), the object only
(object), or not even that (none).

`oracle` in a certificate: what a scripted expert showed that tried the goal once from each of `attempts` initial
states. Stable: it held in all of 20 control steps after its last deed; transient: it held at some
step, but not so; trivial: it held at the start, while the arm stood still, or after a touch. `successes` count as the
row is judged, `median_steps` is where they first hold, `verdict` is what most of the starts show that reached the goal.
`reachable: not_shown` means that none succeeded, not that none can. The section `oracle` says which expert it was,
and in which simulator."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """What became of one cell, or of one kind of paraphrase.

    Attributes:
        task: task id.
        condition: its condition.
        slot: its slot, or None.
        number: number of the registered variant.
        winner: what is registered; None when nothing is.
        others: judgements of the rest, in the order of proposal; eligible ones are among them.
        nothing: (reason code, note) when nothing was proposed.
    """

    task: str
    condition: str
    slot: str | None
    number: int
    winner: Judgement | None
    others: tuple[Judgement, ...] = ()
    nothing: tuple[str, str] | None = None


def document(
    definitions: Definitions,
    chosen: Sequence[Chosen],
    extra: Sequence[Judgement],
    proposer: str,
    physics: str,
) -> bytes:
    """The bytes of the registry file.

    Args:
        definitions: LIBERO's suites, scenes and tasks.
        chosen: what was chosen for each cell.
        extra: judgements of the control rows.
        proposer: name of the proposer.
        physics: what the certificates were measured with, such as ``mujoco 3.3.2``.

    Raises:
        RegistryError: the rows contradict each other.
    """
    engine, engine_version = physics.split()
    sections: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "canonical_source": "task.language",
        "proposer": proposer,
        "physics": {engine: engine_version, "robosuite": ROBOSUITE_VERSION, "settle": SETTLE},
        "paraphrase_kinds": list(KINDS),
        "suites": {name: {"adapter": ADAPTER, "source": source} for name, source in definitions.suites.items()},
        "counts": {},
        "scenes": {name: _scene(scene) for name, scene in definitions.scenes.items()},
        "tasks": [_task(task) for task in definitions.tasks.values()],
        "variants": list(_variants(definitions, chosen, extra)),
        "dropped": list(_dropped(definitions, chosen, extra)),
        "unavailable": list(_unavailable(definitions, chosen)),
    }
    totals = manifest.totals(_yaml.dump(sections))
    for suite, row in totals.items():
        sections["counts"][suite] = {**row, **({"paper": PAPER[suite]} if suite in PAPER else {})}
    return _yaml.dump(sections, HEADER)


def _scene(scene: SceneFacts) -> dict[str, Any]:
    background = {"background": list(scene.background)} if scene.background else {}
    entities = {entity.name: _entity(entity) for entity in scene.entities.values()}
    return {"adapter": scene.adapter, "problem": scene.problem, **background, "entities": entities}


def _entity(entity: Entity) -> dict[str, Any]:
    row: dict[str, Any] = {"category": entity.category, "kind": entity.kind}
    if entity.joints:
        row["joints"] = entity.joints
    if entity.supports:
        row["supports"] = sorted(entity.supports)
    if entity.names:
        row["names"] = list(entity.names)
    return row


def _task(task: Task) -> dict[str, Any]:
    return {
        "id": task.id,
        "suite": task.suite,
        "index": task.index,
        "name": task.name,
        "instruction": task.instruction,
        "source_instruction": task.source_instruction,
        "scene": task.scene,
        "slots": _slots(task.slots),
        "goal": _literals(task.goal),
        "init_states": task.init_states,
        "checksums": dict(task.checksums),
    }


def _slots(slots: Slots) -> dict[str, Any]:
    values = {name: getattr(slots, name) for name in SLOTS}
    return {name: value.split(" + ") if " + " in value else value for name, value in values.items() if value}


def _literals(goal: Goal) -> list[list[str]]:
    return [[predicate.name, *predicate.args] for predicate in goal.all_of]


def _regions(goal: Goal) -> list[dict[str, Any]]:
    return [{"name": box.name, "surface": box.surface, "ranges": list(box.ranges)} for box in goal.regions]


def _variants(definitions: Definitions, chosen: Sequence[Chosen], extra: Sequence[Judgement]) -> Iterator[Any]:
    controls = [one for one in extra if one.accepted]
    for task in definitions.tasks:
        for cell in chosen:
            if cell.task == task and cell.winner is not None:
                yield variant_row(cell.winner, cell.number)
        numbers: dict[str, int] = {}
        for one in controls:
            if one.proposal.task == task:
                condition = one.proposal.condition
                numbers[condition] = numbers.get(condition, 0) + 1
                yield variant_row(one, numbers[condition])


def variant_row(judgement: Judgement, number: int) -> dict[str, Any]:
    """The registry row of an accepted proposal, as plain data."""
    proposal = judgement.proposal
    condition = conditions.get(proposal.condition)
    unique = condition.per_task == 1 and not condition.has_slot
    spelled = f"{condition.label}{(proposal.slot or '').capitalize()}{'' if unique else number}"
    row: dict[str, Any] = {"id": f"{proposal.task}-{spelled}", "task": proposal.task, "condition": condition.name}
    if proposal.slot:
        row["slot"] = proposal.slot
    if not unique:
        row["number"] = number
    if proposal.kind:
        row["kind"] = proposal.kind
    if proposal.also:
        row["also"] = list(proposal.also)
    row["instruction"] = proposal.instruction
    for name, value in judgement.row.items():
        row.update(_plain(name, value))
    return row


def _plain(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, Goal):
        regions = {"regions": _regions(value)} if value.regions else {}
        return {"goal": _literals(value), **regions}
    if name == "regions" and not value:
        return {}
    return {name: value}


def _dropped(definitions: Definitions, chosen: Sequence[Chosen], extra: Sequence[Judgement]) -> Iterator[Any]:
    for task in definitions.tasks:
        for cell in chosen:
            if cell.task == task:
                yield from (_refused(other, cell) for other in cell.others)
        yield from (_refused(one, None) for one in extra if not one.accepted and one.proposal.task == task)


def _refused(judgement: Judgement, cell: Chosen | None) -> dict[str, Any]:
    proposal = judgement.proposal
    row: dict[str, Any] = {"task": proposal.task, "condition": proposal.condition}
    if proposal.slot:
        row["slot"] = proposal.slot
    row["instruction"] = proposal.instruction
    goal = judgement.row.get("goal")
    if isinstance(goal, Goal):
        row.update(_plain("goal", goal))
    if judgement.accepted:
        better = cell.winner.proposal.instruction if cell and cell.winner else ""
        row |= {"reason": "not_chosen", "note": f"eligible ({judgement.tier or 'passes'}); {better!r} comes first"}
    else:
        row |= {"reason": judgement.reason, "note": judgement.note}
    return row


def _unavailable(definitions: Definitions, chosen: Sequence[Chosen]) -> Iterator[Any]:
    for task in definitions.tasks:
        for cell in chosen:
            if cell.task == task and cell.nothing is not None:
                row: dict[str, Any] = {"task": cell.task, "condition": cell.condition}
                if cell.slot:
                    row["slot"] = cell.slot
                yield row | {"reason": cell.nothing[0], "note": cell.nothing[1]}

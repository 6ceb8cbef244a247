"""From LIBERO's task definitions to the registry file, byte for byte: propose, judge, choose, write."""

from __future__ import annotations

import contextlib
import difflib
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gym_grounding import manifest
from gym_grounding.errors import UnwritableOutput
from gym_grounding.types import SLOTS, Task
from gym_grounding.variants import controls
from gym_grounding.variants._certificates import certified
from gym_grounding.variants._document import Chosen, document
from gym_grounding.variants._reached import Reached, there
from gym_grounding.variants.audit import Audit
from gym_grounding.variants.definitions import load as load_definitions
from gym_grounding.variants.evidence import FILE, Questions, Recorded
from gym_grounding.variants.proposers import ASKED, ProposalRequest, Proposer
from gym_grounding.variants.proposers import get as get_proposer
from gym_grounding.variants.proposers.paraphrases import KINDS
from gym_grounding.variants.types import Judgement, Proposal
from gym_grounding.variants.validator import Context, judge, questions, unavailable

SLOTTED = ("contrast", "collision")
"""Conditions with a cell for every slot."""
SHOWN_LINES = 200
"""Lines of a difference that are kept."""


Progress = Callable[[Iterable[Any], int], Iterable[Any]]


def unwatched(items: Iterable[Any], total: int) -> Iterable[Any]:
    """No progress bar."""
    return items


@dataclass(frozen=True, slots=True)
class BuildReport:
    """A built registry.

    Attributes:
        text: bytes of the file.
        differences: lines of a unified difference to the file that was compared with; empty when equal.
        summary: totals in one line.
    """

    text: bytes
    differences: tuple[str, ...]
    summary: str


def build(
    proposer: str = "rules",
    out: Path | None = None,
    check: bool = False,
    fresh: bool = False,
    workers: int = 1,
    record: Path | None = None,
    replay: Path | None = None,
    progress: Progress = unwatched,
    options: Mapping[str, object] | None = None,
    evidence: Path | None = None,
    reached: Path | None = None,
) -> BuildReport:
    """Build the registry and write it, or compare it with the file that is there.

    Args:
        proposer: name of a proposer, or ``package.module:OBJECT``.
        out: the file; None for the shipped registry.
        check: compare, write nothing.
        fresh: measure everything in the simulator again instead of using recorded measurements.
        workers: processes that measure.
        record, replay: folder of a recording proposer's requests and answers; see ``proposers.recorded``.
        progress: wraps what is gone through; takes the items and their number.
        options: arguments of the proposer.
        evidence: file of measurements, read and added to; None for the shipped one, which a check leaves alone.
        reached: file of the oracle's episodes (see ``certify``), read only; None for the shipped one.

    Raises:
        InvalidOption: options that exclude each other; a file of episodes that is named and absent.
        RegistryError: what was built is not a valid registry; the file is left alone.
        MissingSource, WrongVersion, SimulatorError: LIBERO is missing or cannot be simulated.
        UnwritableOutput: a file cannot be written.
    """
    target, episodes = out or manifest.default_path(), Reached(there(reached))
    definitions = load_definitions()
    with _evidence_file(evidence, check) as path:
        recorded = Recorded(path, fresh=fresh)
        context = Context(definitions, recorded, Audit())
        _measure_layouts(recorded, definitions.tasks, workers, progress)
        proposing = get_proposer(proposer, definitions, recorded, record=record, replay=replay, **(options or {}))
        _measure_goals(recorded, proposing, context, workers, progress)
        tasks = progress(definitions.tasks.values(), len(definitions.tasks))
        chosen = [cell for task in tasks for cell in cells(task, proposing, context)]
        extra = controls.rows(definitions, recorded)
        recorded.save()
    text = document(definitions, chosen, extra, proposing.name, recorded.physics)
    text = certified(text, episodes, str(target))
    built = manifest.parsed(text, str(target))
    if not check:
        _replace(target, text)
    shown = sum(manifest.reach(variant) is not None for variant in built.variants.values())
    summary = (
        f"{len(built.tasks)} tasks, {len(built.variants)} variants, {len(built.absent)} refused or unavailable, "
        f"{shown} with what the oracle showed"
    )
    return BuildReport(text, _differences(text, target) if check else (), summary)


def cells(task: Task, proposer: Proposer, context: Context) -> tuple[Chosen, ...]:
    """Every cell of a task, judged; and what was chosen for it."""
    original = Proposal(task.id, "original", None, task.instruction, source="libero")
    return (
        Chosen(task.id, "original", None, 1, Judgement(original)),
        *_paraphrases(task, proposer, context),
        *(_best(task, condition, slot, proposer, context) for condition in SLOTTED for slot in SLOTS),
    )


def _paraphrases(task: Task, proposer: Proposer, context: Context) -> tuple[Chosen, ...]:
    scene = context.definitions.scene_of(task.id)
    proposals = proposer.propose(ProposalRequest(task, scene, "paraphrase", None, ASKED, (task.instruction,)))
    kept: list[str] = [task.instruction]
    result = []
    for number, kind in enumerate(KINDS, 1):
        refused: list[Judgement] = []
        winner = None
        for proposal in (one for one in proposals if one.kind == kind):
            judgement = judge(proposal, context.with_siblings(kept))
            if judgement.accepted:
                winner = judgement
                kept.append(proposal.instruction)
                break
            refused.append(judgement)
        nothing = None if winner or refused else ("not_proposed", f"no sentence of the kind {kind} was proposed")
        result.append(Chosen(task.id, "paraphrase", None, number, winner, tuple(refused), nothing))
    return tuple(result)


def _best(task: Task, condition: str, slot: str, proposer: Proposer, context: Context) -> Chosen:
    proposals = _proposed(task, condition, slot, proposer, context)
    judgements = [judge(proposal, context) for proposal in proposals]
    eligible = [judgement for judgement in judgements if judgement.accepted]
    winner = min(eligible, key=lambda one: one.rank) if eligible else None
    others = tuple(one for one in judgements if one is not winner)
    nothing = None
    if not judgements:
        nothing = unavailable(condition, task, context.definitions.scene_of(task.id), slot)
    return Chosen(task.id, condition, slot, 1, winner, others, nothing)


def _proposed(task: Task, condition: str, slot: str, proposer: Proposer, context: Context) -> Sequence[Proposal]:
    scene = context.definitions.scene_of(task.id)
    if getattr(task.slots, slot) is None:
        return ()
    return proposer.propose(ProposalRequest(task, scene, condition, slot, ASKED, (task.instruction,)))


@contextlib.contextmanager
def _evidence_file(given: Path | None, check: bool) -> Iterator[Path]:
    """The file of measurements; a check works on a copy of the shipped one."""
    if given is not None or not check:
        yield given or FILE
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / FILE.name
        if FILE.is_file():
            shutil.copyfile(FILE, copy)
        yield copy


def _measure_layouts(evidence: Recorded, tasks: Iterable[str], workers: int, progress: Progress) -> None:
    """Where things stand; which sentences make sense, and so which goals there are, depends on it."""
    evidence.prepare({task: [Questions()] for task in tasks}, workers, progress)


def _measure_goals(evidence: Recorded, proposer: Proposer, context: Context, workers: int, progress: Progress) -> None:
    """Ask the simulator everything that judging will need, task by task in one opening each."""
    wanted = {
        task.id: [
            questions(proposal, context)
            for condition in SLOTTED
            for slot in SLOTS
            for proposal in _proposed(task, condition, slot, proposer, context)
        ]
        for task in context.definitions.tasks.values()
    }
    for task, goals in controls.goals(context.definitions, evidence).items():
        wanted[task].append(Questions(tuple(goals)))
    evidence.prepare(wanted, workers, progress)


def _differences(text: bytes, target: Path) -> tuple[str, ...]:
    old = target.read_bytes() if target.is_file() else b""
    if old == text:
        return ()
    lines = difflib.unified_diff(
        old.decode("utf-8", "replace").splitlines(), text.decode().splitlines(), str(target), "built", lineterm="", n=1
    )
    return tuple(line for _, line in zip(range(SHOWN_LINES), lines, strict=False)) or ("the bytes differ",)


def _replace(target: Path, text: bytes) -> None:
    part = target.with_name(f"{target.name}.part")
    try:
        part.write_bytes(text)
        part.replace(target)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise UnwritableOutput(
            f"{target}: cannot be written ({error.strerror}); free the place and build again"
        ) from error

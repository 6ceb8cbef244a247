"""Sentences that others wrote, let into a registry of one's own by the checks that every shipped sentence passed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gym_grounding import conditions
from gym_grounding import manifest as manifests
from gym_grounding.errors import InvalidOption, MissingSource, RegistryError, UnwritableOutput
from gym_grounding.manifest import Manifest, _source
from gym_grounding.types import Goal, Variant
from gym_grounding.variants import _document, _sentences, _yaml
from gym_grounding.variants._sentences import Sentence
from gym_grounding.variants.evidence import Questions, Recorded
from gym_grounding.variants.proposers._surface import normal
from gym_grounding.variants.types import Judgement, Proposal
from gym_grounding.variants.validator import Context, judge, questions

SOURCE = "foreign"
MOST_VARIANTS = 999
"""Highest number of a variant within task, condition and slot."""
HEADER = """\
Instructions from {name} (sha256 {sha256}) that passed the checks of `gym-grounding variants`,
with the scenes, tasks and original instructions that they need. What did not pass is in {report}."""
Progress = Callable[[Iterable[Sentence]], Iterable[Sentence]]


class Unsaved(Recorded):
    """The measurements that came with the package; what is measured besides is forgotten with the process."""

    def save(self, unasked: bool = True) -> None:
        """Nothing is written."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one sentence.

    Attributes:
        sentence: as it stands in the file.
        instruction: in the registry's written form.
        normalised: what was changed for that, such as ``lower case``.
        id: id of the variant; empty when it was dropped.
        tier: ``strict`` or ``permissive`` for a contrast that was kept, else None.
        reason: code of the rule that it fails; empty when it was kept.
        note: the reason in words, or that of a permissive tier.
    """

    sentence: Sentence
    instruction: str
    normalised: tuple[str, ...]
    id: str = ""
    tier: str | None = None
    reason: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class ForeignReport:
    """What became of a file of sentences.

    Attributes:
        source: the file.
        sha256: hash (hex) of its bytes.
        outcomes: one for each sentence, in file order.
        registry: the registry that was written; None when nothing was kept.
        report: the JSON file that says the same as this object.
    """

    source: Path
    sha256: str
    outcomes: tuple[Outcome, ...]
    registry: Path | None
    report: Path

    @property
    def kept(self) -> tuple[Outcome, ...]:
        """Those in the registry."""
        return tuple(outcome for outcome in self.outcomes if outcome.id)

    @property
    def dropped(self) -> tuple[Outcome, ...]:
        """Those that failed a check."""
        return tuple(outcome for outcome in self.outcomes if not outcome.id)

    def lines(self) -> tuple[str, ...]:
        """The report as text: totals, reasons by frequency, what was rewritten, and each dropped sentence."""
        where = f"; {self.registry} holds them" if self.registry else "; no registry was written"
        lines = [f"{self.source}: {len(self.kept)} of {len(self.outcomes)} sentences kept{where}"]
        lines += [f"  {count} dropped: {reason}" for reason, count in self._reasons()]
        rewritten = Counter(change for outcome in self.outcomes for change in outcome.normalised)
        lines += [f"  {count} rewritten: {change}" for change, count in sorted(rewritten.items())]
        for outcome in self.dropped:
            cell = " ".join(filter(None, (outcome.sentence.task, outcome.sentence.condition, outcome.sentence.slot)))
            lines.append(
                f"line {outcome.sentence.line}: {cell}: {outcome.instruction!r}: {outcome.reason}: {outcome.note}"
            )
        return tuple(lines)

    def as_json(self) -> dict[str, Any]:
        """The report as plain data; files by name, not by path."""
        return {
            "source": _name(self.source),
            "sha256": self.sha256,
            "registry": _name(self.registry) if self.registry else None,
            "sentences": len(self.outcomes),
            "kept": len(self.kept),
            "dropped": dict(self._reasons()),
            "outcomes": [_plain(outcome) for outcome in self.outcomes],
        }

    def _reasons(self) -> list[tuple[str, int]]:
        count = Counter(outcome.reason for outcome in self.dropped)
        return sorted(count.items(), key=lambda item: (-item[1], item[0]))


def import_file(
    path: Path | str,
    context: Context,
    manifest: Manifest,
    out: Path | str,
    workers: int = 1,
    progress: Progress = lambda sentences: sentences,
    suffix: str = "",
) -> ForeignReport:
    """Judge the sentences of a file and write those that pass as a registry, and a report on all of them.

    Case, spacing, typographic quotes, quotes around the whole, commas and final punctuation are brought into the
    registry's written form. What contrasts and collisions need measured is then measured, task by task, and every
    sentence judged. The registry has every task of the scenes that are used, with its original instruction, and the
    kept sentences numbered from 1 in file order within task, condition and slot. An old file is replaced at once.

    Args:
        path: ``.csv`` or ``.json``, see ``_sentences.read``.
        context: what the validator needs; with ``Unsaved`` evidence the package's own measurements stay as they are.
        manifest: registry from which scenes, tasks and originals are taken.
        out: the new registry, ``.yaml``; the report stands beside it as ``STEM.report.json``.
        workers: processes that measure.
        progress: wraps the sentences while they are judged.
        suffix: added to the names of the suites, and so to every id, so that the new file can be registered beside the
            one that it comes from.

    Raises:
        MissingSource: the file cannot be read; or something must be measured and LIBERO cannot be simulated.
        SimulatorError: measuring failed.
        InvalidSentences: it is malformed; names the lines.
        InvalidOption: ``out`` is no ``.yaml`` file, or is one of the files that are read.
        RegistryError: the registry's file has changed since ``manifest`` was loaded.
        UnwritableOutput: ``out`` or the report cannot be written.
    """
    path, out = Path(path), Path(out)
    report = out.with_name(f"{out.stem}.report.json")
    raw = _bytes(path)
    _check_out(path, out, report, manifest)
    if not re.fullmatch("[A-Za-z0-9]*", suffix):
        raise InvalidOption(f"suffix is {suffix!r}; give letters and digits, such as Mine")
    sentences = _sentences.read(path, raw, manifest)
    sections = _sections(manifest)
    _measure(sentences, context, workers)
    outcomes, rows = _judged(progress(sentences), context, manifest)
    sha256 = hashlib.sha256(raw).hexdigest()
    outcomes = [replace(one, id=_renamed(one.id, tuple(manifest.suites), suffix)) for one in outcomes]
    result = ForeignReport(path, sha256, tuple(outcomes), out if rows else None, report)
    if rows:
        header = HEADER.format(name=_name(path), sha256=sha256, report=_name(report))
        text = _yaml.dump(_renamed(_selected(sections, rows, manifest), tuple(manifest.suites), suffix), header)
        manifests.parsed(text, str(out))  # a file that would not load is not written
        _write(out, text)
    _write(report, (json.dumps(result.as_json(), indent=1, ensure_ascii=False) + "\n").encode())
    return result


def _check_out(path: Path, out: Path, report: Path, manifest: Manifest) -> None:
    if out.suffix not in (".yaml", ".yml"):
        raise InvalidOption(f"{out}: a registry is written as .yaml; give such a name")
    read = {path.resolve(), Path(manifest.path).resolve(), manifests.default_path().resolve()}
    for target in (out, report):
        if target.resolve() in read:
            raise InvalidOption(f"{target}: is read here, so it is not overwritten; give another name")


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_sentences.MOST_BYTES + 1)
    except (OSError, ValueError) as error:  # a name with a NUL character is a ValueError
        reason = getattr(error, "strerror", None) or error
        raise MissingSource(f"{path}: cannot be read ({reason}); name a .csv or .json file of sentences") from error


def _sections(manifest: Manifest) -> Mapping[str, Any]:
    """The manifest's file as plain data, so that rows are copied as they are."""
    try:
        raw = Path(manifest.path).read_bytes()
    except OSError as error:
        raise RegistryError(f"{manifest.path}: cannot be read any more ({error.strerror}); load it again") from error
    if hashlib.sha256(raw).hexdigest() != manifest.sha256:
        raise RegistryError(f"{manifest.path}: has changed since it was loaded; load it again")
    return _source.parse(raw, manifest.path)


def _measure(sentences: Iterable[Sentence], context: Context, workers: int) -> None:
    """Have everything measured that judging will ask; asked one by one, each question would open its scene anew."""
    if not isinstance(context.evidence, Recorded):
        return
    proposals = [_proposal(one, normal(one.instruction)[0]) for one in sentences if one.condition != "paraphrase"]
    context.evidence.prepare({one.task: [Questions()] for one in proposals}, workers)
    wanted: dict[str, list[Questions]] = {}
    for one in proposals:
        wanted.setdefault(one.task, []).append(questions(one, context))
    context.evidence.prepare(wanted, workers)


def _judged(
    sentences: Iterable[Sentence], context: Context, manifest: Manifest
) -> tuple[list[Outcome], list[dict[str, Any]]]:
    """What becomes of each sentence, and the rows of those that are kept."""
    outcomes: list[Outcome] = []
    kept: dict[tuple[str, str, str | None], list[Variant]] = {}
    taken: dict[tuple[str, str], str] = {}
    rows: list[dict[str, Any]] = []
    for sentence in sentences:
        instruction, changes = normal(sentence.instruction)
        outcome = Outcome(sentence, instruction, changes)
        family = kept.setdefault((sentence.task, sentence.condition, sentence.slot), [])
        if (sentence.task, instruction) in taken:
            note = f"is the text of {taken[sentence.task, instruction]}, an earlier line"
            outcomes.append(replace(outcome, reason="repeated", note=note))
            continue
        if len(family) == MOST_VARIANTS:
            note = f"{MOST_VARIANTS} sentences of this kind are kept; a registry can number no more"
            outcomes.append(replace(outcome, reason="too_many", note=note))
            continue
        canonical = manifest.tasks[sentence.task].instruction
        judgement = judge(
            _proposal(sentence, instruction),
            context.with_siblings([canonical, *(one.instruction for one in family)]),
        )
        if not judgement.accepted:
            outcomes.append(replace(outcome, reason=judgement.reason, note=judgement.note))
            continue
        row = _document.variant_row(judgement, len(family) + 1)
        variant = _variant(row, judgement)
        refused = next(_violations(variant, family, manifest), None)
        if refused is not None:
            outcomes.append(replace(outcome, reason=refused.code, note=f"{refused.field}: {refused.message}"))
            continue
        family.append(variant)
        taken[sentence.task, instruction] = variant.id
        rows.append(row)
        outcomes.append(replace(outcome, id=variant.id, tier=judgement.tier, note=judgement.note))
    return outcomes, rows


def _proposal(sentence: Sentence, instruction: str) -> Proposal:
    return Proposal(
        task=sentence.task,
        condition=sentence.condition,
        slot=sentence.slot,
        instruction=instruction,
        goal=sentence.goal,
        kind=sentence.kind,
        source=SOURCE,
    )


def _variant(row: Mapping[str, Any], judgement: Judgement) -> Variant:
    """The variant that a row will be read as."""
    goal = judgement.row.get("goal")
    own = ("goal", "regions", "tier", "tier_reason", "judged")
    return Variant(
        id=row["id"],
        task=row["task"],
        condition=row["condition"],
        slot=row.get("slot"),
        number=row.get("number", 1),
        instruction=row["instruction"],
        goal=goal if isinstance(goal, Goal) else None,
        tier=judgement.tier,
        tier_reason=row.get("tier_reason", ""),
        judged=row.get("judged", "ever"),
        kind=row.get("kind", ""),
        details={name: value for name, value in judgement.row.items() if name not in own},
    )


def _violations(variant: Variant, family: Sequence[Variant], manifest: Manifest) -> Iterator[conditions.Violation]:
    """What the registry's own rules say: they are others than the validator's, and a file that breaks them is none."""
    condition = conditions.get(variant.condition)
    yield from condition.violations(variant, manifest.tasks[variant.task], manifest.scene_of(variant.task))
    for sibling in family:
        yield from condition.conflicts(variant, sibling)


def _selected(sections: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], manifest: Manifest) -> dict[str, Any]:
    """Sections with what the rows need. All tasks of a scene stay, since certificates speak of their goals."""
    scenes = {manifest.tasks[row["task"]].scene for row in rows}
    tasks = {name: task for name, task in manifest.tasks.items() if task.scene in scenes}
    suites = {task.suite for task in tasks.values()}
    head = {name: sections[name] for name in ("format", "version", "canonical_source", "physics") if name in sections}
    new: dict[str, list[Mapping[str, Any]]] = {name: [] for name in tasks}
    for row in rows:
        new[row["task"]].append(row)
    originals = {row["task"]: row for row in sections["variants"] if row["condition"] == "original"}
    return {
        **head,
        "suites": {name: row for name, row in sections["suites"].items() if name in suites},
        "scenes": {name: row for name, row in sections["scenes"].items() if name in scenes},
        "tasks": [row for row in sections["tasks"] if row["id"] in tasks],
        "variants": [row for name in tasks for row in (originals[name], *new[name])],
    }


def _renamed(data: Any, suites: Sequence[str], suffix: str) -> Any:
    """The data with the suffix at every name of a suite, also where it begins an id."""
    if isinstance(data, Mapping):
        return {_renamed(key, suites, suffix): _renamed(value, suites, suffix) for key, value in data.items()}
    if isinstance(data, str):
        suite, hyphen, rest = data.partition("-")
        return f"{suite}{suffix}{hyphen}{rest}" if suite in suites else data
    return [_renamed(item, suites, suffix) for item in data] if isinstance(data, Sequence) else data


def _plain(outcome: Outcome) -> dict[str, Any]:
    sentence = outcome.sentence
    row: dict[str, Any] = {"line": sentence.line, "task": sentence.task, "condition": sentence.condition}
    row |= {"slot": sentence.slot, "kind": sentence.kind, "goal": sentence.goal.id if sentence.goal else None}
    row |= {"given": sentence.instruction, "instruction": outcome.instruction}
    row |= {"normalised": list(outcome.normalised), "id": outcome.id, "tier": outcome.tier}
    row |= {"reason": outcome.reason, "note": outcome.note}
    return {name: value for name, value in row.items() if value not in (None, "", [])}


def _name(path: Path) -> str:
    """A file's name as text that can be written; on disk it may be any bytes."""
    return path.name.encode(errors="replace").decode()


def _write(path: Path, content: bytes) -> None:
    unfinished = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_bytes(content)
        os.replace(unfinished, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
        raise UnwritableOutput(f"{path}: cannot be written ({error}); give another place") from error

"""The commands of ``gym-grounding variants``: build, look at, compare and try instruction variants.

Heavy modules are imported by the command that needs them. Exit code 2 means an error, 1 that something was compared or
tried and is not as it should be.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click

from gym_grounding import conditions as condition_modules
from gym_grounding import manifest as manifests
from gym_grounding.errors import InvalidOption
from gym_grounding.plan import HORIZON
from gym_grounding.policy import options_of
from gym_grounding.types import SLOTS, TIERS, Variant

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

DIFFERENT = 1
"""Exit code of a comparison that finds differences, and of variants that cannot be run."""
MOST_NUMBERS = 10_000
"""Length of the longest list of numbers that an option may stand for."""


@click.group()
def variants() -> None:
    """The instructions themselves: build, list, show, compare, draw and try them."""


def registry_option(function: F) -> F:
    """``--registry``, as everywhere."""
    path = click.Path(path_type=Path)
    return click.option("--registry", type=path, help="A registry file of your own; default: the shipped.")(function)


def listed(text: str | None) -> tuple[str, ...] | None:
    """Names written with commas; None stays None."""
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())


def numbers(text: str, option: str, words: str = "") -> tuple[int, ...]:
    """Integers written as ``0:20``, ``0,3,7`` or a mixture.

    Args:
        words: what else the option takes, for the message.

    Raises:
        InvalidOption: not such a list, or too long a one; names the option.
    """
    found: list[int] = []
    for part in text.split(","):
        first, colon, last = part.strip().partition(":")
        try:
            begin, end = int(first), int(last) if colon else int(first) + 1
        except ValueError:
            raise InvalidOption(f"{option} {text!r}: write {words}numbers as 0:20, 0,3,7 or a mixture") from None
        if end - begin + len(found) > MOST_NUMBERS:
            raise InvalidOption(f"{option} {text!r}: more than {MOST_NUMBERS} numbers")
        found += range(begin, end)
    if not found or len(set(found)) != len(found):
        raise InvalidOption(f"{option} {text!r}: {'names no number' if not found else 'names a number twice'}")
    return tuple(found)


def shown(items: Iterable[T], total: int | None = None, unit: str = "task") -> Iterable[T]:
    """The same items with a bar on a terminal."""
    from tqdm import tqdm

    return tqdm(items, total=total, unit=unit, disable=None)


@variants.command()
@click.option("--check", is_flag=True, help="Write nothing; tell how the file differs from what would be built.")
@click.option("--registry", type=click.Path(path_type=Path), help="File to write or check; default: the shipped.")
@click.option("--proposer", default="rules", show_default=True, help="A proposer's name, or MODULE:OBJECT.")
@click.option("--proposer-option", multiple=True, metavar="KEY=VALUE", help="Argument of the proposer.")
@click.option("--record", type=click.Path(path_type=Path), help="Keep a model's requests and answers in this folder.")
@click.option("--replay", type=click.Path(path_type=Path), help="Answer from such a folder; nothing is connected.")
@click.option("--fresh", is_flag=True, help="Measure everything in the simulator again.")
@click.option("--evidence", type=click.Path(path_type=Path), help="File of measurements; default: the shipped.")
@click.option("--reached", type=click.Path(path_type=Path), help="The oracle's episodes; default: the shipped file.")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Processes that measure.")
def build(check: bool, registry: Path | None, proposer_option: tuple[str, ...], **given: Any) -> None:
    """Build the registry from LIBERO's tasks: propose, check, measure, write. Takes minutes."""
    from gym_grounding.variants.build import build as run

    if ":" in given["proposer"]:
        _import_from_here()
    options = options_of(proposer_option, "--proposer-option")
    report = run(out=registry, check=check, progress=shown, options=options, **given)
    where = registry or manifests.default_path()
    if not check:
        click.echo(f"{where}: {report.summary}")
        return
    for line in report.differences:
        click.echo(line)
    if report.differences:
        click.echo(f"{where}: differs from what would be built: {report.summary}", err=True)
        click.get_current_context().exit(DIFFERENT)
    click.echo(f"{where}: is what would be built, byte for byte: {report.summary}")


def _import_from_here() -> None:
    """A module in the working directory can be named, as with policies; the installed command does not look there."""
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.insert(0, os.getcwd())


@variants.command("list")
@registry_option
@click.option("--suite", help="Only this suite.")
@click.option("--task", "tasks", help="Only these tasks, such as LiberoGoal-T3,LiberoGoal-T4.")
@click.option("--condition", "conditions", help=f"Only these: {','.join(condition_modules.names())}.")
@click.option("--slot", "slots", help=f"Only these: {','.join(SLOTS)}.")
@click.option("--tier", "tiers", help=f"Only these: {','.join(TIERS)}.")
@click.option("--reachable", type=click.Choice(manifests.REACHABLE), help="Only goals of which this is certified.")
@click.option("--json", "as_json", is_flag=True, help="One JSON array with every field.")
def list_variants(
    registry: Path | None,
    suite: str | None,
    slots: str | None,
    tiers: str | None,
    tasks: str | None,
    conditions: str | None,
    reachable: str | None,
    as_json: bool,
) -> None:
    """Variants with their texts, and a third column for goals that are not shown reachable.

    A slot, tier or certificate leaves out what has none.
    """
    manifest = manifests.load(registry)
    asked = {"tasks": tasks, "conditions": conditions, "slots": slots, "tiers": tiers}
    chosen = manifest.select(suite=suite, **{name: listed(value) for name, value in asked.items()})
    if slots is not None:
        chosen = tuple(variant for variant in chosen if variant.slot is not None)
    if tiers is not None:
        chosen = tuple(variant for variant in chosen if variant.tier is not None)
    if reachable is not None:
        chosen = tuple(variant for variant in chosen if manifests.reachable(variant) == reachable)
    if as_json:
        click.echo(json.dumps([_plain(variant) for variant in chosen], indent=1, ensure_ascii=False))
        return
    for variant in chosen:
        apart = "\tnot shown reachable" if manifests.reachable(variant) == manifests.NOT_SHOWN else ""
        click.echo(f"{variant.id}\t{variant.instruction}{apart}")


def _plain(variant: Variant) -> dict[str, Any]:
    """A variant as plain data; what it does not have is left out."""
    row: dict[str, Any] = {"id": variant.id, "task": variant.task, "condition": variant.condition}
    row |= {"slot": variant.slot, "number": variant.number, "instruction": variant.instruction}
    if variant.goal is not None:
        row["goal"] = [[predicate.name, *predicate.args] for predicate in variant.goal.all_of]
        row["regions"] = [
            {"name": region.name, "surface": region.surface, "ranges": list(region.ranges)}
            for region in variant.goal.regions
        ]
        row["judged"] = variant.judged
    row |= {"tier": variant.tier, "tier_reason": variant.tier_reason, "kind": variant.kind}
    row |= {"described": variant.described, "joints": dict(variant.joints), **variant.details}
    return {
        name: value for name, value in row.items() if value not in (None, "", False, [], {}) or name == "instruction"
    }


@variants.command("show")
@click.argument("variant")
@registry_option
@click.option(
    "--png", type=click.Path(path_type=Path, dir_okay=False), help="Also draw its settled scene into this file."
)
@click.option("--init-state", type=int, default=0, show_default=True, help="Which start is drawn.")
@click.option("--size", type=click.IntRange(32, 2048), default=512, show_default=True, help="Side [pixels].")
def show_variant(variant: str, registry: Path | None, png: Path | None, init_state: int, size: int) -> None:
    """Everything about one VARIANT: what it asks for, what was measured and checked, its siblings."""
    from gym_grounding.variants import show

    manifest = manifests.load(registry)
    click.echo(show.as_text(show.describe(manifest, variant)))
    if png is not None:
        drawn = show.picture(manifest, variant, png, init_state, size)
        marked = f", with {', '.join(drawn)} marked" if drawn else ""
        click.echo(f"\n{png}: initial state {init_state} after settling{marked}")


@variants.command()
@registry_option
@click.option("--markdown", is_flag=True, help="Tables for a Markdown page.")
@click.option(
    "--figure", type=click.Path(path_type=Path, dir_okay=False), help="Also draw every cell into this PNG file."
)
def coverage(registry: Path | None, markdown: bool, figure: Path | None) -> None:
    """What the registry holds of what it could hold, beside the paper, and why the rest is empty."""
    from gym_grounding.variants import _tables
    from gym_grounding.variants import coverage as counting

    manifest = manifests.load(registry)
    tables = counting.tables(manifest)
    click.echo(_tables.as_markdown(tables) if markdown else _tables.as_text(tables))
    if figure is not None:
        from gym_grounding.variants._figure import draw

        figure.write_bytes(draw(counting.cells(manifest)))
        click.echo(f"{figure}: written", err=True)


@variants.command("reasons")
@click.option("--markdown", is_flag=True, help="Tables for a Markdown page.")
def list_reasons(markdown: bool) -> None:
    """Every reason code, in the order in which the checks are made."""
    from gym_grounding.variants import _tables, reasons

    tables = reasons.tables()
    click.echo(_tables.as_markdown(tables) if markdown else _tables.as_text(tables))


@variants.command("diff")
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
def compare(old: Path, new: Path, as_json: bool) -> None:
    """Rows added, removed and changed from OLD to NEW, two registry files. Exit code 1 when there are any."""
    from gym_grounding.variants import difference

    found = difference.compare(old, new)
    click.echo(json.dumps(found.as_json(), indent=1, ensure_ascii=False) if as_json else difference.as_text(found))
    if found.changes:
        click.get_current_context().exit(DIFFERENT)


@variants.command()
@registry_option
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder of the pages.")
@click.option("--suite", help="Only this suite.")
@click.option("--size", type=click.IntRange(32, 1024), default=256, show_default=True, help="Of the pictures [pixels].")
@click.option("--no-pictures", is_flag=True, help="Text alone; needs neither simulator nor GL library.")
def gallery(registry: Path | None, out: Path, suite: str | None, size: int, no_pictures: bool) -> None:
    """One page per suite to look at: scenes, instructions, empty cells. Works without any server."""
    from gym_grounding.variants import gallery as pages

    more: dict[str, Any] = {"draw": None} if no_pictures else {}
    written = pages.write_gallery(manifests.load(registry), out, suite, size, progress=shown, **more)
    click.echo(f"{written[0]}: open it in a browser; {len(written) - 1} suite(s)")


@variants.command()
@registry_option
@click.option("--suite", help="Only this suite.")
@click.option("--all", "everything", is_flag=True, help="Every variant; default: the first of each task and condition.")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Processes.")
def smoke(registry: Path | None, suite: str | None, everything: bool, workers: int) -> None:
    """Open and step variants on the simulator. Exit code 1 when one does not run."""
    from gym_grounding.variants import _smoke

    manifest = manifests.load(registry)
    chosen = _smoke.sample(manifest, suite, everything)
    tried = list(shown(_smoke.run(manifest, chosen, workers), len(chosen), "variant"))
    failed = sorted((one for one in tried if one.message), key=lambda one: one.variant)
    for one in failed:
        click.echo(f"{one.variant}: {one.message}")
    click.echo(f"{len(tried) - len(failed)} of {len(tried)} variants open and step")
    if failed:
        click.get_current_context().exit(DIFFERENT)


@variants.command()
@click.argument("ids", nargs=-1)
@registry_option
@click.option("--originals", is_flag=True, help="Try the tasks' own goals instead; they have no certificates.")
@click.option("--suite", help="Only this suite.")
@click.option("--tasks", "--task", "tasks", help="Only these tasks, such as LiberoGoal-T3,LiberoGoal-T4.")
@click.option("--conditions", "--condition", "conditions", help="Only these, such as contrast,swap.")
@click.option("--tiers", "--tier", "tiers", help=f"Only these: {','.join(TIERS)}; leaves out what has none.")
@click.option("--init-states", default="0:10", show_default=True, help="Initial states, such as 0:50 or 0,3,7.")
@click.option("--horizon", type=click.IntRange(1), default=HORIZON, show_default=True, help="Control steps for each.")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Processes.")
@click.option("--fresh", is_flag=True, help="Try again what is recorded.")
@click.option("--record", type=click.Path(path_type=Path), help="File of the episodes; default: the shipped.")
@click.option("--record-only", is_flag=True, help="Leave the registry as it is.")
@click.option("--force", is_flag=True, help="Write the registry even where rows lose their certificates.")
def certify(ids: tuple[str, ...], registry: Path | None, init_states: str, record: Path | None, **given: Any) -> None:
    """Let the oracle try the goals of variants, record what it shows and write it into the registry. Takes hours.

    IDS names variants; default: all with a goal of their own. Stopped at any moment, the same command goes on. Exit
    code 1 when an episode could not be finished. A run that would cost rows their certificates is refused.
    """
    from gym_grounding.variants import _certificates, _evidence_file
    from gym_grounding.variants import certify as trying
    from gym_grounding.variants._reached import FILE, Reached

    manifest, kept = manifests.load(registry), Reached(record or FILE)
    states = numbers(init_states, "--init-states")
    listing = {name: listed(given[name]) for name in ("tasks", "conditions", "tiers")}
    rows = trying.chosen(manifest, given["originals"], ids, given["suite"], **listing)
    starts = trying.pending(manifest, rows, states, kept, given["horizon"], given["fresh"])
    if starts:  # refuse now, not after hours
        _evidence_file.refuse_unwritable(kept.path)
    if not given["record_only"]:
        _evidence_file.refuse_unwritable(Path(manifest.path))
        _certificates.certified(Path(manifest.path).read_bytes(), kept, manifest.path)
        if not given["force"]:
            _certificates.refuse_loss(manifest, kept, trying.coming(starts))
    todo = sum(len(start.goals) for start in starts)
    trials = trying.certify(manifest, starts, kept, given["workers"])
    with _continued(kept.path, given["fresh"]), contextlib.closing(trials) as found:
        failed = [one for one in shown(found, todo, "episode") if one.outcome is None]
    for one in failed:
        click.echo(f"{one.start.task} {one.goal.id}, initial state {one.start.init_state}: {one.message}")
    click.echo(f"{todo} episodes tried, {len(failed)} of them not finished; {record or FILE}")
    for line in trying.summary(manifest, rows, kept, given["horizon"]):
        click.echo(line)
    if not given["record_only"]:
        changed = _certificates.write(Path(manifest.path), kept, given["force"])
        click.echo(f"{manifest.path}: {'certificates written' if changed else 'says so already'}")
    if failed:
        click.get_current_context().exit(DIFFERENT)


@contextlib.contextmanager
def _continued(record: Path, fresh: bool) -> Iterator[None]:
    """Who interrupts is told what goes on."""
    try:
        yield
    except KeyboardInterrupt:
        how = "the same command without --fresh" if fresh else "the same command"
        raise KeyboardInterrupt(f"interrupted; what is done stands in {record}, and {how} continues") from None


@variants.command("reached")
@registry_option
@click.option("--markdown", is_flag=True, help="Tables for a Markdown page.")
@click.option("--record", type=click.Path(path_type=Path), help="File of the episodes; default: the shipped.")
def list_reached(registry: Path | None, markdown: bool, record: Path | None) -> None:
    """What the oracle reached, from the record of its episodes and the registry's certificates."""
    from gym_grounding.variants import _tables, reached

    manifest = manifests.load(registry)
    tables = reached.tables(manifest, reached.recorded(manifest, record))
    click.echo(_tables.as_markdown(tables) if markdown else _tables.as_text(tables))


@variants.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@registry_option
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The new registry, a .yaml file.")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Processes that measure.")
@click.option("--suffix", default="Foreign", show_default=True, help="Added to the suites' names, and so to the ids.")
def import_sentences(file: Path, registry: Path | None, out: Path, workers: int, suffix: str) -> None:
    """Check the sentences of FILE (.csv or .json) as the shipped ones were, and write those that pass as a registry.

    Exit code 1 when none passes.
    """
    from gym_grounding.variants import definitions, foreign
    from gym_grounding.variants.audit import Audit
    from gym_grounding.variants.validator import Context

    manifest = manifests.load(registry)
    context = Context(definitions.load(), foreign.Unsaved(), Audit())
    report = foreign.import_file(file, context, manifest, out, workers, partial(shown, unit="sentence"), suffix)
    for line in report.lines():
        click.echo(line)
    click.echo(f"{report.report}: every sentence with what became of it")
    if report.registry is None:
        click.get_current_context().exit(DIFFERENT)

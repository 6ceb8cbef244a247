"""The command line: list, validate, variants, demos, show, evaluate, errors, observe, probe, report, and so on.

Input errors, and episodes that ended in an error, end with exit code 2; an interrupted evaluation with 130. Heavy
modules are imported by the command that needs them.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import signal
import sys
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from pathlib import Path
from typing import Any, TypeVar

import click

from gym_grounding import conditions as condition_modules
from gym_grounding import manifest as manifests
from gym_grounding.demos.commands import demos as demo_commands
from gym_grounding.errors import GroundingError, PolicyError, RegistryError
from gym_grounding.plan import HORIZON, LIBERO_ORDERS, STOPS, Plan, cell_id
from gym_grounding.policy import PolicySource, options_of
from gym_grounding.records import ErrorRecord
from gym_grounding.showing.command import films_command, show_command
from gym_grounding.types import OBSERVATIONS, ORIENTATIONS, PICTURES, SLOTS, STARTS, TIERS, SceneSettings
from gym_grounding.variants.commands import listed as words
from gym_grounding.variants.commands import numbers
from gym_grounding.variants.commands import variants as variant_commands

F = TypeVar("F", bound=Callable[..., Any])

SHOWN_ERRORS = 10
"""Different errors that are shown at the end of an evaluation."""
SHOWN_LENGTH = 300
"""Characters of each that are shown."""


class BadInput(click.ClickException):
    """One message on the error output and exit code 2."""

    exit_code = 2


class Commands(click.Group):
    """Turns the suite's errors, and those of the operating system, into one message and exit code 2."""

    def invoke(self, ctx: click.Context) -> Any:
        warnings.showwarning = _show_warning
        try:
            return super().invoke(ctx)
        except GroundingError as error:
            raise BadInput(str(error)) from error
        except OSError as error:
            _discard_output()
            if error.errno == errno.EPIPE:  # whoever reads has seen enough
                ctx.exit(128 + signal.SIGPIPE)
            raise BadInput(str(error)) from error
        except KeyboardInterrupt as stopped:
            click.echo(f"\n{stopped}" if str(stopped) else "\ninterrupted", err=True)
            ctx.exit(128 + signal.SIGINT)


def _discard_output() -> None:
    """What is still in the buffer of a full or closed standard output goes nowhere, instead of failing once more."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Directory(click.Path):
    """A path that is named; the empty text, which pathlib takes for the current directory, is none."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not str(value):
            self.fail("it is empty; name a place", param, ctx)
        return super().convert(value, param, ctx)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    click.echo(f"warning: {message}", err=True)


def order_of(text: str) -> int | tuple[int, ...]:
    """``8`` is LIBERO's order 8; ``8,4,1`` are tasks, and so is ``8,``."""
    listed = text.strip()
    if listed.isdecimal():
        return int(listed)
    return numbers(listed.removesuffix(","), "--order")


def conditions_of(text: str | None) -> tuple[str, ...] | None:
    """Names of conditions written with commas; ``all`` names the controls too, None leaves the choice to the plan."""
    return condition_modules.names() if text is not None and text.strip() == "all" else words(text)


PLAN_OPTIONS = (
    click.option("--suite", default="LiberoGoal", show_default=True, help="Suite of the registry."),
    click.option("--registry", type=click.Path(path_type=Path), help="A registry file of your own."),
    click.option(
        "--order",
        default="0",
        show_default=True,
        help=f"8 is LIBERO's training order 8 of 0..{len(LIBERO_ORDERS) - 1}; 8,4,1 are task numbers; 8, with the "
        "comma is task 8 alone.",
    ),
    click.option("--tasks", help="Evaluate only these task numbers, such as 1,4,8."),
    click.option(
        "--conditions",
        help=f"Such as original,paraphrase; default: {','.join(condition_modules.standard())}; all: the controls "
        f"{','.join(condition_modules.controls())} too.",
    ),
    click.option("--tiers", help=f"Of the contrasts: {','.join(TIERS)}; default: both."),
    click.option("--slots", help=f"Of contrasts and collisions: {','.join(SLOTS)}; default: all."),
    click.option("--init-states", default="0:20", show_default=True, help="Such as 0:20 or 0,7."),
    click.option("--seeds", default="0", show_default=True, help="Seeds of the policy, such as 0,1,2."),
    click.option("--stages", default="last", show_default=True, help="last, all, or positions such as 0:10."),
    click.option("--every-stage", is_flag=True, help="All conditions after every stage, not some only the last."),
    click.option("--horizon", type=int, default=HORIZON, show_default=True, help="Policy steps per episode."),
    click.option(
        "--stop",
        type=click.Choice(STOPS),
        default=STOPS[0],
        show_default=True,
        help="default: what the original goal scores (originals, paraphrases, ...) ends at it, the others at the "
        "horizon; horizon: nothing ends earlier; goal: all end at the goal that scores them.",
    ),
    click.option(
        "--observation", type=click.Choice(OBSERVATIONS), help="Default: what the policy declares, or pixels."
    ),
    click.option("--image-size", type=int, default=128, show_default=True, help="Side of the pictures [pixels]."),
    click.option(
        "--orientation", type=click.Choice(ORIENTATIONS), default="raw", show_default=True, help="Of the pictures."
    ),
    click.option(
        "--pictures",
        type=click.Choice(PICTURES),
        default=PICTURES[0],
        show_default=True,
        help="fast: no reflections, one sample per pixel; not the benchmark's own pictures.",
    ),
    click.option(
        "--starts",
        type=click.Choice(STARTS),
        default=STARTS[0],
        show_default=True,
        help="displaced: movable objects stand 3 to 8 cm from where LIBERO's initial state has them.",
    ),
    click.option("--settle-steps", type=int, help="Steps at rest before the policy's first; default: the registry's."),
    click.option("--batch", type=int, default=1, show_default=True, help="Episodes side by side in one worker."),
)
POLICY_OPTIONS = (
    click.option("--policy", required=True, help="A reference policy, such as oracle or deaf, or MODULE:OBJECT."),
    click.option("--policy-option", multiple=True, metavar="KEY=VALUE", help="Argument of the policy's class."),
)


def with_options(*options: Callable[[F], F]) -> Callable[[F], F]:
    """One decorator from several click options, shown in the given order."""
    return lambda function: reduce(lambda wrapped, option: option(wrapped), reversed(options), function)


def plan_of(observation: str | None, **given: Any) -> Plan:
    """A plan from the values of ``PLAN_OPTIONS``; without an observation kind the default one is used."""
    manifest = manifests.load(given["registry"])
    tasks = given["tasks"]
    settings = SceneSettings(
        observation=observation or SceneSettings().observation,
        image_size=given["image_size"],
        orientation=given["orientation"],
        settle_steps=manifest.settle if given["settle_steps"] is None else given["settle_steps"],
        pictures=given["pictures"],
        starts=given["starts"],
    )
    stages = given["stages"]
    return Plan.make(
        given["suite"],
        registry=given["registry"],
        order=order_of(given["order"]),
        conditions=conditions_of(given["conditions"]),
        tiers=words(given["tiers"]),
        slots=words(given["slots"]),
        tasks=None if tasks is None else numbers(tasks, "--tasks"),
        init_states=numbers(given["init_states"], "--init-states"),
        seeds=numbers(given["seeds"], "--seeds"),
        stages=stages if stages in ("last", "all") else numbers(stages, "--stages", "last, all, or "),
        final_conditions_every_stage=given["every_stage"],
        horizon=given["horizon"],
        stop=given["stop"],
        settings=settings,
        batch=given["batch"],
    )


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="gym-grounding")
def main() -> None:
    """Does a policy still listen? Language grounding measured on real LIBERO rollouts."""


@main.command("list")
@click.option("--registry", type=click.Path(path_type=Path), help="A registry file of your own.")
@click.option("--suite", help="Only this suite.")
@click.option("--conditions", help=f"Only these: {','.join(condition_modules.names())}.")
@click.option("--counts", is_flag=True, help="Totals instead of ids.")
@click.option("--absent", is_flag=True, help="Refused proposals and cells with nothing to propose, with reasons.")
def list_command(registry: Path | None, suite: str | None, conditions: str | None, counts: bool, absent: bool) -> None:
    """Environment ids with their instructions."""
    manifest = manifests.load(registry)
    chosen = manifest.select(suite=suite, conditions=words(conditions))
    if absent:
        for row in manifest.absent:
            place = " ".join(filter(None, (row.task, row.condition, row.slot)))
            click.echo(f"{place}: {row.reason}: {row.instruction or row.note}")
    elif counts:
        total = Counter((v.condition, v.tier or "", v.slot or "") for v in chosen)
        for (condition, tier, slot), count in sorted(total.items()):
            click.echo(f"{condition:<12}{tier:<12}{slot:<12}{count:>5}")
        click.echo(f"{'all':<36}{len(chosen):>5}")
    else:
        for variant in chosen:
            click.echo(f"Grounding/{variant.id}-v{manifest.version}\t{variant.instruction}")


@main.command()
@click.option("--registry", type=click.Path(path_type=Path), help="A registry file of your own; default: the shipped.")
@click.option("--sources", is_flag=True, help="Also check the files that the tasks come from (BDDL, init states).")
@click.option("--starts", help="Also open the simulator: no goal may hold at these initial states, such as 0:50.")
def validate(registry: Path | None, sources: bool, starts: str | None) -> None:
    """Check a registry file: shape, meaning, totals."""
    found = manifests.problems(registry)
    for problem in found:
        click.echo(problem)
    if found:
        raise RegistryError(f"{registry or manifests.default_path()}: {len(found)} problem(s)")
    manifest = manifests.load(registry)
    if sources:
        from gym_grounding import adapters

        for task in manifest.tasks.values():
            adapters.get(manifest.adapter_name(task.id)).verify(task)
    if starts is not None:
        _check_starts(manifest, numbers(starts, "--starts"))
    click.echo(
        f"{manifest.path}: {len(manifest.tasks)} tasks, {len(manifest.variants)} variants, "
        f"{len(manifest.absent)} proposals refused or cells unavailable, with reasons; sha256 {manifest.sha256}"
    )


def _check_starts(manifest: manifests.Manifest, init_states: tuple[int, ...]) -> None:
    from tqdm import tqdm

    from gym_grounding.starts import count_starts, disagreements

    tasks = tqdm(manifest.tasks.values(), unit="task", disable=None)
    counts = [one for task in tasks for one in count_starts(manifest, task, init_states)]
    found = disagreements(counts)
    for line in found:
        click.echo(line)
    if found:
        raise RegistryError(f"{manifest.path}: {len(found)} goal(s) that hold at the start")
    click.echo(f"no goal of {len(counts)} holds at any of {len(init_states)} starts")


@main.command()
@with_options(*POLICY_OPTIONS, *PLAN_OPTIONS)
@click.option("--workers", type=int, default=1, show_default=True, help="Processes; 0 runs in this one.")
@click.option("--timeout", type=float, help="Longest time for one call of the policy [s]; beyond it an error.")
@click.option(
    "--start-timeout",
    type=float,
    help="Longest time for importing and making the policy [s]; beyond it nothing is run. Default: ten times "
    "--timeout, at least 60; no limit without --timeout.",
)
@click.option("--name", help="Name of the method in reports.")
@click.option(
    "--accept-versions", is_flag=True, help="Continue a run that was begun with other versions or another policy file."
)
@click.option("--out", type=Directory(), required=True, help="Directory of the run.")
def evaluate(
    policy: str,
    policy_option: tuple[str, ...],
    workers: int,
    timeout: float | None,
    start_timeout: float | None,
    name: str | None,
    accept_versions: bool,
    out: Path,
    **given: Any,
) -> None:
    """Run a policy on every cell of a plan; the same command continues an unfinished run."""
    from gym_grounding.evaluate import evaluate as run
    from gym_grounding.store import RunStore
    from gym_grounding.workers import form_of, start_limit

    options = options_of(policy_option)
    with time_limit(start_limit(timeout, start_timeout), f"{policy} took longer than {{:g}} s to be imported"):
        plan = planned(policy, options, given)
    run(
        policy,
        plan,
        out,
        workers=workers,
        timeout=timeout,
        start_timeout=start_timeout,
        name=name,
        options=options,
        accept_versions=accept_versions,
        begun=partial(_say_begun, policy, f"{out}, in {form_of(workers)}"),
    )
    with RunStore.open(out) as store:
        done, failed = len(store.done_cells()), store.errors()
    total = len(plan.cells(manifests.load(plan.registry)))
    click.echo(f"{out}: {done} of {total} episodes recorded, {len(failed)} ended in an error")
    if failed:
        _summarise(failed, out)
        click.get_current_context().exit(BadInput.exit_code)


def _say_begun(policy: str, where: str, total: int, done: int) -> None:
    click.echo(f"{policy}: {total} episodes into {where}" + (f", {done} of them recorded before" if done else ""))


def _summarise(failed: Sequence[ErrorRecord], out: Path) -> None:
    """Tell what went wrong, once for each kind of error, on the error output."""
    from gym_grounding.store import group_errors

    groups = group_errors(failed)
    for group in groups[:SHOWN_ERRORS]:
        click.echo(f"{len(group)} x {_line(group[0])[:SHOWN_LENGTH]}", err=True)
    if len(groups) > SHOWN_ERRORS:
        click.echo(f"and {len(groups) - SHOWN_ERRORS} other errors", err=True)
    click.echo(
        "These episodes count as missing, not as failures, and the same command tries them again. The table errors of "
        f"{out / 'run.sqlite'} has their tracebacks: gym-grounding errors {out} --traceback",
        err=True,
    )


def _line(error: ErrorRecord) -> str:
    return f"{error.kind} error, {cell_id(error.cell)}: {error.message}"


@contextlib.contextmanager
def time_limit(seconds: float | None, message: str) -> Iterator[None]:
    """Interrupt what happens inside after so many seconds; None for no limit.

    Raises:
        PolicyError: ``message`` with the seconds at its ``{}``.
    """
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise PolicyError(f"{message.format(seconds)}; give it more time with --start-timeout")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@main.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--traceback", is_flag=True, help="Also where in the code each was raised.")
def errors(run: Path, traceback: bool) -> None:
    """Every episode of a RUN that ended in an error, as stage/variant/init state/seed and what happened."""
    from gym_grounding.store import RunStore

    with RunStore.open(run) as store:
        found = store.errors()
    for error in found:
        click.echo(_line(error))
        if traceback:
            click.echo(f"{error.traceback.rstrip()}\n")
    if not found:
        click.echo(f"{run}: no errors")


def planned(policy: str | None, options: dict[str, Any], given: dict[str, Any]) -> Plan:
    """The plan of the given options, with the observation kind that the policy declares where none is given."""
    asked = given.pop("observation")
    declared = None if asked or policy is None else PolicySource(policy).observation
    return plan_of(asked or declared, **given)


@main.command()
@with_options(*PLAN_OPTIONS)
@click.option("--policy", help="Policy that is followed under the original instruction; default: starts only.")
@click.option("--policy-option", multiple=True, metavar="KEY=VALUE", help="Argument of the policy's class.")
@click.option("--every", type=int, default=10, show_default=True, help="With a policy: store every so many steps.")
@click.option("--expert", is_flag=True, help="Store the policy's actions as the expert's, for the language margin.")
@click.option("--out", type=Directory(), required=True, help="The .npz file.")
def observe(
    policy: str | None, policy_option: tuple[str, ...], every: int, expert: bool, out: Path, **given: Any
) -> None:
    """Store observations for `probe`."""
    from gym_grounding.probe import collect, load_observations

    options = options_of(policy_option)
    plan = planned(policy, options, given)
    collect(plan, out, policy=policy, options=options, every=every, expert=expert)
    stored = load_observations(out)
    click.echo(f"{out}: {sum(len(one.names) for one in stored.values())} observations of {len(stored)} tasks")


@main.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--observations", type=click.Path(path_type=Path), required=True, help="A file of `observe`.")
def probe(run: Path, observations: Path) -> None:
    """Ask a run's policy for actions under two instructions (action divergence, language margin)."""
    from gym_grounding.probe import probe as ask
    from gym_grounding.store import RunStore

    with RunStore.open(run) as store:
        header = store.header
    plan = Plan.from_json(header.plan)
    count = ask(header.policy, observations, plan, run, options=header.policy_options)
    click.echo(f"{run}: {count} new probes")


@main.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", type=Directory(), required=True, help="Folder of the report.")
@click.option("--allow-mixed", is_flag=True, help="Compare runs that were measured differently, with warnings.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the bootstrap intervals.")
@click.option("--check", is_flag=True, help="Change nothing; say whether the report there is what the records give.")
def report(runs: tuple[Path, ...], out: Path, allow_mixed: bool, seed: int, check: bool) -> None:
    """Score runs: metrics.json, tables (CSV, Markdown, LaTeX), figures, report.md and one report.html.

    With --check the exit code is 1 where a number of the report is not what the records give.
    """
    from gym_grounding.report import check_report, write_report

    if check:
        found, agreeing = check_report(runs, out, allow_mixed=allow_mixed, seed=seed)
        for line in found:
            click.echo(line, err=True)
        if found:
            click.echo(f"{out}: {len(found)} differences from the records", err=True)
            raise SystemExit(1)
        click.echo(f"{out}: all {agreeing} numbers are what the records give")
        return
    folder = write_report(runs, out, allow_mixed=allow_mixed, seed=seed)
    head, *sections = (folder / "report.md").read_text(encoding="utf-8").split("\n## ")
    click.echo(_plain("\n## ".join([head, *sections[:1]])))
    click.echo(f"written: {folder / 'report.html'}, report.md, metrics.json, {len(sections)} sections of tables")


def _plain(markdown: str) -> str:
    """Markdown to be read as it stands: nothing escaped, and no title of a table that repeats its section's."""
    once = re.sub(r"^(#+ )(.+)\n\n#+ \2$", r"\1\2", markdown, flags=re.MULTILINE)
    return re.sub(r"\\([\\`*_{}\[\]<>|#~])", r"\1", once)


@main.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("new", type=Directory())
def salvage(run: Path, new: Path) -> None:
    """Copy the records that can still be read from a damaged RUN into a NEW one, which can be continued."""
    from gym_grounding.store import salvage as copy

    saved = copy(run, new)
    click.echo(f"{new}: " + ", ".join(f"{count} {table}" for table, count in saved.items()))


@main.command()
def metrics() -> None:
    """Every metric's definition, threshold and source, as Markdown."""
    from gym_grounding.report import metrics_page

    click.echo(metrics_page())


@main.command("cache")
@click.option("--clear", is_flag=True, help="Remove them; they are compiled again when they are needed.")
def cache_command(clear: bool) -> None:
    """Compiled scenes kept between processes: where they are and what they take."""
    from gym_grounding.adapters.libero.core import cache

    place, entries = cache.folder(), cache.entries()
    if place is None:
        click.echo(f"no folder for the cache; name one with the environment variable {cache.FOLDER}")
        return
    size = sum(size for _, size, _ in entries) / 1e6
    click.echo(f"{place}: {len(entries)} scenes, {size:.0f} MB" + (f"; {cache.clear()} removed" if clear else ""))


main.add_command(demo_commands)
main.add_command(show_command)
main.add_command(films_command)
main.add_command(variant_commands)

if __name__ == "__main__":
    main()

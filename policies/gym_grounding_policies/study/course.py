"""A study from its first command to its report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from gym_grounding.errors import InvalidOption
from gym_grounding.report import write_report
from gym_grounding.store import FILE as RECORDS
from gym_grounding_policies.study import estimate
from gym_grounding_policies.study.config import Config, arguments_of
from gym_grounding_policies.study.pack import ENDING, unpack
from gym_grounding_policies.study.plan import PRETRAINED, REPORT, RUNS, Run, StudyPlan
from gym_grounding_policies.study.probes import ask
from gym_grounding_policies.study.runner import Job, StudyFailed, carry_out, carry_out_pretraining, is_done
from gym_grounding_policies.training.checkpoint import FILE as CHECKPOINT
from gym_grounding_policies.training.stop import Stop

Withheld = tuple[str, bool]
"""What is seen of objects, as ``--objects`` calls it, empty for the profile's; and whether the sentence is blanked."""


def withheld_from(options: Mapping[str, Any]) -> Withheld:
    """What a run's options withhold."""
    return str(options.get("objects") or ""), bool(options.get("mute"))


def start_of(withheld: Withheld) -> str:
    """Folder of the start of runs that withhold this."""
    objects, mute = withheld
    return "-".join([PRETRAINED, *([objects] if objects else []), *(["mute"] if mute else [])])


class Course:
    """What is done, in order.

    Args:
        config, plan: what was asked, checked.
        out: the study's folder.
        commands: `train` and `pretrain`.
        say: is told what was decided and what was found, in lines.

    Raises:
        InvalidOption, UnknownName: options that are not possible together.
    """

    def __init__(
        self,
        config: Config,
        plan: StudyPlan,
        out: Path,
        commands: tuple[click.Command, ...],
        say: Callable[[str], None],
    ) -> None:
        self._config, self._plan, self._out, self._say = config, plan, out, say
        self._train, self._pretrain = commands
        self._sizes = [estimate.size_of(run) for run in plan.runs]

    def describe(self) -> None:
        """Say what the study is."""
        runs, out = self._plan.runs, self._out
        done = sum(is_done(out, run) for run in runs)
        if self._plan.pretrain is not None:
            self._say(f"one start for all methods: pretrain {' '.join(self._plan.pretrain)}")
        for run in runs:
            self._say(f"{run.folder}: train {' '.join(run.arguments)}")
        for line in estimate.lines_of(runs, self._sizes):
            self._say(line)
        episodes = sum(size.episodes for size in self._sizes)
        self._say(f"{len(runs)} runs ({done} done), {episodes:,} episodes, in {out}")

    def estimate(self, workers: int) -> None:
        """Measure each method that has something left to do, and say about how long all takes."""
        left = [
            (run, size) for run, size in zip(self._plan.runs, self._sizes, strict=True) if not is_done(self._out, run)
        ]
        rates: dict[str, estimate.Rates | str] = {}
        for run, _ in left:
            if run.name not in rates:
                rates[run.name] = estimate.measured(run, Path(self._config.demos), self._trial)
        unknown = {name: rate for name, rate in rates.items() if isinstance(rate, str)}
        for name, reason in unknown.items():
            self._say(f"{name}: how long it takes could not be measured: {reason}")
        known = [(rates[run.name], size) for run, size in left]
        low, high = (
            sum(bound(rate, size) for rate, size in known if isinstance(rate, estimate.Rates)) / workers
            for bound in (estimate.Rates.shortest, estimate.Rates.longest)
        )
        if len(unknown) < len(rates):
            self._say(
                f"about {estimate.duration(low)} to {estimate.duration(high)} with {workers} runs side by side, one "
                "core each, pretraining not counted (measured with a short trial of each method; the longer one if "
                "every episode runs to its horizon)"
            )

    def run(self, workers: int, records: Path | None, stop: Stop, progress: bool = True) -> None:
        """Everything that is left to do.

        Raises:
            PlanMismatch, CorruptRun, UnwritableOutput, InvalidOption: something is wrong; says what.
            StudyFailed: runs ended in an error, after all others were carried out and reported.
            KeyboardInterrupt: stopped; everything is saved.
        """
        self._plan.keep(self._out)
        if records is not None:
            self._take(records)
        waiting = [run for run in self._plan.runs if not is_done(self._out, run)]
        for withheld in self._starts(waiting):
            if not (self._out / start_of(withheld) / CHECKPOINT).exists():
                self._say(f"pretraining: {start_of(withheld)}")
                carry_out_pretraining(self._before(withheld), self._out, start_of(withheld), stop)
        jobs = [
            Job(run, self._command(run), size.stages) for run, size in zip(self._plan.runs, self._sizes, strict=True)
        ]
        try:
            carry_out(jobs, self._out, workers, stop, self._say, self._config.hours, progress)
        except StudyFailed as error:
            self._report(stop)
            raise StudyFailed(str(error)) from error
        self._report(stop)

    def _take(self, records: Path) -> None:
        """Runs of files of records, as far as the study has them."""
        files = sorted(records.glob(f"*{ENDING}")) if records.is_dir() else []
        if not files:
            raise InvalidOption(f"{records}: no folder with files of `pack` (*{ENDING})")
        own = {run.folder for run in self._plan.runs}
        taken = [unpack(file, self._out) for file in files if file.name.removesuffix(ENDING) in own]
        self._say(f"{len(taken)} runs come from {records}: {', '.join(taken)}")

    def _report(self, stop: Stop) -> None:
        places = [self._out / RUNS / run.folder for run in self._plan.runs if is_done(self._out, run)]
        if not places:
            return
        for place in places if self._plan.probes else ():
            if not stop.asked:
                ask(place, Path(self._config.demos), self._plan.probes, self._say)
        write_report([place for place in places if (place / RECORDS).exists()], self._out / REPORT)
        self._say(f"written: {self._out / REPORT / 'report.html'} ({len(places)} runs)")

    def _command(self, run: Run) -> tuple[str, ...]:
        return (*self._trial(run.options), "--out", str(self._out / RUNS / run.folder))

    def _trial(self, options: Mapping[str, Any]) -> list[str]:
        """Command line of `train` for options, with all folders but that of the run."""
        start = self._out / start_of(withheld_from(options))
        given = {**options, "demos": self._config.demos}
        if self._plan.pretrain is not None and (start / CHECKPOINT).exists():
            given["init"] = str(start)
        return ["train", *arguments_of(self._train, given), "--quiet", "--tensorboard", "off"]

    def _starts(self, runs: Sequence[Run]) -> tuple[Withheld, ...]:
        """What the runs withhold, each once: a control starts from weights that were trained without it too."""
        if self._plan.pretrain is None:
            return ()
        return tuple(dict.fromkeys(withheld_from(run.options) for run in runs))

    def _before(self, withheld: Withheld) -> tuple[str, ...]:
        assert self._config.pretrain is not None
        objects, mute = withheld
        control = {**({"objects": objects} if objects else {}), **({"mute": True} if mute else {})}
        given = {**self._config.pretrain, **control, "demos": self._config.demos}
        out = ("--out", str(self._out / start_of(withheld)), "--quiet", "--tensorboard", "off")
        return ("pretrain", *arguments_of(self._pretrain, given), *out)

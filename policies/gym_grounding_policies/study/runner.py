"""Carrying a study out: one process for each run, as many side by side as asked, stopped and continued anywhere."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tqdm import tqdm

from gym_grounding.demos.write import write_bytes
from gym_grounding.errors import GroundingError
from gym_grounding.processes import THREAD_VARIABLES
from gym_grounding_policies.study.plan import DONE, LOGS, RUNS, Run
from gym_grounding_policies.training import log
from gym_grounding_policies.training.stop import Stop

POLL = 0.5
INTERVAL = 60.0
"""Seconds between two lines of progress outside a terminal."""
PATIENCE = 120.0
"""Seconds that a run has to save before it is killed."""
ENDS_WITH_PARENT = 1
"""Linux' name for the signal that a process gets when its parent ends."""


class StudyFailed(GroundingError):
    """A run of a study ended in an error; the others went on."""


@dataclass
class Children:
    """The processes that run.

    Attributes:
        running: folder -> its process.
    """

    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def begin(self, folder: str, command: Sequence[str], log_file: Path) -> None:
        """Start a command whose output goes to the end of a file."""
        log_file.parent.mkdir(parents=True, exist_ok=True)
        environment = {**dict.fromkeys(THREAD_VARIABLES, "1"), **os.environ}
        with log_file.open("ab") as output:
            self.running[folder] = subprocess.Popen(
                [sys.executable, "-m", "gym_grounding_policies.commands", *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,  # Ctrl-C on a terminal is the study's; it tells its runs itself
                preexec_fn=_end_with_parent,
            )

    def ended(self) -> Iterator[tuple[str, int]]:
        """(folder, exit code) of each process that has ended since the last call."""
        for folder, process in list(self.running.items()):
            code = process.poll()
            if code is not None:
                del self.running[folder]
                yield folder, code

    def stop(self) -> None:
        """Let all save and end."""
        for process in self.running.values():
            process.send_signal(signal.SIGTERM)
        until = time.monotonic() + PATIENCE
        for process in self.running.values():
            try:
                process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.running.clear()


def _end_with_parent() -> None:
    """In the new process: get SIGTERM when the study is killed, so that nothing trains on unseen."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(ENDS_WITH_PARENT, signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class Job:
    """A run that is to be carried out.

    Attributes:
        run: what it is.
        command: of `gym_grounding_policies.commands`, folders included.
        stages: how many it has.
    """

    run: Run
    command: tuple[str, ...]
    stages: int


def carry_out(
    jobs: Sequence[Job],
    out: Path,
    workers: int,
    stop: Stop,
    say: Callable[[str], None],
    hours: float | None = None,
    progress: bool = True,
) -> None:
    """Run all jobs that are not done yet.

    Args:
        jobs: in the order in which they are begun.
        out: the study's folder.
        workers: how many run side by side.
        stop: where to ask whether to stop.
        say: is told what ended, in lines.
        hours: after which what runs is stopped and nothing new is begun.
        progress: whether to show any.

    Raises:
        StudyFailed: runs ended in an error; names them and their logs. All others were carried out.
        KeyboardInterrupt: stopped, by a signal or by ``hours``; everything is saved.
    """
    waiting = [job for job in jobs if not is_done(out, job.run)]
    children, failed, began = Children(), [], time.monotonic()
    with contextlib.closing(_Bar(jobs, out, progress)) as bar:
        try:
            while waiting or children.running:
                late = hours is not None and time.monotonic() - began > 3600 * hours
                if stop.asked or late:
                    raise KeyboardInterrupt(_why(late, hours, out))
                while waiting and len(children.running) < workers:
                    job = waiting.pop(0)
                    children.begin(job.run.folder, job.command, _log(out, job.run.folder))
                for folder, code in children.ended():
                    if code == 0:
                        write_bytes(out / DONE / folder, b"trained\n")
                        say(f"{folder}: finished")
                    else:
                        failed.append(folder)
                        say(f"{folder}: ended with code {code}: {last_line(_log(out, folder))}")
                bar.show(tuple(children.running))
                time.sleep(POLL)
        except BaseException:
            bar.close()
            children.stop()
            raise
    if failed:
        logs = ", ".join(str(_log(out, folder)) for folder in failed)
        raise StudyFailed(
            f"{len(failed)} of {len(jobs)} runs ended in an error: {', '.join(failed)}; see {logs}. The same command "
            "tries them again"
        )


def carry_out_pretraining(command: Sequence[str], out: Path, name: str, stop: Stop) -> None:
    """Pretrain once; ``name`` is that of the start and of its log.

    Raises:
        StudyFailed: it ended in an error.
        KeyboardInterrupt: stopped; everything is saved.
    """
    children = Children()
    children.begin(name, command, _log(out, name))
    try:
        while children.running:
            if stop.asked:
                raise KeyboardInterrupt(_why(False, None, out))
            for _, code in children.ended():
                if code:
                    place = _log(out, name)
                    raise StudyFailed(f"pretraining ended with code {code}: {last_line(place)} (all of it: {place})")
            time.sleep(POLL)
    except BaseException:
        children.stop()
        raise


def is_done(out: Path, run: Run) -> bool:
    """Whether all of a run was carried out."""
    return (out / DONE / run.folder).exists()


def last_line(path: Path) -> str:
    """The last line that a run printed; empty for none."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _why(late: bool, hours: float | None, out: Path) -> str:
    reason = f"stopped after {hours:g} hours" if late else "stopped"
    return f"{reason} and saved in {out}; the same command goes on"


def _log(out: Path, folder: str) -> Path:
    return out / LOGS / f"{folder}.log"


class _Bar:
    """Stages done of all: a bar on a terminal, else a line every ``INTERVAL`` seconds; with the time left."""

    def __init__(self, jobs: Sequence[Job], out: Path, shown: bool) -> None:
        self._jobs, self._out = jobs, out
        self._total = sum(job.stages for job in jobs)
        self._first = self._done()
        self._began = self._said = time.monotonic()
        self._lines = shown and not sys.stderr.isatty()
        self._bar = tqdm(
            total=self._total, initial=self._first, unit="stage", disable=not shown or self._lines, leave=False
        )

    def show(self, running: Sequence[str]) -> None:
        """Tell how far all is."""
        now = time.monotonic()
        if now - self._said < (INTERVAL if self._lines else 2.0):
            return
        self._said, done = now, self._done()
        if not self._lines:
            self._bar.set_description_str(", ".join(running)[:40], refresh=False)
            self._bar.n = done
            self._bar.refresh()
            return
        fresh = done - self._first
        left = f", about {_duration((self._total - done) * (now - self._began) / fresh)} left" if fresh else ""
        print(f"{done}/{self._total} stages{left}; running: {', '.join(running)}", file=sys.stderr, flush=True)  # noqa: T201 -- progress

    def close(self) -> None:
        """End the bar."""
        self._bar.close()

    def _done(self) -> int:
        return sum(
            job.stages if is_done(self._out, job.run) else stages_done(self._out / RUNS / job.run.folder)
            for job in self._jobs
        )


def stages_done(run: Path) -> int:
    """How many stages of a run are trained and evaluated, as its log tells."""
    if not (run / log.FILE).exists():
        return 0
    return len({line["task"] for line in log.read(run) if line.get("event") == "stage"})


def _duration(seconds: float) -> str:
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min"

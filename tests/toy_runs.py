"""Small runs in the toy world, shared by the tests of rollout, workers, evaluate and probe."""

import dataclasses
import time
from collections.abc import Iterable
from pathlib import Path

from gym_grounding.plan import Plan
from gym_grounding.records import EpisodeRecord, ErrorRecord
from gym_grounding.testing import TOY_REGISTRY
from gym_grounding.types import SceneSettings

LAMP, BOWL = "turn on the lamp", "put the bowl on the tray"


def a_plan(**changes) -> Plan:
    """Tasks 0 and 2, every condition, two initial states, six steps."""
    settings = SceneSettings(observation="state", settle_steps=2)
    given = {"registry": TOY_REGISTRY, "settings": settings, "init_states": range(2), "horizon": 6, "tasks": [0, 2]}
    return Plan.make("Toy", **{**given, **changes})


def without_time(outcomes) -> list[EpisodeRecord]:
    """The episodes among the outcomes, sorted, with ``seconds`` set to zero."""
    rows = [dataclasses.replace(o, seconds=0.0) for o in outcomes if isinstance(o, EpisodeRecord)]
    return sorted(rows, key=lambda row: row.cell)


def errors_of(outcomes) -> list[ErrorRecord]:
    """The errors among the outcomes."""
    return [outcome for outcome in outcomes if isinstance(outcome, ErrorRecord)]


def all_end(pids: Iterable[int | str], seconds: float = 5.0) -> bool:
    """Whether all the processes end within the time."""
    deadline = time.monotonic() + seconds
    while any(map(_alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not any(map(_alive, pids))


def _alive(pid: int | str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False

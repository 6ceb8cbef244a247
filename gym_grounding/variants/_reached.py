"""What the oracle's episodes showed, kept in a file beside this module, so that certificates need no simulator.

An outcome counts only for the very files of the task, the physics, the oracle and the way of measuring that it was made
with; others are ignored, and measured again.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from gym_grounding.adapters.libero.versions import installed_versions
from gym_grounding.errors import InvalidOption
from gym_grounding.manifest import REACHED, Reach
from gym_grounding.plan import HORIZON
from gym_grounding.types import Goal, Task
from gym_grounding.variants import _reached_file
from gym_grounding.variants._reached_file import LONGEST, Circumstances, Entry, Key, Outcome, key_of

FILE = Path(__file__).with_name("reached.jsonl")
MEASUREMENT = 2
"""Way of measuring; raised whenever the same episodes can get another verdict."""
ENGINES = ("mujoco", "robosuite")


def installed_physics() -> str:
    """The installed simulator, such as ``mujoco 3.3.2, robosuite 1.4.0``."""
    found = installed_versions(ENGINES)
    return physics({name: found.get(name, "missing") for name in ENGINES})


def physics(versions: Mapping[str, object]) -> str:
    """The simulator that a registry's ``physics`` names."""
    return ", ".join(f"{name} {versions[name]}" for name in ENGINES if name in versions)


def there(path: Path | None) -> Path:
    """The file to read: the named one, or the shipped, which may be absent.

    Raises:
        InvalidOption: the named one is absent.
    """
    if path is not None and not path.is_file():
        raise InvalidOption(
            f"{path}: there is no such record of the oracle's episodes; `gym-grounding variants certify --record` "
            "makes one"
        )
    return path or FILE


def installed_oracle() -> str:
    """Version of the package's own oracle."""
    from gym_grounding import experts

    version: str = experts.ORACLE_VERSION
    return version


class Reached:
    """The oracle's episodes from a file, and new ones.

    Args:
        path: the file; it may be absent.
        oracle: version of the oracle; None for the package's own.
        physics: the simulator; None for the installed one.

    Attributes:
        path, physics: as given.

    Raises:
        RegistryError: the file is malformed; names the line and what to do.
    """

    def __init__(self, path: Path = FILE, oracle: str | None = None, physics: str | None = None) -> None:
        self.path, self._oracle = path, oracle
        self.physics = installed_physics() if physics is None else physics
        self._entries = _reached_file.read(path)
        self._new: dict[tuple[Key, Circumstances], dict[int, Outcome]] = {}

    def __bool__(self) -> bool:
        """Whether anything is recorded, of whatever circumstances."""
        return bool(self._entries)

    @property
    def oracle(self) -> str:
        """Version of the oracle whose outcomes count."""
        if self._oracle is None:
            self._oracle = installed_oracle()
        return self._oracle

    @property
    def others(self) -> Mapping[str, int]:
        """Oracle and physics whose outcomes do not count -> number of lines of theirs, or of an older measurement."""
        ours = (self.oracle, self.physics, MEASUREMENT)
        under = (entry.under for entry in self._entries.values())
        return Counter(
            f"oracle {one.oracle} in {one.physics}, measurement {one.measurement}"
            for one in under
            if (one.oracle, one.physics, one.measurement) != ours
        )

    def outcomes(
        self, task: Task, goal: Goal, joints: Mapping[str, float] | None = None, horizon: int = HORIZON
    ) -> Mapping[int, Outcome]:
        """Initial state -> what it showed of a goal; empty where nobody tried under the present circumstances."""
        entry = self._entries.get(key_of(task.id, goal, joints or {}, horizon))
        if entry is None or entry.under != self._circumstances(task):
            return {}
        return dict(sorted(entry.outcomes.items()))

    def reach(
        self,
        task: Task,
        goal: Goal,
        joints: Mapping[str, float] | None = None,
        judged: str = "ever",
        horizon: int = HORIZON,
    ) -> Reach | None:
        """The outcomes in sum, for a row that is judged so; None where there are none."""
        return in_sum(self.outcomes(task, goal, joints, horizon), judged)

    def add(
        self, task: Task, goal: Goal, joints: Mapping[str, float], horizon: int, outcomes: Mapping[int, Outcome]
    ) -> None:
        """Take in new outcomes, by initial state; ``save`` writes them."""
        key, under = key_of(task.id, goal, joints, horizon), self._circumstances(task)
        short = {state: _short(one) for state, one in outcomes.items()}
        self._new.setdefault((key, under), {}).update(short)
        self._entries[key] = _joined(self._entries.get(key), key, under, short)

    def save(self) -> None:
        """Add what is new to the file, whole or not at all; what others added meanwhile stays.

        Raises:
            UnwritableOutput: it cannot be written; what is new is still kept here.
            RegistryError: the file has become malformed.
        """
        with _reached_file.locked(self.path):
            entries = _reached_file.read(self.path)
            for (key, under), outcomes in self._new.items():
                entries[key] = _joined(entries.get(key), key, under, outcomes)
            _reached_file.write(self.path, entries.values())
        self._entries = entries
        self._new.clear()

    def _circumstances(self, task: Task) -> Circumstances:
        sums = task.checksums
        return Circumstances(sums.get("bddl", ""), sums.get("init", ""), self.oracle, self.physics, MEASUREMENT)


def in_sum(outcomes: Mapping[int, Outcome], judged: str = "ever") -> Reach | None:
    """What several starts show of a goal; None for no start.

    Args:
        outcomes: initial state -> what it showed.
        judged: ``ever`` (a start counts as a success where the goal held at some step) or ``end`` (after the last).
    """
    if not outcomes:
        return None
    counts = Counter(one.verdict for one in outcomes.values())
    steps = [one.first for one in outcomes.values() if (one.at_end if judged == "end" else one.verdict in REACHED)]
    return Reach(
        attempts=len(outcomes),
        stable=counts["stable"],
        transient=counts["transient"],
        trivial=counts["trivial"],
        successes=len(steps),
        median_steps=statistics.median_low(steps) if steps else None,
    )


def _short(one: Outcome) -> Outcome:
    return replace(one, problem=one.problem[:LONGEST], plan=tuple(deed[:LONGEST] for deed in one.plan))


def _joined(old: Entry | None, key: Key, under: Circumstances, new: Mapping[int, Outcome]) -> Entry:
    """New outcomes beside old ones of the same circumstances; those of others are dropped."""
    kept = old.outcomes if old is not None and old.under == under else {}
    return Entry(key, under, {**kept, **new})

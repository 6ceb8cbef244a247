"""How much a study is, counted from its plan, and about how long it takes, measured on this machine."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gym_grounding import manifest as manifests
from gym_grounding.cli import conditions_of, order_of
from gym_grounding.plan import Plan
from gym_grounding.store import RunStore
from gym_grounding.variants.commands import numbers
from gym_grounding_policies.study.plan import Run
from gym_grounding_policies.study.runner import Children, last_line
from gym_grounding_policies.training import log
from gym_grounding_policies.training.kits import kit

SMALL = {"epochs": 2, "demonstrations": 5, "horizon": 60, "curve_every": 0, "conditions": "original", "workers": 0}
"""What a trial run has instead of the study's own: enough steps to time one, and a rollout."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much a run is.

    Attributes:
        stages: tasks that are learned.
        epochs: of each.
        cells: (condition, whether after every stage) -> episodes.
        looks: episodes of learning curves.
        horizon: steps of an episode at most.
    """

    stages: int
    epochs: int
    cells: Mapping[tuple[str, bool], int]
    looks: int
    horizon: int

    @property
    def episodes(self) -> int:
        """All episodes."""
        return sum(self.cells.values()) + self.looks


@dataclass(frozen=True, slots=True)
class Rates:
    """What was measured of a method.

    Attributes:
        epoch: seconds of an epoch of one task with all its demonstrations, about.
        step: seconds of a step of an episode.
    """

    epoch: float
    step: float

    def longest(self, size: Size) -> float:
        """Seconds that a run takes if every episode runs to the horizon, about."""
        return self.epoch * size.epochs * size.stages + self.step * size.episodes * size.horizon

    def shortest(self, size: Size) -> float:
        """Seconds if episodes take a quarter of that, as those of a policy that succeeds, about."""
        return self.epoch * size.epochs * size.stages + self.step * size.episodes * size.horizon / 4


def size_of(run: Run) -> Size:
    """How much a run is, from its options.

    Raises:
        InvalidOption, UnknownName: options that are not possible together.
    """
    given = run.options
    profile = kit(given.get("profile", "cpu"))
    suite, registry = given.get("suite", "LiberoGoal"), given.get("registry")
    plan = Plan.make(
        suite,
        registry=registry,
        order=order_of(str(given.get("order", "0"))),
        conditions=conditions_of(given.get("conditions")),
        init_states=numbers(str(given.get("init_states", "0:20")), "init-states"),
        seeds=(run.seed,),
        stages="all",
        final_conditions_every_stage=bool(given.get("every_stage", False)),
    )
    manifest = manifests.load(registry)
    variants = {variant.id: variant.condition for variant in manifest.select(suite)}
    counted: Counter[tuple[str, bool]] = Counter()
    last = len(plan.order) - 1
    early = {variants[cell.variant] for cell in plan.cells(manifest) if cell.stage < last}
    for cell in plan.cells(manifest) if not given.get("no_evaluation") else ():
        condition = variants[cell.variant]
        counted[condition, condition in early] += 1
    epochs = int(given["epochs"]) if given.get("epochs") is not None else profile.recipe.epochs
    every = int(given.get("curve_every", 0))
    points = len({*range(0, epochs + 1, every), epochs}) if every else 0
    states = len(numbers(str(given.get("curve_states", "40:50")), "curve-states"))
    horizon = int(given["horizon"]) if given.get("horizon") is not None else profile.horizon
    return Size(len(plan.order), epochs, dict(counted), points * states * len(plan.order), horizon)


def measured(run: Run, demos: Path, command: Callable[[Mapping[str, object]], list[str]]) -> Rates | str:
    """A trial of a method: little training and two short real rollouts on the first task.

    Args:
        run: whose method.
        demos: folder of demonstrations.
        command: options -> command line of `train`, folders included except ``--out``.

    Returns:
        What was measured, or why nothing was.
    """
    registry, suite = run.options.get("registry"), run.options.get("suite", "LiberoGoal")
    first = Plan.make(
        suite, registry=registry, order=order_of(str(run.options.get("order", "0"))), init_states=(0,)
    ).order[0]
    number = manifests.load(registry).task(first).index
    small = {**run.options, **SMALL, "order": f"{number},", "init_states": "0:2"}
    with tempfile.TemporaryDirectory(prefix="gym-grounding-trial-") as name:
        place = Path(name) / "run"
        children = Children()
        output = Path(name) / "output"
        try:
            children.begin("trial", [*command(small), "--out", str(place)], output)
            children.running["trial"].wait()
        finally:
            children.stop()
        try:
            return _rates(place, run)
        except (OSError, ValueError, KeyError, IndexError, LookupError):
            return last_line(output) or "the trial left nothing"


def _rates(place: Path, run: Run) -> Rates:
    lines = log.read(place)
    steps = [line for line in lines if line["event"] == "step"]
    (task,) = [line for line in lines if line["event"] == "task"]
    trained = task["seconds"] - steps[0]["seconds"]
    share = 1 - steps[0]["step"] / len(steps) / 10 if len(steps) > 1 else 1.0
    with RunStore.open(place) as store:
        episodes = store.episodes()
    step = min(one.seconds / one.steps for one in episodes)
    shown = int(run.options.get("demonstrations") or 50)
    return Rates(trained / max(share, 0.2) / SMALL["epochs"] * shown / SMALL["demonstrations"], step)


def lines_of(runs: Sequence[Run], sizes: Sequence[Size]) -> list[str]:
    """What a study is, in lines: equal runs together."""
    found: dict[str, list[str]] = {}
    for run, size in zip(runs, sizes, strict=True):
        early = ", ".join(f"{count} {condition}" for (condition, every), count in size.cells.items() if every)
        late = ", ".join(f"{count} {condition}" for (condition, every), count in size.cells.items() if not every)
        text = f"{size.stages} tasks, {size.epochs} epochs each; episodes over all stages: {early or 'none'}"
        text += f"; after the last: {late}" if late else ""
        text += f"; for learning curves: {size.looks}" if size.looks else ""
        text += f"; horizon {size.horizon}"
        found.setdefault(text, []).append(run.folder)
    return [f"{', '.join(folders)}: {text}" for text, folders in found.items()]


def duration(seconds: float) -> str:
    """A length of time for people."""
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min" if minutes >= 60 else f"{minutes} min"

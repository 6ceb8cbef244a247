"""How often the scripted policy reaches each goal for which it has a skill, on the real simulator.

``python benchmarks/scripted_success.py`` (20 initial states, about an hour of CPU time; ``--states``, ``--tasks`` and
``--horizon`` make it shorter). One variant per goal, run by the loop that every report comes from. Prints a Markdown
table: episodes in which the goal held at some step (``ever``) and after the last one (``end``), and the first step at
which it held (median and greatest).
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from gym_grounding_policies.scripted import SUITE, Deaf, Listening, has_skill, meanings

from gym_grounding import conditions, manifest
from gym_grounding.manifest import Manifest
from gym_grounding.plan import Plan
from gym_grounding.records import EpisodeRecord, ErrorRecord
from gym_grounding.rollout import run_cells
from gym_grounding.types import Goal, SceneSettings, Variant

COLUMNS = ("goal", "variant", "ever", "end", "median", "max", "errors")
HEAD = f"| {' | '.join(COLUMNS)} |\n|{' --- |' * len(COLUMNS)}"


def chosen(registry: Manifest, tasks: Sequence[int] | None, per_task: bool) -> list[tuple[Variant, Goal]]:
    """A variant for every goal with a skill (in every task with ``per_task``), with that goal; originals first."""
    goals = meanings(registry, SUITE)
    found: dict[tuple[str, str], tuple[Variant, Goal]] = {}
    rows = registry.select(suite=SUITE, conditions=conditions.standard())
    for variant in sorted(rows, key=lambda variant: variant.condition != "original"):
        goal = goals[variant.instruction]
        if goal is None or not has_skill(goal):
            continue
        if tasks is not None and registry.task(variant.task).index not in tasks:
            continue
        found.setdefault((goal.id, variant.task if per_task else ""), (variant, goal))
    return list(found.values())


def row(variant: Variant, goal: Goal, outcomes: Iterable[EpisodeRecord | ErrorRecord]) -> dict[str, object]:
    """One line of the table."""
    label = "original" if variant.goal is None else "target"
    episodes, errors = [], 0
    for outcome in outcomes:
        if isinstance(outcome, ErrorRecord):
            errors += 1
            print(f"{outcome.cell}: {outcome.message}", file=sys.stderr)
        else:
            episodes.append(outcome)
    steps = [episode.first_held[label] for episode in episodes if episode.reached(label)]
    return {
        "goal": goal.id,
        "variant": variant.id,
        "episodes": len(episodes),
        "ever": len(steps),
        "end": sum(episode.reached(label, "end") for episode in episodes),
        "median": statistics.median(steps) if steps else None,
        "max": max(steps, default=None),
        "errors": errors,
    }


def line(found: dict[str, object]) -> str:
    """The row as Markdown."""
    of = f"/{found['episodes']}"
    numbers = (f"{found['ever']}{of}", f"{found['end']}{of}", found["median"], found["max"], found["errors"])
    return f"| {found['goal']} | {found['variant']} | " + " | ".join(map(str, numbers)) + " |"


def options() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--states", type=int, default=20, help="initial states 0 to N-1 of each")
    parser.add_argument("--tasks", type=int, nargs="+", help="task indices; default all")
    parser.add_argument("--per-task", action="store_true", help="each goal in every task that asks for it")
    parser.add_argument("--originals", action="store_true", help="only the tasks' own goals")
    parser.add_argument("--deaf", action="store_true", help="the deaf form; rows other than originals must then be 0")
    parser.add_argument("--horizon", type=int, default=600, help="policy steps of an episode; none stops earlier")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run and print; 1 if an episode ended in an error."""
    given = options().parse_args(arguments)
    registry = manifest.load()
    policy = Deaf() if given.deaf else Listening()
    rows = []
    print(HEAD, flush=True)
    for variant, goal in chosen(registry, given.tasks, given.per_task):
        if given.originals and variant.condition != "original":
            continue
        plan = Plan.make(
            SUITE,
            tasks=[variant.task],
            init_states=range(given.states),
            horizon=given.horizon,
            stop="horizon",
            settings=SceneSettings(observation="state", settle_steps=registry.settle),
        )
        cells = [cell for cell in plan.cells(registry) if cell.variant == variant.id]
        rows.append(row(variant, goal, run_cells(policy, cells, plan, registry)))
        print(line(rows[-1]), flush=True)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=2) + "\n")
    return 1 if any(found["errors"] for found in rows) else 0


if __name__ == "__main__":
    sys.exit(main())

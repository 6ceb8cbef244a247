"""How well the two audits of paraphrases tell good sentences from bad ones, as a Markdown table.

``python benchmarks/paraphrase_audit.py`` (under a minute on one core; no simulator). Bad ones are generated for every
task with the proposer's own frames, and written by hand (``tests/variants/planted.py``, ``planted.yaml``). Good ones
are the registered paraphrases, which pass by construction, and odd ones that were written before the audits were.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from gym_grounding import manifest
from gym_grounding.types import SceneFacts, Task
from gym_grounding.variants.audit import Audit
from gym_grounding.variants.language import meaning, parser

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "variants"))
import planted  # the sentences lie beside the tests that use them

Check = Callable[[str, Task, SceneFacts], bool]
REGISTERED, ODD = "registered", "odd"
"""Origins of good sentences."""


class Heard(NamedTuple):
    """A sentence and whether each audit takes it for a paraphrase.

    Attributes:
        suite: suite of its task.
        good: whether it is one.
        origin: ``registered`` or ``odd`` for good ones.
        by_parser: audit A.
        by_tree: audit B.
    """

    suite: str
    good: bool
    origin: str
    by_parser: bool
    by_tree: bool


CHECKS: Mapping[str, Callable[[Heard], bool]] = {
    "A, lexicon parser": lambda heard: heard.by_parser,
    "B, dependency parse": lambda heard: heard.by_tree,
    "A and B": lambda heard: heard.by_parser and heard.by_tree,
}


def sentences(tasks: Sequence[Task], scenes: Mapping[str, SceneFacts]) -> Iterator[planted.Row]:
    """Bad and odd good sentences of the tasks."""
    yield from planted.bad(tasks, scenes)
    yield from planted.odd_good(tasks)


def listen(rows: Iterable[planted.Row], tasks: Sequence[Task], scenes: Mapping[str, SceneFacts]) -> list[Heard]:
    """What the audits say of each sentence."""
    audit, by_id = Audit(), {task.id: task for task in tasks}
    heard = []
    for row in rows:
        task = by_id[row.task]
        scene = scenes[task.scene]
        parsed = meaning.same_meaning(parser.parse(row.text, scene), parser.parse(task.instruction, scene))
        agrees = not audit.agrees(row.text, task.instruction, scene)
        heard.append(Heard(task.suite, not row.fault, row.origin, parsed, agrees))
    return heard


def table(heard: Sequence[Heard]) -> str:
    """The Markdown table: a row for each suite and audit, then for all suites together."""
    lines = [
        "| suite | audit | planted bad passed | registered kept | odd good kept | precision | recall on odd good |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    suites = list(dict.fromkeys(one.suite for one in heard))
    for suite in [*suites, "all"] if len(suites) > 1 else suites:
        of_suite = [one for one in heard if suite in (one.suite, "all")]
        lines += [f"| {suite} | {name} | {' | '.join(cells(of_suite, passes))} |" for name, passes in CHECKS.items()]
    return "\n".join(lines)


def cells(heard: Sequence[Heard], passes: Callable[[Heard], bool]) -> list[str]:
    """Counts of a row, its precision (share of good ones among those that pass) and its recall."""
    groups = [
        [one for one in heard if not one.good],
        [one for one in heard if one.good and one.origin == REGISTERED],
        [one for one in heard if one.good and one.origin == ODD],
    ]
    passed = [sum(map(passes, group)) for group in groups]
    counts = [f"{count} of {len(group)}" for count, group in zip(passed, groups, strict=True)]
    return [*counts, share(sum(passed[1:]), sum(passed)), share(passed[2], len(groups[2]))]


def share(part: int, of: int) -> str:
    """A share with two digits; empty where there is nothing to share."""
    return f"{part / of:.2f}" if of else ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table for the shipped registry."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--suite", help="only this suite, such as LiberoGoal")
    given = options.parse_args(arguments)
    loaded = manifest.load()
    tasks = loaded.suite_tasks(given.suite) if given.suite else tuple(loaded.tasks.values())
    names = {task.id for task in tasks}
    rows = [
        planted.Row(variant.task, "", variant.instruction, REGISTERED)
        for variant in loaded.variants.values()
        if variant.condition == "paraphrase" and variant.task in names
    ]
    print(table(listen([*rows, *sentences(tasks, loaded.scenes)], tasks, loaded.scenes)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

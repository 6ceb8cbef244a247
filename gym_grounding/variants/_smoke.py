"""Opening and stepping variants on the simulator, to see that each one runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass
from itertools import groupby

from gym_grounding import processes
from gym_grounding.manifest import Manifest
from gym_grounding.types import Variant


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of one variant.

    Attributes:
        variant: its id.
        message: what is wrong; empty when it runs.
    """

    variant: str
    message: str = ""


def sample(manifest: Manifest, suite: str | None = None, everything: bool = False) -> tuple[Variant, ...]:
    """Variants to try, in file order: all, or the first of each task and condition.

    Raises:
        UnknownName: no such suite.
    """
    found = manifest.select(suite=suite)
    if everything:
        return found
    first = {(variant.task, variant.condition): variant.id for variant in reversed(found)}
    chosen = set(first.values())
    return tuple(variant for variant in found if variant.id in chosen)


def run(manifest: Manifest, chosen: Sequence[Variant], workers: int = 1) -> Iterator[Tried]:
    """Try variants and say what becomes of each, in the order in which they are done.

    Those of one task are tried one after the other, so that its scene is compiled once.

    Args:
        manifest: holds them.
        chosen: which to try.
        workers: processes; 1 stays in this one.
    """
    ordered = sorted(chosen, key=lambda variant: (manifest.tasks[variant.task].scene, variant.task))
    groups = [[row.id for row in rows] for _, rows in groupby(ordered, key=lambda variant: variant.task)]
    if workers == 1:
        for group in groups:
            yield from _try_each(group, manifest.path)
        return
    with processes.pool(workers) as pool:
        for done in as_completed([pool.submit(_try_all, group, manifest.path) for group in groups]):
            yield from done.result()


def _try_all(group: Iterable[str], registry: str) -> list[Tried]:
    return list(_try_each(group, registry))


def _try_each(group: Iterable[str], registry: str) -> Iterator[Tried]:
    from gym_grounding.testing import check_variant

    check: Callable[..., object] = check_variant
    for name in group:
        try:
            check(name, registry)
        except Exception as error:  # whatever it is, the next variant is tried all the same
            yield Tried(name, f"{type(error).__name__}: {error}")
        else:
            yield Tried(name)

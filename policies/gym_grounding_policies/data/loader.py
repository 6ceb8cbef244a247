"""Batches of windows, read ahead by other processes where there are any."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader, Dataset

from gym_grounding.errors import GroundingError, InvalidDemonstration, InvalidOption, WorkerDied
from gym_grounding_policies.data.batch import Batch


class Source(Protocol):
    """Windows by number: ``windows.Windows`` and ``windows.Joined``."""

    def __len__(self) -> int: ...

    def batch(self, indexes: NDArray[np.intp]) -> Batch:
        """See ``windows.Windows.batch``."""


def order(count: int, size: int, generator: np.random.Generator | None = None) -> list[NDArray[np.intp]]:
    """Numbers of the windows of each batch of one pass over all; the last batch may be smaller.

    Args:
        count: of windows.
        size: of a batch.
        generator: draws the order, once; None for the order of the numbers.

    Raises:
        InvalidOption: no windows, or a size below 1.
    """
    if count < 1 or size < 1:
        raise InvalidOption(f"batches of {size} from {count} windows; both must be at least 1")
    numbers = np.arange(count) if generator is None else generator.permutation(count)
    return [numbers[start : start + size] for start in range(0, count, size)]


def batches(
    windows: Source,
    size: int,
    generator: np.random.Generator | None = None,
    workers: int = 0,
    skip: int = 0,
    pin_memory: bool = False,
) -> Iterator[Batch]:
    """One pass over all windows; every window once, the same batches whatever the number of workers.

    The order is drawn at once, not when the first batch is asked for. So a pass that was stopped after n batches goes
    on with the generator's state from before it and ``skip=n``. No other random state is touched.

    Args:
        windows: to read.
        size: of a batch, B; the last may be smaller.
        generator: draws the order; None for the windows' own.
        workers: processes that read ahead; 0 to read here.
        skip: batches of the pass to leave out, from the first on.
        pin_memory: see ``Batch.pin_memory``.

    Raises:
        InvalidDemonstration: when a batch is asked for whose rows are damaged.
        WorkerDied: when a worker was killed.
    """
    chosen = order(len(windows), size, generator)[skip:]
    return _read(windows, chosen, workers, pin_memory)


def _read(windows: Source, chosen: list[NDArray[np.intp]], workers: int, pin_memory: bool) -> Iterator[Batch]:
    if not workers:
        for numbers in chosen:
            batch = windows.batch(numbers)
            yield batch.pin_memory() if pin_memory else batch
        return
    loader: DataLoader[Any] = DataLoader(
        _Ahead(windows, chosen),
        batch_size=None,
        sampler=range(len(chosen)),
        num_workers=workers,
        collate_fn=_same,
        pin_memory=pin_memory,
        # Else the loader draws the workers' seeds from torch's global generator.
        generator=torch.Generator(),
    )
    try:
        for found in loader:
            if isinstance(found, GroundingError):
                raise found
            yield found
    except RuntimeError as error:
        if isinstance(error, GroundingError) or "exited unexpectedly" not in str(error):
            raise
        raise WorkerDied(
            "a process that reads demonstrations was killed; it may have run out of memory: use fewer workers"
        ) from error


class _Ahead(Dataset[Batch | GroundingError]):
    """A batch by its number. What is wrong with a file is handed over, since torch would bury it in a traceback."""

    def __init__(self, windows: Source, chosen: list[NDArray[np.intp]]) -> None:
        self._windows, self._chosen = windows, chosen

    def __len__(self) -> int:
        return len(self._chosen)

    def __getitem__(self, number: int) -> Batch | GroundingError:
        try:
            return self._windows.batch(self._chosen[number])
        except InvalidDemonstration as error:
            return InvalidDemonstration(str(error))


def _same(found: Any) -> Any:
    return found

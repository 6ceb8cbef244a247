"""Pictures that are drawn when they are first read, and observations whose entries are made when first read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

DTYPE = np.dtype(np.uint8)


class Picture:
    """A picture of one moment, drawn when it is first read and then kept, however far the episode has moved on.

    ``np.asarray(picture)`` and every NumPy function read it; each gets an array of its own. Indexing reads it, its
    shape and type do not. Copied or pickled, it becomes an array.

    Args:
        shape: (H, W, 3).
        draw: gives the picture, uint8.

    Attributes:
        shape, dtype, ndim, size, nbytes: as those of an array.
    """

    dtype = DTYPE

    def __init__(self, shape: tuple[int, ...], draw: Callable[[], NDArray[np.uint8]]) -> None:
        self.shape, self.ndim = shape, len(shape)
        self.size = self.nbytes = int(np.prod(shape))
        self._draw: Callable[[], NDArray[np.uint8]] | None = draw
        self._drawn: NDArray[np.uint8] | None = None

    @property
    def drawn(self) -> bool:
        """Whether it has been read."""
        return self._drawn is not None

    def read(self) -> NDArray[np.uint8]:
        """The picture, an array of the caller's own.

        Raises:
            MissingRenderer: it cannot be drawn.
            SimulatorError: its scene was closed before it was read.
        """
        draw = self._draw
        if draw is not None:
            # Two threads may draw it twice, and alike.
            self._drawn, self._draw = draw(), None
        assert self._drawn is not None
        return self._drawn.copy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self.read() if dtype is None else self.read().astype(dtype, copy=False)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        return self.read()[index]

    def __iter__(self) -> Iterator[NDArray[np.uint8]]:
        return iter(self.read())

    def __reduce__(self) -> Any:
        return np.asarray, (self.read(),)

    def __repr__(self) -> str:
        return f"Picture{self.shape}{'' if self.drawn else ', not drawn'}"


class Reading(Mapping[str, NDArray[Any]]):
    """A mapping whose values are made when they are first read, and then kept.

    Args:
        makers: key -> what gives its value.
    """

    def __init__(self, makers: Mapping[str, Callable[[], NDArray[Any]]]) -> None:
        self._makers = dict(makers)
        self._made: dict[str, NDArray[Any]] = {}

    def __getitem__(self, key: str) -> NDArray[Any]:
        if key not in self._made:
            self._made[key] = self._makers[key]()
        return self._made[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)

    def __contains__(self, key: object) -> bool:
        return key in self._makers

    def __repr__(self) -> str:
        return f"Reading({', '.join(self._makers)})"


def drawn(observation: Mapping[str, Any]) -> dict[str, Any]:
    """An observation with every picture drawn: arrays alone."""
    return {key: value.read() if isinstance(value, Picture) else value for key, value in observation.items()}

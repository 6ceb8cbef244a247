"""ER: each batch is joined with as many windows of earlier tasks, drawn from a memory.

Chaudhry et al. 2019, arXiv 1902.10486. Public implementations: LIBERO ``libero/lifelong/algos/er.py``, and the same
file of HarryLui98/DMPEL, which keeps a fifth of each task's windows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gym_grounding.errors import InvalidOption
from gym_grounding_policies.data.windows import Joined, Windows
from gym_grounding_policies.learners._base import Learner, Phase, Sizes, TaskData
from gym_grounding_policies.nets.actor import Actor


@dataclass(frozen=True, slots=True)
class Settings:
    """How much is remembered.

    Attributes:
        share: of a task's windows that is kept, rounded down.
        windows: of a task, instead of a share; LIBERO keeps 1000. None for the share.
        memory: ``random``: which ones is drawn; ``first``: the first in the order of the files, as published, which are
            all windows of the first demonstrations.
    """

    share: float = 0.2
    windows: int | None = None
    memory: str = "random"

    def __post_init__(self) -> None:
        """Raises InvalidOption for values outside their domain."""
        if not 0 <= self.share <= 1:
            raise InvalidOption(f"share is {self.share}; must be in [0, 1]")
        if self.windows is not None and self.windows < 0:
            raise InvalidOption(f"windows is {self.windows}; must not be negative")
        if self.memory not in ("random", "first"):
            raise InvalidOption(f"memory is {self.memory!r}; choose random or first")

    def kept(self, count: int) -> int:
        """How many of a task's ``count`` windows are kept."""
        return int(self.share * count) if self.windows is None else min(self.windows, count)


class Er(Learner):
    """Experience replay.

    All memories are one endless stream, each pass over them in another order, so an earlier task comes as often as it
    has windows in memory: at task k it weighs 1 / (2 k), the present one 1 / 2. A window is read again from its
    demonstration; kept are numbers of windows.
    """

    name = "er"
    Settings = Settings

    def __init__(self, actor: Actor, settings: Any, generator: torch.Generator) -> None:
        super().__init__(actor, settings, generator)
        self._kept: list[list[int]] = []
        self._memory: list[Windows] = []
        self._stream = _Stream(0, 0)

    def begin_task(self, k: int, data: TaskData) -> None:
        """A new order of what is replayed."""
        super().begin_task(k, data)
        self._stream = _Stream(int(torch.randint(2**62, (), generator=self.generator)), 0)

    def loss(self, batch: Any, phase: Phase) -> Tensor:
        """The mean over the batch and as many replayed windows; the batch alone while nothing is remembered."""
        assert len(self._memory) == self.begun - 1, "the windows of earlier tasks were not recalled"
        memory = [part for part in self._memory if len(part)]
        if not memory:
            return self.actor.nll(batch)
        joined = Joined(memory)
        replayed = joined.batch(self._stream.draw(len(batch), len(joined))).to(batch.actions.device)
        return self.actor.nll(batch.joined(self.augment(replayed)))

    def end_task(self, k: int, data: TaskData) -> None:
        """Chooses what is remembered of the task."""
        count = len(data.windows)
        kept = self.settings.kept(count)
        drawn = torch.randperm(count, generator=self.generator)[:kept].sort().values
        self._kept.append(list(range(kept)) if self.settings.memory == "first" else drawn.tolist())
        self.recall(k, data)

    def recall(self, k: int, data: TaskData) -> None:
        """The windows that were chosen.

        Raises:
            InvalidOption: the task has fewer windows than when they were chosen.
        """
        numbers = self._kept[k]
        if numbers and numbers[-1] >= len(data.windows):
            raise InvalidOption(
                f"er remembers window {numbers[-1]} of task {k}, which has {len(data.windows)} windows now: use the "
                "demonstrations and window settings that the run began with"
            )
        del self._memory[k:]
        self._memory.append(data.windows.subset(numbers))

    def structure(self) -> dict[str, Any]:
        """Numbers of the windows in memory, and how far the stream was read."""
        stream = {"seed": self._stream.seed, "drawn": self._stream.drawn}
        return super().structure() | {"kept": [list(one) for one in self._kept], "stream": stream}

    def rebuild(self, structure: Mapping[str, Any]) -> None:
        """Needs ``recall`` of every task that has ended before training goes on."""
        super().rebuild(structure)
        self._kept = [[int(number) for number in one] for one in structure["kept"]]
        self._memory = []
        self._stream = _Stream(int(structure["stream"]["seed"]), int(structure["stream"]["drawn"]))

    def sizes(self) -> Sizes:
        """What is kept are the numbers of all remembered windows, as if each were stored."""
        plain = super().sizes()
        return Sizes(plain.trained, plain.acting, sum(len(part) * _numbers(part) for part in self._memory))


@dataclass(slots=True)
class _Stream:
    """Numbers 0 to n - 1, shuffled anew for each pass; says where it is in two numbers.

    Attributes:
        seed: of all orders.
        drawn: numbers that were given out.
    """

    seed: int
    drawn: int

    def draw(self, count: int, n: int) -> NDArray[np.intp]:
        """The next ``count`` numbers."""
        found: list[NDArray[np.intp]] = []
        while count:
            lap, place = divmod(self.drawn, n)
            order = np.random.default_rng((self.seed, lap)).permutation(n)
            found.append(order[place : place + count].astype(np.intp))
            self.drawn += len(found[-1])
            count -= len(found[-1])
        return np.concatenate(found)


def _numbers(windows: Windows) -> int:
    """Numbers in one window."""
    if not len(windows):
        return 0
    one = windows.batch([0])
    parts = (*one.observations.values(), *one.words.values(), one.actions, one.weight)
    return sum(part.numel() for part in parts)


LEARNER = Er

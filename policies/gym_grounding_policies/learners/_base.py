"""What a continual learner is: hooks that the one training loop calls.

The loop alone calls ``backward``, clips and steps. A learner owns the actor and whatever it adds to it, and says what
is trained when. In order, for each task k:

    begin_task(k, data)
    for phase in phases(k):
        begin_phase(k, phase, data)
        for each epoch and batch:
            loss(batch, phase), backward, after_backward(phase), clip, step, after_step(phase)
        end_phase(k, phase, data)
    end_task(k, data)

A run can stop between any two steps. ``structure``, the tensors of ``state_dict`` and the loop's own place say all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from gym_grounding.errors import InvalidOption
from gym_grounding_policies.data.batch import Batch
from gym_grounding_policies.data.loader import Source
from gym_grounding_policies.data.windows import Windows
from gym_grounding_policies.nets.actor import Actor
from gym_grounding_policies.nets.sites import Change

Inputs = Mapping[str, Tensor]


@dataclass(frozen=True, slots=True)
class TaskData:
    """The demonstrations of one task, or of several in pretraining.

    Attributes:
        windows: all of them.
        read: one pass over windows, in the generator's order (None: their own), as batches on the actor's device and
            without augmentation.
    """

    windows: Windows
    read: Callable[[Source, np.random.Generator | None], Iterator[Batch]]


@dataclass(frozen=True, slots=True)
class Phase:
    """A stretch of training with an optimiser of its own.

    Attributes:
        name: ``learn`` for the one in which a task is learned; its epochs are those of success curves.
        epochs: None for the run's.
        replay: learn from ``Learner.source`` instead of the task's windows.
        lr, weight_decay: of the optimiser, AdamW; None for the run's.
        constant: whether the rate stays; else the run's schedule.
        batch_size: None for the run's.
    """

    name: str = "learn"
    epochs: int | None = None
    replay: bool = False
    lr: float | None = None
    weight_decay: float | None = None
    constant: bool = False
    batch_size: int | None = None


LEARN = Phase()


@dataclass(frozen=True, slots=True)
class Route:
    """How a batch of windows goes through the network.

    Attributes:
        change: of its sites; None for the network as it is.
        told: what was chosen, name -> (B, ...): ``slot`` or ``expert`` int64, ``similarity``, or
            ``coefficients.GROUP`` (B, P).
    """

    change: Change | None = None
    told: Mapping[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sizes:
    """Numbers of a task's end.

    Attributes:
        trained: parameters that the task could change.
        acting: numbers that are needed to act on all tasks so far, the actor's included.
        kept: further numbers that are kept for later training: memories, importances.
    """

    trained: int
    acting: int
    kept: int


def _unchanged(batch: Batch) -> Batch:
    return batch


class Learner(nn.Module, ABC):
    """A method. Its module's ``LEARNER`` is the class; a class of another package works the same way.

    Args:
        actor: pretrained or new; belongs to the learner from then on.
        settings: an instance of ``Settings``.
        generator: draws whatever the learner draws, in training only.

    Attributes:
        name: of the method.
        Settings: frozen dataclass of plain values, with the published values as defaults.
        task_index_in_training, task_index_at_test: whether the learner uses the number of the scene's own task there.
        adapts: whether it trains additions to a frozen actor, for which a profile may have a rate of its own.
        begun: number of tasks begun so far.
        augment: changes the pictures of a batch as the loop does with those that it hands to ``loss``; for windows that
            a learner reads itself and learns from beside them. The loop sets it; it draws from the loop's own stream.
    """

    name: ClassVar[str]
    Settings: ClassVar[type[Any]]
    task_index_in_training: ClassVar[bool] = False
    task_index_at_test: ClassVar[bool] = False
    adapts: ClassVar[bool] = False

    def __init__(self, actor: Actor, settings: Any, generator: torch.Generator) -> None:
        super().__init__()
        self.actor, self.settings, self.generator = actor, settings, generator
        self.begun = 0
        self.augment: Callable[[Batch], Batch] = _unchanged

    # Training, in the order in which the loop calls.

    def begin_task(self, k: int, data: TaskData) -> None:
        """Prepare for task k, counted from 0. Call this first when overriding."""
        self.begun = k + 1

    def phases(self, k: int) -> Sequence[Phase]:
        """What task k consists of; depends on k and the settings alone."""
        return (LEARN,)

    def begin_phase(self, k: int, phase: Phase, data: TaskData) -> None:
        """Before a phase's optimiser is made."""

    def trainable(self, phase: Phase) -> Sequence[nn.Parameter]:
        """What the phase's optimiser is given; everything else stays to the last bit. The loop sets ``requires_grad``.

        The order must be the same in every process.
        """
        return tuple(self.actor.parameters())

    def source(self, phase: Phase) -> Source:
        """What a phase with ``replay`` learns from; its batches go to ``loss`` as they are."""
        raise NotImplementedError(f"{self.name} has no phase with replay")

    @abstractmethod
    def loss(self, batch: Any, phase: Phase) -> Tensor:
        """Scalar. The batch is augmented already; ``train()`` has been called, torch's random streams are seeded.

        A batch may reach nothing that is trained; what has no gradient is not stepped.
        """

    def after_backward(self, phase: Phase) -> None:
        """Edit gradients, before they are clipped; they are not scaled."""

    def after_step(self, phase: Phase) -> None:
        """Restore what must not have moved."""

    def end_phase(self, k: int, phase: Phase, data: TaskData) -> None:
        """After the phase's last step, and after a better checkpoint was taken back where the run selects."""

    def end_task(self, k: int, data: TaskData) -> None:
        """Keep what later tasks need."""

    # Acting.

    def route(self, observations: Inputs, words: Inputs, tasks: Tensor | None) -> Route:
        """How windows go through the network at test; draws nothing and changes nothing.

        Args:
            observations: input -> (B, h, ...), the last h steps, the present one last; h is at most the history.
            words: see ``Batch.words``.
            tasks: (B,) int64, number of the scene's own task in the sequence, given if ``task_index_at_test``.

        Raises:
            InvalidOption: a task that was never learned.
        """
        return Route()

    def check_tasks(self, tasks: Tensor | None) -> Tensor:
        """The numbers of tasks that a route was asked for, (B,).

        Raises:
            InvalidOption: none are given, or one of a task that was never begun.
        """
        if tasks is None:
            raise InvalidOption(f"{self.name} needs the number of the scene's own task at test; none was given")
        unknown = [task for task in tasks.tolist() if not 0 <= task < self.begun]
        if unknown:
            raise InvalidOption(f"{self.name} has learned {self.begun} tasks; it was asked for task {unknown[0]}")
        return tasks

    # What a checkpoint holds.

    def structure(self) -> dict[str, Any]:
        """Plain values from which ``rebuild`` makes the same modules and buffers, before tensors are loaded."""
        return {"begun": self.begun}

    def rebuild(self, structure: Mapping[str, Any]) -> None:
        """Bring a new learner to the form of a saved one.

        Raises:
            InvalidOption: a structure of another method or version.
        """
        self.begun = int(structure["begun"])

    def recall(self, k: int, data: TaskData) -> None:
        """Take again what ``end_task`` kept of an earlier task's data; for each, in order, when a run goes on."""

    def sizes(self) -> Sizes:
        """Of the present task; called after ``end_task``."""
        acting = sum(parameter.numel() for parameter in self.actor.parameters())
        return Sizes(sum(one.numel() for one in self.trainable(LEARN)), acting, 0)

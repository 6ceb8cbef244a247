"""The training loop: the only place that calls ``backward``, clips gradients and steps an optimiser.

It drives a learner through its hooks in the order that ``learners._base`` states, and stops after every step to let
its caller save, look or end. Where it stands is a ``Place``; together with the learner, the optimiser and the random
streams it says how training goes on, to the last bit.

Random streams, all made from the seed: ``learner`` is the learner's own, ``layers`` feeds whatever draws from torch's
global generator (dropout, first weights of what a learner adds; every step and hook runs inside ``draws.seeded``),
``augment`` changes pictures, ``order`` shuffles windows. None feeds another, so what one draws more moves no other.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gym_grounding.errors import CorruptRun, Diverged, InvalidOption, PolicyError
from gym_grounding_policies.data.batch import Batch
from gym_grounding_policies.data.loader import Source, batches
from gym_grounding_policies.data.windows import Windows
from gym_grounding_policies.devices import device_of
from gym_grounding_policies.learners._base import Learner, Phase, TaskData
from gym_grounding_policies.nets.augmentation import Augmentation
from gym_grounding_policies.nets.draws import seeded
from gym_grounding_policies.training.recipe import BETAS, Recipe, rate

STREAMS = ("learner", "layers", "augment")
LARGEST = 1e6
"""Greatest magnitude of a weight: trained ones are below 1e3, and a few layers of these overflow float32."""


@dataclass(frozen=True, slots=True)
class Place:
    """Between which steps training stands.

    Attributes:
        task: number of the task, from 0.
        phase: number of the task's phase; None before the task begins.
        epoch: passes of the phase that are over.
        batch: batches of the present pass that are over.
    """

    task: int = 0
    phase: int | None = None
    epoch: int = 0
    batch: int = 0

    @staticmethod
    def of(data: Mapping[str, Any], tasks: int | None = None) -> Place:
        """The place that ``asdict`` described.

        Args:
            tasks: number of tasks that there are; None where it is not known.

        Raises:
            CorruptRun: something else, or a task that is not there.
        """
        numbers = {key: 0 if key == "phase" and value is None else value for key, value in data.items()}
        whole = all(type(value) is int and value >= 0 for value in numbers.values())
        known = [field.name for field in fields(Place)]
        if sorted(numbers) != sorted(known) or not whole or (tasks is not None and numbers["task"] > tasks):
            raise CorruptRun(f"{dict(data)} is no place in the training of {tasks or 'some'} tasks")
        return Place(**data)


@dataclass(frozen=True, slots=True)
class Moment:
    """What the caller is told between two steps.

    Attributes:
        place: where training stands.
        phase: the phase.
        step, steps: of the phase: how many are over, and how many there are in all.
        boundary: an epoch has not begun yet or is over (place.batch is 0); such a moment comes before the first step
            and after the last of each epoch, in addition to those of the steps.
        last: a boundary after the phase's last epoch.
        numbers: of the step before: ``loss``, ``gradient`` (norm before clipping), ``rate``; empty at boundaries.
    """

    place: Place
    phase: Phase
    step: int
    steps: int
    boundary: bool
    last: bool
    numbers: dict[str, float]


def stream(seed: int, number: int) -> torch.Generator:
    """A random stream of a seed, on the CPU; other numbers give streams that have nothing in common."""
    entropy = np.random.SeedSequence([seed, number]).generate_state(2, np.uint32).astype(np.uint64)
    return torch.Generator().manual_seed(int(entropy[0]) << 31 ^ int(entropy[1]))


class Streams:
    """All random streams of a training run."""

    def __init__(self, seed: int) -> None:
        self.learner, self.layers, self.augment = (stream(seed, number) for number in range(3))
        self.order = np.random.default_rng(np.random.SeedSequence([seed, 3]))

    def tensors(self) -> dict[str, Tensor]:
        """States of torch's generators, uint8."""
        return {f"stream.{name}": getattr(self, name).get_state() for name in STREAMS}

    def load(self, tensors: Mapping[str, Tensor], order: Mapping[str, Any]) -> None:
        """Takes back what ``tensors`` and the order's own state said."""
        for name in STREAMS:
            getattr(self, name).set_state(tensors[f"stream.{name}"])
        self.order.bit_generator.state = order


class Training:
    """One learner on its way through a sequence of tasks.

    Args:
        learner: new, or rebuilt from a checkpoint; its generator must be ``streams.learner``.
        recipe: how to optimise.
        streams: of the run's seed.
        device: where to compute; see ``devices``.
        compiled: let ``torch.compile`` translate the actor.
        readers: processes that read windows ahead.

    Attributes:
        place: where training stands.
    """

    def __init__(
        self,
        learner: Learner,
        recipe: Recipe,
        streams: Streams,
        device: torch.device | str = "cpu",
        compiled: bool = False,
        readers: int = 0,
    ) -> None:
        self.learner, self.recipe, self.streams = learner, recipe, streams
        self.device, self._readers = device_of(device), readers
        self.place = Place()
        self._optimizer: torch.optim.AdamW | None = None
        self._scaler = torch.amp.GradScaler(self.device.type, enabled=recipe.precision == "float16")
        self._order: Mapping[str, Any] = streams.order.bit_generator.state
        self._augmentation = Augmentation()
        learner.to(self.device)
        learner.augment = self._augmented
        if compiled:
            learner.actor.compile()

    def data(self, windows: Windows) -> TaskData:
        """What hooks are given of a task's windows."""
        return TaskData(windows, self._read)

    def task(self, data: TaskData) -> Iterator[Moment]:
        """Train the present task to its end, or go on with it; a moment between any two steps.

        When the iterator ends, ``place`` is before the next task. Leave it at any moment: ``state`` then says how to
        go on.

        Raises:
            Diverged: a loss or gradient that is not finite, or weights after a pass that no network bears.
            PolicyError: a loss that is no scalar.
        """
        k, begun = self.place.task, self.place.phase
        if begun is None:
            self._hook(self.learner.begin_task, k, data)
        for number, phase in enumerate(self.learner.phases(k)):
            if begun is not None and number < begun:
                continue
            if number != begun:
                self._hook(self.learner.begin_phase, k, phase, data)
                self.place = Place(k, number)
                self._optimise(phase)
            yield from self._phase(phase, data)
            self._hook(self.learner.end_phase, k, phase, data)
        self._hook(self.learner.end_task, k, data)
        self._optimizer, self.place = None, Place(k + 1)

    def steps(self, phase: Phase, data: TaskData) -> tuple[int, int]:
        """Batches of a pass, and steps of a whole phase."""
        windows: Source = self.learner.source(phase) if phase.replay else data.windows
        number = -(-len(windows) // (phase.batch_size or self.recipe.batch))
        epochs = self.recipe.epochs if phase.epochs is None else phase.epochs
        return number, epochs * -(-number // self.recipe.accumulate)

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Everything but the learner that says how to go on: tensors, and plain values for JSON."""
        plain = {"place": asdict(self.place), "order": self._order, "scaler": self._scaler.state_dict()}
        return self.streams.tensors() | self._optimizer_tensors(), plain

    def restore(self, tensors: Mapping[str, Tensor], plain: Mapping[str, Any]) -> None:
        """Take back what ``state`` gave; the learner must have been rebuilt and loaded before.

        Raises:
            CorruptRun: the tensors do not fit the learner, or it has no such phase.
        """
        self.place = Place.of(plain["place"])
        self._order = plain["order"]
        self.streams.load(tensors, self._order)
        if plain["scaler"]:
            self._scaler.load_state_dict(plain["scaler"])
        if self.place.phase is not None:
            phases = self.learner.phases(self.place.task)
            if self.place.phase >= len(phases):
                raise CorruptRun(f"{self.learner.name} has no phase {self.place.phase} in task {self.place.task}")
            self._optimise(phases[self.place.phase])
            self._load_optimizer(tensors)

    def _hook(self, hook: Callable[..., None], *arguments: Any) -> None:
        with seeded(self.streams.layers, self.device):
            hook(*arguments)
        self.learner.to(self.device)

    def _read(self, source: Source, generator: np.random.Generator | None) -> Iterator[Batch]:
        for batch in batches(source, self.recipe.batch, generator, self._readers):
            yield batch.to(self.device)

    def _augmented(self, batch: Batch) -> Batch:
        pictures = self.learner.actor.profile.pictures
        if pictures is None:
            return batch
        return replace(
            batch, observations=self._augmentation(batch.observations, pictures.cameras, self.streams.augment)
        )

    def _optimise(self, phase: Phase) -> None:
        """A new optimiser for a phase; gradients are wanted for what it is given and for nothing else."""
        trained = list(self.learner.trainable(phase))
        if not trained:
            raise InvalidOption(f"{self.learner.name}: phase {phase.name!r} trains nothing")
        self.learner.requires_grad_(False)
        for parameter in trained:
            parameter.requires_grad_(True)
        decay = self.recipe.weight_decay if phase.weight_decay is None else phase.weight_decay
        self._optimizer = torch.optim.AdamW(trained, lr=self.recipe.lr, betas=BETAS, weight_decay=decay)

    def _phase(self, phase: Phase, data: TaskData) -> Iterator[Moment]:
        windows: Source = self.learner.source(phase) if phase.replay else data.windows
        number, steps = self.steps(phase, data)
        epochs = self.recipe.epochs if phase.epochs is None else phase.epochs
        each = -(-number // self.recipe.accumulate)
        while True:
            if self.place.batch == 0:
                self._check_weights(phase, self.place.epoch * each)
                yield Moment(self.place, phase, self.place.epoch * each, steps, True, self.place.epoch >= epochs, {})
            if self.place.epoch >= epochs:
                return
            if self.place.batch >= number:
                raise CorruptRun(
                    f"a pass has {number} batches, and {self.place.batch} are said to be over; remove "
                    "the run's folder `now`, and the same command trains again from the beginning"
                )
            self.learner.train()
            for count, group in self._groups(phase, windows):
                step = self.place.epoch * each + self.place.batch // self.recipe.accumulate
                numbers = self._step(phase, group, step, steps)
                self._advance(count, number)
                yield Moment(self.place, phase, step + 1, steps, False, False, numbers)

    def _check_weights(self, phase: Phase, step: int) -> None:
        """What was trained so far, before anybody acts by it or keeps it."""
        assert self._optimizer is not None
        for weights in self._optimizer.param_groups[0]["params"]:
            largest = float(weights.detach().abs().max()) if weights.numel() else 0.0
            if not largest <= LARGEST:
                raise Diverged(
                    f"{self._where(phase, step)}: a weight has the magnitude {largest:g}; try a smaller learning "
                    "rate in another folder, and look at the demonstrations"
                )

    def _groups(self, phase: Phase, windows: Source) -> Iterator[tuple[int, list[Any]]]:
        """The batches that make each step of the rest of the present pass, and their number."""
        self.streams.order.bit_generator.state = self._order
        size = phase.batch_size or self.recipe.batch
        readers, pinned = 0 if phase.replay else self._readers, self.device.type == "cuda" and not phase.replay
        read = batches(windows, size, self.streams.order, readers, self.place.batch, pinned)
        while group := list(islice(read, self.recipe.accumulate)):
            yield len(group), group

    def _advance(self, count: int, number: int) -> None:
        batch = self.place.batch + count
        if batch >= number:
            self.place = replace(self.place, epoch=self.place.epoch + 1, batch=0)
            self._order = self.streams.order.bit_generator.state
        else:
            self.place = replace(self.place, batch=batch)

    def _step(self, phase: Phase, group: Sequence[Any], step: int, steps: int) -> dict[str, float]:
        optimizer = self._optimizer
        assert optimizer is not None
        lr, beta = rate(self.recipe, step, steps, phase.lr, phase.constant)
        for one in optimizer.param_groups:
            one["lr"], one["betas"] = lr, (beta, BETAS[1])
        optimizer.zero_grad(set_to_none=True)
        where = functools.partial(self._where, phase, step)
        with seeded(self.streams.layers, self.device):
            loss = sum(self._backward(phase, batch, len(group), where) for batch in group)
        trained = optimizer.param_groups[0]["params"]
        # The scaler refuses an optimiser none of whose parameters has a gradient.
        scaled = self._scaler.is_enabled() and any(one.grad is not None for one in trained)
        if scaled:
            self._scaler.unscale_(optimizer)
        self.learner.after_backward(phase)
        norm = float(nn.utils.clip_grad_norm_(trained, self.recipe.clip))
        if not np.isfinite(norm) and not scaled:
            raise Diverged(f"{where()}: the gradient's norm is {norm}; {_REMEDY}")
        if scaled:
            self._scaler.step(optimizer)
            self._scaler.update()
        else:
            optimizer.step()
        self.learner.after_step(phase)
        return {"loss": float(loss), "gradient": norm, "rate": lr}

    def _backward(self, phase: Phase, batch: Any, parts: int, where: Callable[[], str]) -> float:
        """Adds a batch's share of the gradient; its share of the loss."""
        if not phase.replay:
            batch = self._augmented(batch.to(self.device, non_blocking=True))
        with self._cast(phase):
            loss = self.learner.loss(batch, phase)
        if not isinstance(loss, Tensor) or loss.numel() != 1:
            shape = f"a tensor of shape {tuple(loss.shape)}" if isinstance(loss, Tensor) else type(loss).__name__
            raise PolicyError(f"{where()}: loss() gave {shape}; it must give a scalar tensor, such as a mean")
        value = float(loss.detach())
        if not np.isfinite(value):
            raise Diverged(f"{where()}: the loss is {value}; {_REMEDY}")
        # A batch may reach nothing that is trained, such as one that is routed to frozen parts.
        if loss.requires_grad:
            share = loss / parts if parts > 1 else loss
            share = self._scaler.scale(share) if self._scaler.is_enabled() else share
            share.backward()  # type: ignore[no-untyped-call,unused-ignore]  # typed in some versions of torch only
        return value / parts

    def _cast(self, phase: Phase) -> contextlib.AbstractContextManager[Any]:
        if self.recipe.precision == "float32" or phase.replay:
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, getattr(torch, self.recipe.precision))

    def _where(self, phase: Phase, step: int) -> str:
        return (
            f"{self.learner.name}, task {self.place.task}, phase {phase.name!r}, epoch {self.place.epoch}, step {step}"
        )

    def _optimizer_tensors(self) -> dict[str, Tensor]:
        if self._optimizer is None:
            return {}
        state = self._optimizer.state_dict()["state"]
        return {f"optimizer.{number}.{key}": value for number, one in state.items() for key, value in one.items()}

    def _load_optimizer(self, tensors: Mapping[str, Tensor]) -> None:
        assert self._optimizer is not None
        whole = self._optimizer.state_dict()
        parameters = self._optimizer.param_groups[0]["params"]
        for name, value in tensors.items():
            if not name.startswith("optimizer."):
                continue
            _, number, key = name.split(".", 2)
            fits = int(number) < len(parameters) and value.shape in ((), parameters[int(number)].shape)
            if not fits:
                raise CorruptRun(f"the optimiser's state does not fit {self.learner.name}: {name} {tuple(value.shape)}")
            whole["state"].setdefault(int(number), {})[key] = value
        self._optimizer.load_state_dict(whole)


_REMEDY = "nothing of this step was kept; try a smaller learning rate, and look at the demonstrations"

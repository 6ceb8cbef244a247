"""Toy demonstrations in memory, and the training loop in its plainest form, as ``learners._base`` states it."""

import copy
import importlib
import json
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from gym_grounding_policies.data.batch import Batch
from gym_grounding_policies.data.loader import batches
from gym_grounding_policies.learners._base import TaskData
from gym_grounding_policies.nets.actor import Actor
from gym_grounding_policies.nets.draws import seeded
from gym_grounding_policies.nets.lora import Lora
from gym_grounding_policies.nets.profiles import PAPER, Head, Pictures, Temporal, TextTower, cpu
from gym_grounding_policies.nets.sites import changed

NAMES = ("seqft", "er", "ewc", "packnet", "tail", "l2m", "iscil", "dmpel")
STEPS = 2
PROFILES = {
    "paper": replace(
        PAPER,
        width=16,
        temporal=Temporal(layers=1, heads=2, hidden=16),
        head=Head(hidden=8),
        pictures=Pictures(resized=12, cropped=8, patch=4, layers=2, heads=2, hidden=16),
        text=TextTower(vocabulary=40, length=8, width=8, layers=2, heads=2, hidden=8, projected=6),
        film_hidden=8,
        history=STEPS,
    ),
    "cpu": cpu(proprio=5, objects=6, sentence=6, width=16, layers=1, chunk=2, executed=1, history=STEPS, dropout=0.1),
}
SMALL = {
    "packnet": {"retrain_epochs": 1},
    "l2m": {"slots": 4, "rank": 2, "alpha": 2},
    "tail": {"rank": 2, "tower_rank": 2, "alpha": 2},
    "iscil": {"rank": 2, "alpha": 2, "bases": 3},
    "dmpel": {"rank": 2, "tower_rank": 2, "alpha": 2, "hidden": 8, "replay_epochs": 2, "replay_batch": 16},
}
"""Settings of small learners."""


def source(seed=0):
    return torch.Generator().manual_seed(seed)


class Toy:
    """Windows in memory."""

    def __init__(self, whole):
        self.whole = whole

    def __len__(self):
        return len(self.whole)

    @property
    def tasks(self):
        return self.whole.tasks.numpy()

    def subset(self, indexes):
        return Toy(self.whole.taken(torch.as_tensor(np.asarray(indexes, np.int64))))

    def batch(self, indexes):
        return self.whole.taken(torch.as_tensor(np.asarray(indexes, np.int64)))


def toy(task=0, count=20, profile="cpu", seed=None, sentence=None, actions=None):
    """Windows of a task: random scenes, one sentence, actions that depend on both and on the task.

    Args:
        seed: of the scenes.
        sentence, actions: seeds; the task's number by default.
    """
    draw = source(1000 + (task if seed is None else seed))
    said = source(2000 + (task if sentence is None else sentence))
    wanted = source(3000 + (task if actions is None else actions))
    chunk = PROFILES[profile].head.chunk
    if profile == "paper":
        pictures = PROFILES[profile].pictures.cameras
        observations = {
            camera: torch.randint(0, 256, (count, STEPS, 3, 8, 8), generator=draw, dtype=torch.uint8)
            for camera in pictures
        }
        observations |= {
            key: torch.randn(count, STEPS, size, generator=draw) for key, size in PROFILES[profile].proprio
        }
        ids = torch.randint(0, 38, (1, 5), generator=said)
        words = {"ids": ids.expand(count, -1), "mask": torch.ones(count, 5).long()}
        state = observations["joint"][..., :5]
    else:
        observations = {
            "proprio": torch.randn(count, STEPS, 5, generator=draw),
            "tokens": torch.randn(count, STEPS, 3, 6, generator=draw),
            "present": torch.ones(count, STEPS, 3, dtype=torch.bool),
        }
        words = {"sentence": torch.randn(1, 6, generator=said).expand(count, -1)}
        state = observations["proprio"]
    target = torch.tanh(state @ torch.randn(5, 7, generator=wanted))
    return Toy(
        Batch(
            observations,
            words,
            target[:, :, None].expand(-1, -1, chunk, -1).contiguous(),
            torch.ones(count, STEPS, chunk),
            torch.full((count,), task, dtype=torch.int64),
        )
    )


def kind(name):
    return importlib.import_module(f"gym_grounding_policies.learners.{name}").LEARNER


def learner(name, profile="cpu", seed=0, cls=None, **settings):
    """A small new learner; its actor's weights are the same for all."""
    cls = cls or kind(name)
    given = SMALL.get(name, {}) | settings
    return cls(Actor.made(PROFILES[profile], source(7)), cls.Settings(**given), source(seed + 50))


@dataclass
class Loop:
    """Calls backward, clips and steps.

    Attributes:
        before, watch: called with (learner, phase, batch) before backward and after each step.
    """

    learner: object
    epochs: int = 2
    size: int = 8
    lr: float = 1e-2
    decay: float = 0.1
    seed: int = 0
    watch: object = None
    before: object = None
    phases: list = field(default_factory=list)

    def __post_init__(self):
        self.layers, self.order = source(self.seed + 100), np.random.default_rng(self.seed + 200)
        self.start = None

    def read(self, windows, generator):
        yield from batches(windows, self.size, generator)

    def data(self, windows):
        return TaskData(windows, self.read)

    def tasks(self, windows, first=0):
        """Trains on each in turn."""
        for k, one in enumerate(windows, first):
            for _ in self.steps(k, one):
                pass
        return self.learner

    def steps(self, k, windows, place=None):
        """Trains on one task and yields (phase number, epoch, batches done) after each step; goes on from a place."""
        learner, data, goes_on = self.learner, self.data(windows), place is not None
        begun, epoch, done = place or (0, 0, 0)
        if not goes_on:
            with seeded(self.layers):
                learner.begin_task(k, data)
        for number, phase in list(enumerate(learner.phases(k)))[begun:]:
            if not goes_on:
                epoch = done = 0
                with seeded(self.layers):
                    learner.begin_phase(k, phase, data)
                self.optimise(phase)
                self.phases.append(phase.name)
            goes_on = False
            while epoch < (self.epochs if phase.epochs is None else phase.epochs):
                self.start = copy.deepcopy(self.order.bit_generator.state)
                for batch in self.batches(phase, windows, done):
                    self.step(batch, phase)
                    done += 1
                    yield number, epoch, done
                epoch, done = epoch + 1, 0
            with seeded(self.layers):
                learner.end_phase(k, phase, data)
        with seeded(self.layers):
            learner.end_task(k, data)

    def batches(self, phase, windows, skip):
        learner = self.learner
        learner.train()
        learned = learner.source(phase) if phase.replay else windows
        return batches(learned, phase.batch_size or self.size, self.order, skip=skip)

    def optimise(self, phase):
        trained = list(self.learner.trainable(phase))
        self.learner.requires_grad_(False)
        for one in trained:
            one.requires_grad_(True)
        decay = self.decay if phase.weight_decay is None else phase.weight_decay
        self.trained = trained
        self.optimizer = torch.optim.AdamW(trained, lr=phase.lr or self.lr, weight_decay=decay)

    def step(self, batch, phase):
        self.optimizer.zero_grad()
        if self.before:
            self.before(self.learner, phase, batch)
        with seeded(self.layers):
            self.loss = self.learner.loss(batch, phase)
            if self.loss.requires_grad:
                self.loss.backward()
        self.learner.after_backward(phase)
        torch.nn.utils.clip_grad_norm_(self.trained, 100)
        self.optimizer.step()
        self.learner.after_step(phase)
        if self.watch:
            self.watch(self.learner, phase, batch)

    def saved(self):
        """What a checkpoint would hold; plain values have been JSON."""
        return copy.deepcopy(
            {
                "structure": json.loads(json.dumps(self.learner.structure())),
                "tensors": self.learner.state_dict(),
                "layers": self.layers.get_state(),
                "generator": self.learner.generator.get_state(),
                "order": self.order.bit_generator.state,
                "start": self.start,
                "optimizer": self.optimizer.state_dict(),
            }
        )

    def restored(self, saved, earlier, place=None, k=0):
        """A loop with a new learner in the state that was saved.

        Args:
            earlier: windows of the tasks that have ended.
            place: of ``steps``, in the middle of task k.
        """
        old = self.learner
        new = type(old)(Actor(old.actor.profile), old.settings, source(99))
        new.rebuild(saved["structure"])
        new.load_state_dict(saved["tensors"])
        new.generator.set_state(saved["generator"])
        loop = Loop(new, self.epochs, self.size, self.lr, self.decay)
        for number, windows in enumerate(earlier):
            new.recall(number, loop.data(windows))
        loop.layers.set_state(saved["layers"])
        loop.order.bit_generator.state = saved["order" if place is None else "start"]
        if place is not None:
            loop.optimise(new.phases(k)[place[0]])
            loop.optimizer.load_state_dict(copy.deepcopy(saved["optimizer"]))
        return loop


def act(learner, windows, tasks=None, steps=STEPS):
    """(numbers of the density, what the route told) of windows, by the protocol of acting."""
    if learner.training:
        learner.eval()
    batch = windows.whole
    observations = {name: one[:, :steps] for name, one in batch.observations.items()}
    asked = batch.tasks if tasks is None else tasks
    with torch.inference_mode():
        route = learner.route(observations, batch.words, asked if learner.task_index_at_test else None)
        with changed(learner.actor, route.change):
            density = learner.actor(observations, batch.words)
    numbers = torch.cat([density.logits.flatten(1), density.means.flatten(1), density.scales.flatten(1)], 1)
    return numbers.clone(), {name: one.clone() for name, one in route.told.items()}


def additions_are_not_zero_at_first(patch):
    """A fault for tests of a start that changes nothing."""
    plain = Lora.__init__

    def made(self, *given, **named):
        plain(self, *given, **named)
        for up in self.B.values():
            up.data += 0.1

    patch.setattr(Lora, "__init__", made)


def weights(module):
    """Copies of all tensors of a module."""
    return {name: one.detach().clone() for name, one in module.state_dict().items()}


def same(one, other):
    """Whether two dictionaries of tensors are equal to the last bit."""
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)

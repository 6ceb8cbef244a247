"""Small lessons, a small network, and a stand-in learner that uses every hook; for the tests of training."""

import json
from dataclasses import dataclass

import numpy as np
import torch
from gym_grounding_policies.data.language import words_of
from gym_grounding_policies.data.tokens import StateInputs
from gym_grounding_policies.data.windows import Settings as WindowSettings
from gym_grounding_policies.data.windows import TaskFile, Windows
from gym_grounding_policies.learners._base import LEARN, Learner, Phase, Route
from gym_grounding_policies.nets.actor import Actor
from gym_grounding_policies.nets.profiles import cpu
from gym_grounding_policies.training.checkpoint import FILE, sealed
from gym_grounding_policies.training.loop import Streams, Training, stream
from gym_grounding_policies.training.recipe import Recipe

from policies import small_files

WORDS = words_of("hashing")
INPUTS = StateInputs()
CUT = WindowSettings(history=2, chunk=3, padding="masked", pairing="before")
RECIPE = Recipe(epochs=2, batch=4, lr=1e-3, weight_decay=0.1)
NAMES = ("put_the_bowl_on_the_plate", "open_the_drawer", "close_it")


def profile(dropout=0.2, **changes):
    """A tiny network with dropout, so that a wrong random state shows."""
    sizes = INPUTS.sizes
    given = {"width": 8, "layers": 1, "chunk": 3, "executed": 2, "history": 2, "dropout": dropout} | changes
    return cpu(sizes["proprio"], sizes["tokens"], WORDS.size, **given)


def files(folder, count=2, lengths=(5, 6)):
    """Demonstration files of tasks, each with demonstrations of these lengths."""
    found = []
    for number in range(count):
        task = small_files.task(NAMES[number], number)
        path = folder / "mini" / f"{task.name}_demo.hdf5"
        if not path.exists():
            small_files.write(path, task, lengths, seed=number)
        found.append(TaskFile(path, task, number))
    return found


def windows(folder, number=0, lengths=(5, 6)):
    """The windows of one task."""
    return Windows([files(folder, number + 1, lengths)[number]], INPUTS, WORDS, CUT)


@dataclass(frozen=True)
class Settings:
    """Of the stand-in."""

    share: float = 0.5
    names: tuple = ()


class Remembered:
    """A source whose batches are tensors, not windows."""

    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def batch(self, indexes):
        return self.rows[torch.as_tensor(np.asarray(indexes))]


class Standin(Learner):
    """Learns beside windows of old tasks, then at another rate, then fits a part of its own to what it stored."""

    name = "standin"
    Settings = Settings

    def __init__(self, actor, settings, generator):
        super().__init__(actor, settings, generator)
        self.extra = torch.nn.ModuleList()
        self.stored = torch.nn.ParameterList()
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))
        self.old, self.calls = [], []

    def begin_task(self, k, data):
        super().begin_task(k, data)
        self.calls.append(("begin_task", k))
        self.extra.append(torch.nn.Linear(3, 3))

    def phases(self, k):
        return (LEARN, Phase("retrain", epochs=1, lr=5e-4, constant=True, weight_decay=0.0), FIT)

    def begin_phase(self, k, phase, data):
        self.calls.append(("begin_phase", phase.name))

    def trainable(self, phase):
        return tuple(self.extra[-1].parameters()) if phase.replay else tuple(self.actor.parameters())

    def source(self, phase):
        return Remembered(torch.cat(list(self.stored)))

    def loss(self, batch, phase):
        assert self.training
        self.calls.append(("loss", phase.name))
        if phase.replay:
            noise = torch.rand(batch.shape, generator=self.generator)
            return (torch.nn.functional.dropout(self.extra[-1](batch), 0.3) - noise).square().mean()
        if self.old:
            source = self.old[int(torch.randint(len(self.old), (), generator=self.generator))]
            batch = batch.joined(source.batch(torch.randint(len(source), (2,), generator=self.generator).numpy()))
        return self.actor.nll(batch)

    def after_backward(self, phase):
        self.calls.append(("after_backward", phase.name))

    def after_step(self, phase):
        self.calls.append(("after_step", phase.name))
        self.steps += 1

    def end_phase(self, k, phase, data):
        self.calls.append(("end_phase", phase.name))
        if phase.name == "retrain":
            actions = data.windows.batch(range(len(data.windows))).actions[:, 0, 0, :3]
            self.stored.append(torch.nn.Parameter(actions.clone(), requires_grad=False))

    def end_task(self, k, data):
        self.calls.append(("end_task", k))
        self.old.append(data.windows)
        torch.rand(3, generator=self.generator)

    def recall(self, k, data):
        self.calls.append(("recall", k))
        self.old.append(data.windows)

    def route(self, observations, words, tasks):
        rows = len(next(iter(observations.values())))
        slots = (words["sentence"][:, 5] > 0).long()
        return Route(None, {"slot": slots, "coefficients.film": torch.full((rows, 2), 0.25), "sure": torch.ones(rows)})

    def structure(self):
        return super().structure() | {"extra": len(self.extra), "stored": [len(one) for one in self.stored]}

    def rebuild(self, structure):
        super().rebuild(structure)
        self.extra = torch.nn.ModuleList(torch.nn.Linear(3, 3) for _ in range(structure["extra"]))
        self.stored = torch.nn.ParameterList(
            torch.nn.Parameter(torch.zeros(rows, 3), requires_grad=False) for rows in structure["stored"]
        )


FIT = Phase("fit", epochs=3, replay=True, lr=1e-2, batch_size=4)
LEARNER = Standin


class Told(Standin):
    """Is told the scene's task when it acts, and says it as its slot."""

    name = "told"
    task_index_at_test = True

    def route(self, observations, words, tasks):
        assert tasks is not None
        return Route(None, {"slot": tasks})


class Halving(Standin):
    """Acts with half of every linear layer's output."""

    name = "halving"

    def route(self, observations, words, tasks):
        return Route(lambda site, x, y: y / 2)


def learner(streams, kind=Standin, dropout=0.2, **settings):
    """A new learner whose first weights come from seed 5."""
    return kind(Actor.made(profile(dropout), stream(5, 9)), kind.Settings(**settings), streams.learner)


def training(seed=0, kind=Standin, recipe=RECIPE, dropout=0.2):
    """A new training run."""
    streams = Streams(seed)
    return Training(learner(streams, kind, dropout), recipe, streams)


def everything(one):
    """All tensors of a training run: learner, optimiser, streams."""
    tensors, plain = one.state()
    return {**{name: value.clone() for name, value in one.learner.state_dict().items()}, **tensors}, plain


def edit(folder, change):
    """Changes a checkpoint's JSON in place, and its hash with it."""
    path = folder / FILE
    text = json.loads(path.read_text())
    change(text)
    path.write_text(json.dumps(sealed(text)))


def equal(one, other):
    """Whether two mappings of tensors are the same to the last bit."""
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)

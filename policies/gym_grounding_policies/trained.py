"""A learner's checkpoint as a policy of the evaluation protocol."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gym_grounding.errors import InvalidOption, PolicyError
from gym_grounding.policy import Observations
from gym_grounding_policies.devices import device_of
from gym_grounding_policies.learners._base import Learner
from gym_grounding_policies.nets.heads import Density
from gym_grounding_policies.nets.sites import changed
from gym_grounding_policies.training.build import load_learner, rebuilding
from gym_grounding_policies.training.checkpoint import Checkpoint, exists, read
from gym_grounding_policies.training.kits import ACTS
from gym_grounding_policies.training.senses import Senses
from gym_grounding_policies.training.versions import code_of

FIXED = (
    "an l1 head has one scale for all numbers that is set, not learned, so its log density is an absolute error in a "
    "unit of our choice"
)
"""Why a policy with such a head has no ``log_prob``."""
CONTROL = "control"
"""Key of what is withheld from a policy, ``mute`` or ``blind``, among its ``versions``: a run's header has it."""
Row = Mapping[str, Tensor]
"""Inputs of one episode: name -> (h, ...)."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a learner said about the routes of an episode.

    Attributes:
        looks: how many there were.
        sums: name -> sum of the numbers over the looks.
        counts: name of a whole number, such as ``slot`` -> how often it had each value.
        last: name of a whole number -> its last value.
        changes: name of a whole number -> how often it changed from one look to the next.
    """

    looks: int = 0
    sums: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    counts: Mapping[str, Counter[int]] = field(default_factory=dict)
    last: Mapping[str, int] = field(default_factory=dict)
    changes: Mapping[str, int] = field(default_factory=dict)

    def after(self, told: Mapping[str, Tensor]) -> Told:
        """With one look more.

        Args:
            told: name -> (...), of this episode.
        """
        whole = {name: int(value) for name, value in told.items() if not value.is_floating_point() and not value.dim()}
        others = {name: value.double().cpu().numpy() for name, value in told.items() if name not in whole}
        return Told(
            self.looks + 1,
            {name: self.sums.get(name, 0.0) + value for name, value in others.items()},
            {name: self.counts.get(name, Counter()) + Counter([value]) for name, value in whole.items()},
            whole,
            {name: self.changes.get(name, 0) + (self.last.get(name, value) != value) for name, value in whole.items()},
        )

    def notes(self) -> dict[str, Any]:
        """Name -> the most frequent whole number (the smallest among equals), or the mean over the looks."""
        often = {name: min(found, key=lambda value: (-found[value], value)) for name, found in self.counts.items()}
        changes = {f"{name}_changes": count for name, count in self.changes.items()}
        means = {name: (total / self.looks).tolist() for name, total in self.sums.items()}
        return {**often, **changes, **means}


@dataclass(frozen=True, slots=True)
class Episode:
    """One row of a batch.

    Attributes:
        words: of its instruction, name -> (1, ...).
        task: number of the scene's own task in the training order; None where the learner is not told.
        seed: of its draws.
        seen: the last observations, the present one last, at most the history.
        waiting: actions of the chunk that are still to be carried out, (c, n).
        told: about its routes.
    """

    words: Row
    task: int | None
    seed: int
    seen: Row | None = None
    waiting: NDArray[np.float32] | None = None
    told: Told = Told()


State = tuple[Episode, ...]


class Trained:
    """What a learner had learned by the end of a stage.

    A chunk of actions is carried out in part before the next look; in between, observations are left alone, unless the
    policy looks back over several steps. Each episode goes through the network by itself, so that it is the same to
    the last bit in any batch. A window of several steps is encoded anew at each look, under the present route, as in
    training; the public code keeps each step as it was encoded in its time.

    A policy that was trained mute is given the empty instruction, whatever the sentence.

    Args:
        run: directory of ``gym-grounding-policies train``, or of a single checkpoint; ``{seed}`` in it is replaced.
        stage: position in the training order; None for the last stage that is there.
        seed: training seed; must be the run's.
        checkpoint: a folder in ``run`` instead of the stage's.
        act: ``sample`` from the density, or its ``mean``; None for the profile's own choice.
        clip: folder of CLIP's tokenizer, where it has moved.
        device: where to compute.

    Raises:
        CorruptRun, WrongVersion: no checkpoint, or one that cannot be read.
        PolicyError: a checkpoint of another seed or stage.
        InvalidOption: an unknown way to act, or a device that is not here.

    Attributes:
        observation: the kind that the checkpoint was trained on. The class says ``state``, as in the profile ``cpu``,
            for whoever asks before a checkpoint is read; a policy of pictures is evaluated with ``--observation
            pixels``.
        no_log_prob: why it has no ``log_prob(observations, state, actions)``; empty where it has.
    """

    observation = "state"

    def __init__(
        self,
        run: str,
        stage: int | None = None,
        seed: int | None = None,
        checkpoint: str | None = None,
        act: str | None = None,
        clip: str = "",
        device: str = "cpu",
    ) -> None:
        place = checkpoint_of(Path(run.replace("{seed}", str(seed))), stage, checkpoint)
        found = read(place)
        about = found.about
        _check(place, found, stage if checkpoint is None else None, seed)
        self._device = device_of(device)
        self._learner: Learner = load_learner(found, place, torch.Generator()).to(self._device).eval()
        self._learner.requires_grad_(False)
        with rebuilding(place):
            senses = Senses.from_dict(about["senses"])
            self._numbers = {task: number for number, task in enumerate(about["order"])}
            self._act = str(about["act"]) if act is None else act
        self.observation = senses.observation
        self.needs_task_identity = bool(self._learner.task_index_at_test)
        self._inputs, self._words = senses.make_inputs(), senses.make_words(clip)
        if self._act not in ACTS:
            raise InvalidOption(f"act is {self._act!r}; choose {' or '.join(ACTS)}")
        self._profile = self._learner.actor.profile
        self.no_log_prob = FIXED if self._profile.head.kind == "l1" else ""
        if not self.no_log_prob:
            self.log_prob = self._log_prob
        self.versions = code_of(str(about["method"])) | ({CONTROL: senses.control} if senses.control else {})

    def start(self, instructions: Sequence[str], seed: Sequence[int], tasks: Sequence[str] | None = None) -> State:
        """New episodes.

        Raises:
            PolicyError: a task is needed and not given, or is not of the training order.
        """
        if self.needs_task_identity and tasks is None:
            raise PolicyError(f"{self._learner.name} needs the task of each scene: tasks=")
        told: list[int | None] = [None] * len(seed)
        if self.needs_task_identity and tasks is not None:
            told = [self._number(task) for task in tasks]
        return tuple(
            Episode(self._sentence(text), task, int(one))
            for text, task, one in zip(instructions, told, seed, strict=True)
        )

    def act(self, observations: Observations, state: State) -> tuple[NDArray[np.floating[Any]], State]:
        """Actions (B, n), clipped to [-1, 1], and the next state."""
        looking = [one.waiting is None or not len(one.waiting) for one in state]
        seen: list[Row | None] = [one.seen for one in state]
        if any(looking) or self._profile.history > 1:
            seen = list(self._seen(observations, state))
        after = []
        for one, look, rows in zip(state, looking, seen, strict=True):
            one = replace(one, seen=rows)
            after.append(self._looked(one) if look else one)
        actions = np.stack([_waiting(one)[0] for one in after])
        return actions, tuple(replace(one, waiting=_waiting(one)[1:]) for one in after)

    def mean_action(self, observations: Observations, state: State) -> NDArray[np.floating[Any]]:
        """The mean (B, n) of the first action of a chunk that a look at these observations gives."""
        rows = self._seen(observations, state)
        found = [self._density(replace(one, seen=seen))[0].mean[0, 0, 0] for one, seen in zip(state, rows, strict=True)]
        actions: NDArray[np.floating[Any]] = torch.stack(found).cpu().numpy()
        return actions.clip(-1.0, 1.0)

    def _log_prob(self, observations: Observations, state: State, actions: NDArray[Any]) -> NDArray[np.float64]:
        """Log density (B,) of given actions (B, n) as the first of a chunk."""
        rows, found = self._seen(observations, state), []
        for one, seen, action in zip(state, rows, np.asarray(actions, np.float32), strict=True):
            density, _ = self._density(replace(one, seen=seen))
            chunk = torch.from_numpy(action).to(self._device).expand(1, 1, self._profile.head.chunk, -1)
            found.append(float(density.log_prob(chunk)[0, 0, 0]))
        return np.array(found, np.float64)

    def remarks(self, state: State) -> list[str]:
        """What each episode is at, in words."""
        return [_remark(one) for one in state]

    def notes(self, state: State) -> list[dict[str, Any]]:
        """How each episode went through the network: see ``Told.notes``."""
        return [one.told.notes() for one in state]

    def _number(self, task: str) -> int:
        if task not in self._numbers:
            raise PolicyError(f"{self._learner.name} was never trained on {task}; it knows {', '.join(self._numbers)}")
        return self._numbers[task]

    def _sentence(self, text: str) -> Row:
        # An empty instruction is a condition of the benchmark.
        said = self._words([text]) if any(one.isalnum() for one in text) else self._words.blank(1)
        return {name: value.to(self._device) for name, value in said.items()}

    def _seen(self, observations: Observations, state: State) -> list[Row]:
        """The last observations of each episode, the present one included."""
        inputs = self._inputs
        rows = {key: observations[key] for key in inputs.keys(observations.keys())}
        rows |= {key: observations[key] for key in inputs.pictures}
        now = {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in inputs(rows).items()}
        found: list[Row] = []
        for number, one in enumerate(state):
            new = {name: value[number : number + 1] for name, value in now.items()}
            if one.seen is not None:
                new = {
                    name: torch.cat((one.seen[name], value))[-self._profile.history :] for name, value in new.items()
                }
            found.append(new)
        return found

    def _looked(self, one: Episode) -> Episode:
        density, told = self._density(one)
        if self._act == "mean":
            chunk = density.mean
        else:
            # A stream for each look, so that acting twice from one state gives one action.
            entropy = np.random.SeedSequence([one.seed, one.told.looks]).generate_state(1, np.uint64)
            chunk = density.sample([torch.Generator().manual_seed(int(entropy[0] >> np.uint64(1)))])
        actions = chunk[0, 0, : self._profile.executed].cpu().numpy().clip(-1.0, 1.0)
        return replace(one, waiting=actions, told=one.told.after(told))

    def _density(self, one: Episode) -> tuple[Density, dict[str, Tensor]]:
        """The density of the present step's chunk, and what was told about its route."""
        assert one.seen is not None
        observations = {name: value[None].to(self._device) for name, value in one.seen.items()}
        task = None if one.task is None else torch.tensor([one.task], device=self._device)
        actor = self._learner.actor
        with torch.inference_mode():
            route = self._learner.route(observations, one.words, task)
            with changed(actor, route.change):
                density: Density = actor(observations, one.words).last()
        return density, {name: value[0] for name, value in route.told.items()}


def checkpoint_of(run: Path, stage: int | None, name: str | None = None) -> Path:
    """Where a run keeps what it had learned by the end of a stage; a folder that is a checkpoint itself is taken.

    Raises:
        PolicyError: the run has no stage yet.
    """
    if name is not None:
        return run / name
    if exists(run):
        return run
    if stage is not None:
        return run / stage_name(stage)
    stages = sorted(path for path in run.glob("stage-*") if exists(path))
    if not stages:
        raise PolicyError(
            f"{run}: holds no checkpoint of a stage; train first: gym-grounding-policies train --out {run}"
        )
    return stages[-1]


def stage_name(stage: int) -> str:
    """Of a stage's folder in a run."""
    return f"stage-{stage:02d}"


def _check(place: Path, found: Checkpoint, stage: int | None, seed: int | None) -> None:
    about = found.about
    if seed is not None and about.get("kind") == "stage" and seed != about["seed"]:
        raise PolicyError(
            f"{place}: was trained with seed {about['seed']}, not {seed}; give --seeds {about['seed']}, or "
            "run=FOLDER-{seed} for one folder for each seed"
        )
    if stage is not None and about.get("kind") == "stage" and stage != about["stage"]:
        raise PolicyError(f"{place}: is the checkpoint of stage {about['stage']}, not {stage}")


def _waiting(one: Episode) -> NDArray[np.float32]:
    assert one.waiting is not None
    return one.waiting


def _remark(one: Episode) -> str:
    left = 0 if one.waiting is None else len(one.waiting)
    route = ", ".join(f"{name} {value}" for name, value in one.told.last.items())
    return f"{f'{route}; ' if route else ''}look {one.told.looks}, {left} actions to go"

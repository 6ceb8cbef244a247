"""One policy, some cells, one record each: the loop that every number comes from.

Episodes of a batch run in lockstep and share each call of the policy. The number of rows never changes while a batch
lives, since a policy's state is opaque: an episode that has ended keeps its row, with its last observation, and its
actions are dropped. So a policy whose rows are independent acts alike in any batch.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import math
import time
import traceback
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gym_grounding import conditions, registration
from gym_grounding.errors import (
    InvalidOption,
    MissingRenderer,
    MissingSource,
    PolicyError,
    RegistryError,
    SimulatorError,
    UnknownName,
    VariantMismatch,
    WrongVersion,
)
from gym_grounding.goals import GoalTracker
from gym_grounding.manifest import Manifest
from gym_grounding.pictures import Picture, Reading, drawn
from gym_grounding.plan import Plan, cell_id, episode_seed
from gym_grounding.policy import Policy, PolicySource, State, actions_of, begin, blamed, load_policy, notes_of
from gym_grounding.records import MOTION_THRESHOLDS, Cell, EpisodeRecord, ErrorRecord
from gym_grounding.types import Variant
from gym_grounding.wrappers import INSTRUCTION_KEY, Instruction, instruction_text

__all__ = ["Outcome", "PolicySource", "Watch", "error_record", "load_policy", "run_cells", "run_unit", "units"]

Outcome = EpisodeRecord | ErrorRecord

MOVING_COMPONENTS = 6
"""Action components that move the hand; the rest is the gripper."""

# They would meet every cell alike, so they end the run instead of filling it with errors.
_STOPPING = (
    InvalidOption,
    MissingRenderer,
    MissingSource,
    RegistryError,
    UnknownName,
    VariantMismatch,
    WrongVersion,
)


class Watch:
    """Is told what the loop does; this one does not care. Workers use another, to see which call hangs."""

    def running(self, cells: Sequence[Cell]) -> None:
        """The episodes of these cells are in progress from now on, and no others."""

    @contextlib.contextmanager
    def policy_call(self) -> Iterator[None]:
        """Wraps every call of the policy."""
        yield

    @contextlib.contextmanager
    def drawing(self) -> Iterator[None]:
        """Wraps what is drawn for the policy in the middle of its call."""
        yield


def units(cells: Sequence[Cell], plan: Plan, manifest: Manifest) -> tuple[tuple[Cell, ...], ...]:
    """The cells in batches of at most ``plan.batch``; the cells of a batch share stage, seed and scene.

    A function of the plan's cells alone, so that any number of workers, and a continued run, form the same batches.
    """
    groups: dict[tuple[int, int, str], list[Cell]] = {}
    for cell in cells:
        scene = manifest.task(manifest.variant(cell.variant).task).scene
        groups.setdefault((cell.stage, cell.seed, scene), []).append(cell)
    return tuple(
        tuple(group[start : start + plan.batch])
        for group in groups.values()
        for start in range(0, len(group), plan.batch)
    )


def run_cells(policy: Policy, cells: Sequence[Cell], plan: Plan, manifest: Manifest) -> Iterator[Outcome]:
    """Run cells with one policy, batch after batch; a record for each, as soon as it is known.

    Args:
        policy: made for the stage and seed of the cells.
        cells: cells of the plan.

    Raises:
        VariantMismatch: an instruction is not the registered one.
        MissingSource, MissingRenderer, WrongVersion, RegistryError, InvalidOption: no episode can be run as planned.
    """
    for unit in units(cells, plan, manifest):
        yield from run_unit(policy, unit, plan, manifest)


def run_unit(
    policy: Policy, cells: Sequence[Cell], plan: Plan, manifest: Manifest, watch: Watch | None = None
) -> Iterator[Outcome]:
    """Run the cells of one batch in lockstep; a record for each, as soon as it is known.

    A policy that fails for a whole batch gets each remaining cell again by itself, so that only those episodes are lost
    that it cannot play. So does one whose pictures could not be drawn.
    """
    watch = watch or Watch()
    watch.running(cells)
    left = dict.fromkeys(cells)
    try:
        with contextlib.closing(_play(policy, cells, plan, manifest, watch)) as outcomes:
            for outcome in outcomes:
                del left[outcome.cell]
                yield outcome
    except (PolicyError, _Undrawn) as error:
        if len(cells) == 1:
            kind, reason = ("simulator", error.reason) if isinstance(error, _Undrawn) else ("policy", error)
            yield error_record(cells[0], kind, reason)
            return
        for cell in left:
            yield from run_unit(policy, [cell], plan, manifest, watch)


def error_record(cell: Cell, kind: str, error: BaseException) -> ErrorRecord:
    """The record of an episode that ``error`` ended; its message is one line."""
    message = " ".join(f"{type(error).__name__}: {error}".split())
    text = "".join(traceback.format_exception(error))
    message, text = (part.encode("utf-8", "backslashreplace").decode() for part in (message, text))
    return ErrorRecord(**dataclasses.asdict(cell), kind=kind, message=message, traceback=text)


def _play(policy: Policy, cells: Sequence[Cell], plan: Plan, manifest: Manifest, watch: Watch) -> Generator[Outcome]:
    told = bool(getattr(policy, "needs_task_identity", False))
    rows = [_Episode(cell, plan, manifest, told, alone=len(cells) == 1) for cell in cells]
    try:
        for row in rows:
            if failure := row.begin():
                yield failure
        rows = [row for row in rows if not row.over]
        state = _start(policy, rows, watch) if rows else None
        while any(not row.over for row in rows):
            actions, state = _act(policy, rows, state, watch)
            for number, (row, action) in enumerate(zip(rows, actions, strict=True)):
                if not row.over and (outcome := row.advance(action)):
                    yield _noted(outcome, policy, state, number, watch)
    finally:
        for row in rows:
            row.close()


def _noted(outcome: Outcome, policy: Policy, state: State, row: int, watch: Watch) -> Outcome:
    """The outcome with what the policy notes of it."""
    if isinstance(outcome, ErrorRecord):
        return outcome
    with blamed("notes", cell_id(outcome.cell)), watch.policy_call():
        return dataclasses.replace(outcome, notes=notes_of(policy, state, row))


def _start(policy: Policy, rows: Sequence[_Episode], watch: Watch) -> State:
    variants = [row.variant for row in rows]
    with blamed("start", _places(rows)), watch.policy_call():
        return begin(policy, [v.instruction for v in variants], [row.seed for row in rows], [v.task for v in variants])


def _act(policy: Policy, rows: Sequence[_Episode], state: State, watch: Watch) -> tuple[NDArray[Any], State]:
    """Actions of shape (B, n), not yet checked for NaN, and the next state."""
    seen = _Seen([row.observation for row in rows], watch)
    try:
        with blamed("act", _places(rows)), watch.policy_call():
            return actions_of(policy, seen.observations(), state, (len(rows), *rows[0].action_space.shape))
    except PolicyError:
        seen.check()
        raise


class _Undrawn(Exception):
    """Pictures could not be drawn; not the policy's fault."""

    def __init__(self, reason: Exception) -> None:
        super().__init__(str(reason))
        self.reason = reason


class _Seen:
    """What a policy is shown: the observations of a batch, whose pictures are drawn when it reads them."""

    def __init__(self, rows: Sequence[Mapping[str, Any]], watch: Watch) -> None:
        self._rows, self._watch = rows, watch
        self._failure: Exception | None = None

    def observations(self) -> Mapping[str, NDArray[Any]]:
        """Key -> stacked arrays; a plain dict where nothing waits to be drawn."""
        first = self._rows[0]
        if not any(isinstance(value, Picture) for value in first.values()):
            return {key: self._stacked(key) for key in first}
        return Reading({key: functools.partial(self._stacked, key) for key in first})

    def check(self) -> None:
        """Raises what drawing raised, if anything."""
        if isinstance(self._failure, _STOPPING):
            raise self._failure
        if self._failure is not None:
            raise _Undrawn(self._failure)

    def _stacked(self, key: str) -> NDArray[Any]:
        if not isinstance(self._rows[0][key], Picture):
            return np.stack([row[key] for row in self._rows])
        try:
            with self._watch.drawing():
                return np.stack([np.asarray(row[key]) for row in self._rows])
        except Exception as error:
            self._failure = error
            raise


def _places(rows: Sequence[_Episode]) -> str:
    return ", ".join(f"{cell_id(row.cell)} at step {row.steps}" for row in rows)


class _Episode:
    """One row of a batch, from opening its environment to its record."""

    def __init__(self, cell: Cell, plan: Plan, manifest: Manifest, told: bool, alone: bool) -> None:
        self.cell = cell
        self._alone = alone
        self.variant = manifest.variant(cell.variant)
        self.seed = episode_seed(cell)
        self.steps = 0
        self.over = False
        self.observation: Mapping[str, NDArray[Any]] = {}
        self._told = told
        self._plan, self._registry = plan, manifest.sha256
        self._motion: dict[str, int] = {}
        self._displacement = self._norms = self._began = 0.0
        self._env: Instruction | None = None

    @property
    def env(self) -> Instruction:
        """The variant's environment; opened at first use."""
        if self._env is None:
            settings = dataclasses.asdict(self._plan.settings)
            self._env = registration.make(
                self.variant.id,
                self._plan.registry,
                horizon=self._plan.horizon,
                stop=self._plan.stop,
                lazy=True,
                **settings,
            )
        return self._env

    @property
    def action_space(self) -> Any:
        """The environment's box of actions."""
        return self.env.action_space

    def begin(self) -> Outcome | None:
        """Reset the environment; an error record if the simulator fails."""

        def reset() -> None:
            self._began = time.perf_counter()
            if self.env.get_wrapper_attr("manifest").sha256 != self._registry:
                raise VariantMismatch(
                    f"{self._plan.registry or 'the registry'} was edited while the run went on; start a new run"
                )
            self.observation, info = self.env.reset(seed=self.seed, options={"init_state": self.cell.init_state})
            _check_instruction(self.variant, info, self.observation)

        return self._guarded(reset)

    def advance(self, action: NDArray[Any]) -> Outcome | None:
        """Take one step; the record if the episode is over."""
        if not np.isfinite(action).all():
            index = int(np.flatnonzero(~np.isfinite(action))[0])
            return self._end_with(
                "policy",
                PolicyError(
                    f"act returned {action[index]} at index {index} of {cell_id(self.cell)}, step {self.steps + 1}"
                ),
            )
        return self._guarded(lambda: self._step(action))

    def close(self) -> None:
        """Give the environment back; safe to call twice."""
        env, self._env = self._env, None
        if env is not None:
            env.close()

    def _step(self, action: NDArray[Any]) -> EpisodeRecord | None:
        clipped = executed(action, self.action_space)
        self.observation, _, terminated, truncated, info = self.env.step(clipped)
        self.steps += 1
        self._norms += float(np.linalg.norm(clipped[:MOVING_COMPONENTS]))
        self._measure(self.env.get_wrapper_attr("scene").displacement())
        if not (terminated or truncated):
            return None
        record = self._record("terminated" if terminated else "truncated", info)
        self.over = True
        self._keep_pictures()
        self.close()
        return record

    def _measure(self, distance: float) -> None:
        if not math.isfinite(distance):
            raise SimulatorError(f"the hand is at distance {distance} from its start; the simulation has diverged")
        self._displacement = max(self._displacement, float(distance))
        for threshold in MOTION_THRESHOLDS:
            if distance >= threshold:
                self._motion.setdefault(str(threshold), self.steps)

    def _record(self, ended: str, info: Mapping[str, Any]) -> EpisodeRecord:
        variant = self.variant
        tracker: GoalTracker = self.env.get_wrapper_attr("tracker")
        scoring = conditions.scored_by(variant)
        return EpisodeRecord(
            **dataclasses.asdict(self.cell),
            task=variant.task,
            condition=variant.condition,
            slot=variant.slot,
            tier=variant.tier,
            kind=variant.kind,
            judged=variant.judged,
            instruction=variant.instruction,
            instruction_sha256=_sha256(variant.instruction),
            episode_seed=self.seed,
            steps=self.steps,
            ended=ended,
            success=None if scoring is None or scoring in tracker.void else bool(info["is_success"]),
            first_held=dict(tracker.first_held),
            held_at_end=tuple(label for label in tracker.goals if label in tracker.held),
            void=tuple(label for label in tracker.goals if label in tracker.void),
            motion_steps=dict(self._motion),
            displacement=self._displacement,
            action_mean_norm=self._norms / self.steps,
            task_identity=self._told,
            seconds=time.perf_counter() - self._began,
        )

    def _guarded(self, call: Callable[[], EpisodeRecord | None]) -> Outcome | None:
        """What ``call`` returns; an error record if the simulator fails."""
        try:
            return call()
        except _STOPPING:
            raise
        except Exception as error:
            return self._end_with("simulator", error)

    def _keep_pictures(self) -> None:
        """Draw the last pictures while the scene is open: the rest of the batch goes on beside them."""
        if not self._alone:
            self.observation = drawn(self.observation)

    def _end_with(self, kind: str, error: Exception) -> ErrorRecord:
        self.over = True
        with contextlib.suppress(Exception):  # a broken simulator may not close; what broke it is what to report
            self._keep_pictures()
        with contextlib.suppress(Exception):
            self.close()
        return error_record(self.cell, kind, error)


def executed(action: NDArray[Any], space: Any) -> NDArray[Any]:
    """What of an action is carried out: clipped to the space's bounds, in its type."""
    return np.clip(action, space.low, space.high).astype(space.dtype)  # type: ignore[no-any-return]


def _check_instruction(variant: Variant, info: Mapping[str, Any], observation: Mapping[str, NDArray[Any]]) -> None:
    texts = {
        "the policy's argument": variant.instruction,
        "info": info[INSTRUCTION_KEY],
        "the observation": instruction_text(observation[INSTRUCTION_KEY]),
    }
    for place, text in texts.items():
        if _sha256(text) != variant.instruction_sha256:
            raise VariantMismatch(
                f"{variant.id}: {place} says {text!r}, the registry {variant.instruction!r}; the run is stopped"
            )


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

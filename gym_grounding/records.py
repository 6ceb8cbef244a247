"""What a run leaves behind: header, episodes, errors, probes. Plain data, JSON in and out.

Records repeat task, condition, slot and tier although the registry has them: a run can be scored alone, years later.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

SCHEMA = 1
MOTION_THRESHOLDS = (0.01, 0.02, 0.05, 0.10)
"""Distances of the hand from its start [m] whose first crossing each episode records."""


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """The unit of work and of resuming.

    Attributes:
        stage: 0-based position in the training order after which the policy is evaluated.
        variant: variant id.
        init_state: index of the stored initial state.
        seed: training seed of the policy; also part of the episode's own seed.
    """

    stage: int
    variant: str
    init_state: int
    seed: int


@dataclass(frozen=True, slots=True)
class EpisodeRecord:
    """One finished episode.

    Goals are labelled ``original``, ``target`` (the variant's own, where it has one) or, for the other tasks of the
    scene whose goals differ from both, by task id. Steps count policy actions from 1; settling is not counted.

    Attributes:
        stage, variant, init_state, seed: the cell.
        task, condition, slot, tier, kind, judged: of the variant (see ``types.Variant``).
        instruction: what the policy received.
        instruction_sha256: its hash, compared with the registry's before the episode.
        episode_seed: what ``Policy.start`` got.
        steps: policy steps taken.
        ended: ``terminated`` (a goal stopped it) or ``truncated`` (horizon).
        success: by the goal that scores the variant; None for variants that nothing scores and for a void goal.
        first_held: label -> first step at which the goal held; absent when never or void.
        held_at_end: labels of the goals that held after the last step.
        void: labels of goals that already held right after settling; they never count.
        motion_steps: threshold [m] as text -> first step at which the hand was that far from its start.
        displacement: largest distance of the hand from its start [m].
        action_mean_norm: mean Euclidean norm of the first six action components after clipping.
        task_identity: whether the policy was told the task.
        seconds: wall time of the episode; never used for a decision.
        notes: what the policy wrote down of the episode, name -> number or list of numbers; never scored.
    """

    stage: int
    variant: str
    init_state: int
    seed: int
    task: str
    condition: str
    slot: str | None
    tier: str | None
    kind: str
    judged: str
    instruction: str
    instruction_sha256: str
    episode_seed: int
    steps: int
    ended: str
    success: bool | None
    first_held: Mapping[str, int]
    held_at_end: tuple[str, ...]
    void: tuple[str, ...]
    motion_steps: Mapping[str, int]
    displacement: float
    action_mean_norm: float
    task_identity: bool
    seconds: float
    notes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def cell(self) -> Cell:
        """The cell that this episode fills."""
        return Cell(self.stage, self.variant, self.init_state, self.seed)

    def reached(self, label: str, judged: str = "ever") -> bool:
        """Whether the labelled goal counts as reached, at some step (``ever``) or after the last one (``end``)."""
        if label in self.void:
            return False
        return label in self.held_at_end if judged == "end" else label in self.first_held


@dataclass(frozen=True, slots=True)
class ErrorRecord:
    """An episode that could not be finished; it counts as missing, never as failed.

    Attributes:
        kind: ``policy``, ``simulator``, ``timeout`` or ``worker``.
        message: one line.
        traceback: the full text, or empty.
    """

    stage: int
    variant: str
    init_state: int
    seed: int
    kind: str
    message: str
    traceback: str = ""

    @property
    def cell(self) -> Cell:
        """The cell that stays open."""
        return Cell(self.stage, self.variant, self.init_state, self.seed)


@dataclass(frozen=True, slots=True)
class ProbeRecord:
    """One stored observation under the task's original instruction and under a variant's.

    Attributes:
        observation: name of the stored observation, such as ``LiberoGoal-T3/0/12`` (task, episode, step).
        action_original, action_variant: mean actions.
        log_prob_original, log_prob_variant: log density of the stored expert action; None without one or without
            ``Policy.log_prob``.
    """

    stage: int
    variant: str
    seed: int
    task: str
    condition: str
    slot: str | None
    tier: str | None
    observation: str
    action_original: tuple[float, ...]
    action_variant: tuple[float, ...]
    log_prob_original: float | None = None
    log_prob_variant: float | None = None


POLICY_SOURCE = "policy source"
POLICY_FILE = "policy file"
"""Keys of a header's versions, the second followed by the option's name: hashes of what the policy is made of."""


@dataclass(frozen=True, slots=True)
class RunHeader:
    """What was run, with everything that can change a number.

    Attributes:
        schema: version of this layout.
        name: name of the method in reports.
        policy: import string of the policy, or a description.
        policy_options: keyword arguments it was made with.
        plan: the whole plan as JSON data (see ``plan.Plan``).
        registry_sha256: hash of the registry file.
        scenes: scene id -> hash of the compiled scene's source, as the adapter gives it.
        versions: package or library -> version, the GL back end included; for this package's code, the policy's module
            (``POLICY_SOURCE``) and the files that its options name (``POLICY_FILE``) the hash of their content.
        source_revision: commit of this package's checkout, with ``+dirty`` when changed; empty outside a checkout. For
            information only, the hash of the code decides.
        task_identity: whether the policy is told the task.
        settings: scene settings, horizon and stop rule.
        form: where the episodes ran, see ``workers.FORMS``; changes no record. Empty in runs of older versions.
    """

    name: str
    policy: str
    policy_options: Mapping[str, Any]
    plan: Mapping[str, Any]
    registry_sha256: str
    scenes: Mapping[str, str]
    versions: Mapping[str, str]
    source_revision: str
    task_identity: bool
    settings: Mapping[str, Any] = field(default_factory=dict)
    form: str = ""
    schema: int = SCHEMA


Record = TypeVar("Record", EpisodeRecord, ErrorRecord, ProbeRecord, RunHeader)


def to_json(record: EpisodeRecord | ErrorRecord | ProbeRecord | RunHeader) -> str:
    """The record as canonical JSON: sorted keys, no NaN.

    Raises:
        ValueError: a number is NaN or infinite.
        TypeError: a value is not plain data.
    """
    return json.dumps(dataclasses.asdict(record), sort_keys=True, allow_nan=False, ensure_ascii=False)


def from_json(kind: type[Record], text: str) -> Record:
    """A record from ``to_json``'s text; every field is checked, lists become tuples.

    Raises:
        ValueError: not such a record; names the field.
    """
    data = json.loads(text, parse_constant=_refuse_constant)
    if not isinstance(data, dict):
        raise ValueError(f"{kind.__name__}: expected an object, got {type(data).__name__}")
    hints, required, plain = _layout(kind.__name__)
    unknown, missing = sorted(data.keys() - hints.keys()), sorted(required - data.keys())
    if unknown or missing:
        raise ValueError(f"{kind.__name__}: unknown fields {unknown}, missing fields {missing}")
    for name, value in data.items():
        scalars, container, items = plain[name]
        if type(value) in scalars and value not in (math.inf, -math.inf):
            continue
        if type(value) is container and all(type(item) in items for item in _members(value)):
            data[name] = tuple(_members(value)) if container is list else value
        else:
            data[name] = _typed(value, hints[name], f"{kind.__name__}.{name}")
    return kind(**data)


@functools.cache
def _layout(name: str) -> tuple[dict[str, Any], frozenset[str], dict[str, _Plain]]:
    """Annotations, required fields, and each field's plain types, of the record class called ``name``.

    A value of the first plain types is right as it is, and so are items of the second (no floats, which may be
    infinite). Most values are of these, and a report reads hundreds of thousands of records.
    """
    kind = next(kind for kind in (EpisodeRecord, ErrorRecord, ProbeRecord, RunHeader) if kind.__name__ == name)
    optional = {
        field.name
        for field in dataclasses.fields(kind)
        if not (field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING)
    }
    hints = get_type_hints(kind)
    plain = {field: _plain(hint) for field, hint in hints.items()}
    return hints, frozenset(hints.keys() - optional), plain


PLAIN = frozenset({str, int, float, bool, types.NoneType})
_Plain = tuple[frozenset[type], type | None, frozenset[type]]
"""Plain types of a value; else what JSON has for its container, and the plain types of that one's items."""


def _plain(hint: Any) -> _Plain:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return frozenset(arguments) & PLAIN, None, frozenset()
    if origin is tuple:
        return frozenset(), list, frozenset(arguments[:1]) & (PLAIN - {float})
    if origin is Mapping:
        return frozenset(), dict, frozenset(arguments[1:]) & (PLAIN - {float})
    return frozenset((hint,)) & PLAIN, None, frozenset()


def _members(container: Any) -> Iterable[Any]:
    return container.values() if type(container) is dict else container


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number that a record may hold")


def _typed(value: Any, hint: Any, place: str) -> Any:
    """``value`` as the annotation ``hint`` wants it, or a ValueError that names ``place``."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return value
    if origin in (Union, types.UnionType):
        return None if value is None else _typed(value, arguments[0], place)
    if origin is tuple and isinstance(value, list):
        return tuple(_typed(item, arguments[0], f"{place}[{index}]") for index, item in enumerate(value))
    if origin is Mapping and isinstance(value, dict):
        return {key: _typed(item, arguments[1], f"{place}[{key!r}]") for key, item in value.items()}
    if hint is float and type(value) is int:
        return float(value)
    if type(value) is hint and value not in (math.inf, -math.inf):  # not isinstance: a bool is no int here
        return value
    raise ValueError(f"{place}: expected {hint}, got {value!r}")

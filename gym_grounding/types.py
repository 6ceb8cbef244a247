"""The frozen data that crosses module borders: goals, scenes, tasks, variants."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SLOTS = ("action", "object", "relation", "target", "attribute")
TIERS = ("strict", "permissive")
JUDGED = ("ever", "end")
OBSERVATIONS = ("pixels", "state", "both")
ORIENTATIONS = ("raw", "upright", "rotated")
PICTURES = ("exact", "fast")
STARTS = ("libero", "displaced")


@dataclass(frozen=True, slots=True)
class Region:
    """A box on a work surface that a variant adds to the scene as data.

    Attributes:
        name: name used in predicates, such as ``main_table_plate_1_right``.
        surface: work surface that carries it, as the BDDL names it, such as ``main_table``.
        ranges: (x_min, y_min, x_max, y_max) [m], relative to the surface's centre, as a BDDL ``:ranges`` row.
    """

    name: str
    surface: str
    ranges: tuple[float, float, float, float]


@dataclass(frozen=True, slots=True, order=True)
class Predicate:
    """One positive goal literal.

    Attributes:
        name: lower case, as the BDDL reader yields it: on, in, open, close, turnon, turnoff; or the suite's ``lifted``.
        args: names of entities or regions.
    """

    name: str
    args: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(self.args)})"


@dataclass(frozen=True, slots=True)
class Goal:
    """A conjunction of predicates; equal by value, whatever the order in which they were written.

    Attributes:
        all_of: the predicates, sorted.
        regions: added regions that the predicates name; empty for goals on LIBERO's own regions.
    """

    all_of: tuple[Predicate, ...]
    regions: tuple[Region, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "all_of", tuple(sorted(self.all_of)))
        object.__setattr__(self, "regions", tuple(sorted(self.regions, key=lambda region: region.name)))

    @property
    def id(self) -> str:
        """The goal as text, such as ``on(akita_black_bowl_1, plate_1)``; equal goals have equal ids."""
        return " & ".join(str(predicate) for predicate in self.all_of)


@dataclass(frozen=True, slots=True)
class Entity:
    """Something in a scene that a goal may name.

    Attributes:
        name: instance name, such as ``akita_black_bowl_1``.
        category: such as ``akita_black_bowl``; for a region the entity or surface that carries it.
        kind: ``object`` (movable), ``fixture``, ``site`` (region of an object or fixture), ``zone`` (region of the
            work surface) or ``surface`` (the work surface itself, never a goal argument).
        joints: number of articulated joints (a cabinet has 3).
        supports: argument roles that make sense: ``on.subject``, ``on.reference``, ``in.subject``, ``in.reference``,
            ``open``, ``close``, ``turnon``, ``turnoff``, ``lifted``.
        names: nouns by which an instruction may call it.
    """

    name: str
    category: str
    kind: str
    joints: int = 0
    supports: frozenset[str] = frozenset()
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SceneFacts:
    """What is known of a scene without opening it. Scenes with one id compile to one model.

    Attributes:
        id: hash of the scene's content, such as ``048965e1745b``.
        adapter: name of the adapter that opens it.
        problem: the adapter's class of scene, such as ``libero_tabletop_manipulation``.
        entities: by name, in file order.
        background: nouns for what else the scene shows, such as ``shelf``; nothing of it can be a goal, nor be called
            absent.
    """

    id: str
    adapter: str
    problem: str
    entities: Mapping[str, Entity]
    background: tuple[str, ...] = ()

    def of_kind(self, *kinds: str) -> tuple[Entity, ...]:
        """Entities of the given kinds, in file order."""
        return tuple(entity for entity in self.entities.values() if entity.kind in kinds)


@dataclass(frozen=True, slots=True)
class Slots:
    """The parts of an instruction; None where the sentence has no such part. Lists are joined by `` + ``."""

    action: str | None = None
    object: str | None = None
    relation: str | None = None
    target: str | None = None
    attribute: str | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """A scene with its original goal and canonical instruction.

    Attributes:
        id: such as ``LiberoGoal-T8``.
        suite: such as ``LiberoGoal``.
        index: LIBERO's 0-based task id, never a position in a training order.
        name: LIBERO's task name (file stem).
        source: the adapter's suite name, such as ``libero_goal``.
        instruction: canonical text (LIBERO: ``task.language``).
        source_instruction: the text inside the source file (BDDL ``:language``); may differ from ``instruction``.
        slots: parts of ``instruction``.
        goal: the original goal.
        scene: id of its scene.
        init_states: number of stored initial states.
        checksums: sha256 (hex) of the source files by role: ``bddl``, ``init``.
    """

    id: str
    suite: str
    index: int
    name: str
    source: str
    instruction: str
    source_instruction: str
    slots: Slots
    goal: Goal
    scene: str
    init_states: int
    checksums: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Variant:
    """One instruction for a task.

    Attributes:
        id: such as ``LiberoGoal-T8-ContrastTarget1``; the environment id adds ``Grounding/`` and ``-v0``.
        task: id of its task.
        condition: name of a module in ``gym_grounding.conditions``.
        slot: the changed slot, or None.
        number: counts from 1 within (task, condition, slot).
        instruction: the text a policy receives.
        goal: goal asked for by the instruction when it is its own (contrasts, swaps, reverse); None otherwise. Of a
            described variant, which asks for what is so already, the goal that doing the opposite would reach.
        tier: ``strict`` or ``permissive`` (contrasts), None otherwise.
        tier_reason: why it is permissive; empty when strict.
        judged: ``ever`` (the goal counts when it held at some step) or ``end`` (it must hold at the last step).
        kind: type of the paraphrase (such as ``verb_synonym``), or empty.
        described: no goal scores the variant, whatever its condition says; its behaviour is described.
        joints: entity -> position of its one joint [m or rad] in which the episode starts instead of the initial
            state's own.
        details: further provenance fields of the row, for reports only.
    """

    id: str
    task: str
    condition: str
    slot: str | None
    number: int
    instruction: str
    goal: Goal | None = None
    tier: str | None = None
    tier_reason: str = ""
    judged: str = "ever"
    kind: str = ""
    described: bool = False
    joints: Mapping[str, float] = field(default_factory=dict)
    details: Mapping[str, object] = field(default_factory=dict)

    @property
    def instruction_sha256(self) -> str:
        """sha256 (hex) of the instruction's UTF-8 bytes."""
        return hashlib.sha256(self.instruction.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Absent:
    """A cell without a registered variant: a proposal that was refused, or nothing honest to propose.

    Attributes:
        task: id of the task.
        condition: condition of the cell.
        slot: slot of the cell, or None.
        reason: reason code, such as ``several_slots``.
        note: the reason in words.
        instruction: the refused text; None when nothing was proposed.
        goal: the refused goal; None when there is none or it cannot be expressed.
    """

    task: str
    condition: str
    slot: str | None
    reason: str
    note: str = ""
    instruction: str | None = None
    goal: Goal | None = None


@dataclass(frozen=True, slots=True)
class SceneSettings:
    """How a scene is opened and observed; part of every run's header.

    Attributes:
        observation: ``pixels`` (proprioception and both cameras), ``state`` (proprioception and poses, no drawing) or
            ``both``.
        image_size: side of the square pictures [pixels].
        orientation: ``raw`` (OpenGL order, first row at the bottom, as LIBERO gives it), ``upright`` (rows reversed:
            the true view) or ``rotated`` (rows and columns reversed: the mirrored convention of OpenVLA and openpi).
        settle_steps: control steps with the adapter's idle action between setting the initial state and the first
            observation.
        pictures: ``exact`` (the simulator's own, to the last bit) or ``fast`` (LIBERO: no reflections, one sample per
            pixel; ``benchmarks/fast_pictures.py`` shows the difference). Other adapters have one kind.
        starts: ``libero`` (the stored initial states) or ``displaced`` (each of them with its movable objects 3 to 8 cm
            away; ``docs/starts.md`` has the rules).
    """

    observation: str = "pixels"
    image_size: int = 128
    orientation: str = "raw"
    settle_steps: int = 10
    pictures: str = PICTURES[0]
    starts: str = STARTS[0]

    def to_json(self) -> dict[str, Any]:
        """The fields as plain data; ``starts`` only where it is not the default.

        So what was written before there were other starts stays equal to what is written now.
        """
        data = dataclasses.asdict(self)
        if self.starts == STARTS[0]:
            del data["starts"]
        return data

"""What a training run is: everything that changes its numbers, as plain data that is compared when a run goes on."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gym_grounding import manifest as manifests
from gym_grounding.demos.write import write_bytes
from gym_grounding.errors import CorruptRun, InvalidDemonstration, InvalidOption, PlanMismatch
from gym_grounding.plan import Plan
from gym_grounding.types import SceneSettings, Task
from gym_grounding_policies import learners
from gym_grounding_policies.data.windows import TaskFile, task_files
from gym_grounding_policies.training.build import settings_of
from gym_grounding_policies.training.checkpoint import describe, exists
from gym_grounding_policies.training.kits import Kit
from gym_grounding_policies.training.senses import Senses, control_of
from gym_grounding_policies.training.versions import versions

FILE = "training.json"
SEEDS = 2**63
"""Records of runs keep no larger numbers."""
SELECTIONS = ("last", "best")
UNSAID = {"kit.mute": "false", "name": '""'}
"""What holds where a run does not say it, as runs of older versions do not."""
LONGEST = 60
"""Characters of a run's name."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which weights go on from a phase in which a task is learned.

    Attributes:
        rule: ``last`` epoch's, or those of the ``best`` of the evaluated epochs: the earliest with the largest success
            on the task, epoch 0 (before training) included.
        every: evaluate the current task before training and after every so many epochs and the last; 0 for never. The
            successes are the curve from which forward transfer is computed.
        states: initial states of these evaluations. For ``best`` none of them may be among the reported ones.
    """

    rule: str = "last"
    every: int = 0
    states: tuple[int, ...] = ()

    def check(self, reported: Sequence[int]) -> None:
        """Raises InvalidOption for an unknown rule, missing states, or states that are reported too."""
        if self.rule not in SELECTIONS:
            raise InvalidOption(f"select is {self.rule!r}; choose {' or '.join(SELECTIONS)}")
        if self.rule == "best" and self.every < 1:
            raise InvalidOption("select is 'best', but no epoch is evaluated; give --curve-every, such as 2")
        if self.every and not self.states:
            raise InvalidOption("epochs are evaluated on no initial states; give --curve-states, such as 40:50")
        both = sorted(set(self.states) & set(reported))
        if self.rule == "best" and both:
            raise InvalidOption(
                f"initial states {', '.join(map(str, both))} would select the weights and be reported too, which makes "
                "the report too good; give others with --curve-states"
            )


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """One training run.

    Attributes:
        method: name, or ``module:LEARNER``.
        settings: of the method, all of them.
        seed: of every random stream.
        kit: the profile, with the recipe, the windows and the rest as they are used.
        network: what differs from the kit's network.
        suite: name; empty in pretraining.
        order: ids of the tasks, in training order.
        registry: a registry file; None for the shipped one. Where it lies is not compared, ``registry_sha256`` is.
        registry_sha256: hash of its content.
        demonstrations: task id -> hash of its file.
        start: hash of the checkpoint whose weights come first; empty for new weights.
        selection: which weights go on.
        evaluation: plan of the evaluations after the stages; None for none.
        name: of the run in reports; empty for the method's, with what is withheld from it.
    """

    method: str
    settings: Mapping[str, Any]
    seed: int
    kit: Kit
    network: Mapping[str, Any]
    suite: str
    order: tuple[str, ...]
    registry: str | None
    registry_sha256: str
    demonstrations: Mapping[str, str]
    start: str = ""
    selection: Selection = Selection()
    evaluation: Plan | None = None
    name: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; the registry's place is left out, and what ``UNSAID`` holds for runs that lack it."""
        kept = {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.name != "registry"}
        kept["kit"] = dataclasses.asdict(self.kit)
        # How much is kept in memory changes no number.
        del kept["kit"]["windows"]["memory"]
        kept["selection"] = dataclasses.asdict(self.selection)
        evaluation = None if self.evaluation is None else self.evaluation.to_json()
        kept["evaluation"] = evaluation and {key: value for key, value in evaluation.items() if key != "registry"}
        kept["act"] = self.kit.act
        if not self.kit.mute:
            del kept["kit"]["mute"]
        if not self.name:
            del kept["name"]
        data: dict[str, Any] = json.loads(json.dumps(kept))
        return data

    def keep(self, out: Path, new: bool = False) -> None:
        """Write down what the run in a folder is, or check that it is this one.

        Args:
            new: nothing was done there yet; what stands there is replaced.

        Raises:
            PlanMismatch: the folder holds another training run; names every difference.
            CorruptRun: it cannot be read.
            UnwritableOutput: it cannot be written.
        """
        path = out / FILE
        if new or not path.exists():
            write_bytes(path, (json.dumps(self.as_dict(), indent=1) + "\n").encode())
            return
        self.check(_stored(path), out)

    def check(self, stored: Mapping[str, Any], where: Path) -> None:
        """Raises PlanMismatch where stored values are another run's; names every difference."""
        mine, theirs = UNSAID | _flat(self.as_dict()), UNSAID | _flat(stored)
        changed = [
            f"{key} is {theirs.get(key, '(none)')} there, {mine.get(key, '(none)')} asked"
            for key in dict.fromkeys([*mine, *theirs])
            if mine.get(key) != theirs.get(key) and key in mine
        ]
        if changed:
            shown = "; ".join(changed[:5]) + (f"; and {len(changed) - 5} more" if len(changed) > 5 else "")
            raise PlanMismatch(f"{where} holds another training run: {shown}. Give another folder, or the same options")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a user says of a run; None and empty values mean the defaults.

    Attributes:
        demonstrations: folder.
        tasks: ids, in training order.
        suite: whose evaluation follows; empty for none.
        start: folder of a checkpoint of pretraining.
        run: folder of the run that goes on, which needs ``start`` no more; None for a new one.
        conditions, init_states, every_stage, horizon, batch: of the evaluation, see ``plan.Plan``.
        settings: of the method.
        network: of the ``cpu`` network.
        name: of the run in reports; empty for the method's, with what is withheld from it.
    """

    method: str
    seed: int
    kit: Kit
    demonstrations: Path
    tasks: tuple[str, ...]
    suite: str = ""
    registry: str | None = None
    start: Path | None = None
    run: Path | None = None
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    network: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    selection: Selection = Selection()
    conditions: tuple[str, ...] | None = None
    init_states: tuple[int, ...] = ()
    every_stage: bool = False
    horizon: int | None = None
    batch: int = 1
    name: str = ""


def planned(asked: Asked) -> TrainingPlan:
    """The checked plan of what is asked.

    Raises:
        UnknownName, InvalidOption, InvalidDemonstration, CorruptRun: something that is asked is not there or not
            possible.
    """
    _check(asked)
    manifest = manifests.load(asked.registry)
    files = [one.path for one in files_of(asked.demonstrations, [manifest.task(name) for name in asked.tasks])]
    evaluation = _evaluation(asked, manifest.settle) if asked.suite and asked.init_states else None
    return TrainingPlan(
        method=asked.method,
        settings=dataclasses.asdict(settings_of(asked.method, asked.settings)),
        seed=asked.seed,
        kit=asked.kit,
        network=asked.network,
        suite=asked.suite,
        order=asked.tasks,
        registry=asked.registry,
        registry_sha256=manifest.sha256,
        demonstrations={name: hash_of(path) for name, path in zip(asked.tasks, files, strict=True)},
        start="" if asked.start is None else _start(asked.start, asked.run),
        selection=asked.selection,
        evaluation=evaluation,
        name=asked.name,
    )


def _check(asked: Asked) -> None:
    """What can be said before any file is read.

    Raises:
        InvalidOption, UnknownName: as ``planned``.
    """
    if isinstance(asked.seed, bool) or not 0 <= asked.seed < SEEDS:
        raise InvalidOption(f"seed is {asked.seed!r}; give a whole number from 0 to {SEEDS - 1}")
    selection = asked.selection
    if (selection.every or selection.rule == "best") and not (asked.suite and asked.init_states):
        raise InvalidOption(
            "--curve-every and --select best evaluate epochs, and the run has no evaluation (--no-evaluation); leave "
            "out one or the other"
        )
    selection.check(asked.init_states)
    asked.kit.check(asked.network)
    if asked.name:
        _check_name(asked.name, learners.get(asked.method).name, asked.kit.control)


def own_name(method: str, control: str) -> str:
    """A run's name in reports where none is given, such as ``er`` or ``er mute blind``."""
    return f"{method} {control}".strip()


def _check_name(name: str, method: str, control: str) -> None:
    """Raises InvalidOption for a name that no report can show, or that runs of something else have by themselves."""
    if name != name.strip() or not name.isprintable() or len(name) > LONGEST:
        raise InvalidOption(f"--name {name!r}: give up to {LONGEST} printable characters, no space at either end")
    if name == own_name(method, control):
        return
    controls = [control_of(sees, mute) for sees in ("all", "none") for mute in (False, True)]
    if name in {own_name(one, kind) for one in {*learners.names(), method} for kind in controls}:
        raise InvalidOption(
            f"--name {name}: other runs have this name by themselves, and a report would take this one for one of "
            f"them; without --name it is {own_name(method, control)!r}"
        )


def _start(start: Path, run: Path | None) -> str:
    """Hash of the weights to start from; of a start that was removed since, what the run says it was."""
    if run is not None and not exists(start) and (run / FILE).exists():
        known = _stored(run / FILE).get("start")
        if known:
            return str(known)
    return str(describe(start)["files"]["learner"]["sha256"])


def _stored(path: Path) -> Mapping[str, Any]:
    """What a run wrote down of itself.

    Raises:
        CorruptRun: it cannot be read, or is something else.
    """
    remedy = "remove it, and the same command writes it anew"
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CorruptRun(f"{path}: cannot be read ({error}); {remedy}") from error
    if not isinstance(stored, Mapping):
        raise CorruptRun(f"{path}: is damaged (no mapping); {remedy}")
    return stored


def _evaluation(asked: Asked, settle: int) -> Plan:
    return Plan.make(
        asked.suite,
        registry=asked.registry,
        order=asked.tasks,
        conditions=asked.conditions,
        init_states=asked.init_states,
        seeds=(asked.seed,),
        stages="all",
        final_conditions_every_stage=asked.every_stage,
        horizon=asked.kit.horizon if asked.horizon is None else asked.horizon,
        settings=SceneSettings(observation=asked.kit.observation, settle_steps=settle),
        batch=asked.batch,
    )


def files_of(folder: Path, tasks: Sequence[Task]) -> tuple[TaskFile, ...]:
    """Demonstration files of tasks; see ``windows.task_files``.

    Raises:
        InvalidDemonstration: one is not there; says how to make it.
    """
    found = task_files(folder, tasks)
    missing = [one for one in found if not one.path.is_file()]
    if missing:
        numbers = ",".join(str(one.task.index) for one in missing)
        wrong = "is a folder, not a file" if missing[0].path.is_dir() else "no such file"
        raise InvalidDemonstration(
            f"{missing[0].path}: {wrong} ({len(missing)} of {len(found)} tasks have none); make them with "
            f"`gym-grounding demos make --suite {missing[0].task.suite} --tasks {numbers} --out {folder}`"
        )
    return found


def hash_of(path: Path) -> str:
    """sha256 of a file (hex).

    Raises:
        InvalidDemonstration: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InvalidDemonstration(f"{path}: cannot be read ({error.strerror})") from error


def about_of(plan: TrainingPlan, senses: Senses, profile: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """What a checkpoint says of itself."""
    return {**plan.as_dict(), "senses": senses.as_dict(), "profile": profile, "versions": versions(plan.method), **more}


def _flat(data: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    flat: dict[str, str] = {}
    for key, value in data.items():
        if isinstance(value, Mapping):
            flat.update(_flat(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = json.dumps(value, ensure_ascii=False)
    return flat

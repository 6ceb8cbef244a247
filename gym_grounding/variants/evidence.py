"""What was measured in the simulator, kept in a file beside this module, so that a registry can be built without one.

An answer counts only for the very files of the task, the mujoco and the way of measuring that it was made with; others
are ignored, and measured again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from gym_grounding import processes
from gym_grounding.adapters.libero.versions import installed_versions
from gym_grounding.errors import MissingSource, SimulatorError
from gym_grounding.types import Goal, SceneFacts, Task
from gym_grounding.variants import _evidence_file, definitions
from gym_grounding.variants._evidence_file import Entry, as_json, dumped
from gym_grounding.variants.types import Footprint, GoalCount, Impossible, Layout, Witness

FILE = Path(__file__).with_name("evidence.jsonl")
MEASUREMENT = 1
"""Way of measuring; raised whenever the same question can get another answer."""


@dataclass(frozen=True, slots=True)
class Questions:
    """What is to be known of a task.

    Attributes:
        goals: goals to count in its initial states and to find a witness for.
        impossibles: (subject, relation, reference) of placements that should fail.
        layout: whether its layout is wanted.
    """

    goals: tuple[Goal, ...] = ()
    impossibles: tuple[tuple[str, str, str], ...] = ()
    layout: bool = True


class Evidence(Protocol):
    """Answers of the simulator.

    Attributes:
        physics: what was measured with, such as ``mujoco 3.3.2``.
    """

    physics: str

    def layout(self, task: Task) -> Layout:
        """Where things stand after settling. Relations that hold in no state are left out; "between" has its two
        references in either order; ``near`` is ``next to`` whatever the two things stand on."""
        ...

    def count(self, task: Task, goal: Goal) -> GoalCount:
        """In how many initial states a goal holds."""
        ...

    def witness(self, task: Task, goal: Goal) -> Witness:
        """A state in which a goal holds."""
        ...

    def impossible(self, task: Task, subject: str, relation: str, reference: str) -> Impossible:
        """An attempt to put a thing where it should not go; relations ``under``, ``in``, ``on``."""
        ...


Answer = tuple[str, object, object]
"""Kind, question and answer of a measurement; see ``_evidence_file.Entry``."""
Measurer = Callable[[Task, Questions], Iterable[Answer]]
Progress = Callable[[Iterable[str], int], Iterable[str]]
"""Wraps the ids of the tasks as they are done; is told how many there will be."""


def simulate(task: Task, questions: Questions) -> list[Answer]:
    """Answer questions about a task in its simulator: one opening, one pass over its initial states.

    Raises:
        MissingSource, WrongVersion, InvalidOption, SimulatorError
    """
    from gym_grounding.adapters.libero import impossible, measurement, witness
    from gym_grounding.adapters.libero.bench import Bench

    bench = Bench(task, definitions.load().scene_of(task.id))
    answers: list[Answer] = []
    try:
        if questions.goals or questions.layout:
            starts = measurement.starts(bench, questions.goals)
            relations = _nested(starts.relations)
            layout = {"footprints": starts.footprints, "of": starts.of, "relations": relations, "robot": starts.robot}
            answers.append(("layout", None, layout))
            answers += [("count", goal, asdict(count)) for goal, count in starts.counts.items()]
        if questions.goals:
            found = witness.search(bench, questions.goals, task.goal)
            answers += [("witness", goal, asdict(one)) for goal, one in found.items()]
        answers += [("impossible", names, asdict(impossible.attempt(bench, *names))) for names in questions.impossibles]
    finally:
        bench.close()
    return answers


class Recorded:
    """Evidence from a file; what the file does not hold is measured and added to it.

    Args:
        path: the file; it may be absent.
        fresh: take nothing from the file.
        measure: whether to measure what is missing.
        measurer: what measures.

    Attributes:
        physics: see ``Evidence``.

    Raises:
        RegistryError: the file is malformed; names the line and what to do.
    """

    def __init__(
        self, path: Path = FILE, fresh: bool = False, measure: bool = True, measurer: Measurer = simulate
    ) -> None:
        self.physics = f"mujoco {installed_versions(['mujoco']).get('mujoco', 'missing')}"
        self._path, self._measures, self._measurer = path, measure, measurer
        recorded = () if fresh else _evidence_file.read(path)
        ours = (self.physics, MEASUREMENT)
        self._entries = {entry.key: entry for entry in recorded if (entry.physics, entry.measurement) == ours}
        self._asked: set[tuple[str, str, str]] = set()

    def layout(self, task: Task) -> Layout:
        """See ``Evidence.layout``."""
        answer = self._answer(task, "layout", None, Questions())
        footprints = {name: Footprint(*numbers) for name, numbers in answer["footprints"].items()}
        x, y = answer["robot"]
        return Layout(footprints, dict(_relations(answer["relations"])), (x, y), answer["of"])

    def count(self, task: Task, goal: Goal) -> GoalCount:
        """See ``Evidence.count``."""
        return GoalCount(**self._answer(task, "count", goal, Questions((goal,))))

    def witness(self, task: Task, goal: Goal) -> Witness:
        """See ``Evidence.witness``."""
        return Witness(**self._answer(task, "witness", goal, Questions((goal,))))

    def impossible(self, task: Task, subject: str, relation: str, reference: str) -> Impossible:
        """See ``Evidence.impossible``."""
        names = (subject, relation, reference)
        return Impossible(**self._answer(task, "impossible", names, Questions((), (names,), layout=False)))

    def prepare(
        self,
        wanted: Mapping[str, Iterable[Questions]],
        workers: int = 1,
        progress: Progress = lambda done, total: done,
    ) -> None:
        """Measure what is missing of many questions, one opening a task; what a task gave is in the file at once.

        Goals that LIBERO could not judge, because a name or an argument role is not in the scene, are left out.

        Args:
            wanted: task id -> questions.
            workers: processes.
            progress: wraps the ids of the tasks as they are done.

        Raises:
            MissingSource: something is missing and may not be measured, or LIBERO is missing.
            WrongVersion, SimulatorError: LIBERO cannot be simulated.
            UnwritableOutput: the file cannot be written.
        """
        known = definitions.load()
        todo = []
        for task_id, asked in wanted.items():
            task = known.task(task_id)
            questions = self._missing(task, asked, known.scene_of(task_id))
            if questions != Questions(layout=False):
                todo.append((task, questions))
        if todo and not self._measures:
            raise MissingSource(self._not_recorded(todo[0][0]))
        for _ in progress(self._measured(todo, workers), len(todo)):
            self.save()

    def save(self, unasked: bool = True) -> None:
        """Write the file, whole or not at all; equal content gives equal bytes.

        Args:
            unasked: whether to keep answers that nobody asked for since the file was read.

        Raises:
            UnwritableOutput: it cannot be written.
        """
        kept = (entry for key, entry in self._entries.items() if unasked or key in self._asked)
        _evidence_file.write(self._path, kept)

    def _answer(self, task: Task, kind: str, question: object, alone: Questions) -> dict[str, Any]:
        found = self._known(task, kind, question)
        if found is None:
            if not self._measures:
                raise MissingSource(self._not_recorded(task))
            self._keep(task, self._measurer(task, alone))
            found = self._known(task, kind, question)
        if found is None:
            raise SimulatorError(f"{task.id}: measuring gave no answer to {kind} {dumped(as_json(question))}")
        answer: dict[str, Any] = found.answer
        return answer

    def _known(self, task: Task, kind: str, question: object) -> Entry | None:
        key = (task.id, kind, dumped(as_json(question)))
        self._asked.add(key)
        entry = self._entries.get(key)
        return entry if entry and (entry.bddl, entry.init) == _checksums(task) else None

    def _keep(self, task: Task, answers: Iterable[Answer]) -> None:
        for kind, question, answer in answers:
            asked, found = as_json(question), as_json(answer)
            entry = Entry(task.id, kind, asked, found, *_checksums(task), self.physics, MEASUREMENT)
            self._entries[entry.key] = entry

    def _missing(self, task: Task, wanted: Iterable[Questions], scene: SceneFacts) -> Questions:
        """The questions without an answer, each once."""
        asked = list(wanted)
        goals = dict.fromkeys(goal for questions in asked for goal in questions.goals if _makes_sense(goal, scene))
        names = dict.fromkeys(names for questions in asked for names in questions.impossibles)
        unknown = [(self._known(task, "count", goal), self._known(task, "witness", goal)) for goal in goals]
        return Questions(
            tuple(goal for goal, answers in zip(goals, unknown, strict=True) if None in answers),
            tuple(one for one in names if self._known(task, "impossible", one) is None),
            any(questions.layout for questions in asked) and self._known(task, "layout", None) is None,
        )

    def _measured(self, todo: Sequence[tuple[Task, Questions]], workers: int) -> Iterator[str]:
        if workers <= 1:
            for task, questions in todo:
                self._keep(task, self._measurer(task, questions))
                yield task.id
            return
        with processes.pool(workers) as pool:
            running = {pool.submit(self._measurer, task, questions): task for task, questions in todo}
            for done in as_completed(running):
                self._keep(running[done], done.result())
                yield running[done].id

    def _not_recorded(self, task: Task) -> str:
        return (
            f"{self._path}: not everything that is asked of {task.id} was measured with {self.physics} and the "
            "task's present files. Run `gym-grounding variants build` where LIBERO can be simulated"
        )


def _checksums(task: Task) -> tuple[str, str]:
    return (task.checksums.get("bddl", ""), task.checksums.get("init", ""))


def _nested(relations: Mapping[tuple[str, str, str], int]) -> dict[str, dict[str, dict[str, int]]]:
    nested: dict[str, dict[str, dict[str, int]]] = {}
    for (relation, subject, reference), states in relations.items():
        nested.setdefault(relation, {}).setdefault(subject, {})[reference] = states
    return nested


def _relations(nested: Mapping[str, Mapping[str, Mapping[str, int]]]) -> Iterator[tuple[tuple[str, str, str], int]]:
    for relation, subjects in nested.items():
        for subject, references in subjects.items():
            for reference, states in references.items():
                yield (relation, subject, reference), states
                if relation == "between":
                    yield (relation, subject, " ".join(reversed(reference.split()))), states


_ROLES = {"on": ("on.subject", "on.reference"), "in": ("in.subject", "in.reference")}


def _makes_sense(goal: Goal, scene: SceneFacts) -> bool:
    """Whether every name of a goal exists and has the role that its predicate gives it."""
    added = {region.name for region in goal.regions}
    return all(
        name in added or (name in scene.entities and role in scene.entities[name].supports)
        for predicate in goal.all_of
        for name, role in zip(predicate.args, _ROLES.get(predicate.name, (predicate.name,)), strict=False)
    )

"""The continual stages: train a task, keep what was learned, evaluate all tasks so far; stopped and continued anywhere.

A run's folder:

    training.json           what the run is
    now/                    the checkpoint from which it goes on
    stage-KK/               what was learned by the end of stage KK
    run.sqlite, curves.csv  the evaluations, as `gym-grounding evaluate` and `gym-grounding report` know them
    epochs/                 evaluations of the current task during training
    best/, try/             weights of the best evaluated epoch of the present phase, and of the last one
    log.jsonl, tensorboard/ see ``log``
"""

from __future__ import annotations

import contextlib
import csv
import fcntl
import io
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from gym_grounding import manifest as manifests
from gym_grounding.demos.write import write_bytes
from gym_grounding.errors import PlanMismatch, PolicyError, UnwritableOutput
from gym_grounding.evaluate import evaluate
from gym_grounding.plan import Plan
from gym_grounding.records import EpisodeRecord
from gym_grounding.report import CURVES
from gym_grounding.store import FILE as RECORDS
from gym_grounding.store import RunStore
from gym_grounding_policies.data.efficientnet import EfficientNetLite0
from gym_grounding_policies.data.features import PICTURES, FeatureInputs, spread
from gym_grounding_policies.data.tokens import StateInputs, fitted
from gym_grounding_policies.data.windows import TaskFile, observed
from gym_grounding_policies.nets.actor import Actor
from gym_grounding_policies.nets.profiles import Profile
from gym_grounding_policies.nets.weights import load_public_weights
from gym_grounding_policies.trained import stage_name
from gym_grounding_policies.training.build import load_actor, load_learner, load_tensors, new_learner, rebuilding
from gym_grounding_policies.training.checkpoint import NOW, Checkpoint, exists, read, write
from gym_grounding_policies.training.lessons import Lessons, check_start
from gym_grounding_policies.training.log import Log, Progress
from gym_grounding_policies.training.loop import Moment, Place, Streams, Training, stream
from gym_grounding_policies.training.plan import TrainingPlan, about_of, files_of, own_name
from gym_grounding_policies.training.senses import Senses
from gym_grounding_policies.training.stop import Stop
from gym_grounding_policies.training.versions import check_versions, versions

POLICY = "gym_grounding_policies.trained:Trained"
BEST, TRY, EPOCHS = "best", "try", "epochs"
LOCK = "training.lock"
WEIGHTS = "model.safetensors"
"""Of both encoders, in the folder of openai/clip-vit-base-patch16."""
INITIAL = 9
"""Number of the random stream from which new weights come; see ``loop.stream``."""


@dataclass(frozen=True, slots=True)
class How:
    """What changes no number, or only its last digits.

    Attributes:
        device: ``cpu``, ``cuda``, ``cuda:1``.
        workers: processes of evaluations; 0 for this one.
        readers: processes that read demonstrations ahead.
        compiled: let ``torch.compile`` translate the actor.
        save_every: seconds between two checkpoints at most.
        log_every: steps between two lines of the log.
        tensorboard: see ``log.Log``.
        progress: whether to show any.
        accept_versions: go on although code or libraries changed; see ``versions`` and ``evaluate``.
        clip: folder of CLIP's tokenizer.
        features: folder where features of pictures are kept; None for nowhere.
    """

    device: str = "cpu"
    workers: int = 1
    readers: int = 0
    compiled: bool = False
    save_every: float = 60.0
    log_every: int = 10
    tensorboard: str = "auto"
    progress: bool = True
    accept_versions: bool = False
    clip: str = ""
    features: Path | None = None


def train(
    plan: TrainingPlan,
    demonstrations: Path,
    out: Path,
    how: How,
    start: Path | None = None,
    say: Callable[[str], None] = lambda text: None,
    stop: Stop | None = None,
) -> None:
    """Train the tasks of a plan one after the other, or go on where the run in ``out`` was stopped.

    Args:
        demonstrations: folder of the tasks' files.
        start: checkpoint of pretraining whose hash the plan has.
        say: is told what was decided and what was found, in lines.
        stop: where to ask whether to stop.

    Raises:
        PlanMismatch: ``out`` holds another run, or a demonstration file changed.
        KeyboardInterrupt: stopped; everything is saved, and the message says how to go on.
        Diverged, InvalidDemonstration, CorruptRun, UnwritableOutput, PolicyError: something is wrong; says what.
    """
    tasks = [manifests.load(plan.registry).task(name) for name in plan.order]
    groups = [[one] for one in files_of(demonstrations, tasks)]
    with _locked(out):
        _Course(plan, groups, out, how, start, say, stop or Stop()).run()


def pretrain(
    plan: TrainingPlan,
    demonstrations: Path,
    out: Path,
    how: How,
    start: Path | None = None,
    say: Callable[[str], None] = lambda text: None,
    stop: Stop | None = None,
) -> None:
    """Train all tasks of a plan together; ``out`` then is a checkpoint from which every method can start.

    Raises:
        As ``train``.
    """
    tasks = [manifests.load(plan.registry).task(name) for name in plan.order]
    with _locked(out):
        groups = [files_of(demonstrations, tasks)]
        _Course(plan, groups, out, how, start, say, stop or Stop(), "pretraining").run()


class _Course:
    """A run in its folder, from its first step or from where it was stopped."""

    def __init__(
        self,
        plan: TrainingPlan,
        groups: Sequence[Sequence[TaskFile]],
        out: Path,
        how: How,
        start: Path | None,
        say: Callable[[str], None],
        stop: Stop,
        kind: str = "stage",
    ) -> None:
        self._plan, self._out, self._how, self._say, self._stop, self._kind = plan, out, how, say, stop, kind
        self._streams = Streams(plan.seed)
        self._points: list[tuple[int, float]] = []
        self._curves: list[tuple[str, int, float]] = []
        self._ended: tuple[int, str] | None = None
        length = 0
        fresh = not begun(out)
        if not fresh:
            plan.keep(out)
        if exists(out / NOW):
            length = self._go_on(groups)
        else:
            self._begin(groups, start)
        # Not before: what could not begin leaves the folder free for another try.
        if fresh:
            plan.keep(out, new=True)
        self._log = Log(out, length, how.tensorboard)
        self._progress = Progress(how.progress)
        self._saved = time.monotonic()

    def run(self) -> None:
        """All that is left to do."""
        try:
            if self._training.place.task:
                self._evaluate(range(self._training.place.task))
            while self._training.place.task < len(self._lessons):
                self._one_stage()
        finally:
            self._progress.close()
            self._log.close()

    def _begin(self, groups: Sequence[Sequence[TaskFile]], start: Path | None) -> None:
        plan = self._plan
        if start is not None:
            found = read(start)
            actor = load_actor(found, start)
            with rebuilding(start):
                senses = Senses.from_dict(found.about["senses"])
            check_start(plan, actor.profile, senses, start)
            self._say(f"weights, inputs and their scaling come from {start}")
        else:
            files = [one for group in groups for one in group]
            senses = self._new_senses(files)
            inputs = senses.make_inputs(self._how.features)
            profile = plan.kit.profile(inputs, senses.make_words(self._how.clip), plan.network)
            actor = Actor.made(profile, stream(plan.seed, INITIAL))
            if isinstance(inputs, FeatureInputs):
                self._scale_features(actor, files, inputs)
            if actor.image is not None:
                load_public_weights(actor, Path(self._how.clip) / WEIGHTS)
                self._say(f"the encoders of pictures and text begin with the weights in {self._how.clip}")
        learner = new_learner(plan.method, plan.settings, actor, self._streams.learner)
        self._set_up(groups, senses, learner)

    def _new_senses(self, files: Sequence[TaskFile]) -> Senses:
        kit = self._plan.kit
        inputs, eyes = None, ""
        if kit.objects == PICTURES:
            eyes = EfficientNetLite0.installed().name
        if kit.objects is not None:
            inputs = StateInputs("none" if eyes else kit.objects)
            inputs = replace(inputs, normalisation=fitted(observed(files, inputs, kit.windows)))
            self._say(f"inputs are scaled by mean and deviation of the demonstrations of all {len(files)} tasks")
        senses = Senses(inputs, kit.encoder, folder=self._how.clip, eyes=eyes, mute=kit.mute)
        return replace(senses, version=senses.make_words().name)

    def _scale_features(self, actor: Actor, files: Sequence[TaskFile], inputs: FeatureInputs) -> None:
        kept = "; none are kept" if self._how.features is None else f", kept in {self._how.features}"
        self._say(f"the demonstrations' pictures become features of a frozen encoder once, which takes a while{kept}")
        with self._stop.at_once():
            actor.set_scaling({"features": spread(observed(files, inputs, self._plan.kit.windows), inputs)})

    def _go_on(self, groups: Sequence[Sequence[TaskFile]]) -> int:
        """Takes up the run where it was stopped; the log's length there."""
        place = self._out / NOW
        found = read(place, training=True)
        self._plan.check(found.about, place)
        if not self._how.accept_versions:
            check_versions(found.about.get("versions", {}), versions(self._plan.method), self._out)
        learner = load_learner(found, place, self._streams.learner)
        with rebuilding(place):
            senses, loop = Senses.from_dict(found.about["senses"]), dict(found.going_on["loop"])
            at = Place.of(loop["place"], len(groups))
        self._set_up(groups, senses, learner)
        with rebuilding(place):
            for number in range(at.task):
                learner.recall(number, self._training.data(self._lessons.windows(number)))
            self._training.restore(dict(found.training), loop)
            self._points = [(int(epoch), float(value)) for epoch, value in found.going_on["points"]]
            self._curves = [(str(task), int(epoch), float(value)) for task, epoch, value in found.going_on["curves"]]
            self._ended = tuple(found.going_on["ended"]) if found.going_on["ended"] else None
            length = int(found.going_on["log"])
        where = "between two tasks" if at.phase is None else f"epoch {at.epoch}, batch {at.batch}"
        self._say(f"going on in {self._out}: task {at.task + 1} of {len(self._lessons)}, {where}")
        return length

    def _set_up(self, groups: Sequence[Sequence[TaskFile]], senses: Senses, learner: Any) -> None:
        how = self._how
        self._senses = senses
        self._lessons = Lessons(groups, senses, self._plan, how.features, how.clip)
        self._training = Training(learner, self._plan.kit.recipe, self._streams, how.device, how.compiled, how.readers)

    def _one_stage(self) -> None:
        number, began = self._training.place.task, time.monotonic()
        with self._stop.at_once():
            data = self._training.data(self._lessons.windows(number))
        moments = self._training.task(data)
        with contextlib.closing(moments):  # type: ignore[type-var]
            for moment in moments:
                self._tell(moment)
        self._progress.close()
        sizes = asdict(self._training.learner.sizes())
        self._log.write("task", number, name=self._name(number), windows=len(data.windows), sizes=sizes)
        self._keep_stage(number, sizes)
        self._save()
        self._say(
            f"{self._name(number)}: {len(data.windows)} windows, trained in {time.monotonic() - began:.0f} s; "
            f"{sizes['trained']:,} numbers trained, {sizes['acting']:,} needed to act, {sizes['kept']:,} kept besides"
        )
        self._evaluate([number])

    def _name(self, number: int) -> str:
        return self._plan.order[number] if self._kind == "stage" else f"{len(self._plan.order)} tasks together"

    def _tell(self, moment: Moment) -> None:
        if moment.boundary:
            self._at_boundary(moment)
        else:
            self._progress.tell(moment, len(self._lessons))
            if moment.step % self._how.log_every == 0 or moment.step == moment.steps:
                self._log.step(moment)
        self._stop_if_asked()
        if time.monotonic() - self._saved > self._how.save_every:
            self._save()

    def _stop_if_asked(self) -> None:
        if self._stop.asked:
            self._save()
            raise KeyboardInterrupt(f"stopped and saved in {self._out}; the same command goes on")

    def _at_boundary(self, moment: Moment) -> None:
        rule, every, phase = self._plan.selection.rule, self._plan.selection.every, moment.phase
        if not every or phase.replay or (phase.name != "learn" and rule != "best"):
            return
        epoch = moment.place.epoch
        # This moment comes again to a run that was stopped at it.
        if self._ended == (moment.place.task, phase.name):
            return
        if (epoch % every == 0 or moment.last) and epoch not in [one for one, _ in self._points]:
            self._look(moment)
        if moment.last:
            self._end_of_points(moment)

    def _look(self, moment: Moment) -> None:
        """Success of the present weights on the current task."""
        epoch, task = moment.place.epoch, moment.place.task
        value = self._success(moment)
        better = all(value > other for _, other in self._points)
        if better and self._plan.selection.rule == "best":
            write(self._out / BEST, self._checkpoint("best"))
        self._points.append((epoch, value))
        self._log.write("curve", task, phase=moment.phase.name, epoch=epoch, success=value)
        self._log.success(task, f"{self._name(task)} while it is learned", value, epoch)
        self._save()

    def _end_of_points(self, moment: Moment) -> None:
        best = max(self._points, key=lambda one: (one[1], -one[0]))
        if self._plan.selection.rule == "best":
            place = self._out / BEST
            load_tensors(self._training.learner, read(place), place)
            self._say(f"{self._name(moment.place.task)}: weights of epoch {best[0]}, success {best[1]:.2f}, are kept")
        if moment.phase.name == "learn":
            self._curves += [(self._name(moment.place.task), *one) for one in self._points]
            self._write_curves()
        self._points, self._ended = [], (moment.place.task, moment.phase.name)

    def _success(self, moment: Moment) -> float:
        task, epoch = moment.place.task, moment.place.epoch
        write(self._out / TRY, self._checkpoint("try"))
        assert self._plan.evaluation is not None
        plan = replace(
            self._plan.evaluation,
            stages=(task,),
            tasks=(self._plan.order[task],),
            conditions=("original",),
            init_states=tuple(sorted(self._plan.selection.states)),
        )
        out = self._out / EPOCHS / f"{stage_name(task)}-{moment.phase.name}-{epoch:03d}"
        episodes = self._rollouts(plan, out, None, {"checkpoint": TRY})
        return sum(bool(one.success) for one in episodes) / len(episodes)

    def _evaluate(self, stages: Sequence[int]) -> None:
        """Every planned cell of these stages that has no record yet."""
        plan = self._plan.evaluation
        if plan is None or self._kind != "stage":
            return
        began = time.monotonic()
        episodes = [one for one in self._rollouts(plan, self._out, stages, {}) if one.stage == stages[-1]]
        means = {
            condition: _mean([one for one in episodes if one.condition == condition])
            for condition in sorted({one.condition for one in episodes}, key=_rank)
        }
        for condition, mean in means.items():
            if mean is not None:
                self._log.success(stages[-1], condition, mean, stages[-1])
        self._log.write("stage", stages[-1], episodes=len(episodes), success=means)
        shown = ", ".join(f"{name} {'-' if mean is None else f'{mean:.2f}'}" for name, mean in means.items())
        self._say(f"stage {stages[-1]}: {shown} ({len(episodes)} episodes, {time.monotonic() - began:.0f} s)")

    def _rollouts(
        self, plan: Plan, out: Path, stages: Sequence[int] | None, options: dict[str, Any]
    ) -> tuple[EpisodeRecord, ...]:
        self._progress.close()
        self._stop_if_asked()
        given = {"run": str(self._out.resolve()), **options}
        with self._stop.at_once():
            evaluate(
                POLICY,
                plan,
                out,
                workers=self._how.workers,
                name=self._label(out),
                options=given | ({"clip": self._how.clip} if self._how.clip else {}),
                progress=self._how.progress,
                accept_versions=self._how.accept_versions,
                stages=stages,
            )
        with RunStore.open(out) as store:
            errors, episodes = store.errors(), store.episodes()
        if errors:
            raise PolicyError(
                f"{out}: {len(errors)} episodes ended in an error, such as {errors[0].message}; `gym-grounding errors "
                f"{out}` has them all, and the same command tries them again"
            )
        return episodes

    def _label(self, out: Path) -> str:
        """The run's name in reports; records that are there without a given name keep theirs."""
        if not self._plan.name and (out / RECORDS).exists():
            with RunStore.open(out) as store:
                if not store.is_new:
                    return store.header.name
        return self._plan.name or own_name(self._training.learner.name, self._senses.control)

    def _checkpoint(self, kind: str, **more: Any) -> Checkpoint:
        learner = self._training.learner
        profile: Profile = learner.actor.profile
        about = about_of(self._plan, self._senses, profile.as_dict(), kind=kind, **more)
        return Checkpoint(about, learner.structure(), learner.state_dict())

    def _keep_stage(self, number: int, sizes: dict[str, int]) -> None:
        place = self._out / stage_name(number) if self._kind == "stage" else self._out
        write(place, self._checkpoint(self._kind, stage=number, sizes=sizes))

    def _save(self) -> None:
        tensors, plain = self._training.state()
        going_on = {"loop": plain, "points": self._points, "curves": self._curves, "log": self._log.length}
        going_on["ended"] = self._ended
        found = self._checkpoint("now")
        write(self._out / NOW, replace(found, going_on=going_on, training=tensors))
        self._saved = time.monotonic()

    def _write_curves(self) -> None:
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(("seed", "task", "epoch", "success"))
        rows.writerows((self._plan.seed, *one) for one in self._curves)
        write_bytes(self._out / CURVES, text.getvalue().encode())


def begun(out: Path) -> bool:
    """Whether a folder holds something of a run that another one must not touch."""
    return exists(out / NOW) or (out / RECORDS).exists()


def _rank(condition: str) -> tuple[bool, bool, str]:
    """Originals first, then paraphrases, then the rest by name."""
    return condition != "original", condition != "paraphrase", condition


def _mean(episodes: Sequence[EpisodeRecord]) -> float | None:
    scored = [one.success for one in episodes if one.success is not None]
    return sum(scored) / len(scored) if scored else None


@contextlib.contextmanager
def _locked(out: Path) -> Iterator[None]:
    """One process trains a run at a time.

    Raises:
        UnwritableOutput: the folder cannot be made.
        PlanMismatch: another process trains it.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock = (out / LOCK).open("a")
    except OSError as error:
        raise UnwritableOutput(f"{out}: cannot be written ({error.strerror}); name another folder") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise PlanMismatch(f"{out}: another process is training this run; wait for it, or stop it") from None
        yield

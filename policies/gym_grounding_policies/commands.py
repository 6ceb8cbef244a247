"""The command line of the learners: train, pretrain, probe, show, methods, and those of studies.

Exit codes as in `gym-grounding`: 2 for input errors, 130 when stopped. Heavy modules are imported by the command that
needs them.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gym_grounding import conditions as condition_modules
from gym_grounding import manifest as manifests
from gym_grounding.cli import BadInput, Commands, Directory, conditions_of, order_of, with_options
from gym_grounding.errors import InvalidOption
from gym_grounding.plan import Plan
from gym_grounding.policy import options_of
from gym_grounding.variants.commands import numbers
from gym_grounding_policies import learners
from gym_grounding_policies.study.commands import pack, study, unpack

if TYPE_CHECKING:
    from gym_grounding_policies.training.kits import Kit
    from gym_grounding_policies.training.plan import Asked, TrainingPlan
    from gym_grounding_policies.training.stages import How

F = TypeVar("F", bound=Callable[..., Any])

EXTRA = ("torch", "safetensors", "tokenizers")
"""Modules of the extra ``policies`` that the commands import."""
THREADS = os.cpu_count() or 1
"""More only wait for each other, and very many end the process."""
_FOLDER = click.Path(path_type=Path)
RECIPE_OPTIONS = (
    click.option(
        "--profile",
        default="cpu",
        show_default=True,
        help="cpu (states, or frozen features of pictures) or paper (pictures, CLIP).",
    ),
    click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of every random stream."),
    click.option("--demos", type=_FOLDER, required=True, help="Folder of `gym-grounding demos make`, or LIBERO's own."),
    click.option("--demonstrations", type=click.IntRange(1), help="Of each task, the first ones; default: all."),
    click.option("--epochs", type=click.IntRange(0), help="Of each task; default: the profile's."),
    click.option("--batch-size", type=click.IntRange(1), help="Windows; default: the profile's."),
    click.option("--lr", type=float, help="Learning rate at its peak; default: the profile's for such methods."),
    click.option("--weight-decay", type=float, help="Of AdamW; default: the profile's."),
    click.option("--schedule", help="one-cycle or constant; default: the profile's."),
    click.option("--accumulate", type=click.IntRange(1), help="Batches that make a step; default: the profile's."),
    click.option("--precision", help="float32, float16 or bfloat16; default: the profile's."),
    click.option(
        "--objects", help="cpu: what it sees besides itself: all, joints, none or pictures; default: the profile's."
    ),
    click.option("--encoder", help="Of sentences: minilm, or for tests hashing; default: the profile's."),
    click.option("--mute", is_flag=True, help="A control: every sentence is blanked, in training and in acting."),
    click.option("--net", multiple=True, metavar="KEY=VALUE", help="cpu: width, layers, head, executed, dropout."),
    click.option("--clip", type=_FOLDER, help="paper: folder of openai/clip-vit-base-patch16 on your disk."),
    click.option("--init", type=_FOLDER, help="Checkpoint of `pretrain` to start from; its network and scaling rule."),
    click.option("--registry", type=_FOLDER, help="A registry file of your own."),
)
HOW_OPTIONS = (
    click.option("--device", default="cpu", show_default=True, help="cpu, cuda, cuda:1."),
    click.option("--readers", type=click.IntRange(0), default=0, show_default=True, help="Processes that read ahead."),
    click.option("--compile", "compiled", is_flag=True, help="Let torch.compile translate the network."),
    click.option(
        "--threads", type=click.IntRange(1, THREADS), default=1, show_default=True, help="Of torch, in training."
    ),
    click.option("--tensorboard", default="auto", show_default=True, help="auto, on, off."),
    click.option("--accept-versions", is_flag=True, help="Go on although code or libraries changed."),
    click.option("--quiet", is_flag=True, help="No progress."),
)


class _Commands(Commands):
    """Says too how to install what is missing."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] not in EXTRA:
                raise
            raise BadInput(f"{error.name} is not installed. Run: pip install 'gym-grounding[policies]'") from error


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="gym-grounding")
def main() -> None:
    """Continual imitation learners on LIBERO, trained by one loop and evaluated like any policy."""


@main.command()
@click.option("--method", required=True, help="Such as er, or MODULE:LEARNER of another package; see `methods`.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Setting of the method; see `methods`.")
@click.option("--suite", default="LiberoGoal", show_default=True, help="Suite of the registry.")
@click.option("--order", default="0", show_default=True, help="8 is LIBERO's training order 8; 8,4,1 are task numbers.")
@with_options(*RECIPE_OPTIONS)
@click.option("--select", default="last", show_default=True, help="Weights that go on: last or best evaluated epoch.")
@click.option(
    "--curve-every",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Evaluate the task that is learned every so many epochs (for forward transfer, and for --select best).",
)
@click.option("--curve-states", default="40:50", show_default=True, help="Initial states of these evaluations.")
@click.option("--conditions", help=f"Default: {','.join(condition_modules.standard())}; all: the controls too.")
@click.option("--init-states", default="0:20", show_default=True, help="Evaluated; such as 0:20 or 0,7.")
@click.option("--every-stage", is_flag=True, help="All conditions after every stage, not some only the last.")
@click.option("--horizon", type=click.IntRange(1), help="Steps of an episode at most; default: the profile's.")
@click.option("--act", help="sample or mean; default: the profile's.")
@click.option("--batch", type=click.IntRange(1), default=1, show_default=True, help="Episodes side by side.")
@click.option("--name", default="", help="Of the run in reports; default: the method, with mute or blind.")
@click.option("--no-evaluation", is_flag=True, help="Train only.")
@click.option("--workers", type=click.IntRange(0), default=1, show_default=True, help="Processes of evaluations.")
@with_options(*HOW_OPTIONS)
@click.option("--out", type=Directory(), required=True, help="Folder of the run; if it holds this run, it goes on.")
def train(out: Path, no_evaluation: bool, act: str | None, **given: Any) -> None:
    """Train a method on the tasks of a suite, one after the other, and evaluate it after each."""
    from gym_grounding_policies.training.plan import Selection
    from gym_grounding_policies.training.stages import train as run

    order = _order(given["suite"], _text(given["registry"]), given["order"])
    every, states = given["curve_every"], numbers(given["curve_states"], "--curve-states")
    asked = _asked(
        given,
        act,
        method=given["method"],
        tasks=order,
        suite=given["suite"],
        settings=options_of(given["settings"], "--set"),
        run=_going_on(out),
        selection=Selection(given["select"], every, states if every else ()),
        conditions=conditions_of(given["conditions"]),
        init_states=() if no_evaluation else numbers(given["init_states"], "--init-states"),
        every_stage=given["every_stage"],
        horizon=given["horizon"],
        batch=given["batch"],
        name=given["name"],
    )
    _run(run, asked, out, given, workers=given["workers"])


@main.command()
@click.option("--tasks", "names", multiple=True, required=True, metavar="SUITE[:0,1,...]", help="Of any suites.")
@with_options(*RECIPE_OPTIONS, *HOW_OPTIONS)
@click.option(
    "--out", type=Directory(), required=True, help="Folder of the checkpoint; if it holds this run, it goes on."
)
def pretrain(out: Path, names: tuple[str, ...], **given: Any) -> None:
    """Train tasks of any suites together: a checkpoint from which all methods start (`train --init`)."""
    from gym_grounding_policies.training.stages import pretrain as run

    manifest = manifests.load(given["registry"])
    tasks = tuple(dict.fromkeys(task for name in names for task in _tasks(manifest, name)))
    _run(run, _asked(given, None, method="seqft", tasks=tasks, run=_going_on(out)), out, given)


@main.command()
@click.argument("run", type=_FOLDER)
@click.option("--demos", type=_FOLDER, required=True, help="Demonstrations whose moments are shown, and their actions.")
@click.option("--every", type=click.IntRange(1), default=10, show_default=True, help="Show every so many moments.")
@click.option("--limit", type=click.IntRange(1), default=2, show_default=True, help="Demonstrations of each task.")
@click.option("--every-stage", is_flag=True, help="The policies of all stages, not that of the last only.")
def probe(run: Path, demos: Path, **given: Any) -> None:
    """Ask the policies of a RUN of `train` for actions under two instructions (action divergence, language margin)."""
    from gym_grounding_policies.probing import probe_run

    found = probe_run(run, demos, **given)
    asked = ", ".join(map(str, found.stages))
    click.echo(f"{run}: {found.added} new probes at {found.moments} moments, stages {asked}")
    if found.no_margin:
        click.echo(f"no language margin: {found.no_margin}")


@main.command()
@click.argument("checkpoint", type=_FOLDER)
def show(checkpoint: Path) -> None:
    """What a CHECKPOINT (or a run's last one) was trained on and how, and what its tensors are."""
    from gym_grounding_policies.trained import checkpoint_of
    from gym_grounding_policies.training.build import rebuilding
    from gym_grounding_policies.training.checkpoint import read
    from gym_grounding_policies.training.senses import Senses, perceived

    place = checkpoint_of(checkpoint, None)
    found = read(place)
    tensors = sum(value.numel() for value in found.learner.values())
    about = {key: value for key, value in found.about.items() if key != "senses"}
    click.echo(json.dumps(about, indent=1))
    with rebuilding(place):
        senses = Senses.from_dict(found.about["senses"])
    click.echo(f"perceives {perceived(senses.sees, senses.encoder, senses.mute)}")
    click.echo(f"{place}: {len(found.learner)} tensors, {tensors:,} numbers")


@main.command()
def methods() -> None:
    """The methods with their settings, what they need of the task's number, and what each is."""
    for name in learners.names():
        kind = learners.get(name)
        told = [
            text
            for text, needed in (
                ("training", kind.task_index_in_training),
                ("test", kind.task_index_at_test),
            )
            if needed
        ]
        click.echo(f"{name}: {_first_line(kind)} Task's number used in: {' and '.join(told) or 'nothing'}.")
        for field in dataclasses.fields(kind.Settings):
            click.echo(f"    --set {field.name}={_shown(field)}")
    click.echo("MODULE:LEARNER: a learner of another package, see gym_grounding_policies.learners._base")


def _run(run: Callable[..., None], asked: Asked, out: Path, given: Mapping[str, Any], **more: Any) -> None:
    import torch

    from gym_grounding_policies.data.features import FOLDER
    from gym_grounding_policies.devices import device_of
    from gym_grounding_policies.training.plan import planned
    from gym_grounding_policies.training.stages import How
    from gym_grounding_policies.training.stop import Stop

    device_of(given["device"])
    torch.set_num_threads(given["threads"])
    how = How(
        device=given["device"],
        readers=given["readers"],
        compiled=given["compiled"],
        tensorboard=given["tensorboard"],
        progress=not given["quiet"],
        accept_versions=given["accept_versions"],
        clip=_text(given["clip"]) or "",
        features=given["demos"] / FOLDER,
        **more,
    )
    plan = planned(asked)
    for line in rules(plan, how):
        click.echo(line)
    with Stop() as stop:
        run(plan, given["demos"], out, how, start=given["init"], say=click.echo, stop=stop)


def rules(plan: TrainingPlan, how: How) -> list[str]:
    """What was chosen, in lines."""
    from gym_grounding_policies.training.senses import perceived

    recipe, windows, selection = plan.kit.recipe, plan.kit.windows, plan.selection
    settings = ", ".join(f"{name}={value}" for name, value in plan.settings.items())
    lines = [
        f"method {plan.method}" + (f" ({settings})" if settings else "") + f", seed {plan.seed}, on {how.device}",
        f"tasks in this order: {', '.join(plan.order)}",
        f"perceives {perceived(plan.kit.objects, plan.kit.encoder, plan.kit.mute)}",
        f"each {recipe.epochs} epochs of AdamW, batch {recipe.batch}, rate {recipe.lr:g} ({recipe.schedule}), decay "
        f"{recipe.weight_decay:g}, gradients clipped at {recipe.clip:g}",
        f"windows of {windows.history} steps, chunks of {windows.chunk}, padding {windows.padding}, pairing "
        f"{windows.pairing}, {windows.demonstrations or 'all'} demonstrations a task",
    ]
    if plan.evaluation is not None:
        count = len(plan.evaluation.init_states)
        lines.append(
            f"evaluated after each stage: {', '.join(plan.evaluation.conditions)} on {count} initial states, horizon "
            f"{plan.evaluation.horizon}, acting by the density's {plan.kit.act}"
        )
    best = "those of the earliest evaluated epoch with the largest success, on initial states that are not reported"
    lines.append(f"weights that go on: {best if selection.rule == 'best' else 'those of the last epoch'}")
    return lines


def _asked(given: Mapping[str, Any], act: str | None, **more: Any) -> Asked:
    from gym_grounding_policies.training.plan import Asked

    return Asked(
        seed=given["seed"],
        kit=_kit(given, act),
        demonstrations=given["demos"],
        registry=_text(given["registry"]),
        start=given["init"],
        network=options_of(given["net"], "--net"),
        **more,
    )


def _going_on(out: Path) -> Path | None:
    """The run's folder where it can go on by itself."""
    from gym_grounding_policies.training.checkpoint import NOW, exists

    return out if exists(out / NOW) else None


def _kit(given: Mapping[str, Any], act: str | None) -> Kit:
    """The profile's kit with what was given instead."""
    from gym_grounding_policies.training.kits import kit

    found = kit(given["profile"])
    if "method" in given:
        found = found.for_method(learners.get(given["method"]).adapts)
    names = ("epochs", "lr", "weight_decay", "schedule", "accumulate", "precision")
    changes = {name: given[name] for name in names if given[name] is not None}
    if given["batch_size"] is not None:
        changes["batch"] = given["batch_size"]
    if given["objects"] is not None and found.objects is None:
        raise InvalidOption("--objects is for the profile cpu; paper sees pictures through encoders that it trains")
    return dataclasses.replace(
        found,
        recipe=dataclasses.replace(found.recipe, **changes),
        windows=dataclasses.replace(found.windows, demonstrations=given["demonstrations"]),
        objects=given["objects"] or found.objects,
        encoder=given["encoder"] or found.encoder,
        act=act or found.act,
        mute=given["mute"],
    )


def _order(suite: str, registry: str | None, text: str) -> tuple[str, ...]:
    """Ids in training order."""
    return Plan.make(suite, registry=registry, order=order_of(text), init_states=(0,)).order


def _tasks(manifest: manifests.Manifest, name: str) -> tuple[str, ...]:
    """Ids of ``SUITE`` or ``SUITE:0,1``."""
    suite, colon, listed = name.partition(":")
    known = {task.index: task.id for task in manifest.suite_tasks(suite)}
    chosen = numbers(listed, "--tasks") if colon else tuple(known)
    missing = [number for number in chosen if number not in known]
    if missing:
        raise InvalidOption(f"--tasks {name}: {suite} has no task {missing[0]}; it has {min(known)} to {max(known)}")
    return tuple(known[number] for number in chosen)


def _first_line(kind: type) -> str:
    return (kind.__doc__ or "").strip().partition("\n")[0]


def _shown(field: dataclasses.Field[Any]) -> str:
    if field.default is not dataclasses.MISSING:
        return json.dumps(field.default, default=str)
    return json.dumps(field.default_factory(), default=str) if callable(field.default_factory) else "(needed)"


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


for command in (study, pack, unpack):
    main.add_command(command)


if __name__ == "__main__":
    main()

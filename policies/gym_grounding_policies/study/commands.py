"""The commands `study`, `pack` and `unpack`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from gym_grounding.cli import Directory

_FOLDER = click.Path(path_type=Path)


@click.command()
@click.option("--config", type=_FOLDER, required=True, help="TOML file, see docs/study.md.")
@click.option("--out", type=Directory(), required=True, help="Folder of the study; if it holds this study, it goes on.")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Runs side by side.")
@click.option("--records", type=_FOLDER, help="Files of `pack`: their runs count as done.")
@click.option("--dry-run", is_flag=True, help="Only say what would be done, and about how long it takes.")
@click.option("--no-estimate", is_flag=True, help="Do not measure how long it takes (a short trial of each method).")
@click.option("--quiet", is_flag=True, help="No progress.")
def study(
    config: Path, out: Path, workers: int, records: Path | None, dry_run: bool, no_estimate: bool, quiet: bool
) -> None:
    """Train and evaluate every method with every seed, from one pretrained start, and write the report."""
    from gym_grounding_policies.study.config import read
    from gym_grounding_policies.study.course import Course
    from gym_grounding_policies.study.plan import locked, planned
    from gym_grounding_policies.training.stop import Stop

    train, pretrain = _commands("train", "pretrain")
    found = read(config, train, pretrain)
    course = Course(found, planned(found, train, pretrain), out, (train, pretrain), click.echo)
    course.describe()
    if not no_estimate:
        course.estimate(workers)
    if dry_run:
        return
    with locked(out), Stop() as stop:
        course.run(workers, records, stop, progress=not quiet)


@click.command()
@click.argument("study", type=_FOLDER)
@click.option("--out", type=_FOLDER, required=True, help="Folder of the files.")
def pack(study: Path, out: Path) -> None:
    """Write the records of every finished run of a STUDY as one small file each, without weights."""
    from gym_grounding_policies.study.pack import pack as packed

    for file in packed(study, out):
        click.echo(f"{file}: {file.stat().st_size:,} bytes")


@click.command()
@click.argument("files", nargs=-1, required=True, type=_FOLDER)
@click.option("--out", type=_FOLDER, required=True, help="Folder of a study; made if it is not there.")
def unpack(files: Sequence[Path], out: Path) -> None:
    """Make finished runs of FILES of `pack`; `gym-grounding report OUT/runs/*` reads them."""
    from gym_grounding_policies.study.pack import unpack as unpacked
    from gym_grounding_policies.study.plan import locked

    with locked(out):
        for file in files:
            click.echo(f"{out / 'runs' / unpacked(file, out)}")


def _commands(*names: str) -> tuple[click.Command, ...]:
    """Commands of the program that runs."""
    group = click.get_current_context().find_root().command
    assert isinstance(group, click.Group)
    return tuple(group.commands[name] for name in names)

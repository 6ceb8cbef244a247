"""The commands ``gym-grounding show`` and ``gym-grounding films``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from gym_grounding import manifest as manifests
from gym_grounding.plan import HORIZON
from gym_grounding.policy import PolicySource, options_of
from gym_grounding.types import OBSERVATIONS, ORIENTATIONS, SceneSettings
from gym_grounding.variants.commands import listed as words
from gym_grounding.variants.show import variant_id


@click.command("show")
@click.argument("variant")
@click.option("--registry", type=click.Path(path_type=Path), help="A registry file of your own; default: the shipped.")
@click.option("--policy", default="oracle", show_default=True, help="A reference policy, or MODULE:OBJECT.")
@click.option("--policy-option", multiple=True, metavar="KEY=VALUE", help="Argument of the policy's class.")
@click.option("--init-state", type=int, default=0, show_default=True, help="Which start.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the policy.")
@click.option("--horizon", type=int, default=HORIZON, show_default=True, help="Most policy steps.")
@click.option("--full", is_flag=True, help="Go on to the horizon, also after the goal.")
@click.option("--size", type=click.IntRange(64, 2048), default=256, show_default=True, help="Of the picture [pixels].")
@click.option("--observation", type=click.Choice(OBSERVATIONS), help="Default: what the policy declares, or pixels.")
@click.option("--image-size", type=int, help="Of the pictures that the policy sees, if it sees any; default: 128.")
@click.option("--orientation", type=click.Choice(ORIENTATIONS), default="raw", show_default=True, help="Of those.")
@click.option(
    "--video",
    type=click.Path(path_type=Path),
    required=True,
    help="The file: .mp4 or .gif, or .png for a contact sheet.",
)
@click.option("--force", is_flag=True, help="Replace the file if it is there already.")
def show_command(
    variant: str,
    registry: Path | None,
    policy: str,
    policy_option: tuple[str, ...],
    observation: str | None,
    image_size: int | None,
    orientation: str,
    size: int,
    video: Path,
    force: bool,
    **given: Any,
) -> None:
    """Film one episode of a VARIANT (id of the variant or of its environment), played by any policy."""
    from gym_grounding.showing import Episode, show

    manifest = manifests.load(registry)
    source = PolicySource(policy, options_of(policy_option))
    kind = observation or source.observation or SceneSettings().observation
    # Where the policy sees no pictures, they can have the film's size at once.
    seen = size if kind == "state" else image_size or SceneSettings().image_size
    settings = SceneSettings(kind, seen, orientation, manifest.settle)
    episode = Episode(variant_id(variant, manifest.version), settings=settings, **given)
    outcome = show(manifest, episode, source, video, size=size, force=force, progress=_shown)
    text = manifest.variant(episode.variant).instruction
    start = f"initial state {episode.init_state}"
    click.echo(f"{video}: {episode.variant}, {start}, {source.description}, {text!r}: {outcome.summary}")


def _shown(moments: Iterable[Any], total: int) -> Iterable[Any]:
    from tqdm import tqdm

    return tqdm(moments, total=total, unit="step", disable=None)


@click.command("films")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="Folder, such as `films` in a report's folder."
)
@click.option("--per", type=click.IntRange(1), default=1, show_default=True, help="Films of each outcome.")
@click.option("--outcomes", help="Such as success,persistence,switch,none; default: all.")
@click.option("--conditions", help="Such as contrast,collision; default: all that the runs have.")
@click.option("--variants", help="Ids of variants, each a group of its own; default: grouped by condition.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the choice.")
@click.option("--size", type=click.IntRange(64, 1024), default=256, show_default=True, help="Of the picture [pixels].")
@click.option("--quiet", is_flag=True, help="No progress.")
def films_command(
    runs: tuple[Path, ...],
    out: Path,
    per: int,
    outcomes: str | None,
    conditions: str | None,
    variants: str | None,
    seed: int,
    size: int,
    quiet: bool,
) -> None:
    """Film chosen episodes of RUNS, simulated again from their records; a report beside them shows them.

    The exit code is 1 where something else happened than was recorded.
    """
    from tqdm import tqdm

    from gym_grounding.showing import OUTCOMES, choose, make

    chosen = choose(runs, per, words(outcomes) or OUTCOMES, words(conditions), words(variants), seed)
    differing = make(chosen, out, size, lambda films, total: tqdm(films, total=total, unit="film", disable=quiet))
    click.echo(f"{out}: {len(chosen)} films of {len(runs)} runs")
    for line in differing:
        click.echo(line, err=True)
    if differing:
        raise SystemExit(1)

"""From an episode to a file, and to one sentence about what was achieved."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from gym_grounding import adapters
from gym_grounding.film import film
from gym_grounding.manifest import Manifest
from gym_grounding.policy import PolicySource
from gym_grounding.showing._caption import Caption
from gym_grounding.showing._episode import Episode, Moment

Progress = Callable[[Iterable[Moment], int], Iterable[Moment]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a shown episode.

    Attributes:
        last: its last moment.
    """

    last: Moment

    @property
    def summary(self) -> str:
        """Such as ``original goal never reached, target goal reached at step 62 and true at the end; 82 steps``.

        What the policy says of itself at the end comes last.
        """
        last = self.last
        named = [f"{label} goal {self._of(label)}" for label in last.labels if label in ("original", "target")]
        others = [label for label in last.first if label not in ("original", "target")]
        more = [f"{label}'s goal {self._of(label)}" for label in others]
        said = f"; {last.remark}" if last.remark else ""
        return f"{', '.join([*named, *more])}; {last.step} steps{said}"

    def _of(self, label: str) -> str:
        if label in self.last.void:
            return "true from the start"
        if label not in self.last.first:
            return "never reached"
        ending = "and true" if label in self.last.held else "but not true"
        return f"reached at step {self.last.first[label]} {ending} at the end"


def show(
    manifest: Manifest,
    episode: Episode,
    policy: PolicySource,
    path: Path,
    *,
    size: int = 256,
    force: bool = False,
    progress: Progress = lambda moments, total: moments,
) -> Outcome:
    """Play an episode and film it.

    Args:
        manifest: holds the variant.
        episode: which.
        policy: who plays.
        path: the file; its ending says the format, see ``film.FORMATS``.
        size: side of the picture, above the caption [pixels].
        force: an old file is replaced.
        progress: wraps the moments; also gets their greatest number.

    Raises:
        UnwritableOutput: the file is there already or cannot be written.
        UnknownName, PolicyError, InvalidOption, MissingSource, MissingRenderer, WrongVersion, SimulatorError: see
            ``Episode.play``.
    """
    row = manifest.variant(episode.variant)
    caption, last, adapter = Caption(row.instruction, size), None, adapters.get(manifest.adapter_name(row.task))
    try:
        with film(path, adapter.fps, force) as written, closing(episode.play(policy, manifest)) as moments:
            for moment in progress(moments, episode.horizon + 1):
                written.add(caption.framed(moment))
                last = moment
    finally:
        # Painters that live on until the interpreter ends complain there.
        getattr(adapter, "clear", lambda: None)()
    assert last is not None  # the start is always shown
    return Outcome(last)

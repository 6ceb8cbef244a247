"""What a run learns from: the windows of its tasks, and whether a start fits them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gym_grounding.errors import InvalidOption
from gym_grounding_policies.data.windows import TaskFile, Windows
from gym_grounding_policies.nets.profiles import Profile
from gym_grounding_policies.training.plan import TrainingPlan
from gym_grounding_policies.training.senses import Senses


class Lessons:
    """The windows of each task of a training order, made when they are asked for.

    Args:
        groups: files of each lesson.
        senses: what is perceived.
        plan: how demonstrations are cut.
        features: folder where features of pictures are kept; None for none.
        clip: folder of CLIP's tokenizer, where it has moved.
    """

    def __init__(
        self, groups: Sequence[Sequence[TaskFile]], senses: Senses, plan: TrainingPlan, features: Path | None, clip: str
    ) -> None:
        self._groups, self._settings = groups, plan.kit.windows
        self._inputs, self._words = senses.make_inputs(features), senses.make_words(clip)

    def __len__(self) -> int:
        """Number of lessons."""
        return len(self._groups)

    def windows(self, number: int) -> Windows:
        """All windows of a lesson."""
        return Windows(self._groups[number], self._inputs, self._words, self._settings)


def check_start(plan: TrainingPlan, profile: Profile, senses: Senses, start: Path) -> None:
    """Raises InvalidOption where a start has other windows, inputs or network than the plan.

    A mute run begins from a mute start, and only such a run does. What a start learned from sentences would reach the
    control through its weights, and methods that keep them frozen would meet the empty instruction for the first time,
    so that the control would be worse for a reason that is not the missing sentence. A run with words from a start that
    never heard any would have the same fault the other way round.
    """
    windows = plan.kit.windows
    mine: dict[str, object] = {
        "history": windows.history,
        "chunk": windows.chunk,
        "sees": plan.kit.objects,
        "encoder": plan.kit.encoder,
        "mute": plan.kit.mute,
        **plan.network,
    }
    theirs: dict[str, object] = {
        "history": profile.history,
        "chunk": profile.head.chunk,
        "sees": senses.sees,
        "encoder": senses.encoder,
        "mute": senses.mute,
        "width": profile.width,
        "layers": profile.temporal.layers,
        "head": profile.head.kind,
        "executed": profile.executed,
        "dropout": profile.temporal.dropout,
    }
    changed = [f"{name} {theirs[name]} there, {mine[name]} asked" for name in mine if mine[name] != theirs[name]]
    if changed:
        raise InvalidOption(f"{start} was pretrained with {'; '.join(changed)}; train with the same")

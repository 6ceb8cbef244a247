"""What a reader should know of a method before its numbers: words it does not use, stages that change nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gym_grounding.manifest import NOT_SHOWN
from gym_grounding.metrics.action import text_note
from gym_grounding.metrics.goal_switch import either_void
from gym_grounding.records import EpisodeRecord
from gym_grounding.report._coverage import total
from gym_grounding.report._study import Method

LISTED = 10
"""Ids that a remark lists before it only counts."""
FROZEN = (
    "every stage gave the same episodes: the policy does not change with the stage, so AUC, NBT and the stage figures "
    "say nothing about learning"
)


def warnings(method: Method) -> Iterator[str]:
    """What makes numbers of a method mean something else than they seem to."""
    count = total(method)
    if count.missing or count.error:
        yield (
            f"{method.name}: of {count.planned or 'its'} planned cells {count.missing or 0} are missing and "
            f"{count.error} ended in an error; the numbers speak of the {count.done} that are done"
        )
    note = text_note(method.evidence)
    if note:
        yield f"{method.name}: {note}"
    if frozen(method.evidence.episodes):
        yield f"{method.name}: {FROZEN}"


def frozen(episodes: tuple[EpisodeRecord, ...]) -> bool:
    """Whether some cells were evaluated at several stages and none of them came out differently at two.

    Compared are steps, outcome, first steps of the goals and the hand's largest distance from its start, to 1 mm.
    """
    seen: dict[tuple[str, int, int], list[tuple[object, ...]]] = defaultdict(list)
    for one in episodes:
        course = (one.steps, one.ended, one.success, sorted(one.first_held.items()), round(one.displacement, 3))
        seen[one.variant, one.init_state, one.seed].append(course)
    repeated = [courses for courses in seen.values() if len(courses) > 1]
    return bool(repeated) and all(course == courses[0] for courses in repeated for course in courses)


def worth_a_look(method: Method) -> Iterator[str]:
    """What the summary's numbers hide: goals that nobody was shown to reach, and contrasts that reached none at all."""
    apart = not_shown(method)
    if apart:
        verb = "goal is" if len(apart) == 1 else "goals are"
        yield (
            f"{method.name}: {len(apart)} instructed {verb} not shown reachable by the registry's oracle and counted "
            f"apart: {_listed(apart)}"
        )
    lost = unreached(method)
    if lost:
        variants = "1 contrast variant" if len(lost) == 1 else f"{len(lost)} contrast variants"
        yield (
            f"{method.name}: in {variants} no goal was reached in any episode: {_listed(lost)}. This "
            "may be an action that the policy cannot carry out rather than words that it does not understand"
        )


def not_shown(method: Method) -> tuple[str, ...]:
    """Evaluated variants, by id, whose goal the registry does not show to be reachable."""
    evidence = method.evidence
    variants = {one.variant for one in evidence.episodes if one.stage == evidence.final_stage}
    return tuple(sorted(one for one in variants if evidence.reach.get(one) == NOT_SHOWN))


def unreached(method: Method) -> tuple[str, ...]:
    """Contrasts, by id, whose episodes at the last stage all reached no registered goal.

    Void episodes do not count, nor goals that are not shown reachable: they are named on their own.
    """
    reached: dict[str, bool] = {}
    for one in method.evidence.counted(method.evidence.select("contrast", method.evidence.final_stage)):
        if not either_void(one):
            reached[one.variant] = reached.get(one.variant, False) or any(map(one.reached, one.first_held))
    return tuple(sorted(variant for variant, found in reached.items() if not found))


def _listed(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return f"{', '.join(names[:LISTED])}{more}"

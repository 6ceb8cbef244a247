"""Every quantity of a report once more, in the plainest way: loops over records, exact fractions, nothing shared.

Written from the definitions (the metrics page, docs/statistics.md). Nothing of ``gym_grounding.metrics`` is used but
the attributes of the evidence, so that a fault would have to be made twice. Bootstrap intervals are not here; they are
tested for coverage.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from statistics import NormalDist
from typing import Any, NamedTuple

SLOTS = ("action", "object", "relation", "target", "attribute")
STANDINGS = ("stable", "transient", "trivial", "not_shown", "not_measured")
ASIDE = ("not_shown", "not_measured")
THRESHOLDS = (0.01, 0.02, 0.05, 0.10)
CONTROLS = ("swap", "null", "shuffled", "negated", "noise", "reverse")
PARTS = {"noise": {"1": "one_error", "2": "two_errors"}, "reverse": {"1": "asks_for_change", "2": "is_so_already"}}
AUTOMATIC = "no Wilson interval is expected"


class Plain(NamedTuple):
    """What is compared of a value; a field that is ``AUTOMATIC`` is not."""

    mean: Any
    std: Any = AUTOMATIC
    interval: Any = AUTOMATIC
    n: Any = AUTOMATIC
    variants: Any = AUTOMATIC
    tasks: Any = AUTOMATIC
    seeds: Any = AUTOMATIC
    void: Any = AUTOMATIC
    per_seed: Any = AUTOMATIC


class Row(NamedTuple):
    """One number and where it belongs."""

    seed: int
    task: str
    variant: str
    value: Any


def key(method, quantity, **scope):
    return method, quantity, frozenset((name, value) for name, value in scope.items() if value is not None)


def mean(values):
    exact = [Fraction(value) if isinstance(value, float) else value for value in values]
    return Fraction(sum(exact)) / len(exact)


def table(rows):
    """seed -> task -> variant -> values."""
    found = {}
    for row in rows:
        found.setdefault(row.seed, {}).setdefault(row.task, {}).setdefault(row.variant, []).append(row.value)
    return found


def by_task(rows):
    """(seed, task) -> mean over variants of the means over starts."""
    return {
        (seed, task): mean([mean(values) for values in variants.values()])
        for seed, tasks in table(rows).items()
        for task, variants in tasks.items()
    }


def by_seed(rows):
    tasks = by_task(rows)
    return {seed: mean([value for (at, _), value in tasks.items() if at == seed]) for seed, _ in tasks}


def deviation(values):
    if len(values) < 2:
        return None
    centre = sum(values) / len(values)
    return math.sqrt(sum((value - centre) ** 2 for value in values) / (len(values) - 1))


def summary(per_seed, rows, **more):
    values = [float(value) for value in per_seed.values()]
    return Plain(
        mean=sum(values) / len(values),
        std=deviation(values),
        n=len(rows),
        variants=len({row.variant for row in rows}),
        tasks=len({row.task for row in rows}),
        seeds=len(per_seed),
        per_seed={seed: float(value) for seed, value in per_seed.items()},
        **more,
    )


def balanced(rows):
    return summary(by_seed(rows), rows) if rows else Plain(None, n=0)


def wilson(share, n):
    z = NormalDist().inv_cdf(0.975)
    # the two rates whose own normal interval just reaches the share: roots of (share - p)^2 = z^2 p (1 - p) / n
    a, b, c = 1 + z * z / n, -(2 * share + z * z / n), share * share
    root = math.sqrt(max(0.0, b * b - 4 * a * c))
    return (-b - root) / (2 * a), (-b + root) / (2 * a)


def kish(rows):
    """(Sum of weights)^2 / sum of squared weights, each start weighted as it enters the mean."""
    found = table(rows)
    weights = [
        1 / len(found) / len(tasks) / len(variants) / len(values)
        for tasks in found.values()
        for variants in tasks.values()
        for values in variants.values()
        for _ in values
    ]
    return sum(weights) ** 2 / sum(weight * weight for weight in weights)


def rate(episodes, holds, void=lambda one: False):
    counted = [one for one in episodes if not void(one)]
    left_out = len(episodes) - len(counted)
    if not counted:
        return Plain(None, n=0, void=left_out)
    rows = [Row(one.seed, one.task, one.variant, int(bool(holds(one)))) for one in counted]
    value = summary(by_seed(rows), rows, void=left_out)
    return value._replace(interval=wilson(value.mean, kish(rows)))


def reached(one, label, end=False):
    return label not in one.void and label in (one.held_at_end if end else one.first_held)


def moved(threshold):
    return lambda one: any(float(crossed) > threshold - 1e-6 for crossed in one.motion_steps)


def succeeded(one):
    return one.success is True


def unscored(one):
    return one.success is None


def original_void(one):
    return "original" in one.void


def pair_void(one):
    return "original" in one.void or "target" in one.void


class Reader:
    """The records of one method, picked by loops."""

    def __init__(self, evidence):
        self.name = evidence.method
        self.order = list(evidence.order)
        self.tasks = list(evidence.tasks)
        self.final = sorted(evidence.stages)[-1]
        self.planned = evidence.conditions
        self.episodes = list(evidence.episodes)
        self.probes = list(evidence.probes)
        self.curves = list(evidence.curves)
        self.trained = dict(evidence.trained)
        self.owner = dict(evidence.instruction_of)
        self.reach = dict(evidence.reach)
        self.planned_tiers = list(evidence.tiers)

    def of(self, condition, stage=None, tier=None):
        return [
            one
            for one in self.episodes
            if one.condition == condition and stage in (None, one.stage) and tier in (None, one.tier)
        ]

    def counting(self, episodes):
        return [one for one in episodes if self.reach.get(one.variant) not in ASIDE]

    def last(self, condition, tier=None):
        return self.of(condition, self.final, tier)

    def stages(self, condition):
        return sorted({one.stage for one in self.of(condition)} | {self.final})

    def tiers(self):
        extra = {one.tier for one in [*self.episodes, *self.probes] if one.condition == "contrast"}
        return [*self.planned_tiers, *sorted(extra - {None} - set(self.planned_tiers))]

    def variants(self, episodes):
        return [[one for one in episodes if one.variant == name] for name in sorted({one.variant for one in episodes})]

    def standings(self, episodes):
        for standing in STANDINGS:
            part = [one for one in episodes if self.reach.get(one.variant) == standing]
            if part:
                yield standing, part


def success(me):
    pairs = {("original", None), ("paraphrase", None)}
    pairs |= {
        (one.condition, one.tier)
        for one in me.episodes
        if one.success is not None and one.condition not in ("original", "paraphrase")
    }
    for condition, tier in pairs:
        for stage in me.stages(condition):
            place = {"condition": condition, "tier": tier, "stage": stage}
            every = me.of(condition, stage, tier)
            counted = me.counting(every)
            yield key(me.name, "success", **place), rate(counted, succeeded, unscored)
            for task in me.order:
                own = [one for one in counted if one.task == task]
                if own:
                    yield key(me.name, "success", task=task, **place), rate(own, succeeded, unscored)
            if stage == me.final:
                for standing, part in me.standings(every):
                    yield key(me.name, "success", reach=standing, **place), rate(part, succeeded, unscored)
                for part in me.variants(every):
                    own = {"task": part[0].task, "slot": part[0].slot, "variant": part[0].variant}
                    yield key(me.name, "success", **own, **place), rate(part, succeeded, unscored)
            if condition in ("original", "paraphrase"):
                at_end = rate(counted, lambda one: reached(one, "original", end=True), unscored)
                yield key(me.name, "success_at_end", **place), at_end


def matrix(me, condition, seed):
    """(stage, place of the task in the order) -> success."""
    found = {}
    for stage, place in itertools.product({one.stage for one in me.episodes}, range(len(me.order))):
        rows = [
            Row(seed, one.task, one.variant, int(one.success))
            for one in me.of(condition, stage)
            if one.seed == seed and one.task == me.order[place] and one.success is not None
        ]
        if rows:
            found[stage, place] = by_task(rows)[seed, me.order[place]]
    return found


def auc(entries, places, length):
    if any((stage, place) not in entries for place in places for stage in range(place, length)):
        return None
    return mean([mean([entries[stage, place] for stage in range(place, length)]) for place in places])


def nbt(entries, places, length):
    places = [place for place in places if place != length - 1]
    if not places or any((stage, place) not in entries for place in places for stage in range(place, length)):
        return None
    falls = [
        mean([entries[place, place] - entries[stage, place] for stage in range(place + 1, length)]) for place in places
    ]
    return mean(falls)


def fwt(points):
    points = sorted(points)
    best = max(value for _, value in points)
    total, seen = Fraction(0), False
    for _, value in points:
        seen = seen or value == best
        total += Fraction(best if seen else value)
    return total / len(points)


def seeds_of(me, condition):
    return sorted({one.seed for one in me.of(condition) if one.success is not None and one.task in me.order})


def scored_rows(me, condition, seeds):
    return [
        Row(one.seed, one.task, one.variant, int(one.success))
        for one in me.of(condition)
        if one.success is not None and one.seed in seeds
    ]


def over_matrices(me, condition, formula):
    places = [me.order.index(task) for task in me.tasks]
    found = {seed: formula(matrix(me, condition, seed), places, len(me.order)) for seed in seeds_of(me, condition)}
    found = {seed: value for seed, value in found.items() if value is not None}
    return summary(found, scored_rows(me, condition, found)) if found else Plain(None, n=0)


def with_curves(me):
    transfers = {}
    for curve in me.curves:
        transfers.setdefault(curve.seed, {})[me.order.index(curve.task)] = fwt(curve.points)
    areas = {}
    for seed, transfer in transfers.items():
        entries, length = matrix(me, "original", seed), len(me.order)
        terms = [(stage, place) for place in transfer for stage in range(place + 1, length)]
        needed = [(place, place) for place in transfer if place < length - 1]
        if {me.order.index(task) for task in me.tasks} <= set(transfer) and all(
            at in entries for at in [*terms, *needed]
        ):
            areas[seed] = mean(
                [
                    mean([value, *(entries[stage, place] for stage in range(place + 1, length))])
                    for place, value in transfer.items()
                ]
            )
    for name, found in (
        ("forward_transfer", {seed: mean(transfer.values()) for seed, transfer in transfers.items()}),
        ("libero_auc", areas),
    ):
        value = summary(found, scored_rows(me, "original", found)) if found else Plain(None, n=0)
        yield key(me.name, name, condition="original"), value


def continual(me):
    for condition in ("original", "paraphrase"):
        place = {"condition": condition, "stage": me.final}
        yield key(me.name, "final_success", **place), rate(me.last(condition), succeeded, unscored)
        yield key(me.name, "auc", condition=condition), over_matrices(me, condition, auc)
        yield key(me.name, "nbt", condition=condition), over_matrices(me, condition, nbt)
    yield from with_curves(me)


def rows_of(episodes, holds, void=unscored):
    return [Row(one.seed, one.task, one.variant, int(bool(holds(one)))) for one in episodes if not void(one)]


def gap(originals, paraphrases):
    first, second = rows_of(originals, succeeded), rows_of(paraphrases, succeeded)
    one, two = by_task(first), by_task(second)
    both = set(one) & set(two)
    if not both:
        return Plain(None, n=0)
    per_seed = {
        seed: mean([one[at] - two[at] for at in both if at[0] == seed]) for seed in sorted({seed for seed, _ in both})
    }
    return summary(per_seed, [row for row in [*first, *second] if (row.seed, row.task) in both])


def paraphrase(me):
    places = [me.order.index(task) for task in me.tasks]
    per_seed = {}
    for seed in set(seeds_of(me, "original")) & set(seeds_of(me, "paraphrase")):
        one, two = (auc(matrix(me, name, seed), places, len(me.order)) for name in ("original", "paraphrase"))
        if one is not None and two is not None:
            per_seed[seed] = one - two
    rows = [row for name in ("original", "paraphrase") for row in scored_rows(me, name, per_seed)]
    value = summary(per_seed, rows) if per_seed else Plain(None, n=0)
    yield key(me.name, "paraphrase_gap_auc", condition="paraphrase"), value
    originals, paraphrases = me.last("original"), me.last("paraphrase")
    place = {"condition": "paraphrase", "stage": me.final}
    yield key(me.name, "paraphrase_gap", **place), gap(originals, paraphrases)
    for stage in set(me.stages("original")) & set(me.stages("paraphrase")) - {me.final}:
        value = gap(me.of("original", stage), me.of("paraphrase", stage))
        yield key(me.name, "paraphrase_gap", condition="paraphrase", stage=stage), value
    for kind in {one.kind for one in paraphrases} - {""}:
        of_kind = [one for one in paraphrases if one.kind == kind]
        yield key(me.name, "paraphrase_gap", kind=kind, **place), gap(originals, of_kind)


def outcome(one, judged):
    """(instructed goal reached, original goal reached) of a contrast in a reading."""
    by_end = one.judged == "end" if judged == "own" else judged == "end"
    return reached(one, "target", end=by_end), reached(one, "original", end=judged == "end")


SWITCHES = {
    "target_success": lambda target, original: target,
    "goal_switch_accuracy": lambda target, original: target and not original,
    "original_persistence": lambda target, original: original,
    "both_goals": lambda target, original: target and original,
    "neither_goal": lambda target, original: not (target or original),
}


def switches(me, place, episodes):
    for name, test in SWITCHES.items():
        value = rate(episodes, lambda one, test=test: test(*outcome(one, place["judged"])), pair_void)
        yield key(me.name, name, **place), value


def ceilings(me):
    """(seed, task) -> success of the originals at the last stage."""
    return by_task(rows_of(me.last("original"), succeeded))


def beside(me, episodes, holds, void, owner):
    """Per seed: share of the episodes, and the mean success of the goals' own tasks, weighted alike."""
    own = ceilings(me)
    kept = [one for one in episodes if not void(one) and (one.seed, owner.get(one.variant)) in own]
    above = [Row(one.seed, one.task, one.variant, int(bool(holds(one)))) for one in kept]
    below = [Row(one.seed, one.task, one.variant, own[one.seed, owner[one.variant]]) for one in kept]
    return above, below


def ratio(above, below):
    one, two = by_seed(above), by_seed(below)
    per_seed = {seed: one[seed] / two[seed] for seed in one if two[seed] != 0}
    return summary(per_seed, [row for row in above if row.seed in per_seed]) if per_seed else Plain(None, n=0)


def goal_switch(me):
    for tier in me.tiers():
        for stage, slot, judged in itertools.product(me.stages("contrast"), (None, *SLOTS), ("own", "ever", "end")):
            place = {"condition": "contrast", "tier": tier, "stage": stage, "slot": slot, "judged": judged}
            found = me.counting(me.of("contrast", stage, tier))
            yield from switches(me, place, [one for one in found if slot in (None, one.slot)])
        place = {"condition": "contrast", "tier": tier, "stage": me.final, "judged": "own"}
        last = me.last("contrast", tier)
        for trained in (True, False) if me.trained else ():
            part = [one for one in me.counting(last) if (one.variant in me.trained) == trained]
            yield from switches(me, {**place, "trained": trained}, part)
        for standing, part in me.standings(last):
            yield from switches(me, {**place, "reach": standing}, part)
        for part in me.variants(last):
            one = part[0]
            yield from switches(me, {**place, "task": one.task, "slot": one.slot, "variant": one.variant}, part)
        sides = beside(me, me.counting(last), lambda one: all_switched(one), pair_void, me.trained)
        yield key(me.name, "normalised_goal_switch", trained=True, **place), ratio(*sides)


def all_switched(one):
    target, original = outcome(one, "own")
    return target and not original


def goals(one, judged="ever"):
    labels = one.held_at_end if judged == "end" else one.first_held
    return {label for label in labels if label != "target" and label not in one.void}


COLLISIONS = {
    "original_goal_persistence": lambda found: "original" in found,
    "canonical_goal_activation": lambda found: len(found) > 0,
    "outcome_original": lambda found: found == {"original"},
    "outcome_other": lambda found: len(found) == 1 and "original" not in found,
    "outcome_multiple": lambda found: len(found) >= 2,
    "outcome_none": lambda found: len(found) == 0,
}


def collided(me, place, judged, episodes):
    for name, test in COLLISIONS.items():
        value = rate(episodes, lambda one, test=test: test(goals(one, judged)), original_void)
        yield key(me.name, name, judged=judged, **place), value


def initiations(me, place, episodes, name="action_initiation"):
    for threshold in THRESHOLDS:
        yield key(me.name, name, threshold=threshold, **place), rate(episodes, moved(threshold))


def collision(me):
    for stage, slot in itertools.product(me.stages("collision"), (None, *SLOTS)):
        found = [one for one in me.of("collision", stage) if slot in (None, one.slot)]
        place = {"condition": "collision", "stage": stage, "slot": slot}
        for judged in ("ever", "end"):
            yield from collided(me, place, judged, found)
        yield from initiations(me, place, found)
    yield from initiations(me, {"condition": "original", "stage": me.final}, me.last("original"))
    for part in me.variants(me.last("collision")):
        one = part[0]
        place = {"condition": "collision", "stage": me.final, "slot": one.slot, "task": one.task}
        place["variant"] = one.variant
        yield from collided(me, place, "ever", part)
        yield from initiations(me, place, part)


def distances(probes):
    """Action divergence of the probes with both actions."""
    return [
        Row(
            one.seed,
            one.task,
            one.variant,
            math.sqrt(sum((a - b) ** 2 for a, b in zip(one.action_original, one.action_variant, strict=True))),
        )
        for one in probes
        if len(one.action_original) > 0 and len(one.action_original) == len(one.action_variant)
    ]


def margins(probes):
    return [
        Row(one.seed, one.task, one.variant, one.log_prob_original - one.log_prob_variant)
        for one in probes
        if one.log_prob_original is not None and one.log_prob_variant is not None
    ]


PROBED = {"action_divergence": distances, "language_margin": margins}


def action(me):
    present = {one.condition for one in me.probes}
    same_start = [name for name in CONTROLS if name != "reverse" and name in present]
    for condition in ("paraphrase", "contrast", "collision", *same_start):
        tiers = me.tiers() if condition == "contrast" else [None]
        slots = (None, *SLOTS) if condition in ("contrast", "collision") else (None,)
        for tier, slot, name in itertools.product(tiers, slots, PROBED):
            found = [
                one
                for one in me.probes
                if (one.stage, one.condition, one.tier) == (me.final, condition, tier) and slot in (None, one.slot)
            ]
            place = {"condition": condition, "tier": tier, "slot": slot, "stage": me.final}
            yield key(me.name, name, **place), balanced(PROBED[name](found))
    for stage, condition, tier in {(one.stage, one.condition, one.tier) for one in me.probes}:
        if stage != me.final:
            found = [one for one in me.probes if (one.stage, one.condition, one.tier) == (stage, condition, tier)]
            for name in PROBED:
                place = {"condition": condition, "tier": tier, "stage": stage}
                yield key(me.name, name, **place), balanced(PROBED[name](found))


def part_of(one):
    return next((name for end, name in PARTS.get(one.condition, {}).items() if one.variant.endswith(end)), None)


def controlled(me, place, episodes):
    condition = place["condition"]
    asked = [one for one in episodes if part_of(one) != "is_so_already"]
    value = rate(asked, succeeded, unscored) if condition not in ("null", "negated") else Plain(None)
    yield key(me.name, "control_success", **place), value
    holds = {
        "control_original": lambda one: "original" in goals(one),
        "control_canonical": lambda one: goals(one) or (one.variant in me.trained and reached(one, "target")),
    }
    for name, test in holds.items():
        yield key(me.name, name, **place), rate(episodes, test, original_void)
    yield from initiations(me, place, episodes, "control_initiation")
    if condition == "reverse":
        met = [one for one in episodes if part_of(one) == "is_so_already"]
        value = rate(met, lambda one: reached(one, "target"), lambda one: "target" in one.void)
        yield key(me.name, "control_opposite", **place), value


def controls(me):
    for condition in CONTROLS:
        if condition not in me.planned and not me.of(condition):
            continue
        for stage in me.stages(condition):
            place = {"condition": condition, "stage": stage}
            found = me.counting(me.of(condition, stage))
            yield from controlled(me, place, found)
            for kind in PARTS.get(condition, {}).values():
                yield from controlled(me, {**place, "kind": kind}, [one for one in found if part_of(one) == kind])
        place = {"condition": condition, "stage": me.final}
        for standing, part in me.standings(me.last(condition)):
            yield from controlled(me, {**place, "reach": standing}, part)
        for part in me.variants(me.last(condition)):
            yield from controlled(me, {**place, "task": part[0].task, "variant": part[0].variant}, part)
        if condition == "swap":
            above, below = beside(me, me.counting(me.last("swap")), succeeded, unscored, me.owner)
            yield key(me.name, "swap_own_success", **place), balanced(below)
            yield key(me.name, "swap_normalised", **place), ratio(above, below)


def is_route(name, note):
    if isinstance(note, (list, tuple)):
        return len(note) >= 2
    return isinstance(note, int) and not name.endswith("_changes")


def route_pairs(me, condition, tier, name):
    for one in me.last(condition, tier):
        for own in me.last("original"):
            same = (own.seed, own.task, own.init_state) == (one.seed, one.task, one.init_state)
            routes = is_route(name, own.notes.get(name)) and is_route(name, one.notes.get(name))
            if same and routes and isinstance(own.notes[name], int) == isinstance(one.notes[name], int):
                yield one, own.notes[name], one.notes[name]


def filled(first, second):
    """Number beside number; what one side lacks is 0."""
    size = max(len(first), len(second))
    return zip(*([*side, *[0] * (size - len(side))] for side in (first, second)), strict=True)


def routing(me):
    names = {name for one in me.last("original") for name, note in one.notes.items() if is_route(name, note)}
    places = {(one.condition, one.tier) for one in me.episodes if one.stage == me.final} - {("original", None)}
    for name, (condition, tier) in itertools.product(names, places):
        place = {"condition": condition, "tier": tier, "kind": name, "stage": me.final}
        turned, apart = [], []
        for one, first, second in route_pairs(me, condition, tier, name):
            if isinstance(first, int):
                turned.append(Row(one.seed, one.task, one.variant, int(first != second)))
                continue
            turned.append(
                Row(one.seed, one.task, one.variant, int(first.index(max(first)) != second.index(max(second))))
            )
            half = sum(abs(Fraction(a) - Fraction(b)) for a, b in filled(first, second)) / 2
            apart.append(Row(one.seed, one.task, one.variant, half))
        value = balanced(turned)
        if turned:
            value = value._replace(interval=wilson(value.mean, kish(turned)))
        yield key(me.name, "route_changed", **place), value
        if apart:
            yield key(me.name, "route_moved", **place), balanced(apart)


def ranks(values):
    """1 for the smallest; equal ones share the mean of their places."""
    return [
        Fraction(1 + sum(other < one for other in values) + sum(other <= one for other in values), 2) for one in values
    ]


def rank_correlation(first, second):
    if len(first) < 3:
        return None
    one, two = ranks(first), ranks(second)
    a, b = mean(one), mean(two)
    size = sum((x - a) ** 2 for x in one) * sum((y - b) ** 2 for y in two)
    if size == 0:
        return None
    return float(sum((x - a) * (y - b) for x, y in zip(one, two, strict=True))) / math.sqrt(size)


def points(rows):
    """task -> mean over seeds; the exact fractions as floats, rounded so that equal ones are equal."""
    found = by_task(rows)
    return {
        task: round(float(mean([value for (_, at), value in found.items() if at == task])), 12) for _, task in found
    }


def outcome_points(me, condition, tier):
    found = me.counting(me.last(condition, tier))
    if condition == "paraphrase":
        one, two = ceilings(me), by_task(rows_of(me.last("paraphrase"), succeeded))
        gaps = {}
        for at in set(one) & set(two):
            gaps.setdefault(at[1], []).append(one[at] - two[at])
        return {
            "success": points(rows_of(found, succeeded)),
            "paraphrase_gap": {task: round(float(mean(values)), 12) for task, values in gaps.items()},
        }
    if condition == "contrast":
        return {
            name: points(rows_of(found, lambda one, name=name: SWITCHES[name](*outcome(one, "own")), pair_void))
            for name in ("target_success", "goal_switch_accuracy", "original_persistence")
        }
    names = ("original_goal_persistence", "canonical_goal_activation")
    return {
        "action_initiation": points(rows_of(found, moved(0.05), lambda one: False)),
        **{
            name: points(rows_of(found, lambda one, name=name: COLLISIONS[name](goals(one)), original_void))
            for name in names
        },
    }


def action_points(me, condition, tier, name):
    found = [
        one
        for one in me.probes
        if (one.stage, one.condition, one.tier) == (me.final, condition, tier)
        and me.reach.get(one.variant) not in ASIDE
    ]
    return points(PROBED[name](found))


def correlation(everyone):
    tiers = {tier for me in everyone for tier in me.tiers()}
    for condition, tier in [("paraphrase", None), *(("contrast", tier) for tier in tiers), ("collision", None)]:
        for name in PROBED:
            pairs = {}
            for me in everyone:
                cheap = action_points(me, condition, tier, name)
                for against, dear in outcome_points(me, condition, tier).items():
                    pairs.setdefault(against, [])
                    pairs[against] += [(cheap[task], dear[task]) for task in cheap if task in dear]
            for against, both in pairs.items():
                value = rank_correlation([one for one, _ in both], [two for _, two in both])
                place = {"condition": condition, "tier": tier, "against": against}
                yield key("", f"{name}_correlation", **place), Plain(value, n=len(both))


def finals(me, condition, tier, holds, void):
    """(seed, task, variant, initial state) -> 0 or 1."""
    found = {}
    for one in me.counting(me.last(condition, tier)):
        if not void(one):
            found[one.seed, one.task, one.variant, one.init_state] = int(bool(holds(one)))
    return found


def courses(me, condition):
    """The same -> mean over the stages from the task's own to the last; only where all are there."""
    found = {}
    for place, task in enumerate(me.order):
        own = [one for one in me.of(condition) if one.task == task and one.success is not None]
        for start in {(one.seed, task, one.variant, one.init_state) for one in own}:
            stages = {
                one.stage: int(one.success)
                for one in own
                if (one.seed, one.task, one.variant, one.init_state) == start and one.stage >= place
            }
            if all(stage in stages for stage in range(place, len(me.order))):
                found[start] = mean([stages[stage] for stage in range(place, len(me.order))])
    return found


def paired(one, two):
    rows = [Row(*at[:3], one[at] - two[at]) for at in one if at in two]
    return balanced(rows)


def mcnemar(one, two):
    both = [at for at in one if at in two]
    if not both:
        return Plain(None, n=0)
    wins = [sum(one[at] > two[at] for at in both), sum(one[at] < two[at] for at in both)]
    total = sum(wins)
    # every way to split the discordant pairs that is at most as likely as the one seen
    at_most = sum(
        math.comb(total, first) for first in range(total + 1) if abs(2 * first - total) >= abs(wins[0] - wins[1])
    )
    return Plain(float(Fraction(at_most, 2**total)), n=len(both))


def holm(values):
    """Adjusted p: the largest, over all p up to one's own, of p times the number of p not smaller in the order."""
    known = sorted(
        (value.mean, place) for place, value in enumerate(values) if value.mean is not None
    )  # equal p in any order: the running maximum is the same
    adjusted = list(values)
    for rank, (_, place) in enumerate(known):
        largest = max(known[at][0] * (len(known) - at) for at in range(rank + 1))
        adjusted[place] = values[place]._replace(mean=min(1.0, largest))
    return adjusted


def constrained(first, second, pairs, apart):
    """Standardised distance of the paired difference from ``apart``, at the likeliest share of second-only pairs."""
    low, high = max(0.0, -apart), (1 - apart) / 2

    def slope(share):
        """Of the log-likelihood; falls as the share rises."""
        parts = ((second, share, 1), (first, share + apart, 1), (pairs - first - second, 1 - apart - 2 * share, -2))
        return sum(sign * count / max(1e-300, value) for count, value, sign in parts if count > 0)

    for _ in range(200):
        middle = (low + high) / 2
        if slope(middle) > 0:
            low = middle
        else:
            high = middle
    variance = pairs * (2 * low + apart - apart**2)
    difference = first - second - pairs * apart
    if variance <= 1e-12:
        return 0.0 if abs(difference) < 1e-12 else math.copysign(math.inf, difference)
    return difference / math.sqrt(variance)


def equivalence(me):
    originals, paraphrases = {}, {}
    for one in me.last("original"):
        if one.success is not None:
            originals[one.seed, one.task, one.init_state] = int(one.success)
    for one in me.last("paraphrase"):
        if one.success is not None:
            paraphrases.setdefault((one.seed, one.task, one.init_state), []).append(int(one.success))
    both = [at for at in originals if at in paraphrases]
    if not both:
        return Plain(None, n=0)
    first = float(sum(originals[at] * (1 - mean(paraphrases[at])) for at in both))
    second = float(sum((1 - originals[at]) * mean(paraphrases[at]) for at in both))
    low, high = (constrained(first, second, len(both), margin) for margin in (-0.1, 0.1))
    normal = NormalDist()
    return Plain(max(1 - normal.cdf(low), normal.cdf(high)), n=len(both))


def detectable(pairs):
    """Bisection for the smallest difference with a power of 80 % at 5 %, half of the pairs discordant."""
    normal = NormalDist()

    def found(size):
        bound = normal.inv_cdf(0.975) * math.sqrt(0.5 * pairs)
        return normal.cdf((size * pairs - bound) / math.sqrt(max(1e-300, pairs * (0.5 - size * size)))) >= 0.8

    if pairs == 0 or not found(0.5):
        return None
    low, high = 0.0, 0.5
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if found(middle) else (middle, high)
    return high


def compared(everyone):
    """(condition, tier) -> (quantity, what counts, what is void) of what is compared; the first is tested."""
    plain = ("success_difference", succeeded, unscored)
    present = {one.condition for me in everyone for one in me.episodes}
    found = {("original", None): [plain], ("paraphrase", None): [plain]}
    if "swap" in present:
        found["swap", None] = [plain]
    for tier in {tier for me in everyone for tier in me.tiers()}:
        found["contrast", tier] = [
            ("switch_difference", all_switched, pair_void),
            ("persistence_difference", lambda one: outcome(one, "own")[1], pair_void),
        ]
    if "collision" in present:
        found["collision", None] = [("persistence_difference", lambda one: "original" in goals(one), original_void)]
    return found


def between(pairs, condition, tier, listed):
    """Every pair of methods under one condition."""
    everyone = {me.name: me for pair in pairs for me in pair}.values()
    for rank, (name, holds, void) in enumerate(listed):
        found = {me.name: finals(me, condition, tier, holds, void) for me in everyone}
        tests = [mcnemar(found[one.name], found[two.name]) for one, two in pairs]
        for (one, two), test, adjusted in zip(pairs, tests, holm(tests), strict=True):
            place = {"condition": condition, "tier": tier, "stage": one.final, "against": two.name}
            yield key(one.name, name, **place), paired(found[one.name], found[two.name])
            if rank == 0:
                yield key(one.name, "mcnemar_p", **place), test
                yield key(one.name, "adjusted_p", **place), adjusted
    for one, two in pairs if condition in ("original", "paraphrase") else ():
        value = paired(courses(one, condition), courses(two, condition))
        yield key(one.name, "auc_difference", condition=condition, against=two.name), value


def comparison(everyone):
    pairs = [(everyone[i], everyone[j]) for i in range(len(everyone)) for j in range(i + 1, len(everyone))]
    for (condition, tier), listed in compared(everyone).items():
        yield from between(pairs, condition, tier, listed)
        for me in everyone:
            place = {"condition": condition, "tier": tier, "stage": me.final}
            number = len(finals(me, condition, tier, *listed[0][1:]))
            yield key(me.name, "smallest_difference", **place), Plain(detectable(number), n=number)
    for me in everyone:
        yield key(me.name, "gap_equivalence", condition="paraphrase", stage=me.final), equivalence(me)


def measure(methods):
    """(method, quantity, scope) -> value, for all methods together."""
    everyone = [Reader(one) for one in methods]
    found = {}
    for me in everyone:
        for family in (success, continual, paraphrase, goal_switch, collision, action, controls, routing):
            found.update(family(me))
    found.update(correlation(everyone))
    found.update(comparison(everyone))
    return found

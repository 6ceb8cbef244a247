"""Every measurement of random record sets beside the plain implementation, which shares no code with the metrics."""

import dataclasses
import random
from unittest import mock

import numpy as np
import plain_metrics
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gym_grounding import metrics
from gym_grounding.metrics import Curve, _bootstrap, correlation
from gym_grounding.records import ProbeRecord
from gym_grounding.testing.records import episode, evidence

ORDER = ("Toy-T0", "Toy-T1", "Toy-T2")
REACH = plain_metrics.STANDINGS
BY_BOOTSTRAP = plain_metrics.AUTOMATIC
VARIANTS = (
    ("original", {}),
    ("paraphrase", {"kind": "verb", "number": 1}),
    ("paraphrase", {"kind": "polite", "number": 2}),
    ("contrast", {"slot": "target", "tier": "strict", "number": 1}),
    ("contrast", {"slot": "object", "tier": "strict", "judged": "end", "number": 2}),
    ("contrast", {"slot": "action", "tier": "permissive", "judged": "end", "number": 3}),
    ("collision", {"slot": "object", "number": 1}),
    ("collision", {"slot": "target", "number": 2}),
    ("swap", {"number": 1}),
    ("null", {"number": ""}),
    ("shuffled", {"number": ""}),
    ("negated", {"number": ""}),
    ("noise", {"number": 1}),
    ("noise", {"number": 2}),
    ("reverse", {"number": 1}),
    ("reverse", {"number": 2, "described": True}),
)
OWN_GOAL = ("contrast", "swap", "reverse")


@dataclasses.dataclass(frozen=True)
class Recipe:
    """What a random set of records is made of.

    Attributes:
        methods, seeds, tasks, states: how many of each.
        stages: how many, the last ones.
        conditions: what is evaluated.
        missing: share of episodes left out.
        reached: share of goals reached; 0 and 1 give ties everywhere.
        void: share of goals that already held.
        certified: whether an oracle's findings are known.
        fewer: whether the first task of the order is not evaluated.
    """

    methods: int = 2
    seeds: int = 2
    tasks: int = 2
    states: int = 2
    stages: int = 3
    conditions: tuple[str, ...] = ("original", "paraphrase", "contrast")
    missing: float = 0.0
    reached: float = 0.5
    void: float = 0.0
    certified: bool = False
    fewer: bool = False
    draw: int = 0


CONDITIONS = sorted({condition for condition, _ in VARIANTS} - {"original", "paraphrase"})
RECIPES = st.builds(
    Recipe,
    methods=st.integers(1, 3),
    seeds=st.integers(1, 3),
    tasks=st.integers(1, 3),
    states=st.integers(1, 3),
    stages=st.integers(1, 3),
    conditions=st.lists(st.sampled_from(CONDITIONS), max_size=2, unique=True).map(
        lambda more: ("original", "paraphrase", *more)
    ),
    missing=st.sampled_from((0.0, 0.1, 0.5, 1.0)),
    reached=st.sampled_from((0.0, 0.3, 0.7, 1.0)),
    void=st.sampled_from((0.0, 0.15)),
    certified=st.booleans(),
    fewer=st.booleans(),
    draw=st.integers(0, 2**32),
)


def cook(recipe):
    """The records of each method."""
    rng = random.Random(recipe.draw)
    order = ORDER[: recipe.tasks]
    tasks = order[1:] if recipe.fewer and recipe.tasks > 1 else order
    stages = range(max(0, recipe.tasks - recipe.stages), recipe.tasks)
    rows = [(task, *variant) for task in tasks for variant in VARIANTS if variant[0] in recipe.conditions]
    named = [(f"{task}-{name.capitalize()}{more.get('number', '')}", task, name, more) for task, name, more in rows]
    asking = [(variant, task) for variant, task, name, _ in named if name in OWN_GOAL]
    return [
        dataclasses.replace(
            evidence(
                _episodes(rng, recipe, named, order, stages),
                order=order,
                stages=stages,
                method=f"method {number}",
                probes=_probes(rng, recipe, named, order, stages),
                curves=_curves(rng, recipe, tasks),
                planned=recipe.conditions,
                trained={one: rng.choice([t for t in order if t != task] or [task]) for one, task in asking[::2]},
                instruction_of={one: rng.choice(order) for one, _ in asking if "-Swap" in one},
                reach={one: rng.choice(REACH) for one, _ in asking[1:]} if recipe.certified else {},
            ),
            tasks=tasks,
        )
        for number in range(recipe.methods)
    ]


def _episodes(rng, recipe, named, order, stages):
    for seed in range(recipe.seeds):
        for stage in stages:
            for variant, task, name, more in named:
                for state in range(recipe.states):
                    if order.index(task) <= stage and rng.random() >= recipe.missing:
                        yield _episode(rng, recipe, variant, task, name, more, order, (seed, stage, state))


def _episode(rng, recipe, variant, task, name, more, order, place):
    labels = ["original", *(["target"] if name in OWN_GOAL else []), *(other for other in order if other != task)]
    void = [label for label in labels if rng.random() < recipe.void]
    held = [label for label in labels if label not in void and rng.random() < recipe.reached]
    at_end = [label for label in (*held, *void) if rng.random() < 0.7]
    notes = {
        "slot": rng.randrange(3),
        "slot_changes": rng.randrange(9),
        "similarity": rng.random(),
        "coefficients.a": [rng.randrange(5) / 4 for _ in range(rng.choice((2, 3)))],
        "mixed": rng.choice((1, [0.5, 0.25])),
    }
    seed, stage, state = place
    return episode(
        name,
        task=task,
        variant=variant,
        stage=stage,
        init_state=state,
        seed=seed,
        reached=held,
        at_end=at_end,
        void=void,
        moved=rng.choice((0.0, 0.01, 0.03, 0.05, 0.2)),
        notes=notes if rng.random() < 0.8 else {},
        **{key: value for key, value in more.items() if key != "number"},
    )


def _probes(rng, recipe, named, order, stages):
    for variant, task, name, more in named:
        for seed in range(recipe.seeds):
            for number in range(rng.choice((0, 1, 2))):
                if name not in ("original", "reverse"):
                    acted, other = ([rng.randrange(5) / 4 for _ in range(2)] for _ in range(2))
                    densities = [rng.randrange(5) / 4, rng.randrange(5) / 4] if rng.random() < 0.8 else [None, None]
                    yield ProbeRecord(
                        rng.choice((stages[-1], stages[-1], stages[0])),
                        variant,
                        seed,
                        task,
                        name,
                        more.get("slot"),
                        more.get("tier"),
                        f"observation {number}",
                        tuple(acted),
                        tuple(other) if rng.random() < 0.9 else (),
                        *densities,
                    )


def _curves(rng, recipe, tasks):
    if rng.random() < 0.5:
        for seed in range(recipe.seeds):
            for task in tasks:
                if rng.random() < 0.9:
                    yield Curve(seed, task, tuple((epoch, rng.randrange(5) / 4) for epoch in (10, 0, 5)))


def measured(proofs):
    """The suite's measurements by the keys of the plain implementation; without intervals of bootstraps."""
    with (
        mock.patch.object(_bootstrap, "interval", return_value=None),
        mock.patch.object(correlation, "bootstrap", return_value=None),
    ):
        found = metrics.measure(proofs, np.random.default_rng(0))
    keys = [plain_metrics.key(one.method, one.quantity, **dataclasses.asdict(one.scope)) for one in found]
    assert len(keys) == len(set(keys)), "a number is there twice"
    return dict(zip(keys, (one.value for one in found), strict=True))


def differences(found, expected):
    """Where a value is not the plain one."""
    for at, plain in expected.items():
        value = found[at]
        for field in plain._fields:
            one, two = getattr(value, field), getattr(plain, field)
            if isinstance(two, str) and two == BY_BOOTSTRAP:
                continue
            if isinstance(two, dict):
                one = dict(one)
            if (one is None) != (two is None) or (two is not None and one != pytest.approx(two, rel=1e-8, abs=1e-8)):
                yield f"{at}: {field} is {one}, should be {two}"


@settings(max_examples=40)
@given(RECIPES)
@example(Recipe(conditions=("original", "paraphrase", *CONDITIONS), tasks=3, void=0.1, missing=0.1))
@example(Recipe(conditions=("original", "paraphrase", *CONDITIONS), certified=True, missing=0.1))
@example(Recipe(methods=1, seeds=1, tasks=1, states=1, stages=1))
@example(Recipe(conditions=("original", "paraphrase", *CONDITIONS), reached=1.0))
@example(Recipe(missing=1.0))
@example(
    Recipe(conditions=("original", "paraphrase"), seeds=1, states=3, stages=1, missing=0.1, draw=4)
)  # ties in Spearman
def test_every_measurement_is_the_plain_one(recipe):
    proofs = cook(recipe)
    found, expected = measured(proofs), plain_metrics.measure(proofs)
    assert set(found) == set(expected)
    assert not list(differences(found, expected))

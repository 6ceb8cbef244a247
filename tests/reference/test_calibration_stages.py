"""Expected values of every metric for the reference policies, and a learner, over three stages in LIBERO.

One set of runs. Every number that any metric gives of them, in every scope, is compared with what theory says
(``theory``); the tests after that say in plain words what the theory comes to.
"""

import dataclasses
import itertools

import numpy as np
import pytest
from calibration import Numbers, scored
from printed import (
    COLLISION,
    OWN_READING,
    PRINTED,
    SPLIT,
    columns_of,
    held,
    page_rows,
    planned,
    rows_of,
    scope_at,
    written,
)
from scipy.stats import binom, binomtest, spearmanr
from staged import LAST, ORDER, Learner, few_rows, staged_plan
from theory import OWN, TARGET, Facts, Theory, balanced, deaf, idle, learner, listens, noisy, oracle

from gym_grounding import conditions, metrics
from gym_grounding.metrics import Evidence, Scope
from gym_grounding.metrics.collision import INITIATION
from gym_grounding.probe import collect
from gym_grounding.records import MOTION_THRESHOLDS
from gym_grounding.report import write_report

pytestmark = [pytest.mark.sim, pytest.mark.slow, pytest.mark.xdist_group("calibration")]

__all__ = ["few_rows"]

SHARES = (0.25, 0.5, 0.75)
GUIDED = ("oracle", "deaf", "learner", *(f"noisy-{p}" for p in SHARES))
FLOOR = ("still", "random")
SHORT = 20
"""Steps of those that reach nothing."""
SURE = 0.02
"""How far random actions move the hand in so few steps, whatever they are [m]."""
ELSEWHERE = {one.name for family in ("comparison", "routing") for one in metrics.get(family).quantities}
"""Need several methods, or notes; ``test_plain_metrics`` calibrates them."""
UNREACHED = "LiberoGoal-T1-ContrastTarget1"
"""A goal that takes longer than the horizon."""


@dataclasses.dataclass
class Trained:
    """The runs, and what is expected of them.

    Attributes:
        runs: policy -> folder.
        found: policy -> what the metrics say.
        theory: policy -> what they must say.
    """

    facts: Facts
    runs: dict
    found: dict
    theory: dict


@pytest.fixture(scope="module")
def study(few_rows, tmp_path_factory):
    """Everything is run once."""
    folder = tmp_path_factory.mktemp("stages")
    every = (*conditions.standard(), *conditions.controls())
    whole = staged_plan(conditions=every)
    moments = collect(whole, folder / "moments.npz", policy="oracle", every=20, expert=True)
    facts = Facts(whole, moments)
    learned = staged_plan(conditions=("original", "paraphrase"))
    last = staged_plan(conditions=("contrast", "collision"), stages="last")
    short = staged_plan(horizon=SHORT)
    own = {task: float(facts.certified[task, facts.book.task(task).goal, False] > 0) for task in ORDER}
    flat = {task: (value, value) for task, value in own.items()}  # does not learn
    rising = {task: (0.0, value, value) for task, value in own.items()}  # knows nothing before its stage
    known = {
        "oracle": (
            "oracle",
            whole,
            {"observations": moments, "curves": flat},
            Theory(facts, whole, oracle, curves=flat),
        ),
        "deaf": ("deaf", whole, {"observations": moments, "curves": flat}, Theory(facts, whole, deaf, curves=flat)),
        "learner": (
            Learner,
            learned,
            {"observations": moments, "curves": rising},
            Theory(facts, learned, learner, curves=rising, density="normal"),
        ),
        "still": ("still", short, {"observations": moments}, Theory(facts, short, idle, moves=False)),
        "random": ("random", short, {"observations": moments}, Theory(facts, short, idle, moves=True, density="flat")),
    }
    for p in SHARES:
        asked = {"observations": moments} if p == 0.5 else {}
        theory = Theory(facts, last, noisy(p), probed=bool(asked))
        known[f"noisy-{p}"] = ("noisy-oracle", last, {"options": {"p": p}, **asked}, theory)
    found = {
        name: scored(policy, plan, folder / name, name=name, **more) for name, (policy, plan, more, _) in known.items()
    }
    theory = {name: one for name, (*_, one) in known.items()}
    return Trained(facts, {name: folder / name for name in known}, found, theory)


def same(one, two):
    """Equal, None included."""
    return one == two if one is None or two is None else one == pytest.approx(two, abs=1e-9)


def course(record):
    """What happened in an episode."""
    first, end = tuple(sorted(record.first_held.items())), record.held_at_end
    moved = tuple(sorted(record.motion_steps.items()))
    return first, end, record.steps, record.ended, record.success, moved, record.displacement, record.action_mean_norm


def test_the_plan_can_tell_right_from_wrong(study):
    """Some goals are reached in time and some not, of own tasks, contrasts and those that others trained."""
    own = list(study.theory["oracle"].column("original", LAST).values())
    asked = [value for _, value in study.theory["oracle"].counted("target_success", Scope(**OWN_READING))]
    assert 0 < np.mean(own) < 1
    assert 0 < np.mean(asked) < 1
    assert study.facts.first(study.facts.rows[UNREACHED], TARGET) == -1
    drawn = [[listens(one.cell, p) for one in study.found[f"noisy-{p}"].evidence.episodes] for p in SHARES]
    assert all(0 < sum(one) < len(one) for one in drawn)


@pytest.mark.parametrize("name", [*GUIDED, *FLOOR])
def test_every_episode_is_that_of_the_goal_that_the_policy_follows(study, name):
    """An expert that was given the goal without words reached it at the very same step."""
    theory, episodes = study.theory[name], study.found[name].evidence.episodes
    assert {one.cell for one in episodes} == set(theory.plan.cells(study.facts.book))
    for one in episodes:
        row = study.facts.rows[one.variant]
        followed = theory.follows(row, one.cell)
        first = study.facts.first(row, followed)
        label = None if first < 1 else "target" if followed is TARGET else "original"
        assert dict(one.first_held) == ({label: first} if label else {}), one.cell
        assert set(one.held_at_end) - set(one.void) == ({label} if label else set()), one.cell
        moved = bool(theory.outcome(row, one.stage).moved)
        for threshold in MOTION_THRESHOLDS:
            if name != "random" or threshold <= SURE:
                assert (str(threshold) in one.motion_steps) is moved, (one.cell, threshold)


@pytest.mark.parametrize("name", [*GUIDED, *FLOOR])
def test_every_number_is_what_theory_says(study, name):
    """In every scope of every quantity, absent numbers included."""
    compare(study, study.found[name], study.theory[name], name)


def compare(study, found, theory, name):
    """Values, counts and intervals of all measurements of one policy."""
    for quantity, scope, value in found:
        if quantity in ELSEWHERE or quantity.endswith("_correlation"):
            continue
        if name == "random" and (scope.threshold or 0) > SURE:
            continue
        assert same(value.mean, theory.value(quantity, scope)), (quantity, scope, value)
        assert bool(value.reason) == (value.mean is None)
        if value.interval and scope.task and quantity != "paraphrase_gap":  # one task: all episodes weigh the same
            counted = theory.counted(quantity, scope)
            assert (value.n, value.variants, value.tasks) == (len(counted), len(counted), 1)
            wilson = binomtest(round(value.mean * value.n), value.n).proportion_ci(0.95, "wilson")
            assert value.interval == pytest.approx(tuple(wilson), abs=1e-9)


def test_every_quantity_has_a_number(study):
    """Somewhere in these runs; nothing is left to be calibrated elsewhere."""
    known = {one.name for family in metrics.names() for one in metrics.get(family).quantities}
    found = {quantity for numbers in study.found.values() for quantity, _, value in numbers if value.mean is not None}
    assert known - ELSEWHERE == found - ELSEWHERE


@pytest.mark.parametrize("name", ["oracle", "deaf", "noisy-0.5"])
def test_goals_that_are_not_shown_reachable_stand_apart(study, name):
    """With certificates, what the oracle never reaches leaves every rate; its own is given beside them."""
    reach = {row.id: "stable" for row in study.facts.rows.values() if row.goal is not None}
    reach[UNREACHED] = "not_shown"
    theory = study.theory[name]
    found = Numbers(dataclasses.replace(study.found[name].evidence, reach=reach))
    told = Theory(study.facts, theory.plan, theory.follows, curves=theory.curves, probed=theory.probed, reach=reach)
    compare_rates(found, told)
    apart = Scope(**OWN_READING, reach="not_shown")
    assert found.at("target_success", apart) == 0
    if name == "oracle":
        assert found("goal_switch_accuracy", **OWN_READING) > study.found[name]("goal_switch_accuracy", **OWN_READING)


def compare_rates(found, theory):
    """As ``compare``, without the probes, which count every goal."""
    for quantity, scope, value in found:
        if not quantity.endswith("_correlation") and quantity not in {
            "action_divergence",
            "language_margin",
            *ELSEWHERE,
        }:
            assert same(value.mean, theory.value(quantity, scope)), (quantity, scope, value)


def own_success(study, condition):
    """Success of the tasks that have rows of a condition, each row with its task's: rows of a task are equal."""
    rows = [row for row in study.facts.rows.values() if row.condition == condition]
    return balanced([(row, float(study.facts.first(row, OWN) > 0)) for row in rows])


def test_deaf(study):
    """It does its task whatever the words."""
    found = study.found["deaf"]
    for stage in range(LAST + 1):  # rewording costs nothing where words are not heard
        originals, reworded = (found("success", condition=one, stage=stage) for one in ("original", "paraphrase"))
        assert originals == reworded
    assert found("paraphrase_gap", condition="paraphrase", stage=LAST) == 0
    assert found("paraphrase_gap_auc", condition="paraphrase") == 0
    assert found("nbt", condition="original") == 0  # no stage differs from another
    final = found("final_success", condition="original", stage=LAST)
    assert found("auc", condition="original") == pytest.approx(final)  # the mean over stages of what never changes
    assert found("forward_transfer", condition="original") == pytest.approx(final)  # as good before training as after
    assert found("libero_auc", condition="original") == pytest.approx(final)
    assert found("goal_switch_accuracy", **OWN_READING) == found("target_success", **OWN_READING) == 0  # never asked
    assert found("original_persistence", **OWN_READING) == pytest.approx(own_success(study, "contrast"))
    ogp = own_success(study, "collision")  # it does what it would do anyway, as often
    assert found("original_goal_persistence", **COLLISION, judged="ever") == pytest.approx(ogp)
    assert found("canonical_goal_activation", **COLLISION, judged="ever") == pytest.approx(ogp)  # and nothing else
    assert found("outcome_none", **COLLISION, judged="ever") == pytest.approx(1 - ogp)
    assert found("action_initiation", **COLLISION, threshold=INITIATION) == 1
    changes = [found.at("action_divergence", one) for one in found.scopes("action_divergence")]
    assert set(changes) - {None} == {0}  # to the last bit
    assert found("control_success", condition="swap", stage=LAST) == 0
    assert found("swap_normalised", condition="swap", stage=LAST) == 0
    for name in ("swap", "null", "negated", "shuffled", "noise"):
        assert found("control_original", condition=name, stage=LAST) == pytest.approx(own_success(study, name))
    # What it wants is so already. The registry shows none of these rows reachable, so they stand apart.
    assert found("control_opposite", condition="reverse", stage=LAST, reach="not_shown") == 0


def test_oracle(study):
    """It does what the words ask for."""
    found, theory = study.found["oracle"], study.theory["oracle"]
    assert found("paraphrase_gap", condition="paraphrase", stage=LAST) == 0  # the same goals
    assert found("nbt", condition="original") == found("nbt", condition="paraphrase") == 0
    certified = balanced(theory.counted("target_success", Scope(**OWN_READING)))
    assert found("goal_switch_accuracy", **OWN_READING) == pytest.approx(certified)
    assert found("original_persistence", **OWN_READING) == found("both_goals", **OWN_READING) == 0
    assert found("neither_goal", **OWN_READING) == pytest.approx(1 - certified)
    assert found("original_goal_persistence", **COLLISION, judged="ever") == 0  # nothing can be done, nothing is
    assert found("outcome_none", **COLLISION, judged="ever") == 1
    assert found("action_initiation", **COLLISION, threshold=INITIATION) == 0
    assert found("action_initiation", condition="original", stage=LAST, threshold=INITIATION) == 1
    assert found("action_divergence", condition="paraphrase", stage=LAST) == 0  # the same goal, the same action
    for condition, tier in (("contrast", "strict"), ("collision", None)):
        assert found("action_divergence", condition=condition, tier=tier, stage=LAST) > 0.1
    assert found("control_original", condition="null", stage=LAST) == 0  # not asked
    for name in ("shuffled", "noise"):  # the registry says that they mean the original goal
        assert found("control_success", condition=name, stage=LAST) == pytest.approx(own_success(study, name))
    assert found("control_opposite", condition="reverse", stage=LAST, reach="not_shown") == 0


def test_learner(study):
    """It forgets the first of three tasks after two, and does not understand one of two types of paraphrase."""
    found = study.found["learner"]
    first, second, third = (study.theory["deaf"].column("original", LAST)[k] for k in range(3))
    # falls of the first task: 0 after the second stage, its success after the third; none of the second
    assert found("nbt", condition="original") == pytest.approx((first / 2 + 0) / 2)
    assert found("auc", condition="original") == pytest.approx((2 * first / 3 + second + third) / 3)
    assert found("final_success", condition="original", stage=LAST) == pytest.approx((0 + second + third) / 3)
    # nothing before training, at its best from the first epoch on: two of three epochs
    assert found("forward_transfer", condition="original") == pytest.approx(2 / 3 * (first + second + third) / 3)
    gap = {"condition": "paraphrase", "stage": LAST}
    assert found("paraphrase_gap", **gap, kind="verb_synonym") == 0
    assert found("paraphrase_gap", **gap, kind="passive") == pytest.approx(
        (0 + second + third) / 3
    )  # the first is forgotten
    assert found("action_divergence", condition="paraphrase", stage=LAST) > 0
    assert found("language_margin", condition="paraphrase", stage=LAST) > 0  # demonstrated for the original's words


@pytest.mark.parametrize("p", SHARES)
def test_noisy_oracle_is_in_each_episode_the_one_or_the_other(study, p):
    """Which, its episode's seed says; then the episode is the same to the last bit."""
    oracles, deafs = (
        {one.cell: course(one) for one in study.found[name].evidence.episodes} for name in ("oracle", "deaf")
    )
    for one in study.found[f"noisy-{p}"].evidence.episodes:
        expected, other = (oracles, deafs) if listens(one.cell, p) else (deafs, oracles)
        assert course(one) == expected[one.cell] != other[one.cell], one.cell


def test_noisy_oracle_is_linear_in_p(study):
    """Rates are means of what each episode shows, so they are linear in the share that listens, and that is p."""
    for p in SHARES:
        found = study.found[f"noisy-{p}"]
        contrasts = found.evidence.select("contrast")
        reached = sum(study.facts.first(study.facts.rows[one.variant], TARGET) > 0 for one in contrasts)
        switched = sum(one.reached("target") and not one.reached("original") for one in contrasts)
        low, high = binom(reached, p).interval(0.99)  # of what the oracle reaches, a share p
        assert low <= switched <= high
        still = sum(not one.motion_steps for one in found.evidence.select("collision"))
        low, high = binom(len(found.evidence.select("collision")), p).interval(0.99)
        assert low <= still <= high
    pooled = [one for p in SHARES for one in study.found[f"noisy-{p}"].evidence.episodes]
    heard = sum(listens(one.cell, p) for p in SHARES for one in study.found[f"noisy-{p}"].evidence.episodes)
    low, high = binom(len(pooled), np.mean(SHARES)).interval(0.99)  # wider than the true one: shares differ
    assert low <= heard <= high


@pytest.mark.parametrize("name", FLOOR)
def test_the_floor_reaches_nothing(study, name):
    """One never moves, the other moves without aim: no goal in time, and nothing to forget."""
    found = study.found[name]
    assert not any(one.first_held for one in found.evidence.episodes)
    assert found("nbt", condition="original") == found("auc", condition="original") == 0
    assert found("neither_goal", **OWN_READING) == found("outcome_none", **COLLISION, judged="ever") == 1
    trained = found.value("normalised_goal_switch", **OWN_READING, trained=True)
    assert "never reached under their own" in trained.reason
    for condition in ("original", "collision"):
        moved = found("action_initiation", condition=condition, stage=LAST, threshold=SURE)
        assert moved == (name == "random")


def test_correlations(study):
    """Rank correlation over (method, task) pairs of what theory says of both sides."""
    names = ("oracle", "deaf", "learner")
    found = metrics.measure([study.found[name].evidence for name in names], np.random.default_rng(0))
    numbers = {(one.quantity, one.scope): one.value for one in found if one.quantity.endswith("_correlation")}
    defined = 0
    for (quantity, scope), value in numbers.items():
        cheap = quantity.removesuffix("_correlation")
        pairs = [pair for name in names for pair in pairs_of(study.theory[name], cheap, scope)]
        assert value.n == len(pairs), (quantity, scope)
        one, two = zip(*pairs, strict=True) if pairs else ((), ())
        varied = len(pairs) > 2 and len({round(x, 9) for x in one}) > 1 and len({round(x, 9) for x in two}) > 1
        expected = float(spearmanr(np.round(one, 9), np.round(two, 9)).statistic) if varied else None
        assert same(value.mean, expected), (quantity, scope, value)
        defined += varied
    assert defined >= 4
    kept = Scope("contrast", "strict", against="original_persistence")
    assert numbers["action_divergence_correlation", kept].mean < 0  # who does not hear persists


def pairs_of(theory, cheap, scope):
    """(action level, outcome level) of each task that has both."""
    judged = {"contrast": "own", "collision": "ever"}.get(scope.condition)
    for task in ORDER:
        place = Scope(scope.condition, scope.tier, stage=LAST, task=task, judged=judged)
        pair = theory.value(cheap, place), theory.value(scope.against, place)
        if None not in pair:
            yield pair


@pytest.fixture(scope="module")
def report(study, tmp_path_factory):
    """The report of all runs of one horizon."""
    return write_report([study.runs[name] for name in GUIDED], tmp_path_factory.mktemp("report") / "out")


@pytest.mark.parametrize("table", PRINTED)
def test_the_report_prints_what_theory_says(study, report, table):
    """Raw in the CSV file, in percent on the page."""
    rows = {row["method"]: row for row in rows_of(report, table) if row.get("slot", "all") == "all"}
    expected = {
        name: {key: study.theory[name].value(quantity, scope) for key, (quantity, scope) in PRINTED[table].items()}
        for name in rows
    }
    assert set(rows) == {name for name in GUIDED if planned(table, study.theory[name].plan.conditions)}
    for name, row in rows.items():
        for key, value in expected[name].items():
            assert same(held(row[key]), value), (name, key)
    page = page_rows(report, table, rows)
    for name, cells in page.items():
        shown = dict(zip(columns_of(report, table), cells, strict=True))
        for key, value in expected[name].items():
            assert shown[key].split(" ")[0] == written(key, value), (name, key)


@pytest.mark.parametrize("table", SPLIT)
def test_the_report_splits_as_theory_does(study, report, table):
    """By reading, by who trained the goal, by slot."""
    column, words, quantities = SPLIT[table]
    seen = set()
    for row in rows_of(report, table):
        if row[column] in words and row.get("tier", "strict") == "strict":
            scope = Scope(**{**OWN_READING, **words[row[column]]})
            for quantity in quantities:
                assert same(held(row[quantity]), study.theory[row["method"]].value(quantity, scope)), row
            seen.add((row["method"], row[column]))
    assert len(seen) == (len(GUIDED) - 1) * len(words)


@pytest.mark.parametrize("condition", ["original", "paraphrase"])
def test_the_report_shows_the_matrix(study, report, condition):
    """Stage by stage, a task from its own stage on."""
    for row in rows_of(report, f"stages_{condition}"):
        column = study.theory[row["method"]].column(condition, int(row["stage"]))
        assert {task: held(row[task]) for task in ORDER} == {task: column.get(k) for k, task in enumerate(ORDER)}


def test_the_report_shows_controls_and_actions(study, report):
    """One row a condition and part; one row a condition, tier and slot."""
    goals = ("control_success", "control_original", "control_canonical", "control_opposite")
    for row in rows_of(report, "table_controls"):
        if row["condition"] == "canonical":
            continue
        apart = {"reach": "not_shown"} if row["part"] == "not shown reachable" else {}
        part = None if apart or row["part"] == "all" else row["part"].replace(" ", "_")
        scope = scope_at(condition=row["condition"], kind=part, **apart)
        for quantity in goals if row["condition"] == "reverse" else goals[:3]:
            assert same(held(row[quantity]), study.theory[row["method"]].value(quantity, scope)), row
        moved = dataclasses.replace(scope, threshold=INITIATION)
        assert same(held(row["control_initiation"]), study.theory[row["method"]].value("control_initiation", moved))
    rows = rows_of(report, "action_level")
    assert {row["method"] for row in rows} == set(GUIDED)
    for row in rows:
        slot = None if row["slot"] == "all" else row["slot"]
        scope = scope_at(condition=row["condition"], tier=row["tier"] or None, slot=slot)
        for quantity in ("action_divergence", "language_margin"):
            assert same(held(row[quantity]), study.theory[row["method"]].value(quantity, scope)), row
    rows = rows_of(report, "action_initiation")
    for row, threshold in itertools.product(rows, MOTION_THRESHOLDS):
        scope = scope_at(condition=row["condition"], threshold=threshold)
        expected = study.theory[row["method"]].value("action_initiation", scope)
        assert same(held(row[f"air_{threshold:g}"]), expected), row


def test_the_report_says_who_does_not_hear_and_who_does_not_learn(report):
    """The two warnings belong to the deaf policy, the second to the oracle too, none to the learner."""
    head = (report / "report.md").read_text(encoding="utf-8").split("## ")[0]
    assert "deaf: text unused" in head
    assert "oracle: text unused" not in head
    frozen = {line.split(":")[0].strip("- ") for line in head.splitlines() if "does not change with the stage" in line}
    assert frozen == {"deaf", "oracle"}


def test_evidence_is_what_the_plan_says(study):
    """Goals that others trained and texts that others own come from the registry."""
    evidence = study.found["oracle"].evidence
    assert isinstance(evidence, Evidence)
    for row in study.facts.rows.values():
        assert evidence.trained.get(row.id) == study.facts.owner(row)

"""Which goal each reference policy follows in each episode of the plan of ``staged``, without a simulator."""

import itertools

import pytest
from scipy.stats import binom
from staged import LAST, few_rows, staged_plan
from theory import TARGET, deaf, goal_of, listens, noisy, oracle

from gym_grounding import conditions, manifest, reference
from gym_grounding.plan import episode_seed
from gym_grounding.records import Cell

__all__ = ["few_rows"]

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
SEEDS = 100
CASES = [("oracle", {}, oracle), ("deaf", {}, deaf), *(("noisy-oracle", {"p": p}, noisy(p)) for p in SHARES)]


def followed(policy, row, cell):
    """What a policy does in a cell's episode."""
    book = manifest.load()
    return policy.goal(book, book.task(row.task), row.instruction, episode_seed(cell))


@pytest.mark.parametrize(("name", "options", "follows"), CASES)
def test_policies_follow_what_theory_says(few_rows, name, options, follows):
    """Own goal, instructed goal or none, in every cell of every stage."""
    book, plan = manifest.load(), staged_plan(conditions=(*conditions.standard(), *conditions.controls()))
    policy = reference.get(name)(**options)
    for stage in plan.stages:
        for row, seed in itertools.product(plan.variants(book, stage), range(3)):
            cell = Cell(stage, row.id, 0, seed)
            assert followed(policy, row, cell) == goal_of(book, row, follows(row, cell)), cell


def test_noisy_oracle_listens_in_a_share_p(few_rows):
    """In many episodes, a larger share where p is larger and then in the same ones too: rates are linear in p."""
    book = manifest.load()
    rows = [row for row in staged_plan().variants(book, LAST) if row.condition == "contrast"]
    cells = [(row, Cell(LAST, row.id, 0, seed)) for row, seed in itertools.product(rows, range(SEEDS))]
    heard = []
    for p in SHARES:
        policy = reference.get("noisy-oracle")(p)
        heard.append({cell for row, cell in cells if followed(policy, row, cell) == goal_of(book, row, TARGET)})
        assert heard[-1] == {cell for _, cell in cells if listens(cell, p)}
        low, high = binom(len(cells), p).interval(0.99) if 0 < p < 1 else (p * len(cells),) * 2
        assert low <= len(heard[-1]) <= high
    assert all(less < more for less, more in itertools.pairwise(heard))

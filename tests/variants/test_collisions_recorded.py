"""Collisions and swaps by the measurements that the package carries."""

import json
from collections import Counter

import pytest
from variants.collision_world import OTHER, known, place

from gym_grounding.types import SLOTS
from gym_grounding.variants import evidence
from gym_grounding.variants.controls import swap
from gym_grounding.variants.proposers import collisions
from gym_grounding.variants.proposers._base import ProposalRequest
from gym_grounding.variants.validator import collision


@pytest.fixture(scope="module")
def recorded():
    """The recorded measurements; nothing is simulated."""
    found = evidence.Recorded(measure=False)
    lines = evidence.FILE.read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["physics"] for line in lines} == {found.physics}
    return found


def test_collisions_by_suite_and_slot(recorded):
    counts = Counter()
    for task in known().tasks.values():
        scene = known().scene_of(task.id)
        for slot in SLOTS:
            request = ProposalRequest(task, scene, "collision", slot, avoid=(task.instruction,))
            for one in collisions.propose(request, known()) if getattr(task.slots, slot) else ():
                counts[task.suite, slot] += collision.judge(one, task, scene, recorded, known()).accepted
    assert {suite: [counts[suite, slot] for slot in SLOTS] for suite in known().suites} == {
        "LiberoGoal": [2, 10, 2, 8, 2],
        "LiberoSpatial": [0, 10, 10, 10, 10],
        "LiberoObject": [0, 10, 0, 10, 0],
        "LiberoLong": [2, 10, 5, 10, 5],
    }


def test_a_wine_bottle_fits_under_the_raised_rack(recorded):
    task, scene = place("LiberoGoal-T9")
    request = ProposalRequest(task, scene, "collision", "relation")
    first, *_ = collisions.propose(request, known())
    judgement = collision.judge(first, task, scene, recorded, known())
    assert (first.instruction, judgement.reason) == ("put the wine bottle under the rack", "possible")


def test_swaps_by_suite(recorded):
    judgements = swap.rows(known(), recorded)
    counts = Counter(one.proposal.task.partition("-")[0] for one in judgements if one.accepted)
    assert counts == {"LiberoGoal": 90, "LiberoSpatial": 9, "LiberoObject": 50, "LiberoLong": 5}


def test_swaps_of_spatial_are_about_the_bowl_that_the_text_describes(recorded):
    for one in swap.rows(known(), recorded):
        if one.accepted and one.proposal.task.startswith("LiberoSpatial"):
            assert one.row["goal"].id == f"on({OTHER}, plate_1)"

"""The scripted policies on the real simulator: their numbers about the scene, and whether they do what they claim."""

import numpy as np
import pytest
from gym_grounding_policies import _skills as skills
from gym_grounding_policies.scripted import DEAF, LISTENING

from gym_grounding import make, manifest
from gym_grounding.plan import Plan
from gym_grounding.records import Cell, EpisodeRecord
from gym_grounding.rollout import run_cells
from gym_grounding.types import Goal, Predicate, SceneSettings

pytestmark = pytest.mark.sim

BOX = 6
"""MuJoCo's number of a box geom; the objects of the scene are made of boxes only."""


@pytest.fixture(scope="module")
def settled():
    """A settled scene: the observation, and the compiled model with its state."""
    env = make("LiberoGoal-T8-Original", observation="state")
    observation, _ = env.reset(options={"init_state": 7})
    yield observation, env.get_wrapper_attr("scene")._simulator.env.sim
    env.close()


def played(policy, variant, init_states, horizon=600, stop="default"):
    registry = manifest.load()
    task = registry.variant(variant).task
    settings = SceneSettings(observation="state", settle_steps=registry.settle)
    plan = Plan.make(tasks=[task], init_states=init_states, horizon=horizon, stop=stop, settings=settings)
    stage = len(plan.order) - 1
    outcomes = list(run_cells(policy, [Cell(stage, variant, number, 0) for number in init_states], plan, registry))
    assert all(isinstance(outcome, EpisodeRecord) for outcome in outcomes), outcomes
    return outcomes


def corners(sim, name):
    """Corners of the collision boxes of an object in its own frame, shape (n, 3)."""
    body = sim.model.body_name2id(f"{name}_main")
    signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, -1).T
    found = []
    for geom in range(sim.model.ngeom):
        if sim.model.geom_bodyid[geom] != body or not sim.model.geom_contype[geom]:
            continue
        assert sim.model.geom_type[geom] == BOX
        turn = sim.data.body_xmat[body].reshape(3, 3).T @ sim.data.geom_xmat[geom].reshape(3, 3)
        place = sim.data.body_xmat[body].reshape(3, 3).T @ (sim.data.geom_xpos[geom] - sim.data.body_xpos[body])
        found.append(signs * sim.model.geom_size[geom] @ turn.T + place)
    return np.concatenate(found)


@pytest.mark.parametrize("name", skills.SHAPES)
def test_shapes_are_those_of_the_model(settled, name):
    points, shape = corners(settled[1], name), skills.SHAPES[name]
    assert shape.top == pytest.approx(points[:, 2].max(), abs=2e-3)
    assert shape.radius == pytest.approx(np.hypot(points[:, 0], points[:, 1]).max(), abs=2e-3)
    assert shape.rim < shape.radius
    resting = settled[0][f"{name}_pos"][2] + shape.bottom
    assert resting == pytest.approx(skills.TABLE, abs=1.5e-3)


@pytest.mark.parametrize("region", skills.PLACES)
def test_places_are_those_of_the_model(settled, region):
    observation, sim = settled
    skill = skills.skill_for(Goal((Predicate("on", ("akita_black_bowl_1", region)),)))
    spot = skills.spot(skill, observation)
    site = sim.data.site_xpos[sim.model.site_name2id(region)]
    assert np.allclose(spot[:2], site[:2], atol=1e-3)
    size = sim.model.site_size[sim.model.site_name2id(region)]
    height = spot[2] - site[2]
    assert size[2] - 0.005 < height < size[2] + 0.10, "a bowl at the place satisfies LIBERO's On"


@pytest.mark.parametrize("name", skills.FIXTURES)
def test_fixtures_are_no_higher_than_believed(settled, name):
    observation, sim = settled
    for geom in range(sim.model.ngeom):
        if not sim.model.body_id2name(sim.model.geom_bodyid[geom]).startswith(name) or not sim.model.geom_contype[geom]:
            continue
        place, up = sim.data.geom_xpos[geom], np.abs(sim.data.geom_xmat[geom].reshape(3, 3)[2])
        believed = skills.clearance(observation, place, place, 0.0, tuple(skills.SHAPES))
        assert place[2] + up @ sim.model.geom_size[geom] <= believed + 0.005, sim.model.geom_id2name(geom)


@pytest.mark.parametrize("task", [1, 4, 8])
@pytest.mark.parametrize("policy", [DEAF, LISTENING], ids=["deaf", "listening"])
def test_originals_are_reached(task, policy):
    for record in played(policy, f"LiberoGoal-T{task}-Original", [2, 17]):
        assert record.success, record
        assert record.ended == "terminated"
        assert record.steps < 150


def test_a_reached_goal_stays_and_the_hand_comes_to_rest():
    (record,) = played(LISTENING, "LiberoGoal-T8-Original", [5], horizon=200, stop="horizon")
    assert record.first_held["original"] < 120
    assert record.held_at_end == ("original",)


def test_contrast_the_deaf_form_persists_and_the_listening_form_switches():
    (deaf,) = played(DEAF, "LiberoGoal-T8-ContrastTarget1", [3], horizon=130)
    (listening,) = played(LISTENING, "LiberoGoal-T8-ContrastTarget1", [3], horizon=130)
    assert ("original" in deaf.first_held, "target" in deaf.first_held, deaf.success) == (True, False, False)
    assert ("original" in listening.first_held, "target" in listening.first_held) == (False, True)
    assert listening.success
    assert listening.held_at_end == ("target",)
    assert (deaf.task_identity, listening.task_identity) == (True, False)


def test_added_regions_and_lifts_are_reached():
    (placed,) = played(LISTENING, "LiberoGoal-T8-ContrastRelation1", [6], horizon=110)
    (lifted,) = played(LISTENING, "LiberoGoal-T8-ContrastAction1", [6], horizon=110)
    for record in (placed, lifted):
        assert record.held_at_end == ("target",)
        assert record.success


def test_collision_the_deaf_form_goes_on_and_the_listening_form_does_not_start():
    (deaf,) = played(DEAF, "LiberoGoal-T8-CollisionObject1", [4], horizon=110)
    (listening,) = played(LISTENING, "LiberoGoal-T8-CollisionObject1", [4], horizon=110)
    assert "original" in deaf.first_held
    assert (listening.first_held, listening.motion_steps) == ({}, {})
    assert listening.displacement < 0.001

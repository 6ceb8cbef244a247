"""Displaced starts of LIBERO scenes."""

import numpy as np
import pytest

from gym_grounding import manifest
from gym_grounding.adapters.libero import ADAPTER, facts
from gym_grounding.adapters.libero import displaced as module
from gym_grounding.errors import InvalidOption, SimulatorError
from gym_grounding.types import SceneSettings

pytestmark = pytest.mark.sim

DATA = manifest.load()


def opened(task, **settings):
    return ADAPTER.open(DATA.scene_of(task), {task: DATA.task(task)}, SceneSettings("state", **settings))


def shifts(task, init_state):
    """Of every object: from LIBERO's settled start to the displaced one, shape (objects, 3) by name."""
    rows = []
    for starts in ("libero", "displaced"):
        scene = opened(task, starts=starts)
        observation = scene.reset(DATA.task(task), init_state)
        rows.append({one.name: observation[f"{one.name}_pos"] for one in DATA.scene_of(task).of_kind("object")})
        scene.close()
    return {name: rows[1][name] - rows[0][name] for name in rows[0]}


def test_loose_objects_stand_3_to_8_cm_away_at_rest():
    moved = shifts("LiberoGoal-T1", 0)
    assert len(moved) == 4
    for offset in moved.values():
        assert 0.025 < np.linalg.norm(offset[:2]) < 0.085
        assert abs(offset[2]) < 0.003


def test_what_a_region_is_laid_beside_stays():
    """The registry asks for the bowl at the right of the plate, and for the wine bottle at the left of the rack."""
    moved = {name: np.linalg.norm(offset) for name, offset in shifts("LiberoGoal-T8", 0).items()}
    assert moved.pop("plate_1") < 0.003
    assert min(moved.values()) > 0.025


def test_bowls_of_one_kind_move_with_what_tells_them_apart():
    """One bowl is between plate and ramekin, the other next to the ramekin; the plate stays in tasks 1 to 9."""
    moved = shifts("LiberoSpatial-T3", 1)  # bowl 1 is on the cookie box
    assert np.allclose(moved["akita_black_bowl_1"], moved["cookies_1"], atol=0.004)
    assert np.linalg.norm(moved["cookies_1"]) > 0.025


def test_a_start_is_found_again_to_the_last_bit(monkeypatch):
    task = DATA.task("LiberoGoal-T5")
    first, second = (opened(task.id, starts="displaced", settle_steps=steps) for steps in (10, 0))
    first.reset(task, 2)
    state = first.state()
    monkeypatch.setattr(module, "_KNOWN", {})
    second.reset(task, 5)
    first.reset(task, 0)
    for _ in range(3):
        first.step(np.array([0.3, 0.2, -1.0, 0.0, 0.0, 0.0, 1.0]))
    second.reset(task, 2)
    unsettled = second.state()
    changed = np.flatnonzero(unsettled != np.array(facts.init_state(task, 2)))
    assert 0 < len(changed) <= 8
    first.reset(task, 2)
    assert np.array_equal(first.state(), state)
    for scene in (first, second):
        scene.close()


def test_a_preset_joint_is_part_of_the_start():
    """The drawer is open from the first; in LIBERO's own start 0 it would lift the bowl."""
    task = DATA.task("LiberoGoal-T0")
    scene = opened(task.id, starts="displaced")
    observation = scene.reset(task, 0, joints={"wooden_cabinet_1_middle_region": -0.15})
    assert scene.holds(task.goal)
    assert abs(observation["akita_black_bowl_1_pos"][2] - 0.899) < 0.003
    scene.reset(task, 0)
    assert not scene.holds(task.goal)
    scene.close()


def test_a_start_without_a_valid_arrangement_is_an_error_that_names_it(monkeypatch):
    task = DATA.task("LiberoGoal-T2")
    monkeypatch.setattr(module, "_KNOWN", {})
    monkeypatch.setattr(module, "ATTEMPTS", 2)
    monkeypatch.setattr(module, "SINK", -1.0)
    scene = opened(task.id, starts="displaced")
    with pytest.raises(SimulatorError, match="no valid displaced start 3 of LiberoGoal-T2 in 2 arrangements"):
        scene.reset(task, 3)
    with pytest.raises(InvalidOption, match="50"):
        scene.reset(task, 50)
    monkeypatch.undo()
    scene.reset(task, 3)
    scene.close()

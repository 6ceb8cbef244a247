"""Measurements in real LIBERO scenes: starts, relations, witnesses, impossible places."""

import contextlib
import itertools

import numpy as np
import pytest

from gym_grounding.adapters.libero import ADAPTER, impossible, measurement, witness
from gym_grounding.adapters.libero.bench import Bench
from gym_grounding.adapters.libero.geometry import Box
from gym_grounding.adapters.libero.measurement import Count
from gym_grounding.adapters.libero.predicates import AddedZone
from gym_grounding.adapters.libero.relations import Relations
from gym_grounding.errors import InvalidOption, SimulatorError
from gym_grounding.types import Goal, Predicate, Region, SceneSettings
from gym_grounding.variants import definitions, evidence
from gym_grounding.variants.evidence import Recorded

pytestmark = [pytest.mark.sim, pytest.mark.xdist_group("measurement")]

DEFINED = definitions.load()
BOWL, SECOND, PLATE, STOVE = "akita_black_bowl_1", "akita_black_bowl_2", "plate_1", "flat_stove_1"
RAMEKIN, COOKIES, CABINET = "glazed_rim_porcelain_ramekin_1", "cookies_1", "wooden_cabinet_1"
SAMPLE = (0, 7, 31)


@contextlib.contextmanager
def opened(task_id):
    bench = Bench(DEFINED.task(task_id), DEFINED.scene_of(task_id))
    yield bench
    bench.close()


@pytest.fixture(scope="module")
def bench():
    """The scene of LIBERO-Goal, as its task 8 starts it."""
    with opened("LiberoGoal-T8") as one:
        yield one


def goal(*literals, regions=()):
    return Goal(tuple(Predicate(name, tuple(arguments)) for name, *arguments in literals), tuple(regions))


def on(subject, reference, regions=()):
    return goal(("on", subject, reference), regions=regions)


def tilt(bench, name):
    """Angle between a body's z-axis and upright [degrees]."""
    _, x, y, _ = bench.pose(name)[3:]
    return np.degrees(np.arccos(1 - 2 * (x * x + y * y)))


# --- starts -----------------------------------------------------------------------------------------------------------


def test_counts_before_and_after_settling_and_with_tolerance(bench):
    own, off = bench.task.goal, goal(("turnoff", STOVE))
    shut = goal(("close", f"{CABINET}_middle_region"))
    all_shut, on_stove = goal(("close", CABINET)), on(BOWL, f"{STOVE}_cook_region")
    counts = measurement.starts(bench, [own, off, shut, all_shut, on_stove], SAMPLE).counts
    assert counts[own] == counts[on_stove] == Count(0, 0, 0, 3)
    assert counts[off] == counts[shut] == counts[all_shut] == Count(0, 0, 3, 3)


def test_tolerance_stops_where_a_drawer_is_pulled(bench):
    shut = goal(("close", f"{CABINET}_middle_region"), ("turnoff", STOVE))
    joint = measurement.joints_of(bench.env, f"{CABINET}_middle_region")[0]
    knob = measurement.joints_of(bench.env, STOVE)[0]
    verdicts = []
    for position, turned in ((-0.009, 0.0), (-0.011, 0.0), (-0.009, 0.6)):
        bench.restore(0)
        bench.set_joints({joint: position, knob: turned})
        verdicts.append(measurement.holds_tolerantly(bench, shut))
    assert verdicts == [True, False, False]


def test_what_hangs_in_the_air_at_first_counts_after_settling():
    with opened("LiberoSpatial-T3") as bench:
        rests = on(BOWL, COOKIES)
        assert measurement.starts(bench, [rests], SAMPLE).counts[rests] == Count(0, 3, 3, 3)


def test_the_bowl_stays_upright_on_the_ramekin():
    with opened("LiberoSpatial-T5") as bench:
        for init_state in SAMPLE:
            bench.restore(init_state)
            assert bench.holds(on(BOWL, RAMEKIN))
            assert tilt(bench, BOWL) < 20


def test_a_layout_is_in_the_frame_of_the_work_surface(bench):
    starts = measurement.starts(bench, [], SAMPLE)
    assert starts.robot == pytest.approx((-0.66, 0.0))
    assert starts.of == 3
    x_min, y_min, x_max, y_max, bottom, top = starts.footprints[PLATE]
    assert (x_max - x_min, y_max - y_min, bottom, top) == pytest.approx((0.1375, 0.1375, 0.0, 0.0189), abs=2e-3)
    assert ((x_min + x_max) / 2, (y_min + y_max) / 2) == pytest.approx((0.05, -0.02), abs=0.02)  # its BDDL region
    assert starts.footprints[CABINET][4:] == pytest.approx((0.0096, 0.228), abs=1e-3)
    assert set(starts.footprints) == {*bench.env.objects_dict, *bench.env.fixtures_dict}


@pytest.mark.parametrize("task_id", ["LiberoLong-T0", "LiberoLong-T2", "LiberoLong-T5", "LiberoObject-T0"])
def test_things_stand_on_every_kind_of_work_surface_where_their_regions_are(task_id):
    """In the living room, the kitchen, the study and on the floor."""
    with opened(task_id) as bench:
        bench.restore(0)
        regions, placed = bench.env.parsed_problem["regions"], bench.env.parsed_problem["initial_state"]
        starts = {literal[1]: literal[2] for literal in placed if literal[0] == "on"}
        for name in bench.env.objects_dict:
            box = bench.geometry.box(name).moved(-bench.geometry.origin)
            assert box.low[2] == pytest.approx(0.0, abs=1e-3)
            x_min, y_min, x_max, y_max = regions[starts[name]]["ranges"][0]
            assert box.low[0] < (x_min + x_max) / 2 < box.high[0]
            assert box.low[1] < (y_min + y_max) / 2 < box.high[1]


@pytest.mark.parametrize("task_id", ["LiberoLong-T0", "LiberoLong-T2", "LiberoLong-T5", "LiberoObject-T0"])
def test_an_added_region_lies_where_a_native_one_of_equal_ranges_lies(task_id):
    with opened(task_id) as bench:
        bench.restore(0)
        zones = [zone.name for zone in bench.scene.of_kind("zone")]
        for name in zones[1:]:
            ranges = tuple(bench.env.parsed_problem["regions"][name]["ranges"][0])
            added = AddedZone(bench.env, Region("added", bench.env.workspace_name, ranges))
            assert np.array_equal(added.position(), bench.env.sim.data.get_site_xpos(name)), name


def test_a_restored_start_is_the_environments_start_whatever_was_done(bench):
    scene = ADAPTER.open(bench.scene, {bench.task.id: bench.task}, SceneSettings("state"))
    scene.reset(bench.task, 7)
    expected = scene.state()
    scene.close()
    for _ in range(2):
        bench.restore(7)
        assert np.array_equal(bench._simulator.state(), expected)
        bench.lower(BOWL, np.array([0.0, 0.0, 1.2]), np.array([1.0, 0.0, 0.0, 0.0]), 0.1)
        assert bench.run(5)
        assert not np.array_equal(bench._simulator.state(), expected)


def test_equal_placements_end_equally_and_leave_the_robot_still(bench):
    ends = []
    for _ in range(2):
        bench.restore(0)
        bench.lower(BOWL, np.array([0.1, 0.1, 0.9]), bench.pose(BOWL)[3:], 0.05)
        before = bench._simulator.state()
        assert bench.run(7)
        ends.append(bench._simulator.state())
    assert np.array_equal(*ends)
    positions, velocities = (np.array(addresses) for addresses in bench._robot)
    assert np.array_equal(ends[0][1 + positions], before[1 + positions])
    assert not np.any(ends[0][1 + bench.env.sim.model.nq + velocities])


def test_a_drawer_has_a_box_of_its_own(bench):
    drawer = f"{CABINET}_top_region"
    bench.restore(0)
    shut, cabinet = bench.geometry.box(drawer), bench.geometry.box(CABINET)
    assert shut.size[2] < cabinet.size[2] / 2
    bench.set_joints({measurement.joints_of(bench.env, drawer)[0]: -0.15})
    moved = bench.geometry.box(drawer).centre - shut.centre
    assert moved == pytest.approx((0.0, 0.15, 0.0), abs=1e-3)  # towards the middle of the table
    assert bench.geometry.box(f"{CABINET}_top_side").size == pytest.approx(bench.geometry.box(CABINET).size)


# --- relations --------------------------------------------------------------------------------------------------------


def test_places_that_liberos_texts_name():
    said = {
        "LiberoSpatial-T0": ("between", f"{RAMEKIN} {PLATE}"),
        "LiberoSpatial-T1": ("next to", RAMEKIN),
        "LiberoSpatial-T2": ("center", "main_table"),
        "LiberoSpatial-T3": ("on", COOKIES),
        "LiberoSpatial-T4": ("in", f"{CABINET}_top_region"),
        "LiberoSpatial-T5": ("on", RAMEKIN),
        "LiberoSpatial-T6": ("next to", COOKIES),
        "LiberoSpatial-T7": ("on", STOVE),
        "LiberoSpatial-T8": ("next to", PLATE),
        "LiberoSpatial-T9": ("on", CABINET),
    }
    for task_id, (relation, reference) in said.items():
        with opened(task_id) as bench:
            bench.restore(0)
            holding = Relations(bench.env, bench.scene, bench.geometry, bench.judge).holding()
            fitting = {subject for one, subject, other in holding if (one, other) == (relation, reference)}
            assert fitting & {BOWL, SECOND} == {BOWL}, task_id


def test_recorded_relations_pick_liberos_bowl_in_all_states_and_no_other():
    known = Recorded(measure=False)
    relations = {index: known.layout(DEFINED.task(f"LiberoSpatial-T{index}")).relations for index in range(10)}
    assert relations[0]["next to", BOWL, RAMEKIN] == relations[0]["next to", SECOND, RAMEKIN] == 50
    assert relations[0]["right", SECOND, RAMEKIN] == 50
    assert relations[0]["front", BOWL, RAMEKIN] == 50
    for index, key in {1: ("next to", RAMEKIN), 2: ("center", "main_table"), 8: ("next to", PLATE)}.items():
        assert relations[index][key[0], BOWL, key[1]] == 50
        assert (key[0], SECOND, key[1]) not in relations[index]


def test_a_thing_near_the_end_of_a_turned_drawer_is_in_it():
    """LIBERO turns the drawer's box the wrong way round, which shows where the cabinet stands askew."""
    with opened("LiberoSpatial-T4") as bench:
        drawer = f"{CABINET}_top_region"
        bench.restore(0)
        pose, site = bench.pose(BOWL), bench.env.sim.data.get_site_xmat(drawer)
        outward = site[:, int(np.argsort(bench.env.object_sites_dict[drawer].size)[1])]
        bench.place(BOWL, np.array([*(pose[:3] + 0.04 * outward), *pose[3:]]))
        assert not bench.holds(goal(("in", BOWL, drawer)))
        holding = Relations(bench.env, bench.scene, bench.geometry, bench.judge).holding()
        assert {("in", BOWL, drawer), ("in", BOWL, CABINET)} <= holding


def test_under_between_and_beside(bench):
    bench.restore(0)
    plate, bowl = bench.pose(PLATE), bench.pose(BOWL)
    bench.place(BOWL, np.array([*plate[:2], bowl[2] + 0.02, *bowl[3:]]))
    bench.place("cream_cheese_1", np.array([plate[0] + 0.14, plate[1], *bench.pose("cream_cheese_1")[2:]]))
    assert bench.run(10)
    holding = Relations(bench.env, bench.scene, bench.geometry, bench.judge).holding()
    assert {("on", BOWL, PLATE), ("under", PLATE, BOWL), ("front", "cream_cheese_1", PLATE)} <= holding
    assert ("next to", "cream_cheese_1", PLATE) in holding
    assert ("near", "cream_cheese_1", BOWL) in holding
    assert ("next to", "cream_cheese_1", BOWL) not in holding  # on another support
    assert not [one for one in holding if one[:2] == ("next to", BOWL)]


# --- witnesses --------------------------------------------------------------------------------------------------------


def test_a_witness_of_a_contrast_is_found_where_the_original_is_false(bench):
    on_stove = on(BOWL, f"{STOVE}_cook_region")
    found = witness.search(bench, [on_stove], bench.task.goal)[on_stove]
    assert (found.found, found.state, found.original) == (True, 0, False)
    assert found.placement == "as it stands, dropped from 0.005 m"
    assert bench.holds(on_stove)


def test_a_drawer_is_open_before_something_is_put_in(bench):
    drawer = f"{CABINET}_bottom_region"
    inside = goal(("in", BOWL, drawer))
    assert witness.search(bench, [inside], bench.task.goal)[inside].found
    assert bench.joint(measurement.joints_of(bench.env, drawer)[0]) < -0.14


ADDED = Region("main_table_plate_1_right", "main_table", (0.0, 0.07, 0.1, 0.17))


@pytest.mark.parametrize(
    "asked",
    [
        goal(("in", BOWL, f"{CABINET}_bottom_region")),
        goal(("close", f"{CABINET}_middle_region"), ("in", "cream_cheese_1", f"{CABINET}_middle_region")),
        goal(("open", f"{CABINET}_top_region"), ("on", BOWL, f"{CABINET}_top_side")),
        goal(("turnon", STOVE), ("on", BOWL, f"{STOVE}_cook_region")),
        goal(("on", BOWL, PLATE), ("on", PLATE, f"{STOVE}_cook_region")),
        on(BOWL, ADDED.name, [ADDED]),
        goal(("lifted", "wine_bottle_1")),
        goal(("turnoff", STOVE)),
    ],
    ids=lambda one: one.id,
)
def test_witnesses_of_every_kind_of_goal(bench, asked):
    found = witness.search(bench, [asked], asked)[asked]
    assert (found.found, found.original) == (True, True)
    bench.restore(0)
    assert not bench.holds(asked)


def test_several_objects_share_a_target_side_by_side():
    region = Region("kitchen_table_flat_stove_1_left", "kitchen_table", (-0.2038, -0.5153, -0.0038, -0.3153))
    both = goal(*(("on", f"moka_pot_{number}", region.name) for number in (1, 2)), regions=[region])
    with opened("LiberoLong-T8") as bench:
        found = witness.search(bench, [both], bench.task.goal)[both]
        assert (found.found, found.state, found.original) == (True, 0, False)
        assert found.tried < 10
        apart = bench.pose("moka_pot_1") - bench.pose("moka_pot_2")
        assert np.abs(apart[:3]) == pytest.approx((0.0, 0.1, 0.0), abs=0.02)


def test_a_contradiction_has_no_witness(bench):
    drawer = f"{CABINET}_top_region"
    contradictory = goal(("open", drawer), ("close", drawer))
    found = witness.search(bench, [contradictory], bench.task.goal)[contradictory]
    assert found == witness.Found(False, "", None, None, 2)


def test_things_stuck_in_each_other_are_no_witness(bench, monkeypatch):
    on_plate = on(BOWL, PLATE)
    narrow = (("as it stands",), (0.005,), ((0.0, 0.0),))
    monkeypatch.setattr(witness, "_WIDE", ((), (), ()))
    monkeypatch.setattr(witness, "_NARROW", narrow)
    assert witness.search(bench, [on_plate], bench.task.goal)[on_plate].found
    monkeypatch.setattr(bench.geometry, "depth", lambda name, but=(): 0.0 if name != BOWL else next(depths))
    depths = itertools.chain([0.0], itertools.repeat(0.0031))  # free when it is let go
    assert not witness.search(bench, [on_plate], bench.task.goal)[on_plate].found


def test_what_holds_only_for_a_moment_is_no_witness(bench, monkeypatch):
    on_stove = on(BOWL, f"{STOVE}_cook_region")
    looks = iter([True, False] * 1000)
    monkeypatch.setattr(bench, "holds", lambda _: next(looks))
    monkeypatch.setattr(witness, "_WIDE", ((), (), ()))
    monkeypatch.setattr(witness, "_NARROW", (("as it stands",), (0.005,), ((0.0, 0.0),)))
    assert not witness.search(bench, [on_stove], bench.task.goal)[on_stove].found


# --- impossible places ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("subject", [BOWL, PLATE])
def test_nothing_goes_under_the_stove(bench, subject):
    found = impossible.attempt(bench, subject, "under", STOVE)
    assert found.shown
    assert found.tried == 126
    assert found.clearance < 0.01 < found.extent


@pytest.mark.parametrize(
    ("subject", "relation", "reference"),
    [
        (BOWL, "under", f"{CABINET}_top_region"),  # pulled out
        (BOWL, "under", CABINET),  # with the top drawer alone pulled out
        ("wine_bottle_1", "under", "wine_rack_1"),
        (BOWL, "in", f"{CABINET}_top_region"),
        (BOWL, "on", PLATE),
        (BOWL, "on", STOVE),
    ],
)
def test_the_search_finds_places_that_there_are(bench, subject, relation, reference):
    assert not impossible.attempt(bench, subject, relation, reference).shown


def test_what_starts_deep_in_another_thing_is_not_pushed_out(bench):
    bench.restore(0)
    spot = bench.geometry.box(STOVE).centre
    assert not impossible.put(bench, BOWL, spot, witness.TURNS["as it stands"], from_below=False)
    assert bench.geometry.box(BOWL).centre == pytest.approx(spot)


class Boxes:
    """Upright boxes in place of a scene's geometry: a thing on the floor, and something around it."""

    def __init__(self, *around):
        self._parts = [Box(np.array(low), np.array(high)) for low, high in around]

    def box(self, name):
        return Box(np.array([-0.05, -0.05, 0.0]), np.array([0.05, 0.05, 0.1]))

    def parts(self, name):
        return self._parts

    def outlines(self, name):
        ends = [((*part.low[:2],), (*part.high[:2],)) for part in self._parts]
        return [np.array([(x0, y0), (x1, y0), (x1, y1), (x0, y1)]) for (x0, y0), (x1, y1) in ends]


ROOF = ((-0.2, -0.2, 0.12), (0.2, 0.2, 0.14))
FLOOR = ((-0.2, -0.2, -0.02), (0.2, 0.2, 0.0))
LEGS = [((x, y, -0.02), (x + 0.04, y + 0.04, 0.12)) for x in (-0.2, 0.16) for y in (-0.2, 0.16)]
WALLS = [((x, -0.2, -0.02), (x + 0.02, 0.2, 0.12)) for x in (-0.2, 0.18)]
WALLS += [((-0.2, y, -0.02), (0.2, y + 0.02, 0.12)) for y in (-0.2, 0.18)]


@pytest.mark.parametrize(
    ("parts", "below", "inside"),
    [
        ([ROOF, *LEGS], True, False),  # a table
        ([ROOF, *WALLS], False, False),  # a chest without a floor
        ([ROOF, FLOOR, *WALLS[:3]], False, True),  # an open box
        ([ROOF, FLOOR], False, False),  # two shelves
        ([FLOOR, *WALLS], False, True),
        ([ROOF, *WALLS[:2]], True, False),  # a bench
        ([((-0.2, -0.2, 0.09), (0.2, 0.2, 0.12)), *LEGS], False, False),  # it would have to give way
        ([((0.06, -0.2, 0.12), (0.2, 0.2, 0.14))], False, False),  # beside it
    ],
)
def test_what_under_and_in_mean(parts, below, inside):
    geometry = Boxes(*parts)
    assert impossible.is_below(geometry, "thing", "reference") is below
    assert impossible.is_in(geometry, "thing", "reference") is inside


def test_what_cannot_be_asked_is_refused(bench):
    with pytest.raises(InvalidOption, match="Relation 'beside': choose one of under, in, on"):
        impossible.attempt(bench, BOWL, "beside", STOVE)
    with pytest.raises(InvalidOption, match=r"under\(flat_stove_1, plate_1\): no such pair of things"):
        impossible.attempt(bench, STOVE, "under", PLATE)
    with pytest.raises(InvalidOption, match="no such pair of things"):
        impossible.attempt(bench, BOWL, "under", "microwave_1")
    with pytest.raises(InvalidOption, match="microwave_1"):
        witness.search(bench, [on(BOWL, "microwave_1")], bench.task.goal)


def test_a_failing_simulator_is_named(bench, monkeypatch):
    monkeypatch.setattr(bench, "lower", lambda *_: 1 / 0)
    with pytest.raises(SimulatorError, match=r"LiberoGoal-T8 failed to be searched for on\(akita.*ZeroDivisionError"):
        witness.search(bench, [on(BOWL, PLATE)], bench.task.goal)


def test_numbers_that_run_away_are_no_placement_and_leave_no_log(bench, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    bench.restore(0)
    bench.env.sim.data.set_joint_qvel(bench.env.objects_dict[BOWL].joints[-1], np.full(6, 1e12))
    assert not bench.run(2)
    assert not [*tmp_path.iterdir()]
    bench.restore(0)
    assert bench.run(1)


# --- the file ---------------------------------------------------------------------------------------------------------


def test_recorded_evidence_is_what_is_measured_now():
    known, task = Recorded(measure=False), DEFINED.task("LiberoGoal-T1")
    asked = evidence.Questions((task.goal, on(BOWL, PLATE)), ((BOWL, "under", STOVE),))
    now = Recorded(path=evidence.FILE.with_name("none"))
    now._keep(task, evidence.simulate(task, asked))
    assert now.layout(task) == known.layout(task)
    for one in asked.goals:
        assert (now.count(task, one), now.witness(task, one)) == (known.count(task, one), known.witness(task, one))
    assert now.impossible(task, *asked.impossibles[0]) == known.impossible(task, *asked.impossibles[0])

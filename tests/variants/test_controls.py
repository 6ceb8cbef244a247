"""Control rows made from the canonical instruction alone: null, shuffled, negated, noise, reverse."""

import itertools
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from variants.collision_world import World, known

from gym_grounding import conditions
from gym_grounding.types import Goal, Predicate, Variant
from gym_grounding.variants import controls
from gym_grounding.variants.controls import negated, noise, null, reverse, shuffled
from gym_grounding.variants.controls._base import generator
from gym_grounding.variants.language import lexicon, meaning, parser


def rows(control):
    """The judgements of a control by task."""
    found = {}
    for one in control.rows(known(), World()):
        found.setdefault(one.proposal.task, []).append(one)
    return found


def test_every_row_keeps_the_rules_of_its_condition():
    numbers = {}
    for one in controls.rows(known(), World()):
        if not one.accepted:
            assert one.proposal.condition == "swap"
            continue
        task, row = known().task(one.proposal.task), one.row
        key = (task.id, one.proposal.condition)
        numbers[key] = numbers.get(key, 0) + 1
        variant = Variant(
            "id", task.id, one.proposal.condition, None, numbers[key], one.proposal.instruction,
            goal=row.get("goal"), described=row.get("described", False), joints=row.get("joints", {}),
            details={name: row[name] for name in ("instruction_of", "errors", "certificate") if name in row},
        )  # fmt: skip
        condition = conditions.get(one.proposal.condition)
        scene = known().scene_of(task.id)
        assert not condition.violations(variant, task, scene), one
        assert not condition.links(variant, task, known().tasks), one
        assert numbers[key] <= condition.per_task
    counts = {}
    for (_, condition), number in numbers.items():
        counts[condition] = counts.get(condition, 0) + number
    assert counts == {"swap": 154, "null": 40, "shuffled": 40, "negated": 40, "noise": 80, "reverse": 10}


def test_rows_are_ordered_by_control_and_task():
    order = [(one.proposal.condition, one.proposal.task) for one in controls.rows(known(), World())]
    tasks = list(known().tasks)
    names = ["swap", "null", "shuffled", "negated", "noise", "reverse"]
    assert order == sorted(order, key=lambda pair: (names.index(pair[0]), tasks.index(pair[1])))


def test_null_says_nothing():
    assert {task: [one.proposal.instruction for one in found] for task, found in rows(null).items()} == {
        task: [""] for task in known().tasks
    }


def test_shuffled_keeps_the_words_and_no_neighbours():
    for task_id, (one,) in rows(shuffled).items():
        text, canonical = one.proposal.instruction.split(), known().task(task_id).instruction.split()
        assert sorted(text) == sorted(canonical)
        assert not set(itertools.pairwise(text)) & set(itertools.pairwise(canonical)), text


def test_shuffled_says_nothing_in_its_scene():
    texts = {task.instruction for task in known().tasks.values()}
    for task_id, (one,) in rows(shuffled).items():
        scene = known().scene_of(task_id)
        assert one.proposal.instruction not in texts
        assert meaning.goal_of(parser.parse(one.proposal.instruction, scene), scene) is None


def test_an_order_that_says_something_else_is_drawn_again(monkeypatch):
    """ "put the plate on the bowl" has the words of "put the bowl on the plate" and none of its neighbours but two."""
    task = known().task("LiberoGoal-T8")
    scene = known().scene_of(task.id)
    words = task.instruction.split()
    other = [words.index("put"), 1, words.index("plate"), words.index("on"), 4, words.index("bowl")]
    drawn = iter([[0, 1, 2, 3, 4, 5], other, [5, 1, 0, 4, 2, 3]])

    class Draws:
        def permutation(self, size):
            return np.array(next(drawn))

    monkeypatch.setattr(shuffled, "generator", lambda condition, task: Draws())
    monkeypatch.setattr(
        shuffled.itertools, "pairwise", lambda words: [tuple(words)]
    )  # only equal orders are neighbours
    assert shuffled.shuffled(task, scene, ()) == "plate the put the bowl on"


def test_an_order_that_is_another_text_is_drawn_again():
    task = known().task("LiberoGoal-T8")
    scene = known().scene_of(task.id)
    first = shuffled.shuffled(task, scene, ())
    assert shuffled.shuffled(task, scene, {first}) != first


def test_a_sentence_whose_order_cannot_change_is_an_error():
    task = replace(known().task("LiberoGoal-T8"), instruction="put put put")
    with pytest.raises(ValueError, match=r"LiberoGoal-T8: none of \d+ orders"):
        shuffled.shuffled(task, known().scene_of(task.id), ())


def test_negated_forbids_every_order():
    for task_id, (one,) in rows(negated).items():
        task, scene = known().task(task_id), known().scene_of(task_id)
        canonical = parser.parse(task.instruction, scene)
        parse = parser.parse(one.proposal.instruction, scene)
        assert parse.negated, one
        assert (parse.clauses, parse.unresolved) == (canonical.clauses, ()), one
        orders = sum(len(clause.verbs) for clause in canonical.clauses)
        assert one.proposal.instruction.split().count("not") == orders, one
        assert one.proposal.instruction.replace("do not ", "") == task.instruction


@pytest.mark.parametrize(
    ("text", "forbidden"),
    [
        ("turn on the stove", "do not turn on the stove"),
        (
            "put the yellow and white mug in the microwave and close it",
            "do not put the yellow and white mug in the microwave and do not close it",
        ),
        ("put both the a and the b in c", "do not put both the a and the b in c"),
        ("pick up the milk and place it in c", "do not pick up the milk and do not place it in c"),
        ("put the a and placemat on b", "do not put the a and placemat on b"),
    ],
)
def test_only_an_and_before_a_verb_joins_orders(text, forbidden):
    assert negated.negated(text) == forbidden


def _distance(one, other):
    """Letters added, left out, exchanged or swapped with their neighbour, by trying every single one."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    near = {one[:at] + one[at + 1 :] for at in range(len(one))}
    near |= {one[:at] + letter + one[at + cut :] for at in range(len(one) + 1) for letter in letters for cut in (0, 1)}
    near |= {one[:at] + one[at + 1 : at + 2] + one[at : at + 1] + one[at + 2 :] for at in range(len(one) - 1)}
    return 0 if one == other else 1 if other in near else 2


def test_noise_makes_one_and_two_errors_in_content_words():
    meant = noise.vocabulary(task.instruction for task in known().tasks.values())
    for task_id, found in rows(noise).items():
        canonical = known().task(task_id).instruction.split()
        assert [one.row["errors"] for one in found] == [1, 2]
        places = []
        for one in found:
            words = one.proposal.instruction.split()
            wrong = [at for at, (mine, own) in enumerate(zip(words, canonical, strict=True)) if mine != own]
            assert len(wrong) == one.row["errors"]
            for at in wrong:
                assert _distance(canonical[at], words[at]) == 1
                assert len(canonical[at]) >= 4
                assert len(words[at]) >= 3
                assert words[at][0] == canonical[at][0]
                assert words[at] not in meant
            places.append({(at, words[at]) for at in wrong})
        assert places[0] < places[1], "the second level adds an error to the first"


def test_noise_uses_every_kind_of_error():
    kinds = set()
    for task_id, found in rows(noise).items():
        canonical = known().task(task_id).instruction.split()
        for own, mine in zip(canonical, found[1].proposal.instruction.split(), strict=True):
            if len(mine) < len(own):
                kinds.add("drop")
            elif len(mine) > len(own):
                kinds.add("double")
            elif mine != own:
                kinds.add("swap" if sorted(mine) == sorted(own) else "neighbour")
    assert kinds == {"drop", "double", "swap", "neighbour"}


def test_no_error_turns_a_word_into_another_one_of_the_lexicon():
    meant = noise.vocabulary([])
    assert "slid" in meant
    random = np.random.default_rng(0)
    assert "slid" in {noise._mistyped("slide", frozenset(), random) for _ in range(200)}, "else nothing is shown here"
    assert "slid" not in {noise._mistyped("slide", meant, random) for _ in range(200)}


def test_no_error_lets_the_rest_of_a_name_mean_another_thing():
    """Butter, milk and orange juice are boxes as well, so of "cream cheese box" the first two words stay."""
    task = known().task("LiberoLong-T1")
    for scene_of, changes in (("LiberoLong-T1", False), ("LiberoGoal-T6", True)):
        changed = set()
        for number in range(60):
            text = noise.mistyped(replace(task, id=str(number)), known().scene_of(scene_of), frozenset())[0]
            changed |= {own for own, mine in zip(task.instruction.split(), text.split(), strict=True) if own != mine}
        assert ("cheese" in changed) == changes
        assert "butter" in changed


@given(st.sampled_from(sorted(word for word in lexicon.words() if len(word) >= 4)), st.integers(0, 10**6))
def test_an_error_is_always_one_letter_away(word, seed):
    mistyped = noise._mistyped(word, frozenset(), np.random.default_rng(seed))
    assert mistyped != word
    assert _distance(word, mistyped) == 1
    assert mistyped.isalpha()
    assert mistyped.islower()


def test_reverse_presets_a_joint_and_asks_either_way():
    texts = {
        task: [
            (one.proposal.instruction, one.row["goal"].id, one.row.get("described", False), one.row["joints"])
            for one in found
        ]
        for task, found in rows(reverse).items()
    }
    drawer = {"wooden_cabinet_1_middle_region": -0.15}
    shut = {"white_cabinet_1_bottom_region": 0.001}
    stove, microwave = {"flat_stove_1": 2.0}, {"microwave_1": 0.0}
    off = [
        ("turn off the stove", "turnoff(flat_stove_1)", False, stove),
        ("turn on the stove", "turnoff(flat_stove_1)", True, stove),
    ]
    assert texts == {
        "LiberoGoal-T0": [
            ("close the middle drawer of the cabinet", "close(wooden_cabinet_1_middle_region)", False, drawer),
            ("open the middle drawer of the cabinet", "close(wooden_cabinet_1_middle_region)", True, drawer),
        ],
        "LiberoGoal-T7": off,
        "LiberoLong-T2": off,
        "LiberoLong-T3": [
            ("open the bottom drawer of the cabinet", "open(white_cabinet_1_bottom_region)", False, shut),
            ("close the bottom drawer of the cabinet", "open(white_cabinet_1_bottom_region)", True, shut),
        ],
        "LiberoLong-T9": [
            ("open the microwave", "open(microwave_1)", False, microwave),
            ("close the microwave", "open(microwave_1)", True, microwave),
        ],
    }


def test_of_reverse_texts_one_asks_for_the_goal_and_one_for_what_the_task_would_leave():
    for task_id, found in rows(reverse).items():
        scene = known().scene_of(task_id)
        for one in found:
            asked = Goal(meaning.goal_of(parser.parse(one.proposal.instruction, scene), scene))
            assert (asked == one.row["goal"]) != one.row.get("described", False)
            assert asked.all_of[0].args == one.row["goal"].all_of[0].args
            if "described" in one.row:
                assert asked.all_of[0] in known().task(task_id).goal.all_of


def test_a_joint_that_the_goal_leaves_out_is_not_reversed():
    """LIBERO's goal of "open the top drawer and put the bowl inside" says nothing of the drawer's state."""
    task = known().task("LiberoGoal-T3")
    scene = known().scene_of(task.id)
    assert not list(reverse._of_task(task, scene))
    drawer = Predicate("open", ("wooden_cabinet_1_top_region",))
    also = replace(task, goal=Goal((*task.goal.all_of, drawer)))
    assert [one.proposal.instruction for one in reverse._of_task(also, scene)] == [
        "close the top drawer",
        "open the top drawer",
    ]


def test_random_numbers_depend_on_condition_and_task_alone():
    one, other = known().task("LiberoGoal-T0"), known().task("LiberoGoal-T1")
    first = generator("noise", one).integers(10**9)
    assert first == generator("noise", replace(one, instruction="other")).integers(10**9)
    assert first != generator("noise", other).integers(10**9)
    assert first != generator("shuffled", one).integers(10**9)


def test_rows_are_the_same_in_every_process():
    script = (
        "from variants.collision_world import World, known\n"
        "from gym_grounding.variants import controls\n"
        "for one in controls.rows(known(), World()):\n"
        "    row = {name: str(value) for name, value in one.row.items()}\n"
        "    print(one.proposal.task, one.proposal.condition, one.proposal.instruction, one.reason, one.note, row)\n"
    )
    runs = []
    for seed in ("1", "2"):
        paths = os.pathsep.join(path for path in sys.path if path)
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": paths}
        command = [sys.executable, "-c", script]
        runs.append(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert runs[0] == runs[1]
    assert runs[0].count("\n") > 500

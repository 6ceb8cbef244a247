"""Which judge a proposal goes to, and what is asked beforehand."""

import pytest

from gym_grounding.errors import UnknownName
from gym_grounding.types import Goal, Predicate
from gym_grounding.variants import definitions, validator
from gym_grounding.variants.evidence import Questions
from gym_grounding.variants.types import GoalCount, Layout, Proposal, Witness
from gym_grounding.variants.validator import Context

TASK = "LiberoGoal-T1"


class Fake:
    """Evidence of a scene in which nothing stands anywhere."""

    physics = "mujoco 3.3.2"

    def layout(self, task):
        return Layout({}, {}, (-0.66, 0.0), 50)

    def count(self, task, goal):
        return GoalCount(0, 0, 0, 50)

    def witness(self, task, goal):
        return Witness(True, "as_is", 0, False, 1)


@pytest.fixture(scope="module")
def context():
    return Context(definitions.load(), Fake())


def proposal(condition, slot, text, task=TASK):
    return Proposal(task, condition, slot, text, source="test")


def test_each_condition_has_its_judge(context):
    contrast = validator.judge(proposal("contrast", "target", "put the bowl on the plate"), context)
    assert contrast.tier == "strict"
    collision = validator.judge(proposal("collision", "target", "put the bowl on the microwave"), context)
    assert collision.accepted, collision.note
    assert collision.row["absent"]["noun"] == "microwave"
    paraphrase = validator.judge(proposal("paraphrase", None, "place the bowl on the plate"), context)
    assert not paraphrase.accepted


def test_siblings_reach_the_judge_of_paraphrases(context):
    text = "place the bowl onto the stove"
    asking = Proposal(TASK, "paraphrase", None, text, kind="verb_synonym", source="test")
    assert validator.judge(asking, context.with_siblings(["put the bowl on the stove"])).accepted
    assert validator.judge(asking, context.with_siblings([text])).reason == "redundant"


def test_a_condition_that_nobody_judges_is_named_with_those_that_are(context):
    with pytest.raises(UnknownName, match=r"judged condition 'swap'.*collision, contrast, paraphrase"):
        validator.judge(proposal("swap", None, "put the bowl on the plate"), context)
    with pytest.raises(UnknownName, match="judged condition 'original'"):
        validator.questions(proposal("original", None, "put the bowl on the plate"), context)


def test_an_unknown_task_is_named(context):
    with pytest.raises(UnknownName, match=r"No task 'LiberoGoal-T77'. Did you mean 'LiberoGoal-T"):
        validator.judge(proposal("contrast", "target", "put the bowl on the plate", "LiberoGoal-T77"), context)


def test_what_will_be_asked_is_known_before_it_is_measured(context):
    goal = Goal((Predicate("on", ("akita_black_bowl_1", "plate_1")),))
    asked = validator.questions(proposal("contrast", "target", "put the bowl on the plate"), context)
    assert asked == Questions(goals=(goal,))
    refused = validator.questions(proposal("contrast", "target", "put the bowl on the microwave"), context)
    assert refused == Questions()
    under = validator.questions(proposal("collision", "relation", "put the bowl under the stove"), context)
    assert under.impossibles
    assert not under.goals
    words = validator.questions(proposal("paraphrase", None, "place the bowl on the stove"), context)
    assert words == Questions(layout=False)


@pytest.mark.parametrize("condition", ["contrast", "collision"])
def test_an_empty_cell_has_a_code_and_words(context, condition):
    task = context.definitions.task("LiberoGoal-T7")
    code, words = validator.unavailable(condition, task, context.definitions.scene_of(task.id), "relation")
    assert code == "frame_has_no_relation"
    assert words


def test_only_conditions_with_slots_have_empty_cells(context):
    task = context.definitions.task(TASK)
    with pytest.raises(UnknownName, match="condition with slots 'paraphrase'"):
        validator.unavailable("paraphrase", task, context.definitions.scene_of(TASK), "relation")

"""Stands for the simulator where recorded measurements are tested; worker processes import it by name."""

from gym_grounding.errors import SimulatorError

LAYOUT = {
    "footprints": {"plate_1": (-0.02, -0.09, 0.11700004, 0.05, -0.0, 0.0189)},
    "of": 50,
    "relations": {
        "between": {"bowl_1": {"plate_1 ramekin_1": 50}},
        "next to": {"bowl_1": {"plate_1": 49}},
    },
    "robot": (-0.66, 0.0),
}


def measure(task, questions):
    """Answers that depend on the question alone."""
    answers = [("layout", None, LAYOUT)] if questions.layout else []
    for goal in questions.goals:
        size = len(goal.id)
        answers.append(("count", goal, {"raw": 0, "settled": size, "tolerant": size, "of": 50}))
        found = {"found": True, "placement": "as it stands", "state": 7, "original": False, "tried": size}
        answers.append(("witness", goal, found))
    for subject, relation, reference in questions.impossibles:
        answer = {"shown": relation == "under", "tried": 9, "clearance": 0.123456, "extent": 0.05}
        answers.append(("impossible", (subject, relation, reference), answer))
    return answers


def fail_at_spatial(task, questions):
    """As ``measure``, but the simulator dies in LIBERO-Spatial."""
    if task.suite == "LiberoSpatial":
        raise SimulatorError("no more")
    return measure(task, questions)

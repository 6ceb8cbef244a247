"""Stands for the oracle where certificates are tested; worker processes import it by name."""

import os
import re
import time

from gym_grounding.errors import MissingSource
from gym_grounding.variants._reached_file import Outcome
from gym_grounding.variants.certify import Tried

PROBLEM = "put the thing on the place: no grasp (3 times)"
PLAN = ("put the thing on the place",) * 3


def outcome_of(goal, state):
    """What the fake shows of a goal from an initial state; depends on these two alone."""
    kind = (len(goal.id) + state) % 5
    if kind == 4:
        return Outcome("not_reached", False, -1, PROBLEM, PLAN)
    return Outcome(("stable", "transient", "stable", "trivial")[kind], kind != 1, 10 + state)


def measure(start):
    """Every goal shows what it shows."""
    return tuple(Tried(start, goal, outcome_of(goal, start.init_state)) for goal in start.goals)


def fail_at_one(start):
    """As ``measure``, but what asks for the plate, or the pear, cannot be finished."""
    return tuple(
        Tried(one.start, one.goal, None, "SimulatorError: no more") if re.search("plate_1|pear_1", one.goal.id) else one
        for one in measure(start)
    )


def without_source(start):
    """The simulator cannot be used at all."""
    raise MissingSource("no file")


def die_at_two(start):
    """As ``measure``, but the process ends from initial state 2."""
    if start.init_state == 2:
        os._exit(9)
    return measure(start)


def slowly(start):
    """As ``measure``, but it takes a while from initial state 1 on."""
    if start.init_state:
        time.sleep(30)
    return measure(start)


def interrupted_at_one(start):
    """As ``measure``, but somebody interrupts at initial state 1."""
    if start.init_state == 1:
        raise KeyboardInterrupt
    return measure(start)

"""The oracle's version stands in every certificate and demonstration, so its code may not change under it."""

import hashlib
from pathlib import Path

import gym_grounding
from gym_grounding.experts import ORACLE_VERSION

HERE = Path(gym_grounding.__file__).parent
ACTING = ("adapters/_anatomy.py", "adapters/libero/anatomy.py", "adapters/libero/geometry.py", "experts/**/*.py")
"""What decides on actions: the experts, and what they are told of a scene's shapes."""
NOT_ACTING = {"trial.py"}
"""Judges what the oracle does; its rules have a number of their own."""
CODE = {"1": "eadd4edb6dd11413"}
"""Version -> checksum of what decides on actions."""


def checksum():
    digest = hashlib.sha256()
    for path in sorted(path for pattern in ACTING for path in HERE.glob(pattern)):
        if path.name not in NOT_ACTING:
            digest.update(path.relative_to(HERE).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def test_the_code_is_that_of_the_version():
    assert CODE.get(ORACLE_VERSION) == checksum(), (
        "the oracle's code has changed: if an episode can get other actions, raise ORACLE_VERSION in "
        "gym_grounding/experts/expert.py and certify again; in either case write the new checksum here"
    )

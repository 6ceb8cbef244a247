"""What a demonstration file says about itself, in the attributes of ``data``, and where that contradicts itself."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

from gym_grounding.demos.consistency import Origin
from gym_grounding.demos.layout import MADE, TAG
from gym_grounding.demos.read import Demonstration, DemonstrationFile
from gym_grounding.errors import InvalidDemonstration
from gym_grounding.experts import Noise
from gym_grounding.types import Task

_ENVIRONMENT = ("type", "env_name", "problem_name", "bddl_file", "env_kwargs")
"""What LIBERO's recorder writes into ``env_args``."""
_SETTINGS = (
    *("per_task", "task", "goal", "bddl", "settle_steps", "seed", "starts", "noise", "noise_sizes", "pictures"),
    *("horizon", "player", "player_version", "versions"),
)
"""What ``make`` writes into ``made``."""
_LANGUAGE = re.compile(r"\(:language\s+([^()]*)\)", re.IGNORECASE)


def made_here(file: DemonstrationFile) -> bool:
    """Whether a file says that this package made it."""
    return file.attribute("tag") == TAG or file.attribute(MADE) is not None


def origin(file: DemonstrationFile, demonstration: Demonstration) -> Origin:
    """What a file says of how a demonstration was made.

    Raises:
        InvalidDemonstration: its attributes cannot be read.
    """
    noise = demonstration.attributes.get("noise")
    sizes = _json(file, MADE).get("noise_sizes")
    return Origin(made_here(file), noise if isinstance(noise, str) else None, _noise(sizes))


def header_problems(file: DemonstrationFile) -> Iterator[str]:
    """What is wrong with the attributes of ``data`` that say what was recorded; every file has LIBERO's."""
    where = f"{file.path}: data"
    yield from (f"{where}: {line}" for line in _environment(file))
    yield from (f"{where}: {line}" for line in _bddl(file))
    if made_here(file):
        yield from (f"{where}: {line}" for line in _made(file))


def origin_problems(file: DemonstrationFile, demonstration: Demonstration) -> Iterator[str]:
    """Where a demonstration says that it was made otherwise than its file."""
    made, said = _json(file, MADE), demonstration.attributes
    for name, key in (("noise", "noise"), ("start", "starts")):
        if name in said and key in made and said[name] != made[key]:
            yield f"{demonstration.where}: attribute {name!r} is {said[name]!r}, {MADE} has {key} {made[key]!r}"


def task_problems(file: DemonstrationFile, task: Task) -> Iterator[str]:
    """Where a file that was made here says something else of its task than the registry does."""
    if not made_here(file):
        return
    made = _json(file, MADE)
    said = {"task": task.id, "goal": task.goal.id, "bddl": task.checksums.get("bddl", "")}
    for key, expected in said.items():
        if key in made and made[key] != expected:
            yield f"{file.path}: data: {MADE} has {key} {made[key]!r}, of {task.id} it is {expected!r}"
    for name, expected in (("task", task.id), ("instruction", task.instruction)):
        if file.attribute(name) != expected:
            yield f"{file.path}: data: attribute {name} is {file.attribute(name)!r}, of {task.id} it is {expected!r}"


def _environment(file: DemonstrationFile) -> Iterator[str]:
    found = _json(file, "env_args")
    if missing := [key for key in _ENVIRONMENT if key not in found]:
        yield f"attribute env_args is no JSON object with {', '.join(missing)}"
    problem = _json(file, "problem_info").get("problem_name")
    expected = {"env_name": file.attribute("env_name"), "problem_name": problem}
    expected["bddl_file"] = file.attribute("bddl_file_name")
    for key, other in expected.items():
        if key in found and other is not None and found[key] != other:
            yield f"attribute env_args has {key} {found[key]!r}, elsewhere it is {other!r}"


def _bddl(file: DemonstrationFile) -> Iterator[str]:
    text = file.attribute("bddl_file_content")
    if not isinstance(text, str) or "(define" not in text:
        yield "attribute bddl_file_content is no BDDL text, which begins with (define"
        return
    language = _LANGUAGE.search(text)
    try:
        instruction = file.instruction
    except InvalidDemonstration:
        return  # told elsewhere
    if language and _letters(language[1]) != _letters(instruction):
        yield f"attribute bddl_file_content is of {' '.join(language[1].split())!r}, problem_info says {instruction!r}"


def _made(file: DemonstrationFile) -> Iterator[str]:
    made, text = _json(file, MADE), file.attribute("bddl_file_content")
    if missing := [key for key in _SETTINGS if key not in made]:
        yield f"attribute {MADE} is no JSON object with {', '.join(missing)}"
        return
    if made["task"] != file.attribute("task"):
        yield f"attribute {MADE} has task {made['task']!r}, attribute task is {file.attribute('task')!r}"
    if isinstance(text, str) and made["bddl"] != hashlib.sha256(text.encode()).hexdigest():
        yield f"attribute bddl_file_content is not the BDDL text whose sha256 is in {MADE}"
    if made["noise_sizes"] is not None and _noise(made["noise_sizes"]) is None:
        yield f"attribute {MADE} has noise_sizes {made['noise_sizes']!r}, which are no sizes of noise"


def _noise(sizes: object) -> Noise | None:
    if not isinstance(sizes, dict):
        return None
    plain: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in sizes.items()}
    numbers = [one for value in plain.values() for one in (value if isinstance(value, tuple) else (value,))]
    if not all(isinstance(one, int | float) for one in numbers):
        return None
    try:
        found = Noise(**plain)
    except TypeError:
        return None
    return found if isinstance(found.scales, tuple) and found.scales else None


def _json(file: DemonstrationFile, name: str) -> dict[str, Any]:
    """An attribute that is a JSON object; empty where it is anything else."""
    text = file.attribute(name)
    try:
        found = json.loads(text) if isinstance(text, str) else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _letters(text: str) -> str:
    return re.sub(r'[\s"]+', "", text).casefold()

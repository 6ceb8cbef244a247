"""Sentences that put the two audits of paraphrases to the test: bad ones of each fault, and odd good ones.

The generated ones are written with the proposer's own frames, so they look like paraphrases, but a phrase, an attribute
or a relation is another one, the order is turned round, or something is left out or added. The hand-written ones are in
``planted.yaml``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from gym_grounding.types import SceneFacts, Task
from gym_grounding.variants.proposers._paraphrase_frames import Frame
from gym_grounding.variants.proposers.paraphrases import completed, frame_of, render

FAULTS = ("slot_changed", "negated", "ambiguous", "roles_swapped", "slot_dropped", "goal_added")
KINDS = ("verb_synonym", "request", "passive", "reordering")
RELATIONS = {
    "on": ("next to", "under", "behind"),
    "in": ("next to", "on top of", "behind"),
    "on top of": ("in", "next to", "under"),
    "to the front of": ("to the back of", "to the left of", "away from"),
    "to the right of": ("to the left of", "on top of", "behind"),
}
"""Relation of a canonical text -> others."""
ATTRIBUTES = {
    "top": "bottom",
    "middle": "top",
    "bottom": "middle",
    "left": "right",
    "right": "left",
    "back": "front",
    "yellow and white": "red",
    "white": "yellow and white",
    "black": "white",
}
"""Attribute -> another one, the longest first."""
REFERENCES = (
    "next to the ramekin",
    "on the stove",
    "on the cookie box",
    "next to the cookie box",
    "on the ramekin",
    "in the bottom drawer of the wooden cabinet",
)
NEGATED = (
    "do not {order}",
    "never {order}",
    "avoid {gerund}",
    "please make sure that you do not {order}",
    "do anything but {order}",
    "you should not {order}",
    "leave everything as it is instead of {gerund}",
)
ADDED = ("{order} and then {extra}", "{order} and also {extra}", "{extra} and {order}", "after you {extra} {order}")
WRONG: Mapping[str, Mapping[str, Sequence[str]]] = {
    "open_and_put": {
        "slot_changed": ("close {y} and put {x} inside", "open {y} and take {x} out of it"),
        "ambiguous": ("open the drawer and put {x} inside", "open {y} and put something inside"),
        "roles_swapped": ("open {x} and put {y} inside",),
        "slot_dropped": ("open {y}", "put {x} inside", "open {y} and pick up {x}"),
    },
    "open": {
        "slot_changed": ("close {part} of {whole}", "push {part} of {whole} shut"),
        "ambiguous": ("open the drawer of {whole}", "open {whole}", "open one of the drawers"),
        "roles_swapped": ("open {whole} with {part}",),
        "slot_dropped": ("go to {part} of {whole}", "look at {part} of {whole}"),
    },
    "turn_on_and_put": {
        "slot_changed": ("turn off {y} and put {x} on it", "turn on {y} and take {x} off it"),
        "ambiguous": ("turn it on and put {x} on it", "turn on {y} and put something on it"),
        "roles_swapped": ("turn on {x} and put {y} on it",),
        "slot_dropped": ("turn on {y}", "put {x} on {y}", "turn on {y} and pick up {x}"),
    },
    "turn_on": {
        "slot_changed": ("turn off {x}", "switch {x} off", "power down {x}"),
        "ambiguous": ("turn it on", "turn something on"),
        "roles_swapped": (),
        "slot_dropped": ("go to {x}", "look at {x}"),
    },
    "push": {
        "slot_changed": ("pull {x} away from {y}", "put {x} on {y}", "pick up {x} in front of {y}"),
        "ambiguous": ("push it {rel} {y}", "push {x} over there"),
        "roles_swapped": ("push {y} {rel} {x}", "{y} should be pushed {rel} {x}"),
        "slot_dropped": ("go and push {x}", "push {x} to the front"),
    },
    "pick_up_with_reference": {
        "slot_changed": ("pick up {x} {ref} and hold it over {y}", "pick up {y} and place it {ref}"),
        "ambiguous": (
            "pick up {x} and place it {rel} {y}",
            "pick it up and place it {rel} {y}",
            "move a bowl onto {y}",
        ),
        "roles_swapped": ("pick up {y} {ref} and place it {rel} {x}", "pick up {x} {rel} {y} and place it {ref}"),
        "slot_dropped": ("pick up {x} {ref}", "move {x} {ref}"),
    },
    "pick_up": {
        "slot_changed": ("take {x} out of {y}", "pick up {x} and hold it over {y}"),
        "ambiguous": ("pick it up and place it {rel} {y}", "pick up something and place it {rel} {y}"),
        "roles_swapped": ("pick up {y} and place it {rel} {x}", "{y} should be placed {rel} {x}"),
        "slot_dropped": ("pick up {x}", "put {x} down"),
    },
    "put_and_close": {
        "slot_changed": ("take {x} out of {y} and close it", "put {x} {rel} {y} and open it"),
        "ambiguous": ("put it {rel} {y} and close it", "put {x} in it and close it"),
        "roles_swapped": ("put {y} {rel} {x} and close it", "put {part} on {x} and close it"),
        "slot_dropped": ("put {x} {rel} {y}", "go and close {y}", "pick up {x} and close {y}"),
    },
    "put_and_put": {
        "slot_changed": ("take {x} off {y} and put {v} {to} {w}", "put {x} {rel} {y} and take {v} off it"),
        "ambiguous": ("put {x} {rel} {y} and put the other one {to} {w}", "put it {rel} {y} and put {v} {to} {w}"),
        "roles_swapped": ("put {v} {rel} {y} and put {x} {to} {w}", "put {y} {rel} {x} and put {v} {to} {w}"),
        "slot_dropped": ("put {x} {rel} {y}", "put {v} {to} {w}", "pick up {x} and put {v} {to} {w}"),
    },
    "put": {
        "slot_changed": ("take {x} off {y}", "remove {x} from {y}", "pick up {x} and hold {it} over {y}"),
        "ambiguous": ("put it {rel} {y}", "put {x} over there", "put something {rel} {y}"),
        "roles_swapped": ("put {y} {rel} {x}", "{y} should be placed {rel} {x}", "take {y} and set it {rel} {x}"),
        "slot_dropped": ("go and move {x}", "pick up {x}", "put {x} down"),
    },
}
"""Frame -> fault -> sentences with it, of the frame's phrases."""


class Row(NamedTuple):
    """A sentence and what is wrong with it.

    Attributes:
        task: task id.
        fault: one of ``FAULTS``; empty for a good sentence.
        text: the sentence.
        origin: ``generated``, ``plain`` or ``odd``.
    """

    task: str
    fault: str
    text: str
    origin: str


def bad(tasks: Sequence[Task], scenes: Mapping[str, SceneFacts]) -> tuple[Row, ...]:
    """Sentences that do not mean what their task's canonical text means; no sentence twice for a task."""
    written = _written()
    rows = []
    for task in tasks:
        faulty = {text: (fault, "generated") for fault, text in generated(task, scenes[task.scene])}
        for origin in ("plain", "odd"):
            for fault, texts in written[f"{origin}_bad"].get(task.id, {}).items():
                faulty |= {text: (fault, origin) for text in texts}
        rows += [Row(task.id, fault, text, origin) for text, (fault, origin) in faulty.items()]
    return tuple(rows)


def odd_good(tasks: Sequence[Task]) -> tuple[Row, ...]:
    """Hand-written sentences that mean what their task's canonical text means, in unusual words."""
    written = _written()["odd_good"]
    return tuple(Row(task.id, "", text, "odd") for task in tasks for text in written.get(task.id, ()))


def generated(task: Task, scene: SceneFacts) -> Iterator[tuple[str, str]]:
    """(fault, sentence), in a fixed order; the task's index turns which wording comes first."""
    matched = frame_of(task.instruction)
    assert matched is not None, task.instruction
    frame, phrases = matched
    good = {text for kind in KINDS for _, text in render(frame, phrases, kind, task.index)} | {task.instruction}
    for place, changed in enumerate(_changed(task, frame, phrases, scene)):
        kinds = [KINDS[(task.index + place + shift) % len(KINDS)] for shift in range(len(KINDS))]
        texts = (next(render(frame, completed(changed), kind, task.index))[1] for kind in kinds)
        # Some frames say a relation in their own words, so the change does not show in them.
        yield "slot_changed", next(text for text in texts if text not in good)
    for fault, texts in WRONG[frame.name].items():
        yield from ((fault, text.format(**phrases)) for text in texts)
    order, gerund = frame.order.format(**phrases), frame.gerund.format(**phrases)
    for place in range(3):
        yield "negated", NEGATED[(task.index + 2 * place) % len(NEGATED)].format(order=order, gerund=gerund)
    yield "negated", _with_not(next(render(frame, phrases, "passive", task.index))[1])
    for place, extra in enumerate(_extras(task, scene)):
        yield "goal_added", ADDED[(task.index + place) % len(ADDED)].format(order=order, extra=extra)


def _changed(task: Task, frame: Frame, phrases: dict[str, str], scene: SceneFacts) -> Iterator[dict[str, str]]:
    """The frame's phrases with one of them another one."""
    for key, others in _replacements(task, frame, phrases, scene):
        yield from ({**phrases, key: other} for other in others)


def _replacements(
    task: Task, frame: Frame, phrases: dict[str, str], scene: SceneFacts
) -> Iterator[tuple[str, Sequence[str]]]:
    """(group of the frame, what may stand in its place)."""
    things = _unused(_nouns(scene, "object"), task)[:3]
    targets = _unused(_nouns(scene, "object", "fixture"), task)[:3]
    own = [key for key in phrases if f"<{key}>" in frame.pattern]
    for key in own:
        if phrases[key].startswith("both the "):
            yield key, [f"both {noun} and {phrases[key].rsplit(' and ')[1]}" for noun in things]
        elif key in ("x", "v"):
            yield key, targets if frame.name == "turn_on" else things
        elif key in ("y", "w") and frame.name != "open_and_put":
            yield key, targets
        elif key in ("rel", "to"):
            yield key, RELATIONS[phrases[key]]
        elif key == "ref":
            yield key, [other for other in REFERENCES if other != phrases[key]]
        yield key, _with_another_attribute(phrases[key])


def _with_another_attribute(phrase: str) -> list[str]:
    for word in sorted(ATTRIBUTES, key=len, reverse=True):
        if f" {word} " in phrase:
            return [phrase.replace(f" {word} ", f" {ATTRIBUTES[word]} ")]
    return []


def _nouns(scene: SceneFacts, *kinds: str) -> list[str]:
    """Things of these kinds by a name that no other thing has, with article."""
    named = []
    for entity in scene.of_kind(*kinds):
        taken = {name for other in scene.entities.values() if other.name != entity.name for name in other.names}
        own = [name for name in entity.names if name not in taken]
        named += [f"the {own[0]}"] if own else []
    return named


def _unused(nouns: Sequence[str], task: Task) -> list[str]:
    """Those of which the canonical text does not speak, even by their last word."""
    spoken = task.instruction.split()
    return [noun for noun in nouns if not {noun.split()[-1], f"{noun.split()[-1]}s"} & set(spoken)]


def _with_not(passive: str) -> str:
    """A passive or statement of need with its first verb negated."""
    for obliging, forbidding in (
        (" should be ", " should not be "),
        (" needs to be ", " must not be "),
        (" need to be ", " must not be "),
    ):
        if obliging in passive:
            return passive.replace(obliging, forbidding, 1)
    raise AssertionError(passive)


def _extras(task: Task, scene: SceneFacts) -> Iterator[str]:
    """Further things to do in the scene, of which the task says nothing."""
    names = {name for entity in scene.entities.values() for name in entity.names}
    if "stove" in names and "turn on" not in task.instruction:
        yield "turn on the stove"
    if "drawer" in names and "bottom" not in task.instruction:
        yield "open the bottom drawer of the cabinet"
    rest = [noun for noun in _nouns(scene, "object") if noun not in task.instruction]
    yield from (f"pick up {noun}" for noun in rest[:2] if f"{noun.split()[-1]}s " not in task.instruction)
    if "microwave" in names:
        yield "open the microwave again"


def _written() -> dict[str, Any]:
    rows: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "planted.yaml").read_text())
    return rows

"""The small physics model of a scene: all that moves it, nothing that is only seen. About 3 MB instead of 200.

Made from the text that LIBERO's environment compiles. The numbers of bodies, joints, sites and motors are those of the
full model; geoms are fewer. Its physics is that of the full model to the last bit.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import platform
import threading
from typing import Any
from xml.etree import ElementTree

import numpy as np

from gym_grounding.adapters.libero import facts
from gym_grounding.adapters.libero.core import cache
from gym_grounding.adapters.libero.robosuite_names import mujoco

ARENA = "64M"
"""Memory for contacts. The most ever seen, 2,220 in Spatial before its objects are placed, take 10 MB of it.

LIBERO's own setting reserves 1.3 GB. ``Stepper`` refuses to go on where it does not suffice.
"""
_RULES = 1
"""Rises with every change of ``small_text``, so that models of older rules are not taken from the disk."""

_masters: dict[str, Any] = {}
_lock = threading.Lock()


def _unlock() -> None:
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_unlock)


def small_model(text: str) -> Any:
    """A scene's ``mujoco.MjModel``, a copy of the caller's own, in which fixtures may be moved.

    Taken from this process, from the disk, or compiled, in this order.

    Args:
        text: of the full model, as LIBERO's environment compiles it.
    """
    key = entry(text)
    with _lock:
        if key not in _masters:
            _masters[key] = _stored(key) or _compiled(key, text)
        return copy.copy(_masters[key])


def clear() -> None:
    """Free this process's models; those on the disk stay."""
    with _lock:
        _masters.clear()


def entry(text: str) -> str:
    """Everything that decides how a scene compiles: text, files that it names, mujoco, machine, and our own rules."""
    parts = [hashlib.sha256(text.encode()).hexdigest(), facts.sources(), mujoco.__version__]
    return json.dumps(["small model", _RULES, *parts, platform.system(), platform.machine()])


def small_text(text: str) -> str:
    """The MJCF text without what is only seen, without sensors, and with bounded memory."""
    tree = ElementTree.fromstring(text)
    _child(tree, "compiler").set("discardvisual", "true")
    # Force sensors feed no observation.
    _child(_child(tree, "option"), "flag").set("sensor", "disable")
    size = _child(tree, "size")
    for limit in ("nconmax", "njmax"):
        size.attrib.pop(limit, None)
    size.set("memory", ARENA)
    return ElementTree.tostring(tree, encoding="unicode")


def _child(element: ElementTree.Element, name: str) -> ElementTree.Element:
    found = element.find(name)
    return ElementTree.SubElement(element, name) if found is None else found


def _stored(key: str) -> Any:
    payload = cache.read(key)
    if payload is None:
        return None
    try:
        return mujoco.MjModel.from_binary_path("scene.mjb", {"scene.mjb": payload})
    except ValueError:
        return None


def _compiled(key: str, text: str) -> Any:
    model = mujoco.MjModel.from_xml_string(small_text(text))
    buffer = np.empty(mujoco.mj_sizeModel(model), np.uint8)
    mujoco.mj_saveModel(model, None, buffer)
    cache.write(key, buffer.tobytes())
    return model

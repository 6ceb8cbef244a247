"""The small physics model of a scene: all that moves it, nothing that is only seen. About 3 MB instead of 200.

Made from the text that LIBERO's environment compiles. The numbers of bodies, joints, sites and motors are those of the
full model; geoms are fewer. Its physics is that of the full model to the last bit.
"""

from __future__ import annotations

import copy
import json
import platform
import threading
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import numpy as np

from gym_grounding.adapters.libero import facts
from gym_grounding.adapters.libero.core import cache
from gym_grounding.adapters.libero.robosuite_names import mujoco
from gym_grounding.types import SceneFacts

ARENA = "64M"
"""Memory for contacts, ten times what 1,000 of them take; LIBERO's own setting reserves 1.3 GB."""
_RULES = 1
"""Rises with every change of ``small_text``, so that models of older rules are not taken from the disk."""

_masters: dict[str, Any] = {}
_lock = threading.Lock()


def small_model(scene: SceneFacts, text: Callable[[], str]) -> Any:
    """A scene's ``mujoco.MjModel``, a copy of the caller's own, in which fixtures may be moved.

    Taken from this process, from the disk, or compiled, in this order.

    Args:
        scene: which scene.
        text: gives LIBERO's model text; only called to compile.
    """
    key = entry(scene)
    with _lock:
        if key not in _masters:
            _masters[key] = _stored(key) or _compiled(key, text())
        return copy.copy(_masters[key])


def clear() -> None:
    """Free this process's models; those on the disk stay."""
    with _lock:
        _masters.clear()


def entry(scene: SceneFacts) -> str:
    """Everything that decides how a scene compiles: its hash, mujoco, the machine's kind, and our own rules."""
    parts = [facts.scene_hash(scene), mujoco.__version__, platform.system(), platform.machine(), _RULES]
    return json.dumps(["small model", *parts])


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

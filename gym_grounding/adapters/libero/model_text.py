"""Compiled models as MJCF text, in which demonstration files keep where the fixtures stood.

Surprises:
    MuJoCo writes six digits, which is not where a fixture stood to the last bit; ``with_poses`` writes every digit.
    MuJoCo writes the model that was compiled last in this process, so the text is taken right after compiling.
    The text names files by their place on this machine; ``without_places`` keeps only what is inside the packages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from gym_grounding.errors import InvalidOption

Poses = Mapping[str, NDArray[np.float64]]
_UNTURNED = "1 0 0 0"


def with_poses(text: str, poses: Poses) -> str:
    """The same model with bodies elsewhere.

    Args:
        text: MJCF.
        poses: name of a body -> position [m] and quaternion (w, x, y, z), shape (7,).
    """
    tree = ElementTree.fromstring(text)
    for name, pose in poses.items():
        body = _body(tree, name)
        body.set("pos", _written(pose[:3]))
        body.set("quat", _written(pose[3:]))
    return ElementTree.tostring(tree, encoding="unicode")


def poses(text: str, bodies: Mapping[str, str]) -> dict[str, NDArray[np.float64]]:
    """Where a model's bodies stand in their parents: position [m] and quaternion (w, x, y, z), shape (7,), by key.

    Args:
        text: MJCF, from whatever file.
        bodies: key -> name of the body.

    Raises:
        InvalidOption: no XML, a body that is missing, a pose that is none.
    """
    try:
        tree = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise InvalidOption(f"the model is no XML ({error})") from error
    return {key: _pose(_body(tree, name), name) for key, name in bodies.items()}


def without_places(text: str, folders: Iterable[Path]) -> str:
    """The same model whose files are named from the folder on that holds their package.

    Args:
        text: MJCF.
        folders: where packages lie; a file outside of all of them keeps its own name alone.
    """
    tree = ElementTree.fromstring(text)
    known = [folder.resolve() for folder in folders]
    for element in tree.iterfind(".//*[@file]"):
        path = Path(element.get("file", "")).resolve()
        inside = next((folder for folder in known if path.is_relative_to(folder)), path.parent)
        element.set("file", path.relative_to(inside).as_posix())
    return ElementTree.tostring(tree, encoding="unicode")


def _body(tree: ElementTree.Element, name: str) -> ElementTree.Element:
    for body in tree.iter("body"):
        if body.get("name") == name:
            return body
    raise InvalidOption(f"the model has no body {name!r}; it is that of another scene")


def _pose(body: ElementTree.Element, name: str) -> NDArray[np.float64]:
    words = f"{body.get('pos', '0 0 0')} {body.get('quat', _UNTURNED)}".split()
    try:
        pose = np.array([float(word) for word in words])
    except ValueError:
        pose = np.empty(0)
    if pose.shape != (7,) or not np.isfinite(pose).all():
        raise InvalidOption(f"the model's body {name!r} has no pose of seven numbers")
    return pose


def _written(numbers: NDArray[np.float64]) -> str:
    return " ".join(map(repr, numbers.tolist()))

"""All literals of a table in one call, with numpy alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gym_grounding.adapters.libero.core.literals import BAND, UNDECIDED, Flags, Present, Table

Booleans = NDArray[np.bool_]
Geoms = NDArray[np.int32]


def judge(table: Table, now: Present, geoms: Geoms, touching: Booleans, verdicts: Flags) -> None:
    """Judge every literal.

    Args:
        table: of the scene.
        now: its present state.
        geoms: numbers of the geoms of each contact, shape (n, 2).
        touching: overwritten, shape (groups, groups).
        verdicts: overwritten, shape (literals,).
    """
    touching[:] = False
    touching[-1, -1] = True
    first, second = table.groups[geoms[:, 0]], table.groups[geoms[:, 1]]
    touching[first, second] = touching[second, first] = True
    for rows, judged in ((table.zones, _zones), (table.pairs, _pairs)):
        if len(rows):
            met = touching[rows["touching"][:, 0], rows["touching"][:, 1]]
            verdicts[rows["literal"]] = np.where(met, judged(rows, now), 0)
    if len(table.heights):
        rows = table.heights
        verdicts[rows["literal"]] = now.bodies[rows["subject"], 2] >= rows["bound"]
    if len(table.limits):
        verdicts[table.limits["literal"]] = _limits(table, now)


def _zones(rows: Any, now: Present) -> Flags:
    rotations = now.site_rotations[rows["site"]].reshape(-1, 3, 3)
    carriers = now.body_rotations[rows["carrier"]].reshape(-1, 3, 3)
    added = now.bodies[rows["carrier"]] + np.einsum("nij,nj->ni", carriers, rows["place"])
    places = np.where(rows["carrier"][:, None] < 0, now.sites[rows["site"]], added)
    apart = now.bodies[rows["subject"]] - places
    boxed, size = rows["boxed"][:, None], rows["size"]
    extent = np.where(boxed, np.abs(np.einsum("nij,nj->ni", rotations, size)), size)
    place = np.where(boxed, apart, np.einsum("nij,nj->ni", rotations, apart))
    low, high = -extent, extent.copy()
    low[:, 2] = np.where(rows["boxed"], low[:, 2], extent[:, 2]) - rows["below"]
    high[:, 2] += rows["above"]
    return _least(np.concatenate([_less(low, place), _less(place, high)], axis=1))


def _pairs(rows: Any, now: Present) -> Flags:
    subject, reference = now.bodies[rows["subject"]], now.bodies[rows["reference"]]
    distance = np.linalg.norm(reference[:, :2] - subject[:, :2], axis=1)
    near = _less(distance, rows["near"])
    return np.where(reference[:, 2] <= subject[:, 2], near, 0).astype(np.int8)


def _limits(table: Table, now: Present) -> Booleans:
    joints = table.joints
    turned, bound = now.positions[joints["position"]] * joints["sign"], joints["bound"]
    holding = (turned > bound) | (joints["reached"] & (turned == bound))
    starts = table.limits["start"]
    every, some = np.logical_and.reduceat(holding, starts), np.logical_or.reduceat(holding, starts)
    result: Booleans = np.where(table.limits["every"], every, some)
    return result


def _less(one: Any, other: Any) -> Flags:
    gap = other - one
    return np.where(np.abs(gap) > BAND, gap > 0, UNDECIDED).astype(np.int8)


def _least(verdicts: Flags) -> Flags:
    """Of each row: 0 where any is, else ``UNDECIDED`` where any is, else 1."""
    return np.where((verdicts == 0).any(axis=1), 0, verdicts.min(axis=1)).astype(np.int8)

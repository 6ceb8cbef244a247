"""What words alone change: a policy's answer to one stored observation under two instructions."""

from __future__ import annotations

from gym_grounding.probe._collect import collect
from gym_grounding.probe._observations import StoredObservations, load_observations, save_observations
from gym_grounding.probe._probe import probe, probes_of

__all__ = ["StoredObservations", "collect", "load_observations", "probe", "probes_of", "save_observations"]

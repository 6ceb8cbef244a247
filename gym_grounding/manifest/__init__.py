"""The registry file: every task and instruction variant, found, parsed, checked, hashed and selected from.

Sections of a file (``registry.yaml`` and ``gym_grounding/testing/toy_registry.yaml`` are examples):

- ``format`` (1), ``version`` (the N in ``-vN`` of the ids), ``canonical_source`` (where original texts come from),
  ``proposer`` (what proposed the other texts), ``physics`` (``settle``, and accepted simulator versions as text),
  ``paraphrase_kinds`` (type of the paraphrase with number 1, 2, ... of every task; left out where it is free),
  ``oracle`` (what tried to reach the goals: ``version``, ``physics``, such as ``mujoco 3.3.2, robosuite 1.4.0``, and
  ``horizon`` in control steps, the same for all; left out where nothing did).
- ``suites``: name -> ``adapter`` (a name, or ``package.module:OBJECT`` for one of your own), ``source``.
- ``scenes``: id -> ``adapter``, ``problem``, ``background`` (nouns of what else is to be seen), ``entities``: name ->
  ``category``, ``kind``, ``joints``, ``supports``, ``names`` (see ``types.Entity``).
- ``tasks``: rows with ``id``, ``suite``, ``index``, ``name``, ``instruction``, ``source_instruction``, ``scene``,
  ``slots``, ``goal``, ``init_states``, ``checksums`` (see ``types.Task``).
- ``variants``: rows with ``id``, ``task``, ``condition``, ``slot``, ``number``, ``instruction`` and, as the condition
  asks (see ``types.Variant``):

  - ``kind`` and ``also`` (types of a paraphrase), ``audit: manual`` with ``audit_reason`` (a person accepts the text
    although a check of its meaning refuses it);
  - ``changed`` (``from``, ``to``: the replaced words and the new ones);
  - ``goal``, ``regions`` (boxes that the goal names; a name means one box in a task), ``judged``, ``tier``,
    ``tier_reason``;
  - ``certificate`` (what was measured of the goal with the file's ``physics``, or with that of its ``oracle``):
    ``support``, ``demonstrated``, ``on_path``, ``trained_goal_of``, ``movable_reference``, ``true_initially`` (``raw``,
    ``settled``, ``tolerant``: number of initial states, ``of`` so many, in which it already holds), ``witness``
    (``found``, ``placement``, ``state``, ``original_true``), ``reachable`` (``shown`` or ``not_shown``: whether the
    oracle had any success) and ``oracle`` (``attempts``: initial states from which it tried; ``successes``: those in
    which the goal counts as reached, by ``judged``; ``stable``, ``transient``, ``trivial``, ``median_steps`` and
    ``verdict``: see ``Reach``);
  - ``absent`` (what a collision's scene lacks): ``kind``, ``noun`` and ``trained_noun`` (whether a canonical text of
    the suite has it), ``satisfiable_part``, ``shown`` (``tried``, ``clearance``, ``extent`` [m], or ``in_states``,
    ``of``);
  - ``instruction_of`` (task whose canonical text a swap carries), ``errors`` (misspelt words), ``joints`` (entity ->
    preset position [m or rad]), ``described: true`` (no goal scores the row);
  - ``note``.

- ``dropped``: refused proposals, ``unavailable``: cells with nothing to propose; rows with ``task``, ``condition``,
  ``slot``, ``reason`` (a code), ``note``, and for the former ``instruction``, ``goal``, ``regions``.
- ``counts``: suite -> totals that must be the true ones; a suite listed here must account for every cell. Control
  conditions (``conditions.controls``) have totals, but no cells.

A file is UTF-8 and plain YAML: no anchors, aliases, tags or repeated keys. Bare ``on`` is a word, not a truth value.
"""

from __future__ import annotations

from gym_grounding.manifest._goals import joint_problems
from gym_grounding.manifest._load import default_path, listing, load, parsed, problems, totals
from gym_grounding.manifest._manifest import Manifest, SuiteInfo
from gym_grounding.manifest._reach import (
    NOT_MEASURED,
    NOT_REACHED,
    NOT_SHOWN,
    REACHABLE,
    REACHED,
    SHOWN,
    STABLE,
    STANDINGS,
    TRANSIENT,
    TRIVIAL,
    VERDICTS,
    Reach,
    reach,
    reachable,
    standing,
    verdict,
)
from gym_grounding.manifest._scan import Listing

__all__ = [
    "NOT_MEASURED",
    "NOT_REACHED",
    "NOT_SHOWN",
    "REACHABLE",
    "REACHED",
    "SHOWN",
    "STABLE",
    "STANDINGS",
    "TRANSIENT",
    "TRIVIAL",
    "VERDICTS",
    "Listing",
    "Manifest",
    "Reach",
    "SuiteInfo",
    "default_path",
    "joint_problems",
    "listing",
    "load",
    "parsed",
    "problems",
    "reach",
    "reachable",
    "standing",
    "totals",
    "verdict",
]

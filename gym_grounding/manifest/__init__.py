"""The registry file: every task and instruction variant, found, parsed, checked, hashed and selected from.

Sections of a file (``registry.yaml`` and ``gym_grounding/testing/toy_registry.yaml`` are examples):

- ``format`` (1), ``version`` (the N in ``-vN`` of the ids), ``canonical_source`` (where original texts come from),
  ``physics`` (``settle``, and accepted simulator versions as text).
- ``suites``: name -> ``adapter`` (a name, or ``package.module:OBJECT`` for one of your own), ``source``.
- ``scenes``: id -> ``adapter``, ``problem``, ``entities``: name -> ``category``, ``kind``, ``joints``, ``supports``,
  ``names`` (see ``types.Entity``).
- ``tasks``: rows with ``id``, ``suite``, ``index``, ``name``, ``instruction``, ``source_instruction``, ``scene``,
  ``slots``, ``goal``, ``init_states``, ``checksums`` (see ``types.Task``).
- ``variants``: rows with ``id``, ``task``, ``condition``, ``slot``, ``number``, ``instruction`` and, as the condition
  asks: ``kind`` and ``also`` (types of a paraphrase), ``changed`` (``from``, ``to``), ``goal``, ``regions``, ``tier``,
  ``tier_reason``, ``judged``, ``certificate``, ``absent`` (what a collision's scene lacks), ``note``.
- ``dropped``: refused proposals, ``unavailable``: cells with nothing to propose; rows with ``task``, ``condition``,
  ``slot``, ``reason`` (a code), ``note``, and for the former ``instruction``, ``goal``, ``regions``.
- ``counts``: suite -> totals that must be the true ones; a suite listed here must account for every cell.

A file is UTF-8 and plain YAML: no anchors, aliases, tags or repeated keys. Bare ``on`` is a word, not a truth value.
"""

from __future__ import annotations

from gym_grounding.manifest._load import default_path, load, problems
from gym_grounding.manifest._manifest import Manifest
from gym_grounding.manifest._shape import SuiteInfo

__all__ = ["Manifest", "SuiteInfo", "default_path", "load", "problems"]

"""Paraphrases that a person accepts although an audit refuses them: the only way round the audits.

A reason says which check misreads the sentence and how. The rules of written form and of redundancy cannot be
overridden, and neither can those that the registry itself is checked by.
"""

from __future__ import annotations

from collections.abc import Mapping

MANUAL: Mapping[tuple[str, str], str] = {}
"""(task id, sentence) -> why it is accepted. Empty: every registered paraphrase passes both audits."""

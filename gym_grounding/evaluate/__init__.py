"""A whole evaluation: from a policy and a plan to a run on disk that can be stopped and continued at any moment."""

from __future__ import annotations

from gym_grounding.evaluate._evaluate import evaluate
from gym_grounding.evaluate._header import make_header, package_hash

__all__ = ["evaluate", "make_header", "package_hash"]

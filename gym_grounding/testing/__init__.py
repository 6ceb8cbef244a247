"""For tests, also those of other packages: contract checks, a toy registry and ready-made policies for it.

from gym_grounding.testing import TOY_REGISTRY, check_policy
"""

from __future__ import annotations

from pathlib import Path

from gym_grounding.testing._contract import ContractBroken
from gym_grounding.testing.adapters import check_adapter
from gym_grounding.testing.conditions import check_condition
from gym_grounding.testing.policies import check_policy
from gym_grounding.testing.variants import check_variant

__all__ = ["TOY_REGISTRY", "ContractBroken", "check_adapter", "check_condition", "check_policy", "check_variant"]

TOY_REGISTRY = str(Path(__file__).with_name("toy_registry.yaml"))
"""Path of a small registry for the toy adapter: two scenes, six tasks, all conditions, both tiers."""

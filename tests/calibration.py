"""What the metrics say of a policy: plan, run, probe and score, as the commands do it."""

import numpy as np

from gym_grounding.evaluate import evaluate
from gym_grounding.metrics import Scope, measure
from gym_grounding.probe import probe
from gym_grounding.report import _study


class Numbers:
    """Every measurement of one run, by quantity and exact scope.

    Attributes:
        evidence: what it was computed from.
    """

    def __init__(self, evidence):
        self.evidence = evidence
        found = measure([evidence], np.random.default_rng(0))
        self._values = {(one.quantity, one.scope): one.value for one in found}
        assert len(self._values) == len(found)

    def value(self, quantity, **scope):
        """The value with its counts and reasons; what is not named is None in its scope."""
        return self._values[quantity, Scope(**scope)]

    def __call__(self, quantity, **scope):
        """Its mean."""
        return self.value(quantity, **scope).mean

    def __iter__(self):
        """(quantity, scope, value) of every measurement."""
        return ((quantity, scope, value) for (quantity, scope), value in self._values.items())

    def scopes(self, quantity, **parts):
        """Scopes in which the quantity was measured and that agree with ``parts``."""
        return [
            scope
            for name, scope in self._values
            if name == quantity and all(getattr(scope, part) == value for part, value in parts.items())
        ]

    def at(self, quantity, scope):
        """The mean in a scope of ``scopes``."""
        return self._values[quantity, scope].mean


def scored(policy, plan, folder, options=None, observations=None, name=None, curves=None):
    """Run a policy on a plan (and probe it, and give it learning curves) into a folder; its numbers.

    Curves are the values of each task's epochs 0, 5, 10 and so on.
    """
    run = evaluate(policy, plan, folder, workers=0, options=options, progress=False, name=name)
    if curves is not None:
        points = [f"0,{task},{5 * at},{value}" for task, curve in curves.items() for at, value in enumerate(curve)]
        (run / "curves.csv").write_text("\n".join(["seed,task,epoch,success", *points]))
    if observations is not None:
        probe(policy, observations, plan, run, options=options)
    (method,) = _study.load([run]).methods
    assert not method.errors, method.errors
    return Numbers(method.evidence)

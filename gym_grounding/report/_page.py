"""The metrics page: every definition, taken from the code that computes it."""

from __future__ import annotations

from gym_grounding import metrics
from gym_grounding.metrics import Metric, Quantity
from gym_grounding.report import _html

UNITS = {
    "rate": "rate in [0, 1], shown in percent",
    "difference": "difference of rates in [-1, 1], shown in points",
    "ratio": "ratio",
    "distance": "distance in the units of the action space",
    "log density": "difference of natural log densities",
    "correlation": "coefficient in [-1, 1]",
    "probability": "p of a test, in [0, 1]",
}
GENERAL = """\
Numbers come from records alone; no simulator is needed to score a run. Initial states are equal within a variant,
variants within a task, tasks within a condition; this is done seed by seed, then the mean and the sample standard
deviation (divisor n - 1) over seeds are given; with one seed there is no standard deviation. A rate carries Wilson's
95 % interval over episodes: a binomial interval that ignores that episodes of one variant, task or seed resemble each
other, and that says nothing about other training seeds. Where variants or tasks have unequal numbers of episodes, it
uses Kish's effective number. AUC, NBT, gaps and differences between methods carry bootstrap intervals instead: training
seeds and, within each task, initial states are drawn again; tasks and instructions stay, since they are the whole of
the benchmark. Few seeds make these intervals too narrow. Nothing over an empty set: the value is None and the reason is
given. Cells that are missing or that ended in an error are never failures; they are counted beside the numbers. An
episode in which a goal already held right after settling is void for that goal: left out, and counted.
"""


def metrics_page() -> str:
    """Every metric's definition as Markdown. It is rendered from the docstrings, so it cannot drift from the code."""
    parts = ["# Metrics\n", GENERAL]
    for name in metrics.names():
        family = metrics.get(name)
        parts.append(f"## {family.title}\n\n{family.definition.strip()}\n")
        parts += [f"### {one.label} (`{one.name}`)\n\n{one.definition}\n\n{_line(one)}\n" for one in family.quantities]
    return "\n".join(parts)


def metrics_html() -> str:
    """The same as HTML, folded by family."""
    return f"{_html.prose(GENERAL)}\n" + "\n".join(_family(metrics.get(name)) for name in metrics.names())


def _family(family: Metric) -> str:
    quantities = "\n".join(
        f"<h4>{_html.text(one.label)} <code>{_html.text(one.name)}</code></h4>{_html.prose(one.definition)}"
        f'<p class="caption">{_html.text(_line(one))}</p>'
        for one in family.quantities
    )
    shared = _html.prose(family.definition)
    return f"<details><summary>{_html.text(family.title)}</summary>\n{shared}\n{quantities}\n</details>"


def _line(one: Quantity) -> str:
    better = "no direction is better in itself" if one.better == "neither" else f"{one.better} is better"
    return f"Unit: {UNITS[one.unit]}; {better}."

"""The colours of the page and of the figures, each for light and for dark paper."""

from __future__ import annotations

from collections.abc import Sequence

Pair = tuple[str, str]


def _ramp(low: Pair, high: Pair, levels: int) -> list[Pair]:
    """Equal steps between two colours, for light and for dark paper."""
    return [tuple(_between(low[side], high[side], level / (levels - 1)) for side in (0, 1)) for level in range(levels)]  # type: ignore[misc] # two sides


def _readable(ground: Pair) -> Pair:
    """Black or white on each of two grounds, whichever stands out more."""
    return tuple("#000000" if _luminance(colour) > 0.18 else "#ffffff" for colour in ground)  # type: ignore[return-value] # two sides


def _luminance(colour: str) -> float:
    """Relative luminance in [0, 1], as WCAG 2 defines it; black and white stand out equally at 0.18."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def _between(low: str, high: str, share: float) -> str:
    parts = [(int(low[at : at + 2], 16), int(high[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(one + (other - one) * share):02x}" for one, other in parts)


LEVELS = 11
"""Steps of a heat map, one for every ten percent."""
SERIES = 8
"""Methods that have a colour of their own; later ones begin again, with other markers."""
HEAT = _ramp(("#f0f4f8", "#20262c"), ("#084a80", "#a8d6f8"), LEVELS)
# Hues after Okabe and Ito (2008), told apart with every kind of colour vision; lines stand out from their paper by 3:1
PAINTS: dict[str, Pair] = {
    "ink": ("#1a1a1a", "#e6e4df"),
    "soft": ("#5c5c5c", "#a5a29b"),
    "line": ("#d4d4d4", "#3c3b38"),
    "paper": ("#ffffff", "#191918"),
    "instructed": ("#35b58f", "#157a5c"),
    "kept": ("#e58a4e", "#a8521a"),
    "mixed": ("#d79cbb", "#8a4a70"),
    "several": ("#8cc8ea", "#2f6c94"),
    "nothing": ("#e2e2e0", "#3a3a38"),
    "on-bar": ("#101418", "#ffffff"),
    **dict(
        zip(
            (f"series{number}" for number in range(SERIES)),
            [
                ("#0072b2", "#56a9e0"),
                ("#c04c00", "#f0853c"),
                ("#00795a", "#2cc398"),
                ("#a8507f", "#e092bf"),
                ("#1a1a1a", "#e6e4df"),
                ("#8a6d00", "#e0c040"),
                ("#3a86a8", "#8fd0f0"),
                ("#6a5acd", "#a89cff"),
            ],
            strict=True,
        )
    ),
    **{f"heat{level}": pair for level, pair in enumerate(HEAT)},
    **{f"on-heat{level}": _readable(pair) for level, pair in enumerate(HEAT)},
}
"""Name -> colour on (light, dark) paper."""


def variables(side: int, names: Sequence[str] = tuple(PAINTS)) -> str:
    """CSS variables ``--p-NAME`` of one side: 0 light, 1 dark."""
    return " ".join(f"--p-{name}: {PAINTS[name][side]};" for name in names)


def heat(share: float) -> tuple[str, str]:
    """Paints of a cell of a heat map and of the text on it.

    Args:
        share: in [0, 1].
    """
    level = round(min(1.0, max(0.0, share)) * (LEVELS - 1))
    return f"heat{level}", f"on-heat{level}"

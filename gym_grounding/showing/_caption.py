"""The bar below each picture: the instruction, and which goals hold."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gym_grounding.showing._episode import Moment

INK, PAPER, FAINT = (240, 240, 240), (24, 24, 24), (120, 120, 120)
COLOURS = {"original": (213, 94, 0), "target": (0, 158, 115)}
"""Of the named goals, as in the report's figures (Okabe and Ito, 2008)."""
OTHER = (204, 121, 167)
"""Of the scene's other goals."""


@dataclass(frozen=True, slots=True)
class Caption:
    """Draws a text and the state of the goals below pictures.

    Attributes:
        text: the instruction.
        size: side of the picture above the bar [pixels].
    """

    text: str
    size: int

    def framed(self, moment: Moment) -> NDArray[np.uint8]:
        """The moment's picture, ``size`` wide and high, with the bar; its height is even."""
        from PIL import Image, ImageDraw

        font = _font(self.size)
        lines = _wrapped(self.text or "(the empty instruction)", font, self.size - 2 * _margin(self.size))
        rows = len(lines) + (1 if moment.remark is None else 2)
        height = _line(self.size) * rows + 2 * _margin(self.size)
        whole = Image.new("RGB", (self.size, self.size + height + (self.size + height) % 2), PAPER)
        picture = Image.fromarray(np.ascontiguousarray(moment.picture))
        if picture.size != (self.size, self.size):
            picture = picture.resize((self.size, self.size), Image.Resampling.BICUBIC)
        whole.paste(picture, (0, 0))
        draw, top = ImageDraw.Draw(whole), self.size + _margin(self.size)
        for line in lines:
            draw.text((_margin(self.size), top), line, INK, font)
            top += _line(self.size)
        self._draw_goals(draw, font, moment, top)
        if moment.remark:
            remark = _cut(moment.remark, font, self.size - 2 * _margin(self.size))
            draw.text((_margin(self.size), top + _line(self.size)), remark, FAINT, font)
        return np.asarray(whole)

    def _draw_goals(self, draw: Any, font: Any, moment: Moment, top: int) -> None:
        left: float = _margin(self.size)
        dot = _line(self.size) // 2
        for label in moment.labels:
            named = label in COLOURS
            if not named and label not in moment.first and label not in moment.held:
                continue
            colour = COLOURS.get(label, OTHER)
            box = (left, top + dot // 2, left + dot, top + dot // 2 + dot)
            seen = label in moment.first or label in moment.void
            draw.ellipse(box, colour if label in moment.held else None, colour if seen else FAINT, max(1, dot // 5))
            word = label if named else label.rpartition("-")[2]
            left += 1.5 * dot
            draw.text((left, top), word, INK if seen else FAINT, font)
            left += font.getlength(word) + 1.5 * dot
        step = str(moment.step)
        draw.text((self.size - _margin(self.size) - font.getlength(step), top), step, FAINT, font)


def _font(size: int) -> Any:
    import matplotlib
    from PIL import ImageFont

    return ImageFont.truetype(str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"), _letter(size))


def _letter(size: int) -> int:
    return max(9, size // 20)


def _line(size: int) -> int:
    return round(1.5 * _letter(size))


def _margin(size: int) -> int:
    return _letter(size) // 2


def _wrapped(text: str, font: Any, width: int) -> list[str]:
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and font.getlength(longer) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def _cut(text: str, font: Any, width: int) -> str:
    if font.getlength(text) <= width:
        return text
    while text and font.getlength(f"{text}...") > width:
        text = text[:-1]
    return f"{text.rstrip()}..."

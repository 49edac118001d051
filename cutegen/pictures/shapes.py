"""The few shapes that a picture is drawn with, in pixels from the top left corner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Box", "Drawing", "Line", "Shape", "Words"]


@dataclass(frozen=True)
class Box:
    """A rectangle.

    Attributes:
        x: Its left side; ``y`` its top.
        y: See ``x``.
        width: To the right; ``height`` is down.
        height: See ``width``.
        fill: A colour, or empty for that of the paper.
        edge: The outline: ``thin``, ``thick``, ``dashed`` or ``none``.
        tip: What is said of it under the mouse.
        key: What a program finds it by.
    """

    x: float
    y: float
    width: float
    height: float
    fill: str = ""
    edge: Literal["thin", "thick", "dashed", "none"] = "thin"
    tip: str = ""
    key: str = ""


@dataclass(frozen=True)
class Words:
    """A line of text.

    Attributes:
        x: Where it starts, is centred or ends, by ``anchor``.
        y: Its base line.
        text: The words.
        size: Of the letters.
        anchor: See ``x``.
        tone: ``ink`` and ``soft`` on paper, ``dark`` and ``light`` on colours.
        bold: Whether the letters are heavy.
    """

    x: float
    y: float
    text: str
    size: float = 11.0
    anchor: Literal["start", "mid", "end"] = "start"
    tone: Literal["ink", "soft", "dark", "light"] = "ink"
    bold: bool = False


@dataclass(frozen=True)
class Line:
    """A straight line: ``rule`` is faint, ``mark`` is not, ``dash`` is broken."""

    x1: float
    y1: float
    x2: float
    y2: float
    kind: Literal["rule", "mark", "dash"] = "rule"


Shape = Box | Words | Line


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """A picture whose every part has its place.

    Attributes:
        width: In pixels; likewise ``height``.
        height: See ``width``.
        title: What it shows.
        description: The same in a sentence, for those who do not see it.
        shapes: The shapes, the lowest first.
    """

    width: float
    height: float
    title: str
    description: str
    shapes: tuple[Shape, ...]

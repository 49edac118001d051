"""A picture as SVG.

Written by these few lines and not by a plotting library: the file is self-contained and small, differs
between two kernels only where the kernels do, keeps its text as text, and has for each cell a key and words
under the mouse, so that a page around it can make it interactive.
"""

from __future__ import annotations

from html import escape

from cutegen.pictures import svg
from cutegen.pictures.model import Picture
from cutegen.pictures.place import place
from cutegen.pictures.shapes import Box, Line, Words

__all__ = ["to_svg"]

_STYLE = """\
  .thin { stroke: #7d868f; stroke-width: 0.6; } .thick { stroke: #000000; stroke-width: 2.2; }
  .dashed { stroke: #5d6771; stroke-width: 1; stroke-dasharray: 3 2; } .hollow { fill: none; }
  .dash { stroke: #7d868f; stroke-width: 1; stroke-dasharray: 2 3; }
  .dark { fill: #000000; } .light { fill: #ffffff; } text { pointer-events: none; }
  @media (prefers-color-scheme: dark) { .thick { stroke: #ffffff; } }
"""
_ANCHORS = {"start": "", "mid": " mid", "end": " end"}


def to_svg(picture: Picture) -> str:
    """The picture as a whole SVG document; equal pictures give equal text."""
    drawing = place(picture)
    fills: dict[str, str] = {}
    sizes: dict[float, str] = {}
    body = []
    for shape in drawing.shapes:
        if isinstance(shape, Box):
            body.append(_box(shape, fills))
        elif isinstance(shape, Words):
            body.append(_words(shape, sizes))
        else:
            body.append(_line(shape))
    style = _STYLE
    style += "".join(f"  .{name} {{ fill: {colour}; }}\n" for colour, name in fills.items())
    style += "".join(f"  .{name} {{ font-size: {size:g}px; }}\n" for size, name in sizes.items())
    return svg.document(drawing.width, drawing.height, drawing.title, drawing.description, body, style)


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _box(box: Box, fills: dict[str, str]) -> str:
    fill = {"": "paper", "none": "hollow"}.get(box.fill) or fills.setdefault(box.fill, f"c{len(fills)}")
    kind = fill if box.edge == "none" else f"{fill} {box.edge}"
    place_ = " ".join(
        f'{name}="{_number(value)}"'
        for name, value in (("x", box.x), ("y", box.y), ("width", box.width), ("height", box.height))
    )
    key = f' data-key="{escape(box.key)}"' if box.key else ""
    if box.tip:
        return f'<rect class="{kind}" {place_}{key}><title>{escape(box.tip)}</title></rect>'
    return f'<rect class="{kind}" {place_}{key}/>'


def _words(words: Words, sizes: dict[float, str]) -> str:
    size = sizes.setdefault(words.size, f"s{len(sizes)}")
    kind = f"{words.tone} {size}{_ANCHORS[words.anchor]}{' strong' if words.bold else ''}"
    where = f'x="{_number(words.x)}" y="{_number(words.y)}"'
    return f'<text class="{kind}" {where}>{escape(words.text)}</text>'


def _line(line: Line) -> str:
    ends = (("x1", line.x1), ("y1", line.y1), ("x2", line.x2), ("y2", line.y2))
    where = " ".join(f'{name}="{_number(value)}"' for name, value in ends)
    return f'<line class="{line.kind}" {where}/>'

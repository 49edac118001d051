"""A picture as TikZ: a LaTeX document of class ``standalone``, to compile alone or to take into a paper."""

from __future__ import annotations

from cutegen.pictures.model import Picture
from cutegen.pictures.place import place
from cutegen.pictures.shapes import Box, Line, Words

__all__ = ["to_tex"]

_POINTS = 0.75  # of a pixel
_TONES = {"ink": "black", "soft": "black!60", "dark": "black", "light": "white"}
_ANCHORS = {"start": "base west", "mid": "base", "end": "base east"}
_EDGES = {
    "thin": "draw=black!45,line width=0.3pt",
    "thick": "draw=black,line width=1.4pt",
    "dashed": "draw=black!60,line width=0.5pt,dash pattern=on 2pt off 1.5pt",
}
_LINES = {
    "rule": "draw=black!15,line width=0.4pt",
    "mark": "draw=black,line width=0.8pt",
    "dash": "draw=black!45,line width=0.5pt,dash pattern=on 1.5pt off 2pt",
}
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "_": r"\_",
    "%": r"\%",
    "&": r"\&",
    "#": r"\#",
    "$": r"\$",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}


def to_tex(picture: Picture) -> str:
    """The picture as a whole LaTeX document; equal pictures give equal text."""
    drawing = place(picture)
    colours: dict[str, str] = {}
    body = []
    for shape in drawing.shapes:
        if isinstance(shape, Box):
            body.append(_box(shape, colours))
        elif isinstance(shape, Words):
            body.append(_words(shape))
        else:
            body.append(_line(shape))
    named = [rf"\definecolor{{{name}}}{{HTML}}{{{colour[1:].upper()}}}" for colour, name in colours.items()]
    head = [
        f"% {picture.title}, {picture.subtitle}",
        r"\documentclass[tikz,border=0pt]{standalone}",
        r"\usepackage[T1]{fontenc}",
        r"\renewcommand{\familydefault}{\sfdefault}",
        r"\begin{document}",
        rf"\begin{{tikzpicture}}[x={_POINTS}pt,y=-{_POINTS}pt,inner sep=0pt,outer sep=0pt]",
        rf"\path[use as bounding box] (0,0) rectangle ({drawing.width:g},{drawing.height:g});",
    ]
    return "\n".join([*head, *named, *body, r"\end{tikzpicture}", r"\end{document}", ""])


def _at(x: float, y: float) -> str:
    return f"({x:.1f},{y:.1f})"


def _box(box: Box, colours: dict[str, str]) -> str:
    options = []
    if box.fill not in ("", "none"):
        options.append(f"fill={colours.setdefault(box.fill, f'cutegen{len(colours)}')}")
    if box.edge != "none":
        options.append(_EDGES[box.edge])
    corners = f"{_at(box.x, box.y)} rectangle {_at(box.x + box.width, box.y + box.height)}"
    return rf"\path[{','.join(options)}] {corners};"


def _words(words: Words) -> str:
    text = "".join(_SPECIAL.get(c, c) for c in words.text)
    size = words.size * _POINTS
    font = rf"\fontsize{{{size:.2f}pt}}{{{size * 1.2:.2f}pt}}\selectfont"
    weight = r"\bfseries " if words.bold else " "
    options = f"anchor={_ANCHORS[words.anchor]},text={_TONES[words.tone]}"
    return rf"\node[{options}] at {_at(words.x, words.y)} {{{font}{weight}{text}}};"


def _line(line: Line) -> str:
    return rf"\path[{_LINES[line.kind]}] {_at(line.x1, line.y1)} -- {_at(line.x2, line.y2)};"

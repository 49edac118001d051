"""Pictures of layouts, copies and pipelines: from a plan to a small model, and from there to SVG or TikZ.

:func:`draw` makes the model, which tests and reports may ask; :func:`to_svg`, :func:`to_tex` and
:func:`picture_bytes` write it down.
"""

from cutegen.pictures.draw import PICTURES, What, draw, pictures_of
from cutegen.pictures.model import Picture
from cutegen.pictures.tikz import to_tex
from cutegen.pictures.write import SUFFIXES, picture_bytes, suffix_of
from cutegen.pictures.write_svg import to_svg

__all__ = [
    "PICTURES",
    "SUFFIXES",
    "Picture",
    "What",
    "draw",
    "picture_bytes",
    "pictures_of",
    "suffix_of",
    "to_svg",
    "to_tex",
]

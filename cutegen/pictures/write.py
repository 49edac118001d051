"""A picture as a file: SVG and TikZ are written here, PNG and PDF are made of the SVG by CairoSVG."""

from __future__ import annotations

from pathlib import Path

from cutegen.errors import ConfigError, ToolchainError
from cutegen.install import install_command
from cutegen.pictures.model import Picture
from cutegen.pictures.tikz import to_tex
from cutegen.pictures.write_svg import to_svg

__all__ = ["SUFFIXES", "picture_bytes", "suffix_of"]

#: Kinds of files.
SUFFIXES = (".svg", ".png", ".pdf", ".tex")

_SCALE = 2.0  # pixels of a PNG for one of the picture


def suffix_of(path: Path) -> str:
    """The kind of file that a path asks for.

    Raises:
        ConfigError: It is none that can be written.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        listed = ", ".join(SUFFIXES[:-1])
        raise ConfigError(
            f"a picture's file must end in {listed} or {SUFFIXES[-1]} (got {path.name}); name it "
            f"{path.name}.svg"
        )
    return suffix


def picture_bytes(picture: Picture, suffix: str) -> bytes:
    """The content of a file of that kind.

    Raises:
        ToolchainError: PNG and PDF need CairoSVG, which is not there or finds no cairo.
    """
    if suffix == ".tex":
        return to_tex(picture).encode()
    text = to_svg(picture).encode()
    return text if suffix == ".svg" else _converted(text, suffix)


def _converted(text: bytes, suffix: str) -> bytes:
    kind = suffix[1:].upper()
    try:
        import cairosvg
    except ImportError:
        raise ToolchainError(
            f"{kind} needs CairoSVG, which is not installed; {install_command('draw')}, or write SVG or "
            ".tex, which need nothing"
        ) from None
    except OSError as error:  # cairocffi loads the library when it is imported
        raise ToolchainError(
            f"{kind} needs the library cairo, which CairoSVG does not find ({str(error).splitlines()[0]}); "
            "install it (Debian: apt install libcairo2), or write SVG or .tex, which need nothing"
        ) from None
    if suffix == ".png":
        return bytes(cairosvg.svg2png(bytestring=text, scale=_SCALE))
    return bytes(cairosvg.svg2pdf(bytestring=text))

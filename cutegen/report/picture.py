"""Pictures of :mod:`cutegen.pictures` inside a page: their styles and ids are kept apart from all others."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cutegen.pictures import What, draw, pictures_of, to_svg
from cutegen.plan import CollectivePlan, Plan

__all__ = ["Figure", "figures"]

_STYLE = re.compile(r"<style>\n(.*?)</style>\n", flags=re.DOTALL)
_DARK = re.compile(r"  @media \(prefers-color-scheme: dark\) \{ (.*) \}\n")
_SHOWN: tuple[What, ...] = ("pipeline", "mma")


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A picture on the page: its title, and the SVG element with its styles."""

    title: str
    svg: str


def figures(plan: Plan, prefix: str) -> tuple[Figure, ...]:
    """The pipeline and the MMA operation, where a kernel has such pictures."""
    if isinstance(plan, CollectivePlan):
        return ()
    there = pictures_of(plan)
    return tuple(_figure(plan, what, f"{prefix}-{what}") for what in _SHOWN if what in there)


def _figure(plan: Plan, what: What, name: str) -> Figure:
    picture = draw(plan, what)
    return Figure(title=picture.title, svg=_embedded(to_svg(picture), name))


def _embedded(text: str, name: str) -> str:
    """The document as an element whose rules hold inside it only, in the theme of the page."""
    dark: list[str] = []

    def kept(found: re.Match[str]) -> str:
        dark.append(found[1])
        return ""

    def scoped(found: re.Match[str]) -> str:
        light = _DARK.sub(kept, found[1]).replace("  svg { color-scheme: light dark; }\n", "")
        by_theme = f":root[data-theme=dark] #{name} {{ {' '.join(dark)} }}"
        return f"<style>\n#{name} {{\n{light}}}\n{by_theme}\n</style>\n"

    text = _STYLE.sub(scoped, text, count=1)
    text = text.replace("<svg ", f'<svg id="{name}" ', 1)
    text = text.replace('aria-labelledby="t d"', f'aria-labelledby="{name}-t {name}-d"')
    return text.replace('<title id="t">', f'<title id="{name}-t">').replace(
        '<desc id="d">', f'<desc id="{name}-d">'
    )

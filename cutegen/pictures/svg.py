"""Pieces of an SVG picture that is readable in light and in dark, with text that can be selected."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

__all__ = ["bar", "document", "line", "text", "text_width"]

#: Class, property, colour on light and on dark paper; in grey they can be told apart, too.
_COLOURS = (
    ("paper", "fill", "#ffffff", "#14181c"),
    ("halo", "stroke", "#ffffff", "#14181c"),
    ("ink", "fill", "#1c2126", "#e8ecef"),
    ("soft", "fill", "#5d6771", "#9aa5af"),
    ("rule", "stroke", "#dde2e7", "#2d343b"),
    ("mark", "stroke", "#1c2126", "#e8ecef"),
    ("own", "fill", "#0f7a5a", "#3ecf9b"),
    ("second", "fill", "#74c3a4", "#23785c"),
    ("peer", "fill", "#b9c1c9", "#56616b"),
)
_STYLE = """\
  svg { color-scheme: light dark; }
  text { font-family: system-ui, "Segoe UI", Roboto, "Noto Sans", sans-serif; font-size: 12px; }
  .title { font-size: 17px; font-weight: 600; } .strong { font-weight: 600; }
  .end { text-anchor: end; } .mid { text-anchor: middle; } .num { font-variant-numeric: tabular-nums; }
  .halo { paint-order: stroke; stroke-width: 4px; stroke-linejoin: round; }
  .rule { stroke-width: 1; } .mark { stroke-width: 1.5; }
"""


def _style() -> str:
    """The style sheet; colours are written out, because not every viewer knows variables."""
    light = " ".join(f".{name} {{ {what}: {colour}; }}" for name, what, colour, _ in _COLOURS)
    dark = " ".join(f".{name} {{ {what}: {colour}; }}" for name, what, _, colour in _COLOURS)
    return f"{_STYLE}  {light}\n  @media (prefers-color-scheme: dark) {{ {dark} }}"


def document(
    width: float, height: float, title: str, description: str, body: Iterable[str], style: str = ""
) -> str:
    """A whole picture.

    Args:
        width: In pixels; likewise height.
        height: See width.
        title: What it shows; also its accessible name.
        description: The same in a sentence, for those who do not see it.
        body: Elements.
        style: Rules of the style sheet beside those that all pictures have.
    """
    inner = "\n".join(body)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" aria-labelledby="t d">\n'
        f'<title id="t">{escape(title)}</title>\n<desc id="d">{escape(description)}</desc>\n'
        f"<style>\n{_style()}\n{style}</style>\n"
        f'<rect class="paper" width="{width:g}" height="{height:g}"/>\n{inner}\n</svg>\n'
    )


def text(x: float, y: float, words: str, kind: str = "") -> str:
    """A line of text; ``kind`` holds classes of the style: soft, strong, title, end, mid, num, halo."""
    classes = kind if "soft" in kind.split() else f"ink {kind}".strip()
    return f'<text x="{x:g}" y="{y:g}" class="{classes}">{escape(words)}</text>'


def bar(x: float, y: float, width: float, height: float, kind: str, tip: str) -> str:
    """A horizontal bar, round at its end, with words that appear under the mouse."""
    width = max(width, 1.0)
    r = min(2.5, width / 2, height / 2)
    path = (
        f"M{x:.1f} {y:.1f}h{width - r:.1f}q{r:g} 0 {r:g} {r:g}v{height - 2 * r:.1f}q0 {r:g} -{r:g} {r:g}"
        f"h-{width - r:.1f}z"
    )
    return f'<path class="{kind}" d="{path}"><title>{escape(tip)}</title></path>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str = "rule") -> str:
    """A straight line."""
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def text_width(words: str, size: float = 12.0) -> float:
    """About how wide a text is, in pixels."""
    return sum(0.34 if c in "il.,:;|'()[] " else 0.58 for c in words) * size

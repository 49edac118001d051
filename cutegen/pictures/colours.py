"""Colours that the colour-blind can tell apart; every cell has a label too, or stands in a labelled grid.

Eight or fewer groups get those of Okabe and Ito (jfly.uni-koeln.de/color), made lighter so that dark letters
can be read on them, and a light grey for their black. More groups get a ramp that grows evenly in lightness,
after cividis (Nuñez, Anderton, Renslow, 2018).
"""

from __future__ import annotations

__all__ = ["HUES", "is_light", "mixed", "of_groups"]

_OKABE_ITO = ("#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7")
_GREY = "#dddddd"
_RAMP = ("#00224e", "#35456c", "#666970", "#948e77", "#c8b866", "#fee838")


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def mixed(colour: str, other: str, share: float) -> str:
    """A colour with a share of another one."""
    parts = (round(a + (b - a) * share) for a, b in zip(_rgb(colour), _rgb(other), strict=True))
    return "#" + "".join(f"{part:02x}" for part in parts)


#: Eight colours for groups without an order.
HUES: tuple[str, ...] = (*(mixed(colour, "#ffffff", 0.3) for colour in _OKABE_ITO), _GREY)


def of_groups(count: int) -> tuple[str, ...]:
    """Colours for so many groups."""
    if count <= len(HUES):
        return HUES[:count]
    steps = len(_RAMP) - 1
    colours = []
    for index in range(count):
        place = index * steps / (count - 1)
        low = min(int(place), steps - 1)
        colours.append(mixed(_RAMP[low], _RAMP[low + 1], place - low))
    return tuple(colours)


def is_light(colour: str) -> bool:
    """Whether dark letters are read more easily on it than light ones (WCAG 2, relative luminance)."""

    def linear(part: int) -> float:
        share = part / 255
        return float(share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4)

    red, green, blue = map(linear, _rgb(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179

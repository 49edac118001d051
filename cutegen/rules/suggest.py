"""Ways out that are worked out by resolving the config again without the offending field."""

from __future__ import annotations

from typing import Any, Literal

from cutegen.arch import arch
from cutegen.config import CopyG2S, GemmConfig, LayoutSpec, SmemLayout
from cutegen.resolve import resolve
from cutegen.resources import smem_bytes
from cutegen.rules.facts import Facts, OperandFacts
from cutegen.rules.text import yaml_list

__all__ = [
    "copy_yaml",
    "default_copy",
    "default_smem",
    "layout_yaml",
    "other_shapes",
    "permutation_yaml",
    "smem_yaml",
    "tile_yaml",
]


def _without(cfg: GemmConfig, part: Literal["smem", "g2s", "s2r"], which: str, value: Any) -> GemmConfig:
    pair = getattr(cfg, part)
    return cfg.model_copy(update={part: pair.model_copy(update={which: value})})


def default_smem(operand: OperandFacts) -> SmemLayout | None:
    """The layout atom that resolving would choose."""
    cfg = resolve(_without(operand.facts.cfg, "smem", operand.which, None))
    layout: SmemLayout | None = getattr(cfg.smem, operand.which)
    return layout


def default_copy(operand: OperandFacts, **keep: Any) -> CopyG2S | None:
    """The complete copy that resolving would choose when only ``keep`` of its fields are given."""
    cfg = resolve(_without(operand.facts.cfg, "g2s", operand.which, CopyG2S(**keep)))
    copy: CopyG2S = getattr(cfg.g2s, operand.which)
    return None if copy.threads is None or copy.values is None else copy


def smem_yaml(layout: SmemLayout) -> str:
    """A layout atom as a config says it."""
    swizzle = "none" if layout.swizzle == "none" else yaml_list(layout.swizzle)
    return f"{{shape: {yaml_list(layout.shape)}, stride: {yaml_list(layout.stride)}, swizzle: {swizzle}}}"


def layout_yaml(layout: LayoutSpec) -> str:
    """A layout as a config says it."""
    stride = "" if layout.stride is None else f", stride: {yaml_list(layout.stride)}"
    return f"{{shape: {yaml_list(layout.shape)}{stride}}}"


def copy_yaml(copy: CopyG2S) -> str:
    """A complete copy as a config says it."""
    threads = "" if copy.threads is None else f", threads: {layout_yaml(copy.threads)}"
    values = "" if copy.values is None else f", values: {layout_yaml(copy.values)}"
    return f"{{atom: {copy.atom}, bits: {copy.bits}{threads}{values}}}"


def tile_yaml(facts: Facts, mode: int, extent: int) -> str:
    """The tile with one extent replaced, as a config says it."""
    tile = list(facts.tile or ())
    tile[mode] = extent
    return f"tile: {yaml_list(tile)}"


def permutation_yaml(facts: Facts, mode: int, extent: int) -> str:
    """The permutation with one entry replaced, as a config says it."""
    entries = [
        entry if isinstance(entry, int) else layout_yaml(entry)
        for entry in facts.cfg.tiled_mma.permutation or ()
    ]
    entries[mode] = extent
    return f"tiled_mma.permutation: {yaml_list(entries)}"


def other_shapes(given: GemmConfig) -> list[str]:
    """Other warps, then another tile, with which everything that was left out can be chosen."""
    ways = []
    free = given.tiled_mma.model_copy(update={"layout": None, "permutation": None})
    copies = given.g2s.model_copy(
        update={
            which: getattr(given.g2s, which).model_copy(update={"threads": None, "values": None})
            for which in ("a", "b")
        }
    )
    warps = given.model_copy(update={"tiled_mma": free, "g2s": copies})
    for candidate, field in ((warps, "layout"), (warps.model_copy(update={"tile": None}), "tile")):
        cfg = resolve(candidate)
        whole = all(None not in (c.atom, c.bits, c.threads, c.values) for c in (cfg.g2s.a, cfg.g2s.b))
        if not whole or cfg.tile is None or smem_bytes(cfg) > arch(cfg.arch).smem_per_block:
            continue
        layout = f"tiled_mma.layout: {yaml_list(cfg.tiled_mma.layout or ())}"
        ways.append(layout if field == "layout" else f"tile: {yaml_list(cfg.tile)} with {layout}")
    return ways

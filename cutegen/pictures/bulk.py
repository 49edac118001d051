"""``g2s-a`` and ``g2s-b`` of ``tma_wgmma``: the boxes of the bulk copies, and where each lies."""

from __future__ import annotations

from cutegen.operands.model import Which
from cutegen.pictures.colours import HUES
from cutegen.pictures.model import Cell, Grid, Picture
from cutegen.pictures.tile import product_operand
from cutegen.pictures.words import count, subtitle
from cutegen.plan import WgmmaPlan

__all__ = ["bulk_picture"]

_WIDE, _HIGH = 132.0, 44.0


def bulk_picture(plan: WgmmaPlan, which: Which, label: str = "") -> Picture:
    """A stage of an operand as the boxes that the producer asks for."""
    operand = product_operand(plan, which)
    mode = "m" if which == "a" else "n"
    down, across = (mode, "k") if operand.k_major else ("k", mode)
    down_boxes = operand.sharers * operand.boxes
    cells = []
    for panel in range(operand.panels):
        for box in range(down_boxes):
            cta, number = box // operand.boxes, panel * operand.boxes + box % operand.boxes
            byte = panel * operand.panel_bytes + box * operand.box_outer * operand.row_bytes
            who = f"CTA {cta}, copy {number}" if operand.sharers > 1 else f"copy {number}"
            rows = f"{down} {box * operand.box_outer} to {(box + 1) * operand.box_outer - 1}"
            columns = f"{across} {panel * operand.panel_inner} to {(panel + 1) * operand.panel_inner - 1}"
            cells.append(
                Cell(
                    row=box,
                    column=panel,
                    label=(who, f"{operand.map.box_inner} x {operand.box_outer}", f"to byte {byte}"),
                    group=(cta if operand.sharers > 1 else number) % len(HUES),
                    tip=f"{who}: {rows}, {columns}, to byte {byte} of the stage",
                    key=f"box {number}",
                )
            )
    shared = ""
    if operand.sharers > 1:
        shared = (
            f" Each of {operand.sharers} CTAs of the cluster loads its slice and multicasts it to all of "
            "them."
        )
    return Picture(
        what=f"g2s-{which}",
        title=f"Bulk copies of {which.upper()} from global to shared memory",
        subtitle=subtitle(plan, label),
        panels=(
            (
                Grid(
                    title=f"A stage of {operand.stage_bytes} B",
                    rows=down_boxes,
                    columns=operand.panels,
                    cells=tuple(cells),
                    row_names=tuple(f"{down} {box * operand.box_outer}" for box in range(down_boxes)),
                    column_names=tuple(
                        f"{across} {panel * operand.panel_inner}" for panel in range(operand.panels)
                    ),
                    corner=f"{down} \\ {across}",
                    size=(_WIDE, _HIGH),
                    colours=HUES,
                ),
            ),
        ),
        notes=(
            f"One thread starts {count(operand.panels * operand.boxes, 'bulk copy')} for each k-tile, of "
            f"{operand.map.box_inner} elements ({operand.row_bytes} B, swizzled as a row) along {across} by "
            f"{operand.box_outer} along {down}.{shared}",
        ),
    )

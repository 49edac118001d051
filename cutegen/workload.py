"""What a kernel makes of one problem: tiles, waves, and how often a byte is used on each level of memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cutegen.arch import arch
from cutegen.cards import Card, card_of, peak_tflops
from cutegen.dtypes import DTypeName, dtype
from cutegen.lint.traffic import accesses
from cutegen.occupancy import occupancy
from cutegen.plan import KernelPlan, Plan, WgmmaPlan

__all__ = ["Bound", "Workload", "smem_intensity", "workload"]

_WAVEFRONT = 128  # bytes


@dataclass(frozen=True, kw_only=True)
class Bound:
    """What a level of memory allows.

    Attributes:
        level: ``HBM`` or ``shared memory``.
        intensity: FLOP for each byte that the level gives.
        balance: FLOP for each byte at which the level and the tensor cores are busy alike.
    """

    level: str
    intensity: float
    balance: float

    @property
    def share(self) -> float:
        """The most of the peak rate that the level allows, at most 1."""
        return min(1.0, self.intensity / self.balance)


@dataclass(frozen=True, kw_only=True)
class Workload:
    """One problem on one card.

    Attributes:
        shape: M, N and K.
        card: The card.
        tiles: Output tiles, times the CTAs that share the k-tiles of each.
        k_tiles: Turns of the mainloop for one tile.
        ctas_per_sm: CTAs of an SM, as far as the plan shows.
        useful: Products inside the matrices, of all that are computed.
        bounds: Of the levels whose figures are known.
        even: Whether CTAs divide the k-tiles of what does not fill waves among them.
    """

    shape: tuple[int, int, int]
    card: Card
    tiles: int
    k_tiles: int
    ctas_per_sm: int
    useful: float
    bounds: tuple[Bound, ...]
    even: bool = False

    @property
    def waves(self) -> float:
        """Tiles for each CTA that the card holds at a time."""
        return self.tiles / (self.card.sms * self.ctas_per_sm)

    @property
    def wave_share(self) -> float:
        """How much of the waves is filled: the last one takes as long as a full one, unless it is divided."""
        if self.even:
            return 1.0
        return self.waves / -(-self.tiles // (self.card.sms * self.ctas_per_sm)) if self.tiles else 1.0

    @property
    def ceiling(self) -> float:
        """The most of the card's peak rate that padding, waves and memory leave."""
        memory = min((bound.share for bound in self.bounds), default=1.0)
        return min(memory, self.useful * self.wave_share)

    @property
    def bound_by(self) -> str:
        """What allows the least: ``HBM``, ``shared memory``, ``waves and padding`` or ``tensor cores``."""
        shares = {bound.level: bound.share for bound in self.bounds}
        shares["waves and padding"] = self.useful * self.wave_share
        name, least = min(shares.items(), key=lambda item: item[1])
        return name if least < 1 else "tensor cores"

    def to_dict(self) -> dict[str, Any]:
        """The figures as a JSON-ready dictionary."""
        return {
            "shape": list(self.shape),
            "card": self.card.name,
            "sms": self.card.sms,
            "tiles": self.tiles,
            "k_tiles": self.k_tiles,
            "ctas_per_sm": self.ctas_per_sm,
            "useful": round(self.useful, 4),
            "waves": round(self.waves, 4),
            "wave_share": round(self.wave_share, 4),
            "bounds": [
                {
                    "level": bound.level,
                    "flop_per_byte": round(bound.intensity, 2),
                    "balance": round(bound.balance, 2),
                    "share": round(bound.share, 4),
                }
                for bound in self.bounds
            ],
            "ceiling": round(self.ceiling, 4),
            "bound_by": self.bound_by,
        }


def workload(plan: Plan, m: int, n: int, k: int, registers: int | None = None) -> Workload | None:
    """What a kernel makes of a problem; None where no card of its architecture is known.

    Args:
        plan: The kernel.
        m: Rows of D.
        n: Columns of D.
        k: Products of each element of D.
        registers: Registers of a thread, as the compiler gave them; left out: as few as need be.
    """
    card = card_of(plan.arch)
    if card is None:
        return None
    cfg, (blk_m, blk_n, blk_k) = plan.config, tile_of(plan)
    rows, columns, turns = -(-m // blk_m), -(-n // blk_n), -(-k // blk_k)
    padded = rows * blk_m * columns * blk_n * turns * blk_k
    room = occupancy(
        arch(plan.arch), threads=plan.threads, registers=registers or 1, smem=plan.smem_bytes
    ).ctas
    if registers is None:
        room = min(room, cfg.min_blocks or room)
    size = {name: dtype(kind or "f32").bytes for name, kind in _types(plan).items()}
    moved = m * k * size["a"] + n * k * size["b"] + m * n * size["d"]
    return Workload(
        shape=(m, n, k),
        card=card,
        tiles=rows * columns * (cfg.scheduler.split_k or 1),
        k_tiles=turns,
        ctas_per_sm=max(1, room),
        useful=m * n * k / padded if padded else 1.0,
        bounds=_bounds(plan, card, 2 * m * n * k / moved if moved else 0.0),
        even=cfg.scheduler.kind == "stream_k",
    )


def tile_of(plan: Plan) -> tuple[int, int, int]:
    """Rows and columns of the output that one CTA computes at a time, and products of a turn."""
    return plan.config.tile or (0, 0, 0)


def _types(plan: Plan) -> dict[str, DTypeName | None]:
    cfg = plan.config
    return {"a": cfg.a.dtype, "b": cfg.b.dtype, "d": cfg.d.dtype}


def _bounds(plan: Plan, card: Card, of_hbm: float) -> tuple[Bound, ...]:
    kind = plan.config.a.dtype
    peak = peak_tflops(card.name, kind) if plan.config.mainloop != "simt" else peak_tflops(card.name, "f32")
    if peak is None:
        return ()
    found = [Bound(level="HBM", intensity=of_hbm, balance=peak * 1e3 / card.gb_per_s)]
    of_smem = smem_intensity(plan)
    if of_smem is not None:
        gives = card.sms * _WAVEFRONT * card.clock_ghz  # GB/s
        found.append(Bound(level="shared memory", intensity=of_smem, balance=peak * 1e3 / gives))
    return tuple(found)


def smem_intensity(plan: Plan) -> float | None:
    """FLOP for each byte of time that the mainloop takes of shared memory; None where it takes none.

    A wavefront counts as the 128 bytes that it could have moved, so that bank conflicts show.
    """
    blk_m, blk_n, blk_k = tile_of(plan)
    flop = 2 * blk_m * blk_n * blk_k
    if isinstance(plan, KernelPlan):
        taken = sum(a.cost for a in accesses(plan) if a.space == "shared" and a.per == "k-tile")
        return flop / (taken * _WAVEFRONT) if taken else None
    if not isinstance(plan, WgmmaPlan):
        return None
    # Each operation of a warpgroup reads its own rows of A and of B.
    rows, columns, _ = plan.atom.shape
    read = (rows + columns) * blk_k * dtype(plan.product.a.dtype or "bf16").bytes
    return flop / (read * (blk_m * blk_n // (rows * columns)))

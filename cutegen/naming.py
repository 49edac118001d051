"""Names of kernels: readable, deterministic, C identifiers."""

from __future__ import annotations

import hashlib

from cutegen.config import GemmConfig

__all__ = ["config_digest", "kernel_name"]


def config_digest(cfg: GemmConfig) -> str:
    """Eight hexadecimal digits that tell resolved configs apart; budgets do not count."""
    text = cfg.model_dump_json(exclude={"limits"}, exclude_none=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def kernel_name(cfg: GemmConfig) -> str:
    """For example ``gemm_sm80_multistage_bf16_tn_128x128x32_s3_1a2b3c4d`` for a resolved config.

    ``tn`` is CUTLASS's label: the first letter is t when A is K-major, the second n when B is.
    """
    label = ("t" if cfg.a.major == "k" else "n") + ("n" if cfg.b.major == "k" else "t")
    types = cfg.a.dtype if cfg.a.dtype == cfg.b.dtype else f"{cfg.a.dtype}_{cfg.b.dtype}"
    tile = "x".join(str(t) for t in cfg.tile or ())
    parts = [
        "gemm",
        cfg.arch.replace("_", ""),
        cfg.mainloop or "auto",
        types,
        label,
        tile,
        f"s{cfg.stages or 'auto'}",
        config_digest(cfg),
    ]
    return "_".join(parts)

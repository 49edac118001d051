"""Random configs that the rules accept, by seed: the same on a GPU and on the emulator."""

from __future__ import annotations

from random import Random

import cutegen
from cutegen.arch import ArchName
from cutegen.fuzz.generate import legal_config, odd_config

__all__ = ["accepted", "hopper_config"]


def accepted(seed: int, archs: tuple[ArchName, ...], mainloops: tuple[str, ...] = ()) -> cutegen.GemmConfig:
    """The legal config of a seed for one of the architectures; every second one has odd values."""
    rng = Random(seed)
    choices = {"archs": (rng.choice(archs),)} | ({"mainloops": mainloops} if mainloops else {})
    if seed % 2 == 0:
        return legal_config(rng, **choices)
    while True:
        config = odd_config(rng, **choices)
        if not cutegen.check(config):
            return config


def hopper_config(seed: int) -> cutegen.GemmConfig:
    """The config of a seed for ``tma_wgmma``."""
    return accepted(seed, ("sm_90a",), ("tma_wgmma",))

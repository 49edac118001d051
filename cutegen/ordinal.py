"""Devices by the driver's numbers."""

from __future__ import annotations

import sys
from operator import index
from typing import Any

from cutegen.binding import MOST_DEVICES
from cutegen.errors import ArgumentError

__all__ = ["device_ordinal"]


def device_ordinal(device: Any) -> int:
    """The driver's number of a device given as an ordinal, ``"cuda:1"`` or a ``torch.device``.

    None means the device that is current in torch, or the first one where torch has not been used.

    Raises:
        ArgumentError: It is no CUDA device, or no driver numbers devices so high.
    """
    torch = sys.modules.get("torch")
    given = device
    if isinstance(device, str):
        kind, _, number = device.partition(":")
        if kind != "cuda" or not ((number.isascii() and number.isdecimal()) or device == "cuda"):
            raise ArgumentError(f"device: must be an ordinal, 'cuda' or 'cuda:N' (got {given!r})")
        device = int(number) if number else None
    elif getattr(device, "type", None) == "cuda":
        device = device.index
    elif device is not None:
        try:
            device = index(device)
        except TypeError:
            raise ArgumentError(f"device: must be an ordinal or a CUDA device (got {given!r})") from None
    if device is not None:
        if isinstance(given, bool) or not 0 <= device < MOST_DEVICES:
            raise ArgumentError(f"device: must be an ordinal from 0 to {MOST_DEVICES - 1} (got {given!r})")
        return int(device)
    return int(torch.cuda.current_device()) if torch is not None and torch.cuda.is_initialized() else 0

"""What cards compute and move at most: the dense rates that their data sheets give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cutegen.arch import ArchName
from cutegen.dtypes import DTypeName

__all__ = ["Card", "card_of", "peak_tflops"]


@dataclass(frozen=True, kw_only=True)
class Card:
    """One GPU.

    Attributes:
        name: As the driver gives it, without the vendor.
        sms: Its SMs.
        gb_per_s: What its memory gives, in GB/s (10^9 bytes).
        clock_ghz: At which the rates hold: rate = SMs x FLOP of an SM in one clock x clock.
    """

    name: str
    sms: int
    gb_per_s: float
    clock_ghz: float


#: The data-center card of an architecture that stands for it where no GPU is named (NVIDIA's data sheets).
_CARDS: dict[ArchName, Card] = {
    "sm_75": Card(name="T4", sms=40, gb_per_s=320, clock_ghz=1.59),
    "sm_80": Card(name="A100", sms=108, gb_per_s=2039, clock_ghz=1.41),
    "sm_86": Card(name="A10", sms=72, gb_per_s=600, clock_ghz=1.695),
    "sm_89": Card(name="L40S", sms=142, gb_per_s=864, clock_ghz=2.52),
    "sm_90a": Card(name="H200", sms=132, gb_per_s=4800, clock_ghz=1.83),
    "sm_100a": Card(name="B200", sms=148, gb_per_s=8000, clock_ghz=1.85),
}


def card_of(arch: ArchName) -> Card | None:
    """The card that stands for an architecture, or None where no data sheet is at hand."""
    return _CARDS.get(arch)


#: TFLOP/s (TOP/s of integers) by the type that is multiplied, without sparsity. The first name whose words
#: are all in the GPU's name counts; a card that is listed without rates is a slower variant of the next one.
_HOPPER: dict[str, float] = {
    "f64": 67, "f32": 67, "tf32": 494.7, "f16": 989.4, "bf16": 989.4,
    "e4m3": 1978.9, "e5m2": 1978.9, "s8": 1978.9, "u8": 1978.9,
}  # fmt: skip
_PEAKS: tuple[tuple[str, dict[str, float]], ...] = (
    ("H200 NVL", {}),
    ("H200", _HOPPER),
    ("GH200", _HOPPER),
    ("H100 PCIe", {"f64": 51, "f32": 51, "tf32": 378, "f16": 756, "bf16": 756, "e4m3": 1513, "e5m2": 1513,
                   "s8": 1513, "u8": 1513}),
    ("H100 NVL", {}),
    ("H100", _HOPPER),
    ("B200", {"tf32": 1125, "f16": 2250, "bf16": 2250, "e4m3": 4500, "e5m2": 4500}),
    ("A100", {"f64": 19.5, "f32": 19.5, "tf32": 156, "f16": 312, "bf16": 312, "s8": 624, "u8": 624}),
    ("L40S", {"f32": 91.6, "tf32": 183, "f16": 362, "bf16": 362, "e4m3": 733, "e5m2": 733, "s8": 733,
              "u8": 733}),
    ("A10", {"f32": 31.2, "tf32": 62.5, "f16": 125, "bf16": 125, "s8": 250, "u8": 250}),
    ("T4", {"f32": 8.1, "f16": 65, "s8": 130, "u8": 130}),
)  # fmt: skip


def peak_tflops(gpu: str, kind: DTypeName) -> float | None:
    """The dense rate of a card for products of a type, in TFLOP/s, or None where it is not known here.

    Args:
        gpu: The name that the driver gives, for example ``NVIDIA H200``.
        kind: Type of A.
    """
    rates: Mapping[str, float] = next((r for name, r in _PEAKS if _is(name, gpu)), {})
    return rates.get(kind)


def _is(name: str, gpu: str) -> bool:
    words = gpu.replace("-", " ").split()
    return all(word in words for word in name.split())

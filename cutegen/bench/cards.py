"""What cards compute at most: the dense rates that their data sheets give."""

from __future__ import annotations

from collections.abc import Mapping

from cutegen.dtypes import DTypeName

__all__ = ["peak_tflops"]

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

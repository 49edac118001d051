"""Conversions of integers in registers, as ptx has them: saturated and packed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cutegen.emulator import Launch, emulate

SOURCE = """
#include <cstdint>
__device__ uint32_t bytes_of(int32_t const* x) {
  uint32_t y;
  asm("{.reg .u32 upper; cvt.pack.sat.KIND.s32.b32 upper, %4, %3, 0;"
      "cvt.pack.sat.KIND.s32.b32 %0, %2, %1, upper;}"
      : "=r"(y) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]));
  return y;
}
__device__ uint32_t halves_of(int32_t const* x) {
  uint32_t y;
  asm("cvt.pack.sat.WIDE.s32 %0, %2, %1;" : "=r"(y) : "r"(x[0]), "r"(x[1]));
  return y;
}
__global__ void kernel(int32_t const* x, uint32_t* bytes, uint32_t* halves) {
  uint32_t const t = threadIdx.x;
  bytes[t] = bytes_of(x + 4 * t);
  halves[2 * t] = halves_of(x + 4 * t);
  halves[2 * t + 1] = halves_of(x + 4 * t + 2);
}
"""
EDGES = [x + d for x in (0, 127, 255, -128, 32767, 65535, -32768) for d in (-1, 0, 1)] + [2**31 - 1, -(2**31)]


@pytest.mark.emulated
@pytest.mark.parametrize(("narrow", "wide"), [("s8", "s16"), ("u8", "u16")])
def test_integers_saturate_and_are_packed_from_the_lowest(tmp_path: Path, narrow: str, wide: str) -> None:
    source = tmp_path / "kernel.cu"
    source.write_text(SOURCE.replace("KIND", narrow).replace("WIDE", wide), encoding="utf-8")
    x = np.resize(np.array(EDGES, dtype=np.int32), 128)
    packed, halves = np.zeros(32, dtype=np.uint32), np.zeros(64, dtype=np.uint32)
    launch = Launch(kernel="kernel", grid=(1, 1, 1), block=(32, 1, 1), arguments=(x, packed, halves))
    assert emulate(source, launch, arch="sm_90a").clean
    for got, name in ((packed, narrow), (halves, wide)):
        kind = np.dtype({"s8": "i1", "u8": "u1", "s16": "<i2", "u16": "<u2"}[name])
        info = np.iinfo(kind)
        assert np.array_equal(got.view(kind), np.clip(x, info.min, info.max).astype(kind))

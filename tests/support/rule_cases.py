"""For each rule a config that breaks it and nothing else, and a legal one next to it."""

from __future__ import annotations

from typing import Any

from tests.support.case import Case
from tests.support.cases import AUTO, M_MAJOR, base, config
from tests.support.rule_cases_collective import COLLECTIVE_CASES
from tests.support.rule_cases_wgmma import WGMMA_CASES

__all__ = ["CASES", "Case"]


S8: dict[str, Any] = {"a.dtype": "s8", "b.dtype": "s8"}
FP8: dict[str, Any] = {"a.dtype": "e4m3", "b.dtype": "e4m3"}
F32: dict[str, Any] = {"a.dtype": "f32", "b.dtype": "f32"}
F64: dict[str, Any] = {"a.dtype": "f64", "b.dtype": "f64"}
TF32: dict[str, Any] = {"a.dtype": "tf32", "b.dtype": "tf32"}
FMA = "UniversalFMA<float,float,float,float>"

CASES = [
    # bounds
    Case("extent-positive", base(tile=[128, 0, 32]), base(), "tile", ("[128, 0, 32]", "at least 1")),
    Case("extent-positive", base(stages=0), base(stages=1), "stages", ("at least 1",)),
    Case("extent-positive", base({"smem.a.stride": [-32, 1]}), base(), "smem.a.stride", ("at least 0",)),
    Case("extent-positive", base({"g2s.b.threads": {"shape": [-32, -4]}}), base(), "g2s.b.threads.shape"),
    Case("extent-positive", base({"g2s.a.bits": 0}), base(), "g2s.a.bits"),
    Case("extent-limit", base(tile=[10**30, 128, 32]), base(), "tile", ("1048576",)),
    Case("extent-limit", base({"tiled_mma.layout": [2, 2**63, 1]}), base(), "tiled_mma.layout"),
    Case("layout-rank", base({"g2s.a.values": {"shape": [8]}}), base(), "g2s.a.values", ("2 modes",)),
    Case(
        "layout-rank",
        base({"g2s.a.threads": {"shape": [32, 4], "stride": [4]}}),
        base(),
        "g2s.a.threads",
        ("shape [32, 4], stride [4]",),
    ),
    Case(
        "layout-rank",
        base({"tiled_mma.permutation": [32, 32, {"shape": [16], "stride": [1, 1]}]}),
        base({"tiled_mma.permutation": [32, 32, {"shape": [16], "stride": [1]}]}),
        "tiled_mma.permutation",
    ),
    # types
    Case("operand-major", base({"b.major": "m"}), base({"b.major": "k"}), "b.major", ("n or k", "got m")),
    Case("operand-major", config({"a.major": "n"}), config({"a.major": "m"}), "a.major", ("m or k",)),
    Case("align-element", config({"d.align": 1}), config({"d.align": 2}), "d.align", ("2 bytes", "got 1")),
    Case(
        "align-element", config(F64 | {"a.align": 4}), config(F64 | {"a.align": 8}), "a.align", ("8 bytes",)
    ),
    Case("align-element", config({"c.dtype": "f32", "c.align": 2}), config({"c.dtype": "f32"}), "c.align"),
    Case(
        "atom-exists",
        config(FP8),
        config(FP8, arch="sm_89"),
        "arch",
        ("e4m3 x e4m3 -> f32", "arch: sm_89"),
    ),
    Case(
        "atom-exists",
        config({"b.dtype": "bf16"}),
        config(),
        "b.dtype",
        ("f16 x bf16", "b.dtype: f16", "a.dtype: bf16"),
    ),
    Case("atom-exists", config(F32, mainloop="multistage"), config(F32), "mainloop", ("mainloop: simt",)),
    Case(
        "atom-exists",
        config(accumulator="s32"),
        config(accumulator="f16"),
        "accumulator",
        ("accumulator",),
    ),
    Case("atom-exists", config(TF32, arch="sm_75"), config(TF32), "arch", ("arch: sm_80",)),
    Case(
        "atom-known",
        base({"tiled_mma.atom": "SM80_16x8x16_F32F16F16F32_TT"}),
        base(),
        "tiled_mma.atom",
        ("did you mean SM80_16x8x16_F32F16F16F32_TN?",),
    ),
    Case(
        "atom-mainloop",
        config(F32 | {"tiled_mma.atom": FMA}, mainloop="multistage"),
        config(F32 | {"tiled_mma.atom": FMA}, mainloop="simt"),
        "tiled_mma.atom",
        ("mainloop: simt",),
    ),
    Case(
        "atom-types",
        base({"b.dtype": "bf16"}),
        base(),
        "b.dtype",
        ("SM80_16x8x16_F32F16F16F32_TN needs f16", "got bf16"),
    ),
    Case("atom-types", base(accumulator="f16"), base(), "accumulator", ("needs f32", "F16F16F16F16")),
    Case(
        "atom-arch",
        config({"tiled_mma.atom": "SM80_16x8x16_F32F16F16F32_TN"}, arch="sm_75"),
        config({"tiled_mma.atom": "SM75_16x8x8_F32F16F16F32_TN"}, arch="sm_75"),
        "tiled_mma.atom",
        ("sm_80 or later", "on sm_75", "SM75_16x8x8_F32F16F16F32_TN"),
    ),
    Case(
        "direct-has-no-smem",
        config(mainloop="direct", stages=3),
        config(mainloop="direct", stages=1),
        "stages",
        ("no shared memory", "mainloop: multistage"),
    ),
    Case(
        "direct-has-no-smem",
        config({"g2s.a.bits": 64}, mainloop="direct"),
        config(mainloop="direct"),
        "g2s.a.bits",
    ),
    # tile
    Case(
        "tile-divides-mma",
        base(tile=[128, 128, 40], **{"smem": AUTO, "g2s": AUTO, "tiled_mma.permutation": AUTO}),
        base(tile=[128, 128, 48], **{"smem": AUTO, "g2s": AUTO}),
        "tile",
        ("BLK_K 40", "multiple of 16", "[128, 128, 48]"),
    ),
    Case(
        "tile-divides-mma",
        config({"tiled_mma.layout": [3, 1, 1]}, tile=[64, 96, 32]),
        config({"tiled_mma.layout": [3, 1, 1]}, tile=[96, 96, 32]),
        "tile",
        ("multiple of 48 (atom M 16 x 3 side by side)",),
    ),
    # tiled_mma
    Case(
        "mma-layout-k",
        config({"tiled_mma.layout": [2, 1, 2]}),
        config({"tiled_mma.layout": [4, 1, 1]}),
        "tiled_mma.layout",
        ("never sums partial accumulators across warps", "[4, 1, 1]"),
    ),
    Case(
        "cta-threads",
        config({"tiled_mma.layout": [8, 8, 1]}, mainloop="direct", tile=[128, 128, 16]),
        config({"tiled_mma.layout": [4, 8, 1]}, mainloop="direct", tile=[128, 128, 16]),
        "tiled_mma.layout",
        ("2048 threads", "1024", "[4, 8, 1]"),
    ),
    Case(
        "permutation-bijection",
        base({"tiled_mma.permutation": [32, {"shape": [8, 4], "stride": [1, 4]}, 16]}),
        base({"tiled_mma.permutation": [32, {"shape": [8, 4], "stride": [1, 8]}, 16]}),
        "tiled_mma.permutation",
        ("bijection onto [0, 32)", "(8,4):(1,4)"),
    ),
    Case(
        "permutation-multiple",
        base({"tiled_mma.permutation": [16, 32, 16]}),
        base({"tiled_mma.permutation": [32, 32, 16]}),
        "tiled_mma.permutation",
        ("multiple of 32 (atom M 16 x 2 side by side)", "got M 16", "[32, 32, 16]"),
    ),
    Case(
        "permutation-divides-tile",
        base({"tiled_mma.permutation": [32, 96, 16]}),
        base({"tiled_mma.permutation": [32, 64, 16]}),
        "tiled_mma.permutation",
        ("divide BLK_N 128", "got N 96"),
    ),
    # smem
    Case("swizzle-bits", base({"smem.a.swizzle": [-1, 3, 3]}), base(), "smem.a.swizzle", (">= 0",)),
    Case("swizzle-bits", base({"smem.a.swizzle": [2, 3, 10**9]}), base(), "smem.a.swizzle", ("at most 20",)),
    Case(
        "swizzle-shift",
        base({"smem.a.swizzle": [3, 3, 2]}),
        base({"smem.a.swizzle": [2, 3, 2]}),
        "smem.a.swizzle",
    ),
    Case(
        "smem-injective",
        base({"smem.a": {"shape": [8, 32], "stride": [16, 1]}}),
        base({"smem.a": {"shape": [8, 32], "stride": [32, 1]}}),
        "smem.a.stride",
        ("share an offset", "[32, 1]"),
    ),
    Case(
        "smem-injective",
        base({"smem.a": {"shape": [8, 32], "stride": [0, 1]}}),
        base(),
        "smem.a.stride",
    ),
    Case(
        "smem-atom-divides", base({"smem.b.shape": [8, 64], "smem.b.stride": [64, 1]}), base(), "smem.b.shape"
    ),
    Case(
        "smem-gap-tiles",
        base({"smem.a": {"shape": [8, 32], "stride": [96, 1]}}),
        base({"smem.a": {"shape": [8, 32], "stride": [64, 1]}}),
        "smem.a.stride",
        ("gaps for 3 atoms", "16 x 1 atoms"),
    ),
    # g2s
    Case(
        "g2s-atom-known",
        base({"g2s.a.atom": "SM80_CP_ASYNC_CACHEGLOBL"}),
        base(),
        "g2s.a.atom",
        ("did you mean",),
    ),
    Case(
        "g2s-atom-arch",
        config({"g2s.a.atom": "SM80_CP_ASYNC_CACHEALWAYS"}, arch="sm_75"),
        config({"g2s.a.atom": "UniversalCopy"}, arch="sm_75"),
        "g2s.a.atom",
        ("sm_80 or later", "UniversalCopy"),
    ),
    Case("g2s-width", base({"g2s.a.bits": 32}), base({"g2s.a.bits": 128}), "g2s.a.bits", ("16 B only",)),
    Case(
        "g2s-element",
        config(TF32 | {"g2s.a.atom": "UniversalCopy", "g2s.a.bits": 16}),
        config(TF32 | {"g2s.a.atom": "UniversalCopy", "g2s.a.bits": 32}),
        "g2s.a.bits",
        ("32 bits of tf32",),
    ),
    Case(
        "g2s-align",
        base({"a.align": 8}),
        base({"a.align": 16}),
        "g2s.a.bits",
        ("at most the 8 B", "a.align: 16"),
    ),
    Case(
        "g2s-bijection",
        base({"g2s.a.threads": {"shape": [32, 4], "stride": [1, 1]}}),
        base({"g2s.a.threads": {"shape": [32, 4], "stride": [1, 32]}}),
        "g2s.a.threads",
        ("bijection onto [0, 128)",),
    ),
    Case(
        "g2s-bijection",
        base({"g2s.a.values": {"shape": [1, 8], "stride": [1, 2]}}),
        base({"g2s.a.values": {"shape": [1, 8], "stride": [5, 1]}}),
        "g2s.a.values",
    ),
    Case(
        "g2s-threads",
        base({"g2s.a.threads": {"shape": [16, 4], "stride": [4, 1]}}),
        base(),
        "g2s.a.threads",
        ("64 threads", "the 128 threads of the TiledMMA", "{shape: [32, 4], stride: [4, 1]}"),
    ),
    Case(
        "g2s-tile-divides",
        base({"g2s.a.threads": {"shape": [16, 8], "stride": [8, 1]}}),
        base({"g2s.a.threads": {"shape": [32, 4], "stride": [4, 1]}}),
        "g2s.a.threads",
        ("8 threads x 8 values = 64 along K", "BLK_K 32"),
    ),
    Case(
        "g2s-values-fill", base({"g2s.a.values": {"shape": [1, 4]}}), base(), "g2s.a.values", ("4*2 = 8 B",)
    ),
    Case(
        "g2s-vector-contiguous",
        base({"g2s.a.values": {"shape": [2, 8]}}),
        base({"g2s.a.values": {"shape": [2, 8], "stride": [8, 1]}}),
        "g2s.a.values",
        ("runs along M, contiguous mode is K",),
    ),
    Case(
        "g2s-vector-whole",
        base({"smem.a": {"shape": [128, 32], "stride": [36, 1]}, "s2r.a": "UniversalCopy"}),
        base({"smem.a": {"shape": [128, 32], "stride": [40, 1]}, "s2r.a": "UniversalCopy"}),
        "smem.a.stride",
        ("16 B aligned", "[40, 1]"),
    ),
    Case(
        "g2s-vector-whole",
        base({"smem.a": {"shape": [64, 8], "stride": [1, 64]}, "s2r.a": "SM75_U16x8_LDSM_T"}),
        base({"smem.a": {"shape": [64, 8], "stride": [1, 64]}, "s2r.a": "SM75_U16x8_LDSM_T", "g2s.a": AUTO}),
        "smem.a.stride",
        ("the vector runs along K, shared memory is contiguous along M",),
    ),
    Case(
        "swizzle-keeps-vectors",
        base({"smem.a.swizzle": [2, 2, 3], "s2r.a": "UniversalCopy"}),
        base({"smem.a.swizzle": [2, 2, 3], "s2r.a": "UniversalCopy", "g2s.a": AUTO}),
        "smem.a.swizzle",
        ("at least 16 bytes", "[2, 3, 3]", "g2s.a.bits: 64"),
    ),
    Case(
        "g2s-tiles-operand",
        config({"tiled_mma.layout": [8, 1, 1]}, tile=[128, 8, 16]),
        config({"tiled_mma.layout": [4, 1, 1]}, tile=[128, 8, 16]),
        "g2s.b",
        ("8 x 16 of f16 for 256 threads", "tiled_mma.layout: [4, 1, 1]"),
    ),
    # s2r
    Case(
        "s2r-atom-known",
        base({"s2r.a": "SM75_U32x4_LDSM"}),
        base(),
        "s2r.a",
        ("did you mean SM75_U32x4_LDSM_N?",),
    ),
    Case(
        "s2r-warp",
        config(F32 | {"s2r.a": "SM75_U32x1_LDSM_N", "smem.a": {"shape": [8, 8], "stride": [8, 1]}}),
        config(F32 | {"s2r.a": "UniversalCopy"}),
        "s2r.a",
        ("tensor-core atom",),
    ),
    Case(
        "s2r-element",
        config(F64 | {"s2r.a": "SM75_U32x4_LDSM_N"}),
        config(F64 | {"s2r.a": "UniversalCopy"}),
        "s2r.a",
        ("f64 has 64",),
    ),
    Case(
        "s2r-transposes-16-bit",
        config(TF32 | {"a.major": "m", "s2r.a": "SM75_U16x8_LDSM_T"}),
        config(TF32 | {"a.major": "m", "s2r.a": "UniversalCopy"}),
        "s2r.a",
        ("16-bit elements only", "UniversalCopy"),
    ),
    Case(
        "s2r-transposes-16-bit",
        config(S8 | {"a.major": "m", "s2r.a": "SM75_U16x8_LDSM_T"}),
        config(S8 | {"a.major": "m", "s2r.a": "UniversalCopy"}),
        "s2r.a",
        ("16-bit elements only", "UniversalCopy"),
    ),
    Case("s2r-major", base({"s2r.b": "SM75_U16x8_LDSM_T"}), base(), "s2r.b", ("use LDSM_N",)),
    Case(
        "s2r-major", base(M_MAJOR | {"s2r.a": "SM75_U32x4_LDSM_N"}), base(M_MAJOR), "s2r.a", ("use LDSM_T",)
    ),
    Case(
        "s2r-values-fill-atom",
        base({"tiled_mma.permutation": [32, 16, 16]}),
        base({"tiled_mma.permutation": [32, 16, 16], "s2r.b": "SM75_U32x2_LDSM_N"}),
        "s2r.b",
        ("8 bytes/thread of B = 2 regs", "SM75_U32x2_LDSM_N", "tiled_mma.permutation: [32, 32, 16]"),
    ),
    Case(
        "swizzle-keeps-rows",
        config({"smem.a": {"shape": [8, 32], "stride": [32, 1], "swizzle": [2, 2, 3]}}, tile=[128, 128, 32]),
        config({"smem.a": {"shape": [8, 32], "stride": [32, 1], "swizzle": [2, 3, 3]}}, tile=[128, 128, 32]),
        "smem.a.swizzle",
        ("at least 16 bytes", "[2, 3, 3]"),
    ),
    Case(
        "s2r-row-contiguous",
        config(
            {"smem.a": {"shape": [128, 32], "stride": [36, 1]}, "s2r.a": "SM75_U32x4_LDSM_N"},
            tile=[128, 128, 32],
        ),
        config({"smem.a": {"shape": [128, 32], "stride": [36, 1]}}, tile=[128, 128, 32]),
        "s2r.a",
        ("16-byte aligned", "[40, 1]", "UniversalCopy"),
    ),
    Case(
        "s2r-row-contiguous",
        base({"tiled_mma.permutation": [32, 32, {"shape": [2, 8], "stride": [8, 1]}]}),
        base({"tiled_mma.permutation": [{"shape": [2, 16], "stride": [16, 1]}, 32, 16]}),
        "s2r.a",
        ("UniversalCopy", "tiled_mma.permutation"),
    ),
    # resources
    Case("stages-fit", base(stages=11), base(stages=10), "stages", ("180224 bytes", "166912", "stages: 10")),
    Case(
        "epilogue-fits",
        config({"d.dtype": "f32", "epilogue.store": "smem"}, arch="sm_75", tile=[128, 128, 16]),
        config({"d.dtype": "f32", "epilogue.store": "direct"}, arch="sm_75", tile=[128, 128, 16]),
        "epilogue.store",
        ("69632 B", "65536 bytes", "store: direct"),
    ),
    Case(
        "min-blocks-resident",
        base(arch="sm_86", min_blocks=13),
        base(arch="sm_86", min_blocks=12),
        "min_blocks",
        ("13 CTAs of 128 threads", "1536 threads", "min_blocks: 12"),
    ),
    Case("min-blocks-resident", base(min_blocks=10**12), base(min_blocks=16), "min_blocks"),
    Case(
        "accumulators-compile",
        config({"tiled_mma.layout": [1, 1, 1]}, mainloop="direct", tile=[1024, 1024, 16]),
        config({"tiled_mma.layout": [1, 1, 1]}, mainloop="direct", tile=[256, 256, 16]),
        "tile",
        ("32768 registers", "255"),
    ),
    Case(
        "fragment-buffers",
        base(fragment_buffers=2, stages=1),
        base(fragment_buffers=2, stages=2),
        "fragment_buffers",
        ("at least 2",),
    ),
    Case(
        "fragment-buffers",
        base({"tiled_mma.permutation": [32, 32, 32]}, fragment_buffers=2),
        base({"tiled_mma.permutation": [32, 32, 32]}, fragment_buffers=1),
        "fragment_buffers",
        ("even number of k-blocks, not 1",),
    ),
    Case(
        "fragment-buffers",
        config(F32, fragment_buffers=2),
        config(F32, fragment_buffers=1),
        "fragment_buffers",
    ),
    # epilogue
    Case(
        "raster-group",
        base({"scheduler.group": 2**31}),
        base({"scheduler.group": 2**31 - 1}),
        "scheduler.group",
        ("2147483647",),
    ),
    # partition
    Case(
        "permutation-keeps-atom",
        config(
            {"tiled_mma.permutation": [16, 128, {"shape": [3, 2, 4], "stride": [2, 1, 6]}]},
            mainloop="direct",
            tile=[64, 128, 24],
        ),
        config(
            {"tiled_mma.permutation": [16, 128, {"shape": [2, 3, 4], "stride": [1, 2, 6]}]},
            mainloop="direct",
            tile=[64, 128, 24],
        ),
        "tiled_mma.permutation",
    ),
    # wgmma
    *WGMMA_CASES,
    *COLLECTIVE_CASES,
]

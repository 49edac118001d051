"""Configs whose partitions are compared with CuTe's: each shows something that the defaults do not."""

from __future__ import annotations

from typing import Any

__all__ = ["HANDMADE"]

_F16: dict[str, Any] = {"arch": "sm_80", "a": {"dtype": "f16"}, "b": {"dtype": "f16"}}
_F16_MN: dict[str, Any] = {
    "arch": "sm_80",
    "a": {"dtype": "f16", "major": "m"},
    "b": {"dtype": "f16", "major": "n"},
}
_CP_ASYNC = {"atom": "SM80_CP_ASYNC_CACHEGLOBAL", "bits": 128}

HANDMADE: dict[str, dict[str, Any]] = {
    "permutation_of_warps_and_values": {
        **_F16,
        "tile": [128, 128, 32],
        "tiled_mma": {
            "layout": [2, 2, 1],
            "permutation": [
                {"shape": [16, 2, 2], "stride": [1, 32, 16]},
                {"shape": [8, 2, 2], "stride": [1, 16, 8]},
                16,
            ],
        },
    },
    "permutation_inside_the_atom": {
        **_F16,
        "tile": [64, 64, 32],
        "tiled_mma": {
            "layout": [2, 2, 1],
            "permutation": [32, {"shape": [2, 4, 2, 2], "stride": [1, 4, 16, 2]}, 16],
        },
    },
    "permutation_of_k": {
        **_F16,
        "tile": [64, 64, 64],
        "tiled_mma": {
            "layout": [2, 2, 1],
            "permutation": [32, 32, {"shape": [8, 2, 2], "stride": [1, 16, 8]}],
        },
    },
    "two_atoms_along_k": {
        **_F16,
        "tile": [64, 64, 64],
        "tiled_mma": {"layout": [2, 2, 1], "permutation": [32, 32, 32]},
    },
    "three_warps": {**_F16, "tile": [96, 80, 48], "tiled_mma": {"layout": [3, 1, 1]}},
    "three_warps_inside_a_swizzle": {**_F16, "tile": [96, 96, 64], "tiled_mma": {"layout": [3, 1, 1]}},
    "five_warps_mn_major": {**_F16_MN, "tile": [80, 80, 32], "tiled_mma": {"layout": [5, 1, 1]}},
    "padding_instead_of_swizzle": {
        **_F16,
        "tile": [64, 96, 32],
        "smem": {"a": {"shape": [64, 32], "stride": [40, 1]}, "b": {"shape": [96, 32], "stride": [40, 1]}},
    },
    "padding_and_swizzle": {
        **_F16,
        "tile": [64, 64, 32],
        "smem": {"a": {"shape": [8, 32], "stride": [40, 1], "swizzle": [2, 3, 3]}},
    },
    "swizzle_longer_than_the_atom": {
        **_F16,
        "tile": [96, 64, 32],
        "smem": {
            "a": {"shape": [8, 32], "stride": [32, 1], "swizzle": [3, 3, 5]},
            "b": {"shape": [8, 32], "stride": [32, 1], "swizzle": [2, 4, 3]},
        },
    },
    "swizzle_of_negative_shift": {
        **_F16,
        "tile": [64, 64, 64],
        "smem": {"a": {"shape": [8, 64], "stride": [64, 1], "swizzle": [2, 3, -3]}},
    },
    "padded_stages": {
        **_F16,
        "tile": [48, 24, 32],
        "stages": 3,
        "tiled_mma": {"layout": [1, 1, 1]},
        "smem": {
            "a": {"shape": [8, 32], "stride": [32, 1], "swizzle": [3, 3, 3]},
            "b": {"shape": [8, 32], "stride": [32, 1], "swizzle": [3, 3, 3]},
        },
    },
    "swizzle_period_longer_than_a_stage": {
        **_F16,
        "tile": [64, 64, 32],
        "stages": 3,
        "smem": {
            "a": {"shape": [8, 32], "stride": [32, 1], "swizzle": [3, 3, 14]},
            "b": {"shape": [8, 32], "stride": [40, 1], "swizzle": [5, 3, 5]},
        },
    },
    "several_vectors_of_a_thread": {
        **_F16,
        "tile": [64, 64, 64],
        "tiled_mma": {"layout": [2, 2, 1]},
        "g2s": {
            "a": {
                **_CP_ASYNC,
                "threads": {"shape": [32, 4], "stride": [4, 1]},
                "values": {"shape": [1, 16]},
            },
            "b": {
                **_CP_ASYNC,
                "threads": {"shape": [16, 8], "stride": [8, 1]},
                "values": {"shape": [2, 8], "stride": [8, 1]},
            },
        },
    },
    "a_copy_that_loops": {
        **_F16_MN,
        "tile": [128, 128, 32],
        "tiled_mma": {"layout": [4, 2, 1]},
        "g2s": {"a": {**_CP_ASYNC, "threads": {"shape": [16, 16]}, "values": {"shape": [8, 1]}}},
    },
    "narrow_copies": {
        "arch": "sm_80",
        "a": {"dtype": "f16", "align": 4},
        "b": {"dtype": "f16", "major": "n", "align": 8},
        "tile": [64, 64, 32],
    },
    "copies_of_one_element": {
        "arch": "sm_80",
        "a": {"dtype": "f16", "align": 2},
        "b": {"dtype": "f16", "align": 2},
        "d": {"align": 2},
        "tile": [64, 64, 32],
        "stages": 2,
    },
    "ldmatrix_x1_x2": {
        **_F16,
        "tile": [64, 64, 32],
        "s2r": {"a": "SM75_U32x1_LDSM_N", "b": "SM75_U32x2_LDSM_N"},
    },
    "ldmatrix_transposed_x4_x2": {
        **_F16_MN,
        "tile": [64, 64, 32],
        "s2r": {"a": "SM75_U16x8_LDSM_T", "b": "SM75_U16x4_LDSM_T"},
    },
    "ldmatrix_transposed_x1": {**_F16_MN, "tile": [64, 64, 32], "s2r": {"a": "SM75_U16x2_LDSM_T"}},
    "plain_loads_of_fragments": {
        **_F16,
        "tile": [64, 64, 32],
        "s2r": {"a": "UniversalCopy", "b": "UniversalCopy"},
    },
    "tf32_mn_major": {
        "arch": "sm_80",
        "a": {"dtype": "tf32", "major": "m"},
        "b": {"dtype": "tf32", "major": "n"},
        "tile": [64, 64, 32],
    },
    "f64": {
        "arch": "sm_80",
        "a": {"dtype": "f64", "major": "m"},
        "b": {"dtype": "f64"},
        "tile": [64, 48, 16],
    },
    "f64_of_hopper": {
        "arch": "sm_90a",
        "a": {"dtype": "f64"},
        "b": {"dtype": "f64", "major": "n"},
        "tile": [32, 32, 16],
    },
    "integers": {
        "arch": "sm_80",
        "a": {"dtype": "s8"},
        "b": {"dtype": "u8"},
        "tile": [64, 64, 64],
        "tiled_mma": {"atom": "SM80_16x8x16_S32S8U8S32_TN"},
    },
    "integers_mn_major": {
        "arch": "sm_80",
        "a": {"dtype": "s8", "major": "m"},
        "b": {"dtype": "s8", "major": "n"},
        "tile": [64, 32, 64],
    },
    "turing_mn_major": {
        "arch": "sm_75",
        "a": {"dtype": "f16", "major": "m"},
        "b": {"dtype": "f16", "major": "n"},
        "tile": [128, 64, 32],
    },
    "simt_f16": {
        "arch": "sm_80",
        "mainloop": "simt",
        "a": {"dtype": "f16"},
        "b": {"dtype": "f16"},
        "tile": [64, 64, 16],
    },
    "simt_vectors_along_k": {
        "arch": "sm_80",
        "mainloop": "simt",
        "a": {"dtype": "f32"},
        "b": {"dtype": "f32"},
        "tile": [64, 64, 16],
        "tiled_mma": {"layout": [16, 16, 1], "permutation": [16, 32, 4]},
        "smem": {"a": {"shape": [64, 16], "stride": [20, 1]}, "b": {"shape": [64, 16], "stride": [20, 1]}},
    },
    "simt_f64_swizzled": {
        "arch": "sm_80",
        "mainloop": "simt",
        "a": {"dtype": "f64"},
        "b": {"dtype": "f64"},
        "tile": [64, 64, 8],
        "smem": {"a": {"shape": [64, 8], "stride": [1, 64], "swizzle": [2, 1, 6]}},
    },
    "direct_permuted": {
        **_F16,
        "mainloop": "direct",
        "tile": [64, 64, 32],
        "tiled_mma": {
            "layout": [2, 2, 1],
            "permutation": [{"shape": [16, 2, 2], "stride": [1, 32, 16]}, 32, 32],
        },
    },
    "direct_tf32_mn_major": {
        "arch": "sm_80",
        "mainloop": "direct",
        "a": {"dtype": "tf32", "major": "m"},
        "b": {"dtype": "tf32", "major": "n"},
    },
    "direct_fp8": {
        "arch": "sm_89",
        "mainloop": "direct",
        "a": {"dtype": "e5m2", "major": "m"},
        "b": {"dtype": "e4m3"},
    },
}

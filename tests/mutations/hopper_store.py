"""Faults of the bulk stores of ``tma_wgmma``."""

from __future__ import annotations

from tests.mutations.hopper import _ANY, fault

__all__ = ["HOPPER_STORE"]

_FENCE = "      tma_store_fence();\n"
_FIRST = "        if (elect_one_sync()) {\n          tma_store_wait<0>();\n        }\n"
_REUSE = "          tma_store_wait<Output::SLOTS - 1>();\n"
_FENCED = "      tma_store_fence();\n      __syncwarp();\n"
_DRAIN = "  if (elect_one_sync()) {\n    tma_store_wait<0>();\n  }\n"
_SWZ = "(offset >> 7 & (width / 16 - 1)) << 4"
HOPPER_STORE = (
    fault("pingpong", "no-store-fence", "no fence before a bulk store", _FENCE, "", *_ANY),
    fault("pingpong", "no-store-wait", "no wait for reuse", _REUSE, "", *_ANY),
    fault("pingpong", "store-wait-more", "one too many", _REUSE, _REUSE.replace(" - 1", ""), *_ANY),
    fault("pingpong", "no-first-store-wait", "no wait for last tile's", _FIRST, "", *_ANY),
    fault("pingpong", "no-syncwarp-first", "no syncwarp after first wait", _FIRST + "        __syncwarp();\n", _FIRST, *_ANY),
    fault("pingpong", "no-syncwarp-reuse", "no syncwarp after reuse wait", _REUSE + "        }\n        __syncwarp();\n", _REUSE + "        }\n", *_ANY),
    fault("pingpong", "no-syncwarp-stored", "no syncwarp between stores and bulk store", _FENCED, _FENCE, *_ANY),
    fault("pingpong", "syncwarp-before-fence", "syncwarp before fence", _FENCED, "      __syncwarp();\n      tma_store_fence();\n", *_ANY),
    fault("pingpong", "fence-elected", "fence only by elected lane", _FENCED, "      __syncwarp();\n      if (elect_one_sync()) tma_store_fence();\n", *_ANY),
    fault("pingpong", "no-drain", "no wait at the end", _DRAIN, "", *_ANY),
    fault("pingpong", "no-store-commit", "no commit", "        tma_store_arrive();\n", "", *_ANY),
    fault("pingpong", "map-index", "map index", "maps.d[Chunks::map(chunk)]", "maps.d[0]", *_ANY),
    fault("pingpong", "map-next", "map index", "index += width(before) != width(before - 1);", "index += 1;", *_ANY),
    fault("pingpong", "swizzle-width", "swizzle of 128 for all", _SWZ, "(offset >> 7 & 7) << 4", *_ANY),
    fault("pingpong", "swizzle-none", "no swizzle", f"offset ^ ({_SWZ})", "offset", *_ANY),
    fault("pingpong", "swizzle-shift", "swizzle shift", _SWZ, "(offset >> 6 & (width / 16 - 1)) << 4", *_ANY),
    fault("pingpong", "slots-overlap", "slots overlap", "SLOT_BYTES = 16 * 128;", "SLOT_BYTES = 16 * 64;", *_ANY),
    fault("pingpong", "rings-overlap", "warps share ring", "thread / 32 * Output::SLOTS * SLOT_BYTES", "thread / 32 * SLOT_BYTES", *_ANY),
    fault("pingpong", "one-ring", "warps of two groups share", "thread / 32 * Output::SLOTS * SLOT_BYTES", "thread % 128 / 32 * Output::SLOTS * SLOT_BYTES", *_ANY),
    fault("pingpong", "atom-rows", "rows", "m_begin + warp_m + atom * 64);", "m_begin + warp_m);", *_ANY),
    fault("pingpong", "stsm-halves", "halves", "SM90_U32x4_STSM_N::copy(word(column, 0), word(column, 1),", "SM90_U32x4_STSM_N::copy(word(column, 1), word(column, 0),", *_ANY),
    fault("pingpong", "staging-in-ring", "staging over ring", "smem + Config::STAGING_OFFSET, tCrC);", "smem, tCrC);", *_ANY, count=2),
    # M-major
    fault("m-major", "no-store-fence", "no fence", _FENCE, "", *_ANY),
    fault("m-major", "no-store-wait", "no wait reuse", _REUSE, "", *_ANY),
    fault("m-major", "no-first-store-wait", "no wait first", "if (thread / 32 % 4 == 0 && elect_one_sync()) {\n          tma_store_wait<0>();\n        }\n", "", *_ANY),
    fault("m-major", "no-meet-first", "no barrier after first wait", "          tma_store_wait<0>();\n        }\n        meet();\n", "          tma_store_wait<0>();\n        }\n", *_ANY),
    fault("m-major", "no-meet-reuse", "no barrier after wait", _REUSE + "        }\n        meet();\n", _REUSE + "        }\n", *_ANY),
    fault("m-major", "no-meet-stored", "no barrier before bulk store", _FENCE + "      meet();\n", _FENCE, *_ANY),
    fault("m-major", "meet-before-fence", "barrier before fence", _FENCE + "      meet();\n", "      meet();\n" + _FENCE, *_ANY),
    fault("m-major", "one-barrier", "barrier shared by groups", "FIRST_BARRIER + warpgroup)", "FIRST_BARRIER)", *_ANY),
    fault("m-major", "turn-barrier", "barrier is that of turns", "FIRST_BARRIER = 2;", "FIRST_BARRIER = 0;", *_ANY),
    fault("m-major", "meet-count", "barrier counts 96", "NamedBarrier::sync(128, FIRST", "NamedBarrier::sync(96, FIRST", *_ANY),
    fault("m-major", "no-drain", "no drain", "    tma_store_wait<0>();\n  }\n  __syncwarp();\n", "  }\n  __syncwarp();\n", *_ANY),
    fault("m-major", "swizzle", "swizzle", "((unit ^ row % 8) << 4)", "(unit << 4)", *_ANY),
    fault("m-major", "unit", "unit", "unit = warp * 2 + lane / 8 % 2;", "unit = warp * 2;", *_ANY),
    fault("m-major", "chunk-columns", "chunk", "n_begin + group_n + chunk * Output::CHUNK);", "n_begin + group_n);", *_ANY),
)

"""Faults of the epilogue of ``tma_wgmma``: staging buffers and bulk stores."""

from __future__ import annotations

from tests.mutations.hopper import LOAD, fault

__all__ = ["HOPPER_STORE"]

_n = fault("pingpong")
_m = fault("m-major")
_STORE = "SM90_TMA_STORE_2D"
_STAGED = "STSM"
_FENCE = "      tma_store_fence();\n"
_SYNC = "      __syncwarp();\n"
_MEET = "      meet();\n"
_FIRST = "          tma_store_wait<0>();\n        }\n"
_REUSE = "          tma_store_wait<Output::SLOTS - 1>();\n"
_SWIZZLE = "((offset >> 7 & (width / 16 - 1)) << 4)"
_ROWS = "GlobalC global_c(p, m_begin + "

_DRAIN = "    tma_store_wait<0>();\n  }\n  __syncwarp();\n}"

HOPPER_STORE = (
    *(
        of(
            "no-drain",
            "bulk stores are not waited for at the end",
            _DRAIN,
            _DRAIN.partition("\n")[2],
            "async-in-flight",
            at="SM90_TMA_STORE_2D",
        )
        for of in (fault("pingpong"), fault("m-major"))
    ),
    _n("no-store-fence", "no fence before a bulk store", _FENCE, "", "missing-proxy-fence", at=_STORE),
    _n(
        "fence-of-another-lane",
        "the fence is behind the barrier and of a lane that does not store",
        _FENCE + _SYNC,
        _SYNC + "      if (threadIdx.x % 32 == 31) tma_store_fence();\n",
        "missing-proxy-fence",
        at=_STORE,
    ),
    _n(
        "no-store-wait",
        "no wait before a staging buffer is used again",
        _REUSE,
        "",
        "async-in-flight",
        at=_STAGED,
    ),
    _n(
        "store-wait-one-too-few",
        "the wait leaves one bulk store too many in flight",
        _REUSE,
        _REUSE.replace(" - 1", ""),
        "async-in-flight",
        at=_STAGED,
    ),
    _n(
        "no-first-store-wait",
        "no wait for the last tile's bulk stores",
        _FIRST,
        _FIRST.partition("\n")[2],
        "async-in-flight",
        at=_STAGED,
    ),
    _n(
        "no-syncwarp-first",
        "no barrier behind the wait for the last tile's bulk stores",
        _FIRST + "        __syncwarp();\n",
        _FIRST,
        "race-war",
        "async-in-flight",
        at=_STAGED,
    ),
    _n(
        "no-syncwarp-reuse",
        "no barrier behind the wait for a staging buffer",
        _REUSE + "        }\n        __syncwarp();\n",
        _REUSE + "        }\n",
        "race-war",
        "async-in-flight",
        at=_STAGED,
    ),
    _n("no-syncwarp-stored", "no barrier before a bulk store", _FENCE + _SYNC, _FENCE, "race-raw", at=_STORE),
    _n(
        "no-store-commit",
        "bulk stores are not committed to a group",
        "        tma_store_arrive();\n",
        "",
        "async-in-flight",
        at=_STAGED,
    ),
    _n(
        "map-index",
        "every chunk is stored with the widest map",
        "maps.d[Chunks::map(chunk)]",
        "maps.d[0]",
        "race-waw",
        at=_STORE,
    ),
    _n(
        "map-of-each-chunk",
        "every chunk has a map of its own",
        "index += width(before) != width(before - 1);",
        "index += 1;",
        "async-in-flight",
        "bad-tensor-map",
        "race-waw",
        "numbers",
    ),
    _n(
        "swizzle-width",
        "narrow chunks are swizzled as wide ones",
        _SWIZZLE,
        "((offset >> 7 & 7) << 4)",
        "numbers",
    ),
    _n("no-swizzle", "chunks are not swizzled", f"offset ^ {_SWIZZLE}", "offset", "numbers"),
    _n("swizzle-shift", "the swizzle takes the wrong bits", _SWIZZLE, _SWIZZLE.replace("7", "6"), "numbers"),
    _n(
        "slots-overlap",
        "staging buffers overlap",
        "SLOT_BYTES = 2048;",
        "SLOT_BYTES = 1024;",
        "async-in-flight",
        "race-war",
        at=_STAGED,
    ),
    _n(
        "rings-overlap",
        "staging buffers of warps overlap",
        "thread / 32 * Output::SLOTS * Output::SLOT_BYTES",
        "thread / 32 * Output::SLOT_BYTES",
        "race-war",
        "race-waw",
        at=_STAGED,
    ),
    _n(
        "one-ring",
        "both warpgroups have the same staging buffers",
        "thread / 32 * Output::SLOTS",
        "thread % 128 / 32 * Output::SLOTS",
        "race-waw",
        "race-war",
        at=_STAGED,
    ),
    _n(
        "staging-in-the-ring",
        "staging buffers lie in the ring of stages",
        "smem + Config::STAGING_OFFSET, tCrC);",
        "smem, tCrC);",
        "race-war",
        "race-waw",
        "async-in-flight",
        at=LOAD,
        count=2,
    ),
    _n(
        "same-rows",
        "both atoms are stored in the same rows",
        "m_begin + warp_m + atom * 64);",
        "m_begin + warp_m);",
        "numbers",
    ),
    _n(
        "halves",
        "upper and lower rows change places",
        "STSM_N::copy(word(column, 0), word(column, 1), word",
        "STSM_N::copy(word(column, 1), word(column, 0), word",
        "numbers",
    ),
    _n(
        "rows-of-c",
        "C is read from the first tile's rows",
        _ROWS,
        "GlobalC global_c(p, ",
        "numbers",
        beta=1.0,
    ),
    _n("no-c", "C is left out", "if (p.beta != 0) {", "if (false) {", "numbers", beta=1.0),
    _m("no-store-fence", "no fence before a bulk store", _FENCE, "", "missing-proxy-fence", at=_STORE),
    _m(
        "no-store-wait",
        "no wait before a staging buffer is used again",
        _REUSE,
        "",
        "async-in-flight",
        at=_STAGED,
    ),
    _m(
        "no-first-store-wait",
        "no wait for the last tile's bulk stores",
        _FIRST,
        _FIRST.partition("\n")[2],
        "async-in-flight",
        at=_STAGED,
    ),
    _m(
        "no-barrier-first",
        "no barrier behind the wait for the last tile's bulk stores",
        _FIRST + "        meet();\n",
        _FIRST,
        "async-in-flight",
        "race-war",
        at=_STAGED,
    ),
    _m(
        "no-barrier-reuse",
        "no barrier behind the wait for a staging buffer",
        _REUSE + "        }\n        meet();\n",
        _REUSE + "        }\n",
        "async-in-flight",
        "race-war",
        at=_STAGED,
    ),
    _m("no-barrier-stored", "no barrier before a bulk store", _FENCE + _MEET, _FENCE, "race-raw", at=_STORE),
    _m(
        "barrier-of-three-warps",
        "the barrier counts three warps",
        "NamedBarrier::sync(128, FIRST",
        "NamedBarrier::sync(96, FIRST",
        "deadlock",
        "race-raw",
        "race-war",
    ),
    _m("no-swizzle", "chunks are not swizzled", "((unit ^ row % 8) << 4)", "(unit << 4)", "numbers"),
    _m(
        "unit",
        "two quarters of a warp write the same rows",
        "unit = warp * 2 + lane / 8 % 2;",
        "unit = warp * 2;",
        "race-waw",
        at=_STAGED,
    ),
    _m(
        "same-columns",
        "every chunk is stored in the first columns",
        "n_begin + group_n + chunk * Output::CHUNK);",
        "n_begin + group_n);",
        "numbers",
    ),
    fault("m-major-cooperative")(
        "one-barrier",
        "warpgroups share a named barrier",
        "FIRST_BARRIER + warpgroup)",
        "FIRST_BARRIER)",
        "race-war",
        "race-raw",
        "missing-proxy-fence",
        "async-in-flight",
        "deadlock",
    ),
    fault("m-major-cooperative")(
        "no-swizzle", "narrow chunks are not swizzled", "((unit ^ lane % 8) << 4)", "(unit << 4)", "numbers"
    ),
    fault("f32-out")("no-swizzle", "chunks are not swizzled", f"offset ^ {_SWIZZLE}", "offset", "numbers"),
    fault("f32-out")(
        "half",
        "lower rows are staged where upper ones are",
        "swizzled(lane / 4 + half * 8,",
        "swizzled(lane / 4,",
        "uninitialised-shared",
    ),
    fault("narrow")(
        "rows",
        "upper and lower rows of a narrow chunk change places",
        "(swizzled(row, byte));",
        "(swizzled(row ^ 8, byte));",
        "numbers",
    ),
)

"""Faults of sums in global memory: flags, their order, and who has which k-tiles."""

from __future__ import annotations

from functools import partial

from tests.mutations.hopper import fault

__all__ = ["HOPPER_SUMS"]

SHAPE = (72, 72, 1040)

_stream = partial(fault("stream-k"), shape=SHAPE)
_semaphore = partial(fault("semaphore"), shape=SHAPE)
_SENT = "to[i / VALUES * 32] = x;"
_READ = "Values x = from[i / VALUES * 32];"
_BEFORE_FLAG = "    __syncwarp();  // all lanes have stored\n"
_SEEN = "    __syncwarp();  // what one lane has seen, all have\n"
_SPIN = "      while (!is_set(flag)) {\n      }\n"
_CLEAR = "      *flag = 0;\n"
_WAIT = "wait_for_kernel_before();\n"

HOPPER_SUMS = (
    _stream(
        "no-release",
        "a flag is set without a release",
        "st.release.gpu",
        "st.relaxed.gpu",
        "race-raw",
        at=_READ,
    ),
    _stream(
        "flag-early",
        "a warp tells of its sums before all of its lanes have stored them",
        _BEFORE_FLAG,
        "",
        "race-raw",
        at=_READ,
    ),
    _stream(
        "no-acquire",
        "a flag is read without an acquire",
        "ld.acquire.gpu",
        "ld.relaxed.gpu",
        "race-raw",
        at=_READ,
    ),
    _stream("no-wait", "sums are added before their flag was seen", _SPIN, "", "race-raw", "race-war"),
    _stream(
        "one-lane-knows", "a lane reads before another has seen the flag", _SEEN, "", "race-raw", at=_READ
    ),
    _stream(
        "flag-stays",
        "a flag is left set, and the next launch does not wait",
        _CLEAR,
        "",
        "race-raw",
        "race-war",
        shape=(128, 64, 1040),
        seed=2,
    ),
    _stream(
        "one-slot",
        "all clusters send to the same slot",
        "unit.slot    = cluster;",
        "unit.slot    = 1;",
        "race-waw",
    ),
    _stream(
        "one-sender-less",
        "the sums of the cluster with a tile's first k-tile are left out",
        "unit.senders = unit.last && at_begin ? senders : 0;",
        "unit.senders = unit.last && at_begin ? senders - 1 : 0;",
        "numbers",
    ),
    _stream(
        "tile-not-ended",
        "a cluster leaves out the last k-tile of the tile before",
        "end  = at_begin ? 0 : k_tiles;",
        "end  = at_begin ? 0 : k_tiles - 1;",
        "race-waw",
        "race-war",
        "deadlock",
        "numbers",
    ),
    _semaphore(
        "shares-overlap",
        "a share begins a k-tile early",
        "unit.first   = int(int64_t(share) * k_tiles / shares);",
        "unit.first   = max(0, int(int64_t(share) * k_tiles / shares) - 1);",
        "numbers",
    ),
    _semaphore(
        "next-tile",
        "sums go to the slots of the next tile",
        "unit.slot    = unit.tile * (shares - 1) + share;",
        "unit.slot    = unit.tile * shares + share;",
        "deadlock",
        "race-waw",
        "race-raw",
        "numbers",
        "out-of-bounds-global",
    ),
    fault("semaphore-dependent")(
        "no-wait-before-flags",
        "flags and sums are used while the kernel before may use them",
        f"  {_WAIT}  #pragma unroll 1\n  while (more)",
        "  #pragma unroll 1\n  while (more)",
        "missing-grid-wait",
        shape=SHAPE,
    ),
)

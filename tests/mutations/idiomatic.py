"""Faults of a kernel in the idiomatic style."""

from __future__ import annotations

from tests.mutations.model import Mutation

__all__ = ["IDIOMATIC"]

_WAIT = "    cp_async_wait<STAGES - 2>();\n"
_S2R = "copy(s2r_copy_"
_G2S = "copy_if(g2s_copy, tXpX, tXgX, tXsX);"


def _fault(
    name: str,
    fault: str,
    old: str,
    new: str,
    *kinds: str,
    at: str = "",
    shape: tuple[int, int, int] = (32, 32, 128),
) -> Mutation:
    return Mutation(
        name=f"idiomatic-{name}",
        kernel="idiomatic",
        fault=fault,
        old=old,
        new=new,
        kinds=kinds,
        at=at,
        shape=shape,
    )


IDIOMATIC = (
    _fault("no-wait", "no wait for the copies", _WAIT, "", "async-in-flight", at=_S2R),
    _fault(
        "wait-one-too-few",
        "wait leaves one group too many in flight",
        _WAIT,
        "    cp_async_wait<STAGES - 1>();\n",
        "async-in-flight",
        at=_S2R,
    ),
    _fault(
        "no-barrier",
        "no barrier after the wait",
        f"{_WAIT}    __syncthreads();\n",
        _WAIT,
        "race-raw",
        at=_S2R,
    ),
    _fault(
        "fetch-before-barrier",
        "the next fetch stands before the barrier",
        "    __syncthreads();\n    fetch(k_tile + STAGES - 1, pipe_write);\n",
        "    fetch(k_tile + STAGES - 1, pipe_write);\n    __syncthreads();\n",
        "race-war",
        at=_G2S,
    ),
    _fault(
        "no-commit",
        "copies are never committed to a group",
        "    cp_async_fence();\n",
        "",
        "async-in-flight",
        at=_S2R,
    ),
    _fault(
        "no-drain",
        "copies still in flight in the epilogue",
        "  cp_async_wait<0>();\n",
        "",
        "async-in-flight",
        at="copy(r2s_copy_d",
    ),
    _fault(
        "no-barrier-before-epilogue",
        "no barrier between mainloop and epilogue",
        "  __syncthreads();  // the epilogue may use the ring's memory\n",
        "",
        "race-war",
        at="copy(r2s_copy_d",
    ),
    _fault(
        "no-barrier-in-epilogue",
        "no barrier between staging and storing",
        "  copy(r2s_copy_d, tXrD, tXsD);\n  __syncthreads();\n",
        "  copy(r2s_copy_d, tXrD, tXsD);\n",
        "race-raw",
        at="copy_if(s2g_copy_d",
    ),
    _fault(
        "no-edge-predicate",
        "no predicate on loads of A",
        "return elem_less(c, limit_a); ",
        "return true; ",
        "out-of-bounds-global",
        at=_G2S,
        shape=(24, 32, 64),
    ),
    _fault(
        "no-store-predicate",
        "no predicate on stores of D",
        "return elem_less(c, limit); }), tDsD, tDgD",
        "return true; }), tDsD, tDgD",
        "out-of-bounds-global",
        at="copy_if(s2g_copy_d",
        shape=(24, 32, 64),
    ),
    _fault(
        "operands-overlap",
        "B begins inside A's last stage",
        "SMEM_BYTES_A = 6144;",
        "SMEM_BYTES_A = 5632;",
        "race-waw",
        "race-war",
        "async-in-flight",
    ),
    _fault(
        "no-swizzle",
        "A's rows are not swizzled",
        "using SmemLayoutAtomA = decltype(composition(\n      Swizzle<2,3,3>{}",
        "using SmemLayoutAtomA = decltype(composition(\n      Swizzle<0,3,3>{}",
        "conflicts",
    ),
    _fault(
        "staging-rows-overlap",
        "rows of the epilogue's buffer overlap",
        "Stride<Int<40>,_1>",
        "Stride<Int<24>,_1>",
        "race-waw",
        at="copy(r2s_copy_d",
    ),
    _fault(
        "pipe-never-advances",
        "every k-tile is read from the first stage",
        "    pipe_read  = pipe_read + 1 == STAGES ? 0 : pipe_read + 1;\n",
        "",
        "race-war",
        "async-in-flight",
        "numbers",
    ),
)

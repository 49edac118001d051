"""Kinds of findings: what each is called, and what mends it."""

from __future__ import annotations

__all__ = ["KINDS"]

#: By stable id: a title, and a hint.
KINDS: dict[str, tuple[str, str]] = {
    "race-raw": (
        "read races with write",
        "a barrier must stand between the write and this read",
    ),
    "race-war": (
        "write races with read",
        "a barrier must stand between the read and this write",
    ),
    "race-waw": (
        "write races with write",
        "two threads write the same bytes; a barrier or other offsets are needed",
    ),
    "uninitialised-shared": (
        "shared memory is read before it is written",
        "check the copy's predicate, its extent and the stage that is read",
    ),
    "uninitialised-fragment": (
        "registers are read before they are written",
        "fill the fragment before the first mma",
    ),
    "async-in-flight": (
        "an asynchronous copy is still in flight",
        "wait for its group (cp_async_wait<N>, where N groups may stay in flight), then pass a barrier",
    ),
    "use-after-return": (
        "shared memory of a CTA that has returned",
        "a cluster barrier (cluster_sync) must follow the last use of another CTA's shared memory",
    ),
    "misaligned": (
        "misaligned access",
        "the address must be a multiple of the access's width: check offset, pitch and leading stride",
    ),
    "out-of-bounds-shared": (
        "shared memory out of bounds",
        "compare the offset with the size that the launch asks for",
    ),
    "out-of-bounds-global": (
        "global memory out of bounds",
        "the predicate must hold back what lies beyond the edge of the matrix",
    ),
    "write-to-read-only": ("write to an input", "this buffer is an input of the kernel"),
    "divergent-barrier": ("barrier in divergent code", "all threads must reach the same barrier"),
    "divergent-collective": (
        "lanes of a warp diverge",
        "all lanes of the mask must execute the same warp-wide instruction",
    ),
    "deadlock": (
        "deadlock",
        "a barrier waits for threads that never arrive, or a transaction count is wrong",
    ),
    "residency": (
        "CTAs wait for one that cannot start",
        "launch no more CTAs than the GPU holds at a time, or let CTAs wait for earlier ones only",
    ),
    "shared-limit": ("too much shared memory", "use fewer stages or a smaller tile"),
    "missing-proxy-fence": (
        "missing proxy fence",
        "fence.proxy.async (cutlass::arch::fence_view_async_shared) must follow the stores",
    ),
    "missing-wgmma-fence": (
        "missing wgmma fence",
        "warpgroup_arrive() must precede the first wgmma that uses these registers",
    ),
    "wgmma-in-flight": (
        "registers of a wgmma in flight",
        "warpgroup_wait<N>() must precede every use of the accumulators, and every write to A's registers",
    ),
    "missing-grid-wait": (
        "a dependent launch runs ahead",
        "griddepcontrol.wait must precede what the kernel before this one may still use",
    ),
    "bad-arrival": ("too many arrivals", "the mbarrier was initialised for fewer arrivals in a phase"),
    "bad-tensor-map": ("bad tensor map", "pass a CUtensorMap as a __grid_constant__ parameter"),
    "unsupported-instruction": (
        "unsupported instruction",
        "the emulator does not have it",
    ),
    "unsupported-on-arch": (
        "the architecture does not have this instruction",
        "compile for an architecture that has it, or choose another instruction (PTX ISA, Target ISA Notes)",
    ),
    "wild-access": ("wild access", "the address belongs to nothing that the kernel was given"),
    "division-by-zero": ("division by zero", "check the problem's extents"),
    "stack-overflow": ("stack overflow", "a thread's local arrays are too large for the emulator"),
    "trap": ("trap", "the kernel itself stops here"),
    "bad-launch": ("launch refused", "check grid, block and cluster"),
}

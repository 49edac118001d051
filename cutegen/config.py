"""The declarative description of a kernel: what a user writes.

Every field but ``arch`` and the operands' dtypes may be left out or be ``auto``; :mod:`cutegen.resolve`
turns it into a value. Models are frozen and refuse unknown fields. They hold no rule beyond the shape
of the data: whether a config can work is decided in :mod:`cutegen.rules`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from cutegen.arch import ArchName
from cutegen.dtypes import ALIASES, DTypeName
from cutegen.errors import ConfigError

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "CacheHint",
    "CopyG2S",
    "CopyPair",
    "Epilogue",
    "GemmConfig",
    "LayoutSpec",
    "Limits",
    "MainloopName",
    "Operand",
    "Output",
    "S2RPair",
    "ScheduleName",
    "Scheduler",
    "SmemLayout",
    "SmemPair",
    "TiledMma",
    "as_config",
]

MainloopName = Literal["simt", "direct", "multistage", "tma_wgmma", "collective"]
ScheduleName = Literal["pingpong", "cooperative", "warp_specialized"]
CacheHint = Literal["normal", "evict_first", "evict_last"]


def _auto_is_none(value: Any) -> Any:
    return None if value == "auto" else value


def _auto_is_default(value: Any) -> Any:
    return {} if value is None or value == "auto" else value


def _none_is_none(value: Any) -> Any:
    return None if value in ("none", "auto") else value


def _dtype_alias(value: Any) -> Any:
    return ALIASES.get(value, value) if isinstance(value, str) else value


def _scalar_to_tuple(value: Any) -> Any:
    return (value,) if isinstance(value, int) and not isinstance(value, bool) else value


Auto = BeforeValidator(_auto_is_none)
AutoGroup = BeforeValidator(_auto_is_default)
NoneWord = BeforeValidator(_none_is_none)
DTypeField = Annotated[DTypeName, BeforeValidator(_dtype_alias)]
Extents = Annotated[tuple[int, ...], BeforeValidator(_scalar_to_tuple)]
MajorD = Annotated[Literal["n", "m"] | None, Auto]
Bytes = Annotated[Literal[1, 2, 4, 8, 16] | None, Auto]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    def __init__(self, /, **fields: Any) -> None:
        try:
            super().__init__(**fields)
        except ValidationError as error:
            # By name: the module that explains mistakes knows all models, so it imports this one.
            explain = import_module("cutegen.schema_errors").explain_fields
            raise explain(type(self), fields, error) from None

    #: So that model_validate, which callers may use to get pydantic's own error, does not come by here.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    def replace(self, **fields: Any) -> Self:
        """A copy with some fields replaced, checked as those of a new object are.

        Raises:
            ConfigError: There is no such field, or it cannot have this value.
        """
        given = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self)(**(given | fields))


class LayoutSpec(_Model):
    """A flat CuTe layout written as shape and stride; a missing stride means column-major."""

    shape: Extents = Field(description="Extent of each mode.")
    stride: Annotated[Extents | None, Auto] = Field(
        default=None, description="Stride of each mode; left out: compact, first mode fastest."
    )


class Operand(_Model):
    """A or B: an input matrix in global memory. A is (M,K), B is (N,K)."""

    dtype: DTypeField = Field(description="Element type, for example f16, bf16, tf32, s8, e4m3.")
    major: Annotated[Literal["k", "m", "n"] | None, Auto] = Field(
        default=None, description="The mode with stride 1: k, or m for A and n for B. Default k."
    )
    align: Bytes = Field(
        default=None,
        description="Bytes of which address, pitch and contiguous extent are multiples; it bounds the copy "
        "width. Default 16.",
    )
    cache: Annotated[CacheHint | None, Auto] = Field(
        default=None,
        description="What L2 gives up: evict_first for data that is read once, such as weights while M is "
        "small; evict_last for what many CTAs read (tma_wgmma). Default normal.",
    )
    constant: Annotated[bool | None, Auto] = Field(
        default=None,
        description="With pdl, a promise: no kernel that may still run when this one starts writes the "
        "operand, as with weights; it is loaded ahead. Default false.",
    )


class Output(_Model):
    """C or D: a matrix (M,N) in global memory."""

    dtype: Annotated[DTypeField | None, Auto] = Field(
        default=None,
        description="Element type. Default for D: that of A, but f32 for tf32, bf16 for 8-bit floats, s32 "
        "for integers; for C: that of D.",
    )
    major: MajorD = Field(default=None, description="The mode with stride 1: n or m. Default n; for C: as D.")
    align: Bytes = Field(
        default=None,
        description="Bytes of which address, pitch and contiguous extent are multiples. Default 16; for a C "
        "of another type or major than D: one element.",
    )


class TiledMma(_Model):
    """The MMA atom and how warps and values repeat it over the CTA tile."""

    atom: Annotated[str | None, Auto] = Field(
        default=None, description="CuTe MMA operation, for example SM80_16x8x16_F32BF16BF16F32_TN."
    )
    layout: Annotated[tuple[int, int, int] | None, Auto] = Field(
        default=None, description="Atoms along M, N and K that run side by side on warps."
    )
    permutation: Annotated[tuple[int | LayoutSpec, int | LayoutSpec, int | LayoutSpec] | None, Auto] = Field(
        default=None, description="Per mode an extent, or a layout {shape, stride}."
    )


class SmemLayout(_Model):
    """The shared-memory layout atom of one operand, repeated over the tile."""

    shape: tuple[int, int] = Field(description="(MN, K) extents of the layout atom.")
    stride: tuple[int, int] = Field(description="(MN, K) strides of the layout atom, in elements.")
    swizzle: tuple[int, int, int] | Literal["none"] = Field(
        default="none", description="Swizzle<B,M,S> over element offsets, or none."
    )


class SmemPair(_Model):
    """Shared-memory layout atoms of A and B."""

    a: Annotated[SmemLayout | None, Auto] = None
    b: Annotated[SmemLayout | None, Auto] = None


class CopyG2S(_Model):
    """The tiled copy from global to shared memory of one operand."""

    atom: Annotated[str | None, Auto] = Field(
        default=None,
        description="SM80_CP_ASYNC_CACHEGLOBAL, SM80_CP_ASYNC_CACHEALWAYS or UniversalCopy.",
    )
    bits: Annotated[int | None, Auto] = Field(default=None, description="Width of one copy in bits.")
    threads: Annotated[LayoutSpec | None, Auto] = Field(
        default=None, description="(MN, K) thread layout: coordinate to thread index."
    )
    values: Annotated[LayoutSpec | None, Auto] = Field(
        default=None, description="(MN, K) value layout of one thread."
    )


class CopyPair(_Model):
    """Copies from global to shared memory of A and B."""

    a: Annotated[CopyG2S, AutoGroup] = CopyG2S()
    b: Annotated[CopyG2S, AutoGroup] = CopyG2S()


class S2RPair(_Model):
    """Copy atoms from shared memory to registers of A and B."""

    a: Annotated[str | None, Auto] = Field(
        default=None, description="SM75_U32x4_LDSM_N, SM75_U16x8_LDSM_T, ... or UniversalCopy."
    )
    b: Annotated[str | None, Auto] = Field(default=None, description="As for a.")


class Epilogue(_Model):
    """D = alpha * scale_a(m) * scale_b(n) * A*B^T + bias(n) + beta * C, converted and stored."""

    store: Annotated[Literal["direct", "smem", "tma"] | None, Auto] = Field(
        default=None,
        description="smem: through shared memory in wide coalesced rows; tma: likewise, by bulk copies "
        "(tma_wgmma, collective); direct: from registers.",
    )
    scale_a: Annotated[Literal["tensor", "row"] | None, NoneWord] = Field(
        default=None,
        description="f32 factors beside alpha: one of all of A (tensor), one of each row of A, (M,) (row), "
        "or none, the default.",
    )
    scale_b: Annotated[Literal["tensor", "column"] | None, NoneWord] = Field(
        default=None,
        description="Likewise of B, one for each column of D, (N,) (column).",
    )
    overlap: Annotated[bool | None, Auto] = Field(
        default=None,
        description="Cooperative warpgroups keep a tile's result in registers and store it beside the "
        "products of the next tile (tma_wgmma, with bulk stores of elements of 16 bits). Default false.",
    )
    bias: Annotated[Literal["column"] | None, NoneWord] = Field(
        default=None,
        description="column: (N,), added to each row of D, in D's type or, where D has integers or 8 bits, "
        "in f32. Default none.",
    )


class Scheduler(_Model):
    """Which CTA computes which output tile."""

    kind: Annotated[Literal["static", "persistent", "stream_k"] | None, Auto] = Field(
        default=None,
        description="static: one CTA for each output tile; persistent: as many CTAs as the GPU holds, each "
        "takes tile after tile (tma_wgmma, collective); stream_k: each takes an equal share of all k-tiles "
        "(tma_wgmma, collective).",
    )
    raster: Literal["m", "n"] = Field(
        default="m", description="Mode along which consecutive CTAs walk inside a group."
    )
    group: Annotated[int | None, Auto] = Field(
        default=None, ge=1, description="Tiles walked along the raster mode before the other advances."
    )
    split_k: Annotated[int | None, Auto] = Field(
        default=None,
        description="CTAs that share the k-tiles of an output tile, of one cluster unless reduction says "
        "otherwise; one of them sums and stores (tma_wgmma). Default 1.",
    )
    reduction: Annotated[Literal["cluster", "semaphore"] | None, Auto] = Field(
        default=None,
        description="Where the sums of split_k meet. cluster: in shared memory, at most 8 CTAs with those of "
        "cluster; semaphore: in global memory, any number of CTAs, of which the last waits for the others' "
        "flags (tma_wgmma). Default cluster.",
    )


class Limits(_Model):
    """Budgets; a config or a build that exceeds one fails the check."""

    max_registers: int | None = Field(default=None, ge=1, description="Registers per thread.")
    max_spills: int | None = Field(default=None, ge=0, description="Spilled bytes, loads and stores.")
    max_smem_bytes: int | None = Field(default=None, ge=0, description="Shared memory of one CTA.")
    max_conflict_ways: float | None = Field(
        default=None,
        ge=1,
        allow_inf_nan=False,
        description="Wavefronts of one phase of an access to shared memory: 1 is without bank conflicts. "
        "Counted for no collective, and of tma_wgmma for loads into registers.",
    )
    min_ctas_per_sm: int | None = Field(
        default=None, ge=1, description="CTAs that one SM of this architecture holds at a time."
    )


def as_config(value: Any) -> GemmConfig:
    """``value`` if it is a config.

    Raises:
        ConfigError: It is something else, for example a path.
    """
    if isinstance(value, GemmConfig):
        return value
    hint = (
        "load the file with cutegen.load(path)"
        if isinstance(value, (str, bytes)) or hasattr(value, "__fspath__")
        else "make one with cutegen.GemmConfig(...) or cutegen.loads(text)"
    )
    raise ConfigError(f"the config must be a GemmConfig (got {type(value).__name__}); {hint}")


class GemmConfig(_Model):
    """D(m,n) = alpha * sum_k A(m,k) * B(n,k) + beta * C(m,n) as one CuTe kernel."""

    arch: ArchName = Field(
        description="Feature level of the kernel; the binary may target a newer GPU (--target). The "
        "multistage mainloop is mma.sync on every one of them, sm_90a too."
    )
    mainloop: Annotated[MainloopName | None, Auto] = Field(
        default=None,
        description="multistage: tensor cores, fed from a ring of k-tiles in shared memory; direct: tensor "
        "cores, fed from global memory; simt: CUDA cores, fed from shared memory; tma_wgmma: warpgroups, fed "
        "by bulk copies, on sm_90a; collective: the kernel that CUTLASS's collective builders make, from "
        "sm_90a on. Default tma_wgmma where it works, else multistage, or simt where no tensor core has the "
        "types.",
    )
    a: Operand = Field(description="Operand A, (M,K).")
    b: Operand = Field(description="Operand B, (N,K).")
    c: Annotated[Output, AutoGroup] = Field(
        default=Output(), description="Operand C, (M,N); read only when beta is not 0."
    )
    d: Annotated[Output, AutoGroup] = Field(default=Output(), description="Result D, (M,N).")
    accumulator: Annotated[DTypeField | None, Auto] = Field(
        default=None,
        description="Type in which products are summed. Default f32; f64 for f64, s32 for integers.",
    )
    promote: Annotated[int | None, NoneWord] = Field(
        default=None,
        ge=1,
        description="Elements of K, those of one stage, after which CUDA cores add the tensor cores' sums to "
        "f32 accumulators; longer sums of 8-bit floats lose bits (tma_wgmma). Default none.",
    )
    tile: Annotated[tuple[int, int, int] | None, Auto] = Field(
        default=None, description="CTA tile (BLK_M, BLK_N, BLK_K)."
    )
    stages: Annotated[int | None, Auto] = Field(
        default=None,
        description="Slots of the shared-memory ring buffer. Left out for collective: as many as fit, which "
        "CUTLASS counts.",
    )
    cluster: Annotated[tuple[int, int, int] | None, Auto] = Field(
        default=None,
        description="CTAs of a cluster along M, N and 1; they share loads by multicast (tma_wgmma, "
        "collective).",
    )
    schedule: Annotated[ScheduleName | None, Auto] = Field(
        default=None,
        description="Consumer warpgroups share a tile (cooperative) or take turns, each with a tile of its "
        "own (pingpong); tma_wgmma and collective. One consumer alone: warp_specialized (collective).",
    )
    fast_accumulation: Annotated[bool | None, Auto] = Field(
        default=None,
        description="8-bit floats on sm_90a: sum in the tensor core alone, which keeps 14 bits of each "
        "product (true, the default), or add its sums up in f32 every few k-blocks (false, collective).",
    )
    swap_ab: Annotated[bool | None, Auto] = Field(
        default=None,
        description="Whether wgmma computes D^T = B * A^T: its 64 rows lie along N, BLK_M may be as small as "
        "8 (tma_wgmma). Default false, but true where BLK_M is no multiple of 64 and BLK_N is.",
    )
    tiled_mma: Annotated[TiledMma, AutoGroup] = TiledMma()
    smem: Annotated[SmemPair, AutoGroup] = SmemPair()
    g2s: Annotated[CopyPair, AutoGroup] = CopyPair()
    s2r: Annotated[S2RPair, AutoGroup] = S2RPair()
    epilogue: Annotated[Epilogue, AutoGroup] = Epilogue()
    scheduler: Annotated[Scheduler, AutoGroup] = Scheduler()
    pdl: Annotated[bool | None, Auto] = Field(
        default=None,
        description="Programmatic dependent launch: the kernel may start while the one before it in the "
        "stream still runs, and waits for its end before it reads or writes anything but constant operands "
        "(tma_wgmma). Default false.",
    )
    min_blocks: Annotated[int | None, Auto] = Field(
        default=None,
        ge=1,
        description="CTAs per SM that the register budget must allow (second launch bound).",
    )
    fragment_buffers: Annotated[Literal[1, 2] | None, Auto] = Field(
        default=None,
        description="k-blocks of fragments in registers; 2 loads one while the other is multiplied.",
    )
    limits: Annotated[Limits, AutoGroup] = Limits()

    def operand(self, which: Literal["a", "b"]) -> Operand:
        """Operand A or B by name."""
        return self.a if which == "a" else self.b

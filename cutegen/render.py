"""Turn a plan into the text of one complete, readable ``.cu`` file."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

import jinja2

from cutegen import settings
from cutegen.arch import ArchName
from cutegen.collective_context import collective_context
from cutegen.dtypes import dtype
from cutegen.errors import ConfigError
from cutegen.idiomatic import idiomatic_context
from cutegen.launch_spec import LaunchSpec, OperandSpec
from cutegen.layout.algebra import Layout
from cutegen.loader import dump
from cutegen.plan import CollectivePlan, KernelPlan, OperandPlan, Plan, WgmmaPlan
from cutegen.resources import swizzle_of
from cutegen.vectors import bias_type, formula, vectors_of
from cutegen.version import __version__
from cutegen.wgmma_context import wgmma_context, wgmma_sums, wgmma_vectors

__all__ = [
    "LaunchSpec",
    "OperandSpec",
    "RenderedKernel",
    "Style",
    "context",
    "environment",
    "render",
    "styles_of",
    "template_root",
]

Style = Literal["resolved", "idiomatic"]


def styles_of(mainloop: str | None) -> tuple[Style, ...]:
    """The styles in which a mainloop is rendered."""
    return ("resolved",) if mainloop in ("tma_wgmma", "collective") else get_args(Style)


@dataclass(frozen=True, kw_only=True)
class RenderedKernel:
    """One rendered kernel.

    Attributes:
        name: File stem, a C identifier.
        text: The complete CUDA C++ source.
        style: ``resolved`` or ``idiomatic``.
        arch: Feature level that the text needs.
        launch: How to launch it.
    """

    name: str
    text: str
    style: Style
    arch: ArchName
    launch: LaunchSpec


def template_root() -> Path:
    """The directory of the templates: beside this module in a wheel, at top level in a checkout."""
    packaged = Path(__file__).parent / "templates"
    return packaged if packaged.is_dir() else Path(__file__).parent.parent / "templates"


class _CompiledTemplates(jinja2.BytecodeCache):
    """Keeps compiled templates beside the kernels: compiling them costs as much as all the rest.

    It is an optimisation and never an error: what cannot be read or written is compiled again.
    Jinja checks each entry against the template's text and its own and Python's version.
    """

    def load_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        with suppress(OSError, ConfigError, EOFError, ValueError, TypeError):
            bucket.bytecode_from_string((settings.cache_dir() / "templates" / bucket.key).read_bytes())

    def dump_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        with suppress(OSError, ConfigError):
            directory = settings.cache_dir() / "templates"
            directory.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=directory, delete=False) as stream:
                stream.write(bucket.bytecode_to_string())
            Path(stream.name).replace(directory / bucket.key)


def _cxx(value: Any) -> Any:
    return ("true" if value else "false") if isinstance(value, bool) else value


@lru_cache(maxsize=1)
def environment() -> jinja2.Environment:
    """The one strict template environment. Block tags are ``//{% ... %}`` and ``%}`` ends the line."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(template_root()),
        undefined=jinja2.StrictUndefined,
        block_start_string="//{%",
        block_end_string="%}",
        comment_start_string="//{#",
        comment_end_string="#}",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
        bytecode_cache=_CompiledTemplates(),
        finalize=_cxx,
    )


def _operand_context(plan: KernelPlan, operand: OperandPlan) -> dict[str, Any]:
    """What the templates say of one operand."""
    config = plan.config.operand(operand.which)
    element = dtype(config.dtype)
    copy, read, fragments = operand.copy, operand.read, operand.fragments
    buffers = 2 if plan.double_buffer else 1
    shape = fragments.layout.shape
    stride = fragments.layout.stride
    layout = Layout(
        (*(shape if isinstance(shape, tuple) else (shape,)), buffers),
        (*(stride if isinstance(stride, tuple) else (stride,)), fragments.size if buffers > 1 else 0),
    )
    mn = "M" if operand.which == "a" else "N"
    smem = None
    if read is not None and copy.view is not None:
        spec = plan.config.smem.a if operand.which == "a" else plan.config.smem.b
        smem = {
            "swizzle": swizzle_of(spec.swizzle if spec else "none").cxx(),
            "offset": operand.smem_offset,
            "write_thr": copy.view.thread.cxx(),
            "write_step": copy.view.step.cxx(),
            "write_linear": copy.view.linear,
            "write_mask": copy.view.mask,
            "read_thr": read.view.thread.cxx(),
            "read_step": read.view.step.cxx(),
            "read_linear": read.view.linear,
            "read_mask": read.view.mask,
            "s2r": read.op,
            "s2r_copies": read.copies,
            "s2r_vec": read.vector,
            "s2r_width": read.width,
        }
    return {
        "name": operand.which.upper(),
        "mn": mn,
        "comment": f"Operand {operand.which.upper()}: ({mn},K), {config.major}-major.",
        "element": element.cxx,
        "k_major": config.major == "k",
        "fragment": layout.cxx(),
        "atoms_mn": fragments.atoms_mn,
        "atoms_k": fragments.atoms_k,
        "buffer": fragments.size,
        "g2s": copy.op,
        "g2s_async": copy.asynchronous,
        "g2s_vec": copy.vector,
        "g2s_steps": copy.steps,
        "g2s_thr_mn": copy.thread_mn.cxx(),
        "g2s_thr_k": copy.thread_k.cxx(),
        "g2s_step_mn": copy.step_mn.cxx(),
        "g2s_step_k": copy.step_k.cxx(),
        "smem": smem,
    }


def _headers(plan: KernelPlan) -> list[str]:
    """The CuTe headers that the kernel's atoms need."""
    headers = {plan.atom.header}
    if plan.config.mainloop != "direct":
        headers.add("cute/arch/copy_sm80.hpp")  # cp_async_fence and cp_async_wait
    for operand in (plan.a, plan.b):
        ops = [operand.copy.op, operand.read.op if operand.read else ""]
        for op in ops:
            if op.startswith("SM80_CP_ASYNC"):
                headers.add("cute/atom/copy_traits_sm80.hpp")
            elif op.startswith("SM75_"):
                headers.add("cute/atom/copy_traits_sm75.hpp")
            elif op:
                headers.add("cute/atom/copy_traits.hpp")
    return sorted(headers)


def context(plan: Plan, style: Style) -> dict[str, Any]:
    """Every variable that the templates may use, typed and complete."""
    if isinstance(plan, CollectivePlan):
        return collective_context(plan)
    cfg, output = plan.config, plan.output
    if isinstance(plan, WgmmaPlan):
        own = wgmma_context(plan)
        cfg, output = plan.product, output.transposed() if plan.config.swap_ab else output
    else:
        own = _context(plan, style)
    own["out"] |= {
        "thr_m": output.thread_m.cxx(),
        "thr_n": output.thread_n.cxx(),
        "reg_m": output.register_m.cxx(),
        "reg_n": output.register_n.cxx(),
        "registers": output.registers,
        "vec": output.vector,
        "c_n_major": cfg.c.major == "n",
        "d_n_major": cfg.d.major == "n",
        "c_vec": plan.c_vector,
        "d_vec": plan.d_vector,
    }
    if cfg.epilogue.store == "direct" and style == "resolved":
        own["headers"] = sorted({*own["headers"], "cutlass/arch/memory.h"})  # global_store
    blk_m, blk_n, blk_k = cfg.tile or (0, 0, 0)
    return own | {
        "title": f"{plan.name}: {formula(cfg)}",
        "version": __version__,
        "style": style,
        "config_lines": dump(plan.config).rstrip().splitlines(),
        "name": plan.name,
        "kernel": f"{plan.name}_kernel",
        "store": cfg.epilogue.store,
        "element_c": dtype(cfg.c.dtype or "f32").cxx,
        "element_d": dtype(cfg.d.dtype or "f32").cxx,
        "accumulator": dtype(plan.atom.acc).cxx,
        "scale": dtype(plan.scale).cxx,
        "blk_m": blk_m,
        "blk_n": blk_n,
        "blk_k": blk_k,
        "stages": cfg.stages,
        "threads": plan.threads,
        "smem_bytes": plan.smem_bytes,
        "raster_along_m": cfg.scheduler.raster == "m",
        "raster_group": cfg.scheduler.group,
        "fragment_c": plan.fragment_c.cxx(),
        "vectors": _vectors_context(plan),
    }


def _vectors_context(plan: KernelPlan | WgmmaPlan) -> dict[str, Any] | None:
    """What the templates say of scales and bias; None where there are none."""
    cfg = plan.product if isinstance(plan, WgmmaPlan) else plan.config
    if not vectors_of(cfg):
        return None
    own = wgmma_vectors(plan) if isinstance(plan, WgmmaPlan) else _vector_places(plan)
    return own | {
        "scale_a": cfg.epilogue.scale_a,
        "scale_b": cfg.epilogue.scale_b,
        "with_bias": cfg.epilogue.bias is not None,
        "bias_of_rows": any(v.name == "bias" and v.extent == "m" for v in vectors_of(cfg)),
        "bias": dtype(bias_type(cfg.d.dtype or "f32")).cxx,
    }


def _vector_places(plan: KernelPlan) -> dict[str, Any]:
    row, row_m = plan.output.rows
    column, column_n = plan.output.columns
    return {
        "row": row.cxx(),
        "row_m": row_m.cxx(),
        "column": column.cxx(),
        "column_n": column_n.cxx(),
    }


def _context(plan: KernelPlan, style: Style) -> dict[str, Any]:
    """What only the templates of the other mainloops use."""
    cfg = plan.config
    own = {"cute": idiomatic_context(plan)} if style == "idiomatic" else {}
    return own | {
        "headers": _headers(plan),
        "mainloop": cfg.mainloop,
        "min_blocks": cfg.min_blocks,
        "k_blocks": plan.a.fragments.k_blocks,
        "stage_bytes": plan.stage_bytes,
        "smem_align": plan.smem_alignment,
        "double_buffer": plan.double_buffer,
        "simt": plan.atom.is_simt,
        "mma_op": plan.atom.name,
        "operands": [_operand_context(plan, plan.a), _operand_context(plan, plan.b)],
        "out": {
            "c_staged": plan.c_staged,
            "pitch": plan.pitch,
            "column_by_column": False,
        },
    }


def _operand_spec(plan: Plan, name: Literal["a", "b", "c", "d"]) -> OperandSpec:
    operand = getattr(plan.config, name)
    element = dtype(operand.dtype)
    modes = {"a": "mk", "b": "nk"}.get(name, "mn")
    return OperandSpec(
        name=name.upper(),
        dtype=element.name,
        bytes=element.bytes,
        align=max(operand.align or 1, element.bytes),
        run=operand.major,
        rows=modes.replace(operand.major, ""),
    )


def render(plan: Plan, *, style: Style = "resolved") -> RenderedKernel:
    """Render a plan in one of the two styles.

    Args:
        plan: What :func:`cutegen.plan.plan` derived.
        style: ``resolved`` compiles quickly and runs fastest; ``idiomatic`` shows the same kernel
            with TiledMMA and TiledCopy, as CuTe users write it.
    """
    if not isinstance(plan, Plan):
        raise ConfigError(f"render takes a KernelPlan, cutegen.plan(config) (got {type(plan).__name__})")
    if style not in get_args(Style):
        raise ConfigError(f"style must be one of {', '.join(get_args(Style))} (got {style!r})")
    mainloop = plan.config.mainloop
    if style not in styles_of(mainloop):
        raise ConfigError(f"mainloop {mainloop} is rendered in the {styles_of(mainloop)[0]} style only")
    top = f"{style if isinstance(plan, KernelPlan) else mainloop}.cu"
    text = environment().get_template(top).render(context(plan, style))
    sums = wgmma_sums(plan) if isinstance(plan, WgmmaPlan) else None
    return RenderedKernel(
        name=plan.name,
        text=text,
        style=style,
        arch=plan.arch,
        launch=LaunchSpec(
            kernel=f"{plan.name}_kernel",
            threads=plan.threads,
            smem_bytes=plan.smem_bytes,
            blk_m=plan.tile[0],
            blk_n=plan.tile[1],
            blk_k=plan.tile[2],
            scale=plan.scale,
            a=_operand_spec(plan, "a"),
            b=_operand_spec(plan, "b"),
            c=_operand_spec(plan, "c"),
            d=_operand_spec(plan, "d"),
            cluster=(1, 1) if isinstance(plan, KernelPlan) else plan.cluster,
            split_k=plan.split_k if isinstance(plan, WgmmaPlan) else 1,
            pdl=bool(plan.config.pdl),
            constant="".join(name for name in "AB" if getattr(plan.config, name.lower()).constant),
            persistent=plan.config.scheduler.kind in ("persistent", "stream_k"),
            maps=plan.maps if isinstance(plan, WgmmaPlan) else (),
            vectors=vectors_of(plan.config),
            host_code=isinstance(plan, CollectivePlan),
            workspace=sums is not None or plan.config.scheduler.kind == "stream_k",
            sums=sums,
        ),
    )

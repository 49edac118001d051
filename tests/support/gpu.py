"""Kernels for the GPU tests, built side by side before the first of them runs, and exact runs of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from random import Random
from typing import Any

import pytest

import cutegen
from cutegen.building import try_build_many
from cutegen.config import GemmConfig
from cutegen.dtypes import dtype
from cutegen.errors import CutegenError
from cutegen.kernel import Kernel
from cutegen.loader import dump
from cutegen.reference import Report, check, exact_inputs

__all__ = [
    "EXTENTS",
    "Case",
    "Pool",
    "all_cases",
    "families",
    "fits",
    "gemm_config",
    "guarded_output",
    "latin_shapes",
    "run_exact",
    "runs_wgmma",
]

EXTENTS = (1, 7, 16, 100, 128, 136, 1000, 4097)

#: A pattern that no result has, as the bits of one element: NaN, or the least integer.
_SENTINEL = {
    "f16": 0x7E00,
    "bf16": 0x7FC0,
    "f32": 0x7FC0_0000,
    "tf32": 0x7FC0_0000,
    "f64": 0x7FF8 << 48,
    "s8": -128,
    "u8": 255,
    "s32": -(2**31),
    "e4m3": 0x7F,
    "e5m2": 0x7F,
}


@dataclass(frozen=True)
class Case:
    """One kernel of the tests; the config is made only when it is asked for."""

    name: str
    make: Callable[[], GemmConfig]

    def __str__(self) -> str:
        return self.name

    @cached_property
    def config(self) -> GemmConfig:
        """The resolved config."""
        return cutegen.resolve(self.make())


class Pool:
    """The kernels that the collected tests need, built together at the first request."""

    def __init__(self, **options: Any) -> None:
        self.options = options
        self._wanted: dict[GemmConfig, None] = {}
        self._built: dict[GemmConfig, Kernel | CutegenError] = {}

    def want(self, configs: Iterable[GemmConfig]) -> None:
        """Ask for kernels ahead of time."""
        self._wanted.update((cutegen.resolve(config), None) for config in configs)

    def build(self) -> dict[GemmConfig, Kernel | CutegenError]:
        """Build all that is wanted and not built."""
        missing = [config for config in self._wanted if config not in self._built]
        if missing:
            built = try_build_many(missing, **self.options)
            self._built.update(zip(missing, built, strict=True))
        return self._built

    def __call__(self, config: GemmConfig) -> Kernel:
        """The kernel of a config; a failed build fails the test that needs it."""
        self.want([config])
        kernel = self.build()[cutegen.resolve(config)]
        if isinstance(kernel, CutegenError):
            raise AssertionError(f"{kernel}\n{dump(cutegen.resolve(config))}")
        return kernel


def gemm_config(
    a: str,
    acc: str | None = None,
    d: str | None = None,
    *,
    majors: str = "kkn",
    align: int | None = None,
    arch: str = "sm_80",
    b: str | None = None,
    **fields: Any,
) -> GemmConfig:
    """A config by types, majors of A, B and D, and one alignment for all (None: 16 bytes)."""

    def side(kind: str | None, major: str) -> dict[str, Any]:
        least = dtype(kind).bytes if kind else 1  # type: ignore[arg-type]
        return {"dtype": kind, "major": major, "align": None if align is None else max(align, least)}

    data: dict[str, Any] = {
        "arch": arch,
        "a": side(a, majors[0]),
        "b": side(b or a, majors[1]),
        "d": side(d, majors[2]),
        "accumulator": acc,
        **fields,
    }
    if d is None and align is not None:
        natural = cutegen.resolve(GemmConfig.model_validate({**data, "d": {"major": majors[2]}})).d.dtype
        data["d"] = side(natural, majors[2])
    return GemmConfig.model_validate(data)


#: Element types with their accumulator, output and least architecture.
TYPES = (
    ("f16", "f32", "f16", "sm_80"),
    ("f16", "f16", "f16", "sm_80"),
    ("bf16", "f32", "bf16", "sm_80"),
    ("tf32", "f32", "f32", "sm_80"),
    ("f64", "f64", "f64", "sm_80"),
    ("s8", "s32", "s32", "sm_80"),
    ("u8", "s32", "s32", "sm_80"),
    ("e4m3", "f32", "bf16", "sm_89"),
    ("e5m2", "f32", "f16", "sm_89"),
    ("f16", "f32", "f32", "sm_75"),
    ("s8", "s32", "s32", "sm_75"),
)
SIMT = (("f32", "f32", "f32", "sm_80"), ("f64", "f64", "f64", "sm_80"), ("f16", "f32", "f16", "sm_75"))
LAYOUTS = {"tn": "kkn", "tt": "knm", "nn": "mkn", "nt": "mnm"}  # d.major varies along


def all_cases() -> list[Case]:
    """Every mainloop, element type and layout, aligned and not, as far as the rules accept it."""
    cases = []
    for mainloop, types in (("multistage", TYPES), ("direct", TYPES), ("simt", SIMT)):
        for a, acc, d, arch in types:
            for label, majors in LAYOUTS.items():
                every = (a, acc, d) == ("f16", "f32", "f16") and mainloop != "simt"
                for align in (16, 8, 4, 1) if every else (16, 1):
                    config = gemm_config(a, acc, d, majors=majors, align=align, arch=arch, mainloop=mainloop)
                    if not cutegen.check(config):
                        name = f"{mainloop}-{arch}-{a}-{acc}-{d}-{label}-align{align}"
                        cases.append(Case(name, partial(_same, config)))
    return cases


def _same(config: GemmConfig) -> GemmConfig:
    return config


def latin_shapes(seed: int, extents: Sequence[int] = EXTENTS) -> list[tuple[int, int, int]]:
    """Shapes (M, N, K) in which each two extents meet at each two places once."""
    order = Random(seed).sample(extents, len(extents))
    count = len(extents)
    return [(extents[i], extents[j], order[(i + j) % count]) for i in range(count) for j in range(count)]


def runs_wgmma() -> bool:
    """Whether the GPU here has wgmma; without a GPU it counts as one that has."""
    from cutegen.device import gpus

    return not gpus() or gpus()[0].cc == 90


def families(**fields: Any) -> pytest.MarkDecorator:
    """A parameter ``case``: a kernel of each family whose launch differs, as far as the GPU here runs it."""
    cases = [Case("multistage", lambda: gemm_config("f16", d="f16", **fields))]
    if runs_wgmma():
        hopper = {"arch": "sm_90a", "cluster": (2, 1, 1), **fields}
        cases.append(Case("tma_wgmma", lambda: gemm_config("f16", d="f16", **hopper)))
    return pytest.mark.parametrize("case", cases, ids=str)


def fits(config: GemmConfig, m: int, n: int, k: int) -> bool:
    """Whether contiguous operands of a problem are aligned as a config says; only their runs matter."""
    runs = {
        "a": k if config.a.major == "k" else m,
        "b": k if config.b.major == "k" else n,
        "d": n if config.d.major == "n" else m,
        "c": n if config.c.major == "n" else m,
    }
    return all(
        run * dtype(getattr(config, field).dtype).bytes % getattr(config, field).align == 0
        for field, run in runs.items()
    )


def guarded_output(
    config: GemmConfig, m: int, n: int, device: str = "cuda:0"
) -> tuple[Any, Callable[[], None]]:
    """D of a pattern that no result has, amid memory of that pattern, and a check that it is unharmed.

    The check overwrites D.
    """
    import torch

    kind = dtype(config.d.dtype or "f32")
    integer = getattr(torch, {1: "int8", 2: "int16", 4: "int32", 8: "int64"}[kind.bytes])
    sentinel = _SENTINEL[kind.name]
    if sentinel >= 2 ** (kind.bits - 1):
        sentinel -= 2**kind.bits
    vector = 16 // kind.bytes
    rows, columns = (m, n) if config.d.major == "n" else (n, m)
    pitch = (-(-columns // vector) + 2) * vector
    bits = torch.full((rows + 2, pitch), sentinel, dtype=integer, device=device)
    inner = bits[1 : rows + 1, vector : vector + columns]
    out = inner.view(getattr(torch, kind.torch))

    def unharmed() -> None:
        inner.fill_(sentinel)
        wrong = (bits != sentinel).nonzero()
        assert not wrong.numel(), (
            f"wrote outside D, first at row {wrong[0][0] - 1}, column {wrong[0][1] - vector}"
        )

    return (out if config.d.major == "n" else out.t()), unharmed


def thread_table(config: GemmConfig) -> Callable[[int, int], int]:
    """From (row, column) in the CTA tile to the thread that accumulates that element."""
    owners: dict[tuple[int, int], int] = {}

    def find(row: int, column: int) -> int:
        if not owners:
            out = cutegen.plan(config).output
            registers = list(zip(out.register_m.table(), out.register_n.table(), strict=True))
            for thread, (m, n) in enumerate(zip(out.thread_m.table(), out.thread_n.table(), strict=True)):
                owners.update({(m + dm, n + dn): thread for dm, dn in registers})
        return owners[row, column]

    return find


def require(report: Report, config: GemmConfig) -> None:
    """Fail with the config, the first wrong element and a repro."""
    if not report.ok:
        raise AssertionError(f"{report}\nconfig.yaml:\n{dump(config)}")


def run_exact(
    kernel: Kernel,
    m: int,
    n: int,
    k: int,
    *,
    seed: int = 0,
    alpha: float = 1.0,
    beta: float = 0.0,
    device: str = "cuda:0",
) -> None:
    """Run a kernel on exact inputs into a guarded D and compare bit for bit with float64."""
    config = kernel.config
    inputs = exact_inputs(config, m, n, k, seed=seed, with_c=beta != 0, device=device)
    out, unharmed = guarded_output(config, m, n, device)
    kernel(inputs.a, inputs.b, inputs.c, out, alpha, beta, **inputs.vectors, b_is="nk")
    sizes = f"--m {m} --n {n} --k {k} --seed {seed} --alpha {alpha:g} --beta {beta:g}"
    report = check(
        config,
        out,
        inputs.a,
        inputs.b,
        inputs.c,
        alpha=alpha,
        beta=beta,
        **inputs.vectors,
        thread_of=thread_table(config),
        repro=f"cutegen run config.yaml {sizes}",
    )
    require(report, config)
    unharmed()

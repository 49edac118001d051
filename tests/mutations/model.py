"""What a mutation is, the kernels that are mutated, and how one runs."""

from __future__ import annotations

import dataclasses
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from cutegen import emulator
from cutegen.config import GemmConfig
from cutegen.emulator import EmulatorReport
from cutegen.emulator.program import compile_program
from cutegen.errors import LaunchError
from cutegen.loader import load
from cutegen.plan import plan
from cutegen.render import RenderedKernel, render
from cutegen.toolchain.headers import find_cutlass
from tests.support.emulated import Problem
from tests.support.tutorial_main import checking_main
from tests.support.wgmma_variants import VARIANTS

__all__ = ["KERNELS", "Kernel", "Mutation", "Outcome", "source_of", "try_mutation"]

ROOT = Path(__file__).parents[2]
TUTORIALS = "examples/cute/tutorial"


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """A kernel that is mutated.

    Attributes:
        title: What the page calls it.
        example: A config of ``examples/``; empty for a variant or a tutorial.
        variant: A config of ``tests/support/wgmma_variants.py``.
        stages: Stages instead of the example's.
        tile: CTA tile instead of the example's.
        style: Style of the rendering.
        tutorial: A file of CUTLASS's tutorials; empty for a config.
        arch: What a tutorial is compiled for; of a config, where its binary runs.
        element: Its element type in C++.
        transposed: Which of (NT, TN) it has.
        k: K of a tutorial's problem; M is 256 and N is 128.
        repairs: Changes that make a tutorial clean first.
        gpu_shape: (M, N, K) on a GPU, where that of a mutation has no second tile for any of its SMs.
    """

    title: str
    example: str = ""
    variant: str = ""
    stages: int | None = None
    tile: tuple[int, int, int] | None = None
    style: str = "resolved"
    tutorial: str = ""
    arch: str = "sm_80"
    element: str = "cute::half_t"
    transposed: tuple[int, ...] = (0, 1)
    k: int = 192
    repairs: tuple[tuple[str, str], ...] = ()
    gpu_shape: tuple[int, int, int] | None = None

    def config(self) -> GemmConfig:
        """The config of a kernel that cutegen renders."""
        if self.variant:
            return VARIANTS[self.variant]
        config = load(ROOT / "examples" / f"{self.example}.yaml")
        changes = {name: value for name in ("stages", "tile") if (value := getattr(self, name))}
        return config.model_copy(update=changes)


_FENCES = (
    "#include <cute/tensor.hpp>\n",
    "#include <cute/tensor.hpp>\n#include <cutlass/arch/barrier.h>\n",
)
_ARRIVED = (
    "    cp_async_wait<0>();\n",
    "    cp_async_wait<0>();\n    cutlass::arch::fence_view_async_shared();\n    __syncthreads();\n",
)
KERNELS: dict[str, Kernel] = {
    "multistage": Kernel(title="multistage, sm_80, 3 stages", example="multistage"),
    "one-stage": Kernel(title="multistage, sm_80, 1 stage", example="multistage", stages=1),
    "idiomatic": Kernel(
        title="multistage, sm_80, idiomatic style", example="multistage", tile=(32, 32, 32), style="idiomatic"
    ),
    "sm75": Kernel(title="multistage, sm_75, staged in registers", example="sm75_f16"),
    "direct": Kernel(title="direct, sm_80", example="simple"),
    "simt": Kernel(title="simt, sm_80", example="gemm_device"),
    **{
        name: Kernel(title=f"tma_wgmma, {title}", variant=variant, arch="sm_90a")
        for name, variant, title in (
            ("pingpong", "pingpong_odd_columns", "pingpong, 128x176x64, 5 stages"),
            ("cluster", "cluster_of_four", "cooperative, cluster of 2x2"),
            ("mn-major", "cluster_along_n", "cooperative, A and B MN-major, cluster of 1x2"),
            ("m-major", "m_major", "pingpong, D M-major"),
            ("m-major-cooperative", "m_major_odd_columns", "cooperative, D M-major"),
            ("f32-out", "f16_to_f32", "D of f32"),
            ("narrow", "narrowest", "BLK_N 8"),
            ("swapped", "swapped_16_rows", "operands swapped, BLK_M 16"),
            ("split", "split_in_two", "cooperative, K split in two"),
            ("split-in-three", "split_in_three_static", "operands swapped, K split in three"),
            ("stream-k", "stream_k", "cooperative, stream-K"),
            ("semaphore", "semaphore_in_two", "cooperative, K split in two, sums in global memory"),
            (
                "semaphore-dependent",
                "semaphore_swapped_pdl",
                "K split in four, sums in global memory, dependent launch",
            ),
            ("registers", "registers_pingpong", "pingpong, A in registers"),
            ("registers-three", "registers_three_consumers", "three consumers, A in registers"),
            ("dependent", "pdl_b_ahead", "operands swapped, dependent launch, B loaded ahead"),
        )
    },
    "overlap": Kernel(
        title="tma_wgmma, cooperative, stored beside the next tile",
        variant="overlap_odd_columns",
        arch="sm_90a",
        gpu_shape=(5760, 2816, 208),
    ),
    "sgemm_1": Kernel(title="CuTe tutorial sgemm_1.cu", tutorial="sgemm_1.cu", element="float"),
    "sgemm_2": Kernel(title="CuTe tutorial sgemm_2.cu", tutorial="sgemm_2.cu", element="float"),
    "sgemm_sm80": Kernel(title="CuTe tutorial sgemm_sm80.cu", tutorial="sgemm_sm80.cu", transposed=(1,)),
    "wgmma": Kernel(
        title="CuTe tutorial wgmma_sm90.cu, mended",
        tutorial="hopper/wgmma_sm90.cu",
        arch="sm_90a",
        k=384,
        repairs=(_FENCES, _ARRIVED),
    ),
    "wgmma_tma": Kernel(
        title="CuTe tutorial wgmma_tma_sm90.cu", tutorial="hopper/wgmma_tma_sm90.cu", arch="sm_90a", k=384
    ),
}


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """A change of a kernel's text, and what must be reported.

    Attributes:
        name: For the test's id and the page.
        kernel: Key of :data:`KERNELS`.
        fault: What is wrong, in words.
        old: Text that is there ``count`` times.
        new: What takes its place.
        kinds: Kinds of which at least one must be found; ``conflicts`` stands for a cost above the ideal one,
            ``numbers`` for wrong numbers and nothing else to find.
        at: Text of a line that a finding of such a kind must name; empty: any line of the kernel.
        count: How often the old text stands there.
        shape: (M, N, K).
        beta: Factor of C.
        seed: Order of threads in which it is looked for.
        unfound: Why nothing is found, and the numbers are right; empty for what must be found.
        gap: Whether it is a fault all the same: something that the emulator does not model.
    """

    name: str
    kernel: str = "multistage"
    fault: str
    old: str
    new: str
    kinds: tuple[str, ...] = ()
    at: str = ""
    count: int = 1
    shape: tuple[int, int, int] = (128, 128, 128)
    beta: float = 0.0
    seed: int = 0
    unfound: str = ""
    gap: bool = False


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What one mutation showed.

    Attributes:
        kind: The first kind found among those that must be; empty when none was.
        line: The line of the kernel that it names; 0 for wrong numbers, which have none.
        text: That line.
        right: Whether the numbers were right in the plain order of threads.
        rights: In how many of the orders they were.
        orders: How many were run.
        found: All findings, in words.
    """

    kind: str
    line: int
    text: str
    right: bool
    rights: int
    orders: int
    found: tuple[str, ...]

    @property
    def clean(self) -> bool:
        """Whether nothing shows, neither a finding nor a wrong number."""
        return not self.found and self.right


@cache
def _rendered(kernel: Kernel) -> RenderedKernel:
    return render(plan(kernel.config()), style=kernel.style)  # type: ignore[arg-type]


def source_of(kernel: Kernel) -> str:
    """The text of a kernel without a fault; a tutorial comes with a ``main`` that checks its numbers.

    Raises:
        FileNotFoundError: This CUTLASS has no such tutorial.
    """
    if not kernel.tutorial:
        return _rendered(kernel).text
    path = find_cutlass()[0].include.parent / TUTORIALS / kernel.tutorial
    text = re.sub(r"\bint\s+main\s*\(", "int tutorial_main(", path.read_text(encoding="utf-8"))
    for old, new in kernel.repairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text + checking_main(kernel.element, kernel.transposed, kernel.k)


def mutated(mutation: Mutation) -> str:
    """The text with the fault."""
    text = source_of(KERNELS[mutation.kernel])
    found = text.count(mutation.old)
    assert found == mutation.count, f"{mutation.name}: {mutation.old!r} stands {found} times"
    return text.replace(mutation.old, mutation.new)


Run = Callable[..., tuple[EmulatorReport | None, bool]]


def _runner(mutation: Mutation, text: str) -> Run:
    """Compiles; the function runs it and tells whether the numbers are right."""
    kernel = KERNELS[mutation.kernel]
    if not kernel.tutorial:
        compiled = emulator.compile(dataclasses.replace(_rendered(kernel), text=text))

        def run(**options: Any) -> tuple[EmulatorReport | None, bool]:
            problem = Problem(kernel.config(), *mutation.shape, beta=mutation.beta)
            report = problem.run(compiled, processes=1, timeout=120, **options)
            return report, problem.exact

        return run
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / Path(kernel.tutorial).name
        path.write_text(text, encoding="utf-8")
        program = compile_program(path, arch=kernel.arch)

    def run_program(**options: Any) -> tuple[EmulatorReport | None, bool]:
        report = program.run(processes=1, timeout=120, **options)
        return report, report.status == 0

    return run_program


def try_mutation(mutation: Mutation, *, orders: int = 0) -> Outcome:
    """Compile a mutation, run it with all checks, and for its numbers in several orders of threads."""
    text = mutated(mutation)
    lines = text.splitlines()
    run = _runner(mutation, text)
    report, right = run()
    if mutation.seed:
        report, _ = run(seed=mutation.seed)
    assert report is not None
    own = Path(KERNELS[mutation.kernel].tutorial).name or f"{report.kernel}.cu"
    kind, line = "", 0
    for finding in report.findings:
        if finding.kind in mutation.kinds and finding.place.file == own:
            shown = lines[finding.place.line - 1] if 0 < finding.place.line <= len(lines) else ""
            if mutation.at in shown and not kind:
                kind, line = finding.kind, finding.place.line
    if "conflicts" in mutation.kinds and report.clean:
        for t in report.traffic:
            if t.space == "shared" and t.degree > 1 and t.place.file == own and not kind:
                kind, line = f"conflicts {t.degree:.2f}x", t.place.line
    if "numbers" in mutation.kinds and report.clean and not right:
        kind = "numbers"
    rights = 0
    for seed in range(orders):
        try:
            _, good = run(sanitize=False, seed=seed)
        except LaunchError:
            good = False
        rights += good
    return Outcome(
        kind=kind,
        line=line,
        text=lines[line - 1].strip() if line else "",
        right=right,
        rights=rights,
        orders=orders,
        found=tuple(str(f) for f in report.findings),
    )

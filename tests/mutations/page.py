"""``docs/mutations.md``: what each mutation showed, as a table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.mutations.model import KERNELS, ROOT, Mutation, Outcome

__all__ = ["GPU_RESULTS", "PAGE", "RESULTS", "page", "read_results", "row", "write_results"]

PAGE = ROOT / "docs" / "mutations.md"
RESULTS = ROOT / "docs" / "benchmarks" / "results" / "mutations.json"
GPU_RESULTS = ROOT / "docs" / "benchmarks" / "results" / "mutations_gpu.json"

_HEAD = """\
# Mutations

<!-- Written by `python -m tests.mutations`; edit the tables in tests/mutations/ instead. -->

{count} faults are put into kernels, one at a time: every barrier, wait, fence, offset, predicate, swizzle and
count in turn. The emulator names {named} of them by kind and line; {numbers} show only as wrong numbers.
`tests/emulated/test_emulator_mutations.py` keeps it so. The kernels are those that cutegen renders, and
CUTLASS's CuTe tutorials as they come (`wgmma_sm90.cu` has two faults of its own, which are mended first:
[emulate.md](emulate.md)).

In {lucky} of the {count}, the numbers are right all the same in the plain order of threads, and in {always}
in all {orders} orders that were run: what finds them is the order of events, not a wrong result. `numbers` in
the column *found* stands for a fault that shows in wrong numbers only: reading the wrong place is no race.
`conflicts` stands for a fault that costs time only, which the counts of wavefronts show.

{gaps} more faults are known that the emulator does not find; they stand at the end, with changes that look
like faults and are none, and a test tells when one of them is found after all.

Two changes of `wgmma_tma_sm90.cu` are no faults here, and not in the table: to release a stage before
`warpgroup_wait`, or not to wait for its release. One warpgroup is both consumer and producer there, and in
the emulator its wait ends when the products of all its warps are done, so the order is kept all the same.
{gpu}
"""
_GPU = """
*GPU* says in how many of {runs} runs the numbers were right on a {name} (CUDA 13.0,
`docs/benchmarks/mutations_gpu.py`); a run that hangs counts as not right. {measured} of the faults have been
run there: {always} of them gave right numbers each time, so a test that only compares numbers does not find
them, and {sometimes} did so in some of the runs.
"""
_NO_GPU = """
Whether a GPU gives right numbers is not in the table yet: `docs/benchmarks/mutations_gpu.py` builds and runs
each mutation on one and writes `docs/benchmarks/results/mutations_gpu.json`, from which
`python -m tests.mutations --page` adds the column.
"""


_UNFOUND = (
    (True, "Faults that are not found", "what the emulator does not model"),
    (False, "Changes that are no faults", "why"),
)


def row(outcome: Outcome) -> dict[str, Any]:
    """What is kept of an outcome."""
    return {**asdict(outcome), "found": len(outcome.found)}


def write_results(rows: Mapping[str, Any], path: Path | None = None) -> None:
    """Keep what was seen, by name of the mutation."""
    (path or RESULTS).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def read_results(path: Path | None = None) -> dict[str, Any]:
    """What was seen, by name of the mutation."""
    path = path or RESULTS
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}


def _gpu_text(gpu: Mapping[str, Any], rights: Sequence[int]) -> str:
    return _GPU.format(
        name=gpu["gpu"],
        runs=gpu["runs"],
        measured=len(rights),
        always=rights.count(gpu["runs"]),
        sometimes=sum(0 < right < gpu["runs"] for right in rights),
    )


def page(mutations: Sequence[Mutation]) -> str:
    """The page, from what was seen last.

    Raises:
        KeyError: A mutation was never run.
    """
    seen, gpu = read_results(), read_results(GPU_RESULTS)
    unfound = [m for m in mutations if m.unfound]
    faults = [m for m in mutations if not m.unfound]
    results = [seen[m.name] for m in faults]
    orders = results[0]["orders"]
    text = _HEAD.format(
        count=len(faults),
        gaps=sum(m.gap for m in unfound),
        named=sum(r["kind"] != "numbers" for r in results),
        numbers=sum(r["kind"] == "numbers" for r in results),
        lucky=sum(r["right"] for r in results),
        always=sum(r["rights"] == orders for r in results),
        orders=orders,
        gpu=_gpu_text(gpu, [gpu["right"][m.name] for m in faults if m.name in gpu["right"]])
        if gpu
        else _NO_GPU,
    )
    for key, kernel in KERNELS.items():
        rows = [m for m in faults if m.kernel == key]
        text += f"\n## {kernel.title}\n\n"
        head = ["fault", "found", "line", "plain order", f"{orders} orders", *(["GPU"] if gpu else [])]
        text += f"| {' | '.join(head)} |\n|{'---|' * len(head)}\n"
        for m in rows:
            r = seen[m.name]
            line = f"{r['line']}: `{_code(r['text'])}`" if r["line"] else "D"
            cells = [
                m.fault,
                f"`{r['kind']}`",
                line,
                "right" if r["right"] else "wrong",
                f"{r['rights']} right",
            ]
            if gpu:
                cells.append(f"{gpu['right'].get(m.name, '')}")
            text += f"| {' | '.join(cells)} |\n"
    for gap, title, column in _UNFOUND:
        head = ["kernel", "change", column, f"{orders} orders", *(["GPU"] if gpu else [])]
        text += f"\n## {title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}\n"
        for m in (m for m in unfound if m.gap == gap):
            cells = [KERNELS[m.kernel].title, m.fault, m.unfound, f"{seen[m.name]['rights']} right"]
            cells += [f"{gpu['right'].get(m.name, '')}"] if gpu else []
            text += f"| {' | '.join(cells)} |\n"
    return text


def _code(text: str) -> str:
    text = text.replace("|", "\\|")
    return text if len(text) <= 60 else text[:57] + "..."

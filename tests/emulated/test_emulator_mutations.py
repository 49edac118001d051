"""Faults put into kernels, each of which the sanitizer must name at the right line.

Some give right numbers on a GPU, and some even here: what finds them is the order of events, not luck.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from cutegen import emulator
from cutegen.emulator import emulate
from cutegen.plan import plan
from cutegen.render import render
from tests.mutations.__main__ import main
from tests.mutations.model import KERNELS, Mutation, Outcome, mutated, source_of, try_mutation
from tests.mutations.page import PAGE, page, read_results, row, write_results
from tests.mutations.table import FAULTS, MUTATIONS, UNFOUND
from tests.support.emulated import Problem

pytestmark = pytest.mark.emulated


def group_of(mutation: Mutation) -> tuple[str, ...]:
    """Faults that stand for one another: those of one family of kernels that show in the same way."""
    kernel = KERNELS[mutation.kernel]
    if kernel.tutorial or kernel.style == "idiomatic":  # CuTe's templates take the compiler long
        return (mutation.kernel,)
    return ("tma_wgmma" if kernel.variant else kernel.style, mutation.kinds[0])


def sampled(mutations: Iterable[Mutation]) -> list[Any]:
    """The first fault of each kernel and of each group; ``-m slow`` has the others."""
    kernels: set[str] = set()
    groups: set[tuple[str, ...]] = set()
    params = []
    for mutation in mutations:
        rest = mutation.kernel in kernels and group_of(mutation) in groups
        params.append(pytest.param(mutation, id=mutation.name, marks=[pytest.mark.slow] * rest))
        kernels.add(mutation.kernel)
        groups.add(group_of(mutation))
    return params


def test_the_sample_has_every_kernel_and_kind() -> None:
    sample = [param.values[0] for param in sampled(FAULTS) if not param.marks]
    assert {m.kernel for m in sample} == {m.kernel for m in FAULTS}
    assert {m.kinds[0] for m in sample} == {m.kinds[0] for m in FAULTS}
    assert len(sample) >= 40


@pytest.mark.parametrize("mutation", sampled(FAULTS))
def test_fault_is_found(mutation: Mutation) -> None:
    kernel = KERNELS[mutation.kernel]
    try:
        source_of(kernel)
    except FileNotFoundError:
        pytest.skip(f"this CUTLASS has no {kernel.tutorial}")
    outcome = try_mutation(mutation)
    found = "\n".join(outcome.found)
    assert outcome.kind, f"nothing of {mutation.kinds} at {mutation.at!r} among:\n{found}"


@pytest.mark.slow
@pytest.mark.parametrize("mutation", UNFOUND, ids=lambda m: m.name)
def test_what_is_not_found_is_known(mutation: Mutation) -> None:
    outcome = try_mutation(mutation)
    assert outcome.clean, f"it is found now, so move it to the faults: {outcome.found}"


@pytest.mark.slow  # test_emulator_programs.py runs the same ones
@pytest.mark.parametrize("name", [name for name, kernel in KERNELS.items() if kernel.tutorial])
def test_a_tutorial_without_a_fault_is_clean(name: str, tmp_path: Path) -> None:
    kernel = KERNELS[name]
    try:
        text = source_of(kernel)
    except FileNotFoundError:
        pytest.skip(f"this CUTLASS has no {kernel.tutorial}")
    path = tmp_path / kernel.tutorial.rsplit("/", 1)[-1]
    path.write_text(text, encoding="utf-8")
    report = emulate(path, arch=kernel.arch, processes=1)
    assert report.status == 0
    assert report.clean, report.summary()


def test_the_page_lists_every_mutation_and_what_finds_it() -> None:
    seen = read_results()
    assert list(seen) == [m.name for m in MUTATIONS], "run python -m tests.mutations"
    for mutation in FAULTS:
        assert seen[mutation.name]["kind"].split()[0] in mutation.kinds, mutation.name
    for mutation in UNFOUND:
        assert (seen[mutation.name]["found"], seen[mutation.name]["right"]) == (0, True), mutation.name
    assert PAGE.read_text(encoding="utf-8") == page(MUTATIONS), "run python -m tests.mutations --page"
    assert len({m.name for m in MUTATIONS}) == len(MUTATIONS)


def test_a_run_of_one_keeps_what_the_others_showed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    before = {m.name: {"found": 2, "note": m.fault} for m in MUTATIONS}
    write_results(before, results)
    outcome = Outcome(
        kind="deadlock", line=3, text="wait();", right=False, rights=0, orders=20, found=("a", "b", "c")
    )
    monkeypatch.setattr("tests.mutations.page.RESULTS", results)
    monkeypatch.setattr("tests.mutations.__main__.PAGE", tmp_path / "page.md")
    monkeypatch.setattr("tests.mutations.__main__.page", lambda mutations: "")
    monkeypatch.setattr("tests.mutations.__main__.try_mutation", lambda mutation, orders: outcome)
    monkeypatch.setattr("sys.argv", ["mutations", "--only", FAULTS[1].name])
    assert main() == 0
    after = read_results(results)
    assert after[FAULTS[1].name] == row(outcome)
    assert after | {FAULTS[1].name: before[FAULTS[1].name]} == before


def test_too_much_shared_memory_is_found() -> None:
    config = KERNELS["multistage"].config()
    rendered = render(plan(config))
    launch = dataclasses.replace(rendered.launch, smem_bytes=200 * 1024)
    kernel = emulator.compile(dataclasses.replace(rendered, launch=launch))
    report = Problem(config, 128, 128, 64).run(kernel)
    assert [f.kind for f in report.findings] == ["shared-limit"]


def test_too_little_shared_memory_is_found() -> None:
    config = KERNELS["multistage"].config()
    rendered = render(plan(config))
    launch = dataclasses.replace(rendered.launch, smem_bytes=rendered.launch.smem_bytes - 16)
    kernel = emulator.compile(dataclasses.replace(rendered, launch=launch))
    report = Problem(config, 128, 128, 128).run(kernel)
    assert {f.kind for f in report.findings} == {"out-of-bounds-shared"}


def test_race_across_processes_is_found() -> None:
    config = KERNELS["multistage"].config()
    fault = next(m for m in MUTATIONS if m.name == "two-ctas-one-tile")
    rendered = render(plan(config))
    kernel = emulator.compile(dataclasses.replace(rendered, text=mutated(fault)))
    report = Problem(config, 256, 256, 64).run(kernel, processes=2)
    assert "race-waw" in {f.kind for f in report.findings}


def test_what_a_product_in_flight_reads_is_not_overwritten() -> None:
    """Nor by the thread itself, of which no clock tells: the tutorial copies behind its products."""
    mutation = next(m for m in MUTATIONS if m.name == "wgmma-in-flight")
    found = [f for f in try_mutation(mutation).found if "overwrites what a wgmma is still reading" in f]
    assert any("cp.async" in f and "wgmma_sm90.cu:253" in f for f in found)

"""From a config to a kernel: what is compiled, for which target, and what a failure does."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

import cutegen
from cutegen import building as module
from cutegen.building import build, build_many, try_build_many
from cutegen.cache import Cache
from cutegen.dtypes import dtype
from cutegen.errors import CompileError, ConfigError
from cutegen.kernel import Kernel
from cutegen.toolchain import Toolchain
from tests.support import fake_torch
from tests.support.fake_kernel import make_kernel

EXAMPLES = sorted(
    p
    for folder in ("examples", "examples/hopper")
    for p in (Path(__file__).parents[2] / folder).glob("*.yaml")
    if "matrix" not in p.name
)

CONFIG = {"arch": "sm_80", "a": {"dtype": "f16"}, "b": {"dtype": "f16"}, "tile": [128, 128, 32]}
ILLEGAL = {**CONFIG, "tile": [128, 128, 5]}


def other(**change):
    return {**CONFIG, **change}


class Compiler:
    """Stands for compile_kernel and compile_many."""

    def __init__(self, monkeypatch):
        self.single, self.many = [], []
        self.fail = set()
        monkeypatch.setattr(module, "compile_kernel", self.compile_kernel)
        monkeypatch.setattr(module, "compile_many", self.compile_many)
        library = lambda path: SimpleNamespace(launch=None, path=path)  # noqa: E731
        monkeypatch.setattr("cutegen.kernel.KernelLibrary", library)
        monkeypatch.setattr("cutegen.device.native_target", lambda level: level)

    def artifact(self, rendered, target):
        folder = Path("/nowhere") / rendered.name
        return SimpleNamespace(
            so=folder / "k.so",
            source=folder / "k.cu",
            header=folder / "k.h",
            log=folder / "log",
            name=rendered.name,
            target=target,
            resources="the resources",
        )

    def compile_kernel(self, rendered, **options):
        self.single.append((rendered, options))
        return self.artifact(rendered, options["target"])

    def compile_many(self, kernels, *, target, jobs, progress, toolchain, cache, evidence):
        self.many.append((target, [k.name for k in kernels], jobs))
        assert len(evidence) == len(kernels)
        results = []
        for done, rendered in enumerate(kernels, 1):
            failed = rendered.launch.blk_m in self.fail
            result = CompileError("k.cu", ["nvcc"], "bad") if failed else self.artifact(rendered, target)
            results.append(result)
            if progress:
                progress(done, len(kernels), result)
        return results


@pytest.fixture
def compiler(monkeypatch):
    return Compiler(monkeypatch)


def test_from_a_config_a_dictionary_and_a_file(compiler, tmp_path):
    path = tmp_path / "k.yaml"
    path.write_text("arch: sm_80\na: {dtype: f16}\nb: {dtype: f16}\ntile: [128, 128, 32]\n")
    config = cutegen.GemmConfig(**CONFIG)
    kernels = [build(given) for given in (config, CONFIG, path, str(path))]
    assert {k.config for k in kernels} == {cutegen.resolve(config)}
    assert len({rendered for rendered, _ in compiler.single}) == 1
    kept = compiler.single[0][1]["evidence"]["config.yaml"]
    assert cutegen.loads(kept) == kernels[0].config


def test_a_mistake_in_a_dictionary_is_named(compiler):
    with pytest.raises(ConfigError, match="<dict>") as caught:
        build(other(tille=[1, 2, 3]))
    assert "tille" in str(caught.value)
    with pytest.raises(ConfigError):
        build(ILLEGAL)
    assert compiler.single == []


TOOLS = object.__new__(Toolchain)
CACHE = Cache(Path("/nowhere"))


def test_options_reach_the_compiler(compiler):
    build(CONFIG, target="sm_90", toolchain=TOOLS, cache=CACHE)
    options = compiler.single[0][1]
    assert (options["target"], options["toolchain"], options["cache"]) == ("sm_90", TOOLS, CACHE)
    assert compiler.single[0][0].style == "resolved"


def test_properties(compiler):
    kernel = build(CONFIG, target="sm_90")
    folder = Path("/nowhere") / kernel.name
    assert (kernel.so, kernel.source, kernel.header) == (folder / "k.so", folder / "k.cu", folder / "k.h")
    assert (kernel.log, kernel.resources) == (folder / "log", "the resources")
    assert repr(kernel) == f"<Kernel {kernel.name} for sm_90>"
    assert kernel.name.startswith("gemm_sm80_multistage_f16_tn_128x128x32")


def test_a_variant_is_built_in_the_same_way(compiler):
    kernel = build(CONFIG, target="sm_90", toolchain=TOOLS, cache=CACHE)
    kernel._rebuild(kernel.config.model_copy(update={"min_blocks": 1}))
    options = compiler.single[1][1]
    assert (options["target"], options["toolchain"], options["cache"]) == ("sm_90", TOOLS, CACHE)


def test_many_keep_their_order_and_go_to_their_targets(compiler, monkeypatch):
    monkeypatch.setattr(
        "cutegen.device.native_target", lambda level: {"sm_80": "sm_90", "sm_75": "sm_75"}[level]
    )
    configs = [CONFIG, other(arch="sm_75"), other(tile=[64, 64, 32])]
    seen = []
    kernels = build_many(configs, 3, lambda *step: seen.append(step[:2]))
    assert [k.config.arch for k in kernels] == ["sm_80", "sm_75", "sm_80"]
    assert [k.config.tile for k in kernels] == [(128, 128, 32), (128, 128, 32), (64, 64, 32)]
    assert [(target, len(names), jobs) for target, names, jobs in compiler.many] == [
        ("sm_90", 2, 3),
        ("sm_75", 1, 3),
    ]
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_errors_in_place_or_raised_at_the_end(compiler):
    compiler.fail = {64}
    configs = [CONFIG, other(tile=[64, 64, 32]), ILLEGAL, other(tile=[128, 64, 32])]
    seen = []
    outcomes = try_build_many(configs, progress=lambda *step: seen.append(step[:2]))
    assert [type(o) for o in outcomes] == [Kernel, CompileError, ConfigError, Kernel]
    assert seen == [(2, 4), (3, 4), (4, 4)]
    with pytest.raises(CompileError):
        build_many(configs)
    assert len(compiler.many[-1][1]) == 3


def test_nothing_to_build(compiler):
    assert build_many([]) == []
    assert compiler.many == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_variants_of_every_example_are_legal_at_every_alignment(path, monkeypatch):
    monkeypatch.setattr("cutegen.signature.import_torch", fake_torch.module)
    narrow = []
    config = cutegen.resolve(cutegen.load(path))
    kernel, _ = make_kernel(config, monkeypatch, rebuild=narrow.append)

    def operand(rows, columns, field, major, pad):
        kind = dtype(getattr(config, field).dtype).torch
        if getattr(config, field).major != major:
            rows, columns = columns, rows
        made = fake_torch.tensor((rows, columns + pad), kind)[:, :columns]
        return made if getattr(config, field).major == major else made.t()

    for pad in (0, 1, 2, 4, 8):
        for m, n, k in ((64, 64, 64), (63, 64, 64), (64, 62, 64), (64, 64, 60), (1, 1, 1)):
            a, b = operand(m, k, "a", "k", pad), operand(n, k, "b", "k", 0)
            kernel.variant_for(a, b, operand(m, n, "c", "n", pad), b_is="nk")
    assert len(narrow) >= 4
    for variant in narrow:
        assert cutegen.check(variant) == []
        if variant.mainloop == config.mainloop:  # tma_wgmma gives way where bulk copies cannot be
            assert (variant.tile, variant.tiled_mma) == (config.tile, config.tiled_mma)

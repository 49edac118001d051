"""``collective``: what is chosen, what is counted, and what the rendered files say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import cutegen
from cutegen.launcher import launcher_command, render_launcher
from cutegen.plan import CollectivePlan
from cutegen.resolve import resolve
from cutegen.rules import check
from cutegen.toolchain import HostCompiler
from tests.support.collective_variants import MEMORY
from tests.support.rule_cases_collective import collective

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples" / "collective").glob("*.yaml"))
VLLM = sorted((ROOT / "examples" / "vllm").glob("*.yaml"))
E4M3 = {"a.dtype": "e4m3", "b.dtype": "e4m3"}
S8: dict[str, Any] = {"a.dtype": "s8", "b.dtype": "s8"}


def planned(config: cutegen.GemmConfig) -> CollectivePlan:
    found = cutegen.plan(config)
    assert isinstance(found, CollectivePlan)
    return found


@pytest.mark.parametrize("path", [*EXAMPLES, *VLLM], ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_examples_are_legal_and_resolve_once(path: Path) -> None:
    config = cutegen.load(path)
    assert check(config) == []
    resolved = resolve(config)
    assert resolve(resolved) == resolved
    assert planned(resolved).config == resolved


def test_the_table_of_vllm_is_whole() -> None:
    shapes = {p.stem: (planned(cutegen.load(p)).tile, planned(cutegen.load(p)).cluster) for p in VLLM}
    assert shapes == {
        "default": ((128, 128, 128), (2, 1)),
        "m8192_k6144": ((256, 128, 128), (2, 1)),
        "m128": ((64, 128, 128), (2, 1)),
        "m64_n1280": ((64, 16, 256), (1, 4)),
        "m64_n8192": ((64, 64, 256), (1, 1)),
        "m16_n1280": ((64, 16, 256), (1, 2)),
        "m16_n8192": ((64, 16, 256), (1, 1)),
    }


@pytest.mark.parametrize(
    ("patches", "top", "want"),
    [
        ({}, {}, ("cooperative", "persistent", "tma", (128, 256, 64))),
        ({"scheduler.kind": "static"}, {}, ("warp_specialized", "static", "tma", (128, 128, 64))),
        ({"scheduler.kind": "stream_k"}, {}, ("cooperative", "stream_k", "tma", (128, 256, 64))),
        ({"d.align": 4}, {"tile": [64, 128, 64]}, ("pingpong", "persistent", "direct", (64, 128, 64))),
        (E4M3, {"fast_accumulation": False}, ("cooperative", "persistent", "tma", (128, 128, 128))),
    ],
)
def test_what_is_left_out_is_chosen(
    patches: dict[str, Any], top: dict[str, Any], want: tuple[Any, ...]
) -> None:
    config = planned(collective(patches, **top)).config
    assert (config.schedule, config.scheduler.kind, config.epilogue.store, config.tile) == want
    assert config.stages is None


@pytest.mark.parametrize(
    "config",
    [
        collective(mainloop=None, schedule="warp_specialized"),
        collective({"scheduler.kind": "stream_k"}, mainloop=None),
        collective(E4M3, mainloop=None, fast_accumulation=False),
    ],
    ids=["warp_specialized", "stream_k", "slow_accumulation"],
)
def test_what_only_a_collective_has_makes_it_one(config: cutegen.GemmConfig) -> None:
    assert planned(config).config.mainloop == "collective"


@pytest.mark.parametrize("name", MEMORY)
def test_shared_memory_is_what_cutlass_needs(name: str) -> None:
    config, stages, nbytes = MEMORY[name]
    shared = planned(config).shared
    assert shared is not None
    assert (shared.stages, shared.bytes) == (stages, nbytes)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (collective(schedule="pingpong", tile=[64, 128, 64]), ("WarpSpecializedPingpong;", "Persistent")),
        (collective(E4M3), ("CooperativeFP8FastAccum;", "TmaWarpSpecializedCooperative;")),
        (collective(E4M3, fast_accumulation=False), ("KernelTmaWarpSpecializedCooperative;",)),
        (collective({"scheduler.kind": "stream_k"}), ("StreamKScheduler;", "STREAM_K       = true")),
        (collective(stages=3), ("StageCount<3>;",)),
        (collective(), ("StageCountAutoCarveout<EPILOGUE_BYTES>;",)),
        (collective({"epilogue.store": "direct"}), ("epilogue::NoSmemWarpSpecialized;",)),
        (
            collective({"a.major": "m", "b.major": "n", "d.major": "m"}),
            ("LayoutA  = cutlass::layout::ColumnMajor",),
        ),
        (collective({"scheduler.raster": "n"}), ("RASTER_ALONG_M = false", "MAX_SWIZZLE    = 8")),
        (
            collective(E4M3 | {"epilogue": {"scale_a": "row", "scale_b": "column", "bias": "column"}}),
            ("Config::EpilogueSchedule, Fusion>", "Biased = Plus<ProductB, Bias>", "== 120"),
        ),
        (
            collective({"epilogue": {"scale_a": "row", "scale_b": "tensor"}}),
            ("AlphaB = Times<Alpha, ScaleB>", "AlphaBA = Times<AlphaB, ScaleA>"),
        ),
        (
            collective(S8 | {"epilogue.bias": "column"}),
            ("Fusion = Node<Round, Config::ElementD, Sum>", "FusionCallbacksTraits<gemm_"),
        ),
        (
            collective(S8),
            ("Fusion = Node<Round, Config::ElementD, Sum>", "Times<Alpha, fusion::Sm90AccFetch>", "== 96"),
        ),
        (
            collective(S8 | {"epilogue.store": "direct"}),
            ("struct Rounded : Combination", "LayoutD>, Rounded, cutlass::gemm::EpilogueDefault>>"),
        ),
        (collective(S8, arch="sm_100a"), ("arch::Sm100;", "Node<Round,", "EpilogueSchedule, Fusion>")),
        (collective(arch="sm_100a"), ("arch::Sm100;", "KernelScheduleAuto;", "EpilogueScheduleAuto;")),
    ],
    ids=lambda v: v[0] if isinstance(v, tuple) else "",
)
def test_fields_reach_the_builder(config: cutegen.GemmConfig, words: tuple[str, ...]) -> None:
    text = cutegen.render(planned(config)).text
    for word in words:
        assert word in text


@pytest.mark.parametrize(
    "config",
    [
        collective(),
        collective({"epilogue.store": "direct"}),
        collective(S8 | {"d.dtype": "s8"}),
        collective(S8 | {"d.dtype": "bf16"}),
        collective(E4M3 | {"d.dtype": "s32"}),
    ],
    ids=["bf16", "direct", "s8_to_s8", "s8_to_bf16", "e4m3_to_s32"],
)
def test_what_cutlass_rounds_by_itself_is_left_to_it(config: cutegen.GemmConfig) -> None:
    text = cutegen.render(planned(config)).text
    assert "Config::EpilogueSchedule>::CollectiveOp" in text
    assert not re.search(r"Fusion|Combination|Round", text)


def test_the_launcher_leaves_the_parameters_to_the_source() -> None:
    rendered = cutegen.render(planned(collective(cluster=[1, 2, 1])))
    launcher = render_launcher(rendered, "sm_90a").source
    assert f"_Bool {rendered.name}_prepare(const CutegenParams* p," in launcher
    assert "CLUSTER_X = 1," in launcher
    assert re.search(
        r'"cuMemAllocFromPoolAsync", &cu.allocate, 1}', launcher
    )  # optional: nothing is allocated
    streamed = cutegen.render(planned(collective({"scheduler.kind": "stream_k"})))
    assert re.search(
        r'"cuMemAllocFromPoolAsync", &cu.allocate, 0}', render_launcher(streamed, "sm_90a").source
    )


def test_the_object_of_host_code_is_linked_with_nothing_undefined() -> None:
    host = HostCompiler(argv=("cc",), origin="test", version="1", machine="x", for_nvcc=False)
    plain, own = (launcher_command(host, "k", host_code=flag) for flag in (False, True))
    assert "k.o" not in plain
    assert own[own.index("launcher.c") :][:6] == [
        "launcher.c",
        "-x",
        "none",
        "k.o",
        "-lstdc++",
        "-Wl,-z,defs",
    ]


def test_it_is_rendered_in_one_style() -> None:
    with pytest.raises(cutegen.ConfigError, match="resolved style only"):
        cutegen.render(planned(collective()), style="idiomatic")

"""CUTLASS's warp-specialised GEMMs run as they are: collective builders, device adapter, tile schedulers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cutegen import emulator
from cutegen.emulator import emulate
from cutegen.toolchain.headers import find_cutlass

pytestmark = pytest.mark.emulated

SOURCE = Path(__file__).parent / "collective.cu"
BF16 = "ELEMENT=cutlass::bfloat16_t"
PINGPONG = (BF16, "SCHEDULE=KernelTmaWarpSpecializedPingpong", "EPILOGUE=TmaWarpSpecialized")
COOPERATIVE = (
    BF16,
    "SCHEDULE=KernelTmaWarpSpecializedCooperative",
    "EPILOGUE=TmaWarpSpecializedCooperative",
    "TILE=128,128,64",
)
FP8 = (
    "ELEMENT=cutlass::float_e4m3_t",
    "SCHEDULE=KernelTmaWarpSpecializedPingpongFP8FastAccum",
    "EPILOGUE=TmaWarpSpecialized",
    "TILE=64,128,128",
)
STREAM_K = (*COOPERATIVE, "SCHEDULER=StreamKScheduler", "STREAMED")


def run(macros: tuple[str, ...], *words: int, **options: Any) -> emulator.EmulatorReport:
    """The program with such types and schedules, on a problem of so many m, n, k (and splits)."""
    if not (find_cutlass()[0].include / "cutlass" / "gemm" / "device" / "gemm_universal_adapter.h").is_file():
        pytest.skip("this CUTLASS has no device adapter")
    return emulate(
        SOURCE,
        arch="sm_90a",
        arguments=tuple(map(str, words)),
        options=tuple(f"-D{macro}" for macro in macros),
        **{"processes": 1, **options},
    )


def check(report: emulator.EmulatorReport) -> None:
    """It is right, and nothing was found."""
    assert report.status == 0, report.output + report.summary()
    assert report.output.startswith("0 wrong"), report.output
    assert report.clean, report.summary()


@pytest.mark.parametrize(
    ("macros", "words"),
    [
        pytest.param(PINGPONG, (200, 136, 264), id="pingpong"),
        pytest.param((*COOPERATIVE, "CLUSTER=2,1,1"), (256, 256, 128), id="cooperative-in-clusters"),
        pytest.param(FP8, (128, 256, 256), id="fp8-pingpong", marks=pytest.mark.slow),
        pytest.param(
            (BF16, "SCHEDULE=KernelTmaWarpSpecialized", "EPILOGUE=TmaWarpSpecialized"),
            (128, 128, 128),
            id="warp-specialised",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_schedule_is_right_and_clean(macros: tuple[str, ...], words: tuple[int, ...]) -> None:
    for seed in (0, 1, 5):
        # With one or two SMs the CTAs of a persistent kernel have several tiles each.
        check(run(macros, *words, multiprocessors=2, seed=seed))


@pytest.mark.slow
@pytest.mark.parametrize("schedule", ["KernelCpAsyncWarpSpecialized", "KernelMultistage"])
def test_mainloops_of_cp_async_are_right_and_lack_a_fence(schedule: str) -> None:
    # cp.async writes through the generic proxy and wgmma reads through the other; CUTLASS has no fence there.
    report = run((BF16, f"SCHEDULE={schedule}", "EPILOGUE=NoSmemWarpSpecialized"), 128, 128, 128)
    assert report.status == 0
    assert {f.kind for f in report.findings} == {"missing-proxy-fence"}


@pytest.mark.slow  # examples/collective/stream_k.yaml is tried in CI
@pytest.mark.parametrize(
    ("words", "multiprocessors"),
    [((384, 256, 512, 1), 5), ((256, 256, 512, 3), 12)],
    ids=["stream-k", "split-k"],
)
def test_stream_k_is_right_and_clean(words: tuple[int, ...], multiprocessors: int) -> None:
    for seed in (0, 1, 5):
        check(run(STREAM_K, *words, multiprocessors=multiprocessors, seed=seed))

"""Every mainloop, type and layout over mixed extents; integer inputs, bit for bit (E01, E03, F05)."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

import cutegen
from tests.support.gpu import Case, all_cases, fits, latin_shapes, run_exact

EXAMPLES = sorted(
    p for p in (Path(__file__).parents[2] / "examples").glob("*.yaml") if "matrix" not in p.name
)
SQUARES = [
    (256, 128, 64),
    (136, 264, 72),
    (100, 100, 100),
    (256, 256, 256),
    (10, 128, 64),
    (384, 512, 1024),
    (16, 16, 16),
    (48, 1008, 176),
    (1040, 272, 144),
]
SCALES = [(1.0, 0.0), (2.0, -1.0), (1.0, 1.0), (-1.0, 3.0)]


def runnable(path: Path) -> bool:
    """Whether the GPU here has the example's feature level; without a GPU all count."""
    from cutegen.arch import arch
    from cutegen.device import gpus

    level = arch(cutegen.load(path).arch)
    if not gpus():
        return True
    cc = gpus()[0].cc
    return cc == level.cc if level.name.endswith("a") else cc >= level.cc


def narrowed(config: cutegen.GemmConfig) -> cutegen.GemmConfig:
    """The config with alignments of one element."""
    from cutegen.config import CopyG2S
    from cutegen.dtypes import dtype

    config = cutegen.resolve(config)
    update = {
        field: getattr(config, field).model_copy(update={"align": dtype(getattr(config, field).dtype).bytes})
        for field in "abcd"
    }
    copies = config.g2s.model_copy(update={"a": CopyG2S(), "b": CopyG2S()})
    return config.model_copy(update={**update, "g2s": copies})


def run_all(kernel, shapes, seed):
    ran = 0
    for index, shape in enumerate(shapes):
        if fits(kernel.config, *shape):
            alpha, beta = SCALES[(index + seed) % len(SCALES)]
            run_exact(kernel, *shape, seed=seed + index, alpha=alpha, beta=beta)
            ran += 1
    assert ran >= 6


@pytest.mark.parametrize("case", all_cases(), ids=str)
def test_mixed_extents(case, kernel_of):
    seed = zlib.crc32(case.name.encode()) % 1000
    run_all(kernel_of(case.config), SQUARES + latin_shapes(seed), seed)


@pytest.mark.parametrize(
    "case",
    [
        Case(f"{path.stem}-{width}", lambda path=path, change=change: change(cutegen.load(path)))
        for path in EXAMPLES
        if runnable(path)
        for width, change in (("wide", cutegen.resolve), ("narrow", narrowed))
    ],
    ids=str,
)
def test_examples(case, kernel_of):
    run_all(kernel_of(case.config), [*SQUARES, (640, 384, 4096), *latin_shapes(5)], 17)

"""The launcher of ``tma_wgmma``: tensor maps, clusters and persistent grids, against the fake driver."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cutegen.config import GemmConfig
from cutegen.plan import plan
from cutegen.render import render
from tests.emulated.test_launcher import SUPPORT, build_launcher, compile_with
from tests.support.rule_cases_wgmma import hopper

DEFAULT = {"a": 0x1000, "b": 0x2000, "c": 0x3000, "d": 0x4000, "m": 1000, "n": 2000, "k": 96}
LEADING = {"lda": 104, "ldb": 96, "ldc": 2000, "ldd": 2008}


@pytest.fixture(scope="module")
def cuda(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("driver") / "libcuda.so.1"
    compile_with("gcc", "-shared", "-fPIC", "-o", library, SUPPORT / "fake_cuda.c", "-lpthread", cwd=SUPPORT)
    return library


class Rig:
    """A launcher of a config, and the fake driver."""

    def __init__(self, directory: Path, cuda: Path, config: GemmConfig) -> None:
        self.cuda = cuda
        self.launch = render(plan(config)).launch
        self.library = build_launcher(directory, "kernel", self.launch)

    def calls(self, *steps: tuple[str, Any], failures: int = 0) -> list[str]:
        """What the launcher asked of the driver; every launch but so many must succeed."""
        told = [("tell", {"maps": len(self.launch.maps)}), *steps, ("calls", None)]
        done = subprocess.run(
            [sys.executable, str(SUPPORT / "launcher_driver.py"), str(self.library), str(self.cuda)],
            input=json.dumps(told),
            env={**os.environ, "LD_LIBRARY_PATH": str(self.cuda.parent)},
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
        )
        *codes, calls = json.loads(done.stdout)
        assert sum(code != 0 for code in codes if isinstance(code, int)) == failures, codes
        return list(calls)


def launch(**fields: Any) -> tuple[str, Any]:
    return ("launch", {**DEFAULT, **LEADING, **fields})


def only(calls: list[str], verb: str) -> list[str]:
    return [c for c in calls if c.startswith(verb + " ")]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory, cuda: Path) -> Rig:
    return Rig(tmp_path_factory.mktemp("plain"), cuda, hopper(tile=[128, 176, 64]))


@pytest.fixture(scope="module")
def clustered(tmp_path_factory: pytest.TempPathFactory, cuda: Path) -> Rig:
    config = hopper({"a.major": "m", "b.major": "n"}, tile=[128, 256, 64], cluster=[2, 1, 1])
    return Rig(tmp_path_factory.mktemp("clustered"), cuda, config)


def test_maps_say_what_the_kernel_expects(plain: Rig) -> None:
    calls = only(plain.calls(launch()), "encode")
    wanted = [  # type, address, extents, stride, box, swizzle
        "type 9 rank 2 at 1000 extents 96 1000 stride 208 box 64 128 swizzle 3",
        "type 9 rank 2 at 2000 extents 96 2000 stride 192 box 64 176 swizzle 3",
        "type 9 rank 2 at 4000 extents 2000 1000 stride 4016 box 64 16 swizzle 3",
        "type 9 rank 2 at 4000 extents 2000 1000 stride 4016 box 32 16 swizzle 2",
        "type 9 rank 2 at 4000 extents 2000 1000 stride 4016 box 16 16 swizzle 1",
    ]
    for index, (call, want) in enumerate(zip(calls, wanted, strict=True), 1):
        head, _, swizzle = want.rpartition(" swizzle ")
        plain_map = f"by 1 1 interleave 0 swizzle {swizzle} promotion 2 fill 0"
        assert call == f"encode {index} {head} {plain_map}"


@pytest.mark.parametrize(
    ("a", "d", "bytes_a", "bytes_d"), [("e4m3", "f16", 1, 2), ("tf32", "f32", 4, 4), ("f16", "f32", 2, 4)]
)
def test_strides_are_in_bytes(tmp_path: Path, cuda: Path, a: str, d: str, bytes_a: int, bytes_d: int) -> None:
    types = {"a.dtype": a, "b.dtype": a, "d.dtype": d}
    rig = Rig(tmp_path, cuda, hopper(types, tile=[64, 64, 128 // bytes_a]))
    calls = only(rig.calls(launch(lda=112, ldb=128)), "encode")
    for call, stride in zip(calls, (112 * bytes_a, 128 * bytes_a, 2008 * bytes_d), strict=True):
        assert f" stride {stride} box {128 // (bytes_d if call is calls[2] else bytes_a)} " in call


def test_a_warm_launch_encodes_nothing(plain: Rig) -> None:
    calls = plain.calls(launch(), launch(alpha=3.0), launch(c=0x5000), launch(a=0x1010), launch())
    assert len(only(calls, "encode")) == 10
    assert only(calls, "maps") == [
        "maps 1 2 3 4 5 aligned 1",
        "maps 1 2 3 4 5 aligned 1",
        "maps 1 2 3 4 5 aligned 1",
        "maps 6 7 8 9 10 aligned 1",
        "maps 1 2 3 4 5 aligned 1",
    ]


def test_every_extent_pointer_and_stride_counts(plain: Rig) -> None:
    changes = [{"m": 999}, {"n": 1992}, {"k": 88}, {"lda": 112}, {"ldb": 104}, {"ldd": 2016}]
    changes += [{"b": 0x2010}, {"d": 0x4010}]
    calls = plain.calls(launch(), *(launch(**change) for change in changes))
    assert len(only(calls, "encode")) == 5 * (1 + len(changes))


def test_more_tensors_than_are_kept(plain: Rig) -> None:
    steps = []
    for i in range(600):
        steps += [launch(a=0x10000 + 16 * i), ("calls", None)]
    again = 0x10000 + 16 * 599
    calls = plain.calls(*steps, launch(a=again), launch(a=0x10000), launch(a=again))
    assert len(only(calls, "encode")) == 5  # of the one that was no longer kept
    first, _, last = only(calls, "maps")
    assert first == last == "maps 180 181 182 183 184 aligned 1"  # 2996 to 3000, in a byte


def test_a_persistent_grid_is_what_the_device_holds(plain: Rig) -> None:
    calls = plain.calls(launch(), launch(m=128, n=176))
    assert "device_attribute 16 0" in calls
    grids = [c.split()[3] for c in only(calls, "launch")]
    assert grids == ["21", "1"]


def test_clusters_are_counted_by_the_driver(clustered: Rig) -> None:
    leading = {"lda": 1000, "ldb": 2000, "ldd": 2000}
    calls = clustered.calls(launch(**leading), launch(m=8, n=8, **leading))
    (asked,) = only(calls, "clusters")
    assert asked.endswith(f"grid 6 block 384 smem {clustered.launch.smem_bytes} count 1 id 4 cluster 2 1 1")
    assert [c.split()[3] for c in only(calls, "launch")] == ["4", "2"]
    encoded = only(calls, "encode")
    assert "extents 1000 96 stride 2000 box 64 64" in encoded[0]  # M-major, K is the outer mode
    assert "extents 2000 96 stride 4000 box 64 32" in encoded[1]  # each of two CTAs loads half of B's k


def test_swapped_operands_have_the_maps_of_their_own_matrices(tmp_path: Path, cuda: Path) -> None:
    rig = Rig(tmp_path / "swapped", cuda, hopper(tile=[16, 64, 128]))
    calls = rig.calls(launch())
    b, a, d = only(calls, "encode")  # B comes first
    assert "at 2000 extents 96 2000 stride 192 box 64 64 by" in b
    assert "at 1000 extents 96 1000 stride 208 box 64 16 by" in a
    assert "at 4000 extents 2000 1000 stride 4016 box 64 16 by" in d
    assert " m 1000 n 2000 k 96 a 1000 " in only(calls, "launch")[0]  # as the caller gave them


def test_a_cluster_has_the_shares_of_k(tmp_path: Path, cuda: Path) -> None:
    config = hopper({"scheduler.split_k": 3}, tile=[128, 128, 64], cluster=[2, 1, 1])
    rig = Rig(tmp_path / "split", cuda, config)
    calls = rig.calls(launch(m=128, n=128), launch())
    assert only(calls, "clusters")[0].endswith("count 1 id 4 cluster 6 1 1")
    assert [c.split()[3] for c in only(calls, "launch")] == ["6", "12"]


def test_a_dependent_launch_may_start_early(tmp_path: Path, cuda: Path, plain: Rig) -> None:
    rig = Rig(tmp_path / "pdl", cuda, hopper(tile=[128, 128, 64], pdl=True))
    calls = rig.calls(launch())
    assert only(calls, "attribute") == ["attribute 6 value 1 of 1"]
    (launched,) = only(calls, "launch")
    assert " grid 21 1 1 block 384 1 1 " in launched
    assert not only(plain.calls(launch()), "attribute")


def test_without_k_no_address_of_an_operand_is_used(plain: Rig) -> None:
    calls = only(plain.calls(launch(k=0, a=0, b=0, lda=0, ldb=0)), "encode")
    assert "at 4000 extents 1 1000 stride 16" in calls[0]
    assert "at 4000 extents 1 2000 stride 16" in calls[1]


def test_a_single_row_has_no_stride(plain: Rig) -> None:
    calls = only(plain.calls(launch(m=1, lda=96)), "encode")
    assert "extents 96 1 stride 192" in calls[0]
    assert "extents 2000 1 stride 4000" in calls[2]


def test_a_static_grid_has_every_tile(tmp_path: Path, cuda: Path) -> None:
    rig = Rig(tmp_path / "static", cuda, hopper({"scheduler.kind": "static"}, tile=[128, 256, 64]))
    calls = rig.calls(launch())
    assert [c.split()[3] for c in only(calls, "launch")] == ["64"]
    assert not only(calls, "device_attribute")

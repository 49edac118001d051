"""The launcher, compiled by the host compiler, against a driver library that records what it is asked."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from cutegen.launcher import launcher_command, library_name, render_launcher
from cutegen.render import LaunchSpec
from cutegen.toolchain.host import find_host_compiler
from cutegen.vectors import Vector
from tests.support.build_fakes import kernel, launch_spec

SUPPORT = Path(__file__).parent.parent / "support"


def compile_with(compiler: str, *arguments: str | Path, cwd: Path) -> None:
    command = [compiler, *map(str, arguments)]
    done = subprocess.run(command, check=False, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def build_launcher(directory: Path, name: str, launch: LaunchSpec) -> Path:
    directory.mkdir(exist_ok=True)
    launcher = render_launcher(kernel(name=name, launch=launch), "sm_90")
    (directory / "launcher.c").write_text(launcher.source)
    (directory / f"{name}.h").write_text(launcher.header)
    (directory / f"{name}.cubin").write_bytes(b"\x7fELF" + bytes(1000))
    (directory / f"{name}.ptx").write_bytes(b"PTX " + b"x" * 997)
    command = [*launcher_command(find_host_compiler(), name), "-Werror", "-Wpedantic"]
    compile_with(command[0], *command[1:], cwd=directory)
    return directory / library_name(name)


def aligned(spec: LaunchSpec) -> LaunchSpec:
    """A and B of 16 bytes, D of 8, and C in D's layout."""
    return replace(
        spec,
        a=replace(spec.a, align=16),
        b=replace(spec.b, align=16),
        c=replace(spec.d, name="C"),
        d=replace(spec.d, align=8),
    )


@dataclass(frozen=True)
class Rig:
    """Launchers and the fake driver, built once."""

    root: Path
    small: Path
    exact: Path
    large: Path
    strict: Path
    cuda: Path

    def run(self, *steps: tuple[str, Any], library: Path | None = None, cuda: bool = True) -> list[Any]:
        """Perform steps in a fresh process."""
        env = {**os.environ, "LD_LIBRARY_PATH": str(self.cuda.parent if cuda else self.root)}
        command = [
            sys.executable,
            str(SUPPORT / "launcher_driver.py"),
            str(library or self.small),
            str(self.cuda) if cuda else "",
        ]
        done = subprocess.run(
            command, input=json.dumps(steps), env=env, check=False, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        answers: list[Any] = json.loads(done.stdout)
        return answers


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Rig:
    root = tmp_path_factory.mktemp("the rig")
    (root / "driver").mkdir()
    cuda = root / "driver" / "libcuda.so.1"
    flags = ("-std=c11", "-D_POSIX_C_SOURCE=200809L", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1")
    compile_with("gcc", *flags, "-o", cuda, SUPPORT / "fake_cuda.c", "-lpthread", cwd=root)
    return Rig(
        root=root,
        small=build_launcher(root / "small", "tiny", launch_spec()),
        exact=build_launcher(root / "exact", "exact", launch_spec(smem_bytes=48 * 1024)),
        large=build_launcher(root / "large", "large", launch_spec(smem_bytes=64 * 1024)),
        strict=build_launcher(root / "strict", "strict", aligned(launch_spec())),
        cuda=cuda,
    )


# ---- what a launch asks of the driver


def test_a_launch(rig: Rig) -> None:
    launched, calls = rig.run(("launch", {"m": 130, "n": 33, "k": 7}), ("calls", None))
    assert launched == 0
    assert calls == [
        "init 0",
        "retain 0",
        "capturing 77",
        "load cubin 0 in 1000",
        "function tiny_kernel",
        "function_load 3000",
        "launch 3000 grid 6 1 1 block 128 1 1 smem 1024 stream 77 in 1000 m 130 n 33 k 7 a a0 "
        "ldd 1099511627776 alpha 2 beta 0.5",
    ]


def test_a_warm_launch_only_launches(rig: Rig) -> None:
    _, _, launched, calls = rig.run(("launch", {}), ("calls", None), ("launch", {}), ("calls", None))
    assert launched == 0
    assert [call.split()[0] for call in calls] == ["launch"]


@pytest.mark.parametrize(
    ("m", "n", "blocks"), [(1, 1, 1), (64, 32, 1), (65, 32, 2), (64, 33, 2), (4097, 1000, 65 * 32)]
)
def test_the_grid(m: int, n: int, blocks: int, rig: Rig) -> None:
    _, calls = rig.run(("launch", {"m": m, "n": n}), ("calls", None))
    assert f" grid {blocks} 1 1 " in calls[-1]


@pytest.mark.parametrize("size", [{"m": 0}, {"n": 0}, {"m": 0, "n": 0, "k": 0}])
def test_an_empty_result_launches_nothing(size: dict[str, int], rig: Rig) -> None:
    assert rig.run(("launch", size), ("calls", None), ("loaded", 0)) == [0, [], 0]


def test_k_of_zero_is_launched(rig: Rig) -> None:
    launched, calls = rig.run(("launch", {"k": 0}), ("calls", None))
    assert launched == 0
    assert " k 0 " in calls[-1]


@pytest.mark.parametrize(
    ("fields", "step"),
    [
        ({"device": -1}, "device is -1, must be from 0 to 63"),
        ({"device": 64}, "device is 64, must be from 0 to 63"),
        ({"flags": 2}, "flags has an unknown bit"),
        ({"group": -1}, "group is negative"),
    ],
)
def test_bad_arguments(fields: dict[str, int], step: str, rig: Rig) -> None:
    code, words, calls = rig.run(("launch", fields), ("error", -4), ("calls", None))
    assert code == -4
    assert words == f"{step}: an argument is not valid (-4)"
    assert calls == []


def test_no_arguments(rig: Rig) -> None:
    code, words = rig.run(("launch_null", None), ("error", -4))
    assert (code, words) == (-4, "launch is null: an argument is not valid (-4)")


def test_a_grid_that_is_too_large(rig: Rig) -> None:
    code, words = rig.run(("launch", {"m": 2**31 - 64, "n": 2**31 - 32}), ("error", -5))
    assert code == -5
    assert words.startswith(f"d has {(2**25 - 1) * (2**26 - 1)} tiles, must have at most {2**31 - 1}: ")
    assert "more CTAs than one launch can have" in words


# ---- what is checked before a launch


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"m": -1}, "m is -1, must be from 0 to 2147483584"),
        ({"n": -(2**31)}, "n is -2147483648, must be from 0 to 2147483616"),
        ({"k": -1}, "k is -1, must be from 0 to 2147483632"),
        ({"m": 2**31 - 63}, "m is 2147483585, must be from 0 to 2147483584"),
        ({"k": 2**31 - 1}, "k is 2147483647, must be from 0 to 2147483632"),
        ({"m": 0, "k": -1}, "k is -1, must be from 0 to 2147483632"),
    ],
)
@pytest.mark.parametrize("flags", [0, 1])
def test_extents(fields: dict[str, int], words: str, flags: int, rig: Rig) -> None:
    code, text, calls = rig.run(("launch", {**fields, "flags": flags}), ("error", -6), ("calls", None))
    assert (code, calls) == (-6, [])
    assert text == f"{words}: the kernel counts in 32 bits, whole tiles included (-6)"


def test_the_largest_extents(rig: Rig) -> None:
    largest: list[dict[str, int]] = [
        {"m": 2**31 - 64, "ldd": 2**31},
        {"n": 2**31 - 32, "ldb": 2**31, "ldc": 2**31, "ldd": 2**20},
        {"k": 2**31 - 16, "lda": 2**31},
    ]
    assert rig.run(*(("launch", fields) for fields in largest)) == [0, 0, 0]


@pytest.mark.parametrize("name", ["a", "b", "c", "d"])
def test_null_matrices(name: str, rig: Rig) -> None:
    code, words, calls = rig.run(("launch", {name: 0}), ("error", -7), ("calls", None))
    assert (code, calls) == (-7, [])
    assert words == f"{name} is null: a matrix or vector is missing, is one too many, or overlaps D (-7)"


@pytest.mark.parametrize("name", ["scale_a", "scale_b", "bias"])
def test_a_vector_too_many(name: str, rig: Rig) -> None:
    code, words, calls = rig.run(("launch", {name: 0xF0}), ("error", -7), ("calls", None))
    assert (code, calls) == (-7, [])
    assert words.startswith(f"{name} is given, and this kernel takes none: ")


def test_vectors(rig: Rig) -> None:
    vectors = (
        Vector(name="scale_a", kind="row", dtype="f32", extent="m"),
        Vector(name="bias", kind="column", dtype="bf16", extent="n"),
    )
    library = build_launcher(rig.root / "vectors", "scaled", launch_spec(vectors=vectors))
    given = {"scale_a": 0xF0, "bias": 0xE2}
    for fields, code, said in (
        (given, 0, ""),
        ({"bias": 0xE2}, -7, "scale_a is null"),
        ({"scale_a": 0xF0}, -7, "bias is null"),
        (given | {"scale_b": 0xF0}, -7, "scale_b is given, and this kernel takes none"),
        (given | {"scale_a": 0xF2}, -9, "scale_a lies 2 bytes beyond a multiple of 4 bytes"),
        (given | {"bias": 0xE1}, -9, "bias lies 1 bytes beyond a multiple of 2 bytes"),
        ({"m": 0}, 0, ""),
    ):
        got, words = rig.run(("launch", fields), ("error", code), library=library)
        assert got == code, fields
        assert words.startswith(said)
    description = json.loads(rig.run(("describe", None), library=library)[0])
    assert description["scale_a"] == {"dtype": "f32", "per": "row"}
    header = (rig.root / "vectors" / "scaled.h").read_text()
    assert "scale_a  M       f32, 4 B" in header


@pytest.mark.parametrize(
    "fields",
    [
        {"c": 0, "ldc": -5, "beta": 0.0},
        {"a": 0, "b": 0, "lda": -5, "ldb": 1, "k": 0},
        {"a": 0, "b": 0, "c": 0, "d": 0, "ldd": -1, "m": 0},
        {"m": 1, "lda": -1, "ldc": 3},  # nobody steps along them
        {"lda": 0, "ldb": 0, "ldc": 0},  # one row of A and of C, one column of B, repeated
        {"c": 0xD2},
    ],
)
def test_what_is_not_needed_is_not_looked_at(fields: dict[str, Any], rig: Rig) -> None:
    assert rig.run(("launch", fields)) == [0]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"lda": 7}, "lda is 7, must be at least 8"),
        ({"ldb": 31}, "ldb is 31, must be at least 32"),
        ({"ldc": 31}, "ldc is 31, must be at least 32"),
        ({"ldd": 63}, "ldd is 63, must be at least 64"),
        ({"ldd": 0}, "ldd is 0, must be at least 64"),
        ({"lda": -8}, "lda is -8, must be at least 8"),
        ({"lda": -(2**63)}, f"lda is {-(2**63)}, must be at least 8"),
        ({"lda": 2**56}, f"lda is {2**56}, must be at most {(2**63 - 1) // (128 * 2)}"),
        ({"ldd": 2**63 - 1}, f"ldd is {2**63 - 1}, must be at most {(2**63 - 1) // (64 * 2)}"),
    ],
)
def test_leading_strides(fields: dict[str, int], words: str, rig: Rig) -> None:
    code, text, calls = rig.run(("launch", fields), ("error", -8), ("calls", None))
    assert (code, calls) == (-8, [])
    assert text == f"{words}: a leading stride does not fit its matrix (-8)"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"a": 0xA8}, "a lies 8 bytes beyond a multiple of 16 bytes"),
        ({"d": 0xD2}, "d lies 2 bytes beyond a multiple of 8 bytes"),
        ({"c": 0xC1}, "c lies 1 bytes beyond a multiple of 2 bytes"),
        ({"k": 12}, "k is 12, must be a multiple of 8"),
        ({"n": 36}, "n is 36, must be a multiple of 8"),
        ({"m": 66}, "m is 66, must be a multiple of 4"),
        ({"lda": 100}, "lda is 100, must be a multiple of 8"),
        ({"ldb": 36}, "ldb is 36, must be a multiple of 8"),
        ({"ldd": 65}, "ldd is 65, must be a multiple of 4"),
    ],
)
def test_alignment(fields: dict[str, int], words: str, rig: Rig) -> None:
    code, text, calls, loose = rig.run(
        ("launch", fields),
        ("error", -9),
        ("calls", None),
        ("launch", {**fields, "flags": 1}),
        library=rig.strict,
    )
    assert (code, calls, loose) == (-9, [], 0)
    assert text.startswith(f"{words}: ")
    aligned_anyway: dict[str, Any] = {"m": 4, "n": 1, "k": 8, "ldd": 3, "ldc": 3, "ldb": 8, "lda": 8}
    assert rig.run(("launch", {**aligned_anyway, "n": 8}), library=rig.strict) == [-8]
    assert rig.run(("launch", {**aligned_anyway, "n": 8, "ldd": 4, "ldc": 5}), library=rig.strict) == [0]


@pytest.mark.parametrize("name", ["a", "b"])
def test_d_may_not_be_an_input(name: str, rig: Rig) -> None:
    code, words, empty = rig.run(("launch", {name: 0xD0}), ("error", -7), ("launch", {name: 0xD0, "k": 0}))
    assert (code, empty) == (-7, 0)
    assert words.startswith(f"{name} is d, which other CTAs overwrite: ")


def test_c_may_be_d_in_its_layout_only(rig: Rig) -> None:
    same = {"c": 0xD0, "ldc": 64, "ldd": 64}
    code, words = rig.run(("launch", same), ("error", -7))
    assert code == -7
    assert words.startswith("c is d, but this kernel takes them in different layouts: ")
    fine, other, words, column = rig.run(
        ("launch", same),
        ("launch", {**same, "ldc": 128}),
        ("error", -8),
        ("launch", {**same, "ldc": 128, "m": 4, "n": 8, "ldd": 4, "ldb": 8}),
        library=rig.strict,
    )
    assert (fine, other, column) == (0, -8, -8)
    assert words.startswith("c is d, but ldc is 128 and ldd is 64: ")


def test_nan_needs_c(rig: Rig) -> None:
    assert rig.run(("launch", {"c": 0, "beta": float("nan")})) == [-7]


# ---- shared memory


def test_48_kib_need_no_attribute(rig: Rig) -> None:
    launched, calls = rig.run(("launch", {}), ("calls", None), library=rig.exact)
    assert launched == 0
    assert not any(call.startswith("set") for call in calls)
    assert " smem 49152 " in calls[-1]


def test_more_than_48_kib_are_asked_for_once(rig: Rig) -> None:
    _, calls, _, again = rig.run(
        ("launch", {}), ("calls", None), ("launch", {}), ("calls", None), library=rig.large
    )
    assert [call for call in calls if call.startswith("set")] == ["set 3000 8 65536"]
    assert not any(call.startswith("set") for call in again)


def test_static_shared_memory_counts(rig: Rig) -> None:
    _, _, calls = rig.run(("tell", {"smem": 16}), ("launch", {}), ("calls", None), library=rig.exact)
    assert "set 3000 8 49152" in calls


def test_a_refused_attribute_is_an_error_and_is_tried_again(rig: Rig) -> None:
    _, code, words, loaded, calls, _, again, now = rig.run(
        ("tell", {"set_error": 1}),
        ("launch", {}),
        ("error", 1),
        ("loaded", 0),
        ("calls", None),
        ("tell", {"set_error": 0}),
        ("launch", {}),
        ("loaded", 0),
        library=rig.large,
    )
    assert code == 1
    assert words == (
        "the device refuses 65536 bytes of shared memory: CUDA_ERROR_INVALID_VALUE: invalid argument (1)"
    )
    assert loaded == 0
    assert calls[-1] == "unload 2000"
    assert not any(call.startswith("launch") for call in calls)
    assert (again, now) == (0, 1)


# ---- which image


def test_the_ptx_is_used_when_the_cubin_does_not_fit(rig: Rig) -> None:
    _, launched, loaded, calls = rig.run(
        ("tell", {"cubin_error": 209}), ("launch", {}), ("loaded", 0), ("calls", None)
    )
    assert (launched, loaded) == (0, 2)
    assert [call for call in calls if call.startswith("load")] == [
        "load cubin 0 in 1000",
        "load ptx 1001 in 1000",  # a C string of the whole file
    ]
    assert calls[-1].startswith("launch 3010 ")


@pytest.mark.parametrize("ptx_error", [209, 200, 218, 222])
def test_no_image_fits(ptx_error: int, rig: Rig) -> None:
    _, code, words, loaded = rig.run(
        ("tell", {"cubin_error": 209, "ptx_error": ptx_error}), ("launch", {}), ("error", -3), ("loaded", 0)
    )
    assert (code, loaded) == (-3, 0)
    assert words == (
        "the binary is for sm_90 and the PTX for compute_80: the kernel was built for other devices (-3)"
    )


def test_another_loading_error_does_not_try_the_ptx(rig: Rig) -> None:
    _, code, words, calls = rig.run(
        ("tell", {"cubin_error": 2}), ("launch", {}), ("error", 2), ("calls", None)
    )
    assert code == 2
    assert words == "cuModuleLoadData: CUDA_ERROR_OUT_OF_MEMORY: out of memory (2)"
    assert not any(call.startswith("load ptx") for call in calls)


# ---- capture


@pytest.mark.parametrize("told", [{"capturing": 1}, {"capturing": 2}, {"capture_error": 906}])
def test_a_first_launch_during_capture_is_refused(told: dict[str, int], rig: Rig) -> None:
    _, code, words, calls = rig.run(("tell", told), ("launch", {}), ("error", -2), ("calls", None))
    assert code == -2
    assert "cannot be loaded during stream capture; launch it once, or load it, before the capture" in words
    assert not any(call.startswith(("load", "launch")) for call in calls)


def test_a_loaded_kernel_can_be_captured(rig: Rig) -> None:
    loaded, _, launched = rig.run(("load", 0), ("tell", {"capturing": 1}), ("launch", {}))
    assert (loaded, launched) == (0, 0)


def test_loading_while_another_stream_captures_is_the_same_error(rig: Rig) -> None:
    assert rig.run(("tell", {"cubin_error": 900}), ("load", 0))[1] == -2
    assert rig.run(("tell", {"set_error": 900}), ("launch", {}), library=rig.large)[1] == -2


# ---- contexts, devices, threads


@pytest.mark.parametrize("current", [0, 0x1000, 0x1001, 0x9999])
def test_the_current_context_stays(current: int, rig: Rig) -> None:
    steps = [("make_current", current)]
    for step in (("launch", {}), ("launch", {}), ("load", 1), ("attributes", 0), ("launch", {"device": 1})):
        steps += [step, ("current", None)]  # type: ignore[list-item]
    answers = rig.run(*steps, ("calls", None))
    assert answers[2:-1:2] == [[current, 1 if current else 0]] * 5
    launches = [call for call in answers[-1] if call.startswith("launch")]
    assert [" in 1000 " in call for call in launches] == [True, True, False]
    assert " in 1001 " in launches[-1]


def test_the_current_context_stays_after_errors(rig: Rig) -> None:
    for told in ({"cubin_error": 2}, {"capturing": 1}, {"launch_error": 1}):
        _, _, code, current = rig.run(
            ("make_current", 0x9999), ("tell", told), ("launch", {}), ("current", None)
        )
        assert code != 0
        assert current == [0x9999, 1]


def test_each_device_has_its_own_function(rig: Rig) -> None:
    *_, calls = rig.run(("launch", {"device": 1}), ("launch", {"device": 0}), ("calls", None))
    launches = [call.split()[1] for call in calls if call.startswith("launch")]
    assert launches == ["3001", "3000"]
    assert [call for call in calls if call.startswith("retain")] == ["retain 1", "retain 0"]


def test_an_unknown_device(rig: Rig) -> None:
    code, words = rig.run(("launch", {"device": 5}), ("error", 101))
    assert code == 101
    assert words.startswith("cuDeviceGet: ")


def test_concurrent_first_launches_load_once_a_device(rig: Rig) -> None:
    _, codes, calls = rig.run(("tell", {"load_ms": 20}), ("threads", 16), ("calls", None))
    assert codes == [0] * 16
    assert sorted(call for call in calls if call.startswith("load")) == [
        "load cubin 0 in 1000",
        "load cubin 0 in 1001",
    ]
    assert sum(call.startswith("launch") for call in calls) == 16


def test_a_launch_error_is_returned(rig: Rig) -> None:
    _, code, words = rig.run(("tell", {"launch_error": 1}), ("launch", {}), ("error", 1))
    assert code == 1
    assert words == "cuLaunchKernel: CUDA_ERROR_INVALID_VALUE: invalid argument (1)"


# ---- what else the library says


def test_attributes_load_the_kernel(rig: Rig) -> None:
    loaded, attributes, now, calls = rig.run(("loaded", 0), ("attributes", 0), ("loaded", 0), ("calls", None))
    assert (loaded, now) == (0, 1)
    assert attributes == [0, 96, 24, 0, 1024, 1024, 90, 80, 3]
    assert calls[-1] == "occupancy 3000 128 1024"


def test_without_a_driver(rig: Rig) -> None:
    loaded, code, words, launched, empty = rig.run(
        ("loaded", 0),
        ("load", 0),
        ("error", -1),
        ("launch", {}),
        ("launch", {"m": 0}),
        cuda=False,
    )
    if code == 0 or code > 0:
        pytest.skip("this machine has a driver, so its absence cannot be seen")
    assert (loaded, code, launched, empty) == (0, -1, -1, 0)
    assert words.startswith("libcuda.so.1, which comes with the GPU driver: ")


def test_a_driver_that_does_not_start(rig: Rig) -> None:
    _, code, words, _, again = rig.run(
        ("tell", {"init_error": 100}), ("load", 0), ("error", 100), ("tell", {"init_error": 0}), ("load", 0)
    )
    assert code == 100
    assert words == "cuInit: unknown error (100)"
    assert again == 0


def test_errors_in_words(rig: Rig) -> None:
    words = rig.run(*(("error", code) for code in (0, -1, -2, -3, -4, -5, -6, -7, -8, -9, -99, 1)))
    assert words[0] == "no error (0)"
    assert words[-2:] == ["unknown error (-99)", "unknown error (1)"]
    assert len(set(words)) == 12


def test_the_description(rig: Rig) -> None:
    (text,) = rig.run(("describe", None), library=rig.strict)
    assert json.loads(text) == {
        "name": "strict",
        "target": "sm_90",
        "ptx": "compute_80",
        "tile": [64, 32, 16],
        "threads": 128,
        "smem_bytes": 1024,
        "scale": "f32",
        "a": {"dtype": "f16", "major": "k", "align": 16},
        "b": {"dtype": "f16", "major": "n", "align": 16},
        "c": {"dtype": "f16", "major": "m", "align": 2},
        "d": {"dtype": "f16", "major": "m", "align": 8},
    }


def test_the_abi_version(rig: Rig) -> None:
    assert rig.run(("abi", None)) == [4]


# ---- the library and its header


def test_only_the_interface_is_visible(rig: Rig) -> None:
    done = subprocess.run(
        ["nm", "-D", "--defined-only", rig.small], check=True, capture_output=True, text=True
    )
    names = {line.split()[-1] for line in done.stdout.splitlines()}
    functions = ("launch", "load", "loaded", "attributes", "error_string", "describe")
    assert names == {"cutegen_abi", *(f"{p}_{f}" for p in ("cutegen", "tiny") for f in functions)}


def test_no_cuda_library_is_linked(rig: Rig) -> None:
    done = subprocess.run(["readelf", "-d", rig.small], check=True, capture_output=True, text=True)
    needed = re.findall(r"NEEDED.*\[(.*)\]", done.stdout)
    assert [name for name in needed if not re.match(r"(libc|libdl|libpthread|ld-linux.*)\.so", name)] == []
    assert "SONAME" in done.stdout
    assert "[libtiny.so]" in done.stdout


MAIN = """
#include "tiny.h"
#include "large.h"
#include <stdio.h>

static char memory[8];

int main(void) {
  CutegenLaunch launch = {};
  launch.p.m = 64, launch.p.n = 32, launch.p.k = 8;
  launch.p.alpha = 1;
  launch.p.a = launch.p.b = memory, launch.p.d = memory + 2, launch.p.ldd = 64;
  int32_t codes[] = {tiny_launch(&launch), large_launch(&launch), tiny_load(0), large_load(1)};
  CutegenAttributes attributes;
  large_attributes(0, &attributes);
  printf("%d %d %d %d\\n", codes[0], codes[1], codes[2], codes[3]);
  printf("%d %d %s\\n", tiny_loaded(1), large_loaded(1), tiny_error_string(CUTEGEN_NO_DRIVER));
  printf("%d %d\\n", (int)sizeof(CutegenParams), attributes.dynamic_smem);
  return CUTEGEN_ABI == cutegen_abi() ? 0 : 1;
}
"""


@pytest.mark.parametrize(
    ("compiler", "file", "flags"),
    [
        ("gcc", "main.c", ("-std=c2x",)),
        ("gcc", "main.c", ("-std=gnu99",)),
        ("g++", "main.cpp", ("-std=c++98", "-Wno-long-long")),
        ("g++", "main.cpp", ("-std=c++17",)),
    ],
)
def test_a_program_links_two_kernels(
    compiler: str, file: str, flags: tuple[str, ...], rig: Rig, tmp_path: Path
) -> None:
    (tmp_path / file).write_text(MAIN if "gnu99" not in flags[0] else MAIN.replace("{};", "{{0}};"))
    kernels = (rig.small, rig.large)
    compile_with(
        compiler,
        *flags,
        "-Wall",
        *(f"-I{library.parent}" for library in kernels),
        file,
        *(f"-L{library.parent}" for library in kernels),
        "-ltiny",
        "-llarge",
        "-o",
        "program",
        cwd=tmp_path,
    )
    paths = ":".join(str(path.parent) for path in (*kernels, rig.cuda))
    done = subprocess.run(
        [tmp_path / "program"],
        check=True,
        env={**os.environ, "LD_LIBRARY_PATH": paths},
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines() == [
        "0 0 0 0",
        "0 1 the CUDA driver library is missing or too old (-1)",
        "120 65536",
    ]

"""The launcher, compiled by the host compiler, against a driver library that records what it is asked."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cutegen.launcher import launcher_command, library_name, render_launcher
from cutegen.toolchain.host import find_host_compiler
from tests.support.build_fakes import kernel

SUPPORT = Path(__file__).parent.parent / "support"


def compile_with(compiler: str, *arguments: str | Path, cwd: Path) -> None:
    command = [compiler, *map(str, arguments)]
    done = subprocess.run(command, check=False, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def build_launcher(directory: Path, name: str, smem_bytes: int) -> Path:
    directory.mkdir(exist_ok=True)
    launcher = render_launcher(kernel(name=name, smem_bytes=smem_bytes), "sm_90")
    (directory / "launcher.c").write_text(launcher.source)
    (directory / f"{name}.h").write_text(launcher.header)
    (directory / f"{name}.cubin").write_bytes(b"\x7fELF" + bytes(1000))
    (directory / f"{name}.ptx").write_bytes(b"PTX " + b"x" * 997)
    command = [*launcher_command(find_host_compiler(), name), "-Werror", "-Wpedantic"]
    compile_with(command[0], *command[1:], cwd=directory)
    return directory / library_name(name)


@dataclass(frozen=True)
class Rig:
    """Launchers and the fake driver, built once."""

    root: Path
    small: Path
    exact: Path
    large: Path
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
        small=build_launcher(root / "small", "tiny", 1024),
        exact=build_launcher(root / "exact", "exact", 48 * 1024),
        large=build_launcher(root / "large", "large", 64 * 1024),
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
        ({"m": -1}, "m, n or k is negative"),
        ({"k": -1}, "m, n or k is negative"),
        ({"device": -1}, "device"),
        ({"device": 64}, "device"),
        ({"flags": 1}, "flags and reserved must be 0"),
        ({"reserved": 1}, "flags and reserved must be 0"),
    ],
)
def test_bad_arguments(fields: dict[str, int], step: str, rig: Rig) -> None:
    code, words, calls = rig.run(("launch", fields), ("error", -4), ("calls", None))
    assert code == -4
    assert words == f"{step}: an argument is not valid (-4)"
    assert calls == []


def test_no_arguments(rig: Rig) -> None:
    assert rig.run(("launch_null", None)) == [-4]


def test_a_grid_that_is_too_large(rig: Rig) -> None:
    code, words = rig.run(("launch", {"m": 2**31 - 1, "n": 2**31 - 1}), ("error", -5))
    assert code == -5
    assert "more CTAs than one launch can have" in words


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
    words = rig.run(*(("error", code) for code in (0, -1, -2, -3, -4, -5, -99, 1)))
    assert words[0] == "no error (0)"
    assert words[-2:] == ["unknown error (-99)", "unknown error (1)"]
    assert len(set(words)) == 8


def test_the_abi_version(rig: Rig) -> None:
    assert rig.run(("abi", None)) == [1]


# ---- the library and its header


def test_only_the_interface_is_visible(rig: Rig) -> None:
    done = subprocess.run(
        ["nm", "-D", "--defined-only", rig.small], check=True, capture_output=True, text=True
    )
    names = {line.split()[-1] for line in done.stdout.splitlines()}
    functions = ("launch", "load", "loaded", "attributes", "error")
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

int main(void) {
  CutegenLaunch launch = {};
  launch.p.m = 64, launch.p.n = 32, launch.p.k = 8;
  launch.p.alpha = 1;
  int32_t codes[] = {tiny_launch(&launch), large_launch(&launch), tiny_load(0), large_load(1)};
  CutegenAttributes attributes;
  large_attributes(0, &attributes);
  printf("%d %d %d %d\\n", codes[0], codes[1], codes[2], codes[3]);
  printf("%d %d %s\\n", tiny_loaded(1), large_loaded(1), tiny_error(CUTEGEN_NO_DRIVER));
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
        "96 65536",
    ]

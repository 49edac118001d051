"""ctypes against the header that a build ships: sizes, offsets, 64-bit values and prototypes (J08)."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest

from cutegen.binding import CutegenAttributes, CutegenLaunch, CutegenParams, KernelLibrary, pack_launch
from cutegen.errors import ArgumentError, LaunchError
from cutegen.launcher import render_launcher
from cutegen.toolchain.host import find_host_compiler
from tests.support.build_fakes import kernel

FIELDS = [f"p.{name}" for name, _ in CutegenParams._fields_] + ["stream", "device", "flags"]
SOURCE = """
#include "tiny.h"
#include <stddef.h>
#include <string.h>
static CutegenLaunch last;
static int32_t status, device;
int32_t recorder_size(int which) {{
  return which == 0 ? sizeof(CutegenParams) : which == 1 ? sizeof(CutegenLaunch) : sizeof(CutegenAttributes);
}}
int32_t recorder_offset(int which) {{
  static const size_t offsets[] = {{{offsets}}};
  return (int32_t)offsets[which];
}}
const CutegenLaunch* recorder_last(void) {{ return &last; }}
void recorder_status(int32_t value) {{ status = value; }}
int32_t recorder_device(void) {{ return device; }}
int32_t cutegen_abi(void) {{ return {abi}; }}
int32_t cutegen_launch(const CutegenLaunch* launch) {{ return memcpy(&last, launch, sizeof last), status; }}
int32_t cutegen_load(int32_t d) {{ return device = d, status; }}
int32_t cutegen_loaded(int32_t d) {{ return d; }}
const char* cutegen_error_string(int32_t code) {{ return code == -7 ? NULL : "the words"; }}
int32_t cutegen_attributes(int32_t d, CutegenAttributes* out) {{
  device = d;
  for (int i = 0; i < (int)(sizeof *out / 4); ++i) ((int32_t*)out)[i] = 10 + i;
  return status;
}}
"""


def compile_recorder(directory: Path, *, abi: str = "CUTEGEN_ABI", source: str = SOURCE) -> Path:
    offsets = ", ".join(f"offsetof(CutegenLaunch, {field})" for field in FIELDS)
    (directory / "tiny.h").write_text(render_launcher(kernel(name="tiny"), "sm_90").header)
    (directory / "recorder.c").write_text(source.format(offsets=offsets, abi=abi))
    library = directory / "librecorder.so"
    command = [*find_host_compiler().argv, "-x", "c", "-shared", "-fPIC", "-Wall", "-Werror"]
    subprocess.run([*command, "-o", str(library), "recorder.c"], cwd=directory, check=True)
    return library


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    return compile_recorder(tmp_path_factory.mktemp("a recorder"))


@pytest.fixture
def recorder(path):
    raw = ctypes.CDLL(str(path))
    raw.recorder_last.restype = ctypes.POINTER(CutegenLaunch)
    yield raw
    raw.recorder_status(0)


def test_structures_are_laid_out_as_in_c(recorder):
    sizes = [ctypes.sizeof(kind) for kind in (CutegenParams, CutegenLaunch, CutegenAttributes)]
    assert [recorder.recorder_size(i) for i in range(3)] == sizes
    for index, field in enumerate(FIELDS):
        name = field.removeprefix("p.")
        owner = CutegenParams if field.startswith("p.") else CutegenLaunch
        assert recorder.recorder_offset(index) == getattr(owner, name).offset, field


def test_packed_values_arrive_whole(path, recorder):
    library = KernelLibrary(path)
    wide = [0x7F12_3456_7000 + (i << 40) for i in range(8)]
    packed = pack_launch(*wide, 2**31 - 1, 5, 7, 0, 0.1, -1e300, *wide[:3], 0xFFFF_8000_0000_0010, 1, 0)
    assert library.launch(packed) == 0
    last = recorder.recorder_last().contents
    p = last.p
    assert [p.a, p.b, p.c, p.d, p.lda, p.ldb, p.ldc, p.ldd] == wide
    assert (p.m, p.n, p.k, p.group, p.alpha, p.beta) == (2**31 - 1, 5, 7, 0, 0.1, -1e300)
    assert [p.scale_a, p.scale_b, p.bias] == wide[:3]
    assert (last.stream, last.device, last.flags) == (0xFFFF_8000_0000_0010, 1, 0)


def test_every_function_has_a_prototype(path):
    library = KernelLibrary(path)
    functions = [library.launch, library._load, library._loaded, library._error, library._attributes]
    assert [f.argtypes for f in functions] == [
        [ctypes.c_void_p],
        [ctypes.c_int32],
        [ctypes.c_int32],
        [ctypes.c_int32],
        [ctypes.c_int32, ctypes.POINTER(CutegenAttributes)],
    ]
    assert [f.restype for f in functions] == [ctypes.c_int32] * 3 + [ctypes.c_char_p, ctypes.c_int32]
    with pytest.raises(ctypes.ArgumentError):
        library.launch(1.5)


def test_load_and_what_is_loaded(path, recorder):
    library = KernelLibrary(path)
    library.load(3)
    assert recorder.recorder_device() == 3
    assert [library.loaded(i) for i in range(3)] == [None, "cubin", "ptx"]


@pytest.mark.parametrize("device", [-1, 64, 2**32 + 1, 2**40])
def test_devices_are_not_cut_to_32_bits(path, device):
    library = KernelLibrary(path)
    for function in (library.load, library.loaded, library.attributes):
        with pytest.raises(ArgumentError, match=rf"from 0 to 63 \(got {device}\)"):
            function(device)


def test_attributes_by_name(path):
    attributes = KernelLibrary(path).attributes(1)
    assert (attributes.registers, attributes.local_bytes, attributes.static_smem) == (10, 11, 12)
    assert (attributes.dynamic_smem, attributes.max_threads) == (13, 14)
    assert (attributes.binary_version, attributes.ptx_version, attributes.blocks_per_sm) == (15, 16, 17)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (700, "librecorder on device 2: the words"),
        (-7, "librecorder on device 2: unknown error"),
        (-2, r"the words; call kernel.load\(2\) before the capture starts"),
    ],
)
def test_errors_carry_the_launchers_words(path, recorder, status, words):
    library = KernelLibrary(path)
    recorder.recorder_status(status)
    with pytest.raises(LaunchError, match=words):
        library.load(2)
    with pytest.raises(LaunchError, match=words):
        library.attributes(2)


def test_other_libraries_are_refused(tmp_path):
    with pytest.raises(LaunchError, match=r"cannot load the kernel library .*nothing.so"):
        KernelLibrary(tmp_path / "nothing.so")
    old = compile_recorder(tmp_path, abi="CUTEGEN_ABI + 1")
    with pytest.raises(LaunchError, match="its interface is 5, not 4; rebuild it"):
        KernelLibrary(old)
    (tmp_path / "other").mkdir()
    other = compile_recorder(tmp_path / "other", source="int nothing_{abi}; /* {offsets} */")
    with pytest.raises(LaunchError, match="is not a cutegen kernel library: it has no cutegen_abi"):
        KernelLibrary(other)

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from cutegen.errors import ToolchainError
from cutegen.install import install_command
from cutegen.toolchain import find_toolchain
from cutegen.toolchain import nvcc as nvcc_module
from cutegen.toolchain.nvcc import find_nvcc
from tests.support.build_fakes import (
    Fakes,
    make_fakes,
    make_toolkit,
    script,
    write,
)


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fakes:
    return make_fakes(tmp_path, monkeypatch)


@pytest.fixture
def no_wheels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvcc_module, "wheel_roots", lambda: [])


# ---- where nvcc is found


def test_the_order_of_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fakes: Fakes) -> None:
    site = tmp_path / "site"
    made = {
        name: make_toolkit(root)
        for name, root in {
            "argument": tmp_path / "0",
            "CUTEGEN_NVCC": tmp_path / "1",
            "CUDACXX": tmp_path / "2",
            "CUDA_HOME": tmp_path / "3",
            "PATH": tmp_path / "4",
            "wheel nvidia-cuda-nvcc (cu13)": site / "nvidia" / "cu13",
        }.items()
    }
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("CUTEGEN_NVCC", str(made["CUTEGEN_NVCC"]))
    monkeypatch.setenv("CUDACXX", str(made["CUDACXX"]))
    monkeypatch.setenv("CUDA_HOME", str(made["CUDA_HOME"].parent.parent))
    monkeypatch.setenv("PATH", f"{made['PATH'].parent}:/usr/bin:/bin")

    found = find_nvcc(str(made["argument"]))
    assert (found.origin, found.path) == ("argument", made["argument"])
    for name in list(made)[1:]:
        found = find_nvcc()
        assert (found.origin, found.path) == (name, made[name])
        if name == "PATH":
            monkeypatch.setenv("PATH", "/usr/bin:/bin")
        elif not name.startswith("wheel"):
            monkeypatch.delenv(name)


@pytest.mark.parametrize("form", ["file", "root", "bin", "name"])
def test_a_setting_may_be_a_file_a_toolkit_or_a_name(
    form: str, fakes: Fakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = {
        "file": fakes.nvcc,
        "root": fakes.toolkit,
        "bin": fakes.toolkit / "bin",
        "name": Path("nvcc"),
    }[form]
    monkeypatch.setenv("PATH", f"{fakes.nvcc.parent}:/usr/bin:/bin")
    monkeypatch.setenv("CUTEGEN_NVCC", str(value))
    assert find_nvcc().path == fakes.nvcc


def test_what_the_user_named_is_never_passed_over(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{fakes.nvcc.parent}:/usr/bin:/bin")
    monkeypatch.setenv("CUTEGEN_NVCC", "/nowhere/nvcc")
    with pytest.raises(ToolchainError, match=r"CUTEGEN_NVCC: /nowhere/nvcc \(no such file\)"):
        find_nvcc()
    plain = write(fakes.root / "plain", "not a program")
    with pytest.raises(ToolchainError, match=r"argument: .*/plain \(not executable\)"):
        find_nvcc(str(plain))


def test_a_cudacxx_that_is_no_nvcc_is_passed_over(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    clang = script(fakes.root / "clang++", "#!/bin/sh\n")
    monkeypatch.delenv("CUTEGEN_NVCC")
    monkeypatch.setenv("CUDACXX", str(clang))
    monkeypatch.setenv("PATH", f"{fakes.nvcc.parent}:/usr/bin:/bin")
    assert find_nvcc().origin == "PATH"


@pytest.mark.usefixtures("no_wheels")
def test_without_nvcc_the_error_lists_every_place(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUTEGEN_NVCC")
    monkeypatch.setenv("CUDA_HOME", "/opt/empty")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    with pytest.raises(ToolchainError) as caught:
        find_toolchain()
    message = str(caught.value)
    for part in (
        "CUTEGEN_NVCC: not set",
        "CUDACXX: not set",
        "CUDA_HOME: /opt/empty/bin/nvcc (no such file)",
        "PATH: /usr/bin:/bin (no nvcc in it)",
        "wheel nvidia-cuda-nvcc: not installed",
        "Set CUTEGEN_NVCC",
        install_command("cuda13"),
    ):
        assert part in message


def test_a_directory_without_nvcc_is_called_so(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = fakes.root / "empty"
    (empty / "bin").mkdir(parents=True)
    with pytest.raises(ToolchainError, match=r"argument: .*/empty \(a directory without bin/nvcc and nvcc\)"):
        find_toolchain(str(empty))
    assert find_toolchain(str(fakes.toolkit)).nvcc.path == fakes.nvcc
    assert find_toolchain(str(fakes.toolkit / "bin")).nvcc.path == fakes.nvcc


def test_a_symlink_is_followed_to_the_toolkit(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    link = fakes.root / "links" / "nvcc"
    link.parent.mkdir()
    link.symlink_to(fakes.nvcc)
    monkeypatch.delenv("CUTEGEN_NVCC")
    monkeypatch.setenv("PATH", f"{link.parent}:/usr/bin:/bin")
    found = find_nvcc()
    assert found.path == fakes.nvcc  # nvcc called by the link's name would not find its toolkit
    assert found.root == fakes.toolkit
    assert found.cicc == fakes.toolkit / "nvvm" / "bin" / "cicc"


@pytest.mark.parametrize(
    "line",
    [
        'exec "{nvcc}" "$@"',
        "exec '{nvcc}' \"$@\"",
        'NVCC_ROOT=$(dirname "$0"); exec "$NVCC_ROOT/../tool kit/bin/nvcc" "$@"',
    ],
)
def test_a_wrapper_script_is_run_but_its_toolkit_is_found(
    line: str, fakes: Fakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrapper = script(fakes.root / "wrap" / "nvcc", f"#!/bin/sh\n{line.format(nvcc=fakes.nvcc)}\n")
    plain = find_nvcc()
    wrapped = find_nvcc(str(wrapper))
    assert wrapped.path == wrapper
    assert wrapped.root == fakes.toolkit
    assert wrapped.identity == plain.identity


def test_a_wrapper_that_names_its_nvcc_is_not_run_to_ask_questions(fakes: Fakes) -> None:
    flag = fakes.root / "flag"
    inner = script(fakes.root / "a" / "nvcc", f'#!/bin/sh\ntouch "{flag}"\nexec "{fakes.nvcc}" "$@"\n')
    outer = script(fakes.root / "b" / "nvcc", f'#!/bin/sh\ntouch "{flag}"\nexec "{inner}" "$@"\n')
    assert find_nvcc(str(outer)).version == "13.0.88"
    assert not flag.exists()


def test_two_places_in_one_wrapper_are_not_guessed_at(fakes: Fakes) -> None:
    other = make_toolkit(fakes.root / "other", version="12.9.41")
    text = f'#!/bin/sh\n# was: exec "{other}" "$@"\nexec "{fakes.nvcc}" "$@"\n'
    assert find_nvcc(str(script(fakes.root / "w" / "nvcc", text))).version == "13.0.88"


def test_the_newest_wheel_wins(tmp_path: Path, fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("cu9", "cu12", "cu13"):
        make_toolkit(tmp_path / "site" / "nvidia" / name)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.delenv("CUTEGEN_NVCC")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert find_nvcc().path == tmp_path / "site" / "nvidia" / "cu13" / "bin" / "nvcc"


# ---- what nvcc says of itself


def test_what_is_known_of_nvcc(fakes: Fakes) -> None:
    found = find_nvcc()
    assert found.version == "13.0.88"
    assert found.gpu_codes == ("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120")
    assert found.includes == (fakes.toolkit / "include",)
    assert found.extra_includes == ()


def test_identity_is_content_and_not_place_or_time(fakes: Fakes) -> None:
    copy = fakes.root / "elsewhere"
    shutil.copytree(fakes.toolkit, copy)
    assert find_nvcc(str(copy)).identity == find_nvcc().identity


@pytest.mark.parametrize("part", ["bin/nvcc", "bin/ptxas", "nvvm/bin/cicc", "nvvm/libdevice/libdevice.10.bc"])
def test_identity_changes_with_each_program(part: str, fakes: Fakes) -> None:
    before = find_nvcc().identity
    path = fakes.toolkit / part
    path.write_bytes(path.read_bytes() + b"#\n")
    assert find_nvcc().identity != before


def test_a_change_of_equal_size_and_time_is_seen(fakes: Fakes) -> None:
    before = find_nvcc().identity
    cicc = fakes.toolkit / "nvvm" / "bin" / "cicc"
    stat = cicc.stat()
    cicc.write_text("CICC\n")
    os.utime(cicc, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert find_nvcc().identity != before


@pytest.mark.parametrize(
    ("part", "wheel"), [("nvvm/bin/cicc", "nvidia-nvvm"), ("bin/ptxas", "nvidia-cuda-nvcc")]
)
def test_a_toolkit_without_a_program_names_the_wheel(part: str, wheel: str, fakes: Fakes) -> None:
    (fakes.toolkit / part).unlink()
    with pytest.raises(ToolchainError, match=rf"{Path(part).name} is missing .*wheel {wheel}"):
        find_toolchain()


@pytest.mark.parametrize(
    ("part", "wheel"),
    [
        ("cuda_runtime.h", "nvidia-cuda-runtime"),
        ("crt/host_config.h", "nvidia-cuda-crt"),
        ("cccl/cuda/std/cstdint", "nvidia-cuda-cccl"),
    ],
)
def test_missing_cuda_headers_name_the_wheel(part: str, wheel: str, fakes: Fakes) -> None:
    (fakes.toolkit / "include" / part).unlink()
    with pytest.raises(ToolchainError, match=rf"CUDA headers are missing .*wheel {wheel}"):
        find_toolchain()


def test_cuda_headers_elsewhere(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    moved = fakes.root / "other headers"
    (fakes.toolkit / "include").rename(moved)
    monkeypatch.setenv("CUTEGEN_CUDA_INCLUDE", str(moved))
    found = find_toolchain().nvcc
    assert found.includes == (moved,)
    assert found.extra_includes == (moved, moved / "cccl")


def test_a_broken_nvcc_is_named(fakes: Fakes) -> None:
    script(fakes.nvcc, "#!/bin/sh\necho 'cannot load libfoo' >&2; exit 127\n")
    with pytest.raises(
        ToolchainError, match=r"nvcc --version failed \(exit status 127\): cannot load libfoo"
    ):
        find_toolchain()
    script(fakes.nvcc, "no shebang, no program\n")
    with pytest.raises(ToolchainError, match=r"bin/nvcc cannot be run: Exec format error"):
        find_toolchain()


def test_a_program_that_is_no_nvcc_is_called_so(fakes: Fakes) -> None:
    with pytest.raises(ToolchainError, match=r"/bin/true --version must name its release \(got 'true "):
        find_toolchain("/bin/true")
    other = script(fakes.root / "other", "#!/bin/sh\n[ $1 = --version ] && echo release 13.0\nexit 0\n")
    with pytest.raises(ToolchainError, match=r"/other is no nvcc: --dryrun does not say"):
        find_toolchain(str(other))


def test_an_include_directory_that_is_not_there(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTEGEN_CUDA_INCLUDE", "/nowhere")
    with pytest.raises(ToolchainError, match=r"CUTEGEN_CUDA_INCLUDE must be a directory .*got /nowhere"):
        find_toolchain()

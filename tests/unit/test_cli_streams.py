"""What the command line reads and writes: full disks, closed streams, endless inputs, odd encodings."""

from __future__ import annotations

import json
import os
import subprocess
import warnings
from pathlib import Path

import click
import pytest

from cutegen.cli import output
from cutegen.cli.exits import exit_code_of
from cutegen.errors import CutegenError, CutegenWarning
from tests.support.cli import GOOD, document, invoke
from tests.support.cli_process import finish, run, start

COMMANDS = [["rules"], ["rules", "--json"], ["--help"], ["check", "--help"], ["check", "no.yaml", "--json"]]


@pytest.mark.parametrize("args", COMMANDS, ids=" ".join)
def test_a_full_stdout_is_one_line_and_74(args: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = run(*args, stdout=full)
    assert done.returncode == 74
    assert done.stderr == "error: standard output cannot be written: No space left on device\n"


@pytest.mark.parametrize("args", COMMANDS, ids=" ".join)
def test_a_reader_that_has_gone_is_silent_and_141(args: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = run(*args, stdout=writer)
    finally:
        os.close(writer)
    assert done.returncode == 141
    assert done.stderr == ""


def test_closed_streams(tmp_path: Path) -> None:
    good = tmp_path / "good.yaml"
    good.write_text(GOOD)

    def shell(redirection: str, *args: str) -> subprocess.CompletedProcess[str]:
        process = start(*args)
        process.kill()
        process.communicate()
        assert isinstance(process.args, list)
        line = f'exec "$@" {redirection}'
        return subprocess.run(["/bin/sh", "-c", line, "sh", *process.args], capture_output=True, text=True)

    done = shell(">&-", "check", str(good))
    assert (done.returncode, done.stderr) == (74, "error: standard output cannot be written: it is closed\n")
    done = shell("2>&-", "check", str(good))
    assert done.returncode == 0
    done = shell("<&-", "check", "-")
    assert done.returncode == 2
    assert done.stderr == "error: <stdin>: is closed; name a file, or pipe a config in\n"


def test_a_stderr_that_cannot_be_written_changes_no_exit_code(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        assert run("check", str(tmp_path / "no.yaml"), stderr=full).returncode == 2
        assert run("check", "--nope", stderr=full).returncode == 2


def test_inputs_without_an_end(tmp_path: Path) -> None:
    found = invoke("check", "/dev/zero")
    assert found.exit_code == 2
    assert found.stderr == (
        "error: /dev/zero: must be at most 4 MiB to be a config (got more); name a YAML file\n"
    )
    with Path("/dev/zero").open() as zero:
        done = run("check", "-", stdin=zero)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: <stdin>: must be at most 4 MiB")
    large = tmp_path / "large.yaml"
    large.write_text(GOOD + "#" * (4 << 20))
    assert "must be at most 4 MiB" in invoke("check", str(large)).stderr


def test_inputs_that_are_no_files(tmp_path: Path) -> None:
    assert "is a directory; name a YAML file in it" in invoke("check", str(tmp_path)).stderr
    binary = tmp_path / "library.so"
    binary.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(64))
    assert "must be text (got a binary file); name a YAML file" in invoke("check", str(binary)).stderr
    wide = tmp_path / "wide.yaml"
    wide.write_text(GOOD, encoding="utf-16")
    assert invoke("check", str(wide)).exit_code == 0
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    process = start("check", str(pipe))
    pipe.write_text(GOOD)
    assert finish(process).returncode == 0


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_inputs_that_nest_deeply(tmp_path: Path, opening: str) -> None:
    path = tmp_path / "deep.yaml"
    path.write_text(opening * 20_000)
    found = invoke("check", str(path))
    assert found.exit_code == 2
    assert "[yaml]" in found.stderr


@pytest.mark.parametrize("name", ["n\u00f6 \u4e2d.yaml", "n\udcff.yaml"])
@pytest.mark.parametrize("encoding", ["ascii", "utf-8", "latin-1"])
def test_names_that_a_terminal_cannot_show(tmp_path: Path, name: str, encoding: str) -> None:
    path = tmp_path / name
    path.write_text(GOOD)
    env = {"PYTHONIOENCODING": encoding, "LC_ALL": "C"}
    for args in (["check", str(path)], ["explain", str(path)], ["check", str(path), "--json"]):
        done = run(*args, env=env, errors="replace")
        assert (done.returncode, done.stderr) == (0, "")
    done = run("check", str(path.with_suffix(".yml")), env=env, errors="replace")
    assert done.returncode == 2
    assert "no such file" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_warning_is_one_plain_line_and_a_field(capsys: pytest.CaptureFixture[str]) -> None:
    def warned() -> None:
        warnings.warn("look out", CutegenWarning, stacklevel=2)
        raise CutegenError("no")

    assert exit_code_of(warned, as_json=True) == 1
    out, err = capsys.readouterr()
    assert click.unstyle(err) == "warning: look out\n"
    assert json.loads(out)["notices"] == ["look out"]
    assert document("rules", "--json")["notices"] == []  # of this run only
    assert output.current().notices == []


def test_every_document_has_an_exit_code(good: str) -> None:
    for args in (
        ["rules"],
        ["cache", "ls"],
        ["cache", "info"],
        ["render", good],
        ["check", good],
        ["doctor"],
    ):
        assert isinstance(document(*args, "--json")["exit_code"], int)
    assert "ok" not in document("schema")


def test_a_current_directory_that_is_gone(tmp_path: Path) -> None:
    good = tmp_path / "good.yaml"
    good.write_text(GOOD)
    gone = ["sh", "-c", 'mkdir "$0" && cd "$0" && rmdir "$0" && exec "$@"', str(tmp_path / "gone")]
    assert run("check", str(good), prefix=gone).returncode == 0
    for args, words in (
        (["check", "good.yaml"], "no such file"),
        (["render", str(good), "-o", "x"], "cannot be written"),
        (["cache", "info"], "CUTEGEN_CACHE_DIR: must be an absolute path, as the current directory is gone"),
    ):
        done = run(*args, prefix=gone, env={"CUTEGEN_CACHE_DIR": "relative"} if "info" in args else {})
        assert done.returncode in (2, 3)
        assert words in done.stderr
        assert "Traceback" not in done.stderr


def test_standard_input_can_be_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = invoke("check", "-", "-", stdin=GOOD)
    assert found.exit_code == 2
    assert "standard input (-) can be read once; a file of that name is ./-" in found.stderr
    monkeypatch.chdir(tmp_path)
    Path("-").write_text(GOOD)
    assert invoke("check", "./-", "-", stdin=GOOD).exit_code == 0

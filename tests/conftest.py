"""Marks by directory, skips with a reason, and a switch that turns such skips into failures.

``CUTEGEN_REQUIRE=nvcc,gxx,gpu`` makes a test fail whose tool is missing, where CI promises the tool.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

_DIRECTORY_MARKS = ("unit", "emulated", "compile", "gpu", "golden", "browser")
_NEEDS = {
    "browser": ("browser",),
    "emulated": ("gxx",),
    "compile": ("nvcc",),
    "gpu": ("gpu", "torch", "nvcc"),
}

settings.register_profile(
    "cutegen",
    deadline=None,  # the machine may be busy
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("cutegen")


def _hear_signals() -> None:
    """Ctrl-C and hang-ups reach what tests start, also in jobs of the background, which ignore them."""
    for number, heard in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            with suppress(ValueError):  # not the main thread
                signal.signal(number, heard)


_hear_signals()


def _nvcc() -> str | None:
    from cutegen.errors import CutegenError
    from cutegen.toolchain import find_toolchain

    try:
        find_toolchain()
    except CutegenError as exc:
        return f"no CUDA toolchain ({str(exc).splitlines()[0]}); install cutegen[cuda13] or set CUTEGEN_NVCC"
    return None


def _gxx() -> str | None:
    from cutegen.emulator import find_host_toolchain
    from cutegen.errors import CutegenError

    if shutil.which("g++") is None:
        return "no g++ on PATH; install one"
    try:
        find_host_toolchain()
    except CutegenError as exc:
        return f"the emulator cannot compile here: {str(exc).splitlines()[0]}"
    return None


def _gpu() -> str | None:
    from cutegen.device import gpus

    return None if gpus() else "no GPU, or no driver for one"


def _torch() -> str | None:
    try:
        import torch
    except ImportError:
        return "torch is not installed; install cutegen[torch]"
    return None if torch.cuda.is_available() else "this torch sees no GPU; install a CUDA build of torch"


def _browser() -> str | None:
    from tests.support.browser import find_browser

    return None if find_browser() else "no Chromium on PATH; install one (Debian: apt install chromium)"


_CHECKS: dict[str, Callable[[], str | None]] = {
    "browser": _browser,
    "gpu": _gpu,
    "gxx": _gxx,
    "nvcc": _nvcc,
    "torch": _torch,
}


@cache
def _missing(tool: str) -> str | None:
    return _CHECKS[tool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-goldens",
        action="store_true",
        help="write what the golden tests compare with, instead of comparing",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for part in Path(item.path).relative_to(Path(__file__).parent).parts[:-1]:
            if part in _DIRECTORY_MARKS:
                item.add_marker(getattr(pytest.mark, part))


def pytest_runtest_setup(item: pytest.Item) -> None:
    required = {t for t in os.environ.get("CUTEGEN_REQUIRE", "").replace(" ", "").split(",") if t}
    if "gpu" in required:
        required.add("torch")
    for mark, tools in _NEEDS.items():
        if item.get_closest_marker(mark) is None:
            continue
        for tool in tools:
            reason = _missing(tool)
            if reason is not None and tool in required:
                pytest.fail(f"CUTEGEN_REQUIRE promises {tool}: {reason}", pytrace=False)
            if reason is not None:
                pytest.skip(reason)


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests never touch the user's kernels; what the emulator prepares, workers of one run share."""
    cache = tmp_path_factory.mktemp("cutegen cache")
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "emulator"
    shared.mkdir(exist_ok=True)
    (cache / "emulator").symlink_to(shared)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUTEGEN_CACHE_DIR", str(cache))
        yield


@pytest.fixture
def update_goldens(request: pytest.FixtureRequest) -> bool:
    """Whether golden tests write instead of compare."""
    return bool(request.config.getoption("--update-goldens"))

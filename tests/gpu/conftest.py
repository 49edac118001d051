"""All kernels that the selected GPU tests need are built side by side before the first of them runs.

    pytest tests/gpu                                   # on a machine with a GPU
    pytest tests/gpu --build-only --kernel-cache DIR   # only build, for example without a GPU

A test says which kernels it needs by a parameter that is a ``Case``, or by ``@pytest.mark.kernels(config)``.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from cutegen.cache import open_cache
from cutegen.errors import CutegenError
from cutegen.loader import dump
from tests.support.gpu import Case, Pool

_POOL = pytest.StashKey[Pool]()
_HERE = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("cutegen GPU tests")
    group.addoption("--build-only", action="store_true", help="build the kernels of the GPU tests, run none")
    group.addoption("--build-jobs", type=int, help="compilers at a time; default: the cores")
    group.addoption("--build-target", help="for example sm_90; default: the GPU of this machine")
    group.addoption("--build-style", default="resolved", help="resolved or idiomatic")
    group.addoption("--kernel-cache", help="cache of the GPU tests' kernels; default: a temporary one")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "kernels(*configs): kernels that the test needs")


def pytest_collection_finish(session: pytest.Session) -> None:
    config = session.config
    folder = config.getoption("--kernel-cache")
    if config.getoption("--build-only") and not folder:
        raise pytest.UsageError("--build-only needs --kernel-cache DIR, where the kernels are to be kept")
    pool = Pool(
        style=config.getoption("--build-style"),
        target=config.getoption("--build-target"),
        jobs=config.getoption("--build-jobs"),
        cache=open_cache(Path(folder)) if folder else None,
        progress=_progress,
    )
    config.stash[_POOL] = pool
    mine = [item for item in session.items if _HERE in item.path.parents]
    if not mine or not (config.getoption("--build-only") or _has_gpu()):
        return
    for item in mine:
        parameters = getattr(item, "callspec", None)
        values = parameters.params.values() if parameters else ()
        pool.want(value.config for value in values if isinstance(value, Case))
        for mark in item.iter_markers("kernels"):
            pool.want(mark.args)
    if config.getoption("--build-only"):
        begin = time.perf_counter()
        built = pool.build()
        failures = [(c, e) for c, e in built.items() if isinstance(e, CutegenError)]
        for failed, error in failures:
            sys.stderr.write(f"--- {error}\n{dump(failed)}")
        seconds = time.perf_counter() - begin
        pytest.exit(f"{len(built)} kernels, {len(failures)} failed, {seconds:.0f} s", 1 if failures else 0)


def _has_gpu() -> bool:
    from cutegen.device import gpus

    return bool(gpus())


def _progress(done: int, total: int, _: object) -> None:
    if done == total or done % 20 == 0:
        sys.stderr.write(f"\r{done} of {total} kernels built")
        sys.stderr.write("\n" if done == total else "")
        sys.stderr.flush()


@pytest.fixture(scope="session")
def kernel_of(request: pytest.FixtureRequest) -> Pool:
    """From a config to its kernel."""
    return request.config.stash[_POOL]

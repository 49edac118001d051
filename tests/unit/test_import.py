"""``import cutegen`` is quick and touches neither torch nor CUDA nor the disk."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PROBE = """
import json, sys, time
start = time.perf_counter()
import cutegen
seconds = time.perf_counter() - start
print(json.dumps({"seconds": seconds, "modules": sorted(sys.modules)}))
"""


def probe(code: str = PROBE, **environment: str) -> dict[str, object]:
    import os

    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    return dict(json.loads(done.stdout))


def test_import_is_quick() -> None:
    # The best of several: the machine may be busy, and the first run compiles bytecode.
    best = min(float(str(probe()["seconds"])) for _ in range(5))
    assert best < 0.3


def test_import_loads_nothing_heavy() -> None:
    modules = probe()["modules"]
    assert isinstance(modules, list)
    heavy = {"torch", "numpy", "scipy", "cuda", "cutlass_library", "click", "cutegen.cli"}
    assert not heavy & set(modules)


def test_building_for_a_gpu_does_not_load_the_emulator() -> None:
    code = (
        "import json, sys\nimport cutegen\ncutegen.build\n"
        'print(json.dumps({"modules": sorted(sys.modules)}))\n'
    )
    modules = probe(code)["modules"]
    assert isinstance(modules, list)
    assert "cutegen.building" in modules
    assert not [name for name in modules if name.startswith("cutegen.emulator")]


def test_import_leaves_the_disk_alone(tmp_path: Path) -> None:
    probe(HOME=str(tmp_path), XDG_CACHE_HOME=str(tmp_path / "cache"), CUTEGEN_CACHE_DIR=str(tmp_path / "own"))
    assert not list(tmp_path.iterdir())


def test_command_line_is_quick() -> None:
    code = (
        "import json, sys, time\nstart = time.perf_counter()\nimport cutegen.cli.group\n"
        'print(json.dumps({"seconds": time.perf_counter() - start, "modules": sorted(sys.modules)}))\n'
    )
    best = min(float(str(probe(code)["seconds"])) for _ in range(5))
    assert best < 0.4

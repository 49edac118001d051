"""The kernel that only reads B: every byte once, and none beyond."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutegen.emulator import emulate

SOURCE = Path(__file__).parent / "read_weights_main.cu"


@pytest.mark.parametrize(("n", "k_bytes", "ctas"), [(33, 4096 + 16, 3), (1, 16, 1), (8, 16384, 2)])
def test_it_reads_b_once(n: int, k_bytes: int, ctas: int) -> None:
    report = emulate(SOURCE, arguments=(str(n), str(k_bytes), str(ctas)), processes=1)
    assert report.status == 0, report.output
    assert report.clean, report.summary()

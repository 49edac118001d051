"""Numbers on their way into an emulated kernel: whole, or a typed error."""

from __future__ import annotations

import math
import struct
from types import SimpleNamespace
from typing import Any

import pytest

from cutegen.emulator.gemm import EmulatedKernel, Matrix
from cutegen.emulator.program import Launch, _pack
from cutegen.errors import ArgumentError
from tests.support.build_fakes import launch_spec


def slot(argument: Any) -> tuple[int, float]:
    packed = _pack(Launch(kernel="k", grid=(1, 1, 1), block=(1, 1, 1), arguments=(argument,)))[0]
    whole, real = struct.unpack("<qd", packed)
    return int(whole), float(real)


@pytest.mark.parametrize(
    ("argument", "low"),
    [(-(2**63), -(2**63)), (2**64 - 1, -1), (True, 1), (2.75, 2), (1e300, 0), (-math.inf, 0)],
)
def test_numbers_keep_their_value(argument: float, low: int) -> None:
    assert slot(argument) == (low, float(argument))


def test_not_a_number() -> None:
    assert math.isnan(slot(math.nan)[1])


@pytest.mark.parametrize("argument", [2**64, -(2**63) - 1, 10**400])
def test_integers_beyond_64_bits(argument: int) -> None:
    with pytest.raises(ArgumentError, match="argument 0 must fit into 64 bits"):
        slot(argument)


@pytest.mark.parametrize(
    "options",
    [{"leading": (2**63, 64, 64, 64)}, {"alpha": 10**400}, {"rows": 2**31}],
)
def test_a_problem_beyond_its_fields(options: dict[str, Any]) -> None:
    compiled: Any = SimpleNamespace(name="k", arch="sm_80")
    rows = options.pop("rows", 8)

    def matrix(m: int, n: int) -> Matrix:
        return Matrix(address=4096, element=2, shape=(m, n), strides=(n, 1))

    kernel = EmulatedKernel(compiled=compiled, launch=launch_spec())
    with pytest.raises(ArgumentError, match="extents must fit into 32 bits, leading strides into 64"):
        kernel.run(matrix(rows, 8), matrix(8, 8), matrix(rows, 8), **options)

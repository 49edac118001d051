"""A launch file with its arrays: filled before a run, compared and written afterwards."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from cutegen.dtypes import DTypeName
from cutegen.emulator.arrays import Comparison, compare, is_float, meaning, stored, stored_as
from cutegen.emulator.expression import evaluate
from cutegen.emulator.program import Launch
from cutegen.emulator.spec import ArraySpec, LaunchFile, ScalarSpec
from cutegen.errors import ArgumentError, ConfigError
from cutegen.numerics import encode

__all__ = ["BoundLaunch", "bind_launch"]


@dataclass(frozen=True, kw_only=True)
class BoundLaunch:
    """A launch whose arrays exist.

    Attributes:
        file: As it was written.
        launch: What the emulator takes; its arrays are this object's.
        arrays: By index of the argument.
        expected: What outputs must be, by index of the argument.
    """

    file: LaunchFile
    launch: Launch
    arrays: Mapping[int, Any] = field(repr=False)
    expected: Mapping[int, Any] = field(repr=False)

    def compare(self) -> list[Comparison]:
        """Every output that has an expectation against it.

        Raises:
            ConfigError: An expectation has another shape.
        """
        found = []
        for index, want in self.expected.items():
            spec = cast("ArraySpec", self.file.arguments[index])
            try:
                found.append(
                    compare(spec.name, spec.dtype, self.arrays[index], want, rtol=spec.rtol, atol=spec.atol)
                )
            except ArgumentError as exc:
                self.file.refuse((*spec.path, "expect"), str(exc))
        return found

    def save(self) -> list[str]:
        """Write the outputs that have a file; returns the names of the files.

        Raises:
            ConfigError: A file cannot be written.
        """
        import numpy as np

        names = []
        for index, array in self.arrays.items():
            spec = cast("ArraySpec", self.file.arguments[index])
            if spec.save is not None:
                try:
                    np.save(spec.save, array)
                except OSError as exc:
                    self.file.refuse((*spec.path, "save"), f"{spec.save} cannot be written: {exc.strerror}")
                names.append(str(spec.save))
        return names


def bind_launch(file: LaunchFile) -> BoundLaunch:
    """Make the arrays of a launch and work out what must come of them.

    Raises:
        ConfigError: A file cannot be read, or an expression cannot be evaluated.
    """
    arrays: dict[int, Any] = {}
    names: dict[str, Any] = {}
    arguments: list[Any] = []
    for index, spec in enumerate(file.arguments):
        if isinstance(spec, ScalarSpec):
            arguments.append(_scalar(file, index, spec))
            if spec.name and spec.value is not None:
                names[spec.name] = spec.value
            continue
        array = _array(file, index, spec, names)
        arrays[index] = array
        names[spec.name] = meaning(spec.dtype, array)
        arguments.append(array)
    expected = {
        index: _expected(file, spec, names)
        for index, spec in enumerate(file.arguments)
        if isinstance(spec, ArraySpec) and spec.expect is not None
    }
    launch = Launch(
        kernel=file.kernel,
        grid=file.grid,
        block=file.block,
        cluster=file.cluster,
        shared=file.shared,
        arguments=tuple(arguments),
        outputs=tuple(i for i, s in enumerate(file.arguments) if isinstance(s, ArraySpec) and s.output),
        names=tuple(s.name for s in file.arguments),
    )
    return BoundLaunch(file=file, launch=launch, arrays=arrays, expected=expected)


def _scalar(file: LaunchFile, index: int, spec: ScalarSpec) -> int | float | bytes | None:
    """A number for a parameter of whatever arithmetic type; bytes where the type is told."""
    if spec.data is not None:
        return spec.data
    if spec.value is None:
        return None
    if spec.dtype is None:
        return spec.value
    try:
        if spec.dtype == "f32":
            return struct.pack("<f", spec.value)
        if is_float(spec.dtype):
            import numpy as np

            return bytes(encode(cast("DTypeName", spec.dtype), np.float64(spec.value)).tobytes())
        return bytes(stored(spec.dtype, _whole(spec.value)).tobytes())
    except (ArgumentError, OverflowError) as exc:
        file.refuse(("arguments", index, "value"), str(exc))


def _whole(value: float) -> int:
    if value != int(value):
        raise ArgumentError(f"must be a whole number (got {value})")
    return int(value)


def _array(file: LaunchFile, index: int, spec: ArraySpec, names: Mapping[str, Any]) -> Any:
    import numpy as np

    path = ("arguments", index)
    order: Literal["F", "C"] = "F" if spec.column_major else "C"
    if spec.file is not None:
        array = _read(file, (*path, "file"), spec.file)
        kind = stored_as(spec.dtype)
        if array.dtype != kind:
            if array.dtype.kind not in "biuf":
                file.refuse((*path, "file"), f"must hold numbers (got {array.dtype})")
            try:
                array = stored(spec.dtype, array)
            except ArgumentError as exc:
                file.refuse((*path, "file"), str(exc))
        if spec.shape is not None and array.shape != spec.shape:
            if array.size != np.prod(spec.shape):
                file.refuse(
                    (*path, "shape"), f"must be the file's, {list(array.shape)} (got {list(spec.shape)})"
                )
            array = array.reshape(spec.shape)
        return np.array(array, order=order)
    shape = spec.shape or ()
    try:
        values = _filled(file, index, spec, shape, names)
        return np.array(np.broadcast_to(stored(spec.dtype, values), shape), order=order)
    except (ArgumentError, ValueError) as exc:
        file.refuse((*path, "fill"), str(exc))


def _filled(
    file: LaunchFile, index: int, spec: ArraySpec, shape: tuple[int, ...], names: Mapping[str, Any]
) -> Any:
    import numpy as np

    fill = spec.fill
    if fill is None:
        # An output begins with what no result is likely to be, so that an element nobody wrote shows.
        fill = (float("nan") if is_float(spec.dtype) else 123) if spec.output else "random"
    if fill == "random":
        low = max(spec.low, 0) if spec.dtype.startswith("u") or spec.dtype == "bool" else spec.low
        if low > spec.high:
            raise ArgumentError(f"random numbers of {spec.dtype} need high of at least {low}")
        return np.random.default_rng((file.seed, index)).integers(low, spec.high + 1, shape)
    if fill == "arange":
        return np.arange(int(np.prod(shape))).reshape(shape)
    if fill in ("zeros", "ones"):
        return np.full(shape, float(fill == "ones"))
    if fill == "nan":
        return np.full(shape, np.nan)
    if isinstance(fill, str):
        return evaluate(fill, names)
    return np.full(shape, fill)


def _expected(file: LaunchFile, spec: ArraySpec, names: Mapping[str, Any]) -> Any:
    path = (*spec.path, "expect")
    if isinstance(spec.expect, str) and spec.expect.endswith(".npy"):
        array = _read(file, path, file.directory / spec.expect)
        return meaning(spec.dtype, array) if array.dtype == stored_as(spec.dtype) else array
    if not isinstance(spec.expect, str):
        return spec.expect
    try:
        return evaluate(spec.expect, names)
    except ArgumentError as exc:
        file.refuse(path, str(exc))


def _read(file: LaunchFile, path: tuple[str | int, ...], name: Any) -> Any:
    import numpy as np

    try:
        return np.load(name, allow_pickle=False)
    except FileNotFoundError:
        raise ConfigError(
            f"{file.document.where(file.document.at_value(path))}: {name}: no such file"
        ) from None
    except (OSError, ValueError, EOFError) as exc:
        file.refuse(path, f"{name} is no .npy file: {exc}")

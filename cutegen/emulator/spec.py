"""A launch in YAML: which kernel, how many CTAs, which arguments, and what must come out."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from cutegen.emulator.arrays import element_name
from cutegen.errors import ArgumentError, ConfigError
from cutegen.loader import read_text
from cutegen.yamlread import Document, LocatedViolation, PathKey, parse
from cutegen.yamlwrite import clip, dotted, flow

__all__ = ["ArraySpec", "LaunchFile", "ScalarSpec", "read_launch"]

_FIELDS = ("kernel", "grid", "block", "cluster", "shared", "seed", "arguments")
_ARRAY = (
    "name",
    "dtype",
    "shape",
    "order",
    "fill",
    "low",
    "high",
    "file",
    "output",
    "save",
    "expect",
    "tolerance",
)
_SCALAR = ("name", "dtype", "value", "bytes")
_MOST_ELEMENTS = 1 << 30
_EXAMPLE = "{kernel: reduce, grid: 8, block: 128, arguments: [{shape: 1024}, {shape: 8, output: true}, 1024]}"


@dataclass(frozen=True, kw_only=True)
class ScalarSpec:
    """An argument that is passed by value.

    Attributes:
        name: What expressions call it; empty: nothing.
        dtype: Its element type; None: whatever the parameter's type is.
        value: A number; None with ``data`` None: a null pointer.
        data: The bytes themselves, for a structure.
    """

    name: str = ""
    dtype: str | None = None
    value: int | float | None = None
    data: bytes | None = None


@dataclass(frozen=True, kw_only=True)
class ArraySpec:
    """An argument that is a pointer to an array.

    Attributes:
        name: What reports and expressions call it.
        dtype: Element type.
        shape: Extents; None: those of the file.
        column_major: Whether the first index has stride 1, not the last one.
        fill: ``random``, ``zeros``, ``ones``, ``nan``, ``arange``, a number, or an expression over
            earlier arrays.
        low: Smallest number of ``random``.
        high: Largest number of ``random``.
        file: A ``.npy`` file with its elements.
        output: Whether the kernel may write to it.
        save: A ``.npy`` file that it is written to afterwards.
        expect: A ``.npy`` file or an expression that it is compared with afterwards.
        rtol: Allowed relative difference.
        atol: Allowed difference.
        path: Where it stands in the document.
    """

    name: str
    dtype: str = "f32"
    shape: tuple[int, ...] | None = None
    column_major: bool = False
    fill: str | int | float | None = None
    low: int = -2
    high: int = 2
    file: Path | None = None
    output: bool = False
    save: Path | None = None
    expect: str | int | float | None = None
    rtol: float = 0.0
    atol: float = 0.0
    path: PathKey = ()


@dataclass(frozen=True, kw_only=True)
class LaunchFile:
    """A launch as it was written.

    Attributes:
        kernel: C++ expression of the kernel, with template arguments.
        grid: CTAs.
        block: Threads of a CTA.
        cluster: CTAs of a cluster.
        shared: Bytes of dynamic shared memory.
        seed: Of random elements.
        arguments: In the kernel's order.
        document: Where everything stands.
        directory: What relative names of files are relative to.
    """

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cluster: tuple[int, int, int] = (1, 1, 1)
    shared: int = 0
    seed: int = 0
    arguments: tuple[ScalarSpec | ArraySpec, ...] = ()
    document: Document = field(compare=False, repr=False)
    directory: Path = Path()

    def refuse(self, path: PathKey, message: str) -> NoReturn:
        """Raise an error that has the place of an entry.

        Raises:
            ConfigError: Always.
        """
        where = self.document.where(self.document.at_value(path))
        raise ConfigError(f"{where}: {dotted(path)}: {message}")


def read_launch(text: str) -> LaunchFile:
    """Read a launch: the name of a YAML file, or YAML itself, which begins with ``{`` or has several lines.

    Raises:
        ConfigError: The file cannot be read, or it is no launch; every mistake is listed with its place.
    """
    inline = text.lstrip().startswith("{") or "\n" in text
    document = parse(text, "<launch>") if inline else parse(read_text(text), text)
    directory = Path() if inline else Path(text).parent
    return _Reader(document, directory).read()


class _Reader:
    """Turns plain data into a launch, and collects every mistake on the way."""

    def __init__(self, document: Document, directory: Path) -> None:
        self.document = document
        self.directory = directory
        self.found: list[LocatedViolation] = []

    def read(self) -> LaunchFile:
        data = self.document.data
        if not isinstance(data, Mapping):
            self.wrong((), "must be a mapping", flow(data), f"write for example {_EXAMPLE}")
            self.stop()
        self.known(data, (), _FIELDS)
        kernel = data.get("kernel")
        if not isinstance(kernel, str) or not kernel.strip():
            self.wrong(
                ("kernel",), "must name a kernel", flow(kernel), "write for example 'kernel: reduce<128>'"
            )
        launch = LaunchFile(
            kernel=str(kernel).strip(),
            grid=self.triple(data, "grid", least=1, default=None),
            block=self.triple(data, "block", least=1, default=None),
            cluster=self.triple(data, "cluster", least=1, default=(1, 1, 1)),
            shared=self.integer(data, (), "shared", 0, 0, 1 << 20),
            seed=self.integer(data, (), "seed", 0, 0, 1 << 62),
            arguments=tuple(self.arguments(data.get("arguments"))),
            document=self.document,
            directory=self.directory,
        )
        for extent, per in zip(launch.grid, launch.cluster, strict=True):
            if extent % per and not self.found:
                self.wrong(
                    ("grid",),
                    f"must be a multiple of the cluster {list(launch.cluster)}",
                    flow(list(launch.grid)),
                    "change grid or cluster",
                )
                break
        self.stop()
        return launch

    def stop(self) -> None:
        if self.found:
            count = f"{len(self.found)} mistake{'s' * (len(self.found) > 1)}"
            raise ConfigError(f"the launch {self.document.name} has {count}", self.found)

    def wrong(self, path: PathKey, need: str, got: str, fix: str, *, at_key: bool = False) -> None:
        mark = self.document.at_key(path) if at_key else self.document.at_value(path)
        self.found.append(
            LocatedViolation(
                rule="launch", field=dotted(path), got=clip(got), need=need, fix=fix,
                position=self.document.where(mark),
            )
        )  # fmt: skip

    def known(self, data: Mapping[str, Any], path: PathKey, fields: tuple[str, ...]) -> None:
        for name in data:
            if name not in fields:
                close = difflib.get_close_matches(name, fields, n=1)
                fix = f"did you mean {close[0]}?" if close else f"use one of {', '.join(fields)}"
                self.wrong((*path, name), "must be a field of a launch", name, fix, at_key=True)

    def integer(
        self, data: Mapping[str, Any], path: PathKey, name: str, default: int, least: int, most: int
    ) -> int:
        value = data.get(name, default)
        if not _is_int(value) or not least <= value <= most:
            self.wrong(
                (*path, name),
                f"must be an integer from {least} to {most}",
                flow(value),
                f"write {name}: {default}",
            )
            return default
        return int(value)

    def triple(
        self, data: Mapping[str, Any], name: str, *, least: int, default: tuple[int, int, int] | None
    ) -> tuple[int, int, int]:
        value = data.get(name, default)
        given = (value,) if _is_int(value) else value
        good = isinstance(given, tuple) and 1 <= len(given) <= 3
        if not good or not all(_is_int(x) and least <= x < 1 << 31 for x in given):
            self.wrong(
                (name,),
                "must be one to three positive integers",
                flow(value) if name in data else "nothing",
                f"write for example {name}: {'128' if name == 'block' else '[8, 1, 1]'}",
            )
            return (1, 1, 1)
        x, y, z = (*given, 1, 1)[:3]
        return int(x), int(y), int(z)

    def arguments(self, value: Any) -> Iterator[ScalarSpec | ArraySpec]:
        if value is None:
            return
        if not isinstance(value, tuple):
            self.wrong(
                ("arguments",), "must be a list", flow(value), "write '- {shape: 1024}' or '- 1024' a line"
            )
            return
        names: set[str] = set()
        for index, item in enumerate(value):
            path: PathKey = ("arguments", index)
            argument = self.argument(item, path, index)
            if argument.name in names:
                self.wrong((*path, "name"), "must be given once", argument.name, "choose another name")
            names |= {argument.name} - {""}
            yield argument

    def argument(self, item: Any, path: PathKey, index: int) -> ScalarSpec | ArraySpec:
        if item is None or isinstance(item, bool | int | float):
            return ScalarSpec(value=item)
        if not isinstance(item, Mapping):
            self.wrong(
                path, "must be a number, null or a mapping", flow(item),
                "write {shape: 1024} for an array, {value: 3, dtype: s32} for a number",
            )  # fmt: skip
            return ScalarSpec()
        scalar = "value" in item or "bytes" in item
        self.known(item, path, _SCALAR if scalar else _ARRAY)
        name = item.get("name", "" if scalar else f"argument{index}")
        if not isinstance(name, str) or (name and not name.isidentifier()):
            self.wrong((*path, "name"), "must be a word", flow(name), "use letters, digits and _")
            name = ""
        if scalar:
            return self.scalar(item, path, name)
        return self.array(item, path, name)

    def element(self, item: Mapping[str, Any], path: PathKey, default: str | None) -> str | None:
        value = item.get("dtype", default)
        if value is None:
            return None
        try:
            return element_name(str(value))
        except ArgumentError as exc:
            self.wrong((*path, "dtype"), str(exc).split(" (got")[0], flow(value), "name another type")
            return default

    def scalar(self, item: Mapping[str, Any], path: PathKey, name: str) -> ScalarSpec:
        dtype = self.element(item, path, None)
        if "bytes" in item:
            try:
                data = bytes.fromhex(str(item["bytes"]))
            except ValueError:
                data = b""
            if not 1 <= len(data) <= 16 or "value" in item:
                self.wrong(
                    (*path, "bytes"), "must be 1 to 16 bytes in hexadecimal", flow(item["bytes"]),
                    'write for example bytes: "0000803f", without a value',
                )  # fmt: skip
            return ScalarSpec(name=name, data=data)
        value = item["value"]
        if not isinstance(value, bool | int | float):
            self.wrong((*path, "value"), "must be a number", flow(value), "write for example value: 1024")
            value = 0
        return ScalarSpec(name=name, dtype=dtype, value=value)

    def array(self, item: Mapping[str, Any], path: PathKey, name: str) -> ArraySpec:
        shape = item.get("shape")
        given = (shape,) if _is_int(shape) else shape
        if given is not None and not (
            isinstance(given, tuple)
            and all(_is_int(x) and x >= 0 for x in given)
            and _total(given) <= _MOST_ELEMENTS
        ):
            self.wrong(
                (*path, "shape"), f"must be extents of at most {_MOST_ELEMENTS} elements", flow(shape),
                "write for example shape: [64, 32]",
            )  # fmt: skip
            given = (1,)
        file = self.file(item, path, "file")
        if given is None and file is None:
            self.wrong((*path, "shape"), "must be given", "nothing", "add 'shape: [64, 32]' or 'file: x.npy'")
        if file is not None and "fill" in item:
            self.wrong(
                (*path, "fill"), "must not be given with a file", flow(item["fill"]), "remove one of them"
            )
        order = item.get("order", "row")
        if order not in ("row", "column"):
            self.wrong(
                (*path, "order"), "must be row or column", flow(order), "column: the first index has stride 1"
            )
        low = self.integer(item, path, "low", -2, -(1 << 31), 1 << 31)
        high = self.integer(item, path, "high", 2, -(1 << 31), 1 << 31)
        if low > high:
            self.wrong((*path, "high"), f"must be at least low, {low}", str(high), "swap the two")
        for key in ("fill", "expect"):
            if not isinstance(item.get(key), str | int | float | None):
                self.wrong((*path, key), "must be a number or text", flow(item[key]), "write an expression")
        output = item.get("output", "save" in item or "expect" in item)
        if not isinstance(output, bool):
            self.wrong((*path, "output"), "must be true or false", flow(output), "write output: true")
        rtol, atol = self.tolerance(item, path)
        return ArraySpec(
            name=name,
            dtype=self.element(item, path, "f32") or "f32",
            shape=tuple(int(x) for x in given) if given is not None else None,
            column_major=order == "column",
            fill=item.get("fill"),
            low=low,
            high=high,
            file=file,
            output=bool(output),
            save=self.file(item, path, "save"),
            expect=item.get("expect"),
            rtol=rtol,
            atol=atol,
            path=path,
        )

    def file(self, item: Mapping[str, Any], path: PathKey, name: str) -> Path | None:
        value = item.get(name)
        if value is None:
            return None
        if not isinstance(value, str) or not value.endswith(".npy"):
            self.wrong((*path, name), "must be the name of a .npy file", flow(value), f"write {name}: x.npy")
            return None
        return self.directory / value

    def tolerance(self, item: Mapping[str, Any], path: PathKey) -> tuple[float, float]:
        value = item.get("tolerance", 0.0)
        parts = value if isinstance(value, Mapping) else {"rtol": value, "atol": value}
        numbers = [parts.get("rtol", 0.0), parts.get("atol", 0.0)]
        if set(parts) - {"rtol", "atol"} or not all(
            isinstance(x, int | float) and not isinstance(x, bool) and x >= 0 for x in numbers
        ):
            self.wrong(
                (*path, "tolerance"), "must be a number, or {rtol: ..., atol: ...}", flow(value),
                "write tolerance: 1e-3",
            )  # fmt: skip
            return 0.0, 0.0
        return float(numbers[0]), float(numbers[1])


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _total(shape: tuple[int, ...]) -> int:
    total = 1
    for extent in shape:
        total *= extent
    return total

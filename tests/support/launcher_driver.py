"""Runs in a process of its own, whose libcuda.so.1 is the fake: performs steps and prints what came back.

Usage: ``python launcher_driver.py LIBRARY LIBCUDA`` with a JSON list of ``[verb, argument]`` on stdin.
"""

from __future__ import annotations

import ctypes
import json
import sys
import threading
from typing import Any


class Launch(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in "abcd"),
        *((name, ctypes.c_int64) for name in ("lda", "ldb", "ldc", "ldd")),
        *((name, ctypes.c_int32) for name in ("m", "n", "k", "group")),
        *((name, ctypes.c_double) for name in ("alpha", "beta")),
        *((name, ctypes.c_void_p) for name in ("scale_a", "scale_b", "bias")),
        ("stream", ctypes.c_void_p),
        *((name, ctypes.c_int32) for name in ("device", "flags")),
    )


DEFAULTS = {
    **{"m": 64, "n": 32, "k": 8, "a": 0xA0, "b": 0xB0, "c": 0xC0, "d": 0xD0},
    **{"lda": 1 << 20, "ldb": 1 << 20, "ldc": 1 << 20, "ldd": 1 << 40},
    **{"alpha": 2.0, "beta": 0.5, "stream": 0x77},
}


class Driver:
    """The steps that a test can ask for."""

    def __init__(self, library: str, cuda: str) -> None:
        self.library = ctypes.CDLL(library)
        self.library.cutegen_error_string.restype = ctypes.c_char_p
        self.library.cutegen_launch.argtypes = [ctypes.c_void_p]
        self.cuda = ctypes.CDLL(cuda) if cuda else None
        if self.cuda is not None:
            self.cuda.fake_calls.restype = ctypes.c_char_p
            self.cuda.fake_current.restype = ctypes.c_size_t
            self.cuda.fake_make_current.argtypes = [ctypes.c_size_t]

    def tell(self, told: dict[str, int]) -> None:
        assert self.cuda is not None
        for name, value in told.items():
            self.cuda.fake_tell(name.encode(), value)

    def launch(self, fields: dict[str, Any]) -> int:
        return int(self.library.cutegen_launch(ctypes.byref(Launch(**{**DEFAULTS, **fields}))))

    def launch_null(self, _: Any) -> int:
        return int(self.library.cutegen_launch(None))

    def load(self, device: int) -> int:
        return int(self.library.cutegen_load(device))

    def loaded(self, device: int) -> int:
        return int(self.library.cutegen_loaded(device))

    def attributes(self, device: int) -> list[int]:
        values = (ctypes.c_int32 * 8)()
        return [self.library.cutegen_attributes(device, values), *values]

    def error(self, code: int) -> str:
        return str(self.library.cutegen_error_string(code).decode())

    def describe(self, _: Any) -> str:
        self.library.cutegen_describe.restype = ctypes.c_char_p
        return str(self.library.cutegen_describe().decode())

    def abi(self, _: Any) -> int:
        return int(self.library.cutegen_abi())

    def make_current(self, context: int) -> None:
        assert self.cuda is not None
        self.cuda.fake_make_current(context)

    def current(self, _: Any) -> list[int]:
        assert self.cuda is not None
        return [self.cuda.fake_current(), self.cuda.fake_depth()]

    def calls(self, _: Any) -> list[str]:
        assert self.cuda is not None
        found = self.cuda.fake_calls().decode().splitlines()
        self.cuda.fake_forget()
        return list(found)

    def threads(self, count: int) -> list[int]:
        barrier = threading.Barrier(count)
        codes: list[int] = []

        def work(index: int) -> None:
            barrier.wait()
            codes.append(self.launch({"device": index % 2}))

        workers = [threading.Thread(target=work, args=(index,)) for index in range(count)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return codes


def main() -> None:
    driver = Driver(sys.argv[1], sys.argv[2])
    json.dump([getattr(driver, verb)(argument) for verb, argument in json.load(sys.stdin)], sys.stdout)


if __name__ == "__main__":
    main()

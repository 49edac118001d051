"""The GPU through torch: how long it is held, what it can do, and what becomes of its errors."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from cutegen.bench.gpu import TorchDevice
from cutegen.errors import LaunchError


class Clock:
    """A torch whose GPU runs at 2 GHz, fills 4 GB/ms and copies 2 GB/ms; times in microseconds."""

    def __init__(self) -> None:
        self.now = 0.0
        self.error: RuntimeError | None = None
        self.made: list[int] = []
        clock = self

        class Tensor:
            def __init__(self, size: int) -> None:
                self.size = size

            def zero_(self) -> None:
                clock.now += self.size / 4e6

            def copy_(self, other: Any) -> None:
                clock.now += self.size / 2e6

        class Event:
            def __init__(self, *, enable_timing: bool) -> None:
                assert enable_timing
                self.at = -1.0

            def record(self) -> None:
                self.at = clock.now

            def query(self) -> bool:
                return self.at <= clock.now

            def elapsed_time(self, later: Event) -> float:
                return (later.at - self.at) / 1e3

        def made(size: int, **_: Any) -> Tensor:
            clock.made.append(size)
            return Tensor(size)

        def sleep(cycles: int) -> None:
            assert isinstance(cycles, int)
            clock.now += cycles / 2000

        def synchronize() -> None:
            if clock.error:
                raise clock.error

        properties = SimpleNamespace(name="NVIDIA X", multi_processor_count=7, L2_cache_size=100 << 20)
        self.torch = SimpleNamespace(
            uint8="uint8",
            empty=made,
            zeros=made,
            empty_like=lambda t: Tensor(t.size),
            version=SimpleNamespace(cuda="13.0"),
            __version__="2.11",
            cuda=SimpleNamespace(
                Event=Event,
                _sleep=sleep,
                synchronize=synchronize,
                current_device=lambda: 0,
                get_device_properties=lambda device: properties,
                mem_get_info=lambda: (2 << 30, 8 << 30),
            ),
        )


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setitem(sys.modules, "torch", clock.torch)
    return clock


def test_it_holds_as_long_as_it_is_told(clock: Clock) -> None:
    device = TorchDevice()
    before = clock.now
    device.hold(250.0)
    assert clock.now - before == pytest.approx(250.0)
    begin = device.mark()
    device.nothing()
    device.hold(10.0)
    assert begin.microseconds_to(device.mark()) == pytest.approx(10.0)
    assert begin.reached()


def test_more_than_the_cache_is_flushed(clock: Clock) -> None:
    TorchDevice()
    assert clock.made == [300 << 20]
    del clock.torch.cuda.get_device_properties(0).L2_cache_size
    TorchDevice()
    assert clock.made[-1] == 256 << 20


def test_facts(clock: Clock) -> None:
    facts = TorchDevice().facts()
    assert (facts.gpu, facts.multiprocessors, facts.cuda, facts.torch) == ("NVIDIA X", 7, "13.0", "2.11")
    assert facts.copy_gbps == pytest.approx(4000.0)  # both reading and writing count
    assert clock.made[-1] == 512 << 20  # a quarter of what is free


def test_an_error_of_the_gpu_is_a_launch_error(clock: Clock) -> None:
    device = TorchDevice()
    clock.error = RuntimeError("CUDA error: misaligned address\nmore")
    with pytest.raises(LaunchError, match=r"a kernel failed on the GPU: CUDA error: misaligned address$"):
        device.wait()


def test_torch_has_what_is_asked_of_it() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed; install cutegen[torch]")
    for name in ("Event", "_sleep", "synchronize", "current_device", "get_device_properties", "mem_get_info"):
        assert hasattr(torch.cuda, name)
    assert torch.ops.aten._int_mm.out
    assert torch.ops.aten._scaled_mm.out
    assert issubclass(torch.cuda.OutOfMemoryError, RuntimeError)


def test_a_read_is_packed_as_launches_are(monkeypatch: pytest.MonkeyPatch) -> None:
    from cutegen.bench import read_peer
    from cutegen.binding import CutegenLaunch

    stream = SimpleNamespace(cuda_stream=7)
    monkeypatch.setitem(
        sys.modules, "torch", SimpleNamespace(cuda=SimpleNamespace(current_stream=lambda device: stream))
    )
    seen: list[bytes] = []
    library = SimpleNamespace(launch=lambda packed: seen.append(packed) or 0)
    b = SimpleNamespace(shape=(24, 40), device=SimpleNamespace(index=1), data_ptr=lambda: 4096)
    tensors = SimpleNamespace(b=b, d=SimpleNamespace(data_ptr=lambda: 8192))
    read_peer._bind(library, 2, tensors)()  # type: ignore[arg-type]
    launch = CutegenLaunch.from_buffer_copy(seen[0])
    assert (launch.p.a, launch.p.b, launch.p.d) == (4096, 4096, 8192)
    assert (launch.p.m, launch.p.n, launch.p.k, launch.p.alpha) == (1, 24, 80, 1.0)
    assert (launch.stream, launch.device) == (7, 1)

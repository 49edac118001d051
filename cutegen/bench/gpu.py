"""The GPU as a measurement sees it, through torch, and what it can do at most."""

from __future__ import annotations

import statistics
import time
from dataclasses import asdict, dataclass
from typing import Any

from cutegen.bench.timing import Event
from cutegen.errors import LaunchError

__all__ = ["Facts", "TorchDevice"]

_FLUSH_BYTES = 256 << 20
_COPY_BYTES = 1 << 30
_COPIES = 11
_CALIBRATION = 2_000_000  # cycles


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What was measured on.

    Attributes:
        gpu: Name of the GPU.
        multiprocessors: Its streaming multiprocessors.
        cuda: Version of CUDA that torch was built with.
        torch: Version of torch.
        copy_gbps: Bytes read and written by a large copy on the device, in GB/s.
    """

    gpu: str
    multiprocessors: int
    cuda: str
    torch: str
    copy_gbps: float

    def to_dict(self) -> dict[str, Any]:
        """As a JSON-ready dictionary."""
        return asdict(self)


class _TorchEvent:
    def __init__(self, event: Any) -> None:
        self._event = event

    def reached(self) -> bool:
        return bool(self._event.query())

    def microseconds_to(self, later: Event) -> float:
        if not isinstance(later, _TorchEvent):
            raise TypeError(f"later must be a mark of the same device (got {type(later).__name__})")
        return 1e3 * float(self._event.elapsed_time(later._event))


class TorchDevice:
    """torch's current CUDA device, on its current stream.

    Raises:
        LaunchError: The GPU refuses, for example because a kernel failed.
    """

    def __init__(self) -> None:
        import torch

        self.torch = torch
        self.properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        cache = int(getattr(self.properties, "L2_cache_size", 0))
        self._flushed = torch.empty(max(_FLUSH_BYTES, 3 * cache), dtype=torch.uint8, device="cuda")
        self._cycles_per_us = self._calibrate()

    def _calibrate(self) -> float:
        """Cycles of a microsecond of ``hold``; taken with a warm clock, so that a cold one holds longer."""
        for _ in range(2):
            begin = self.mark()
            self.torch.cuda._sleep(_CALIBRATION)
            end = self.mark()
            self.wait()
        return _CALIBRATION / begin.microseconds_to(end)

    def flush(self) -> None:
        """Overwrite the L2 cache."""
        self._flushed.zero_()

    def hold(self, microseconds: float) -> None:
        """Keep the GPU from going on for at least so long."""
        self.torch.cuda._sleep(int(microseconds * self._cycles_per_us))

    def nothing(self) -> None:
        """Enqueue a kernel that does nothing."""
        self.torch.cuda._sleep(0)

    def mark(self) -> Event:
        """Put a mark into the stream."""
        event = self.torch.cuda.Event(enable_timing=True)
        event.record()
        return _TorchEvent(event)

    def wait(self) -> None:
        """Wait until the GPU has done everything."""
        try:
            self.torch.cuda.synchronize()
        except RuntimeError as exc:
            raise LaunchError(f"a kernel failed on the GPU: {str(exc).splitlines()[0]}") from None

    def idle(self, seconds: float) -> None:
        """Let the GPU rest."""
        time.sleep(seconds)

    def facts(self) -> Facts:
        """What this is, with its copy bandwidth, which takes a moment to measure."""
        torch = self.torch
        return Facts(
            gpu=str(self.properties.name),
            multiprocessors=int(self.properties.multi_processor_count),
            cuda=str(torch.version.cuda),
            torch=str(torch.__version__),
            copy_gbps=round(self._copy_gbps(), 1),
        )

    def _copy_gbps(self) -> float:
        free, _ = self.torch.cuda.mem_get_info()
        size = min(_COPY_BYTES, free // 4)
        source = self.torch.zeros(size, dtype=self.torch.uint8, device="cuda")
        target = self.torch.empty_like(source)
        times = []
        for _ in range(_COPIES):
            self.hold(100.0)
            begin = self.mark()
            target.copy_(source)
            end = self.mark()
            self.wait()
            times.append(begin.microseconds_to(end))
        return float(2 * size / statistics.median(times[1:]) / 1e3)

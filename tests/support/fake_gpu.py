"""A GPU that is a queue with a clock, for what times kernels: nothing runs, and every time is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from cutegen.bench.gpu import Facts


@dataclass
class FakeEvent:
    """A mark; ``at`` is when the GPU comes to it."""

    gpu: FakeGpu
    at: float

    def reached(self) -> bool:
        return self.gpu.host >= self.at

    def microseconds_to(self, later: FakeEvent) -> float:
        assert later.reached()
        assert self.reached()
        return later.at - self.at


@dataclass
class FakeGpu:
    """The host's clock runs with what it enqueues, the GPU's with what it does; both in microseconds.

    Attributes:
        enqueue: What it costs the host to enqueue anything; called anew each time.
        flush_us: What a flush takes.
        log: What was enqueued, in order.
    """

    enqueue: Callable[[], float] = lambda: 5.0
    flush_us: float = 60.0
    log: list[str] = field(default_factory=list)
    host: float = 0.0
    free_at: float = 0.0  # when the GPU will have done all that is enqueued
    cold: bool = False

    def _do(self, name: str, microseconds: float) -> float:
        self.host += self.enqueue()
        self.free_at = max(self.free_at, self.host) + microseconds
        self.log.append(name)
        return self.free_at

    def kernel(self, name: str, microseconds: float) -> Callable[[], object]:
        """What enqueues a kernel that takes so long; a third longer after a flush."""

        def launch() -> None:
            self._do(name, microseconds * (4 / 3 if self.cold else 1))
            self.cold = False

        return launch

    def flush(self) -> None:
        self._do("flush", self.flush_us)
        self.cold = True

    def hold(self, microseconds: float) -> None:
        self._do(f"hold {microseconds:g}", microseconds)

    def nothing(self) -> None:
        self._do("nothing", 2.5)

    def mark(self) -> FakeEvent:
        return FakeEvent(self, self._do("mark", 0.0))

    def wait(self) -> None:
        self.host = max(self.host, self.free_at)
        self.log.append("wait")

    def idle(self, seconds: float) -> None:
        self.host += 1e6 * seconds
        self.log.append("idle")

    def facts(self) -> Facts:
        return Facts(gpu="NVIDIA H200", multiprocessors=132, cuda="13.0", torch="2.11", copy_gbps=4000.0)

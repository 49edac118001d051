"""Who takes part: kernels of cutegen, and the peers that they are compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cutegen.bench.operands import Operands, Tensors
from cutegen.config import GemmConfig
from cutegen.errors import ToolchainError

if TYPE_CHECKING:
    from cutegen.kernel import Kernel

__all__ = ["PEERS", "Contestant", "own", "peers"]

Launch = Callable[[], object]


@dataclass(frozen=True, kw_only=True)
class Contestant:
    """One that takes part.

    Attributes:
        name: Its name, one of a kind in a run.
        operands: What it multiplies.
        bind: Makes of operands what enqueues one launch on them, on the stream that is current now.
        config: The config of a kernel of cutegen; None for a peer.
        reference: Whether ratios are to its times.
        computes: Whether it leaves the product in D; a ``read`` does not.
    """

    name: str
    operands: Operands
    bind: Callable[[Tensors], Launch]
    config: GemmConfig | None = None
    reference: bool = False
    computes: bool = True

    @property
    def is_own(self) -> bool:
        """Whether it is a kernel of cutegen."""
        return self.config is not None


def own(name: str, kernel: Kernel) -> Contestant:
    """A kernel of cutegen; launches of it are planned, so that they cost the host as little as they can."""

    def bind(t: Tensors) -> Launch:
        return kernel.plan(t.a, t.b, out=t.d, b_is="nk")

    return Contestant(name=name, operands=Operands.of(kernel.config), bind=bind, config=kernel.config)


def _torch(operands: Operands) -> Contestant | str:
    from cutegen.bench.torch_peer import binder

    bind = binder(operands)
    if isinstance(bind, str):
        return bind
    return Contestant(name="torch.mm", operands=operands, bind=bind, reference=True)


def _triton(operands: Operands) -> Contestant | str:
    try:
        from cutegen.bench.triton_peer import binder
    except ImportError:
        raise ToolchainError("--vs triton needs triton, which CUDA builds of torch bring along") from None
    bind = binder(operands)
    return bind if isinstance(bind, str) else Contestant(name="triton", operands=operands, bind=bind)


def _read(operands: Operands) -> Contestant | str:
    from cutegen.bench.read_peer import binder

    return Contestant(name="read of B", operands=operands, bind=binder(operands), computes=False)


#: From the name of a peer to what makes one for certain operands, or says in words why there is none.
PEERS: dict[str, Callable[[Operands], Contestant | str]] = {
    "torch": _torch,
    "triton": _triton,
    "read": _read,
}


def peers(names: Iterable[str], operands: Sequence[Operands]) -> tuple[list[Contestant], list[str]]:
    """The peers for all kinds of operands, and notes on those that there are not.

    Raises:
        ToolchainError: What a peer needs is not installed.
    """
    found: list[Contestant] = []
    notes: list[str] = []
    kinds = list(dict.fromkeys(operands))
    for name in names:
        for kind in kinds:
            peer = PEERS[name](kind)
            if isinstance(peer, str):
                notes.append(f"no {name} for {kind}: {peer}")
            else:
                found.append(peer if len(kinds) == 1 else _renamed(peer, f"{peer.name}, {kind}"))
    return found, notes


def _renamed(contestant: Contestant, name: str) -> Contestant:
    import dataclasses

    return dataclasses.replace(contestant, name=name)


def unique_names(names: Sequence[str]) -> list[str]:
    """The names, with a number behind those that come again."""
    seen: dict[str, int] = {}
    result: list[Any] = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return result

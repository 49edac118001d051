"""Who takes part: kernels of cutegen, and the peers that they are compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cutegen.bench.operands import Operands, Tensors
from cutegen.config import GemmConfig
from cutegen.errors import ToolchainError

if TYPE_CHECKING:
    from cutegen.build import Progress
    from cutegen.kernel import Kernel
    from cutegen.toolchain import Toolchain

__all__ = ["PEERS", "Asked", "Contestant", "own", "peers", "unique_names"]

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
        return kernel.plan(t.a, t.b, out=t.d, b_is="nk", **t.vectors)

    return Contestant(name=name, operands=Operands.of(kernel.config), bind=bind, config=kernel.config)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a peer is asked for.

    Attributes:
        operands: Types and layouts that it is to multiply.
        configs: The kernels of cutegen that multiply these, for peers that are made from a config.
        toolchain: Compilers, for peers that are built; found anew where it is None.
        jobs: How many of them at a time.
        progress: Told of each peer that is built, as for :func:`cutegen.build_many`.
    """

    operands: Operands
    configs: tuple[GemmConfig, ...] = ()
    toolchain: Toolchain | None = None
    jobs: int | None = None
    progress: Progress | None = None


def _torch(asked: Asked) -> list[Contestant] | str:
    from cutegen.bench.torch_peer import binder

    bind = binder(asked.operands)
    if isinstance(bind, str):
        return bind
    return [Contestant(name="torch.mm", operands=asked.operands, bind=bind, reference=True)]


def _triton(asked: Asked) -> list[Contestant] | str:
    try:
        from cutegen.bench.triton_peer import binder
    except ImportError:
        raise ToolchainError("--vs triton needs triton, which CUDA builds of torch bring along") from None
    bind = binder(asked.operands)
    return bind if isinstance(bind, str) else [Contestant(name="triton", operands=asked.operands, bind=bind)]


def _read(asked: Asked) -> list[Contestant] | str:
    from cutegen.bench.read_peer import binder

    bind = binder(asked.operands, asked.toolchain)
    return [Contestant(name="read of B", operands=asked.operands, bind=bind, computes=False)]


def _cutlass(asked: Asked) -> list[Contestant] | str:
    from cutegen.bench.cutlass_peer import built

    found = built(asked.operands, asked.toolchain, asked.jobs, asked.progress)
    if isinstance(found, str):
        return found
    return [replace(own(name, kernel), operands=asked.operands, config=None) for name, kernel in found]


#: From the name of a peer to what makes its contestants, or says in words why there is none.
PEERS: dict[str, Callable[[Asked], list[Contestant] | str]] = {
    "torch": _torch,
    "triton": _triton,
    "cutlass": _cutlass,
    "read": _read,
}


def peers(
    names: Iterable[str],
    own: Sequence[Contestant],
    *,
    toolchain: Toolchain | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> tuple[list[Contestant], list[str]]:
    """The peers of some kernels, for each kind of operands, and notes on those that there are not.

    Raises:
        ToolchainError: What a peer needs is not installed.
    """
    found: list[Contestant] = []
    notes: list[str] = []
    kinds: dict[Operands, list[GemmConfig]] = {}
    for contestant in own:
        kinds.setdefault(contestant.operands, []).extend([contestant.config] if contestant.config else [])
    for name in names:
        for kind, configs in kinds.items():
            asked = Asked(
                operands=kind, configs=tuple(configs), toolchain=toolchain, jobs=jobs, progress=progress
            )
            made = PEERS[name](asked)
            if isinstance(made, str):
                notes.append(f"no {name} for {kind}: {made}")
            else:
                found += [p if len(kinds) == 1 else replace(p, name=f"{p.name}, {kind}") for p in made]
    return found, notes


def unique_names(names: Sequence[str]) -> list[str]:
    """The names, with a number behind those that come again."""
    seen: dict[str, int] = {}
    result: list[str] = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return result

"""A launch that was checked once and can be repeated at the lowest cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

    from cutegen.binding import KernelLibrary
    from cutegen.emulated import EmulatedLibrary
    from cutegen.signature import Signature, SignatureTable, Vectors

__all__ = ["PreparedLaunch"]


class PreparedLaunch:
    """One checked call of a kernel on fixed tensors; calling it enqueues it on the current stream.

    It keeps the tensors alive. Their contents may change between launches; their memory and shapes must
    not (no ``resize_``, ``set_`` or ``t_``), because nothing is looked at again. Made by ``Kernel.plan``.

    Attributes:
        a: A; likewise b, c and out.
        out: D, which each call overwrites and returns.
        alpha: Factor of the product.
        beta: Factor of C.
        vectors: scale_a, scale_b and bias, None for those that the kernel does not take.
    """

    __slots__ = (
        "_device",
        "_launch",
        "_library",
        "_operands",
        "_packed",
        "_signature",
        "_stream",
        "_table",
        "_vectors",
        "a",
        "alpha",
        "b",
        "beta",
        "c",
        "out",
        "vectors",
    )

    def __init__(
        self,
        library: KernelLibrary | EmulatedLibrary,
        table: SignatureTable,
        signature: Signature,
        tensors: tuple[Any, Any, Any, Any],
        alpha: float,
        beta: float,
        vectors: Vectors = (),
    ) -> None:
        self._operands = tensors
        self._vectors = tuple(vectors)
        tensors = (*tensors, *vectors)
        owned = tensors if table.backend.adopt is None else [t and t.owner for t in tensors]
        self.a, self.b, self.c, self.out, *rest = owned
        self.vectors = tuple(rest)
        self.alpha, self.beta = alpha, beta
        self._library, self._table, self._signature = library, table, signature
        self._launch = library.launch if not signature.empty else _nothing
        self._device = signature.device
        self._stream = table.backend.current_stream
        self._packed: dict[int, bytes] = {}
        self._pack()

    def __call__(self) -> Tensor:
        """Enqueue the launch on the current stream of the tensors' device and return D.

        Raises:
            LaunchError: The driver refused.
        """
        packed = self._packed.get(self._stream(self._device))
        status = self._launch(packed or self._pack())
        if status:
            raise self._library.error(status, self._device)
        return self.out

    def _pack(self) -> bytes:
        packed = self._table.addressed(self._signature, *self._operands, self.alpha, self.beta, self._vectors)
        self._packed[self._stream(self._device)] = packed
        return packed

    def __repr__(self) -> str:
        s = self._signature
        return f"<PreparedLaunch {self._library.path.stem} M={s.m} N={s.n} K={s.k} on device {s.device}>"


def _nothing(_: bytes) -> int:
    return 0

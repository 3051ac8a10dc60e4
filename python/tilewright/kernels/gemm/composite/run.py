"""Plans of several launches, or with scratch, on a CUDA device: enqueued in turn, and again without planning."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.kernels.gemm.composite.plan import is_single

if TYPE_CHECKING:
    from tilewright.kernels.gemm.operands import GemmOperands
    from tilewright.kernels.gemm.request import GemmRequest
    from tilewright.kernels.gemm.run import Plan

__all__ = ["CompositeLaunch", "bind", "launch", "launched", "prepare", "remember"]


class CompositeLaunch(ABC):
    """The launches of a plan, in their order, with everything but the addresses filled in.

    `ranges` are the bytes that A, B, C and bias reach over, from their addresses on; None: there is no bias.
    """

    def __init__(self, operands: GemmOperands) -> None:
        self.device: int = operands.c.device[1]
        self.ranges = tuple(
            None if x is None else (x.reach()[0] - x.address, x.reach()[1] - x.address) for x in operands.tensors
        )

    def overlaps(self, addresses: list[int]) -> bool:
        """Whether C would reach into the memory of another tensor at these addresses."""
        spans = [
            (address + reach[0], address + reach[1])
            for address, reach in zip(addresses, self.ranges, strict=True)
            if reach is not None
        ]
        low, high = spans.pop(2)
        return any(first < high and low < last for first, last in spans)

    @abstractmethod
    def launch(self, addresses: list[int], stream: int) -> None:
        """Enqueue them for tensors A, B, C and bias at these addresses (0: no bias)."""


def prepare(plan: Plan, operands: GemmOperands) -> Any:
    """What launches a plan of any kind; it has `launch` as CompositeLaunch does."""
    from tilewright.kernels.gemm import launch as gemm_launch

    if is_single(plan):
        return gemm_launch.prepare(plan, operands, (0, 1, 2, 3), result=False)
    return plan.prepare(operands)


def bind(plan: Plan, operands: GemmOperands) -> Any:
    """A callable that launches a plan on these tensors, on the current stream or on stream=...; it keeps them alive."""
    from tilewright.cute.runtime import work_stream

    prepared = plan.prepare(operands)
    addresses = [x.address if x is not None else 0 for x in operands.tensors]
    kept = operands.tensors

    def bound(*, stream: int | None = None) -> None:
        assert kept
        prepared.launch(addresses, work_stream(prepared.device) if stream is None else stream)

    return bound


def launch(plan: Plan, operands: GemmOperands, stream: int | None) -> CompositeLaunch:
    """Launch a plan on a stream, by default the current one; the launches, to be repeated."""
    from tilewright.cute.runtime import work_stream

    prepared = plan.prepare(operands)
    on = work_stream(operands.c.device[1]) if stream is None else stream
    prepared.launch([x.address if x is not None else 0 for x in operands.tensors], on)
    return prepared


_launched: dict[Any, CompositeLaunch] = {}
MOST = 1024  # launches that are remembered


def _key(tensors: tuple[Any, ...], request: GemmRequest) -> tuple[Any, list[int]] | None:
    """What a call has in common with those that the same launches serve, and the addresses of its tensors."""
    found: list[Any] = []
    addresses = []
    for tensor in tensors:
        described = None if tensor is None else _core.cuda.describe(tensor)
        if tensor is not None and described is None:
            return None
        found.append(described and (described[0] % 16, *described[1:]))
        addresses.append(described[0] if described else 0)
    key = (*found, type(tensors[2]), *request.launch_key)
    try:
        hash(key)
    except TypeError:
        return None
    return key, addresses


def remember(prepared: CompositeLaunch, tensors: tuple[Any, ...], request: GemmRequest) -> None:
    """Keep the launches for calls of the same kind with tensors mA, mB, mC and bias."""
    key = _key(tensors, request)
    if key is not None:
        if len(_launched) == MOST:
            _launched.clear()
        _launched[key[0]] = prepared


def launched(tensors: tuple[Any, ...], request: GemmRequest) -> bool:
    """Launch again what served a call of this kind before; False where none did."""
    from tilewright.cute.runtime import work_stream

    key = _key(tensors, request) if _launched else None
    prepared = _launched.get(key[0]) if key is not None else None
    if key is None or prepared is None or prepared.overlaps(key[1]):
        return False
    prepared.launch(key[1], work_stream(prepared.device) if request.stream is None else request.stream)
    return True

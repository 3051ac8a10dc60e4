"""Plans of copies and a GEMM, on the CPU and on a CUDA device, in a workspace."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright import _core
from tilewright.kernels.gemm_packed import copy_operands

if TYPE_CHECKING:
    from tilewright.kernels.gemm_operands import GemmOperands
    from tilewright.kernels.gemm_packed import PackedGemm

ALIGNMENT = 128


def copied_on_host(plan: PackedGemm, a: int, b: int) -> tuple[Any, int, int]:
    """A and B as the GEMM takes them, copied where it needs copies: what owns the copies, and the addresses."""
    from tilewright.kernels.host import run_on_host

    places = plan.workspace
    memory = _core.Memory.allocate(places[2], ALIGNMENT)
    found = [a, b]
    for side, copy in enumerate((plan.pack_a, plan.pack_b)):
        if copy is not None:
            place = memory.address + places[side]
            run_on_host(copy, found[side], place)
            found[side] = place
    return memory, found[0], found[1]


class PackedLaunch(NamedTuple):
    """The launches of a plan, in their order, with everything but the addresses filled in.

    `ranges` are the bytes that A, B, C and bias reach over, from their addresses on; None: there is no bias.
    """

    copies: tuple[tuple[int, int, Any], ...]  # side, offset in the workspace, launch
    gemm: Any
    bytes: int
    shifts: tuple[int, ...]
    ranges: tuple[tuple[int, int] | None, ...]
    device: int
    library: str

    def overlaps(self, addresses: list[int]) -> bool:
        """Whether C would reach into the memory of another tensor at these addresses."""
        spans = [
            (address + reach[0], address + reach[1])
            for address, reach in zip(addresses, self.ranges, strict=True)
            if reach is not None
        ]
        low, high = spans.pop(2)
        return any(first < high and low < last for first, last in spans)

    def launch(self, addresses: list[int], stream: int) -> None:
        """Enqueue them for tensors A, B, C and bias at these addresses (0: no bias)."""
        memory, start = _workspace(self.device, self.bytes, stream, self.library)
        tensors = list(addresses)
        for side, offset, copy in self.copies:
            copy.launch([addresses[side] + self.shifts[side], start + offset], stream)
            tensors[side] = start + offset
        self.gemm.launch(tensors, stream)
        del memory  # what is enqueued on the stream later may have it


def prepare(plan: PackedGemm, operands: GemmOperands) -> PackedLaunch:
    """The launches of a plan for these operands."""
    from tilewright.kernels import gemm_launch, launch

    places, copies = plan.workspace, []
    start = 1 << 61
    given = list(operands.tensors)
    shifts = list(operands.shifts)
    for side, copy in enumerate((plan.pack_a, plan.pack_b)):
        if copy is None:
            continue
        src, dst = copy_operands(
            plan.problem, side, plan.is_turned, operands.addresses[side], start + places[side], operands.c.device
        )
        copies.append((side, places[side], launch.prepare(copy, src, dst)))
        given[side], shifts[side] = dst, 0
    a, b, c, bias = given
    assert a is not None
    assert b is not None
    assert c is not None
    replaced = operands._replace(a=a, b=b, c=c, bias=bias, shifts=(shifts[0], shifts[1], shifts[2], shifts[3]))
    gemm = gemm_launch.prepare(plan.gemm, replaced, (0, 1, 2, 3), result=False)
    library = type(operands.c.owner).__module__.partition(".")[0]
    ranges = tuple(
        None if x is None else (x.reach()[0] - x.address, x.reach()[1] - x.address) for x in operands.tensors
    )
    return PackedLaunch(tuple(copies), gemm, places[2], operands.shifts, ranges, operands.c.device[1], library)


def _workspace(device: int, size: int, stream: int, library: str) -> tuple[Any, int]:
    """Memory for what is enqueued on a stream, and its address: torch's for tensors of torch, else the driver's."""
    torch: Any = sys.modules.get("torch")
    if library == "torch" and torch is not None:
        stream = 0 if stream == 1 else stream  # two names of the default stream; torch's is 0
        current = torch.cuda.current_stream(device).cuda_stream
        wanted = torch.cuda.ExternalStream(stream, device) if stream else torch.cuda.default_stream(device)
        on = torch.cuda.stream(wanted) if stream != current else contextlib.nullcontext()
        with on:
            memory = torch.empty(size, dtype=torch.uint8, device=f"cuda:{device}")
        return memory, memory.data_ptr()
    memory = _core.cuda.allocate_async(device, size, stream)
    return memory, memory.address


def bind(plan: PackedGemm, operands: GemmOperands) -> Any:
    """A callable that launches a plan on these tensors, on the current stream or on stream=...; it keeps them alive."""
    from tilewright.cute.runtime import work_stream

    prepared = prepare(plan, operands)
    addresses = [x.address if x is not None else 0 for x in operands.tensors]
    kept = operands.tensors

    def bound(*, stream: int | None = None) -> None:
        assert kept
        prepared.launch(addresses, work_stream(prepared.device) if stream is None else stream)

    return bound


def launch(plan: PackedGemm, operands: GemmOperands, stream: int | None) -> PackedLaunch:
    """Launch a plan on a stream, by default the current one; the launches, to be repeated."""
    from tilewright.cute.runtime import work_stream

    prepared = prepare(plan, operands)
    on = work_stream(operands.c.device[1]) if stream is None else stream
    prepared.launch([x.address if x is not None else 0 for x in operands.tensors], on)
    return prepared


_launched: dict[Any, PackedLaunch] = {}
MOST = 1024  # launches that are remembered


def _key(tensors: tuple[Any, ...], asked: dict[str, Any]) -> tuple[Any, list[int]] | None:
    """What a call has in common with those that the same launches serve, and the addresses of its tensors."""
    found: list[Any] = []
    addresses = []
    for tensor in tensors:
        described = None if tensor is None else _core.cuda.describe(tensor)
        if tensor is not None and described is None:
            return None
        found.append(described and (described[0] % 16, *described[1:]))
        addresses.append(described[0] if described else 0)
    rest = tuple(value for name, value in asked.items() if name not in ("bias", "stream"))
    key = (*found, type(tensors[2]), *rest)
    try:
        hash(key)
    except TypeError:
        return None
    return key, addresses


def remember(prepared: PackedLaunch, tensors: tuple[Any, ...], asked: dict[str, Any]) -> None:
    """Keep the launches for calls of the same kind with tensors mA, mB, mC and bias."""
    key = _key(tensors, asked)
    if key is not None:
        if len(_launched) == MOST:
            _launched.clear()
        _launched[key[0]] = prepared


def launched(tensors: tuple[Any, ...], asked: dict[str, Any]) -> bool:
    """Launch again what served a call of this kind before; False where none did."""
    from tilewright.cute.runtime import work_stream

    key = _key(tensors, asked) if _launched else None
    prepared = _launched.get(key[0]) if key is not None else None
    if key is None or prepared is None or prepared.overlaps(key[1]):
        return False
    stream = asked["stream"]
    prepared.launch(key[1], work_stream(prepared.device) if stream is None else stream)
    return True

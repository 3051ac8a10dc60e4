"""mbarriers, the barrier of a cluster, fences that go with them, and groups of copies in bulk.

An mbarrier is 8 bytes of shared memory that count the arrivals of threads and the bytes that asynchronous copies bring.
A phase is complete when all of both have come; then the next one begins. Whoever waits names the parity of the phase
that is to be complete: 0 for the first one, 1 for the next, and so on in turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.cute.tensors.pointer import AddressSpace, Pointer
from tilewright.cute.tensors.traced_pointer import TracedPointer, pointer_type
from tilewright.lang.trace import traced
from tilewright.numeric import Boolean, Int32
from tilewright.numeric.traced import emit, symbol_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    Index: TypeAlias = Int32 | int

__all__ = [
    "cluster_arrive",
    "cluster_arrive_relaxed",
    "cluster_wait",
    "cp_async_bulk_commit_group",
    "cp_async_bulk_wait_group",
    "cp_async_mbarrier_arrive_noinc",
    "mapa",
    "mbarrier_arrive",
    "mbarrier_arrive_and_expect_tx",
    "mbarrier_conditional_try_wait",
    "mbarrier_expect_tx",
    "mbarrier_init",
    "mbarrier_init_fence",
    "mbarrier_test_wait",
    "mbarrier_try_wait",
    "mbarrier_wait",
]

_BITS = 64


def mbarrier_init(mbar_ptr: Pointer, cnt: Index, *, loc: object = None, ip: object = None) -> None:
    """Make an mbarrier for `cnt` arrivals in each phase; one thread does, and a barrier shows it to the others."""
    _op("mbarrier_init", mbar_ptr, [_int32(cnt)])


def mbarrier_init_fence(*, loc: object = None, ip: object = None) -> None:
    """Show the mbarriers that this thread made to the cluster, and to asynchronous copies."""
    traced("cute.arch.mbarrier_init_fence")
    emit("fence", text="mbarrier_init.release.cluster")


def mbarrier_arrive(
    mbar_ptr: Pointer,
    peer_cta_rank_in_cluster: Index | None = None,
    arrive_count: int = 1,
    *,
    loc: object = None,
    ip: object = None,
) -> None:
    """Arrive at an mbarrier, or at the one in the same place of another CTA of the cluster."""
    _arrive("mbarrier_arrive", mbar_ptr, 0, peer_cta_rank_in_cluster, arrive_count, False)


def cp_async_mbarrier_arrive_noinc(mbar_ptr: Pointer, *, loc: object = None, ip: object = None) -> None:
    """Arrive at an mbarrier of this block when all that this thread has copied by cp.async so far has landed.

    The arrival is one of those that the mbarrier was made for. Whoever waits for the phase sees what was copied; what
    the thread itself wrote is not told by it.
    """
    _op("cp_async_mbarrier_arrive", mbar_ptr, [], ints=(1,), name="cp_async_mbarrier_arrive_noinc")


def mbarrier_expect_tx(
    mbar_ptr: Pointer,
    bytes: Index,
    peer_cta_rank_in_cluster: Index | None = None,
    *,
    loc: object = None,
    ip: object = None,
) -> None:
    """So many more bytes have to come before the phase is complete."""
    _arrive("mbarrier_expect_tx", mbar_ptr, bytes, peer_cta_rank_in_cluster, 0, True)


def mbarrier_arrive_and_expect_tx(
    mbar_ptr: Pointer,
    bytes: Index,
    peer_cta_rank_in_cluster: Index | None = None,
    *,
    loc: object = None,
    ip: object = None,
) -> None:
    """Arrive, and expect so many more bytes: the two in one instruction."""
    _arrive("mbarrier_arrive_and_expect_tx", mbar_ptr, bytes, peer_cta_rank_in_cluster, 1, True)


def mbarrier_wait(mbar_ptr: Pointer, phase: Index, *, loc: object = None, ip: object = None) -> None:
    """Wait until the phase of this parity is complete; what was done before its arrivals is visible then."""
    _op("mbarrier_wait", mbar_ptr, [_int32(phase)])


def mbarrier_try_wait(mbar_ptr: Pointer, phase: Index, *, loc: object = None, ip: object = None) -> Boolean:
    """Whether the phase of this parity is complete, after a wait for as long as the hardware likes."""
    return Boolean._of(_op("mbarrier_test", mbar_ptr, [_int32(phase)], text="try_wait"))


def mbarrier_test_wait(mbar_ptr: Pointer, phase: Index, *, loc: object = None, ip: object = None) -> Boolean:
    """Whether the phase of this parity is complete, at once."""
    return Boolean._of(_op("mbarrier_test", mbar_ptr, [_int32(phase)], text="test_wait"))


def mbarrier_conditional_try_wait(
    cond: Boolean | bool, mbar_ptr: Pointer, phase: Index, *, loc: object = None, ip: object = None
) -> Boolean:
    """mbarrier_try_wait where the condition holds, elsewhere true."""
    operands = [_int32(phase), cond if isinstance(cond, Boolean) else Boolean(cond)]
    return Boolean._of(_op("mbarrier_test", mbar_ptr, operands, text="try_wait"))


def cluster_arrive(*, aligned: bool | None = None, loc: object = None, ip: object = None) -> None:
    """Arrive at the barrier of all threads of the cluster; what this one did is visible to those who wait for it."""
    traced("cute.arch.cluster_arrive")
    emit("cluster_arrive", text="release")


def cluster_arrive_relaxed(*, aligned: bool | None = None, loc: object = None, ip: object = None) -> None:
    """Arrive at the cluster's barrier without showing anything but mbarriers that mbarrier_init_fence has shown."""
    traced("cute.arch.cluster_arrive_relaxed")
    emit("cluster_arrive", text="relaxed")


def cluster_wait(*, aligned: bool | None = None, loc: object = None, ip: object = None) -> None:
    """Wait until all threads of the cluster have arrived at its barrier."""
    traced("cute.arch.cluster_wait")
    emit("cluster_wait")


def mapa(ptr: Pointer, cta_rank_in_cluster: Index = 0, *, loc: object = None, ip: object = None) -> Pointer:
    """The pointer to the same place in the shared memory of another CTA of the cluster, a generic one."""
    traced("cute.arch.mapa")
    if not isinstance(ptr, TracedPointer) or ptr.memspace is not AddressSpace.smem:
        raise TypeError(f"mapa: expected a pointer to shared memory, but got {ptr}")
    kind = pointer_type(ptr.dtype, AddressSpace.generic, ptr.alignment, ptr.swizzle)
    rank = _int32(cta_rank_in_cluster)
    symbol = emit("mapa", (ptr.symbol, symbol_of(Int32, rank._value)), type=kind)
    return TracedPointer(ptr.dtype, symbol, AddressSpace.generic, ptr.alignment, ptr.swizzle)


def cp_async_bulk_commit_group(*, loc: object = None, ip: object = None) -> None:
    """Make a group of the copies from shared memory that this thread has asked for since the last one."""
    traced("cute.arch.cp_async_bulk_commit_group")
    emit("cp_async_bulk_commit_group")


def cp_async_bulk_wait_group(group: int, *, read: bool | None = None, loc: object = None, ip: object = None) -> None:
    """Wait until at most the newest groups are under way; with read=True until the others have read shared memory."""
    traced("cute.arch.cp_async_bulk_wait_group")
    if not isinstance(group, int):
        raise TypeError(f"cp_async_bulk_wait_group: how many groups has to be known while tracing, but got {group!r}")
    emit("cp_async_bulk_wait_group", ints=(group, int(bool(read))))


def _arrive(name: str, mbar_ptr: Pointer, count: Index, peer: Index | None, arrivals: int, expects: bool) -> None:
    if not isinstance(arrivals, int) or arrivals < (0 if expects else 1):
        raise ValueError(
            f"{name}: arrive_count is {arrivals!r}; expected a positive integer that is known while tracing"
        )
    operands = [_int32(count)] if peer is None else [_int32(count), _int32(peer)]
    _op("mbarrier_arrive", mbar_ptr, operands, ints=(arrivals, int(expects)), name=name)


def _int32(value: Any) -> Int32:
    return value if type(value) is Int32 else Int32(value)


def _op(
    code: str, mbar_ptr: Any, values: Sequence[Any], *, text: str = "", ints: Sequence[int] = (), name: str = ""
) -> Any:
    name = name or code
    traced(f"cute.arch.{name}")
    if not isinstance(mbar_ptr, Pointer):
        raise TypeError(
            f"{name}: expected the pointer of an mbarrier, but got {mbar_ptr!r}; storage.barriers.data_ptr()"
        )
    if mbar_ptr.memspace is not AddressSpace.smem or mbar_ptr.dtype.bits != _BITS:
        raise TypeError(
            f"{name}: an mbarrier is 8 bytes of shared memory, but the pointer is {mbar_ptr}; allocate Int64 there: "
            "MemRange[Int64, n] in a struct, or SmemAllocator().allocate_array(Int64, n)"
        )
    symbols = [symbol_of(type(value), value._value) for value in values]
    return emit(code, symbols, accesses=[mbar_ptr.symbol], ints=ints, text=text)  # type: ignore[attr-defined]

"""What a thread asks of the hardware: where it stands, barriers, exchanges inside a warp, atomics, asynchronous copies.

In a kernel that is traced each function is an operation of its program. In a kernel that Python steps through
(`kernel.debug`) the indices and barriers are those of the Python thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from tilewright.lang import debug, stepping
from tilewright.lang.control.branches import Predicated
from tilewright.lang.library.atomics import (
    atomic_add,
    atomic_and,
    atomic_cas,
    atomic_exch,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_xor,
)
from tilewright.lang.library.barriers import (
    cluster_arrive,
    cluster_arrive_relaxed,
    cluster_wait,
    cp_async_bulk_commit_group,
    cp_async_bulk_wait_group,
    cp_async_mbarrier_arrive_noinc,
    mapa,
    mbarrier_arrive,
    mbarrier_arrive_and_expect_tx,
    mbarrier_conditional_try_wait,
    mbarrier_expect_tx,
    mbarrier_init,
    mbarrier_init_fence,
    mbarrier_test_wait,
    mbarrier_try_wait,
    mbarrier_wait,
)
from tilewright.lang.library.packed import add_packed_f32x2, fma_packed_f32x2, mul_packed_f32x2, sub_packed_f32x2
from tilewright.lang.library.smem import alloc_smem
from tilewright.lang.trace import current, traced
from tilewright.numeric import Boolean, Float32, Int32, Int64, Numeric, Uint32
from tilewright.numeric.traced import emit as _emit
from tilewright.numeric.traced import symbol_of as _symbol_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias, TypeVar

    Coord: TypeAlias = tuple[Int32, Int32, Int32]
    Index: TypeAlias = Int32 | int  # an integer of the kernel, or a Python one
    Value: TypeAlias = Numeric | float
    N = TypeVar("N", bound=Numeric)

__all__ = [
    "FULL_MASK",
    "WARP_SIZE",
    "add_packed_f32x2",
    "alloc_smem",
    "atomic_add",
    "atomic_and",
    "atomic_cas",
    "atomic_exch",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_xor",
    "barrier",
    "barrier_arrive",
    "block_dim",
    "block_idx",
    "block_idx_in_cluster",
    "block_in_cluster_dim",
    "block_in_cluster_idx",
    "clock",
    "clock64",
    "cluster_arrive",
    "cluster_arrive_relaxed",
    "cluster_dim",
    "cluster_idx",
    "cluster_wait",
    "cp_async_bulk_commit_group",
    "cp_async_bulk_wait_group",
    "cp_async_commit_group",
    "cp_async_mbarrier_arrive_noinc",
    "cp_async_wait_group",
    "dynamic_smem_size",
    "elect_one",
    "exp2",
    "fence_acq_rel_cta",
    "fence_acq_rel_gpu",
    "fence_acq_rel_sys",
    "fence_proxy",
    "fma_packed_f32x2",
    "fmax",
    "fmin",
    "globaltimer",
    "grid_dim",
    "griddepcontrol_launch_dependents",
    "griddepcontrol_wait",
    "lane_idx",
    "make_warp_uniform",
    "mapa",
    "match_sync",
    "mbarrier_arrive",
    "mbarrier_arrive_and_expect_tx",
    "mbarrier_conditional_try_wait",
    "mbarrier_expect_tx",
    "mbarrier_init",
    "mbarrier_init_fence",
    "mbarrier_test_wait",
    "mbarrier_try_wait",
    "mbarrier_wait",
    "mul_packed_f32x2",
    "popc",
    "prmt",
    "rcp_approx",
    "setmaxregister_decrease",
    "setmaxregister_increase",
    "shuffle_sync",
    "shuffle_sync_bfly",
    "shuffle_sync_down",
    "shuffle_sync_op",
    "shuffle_sync_up",
    "sub_packed_f32x2",
    "sync_threads",
    "sync_warp",
    "thread_idx",
    "vote_all_sync",
    "vote_any_sync",
    "vote_ballot_sync",
    "vote_uni_sync",
    "warp_idx",
    "warp_reduction",
    "warp_reduction_max",
    "warp_reduction_sum",
    "warp_redux_sync",
    "warpgroup_reg_alloc",
    "warpgroup_reg_dealloc",
]

WARP_SIZE = 32
FULL_MASK = 0xFFFFFFFF


def _special(code: str, dimension: int | None = None) -> Int32:
    trace = current()
    if (trace is None or not trace.in_kernel) and debug.place() is None:
        raise RuntimeError(f"cute.arch.{code}() has a value only while a @cute.kernel is launched")
    return _op(code, (), Int32, ints=() if dimension is None else (dimension,))


def _coord(code: str) -> Coord:
    return _special(code, 0), _special(code, 1), _special(code, 2)


def thread_idx(*, loc: object = None, ip: object = None) -> Coord:
    """(x, y, z) of the thread in its block. RuntimeError outside of a launch."""
    return _coord("thread_idx")


def block_idx(*, loc: object = None, ip: object = None) -> Coord:
    """(x, y, z) of the block in the grid."""
    return _coord("block_idx")


def block_dim(*, loc: object = None, ip: object = None) -> Coord:
    """The extents of a block in threads."""
    return _coord("block_dim")


def grid_dim(*, loc: object = None, ip: object = None) -> Coord:
    """The extents of the grid in blocks."""
    return _coord("grid_dim")


def cluster_idx(*, loc: object = None, ip: object = None) -> Coord:
    """(x, y, z) of the cluster in the grid."""
    return _coord("cluster_idx")


def cluster_dim(*, loc: object = None, ip: object = None) -> Coord:
    """The extents of the grid in clusters, of which cluster_idx is one."""
    x, y, z = (blocks // each for blocks, each in zip(grid_dim(), block_in_cluster_dim(), strict=True))
    return x, y, z


def block_in_cluster_dim(*, loc: object = None, ip: object = None) -> Coord:
    """The extents of a cluster in blocks."""
    return _coord("cluster_dim")


def block_in_cluster_idx(*, loc: object = None, ip: object = None) -> Coord:
    """(x, y, z) of the block in its cluster."""
    return _coord("block_in_cluster_idx")


def block_idx_in_cluster(*, loc: object = None, ip: object = None) -> Int32:
    """The rank of the block in its cluster, x fastest."""
    return _special("block_idx_in_cluster")


def lane_idx(*, loc: object = None, ip: object = None) -> Int32:
    """The thread's number in its warp: its number in the block, x fastest, modulo 32."""
    return _special("lane_idx")


def warp_idx(*, loc: object = None, ip: object = None) -> Int32:
    """The warp's number in its block: the thread's number in the block, x fastest, divided by 32."""
    return _special("warp_idx")


def dynamic_smem_size(*, loc: object = None, ip: object = None) -> Int32:
    """The dynamic shared memory of the launch, in bytes."""
    return _special("dynamic_smem_size")


def make_warp_uniform(value: Value, *, loc: object = None, ip: object = None) -> Numeric:
    """The value of the warp's lane 0: the compiler then knows that it is the same in all lanes."""
    return _exchange("make_warp_uniform", value)


# ---- barriers and fences ----


def sync_threads(*, loc: object = None, ip: object = None) -> None:
    """Wait until all threads of the block are here; what they wrote to shared and global memory is visible then."""
    _op("sync_threads")


def barrier(
    barrier_id: Index | None = None, number_of_threads: Index | None = None, *, loc: object = None, ip: object = None
) -> None:
    """Wait at a named barrier (0 to 15) until so many threads have arrived, by default all of the block."""
    if barrier_id is None and number_of_threads is None:
        _op("sync_threads")
        return
    operands = [_int32(0 if barrier_id is None else barrier_id)]
    _op("barrier", operands if number_of_threads is None else [*operands, _int32(number_of_threads)])


def barrier_arrive(barrier_id: Index, number_of_threads: Index, *, loc: object = None, ip: object = None) -> None:
    """Arrive at a named barrier without waiting."""
    _op("barrier_arrive", [_int32(barrier_id), _int32(number_of_threads)])


def sync_warp(mask: Index = FULL_MASK, *, loc: object = None, ip: object = None) -> None:
    """Wait until the warp's lanes of the mask are here; what they wrote is visible to each other then."""
    _op("sync_warp", [] if mask is FULL_MASK else [_mask(mask)])


def fence_acq_rel_cta(*, loc: object = None, ip: object = None) -> None:
    """Order this thread's accesses before and after, as the threads of the block see them."""
    _op("fence", text="acq_rel.cta")


def fence_acq_rel_gpu(*, loc: object = None, ip: object = None) -> None:
    """Order this thread's accesses before and after, as the threads of the device see them."""
    _op("fence", text="acq_rel.gpu")


def fence_acq_rel_sys(*, loc: object = None, ip: object = None) -> None:
    """Order this thread's accesses before and after, as all threads and the host see them."""
    _op("fence", text="acq_rel.sys")


def fence_proxy(kind: str, *, space: str | None = None, loc: object = None, ip: object = None) -> None:
    """Order accesses of the generic proxy before those of another one: `fence_proxy("async.shared", space="cta")`."""
    _op("fence", text=f"proxy.{kind}" + (f"::{space}" if space else ""))


def cp_async_commit_group(*, loc: object = None, ip: object = None) -> None:
    """Make a group of the asynchronous copies that this thread has begun since the last one."""
    _op("cp_async_commit_group")


def cp_async_wait_group(n: int, *, loc: object = None, ip: object = None) -> None:
    """Wait until at most the n newest groups of this thread's asynchronous copies are under way."""
    _op("cp_async_wait_group", ints=[_static("cp_async_wait_group: n", n)])


def griddepcontrol_wait(*, loc: object = None, ip: object = None) -> None:
    """Wait until the kernels that this launch depends on have ended (programmatic dependent launch)."""
    _op("griddepcontrol", text="wait")


def griddepcontrol_launch_dependents(*, loc: object = None, ip: object = None) -> None:
    """Let the kernels that depend on this launch begin (programmatic dependent launch)."""
    _op("griddepcontrol", text="launch_dependents")


def setmaxregister_increase(reg_count: int, *, loc: object = None, ip: object = None) -> None:
    """Let each thread of this warpgroup have so many registers; it waits until they are free.

    Raises ValueError for what is no multiple of 8 from 24 to 256. Source: PTX ISA, setmaxnreg.
    """
    _set_max_register("setmaxregister_increase", "inc", reg_count)


def setmaxregister_decrease(reg_count: int, *, loc: object = None, ip: object = None) -> None:
    """Let each thread of this warpgroup keep only so many registers; see setmaxregister_increase."""
    _set_max_register("setmaxregister_decrease", "dec", reg_count)


def _set_max_register(function: str, kind: str, count: Any) -> None:
    registers = _static(f"{function}: the number of registers", count)
    if registers % 8 or not 24 <= registers <= 256:
        raise ValueError(f"{function}({registers}): expected a multiple of 8 from 24 to 256")
    _emit("setmaxregister", ints=(registers,), text=kind)


warpgroup_reg_alloc = setmaxregister_increase
warpgroup_reg_dealloc = setmaxregister_decrease


def elect_one(*, loc: object = None, ip: object = None) -> Predicated:
    """`with elect_one():` runs its body in one lane of the warp."""
    return Predicated(lambda: _op("elect_one", (), Boolean))


# ---- inside a warp ----


def shuffle_sync(
    value: Value,
    offset: Index,
    mask: Index = FULL_MASK,
    mask_and_clamp: int = 31,
    *,
    loc: object = None,
    ip: object = None,
) -> Numeric:
    """The value of lane `offset`."""
    return _shuffle("idx", value, offset, mask, mask_and_clamp)


def shuffle_sync_op(
    value: Value,
    offset: Index,
    mask: Index = FULL_MASK,
    mask_and_clamp: int = 31,
    *,
    loc: object = None,
    ip: object = None,
) -> Numeric:
    """The value of lane `offset`, as shuffle_sync."""
    return _shuffle("idx", value, offset, mask, mask_and_clamp)


def shuffle_sync_up(
    value: Value,
    offset: Index,
    mask: Index = FULL_MASK,
    mask_and_clamp: int = 0,
    *,
    loc: object = None,
    ip: object = None,
) -> Numeric:
    """The value of the lane so many before; one's own where there is none."""
    return _shuffle("up", value, offset, mask, mask_and_clamp)


def shuffle_sync_down(
    value: Value,
    offset: Index,
    mask: Index = FULL_MASK,
    mask_and_clamp: int = 31,
    *,
    loc: object = None,
    ip: object = None,
) -> Numeric:
    """The value of the lane so many behind; one's own where there is none."""
    return _shuffle("down", value, offset, mask, mask_and_clamp)


def shuffle_sync_bfly(
    value: Value,
    offset: Index,
    mask: Index = FULL_MASK,
    mask_and_clamp: int = 31,
    *,
    loc: object = None,
    ip: object = None,
) -> Numeric:
    """The value of the lane whose number is one's own XOR offset."""
    return _shuffle("bfly", value, offset, mask, mask_and_clamp)


def _shuffle(kind: str, value: Any, offset: Any, mask: Any, clamp: Any) -> Numeric:
    ints = [_static("shuffle: mask_and_clamp", clamp)]
    return _exchange("shuffle_sync", value, [_int32(offset), _mask(mask)], text=kind, ints=ints)


def vote_ballot_sync(pred: Boolean | bool, mask: Index = FULL_MASK, *, loc: object = None, ip: object = None) -> Uint32:
    """The lanes where the condition holds, a bit each."""
    return _op("vote", [_value(pred, Boolean), _mask(mask)], Uint32, text="ballot")


def vote_any_sync(pred: Boolean | bool, mask: Index = FULL_MASK, *, loc: object = None, ip: object = None) -> Boolean:
    """Whether the condition holds in a lane."""
    return _op("vote", [_value(pred, Boolean), _mask(mask)], Boolean, text="any")


def vote_all_sync(pred: Boolean | bool, mask: Index = FULL_MASK, *, loc: object = None, ip: object = None) -> Boolean:
    """Whether the condition holds in all lanes."""
    return _op("vote", [_value(pred, Boolean), _mask(mask)], Boolean, text="all")


def vote_uni_sync(pred: Boolean | bool, mask: Index = FULL_MASK, *, loc: object = None, ip: object = None) -> Boolean:
    """Whether the condition is the same in all lanes."""
    return _op("vote", [_value(pred, Boolean), _mask(mask)], Boolean, text="uni")


def match_sync(
    value: Value, mask: Index = FULL_MASK, kind: str = "any", *, loc: object = None, ip: object = None
) -> Uint32:
    """The lanes that have the same value, a bit each; with kind "all": all of the mask, or 0."""
    return _op("match", [_any_value(value), _mask(mask)], Uint32, text=kind)


def warp_redux_sync(
    value: Value, kind: str, mask: Index = FULL_MASK, *, loc: object = None, ip: object = None
) -> Numeric:
    """An integer reduced over the lanes: kind is add, min, max, and, or, xor."""
    return _exchange("redux_sync", value, [_mask(mask)], text=kind)


def warp_reduction(
    value: Value, op: Callable[[Any, Any], Any], threads_in_group: int = 32, *, loc: object = None, ip: object = None
) -> Numeric:
    """A value reduced over groups of lanes by op(a, b), in butterflies of falling distance; all lanes get it."""
    result: Any = value
    distance = threads_in_group >> 1
    while distance:
        result = op(result, shuffle_sync_bfly(result, offset=distance))
        distance >>= 1
    reduced: Numeric = result
    return reduced


def warp_reduction_max(value: Value, threads_in_group: int = 32, *, loc: object = None, ip: object = None) -> Numeric:
    """The greatest of the values of a group of lanes."""
    return warp_reduction(value, lambda a, b: _binary("max", a, b), threads_in_group)


def warp_reduction_sum(value: Value, threads_in_group: int = 32, *, loc: object = None, ip: object = None) -> Numeric:
    """The sum of the values of a group of lanes."""
    return warp_reduction(value, lambda a, b: a + b, threads_in_group)


# ---- arithmetic ----


def fmax(a: Value, b: Value, *, loc: object = None, ip: object = None) -> Float32:
    """The greater of two Float32; the number where the other is NaN."""
    result: Float32 = _binary("max", a, b, Float32)
    return result


def fmin(a: Value, b: Value, *, loc: object = None, ip: object = None) -> Float32:
    """The smaller of two Float32; the number where the other is NaN."""
    result: Float32 = _binary("min", a, b, Float32)
    return result


def rcp_approx(a: Value, *, loc: object = None, ip: object = None) -> Float32:
    """1 / a of a Float32 as the hardware approximates it."""
    return _op("rcp", [_value(a, Float32)], Float32, ints=[1])


def exp2(a: Value, *, loc: object = None, ip: object = None) -> Float32:
    """2^a of a Float32 as the hardware approximates it."""
    return _op("exp2", [_value(a, Float32)], Float32, ints=[1])


def popc(a: Value, *, loc: object = None, ip: object = None) -> Int32:
    """How many bits of an integer are set."""
    value = _any_value(a)
    count: Int32 = _op("popc", [value], type(value)).to(Int32)
    return count


def prmt(a: Value, b: Value, selector: Value, *, loc: object = None, ip: object = None) -> Uint32:
    """Four bytes of the eight of b:a, each chosen by three bits of the selector; with a fourth, its sign."""
    return _op("prmt", [_value(x, Uint32) for x in (a, b, selector)], Uint32)


def clock(*, loc: object = None, ip: object = None) -> Int32:
    """The multiprocessor's clock, 32 bits of it."""
    return clock64().to(Int32)


def clock64(*, loc: object = None, ip: object = None) -> Int64:
    """The multiprocessor's clock."""
    return _op("clock", (), Int64, text="clock64")


def globaltimer(*, loc: object = None, ip: object = None) -> Int64:
    """The device's time in nanoseconds."""
    return _op("clock", (), Int64, text="globaltimer")


# ---- operations and their operands ----


@overload
def _op(code: str, values: Sequence[Any], dtype: type[N], *, text: str = "", ints: Sequence[int] = ()) -> N: ...
@overload
def _op(
    code: str, values: Sequence[Any] = (), dtype: None = None, *, text: str = "", ints: Sequence[int] = ()
) -> None: ...
def _op(
    code: str,
    values: Sequence[Any] = (),
    dtype: type[Any] | None = None,
    *,
    text: str = "",
    ints: Sequence[int] = (),
) -> Any:
    """An operation on numbers: of the program that is traced, or of the thread that Python steps through."""
    if current() is None:
        if debug.place() is None:
            traced(f"cute.arch: {code}")
        return stepping.run(code, values, dtype, text, ints)
    result = _emit(code, [_symbol(x) for x in values], text=text, ints=ints)
    return None if dtype is None else dtype._of(result)


def _symbol(value: Numeric) -> Any:
    return _symbol_of(type(value), value._value)


def _value(value: Any, dtype: type[Numeric]) -> Any:
    """A value as a number of a type."""
    return value if type(value) is dtype else dtype(value)


def _any_value(value: Any) -> Any:
    """A value as a number of its own type; a Python number as Int32 or Float32."""
    return value if isinstance(value, Numeric) else Float32(value) if isinstance(value, float) else Int32(value)


def _int32(value: Any) -> Any:
    return _value(value, Int32)


def _mask(mask: Any) -> Any:
    if isinstance(mask, int):
        mask = (mask & FULL_MASK) - ((mask & 0x80000000) << 1)
    return _int32(mask)


def _static(what: str, value: Any) -> int:
    try:
        return int(value.__index__())
    except (AttributeError, TypeError):
        raise TypeError(f"{what} has to be known while tracing, but got {value!r}") from None


def _exchange(code: str, value: Any, operands: Sequence[Any] = (), **attributes: Any) -> Numeric:
    """An operation of a warp whose result has the operand's type."""
    number = _any_value(value)
    result: Numeric = _op(code, [number, *operands], type(number), **attributes)
    return result


def _binary(code: str, a: Any, b: Any, dtype: type[Numeric] | None = None) -> Any:
    if dtype is None:
        like = a if isinstance(a, Numeric) else b
        dtype = type(like) if isinstance(like, Numeric) else Float32
    return _op(code, [_value(a, dtype), _value(b, dtype)], dtype)

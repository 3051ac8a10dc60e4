"""What the kernel of a GemmSimt relies on: that its layouts fit together, and that its accesses are aligned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright._core import LayoutError
from tilewright.cute.int_tuple import text
from tilewright.kernels.gemm.simt.layouts import ACCESS, neighbours, require_linear
from tilewright.kernels.gemm.simt.stream_k import counts_steps

if TYPE_CHECKING:
    from tilewright.kernels.gemm.simt.plan import GemmSimt

MAX_THREADS = 1024
MAX_SUMS = 256  # accumulators of 4 bytes that a thread has registers for


def require_layouts(plan: GemmSimt) -> None:
    """LayoutError, TypeError or ValueError where a plan's layouts do not fit its tile or each other."""
    from tilewright.cute.atoms.mma_ops import MmaUniversalOp
    from tilewright.cute.tiled.tiled_copy import TiledCopy
    from tilewright.cute.tiled.tiled_mma import TiledMma

    mma, p = plan.tiled_mma, plan.problem
    if not isinstance(mma, TiledMma) or not isinstance(mma.op, MmaUniversalOp):
        raise TypeError(f"GemmSimt: tiled_mma is {mma!r}, but gemm_simt multiplies by a TiledMma of MmaUniversalOp")
    for name, mine, theirs in zip("ABC", (mma.op.a_dtype, mma.op.b_dtype, mma.op.acc_dtype), types(plan), strict=True):
        if mine is not theirs:
            raise TypeError(
                f"GemmSimt: {mma.op} takes {name} of {mine}, but the problem has {theirs} ({p}); make the operation "
                "for the problem's types"
            )
    _require_mma(plan)
    for name in "ab":
        tiled_copy, smem, _, tile, _, dtype = plan.side(name)
        if not isinstance(tiled_copy, TiledCopy):
            raise TypeError(f"GemmSimt: tiled_copy_{name} is {tiled_copy!r}, but it must be a TiledCopy")
        require_linear(f"smem_{name}", smem, tile, plan.stages)
        _require_copy(plan, name, tiled_copy, tile, dtype)
        _require_padding(plan, name, tile[0])
    _require_image(plan)
    _require_streams(plan)
    if plan.totals and not plan.reads_early:
        raise LayoutError(
            f"GemmSimt: promote is {plan.promote} with {plan.totals} sums of a thread, whose totals are in shared "
            f"memory, but with {plan.stages} stages and {plan.tiler_mnk[2] // plan.sliced_k} steps in a tile fragments "
            "are not read ahead; use two or more stages and an even number of steps, or promote=0"
        )
    most = min(ACCESS * 8 // int(p.c_type.bits), 16)
    vectors = neighbours(plan.rows if plan.out_mode == 0 else plan.columns, most)
    if plan.smem_c is None and vectors % plan.out_vector:
        raise LayoutError(
            f"GemmSimt: out_vector is {plan.out_vector}, but a thread has {vectors} neighbours along "
            f"{'MN'[plan.out_mode]} that fit into {ACCESS} bytes ({plan.columns if plan.out_mode else plan.rows}); use "
            f"out_vector={vectors}, or a permutation that gives it more"
        )


def types(plan: GemmSimt) -> tuple[Any, Any, Any]:
    """The types of A, of B and of the sums."""
    return plan.problem.a_type, plan.problem.b_type, plan.problem.acc_type


def _require_mma(plan: GemmSimt) -> None:
    mma, tiler = plan.tiled_mma, plan.tiler_mnk
    sliced_k, size = plan.sliced_k, int(mma.size)
    last = mma.thr_layout_vmnk[3]
    if sliced_k > 1 and (size % sliced_k or last != _core.make_layout(sliced_k, stride=size // sliced_k)):
        raise LayoutError(
            f"GemmSimt: {sliced_k} atoms of {mma.atom_layout_mnk} lie along K, but their threads do not follow each "
            f"other; give that mode the stride of all the others together, {size // sliced_k}"
        )
    if mma.permutation_mnk[2] is not None and not isinstance(mma.permutation_mnk[2], int):
        raise LayoutError(
            f"GemmSimt: the permutation of K is {mma.permutation_mnk[2]}, but gemm_simt goes through K in order; use "
            "None there"
        )
    for mode, extent in enumerate(tiler):
        step = mma.get_tile_size(mode)
        if extent % step:
            raise LayoutError(
                f"GemmSimt: the tiler {text(tiler)} has {extent} along {'MNK'[mode]}, which the TiledMma's {step} do "
                f"not divide; use a multiple of {step}"
            )
    if int(mma.size) > MAX_THREADS:
        raise LayoutError(f"GemmSimt: the TiledMma has {mma.size} threads, but a CTA has at most {MAX_THREADS}")
    rows, columns = (int(_core.size(x, mode=[1])) for x in (plan.rows, plan.columns))
    if rows * columns * int(plan.problem.acc_type.bits) > MAX_SUMS * 32:
        raise LayoutError(
            f"GemmSimt: with {mma.size} threads on the tiler {text(tiler)} each has {rows} by {columns} sums, more "
            f"than its registers hold; use a smaller tiler, or a TiledMma of more threads"
        )


def _require_padding(plan: GemmSimt, name: str, rows: int) -> None:
    strides = plan.side(name)[4]
    if not (plan.padded_a if name == "a" else plan.padded_b):
        return
    if strides[0] != 1 or any(d % rows for d in strides[1:]):
        raise LayoutError(
            f"GemmSimt: padded_{name} is True, but {name.upper()} has the strides {text(strides)}; only rows that are "
            f"contiguous and as long as whole tiles, a multiple of {rows}, have memory behind them"
        )


def _require_image(plan: GemmSimt) -> None:
    """LayoutError where sums do not go through shared memory, but must, or cannot in the way of `smem_c`."""
    image, wanted = plan.smem_c, (*plan.tiler_mnk[:2], plan.sliced_k)
    if image is None:
        if plan.sliced_k > 1:
            raise LayoutError(
                f"GemmSimt: {plan.sliced_k} atoms lie along K, so that as many threads have parts of the same sum; "
                f"give smem_c, a layout of {text(wanted)}, where they are added up"
            )
        return
    if not isinstance(image, _core.Layout) or image.shape != wanted or not _core.is_injective(image):
        raise LayoutError(
            f"GemmSimt: smem_c is {image}, but sums lie in shared memory by an injective Layout of three plain modes, "
            f"(rows, columns, slices) = {text(wanted)}"
        )
    width = neighbours(plan.columns, ACCESS * 8 // int(plan.problem.acc_type.bits))
    if width > 1 and (image.stride[1] != 1 or any(d % width for d in (image.stride[0], image.stride[2]))):
        raise LayoutError(
            f"GemmSimt: a thread has {width} neighbouring columns, which are written together, but in smem_c {image} "
            f"they do not lie together at a multiple of {width}; use a stride of 1 along N and such multiples else"
        )
    plan.store_layout  # noqa: B018 (raises where threads do not divide the tile)


def _require_streams(plan: GemmSimt) -> None:
    """LayoutError where tiles cannot be shared along K."""
    if plan.stream_k_ctas == 0:
        return
    if plan.problem.k == 0:
        raise LayoutError(
            f"GemmSimt: stream_k_ctas is {plan.stream_k_ctas}, but K is 0, so that there is no work to share; use 0"
        )
    run, runs, _ = plan._raster()
    if run * runs != plan.tiles[0]:
        raise LayoutError(
            f"GemmSimt: stream_k_ctas is {plan.stream_k_ctas}, but {plan.tiles[0]} tiles along M are no whole "
            f"runs of {run}; use a group by which they are, such as group={plan.tiles[0]}, or stream_k_ctas=0"
        )
    if not counts_steps(plan.places, plan.steps, plan.stream_k_ctas):
        raise LayoutError(
            f"GemmSimt: {plan.stream_k_ctas} CTAs share tiles along K, and there are {plan.places} tiles of "
            f"{plan.steps} steps, but the kernel counts steps of all tiles up to 2^31; use a larger tile, "
            "or stream_k_ctas=0"
        )


def _require_copy(plan: GemmSimt, name: str, tiled_copy: Any, tile: tuple[int, int], dtype: Any) -> None:
    from tilewright.kernels.gemm.simt.plan import by_cp_async

    operand = f"tiled_copy_{name}"
    if tiled_copy.value_type.bits != dtype.bits:
        raise TypeError(
            f"GemmSimt: {operand} copies {tiled_copy.value_type}, but {name.upper()} has elements of {dtype}; use an "
            "atom of their size"
        )
    for mode, extent in enumerate(tile):
        step = int(_core.size(tiled_copy.tiler_mn[mode])) if mode < len(tiled_copy.tiler_mn) else 1
        if extent % step:
            raise LayoutError(
                f"GemmSimt: {operand} copies {step} elements along mode {mode}, which do not divide the tile "
                f"{text(tile)} of {name.upper()}; use threads and values that divide it"
            )
    tv, vector, mode = plan.copy_layout(name)
    if int(_core.size(tv, mode=[0])) > plan.threads:
        raise LayoutError(
            f"GemmSimt: {operand} has {int(_core.size(tv, mode=[0]))} threads, but the TiledMma has "
            f"{plan.threads}; use as many or fewer"
        )
    first = tv(0, 0)
    along = [tuple(c + (j if i == mode else 0) for i, c in enumerate(first)) for j in range(vector)]
    values = range(0, int(_core.size(tv, mode=[1])), vector)
    starts = [tv(t, 0)[mode] for t in range(int(_core.size(tv, mode=[0])))] + [tv(0, v)[mode] for v in values]
    if [tv(0, j) for j in range(vector)] != along or any(x % vector for x in starts):
        raise LayoutError(
            f"GemmSimt: the atom of {operand} copies {vector} elements at once, but in {tv} they are no neighbours "
            f"that begin at a multiple of {vector}; give the values as neighbours along a mode, or use a narrower atom"
        )
    smem = plan.side(name)[1]
    strides = require_linear(f"smem_{name}", smem, tile, plan.stages)
    width = vector * int(dtype.bits) // 8
    if by_cp_async(tiled_copy) and plan.side(name)[2]:
        others = [d for i, d in enumerate(strides) if i != mode]
        if vector > 1 and (strides[mode] != 1 or any(d % vector for d in others)):
            raise LayoutError(
                f"GemmSimt: {operand} copies {width} bytes along mode {mode} by cp.async, but in smem_{name} {smem} "
                f"they do not lie together at a multiple of {width} bytes; use a narrower atom, CopyUniversalOp, or a "
                "layout that is contiguous along that mode"
            )


def require_aligned(plan: GemmSimt, addresses: tuple[int, int, int], function: str) -> None:
    """ValueError where an access that the plan relies on would be misaligned."""
    p = plan.problem
    rows = p.a_strides[1] if plan.padded_a else p.m, p.b_strides[1] if plan.padded_b else p.n
    for name, address, extents in (("a", addresses[0], (rows[0], p.k)), ("b", addresses[1], (rows[1], p.k))):
        _, _, wide, _, strides, dtype = plan.side(name)
        _, vector, mode = plan.copy_layout(name)
        if not wide:
            continue
        mend = f"use plan.replace(wide_{name}=False), which brings its elements one by one"
        _require(name.upper(), function, address, strides, (*extents, *p.batch), vector, mode, dtype, mend)
    if plan.out_vector > 1:
        mend = "use plan.replace(out_vector=1), which writes its elements one by one"
        extents = (p.m, p.n)
        _require(
            "C",
            function,
            addresses[2],
            p.c_strides,
            (*extents, *p.batch),
            plan.out_vector,
            plan.out_mode,
            p.c_type,
            mend,
        )


def _require(
    name: str, function: str, address: int, strides: tuple[int, ...], extents: tuple[int, ...], vector: int, mode: int,
    dtype: Any, mend: str,
) -> None:  # fmt: skip
    size = int(dtype.bits) // 8
    width = vector * size
    if vector == 1:
        return
    if strides[mode] != 1 and extents[mode] > 1:
        raise ValueError(
            f"{function}: the plan's accesses of {name} have {vector} neighbours along mode {mode}, but its stride "
            f"there is {strides[mode]}; {mend}"
        )
    if extents[mode] % vector:
        raise ValueError(
            f"{function}: the plan's accesses of {name} have {vector} neighbours along mode {mode}, which do not "
            f"divide its extent {extents[mode]}; {mend}"
        )
    if address % width:
        raise ValueError(
            f"{function}: {name} begins at 0x{address:x}, but the plan's accesses of {width} bytes need a multiple of "
            f"{width}; {mend}"
        )
    for i, (d, e) in enumerate(zip(strides, extents, strict=True)):
        if i != mode and e > 1 and d % vector:
            raise ValueError(
                f"{function}: stride {d} of mode {i} of {name} is no multiple of the {vector} elements of the plan's "
                f"accesses; {mend}"
            )

"""The plan that a TiledCopy stands for: exactly its threads and values, whatever the tensors are."""

from __future__ import annotations

from typing import Any

from tilewright import _core
from tilewright._core import LayoutError
from tilewright.cute.int_tuple import text
from tilewright.kernels.copy.plan import CopyPlan
from tilewright.kernels.copy.problem import CopyProblem

MAX_THREADS = 1024
MAX_BITS = 128  # of an access, on all architectures that kernels are compiled for


def given_copy(problem: CopyProblem, tiled_copy: Any) -> CopyPlan:
    """The plan of a TiledCopy for a problem in the order of the tensors' own modes.

    Its tiler cuts the first modes; what is left of a strided tiler mode is gone through by every thread. Atoms that go
    from global to shared memory (cp.async) make a staged plan, in which the same threads read and write. Raises
    LayoutError where the tiler has more modes than the tensors, does not tile a block, or the atom's elements do not
    lie together in memory.
    """
    rank = len(problem.extents)
    tiler = tiled_copy.tiler_mn
    name = "kernels.tiled_copy"
    if len(tiler) > rank:
        raise LayoutError(
            f"{name}: the tiler {_tiler_text(tiler)} has {len(tiler)} modes, but the tensors have {rank} (extents "
            f"{text(problem.extents)}); use a tiler with one mode for each of theirs"
        )
    blocks = [_block(name, mode) for mode in tiler]
    tile = tuple(block for block, _ in blocks) + (1,) * (rank - len(tiler))
    # Coordinates of the tile: each mode of the tiler, with its offsets counted in its own mode of the tensor.
    coordinates = _core.make_layout([_in_mode(mode, i) for i, mode in enumerate(tiler)])
    try:
        load_tv, store_tv = (
            _with_rest(_core.composition(coordinates, side), blocks)
            for side in (tiled_copy.layout_src_tv_tiled, tiled_copy.layout_dst_tv_tiled)
        )
    except LayoutError as error:
        raise LayoutError(
            f"{name}: the threads and values of the TiledCopy, {tiled_copy.layout_tv_tiled}, do not follow the modes "
            f"of its tiler {_tiler_text(tiler)} ({error}); give thread and value layouts that divide each mode"
        ) from error
    if tiled_copy.size > MAX_THREADS:
        raise LayoutError(f"{name}: the TiledCopy has {tiled_copy.size} threads, but a CTA has at most {MAX_THREADS}")
    vector = _vector(name, tiled_copy)
    bits = 8 * problem.element_bytes * vector
    mode = _access_mode(name, problem, load_tv, vector)
    if vector > 1:
        for side, strides in (("src", problem.src_strides), ("dst", problem.dst_strides)):
            if strides[mode] != 1:
                raise LayoutError(
                    f"{name}: the atom copies {bits} bits at once, {vector} elements along "
                    f"mode {mode}, but {side} has stride {strides[mode]} there; use an atom of "
                    f"{8 * problem.element_bytes} bits, or values along a mode in which {side} is contiguous"
                )
    fields = {
        "problem": problem, "tile": tile, "load_tv": load_tv, "store_tv": store_tv, "load_vector": vector,
        "store_vector": vector, "src_mode": mode, "dst_mode": mode, "tiled_copy": tiled_copy,
        "src_step": problem.src_strides[mode] if problem.src_strides[mode] in (0, 1) else -1,
        "predicated": any(e % t for e, t in zip(problem.extents, tile, strict=True)),
    }  # fmt: skip
    if not tiled_copy.op.instruction.startswith("cp.async"):
        return CopyPlan(kernel="direct", **fields)
    order = (mode, *(i for i in range(rank) if i != mode))
    smem = _core.make_ordered_layout(tile, tuple(order.index(i) for i in range(rank)))
    return CopyPlan(kernel="staged", smem=smem, smem_store=vector, is_async=True, **fields)


def _vector(name: str, tiled_copy: Any) -> int:
    """The elements of one access of the atom; ValueError for atoms that a copy between tensors does not use."""
    instruction = tiled_copy.op.instruction
    threads = int(_core.size(tiled_copy.thr_id))
    if threads > 1 or instruction.startswith("cp.async.bulk"):
        how = f"is executed by {threads} threads together" if threads > 1 else "copies a box of a tensor"
        raise ValueError(
            f"{name}: tiled_copy has the atom {instruction}, which {how} and needs shared memory on one side; use an "
            "atom of CopyUniversalOp, or of CopyG2SOp to go through shared memory"
        )
    vector = int(_core.size(tiled_copy.layout_src_tv, mode=[1]))
    bits = vector * int(tiled_copy.value_type.bits)
    if bits > MAX_BITS:
        raise ValueError(
            f"{name}: tiled_copy copies {bits} bits at once, which needs {tiled_copy.arch}; use an atom of at most "
            f"{MAX_BITS} bits"
        )
    return vector


def _tiler_text(tiler: tuple[Any, ...]) -> str:
    return f"({','.join(str(mode) for mode in tiler)})"


def _block(name: str, mode: Any) -> tuple[int, Any]:
    """The extent of the block that a tiler mode tiles, and the layout of the tiles in it (None: there is one)."""
    layout = mode if isinstance(mode, _core.Layout) else _core.make_layout(mode)
    size, reach = int(_core.size(layout)), int(_core.cosize(layout))
    if reach == size:
        return size, None
    rest = _core.complement(layout, reach)
    block = size * int(_core.size(rest))
    if not _core.is_bijective(_core.make_layout([layout, rest])):
        raise LayoutError(
            f"{name}: the tiler mode {layout} leaves gaps that no further tiles fill; use a permutation of a block"
        )
    return block, rest


def _in_mode(mode: Any, index: int) -> Any:
    """A tiler mode as a layout into coordinates of a mode of the tensor."""
    layout = mode if isinstance(mode, _core.Layout) else _core.make_layout(mode)
    return _scaled(layout, index)


def _scaled(layout: Any, index: int) -> Any:
    def scale(stride: Any) -> Any:
        return tuple(map(scale, stride)) if isinstance(stride, tuple) else stride * _core.E(index)

    return _core.make_layout(layout.shape, stride=scale(layout.stride))


def _with_rest(tv: Any, blocks: list[tuple[int, Any]]) -> Any:
    """A thread-value layout with the remaining tiles of each block as further values."""
    rests = [_scaled(rest, i) for i, (_, rest) in enumerate(blocks) if rest is not None]
    if not rests:
        return tv
    return _core.make_layout([tv[0], _core.make_layout([tv[1], *rests])])


def _access_mode(name: str, problem: CopyProblem, tv: Any, vector: int) -> int:
    """The mode along which the values of one access lie."""
    first, rank = _tuple(tv(0, 0)), len(problem.extents)
    if vector == 1:
        return 0
    second = _tuple(tv(0, 1))
    steps = [(second[i] if i < len(second) else 0) - (first[i] if i < len(first) else 0) for i in range(rank)]
    mode = steps.index(1) if steps.count(1) == 1 and steps.count(0) == rank - 1 else None
    along = [0] * rank
    for j in range(vector):
        if mode is not None:
            along = [(first[i] if i < len(first) else 0) + (j if i == mode else 0) for i in range(rank)]
        found = _tuple(tv(0, j))
        if mode is None or [found[i] if i < len(found) else 0 for i in range(rank)] != along:
            raise LayoutError(
                f"{name}: the atom copies {vector} elements at once, but the first values of thread 0 in {tv} do not "
                "lie next to each other along one mode; give the values as neighbours along a mode, or use a narrower "
                "atom"
            )
    threads, values = (int(_core.size(tv, mode=[i])) for i in (0, 1))
    for t, v in (*((t, 0) for t in range(threads)), *((0, v) for v in range(0, values, vector))):
        c = _tuple(tv(t, v))
        if mode is not None and mode < len(c) and c[mode] % vector:
            raise LayoutError(
                f"{name}: the atom copies {vector} elements at once, but value {v} of thread {t} in {tv} lies at "
                f"{text(c)}, and {c[mode]} is no multiple of {vector}: such an access is misaligned; use a narrower "
                "atom"
            )
    return mode or 0


def _tuple(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)

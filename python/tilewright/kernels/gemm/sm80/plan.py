"""The plan of a GEMM by mma.sync: cp.async into swizzled shared memory, fragments by ldmatrix. See gemm_sm80.cuh."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Annotated, Any

from tilewright import _core
from tilewright._cached import cached_property
from tilewright._core import Layout, LayoutError
from tilewright.cute.int_tuple import text
from tilewright.cute.tiled.tiled_copy import TiledCopy
from tilewright.kernels.common.device_types import device_type, numeric_type
from tilewright.kernels.common.plan_value import Kind, Positive, unchanging
from tilewright.kernels.gemm.epilogue import bias_offset, epilogue_type, pack_epilogue
from tilewright.kernels.gemm.plan import GemmPlan, SharedOperandLayout
from tilewright.kernels.gemm.sm80.fragments import modes_of, thread_coordinates, value_coordinates
from tilewright.kernels.gemm.sm80.layouts import PAD
from tilewright.kernels.gemm.sm80.operand import Side, flag, guard, side_fits
from tilewright.kernels.gemm.sm80.store import store_fits
from tilewright.numeric import Float32, Float64, Int32

BATCH_MODES = 3
NO_PARTS = 1 << 62  # more than K times any number of matrices
MAX_SUMS = 256  # words that a thread has registers for
EPILOGUE_AT = 24  # of the epilogue in the parameter, behind three addresses

ThreadValue = Annotated[Layout, Kind("a layout of (thread, value)", lambda value: isinstance(value, Layout))]


@unchanging
@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class GemmSm80(GemmPlan):
    """A GEMM by mma.sync. Besides the fields of all plans:

    - `tiled_copy_a`, `tiled_copy_b`: global to shared memory, by cp.async or element by element through registers
    - `smem_a`, `smem_b`: (row, k, stage) to the offset in shared memory
    - `store_tv`: (thread, value) to (row, n) of a round of sums that leaves through shared memory, `store_vector`
      values by one access; None: each thread stores its own sums
    - `run_length`: tiles along M that CTAs take one after another, before those of the next tile along N
    - `min_ctas`: CTAs of one multiprocessor that registers are left for
    """

    tiled_copy_a: TiledCopy
    tiled_copy_b: TiledCopy
    smem_a: SharedOperandLayout
    smem_b: SharedOperandLayout
    store_tv: ThreadValue | None = None
    store_vector: Positive = 1
    run_length: Positive = 8
    min_ctas: Positive = 1

    # ---- what follows from the fields ----

    @cached_property
    def sides(self) -> tuple[Side, Side]:
        """A and B: how they get into shared memory and out of it."""
        p, (bm, bn, bk) = self.problem, self.tiler_mnk
        return (
            Side("A", (bm, bk), p.m, p.a_type, p.a_strides, self.tiled_copy_a, self.smem_a, self.tiled_mma),
            Side("B", (bn, bk), p.n, p.b_type, p.b_strides, self.tiled_copy_b, self.smem_b, self.tiled_mma),
        )

    def require_layouts(self) -> None:
        """LayoutError or TypeError where the layouts do not fit together."""
        require_fields(self)

    @property
    def part_of_k(self) -> int:
        """As GemmPlan.part_of_k: each CTA knows where its part ends."""
        return self.tiler_mnk[2]

    @property
    def threads(self) -> int:
        """The threads of a CTA: those of the TiledMma."""
        return int(self.tiled_mma.size)

    def _tiles(self) -> tuple[int, int]:
        return -(-self.problem.m // self.tiler_mnk[0]), -(-self.problem.n // self.tiler_mnk[1])

    @property
    def min_ctas_per_sm(self) -> int:
        """As Plan.min_ctas_per_sm."""
        return self.min_ctas

    @property
    def tile_run(self) -> int:
        """As GemmPlan.tile_run."""
        return self.run_length

    def grid(self) -> tuple[int, int, int]:
        """A CTA for each tile of each matrix of the batch."""
        return math.prod(self._tiles()) * self.problem.batches, 1, 1

    @property
    def shared_bytes(self) -> int:
        """All stages of A and B; afterwards it holds two rounds of sums."""
        stages = sum(side.stage_elements * side.bits // 8 for side in self.sides) * self.stages
        return max(stages, 2 * self._buffer * self.problem.acc_type.bits // 8 if self.store_tv is not None else 0)

    @property
    def smem_c(self) -> Any:
        """(row, n) of a round of sums to the offset in one of two buffers."""
        columns = self.tiler_mnk[1]
        pitch = columns + PAD * 8 // self.problem.acc_type.bits
        return _core.make_layout((self._rows, columns), stride=(pitch, 1))

    @property
    def _rows(self) -> int:
        """Rows of a round: those of a tile of the TiledMma."""
        return int(self.tiled_mma.get_tile_size(0))

    @property
    def _buffer(self) -> int:
        return self._rows * int(self.smem_c.stride[0])

    @cached_property
    def _values_c(self) -> Any:
        return value_coordinates(self.tiled_mma, "C", self.tiler_mnk[:2])

    def _write_width(self) -> int:
        """Neighbours along n that a thread has as neighbouring values."""
        values = modes_of(self._values_c[0])
        return 2 if values and values[0][1:] == (0, 1) and values[0][0] == 2 else 1

    def _name_expression(self) -> str:
        p, op = self.problem, self.tiled_mma.op
        a, b = (numeric_type(t) for t in (p.a_type, p.b_type))
        m, n, k = op.shape_mnk
        mma = f"Mma<{m}, {n}, {k}, {a}, {b}, {numeric_type(p.acc_type)}>"
        atoms_m, atoms_n = (int(_core.size(self._values_c, mode=[mode])) for mode in (1, 2))
        atoms_k = self.sides[0].k_blocks
        tile = ", ".join(map(str, self.tiler_mnk))
        loads = ", ".join(side.load_type() for side in self.sides)
        fragments = ", ".join(side.fragment_type() for side in self.sides)
        return (
            f"gemm_sm80<GemmSm80<{tile}, {self.threads}, {self.min_ctas}, {self.stages}, {mma}, {atoms_m}, {atoms_n}, "
            f"{atoms_k}, {loads}, {fragments}, {self._store_type()}, {epilogue_type(p)}, {_unit(p.c_strides)}, "
            f"{flag(any(k % self.tiler_mnk[2] for k in (p.k, p.whole_k)))}{self._last_argument}>>"
        )

    def _store_type(self) -> str:
        thread = thread_coordinates(self.tiled_mma, "C")
        layouts = f"{device_type(thread)}, {device_type(self._values_c)}"
        if self.store_tv is None:
            return f"DirectStore<{layouts}>"
        threads, values = (int(_core.size(self.store_tv, mode=[mode])) for mode in (0, 1))
        return (
            f"SharedStore<{layouts}, {device_type(self.smem_c)}, {device_type(self.store_tv)}, "
            f"{guard(threads, self.threads)}, {values // self.store_vector}, {self.store_vector}, {self._rows}, "
            f"{self._atoms_in_round()}, {self._write_width()}, {self._buffer}, "
            f"{flag(self.problem.n % self.store_vector != 0)}>"
        )

    def _atoms_in_round(self) -> int:
        atoms = int(_core.size(self._values_c, mode=[1]))
        return atoms * self._rows // self.tiler_mnk[0]

    def params(self, a: int = 0, b: int = 0, c: int = 0, bias: int = 0) -> bytes:
        """The kernel's parameter: addresses, epilogue, extents, strides, tiles."""
        p = self.problem
        none = (0,) * (BATCH_MODES - len(p.batch))
        strides = [x for strides in (p.a_strides, p.b_strides, p.c_strides) for x in strides[:2]]
        # Parts of K are the last mode.
        batch = [x for strides in (p.a_strides, p.b_strides, p.c_strides) for x in (*none, *strides[2:])]
        tiles = self._tiles()
        counts = (*(1,) * len(none), *p.batch, *tiles, min(self.run_length, max(tiles[0], 1)))
        extents = p.m, p.n, p.k, p.whole_k or NO_PARTS
        return (
            struct.pack("<3Q", a, b, c)
            + pack_epilogue(p, bias)
            + struct.pack(f"<4q{len(strides) + len(batch)}q{len(counts)}I", *extents, *strides, *batch, *counts)
        )

    def pointers(self) -> list[tuple[int, int, int]]:
        """The addresses of A, B, C and, where there is one, the bias."""
        found = [(0, 0, 0), (1, 8, 0), (2, 16, 0)]
        if self.problem.epilogue.bias is not None:
            found.append((3, EPILOGUE_AT + bias_offset(self.problem), 0))
        return found

    def require(self, a_address: int, b_address: int, c_address: int, function: str = "plan.run") -> None:
        """Check that tensors at these addresses are aligned as the accesses need; ValueError where they are not."""
        p = self.problem
        for side, address, extents in zip(
            self.sides, (a_address, b_address), ((p.m, p.k, *p.batch), (p.n, p.k, *p.batch)), strict=True
        ):
            if side.vector > 1 or side.is_async:
                _require_aligned(
                    function, f"m{side.operand}", address, extents, side.strides, side.mode, side.vector, side.bits,
                    "cp.async" if side.is_async else "reads",
                )  # fmt: skip
        if self.store_tv is not None:
            extents = (p.m, p.n, *p.batch)
            _require_aligned(
                function, "mC", c_address, extents, p.c_strides, 1, self.store_vector, p.c_type.bits, "stores"
            )

    def __str__(self) -> str:
        tiles = self._tiles()
        lines = [
            f"mma.sync GEMM of {self.problem}" + (", with A and B exchanged" if self.swapped else ""),
            f"  tile       {text(self.tiler_mnk)}, {text(tiles)} tiles, {self.threads} threads, {self.stages} stages, "
            f"{self.shared_bytes} bytes of shared memory",
            f"  mma        {self.tiled_mma.op.instruction}, atoms {self.tiled_mma.thr_layout_vmnk}, permutation "
            f"{text(self.tiled_mma.permutation_mnk)}",
        ]
        lines += self._promotion_text
        for side in self.sides:
            lines += [
                f"  load {side.operand}     {side.shown_access()}: {side.load_tv}",
                f"  shared {side.operand}   {side.smem}",
                f"  fragment {side.operand} {side.fragment}",
            ]
        if self.store_tv is None:
            lines.append(f"  store      directly: {thread_coordinates(self.tiled_mma, 'C')}, {self._values_c}")
        else:
            bits = self.store_vector * self.problem.c_type.bits
            lines += [f"  shared C   {self.smem_c}", f"  store      {bits} bits: {self.store_tv}"]
        return "\n".join(lines)


def _unit(strides: tuple[int, ...]) -> int:
    """The mode of C whose stride is known to be 1, n if it can be."""
    return 1 if strides[1] == 1 else 0 if strides[0] == 1 else -1


def _require_aligned(
    function: str, name: str, address: int, extents: tuple[int, ...], strides: tuple[int, ...], mode: int, vector: int,
    bits: int, what: str,
) -> None:  # fmt: skip
    width = vector * bits // 8
    fix = "make a plan for these tensors, or copy them to aligned memory"
    if vector > 1 and strides[mode] != 1 and extents[mode] > 1:
        raise ValueError(
            f"{function}: the plan's {what} have {vector} neighbours along mode {mode} of {name}, whose stride there "
            f"is {strides[mode]}; {fix}"
        )
    if address % width:
        raise ValueError(
            f"{function}: the plan's {what} have {width} bytes, but {name} begins at 0x{address:x}, which is no "
            f"multiple of {width}; {fix}"
        )
    for i, (extent, stride) in enumerate(zip(extents, strides, strict=True)):
        if extent > 1 and (i != mode or vector == 1) and stride * bits // 8 % width:
            raise ValueError(
                f"{function}: the plan's {what} have {width} bytes, but mode {i} of {name} has the stride {stride}, "
                f"{stride * bits // 8} bytes, no multiple of {width}; {fix}"
            )


def require_fields(plan: GemmSm80) -> None:
    """What the kernel relies on, whatever the tensors are."""
    op, (bm, bn, bk) = plan.tiled_mma.op, plan.tiler_mnk
    p = plan.problem
    if (op.a_dtype, op.b_dtype, op.acc_dtype) != (p.a_type, p.b_type, p.acc_type):
        raise TypeError(
            f"GemmSm80: {op} multiplies {op.a_dtype} by {op.b_dtype} into {op.acc_dtype}, but the problem has "
            f"{p.a_type} by {p.b_type} into {p.acc_type}; use another operation"
        )
    if p.acc_type not in (Float32, Float64, Int32):
        raise TypeError(
            f"GemmSm80: {op} sums in {p.acc_type}, but the kernel has sums of Float32, Float64 and Int32; use an "
            "operation that accumulates in one of them"
        )
    if plan.stages < 2:
        raise ValueError(
            f"GemmSm80: stages is {plan.stages}, but one stage is filled while another is read; use 2 or more"
        )
    threads = plan.tiled_mma.thr_layout_vmnk
    if int(_core.size(threads, mode=[3])) > 1:
        raise LayoutError(f"GemmSm80: the TiledMma {threads} has several atoms along K; put them along M and N")
    if int(_core.cosize(threads)) != int(_core.size(threads)) or not _core.is_bijective(threads):
        raise LayoutError(
            f"GemmSm80: the TiledMma's threads {threads} are not all those of a CTA; use a compact layout"
        )
    words = bm * bn * int(p.acc_type.bits) // 32
    if words > MAX_SUMS * plan.threads:
        raise LayoutError(
            f"GemmSm80: of a tile {text(plan.tiler_mnk)} each of the {plan.threads} threads of the TiledMma has "
            f"{words // plan.threads} words of sums, more than its registers hold; use a smaller tile, or more atoms"
        )
    if plan.threads > 1024:
        raise LayoutError(f"GemmSm80: the TiledMma has {plan.threads} threads, but a CTA has at most 1024")
    for name, tile, extent in (("M", 0, bm), ("N", 1, bn), ("K", 2, bk)):
        if extent % plan.tiled_mma.get_tile_size(tile):
            raise LayoutError(
                f"GemmSm80: tiler_mnk {text(plan.tiler_mnk)} has {extent} along {name}, no multiple of the "
                f"{plan.tiled_mma.get_tile_size(tile)} that the TiledMma multiplies; use a multiple"
            )
    for side in plan.sides:
        side_fits(side, plan.stages, plan.threads)
    if plan.store_tv is not None:
        rows = int(plan.tiled_mma.get_tile_size(0))
        store_fits(plan.store_tv, plan.store_vector, (rows, bn), plan.threads, int(p.c_type.bits))

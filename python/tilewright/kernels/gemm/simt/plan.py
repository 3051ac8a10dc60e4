"""The plan of gemm_simt: GEMM by universal FMA, on any architecture."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from tilewright import _core
from tilewright._cached import cached_property
from tilewright._core import Layout, LayoutError
from tilewright.cute.int_tuple import text
from tilewright.cute.tiled.tiled_copy import TiledCopy
from tilewright.kernels.common.device_types import device_type, numeric_type
from tilewright.kernels.common.params import fast_divisor
from tilewright.kernels.common.plan_value import Kind, Natural, Positive, unchanging
from tilewright.kernels.gemm.choose.promotion import REGISTER_SUMS, accumulators
from tilewright.kernels.gemm.epilogue import bias_offset, epilogue_type, pack_epilogue
from tilewright.kernels.gemm.plan import GemmPlan, SharedOperandLayout
from tilewright.kernels.gemm.simt.layouts import ACCESS, copy_tv, mma_rows, neighbours, require_linear, store_tv
from tilewright.kernels.gemm.simt.stream_k import counts_steps, whole_group
from tilewright.kernels.gemm.stream_k import StreamK

if TYPE_CHECKING:
    from tilewright.kernels.gemm.problem import GemmProblem

__all__ = ["GemmSimt"]

A_AT, B_AT, C_AT = 0, 48, 96  # where params has the addresses
EPILOGUE_AT = 240
MAX_THREADS = 1024
WIDE_K = 1 << 30  # from this K on it is counted in 64 bits

SharedSums = Annotated[Layout, Kind("a layout of (row, column, slice)", lambda value: isinstance(value, Layout))]


@unchanging
@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class GemmSimt(GemmPlan):
    """A GEMM by universal FMA. Beside the fields of every plan it has

    - `tiled_copy_a`, `tiled_copy_b`: who brings which elements of A and B to shared memory, by which instruction
    - `smem_a`, `smem_b`: (row, k, stage) to the offset in shared memory, in elements
    - `wide_a`, `wide_b`: whether the atoms' accesses are aligned in A and B and divide their extents; else elements are
      brought one by one
    - `out_vector`: the elements of C that are written at once, along the mode in which C is contiguous
    - `group`: the tiles along M that are taken one after another, before those of the next column
    - `ctas_per_sm`: the CTAs that are to share a multiprocessor, which bounds their registers
    - `padded_a`, `padded_b`: whether there is memory behind the rows of A and B, contiguous along M and N, up to whole
      tiles: it is read, whatever is there, and goes into sums that are not stored
    - `stream_k_ctas`: CTAs that share tiles of C along K, so that all of them have the same work (stream-K); 0: none do
    - `smem_c`: (row, column, slice) to the place of a sum in shared memory, through which C is written where atoms lie
      along K, or C does not allow wide accesses; None: every thread writes its own sums
    """

    tiled_copy_a: TiledCopy
    tiled_copy_b: TiledCopy
    smem_a: SharedOperandLayout
    smem_b: SharedOperandLayout
    wide_a: bool = False
    wide_b: bool = False
    out_vector: Positive = 1
    group: Positive = 16
    ctas_per_sm: Positive = 1
    padded_a: bool = False
    padded_b: bool = False
    smem_c: SharedSums | None = None
    stream_k_ctas: Natural = 0

    def require_layouts(self) -> None:
        """TypeError, ValueError or LayoutError where the fields do not fit together."""
        from tilewright.kernels.gemm.simt.conditions import require_layouts

        require_layouts(self)

    # ---- what follows from the fields ----

    def side(self, name: str) -> tuple[Any, Any, bool, tuple[int, int], tuple[int, ...], Any]:
        """Of the operand "a" or "b": tiled copy, shared memory, whether wide, tile (rows, k), strides, element type."""
        p, (m, n, k) = self.problem, self.tiler_mnk
        if name == "a":
            return self.tiled_copy_a, self.smem_a, self.wide_a, (m, k), p.a_strides, p.a_type
        return self.tiled_copy_b, self.smem_b, self.wide_b, (n, k), p.b_strides, p.b_type

    def copy_layout(self, name: str) -> tuple[Any, int, int]:
        """Of the operand: (thread, value) to (row, k), the elements of one access and the mode along which they lie."""
        if name not in self._copy_layouts:
            tiled_copy, _, _, tile, _, _ = self.side(name)
            tv, vector = copy_tv(tiled_copy, tile)
            mode = 1 if vector > 1 and tv(0, 1)[1] != tv(0, 0)[1] else 0
            self._copy_layouts[name] = tv, vector, mode
        return self._copy_layouts[name]

    @cached_property
    def _copy_layouts(self) -> dict[str, tuple[Any, int, int]]:
        """What `copy_layout` has said before."""
        return {}

    @cached_property
    def rows(self) -> Any:
        """(thread, value) to the row of the tile of C; a thread has all pairs of its rows and `columns`."""
        return mma_rows(self.tiled_mma, self.tiler_mnk[:2], 0)

    @cached_property
    def columns(self) -> Any:
        """(thread, value) to the column of the tile of C."""
        return mma_rows(self.tiled_mma, self.tiler_mnk[:2], 1)

    def fragment_vector(self, name: str) -> int:
        """The elements of the operand that a thread reads from shared memory at once."""
        _, smem, _, tile, _, dtype = self.side(name)
        row, k, stage = require_linear(f"smem_{name}", smem, tile, self.stages)
        most = ACCESS * 8 // int(dtype.bits) if row == 1 else 1
        while most > 1 and (k % most or stage % most):
            most //= 2
        return neighbours(self.rows if name == "a" else self.columns, most)

    @property
    def out_mode(self) -> int:
        """The mode of C along which elements are written together: M (0) where C is contiguous in it alone, else N."""
        return 0 if self.problem.c_strides[0] == 1 and self.problem.c_strides[1] != 1 else 1

    @property
    def threads(self) -> int:
        """The threads of a CTA, whole warps."""
        return -(-int(self.tiled_mma.size) // 32) * 32

    @property
    def sliced_k(self) -> int:
        """The atoms along K (sliced-K): so many groups of threads share its steps, and their sums are added up."""
        return int(_core.size(self.tiled_mma.thr_layout_vmnk, mode=[3]))

    @property
    def reads_early(self) -> bool:
        """Whether fragments of the next tile are read while the last ones are multiplied."""
        return self.stages > 1 and self.tiler_mnk[2] // self.sliced_k % 2 == 0

    @property
    def totals(self) -> int:
        """The totals of a thread in shared memory, where sums are promoted but do not fit into registers twice."""
        sums = accumulators(self)
        return sums if self.promote and sums > REGISTER_SUMS else 0

    @cached_property
    def store_layout(self) -> Any:
        """(thread, value) to the (row, column) of the tile that a thread writes, where `smem_c` is given."""
        return store_tv(self.tiler_mnk[:2], self.threads, self.out_mode, self.out_vector)

    @property
    def tiles(self) -> tuple[int, int]:
        """The tiles along M and N."""
        return -(-self.problem.m // self.tiler_mnk[0]), -(-self.problem.n // self.tiler_mnk[1])

    def for_problem(self, problem: GemmProblem) -> GemmSimt:
        """The plan for other sizes; tiles are shared in whole runs."""
        if self.stream_k_ctas == 0:
            return self.replace(problem=problem)
        if problem.k == 0:
            return self.replace(problem=problem, stream_k_ctas=0)
        bm, bn, bk = self.tiler_mnk
        rows = -(-problem.m // bm)
        runs = -(-rows // self.group)
        group = self.group if runs and rows % runs == 0 else whole_group(rows)
        counted = counts_steps(rows * -(-problem.n // bn) * problem.batches, -(-problem.k // bk), self.stream_k_ctas)
        return self.replace(problem=problem, group=group, stream_k_ctas=self.stream_k_ctas if counted else 0)

    def _raster(self) -> tuple[int, int, int]:
        """The length of a run of tiles along M, the number of runs, and the tiles along N."""
        m, n = self.tiles
        runs = -(-m // self.group)
        return -(-m // runs) if runs else 0, runs, n

    @property
    def min_ctas_per_sm(self) -> int:
        """As Plan.min_ctas_per_sm."""
        return self.ctas_per_sm

    @property
    def tile_run(self) -> int:
        """As GemmPlan.tile_run; all runs are about as long."""
        return self._raster()[0]

    def grid(self) -> tuple[int, int, int]:
        """The CTAs of a launch; where runs do not divide the tiles, some have none."""
        return self.places - self.stream_k_tiles + self.stream_k_ctas, 1, 1

    @property
    def places(self) -> int:
        """The tiles of all matrices, and those that do not exist."""
        return math.prod(self._raster()) * self.problem.batches

    @property
    def steps(self) -> int:
        """The tiles of A and B that a tile of C takes along K."""
        return -(-self.problem.k // self.tiler_mnk[2])

    @property
    def stream_k_tiles(self) -> int:
        """The stream-K tiles, which come first: those of less than two rounds, but of more than one."""
        return self.stream_k.shared if self.stream_k_ctas else 0

    @property
    def stream_k(self) -> StreamK:
        """The shares of the tiles."""
        return StreamK(max(self.stream_k_ctas, 1), self.places, self.steps)

    @cached_property
    def parts_of_tiles(self) -> list[tuple[int, int, int]]:
        """What CTAs have of the shared tiles: the tile's number, the first step and the steps, in the order of both."""
        return self.stream_k.parts if self.stream_k_ctas else []

    @property
    def longest_sum(self) -> int:
        """The steps along K of the longest part of a tile that a CTA has, in terms."""
        if self.stream_k_ctas == 0 or self.places >= 2 * self.stream_k_ctas:
            return self.problem.k
        longest = self.stream_k_tiles * self.steps // self.stream_k_ctas + 1
        return min(longest * self.tiler_mnk[2], self.problem.k)

    @property
    def scratch(self) -> tuple[int, int]:
        """As GemmPlan.scratch: a flag of each share, and the sums of one tile."""
        sums = accumulators(self) * self.threads * int(self.problem.acc_type.bits) // 8
        return 4 * self.stream_k_ctas, sums * self.stream_k_ctas

    @property
    def shared_bytes(self) -> int:
        """The shared memory of a CTA: the stages of A, those of B, and totals; in their place, then, the sums."""
        total = 0
        for name in "ab":
            _, smem, _, tile, _, dtype = self.side(name)
            step = require_linear(f"smem_{name}", smem, tile, self.stages)[2]
            total += -(-step * self.stages * int(dtype.bits) // 8 // ACCESS) * ACCESS
        total += self.totals * self.threads * int(self.problem.acc_type.bits) // 8
        sums = 0 if self.smem_c is None else int(_core.cosize(self.smem_c)) * int(self.problem.acc_type.bits) // 8
        return max(total, sums)

    def _store_type(self) -> str:
        if self.smem_c is None:
            return f"SimtDirectStore<{self.out_mode}, {self.out_vector}>"
        tv, threads = self.store_layout, int(self.tiled_mma.size) // self.sliced_k
        most = ACCESS * 8 // int(self.problem.acc_type.bits)
        writers, values = (int(_core.size(tv, mode=[i])) for i in (0, 1))
        numbers = f"{self.out_mode}, {self.out_vector}, {writers}, {values}, {self.sliced_k}, {threads}"
        width = neighbours(self.columns, most)
        return f"SimtSharedStore<{device_type(self.smem_c)}, {device_type(tv)}, {numbers}, {width}>"

    def _name_expression(self) -> str:
        p = self.problem
        (m, n, k), values = self.tiler_mnk, [int(_core.size(x, mode=[1])) for x in (self.rows, self.columns)]
        operands = ", ".join(map(self._operand_type, "ab"))
        tile = f"{m}, {n}, {k}, {self.stages}, {self.threads}, {self.ctas_per_sm}"
        last = self._last_argument
        if p.k >= WIDE_K or self.stream_k_ctas:
            last = f", {self.promote}, {'int64' if p.k >= WIDE_K else 'int'}"
        last += ", true" if self.stream_k_ctas else ""
        widths = f"{self.fragment_vector('a')}, {self.fragment_vector('b')}"
        return (
            f"gemm_simt<GemmSimt<{operands}, {numeric_type(p.acc_type)}, {tile}, {int(self.tiled_mma.size)}, "
            f"{self.sliced_k}, {device_type(self.rows)}, {device_type(self.columns)}, {values[0]}, "
            f"{values[1]}, {widths}, {self._store_type()}, {epilogue_type(p)}{last}>>"
        )

    def unit(self, name: str) -> int:
        """The mode in which the operand is contiguous, that of its accesses if there are two; -1: none."""
        strides = self.side(name)[4]
        mode = self.copy_layout(name)[2]
        return next((i for i in (mode, 1 - mode) if strides[i] == 1), -1)

    def _operand_type(self, name: str) -> str:
        tiled_copy, smem, wide, _, _, dtype = self.side(name)
        tv, vector, mode = self.copy_layout(name)
        threads, values = (int(_core.size(tv, mode=[i])) for i in (0, 1))
        is_padded = self.padded_a if name == "a" else self.padded_b
        flags = ", ".join(str(x).lower() for x in (wide, by_cp_async(tiled_copy), is_padded))
        numbers = f"{threads}, {values}, {vector}, {mode}, {self.unit(name)}"
        return f"SimtOperand<{numeric_type(dtype)}, {device_type(tv)}, {device_type(smem)}, {numbers}, {flags}>"

    def params(self, a: int = 0, b: int = 0, c: int = 0, bias: int = 0) -> bytes:
        """The kernel's parameter: three tensors, the extents, the order of the tiles, the epilogue's own."""
        p = self.problem
        run, runs, n = self._raster()
        batch = (*p.batch, 1, 1, 1)[:2]
        words = [w for d in (run, runs, n, max(run * runs * n, 1), *batch) for w in fast_divisor(max(d, 1))]
        tensors = [
            x
            for address, strides in ((a, p.a_strides), (b, p.b_strides), (c, p.c_strides))
            for x in (address, *strides[:2], *(*strides[2:], 0, 0, 0)[:3])
        ]
        packed = struct.pack("<" + 3 * "Q5q" + "3q18I", *tensors, p.m, p.n, p.k, *words) + pack_epilogue(p, bias)
        if self.stream_k_ctas == 0:
            return packed
        return packed.ljust(self._stream_k_at, b"\0") + bytes(16) + self.stream_k.packed() + bytes(4)

    @property
    def _stream_k_at(self) -> int:
        return EPILOGUE_AT + -(-len(pack_epilogue(self.problem, 0)) // 8) * 8

    def pointers(self) -> list[tuple[int, int, int]]:
        """Where params has addresses: those of A, B and C, and the bias's if there is one."""
        found = [(0, A_AT, 0), (1, B_AT, 0), (2, C_AT, 0)]
        if self.problem.epilogue.bias is not None:
            found.append((3, EPILOGUE_AT + bias_offset(self.problem), 0))
        if self.stream_k_ctas:
            found += [(5, self._stream_k_at, 0), (4, self._stream_k_at + 8, 0)]
        return found

    def require(self, a_address: int, b_address: int, c_address: int, function: str) -> None:
        """Check what the kernel relies on, for tensors at these addresses; ValueError where it does not hold."""
        from tilewright.kernels.gemm.simt.conditions import require_aligned

        require_aligned(self, (a_address, b_address, c_address), function)

    # ---- looking at it ----

    def __str__(self) -> str:
        p, (m, n) = self.problem, self.tiles
        rows, columns = (int(_core.size(x, mode=[1])) for x in (self.rows, self.columns))
        many = f", batch {text(p.batch)}" if p.batch else ""
        lines = [
            f"simt GEMM {p}" + (" (A and B exchanged)" if self.swapped else ""),
            f"  tile       {text(self.tiler_mnk)}, ({m},{n}) tiles in runs of {self._raster()[0]}{many}, {self.stages} "
            f"stages, {self.shared_bytes} bytes",
            f"  threads    {self.threads}, each {rows} by {columns}, compiled for {self.ctas_per_sm} or more CTAs on a "
            "multiprocessor",
            f"  multiply   {self.tiled_mma.op}, atoms {self.tiled_mma.atom_layout_mnk}",
            f"             rows {self.rows}",
            f"             columns {self.columns}",
        ]
        lines += [x + (", in shared memory" if self.totals else "") for x in self._promotion_text]
        if self.stream_k_ctas:
            lines.append(f"  stream-K   {self.stream_k_ctas} CTAs share {self.stream_k_tiles} tiles along K")
        lines += [self._operand_text(name) for name in "ab"]
        along = f" along {'MN'[self.out_mode]}" if self.out_vector > 1 else ""
        lines.append(f"  store C    {int(p.c_type.bits) * self.out_vector} bits{along}")
        if self.smem_c is not None:
            lines.append(f"             of {self.sliced_k} sums each from {self.smem_c}: {self.store_layout}")
        return "\n".join(lines)

    def _operand_text(self, name: str) -> str:
        tiled_copy, smem, wide, _, _, dtype = self.side(name)
        tv, vector, mode = self.copy_layout(name)
        how = "cp.async" if by_cp_async(tiled_copy) else "registers"
        along = f" along {('M' if name == 'a' else 'N', 'K')[mode]}" if vector > 1 else ""
        access = f"{int(dtype.bits) * vector} bits{along}" if wide else f"{int(dtype.bits)} bits, element by element"
        shared = f"{int(dtype.bits) * self.fragment_vector(name)} bits at once from {smem}"
        return f"  load {name.upper()}     {access} through {how}: {tv}\n             {shared}"


def by_cp_async(tiled_copy: Any) -> bool:
    """Whether a tiled copy goes past the registers; LayoutError for atoms that gemm_simt does not take."""
    instruction = str(tiled_copy.op.instruction)
    if int(_core.size(tiled_copy.thr_id)) > 1 or instruction.startswith("cp.async.bulk"):
        raise LayoutError(
            f"GemmSimt: a tiled copy has the atom {instruction}, which gemm_simt does not have; use an atom of "
            "CopyG2SOp or of CopyUniversalOp"
        )
    return instruction.startswith("cp.async")

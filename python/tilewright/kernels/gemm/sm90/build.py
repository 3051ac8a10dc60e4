"""Plans of the Hopper kernel: TMA into swizzled shared memory, wgmma out of it. Twin of kernels/gemm_sm90.cuh.

The numbers that the kernel needs of a layout in shared memory (boxes, distances, the fields of descriptors) are found
here, and a layout that TMA does not write is refused.
"""

from __future__ import annotations

import functools
import math
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from tilewright import _core
from tilewright._core import LayoutError
from tilewright.cute.int_tuple import text
from tilewright.kernels.common.device_types import numeric_type
from tilewright.kernels.common.plan_value import Kind, Positive, counts, unchanging
from tilewright.kernels.gemm.epilogue import bias_offset, compute_type, epilogue_type, pack_epilogue
from tilewright.kernels.gemm.plan import GemmPlan, SharedOperandLayout

if TYPE_CHECKING:
    from tilewright.kernels.gemm.problem import GemmProblem
    from tilewright.numeric import Numeric

SPAN = 128  # bytes of a row of a box: the swizzle's span
ATOM_ROWS = 64  # of wgmma
SHORT = 48 << 20  # bytes that a kernel moves in some 12 us
MAX_CLUSTER = 8  # CTAs of a cluster on every device
STORES = ("singles", "pairs", "boxes", "columns", "lines")  # as in kernels/tilewright/sm90_store.cuh
BY_BOXES = ("boxes", "columns")  # by TMA, out of shared memory
N_EXTENTS = (8, 16, 24, 32, 40, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256)  # those in kernels/tilewright/wgmma.cuh


class SharedOperand(NamedTuple):
    """A layout (rows, bK, stages) of A or B in shared memory, as TMA and wgmma see it. Bytes.

    A stage consists of `boxes`, one behind the other, which TMA writes; for wgmma 64 rows are `block_bytes` from the
    next 64, K elements of an instruction `step_bytes` from the next, and descriptors have `leading` and `stride`.
    """

    k_major: bool
    rows: int
    box: tuple[int, int]  # extents in elements: contiguous mode, other mode
    boxes: int
    box_bytes: int
    block_bytes: int
    step_bytes: int
    leading: int
    stride: int

    @property
    def stage_bytes(self) -> int:
        return self.boxes * self.box_bytes

    def last_box(self, rows: int) -> tuple[int, int]:
        """The box of the last tile of a tensor with so many rows: in eights of those inside.

        >>> from tilewright import BFloat16
        >>> shared_operand(smem_layout(BFloat16, 128, 64, 4, True), BFloat16, 128, 64, True, 2).last_box(257)
        (64, 8)
        """
        return self.box[0], 8 * -(-self._last(rows) // (8 * self.boxes)) if self.k_major else self.box[1]

    def _last(self, rows: int) -> int:
        """The rows of the last tile that are inside."""
        return (rows - 1) % self.rows + 1

    def is_ragged(self, rows: int, beside: int) -> bool:
        """Whether tiles reach so far over the end that boxes are smaller or fewer there.

        `beside`: tiles of a cluster, of which some may have nothing inside.
        """
        step = 8 * self.boxes if self.k_major else self.rows // self.boxes
        return -(-self._last(rows) // step) * step < self.rows or -(-rows // self.rows) % beside != 0

    def brought(self, rows: int, tiles: int, ragged: bool) -> list[tuple[int, int]]:
        """How many boxes of how many bytes are brought of all of `tiles` for one step along K."""
        if not ragged:
            return [(tiles * self.boxes, self.box_bytes)]
        whole = -(-rows // self.rows) - 1
        last = self.boxes if self.k_major else -(-self._last(rows) // (self.rows // self.boxes))
        return [(whole * self.boxes, self.box_bytes), (last, self.last_box(rows)[1] * SPAN)]

    def device_type(self, dtype: type[Numeric], ragged: bool) -> str:
        """The type that kernels/tilewright/sm90_operand.cuh has for it."""
        numbers = (self.rows, self.boxes, self.box_bytes, self.block_bytes, self.step_bytes, self.leading, self.stride)
        flags = f"1, {str(ragged).lower()}" if ragged else "1"
        return (
            f"Sm90Operand<{numeric_type(dtype)}, {str(self.k_major).lower()}, {', '.join(map(str, numbers))}, {flags}>"
        )


@functools.lru_cache(maxsize=1024)
def smem_layout(dtype: type[Numeric], rows: int, bK: int, stages: int, k_major: bool) -> Any:
    """(rows, bK, stages): rows of 128 bytes, swizzled, along K or along M or N.

    >>> from tilewright import Float16
    >>> smem_layout(Float16, 128, 64, 4, True)
    S<3,3,3> o 0 o ((8,16),(64,1),(1,4)):((64,512),(1,0),(0,8192))
    """
    from tilewright.cute.atoms.smem_layout import SmemLayoutAtomKind, make_smem_layout_atom

    kind = SmemLayoutAtomKind.K_SW128 if k_major else SmemLayoutAtomKind.MN_SW128
    # MN-major: a box has all of K, so K goes before the rows.
    return _core.tile_to_shape(
        make_smem_layout_atom(kind, dtype), (rows, bK, stages), (0, 1, 2) if k_major else (1, 0, 2)
    )


@functools.lru_cache(maxsize=1024)
def shared_operand(layout: Any, dtype: type[Numeric], rows: int, bK: int, k_major: bool, sharers: int) -> SharedOperand:
    """What a layout in shared memory is for TMA and wgmma, where `sharers` CTAs bring a tile together.

    LayoutError where it is not what TMA writes; the first element that lies elsewhere is named.
    """
    import numpy as np

    from tilewright.cute.atoms.wgmma_layout import tma_offsets

    extents = tuple(int(_core.size(layout, mode=[mode])) for mode in range(_core.rank(layout.shape)))
    if len(extents) != 3 or extents[:2] != (rows, bK):
        raise LayoutError(
            f"gemm_sm90: {layout} in shared memory has the extents {text(extents)}, but a tile and the stages are "
            f"({rows},{bK},stages); use make_smem_layout_atom and tile_to_shape"
        )
    size = dtype.bits // 8
    inner = SPAN // size
    boxes = sharers if k_major else rows // inner
    if k_major:
        box = (inner, rows // sharers)
        block, step, leading, stride = ATOM_ROWS * SPAN, 32, 16, 8 * SPAN
    else:
        box = (inner, bK)
        leading = bK * SPAN
        block = ATOM_ROWS // inner * leading
        step, stride = 16 * SPAN, 8 * SPAN
    operand = SharedOperand(k_major, rows, box, boxes, box[1] * SPAN, block, step, leading, stride)
    written = tma_offsets(inner, boxes * box[1], size, SPAN)
    offsets = written if k_major else written.reshape(boxes, bK, inner).transpose(0, 2, 1).reshape(rows, bK)
    found = np.asarray(layout.offsets())
    stages = len(found) // (rows * bK)
    found = found.reshape(rows, bK, stages, order="F")
    expected = offsets[:, :, None] + rows * bK * np.arange(stages)
    if (found != expected).any():
        row, k, stage = (int(i) for i in np.argwhere(found != expected)[0])
        error = LayoutError(
            f"gemm_sm90: in shared memory as {layout} element ({row},{k}) of stage {stage} lies at "
            f"{found[row, k, stage]}, but TMA puts it at {expected[row, k, stage]}; use make_smem_layout_atom with "
            f"{'K_SW128' if k_major else 'MN_SW128'} and tile_to_shape"
        )
        error.counterexample = (row, k, stage)
        raise error
    return operand


def majors_of(op: Any) -> tuple[bool, bool]:
    """Whether A and B lie along K in shared memory, for an operation of wgmma; A for registers does not."""
    from tilewright.cute.atoms.mma_warpgroup import OperandMajorMode, OperandSource

    in_shared = op.a_src is OperandSource.SMEM
    return in_shared and op.a_major_mode is OperandMajorMode.K, op.b_major_mode is OperandMajorMode.K


def beside_stages(problem: GemmProblem, bN: int, consumers: int, buffers: int, store: str) -> int:
    """The bytes of shared memory, but for stages and their barriers, of a kernel: what its struct Shared has of them.

    Boxes of C, and barriers; the bias along N of each consumer's tile; two barriers of a split.
    """
    e = problem.epilogue
    boxes = consumers * (2 if store == "lines" else buffers * (store in BY_BOXES)) * ATOM_ROWS * SPAN or 16
    bias = bN * compute_type(problem).bits // 8 if e.bias == "n" else 16
    return -(-(boxes + consumers * buffers * 8) // 16) * 16 + consumers * bias + 16


Cluster = Annotated[tuple[int, int], counts(2, "two positive integers, the CTAs along M and N")]
Store = Annotated[str, Kind(f"one of {', '.join(STORES)}", lambda value: isinstance(value, str) and value in STORES)]


@unchanging
@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class GemmSm90(GemmPlan):
    """How a GEMM is done on Hopper. Beside the fields that all plans have:

    - `smem_a`, `smem_b`: the layouts (bM, bK, stages) and (bN, bK, stages) in shared memory, swizzled
    - `cluster_mn`: CTAs along M that share B, and along N that share A
    - `split_k`: CTAs of a cluster that share a tile along K
    - `ping_pong`: whether two consumers have tiles of their own instead of sharing one
    - `store`: "boxes" (through shared memory and TMA), "columns" (the same of C contiguous along M), "lines" (through
      shared memory by the warps, for rows that TMA does not write), "pairs" or "singles" from registers
    - `store_buffers`: boxes of a consumer that are in shared memory at a time; of lines always two
    - `workers`: CTAs that stay and take tile after tile
    - `group`: tiles along M that are taken together before the next ones along N
    """

    smem_a: SharedOperandLayout
    smem_b: SharedOperandLayout
    cluster_mn: Cluster = (1, 1)
    split_k: Positive = 1
    ping_pong: bool = False
    store: Store = "singles"
    store_buffers: Positive = 2
    workers: Positive = 132
    group: Positive = 8

    def require_layouts(self) -> None:
        from tilewright.kernels.gemm.sm90.conditions import require_fields

        require_fields(self)

    # ---- what follows from the fields ----

    @property
    def programmatic(self) -> bool:
        """Whether the launch overlaps the end of the one before it: of short kernels that is much of the time."""
        return self.problem.moved_bytes < SHORT

    @property
    def tile_run(self) -> int:
        """As GemmPlan.tile_run."""
        return max(self.group // self.cluster_mn[0], 1)

    @property
    def consumers(self) -> int:
        """Warpgroups that multiply."""
        return 2 if self.ping_pong else int(self.tiled_mma.size) // 128

    @property
    def threads(self) -> int:
        # The producer is a warp, or a warpgroup where it leaves registers to the consumers.
        blocks = self.tiler_mnk[0] // ATOM_ROWS // (1 if self.ping_pong else self.consumers)
        leaves = self.consumers > 1 and blocks * self.tiler_mnk[1] > 128
        return 128 * self.consumers + (128 if leaves else 32)

    @property
    def cluster(self) -> int:
        """CTAs of a cluster."""
        return self.cluster_mn[0] * self.cluster_mn[1] * self.split_k

    def operands(self) -> tuple[SharedOperand, SharedOperand]:
        """A and B in shared memory."""
        p, (bM, bN, bK) = self.problem, self.tiler_mnk
        op = self.tiled_mma.op
        return (
            shared_operand(self.smem_a, p.a_type, bM, bK, majors_of(op)[0], self.cluster_mn[1]),
            shared_operand(self.smem_b, p.b_type, bN, bK, majors_of(op)[1], self.cluster_mn[0]),
        )

    @property
    def ragged(self) -> tuple[bool, bool]:
        """Whether tiles of A and of B reach so far over the end that boxes are smaller or fewer there."""
        p, (a, b) = self.problem, self.operands()
        return a.is_ragged(p.m, self.cluster_mn[0]), b.is_ragged(p.n, self.cluster_mn[1])

    @property
    def from_registers(self) -> bool:
        """Whether the tensor cores get A from registers: elements of 32 bits along M, which they do not read."""
        from tilewright.cute.atoms.mma_warpgroup import OperandSource

        op: Any = self.tiled_mma.op
        return bool(op.a_src is OperandSource.RMEM)

    @property
    def box_columns(self) -> int:
        """Columns of C in a box that is stored."""
        return SPAN // (self.problem.c_type.bits // 8)

    @property
    def shared_bytes(self) -> int:
        stages = self.stages * sum(x.stage_bytes for x in self.operands())
        beside = beside_stages(self.problem, self.tiler_mnk[1], self.consumers, self.store_buffers, self.store)
        return -(-(stages + 16 * self.stages + beside) // 1024) * 1024

    def tiles(self) -> tuple[int, int]:
        """The tiles of C of a cluster, along M and N."""
        p, (bM, bN, _) = self.problem, self.tiler_mnk
        return -(-p.m // (bM * self.cluster_mn[0])), -(-p.n // (bN * self.cluster_mn[1]))

    def grid(self) -> tuple[int, int, int]:
        count = math.prod(self.tiles()) * self.problem.batches
        if self.split_k > 1:  # such a cluster has one tile
            return count * self.cluster, 1, 1
        return min(count, max(self.workers // self.cluster, 1)) * self.cluster, 1, 1

    def _name_expression(self) -> str:
        p, ragged = self.problem, self.ragged
        a, b = self.operands()
        flags = (
            self.stages, self.consumers, str(self.ping_pong).lower(), *self.cluster_mn, self.split_k, len(p.batch),
            STORES.index(self.store), self.store_buffers,
        )  # fmt: skip
        return (
            f"gemm_sm90<GemmSm90<{a.device_type(p.a_type, ragged[0])}, "
            f"{b.device_type(p.b_type, ragged[1])}, {numeric_type(p.acc_type)}, "
            f"{epilogue_type(p)}, Tile<{', '.join(map(str, self.tiler_mnk))}>, {', '.join(map(str, flags))}"
            f"{self._last_argument}>>"
        )

    # ---- the kernel's parameter ----

    def params(self, a: int = 0, b: int = 0, c: int = 0, bias: int = 0) -> bytes:
        from tilewright.kernels.gemm.sm90.tensor_maps import output_map, tensor_map

        p, maps = self.problem, b""
        sides = (p.a_type, a, p.m, p.a_strides), (p.b_type, b, p.n, p.b_strides)
        for (dtype, at, rows, strides), shared, ragged in zip(sides, self.operands(), self.ragged, strict=True):
            last = shared.last_box(rows)
            for box in (shared.box, last) if ragged else (shared.box,):
                maps += tensor_map(dtype, at, rows, p.k, p.batch, strides, shared.k_major, box)
            maps += struct.pack("<i60x", last[1]) if ragged else b""
        map_c = output_map(p, c, self.store) if self.store in BY_BOXES else bytes(128)
        store = map_c + struct.pack(f"<Q{len(p.c_strides)}q", c, *p.c_strides)
        store += pack_epilogue(p, bias) + struct.pack("<2i", p.m, p.n)
        store += bytes(-len(store) % 64)
        tiles_m, tiles_n = self.tiles()
        count = len(p.batch)
        has = [[int(stride != 0) for stride in strides[2:]] for strides in (p.a_strides, p.b_strides)]
        words = [
            -(-p.k // self.tiler_mnk[2]), tiles_m, tiles_n, tiles_m * tiles_n * p.batches,
            min(self.tile_run, tiles_m), *p.batch, 0, *has[0], 0, *has[1], 0,
        ]  # fmt: skip
        params = maps + store + struct.pack(f"<{5 + 3 * (count + 1)}I", *words)
        return params + bytes(-len(params) % 64)

    @property
    def _maps_of_operands(self) -> tuple[list[tuple[int, int, int]], int]:
        """Whose map begins at which byte of the parameter, and where the last one ends."""
        found, end = [], 0
        for i, ragged in enumerate(self.ragged):
            found += [(i, end, 0), (i, end + 128, 0)] if ragged else [(i, end, 0)]
            end += 2 * 128 + 64 if ragged else 128
        return found, end

    def pointers(self) -> list[tuple[int, int, int]]:
        p, out = self.problem, self._maps_of_operands[1] + 128
        found = [(2, out, 0)]
        if p.epilogue.bias is not None:
            found.append((3, out + 8 + 8 * len(p.c_strides) + bias_offset(p), 0))
        return found

    def tensor_maps(self) -> list[tuple[int, int, int]]:
        maps, end = self._maps_of_operands
        return [*maps, (2, end, 0)] if self.store in BY_BOXES else maps

    def require(self, a_address: int, b_address: int, c_address: int, function: str) -> None:
        from tilewright.kernels.gemm.sm90.conditions import require

        require(self, a_address, b_address, c_address, function)

    def __str__(self) -> str:
        p = self.problem
        way = "ping-pong" if self.ping_pong else "cooperative"
        cluster = f", clusters of {text(self.cluster_mn)}" if math.prod(self.cluster_mn) > 1 else ""
        split = f", K split among {self.split_k} CTAs" if self.split_k > 1 else ""
        op = self.tiled_mma.op
        return "\n".join(
            [
                f"sm90 gemm of {p}{', swapped' if self.swapped else ''}",
                f"  tile       {text(self.tiler_mnk)}, {text(self.tiles())} tiles{cluster}{split}, {self.ctas} CTAs of "
                f"{self.threads} threads",
                f"  multiply   {op.instruction}, {self.consumers} consumers, {way}: {self.tiled_mma.thr_layout_vmnk}",
                *self._promotion_text,
                f"  load       TMA, {self.stages} stages, {self.shared_bytes} bytes of shared memory",
                f"  A          {self.smem_a}",
                f"  B          {self.smem_b}",
                f"  store      {self.store}",
            ]
        )


def choose(problem: GemmProblem, alignments: tuple[int, int, int], facts: Any = None) -> GemmSm90 | None:
    """The plan for a problem with tensors of these alignments in bytes; None where TMA or wgmma does not take it."""
    from tilewright.kernels.gemm.sm90.choose import choose as chosen

    return chosen(problem, alignments, facts)


def variants(problem: GemmProblem, alignments: tuple[int, int, int], facts: Any = None) -> list[GemmSm90]:
    """Plans to be measured for a problem, the one that is expected to be the fastest first."""
    from tilewright.kernels.gemm.sm90.choose import variants as found

    return found(problem, alignments, facts)


def given(
    problem: GemmProblem,
    tiled_mma: Any,
    tiled_copy_a: Any = None,
    tiled_copy_b: Any = None,
    tiler_mnk: tuple[int, int, int] | None = None,
    stages: int | None = None,
    alignments: tuple[int, int, int] = (128, 128, 128),
) -> GemmSm90 | None:
    """The plan with the TiledMma, tile and stages that a user chose; TMA copies, so there is no TiledCopy to choose."""
    from tilewright.kernels.gemm.sm90.choose import given as made

    return made(problem, tiled_mma, tiled_copy_a, tiled_copy_b, tiler_mnk, stages, alignments)

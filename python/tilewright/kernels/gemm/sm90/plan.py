"""Plans of the Hopper kernel: TMA into swizzled shared memory, wgmma out of it. Twin of kernels/gemm_sm90.cuh."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from tilewright.cute.int_tuple import text
from tilewright.kernels.common.device_types import numeric_type
from tilewright.kernels.common.plan_value import Kind, Natural, Positive, counts, unchanging
from tilewright.kernels.gemm.epilogue import bias_offset, compute_type, epilogue_type, pack_epilogue
from tilewright.kernels.gemm.plan import GemmPlan, SharedOperandLayout
from tilewright.kernels.gemm.sm90.shared_operand import (
    ATOM_ROWS,
    SPAN,
    SharedOperand,
    majors_of,
    shared_operand,
    smem_layout,
)
from tilewright.kernels.gemm.sm90.stores import BY_BOXES, STORES, box_columns
from tilewright.kernels.gemm.stream_k import StreamK, has_long_rows

if TYPE_CHECKING:
    from tilewright.kernels.gemm.problem import GemmProblem

WORDS = 6  # of the kernel's parameter, before those of the batch modes
MAX_CLUSTER = 8  # CTAs of a cluster on every device
# Those in kernels/tilewright/wgmma.cuh.
N_EXTENTS = tuple(range(8, 257, 8))


def beside_stages(problem: GemmProblem, bN: Any, consumers: Any, buffers: Any, boxes: Any) -> Any:
    """The bytes of shared memory, but for stages and their barriers, of a kernel: what its struct Shared has of them.

    `boxes`: bytes of boxes of C that each consumer has. Beside them: barriers; the bias along N of each consumer's
    tile; two barriers of a split.
    """
    images = consumers * boxes + 16 * (boxes == 0)
    bias = bN * compute_type(problem).bits // 8 if problem.epilogue.bias == "n" else 16
    return -(-(images + consumers * buffers * 8) // 16) * 16 + consumers * bias + 16


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
    - `stream_k_ctas`: CTAs that stay and whose clusters share tiles along K, where whole rounds leave some (stream-K);
      0: none do
    - `held_b`: steps along K of B that stay in shared memory for all tiles of a CTA, where C is one tile wide; then
      `smem_b` has so many instead of the stages. 0: B comes with every stage
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
    stream_k_ctas: Natural = 0
    held_b: Natural = 0

    def require_layouts(self) -> None:
        from tilewright.kernels.gemm.sm90.conditions import require_fields

        require_fields(self)

    # ---- what follows from the fields ----

    @property
    def tile_run(self) -> int:
        """As GemmPlan.tile_run."""
        return max(self.group // self.cluster_mn[0], 1)

    @property
    def part_of_k(self) -> int:
        """As GemmPlan.part_of_k: behind the end of K TMA brings zeros."""
        return self.tiler_mnk[2] if self.split_k == 1 and self.stream_k_ctas == 0 else 0

    @property
    def consumers(self) -> int:
        """Warpgroups that multiply."""
        return 2 if self.ping_pong else int(self.tiled_mma.size) // 128

    @property
    def sharing(self) -> int:
        """Consumers that share a tile."""
        return 1 if self.ping_pong else self.consumers

    @property
    def threads(self) -> int:
        # The producer is a warp, or a warpgroup where it leaves registers to the consumers.
        blocks = self.tiler_mnk[0] // ATOM_ROWS // self.sharing
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
        bM, bN, _ = self.tiler_mnk
        return box_columns(self.problem.c_type.bits, bM, bN, self.split_k, self.sharing, self.store)

    @property
    def shared_bytes(self) -> int:
        a, b = (x.stage_bytes for x in self.operands())
        stages = self.stages * a + (self.held_b or self.stages) * b + 8 * (self.held_b > 0)
        box = SPAN * (self.box_columns * self.problem.c_type.bits // 16 if self.store == "columns" else ATOM_ROWS)
        boxes = box * (2 if self.store == "lines" else self.store_buffers if self.store in BY_BOXES else 0)
        beside: int = beside_stages(self.problem, self.tiler_mnk[1], self.consumers, self.store_buffers, boxes)
        return -(-(stages + 16 * self.stages + beside) // 1024) * 1024

    def tiles(self) -> tuple[int, int]:
        """The tiles of C of a cluster, along M and N."""
        p, (bM, bN, _) = self.problem, self.tiler_mnk
        return -(-p.m // (bM * self.cluster_mn[0])), -(-p.n // (bN * self.cluster_mn[1]))

    @property
    def stream_k(self) -> StreamK:
        """The shares that clusters have of the tiles."""
        return self._shares(self.stream_k_ctas)

    def _shares(self, ctas: int) -> StreamK:
        p, bK = self.problem, self.tiler_mnk[2]
        count = math.prod(self.tiles()) * p.batches
        return StreamK(max(ctas // self.cluster, 1), count, -(-p.k // bK), has_long_rows(p.k, p.a_type.bits))

    def for_problem(self, problem: GemmProblem) -> GemmSm90:
        """The plan for other sizes; tiles are shared, and B stays in shared memory, where the kernel can do that."""
        if self.stream_k_ctas == 0:
            return self._without_held(problem) if self.held_b else self.replace(problem=problem)
        whole = self.replace(problem=problem, stream_k_ctas=0)
        is_counted = whole._shares(self.stream_k_ctas).is_counted
        return whole.replace(stream_k_ctas=self.stream_k_ctas) if is_counted else whole

    def _without_held(self, problem: GemmProblem) -> GemmSm90:
        """The plan for other sizes, with B in the stages where it cannot stay; then there is room for fewer of them."""
        if self.not_held(problem) is None:
            return self.replace(problem=problem)
        (bM, bN, bK), p, majors = self.tiler_mnk, problem, majors_of(self.tiled_mma.op)
        a, b = (x.stage_bytes for x in self.operands())
        stages = min(max((self.stages * a + self.held_b * b) // (a + b), 2), self.stages)
        return self.replace(
            problem=p, held_b=0, stages=stages, smem_a=smem_layout(p.a_type, bM, bK, stages, majors[0]),
            smem_b=smem_layout(p.b_type, bN, bK, stages, majors[1]),
        )  # fmt: skip

    def not_held(self, problem: GemmProblem) -> str | None:
        """Why CTAs cannot hold the B of a problem for all of their tiles; None if they can."""
        p, steps = problem, -(-problem.k // self.tiler_mnk[2])
        if steps > self.held_b:
            return f"held_b is {self.held_b}, but B has {steps} steps along K; use held_b=0, or as many"
        if self.cluster > 1 or self.stream_k_ctas or p.batch or p.n > self.tiler_mnk[1]:
            return (
                f"held_b is {self.held_b}, but B stays only for CTAs that go alone, with whole tiles of one matrix "
                f"that is one tile wide; these are clusters of {self.cluster}, {self.stream_k_ctas} CTAs that share "
                f"tiles, batches {text(p.batch)} and {p.n} columns; use held_b=0"
            )
        return None

    @property
    def stream_k_tiles(self) -> int:
        """The tiles that CTAs share along K, those of a cluster that lie outside of C included."""
        return self.stream_k.shared * self.cluster if self.stream_k_ctas else 0

    @property
    def scratch(self) -> tuple[int, int]:
        """As GemmPlan.scratch: of each CTA that shares tiles a flag for each consumer, and the sums of a tile."""
        sums = math.prod(self.tiler_mnk[:2]) * int(self.problem.acc_type.bits) // 8
        return 4 * self.consumers * self.stream_k_ctas, sums * self.stream_k_ctas

    def grid(self) -> tuple[int, int, int]:
        count = math.prod(self.tiles()) * self.problem.batches
        if self.split_k > 1:  # such a cluster has one tile
            return count * self.cluster, 1, 1
        if self.stream_k_ctas:
            return self.stream_k_ctas, 1, 1
        return min(count, max(self.workers // self.cluster, 1)) * self.cluster, 1, 1

    def _name_expression(self) -> str:
        p, ragged = self.problem, self.ragged
        a, b = self.operands()
        flags = (
            self.stages, self.consumers, str(self.ping_pong).lower(), *self.cluster_mn, self.split_k, len(p.batch),
            STORES.index(self.store), self.store_buffers,
        )  # fmt: skip
        shares = "true" if self.stream_k_ctas else "false"
        last = f", {self.promote}, {shares}" if self.stream_k_ctas or self.held_b else self._last_argument
        last += f", {self.held_b}" * (self.held_b > 0)
        return (
            f"gemm_sm90<GemmSm90<{a.device_type(p.a_type, ragged[0])}, "
            f"{b.device_type(p.b_type, ragged[1])}, {numeric_type(p.acc_type)}, "
            f"{epilogue_type(p)}, Tile<{', '.join(map(str, self.tiler_mnk))}>, {', '.join(map(str, flags))}"
            f"{last}>>"
        )

    # ---- the kernel's parameter ----

    def params(self, a: int = 0, b: int = 0, c: int = 0, bias: int = 0) -> bytes:
        from tilewright.kernels.gemm.sm90.tensor_maps import output_map, tensor_map

        p, maps = self.problem, b""
        # Parts of K that end at the end of K are one matrix to TMA, over which the last batch mode is broadcast.
        a_strides, b_strides = ((*x[:-1], 0) if p.whole_k else x for x in (p.a_strides, p.b_strides))
        sides = (p.a_type, a, p.m, a_strides), (p.b_type, b, p.n, b_strides)
        for (dtype, at, rows, strides), shared, ragged in zip(sides, self.operands(), self.ragged, strict=True):
            last = shared.last_box(rows)
            for box in (shared.box, last) if ragged else (shared.box,):
                maps += tensor_map(dtype, at, rows, p.whole_k or p.k, p.batch, strides, shared.k_major, box)
            maps += struct.pack("<i60x", last[1]) if ragged else b""
        map_c = output_map(p, c, self.store, self.box_columns) if self.store in BY_BOXES else bytes(128)
        store = map_c + struct.pack(f"<Q{len(p.c_strides)}q", c, *p.c_strides)
        store += pack_epilogue(p, bias) + struct.pack("<2i", p.m, p.n)
        store += bytes(-len(store) % 64)
        tiles_m, tiles_n = self.tiles()
        count = len(p.batch)
        has = [[int(stride != 0) for stride in strides[2:]] for strides in (a_strides, b_strides)]
        words = [
            -(-p.k // self.tiler_mnk[2]), tiles_m, tiles_n, tiles_m * tiles_n * p.batches,
            min(self.tile_run, tiles_m), p.k if p.whole_k else 0, *p.batch, 0, *has[0], 0, *has[1], 0,
        ]  # fmt: skip
        params = maps + store + struct.pack(f"<{WORDS + 3 * (count + 1)}I", *words)
        params += bytes(-len(params) % 64)
        if self.stream_k_ctas == 0:
            return params
        return params.ljust(self._stream_k_at, b"\0") + bytes(16) + self.stream_k.packed() + bytes(4)

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
        if self.stream_k_ctas:
            found += [(5, self._stream_k_at, 0), (4, self._stream_k_at + 8, 0)]
        return found

    @property
    def _stream_k_at(self) -> int:
        """Where the parameter says what clusters share: behind all that it has besides."""
        p, begin = self.problem, self._maps_of_operands[1]
        store = 128 + 8 + 8 * len(p.c_strides) + len(pack_epilogue(p, 0)) + 8
        words = 4 * (WORDS + 3 * (len(p.batch) + 1))
        return begin + -(-store // 64) * 64 + -(-words // 64) * 64

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
        alone = ", of A alone" if self.held_b else ""
        op = self.tiled_mma.op
        return "\n".join(
            [
                f"sm90 gemm of {p}{', swapped' if self.swapped else ''}",
                f"  tile       {text(self.tiler_mnk)}, {text(self.tiles())} tiles{cluster}{split}, {self.ctas} CTAs of "
                f"{self.threads} threads",
                f"  multiply   {op.instruction}, {self.consumers} consumers, {way}: {self.tiled_mma.thr_layout_vmnk}",
                *self._promotion_text,
                *(
                    [f"  stream-K   {self.stream_k_ctas} CTAs share {self.stream_k_tiles} tiles along K"]
                    if self.stream_k_ctas
                    else []
                ),
                f"  load       TMA, {self.stages} stages{alone}, {self.shared_bytes} bytes of shared memory",
                f"  A          {self.smem_a}",
                f"  B          {self.smem_b}",
                f"  store      {self.store}",
            ]
        )

"""What the Hopper kernel relies on: of a plan's fields, and of the tensors' strides and addresses."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright._core import LayoutError
from tilewright.cute.int_tuple import text
from tilewright.kernels.gemm.sm90.shared_operand import ATOM_ROWS, SPAN, majors_of, shares_boxes
from tilewright.kernels.gemm.sm90.stores import BY_BOXES, box_columns, own_units

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.kernels.gemm.problem import GemmProblem
    from tilewright.kernels.gemm.sm90.plan import GemmSm90
    from tilewright.numeric import Numeric

TMA_ALIGNMENT = 16  # bytes, of addresses and strides
MAX_STRIDE = 1 << 40  # bytes
MAX_ACCUMULATORS = 320  # columns of 64 rows that a consumer adds up
MAX_CONSUMERS = 3
MAX_OF_THREE = 192  # the same where there are three, with the registers that a launch of 512 threads has
MAX_READ = 256  # the same where C of 16 bits or less is read and stored by lines
FEW_REGISTERS = 128  # the same, up to which warpgroups that share a tile take no registers from the producer,
MAX_READ_BY_FEW = 120  # and of these, where C of 32 bits is read and stored by lines in one block of 64 rows
# The same where A comes from registers:
MAX_PAIRED = (160, 256)  # of several blocks of 64 rows; of two stored with few registers, or of one consumer
MAX_PAIRED_OF_THREE = (112, 128)  # of three consumers; the same in a cluster
LIGHT = (None, "relu")  # activations that take no registers
LEAST_RUN = 64  # bytes of a row that are worth a way through shared memory
MOST = 1 << 31  # coordinates of boxes have 32 bits


def require_fields(plan: GemmSm90) -> None:
    """TypeError, ValueError or LayoutError where the fields are none that the kernel takes."""
    from tilewright.cute.atoms.mma_warpgroup import OperandSource, WarpgroupMmaOp
    from tilewright.kernels.gemm.sm90.plan import MAX_CLUSTER, N_EXTENTS

    def refuse(what: str) -> None:
        raise LayoutError(f"gemm_sm90: the tile {text(plan.tiler_mnk)}: {what}")

    tiled_mma, p = plan.tiled_mma, plan.problem
    if not isinstance(tiled_mma.op, WarpgroupMmaOp):
        raise TypeError(f"gemm_sm90: expected tiled_mma to be a TiledMma of wgmma, but got {tiled_mma!r}")
    op, (bM, bN, bK) = tiled_mma.op, plan.tiler_mnk
    types = tuple(tiled_mma.dtype_of(operand) for operand in "ABC")
    if types != (p.a_type, p.b_type, p.acc_type):
        raise TypeError(
            f"gemm_sm90: {op.instruction} multiplies {types[0]} by {types[1]} into {types[2]}, but the problem has "
            f"{p.a_type}, {p.b_type} and {p.acc_type}"
        )
    warpgroups = int(tiled_mma.size) // 128
    majors = majors_of(op)
    paired = op.a_src is OperandSource.RMEM
    if paired and p.a_type.bits != 32:
        raise ValueError(
            f"gemm_sm90: {op!r} gets A from registers, which the kernel does for elements of 32 bits along M; use SMEM"
        )
    wanted = (paired_rows(warpgroups) if paired else None, None, None)
    if tuple(tiled_mma.atom_layout_mnk.shape) != (warpgroups, 1, 1) or tuple(tiled_mma.permutation_mnk) != wanted:
        permutation = f"the permutation {wanted[0]} of M" if paired else "without a permutation"
        refuse(f"warpgroups lie along M, as (w,1,1), {permutation}, but the TiledMma is {tiled_mma!r}")
    if bN not in N_EXTENTS or op.shape_mnk[1] != bN:
        refuse(f"an instruction has {op.shape_mnk[1]} columns; bN must be the same and one of {text(N_EXTENTS)}")
    if bM % (ATOM_ROWS * warpgroups):
        refuse(f"bM must be a multiple of {ATOM_ROWS} rows of {warpgroups} warpgroups")
    if bK * p.a_type.bits != 8 * SPAN:
        refuse(f"bK of {p.a_type} must be {8 * SPAN // p.a_type.bits}, {SPAN} bytes, the span of the swizzle")
    if bM // ATOM_ROWS // warpgroups * bN > MAX_ACCUMULATORS:
        refuse(f"a warpgroup adds up at most {ATOM_ROWS} x {MAX_ACCUMULATORS} elements; use smaller tiles")
    if warpgroups == MAX_CONSUMERS and bM // ATOM_ROWS // warpgroups * bN > MAX_OF_THREE:
        refuse(f"of three warpgroups each adds up at most {ATOM_ROWS} x {MAX_OF_THREE} elements; use smaller tiles")
    why = paired and too_many_sums(p, bM, bN, warpgroups, plan.ping_pong, plan.cluster, plan.store, plan.stream_k_ctas)
    if why:
        refuse(why)
    if plan.stages < 2:
        refuse("there must be two stages or more: one is read while the next one is filled")
    if not 1 <= plan.consumers <= MAX_CONSUMERS or (plan.ping_pong and warpgroups != 1):
        refuse(f"{warpgroups} warpgroups; 1 to {MAX_CONSUMERS} share a tile, and in ping-pong each has its own")
    if plan.cluster > MAX_CLUSTER:
        refuse(
            f"cluster_mn {text(plan.cluster_mn)} and split_k {plan.split_k} make {plan.cluster} CTAs, but there are at "
            f"most {MAX_CLUSTER} CTAs in a cluster"
        )
    if plan.split_k > 1 and (math.prod(plan.cluster_mn) > 1 or plan.ping_pong):
        refuse("CTAs that share a tile along K are a cluster of their own, and cooperative")
    if plan.stream_k_ctas:
        _require_stream_k(plan, refuse)
    unheld = plan.held_b and plan.not_held(p)
    if unheld:
        refuse(unheld)
    for name, rows, k_major, sharers in (
        ("bM", bM, majors[0], plan.cluster_mn[1]),
        ("bN", bN, majors[1], plan.cluster_mn[0]),
    ):
        unit = sharers if k_major else SPAN * 8 // p.a_type.bits
        if rows % unit:
            refuse(f"{name} must be a multiple of {unit}: {sharers} CTAs bring boxes of whole rows, or parts of boxes")
        if not k_major and not shares_boxes(rows, unit, sharers):
            refuse(
                f"{sharers} CTAs share boxes of {unit} rows along {name[1]}, of which there are {rows // unit}; {name} "
                f"must be a multiple of {unit * sharers}, or {unit} steps of K one of {8 * sharers}; use other clusters"
            )
    by_boxes, bits = plan.store in BY_BOXES, p.c_type.bits
    if plan.store == "lines":
        why = _not_by_lines(p, bM, bN, plan.split_k, plan.sharing, paired)
        if why:
            refuse(f"store is lines, but {why}; store pairs or singles from registers")
    if by_boxes and (bits not in (16, 32) or bN % plan.box_columns):
        refuse(f"boxes of C have {plan.box_columns} columns of {p.c_type}; bN must be a multiple, of 16 or 32 bits")
    if by_boxes and bits != 32 if paired else plan.store == "columns" and bits != 16:
        refuse(
            f"store is {plan.store} of {p.c_type}; where A comes from registers boxes of C have elements of 32 bits, "
            "and elsewhere those along M have 16"
        )
    got, stage = received_bytes(bM, bN, plan.split_k, plan.consumers), (bM + bN) * SPAN
    if got > stage:
        refuse(
            f"of {plan.split_k} CTAs each gets {got} bytes of sums, more than a stage, {stage}; use fewer or other "
            "tiles"
        )
    if by_boxes and plan.split_k > 1 and not _finishes_boxes(bM, bN, plan.split_k, plan.consumers, plan.box_columns):
        refuse(
            f"of {plan.split_k} CTAs each finishes columns that are no boxes of {plan.box_columns}; store "
            "from registers"
        )
    plan.operands()
    sides = ("smem_a", plan.smem_a, bM, plan.stages), ("smem_b", plan.smem_b, bN, plan.held_b or plan.stages)
    for name, layout, rows, stages in sides:
        found = int(_core.size(layout)) // (rows * bK)
        if found != stages:
            refuse(f"{name} {layout} has {found} stages, but the plan {stages}; give it with as many")


def _require_stream_k(plan: GemmSm90, refuse: Callable[[str], None]) -> None:
    """Where tiles cannot be shared along K."""
    ctas = plan.stream_k_ctas
    if plan.split_k > 1 or plan.ping_pong:
        refuse(f"stream_k_ctas is {ctas}, but CTAs of a split and those in ping-pong share no tiles; use 0")
    if ctas % plan.cluster:
        refuse(
            f"stream_k_ctas is {ctas}, but whole clusters of {plan.cluster} CTAs share tiles; use a multiple of "
            f"{plan.cluster}"
        )
    if ctas > plan.workers:
        refuse(f"stream_k_ctas is {ctas}, but CTAs that share tiles stay, which {plan.workers} do; use at most as many")
    shares = plan.stream_k
    if not shares.is_counted:
        refuse(
            f"{shares.workers} clusters share {shares.shared} tiles of {shares.steps} steps, but the kernel counts "
            "their steps up to 2^31; use stream_k_ctas=0"
        )


@functools.cache
def paired_rows(warpgroups: int) -> Any:
    """Which rows the rows of wgmma are where A comes from registers: the two of a thread next to each other.

    Row w of a warp's bits, h of the upper and lower half, g of a lane's group (kernels/tilewright/sm90_rows.cuh).

    >>> print(paired_rows(2))
    ((2,2,2),2,(2,2),2):((2,16,4),1,(8,32),64)
    """
    rows: Any = _core.make_layout(((2, 2, 2), 2, (2, 2), warpgroups), stride=((2, 16, 4), 1, (8, 32), 64))
    return rows


def too_many_sums(
    problem: GemmProblem,
    bM: int,
    bN: int,
    warpgroups: int,
    ping_pong: bool,
    cluster: int,
    store: str,
    stream_k_ctas: int,
) -> str | None:
    """Why a tile leaves too few registers for A where it comes from registers; None if it does not.

    Law: within the limits the compiler spills nothing, whatever the epilogue is.
    """
    e, blocks, alone = problem.epilogue, bM // ATOM_ROWS // warpgroups, warpgroups == 1 and not ping_pong
    if store in BY_BOXES:
        is_light = e.activation in LIGHT or (store == "columns" and stream_k_ctas == 0)
    else:
        is_light = stream_k_ctas == 0 and e.beta == 0 and e.bias is None and e.activation is None
    if warpgroups == MAX_CONSUMERS:
        most = MAX_PAIRED_OF_THREE[is_light]
        most = MAX_OF_THREE if is_light and cluster == 1 else most
    elif blocks == 1:
        return None
    else:
        most = MAX_PAIRED[blocks == 2 and (is_light or alone)]
    if blocks * bN <= most:
        return None
    return (
        f"A comes from registers, beside which each of {warpgroups} warpgroups has room for {ATOM_ROWS} x {most} sums "
        f"with this epilogue, stored by {store}, but the tile has {ATOM_ROWS} x {blocks * bN}; use smaller tiles"
    )


def received_bytes(bM: int, bN: int, split_k: int, consumers: int) -> int:
    """Of a split, the sums that a CTA gets from the others."""
    return (split_k - 1) * consumers * own_units(bM, bN, split_k, consumers) * 64 * 8 * 4


def _finishes_boxes(bM: int, bN: int, split_k: int, consumers: int, columns: int) -> bool:
    """Whether what each CTA of a split finishes are whole boxes of C, of 64 rows."""
    if split_k == 1:
        return bN % columns == 0
    own = 8 * own_units(bM, bN, split_k, consumers)
    return bN % own == 0 and own % columns == 0 and bM * bN == 64 * own * consumers * split_k


def refusal(
    dtype: type[Numeric], rows: int, k: int, batch: tuple[int, ...], strides: tuple[int, ...], k_major: bool,
    alignment: int, is_a: bool = True,
) -> str | None:  # fmt: skip
    """Why TMA cannot bring a matrix (rows, k, *batch) with these strides along its major mode; None if it can."""
    size = dtype.bits // 8
    extents = (rows, k, *batch)
    major = 1 if k_major else 0
    if extents[major] != 1 and strides[major] != 1:
        return f"its stride along {'K' if k_major else 'M or N'} is {strides[major]}, but must be 1"
    if not k_major and size != 2 and not (size == 4 and is_a):
        return f"wgmma reads {dtype} along K only" + (
            ", and gets one operand from registers, which is the other one here" if size == 4 else ""
        )
    if alignment % TMA_ALIGNMENT:
        return f"it begins at a multiple of {alignment} bytes, but TMA needs {TMA_ALIGNMENT}"
    for mode, (extent, stride) in enumerate(zip(extents, strides, strict=True)):
        if mode == major or extent == 1 or (mode >= 2 and stride == 0):
            continue
        if stride <= 0 or stride * size % TMA_ALIGNMENT or stride * size >= MAX_STRIDE:
            return f"its stride {stride} takes {stride * size} bytes, but TMA needs a positive multiple of 16"
    return None


def run_columns(bM: int, bN: int, split_k: int, consumers: int) -> int:
    """The columns of a row of C that a consumer finishes at a time; 0 where it finishes parts of them."""
    if split_k == 1:
        return bN
    own, units = own_units(bM, bN, split_k, consumers), bN // 8
    return 8 * min(own, units) if own % units == 0 or units % own == 0 else 0


def _not_by_lines(problem: GemmProblem, bM: int, bN: int, split_k: int, consumers: int, paired: bool) -> str | None:
    """Why the rows of C of these tiles cannot be stored by lines; None if they can."""
    p = problem
    if p.n > 1 and p.c_strides[1] != 1:
        return f"C's stride along N is {p.c_strides[1]}, not 1"
    if p.c_type.bits > 32:
        return f"C has elements of {p.c_type}"
    if paired:
        return "A comes from registers"
    if consumers == MAX_CONSUMERS:
        return f"{consumers} warpgroups have too few registers"
    most = MAX_OF_THREE if p.c_type.bits == 32 else MAX_READ
    if consumers > 1 and bM == ATOM_ROWS * consumers and bN <= FEW_REGISTERS and p.c_type.bits == 32:
        most = MAX_READ_BY_FEW
    if p.epilogue.beta != 0 and bM * bN > ATOM_ROWS * most * consumers * split_k:
        return f"C of {p.c_type} is read, for which {text((bM, bN))} of {consumers} warpgroups leave too few registers"
    if run_columns(bM, bN, split_k, consumers) == 0:
        return "a CTA of the split finishes no whole rows of units"
    return None


def stores_of(
    problem: GemmProblem, bM: int, bN: int, split_k: int, consumers: int, alignment: int, paired: bool
) -> tuple[str, ...]:
    """All ways in which C can be stored, the best one first. `paired`: A comes from registers."""
    p, size = problem, problem.c_type.bits // 8
    modes = list(zip((p.n, p.m, *p.batch), (p.c_strides[1], p.c_strides[0], *p.c_strides[2:]), strict=True))
    along_m = p.n > 1 and p.c_strides[1] != 1
    if along_m:
        modes[0], modes[1] = modes[1], modes[0]
    (extent, step), *rest = modes
    if (along_m and not paired and size != 2) or (extent > 1 and step != 1):
        return ("singles",)
    others = [d * size for e, d in rest if e > 1]
    # TMA writes whole 16 bytes: of a row that ends elsewhere it would write what follows, too.
    whole = extent * size % TMA_ALIGNMENT == 0 and alignment % TMA_ALIGNMENT == 0
    sizes = (4,) if paired else (2, 4)
    columns = box_columns(8 * size, bM, bN, split_k, consumers, "columns" if along_m else "boxes")
    boxes = whole and size in sizes and _finishes_boxes(bM, bN, split_k, consumers, columns)
    found = []
    if boxes and all(0 < x < MAX_STRIDE and x % TMA_ALIGNMENT == 0 for x in others):
        found.append("columns" if along_m else "boxes")
    if _not_by_lines(p, bM, bN, split_k, consumers, paired) is None:
        found.append("lines")
    if not along_m and size <= 4 and all(x % (2 * size) == 0 for x in (alignment, *others)):
        found.append("pairs")
    return (*found, "singles")


def store_of(problem: GemmProblem, bM: int, bN: int, split_k: int, consumers: int, alignment: int, paired: bool) -> str:
    """The best of `stores_of`; by lines only where rows are long enough for it."""
    found = stores_of(problem, bM, bN, split_k, consumers, alignment, paired)
    short = run_columns(bM, bN, split_k, consumers) * problem.c_type.bits < 8 * LEAST_RUN
    # A split stores little at once: pairs, where rows permit them, took 3 % less than lines on an H200.
    short |= split_k > 1 and found[1:2] == ("pairs",)
    return found[1] if found[0] == "lines" and short else found[0]


def require(plan: GemmSm90, a_address: int, b_address: int, c_address: int, function: str) -> None:
    """ValueError naming the operand, where the strides or addresses are none that the plan takes."""
    p, op = plan.problem, plan.tiled_mma.op
    majors = majors_of(op)
    names = ("mB", "mA") if plan.swapped else ("mA", "mB")
    sides: Any = (
        (names[0], p.a_type, p.m, p.a_strides, majors[0], a_address),
        (names[1], p.b_type, p.n, p.b_strides, majors[1], b_address),
    )
    ends = (x + tile * beside for x, tile, beside in zip((p.m, p.n), plan.tiler_mnk, plan.cluster_mn, strict=False))
    reach = max(*ends, p.undivided.k)
    if reach >= MOST or math.prod(plan.tiles()) * p.batches >= MOST:
        raise ValueError(
            f"{function}: M, N and K are {p.m}, {p.n} and {p.k}, with {p.batches} batches, but the plan's kernel "
            "counts rows and tiles in 31 bits; choose another plan"
        )
    if p.k == 0:
        raise ValueError(f"{function}: K is 0, but the plan's kernel brings at least one tile; use gemm_simt")
    for i, (name, dtype, rows, strides, k_major, address) in enumerate(sides):
        why = refusal(dtype, rows, p.k, p.batch, strides, k_major, address & -address or 1 << 40, is_a=i == 0)
        if why:
            shown = f"{text((rows, p.k, *p.batch))}:{text(strides)}"
            raise ValueError(f"{function}: {name} {shown}: {why}; choose another plan")
    bM, bN, _ = plan.tiler_mnk
    alignment = c_address & -c_address or 1 << 40
    possible = stores_of(p, bM, bN, plan.split_k, plan.sharing, alignment, plan.from_registers)
    if plan.store not in possible:
        raise ValueError(
            f"{function}: mC {text((p.m, p.n, *p.batch))}:{text(p.c_strides)} at 0x{c_address:x} can be stored as "
            f"{possible[0]}, but the plan stores {plan.store}; plan.replace(store={possible[0]!r})"
        )

"""MMA atoms beside the figures of the PTX manual, beside NumPy, and beside ptxas."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import tilewright as tw
from mma_operations import ALL, RMEM, SMEM, UNIVERSAL, WARP, WARPGROUP, K, figure, warpgroup_operations
from tilewright import cute
from tilewright.cute.atoms.mma_ops import MmaOp
from tilewright.cute.atoms.mma_traits import MMA_TRAITS
from tilewright.cute.atoms.mma_warpgroup import WarpgroupMmaOp
from tilewright.cute.execute.mma_arithmetic import _fma
from tilewright.cute.nvgpu import MmaUniversalOp, warp, warpgroup
from tilewright.runtime.compiler import compile_program
from tilewright.runtime.errors import CompileError

L = cute.parse
MODES = {"A": (0, 2), "B": (1, 2), "C": (0, 1)}


def tile_of(op, operand):
    return tuple(op.shape_mnk[mode] for mode in MODES[operand])


def in_memory(op, operand):
    return {"A": op.traits.smem_a, "B": op.traits.smem_b, "C": False}[operand]


# ---- layouts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("operand", "ABC")
@pytest.mark.parametrize("op", ALL, ids=repr)
def test_layouts_are_those_of_the_manual(op, operand):
    """Registers as in the figures; what lies in shared memory is seen whole by every thread."""
    atom = cute.make_mma_atom(op)
    layout, (rows, columns) = getattr(atom, f"tv_layout_{operand}"), tile_of(op, operand)
    threads = cute.size(layout, mode=[0])
    offsets = layout.offsets().reshape(threads, -1, order="F")
    assert threads == cute.size(atom.thr_id)
    if in_memory(op, operand):
        assert (offsets == np.arange(rows * columns)).all()
        return
    places = figure(op, operand)
    assert (places[..., 0] + rows * places[..., 1] == offsets).all()
    assert sorted(offsets.ravel()) == list(range(rows * columns))  # each element once


def test_every_extent_of_wgmma_covers_its_tile():
    extents = {}
    for op in warpgroup_operations(range(8, 257, 8)):
        layout = cute.make_mma_atom(op).tv_layout_C
        assert cute.is_bijective(layout), op
        assert cute.size(layout) == 64 * op.shape_mnk[1], op
        extents.setdefault(op.row, set()).add(op.shape_mnk[1])
    assert extents == {name: set(row.n_extents) for name, row in MMA_TRAITS.items() if name.startswith("wgmma")}


# ---- execution -------------------------------------------------------------------------------------------------------


def numbers(rng, dtype, shape):
    """Small integers, which every type holds and every sum of products is exact with."""
    return rng.integers(0 if dtype is tw.Uint8 else -3, 4, shape)


def register_tensor(values, dtype):
    tensor = cute.make_rmem_tensor(values.shape, dtype)
    tensor.store(values.ravel("F").tolist())
    return tensor


@pytest.mark.parametrize("op", [*UNIVERSAL, *WARP, *WARPGROUP[::3]], ids=repr)
def test_atoms_multiply(op):
    """Registers filled and read by the figures of the manual, not by the layouts."""
    rng = np.random.default_rng(1)
    m, n, k = op.shape_mnk
    a, b = numbers(rng, op.a_dtype, (m, k)), numbers(rng, op.b_dtype, (n, k))
    c = numbers(rng, op.acc_dtype, (m, n))
    tiled = cute.make_tiled_mma(op)

    def registers(operand, matrix, dtype):
        if in_memory(op, operand):  # the same memory for every thread
            memory = register_tensor(matrix, dtype)
            seen = cute.make_layout((tiled.size, matrix.size, 1, 1), stride=(0, 1, 0, 0))
            return cute.make_tensor(memory.iterator, seen)
        places = figure(op, operand)
        return register_tensor(matrix[places[..., 0], places[..., 1]][..., None, None], dtype)

    total = registers("C", c, op.acc_dtype)
    cute.gemm_threads(tiled, total, registers("A", a, op.a_dtype), registers("B", b, op.b_dtype), total)
    places = figure(op, "C")
    found = np.zeros((m, n))
    found[places[..., 0], places[..., 1]] = np.asarray(total.load()).reshape(places.shape[:2], order="F")
    assert (found == a @ b.T + c).all()


TILED = [
    (MmaUniversalOp(tw.Float32), L("(4,2,1):(2,1,0)"), (L("(4,4):(4,1)"), 8, None)),
    (MmaUniversalOp(tw.Int8), L("(2,2,2):(1,2,4)"), None),
    (warp.MmaF16BF16Op(tw.Float16, tw.Float32, (16, 8, 16)), (2, 2, 1), (32, 32, 16)),
    (warp.MmaF16BF16Op(tw.BFloat16, tw.Float32, (16, 8, 8)), L("(1,2,2):(0,2,1)"), (None, L("(8,2,2):(1,16,8)"), 32)),
    (warp.MmaI8Op(tw.Uint8, tw.Int32, (16, 8, 32), tw.Int8), (2, 1, 1), None),
    (warp.MmaF64Op((8, 8, 4)), (2, 2, 1), (L("(8,2,2):(1,16,8)"), None, 8)),
    (warpgroup.MmaF16BF16Op(tw.Float16, tw.Float32, (64, 32, 16), SMEM, K, K), (2, 1, 1), None),
    (warpgroup.MmaF8Op(tw.Float8E4M3FN, tw.Float8E5M2, tw.Float32, (64, 16, 32), RMEM), (1, 2, 1), None),
]


def matrix_tensor(values, dtype, layout=None):
    tensor = cute.make_rmem_tensor(cute.make_layout(values.shape) if layout is None else layout, dtype)
    tensor.store(values.ravel("F").tolist())
    return tensor


@pytest.mark.parametrize(
    ("op", "atoms", "permutation"), TILED, ids=lambda x: str(x) if not isinstance(x, tuple) else ""
)
def test_tiles_are_multiplied(op, atoms, permutation):
    """Every element of C is the sum of its products, whatever the atoms, the permutation and the layouts of memory."""
    rng = np.random.default_rng(2)
    tiled = cute.make_tiled_mma(op, atoms, permutation)
    m, n, k = (factor * tiled.get_tile_size(mode) for mode, factor in enumerate((2, 3, 2)))
    a, b, c = numbers(rng, op.a_dtype, (m, k)), numbers(rng, op.b_dtype, (n, k)), numbers(rng, op.acc_dtype, (m, n))
    left = matrix_tensor(a, op.a_dtype, cute.make_layout((m, k), stride=(k, 1)))
    d = matrix_tensor(np.zeros_like(c), op.acc_dtype)
    cute.gemm_tiled(tiled, d, left, matrix_tensor(b, op.b_dtype), matrix_tensor(c, op.acc_dtype))
    assert (np.asarray(d.load()).reshape(m, n, order="F") == a @ b.T + c).all()
    tiled.set(warpgroup.Field.ACCUMULATE, False)
    cute.gemm_tiled(tiled, d, left, matrix_tensor(b, op.b_dtype), matrix_tensor(c, op.acc_dtype))
    assert (np.asarray(d.load()).reshape(m, n, order="F") == a @ b.T).all()


def test_a_tile_in_swizzled_shared_memory():
    op = warpgroup.MmaF16BF16Op(tw.Float16, tw.Float32, (64, 64, 16), SMEM, K, K)
    rng = np.random.default_rng(3)
    a, b = numbers(rng, tw.Float16, (128, 64)), numbers(rng, tw.Float16, (64, 64))
    atom = warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.K_SW128, tw.Float16)
    sa, sb = (matrix_tensor(x, tw.Float16, cute.tile_to_shape(atom, x.shape, (0, 1))) for x in (a, b))
    d = matrix_tensor(np.zeros((128, 64)), tw.Float32)
    cute.gemm_tiled(cute.make_tiled_mma(op), d, sa, sb, d)
    assert (np.asarray(d.load()).reshape(128, 64, order="F") == a @ b.T).all()


def test_the_gemm_of_all_threads_of_a_tile():
    """Partition, copy to fragments, gemm, copy back: what a kernel does, thread by thread."""
    op = MmaUniversalOp(tw.Float64)
    tiled = cute.make_tiled_mma(op, L("(4,2,1):(2,1,0)"), (L("(4,2):(2,1)"), None, None))
    rng = np.random.default_rng(4)
    a, b = rng.standard_normal((16, 5)), rng.standard_normal((6, 5))
    c = np.zeros((16, 6))
    ta, tb, tc = (cute.from_dlpack(x) for x in (a, b, c))
    for t in range(tiled.size):
        thread = tiled.get_slice(t)
        part = thread.partition_C(tc)
        ra = tiled.make_fragment_A(thread.partition_A(ta))
        rb, rc = tiled.make_fragment_B(thread.partition_B(tb)), tiled.make_fragment_C(part)
        cute.basic_copy(thread.partition_A(ta), ra)
        cute.basic_copy(thread.partition_B(tb), rb)
        cute.gemm(tiled, rc, ra, rb, rc)
        cute.basic_copy(rc, part)
    assert np.allclose(c, a @ b.T, rtol=1e-14)


def test_the_forms_of_gemm():
    """(V)x(V), (V,M)x(V,N), (M)x(N), (M,K)x(N,K): the same sums."""
    atom = cute.make_mma_atom(MmaUniversalOp(tw.Float32))
    rows, columns = np.array([1, 2, 3]), np.array([4, 5])

    def tensor(values, *shape):
        return matrix_tensor(np.asarray(values, float).reshape(shape, order="F"), tw.Float32)

    outer = np.outer(rows, columns).ravel("F").tolist()
    for a, b, shape in (((1, 3), (1, 2), (1, 3, 2)), ((3,), (2,), (3, 2)), ((3, 1), (2, 1), (3, 2))):
        c = tensor(np.zeros(6), *shape)
        cute.gemm(atom, c, tensor(rows, *a), tensor(columns, *b), c)
        assert list(c.load()) == outer
    d = tensor([0], 1)
    cute.gemm(atom, d, tensor([6], 1), tensor([7], 1), tensor([8], 1))
    assert d[0] == 50


# ---- rounding --------------------------------------------------------------------------------------------------------


def assert_rounded_once(a, b, c, accumulator):
    found = _fma(a, b, c, accumulator)
    exact = [Fraction(x) * Fraction(y) + Fraction(z) for x, y, z in zip(a, b, c, strict=True)]
    assert [float(x) for x in found] == [nearest(x, accumulator) for x in exact]


@pytest.mark.parametrize("accumulator", [tw.Float16, tw.Float32, tw.Float64], ids=str)
def test_fma_rounds_once(accumulator):
    """Sums that cancel, and sums of very different size."""
    rng = np.random.default_rng(5)
    a, b, c = (rng.standard_normal(1000).astype(accumulator.numpy).astype(float) for _ in range(3))
    c = np.where(rng.random(1000) < 0.5, (-a * b).astype(accumulator.numpy), c * 2.0 ** rng.integers(-10, 10, 1000))
    assert_rounded_once(a, b, c.astype(accumulator.numpy).astype(float), accumulator)


def test_fma_does_not_round_twice():
    """1 + 2^-23 + 2^-24 - 2^-60 is a tie of Float32 once it is rounded to Float64."""
    a, b, c = (np.array([x, -x]) for x in (2.0**-12 * (1 + 2.0**-18), 2.0**-12 * (1 - 2.0**-18), 1 + 2.0**-23))
    a = abs(a)
    assert ((a * b + c).astype(np.float32) == [1 + 2.0**-22, -1 - 2.0**-22]).all()
    assert _fma(a, b, c, tw.Float32).tolist() == [1 + 2.0**-23, -1 - 2.0**-23]
    assert_rounded_once(a, b, c, tw.Float32)
    d = f32(c)
    cute.gemm(cute.make_mma_atom(MmaUniversalOp(tw.Float32)), d, f32(a), f32(b), f32(c))
    assert d[0] == 1 + 2.0**-23


def f32(values):
    return matrix_tensor(values[:1], tw.Float32)


def test_fma_of_doubles_sees_the_whole_product():
    """2^53 + 3 - 2^-60 is a tie of Float64 once the product is rounded."""
    a, b, c = (np.array([x]) for x in (1 + 2.0**-30, 1 - 2.0**-30, 2.0**53 + 2))
    assert a * b + c == 2.0**53 + 4
    assert _fma(a, b, c, tw.Float64) == 2.0**53 + 2
    assert_rounded_once(a, b, c, tw.Float64)


def nearest(value, accumulator):
    """The number of the type that is nearest to a fraction, the even one of two."""
    if accumulator is tw.Float64:
        return float(value)
    dtype = accumulator.numpy
    guess = np.dtype(dtype).type(float(value))
    best = min(
        (guess, np.nextafter(guess, -guess.dtype.type(np.inf)), np.nextafter(guess, guess.dtype.type(np.inf))),
        key=lambda x: (abs(Fraction(float(x)) - value), int(x.view(f"u{x.itemsize}")) & 1),
    )
    return float(best)


def test_tensor_float_drops_the_lower_bits():
    op = warp.MmaTF32Op((16, 8, 4))
    a, b = np.full((16, 4), 1 + 2.0**-11), np.ones((8, 4))
    c = matrix_tensor(np.zeros((16, 8)), tw.Float32)
    cute.gemm_tiled(cute.make_tiled_mma(op), c, matrix_tensor(a, tw.Float32), matrix_tensor(b, tw.Float32), c)
    assert set(c.load()) == {4.0}


def test_integers_wrap_around():
    c = matrix_tensor(np.full((1, 1), 2**31 - 1), tw.Int32)
    one = matrix_tensor(np.ones((1, 1)).astype(int), tw.Int8)
    cute.gemm_tiled(cute.make_tiled_mma(MmaUniversalOp(tw.Int8)), c, one, one, c)
    assert c[0] == -(2**31)


# ---- ptxas -----------------------------------------------------------------------------------------------------------


def registers_of(op, operand):
    """How many registers the layout says that a thread has, and the letter of their kind in inline assembly."""
    dtype = {"A": op.a_dtype, "B": op.b_dtype, "C": op.acc_dtype}[operand]
    layout = getattr(cute.make_mma_atom(op), f"tv_layout_{operand}")
    bits = dtype.bits * cute.size(layout, mode=[1])
    assert bits % 32 == 0
    letter = {tw.Float64: "d", tw.Float32: "f"}.get(dtype, "r")
    return bits // (64 if letter == "d" else 32), letter


TYPES = {"r": "unsigned", "f": "float", "d": "double"}


def probe(number, op):
    """A kernel with the instruction, its registers as many as the layouts say."""
    names = {x: [f"{x.lower()}[{i}]" for i in range(registers_of(op, x)[0])] for x in "ABC" if not in_memory(op, x)}
    declared, index, braces = "", 0, {}
    for x in ("C", "A", "B"):
        if x in names:
            braces[x] = "{" + ", ".join(f"%{index + i}" for i in range(len(names[x]))) + "}"
            index += len(names[x])
            kind = TYPES[registers_of(op, x)[1]]
            declared += f"{kind} {x.lower()}[{len(names[x])}]; for (auto& x : {x.lower()}) x = ({kind})p[__LINE__];\n"
    outputs = ", ".join(f'"+{registers_of(op, "C")[1]}"({x})' for x in names["C"])
    inputs = [f'"{registers_of(op, x)[1]}"({y})' for x in "AB" if x in names for y in names[x]]
    if op.instruction.startswith("wgmma"):
        inputs += ['"l"(p)', '"l"(p)']
        a = braces.get("A", f"%{index}")
        suffix = "" if op.acc_dtype is tw.Int32 else ", 1, 1"
        if op.a_dtype.bits == 16:
            suffix += ", 0, 0" if in_memory(op, "A") else ", 0"
        text = f"{op.instruction} {braces['C']}, {a}, %{index + 1}, 1{suffix};"
    else:
        text = f"{op.instruction} {braces['C']}, {braces['A']}, {braces['B']}, {braces['C']};"
    stores = "".join(f"p[{i}] += (unsigned long long)c[{i}];\n" for i in range(len(names["C"])))
    asm = f'asm volatile("{text}" : {outputs} : {", ".join(inputs)});'
    return f"template <> __global__ void probe<{number}>(unsigned long long* p) {{\n{declared}{asm}\n{stores}}}\n"


def compile_probes(ops, arch):
    source = "template <int> __global__ void probe(unsigned long long* p);\n" + "".join(
        map(probe, range(len(ops)), ops)
    )
    return compile_program("mma_probe", [f"probe<{i}>" for i in range(len(ops))], arch, source=source)


@pytest.mark.parametrize("arch", sorted({op.arch for op in [*WARP, *WARPGROUP]}))
def test_ptxas_takes_the_instructions(compiler, arch):
    """With the registers that the layouts say, on the least architecture that the table says."""
    largest = [op for op in warpgroup_operations([256]) if op.a_dtype is op.b_dtype][::3]
    ops = [op for op in [*WARP, *WARPGROUP, *largest] if op.arch == arch]
    program = compile_probes(ops, arch)
    for op in ops:
        assert op.instruction in program.ptx


OLDER = {"sm_80": "sm_75", "sm_89": "sm_80", "sm_90": "sm_89"}


@pytest.mark.parametrize("op", [op for op in WARP if op.arch in OLDER and op.a_dtype is op.b_dtype][::2], ids=repr)
def test_older_architectures_refuse_them(compiler, op):
    with pytest.raises(CompileError):
        compile_probes([op], OLDER[op.arch])


@pytest.mark.parametrize("kind", [MmaOp, WarpgroupMmaOp])
def test_a_kind_of_multiplications_is_no_instruction(kind):
    with pytest.raises(TypeError, match=f"{kind.__name__} is no MMA instruction; .*MmaUniversalOp"):
        kind()

"""Programs of people who come from CUDA C++, Triton, Numba, NumPy or torch: each error says what to write here."""

from __future__ import annotations

import dataclasses
import linecache
import re
import traceback

import numpy as np
import pytest

import tilewright as cutlass
from tilewright import Float32, Int32, cute

x = np.arange(64, dtype=np.float32)
m = np.zeros((8, 8), np.float32)


@cute.jit
def host(a: cute.Tensor, n: Int32):
    set_kernel(a, n / 2).launch(grid=n / 2, block=32)


@cute.kernel
def set_kernel(a: cute.Tensor, n: cutlass.Int64):
    a[0] = n


@cute.kernel
def fixed_kernel(a: cute.Tensor, n: cutlass.Constexpr):
    a[0] = n


@cute.jit
def pass_on(a: cute.Tensor, n: Int32):
    fixed_kernel(a, n).launch(block=1)


def in_kernel(body, *arguments):
    @cute.kernel
    def k(a: cute.Tensor):
        i, _, _ = cute.arch.thread_idx()
        body(a, i)

    k(*(arguments or (x,))).launch(block=8)


def numpys_array(a, i):
    a[i] = x[i]


def with_member(a, i):
    a[i] = cute.arch.thread_idx().x


def with_two_indices(a, i):
    a[i][0] = 1.0


def with_astype(a, i):
    a[i] = i.astype(Float32)


def with_round(a, i):
    a[i] = round(a[i])


def with_numel(a, i):
    a[i] = a.numel()


def with_sum(a, i):
    a[i] = a.sum()


def with_transpose(a, i):
    a[i] = a.T[i]


def with_float(a, i):
    a[i] = float(i)


def with_atomic(a, i):
    cute.arch.atomic_add(a[0], a[i])


def with_dtype_as_text(a, i):
    cutlass.utils.SmemAllocator().allocate_tensor("float32", 4)


def with_smem_of_dynamic_size(a, i):
    cutlass.utils.SmemAllocator().allocate_tensor(Float32, a.shape[0])


def with_float_index(a, i):
    a[a[i]] = 1.0


def with_dynamic_vector(a, i):
    a.load()


CASES = {
    numpys_array: (IndexError, "an array of NumPy is indexed by .* make it an argument of the kernel"),
    with_member: (AttributeError, r"'tuple' object has no attribute 'x'; .* x, y, z = cute.arch.thread_idx\(\)"),
    with_two_indices: (TypeError, r"'Float32' object does not support item assignment; .* t\[i, j\]"),
    with_astype: (AttributeError, r"'Int32' object has no attribute 'astype'; x.to\(dtype\) or dtype\(x\) converts"),
    with_round: (TypeError, r"__round__ method; cute.math.floor\(x \+ 0.5\)"),
    with_numel: (AttributeError, r"'Tensor' object has no attribute 'numel'; use cute.size\(t\)"),
    with_sum: (AttributeError, r"'Tensor' object has no attribute 'sum'; t.load\(\)"),
    with_transpose: (AttributeError, r"'Tensor' object has no attribute 'T'; cute.make_tensor\(t.iterator, layout\)"),
    with_float: (TypeError, r"^float\(Int32\): .*; cutlass.Float32\(x\) converts it"),
    with_atomic: (TypeError, r"^atomic_add: .* got Float32\(\?\); element \(i, j\) of t lies at t.iterator \+ "),
    with_dtype_as_text: (TypeError, "^allocate_tensor: expected an element type such as tilewright.Float32"),
    with_smem_of_dynamic_size: (TypeError, "^allocate_tensor.* static layout: make its extents Constexpr"),
    with_float_index: (TypeError, r"an index is an integer, but got Float32 \?: .*; Int32\(x\) converts"),
    with_dynamic_vector: (cutlass.LayoutError, r"slice the tensor first \(t\[i, None\].* from_dlpack"),
}


@pytest.mark.parametrize("body", CASES, ids=lambda body: body.__name__)
def test_a_line_of_a_kernel(body):
    kind, said = CASES[body]
    with pytest.raises(kind, match=said) as caught:
        in_kernel(body)
    frames = [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert set(frames) == {__file__}


def test_what_is_said_is_right():
    """Each hint above, followed."""

    @cute.kernel
    def k(a: cute.Tensor, b: cute.Tensor):
        i, _, _ = cute.arch.thread_idx()
        row = cute.make_tensor(a.iterator, cute.select(a.layout, [1, 0]))
        cute.arch.atomic_add(b.iterator + b.layout((i, 0)), row[(1, i)] + i.to(Float32))
        cute.arch.atomic_add(b.iterator + b.layout((i, 1)), cute.math.floor(a[i, 2] + 0.5) + Float32(cute.size(a)))

    a, b = np.arange(16, dtype=np.float32).reshape(4, 4) + 0.75, np.zeros((4, 2), np.float32)
    k(a, b).launch(block=4)
    assert b[:, 0].tolist() == [a[i, 1] + i for i in range(4)]
    assert b[:, 1].tolist() == [np.floor(a[i, 2] + 0.5) + 16 for i in range(4)]


@pytest.mark.parametrize("value", [2**31, 2**40, -(2**31) - 1, np.int64(2**33), 1e10])
def test_a_number_that_does_not_fit_its_type_is_refused(value):
    @cute.kernel
    def k(a: cute.Tensor, n: Int32):
        a[0] = n

    with pytest.raises(ValueError, match=r"^n is .*, beyond Int32: annotate the parameter with cutlass.Int64"):
        k(x.copy(), value).launch()
    with pytest.raises(ValueError, match=r"^n is 4294967296, beyond Uint32"):
        unsigned(2**32)
    wide = np.zeros(1)
    set_kernel(wide, int(value)).launch()
    assert wide[0] == value


def unsigned(n):
    @cute.kernel
    def k(a: cute.Tensor, n: cutlass.Uint32):
        a[0] = n

    found = np.zeros(1, np.uint32)
    k(found, n).launch()
    return int(found[0])


def test_an_unsigned_number_is_all_ones_by_minus_one():
    assert unsigned(-1) == unsigned(2**32 - 1) == 2**32 - 1


def test_calls_in_the_style_of_others():
    with pytest.raises(TypeError, match=r"^host\[\.\.\]: a @cute.jit function is called as it is, host\(\.\.\)"):
        host[(1,)](x, 4)
    with pytest.raises(TypeError, match=r"^launch: grid=2.0: expected up to three integers; `//` and cute.ceil_div"):
        set_kernel(x, 1).launch(grid=64 / 32, block=32)
    with pytest.raises(TypeError, match=r"^launch: grid=Float32\(\?\): expected up to three integers; `//`"):
        host(x, 4)
    with pytest.raises(TypeError, match=r"^launch: block=array\(\[1, 1, 1\]\): expected up to three integers"):
        set_kernel(x, 1).launch(block=np.ones(3, int))
    with pytest.raises(TypeError, match=r"^launch: there is no option warps.* There are grid, block, cluster, smem, "):
        set_kernel(x, 1).launch(warps=4)
    with pytest.raises(TypeError, match=r"^fixed_kernel: argument n: a Constexpr is known while tracing, but this"):
        pass_on(x, 3)


@pytest.mark.parametrize(
    ("module", "name", "meant"),
    [
        (cute, "syncthreads", "cute.arch.sync_threads"),
        (cute, "program_id", "cute.arch.block_idx"),
        (cute, "make_fragment", "make_rmem_tensor"),
        (cute.arch, "shfl_xor_sync", "shuffle_sync_bfly"),
        (cutlass, "cdiv", "cute.ceil_div"),
        (cutlass, "shared", "cutlass.utils.SmemAllocator"),
    ],
)
def test_names_of_other_tools(module, name, meant):
    with pytest.raises(AttributeError, match=rf"has no attribute '{name}'. Did you mean: '{meant}'\?$"):
        getattr(module, name)


def test_each_name_that_is_suggested_is_there():
    from tilewright._names import _ELSEWHERE

    for name, meant in _ELSEWHERE.items():
        found = {"cute": cute, "cutlass": cutlass}[meant.split(".")[0]]
        for part in meant.split(".")[1:]:
            found = getattr(found, part)
        assert not hasattr(cute, name)


def test_divmod():
    @cute.kernel
    def k(a: cute.Tensor):
        i, _, _ = cute.arch.thread_idx()
        quotient, rest = divmod(i - 4, 3)
        over, left = divmod(20, i + 1)
        a[i] = 1000 * quotient + 100 * rest + 10 * over + left

    a = np.zeros(8, np.int32)
    k(a).launch(block=8)
    expected = [(divmod(i - 4, 3), divmod(20, i + 1)) for i in range(8)]
    assert a.tolist() == [1000 * q + 100 * r + 10 * o + s for (q, r), (o, s) in expected]
    assert divmod(Int32(-7), 3) == (-3, 2)


def test_a_kernel_with_too_much_shared_memory_is_named():
    def body(a, i):
        shared = cute.make_tensor(cute.arch.alloc_smem(Float32, 100_000, alignment=16), 4)
        shared[i] = a[i]

    with pytest.raises(RuntimeError, match=r"^k: a block has at most 232448 bytes of shared memory, not 400000"):
        in_kernel(body)


def test_a_predicate_of_the_wrong_shape():
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float32, num_bits_per_copy=128)
    src, dst = (cute.make_rmem_tensor(((4, 1), 2), Float32) for _ in range(2))
    src.fill(1.0)
    wrong = cute.make_rmem_tensor(((4, 1), 2), cutlass.Boolean)
    wrong.fill(True)
    with pytest.raises(ValueError, match=r"make_rmem_tensor\(\(1,2\), Boolean\) has them$"):
        cute.copy(atom, src, dst, pred=wrong)
    right = cute.make_rmem_tensor((1, 2), cutlass.Boolean)
    right.fill(True)
    cute.copy(atom, src, dst, pred=right)
    assert list(dst) == [1.0] * 8


def test_what_changes_in_a_constant_is_seen():
    @dataclasses.dataclass
    class Config:
        factor: float
        sizes: list[int]

    @cute.kernel
    def k(a: cute.Tensor, config: cutlass.Constexpr, names: cutlass.Constexpr):
        a[0] = config.factor * config.sizes[0] + names["more"][0]

    a, config, names = np.zeros(1, np.float32), Config(2.0, [3]), {"more": [1]}
    found = []
    for change in (lambda: None, lambda: setattr(config, "factor", 4.0), lambda: config.sizes.append(5)):
        change()
        k(a, config, names).launch()
        found.append(a[0])
    config.sizes[0] = 7
    k(a, config, names).launch()
    names["more"][0] = 0.5
    found.append(a[0])
    k(a, config, names).launch()
    assert [*found, a[0]] == [7, 13, 13, 29, 28.5]


def with_ssa_sum(a, i):
    cute.make_rmem_tensor(4, Float32).load().sum()


def with_ssa_item(a, i):
    vector = cute.full_like(cute.make_rmem_tensor(4, Float32), 1.0)
    vector[0] = 2.0


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (with_ssa_sum, r"no attribute 'sum'; v.reduce\(cute.ReductionOp.ADD, 0.0, 0\)"),
        (with_ssa_item, "item assignment; a vector is a value: change elements of a tensor"),
    ],
)
def test_a_vector(body, said):
    with pytest.raises((AttributeError, TypeError), match=said):
        in_kernel(body)


def test_a_tile_that_overhangs_a_row():
    @cute.kernel
    def k(a: cute.Tensor, count: cutlass.Constexpr):
        atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float32)
        tiled = cute.make_tiled_copy_tv(atom, cute.make_layout(32), cute.make_layout(2))
        shared = cutlass.utils.SmemAllocator().allocate_tensor(Float32, count)
        tiled.get_slice(cute.arch.thread_idx()[0]).partition_D(shared)

    k(x, 64).launch(block=32)
    with pytest.warns(RuntimeWarning, match=r"^partition_D: the tile \(64\) of the tiled copy is larger"):
        k(x, 48).launch(block=32)


@pytest.mark.parametrize(("rows", "is_too_small"), [(8, True), (16, False), (32, False)])
def test_a_tile_that_overhangs_shared_memory(rows, is_too_small):
    """The first error of whoever takes the threads of one tile for another."""

    @cute.kernel
    def k(a: cute.Tensor):
        atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float32)
        tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((4, 8)), cute.make_layout((4, 1)))
        shared = cutlass.utils.SmemAllocator().allocate_tensor(Float32, cute.make_layout((rows, 8)))
        tiled.get_slice(cute.arch.thread_idx()[0]).partition_D(shared)  # here

    if not is_too_small:
        k(x).launch(block=32)
        return
    cute.TiledCopy  # noqa: B018 - its methods have a boundary from now on
    said = r"^partition_D: the tile \(16,8\) of the tiled copy is larger than tensor<.*8,8.* of shared memory"
    with pytest.warns(RuntimeWarning, match=said) as caught:
        k(x).launch(block=32)
    assert caught[0].filename == __file__
    assert "# here" in linecache.getline(__file__, caught[0].lineno)


@pytest.mark.parametrize(("exponent", "is_product"), [(2, True), (3, True), (4.0, True), (5, False), (0.5, False)])
def test_small_powers_are_products(exponent, is_product):
    @cute.kernel
    def power_kernel(x: cute.Tensor):
        i, _, _ = cute.arch.thread_idx()
        x[i] = x[i] ** exponent

    @cute.jit
    def power(x: cute.Tensor):
        power_kernel(x).launch(block=[x.shape[0], 1, 1])

    x = np.linspace(0.1, 3, 64, dtype=np.float32)
    expected = x.astype(np.float64) ** exponent
    source = cute.compile(power, x).source
    power(x)
    np.testing.assert_allclose(x, expected, rtol=2e-7)
    assert ("pow" not in source.replace("power", "")) == is_product


@pytest.mark.parametrize(
    ("text", "count", "said"),
    [
        ("%d %d", 1, "'%d %d' prints 2 arguments, but got 1; a percent sign is %%"),
        ("50% done", 0, "'50% done' prints 1 arguments, but got 0; a percent sign is %%"),
        ("{:>5}", 1, "'{:>5}' prints 0 arguments, but got 1; the placeholders are {}, and %d and the like of C"),
        ("100%% {} {}", 1, "'100%% {} {}' has 2 placeholders, but got 1 arguments"),
    ],
)
def test_a_text_that_prints_another_number_of_arguments_is_refused(text, count, said):
    @cute.kernel
    def kernel():
        cute.printf(text, *[cute.arch.thread_idx()[0]] * count)

    with pytest.raises(ValueError, match=re.escape(said)):
        kernel().launch()

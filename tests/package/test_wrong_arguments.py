"""Arguments of a wrong kind that Python would take, or refuse without naming the operation."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tilewright import Boolean, Float16, Float32, Int32, Int64, LayoutError, Uint8, cute, pipeline, utils

COORDINATES = cute.make_identity_tensor((2, 3))
THREADS = cute.make_layout((2, 1))


def registers():
    return cute.make_rmem_tensor((2, 3), Float32)


def imported():
    return cute.runtime.from_dlpack(np.zeros((4, 8), np.float32))


def pair():
    return cute.full(2, 1.0, Float32)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: cute.full((2, 0), 1.0, Float32), LayoutError, r"full: the shape \(2,0\) has an extent below 1"),
        (lambda: cute.full((2, -1), 1.0, Float32), LayoutError, r"full: the shape \(2,-1\) has an extent below 1"),
        (lambda: cute.full("a", 1.0, Float32), TypeError, "full: expected shape to be an integer or a nested tuple"),
        (lambda: cute.full((2, None), 1.0, Float32), TypeError, "full: expected shape to be an integer or a nested"),
        (lambda: cute.full(Int32(2), 1.0, Float32), LayoutError, "full: a vector has a static shape, but got ?"),
        (lambda: cute.full_like(COORDINATES, 1), TypeError, "full_like: .* has no element type; pass dtype"),
        (lambda: cute.zeros_like(COORDINATES), TypeError, "zeros_like: .* has no element type; pass dtype"),
        (lambda: cute.ones_like((2, 3)), TypeError, "ones_like: expected a to be a Tensor or a TensorSSA, but got"),
        (lambda: cute.empty_like(pair(), int), TypeError, "empty_like: expected an element type such as"),
        (lambda: cute.any_(registers()), TypeError, r"any_: expected x to be .*; x.load\(\) gives its elements"),
        (lambda: cute.all_(registers()), TypeError, r"all_: expected x to be .*; x.load\(\) gives its elements"),
        (lambda: cute.any_(None), TypeError, "any_: expected x to be a TensorSSA or a number, but got None"),
        (lambda: cute.all_(np.ones(2)), TypeError, "all_: expected x to be a TensorSSA or a number, but got ndarray"),
        (lambda: cute.where(registers(), 1, 2), TypeError, r"where: expected cond .*; x.load\(\) gives its elements"),
        (lambda: cute.where("a", 1, 2), TypeError, "where: expected cond to be a TensorSSA or a number, but got str"),
        (lambda: cute.where(True, "a", 2), TypeError, "where: expected x to be a TensorSSA or a number, but got str"),
        (lambda: cute.where(pair() > 0, 1, [2]), TypeError, "where: expected y to be a TensorSSA or a number, but"),
        (
            lambda: cute.where(pair() > 0, pair(), cute.full(3, 1, Float32)),
            ValueError,
            "where: the shapes 2 and 3 do not",
        ),
        (
            lambda: cute.where(cute.full(3, 1, Int32), pair(), 0),
            ValueError,
            "where: the shapes 2 and 3 do not go together",
        ),
        (
            lambda: cute.atan2(pair(), cute.full((2, 3), 1, Float32)),
            ValueError,
            "math.atan2: the shapes 2 and 3 do not",
        ),
        (
            lambda: cute.local_partition(COORDINATES, THREADS, "a"),
            TypeError,
            "local_partition: expected index to be an",
        ),
        (
            lambda: cute.local_partition(COORDINATES, THREADS, (1, 1)),
            TypeError,
            "local_partition: expected index to be",
        ),
        (
            lambda: cute.local_partition(COORDINATES, THREADS, 0, (1,)),
            LayoutError,
            r"local_partition: proj \(1\) does not fit the thread layout \(2,1\):\(1,0\): it has an integer or None fo",
        ),
        (
            lambda: cute.local_partition(COORDINATES, THREADS, 0, "a"),
            TypeError,
            "local_partition: expected proj to be None, an integer or a tuple of them, but got str 'a'",
        ),
        (
            lambda: cute.local_tile(COORDINATES, (2, 3), (0, 0), "a"),
            TypeError,
            "local_tile: expected proj to be None, an",
        ),
        (
            lambda: cute.local_tile(COORDINATES, (2, 3), (0, 0), (1, "a")),
            TypeError,
            r"local_tile: expected proj to be None, an integer or a tuple of them, but got tuple \(1, 'a'\)",
        ),
        (
            lambda: cute.local_tile(COORDINATES, (2, 3), 1.5),
            TypeError,
            "local_tile: expected coord to be an integer, None",
        ),
        (lambda: cute.local_tile(COORDINATES, (2, 3), "(0,0)"), TypeError, r"local_tile: .* got str '\(0,0\)'"),
        (
            lambda: cute.local_tile(COORDINATES, (2, 3), 1 << 63),
            LayoutError,
            "local_tile: the coordinate 9223372036854775808: the integer 9223372036854775808 does not fit into 64 bits",
        ),
        (
            lambda: cute.local_tile(COORDINATES, (2, 3), np.arange(4)),
            TypeError,
            "local_tile: expected coord to be an in",
        ),
        (
            lambda: cute.inner_partition(COORDINATES, (2, 3), (0, True)),
            TypeError,
            r"inner_partition: expected coord .* got tuple \(0, True\)",
        ),
        (
            lambda: cute.outer_partition(COORDINATES, (2, 3), [0, "a"]),
            TypeError,
            r"outer_partition: expected coord .* got list \[0, 'a'\]",
        ),
        (
            lambda: cute.basis_value((1, 2)),
            TypeError,
            r"basis_value: expected element to be a ScaledBasis or an integer, b",
        ),
        (
            lambda: cute.basis_value(None),
            TypeError,
            "basis_value: expected element to be a ScaledBasis or an integer, b",
        ),
        (
            lambda: cute.make_rmem_tensor_like(cute.make_composed_layout(THREADS, 0, THREADS), Float32),
            LayoutError,
            r"make_rmem_tensor_like\(\(2,1\):\(1,0\) o 0 o .*\): .* only where its inner function is a sw",
        ),
        (
            lambda: cute.make_fragment_like(cute.make_composed_layout(THREADS, 0, THREADS), Float32),
            LayoutError,
            r"make_fragment_like\(",
        ),
        (
            lambda: cute.make_rmem_tensor_like(registers(), float),
            TypeError,
            "make_rmem_tensor_like: expected an element",
        ),
        (
            lambda: cute.make_fragment_like(registers(), float),
            TypeError,
            "make_fragment_like: expected an element type",
        ),
        (
            lambda: cute.make_rmem_tensor(registers(), Float32),
            TypeError,
            "make_rmem_tensor: .* Tensor .*; make_rmem_tensor_like",
        ),
        (
            lambda: cute.size_in_bytes(Float32, 4),
            TypeError,
            "size_in_bytes: expected layout to be a layout, but got int 4; make_layout makes one of a shape",
        ),
        (
            lambda: cute.size_in_bytes(Float32, cute.make_layout(2, stride=(1 << 63) - 1)),
            LayoutError,
            r"size_in_bytes\(2:9223372036854775807\): ",
        ),
        (
            lambda: pair()["a"],
            TypeError,
            r"tensor_value<vector<2xf32> o 2>\['a'\]: a coordinate is an integer, None or",
        ),
        (
            lambda: pair()["0"],
            TypeError,
            r"tensor_value<vector<2xf32> o 2>\['0'\]: a coordinate is an integer, None or",
        ),
        (
            lambda: pair()[(None, 1.5)],
            TypeError,
            r"tensor_value<.* o 2>\[\(_,1.5\)\]: a coordinate is an integer, None or",
        ),
        (
            lambda: pair()[0:1],
            TypeError,
            r"tensor_value<.* o 2>\[slice\(0, 1, None\)\]: a coordinate is an integer, None",
        ),
        (
            lambda: cute.full((2, 3), 1, Int32)[0, 0, 0],
            LayoutError,
            r"tensor_value<vector<6xi32> o \(2, 3\)>\[\(0,0,0\)\]: the coordinate does not fit the shape \(2,3\)",
        ),
        (
            lambda: cute.full((2, 3), 1, Int32)[None, 0, 0],
            LayoutError,
            r"tensor_value<vector<6xi32> o \(2, 3\)>\[\(_,0,0\)\]: the coordinate does not fit the shape \(2,3\)",
        ),
        (lambda: registers()["a"], TypeError, r"tensor<.*>\['a'\]: a coordinate is an integer, None or a nested tuple"),
        (
            lambda: registers()[None, "a"],
            TypeError,
            r"tensor<.*>\[\(_,a\)\]: a coordinate is an integer, None or a nes",
        ),
        (
            lambda: registers()[True],
            TypeError,
            r"tensor<.*>\[True\]: a coordinate is an integer, None or a nested tuple",
        ),
        (
            lambda: registers()[0, 0, 0],
            LayoutError,
            r"tensor<.*>\[\(0,0,0\)\]: the coordinate does not fit the shape \(2,3",
        ),
        (
            lambda: registers()[None, 0, 0],
            LayoutError,
            r"tensor<.*>\[\(_,0,0\)\]: the coordinate does not fit the shape \(2,3\)",
        ),
        (lambda: COORDINATES["a"], TypeError, r"tensor<.*>\['a'\]: a coordinate is an integer, None or a nested tuple"),
        (
            lambda: cute.local_tile(COORDINATES, (2, 3, 4), (0, 0)),
            LayoutError,
            r"local_tile\(tensor<.*>, \(2,3,4\)\): Too many modes in tiler",
        ),
        (lambda: cute.local_tile(COORDINATES, "a", (0, 0)), LayoutError, r"local_tile\(.*'a'\): the text for tiler"),
        (lambda: cute.local_tile(COORDINATES, 1.5, (0, 0)), TypeError, "local_tile: expected tiler to be"),
        (
            lambda: cute.local_tile(COORDINATES, (2, 3), (0, (0, 0))),
            LayoutError,
            r"local_tile: the coordinate \(0,\(0,0\)\) does not fit the shape \(1,1\): each part is an integer, None",
        ),
        (lambda: cute.fast_divmod_create_divisor(1.5), TypeError, "fast_divmod_create_divisor: expected divisor to be"),
        (lambda: cute.fast_divmod_create_divisor("3"), TypeError, "fast_divmod_create_divisor: expected divisor to be"),
        (lambda: cute.FastDivmodDivisor(None), TypeError, "fast_divmod_create_divisor: expected divisor to be an int"),
        (lambda: cute.recast_ptr(registers()), TypeError, "recast_ptr: expected ptr to be a Pointer, but got Tensor"),
        (lambda: cute.make_tensor(0, registers()), TypeError, r"make_tensor: expected a layout .*; pass its \.layout"),
        (lambda: cute.make_tensor(True, 4), TypeError, "make_tensor: expected the iterator .*, but got bool True"),
        (
            lambda: cute.make_tensor(("a", 0), (2, 3)),
            TypeError,
            r"make_tensor: expected the iterator .*, but got tuple",
        ),
        (lambda: cute.Tensor("a", THREADS), TypeError, "Tensor: expected the iterator .*, but got str 'a'"),
        (lambda: cute.Tensor(True, THREADS), TypeError, "Tensor: expected the iterator .*, but got bool True"),
        (lambda: cute.Tensor(0, (2, 3)), TypeError, r"Tensor: expected a layout, but got tuple \(2, 3\); make_tensor "),
        (
            lambda: cute.make_tensor((0, 0), (2, 3))[1, 2],
            LayoutError,
            r"tensor<\(0,0\) o \(2,3\):\(1,2\)>\[\(1,2\)\]: cannot add 5 to the coordinate \(0,0\).*; strides that are",
        ),
        (
            lambda: cute.make_tensor((0, 0), (2, 3))[None, 2],
            LayoutError,
            r"tensor<\(0,0\) o \(2,3\):\(1,2\)>\[\(_,2\)\]: cannot add 4 to the coordinate \(0,0\)",
        ),
        (lambda: Boolean(registers()), TypeError, "Boolean: expected a number, but got tensor<.* of type Tensor"),
        (lambda: Boolean(None), TypeError, "Boolean: expected a number, but got None of type NoneType"),
        (lambda: cute.SymInt(64.0), ValueError, "SymInt: width is 64.0; expected 32 or 64"),
        (lambda: cute.sym_int(True), ValueError, "sym_int: width is True; expected 32 or 64"),
        (lambda: cute.sym_int(divisibility=True), ValueError, "sym_int: divisibility is True; expected an integer of"),
        (lambda: cute.sym_int32(1 << 31), ValueError, "sym_int32: divisibility is 2147483648; expected .* 2147483647"),
        (
            lambda: cute.sym_int64(1 << 63),
            ValueError,
            "sym_int64: divisibility is 9223372036854775808; expected an int",
        ),
        (lambda: cute.sym_int64("8"), ValueError, "sym_int64: divisibility is '8'; expected an integer of at least 1"),
        (
            lambda: pair().reduce(cute.ReductionOp.ADD, 0.0, "a"),
            TypeError,
            "reduce: expected reduction_profile to be an integer, None or a tuple of them, but got str 'a'",
        ),
        (lambda: pair().reduce(cute.ReductionOp.ADD, "0", 0), TypeError, "Float32: expected a number, but got '0' of "),
        (lambda: registers().store("123456"), TypeError, "Float32: expected a number, but got '1' of type str"),
        (lambda: Float32("1"), TypeError, "Float32: expected a number, but got '1' of type str"),
        (lambda: pair().reshape(THREADS), TypeError, "reshape: expected shape to be an integer or a nested tuple of i"),
        (lambda: pair().reshape(None), TypeError, "reshape: expected shape to be an integer or a nested tuple of inte"),
        (lambda: pair().broadcast_to("a"), TypeError, "broadcast_to: expected shape to be an integer or a nested tupl"),
        (lambda: pair().broadcast_to((3,)), ValueError, r"broadcast_to: a vector of shape 2 does not broadcast to \(3"),
        (lambda: cute.make_identity_tensor(THREADS), TypeError, "make_identity_tensor: expected shape to be an intege"),
        (lambda: cute.make_identity_tensor((4, 0)), LayoutError, r"make_identity_tensor\(\(4,0\)\): Expected size in "),
        (lambda: cute.make_layout(registers()), TypeError, "make_layout: expected shape to be a shape or layouts, but"),
        (
            lambda: cute.make_composed_layout(cute.make_swizzle(1, 0, 2), None, THREADS),
            TypeError,
            "make_composed_layout: expected offset to be an integer or a nested tuple of integers, but got None",
        ),
        (
            lambda: cute.logical_divide(np.zeros((2, 3)), 2),
            TypeError,
            "logical_divide: expected target to be .*, but got numpy.ndarray, of which from_dlpack makes a Tensor$",
        ),
        (lambda: cute.size(np.zeros((2, 3))), TypeError, "size: expected x to be .* got numpy.ndarray, of which"),
        (lambda: cute.make_ptr(Float32, -8), ValueError, "make_ptr: the address is -8; an address is at least 0"),
        (lambda: cute.make_ptr(Uint8, True), TypeError, "make_ptr: expected value to be int | Pointer, but got bool T"),
        (
            lambda: cute.recast_ptr(registers().iterator, Float16),
            TypeError,
            "recast_ptr: expected swizzle_ to be a Swizzle, but got Float16; pass dtype=Float16",
        ),
        (
            lambda: imported().mark_layout_dynamic("a"),
            TypeError,
            "mark_layout_dynamic: expected leading_dim to be an integer, but got str 'a'",
        ),
        (
            lambda: imported().mark_compact_shape_dynamic(1.0),
            TypeError,
            "mark_compact_shape_dynamic: expected mode to be an integer, but got float 1.0",
        ),
        (
            lambda: utils.PersistentTileSchedulerParams((4, -4, 1), (1, 1, 1)),
            ValueError,
            r"PersistentTileSchedulerParams: problem_shape_ntile_mnl is tuple \(4, -4, 1\); expected three extents",
        ),
        (lambda: utils.PersistentTileSchedulerParams((4.0, 4, 1), (1, 1, 1)), ValueError, "PersistentTileSchedulerPar"),
        (
            lambda: utils.PersistentTileSchedulerParams((4, 4, 1), (0, 1, 1)),
            ValueError,
            r"PersistentTileSchedulerParams: cluster_shape_mnk is tuple \(0, 1, 1\); expected three extents of at leas",
        ),
        (
            lambda: utils.PersistentTileSchedulerParams((4, 4, 1), (1, 1, 1), 2.0),
            ValueError,
            "PersistentTileSchedulerParams: swizzle_size is 2.0; expected an integer of at least 1",
        ),
        (
            lambda: utils.PersistentTileSchedulerParams((4, 4, 1), (1, 1, 1)).get_grid_shape(0),
            ValueError,
            "get_grid_shape: max_active_clusters is 0; expected an integer of at least 1",
        ),
        (
            lambda: utils.StaticPersistentTileScheduler.get_grid_shape((4, 4, 1), 2),
            TypeError,
            "StaticPersistentTileScheduler.get_grid_shape: expected PersistentTileSchedulerParams, but got tuple",
        ),
        (lambda: utils.get_smem_capacity_in_bytes(90), TypeError, "get_smem_capacity_in_bytes: expected .*, but got i"),
        (lambda: utils.HardwareInfo("a"), TypeError, "HardwareInfo: expected device_id to be .*, but got str 'a'"),
        (lambda: utils.HardwareInfo(-1), TypeError, "HardwareInfo: expected device_id to be .*, but got int -1"),
        (lambda: utils.LayoutEnum.from_tensor(THREADS), TypeError, "LayoutEnum.from_tensor: expected tensor to be a T"),
        (lambda: pipeline.NamedBarrier("a", 32), TypeError, "NamedBarrier: expected barrier_id to be an integer, but "),
        (lambda: pipeline.NamedBarrier(1, 32.0), TypeError, "NamedBarrier: expected num_threads to be an integer, but"),
        (lambda: cute.on_cpu(resident="a").__enter__(), TypeError, "on_cpu: expected resident to be an integer"),
        (lambda: cute.on_cpu(seed=None).__enter__(), TypeError, "on_cpu: expected seed to be an integer, but got None"),
        (lambda: cute.on_device(3).__enter__(), TypeError, 'on_device: expected "cpu", "cuda" or "cuda:1", but got 3'),
        (lambda: cute.struct.MemRange[Int64], TypeError, r"struct.MemRange\[type, n\]: expected two entries"),
        (lambda: cute.struct.MemRange[int, 3], TypeError, "struct.MemRange: expected an element type such as"),
        (lambda: cute.struct.MemRange[Int64, -1], ValueError, "struct.MemRange: the count is an integer of at least 0"),
        (
            lambda: cute.struct.MemRange[Int64, 2.5],
            ValueError,
            "struct.MemRange: the count is an integer of at least 0",
        ),
        (lambda: cute.struct.Align[Int64], TypeError, r"struct.Align\[.., bytes\]: expected two entries"),
        (lambda: cute.struct.Align[Int64, "a"], ValueError, "struct.Align: an alignment is a power of two in bytes"),
        (lambda: cute.native_struct(3), TypeError, "native_struct: expected a class, but got int 3"),
        (lambda: cute.compile(twice), TypeError, r"twice\(n\): missing a required argument: 'n'; given are \(\)"),
        (lambda: cute.profile(twice), TypeError, r"twice\(n\): missing a required argument: 'n'; given are \(\)"),
        (lambda: cute.timeline(twice, 1, 2), TypeError, r"twice\(n\): too many positional arguments; given are"),
    ],
)
def test_the_error_names_operation_and_argument(call, error, text):
    with pytest.raises(error, match=f"^{text}"):
        call()


@cute.jit
def twice(n: Int32):
    return n * 2


def test_numbers_of_numpy_are_numbers():
    assert cute.where(np.bool_(True), 1, 2) == 1
    assert list(cute.where(np.float32(1), pair(), 3)) == [1.0, 1.0]
    assert cute.any_(np.float64(0)) is False
    assert list(cute.full(np.int64(2), 1, Uint8)) == [1, 1]
    assert cute.fast_divmod_create_divisor(np.int64(3)).divisor == 3
    assert cute.struct.MemRange[Float16, np.int64(3)].length == 3
    assert cute.make_tensor(np.int64(3), 4)[1] == 4
    assert repr(cute.sym_int(np.int64(64), divisibility=np.int32(8))) == "SymInt(64 bits, divisibility 8)"
    assert Boolean(np.bool_(True))
    assert "div=4" in str(imported().mark_compact_shape_dynamic(np.int64(0), divisibility=np.int64(4)).layout)


def test_a_field_without_a_default_behind_one_with_a_default():
    with pytest.raises(TypeError, match=r"^native_struct: Late: non-default argument 'b' follows default argument"):

        @cute.native_struct
        class Late:
            a: Int32 = 0
            b: Boolean


def test_a_number_known_at_run_time_is_not_static():
    @cute.kernel
    def ask():
        cute.static((1, cute.arch.thread_idx()[0]))

    with pytest.raises(TypeError, match="static: the value of the Int32 is known only at run time"):
        ask().launch(block=[1, 1, 1])


def test_a_divisor_known_at_run_time_divides():
    @cute.kernel
    def split(x: cute.Tensor, n: Int32):
        i, _, _ = cute.arch.thread_idx()
        quotient, rest = divmod(i, cute.fast_divmod_create_divisor(n))
        x[i] = quotient * 10 + rest

    x = np.zeros(8, np.int32)
    split(x, 3).launch(block=[8, 1, 1])
    assert x.tolist() == [0, 1, 2, 10, 11, 12, 20, 21]


@pytest.mark.parametrize("symbol", ["+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>"])
def test_vectors_that_do_not_broadcast_name_the_operator(symbol):
    a, b = cute.full(2, 1, Int32), cute.full(3, 1, Int32)
    with pytest.raises(ValueError, match=f"^TensorSSA {re.escape(symbol)} TensorSSA: the shapes 2 and 3 do not go"):
        eval(f"a {symbol} b", {"a": a, "b": b})


@pytest.mark.parametrize("symbol", ["==", "!=", "<", "<=", ">", ">="])
def test_vectors_that_are_not_compared_name_the_comparison(symbol):
    a, b = pair(), cute.full((2, 3), 1, Float32)
    with pytest.raises(ValueError, match=f"^TensorSSA {re.escape(symbol)} TensorSSA: the shapes 2 and 3 do not go"):
        eval(f"a {symbol} b", {"a": a, "b": b})


def test_a_register_tensor_like_a_swizzled_layout_is_not_swizzled():
    swizzled = cute.make_composed_layout(cute.make_swizzle(1, 0, 2), 4, cute.make_layout((4, 2), stride=(8, 1)))
    assert str(cute.make_rmem_tensor_like(swizzled, Float16).layout) == "(4,2):(2,1)"
    assert str(cute.make_rmem_tensor_like(cute.make_rmem_tensor(swizzled, Int32)).layout) == "(4,2):(2,1)"


def test_lists_are_coordinates_and_projections_as_tuples_are():
    a = cute.make_identity_tensor((256, 64))
    expected = str(cute.local_tile(a, (128, 128, 8), (1, 0, None), proj=(1, None, 1)))
    assert str(cute.local_tile(a, [128, 128, 8], [1, 0, None], proj=[1, None, 1])) == expected
    assert str(cute.inner_partition(a, (128, 8), [1])) == str(cute.inner_partition(a, (128, 8), (1,)))
    assert cute.full([2, 3], 1, Int32).shape == cute.full(6, 1, Int32).reshape([2, 3]).shape == (2, 3)
    assert cute.full((2, 1), 1, Int32).broadcast_to([2, 3]).shape == (2, 3)
    assert list(cute.full((2, 3), 1, Int32).reduce(cute.ReductionOp.ADD, 0, [None, 0])) == [3, 3]
    assert cute.find([1, [5, 2]], 2) == (1, 1)
    assert cute.find_if([4, 1], lambda leaf, _: leaf == 1) == 1
    assert cute.get_leaves([4, (2, [3])]) == [4, 2, 3]
    assert str(cute.outer_partition(a, (128, 8), [1])) == str(cute.outer_partition(a, (128, 8), (1,)))

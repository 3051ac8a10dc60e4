"""Programs that are wrong, as users write them: each error says what is wrong and what to do, on the user's line."""

# ruff: noqa: B905 - they are wrong

from __future__ import annotations

import contextlib
import functools
import math
import traceback
import warnings

import numpy as np
import pytest

import tilewright as cutlass
from tilewright import Float16, Float32, Int32, cute

x = np.arange(64, dtype=np.float32)
y = np.zeros(64, np.float32)
m = np.zeros((8, 8), np.float32)
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


@cute.kernel
def copy_k(a: cute.Tensor, b: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    b[i] = a[i]


@case
def wrong_type():
    copy_k(x, 3).launch(block=32)  # here


@case
def wrong_type_str():
    copy_k(x, "y").launch(block=32)  # here


@case
def list_for_tensor():
    copy_k(x, [1.0, 2.0]).launch(block=32)  # here


@case
def too_few():
    copy_k(x).launch(block=32)  # here


@case
def too_many():
    copy_k(x, y, x).launch(block=32)  # here


@case
def wrong_keyword():
    copy_k(a=x, c=y).launch(block=32)  # here


@case
def launch_tuple4():
    copy_k(x, y).launch(grid=(1, 1, 1, 1), block=32)  # here


@case
def launch_float():
    copy_k(x, y).launch(grid=(1.5, 1, 1), block=32)  # here


@case
def launch_zero():
    copy_k(x, y).launch(grid=(0, 1, 1), block=32)  # here


@case
def launch_2000():
    copy_k(x, y).launch(grid=(1, 1, 1), block=2000)  # here


@case
def launch_positional():
    copy_k(x, y).launch((1, 1, 1), (32, 1, 1))  # here


@case
def launch_misspelled():
    copy_k(x, y).launch(grid=(1, 1, 1), blocks=(32, 1, 1))  # here


@case
def call_kernel_twice_brackets():
    copy_k[(1, 1, 1), (32, 1, 1)](x, y)  # here


@case
def static_out_of_range():
    @cute.kernel
    def k(a: cute.Tensor):
        r = cute.make_rmem_tensor(4, Float32)
        r[4] = 1.0  # here

    k(x).launch()


@case
def static_out_of_range_2d():
    @cute.kernel
    def k(a: cute.Tensor):
        a[9, 0] = 1.0  # here

    k(cute.runtime.from_dlpack(m)).launch()


@case
def float_index():
    @cute.kernel
    def k(a: cute.Tensor):
        i, _, _ = cute.arch.thread_idx()
        a[i / 2] = 1.0  # here

    k(x).launch()


@case
def float_index_static():
    @cute.kernel
    def k(a: cute.Tensor):
        a[0.5] = 1.0  # here

    k(x).launch()


@case
def too_many_coords():
    @cute.kernel
    def k(a: cute.Tensor):
        i, _, _ = cute.arch.thread_idx()
        a[i, 0] = 1.0  # here

    k(x).launch()


@case
def string_index():
    @cute.kernel
    def k(a: cute.Tensor):
        a["i"] = 1.0  # here

    k(x).launch()


@case
def printf_too_few():
    @cute.kernel
    def k(a: cute.Tensor):
        cute.printf("{} {}", a[0])  # here

    k(x).launch()


@case
def printf_too_many():
    @cute.kernel
    def k(a: cute.Tensor):
        cute.printf("{}", a[0], a[1])  # here

    k(x).launch()


@case
def return_from_kernel():
    @cute.kernel
    def k(a: cute.Tensor):
        return a[0]

    k(x).launch()  # here


@case
def early_return_in_loop():
    @cute.kernel
    def k(a: cute.Tensor, n: Int32):
        for i in range(n):
            if a[i] > 2:
                return  # here

    k(x, 4).launch()


@case
def break_in_loop():
    @cute.kernel
    def k(a: cute.Tensor, n: Int32):
        for i in range(n):
            if a[i] > 2:
                break  # here

    k(x, 4).launch()


@case
def recursion():
    @cute.jit
    def fact(n: Int32) -> Int32:
        if n < 2:  # here
            return n
        return n * fact(n - 1)

    fact(4)


@case
def list_append():
    @cute.kernel
    def k(a: cute.Tensor, n: Int32):
        found = []
        for i in range(n):  # here
            found.append(a[i])
        a[0] = found[0]

    k(x, 4).launch()


@case
def numpy_on_symbolic():
    @cute.kernel
    def k(a: cute.Tensor):
        i, _, _ = cute.arch.thread_idx()
        a[i] = np.sqrt(a[i])  # here

    k(x).launch()


@case
def numpy_max():
    @cute.kernel
    def k(a: cute.Tensor):
        a[0] = np.maximum(a[0], a[1])  # here

    k(x).launch()


@case
def math_on_symbolic():
    @cute.kernel
    def k(a: cute.Tensor):
        a[0] = math.sqrt(a[0])  # here

    k(x).launch()


@case
def len_of_tensor():
    @cute.kernel
    def k(a: cute.Tensor):
        for i in range(len(a)):  # here
            a[i] = 1.0

    k(x).launch()


@case
def iterate_tensor():
    @cute.kernel
    def k(a: cute.Tensor):
        s = Float32(0)
        for v in a:  # here
            s += v
        a[0] = s

    k(x).launch()


@case
def sum_tensor():
    @cute.kernel
    def k(a: cute.Tensor):
        a[0] = sum(a)  # here

    k(x).launch()


@case
def compare_shapes():
    @cute.kernel
    def k(a: cute.Tensor, b: cute.Tensor):
        if a.shape == b.shape:  # here
            b[0] = a[0]

    k(x, y).launch()


@case
def compare_shapes_2d():
    @cute.kernel
    def k(a: cute.Tensor, b: cute.Tensor):
        assert a.shape == b.shape  # here
        b[0] = a[0]

    k(m, m).launch()


@case
def python_slice():
    @cute.kernel
    def k(a: cute.Tensor, n: Int32):
        t = a[0:n]  # here
        t[0] = 1.0

    k(x, 4).launch()


@case
def static_slice():
    @cute.kernel
    def k(a: cute.Tensor):
        t = a[0:4]  # here
        t[0] = 1.0

    k(x).launch()


@case
def dynamic_rmem():
    @cute.kernel
    def k(a: cute.Tensor, n: Int32):
        r = cute.make_rmem_tensor(n, Float32)  # here
        r[0] = 1.0

    k(x, 4).launch()


@case
def dynamic_load():
    @cute.kernel
    def k(a: cute.Tensor):
        v = a.load()  # here
        a.store(v)

    k(x).launch()


@case
def assert_dynamic():
    @cute.kernel
    def k(a: cute.Tensor):
        i, _, _ = cute.arch.thread_idx()
        assert a[i] < 10, f"too large at {i}"

    k(x).launch(block=32)  # here


@case
def try_except():
    @cute.kernel
    def k(a: cute.Tensor, n: Int32):
        try:
            if n > 2:
                raise ValueError("n")
        except ValueError:
            a[0] = 1.0  # here

    k(x, 4).launch()


@case
def with_open():
    @cute.kernel
    def k(a: cute.Tensor, n: Int32):
        with contextlib.suppress(IndexError):  # here
            if n > 2:
                raise IndexError("n")
        a[0] = 1.0

    k(x, 4).launch()


@case
def lambda_default():
    @cute.kernel
    def k(a: cute.Tensor, op=lambda v: v + 1):
        a[0] = op(a[0], 2)  # here

    k(x).launch()


@case
def lambda_branch():
    @cute.kernel
    def k(a: cute.Tensor, op: cutlass.Constexpr):
        a[0] = op(a[0])

    k(x, lambda v: v if v > 0 else -v).launch()  # here


@case
def helper_branch():
    def relu(v):
        if v > 0:  # here
            return v
        return 0.0

    @cute.kernel
    def k(a: cute.Tensor):
        a[0] = relu(a[0])

    k(x).launch()


@case
def stacked_decorators():
    @cute.jit  # here
    @functools.lru_cache
    def f(a: cute.Tensor):
        copy_k(a, a).launch(block=32)

    f(x)


@case
def stacked_jit_kernel():
    @cute.jit  # here
    @cute.kernel
    def f(a: cute.Tensor):
        a[0] = 1.0

    f(x)


@case
def missing_self():
    class A:
        @cute.kernel
        def k(a: cute.Tensor):
            a[1] = 1.0

    A().k(x).launch()  # here


@case
def star_args():
    @cute.kernel
    def k(*tensors):
        tensors[2][0] = 1.0  # here

    k(x, y).launch()


@case
def kwargs_kernel():
    @cute.kernel
    def k(a: cute.Tensor, **options):
        a[0] = options["scale"]  # here

    k(x, factor=3.0).launch()


@case
def kernel_calls_kernel():
    @cute.kernel
    def k(a: cute.Tensor):
        copy_k(a, a).launch(block=32)  # here

    k(x).launch()


@case
def type_changes():
    @cute.kernel
    def k(a: cute.Tensor, n: Int32):
        s = 0
        for i in range(n):  # here
            s += a[i]
        a[0] = s

    k(x, 4).launch()


@case
def undefined_after():
    @cute.kernel
    def k(a: cute.Tensor, n: Int32):
        if n > 2:
            v = a[0]
        a[1] = v  # here

    k(x, 4).launch()


def line_of_if(function):
    """The line of a case's `if`: its error stands at the use, and names that line."""
    return function.__code__.co_firstlineno + 4


@case
def store_wrong_vector():
    @cute.kernel
    def k(a: cute.Tensor):
        r = cute.make_rmem_tensor(4, Float16)
        r.store(cute.make_rmem_tensor(4, Float32).load())  # here

    k(x).launch()


@case
def add_shapes():
    @cute.kernel
    def k(a: cute.Tensor):
        v = cute.make_rmem_tensor(4, Float32).load() + cute.make_rmem_tensor(3, Float32).load()  # here

    k(x).launch()


@case
def int_of_dynamic():
    @cute.kernel
    def k(a: cute.Tensor):
        i, _, _ = cute.arch.thread_idx()
        a[int(i)] = 1.0  # here

    k(x).launch()


@case
def index_list():
    @cute.kernel
    def k(a: cute.Tensor):
        i, _, _ = cute.arch.thread_idx()
        table = [1.0, 2.0, 3.0]
        a[i] = table[i]  # here

    k(x).launch()


@case
def dict_lookup():
    @cute.kernel
    def k(a: cute.Tensor):
        i, _, _ = cute.arch.thread_idx()
        table = {0: 1.0, 1: 2.0}
        a[i] = table[i]  # here

    k(x).launch()


@case
def unknown_arch():
    @cute.kernel
    def k(a: cute.Tensor):
        i = cute.arch.threadIdx()  # here

    k(x).launch()


@case
def unknown_name():
    @cute.kernel
    def k(a: cute.Tensor):
        a[0] = undefined_thing  # here

    k(x).launch()


@case
def thread_idx_no_unpack():
    @cute.kernel
    def k(a: cute.Tensor):
        i = cute.arch.thread_idx()
        a[i] = 1.0  # here

    k(x).launch()


@case
def thread_idx_arith():
    @cute.kernel
    def k(a: cute.Tensor):
        i = cute.arch.thread_idx() + 1  # here
        a[i] = 1.0

    k(x).launch()


@case
def assign_shape():
    @cute.kernel
    def k(a: cute.Tensor):
        a.shape = (8, 8)  # here

    k(x).launch()


@case
def tensor_plus_tensor():
    @cute.kernel
    def k(a: cute.Tensor, b: cute.Tensor):
        c = a + b  # here

    k(x, y).launch()


@case
def arch_at_prompt():
    cute.arch.thread_idx()  # here


@case
def kernel_method_item():
    @cute.kernel
    def k(a: cute.Tensor):
        v = a[0].item()  # here

    k(x).launch()


@case
def complex_dtype():
    copy_k(np.zeros(4, np.complex64), y).launch()  # here


@case
def empty_array():
    copy_k(np.zeros(0, np.float32), y).launch()  # here


@case
def smem_too_much():
    @cute.kernel
    def k(a: cute.Tensor):
        s = cutlass.utils.SmemAllocator().allocate_tensor(Float32, cute.make_layout(100000))
        s[0] = 1.0

    k(x).launch()  # here


@case
def decorate_class():
    @cute.kernel  # here
    class A:
        pass


@case
def constexpr_dynamic():
    @cute.kernel
    def k(a: cute.Tensor, n: Int32):
        if cutlass.const_expr(n > 2):  # here
            a[0] = 1.0

    k(x, 3).launch()


@case
def range_constexpr_dynamic():
    @cute.kernel
    def k(a: cute.Tensor, n: Int32):
        for i in cutlass.range_constexpr(n):  # here
            a[i] = 1.0

    k(x, 3).launch()


@case
def walrus():
    @cute.kernel
    def k(a: cute.Tensor, n: Int32):
        if n > 2 and (v := a[0]) > 1:  # here
            a[1] = v

    k(x, 3).launch()


@case
def match_dynamic():
    @cute.kernel
    def k(a: cute.Tensor, n: Int32):
        match n:
            case 1:  # here
                a[0] = 1.0
            case _:
                a[0] = 2.0

    k(x, 3).launch()


@case
def in_dynamic():
    @cute.kernel
    def k(a: cute.Tensor, n: Int32):
        if n in (1, 2):  # here
            a[0] = 1.0

    k(x, 3).launch()


@case
def sorted_dynamic():
    @cute.kernel
    def k(a: cute.Tensor):
        v = sorted([a[0], a[1]])  # here
        a[0] = v[0]

    k(x).launch()


@case
def zip_tensors():
    @cute.kernel
    def k(a: cute.Tensor, b: cute.Tensor):
        for u, v in zip(a, b):  # here
            pass

    k(x, y).launch()


@case
def wrong_annotation():
    copy_i(x, 1.5).launch()  # here


@cute.kernel
def copy_i(a: cute.Tensor, n: Int32):
    a[0] = n  # here


@case
def none_arg():
    copy_i(x, None).launch()


@case
def str_number():
    copy_i(x, "3").launch()  # here


@case
def array_number():
    copy_i(x, np.zeros(4, np.int32)).launch()  # here


# What each says, from its beginning on; @ is the line marked above, as file:line.
SAID = {
    "wrong_type": (
        TypeError,
        "copy_k: argument b: expected a tensor, or an array with __dlpack__ such as NumPy's and torch's, but got int 3",
    ),
    "wrong_type_str": (
        TypeError,
        "copy_k: argument b: expected a tensor, or an array with __dlpack__ such as NumPy's and torch's, but got",
    ),
    "list_for_tensor": (
        TypeError,
        "copy_k: argument b: expected a tensor, or an array with __dlpack__ such as NumPy's and torch's, but got",
    ),
    "too_few": (TypeError, "copy_k(a, b): missing a required argument: 'b'; given are (ndarray)"),
    "too_many": (TypeError, "copy_k(a, b): too many positional arguments; given are (ndarray, ndarray, ndarray)"),
    "wrong_keyword": (TypeError, "copy_k(a, b): missing a required argument: 'b'; given are (a=ndarray, c=ndarray)"),
    "launch_tuple4": (ValueError, "launch: grid=(1, 1, 1, 1): expected up to three integers of at least 1"),
    "launch_float": (TypeError, "launch: grid=(1.5, 1, 1): expected up to three integers"),
    "launch_zero": (ValueError, "launch: grid=(0, 1, 1): expected up to three integers of at least 1"),
    "launch_2000": (ValueError, "launch: block=2000 has 2000 threads; at most 1024 are allowed"),
    "launch_positional": (TypeError, "launch: the sizes are keywords: .launch(grid=(1, 1, 1), block=(32, 1, 1))"),
    "launch_misspelled": (TypeError, "launch: there is no option blocks. Did you mean: 'block'?"),
    "call_kernel_twice_brackets": (
        TypeError,
        "copy_k[..]: the sizes follow the arguments: copy_k(..).launch(grid=.., block=..)",
    ),
    "static_out_of_range": (
        IndexError,
        "tensor<ptr<f32, rmem, align<32>> o 4:1>[4]: coordinate 4 is out of range; shape 4 allows 0 to 3 there",
    ),
    "static_out_of_range_2d": (
        IndexError,
        "tensor<ptr<f32, gmem> o (8,8):(8,1)>[(9,0)]: coordinate 9 of mode 0 is out of range; shape (8,8) allows",
    ),
    "float_index": (
        TypeError,
        "tensor<ptr<f32, gmem> o (?):(1)>: an index is an integer, but got Float32 ?: `//` divides to an",
    ),
    "float_index_static": (
        TypeError,
        "tensor<ptr<f32, gmem> o (?):(1)>: an index is an integer, but got float 0.5: `//` divides to an",
    ),
    "too_many_coords": (
        cutlass.LayoutError,
        "tensor<ptr<f32, gmem> o (?):(1)>[(?,0)]: the coordinate does not fit the shape (?): each part is an integer",
    ),
    "string_index": (
        TypeError,
        "tensor<ptr<f32, gmem> o (?):(1)>['i']: a coordinate is an integer, None or a nested tuple of them",
    ),
    "printf_too_few": (ValueError, "printf: '{} {}' has 2 placeholders, but got 1 arguments"),
    "printf_too_many": (ValueError, "printf: '{}' has 1 placeholders, but got 2 arguments"),
    "return_from_kernel": (TypeError, "k: a kernel returns nothing, but this one Float32(?): store it in a tensor"),
    "early_return_in_loop": (
        TypeError,
        "@, in k: `return` leaves an `if` or a loop that is decided at run time, where the program has no jumps;",
    ),
    "break_in_loop": (
        TypeError,
        "@, in k: `break` leaves an `if` or a loop that is decided at run time, where the program has no jumps;",
    ),
    "recursion": (
        TypeError,
        "@, in fact: 100 branches stand in one another: a recursion ends by a condition known only at run time;",
    ),
    "list_append": (
        TypeError,
        "@, in k: the loop runs at run time and changes found from 0 elements to 1 elements; that happens once,",
    ),
    "numpy_on_symbolic": (
        TypeError,
        "numpy.sqrt: NumPy computes on the host, and this Float32 is known only at run time; use cute.math.sqrt",
    ),
    "numpy_max": (
        TypeError,
        "bool(Boolean): the value is known only at run time; an index of a Python list, a comparison of tuples,",
    ),
    "math_on_symbolic": (
        TypeError,
        "float(Float32): the value is known only at run time; compute with it as it is (what Python's math has",
    ),
    "len_of_tensor": (
        TypeError,
        "len: tensor<ptr<f32, gmem> o (?):(1)> has cute.size(t) elements, and the extents t.shape",
    ),
    "iterate_tensor": (
        TypeError,
        "tensor<ptr<f32, gmem> o (?):(1)>: its number of elements is known only at run time, so that Python does",
    ),
    "sum_tensor": (
        TypeError,
        "tensor<ptr<f32, gmem> o (?):(1)>: its number of elements is known only at run time, so that Python does",
    ),
    "compare_shapes": (
        TypeError,
        "bool(Boolean): the value is known only at run time; an index of a Python list, a comparison of tuples,",
    ),
    "compare_shapes_2d": (
        TypeError,
        "bool(Boolean): the value is known only at run time; an index of a Python list, a comparison of tuples,",
    ),
    "python_slice": (
        TypeError,
        "a tensor is indexed by integers and None: write t[None, 0] to keep mode 0; there is no ':' or '...'",
    ),
    "static_slice": (
        TypeError,
        "a tensor is indexed by integers and None: write t[None, 0] to keep mode 0; there is no ':' or '...'",
    ),
    "dynamic_rmem": (
        cutlass.LayoutError,
        "make_rmem_tensor(?:1): registers need a static layout; use Python integers for its leaves",
    ),
    "dynamic_load": (cutlass.LayoutError, "load: a vector has a static shape, but got (?); slice the tensor first"),
    "assert_dynamic": (cute.KernelError, "k: 1 defect\n"),
    "try_except": (
        TypeError,
        "@, in k: this catches an error of an `if` or a loop that is decided at run time, where no error is",
    ),
    "with_open": (
        TypeError,
        "@, in k: this catches an error of an `if` or a loop that is decided at run time, where no error is",
    ),
    "lambda_default": (TypeError, "lambda_default.<locals>.<lambda>() takes 1 positional argument but 2 were given"),
    "lambda_branch": (
        TypeError,
        "bool(Boolean): the value is known only at run time; the control flow of <lambda> is Python's: decorate",
    ),
    "helper_branch": (
        TypeError,
        "bool(Boolean): the value is known only at run time; the control flow of relu is Python's: decorate it",
    ),
    "stacked_decorators": (
        TypeError,
        "jit: f is no function of Python but a _lru_cache_wrapper; put @cute.jit next to the `def`, below it",
    ),
    "stacked_jit_kernel": (
        TypeError,
        "jit: f is under @cute.kernel already; a kernel is launched by a @cute.jit function of its own, and what",
    ),
    "missing_self": (TypeError, "k(a): too many positional arguments; given are (A, ndarray)"),
    "star_args": (IndexError, "tuple index out of range"),
    "kwargs_kernel": (KeyError, "'scale'"),
    "kernel_calls_kernel": (
        RuntimeError,
        "copy_k: a kernel does not call a kernel; decorate what both call with @cute.jit",
    ),
    "type_changes": (
        TypeError,
        "@, in k: the loop runs at run time and changes s from Int32 to Float32; a variable keeps its type and",
    ),
    "undefined_after": (
        UnboundLocalError,
        f"{__file__}:{line_of_if(undefined_after)}, in k: v has no value behind this `if`, which is decided at run "
        "time, for only one branch assigns it;",
    ),
    "store_wrong_vector": (
        TypeError,
        "tensor<ptr<f16, rmem, align<32>> o 4:1>.store: the vector tensor_value<vector<4xf32> o 4> has elements",
    ),
    "add_shapes": (
        ValueError,
        "TensorSSA + TensorSSA: the shapes 4 and 3 do not go together: modes, matched from the last one on, are equal",
    ),
    "int_of_dynamic": (
        TypeError,
        "int(Int32): the value is known only at run time; compute with it as it is, or pass the number as",
    ),
    "index_list": (
        TypeError,
        "index(Int32): the value is known only at run time; an index of a Python list, a comparison of tuples, a",
    ),
    "dict_lookup": (
        TypeError,
        "hash(Int32): the value is known only at run time; a dict or set is looked up while tracing; use a",
    ),
    "unknown_arch": (
        AttributeError,
        "module 'tilewright.cute.arch' has no attribute 'threadIdx'. Did you mean: 'thread_idx'?",
    ),
    "unknown_name": (NameError, "name 'undefined_thing' is not defined"),
    "thread_idx_no_unpack": (
        cutlass.LayoutError,
        "tensor<ptr<f32, gmem> o (?):(1)>[(?,?,?)]: the coordinate does not fit the shape (?): each part is an integer",
    ),
    "thread_idx_arith": (TypeError, 'can only concatenate tuple (not "int") to tuple'),
    "assign_shape": (AttributeError, "property 'shape' of 'Tensor' object has no setter"),
    "tensor_plus_tensor": (
        TypeError,
        "unsupported operand type(s) for +: 'Tensor' and 'Tensor'; load the elements of a tensor to compute with",
    ),
    "arch_at_prompt": (RuntimeError, "cute.arch.thread_idx() has a value only while a @cute.kernel is launched"),
    "kernel_method_item": (AttributeError, "'Float32' object has no attribute 'item'"),
    "complex_dtype": (
        BufferError,
        "copy_k: argument a: elements of complex of 64 bits have no counterpart; view it as its real type, with",
    ),
    "empty_array": (
        cutlass.LayoutError,
        "copy_k: argument a: shape (0,) has no elements, and a layout needs positive extents; skip it",
    ),
    "smem_too_much": (RuntimeError, "k: a block has at most 232448 bytes of shared memory, not 400000"),
    "decorate_class": (TypeError, "kernel: A is a class; decorate its methods"),
    "constexpr_dynamic": (
        TypeError,
        "const_expr: the value is known only at run time; leave const_expr out for a branch of the program, or",
    ),
    "range_constexpr_dynamic": (
        TypeError,
        "range_constexpr: the value is known only at run time; loop over cutlass.range, or make it known while",
    ),
    "walrus": (
        TypeError,
        "bool(Boolean): the value is known only at run time; an index of a Python list, a comparison of tuples,",
    ),
    "match_dynamic": (
        TypeError,
        "bool(Boolean): the value is known only at run time; an index of a Python list, a comparison of tuples,",
    ),
    "in_dynamic": (
        TypeError,
        "bool(Boolean): the value is known only at run time; an index of a Python list, a comparison of tuples,",
    ),
    "sorted_dynamic": (
        TypeError,
        "bool(Boolean): the value is known only at run time; an index of a Python list, a comparison of tuples,",
    ),
    "zip_tensors": (
        TypeError,
        "tensor<ptr<f32, gmem> o (?):(1)>: its number of elements is known only at run time, so that Python does",
    ),
    "wrong_annotation": (TypeError, "copy_i: argument n: expected Int32, but got 1.5, which is none; round it: int(n)"),
    "none_arg": (TypeError, "Float32: expected a number, but got None of type NoneType"),
    "str_number": (TypeError, "copy_i: argument n: expected Int32, but got str '3'"),
    "array_number": (TypeError, "copy_i: argument n: expected Int32, but got ndarray array([0, 0, 0, 0], dtype=int32)"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_error_says_it_on_the_users_line(name):
    kind, said = SAID[name]
    with pytest.raises(kind) as caught:
        CASES[name]()
    *_, last = traceback.extract_tb(caught.value.__traceback__)
    frames = [
        x for x in traceback.extract_tb(caught.value.__traceback__)[1:] if "tilewright" in x.filename.split("tests")[-1]
    ]
    assert frames == []
    assert last.filename == __file__
    assert last.line.endswith("# here")
    text = str(caught.value).replace(f"{__file__}:{last.lineno}", "@")
    assert text.startswith(said)


def test_a_kernel_that_is_not_launched():
    with pytest.warns(RuntimeWarning, match=r"copy_k\(..\) binds the kernel's arguments and runs nothing") as caught:
        copy_k(x, y)
    assert caught[0].filename == __file__

    @cute.jit
    def f(a: cute.Tensor, b: cute.Tensor):
        copy_k(a, b)

    with pytest.warns(RuntimeWarning, match=r"write copy_k\(..\).launch\(grid=.., block=..\)"):
        f(x, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bound = copy_k(x, y)
        bound.launch(block=32)
        bound.launch(block=32)


def test_formats_of_what_is_known_at_run_time_only(capsys):
    @cute.kernel
    def k(a: cute.Tensor):
        i, _, _ = cute.arch.thread_idx()
        print(f"{i:3d} {a[i]:.2f} {Float32(2):.1f}")

    k(x).launch()
    assert capsys.readouterr().out == "? ? 2.0\n"
    assert f"{Int32(5):>4}" == "   ?"
    assert f"{cutlass.Uint8(5):03d}" == "005"


def test_torch_in_a_kernel():
    torch = pytest.importorskip("torch")

    @cute.kernel
    def k(a: cute.Tensor):
        a[0] = torch.exp(a[0])

    with pytest.raises(TypeError, match=r"must be Tensor, not Float32; torch computes on the host.*use cute.math"):
        k(x).launch()

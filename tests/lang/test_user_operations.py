"""Functions that extend the language: inline PTX, loc and ip, the values in an object and the object made again."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy
import pytest

import tilewright as cutlass
from tilewright import cute
from tilewright._mlir import ir
from tilewright._mlir.dialects import llvm
from tilewright.cute.runtime import from_dlpack
from tilewright.cutlass_dsl import T, dsl_user_op, extract_mlir_values, new_from_mlir_values


def _asm(res, operands, text, constraints, **keywords):
    return llvm.inline_asm(res, operands, text, constraints, asm_dialect=llvm.AsmDialect.AD_ATT, **keywords)


def _int32s(*values):
    return from_dlpack(numpy.array(values, numpy.int32))


@dsl_user_op
def _add(a, b, *, loc=None, ip=None):
    operands = [cutlass.Int32(x).ir_value(loc=loc, ip=ip) for x in (a, b)]
    return cutlass.Int32(_asm(T.i32(), operands, "add.s32 $0, $1, $2;", "=r,r,r", loc=loc, ip=ip))


def test_an_instruction_that_the_cpu_knows():
    @cute.jit
    def three_more(x: cute.Tensor):
        x[0] = _add(x[0], 3)

    x = numpy.array([4], numpy.int32)
    three_more(from_dlpack(x))
    assert x.tolist() == [7]


def _kernel_of(body, *args):
    """A compiled function whose kernel is `body`."""
    kernel = cute.kernel(body)

    @cute.jit
    def launch(*args):
        kernel(*args).launch(block=[32, 1, 1])

    return cute.compile(launch, *args)


def test_the_text_becomes_cuda():
    """A register for a Boolean, constants, results of two types; and NVRTC takes it."""

    def body(x: cute.Tensor, p: cute.Tensor):
        i, _, _ = cute.arch.thread_idx()
        some = _asm(
            T.bool(),
            [(i < 3).ir_value(), cutlass.Int32(-1).ir_value()],
            "{ .reg .pred a; .reg .pred b; setp.ne.b32 a, $1, 0; vote.sync.any.pred b, a, $2; selp.b32 $0, 1, 0, b; }",
            "=r,r,i",
            has_side_effects=True,
        )
        old = _asm(
            cutlass.Uint32.mlir_type,
            [x.iterator.toint().ir_value(), cutlass.Uint32(1).ir_value()],
            "atom.add.release.gpu.u32 $0, [$1], $2;",
            "=r,l,r",
            has_side_effects=True,
        )
        _asm(None, [x.iterator.llvm_ptr], "prefetch.global.L2 [$0];", "l", has_side_effects=True)
        x[i] = cutlass.Uint32(old) + 1
        p[i] = cutlass.Boolean(some)

    x, p = (from_dlpack(numpy.zeros(32, kind)) for kind in (numpy.uint32, numpy.bool_))
    compiled = _kernel_of(body, x, p)
    assert '"=r"(' in compiled.source
    assert '"n"(-1)' in compiled.source
    assert ': "l"(' in compiled.source
    for text in ("vote.sync.any.pred", "atom.add.release.gpu.u32", "prefetch.global.L2"):
        assert text in compiled.ptx
    with pytest.raises(cutlass._core.program.ProgramError, match=r"inline_asm cannot be executed by the CPU"):
        compiled(x, p)


def test_several_results():
    def body(x: cute.Tensor):
        pair = _asm(
            llvm.StructType.get_literal([T.i32(), T.i32()]),
            [x[0].ir_value()],
            "mov.b32 $0, $2; not.b32 $1, $2;",
            "=r,=r,r",
        )
        x[0] = llvm.extractvalue(T.i32(), pair, [0]) + cutlass.Int32(llvm.extractvalue(T.i32(), pair, [1]))
        with pytest.raises(TypeError, match=r"field \[1\] has the type i32, but f32 is asked for"):
            llvm.extractvalue(T.f32(), pair, [1])
        with pytest.raises(IndexError, match=r"the struct has no field \[2\]"):
            llvm.extractvalue(T.i32(), pair, [2])

    assert "not.b32 %1, %2" in _kernel_of(body, _int32s(1)).source


def test_results_and_constraints_agree():
    @cute.jit
    def wrong(x: cute.Tensor):
        _asm(T.i32(), [x[0].ir_value()], "bar.sync 0;", "r")

    with pytest.raises(ValueError, match=r"the constraints 'r' have 0 results, but 1 types are given"):
        wrong(_int32s(1))
    with pytest.raises(RuntimeError, match=r"llvm.inline_asm is an operation of a kernel"):
        _asm(None, [], "bar.sync 0;", "")


def test_an_operand_is_a_value():
    @cute.jit
    def wrong(x: cute.Tensor):
        _asm(None, [3], "bar.sync $0;", "r")

    with pytest.raises(TypeError, match=r"expected a value of the program, such as x.ir_value"):
        wrong(_int32s(1))


def test_types():
    assert cutlass.Float32.mlir_type == T.f32()
    assert cutlass.Boolean.mlir_type == T.bool() == ir.IntegerType.get_signless(1)
    assert ir.F32Type.get() == T.f32()
    assert cutlass.Uint32.mlir_type != T.i32()
    with pytest.raises(ValueError, match=r"width is 7"):
        ir.IntegerType.get_signless(7)
    assert (
        str(llvm.StructType.get_literal([T.i32(), llvm.PointerType.get(1)])) == "struct<i32, ptr<u8, gmem, align<1>>>"
    )


def test_a_value_of_another_type_is_converted():
    """The bits of an i32 as a Uint32, any number but 0 as True; a pointer is no number."""

    @cute.jit
    def convert(x: cute.Tensor, y: cute.Tensor):
        symbol = x[0].ir_value()
        y[0] = cutlass.Uint32(symbol) >> 31
        y[1] = cutlass.Boolean(symbol).to(cutlass.Uint32)
        with pytest.raises(TypeError, match=r"Int64: expected a number, but got a value of type ptr<i32, "):
            cutlass.Int64(x.iterator.llvm_ptr)

    y = numpy.zeros(2, numpy.uint32)
    convert(_int32s(-4), from_dlpack(y))
    assert y.tolist() == [1, 1]


def test_loc_and_ip_are_supplied():
    @dsl_user_op
    def both(x, *, loc, ip=None):
        return x, loc, ip

    assert both(1) == (1, None, None)
    assert both(1, loc="here") == (1, "here", None)

    class Holder:
        @dsl_user_op
        @cute.jit
        def stored(self, x: cute.Tensor, *, loc=None, ip=None):
            x[0] = x[0] + 1

    @cute.jit
    def called(x: cute.Tensor):
        Holder().stored(x, loc=None)

    x = numpy.array([1], numpy.int32)
    called(from_dlpack(x))
    assert x.tolist() == [2]


class Pair(NamedTuple):
    first: object
    second: object


@dataclasses.dataclass(frozen=True)
class Box:
    inside: object
    name: str = "box"


class Own:
    """Gives a tree of its own."""

    def __init__(self, n, pair):
        self.n, self.pair = n, pair

    def __extract_mlir_values__(self):
        return {"n": self.n, "pair": [self.pair.first, self.pair.second]}

    def __new_from_mlir_values__(self, values):
        return Own(values["n"], Pair(*values["pair"]))


def test_values_of_objects():
    int32s = [cutlass.Int32(i) for i in range(6)]
    own = Own(int32s[3], Pair(*int32s[4:]))
    value = (int32s[0], {"k": Box([int32s[1], None, "text"])}, Pair(int32s[2], 7), own)
    assert [int(x) for x in extract_mlir_values(value)] == [0, 1, 2, 3, 4, 5]
    others = [cutlass.Int32(10 + i) for i in range(6)]
    made = new_from_mlir_values(value, others)
    assert made[0] is others[0]
    assert made[1] == {"k": Box([others[1], None, "text"])}
    assert made[2] == Pair(others[2], 7)
    assert (made[3].n, made[3].pair) == (others[3], Pair(others[4], others[5]))
    for wrong in (others[:5], [*others, others[0]]):
        with pytest.raises(ValueError, match=f"has 6 values, but {len(wrong)} are given"):
            new_from_mlir_values(value, wrong)


def test_values_as_a_tree():
    own = Own(cutlass.Int32(1), Pair(cutlass.Int32(2), cutlass.Int32(3)))
    tree = extract_mlir_values({"a": own, "b": (cutlass.Int32(4), None)}, structured=True)
    assert tree == {
        "a": {"n": cutlass.Int32(1), "pair": [cutlass.Int32(2), cutlass.Int32(3)]},
        "b": [cutlass.Int32(4), []],
    }
    made = new_from_mlir_values({"a": own, "b": (cutlass.Int32(4), None)}, tree, structured=True)
    assert made["a"].pair.second == 3
    assert made["b"] == (cutlass.Int32(4), None)


class Counter:
    """Goes round a loop by the functions, as the examples' barriers do."""

    def __init__(self, pointer, count):
        self.pointer, self.count = pointer, count

    @cute.jit
    def step(self):
        self.pointer.store(self.pointer.load() + self.count)
        self.count = self.count + 1

    def __extract_mlir_values__(self):
        return extract_mlir_values(self.pointer) + extract_mlir_values(self.count)

    def __new_from_mlir_values__(self, values):
        return Counter(new_from_mlir_values(self.pointer, [values[0]]), new_from_mlir_values(self.count, [values[1]]))


def test_an_object_goes_round_a_loop_and_into_a_kernel():
    @cute.kernel
    def kernel(counter: Counter, x: cute.Tensor):
        for _ in cutlass.range(x[1]):
            counter.step()
        x[2] = counter.count

    @cute.jit
    def launch(x: cute.Tensor, start: cutlass.Int32):
        kernel(Counter(x.iterator, start * 2), x).launch()

    x = numpy.array([0, 4, 0], numpy.int32)
    launch(from_dlpack(x), 5)
    assert x.tolist() == [10 + 11 + 12 + 13, 4, 14]


def test_a_loop_without_rewriting():
    def add_up(x):  # not decorated: Python calls it as it is
        for i in cutlass.for_generate(x[1]):
            x[0] = x[0] + i
            cutlass.yield_out()
        with pytest.raises(TypeError, match=r"for_generate carries no values"):
            cutlass.yield_out([x])

    @cute.jit
    def call(x: cute.Tensor):
        add_up(x)

    x = numpy.array([0, 5], numpy.int32)
    call(from_dlpack(x))
    assert x.tolist() == [10, 5]
    with pytest.raises(RuntimeError, match=r"for_generate is an operation of a kernel"):
        next(iter(cutlass.for_generate(3)))


class Extents:
    """Numbers of the host function that an object passes on: it has the protocol of values."""

    def __init__(self, n):
        self.n = n

    def __extract_mlir_values__(self):
        return extract_mlir_values(self.n)

    def __new_from_mlir_values__(self, values):
        return Extents(new_from_mlir_values(self.n, values))


class Counting:
    """A program whose host function leaves numbers of its own in the object, where its kernel can mention them."""

    @cute.jit
    def __call__(self, x: cute.Tensor):
        self.step = 2
        self.extents = Extents(x.shape[0] + 1)
        self.kernel(x, x.shape[0]).launch(block=1)

    @cute.kernel
    def kernel(self, x: cute.Tensor, n: cutlass.Int32):
        i = cutlass.Int32(0)
        while i < n:
            x[i] = i * self.step
            i += 1


def test_numbers_of_the_host_function_do_not_go_round_a_kernels_loop():
    x = numpy.zeros(5, numpy.int32)
    Counting()(x)
    assert x.tolist() == [0, 2, 4, 6, 8]

"""Arguments of classes that are the user's: structs of C, objects that give their values; and shapes, fake tensors."""

from __future__ import annotations

import ctypes

import numpy
import pytest

import tilewright as cutlass
from tilewright import cute
from tilewright._mlir import ir
from tilewright._mlir.dialects import llvm
from tilewright.cute.runtime import from_dlpack, make_ptr
from tilewright.cutlass_dsl import T


class Struct(ctypes.Structure):
    _fields_ = (
        ("flag", ctypes.c_int8),
        ("data", ctypes.c_void_p),
        ("extents", ctypes.c_int32 * 2),
        ("factor", ctypes.c_double),
    )


STRUCT = llvm.StructType.get_literal(
    [ir.IntegerType.get_signless(8), llvm.PointerType.get(), llvm.StructType.get_literal([T.i32()] * 2), T.f64()]
)


class SeenMatrix(ir.Value):
    """A matrix as a traced function sees it."""

    @property
    def tensor(self):
        pointer = llvm.extractvalue(llvm.PointerType.get(), self, [1])
        extents = llvm.extractvalue(llvm.StructType.get_literal([T.i32()] * 2), self, [2])
        shape = tuple(llvm.extractvalue(T.i32(), extents, [i]) for i in range(2))
        return cute.make_tensor(cute.make_ptr(cutlass.Float64, pointer), cute.make_layout(shape, stride=(shape[1], 1)))


class Matrix:
    def __init__(self, array, flag, factor):
        self.array = array
        self.struct = Struct(flag, array.ctypes.data, (ctypes.c_int32 * 2)(*array.shape), factor)

    def __get_mlir_types__(self):
        return [STRUCT]

    def __c_pointers__(self):
        return [ctypes.addressof(self.struct)]

    def __new_from_mlir_values__(self, values):
        return SeenMatrix(values[0])


@cute.kernel
def _scale_kernel(x: cute.Tensor, factor: cutlass.Float64, flag: cutlass.Int8):
    i, _, _ = cute.arch.thread_idx()
    if i < cute.size(x):
        x[i] = x[i] * factor + flag.to(cutlass.Float64)


@cute.jit
def _scale(matrix):
    factor = llvm.extractvalue(T.f64(), matrix, [3])
    flag = llvm.extractvalue(ir.IntegerType.get_signless(8), matrix, [0])
    _scale_kernel(matrix.tensor, factor, flag).launch(block=[32, 1, 1])


def test_a_struct_of_c():
    """Each field is read at a call, where C puts it, whatever the struct was when the function was compiled."""
    compiled = cute.compile(_scale, Matrix(numpy.ones((4, 2)), 1, 1.0))
    array = numpy.arange(6.0).reshape(2, 3)
    compiled(Matrix(array, -7, 0.5))
    numpy.testing.assert_array_equal(array, numpy.arange(6.0).reshape(2, 3) / 2 - 7)
    _scale(Matrix(array, 0, 4.0))
    numpy.testing.assert_array_equal(array, 4 * (numpy.arange(6.0).reshape(2, 3) / 2 - 7))


def test_another_class_is_refused():
    compiled = cute.compile(_scale, Matrix(numpy.ones((4, 2)), 1, 1.0))
    with pytest.raises(TypeError, match=r"matrix: expected a Matrix of the types it was compiled for"):
        compiled(numpy.ones((4, 2)))


class Buffer:
    """A pointer with what is fixed about it."""

    def __init__(self, pointer, width):
        self.pointer, self.width = pointer, width

    def __extract_mlir_values__(self):
        return [self.pointer]

    def __new_from_mlir_values__(self, values):
        return Buffer(values[0], self.width)


def test_an_object_that_gives_its_values():
    @cute.kernel
    def kernel(buffer: Buffer, n: cutlass.Int32):
        x = cute.make_tensor(buffer.pointer, cute.make_layout((2, buffer.width), stride=(buffer.width, 1)))
        x[1, buffer.width - 1] = n

    @cute.jit
    def launch(buffer: Buffer, n: cutlass.Int32):
        kernel(buffer, n).launch()

    x, y = numpy.zeros(6, numpy.int32), numpy.zeros(6, numpy.int32)

    def buffer(array):
        return Buffer(make_ptr(cutlass.Int32, array.ctypes.data, cute.AddressSpace.gmem), 3)

    compiled = cute.compile(launch, buffer(x), 1)
    compiled(buffer(y), 8)
    assert (x.tolist(), y.tolist()) == ([0] * 6, [0, 0, 0, 0, 0, 8])
    with pytest.raises(TypeError, match=r"buffer: expected a Buffer such as it was compiled for"):
        compiled((make_ptr(cutlass.Int32, y.ctypes.data),), 8)


def test_shapes_are_fixed_and_their_numbers_are_not():
    """Extents that Python knows are static where the parameter is a shape; a tuple of no such kind is dynamic."""
    seen = []

    @cute.jit
    def look(shape: cute.Shape, other, n: cutlass.Int32):
        seen.append((str(cute.make_layout(shape)), str(cute.make_layout(other))))
        for _ in cutlass.range_constexpr(cute.size(shape)):
            pass

    look((2, (3, 4)), (2, 3), 1)
    look((2, (3, 4)), (5, 3), 1)
    look((2, (3, 5)), (5, 3), 1)
    assert seen == [("(2,(3,4)):(1,(2,6))", "(?,?):(1,?)"), ("(2,(3,5)):(1,(2,6))", "(?,?):(1,?)")]
    with pytest.raises(TypeError, match=r"the value is known only at run time"):
        look((2, cutlass.Int32(3)), (5, 3), 1)
    compiled = cute.compile(look, (2, 3), (2, 3), 1)
    with pytest.raises(ValueError, match=r"shape is \(2, 4\), but the function was compiled for \(2, 3\)"):
        compiled((2, 4), (2, 3), 1)


def test_fake_tensors_of_torch():
    torch = pytest.importorskip("torch")
    from torch._subclasses.fake_tensor import FakeTensorMode

    @cute.jit
    def double(x: cute.Tensor):
        for i in cutlass.range(cute.size(x)):
            x[i] = x[i] * 2

    with FakeTensorMode():
        fake = from_dlpack(torch.zeros(3, 4, dtype=torch.bfloat16), assumed_align=16)
        assert (fake.element_type, str(fake.layout), fake.iterator.alignment) == (cutlass.BFloat16, "(3,4):(4,1)", 16)
        compiled = cute.compile(double, from_dlpack(torch.zeros(3, 4)).mark_layout_dynamic())
        refused = from_dlpack(torch.zeros(3, 4))
        with pytest.raises(BufferError, match=r"elements of torch.complex64 have no counterpart"):
            from_dlpack(torch.zeros(3, dtype=torch.complex64))
    x = torch.arange(6.0).reshape(2, 3)
    compiled(from_dlpack(x))
    torch.testing.assert_close(x, torch.arange(6.0).reshape(2, 3) * 2)
    with pytest.raises(ValueError, match=r"x has no memory: it is a fake tensor, to compile with"):
        compiled(refused)


def test_a_pointer_of_a_pointer():
    x = numpy.arange(4, dtype=numpy.int32)
    pointer = from_dlpack(x).iterator
    assert cute.make_ptr(cutlass.Int8, pointer).toint() == x.ctypes.data

    @cute.jit
    def second(t: cute.Tensor, out: cute.Tensor):
        out[0] = cute.make_ptr(cutlass.Int32, t.iterator + 2).load()

    out = numpy.zeros(1, numpy.int32)
    second(from_dlpack(x), from_dlpack(out))
    assert out.tolist() == [2]

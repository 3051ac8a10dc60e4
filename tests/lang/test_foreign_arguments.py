"""Arguments of classes that are the user's: structs of C, objects that give their values; and shapes, fake tensors."""

from __future__ import annotations

import ctypes

import numpy
import pytest

import tilewright as cutlass
from tilewright import _core, cute
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


class Wrapped:
    """Passes on what its pointer says of itself."""

    def __init__(self, pointer, width):
        self.pointer, self.width = pointer, width

    def __c_pointers__(self):
        return self.pointer.__c_pointers__()

    def __get_mlir_types__(self):
        return self.pointer.__get_mlir_types__()

    def __new_from_mlir_values__(self, values):
        return Wrapped(self.pointer.__new_from_mlir_values__(values), self.width)


def test_an_object_that_passes_on_its_pointer(monkeypatch):
    @cute.jit
    def fill(wrapped: Wrapped):
        assert wrapped.pointer.alignment == 16
        for i in cutlass.range(wrapped.width):
            wrapped.pointer[i] = i + 1

    def wrapped(array):
        return Wrapped(make_ptr(cutlass.Int32, array.ctypes.data, cute.AddressSpace.gmem, assumed_align=16), 3)

    x, y = numpy.zeros(8, numpy.int32), numpy.zeros(8, numpy.int32)
    compiled = cute.compile(fill, wrapped(x))
    asked = []
    monkeypatch.setattr(_core.cuda, "device_of_address", lambda address: asked.append(address) or -1)
    compiled(wrapped(y))
    assert (x.tolist(), y[:4].tolist()) == ([0] * 8, [1, 2, 3, 0])
    assert asked == [y.ctypes.data]
    assert make_ptr(cutlass.Int32, 64)._pointer == 64


def test_where_a_pointer_without_an_owner_points(monkeypatch):
    """The driver says whose memory it is: a kernel runs there, or is refused beside a tensor of the CPU."""

    @cute.jit
    def launch(pointer: cute.Pointer, x: cute.Tensor):
        pass

    monkeypatch.setattr(_core.cuda, "device_of_address", lambda address: 1 if address == 4096 else -1)
    x = from_dlpack(numpy.zeros(4, numpy.int32))
    launch(make_ptr(cutlass.Int32, 8192, cute.AddressSpace.gmem), x)
    launch(make_ptr(cutlass.Int32, 0, cute.AddressSpace.gmem), x)
    with pytest.raises(ValueError, match=r"several devices: x on the CPU, pointer on cuda:1; move them to one"):
        launch(make_ptr(cutlass.Int32, 4096, cute.AddressSpace.gmem), x)


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

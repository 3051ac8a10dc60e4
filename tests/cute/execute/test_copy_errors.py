"""What copies on the CPU refuse, as a GPU would not."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from gpu_tensors import LOAD, memory, numbered, universal
from tilewright import AddressSpace, Boolean, Float16, Float32, Int32, cute
from tilewright.cute.nvgpu import (
    CopyG2ROp,
    CopyUniversalOp,
)
from tilewright.cute.runtime import from_dlpack

L = cute.parse
F = "(4,2):(1,4)"
TILED = cute.make_tiled_copy_tv(universal(Float32, 64), L("(2,4):(1,2)"), L("(2,1):(1,0)"))


def unaligned(space=AddressSpace.gmem):
    return cute.make_tensor(memory("16:1", Float32, space).iterator + 1, L(F))


def frozen():
    array = np.zeros(8, np.float32)
    array.flags.writeable = False
    return from_dlpack(array)


REFUSED = [
    (
        lambda: cute.copy(CopyUniversalOp(), memory(F, Float32), memory(F, Float32)),
        TypeError,
        "expected a CopyAtom or a",
    ),
    (
        lambda: cute.copy(universal(Float32), memory(F, Float32), memory(F, Float16)),
        TypeError,
        "src has elements of 32 bits .Float32. and dst of 16 bits .Float16.; basic_copy converts",
    ),
    (
        lambda: cute.copy(universal(Float16), memory(F, Float32), memory(F, Float32)),
        TypeError,
        "the atom copies elements of 16 bits .Float16., but the tensors have elements of 32 bits",
    ),
    (
        lambda: cute.copy(universal(Float32), memory(F, Float32), memory("8:1", Float32)),
        ValueError,
        "has 2 modes and dst .* has 1; they need the same",
    ),
    (
        lambda: cute.copy(universal(Float32), memory(F, Float32), memory("(4,3):(1,4)", Float32)),
        ValueError,
        r"mode 1 has size 2 in src .* and 3 in dst",
    ),
    (
        lambda: cute.copy(universal(Float32, 128), memory("(6,2):(1,6)", Float32), memory("(6,2):(1,6)", Float32)),
        ValueError,
        r"moves 4 elements at once, but mode 0 of src .* has 6, which is no multiple of it; use an atom of 64 bits",
    ),
    (
        lambda: cute.copy(universal(Float32, 128), unaligned(), memory(F, Float32)),
        ValueError,
        r"copy: make_copy_atom\(CopyUniversalOp\(\), Float32, num_bits_per_copy=128\) needs src aligned to 16 bytes, "
        r"but the pointer of tensor<ptr<f32, gmem> o .*> has align<4>; .*assumed_align=16",
    ),
    (
        lambda: cute.copy(universal(Float32, 64), memory(F, Float32), unaligned()),
        ValueError,
        "needs dst aligned to 8 bytes",
    ),
    (
        lambda: cute.copy(universal(Float32, 128), memory("(4,2):(1,5)", Float32), memory(F, Float32)),
        ValueError,
        "accesses 16 bytes of src at a multiple of 16, but .* has a vector at offset 5, 20 bytes after",
    ),
    (
        lambda: cute.copy(universal(Float32, 128), memory(F, Float32), memory("(4,2):(2,1)", Float32)),
        ValueError,
        "accesses 4 elements of dst side by side, but .* has them at the offsets 0, 2, 4, 6; use a narrower copy",
    ),
    (
        lambda: cute.copy(LOAD, memory("8:1", Float16), memory("8:1", Float16)),
        ValueError,
        r"LdMatrix8x8x16bOp\(.*\) moves data between the 32 threads of a warp, and these tensors belong to one; "
        r"copy_tiled\(tiled_copy, src, dst\) runs all threads",
    ),
    (
        lambda: cute.copy(universal(Float32), cute.make_tensor(0, 4), memory("4:1", Float32)),
        TypeError,
        "src is tensor<0 o 4:1>, whose elements are computed, not stored",
    ),
    (lambda: cute.copy(universal(Float32), 3, memory(F, Float32)), TypeError, "expected src to be a Tensor"),
    (
        lambda: cute.copy(universal(Float32), memory("8:1", Float32), frozen()),
        ValueError,
        "read-only",
    ),
    (
        lambda: cute.copy(
            universal(Float32, 128), memory(F, Float32), memory(F, Float32), pred=cute.make_rmem_tensor((4, 2), Boolean)
        ),
        ValueError,
        r"pred has shape \(4,2\), but needs one Boolean for each call of the atom: \(1,2\)",
    ),
    (
        lambda: cute.copy(
            universal(Float32, 64), memory(F, Float32), memory(F, Float32), pred=cute.make_rmem_tensor((2,), Boolean)
        ),
        ValueError,
        r"pred has shape \(2\), but needs one Boolean for each call of the atom: \(2,2\)",
    ),
    (
        lambda: cute.copy(
            universal(Float32), cute.make_tensor(memory("4:1", Float32).iterator, L("4:-1")), memory("4:1", Float32)
        ),
        IndexError,
        "offset -1 of .* lies outside the owner's memory, which has 4 elements",
    ),
    (
        lambda: cute.copy_atom_call(universal(Float32), memory(F, Float32), memory(F, Float32)),
        ValueError,
        "copy_atom_call: src has the layout .* of 2 modes",
    ),
    (
        lambda: cute.basic_copy(memory(F, Float32), memory("7:1", Float32)),
        ValueError,
        "has 8 elements and dst .* has 7",
    ),
    (
        lambda: cute.basic_copy_if(cute.make_rmem_tensor(3, Boolean), memory(F, Float32), memory(F, Float32)),
        ValueError,
        "pred has 3 elements and src 8",
    ),
    (lambda: cute.autovec_copy(memory(F, Float32), memory(F, Float16)), TypeError, "basic_copy converts"),
    (lambda: cute.autovec_copy(memory(F, Float32), memory("7:1", Float32)), ValueError, "has 8 elements and dst"),
    (
        lambda: cute.autovec_copy(memory(cute.make_layout((Int32(4), 2)), Float32), memory(F, Float32)),
        tw.LayoutError,
        "dynamic layout, of which no vector width is known",
    ),
    (lambda: cute.copy_tiled(LOAD, memory(F, Float16), memory(F, Float16)), TypeError, "expected tiled_copy to be a T"),
    (
        lambda: cute.copy_tiled(TILED, memory("(4,4):(1,4)", Float32), memory("(4,8):(1,4)", Float32)),
        ValueError,
        "mode 1 has size 4 in src",
    ),
    (
        lambda: cute.copy_tiled(
            TILED,
            memory("(4,4):(1,4)", Float32),
            memory("(4,4):(1,4)", Float32),
            pred=cute.make_rmem_tensor(16, Boolean),
        ),
        ValueError,
        r"pred has shape 16, but needs the extents of src, \(4,4\)",
    ),
    (
        lambda: cute.copy_threads(TILED, memory("(4,4):(1,4)", Float32), memory("(4,4):(1,4)", Float32)),
        ValueError,
        r"copy_threads: src .* has modes of size \(4,4\), but needs \(8,2\) first",
    ),
    (
        lambda: cute.copy_threads(TILED, memory("(8,2,3):(2,1,16)", Float32), memory("(8,2,2):(2,1,16)", Float32)),
        ValueError,
        "has 3 tiles and dst .* has 2",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_registers_need_no_alignment():
    """They are named one by one."""
    src = numbered("(4,2):(1,4)", Float32, AddressSpace.gmem)
    registers = cute.make_rmem_tensor(cute.make_layout((4, 2), stride=(2, 1)), Float32)
    cute.copy(cute.make_copy_atom(CopyG2ROp(), Float32, num_bits_per_copy=128), src, registers)
    assert list(registers) == list(src)
    cute.copy(universal(Float32, 64), src, registers)
    assert list(registers) == list(src)


def test_no_memory_behind_a_pointer():
    src = cute.make_tensor(cute.make_ptr(Float32, 4096), 4)
    with pytest.raises(RuntimeError, match="the size of its memory is not known"):
        cute.copy(universal(Float32), src, memory("4:1", Float32))

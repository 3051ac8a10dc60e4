"""Pointers, tensors, layouts and vectors go through branches and round loops: same type, other symbols."""

import numpy as np
import pytest

import tilewright as cutlass
from tilewright import Float16, Float32, Int32, _core, cute
from tilewright.cute.tensors.pointer import AddressSpace
from tilewright.cute.tensors.tensor import Tensor
from tilewright.cute.tensors.traced_pointer import TracedPointer, frame_pointer, pointer_type
from tilewright.lang.rewrite import rewrite

program = _core.program


def text_of(function, numbers=1, dtype=Float32):
    """The program of function(tensor, *numbers)."""
    builder = program.Builder()
    types = [pointer_type(dtype, AddressSpace.gmem, 16), *[program.number("Int32")] * numbers]
    with builder:
        pointer, *symbols = builder.begin_function("f", False, types, [])
        tensor = Tensor(TracedPointer(dtype, pointer, AddressSpace.gmem, 16), cute.make_layout((4, 8)))
        rewrite(function)(tensor, *map(Int32, symbols))
        builder.end_function([])
        return str(builder.finish())


def test_a_tensor_that_a_branch_chooses():
    def f(tensor, n):
        part = tensor[None, 0]
        if n > 1:
            part = tensor[None, 4]
        part[2] = 1.0

    text = text_of(f)
    assert "%part" not in text
    assert ": ptr<f32, gmem, align<16>> = if" in text


def test_a_tensor_that_goes_round():
    def f(tensor, n):
        part = tensor[None, 0]
        for i in range(n):
            part[0] = 1.0
            part = tensor[None, i]
        part[1] = 2.0

    (line,) = [x for x in text_of(f).splitlines() if "body(" in x]
    assert line.count("ptr<f32, gmem, align<16>>") == 1


def test_a_tensor_of_another_layout():
    def f(tensor, n):
        part = tensor[None, 0]
        if n > 1:
            part = tensor[0, None]
        part[1] = 1.0

    with pytest.raises(TypeError, match=r"part is tensor<.* o \(8\):\(4\)> in one branch and tensor<.* o \(4\):\(1\)>"):
        text_of(f)

    def g(tensor, n):
        part = tensor[None, 0]
        for _ in range(n):
            part = tensor[0, None]
        part[1] = 1.0

    with pytest.raises(TypeError, match=r"the loop runs at run time and changes part from tensor<.* to tensor<"):
        text_of(g)


def test_of_two_alignments_the_weaker_one_goes_on():
    seen = []

    def f(tensor, n):
        part = tensor[None, 0]
        if n > 1:
            part = cute.domain_offset((2,), part)
        seen.append(part.iterator.alignment)
        part[1] = 1.0

    text = text_of(f)
    assert ": ptr<f32, gmem, align<8>> = if" in text
    assert seen == [8]

    traced = rewrite(f)

    def g(tensor, n):
        return traced(tensor, n) if n > 2 else traced(tensor, n + 1)

    text_of(g)


def test_an_alignment_that_a_loop_loses_is_lost_before_its_first_trip():
    seen = []

    def f(tensor, n):
        start = tensor.iterator
        for _ in range(n):
            start.store(1.0)
            for _ in range(n):
                start = start + 2
        start.store(2.0)
        seen.append(start.alignment)

    text = text_of(f)
    assert seen[-1] == 8
    assert text.count("for") == 2
    assert all("align<8>" in line for line in text.splitlines() if "body(" in line)

    def g(tensor, n):
        part, i = tensor[None, 0], n
        while i > 0:
            part = cute.domain_offset((i,), part)
            i -= 1
        part[0] = 1.0

    (before, body) = (line for line in text_of(g).splitlines() if "before(" in line or "body(" in line)
    assert "align<4>" in before
    assert "align<4>" in body


def test_other_differences_of_pointers_are_errors():
    def f(tensor, n):
        start = tensor.iterator
        for _ in range(n):
            start = cute.recast_ptr(start, dtype=Int32) + 1
        start.store(1)

    with pytest.raises(TypeError, match=r"the loop runs at run time and changes start from ptr<f32.*> to ptr<i32"):
        text_of(f)


def test_what_objects_hold_becomes_weaker_too():
    class Walk:
        def __init__(self, start):
            self.start = start

    def f(tensor, n):
        walk = Walk(tensor.iterator)
        for _ in range(n):
            walk.start = walk.start + n
        walk.start.store(1.0)
        if n > 1:
            walk.start = tensor.iterator
        walk.start.store(1.0)

    (line,) = [x for x in text_of(f).splitlines() if "body(" in x]
    assert "align<4>" in line


def test_what_divides_a_leaf_becomes_weaker():
    seen = []

    def f(tensor, n):
        layout = cute.make_layout(4, stride=cute.assume(n, 8))
        if n > 8:
            layout = cute.make_layout(4, stride=cute.assume(n * 3, 12))
        seen.append(str(layout))
        for i in range(n):
            layout = cute.make_layout(4, stride=i)
        tensor[0] = layout(3)
        seen.append(str(layout))

    text_of(f)
    assert seen == ["4:?{div=4}", "4:?"]


@cute.kernel
def walk_kernel(x: cute.Tensor, y: cute.Tensor, n: Int32):
    here, there = x.iterator, y.iterator
    for i in cutlass.range(n):
        there.store(here.load() + Float32(i))
        here, there = here + 3, there + 1
    last = here
    if n > 4:
        last = x.iterator
    there.store(last.load())


def test_pointers_that_walk_run():
    x, y = np.arange(32, dtype=np.float32), np.zeros(8, np.float32)
    walk_kernel(
        cute.runtime.from_dlpack(x, assumed_align=16), cute.runtime.from_dlpack(y, assumed_align=16), 5
    ).launch()
    assert y.tolist() == [0, 4, 8, 12, 16, 0, 0, 0]
    walk_kernel(
        cute.runtime.from_dlpack(x, assumed_align=16), cute.runtime.from_dlpack(y, assumed_align=16), 2
    ).launch()
    assert y.tolist() == [0, 4, 6, 12, 16, 0, 0, 0]


def test_dynamic_layouts():
    def f(tensor, n, m):
        layout = cute.make_layout((n, 4), stride=(4, m))
        if n > m:
            layout = cute.make_layout((m, 4), stride=(4, n))
        for i in range(layout(1, 2)):
            layout = cute.make_layout((i, 4), stride=(4, i))
        tensor[0] = layout.shape[0]

    text = text_of(f, numbers=2)
    assert "i32, " in text
    assert text.count(" if ") == 1

    def static(tensor, n):
        layout = cute.make_layout((2, 4))
        if n > 1:
            layout = cute.make_layout((4, 2))
        tensor[0] = layout.shape[0]

    with pytest.raises(TypeError, match=r"layout is Layout \(4,2\):\(1,4\) in one branch and Layout \(2,4\)"):
        text_of(static)


def test_vectors():
    def f(tensor, n):
        total = tensor[None, 0].load()
        for i in range(n):
            total = total + tensor[None, i].load()
        if n > 2:
            total = total * 2.0
        tensor[None, 1].store(total)

    text = text_of(f)
    assert "f32x4 = for" in text
    assert "f32x4 = if" in text

    def other(tensor, n):
        total = tensor[None, 0].load()
        for i in range(n):
            total = tensor[i, None].load()
        tensor[None, 1].store(total)

    with pytest.raises(TypeError, match="changes total from"):
        text_of(other)


def test_fragments_are_memory():
    def f(tensor, n):
        fragment = Tensor(frame_pointer(Float32, 4, 16), cute.make_layout(4))
        fragment.fill(0.0)
        for i in range(n):
            if i > 2:
                fragment[1] = 3.0
        tensor[None, 0].store(fragment.load())

    text = text_of(f)
    assert "body(%i.7: i32) {" in text or "body(%i." in text
    assert "yield" not in text


def test_numbers_keep_their_types():
    def f(tensor, n):
        x = tensor[0]
        if n > 1:
            x = 0
        tensor[1] = x
        y = n if n > 3 else 7
        wide = n.to(cute.Int64) if n > 1 else 5 if hasattr(cute, "Int64") else n
        tensor[2] = y + wide

    with pytest.raises(TypeError, match="Float16"):
        text_of(lambda tensor, n: tensor[0] if n > 1 else n, dtype=Float16)

    def narrow(tensor, n):
        x = 0.5 if n > 1 else tensor[0]
        tensor[1] = x

    assert ": f16 = if" in text_of(narrow, dtype=Float16)
    assert f.__name__ == "f"


def test_what_divides_a_number_is_forgotten():
    def f(tensor, n):
        m = n * 8
        if n > 1:
            m = n + 1
        assert "div" not in str(m)
        k = n * 4
        for _ in range(n):
            k = k + 1
        tensor[k] = 1.0 if str(k) == "?" else 2.0

    text_of(f)


def test_mma_fields_round_a_loop():
    def f(tensor, n):
        mma = cute.make_tiled_mma(cute.nvgpu.MmaUniversalOp(Float32), (1, 1, 1))
        accumulate = cute.nvgpu.warpgroup.Field.ACCUMULATE
        mma.set(accumulate, False)
        for i in range(n):
            if i > 0:
                mma.set(accumulate, True)
            tensor[i] = 1.0 if mma.get(accumulate) else 2.0
            mma.set(accumulate, True)

    text = text_of(f)
    assert "bool" in next(x for x in text.splitlines() if "body(" in x)

    def begin(mma, i):
        mma.set(accumulate, i != 0)

    accumulate = cute.nvgpu.warpgroup.Field.ACCUMULATE

    def in_a_function(tensor, n):
        """What a function that the loop calls sets goes round, too."""
        mma = cute.make_tiled_mma(cute.nvgpu.MmaUniversalOp(Float32), (1, 1, 1))
        mma.set(accumulate, False)
        while n > 0:
            n -= 1
            tensor[n] = 1.0 if mma.get(accumulate) else 2.0
            begin(mma, n)
        tensor[n] = 3.0 if mma.get(accumulate) else 4.0

    text = text_of(in_a_function)
    assert text.count("while") == 1
    assert "bool" in next(x for x in text.splitlines() if "body(" in x)

    def only_read(tensor, n):
        mma = cute.make_tiled_mma(cute.nvgpu.MmaUniversalOp(Float32), (1, 1, 1))
        for i in range(n):
            tensor[i] = cute.size(mma.thr_layout_vmnk)

    (line,) = [x for x in text_of(only_read).splitlines() if "body(" in x]
    assert "bool" not in line


def test_a_copy_of_a_dynamic_number_of_elements():
    @cute.kernel
    def copying(x: cute.Tensor):
        cute.autovec_copy(cute.make_rmem_tensor(8, Int32), x[0, None])

    with pytest.raises(TypeError, match=r"autovec_copy: dst .* known only at run time; take a tile of a static shape"):
        copying(np.zeros((2, 8), np.int32)).launch(block=1)

"""Every number of the articles 000 and 003: thread-value layouts."""

from __future__ import annotations

import numpy as np

from seed_layouts import dynamic, grid, offsets
from tilewright import cute, kernels
from tilewright.__main__ import demo_tensor
from tilewright.cute.runtime import from_dlpack
from tilewright.cute.text import printing

L = cute.parse
TV = L("((2,2),(2,3)):((2,12),(1,4))")
VALUES = [[0, 1, 4, 5, 8, 9], [2, 3, 6, 7, 10, 11], [12, 13, 16, 17, 20, 21], [14, 15, 18, 19, 22, 23]]


@cute.kernel
def visualize_tv_layout_kernel(mA: cute.Tensor, tv_layout: cute.Layout):
    tidx, _, _ = cute.arch.thread_idx()
    # Compose mA with TV Layout
    composed = cute.composition(mA, tv_layout)
    cute.printf("TIDX: {}", tidx)
    cute.printf("DATA: {}", composed[(tidx, None)])


@cute.jit
def visualize_tv_layout(
    mA: cute.Tensor,
):
    # mA Layout: (24, 1) : (1, 0)
    tv_layout = cute.make_layout(shape=((2, 2), (2, 3)), stride=((2, 12), (1, 4)))
    print(f"TV Layout: {tv_layout}")

    # Launch the kernel asynchronously
    # Async token(s) can also be specified as dependencies
    visualize_tv_layout_kernel(mA, tv_layout).launch(
        grid=[1, 1, 1],
        block=[cute.size(tv_layout, mode=[0]), 1, 1],
    )


def expected_text(address, space):
    lines = ["TV Layout: ((2,2),(2,3)):((2,12),(1,4))"]
    for t, (offset, values) in enumerate(zip((0x0, 0x8, 0x30, 0x38), VALUES, strict=True)):
        lines.append(f"TIDX: {t}")
        lines.append(f"DATA: raw_ptr(0x{address + offset:016x}: i32, {space}, align<8>) o ((2,3)):((1,4)) = ")
        lines.append(f"  ( {', '.join(map(str, values))} )")
    return "\n".join(lines) + "\n"


def test_000_the_program(capsys):
    """The author's program, with the import lines changed and the array on the CPU, prints the author's text."""
    a = demo_tensor()  # torch.arange(24, dtype=torch.int32).reshape(24, 1), or NumPy's where there is no torch
    a_ = from_dlpack(a, assumed_align=16)
    visualize_tv_layout(a_)
    assert capsys.readouterr().out == expected_text(a_.data_ptr, "gmem")
    assert f"{kernels.visualize_tv(a_, TV)}\n" == expected_text(a_.data_ptr, "gmem")


def test_000_problem():
    """Figure 1: which thread owns which of the 24 elements."""
    owner = [next(t for t in range(4) if i in VALUES[t]) for i in range(24)]
    assert owner == [0, 0, 1, 1] * 3 + [2, 2, 3, 3] * 3
    assert kernels.visualize_tv(np.arange(24), TV).values.tolist() == VALUES


def test_000_value_layout():
    """Figure 2."""
    assert grid("(2,3):(1,4)") == [[0, 4, 8], [1, 5, 9]]


def test_000_thread_layout():
    """Figures 3 and 4: the first indices of the threads."""
    assert [row[0] for row in VALUES] == [0, 2, 12, 14]
    assert grid("(2,2):(2,12)") == [[0, 12], [2, 14]]


def test_000_thread_value_layout():
    """Figure 5."""
    assert cute.make_layout([L("(2,2):(2,12)"), L("(2,3):(1,4)")]) == TV
    assert grid(TV) == VALUES
    assert (cute.size(TV, mode=[0]), cute.size(TV, mode=[1])) == (4, 6)


def test_000_composition():
    """Figure 6: (thread, value) to coordinate to index to data."""
    a = from_dlpack(demo_tensor())
    composed = cute.composition(a, TV)
    for t in range(4):
        for v in range(6):
            coordinate = cute.idx2crd(TV((t, v)), (24, 1))
            assert coordinate == (VALUES[t][v], 0)
            assert a.layout(coordinate) == VALUES[t][v]
            assert composed[t, v] == a[coordinate] == VALUES[t][v]


def test_000_identities():
    assert cute.complement(L("(2,2):(2,12)"), 24) == L("(2,3):(1,4)")
    assert cute.complement(L("(2,3):(1,4)"), 24) == L("(2,2):(2,12)")
    assert cute.right_inverse(TV) == L("(2,2,3,2):(4,1,8,2)")
    assert cute.is_bijective(TV)
    assert sorted(offsets(TV)) == list(range(24))


def test_000_layout_of_the_tensor():
    assert str(from_dlpack(demo_tensor()).layout) == "(24,1):(1,1)"
    assert str(cute.make_layout((24, 1))) == "(24,1):(1,0)"
    for text in ("(24,1):(1,1)", "(24,1):(1,0)"):
        assert cute.composition(L(text), TV) == TV


def test_000_dynamic_tensor():
    composed = cute.composition(dynamic("(24,1):(1,1)"), TV)
    assert printing.format_printf("{}", composed.shape, end="") == "(((2,1),(2,1)),((2,1),(3,1)))"

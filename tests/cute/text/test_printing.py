"""Text forms: what CuTe C++ and CuTeDSL print, to the byte."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilewright as tw
from tilewright import Int32, Int64, cute
from tilewright.cute.runtime import from_dlpack
from tilewright.cute.text import printing, tensor_text

L = cute.parse


def counting(text, start=0):
    return cute.make_tensor(start, L(text))


def masked(text):
    """Addresses replaced: they are real."""
    return re.sub(r"0x[0-9a-f]+", "0x", text)


@pytest.fixture
def printed(capsys):
    """What a call writes to standard output."""

    def call(function, *args, **kwargs):
        function(*args, **kwargs)
        return capsys.readouterr().out

    return call


# ---- print_layout, print_latex ----


def test_print_layout(printed):
    assert printed(cute.print_layout, L("((2,2),(3,1)):((24,2),(8,2))")) == (
        "((2,2),(3,1)):((24,2),(8,2))\n"
        "       0    1    2 \n"
        "    +----+----+----+\n"
        " 0  |  0 |  8 | 16 |\n"
        "    +----+----+----+\n"
        " 1  | 24 | 32 | 40 |\n"
        "    +----+----+----+\n"
        " 2  |  2 | 10 | 18 |\n"
        "    +----+----+----+\n"
        " 3  | 26 | 34 | 42 |\n"
        "    +----+----+----+\n"
    )


def test_print_layout_shows_dynamic_values():
    layout = cute.make_layout((Int32(2), 2), stride=(2, Int64(1)))
    assert str(layout) == "(?,2):(2,?{i64})"
    assert printing.format_layout(layout).splitlines()[0] == "(2,2):(2,1)"


def test_print_layout_of_other_things():
    column = "      0 \n    +---+\n 0  | 0 |\n    +---+\n 1  | 2 |\n    +---+\n"
    assert printing.format_layout(L("2:2")) == "(2,1):(2,0)\n" + column
    assert printing.format_layout(counting("(2):(2)")) == "(2,1):(2,0)\n" + column
    swizzled = cute.make_composed_layout(cute.make_swizzle(1, 0, 1), 0, L("(2,2):(1,2)"))
    assert printing.format_layout(swizzled).splitlines()[::2] == [
        "Sw<1,0,1> o 0 o (2,2):(1,2)",
        "    +---+---+",
        "    +---+---+",
        "    +---+---+",
    ]
    assert "| (1,0) | (1,1) |" in printing.format_layout(cute.make_identity_layout((2, 2)))
    assert "|  0 | -3 |" in printing.format_layout(L("(1,2):(0,-3)"))
    assert "|  0 |  1 |" in printing.format_layout(cute.make_layout((Int32(5), 2), stride=(2, 1)))  # cosize 10
    assert r"\node[fill=black!00] at (1,0) {(1,0)};" in printing.format_latex(cute.make_identity_layout((2, 1)))


@pytest.mark.parametrize("function", [cute.print_layout, cute.print_latex])
def test_tables_need_two_modes(function):
    with pytest.raises(ValueError, match=rf"{function.__name__}: \(2,2,2\):\(1,2,4\) has rank 3.*group_modes"):
        function(L("(2,2,2):(1,2,4)"))
    with pytest.raises(TypeError, match=f"{function.__name__}: expected a Layout, but got int"):
        function(4)


def test_print_latex(printed):
    text = printed(cute.print_latex, L("(2,2):(1,2)"))
    assert text.startswith("% Layout: (2,2):(1,2)\n\\documentclass[convert]{standalone}\n")
    assert "\\node[fill=black!20] at (0,1) {2};\n" in text
    assert text.endswith("\\end{tikzpicture}\n\\end{document}\n")
    assert text == printing.format_latex(L("(2,2):(1,2)"))


# ---- printf, pretty_str ----


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (7, "7"),
        (True, "1"),
        (0.5, "0.500000"),
        (None, "_"),
        ("text", "text"),
        (Int32(8), "8"),
        (tw.Float16(3.140625), "3.140625"),
        (tw.Boolean(True), "1"),
        (np.float32(2.5), "2.500000"),
        (np.int64(-3), "-3"),
        (np.bool_(True), "1"),
        ((1, (None, Int32(4))), "(1,(_,4))"),
        ([1, 2], "(1,2)"),
        (cute.make_layout((Int32(8), 2)), "(8,2):(1,8)"),
        (cute.make_identity_layout((Int32(4), 2)), "(4,2):(1@0,1@1)"),
        (cute.E(1), "1@1"),
        (cute.make_swizzle(3, 4, 3), "S<3,4,3>"),
        (cute.make_composed_layout(cute.make_swizzle(3, 4, 3), 0, L("(8,64):(64,1)")), "S<3,4,3> o 0 o (8,64):(64,1)"),
        (
            cute.make_composed_layout(lambda c: c, (1, 0), cute.make_identity_layout((8, 4))),
            "<inner> o (1,0) o (8,4):(1@0,1@1)",
        ),
        (cute.make_ptr(tw.Float32, 0xABC0, cute.AddressSpace.gmem), "raw_ptr(0x000000000000abc0: f32, gmem, align<4>)"),
    ],
)
def test_printf(x, expected, printed):
    assert printed(cute.printf, "x = {}", x) == f"x = {expected}\n"
    assert printed(cute.printf, x if not isinstance(x, str) else "text") == f"{expected}\n"


def test_printf_of_a_tensor(printed):
    tensor = cute.make_tensor(
        from_dlpack(np.arange(24, dtype=np.int32), assumed_align=8).iterator, L("((2,3)):((1,4))")
    )
    assert masked(printed(cute.printf, "DATA: {}", tensor)) == (
        "DATA: raw_ptr(0x: i32, generic, align<8>) o ((2,3)):((1,4)) = \n  ( 0, 1, 4, 5, 8, 9 )\n"
    )
    assert re.search(r"0x[0-9a-f]{16}:", printing.format_printf(tensor))
    floats = cute.make_tensor(from_dlpack(np.array([0.5, -1.0], np.float16)).iterator, L("2:1"))
    assert printing.format_printf(floats).endswith("f16, generic, align<2>) o 2:1 = \n  ( 0.500000, -1.000000 )\n")
    assert printing.format_printf(cute.make_identity_tensor((2, 1))) == (
        "(0,0) o (2,1):(1@0,1@1) = \n  ( (0,0), (1,0) )\n"
    )


def test_printf_of_a_long_tensor():
    full = printing.format_printf(counting("31:1"))
    cut = printing.format_printf(counting("32:1"))
    assert full.endswith(", 29, 30 )\n")
    assert cut.endswith(", 29, 30, [...] )\n")


def test_printf_of_a_dynamic_tensor_shows_no_elements():
    tensor = from_dlpack(np.zeros((2, 2), np.int16)).mark_layout_dynamic()
    assert masked(printing.format_printf("{}", tensor)) == "raw_ptr(0x: i16, generic, align<2>) o (2,2):(2,1)\n"


def test_printf_formats(printed):
    assert printed(cute.printf, "{}, {}", 1, 2, end="") == "1, 2"
    assert printed(cute.printf, "no placeholder") == "no placeholder\n"
    assert printed(cute.printf, 1, Int32(2), (3,)) == "1, 2, (3)\n"
    with pytest.raises(ValueError, match=r"printf: '\{\}' has 1 placeholders, but got 2 arguments"):
        cute.printf("{}", 1, 2)
    with pytest.raises(ValueError, match=r"has 0 placeholders, but got 1 arguments; the only placeholder is \{\}"):
        cute.printf("{:d}", 1)


def test_pretty_str():
    assert cute.pretty_str((None, (4, 8), [L("12:1"), 3])) == "(_,(4,8),(12:1,3))"
    assert cute.pretty_str(cute.make_layout((Int32(6), 2))) == "(?,2):(1,?)"
    assert cute.pretty_str(None) == "_"
    assert cute.pretty_str((3,)) == "(3)"


# ---- print_tensor: the texts of NVIDIA's notebooks ----


def floats(*shape):
    return from_dlpack(np.arange(np.prod(shape), dtype=np.float32).reshape(shape))


def test_print_tensor_of_three_modes(printed):
    assert masked(printed(cute.print_tensor, floats(4, 3, 2))) == (
        "tensor(raw_ptr(0x: f32, generic, align<4>) o (4,3,2):(6,2,1), data=\n"
        "       [[[ 0.000000,  2.000000,  4.000000, ],\n"
        "         [ 6.000000,  8.000000,  10.000000, ],\n"
        "         [ 12.000000,  14.000000,  16.000000, ],\n"
        "         [ 18.000000,  20.000000,  22.000000, ]],\n"
        "\n"
        "        [[ 1.000000,  3.000000,  5.000000, ],\n"
        "         [ 7.000000,  9.000000,  11.000000, ],\n"
        "         [ 13.000000,  15.000000,  17.000000, ],\n"
        "         [ 19.000000,  21.000000,  23.000000, ]]])\n"
    )


def test_print_tensor_shortens_rows_and_columns():
    data = np.arange(64, dtype=np.float32).reshape(8, 8) - 9
    assert masked(tensor_text.format_tensor(data)) == (
        "tensor(raw_ptr(0x: f32, generic, align<4>) o (8,8):(8,1), data=\n"
        "       [[-9.000000, -8.000000, -7.000000, ..., -4.000000, -3.000000, -2.000000, ],\n"
        "        [-1.000000,  0.000000,  1.000000, ...,  4.000000,  5.000000,  6.000000, ],\n"
        "        [ 7.000000,  8.000000,  9.000000, ...,  12.000000,  13.000000,  14.000000, ],\n"
        "        ...\n"
        "        [ 31.000000,  32.000000,  33.000000, ...,  36.000000,  37.000000,  38.000000, ],\n"
        "        [ 39.000000,  40.000000,  41.000000, ...,  44.000000,  45.000000,  46.000000, ],\n"
        "        [ 47.000000,  48.000000,  49.000000, ...,  52.000000,  53.000000,  54.000000, ]])\n"
    )
    six = tensor_text.format_tensor(np.zeros((6, 6), np.int32))
    assert "..." not in six
    assert six.count("\n") == 7


def test_print_tensor_of_one_mode():
    column = cute.slice_(floats(4, 3), (None, 0))
    assert masked(tensor_text.format_tensor(column)) == (
        "tensor(raw_ptr(0x: f32, generic, align<4>) o (4):(3), data=\n"
        "       [ 0.000000, ],\n"
        "       [ 3.000000, ],\n"
        "       [ 6.000000, ],\n"
        "       [ 9.000000, ])\n"
    )


def test_print_tensor_verbose(printed):
    text = masked(printed(cute.print_tensor, floats(4, 3), verbose=True))
    assert text == (
        "tensor(raw_ptr(0x: f32, generic, align<4>) o (4,3):(3,1), data= (\n"
        + "".join(f"\t({m},{n})= {3 * m + n}.000000\n" for m in range(4) for n in range(3))
        + ")\n"
    )


def test_print_tensor_of_four_modes():
    text = tensor_text.format_tensor(counting("(1,2,2,2):(0,1,2,4)"))
    assert text == (
        "tensor(0 o (1,2,2,2):(0,1,2,4), data=\n"
        "       [[[[ 0,  1, ]],\n\n         [[ 2,  3, ]]],\n\n"
        "        [[[ 4,  5, ]],\n\n         [[ 6,  7, ]]]])\n"
    )


def test_print_tensor_of_other_elements():
    assert tensor_text.format_tensor(np.array([[True, False]])).endswith("       [[ 1,  0, ]])\n")
    assert tensor_text.format_tensor(np.array([[-0.0, np.nan, -np.inf]])).endswith("[[ -0.000000, nan, -inf, ]])\n")
    assert tensor_text.format_tensor(np.array([[-2]])).endswith("       [[-2, ]])\n")
    assert tensor_text.format_tensor(cute.make_identity_tensor((1, 2))).endswith("       [[ (0,0),  (0,1), ]])\n")


# ---- print_tensor: the C++ form ----


def test_cpp_form(printed):
    assert printed(cute.print_tensor, counting("(2,2,2):(1,2,4)", 10), style="cpp") == (
        "counting_iter(10) o (2,2,2):(1,2,4):\n   10   12\n   11   13\n----------\n   14   16\n   15   17\n"
    )


@pytest.mark.parametrize(
    ("dtype", "cell"),
    [
        (np.float64, "  1.500e+00"),
        (np.float32, "  1.50e+00"),
        (np.float16, "    1.50"),
        (np.int64, "    1"),
        (np.uint32, "    1"),
        (np.int8, "  1"),
        (np.bool_, "  1"),
    ],
)
def test_cpp_cells(dtype, cell):
    text = tensor_text.format_tensor(np.array([1.5]).astype(dtype), style="cpp", print_type=False)
    assert text == f"{cell}\n"


def test_cpp_header():
    head = tensor_text.format_tensor(np.zeros(1, np.float32), style="cpp").splitlines()[0]
    assert re.fullmatch(r"ptr\[32b\]\(0x[0-9a-f]+\) o \(1\):\(1\):", head)
    shared = cute.make_ptr(tw.Float16, 64, cute.AddressSpace.smem)
    assert tensor_text._cpp_iterator(shared) == "smem_ptr[16b](0x40)"
    assert tensor_text.format_tensor(cute.make_identity_tensor((2,)), style="cpp") == (
        "ArithTuple(0) o (2):(1@0):\n  (0)\n  (1)\n"
    )


def test_print_tensor_refuses():
    with pytest.raises(ValueError, match=r"has 5 modes, the C\+\+ form shows at most 4; group_modes"):
        cute.print_tensor(counting("(1,1,1,1,1):(0,0,0,0,0)"), style="cpp")
    with pytest.raises(ValueError, match=r"style is 'dsl' or 'cpp', but got 'latex'"):
        cute.print_tensor(counting("2:1"), style="latex")
    with pytest.raises(ValueError, match=r"the C\+\+ form has no verbose form"):
        cute.print_tensor(counting("2:1"), verbose=True, style="cpp")
    with pytest.raises(ValueError, match=r"only the C\+\+ form can be printed without the type"):
        cute.print_tensor(counting("2:1"), print_type=False)
    with pytest.raises(TypeError, match="print_tensor: expected t to be a Tensor or an array"):
        cute.print_tensor(3)

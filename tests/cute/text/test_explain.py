"""Derivations: their result is that of the operation, and they read as one would write them by hand."""

from __future__ import annotations

import math
import re
import threading
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies as gen
from golden import load
from golden.convert import arguments
from strategies import as_cute
from tilewright import Int32, LayoutError, _core, cute
from tilewright.cute.text.explain import OPERATIONS

L = cute.parse
explain = cute.explain
NUMBER = r"(?:(?:ceil|floor)\(-?\d+/-?\d+\)|-?\d+(?:[*/]-?\d+)*)"
EQUATION = re.compile(rf"(?<![@\d*/(]){NUMBER}(?: \+ {NUMBER})* = -?\d+(?![@\d])")


def text_of(x):
    """An operand or a result as a derivation shows it: a dynamic integer is its value behind a question mark."""
    x = getattr(x, "layout", x)
    if isinstance(x, cute.ComposedLayout):
        return f"{text_of(x.inner)} o {text_of(x.offset)} o {text_of(x.outer)}"
    if isinstance(x, cute.Layout):
        return f"{text_of(x.shape)}:{text_of(x.stride)}"
    if isinstance(x, (tuple, list)):
        return f"({','.join(map(text_of, x))})"
    if isinstance(x, cute.ScaledBasis):
        return "@".join(map(str, (text_of(x.value), *x.mode)))
    return "_" if x is None else f"?{int(x._value)}" if hasattr(x, "_div") else str(x)


def result_text(op, x):
    return f"tiler {text_of(x[0])}, layout {text_of(x[1])}" if op == "make_layout_tv" else text_of(x)


def true_equation(text):
    left, right = text.split(" = ")
    left = re.sub(r"-?\d+", r"Fraction(\g<0>)", left).replace("ceil(", "math.ceil(").replace("floor(", "math.floor(")
    return eval(left, {"Fraction": Fraction, "math": math}) == int(right)


def check(op, *args):
    """The first line shows the call, the last one the result or the error; every equation between them is true."""
    explanation = explain(op, *args)
    first, *between, last = explanation.steps
    assert first == f"{op}({', '.join(map(text_of, args))})"
    for line in between:
        assert op == "crd2idx" or " . " not in line, "the core evaluates layouts to check a result, which is no step"
        for equation in EQUATION.findall(line.replace("?", "")):
            assert true_equation(equation) or "is not known to hold" in line, line
    if explanation.error is not None:
        with pytest.raises(LayoutError) as raised:
            getattr(cute, op)(*args)
        assert explanation.result is None
        assert last == f"LayoutError: {raised.value}"
        return
    expected = getattr(cute, op)(*args)
    assert explanation.result == expected
    assert last == f"result: {result_text(op, expected)}"


# ---- the same result as the operation ----

VECTORS = [
    *[("simplify", op) for op in ("coalesce", "coalesce_by_mode")],
    *[("composition", op) for op in ("composition", "composition_by_mode", "composition_int")],
    ("basis", "composition_basis_rhs"),
    *[("complement", op) for op in ("complement", "complement_shape", "complement_default")],
    *[("inverse", op) for op in ("right_inverse", "left_inverse")],
    *[("divide", f"{form}_divide") for form in ("logical", "zipped", "tiled", "flat")],
    *[("product", f"{form}_product") for form in ("logical", "zipped", "tiled", "flat", "blocked", "raked")],
    ("product", "make_layout_tv"),
    *[("dynamic", op) for op in ("coalesce", "coalesce_by_mode", "composition", "composition_static_rhs")],
    *[("dynamic", op) for op in ("composition_by_mode", "complement", "right_inverse", "left_inverse")],
    *[("dynamic", f"{form}_divide") for form in ("logical", "zipped", "tiled", "flat")],
    *[("dynamic", f"{form}_product") for form in ("logical", "zipped", "blocked", "raked")],
]
NAMES = {"coalesce_by_mode": "coalesce", "complement_shape": "complement", "complement_default": "complement"}


@pytest.mark.parametrize(("family", "op"), VECTORS)
def test_vectors(family, op):
    name = "composition" if op.startswith("composition") else NAMES.get(op, op)
    for case in load(family)[op]:
        check(name, *arguments(case).values())


@pytest.mark.parametrize("op", ["composition", "complement", "logical_divide", "logical_product", "right_inverse"])
def test_what_cute_rejects(op):
    cases = [case for case in load("errors")["random_rejections"] if case["op"] == op]
    for case in cases:
        check(op, *arguments(case).values())


@given(gen.layouts(max_size=64), gen.layouts(max_size=32))
def test_random_pairs(a, b):
    a, b = gen.as_cute(a), gen.as_cute(b)
    for op in ("composition", "logical_divide", "logical_product", "blocked_product", "raked_product"):
        check(op, a, b)


@given(gen.layouts(max_size=64), st.integers(1, 64), st.integers(0, 100))
def test_random_layouts(a, cotarget, index):
    a = gen.as_cute(a)
    for op in ("coalesce", "right_inverse", "left_inverse"):
        check(op, a)
    check("complement", a, cotarget)
    check("crd2idx", index, a)


@given(gen.injective_layouts(max_size=32), gen.injective_layouts(max_size=16))
def test_random_thread_value_layouts(thr, val):
    check("make_layout_tv", gen.as_cute(thr), gen.as_cute(val))


@given(st.data())
def test_random_tilers(data):
    a = gen.as_cute(data.draw(gen.layouts(max_size=64)))
    extents = st.integers(1, 6) | st.none() | gen.layouts(max_size=6, negative=False).map(gen.as_cute)
    tiler = tuple(data.draw(st.lists(extents, min_size=1, max_size=cute.rank(a))))
    for op in ("composition", "logical_divide", "zipped_divide", "flat_divide", "logical_product", "tiled_product"):
        check(op, a, tiler)


# ---- the derivations of the articles ----


def derivation(op, *args):
    return "\n".join(line.removeprefix("  ") for line in explain(op, *args).steps[1:])


def test_composition_of_002():
    """(4,3):(1,8) o 6:2 = (2:2), ((3):(8) o 3:1) = (2,3):(2,8)."""
    assert derivation("composition", L("(4,3):(1,8)"), L("6:2")) == (
        "6:2 in 4:1: 2 divides 4, q = 4/2 = 2: take 2:2 (stride 2*1), go on with 3:1\n"
        "3:1 in 3:8, the last mode: take 3:8 (stride 1*8)\n"
        "6:2 becomes (2,3):(2,8)\n"
        "result: (2,3):(2,8)"
    )


def test_composition_scales_in_a_single_mode():
    assert derivation("composition", L("6:2"), L("(3,2):(1,3)")) == (
        "mode 0 of B, 3:1\n"
        "  3:1 in the single mode 6:2: stride 1*2, so 3:2\n"
        "mode 1 of B, 2:3\n"
        "  2:3 in the single mode 6:2: stride 3*2, so 2:6\n"
        "result: (3,2):(2,6)"
    )


def test_composition_of_001():
    assert derivation("composition", L("(6,2):(8,2)"), L("(4,3):(3,1)")) == (
        "mode 0 of B, 4:3\n"
        "  4:3 in 6:8: 3 divides 6, q = 6/3 = 2: take 2:24 (stride 3*8), go on with 2:1\n"
        "  2:1 in 2:2, the last mode: take 2:2 (stride 1*2)\n"
        "  4:3 becomes (2,2):(24,2)\n"
        "mode 1 of B, 3:1\n"
        "  3:1 in 6:8: q = 6/1 = 6 steps fit, 3 are wanted: take 3:8 (stride 1*8)\n"
        "result: ((2,2),3):((24,2),8)"
    )


def test_composition_skips_a_mode():
    assert derivation("composition", L("(4,8):(13,1)"), L("4:8")) == (
        "4:8 in 4:13: 4 divides 8, the index into it stays 0: go on with 4:2\n"
        "4:2 in 8:1, the last mode: take 4:2 (stride 2*1)\n"
        "result: 4:2"
    )


def test_composition_with_dynamic_integers():
    a = cute.make_layout((Int32(6), 2), stride=(8, 2))
    assert derivation("composition", a, L("4:3")) == (
        "4:3 in ?6:8: 3 divides ?6, q = ?6/3 = ?2: take ?2:24 (stride 3*8), go on with ?2:?1\n"
        "?2:?1 in 2:2, the last mode: take ?2:?2 (stride ?1*2)\n"
        "4:3 becomes (?2,?2):(24,?2)\n"
        "exact if and only if n >= 10 or n == 6 or n | 3, where n is size<0>(A), here 6\n"
        "result: (?2,?2):(24,?2)"
    )


def test_composition_with_a_basis():
    tv = derivation("composition", cute.make_identity_layout((4, 8)), L("(4,2):(8,4)"))
    assert tv.endswith("result: (4,2):(2@1,1@1)")
    picked = derivation("composition", L("(4,8):(1,4)"), cute.make_identity_layout((4, 2)))
    assert "2:1@1: steps of 1 along mode 1 of A, 8:4" in picked


def test_composition_of_a_composed_layout_and_a_tensor():
    swizzled = cute.make_composed_layout(cute.make_swizzle(2, 0, 2), 0, L("(4,4):(4,1)"))
    whose = "  A = S<2,0,2> o 0 o (4,4):(4,1): the operation works on the layout on the right only"
    assert explain("composition", swizzled, L("4:4")).steps[1] == whose
    assert explain("composition", swizzled, L("4:4")).steps[-1] == "result: S<2,0,2> o 0 o 4:1"
    tensor = cute.make_tensor(100, L("(4,6):(1,4)"))
    assert explain("composition", tensor, L("4:6")).steps[-1].removeprefix("result: ") == str(
        explain("composition", tensor, L("4:6")).result.layout
    )


def test_broken_composition_ends_at_the_condition():
    explanation = explain("composition", L("(4,6,8):(2,3,5)"), L("6:3"))
    assert explanation.steps[:-1] == (
        "composition((4,6,8):(2,3,5), 6:3)",
        "  6:3 in 4:2: 3 does not divide 4, 2 steps end at index 6, 2 past a multiple",
    )
    assert explanation.steps[-1].startswith("LayoutError: ")
    assert "A(B(2)) = A(6) = 7" in explanation.steps[-1]
    assert explanation.error.counterexample == (2, 3, 7)


def test_broken_composition_by_a_carry():
    explanation = explain("composition", L("(6,2):(1,7)"), L("(3,2):(2,3)"))
    assert explanation.steps[-2] == (
        "    in 6:1 the modes of B reach 4 + 3 = 7 together, beyond its last index 5: they carry into the next mode"
    )
    assert explanation.result is None


def test_what_cute_rejects_too():
    shape = explain("composition", L("(8,2):(1,9)"), L("6:2"))
    assert shape.steps[1] == "  6:2 in 8:1: q = 8/2 = 4, but 4 does not divide 6: shape divisibility is broken"


def test_broken_condition_stands_where_it_breaks():
    lines = explain("logical_divide", L("(12,(4,8)):(59,(13,1))"), 128).steps
    assert lines[-3:-1] == (
        "    mode 0 of B, 128:1",
        "      128:1 in 12:59: q = 12/1 = 12, but 12 does not divide 128: shape divisibility is broken",
    )


def test_what_the_conditions_do_not_prove():
    """The carries of A decide: their steps stand in place of the conditions that are broken."""
    assert derivation("composition", L("(6,2):(0,12)"), L("5:-1")) == (
        "A(x) = 0*x + 12*floor(x/6), by the carries into its modes\n"
        "5:-1: f(i) = A(-1*i)\n"
        "  no carry of A makes f another function: f(i) = R(i) for all i < 5, R = 5:0\n"
        "R(i) = A(B(i)): R = 5:0\n"
        "result: 5:0"
    )
    assert derivation("composition", L("(2,5):(1,3)"), L("4:3")) == (
        "A(x) = 1*x + 1*floor(x/2), by the carries into its modes\n"
        "4:3: f(i) = A(3*i)\n"
        "  f is 4:4 below i = 2; f(2) = 9, not 8, and 1 divides 2, 2 divides 4: (2,2):(4,9)\n"
        "  no carry of A makes f another function: f(i) = R(i) for all i < 4, R = (2,2):(4,9)\n"
        "R(i) = A(B(i)): R = (2,2):(4,9)\n"
        "result: (2,2):(4,9)"
    )
    carries = derivation("composition", L("(3,6):(2,18)"), L("(4,2):(3,8)"))
    assert "at 3 the modes of B have the residues 0 + 2 = 2 at most: no carry between them" in carries
    outside = explain("logical_divide", L("(4,2):(3,5)"), L("(4,4):(2,6)")).steps
    assert outside[-2] == "    R(i) = A((B, B*)(i)), where that lies in A: R = (((2,2),4),2):(((6,5),11),3)"


@given(gen.layouts(max_size=64), gen.layouts(max_size=16))
def test_no_condition_is_broken_above_an_answer(a, b):
    for op in ("composition", "logical_divide", "logical_product", "complement", "left_inverse"):
        operands = (as_cute(a), 16) if op == "complement" else (as_cute(a), as_cute(b))[: 1 + (op != "left_inverse")]
        explanation = explain(op, *operands)
        if explanation.error is None:
            assert not re.search("is broken|not injective|overlaps|past a multiple|carry into", str(explanation))


def test_unchecked_goes_on():
    with cute.unchecked():
        explanation = explain("composition", L("(4,6,8):(2,3,5)"), L("6:3"))
    assert explanation.steps[2:] == (
        "  CuTe goes on all the same: take 2:6 (stride 3*2), go on with 3:1",
        "  3:1 in 6:3: q = 6/1 = 6 steps fit, 3 are wanted: take 3:3 (stride 1*3)",
        "  6:3 becomes (2,3):(6,3)",
        "result: (2,3):(6,3)",
    )


def test_complement_of_004():
    assert derivation("complement", L("(2,4):(1,2)"), 16) == (
        "without the modes of stride 0 and shape 1, coalesced: 8:1\n"
        "the modes by stride: 8:1\n"
        "from 1 up to stride 1: 1/1 = 1, a mode 1:1\n"
        "beyond 8*1 = 8 up to 16: ceil(16/8) = 2, a mode 2:8\n"
        "together (1,2):(1,8), coalesced 2:8\n"
        "result: 2:8"
    )


def test_complement_sorts_by_stride():
    assert derivation("complement", L("(2,2):(12,2)"), 24) == (
        "the modes by stride: (2,2):(2,12)\n"
        "from 1 up to stride 2: 2/1 = 2, a mode 2:1\n"
        "from 2*2 = 4 up to stride 12: 12/4 = 3, a mode 3:4\n"
        "beyond 2*12 = 24 up to 24: ceil(24/24) = 1, a mode 1:0\n"
        "together (2,3,1):(1,4,0), coalesced (2,3):(1,4)\n"
        "result: (2,3):(1,4)"
    )


def test_complement_of_layouts_that_are_not_injective():
    holes = explain("complement", L("(2,2):(1,3)"), 12)
    assert "  from 2*1 = 2 up to stride 3: floor(3/2) = 1, a mode 1:2" in holes.steps
    overlap = explain("complement", L("(4,2):(1,2)"), 16)
    assert overlap.steps[-2] == ("  copies of A that start at 3:6 make up [0, 16), and no two of them share an offset")
    with cute.unchecked():
        refused = explain("complement", L("(4,2):(1,2)"), 16)
    assert refused.steps[-2] == "  mode 2:2 overlaps the modes below it, which end at 4*1 = 4: not injective"


def test_coalesce_of_002():
    assert derivation("coalesce", L("(2,4):(1,2)")) == (
        "from the right: s0:d0 and s1:d1 are one mode s0*s1:d0 if s0*d0 = d1; a mode of shape 1 is dropped\n"
        "2:1 and 4:2: 2*1 = 2, merged: 8:1\n"
        "result: 8:1"
    )
    apart = derivation("coalesce", L("((2,1),4):((1,7),3)")).splitlines()
    assert apart[0] == "flattened: (2,1,4):(1,7,3)"
    assert apart[2:] == [
        "1:7 has shape 1: dropped",
        "2:1 and 4:3: 2*1 = 2, not 3: kept apart",
        "result: (2,4):(1,3)",
    ]


def test_divide_of_002():
    assert derivation("logical_divide", L("12:1"), L("4:1")) == (
        "= A o (B, B*), where B* = complement(B, 12), the shape of coalesce(A)\n"
        "complement(4:1, 12)\n"
        "  the modes by stride: 4:1\n"
        "  from 1 up to stride 1: 1/1 = 1, a mode 1:1\n"
        "  beyond 4*1 = 4 up to 12: ceil(12/4) = 3, a mode 3:4\n"
        "  together (1,3):(1,4), coalesced 3:4\n"
        "B* = 3:4, (B, B*) = (4,3):(1,4)\n"
        "composition(12:1, (4,3):(1,4))\n"
        "  mode 0 of B, 4:1\n"
        "    4:1 in the single mode 12:1: stride 1*1, so 4:1\n"
        "  mode 1 of B, 3:4\n"
        "    3:4 in the single mode 12:1: stride 4*1, so 3:4\n"
        "result: (4,3):(1,4)"
    )


def test_divide_by_mode_of_002():
    lines = explain("zipped_divide", L("(4,6):(1,4)"), (2, 3)).steps
    assert "  mode 0: 4:1 divided by 2:1" in lines
    assert "  mode 1: 6:4 divided by 3:1" in lines
    assert lines[-3:] == (
        "  logical: ((2,2),(3,2)):((1,2),(4,12))",
        "  zipped, the first of every pair, then the second: ((2,3),(2,2)):((1,4),(2,12))",
        "result: ((2,3),(2,2)):((1,4),(2,12))",
    )


def test_product_of_002():
    lines = derivation("logical_product", L("4:1"), L("2:1")).splitlines()
    assert lines[0] == "= (A, A* o B), where A* = complement(A, size(A)*cosize(B)) = complement(A, 4*2)"
    assert lines[-2:] == ["A* o B = 2:4", "result: (4,2):(1,4)"]


def test_inverses():
    assert derivation("right_inverse", L("(3,2):(4,1)")) == (
        "the modes by stride, each with the index of its coordinate 1: 2:1 (3), 3:4 (1)\n"
        "stride 1 of 2:1 is the next offset: 2:3 reaches those below 2\n"
        "stride 4 of 3:4 is not 2, the next offset: left out\n"
        "result: 2:3"
    )
    assert derivation("left_inverse", L("(3,2):(4,1)")).splitlines()[1:] == [
        "offsets from 1 up to stride 1: 1/1 = 1 steps of index 0, 1:0",
        "offsets from 1 up to stride 4: 4/1 = 4 steps of index 3, 4:3",
        "then the 3 steps of 3:4 itself: 3:1",
        "together (1,4,3):(0,3,1), coalesced (4,3):(3,1)",
        "result: (4,3):(3,1)",
    ]


def test_evaluation_of_004():
    steps = (
        "crd2idx(3, (2,4):(2,2))",
        "  3 in (2,4): (3 mod 2, floor(3/2)) = (1,1)",
        "  (1,1) . (2,2) = 1*2 + 1*2 = 4",
        "result: 4",
    )
    assert explain("crd2idx", 3, L("(2,4):(2,2)")).steps == steps
    assert explain(L("(2,4):(2,2)"), 3).steps == steps
    assert explain(L("(2,4):(2,2)"), 1, 1).result == 4


def test_thread_value_layout():
    lines = explain("make_layout_tv", L("(2,3):(3,1)"), L("(2,2):(2,1)")).steps
    assert "  the tile has the size of each mode: (4,6)" in lines
    assert lines[-1] == "result: tiler (4,6), layout ((3,2),(2,2)):((8,2),(4,1))"


# ---- how it is called ----


def test_functions_and_names_are_the_same():
    for name in OPERATIONS:
        assert getattr(cute, name).__name__ == name
    by_name, by_function = (explain(op, L("12:1"), L("4:1")) for op in ("logical_divide", cute.logical_divide))
    assert str(by_name) == str(by_function)


def test_explanation_is_its_text():
    explanation = explain("coalesce", L("12:1"))
    assert str(explanation) == repr(explanation) == "\n".join(explanation.steps) == "coalesce(12:1)\nresult: 12:1"


def test_wrong_calls():
    with pytest.raises(ValueError, match=r"explain: there is no derivation of 'nullspace'; the operations are composi"):
        explain("nullspace", L("12:1"))
    with pytest.raises(TypeError, match="explain: expected a Layout, but got ComposedLayout"):
        explain("right_inverse", cute.make_composed_layout(cute.make_swizzle(1, 0, 1), 0, L("(2,2):(1,2)")))
    with pytest.raises(TypeError, match="composition"):
        explain("composition", L("12:1"))
    with pytest.raises(TypeError, match="coalesce"):
        explain("coalesce", 1.5)


def test_operands_may_be_texts():
    assert str(explain("composition", "12:1", "4:2")) == str(explain("composition", L("12:1"), L("4:2")))


def test_only_the_operation_that_is_explained_records():
    """Not those of other threads, and none of those before and after."""
    a, b, alone = L("(4,6):(1,4)"), L("(2,3):(2,4)"), explain("composition", "(6,2):(8,2)", "(4,3):(3,1)").steps
    stop = threading.Event()

    def compute():
        while not stop.is_set():
            cute.composition(a, b)

    threads = [threading.Thread(target=compute) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(200):
            cute.composition(a, b)
            assert explain("composition", "(6,2):(8,2)", "(4,3):(3,1)").steps == alone
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_the_core_returns_what_it_has_recorded():
    lines, result, error = _core.explained(cute.coalesce, [L("(2,4):(1,2)")])
    assert (lines[-1], result, error) == ("result: 8:1", L("8:1"), None)
    with pytest.raises(ZeroDivisionError):  # no error of layouts: it goes on to the caller
        _core.explained(lambda: 1 // 0, ())
    assert explain("coalesce", "(2,4):(1,2)").steps == tuple(lines)


@pytest.mark.parametrize(
    ("op", "args"),
    [
        ("right_inverse", ("(4,5):(1@1,1@0)",)),
        ("right_inverse", ("(2,(3,4)):(1@0,(1@0@1,1@2@1))",)),
        ("right_inverse", ("(4,2):(-1,4)",)),
        ("right_inverse", ("(3,((2,4),2)):(1,((1,0),10))",)),
        ("left_inverse", ("(4,5):(2@0,1@2)",)),
        ("left_inverse", ("(4,2):(-1,4)",)),
        ("left_inverse", ("(2,2):(1@0,1@0)",)),
        ("complement", ("(2,4):(2@0,1@1)",)),
        ("complement", ("(2,4):(2@0,1@1)", (8, (2, 4)))),
        ("complement", ("2:1@1", 8)),
        ("complement", ("3:2", (4, 12))),
        ("logical_divide", ("(8,8):(9,1)", "(4,4):(1@1,2@0)")),
        ("zipped_divide", ("8:1", "4:1@0")),
        ("logical_product", ("(4,5):(1@0,1@1)", "2:1")),
        ("logical_product", ("(2,3):(1@0,2@1)", "(2,2):(1@0,1@1)")),
        ("blocked_product", ("(2,2):(1@0,1@1)", "(3,2):(1@0,1@1)")),
    ],
)
def test_basis_strides_and_negative_ones(op, args):
    check(op, *(L(x) if isinstance(x, str) else x for x in args))

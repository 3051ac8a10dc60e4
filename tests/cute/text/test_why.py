"""`why`: the answer or its refusal, the law, the steps of `explain`, and the certificate."""

from __future__ import annotations

import pytest

from tilewright import cute
from tilewright.cute.text.explain import OPERATIONS
from tilewright.cute.text.why import LAWS

L = cute.parse

ANSWERS = [
    ("composition", "(6,2):(8,2)", "(4,3):(3,1)"),
    ("composition", "(2,5):(1,3)", "4:3"),
    ("coalesce", "(2,4):(1,2)"),
    ("complement", "(3,2):(1,2)", 10),
    ("complement", "4:2", 24),
    ("right_inverse", "(4,8):(8,1)"),
    ("left_inverse", "(2,2):(2,5)"),
    ("left_inverse", "(4,2):(1,16)"),
    ("logical_divide", "10:1", "(3,2):(1,2)"),
    ("zipped_divide", "(10,6):(1,10)", (4, 4)),
    ("logical_product", "(2,3):(1,6)", "(4,2):(3,8)"),
    ("raked_product", "(2,2):(1,2)", "(3,4):(1,3)"),
]
REFUSALS = [
    ("composition", "(3,4):(4,1)", "4:2", "A(B(1+2)) = 2, but A(B(1)) + A(B(2)) = 8 + 5"),
    ("complement", "(2,2):(2,3)", 12, "(2,2):(2,4) has one"),
    ("left_inverse", "(4,2):(1,2)", "the coordinates 2 and 4 have the same offset 2"),
    ("logical_divide", "12:1", "(2,2):(1,3)", "coordinate 2 of the layout is in no tile"),
    ("zipped_divide", "(3,4):(1,12)", 2, "3:1 divides it"),
]
QUESTIONS = [
    (("is_injective", "(4,2):(1,8)"), "stride 8 of 2:8 is beyond 3"),
    (("is_injective", "(2,2):(2,3)"), "stride 3 of 2:3 is beyond 2"),
    (("is_injective", "(4,2):(2,3)"), "but every sum is a multiple of 2, unlike 3"),
    (("is_injective", "(4,2):(1,2)"), "the coordinates 2 and 4 have the same offset"),
    (("is_injective", "S<3,0,3> o 0 o (8,8):(8,1)"), "a swizzle is a bijection"),
    (("is_bijective", "(4,8):(8,1)"), "the offsets of 32 lie in [0, 31]"),
    (("equivalent", "(2,4):(1,2)", "8:1"), "the coarsest form of (2,4):(1,2) is 8:1"),
    (("equivalent", "(2,4):(1,3)", "8:1"), "at coordinate 2 the values are 3 and 2"),
    (("is_disjoint", "(4,8):(2,64)", "(4,8):(2,64)", 1), "every sum is a multiple of 2, unlike 1"),
    (("is_disjoint", "4:1", "4:1", 9), "the sums lie in [-3, 3], which lacks 9"),
    (("is_disjoint", "4:3", "4:5", 4), "coordinates 3 and 1 share the offset 9"),
    (("image_within", "(4,8):(1,64)", 0, 451), "lie in [0, 451]"),
]


@pytest.mark.parametrize("call", ANSWERS, ids=str)
def test_a_proof(call):
    op, *operands = call
    operands = [L(x) if isinstance(x, str) else x for x in operands]
    first, law, *steps = cute.why(op, *operands).splitlines()
    result = getattr(cute, op)(*operands)
    assert first.startswith(f"{op}(")
    assert first.endswith(f" = {result}")
    assert law == f"law: {LAWS[op]}"
    assert steps == list(cute.explain(op, *operands).steps[1:-1])
    assert steps
    assert cute.why(getattr(cute, op), *operands).splitlines()[1:] == [law, *steps]


@pytest.mark.parametrize("call", REFUSALS, ids=str)
def test_a_certificate(call):
    op, *operands, wanted = call
    first, law, *rest = cute.why(op, *operands).splitlines()
    assert first.endswith(") has no answer")
    assert law == f"law: {LAWS[op]}"
    certificate = rest[rest.index("certificate:") + 1 :]
    assert any(wanted in line for line in certificate), certificate
    with pytest.raises(cute.LayoutError) as raised:
        getattr(cute, op)(*(L(x) if isinstance(x, str) else x for x in operands))
    assert all(line.strip() in str(raised.value) for line in certificate)


@pytest.mark.parametrize(("call", "wanted"), QUESTIONS, ids=str)
def test_a_question(call, wanted):
    op, *operands = call
    answer = getattr(cute, op)(*(L(x) if isinstance(x, str) else x for x in operands))
    text = cute.why(*call)
    assert text.splitlines()[0].endswith(f" = {answer!r}")
    assert wanted in text
    assert cute.explain(*call).result == answer or op in ("equivalent", "is_disjoint", "image_within")


def test_what_has_no_law():
    assert set(LAWS) < set(OPERATIONS)
    with pytest.raises(ValueError, match=r"there is no law of 'compositoin'.*composition"):
        cute.why("compositoin", L("4:1"), L("2:1"))

"""The text of errors: `errors.txt` holds a call and, indented below it, the exception that it raises, word for word."""

from pathlib import Path

import pytest

from tilewright import Int32, cute

LINES = Path(__file__).with_name("errors.txt").read_text().splitlines()
CASES = list(zip(LINES[::2], LINES[1::2], strict=True))


def nested(depth):
    """A tuple nested so deep."""
    result = 4
    for _ in range(depth):
        result = (result,)
    return result


NAMES = {"cute": cute, "Int32": Int32, "L": cute.parse, "nested": nested}


@pytest.mark.parametrize(("call", "expected"), CASES, ids=[call for call, _ in CASES])
def test_text(call, expected):
    with pytest.raises((ValueError, TypeError, IndexError)) as caught:
        eval(call, NAMES)
    assert f"    {type(caught.value).__name__}: {caught.value}" == expected


@pytest.mark.parametrize(
    ("call", "operation", "operands", "counterexample"),
    [
        ('cute.composition(L("(3,4):(4,1)"), L("4:2"))', "composition", ("(3,4):(4,1)", "4:2"), (2, 1, 5)),
        ('cute.logical_divide(L("(3,4):(1,12)"), 2)', "logical_divide", ("(3,4):(1,12)", "2"), (3, 3, 12)),
        ('cute.complement(L("(2,2):(2,3)"), 12)', "complement", ("(2,2):(2,3)", "12"), None),
        ('cute.left_inverse(L("(2,2):(-1,2)"))', "left_inverse", ("(2,2):(-1,2)",), (3, -1, 3)),
    ],
)
def test_attributes(call, operation, operands, counterexample):
    with pytest.raises(cute.LayoutError) as caught:
        eval(call, NAMES)
    error = caught.value
    assert (error.operation, error.operands, error.counterexample) == (operation, operands, counterexample)


HOSTILE = [
    "x := [], x.append(x), cute.make_layout(x)",
    "cute.make_layout(tuple([2] * 10**6))",
    "cute.make_layout(nested(10**4))",
    "cute.make_layout(float('nan'))",
    "cute.make_layout(b'4')",
    "cute.make_layout((4, object()))",
    "cute.make_layout(-(2**63))",
    "cute.parse('(' * 10**6)",
    "cute.parse('')",
    "cute.is_injective(L('(65536,65536,65536):(1,65535,65537)'))",
    "cute.image(L('(65536,65536):(1,65536)'))",
    "L('(65536,65536):(3,7)').get_hier_coord(2**62)",
    "cute.composition(L('(3,65536,65536):(1,5,7)'), L('(65536,65536):(2,3)'))",
    "cute.repeat(1, 2**62)",
]


@pytest.mark.parametrize("call", HOSTILE)
def test_hostile_input_ends_in_an_answer_or_an_error(call):
    try:
        eval(f"({call})", dict(NAMES))
    except (ValueError, TypeError, IndexError, OverflowError, RecursionError):
        return

"""Ratio and FastDivmodDivisor."""

import pytest

import tilewright as cutlass
from tilewright import cute


def test_ratio():
    ratio = cute.Ratio(16, 6)
    assert str(ratio) == repr(ratio) == "16/6"
    assert str(ratio.reduced()) == "8/3"
    assert ratio == cute.Ratio(8, 3)
    assert hash(ratio) == hash(cute.Ratio(8, 3))
    assert ratio != cute.Ratio(3, 8)
    assert not ratio.is_integral()
    assert cute.Ratio(16, 8).is_integral()
    assert ratio * 3 == 3 * ratio == 8
    assert str(ratio * cute.Ratio(3, 1)) == "48/6"


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: cute.Ratio(0, 1), ValueError, "Ratio(0, 1): both numbers must be positive"),
        (lambda: cute.Ratio(1.5, 1), TypeError, "Ratio: expected integers, got float 1.5"),
        (lambda: cute.Ratio(3, 2) * 3, ValueError, "3/2 * 3 is no integer: 2 must divide 9"),
        (lambda: cute.FastDivmodDivisor(0), ValueError, "fast_divmod_create_divisor(0): the divisor must be positive"),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == text


def test_fast_divmod():
    divisor = cute.fast_divmod_create_divisor(7)
    assert [divmod(x, divisor) for x in range(50)] == [divmod(x, 7) for x in range(50)]
    quotient, rest = divmod(cutlass.Int32(29), divisor)
    assert (int(quotient), int(rest)) == (4, 1)

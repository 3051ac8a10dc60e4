"""Random functions with nested control flow: the traced program computes what Python does, effects in order."""

from hypothesis import given
from hypothesis import strategies as st

from random_functions import define, source
from traced_numbers import note, require_python


def seen(x):
    note("seen {}", x)
    return x


@given(st.integers(0, 2**40), st.booleans())
def test_random_functions_mean_what_python_means(seed, flag):
    text = source(seed)
    function = define(text, note=note, seen=seen, FLAG=flag)
    try:
        require_python(function, (-1, 0, 2), (0, 1, 3))
    except Exception as error:
        raise AssertionError(f"FLAG = {flag}\n{text}") from error

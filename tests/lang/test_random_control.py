"""Random functions with nested control flow: the traced program computes what Python does, effects in order."""

from hypothesis import given

from random_functions import define, sources
from traced_numbers import note, require_python


def seen(x):
    note("seen {}", x)
    return x


@given(sources())
def test_random_functions_mean_what_python_means(source):
    for flag in (True, False):
        function = define(source, note=note, seen=seen, FLAG=flag)
        try:
            require_python(function, (-1, 0, 2), (0, 1, 3))
        except Exception as error:
            raise AssertionError(f"FLAG = {flag}\n{source}") from error

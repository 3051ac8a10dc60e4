"""Element types by their names."""

from __future__ import annotations

import argparse

import pytest

import tilewright as cutlass


def test_a_name_is_a_type():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dtype", type=cutlass.dtype, default=cutlass.BFloat16)
    assert parser.parse_args([]).dtype is cutlass.BFloat16
    assert parser.parse_args(["--dtype", "Float8E4M3FN"]).dtype is cutlass.Float8E4M3FN
    assert cutlass.dtype(cutlass.Int8) is cutlass.Int8


@pytest.mark.parametrize("name", ["float16", "Numeric", "Float", "torch", "", 7])
def test_other_names_are_refused(name):
    with pytest.raises(ValueError, match=r"^dtype: .* names no element type.*types are .*Float16"):
        cutlass.dtype(name)

"""Arithmetic of kernels' CUDA C++, compiled for the host: every operation on every type."""

from __future__ import annotations

import pytest

import lang_numbers
from cpu_device import COMPILER
from cpu_lang import HostKernels

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    return HostKernels([lang_numbers.program()], tmp_path_factory.mktemp("numbers"))


@pytest.fixture(autouse=True)
def nothing_undefined(capfd):
    yield
    assert "runtime error" not in capfd.readouterr().err


@pytest.mark.parametrize("scalar", lang_numbers.INTEGERS)
def test_integers(kernels, scalar):
    lang_numbers.check_integers(kernels, scalar)


@pytest.mark.parametrize("scalar", lang_numbers.FLOATS)
def test_floats(kernels, scalar):
    lang_numbers.check_floats(kernels, scalar)


@pytest.mark.parametrize("scalar", lang_numbers.NARROW)
def test_narrow_floats(kernels, scalar):
    lang_numbers.check_narrow_floats(kernels, scalar)


@pytest.mark.parametrize("scalar", lang_numbers.NARROW)
def test_narrow_fma(kernels, scalar):
    lang_numbers.check_narrow_fma(kernels, scalar)


@pytest.mark.parametrize("source", lang_numbers.STORED)
def test_casts(kernels, source):
    lang_numbers.check_casts(kernels, source)


@pytest.mark.parametrize("target", lang_numbers.TOGETHER)
def test_casts_of_vectors(kernels, target):
    lang_numbers.check_casts_together(kernels, target)


def test_special_formats(kernels):
    lang_numbers.check_special_formats(kernels)

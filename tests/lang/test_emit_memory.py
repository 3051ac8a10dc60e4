"""Memory and control flow of kernels' CUDA C++, compiled for the host."""

from __future__ import annotations

import pytest

import lang_cases
from cpu_device import COMPILER
from cpu_lang import HostKernels

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    return HostKernels([lang_cases.program()], tmp_path_factory.mktemp("cases"))


@pytest.fixture(autouse=True)
def nothing_undefined(capfd):
    yield
    assert "runtime error" not in capfd.readouterr().err


@pytest.mark.parametrize("name", lang_cases.CASES)
def test_case(kernels, name):
    lang_cases.check(kernels, name)

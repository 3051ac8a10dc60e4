"""A host function with its kernels: what it refuses, and what it has no launches for."""

from __future__ import annotations

import struct

import pytest

from tilewright import _core
from tilewright._core import program

cuda = _core.cuda


def made(*, reads_address=False):
    """f(p, n) launches k(p + 4 elements, n) with n blocks; the kernel's parameters are at bytes 0 and 8."""
    builder = program.Builder()
    pointer, number = program.pointer("Float32", "generic", 4), program.number("Int32")
    with builder:
        p, n = builder.begin_function("f", False, [pointer, number], ["p", "n"])
        builder.begin_function("k", True, [pointer, number], ["p", "n"])
        kernel = builder.end_function()
        one, four = builder.constant("Int32", 1), builder.constant("Int32", 4)
        if reads_address:
            builder.op("address", [p])
        zero = builder.constant("Int32", 0)
        operands = [n, one, one, one, one, one, one, one, one, zero, builder.op("offset", [p, four], type=pointer), n]
        builder.op("launch", operands, ints=[kernel, 0, 0, 1])
        host = builder.end_function()
    return builder.finish(), host, kernel


SOURCES = [("address", 0, 0, 64), ("number", 1, 0, 2)]


def function(sources=SOURCES, **options):
    traced, host, kernel = made(**options)
    recorder = cuda.Recorder("k")
    kernels = {kernel: (recorder, [0, 8], 12, 0, "plan")}
    return cuda.HostFunction(traced, host, sources, kernels.pop), recorder  # asked for once


def test_launches_are_evaluated_for_each_call():
    host, recorder = function()
    for n in (3, 70000):
        prepared = host.prepare([0, n])
        prepared.launch([4096], 5)
        grid, block, shared, stream, params = recorder.last
        assert (grid, block, shared, stream) == ((n, 1, 1), (1, 1, 1), 0, 5)
        assert struct.unpack("<Qi", params) == (4096 + 16, n)
        assert recorder.programmatic
        assert [kernel.plan for kernel in prepared.kernels] == ["plan"]


def test_what_has_no_launches_for_other_addresses():
    assert function(reads_address=True)[0].prepare([0, 1]) is None
    assert function([("fixed", 0, 0, 1), SOURCES[1]])[0].prepare([0, 1]) is None
    assert function([("address", 32, 0, 4), SOURCES[1]])[0].prepare([0, 1]) is None


def test_wrong_sources():
    with pytest.raises(ValueError, match="f has 2 parameters, but 1 sources are given"):
        function(SOURCES[:1])
    with pytest.raises(ValueError, match="there is no source extent"):
        function([SOURCES[0], ("extent", 0, 0, 1)])

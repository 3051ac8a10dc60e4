"""The reports of the compiler, and the sources it compiles, as text."""

from __future__ import annotations

from tilewright.runtime.nvrtc import flatten
from tilewright.runtime.ptxas import Report, parse_report


def test_report_of_a_kernel_that_calls_a_function():
    log = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_a' for 'sm_90a'
ptxas info    : Function properties for _called
    48 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
ptxas info    : Function properties for _a
    16 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Function properties for _called_too
    96 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 24 registers, used 0 barriers, 64 bytes cumulative stack size
ptxas info    : Compiling entry function '_b' for 'sm_90a'
ptxas info    : Function properties for _b
    0 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 1024+16 bytes smem
"""
    assert parse_report(log, {"a": "_a", "b": "_b", "absent": "_c"}) == {
        "a": Report(24, 0, 0, 16, 0),
        "b": Report(255, 12, 1024, 0, 0),
    }


def test_flatten_puts_each_header_once_and_leaves_the_unknown():
    headers = {
        "a.cuh": '#pragma once\n#include "d/b.cuh"\nint a;\n',
        "d/b.cuh": "#pragma once\nint b;\n",
    }
    source = '#include "a.cuh"\n# include  "d/b.cuh"\n#include "unknown.cuh"\n#include <system>\nint c;\n'
    assert flatten(source, headers) == (
        '// a.cuh\n// d/b.cuh\nint b;\nint a;\n\n#include "unknown.cuh"\n#include <system>\nint c;\n'
    )

"""Copies on the CPU, by the plans that a GPU would run, beside NumPy's: contiguous, transposed, strided.

python benchmarks/host_copy.py
"""

from __future__ import annotations

import numpy as np

import table
from tilewright import kernels

LIMIT = 0.25  # of NumPy's speed, for a contiguous copy
MIB = 1 << 20


def cases() -> list[tuple[str, np.ndarray, float | None]]:
    """Name, source (to be copied to a compact destination), limit."""
    random = np.random.default_rng(0)
    line = random.standard_normal(64 * MIB, np.float32)
    square = random.standard_normal((4096, 4096), np.float32)
    small = random.integers(-128, 128, (4096, 4096), np.int8)
    return [
        ("contiguous fp32, 256 MiB", line, LIMIT),
        ("transpose 4096 x 4096 fp32", square.T, None),
        ("transpose 4096 x 4096 int8", small.T, None),
        ("transpose 4095 x 4093 fp32", square[1:, 3:].T, None),
        ("x[:, ::2] of 4096 x 4096 fp32", square[:, ::2], None),
    ]


def main() -> None:
    lines = [
        "# Copies on the CPU",
        "",
        f"{table.machine()}, NumPy {np.__version__}.",
        "GB/s read and written: median (quartiles) of 15 repeats, in turn; random data; every result compared first.",
        "",
        "| case | tilewright | NumPy | ratio | limit | met |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, src, limit in cases():
        dst, theirs = np.empty(src.shape, src.dtype), np.empty(src.shape, src.dtype)
        plan = kernels.tiled_copy.plan(src, dst).bind(src, dst)
        plan()
        np.testing.assert_array_equal(dst, src)
        ours, rival = table.side_by_side([plan, lambda a=theirs, b=src: np.copyto(a, b)])
        speeds = [[2 * src.nbytes / seconds / 1e9 for seconds in (t.median, t.high, t.low)] for t in (ours, rival)]
        shown = [f"{median:.1f} ({low:.1f} to {high:.1f})" for median, low, high in speeds]
        ratio = speeds[0][0] / speeds[1][0]
        verdict = ("", "") if limit is None else (f"{limit}", "yes" if ratio >= limit else "**no**")
        lines.append(f"| {name} | {shown[0]} | {shown[1]} | {ratio:.2f} | {' | '.join(verdict)} |")
    table.write("host_copy", lines)


if __name__ == "__main__":
    main()

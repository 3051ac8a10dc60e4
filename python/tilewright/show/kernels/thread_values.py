"""Pictures of what visualize_tv returns: the elements with who reads them, and the coordinate of every value."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.cute.text.printing import pretty_str
from tilewright.show.drawing.palette import NOBODY, thread_ansi, thread_color
from tilewright.show.formats.svg_tables import Svg

if TYPE_CHECKING:
    from tilewright.kernels.visualize.tv import ThreadValues

__all__ = ["svg", "text"]

SHOWN = 64  # a picture shows this many rows and columns
LINE = 80  # columns of a text table
PAGE = 960  # width of a picture, in pixels
BLOCK = 16  # a picture lists this many threads below each other before it starts another block


def matrix_of(result: ThreadValues) -> tuple[int, int]:
    """Rows and columns of the tensor as it is drawn: a matrix, or (0, n) for a list of n elements."""
    layout = result.tensor.layout
    if _core.rank(layout) == 2:
        rows, columns = (int(_core.size(layout, mode=[mode])) for mode in (0, 1))
        if rows > 1 and columns > 1:
            return rows, columns
    return 0, result.coverage.size


def grid_of(result: ThreadValues, per_line: int) -> tuple[list[list[int]], list[str], str]:
    """The coordinates to draw, row by row; the labels of the rows; what was left out."""
    rows, columns = matrix_of(result)
    if rows:
        shown = min(rows, SHOWN), min(columns, SHOWN)
        grid = [[m + n * rows for n in range(shown[1])] for m in range(shown[0])]
        cut = f"{shown[0]} x {shown[1]} of {rows} x {columns} shown" if shown != (rows, columns) else ""
        return grid, [str(m) for m in range(shown[0])], cut
    width = _line_length(columns, per_line)
    count = min(columns, SHOWN * width)
    starts = range(0, count, width)
    grid = [list(range(i, min(i + width, count))) for i in starts]
    return grid, [str(i) for i in starts], f"{count} of {columns} shown" if count < columns else ""


def readers_of(result: ThreadValues) -> dict[int, list[tuple[int, int]]]:
    """The (thread, value) pairs that read a coordinate, for the coordinates that may be drawn."""
    import numpy as np

    index = np.arange(result.coverage.size)
    rows = matrix_of(result)[0]
    drawn = (index % rows < SHOWN) & (index // rows < SHOWN) if rows else index < SHOWN * LINE
    readers: dict[int, list[tuple[int, int]]] = {}
    for t, v in zip(*(axis.tolist() for axis in drawn[result.coordinates].nonzero()), strict=True):
        readers.setdefault(int(result.coordinates[t, v]), []).append((t, v))
    return readers


def cells_of(result: ThreadValues) -> tuple[dict[int, list[tuple[int, int]]], dict[int, str], dict[int, str]]:
    """Who reads a coordinate, the text of the element there, and the label of the thread and value."""
    readers = readers_of(result)
    data = {i: _short(result.values[pairs[0]]) for i, pairs in readers.items()}
    labels = {}
    for i, pairs in readers.items():
        t, v = pairs[0]
        labels[i] = f"T{t}V{v}" + (f"+{len(pairs) - 1}" if len(pairs) > 1 else "")
    return readers, data, labels


def text(result: ThreadValues, color: bool | None) -> str:
    """`ThreadValues.text`."""
    if color is None:
        color = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    readers, data, labels = cells_of(result)
    width = max(map(len, (*labels.values(), *data.values())), default=1)

    def paint(thread: int | None, text: str) -> str:
        return text if not color or thread is None else thread_ansi(thread, text)

    margin = len(str(result.coverage.size))
    grid, names, cut = grid_of(result, (LINE - margin - 2) // (width + 1))
    rule = " " * margin + " +" + f"{'-' * width}+" * len(grid[0])
    lines = [f"{pretty_str(result.tensor.layout)}: {result.coverage}" + (f"; {cut}" if cut else ""), ""]
    if matrix_of(result)[0]:
        lines.append(" " * margin + "  " + " ".join(f"{n:^{width}d}" for n in range(len(grid[0]))).rstrip())
    lines.append(rule)
    for row, name in zip(grid, names, strict=True):
        heads = [readers[i][0][0] if i in readers else None for i in row]
        for left, cells, unread in ((name, labels, "-"), ("", data, "")):
            drawn = (paint(t, f"{cells.get(i, unread):^{width}}") for t, i in zip(heads, row, strict=True))
            lines.append(f"{left:>{margin}} |{'|'.join(drawn)}|")
        lines.append(rule)
    threads, values = (min(n, SHOWN) for n in result.coordinates.shape)
    width = max(len(str(result.coverage.size - 1)), len(f"V{values - 1}"))
    side = len(f"T{threads - 1}")
    lines += ["", f"TV = {result.tv_layout}: (thread, value) to coordinate", ""]
    lines.append(" " * side + "".join(f" {f'V{v}':>{width}}" for v in range(values)))
    for t in range(threads):
        row_text = "".join(f" {result.coordinates[t, v]:>{width}d}" for v in range(values))
        lines.append(paint(t, f"T{t}".ljust(side)) + row_text)
    if (threads, values) != result.coordinates.shape:
        lines.append(f"{threads} x {values} of {len(result)} x {result.coordinates.shape[1]} shown")
    return "\n".join(lines)


def svg(result: ThreadValues) -> str:
    """`ThreadValues.svg`."""
    layout = pretty_str(result.tensor.layout)
    picture = Svg(f"{layout} by thread: {result.tv_layout}")
    right, bottom = draw_tensor(result, picture, layout)
    right_2, bottom = draw_tv(result, picture, bottom + 34)
    return picture.render(max(right, right_2) + 16, bottom + 16)


def draw_tensor(result: ThreadValues, picture: Svg, layout: str) -> tuple[float, float]:
    """Draw the elements; the right and lower end of the table."""
    readers, data, labels = cells_of(result)
    widest = (max(map(len, texts.values()), default=1) for texts in (data, labels))
    width = max(34.0, *(n * size + 8 for n, size in zip(widest, (7.3, 6.1), strict=True)))
    height, left, top = 36.0, 46.0, 72.0
    grid, names, cut = grid_of(result, int((PAGE - left) // width))
    cells = "element over thread and value; " + (f"{cut}; " if cut else "") + str(result.coverage)
    headline = picture.heading(16, 22, f"tensor {layout}", cells)
    offset = "+" if len(grid) > 1 and not matrix_of(result)[0] else ""
    for n in range(len(grid[0])):
        picture.text(left + (n + 0.5) * width, top - 9, f"{offset}{n}", "g")
    for m, (row, name) in enumerate(zip(grid, names, strict=True)):
        y = top + m * height
        if len(grid) > 1:
            picture.text(left - 18, y + height / 2, name, "g")
        for n, i in enumerate(row):
            pairs = readers.get(i, [])
            kind = "" if len(pairs) == 1 else "r" if pairs else "n"
            fill = thread_color(pairs[0][0]) if pairs else NOBODY
            lines = [(12.0, data[i], ""), (27.0, labels[i], "s")] if pairs else [(18.0, "-", "g")]
            picture.cell(left + n * width, y, width, height, fill, lines, hover_text(result, i, pairs), kind)
    return max(headline, left + len(grid[0]) * width), top + len(grid) * height


def draw_tv(result: ThreadValues, picture: Svg, top: float) -> tuple[float, float]:
    """Draw the coordinate of every thread and value, many threads in several blocks; the right and lower end."""
    threads, values = (min(n, SHOWN) for n in result.coordinates.shape)
    cut = "" if (threads, values) == result.coordinates.shape else f"; {threads} x {values} shown"
    headline = picture.heading(16, top, f"TV {result.tv_layout}", f"the coordinate of every thread and value{cut}")
    width, height, left = max(34.0, 7.3 * len(str(result.coverage.size - 1)) + 8), 24.0, 46.0
    pitch = left + values * width
    blocks = max(1, min(-(-threads // BLOCK), int(PAGE // pitch)))
    per_block = -(-threads // blocks)
    top += 50
    for t in range(threads):
        x, y = left + t // per_block * pitch, top + t % per_block * height
        picture.text(x - 18, y + height / 2, f"T{t}", "g")
        for v in range(values):
            if t % per_block == 0:
                picture.text(x + (v + 0.5) * width, top - 9, f"V{v}", "g")
            i = int(result.coordinates[t, v])
            lines = [(height / 2, str(i), "")]
            hover = hover_text(result, i, [(t, v)])
            picture.cell(x + v * width, y, width, height, thread_color(t), lines, hover)
    return max(headline, blocks * pitch), top + per_block * height


def hover_text(result: ThreadValues, i: int, pairs: list[tuple[int, int]]) -> str:
    where = f"coordinate {i}"
    if result.offsets is not None and pairs:
        where += f", offset {int(result.offsets[pairs[0]])}"
    reads = [f"thread {t}, value {v}: {_short(result.values[t, v])}" for t, v in pairs]
    return "\n".join([where, *(reads or ["read by no thread"])])


def _short(x: Any) -> str:
    """An element in a few characters."""
    if isinstance(x, tuple):
        return pretty_str(x)
    x = x.item() if hasattr(x, "item") else x
    return f"{x:.4g}" if isinstance(x, float) else str(int(x))


def _line_length(count: int, most: int) -> int:
    """How many of count elements to put on a line: most of them, or a divisor of count that is not much less."""
    most = max(most, 1)
    if count <= most:
        return count
    return next((n for n in range(most, most // 2, -1) if count % n == 0), most)

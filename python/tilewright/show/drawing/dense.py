"""What is written of many cells at once: the lines that colour them, and what pointing at them shows.

Neighbours of one colour are one line; runs of one length at one distance are one dashed line, and so are runs that
many lines have at the same distances.
"""

from __future__ import annotations

from itertools import accumulate, chain, groupby, pairwise
from typing import TYPE_CHECKING, NamedTuple

from tilewright.show.drawing.palette import fill

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.show.drawing.picture import Panel

__all__ = ["FORMS", "Place", "Titles", "bytes_of", "grid_of_colors", "strokes_of"]

FORMS = 4  # of a coordinate
Strokes = dict[tuple[str, str], list[tuple[int, int, int]]]
"""(line, start, end) by (colour, dashes)."""
KEY, STROKE = 46, 8  # bytes of a path but its lines and dashes, and of a line in it


def grid_of_colors(panel: Panel) -> list[tuple[str, ...]]:
    """The colour of each place; "" where there is no cell."""
    fills: dict[tuple[int | None, bool], str] = {}
    colors = [[""] * panel.columns for _ in range(panel.rows)]
    for row, column, _, owner, _, faded, _ in panel.cells:
        color = fills.get((owner, faded))
        if color is None:
            color = fills[owner, faded] = fill(owner, faded)
        colors[row][column] = color
    return [tuple(line) for line in colors]


def strokes_of(lines: Sequence[tuple[str, ...]]) -> Strokes:
    """(line, start, end) of the neighbours of one colour, by (colour, dashes): equal runs at equal distances are one.

    Other runs are one where enough lines have the same for a path of their own to take less.

    >>> strokes_of([("red", "blue", "red", "blue", "red"), ("", "red", "red", "", "")])
    {('red', '1 1'): [(0, 0, 5)], ('blue', '1 1'): [(0, 1, 4)], ('red', ''): [(1, 1, 3)]}
    >>> list(strokes_of([("red", "", "red", "red")] * 4)), list(strokes_of([("red", "", "red", "red")] * 9))
    ([('red', '')], [('red', '1 1 2')])
    """
    found: Strokes = {}
    known: dict[tuple[str, ...], list[tuple[tuple[str, str], int, int]]] = {}
    for i, line in enumerate(lines):
        if line not in known:
            known[line] = _of_line(line)
        for key, start, end in known[line]:
            found.setdefault(key, []).append((i, start, end))
    for (color, dashes), parts in list(found.items()):
        pieces = list(map(int, dashes.split()))
        more = len(pieces) // 2  # runs behind the first one
        if len(pieces) > 2 and KEY + len(dashes) > STROKE * more * len(parts):
            del found[color, dashes]
            ends = list(accumulate(pieces))
            runs = [(end - length, end) for end, length in zip(ends[::2], pieces[::2], strict=True)]
            single = found.setdefault((color, ""), [])
            single += [(i, start + at, start + end) for i, start, _ in parts for at, end in runs]
            single.sort()
    return found


def bytes_of(strokes: Strokes) -> int:
    """About what the paths of these lines take."""
    return sum(KEY + len(dashes) + STROKE * len(lines) for (_, dashes), lines in strokes.items())


def _of_line(line: tuple[str, ...]) -> list[tuple[tuple[str, str], int, int]]:
    runs: dict[str, list[tuple[int, int]]] = {}
    start = 0
    for color, run in groupby(line):
        end = start + sum(1 for _ in run)
        runs.setdefault(color, []).append((start, end))
        start = end
    runs.pop("", None)
    found = []
    for color, parts in runs.items():
        lengths = {end - start for start, end in parts}
        gaps = {start - end for (_, end), (start, _) in pairwise(parts)}
        if len(lengths) == len(gaps) == 1:
            found.append(((color, f"{lengths.pop()} {gaps.pop()}"), parts[0][0], parts[-1][1]))
        elif gaps:
            pieces = [end - start for start, end in pairwise(chain.from_iterable(parts))]
            found.append(((color, " ".join(map(str, pieces))), parts[0][0], parts[-1][1]))
        else:
            found.append(((color, ""), *parts[0]))
    return found


class Place(NamedTuple):
    """Where the cells of a panel are: a coordinate is rows[row] + columns[column], or the other way round.

    Where all of them are numbers, so is it: their sum.
    """

    rows: list[str]
    columns: list[str]
    turned: bool


class Titles(NamedTuple):
    """What pointing at the cells of a panel shows: names, and the texts of each cell, as short as they are written.

    `text` is the name of what the text of each cell is, which the titles leave out; "" where it is nothing of them.
    `place`, of titles for which there is no room: the texts of rows and of columns that make up each cell's
    coordinate, and whether the column's comes first; None where it is not made up so.
    """

    names: tuple[str, ...]
    text: str
    values: list[list[str]]  # of each name those of all cells
    place: Place | None = None

    @staticmethod
    def of(panel: Panel) -> Titles:
        hovers = [cell.hover for cell in panel.cells]
        names = tuple(name for name, _ in max(hovers, key=len, default=()))
        full = [hover + (("", ""),) * (len(names) - len(hover)) for hover in hovers]
        values = [[value for _, value in column] for column in zip(*full, strict=True)]
        texts = [cell.lines[0] if cell.lines and cell.hover else "" for cell in panel.cells]
        same = next((i for i in range(1, len(names)) if values[i] == texts), -1)
        kept = [i for i in range(len(names)) if i != same]
        shown = tuple(names[i] for i in kept)
        return Titles(shown, names[same] if same > 0 else "", [_short(values[i]) for i in kept])

    @staticmethod
    def none(panel: Panel) -> Titles:
        """The names of what would be shown of the first cell, without the texts."""
        names = tuple(name for name, _ in next((cell.hover for cell in panel.cells if cell.hover), ()))
        if names[:1] != ("coordinate",):
            return Titles(names, "", [])
        texts = [[""] * panel.columns for _ in range(panel.rows)]
        for row, column, _, _, hover, _, _ in panel.cells:
            if hover:
                texts[row][column] = hover[0][1]
        if found := _parts(texts):
            return Titles(names, "", [], Place(*found, False))
        found = _parts([*zip(*texts, strict=True)])
        return Titles(names, "", [], Place(found[1], found[0], True) if found else None)

    def shorter(self, panel: Panel, form: int) -> Titles:
        """With the coordinate as it is (form 0), mode by mode (1), with one number for each mode (2), or as one (3)."""
        modes, names, values = panel.modes, self.names, self.values
        if form == 0 or modes is None or names[:1] != ("coordinate",):
            return self
        if form == 3 and names[-1] == "index":
            return self._replace(names=("1-D coordinate", *names[1:-1]), values=[values[-1], *values[1:-1]])
        if "(" not in "".join(values[0]):
            return self
        nested = int(form == 1)
        rows, columns = ([place[nested] for place in places] for places in modes[:2])
        parts = [[rows[cell.row] for cell in panel.cells], [columns[cell.column] for cell in panel.cells]]
        parts += [[place[nested]] * len(panel.cells) for place in modes.rest]
        if nested:
            by_mode = tuple(f"coordinate in mode {i}" for i in range(len(parts)))
            return self._replace(names=by_mode + names[1:], values=list(map(_short, parts)) + values[1:])
        joined = list(map(",".join, zip(*parts, strict=True)))
        return self._replace(names=(f"{len(parts)}-D coordinate", *names[1:]), values=[joined, *values[1:]])

    def bytes(self, field: int) -> int:
        """What a field of all cells takes, with a blank before each value; 0 where there are not so many fields."""
        return len("".join(self.values[field]).encode()) + len(self.values[field]) if field < len(self.names) else 0

    def kept(self, fields: Sequence[int]) -> tuple[list[str], list[list[str]]]:
        """The names and the values of some fields, as far as there are so many."""
        found = [i for i in fields if i < len(self.names)]
        return [self.names[i] for i in found], [self.values[i] for i in found]


def _parts(texts: Sequence[Sequence[str]]) -> tuple[list[str], list[str]] | None:
    """Rows of texts as sums begins[i] + ends[j], where begins end with a comma; None where they are none.

    Numbers, all of them, are sums of numbers.

    >>> _parts([["(0,0)", "(0,1)"], ["(1,0)", ""]]), _parts([["0", "1"], ["2", ""]])
    ((['(0,', '(1,'], ['0)', '1)']), (['0', '2'], ['0', '1']))
    """
    if all(x.isdecimal() or not x for row in texts for x in row):
        return _numbers(texts)
    begins = []
    for row in texts:
        first, last = min(filter(None, row), default=""), max(row)
        same = next((i for i, (x, y) in enumerate(zip(first, last, strict=False)) if x != y), len(first))
        begins.append(first[: first.rfind(",", 0, same) + 1])
    ends = []
    for column in zip(*texts, strict=True):
        ends.append(next((x[len(begin) :] for begin, x in zip(begins, column, strict=True) if x), ""))
    for begin, row in zip(begins, texts, strict=True):
        made = [begin + end for end in ends]
        if made != row and any(x and x != y for x, y in zip(row, made, strict=True)):
            return None
    return begins, ends


def _numbers(texts: Sequence[Sequence[str]]) -> tuple[list[str], list[str]] | None:
    """Rows of numbers as sums begins[i] + ends[j], of rows that have a number in the first column."""
    if not all(row[0] for row in texts):
        return None
    begins = [int(row[0]) for row in texts]
    ends = [int(x or 0) - begins[0] for x in texts[0]]
    same = all(
        not x or int(x) == a + b for a, row in zip(begins, texts, strict=True) for b, x in zip(ends, row, strict=True)
    )
    return (list(map(str, begins)), list(map(str, ends))) if same else None


def _short(values: list[str]) -> list[str]:
    """Values among others: without spaces, and coordinates without the outer parentheses."""
    together = "".join(values)
    if "(" in together:
        values = [value[1:-1] if value[:1] == "(" and value[-1:] == ")" else value for value in values]
    if "|" in together:  # which stands between the values of two cells
        values = [value.replace("|", "¦") for value in values]
    return [value.replace(" ", "\xa0") for value in values] if " " in together else values

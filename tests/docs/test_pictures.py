"""docs/pictures.md: its lines make the pictures that are committed, and every picture of the articles stands there."""

from __future__ import annotations

import importlib.util
import re
from typing import Any

import pytest

from places import ROOT
from tilewright.show import seeds


def script() -> Any:
    spec = importlib.util.spec_from_file_location("pictures", ROOT / "scripts" / "pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_committed_pictures_are_what_the_lines_make() -> None:
    different = [
        path.name for path, picture in script().pictures() if path.read_text(encoding="utf-8") != picture.svg()
    ]
    assert not different, f"python scripts/pictures.py --write makes them again: {different}"


def test_each_line_has_one_picture_and_each_picture_one_line() -> None:
    files = [file for _, file in script().lines()]
    assert files[0] == ""
    assert all(files[1:])
    assert len(set(files)) == len(files)
    folder = {f"img/{path.name}" for kind in ("show", "seed") for path in (ROOT / "docs/img").glob(f"{kind}_*.svg")}
    assert folder == set(files[1:])


def test_every_picture_of_the_articles_is_there() -> None:
    text = (ROOT / "docs/pictures.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^seeds\.(\w+)\(\)$", text, re.MULTILINE)) == sorted(seeds.__all__)


def test_pictures_are_small_and_need_nothing_else() -> None:
    for path, _ in script().pictures():
        text = path.read_text(encoding="utf-8")
        assert len(text) < 200_000, path.name
        assert "<script" not in text
        assert re.findall(r"https?://[^\"<]*", text) == ["http://www.w3.org/2000/svg"]


@pytest.mark.parametrize("page", ["pictures.md", "seeds.md"])
def test_links_lead_somewhere(page: str) -> None:
    targets = re.findall(r"\]\(([^)#]+)", (ROOT / "docs" / page).read_text(encoding="utf-8"))
    assert targets
    assert [target for target in targets if not (ROOT / "docs" / target).exists()] == []


def test_the_articles_figures() -> None:
    # 000: T0 has 0,1,4,5,8,9, and so on.
    array = seeds.array_000().panels[0].panel.cells
    threads = [int(cell.lines[0][1]) for cell in sorted(array, key=lambda cell: cell.column)]
    assert [[i for i, t in enumerate(threads) if t == thread] for thread in range(4)] == [
        [0, 1, 4, 5, 8, 9], [2, 3, 6, 7, 10, 11], [12, 13, 16, 17, 20, 21], [14, 15, 18, 19, 22, 23],
    ]  # fmt: skip

    def grid(picture: Any) -> list[list[int]]:
        panel = picture.panels[0].panel
        cells = {(cell.row, cell.column): int(cell.lines[0]) for cell in panel.cells}
        return [[cells[i, j] for j in range(panel.columns)] for i in range(panel.rows)]

    assert grid(seeds.value_layout_000()) == [[0, 4, 8], [1, 5, 9]]
    assert grid(seeds.thread_layout_000()) == [[0, 12], [2, 14]]
    assert grid(seeds.thread_value_000())[2] == [12, 13, 16, 17, 20, 21]
    assert [cell.column for cell in seeds.first_indices_000().panels[0].panel.cells if cell.owner is not None] == [
        0, 2, 12, 14,
    ]  # fmt: skip
    # 001
    assert grid(seeds.row_major_001())[1] == [4, 5, 6, 7]
    assert grid(seeds.column_major_001())[1] == [1, 5, 9, 13]
    assert grid(seeds.a_001()) == [[0, 2], [8, 10], [16, 18], [24, 26], [32, 34], [40, 42]]
    assert grid(seeds.b_001()) == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]
    assert grid(seeds.composed_001()) == [[0, 8, 16], [24, 32, 40], [2, 10, 18], [26, 34, 42]]
    assert "20.5 of the 32" in seeds.active_lanes_001().notes[0]
    # 002
    assert grid(seeds.interleaved_002()) == [[0, 2, 8, 10], [1, 3, 9, 11], [4, 6, 12, 14], [5, 7, 13, 15]]
    grey = {int(cell.lines[0]) for cell in seeds.complement_002().panels[0].panel.cells if cell.faded}
    assert grey == {0, 1, 6, 7}
    assert seeds.divide_2d_002().title.endswith("= ((2,2),(3,2)):((1,2),(4,12))")
    # 004
    assert seeds.bijection_004().title == "complement(8:2, 32) = (2,2):(1,16)"

"""What the compiled pictures say of random layouts is what the layouts give, cell by cell."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tilewright import cute

leaves = st.tuples(st.integers(1, 5), st.integers(-6, 20))
modes = st.recursive(leaves, lambda inner: st.lists(inner, min_size=1, max_size=3), max_leaves=5)


def layout_of(mode):
    """A layout of one leaf, or of a list of them."""
    if isinstance(mode, tuple):
        return cute.make_layout(mode[0], stride=mode[1])
    return cute.make_layout([layout_of(inner) for inner in mode])


@given(modes)
def test_each_cell_says_what_the_layout_gives(mode):
    layout = layout_of(mode)
    picture = cute.show(layout)
    cells = [dict(cell.hover) | {"line": cell.lines[0]} for p in picture.panels for cell in p.panel.cells]
    if len(cells) == cute.size(layout):
        assert sorted(int(cell["offset"]) for cell in cells) == sorted(map(layout, range(cute.size(layout))))
    else:
        assert any("drawn" in note for note in picture.notes)
    for cell in cells:
        assert cell["line"] == cell["offset"]
        coordinate = cute.parse(cell["coordinate"])
        assert layout(coordinate) == int(cell["offset"])
        if "index" in cell:
            assert layout(int(cell["index"])) == int(cell["offset"])
    assert picture.svg().startswith("<svg")

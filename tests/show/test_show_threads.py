"""Pictures of copies, multiplications and partitions: each cell names the thread that the layouts name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from show_cells import by_place
from tilewright import Float16, Float32, cute
from tilewright.cute import nvgpu

if TYPE_CHECKING:
    from tilewright.show import Cell

L = cute.parse
VECTOR = cute.make_copy_atom(nvgpu.CopyUniversalOp(), Float32, num_bits_per_copy=128)
LDMATRIX = cute.make_copy_atom(nvgpu.warp.LdMatrix8x8x16bOp(num_matrices=4), Float16)
MMA = nvgpu.warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16))
FOUR = cute.make_tiled_mma(MMA, (2, 2, 1), (32, 32, 16))


def pair(cell: Cell, letter: str = "V") -> tuple[int, int]:
    """The thread and the value that a cell names, as T3 and V1 or as T3V1."""
    found = re.fullmatch(rf"T(\d+)(?:\+\d+)?{letter}(\d+)(?:\+\d+)?", "".join(cell.lines))
    assert found, cell.lines
    return int(found[1]), int(found[2])


@pytest.mark.parametrize(
    "tiled",
    [
        cute.make_tiled_copy_tv(VECTOR, L("(8,4):(4,1)"), L("(1,4):(4,1)")),
        cute.make_tiled_copy_tv(VECTOR, L("32:1"), L("4:1")),
        cute.make_tiled_copy_A(LDMATRIX, cute.make_tiled_mma(MMA)),
        cute.make_tiled_copy_C(cute.make_copy_atom(nvgpu.CopyUniversalOp(), Float16), cute.make_tiled_mma(MMA)),
    ],
)
def test_cells_of_a_tiled_copy_have_the_thread_and_value_of_its_layouts(tiled: Any) -> None:
    picture = cute.show(tiled)
    sides = [tiled.layout_src_tv_tiled, tiled.layout_dst_tv_tiled]
    assert len(picture.panels) == (1 if sides[0] == sides[1] else 2)
    extents = tuple(cute.size(mode) for mode in tiled.tiler_mn)
    for i, tv in zip(range(len(picture.panels)), sides, strict=False):
        cells = by_place(picture, i)
        assert len(cells) == cute.size(extents)
        for (row, column), cell in cells.items():
            thread, value = pair(cell)
            assert cell.owner == thread
            line = picture.panels[i].panel.columns  # of a tile of one mode
            assert tv((thread, value)) == (row + extents[0] * column if len(extents) > 1 else row * line + column)


def test_an_element_of_several_threads_says_how_many() -> None:
    picture = cute.show(cute.make_tiled_copy_A(LDMATRIX, FOUR))
    assert all(any("+1" in line for line in cell.lines) for cell in by_place(picture, 0).values())


def test_ldmatrix_reads_rows_and_writes_pairs() -> None:
    picture = cute.show(LDMATRIX)
    source, target = (by_place(picture, i) for i in range(2))
    assert pair(source[9, 3]) == (9, 3)  # thread 9 names row 9
    assert pair(target[9, 3]) == (
        5,
        3,
    )  # row 1 of the second matrix: thread 4 + 1 has columns 2 and 3 in values 2 and 3
    assert picture.title == "CopyAtom of LdMatrix8x8x16bOp: 32 threads, Float16, 128 bits a thread"


@pytest.mark.parametrize(("tile", "says"), [(64, "there is no room for"), (32, "pointing at a cell shows")])
def test_where_there_is_no_room_for_hovers_the_picture_says_so(tile: int, says: str) -> None:
    drawn = cute.show(cute.make_tiled_mma(MMA, (2, 2, 1), (64, tile, 16))).svg()
    assert len(drawn.encode()) < 200_000
    assert ("data-hover" not in drawn) == (tile == 64)
    assert says in re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", drawn))


@pytest.mark.parametrize("tile", [(64, 64, 16)])
def test_where_no_field_fits_the_cells_have_places(tile: tuple[int, int, int]) -> None:
    drawn = cute.show(cute.make_tiled_mma(MMA, (2, 1, 1), tile)).svg()
    assert len(drawn.encode()) < 200_000
    assert drawn.count("<title>") == 1
    assert drawn.count(" data-cells=") == 3
    assert drawn.count(' data-turned="1"') == 1
    assert drawn.count('data-rows="(0,|(1,|(2,') == 2
    assert drawn.count('data-columns="(0,|(1,|(2,') == 1
    assert "as HTML, the picture shows coordinate and text" in re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", drawn))


@pytest.mark.parametrize("thread", [None, 37])
def test_both_sides_of_a_copy_of_64_by_64_are_drawn_whole(thread: int | None) -> None:
    tiled = cute.make_tiled_copy_A(LDMATRIX, cute.make_tiled_mma(MMA, (2, 2, 1), (64, 64, 64)))
    picture = cute.show(tiled if thread is None else tiled.get_slice(thread))
    assert [len(placed.panel.cells) for placed in picture.panels] == [4096, 4096]
    assert len(picture.html().encode()) < 200_000


@pytest.mark.parametrize("tiled", [FOUR, cute.make_tiled_mma(nvgpu.MmaUniversalOp(Float32), (4, 8, 1))])
def test_a_multiplication_is_drawn_around_the_product(tiled: Any) -> None:
    picture = cute.show(tiled)
    places = {placed.panel.title[0]: (placed.row, placed.column) for placed in picture.panels}
    assert places == {"B": (0, 1), "A": (1, 0), "C": (1, 1)}
    names = [placed.panel.title[0] for placed in picture.panels]
    for name, modes in (("A", (0, 2)), ("B", (1, 2)), ("C", (0, 1))):
        tv, rows = getattr(tiled, f"tv_layout_{name}_tiled"), tiled.get_tile_size(modes[0])
        cells = by_place(picture, names.index(name))
        assert len(cells) == rows * tiled.get_tile_size(modes[1])
        for (i, j), cell in cells.items():
            thread, value = pair(cell, name.lower())
            row, column = (j, i) if name == "B" else (i, j)  # B's K runs down
            assert tv((thread, value)) == row + rows * column


def test_mma_sync_is_as_the_ptx_manual_has_it() -> None:
    # PTX ISA, "Matrix Fragments for mma.m16n8k16": groupID = lane >> 2, threadID_in_group = lane % 4.
    picture = cute.show(cute.make_mma_atom(MMA))
    b, a, c = (by_place(picture, i) for i in range(3))
    for lane in range(32):
        group, thread = lane >> 2, lane % 4
        for i in range(8):
            row = group if i < 2 or 4 <= i < 6 else group + 8
            assert a[row, thread * 2 + (i & 1) + (8 if i >= 4 else 0)].lines == (f"T{lane}", f"a{i}")
        for i in range(4):
            assert b[thread * 2 + (i & 1) + (8 if i >= 2 else 0), group].lines == (f"T{lane}", f"b{i}")
            assert c[group + (8 if i >= 2 else 0), thread * 2 + (i & 1)].lines == (f"T{lane}", f"c{i}")


def test_an_operand_in_shared_memory_shows_its_matrices() -> None:
    major = nvgpu.OperandMajorMode.K
    op = nvgpu.warpgroup.MmaF16BF16Op(Float16, Float32, (64, 32, 16), nvgpu.warpgroup.OperandSource.SMEM, major, major)
    picture = cute.show(cute.make_tiled_mma(op))
    b, a, c = (by_place(picture, i) for i in range(3))
    assert {a[row, column].owner for row in range(8) for column in range(8)} == {a[0, 0].owner}
    assert a[8, 0].lines == ("8,0",)
    assert b[8, 8].lines == ("8,8",)
    assert c[0, 2].lines == ("T1", "c0")
    assert picture.notes == ()
    assert len(a) == 64 * 16
    assert len(picture.svg().encode()) < 200_000


def test_a_large_multiplication_is_cut_and_said_so() -> None:
    op = nvgpu.warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16))
    whole = cute.show(cute.make_tiled_mma(op, (2, 2, 1), (64, 64, 16)))
    assert len(by_place(whole, 2)) == 64 * 64
    assert whole.notes == ()
    large = cute.show(cute.make_tiled_mma(op, (2, 2, 1), (64, 64, 64)))
    assert "C has 64 x 64 elements, of which 43 x 43 are drawn: the first ones and the last" in large.notes
    assert all(len(picture.svg().encode()) < 200_000 for picture in (whole, large))


def test_atoms_along_k_share_sums() -> None:
    picture = cute.show(cute.make_tiled_mma(MMA, (1, 2, 2)))
    assert all(cell.lines[0].endswith("+1") for cell in by_place(picture, 2).values())


def test_one_thread_of_a_multiplication() -> None:
    thread = FOUR.get_slice(5)
    picture = cute.show(thread)
    for panel, name, rows, columns in ((1, "A", 32, 16), (2, "C", 32, 32)):
        part = getattr(thread, f"partition_{name}")(cute.make_identity_tensor((rows, columns)))
        wanted = {tuple(part[i]) for i in range(cute.size(part))}
        assert {place for place, cell in by_place(picture, panel).items() if cell.marked} == wanted
        assert all(cell.faded != cell.marked for cell in by_place(picture, panel).values())
    assert picture.notes[0] == "thread 5 has 8 of A, 8 of B, 8 of C"
    with pytest.raises(ValueError, match="there is no thread 128"):
        cute.show(FOUR, thread=128)


@pytest.mark.parametrize("index", [0, 5, 31])
def test_one_thread_of_a_copy(index: int) -> None:
    thread = cute.make_tiled_copy_tv(VECTOR, L("(8,4):(4,1)"), L("(1,4):(4,1)")).get_slice(index)
    tensor = L("(16,32):(32,1)")
    picture = cute.show(thread, tensor=tensor)
    part = thread.partition_S(cute.make_identity_tensor((16, 32)))
    wanted = {tuple(part[i]): str(i) for i in range(cute.size(part))}
    cells = by_place(picture, 0)
    assert {place: cell.lines[0] for place, cell in cells.items() if cell.marked} == wanted
    assert {cells[place].owner for place in wanted} == {0, 1, 2, 3}  # a colour for each of 2 x 2 tiles
    for (row, column), cell in cells.items():
        assert dict(cell.hover)["offset"] == str(tensor((row, column)))
        if cell.faded:  # another thread's: 16 columns of a tile, 4 for each thread
            assert cell.lines == (f"T{row % 8 * 4 + column % 16 // 4}",)


def test_the_two_sides_of_a_thread_and_a_tiler_with_gaps() -> None:
    picture = cute.show(cute.make_tiled_copy_A(LDMATRIX, FOUR).get_slice(33))
    assert [placed.panel.title.split(":")[0] for placed in picture.panels] == ["partition_S", "partition_D"]
    store = cute.make_copy_atom(nvgpu.warp.StMatrix8x8x16bOp(num_matrices=2), Float16)
    strided = cute.make_tiled_copy_C_atom(store, FOUR)  # its tile has every other 8 columns
    whole = cute.show(strided.get_slice(1), tensor=(32, 32))
    part = strided.get_slice(1).partition_S(cute.make_identity_tensor((32, 32)))
    marked = {place for place, cell in by_place(whole, 0).items() if cell.marked}
    assert marked == {tuple(part[i]) for i in range(cute.size(part))}
    other = strided.get_slice(2).partition_S(cute.make_identity_tensor((32, 32)))
    for i in range(cute.size(other)):
        assert by_place(whole, 0)[tuple(other[i])].lines == ("T2",)


def test_pointing_at_a_part_of_a_tensor_shows_where_it_lies() -> None:
    atom = cute.make_copy_atom(nvgpu.CopyUniversalOp(), Float32, num_bits_per_copy=128)
    thread = cute.make_tiled_copy_tv(atom, L("(8,4):(4,1)"), L("(1,4):(4,1)")).get_slice(5)
    layout = L("(8,16):(16,1)")
    tensor = cute.make_tensor(cute.make_ptr(Float32, 4096), layout)
    for picture in (
        cute.show(thread, tensor=tensor),
        cute.show(cute.local_tile, tensor, (4, 8), (1, 0)),
        cute.show(cute.local_partition, tensor, L("(4,2):(1,4)"), 3),
    ):
        for (row, column), cell in by_place(picture, 0).items():
            shows = dict(cell.hover)
            offset = layout((row, column))
            assert (shows["offset"], shows["address"]) == (str(offset), str(4096 + 4 * offset))
            assert shows["bank"] == str(offset % 32)
    inside = by_place(cute.show(cute.local_tile, tensor, (4, 8), (1, 0)), 1)
    assert dict(inside[0, 1].hover)["address"] == str(4096 + 4 * 65)
    assert "address" not in dict(by_place(cute.show(thread, tensor=layout), 0)[0, 0].hover)


@pytest.mark.parametrize("x", ["x", True, 3.5, (16, "a"), object])
def test_what_is_no_tensor_of_a_thread(x: object) -> None:
    atom = cute.make_copy_atom(nvgpu.CopyUniversalOp(), Float32, num_bits_per_copy=128)
    thread = cute.make_tiled_copy_tv(atom, L("(8,4):(4,1)"), L("(1,4):(4,1)")).get_slice(5)
    with pytest.raises(TypeError, match=r"show: expected tensor to be .* a Tensor, a Layout or a shape, but got"):
        cute.show(thread, tensor=x)

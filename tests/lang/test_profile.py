"""cute.profile: costs by line of Python, without a GPU."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import tilewright as cutlass
from tilewright import cute
from tilewright._core import LayoutError

STRIDES = (1, 2, 8, 33)


@cute.kernel
def strided_kernel(x: cute.Tensor, y: cute.Tensor, stride: cutlass.Constexpr):
    i, _, _ = cute.arch.thread_idx()
    shared = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, 32 * 33)
    shared[i * stride] = x[i * stride]
    cute.arch.sync_threads()
    if i < 16:
        y[i] = shared[i * stride]


@cute.jit
def strided(x: cute.Tensor, y: cute.Tensor, stride: cutlass.Constexpr):
    strided_kernel(x, y, stride).launch(block=[32, 1, 1])


@pytest.mark.parametrize("stride", STRIDES)
def test_sectors_wavefronts_and_lanes_of_each_line(stride):
    x, y = np.ones(32 * 33, np.float32), np.zeros(32, np.float32)
    found = cute.profile(strided, x, y, stride)
    both, last = (line for line in found.lines if line.requests)
    assert (y == 0).all()  # it is counted on copies
    lanes = np.arange(32) * stride
    assert both.sectors == len(set(lanes // 8))
    banks = [len(set(lanes[lanes % 32 == bank])) for bank in range(32)]
    assert both.wavefronts == max(banks)
    assert (both.requests, last.requests, both.ideal_sectors) == (2, 2, 4)
    assert (both.lanes, last.lanes, last.sectors) == (32, 16, 2)
    assert both.text.strip() == "shared[i * stride] = x[i * stride]"
    assert "wavefronts" in str(found)


def test_what_is_no_jit_function_is_refused():
    with pytest.raises(TypeError, match=r"^profile: expected a function decorated with @cute\.jit, but got"):
        cute.profile(len)


# ---- what it says of a line


@cute.kernel
def uneven_kernel(x: cute.Tensor, y: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    total = cutlass.Float32(0)
    for k in cutlass.range(i % 4):  # the loop
        total = total + x[k]  # its body
    # a comment costs nothing
    if i >= 40:  # the branch
        total = total * 2.0 + 1.0  # two operations
    while total > 1.0:  # the other loop
        total = total * 0.25
    y[i] = total


@cute.jit
def uneven(x: cute.Tensor, y: cute.Tensor):
    uneven_kernel(x, y).launch(block=[64, 1, 1])
    uneven_kernel(x, y).launch(block=[64, 1, 1])


@pytest.fixture(scope="module")
def of_uneven():
    return cute.profile(uneven, np.ones(64, np.float32), np.zeros(64, np.float32))


def the_line(found, text):
    (line,) = (x for x in found.lines if text in x.text)
    return line


def test_divergence_is_said_of_the_line_of_the_branch(of_uneven):
    loop, branch = the_line(of_uneven, "# the loop"), the_line(of_uneven, "# the branch")
    # Of each of four warps: 0, 1, 2 and 3 trips; three looks at the condition tell lanes apart, of four.
    assert (loop.divergent, loop.branches) == (12, 16)
    assert (branch.divergent, branch.branches) == (2, 4)  # one warp lies across 40
    assert the_line(of_uneven, "# the other loop").divergent > 0
    assert the_line(of_uneven, "# its body").divergent == 0
    assert of_uneven.total.divergent == sum(line.divergent for line in of_uneven.lines)


def test_flops_are_those_of_active_lanes(of_uneven):
    assert the_line(of_uneven, "# two operations").flops == 2 * 2 * 24
    body = the_line(of_uneven, "# its body")
    assert (body.flops, body.lanes) == (2 * 64 * 6 // 4, 16)
    assert (body.requests, body.bytes) == (4 * 3, 4 * 2 * 64 * 6 // 4)


def test_launches_are_added_up_and_named(of_uneven):
    assert of_uneven.launches == [("uneven_kernel", (1, 1, 1), (64, 1, 1))] * 2
    assert str(of_uneven).startswith("uneven_kernel: grid 1, block 64, 2 times\n")
    assert of_uneven.total.requests == sum(line.requests for line in of_uneven.lines)


def test_a_line_is_found_by_its_number(of_uneven):
    line = the_line(of_uneven, "# its body")
    assert of_uneven.line(line.number) is line
    assert of_uneven.line(line.number, "test_profile.py") is line
    with pytest.raises(KeyError, match=rf"line 1 costs nothing; the lines that do are .*\b{line.number}\b"):
        of_uneven.line(1)


def test_instructions_of_a_line_have_their_worst_request():
    found = cute.profile(strided, np.ones(32 * 33, np.float32), np.zeros(32, np.float32), 32)
    both = the_line(found, "shared[i * stride] = x")
    load, store = both.instructions
    assert (load.name, load.sass, load.requests, load.sectors) == ("load x", "LDG.E", 1, 32)
    assert (store.name, store.sass, store.worst.ways, store.bytes_moved) == ("store shared", "STS", 32, 128)
    assert store.addresses == tuple(128 * i for i in range(32))
    assert (both.ways, both.excess) == (32, 28 + 31)
    assert "32-way bank conflict" in str(both)


def test_lines_of_several_files_are_told_apart(tmp_path, monkeypatch):
    (tmp_path / "helper.py").write_text(
        "from tilewright import cute\n@cute.jit\ndef column(x, i):\n    return x[i * 32]\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    from helper import column

    @cute.kernel
    def kernel(x: cute.Tensor):
        i, _, _ = cute.arch.thread_idx()
        x[i] = column(x, i)

    @cute.jit
    def launch(x: cute.Tensor):
        kernel(x).launch(block=[32, 1, 1])

    found = cute.profile(launch, np.zeros(1024, np.float32))
    assert found.line(4, "helper.py").sectors == 32
    with pytest.raises(KeyError, match="costs nothing"):
        found.line(4, "test_profile.py")
    text = found.text(200)
    assert "\nhelper.py, line 4: load x: neighbouring lanes are 128 bytes apart" in text
    assert len([line for line in text.splitlines() if "requests" in line and line.endswith(".py")]) == 2


# ---- the listing


@pytest.fixture(scope="module")
def conflicts():
    return cute.profile(strided, np.ones(32 * 33, np.float32), np.zeros(32, np.float32), 32)


def test_the_worst_lines_are_marked_and_what_mends_them_is_said(conflicts, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    lines = str(conflicts).splitlines()
    marked = [line for line in lines if line.startswith("!")]
    assert [re.search(r"(shared\[|y\[i\])", line)[1] for line in marked] == ["shared[", "y[i]"]
    first, second = (line for line in lines if re.match(r"line \d+: ", line))
    number = the_line(conflicts, "shared[i * stride] = x").number
    assert first == (
        f"line {number}: store shared: 32-way bank conflict, 32 wavefronts of 1 ideal; pad the rows by 1 element, or "
        "composition with Swizzle<5,0,5> takes 1 wavefront"
    )
    assert "load shared: 16-way bank conflict" in second
    assert lines[-3].split()[-1] == "total"


def test_numbers_stand_below_their_heads(conflicts):
    lines = conflicts.text(120).splitlines()
    (head,) = (line for line in lines if "wavefronts" in line and "sectors" in line)
    (row,) = (line for line in lines if "= x[i * stride]" in line)
    for name, value in (
        ("requests", "2"),
        ("lanes", "32"),
        ("sectors", "32/4"),
        ("wavefronts", "32/1"),
        ("ways", "32"),
    ):
        end = head.index(name) + len(name)
        assert row[:end].split()[-1] == value
    assert "FLOPs" not in head  # of a column without a number nothing is shown


@pytest.mark.parametrize("width", [60, 80, 200])
def test_it_is_as_wide_as_the_terminal(conflicts, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    lines = str(conflicts).splitlines()
    assert max(map(len, lines)) <= width
    assert any(line.endswith("...") for line in lines) == (width < 100)
    assert "sectors" in lines[1]
    assert "wavefronts" in lines[1]
    assert ("bytes" in lines[1]) == (width > 80)  # of little room more is left to the source


def test_a_file_is_known_by_the_end_of_its_path(conflicts):
    """Parts of a program lie in one folder, so that their paths begin alike."""
    other = copy.copy(conflicts)
    other.lines = [dataclasses.replace(x, file="/a/folder/with/a/long/name/and/one/more/part.py") for x in other.lines]
    (head,) = (x for x in other.text(60).splitlines() if "sectors" in x)
    assert re.search(r"\.\.\.\S*e/part\.py$", head)


@cute.kernel
def two_places_kernel(x: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    x[i] = 1.0  # above
    #
    #
    #
    #
    x[i + 32] = 2.0  # below


@cute.jit
def two_places(x: cute.Tensor):
    two_places_kernel(x).launch(block=[32, 1, 1])


def test_lines_between_are_shown_and_long_gaps_are_not(of_uneven):
    text = of_uneven.text(120)
    (row,) = (line for line in text.splitlines() if "# a comment" in line)
    assert re.fullmatch(r" \d+ +# a comment costs nothing", row)
    found = cute.profile(two_places, np.zeros(64, np.float32))
    table = str(found).splitlines()
    (gap,) = (i for i, line in enumerate(table) if line.strip() == ":")
    assert "# above" in table[gap - 1]
    assert "# below" in table[gap + 1]


class Tags(HTMLParser):
    """Whether tags are closed in their order, and what there are."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.text = [], set(), ""

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.add(tag)
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_a_notebook_shows_a_small_table_without_script(conflicts):
    html = conflicts._repr_html_()
    tags = Tags()
    tags.feed(html)
    assert not tags.open
    assert tags.seen == {"p", "table", "tr", "th", "td"}
    assert "32-way bank conflict" in tags.text
    assert "if i < 16:" in tags.text  # escaped
    assert len(html) < 8000
    # It has no colours of its own but a ground that can be seen through: it reads on light and on dark pages.
    assert set(re.findall(r"(?:color|background):([^;\"]+)", html)) == {"rgba(220,80,40,.22)"}


# ---- pictures


def test_a_line_is_drawn_by_its_banks_and_sectors(conflicts):
    picture = cute.show(the_line(conflicts, "shared[i * stride] = x"))
    load, store = (placed.panel for placed in picture.panels)
    assert load.title == "load x, LDG.E: 32 sectors in 32 lines, ideal 4"
    assert store.title == "store shared, STS: 32 wavefronts, ideal 1"
    assert {cell.column for cell in store.cells} == {0}  # one bank
    assert [cell.lines for cell in store.cells] == [(str(i),) for i in range(32)]
    assert "<svg" in picture.svg()
    assert the_line(conflicts, "shared[i * stride] = x")._repr_html_() is not None


def test_a_profile_is_drawn_by_its_worst_lines(conflicts):
    picture = cute.show(conflicts)
    number = the_line(conflicts, "shared[i * stride] = x").number
    assert picture.panels[0].panel.title.startswith(f"line {number}: load x, LDG.E")
    assert picture.notes[0].startswith(f"line {number}: store shared: 32-way")


def test_what_has_no_requests_has_no_picture(of_uneven):
    with pytest.raises(LayoutError, match="makes no requests to global or shared memory"):
        cute.show(the_line(of_uneven, "# the branch"))


def test_a_compiled_function_is_profiled_too():
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
    compiled = cute.compile(uneven, x, y)
    assert str(cute.profile(compiled, x, y)) == str(cute.profile(uneven, x, y))


def test_nothing_is_launched():
    @cute.jit
    def nothing(n: cutlass.Int32):
        pass

    assert str(cute.profile(nothing, 1)) == "no kernel was launched"


@cute.kernel
def steps_kernel(x: cute.Tensor, y: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    b, _, _ = cute.arch.block_idx()
    y[b * 64 + i] = x[(b * 64 + i) * (1 + i // 32)]  # neighbours, or every other


@cute.jit
def steps(x: cute.Tensor, y: cute.Tensor):
    steps_kernel(x, y).launch(grid=[3, 1, 1], block=[64, 1, 1])


def test_one_warp_is_counted_and_drawn_alone():
    x, y = np.ones(512, np.float32), np.zeros(192, np.float32)
    found = cute.profile(steps, x, y)
    for block in range(3):
        for warp in range(2):
            alone = the_line(found.of_warp(block, warp), "# neighbours")
            load, store = alone.instructions
            assert (load.requests, load.sectors, store.sectors) == (1, 4 * (1 + warp), 4)
            assert load.note == f"worst request in block {block}, warp {warp}"
            first = (block * 64 + 32 * warp) * 4 * (1 + warp)
            assert load.addresses == tuple(first % 128 + 4 * (1 + warp) * i for i in range(32))
            assert cute.show(alone).panels[0].panel.title.startswith(f"load x, LDG.E: {4 * (1 + warp)} sectors")
    total = sum(found.of_warp(block, warp).total.sectors for block in range(3) for warp in range(2))
    assert total == found.total.sectors


@pytest.mark.parametrize(("block", "warp"), [(3, 0), (0, 2), (-1, 0), (0, -1)])
def test_a_warp_that_is_not_there_is_refused(block, warp):
    found = cute.profile(steps, np.ones(512, np.float32), np.zeros(192, np.float32))
    message = rf"^of_warp: there is no warp {warp} of block {block}; the launches have 3 blocks of 2 warps$"
    with pytest.raises(ValueError, match=message):
        found.of_warp(block, warp)


@cute.kernel
def to_each_cta_kernel(y: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    rank = cute.arch.block_idx_in_cluster()
    shared = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(4))
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    if i < 4:
        cute.make_tensor(cute.arch.mapa(shared.iterator, i), cute.make_layout(4))[rank] = 1.0  # to each CTA
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    if i < 4:
        y[rank * 4 + i] = shared[i]


@cute.jit
def to_each_cta(y: cute.Tensor):
    to_each_cta_kernel(y).launch(grid=[4, 1, 1], block=[32, 1, 1], cluster=[4, 1, 1])


def test_the_shared_memory_of_each_cta_has_its_own_banks():
    lines, first = inspect.getsourcelines(to_each_cta_kernel.function)
    line = first + next(i for i, text in enumerate(lines) if "# to each CTA" in text)
    found = cute.profile(to_each_cta, np.zeros(16, np.float32)).line(line)
    assert found.ways == 1
    assert "conflict" not in found.hint


@cute.kernel
def chosen_kernel(x: cute.Tensor, y: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    a = x[i]
    b = a * 2
    y[i] = a if i % 2 == 0 else b
    if i % 2 == 0:
        y[i] = x[i + 1]


@cute.jit
def chosen(x: cute.Tensor, y: cute.Tensor):
    chosen_kernel(x, y).launch(block=[32, 1, 1])


def test_a_choice_of_two_numbers_is_no_branch():
    profile = cute.profile(chosen, np.zeros(33, np.float32), np.zeros(32, np.float32))
    first = chosen_kernel.function.__code__.co_firstlineno
    assert [profile.line(first + n).divergent for n in (5, 6)] == [0, 1]

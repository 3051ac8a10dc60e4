"""The widths that cute.profile counts are those of the machine: line by line, the memory instructions of the PTX."""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

import pytest

import tilewright as cutlass
from compiling import nvrtc
from example_calls import EXAMPLES, calls_of
from tilewright import cute
from tilewright._core import program as core
from tilewright.cute.runtime import from_dlpack
from tilewright.lang.gpu import kernels_of
from tilewright.runtime.compiler import _kernel_headers, nvrtc_library
from tilewright.runtime.nvrtc import open_nvrtc, options_for

torch = pytest.importorskip("torch")
pytestmark = nvrtc

MEMORIES = {"gmem": "global", "smem": "shared"}
ACCESS = re.compile(r"\s*(?:@!?%p\d+ )?(ld|st|atom|red|cp\.(?:reduce\.)?async|ldmatrix|stmatrix)\.([\w.:]+)\s+(.*)")
# What moves nothing that a kernel sees: parameters and spills are no lines' own, and a prefetch ends in the L2.
NO_ACCESS = re.compile(r"(param|local|const)|.*((commit|wait)_group|mbarrier\.arrive|bulk\.prefetch)")
# N of a wgmma, and whether A comes from registers. An instruction reads 32 bytes of each row along K.
WGMMA = re.compile(r"wgmma\.mma_async\S+\.m64n(\d+)k\S+ +\{[^}]*\}, *(\{)?")


class Access(NamedTuple):
    """What an instruction does: of cp.async the memory is that to which it writes.

    The width of a box is 0: its tensor map has it, not the instruction.
    """

    file: str
    line: int
    kind: str
    memory: str
    width: int


def accesses_of(ptx: str) -> set[Access]:
    """The accesses of global and shared memory in PTX, by the line that is said of them.

    An instruction of an inlined function of the device library is of the line that calls it.
    """
    files = {int(number): name for number, name in re.findall(r'^\s*\.file\s+(\d+)\s+"([^"]+)"', ptx, re.M)}
    found, place = set(), ("", 0)
    for text in ptx.splitlines():
        if at := re.match(r"\s*\.loc\s+(\d+) (\d+)(?:.*inlined_at (\d+) (\d+))?", text.replace("\t", " ")):
            own = at.group(3, 4) if at[3] else at.group(1, 2)
            place = files[int(own[0])], int(own[1])
        if product := WGMMA.search(text):
            operands = {"B": int(product[1]), **({} if product[2] else {"A": 64})}
            found |= {Access(*place, "wgmma", "shared", rows * 32) for rows in operands.values()}
        access = ACCESS.match(text)
        if access is None or NO_ACCESS.match(access[2]):
            continue
        operation, modifiers, operands = access.groups()
        kind = {"ld": "load", "st": "store", "cp.async": "cp.async"}.get(operation, "atomic")
        # An address without a memory is that of another block's shared memory, or an atomic's.
        memory = next((x for x in ("shared", "global") if x in modifiers), "generic")
        if memory == "generic" and kind in ("load", "store"):
            memory = "shared"
        if operation in ("ldmatrix", "stmatrix"):
            kind, width = operation, 16  # of the row whose address a lane gives
        elif "bulk." in modifiers:
            kind, memory, width = "bulk load" if "shared::cluster.global" in modifiers else "bulk store", "global", 0
        elif kind == "cp.async":
            width = int(re.findall(r"\], (\d+)", operands)[0])
        else:
            lanes = re.search(r"\.v(\d)", modifiers)
            width = int(re.findall(r"[subf](\d+)$", modifiers)[0]) // 8 * (int(lanes[1]) if lanes else 1)
        found.add(Access(*place, kind, memory, width))
    return found


def counted_in(launches) -> set[Access]:
    rows = [row for launch in launches for row in launch.rows if row.width]
    return {
        Access(*row.place[:2], row.kind, MEMORIES[row.space], 0 if "bulk" in row.kind else row.width)
        for row in rows
        if (row.kind, row.space) != ("cp.async", "gmem")
    }


def by_the_rules(ptx: set[Access], counted: set[Access]) -> tuple[set[Access], set[Access]]:
    """Both but for what the compiler makes of neighbouring loads of shared memory of which it knows the addresses.

    It merges some: one line has the wider access then, and others may have none. And it splits some: an element of a
    vector is loaded besides, at a line that uses it. docs/ncu.md has both.
    """
    loads = {x for x in ptx - counted if (x.kind, x.memory) == ("load", "shared")}
    same = {x: [y for y in counted if (x.file, x.kind, x.memory) == (y.file, y.kind, y.memory)] for x in loads}
    wider = {x for x in loads if any(x.line == y.line and x.width in (2 * y.width, 4 * y.width) for y in same[x])}
    split = {x for x in loads if any(y in ptx and x.width < y.width for y in same[x])}
    merged = {y for x in wider for y in same[x]}
    return ptx - wider - split - merged, counted - merged


def ptx_of(kernel) -> str:
    """The PTX of a kernel; no machine code is made of it, which nothing here reads."""
    nvrtc = open_nvrtc(nvrtc_library().path)
    source = core.cuda_source(kernel.program, kernel.index, "every")
    options = [*options_for(nvrtc.version, "compute_90a"), *kernel.options]
    result = nvrtc.compile(source, f"{kernel.name}.cu", dict(_kernel_headers()[0]), options, [kernel.name])
    assert result.ok, result.log
    return result.ptx


@functools.cache
def programs_of(name: str):
    """What the PTX of each program of an example has, and what is counted in all calls of it."""
    found = {}
    for call in calls_of(name):
        if call.traced not in found:
            ptx = set().union(*(accesses_of(ptx_of(x)) for x in kernels_of(call.traced, "sm_90a").values()))
            found[call.traced] = ptx, set()
        found[call.traced][1].update(counted_in(call.launches))
    return list(found.values())


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_moves_as_many_bytes_in_an_instruction_as_are_counted(name):
    """What is counted is in the program's PTX; what is in PTX is counted, if not for each program of the example."""
    programs = programs_of(name)
    everything = set().union(*(counted for _, counted in programs))
    for ptx, counted in programs:
        assert counted, "a program that accesses no memory tests nothing"
        left, expected = by_the_rules(ptx, counted)
        assert expected <= left
        # Of wgmma only operands in swizzles of 128 bytes are counted, which the instruction does not say.
        assert {x for x in left if x.kind != "wgmma"} <= everything


def test_only_loads_of_shared_memory_are_merged_or_split():
    """As docs/ncu.md says."""
    found = set()
    for name in EXAMPLES:
        everything = set().union(*(counted for _, counted in programs_of(name)))
        found |= {(x.kind, x.memory) for ptx, _ in programs_of(name) for x in ptx - everything}
    assert found == {("load", "shared")}


def test_the_ptx_is_read_line_by_line():
    ptx = """
    .loc 1 7 3
    @%p1 ld.global.nc.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];
    .loc 2 49 25, function_name $L__info_string0, inlined_at 1 8 3
    st.shared.v2.b64 [%r1], {%rd1, %rd2};
    cp.async.ca.shared.global [%r1], [%rd1], 8, %r2;
    cp.async.commit_group;
    ld.param.u64 %rd1, [k_param_0];
    red.global.add.s32 [%rd1], 1;
    .file 1 "f.py"
    .file 2 "lang.cuh"
    """
    assert accesses_of(ptx) == {
        Access("f.py", 7, "load", "global", 16),
        Access("f.py", 8, "store", "shared", 16),
        Access("f.py", 8, "cp.async", "shared", 8),
        Access("f.py", 8, "atomic", "global", 4),
    }


# ---- small kernels: what is copied, and how it lies


@cute.kernel
def move_kernel(
    x: cute.Tensor, y: cute.Tensor, how: cutlass.Constexpr, bits: cutlass.Constexpr, layout: cutlass.Constexpr
):
    i, _, _ = cute.arch.thread_idx()
    a, b = x[i, None], y[i, None]
    if cutlass.const_expr(how == "vector"):
        b.store(a.load())
    elif cutlass.const_expr(how == "elements"):
        for k in cutlass.range_constexpr(cute.size(a)):
            b[k] = a[k]
    elif cutlass.const_expr(how == "atom"):
        own = cute.make_fragment_like(a)
        atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), x.element_type, num_bits_per_copy=bits)
        cute.copy(atom, a, own)
        cute.copy(atom, own, b)
    else:
        tile = cutlass.utils.SmemAllocator().allocate_tensor(x.element_type, layout, 16)
        tile[i, None].store(a.load())
        cute.arch.sync_threads()
        b.store(tile[31 - i, None].load())


@cute.jit
def move(x: cute.Tensor, y: cute.Tensor, how: cutlass.Constexpr, bits: cutlass.Constexpr, layout: cutlass.Constexpr):
    move_kernel(x, y, how, bits, layout).launch(block=[32, 1, 1])


def moved(dtype, count, align, how, *, bits=0, layout=None, transposed=False):
    """The widths of the accesses of global and of shared memory in the PTX, once they are those that are counted."""
    x, y = (
        torch.zeros(count, 32, dtype=dtype).t() if transposed else torch.zeros(32, count, dtype=dtype) for _ in "xy"
    )
    arguments = *(from_dlpack(t, assumed_align=align) for t in (x, y)), how, bits, layout
    ptx = accesses_of(cute.compile(move, *arguments).ptx)
    assert ptx == counted_in([cute.profile(move, *arguments)])
    return tuple({x.width for x in ptx if x.memory == memory} for memory in ("global", "shared"))


@pytest.mark.parametrize(
    ("dtype", "count", "align", "how", "widths"),
    [
        ("float32", 8, 16, "vector", {16}),
        ("float32", 8, 8, "vector", {8}),
        ("float32", 8, 4, "vector", {4}),
        ("float32", 3, 16, "vector", {4}),
        ("float32", 8, 16, "elements", {4}),
        ("bfloat16", 8, 16, "vector", {16}),
        ("float16", 4, 16, "vector", {8}),
        ("int8", 16, 16, "vector", {16}),
        ("int8", 2, 2, "vector", {2}),
        ("bool", 8, 16, "vector", {8}),
        ("float64", 4, 16, "vector", {16}),
        ("int64", 1, 16, "vector", {8}),
    ],
)
def test_vectors(dtype, count, align, how, widths):
    assert moved(getattr(torch, dtype), count, align, how) == (widths, set())


def test_columns_are_copied_element_by_element():
    assert moved(torch.float32, 8, 16, "vector", transposed=True) == ({4}, set())


@pytest.mark.parametrize(("dtype", "bits"), [("float32", 32), ("float32", 64), ("bfloat16", 128), ("int8", 16)])
def test_copy_atoms(dtype, bits):
    assert moved(getattr(torch, dtype), 16, 16, "atom", bits=bits) == ({bits // 8}, set())


@pytest.mark.parametrize(
    ("dtype", "stride", "swizzle", "width"),
    [
        ("float32", 8, None, 16),
        ("float32", 12, None, 16),
        ("float32", 10, None, 8),
        ("float32", 9, None, 4),
        ("float32", 8, (3, 2, 3), 16),
        ("float32", 8, (5, 0, 5), 4),
        ("bfloat16", 8, (2, 3, 3), 16),
        ("bfloat16", 8, (3, 1, 4), 4),
    ],
)
def test_shared_memory_under_strides_and_swizzles(dtype, stride, swizzle, width):
    layout = cute.make_layout((32, 8), stride=(stride, 1))
    if swizzle is not None:
        layout = cute.make_composed_layout(cute.make_swizzle(*swizzle), 0, layout)
    assert moved(getattr(torch, dtype), 8, 16, "shared", layout=layout) == ({16}, {width})

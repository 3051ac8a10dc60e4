"""Tiled copies against the CuTe C++ headers: atoms, tilers, thread-value layouts, partitions, and what is refused."""

from __future__ import annotations

import re

import pytest

import tilewright as tw
from golden import load
from golden.convert import to_cute, to_json
from tilewright import cute
from tilewright.cute import nvgpu
from tilewright.cute.text import print_tv

TYPES = {"half_t": tw.Float16, "float": tw.Float32, "double": tw.Float64, "int8_t": tw.Int8}
OPERATIONS = {
    "UniversalCopy": nvgpu.CopyUniversalOp(),
    "AutoVectorizingCopy": nvgpu.CopyUniversalOp(),
    "SM80_CP_ASYNC_CACHEALWAYS": nvgpu.cpasync.CopyG2SOp(),
    "SM80_CP_ASYNC_CACHEGLOBAL": nvgpu.cpasync.CopyG2SOp(nvgpu.cpasync.LoadCacheMode.GLOBAL),
}


def operation(name):
    """`SM75_U32x4_LDSM_N` is an ldmatrix of 4 registers of 32 bits; `U16x8_LDSM_T` has as many, transposed."""
    if name in OPERATIONS:
        return OPERATIONS[name]
    bits, count, kind, form = re.fullmatch(r"SM\d+_U(\d+)x(\d+)_(LD|ST)SM_(N|T)", name).groups()
    op = nvgpu.warp.LdMatrix8x8x16bOp if kind == "LD" else nvgpu.warp.StMatrix8x8x16bOp
    return op(form == "T", int(bits) * int(count) // 32)


def copy_atom(args):
    atom = cute.make_copy_atom(operation(args["op"]), TYPES[args["val_type"]], num_bits_per_copy=args["bits"] or 0)
    assert atom.value_type.bits == args["val_bits"]
    return atom


MAKERS = {
    "make_tiled_copy": lambda atom, a: cute.make_tiled_copy_tv(atom, to_cute(a["thr"]), to_cute(a["val"])),
    "make_tiled_copy_tv": lambda atom, a: cute.make_tiled_copy(atom, to_cute(a["layout_tv"]), to_cute(a["tiler_mn"])),
    "make_cotiled_copy": lambda atom, a: cute.make_cotiled_copy(atom, to_cute(a["atom_tv"]), to_cute(a["data"])),
}


REASONS = {
    "too few values for the atom": "takes 8 values of a thread at once, but mode 1 has",
    "too few threads for the atom": "takes 32 threads at once, but mode 0 has 8",
    "tensor rank < tiler rank": r"tidfrg_S\(128:1\): the tiler \(8,4\) has 2 modes, but the tensor has 1",
}


def view(tensor):
    return {"offset": tensor.iterator, "layout": tensor.layout}


def facts(op, args):
    tiled = MAKERS[op](copy_atom(args["atom"]), args)
    found = {
        "tiler_mn": tiled.tiler_mn,
        "layout_tv": tiled.layout_tv_tiled,
        "layout_src_tv": tiled.layout_src_tv_tiled,
        "layout_dst_tv": tiled.layout_dst_tv_tiled,
        "atom_thr_id": tiled.thr_id,
        "atom_src": tiled.layout_src_tv,
        "atom_dst": tiled.layout_dst_tv,
        "atom_ref": tiled.layout_ref,
        "num_thr": tiled.size,
    }
    if "tensor" in args:
        tensor, thread = cute.make_tensor(0, to_cute(args["tensor"])), tiled.get_slice(args["thr_idx"])
        found |= {
            "tidfrg_S": tiled.tidfrg_S(tensor.layout),
            "tidfrg_D": tiled.tidfrg_D(tensor.layout),
            "partition_S": view(thread.partition_S(tensor)),
            "partition_D": view(thread.partition_D(tensor)),
        }
    return to_json(found)


@pytest.mark.parametrize("op", MAKERS)
def test_every_vector(op):
    """All that the vector says, with and without the checks."""
    wrong = []
    for case in load("tiled_copy")[op]:
        with cute.unchecked():
            unchecked = facts(op, case["args"])
        assert facts(op, case["args"]) == unchecked
        wrong += [
            f"{case['id']} {case['args']}: {key}: got {unchecked[key]}, expected {value}"
            for key, value in case["result"].items()
            if unchecked[key] != value
        ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("case", load("tiled_copy")["errors"], ids=lambda case: case["id"])
def test_what_cute_refuses_to_compile(case):
    args = case["args"]
    with pytest.raises(tw.LayoutError, match=REASONS[case["why"]]):
        MAKERS["make_tiled_copy"](copy_atom(args["atom"]), args).tidfrg_S(to_cute(args["tensor"]))


def printed_copy(args):
    bits, dtype = re.fullmatch(r"UniversalCopy<(\d+)b>, (\w+)", args["atom"]).groups()
    atom = cute.make_copy_atom(nvgpu.CopyUniversalOp(), TYPES[dtype], num_bits_per_copy=int(bits))
    return cute.make_tiled_copy_tv(atom, to_cute(args["thr"]), to_cute(args["val"]))


@pytest.mark.parametrize("case", load("tiled_copy")["print_tiled_copy"], ids=lambda case: case["id"])
def test_the_text_of_cute_in_parts(case):
    """CuTe C++ prints the same facts in another form."""
    args = case["args"]
    tiled = printed_copy(args)
    names = ("ThrID", "TV Layout Src", "TV Layout Dst", "Value type", "TV Layout tiled")
    ours = dict(re.findall(r"^  ([\w ]+): +(.*)$", str(tiled), re.MULTILINE))
    theirs = dict(re.findall(r"^  (\w+): +(.*)$", case["result"]["text"].replace("_", ""), re.MULTILINE))
    assert [ours[name] for name in names] == [
        theirs["ThrID"],
        theirs["ValLayoutSrc"],
        theirs["ValLayoutDst"],
        "f" + theirs["ValueType"].removesuffix("b"),
        theirs["TiledLayoutTV"],
    ]
    assert ours["Tiler MN"] == "(" + ",".join(f"{n}:1" for n in theirs["TilerMN"].strip("()").split(",")) + ")"
    assert str(tiled.layout_ref) == theirs["ValLayoutRef"]


@pytest.mark.parametrize("case", load("tiled_copy")["print_latex_tiled_copy"], ids=lambda case: case["id"])
def test_latex(case, capsys):
    """Byte for byte, less the underscore of static integers."""
    tiled = printed_copy(case["args"])
    expected = case["result"]["text"].replace("_", "")
    assert print_tv.format_latex_tiled_copy(tiled) == expected
    cute.print_latex_tiled_copy(tiled)
    assert capsys.readouterr().out == expected


def test_latex_of_a_thread_value_layout(capsys):
    """Each element once, with a thread and a value that have it."""
    tv = cute.parse("((4,8),(2,2)):((32,1),(16,8))")
    cute.print_latex_tv(tv, (16, 8))
    nodes = re.findall(r"at \((\d+),(\d+)\) \{\\shortstack\{T(\d+) \\\\ V(\d+)\}", capsys.readouterr().out)
    assert len(nodes) == 128
    for row, column, thread, value in (map(int, node) for node in nodes):
        assert tv((thread, value)) == row + 16 * column


def test_latex_of_elements_that_several_threads_have(capsys):
    """The first of them is shown."""
    cute.print_latex_tv(cute.parse("((4,2),2):((1,0),4)"), (4, 2))
    nodes = re.findall(r"shortstack\{T(\d+) ", capsys.readouterr().out)
    assert nodes == ["0", "0", "1", "1", "2", "2", "3", "3"]


def test_latex_refuses():
    with pytest.raises(tw.LayoutError, match="the tile 64 has 1 modes"):
        cute.print_latex_tv(cute.make_layout((8, 8)), 64)
    with pytest.raises(tw.LayoutError, match="reaches from 0 to 63, but the tile has the elements 0 to 31"):
        cute.print_latex_tv(cute.make_layout((8, 8)), (8, 4))
    with pytest.raises(TypeError, match="two modes, thread and value"):
        cute.print_latex_tv(cute.make_layout(64), (8, 8))
    with pytest.raises(TypeError, match="expected a TiledCopy"):
        cute.print_latex_tiled_copy(cute.make_layout(64))

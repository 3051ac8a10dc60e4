"""Tiled multiplications against the CuTe C++ headers: atoms, thread-value layouts, partitions, copies from them."""

from __future__ import annotations

import re

import pytest

import tilewright as tw
from golden import load
from golden.convert import to_cute, to_json
from test_golden_tiled_copy import copy_atom
from tilewright import cute
from tilewright.cute.atoms.mma_ops import MmaOp
from tilewright.cute.atoms.mma_traits import MMA_TRAITS, MmaTraits
from tilewright.cute.nvgpu import MmaUniversalOp, OperandMajorMode, warp, warpgroup
from tilewright.cute.tiled.tiled_mma import OPERAND_MODES

K = OperandMajorMode.K
SS, RS = warpgroup.OperandSource.SMEM, warpgroup.OperandSource.RMEM


class VoltaOp(MmaOp):
    """mma.m8n8k4 of a quad pair: older than what CUDA 13 compiles for, but an atom is its layouts."""

    __slots__ = ()

    def __init__(self, form):
        self._make((form,), "mma.m16n8k8.f16", tw.Float16, tw.Float16, tw.Float32)

    def _check(self, traits):
        object.__setattr__(self, "shape_mnk", (8, 8, 4))

    @property
    def traits(self) -> MmaTraits:
        ab = {"TN": "(8,4):(1,8)", "NT": "((4,2),4):((8,4),1)"}[self._arguments[0]]
        c = "((2,2,2),(2,2,2)):((1,16,4),(8,2,32))"
        return MMA_TRAITS[self.row]._replace(thr_id="(4,2):(1,16)", a=ab, b=ab, c=c)


def operation(name):
    """`SM80_16x8x16_F32F16F16F32_TN` names the architecture, the shape, and the types D, A, B, C."""
    if name == "UniversalFMA_f32":
        return MmaUniversalOp(tw.Float32)
    arch, m, n, k, types, form = re.fullmatch(r"SM(\d+)_(\d+)x(\d+)x(\d+)_(\w+?)_(\w+)", name).groups()
    shape = (int(m), int(n), int(k))
    if arch == "70":
        return VoltaOp(form)
    if int(m) == 64:
        source = RS if form.startswith("RS") else SS
        if "E4M3" in types:
            return warpgroup.MmaF8Op(tw.Float8E4M3FN, tw.Float8E4M3FN, tw.Float32, shape, source)
        if "TF32" in types:
            return warpgroup.MmaTF32Op(shape, source)
        dtype = tw.BFloat16 if "BF16" in types else tw.Float16
        return warpgroup.MmaF16BF16Op(dtype, tw.Float32, shape, source, K, K)
    if "E4M3" in types:
        return warp.MmaFP8Op(tw.Float8E4M3FN, tw.Float32, shape)
    if "TF32" in types:
        return warp.MmaTF32Op(shape)
    if "S8" in types:
        return warp.MmaI8Op(tw.Int8, tw.Int32, shape)
    if "F64" in types:
        return warp.MmaF64Op(shape)
    return warp.MmaF16BF16Op(tw.BFloat16 if "BF16" in types else tw.Float16, tw.Float32, shape)


def tiled_mma(args):
    permutation = args.get("permutation_mnk")
    permutation = None if permutation is None else tuple(map(to_cute, permutation))
    return cute.make_tiled_mma(operation(args["atom"]), to_cute(args["atom_layout_mnk"]), permutation)


def view(tensor):
    return {"offset": tensor.iterator, "layout": tensor.layout}


def make_facts(args, operands="ABC"):
    tiled = tiled_mma(args)
    tiled_layouts = {f"layout{x}_TV": getattr(tiled, f"tv_layout_{x}_tiled") for x in operands}
    return tiled_layouts | {
        "atom_thr_id": tiled.thr_id,
        "atom_shape_mnk": tiled.shape_mnk,
        "atom_A": tiled.tv_layout_A,
        "atom_B": tiled.tv_layout_B,
        "atom_C": tiled.tv_layout_C,
        "thr_layout_vmnk": tiled.thr_layout_vmnk,
        "tile_size_mnk": tuple(map(tiled.get_tile_size, range(3))),
        "size": tiled.size,
    }


def partition_facts(args):
    tiled = tiled_mma(args)
    thread = tiled.get_slice(args["thr_idx"])
    found = {"thr_vmnk": thread._place()}
    for operand in "ABC":
        layout = to_cute(args[operand])
        shape = layout.shape[:2]
        found |= {
            f"thrfrg_{operand}": getattr(tiled, f"thrfrg_{operand}")(layout),
            f"partition_{operand}": view(getattr(thread, f"partition_{operand}")(cute.make_tensor(0, layout))),
            f"partition_shape_{operand}": getattr(tiled, f"partition_shape_{operand}")(shape),
        }
    return found


def copy_facts(args):
    make = getattr(cute, f"make_tiled_copy_{args['operand']}")
    tiled = make(copy_atom(args["copy_atom"]), tiled_mma(args))
    return {
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


FACTS = {"make_tiled_mma": make_facts, "partition": partition_facts, "tiled_copy_from_mma": copy_facts}


def agrees(tiled, operand, layout):
    """Whether a thread-value layout gives each thread its partition of the tile, in order."""
    tile = tuple(map(tiled.get_tile_size, OPERAND_MODES[operand]))
    values = cute.size(layout, mode=[1])
    offsets = layout.offsets().reshape(-1, values, order="F")
    partition = f"partition_{operand}"
    parts = (getattr(tiled.get_slice(t), partition)(cute.make_tensor(0, tile)) for t in range(tiled.size))
    return all((part.iterator + part.layout.offsets() == offsets[t]).all() for t, part in enumerate(parts))


def broken_law(op, case):
    """Whether CuTe's thread-value layout of C gives threads with atoms along K other elements than their partitions."""
    if op == "make_tiled_mma":
        return not agrees(tiled_mma(case["args"]), "C", to_cute(case["result"]["layoutC_TV"]))
    if op == "tiled_copy_from_mma" and case["args"]["operand"] == "C":
        return not agrees(tiled_mma(case["args"]), "C", to_cute(case["result"]["layout_tv"]))
    return False


@pytest.mark.parametrize("op", FACTS)
def test_every_vector(op):
    """CuTe's answer, structure included; LayoutError where the answer gives threads what is not in the tile."""
    wrong, refused = [], 0
    for case in load("tiled_mma")[op]:
        args, expected = case["args"], case["result"]
        if broken_law(op, case):
            refused += 1
            with pytest.raises(tw.LayoutError, match="2 atoms lie along K, so threads have parts of the same sum"):
                FACTS[op](args)
            assert args["atom_layout_mnk"]["shape"][2] == 2
            if op == "tiled_copy_from_mma":
                continue
            found = to_json(make_facts(args, "AB"))
        else:
            found = to_json(FACTS[op](args))
            tiled = tiled_mma(args)
            assert all(agrees(tiled, x, getattr(tiled, f"tv_layout_{x}_tiled")) for x in "AB")
            assert found.keys() == expected.keys()
        wrong += [
            f"{case['id']} {args}: {key}: got {value}, expected {expected[key]}"
            for key, value in found.items()
            if value != expected[key]
        ]
    assert not wrong, "\n".join(wrong)
    assert refused == {"make_tiled_mma": 6, "partition": 0, "tiled_copy_from_mma": 1}[op]


@pytest.mark.parametrize("case", load("tiled_mma")["print_tiled_mma"], ids=lambda case: case["id"])
def test_the_text_of_cute_in_parts(case):
    """CuTe C++ prints the same facts in another form."""
    tiled = tiled_mma(case["args"])
    names = ("Thr Layout VMNK", "Permutation MNK", "ThrID", "Shape MNK", "TV Layout A", "TV Layout B", "TV Layout C")
    ours = dict(re.findall(r"^  ([\w ]+): +(.*)$", str(tiled), re.MULTILINE))
    text = re.sub(r"_(\d)", r"\1", case["result"]["text"])
    theirs = dict(re.findall(r"^  (\w+): +(.*)$", text, re.MULTILINE))
    assert [ours[name] for name in names] == list(theirs.values())


@pytest.mark.parametrize("case", load("tiled_mma")["print_latex_tiled_mma"], ids=lambda case: case["id"])
def test_latex(case, capsys):
    """Byte for byte, less the underscore of static integers."""
    expected = re.sub(r"_(\d)", r"\1", case["result"]["text"])
    cute.print_latex_tiled_mma(tiled_mma(case["args"]))
    assert capsys.readouterr().out == expected


KINDS = warpgroup.SmemLayoutAtomKind
SMEM_TYPES = {
    "half_t": tw.Float16,
    "bfloat16_t": tw.BFloat16,
    "tfloat32_t": tw.TFloat32,
    "float": tw.Float32,
    "int8_t": tw.Int8,
}


@pytest.mark.parametrize("op", ["gmma_smem_atom", "gmma_tile_to_shape", "position_independent"])
def test_smem_atoms(op):
    """Ours has the swizzle in elements, as `position_independent`; the other vectors have that of bytes."""
    for case in load("smem_atoms")[op]:
        args, result = case["args"], case["result"]
        kind = KINDS[f"{args['major']}_{args['swizzle']}"]
        atom = warpgroup.make_smem_layout_atom(kind, SMEM_TYPES[args["type"]])
        if op == "position_independent":
            assert to_json(atom) == result, case
            continue
        if op == "gmma_tile_to_shape":
            atom = cute.tile_to_shape(atom, tuple(args["trg_shape"]), tuple(args["order"]))
            size, plain = args["bits"] // 8, to_cute(result["layout"])
            assert [kind.swizzle(plain(i)) for i in args["idx"]] == result["values"], case
            assert [atom(i) * size for i in args["idx"]] == [kind.swizzle(plain(i) * size) for i in args["idx"]], case
        assert to_json(kind.swizzle) == result["swizzle"], case
        assert to_json(cute.get_nonswizzle_portion(atom)) == result["layout"], case


# Threads with gaps between them, printed by CuTe's headers: numbers in a gap stay beside those below, with stride 0.
QUAD_PAIRS = [
    (
        (2, 1, 1),
        "((4,(2,2),2),(4,(1,1))):((1,(8,0),4),(16,(0,0)))",
        "((4,(2,2),2),(4,(1,1))):((1,(0,0),4),(8,(0,0)))",
        "(((2,2),(2,2),2),((2,2,2),(1,1))):(((1,32),(8,0),4),((16,2,64),(0,0)))",
    ),
    (
        (1, 2, 1),
        "((4,(2,2),2),(4,(1,1))):((1,(0,0),4),(8,(0,0)))",
        "((4,(2,2),2),(4,(1,1))):((1,(8,0),4),(16,(0,0)))",
        "(((2,2),(2,2),2),((2,2,2),(1,1))):(((1,16),(64,0),4),((8,2,32),(0,0)))",
    ),
    (
        (2, 2, 1),
        "((4,(2,2),2),(4,(1,1))):((1,(8,0),4),(16,(0,0)))",
        "((4,(2,2),2),(4,(1,1))):((1,(0,8),4),(16,(0,0)))",
        "(((2,2),(2,2),2),((2,2,2),(1,1))):(((1,32),(8,128),4),((16,2,64),(0,0)))",
    ),
    (
        (1, 1, 2),
        "((4,(2,2),2),(4,(1,1))):((1,(32,0),4),(8,(0,0)))",
        "((4,(2,2),2),(4,(1,1))):((1,(32,0),4),(8,(0,0)))",
        "(((2,2),(2,2),2),((2,2,2),(1,1))):(((1,16),(0,0),4),((8,2,32),(0,0)))",
    ),
    (
        (4, 1, 1),
        "((4,4,2),(4,(1,1))):((1,8,4),(32,(0,0)))",
        "((4,4,2),(4,(1,1))):((1,0,4),(8,(0,0)))",
        "(((2,2),4,2),((2,2,2),(1,1))):(((1,64),8,4),((32,2,128),(0,0)))",
    ),
    (
        (2, 1, 2),
        "((4,(2,2),2),(4,(1,1))):((1,(8,64),4),(16,(0,0)))",
        "((4,(2,2),2),(4,(1,1))):((1,(0,32),4),(8,(0,0)))",
        "(((2,2),(2,2),2),((2,2,2),(1,1))):(((1,32),(8,0),4),((16,2,64),(0,0)))",
    ),
]


@pytest.mark.parametrize(("atoms", "a", "b", "c"), QUAD_PAIRS)
def test_threads_with_gaps(atoms, a, b, c):
    tiled = cute.make_tiled_mma(VoltaOp("TN"), atoms)
    assert [str(getattr(tiled, f"tv_layout_{x}_tiled")) for x in "ABC"] == [a, b, c]

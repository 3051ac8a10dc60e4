"""PTX that programs write as text, executed by the CPU: each instruction against what PTX's manual says of it."""

from __future__ import annotations

import functools
import itertools
import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilewright as cutlass
from tilewright import cute
from tilewright._core import program
from tilewright._mlir.dialects import llvm
from tilewright.cutlass_dsl import T

KINDS = {
    "r": (cutlass.Uint32, np.uint32), "l": (cutlass.Uint64, np.uint64), "f": (cutlass.Float32, np.float32),
    "d": (cutlass.Float64, np.float64), "h": (cutlass.Uint16, np.uint16),
}  # fmt: skip


@functools.cache
def launcher(text, constraints):
    """A function that runs the text in a warp: its arguments are arrays of outputs, then of inputs."""
    kinds = constraints.split(",")
    outputs, inputs = [kind[1] for kind in kinds if kind[0] == "="], [kind for kind in kinds if kind[0] != "="]

    @cute.kernel
    def body(arrays: tuple):
        i, _, _ = cute.arch.thread_idx()
        operands = [arrays[len(outputs) + j][i].ir_value() for j in range(len(inputs))]
        types = [KINDS[kind][0].mlir_type for kind in outputs]
        result = types[0] if len(types) == 1 else llvm.StructType.get_literal(types)
        found = llvm.inline_asm(
            result, operands, text, constraints, has_side_effects=True, asm_dialect=llvm.AsmDialect.AD_ATT
        )
        for j in cutlass.range_constexpr(len(outputs)):
            one = found if len(types) == 1 else llvm.extractvalue(types[j], found, [j])
            arrays[j][i] = KINDS[outputs[j]][0](one)

    @cute.jit
    def launch(arrays: tuple):
        body(arrays).launch(grid=1, block=32)

    return launch, outputs, inputs


def ran(text, constraints, *rows):
    """What a warp gives: an array of 32 for each output, from 32 numbers for each input, which are repeated."""
    launch, outputs, inputs = launcher(text, constraints)
    given = [np.resize(np.array(row, KINDS[kind][1]), 32) for kind, row in zip(inputs, rows, strict=True)]
    made = [np.zeros(32, KINDS[kind][1]) for kind in outputs]
    launch((*made, *given))
    return made if len(made) > 1 else made[0]


def signed(x):
    return x - (1 << 32) if x >> 31 else x


WORDS = st.integers(0, 2**32 - 1)
EDGES = [0, 1, 2, 31, 32, 33, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 0x12345678, 0xF0F0A5A5]
PAIRS = list(itertools.product(EDGES, EDGES))

BINARY = {
    "add.u32": lambda a, b: a + b,
    "sub.s32": lambda a, b: a - b,
    "mul.lo.s32": lambda a, b: a * b,
    "mul.hi.u32": lambda a, b: a * b >> 32,
    "mul.hi.s32": lambda a, b: signed(a) * signed(b) >> 32,
    "min.s32": lambda a, b: min(signed(a), signed(b)),
    "max.u32": max,
    "add.sat.s32": lambda a, b: max(min(signed(a) + signed(b), 2**31 - 1), -(2**31)),
    "and.b32": lambda a, b: a & b,
    "or.b32": lambda a, b: a | b,
    "xor.b32": lambda a, b: a ^ b,
    "shl.b32": lambda a, b: 0 if b > 31 else a << b,
    "shr.u32": lambda a, b: 0 if b > 31 else a >> b,
    "shr.s32": lambda a, b: signed(a) >> min(b, 31),
}


@pytest.mark.parametrize("name", BINARY)
def test_integers(name):
    for some in _batches(PAIRS):
        a, b = zip(*some, strict=True)
        found = ran(f"{name} $0, $1, $2;", "=r,r,r", a, b)
        expected = [BINARY[name](x, y) & 0xFFFFFFFF for x, y in some]
        assert found.tolist()[: len(some)] == expected, (name, some)


def _batches(items):
    return [items[i : i + 32] for i in range(0, len(items), 32)]


@given(st.lists(st.tuples(WORDS, WORDS), min_size=32, max_size=32))
def test_long_products(pairs):
    a, b = zip(*pairs, strict=True)
    found = ran("mul.wide.u32 $0, $1, $2;", "=l,r,r", a, b)
    assert found.tolist() == [x * y for x, y in pairs]
    wide = ran("mul.wide.s32 $0, $1, $2;", "=l,r,r", a, b)
    assert wide.tolist() == [signed(x) * signed(y) % 2**64 for x, y in pairs]
    a64, b64 = [x << 32 | y for x, y in pairs], [y << 32 | (x ^ 0xFFFF) for x, y in pairs]
    upper = ran("mul.hi.u64 $0, $1, $2;", "=l,l,l", a64, b64)
    assert upper.tolist() == [x * y >> 64 for x, y in zip(a64, b64, strict=True)]

    def long(x):
        return x - 2**64 if x >> 63 else x

    upper = ran("mul.hi.s64 $0, $1, $2;", "=l,l,l", a64, b64)
    assert upper.tolist() == [(long(x) * long(y) >> 64) % 2**64 for x, y in zip(a64, b64, strict=True)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("popc.b32 $0, $1;", lambda a: a.bit_count()),
        ("clz.b32 $0, $1;", lambda a: 32 - a.bit_length()),
        ("brev.b32 $0, $1;", lambda a: int(f"{a:032b}"[::-1], 2)),
        ("bfind.u32 $0, $1;", lambda a: a.bit_length() - 1),
        ("bfind.shiftamt.u32 $0, $1;", lambda a: 32 - a.bit_length() if a else -1),
        ("bfind.s32 $0, $1;", lambda a: (a ^ 0xFFFFFFFF if a >> 31 else a).bit_length() - 1),
        ("not.b32 $0, $1;", lambda a: ~a),
        ("cnot.b32 $0, $1;", lambda a: a == 0),
        ("abs.s32 $0, $1;", lambda a: abs(signed(a))),
        ("neg.s32 $0, $1;", lambda a: -a),
        ("bfe.u32 $0, $1, 4, 8;", lambda a: a >> 4 & 255),
        ("bfe.s32 $0, $1, 28, 8;", lambda a: signed(a) >> 28),
        ("bfi.b32 $0, 5, $1, 8, 4;", lambda a: a & ~0xF00 | 0x500),
        ("prmt.b32 $0, $1, 0xAABBCCDD, 0x9740;", lambda a: (255 if a >> 15 & 1 else 0) << 24 | 0xAADD00 | a & 255),
        ("lop3.b32 $0, $1, 0xFF00FF00, 0x0F0F0F0F, 0xE8;", lambda a: _majority(a, 0xFF00FF00, 0x0F0F0F0F)),
        ("shf.l.wrap.b32 $0, $1, $1, 7;", lambda a: a << 7 | a >> 25),
        ("shf.r.clamp.b32 $0, $1, 3, 40;", lambda a: 3),
        ("dp4a.u32.u32 $0, $1, 0x01020304, 10;", lambda a: 10 + sum((a >> 8 * i & 255) * (4 - i) for i in range(4))),
        ("{ .reg .pred p; setp.lt.s32 p, $1, 0; @p mov.b32 $0, 7; @!p mov.b32 $0, 9; }", lambda a: 7 if a >> 31 else 9),
        ("{ .reg .pred p, q; setp.ge.and.u32 p|q, $1, 31, 1; selp.b32 $0, 1, 2, q; }", lambda a: 2 if a >= 31 else 1),
        ("{ .reg .b16 %lo<2>; mov.b32 {%lo0, %lo1}, $1; mov.b32 $0, {%lo1, %lo0}; }", lambda a: a << 16 | a >> 16),
        ("cvt.u32.u8 $0, $1;", lambda a: a & 255),
        ("cvt.sat.s8.s32 $0, $1; // a comment", lambda a: max(min(signed(a), 127), -128)),
        ("/* two */ mov.u32 $0, %lanemask_lt; mov.u32 $0, $1;", lambda a: a),
    ],
)  # fmt: skip
def test_words(text, expected):
    assert ran(text, "=r,r", EDGES).tolist()[: len(EDGES)] == [expected(a) & 0xFFFFFFFF for a in EDGES]


def _majority(a, b, c):
    return a & b | a & c | b & c


REALS = [0.0, -0.0, 1.0, -1.5, 2.5, 3.4e38, 1e-40, -1e-45, math.inf, -math.inf, math.nan, 0.1, 300.7, -300.7, 65520.0]
FLOATS = np.array(REALS, np.float32)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("add.rn.f32 $0, $1, 0f3DCCCCCD;", lambda a: a + np.float32(0.1)),
        ("mul.f32 $0, $1, 3.0;", lambda a: a * np.float32(3)),
        ("fma.rn.f32 $0, $1, $1, $1;", lambda a: (np.float64(a) * a + a).astype(np.float32)),
        ("div.rn.f32 $0, 1.0, $1;", lambda a: np.float32(1) / a),
        ("sqrt.rn.f32 $0, $1;", np.sqrt),
        ("abs.f32 $0, $1;", abs),
        ("neg.f32 $0, $1;", lambda a: -a),
        ("min.f32 $0, $1, 1.0;", lambda a: np.fmin(a, np.float32(1))),
        ("max.NaN.f32 $0, $1, 1.0;", lambda a: np.maximum(a, np.float32(1))),
        ("add.sat.f32 $0, $1, 0f00000000;", lambda a: np.where(np.isnan(a), 0, np.clip(a, 0, 1))),
        ("add.ftz.f32 $0, $1, 0f80000000;", lambda a: np.where(abs(a) < 1e-38, a * 0, a)),
        ("cvt.rni.f32.f32 $0, $1;", np.rint),
        ("cvt.rmi.f32.f32 $0, $1;", np.floor),
        ("ex2.approx.ftz.f32 $0, $1;", lambda a: np.exp2(np.where(abs(a) < 1e-38, 0, a))),
    ],
)
def test_floats(text, expected):
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(ran(text, "=f,f", FLOATS)[: len(REALS)], expected(FLOATS).astype(np.float32))


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("cvt.rzi.s32.f32", -(2**31), 2**31 - 1),
        ("cvt.rzi.u32.f32", 0, 2**32 - 1),
        ("cvt.rzi.s8.f32", -128, 127),
        ("cvt.rni.s32.f32", -(2**31), 2**31 - 1),
    ],
)
def test_floats_become_integers_that_stay_in_their_bounds(text, low, high):
    to_whole = round if "rni" in text else math.trunc
    expected = [0 if math.isnan(x) else low if x <= low else high if x >= high else to_whole(x) for x in REALS]
    assert ran(f"{text} $0, $1;", "=r,f", FLOATS).tolist()[: len(REALS)] == [x & 0xFFFFFFFF for x in expected]


@pytest.mark.parametrize(
    ("text", "constraints", "given", "expected"),
    [
        ("cvt.rzi.s64.f32 $0, $1;", "=l,f", math.nan, 1 << 63),
        ("cvt.rzi.s32.f64 $0, $1;", "=r,d", math.nan, 1 << 31),
        ("cvt.rzi.u16.f32 $0, $1;", "=h,f", math.nan, 0),
        ("cvt.rn.satfinite.f16.f32 $0, $1;", "=h,f", 70000.0, 0x7BFF),
        ("cvt.rn.f16.f32 $0, $1;", "=h,f", 70000.0, 0x7C00),
        ("cvt.rn.relu.f16.f32 $0, $1;", "=h,f", math.nan, 0x7FFF),
        ("cvt.rn.relu.f16.f32 $0, $1;", "=h,f", -3.0, 0),
        ("add.ftz.f16 $0, $1, $1;", "=h,h", 1, 0),
        ("add.f16 $0, $1, $1;", "=h,h", 1, 2),
        ("cvt.s16.s32 $0, $1;", "=r,r", 0x1FFFB, 0xFFFFFFFB),
        ("{ .reg .b32 x; cvt.s16.s32 x, $1; shr.u16 $0, x, 1; }", "=h,r", 0xFFFB, 0x7FFD),
        ("cvt.sat.s64.s32 $0, $1;", "=l,r", 0xFFFFFFFB, 2**64 - 5),
        ("add.s32 ${0}, ${1:u}, 1;", "=r,r", 3, 4),
    ],
)  # fmt: skip
def test_what_the_manual_says_of_single_cases(text, constraints, given, expected):
    assert ran(text, constraints, [given])[0] == expected


def kinds_of(text, constraints, *rows):
    try:
        ran(text, constraints, *rows)
    except cute.KernelError as error:
        return {finding.message for finding in error.findings}
    return set()


def test_lanes_under_a_guard_are_those_that_the_mask_names():
    text = "{{ .reg .pred p; setp.lt.u32 p, $1, 8; mov.b32 $0, 0; @p redux.sync.add.s32 $0, $1, {}; }}"
    lanes = np.arange(32)
    assert ran(text.format(255), "=r,r", lanes).tolist() == [28] * 8 + [0] * 24
    assert any("does not reach the instruction" in said for said in kinds_of(text.format(-1), "=r,r", lanes))


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_two_numbers_in_a_register():
    a, b = np.linspace(-3, 3, 32, dtype=np.float32), np.linspace(9, 70000, 32, dtype=np.float32)
    found = ran("cvt.rn.f16x2.f32 $0, $1, $2;", "=r,f,f", a, b)
    halves = np.stack([b, a], 1).astype(np.float16)  # the first one goes up
    assert found.tolist() == halves.view(np.uint32)[:, 0].tolist()
    some = np.stack([a, a / 3], 1).astype(np.float16)
    twice = ran("add.f16x2 $0, $1, $1;", "=r,r", some.view(np.uint32)[:, 0])
    assert twice.tolist() == (some + some).view(np.uint32)[:, 0].tolist()
    brain = ran("cvt.rn.bf16x2.f32 $0, $1, $2;", "=r,f,f", [1.0, -2.0], [3.0, 0.5])
    assert brain[:2].tolist() == [0x3F804040, 0xC0003F00]
    small = ran("cvt.rn.satfinite.e4m3x2.f32 $0, $1, $2;", "=h,f,f", [1.0, 1000.0], [-2.0, 0.0])
    assert small[:2].tolist() == [0x38C0, 0x7E00]
    assert ran("cvt.rn.f16x2.e4m3x2 $0, $1;", "=r,h", small)[0] == struct.unpack("<I", np.float16([-2, 1]).tobytes())[0]


def test_lanes_together():
    lanes = np.arange(32, dtype=np.uint32)
    assert ran("mov.u32 $0, %laneid;", "=r").tolist() == lanes.tolist()
    assert set(ran("{ .reg .pred p; setp.lt.u32 p, $1, 10; vote.sync.ballot.b32 $0, p, -1; }", "=r,r", lanes)) == {1023}
    assert set(ran("redux.sync.add.s32 $0, $1, 0xFFFFFFFF;", "=r,r", lanes)) == {496}
    text = "{ .reg .pred p; shfl.sync.down.b32 $0|p, $2, 4, 31, -1; selp.b32 $1, 1, 0, p; }"
    value, inside = ran(text, "=r,=r,r", lanes)
    assert value.tolist() == [*range(4, 32), *range(28, 32)]
    assert inside.tolist() == [1] * 28 + [0] * 4
    elected = ran("{ .reg .pred p; elect.sync _|p, -1; selp.b32 $0, 1, 0, p; }", "=r")
    assert elected.tolist() == [1] + [0] * 31
    assert set(ran("activemask.b32 $0;", "=r").tolist()) == {0xFFFFFFFF}


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("ld.global.u32 $0, [$1];", r"`ld.global.u32 \$0, \[\$1\]`"),
        ("add.u32 $0, $1, 1; bra done;", "`bra done`"),
        ("add.rz.f32 $0, $1, $1;", r"`add.rz.f32 \$0, \$1, \$1`"),
        ("mov.u32 $0, %smid;", "`mov.u32 .*%smid`"),
        ("add.u32 $0, $1, x;", "`add.u32 .* x`"),
        ("mad.u32 $0, $1, 1, 2;", "`mad.u32 "),
        ("add.u32 $0, $1;", "`add.u32 "),
        ("{ .reg .b32 x; add.u32 $0, x, $1; }", "`add.u32 .*, which reads x before it is written"),
        ("add.u32 $0, $0, $1;", r"`add.u32 .*, which reads \$0 before it is written"),
        ("mad.lo.sat.s32 $0, $1, $1, $1;", "`mad.lo.sat.s32 "),
        ("mov.b32 $0, --1;", "`mov.b32 "),
    ],
)
def test_what_is_not_known_is_refused_by_its_name(text, unknown):
    with pytest.raises(program.ProgramError, match=rf"inline_asm cannot be executed by the CPU: it knows no {unknown}"):
        ran(text, "=r,r", [1])


def test_what_was_never_written_is_found_behind_an_instruction():
    @cute.kernel
    def body(y: cute.Tensor):
        some = cute.make_rmem_tensor(1, cutlass.Uint32)
        found = llvm.inline_asm(
            T.i32(), [some[0].ir_value()], "add.u32 $0, $1, 1;", "=r,r", asm_dialect=llvm.AsmDialect.AD_ATT
        )
        y[0] = cutlass.Int32(found)

    @cute.jit
    def launch(y: cute.Tensor):
        body(y).launch(grid=1, block=1)

    with pytest.raises(cute.KernelError, match="not written"):
        launch(np.zeros(1, np.int32))


def test_what_one_lane_has_not_written_all_get_from_a_shuffle():
    @cute.kernel
    def body(y: cute.Tensor):
        i, _, _ = cute.arch.thread_idx()
        some = cute.make_rmem_tensor(1, cutlass.Uint32)
        if i != 5:
            some[0] = cutlass.Uint32(i)
        text = "shfl.sync.idx.b32 $0, $1, 5, 31, -1;"
        found = llvm.inline_asm(
            T.i32(), [some[0].ir_value()], text, "=r,r", has_side_effects=True, asm_dialect=llvm.AsmDialect.AD_ATT
        )
        if i != 5:
            y[i] = cutlass.Int32(found)

    @cute.jit
    def launch(y: cute.Tensor):
        body(y).launch(grid=1, block=32)

    with pytest.raises(cute.KernelError, match="not written"):
        launch(np.zeros(32, np.int32))


def test_a_result_is_no_operand_at_once(monkeypatch):
    monkeypatch.setitem(KINDS, "0", KINDS["r"])
    with pytest.raises(program.ProgramError, match=r"it knows no the constraint 0"):
        ran("add.s32 $0, $0, 1;", "=r,0", [41])

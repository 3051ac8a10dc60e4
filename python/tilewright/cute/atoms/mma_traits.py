"""Matrix multiply instructions as data: which thread has which element of A, B and C.

`MMA_TRAITS` has a row for each instruction. Its layouts map (thread, value) to an element of the instruction's tile: A
is (M,K), B is (N,K), C is (M,N), and elements are counted with the first mode fastest.

mma.m16n8k16 by hand, from the figures of the PTX manual. Lane l is thread t = l % 4 of group g = l / 4. Of C it
has c0 and c1, the columns 2t and 2t + 1 of row g, and c2 and c3, the same columns of row g + 8. Element (m,n) has the
index m + 16n. So t steps by two columns, 32; g by one row, 1; the low bit of the value by one column, 16; the high bit
by 8 rows, 8:

    C  ((4,8),(2,2)):((32,1),(16,8))
    A  ((4,8),(2,2,2)):((32,1),(16,8,128))      as C, and a4 to a7 are 8 columns further, 8 * 16
    B  ((4,8),(2,2)):((16,1),(8,64))            b0 and b1 are k = 2t, 2t + 1 of column n = g, at n + 8k

wgmma has four warps, each as above for 16 of the 64 rows, and N / 8 blocks of 8 columns. Operands in shared memory are
read by the instruction itself, so every thread has all of them: the thread's stride is 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tilewright.numeric import (
    BFloat16,
    Float8E4M3FN,
    Float8E5M2,
    Float16,
    Float32,
    Float64,
    Int8,
    Int32,
    Numeric,
    TFloat32,
    Uint8,
)

__all__ = ["MMA_TRAITS", "PTX_TYPES", "MmaTraits"]

Type = type[Numeric]
Types = Mapping[Type, tuple[Type, ...]]  # of A and B, and the accumulators that go with them

PTX_TYPES: Mapping[Type, str] = {
    Float16: "f16",
    BFloat16: "bf16",
    TFloat32: "tf32",
    Float32: "f32",
    Float64: "f64",
    Float8E4M3FN: "e4m3",
    Float8E5M2: "e5m2",
    Int8: "s8",
    Uint8: "u8",
    Int32: "s32",
}


class MmaTraits(NamedTuple):
    """What is known of an instruction; `MMA_TRAITS` has them all. `{n}` and `{n8}` in a text stand for N and N / 8.

    >>> row = MMA_TRAITS["mma.m16n8k16.f16"]
    >>> row.arch, row.shape_mnk, row.c
    ('sm_80', (16, 8, 16), '((4,8),(2,2)):((32,1),(16,8))')
    """

    ptx: str  # its name, with {a}, {b}, {acc} for the types
    shape_mnk: tuple[int, int | None, int]  # N is None where the instruction has several
    thr_id: str
    a: str
    b: str
    c: str
    arch: str  # the least architecture that has it
    types: Types
    mixed: bool = False  # A and B may have different ones of these types
    n_extents: tuple[int, ...] = ()  # what N may be, where there is a choice
    smem_a: bool = False  # A is read from shared memory by the instruction itself
    smem_b: bool = False
    fused: bool = False  # D = A B + C is rounded once for each k, as by fma; else how it rounds is not specified


_F16: Types = {Float16: (Float16, Float32)}
_BF16: Types = {BFloat16: (Float32,)}
_TF32: Types = {TFloat32: (Float32,)}
_F8: Types = {Float8E4M3FN: (Float16, Float32), Float8E5M2: (Float16, Float32)}
_I8: Types = {Int8: (Int32,), Uint8: (Int32,)}
_F64: Types = {Float64: (Float64,)}

# ---- one thread ------------------------------------------------------------------------------------------------------

_UNIVERSAL: Types = {
    Float16: (Float16, Float32),
    BFloat16: (Float32,),
    Float32: (Float32,),
    Float64: (Float64,),
    Float8E4M3FN: (Float32,),
    Float8E5M2: (Float32,),
    Int8: (Int32,),
    Uint8: (Int32,),
    Int32: (Int32,),
}
_ONE = "(1,1):(0,0)"

# ---- a warp ----------------------------------------------------------------------------------------------------------

_C_16X8 = "((4,8),(2,2)):((32,1),(16,8))"
# By bits of A's elements and K: A and B.
_WARP = {
    (16, 8): (_C_16X8, "((4,8),2):((16,1),8)"),
    (16, 16): ("((4,8),(2,2,2)):((32,1),(16,8,128))", "((4,8),(2,2)):((16,1),(8,64))"),
    (32, 4): ("((4,8),2):((16,1),8)", "((4,8),1):((8,1),0)"),
    (32, 8): ("((4,8),(2,2)):((16,1),(8,64))", "((4,8),2):((8,1),32)"),
    (8, 16): ("((4,8),(4,2)):((64,1),(16,8))", "((4,8),4):((32,1),8)"),
    (8, 32): ("((4,8),(4,2,2)):((64,1),(16,8,256))", "((4,8),(4,2)):((32,1),(8,128))"),
    (64, 4): ("((4,8),2):((16,1),8)", "((4,8),1):((8,1),0)"),
    (64, 8): ("((4,8),(2,2)):((16,1),(8,64))", "((4,8),2):((8,1),32)"),
    (64, 16): ("((4,8),(2,4)):((16,1),(8,64))", "((4,8),4):((8,1),32)"),
}


def _warp(k: int, arch: str, types: Types, fused: bool = False) -> MmaTraits:
    a, b = _WARP[next(iter(types)).bits, k]
    ptx = f"mma.sync.aligned.m16n8k{k}.row.col.{{acc}}.{{a}}.{{b}}.{{acc}}"
    return MmaTraits(ptx, (16, 8, k), "32:1", a, b, _C_16X8, arch, types, len(types) > 1, fused=fused)


# ---- a warpgroup -----------------------------------------------------------------------------------------------------

_N_EXTENTS = tuple(range(8, 257, 8))
_N_EXTENTS_I8 = (8, 16, 24, *range(32, 257, 16))
_C_WGMMA = "((4,8,4),(2,2,{n8})):((128,1,16),(64,8,512))"
# By K: A in registers.
_A_WGMMA = {
    8: "((4,8,4),(2,2)):((64,1,16),(8,256))",
    16: "((4,8,4),(2,2,2)):((128,1,16),(64,8,512))",
    32: "((4,8,4),(4,2,2)):((256,1,16),(64,8,1024))",
}


def _warpgroup(k: int, types: Types, smem_a: bool) -> MmaTraits:
    a = f"(128,(64,{k})):(0,(1,64))" if smem_a else _A_WGMMA[k]
    b = f"(128,({{n}},{k})):(0,(1,{{n}}))"
    ptx = f"wgmma.mma_async.sync.aligned.m64n{{n}}k{k}.{{acc}}.{{a}}.{{b}}"
    extents = _N_EXTENTS_I8 if Int8 in types else _N_EXTENTS
    mixed = len(types) > 1
    return MmaTraits(ptx, (64, None, k), "128:1", a, b, _C_WGMMA, "sm_90a", types, mixed, extents, smem_a, True)


_WARPGROUP: Mapping[str, tuple[int, Types]] = {
    "f16": (16, _F16),
    "bf16": (16, _BF16),
    "tf32": (8, _TF32),
    "f8": (32, _F8),
    "i8": (32, _I8),
}

MMA_TRAITS: Mapping[str, MmaTraits] = {
    "fma": MmaTraits("fma.rn.{acc}", (1, 1, 1), "1:0", _ONE, _ONE, _ONE, "sm_75", _UNIVERSAL, True, fused=True),
    "mma.m16n8k8.f16": _warp(8, "sm_75", _F16),
    "mma.m16n8k16.f16": _warp(16, "sm_80", _F16),
    "mma.m16n8k8.bf16": _warp(8, "sm_80", _BF16),
    "mma.m16n8k16.bf16": _warp(16, "sm_80", _BF16),
    "mma.m16n8k4.tf32": _warp(4, "sm_80", _TF32),
    "mma.m16n8k8.tf32": _warp(8, "sm_80", _TF32),
    "mma.m16n8k32.f8": _warp(32, "sm_89", _F8),
    "mma.m16n8k16.i8": _warp(16, "sm_80", _I8),
    "mma.m16n8k32.i8": _warp(32, "sm_80", _I8),
    "mma.m8n8k4.f64": MmaTraits(
        "mma.sync.aligned.m8n8k4.row.col.{acc}.{a}.{b}.{acc}",
        (8, 8, 4),
        "32:1",
        "((4,8),1):((8,1),0)",
        "((4,8),1):((8,1),0)",
        "((4,8),2):((16,1),8)",
        "sm_80",
        _F64,
        fused=True,
    ),
    "mma.m16n8k4.f64": _warp(4, "sm_90", _F64, fused=True),
    "mma.m16n8k8.f64": _warp(8, "sm_90", _F64, fused=True),
    "mma.m16n8k16.f64": _warp(16, "sm_90", _F64, fused=True),
    **{
        f"wgmma.k{k}.{kind}.{source}": _warpgroup(k, types, source == "ss")
        for kind, (k, types) in _WARPGROUP.items()
        for source in ("ss", "rs")
    },
}

"""The instructions that the page offers: what its scripts have to know of them, from the atoms themselves."""

from __future__ import annotations

from typing import Any

from tilewright import Float16, Float32, Int8, Int32, cute
from tilewright.cute import nvgpu

__all__ = ["COPY_OPS", "MMA_OPS", "copies", "mmas"]

_K, _SMEM = nvgpu.OperandMajorMode.K, nvgpu.warpgroup.OperandSource.SMEM
_FP16 = (Float16, Float32)
# By CuTe's names in C++.
MMA_OPS: dict[str, Any] = {
    "SM80_16x8x16_F32F16F16F32_TN": nvgpu.warp.MmaF16BF16Op(*_FP16, (16, 8, 16)),
    "SM80_16x8x8_F32F16F16F32_TN": nvgpu.warp.MmaF16BF16Op(*_FP16, (16, 8, 8)),
    "SM80_16x8x8_F32TF32TF32F32_TN": nvgpu.warp.MmaTF32Op((16, 8, 8)),
    "SM80_16x8x32_S32S8S8S32_TN": nvgpu.warp.MmaI8Op(Int8, Int32, (16, 8, 32)),
    "SM80_8x8x4_F64F64F64F64_TN": nvgpu.warp.MmaF64Op((8, 8, 4)),
    "SM90_64x32x16_F32F16F16_SS": nvgpu.warpgroup.MmaF16BF16Op(*_FP16, (64, 32, 16), _SMEM, _K, _K),
    "SM90_64x64x16_F32F16F16_SS": nvgpu.warpgroup.MmaF16BF16Op(*_FP16, (64, 64, 16), _SMEM, _K, _K),
    "UniversalFMA": nvgpu.MmaUniversalOp(Float32),
}
_NAMESPACES = {"SM80": "nvgpu.warp.", "SM90": "nvgpu.warpgroup.", "Unive": "nvgpu."}
COPY_OPS: dict[str, Any] = {
    "universal": nvgpu.CopyUniversalOp(),
    "cp.async": nvgpu.cpasync.CopyG2SOp(),
    **{
        f"ldmatrix{count}{'t' * transposed}": nvgpu.warp.LdMatrix8x8x16bOp(transposed, count)
        for transposed in (False, True)
        for count in (4, 2, 1)
    },
}
_PLAIN = {
    "universal": {"label": "each element, as wide as is legal", "python": "nvgpu.CopyUniversalOp()"},
    "cp.async": {"label": "cp.async, 16 bytes", "python": "nvgpu.cpasync.CopyG2SOp()"},
}


def mmas() -> dict[str, dict[str, Any]]:
    """By name: extents, threads, bits of an element of A, how it is made, and A, B and C by (thread, value).

    What an instruction reads from shared memory has None.

    >>> atom = mmas()["SM80_16x8x16_F32F16F16F32_TN"]
    >>> atom["shape"], atom["threads"], atom["C"]
    ((16, 8, 16), 32, '((4,8),(2,2)):((32,1),(16,8))')
    """
    found = {}
    for name, op in MMA_OPS.items():
        atom = cute.make_mma_atom(op)
        shared = {"A": atom.traits.smem_a, "B": atom.traits.smem_b, "C": False}
        found[name] = {
            "shape": atom.shape_mnk,
            "threads": int(cute.size(atom.thr_id)),
            "bits": atom.dtype_of("A").bits,
            "python": _NAMESPACES[name[: 4 if name[:2] == "SM" else 5]] + repr(op).rpartition("nvgpu.")[2],
            "cpp": "UniversalFMA<float>" if name == "UniversalFMA" else name,
            **{x: None if shared[x] else str(getattr(atom, f"tv_layout_{x}")) for x in "ABC"},
        }
    return found


def copies() -> dict[str, dict[str, Any]]:
    """By key: label, threads, values of a thread, and of an instruction whose sides differ source and destination.

    >>> copies()["ldmatrix4"]["source"], copies()["universal"]["threads"]
    ('(32,8):(8,1)', 1)
    """
    found: dict[str, dict[str, Any]] = {}
    for key, op in COPY_OPS.items():
        if isinstance(op, nvgpu.warp.LdMatrix8x8x16bOp):
            atom = cute.make_copy_atom(op, Float16)
            found[key] = {
                "label": op.instruction,
                "python": f"nvgpu.warp.LdMatrix8x8x16bOp({op.transpose}, {op.num_matrices})",
                "threads": int(cute.size(atom.thr_id)),
                "values": int(cute.size(atom.layout_dst_tv, mode=[1])),
                "source": str(atom.layout_src_tv),
                "destination": str(atom.layout_dst_tv),
            }
        else:
            found[key] = {"threads": 1, "values": None, "source": None, "destination": None} | _PLAIN[key]
    return found

"""CuTe's layout algebra in any Python prompt: eager and exact.

`tilewright` stands where CuTeDSL has `cutlass`, `tilewright.cute` where it has `cutlass.cute`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright import _core, _forking, cute  # noqa: F401 - _forking is there for what it registers
from tilewright._boundary import guard
from tilewright._core import LayoutError, __version__
from tilewright._core.cuda import DriverError
from tilewright._names import names_of
from tilewright.cute.tensors.pointer import AddressSpace
from tilewright.cute.tensors.tensor import Tensor
from tilewright.numeric import (
    BFloat16,
    Boolean,
    Float,
    Float4E2M1FN,
    Float6E2M3FN,
    Float6E3M2FN,
    Float8E4M3,
    Float8E4M3B11FNUZ,
    Float8E4M3FN,
    Float8E5M2,
    Float8E8M0FNU,
    Float16,
    Float32,
    Float64,
    Int4,
    Int8,
    Int16,
    Int32,
    Int64,
    Int128,
    Integer,
    Numeric,
    TFloat32,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    Uint128,
)

if TYPE_CHECKING:
    from tilewright import analysis, cuda, cutlass_dsl, kernels, pipeline, runtime, testing, torch, utils
    from tilewright.analysis import analyze
    from tilewright.cutlass_dsl import dsl_user_op
    from tilewright.lang.cpu import KernelError
    from tilewright.lang.functions import (
        Constexpr,
        and_,
        const_expr,
        dynamic_expr,
        for_generate,
        not_,
        or_,
        range_constexpr,
        range_dynamic,
    )
    from tilewright.lang.functions import max_ as max
    from tilewright.lang.functions import min_ as min
    from tilewright.lang.functions import range_ as range
    from tilewright.numeric.names import dtype
    from tilewright.runtime.errors import CompileError

__all__ = [
    "AddressSpace",
    "BFloat16",
    "Boolean",
    "CompileError",
    "Constexpr",
    "DriverError",
    "Float",
    "Float4E2M1FN",
    "Float6E2M3FN",
    "Float6E3M2FN",
    "Float8E4M3",
    "Float8E4M3B11FNUZ",
    "Float8E4M3FN",
    "Float8E5M2",
    "Float8E8M0FNU",
    "Float16",
    "Float32",
    "Float64",
    "Int4",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Int128",
    "Integer",
    "KernelError",
    "LayoutError",
    "Numeric",
    "TFloat32",
    "Uint8",
    "Uint16",
    "Uint32",
    "Uint64",
    "Uint128",
    "__version__",
    "analysis",
    "analyze",
    "and_",
    "const_expr",
    "cuda",
    "cute",
    "cutlass_dsl",
    "dsl_user_op",
    "dtype",
    "dynamic_expr",
    "for_generate",
    "kernels",
    "max",
    "min",
    "not_",
    "or_",
    "pipeline",
    "range",
    "range_constexpr",
    "range_dynamic",
    "register_jit_arg_adapter",
    "runtime",
    "testing",
    "torch",
    "utils",
    "yield_out",
]


# What few programs need at once is imported when it is first used.
_LANG = "tilewright.lang.functions"
_LAZY = {
    "CompileError": "tilewright.runtime.errors",
    "Constexpr": _LANG,
    "KernelError": "tilewright.lang.cpu",
    "analysis": "tilewright.analysis",
    "analyze": "tilewright.analysis",
    "and_": _LANG,
    "const_expr": _LANG,
    "cuda": "tilewright.cuda",
    "cutlass_dsl": "tilewright.cutlass_dsl",
    "dsl_user_op": "tilewright.cutlass_dsl",
    "dtype": "tilewright.numeric.names",
    "for_generate": _LANG,
    "dynamic_expr": _LANG,
    "jax": "tilewright.jax",
    "kernels": "tilewright.kernels",
    "max": f"{_LANG}:max_",
    "min": f"{_LANG}:min_",
    "not_": _LANG,
    "or_": _LANG,
    "pipeline": "tilewright.pipeline",
    "range": f"{_LANG}:range_",
    "range_constexpr": _LANG,
    "range_dynamic": _LANG,
    "runtime": "tilewright.runtime",
    "testing": "tilewright.testing",
    "torch": "tilewright.torch",
    "utils": "tilewright.utils",
    "yield_out": "tilewright.lang.library.generate",
    "register_jit_arg_adapter": "tilewright.lang.arguments",
}

if not TYPE_CHECKING:  # a type checker knows the names, and finds the wrong ones
    __getattr__, __dir__ = names_of(__name__, _LAZY)

guard(globals(), __all__)

# How C++ makes dynamic integers and tensors.
_core._register(int32=Int32, int64=Int64, tensor=Tensor)

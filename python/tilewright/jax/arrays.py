"""JAX's arrays as tensors: what is known of one while JAX traces, and the tensor of a buffer."""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np

from tilewright import _core, numeric
from tilewright._boundary import shown
from tilewright.cute.runtime import from_dlpack, make_ptr
from tilewright.cute.tensors.pointer import AddressSpace, recast_ptr
from tilewright.cute.tensors.tensor import Tensor
from tilewright.lang.fake import make_fake_compact_tensor, sym_int

__all__ = ["Array", "TensorSpec", "cutlass_to_jax_dtype", "jax_to_cutlass_dtype", "specs_of"]

ALIGNMENT = 16  # bytes, which buffers of XLA have
# The types of JAX by their names: float8_e4m3fn is Float8E4M3FN, bool is Boolean.
_TYPES = {name.lower(): getattr(numeric, name) for name in numeric.__all__} | {"bool": numeric.Boolean}


def jax_to_cutlass_dtype(dtype: Any) -> Any:
    """The language's type of elements that JAX calls so; TypeError where it has none.

    Source: CuTeDSL `cutlass.jax.jax_to_cutlass_dtype`.

    >>> jax_to_cutlass_dtype("float8_e4m3fn")
    Float8E4M3FN
    """
    name = np.dtype(jax.numpy.dtype(dtype)).name
    found = _TYPES.get(name.replace("_", ""))
    if found is None:
        raise TypeError(f"cutlass_call: an array has elements of type {name}, which the language does not have")
    return found


def cutlass_to_jax_dtype(dtype: Any) -> Any:
    """JAX's type of elements of a type of the language; TypeError where it has none.

    Source: CuTeDSL `cutlass.jax.cutlass_to_jax_dtype`.

    >>> import tilewright
    >>> cutlass_to_jax_dtype(tilewright.BFloat16)
    dtype(bfloat16)
    """
    for name in ("bool", *(x for x in dir(jax.numpy) if x.startswith(("bfloat", "float", "int", "uint")))):
        try:
            if jax_to_cutlass_dtype(getattr(jax.numpy, name)) is dtype:
                return jax.numpy.dtype(name)
        except TypeError:  # a function of that name, or a type that the language does not have
            continue
    raise TypeError(f"cutlass_to_jax_dtype: JAX has no elements of type {shown(dtype)}")


@dataclass(frozen=True)
class TensorSpec:
    """How the tensor of an array looks in the function.

    mode: its i-th mode is the array's mode[i]. static: its layout is a constant, as by use_static_tensors.
    divisibility: a number for each of the array's extents, which is a multiple of it. Source: CuTeDSL
    `cutlass.jax.TensorSpec`.

    >>> TensorSpec(mode=(1, 0), divisibility=(32, 16))
    TensorSpec(mode=(1, 0), static=None, divisibility=(32, 16))
    """

    mode: tuple[int, ...] | None = None
    static: bool | None = None
    divisibility: tuple[int, ...] | None = None

    def require(self, rank: int) -> None:
        """ValueError where it is not one of such an array."""
        if self.mode is not None and sorted(self.mode) != list(range(rank)):
            raise ValueError(f"cutlass_call: mode {self.mode} is no order of the {rank} modes of its array")
        if self.divisibility is not None and len(self.divisibility) != rank:
            raise ValueError(f"cutlass_call: divisibility {self.divisibility} is not of the {rank} modes of its array")


def specs_of(name: str, spec: Any, tree: Any) -> list[TensorSpec]:
    """The specs of a tree's leaves, of a tree of specs that may end sooner; None has nothing to say."""
    try:
        every = jax.tree.broadcast(spec, tree, is_leaf=lambda x: x is None or isinstance(x, TensorSpec))
    except ValueError as error:
        raise ValueError(f"cutlass_call: {name} is no tree of TensorSpecs for these arrays: {error}") from None
    leaves = jax.tree.leaves(every, is_leaf=lambda x: x is None or isinstance(x, TensorSpec))
    if wrong := [x for x in leaves if not (x is None or isinstance(x, TensorSpec))]:
        raise TypeError(f"cutlass_call: {name} has {shown(wrong[0])}; expected a TensorSpec or None")
    return [TensorSpec() if x is None else x for x in leaves]


class Array(NamedTuple):
    """What is known of an array while JAX traces."""

    shape: tuple[Any, ...]  # with symbols where JAX exports
    dtype: Any  # of the language
    name: str  # of its type in JAX
    spec: TensorSpec

    @classmethod
    def of(cls, array: Any, spec: TensorSpec) -> Array:
        spec.require(len(array.shape))
        return cls(tuple(array.shape) or (1,), jax_to_cutlass_dtype(array.dtype), np.dtype(array.dtype).name, spec)

    def fake(self, is_static: bool) -> Any:
        """A tensor to compile with."""
        shape = self.shape
        if is_static if self.spec.static is None else self.spec.static:
            if not all(isinstance(extent, int) for extent in shape):
                raise ValueError(f"cutlass_call: the extents {shape} are symbols, but the tensor is to be static")
        else:
            multiples = self.spec.divisibility or (1,) * len(shape)
            shape = tuple(sym_int(divisibility=multiple) for multiple in multiples)
        order = tuple(reversed(range(len(shape))))
        return make_fake_compact_tensor(self.dtype, shape, stride_order=order, assumed_align=ALIGNMENT)

    def at(self, address: int, shape: tuple[int, ...], platform: str) -> Tensor:
        """The tensor of a buffer."""
        shape = shape or (1,)
        if platform != "cpu":
            pointer = make_ptr(self.dtype, address, AddressSpace.gmem, assumed_align=ALIGNMENT)
            stride = tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))
            return Tensor(pointer, _core.make_layout(shape, stride=stride))
        width = np.dtype(self.name).itemsize
        memory = (ctypes.c_uint8 * (math.prod(shape) * width)).from_address(address)
        kind = self.name if self.name in ("bool", "float16", "float32", "float64") else f"uint{8 * width}"
        tensor = from_dlpack(np.frombuffer(memoryview(memory), kind).reshape(shape), assumed_align=ALIGNMENT)
        return Tensor(recast_ptr(tensor.iterator, dtype=self.dtype), tensor.layout)

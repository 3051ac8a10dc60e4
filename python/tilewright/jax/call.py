"""Functions of the language as operations of JAX."""

from __future__ import annotations

import ctypes
import itertools
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from tilewright import _core, numeric
from tilewright._boundary import shown
from tilewright.cute.runtime import from_dlpack, make_ptr
from tilewright.cute.tensors.pointer import AddressSpace, recast_ptr
from tilewright.cute.tensors.tensor import Tensor
from tilewright.jax.ffi import Frame, register
from tilewright.lang.calls.jit import compile as compile_function
from tilewright.lang.fake import make_fake_compact_tensor, make_fake_stream, sym_int

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["cutlass_call"]

ALIGNMENT = 16  # bytes, which buffers of XLA have
# The types of JAX by their names: float8_e4m3fn is Float8E4M3FN.
_TYPES = {name.lower(): getattr(numeric, name) for name in numeric.__all__}
_numbers = itertools.count()


class _Array(NamedTuple):
    """What is known of an array while JAX traces."""

    shape: tuple[int, ...]
    dtype: Any  # of the language
    name: str  # of its type in JAX

    @classmethod
    def of(cls, array: Any) -> _Array:
        name = np.dtype(array.dtype).name
        dtype = numeric.Boolean if name == "bool" else _TYPES.get(name.replace("_", ""))
        if dtype is None:
            raise TypeError(f"cutlass_call: an array has elements of type {name}, which the language does not have")
        return cls(tuple(array.shape) or (1,), dtype, name)

    def fake(self, is_static: bool) -> Any:
        """A tensor to compile with."""
        shape = self.shape if is_static else tuple(sym_int() for _ in self.shape)
        order = tuple(reversed(range(len(self.shape))))
        return make_fake_compact_tensor(self.dtype, shape, stride_order=order, assumed_align=ALIGNMENT)

    def at(self, address: int, platform: str) -> Tensor:
        """The tensor of a buffer."""
        if platform != "cpu":
            pointer = make_ptr(self.dtype, address, AddressSpace.gmem, assumed_align=ALIGNMENT)
            stride = [math.prod(self.shape[i + 1 :]) for i in range(len(self.shape))]
            return Tensor(pointer, _core.make_layout(self.shape, stride=tuple(stride)))
        width = np.dtype(self.name).itemsize
        memory = (ctypes.c_uint8 * (math.prod(self.shape) * width)).from_address(address)
        kind = self.name if self.name in ("bool", "float16", "float32", "float64") else f"uint{8 * width}"
        tensor = from_dlpack(np.frombuffer(memoryview(memory), kind).reshape(self.shape), assumed_align=ALIGNMENT)
        return Tensor(recast_ptr(tensor.iterator, dtype=self.dtype), tensor.layout)


def cutlass_call(
    fn: Callable[..., Any],
    *,
    output_shape_dtype: Any,
    use_static_tensors: bool = False,
    input_output_aliases: Mapping[int, int] | None = None,
    compile_options: str | None = None,
    **kwargs: Any,
) -> Callable[..., Any]:
    """Make an operation of JAX of a @cute.jit function whose parameters are (stream, inputs, outputs, static keywords).

    It takes arrays, allocates the outputs, a pytree of what has a shape and a dtype, and returns them. The function is
    compiled when JAX traces the operation, for the ranks and types of the arrays, or with use_static_tensors for their
    shapes. Tensors are row-major. Keywords are passed on as compile-time constants. On a GPU kernels are launched on
    XLA's stream; on the CPU they run there. input_output_aliases: output by input whose memory it has. It goes with
    jax.jit and vmap (one call after the other), but has no derivative, and is not exported by jax.export.

    TypeError for an array whose elements the language does not have. An error of a run is JAX's JaxRuntimeError with
    the text of ours. Source: CuTeDSL `cutlass.jax.cutlass_call`.

    >>> import jax
    >>> from tilewright import cute
    >>> @cute.kernel
    ... def double(x: cute.Tensor, out: cute.Tensor):
    ...     i, _, _ = cute.arch.thread_idx()
    ...     out[i] = x[i] * 2
    >>> @cute.jit
    ... def launch(stream, x: cute.Tensor, out: cute.Tensor):
    ...     double(x, out).launch(grid=[1, 1, 1], block=[cute.size(x), 1, 1])
    >>> operation = cutlass_call(launch, output_shape_dtype=jax.ShapeDtypeStruct((4,), jax.numpy.float32))
    >>> jax.jit(operation)(jax.numpy.arange(4.0))
    Array([0., 2., 4., 6.], dtype=float32)
    """
    if not callable(fn):
        raise TypeError(f"cutlass_call: expected a @cute.jit function, but got {shown(fn)}")
    outputs, structure = jax.tree.flatten(output_shape_dtype)
    results = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in outputs]
    targets: dict[tuple[_Array, ...], str] = {}

    def target_of(arrays: tuple[_Array, ...]) -> str:
        """The custom call that runs the function for such arrays."""
        if arrays not in targets:
            stream = make_fake_stream()
            given = (stream, *(array.fake(use_static_tensors) for array in arrays))
            options = {} if compile_options is None else {"options": compile_options}
            compiled = compile_function(fn, *given, **kwargs, **options)

            def run(frame: Frame, platform: str) -> None:
                where = stream if platform == "cpu" else frame.stream
                tensors = (array.at(x, platform) for array, x in zip(arrays, frame.addresses, strict=True))
                compiled(where, *tensors)

            name = f"tilewright_{getattr(fn, '__name__', 'call')}_{next(_numbers)}"
            register(name, run)
            targets[arrays] = name
        return targets[arrays]

    def call(*arrays: Any) -> Any:
        leaves = [x if hasattr(x, "dtype") else jax.numpy.asarray(x) for x in jax.tree.leaves(arrays)]
        name = target_of(tuple(map(_Array.of, (*leaves, *results))))
        found = jax.ffi.ffi_call(
            name, results, input_output_aliases=dict(input_output_aliases or {}), vmap_method="sequential"
        )(*leaves)
        return jax.tree.unflatten(structure, found)

    return call

"""Functions of the language as operations of JAX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax import export

from tilewright import cute
from tilewright._boundary import shown
from tilewright.jax.arrays import Array, specs_of
from tilewright.jax.ffi import TARGET, Frame, register
from tilewright.lang.calls.jit import compile as compile_function
from tilewright.lang.calls.jit import jit
from tilewright.lang.fake import make_fake_stream

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tilewright.jax.arrays import TensorSpec

__all__ = ["cutlass_call", "get_export_disabled_safety_checks"]


def cutlass_call(
    fn: Callable[..., Any],
    *,
    output_shape_dtype: Any,
    input_spec: Any = None,
    output_spec: Any = None,
    use_static_tensors: bool = False,
    input_output_aliases: Mapping[int, int] | None = None,
    compile_options: str | None = None,
    **kwargs: Any,
) -> Callable[..., Any]:
    """Make an operation of JAX of a function whose parameters are (stream, inputs, outputs, static keywords).

    fn: a @cute.jit function, or one that calls such, as a lambda that changes the order of arguments. An input that is
    a tree of arrays comes as such a tree of tensors; outputs come one by one. The operation takes arrays, allocates
    the outputs, a pytree of what has a shape and a dtype, and returns them. It is compiled when JAX traces it, for the
    ranks and types of the arrays, or with use_static_tensors for their shapes. Tensors are row-major; input_spec and
    output_spec, TensorSpecs in trees as the arrays', say what else they are. Keywords are passed on as compile-time
    constants. On a GPU kernels are launched on XLA's stream; on the CPU they run there. input_output_aliases: the
    output that has the memory of an input, by input; fn does not get it. It goes with jax.jit, shard_map, vmap (one
    call after the other) and jax.export, whose computations run in this process; it has no derivative.

    TypeError for an array whose elements the language does not have, ValueError for a spec that is not of its array. An
    error of a run is JAX's JaxRuntimeError with the text of ours. Source: CuTeDSL `cutlass.jax.cutlass_call`.

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
    aliases = dict(input_output_aliases or {})
    outputs, structure = jax.tree.flatten(output_shape_dtype)
    results = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in outputs]
    own = [i for i in range(len(results)) if i not in aliases.values()]  # outputs with memory of their own
    arrays_of_results = [
        Array.of(x, spec)
        for x, spec in zip(results, specs_of("output_spec", output_spec, output_shape_dtype), strict=True)
    ]
    numbers: dict[Any, int] = {}

    def number_of(arrays: tuple[Array, ...], inputs: Any) -> int:
        """Which call runs the function for such arrays, the inputs in a tree."""
        if (arrays, inputs) not in numbers:
            specs = [array.spec for array in arrays]

            @jit
            def launched(stream: Any, *tensors: Any) -> None:
                seen = [_reordered(tensor, spec) for tensor, spec in zip(tensors, specs, strict=True)]
                given = jax.tree.unflatten(inputs, seen[: inputs.num_leaves])
                fn(stream, *given, *seen[inputs.num_leaves :], **kwargs)

            stream = make_fake_stream()
            options = {} if compile_options is None else {"options": compile_options}
            fakes = (array.fake(use_static_tensors) for array in arrays)
            compiled = compile_function(launched, stream, *fakes, **options)

            def run(frame: Frame, platform: str) -> None:
                where = stream if platform == "cpu" else frame.stream
                buffers = frame.buffers
                kept = buffers[: inputs.num_leaves] + [buffers[inputs.num_leaves + i] for i in own]
                compiled(
                    where,
                    *(array.at(address, shape, platform) for array, (address, shape) in zip(arrays, kept, strict=True)),
                )

            numbers[arrays, inputs] = register(run)
        return numbers[arrays, inputs]

    def call(*arrays: Any) -> Any:
        leaves, inputs = jax.tree.flatten(arrays)
        leaves = [x if hasattr(x, "dtype") else jax.numpy.asarray(x) for x in leaves]
        known = map(Array.of, leaves, specs_of("input_spec", input_spec, arrays))
        number = number_of((*known, *(arrays_of_results[i] for i in own)), inputs)
        operation = jax.ffi.ffi_call(TARGET, results, input_output_aliases=aliases, vmap_method="sequential")
        return jax.tree.unflatten(structure, operation(*leaves, number=np.int64(number)))

    return call


def _reordered(tensor: Any, spec: TensorSpec) -> Any:
    if spec.mode is None:
        return tensor
    return cute.make_tensor(tensor.iterator, cute.select(tensor.layout, list(spec.mode)))


def get_export_disabled_safety_checks() -> list[Any]:
    """What jax.export.export takes as disabled_checks, so that it exports these operations.

    Source: CuTeDSL `cutlass.jax.get_export_disabled_safety_checks`.

    >>> get_export_disabled_safety_checks()
    [custom_call:tilewright_call]
    """
    return [export.DisabledSafetyCheck.custom_call(TARGET)]

"""Functions of the language as operations of JAX, on its default device, a GPU where JAX has one; JAX is optional."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as cutlass
from tilewright import cute

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
cutlass_call = pytest.importorskip("tilewright.jax").cutlass_call

THREADS = 64


@cute.kernel
def axpy_kernel(x: cute.Tensor, y: cute.Tensor, out: cute.Tensor, a: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    if i < cute.size(out):
        out[i] = (x[i].to(cutlass.Float32) * a + y[i].to(cutlass.Float32)).to(out.element_type)


@cute.jit
def axpy(stream, x: cute.Tensor, y: cute.Tensor, out: cute.Tensor, *, a: cutlass.Constexpr):
    axpy_kernel(x, y, out, a).launch(grid=[cute.ceil_div(cute.size(out), THREADS), 1, 1], block=[THREADS, 1, 1])


@cute.kernel
def split_kernel(x: cute.Tensor, low: cute.Tensor, high: cute.Tensor, is_broken: cutlass.Constexpr):
    row, _, _ = cute.arch.block_idx()
    column, _, _ = cute.arch.thread_idx()
    half = low.shape[1]
    low[row, column] = x[row, column]
    high[row, column] = x[row, column + half + (1 if is_broken else 0)]


@cute.jit
def split(stream, x: cute.Tensor, low: cute.Tensor, high: cute.Tensor, *, is_broken: cutlass.Constexpr = False):
    split_kernel(x, low, high, is_broken).launch(grid=[x.shape[0], 1, 1], block=[low.shape[1], 1, 1])


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32", "float8_e4m3fn"])
@pytest.mark.parametrize("is_static", [False, True])
def test_under_jit(dtype, is_static):
    x, y = (jnp.asarray(np.arange(100) % n, dtype) for n in (7, 5))
    call = cutlass_call(
        axpy, output_shape_dtype=jax.ShapeDtypeStruct((100,), x.dtype), use_static_tensors=is_static, a=2
    )
    expected = np.asarray(2 * (np.arange(100) % 7) + np.arange(100) % 5, np.float32)
    np.testing.assert_array_equal(np.asarray(call(x, y), np.float32), expected)
    np.testing.assert_array_equal(np.asarray(jax.jit(lambda x, y: call(x + 0, y))(x, y), np.float32), expected)


def test_outputs_are_a_tree():
    half = jax.ShapeDtypeStruct((6, 8), jnp.float32)
    x = jnp.arange(96, dtype=jnp.float32).reshape(6, 16)
    found = jax.jit(cutlass_call(split, output_shape_dtype={"low": half, "high": half}))(x)
    # The leaves of a dict are in the order of its keys: the first output is "high".
    np.testing.assert_array_equal(found["high"], x[:, :8])
    np.testing.assert_array_equal(found["low"], x[:, 8:])


def test_one_after_the_other_under_vmap():
    x = jnp.arange(3 * 96, dtype=jnp.float32).reshape(3, 6, 16)
    half = jax.ShapeDtypeStruct((6, 8), jnp.float32)
    low, high = jax.vmap(cutlass_call(split, output_shape_dtype=(half, half)))(x)
    np.testing.assert_array_equal(low, x[..., :8])
    np.testing.assert_array_equal(high, x[..., 8:])


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="a GPU finds nothing")
def test_what_is_found_in_a_kernel_is_an_error_of_jax():
    half = jax.ShapeDtypeStruct((6, 8), jnp.float32)
    call = cutlass_call(split, output_shape_dtype=(half, half), is_broken=True)
    with pytest.raises(Exception, match=r"KernelError: split_kernel: .*(\n.*)*test_jax_calls\.py:\d+: out of bounds"):
        jax.block_until_ready(call(jnp.zeros((6, 16), jnp.float32)))


def test_elements_that_the_language_lacks():
    one = jax.ShapeDtypeStruct((4,), jnp.complex64)
    with pytest.raises(TypeError, match="elements of type complex64, which the language does not have"):
        cutlass_call(axpy, output_shape_dtype=one, a=1)(jnp.zeros(4), jnp.zeros(4))

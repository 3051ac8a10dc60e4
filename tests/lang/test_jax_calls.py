"""Functions of the language as operations of JAX, on its default device, a GPU where JAX has one; JAX is optional."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as cutlass
from tilewright import cute

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
cutlass_jax = pytest.importorskip("tilewright.jax")
cutlass_call = cutlass_jax.cutlass_call

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


@cute.kernel
def copy_kernel(x: cute.Tensor, out: cute.Tensor):
    row, _, _ = cute.arch.block_idx()
    column, _, _ = cute.arch.thread_idx()
    out[row, column] = x[row, column]


@cute.jit
def copy(stream, x: cute.Tensor, out: cute.Tensor):
    copy_kernel(x, out).launch(grid=[out.shape[0], 1, 1], block=[out.shape[1], 1, 1])


def like(x):
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


def test_a_function_without_decorator_takes_trees_and_keywords():
    x = jnp.arange(100, dtype=jnp.float32)
    call = cutlass_call(
        lambda stream, pair, out, *, a: axpy(stream, pair["x"], pair["y"], out, a=a), output_shape_dtype=like(x), a=3
    )
    np.testing.assert_array_equal(jax.jit(call)({"y": x, "x": x + 1}), 4 * x + 3)


def test_a_spec_says_modes():
    x = jnp.arange(24, dtype=jnp.float32).reshape(4, 6)
    turned = cutlass_call(
        copy,
        output_shape_dtype=jax.ShapeDtypeStruct((6, 4), x.dtype),
        input_spec=(cutlass_jax.TensorSpec(mode=(1, 0), static=True),),
    )
    np.testing.assert_array_equal(jax.jit(turned)(x), x.T)


def test_what_a_spec_says_is_known_while_tracing():
    seen = []

    def look(stream, x, out):
        seen.append((cute.is_static(x.layout), str(x.layout), str(out.layout)))

    x = jnp.zeros((32, 16))
    spec = cutlass_jax.TensorSpec
    cutlass_call(
        look, output_shape_dtype=like(x), input_spec=spec(static=True), output_spec=spec(divisibility=(32, 16))
    )(x)
    assert seen == [(True, "(32,16):(16,1)", "(?{div=32},?{div=16}):(?{i64 div=16},1)")]


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        ({"mode": (0, 2)}, r"mode \(0, 2\) is no order of the 2 modes"),
        ({"divisibility": (4,)}, r"divisibility \(4,\) is not of the 2 modes"),
    ],
)
def test_a_spec_that_is_not_of_its_array(spec, error):
    x = jnp.zeros((4, 6))
    with pytest.raises(ValueError, match=error):
        cutlass_call(copy, output_shape_dtype=like(x), input_spec=cutlass_jax.TensorSpec(**spec))(x)


def test_an_output_in_the_memory_of_an_input_is_not_passed():
    def double(stream, x):
        axpy(stream, x, x, x, a=1)

    call = cutlass_call(
        double, output_shape_dtype=jax.ShapeDtypeStruct((100,), np.float32), input_output_aliases={0: 0}
    )
    x = jnp.arange(100, dtype=jnp.float32)
    np.testing.assert_array_equal(jax.jit(call, donate_argnums=0)(x + 0), 2 * x)


def test_an_exported_computation_takes_other_sizes():
    pytest.importorskip("flatbuffers")
    export = pytest.importorskip("jax.export")
    rows, columns = export.symbolic_shape("a, 2*b")
    function = jax.jit(lambda x: cutlass_call(copy, output_shape_dtype=x)(x) + 1)
    checks = cutlass_jax.get_export_disabled_safety_checks()
    made = export.export(function, disabled_checks=checks)(jax.ShapeDtypeStruct((rows, columns), jnp.float32))
    for shape in (4, 6), (3, 10):
        x = cutlass_jax.testing.create_tensor(shape, jnp.float32, jax.random.key(0))
        np.testing.assert_array_equal(export.deserialize(made.serialize()).call(x), x + 1)
    static = jax.jit(lambda x: cutlass_call(copy, output_shape_dtype=x, use_static_tensors=True)(x))
    exported = export.export(static, disabled_checks=checks)
    symbols = jax.ShapeDtypeStruct((rows, columns), jnp.float32)
    with pytest.raises(ValueError, match="are symbols, but the tensor is to be static"):
        exported(symbols)


def test_names_of_types_are_one_to_one():
    for dtype in (cutlass.Boolean, cutlass.Int8, cutlass.Uint32, cutlass.Float16, cutlass.BFloat16, cutlass.Float8E5M2):
        assert cutlass_jax.jax_to_cutlass_dtype(cutlass_jax.cutlass_to_jax_dtype(dtype)) is dtype
    with pytest.raises(TypeError, match="JAX has no elements of type"):
        cutlass_jax.cutlass_to_jax_dtype(cutlass.TFloat32)

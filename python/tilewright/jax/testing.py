"""Arrays to try operations with, as `cutlass.jax.testing`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["create_tensor"]


def create_tensor(shape: Sequence[int], dtype: Any, key: Any, *, minval: float = -2, maxval: float = 2) -> Any:
    """A random array: uniform from minval up to maxval, integers among those, bools evenly.

    Source: CuTeDSL `cutlass.jax.testing.create_tensor`.

    >>> import jax
    >>> create_tensor((2, 3), jax.numpy.bfloat16, jax.random.key(0)).shape
    (2, 3)
    """
    dtype = jax.numpy.dtype(dtype)
    if jax.numpy.issubdtype(dtype, jax.numpy.bool_):
        return jax.random.bernoulli(key, shape=tuple(shape))
    if jax.numpy.issubdtype(dtype, jax.numpy.unsignedinteger):
        minval = max(minval, 0)
    if jax.numpy.issubdtype(dtype, jax.numpy.integer):
        return jax.random.randint(key, tuple(shape), int(minval), int(maxval), dtype)
    return jax.random.uniform(key, tuple(shape), minval=minval, maxval=maxval).astype(dtype)

"""A kernel of the package's own, in its language: elements of one type into another."""

from __future__ import annotations

from typing import Any

from tilewright import _core, cute
from tilewright.cute.runtime import import_array
from tilewright.cute.tensors.tensor import Tensor
from tilewright.lang.calls.jit import jit, kernel

__all__ = ["convert_elements"]

THREADS = 256


@kernel
def _convert_kernel(src: cute.Tensor, dst: cute.Tensor):  # type: ignore[no-untyped-def]
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    if i < cute.size(dst):
        dst[i] = src[i].to(dst.element_type)


@jit
def _convert(src: cute.Tensor, dst: cute.Tensor):  # type: ignore[no-untyped-def]
    _convert_kernel(src, dst).launch(grid=[cute.ceil_div(cute.size(dst), THREADS), 1, 1], block=[THREADS, 1, 1])


def convert_elements(src: Any, dst: Any) -> None:
    """Store every element of src in dst as dst's type."""
    both = [
        x if isinstance(x, Tensor) else import_array(x, f"convert: {name}") for x, name in ((src, "src"), (dst, "dst"))
    ]
    shapes = [tuple(int(x) for x in _core.flatten_to_tuple(tensor.shape)) for tensor in both]
    if shapes[0] != shapes[1]:
        raise ValueError(f"convert: src has shape {shapes[0]} and dst {shapes[1]}; they have to be one")
    for tensor, name in zip(both, ("src", "dst"), strict=True):
        if int(tensor.element_type.bits) < 8:  # type: ignore[union-attr]
            raise ValueError(
                f"convert: elements of {name} are {tensor.element_type}, several to a byte, of which a thread does not "
                "write one alone; convert them where they are bytes"
            )
    _convert(*both)

# Generated from the C++ module by `make stubs`; do not edit.
"""
Copy plans on the CPU, thread by thread.
"""

from __future__ import annotations

import typing

__all__: list[str] = ["check_copy", "run_copy"]

def check_copy(
    src_address: typing.SupportsIndex,
    dst_address: typing.SupportsIndex,
    *,
    element_bytes: typing.SupportsIndex,
    extents: typing.Any,
    src_strides: typing.Any,
    dst_strides: typing.Any,
    tile: typing.Any,
    load_tv: typing.Any,
    store_tv: typing.Any,
    load_vector: typing.SupportsIndex,
    store_vector: typing.SupportsIndex,
    smem: typing.Any,
    src_mode: typing.SupportsIndex,
    dst_mode: typing.SupportsIndex,
    dst_shift: typing.SupportsIndex,
    move: bool = True,
) -> dict[str, typing.Any]:
    """
    Run a copy plan with a mark on every element and say what is wrong with it.

    Takes what run_copy takes, and plans that run_copy refuses: layouts that reach out of the tile or of shared memory,
    accesses whose elements are no neighbours. Nothing outside of the problem is touched.

    Args:
        move: whether to copy, too; without, the addresses only say how the tensors are aligned.
        (the others as in run_copy; the problem has at most 2^32 elements)
    Returns: a dict of findings, each a dict with the `count` and the `first` coordinates. A plan is sound where all counts
        are 0.
        never_written, written_twice: elements of the destination
        wrong: writes of an element that the source has at another coordinate
        read_before_write, shared_written_twice, outside_shared: accesses to shared memory, of phase 2, phase 1 and both
        misaligned_load, misaligned_store: accesses, whole inside of the problem, at no multiple of their bytes
        outside_tile, not_contiguous: values and accesses of threads, by the coordinate in the tile
    Raises: LayoutError or ValueError for a plan that says nothing, such as layouts of another rank.
    Source: tilewright.

    Examples:
        >>> from tilewright._core import host
        >>> tv = cute.parse("(3,2):(1@0,4@0)")  # of every 4 elements, threads take 3
        >>> plan = dict(element_bytes=4, extents=(10,), src_strides=(1,), dst_strides=(1,), tile=(8,), load_tv=tv,
        ...             store_tv=tv, load_vector=1, store_vector=1, smem=None, src_mode=0, dst_mode=0, dst_shift=0)
        >>> {kind: found for kind, found in host.check_copy(0, 0, move=False, **plan).items() if found["count"]}
        {'never_written': {'count': 2, 'first': [(3,), (7,)]}}
    """

def run_copy(
    src_address: typing.SupportsIndex,
    dst_address: typing.SupportsIndex,
    *,
    element_bytes: typing.SupportsIndex,
    extents: typing.Any,
    src_strides: typing.Any,
    dst_strides: typing.Any,
    tile: typing.Any,
    load_tv: typing.Any,
    store_tv: typing.Any,
    load_vector: typing.SupportsIndex,
    store_vector: typing.SupportsIndex,
    smem: typing.Any,
    src_mode: typing.SupportsIndex,
    dst_mode: typing.SupportsIndex,
    dst_shift: typing.SupportsIndex,
    threads: typing.SupportsIndex = 0,
) -> None:
    """
    Copy on the CPU, thread by thread through the layouts of a plan.

        direct:  dst[o + tv(t, v)] = src[o + tv(t, v)]
        staged:  image[smem(load_tv(t, v))] = src[o + load_tv(t, v)],  then  dst[o + store_tv(t, v)] = image[smem(...)]

    for every tile origin o, thread t and value v; elements outside of the extents are left out. Nothing is written where
    the plan writes nothing: check_copy says whether a plan is complete.

    Args:
        src_address, dst_address: where coordinate 0 of the problem lies. The memory that the extents and strides span must
            be there, and the two must not overlap.
        element_bytes: 1, 2, 4, 8 or 16.
        extents, src_strides, dst_strides: the problem, 1 to 8 modes, strides in elements; tile: a CTA's part of each mode.
        load_tv, store_tv: static layouts (threads, values) -> tile coordinate, with basis strides.
        load_vector, store_vector: values of one access, neighbours along src_mode and dst_mode.
        smem: tile coordinate -> offset in shared memory, a static Layout or a swizzle of one; None: direct.
        dst_shift: elements of an aligned store, by which rows of the destination that are not aligned are shifted; 0: none.
        threads: CPU threads; 0: one for each core, as far as the amount of data is worth it.
    Raises: LayoutError for a layout that does not fit, ValueError for another field; both name it.
    Source: tilewright.

    Examples:
        >>> import numpy as np
        >>> from tilewright._core import host
        >>> a, b = np.arange(12, dtype=np.int32).reshape(3, 4), np.zeros((4, 3), np.int32)
        >>> tv = cute.parse("((2,4),2):((1@0,1@1),2@0)")
        >>> plan = dict(element_bytes=4, extents=(4, 3), src_strides=(1, 4), dst_strides=(3, 1), tile=(4, 4),
        ...             load_tv=tv, store_tv=tv, load_vector=1, store_vector=1, smem=cute.parse("(4,4):(1,5)"),
        ...             src_mode=0, dst_mode=1, dst_shift=0)
        >>> host.run_copy(a.ctypes.data, b.ctypes.data, **plan)
        >>> (b == a.T).all()
        np.True_
    """

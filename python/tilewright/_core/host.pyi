# Generated from the C++ module by `make stubs`; do not edit.
"""
Copy and GEMM plans on the CPU, thread by thread.
"""

from __future__ import annotations

import typing

__all__: list[str] = ["GemmProgram", "check_copy", "finish_sums", "run_copy"]

class GemmProgram:
    """
    The tables of a GEMM plan, ready to be run on the CPU.

    Args:
        tables: a tilewright.kernels.gemm.tables.GemmTables.
    Raises: ValueError naming the table and its entry where shapes do not agree or an index leads outside of what it points
        into; TypeError for what is no table.
    Source: tilewright.

    Examples:
        >>> import numpy as np
        >>> from tilewright import Float32, cute
        >>> from tilewright._core import host
        >>> from tilewright.kernels.gemm.partitions import direct_tables
        >>> from tilewright.kernels.gemm.problem import problem_of
        >>> tiled_mma = cute.make_tiled_mma(cute.nvgpu.MmaUniversalOp(Float32), (2, 2, 1))
        >>> atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float32)
        >>> tiled_copy = cute.make_tiled_copy_tv(atom, cute.make_layout((4, 1)), cute.make_layout((1, 1)))
        >>> smem = cute.make_layout((4, 2))
        >>> program = host.GemmProgram(direct_tables(tiled_mma, (4, 4, 2), (tiled_copy, tiled_copy), (smem, smem)))
        >>> a, b, c = np.ones((5, 3), np.float32), np.full((6, 3), 2, np.float32), np.zeros((5, 6), np.float32)
        >>> addresses = a.ctypes.data, b.ctypes.data, c.ctypes.data
        >>> program.run(problem_of(5, 6, 3, Float32), Float32, *addresses)
        >>> c.min(), c.max(), program.check(problem_of(5, 6, 3, Float32), Float32, *addresses)
        (np.float32(6.0), np.float32(6.0), {})
    """

    def __init__(self, tables: typing.Any) -> None: ...
    def check(
        self,
        problem: typing.Any,
        compute: typing.Any,
        a_address: typing.SupportsIndex,
        b_address: typing.SupportsIndex,
        c_address: typing.SupportsIndex,
        bias_address: typing.SupportsIndex = 0,
        *,
        move: bool = True,
    ) -> dict[str, typing.Any]:
        """
        Compute C thread by thread with marks on shared memory, and say what is wrong with the tables.

        Args:
            move: whether to compute C; without, the addresses only say how the tensors are aligned.
            (the others as in run)
        Returns: a dict of findings, each a dict with the `count` and the `first` coordinates: those of
            tilewright.kernels.gemm.report.GemmReport. A plan is sound where the dict is empty.
        Raises: ValueError for a problem that the tables do not fit.
        Source: tilewright.
        """

    def run(
        self,
        problem: typing.Any,
        compute: typing.Any,
        a_address: typing.SupportsIndex,
        b_address: typing.SupportsIndex,
        c_address: typing.SupportsIndex,
        bias_address: typing.SupportsIndex = 0,
        *,
        threads: typing.SupportsIndex = 0,
    ) -> None:
        """
        Compute C by the plan's tables.

            C(m, n, l) = activation(alpha * sum over k of A(m, k, l) B(n, k, l) + beta * C(m, n, l) + bias)

        Args:
            problem: a tilewright.kernels.gemm.problem.GemmProblem.
            compute: the type of the epilogue: Float32, Float64 or Int32.
            a_address, b_address, c_address, bias_address: where the tensors' elements 0 lie. The memory that the problem's
                extents and strides span must be there, and C must not overlap the others.
            threads: CPU threads; 0: one for each core, as far as the amount of work is worth it. The result does not depend on
                their number.
        Raises: ValueError for a problem that the tables do not fit.
        Source: tilewright.
        """

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

def finish_sums(
    problem: typing.Any,
    compute: typing.Any,
    address: typing.SupportsIndex,
    strides: typing.Any,
    count: typing.SupportsIndex,
    step: typing.SupportsIndex,
    c_address: typing.SupportsIndex,
    bias_address: typing.SupportsIndex = 0,
) -> None:
    """
    Compute C from the sums of parts along K, which are added in their order.

        C(m, n, l) = activation(alpha * sum over s of S(m, n, l, s) + beta * C(m, n, l) + bias)

    Args:
        problem: a tilewright.kernels.gemm.problem.GemmProblem, of which C and the epilogue count.
        compute: the type of the epilogue: Float32, Float64 or Int32.
        address, strides: where the sums S (M,N,L..) of the first part lie, in elements of problem.acc_type.
        count, step: the parts, and the elements from one to the next.
        c_address, bias_address: where the tensors' elements 0 lie.
    Raises: ValueError where strides are not those of C's modes, or an address is null.
    Source: tilewright.

    Examples:
        >>> import numpy as np
        >>> from tilewright import Float32
        >>> from tilewright._core import host
        >>> from tilewright.kernels.gemm.problem import problem_of
        >>> sums, c = np.arange(12, dtype=np.float32).reshape(3, 2, 2), np.zeros((2, 2), np.float32)
        >>> host.finish_sums(problem_of(2, 2, 8, Float32), Float32, sums.ctypes.data, (2, 1), 3, 4, c.ctypes.data)
        >>> c.tolist() == sums.sum(0).tolist()
        True
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

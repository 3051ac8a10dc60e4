"""Atomics that programs write: what order they make, what they have seen, which types they change."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import atomic_kernels
import tilewright as cutlass
from tilewright import cute

BLOCKS, THREADS = 6, 64


def kinds(kernel, *args, blocks=BLOCKS, seed=0):
    try:
        with cute.on_cpu(check=True, seed=seed):
            kernel(*args).launch(grid=[blocks, 1, 1], block=[THREADS, 1, 1], cooperative=True)
    except cute.KernelError as error:
        return {(finding.kind, finding.message.rpartition(", and ")[2]) for finding in error.findings}
    return set()


@cute.kernel
def message(data: cute.Tensor, flag: cute.Tensor, send: cutlass.Constexpr, receive: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    if thread == 0:
        if block == 0:
            data[0] = 5
            cute.arch.atomic_add(flag.iterator, 1, **dict(send))
        else:
            while cute.arch.atomic_add(flag.iterator, 0, **dict(receive)) == 0:
                pass
            data[1] = data[0]


def order(sem, scope=None):
    return (("sem", sem), ("scope", scope))


@pytest.mark.parametrize(
    ("send", "receive", "is_right"),
    [
        (order("release"), order("acquire"), True),
        (order("acq_rel", "sys"), order("acq_rel", "gpu"), True),
        (order("release", "cluster"), order("acquire", "gpu"), True),
        (order("relaxed"), order("acquire"), False),
        (order("release"), order(None), False),
        (order("release", "cta"), order("acquire", "gpu"), False),
        (order("release", "gpu"), order("acquire", "cta"), False),
        (order("acquire"), order("release"), False),
    ],
)
def test_sem_makes_a_message_of_an_atomic(send, receive, is_right):
    for seed in range(3):
        data, flag = np.zeros(2, np.int32), np.zeros(1, np.int32)
        found = {kind for kind, _ in kinds(message, data, flag, send, receive, blocks=2, seed=seed)}
        assert found == (set() if is_right else {"missing fence"})
        assert data[1] == 5


@cute.kernel
def last_block(x: cute.Tensor, count: cute.Tensor, y: cute.Tensor, defect: cutlass.Constexpr):
    """The block that comes last adds up what all wrote, and sets the counter to 0 for the next launch."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    before = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Int32, 1)
    if thread == 0:
        x[block] = block
        if defect != "no fence before":
            cute.arch.fence_acq_rel_gpu()
        before[0] = cute.arch.atomic_add(count.iterator, 1)
        if defect != "fence of another thread":
            cute.arch.fence_acq_rel_gpu()
    cute.arch.sync_threads()
    if before[0] == BLOCKS - 1:
        cute.arch.fence_acq_rel_gpu()
        if thread == 1:
            total = cutlass.Int32(0)
            for i in range(BLOCKS):
                total += x[i]
            y[0] = total
        if thread == 0:
            count[0] = 0


def test_who_uses_the_old_value_has_seen_the_atomics_before():
    for seed in range(3):
        x, count, y = np.full(BLOCKS, -1, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32)
        assert kinds(last_block, x, count, y, None, seed=seed) == set()
        assert (y[0], count[0]) == (sum(range(BLOCKS)), 0)


@pytest.mark.parametrize(
    ("defect", "text"),
    [
        ("no fence before", "no fence for all CTAs was before it"),
        ("fence of another thread", "its thread passed no fence for all CTAs behind it"),
    ],
)
def test_it_is_said_which_side_of_an_atomic_lacks_a_fence(defect, text):
    x, count, y = np.full(BLOCKS, -1, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32)
    assert kinds(last_block, x, count, y, defect) == {("missing fence", text)}


@cute.kernel
def read_after_adding(count: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    if thread == 0:
        cute.arch.atomic_add(count.iterator, 1)
        y[block] = count[0]


def test_who_does_not_look_has_seen_nothing():
    found = kinds(read_after_adding, np.zeros(1, np.int32), np.zeros(BLOCKS, np.int32))
    assert {kind for kind, _ in found} <= {"race", "missing fence"}
    assert found


@cute.kernel
def change(x: cute.Tensor):
    cute.arch.atomic_add(x.iterator, 1, sem="acq_rel", scope="sys")
    cute.arch.atomic_cas(x.iterator, 8, 3)
    cute.arch.atomic_max(x.iterator, 9, sem="release", scope="cta")


@cute.jit
def run_change(x: cute.Tensor):
    change(x).launch(grid=[1, 1, 1], block=[1, 1, 1])


@pytest.mark.parametrize("dtype", [torch.int16, torch.uint16, torch.bfloat16, torch.int32])
def test_narrow_atomics_of_literals_are_compiled(dtype):
    x = torch.full((4,), 7, dtype=dtype)
    run_change(x)
    assert x[0].item() == 9
    compiled = cute.compile(run_change, x, options="--gpu-arch sm_90a")
    assert "cas" in compiled.ptx
    if dtype is torch.int32:
        assert "atom.acq_rel.sys.global.add.u32" in compiled.ptx
        assert "atom.release.cta.global.max.s32" in compiled.ptx
        assert "fence" not in compiled.ptx
    else:
        assert [compiled.ptx.count(f"fence.acq_rel.{scope}") for scope in ("sys", "cta")] == [2, 1]


@cute.kernel
def exchange_messages(x: cute.Tensor, y: cute.Tensor):
    y[0] = cute.arch.atomic_add(x.iterator, 5, sem="acquire", scope="gpu")
    y[1] = cute.arch.atomic_max(x.iterator, 9, sem="release", scope="sys")
    y[2] = cute.arch.atomic_exch(x.iterator, 4, sem="acq_rel", scope="cta")
    y[3] = cute.arch.atomic_cas(x.iterator, 4, 6, sem="acquire", scope="cluster")
    y[4] = x[0]


@pytest.mark.parametrize("dtype", [torch.int16, torch.int32, torch.int64, torch.float32, torch.float64])
def test_every_message_is_compiled_and_changes_what_it_should(dtype):
    """Each reads and changes the element as an atomic that orders nothing does."""

    @cute.jit
    def run(x: cute.Tensor, y: cute.Tensor):
        exchange_messages(x, y).launch(grid=[1, 1, 1], block=[1, 1, 1])

    x, y = torch.full((4,), 2, dtype=dtype), torch.zeros(5, dtype=dtype)
    run(x, y)
    assert y.tolist() == [2, 7, 9, 4, 6]
    compiled = cute.compile(run, x, y, options="--gpu-arch sm_90a")
    of_ints = {torch.int32: "s32", torch.int64: "s64"}
    if dtype in of_ints:
        kind = of_ints[dtype][1:]
        for how, text in (("acquire.gpu", f"add.u{kind}"), ("release.sys", f"max.s{kind}"),
                          ("acq_rel.cta", f"exch.b{kind}"), ("acquire.gpu", f"cas.b{kind}")):  # fmt: skip
            assert f"atom.{how}.global.{text}" in compiled.ptx


@cute.kernel
def count_in_shared(y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    shared = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Int32, 2)
    if thread < 2:
        shared[thread] = 0
    cute.arch.sync_threads()
    cute.arch.atomic_add(shared.iterator + 1, 2, sem="acq_rel", scope="cta")
    cute.arch.sync_threads()
    if thread < 2:
        y[thread] = shared[thread]


def test_messages_in_shared_memory():
    @cute.jit
    def run(y: cute.Tensor):
        count_in_shared(y).launch(grid=[1, 1, 1], block=[64, 1, 1])

    y = torch.zeros(2, dtype=torch.int32)
    run(y)
    assert y.tolist() == [0, 128]
    compiled = cute.compile(run, y, options="--gpu-arch sm_90a")
    assert "atom.acq_rel.cta.shared.add.u32" in compiled.ptx


@pytest.mark.parametrize(
    ("name", "dtype", "options", "text"),
    [
        ("atomic_add", np.int8, {}, "atomic_add: elements of Int8 have 8 bits, and atomics change 16, 32 or 64"),
        ("atomic_xor", np.float32, {}, "atomic_xor: elements of Float32 are no integers"),
        ("atomic_add", np.int32, {"sem": "rel"}, "sem is 'rel'; expected one of relaxed, acquire, release, acq_rel"),
        ("atomic_add", np.int32, {"scope": "grid"}, "scope is 'grid'; expected one of cta, cluster, gpu, sys"),
        ("atomic_add", np.int32, {"semantics": "release"}, "unexpected keyword argument 'semantics'"),
    ],
)
def test_refused(name, dtype, options, text):
    @cute.kernel
    def kernel(x: cute.Tensor):
        getattr(cute.arch, name)(x.iterator, 1, **options)

    with pytest.raises((TypeError, ValueError), match=text):
        kernel(np.zeros(1, dtype)).launch(block=[1, 1, 1])


def test_blocks_hand_over_by_atomics():
    for seed in range(3):
        with cute.on_cpu(check=True, seed=seed):
            atomic_kernels.run(torch, "cpu", 6)


@cute.kernel
def by_value(x: cute.Tensor):
    cute.arch.atomic_add((x.iterator + 1).llvm_ptr, cutlass.Int32(2))


def test_a_pointer_as_a_value_of_the_program():
    x = np.zeros(3, np.int32)
    by_value(x).launch(block=[32, 1, 1])
    assert x.tolist() == [0, 64, 0]

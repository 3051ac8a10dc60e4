"""Tensors to copy: random bits, views of larger memory, and the comparison of all of it, bit for bit."""

from __future__ import annotations

import random
from typing import NamedTuple

import torch

DEVICE = "cuda"  # of the tests in gpu/
INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
DTYPES = (
    "uint8", "int8", "bool", "float8_e4m3fn", "float8_e5m2", "float16", "bfloat16", "int16", "float32", "int32",
    "float64", "int64", "complex64", "complex128",
)  # fmt: skip
# The longest mode of a tensor by its rank.
LONGEST = {1: 100_000, 2: 600, 3: 70, 4: 26, 5: 13, 6: 8, 7: 6, 8: 5}


def noise(dtype, count, device=None):
    """A flat tensor of random bits."""
    device = device or DEVICE
    highest = 2 if dtype is torch.bool else 256
    return torch.randint(0, highest, (count * dtype.itemsize,), dtype=torch.uint8, device=device).view(dtype)


def bits(tensor):
    """The elements as integers: a NaN equals itself."""
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    return tensor.view(INTEGERS[tensor.element_size()])


class Side(NamedTuple):
    """A view of a flat memory of `size` elements."""

    strides: tuple[int, ...]
    offset: int
    size: int

    def of(self, memory, shape):
        return memory.as_strided(shape, self.strides, self.offset)


class Case(NamedTuple):
    dtype: str
    shape: tuple[int, ...]
    src: Side
    dst: Side

    def tensors(self, device=None):
        """The source, the destination, and the memory that the destination is a view of."""
        dtype = getattr(torch, self.dtype)
        memory = noise(dtype, self.dst.size, device)
        return self.src.of(noise(dtype, self.src.size, device), self.shape), self.dst.of(memory, self.shape), memory


def random_case(number: int) -> Case:
    """Any shape; either side has its modes in any order in memory, with steps and gaps, and begins anywhere."""
    choose = random.Random(number)
    rank = 1 + number % 8

    def extent() -> int:
        longest = LONGEST[rank]
        return choose.choice(
            (
                choose.randint(1, min(4, longest)),
                *[choose.randint(1, longest)] * 2,
                -(-choose.randint(1, longest) // 16) * 16,
            )
        )

    shape = tuple(extent() for _ in range(rank))
    while torch.Size(shape).numel() > 400_000:
        shape = tuple(max(n // 2, 1) for n in shape)
    dtype = choose.choice(DTYPES)
    return Case(dtype, shape, random_side(choose, shape, broadcast=number % 5 == 0), random_side(choose, shape))


def random_side(choose: random.Random, shape: tuple[int, ...], *, broadcast: bool = False) -> Side:
    strides = [0] * len(shape)
    step = choose.choice((*[1] * 8, 2, 3))
    for mode in choose.sample(range(len(shape)), len(shape)):
        if broadcast and choose.random() < 0.5:
            continue
        strides[mode] = step
        step = step * shape[mode] + choose.choice((0, 0, 0, 1, 5, 16))
    offset = choose.choice((0, 0, 1, 3, 8, 16))
    reach = sum((n - 1) * d for n, d in zip(shape, strides, strict=True)) + 1
    return Side(tuple(strides), offset, offset + reach + choose.choice((0, 0, 1, 40)))


def compact(shape: tuple[int, ...], *order: int, offset: int = 0, pad: int = 0) -> Side:
    """A compact tensor whose modes lie in memory in this order, the contiguous one last; with gaps behind its rows."""
    strides = [0] * len(shape)
    step = 1
    for mode in reversed(order or range(len(shape))):
        strides[mode] = step
        step = step * shape[mode] + (pad if step == 1 else 0)
    return Side(tuple(strides), offset, offset + step)


def assert_copied(copy, src, dst, memory):
    """copy(src, dst) writes every element of dst, and nothing else of its memory."""
    bits(dst).copy_(~bits(src))  # what is never written is wrong
    expected = memory.clone()
    bits(expected.as_strided(dst.shape, dst.stride(), dst.storage_offset())).copy_(bits(src))
    copy(src, dst)
    assert_equal(memory, expected)


def assert_equal(found, expected):
    a, b = bits(found), bits(expected)
    if not torch.equal(a, b):
        wrong = (a != b).flatten().nonzero().flatten()
        assert not len(wrong), f"{len(wrong)} of {a.numel()} numbers are wrong, at {wrong[:8].tolist()}"


def on_cpu(tensor):
    """The same view of a copy of all its memory: the strides are the same, and the alignment."""
    memory = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(tensor.untyped_storage()).cpu()
    return memory.view(tensor.dtype).as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())

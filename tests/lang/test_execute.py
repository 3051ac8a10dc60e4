"""Kernels executed by the CPU, without checks and with them: what they compute, beside NumPy and plain Python."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kernel_programs import DTYPES, Kernel, gmem, layout, number, pointer, write

CHECKS = pytest.mark.parametrize("check", [False, True])


def clean(result):
    findings, output = result
    assert not findings, findings
    return output


def elementwise(scalar, operation):
    """c[i] = operation(kernel, a[i], b[i]) for i < n."""

    def body(k: Kernel):
        a, b, c, n = k.parameters
        i = k.thread_of_grid()

        def then():
            k.store(operation(k, k.load(k.at(a, i)), k.load(k.at(b, i))), k.at(c, i))

        k.if_(k.op("lt", i, n), then)

    return write({"a": gmem(scalar), "b": gmem(scalar), "c": gmem(scalar), "n": "Int32"}, body)


@CHECKS
@pytest.mark.parametrize("threads", [1, 2])
def test_elementwise_addition(check, threads):
    x = np.arange(1000, dtype=np.float32)
    y = np.random.default_rng(0).random(1000, np.float32)
    z = np.zeros(1000, np.float32)
    kernel = elementwise("Float32", lambda k, a, b: k.op("add", a, b))
    clean(kernel.run(8, 128, x, y, z, np.int32(1000), check=check, threads=threads))
    np.testing.assert_array_equal(z, x + y)


INTEGERS = ["Int8", "Int16", "Int32", "Int64", "Uint8", "Uint16", "Uint32", "Uint64"]


def wrapped(value: int, dtype) -> int:
    bits = 8 * np.dtype(dtype).itemsize
    value &= (1 << bits) - 1
    return value - (1 << bits) if np.dtype(dtype).kind == "i" and value >> (bits - 1) else value


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


MEANINGS = {
    "add": lambda a, b, w: a + b,
    "sub": lambda a, b, w: a - b,
    "mul": lambda a, b, w: a * b,
    "div": lambda a, b, w: truncated(a, b),
    "rem": lambda a, b, w: a - b * truncated(a, b),
    "floor_div": lambda a, b, w: a // b,
    "floor_mod": lambda a, b, w: a % b,
    "min": lambda a, b, w: min(a, b),
    "max": lambda a, b, w: max(a, b),
    "and": lambda a, b, w: a & b,
    "or": lambda a, b, w: a | b,
    "xor": lambda a, b, w: a ^ b,
    "shl": lambda a, b, w: a << b if 0 <= b < w else 0,
    "shr": lambda a, b, w: a >> (b if 0 <= b < w else w),
}


@pytest.mark.parametrize("scalar", INTEGERS)
@pytest.mark.parametrize("code", MEANINGS)
def test_integers_wrap(scalar, code):
    dtype = np.dtype(DTYPES[scalar])
    info = np.iinfo(dtype)
    edges = [0, 1, 2, 3, 7, 31, 32, 63, 64, info.min, info.min + 1, info.max, info.max - 1, info.max // 3, -1, -2, -7]
    edges = [wrapped(e, dtype) for e in edges]
    pairs = [(a, b) for a in edges for b in edges if b or code not in ("div", "rem", "floor_div", "floor_mod")]
    x, y = (np.array(v, dtype) for v in zip(*pairs, strict=True))
    z = np.zeros_like(x)
    kernel = elementwise(scalar, lambda k, a, b: k.op(code, a, b))
    clean(kernel.run(math.ceil(len(x) / 64), 64, x, y, z, np.int32(len(x)), check=True))
    expected = [wrapped(MEANINGS[code](a, b, 8 * dtype.itemsize), dtype) for a, b in pairs]
    assert z.tolist() == expected


@pytest.mark.parametrize("scalar", ["Float16", "Float32", "Float64"])
@pytest.mark.parametrize(
    ("code", "function"),
    [
        ("add", np.add),
        ("sub", np.subtract),
        ("mul", np.multiply),
        ("div", np.divide),
        ("min", np.fmin),
        ("max", np.fmax),
    ],
)
def test_floats_round_once(scalar, code, function):
    dtype = np.dtype(DTYPES[scalar])
    bits = np.random.default_rng(1).integers(0, 2**63, 4096).astype(np.uint64)
    x = bits.view(np.uint8)[: 2048 * dtype.itemsize].view(dtype).copy()
    y = bits[::-1].copy().view(np.uint8)[: 2048 * dtype.itemsize].view(dtype).copy()
    z = np.zeros_like(x)
    clean(elementwise(scalar, lambda k, a, b: k.op(code, a, b)).run(32, 64, x, y, z, np.int32(2048), check=False))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(z, function(x, y))


def converted(value, source, target):
    """As opcode.hpp says."""
    if np.dtype(target).kind == "b":
        return value != 0
    if np.dtype(target).kind in "iu":
        info = np.iinfo(target)
        if np.dtype(source).kind == "f":
            if math.isnan(value):
                return 0
            return (
                int(min(max(value, info.min), info.max))
                if not math.isinf(value)
                else info.max
                if value > 0
                else info.min
            )
        return wrapped(int(value), target)
    with np.errstate(all="ignore"):
        return np.array(value, source).astype(target)


@pytest.mark.parametrize("source", ["Boolean", *INTEGERS, "Float16", "Float32", "Float64"])
def test_casts(source):
    dtype = np.dtype(DTYPES[source])
    if dtype.kind == "f":
        values = [
            0.0,
            -0.0,
            0.5,
            -0.5,
            1.5,
            2.5,
            1e3,
            -1e3,
            65519.0,
            65520.0,
            1e9,
            3e9,
            -3e9,
            1e19,
            -1e19,
            1e30,
            math.inf,
            -math.inf,
            math.nan,
        ]
        with np.errstate(all="ignore"):
            x = np.array(values).astype(dtype)
    elif dtype.kind == "b":
        x = np.array([False, True])
    else:
        info = np.iinfo(dtype)
        x = np.array([0, 1, 5, info.max, info.min, info.max // 2 + 3, info.max // 7], dtype)
    for target, to in DTYPES.items():

        def body(k: Kernel, target=target):
            a, b = k.parameters
            i = k.thread()
            k.store(k.cast(k.load(k.at(a, i)), target), k.at(b, i))

        z = np.zeros(len(x), to)
        clean(write({"a": gmem(source), "b": gmem(target)}, body).run(1, len(x), x, z))
        expected = np.array([converted(v, dtype, to) for v in x.tolist()], to)
        np.testing.assert_array_equal(z, expected, err_msg=f"{source} to {target}")


SMALL = ["Float16", "BFloat16", "Float8E4M3FN", "Float8E5M2", "Float8E8M0FNU"]


@pytest.mark.parametrize("scalar", SMALL)
def test_small_floats_are_those_of_numeric(scalar):
    """To Float32 and back, of every pattern of 8 bits, or of many; numbers between them round to nearest."""
    import tilewright

    dtype = getattr(tilewright, scalar)
    width = np.uint16 if dtype.width == 16 else np.uint8
    patterns = np.arange(2**dtype.width, step=1 if dtype.width == 8 else 7).astype(width)

    def body(k: Kernel):
        a, b, c = k.parameters
        i = k.thread_of_grid()
        k.store(k.cast(k.load(k.at(a, i)), "Float32"), k.at(b, i))
        k.store(k.cast(k.cast(k.load(k.at(b, i)), "Float64"), scalar), k.at(c, i))

    kernel = write({"a": gmem(scalar), "b": gmem("Float32"), "c": gmem(scalar)}, body)
    patterns = patterns[: len(patterns) // 64 * 64]
    wide, back = np.zeros(len(patterns), np.float32), np.zeros_like(patterns)
    clean(kernel.run(len(patterns) // 64, 64, patterns, wide, back))
    expected = np.array([dtype._decode(int(p)) for p in patterns], np.float32)
    np.testing.assert_array_equal(wide, expected)
    numbers = np.isfinite(wide)  # casts to 8 bits saturate
    np.testing.assert_array_equal(back[numbers], patterns[numbers])


def test_fma_of_small_floats_rounds_once():
    rng = np.random.default_rng(2)
    x, y, z = (rng.integers(0, 2**16, 4096).astype(np.uint16).view(np.float16) for _ in range(3))

    def body(k: Kernel):
        a, b, c = k.parameters
        i = k.thread_of_grid()
        k.store(k.op("fma", k.load(k.at(a, i)), k.load(k.at(b, i)), k.load(k.at(c, i))), k.at(c, i))

    result = z.copy()
    clean(write({"a": gmem("Float16"), "b": gmem("Float16"), "c": gmem("Float16")}, body).run(32, 128, x, y, result))
    with np.errstate(all="ignore"):
        # The sum of halves is exact with 64 bits of mantissa.
        expected = (x.astype(np.longdouble) * y + z).astype(np.float16)
    np.testing.assert_array_equal(result, expected)


# ---- control flow ----


@CHECKS
def test_branches_yield(check):
    def body(k: Kernel):
        a, b = k.parameters
        i = k.thread()
        x = k.load(k.at(a, i))
        odd = k.op("ne", k.op("and", i, 1), 0)
        (y,) = k.if_(odd, lambda: [k.op("mul", x, 3)], lambda: [k.op("sub", x, 5)])
        k.store(y, k.at(b, i))

    x = np.arange(48, dtype=np.int32)
    y = np.zeros(48, np.int32)
    clean(write({"a": gmem("Int32"), "b": gmem("Int32")}, body).run(1, 48, x, y, check=check))
    np.testing.assert_array_equal(y, np.where(x % 2 == 1, 3 * x, x - 5))


@CHECKS
def test_loops_with_bounds_of_each_thread(check):
    """The thread-th triangular number twice: by a loop, and by one that counts down and swaps what it carries."""

    def body(k: Kernel):
        a, b = k.parameters
        i = k.thread()
        (total,) = k.for_(0, k.op("add", i, 1), 1, [k.int32(0)], lambda j, t: [k.op("add", t, j)])
        k.store(total, k.at(a, i))
        x, y = k.for_(i, 0, -1, [k.int32(0), k.int32(1)], lambda j, p, q: [q, k.op("add", p, q)])
        k.store(k.op("sub", k.op("mul", x, 1000), y), k.at(b, i))

    a, b = np.zeros(40, np.int32), np.zeros(40, np.int32)
    clean(write({"a": gmem("Int32"), "b": gmem("Int32")}, body).run(1, 40, a, b, check=check))
    fibonacci = [0, 1]
    while len(fibonacci) < 42:
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    assert a.tolist() == [i * (i + 1) // 2 for i in range(40)]
    assert b.tolist() == [wrapped(1000 * fibonacci[i] - fibonacci[i + 1], np.int32) for i in range(40)]


@CHECKS
def test_while_keeps_what_each_lane_had(check):
    """Steps of Collatz, and the largest number on the way."""

    def body(k: Kernel):
        a, b = k.parameters
        i = k.thread()

        def before(x, steps, most):
            return [k.op("ne", x, 1), x, steps, k.op("max", most, x)]

        def step(x, steps, most):
            even = k.op("eq", k.op("and", x, 1), 0)
            (y,) = k.if_(even, lambda: [k.op("shr", x, 1)], lambda: [k.op("add", k.op("mul", x, 3), 1)])
            return [y, k.op("add", steps, 1), most]

        _, steps, most = k.while_([k.op("add", i, 1), k.int32(0), k.int32(0)], before, step)
        k.store(steps, k.at(a, i))
        k.store(most, k.at(b, i))

    a, b = np.zeros(70, np.int32), np.zeros(70, np.int32)
    clean(write({"a": gmem("Int32"), "b": gmem("Int32")}, body).run(1, 70, a, b, check=check))
    for i in range(70):
        x, steps, most = i + 1, 0, i + 1
        while x != 1:
            x = x // 2 if x % 2 == 0 else 3 * x + 1
            steps, most = steps + 1, max(most, x)
        assert (a[i], b[i]) == (steps, most)


# ---- memory ----


@CHECKS
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_shared_memory_reverses_a_block(check, seed):
    def body(k: Kernel):
        a, b = k.parameters
        i, t = k.thread_of_grid(), k.thread()
        s = k.shared("Float32")
        k.store(k.load(k.at(a, i)), k.at(s, t))
        k.sync()
        k.store(k.load(k.at(s, k.op("sub", 255, t))), k.at(b, i))

    x = np.arange(1024, dtype=np.float32)
    y = np.zeros_like(x)
    kernel = write({"a": gmem("Float32"), "b": gmem("Float32")}, body, shared_bytes=1024)
    clean(kernel.run(4, 256, x, y, check=check, seed=seed))
    np.testing.assert_array_equal(y.reshape(4, 256), x.reshape(4, 256)[:, ::-1])


@CHECKS
@pytest.mark.parametrize("swizzle", [None, (3, 4, 3)])
def test_vectors_through_fragments_and_swizzled_shared_memory(check, swizzle):
    """Each thread brings a row of 8 halves to shared memory, and another one takes a column of 8."""

    def body(k: Kernel):
        a, b = k.parameters
        t = k.thread()
        row = layout(8, 1)
        s = k.shared("Float16", 0, 128, swizzle)
        r = k.frame("Float16", 8)
        k.op("copy", accesses=[(k.at(a, k.op("mul", t, 8)), row), (r, row)], ints=[128, 8])
        k.op("copy", accesses=[(r, row), (k.at(s, k.op("mul", t, 8)), row)], ints=[16, 1])
        k.sync()
        column = layout((2, 4), (64, 128))
        x, y = k.op("floor_mod", t, 64), k.op("floor_div", t, 64)
        value = k.load(k.at(s, k.op("add", x, k.op("mul", y, 512))), column)
        k.store(value, k.at(b, k.op("mul", t, 8)), row)

    a = np.arange(128 * 8, dtype=np.float16).reshape(16, 64)
    b = np.zeros((128, 8), np.float16)
    kernel = write({"a": gmem("Float16"), "b": gmem("Float16")}, body, shared_bytes=2048)
    clean(kernel.run(1, 128, a, b, check=check))
    np.testing.assert_array_equal(b, np.concatenate([a[:8].T, a[8:].T]))


@CHECKS
def test_strides_that_are_values(check):
    def body(k: Kernel):
        a, b, stride = k.parameters
        t = k.thread()
        values = [k.load(k.at(a, k.op("add", t, k.op("mul", stride, j)))) for j in range(4)]
        vector = k.op("pack", *values)
        total = k.op("reduce", vector, k.constant("Int32", 0), ints=[0, 0, 0, 0], text="add")
        k.store(total, k.at(b, t))

    a = np.arange(4 * 37, dtype=np.int32)
    b = np.zeros(37, np.int32)
    clean(
        write({"a": gmem("Int32"), "b": gmem("Int32"), "stride": "Int32"}, body).run(
            1, 37, a, b, np.int32(37), check=check
        )
    )
    np.testing.assert_array_equal(b, a.reshape(4, 37).sum(0))


def gemm(tile=64, depth=8, scalar="Float32"):
    """C = A B of row-major matrices: tiles of tile x tile, 64 threads with 8 x 8 sums each."""

    def body(k: Kernel):
        a, b, c, n = k.parameters
        t = k.thread()
        tx, ty = k.op("floor_mod", t, 8), k.op("floor_div", t, 8)
        m0, n0 = k.op("mul", k.block(0), tile), k.op("mul", k.block(1), tile)
        element = 2 if scalar == "Float16" else 4
        sa, sb = k.shared(scalar, 0, 16), k.shared(scalar, tile * depth * element, 16)
        ra, rb, acc = k.frame(scalar, 8), k.frame(scalar, 8), k.frame(scalar, 64)
        k.op("fill", k.builder.constant_bits(scalar, 0), accesses=[(acc, layout(64, 1))])

        def step(k0):
            # A by columns in shared memory, B by rows.
            row = k.at(a, k.op("add", k.op("mul", k.op("add", m0, t), n), k0))
            k.op("copy", accesses=[(row, layout(depth, 1)), (k.at(sa, t), layout(depth, tile))], ints=[8 * element, 1])
            line = k.op("mul", k.op("add", k0, tx), n)
            source = k.at(b, k.op("add", k.op("add", line, n0), k.op("mul", ty, 8)))
            target = k.at(sb, k.op("add", k.op("mul", tx, tile), k.op("mul", ty, 8)))
            k.op("copy", accesses=[(source, layout(8, 1)), (target, layout(8, 1))], ints=[8 * element, 1])
            k.sync()
            for d in range(depth):
                for r, s, index in ((ra, sa, tx), (rb, sb, ty)):
                    at = k.at(s, k.op("add", k.op("mul", index, 8), d * tile))
                    k.op("copy", accesses=[(at, layout(8, 1)), (r, layout(8, 1))], ints=[8 * element, 1])
                sums = (acc, layout((8, 8), (1, 8)))
                k.op("fma_tile", accesses=[sums, (ra, layout(8, 1)), (rb, layout(8, 1)), sums], ints=[1, 8, 8, 1])
            k.sync()

        k.for_(0, n, depth, [], step)
        for i in range(8):
            row = k.op("add", k.op("add", m0, k.op("mul", tx, 8)), i)
            to = k.at(c, k.op("add", k.op("add", k.op("mul", row, n), n0), k.op("mul", ty, 8)))
            source = (k.op("offset", acc, k.int32(i), type=pointer(scalar, "rmem", element)), layout(8, 8))
            k.op("copy", accesses=[source, (to, layout(8, 1))], ints=[8 * element, 1])

    parameters = {"a": gmem(scalar), "b": gmem(scalar), "c": gmem(scalar), "n": "Int32"}
    return write(parameters, body, shared_bytes=2 * tile * depth * 4)


@CHECKS
@pytest.mark.parametrize("scalar", ["Float32", "Float16"])
def test_gemm(check, scalar):
    n = 128
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-2, 3, (n, n)).astype(DTYPES[scalar]) for _ in range(2))
    c = np.zeros((n, n), DTYPES[scalar])
    clean(gemm(scalar=scalar).run((n // 64, n // 64), 64, a, b, c, np.int32(n), check=check))
    np.testing.assert_array_equal(c, a @ b)


@CHECKS
def test_elements_of_four_bits(check):
    def body(k: Kernel):
        a, b = k.parameters
        t = k.thread()
        four = layout(4, 1)
        x = k.load(k.at(a, k.op("mul", t, 4)), four)
        k.store(k.op("neg", x), k.at(b, k.op("mul", t, 4)), four)

    packed = np.arange(64, dtype=np.uint8) * 5
    result = np.zeros_like(packed)
    clean(write({"a": gmem("Int4"), "b": gmem("Int4")}, body).run(1, 32, packed, result, check=check))
    np.testing.assert_array_equal(result, -(packed & 15) & 15 | (-(packed >> 4) & 15) << 4)


# ---- asynchronous copies ----


@CHECKS
@pytest.mark.parametrize("seed", [0, 5])
def test_cp_async_lands_at_its_wait(check, seed):
    def body(k: Kernel):
        a, b = k.parameters
        t = k.thread()
        s = k.shared("Int32")
        four = layout(4, 1)
        for stage in range(3):
            source = k.at(a, k.op("add", k.op("mul", t, 4), 512 * stage))
            target = k.at(s, k.op("add", k.op("mul", t, 4), 512 * stage))
            k.op("copy", accesses=[(source, four), (target, four)], ints=[128, 4], text="cp.async")
            k.op("cp_async_commit_group")
        k.op("cp_async_wait_group", ints=[1])
        k.sync()
        other = k.op("sub", 127, t)
        total = k.op("add", k.load(k.at(s, other)), k.load(k.at(s, k.op("add", other, 512))))
        k.op("cp_async_wait_group", ints=[0])
        k.sync()
        k.store(k.op("add", total, k.load(k.at(s, k.op("add", other, 1024)))), k.at(b, t))

    a = np.random.default_rng(4).integers(0, 1000, 1536).astype(np.int32)
    b = np.zeros(128, np.int32)
    clean(
        write({"a": gmem("Int32"), "b": gmem("Int32")}, body, shared_bytes=6144).run(
            1, 128, a, b, check=check, seed=seed
        )
    )
    np.testing.assert_array_equal(b, a.reshape(3, 512)[:, :128].sum(0)[::-1])


def test_a_copy_that_has_not_landed_is_not_seen():
    def body(k: Kernel):
        a, b = k.parameters
        t = k.thread()
        s = k.shared("Int32")
        one = layout(1, 1)
        k.store(k.int32(-1), k.at(s, t))
        k.op("copy", accesses=[(k.at(a, t), one), (k.at(s, t), one)], ints=[32, 1], text="cp.async")
        k.op("cp_async_commit_group")
        k.store(k.load(k.at(s, t)), k.at(b, t))

    a, b = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    write({"a": gmem("Int32"), "b": gmem("Int32")}, body, shared_bytes=128).run(1, 32, a, b, check=False)
    assert set(b.tolist()) == {-1}


# ---- between threads ----


@CHECKS
def test_sum_by_shuffles_and_an_atomic(check):
    def body(k: Kernel):
        a, total = k.parameters
        x = k.load(k.at(a, k.thread_of_grid()))
        for offset in (16, 8, 4, 2, 1):
            x = k.op("add", x, k.op("shuffle_sync", x, k.int32(offset), k.int32(-1), ints=[31], text="bfly"))
        first = k.op("eq", k.op("lane_idx"), 0)
        k.if_(first, lambda: k.op("atomic", x, accesses=[total], text="add") and None)

    a = np.arange(1024, dtype=np.int32)
    total = np.zeros(1, np.int32)
    clean(write({"a": gmem("Int32"), "total": gmem("Int32")}, body).run(4, 256, a, total, check=check))
    assert total[0] == a.sum()


@pytest.mark.parametrize(
    ("how", "clamp", "amount", "source"),
    [
        ("idx", 31, 5, lambda lane: 5),
        ("up", 0, 3, lambda lane: lane - 3 if lane >= 3 else lane),
        ("down", 31, 3, lambda lane: lane + 3 if lane + 3 < 32 else lane),
        ("bfly", 31, 9, lambda lane: lane ^ 9),
        ("down", 31 | 24 << 8, 3, lambda lane: lane + 3 if (lane & 7) + 3 < 8 else lane),
        ("idx", 31 | 16 << 8, 3, lambda lane: (lane & 16) + 3),
    ],
)
def test_shuffles(how, clamp, amount, source):
    def body(k: Kernel):
        (b,) = k.parameters
        lane = k.op("lane_idx")
        value = k.op("mul", lane, 10)
        k.store(k.op("shuffle_sync", value, k.int32(amount), k.int32(-1), ints=[clamp], text=how), k.at(b, lane))

    b = np.zeros(32, np.int32)
    clean(write({"b": gmem("Int32")}, body).run(1, 32, b))
    assert b.tolist() == [10 * source(lane) for lane in range(32)]


def test_votes_match_redux_and_election():
    def body(k: Kernel):
        (b,) = k.parameters
        lane = k.op("lane_idx")
        odd = k.op("eq", k.op("and", lane, 1), 1)
        low = k.op("lt", lane, 40)
        row = [
            k.cast(k.op("vote", odd, k.int32(-1), text="ballot"), "Int32"),
            k.cast(k.op("vote", odd, k.int32(-1), text="any"), "Int32"),
            k.cast(k.op("vote", low, k.int32(-1), text="all"), "Int32"),
            k.cast(k.op("vote", odd, k.int32(-1), text="uni"), "Int32"),
            k.cast(k.op("match", k.op("and", lane, 3), k.int32(-1), text="any"), "Int32"),
            k.op("redux_sync", lane, k.int32(-1), text="max"),
            k.cast(k.op("elect_one"), "Int32"),
            k.op("make_warp_uniform", k.op("add", lane, 7)),
        ]
        k.store(k.op("pack", *row), k.at(b, k.op("mul", lane, 8)), layout(8, 1))

    b = np.zeros((32, 8), np.int32)
    clean(write({"b": gmem("Int32")}, body).run(1, 32, b))
    for lane in range(32):
        among = sum(1 << other for other in range(32) if other % 4 == lane % 4)
        expected = [0xAAAAAAAA, 1, 1, 0, among, 31, int(lane == 0), 7]
        assert b[lane].astype(np.uint32).tolist() == expected


@CHECKS
def test_named_barriers_hand_over(check):
    """Warps 0 and 1 fill two buffers; each of warps 2 and 3 waits for one of them."""

    def body(k: Kernel):
        (b,) = k.parameters
        t, warp = k.thread(), k.op("warp_idx")
        s = k.shared("Int32")
        produces = k.op("lt", warp, 2)

        def produce():
            k.store(k.op("mul", t, t), k.at(s, t))
            k.op("barrier_arrive", k.op("add", warp, 1), k.int32(64))

        def consume():
            k.op("barrier", k.op("sub", warp, 1), k.int32(64))
            k.store(k.load(k.at(s, k.op("sub", t, 64))), k.at(b, k.op("sub", t, 64)))

        k.if_(produces, produce, consume)

    b = np.zeros(64, np.int32)
    clean(write({"b": gmem("Int32")}, body, shared_bytes=256).run(1, 128, b, check=check))
    assert b.tolist() == [t * t for t in range(64)]


@pytest.mark.parametrize("how", ["add", "min", "max", "and", "or", "xor", "exch"])
def test_atomics(how):
    def body(k: Kernel):
        a, b, old = k.parameters
        t = k.thread()
        k.store(k.op("atomic", k.load(k.at(a, t)), accesses=[k.at(b, k.op("and", t, 3))], text=how), k.at(old, t))

    functions = {
        "add": lambda x, y: x + y,
        "min": min,
        "max": max,
        "and": lambda x, y: x & y,
        "or": lambda x, y: x | y,
        "xor": lambda x, y: x ^ y,
        "exch": lambda x, y: y,
    }
    a = np.random.default_rng(5).integers(-100, 100, 64).astype(np.int32)
    b, old = np.full(4, 12, np.int32), np.zeros(64, np.int32)
    clean(write({"a": gmem("Int32"), "b": gmem("Int32"), "old": gmem("Int32")}, body).run(1, 64, a, b, old))
    expected, before = [12] * 4, []
    for t in range(64):
        before.append(expected[t & 3])
        expected[t & 3] = functions[how](expected[t & 3], int(a[t]))
    assert b.tolist() == expected
    assert old.tolist() == before


def test_compare_and_swap():
    def body(k: Kernel):
        (b,) = k.parameters
        t = k.thread()
        k.op("atomic", k.op("add", t, 1), t, accesses=[b], text="cas")

    b = np.zeros(1, np.int32)
    clean(write({"b": gmem("Int32")}, body).run(1, 96, b))
    assert b[0] == 96


def test_threads_do_not_change_results():
    """Which of many atomics comes first does not depend on how many threads the CPU uses."""

    def body(k: Kernel):
        a, b = k.parameters
        i = k.thread_of_grid()
        k.op("atomic", k.load(k.at(a, i)), accesses=[b], text="add")

    a = np.random.default_rng(6).random(4096, np.float32)
    kernel = write({"a": gmem("Float32"), "b": gmem("Float32")}, body)
    results = set()
    for threads in (1, 2, 3):
        b = np.zeros(1, np.float32)
        clean(kernel.run(32, 128, a, b, check=False, threads=threads))
        results.add(float(b[0]))
    assert len(results) == 1


# ---- the rest ----


@pytest.mark.parametrize("threads", [1, 3])
def test_printf(threads):
    def body(k: Kernel):
        x = k.op("mul", k.constant("Float32", 1.57), 2.0)
        k.if_(
            k.op("eq", k.thread(), 33),
            lambda: k.op("printf", k.block(), x, k.thread(), text="block {}: {} %5d|%% {}\n") and None,
        )

    output = clean(write({}, body).run(3, 64, check=False, threads=threads))
    assert output == "".join(f"block {block}: 3.140000    33|% {{}}\n" for block in range(3))


def test_assertion_and_trap_stop_their_cta():
    def body(k: Kernel):
        (b,) = k.parameters
        k.line(5)
        k.op("assert", k.op("ne", k.thread(), 40), text="not 40")
        k.line(6)
        k.if_(k.op("eq", k.block(), 1), lambda: k.op("trap"))
        k.line(7)
        k.store(k.int32(1), k.at(b, k.block()))

    kernel = write({"b": gmem("Int32")}, body)
    b = np.zeros(3, np.int32)
    findings, _ = kernel.run(3, 64, b, check=False)
    assert [(f.kind, f.line, f.count) for f in findings] == [("assertion", 5, 2), ("trap", 6, 32)]
    assert "not 40" in findings[0].message
    assert findings[0].thread == ((0, 0, 0), (40, 0, 0))


def test_inline_asm_that_is_known_and_that_is_not():
    def body(k: Kernel, text="fma.rn.f32 $0, $1, $2, $3;\n=f,f,f,f"):
        (b,) = k.parameters
        x = k.load(b)
        y = k.op("inline_asm", x, x, x, type=number("Float32"), text=text, ints=[0])
        k.store(y, b)

    b = np.array([3], np.float32)
    clean(write({"b": gmem("Float32")}, body).run(1, 1, b))
    assert b[0] == 12
    kernel = write({"b": gmem("Float32")}, lambda k: body(k, "mma.sync $0, $1, $2, $3;\n=f,f,f,f"))
    with pytest.raises(
        RuntimeError, match=r"kernel.py:1: inline_asm cannot be executed by the CPU: it knows no `mma.sync"
    ):
        kernel.run(1, 1, b)


def test_bad_launches_are_refused():
    kernel = write({"b": gmem("Int32")}, lambda k: None)
    b = np.zeros(1, np.int32)
    with pytest.raises(RuntimeError, match=r"grid \(0,1,1\): expected extents above 0"):
        kernel.run(0, 1, b)
    with pytest.raises(RuntimeError, match="at most 1024 threads, not 2048"):
        kernel.run(1, (32, 64), b)

"""Kernels executed by the CPU, without checks and with them: what they compute, beside NumPy and plain Python."""

from __future__ import annotations

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

    a, b = np.zeros(20, np.int32), np.zeros(20, np.int32)
    clean(write({"a": gmem("Int32"), "b": gmem("Int32")}, body).run(1, 20, a, b, check=check))
    fibonacci = [0, 1]
    while len(fibonacci) < 22:
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    assert a.tolist() == [i * (i + 1) // 2 for i in range(20)]
    assert b.tolist() == [1000 * fibonacci[i] - fibonacci[i + 1] for i in range(20)]


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


@CHECKS
def test_a_pointer_that_a_branch_chooses(check):
    """All lanes know both places of the fragment, and each takes its own."""

    def body(k: Kernel):
        (b,) = k.parameters
        t, r = k.thread(), k.frame("Int32", 2)
        k.store(k.op("pack", t, k.op("neg", t)), r, layout(2, 1))
        other = k.at(r, k.int32(1))
        same = k.at(r, k.int32(0))
        second = k.op("recast", same, type=other.type)
        (place,) = k.if_(k.op("eq", k.op("and", t, 1), 0), lambda: [second], lambda: [other])
        k.store(k.load(place), k.at(b, t))

    b = np.zeros(40, np.int32)
    clean(write({"b": gmem("Int32")}, body).run(1, 40, b, check=check))
    assert b.tolist() == [-t if t % 2 else t for t in range(40)]


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


# ---- vectors ----


def vectors(body, results):
    """What a kernel of one warp stores of vectors, by lane."""
    out = np.zeros((32, results), np.int32)

    def whole(k: Kernel):
        (b,) = k.parameters
        x = k.op("pack", *[k.op("add", k.op("mul", k.thread(), 10), j) for j in range(6)])
        k.store(body(k, x), k.at(b, k.op("mul", k.thread(), results)), layout(results, 1))

    clean(write({"b": gmem("Int32", 4)}, whole).run(1, 32, out))
    return out


ROWS = 10 * np.arange(32)[:, None] + np.arange(6)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (lambda k, x: k.op("shuffle", x, ints=[5, 0, 0, 3]), ROWS[:, [5, 0, 0, 3]]),
        (lambda k, x: k.op("insert", x, k.int32(7), ints=[2]), np.where(np.arange(6) == 2, 7, ROWS)),
        (lambda k, x: k.op("splat", k.op("extract", x, ints=[4]), type=number("Int32", 3)), ROWS[:, [4, 4, 4]]),
        (lambda k, x: k.op("mul", x, k.op("extract", x, ints=[1])), ROWS * ROWS[:, [1]]),
        (lambda k, x: k.op("select", k.op("lt", x, 100), x, k.int32(-1)), np.where(ROWS < 100, ROWS, -1)),
        (
            lambda k, x: k.op("reduce", x, k.op("pack", k.int32(0), k.int32(1)), ints=[0, 1, 0, 1, 0, 1], text="add"),
            np.stack([ROWS[:, ::2].sum(1), ROWS[:, 1::2].sum(1) + 1], 1),
        ),
        (
            lambda k, x: k.op("splat", k.op("extract", x, k.op("rem", k.thread(), 6)), type=number("Int32", 2)),
            np.repeat(ROWS[np.arange(32), np.arange(32) % 6][:, None], 2, 1),
        ),
        (
            lambda k, x: k.op("insert", x, k.int32(-5), k.op("rem", k.thread(), 6)),
            np.where(np.arange(6) == np.arange(32)[:, None] % 6, -5, ROWS),
        ),
    ],
)
def test_vectors(body, expected):
    np.testing.assert_array_equal(vectors(body, expected.shape[1]), expected)


def test_bitcasts_and_prmt():
    def body(k: Kernel):
        a, b, c = k.parameters
        t = k.thread()
        x = k.load(k.at(a, t))
        k.store(k.op("bitcast", x, type=number("Int16", 4)), k.at(b, k.op("mul", t, 4)), layout(4, 1))
        halves = k.op("bitcast", x, type=number("Uint32", 2))
        low, high = (k.op("extract", halves, ints=[j]) for j in (0, 1))
        k.store(k.op("prmt", low, high, k.constant("Uint32", 0x9712)), k.at(c, t))

    a = np.random.default_rng(7).integers(0, 2**64, 32, np.uint64)
    b, c = np.zeros((32, 4), np.int16), np.zeros(32, np.uint32)
    clean(write({"a": gmem("Uint64"), "b": gmem("Int16"), "c": gmem("Uint32")}, body).run(1, 32, a, b, c))
    np.testing.assert_array_equal(b, a.view(np.int16).reshape(32, 4))
    of = a.view(np.uint8).reshape(32, 8).astype(np.uint32)
    sign = np.where(of[:, 1] >= 128, 255, 0).astype(np.uint32)
    np.testing.assert_array_equal(c, of[:, 2] | of[:, 1] << 8 | of[:, 7] << 16 | sign << 24)


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


def test_cp_async_writes_zeros_where_its_predicate_is_false():
    def body(k: Kernel):
        a, b = k.parameters
        t, s, one = k.thread(), k.shared("Int32"), layout(1, 1)
        inside = k.frame("Boolean", 1)
        k.store(k.op("lt", t, 20), inside)
        k.store(k.int32(-1), k.at(s, t))
        access = [(k.at(a, t), one), (k.at(s, t), one), (inside, one)]
        k.op("copy", accesses=access, ints=[32, 1], text="cp.async")
        k.op("cp_async_commit_group")
        k.op("cp_async_wait_group", ints=[0])
        k.store(k.load(k.at(s, t)), k.at(b, t))

    a, b = np.arange(1, 21, dtype=np.int32), np.zeros(32, np.int32)
    clean(write({"a": gmem("Int32"), "b": gmem("Int32")}, body, shared_bytes=128).run(1, 32, a, b))
    assert b.tolist() == [*range(1, 21), *[0] * 12]

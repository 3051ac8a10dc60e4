"""Programs of memory and control flow, and what they give.

`kernels` are callables over arrays, of the CPU or of a GPU.
"""

from __future__ import annotations

import numpy as np

from lang_programs import GMEM, RMEM, SMEM, Maker, layout, number, pointer
from tilewright.cute import make_composed_layout, make_swizzle

CASES = {}  # name: (adds the kernel to a program, checks it)


def case(make):
    """A case: a function that adds a kernel of its own name, and the check that follows it."""

    def with_check(check):
        CASES[make.__name__] = make, check
        return check

    return with_check


def program(names=None):
    with Maker() as make:
        for name, (add, _) in CASES.items():
            if names is None or name in names:
                add(make)
        return make.finish()


def check(kernels, name):
    CASES[name][1](kernels)


F32, I32 = pointer("Float32"), pointer("Int32")


def vector_add(make):
    types = {"a": F32, "b": F32, "c": F32, "n": number("Int32")}
    with make.kernel("vector_add", (128, 1, 1), **types) as (a, b, c, n):
        i = make.add(make.mul(make.block_index(), 128), make.thread(name="tidx"))
        make.builder.name(i, "i")

        def then():
            make.store(make.add(make.load(make.at(a, i, 4)), make.load(make.at(b, i, 4))), make.at(c, i, 4))
            return ()

        make.if_(make.lt(i, n), then)


@case(vector_add)
def check_vector_add(kernels):
    a, b = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32) / 3
    c = np.full(1024, -1, np.float32)
    kernels("vector_add", a, b, c, np.int32(1000), grid=(8,), block=(128,))
    assert (c[:1000] == a + b).all()
    assert (c[1000:] == -1).all()


def axpy_wide(make):
    """Accesses of 16 bytes: (4,2):(1,512) at a multiple of 4."""
    types = {"x": F32, "y": F32, "out": F32, "alpha": number("Float32")}
    with make.kernel("axpy_wide", (128, 1, 1), **types) as (x, y, out, alpha):
        i = make.mul(make.thread(), 4)
        tile = layout((4, 2), (1, 512))
        a, b = (make.load(make.at(p, i, 16), tile) for p in (x, y))
        make.store(make.add(make.mul(a, alpha), b), make.at(out, i, 16), tile)


@case(axpy_wide)
def check_axpy_wide(kernels):
    x, y = (np.random.default_rng(i).normal(size=1024).astype(np.float32) for i in range(2))
    out = np.zeros(1024, np.float32)
    kernels("axpy_wide", x, y, out, np.float32(0.1), block=(128,))
    assert (out == x * np.float32(0.1) + y).all()


def fibonacci(make):
    """What is carried changes all at once: (a, b) = (b, a + b)."""
    with make.kernel("fibonacci", (64, 1, 1), out=pointer("Int64")) as out:
        t = make.thread()

        def body(k, a, b):
            return b, make.add(a, b)

        a, b = make.for_(0, t, 1, [make.constant("Int64", 0), make.constant("Int64", 1)], body)
        make.builder.name(a, "a")
        make.builder.name(b, "b")
        make.store(a, make.at(out, make.mul(t, 2), 8))
        make.store(b, make.at(out, make.add(make.mul(t, 2), 1), 8))


@case(fibonacci)
def check_fibonacci(kernels):
    out = np.zeros((64, 2), np.int64)
    kernels("fibonacci", out, block=(64,))
    a, b = 0, 1
    for row in out:
        assert tuple(row) == (a, b)
        a, b = b, a + b


def collatz(make):
    """A while loop around a branch whose arms change one variable and leave another alone."""
    with make.kernel("collatz", (64, 1, 1), out=I32, steps=I32) as (out, steps):
        t = make.thread()

        def before(n, count, odd):
            return make.gt(n, 1), n, count, odd

        def body(n, count, odd):
            is_even = make.eq(make.floor_mod(n, 2), 0)
            m, o = make.if_(
                is_even,
                lambda: (make.floor_div(n, 2), odd),
                lambda: (make.add(make.mul(n, 3), 1), make.add(odd, 1)),
            )
            return m, make.add(count, 1), o

        start = make.add(t, 1)
        zero = make.constant("Int32", 0)
        n, count, odd = make.while_([start, zero, zero], before, body)
        make.builder.name(count, "count")
        make.store(make.add(make.mul(count, 1000), odd), make.at(out, t, 4))
        make.store(n, make.at(steps, t, 4))


@case(collatz)
def check_collatz(kernels):
    out, left = np.zeros(64, np.int32), np.zeros(64, np.int32)
    kernels("collatz", out, left, block=(64,))
    for t in range(64):
        n, count, odd = t + 1, 0, 0
        while n > 1:
            odd += n % 2
            n, count = (n // 2 if n % 2 == 0 else 3 * n + 1), count + 1
        assert (out[t], left[t]) == (count * 1000 + odd, 1)


def nested(make):
    """Branches in branches in loops; steps of both signs, loops that do nothing."""
    with make.kernel("nested", (32, 1, 1), out=I32, step=number("Int32")) as (out, step):
        t = make.thread(name="t")
        zero = make.constant("Int32", 0)

        def body(i, total, last):
            def small():
                return make.add(total, i), i

            def large():
                (x,) = make.if_(make.eq(make.rem(i, 3), 0), lambda: (make.mul(i, t),), lambda: (make.neg(i),))
                return make.sub(total, x), last

            return make.if_(make.lt(i, 10), small, large)

        down = make.for_(20, t, -3, [zero, t], body)
        up = make.for_(t, 20, step, list(down), body)
        none = make.for_(5, 5, 1, list(up), body, unroll=-1)
        for k, x in enumerate([*down, *up, *none]):
            make.store(x, make.at(out, make.add(make.mul(t, 6), k), 4))


@case(nested)
def check_nested(kernels):
    for step in (1, 4, -2):
        out = np.zeros((32, 6), np.int32)
        kernels("nested", out, np.int32(step), block=(32,))
        for t in range(32):
            total, last, expected = 0, t, []
            for indices in (range(20, t, -3), range(t, 20, step), range(0)):
                for i in indices:
                    if i < 10:
                        total, last = total + i, i
                    else:
                        total -= i * t if i % 3 == 0 else -i
                expected += [total, last]
            assert out[t].tolist() == expected, (t, step)


def swapped(make):
    """A branch that exchanges two values, one of which is a vector, inside of a loop."""
    with make.kernel("swapped", (32, 1, 1), out=I32) as out:
        t = make.thread()
        ones = make.splat(make.constant("Int32", 1), type=number("Int32", 4))
        twos = make.mul(ones, 2)

        def body(i, x, y):
            swapping = make.lt(i, t)
            x, y = make.if_(swapping, lambda: (y, make.add(x, y)), lambda: (make.mul(x, y), y))
            return y, x

        x, y = make.for_(0, 4, 1, [ones, twos], body)
        make.store(make.sub(make.mul(x, 3), y), make.at(out, make.mul(t, 4), 16), layout(4, 1))


@case(swapped)
def check_swapped(kernels):
    out = np.zeros((32, 4), np.int32)
    kernels("swapped", out, block=(32,))
    for t in range(32):
        x, y = 1, 2
        for i in range(4):
            x, y = (y, x + y) if i < t else (x * y, y)
            x, y = y, x
        assert (out[t] == 3 * x - y).all(), t


def kept(make):
    """A branch of a loop gives on a value from before the loop, which stays what it is."""
    with make.kernel("kept", (32, 1, 1), x=I32, out=I32) as (x, out):
        t = make.thread()
        value = make.load(make.at(x, t, 4))

        def body(i, total):
            (chosen,) = make.if_(make.eq(make.rem(i, 2), 0), lambda: (make.add(value, i),), lambda: (value,))
            return (make.add(make.mul(total, 3), chosen),)

        (total,) = make.for_(0, 6, 1, [make.constant("Int32", 0)], body)
        make.store(total, make.at(out, t, 4))


@case(kept)
def check_kept(kernels):
    x, out = np.arange(32, dtype=np.int32) * 7, np.zeros(32, np.int32)
    kernels("kept", x, out, block=(32,))
    total = 0
    for i in range(6):
        total = total * 3 + x + (i if i % 2 == 0 else 0)
    assert (out == total).all()


def vectors(make):
    """Elements picked, put, permuted and added up, in one group and in several."""
    with make.kernel("vectors", (32, 1, 1), x=F32, out=F32, k=number("Int32")) as (x, out, k):
        t = make.thread()
        tile = layout(8, 1)
        v = make.load(make.at(x, make.mul(t, 8), 32), tile)
        backwards = make.shuffle(v, ints=list(range(7, -1, -1)))
        mixed = make.shuffle(v, ints=[3, 1, 4, 1, 5, 2, 6, 5])
        inserted = make.insert(make.insert(v, 100.0, ints=[2]), make.constant("Float32", -5.0), k)
        total = make.reduce(v, make.constant("Float32", 0.5), text="add", ints=[0] * 8)
        most = make.reduce(make.mul(v, -1.0), make.constant("Float32", 0.25), text="max", ints=[0] * 8)
        rows = make.reduce(v, make.splat(make.constant("Float32", 0), type=number("Float32", 2)), text="add",
                           ints=[0, 1, 0, 1, 0, 1, 0, 1])  # fmt: skip
        odd_groups = make.reduce(v, make.splat(make.constant("Float32", 1), type=number("Float32", 3)), text="mul",
                                 ints=[0, 2, 1, 1, 0, 2, 2, 0])  # fmt: skip
        chosen = make.select(make.gt(v, 0.0), v, make.neg(v))
        parts = [make.extract(rows, ints=[1]), make.extract(odd_groups, ints=[2]), total, most, make.extract(mixed, k)]
        packed = make.pack(*parts, make.constant("Float32", 0), make.extract(backwards, ints=[0]), parts[0])
        for i, result in enumerate([backwards, mixed, inserted, chosen, packed]):
            make.store(result, make.at(out, make.add(make.mul(t, 40), 8 * i), 32), tile)


@case(vectors)
def check_vectors(kernels):
    x = np.random.default_rng(0).normal(size=(32, 8)).astype(np.float32)
    out = np.zeros((32, 5, 8), np.float32)
    kernels("vectors", x, out, np.int32(6), block=(32,))
    for v, got in zip(x, out, strict=True):
        inserted = v.copy()
        inserted[2], inserted[6] = 100, -5
        total, product = np.float32(0.5), np.float32(1)
        for e in v:
            total += e
        for i in (1, 5, 6):
            product *= v[i]
        row = np.float32(0)
        for e in v[1::2]:
            row += e
        most = max(np.float32(0.25), (-v).max())
        packed = [row, product, total, most, v[6], 0, v[7], row]
        expected = [v[::-1], v[[3, 1, 4, 1, 5, 2, 6, 5]], inserted, abs(v), packed]
        assert (got == np.array(expected, np.float32)).all()


def booleans(make):
    """A Boolean takes a byte of memory, and any byte but 0 is true."""
    types = {"x": I32, "flags": pointer("Boolean", align=16), "out": pointer("Boolean", align=16)}
    with make.kernel("booleans", (16, 1, 1), **types) as (x, flags, out):
        t = make.thread()
        four = make.mul(t, 4)
        v = make.load(make.at(x, four, 16), layout(4, 1))
        f = make.load(make.at(flags, four, 4), layout(4, 1))
        kept = make.and_(make.lt(v, 5), f)
        make.store(make.or_(kept, make.not_(f)), make.at(out, four, 4), layout(4, 1))


@case(booleans)
def check_booleans(kernels):
    x = np.arange(64, dtype=np.int32) % 11
    flags = np.random.default_rng(0).integers(0, 4, 64).astype(np.uint8) * 85
    out = np.full(64, 7, np.uint8)
    kernels("booleans", x, flags, out, block=(16,))
    assert (out == (((x < 5) & (flags != 0)) | (flags == 0))).all()


def fragments(make):
    """Register memory: filled, copied in by 16 bytes with predicates, addressed dynamically, copied out."""
    types = {"src": F32, "dst": F32, "rows": number("Int32"), "pitch": number("Int64")}
    with make.kernel("fragments", (8, 1, 1), **types) as (src, dst, rows, pitch):
        t = make.thread()
        fragment = make.frame("Float32", 16, 16)
        make.fill(make.constant("Float32", -1.0), accesses=[(fragment, layout(16, 1))])
        predicates = make.frame("Boolean", 4, 1)
        for i in range(4):
            make.store(make.lt(make.constant("Int32", i), rows), make.at(predicates, make.constant("Int32", i), 1))
        source = make.at(src, make.mul(t, 4), 16)
        dynamic = make.recast(source, type=pointer("Float32", GMEM, 16))
        make.builder.op("copy", accesses=[(dynamic, strided((4, 4), (1, pitch))), (fragment, layout((4, 4), (1, 4))),
                                          (predicates, layout(4, 1))], ints=[128, 4])  # fmt: skip
        element = make.at(fragment, make.rem(t, 16), 4)
        make.store(make.mul(make.load(element), 2.0), element)
        back = make.at(dst, make.mul(t, 16), 16)
        make.builder.op("copy", accesses=[(fragment, layout(16, 1)), (back, layout(16, 1))], ints=[128, 4])


def strided(shape, stride):
    """A layout with strides of the program."""
    from tilewright import Int64
    from tilewright.cute import make_layout

    return make_layout(shape, stride=tuple(x if isinstance(x, int) else Int64._make(x, 1) for x in stride))


@case(fragments)
def check_fragments(kernels):
    src = np.arange(4 * 40, dtype=np.float32).reshape(4, 40)
    for rows in (4, 2):
        dst = np.zeros((8, 4, 4), np.float32)
        kernels("fragments", src, dst, np.int32(rows), np.int64(40), block=(8,))
        for t in range(8):
            expected = np.full((4, 4), -1, np.float32)
            expected[:rows] = src[:rows, 4 * t : 4 * t + 4]
            expected.reshape(-1)[t % 16] *= 2
            assert (dst[t] == expected).all()


def transposed(make):
    """Through shared memory with a swizzled pointer, a swizzled access and a barrier: two tiles of 32 x 32."""
    with make.kernel("transposed", (32, 8, 1), shared=8192, src=F32, dst=F32) as (src, dst):
        x, y = make.thread(0, "x"), make.thread(1, "y")
        swizzle = (5, 2, 5)  # of bytes: 32 words are exchanged by the row
        plain = make.shared(type=pointer("Float32", SMEM, 1024), ints=[0])
        tile = make.recast(plain, type=pointer("Float32", SMEM, 1024, swizzle))
        other = make.shared(type=pointer("Float32", SMEM, 1024), ints=[4096])

        def put(i, *_):
            row = make.add(y, make.mul(i, 8))
            value = make.load(make.at(src, make.add(make.mul(row, 32), x), 4))
            make.store(value, make.at(tile, make.add(make.mul(row, 32), x), 4))
            offset = make_composed_layout(make_swizzle(5, 0, 5), as_int(make.add(make.mul(row, 32), x)), layout(1, 0))
            make.builder.op("store", [make.mul(value, -1.0)], accesses=[(other, offset)])
            return ()

        make.for_(0, 4, 1, [], put, unroll=-1)
        make.sync_threads()

        def get(i, *_):
            row = make.add(y, make.mul(i, 8))
            at = make.add(make.mul(x, 32), row)
            a = make.load(make.at(tile, at, 4))
            b = make.load(other, make_composed_layout(make_swizzle(5, 0, 5), as_int(at), layout(1, 0)))
            make.store(make.sub(a, b), make.at(dst, make.add(make.mul(row, 32), x), 4))
            return ()

        make.for_(0, 4, 1, [], get, unroll=-1)


def as_int(symbol):
    from tilewright import Int32

    return Int32._make(symbol, 1)


@case(transposed)
def check_transposed(kernels):
    src = np.random.default_rng(0).normal(size=(32, 32)).astype(np.float32)
    dst = np.zeros((32, 32), np.float32)
    kernels("transposed", src, dst, block=(32, 8))
    assert (dst == 2 * src.T).all()


def asynchronous(make):
    """cp.async of 16 and 4 bytes, the second of zeros for some threads, waited for group by group."""
    with make.kernel("asynchronous", (64, 1, 1), shared=1024 + 256, src=F32, dst=F32) as (src, dst):
        t = make.thread()
        wide = make.shared(type=pointer("Float32", SMEM, 16), ints=[0])
        narrow = make.shared(type=pointer("Float32", SMEM, 16), ints=[1024])
        four = make.mul(t, 4)
        ends = [(make.at(end, four, 16), layout(4, 1)) for end in (src, wide)]
        make.builder.op("copy", accesses=ends, ints=[128, 4, 1], text="cp.async")
        make.builder.op("cp_async_commit_group")
        make.store(make.constant("Float32", -1.0), make.at(narrow, t, 4))
        make.sync_threads()
        predicate = make.frame("Boolean", 1, 1)
        make.store(make.lt(t, 40), predicate)
        make.builder.op("copy", accesses=[make.at(src, make.add(t, 3), 4), make.at(narrow, t, 4), predicate],
                        ints=[32, 1, 0], text="cp.async")  # fmt: skip
        make.builder.op("cp_async_commit_group")
        make.builder.op("cp_async_wait_group", ints=[0])
        make.sync_threads()
        back = make.sub(63, t)
        v = make.load(make.at(wide, make.mul(back, 4), 16), layout(4, 1))
        n = make.load(make.at(narrow, back, 4))
        make.store(make.add(v, n), make.at(dst, four, 16), layout(4, 1))


@case(asynchronous)
def check_asynchronous(kernels):
    src, dst = np.arange(256, dtype=np.float32), np.zeros((64, 4), np.float32)
    kernels("asynchronous", src, dst, block=(64,))
    narrow = np.where(np.arange(64) < 40, src[3:67], 0)
    assert (dst == src.reshape(64, 4)[::-1] + narrow[::-1, None]).all()


def product(make):
    """fma_tile: 8 x 4 sums of a thread over 8 steps, from register fragments; once in place, once from another c."""
    with make.kernel("product", (16, 1, 1), a=F32, b=F32, c=F32, d=F32) as (a, b, c, d):
        t = make.thread()
        fragments = [make.frame("Float32", size, 16) for size in (64, 32, 32, 32)]
        for p, f, size in zip((a, b, c), fragments, (64, 32, 32), strict=False):
            ends = [(make.at(p, make.mul(t, size), 16), layout(size, 1)), (f, layout(size, 1))]
            make.builder.op("copy", accesses=ends, ints=[128, 4])
        fa, fb, fc, fd = fragments
        tile_a, tile_b, tile_c = (
            layout((1, 8, 8), (0, 1, 8)),
            layout((1, 4, 8), (0, 8, 1)),
            layout((1, 8, 4), (0, 1, 8)),
        )
        make.builder.op(
            "fma_tile", accesses=[(fd, tile_c), (fa, tile_a), (fb, tile_b), (fc, tile_c)], ints=[1, 8, 4, 8]
        )
        make.builder.op(
            "fma_tile", accesses=[(fd, tile_c), (fa, tile_a), (fb, tile_b), (fd, tile_c)], ints=[1, 8, 4, 8]
        )
        make.builder.op("copy", accesses=[(fd, layout(32, 1)), (make.at(d, make.mul(t, 32), 16), layout(32, 1))],
                        ints=[128, 4])  # fmt: skip


@case(product)
def check_product(kernels):
    rng = np.random.default_rng(0)
    a, b, c = (rng.integers(-8, 8, (16, size)).astype(np.float32) for size in (64, 32, 32))
    d = np.zeros((16, 32), np.float32)
    kernels("product", a, b, c, d, block=(16,))
    for t in range(16):
        m, n = a[t].reshape(8, 8), b[t].reshape(4, 8)  # (k, m) and (n, k)
        expected = c[t].reshape(4, 8) + 2 * (n @ m)
        assert (d[t].reshape(4, 8) == expected).all()


def counted(make):
    """Atomics of all threads on one element each."""
    types = {"ints": I32, "floats": F32, "wide": pointer("Int64", align=8), "half": pointer("Float16", align=2)}
    with make.kernel("counted", (64, 1, 1), **types) as (ints, floats, wide, half):
        t = make.thread()
        for k, (code, value) in enumerate(
            [("add", t), ("min", make.sub(t, 20)), ("max", t), ("and", make.or_(t, 64)), ("or", t), ("xor", t)]
        ):
            make.builder.op("atomic", [value], accesses=[make.at(ints, make.constant("Int32", k), 4)], text=code)
        for k, code in enumerate(["add", "min", "max"]):
            value = make.cast(make.sub(t, 31), type=number("Float32"))
            place = make.at(floats, make.constant("Int32", k), 4)
            make.builder.op("atomic", [value], accesses=[place], text=code, ints=[3, 3])
        for k, code in enumerate(["add", "min", "exch"]):
            value = make.sub(make.cast(t, type=number("Int64")), 40)
            make.builder.op("atomic", [value], accesses=[make.at(wide, make.constant("Int32", k), 8)], text=code)
        one = make.cast(make.constant("Float32", 0.5), type=number("Float16"))
        make.builder.op("atomic", [one], accesses=[half], text="add")
        old = make.builder.op(
            "atomic",
            [t, make.constant("Int32", 77)],
            accesses=[make.at(ints, make.constant("Int32", 6), 4)],
            text="cas",
        )
        make.if_(make.eq(old, 77), lambda: make.store(old, make.at(ints, make.constant("Int32", 7), 4)) or ())


@case(counted)
def check_counted(kernels):
    ints = np.array([2**31 - 1, 99, 0, -1, 0, 0, 77, 0], np.int32)  # the first wraps around
    floats, wide, half = np.zeros(3, np.float32), np.zeros(3, np.int64), np.zeros(2, np.float16)
    kernels("counted", ints, floats, wide, half, block=(64,))
    assert ints[:6].tolist() == [2015 - 2**31, -20, 63, 64, 63, 0]
    assert 0 <= ints[6] < 64
    assert ints[7] == 77
    assert floats.tolist() == [32, -31, 32]
    assert half[0] == 32
    assert wide[0] == 2016 - 64 * 40
    assert wide[1] == -40
    assert -40 <= wide[2] < 24


def pieces(make):
    """Elements of 4 bits, two in a byte."""
    types = {
        "x": pointer("Int4", align=4),
        "f": pointer("Float4E2M1FN", align=4),
        "out": F32,
        "y": pointer("Int4", align=4),
    }
    with make.kernel("pieces", (1, 1, 1), **types) as (x, f, out, y):
        v = make.load(x, layout(8, 1))
        w = make.load(f, layout(8, 1))
        both = make.add(make.cast(v, type=number("Float32", 8)), make.cast(w, type=number("Float32", 8)))
        make.store(both, out, layout(8, 1))
        make.store(make.mul(v, 3), y, layout(8, 1))
        word = make.bitcast(v, type=number("Uint32"))
        make.store(make.cast(word, type=number("Float32")), make.at(out, make.constant("Int32", 8), 4))
        again = make.bitcast(word, type=number("Int4", 8))
        make.store(
            make.cast(make.extract(again, ints=[1]), type=number("Float32")), make.at(out, make.constant("Int32", 9), 4)
        )


@case(pieces)
def check_pieces(kernels):
    x = np.array([0x71, 0x8F, 0x20, 0xE5], np.uint8)
    f = np.array([0x10, 0x32, 0x54, 0xF6], np.uint8)
    out, y = np.zeros(10, np.float32), np.zeros(4, np.uint8)
    kernels("pieces", x, f, out, y, block=(1,))
    nibbles = [b >> s & 15 for b in x.tolist() for s in (0, 4)]
    ints = [n - 16 if n > 7 else n for n in nibbles]
    floats = [0, 0.5, 1, 1.5, 2, 3, 4, -6]
    assert out[:8].tolist() == [a + b for a, b in zip(ints, floats, strict=True)]
    assert [b >> s & 15 for b in y.tolist() for s in (0, 4)] == [3 * n % 16 for n in ints]
    assert out[8] == np.float32(int.from_bytes(x.tobytes(), "little"))
    assert out[9] == ints[1]


def views(make):
    """Memory seen as another type, values as other bits, pointers as numbers and back."""
    with make.kernel("views", (16, 1, 1), x=F32, out=I32) as (x, out):
        t = make.thread()
        bits = make.recast(x, type=pointer("Int32", GMEM, 16))
        number_ = make.load(make.at(bits, t, 4))
        value = make.bitcast(number_, type=number("Float32"))
        back = make.bitcast(make.mul(value, 2.0), type=number("Int32"))
        address = make.add(make.address(out), make.cast(make.mul(t, 8), type=number("Int64")))
        there = make.to_pointer(address, type=pointer("Int32", GMEM, 4))
        make.store(back, there)
        halves = make.bitcast(number_, type=number("Uint16", 2))
        high = make.cast(make.extract(halves, ints=[1]), type=number("Int32"))
        make.store(high, make.at(there, make.constant("Int32", 1), 4))


@case(views)
def check_views(kernels):
    x = np.random.default_rng(0).normal(size=16).astype(np.float32)
    out = np.zeros((16, 2), np.int32)
    kernels("views", x, out, block=(16,))
    assert (out[:, 0] == (2 * x).view(np.int32)).all()
    assert (out[:, 1] == x.view(np.uint32) >> 16).all()


def unordered(make):
    """Modes in any order: the contiguous one is not the first, some repeat, strides are negative."""
    with make.kernel("unordered", (4, 1, 1), x=F32, out=F32) as (x, out):
        t = make.thread()
        source = make.at(x, make.mul(t, 64), 256)
        v = make.load(source, layout((2, 4, 2), (8, 1, 32)))
        w = make.load(make.at(source, make.constant("Int32", 15), 4), layout((4, 2, 2), (-2, 0, 3)))
        make.store(make.add(v, w), make.at(out, make.mul(t, 16), 64), layout((4, 4), (4, 1)))


@case(unordered)
def check_unordered(kernels):
    x, out = np.random.default_rng(0).normal(size=(4, 64)).astype(np.float32), np.zeros((4, 16), np.float32)
    kernels("unordered", x, out, block=(4,))
    for t in range(4):
        v = [x[t][8 * i + j + 32 * k] for k in range(2) for j in range(4) for i in range(2)]
        w = [x[t][15 - 2 * i + 3 * k] for k in range(2) for j in range(2) for i in range(4)]
        result = np.array(v) + np.array(w)
        assert (out[t].reshape(4, 4).T.reshape(-1) == result).all()


def asserted(make):
    with make.kernel("asserted", (4, 1, 1), limit=number("Int32")) as limit:
        make.builder.op("assert", [make.lt(make.thread(), limit)], text="too many threads")


@case(asserted)
def check_asserted(kernels):
    assert kernels("asserted", np.int32(4), block=(4,)) == 0


NEGATIONS = (
    lambda make, x: make.neg(x),
    lambda make, x: make.sub(0, x),
    lambda make, x: make.mul(x, -1),
    lambda make, x: make.floor_div(x, -1),
    lambda make, x: make.abs(x),
)


def negations(make):
    """Narrow numbers negated and widened: ptxas widens first where it may."""
    with make.kernel("negations", (32, 1, 1), x=pointer("Int16"), y=pointer("Int8"), out=I32) as (x, y, out):
        thread = make.thread()
        at = make.mul(thread, 2 * len(NEGATIONS))
        for base, align in (x, 2), (y, 1):
            value = make.load(make.at(base, thread, align))
            for negation in NEGATIONS:
                wide = make.cast(make.min(negation(make, value), 1), type=number("Int32"))
                make.store(wide, make.at(out, at, 4))
                at = make.add(at, 1)


@case(negations)
def check_negations(kernels):
    x, y = np.full(32, -(2**15), np.int16), np.full(32, -(2**7), np.int8)
    x[1:], y[1:] = np.arange(-15, 16), np.arange(-15, 16)
    out = np.zeros((32, 2, len(NEGATIONS)), np.int32)
    kernels("negations", x, y, out, block=(32,))
    for found, given in zip((out[:, 0], out[:, 1]), (x, y), strict=True):
        with np.errstate(all="ignore"):
            opposite, magnitude = np.minimum(-given, 1), np.minimum(abs(given), 1)
        assert (found[:, :-1] == opposite[:, None]).all()
        assert (found[:, -1] == magnitude).all()


def element_of_part(make):
    """A part of a vector by an index that is an expression which binds less tightly than a sum."""
    with make.kernel("element_of_part", (32, 1, 1), a=F32, out=F32, n=number("Int32")) as (a, out, n):
        thread = make.thread()
        vector = make.load(a, layout((8,), (1,)))
        part = make.shuffle(vector, ints=[2, 3])
        sign = make.select(make.lt(n, thread), 1, 0)
        first, second = (make.extract(part, index) for index in (make.floor_mod(n, 2), sign))
        make.store(make.add(first, make.mul(second, 100.0)), make.at(out, thread, 4))


@case(element_of_part)
def check_element_of_part(kernels):
    a = np.arange(8, dtype=np.float32)
    for n in -3, -2, 0, 1, 5:
        out = np.zeros(32, np.float32)
        kernels("element_of_part", a, out, np.int32(n), block=(32,))
        assert (out == 2 + n % 2 + 100 * (2 + (n < np.arange(32)))).all()


__all__ = ["CASES", "GMEM", "RMEM", "check", "program"]

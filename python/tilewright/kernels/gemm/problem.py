"""The problem that a GEMM solves: element types, extents, strides and what is done with each sum before it is stored.

C(m, n, l) = activation(alpha * sum over k of A(m, k, l) B(n, k, l) + beta * C(m, n, l) + bias). As in CuTe, A, B and C
have the modes (M,K,L), (N,K,L) and (M,N,L). L are the batch modes, merged into as few as the three tensors allow.
"""

from __future__ import annotations

from typing import NamedTuple

from tilewright.cute.int_tuple import text
from tilewright.numeric import (
    BFloat16,
    Float8E4M3FN,
    Float8E5M2,
    Float16,
    Float32,
    Float64,
    Int8,
    Int32,
    Numeric,
    TFloat32,
    Uint8,
)

MAX_BATCH = 3  # batch modes of a kernel
ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "silu")
FLOAT8 = (Float8E4M3FN, Float8E5M2)
FLOATS = (Float16, BFloat16, Float32, Float64, *FLOAT8)  # what may be stored from a sum of floats
SUMS: dict[type[Numeric], type[Numeric]] = {  # the type in which products of two elements are added up
    **dict.fromkeys((Float16, BFloat16, Float32, TFloat32, *FLOAT8), Float32),
    Float64: Float64,
    Int8: Int32,
    Uint8: Int32,
}  # fmt: skip


class Epilogue(NamedTuple):
    """What is done with each sum: activation(alpha * sum + beta * C + bias).

    `bias` is "m" or "n", the mode along which it lies, with elements of `bias_type`, `bias_stride` apart, or None.
    `activation` is None, "relu", "gelu" (by erf), "gelu_tanh" or "silu".

    >>> print(Epilogue(alpha=2, bias="n", bias_type=Float32, bias_stride=1, activation="relu"))
    relu(2 AB + bias along n of Float32)
    """

    alpha: float | int = 1
    beta: float | int = 0
    bias: str | None = None
    bias_type: type[Numeric] | None = None
    bias_stride: int = 0
    activation: str | None = None

    def __str__(self) -> str:
        terms = ["AB" if self.alpha == 1 else f"{self.alpha} AB"]
        if self.beta != 0:
            terms.append("C" if self.beta == 1 else f"{self.beta} C")
        if self.bias is not None:
            terms.append(f"bias along {self.bias} of {self.bias_type}")
        value = " + ".join(terms)
        return f"{self.activation}({value})" if self.activation else value


class GemmProblem(NamedTuple):
    """Types, extents and strides in elements; the batch modes are the last of every stride tuple.

    Strides of A and B have any sign and are 0 where elements are broadcast. The stride of a mode of extent 1 is what it
    was given as and means nothing. `a_type` is TFloat32 for elements of Float32 whose products are taken in TF32.

    `whole_k`: 0, or where the matrices along the last batch mode are parts of K, the last one shorter, the K of all.
    Law: matrix s has the products of the whole K from s * k to before min((s + 1) * k, whole_k).
    """

    a_type: type[Numeric]
    b_type: type[Numeric]
    c_type: type[Numeric]
    acc_type: type[Numeric]
    m: int
    n: int
    k: int
    batch: tuple[int, ...]
    a_strides: tuple[int, ...]
    b_strides: tuple[int, ...]
    c_strides: tuple[int, ...]
    epilogue: Epilogue = Epilogue()
    whole_k: int = 0

    @property
    def undivided(self) -> GemmProblem:
        """The problem whose A and B these are: itself, or of parts of K, the last one shorter, the whole."""
        if not self.whole_k:
            return self
        strides = {name: getattr(self, name)[:-1] for name in ("a_strides", "b_strides", "c_strides")}
        return self._replace(k=self.whole_k, batch=self.batch[:-1], whole_k=0, **strides)

    @property
    def batches(self) -> int:
        """The matrices of a batch, 1 where there are no batch modes."""
        count = 1
        for extent in self.batch:
            count *= extent
        return count

    @property
    def flops(self) -> int:
        """Multiplications and additions, as GEMMs are measured."""
        p = self.undivided
        return 2 * p.m * p.n * p.k * p.batches

    @property
    def moved_bytes(self) -> int:
        """The bytes of A, B and C, each of which has to be moved at least once; broadcast modes count once."""
        p = self.undivided
        sides = (p.a_type, (p.m, p.k), p.a_strides), (p.b_type, (p.n, p.k), p.b_strides)
        total = sum(_bytes(dtype, (*extents, *p.batch), strides) for dtype, extents, strides in sides)
        return total + _bytes(self.c_type, (self.m, self.n, *self.batch), self.c_strides)

    def swapped(self) -> GemmProblem:
        """The same sums as a problem for C transposed: C^T = B A^T. Law: p.swapped().swapped() == p.

        >>> print(problem_of(3, 5, 7, Float32, c="m").swapped())
        C (5,3):(3,1) = A (5,7):(7,1) B (3,7):(7,1), Float32
        """
        sides = {None: None, "m": "n", "n": "m"}
        c_m, c_n, *c_batch = self.c_strides
        return self._replace(
            a_type=self.b_type,
            b_type=self.a_type,
            m=self.n,
            n=self.m,
            a_strides=self.b_strides,
            b_strides=self.a_strides,
            c_strides=(c_n, c_m, *c_batch),
            epilogue=self.epilogue._replace(bias=sides[self.epilogue.bias]),
        )

    def __str__(self) -> str:
        def layout(*extents: int, strides: tuple[int, ...]) -> str:
            return f"{text((*extents, *self.batch))}:{text(strides)}"

        a, b = layout(self.m, self.k, strides=self.a_strides), layout(self.n, self.k, strides=self.b_strides)
        types = [str(self.a_type)] if self.a_type is self.b_type else [f"{self.a_type} by {self.b_type}"]
        if self.acc_type is not self.a_type:
            types.append(f"summed in {self.acc_type}")
        if self.c_type is not self.a_type:
            types.append(f"stored as {self.c_type}")
        if self.whole_k:
            types.append(f"parts of K = {self.whole_k}")
        shown = f"C {layout(self.m, self.n, strides=self.c_strides)} = A {a} B {b}, {', '.join(types)}"
        return shown if self.epilogue == Epilogue() else f"{shown}, C = {self.epilogue}"


def _bytes(dtype: type[Numeric], extents: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """The bytes of a tensor, without the modes over which it is broadcast."""
    count = dtype.bits // 8
    for extent, stride in zip(extents, strides, strict=True):
        count *= extent if stride else 1
    return count


def default_output(a_type: type[Numeric]) -> type[Numeric]:
    """The type of C where none is asked for: that of A; BFloat16 for float8, Int32 for integers, Float32 for TF32.

    >>> default_output(Float16), default_output(Float8E4M3FN), default_output(Int8)
    (Float16, BFloat16, Int32)
    """
    if a_type in FLOAT8:
        return BFloat16
    return {Int8: Int32, Uint8: Int32, TFloat32: Float32}.get(a_type, a_type)


def problem_of(
    m: int,
    n: int,
    k: int,
    dtype: type[Numeric],
    *,
    a: str = "k",
    b: str = "k",
    c: str = "n",
    batch: tuple[int, ...] = (),
    out: type[Numeric] | None = None,
    b_type: type[Numeric] | None = None,
    pads: tuple[int, int, int] = (0, 0, 0),
    epilogue: Epilogue | None = None,
) -> GemmProblem:
    """The problem of compact tensors that do not exist.

    The contiguous mode is "k" or "m" of A, "k" or "n" of B, "n" or "m" of C. Rows are `pads` elements of A, B and C
    longer than they need be; batch modes lie outside, the last one outermost.

    >>> print(problem_of(128, 256, 64, Float16, b="n", batch=(3,), out=Float32))
    C (128,256,3):(256,1,32768) = A (128,64,3):(64,1,8192) B (256,64,3):(1,256,16384), Float16, summed in Float32, \
stored as Float32
    """

    def strides(first: int, second: int, contiguous_first: bool, pad: int) -> tuple[int, ...]:
        row = (first if contiguous_first else second) + pad
        step = row * (second if contiguous_first else first)
        found = [1, row] if contiguous_first else [row, 1]
        for extent in batch:
            found.append(step)
            step *= extent
        return tuple(found)

    return GemmProblem(
        a_type=dtype,
        b_type=b_type or dtype,
        c_type=out or default_output(dtype),
        acc_type=SUMS[dtype],
        m=m,
        n=n,
        k=k,
        batch=batch,
        a_strides=strides(m, k, a == "m", pads[0]),
        b_strides=strides(n, k, b == "n", pads[1]),
        c_strides=strides(m, n, c == "m", pads[2]),
        epilogue=epilogue or Epilogue(),
    )

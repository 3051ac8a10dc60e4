"""What Python and other libraries say where they get a number or tensor of the program, and what to do."""

from __future__ import annotations

import re

__all__ = ["explain"]

_NUMBER = r"(?:Boolean|Bfloat\d+|BFloat\d+|Float\w+|TFloat32|Int\d+|Uint\d+)"

_SAID: tuple[tuple[type[Exception], str, str], ...] = (
    (
        TypeError,
        r"loop of ufunc does not support argument \d+ of type (\w+) which has no callable (\w+) method",
        r"numpy.\2: NumPy computes on the host, and this \1 is known only at run time; use cute.math.\2",
    ),
    (
        TypeError,
        rf"(.*must be Tensor, not {_NUMBER})",
        r"\1; torch computes on the host, and this number is known only at run time: use cute.math",
    ),
    (
        TypeError,
        r"(unsupported operand type\(s\) for \S+: (?:'Tensor' and '[^']*'|'[^']*' and 'Tensor'))",
        r"\1; load the elements of a tensor to compute with them: a.load() + b.load()",
    ),
    (
        TypeError,
        rf"('{_NUMBER}' object (?:is not subscriptable|does not support item assignment))",
        r"\1; one index gives one element, counted along mode 0 first: t[i, j] is one of a matrix, t[i, None] a row",
    ),
    (
        TypeError,
        rf"(type {_NUMBER} doesn't define __round__ method)",
        r"\1; cute.math.floor(x + 0.5) rounds, Int32(x) cuts the fraction off",
    ),
    (
        IndexError,
        r"only integers, slices \(`:`\), ellipsis \(`\.\.\.`\), numpy\.newaxis.*",
        "an array of NumPy is indexed by a number that is known only at run time: make it an argument of the kernel, "
        "where it is a tensor",
    ),
    (
        AttributeError,
        r"('tuple' object has no attribute '[xyz]')",
        r"\1; thread_idx(), block_idx() and others are tuples: x, y, z = cute.arch.thread_idx()",
    ),
    (AttributeError, r"('\w*Tensor' object has no attribute '(?:size|numel|nelement)')", r"\1; use cute.size(t)"),
    (AttributeError, r"('\w*Tensor' object has no attribute '(?:ndim|dim)')", r"\1; use cute.rank(t)"),
    (
        AttributeError,
        r"('\w*Tensor' object has no attribute '(?:sum|max|min|mean|prod|exp|astype|to)')",
        r"\1; t.load() has the elements as one vector, which computes, reduces and converts",
    ),
    (
        AttributeError,
        r"('\w*Tensor' object has no attribute '(?:T|mT|transpose|permute|reshape|view|flatten|ravel)')",
        r"\1; cute.make_tensor(t.iterator, layout) shows the same memory by another layout, such as "
        r"cute.select(t.layout, [1, 0])",
    ),
    (
        AttributeError,
        r"('\w*Tensor' object has no attribute '(?:data_ptr|ptr|data|ctypes)')",
        r"\1; t.iterator is the pointer to its first element",
    ),
    (
        AttributeError,
        r"('TensorSSA' object has no attribute '(?:sum|max|min|mean|prod|any|all)')",
        r"\1; v.reduce(cute.ReductionOp.ADD, 0.0, 0) and the like reduce, cute.any_(v) and cute.all_(v) test",
    ),
    (
        TypeError,
        r"('TensorSSA' object does not support item assignment)",
        r"\1; a vector is a value: change elements of a tensor (cute.make_rmem_tensor), or choose by cute.where",
    ),
    (
        AttributeError,
        rf"('{_NUMBER}' object has no attribute '(?:astype|type|cast|float|int|long|half)')",
        r"\1; x.to(dtype) or dtype(x) converts: Float32(x)",
    ),
)


def explain(error: BaseException) -> None:
    """Put what to do into an error of Python or of another library that got a value of the program."""
    if not error.args or type(error.args[0]) is not str:
        return
    for kind, pattern, better in _SAID:
        if isinstance(error, kind) and re.fullmatch(pattern, error.args[0]):
            error.args = (re.sub(pattern, better, error.args[0]),)
            return

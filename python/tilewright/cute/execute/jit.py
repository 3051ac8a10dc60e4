"""Host functions and kernels, run by Python itself: @cute.jit, @cute.kernel, launches on the CPU, and control flow.

Nothing is compiled. A kernel runs one thread after another, block after block, x fastest.
"""

from __future__ import annotations

import builtins
import functools
import operator
from typing import TYPE_CHECKING, Any, overload

from tilewright import numeric
from tilewright.cute.arch import _place
from tilewright.cute.runtime import import_array
from tilewright.cute.tensors.pointer import Pointer
from tilewright.cute.tensors.runtime_tensor import RuntimePointer, RuntimeTensor
from tilewright.cute.tensors.tensor import Tensor
from tilewright.numeric import Int32, Numeric

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Annotated, SupportsIndex, TypeVar

    N = TypeVar("N", bound=Numeric)
    T = TypeVar("T")
    Constexpr = Annotated[T, "compile-time constant"]
else:

    class Constexpr:
        """Marks a parameter that is a compile-time constant: `tile: Constexpr[int]`."""

        def __class_getitem__(cls, item: Any) -> Any:
            return type(list[int])(cls, item)


__all__ = [
    "Constexpr",
    "and_",
    "compile",
    "const_expr",
    "dynamic_expr",
    "jit",
    "kernel",
    "not_",
    "or_",
    "range_constexpr",
]


@overload
def jit(function: Callable[..., T], **options: object) -> Callable[..., T]: ...
@overload
def jit(function: None = None, **options: object) -> Callable[[Callable[..., T]], Callable[..., T]]: ...
def jit(function: Callable[..., Any] | None = None, **options: object) -> Callable[..., Any]:
    """Run a function written for CuTeDSL's host side, here and now.

    Arrays with __dlpack__ become tensors with a dynamic layout, as if marked by mark_layout_dynamic; a parameter
    annotated with a numeric type (`n: Int32`) receives that type; everything else passes through. Options are accepted
    and ignored.

    >>> @jit
    ... def double(n: Int32):
    ...     return n * 2
    >>> print(double(21), int(double(21)))
    ?{div=2} 42
    """
    if function is None:
        return lambda f: jit(f)
    body = _Body(function)

    def call(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = body.convert(args, kwargs)
        return body.function(*args, **kwargs)

    return body.wrap(call)


@overload
def kernel(function: Callable[..., object], **options: object) -> Callable[..., KernelLauncher]: ...
@overload
def kernel(
    function: None = None, **options: object
) -> Callable[[Callable[..., object]], Callable[..., KernelLauncher]]: ...
def kernel(function: Callable[..., object] | None = None, **options: object) -> Callable[..., Any]:
    """Make a function a kernel: calling it binds the arguments, and `.launch(grid=, block=)` runs it for every thread.

    Arguments are converted as by `jit`.

    >>> from tilewright.cute import arch
    >>> @kernel
    ... def show(n):
    ...     print(int(arch.block_idx()[0]), int(arch.thread_idx()[0]), n)
    >>> show(7).launch(grid=[2, 1, 1], block=[2, 1, 1])
    0 0 7
    0 1 7
    1 0 7
    1 1 7
    """
    if function is None:
        return lambda f: kernel(f)
    body = _Body(function)

    def call(*args: Any, **kwargs: Any) -> KernelLauncher:
        args, kwargs = body.convert(args, kwargs)
        args = tuple(_in_global_memory(value) for value in args)
        return KernelLauncher(body.function, args, {name: _in_global_memory(value) for name, value in kwargs.items()})

    return body.wrap(call)


class _Body:
    """A decorated function and what its annotations say about its parameters."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self._signature: Any = None

    def wrap(self, call: Callable[..., Any]) -> Callable[..., Any]:
        functools.update_wrapper(call, self.function)
        call._body = self  # type: ignore[attr-defined]
        return call

    def signature(self) -> Any:
        """The signature, with annotations that are text evaluated where they can be."""
        if self._signature is None:
            import inspect

            try:
                self._signature = inspect.signature(self.function, eval_str=True)
            except Exception:  # a name that only a type checker sees
                self._signature = inspect.signature(self.function)
        return self._signature

    def convert(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        bound = self.signature().bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            parameter = self.signature().parameters[name]
            where = f"{self.function.__qualname__}: argument {name}"
            if parameter.kind == parameter.VAR_POSITIONAL:
                bound.arguments[name] = tuple(_convert(x, parameter.annotation, where) for x in value)
            elif parameter.kind == parameter.VAR_KEYWORD:
                bound.arguments[name] = {key: _convert(x, parameter.annotation, where) for key, x in value.items()}
            else:
                bound.arguments[name] = _convert(value, parameter.annotation, where)
        return bound.args, bound.kwargs


def _is_constexpr(annotation: Any) -> bool:
    if isinstance(annotation, str):
        return annotation.split("[")[0].split(".")[-1] == "Constexpr"
    return annotation is Constexpr or getattr(annotation, "__origin__", None) is Constexpr


def _convert(value: Any, annotation: Any, where: str) -> Any:
    """An argument as the function sees it."""
    if isinstance(value, (RuntimeTensor, RuntimePointer)):
        return value.traced()
    if isinstance(annotation, str):
        annotation = getattr(numeric, annotation.split(".")[-1], None)
    if isinstance(annotation, type) and issubclass(annotation, Numeric):
        return annotation(value)
    if hasattr(value, "__dlpack__") and not isinstance(value, Tensor) and not _is_constexpr(annotation):
        return import_array(value, where).mark_layout_dynamic().traced()
    return value


def _in_global_memory(value: Any) -> Any:
    """A kernel's argument: what the host calls generic memory is the kernel's global memory."""
    if isinstance(value, Tensor) and isinstance(value.iterator, Pointer):
        return Tensor(value.iterator.in_global_memory(), value.layout)
    return value.in_global_memory() if isinstance(value, Pointer) else value


class _Compile:
    """`cute.compile(function, *args)`: a callable that runs the function; `cute.compile[options]` ignores the options.

    >>> @jit
    ... def scale(x, factor: Constexpr[int]):
    ...     return x * factor
    >>> compile(scale, 1, 10)(4)
    40
    """

    def __getitem__(self, options: object) -> _Compile:
        return self

    def __call__(
        self, function: Callable[..., object], *args: object, options: object = None, **kwargs: object
    ) -> Compiled:
        """A callable that runs a @jit function; arguments of Constexpr parameters are fixed now and left out later."""
        return Compiled(function, args, kwargs)


class Compiled:
    """What `cute.compile` returns."""

    def __init__(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        target = function if hasattr(function, "_body") else type(function).__call__
        body = getattr(target, "_body", None)
        if body is None:
            raise TypeError(f"compile: expected a function decorated with @cute.jit, but got {function!r}")
        self._function = function
        parameters = list(body.signature().parameters.values())
        if target is not function or getattr(function, "__self__", None) is not None:
            parameters = parameters[1:]  # self
        bound = body.signature().replace(parameters=parameters).bind(*args, **kwargs)
        self._fixed = {
            parameter.name: bound.arguments[parameter.name]
            for parameter in parameters
            if _is_constexpr(parameter.annotation) and parameter.name in bound.arguments
        }
        self._signature = bound.signature
        self._short = self._signature.replace(parameters=[p for p in parameters if p.name not in self._fixed])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        bound = self._short.bind(*args, **kwargs)
        values = {**bound.arguments, **self._fixed}
        whole = type(bound)(
            self._signature, {name: values[name] for name in self._signature.parameters if name in values}
        )
        return self._function(*whole.args, **whole.kwargs)


compile = _Compile()


class KernelLauncher:
    """A kernel with its arguments; `launch` runs it."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._function = function
        self._args = args
        self._kwargs = kwargs

    def launch(
        self,
        *,
        grid: SupportsIndex | Sequence[SupportsIndex] = (1, 1, 1),
        block: SupportsIndex | Sequence[SupportsIndex] = (1, 1, 1),
        cluster: SupportsIndex | Sequence[SupportsIndex] | None = None,
        smem: object = None,
        stream: object = None,
        **options: object,
    ) -> None:
        """Run the kernel for every thread of every block, one after another, x fastest, on the CPU.

        grid counts blocks and block threads, each in up to three dimensions. Clusters are not supported; shared memory,
        stream and other launch options have no meaning here and are ignored. Raises ValueError for sizes that no GPU
        takes.
        """
        blocks, threads = _dimensions("grid", grid), _dimensions("block", block)
        if cluster is not None and _dimensions("cluster", cluster) != (1, 1, 1):
            raise ValueError(f"launch: cluster={cluster}: clusters of blocks do not run on the CPU; leave it out")
        if threads[0] * threads[1] * threads[2] > 1024:
            raise ValueError(
                f"launch: block={block} has {threads[0] * threads[1] * threads[2]} threads; at most 1024 are allowed"
            )
        for block_idx in _indices(blocks):
            for thread_idx in _indices(threads):
                token = _place.set((thread_idx, block_idx, threads, blocks))
                try:
                    self._function(*self._args, **self._kwargs)
                finally:
                    _place.reset(token)


def _dimensions(name: str, extents: Any) -> tuple[int, int, int]:
    try:
        sizes = [operator.index(x) for x in (extents if isinstance(extents, (tuple, list)) else [extents])]
    except TypeError:
        raise TypeError(f"launch: {name}={extents!r}: expected up to three integers") from None
    if len(sizes) > 3 or any(x < 1 for x in sizes):
        raise ValueError(f"launch: {name}={extents}: expected up to three integers of at least 1")
    x, y, z = sizes + [1] * (3 - len(sizes))
    return x, y, z


def _indices(extents: tuple[int, int, int]) -> Iterator[tuple[int, int, int]]:
    nx, ny, nz = extents
    return ((x, y, z) for z in builtins.range(nz) for y in builtins.range(ny) for x in builtins.range(nx))


def range_(
    start: SupportsIndex,
    stop: SupportsIndex | None = None,
    step: SupportsIndex = 1,
    *,
    unroll: object = None,
    unroll_full: object = None,
    prefetch_stages: object = None,
    vectorize: object = None,
) -> Iterator[Int32]:
    """The integers of Python's range as dynamic ones; the hints to a compiler are ignored.

    >>> [str(i) for i in range_(2)], [int(i) for i in range_(1, 6, 2)]
    (['?', '?'], [1, 3, 5])
    """
    bounds = (0, start) if stop is None else (start, stop)
    return map(Int32, builtins.range(*map(operator.index, (*bounds, step))))


def range_constexpr(*args: SupportsIndex) -> builtins.range:
    """Python's range: static integers.

    >>> list(range_constexpr(3))
    [0, 1, 2]
    """
    return builtins.range(*map(operator.index, args))


def const_expr(expression: T) -> T:
    """The expression, marked as known at compile time."""
    return expression


def dynamic_expr(expression: T) -> T:
    """The expression, marked as known at run time."""
    return expression


@overload
def min_(*args: int) -> int: ...
@overload
def min_(*args: N) -> N: ...
@overload
def min_(*args: float | Numeric) -> float | Numeric: ...
def min_(*args: float | Numeric) -> float | Numeric:
    """The smallest of the arguments, dynamic if one of them is.

    >>> print(min_(3, 2), min_(Int32(3), 2))
    2 ?
    """
    least: float | Numeric = _extreme("min", builtins.min, args)
    return least


@overload
def max_(*args: int) -> int: ...
@overload
def max_(*args: N) -> N: ...
@overload
def max_(*args: float | Numeric) -> float | Numeric: ...
def max_(*args: float | Numeric) -> float | Numeric:
    """The largest of the arguments, dynamic if one of them is."""
    greatest: float | Numeric = _extreme("max", builtins.max, args)
    return greatest


def _extreme(name: str, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    if not args:
        raise TypeError(f"{name}: expected at least one argument")
    result = args[0]
    for x in args[1:]:
        numeric, other = (result, x) if isinstance(result, Numeric) else (x, result)
        result = numeric._binary(other, function, name) if isinstance(numeric, Numeric) else function(result, x)
    return result


def and_(*args: object) -> bool:
    """Whether all arguments are true."""
    return all(args)


def or_(*args: object) -> bool:
    """Whether any argument is true."""
    return any(args)


def not_(x: object) -> bool:
    """Whether the argument is false."""
    return not x

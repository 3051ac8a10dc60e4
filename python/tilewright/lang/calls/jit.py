"""@cute.jit, @cute.kernel, launches, cute.compile: a function is traced for a kind of arguments, and run from memory.

A program is traced once for each kind of arguments (types, static parts of layouts, Constexpr values): not for their
pointers, nor for dynamic sizes. It runs where its tensors lie.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, overload

from tilewright import _core
from tilewright._boundary import shown
from tilewright._traceback import short, short_trace
from tilewright.lang import debug
from tilewright.lang.arguments import Form, numeric_annotation
from tilewright.lang.calls.compiled import Compiled
from tilewright.lang.calls.decorated import Decorated, Traced, called, stepped
from tilewright.lang.calls.kernel import Kernel
from tilewright.lang.calls.watch import has_changed
from tilewright.lang.options import options_of
from tilewright.lang.run import run
from tilewright.lang.trace import Trace, current, leaves_of

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Jit", "compile", "jit", "kernel"]


class Jit(Decorated, _core.cuda.Launcher):
    """A function of the host; it launches kernels. A call on a GPU of a kind that was there before runs no Python."""

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        Decorated.__init__(self, function, options)
        code = function.__code__
        self.parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    @short_trace
    def _slow(self, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """The result of a call, and what repeats its launches."""
        if current() is not None:
            return self._inlined(args, kwargs), None
        if debug.is_stepping():
            return self.debug(*args, **kwargs), None
        if "no_cache" in kwargs and "no_cache" not in self.signature.parameters:
            if kwargs.pop("no_cache"):
                self.forget()
            return self._slow(*args, **kwargs)[0], None
        bound = self.bind(args, kwargs)
        bound.apply_defaults()
        if self.watched and has_changed(self.watched):
            self.forget()
        forms, values = self.forms_and_values(bound)
        key = tuple([form.key() for form in forms.values()])
        traced = self._programs.get(key)
        if traced is None:
            traced = self._programs[key] = self.trace(forms)
        result, prepared = run(traced, leaves_of([(form, values[name]) for name, form in forms.items()]))
        # C++ would compare where arrays lie that are in the program, not what they hold.
        return result, None if traced.holds_arrays else prepared

    @short
    def __getitem__(self, sizes: Any) -> Any:
        raise TypeError(
            f"{self.name}[..]: a @cute.jit function is called as it is, {self.name}(..), and launches its kernels: "
            "kernel(..).launch(grid=.., block=..)"
        )

    def forget(self) -> None:
        super().forget()
        self.clear()

    def debug(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function as it is written, and its kernels with a Python thread for each thread of a block.

        `breakpoint()`, `print` and debuggers work in both. The tensors have to lie on the CPU. TILEWRIGHT_DEBUG=1 in
        the environment makes all calls do this.
        """
        with debug.stepping():
            bound = stepped(self.signature, self.signature.bind(*args, **kwargs), self.name)
            return self.function(*bound.args, **bound.kwargs)

    def _inlined(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Part of the function that is traced; a parameter annotated with a numeric type gets that type."""
        self._note_use()
        bound = self.bind(args, kwargs)
        for name, value in bound.arguments.items():
            dtype = numeric_annotation(self.signature.parameters[name].annotation)
            if dtype is not None and not isinstance(value, dtype):
                bound.arguments[name] = dtype(value)
        return self.body(*bound.args, **bound.kwargs)

    def trace(self, forms: dict[str, Form], parameters: tuple[str, ...] | None = None) -> Traced:
        """The program for arguments of these forms. `parameters` are what calls give, by default all."""
        names = list(forms)
        if self.watched and has_changed(self.watched):
            self.forget()
        with Trace(self) as trace:
            host, returned = trace.function(
                self.name, False, forms.values(), lambda values: called(self.body, self.signature, names, values)
            )
            given = self.parameters if parameters is None else parameters
            self._watch(trace, forms)
            return Traced(trace.builder.finish(), host, forms, returned, given, trace.events, trace.stream)


class _Compile:
    """`cute.compile(function, *args)`: the compiled function for these arguments, without running it.

    Constexpr arguments are fixed and left out of calls. `cute.compile[KeepPTX, OptLevel(1)](..)` has options in
    brackets, `options="--opt-level 1"` as text. Raises TypeError for a function without @cute.jit and for arguments
    that it does not take, ValueError for an unknown option. Source: CuTeDSL `cute.compile`.

    >>> from tilewright import Constexpr, Int32
    >>> @jit
    ... def scale(x: Int32, factor: Constexpr[int]):
    ...     return x * factor
    >>> int(compile(scale, 1, 10)(4))
    40
    """

    def __init__(self, given: Any = ()) -> None:
        self._given = given

    def __getitem__(self, options: Any) -> _Compile:
        return _Compile(options)

    @short_trace
    def __call__(
        self, function: Callable[..., object], *args: object, options: str | None = None, **kwargs: object
    ) -> Compiled:
        chosen = options_of(self._given, options)
        given = len(args)
        if isinstance(function, functools.partial) and isinstance(function.func, Jit):
            args, function = (*function.args, *args), function.func
        while not isinstance(function, Jit) and hasattr(function, "__wrapped__"):
            function = function.__wrapped__  # what a decorator such as autotune_jit is around
        if not isinstance(function, Jit):
            call = type(function).__call__ if callable(function) else None
            if not isinstance(call, Jit):
                raise TypeError(f"compile: expected a function decorated with @cute.jit, but got {shown(function)}")
            args, function = (function, *args), call
        return Compiled.of(function, function.bind(args, kwargs), chosen, len(args) - given)


compile = _Compile()


@overload
def jit(function: Callable[..., object], **options: object) -> Jit: ...
@overload
def jit(function: None = None, **options: object) -> Callable[[Callable[..., object]], Jit]: ...
def jit(
    function: Callable[..., object] | None = None, **options: object
) -> Jit | Callable[[Callable[..., object]], Jit]:
    """A function of the host that launches kernels: traced for each kind of arguments, run from memory after.

    Arrays with __dlpack__ become tensors with a dynamic layout, as if marked by mark_layout_dynamic; numbers become
    parameters of the program, unless they are `Constexpr`. What it returns is given to Python. A call with
    no_cache=True traces anew, so that it sees what has changed inside of objects.

    Raises TypeError for what is no function of Python, such as a class. A call raises TypeError for arguments that the
    function does not take, and passes on what its body raises. Source: CuTeDSL `cute.jit`.

    >>> from tilewright import Int32
    >>> @jit
    ... def double(n: Int32):
    ...     return n * 2
    >>> int(double(21))
    42
    """
    return Jit(function, options) if function is not None else lambda f: Jit(f, options)


@overload
def kernel(function: Callable[..., object], **options: object) -> Kernel: ...
@overload
def kernel(function: None = None, **options: object) -> Callable[[Callable[..., object]], Kernel]: ...
def kernel(
    function: Callable[..., object] | None = None, **options: object
) -> Kernel | Callable[[Callable[..., object]], Kernel]:
    """A kernel: calling it binds the arguments, and `.launch(grid=, block=)` runs it for every thread.

    Raises TypeError for what is no function of Python, such as a class, ValueError for a grid or block below 1; on the
    CPU KernelError for races, accesses out of bounds and the like. Source: CuTeDSL `cute.kernel`.

    >>> from tilewright import cute
    >>> @kernel
    ... def show(n):
    ...     cute.printf("{} {} {}", cute.arch.block_idx()[0], cute.arch.thread_idx()[0], n)
    >>> show(7).launch(grid=[2, 1, 1], block=[2, 1, 1])
    0 0 7
    0 1 7
    1 0 7
    1 1 7
    """
    return Kernel(function, options) if function is not None else lambda f: Kernel(f, options)

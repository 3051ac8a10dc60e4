"""@cute.jit, @cute.kernel, launches, cute.compile: a function is traced for a kind of arguments, and run from memory.

A program is traced once for each kind of arguments (types, static parts of layouts, Constexpr values): not for their
pointers, nor for dynamic sizes. It runs where its tensors lie.
"""

from __future__ import annotations

import functools
import inspect
import warnings
import weakref
from math import prod
from typing import TYPE_CHECKING, Any, overload

from tilewright import _core
from tilewright._boundary import shown
from tilewright._core import program
from tilewright._names import did_you_mean
from tilewright._registry import Lazy
from tilewright._traceback import short, short_trace
from tilewright.cute.runtime import import_array
from tilewright.cute.tensors.pointer import Pointer
from tilewright.cute.tensors.runtime_tensor import RuntimePointer, RuntimeTensor
from tilewright.cute.tensors.tensor import Tensor
from tilewright.lang import debug
from tilewright.lang.arguments import (
    Form,
    Leaves,
    StreamForm,
    array_form,
    form_of,
    is_constexpr,
    numeric_annotation,
    signature_of,
)
from tilewright.lang.carry import register_wrapper
from tilewright.lang.gpu import arch_of, kernels_of
from tilewright.lang.options import Options, options_of
from tilewright.lang.rewrite import rewrite
from tilewright.lang.run import run
from tilewright.lang.trace import Trace, as_symbols, captured_stream, current, dimension, event_number, leaves_of
from tilewright.numeric import Numeric

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Hashable, Sequence
    from pathlib import Path

    from tilewright.lang.compile import CompiledKernel

__all__ = ["Compiled", "KernelCall", "compile", "jit", "kernel"]


class Traced:
    """A program with the forms of its host function's arguments, by the names of their parameters, and of its result.

    `parameters` are the names of what calls give, in order. `compiled` has its kernels by architecture, `loaded` its
    host function by device, `addresses` which of its parameters is the address of which argument, `events` the names of
    the events that its launches record.
    """

    def __init__(
        self, program: Any, host: int, forms: dict[str, Form], returned: Any, parameters: tuple[str, ...],
        events: Sequence[str] = (), stream: int | None = None,
    ) -> None:  # fmt: skip
        self.program, self.host, self.forms, self.returned, self.stream = program, host, forms, returned, stream
        self.parameters, self.events = parameters, events
        self.compiled: dict[str, dict[int, CompiledKernel]] = {}
        self.loaded: dict[int, _core.cuda.HostFunction] = {}
        self.addresses: list[tuple[int, int]] = []


_NO_TENSORS = (bool, int, float, complex, str, bytes, tuple, list, dict, set, Numeric)
_NEVER_RUNS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


# The decorated functions of modules and notebooks, by module and name. Who defines one again means the new one wherever
# the name is used, so what was traced with the old one is traced again.
_defined: weakref.WeakValueDictionary[tuple[str, str], _Function] = weakref.WeakValueDictionary()


class _Function:
    """A decorated function: its signature, and its text rewritten for tracing."""

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        for name in functools.WRAPPER_ASSIGNMENTS:
            setattr(self, name, getattr(function, name, None))
        code = getattr(function, "__code__", None)
        if code is None:
            raise TypeError(_undecorated(type(self).__name__.lower(), function))
        if code.co_flags & _NEVER_RUNS:
            raise TypeError(
                f"{function.__name__}: calling it runs nothing, for it is async or has a `yield`; a function under "
                "@cute.jit or @cute.kernel returns, and yields in a function inside"
            )
        self.__wrapped__ = function
        self.function: Callable[..., Any] = function
        self.options = options
        self._programs: dict[Hashable, Traced] = {}
        self._users: weakref.WeakSet[_Function] = weakref.WeakSet()  # whose programs have this function in them
        if "<locals>" not in function.__qualname__:
            place = (function.__module__, function.__qualname__)
            before = _defined.get(place)
            for user in tuple(before._users if before else ()):
                user.forget()
            _defined[place] = self

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> inspect.BoundArguments:
        """The arguments by the names of their parameters; TypeError where they do not fit."""
        try:
            return self.signature.bind(*args, **kwargs)
        except TypeError as error:
            given = [type(x).__name__ for x in args] + [f"{name}={type(x).__name__}" for name, x in kwargs.items()]
            parameters = ", ".join(self.signature.parameters)
            raise TypeError(f"{self.name}({parameters}): {error}; given are ({', '.join(given)})") from None

    def forget(self) -> None:
        """Trace anew at the next call."""
        self._programs.clear()

    @functools.cached_property
    def signature(self) -> inspect.Signature:
        return signature_of(self.function)

    @functools.cached_property
    def _arrays(self) -> dict[str, str]:
        """The parameters where an array of another library is a tensor with a dynamic layout: what errors call them."""
        return {
            name: f"{self.name}: argument {name}"
            for name, parameter in self.signature.parameters.items()
            if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
            and (parameter.annotation is parameter.empty or parameter.annotation is Tensor)
        }

    @functools.cached_property
    def body(self) -> Callable[..., Any]:
        if self.options.get("preprocessor") is False:
            return self.function
        rewritten: Callable[..., Any] = rewrite(self.function)  # type: ignore[arg-type]
        return rewritten

    @property
    def name(self) -> str:
        return str(self.options.get("name") or self.function.__name__)

    def set_name_prefix(self, prefix: str, **options: object) -> None:
        """Name it `prefix_name`: a kernel's symbol, and the function in the program's text."""
        self.options["name"] = f"{prefix}_{self.function.__name__}"

    def _note_use(self) -> None:
        """What is traced now has this function in it."""
        trace = current()
        if trace is not None and trace.owner is not None:
            self._users.add(trace.owner)

    def forms(self, bound: inspect.BoundArguments, in_kernel: bool = False) -> dict[str, Form]:
        """The forms of arguments, by parameter; *args and **kwargs are one each."""
        return self.forms_and_values(bound, in_kernel)[0]

    def forms_and_values(
        self, bound: inspect.BoundArguments, in_kernel: bool = False
    ) -> tuple[dict[str, Form], dict[str, Any]]:
        """The forms of arguments, and the arguments: arrays of other libraries as tensors."""
        forms: dict[str, Form] = {}
        values = dict(bound.arguments)
        for name, value in bound.arguments.items():
            where = self._arrays.get(name)
            if where is not None and hasattr(value, "__dlpack__") and not isinstance(value, Tensor):
                values[name] = import_array(value, where)
                forms[name] = array_form(values[name], name, in_kernel)
                continue
            parameter = self.signature.parameters[name]
            annotation, where = parameter.annotation, f"{self.name}: argument {name}"
            if annotation is Tensor and isinstance(value, _NO_TENSORS) and parameter.kind != parameter.VAR_POSITIONAL:
                raise TypeError(
                    f"{where}: expected a tensor, or an array with __dlpack__ such as NumPy's and torch's, but got "
                    f"{shown(value)}"
                )
            if parameter.kind == parameter.VAR_POSITIONAL:
                annotation = tuple.__class_getitem__((annotation,) * len(value))
            elif parameter.kind == parameter.VAR_KEYWORD:
                annotation = dict.fromkeys(value, annotation)
            forms[name] = form_of(value, annotation, name, in_kernel, where=where)
        return forms, values

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        bound: Any = self
        return self if instance is None else functools.partial(bound, instance)


def _undecorated(decorator: str, function: Any) -> str:
    """Why something cannot be decorated."""
    if isinstance(function, _Function):
        fix = "a kernel is launched by a @cute.jit function of its own, and what both call is under @cute.jit alone"
        return f"{decorator}: {function.name} is under @cute.{type(function).__name__.lower()} already; {fix}"
    name, kind = getattr(function, "__name__", shown(function)), type(function).__name__
    if isinstance(function, type):
        return f"{decorator}: {name} is a class; decorate its methods"
    return (
        f"{decorator}: {name} is no function of Python but a {kind}; put @cute.{decorator} next to the `def`, below it"
    )


def _called(function: Callable[..., Any], signature: inspect.Signature, names: list[str], values: list[Any]) -> Any:
    """Call a function with values for its parameters."""
    bound = inspect.BoundArguments(signature, dict(zip(names, values, strict=True)))
    return function(*bound.args, **bound.kwargs)


register_wrapper(_Function, lambda wrapper: wrapper.function)


class Jit(_Function, _core.cuda.Launcher):
    """A function of the host; it launches kernels. A call on a GPU of a kind that was there before runs no Python."""

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        _Function.__init__(self, function, options)
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
        forms, values = self.forms_and_values(bound)
        key = tuple([form.key() for form in forms.values()])
        traced = self._programs.get(key)
        if traced is None:
            traced = self._programs[key] = self.trace(forms)
        return run(traced, leaves_of([(form, values[name]) for name, form in forms.items()]))

    def forget(self) -> None:
        super().forget()
        self.clear()

    def debug(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function as it is written, and its kernels with a Python thread for each thread of a block.

        `breakpoint()`, `print` and debuggers work in both. The tensors have to lie on the CPU. TILEWRIGHT_DEBUG=1 in
        the environment makes all calls do this.
        """
        with debug.stepping():
            bound = _stepped(self.signature, self.signature.bind(*args, **kwargs), self.name)
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
        with Trace(self) as trace:
            host, returned = trace.function(
                self.name, False, forms.values(), lambda values: _called(self.body, self.signature, names, values)
            )
            given = self.parameters if parameters is None else parameters
            return Traced(trace.builder.finish(), host, forms, returned, given, trace.events, trace.stream)


class Kernel(_Function):
    """A function of a GPU's thread: calling it binds its arguments."""

    @short
    def __call__(self, *args: Any, **kwargs: Any) -> KernelCall:
        trace = current()
        if trace is not None and trace.in_kernel:
            raise RuntimeError(f"{self.name}: a kernel does not call a kernel; decorate what both call with @cute.jit")
        bound = self.bind(args, kwargs)
        bound.apply_defaults()
        return KernelCall(self, bound)

    @short
    def __getitem__(self, sizes: Any) -> Any:
        raise TypeError(f"{self.name}[..]: the sizes follow the arguments: {self.name}(..).launch(grid=.., block=..)")


class KernelCall:
    """A kernel with its arguments; `launch` runs it."""

    def __init__(self, kernel: Kernel, bound: inspect.BoundArguments) -> None:
        self._kernel, self._bound = kernel, bound
        self._is_used = False

    def __del__(self) -> None:
        if not getattr(self, "_is_used", True):
            name = self._kernel.name
            warnings.warn(
                f"{name}(..) binds the kernel's arguments and runs nothing: write {name}(..).launch(grid=.., block=..)",
                RuntimeWarning,
                stacklevel=2,
            )

    @short_trace
    def launch(
        self,
        *sizes_by_place: Any,
        grid: Any = (1, 1, 1),
        block: Any = (1, 1, 1),
        cluster: Any = None,
        smem: int | None = None,
        stream: Any = None,
        min_blocks_per_mp: int = 0,
        cooperative: bool = False,
        use_pdl: bool = False,
        launch_completion_event: Any = None,
        launch_completion_event_flags: int = 0,
        programmatic_event: Any = None,
        programmatic_event_flags: int = 0,
        programmatic_event_trigger_at_block_start: int = 0,
        **unknown: Any,
    ) -> None:
        """Run the kernel for every thread of every block.

        grid counts blocks, block threads and cluster blocks, each in up to three dimensions. smem is the dynamic
        shared memory in bytes: by default what the kernel allocates. Inside of a @cute.jit function this is part of its
        program; at the prompt the kernel runs now, where its tensors lie. On a GPU launch_completion_event is recorded
        when all blocks have begun, programmatic_event when all have called griddepcontrol_launch_dependents (or have
        begun, with .._trigger_at_block_start); both are CUDA events without timing, parameters of the function.
        """
        self._is_used = True
        if sizes_by_place:
            raise TypeError("launch: the sizes are keywords: .launch(grid=(1, 1, 1), block=(32, 1, 1))")
        for name in unknown:
            known = inspect.signature(KernelCall.launch).parameters
            raise TypeError(f"launch: there is no option {name}{did_you_mean(name, known)}")
        sizes = tuple(_three(name, x) for name, x in (("grid", grid), ("block", block), ("cluster", cluster or 1)))
        if debug.is_stepping():
            self._step(sizes)
            return
        if all(isinstance(x, int) for x in sizes[1]) and prod(sizes[1]) > 1024:
            raise ValueError(f"launch: block={block} has {prod(sizes[1])} threads; at most 1024 are allowed")
        facts: tuple[int, ...] = (int(min_blocks_per_mp), int(bool(cooperative)), int(bool(use_pdl)))
        trace = current()
        if trace is not None:
            trace.stream = trace.stream or captured_stream(stream)
            completion = event_number(trace, launch_completion_event, "launch_completion_event")
            programmatic = event_number(trace, programmatic_event, "programmatic_event")
            if completion or programmatic:
                facts += (completion, int(launch_completion_event_flags), programmatic, int(programmatic_event_flags))
                facts += (int(programmatic_event_trigger_at_block_start),)
            self._add(trace, sizes, smem, facts)
            return
        if launch_completion_event is not None or programmatic_event is not None:
            raise ValueError("launch: an event is a parameter of the @cute.jit function that launches; here is none")
        kernel, bound = self._kernel, self._bound
        forms, values = kernel.forms_and_values(bound)
        names = list(forms)
        fixed = (sizes, smem, facts)
        key = (fixed, *[form.key() for form in forms.values()])
        traced = kernel._programs.get(key)
        if traced is None:
            with Trace(kernel) as made:

                def body(values: list[Any]) -> None:
                    again = inspect.BoundArguments(bound.signature, dict(zip(names, values, strict=True)))
                    KernelCall(kernel, again)._add(made, sizes, smem, facts)

                host, returned = made.function(f"launch_{kernel.name}", False, forms.values(), body)
                traced = Traced(made.builder.finish(), host, forms, returned, tuple(names))
            kernel._programs[key] = traced
        leaves = leaves_of([(form, values[name]) for name, form in forms.items()])
        if stream is not None:
            StreamForm("stream").read(stream, leaves)
        run(traced, leaves)

    @short
    def debug(self, *, grid: Any = (1, 1, 1), block: Any = (1, 1, 1), **options: Any) -> None:
        """Run the kernel as it is written, with a Python thread for each thread of a block; see `Jit.debug`."""
        self._is_used = True
        self._step((_three("grid", grid), _three("block", block)))

    def _step(self, sizes: tuple[Any, ...]) -> None:
        kernel = self._kernel
        bound = _stepped(kernel.signature, self._bound, kernel.name, in_kernel=True)
        grid, block = (tuple(int(x) for x in three) for three in sizes[:2])
        if prod(block) > 1024:
            raise ValueError(f"launch: block={block} has {prod(block)} threads; at most 1024 are allowed")
        with debug.stepping():
            debug.run_blocks(lambda: kernel.function(*bound.args, **bound.kwargs), grid, block)  # type: ignore[arg-type]

    def _add(self, trace: Trace, sizes: tuple[Any, ...], smem: Any, facts: tuple[int, ...]) -> None:
        """Trace the kernel and add its launch to the host function."""
        self._is_used = True
        self._kernel._note_use()
        kernel, bound = self._kernel, self._bound
        forms = kernel.forms(bound, in_kernel=True)
        names = list(forms)
        leaves = leaves_of((form, bound.arguments[name]) for name, form in forms.items())
        types = [type_ for form in forms.values() for _, type_ in form.parameters()]
        block = [x if isinstance(x, int) else 0 for x in sizes[1]]

        allocated = 0

        def body(values: list[Any]) -> Any:
            nonlocal allocated
            returned = _called(kernel.body, kernel.signature, names, values)
            allocated = trace.shared.bytes
            return returned

        index, _ = trace.function(kernel.name, True, forms.values(), body, threads=block, min_blocks=facts[0])
        if isinstance(smem, int) and smem < allocated:
            warnings.warn(
                f"launch: smem={smem} bytes of shared memory, but {kernel.name} allocates {allocated}, which it gets",
                stacklevel=3,
            )
        operands = [dimension(trace, x, name) for name, three in zip(_SIZES, sizes, strict=True) for x in three]
        operands.append(dimension(trace, 0 if smem is None else smem, "smem"))
        trace.op("launch", operands + as_symbols(trace, leaves, types), ints=[index, *facts])


def _stepped(
    signature: inspect.Signature, bound: inspect.BoundArguments, name: str, in_kernel: bool = False
) -> inspect.BoundArguments:
    """The arguments as a function that Python steps through sees them."""

    def seen(value: Any, annotation: Any, where: str) -> Any:
        dtype = numeric_annotation(annotation)
        if isinstance(value, (RuntimeTensor, RuntimePointer)):
            value = value.traced()
        elif dtype is not None:
            return dtype(value)
        elif hasattr(value, "__dlpack__") and not isinstance(value, Tensor) and not is_constexpr(annotation):
            value = import_array(value, where).mark_layout_dynamic().traced()
        if in_kernel and isinstance(value, Tensor) and isinstance(value.iterator, Pointer):
            return Tensor(value.iterator.in_global_memory(), value.layout)
        return value.in_global_memory() if in_kernel and isinstance(value, Pointer) else value

    converted: dict[str, Any] = {}
    for key, value in bound.arguments.items():
        parameter = signature.parameters[key]
        where = f"{name}: argument {key}"
        if parameter.kind == parameter.VAR_POSITIONAL:
            converted[key] = tuple(seen(x, parameter.annotation, where) for x in value)
        elif parameter.kind == parameter.VAR_KEYWORD:
            converted[key] = {k: seen(x, parameter.annotation, where) for k, x in value.items()}
        else:
            converted[key] = seen(value, parameter.annotation, where)
    return inspect.BoundArguments(signature, converted)


_SIZES = ("grid", "block", "cluster")


def _three(name: str, extents: Any) -> tuple[Any, Any, Any]:
    """Three extents; static ones are Python integers."""
    sizes = list(extents) if isinstance(extents, (tuple, list)) else [extents]
    if not 1 <= len(sizes) <= 3:
        raise ValueError(f"launch: {name}={extents}: expected up to three integers of at least 1")
    for i, x in enumerate(sizes):
        if isinstance(getattr(x, "_value", None), program.Symbol):
            continue
        try:
            sizes[i] = int(x.__index__())
        except AttributeError:
            raise TypeError(f"launch: {name}={extents!r}: expected up to three integers") from None
        if sizes[i] < 1:
            raise ValueError(f"launch: {name}={extents}: expected up to three integers of at least 1")
    x, y, z = sizes + [1] * (3 - len(sizes))
    return x, y, z


class Compiled(_core.cuda.Launcher):
    """What `cute.compile` returns: a callable that runs the program it has, for arguments of the kinds it was made for.

    Constexpr arguments are left out of a call, as are arguments that have defaults.
    """

    def __init__(
        self, name: str, doc: str | None, signature: inspect.Signature, fixed: dict[str, Any], traced: Traced,
        options: Options,
    ) -> None:  # fmt: skip
        """`signature` is that of calls; `fixed` has the values of the parameters that calls leave out."""
        self.__name__, self.__doc__ = name, doc
        self.signature, self.fixed, self.traced, self.options = signature, fixed, traced, options
        self.parameters = tuple(signature.parameters)

    @classmethod
    def of(cls, function: Jit, bound: inspect.BoundArguments, options: Options, owners: int) -> Compiled:
        """A function compiled for arguments.

        `owners`: how many of the first ones are fixed, since they are the objects whose method this is.
        """
        bound.apply_defaults()
        parameters = list(function.signature.parameters.values())
        fixed = {
            p.name: bound.arguments[p.name]
            for i, p in enumerate(parameters)
            if i < owners or (is_constexpr(p.annotation) and p.name in bound.arguments)
        }
        signature = function.signature.replace(parameters=[p for p in parameters if p.name not in fixed])
        traced = function.trace(function.forms(bound), tuple(signature.parameters))
        return cls(function.function.__name__, function.function.__doc__, signature, fixed, traced, options)

    @property
    def program(self) -> Any:
        """The program as text is `str(compiled.program)`."""
        return self.traced.program

    @property
    def kernels(self) -> tuple[CompiledKernel, ...]:
        """Its kernels for the architecture of the options, by default the first device's, or sm_90a without one."""
        return tuple(self.kernels_by_index.values())

    @property
    def kernels_by_index(self) -> dict[int, CompiledKernel]:
        """The same, by their places among the program's functions."""
        has_device = _core.cuda.driver_path() is not None and _core.cuda.device_count() > 0
        arch = self.options.gpu_arch or (arch_of(0) if has_device else "sm_90a")
        return kernels_of(self.traced, arch)

    @property
    def source(self) -> str:
        """The CUDA C++ of its kernels."""
        return "\n".join(kernel.source for kernel in self.kernels)

    @property
    def ptx(self) -> str:
        """The PTX of its kernels; compiling needs no GPU."""
        return "\n".join(kernel.ptx for kernel in self.kernels)

    @property
    def sass(self) -> str:
        """The machine code of its kernels as text."""
        return "\n".join(kernel.sass for kernel in self.kernels)

    @property
    def registers(self) -> int:
        """Registers of a thread, of the kernel that takes most."""
        return max(kernel.registers for kernel in self.kernels)

    @property
    def spills(self) -> int:
        """Bytes that a thread of any kernel stores and loads for lack of registers."""
        return sum(kernel.spills for kernel in self.kernels)

    @property
    def __ptx__(self) -> str:
        return self.ptx

    @property
    def __sass__(self) -> str:
        return self.sass

    @property
    def __cubin__(self) -> bytes:
        return self.kernels[0].cubin

    @property
    def __mlir__(self) -> str:
        return str(self.program)

    def __repr__(self) -> str:
        return f"<compiled {self.__name__}{self.signature}>"

    @short
    def export_to_c(
        self,
        file_path: str | os.PathLike[str],
        file_name: str | None = None,
        function_prefix: str | None = None,
        *,
        function_name: str | None = None,
    ) -> tuple[Path, Path]:
        """Write a C header and an object, which link into a program without Python; their paths.

        file_path is a folder where file_name is given, or else the object's path; function_prefix or function_name,
        by default the function's own name, is what the names in C begin with. The header says how to call it. It
        needs a C compiler. `cute.runtime.load_module` loads the object in Python.

        Raises TypeError for arguments that C cannot pass, RuntimeError without a C compiler.
        Source: CuTeDSL, the compiled function's `export_to_c`.
        """
        return _export_to_c(self, file_path, file_name, function_prefix or function_name)  # type: ignore[no-any-return]

    @functools.cached_property
    def _tvm_function(self) -> Any:
        return _tvm_function(self)

    def __tvm_ffi_object__(self) -> Any:
        """The function where TVM's FFI is given it: called without Python, as what `--enable-tvm-ffi` exports."""
        return self._tvm_function

    @short
    def _slow(self, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        return run(self.traced, self.leaves(args, kwargs))

    def leaves(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Leaves:
        """What the arguments of a call put in for the program's parameters."""
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        values = {**bound.arguments, **self.fixed}
        return leaves_of((form, values[name]) for name, form in self.traced.forms.items())


_export_to_c = Lazy("tilewright.lang.export.write:export_to_c")
_tvm_function = Lazy("tilewright.lang.export.write:tvm_function")


class _Compile:
    """`cute.compile(function, *args)`: the compiled function for these arguments, without running it.

    Constexpr arguments are fixed and left out of calls. `cute.compile[KeepPTX, OptLevel(1)](..)` has options in
    brackets, `options="--opt-level 1"` as text.

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
        return Compiled.of(function, function.signature.bind(*args, **kwargs), chosen, len(args) - given)


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
    no_cache=True traces anew, so that it sees globals that have changed.

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

"""Decorated functions: their signatures, their texts rewritten for tracing, and what was traced of them."""

from __future__ import annotations

import functools
import inspect
import types
import weakref
from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright._boundary import shown
from tilewright.cute.runtime import import_array
from tilewright.cute.tensors.pointer import Pointer
from tilewright.cute.tensors.runtime_tensor import RuntimePointer, RuntimeTensor
from tilewright.cute.tensors.tensor import Tensor
from tilewright.lang.arguments import (
    Form,
    Static,
    array_form,
    form_of,
    is_constexpr,
    numeric_annotation,
    plain_number,
    signature_of,
)
from tilewright.lang.calls.watch import watched
from tilewright.lang.carry import register_wrapper
from tilewright.lang.rewrite import rewrite
from tilewright.lang.trace import current
from tilewright.numeric import Numeric

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from tilewright.lang.compile import CompiledKernel
    from tilewright.lang.trace import Trace

__all__ = ["Decorated", "Traced", "called", "stepped"]


class Traced:
    """A program with the forms of its host function's arguments, by the names of their parameters, and of its result.

    `parameters` are the names of what calls give, in order. `compiled` has its kernels by architecture, `loaded` its
    host function by device, `addresses` which of its parameters is the address of which argument, `events` the names of
    the events that its launches record, `nvrtc_options` what NVRTC is told beside what it is told of every program.
    `holds_arrays`: whether elements of arrays are fixed in it.
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
        self.holds_arrays = any(isinstance(form, Static) and form.holds_arrays for form in forms.values())
        self.nvrtc_options: tuple[str, ...] = ()


_NO_TENSORS = (bool, int, float, complex, str, bytes, tuple, list, dict, set, Numeric)
_NEVER_RUNS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


# The decorated functions of modules and notebooks, by module and name. Who defines one again means the new one wherever
# the name is used, so what was traced with the old one is traced again.
_defined: weakref.WeakValueDictionary[tuple[str, str], Decorated] = weakref.WeakValueDictionary()


class Decorated:
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
        self.watched: tuple[Any, ...] | None = None  # names whose values are in the programs
        self._programs: dict[Hashable, Traced] = {}
        self._users: weakref.WeakSet[Decorated] = weakref.WeakSet()  # whose programs have this function in them
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
        self.watched = None

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
            trace.used.append(self)

    def _watch(self, trace: Trace, forms: dict[str, Form]) -> None:
        """Remember the values of the names that the functions of a trace read, and those in its Constexpr values."""
        functions = [one.function for one in trace.used]
        fixed = [form.value for form in forms.values() if isinstance(form, Static)]
        functions += [value for value in fixed if isinstance(value, types.FunctionType)]
        before = self.watched or ()
        self.watched = before + watched(functions)

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
            is_no_tensor = isinstance(plain_number(value), _NO_TENSORS)
            if annotation is Tensor and is_no_tensor and parameter.kind != parameter.VAR_POSITIONAL:
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
    if isinstance(function, Decorated):
        fix = "a kernel is launched by a @cute.jit function of its own, and what both call is under @cute.jit alone"
        return f"{decorator}: {function.name} is under @cute.{type(function).__name__.lower()} already; {fix}"
    name, kind = getattr(function, "__name__", shown(function)), type(function).__name__
    if isinstance(function, type):
        return f"{decorator}: {name} is a class; decorate its methods"
    return (
        f"{decorator}: {name} is no function of Python but a {kind}; put @cute.{decorator} next to the `def`, below it"
    )


def called(function: Callable[..., Any], signature: inspect.Signature, names: list[str], values: list[Any]) -> Any:
    """Call a function with values for its parameters."""
    bound = inspect.BoundArguments(signature, dict(zip(names, values, strict=True)))
    return function(*bound.args, **bound.kwargs)


register_wrapper(Decorated, lambda wrapper: wrapper.function)


def stepped(
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
            value = import_array(value, where)._marked(is_argument=True).traced()
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

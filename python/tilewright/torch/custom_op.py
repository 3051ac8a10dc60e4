"""Operations of torch made of compiled kernels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from tilewright._core import program
from tilewright.lang.arguments import Number, TensorForm
from tilewright.lang.calls.compiled import Compiled
from tilewright.numeric import Boolean
from tilewright.numeric.integers import Integer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch.library import CustomOpDef

__all__ = ["custom_op"]

FUNCTION = "tilewright.torch.custom_op"


def custom_op(name: str, compiled: Compiled, *, mutates: Sequence[str]) -> CustomOpDef:
    """Make a compiled function the operation `torch.ops.NAMESPACE.NAME` of torch.

    It writes the tensors named in `mutates` and returns nothing, launches on torch's current stream, and is traced by
    torch.compile (a fake kernel does nothing) and captured into CUDA graphs. Arguments: tensors, and numbers of the
    parameters' types.

    torch.compile would be wrong about a tensor that is written and `mutates` lacks, so the kernels' writes are looked
    for. What inline PTX writes, and by addresses that a kernel keeps in memory or in register tensors, is not seen:
    torch.library.opcheck(op, arguments) finds it.

    Raises TypeError for a name that is no str, for a function that cute.compile did not give, and for a `mutates` that
    is no list of names; ValueError for a name without a namespace, for names in `mutates` that are no tensors of the
    function, for a tensor that the kernels write and `mutates` lacks, and for a parameter that is neither a tensor nor
    a number. Source: torch `torch.library.custom_op`.

    >>> import torch
    >>> from tilewright import Int32, cute
    >>> @cute.kernel
    ... def double(x: cute.Tensor):
    ...     i, _, _ = cute.arch.thread_idx()
    ...     x[i] = x[i] * 2
    >>> @cute.jit
    ... def launch(x: cute.Tensor):
    ...     double(x).launch(block=[cute.size(x), 1, 1])
    >>> op = custom_op("example::double", cute.compile(launch, torch.ones(4)), mutates=["x"])
    >>> x = torch.arange(4.0)
    >>> op(x)
    >>> x
    tensor([0., 2., 4., 6.])
    """
    if not isinstance(name, str):
        raise TypeError(f"{FUNCTION}: expected name to be a str, but got {type(name).__name__}; pass 'mine::name'")
    if not isinstance(compiled, Compiled):
        raise TypeError(
            f"{FUNCTION}: expected compiled to be what cute.compile gives, but got {type(compiled).__name__}; pass "
            "cute.compile(function, arguments)"
        )
    if not isinstance(mutates, (list, tuple)) or not all(isinstance(key, str) for key in mutates):
        raise TypeError(
            f"{FUNCTION}: expected mutates to be a list of names of tensors, but got {mutates!r}; pass those that are "
            "written, such as ['x']"
        )
    if name.count("::") != 1:
        raise ValueError(f"{FUNCTION}: the name {name!r} needs a namespace: 'mine::{name}'")
    forms = {key: form for key, form in compiled.traced.forms.items() if key in compiled.signature.parameters}
    tensors = [key for key, form in forms.items() if isinstance(form, TensorForm)]
    wrong = [key for key in mutates if key not in tensors]
    if wrong:
        raise ValueError(
            f"{FUNCTION}: mutates has {', '.join(wrong)}, but the tensors of {compiled.signature} are "
            f"{', '.join(tensors)}"
        )
    parameters = [_schema(key, form, key in mutates) for key, form in forms.items()]
    _require_named(compiled, tensors, mutates)

    def run(*args: Any, **kwargs: Any) -> None:
        # torch has told autograd of the operation before it calls this.
        compiled(*map(_detached, args), **{key: _detached(value) for key, value in kwargs.items()})

    made = torch.library.custom_op(name, run, mutates_args=tuple(mutates), schema=f"({', '.join(parameters)}) -> ()")
    made.register_fake(lambda *args, **kwargs: None)
    return made


def _detached(value: Any) -> Any:
    return value.detach() if isinstance(value, torch.Tensor) and value.requires_grad else value


def _require_named(compiled: Compiled, tensors: list[str], mutates: Sequence[str]) -> None:
    """ValueError where the kernels write a tensor that is not in `mutates`."""
    written = program.written_parameters(compiled.traced.program, compiled.traced.host)
    lacking = [key for key in tensors if key in written and key not in mutates]
    if lacking:
        places = [(key, *written[key]) for key in lacking]
        shown = ", ".join(f"{key} ({Path(file).name}:{line})" for key, file, line in places)
        raise ValueError(
            f"{FUNCTION}: the kernels write {shown}, but mutates is {[*mutates]}, and torch.compile would take what "
            f"was there before; pass mutates={[*mutates, *lacking]}"
        )


def _schema(name: str, form: Any, is_mutated: bool) -> str:
    """A parameter as torch's schemas have it."""
    if isinstance(form, TensorForm):
        return f"Tensor({'a' + name}!) {name}" if is_mutated else f"Tensor {name}"
    if isinstance(form, Number):
        kind = "bool" if form.dtype is Boolean else "int" if issubclass(form.dtype, Integer) else "float"
        return f"{kind} {name}"
    raise ValueError(
        f"{FUNCTION}: the parameter {name} is neither a tensor nor a number; make it Constexpr, so that it is fixed"
    )

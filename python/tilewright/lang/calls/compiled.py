"""What cute.compile gives: a program for one kind of arguments, with its kernels as texts and machine code."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright._registry import Lazy
from tilewright._traceback import short
from tilewright.lang.arguments import Leaves, is_constexpr
from tilewright.lang.calls.decorated import Traced
from tilewright.lang.gpu import arch_of, kernels_of
from tilewright.lang.options import Options
from tilewright.lang.run import run
from tilewright.lang.trace import leaves_of

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from pathlib import Path

    from tilewright.lang.calls.jit import Jit
    from tilewright.lang.compile import CompiledKernel

__all__ = ["Compiled"]


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
        traced.nvrtc_options = options.nvrtc_options
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

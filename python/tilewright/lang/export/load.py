"""`cute.runtime.load_module(path)`: the functions of an object or shared library that export_to_c wrote.

They are run from what the file's records say: their programs, and their machine code for the architecture it was made
for. For another one, and for the CPU, the program is compiled or executed as that of any compiled function.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright._core import program
from tilewright._names import did_you_mean
from tilewright.lang.arguments import Static
from tilewright.lang.calls.compiled import Compiled
from tilewright.lang.calls.decorated import Traced
from tilewright.lang.compile import CompiledKernel
from tilewright.lang.export.elf import sections
from tilewright.lang.export.forms import form_from, signature_from
from tilewright.lang.export.record import SECTION, records
from tilewright.lang.export.write import FORMAT
from tilewright.lang.options import Options
from tilewright.runtime.entry import digest
from tilewright.runtime.program import from_sections, pack

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ExportedModule", "load_module"]


class ExportedModule:
    """The functions of a file as attributes."""

    def __init__(self, path: str, functions: Mapping[str, Compiled]) -> None:
        self._path, self._functions = path, dict(functions)

    def __getattr__(self, name: str) -> Compiled:
        if name.startswith("__") or name not in self._functions:
            more = did_you_mean(name, self._functions) or f"; it has {', '.join(self._functions)}"
            raise AttributeError(f"{self._path} has no function {name!r}{more}")
        return self._functions[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._functions]

    def __repr__(self) -> str:
        return f"<exported functions of {self._path}: {', '.join(self._functions)}>"


def load_module(path: str | os.PathLike[str], *, enable_tvm_ffi: bool = False) -> ExportedModule:
    """The functions of an object or shared library that `export_to_c` wrote, as attributes of what is returned.

    They check their arguments as compiled functions do, and run where their tensors lie. enable_tvm_ffi is ignored:
    arrays of other libraries are taken in any case. A file says what is run: load none that you do not trust.

    Raises FileNotFoundError, ValueError where the file has no such functions or is damaged.
    Source: CuTeDSL `cute.runtime.load_module`.

    >>> load_module("nowhere.o")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'nowhere.o'
    """
    name = os.fspath(path)
    data = Path(name).read_bytes()
    try:
        found = [one for section, bytes_ in sections(data) if section == SECTION for one in records(bytes_)]
        functions = {facts["name"]: _function(facts, pieces) for facts, pieces in found}
    except (ValueError, KeyError, program.ProgramError) as error:
        raise ValueError(f"load_module: {name}: {error}") from None
    if not functions:
        raise ValueError(f"load_module: {name} has no functions that export_to_c wrote")
    return ExportedModule(name, functions)


def _function(facts: Mapping[str, Any], pieces: Sequence[bytes]) -> Compiled:
    if facts["format"] != FORMAT:
        raise ValueError(
            f"{facts['name']} was exported by tilewright {facts['version']}, which this version does not read; export "
            "it again"
        )
    forms = {name: form_from(description, name) for name, description in facts["forms"].items()}
    left_out = {name for name, description in facts["forms"].items() if description is None}
    signature = signature_from([one for one in facts["signature"] if one["name"] not in left_out])
    fixed = {name: None for name in forms if name not in signature.parameters}
    traced = Traced(
        program.Program.from_bytes(pieces[0]), facts["host"], forms, Static("result", None), tuple(signature.parameters)
    )
    arch, kernels = facts["arch"], {}
    for (index, meta), cubin, ptx in zip(facts["kernels"], pieces[1::2], pieces[2::2], strict=True):
        kernel = CompiledKernel(traced.program, index, arch)
        entry = {"meta": meta.encode(), "cubin": cubin, "ptx": ptx, "source": pack("")}
        kernel.binary = from_sections(digest(cubin, json.dumps(meta)), entry)
        kernels[index] = kernel
    traced.compiled[arch] = kernels
    return Compiled(facts["name"], facts["doc"], signature, fixed, traced, Options(gpu_arch=arch))

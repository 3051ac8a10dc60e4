"""`compiled.export_to_c(..)`: a compiled function as a C header and an object, which link without Python."""

from __future__ import annotations

import keyword
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright._core import program
from tilewright.lang.arguments import Leaves, Static
from tilewright.lang.export.c_text import arguments_of, header, source
from tilewright.lang.export.forms import Fixed, described, described_signature
from tilewright.lang.export.objects import compile_object, link
from tilewright.lang.export.record import pack
from tilewright.lang.export.tvm_text import tvm_source
from tilewright.runtime.program import to_sections

if TYPE_CHECKING:
    from tilewright.lang.arguments import Form
    from tilewright.lang.calls.compiled import Compiled

__all__ = ["export_to_c", "find_runtime_libraries", "tvm_function"]

FORMAT = 1  # of the facts of a record


def export_to_c(
    compiled: Compiled,
    file_path: str | os.PathLike[str],
    file_name: str | None,
    function_prefix: str | None,
    *,
    with_tvm_ffi: bool = False,
) -> tuple[Path, Path]:
    """Write the header and the object; their paths. With TVM's FFI also where the function was compiled for it."""
    prefix = compiled.__name__ if function_prefix is None else function_prefix
    if not re.fullmatch(r"[A-Za-z_]\w*", prefix, re.ASCII) or keyword.iskeyword(prefix):
        raise ValueError(f"export_to_c: the function is to be called {prefix!r}, which is no name in C and Python")
    path = Path(file_path) / f"{file_name}.o" if file_name is not None else Path(file_path)
    if path.suffix != ".o":
        raise ValueError(f"export_to_c: {path} is to be an object, so that its name ends in .o")
    forms = _forms(compiled)
    traced = compiled.traced
    if not (isinstance(traced.returned, Static) and traced.returned.value is None):
        raise TypeError(
            f"export_to_c: {prefix} returns something; what is exported launches kernels and returns nothing"
        )
    names = [one.name for one in arguments_of(forms.values(), prefix) if one.declared]
    if len({*names, "module"}) <= len(names):
        raise ValueError(f"export_to_c: the arguments of {prefix} have no different names in C: {', '.join(names)}")
    program.host_c_source(
        traced.program, traced.host, "tw_host"
    )  # refuses what C cannot do before kernels are compiled
    kernels = compiled.kernels_by_index
    sections = {i: to_sections(kernel.binary) for i, kernel in kernels.items()}
    facts = {
        "format": FORMAT,
        "version": _core.__version__,
        "name": prefix,
        "doc": compiled.__doc__,
        "host": traced.host,
        "arch": next(iter(kernels.values())).arch if kernels else compiled.options.gpu_arch,
        "forms": {name: described(form) for name, form in forms.items()},
        "signature": described_signature(compiled.signature),
        "kernels": [[i, found["meta"].decode()] for i, found in sections.items()],
    }
    pieces = [traced.program.to_bytes()]
    for found in sections.values():
        pieces += [found["cubin"], found["ptx"]]
    record, places = pack(facts, pieces)
    cubins = dict(zip(kernels, places[1::2], strict=True))
    about = f"{prefix}, written in Python and exported by tilewright {_core.__version__}."
    header_name = f"{path.stem}.h"
    text = header(prefix, forms.values(), len(traced.program.functions), about)
    host = (traced.program, traced.host)
    code = source(prefix, header_name, host, forms.values(), kernels, cubins)
    if with_tvm_ffi or compiled.options.enable_tvm_ffi:
        code += tvm_source(prefix, forms.values())
    made = compile_object(code, header_name, text, record)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(made)
    path.with_suffix(".h").write_text(text, encoding="utf-8")
    return path.with_suffix(".h"), path


def _forms(compiled: Compiled) -> dict[str, Form]:
    """The forms of the arguments; those that were fixed have their values' leaves."""
    forms: dict[str, Form] = {}
    for name, form in compiled.traced.forms.items():
        if name in compiled.fixed and next(form.parameters(), None) is not None:
            leaves = Leaves()
            form.read(compiled.fixed[name], leaves)
            if leaves.memory or leaves.addresses:
                raise TypeError(f"export_to_c: the argument {name} is fixed and has memory, which no file can have")
            forms[name] = Fixed(name, leaves.values)
        else:
            forms[name] = form
        described(forms[name])
    return forms


def tvm_function(compiled: Compiled) -> Any:
    """A compiled function as a tvm_ffi.Function, by way of a library that is made for it.

    Raises ImportError where apache-tvm-ffi is not installed.
    """
    libraries = find_runtime_libraries(enable_tvm_ffi=True)
    import tvm_ffi

    name = compiled.__name__
    with tempfile.TemporaryDirectory(prefix="tilewright-") as folder:
        library = Path(folder) / f"{name}.so"
        _, made = export_to_c(compiled, folder, name, name, with_tvm_ffi=True)
        link([made, *libraries], library)
        return tvm_ffi.load_module(str(library))[name]


def find_runtime_libraries(*, enable_tvm_ffi: bool = False) -> list[str]:
    """The libraries that exported objects are linked with: none, but that of TVM's FFI where it is asked for.

    Raises ImportError where that is asked for and apache-tvm-ffi is not installed.

    >>> find_runtime_libraries()
    []
    """
    if not enable_tvm_ffi:
        return []
    try:
        from tvm_ffi.libinfo import find_libtvm_ffi
    except ImportError:
        raise ImportError("there is no tvm_ffi; pip install apache-tvm-ffi") from None
    return [str(find_libtvm_ffi())]

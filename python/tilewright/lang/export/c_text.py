"""An exported function in C: its header, and the source of its object.

The header has a struct for each tensor and a wrapper that takes the function's arguments in their order:

    typedef struct { void *data; int32_t dynamic_shapes[2]; int64_t dynamic_strides[1]; } add_Tensor_a_t;
    int32_t cute_dsl_add_wrapper(add_Kernel_Module_t *module, const add_Tensor_a_t *a, struct CUstream_st *stream);
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright._core import program
from tilewright.lang.arguments import Group, LayoutForm, Number, PointerForm, StreamForm, TensorForm
from tilewright.lang.export.forms import Fixed
from tilewright.numeric import Int64

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tilewright.lang.arguments import Form
    from tilewright.lang.compile import CompiledKernel

__all__ = ["header", "source"]

_C_TYPES = {"Float32": "float", "Float64": "double"}
# The wrapper's own argument, and the words of C and C++ that are none of Python's.
_WORDS = """
module alignas alignof asm auto bool case catch char class const constexpr const_cast decltype default delete do double
dynamic_cast enum explicit export extern false float friend goto inline int long mutable namespace new noexcept nullptr
operator private protected public register reinterpret_cast requires restrict short signed sizeof static static_assert
static_cast struct switch template this throw true typedef typeid typename typeof union unsigned using virtual void
volatile wchar_t xor
"""
_TAKEN = frozenset(_WORDS.split())


class Leaf(NamedTuple):
    """A parameter of the program: its name, where a call has it, its C type there, what divides it, its range.

    What is fixed has no C type, and its bits as its value. `divisor` of an address is its alignment; `is_narrow`: the
    call has 64 bits, of which the program takes 32.
    """

    name: str
    value: str
    c_type: str
    divisor: int = 1
    is_address: bool = False
    is_narrow: bool = False


class Argument(NamedTuple):
    """An argument of the wrapper: its declaration, its struct if it has one, and its leaves."""

    name: str
    declared: str
    struct: str
    note: str
    leaves: list[Leaf]


def c_type(dtype: Any) -> str:
    """The C type of a number: floats that C lacks go as their bits.

    >>> from tilewright import Boolean, Float16, Float32, Int64
    >>> [c_type(dtype) for dtype in (Boolean, Int64, Float16, Float32)]
    ['uint8_t', 'int64_t', 'uint16_t', 'float']
    """
    name = dtype.__name__
    return _C_TYPES.get(name) or f"{'int' if name.startswith('Int') else 'uint'}{max(int(dtype.bits), 8)}_t"


def c_name(name: str) -> str:
    """A name for an argument's that C and C++ take.

    >>> c_name("sizes[0]"), c_name("int")
    ('sizes_0', 'int_')
    """
    found = re.sub(r"\W+", "_", name).strip("_")
    return f"{found}_" if found in _TAKEN else found


def arguments_of(forms: Iterable[Form], prefix: str) -> list[Argument]:
    """The arguments of the wrapper, and of what is fixed the leaves alone."""
    found: list[Argument] = []
    for form in forms:
        name = c_name(form.name)
        if isinstance(form, Group):
            found += arguments_of(form.parts, prefix)
        elif isinstance(form, Fixed):
            leaves = [Leaf(form.name, str(bits), "") for bits in form.bits]
            found.append(Argument(name, "", "", "", leaves))
        elif isinstance(form, StreamForm):
            found.append(Argument(name, f"struct CUstream_st *{name}", "", "a stream of the runtime or driver", []))
        elif isinstance(form, Number):
            note = f"{form.dtype}" + (f", a multiple of {form.div}" if form.div != 1 else "")
            leaf = Leaf(form.name, name, c_type(form.dtype), form.div)
            found.append(Argument(name, f"{c_type(form.dtype)} {name}", "", note, [leaf]))
        elif isinstance(form, PointerForm):
            found.append(Argument(name, f"void *{name}", "", _pointed(form), [_address(form, name)]))
        elif isinstance(form, TensorForm):
            found.append(_record(form.name, "Tensor", prefix, form.layout, form.iterator))  # type: ignore[arg-type]
        elif isinstance(form, LayoutForm):
            found.append(_record(form.name, "Layout", prefix, form, None))
    return found


def _pointed(form: PointerForm) -> str:
    return f"{form.dtype} at a multiple of {form.alignment} bytes"


def _address(form: PointerForm, value: str) -> Leaf:
    return Leaf(form.name, value, "void *", form.alignment, is_address=True)


def _record(name: str, kind: str, prefix: str, layout: LayoutForm, pointer: PointerForm | None) -> Argument:
    """A tensor or layout: a struct of its address and its dynamic leaves."""
    c, lines, leaves = c_name(name), [], []
    if pointer is not None:
        lines.append("  void *data;")
        leaves.append(_address(pointer, f"{c}->data"))
    for word in ("offset", "shape", "stride"):
        own = [n for n in layout.numbers if n.name.removeprefix(f"{name}.").startswith(word)]
        is_wide = word == "stride" or any(n.dtype is Int64 for n in own)
        member, stored = f"dynamic_{word}s", "int64_t" if is_wide else "int32_t"
        if own:
            lines.append(f"  {stored} {member}[{len(own)}];")
        leaves += [
            Leaf(n.name, f"{c}->{member}[{i}]", stored, n.div, is_narrow=is_wide and n.dtype is not Int64)
            for i, n in enumerate(own)
        ]
    if not lines:
        lines.append("  char nothing;")
    struct = f"{prefix}_{kind}_{c}_t"
    note = f"{layout.layout}" + (f" of {_pointed(pointer)}" if pointer is not None else "")
    text = "typedef struct {\n" + "\n".join(lines) + f"\n}} {struct};\n"
    return Argument(c, f"const {struct} *{c}", text, note, leaves)


def _wrapper(prefix: str, arguments: Sequence[Argument]) -> str:
    separator = ",\n    "
    declared = [f"{prefix}_Kernel_Module_t *module", *(one.declared for one in arguments if one.declared)]
    return f"int32_t cute_dsl_{prefix}_wrapper(\n    {separator.join(declared)})"


def header(prefix: str, forms: Iterable[Form], functions: int, about: str) -> str:
    """The header, for C and C++; it includes nothing of CUDA."""
    arguments = arguments_of(forms, prefix)
    guard = f"TILEWRIGHT_{prefix.upper()}_H"
    notes = "".join(f"   {one.name}: {one.note}\n" for one in arguments if one.note)
    structs = "\n".join(one.struct for one in arguments if one.struct)
    return f"""/* {about}

   Link the object beside this header into a program. It needs no Python, and finds the CUDA driver (12.0 or newer) when
   its module is loaded. Functions are 0, or an error of the driver. */
#ifndef {guard}
#define {guard}

#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

struct CUstream_st; /* cudaStream_t and CUstream point to it */

{structs}
typedef struct {{
  void *libraries[{functions}];
  void *kernels[{functions}];
}} {prefix}_Kernel_Module_t;

/* Before the first call. Without a context of its own, the thread gets the one of device 0. */
int32_t {prefix}_Kernel_Module_Load({prefix}_Kernel_Module_t *module);
int32_t {prefix}_Kernel_Module_Unload({prefix}_Kernel_Module_t *module);

/* Enqueues the kernels in the context of the calling thread. Threads may share a module.
{notes}*/
{_wrapper(prefix, arguments)};

/* What the error of this thread's last call that failed was. */
const char *{prefix}_error(void);

#ifdef __cplusplus
}}
#endif

#endif
"""


def source(
    prefix: str,
    header_name: str,
    host: tuple[Any, int],
    forms: Iterable[Form],
    kernels: Mapping[int, CompiledKernel],
    places: Mapping[int, int],
) -> str:
    """The C of the object; `host` is the program with its host function, `places` where in the record kernels are."""
    traced, index = host
    arguments = arguments_of(forms, prefix)
    table = "".join(
        f'    [{i}] = {{"{kernel.name}", {kernel.shared_bytes}, tw_record + {places[i]}}},\n'
        for i, kernel in kernels.items()
    )
    leaves = [leaf for one in arguments for leaf in one.leaves]
    types = traced.parameter_types(index)
    values = "".join(f", {_value(leaf, kind)}" for leaf, kind in zip(leaves, types, strict=True))
    streams = [one.name for one in arguments if "CUstream_st" in one.declared]
    checks = "".join(_check(prefix, leaf) for leaf in leaves)
    count = len(traced.functions)
    runtime = files("tilewright.lang.export").joinpath("runtime.c").read_text(encoding="utf-8")
    return f"""#include "{header_name}"

{runtime}
__asm__(".pushsection tilewright,\\"a\\"\\n.balign 16\\ntw_record:\\n.incbin \\"record\\"\\n.popsection\\n");
__attribute__((visibility("hidden"))) extern const unsigned char tw_record[];

static const tw_kernel tw_kernels[{count}] = {{
{table}}};
typedef {prefix}_Kernel_Module_t tw_host_Module;

{program.host_c_source(traced, index, "tw_host")}
int32_t {prefix}_Kernel_Module_Load({prefix}_Kernel_Module_t *module) {{
  return tw_load(tw_kernels, module->libraries, module->kernels, {count});
}}

int32_t {prefix}_Kernel_Module_Unload({prefix}_Kernel_Module_t *module) {{
  tw_unload(module->libraries, module->kernels, {count});
  return 0;
}}

{_wrapper(prefix, arguments)} {{
  int tw_error = 0;
{checks}  return tw_error != 0 ? tw_error : tw_host(module, {streams[-1] if streams else "0"}{values});
}}

const char *{prefix}_error(void) {{ return tw_message; }}
"""


def _value(leaf: Leaf, kind: Any) -> str:
    if not leaf.c_type:  # the bits of what is fixed
        whole = f"UINT64_C({leaf.value})"
        return {"Float32": f"tw_float({leaf.value}u)", "Float64": f"tw_double({whole})"}.get(kind.scalar, whole)
    return f"(uint64_t)(uintptr_t){leaf.value}" if leaf.is_address else leaf.value


def _check(prefix: str, leaf: Leaf) -> str:
    """Lines that refuse a leaf which the function was not compiled for."""
    where = f'"{prefix}: {leaf.name}", {leaf.value}'
    checks = []
    if leaf.is_address and leaf.divisor > 1:
        checks.append(f"tw_aligned({where}, {leaf.divisor})")
    if leaf.is_narrow:
        checks.append(f"tw_fits({where})")
    if not leaf.is_address and leaf.divisor > 1:
        checks.append(f"tw_divides({where}, {leaf.divisor})")
    return "".join(f"  if (tw_error == 0) tw_error = {check};\n" for check in checks)

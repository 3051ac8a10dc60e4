"""How TVM's FFI calls an exported function: C that reads the arguments of such a call, checks them, and passes them."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

from tilewright.lang.arguments import Group, LayoutForm, Number, PointerForm, StreamForm, TensorForm
from tilewright.lang.export.c_text import c_name, c_type
from tilewright.lang.export.forms import Fixed
from tilewright.numeric import Float32, Float64, Int32, Int64, Numeric

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tilewright.lang.arguments import Form

__all__ = ["tvm_source"]


def tvm_source(prefix: str, forms: Iterable[Form]) -> str:
    """The C of `__tvm_ffi_PREFIX`; TypeError for arguments that TVM's FFI does not have."""
    runtime = files("tilewright.lang.export").joinpath("tvm_ffi.c").read_text(encoding="utf-8")
    arguments = [form for form in forms if not isinstance(form, Fixed) and _is_passed(form)]
    names = [f"its_{c_name(form.name)}" for form in arguments]
    reads, optional = "", 0
    for i, (form, name) in enumerate(zip(arguments, names, strict=True)):
        reads += _read(prefix, form, name, i)
        optional = optional + 1 if isinstance(form, StreamForm) else 0
    # A stream that the call does not say is that of TVM's FFI.
    streams = "".join(
        f"  if (!has_{name}) {name} = (CUstream)TVMFFIEnvGetStream(TW_DEVICE_CUDA, device);\n"
        for form, name in zip(arguments, names, strict=True)
        if isinstance(form, StreamForm)
    )
    passed = "".join(
        f", &{n}" if isinstance(f, (TensorForm, LayoutForm)) else f", {n}"
        for f, n in zip(arguments, names, strict=True)
    )
    least, most = len(arguments) - optional, len(arguments)
    takes = f"{most}" if least == most else f"{least} to {most}"
    return f"""
{runtime}
int __tvm_ffi_{prefix}(void *self, const tw_any *args, int32_t count, tw_any *result) {{
  static {prefix}_Kernel_Module_t *loaded;
  {prefix}_Kernel_Module_t *module = __atomic_load_n(&loaded, __ATOMIC_ACQUIRE);
  void *before = 0;
  int device = -1, error = 0;
  (void)self;
  if (count < {least} || count > {most}) {{
    tw_fail(TW_INVALID_VALUE, "{prefix} takes {takes} arguments, but got %d", count);
    return tw_raise("TypeError");
  }}
{reads}  if (device < 0) device = 0;
  if (tw_open() != 0 || tw_enter_device(device, &before) != 0) return tw_raise("RuntimeError");
{streams}  if (module == 0) {{
    static {prefix}_Kernel_Module_t memory;
    static int guard;
    while (__atomic_exchange_n(&guard, 1, __ATOMIC_ACQUIRE)) {{
    }}
    module = __atomic_load_n(&loaded, __ATOMIC_ACQUIRE);
    if (module == 0) {{
      error = {prefix}_Kernel_Module_Load(&memory);
      if (error == 0) {{
        module = &memory;
        __atomic_store_n(&loaded, module, __ATOMIC_RELEASE);
      }}
    }}
    __atomic_store_n(&guard, 0, __ATOMIC_RELEASE);
  }}
  if (error == 0) error = cute_dsl_{prefix}_wrapper(module{passed});
  if (before != 0) tw_driver.set_current(before);
  if (error != 0) return tw_raise(error == TW_INVALID_VALUE ? "ValueError" : "RuntimeError");
  memset(result, 0, sizeof *result);
  return 0;
}}
"""


def _is_passed(form: Form) -> bool:
    return isinstance(form, (TensorForm, StreamForm, Group)) or next(form.parameters(), None) is not None


def _read(prefix: str, form: Form, name: str, index: int) -> str:
    """Lines that read an argument into a variable of its name."""
    where, place = f"{prefix}: {form.name}", f"args + {index}"
    if isinstance(form, TensorForm) and isinstance(form.iterator, PointerForm):
        return _read_tensor(prefix, form, form.iterator, name, place)
    if isinstance(form, StreamForm):
        return (
            f"  void *{name}_pointer = 0;\n"
            f"  const int has_{name} = count > {index} && args[{index}].type != TW_ANY_NONE;\n"
            f'  if (has_{name} && tw_read_pointer({place}, "{where}", &{name}_pointer) != 0) return -1;\n'
            f"  CUstream {name} = (CUstream){name}_pointer;\n"
        )
    if isinstance(form, PointerForm):
        return f'  void *{name} = 0;\n  if (tw_read_pointer({place}, "{where}", &{name}) != 0) return -1;\n'
    if isinstance(form, Number) and form.dtype in (Float32, Float64):
        return f'  double {name} = 0;\n  if (tw_read_real({place}, "{where}", &{name}) != 0) return -1;\n'
    if isinstance(form, Number) and c_type(form.dtype).startswith(("int", "uint")) and not _is_float(form.dtype):
        kind = c_type(form.dtype).removesuffix("_t").upper()
        least = f"{kind}_MIN" if kind.startswith("INT") else "0"
        most = {"UINT64": "INT64_MAX"}.get(kind, f"{kind}_MAX")
        return (
            f"  int64_t {name} = 0;\n"
            f'  if (tw_read_integer({place}, "{where}", {least}, {most}, &{name}) != 0) return -1;\n'
        )
    raise TypeError(
        f"export_to_c: TVM's FFI does not pass the argument {form.name}: expected tensors, pointers, streams, "
        "integers, Float32 and Float64; export it without --enable-tvm-ffi"
    )


def _is_float(dtype: type[Numeric]) -> bool:
    return "Float" in dtype.__name__


def _read_tensor(prefix: str, form: TensorForm, pointer: PointerForm, name: str, place: str) -> str:
    layout: Any = form.layout.layout
    flat = getattr(layout, "shape", None)
    leaves = [*flat, *layout.stride] if isinstance(flat, tuple) else [None]
    if not all(isinstance(leaf, (int, Int32, Int64)) for leaf in leaves):
        raise TypeError(
            f"export_to_c: the argument {form.name} has the layout {layout}, but tensors of TVM's FFI are flat"
        )
    rank = len(leaves) // 2
    shape, strides = leaves[:rank], leaves[rank:]
    code, bits = pointer.dtype.dlpack
    expected = ", ".join(
        f"(const int64_t[]){{{', '.join(str(x) if isinstance(x, int) else '-1' for x in of)}}}"
        for of in (shape, strides)
    )
    struct = f"{prefix}_Tensor_{c_name(form.name)}_t"
    lines = [
        f"  const tw_tensor *{name}_tensor = 0;",
        f'  const tw_expected {name}_expected = {{"{prefix}: {form.name}", {rank}, {code}, {bits}, {expected}}};',
        f"  if (tw_read_tensor({place}, &{name}_expected, &device, &{name}_tensor) != 0) return -1;",
        f"  {struct} {name};",
        f"  {name}.data = tw_data({name}_tensor);",
    ]
    is_wide = any(isinstance(x, Int64) for x in shape)
    for word, of, value in (
        ("shape", shape, "{n}_tensor->shape[{m}]"),
        ("stride", strides, "tw_stride({n}_tensor, {m})"),
    ):
        modes = [mode for mode, leaf in enumerate(of) if not isinstance(leaf, int)]
        for i, mode in enumerate(modes):
            text = value.format(n=name, m=mode)
            if word == "shape" and not is_wide:
                where = f'"{prefix}: {form.name}.shape[{mode}]", {text}'
                lines.append(f'  if (tw_fits({where}) != 0) return tw_raise("ValueError");')
            lines.append(
                f"  {name}.dynamic_{word}s[{i}] = {'(int32_t)' if word == 'shape' and not is_wide else ''}{text};"
            )
    return "\n".join(lines) + "\n"

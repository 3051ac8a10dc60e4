"""Host layouts as device types: what the algebra computed here, written as template arguments for a kernel.

`device_type` is the one place where a layout becomes C++ text; kernels/tilewright/layout.cuh reads it. Static leaves
become part of the type, dynamic ones are passed at the launch, in the order of `dynamic_values`. Nothing that a user
wrote as text ever gets into the source: it is made of integers alone.
"""

from __future__ import annotations

from typing import Any

from tilewright import _core
from tilewright._core import LayoutError
from tilewright.numeric import (
    BFloat16,
    Float8E4M3FN,
    Float8E5M2,
    Float16,
    Float32,
    Float64,
    Int8,
    Int32,
    Int64,
    TFloat32,
    Uint8,
)

# Element types as kernels/tilewright/numeric.cuh names them.
NUMERIC_TYPES: dict[Any, str] = {
    Float16: "Half", BFloat16: "BFloat16", Float32: "float", TFloat32: "TFloat32", Float64: "double",
    Float8E4M3FN: "Float8E4M3", Float8E5M2: "Float8E5M2", Int8: "signed char", Uint8: "unsigned char", Int32: "int",
}  # fmt: skip


def numeric_type(dtype: Any) -> str:
    """The C++ type of an element. Raises TypeError for types that kernels do not compute with.

    >>> from tilewright import BFloat16, Uint8
    >>> numeric_type(BFloat16), numeric_type(Uint8)
    ('BFloat16', 'unsigned char')
    """
    if dtype not in NUMERIC_TYPES:
        names = ", ".join(kind.__name__ for kind in NUMERIC_TYPES)
        raise TypeError(f"numeric_type({getattr(dtype, '__name__', dtype)}): kernels compute with {names}")
    return NUMERIC_TYPES[dtype]


def device_type(layout: Any) -> str:
    """The C++ type whose objects are this layout, as a function of coordinates.

    A layout, or a swizzle composed with one. Raises LayoutError for any other inner function, for a dynamic offset, and
    for basis strides that lead into nested coordinates.

    >>> from tilewright import cute
    >>> device_type(cute.make_layout((4, 8), stride=(8, 1)))
    'Layout<Shape<Int<4>, Int<8>>, Stride<Int<8>, Int<1>>>'
    >>> device_type(cute.make_composed_layout(cute.make_swizzle(3, 4, 3), 0, cute.make_layout((8, 64))))
    'Composed<Swizzle<3, 4, 3>, 0, Layout<Shape<Int<8>, Int<64>>, Stride<Int<1>, Int<8>>>>'
    """
    if isinstance(layout, _core.ComposedLayout):
        inner, offset = layout.inner, layout.offset
        if not isinstance(inner, _core.Swizzle) or not isinstance(offset, int) or not _core.is_static(layout.outer):
            raise LayoutError(
                f"device_type({layout}): a kernel takes a static layout behind a swizzle and a static offset; "
                "other functions have no device type"
            )
        swizzle = f"Swizzle<{inner.num_bits}, {inner.num_base}, {inner.num_shift}>"
        return f"Composed<{swizzle}, {offset}, {device_type(layout.outer)}>"
    count = 0

    def leaf(x: Any) -> str:
        nonlocal count
        if isinstance(x, (Int32, Int64)):
            count += 1
            return f"Dyn<{count - 1}>"
        if isinstance(x, _core.ScaledBasis):
            if len(x.mode) != 1 or not isinstance(x.value, int):
                raise LayoutError(
                    f"device_type({layout}): stride {x} leads into a nested coordinate; flatten the shape"
                )
            return f"Basis<{x.value}, {x.mode[0]}>"
        return f"Int<{x}>"

    def tree(name: str, x: Any) -> str:
        return f"{name}<{', '.join(tree(name, y) for y in x)}>" if isinstance(x, tuple) else leaf(x)

    shape, stride = tree("Shape", _modes(layout.shape)), tree("Stride", _modes(layout.stride))
    return f"Layout<{shape}, {stride}{f', {count}' if count else ''}>"


def _modes(x: Any) -> tuple[Any, ...]:
    """A device layout has a list of modes, also where the host's shape is a single integer."""
    return x if isinstance(x, tuple) else (x,)

"""Arguments of traced functions: which leaves of them a program takes as parameters, and what is fixed in it.

A Form says what an argument is. It is read once, from the arguments that a function is traced with; for later calls it
says whether other arguments fit it, and gives the patterns of their leaves.
"""

from tilewright.lang.arguments.choose import (
    Constexpr,
    form_of,
    is_constexpr,
    register_jit_arg_adapter,
    signature_of,
)
from tilewright.lang.arguments.fixed import Static
from tilewright.lang.arguments.form import Form, Leaves, Memory
from tilewright.lang.arguments.launching import EventForm, StreamForm, is_stream
from tilewright.lang.arguments.numbers import Number, numeric_annotation, plain_number
from tilewright.lang.arguments.parts import Group
from tilewright.lang.arguments.tensors import LayoutForm, PointerForm, TensorForm, array_form

__all__ = [
    "Constexpr",
    "EventForm",
    "Form",
    "Group",
    "LayoutForm",
    "Leaves",
    "Memory",
    "Number",
    "PointerForm",
    "Static",
    "StreamForm",
    "TensorForm",
    "array_form",
    "form_of",
    "is_constexpr",
    "is_stream",
    "numeric_annotation",
    "plain_number",
    "register_jit_arg_adapter",
    "signature_of",
]

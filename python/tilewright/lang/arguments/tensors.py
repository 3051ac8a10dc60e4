"""Arguments that are pointers, layouts and tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.cute.int_tuple import text
from tilewright.cute.runtime import import_array
from tilewright.cute.tensors.pointer import AddressSpace, Pointer
from tilewright.cute.tensors.runtime_tensor import RuntimeTensor
from tilewright.cute.tensors.tensor import Tensor
from tilewright.cute.tensors.traced_pointer import TracedPointer, pointer_type
from tilewright.lang.arguments.form import Form, Memory
from tilewright.lang.arguments.numbers import Number, is_symbol
from tilewright.lang.leaves import all_leaves, leaf_values, rebuilt
from tilewright.numeric import Int32, Int64, Numeric

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from tilewright.lang.arguments.form import Leaves

__all__ = ["LayoutForm", "PointerForm", "TensorForm", "array_form"]


class PointerForm(Form):
    """A pointer: its type, space and alignment are fixed, the address is a parameter."""

    def __init__(self, name: str, pointer: Pointer, in_kernel: bool) -> None:
        self.name = name
        self.dtype, self.alignment = pointer.dtype, pointer.alignment
        self.memspace = pointer.memspace
        self.swizzle = getattr(pointer, "swizzle", None)
        if in_kernel and self.memspace in (AddressSpace.rmem, AddressSpace.smem):
            where = "registers" if self.memspace is AddressSpace.rmem else "shared memory"
            raise TypeError(
                f"{name} lies in {where}, which is made inside a kernel and ends with it: pass an array, such as "
                "NumPy's or torch's"
            )
        if in_kernel and self.memspace is AddressSpace.generic:
            self.memspace = AddressSpace.gmem

    def key(self) -> Hashable:
        return ("pointer", self.dtype, self.memspace, self.alignment, self.swizzle)

    def parameters(self) -> Iterator[tuple[str, Any]]:
        yield self.name, pointer_type(self.dtype, self.memspace, self.alignment, self.swizzle)

    def build(self, symbols: Iterator[Any]) -> Any:
        symbol = next(symbols)
        if isinstance(symbol, Pointer):  # of a result, which is a pointer of the caller's
            return symbol
        return TracedPointer(self.dtype, symbol, self.memspace, self.alignment, self.swizzle)

    def read(self, value: Any, leaves: Leaves, layout: Any = None) -> None:
        if not isinstance(value, Pointer):
            raise TypeError(f"{self.name}: expected a pointer, but got {type(value).__name__}")
        if value.dtype is not self.dtype:
            raise TypeError(f"{self.name}: expected elements of type {self.dtype}, but they are {value.dtype}")
        symbol = getattr(value, "symbol", None)
        if symbol is not None:
            leaves.add(symbol)
            return
        address = value.toint()
        if address % self.alignment:
            raise ValueError(
                f"{self.name}: the address 0x{address:x} is no multiple of {self.alignment} bytes, for which the "
                "function was compiled"
            )
        memory = value._memory
        if memory is not None:
            found = Memory(
                len(leaves.values), memory.begin, memory.end - memory.begin, memory.dlpack_device, memory.read_only,
                self.name, address, self.dtype.bits, layout, memory,
            )  # fmt: skip
            leaves.memory.append(found)
        elif layout is not None and address == 0:
            raise ValueError(f"{self.name} has no memory: it is a fake tensor, to compile with; pass one that has data")
        elif self.memspace is AddressSpace.gmem and address:
            leaves.addresses.append((address, self.name))
        leaves.add(address)


class LayoutForm(Form):
    """A layout with dynamic leaves: each of them is a parameter."""

    def __init__(self, name: str, layout: Any) -> None:
        self.name, self.layout = name, layout
        self._leaves, self._profile = leaf_values(layout), _profile(layout)
        self._key = ("layout", str(layout))
        self.numbers = [
            Number(f"{name}.{where}", type(leaf), leaf._div)
            for where, leaf in all_leaves(layout)
            if isinstance(leaf, (Int32, Int64))
        ]

    def key(self) -> Hashable:
        return self._key

    def parameters(self) -> Iterator[tuple[str, Any]]:
        for number in self.numbers:
            yield from number.parameters()

    def build(self, symbols: Iterator[Any]) -> Any:
        return rebuilt(self.layout, iter([number.build(symbols) for number in self.numbers]))

    def read(self, value: Any, leaves: Leaves) -> None:
        theirs = leaf_values(value)
        if len(theirs) != len(self._leaves) or _profile(value) != self._profile:
            raise ValueError(f"{self.name}: expected a layout such as {self.layout}, but got {value}")
        numbers = iter(self.numbers)
        for i, (their, our) in enumerate(zip(theirs, self._leaves, strict=True)):
            if isinstance(our, (Int32, Int64)):
                number = next(numbers)
                if type(their) is not int:
                    number.read(their, leaves)
                    continue
                dtype: Any = number.dtype
                if not -dtype.max - 1 <= their <= dtype.max:
                    raise ValueError(
                        f"{number.name} is {their}, beyond the {dtype.width} bits that it has in the function; reshape "
                        "the tensor into more modes, or use from_dlpack(.., use_32bit_stride=False)"
                    )
                if their % number.div:
                    number.read(their, leaves)  # says so
                leaves.add(their & ((1 << dtype.width) - 1))
            elif their != our or (isinstance(their, Numeric) and is_symbol(their._value)):
                if self._is_unused_stride(theirs, i):
                    continue
                where = [path for path, _ in all_leaves(self.layout)][i]
                raise ValueError(
                    f"{self.name}.{where} is {_shown(their)}, but the function was compiled for {_shown(our)}, which "
                    "is fixed in it; compile it for a tensor with a dynamic layout (mark_layout_dynamic), or again"
                )

    def _is_unused_stride(self, theirs: Any, i: int) -> bool:
        """Whether it is the stride of a mode with one element, which libraries set as they like."""
        half = len(theirs) // 2  # extents, then strides
        is_stride = isinstance(self.layout, _core.Layout) and i >= half
        return is_stride and type(theirs[i - half]) is int and theirs[i - half] == 1


def _profile(layout: Any) -> Any:
    if isinstance(layout, _core.ComposedLayout):
        return str(layout.inner), _profile(layout.outer)

    def of(tree: Any) -> Any:
        return tuple(map(of, tree)) if isinstance(tree, tuple) else None

    return of(layout.shape)


def _shown(leaf: Any) -> str:
    return text(leaf) if not isinstance(leaf, Numeric) else "dynamic" if is_symbol(leaf._value) else str(int(leaf))


class TensorForm(Form):
    """A tensor: an iterator, which is a pointer or a coordinate, and a layout."""

    def __init__(self, name: str, iterator: Form, layout: Any) -> None:
        self.name, self.iterator = name, iterator
        self.layout = LayoutForm(name, layout)
        self._key = ("tensor", self.iterator.key(), self.layout.key())

    def key(self) -> Hashable:
        return self._key

    def parameters(self) -> Iterator[tuple[str, Any]]:
        yield from self.iterator.parameters()
        yield from self.layout.parameters()

    def build(self, symbols: Iterator[Any]) -> Any:
        return Tensor(self.iterator.build(symbols), self.layout.build(symbols))

    def read(self, value: Any, leaves: Leaves) -> None:
        if not isinstance(value, Tensor):
            if not hasattr(value, "__dlpack__"):
                raise TypeError(f"{self.name}: expected a tensor, but got {value!r} of type {type(value).__name__}")
            value = import_array(value, self.name)
        if isinstance(self.iterator, PointerForm):
            self.iterator.read(value.iterator, leaves, value.layout)
        else:
            self.iterator.read(value.iterator, leaves)
        self.layout.read(value.layout, leaves)


_array_forms: dict[Hashable, TensorForm] = {}


def array_form(tensor: RuntimeTensor, name: str, in_kernel: bool) -> TensorForm:
    """The form of an imported array with a dynamic layout, as if marked by mark_layout_dynamic: one for each kind."""
    pointer, shape, stride = tensor.iterator, tensor.layout.shape, tensor.layout.stride
    lead = tensor._leading_dim(None, is_argument=True)
    kinds = tuple([1 if i == lead else 0 if d == 0 else 2 for i, d in enumerate(stride)])
    key = (name, in_kernel, pointer.dtype, pointer.memspace, pointer.alignment, kinds)
    form = _array_forms.get(key)
    if form is None or max(shape, default=0) > Int32.max:
        marked = RuntimeTensor._imported(pointer, tensor.layout, False)._marked(is_argument=True)
        form = _array_forms[key] = TensorForm(name, PointerForm(name, marked.iterator, in_kernel), marked.layout)
    return form

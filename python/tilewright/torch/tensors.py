"""The helpers of `cutlass.torch`: types, streams, and tensors filled for tests."""

from __future__ import annotations

import dataclasses
from enum import Enum
from typing import TYPE_CHECKING, Any

import torch

from tilewright import numeric
from tilewright._boundary import integer, shown
from tilewright.cute.int_tuple import text
from tilewright.cute.runtime import from_dlpack
from tilewright.cute.tensors.tensor import Tensor, recast_tensor
from tilewright.numeric import Numeric
from tilewright.numeric.base import require_dtype

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.cute.tensors.runtime_tensor import RuntimeTensor

__all__ = [
    "GaussianInitConfig",
    "RandomInitConfig",
    "ScalarInitConfig",
    "TensorInitType",
    "convert_cute_tensor",
    "create_and_permute_torch_tensor",
    "current_stream",
    "cute_tensor_like",
    "default_stream",
    "dtype",
    "matrix",
]

_TYPES: dict[type[Numeric], torch.dtype] = {
    numeric.Boolean: torch.bool,
    numeric.Int8: torch.int8,
    numeric.Int16: torch.int16,
    numeric.Int32: torch.int32,
    numeric.Int64: torch.int64,
    numeric.Uint8: torch.uint8,
    numeric.Uint16: torch.uint16,
    numeric.Uint32: torch.uint32,
    numeric.Uint64: torch.uint64,
    numeric.Float16: torch.float16,
    numeric.BFloat16: torch.bfloat16,
    numeric.Float32: torch.float32,
    numeric.TFloat32: torch.float32,
    numeric.Float64: torch.float64,
    numeric.Float8E4M3FN: torch.float8_e4m3fn,
    numeric.Float8E5M2: torch.float8_e5m2,
}


def dtype(ty: type[Numeric]) -> torch.dtype:
    """The torch type of an element type.

    Raises TypeError for what is no element type, and for one that torch lacks. Source: CuTeDSL `cutlass.torch.dtype`.

    >>> from tilewright import BFloat16
    >>> dtype(BFloat16)
    torch.bfloat16
    """
    require_dtype("dtype", ty)
    return _torch_type(ty)


def _torch_type(ty: type[Numeric]) -> torch.dtype:
    if ty not in _TYPES:
        raise TypeError(f"dtype: torch has no type for {ty}")
    return _TYPES[ty]


def _require_tensor(function: str, argument: str, x: Any) -> None:
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"{function}: expected {argument} to be a torch.Tensor, but got {shown(x)}")


def current_stream() -> torch.cuda.Stream:
    """torch's current CUDA stream of its current device.

    Raises what torch raises without a CUDA device. Source: CuTeDSL `cutlass.torch.current_stream`.
    """
    return torch.cuda.current_stream()


def default_stream() -> torch.cuda.Stream:
    """torch's default CUDA stream of its current device.

    Raises what torch raises without a CUDA device. Source: CuTeDSL `cutlass.torch.default_stream`.
    """
    return torch.cuda.default_stream()


class TensorInitType(Enum):
    """How a new tensor is filled: not at all, with random integers, with one number, or normally distributed."""

    SKIP = "skip"
    SCALAR = "scalar"
    RANDOM = "random"
    GAUSSIAN = "gaussian"


@dataclasses.dataclass
class RandomInitConfig:
    """Random integers from min_val to max_val, without max_val."""

    min_val: int = -2
    max_val: int = 2


@dataclasses.dataclass
class ScalarInitConfig:
    """One number for all elements."""

    value: float = 0.0


@dataclasses.dataclass
class GaussianInitConfig:
    """Numbers of a normal distribution, times `scale`."""

    mean: float = 0.0
    std: float = 1.0
    scale: float = 1.0


DEFAULTS = {
    TensorInitType.RANDOM: RandomInitConfig(),
    TensorInitType.SCALAR: ScalarInitConfig(),
    TensorInitType.GAUSSIAN: GaussianInitConfig(),
}


def create_and_permute_torch_tensor(
    shape: Sequence[int],
    dtype: torch.dtype,
    permute_order: Sequence[int] | None = None,
    init_type: TensorInitType = TensorInitType.RANDOM,
    init_config: object = None,
    device: torch.device | str | None = None,
) -> torch.Tensor:
    """A tensor on the CPU (or a device) that is filled and then permuted.

    init_config is a RandomInitConfig, ScalarInitConfig or GaussianInitConfig, or has min_val and max_val of RANDOM (-2
    and 2, without the second), value of SCALAR (0), mean and std of GAUSSIAN (0 and 1). Raises TypeError for what is no
    shape, torch.dtype or TensorInitType, and for an init_config without these; ValueError for an extent below 0 and for
    what is no order; and what torch raises for a device that cannot be.
    Source: CuTeDSL `cutlass.torch.create_and_permute_torch_tensor`.

    >>> import torch
    >>> create_and_permute_torch_tensor((2, 3), torch.int32, (1, 0), TensorInitType.SCALAR)
    tensor([[0, 0],
            [0, 0],
            [0, 0]], dtype=torch.int32)
    """
    function = "create_and_permute_torch_tensor"
    return _filled(function, shape, dtype, permute_order, init_type, init_config, device)


def _filled(
    function: str,
    shape: Sequence[int],
    dtype: torch.dtype,
    permute_order: Sequence[int] | None,
    init_type: TensorInitType,
    init_config: object,
    device: torch.device | str | None,
) -> torch.Tensor:
    if not isinstance(dtype, torch.dtype):
        raise TypeError(f"{function}: expected dtype to be a torch.dtype, but got {shown(dtype)}")
    if not isinstance(init_type, TensorInitType):
        raise TypeError(f"{function}: expected init_type to be a TensorInitType, but got {shown(init_type)}")
    needed = {"RANDOM": ("min_val", "max_val"), "SCALAR": ("value",), "GAUSSIAN": ("mean", "std")}.get(
        init_type.name, ()
    )
    if init_config is not None and not all(hasattr(init_config, name) for name in needed):
        raise TypeError(
            f"{function}: expected init_config to have {' and '.join(needed)}, as {init_type.name} reads, but got "
            f"{shown(init_config)}"
        )
    if not isinstance(shape, (tuple, list)) or not all(integer(extent) is not None for extent in shape):
        raise TypeError(f"{function}: expected shape to be a tuple of integers, but got {shown(shape)}")
    if any(extent < 0 for extent in shape):
        raise ValueError(f"{function}: shape {text(shape)} has an extent below 0")
    if permute_order is not None:
        rank = len(shape)
        order = list(map(integer, permute_order)) if isinstance(permute_order, (tuple, list)) else []
        named = {i + rank if i is not None and i < 0 else i for i in order}  # -1 is the last, as torch counts
        if len(order) != rank or named != {*range(rank)}:
            raise ValueError(f"{function}: permute_order {text(permute_order)} must name each of the {rank} modes once")
    config: Any = DEFAULTS.get(init_type) if init_config is None else init_config
    made = torch.empty(tuple(shape), dtype=torch.float32)
    if init_type is TensorInitType.RANDOM:
        made.random_(int(config.min_val), int(config.max_val))
    elif init_type is TensorInitType.SCALAR:
        made.fill_(config.value)
    elif init_type is TensorInitType.GAUSSIAN:
        made.normal_(config.mean, config.std).mul_(getattr(config, "scale", 1.0))
    made = made.to(dtype)
    if permute_order is not None:
        made = made.permute(tuple(permute_order))
    return made if device is None else made.to(device)


def matrix(
    l: int,  # noqa: E741 - the name that programs pass
    mode0: int,
    mode1: int,
    is_mode0_major: bool,
    cutlass_dtype: type[Numeric],
    init_type: TensorInitType = TensorInitType.RANDOM,
    init_config: object = None,
) -> torch.Tensor:
    """A batch of matrices (mode0, mode1, l) of small integers in float32 on the CPU; values are those of the type.

    Raises TypeError for what is no extent, element type or TensorInitType, ValueError for an extent below 0.
    Source: CuTeDSL `cutlass.torch.matrix`.

    >>> matrix(2, 4, 8, True, numeric.Float16).stride()
    (1, 4, 32)
    """
    require_dtype("matrix", cutlass_dtype)
    shape, order = ((l, mode1, mode0), (2, 1, 0)) if is_mode0_major else ((l, mode0, mode1), (1, 2, 0))
    config = init_config
    if config is None and init_type is TensorInitType.RANDOM:
        unsigned = issubclass(cutlass_dtype, numeric.Integer) and not cutlass_dtype.signed
        config = RandomInitConfig(0, 4) if unsigned else RandomInitConfig(-2, 2)
    return _filled("matrix", shape, torch.float32, order, init_type, config, None)


def _storage(ty: type[Numeric]) -> torch.dtype:
    """How a type is stored in a torch tensor: DLPack of older torch versions does not carry eight-bit floats."""
    return torch.uint8 if ty.bits == 8 and issubclass(ty, numeric.Float) else dtype(ty)


def cute_tensor_like(
    data_ref: torch.Tensor,
    cutlass_dtype: type[Numeric],
    is_dynamic_layout: bool,
    assumed_align: int | None = None,
) -> tuple[RuntimeTensor, torch.Tensor]:
    """A tensor with the values of another one in an element type, on the GPU where there is one: (cute's, torch's).

    Raises TypeError for what is no torch.Tensor, no element type, or one that torch lacks; ValueError for an alignment
    that the memory has not; LayoutError for a dynamic layout of a tensor with one element.
    Source: CuTeDSL `cutlass.torch.cute_tensor_like`.

    >>> import torch
    >>> tensor, stored = cute_tensor_like(torch.tensor([1.5, 2.0]), numeric.Float16, is_dynamic_layout=False)
    >>> stored.tolist(), tensor.element_type
    ([1.5, 2.0], Float16)
    """
    _require_tensor("cute_tensor_like", "data_ref", data_ref)
    require_dtype("cute_tensor_like", cutlass_dtype)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    stored = torch.empty_like(data_ref, dtype=_storage(cutlass_dtype), device=device)
    if _storage(cutlass_dtype) is torch.uint8 and cutlass_dtype is not numeric.Uint8:
        stored.copy_(data_ref.to(device).to(dtype(cutlass_dtype)).view(torch.uint8))
    else:
        stored.copy_(data_ref)
    tensor = from_dlpack(stored, assumed_align=assumed_align)
    tensor.element_type = cutlass_dtype
    return _maybe_dynamic(tensor, data_ref, is_dynamic_layout), stored


def convert_cute_tensor(
    f32_torch_tensor: torch.Tensor, cute_tensor: RuntimeTensor, dtype: type[Numeric], is_dynamic_layout: bool = True
) -> RuntimeTensor:
    """The cute tensor, which has been given the values of a float32 one in its element type.

    Raises TypeError for what is no torch.Tensor, no tensor in memory, no element type, or one that torch lacks, and
    what torch raises where the shapes do not broadcast. Source: CuTeDSL `cutlass.torch.convert_cute_tensor`.

    >>> import torch
    >>> tensor, stored = cute_tensor_like(torch.zeros(2), numeric.Float16, is_dynamic_layout=False)
    >>> convert_cute_tensor(torch.tensor([1.5, 2.0]), tensor, numeric.Float16) is tensor, stored.tolist()
    (True, [1.5, 2.0])
    """
    function = "convert_cute_tensor"
    _require_tensor(function, "f32_torch_tensor", f32_torch_tensor)
    if not isinstance(cute_tensor, Tensor):
        raise TypeError(f"{function}: expected cute_tensor to be a cute.Tensor, but got {shown(cute_tensor)}")
    require_dtype(function, dtype)
    values = f32_torch_tensor.to(_torch_type(dtype))
    if _storage(dtype) is torch.uint8:
        torch.from_dlpack(recast_tensor(cute_tensor, numeric.Uint8)).copy_(values.view(torch.uint8))
    else:
        torch.from_dlpack(cute_tensor).copy_(values)
    return cute_tensor


def _maybe_dynamic(tensor: RuntimeTensor, like: torch.Tensor, is_dynamic: bool) -> RuntimeTensor:
    if is_dynamic:
        for i, stride in enumerate(like.stride()):
            if stride == 1 and like.shape[i] > 1:
                return tensor.mark_layout_dynamic(leading_dim=i)
        return tensor.mark_layout_dynamic()
    return tensor

"""Types that annotations name; nothing is imported from here when a program runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypedDict, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    import torch
    from numpy.typing import DTypeLike

    from tilewright._core import ComposedLayout, Layout
    from tilewright._core.cuda import Prepared
    from tilewright.cute.tensors.tensor import Tensor
    from tilewright.cute.tiled.tiled_copy import TiledCopy
    from tilewright.cute.tiled.tiled_mma import TiledMma
    from tilewright.kernels.gemm.run import Plan
    from tilewright.numeric import Numeric

    AnyLayout: TypeAlias = Layout | ComposedLayout
    # What a function that is launched again returns: its result, and the launch if it can be repeated.
    Answer: TypeAlias = tuple["T", Prepared | None]
    DType: TypeAlias = type[Numeric] | torch.dtype | DTypeLike

__all__ = [
    "Answer",
    "AnyLayout",
    "Array",
    "DType",
    "Divided",
    "GemmKeywords",
    "Launched",
    "Planned",
    "S",
    "SupportsDLPack",
    "T",
    "Tuned",
]

P = ParamSpec("P")
Q = ParamSpec("Q")
R = ParamSpec("R")
S = TypeVar("S")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
S_co = TypeVar("S_co", covariant=True)
U = ParamSpec("U")
V_co = TypeVar("V_co", covariant=True)


class SupportsDLPack(Protocol):
    """An array of torch, NumPy, CuPy, JAX or another library that speaks DLPack, or a Tensor."""

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any:
        """Its memory, in a capsule."""


Array = TypeVar("Array", bound=SupportsDLPack)
Divided = TypeVar("Divided", "Layout", "ComposedLayout", "Tensor")  # what an operation gives back in its kind


class Launched(Protocol[P, T_co]):
    """A function whose launches are repeated without Python: `tilewright._core.cuda.Launcher`."""

    parameters: tuple[str, ...]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T_co:
        """The result of the function."""

    def clear(self) -> None:
        """Forget all launches."""


class Planned(Launched[P, T_co], Protocol[P, T_co, Q, S_co]):
    """One whose plan can be had."""

    @property
    def plan(self) -> Callable[Q, S_co]:
        """Makes the plan of a call."""


class Tuned(Planned[P, T_co, Q, S_co], Protocol[P, T_co, Q, S_co, R, U, V_co]):
    """One whose plans can be measured, and the device by which they are chosen."""

    @property
    def tune(self) -> Callable[R, S_co]:
        """Makes the fastest plan of a call."""

    @property
    def calibrate(self) -> Callable[U, V_co]:
        """Measures the device."""


class GemmKeywords(TypedDict, total=False):
    """The fields of GemmRequest as keywords, of kernels.gemm.plan and kernels.gemm.tune."""

    alpha: float
    beta: float
    bias: SupportsDLPack | None
    activation: str | None
    plan: Plan | None
    tiled_mma: TiledMma | None
    tiled_copy_a: TiledCopy | None
    tiled_copy_b: TiledCopy | None
    tiler_mnk: tuple[int, int, int] | None
    stages: int | None
    out_dtype: DType
    allow_tf32: bool
    stream: int | None

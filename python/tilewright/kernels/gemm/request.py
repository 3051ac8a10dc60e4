"""What a call of kernels.gemm asks for."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from tilewright._core import LayoutError
from tilewright._names import did_you_mean
from tilewright.cute.int_tuple import text
from tilewright.numeric import TFloat32

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tilewright._typing import DType, SupportsDLPack
    from tilewright.cute.tiled.tiled_copy import TiledCopy
    from tilewright.cute.tiled.tiled_mma import TiledMma
    from tilewright.kernels.gemm.run import Plan

__all__ = ["DEFAULTS", "GemmRequest"]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class GemmRequest:
    """The keywords of a call of kernels.gemm, which says what each means.

    >>> GemmRequest(allow_tf32=True).in_tf32
    True
    """

    alpha: float = 1
    beta: float = 0
    bias: SupportsDLPack | None = None
    activation: str | None = None
    plan: Plan | None = None
    tiled_mma: TiledMma | None = None
    tiled_copy_a: TiledCopy | None = None
    tiled_copy_b: TiledCopy | None = None
    tiler_mnk: tuple[int, int, int] | None = None
    stages: int | None = None
    out_dtype: DType = None
    allow_tf32: bool = False
    stream: int | None = None

    @classmethod
    def of(cls, function: str, keywords: Mapping[str, Any]) -> GemmRequest:
        """The request of a call with these keywords; TypeError where there is no such keyword."""
        unknown = [name for name in keywords if name not in DEFAULTS]
        if unknown:
            meant = did_you_mean(unknown[0], DEFAULTS)
            raise TypeError(f"{function}: no argument is named {unknown[0]}; there are {', '.join(DEFAULTS)}{meant}")
        return cls(**keywords)

    @property
    def parts(self) -> dict[str, Any]:
        """What is given of a plan."""
        return {name: getattr(self, name) for name in PARTS}

    @property
    def launch_key(self) -> tuple[Any, ...]:
        """What tells launches for the same kinds of tensors apart."""
        return tuple(getattr(self, name) for name in DEFAULTS if name not in ("bias", "stream"))

    @property
    def in_tf32(self) -> bool:
        """Whether elements of Float32 are multiplied in TF32."""
        if self.plan is not None:
            return TFloat32 in self.plan.problem[:2]
        return self.allow_tf32 if self.tiled_mma is None else self.tiled_mma.op.a_dtype is TFloat32

    def require(self, function: str) -> None:
        """TypeError where something is of another kind, LayoutError where the TiledMma does not divide the tiler."""
        from tilewright.cute.tiled.tiled_copy import TiledCopy
        from tilewright.cute.tiled.tiled_mma import TiledMma
        from tilewright.kernels.gemm.composite.plan import CompositeGemm
        from tilewright.kernels.gemm.plan import GemmPlan

        given = [name for name, part in self.parts.items() if part is not None]
        if type(self.allow_tf32) is not bool:
            raise TypeError(f"{function}: expected allow_tf32 to be True or False, but got {self.allow_tf32!r}")
        if self.plan is not None:
            if not isinstance(self.plan, (GemmPlan, CompositeGemm)):
                raise TypeError(f"{function}: expected plan to be a GemmPlan, but got {type(self.plan).__name__}")
            if given:
                raise TypeError(
                    f"{function}: pass a plan or {given[0]}, not both; plan.replace gives a plan with other parts"
                )
        for name, kind in (("tiled_mma", TiledMma), ("tiled_copy_a", TiledCopy), ("tiled_copy_b", TiledCopy)):
            part = getattr(self, name)
            if part is not None and not isinstance(part, kind):
                raise TypeError(f"{function}: expected {name} to be a {kind.__name__}, but got {type(part).__name__}")
        tiler, stages = self.tiler_mnk, self.stages
        if tiler is not None and not (
            isinstance(tiler, tuple) and len(tiler) == 3 and all(type(t) is int and t > 0 for t in tiler)
        ):
            raise TypeError(
                f"{function}: expected tiler_mnk to be three positive integers (bM,bN,bK), but got {tiler!r}"
            )
        if stages is not None and (type(stages) is not int or stages < 1):
            raise TypeError(f"{function}: expected stages to be a positive integer, but got {stages!r}")
        if self.tiled_mma is not None:
            if tiler is not None:
                require_divides(function, self.tiled_mma, tiler)
        elif alone := [name for name in given if name.startswith("tiled_copy")]:
            raise TypeError(f"{function}: {alone[0]} is of use with a tiled_mma only; pass one")


DEFAULTS: dict[str, Any] = {field.name: field.default for field in fields(GemmRequest)}
PARTS = ("tiled_mma", "tiled_copy_a", "tiled_copy_b", "tiler_mnk", "stages")


def require_divides(function: str, tiled_mma: Any, tiler: tuple[int, int, int]) -> None:
    """LayoutError where a TiledMma does not fill the tile of a CTA."""
    for mode, name in enumerate("MNK"):
        size = tiled_mma.get_tile_size(mode)
        if tiler[mode] % size:
            raise LayoutError(
                f"{function}: tiler_mnk {text(tiler)} has {tiler[mode]} along {name}, but the TiledMma multiplies "
                f"tiles of {size} there; use a multiple of {size}"
            )

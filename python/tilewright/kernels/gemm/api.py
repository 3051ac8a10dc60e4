"""GEMMs of tensors of any library: `gemm`, `gemm.plan`, `gemm.tune`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright._names import did_you_mean
from tilewright._traceback import REFUSALS, short, shorten
from tilewright.kernels.common.launch import launched_again, require_stream

if TYPE_CHECKING:
    from collections.abc import Callable
    from inspect import Signature
    from typing import TypedDict

    from typing_extensions import Unpack

    from tilewright._typing import Answer, Array, DType, SupportsDLPack
    from tilewright.cute.tiled.tiled_copy import TiledCopy
    from tilewright.cute.tiled.tiled_mma import TiledMma
    from tilewright.kernels.gemm.operands import GemmOperands
    from tilewright.kernels.gemm.run import Plan

    class Asked(TypedDict, total=False):
        """The keywords of kernels.gemm."""

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


__all__ = ["gemm"]

NAME = "kernels.gemm"
# What may be asked for, and what is meant where it is not.
DEFAULTS: dict[str, Any] = {
    "alpha": 1, "beta": 0, "bias": None, "activation": None, "plan": None, "tiled_mma": None, "tiled_copy_a": None,
    "tiled_copy_b": None, "tiler_mnk": None, "stages": None, "out_dtype": None, "allow_tf32": False, "stream": None,
}  # fmt: skip


def _output(function: str, mA: Any, mB: Any, asked: dict[str, Any]) -> Any:
    """The array for the result where none is given."""
    from tilewright.kernels.gemm.operands import number
    from tilewright.kernels.gemm.output import empty_output

    if number(function, "beta", asked["beta"]) != 0:
        raise ValueError(f"{function}: beta is {asked['beta']}, but there is no mC to read; pass mC")
    plan, out_dtype = asked["plan"], asked["out_dtype"]
    return empty_output(function, mA, mB, plan.problem.c_type if hasattr(plan, "problem") else out_dtype)


def planned(
    function: str, mA: Any, mB: Any, mC: Any, asked: dict[str, Any], arch: str | None = None
) -> tuple[GemmOperands, Any]:
    """The operands of a call and its plan; None in place of the plan where C has no elements."""
    from tilewright.kernels.gemm.operands import gemm_operands
    from tilewright.kernels.gemm.request import plan_for, require_asked

    tf32 = require_asked(function, asked)
    operands = gemm_operands(
        function,
        mA,
        mB,
        mC,
        alpha=asked["alpha"],
        beta=asked["beta"],
        bias=asked["bias"],
        activation=asked["activation"],
        tf32=tf32,
        out_dtype=asked["out_dtype"],
        stream=asked["stream"],
    )
    return operands, None if operands.empty else plan_for(function, operands, asked, arch)


def _all(asked: Asked, function: str) -> dict[str, Any]:
    unknown = [name for name in asked if name not in DEFAULTS]
    if unknown:
        meant = did_you_mean(unknown[0], DEFAULTS)
        raise TypeError(f"{function}: no argument is named {unknown[0]}; there are {', '.join(DEFAULTS)}{meant}")
    return {**DEFAULTS, **asked}


@short
def _plan(
    mA: SupportsDLPack,
    mB: SupportsDLPack,
    mC: SupportsDLPack | None = None,
    *,
    arch: str | None = None,
    **asked: Unpack[Asked],
) -> Plan:
    """The plan of kernels.gemm for these tensors and keywords, without running it.

    `arch` is the architecture to plan for: that of the tensors' device, and sm_90a for CPU tensors.
    ValueError where mC has no elements.
    """
    function = f"{NAME}.plan"
    full = _all(asked, function)
    require_stream(function, full["stream"])
    operands, plan = planned(function, mA, mB, _output(function, mA, mB, full) if mC is None else mC, full, arch)
    if plan is None:
        raise ValueError(f"{function}: {operands.c} has no elements, so there is nothing to plan")
    return plan  # type: ignore[no-any-return]


@short
def _tune(mA: SupportsDLPack, mB: SupportsDLPack, mC: SupportsDLPack | None = None, **asked: Unpack[Asked]) -> Plan:
    """The fastest plan of kernels.gemm for these tensors and keywords, measured on their GPU, and kept on disk.

    mC is written. What was measured before, on a device of that name with that driver and these kernels, is not
    measured again; kernels.gemm takes it from then on. Progress is shown on a terminal and in a
    notebook, there by tqdm where it is installed.
    ValueError for tensors that are not on a GPU.
    """
    from tilewright.kernels.gemm.choose.tune import tune

    function = f"{NAME}.tune"
    full = _all(asked, function)
    require_stream(function, full["stream"])
    return tune(function, mA, mB, _output(function, mA, mB, full) if mC is None else mC, full)


@launched_again(plan=_plan, tune=_tune)
def gemm(
    mA: Array,
    mB: SupportsDLPack,
    mC: Array | None = None,
    *,
    alpha: float = 1,
    beta: float = 0,
    bias: SupportsDLPack | None = None,
    activation: str | None = None,
    plan: Plan | None = None,
    tiled_mma: TiledMma | None = None,
    tiled_copy_a: TiledCopy | None = None,
    tiled_copy_b: TiledCopy | None = None,
    tiler_mnk: tuple[int, int, int] | None = None,
    stages: int | None = None,
    out_dtype: DType = None,
    allow_tf32: bool = False,
    stream: int | None = None,
) -> Answer[Array]:
    """C(m, n) = activation(alpha * sum over k of A(m, k) B(n, k) + beta * C(m, n) + bias). Returns mC.

    As in CuTe, mA is (M,K), mB is (N,K) and mC is (M,N), each with the modes of a batch behind them; those of A and B
    may have extent 1, or be missing at the end. Strides are any: row, column, padded, sliced, reversed, broadcast.
    Elements of A and B are Float16, BFloat16, Float32 (multiplied in TF32 if `allow_tf32`), Float64, Float8E4M3FN,
    Float8E5M2, Int8 or Uint8; sums are Float32, Float64 or Int32. `bias` is (N) or (1,N), or (M) or (M,1); where M is
    N, (N) lies along N. `activation` is "relu", "gelu", "gelu_tanh" or "silu". Where beta is 0, mC is not read. Where
    mC is None it is made, of `out_dtype`: by default the type of A, BFloat16 for float8, Int32 for integers.

    A plan is chosen unless one is given, or a `tiled_mma` with its copies and tiler; `tiler_mnk` and `stages` alone
    choose among the plans that have them. On a GPU the work is enqueued on the current stream of the tensors' library,
    or on `stream`. CPU tensors are multiplied by the same plan.

    Raises LayoutError for shapes that do not agree, for an mC that has one element for several coordinates or overlaps
    another tensor, for a tiler that the TiledMma does not divide and for tiles that shared memory does not hold;
    TypeError for element types that no atom takes; ValueError for different devices, a read-only mC, an unknown
    activation, a plan that does not fit or whose instructions the device lacks; BufferError for a tensor that
    requires grad. A call that repeats an earlier one at
    other addresses is launched again without these checks, but for overlaps. torch's autograd is not told of it:
    tilewright.torch.matmul is an operation of torch.
    Source: CuTe C++ `examples/cute/tutorial/sgemm_1.cu`, for the name and the modes.

    >>> import numpy
    >>> from tilewright import kernels
    >>> a = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    >>> b = numpy.ones((4, 3), numpy.float32)
    >>> kernels.gemm(a, b, alpha=0.5, bias=numpy.arange(4, dtype=numpy.float32))
    array([[1.5, 2.5, 3.5, 4.5],
           [6. , 7. , 8. , 9. ]], dtype=float32)
    """
    try:
        given = (
            alpha, beta, bias, activation, plan, tiled_mma, tiled_copy_a, tiled_copy_b, tiler_mnk, stages, out_dtype,
            allow_tf32, stream,
        )  # fmt: skip
        asked = dict(zip(DEFAULTS, given, strict=True))
        require_stream(NAME, stream)
        if mC is None:
            changed: dict[str, Any] = {name: x for name, x in asked.items() if x is not DEFAULTS[name]}
            return gemm(mA, mB, _output(NAME, mA, mB, asked), **changed), None
        from tilewright.kernels.gemm import run as gemm_run

        operands, fitting = planned(NAME, mA, mB, mC, asked)
        return mC, None if fitting is None else gemm_run.execute(fitting, operands, stream, POSITIONS)
    except REFUSALS as error:
        shorten(error)
        raise


POSITIONS = (0, 1, 2, gemm.parameters.index("bias"))


class _WithKeywords:
    """A function as inspect and help() see it: with the keywords of kernels.gemm in the place of **asked."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    @property
    def __signature__(self) -> Signature:
        from inspect import signature  # which few programs need, and which takes time to import

        own, every = signature(self.function), signature(gemm).parameters
        return own.replace(parameters=[*list(own.parameters.values())[:-1], *(every[name] for name in DEFAULTS)])


for _function in (_plan, _tune):
    _function.__wrapped__ = _WithKeywords(_function.__wrapped__)  # type: ignore[attr-defined]

"""GEMMs of tensors of any library: `gemm`, `gemm.plan`, `gemm.tune`, `gemm.calibrate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright._traceback import REFUSALS, short, shorten
from tilewright.kernels.common.launch import launched_again, require_stream

if TYPE_CHECKING:
    from collections.abc import Callable
    from inspect import Signature

    from typing_extensions import Unpack

    from tilewright._typing import Answer, Array, DType, GemmKeywords, SupportsDLPack
    from tilewright.cute.tiled.tiled_copy import TiledCopy
    from tilewright.cute.tiled.tiled_mma import TiledMma
    from tilewright.kernels.gemm.calibrate.calibrate import Calibrated
    from tilewright.kernels.gemm.run import Plan

__all__ = ["gemm"]

NAME = "kernels.gemm"


@short
def _plan(
    mA: SupportsDLPack,
    mB: SupportsDLPack,
    mC: SupportsDLPack | None = None,
    *,
    arch: str | None = None,
    **keywords: Unpack[GemmKeywords],
) -> Plan:
    """The plan of kernels.gemm for these tensors and keywords, without running it.

    `arch` is the architecture to plan for: that of the tensors' device, and sm_90a for CPU tensors.
    ValueError where mC has no elements.
    """
    from tilewright.kernels.gemm.choose.planned import planned
    from tilewright.kernels.gemm.request import GemmRequest

    function = f"{NAME}.plan"
    request = GemmRequest.of(function, keywords)
    operands, plan = planned(function, mA, mB, mC, request, arch)
    if plan is None:
        raise ValueError(f"{function}: {operands.c} has no elements, so there is nothing to plan")
    return plan  # type: ignore[no-any-return]


@short
def _tune(
    mA: SupportsDLPack, mB: SupportsDLPack, mC: SupportsDLPack | None = None, **keywords: Unpack[GemmKeywords]
) -> Plan:
    """The fastest plan of kernels.gemm for these tensors and keywords, measured on their GPU, and kept on disk.

    At most twelve plans are compiled, on all cores, and measured: those that are expected to be the fastest. mC is
    written. What was measured before, on a device of that name with that driver and these kernels, is not
    measured again; kernels.gemm takes it from then on. Progress is shown on a terminal and in a
    notebook, there by tqdm where it is installed.
    ValueError for tensors that are not on a GPU.
    """
    from tilewright.kernels.gemm.choose.tune import tune
    from tilewright.kernels.gemm.request import GemmRequest

    function = f"{NAME}.tune"
    return tune(function, mA, mB, mC, GemmRequest.of(function, keywords))


@short
def _calibrate(device: int | None = None, *, seconds: float = 110) -> Calibrated:
    """Measure what plans of GEMMs are chosen by on a CUDA device, and keep it for this process and later ones.

    `device` is its number, by default that of the current one. It takes up to about so many `seconds`, of which half
    go to compiling on all cores, and holds about 0.7 GB of the device's memory (more where its L2 is larger than
    60 MiB); nothing else should run there. Measured are the memory's bandwidth, gemm_simt and, on devices of sm_90,
    gemm_sm90. Of less time less is measured, and numbers stay as they are where fitted ones choose no faster plans.
    Progress is shown as by tune.

    The numbers go to a file of the user's folder of devices: $TILEWRIGHT_DEVICES_DIR ("off": none), else
    $XDG_DATA_HOME/tilewright/devices, else ~/.local/share/tilewright/devices. They are taken for all devices of that
    name, before those of the package, until the file is removed. One of another tilewright, whose models have other
    numbers, or that others than the user can write, is not taken, and a warning says so.

    Returns what was found, with the file's name. Stopped (KeyboardInterrupt), it leaves what was there before.
    ValueError where there is no such device or calibrations are switched off; OSError where the file cannot be written.

    >>> from tilewright import kernels
    >>> kernels.gemm.calibrate(seconds=0)
    Traceback (most recent call last):
    ValueError: kernels.gemm.calibrate: seconds is 0, but it must be a positive number of seconds, such as 110
    """
    from tilewright.kernels.gemm.calibrate.calibrate import calibrate

    return calibrate(device, seconds)


@launched_again(plan=_plan, tune=_tune, calibrate=_calibrate)
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
        arguments = locals()
        from tilewright.kernels.gemm import run as gemm_run
        from tilewright.kernels.gemm.choose.planned import output_for, planned
        from tilewright.kernels.gemm.request import DEFAULTS, GemmRequest

        given = {name: x for name, default in DEFAULTS.items() if (x := arguments[name]) is not default}
        require_stream(NAME, stream)
        if mC is None:
            return gemm(mA, mB, output_for(NAME, mA, mB, beta, plan, out_dtype), **given), None
        operands, fitting = planned(NAME, mA, mB, mC, GemmRequest(**given))
        return mC, None if fitting is None else gemm_run.execute(fitting, operands, stream, POSITIONS)
    except REFUSALS as error:
        shorten(error)
        raise


POSITIONS = (0, 1, 2, gemm.parameters.index("bias"))


class _WithKeywords:
    """A function as inspect and help() see it: with the keywords of kernels.gemm in the place of **keywords."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    @property
    def __signature__(self) -> Signature:
        from inspect import signature  # which few programs need, and which takes time to import

        from tilewright.kernels.gemm.request import GemmRequest

        own, keywords = signature(self.function), signature(GemmRequest).parameters.values()
        return own.replace(parameters=[*list(own.parameters.values())[:-1], *keywords])


for _function in (_plan, _tune):
    _function.__wrapped__ = _WithKeywords(_function.__wrapped__)  # type: ignore[attr-defined]

"""`python -m tilewright cache build`: kernels compiled ahead, on all cores, without a GPU."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright._names import did_you_mean
from tilewright._program import program
from tilewright.devices import DEVICES, DeviceFacts
from tilewright.explore.command import Parser, stoppable
from tilewright.explore.workload import plans_of_file, problems_of_word
from tilewright.kernels.common.ahead import compile_ahead, kernels_of
from tilewright.kernels.common.launch import facts_of
from tilewright.kernels.gemm.choose.choose import choose_gemm
from tilewright.runtime import folder as folders
from tilewright.runtime.cache import default_cache
from tilewright.runtime.errors import NvrtcError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.kernels.gemm.problem import GemmProblem
    from tilewright.runtime.cache import Cache

__all__ = ["build_command"]

ALIGNED = (256, 256, 256)  # bytes of whose multiple the tensors of libraries begin
BELOW = """\
A word of --for is MxNxK,TYPE: the GEMM C (M,N) = A (M,K) B (N,K). An extent may be a range of doubles: 1..4096. Behind
further commas: a=m and b=n say which mode of A and B is contiguous (by default k), out=f32 is the type of C, bias=n,
activation=relu|gelu|gelu_tanh|silu, alpha=2, beta=1, batch=8. Types are bf16, f16, f32, tf32, f64, f8E4M3FN, i8, ...

Or a word has the sizes of a transformer's layers, which its configuration file has: hidden=, intermediate=, heads=,
kv_heads=, head_dim=, vocab=. The products of its projections for tokens=1..16384 are compiled (query, key and value
together and alone; gate and up together and alone), and with `training` those of their gradients.

A file of --plans that ends in .json is a list of such GEMMs: [{"m": 4096, "n": 4096, "k": 4096, "dtype": "bf16",
"b": "n"}, ...]. Any other is Python that defines `plans`, a list of plans of any kernel:

    from tilewright import kernels
    plans = [kernels.gemm.plan(a, b, arch="sm_90a"), kernels.tiled_copy.plan(x, y)]

What is compiled lands in the folder that `cache list` names. Kernels that are there already are counted, not compiled
again. Ctrl-C stops between kernels; what is compiled by then is kept. To share the folder, name it in
TILEWRIGHT_CACHE_PATH where tilewright and NVRTC have the same versions.
Plans are those of the device that is here, if it has the architecture, else of the usual one of the architecture.
"""


def build_command(arguments: Sequence[str]) -> int:
    """Run `cache build ARGUMENTS`; the exit status.

    It is 0; 1 if a file cannot be read, or kernels not be compiled or kept; 2 if the arguments are not understood; 130
    if it was stopped.
    """
    try:
        return stoppable("cache build", lambda: _build(arguments), "what was compiled is kept")
    except OSError as error:
        reason = f"cannot read {error.filename}: {error.strerror}" if error.filename else str(error)
        print(f"{program()} cache build: {reason}", file=sys.stderr)
        return 1
    except ValueError as error:
        print(f"{program()} cache build: {error}", file=sys.stderr)
        return 2


def _build(arguments: Sequence[str]) -> int:
    parser = Parser("cache build", "Compile kernels ahead, on all cores, without a GPU, for a later launch.", BELOW)
    parser.add_argument("--for", nargs="+", action="extend", dest="words", metavar="SIZES", help="GEMMs by their sizes")
    parser.add_argument("--plans", action="append", default=[], metavar="FILE", help="a list of GEMMs, or of plans")
    parser.add_argument("--arch", metavar="ARCH", help="such as sm_90a; default: that of the device, if there is one")
    parser.add_argument("--jobs", type=int, metavar="N", help="kernels that are compiled at a time; default: all cores")
    given = parser.parse_args(arguments)
    if not given.words and not given.plans:
        raise ValueError("say what to compile: --for 4096x4096x4096,bf16 or --plans FILE; --help says more")
    if given.jobs is not None and given.jobs < 1:
        raise ValueError(f"--jobs {given.jobs}: it must be at least 1")
    arch, facts = _device(given.arch)
    problems: list[GemmProblem] = [x for word in given.words or () for x in problems_of_word(word)]
    plans: list[Any] = []
    for file in given.plans:
        more, found = plans_of_file(file)
        problems += more
        plans += found
    cache = default_cache()
    if cache is None:
        raise OSError(f"the disk cache is {folders.WHY_NONE}, so that nothing would be kept")
    wanted = dict.fromkeys(problems)
    plans += [choose_gemm(problem, ALIGNED, facts) for problem in wanted]
    kernels = kernels_of(plans)
    print(f"{arch}, as planned for {facts.name}: plans {len(plans)}, kernels {len(kernels)}", flush=True)
    try:
        done = compile_ahead(kernels, arch, "compiling", given.jobs)
    except NvrtcError as error:
        raise OSError(str(error)) from None
    return _report(cache, kernels, arch, done)


def _device(arch: str | None) -> tuple[str, DeviceFacts]:
    """The architecture to compile for and the device to plan for."""
    here = None
    if _core.cuda.driver_path() is not None and _core.cuda.device_count() > 0:
        here = facts_of(0)
    if here is not None and arch in (None, here.arch):
        return here.arch, here
    if arch is None:
        raise ValueError(
            f"there is no GPU here whose architecture it could be; add --arch, one of {', '.join(DEVICES)}"
        )
    if arch not in DEVICES:
        meant = did_you_mean(arch, DEVICES)
        raise ValueError(f"--arch {arch}: it must be one of {', '.join(DEVICES)}{meant}")
    return arch, DEVICES[arch]


def _report(cache: Cache, kernels: list[Any], arch: str, done: Any) -> int:
    """Say what was done; 1 where something is not in the cache."""
    failed = dict(done.failed)
    for plan, error in failed.items():
        print(f"{program()} cache build: {plan.name}: {str(error).splitlines()[0]}", file=sys.stderr)
    keys = [plan.compiled(arch).key for plan in kernels if plan not in failed]
    lost = sum(cache.get(key) is None for key in keys)
    print(f"{done.compiled} compiled, {done.found} were there already, in {cache.folder}")
    if lost:
        mib = cache.limit_bytes >> 20
        print(
            f"{program()} cache build: {lost} could not be kept: the folder holds {mib} MiB "
            "(TILEWRIGHT_CACHE_SIZE), or cannot be written",
            file=sys.stderr,
        )
    return 1 if failed or lost else 0

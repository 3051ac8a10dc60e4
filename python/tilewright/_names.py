"""Names: what is imported when it is first used, and what a name that is unknown was meant to be."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tilewright._boundary import at_boundary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["did_you_mean", "names_of"]

# What CUDA C++, Triton, Numba and older versions of CuTeDSL call it, and where it is here.
_ELSEWHERE = {
    "threadIdx": "cute.arch.thread_idx",
    "blockIdx": "cute.arch.block_idx",
    "blockDim": "cute.arch.block_dim",
    "gridDim": "cute.arch.grid_dim",
    "program_id": "cute.arch.block_idx",
    "num_programs": "cute.arch.grid_dim",
    "syncthreads": "cute.arch.sync_threads",
    "syncwarp": "cute.arch.sync_warp",
    "debug_barrier": "cute.arch.sync_threads",
    "shfl_sync": "cute.arch.shuffle_sync",
    "shfl_up_sync": "cute.arch.shuffle_sync_up",
    "shfl_down_sync": "cute.arch.shuffle_sync_down",
    "shfl_xor_sync": "cute.arch.shuffle_sync_bfly",
    "ballot_sync": "cute.arch.vote_ballot_sync",
    "any_sync": "cute.arch.vote_any_sync",
    "all_sync": "cute.arch.vote_all_sync",
    "atomic": "cute.arch.atomic_add",
    "atomicAdd": "cute.arch.atomic_add",
    "cdiv": "cute.ceil_div",
    "constexpr": "cutlass.Constexpr",
    "dot": "cute.gemm",
    "local": "cute.make_rmem_tensor",
    "make_fragment": "cute.make_rmem_tensor",
    "maximum": "cute.math.max",
    "minimum": "cute.math.min",
    "rint": "cute.math.floor",
    "round": "cute.math.floor",
    "shared": "cutlass.utils.SmemAllocator",
    "shared_memory": "cutlass.utils.SmemAllocator",
    "static_range": "cutlass.range_constexpr",
    "zeros": "cute.full",
}


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the known one that is most like it, if one is.

    >>> did_you_mean("make_layot", ["make_layout", "composition"])
    ". Did you mean: 'make_layout'?"
    >>> did_you_mean("xyz", ["make_layout"])
    ''
    """
    from difflib import get_close_matches

    known = list(known)
    found = get_close_matches(name, known, 1) or get_close_matches(name.lower(), known, 1)
    return f". Did you mean: {found[0]!r}?" if found else ""


def _meant(package: str, name: str, known: Iterable[str]) -> str:
    """The same, where the name may be one of another tool."""
    other = _ELSEWHERE.get(name)
    if other is None:
        return did_you_mean(name, known)
    where, _, short = other.rpartition(".")
    return f". Did you mean: {short if package.endswith(f'.{where}') else other!r}?"


def names_of(
    package: str, lazy: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a module with an `__all__`.

    `lazy` says where each name is found that is imported when it is first used: in that module, as that module, or as
    `module:name` under another name.

    >>> __getattr__, __dir__ = names_of("tilewright.kernels")
    >>> __getattr__("gem")
    Traceback (most recent call last):
    AttributeError: module 'tilewright.kernels' has no attribute 'gem'. Did you mean: 'gemm'?
    """
    places = lazy or {}

    def find(name: str) -> Any:
        module = sys.modules[package]
        if name in places:
            where, _, other = places[name].partition(":")
            place = import_module(where)
            is_module = place.__name__.rpartition(".")[2] == name and not other and name not in vars(place)
            value = place if is_module else at_boundary(getattr(place, other or name))
            setattr(module, name, value)
            return value
        # `from package import module` asks for the module as a name first, and reads no message. Programs ask for names
        # such as __path__.
        unread = sys._getframe(1).f_globals.get("__name__") == "importlib._bootstrap" or name.startswith("__")
        meant = "" if unread else _meant(package, name, module.__all__)
        # Without `name`, so that Python does not add a suggestion of its own.
        raise AttributeError(f"module {package!r} has no attribute {name!r}{meant}", obj=module)

    def names() -> list[str]:
        module = sys.modules[package]
        return sorted({*(name for name in vars(module) if name.startswith("__")), *module.__all__})

    return find, names

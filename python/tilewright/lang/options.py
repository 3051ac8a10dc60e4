"""Options of cute.compile: as classes in brackets, `cute.compile[KeepPTX, OptLevel(1)](f)`, or as text."""

from __future__ import annotations

import dataclasses
import shlex
from typing import Any

from tilewright._boundary import shown
from tilewright._names import did_you_mean

__all__ = [
    "EnableAssertions",
    "GPUArch",
    "GenerateLineInfo",
    "KeepCUBIN",
    "KeepPTX",
    "OptLevel",
    "Options",
    "PtxasOptions",
    "options_of",
]


@dataclasses.dataclass(frozen=True)
class Options:
    """What a compilation is asked for.

    `opt_level`: 0 to 3. `gpu_arch`: an architecture such as sm_90a; None: that of the device, or sm_90a. PTX and CUBIN
    are attributes of the compiled function in any case, assertions are checked and lines told in any case;
    enable_tvm_ffi asks for torch tensors as arguments, which are taken anyway, and for exports that TVM's FFI calls.
    """

    opt_level: int = 3
    enable_assertions: bool = False
    keep_ptx: bool = False
    keep_cubin: bool = False
    generate_line_info: bool = False
    ptxas_options: str = ""
    gpu_arch: str | None = None
    enable_tvm_ffi: bool = False

    @property
    def nvrtc_options(self) -> tuple[str, ...]:
        """What NVRTC is told: options of ptxas, each with its value.

        >>> options_of((), "--opt-level 1 --ptxas-options '--maxrregcount 64 -v'").nvrtc_options
        ('--ptxas-options=-O1', '--ptxas-options=--maxrregcount=64', '--ptxas-options=-v')
        """
        found = [] if self.opt_level == 3 else [f"-O{self.opt_level}"]
        for word in shlex.split(self.ptxas_options):
            if word.startswith("-") or not found:
                found.append(word)
            else:
                found[-1] += f"={word}"
        return tuple(f"--ptxas-options={one}" for one in found)


class Option:
    """One option with its value; the class alone stands for True."""

    field: str

    def __init__(self, value: Any = True) -> None:
        self.value = value


class OptLevel(Option):
    """How much the compiler optimises, 0 to 3.

    >>> options_of(OptLevel(1)).opt_level
    1
    """

    field = "opt_level"


class EnableAssertions(Option):
    """Keep the assertions of kernels.

    >>> options_of(EnableAssertions).enable_assertions
    True
    """

    field = "enable_assertions"


class KeepPTX(Option):
    """Keep the PTX.

    >>> options_of(KeepPTX).keep_ptx
    True
    """

    field = "keep_ptx"


class KeepCUBIN(Option):
    """Keep the CUBIN.

    >>> options_of(KeepCUBIN).keep_cubin
    True
    """

    field = "keep_cubin"


class GenerateLineInfo(Option):
    """Say in the machine code which line of Python each instruction comes from.

    >>> options_of(GenerateLineInfo(True)).generate_line_info
    True
    """

    field = "generate_line_info"


class PtxasOptions(Option):
    """Options for ptxas, as text.

    >>> options_of(PtxasOptions("-v")).ptxas_options
    '-v'
    """

    field = "ptxas_options"


class GPUArch(Option):
    """The architecture to compile for.

    >>> options_of(GPUArch("sm_90a")).gpu_arch
    'sm_90a'
    """

    field = "gpu_arch"


_TEXT = {f"--{field.name.replace('_', '-')}": field.name for field in dataclasses.fields(Options)}
_VALUES = ("opt_level", "ptxas_options", "gpu_arch")


def options_of(given: Any, text: str | None = None) -> Options:
    """The options in brackets and those of a text; ValueError for one that is not known.

    >>> options_of(KeepPTX, "--opt-level 2 --gpu-arch sm_90a")
    Options(opt_level=2, enable_assertions=False, keep_ptx=True, keep_cubin=False, generate_line_info=False, \
ptxas_options='', gpu_arch='sm_90a', enable_tvm_ffi=False)
    >>> options_of((), "--optlevel 2")
    Traceback (most recent call last):
    ValueError: compile: unknown option '--optlevel'. Did you mean: '--opt-level'?
    """
    found: dict[str, Any] = {}
    for one in given if isinstance(given, tuple) else (given,):
        option = one() if isinstance(one, type) and issubclass(one, Option) else one
        if not isinstance(option, Option):
            raise TypeError(f"compile: expected options such as KeepPTX or OptLevel(1), but got {shown(one)}")
        found[option.field] = option.value
    if not (text is None or isinstance(text, str)):
        raise TypeError(f"compile: expected options to be a text such as '--opt-level 2', but got {shown(text)}")
    words = iter(shlex.split(text or ""))
    for word in words:
        name, _, value = word.partition("=")
        field = _TEXT.get(name)
        if field is None:
            raise ValueError(f"compile: unknown option {name!r}{did_you_mean(name, _TEXT)}")
        if field not in _VALUES:
            found[field] = True
            continue
        if not value:
            value = next(words, "")
        if not value:
            raise ValueError(f"compile: the option {name} needs a value")
        found[field] = value
    if "opt_level" in found:
        level = str(found["opt_level"])
        if level not in ("0", "1", "2", "3"):
            raise ValueError(f"compile: --opt-level is {level}; expected 0 to 3")
        found["opt_level"] = int(level)
    return Options(**found)

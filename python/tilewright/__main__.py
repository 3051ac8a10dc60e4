"""The command line: the thread-value program, layouts in a terminal, the state of this installation, the cache."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Any

from tilewright._program import MODULE, program

if TYPE_CHECKING:
    from collections.abc import Sequence

USAGE = """\
usage: python -m tilewright demo [--svg FILE]
       python -m tilewright show LAYOUT | OPERATION OPERAND... [--svg FILE] [--html FILE] [--png FILE] [--pdf FILE]
       python -m tilewright explain OPERATION OPERAND... | LAYOUT COORDINATE
       python -m tilewright analyze LAYOUT --dtype TYPE [--memory shared] [--width BYTES] [--base ADDRESS]
       python -m tilewright explore [--port N | --html FILE]
       python -m tilewright profile SCRIPT [ARGUMENT...]
       python -m tilewright doctor
       python -m tilewright calibrate [--device N] [--seconds S] [--remove]
       python -m tilewright cache list
       python -m tilewright cache show KEY [--source | --ptx | --cubin FILE]
       python -m tilewright cache clear
       python -m tilewright cache build [--for SIZES... | --plans FILE] [--arch ARCH] [--jobs N]
       python -m tilewright --version
       python -m tilewright --help

Layouts of CuTe, and kernels written in Python, without a GPU. To begin: show '(4,8):(8,1)', explore, doctor.

demo   run the thread-value program: 24 elements of a tensor, read by 4 threads of 6 values each; print what every
       thread reads and a table coloured by thread
       --svg FILE   also write the table as a picture
show   draw a layout such as '(4,8):(8,1)', or an operation such as composition with its operands
explain
       derive the result of an operation step by step
analyze
       predict sectors, bank conflicts and active lanes of the accesses that a layout of (threads, values) describes
explore
       serve an interactive page of all three on 127.0.0.1, or write it as one file that needs no server
profile
       run a script and list what each line of its kernels costs: sectors, wavefronts, bank conflicts, divergence
doctor say what compiling and launching kernels needs, what of it is there, and which command mends the rest;
       exit status 0 if kernels can be compiled and launched, else 1
calibrate
       measure what plans of GEMMs are chosen by on the GPU that is here, and keep it for all later processes
cache  list what has been compiled, show one program (the first digits of its key are enough): what it takes, its
       source, its PTX; --cubin FILE writes its machine code; clear removes everything; build compiles ahead, on all
       cores and without a GPU, what GEMMs of given sizes or the plans of a file need
`python -m tilewright show --help`, and so on, says more about each command
"""
HELP = {
    "demo": """\
Four threads read 24 elements of a tensor, 6 each, as the thread-value layout ((2,2),(2,3)):((2,12),(1,4)) says: it maps
(thread, value) to the index of an element. Printed are each thread's elements, then a table of the tensor in which T1V2
is value 2 of thread 1. With torch the tensor is torch's, else NumPy's. In Python:

    from tilewright import cute, kernels
    tv = cute.make_layout(((2, 2), (2, 3)), stride=((2, 12), (1, 4)))
    print(kernels.visualize_tv(cute.from_dlpack(array), tv))

--svg FILE  also writes the table as a picture
""",
    "doctor": """\
Says first what works here: layouts, pictures and analyses; kernels on the CPU; compiling kernels, which needs NVRTC;
launching them, which needs NVIDIA's driver and a GPU too. Then what was found, then for each thing that is missing the
command that brings it. Nothing is changed. The exit status is 0 if kernels can be compiled and launched, else 1: where
no GPU is wanted, 1 is no failure.
""",
    "cache": """\
What NVRTC compiled is kept on disk, so that the next process launches it at once. The folder is $TILEWRIGHT_CACHE_DIR
("off": none), else $XDG_CACHE_HOME/tilewright, else ~/.cache/tilewright; it holds $TILEWRIGHT_CACHE_SIZE MiB (512), and
what was used least recently goes first. It can be removed at any time; it only costs compiling again. Folders named by
$TILEWRIGHT_CACHE_PATH, separated as in PATH, are read too, and never written.

list        a line an entry: the first digits of its key, its size, when it was used, its kernel
show KEY    registers, spills and shared memory of one; --source, --ptx: its texts; --cubin FILE writes its machine code
clear       removes all of them
build       compiles ahead: `cache build --help` says what it takes
""",
}


def as_typed(text: str) -> str:
    """A text about the command line, with the command as it was typed."""
    return text.replace(MODULE, program())


def demo_tensor() -> Any:
    """24 integers in CPU memory: a torch tensor if torch is installed, else a NumPy array."""
    try:
        import torch
    except ImportError:
        import numpy

        return numpy.arange(24, dtype=numpy.int32).reshape(24, 1)
    return torch.arange(24, dtype=torch.int32).reshape(24, 1)


def demo(svg: str | None = None) -> None:
    from tilewright import cute, kernels

    tensor = cute.from_dlpack(demo_tensor(), assumed_align=16)
    tv_layout = cute.make_layout(shape=((2, 2), (2, 3)), stride=((2, 12), (1, 4)))
    result = kernels.visualize_tv(tensor, tv_layout)
    print(result)
    print()
    print(result.text())
    if svg is not None:
        with open(svg, "w", encoding="utf-8", newline="\n") as file:
            file.write(result.svg())


def main(arguments: Sequence[str]) -> int:
    """Run a command; the exit status: 0, 1 if a file cannot be written, 2 if the arguments are not understood."""
    match list(arguments):
        case ["-h" | "--help"]:
            print(as_typed(USAGE), end="")
        case ["demo" | "doctor" | "cache" as command, "-h" | "--help"]:
            for at, line in enumerate(_usage(command)):
                print("       " if at else "usage: ", as_typed(line), sep="")
            print(f"\n{HELP[command]}", end="")
        case ["demo"]:
            demo()
        case ["demo", "--svg", file]:
            try:
                demo(file)
            except OSError as error:
                print(f"{program()}: cannot write {file}: {error.strerror}", file=sys.stderr)
                return 1
        case ["doctor"]:
            from tilewright.explore.doctor import doctor

            return doctor()
        case ["show" | "explain" | "analyze" | "explore" | "profile", *_]:
            from tilewright.explore.command import layout_command

            return layout_command(arguments)
        case ["calibrate", *rest]:
            from tilewright.explore.calibrate import calibrate_command

            return calibrate_command(rest)
        case ["cache", "build", *rest]:
            from tilewright.explore.cache_build import build_command

            return build_command(rest)
        case ["cache", *rest]:
            from tilewright.runtime.command import cache_command

            status = cache_command(rest)
            return not_understood(arguments) if status == 2 else status
        case ["--version"]:
            from tilewright import __version__

            print(f"tilewright {__version__}")
        case _:
            return not_understood(arguments)
    return 0


def _usage(command: str) -> list[str]:
    """Its lines of the usage."""
    lines = [line[len("usage: ") :] for line in USAGE.partition("\n\n")[0].splitlines()]
    return [line for line in lines if line.split()[3] == command]


def not_understood(arguments: Sequence[str]) -> int:
    """Say which word is wrong, if one is, and what there is."""
    if not arguments:
        print(as_typed(USAGE), end="", file=sys.stderr)
        return 2
    from tilewright._names import did_you_mean

    lines = [line[len("usage: ") :] for line in USAGE.partition("\n\n")[0].splitlines()]
    commands = {line.split()[3]: line for line in lines}
    words, known = arguments[:1], list(commands)
    if words[0] in commands:
        lines = [line for line in lines if line.split()[3] == words[0]]
        words, known = arguments[1:], [x for line in lines for x in re.findall(r"[\w-]+", line)[4:]]
    else:
        lines = [f"{MODULE} {' | '.join(commands)}"]
    said = "not understood" if words else "an argument is missing"
    meant = next(filter(None, (did_you_mean(word, known) for word in words if word not in known)), "")
    print(
        f"{program()}: {said}: {' '.join(arguments)}{meant}",
        *(("       " if at else "usage: ") + as_typed(line) for at, line in enumerate(lines)),
        sep="\n",
        file=sys.stderr,
    )
    return 2


def run() -> int:
    """Run the command that was typed, as the console command `tilewright` and `python -m tilewright` do."""
    try:
        status = main(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:  # nobody reads on, as in `... | head`; what is left to be written goes nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    return status


if __name__ == "__main__":
    sys.exit(run())

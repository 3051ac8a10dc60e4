"""`python -m tilewright show|explain|analyze|explore|profile`: pictures, derivations, predictions in a terminal."""

from __future__ import annotations

import argparse
import sys
import textwrap
from typing import TYPE_CHECKING, Any, NoReturn

from tilewright import _core
from tilewright._names import did_you_mean
from tilewright._program import program
from tilewright.explore.operands import element_type, operand

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["layout_command"]

NOTATION = """\
Operands are written as CuTe prints them, in quotes: '(4,8):(8,1)', '(2,(2,_))', 'S<3,4,3> o 0 o (8,64):(64,1)',
'(8,4):(1@0,1@1)'; a tiler of layouts is '<4:1,(2,2):(1,4)>'.
"""
# What to type, by command; Parser puts it below what the command says.
EXAMPLES = {
    "show": (
        ("'(4,8):(8,1)'", "a table of offsets"),
        ("composition '(6,2):(8,2)' '(4,3):(3,1)' --at '(2,1)'", "one coordinate, followed through both layouts"),
        ("'((2,2),(2,3)):((2,12),(1,4))' --tile '(24,1)'", "which thread and value has which element"),
        ("'S<3,4,3> o 0 o (8,64):(64,1)' --svg swizzle.svg", "a picture in a file"),
    ),
    "explain": (
        ("composition '(6,2):(8,2)' '(4,3):(3,1)'", "each step, and the law that the result fulfils"),
        ("'(4,8):(8,1)' '(1,2)'", "the offset of a coordinate"),
    ),
    "analyze": (
        ("32:32 --dtype f32 --memory shared", "32 threads that read down a column: 32 ways"),
        ("'(32,4):(4,1)' --dtype f32", "each thread reads 4 neighbouring floats of global memory"),
    ),
    "explore": (("", "print the address to open in a browser"), ("--html layouts.html", "a file to send to somebody")),
    "cache build": (
        ("--arch sm_90a --for 4096x4096x4096,bf16 1..64x4096x4096,f16,b=n", "GEMMs by their sizes"),
        ("--for hidden=4096,intermediate=14336,heads=32,kv_heads=8,bf16", "a model's, for the GPU that is here"),
        ("--arch sm_80 --plans gemms.json", "a list of GEMMs, or Python with a list of plans"),
    ),
    "calibrate": (("", "measure the first GPU"), ("--device 1 --seconds 300", "another one, with more time")),
    "profile": (("train.py --steps 1", "the lines of its kernels, with what is wrong with each"),),
}
EXPLAINED = "an operation and its operands, or a layout and a coordinate"
FORMATS = {"svg": "SVG", "html": "a page of its own", "tikz": "LaTeX with TikZ", "png": "PNG", "pdf": "PDF"}


class Parser(argparse.ArgumentParser):
    """With a text below the options, as it is written, and with errors of one line that say what was meant."""

    def __init__(self, name: str, description: str, below: str = NOTATION) -> None:
        width = max(len(words) for words, _ in EXAMPLES[name])
        shown = "".join(f"  {program()} {name} {words:{width}}  # {what}\n" for words, what in EXAMPLES[name])
        super().__init__(
            prog=f"{program()} {name}",
            description=description,
            epilog=f"Examples:\n{shown}\n{below}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def parse_args(self, arguments: Sequence[str]) -> argparse.Namespace:  # type: ignore[override]
        for option in (word.partition("=")[0] for word in arguments if word.startswith("--")):
            if option not in self._option_string_actions:  # else what is missing would be named first
                self.error(f"there is no option {option}{did_you_mean(option, self._option_string_actions)}")
        return super().parse_args(arguments)

    def error(self, message: str) -> NoReturn:
        more = "" if message.endswith("?") else f"; `{self.prog} --help` says more"
        self.exit(2, f"{self.prog}: {message}{more}\n")


def _one_of(*names: str) -> Callable[[str], str]:
    """What an option takes."""

    def chosen(text: str) -> str:
        if text not in names:
            meant = did_you_mean(text, names)
            raise argparse.ArgumentTypeError(f"expected {', '.join(names[:-1])} or {names[-1]}, not {text!r}{meant}")
        return text

    return chosen


def _listed(what: str, names: Iterable[str]) -> str:
    """A paragraph of help."""
    return textwrap.fill(f"{what}: {', '.join(names)}.", 110) + "\n"


def stoppable(name: str, run: Callable[[], int], kept: str) -> int:
    """The exit status of a command that its arguments may end, 130 where its user does: then it says what is `kept`."""
    try:
        return run()
    except SystemExit as stop:  # argparse: --help, or arguments that it does not understand
        return int(stop.code or 0)
    except KeyboardInterrupt:
        print(f"{program()} {name}: stopped; {kept}", file=sys.stderr)
        return 130


def layout_command(arguments: Sequence[str]) -> int:
    """Run `show`, `explain`, `analyze`, `explore` or `profile` with its arguments; the exit status.

    It is 0; 1 if a file cannot be read or written or a port not be opened; of `profile` the script's; 2 if the
    arguments are not understood or have no answer, such as an operation without a result: what `show` and `explain`
    have to say of it is printed, and after it, on standard error, why there is none.

    >>> layout_command(["explain", "(4,8):(8,1)", "(1,2)"])
    crd2idx((1,2), (4,8):(8,1))
      (1,2) . (8,1) = 1*8 + 2*1 = 10
    result: 10
    0
    """
    name, *rest = arguments
    try:
        return COMMANDS[name](rest)
    except SystemExit as stop:  # argparse: --help, or arguments that it does not understand
        return int(stop.code or 0)
    except BrokenPipeError:  # nobody reads on, as in `... | head`
        raise
    except OSError as error:
        doing = "read" if name == "profile" else "write"
        reason = f"cannot {doing} {error.filename}: {error.strerror}" if error.filename else str(error)
        print(f"{program()} {name}: {reason}", file=sys.stderr)
        return 1
    except (ImportError, TypeError, ValueError) as error:
        sys.stdout.flush()
        reason = str(error).removeprefix(f"{name}: ")  # the function has the command's name
        print(f"{program()} {name}: {reason}", file=sys.stderr)
        return 2


def _subject(words: Sequence[str]) -> tuple[str | None, list[Any]]:
    """The name of an operation, if the first word is one, and the operands."""
    first = words[0]
    if not first.isidentifier() or first == "_":
        return None, [operand(word) for word in words]
    operands = [operand(word) for word in words[1:]]
    _check_count(first, len(operands))
    return first, operands


def _check_count(name: str, count: int) -> None:
    """ValueError where an operation of the core takes another number of operands."""
    function = getattr(_core, name, None)
    if function is None or isinstance(function, type):
        return
    from inspect import Parameter, signature

    taken = [x for x in signature(function).parameters.values() if x.kind is Parameter.POSITIONAL_OR_KEYWORD]
    least = sum(x.default is Parameter.empty for x in taken)
    if not least <= count <= len(taken):
        wanted = " ".join(x.name if x.default is Parameter.empty else f"[{x.name}]" for x in taken)
        raise ValueError(f"{name} takes {wanted.upper()}, but got {count} operand{'s' * (count != 1)}")


def _operation(name: str) -> Callable[..., Any]:
    from tilewright import cute
    from tilewright.show.registry import OPERATIONS

    found = getattr(_core, name, None)
    if found is None or isinstance(found, type):
        meant = did_you_mean(name, [*OPERATIONS, *(each for each in cute.__all__ if hasattr(_core, each))])
        raise ValueError(f"there is no operation {name!r}; those with pictures are {', '.join(OPERATIONS)}{meant}")
    return found  # type: ignore[no-any-return]


def _show(arguments: Sequence[str]) -> int:
    from tilewright.show.drawing.picture import Picture
    from tilewright.show.registry import OPERATIONS

    drawn = _listed("Operations with a picture of their own; of others the result is drawn", OPERATIONS)
    parser = Parser(
        "show", "Draw a layout, a swizzle, or an operation with its operands and its result.", NOTATION + drawn
    )
    parser.add_argument("what", nargs="+", metavar="WHAT", help="a layout, or an operation and its operands")
    parser.add_argument("--at", metavar="COORDINATE", help="mark this coordinate and where it leads")
    parser.add_argument("--tile", metavar="SHAPE", help="draw a thread-value layout in a tile of this shape")
    parser.add_argument("--color", metavar="BY", help="colour cells by value, mode, the number of a mode, or bank")
    parser.add_argument("--dtype", metavar="TYPE", help="element type, such as f32: the bank depends on it")
    for name, format_ in FORMATS.items():
        parser.add_argument(f"--{name}", metavar="FILE", help=f"write {format_} instead of printing tables")
    given = parser.parse_args(arguments)
    options: dict[str, Any] = {}
    if given.at is not None:
        options["at"] = operand(given.at)
    if given.tile is not None:
        options["tile"] = operand(given.tile)
    if given.color is not None:
        options["color"] = int(given.color) if given.color.isdigit() else given.color
    if given.dtype is not None:
        options["dtype"] = element_type(given.dtype)
    picture = _picture(given.what, options)
    files = {name: getattr(given, name) for name in FORMATS if getattr(given, name) is not None}
    for name, file in files.items():
        _write(picture, name, file)
    if picture.error is not None:
        if not files:
            print(Picture("", picture.panels, picture.notes, picture.links))  # the title would say it, too
        raise picture.error
    if not files:
        print(picture)
    return 0


def _picture(words: Sequence[str], options: dict[str, Any]) -> Any:
    """Of an operation without a picture of its own the picture of the result."""
    from tilewright.show.registry import OPERATIONS, show

    name, operands = _subject(words)
    if name is not None and name in OPERATIONS:
        return show(name, *operands, **options)
    if name is not None:
        return show(_operation(name)(*operands), **options)
    if len(operands) > 1:
        raise ValueError(f"expected one layout, or an operation before {', '.join(words)}")
    return show(operands[0], **options)


def _write(picture: Any, name: str, file: str) -> None:
    if name in ("png", "pdf"):
        getattr(picture, name)(file)
        return
    with open(file, "w", encoding="utf-8", newline="\n") as stream:
        stream.write(getattr(picture, name)())


def _explain(arguments: Sequence[str]) -> int:
    from tilewright.cute.text.explain import OPERATIONS, explain

    parser = Parser(
        "explain",
        "Derive the result of an operation, step by step; of a layout its value at a coordinate.",
        NOTATION + _listed("Operations", OPERATIONS),
    )
    parser.add_argument("what", nargs="+", metavar="WHAT", help=EXPLAINED)
    given = parser.parse_args(arguments)
    name, operands = _subject(given.what)
    if name is not None:
        found = explain(name, *operands)
    elif len(operands) == 2 and isinstance(operands[0], _core.Layout):
        found = explain(operands[0], operands[1])
    else:
        raise ValueError(f"expected {EXPLAINED}")
    if found.error is not None:
        print("\n".join(found.steps[:-1]))  # the last one says it, too
        raise found.error
    print(found)
    return 0


def _analyze(arguments: Sequence[str]) -> int:
    parser = Parser(
        "analyze", "Predict what the threads of a layout's mode 0 cost when they access the other modes' values."
    )
    parser.add_argument("layout", metavar="LAYOUT", help="threads, or (threads, values), to offsets in elements")
    parser.add_argument("--dtype", required=True, metavar="TYPE", help="element type, such as f32, bf16, i8")
    memories, ops = ("global", "shared"), ("load", "store", "cp.async", "ldmatrix", "stmatrix")
    parser.add_argument(
        "--memory", type=_one_of(*memories), metavar="|".join(memories), default="global", help="default: global"
    )
    parser.add_argument("--op", type=_one_of(*ops), metavar="|".join(ops), default="load", help="default: load")
    parser.add_argument(
        "--width", type=int, metavar="BYTES", help="bytes of one access; default: the most that is legal"
    )
    parser.add_argument(
        "--base", type=_integer, default=0, metavar="ADDRESS", help="where offset 0 lies, in bytes; default: 0"
    )
    parser.add_argument("--threads", type=int, metavar="N", help="threads of the block; default: as many as mode 0 has")
    parser.add_argument("--svg", metavar="FILE", help="also draw the worst request: lanes over banks, or over sectors")
    given = parser.parse_args(arguments)
    from tilewright.analysis.layouts import analyze_layout

    layout = operand(given.layout)
    if not isinstance(layout, (_core.Layout, _core.ComposedLayout)):
        raise ValueError(f"{given.layout} is no layout; write shape:stride, such as (32,4):(4,1)")
    found = analyze_layout(
        layout,
        element_type(given.dtype),
        width=given.width,
        memory=given.memory,
        op=given.op,
        base=given.base,
        threads=given.threads,
    )
    print(found)
    if given.svg is not None:
        with open(given.svg, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(found.svg())
    return 0


def _integer(text: str) -> int:
    return int(text, 0)  # 0x100, too


def _explore(arguments: Sequence[str]) -> int:
    parser = Parser(
        "explore",
        "Serve an interactive page, on this machine only, where layouts, operations, tiled copies, tiled MMAs,\n"
        "swizzles and requests are edited, and picture, derivation and costs follow; or write it as one file.",
        below="",
    )
    parser.add_argument("--port", type=int, default=0, metavar="N", help="of 127.0.0.1; default: a free one")
    parser.add_argument("--html", metavar="FILE", help="write the page, which needs no server, and end")
    given = parser.parse_args(arguments)
    if given.html is not None:
        from tilewright.explore.page import page

        with open(given.html, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(page())
        return 0
    if not 0 <= given.port <= 65535:
        raise ValueError(f"--port {given.port} is no port: they go from 0 to 65535")
    from tilewright.explore.serve import make_server

    with make_server(given.port) as server:
        print(f"http://127.0.0.1:{server.server_port}/  (Ctrl-C ends it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
    return 0


PROFILED = """\
The script runs as `python SCRIPT ...` runs it, with its own output. Each function decorated with @cute.jit is then
listed, for its first call, with what its lines cost a GPU, beside the least that is possible: sectors of global memory,
wavefronts of shared memory, bank conflicts, divergent branches. `!` marks lines that take twice as many, and a hint
below says what mends them. Nothing needs a GPU; the tensors lie on the CPU (NumPy, torch, ...).
In Python: print(cute.profile(function, *args)).
"""


def _profile(arguments: Sequence[str]) -> int:
    parser = Parser(
        "profile", "Run a script, and list what each line of the kernels costs that it launches.", below=PROFILED
    )
    parser.add_argument("script", metavar="SCRIPT", help="a file of Python that calls functions of @cute.jit")
    parser.add_argument("arguments", nargs="*", default=(), metavar="ARGUMENT", help="what the script is given")
    own = next((i for i, word in enumerate(arguments) if not word.startswith("-")), len(arguments))
    given = parser.parse_args(arguments[: own + 1])  # what follows the script is the script's
    from tilewright.explore.profiling import report, run_script

    return report(given.script, run_script(given.script, arguments[own + 1 :]))


COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {
    "show": _show,
    "explain": _explain,
    "analyze": _analyze,
    "explore": _explore,
    "profile": _profile,
}

"""What the GPU benchmarks share: command line, random data, timing on the device, rivals in C++, dated result files."""

from __future__ import annotations

import argparse
import ctypes
import datetime
import importlib.metadata
import importlib.util
import math
import os
import platform
import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

HERE = Path(__file__).parent
MIB = 1 << 20
GIB = 1 << 30
PREDICTING = ("predict", "plans")  # options with which a script only asks the planner


# --- command line and results


def arguments(
    description: str, *, cpu: str | None = None, more: Callable[[argparse.ArgumentParser], None] | None = None
) -> argparse.Namespace:
    """The options of every script. `--dry` runs all of it on small CPU tensors: it tries the script, not the speed.

    `cpu` says what a script does without a GPU that has the option `--cpu`. `more` adds a script's own options; with
    one of PREDICTING among them nothing is measured, so no GPU is needed.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="fewer cases and repeats")
    parser.add_argument("--dry", action="store_true", help="small CPU tensors: checks the results, times nothing real")
    parser.add_argument("--out", type=Path, default=HERE / "results", help="folder for the result file")
    parser.add_argument("--only", default="", help="regular expression: only the cases whose name it matches")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--cpu", action="store_true", help=cpu or argparse.SUPPRESS)
    if more is not None:
        more(parser)
    options = parser.parse_args()
    if options.cpu and cpu is None:
        parser.error("this script measures nothing without a GPU")
    needs_none = options.dry or options.cpu or any(getattr(options, name, False) for name in PREDICTING)
    if not needs_none and not torch.cuda.is_available():
        parser.error("there is no CUDA device; --dry runs the cases on the CPU")
    options.pattern = re.compile(options.only)
    return options


class Report:
    """Lines of a result file: printed at once, written when the block ends, also when it ends by an error."""

    def __init__(self, name: str, options: argparse.Namespace) -> None:
        self.path = options.out / f"{name}-{datetime.date.today().isoformat()}.md"
        self.lines: list[str] = []
        self.begin = time.perf_counter()

    def __enter__(self) -> Report:
        return self

    def add(self, *lines: str) -> None:
        self.lines += lines
        print(*lines, sep="\n", flush=True)

    def __exit__(self, *error: object) -> None:
        self.add("", f"The script took {time.perf_counter() - self.begin:.0f} s.")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("\n".join(self.lines) + "\n")


def version(package: str) -> str:
    """Of what is installed, or runs from its source tree."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        found = importlib.util.find_spec(package) and importlib.import_module(package)
        return str(getattr(found, "__version__", "none"))


def machine(options: argparse.Namespace) -> list[str]:
    """The device, its driver and limits, and the versions of everything that is compared."""
    packages = [f"{name} {version(name)}" for name in ("tilewright", "torch", "triton")]
    cupy = [d for d in importlib.metadata.distributions() if (d.metadata["Name"] or "").startswith("cupy")]
    packages += [f"{d.metadata['Name']} {d.version}" for d in cupy]
    software = f"Python {platform.python_version()}, CUDA {torch.version.cuda}, {', '.join(packages)}."
    if options.dry:
        return ["A dry run on the CPU: the figures mean nothing.", software]
    properties = torch.cuda.get_device_properties(0)
    query = "driver_version,clocks.sm,clocks.mem,power.limit,temperature.gpu"
    command = ["nvidia-smi", "--id=0", f"--query-gpu={query}", "--format=csv,noheader"]
    state = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip().split(", ")
    return [
        f"{properties.name}, {properties.multi_processor_count} SMs, {properties.L2_cache_size / MIB:.0f} MiB L2;",
        "driver {}, before the run: SM {}, memory {}, limit {}, {} C.".format(*state),
        software,
    ]


# --- data


def random_bytes(count: int, device: str) -> torch.Tensor:
    """Uniformly random bits: no pattern that a memory or a bus could make cheaper."""
    words = torch.empty(-(-count // 8), dtype=torch.int64, device=device)
    return words.random_(-(2**63), None).view(torch.uint8)


class Arena:
    """One allocation that all cases take their tensors from, so that nothing is allocated and filled again."""

    def __init__(self, data: torch.Tensor) -> None:
        self.data = data

    def tensors(self, sets: int, shape: Sequence[int], dtype: torch.dtype) -> list[torch.Tensor]:
        """`sets` contiguous tensors side by side, each beginning at a multiple of 512 bytes, as from an allocator."""
        used = math.prod(shape) * dtype.itemsize
        pitch = -(-used // 512) * 512
        if sets * pitch > self.data.numel():
            raise ValueError(f"{sets} tensors of {used} bytes do not fit into {self.data.numel()} bytes")
        return [self.data[k * pitch : k * pitch + used].view(dtype).view(*shape) for k in range(sets)]


def bits(t: torch.Tensor) -> torch.Tensor:
    """The same elements as integers: NaNs compare equal to themselves."""
    if t.is_complex():
        t = torch.view_as_real(t)
    return t.view({1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[t.element_size()])


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    return torch.equal(bits(a), bits(b))


# --- time on the device


@dataclass(frozen=True)
class Contestant:
    """`issue(n)` makes n launches, each on the next of the rotated operands. A graph holds them if `graph`."""

    name: str
    issue: Callable[[int], object]
    graph: bool = True


def rotating(call: Callable[..., object], *operands: Sequence[torch.Tensor]) -> Callable[[int], None]:
    """`issue` for a function of tensors: launch i takes set i modulo their number."""
    sets = list(zip(*operands, strict=True))

    def issue(count: int) -> None:
        for i in range(count):
            call(*sets[i % len(sets)])

    return issue


def by_number(call: Callable[[int], object], sets: int) -> Callable[[int], None]:
    """`issue` for a function of a set's number: launch i takes set i modulo `sets`."""

    def issue(count: int) -> None:
        for i in range(count):
            call(i % sets)

    return issue


@dataclass(frozen=True)
class Timing:
    """Seconds of one launch in each round. The rounds of contestants of one race belong together."""

    samples: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    def over(self, other: Timing) -> tuple[float, float, float]:
        """How many times faster this is than the other: median, 10th and 90th percentile over the rounds."""
        return spread([b / a for a, b in zip(self.samples, other.samples, strict=True)])

    def rate(self, amount: float) -> tuple[float, float, float]:
        return spread([amount / s for s in self.samples])


def spread(samples: Sequence[float]) -> tuple[float, float, float]:
    """Median, 10th and 90th percentile."""
    deciles = statistics.quantiles(samples, n=10, method="inclusive")
    return statistics.median(samples), deciles[0], deciles[-1]


def text(figures: tuple[float, float, float], form: str = ".0f") -> str:
    return "{:{f}} ({:{f}} to {:{f}})".format(*figures, f=form)


def race(
    contestants: Sequence[Contestant],
    sets: int,
    moved: int,
    options: argparse.Namespace,
    *,
    guess: float | None = None,
    rounds: int | None = None,
    sample: float = 2.5e-3,
) -> dict[str, Timing]:
    """Times the contestants in turn, round by round, so that a slow moment of the device hits each of them alike.

    A sample is a run of launches of about `sample` seconds between two events, over all operand sets in turn; `guess`
    is the seconds of a launch, of a copy of `moved` bytes where it is None. Every second round goes the other way
    round: who comes after a contestant that heats the chip is not always the same. No host synchronisation comes
    between the samples: the device always has work waiting, so an event never waits for the host.
    """
    if options.dry:
        return {c.name: Timing(tuple(_dry(c) for _ in range(3))) for c in contestants}
    guess = guess or moved / 4e12 + 1.5e-6
    count = sets * max(1, math.ceil(sample / guess / sets))
    if rounds is None:  # fewer where a sample is a long launch
        rounds = 9 if options.quick else min(31, max(9, math.ceil(1 / (guess * count * len(contestants)))))
    runs = [_run(c, count) for c in contestants]
    for run in runs:
        run()
    events: list[list[tuple[torch.cuda.Event, torch.cuda.Event]]] = [[] for _ in runs]
    for number in range(rounds):
        for k in range(len(runs)) if number % 2 == 0 else reversed(range(len(runs))):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            runs[k]()
            end.record()
            events[k].append((begin, end))
    torch.cuda.synchronize()
    seconds = [tuple(begin.elapsed_time(end) * 1e-3 / count for begin, end in kept) for kept in events]
    return {c.name: Timing(kept) for c, kept in zip(contestants, seconds, strict=True)}


def add_case(
    report: Report, name: str, times: dict[str, Timing], amount: float, errors: dict[str, float], took: str
) -> dict[str, float]:
    """Rows of a case: contestant, speed in `amount` a second, ours over it, error. Returns the ratios to the rivals.

    Ours is "tilewright", the first; `took` is what its compilation took.
    """
    found = {}
    for who, timing in times.items():
        ratio = times["tilewright"].over(timing)
        is_ours = who == "tilewright"
        cells = [name if is_ours else "", who, text(timing.rate(amount)), text(ratio, ".2f")]
        cells.append(f"{errors[who]:.1e}" if who in errors else "-")
        report.add(f"| {' | '.join([*cells, took if is_ours else ''])} |")
        if not is_ours:
            found[who] = ratio[0]
    return found


def add_means(report: Report, ratios: list[dict[str, float]]) -> None:
    """A line for each rival: the geometric mean of our ratios to it over the cases, and the least."""
    for who in dict.fromkeys(who for each in ratios for who in each):
        of_one = [each[who] for each in ratios if who in each]
        report.add(
            "", f"Beside {who}: geometric mean {statistics.geometric_mean(of_one):.2f}, least {min(of_one):.2f}."
        )


def _run(contestant: Contestant, count: int) -> Callable[[], object]:
    """One sample's launches as a callable: a graph's replay, or the launches themselves."""
    contestant.issue(count if not contestant.graph else 1)  # compiles, loads, allocates
    torch.cuda.synchronize()
    if not contestant.graph:
        return lambda: contestant.issue(count)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        contestant.issue(count)
    return graph.replay


def _dry(contestant: Contestant) -> float:
    begin = time.perf_counter()
    contestant.issue(2)
    return (time.perf_counter() - begin) / 2


def sets_past_cache(footprint: int, options: argparse.Namespace) -> int:
    """How many operand sets of so many bytes to rotate, so that none is still in the L2 when its turn comes again."""
    if options.dry:
        return 2
    cache = torch.cuda.get_device_properties(0).L2_cache_size
    return max(1 if footprint > 16 * cache else 2, -(-5 * cache // footprint))


# --- rivals in C++


class Bare:
    """bare_launch.cpp, built now: launches and copies without Python, through the CUDA that torch has loaded."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        library = Path(self.folder.name) / "bare_launch.so"
        flags = ["-O2", "-std=c++20", "-shared", "-fPIC", "-Wall", "-Wextra"]
        compiler = os.environ.get("CXX", "g++")
        subprocess.run([compiler, *flags, str(HERE / "bare_launch.cpp"), "-o", str(library), "-ldl"], check=True)
        self.c = ctypes.CDLL(str(library))
        for name in ("bare_error", "bare_memcpy_name"):
            getattr(self.c, name).restype = ctypes.c_char_p
        self.c.bare_node.restype = ctypes.c_void_p
        self.c.bare_node.argtypes = [ctypes.c_void_p]
        for name in ("bare_launch", "bare_memcpy"):
            getattr(self.c, name).restype = ctypes.c_double
        self.c.bare_open.argtypes, self.c.bare_open.restype = [ctypes.c_char_p], ctypes.c_bool
        self.c.bare_launch.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long]
        pointers = ctypes.POINTER(ctypes.c_uint64)
        self.c.bare_memcpy.argtypes = [pointers, pointers, ctypes.c_long, ctypes.c_size_t, ctypes.c_void_p]
        self.c.bare_memcpy.argtypes += [ctypes.c_long]

    def open(self) -> None:
        """Connects to the driver, and to the CUDA runtime that this process has loaded, if there is one."""
        loaded = re.findall(r"\S*/libcudart\.so\S*", Path("/proc/self/maps").read_text())
        if not self.c.bare_open(loaded[0].encode() if loaded else b""):
            raise RuntimeError(self.c.bare_error().decode())

    @property
    def memcpy_name(self) -> str:
        return self.c.bare_memcpy_name().decode()

    def launcher(self, call: Callable[[], object]) -> Callable[[int], float]:
        """Makes the one kernel launch that `call` makes: same kernel, same grid, same parameters, without Python.

        The launch is read from a graph that captured it, so it needs no knowledge of how it is made. Returns the host
        seconds of one of n launches.
        """
        graph = torch.cuda.CUDAGraph(keep_graph=True)
        with torch.cuda.graph(graph):
            call()
        node = self.c.bare_node(graph.raw_cuda_graph())
        if not node:
            raise RuntimeError(self.c.bare_error().decode())

        def loop(count: int) -> float:
            assert graph is not None  # the graph owns the parameters
            return self._seconds(self.c.bare_launch(node, torch.cuda.current_stream().cuda_stream, count))

        return loop

    def copier(self, sources: Sequence[torch.Tensor], targets: Sequence[torch.Tensor]) -> Callable[[int], float]:
        """`issue` for a device-to-device copy of contiguous tensors."""
        array = ctypes.c_uint64 * len(sources)
        into, out_of = (array(*(t.data_ptr() for t in side)) for side in (targets, sources))
        size = sources[0].numel() * sources[0].element_size()

        def issue(count: int) -> float:
            stream = torch.cuda.current_stream().cuda_stream
            return self._seconds(self.c.bare_memcpy(into, out_of, len(into), size, stream, count))

        return issue

    def _seconds(self, value: float) -> float:
        if value < 0:
            raise RuntimeError(self.c.bare_error().decode())
        return value


def triton_rivals() -> object | None:
    """The module with Triton's kernels, or None without Triton."""
    if version("triton") == "none":
        return None
    import triton_rivals

    return triton_rivals

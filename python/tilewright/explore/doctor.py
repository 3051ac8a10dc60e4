"""`python -m tilewright doctor`: what compiling and launching needs, what of it is there, and how to get the rest."""

from __future__ import annotations

import os
import platform
import re
import sys
import time
from importlib import metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.devices import DeviceFacts
    from tilewright.runtime.discovery import Library

PROBE = "struct Probe { int value; };\ntemplate <int N> __global__ void probe(Probe p) {}\n"
PROBE_NAME = "probe<1>"
REPORT = "report this, with all of the output above"
ALGEBRA, HOST = "layouts and their algebra, pictures, analyses", "plans of copies and GEMMs on the CPU"
LANGUAGE = "kernels written in Python on the CPU, every access checked"
COMPILING, LAUNCHING = "compiling kernels", "launching kernels"
ABILITIES = (ALGEBRA, HOST, LANGUAGE, COMPILING, LAUNCHING)
ELSEWHERE = {"darwin": "macOS", "win32": "Windows"}
LINUX = "kernels are launched on Linux only (on Windows that is WSL); all that needs no GPU works here"
FULL = 1 << 20  # bytes; a file system with less space left holds no cache


class Examination:
    """Looks at one thing after the other, writes a line for each, and collects what is wrong with how to mend it.

    `problems` keep kernels from being compiled or launched, `remarks` do not. `able` is what works, with its extent.

    >>> examination = Examination(print)
    >>> examination.line("Python", "3.11")
    Python         3.11
    >>> examination.look("disk", lambda examination: 1 // 0)
    disk           ZeroDivisionError: integer division or modulo by zero
    >>> examination.problems[0][0]
    'disk: ZeroDivisionError: integer division or modulo by zero'
    """

    def __init__(self, write: Callable[[str], None]) -> None:
        self.write = write
        self.problems: list[tuple[str, str]] = []
        self.remarks: list[tuple[str, str]] = []
        self.able: dict[str, str] = {ALGEBRA: ""}  # else this program would not have been imported

    def line(self, subject: str, text: str) -> None:
        self.write(f"{subject:14} {text}")

    def look(self, subject: str, examine: Callable[..., Any], *arguments: Any) -> Any:
        """What examine returns; None, and a problem, if it fails in a way that it does not expect."""
        try:
            return examine(self, *arguments)
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            self.line(subject, text)
            self.problems.append((f"{subject}: {text}", REPORT))
            return None

    def problem(self, subject: str, what: str, mend: str) -> None:
        self.line(subject, what)
        self.problems.append((f"{subject}: {what}", mend))


def doctor(write: Callable[[str], None] = print) -> int:
    """Examine this installation; the exit status: 0 if kernels can be compiled and launched, else 1.

    What works is said first, then what was found, then how to get the rest.

    >>> lines = []
    >>> doctor(lines.append) in (0, 1)
    True
    >>> print(*lines[:3], sep="\\n")
    works          layouts and their algebra, pictures, analyses
    works          plans of copies and GEMMs on the CPU
    works          kernels written in Python on the CPU, every access checked
    """
    found: list[str] = []
    examination = Examination(found.append)
    try:
        _examine(examination)
    finally:  # also where the driver does not answer, and the user gives up
        for ability in ABILITIES:
            if ability in examination.able:
                write(f"{'works':14} {ability}{examination.able[ability]}")
            else:
                write(f"{'missing':14} {ability}: how to get that is said below")
        write("")
        for line in found:
            write(line)
    write("")
    for title, listed in (("to mend", examination.problems), ("to know", examination.remarks)):
        for what, mend in listed:
            write(f"{title}: {what}\n  {mend}")
    if not examination.problems:
        write("kernels can be compiled and launched")
        return 0
    able = examination.able
    if LAUNCHING in able:
        compiled = "can be compiled and launched, but not all is well"
    else:
        compiled = "can be compiled for a GPU but not launched" if COMPILING in able else "cannot be compiled"
    write(f"{'all that needs no GPU works; ' if {HOST, LANGUAGE} <= able.keys() else ''}kernels {compiled}")
    return 1


def _examine(examination: Examination) -> None:
    examination.look("packages", _packages)
    examination.look("on the CPU", _host)
    examination.look("on the CPU", _language)
    cuda = examination.look("driver", _driver)
    devices = (examination.look("devices", _devices) if cuda else None) or []
    library = examination.look("NVRTC", _nvrtc, cuda)
    examination.look("kernels", _kernels)
    examination.look("cache", _cache)
    compiled = {}
    for arch in sorted({arch for _, arch in devices} or {"sm_90a"}) if library else []:
        compiled[arch] = examination.look("compiling", _compile, library, arch, cuda)
    if any(compiled.values()):
        examination.able[COMPILING] = f", for {', '.join(arch for arch in compiled if compiled[arch])}"
        examination.able[COMPILING] += "" if devices else " and other GPUs"
    on = []
    for device, arch in devices:
        if compiled.get(arch) and examination.look("launching", _launch, device, *compiled[arch]):
            on.append(str(device))
    if on:
        examination.able[LAUNCHING] = f", on device {', '.join(on)}"


def _host(examination: Examination) -> None:
    """A copy by a plan, of a tensor to another one."""
    try:
        from tilewright import Int32, cute, kernels

        src, dst = (cute.make_rmem_tensor((4, 8), Int32) for _ in range(2))
        src.fill(7)
        begin = time.perf_counter()
        kernels.tiled_copy(src, dst)
    except ImportError as error:
        examination.problem("on the CPU", str(error), f"{sys.executable} -m pip install numpy")
        return
    seconds = time.perf_counter() - begin
    if [int(dst[i]) for i in range(32)] != [7] * 32:
        examination.problem("on the CPU", "a copy by its plan is wrong", REPORT)
        return
    examination.line("on the CPU", f"a copy of 32 elements by its plan: {seconds * 1000:.0f} ms")
    examination.able[HOST] = ""


def _language(examination: Examination) -> None:
    """A kernel that is right, and one that the checks have to refuse."""
    import numpy

    from tilewright import Int32, cute

    @cute.kernel
    def next_one(x: cute.Tensor, y: cute.Tensor, distance: Int32) -> None:
        thread, _, _ = cute.arch.thread_idx()
        y[thread] = x[thread + distance] + 1

    src, dst = numpy.arange(32, dtype=numpy.int32), numpy.zeros(32, numpy.int32)
    with cute.on_cpu(check=True):
        begin = time.perf_counter()
        next_one(src, dst, 0).launch(block=32)
        seconds = time.perf_counter() - begin
        if (dst != src + 1).any():
            examination.problem("on the CPU", "a kernel written in Python is wrong", REPORT)
            return
        try:
            next_one(src, dst, 1).launch(block=32)
        except cute.KernelError:
            examination.line("on the CPU", f"a kernel written in Python, checked: {seconds * 1000:.0f} ms")
            examination.able[LANGUAGE] = ""
        else:
            examination.problem("on the CPU", "a read beyond a tensor was not found", REPORT)


def _packages(examination: Examination) -> None:
    from tilewright import __version__

    examination.line("tilewright", f"{__version__} ({os.path.dirname(os.path.dirname(__file__))})")
    examination.line("Python", f"{platform.python_version()} ({sys.executable}), {platform.platform()}")
    examination.line("numpy", _version("numpy") or "not installed")
    torch = _version("torch")
    examination.line("torch", f"{torch}, {_torch_cuda()}" if torch else "not installed")


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _torch_cuda() -> str:
    """Which CUDA torch is built for, read from its files: importing it takes seconds."""
    try:
        text = metadata.distribution("torch").locate_file("torch/version.py").read_text()
    except OSError:
        return "CUDA unknown"
    named = re.search(r"^cuda\b.*= *['\"]([\d.]+)['\"]", text, re.M)
    return f"CUDA {named[1]}" if named else "without CUDA"


def _driver(examination: Examination) -> int | None:
    """The major version of the driver's CUDA."""
    from tilewright._core import cuda

    if sys.platform in ELSEWHERE:
        examination.problem("driver", f"not looked for on {ELSEWHERE[sys.platform]}", LINUX)
        return None
    path = cuda.driver_path()
    if path is None:
        if os.path.exists("/proc/driver/nvidia/version"):
            mend = (
                "the driver is there but not its library: start a container with `docker run --gpus all ...`, or put "
            )
            mend += "the folder of libcuda.so.1 into LD_LIBRARY_PATH"
        else:
            mend = (
                "install NVIDIA's driver (Ubuntu: `sudo ubuntu-drivers install`; else https://www.nvidia.com/drivers)"
            )
            mend += "; start a container with `docker run --gpus all ...`"
        examination.problem("driver", "none: libcuda.so.1 cannot be loaded", mend)
        return None
    version: int = cuda.driver_version()
    examination.line("driver", f"CUDA {version // 1000}.{version % 1000 // 10} ({path})")
    return version // 1000


def _devices(examination: Examination) -> list[tuple[int, str]]:
    """Each device and its architecture."""
    from tilewright._core import cuda
    from tilewright.devices import DeviceFacts
    from tilewright.runtime.device import arch_of

    try:
        found = list(range(cuda.device_count()))
        reason = "none"
    except cuda.DriverError as error:
        found, reason = [], str(error)
    if not found:
        mend = "`nvidia-smi` says what the driver sees; CUDA_VISIBLE_DEVICES may hide it (`unset CUDA_VISIBLE_DEVICES`)"
        examination.problem("devices", reason, mend)
    for device in found:
        has, arch = cuda.device(device), arch_of(device)
        major, minor = has["compute_capability"]
        text = f"{has['name']}, compute capability {major}.{minor} ({arch}), {has['multiprocessors']} multiprocessors"
        examination.line(f"device {device}", f"{text}, {has['total_memory'] / 2**30:.0f} GiB")
        examination.look("", _numbers, device, DeviceFacts(has["name"], 10 * major + minor, has["multiprocessors"], 0))
    return [(device, arch_of(device)) for device in found]


def _numbers(examination: Examination, device: int, facts: DeviceFacts) -> None:
    """By which numbers plans are chosen on a device."""
    import warnings

    from tilewright.kernels.devices import origin

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        examination.line("", f"numbers: {origin(facts)}")
    for warning in found:
        examination.remarks.append((f"device {device}: {warning.message}", "`tilewright calibrate` measures it again"))


def _nvrtc(examination: Examination, cuda: int | None) -> Library | None:
    from tilewright.runtime.discovery import find_nvrtc, install_command
    from tilewright.runtime.errors import NvrtcError
    from tilewright.runtime.nvrtc import open_nvrtc

    search = find_nvrtc(cuda)
    found, mend = search.found, install_command(cuda)
    if found is None:
        examination.problem("NVRTC", "none", mend)
        for line in search.tried:
            examination.line("", line)
        return None
    try:
        nvrtc = open_nvrtc(found.path)
    except NvrtcError as error:
        examination.problem("NVRTC", str(error), mend)
        return None
    major, minor = nvrtc.version
    examination.line("NVRTC", f"{major}.{minor} ({found.path}; {found.origin})")
    if cuda is not None and major > cuda:
        examination.problems.append((f"NVRTC: of CUDA {major}, newer than the driver's CUDA {cuda}", mend))
    return found


def _kernels(examination: Examination) -> None:
    from tilewright.runtime.discovery import kernels_folder

    folder = kernels_folder()
    files = [file for _, _, names in os.walk(folder) for file in names if file.endswith(".cuh")]
    if files:
        examination.line("kernels", f"{len(files)} files ({folder})")
    else:
        mend = f"{sys.executable} -m pip install --force-reinstall --no-deps .  # in tilewright's source"
        examination.problem("kernels", f"no sources in {folder}", mend)


def _cache(examination: Examination) -> None:
    from tilewright.runtime import folder as folders
    from tilewright.runtime.cache import default_cache

    cache = default_cache()
    if cache is None:
        examination.line("cache", f"{folders.WHY_NONE}: kernels are compiled anew in each process")
        return
    mend = "kernels are compiled anew in each process; TILEWRIGHT_CACHE_DIR can name another folder"
    try:
        with folders.opened(cache.folder) as folder:
            space = os.statvfs(folder)
            writable = os.access(".", os.W_OK, dir_fd=folder)
    except FileNotFoundError:
        examination.line("cache", f"{cache.folder} (not made yet)")
        return
    except OSError as error:
        reason = str(error) if isinstance(error, folders.Refused) else f"{cache.folder}: {error.strerror}"
        examination.line("cache", f"not used: {reason}")
        examination.remarks.append((f"cache: {reason}", mend))
        return
    entries = cache.list()
    size = sum(entry.bytes for entry in entries) / 2**20
    examination.line("cache", f"{cache.folder}: {len(entries)} entries, {size:.1f} of {cache.limit_bytes >> 20} MiB")
    if not writable:
        examination.remarks.append((f"cache: {cache.folder} cannot be written", mend))
    elif space.f_bavail * space.f_frsize < FULL:
        examination.remarks.append((f"cache: the disk of {cache.folder} is full", mend))


def _compile(examination: Examination, library: Library, arch: str, cuda: int | None) -> tuple[bytes, str] | None:
    """A kernel that does nothing, compiled without the cache: its cubin and symbol."""
    from tilewright.runtime.discovery import install_command
    from tilewright.runtime.nvrtc import no_fork, open_nvrtc, options_for

    begin = time.perf_counter()
    nvrtc = open_nvrtc(library.path)
    with no_fork():
        result = nvrtc.compile(PROBE, "probe.cu", {}, options_for(nvrtc.version, arch), [PROBE_NAME])
    seconds = time.perf_counter() - begin
    if not result.ok or result.cubin is None:
        examination.problem("compiling", f"fails for {arch}: {' '.join(result.log.split())}", install_command(cuda))
        return None
    examination.line("compiling", f"an empty kernel for {arch}: {seconds * 1000:.0f} ms")
    return result.cubin, result.lowered[PROBE_NAME]


def _launch(examination: Examination, device: int, cubin: bytes, symbol: str) -> bool:
    from tilewright._core import cuda

    begin = time.perf_counter()
    try:
        cuda.load(device, cubin).function(symbol).launch((1, 1, 1), (1, 1, 1), 0, 0, bytes(4))
        cuda.synchronize(device)
    except cuda.DriverError as error:
        mend = "`nvidia-smi` shows the state of the device; the driver has to be of NVRTC's CUDA version or newer"
        examination.problem("launching", f"device {device}: {error}", mend)
        return False
    seconds = time.perf_counter() - begin
    examination.line("launching", f"device {device}: loaded, launched and ended in {seconds * 1000:.0f} ms")
    return True

"""Where things are that do not come with the package: NVRTC, the compiler; and where the kernels' sources are.

Nothing is loaded here unless only the loader itself knows where NVRTC is, and torch is never imported.
"""

from __future__ import annotations

import glob
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = "libnvrtc.so"
VARIABLE = "TILEWRIGHT_NVRTC"
MAJORS = (13, 12)  # CUDA versions, the newest first


class Library:
    """An NVRTC that was found: its path, where that came from, the major version of its CUDA (None: unknown).

    >>> Library("/usr/local/cuda/lib64/libnvrtc.so.13", "/usr/local/cuda", 13).major
    13
    """

    __slots__ = ("major", "origin", "path")

    def __init__(self, path: str, origin: str, major: int | None) -> None:
        self.path = path
        self.origin = origin
        self.major = major


class Search:
    """What a search found, and a line for each place before it that was of no use.

    >>> Search(None, ("loaded in this process: none",)).found is None
    True
    """

    __slots__ = ("found", "tried")

    def __init__(self, found: Library | None, tried: tuple[str, ...]) -> None:
        self.found = found
        self.tried = tried


def find_nvrtc(cuda: int | None = None) -> Search:
    """The first NVRTC that fits: none newer than the driver's CUDA (its major version; None: any), if there is one.

    Order: TILEWRIGHT_NVRTC; loaded in this process already; NVIDIA's pip packages; CUDA_HOME, CUDA_PATH, the usual
    folders, the toolkit of the nvcc on PATH; the loader's own search. A library that the user names is the only one.

    >>> search = find_nvrtc()
    >>> search.found is not None or len(search.tried) > 0
    True
    """
    chosen = os.environ.get("TILEWRIGHT_NVRTC")
    if chosen:
        if os.path.isfile(chosen):
            return Search(Library(chosen, VARIABLE, _major(chosen)), ())
        return Search(None, (f"{VARIABLE}: {chosen} is not a file",))
    tried: list[str] = []
    too_new: Library | None = None
    for origin, paths in _places():
        for path in paths:
            library = Library(path, origin, _major(path))
            if cuda is None or library.major is None or library.major <= cuda:
                return Search(library, tuple(tried))
            tried.append(f"{origin}: {path} is of CUDA {library.major}, the driver of CUDA {cuda}")
            too_new = too_new or library
        if not paths:
            tried.append(f"{origin}: none")
    return Search(too_new, tuple(tried))


def install_command(cuda: int | None = None) -> str:
    """The command that installs the NVRTC for a driver of this CUDA version.

    >>> install_command(12).split(" -m ")[1]
    'pip install "nvidia-cuda-nvrtc-cu12==12.*"'
    """
    package = '"nvidia-cuda-nvrtc-cu12==12.*"' if cuda == 12 else f'"nvidia-cuda-nvrtc=={cuda or MAJORS[0]}.*"'
    return f"{sys.executable or 'python'} -m pip install {package}"


def driver_cuda() -> int | None:
    """The major version of the driver's CUDA; None without a driver.

    >>> driver_cuda() in (None, 11, 12, 13)
    True
    """
    from tilewright._core import cuda

    try:
        return cuda.driver_version() // 1000 if cuda.driver_path() else None
    except cuda.DriverError:
        return None


def advice() -> str:
    """What to do where there is no NVRTC.

    >>> advice().endswith("` installs one")
    True
    """
    return f"`{install_command(driver_cuda())}` installs one"


def kernels_folder() -> Path:
    """The folder of the device code: in the installed package, else in the source tree.

    >>> kernels_folder().name in ("_kernels", "kernels")
    True
    """
    from pathlib import Path

    return Path(kernels_path())


def kernels_path() -> str:
    """The same as a text, for a process that has not loaded pathlib: that takes longer than all else here.

    >>> kernels_path() == str(kernels_folder())
    True
    """
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    installed = os.path.join(package, "_kernels")
    return installed if os.path.isdir(installed) else os.path.join(os.path.dirname(os.path.dirname(package)), "kernels")


def _places() -> Iterator[tuple[str, list[str]]]:
    """Each place where NVRTC may be, and the libraries there, the newest first; looked at one after the other."""
    yield "loaded in this process", _loaded()
    yield "pip packages nvidia-cuda-nvrtc*", _pip_packages()
    yield "CUDA_HOME", _toolkit(os.environ.get("CUDA_HOME"))
    yield "CUDA_PATH", _toolkit(os.environ.get("CUDA_PATH"))
    yield sys.prefix, _libraries(os.path.join(sys.prefix, "lib"))  # conda installs it here
    for folder in ("/usr/local/cuda", *sorted(glob.glob("/usr/local/cuda-*"), reverse=True)):
        yield folder, _toolkit(folder)
    import shutil  # a millisecond that most programs need not spend

    nvcc = shutil.which("nvcc")
    yield "nvcc on PATH", _toolkit(os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))) if nvcc else []
    yield "the loader's search", _by_loader()


def _loaded() -> list[str]:
    try:
        with open("/proc/self/maps", "rb") as file:
            maps = file.read()
    except OSError:
        return []
    place = b"/" + NAME.encode()
    if place not in maps:
        return []
    paths = {os.fsdecode(line[line.index(b"/") :]) for line in maps.splitlines() if place in line}
    return _newest_first(path for path in paths if _version(os.path.basename(path)) is not None)


def _pip_packages() -> list[str]:
    found: list[str] = []
    for base in sys.path:
        if os.path.isabs(base):  # nothing is loaded from the current directory
            packages = os.path.join(base, "nvidia")
            if os.path.isdir(packages):
                for package in os.listdir(packages):
                    if package == "cuda_nvrtc" or (package.startswith("cu") and package[2:].isdecimal()):
                        found += _libraries(os.path.join(packages, package, "lib"))
    return _newest_first(found)


def _toolkit(folder: str | None) -> list[str]:
    if not folder or not os.path.isabs(folder):
        return []
    places = [os.path.join(folder, name) for name in ("lib64", "lib")] + glob.glob(f"{folder}/targets/*-linux/lib")
    return _newest_first(path for place in places for path in _libraries(place))


def _libraries(folder: str) -> list[str]:
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return _newest_first(os.path.join(folder, name) for name in names if _version(name) is not None)


def _by_loader() -> list[str]:
    import ctypes

    for major in MAJORS:
        try:
            ctypes.CDLL(f"libnvrtc.so.{major}")
        except OSError:
            continue
        return _loaded()
    return []


def _newest_first(paths: Iterator[str] | list[str]) -> list[str]:
    """One path for each library, that with the shortest name; the highest major version first."""
    by_file: dict[str, str] = {}
    for path in sorted(paths, key=lambda path: (len(path), path)):
        by_file.setdefault(os.path.realpath(path), path)
    return sorted(by_file.values(), key=lambda path: -(_major(path) or 0))


def _major(path: str) -> int | None:
    for name in (os.path.basename(path), os.path.basename(os.path.realpath(path))):
        version = _version(name)
        if version:
            return int(version[0])
    return None


def _version(name: str) -> list[str] | None:
    """The numbers in the name of an NVRTC's file; None for another file, such as libnvrtc-builtins and libnvrtc.alt.

    >>> _version("libnvrtc.so"), _version("libnvrtc.so.13.0"), _version("libnvrtc.so.13 (deleted)")
    ([], ['13', '0'], None)
    """
    stem, *numbers = name.removeprefix(NAME).split(".")
    return numbers if name.startswith(NAME) and not stem and all(number.isdecimal() for number in numbers) else None

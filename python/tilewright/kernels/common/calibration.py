"""Numbers of a device that its user measured: a file for each device, in a folder of the user's.

`kernels.gemm.calibrate` writes it. It reads as the package's own files of devices do, but nothing of it is run: it is
parsed as literals, and only what the package's file has in the same places is taken. A file that others could have
written, that is damaged, or that was measured with other models than these is not used at all, and a warning says why.
"""

from __future__ import annotations

import ast
import errno
import os
import stat
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright.runtime import folder as folders
from tilewright.runtime.entry import digest

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "FIXED", "Calibration", "file_name", "fingerprint", "parsed", "path_of", "read", "remove",
    "require_writable", "write",
]  # fmt: skip

# What is no time or rate, but how many of something there are; it is not measured.
FIXED = frozenset(
    {
        "few_tiles", "crowding", "quads", "outstanding", "lead", "products", "few_sums", "least_terms",
        "most_parts", "steps", "padded_depth", "asking",
    }
)  # fmt: skip
MOST = 1 << 20  # bytes of a file

Sections = dict[str, dict[str, Any]]


class Calibration(NamedTuple):
    """What a file of the user's has, and where it is."""

    path: str
    measured: str
    sections: Sections


def path_of(device: str) -> str | None:
    """The file of a device's calibration, whether there is one or not; None where they are switched off.

    >>> path = path_of("NVIDIA H100 PCIe")
    >>> path is None or path.endswith("h100_pcie.txt")
    True
    """
    place = folders.devices_place()
    return None if place is None else os.path.join(place, file_name(device))


def file_name(device: str) -> str:
    """The name of the file for devices of this name.

    >>> file_name("NVIDIA H100 PCIe"), file_name("../4090 (Laptop)")
    ('h100_pcie.txt', '___4090__laptop_.txt')
    """
    own = device.removeprefix("NVIDIA ").lower()
    return "".join(x if x.isalnum() else "_" for x in own) + ".txt"


def fingerprint(packaged: Mapping[str, Mapping[str, Any]]) -> str:
    """A digest of the numbers that a calibration began from: with others, its own mean something else.

    >>> fingerprint({"RATES": {"half": 989.0}}) == fingerprint({"RATES": {"half": 990.0}})
    False
    """
    return digest(*(f"{name} = {values!r}" for name, values in packaged.items()))


def read(device: str, packaged: Mapping[str, Mapping[str, Any]]) -> Calibration | None:
    """The calibration of a device, measured from the package's numbers; None, and a warning, where it is of no use."""
    path = path_of(device)
    if path is None:
        return None
    try:
        return _checked(path, parsed(_text(path)), device, packaged)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        reason = str(error) if isinstance(error, (folders.Refused, ValueError)) else str(error.strerror)
        warnings.warn(
            f"the calibration of {device} in {path} is not used: {reason}; kernels.gemm.calibrate() measures again, "
            "and without the file the package's numbers are taken",
            RuntimeWarning,
            stacklevel=2,
        )
        return None


def write(device: str, text: str) -> str:
    """Keep a calibration's text; the path of its file. OSError where that is not possible.

    Whoever reads meanwhile, and whoever stops this, leaves or sees a whole file: the old one or the new one.
    """
    path = path_of(device)
    if path is None:
        raise OSError(f"calibrations are {folders.WHY_NO_DEVICES}")
    name = os.path.basename(path)
    with folders.opened(os.path.dirname(path), create=True) as folder:
        folders.write(folder, name, text.encode(), f"{name}.{os.urandom(8).hex()}.tmp")
    return path


def require_writable(path: str) -> None:
    """OSError where the file could not be written; its folder is made."""
    with folders.opened(os.path.dirname(path), create=True) as folder:
        if not os.access(".", os.W_OK, dir_fd=folder):
            raise PermissionError(errno.EACCES, "cannot be written", os.path.dirname(path))


def remove(device: str) -> bool:
    """Remove the calibration of a device; whether there was one."""
    path = path_of(device)
    if path is None:
        return False
    try:
        with folders.opened(os.path.dirname(path)) as folder:
            os.unlink(os.path.basename(path), dir_fd=folder)
    except FileNotFoundError:
        return False
    return True


def _text(path: str) -> str:
    """The file's text, which nobody but the user may have written."""
    with folders.opened(os.path.dirname(path)) as folder:
        file = os.open(os.path.basename(path), folders.READ, dir_fd=folder)
        try:
            found = os.fstat(file)
            if not folders.is_trusted(found):
                mode = f"uid {found.st_uid}, mode {stat.S_IMODE(found.st_mode):04o}"
                raise folders.Refused(f"it belongs to another user, or others may write it ({mode})")
            if not stat.S_ISREG(found.st_mode) or found.st_size > MOST:
                raise folders.Refused("it is no file of a calibration")
            with open(file, "rb", closefd=False) as stream:
                return stream.read(MOST).decode()
        finally:
            os.close(file)


def parsed(text: str) -> dict[str, Any]:
    """The names that a device's file defines, all of them by literals; nothing is run. ValueError otherwise.

    >>> parsed('DEVICE = "X1"  # a comment')
    {'DEVICE': 'X1'}
    >>> parsed("DEVICE = open('x')")
    Traceback (most recent call last):
    ValueError: it is damaged: line 1 is no literal with a name
    """
    found = {}
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise ValueError(f"it is damaged: {error}") from None
    for node in body[1:] if body and isinstance(body[0], ast.Expr) else body:
        try:
            if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
                raise ValueError
            found[node.targets[0].id] = ast.literal_eval(node.value)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            raise ValueError(f"it is damaged: line {node.lineno} is no literal with a name") from None
    return found


def _checked(path: str, found: dict[str, Any], device: str, packaged: Mapping[str, Mapping[str, Any]]) -> Calibration:
    """What a file has, if it is of this device and these models. ValueError otherwise."""
    if found.get("DEVICE") != device:
        raise ValueError(f"it is of {found.get('DEVICE')!r}")
    if found.get("BEGAN_FROM") != fingerprint(packaged):
        raise ValueError("it was measured by another tilewright, whose models have other numbers")
    sections = {name: values for name, values in found.items() if name in packaged}
    unknown = found.keys() - {"DEVICE", "MEASURED", "BEGAN_FROM", *sections}
    if unknown or not isinstance(found.get("MEASURED"), str):
        raise ValueError(f"it is damaged: unknown {', '.join(sorted(unknown)) or 'MEASURED'}")
    for name, values in sections.items():
        if not _is_alike(packaged[name], values, is_measured=True):
            raise ValueError(f"it is damaged: {name} has not the numbers that it must have")
    return Calibration(path, found["MEASURED"], sections)


def _is_alike(packaged: Any, value: Any, is_measured: bool) -> bool:
    """Whether a value has the form of the package's: other numbers where there may be other ones, and only there."""
    if isinstance(packaged, dict):
        return (
            isinstance(value, dict)
            and packaged.keys() == value.keys()
            and all(_is_alike(x, value[name], name not in FIXED) for name, x in packaged.items())
        )
    if isinstance(packaged, tuple):
        return (
            isinstance(value, tuple)
            and len(packaged) == len(value)
            # Integers of a row are sizes.
            and all(_is_alike(x, y, is_measured and type(x) is not int) for x, y in zip(packaged, value, strict=True))
        )
    if not is_measured or type(packaged) not in (int, float):
        return type(packaged) is type(value) and bool(packaged == value)
    # Zero says that the device has no such instruction.
    return type(value) in (int, float) and (0 < value < float("inf") if packaged else value == 0)

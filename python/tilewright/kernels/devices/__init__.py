"""The numbers by which plans are chosen: one file for each device, and how the rules get at them.

A file of this folder has literals only, each with what it is, its unit, and where and when it was measured. Its parts
are dicts, which subclasses of Section read. A device takes, in this order,

1. a section that `kernels.gemm.calibrate` measured on it and left in the user's folder (kernels/common/calibration.py);
2. the file of its own name: `h100_pcie`, or else `h100`, for an NVIDIA H100 PCIe;
3. the file of the newest generation that its capability has reached, as GENERATIONS lists them;
4. for a section that its file lacks, the H200's, on which every section was measured.

`benchmarks/fit_device.py` writes the file of a device; where its numbers chose no better plans, the H200's hold.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, get_args, get_origin

if TYPE_CHECKING:
    from tilewright.devices import DeviceFacts
    from tilewright.kernels.common.calibration import Calibration

__all__ = [
    "COMPLETE", "GENERATIONS", "SECTIONS", "Section", "as_packaged", "calibrated", "file_of", "forget", "origin",
    "own_names", "packaged", "section_file",
]  # fmt: skip

GENERATIONS = {75: "t4", 80: "a100", 86: "a10", 89: "l40s", 90: "h200", 100: "b200", 120: "rtx_pro_6000"}
COMPLETE = "h200"
SECTIONS = ("RATES", "SIMT_TILES", "SIMT_MODEL", "SM90_MODEL")  # those that a user may have measured
SCALARS: dict[Any, type] = {"bool": bool, "int": int, "float": float, "str": str}

S = TypeVar("S", bound="Section")


class Section:
    """Numbers of a device for one purpose, as read-only attributes.

    A subclass annotates them, and `SECTION` is the name of their dict in a device's file.

    >>> from tilewright.devices import H200
    >>> from tilewright.kernels.gemm.choose.rates import Rates
    >>> Rates.of(H200).bandwidth
    4.2
    """

    SECTION: ClassVar[str]

    def __init__(self, values: dict[str, Any], place: str) -> None:
        """Check that the values are what is annotated. ValueError or TypeError, which name the place, if not."""
        own: Any = type(self)
        for name, value in _complete(_kinds(own), values, place).items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} does not change: {name} is what the device's file says")

    @classmethod
    def of(cls: type[S], facts: DeviceFacts) -> S:
        """The section for a device; its file is read once."""
        key = cls, facts.name, facts.capability
        found: S | None = _known.get(key)
        if found is None:
            own = calibrated(facts) if cls.SECTION in SECTIONS else None
            if own is not None and cls.SECTION in own.sections:
                values, file = own.sections[cls.SECTION], own.path
            else:
                values, file = packaged(cls.SECTION, facts), f"{section_file(cls.SECTION, facts)}.py"
            found = _known[key] = cls(values, f"{file}: {cls.SECTION}")
        return found


_known: dict[tuple[type[Section], str, int], Any] = {}
_calibrated: dict[tuple[str, int], Calibration | None] = {}


def calibrated(facts: DeviceFacts) -> Calibration | None:
    """What the user has measured on such a device; None without that. Its file is read once."""
    key = facts.name, facts.capability
    if key not in _calibrated:
        from tilewright.kernels.common.calibration import read  # which no copy needs

        _calibrated[key] = None  # also where the warning becomes an error
        _calibrated[key] = read(facts.name, {name: packaged(name, facts) for name in SECTIONS})
    return _calibrated[key]


def forget() -> None:
    """Read the numbers of all devices anew when they are asked for next."""
    _known.clear()
    _calibrated.clear()


def as_packaged(facts: DeviceFacts) -> DeviceFacts:
    """The same device, by the package's numbers whether it is calibrated or not.

    >>> from tilewright.devices import H200
    >>> own_names(as_packaged(H200).name)[-1]
    'h200'
    """
    return facts._replace(name=f"{facts.name} as packaged")


def packaged(section: str, facts: DeviceFacts) -> dict[str, Any]:
    """The values of a section that the package has for a device."""
    return (_contents(section_file(section, facts)) or {})[section]  # type: ignore[no-any-return]


def section_file(section: str, facts: DeviceFacts) -> str:
    """The package's file whose section a device takes."""
    files = (file_of(facts.name, facts.capability), COMPLETE)
    return next(x for x in files if section in (_contents(x) or {}))


def origin(facts: DeviceFacts) -> str:
    """Where the numbers of a device come from, in words.

    >>> from tilewright.devices import DEVICES, H200
    >>> print(origin(H200._replace(name="NVIDIA GH200 480GB")))
    borrowed from NVIDIA H200 (h200.py); `tilewright calibrate` measures
    >>> print(origin(DEVICES["sm_89"]))
    those of a data sheet (l40s.py); `tilewright calibrate` measures
    """
    own = calibrated(facts)
    if own is not None:
        return f"calibrated {own.measured} ({own.path})"
    file = file_of(facts.name, facts.capability)
    contents, more = _contents(file) or {}, "; `tilewright calibrate` measures"
    if file not in own_names(facts.name):
        return f"borrowed from {contents['DEVICE']} ({file}.py){more}"
    if contents["MEASURED"].startswith("never"):
        return f"those of a data sheet ({file}.py){more}"
    return f"measured on an {contents['DEVICE']}, {contents['MEASURED']} ({file}.py)"


def file_of(name: str, capability: int) -> str:
    """The file for a device of this name and capability.

    >>> file_of("NVIDIA H200 NVL", 90), file_of("NVIDIA Jetson Orin", 87), file_of("NVIDIA A100-SXM4-40GB", 80)
    ('h200', 'a10', 'a100')
    """
    own = next((x for x in own_names(name) if x.isidentifier() and _contents(x)), None)
    return own or GENERATIONS[max((c for c in GENERATIONS if c <= capability), default=min(GENERATIONS))]


def own_names(name: str) -> list[str]:
    """The names that a device's own file may have; the first one is for such devices alone.

    >>> own_names("NVIDIA H100 PCIe")
    ['h100_pcie', 'h100']
    """
    words = name.removeprefix("NVIDIA ").lower().replace("-", " ").split()
    return ["_".join(words[:n]) for n in range(len(words), 0, -1)]


def _contents(file: str) -> dict[str, Any] | None:
    """What a file defines; None where there is no such file."""
    try:
        return vars(import_module(f"{__name__}.{file}"))
    except ModuleNotFoundError:
        return None


@cache
def _kinds(cls: type) -> dict[str, Any]:
    """The annotated kinds by name; as typing.get_type_hints finds them, which takes ten times as long."""
    space = vars(sys.modules[cls.__module__])
    texts = {name: getattr(x, "__forward_arg__", x) for name, x in cls.__annotations__.items()}
    return {
        name: SCALARS.get(text) or (eval(text, space) if isinstance(text, str) else text)
        for name, text in texts.items()
        if "ClassVar" not in str(text)
    }


def _complete(kinds: dict[str, Any], values: Any, place: str) -> dict[str, Any]:
    """The values of a dict that has exactly these names, each of its kind."""
    if not isinstance(values, dict):
        raise TypeError(f"{place} is {values!r}, but it must be a dict; write {{name: value}}")
    if values.keys() != kinds.keys():
        lacking, unknown = [x for x in kinds if x not in values], [x for x in values if x not in kinds]
        raise ValueError(
            f"{place} lacks {lacking or 'nothing'} and has unknown {unknown or 'nothing'}; it must have exactly "
            f"{', '.join(kinds)}"
        )
    return {name: _read(kind, values[name], place, name) for name, kind in kinds.items()}


def _read(kind: Any, value: Any, place: str, name: str) -> Any:
    """The value of a kind: a number, text, a tuple or dict of such, or a NamedTuple out of its fields' values."""
    if type(value) is kind or (kind is float and type(value) is int):
        return value
    place = f"{place}: {name}"
    arguments = get_args(kind)
    if get_origin(kind) is dict and isinstance(value, dict):
        return {_read(arguments[0], x, place, "key"): _read(arguments[1], y, place, x) for x, y in value.items()}
    if hasattr(kind, "_fields"):
        return _read_fields(kind, value, place)
    if get_origin(kind) is tuple and isinstance(value, tuple):
        each = arguments[:1] * len(value) if arguments[-1:] == (...,) else arguments
        if len(each) == len(value):
            return tuple([_read(x, y, place, str(i)) for i, (x, y) in enumerate(zip(each, value, strict=True))])
    raise TypeError(f"{place} is {value!r}, but it must be of type {getattr(kind, '__name__', kind)}")


def _read_fields(kind: Any, value: Any, place: str) -> Any:
    """The NamedTuple whose fields have these values, by name or in their order; those left out have their defaults."""
    try:
        made = kind(**value) if isinstance(value, dict) else kind(*value)
    except TypeError:
        raise TypeError(f"{place} is {value!r}, but it must have the fields {', '.join(kind._fields)}") from None
    defaults = kind._field_defaults
    for (name, wanted), x in zip(_kinds(kind).items(), made, strict=True):
        if type(x) is not wanted and x is not defaults.get(name):
            _read(wanted, x, place, name)
    return made

"""The data files of devices, the sections that read them, and that no fitted number is left in code."""

from __future__ import annotations

import ast
import importlib
import itertools
import pkgutil
import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import ClassVar, NamedTuple

import pytest

from tilewright import BFloat16, Float32, Float64
from tilewright.devices import DEVICES, H200, DeviceFacts
from tilewright.kernels import devices
from tilewright.kernels.devices import GENERATIONS, Section, file_of
from tilewright.kernels.gemm.choose.choose import choose_gemm, choose_whole
from tilewright.kernels.gemm.choose.rates import Rates
from tilewright.kernels.gemm.problem import problem_of
from tilewright.kernels.gemm.sm90.cost import Sm90Model

FOLDER = Path(devices.__file__).parent
FILES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")
KERNELS = FOLDER.parent

# What the code of the planner has besides: what the hardware or a kernel's own construction fixes, and how is measured.
CODE = {
    "copy/choose.py": {"ACCESS", "SECTOR", "LINE", "WARP", "PHASE", "STEPS"},
    "copy/cost.py": {"SECTOR", "WARP", "ACCESS", "LINE", "FAR", "RESERVED", "PROGRAM", "WARPS", "RESIDENT"},
    "copy/packing.py": {"SECTOR", "WARP", "BANKS", "WORD", "SPAN", "COLUMNS", "STEPS"},
    "gemm/choose/choose.py": {"ROW", "FEW"},
    "gemm/choose/cost.py": {"EQUAL"},
    "gemm/choose/estimate.py": set(),
    "gemm/choose/promotion.py": {"REGISTERS", "OF_THREAD", "REGISTER_SUMS"},
    "gemm/choose/rates.py": set(),
    "gemm/choose/short_sums.py": set(),
    "gemm/choose/candidates.py": {"CANDIDATES", "HOPELESS"},
    "gemm/choose/tune.py": {"FINALISTS", "ROUNDS", "SAMPLE", "ACCESS"},
    "gemm/composite/padded.py": {"SOURCE", "WORKSPACE"},
    "gemm/composite/padding.py": {"ROW", "TILE"},
    "gemm/composite/residue.py": set(),
    "gemm/simt/build.py": set(),
    "gemm/simt/cost.py": set(),
    "gemm/simt/gemv.py": {"SLICED_K", "DEPTH", "PAD"},
    "gemm/simt/stream_k.py": {"LONGEST_RUN", "SHORTEST_RUN"},
    "gemm/simt/tiles.py": {"RESERVED", "LOOSELY"},
    "gemm/sm80/choose.py": {"WIDTHS", "ADA", "HOPPER"},
    "gemm/sm80/cost.py": {"WARP", "WIDEST", "LINE", "BLACKWELL"},
    "gemm/sm90/choose.py": {"MOST"},
    "gemm/sm90/cases.py": {"SECTOR"},
    "gemm/sm90/cost.py": set(),
    "gemm/stream_k.py": {"MAX_STEPS", "MOST_OF_GROUP", "MOST_SHARES", "MOST_PARTS", "HARDLY", "LONG_ROW"},
}
UNITS = {0.0, 1.0, 1e-6, 1e12}  # of floats in functions


def sections() -> list[type[Section]]:
    """All that read a section, wherever they are."""
    import tilewright.kernels as package

    for found in pkgutil.walk_packages([str(KERNELS)], package.__name__ + "."):
        importlib.import_module(found.name)
    return [cls for cls in Section.__subclasses__() if cls.__module__.startswith(package.__name__)]


def is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


class Pair(NamedTuple):
    first: int
    second: tuple[int, int] = (1, 1)


class Some(Section):
    SECTION: ClassVar[str] = "SOME"
    count: int
    rate: float
    pairs: tuple[Pair, ...]
    by_size: dict[int, tuple[int, int]]


GOOD = {"count": 3, "rate": 2, "pairs": ((1,), {"first": 2, "second": (3, 4)}), "by_size": {1: (2, 3)}}


def test_a_section_has_what_its_dict_says_and_does_not_change():
    some = Some(GOOD, "x.py: SOME")
    assert (some.count, some.rate, some.by_size) == (3, 2, {1: (2, 3)})
    assert some.pairs == (Pair(1), Pair(2, (3, 4)))
    with pytest.raises(AttributeError, match="Some does not change: count is what the device's file says"):
        some.count = 4


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        (
            {"count": ...},
            ValueError,
            r"x.py: SOME lacks \['count'\] and has unknown nothing; it must have exactly count",
        ),
        ({"more": 1}, ValueError, r"x.py: SOME lacks nothing and has unknown \['more'\]"),
        ({"count": 3.0}, TypeError, r"x.py: SOME: count is 3.0, but it must be of type int"),
        ({"count": True}, TypeError, r"x.py: SOME: count is True, but it must be of type int"),
        ({"rate": "2"}, TypeError, r"x.py: SOME: rate is '2', but it must be of type float"),
        ({"pairs": ((1, (2, 3.5)),)}, TypeError, r"SOME: pairs: 0: second: 1 is 3.5, but it must be of type int"),
        ({"pairs": ({"second": (1, 2)},)}, TypeError, r"pairs: 0 is .*, but it must have the fields first, second"),
        ({"pairs": [1]}, TypeError, r"SOME: pairs is \[1\], but it must be of type tuple"),
        ({"by_size": {1: (2,)}}, TypeError, r"SOME: by_size: 1 is \(2,\), but it must be of type tuple"),
    ],
)
def test_what_a_section_must_not_have(change, error, said):
    values = {name: value for name, value in {**GOOD, **change}.items() if value is not ...}
    with pytest.raises(error, match=said):
        Some(values, "x.py: SOME")


def test_every_section_of_every_file_is_read_and_complete():
    readers = {cls.SECTION: cls for cls in sections()}
    assert len(readers) == 16
    for file in FILES:
        found = vars(importlib.import_module(f"{devices.__name__}.{file}"))
        dicts = {name: value for name, value in found.items() if name.isupper() and isinstance(value, dict)}
        assert dicts.keys() <= readers.keys(), file
        assert "RATES" in dicts, file
        assert file != devices.COMPLETE or dicts.keys() == readers.keys()
        for name, values in dicts.items():
            readers[name](values, f"{file}.py: {name}")
        assert isinstance(found["DEVICE"], str)
        assert isinstance(found["MEASURED"], str)


@pytest.mark.parametrize("file", FILES)
def test_files_have_literals_only_and_say_what_each_is(file):
    source = (FOLDER / f"{file}.py").read_text()
    first, *others = ast.parse(source).body
    assert isinstance(first, ast.Expr)
    for node in others:
        assert isinstance(node, ast.Assign), ast.unparse(node)
        ast.literal_eval(node.value)
    lines = source.splitlines()
    for before, line in itertools.pairwise(lines):
        if re.match(r' {4}"\w+": ', line):
            assert "#" in line or before.lstrip().startswith("#"), f"{file}.py: {line}"


def test_the_file_of_a_device():
    for arch, facts in DEVICES.items():
        assert file_of(facts.name, facts.capability) == GENERATIONS[facts.capability], arch
    assert set(FILES) == {*GENERATIONS.values(), "h100"}
    assert file_of("NVIDIA H100 80GB HBM3", 90) == file_of("NVIDIA H100 PCIe", 90) == "h100"
    assert file_of("NVIDIA GH200 480GB", 90) == "h200"
    assert file_of("Tesla V100", 70) == "t4"
    assert file_of("NVIDIA B300", 103) == "b200"
    assert Rates.of(DEVICES["sm_80"]).half == 312
    ingest = importlib.import_module(f"{devices.__name__}.h200").SM90_MODEL["ingest"]
    assert Sm90Model.of(DEVICES["sm_80"]).ingest == Sm90Model.of(H200).ingest == ingest > 40


@pytest.mark.parametrize("name", ["h100", "h100_80gb"])
def test_a_device_with_a_file_of_its_own(monkeypatch, name):
    own = ModuleType(name)
    theirs = importlib.import_module(f"{devices.__name__}.h200").SM90_MODEL
    own.SM90_MODEL = {**theirs, "ingest": 40.0}
    monkeypatch.setitem(sys.modules, f"{devices.__name__}.{name}", own)
    facts = DeviceFacts("NVIDIA H100 80GB HBM3", 90, 132, 232448)
    devices._known.clear()
    try:
        assert file_of(facts.name, facts.capability) == name
        assert Sm90Model.of(facts).ingest == 40
        assert Sm90Model.of(H200).ingest == theirs["ingest"] > 40
        assert Rates.of(facts).half == Rates.of(H200).half  # what the file lacks is the H200's
    finally:
        devices._known.clear()


def test_an_h100_has_its_own_memory_and_the_h200s_plans():
    """Its multiprocessors are the H200's: what was fitted to it chose no better (benchmarks/results/fit_h100-*.md)."""
    h100 = H200._replace(name="NVIDIA H100 80GB HBM3")
    assert 2.9 < Rates.of(h100).bandwidth < 3.35 < Rates.of(H200).bandwidth  # 3.35 by its data sheet
    for dtype in (BFloat16, Float32, Float64):
        for extents in ((64, 4096, 4096), (500, 1000, 1001), (1024, 1024, 1024), (4096, 4096, 4096)):
            for order in "km":
                problem = problem_of(*extents, dtype, a=order)
                assert choose_whole(problem, (256,) * 3, h100) == choose_whole(problem, (256,) * 3, H200)
                # Of fp64 sums of parts are so many bytes that the memory decides whether K is split.
                if dtype is not Float64:
                    assert choose_gemm(problem, (256,) * 3, h100) == choose_gemm(problem, (256,) * 3, H200)


def test_an_error_names_the_file(monkeypatch):
    bad = SimpleNamespace(RATES={"half": 1.0})
    monkeypatch.setitem(sys.modules, f"{devices.__name__}.x1", bad)
    with pytest.raises(ValueError, match=r"x1.py: RATES lacks \['kernels', 'tf32', "):
        Rates.of(DeviceFacts("NVIDIA X1", 90, 1, 1))


@pytest.mark.parametrize("file", CODE)
def test_no_fitted_number_is_left_in_code(file):
    """Numbers of modules are those of the hardware; fractions, which only a measurement gives, are in no function."""
    found: set[str] = set()
    tree = ast.parse((KERNELS / file).read_text())
    for node in tree.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and any(is_number(x) for x in ast.walk(node)):
            found |= {x.id for x in ast.walk(node) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
    assert found == CODE[file]
    if not file.endswith(("tune.py", "candidates.py")):
        floats = {x.value for x in ast.walk(tree) if is_number(x) and type(x.value) is float}
        assert floats <= UNITS


def test_all_modules_that_choose_are_looked_at():
    names = (
        "choose",
        "cost",
        "cases",
        "model",
        "packing",
        "tiles",
        "gemv",
        "padded",
        "residue",
        "stream_k",
        "tune",
        "promotion",
        "estimate",
    )
    paths = {str(path.relative_to(KERNELS)) for path in KERNELS.rglob("*.py") if path.stem in names}
    assert paths <= CODE.keys()

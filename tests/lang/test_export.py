"""Functions exported as C headers and objects: what C programs launch, and what Python loads.

No GPU is needed: C programs find a driver made for the tests (tests/runtime/fake_driver.c), which writes launches down.
"""

from __future__ import annotations

import dataclasses
import re
import runpy
import shutil
import subprocess

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilewright as cutlass
from compiling import nvrtc
from exported_programs import Program, cc, make_driver
from places import ROOT
from recorded import Device
from tilewright import Constexpr, Float16, Float32, Float64, Int32, Int64, Uint8, cute
from tilewright.lang import compile as compiling_module

pytestmark = [nvrtc, pytest.mark.skipif(cc is None, reason="no C compiler")]


@cute.kernel
def axpy_kernel(x: cute.Tensor, y: cute.Tensor, a: Float32):
    i = cute.arch.block_idx()[0] * 32 + cute.arch.thread_idx()[0]
    if i < cute.size(y):
        y[i] = a * x[i] + y[i]


@cute.jit
def axpy(x: cute.Tensor, y: cute.Tensor, a: Float32, stream):
    axpy_kernel(x, y, a).launch(grid=[cute.ceil_div(cute.size(y), 32), 1, 1], block=[32, 1, 1], stream=stream)


def fake(*shape, **facts):
    order = tuple(reversed(range(len(shape))))
    return cute.runtime.make_fake_compact_tensor(Float32, shape, stride_order=order, **facts)


@pytest.fixture(scope="module")
def compiled():
    n = cute.sym_int(divisibility=4)
    return cute.compile(axpy, fake(n), fake(n, assumed_align=16), Float32(1), cute.runtime.make_fake_stream())


@pytest.fixture(scope="module")
def exported(compiled, tmp_path_factory):
    """A folder with axpy.h and axpy.o."""
    folder = tmp_path_factory.mktemp("exported")
    compiled.export_to_c(file_path=str(folder), file_name="axpy", function_prefix="axpy")
    return folder


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    return make_driver(tmp_path_factory.mktemp("driver"))


CALL_AXPY = """
  axpy_Kernel_Module_t module;
  const axpy_Tensor_x_t x = {(void *)0x1000, {100}};
  const axpy_Tensor_y_t y = {(void *)0x2000, {100}};
  printf("%d\\n", axpy_Kernel_Module_Load(&module));
  printf("%d\\n", cute_dsl_axpy_wrapper(&module, &x, &y, 2.0f, (struct CUstream_st *)7));
  axpy_Kernel_Module_Unload(&module);
  log_driver();
"""


@pytest.mark.parametrize(("compiler", "suffix"), [("cc", "c"), ("c++", "cpp")])
def test_a_program_without_python_launches(exported, driver, compiler, suffix):
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    lines = Program(exported, driver, ["axpy"], CALL_AXPY, compiler, suffix).run(parameters=1)
    assert lines == [
        "0",
        "0",
        "cuInit",
        "cuDevicePrimaryCtxRetain",
        "cuCtxSetCurrent 0",
        "cuLibraryLoadData",
        "cuLibraryGetKernel axpy_kernel",
        "cuLaunchKernelEx axpy_kernel (4,1,1) (32,1,1) 0 stream 7 params 4096 of 0",
        "cuLibraryUnload",
    ]


def test_the_object_needs_the_system_alone(exported):
    undefined = subprocess.run(["nm", "-u", exported / "axpy.o"], capture_output=True, text=True, check=True).stdout
    names = {line.split()[-1].removeprefix("__").removesuffix("_chk") for line in undefined.splitlines()}
    known = {"_GLOBAL_OFFSET_TABLE_", "stack_chk_fail", "tls_get_addr"}
    assert names - known <= {"dlopen", "dlsym", "dlerror", "memset", "memcpy", "vsnprintf"}


def test_the_header(exported):
    text = (exported / "axpy.h").read_text()
    for part in (
        "typedef struct {\n  void *data;\n  int32_t dynamic_shapes[1];\n} axpy_Tensor_x_t;",
        "   y: (?{div=4}):(1) of Float32 at a multiple of 16 bytes\n   a: Float32\n   stream: ",
        "    float a,\n    struct CUstream_st *stream);",
    ):
        assert part in text


WRONG = """
  axpy_Kernel_Module_t module;
  axpy_Tensor_x_t x = {(void *)0x1000, {100}};
  axpy_Tensor_y_t y = {(void *)0x2000, {100}};
  axpy_Kernel_Module_Load(&module);
#define CALL printf("%d %s\\n", cute_dsl_axpy_wrapper(&module, &x, &y, 2.0f, 0), axpy_error())
  y.data = (void *)0x2004; CALL;
  y.data = (void *)0x2000; x.dynamic_shapes[0] = 98; CALL;
  x.dynamic_shapes[0] = 100; y.dynamic_shapes[0] = 0; CALL;
  y.dynamic_shapes[0] = 100;
  axpy_Kernel_Module_Unload(&module); CALL;
"""


def test_what_the_function_was_not_compiled_for_is_refused(exported, driver):
    assert Program(exported, driver, ["axpy"], WRONG).run() == [
        "1 axpy: y: the address 0x2004 is no multiple of 16 bytes, for which the function was compiled",
        "1 axpy: x.shape[0] is 98, but the function was compiled for multiples of 4",
        "1 launch of axpy_kernel: grid has 0 along x; it must be from 1 to 2147483647",
        "1 the module is not loaded",
    ]


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"LD_LIBRARY_PATH": ""}, "500 there is no CUDA driver: libcuda.so.1: "),
        (
            {"FAKE_MISSING": "cuLibraryLoadData"},
            "500 the CUDA driver has no cuLibraryLoadData; install one of CUDA 12.0",
        ),
    ],
)
def test_a_program_without_a_driver_is_told(exported, driver, environment, message):
    body = 'axpy_Kernel_Module_t module; printf("%d %s\\n", axpy_Kernel_Module_Load(&module), axpy_error());'
    lines = Program(exported, driver, ["axpy"], body).run(**environment)
    assert lines[0].startswith(message)


# Two lives of a module; in the first one a call of the driver fails, of the number that is given.
FAILING = """
  axpy_Kernel_Module_t module;
  const axpy_Tensor_x_t x = {(void *)0x1000, {100}};
  const axpy_Tensor_y_t y = {(void *)0x2000, {100}};
  void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  void (*fail)(long, int) = (void (*)(long, int))dlsym(driver, "fake_fail_call");
  const char *(*failed)(void) = (const char *(*)(void))dlsym(driver, "fake_failed");
  for (int life = 0; life < 2; ++life) {
    fail(life == 0 ? atol(words[1]) : -1, 700);
    int error = axpy_Kernel_Module_Load(&module);
    if (error == 0) error = cute_dsl_axpy_wrapper(&module, &x, &y, 2.0f, (struct CUstream_st *)7);
    const char *text = error == 0 ? "launched" : axpy_error();
    axpy_Kernel_Module_Unload(&module);
    printf("%s: %d %s\\n", failed(), error, text);
  }
  log_driver();
"""


def test_each_call_of_the_driver_by_a_program_fails_once(exported, driver):
    program = Program(exported, driver, ["axpy"], FAILING)
    seen = {}
    for call in range(1, 40):
        first, second, *log = program.run(call, parameters=1)
        assert second == ": 0 launched"
        names = [line.split()[0] for line in log]
        if first.startswith(":"):  # there are no more calls
            break
        function, _, said = first.partition(": ")
        loads = names.count("cuLibraryLoadData") - (function == "cuLibraryLoadData")
        assert loads == names.count("cuLibraryUnload"), first
        seen[function] = said
    assert seen.pop("cuLibraryUnload") == "0 launched"
    assert len(seen) > 5
    for function, said in seen.items():
        named = "axpy_kernel" if function == "cuLaunchKernelEx" else function
        assert said == f"700 {named}: an explanation (error 700 of the CUDA driver)"


# ---- what a host function computes: in C as by its evaluation in Python ----


@cute.kernel
def take_kernel(n: Constexpr[int], *numbers):
    pass


WORDS = 23  # of each launch


def padded(numbers):
    return [*numbers, *[Int64(0)] * (WORDS - len(numbers))]


@cute.jit
def compute(a: Int32, b: Int32, c: Int64, d: Uint8, f: Float32, g: Float64, stream):
    wide = [Int64(x) for x in (a + b, a - b, a * b, -a, a & b, a | b, a ^ b, ~a, a << 3, a >> 2, a << b, a >> b)]
    wide += [
        c + a,
        c * c,
        c - Int64(b),
        Int64(abs(a)),
        Int64(d + d),
        Int64(d >> 1),
        Int64(cutlass.Int8(a)),
        Int64(d * d),
    ]
    wide += [Int64(cutlass.min(a, b)), Int64(cutlass.max(a, b)), Int64(cutlass.Uint32(a) // cutlass.Uint32(7))]
    small = cutlass.Int32(f)
    flags = [Int64(x) for x in (a < b, a == b, c >= 5, f < Float32(g), not (a < b), a < b and b < 10)]
    floats = [Float64(x) for x in (f + 1, f * f, f - Float32(0.1), f / 3, Float32(a), Float32(c), Float32(g))]
    floats += [g * g, g + Float64(c), Float64(-f), Float64(cutlass.max(f, Float32(1.5))), Float64(d)]
    if a < b:
        chosen, other = a, Int64(b)
    else:
        chosen, other = b, c
    total = Int64(0)
    for i in cutlass.range(0, d % Uint8(7), 1):
        total = total * 3 + i
        if total > 20:
            total = total - 20
    steps = Int32(0)
    while chosen > 5:
        chosen, steps = chosen // 2, steps + 1
    take_kernel(0, *wide).launch(grid=[1 + steps, 1, 1], block=[1, 1, 1], stream=stream)
    take_kernel(1, *padded([*flags, *floats])).launch(stream=stream)
    take_kernel(2, *padded([Int64(chosen), other, total, Int64(small)])).launch(stream=stream)


@cute.jit
def divide(a: Int32, b: Int32, c: Int64):
    take_kernel(0, *(Int64(x) for x in (a // b, a % b, c // b, c % b, cute.ceil_div(a // 2, 4)))).launch()


@cute.jit
def grow(m: Int32, n: Int32, k: Int64):
    cute.size(cute.make_layout((m, n, 3)))  # nobody needs it
    blocks = cute.size(cute.make_layout((m, n)))
    wide = cute.size(cute.make_layout((k, k)))
    take_kernel(0, Int64(blocks), wide).launch()


GROW = """
  grow_Kernel_Module_t module;
  grow_Kernel_Module_Load(&module);
#define CALL(m, n, k) printf("%d %s\\n", cute_dsl_grow_wrapper(&module, m, n, k), grow_error())
  CALL(70000, 70000, 1);
  CALL(2, 1000000000, INT64_C(3000000000));
  CALL(2, 1000000000, INT64_C(4000000000));
  log_driver();
"""


def test_sizes_that_do_not_fit_are_refused(tmp_path, driver):
    compiled = cute.compile(grow, 1, 1, 1, options="--gpu-arch sm_90")
    compiled.export_to_c(file_path=str(tmp_path), file_name="grow", function_prefix="grow")
    lines = [re.sub(r"^(\d) .*test_export.py:\d+", r"\1 @", x) for x in Program(tmp_path, driver, ["grow"], GROW).run()]
    what = "@: in grow, on the host: a layout's size or offset is"
    assert lines[0] == (f"1 {what} 70000 * 70000, which is beyond Int32: make one of its extents or strides an Int64")
    assert lines[1].startswith("0 ")
    assert lines[2] == f"1 {what} 4000000000 * 4000000000, which is beyond Int64"
    assert sum("cuLaunchKernelEx" in line for line in lines) == 1


COMPUTE = """
  {name}_Kernel_Module_t module;
  {name}_Kernel_Module_Load(&module);
  log_driver();
  const int error = cute_dsl_{name}_wrapper(&module, {arguments});
  log_driver();
  if (error != 0) printf("%d %s\\n", error, {name}_error());
"""
NUMBERS = "atoi(words[1]), atoi(words[2]), strtoll(words[3], 0, 10)"


def evaluated(compiled, *args):
    """The launches of a call as the driver made for the tests writes them."""
    leaves = compiled.leaves(args, {})
    launches, _, _ = compiled.program.evaluate(compiled.traced.host, leaves.values)
    for one in launches:
        grid = ",".join(map(str, one.grid))
        yield f"({grid})", [bits % 2**64 for bits, _ in one.arguments]


def launched(lines):
    for line in lines:
        words = line.split()
        if words[0] == "cuLaunchKernelEx":
            yield words[2], [int(x) for x in words[words.index("params") + 1 : -2]]


@pytest.fixture(scope="module")
def computing(tmp_path_factory, driver):
    folder = tmp_path_factory.mktemp("computing")
    given = (1, 2, Int64(3), Uint8(4), Float32(5), Float64(6), cute.runtime.make_fake_stream())
    function = cute.compile(compute, *given)
    function.export_to_c(folder, "compute", "compute")
    arguments = f"{NUMBERS}, atoi(words[4]), strtof(words[5], 0), strtod(words[6], 0), 0"
    return function, Program(folder, driver, ["compute"], COMPUTE.format(name="compute", arguments=arguments))


EDGES = [0, 1, 2, -1, -2, 7, 31, 32, 33, 2**31 - 1, -(2**31), 123456789]


@given(
    st.sampled_from(EDGES) | st.integers(-(2**31), 2**31 - 1),
    st.sampled_from(EDGES) | st.integers(-(2**31), 2**31 - 1),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(0, 255),
    st.floats(-1e9, 1e9, width=32),
    st.floats(-1e9, 1e9),
)
def test_numbers_are_computed_as_in_kernels(computing, a, b, c, d, f, g):
    function, program = computing
    lines = program.run(a, b, c, d, f.hex(), g.hex(), parameters=WORDS)
    expected = list(evaluated(function, Int32(a), Int32(b), Int64(c), Uint8(d), Float32(f), Float64(g), 0))
    assert list(launched(lines)) == expected


def test_division_and_what_it_refuses(tmp_path, driver):
    function = cute.compile(divide, 1, 2, Int64(3))
    function.export_to_c(tmp_path / "divide.o", function_name="divide")
    program = Program(tmp_path, driver, ["divide"], COMPUTE.format(name="divide", arguments=NUMBERS))
    for a in EDGES:
        for b, c in ((1, 5), (-1, -(2**63)), (3, -7), (-3, 8), (-(2**31), 2**63 - 1)):
            lines = program.run(a, b, c, parameters=5)[-1:]
            assert list(launched(lines)) == list(evaluated(function, Int32(a), Int32(b), Int64(c)))
    (line,) = program.run(1, 0, 1, parameters=5)[-1:]
    assert line.startswith("1 ")
    assert line.endswith("in divide, on the host: an integer is divided by 0")
    assert f"{__file__}:" in line


# ---- arguments ----


@dataclasses.dataclass
class Scale:
    """What is fixed at the export."""

    factor: float
    extent: int

    @cute.jit
    def __call__(self, sizes: tuple[Int32, Int64], p: cute.Pointer, half: Float16, mode: str, layout: cute.Layout):
        numbers = Float64(self.factor), Int64(self.extent), Int64(sizes[0]), sizes[1], cute.size(layout)
        take_kernel(0, p + 4, *numbers).launch(block=[64, 1, 1], smem=1 << 16, cooperative=True, use_pdl=True)


def test_arguments_of_all_kinds(tmp_path, driver):
    pointer = cute.make_ptr(Float32, 0, cute.AddressSpace.gmem, assumed_align=4)
    layout = cute.make_layout((Int64(5), 3), stride=(3, 1))
    compiled = cute.compile(Scale(0.5, 9), (1, Int64(2)), pointer, Float16(0), "fast", layout)
    compiled.export_to_c(tmp_path, "scale", "scale")
    body = """
      scale_Kernel_Module_t module;
      const scale_Layout_layout_t layout = {{7}};
      scale_Kernel_Module_Load(&module);
      log_driver();
      cute_dsl_scale_wrapper(&module, 3, INT64_C(1) << 40, (void *)0x100, 0x3c00, &layout);
      log_driver();
    """
    lines = Program(tmp_path, driver, ["scale"], body).run(parameters=6)[5:]
    half = int(np.float64(0.5).view(np.uint64))
    assert lines == [
        "cuKernelSetAttribute 8=65536 of device 0",
        f"cuLaunchKernelEx take_kernel (1,1,1) (64,1,1) 65536 stream 0 params 272 {half} 9 3 {1 << 40} 21 "
        "attribute 6=1 attribute 2=1 of 2",
    ]
    loaded = cute.runtime.load_module(tmp_path / "scale.o").scale
    assert loaded.parameters == ("sizes", "p", "half", "mode", "layout")
    args = (3, Int64(1 << 40)), pointer, Float16(1), "fast", layout
    assert list(evaluated(loaded, *args)) == list(evaluated(compiled, *args))
    with pytest.raises(ValueError, match="mode is 'slow', but the function was compiled for 'fast'"):
        loaded(*args[:3], "slow", layout)


@cute.jit
def blocks(n: Int32):
    take_kernel(0, Int64(n)).launch(grid=[n // 8, 1, 1])


def test_what_divides_a_number(tmp_path, driver):
    compiled = cute.compile(blocks, cute.assume(Int32(8), 8))
    compiled.export_to_c(tmp_path, "blocks", "blocks")
    body = COMPUTE.format(name="blocks", arguments="atoi(words[1])")
    program = Program(tmp_path, driver, ["blocks"], body)
    assert list(launched(program.run(24, parameters=1))) == [("(3,1,1)", [24])]
    message = "n is 23, but the function was compiled for multiples of 8"
    assert program.run(23)[-1] == f"1 blocks: {message}"
    with pytest.raises(ValueError, match=message):
        cute.runtime.load_module(tmp_path / "blocks.o").blocks(23)


@cute.jit
def returns(n: Int32):
    return n + 1


@cute.jit
def prints(n: Int32):
    cute.printf("{}", n)
    take_kernel(0, n).launch()


class Odd:
    pass


@cute.jit
def with_parts(parts):
    take_kernel(0, parts.extent).launch()


@pytest.mark.parametrize(
    ("function", "args", "named", "error", "message"),
    [
        (returns, (1,), {}, TypeError, "returns returns something"),
        (prints, (1,), {}, cutlass._core.program.ProgramError, r"test_export\.py:\d+: .*prints in kernels only"),
        (with_parts, (Scale(0.5, 9),), {}, TypeError, "the argument parts is none that a C program can pass"),
        (divide, (1, 2, Int64(3)), {"function_prefix": "a-b"}, ValueError, "'a-b', which is no name"),
        (divide, (1, 2, Int64(3)), {"file_name": None}, ValueError, "its name ends in .o"),
    ],
)
def test_what_cannot_be_exported(tmp_path, function, args, named, error, message):
    compiled = cute.compile(function, *args)
    with pytest.raises(error, match=message):
        compiled.export_to_c(tmp_path / "it", **{"file_name": "it", **named})
    assert not list(tmp_path.iterdir())


def test_a_machine_without_a_compiler_is_told(compiled, tmp_path, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(RuntimeError, match=r"there is no C compiler \(no-such-compiler\); install one"):
        compiled.export_to_c(tmp_path / "axpy.o")
    monkeypatch.setenv("CC", "false")
    with pytest.raises(RuntimeError, match=r"false .* ended with 1"):
        compiled.export_to_c(tmp_path / "axpy.o")


# ---- in Python ----


@pytest.fixture(scope="module")
def modules(exported, compiled, tmp_path_factory):
    """The object, and a library of two objects."""
    folder = tmp_path_factory.mktemp("library")
    compiled.export_to_c(folder, "again", "again")
    objects = [exported / "axpy.o", folder / "again.o"]
    subprocess.run([cc, "-shared", "-o", folder / "both.so", *objects], check=True)
    return cute.runtime.load_module(exported / "axpy.o"), cute.runtime.load_module(str(folder / "both.so"))


def operands(n=100):
    return np.arange(n, dtype=np.float32), np.ones(n, dtype=np.float32)


def test_loaded_functions_run(modules):
    for function in (modules[0].axpy, modules[1].axpy, modules[1].again):
        x, y = operands()
        assert function(x, y, 2.0, 0) is None
        np.testing.assert_array_equal(y, 2 * x + 1)
        function(*operands(8), a=3.0, stream=0)
    assert dir(modules[1])[-2:] == ["axpy", "again"] or {"axpy", "again"} <= set(dir(modules[1]))
    with pytest.raises(AttributeError, match=r"no function 'axpi'\. Did you mean: 'axpy'"):
        modules[0].axpi  # noqa: B018


def test_loaded_functions_refuse_what_compiled_ones_refuse(modules, compiled):
    x, y = operands()
    wrong = [
        (x, y),
        (x.astype(np.float64), y, 2.0, 0),
        (x[:98], y, 2.0, 0),
        (x[::2], y, 2.0, 0),
        (x.reshape(10, 10), y, 2.0, 0),
        (x, np.ones(105, np.float32)[1:101], 2.0, 0),
        (x, y, "2", 0),
        (None, y, 2.0, 0),
    ]
    for args in wrong:
        with pytest.raises((TypeError, ValueError, cutlass.LayoutError)) as expected:
            compiled(*args)
        with pytest.raises(expected.type) as found:
            modules[0].axpy(*args)
        assert str(found.value) == str(expected.value)


def test_nothing_is_compiled_again(modules, compiled, monkeypatch):
    monkeypatch.setattr(compiling_module, "compile_program", lambda *args, **named: pytest.fail("compiled"))
    function = modules[1].again
    assert function.kernels[0].arch == compiled.kernels[0].arch
    assert function.kernels[0].cubin == compiled.kernels[0].cubin
    assert (function.ptx, function.source, function.registers) == (compiled.ptx, compiled.source, compiled.registers)


class Stream:
    cuda_stream = 5


def test_a_loaded_function_is_launched_again_without_python(modules, monkeypatch):
    torch = pytest.importorskip("torch")
    device = Device(monkeypatch)
    for n in (100, 200, 100, 4):
        x, y = torch.rand(n), torch.rand(n + 4)[:n]
        modules[0].axpy(x, y, 2.0, Stream())
        assert device.last[0] == (-(-n // 32), 1, 1)
    assert device.counts == (1, 4)


def test_files_that_are_none(exported, tmp_path):
    data = (exported / "axpy.o").read_bytes()
    place = data.index(b"tilewright aot 1")
    bad = {
        "text": (b"text", "no ELF file"),
        "empty": (b"", "no ELF file"),
        "cut": (data[: len(data) // 2], "cut off or damaged"),
        "changed": (data[: place + 999] + bytes([data[place + 999] ^ 1]) + data[place + 1000 :], "cut off or damaged"),
    }
    for name, (content, message) in bad.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=f"load_module: .*{name}: .*{message}"):
            cute.runtime.load_module(tmp_path / name)
    with pytest.raises(ValueError, match="has no functions that export_to_c wrote"):
        cute.runtime.load_module(cutlass._core.__file__)
    for length in range(0, len(data), 101):
        (tmp_path / "cut").write_bytes(data[:length])
        with pytest.raises(ValueError, match="load_module"):
            cute.runtime.load_module(tmp_path / "cut")


def test_the_recipe(tmp_path, driver, monkeypatch):
    """What docs/howto.md says: its Python exports, its C compiles and launches."""
    page = (ROOT / "docs/howto.md").read_text(encoding="utf-8")
    recipe = page.split("## Ship a kernel without Python")[1].split("\n## ")[0]
    (python,), (c,) = (re.findall(rf"```{kind}\n(.*?)```", recipe, re.DOTALL) for kind in ("python", "c"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipe.py").write_text(python)
    runpy.run_path(str(tmp_path / "recipe.py"))
    (tmp_path / "program.c").write_text(c)
    body = 'printf("%d %d\\n", scale_vector((void *)64, 100, 2, 0), scale_vector((void *)64, 98, 2, 0)); log_driver();'
    declared = "int scale_vector(void *memory, int n, float factor, struct CUstream_st *stream);"
    (tmp_path / "program.h").write_text(f'#include "build/scale.h"\n{declared}\n')
    subprocess.run([cc, "-Ibuild", "-r", "-nostdlib", "-o", "program.o", "program.c", "build/scale.o"], check=True)
    lines = Program(tmp_path, driver, ["program"], body).run(parameters=1)
    assert lines[0] == "0 1"
    assert "cuLaunchKernelEx scale_kernel (1,1,1) (128,1,1) 0 stream 0 params 64 of 0" in lines
    assert cute.runtime.load_module("build/scale.o").scale.kernels[0].arch == "sm_90a"


# ---- programs as bytes ----


def test_programs_come_back_from_their_bytes():
    from lang_cases import program as cases
    from tilewright._core import program as core

    for program in (
        cases(),
        cute.compile(
            compute, 1, 2, Int64(3), Uint8(4), Float32(5), Float64(6), cute.runtime.make_fake_stream()
        ).program,
    ):
        again = core.Program.from_bytes(program.to_bytes())
        assert str(again) == str(program)
        assert again.to_bytes() == program.to_bytes()
        for i, function in enumerate(program.functions):
            if function.is_kernel:
                assert core.cuda_source(again, i, "every") == core.cuda_source(program, i, "every")


def test_bytes_that_are_no_program():
    from tilewright._core import program as core

    data = cute.compile(divide, 1, 2, Int64(3)).program.to_bytes()
    for length in range(len(data)):
        with pytest.raises(core.ProgramError, match="these bytes are no program"):
            core.Program.from_bytes(data[:length])
    with pytest.raises(core.ProgramError, match="1 of them are left over"):
        core.Program.from_bytes(data + b"x")
    with pytest.raises(core.ProgramError, match="have the format 99, but this version reads 1"):
        core.Program.from_bytes(b"\x63" + data[1:])

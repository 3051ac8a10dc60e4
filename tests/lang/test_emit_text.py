"""The text of kernels: names, precedence, what is left out, places in Python; what NVRTC and PTX make of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import lang_cases
import lang_numbers
from compiling import nvrtc
from lang_programs import SMEM, Maker, layout, number, pointer
from tilewright import runtime
from tilewright._core import program as core
from tilewright.lang.compile import CompiledKernel
from tilewright.runtime.errors import CompileError

F32, I32 = pointer("Float32"), pointer("Int32")


def written(body, name="written", marks="none", **types):
    """The statements of a kernel."""
    with Maker() as make:
        with make.kernel(name, (128, 1, 1), **types) as given:
            body(make, given)
        program = make.finish()
    text = core.cuda_source(program, 0, marks)
    return text.partition("{\n")[2].removesuffix("}\n")


def statements(body, **types):
    return [line.strip() for line in written(body, **types).splitlines()]


def stored(lines):
    """What is stored to out."""
    return [line.partition(" = ")[2] for line in lines if line.startswith("out[")]


def test_whole_text():
    program = lang_cases.program(["vector_add"])
    assert core.cuda_source(program, 0, "none") == (
        '#include "tilewright/lang.cuh"\n'
        "\n"
        "using namespace tilewright;\n"
        "\n"
        'extern "C" __global__ void __launch_bounds__(128) vector_add(float* a, float* b, float* c, int n) {\n'
        "  int tidx = int(threadIdx.x);\n"
        "  int i = int(int(blockIdx.x) * 128u + tidx);\n"
        "  if (i < n) {\n"
        "    float x11 = a[i];\n"
        "    float x13 = b[i];\n"
        "    c[i] = x11 + x13;\n"
        "  }\n"
        "}\n"
    )


def test_names():
    """The user's, made into C++'s; words of C++ and of the device library are not taken, and all differ."""

    def body(make, given):
        x, y, z, n = given
        total = make.add(make.load(x), make.load(y))
        make.builder.name(total, "class")
        other = make.mul(total, total)
        make.builder.name(other, "mA.shape[0]")
        make.store(make.add(other, total), z)
        make.store(other, make.at(z, n, 4))

    types = {"mA.iterator": F32, "mA.shape[0]": F32, "grün__x_": F32, "2n": number("Int32")}
    with Maker() as make:
        with make.kernel("operator", **types) as given:
            body(make, given)
        program = make.finish()
    text = core.cuda_source(program, 0, "none")
    assert "void operator_1(float* mA_iterator, float* mA_shape_0, float* gr_n_x, int v2n) {" in text
    assert "float class_1 = " in text
    assert "float mA_shape_0_2 = class_1 * class_1;" in text
    assert core.cuda_name(program, 0) == "operator_1"


def test_names_of_the_device_library_are_its_own():
    """A kernel of the user's is renamed where the headers define its name."""
    definition = r"^(?:template\b[^\n]*\n)?(?:__device__|inline|constexpr|struct|using)[^\n(=;{]*?\b(\w+)\s*(?=[(={:;]|$)"
    headers = (Path(runtime.__file__).parents[1] / "kernels" / "tilewright").glob("lang*.cuh")
    names = {x for header in headers for x in re.findall(definition, re.sub("//.*", "", header.read_text()), re.M)}
    assert {"convert", "negated", "word", "Unsigned"} <= names
    for name in names:
        with Maker() as make:
            with make.kernel(name):
                pass
            assert core.cuda_name(make.finish(), 0) == f"{name}_1"


def test_precedence():
    def body(make, given):
        a, b, c, out = given
        x, y, z = (make.load(p) for p in (a, b, c))
        for name, value in zip("xyz", (x, y, z), strict=True):
            make.builder.name(value, name)
        for k, value in enumerate(
            [
                make.sub(x, make.sub(y, z)),
                make.mul(make.add(x, 2.0), z),
                make.div(x, make.mul(y, z)),
                make.neg(make.add(x, y)),
                make.select(make.lt(x, y), make.select(make.lt(y, z), x, y), make.neg(z)),
            ]
        ):
            make.store(value, make.at(out, make.constant("Int32", k), 4))

    found = statements(body, a=F32, b=F32, c=F32, out=F32)
    assert stored(found) == [
        "x - (y - z);",
        "(x + 2.0f) * z;",
        "x / (y * z);",
        "-(x + y);",
        "x < y ? (y < z ? x : y) : -z;",
    ]


def test_integers_wrap_where_they_may_overflow():
    def body(make, given):
        n, out = given
        t = make.thread(name="t")
        results = [
            make.add(make.mul(t, 100), 5),  # cannot overflow
            make.add(make.mul(n, 100), t),
            make.floor_div(make.add(t, 2), 8),
            make.floor_div(n, 8),
            make.floor_div(n, make.add(t, 1)),
            make.floor_mod(t, 32),
            make.shl(n, 3),
            make.shl(n, t),
            make.eq(make.and_(n, 1), 0),
        ]
        for k, x in enumerate(results):
            stored = make.cast(x, type=number("Int32")) if x.scalar == "Boolean" else x
            make.store(stored, make.at(out, make.constant("Int32", k), 4))

    found = statements(body, n=number("Int32"), out=I32)
    assert stored(found) == [
        "t * 100 + 5;",
        "int(n * 100u + t);",
        "(t + 2) / 8;",
        "n >> 3;",
        "int(floor_div<int>(n, t + 1));",
        "t % 32;",
        "n << 3;",
        "int(shift_left<int>(n, t));",
        "int((n & 1) == 0);",
    ]


def test_what_nobody_needs_is_left_out():
    def body(make, given):
        x, n = given
        unused = make.mul(make.load(x), 2.0)
        make.builder.name(unused, "unused")
        make.if_(make.lt(n, 3), lambda: (make.add(n, 1),), lambda: (n,))
        make.for_(0, n, 1, [n, make.constant("Float32", 0.0)], lambda i, a, b: (make.add(a, i), b))

    assert written(body, x=F32, n=number("Int32")) == ""


def test_loops_compute_nothing_again():
    """A value that is used once stands where it is used, but in front of a loop that would compute it each time."""

    def body(make, given):
        n, out = given
        squared, halved = make.mul(n, n), make.floor_div(n, 2)
        t = make.thread(name="t")

        def step(i, total):
            return (make.add(total, make.mul(squared, i)),)

        (total,) = make.for_(0, n, 1, [halved], step)
        make.store(total, make.at(out, t, 4))

    assert statements(body, n=number("Int32"), out=I32) == [
        "int i2 = int(uint32(n) * n);",
        "int t = int(threadIdx.x);",
        "int i12 = n >> 1;",
        "for (int i8 = 0; i8 < n; ++i8) {",
        "i12 = int(i12 + uint32(i2) * i8);",
        "}",
        "out[t] = i12;",
    ]


def test_vectors_are_loops_over_elements():
    def body(make, given):
        x, out = given
        v = make.load(x, layout(6, 1))
        make.builder.name(v, "v")
        make.store(make.add(make.mul(v, 2.0), 1.0), out, layout(6, 2))

    assert statements(body, x=pointer("Float32", align=4), out=F32) == [
        "Vec<float, 6> v;",
        "#pragma unroll",
        "for (int i = 0; i < 6; ++i) v[i] = x[i];",
        "#pragma unroll",
        "for (int i = 0; i < 6; ++i) out[i * 2] = v[i] * 2.0f + 1.0f;",
    ]


@pytest.mark.parametrize(
    ("align", "shape", "stride", "width"),
    [
        (16, 4, 1, 4),
        (8, 4, 1, 2),
        (4, 4, 1, 1),
        (16, 8, 1, 4),
        (16, 6, 1, 2),
        (16, 4, 2, 1),
        (16, (4, 2), (1, 512), 4),
        (16, (4, 2), (1, 6), 2),
        (16, (4, 2), (1, 5), 1),
        (16, (2, 4), (8, 1), 4),
    ],
)
def test_widths_of_accesses(align, shape, stride, width):
    """Elements of one access: by the alignment, the contiguous mode and what divides the other strides."""

    def body(make, given):
        x, out = given
        make.store(make.load(x, layout(shape, stride)), out, layout(shape, stride))

    p = pointer("Float32", align=align)
    text = written(body, x=p, out=p)
    widths = [int(x) for x in re.findall(r"vec<(\d+)>", text)]
    assert widths == ([width] * 2 if width > 1 else [])


def test_printf():
    def body(make, given):
        x, n = given
        value = make.load(x)
        make.builder.name(value, "value")
        wide = make.cast(n, type=number("Int64"))
        make.printf(value, wide, n, x, text='{} %5.2d%% "%x" {} 50%\n')

    found = statements(body, x=pointer("Float16", align=2), n=number("Int32"))
    expected = r'printf("%f %5.2lld%% \"%x\" %p 50%%\n", double(to_float(value)), int64(n), n, (const void*)x);'
    assert found[-1] == expected


def test_inline_asm():
    def body(make, given):
        n, x = given
        text = "{ .reg .pred p; add.s32 $0, $1, ${2}; mov.u32 %clock, $$1; }\n=r,r,i"
        total = make.builder.op("inline_asm", [n, make.constant("Int32", 3)], type=number("Int32"), ints=[0], text=text)
        make.builder.op("inline_asm", [total, x], text="st.global.s32 [$1], $0;\nr,l")

    assert statements(body, n=number("Int32"), x=I32)[1:] == [
        'asm("{ .reg .pred p; add.s32 %0, %1, %2; mov.u32 %%clock, $1; }" : "=r"(i3) : "r"(n), "n"(3));',
        'asm volatile("st.global.s32 [%1], %0;" :  : "r"(i3), "l"(x) : "memory");',
    ]


def test_errors_of_the_text():
    def asked(code, *operands, **rest):
        def body(make, given):
            result = make.builder.op(code, [given, *operands], **rest)
            if result is not None:
                make.printf(result, text="{}")

        return body

    for body, types, what in [
        (asked("popc"), {"x": number("Float32")}, "popc is an operation on integers, not on f32"),
        (asked("sqrt"), {"x": number("Int32")}, "sqrt is an operation on floating-point numbers, not on i32"),
    ]:
        with pytest.raises(core.ProgramError, match=what):
            written(body, **types)


# ---- compiled ----


@nvrtc
def test_every_line_has_its_place(compiler):
    """PTX and the compiler's errors name the line of Python, for each of several lines of C++."""
    program = lang_cases.program(["fragments"])
    every = core.cuda_source(program, 0, "every").splitlines()
    changes = core.cuda_source(program, 0, "changes").splitlines()
    assert [x for x in every if "#line" not in x] == [x for x in changes if "#line" not in x]
    assert sum("#line" in x for x in every) > sum("#line" in x for x in changes)
    ptx = CompiledKernel(program, 0, "sm_90a").ptx
    lines = {int(x) for x in re.findall(r"#line (\d+)", "\n".join(every))}
    files = dict(re.findall(r'\.file\t(\d+) "(.*?)"', ptx))
    place, found = ("", 0), set()
    for line in ptx.splitlines():
        if at := re.search(r"\.loc\t(\d+) (\d+)", line):
            place = files[at[1]], int(at[2])
        elif "ld.global" in line or "st.global" in line:
            found.add(place)
    assert found
    assert all(file.endswith(".py") and line in lines for file, line in found)


@nvrtc
def test_compile_errors_name_the_line(compiler):
    def body(make, n):
        make.builder.op("inline_asm", [n], text="no.such.instruction $0;\nr")
        make.builder.op("fence", text="nonsense")

    with Maker() as make:
        with make.kernel("wrong", n=number("Int32")) as n:
            body(make, n)
        program = make.finish()
    with pytest.raises(CompileError, match="nonsense"):
        CompiledKernel(program, 0, "sm_90a").ptx  # noqa: B018


@nvrtc
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_everything_compiles(compiler, arch):
    """Every operation on every type: few registers, nothing spilled, no local memory but for printf's arguments."""
    for program in (lang_cases.program(), lang_numbers.program()):
        for index, function in enumerate(program.functions):
            kernel = CompiledKernel(program, index, arch)
            assert kernel.spills == 0, function.name
            assert kernel.report.stack_bytes == 0 or function.name == "asserted", function.name
            most = 160 if function.name == "product" else 128  # it has so many elements in registers
            assert 0 < kernel.registers <= most, function.name


@nvrtc
@pytest.mark.parametrize("scalar", ["Int8", "Uint16", "Int32", "Uint32", "Int64", "Uint64"])
def test_reductions_over_lanes_take_integers_of_any_width(compiler, scalar):
    with Maker() as make:
        with make.kernel("reduced", x=number(scalar), out=pointer(scalar)) as (x, out):
            mask = make.constant("Uint32", 0xFFFFFFFF)
            for k, how in enumerate(["add", "min", "max", "and", "or", "xor"]):
                result = make.builder.op("redux_sync", [x, mask], text=how)
                make.store(result, make.at(out, make.constant("Int32", k), 1))
        program = make.finish()
    ptx = CompiledKernel(program, 0, "sm_90a").ptx
    is_instruction = scalar in ("Int32", "Uint32")
    assert ("redux.sync" in ptx, "shfl.sync" in ptx) == (is_instruction, not is_instruction)


@nvrtc
def test_accesses_in_ptx(compiler):
    """Vectors are one instruction, register memory is none, cp.async and swizzles are what they say."""
    program = lang_cases.program(["axpy_wide", "fragments", "asynchronous", "product"])
    ptx = {f.name: CompiledKernel(program, i, "sm_90a").ptx for i, f in enumerate(program.functions)}
    assert ptx["axpy_wide"].count("ld.global.v4.f32") == 4
    assert ptx["axpy_wide"].count("st.global.v4.f32") == 2
    assert ptx["fragments"].count("ld.global.v4") == 4
    assert "cp.async.cg.shared.global" in ptx["asynchronous"]
    assert ptx["product"].count("fma.rn.f32") == 2 * 8 * 4 * 8
    assert ".local" not in ptx["product"]
    assert "fma" not in ptx["axpy_wide"]


@nvrtc
def test_narrow_negations_are_of_32_bits(compiler):
    ptx = CompiledKernel(lang_cases.program(["negations"]), 0, "sm_90a").ptx
    assert ptx.count("neg.s32") == 10
    assert "neg.s16" not in ptx


@pytest.mark.parametrize("in_registers", [False, True])
def test_products_of_registers_go_there_and_back(in_registers):
    """Neighbouring products then share a factor. What is read from memory is read row after row."""

    def body(make, out):
        shared = [make.shared(type=pointer("Float32", SMEM), ints=[x]) for x in (0, 32)]
        a, b = (make.frame("Float32", x) for x in (8, 4)) if in_registers else shared
        sums, factors = (out, layout((1, 8, 4), (0, 1, 8))), ((a, layout((1, 8), (0, 1))), (b, layout((1, 4), (0, 1))))
        make.fma_tile(accesses=[sums, *factors, sums], ints=[1, 8, 4, 1])

    lines = statements(body, out=F32)
    assert ("int m = n % 2 == 0 ? i : 7 - i;" in lines) == in_registers
    assert sum("fmaf(" in line for line in lines) == 1


def test_parameters_lie_as_in_cpp():
    types = {"a": number("Int8"), "b": number("Int64"), "c": number("Boolean"), "d": number("Float16"),
             "e": F32, "f": number("Uint32"), "g": pointer("Int4", align=1)}  # fmt: skip
    with Maker() as make:
        with make.kernel("placed", **types):
            pass
        program = make.finish()
    assert core.parameter_places(program, 0) == ([0, 8, 16, 18, 24, 32, 40], 48)


@nvrtc
def test_wide_parameters_compile(compiler):
    assert "unused" not in CompiledKernel(lang_cases.program(["pieces"]), 0, "sm_90a").source


def test_sass_needs_a_tool(monkeypatch):
    monkeypatch.setattr("tilewright.runtime.disassembler.found", lambda tool: None)
    from tilewright.runtime.disassembler import disassembled

    with pytest.raises(FileNotFoundError, match="pip install nvidia-cuda-nvdisasm"):
        disassembled(b"")

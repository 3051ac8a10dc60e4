"""What analyses of copies and plans conclude: the widest access, occupancy, advice, tables and pictures."""

from __future__ import annotations

import math
import re
import time

import numpy as np
import pytest

import tilewright
from notebooks import drawn_in
from test_analysis_plans import ALL, GEMMS, array, seed_002, simt, sliced, sm80, sm90
from tilewright import BFloat16, Float16, Float32, Float64, TFloat32, analysis, cute, kernels
from tilewright.analysis import MisalignedError, analyze
from tilewright.analysis.cp_async import async_access
from tilewright.analysis.totals.accesses import widest_legal
from tilewright.cute.nvgpu import cpasync
from tilewright.devices import DEVICES, H200
from tilewright.kernels.analyze.occupancy import occupancy
from tilewright.kernels.copy import accesses as copy_plans
from tilewright.kernels.gemm import accesses as gemm_plans
from tilewright.kernels.gemm.choose.choose import choose_gemm
from tilewright.kernels.gemm.composite.residue import ResidueGemm, split
from tilewright.kernels.gemm.problem import problem_of
from tilewright.kernels.gemm.sm80.layouts import smem_layout
from tilewright.kernels.gemm.sm90.choose import Config, plan_of
from tilewright.runtime import compiler as compiler_module
from tilewright.show.analysis.report import picture

L = cute.parse


def test_the_conflict_of_seed_002_and_what_mends_it():
    plan, tensors, _ = seed_002()
    found = plan.analyze(*tensors)
    copy = found["load A, into shared"]
    assert copy.worst.ways == 8
    # And 4 lanes read one bank of the cache: Nsight Compute counts 8 + 4 - 1, the lane itself once.
    assert copy.wavefronts == 11 * copy.ideal_wavefronts
    assert "'load A, into shared' conflicts 8 ways" in found.advice
    assert "pad the leading stride to 132: smem_a = (128,8,2):(1,132,1056)" in found.advice
    mended = plan.replace(smem_a=L(re.search(r"smem_a = (\S+?);?(?: |$)", found.advice)[1]))
    again = mended.analyze(*tensors)
    assert [x.name for x in again if x.conflicts] == ["load A, into shared"]
    # What is left is the side of global memory: 4 rows, which lie in the same banks of the cache.
    assert again["load A, into shared"].worst.ways == 4
    assert "no padding helps" in again.advice
    assert mended.run(*tensors, check=True)


@pytest.mark.parametrize(
    ("dtype", "mode", "order"), [(Float16, 1, "k"), (TFloat32, 0, "m"), (Float64, 1, "k"), (Float32, None, "k")]
)
def test_advice_on_fragments_is_followed(dtype, mode, order):
    """What the sentence says is what takes the conflicts away."""
    if dtype is Float32:  # half as wide as a row of banks, written along K
        plan = simt(128, 128, 64, Float16)
    else:
        plan = sm80(128, 128, 64, dtype, a=order)
        plain = smem_layout((plan.tiler_mnk[0], plan.tiler_mnk[2]), dtype.bits, mode, plan.stages, False)
        plan = plan.replace(smem_a=plain)
    advice = plan.analyze().advice
    assert "conflicts" in advice
    before = sum(x.conflicts for x in plan.analyze() if x.name.endswith(("A", "A to shared", "A, into shared")))
    if "Swizzle<" in advice:
        swizzle = cute.make_swizzle(*map(int, re.search(r"Swizzle<(\d),(\d),(\d)>", advice).groups()))
        mended = plan.replace(smem_a=cute.make_composed_layout(swizzle, 0, plan.smem_a))
    else:
        mended = plan.replace(smem_a=L(re.search(r"smem_a = (\S+?);?(?: |$)", advice)[1]))
        assert mended.fragment_vector("a") == plan.fragment_vector("a")
    after = sum(x.conflicts for x in mended.analyze() if x.name.endswith(("A", "A to shared", "A, into shared")))
    assert after < before / 4


def of_sums(found):
    return [x for x in found if x.name in ("write C to shared", "read C from shared")]


@pytest.mark.parametrize("order", ["n", "m"])
def test_advice_on_sums_in_shared_memory_is_followed(order):
    plan = simt(64, 64, 64, a="m", b="n", c=order)
    rows, columns, slices = plan.smem_c.shape
    plain = plan.replace(smem_c=cute.make_layout((rows, columns, slices), stride=(32, 1, 32 * rows)))  # whole banks
    before = plain.analyze()
    layout, better, worse = re.search(r"pad its rows: smem_c = (\S+) takes (\d+) .*, not (\d+)", before.advice).groups()
    mended = plain.replace(smem_c=L(layout)).analyze()
    tiles = math.prod(plan.tiles)
    assert sum(x.wavefronts for x in of_sums(before)) == tiles * int(worse)
    assert sum(x.wavefronts for x in of_sums(mended)) == tiles * int(better) <= tiles * int(worse) / 1.5
    # The conflicts that are left are those of any padding, and so are those of the plan as it is chosen.
    assert "smem_c = " not in mended.advice + plan.analyze().advice
    assert re.search(
        "C (to|from) shared' conflicts . ways, .*: no padding of smem_c takes fewer .*; the conflicts are .* % of the",
        plan.analyze().advice,
    )


def test_advice_on_sums_of_a_gemm_with_a_residue():
    gemm = simt(64, 64, 256, a="m", b="n")
    rows, columns, slices = gemm.smem_c.shape
    plain = gemm.replace(smem_c=cute.make_layout((rows, columns, slices), stride=(32, 1, 32 * rows)))
    whole = plain.problem._replace(n=68)
    residue = gemm.for_problem(split(whole, 1, 64)[1].problem)
    plan = ResidueGemm(problem=whole, gemm=plain, residue=residue, along=1, begin=64)
    image = re.search(r"pad its rows: smem_c = (\S+) takes", plan.analyze().advice)[1]
    mended = plan.replace(gemm=plain.replace(smem_c=L(image))).analyze()
    assert sum(x.conflicts for x in mended) < sum(x.conflicts for x in plan.analyze())
    assert "no padding of smem_c takes fewer" in mended.advice


def test_a_layout_that_no_field_decides_on_is_called_the_kernels_own():
    found = sm80(72, 72, 24, TFloat32, a="m", b="n").analyze()
    part = found["write C to shared"].conflicts / sum(x.wavefronts for x in found)
    assert found.advice == (
        "'write C to shared' conflicts 4 ways, 2048 wavefronts instead of 512: no field of the plan mends that, for "
        f"the layout is the kernel's own; the conflicts are {100 * part:.2g} % of the launch's wavefronts in shared "
        "memory"
    )


def test_the_copy_of_seed_002_alone():
    _, _, copy = seed_002()
    gmem, smem = (
        cute.make_ptr(Float32, 0, space, assumed_align=16) for space in (cute.AddressSpace.gmem, cute.AddressSpace.smem)
    )
    tile = cute.make_tensor(gmem, L("(128,8):(1024,1)"))
    found = analyze(copy, tile, cute.make_tensor(smem, L("(128,8):(1,128)")))
    assert (found["write"].wavefronts, found["write"].ideal_wavefronts, found["read"].sectors) == (352, 32, 128)
    assert found["write"].worst.ways == 8
    assert "8-way" in found.advice
    padded = analyze(copy, tile, cute.make_tensor(smem, L("(128,8):(1,132)")))
    assert padded["write"].worst.ways == 4  # that of the cache: four rows of global memory in one bank
    assert padded.advice == ""


def test_tiled_copies_by_ldmatrix_and_through_registers():
    op = cute.nvgpu.warp.LdMatrix8x8x16bOp(num_matrices=4)
    mma = cute.make_tiled_mma(cute.nvgpu.warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16)))
    copy = cute.make_tiled_copy_A(cute.make_copy_atom(op, Float16), mma)
    smem = cute.make_ptr(Float16, 0, cute.AddressSpace.smem, assumed_align=128)
    registers = cute.make_ptr(Float16, 0, cute.AddressSpace.rmem, assumed_align=16)
    tile = cute.make_layout((16, 16), stride=(64, 1))  # 16 rows, 128 bytes from each other
    found = analyze(copy, cute.make_tensor(smem, tile), cute.make_tensor(registers, tile))
    assert [(x.sass, x.wavefronts, x.ideal_wavefronts) for x in found] == [("LDSM.16.M88.4", 32, 4)]
    swizzled = cute.composition(cute.make_swizzle(3, 3, 3), tile)
    found = analyze(copy, cute.make_tensor(smem, swizzled), cute.make_tensor(registers, tile))
    assert found["read"].conflicts == 0


def test_an_access_that_would_fault_is_named():
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float32, num_bits_per_copy=128)
    copy = cute.make_tiled_copy_tv(atom, cute.make_layout((1, 32)), cute.make_layout((1, 4)))
    a, b = (
        cute.make_tensor(
            cute.make_ptr(Float32, at, cute.AddressSpace.gmem), cute.make_layout((1, 128), stride=(128, 1))
        )
        for at in (16, 4)
    )
    with pytest.raises(MisalignedError, match="lane 0") as error:
        analyze(copy, a, b)
    assert (error.value.lane, error.value.address, error.value.width) == (0, 4, 16)
    plan = kernels.tiled_copy.plan(array((8, 128)), array((8, 128)))
    with pytest.raises(ValueError, match="analyze: dst begins at 0x4"):
        plan.analyze(addresses=(0, 4))


# ---- what limits accesses ----


@pytest.mark.parametrize(
    ("address", "extents", "strides", "size", "width", "why"),
    [
        (0, (64, 64), (64, 1), 4, 16, ""),
        (8, (64, 64), (64, 1), 4, 8, "begins at 0x8, no multiple of 16"),
        (0, (64, 64), (65, 1), 4, 4, "stride 65 of mode 0 is 260 bytes, no multiple of 8"),
        (0, (64, 64), (2, 128), 4, 4, "no mode has stride 1"),
        (0, (1, 64), (65, 1), 4, 16, ""),  # a mode of one element has no second row
        (0, (64, 64), (0, 1), 2, 16, ""),
        (0, (16, 16), (1, 24), 1, 8, "stride 24 of mode 1"),
        (8, (1, 1), (0, 0), 4, 4, "one element"),
        (4, (64, 0), (0, 0), 4, 16, ""),
    ],
)
def test_widest_legal(address, extents, strides, size, width, why):
    found = widest_legal(address, extents, strides, size)
    assert found[0] == width
    assert why in found[1]
    assert bool(found[1]) == bool(why)


def test_the_limit_names_the_tensor():
    src, dst = sliced((40, 512)), array((40, 512))
    found = kernels.tiled_copy.plan(src, dst).analyze(src, dst)
    assert found.widest == 4
    assert found.limit.startswith("src: it begins at 0x")
    found = simt(64, 64, 33).analyze()
    assert (found.widest, found.limit) == (4, "A: stride 33 of mode 0 is 132 bytes, no multiple of 8")


def test_the_advice_names_the_limit_of_the_tensor_that_loses():
    """Not the one that limits the widest access of all."""
    found = kernels.gemm.plan(array((70, 300)), array((130, 300))).analyze()
    assert found.limit.startswith("C: stride 130 of mode 0")
    assert "'load A': a request takes" in found.advice
    assert found.advice.endswith("; let neighbouring lanes access neighbouring elements")  # nothing limits A
    found = kernels.gemm.plan(array((70, 301)), array((130, 301))).analyze()
    assert "what limits accesses is " + re.search(r"'load ([AB])': a request", found.advice)[1] + ": " in found.advice
    src, dst = array((1000, 1025))[:, :1000], array((1000, 2048))[:, :2000:2]
    found = kernels.tiled_copy.plan(src, dst).analyze(src, dst)
    assert found.limit.startswith("src: stride 1025")
    assert found.advice.startswith("'store': ")
    assert found.advice.endswith("what limits accesses is dst: no mode has stride 1")
    found = kernels.tiled_copy.plan(dst, src).analyze(dst, src)
    assert found.advice.startswith("'load': ")
    assert found.advice.endswith("what limits accesses is src: no mode has stride 1")


def test_addresses_count():
    """A destination that is moved by 4 bytes takes other sectors than one by 32."""
    src, dst = array((300, 64)), sliced((300, 64))
    plan = kernels.tiled_copy.plan(src, dst)
    moved, there = (plan.analyze(addresses=(0, at))["store"] for at in (4, 8))
    assert moved.sectors == there.sectors
    assert moved.sectors != plan.analyze(addresses=(0, 32))["store"].sectors


# ---- occupancy ----


@pytest.fixture
def nothing_compiled(monkeypatch):
    """As in a process that begins: what other tests have compiled is not known."""
    monkeypatch.setattr(compiler_module, "_programs", {})


@pytest.mark.parametrize(
    ("registers", "ctas", "limited_by"), [(None, 2, "shared memory"), (64, 2, "shared memory"), (168, 1, "registers")]
)
def test_occupancy(registers, ctas, limited_by, nothing_compiled):
    plan = sm80(4096, 4096, 4096)  # 256 threads and 98304 bytes
    found = occupancy(plan, registers=registers)
    assert (found.ctas, found.limited_by) == (ctas, (limited_by,))
    assert found.warps == 8 * ctas
    assert found.waves == plan.ctas / (132 * ctas)
    assert limited_by in str(found)


def test_occupancy_without_registers_goes_from_what_the_kernel_is_compiled_for(nothing_compiled):
    a = np.empty((4096, 4096), np.float32)
    plan = kernels.gemm.plan(a, a, arch="sm_90a")  # a simt plan of 128 threads
    found = occupancy(plan)
    assert (found.at_least, found.ctas) == (plan.ctas_per_sm, 13) == (2, 13)
    assert "compiled for 2 or more CTAs on a multiprocessor" in str(plan)
    assert str(found).startswith("2 to 13 CTAs of 128 threads on a multiprocessor of NVIDIA H200, 8 to 52 of 64 warps")
    assert str(found).endswith(f"; {found.waves:.4g} to {plan.ctas / (2 * 132):.4g} waves")
    known = occupancy(plan, registers=255)
    assert (known.at_least, known.ctas, known.limited_by) == (2, 2, ("registers",))
    assert " to " not in str(known).partition(",")[0]
    known = occupancy(plan, registers=64)
    assert known.at_least == known.ctas == 8
    assert occupancy(sm80(4096, 4096, 4096)).at_least == sm80(4096, 4096, 4096).min_ctas == 1


def test_occupancy_of_other_devices():
    plan = kernels.tiled_copy.plan(array((64, 512)), array((64, 512)))
    assert occupancy(plan, DEVICES["sm_90a"]).limits == {"threads": 16, "CTAs": 32, "shared memory": 228}
    assert occupancy(plan, DEVICES["sm_86"]).limits["threads"] == 12
    assert occupancy(plan, DEVICES["sm_75"]).limits == {"threads": 8, "CTAs": 16}
    assert occupancy(plan, DEVICES["sm_90a"], registers=40).limits["registers"] == 12


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"registers": 0}, ValueError, "registers = 0 of a thread must be 1 to 255"),
        ({"registers": -5}, ValueError, "registers = -5 of a thread must be 1 to 255"),
        ({"registers": 1000}, ValueError, "registers = 1000 of a thread must be 1 to 255"),
        ({"registers": 2.5}, TypeError, "expected registers to be an integer, not 2.5"),
        ({"registers": "x"}, TypeError, "expected registers to be an integer, not 'x'"),
        ({"registers": True}, TypeError, "expected registers to be an integer, not True"),
        ({"device": "H100"}, TypeError, r"a DeviceFacts, not 'H100'; take one of .*DEVICES, by 'sm_.*'sm_90a'"),
        ({"device": ""}, TypeError, "a DeviceFacts, not ''"),
    ],
)
def test_occupancy_of_no_device_or_registers(options, error, text):
    for plan in (simt(64, 64, 64), kernels.tiled_copy.plan(array((64, 512)), array((64, 512)))):
        with pytest.raises(error, match=f"^analyze: .*{text}"):
            analyze(plan, **options)
        with pytest.raises(error, match=f"^occupancy: .*{text}"):
            occupancy(plan, options.get("device"), options.get("registers"))
    assert analyze(plan, registers=np.int64(1)).occupancy.limits["registers"] == 64
    assert analyze(plan, registers=255, device=DEVICES["sm_86"]).occupancy.device == DEVICES["sm_86"].name


def test_registers_come_from_the_report(compiler):
    plan = GEMMS["simt by cp.async"]()
    registers = plan.compile().report[plan.name].registers
    limits = plan.analyze(registers=registers).occupancy.limits
    assert limits["registers"] == 65536 // (-(-registers // 8) * 8 * plan.threads)


@pytest.mark.parametrize(
    "make",
    [
        GEMMS["simt by cp.async"],
        lambda: kernels.tiled_copy.plan(array((64, 60)).T, array((60, 64))),
        # One that copies its operands first.
        lambda: kernels.gemm.plan(array((4095, 4103), np.float16), array((4097, 4103), np.float16), arch="sm_90a"),
    ],
)
def test_registers_are_those_of_the_program(compiler, nothing_compiled, make):
    plan, other = make(), kernels.tiled_copy.plan(array((64, 512)), array((64, 512)))
    ampere = DEVICES["sm_80"]
    assert plan.compiled() is plan.compiled("sm_80") is None
    assert plan.analyze().occupancy.registers is None
    program = plan.compile()
    (known,) = (x.registers for x in program.report.values())
    assert plan.compiled() is not None
    assert make().analyze().occupancy.registers == known > 0
    assert plan.analyze(registers=program).occupancy == plan.analyze().occupancy
    assert plan.analyze(registers=17).occupancy.registers == 17
    assert plan.analyze(device=ampere).occupancy.registers is None
    assert other.analyze().occupancy.registers is None
    with pytest.raises(ValueError, match=r"^analyze: registers = a program for sm_90a, but NVIDIA A100 needs .*sm_80"):
        plan.analyze(device=ampere, registers=program)
    with pytest.raises(ValueError, match=r"^analyze: registers = a program of \w+ without the kernel of this plan"):
        other.analyze(registers=program)


def test_a_program_for_a_device_without_its_own_instructions(compiler):
    plan = GEMMS["simt by cp.async"]()
    program = plan.compile("sm_90")
    assert plan.analyze(registers=program).occupancy.registers == program.report[plan.name].registers
    program = plan.compile("sm_80")
    assert plan.analyze(device=DEVICES["sm_80"]).occupancy.registers == program.report[plan.name].registers


# ---- kinds of plans and arguments ----


def test_padded_plans_have_the_copies_too():
    a, b = array((65, 67)), array((63, 67))
    problem = kernels.gemm.plan(a, b).problem
    from tilewright.kernels.gemm.composite.padded import PaddedGemm
    from tilewright.kernels.gemm.composite.padding import pad
    from tilewright.kernels.gemm.simt.build import choose

    padded, alignments = pad(problem, (4, 4, 4), (True, True), True)
    plan = PaddedGemm.of(problem, (4, 4, 4), (True, True), choose(padded, alignments))
    found = plan.analyze(a, b)
    names = [x.name for x in found]
    assert {"copy of A: load", "copy of B: store", "load A", "store C"} <= set(names)
    assert sum(x.bytes_useful for x in found if x.name.startswith("copy of A: store")) == 65 * 67 * 4


def test_exchanged_operands_have_their_own_addresses():
    plan = sm80(64, 72, 40, c="m")
    swapped = sm80(72, 64, 40).replace(swapped=True)
    a = swapped.analyze(addresses=(128, 64, 0))
    assert a["load A"] == swapped.replace(swapped=False).analyze(addresses=(64, 128, 0))["load A"]
    assert plan.analyze().title == "gemm_sm80"


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda plan: plan.analyze(array((4, 4))), TypeError, "mA, mB"),
        (
            lambda plan: plan.analyze(addresses=(0, "x")),
            TypeError,
            r"expected addresses\[1\] to be an integer",
        ),
        (lambda plan: plan.analyze(addresses=16), TypeError, "must be at most 4 integers"),
        (lambda plan: plan.analyze(addresses=(0, 1 << 70)), ValueError, r"addresses\[1\] = .* is beyond 64 bits"),
        (lambda plan: plan.analyze(addresses=(-16, 0)), ValueError, "must be bytes from 0 on"),
        (lambda plan: plan.analyze(addresses=(0,) * 5), TypeError, "must be at most 4 integers"),
        (lambda plan: plan.analyze(addresses=(2, 0)), ValueError, "analyze: "),
        (lambda _: analysis.analyze_plan(3), TypeError, "expected a plan"),
        (lambda _: analyze(3), TypeError, "expected a Layout"),
    ],
)
def test_bad_arguments(call, error, text):
    with pytest.raises(error, match=text):
        call(simt(64, 64, 64, a="m", b="n"))


def test_nothing_to_do():
    assert len(simt(0, 64, 64).analyze()) == 0
    without = simt(64, 64, 0, epilogue=ALL).analyze()
    assert without["store C"].requests
    assert not any(x.name == "load A" for x in without)


def test_everything_is_one_function():
    assert tilewright.analyze is cute.analyze is analysis.analyze
    plan = simt(64, 64, 64)
    assert str(analyze(plan)) == str(plan.analyze())


# ---- tables and pictures ----


def test_an_instruction_by_its_name():
    found = simt(64, 64, 64, a="m", b="n").analyze()
    assert found["load A"] is found[[x.name for x in found].index("load A")]
    with pytest.raises(KeyError, match="no instruction is named 'x'"):
        found["x"]


def test_the_table_has_the_ways_of_the_worst_request():
    plan, tensors, _ = seed_002()
    found = plan.analyze(*tensors)
    head, *rows = found.rows()
    ways = {row[0]: row[head.index("ways")] for row in rows}
    assert ways["load A, into shared"] == "8"
    assert ways["read A"] == "1"
    assert ways["load A"] == ways["store C"] == ""  # in global memory
    assert "ways" not in analyze(L("32:1"), Float32).rows()[0]
    assert "ways" in found._repr_html_()


@pytest.mark.parametrize(
    ("mode", "bits", "source", "destination", "sass"),
    [
        ("ALWAYS", 128, "(32,4):(1024,1)", "(32,4):(4,1)", "LDGSTS.E.128"),
        ("ALWAYS", 64, "(32,2):(2,1)", "(32,2):(64,1)", "LDGSTS.E.64"),
        ("ALWAYS", 32, "(32,1):(1024,1)", "(32,1):(1,1)", "LDGSTS.E"),
        ("GLOBAL", 128, "(32,4):(4,1)", "(32,4):(32,1)", "LDGSTS.E.BYPASS.128"),
    ],
)
def test_the_sides_of_a_cp_async_cost_each_other(mode, bits, source, destination, sass):
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(cpasync.LoadCacheMode[mode]), Float32, num_bits_per_copy=bits)
    copy = cute.make_tiled_copy_tv(atom, L("(32,1):(1,1)"), L(f"(1,{bits // 32}):(1,1)"))
    spaces = cute.AddressSpace.gmem, cute.AddressSpace.smem
    src, dst = (
        cute.make_tensor(cute.make_ptr(Float32, 0, space, assumed_align=16), L(layout))
        for space, layout in zip(spaces, (source, destination), strict=True)
    )
    found = analyze(copy, src, dst)
    offsets = ([4 * int(L(layout)((t, 0))) for t in range(32)] for layout in (source, destination))
    expected = async_access(*offsets, bits // 8, cache=cpasync.LoadCacheMode[mode].value)
    assert [x.sass for x in found] == [sass, sass]
    assert [x.worst for x in found] == [expected.source, expected.destination]
    assert found["read"].sectors == expected.source.sectors
    assert found["write"].wavefronts == expected.destination.wavefronts
    assert (found["write"].counted, found["write"].ideal_counted) == (expected.counted, expected.ideal_counted)
    assert found.svg().startswith("<svg")


def test_what_ncu_says_otherwise_is_said():
    """Around L1, where rows do not lie alike on both sides."""
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(cpasync.LoadCacheMode.GLOBAL), Float32, num_bits_per_copy=128)
    copy = cute.make_tiled_copy_tv(atom, L("(4,8):(8,1)"), L("(1,4):(0,1)"))
    gmem, smem = (
        cute.make_ptr(Float32, 0, space, assumed_align=16) for space in (cute.AddressSpace.gmem, cute.AddressSpace.smem)
    )
    alike, apart = (
        analyze(copy, cute.make_tensor(gmem, L(f"(8,32):({row},1)")), cute.make_tensor(smem, L("(8,32):(32,1)")))
        for row in (64, 68)
    )
    assert (alike["write"].wavefronts, alike["write"].counted, alike["write"].note) == (8, 8, "")
    assert (apart["write"].wavefronts, apart["write"].counted) == (8, 1 + 3 + 2 + 4 + 2 + 4 + 2 + 3)  # row by row
    assert "\n  write: Nsight Compute says 21 wavefronts\n" in str(apart)
    assert "Nsight Compute says 21 wavefronts" in drawn_in(apart._repr_html_())


@pytest.mark.parametrize(("dtype", "step"), [(np.float16, 2), (np.int8, 2), (np.int8, 4)])
def test_elements_that_are_skipped_are_not_useful(dtype, step):
    src, dst = np.zeros((256, 512), dtype)[:, ::step], np.zeros((256, 512 // step), dtype)
    found = kernels.tiled_copy.plan(src, dst).analyze()
    assert sum(x.bytes_useful for x in found if x.name.startswith("load")) == dst.nbytes
    assert found["load"].worst.efficiency == 1 / step
    assert f"moves {step} elements for each that is copied, since src: no mode has stride 1" in found.advice


@pytest.mark.parametrize(
    ("config", "shape", "a", "b"),
    [  # bytes that the kernel's Boxes say: of the last tile only the rows inside, in eights; of an empty one none
        (Config(128, 64, split_k=2), (129, 4096, 4096), 64 * (128 + 8) * 4096 * 2, 2 * 4096 * 4096 * 2),
        (Config(64, 160, 1, split_k=2), (4096, 129, 4096), 4096 * 4096 * 2, 64 * 136 * 4096 * 2),
        (Config(128, 128, cluster=(2, 1)), (384, 264, 328), 3 * 384 * 384 * 2, 2 * (2 * 128 + 16) * 384 * 2),
        (Config(128, 128), (256, 256, 64), 2 * 256 * 64 * 2, 2 * 256 * 64 * 2),
    ],
)
def test_bytes_of_boxes(config, shape, a, b):
    plan = plan_of(config, problem_of(*shape, BFloat16), (True, True), (256,) * 3, H200)
    found = plan.analyze()
    boxes = [re.findall(r"(\d+) boxes of (\d+) bytes", found[f"load {x}"].note) for x in "AB"]
    assert [sum(int(count) * int(size) for count, size in of) for of in boxes] == [a, b]
    assert [found[f"load {x}"].requests for x in "AB"] == [sum(int(count) for count, _ in of) for of in boxes]


def test_text_and_html():
    found = sm90(256, 256, 256).analyze()
    text = str(found)
    assert "UTMALDG.2D" in text
    assert "boxes of" in text
    assert "occupancy: " in text
    html = found._repr_html_()
    assert html.count("<tr>") == len(found) + 1
    assert "no bank conflicts" in drawn_in(html)


def test_the_picture_shows_every_wavefront():
    plan, tensors, _ = seed_002()
    found = plan.analyze(*tensors)
    panels = {p.panel.title.split(",")[0]: p.panel for p in picture(found).panels}
    assert len(panels) == len([x for x in found if x.by_lanes and "," not in x.name])
    shared = next(p.panel for p in picture(found).panels if p.panel.title.startswith("load A, into shared"))
    assert shared.rows == found["load A, into shared"].worst.alone == 8
    assert "11 wavefronts, ideal 1; 8 by these banks, the others by those of the cache" in shared.title
    assert len({cell.column for cell in shared.cells}) == 4  # rows of the tile, and all k in their banks
    for pitch, rows, wavefronts in ((130, 2, 5), (132, 1, 4)):  # where the cache's side is the worse one
        again = plan.replace(smem_a=L(f"(128,8,2):(1,{pitch},{8 * pitch})")).analyze(*tensors)
        panel = next(p.panel for p in picture(again).panels if p.panel.title.startswith("load A, into shared"))
        assert panel.rows == rows
        assert f"{wavefronts} wavefronts, ideal 1; {rows} by these banks, the others by those" in panel.title
    read = next(p.panel for p in picture(found).panels if p.panel.title.startswith("load A, LDGSTS"))
    assert sum(bool(cell.lines) for cell in read.cells) == found["load A"].worst.sectors
    assert found.svg().startswith("<svg")


def test_the_picture_names_the_lanes_themselves():
    odd = analyze(L("(32,4):(32,1)"), Float32, memory="shared", active=[t % 2 for t in range(32)])
    panel = picture(odd).panels[0].panel
    assert panel.rows == odd["load"].worst.wavefronts == 16
    assert [cell.lines for cell in panel.cells if cell.column == 0] == [(str(lane),) for lane in range(1, 32, 2)]
    last = analyze(L("32:1"), Float32, active=[t >= 24 for t in range(32)])
    assert [cell.lines for cell in picture(last).panels[0].panel.cells if cell.lines] == [("24+7",)]


def test_the_picture_joins_the_passes_that_the_hardware_joins():
    found = analyze(L("((2,16),2):((0,2),1)"), Float32, memory="shared")
    assert picture(found).panels[0].panel.rows == found["load"].wavefronts == 1
    store = analyze(L("((2,16),2):((0,2),1)"), Float32, memory="shared", op="store")
    assert picture(store).panels[0].panel.rows == store["store"].wavefronts == 2


def test_a_plan_takes_a_few_milliseconds():
    """The limit is 5 ms; here a slow machine is allowed for."""
    plans = [
        simt(4096, 4096, 4096),
        sm80(4096, 4096, 4096),
        sm80(4095, 4097, 4103, align=(2, 2, 2)),
        sm90(4096, 4096, 4096),
        choose_gemm(problem_of(8192, 8192, 8192, Float32, a="m", b="n"), (16, 16, 16), H200),  # in four parts
    ]
    for plan in plans:
        plan.analyze()  # makes the tables
        best = 1.0
        for _ in range(5):
            start = time.perf_counter()
            plan.analyze()
            best = min(best, time.perf_counter() - start)
        assert best < 0.05, str(plan)


def test_the_first_plan_of_a_kind_takes_no_more():
    """The same limit with nothing kept of other plans, and with copies before the multiplication."""
    makes = [
        lambda: simt(4095, 4097, 4099, align=(4, 4, 4)),
        lambda: sm80(4095, 4097, 4103, align=(2, 2, 2)),
        lambda: choose_gemm(problem_of(4095, 4097, 4103, BFloat16), (2, 2, 2), H200),
    ]
    for make in makes:
        best = 1.0
        for _ in range(5):
            gemm_plans._kept.clear()
            copy_plans._instructions.cache_clear()
            plan = make()
            start = time.perf_counter()
            plan.analyze()
            best = min(best, time.perf_counter() - start)
        assert best < 0.025, str(plan)

"""What the check says of broken GEMM tables: one planted bug for each finding, and clear errors for what cannot run."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from host_gemms import Gemm, array, simt, sliced, sm80, sm90
from tilewright import Float16, Float32
from tilewright._core import host
from tilewright.kernels.gemm.problem import Epilogue
from tilewright.kernels.gemm.report import TEXTS, GemmReport
from tilewright.kernels.gemm.tables import Pipeline


def changed(tables, path, change):
    """The tables with one array or value changed: path is such as "a.load.smem"; arrays are changed in place."""
    name, _, rest = path.partition(".")
    value = getattr(tables, name)
    if rest:
        value = changed(value, rest, change)
    elif isinstance(value, np.ndarray):
        value = value.copy()
        change(value)
    else:
        value = change(value)
    return tables._replace(**{name: value})


def replaced(tables, path, value):
    """The tables with another value at the path."""
    name, _, rest = path.partition(".")
    return tables._replace(**{name: replaced(getattr(tables, name), rest, value) if rest else value})


def put(index, value):
    return lambda array: array.__setitem__(index, value)


def found(gemm, tables):
    """The findings, by name; what is computed besides must not crash."""
    gemm.run(tables)
    report = gemm.check(tables)
    assert bool(report) == (not report.findings)
    return {name: (finding.count, list(finding.first)) for name, finding in report.findings.items()}


def half(size=(40, 20, 48), **options):
    return Gemm(*size, Float16, **options)


# ---- shared memory ----


def test_a_race_of_loads():
    tables = changed(simt(), "a.load.smem", put((7, 1, 0), 5))  # thread 7 writes where another one does
    findings = found(Gemm(32, 16, 8), tables)
    assert findings["race_a"][0] == 1
    assert findings["uninitialised_a"][0] > 0
    assert "race_b" not in findings
    tables = changed(simt(), "b.load.smem", put((7, 1, 0), 5))
    assert found(Gemm(32, 16, 8), tables)["race_b"][0] == 1


def test_values_that_no_load_writes():
    tables = changed(simt(), "a.load.coord", put((0, 0), -1))
    # One element of A is never loaded; the four threads of its row read it.
    assert found(Gemm(32, 16, 8), tables) == {"uninitialised_a": (4, [(0, 0)] * 4)}
    assert found(Gemm(64, 16, 8, batch=(2,)), tables)["uninitialised_a"] == (
        16,
        [(0, 0, 0)] * 4 + [(32, 0, 0)] * 4,
    )


def test_a_false_predicate_that_leaves_what_was_there():
    """K = 13 needs zeros in the second tile; places that keep what the first one left are as good as never written."""
    assert found(Gemm(32, 16, 13), simt(stages=1)._replace(pipeline=Pipeline(1, 0))) == {}
    stale = changed(simt(stages=1), "a.load.fill", lambda _: False)._replace(pipeline=Pipeline(1, 0))
    findings = found(Gemm(32, 16, 13), stale)
    first = [(m, k) for k in (13, 14) for m in (0, 8, 16, 24)]
    assert findings == {"uninitialised_a": (32 * 3 * 4, first)}
    # What an earlier unit of work left is no better.
    split = stale._replace(work=array(np.array([(0, 0, 0, 0, 1), (0, 0, 0, 1, 1)])))
    assert found(Gemm(32, 16, 13), split)["uninitialised_a"] == (32 * 3 * 4, first)
    # Rows outside of the tensor may hold anything: nothing of them is stored.
    assert found(Gemm(20, 16, 16), stale) == {}


def test_an_access_that_is_left_out_as_a_whole():
    tables = changed(sm80(predicate="access"), "residue", lambda _: "first")
    findings = found(
        half((32, 16, 36)), tables
    )  # the first tile begins at k = -28: one access of A reaches from -4 to 3
    assert findings["left_out_a"] == (32 * 4, [(0, 0), (0, 1), (0, 2), (0, 3), (16, 0), (16, 1), (16, 2), (16, 3)])
    assert "left_out_b" not in findings  # accesses of 4
    gemm = half((32, 16, 36))
    with pytest.raises(AssertionError):
        np.testing.assert_array_equal(gemm.run(tables), gemm.expected())


# ---- the pipeline ----


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_sound_pipelines(stages):
    gemm = half((32, 16, 32 * 9))
    for pipeline in (
        Pipeline(stages, stages - 1),
        Pipeline(stages, stages - 1, stages - 2, 0, 0),
        Pipeline(stages, 0),
        *([Pipeline(stages, stages - 1, 1, 0, 1), Pipeline(stages, stages - 2, 0, -1, 0)] if stages > 2 else []),
    ):
        assert found(gemm, sm80(stages)._replace(pipeline=pipeline)) == {}, pipeline


@pytest.mark.parametrize(
    "pipeline",
    [Pipeline(3, 3), Pipeline(3, 2, 0, -1, 0), Pipeline(1, 1), Pipeline(2, 0, 0, -2, 0), Pipeline(3, 7)],
)
def test_a_slot_that_is_loaded_too_early(pipeline):
    findings = found(half((32, 16, 32 * 9)), sm80()._replace(pipeline=pipeline))
    assert set(findings) == {"overwritten_a", "overwritten_b"}
    assert findings["overwritten_a"][0] % (32 * 32) == 0
    short = found(half((32, 16, 32)), sm80()._replace(pipeline=pipeline))
    assert short == {}  # one K tile is not overwritten by another


@pytest.mark.parametrize(
    "pipeline",
    [Pipeline(3, 2, 0, 0, 1), Pipeline(3, 2, 2, 0, 2), Pipeline(3, 2, -1), Pipeline(3, 0, 0, 0, 1), Pipeline(3, 0, -1)],
)
def test_a_tile_that_is_read_before_it_is_there(pipeline):
    findings = found(half((32, 16, 32 * 3)), sm80()._replace(pipeline=pipeline))
    assert findings["not_arrived"] == (3, [(0,), (1,), (2,)])


# ---- fragments and accumulators ----


def test_a_register_that_holds_another_element():
    tables = sm80()
    wrong = changed(tables, "a.fragment", put((37, 0, 1, 5), tables.a.fragment[37, 0, 1, 4]))
    g, t = 37 % 32 // 4, 37 % 4
    k = 16 + 2 * t + 1 + 8  # of value 5 in the second k block; values 4 and 5 differ in k
    assert found(half(), wrong)["wrong_a"] == (1, [(37, 16 + g, k)])
    wrong = changed(tables, "b.fragment", put((5, 1, 0, 0), tables.b.fragment[5, 0, 0, 0]))
    assert found(half(), wrong)["wrong_b"] == (1, [(5, 8 + 5 // 4, 2 * (5 % 4))])


def test_a_descriptor_that_leads_elsewhere():
    """The wrong swizzle: only rows 0 of each 8 lie where they should."""
    tables = sm90()
    wrong = tables._replace(a=tables.a._replace(matrix=sm90(span=64).a.matrix))
    gemm = half((64, 16, 64), pads=(0, 0, 0))
    findings = found(gemm, wrong)
    assert findings["wrong_a"][0] > 2000
    assert "wrong_b" not in findings
    with pytest.raises(AssertionError):
        np.testing.assert_array_equal(gemm.run(wrong), gemm.expected())
    wrong = tables._replace(b=tables.b._replace(matrix=array(tables.b.matrix[:, :, ::-1])))
    assert found(gemm, wrong)["wrong_b"][0] == 64 * 16  # each k is taken for another


def test_an_order_of_k_that_a_and_b_share_is_none_of_the_findings():
    tables = sm90()
    a, b = (x._replace(matrix=array(x.matrix[:, :, ::-1])) for x in (tables.a, tables.b))
    half((64, 16, 64)).assert_computes(tables._replace(a=a, b=b))


def test_accumulators_at_another_coordinate():
    tables = simt()
    wrong = changed(tables, "mma.c_coord", put((3, 1, 2, 0), (9, 9)))
    findings = found(Gemm(32, 16, 8), wrong)
    assert findings["wrong_accumulator"] == (1, [(3, 9, 9)])
    for mode, coordinate in ((0, (9, 11)), (1, (8, 9))):  # thread 3 has (8, 11) there
        wrong = changed(simt(), "mma.c_coord", put((3, 1, 2, 0, mode), 9))
        assert found(Gemm(32, 16, 8), wrong)["wrong_accumulator"] == (1, [(3, *coordinate)])


def test_k_that_is_not_summed_or_twice():
    tables = simt()
    short = tables._replace(
        a=tables.a._replace(fragment=array(tables.a.fragment[:, :, :7])),
        b=tables.b._replace(fragment=array(tables.b.fragment[:, :, :7])),
    )
    assert found(Gemm(32, 16, 8), short) == {"k_not_summed": (1, [(7,)])}
    order = [0, 1, 2, 3, 4, 5, 6, 6]
    twice = tables._replace(
        a=tables.a._replace(fragment=array(tables.a.fragment[:, :, order])),
        b=tables.b._replace(fragment=array(tables.b.fragment[:, :, order])),
    )
    assert found(Gemm(32, 16, 8), twice) == {"k_not_summed": (1, [(7,)]), "k_summed_twice": (1, [(6,)])}


# ---- global memory ----


def test_accesses_outside_of_the_tensors():
    for predicate in ("none", "access"):
        tables = sm80(predicate=predicate)
        findings = found(half((32, 16, 37), pads=(3, 3, 0)), tables)
        assert set(findings) == {"outside_a", "outside_b"}
        assert findings["outside_a"][0] == 32 * (27 if predicate == "none" else 3)
        assert findings["outside_a"][1][0] == (0, 37)
        assert findings["outside_b"][0] == 16 * (27 if predicate == "none" else 3)
    tables = changed(sm80(), "store.predicate", lambda _: "none")
    findings = found(half((31, 14, 32), pads=(0, 0, 2)), tables)
    assert findings == {"outside_c": (16 + 31 * 2, [(31, n) for n in range(8)])}


def test_misaligned_accesses():
    findings = found(half((32, 16, 39)), sm80())
    assert findings["misaligned_a"][0] == 32 * 5 - 4 * 5  # rows of 39 elements: every eighth one is aligned
    assert findings["misaligned_b"][0] == 16 * 10 - 4 * 10
    findings = found(half((32, 18, 32)), sm80())
    assert set(findings) == {"misaligned_c"}
    findings = found(half((64, 16, 68)), sm90())
    assert set(findings) == {"misaligned_a", "misaligned_b"}  # the tensor maps of A and of B cannot be made
    gemm = half((32, 16, 32))
    gemm.a = np.frombuffer(gemm.a.tobytes() + bytes(2), np.float16)
    start = gemm.a.ctypes.data
    report = GemmReport(1, host.GemmProgram(sm80()).check(gemm.problem, Float32, start + 2, start, start, move=False))
    assert report.misaligned_a.count == 32 * 4
    assert report.misaligned_b.count == 0


def test_neighbours_in_a_tile_that_are_none_in_memory():
    findings = found(half((32, 16, 32), a="m", b="n", c="m"), sm80())
    assert findings["not_contiguous_a"] == (128, [(m, k) for k in (0, 8, 16, 24) for m in (0, 16)])
    assert findings["not_contiguous_b"][0] == 16 * 8
    assert findings["not_contiguous_c"][0] == 128


def test_misaligned_places_in_shared_memory():
    tables = changed(sm80(), "a.load.smem", lambda smem: smem.__iadd__(1))
    tables = tables._replace(a=tables.a._replace(stage_elements=32 * 32 + 8))
    assert found(half(), tables)["misaligned_shared_a"][0] == 128
    tables = changed(sm80(width=1), "b.load.kind", lambda _: "registers")
    findings = found(half(), tables)  # cp.async does not copy 2 bytes
    assert findings["misaligned_shared_a"][0] == 32 * 32
    assert "misaligned_shared_b" not in findings
    tables = sm80()._replace(b=sm80().b._replace(stage_elements=16 * 32 + 2))  # the second stage is not aligned
    assert found(half(), tables)["misaligned_shared_b"][0] == 128


# ---- C ----


def test_elements_that_are_never_or_twice_written():
    tables = changed(simt(), "store.coord", put((0, 0), -1))
    assert found(Gemm(40, 16, 8), tables) == {"never_written": (2, [(0, 0), (32, 0)])}
    tables = changed(simt(), "store.coord", put((0, 0), (8, 0)))
    findings = found(Gemm(32, 16, 8, batch=(2,)), tables)
    assert findings["never_written"] == (2, [(0, 0, 0), (0, 0, 1)])
    assert findings["written_twice"] == (2, [(8, 0, 0), (8, 0, 1)])
    assert findings["wrong_store"] == (1, [(8, 0)])


def test_work_that_is_left_out_or_done_twice():
    units = [(0, 0, 0, 0, 2), (0, 0, 0, 1, 1), (1, 0, 0, 0, 1)]
    tables = simt()._replace(work=array(np.array(units)))
    assert found(Gemm(64, 20, 16), tables) == {
        "k_tile_summed_twice": (1, [(0, 0, 0, 1)]),
        "k_tile_not_summed": (1, [(1, 0, 0, 1)]),
        "never_written": (64 * 4, [(m, 16) for m in range(8)]),
    }


def test_an_image_of_c():
    tables = sm80()
    wrong = changed(tables, "store.smem_write", put((10, 3), tables.store.smem_write[10, 2]))
    findings = found(half((32, 16, 32)), wrong)
    assert findings["race_store"][0] == 1
    assert findings["uninitialised_store"][0] == 1
    assert findings["wrong_store"][0] == 1
    wrong = changed(tables, "store.round_read", put((slice(None), slice(None)), 0))
    assert found(half((32, 16, 32)), wrong)["wrong_store"][0] == 32 * 8  # the second round's columns


def test_sums_of_slices():
    gemm, sound = Gemm(8, 4, 12), sliced()
    assert found(gemm, sound) == {}
    added = sound.store.smem_added
    twice = changed(sound, "store.smem_added", put((0, 0, 0, 1), added[0, 0, 0, 0]))  # slice 1 for slice 2
    assert found(gemm, twice) == {"wrong_sum": (1, [(0, 0)])}
    other = changed(sound, "store.smem_added", put((0, 0, 0, 0), added[1, 0, 0, 0]))  # that of another (m, n)
    assert found(gemm, other) == {"wrong_store": (1, [(0, 0)]), "wrong_sum": (1, [(0, 0)])}
    fewer = replaced(sound, "store.smem_added", array(added[..., :1]))
    assert found(gemm, fewer)["wrong_sum"][0] == 8 * 4
    late = changed(sound, "store.smem_write", put((33, 0), 95))  # slice 1's thread writes where slice 2's does
    assert set(found(gemm, late)) == {"race_store", "uninitialised_store", "wrong_sum"}
    same = sound._replace(a=sound.a._replace(fragment=array(np.tile(sound.a.fragment[:32], (3, 1, 1, 1)))))
    assert found(gemm, same)["wrong_b"][0] == 2 * 32 * 4  # A has the k of slice 0 in all of them, B has not
    both = same._replace(b=same.b._replace(fragment=array(np.tile(same.b.fragment[:32], (3, 1, 1, 1)))))
    assert found(gemm, both)["k_summed_twice"][0] == 4
    with pytest.raises(ValueError, match="smem_added has the shape"):
        host.GemmProgram(replaced(sound, "store.smem_added", array(added[:, :, 0])))
    with pytest.raises(ValueError, match=r"smem_added\[0, 0, 0, 1\] = 96 lies outside of the image"):
        host.GemmProgram(changed(sound, "store.smem_added", put((0, 0, 0, 1), 96)))
    with pytest.raises(ValueError, match=r"without store\.smem_added"):
        host.GemmProgram(replaced(sound, "store.smem_added", None))


# ---- the report, and the errors ----


def test_the_report():
    sound = Gemm(32, 16, 8).check(simt())
    assert str(sound) == "each of 512 elements of C is written exactly once"
    assert str(Gemm(0, 16, 8).check(simt())) == "C has no elements"
    broken = Gemm(40, 16, 8).check(changed(simt(), "store.coord", put((0, 0), -1)))
    assert str(broken) == "of 640 elements of C: 2 elements of C are never written: (0,0), (32,0)"
    assert not broken
    assert broken.never_written.count == 2
    assert broken.race_a.count == 0
    assert str(pickle.loads(pickle.dumps(broken))) == str(broken)
    with pytest.raises(AttributeError, match="no finding named race_c"):
        _ = broken.race_c
    several = GemmReport(4, {name: {"count": n, "first": [(0,)]} for n, name in enumerate(TEXTS, 1)})
    assert len(str(several).splitlines()) == len(TEXTS) + 1
    assert "{" not in str(several)


@pytest.mark.parametrize(
    ("path", "change", "text"),
    [
        ("tile", lambda _: (32, 16), r"tables.tile must have 3 entries"),
        ("tile", lambda _: (0, 16, 8), r"tables.tile = \(0, 16, 8\) must have positive"),
        ("tile", lambda _: (1 << 40, 1 << 40, 1 << 40), r"products are at most"),
        ("tile", lambda _: (16, 16, 8), r"mma.c_coord\[0, 2, 0, 0, 0\] = 16 lies outside"),
        ("a.load.coord", put((3, 1, 0), 32), r"a.load.coord: access 1 of thread 3 reaches the coordinate \(32, 3\)"),
        ("a.load.coord", put((3, 1, 1), -5), r"a.load.coord"),
        ("a.load.smem", put((3, 1, 0), 264), r"a.load.smem\[3, 1, 0\] = 264 lies outside of a stage's elements"),
        ("b.load.smem", put((3, 1, 0), -1), r"b.load.smem\[3, 1, 0\] = -1"),
        ("a.load.mode", lambda _: 2, r"a.load.mode = 2"),
        ("a.load.kind", lambda _: "direct", r"a.load.kind must be"),
        ("a.load.kind", lambda _: "tnt", r"a.load.kind = 'tnt' must be one of \"cp.async\""),
        ("a.load.predicate", lambda _: None, r"a.load.predicate = None must be one of"),
        ("a.stage_elements", lambda _: 0, r"a.stage_elements = 0"),
        ("a.stage_elements", lambda _: 1 << 60, r"a.stage_elements"),
        ("a.fragment", put((0, 0, 0, 0), 1 << 30), r"a.fragment\[0, 0, 0, 0\] = 1073741824"),
        ("a.matrix", lambda _: array(np.zeros((1, 4, 8, 1, 1))), r"a must have one of fragment and matrix, .* both"),
        ("mma.shape_mnk", lambda _: (1, 0, 1), r"mma.shape_mnk\[1\] = 0"),
        ("mma.thread", put((3, 0), 1), r"mma.thread\[3, 0\] = 1 is no lane"),
        ("mma.thread", put((3, 3), 1), r"mma.thread\[3, 3\] = 1 must be 0"),
        ("mma.thread", put((3, 3), 32), r"mma.thread\[3\] = \(0, 0, 3, 32\) has no place"),
        ("store.smem_added", lambda _: array(np.zeros((1, 1, 1, 1))), r"smem_added is added to what smem_read names"),
        ("mma.thread", put((3, 1), -1), r"mma.thread\[3\] = \(0, -1, 3, 0\)"),
        ("mma.c", put((0, 0), 1), r"mma.c\[0, 0\] = 1 lies outside"),
        ("mma.a", put((0, 0), -1), r"mma.a\[0, 0\] = -1"),
        ("mma.c_coord", put((0, 0, 0, 0, 1), 16), r"mma.c_coord\[0, 0, 0, 0, 1\] = 16"),
        ("store.value", put((0, 0, 0), 16), r"store.value\[0, 0, 0\] = 16"),
        ("store.coord", put((0, 0, 1), 16), r"store.coord: access 0 of thread 0"),
        ("store.kind", lambda _: "shared", r"store.kind must be"),
        ("store.kind", lambda _: "registers", r"store.kind must be"),
        ("pipeline.stages", lambda _: 0, r"pipeline.stages = 0"),
        ("pipeline.stages", lambda _: 1 << 40, r"pipeline.stages"),
        ("pipeline.first_read", lambda _: 1, r"pipeline.first_read = 1"),
        ("residue", lambda _: "middle", r"residue = 'middle'"),
        ("rounding", lambda _: "up", r"rounding = 'up'"),
    ],
)  # fmt: skip
def test_tables_that_cannot_run(path, change, text):
    with pytest.raises(ValueError, match=text):
        host.GemmProgram(changed(simt(), path, change))


def test_arrays_of_another_shape_or_kind():
    tables = simt()
    for path, value, text in (
        (
            "a.load.coord",
            tables.a.load.coord[:, :, 0],
            r"a.load.coord has the shape \(32, 8\), but must have \(any, any, 2",
        ),
        ("a.load.smem", tables.a.load.smem[:5], r"a.load.smem has the shape \(5, 8, 1\), but must have \(32, 8, 1"),
        ("a.fragment", tables.a.fragment[:, :3], r"a.fragment has the shape"),
        ("b.fragment", tables.b.fragment[:, :, :3], r"a and b must have as many atoms along k, but have 8 and 3"),
        ("mma.thread", tables.mma.thread[:31], r"mma.c_coord has the shape"),
        ("mma.c", np.zeros((2, 1)), r"no thread is lane 1 of the atom at \(0, 0, 0\)"),
        ("store.value", tables.store.value[:, :3], r"store.value has the shape"),
        ("work", np.zeros((2, 4)), r"work has the shape"),
    ):
        with pytest.raises(ValueError, match=text):
            host.GemmProgram(replaced(tables, path, array(value)))
    for value, text in (
        (tables.a.fragment.astype(np.int64), "array of int32, but its elements have the format"),
        (tables.a.fragment.transpose(1, 0, 2, 3), "C-contiguous array of int32"),
        ([[1, 2]], "C-contiguous array of int32"),
    ):
        with pytest.raises(TypeError, match=f"expected tables.a.fragment to be a.*{text}"):
            host.GemmProgram(replaced(tables, "a.fragment", value))
    for bad in (None, 3, tables[:3]):
        with pytest.raises(TypeError, match="expected tables to have a field tile"):
            host.GemmProgram(bad)
    with pytest.raises(TypeError, match=r"expected tables.a.load.fill to be True or False"):
        host.GemmProgram(replaced(tables, "a.load.fill", 1))
    wide = sm80()
    tv = np.where(wide.mma.a == 16, 0, wide.mma.a)
    with pytest.raises(ValueError, match=r"gives the element \(0, 1\) of the atom to no thread"):
        host.GemmProgram(replaced(wide, "mma.a", array(tv)))


def test_problems_that_cannot_run():
    gemm = Gemm(32, 16, 8)
    program = host.GemmProgram(simt())
    problem, compute, a, b, c, bias = gemm.arguments()
    for fields, text in (
        ({"m": -1}, "problem.m = -1"),
        ({"k": 1 << 50}, "problem.k = "),
        ({"a_strides": (1 << 60, 1)}, r"problem.a_strides\[0\]"),
        ({"a_strides": (1,)}, "problem.a_strides must have at least 2 entries"),
        ({"b_strides": (8, 1, 1)}, "problem.b_strides has 3 entries, but must have 2 \\+ 0"),
        ({"batch": (1,) * 9}, "batch has 9 modes"),
        ({"batch": (1 << 30, 1 << 30), "a_strides": (8, 1, 0, 0)}, "more than 2"),
        ({"a_type": Float16, "acc_type": Float16}, "acc_type"),
        ({"epilogue": Epilogue(activation="tanh")}, "activation = 'tanh' must be one of"),
        ({"epilogue": Epilogue(bias="n", bias_type=Float32, bias_stride=1)}, "bias_address must not be null"),
    ):
        with pytest.raises(ValueError, match=text):
            program.run(problem._replace(**fields), compute, a, b, c, bias)
        with pytest.raises(ValueError, match=text):
            program.check(problem._replace(**fields), compute, a, b, c, bias)
    for name, addresses in (("a_address", (0, b, c)), ("b_address", (a, 0, c)), ("c_address", (a, b, 0))):
        with pytest.raises(ValueError, match=f"{name} must not be null"):
            program.run(problem, compute, *addresses)
    with pytest.raises(ValueError, match="threads = -1"):
        program.run(problem, compute, a, b, c, threads=-1)
    with pytest.raises(ValueError, match=r"tables.work\[0\] = \(1, 0, 0, 0, 1\) lies outside of the 1 x 1 x 1 tiles"):
        gemm.run(simt()._replace(work=array(np.array([(1, 0, 0, 0, 1)]))))
    with pytest.raises(TypeError, match="expected problem to have a field"):
        program.run(None, compute, a, b, c)
    with pytest.raises(TypeError, match=r"expected problem\.m to be an integer"):
        program.run(problem._replace(m=2.5), compute, a, b, c)

"""Readings of a kernel in Python beside predictions, line by line, and the rules by which they may differ."""

from __future__ import annotations

import pytest

from tilewright.analysis.ncu.by_line import METRICS, Predicted, access_of, compare_lines
from tilewright.analysis.ncu.run import Line

FILE = "/x/kernel.py"


def said(number, kind="load", memory="shared", width=4, lanes=32, sectors=(0, 0), wavefronts=(0, 0)):
    return Predicted(FILE, number, kind, memory, width, lanes, *sectors, *wavefronts)


def read(number, sass, lanes=32, sectors=(0, 0), wavefronts=(0, 0), file=FILE):
    counts = dict(zip(METRICS, (*sectors, *wavefronts, lanes), strict=True))
    return Line(0, sass, {METRICS[name]: value for name, value in counts.items()}, file, number)


def differing(predicted, lines):
    return {(x.number, x.metric): x.reason for x in compare_lines("k", predicted, lines) if not x.right}


def test_requests_of_a_line_are_added_up_and_lines_told_apart():
    predicted = [said(3, wavefronts=(1, 1)), said(3, wavefronts=(32, 1)), said(4, wavefronts=(2, 1))]
    lines = [read(3, "LDS R1, [R2] ;", lanes=64, wavefronts=(33, 2)), read(4, "LDS R1, [R2] ;", wavefronts=(2, 1))]
    found = compare_lines("k", predicted, lines)
    assert all(x.right for x in found)
    assert {(x.number, x.metric) for x in found} == {
        (n, m) for n in (3, 4) for m in ("wavefronts", "ideal_wavefronts", "lanes")
    }


@pytest.mark.parametrize("metric", ["wavefronts", "ideal_wavefronts", "lanes"])
def test_a_count_that_is_another_differs(metric):
    line = read(3, "LDS R1, [R2] ;", wavefronts=(32, 1))
    line.values[METRICS[metric]] += 1
    assert differing([said(3, wavefronts=(32, 1))], [line]) == {(3, metric): ""}


def test_the_same_line_of_another_file_is_another_one():
    line = read(3, "LDS R1, [R2] ;", wavefronts=(1, 1), file="/x/lang.cuh")
    found = differing([said(3, wavefronts=(1, 1))], [line])
    assert found == dict.fromkeys(((3, m) for m in ("wavefronts", "ideal_wavefronts", "lanes")), "moved")


def test_a_file_is_known_by_its_name_where_its_folder_is_not_told():
    line = read(3, "LDS R1, [R2] ;", wavefronts=(1, 1), file="kernel.py")
    assert not differing([said(3, wavefronts=(1, 1))], [line])


def test_merged_loads_are_those_whose_lanes_move_as_many_bytes():
    predicted = [said(3, wavefronts=(1, 1)), said(4, lanes=96, wavefronts=(3, 3))]
    wide = read(3, "LDS.128 R4, [R2] ;", wavefronts=(1, 1))
    found = differing(predicted, [wide])
    assert set(found.values()) == {"merged"}
    assert {place[0] for place in found} == {4}  # one request stands at line 3, as was predicted
    narrow = read(3, "LDS.64 R4, [R2] ;", wavefronts=(1, 1))
    assert set(differing(predicted, [narrow]).values()) == {""}


def test_a_moved_access_is_one_of_another_line_with_the_same_counts():
    predicted = [said(3, wavefronts=(2, 1))]
    assert set(differing(predicted, [read(5, "LDS R4, [R2] ;", wavefronts=(2, 1))]).values()) == {"moved"}
    assert set(differing(predicted, [read(5, "LDS R4, [R2] ;", wavefronts=(3, 1))]).values()) == {""}
    assert set(differing(predicted, [read(5, "STS [R2], R4 ;", wavefronts=(2, 1))]).values()) == {""}


def test_a_split_load_is_there_as_predicted_and_an_element_besides():
    predicted = [said(3, width=16, wavefronts=(4, 4))]
    whole, element = read(3, "LDS.128 R4, [R2] ;", wavefronts=(4, 4)), read(3, "LDS.U16 R4, [R2] ;", wavefronts=(1, 1))
    assert set(differing(predicted, [whole, element]).values()) == {"split"}
    elsewhere = read(8, "LDS.U16 R4, [R2] ;", wavefronts=(1, 1))
    assert differing(predicted, [whole, elsewhere]) == dict.fromkeys(
        ((8, metric) for metric in ("wavefronts", "ideal_wavefronts", "lanes")), "split"
    )
    assert set(differing([said(3, wavefronts=(1, 1))], [elsewhere]).values()) != {"split"}
    whole.values[METRICS["wavefronts"]] += 1
    assert differing(predicted, [whole, element])[3, "wavefronts"] == ""
    assert set(differing(predicted, [element]).values()) == {""}


def test_both_sides_of_cp_async_are_one_instruction():
    predicted = [
        said(9, "cp.async", "global", 16, 20, sectors=(10, 10)),
        said(9, "cp.async", "shared", 16, 32, wavefronts=(8, 4)),
    ]
    sass = "LDGSTS.E.BYPASS.128 [R9], desc[UR6][R2.64] ;"
    assert not differing(predicted, [read(9, sass, sectors=(10, 10), wavefronts=(8, 4))])
    zeros = read(9, "LDGSTS.E.BYPASS.128.ZFILL [R9], desc[UR6][R2.64] ;", sectors=(10, 10), wavefronts=(12, 8))
    assert set(differing(predicted, [zeros]).values()) == {"misread"}
    assert set(differing(predicted, [read(9, sass, sectors=(10, 10), wavefronts=(12, 8))]).values()) == {""}
    far = read(9, "LDGSTS.E.BYPASS.128.ZFILL [R9], desc[UR6][R2.64] ;", sectors=(100, 10), wavefronts=(8, 4))
    assert set(differing(predicted, [far]).values()) == {""}


def test_what_never_takes_part_is_not_there():
    line = read(3, "@!PT LDS RZ, [RZ] ;", lanes=0, wavefronts=(1, 1))
    assert not compare_lines("k", [], [line])
    assert compare_lines("k", [], [line._replace(sass="@!P3 LDS RZ, [RZ] ;")])


def test_atomics_are_said_to_be_predicted_as_stores():
    line = read(2, "ATOMS.POPC.INC.32 RZ, [R2] ;", wavefronts=(5, 1))
    found = differing([said(2, "atomic", wavefronts=(3, 1))], [line])
    assert found == {(2, "wavefronts"): "atomic"}


@pytest.mark.parametrize(
    ("opcode", "access"),
    [
        ("LDG.E.U16.CONSTANT", ("load", "global", 2)),
        ("STG.E.64", ("store", "global", 8)),
        ("LDS.U.128", ("load", "shared", 16)),
        ("STS.U8", ("store", "shared", 1)),
        ("REDG.E.ADD.STRONG.GPU", ("atomic", "global", 4)),
        ("LDL.64", None),
        ("LDGDEPBAR", None),
    ],
)
def test_what_an_instruction_does(opcode, access):
    assert access_of(opcode) == access


def test_a_sunk_load_runs_in_the_lanes_of_a_later_store():
    def lines(lanes_of_load, lanes_of_store, wavefronts=1):
        load = read(3, "@P0 LDS R1, [R2] ;", lanes=lanes_of_load, wavefronts=(wavefronts, 1))
        first = read(2, "MOV R1, R2 ;", lanes=64)
        store = read(4, "@P0 STG [R4], R1 ;", lanes=lanes_of_store, sectors=(4, 4))
        return [first, load._replace(offset=16), store._replace(offset=32)]

    predicted = [said(3, lanes=64, wavefronts=(2, 2)), said(4, "store", "global", lanes=20, sectors=(4, 4))]
    assert set(differing(predicted, lines(20, 20)).values()) == {"sunk"}
    assert set(differing(predicted, lines(19, 20)).values()) == {""}
    assert set(differing(predicted, lines(20, 20, wavefronts=3)).values()) == {""}
    assert set(differing(predicted, [x._replace(offset=40 - x.offset) for x in lines(20, 20)]).values()) == {""}

"""Blocks of a program while it is built: yields that are decided later, blocks that become a part of another."""

import pytest

from tilewright import _core

program = _core.program


@pytest.fixture
def builder():
    with program.Builder() as builder:
        yield builder
        builder.abandon(0)


@pytest.fixture
def x(builder):
    (symbol,) = builder.begin_function("f", False, [program.number("Int32")], ["x"])
    return symbol


def test_yields_that_are_decided_when_both_blocks_are_there(builder, x):
    builder.begin_block(())
    inside = builder.op("add", (x, 1))
    first = builder.end_block(())
    builder.begin_block(())
    second = builder.end_block(())
    builder.set_yields(first, [inside])
    builder.set_yields(second, [builder.constant("Int32", 7)])
    (result,) = builder.op("if", (builder.op("lt", (x, 3)),), blocks=(first, second))
    assert result.is_visible
    assert not inside.is_visible
    with pytest.raises(program.ProgramError, match="is defined in a branch"):
        builder.set_yields(second, [inside])


def test_a_block_that_becomes_a_part_of_the_one_around(builder, x):
    builder.begin_block(())
    inside = builder.op("add", (x, 1))
    builder.inline_block()
    assert inside.is_visible
    assert builder.op("add", (x, 1)) == inside
    builder.end_function([inside])
    assert str(builder.finish()).count(" add ") == 1


def test_what_cannot_become_a_part(builder, x):
    with pytest.raises(program.ProgramError, match="no block is open"):
        builder.inline_block()
    builder.begin_block([program.number("Int32")])
    with pytest.raises(program.ProgramError, match="has parameters"):
        builder.inline_block()


@pytest.mark.parametrize(
    ("code", "operand", "can"),
    [("add", 1, True), ("floor_div", 3, True), ("floor_div", "x", False), ("rem", "x", False), ("printf", None, False)],
)
def test_what_may_run_where_it_was_not_asked_to(builder, x, code, operand, can):
    builder.begin_block(())
    assert builder.can_speculate
    if operand is None:
        builder.op(code, (x,), text="{}")
    else:
        builder.op(code, (x, x if operand == "x" else operand))
    assert builder.can_speculate is can

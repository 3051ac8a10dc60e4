"""Which tile of wgmma and TMA a layout is: compared with a walk over all elements that shares no code with it."""

from __future__ import annotations

import random
from itertools import product

import pytest

from tilewright import BFloat16, Float8E4M3FN, Float16, Float32, Float64, TFloat32, analysis, cute
from tilewright.analysis import swizzle_mode
from tilewright.explore.command import layout_command

Kind = cute.nvgpu.warpgroup.SmemLayoutAtomKind
DTYPES = (Float16, BFloat16, TFloat32, Float8E4M3FN)
L = cute.parse
STORES = ((1, 0), (2, 1), (4, 2), (8, 3))  # chunks of 16 bytes in a row of an atom, and bits of a row that move them


def atom_of(kind, dtype):
    return cute.nvgpu.warpgroup.make_smem_layout_atom(kind, dtype)


def addresses_of(layout, size):
    """(rows, k, stage) -> byte address, and the extents."""
    shape = (layout.outer if isinstance(layout, cute.ComposedLayout) else layout).shape
    extents = [cute.size(mode) for mode in shape]
    extents += [1] * (3 - len(extents))
    places = product(*map(range, extents))
    return {at: size * int(layout(at[: len(shape)])) for at in places}, extents


def kinds_of(layout, dtype):
    """All kinds that the tile is of, atom by atom: chunk c of row r of an atom is in place c xor (the line of r)."""
    size = dtype.bits // 8
    addresses, (rows, columns, _) = addresses_of(layout, size)
    found = []
    for k_major, (chunks, _) in product((True, False), STORES):
        width, lines = 16 * chunks, 8 * 16 * chunks // 128  # bytes of a row, lines of 128 bytes of an atom
        if (columns if k_major else rows) * size % 16 or (rows if k_major else columns) % 8:
            continue
        starts = {}
        for (m, k, stage), address in addresses.items():
            across, along = (m, k) if k_major else (k, m)
            line = across % 8 * lines // 8 % chunks
            byte = along * size % width
            place = across % 8 * width + ((byte // 16 ^ line) * 16 + byte % 16)
            atom = (across // 8, along * size // width, stage)
            starts.setdefault(atom, set()).add(address - place)
        if all(len(start) == 1 and min(start) % (16 if chunks == 1 else 8 * width) == 0 for start in starts.values()):
            base = {atom: min(start) for atom, start in starts.items()}
            steps = [base.get(unit, base[0, 0, 0]) - base[0, 0, 0] for unit in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]
            if all(base[at] == base[0, 0, 0] + sum(i * d for i, d in zip(at, steps, strict=True)) for at in base):
                name = f"{'K' if k_major else 'MN'}_{f'SW{width}' if chunks > 1 else 'INTER'}"
                found.append((name, steps[0], steps[1]))
    return found


def boxes_of(layout, dtype):
    """The fewest boxes that write a stage: all modes and extents are tried, and written byte by byte."""
    size = dtype.bits // 8
    addresses, (rows, columns, stages) = addresses_of(layout, size)
    best = None
    for (chunks, bits), k_major in product(STORES, (True, False)):
        along, across = (columns, rows) if k_major else (rows, columns)
        for inner in range(1, min(along, 256) + 1):
            if along % inner or inner * size % 16 or (bits and inner * size != 16 * chunks):
                continue
            for outer in range(1, min(across, 256) + 1):
                if across % outer or (best and along // inner * (across // outer) >= best[0]):
                    continue
                if all(
                    writes(addresses, k_major, bits, size, (a, b, stage), (inner, outer))
                    for a in range(0, along, inner)
                    for b in range(0, across, outer)
                    for stage in range(stages)
                ):
                    best = (along // inner * (across // outer), chunks * 16 if bits else 0, inner, outer)
    return best


def writes(addresses, k_major, bits, size, corner, extents):
    """Whether a box that begins in a line of 128 bytes puts all its elements where the tile has them."""

    def place(a, b):
        return addresses[(b, a, stage) if k_major else (a, b, stage)]

    first, other, stage = corner
    start = place(first, other) // 128 * 128
    for j in range(extents[1]):
        for i in range(extents[0]):
            byte = start + (j * extents[0] + i) * size
            line = byte // 128 % (1 << bits)
            chunk = byte // 16 % 8 ^ line
            if place(first + i, other + j) != byte // 128 * 128 + chunk * 16 + byte % 16:
                return False
    return True


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda x: x.__name__)
@pytest.mark.parametrize("kind", Kind, ids=lambda x: x.name)
def test_tiles_of_atoms_are_recognised(kind, dtype):
    size = dtype.bits // 8
    for shape, order in (((128, 128), (0, 1)), ((128, 128), (1, 0)), ((128, 128, 3), (0, 1, 2)), ((256, 128), (1, 0))):
        found = swizzle_mode(cute.tile_to_shape(atom_of(kind, dtype), shape, order), dtype)
        assert found.kind is kind
        assert bool(found)
        assert found.difference is None
        along = 128 if kind.k_major else shape[0]  # the contiguous mode
        across = shape[0] if kind.k_major else 128
        atoms = {kind.k_major: across // 8, not kind.k_major: along * size // kind.span_bytes}  # along rows: True
        dense, rows_first = 8 * kind.span_bytes, order[0] == 0
        # Where there is one atom along the rows, none is at a distance from it: that of a dense tile is said.
        along_rows = dense if rows_first or atoms[True] == 1 else atoms[False] * dense
        along_k = atoms[True] * dense if rows_first else dense
        inter = kind in (Kind.K_INTER, Kind.MN_INTER)
        fields = (16, along_rows) if kind.k_major else (along_rows, along_k)
        assert (found.leading, found.stride) == ((along_k, along_rows) if inter else fields)
        assert found.tma.swizzle == (0 if inter else kind.span_bytes)
        assert found.tma.major == ("k" if kind.k_major else "mn")
        # Atoms that follow each other across the contiguous mode are one box.
        one = rows_first is kind.k_major or atoms[not kind.k_major] == 1
        assert found.tma.extents == (kind.span_bytes // size, across if one else 8)
        assert found.tma.boxes * found.tma.extents[0] * found.tma.extents[1] == shape[0] * 128
        assert bool(found.limits) == (not kind.k_major and size != 2)


def test_the_descriptor_of_a_mode_finds_every_element():
    """The hardware's addressing, `descriptor_offsets`, instruction by instruction, from the fields of the mode."""
    from tilewright.cute.atoms.wgmma_layout import descriptor_offsets, matrix_descriptor

    for kind, dtype in product(Kind, DTYPES):
        size = dtype.bits // 8
        if not kind.k_major and size != 2:
            continue
        tile = cute.tile_to_shape(atom_of(kind, dtype), (64, 128), (0, 1))
        found, step = swizzle_mode(tile, dtype), 32 // size
        for k in range(0, 128, step):
            # It begins where the first element would lie without a swizzle.
            start = int(analysis.swizzled([int(tile((0, k))) * size], found.span)[0])
            descriptor = matrix_descriptor(start, found.leading, found.stride, found.span)
            at = descriptor_offsets(descriptor, (64, step), size, found.major)
            assert at.tolist() == [[int(tile((m, k + i))) for i in range(step)] for m in range(64)], (kind, dtype, k)


def changed(chance, dtype):
    """A tile of a kind, or something that is nearly one."""
    kind = chance.choice(list(Kind))
    atom = atom_of(kind, dtype)
    plain = atom.outer if isinstance(atom, cute.ComposedLayout) else atom
    swizzle = atom.inner if isinstance(atom, cute.ComposedLayout) else cute.make_swizzle(0, 4, 3)
    extents = [cute.size(mode) * chance.choice((1, 1, 2)) for mode in plain.shape] + [chance.choice((1, 2))]
    rank = chance.choice((2, 3))
    order = chance.sample(range(rank), rank)
    tile = cute.tile_to_shape(plain, tuple(extents[:rank]), tuple(order))
    way = chance.randrange(5)
    if way == 0:  # another swizzle
        swizzle = cute.make_swizzle(chance.randint(0, 3), chance.randint(2, 4), chance.randint(3, 4))
    if way == 1:  # rows that are padded, by 16 bytes or a whole atom
        pad = chance.choice((128 // dtype.bits, cute.size(plain)))
        tile = cute.make_layout(tile.shape, stride=padded(tile.stride, chance.choice((8, 64, 512, 1024)), pad))
    if way == 2:  # transposed
        tile = cute.make_layout([tile[1], tile[0], *[tile[i] for i in range(2, rank)]])
    offset = chance.choice((0, 0, 128 // dtype.bits, 4 * cute.size(plain))) if way == 3 else 0
    return cute.make_composed_layout(swizzle, offset, tile)


def padded(stride, row, pad):
    if isinstance(stride, tuple):
        return tuple(padded(s, row, pad) for s in stride)
    return stride if stride < row else stride // row * (row + pad)


@pytest.mark.parametrize("dtype", [*DTYPES[1:], Float64], ids=lambda x: x.__name__)
def test_random_tiles_are_what_a_walk_over_their_elements_says(dtype):
    chance, kinds, none = random.Random(dtype.bits), set(), 0
    for _ in range(120):
        layout = changed(chance, dtype)
        found, expected = swizzle_mode(layout, dtype), kinds_of(layout, dtype)
        assert ([found.kind.name] if found else []) == [name for name, *_ in expected], layout
        if found:
            kinds.add(found.kind)
        else:
            none += 1
            at, (rows, k, _) = found.difference.coordinate, addresses_of(layout, 1)[1]
            assert int(layout(at)) == found.difference.offset != found.difference.expected
            assert at[0] < rows
            assert at[1] < k
    assert len(kinds) > 4
    assert none > 10


@pytest.mark.parametrize("dtype", [Float16, Float32], ids=lambda x: x.__name__)
def test_boxes_are_the_fewest_that_write_the_tile(dtype):
    chance, with_boxes = random.Random(7), 0
    layouts = [changed(chance, dtype) for _ in range(25)]
    layouts += [
        L("(16,64):(64,1)"),
        L("(16,64):(128,1)"),
        L("(8,128):(1024,1)"),
        L("(16,64):(72,1)"),
        L("(64,16):(1,64)"),
        L("(16,64):(0,1)"),
    ]
    for layout in layouts:
        found, expected = swizzle_mode(layout, dtype).tma, boxes_of(layout, dtype)
        if "(0,1)" in str(layout):
            assert found is None  # 16 rows at one place: boxes would write it again and again
            continue
        got = None if found is None else (found.boxes, found.swizzle, *found.extents)
        assert (got and got[0]) == (expected and expected[0]), layout
        with_boxes += found is not None
    assert with_boxes > 10


# What is no tile of wgmma, the nearest kind, and the first element that lies elsewhere, each worked out by hand: rows
# of 64 halves are 8 chunks of 8; K_SW128 has chunk c of row r in place c xor r.
WRONG = {
    "(128,64):(64,1)": ("K_SW128", (1, 0), 64, 72, "1 box of 64 x 128 along K"),
    "(128,64):(72,1)": ("K_SW128", (1, 8), 80, 64, None),
    "(128,64):(1,128)": ("MN_SW128", (0, 1), 128, 72, "1 box of 128 x 64 along M or N"),
    "S<3,3,4> o 0 o (128,64):(64,1)": ("K_SW128", (1, 0), 64, 72, None),
    "S<2,3,3> o 0 o (128,64):(64,1)": ("K_SW128", (4, 0), 256, 288, None),
    "S<3,2,3> o 0 o (128,64):(64,1)": ("K_SW128", (0, 32), 36, 32, None),
    "S<3,3,3> o 0 o (128,64,2):(64,1,8200)": ("K_SW128", (0, 0, 1), 8192 + 8, 8192, None),
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_no_tile_is_told_by_its_first_element(text):
    kind, coordinate, offset, expected, boxes = WRONG[text]
    found = swizzle_mode(L(text), Float16)
    assert found.kind is None
    assert not found
    assert found.nearest.name == kind
    assert found.difference == (coordinate, offset, expected)
    assert (found.tma and f"SWIZZLE_NONE, {boxes}") == (str(found.tma) if found.tma else None)
    assert (found.leading, found.stride) == (0, 0)


def test_analyze_names_the_mode_of_a_tile_in_shared_memory():
    tile = L("S<3,3,3> o 0 o (128,64):(64,1)")
    found = analysis.analyze(tile, Float16, memory="shared", op="ldmatrix")
    assert found.swizzle_mode == swizzle_mode(tile, Float16)
    line = f"as a tile (rows, K): {found.swizzle_mode}"
    assert line in str(found).splitlines()
    assert line in found._repr_html_()
    assert "SWIZZLE_128B, 1 box of 64 x 128 along K" in line
    assert analysis.analyze(tile, Float16).swizzle_mode is None  # in global memory
    staged = L("S<3,3,3> o 0 o (128,64,4):(64,1,8192)")
    assert analysis.analyze(staged, Float16, memory="shared").swizzle_mode.kind is Kind.K_SW128
    # Swizzles are of addresses: from elsewhere on, the atom is another.
    assert analysis.analyze(tile, Float16, memory="shared", base=512).swizzle_mode.kind is None
    assert analysis.analyze(tile, Float16, memory="shared", base=4096).swizzle_mode.kind is Kind.K_SW128
    pointer = cute.make_ptr(Float16, 1024, cute.AddressSpace.smem, assumed_align=1024)
    assert analysis.analyze(cute.make_tensor(pointer, tile)).swizzle_mode.kind is Kind.K_SW128


def test_analyze_says_why_a_swizzled_tile_has_no_mode():
    found = analysis.analyze(L("S<3,3,4> o 0 o (128,64):(64,1)"), Float16, memory="shared")
    assert "as a tile (rows, K): not K_SW128, the nearest: element (1,0) lies at 64, not at 72; no box" in str(found)
    far = analysis.analyze(L("S<3,3,3> o 0 o (8,8):(1152921504606840,1)"), Float64, memory="shared", width=8)
    assert far.swizzle_mode is None  # no shared memory reaches that far
    # What has no swizzle, and most thread-value layouts, say nothing of tiles.
    assert analysis.analyze(L("(128,64):(64,1)"), Float16, memory="shared").swizzle_mode is None
    assert analysis.analyze(L("32:1"), Float16, memory="shared").swizzle_mode is None


def test_the_command_line_shows_the_mode(capsys):
    text = "S<3,3,3> o 0 o (128,64):(64,1)"
    assert layout_command(["analyze", text, "--dtype", "f16", "--memory", "shared", "--op", "ldmatrix"]) == 0
    assert "K_SW128, descriptor of wgmma: leading 16, stride 1024 bytes" in capsys.readouterr().out


BAD = [
    ((None, Float16), TypeError, "expected a Layout or ComposedLayout, not NoneType"),
    ((L("(8,8):(8,1)"), None), TypeError, "expected dtype to be an element type"),
    ((L("(8,8):(8,1)"), Float16(1.0)), TypeError, "expected dtype to be an element type"),
    ((L("64:1"), Float16), cute.LayoutError, "must have the modes (rows, K) or (rows, K, stages), but has 1"),
    ((L("(2,2,2,2):(1,2,4,8)"), Float16), cute.LayoutError, "but has 4"),
    ((L("(8,8):(1@0,1@1)"), Float16), cute.LayoutError, "gives coordinates"),
    ((L("(3,5):(5,1)"), Float16), cute.LayoutError, "the tile (3,5) does not consist of 8 rows by 16 bytes"),
    ((L("(4096,4096):(4096,1)"), Float16), cute.LayoutError, "has 16777216 elements"),
    ((L("S<3,4,3>"), Float16), TypeError, "not Swizzle"),
    ((L("(8,8):(1152921504606846975,1)"), Float64), cute.LayoutError, "reaches offset 8070450532247928832, which no"),
]


@pytest.mark.parametrize(("arguments", "kind", "text"), BAD, ids=lambda x: str(x)[:40])
def test_bad_input_is_refused(arguments, kind, text):
    with pytest.raises(kind) as error:
        swizzle_mode(*arguments)
    assert text in str(error.value)
    assert str(error.value).startswith("swizzle_mode: ")


def test_elements_that_are_no_bytes_have_no_mode():
    from tilewright import Float4E2M1FN

    with pytest.raises(TypeError, match="must have 1, 2, 4 or 8 bytes, but Float4E2M1FN has 4 bits"):
        swizzle_mode(L("(8,64):(64,1)"), Float4E2M1FN)


@pytest.mark.parametrize(
    ("text", "kind", "repeat"),
    [
        ("S<3,3,3> o 0 o (64,64):(64,1)", "K_SW128", 1024),
        ("S<2,3,3> o 0 o (64,32):(32,1)", "K_SW64", 512),
        ("S<1,3,3> o 0 o (64,16):(16,1)", "K_SW32", 256),
        ("(64,8):(8,1)", "K_INTER", 16),
    ],
)
def test_the_base_that_a_tile_needs(text, kind, repeat):
    """A swizzle of addresses begins anew at multiples of its repeat: elsewhere it is none of offsets."""

    def mode_at(base):
        return analysis.analyze(L(text), Float16, memory="shared", width=8, base=base).swizzle_mode

    for base in (0, repeat, 5 * repeat):
        assert mode_at(base).kind.name == kind
        assert str(mode_at(base)).startswith(f"{kind}, descriptor of wgmma")
    for base in {8, repeat // 2, repeat + repeat // 2}:
        found = mode_at(base)
        assert not found
        assert (found.nearest.name, found.difference, found.leading, found.stride) == (kind, None, 0, 0)
        assert f"not {kind}: the base {base:#x} must be a multiple of {repeat} bytes" in str(found)
    assert mode_at(8).tma is None
    printed = str(analysis.analyze(L("S<3,3,3> o 0 o (64,64):(64,1)"), Float16, memory="shared", width=16, base=128))
    assert (
        "as a tile (rows, K): not K_SW128: the base 0x80 must be a multiple of 1024 bytes, after which the swizzle "
        "repeats; no box of TMA writes it" in printed
    )


def test_a_tile_of_no_kind_is_told_from_every_base_on():
    for base in (0, 128, 512):
        found = analysis.analyze(L("S<3,3,4> o 0 o (64,64):(64,1)"), Float16, memory="shared", base=base).swizzle_mode
        assert str(found.difference) == "element (1,0) lies at 64, not at 72"

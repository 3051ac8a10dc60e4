"""Where arguments enter: texts become layouts, wrong kinds become errors that name function and argument."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import textwrap

import pytest

import tilewright as tw
from tilewright import _boundary, cute
from tilewright.cute.tiled import make_tiled_copy as tiled_copy_makers
from tilewright.cute.tiled import partition

L = cute.parse
RECURSIVE: list = [1]
RECURSIVE.append(RECURSIVE)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: cute.composition(L("4:1"), (2, object)), TypeError, "composition: expected rhs to be a tiler"),
        (lambda: cute.composition(3, 4), TypeError, "composition: expected lhs to be a Layout, ComposedLayout"),
        (lambda: cute.coalesce(1.5), TypeError, "coalesce: expected layout to be an integer"),
        (
            lambda: cute.make_layout((4, (8, "x"))),
            TypeError,
            r"expected shape to be .* but got str 'x' in \(4,\(8,'x'\)\)",
        ),
        (lambda: cute.Swizzle(2, "a", 3), TypeError, "Swizzle: expected m to be an integer, but got str 'a'"),
        (lambda: cute.Swizzle(2, 3), TypeError, r"Swizzle: missing s; the signature is Swizzle\(b, m, s\)"),
        (lambda: L("4:1")[None], TypeError, "Layout.__getitem__: expected mode to be an integer, but got None"),
        (lambda: L("4:1").offsets(3), TypeError, "offsets: expected out to be an int64 array, but got int 3"),
        (
            lambda: cute.Layout.offsets(None),
            TypeError,
            "Layout.offsets: expected self to be of type Layout, but got None",
        ),
        (lambda: cute.size["a"], TypeError, "size: expected mode to be an integer, but got str 'a'"),
        (lambda: cute.size[0](L("(4,2):(1,4)"), "a"), TypeError, "size: expected an integer, but got str 'a'"),
        (lambda: cute.make_layout(RECURSIVE), ValueError, "make_layout.*nested at most 64 deep"),
        (lambda: cute.IntTuple(RECURSIVE).__str__(), (ValueError, type(None)), ""),
        (lambda: cute.pretty_str(RECURSIVE), ValueError, "pretty_str: an argument is nested too deeply, or contains"),
        (lambda: cute.make_tiled_mma(3), TypeError, "make_tiled_mma: expected op to be "),
        (lambda: cute.recast_tensor(3, tw.Float32), TypeError, "recast_tensor: "),
        (lambda: cute.local_tile("x", (4,), (0,)), TypeError, "local_tile: expected tensor to be a Tensor"),
    ],
)
def test_errors_name_function_and_argument(call, error, text):
    if isinstance(error, tuple):
        call()
        return
    with pytest.raises(error, match=text):
        call()


def test_errors_of_the_callers_functions_go_through():
    class MineError(AttributeError):
        pass

    def mine(x):
        raise MineError("mine")

    with pytest.raises(MineError, match=r"^mine$"):
        cute.transform_leaf(mine, (1, 2))


def test_a_function_at_the_boundary_is_one_object():
    assert partition.local_tile is cute.local_tile
    assert tiled_copy_makers.make_tiled_copy_tv is cute.make_tiled_copy_tv
    for function in (cute.local_tile, cute.composition, cute.size, cute.size[0], cute.Layout.offsets):
        assert pickle.loads(pickle.dumps(function))((4, 8)) == function((4, 8)) if function is cute.size else True
    assert pickle.loads(pickle.dumps(cute.local_tile)) is cute.local_tile
    assert pickle.loads(pickle.dumps(cute.composition)) is cute.composition
    assert pickle.loads(pickle.dumps(cute.size[1]))((4, 8)) == 8


@pytest.mark.parametrize(
    "x",
    [
        L("(4,8):(8,1)"),
        L("S<2,4,3>"),
        L("S<3,4,3> o 0 o (8,64):(64,1)"),
        cute.E([0, 1]),
        cute.make_layout((tw.Int32(4), 2)),
    ],
    ids=str,
)
def test_pickle_and_copy(x):
    for again in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x)):
        assert type(again) is type(x)
        assert again == x
        assert str(again) == str(x)


def test_shown_survives_everything():
    class Bad:
        def __repr__(self):
            raise RuntimeError

    assert _boundary.shown(Bad()) == "Bad"
    assert _boundary.shown(10**5000) == "int"
    assert _boundary.shown([1] * 1000).endswith("...")


# ---- texts


@pytest.mark.parametrize(
    ("call", "same"),
    [
        (lambda: cute.composition("(4,8):(8,1)", "8:1"), lambda: cute.composition(L("(4,8):(8,1)"), L("8:1"))),
        (
            lambda: cute.composition("S<2,4,3>", "(4,8):(8,1)"),
            lambda: cute.composition(L("S<2,4,3>"), L("(4,8):(8,1)")),
        ),
        (
            lambda: cute.zipped_divide("(8,8):(1,8)", ("4:1", "2")),
            lambda: cute.zipped_divide(L("(8,8):(1,8)"), (L("4:1"), 2)),
        ),
        (lambda: cute.logical_product("4:1", "2"), lambda: cute.logical_product(L("4:1"), 2)),
        (lambda: cute.zip_layouts("4:1", "2:1"), lambda: cute.zip_layouts(L("4:1"), L("2:1"))),
        (lambda: cute.make_layout("(4,8)", stride="(8,1)"), lambda: L("(4,8):(8,1)")),
        (lambda: cute.coalesce("(4,8):(1,4)", target_profile="(1,1)"), lambda: cute.coalesce(L("(4,8):(1,4)"), (1, 1))),
        (lambda: cute.complement("4:2", "16"), lambda: cute.complement(L("4:2"), 16)),
        (lambda: cute.size("(4,8):(8,1)", mode=[1]), lambda: 8),
        (lambda: cute.crd2idx("(1,2)", "(4,8):(8,1)"), lambda: 10),
        (lambda: cute.tile_to_shape("4:1", "16", order="left"), lambda: cute.tile_to_shape(L("4:1"), 16, order="left")),
        (lambda: cute.equivalent("4:1", "4:1").holds, lambda: True),
        (lambda: cute.slice_("(4,8):(8,1)", "(_,2)"), lambda: cute.slice_(L("(4,8):(8,1)"), (None, 2))),
        (lambda: cute.is_integer("4"), lambda: False),  # a question about the object, which is a text
        (lambda: cute.is_int_tuple("(4,2)"), lambda: False),
        (lambda: cute.repeat("4", 2), lambda: ("4", "4")),  # of any object
    ],
)
def test_texts_are_operands(call, same):
    assert call() == same()


def test_text_that_is_no_notation():
    with pytest.raises(
        cute.LayoutError, match=r"^composition\('\(4,8'\): the text for lhs: expected '\)' at position 4"
    ):
        cute.composition("(4,8", "8:1")
    with pytest.raises(cute.LayoutError, match=r"^zipped_divide\(8:1, \('4:',\)|^zipped_divide"):
        cute.zipped_divide("8:1", ("4:",))
    with pytest.raises(ValueError, match=r"^rank: expected CuTe notation, but got"):
        cute.rank("\ud800")


# ---- limits


@pytest.mark.parametrize("name", ["print_layout", "print_latex"])
def test_a_table_has_a_limit(name, capsys):
    with pytest.raises(
        ValueError, match=rf"^{name}: .* has {1 << 60} elements to print, and at most 262144 are printed"
    ):
        getattr(cute, name)(L("(1073741824,1073741824):(1,1073741824)"))
    cute.print_layout(L("(2,2):(1,2)"))
    assert capsys.readouterr().out


def test_print_tensor_has_a_limit(capsys):
    tensor = cute.make_identity_tensor((1 << 30, 1 << 30))
    cute.print_tensor(tensor)  # shortened to the edges
    assert len(capsys.readouterr().out) < 10_000
    with pytest.raises(ValueError, match=r"^print_tensor: .* elements to print, and at most 262144"):
        cute.print_tensor(tensor, verbose=True)


def test_registers_have_a_limit():
    tiled = cute.make_tiled_mma(cute.nvgpu.MmaUniversalOp(tw.Float32), cute.make_layout((16, 16, 1)))
    for make in (lambda: tiled.make_fragment_A((1, 1 << 31, 1)), lambda: cute.make_rmem_tensor(1 << 31, tw.Float32)):
        with pytest.raises(cute.LayoutError, match=rf"{1 << 33} bytes of registers, .* at most {1 << 28}"):
            make()


def test_int_tuple_of_something_without_end():
    class Items:
        def __getitem__(self, key):
            return 1

    for endless in (Items(), iter(int, 1)):
        with pytest.raises(ValueError, match=r"^IntTuple: more than 4096 entries in "):
            cute.IntTuple(endless)
    with pytest.raises(TypeError, match=r"^IntTuple: expected a tuple or another iterable, but got "):
        cute.IntTuple(cute.size)
    assert cute.IntTuple([1, (2, 3)]) == (1, (2, 3))
    assert cute.IntTuple() == ()


def test_basis_elements_take_no_memory():
    code = """
        import resource
        from tilewright import cute
        for i in range(4096): cute.E((i, 0))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for i in range(300_000): cute.E((i % 4096, i // 4096, ))
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 2048  # KiB: 165 bytes for each would be 48,000


@pytest.mark.parametrize(
    "modes",
    [
        0,
        4096,
        (0, 0),
        (4096, 1),
        (1, 4096),
        (255, 255, 255),
        (256, 0, 0),
        (0, 0, 256),
        (1, 2, 3, 4),
        (4096,) * 5,
        (0,) * 64,
    ],
    ids=str,
)
def test_every_path_of_a_basis_element_is_its_own(modes):
    element = cute.E(modes)
    path = (modes,) if isinstance(modes, int) else modes
    assert element.mode == path
    assert str(element) == "1" + "".join(f"@{mode}" for mode in path)
    assert L(str(element)) == element
    assert hash(L(str(element))) == hash(element)
    others = [
        cute.E(other) for other in (0, (0, 0), (0, 0, 0), (0, 0, 0, 0), (1, 2, 3), (1, 2, 3, 4, 5)) if other != modes
    ]
    assert element not in others

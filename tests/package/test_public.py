"""Public functions as a user meets them at a prompt: what they say they are, and tracebacks of their errors."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import os
import pickle
import pydoc
import re
import subprocess
import sys
import traceback

import numpy as np
import pytest

from tilewright import LayoutError, cute, kernels
from tilewright._core import cuda
from tilewright._traceback import short
from tilewright._typing import GemmKeywords
from tilewright.kernels.gemm.request import GemmRequest

LAUNCHED = (kernels.gemm, kernels.tiled_copy)
A, B = np.zeros((2, 3), np.float32), np.zeros((4, 5), np.float32)
TV = cute.make_layout((2, 3))


def test_a_launched_function_says_what_it_is():
    assert repr(kernels.tiled_copy) == ("<function tilewright.kernels.tiled_copy(src, dst, tiled_copy, plan, stream)>")
    assert repr(kernels.gemm).startswith("<function tilewright.kernels.gemm(mA, mB, mC, alpha, ")
    launcher = cuda.Launcher(test_a_launched_function_says_what_it_is)
    assert repr(launcher) == f"<launcher of {test_a_launched_function_says_what_it_is!r}>"


@pytest.mark.parametrize("function", LAUNCHED)
def test_a_launched_function_is_copied_and_pickled_as_a_function(function):
    assert copy.copy(function) is copy.deepcopy(function) is pickle.loads(pickle.dumps(function)) is function
    with pytest.raises(TypeError, match="no name by which it could be pickled"):
        pickle.dumps(cuda.Launcher(function.__wrapped__))


@pytest.mark.parametrize("function", LAUNCHED)
def test_help_of_a_launched_function_is_that_of_a_function(function):
    text = pydoc.render_doc(function, renderer=pydoc.plaintext)
    first = next(iter(inspect.signature(function).parameters))
    assert re.search(rf"\n{function.__name__}\(\s*{first}: ", text)  # Python 3.13 gives each argument a line
    assert function.__doc__.splitlines()[0] in text
    assert "vectorcall" not in text
    assert "slow" not in text

    class Holder:
        held = function

    assert Holder().held is function  # it does not become a method


@pytest.mark.parametrize("name", ["gemm.plan", "gemm.tune", "gemm.calibrate", "tiled_copy.plan"])
def test_what_stands_beside_a_launched_function_has_its_name(name):
    outer, inner = name.split(".")
    function = getattr(getattr(kernels, outer), inner)
    assert repr(function).startswith(f"<function {name} at ")
    assert (
        pydoc.render_doc(function, renderer=pydoc.plaintext)
        .splitlines()[0]
        .startswith(f"Python Library Documentation: function {inner} in ")
    )
    assert pickle.loads(pickle.dumps(function)) is function


def keywords(function):
    """The keywords of a function, each with its default and its annotation."""
    parameters = inspect.signature(function).parameters.values()
    return {x.name: (x.default, x.annotation) for x in parameters if x.kind is x.KEYWORD_ONLY and x.name != "arch"}


def test_the_keywords_of_a_call_are_the_fields_of_a_request():
    """gemm spells them out, for its readers, and GemmKeywords for type checkers."""
    fields = dataclasses.fields(GemmRequest)
    for function in (kernels.gemm, kernels.gemm.plan, kernels.gemm.tune):
        assert keywords(function) == {x.name: (x.default, x.type) for x in fields}
    assert {name: x.__forward_arg__ for name, x in GemmKeywords.__annotations__.items()} == {
        x.name: x.type for x in fields
    }


def test_an_unknown_keyword_is_named_with_what_is_meant():
    with pytest.raises(TypeError, match=r"no argument is named stagess; .*\. Did you mean: 'stages'\?$"):
        kernels.gemm.plan(A, A, stagess=2)


# ---- tracebacks ----

PLAN = kernels.gemm.plan(A, A)
COPY = kernels.tiled_copy.plan(A, A.copy())
REFUSED = [
    lambda: kernels.gemm(A, B),
    lambda: kernels.gemm(A, B, A),
    lambda: kernels.gemm.plan(A, B),
    lambda: kernels.gemm.tune(A, A),
    lambda: kernels.gemm.calibrate(seconds=0),
    lambda: kernels.tiled_copy(A, B),
    lambda: kernels.tiled_copy.plan(A, B),
    lambda: kernels.transpose(A[0]),
    lambda: kernels.transpose(A, A),
    lambda: kernels.permute(A, (0, 0)),
    lambda: kernels.permute(A, 7),
    lambda: kernels.visualize_tv(A, cute.make_layout((3, 3))),
    lambda: PLAN.run(A, B),
    lambda: PLAN.bind(A, B, B),
    lambda: PLAN.compile("sm_10"),
    lambda: COPY.run(A, B),
    lambda: COPY.bind(A, B),
    lambda: COPY.compile("90a"),
]


def frames_of(call):
    with pytest.raises((TypeError, ValueError)) as caught:
        call()
    return [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]


@pytest.mark.parametrize("call", REFUSED)
def test_an_error_ends_at_the_line_that_called(call, monkeypatch):
    monkeypatch.delenv("TILEWRIGHT_FULL_TRACEBACK", raising=False)
    # Python 3.10 keeps the frame of the function that was called.
    own = 2 if sys.version_info >= (3, 11) else 3
    assert frames_of(call)[:2] == ["frames_of", "<lambda>"]
    assert len(frames_of(call)) <= own
    monkeypatch.setenv("TILEWRIGHT_FULL_TRACEBACK", "1")
    assert len(frames_of(call)) >= 3


class Broken:
    """An array whose export fails in its own code."""

    shape, dtype = (2, 3), np.dtype(np.float32)

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **options):
        raise ValueError("out of order")


def test_frames_of_the_users_own_code_stay():
    with pytest.raises(BufferError, match=r"kernels\.tiled_copy: src: out of order") as caught:
        kernels.tiled_copy(Broken(), A)
    assert [frame.name for frame in traceback.extract_tb(caught.value.__cause__.__traceback__)] == ["__dlpack__"]


def test_a_mistake_behind_a_refusal_is_shown_whole():
    scope = {"__name__": "tilewright.made_up", "short": short}
    body = "try:\n        {}['x']\n    except KeyError as error:\n        raise ValueError('refused') from error"
    code = f"@short\ndef outer():\n    {body}"
    exec(code, scope)
    with pytest.raises(ValueError, match="refused") as caught:
        scope["outer"]()
    assert len(traceback.extract_tb(caught.value.__traceback__)) <= 2
    assert [frame.name for frame in traceback.extract_tb(caught.value.__cause__.__traceback__)] == ["outer"]


def test_what_is_no_refusal_is_shown_whole():
    @short
    def wrong():
        return {}["missing"]

    with pytest.raises(KeyError) as caught:
        wrong()
    assert [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)][1:] == ["call", "wrong"]


def test_a_program_shows_its_own_line_and_the_error():
    code = "import numpy\nfrom tilewright import kernels\na = numpy.zeros((2, 3))\nkernels.gemm(a, a.T)\n"
    environment = {name: x for name, x in os.environ.items() if name != "TILEWRIGHT_FULL_TRACEBACK"}
    run = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, env=environment)
    assert run.returncode == 1
    assert run.stderr.count('  File "') == (1 if sys.version_info >= (3, 11) else 2)
    assert run.stderr.splitlines()[-1].startswith(f"tilewright.{LayoutError.__name__}: kernels.gemm: mA = ")


# ---- a check is a run ----


@pytest.mark.parametrize("beta", [0, 2])
def test_a_check_of_a_gemm_writes_c_as_a_run_does(beta):
    a, b = np.arange(12, dtype=np.float32).reshape(4, 3), np.arange(6, dtype=np.float32).reshape(2, 3)
    plan = kernels.gemm.plan(a, b, np.zeros((4, 2), np.float32), beta=beta)
    run, checked = np.ones((4, 2), np.float32), np.ones((4, 2), np.float32)
    assert plan.run(a, b, run) is run
    assert plan.run(a, b, checked, check=True)
    np.testing.assert_array_equal(checked, run)
    np.testing.assert_array_equal(run, a @ b.T + beta)
    assert "mC then holds" in plan.run.__doc__


def test_a_check_of_a_copy_writes_the_destination_as_a_run_does():
    src, dst = np.arange(6, dtype=np.float32).reshape(2, 3), np.zeros((2, 3), np.float32)
    plan = kernels.tiled_copy.plan(src, dst)
    assert plan.run(src, dst, check=True)
    np.testing.assert_array_equal(dst, src)
    assert "dst is written" in plan.run.__doc__

"""A fork while other threads work: the child computes on, whatever a thread of the parent held at that moment.

Only the thread that forks goes on in the child. What another one had locked is locked there for ever.
"""

from __future__ import annotations

import os

import pytest

from compiling import nvrtc, run_python

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")

PRELUDE = """
import contextlib, itertools, os, signal, sys, threading, time, warnings
import numpy as np
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12: a process of several threads forks

def in_child(work, seconds=10):
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(seconds)  # the end of a child that waits for ever
        try:
            work()
            os._exit(0)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status != -signal.SIGALRM, "the child hangs"
    assert status == 0, status

@contextlib.contextmanager
def meanwhile(work, threads=3):
    \"\"\"While other threads call work(0), work(1), ... for ever.\"\"\"
    def work_on():
        for number in itertools.count():
            if ended:
                return
            work(number)

    ended = []
    started = [threading.Thread(target=work_on) for _ in range(threads)]
    for thread in started:
        thread.start()
    try:
        yield
    finally:
        ended.append(True)
        for thread in started:
            thread.join()
"""


def run(code: str, **environment: str) -> None:
    run_python(PRELUDE + code, **environment)


def test_threads_multiply():
    """On the CPU: programs of plans are looked up, made and run."""
    run("""
from tilewright import kernels
a, b = np.ones((24, 40), np.float32), np.ones((16, 40), np.float32)

def multiply(number):
    k = number % 40 + 1  # plans of their own, of which most are known
    assert (kernels.gemm(a[:, :k], b[:, :k]) == k).all()

multiply(39)
with meanwhile(multiply):
    for number in range(60):
        in_child(lambda: multiply(number))
""")


@nvrtc
@pytest.mark.parametrize("cache", ["off", "on"])
def test_threads_compile(cache, tmp_path):
    """NVRTC has locks of its own."""
    code = """
from tilewright.runtime.compiler import compile_program

def compile(number):
    source = f"template <int N> __global__ void k(int* x) {{ *x = {number}; }} // {threading.get_ident()} {os.getpid()}"
    assert compile_program("probe", ["k<1>"], "sm_80", source=source).lowered

compile(0)
with meanwhile(compile):
    for number in range(15):
        in_child(lambda: compile(number))
"""
    run(code, TILEWRIGHT_CACHE_DIR="off" if cache == "off" else str(tmp_path / "cache"))


def test_threads_plan():
    """What a plan finds out once is kept with it; before Python 3.12 functools.cached_property has a lock for that."""
    run("""
from tilewright import kernels
a, b = np.ones((64, 64), np.float16), np.ones((64, 64), np.float16)

def plan(number):
    rows = number % 8 + 1
    kernels.gemm.plan(a[:8 * rows], b[:8 * rows], arch="sm_80").tables()

for number in range(8):
    plan(number)
with meanwhile(plan):
    for number in range(40):
        in_child(lambda: plan(number))
""")


def test_threads_copy():
    """On the CPU: the tables of a plan are made without the GIL, and look basis elements up."""
    run("""
from tilewright import cute, kernels
a = np.arange(300 * 64, dtype=np.int32).reshape(300, 64)

def copy(number):
    rows = number % 250 + 1
    assert (kernels.transpose(a[:rows]) == a[:rows].T).all()
    assert str(cute.make_identity_layout((2, 3))) == "(2,3):(1@0,1@1)"

copy(0)
with meanwhile(copy):
    for number in range(60):
        in_child(lambda: copy(number))
""")


def test_a_thread_imports():
    """The first call of a thread imports what it needs."""
    for milliseconds in (2, 5, 8, 12):
        run(f"""
from tilewright import kernels
a, b = np.ones((24, 40), np.float32), np.ones((16, 40), np.float32)
thread = threading.Thread(target=lambda: kernels.gemm(a, b))
thread.start()
time.sleep({milliseconds / 1000})
in_child(lambda: kernels.gemm(a, b))
thread.join()
""")


def test_a_thread_is_about_to_import():
    """Python holds the module's lock then, but knows of no module that is being imported."""
    run("""
import importlib.machinery
import tilewright

class Slow:
    def find_spec(self, name, path, target=None):
        return importlib.machinery.ModuleSpec(name, self) if name == "tilewright.slow" else None

    def create_module(self, spec):
        begins.set()
        time.sleep(0.3)

    def exec_module(self, module):
        pass

begins = threading.Event()
sys.meta_path.insert(0, Slow())
thread = threading.Thread(target=lambda: importlib.import_module("tilewright.slow"))
thread.start()
begins.wait()
in_child(lambda: importlib.import_module("tilewright.slow"), seconds=3)
thread.join()
""")

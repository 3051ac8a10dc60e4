"""Predictions of launches on a GPU: the arguments' memory is read from the device before they run."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest

from tilewright import cute
from tilewright.lang.profiling import verify
from tilewright.lang.profiling.launches import count
from tilewright.lang.run import WATCHERS

DRIVER = """
#include <string.h>
static int depth, retained, error;
char log_of[256];
static int note(const char* name) { return strcat(strcat(log_of, name), " "), error; }
void fail(int with) { error = with; }
int cuDevicePrimaryCtxRetain(void** context, int device) {
  return *context = &depth, ++retained, device == 1 ? 0 : 101;
}
int cuDevicePrimaryCtxRelease_v2(int device) { return --retained, 0; }
int cuCtxPushCurrent_v2(void* context) { return ++depth, context == &depth ? 0 : 201; }
int cuCtxPopCurrent_v2(void** context) { return *context = &depth, --depth, 0; }
int cuCtxSynchronize(void) { return note("synchronize"); }
int cuMemcpyDtoH_v2(void* to, unsigned long long from, size_t bytes) {
  return memcpy(to, (void*)from, bytes), note("copy");
}
int is_balanced(void) { return depth == 0 && retained == 0; }
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    """A driver of which device 1 has the host's memory."""
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    folder = tmp_path_factory.mktemp("driver")
    (folder / "driver.c").write_text(DRIVER)
    library = folder / "libdriver.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, folder / "driver.c"], check=True)
    return library


@pytest.fixture
def loaded(driver, monkeypatch):
    monkeypatch.setattr(verify, "cuda", SimpleNamespace(driver_path=lambda: str(driver)))
    library = ctypes.CDLL(str(driver))
    log = (ctypes.c_char * 256).in_dll(library, "log_of")
    log.value = b""
    yield library, log
    library.fail(0)


@cute.kernel
def gather_kernel(x: cute.Tensor, y: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    y[i] = x[x[i]]


@cute.jit
def gather(x: cute.Tensor, y: cute.Tensor):
    gather_kernel(x, y).launch(block=[32, 1, 1])


def arguments():
    """What is read where depends on what x holds."""
    memory = np.zeros(164, np.int32)
    aligned = memory[(-memory.ctypes.data % 128) // 4 :]
    x, y = aligned[:64], aligned[64:96]
    x[:32] = 2 * np.arange(32)
    return x, y


def test_memory_of_the_device_is_read_and_what_runs_is_predicted(loaded):
    library, log = loaded
    x, y = arguments()
    seen = []

    def as_on_a_device(traced, leaves, device):
        assert device[0] == 1
        before = list(leaves.values)
        note(traced, leaves, (2, 1))
        assert leaves.values == before  # the call itself goes to the arguments' own memory
        seen.append(verify.predicted_of(row for one in count(traced, leaves, alignment=256) for row in one.rows))

    launches = []
    note = verify.note_calls(launches)
    WATCHERS.remove(note)
    WATCHERS.append(as_on_a_device)
    try:
        gather(x, y)
    finally:
        WATCHERS.remove(as_on_a_device)
    assert y.tolist() == [4 * i for i in range(16)] + [0] * 16
    (launch,) = launches
    assert (launch["symbol"], launch["lines"]) == ("gather_kernel", seen[0])
    assert sorted((one.kind, one.sectors) for one in launch["lines"]) == [("load", 4), ("load", 8), ("store", 4)]
    assert log.value == b"synchronize copy synchronize copy "
    assert library.is_balanced()


def test_an_error_of_the_driver_is_said(loaded):
    library, _ = loaded
    library.fail(700)
    here = (ctypes.c_char * 8)()
    with pytest.raises(RuntimeError, match=r"^cuCtxSynchronize: error 700 of the CUDA driver$"):
        verify._reader(1)(ctypes.addressof(here), ctypes.addressof(here), 8)
    assert library.is_balanced()

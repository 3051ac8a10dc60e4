"""Hypothesis profiles: ci is the default, the others by --hypothesis-profile. The cache and the compiler of the run."""

import gc
import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import chromium
from tilewright.runtime.compiler import nvrtc_library
from tilewright.runtime.errors import NvrtcError

# pytest puts the folder of this file first, where `import torch` would find tests/torch if the library is missing.
sys.path[:] = [place for place in sys.path if Path(place) != Path(__file__).parent]

# jsonschema, which nbformat imports, builds a grammar of IRIs from this for 4 s; no notebook has one to check.
sys.modules["rfc3987_syntax"] = None

# How long an example takes says nothing about right or wrong, and machines differ.
COMMON = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

settings.register_profile("ci", COMMON, max_examples=500, derandomize=True)
settings.register_profile("nightly", COMMON, max_examples=100_000, print_blob=True)
settings.register_profile("dev", COMMON, max_examples=100)
settings.load_profile("ci")

# Files with few tests that take long. pytest-xdist would begin them last, and one core would wait for the other.
LONG = (
    "lang/test_random_kernels.py",
    "lang/test_random_control.py",
    "lang/test_attention_backward_256.py",
    "lang/test_execute_random.py",
    "lang/test_launching.py",
    "kernels/copy/test_kernels_copy.py",
)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What is made here lives to the end: looking for garbage in it takes a fifth of the time of collecting."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_collection_modifyitems(items):
    first = {str(Path(__file__).parent / name): place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: first.get(str(item.path), len(first)))


@pytest.fixture(scope="session", autouse=True)
def cache_of_the_run(tmp_path_factory):
    """The disk cache is a folder of this run, one for all of its processes; the user's is left alone.

    So are devices that the user has calibrated: plans are those of the package's numbers.
    """
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # a worker's folder lies in the one of the run
        folder = folder.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEWRIGHT_CACHE_DIR", str(folder / "kernels"))
        patch.setenv("TILEWRIGHT_DEVICES_DIR", "off")
        yield


@pytest.fixture(scope="module")
def compiler(cache_of_the_run):
    """NVRTC is there and compiles each time, for the disk cache is off. In CI that there is none is a failure."""
    try:
        nvrtc_library()
    except NvrtcError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error).splitlines()[0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEWRIGHT_CACHE_DIR", "off")
        yield


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """A page in headless Chromium."""
    if chromium.find() is None:
        pytest.skip("Chromium is not installed (Debian: apt-get install -y --no-install-recommends chromium)")
    browser = chromium.Chromium(tmp_path_factory.mktemp("chromium"))
    yield browser
    browser.close()

"""Memory stays flat, however many kernels are launched, on a driver made for the tests."""

from __future__ import annotations

import json
import sys
import textwrap

import pytest

import memory
import test_driver
import test_launch_driver
from places import SUPPORT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks glibc what is allocated")
fake = test_driver.fake

LAUNCHES = """
sys.path.insert(0, SUPPORT)
import json, memory
FAKE.fake_quiet(1)
Array = library(77)
gemms = [[Array(4095, 4103), Array(4097, 4103), Array(4095, 4097)] for _ in range(2)]
copies = [(Array(64, 32), Array(64, 32)) for _ in range(2)]

def step(i):
    kernels.gemm(*gemms[i % 2])
    kernels.tiled_copy(*copies[i % 2])

step(0), step(1)
planned = len(prepared)
before = FAKE.fake_launches()
grown = memory.growth(step, STEPS)
assert len(prepared) == planned and FAKE.fake_allocated() == 0 == FAKE.fake_depth()
print(json.dumps([FAKE.fake_launches() - before, grown]))
"""


@pytest.mark.parametrize("steps", [1000, pytest.param(200_000, marks=pytest.mark.nightly)])
def test_launches(fake, steps, record_property):
    """A GEMM of four kernels with its workspace, and a copy."""
    code = textwrap.dedent(LAUNCHES).replace("SUPPORT", repr(str(SUPPORT))).replace("STEPS", str(steps))
    launches, grown = json.loads(test_launch_driver.run(fake, code, timeout=3600))
    assert launches >= 5 * steps
    memory.check_flat(grown, 5 * steps)
    record_property("figure", f"{launches:,} launches: {memory.text(grown)}")

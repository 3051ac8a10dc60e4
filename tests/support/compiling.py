"""What the tests of the compiler have in common."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

from tilewright.runtime.discovery import find_nvrtc

FOUND = find_nvrtc().found
nvrtc = pytest.mark.skipif(FOUND is None, reason="no NVRTC: pip install nvidia-cuda-nvrtc")


def run_python(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        text=True,
        capture_output=True,
        timeout=60,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()

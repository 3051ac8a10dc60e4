"""A test's program of several processes, which may wait for one another."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path


def run_ranks(
    program: Path, *arguments: str, log: Path, seconds: float, tell: Callable[[str], None] = lambda text: None
) -> None:
    """Run it to its end; AssertionError with what it wrote where it fails or takes longer. `tell` hears what it writes.

    It writes to a file: who reads a pipe waits for each process that holds it, even for those of a killed parent.
    """
    command = [sys.executable, "-u", str(program), *arguments]
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
    end, told = time.monotonic() + seconds, 0
    try:
        while process.poll() is None and time.monotonic() < end:
            time.sleep(0.2)
            text = log.read_text(errors="replace")
            if "\n" in text[told:]:
                tell(text[told:].rstrip("\n"))
                told = len(text)
        code = process.poll()
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # its ranks, too
            process.wait()
    text = log.read_text(errors="replace")
    if code is None:
        raise AssertionError(f"{program.name} did not end within {seconds:.0f} s; it wrote:\n{text}")
    if code != 0:
        raise AssertionError(f"{program.name} ended with {code}; it wrote:\n{text}")

"""What the package costs before it does anything: import time, and the size of the wheel.

python benchmarks/package.py
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import table


def starts(statement: str, count: int = 30) -> list[float]:
    """Milliseconds that fresh interpreters need for a statement, written bytecode at hand."""
    samples = []
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    for _ in range(count):
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", statement], check=True, env=environment)
        samples.append((time.perf_counter() - begin) * 1e3)
    return samples[1:]


def wheel_size() -> int:
    root = Path(__file__).parent.parent
    with tempfile.TemporaryDirectory() as folder:
        options = ["-q", "--no-deps", "--no-build-isolation", "-w", folder]
        command = [sys.executable, "-m", "pip", "wheel", *options, str(root)]
        subprocess.run(command, check=True, env={**os.environ, "SKBUILD_BUILD_DIR": str(root / "build/release")})
        (wheel,) = Path(folder).glob("*.whl")
        return wheel.stat().st_size


def main() -> None:
    bare, whole = starts("pass"), starts("import tilewright, tilewright.cute")
    cost = statistics.median(whole) - statistics.median(bare)
    low, high = min(whole) - min(bare), max(whole) - min(bare)
    lines = [
        "# The package",
        "",
        f"{table.machine()}.",
        "",
        "| what | figure | limit |",
        "| --- | --- | --- |",
        "| `import tilewright`, median of 29 starts less the bare interpreter (range) "
        f"| {cost:.1f} ms ({low:.1f} to {high:.1f}) | 50 ms |",
        f"| wheel | {wheel_size() / 1e6:.2f} MB | 3 MB |",
    ]
    table.write("package", lines)


if __name__ == "__main__":
    main()

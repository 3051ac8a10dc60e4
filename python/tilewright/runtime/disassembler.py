"""Machine code as text, by the tools that come with CUDA or from PyPI."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
import tempfile

# The tool and its options, in the order of preference. The first one shows the lines of Python beside the code only.
TOOLS: dict[str, tuple[str, ...]] = {"nvdisasm": ("-c", "-g"), "cuobjdump": ("-sass",)}


def disassembled(cubin: bytes) -> str:
    """The SASS of a cubin; FileNotFoundError where there is no tool that shows it.

    >>> import pytest
    >>> with pytest.MonkeyPatch.context() as patch:
    ...     patch.setattr("tilewright.runtime.disassembler.found", lambda tool: None)
    ...     try:
    ...         disassembled(b"")
    ...     except FileNotFoundError as error:
    ...         print(error)
    sass: neither nvdisasm nor cuobjdump was found on PATH, in CUDA_HOME, /usr/local/cuda or among Python's packages; \
pip install nvidia-cuda-nvdisasm, or install CUDA's binary utilities
    """
    for tool, options in TOOLS.items():
        path = found(tool)
        if path is None:
            continue
        with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
            file.write(cubin)
            file.flush()
            done = subprocess.run([path, *options, file.name], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"sass: {path} failed: {done.stderr.strip()}")
        return done.stdout
    raise FileNotFoundError(
        "sass: neither nvdisasm nor cuobjdump was found on PATH, in CUDA_HOME, /usr/local/cuda or among Python's "
        "packages; pip install nvidia-cuda-nvdisasm, or install CUDA's binary utilities"
    )


def found(tool: str) -> str | None:
    """Where a tool of CUDA's is, None where it is nowhere.

    >>> found("no-such-tool")
    """
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    packages = [
        pattern
        for folder in sys.path
        for pattern in (f"{folder}/nvidia/*/bin", f"{folder}/triton/backends/nvidia/bin")
        if os.path.isdir(folder)
    ]
    folders = [f"{home}/bin" for home in homes if home] + [
        x for pattern in packages for x in sorted(glob.glob(pattern))
    ]
    return shutil.which(tool) or shutil.which(tool, path=os.pathsep.join(folders))

"""Use an installed tilewright as someone does who has installed nothing else: no compiler, no NVIDIA, no torch."""

from __future__ import annotations

import contextlib
import io
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path

import numpy as np

import tilewright
from tilewright import Float32, analyze, cute, kernels
from tilewright.__main__ import main


@cute.kernel
def scale_kernel(x: cute.Tensor, y: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    width, _, _ = cute.arch.block_dim()
    i = block * width + thread
    if i < cute.size(x):
        y[i] = x[i] * 2.0


@cute.jit
def scale(x: cute.Tensor, y: cute.Tensor) -> None:
    scale_kernel(x, y).launch(grid=((cute.size(x) + 127) // 128, 1, 1), block=(128, 1, 1))


def said(*command: str, status: int = 0) -> str:
    """What a command prints."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        found = main(list(command))
    assert found == status, (command, found, output.getvalue())
    return output.getvalue()


def algebra() -> None:
    layout = cute.composition(cute.make_layout((6, 2), stride=(8, 2)), cute.make_layout((4, 3), stride=(3, 1)))
    assert str(layout) == "((2,2),3):((24,2),8)", layout
    assert layout.offsets().tolist() == [0, 24, 2, 26, 8, 32, 10, 34, 16, 40, 18, 42]
    assert "(24,2)" in str(cute.explain(cute.composition, "(6,2):(8,2)", "(4,3):(3,1)"))
    assert "</svg>" in cute.show(layout).svg()
    assert "32-way bank conflict" in str(analyze(cute.make_layout(32, stride=32), Float32, memory="shared"))


def execution() -> None:
    x = np.arange(1000, dtype=np.float32)
    y = np.zeros_like(x)
    scale(cute.from_dlpack(x), cute.from_dlpack(y))
    assert np.array_equal(y, 2 * x)
    assert "scale_kernel" in str(cute.profile(scale, cute.from_dlpack(x), cute.from_dlpack(y)))
    a = np.arange(96, dtype=np.float32).reshape(8, 12)
    assert np.array_equal(kernels.gemm(a, a), a @ a.T)
    assert np.array_equal(kernels.transpose(a, np.empty((12, 8), np.float32)), a.T)


def pictures() -> None:
    """Every format, and the page as a widget."""
    picture = cute.show("(4,8):(8,1)")
    with tempfile.TemporaryDirectory() as folder:
        picture.save(f"{folder}/x.pdf")
        assert Path(folder, "x.pdf").read_bytes().startswith(b"%PDF")
        try:
            picture.save(f"{folder}/x.png")
            assert Path(folder, "x.png").read_bytes().startswith(b"\x89PNG")
        except OSError as error:  # a container without fonts
            if "no font" not in str(error):
                raise
    assert str(cute.explore("(4,8):(8,1)").value) == "(4,8):(8,1)"


def threads() -> None:
    """Eight at once; in a free-threaded Python nothing has switched the GIL on."""
    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(use) for _ in range(8) for use in (algebra, execution)]:
            done.result()
    assert not (sysconfig.get_config_var("Py_GIL_DISABLED") and sys._is_gil_enabled())


def commands() -> None:
    doctor = said("doctor", status=1)
    assert "works          plans of copies and GEMMs on the CPU" in doctor, doctor
    assert "works          kernels written in Python on the CPU, every access checked" in doctor, doctor
    assert "missing        launching kernels" in doctor, doctor
    assert "T0V0" in said("demo")
    assert "1*8 + 1*1 = 9" in said("explain", "(4,8):(8,1)", "(1,1)")
    assert "offsets 0 to 31, each once" in said("show", "(4,8):(8,1)")
    assert "wavefronts" in said("analyze", "32:32", "--dtype", "f32", "--memory", "shared")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "page.html")
        said("explore", "--html", str(page))
        assert "</html>" in page.read_text("utf-8")


def alone() -> None:
    brought = {x.metadata["Name"].lower() for x in metadata.distributions()}
    assert not [x for x in brought if x.startswith("nvidia") or x == "torch"], brought
    assert "site-packages" in tilewright.__file__, tilewright.__file__


if __name__ == "__main__":
    for use in (alone, algebra, execution, pictures, threads, commands):
        use()
    gil = "" if getattr(sys, "_is_gil_enabled", lambda: True)() else " without the GIL"
    print(f"tilewright {tilewright.__version__} on {sys.platform}, Python {sys.version.split()[0]}{gil}: it works")

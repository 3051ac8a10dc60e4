"""Exported functions that copy by TMA: their C makes the tensor maps that a call from Python makes."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as cutlass
from compiling import nvrtc
from exported_programs import Program, cc, make_driver
from tilewright import cute
from tma_kernels import LAYOUTS, dynamic, numbers, run_load

pytestmark = [nvrtc, pytest.mark.skipif(cc is None, reason="no C compiler")]

CALL = """
  load_Kernel_Module_t module;
  load_Tensor_x_t x = {{(void *)0x1000, {{{shape}}}, {{{strides}}}}};
  const load_Tensor_y_t y = {{(void *)0x2000, {{{shape}}}, {{{strides}}}}};
  {before}
  printf("%d %s\\n", cute_dsl_load_wrapper(&module, &x, &y), load_error());
  log_driver();
"""
LOAD = "if (load_Kernel_Module_Load(&module) != 0) return 1;"


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    return make_driver(tmp_path_factory.mktemp("driver"))


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A folder with run_load of matrices, by a swizzle of 128 bytes."""
    folder = tmp_path_factory.mktemp("exported")
    x = dynamic(numbers((64, 64)))
    compiled = cute.compile(run_load, x, x, LAYOUTS["128"]((64, 64), cutlass.Float16), (64, 64))
    compiled.export_to_c(folder, "load", "load")
    return folder


def call(exported, driver, shape, strides, before=LOAD, **environment):
    listed = (", ".join(map(str, numbers)) for numbers in (shape, strides))
    body = CALL.format(before=before, **dict(zip(("shape", "strides"), listed, strict=True)))
    return Program(exported, driver, ["load"], body).run(parameters=1, **environment)


@pytest.mark.parametrize(("rows", "columns", "stride", "bytes_"), [(100, 72, 80, 160), (1, 64, 1, 16), (1, 8, 9, 32)])
def test_a_program_makes_the_tensor_map_and_launches(exported, driver, rows, columns, stride, bytes_):
    lines = call(exported, driver, (rows, columns), (stride,))
    encoded = (
        f"cuTensorMapEncodeTiled type 6 at 4096; {columns} box 64 step 1; {rows} box 64 step 1 stride {bytes_}; "
        "interleave 0 swizzle 3 l2 2 fill 0"
    )
    grid = f"({-(-rows // 64)},{-(-columns // 64)},1)"
    assert lines[0] == "0 "
    assert lines[-2] == encoded
    assert lines[-1].startswith("cuLaunchKernelEx load_kernel ")
    assert f" {grid} (64,1,1) " in lines[-1]
    assert lines[-1].endswith(" params 4096 of 0")  # the map, whose first word is the address here


@pytest.mark.parametrize(
    ("shape", "strides", "message"),
    [
        ((0, 64), (64,), "extent 1 of the tensor is 0; TMA takes 1 to 2^32"),
        ((64, -1), (64,), "extent 0 of the tensor is -1; TMA takes 1 to 2^32"),
        ((64, 64), (65,), "stride 1 of the tensor is 130 bytes (the fastest mode is 0); TMA takes multiples of 16"),
        ((64, 64), (-64,), "stride 1 of the tensor is -128 bytes (the fastest mode is 0); TMA takes multiples of 16"),
        ((64, 64), (1 << 39,), "stride 1 of the tensor is 1099511627776 bytes (the fastest mode is 0); TMA takes"),
    ],
)
def test_what_tma_does_not_take_is_refused(exported, driver, shape, strides, message):
    lines = call(exported, driver, shape, strides)
    assert lines[0].startswith("1 ")
    assert f"run_load, on the host: {message}" in lines[0]
    assert not any("cuTensorMap" in line or "cuLaunch" in line for line in lines)


def test_a_module_that_is_not_loaded(exported, driver):
    assert call(exported, driver, (64, 64), (64,), "memset(&module, 0, sizeof module);") == [
        "1 the module is not loaded"
    ]


def test_a_driver_without_tensor_maps(exported, driver):
    before = 'if (load_Kernel_Module_Load(&module) != 0) { printf("%s\\n", load_error()); return 0; }'
    (line,) = call(exported, driver, (64, 64), (64,), before, FAKE_MISSING="cuTensorMapEncodeTiled")
    assert line.startswith("the CUDA driver has no cuTensorMapEncodeTiled; install one of CUDA 12.0 or newer")


def test_python_loads_it_again(exported):
    x = numbers((64, 64))
    y = np.zeros_like(x)
    loaded = cute.runtime.load_module(str(exported / "load.o"))
    with cute.on_cpu(check=True):
        loaded.load(dynamic(x), dynamic(y))
    assert (y == x).all()

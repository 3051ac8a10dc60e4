"""What the GPU tests share: the device they need, and which of them run under compute-sanitizer."""

from __future__ import annotations

import pytest

# Whole modules of quick tests that read nothing uninitialised and provoke no error of the device.
SANITIZED = ("test_device_layouts", "test_visualize_tv_gpu")


def pytest_configure(config):
    config.addinivalue_line("markers", "sanitized: runs under compute-sanitizer too; see scripts/gpu_check.sh")
    # torch 2.11 says so where its thread for gradients is the first to multiply.
    config.addinivalue_line("filterwarnings", "ignore:Attempting to run cuBLAS:UserWarning")


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.stem in SANITIZED:
            item.add_marker(pytest.mark.sanitized)

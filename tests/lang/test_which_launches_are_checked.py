"""Small launches are checked; that a large one is not is said, unless somebody asked for it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tilewright import cute

BLOCK = 256


@cute.kernel
def beyond(x: cute.Tensor):
    """The last thread writes behind the end of a tensor of as many elements as there are threads."""
    i, _, _ = cute.arch.thread_idx()
    j, _, _ = cute.arch.block_idx()
    k = j * BLOCK + i + 1
    if k == cute.size(x):
        x[k] = 1.0


def launch(blocks):
    behind = np.zeros(blocks * BLOCK + 1, np.float32)  # what is written is memory of ours
    beyond(behind[:-1]).launch(grid=blocks, block=BLOCK)
    return behind[-1]


def said(call):
    """The texts of the warnings that a call gives, and their files."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return [(str(x.message), x.filename) for x in found]


def test_small_launches_are_checked_and_of_large_ones_it_is_said_that_they_are_not():
    with pytest.raises(cute.KernelError, match="out of bounds"):
        launch(256)
    ((text, file),) = said(lambda: launch(257))
    assert text.startswith("beyond runs unchecked, since its 65,792 threads are more than 65,536")
    assert "cute.on_cpu(check=True)" in text
    assert "TILEWRIGHT_CHECK" in text
    assert file == __file__
    assert launch(257) == 1


def test_who_says_what_is_checked_is_not_warned(monkeypatch):
    def without_checks():
        with cute.on_cpu(check=False):
            launch(257)

    assert said(without_checks) == []
    monkeypatch.setenv("TILEWRIGHT_CHECK", "0")
    assert said(lambda: launch(257)) == []
    monkeypatch.setenv("TILEWRIGHT_CHECK", "1")
    with pytest.raises(cute.KernelError, match="out of bounds"):
        launch(257)
    with cute.on_cpu(check=True), pytest.raises(cute.KernelError, match="out of bounds"):
        launch(257)


def test_functions_of_torch_do_not_warn(monkeypatch):
    torch = pytest.importorskip("torch")
    from tilewright.lang import cpu
    from tilewright.torch import scaled_dot_product_attention

    q = torch.randn(1, 1, 32, 64, dtype=torch.bfloat16)
    monkeypatch.setattr(cpu, "CHECKED_THREADS", 1)
    assert said(lambda: scaled_dot_product_attention(q, q, q)) == []

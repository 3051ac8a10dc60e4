"""On a GPU: atomics with an order of their own hand over between blocks; those of 16 bits leave their neighbours."""

from __future__ import annotations

import pytest

from tilewright import _core

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (_core.cuda.driver_path() and _core.cuda.device_count()), reason="no CUDA device"),
]
torch = pytest.importorskip("torch")


@pytest.mark.parametrize("blocks", [1, 30, 5000])
def test_blocks_hand_over_by_atomics(blocks):
    from atomic_kernels import run

    for _ in range(20):
        run(torch, "cuda", blocks)

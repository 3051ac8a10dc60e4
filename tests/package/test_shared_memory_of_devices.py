"""How much shared memory a block has, by every name of an architecture."""

from __future__ import annotations

import pytest

from tilewright.utils import get_smem_capacity_in_bytes


@pytest.mark.parametrize(
    ("name", "kibibytes"),
    [
        *(("sm_80", 163), ("sm_89", 99), ("sm_90", 227), ("sm_90a", 227), ("sm_100a", 227), ("sm_100f", 227)),
        *(("ampere", 163), ("ada", 99), ("hopper", 227), ("blackwell", 227)),
    ],
)
def test_shared_memory_of_an_architecture(name, kibibytes):
    assert get_smem_capacity_in_bytes(name) == kibibytes * 1024


def test_an_architecture_that_is_not_known():
    with pytest.raises(ValueError, match=r"'sm_1' is no architecture that is known here"):
        get_smem_capacity_in_bytes("sm_1")

"""utils.shared_matrices: a matrix's transpose is the same elements, by any layout."""

from __future__ import annotations

import pytest

from tilewright import Float16, cute
from tilewright.cute.nvgpu import warpgroup
from tilewright.utils.shared_matrices import transposed


@pytest.mark.parametrize("stages", [(), (3,), (2, 3)])
def test_rows_become_columns(stages):
    """Of a swizzled layout, too: element (j, i, ..) lies where (i, j, ..) did."""
    atom = warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.K_SW128, Float16)
    shape = (16, 128, *stages)
    shared = cute.tile_to_shape(atom, shape, tuple(range(len(shape))))
    found = transposed(cute.make_tensor(cute.make_ptr(Float16, 0, cute.AddressSpace.smem, assumed_align=1024), shared))
    assert cute.size(found.layout) == cute.size(shared)
    for i, j in ((0, 0), (1, 0), (15, 3), (7, 127), (8, 64)):
        rest = tuple(extent - 1 for extent in stages)
        assert found.layout((j, i, *rest)) == shared((i, j, *rest))


def test_a_vector_is_none():
    with pytest.raises(ValueError, match=r"transposed\(.*\): expected two modes or more"):
        transposed(cute.make_rmem_tensor(8, Float16))

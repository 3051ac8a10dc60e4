"""The order of the reference: which names stand together, as a reader looks for them."""

from __future__ import annotations

__all__ = ["GROUPS", "MODULES"]

GROUPS: dict[str, str] = {
    "Layouts": """
        Layout ComposedLayout Swizzle make_layout make_layout_left make_layout_right make_ordered_layout
        make_layout_like make_identity_layout make_composed_layout make_swizzle swizzle_from_masks make_layout_tv
        tile_to_shape make_fragment_like_layout make_layout_image_mask parse sorted_layout recast_layout upcast
        downcast with_shape get_swizzle_portion get_nonswizzle_portion
    """,
    "The algebra": """
        composition coalesce complement logical_divide zipped_divide tiled_divide flat_divide logical_product
        zipped_product tiled_product flat_product blocked_product raked_product right_inverse left_inverse nullspace
        filter filter_zeros coalesce_shape domain_distribute domain_offset max_common_layout max_common_vector
        zip_layouts unchecked
    """,
    "Questions about layouts": """
        explain why Explanation is_injective is_bijective is_disjoint is_admissible is_compatible is_congruent
        is_weakly_congruent is_tractable evenly_divides equivalent image image_within offset_range cosize coshape
        size shape rank depth max_alignment is_static is_integer is_int_tuple has_scaled_basis has_underscore
        is_major leading_dim get_divisibility
    """,
    "Coordinates and nested tuples": """
        IntTuple crd2idx idx2crd crd2crd increment_coord slice_ slice_and_offset dice elem_less elem_scale lex_less
        colex_less inner_product ceil_div round_up shape_div product product_each product_like flatten
        flatten_to_tuple unflatten wrap unwrap group_modes append append_ones prepend prepend_ones get select take
        front replace repeat repeat_as_tuple repeat_like tuple_cat transform_leaf transform_apply filter_tuple find
        find_if get_leaves static assume Ratio FastDivmodDivisor fast_divmod_create_divisor E ScaledBasis basis_get
        basis_value make_basis_like compact_major SymInt sym_int sym_int32 sym_int64
    """,
    "Tensors": """
        Tensor make_tensor make_identity_tensor from_dlpack make_rmem_tensor make_rmem_tensor_like
        make_fragment_like recast_tensor Pointer make_ptr recast_ptr AddressSpace size_in_bytes local_tile
        local_partition inner_partition outer_partition TensorSSA ReductionOp full full_like empty_like ones_like
        zeros_like where all_ any_
    """,
    "Tiled copies and multiplications": """
        make_copy_atom make_tiled_copy make_tiled_copy_tv make_cotiled_copy make_tiled_copy_A make_tiled_copy_B
        make_tiled_copy_C make_tiled_copy_C_atom make_tiled_copy_D make_tiled_copy_S TiledCopy ThrCopy CopyAtom copy
        copy_atom_call prefetch autovec_copy basic_copy basic_copy_if copy_tiled copy_threads make_mma_atom
        make_tiled_mma TiledMma ThrMma MmaAtom gemm gemm_tiled gemm_threads mma_atom_call
    """,
    "Types for annotations": "Coord Shape Stride Tile Tiler XTuple",
    "Kernels in Python": """
        kernel jit compile on_cpu on_device KernelError profile native_struct struct union OptLevel GPUArch
        PtxasOptions EnableAssertions GenerateLineInfo KeepPTX KeepCUBIN
    """,
    "Pictures, texts and predictions": """
        show explore analyze print_layout print_tensor printf pretty_str print_latex print_latex_tv
        print_latex_tiled_copy print_latex_tiled_mma LayoutError
    """,
}
"""Of `cute`: titles, and names in order. A name that is in none stands under "Other names"."""

MODULES: dict[str, tuple[str, ...]] = {
    "kernels": ("tilewright.kernels",),
    "analysis": ("tilewright.analysis",),
    "torch": ("tilewright.torch",),
    "cute.arch": ("tilewright.cute.arch",),
    "cute.math": ("tilewright.cute.math",),
    "cute.nvgpu": (
        "tilewright.cute.nvgpu",
        "tilewright.cute.nvgpu.cpasync",
        "tilewright.cute.nvgpu.warp",
        "tilewright.cute.nvgpu.warpgroup",
    ),
    "cute.runtime": ("tilewright.cute.runtime",),
    "numeric": ("tilewright.numeric",),
    "utils": ("tilewright.utils",),
    "pipeline": ("tilewright.pipeline",),
    "testing": ("tilewright.testing",),
    "runtime": ("tilewright.runtime",),
}
"""Pages with all names of some modules: their file, and the modules."""

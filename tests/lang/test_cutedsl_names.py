"""The names that CuTeDSL's public programs use resolve, but for those that are to come."""

from __future__ import annotations

from importlib import import_module

import pytest

# By module, as programs write them with `cutlass` for `tilewright`.
NAMES = {
    "tilewright": """
        BFloat16 Boolean Constexpr Float16 Float32 Float4E2M1FN Float64 Float8E4M3FN Float8E5M2 Int128 Int16 Int32 Int4
        Int64 Int8 Numeric TFloat32 Uint128 Uint16 Uint32 Uint64 Uint8 and_ const_expr cuda cute cutlass_dsl
        dsl_user_op dtype dynamic_expr for_generate max min not_ or_ pipeline range range_constexpr range_dynamic
        register_jit_arg_adapter testing torch utils yield_out
    """,
    "tilewright.cute": """
        AddressSpace ComposedLayout Coord CopyAtom Float Float16 Float32 GenerateLineInfo Int32 Int64 KeepCUBIN KeepPTX
        Layout OptLevel Pointer ReductionOp Shape SymInt Swizzle Tensor TensorSSA ThrMma TiledCopy TiledMma all_ any_
        append arch assume autovec_copy basic_copy blocked_product ceil_div coalesce compile composition copy core
        cosize crd2idx depth domain_offset elem_less erf flat_divide flat_product full full_like gemm get group_modes
        jit kernel local_tile logical_divide logical_product make_composed_layout make_copy_atom make_fragment_like
        make_identity_layout make_identity_tensor make_layout make_layout_image_mask make_layout_tv make_ordered_layout
        make_ptr make_rmem_tensor make_rmem_tensor_like make_swizzle make_tensor make_tiled_copy make_tiled_copy_A
        make_tiled_copy_B make_tiled_copy_C make_tiled_copy_C_atom make_tiled_copy_S make_tiled_copy_tv make_tiled_mma
        math native_struct nvgpu prepend print_tensor printf product_each raked_product rank recast_layout recast_ptr
        recast_tensor repeat_like round_up rsqrt runtime select shape size size_in_bytes slice_ struct sym_int
        sym_int32 sym_int64 testing tile_to_shape tiled_divide tiled_product typing union where zeros_like
        zipped_divide zipped_product
    """,
    "tilewright.cute.arch": """
        FULL_MASK WARP_SIZE add_packed_f32x2 barrier block_dim block_idx block_idx_in_cluster block_in_cluster_idx
        cluster_dim cluster_idx cp_async_commit_group cp_async_wait_group dynamic_smem_size elect_one fence_proxy
        fma_packed_f32x2 fmax grid_dim griddepcontrol_launch_dependents griddepcontrol_wait lane_idx make_warp_uniform
        prmt rcp_approx shuffle_sync_bfly shuffle_sync_op sub_packed_f32x2 sync_threads sync_warp thread_idx
        vote_all_sync vote_any_sync vote_ballot_sync vote_uni_sync warp_idx warp_reduction warp_reduction_max
        warp_reduction_sum

        cluster_arrive cluster_arrive_relaxed cluster_wait cp_async_bulk_commit_group cp_async_bulk_wait_group
        mbarrier_arrive mbarrier_arrive_and_expect_tx mbarrier_expect_tx mbarrier_init mbarrier_init_fence
        mbarrier_wait setmaxregister_decrease setmaxregister_increase warpgroup_reg_alloc warpgroup_reg_dealloc
    """,
    "tilewright.cute.arch.nvvm_wrappers": "FULL_MASK WARP_SIZE",
    "tilewright.cute.core": "AddressSpace make_ptr",
    "tilewright.cute.math": "cos erf exp exp2 log log2 max min rcp rsqrt sin sqrt tanh",
    "tilewright.cute.nvgpu": "CopyUniversalOp LoadCacheMode MmaUniversalOp OperandMajorMode cpasync warp warpgroup",
    "tilewright.cute.nvgpu.cpasync": """
        CopyBulkTensorTileG2SMulticastOp CopyBulkTensorTileG2SOp CopyBulkTensorTileS2GOp CopyG2SOp LoadCacheMode
        cp_fence_tma_desc_release fence_tma_desc_release make_tiled_tma_atom prefetch_descriptor tma_partition
        update_tma_descriptor
    """,
    "tilewright.cute.nvgpu.warp": "LdMatrix8x16x8bOp LdMatrix8x8x16bOp MmaF16BF16Op MmaFP8Op StMatrix8x8x16bOp",
    "tilewright.cute.nvgpu.warpgroup": """
        Field OperandMajorMode OperandSource commit_group fence make_smem_layout_atom wait_group
    """,
    "tilewright.cute.runtime": """
        Pointer find_runtime_libraries from_dlpack load_module make_fake_compact_tensor make_fake_stream
        make_fake_tensor make_ptr
    """,
    "tilewright.cute.testing": "JitArguments autotune_jit autotune_suite benchmark convert get_workspace_count tune",
    "tilewright.testing": "JitArguments autotune_jit benchmark convert get_workspace_count tune",
    "tilewright.cute.typing": "Boolean Float32 Int Int32 Pointer Tensor",
    "tilewright.cuda": "default_stream initialize_cuda_context stream_sync",
    "tilewright.cutlass_dsl": """
        Boolean DSLCudaRuntimeError Float32 Int32 T dsl_user_op extract_mlir_values if_generate min
        new_from_mlir_values not_ while_generate yield_out
    """,
    "tilewright.base_dsl.runtime.cuda": "checkCudaErrors",
    "tilewright._mlir.dialects.llvm": "AsmDialect PointerType StructType addrspacecast extractvalue inline_asm",
    "tilewright._mlir.ir": "IntegerType Value",
    "tilewright.pipeline": """
        Agent CooperativeGroup NamedBarrier PipelineAsync PipelineConsumer PipelineOrder PipelineTmaAsync
        PipelineTmaStore PipelineUserType arrive_and_wait make_pipeline_state pipeline_init_arrive pipeline_init_wait
        sync
    """,
    "tilewright.torch": """
        RandomInitConfig TensorInitType convert_cute_tensor create_and_permute_torch_tensor current_stream
        cute_tensor_like default_stream dtype matrix
    """,
    "tilewright.utils": """
        GroupedGemmTileSchedulerHelper HardwareInfo LayoutEnum PersistentTileSchedulerParams SmemAllocator
        StaticPersistentTileScheduler TensorMapManager TensorMapUpdateMode WorkTileInfo create_initial_search_state
        get_smem_capacity_in_bytes hardware_info hopper_helpers print_latex print_latex_tv tensor_helpers
    """,
    "tilewright.utils.hardware_info": "HardwareInfo",
}

# Tensor maps that kernels change, pipelines, wgmma in kernels, schedulers.
TO_COME = {
    "tilewright.cute.arch": """
        setmaxregister_decrease setmaxregister_increase warpgroup_reg_alloc warpgroup_reg_dealloc
    """,
    "tilewright.cute.nvgpu.cpasync": "cp_fence_tma_desc_release fence_tma_desc_release update_tma_descriptor",
    "tilewright.cute.nvgpu.warp": "LdMatrix8x16x8bOp",
    "tilewright.cute.nvgpu.warpgroup": "commit_group fence wait_group",
    "tilewright.cute.runtime": "load_module",
    "tilewright.cute.testing": "autotune_suite",
    "tilewright._mlir.dialects.llvm": "addrspacecast",
    "tilewright.utils": """
        TensorMapManager TensorMapUpdateMode hopper_helpers tensor_helpers
    """,
}


@pytest.mark.parametrize("module", NAMES)
def test_names_resolve(module):
    if module == "tilewright.torch":
        pytest.importorskip("torch")
    found = import_module(module)
    expected = set(NAMES[module].split()) - set(TO_COME.get(module, "").split())
    assert {name for name in expected if not hasattr(found, name)} == set()

"""What a thread asks of the hardware, in kernels: its place, barriers, exchanges inside a warp, atomics, copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright._names import names_of

if TYPE_CHECKING:
    from tilewright.lang.arch import *  # noqa: F403

__all__ = [  # noqa: F405
    "FULL_MASK",
    "WARP_SIZE",
    "add_packed_f32x2",
    "atomic_add",
    "atomic_and",
    "atomic_cas",
    "atomic_exch",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_xor",
    "barrier",
    "barrier_arrive",
    "block_dim",
    "block_idx",
    "block_idx_in_cluster",
    "block_in_cluster_idx",
    "clock",
    "clock64",
    "cluster_dim",
    "cluster_idx",
    "cp_async_commit_group",
    "cp_async_wait_group",
    "dynamic_smem_size",
    "elect_one",
    "exp2",
    "fence_acq_rel_cta",
    "fence_acq_rel_gpu",
    "fence_acq_rel_sys",
    "fence_proxy",
    "fma_packed_f32x2",
    "fmax",
    "fmin",
    "globaltimer",
    "grid_dim",
    "griddepcontrol_launch_dependents",
    "griddepcontrol_wait",
    "lane_idx",
    "make_warp_uniform",
    "match_sync",
    "mul_packed_f32x2",
    "popc",
    "prmt",
    "rcp_approx",
    "shuffle_sync",
    "shuffle_sync_bfly",
    "shuffle_sync_down",
    "shuffle_sync_op",
    "shuffle_sync_up",
    "sub_packed_f32x2",
    "sync_threads",
    "sync_warp",
    "thread_idx",
    "vote_all_sync",
    "vote_any_sync",
    "vote_ballot_sync",
    "vote_uni_sync",
    "warp_idx",
    "warp_reduction",
    "warp_reduction_max",
    "warp_reduction_sum",
    "warp_redux_sync",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(__name__, dict.fromkeys(__all__, "tilewright.lang.arch"))

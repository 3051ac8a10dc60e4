// One box of a tensor by the copy engine, which the host chooses: what a profiler counts for the kernel is what that
// box costs, and nothing else. Of a cluster of kReceivers CTAs the first one asks for the box, which all of them get.
#pragma once

#include "tilewright/tma.cuh"

namespace tilewright {

struct BoxProbeParams {
  TensorMap map;
  int at[2];  // the box's first element, along the contiguous mode first
  int bytes;  // of the box
  int unused;
};

template <bool kLoads, int kReceivers>
__global__ void __cluster_dims__(kReceivers, 1, 1) box_probe(const __grid_constant__ BoxProbeParams params) {
  extern __shared__ uint4 box[];  // all of shared memory, so that it begins with a multiple of 1024
  auto* const arrived = reinterpret_cast<Barrier*>(reinterpret_cast<char*>(box) + params.bytes);
  if (threadIdx.x == 0 && kLoads) {
    barrier_init(arrived, 1);
    barrier_init_fence();
    barrier_expect(arrived, params.bytes);
  }
  cluster_arrive();
  cluster_wait();
  const BoxAt<2> at{{params.at[0], params.at[1]}};
  if (threadIdx.x == 0) {
    if constexpr (kLoads) {
      if (cluster_rank() == 0) tma_load<(kReceivers > 1)>(box, params.map, at, arrived, (1 << kReceivers) - 1);
      barrier_wait(arrived, 0);
    } else {
      tma_store(params.map, box, at);
      tma_commit();
      tma_wait_read<0>();
    }
  }
  __syncthreads();
  cluster_arrive();
  cluster_wait();
}

}  // namespace tilewright

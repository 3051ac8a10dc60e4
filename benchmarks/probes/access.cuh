// One memory access of one warp, at byte offsets that the host chooses: what a profiler counts for it is what that
// access costs, and nothing else.
//
// The offsets are read from the kernel's parameters, that is from constant memory, which is not counted with global or
// shared memory. What was loaded is looked at and then thrown away, so that no second access keeps it alive.
#pragma once

#include "tilewright/predicated.cuh"

namespace tilewright {

enum class Access {
  kGlobalLoad,
  kGlobalStore,
  kSharedLoad,
  kSharedStore,
  kLdMatrix,
  kLdMatrixTransposed,
  kStMatrix,
  kStMatrixTransposed,
  kCpAsyncCa,      // global to shared memory, kept in the first-level cache
  kCpAsyncCg,      // past it
  kCpAsyncFilled,  // as kCpAsyncCg; lanes that are off write zeros and read nothing
};

constexpr int kProbes = 24;  // accesses of one launch at most: the parameters take less than 4 KiB

struct ProbeParams {
  char* global;
  unsigned never;  // what no load returns
  unsigned unused;
  unsigned lanes[kProbes];        // of each access: the lanes that take part, a bit each
  unsigned offset[kProbes * 32];  // lane by lane; of cp.async the global ones, then the shared ones
};

template <int kBytes>
__device__ unsigned load_global(const char* from, bool on) {
  if constexpr (kBytes >= 4) {
    const auto words = load_if<unsigned, kBytes / 4>(on, reinterpret_cast<const unsigned*>(from));
    unsigned seen = 0;
    for (int i = 0; i < kBytes / 4; ++i) seen ^= words.at[i];
    return seen;
  } else if constexpr (kBytes == 2) {
    return load_if<unsigned short, 1>(on, reinterpret_cast<const unsigned short*>(from)).at[0];
  } else {
    return load_if<unsigned char, 1>(on, reinterpret_cast<const unsigned char*>(from)).at[0];
  }
}

template <int kBytes>
__device__ void store_global(char* to, bool on) {
  if constexpr (kBytes >= 4) {
    store_if<unsigned, kBytes / 4>(on, reinterpret_cast<unsigned*>(to), {});
  } else if constexpr (kBytes == 2) {
    store_if<unsigned short, 1>(on, reinterpret_cast<unsigned short*>(to), {});
  } else {
    store_if<unsigned char, 1>(on, reinterpret_cast<unsigned char*>(to), {});
  }
}

template <int kBytes>
__device__ unsigned load_shared(unsigned from, unsigned on) {
  unsigned x = 0, y = 0, z = 0, w = 0;
  if constexpr (kBytes == 16) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %4, 0; @p ld.shared.v4.b32 {%0, %1, %2, %3}, [%5]; }"
                 : "+r"(x), "+r"(y), "+r"(z), "+r"(w)
                 : "r"(on), "r"(from));
  } else if constexpr (kBytes == 8) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.shared.v2.b32 {%0, %1}, [%3]; }"
                 : "+r"(x), "+r"(y)
                 : "r"(on), "r"(from));
  } else if constexpr (kBytes == 4) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; @p ld.shared.b32 %0, [%2]; }" : "+r"(x) : "r"(on), "r"(from));
  } else if constexpr (kBytes == 2) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; @p ld.shared.u16 %0, [%2]; }" : "+r"(x) : "r"(on), "r"(from));
  } else {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; @p ld.shared.u8 %0, [%2]; }" : "+r"(x) : "r"(on), "r"(from));
  }
  return x ^ y ^ z ^ w;
}

template <int kBytes>
__device__ void store_shared(unsigned to, unsigned on, unsigned word) {
  if constexpr (kBytes == 16) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.shared.v4.b32 [%1], {%2, %2, %2, %2}; }" ::"r"(on),
                 "r"(to), "r"(word)
                 : "memory");
  } else if constexpr (kBytes == 8) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.shared.v2.b32 [%1], {%2, %2}; }" ::"r"(on), "r"(to),
                 "r"(word)
                 : "memory");
  } else if constexpr (kBytes == 4) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.shared.b32 [%1], %2; }" ::"r"(on), "r"(to), "r"(word)
                 : "memory");
  } else if constexpr (kBytes == 2) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.shared.u16 [%1], %2; }" ::"r"(on), "r"(to), "r"(word)
                 : "memory");
  } else {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.shared.u8 [%1], %2; }" ::"r"(on), "r"(to), "r"(word)
                 : "memory");
  }
}

// Every lane takes part in ldmatrix; the addresses of the first 8 x kMatrices lanes count.
template <int kMatrices, bool kTransposed>
__device__ unsigned load_matrices(unsigned from) {
  unsigned x = 0, y = 0, z = 0, w = 0;
  if constexpr (kMatrices == 4 && kTransposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x), "=r"(y), "=r"(z), "=r"(w)
                 : "r"(from));
  } else if constexpr (kMatrices == 4) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x), "=r"(y), "=r"(z), "=r"(w)
                 : "r"(from));
  } else if constexpr (kMatrices == 2 && kTransposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(x), "=r"(y) : "r"(from));
  } else if constexpr (kMatrices == 2) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(x), "=r"(y) : "r"(from));
  } else if constexpr (kTransposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(x) : "r"(from));
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(x) : "r"(from));
  }
  return x ^ y ^ z ^ w;
}

template <int kMatrices, bool kTransposed>
__device__ void store_matrices(unsigned to, unsigned word) {
  if constexpr (kMatrices == 4 && kTransposed) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %1, %1, %1};" ::"r"(to), "r"(word)
                 : "memory");
  } else if constexpr (kMatrices == 4) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %1, %1, %1};" ::"r"(to), "r"(word) : "memory");
  } else if constexpr (kMatrices == 2 && kTransposed) {
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %1};" ::"r"(to), "r"(word) : "memory");
  } else if constexpr (kMatrices == 2) {
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %1};" ::"r"(to), "r"(word) : "memory");
  } else if constexpr (kTransposed) {
    asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(to), "r"(word) : "memory");
  } else {
    asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(to), "r"(word) : "memory");
  }
}

template <Access kAccess, int kBytes>
__device__ void copy_async(unsigned to, const void* from, unsigned on) {
  const auto address = __cvta_generic_to_global(from);
  if constexpr (kAccess == Access::kCpAsyncFilled) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(address), "r"(on ? 16 : 0) : "memory");
  } else if constexpr (kAccess == Access::kCpAsyncCg) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p cp.async.cg.shared.global [%0], [%1], 16; }" ::"r"(to),
                 "l"(address), "r"(on)
                 : "memory");
  } else {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p cp.async.ca.shared.global [%0], [%1], %3; }" ::"r"(to),
                 "l"(address), "r"(on), "n"(kBytes)
                 : "memory");
  }
}

// kSize: the bytes of a lane; of ldmatrix and stmatrix the matrices. kCount accesses, each an instruction of its own.
template <Access kAccess, int kSize, int kCount>
__global__ void __launch_bounds__(32) probe(const __grid_constant__ ProbeParams params) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const auto shared = static_cast<unsigned>(__cvta_generic_to_shared(memory));
  const unsigned lane = threadIdx.x;
  unsigned seen = 0;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (i > 0) __syncthreads();  // the compiler keeps the accesses in order
    const unsigned on = params.lanes[i] >> lane & 1;
    const unsigned offset = params.offset[i * 32 + lane];
    if constexpr (kAccess == Access::kGlobalLoad) {
      seen ^= load_global<kSize>(params.global + offset, on);
    } else if constexpr (kAccess == Access::kGlobalStore) {
      store_global<kSize>(params.global + offset, on);
    } else if constexpr (kAccess == Access::kSharedLoad) {
      seen ^= load_shared<kSize>(shared + offset, on);
    } else if constexpr (kAccess == Access::kSharedStore) {
      store_shared<kSize>(shared + offset, on, lane);
    } else if constexpr (kAccess == Access::kLdMatrix || kAccess == Access::kLdMatrixTransposed) {
      seen ^= load_matrices<kSize, kAccess == Access::kLdMatrixTransposed>(shared + offset);
    } else if constexpr (kAccess == Access::kStMatrix || kAccess == Access::kStMatrixTransposed) {
      store_matrices<kSize, kAccess == Access::kStMatrixTransposed>(shared + offset, lane);
    } else {
      copy_async<kAccess, kSize>(shared + params.offset[(kCount + i) * 32 + lane], params.global + offset, on);
    }
  }
  if constexpr (kAccess >= Access::kCpAsyncCa) asm volatile("cp.async.wait_all;" ::: "memory");
  if (seen == params.never) __nanosleep(1);
}

}  // namespace tilewright

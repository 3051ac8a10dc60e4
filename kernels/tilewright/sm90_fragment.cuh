// A of wgmma from registers, for elements of 32 bits that lie along M: the tensor cores read those along K only.
//
// TMA brings boxes of 32 rows by K, in rows of 128 bytes along M, swizzled. For an instruction a thread holds two rows,
// next to each other (sm90_rows.cuh), in two columns of K: two reads of 8 bytes, without bank conflicts.
#pragma once

#include "tilewright/shared_access.cuh"
#include "tilewright/sm90_rows.cuh"
#include "tilewright/wgmma.cuh"

namespace tilewright {

template <int kN>
struct WgmmaFromRegisters;

// As TILEWRIGHT_WGMMA in wgmma.cuh; a names four registers.
#define TILEWRIGHT_WGMMA_REGISTERS(N, a, b, scale)                                                         \
  template <>                                                                                              \
  struct WgmmaFromRegisters<N> {                                                                           \
    __device__ static void run(float (&d)[N / 2], const unsigned (&r)[4], unsigned long long descriptor_b, \
                               int accumulate) {                                                           \
      asm volatile(TILEWRIGHT_WGMMA_TEXT(N, "k8.f32.tf32.tf32", a, b, scale, ", 1, 1")                     \
                   : TILEWRIGHT_REGISTERS_##N(TILEWRIGHT_FLOAT)                                            \
                   : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "l"(descriptor_b), "r"(accumulate));      \
    }                                                                                                      \
  }

TILEWRIGHT_WGMMA_REGISTERS(8, "{%4, %5, %6, %7}", "%8", "%9");
TILEWRIGHT_WGMMA_REGISTERS(16, "{%8, %9, %10, %11}", "%12", "%13");
TILEWRIGHT_WGMMA_REGISTERS(24, "{%12, %13, %14, %15}", "%16", "%17");
TILEWRIGHT_WGMMA_REGISTERS(32, "{%16, %17, %18, %19}", "%20", "%21");
TILEWRIGHT_WGMMA_REGISTERS(40, "{%20, %21, %22, %23}", "%24", "%25");
TILEWRIGHT_WGMMA_REGISTERS(48, "{%24, %25, %26, %27}", "%28", "%29");
TILEWRIGHT_WGMMA_REGISTERS(64, "{%32, %33, %34, %35}", "%36", "%37");
TILEWRIGHT_WGMMA_REGISTERS(80, "{%40, %41, %42, %43}", "%44", "%45");
TILEWRIGHT_WGMMA_REGISTERS(96, "{%48, %49, %50, %51}", "%52", "%53");
TILEWRIGHT_WGMMA_REGISTERS(112, "{%56, %57, %58, %59}", "%60", "%61");
TILEWRIGHT_WGMMA_REGISTERS(128, "{%64, %65, %66, %67}", "%68", "%69");
TILEWRIGHT_WGMMA_REGISTERS(160, "{%80, %81, %82, %83}", "%84", "%85");
TILEWRIGHT_WGMMA_REGISTERS(192, "{%96, %97, %98, %99}", "%100", "%101");
TILEWRIGHT_WGMMA_REGISTERS(224, "{%112, %113, %114, %115}", "%116", "%117");
TILEWRIGHT_WGMMA_REGISTERS(256, "{%128, %129, %130, %131}", "%132", "%133");

// What a thread holds of A for one stage.
template <class Operand, int kSteps, int kBlocks, int kStep>
struct Sm90Fragment {
  static constexpr int kColumnBytes = 128;                    // of a box: 32 rows in one column of K
  static constexpr int kBoxBytes = Operand::kBlockBytes / 2;  // 32 of the 64 rows of a block
  unsigned values[kSteps][kBlocks][4];

  // Where this thread's rows of its first two columns begin in a stage: t % 4, and 4 further on.
  struct Place {
    int first, second;
  };

  __device__ static Place place() {
    const int row = Sm90Rows<true>::first(), k = threadIdx.x % 4;
    const int box = row / 32 * kBoxBytes, chunk = row % 32 / 4, within = row % 4 * 4;
    return {box + k * kColumnBytes + ((chunk ^ k) << 4) + within,
            box + (k + 4) * kColumnBytes + ((chunk ^ (k + 4)) << 4) + within};
  }

  // `stage`: the address in shared memory of the consumer's first block.
  __device__ void read(unsigned stage, const Place& place) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int block = 0; block < kBlocks; ++block) {
        const unsigned at = stage + block * kStep * Operand::kBlockBytes + step * 8 * kColumnBytes;
        const auto low = load_shared_at<unsigned, 2>(at + place.first);
        const auto high = load_shared_at<unsigned, 2>(at + place.second);
        unsigned (&to)[4] = values[step][block];
        to[0] = low.at[0], to[1] = low.at[1], to[2] = high.at[0], to[3] = high.at[1];
      }
    }
  }

  // As wgmma_hold: instructions that read these registers have not ended before this.
  __device__ void hold() {
#pragma unroll
    for (int i = 0; i < kSteps * kBlocks; ++i) {
      unsigned (&r)[4] = values[i / kBlocks][i % kBlocks];
      asm volatile("" : "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3])::"memory");
    }
  }
};

}  // namespace tilewright

// An operand's fragments: from shared memory into the registers that mma.sync reads.
//
// Elements of TFloat32 are rounded to the nearest on the way: the instruction would cut them off.
//
// Where 16 bytes along k lie together, ldmatrix deals them out as the instruction wants them, for elements of any size
// (kMatrix). Where they lie along the rows, it transposes elements of 2 bytes (kTransposed); of single bytes, it does
// so with pairs of rows, which two byte permutations then take apart (kTransposedBytes: the tiled MMA gives such a pair
// of rows to one lane). Everything else is read by plain accesses of neighbouring elements (kPlain).
#pragma once

#include "tilewright/ldmatrix.cuh"
#include "tilewright/numeric.cuh"
#include "tilewright/tile_load.cuh"

namespace tilewright {

enum FragmentKind { kPlain, kMatrix, kTransposed, kTransposedBytes };

// Thread: lane to (row, k) of what it addresses. AccessLayout: (access, k block) to the (row, k) that this adds.
// RegisterLayout: (unit, access) to the place in the fragment, where units are words of an ldmatrix or elements.
template <class T, class SmemLayout, class Thread, class AccessLayout, class RegisterLayout, FragmentKind kKind,
          int kAccesses, int kUnits>
struct FragmentLoad {
  using Smem = SharedTile<SmemLayout>;
  int mine;

  __device__ FragmentLoad() {
    mine = Smem::linear(Thread{}.template operator()<Coord<2>>(static_cast<int>(threadIdx.x)));
  }

  __device__ static constexpr int place(int unit, int access) {
    return RegisterLayout{}.template operator()<int>(Coord<2>{unit, access});
  }

  // The fragments of one k block of all atoms, kRegisters of each.
  template <class Register, int kAtoms, int kRegisters>
  __device__ void operator()(Register (&fragment)[kAtoms][kRegisters], unsigned stage, int k_block) const {
    constexpr int kPerRegister = sizeof(Register) / sizeof(T);
    Element<sizeof(T)> element[kKind == kPlain && kPerRegister > 1 ? kAtoms * kRegisters * kPerRegister : 1];
#pragma unroll
    for (int i = 0; i < kAccesses; ++i) {
      const int step = Smem::linear(AccessLayout{}.template operator()<Coord<2>>(Coord<2>{i, k_block}));
      const unsigned address = stage + Smem::offset(mine, step) * sizeof(T);
      if constexpr (kKind == kPlain) {
        const auto units = load_shared_at<Unit<Register>, kUnits>(address);
#pragma unroll
        for (int j = 0; j < kUnits; ++j) {
          if constexpr (kPerRegister > 1) {
            element[place(j, i)] = units.at[j];
          } else {
            fragment[place(j, i) / kRegisters][place(j, i) % kRegisters] = rounded(units.at[j]);
          }
        }
      } else {
        unsigned word[kUnits];
        ldmatrix<kKind != kMatrix>(word, address);
#pragma unroll
        for (int j = 0; j < kUnits; ++j) {
          unsigned value = word[j];
          if constexpr (kKind == kTransposedBytes) {
            value = __byte_perm(word[j & ~1], word[j | 1], j & 1 ? 0x7531 : 0x6420);
          }
          fragment[place(j, i) / kRegisters][place(j, i) % kRegisters] = rounded(value);
        }
      }
    }
    if constexpr (kKind == kPlain && kPerRegister > 1) {
#pragma unroll
      for (int i = 0; i < kAtoms * kRegisters; ++i) {
        Register packed = 0;
#pragma unroll
        for (int j = 0; j < kPerRegister; ++j) {
          packed |= static_cast<Register>(element[i * kPerRegister + j]) << (8 * sizeof(T) * j);
        }
        fragment[i / kRegisters][i % kRegisters] = packed;
      }
    }
  }

  // Whether fragments can go to named registers as they are read.
  static constexpr bool kHasNames = (kKind == kMatrix || kKind == kTransposed) && !kIsSame<T, TFloat32> && kUnits == 4;

#ifdef __CUDACC__
#define TILEWRIGHT_READ(kMatrices, kName)                                                                \
  asm volatile("ldmatrix.sync.aligned.m8n8.x4" kMatrices ".shared.b16 {tw_" kName "%0_%1_%2, tw_" kName  \
               "%0_%3_%4, tw_" kName "%0_%5_%6, tw_" kName "%0_%7_%8}, [%9];" ::"n"(kSet),               \
               "n"(kPlaces[0] / kRegisters), "n"(kPlaces[0] % kRegisters), "n"(kPlaces[1] / kRegisters), \
               "n"(kPlaces[1] % kRegisters), "n"(kPlaces[2] / kRegisters), "n"(kPlaces[2] % kRegisters), \
               "n"(kPlaces[3] / kRegisters), "n"(kPlaces[3] % kRegisters), "r"(address))

  // Those of k block kBlock to tw_a<set>_<atom>_<register> of mma_registers.cuh, or tw_b.. for kIsB.
  template <bool kIsB, int kSet, int kRegisters, int kBlock, int kAccess = 0>
  __device__ __forceinline__ void read_named(unsigned stage) const {
    constexpr int kStep = Smem::linear(AccessLayout{}.template operator()<Coord<2>>(Coord<2>{kAccess, kBlock}));
    const unsigned address = stage + Smem::offset(mine, kStep) * sizeof(T);
    constexpr int kPlaces[4] = {place(0, kAccess), place(1, kAccess), place(2, kAccess), place(3, kAccess)};
    if constexpr (kIsB && kKind == kTransposed) {
      TILEWRIGHT_READ(".trans", "b");
    } else if constexpr (kIsB) {
      TILEWRIGHT_READ("", "b");
    } else if constexpr (kKind == kTransposed) {
      TILEWRIGHT_READ(".trans", "a");
    } else {
      TILEWRIGHT_READ("", "a");
    }
    if constexpr (kAccess + 1 < kAccesses) read_named<kIsB, kSet, kRegisters, kBlock, kAccess + 1>(stage);
  }
#undef TILEWRIGHT_READ
#endif

 private:
  template <class Register>
  __device__ static Register rounded(Register value) {
    if constexpr (kIsSame<T, TFloat32>) {
      asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(value) : "r"(value));
    }
    return value;
  }

  template <class Register, bool kWhole = sizeof(Register) == sizeof(T)>
  struct UnitOf {
    using type = Register;
  };
  template <class Register>
  struct UnitOf<Register, false> {
    using type = Element<sizeof(T)>;
  };
  template <class Register>
  using Unit = typename UnitOf<Register>::type;
};

}  // namespace tilewright

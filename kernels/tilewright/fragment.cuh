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

// Sums on their way into C: finished by the epilogue, and written element by element or several at once.
#pragma once

#include "tilewright/epilogue.cuh"
#include "tilewright/grid.cuh"
#include "tilewright/vector.cuh"

namespace tilewright {

// C from the tile's first element on, of which `extent` are inside.
template <class EpilogueOfTile, int kUnit>
struct OutputTile {
  using EpilogueType = EpilogueOfTile;
  using Out = typename EpilogueType::Out;
  using Compute = typename EpilogueType::Compute;
  Out* c;
  Strides<2, kUnit> strides;
  int64 origin[2];
  int extent[2];
  const typename EpilogueType::Params& epilogue;

  __device__ Compute bias(int m, int n) const {
    if constexpr (!EpilogueType::kHasBias) return 0;
    const int64 at = EpilogueType::kBiasAlong == 0 ? origin[0] + m : origin[1] + n;
    return convert<Compute>(epilogue.bias[at * epilogue.bias_stride]);
  }

  template <class Sum>
  __device__ void store(int m, int n, Sum sum) const {
    if (m >= extent[0] || n >= extent[1]) return;
    Out* const at = c + strides(Coord<2>{m, n});
    Compute old = 0;
    if constexpr (EpilogueType::kReads) old = convert<Compute>(*at);
    *at = convert<Out>(EpilogueType::apply(epilogue, sum, old, bias(m, n)));
  }

  // kVector neighbours along n, whose first is aligned to all of them. kSplits: an access may reach over the last one.
  template <bool kSplits, class Sum, int kVector>
  __device__ void store_vector(int m, int n, const Vector<Sum, kVector>& sums) const {
    if (m >= extent[0] || n >= extent[1]) return;
    if constexpr (kSplits && kVector > 1) {
      if (n + kVector > extent[1]) {
#pragma unroll
        for (int j = 0; j < kVector; ++j) store(m, n + j, sums.at[j]);
        return;
      }
    }
    Out* const at = c + strides(Coord<2>{m, n});
    Vector<Out, kVector> result;
    if constexpr (EpilogueType::kReads) result = load_global<Out, kVector>(at);
    Compute value[kVector];
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      Compute old = 0;
      if constexpr (EpilogueType::kReads) old = convert<Compute>(result.at[j]);
      value[j] = EpilogueType::apply(epilogue, sums.at[j], old, bias(m, n + j));
    }
    if constexpr (sizeof(Out) == 2 && kIsSame<Compute, float> && kVector % 2 == 0) {
      Vector<unsigned, kVector / 2> pairs;
#pragma unroll
      for (int j = 0; j < kVector; j += 2) pairs.at[j / 2] = convert_pair<Out>(value[j], value[j + 1]);
      result = __builtin_bit_cast(decltype(result), pairs);
    } else {
#pragma unroll
      for (int j = 0; j < kVector; ++j) result.at[j] = convert<Out>(value[j]);
    }
    store_global(at, result);
  }
};

}  // namespace tilewright

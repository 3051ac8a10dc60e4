// The sums of gemm_simt on their way to global memory: each thread writes its own, or all go through shared memory,
// where sums of several slices of K are added up, and out of which whole stretches of C are written.
#pragma once

#include "tilewright/epilogue.cuh"
#include "tilewright/layout.cuh"
#include "tilewright/numeric.cuh"
#include "tilewright/predicated.cuh"
#include "tilewright/simt_operand.cuh"
#include "tilewright/vector.cuh"

namespace tilewright {

// C from the tile's first element on, of which `extent` are inside.
template <class EpilogueType>
struct SimtOutput {
  using Epilogue = EpilogueType;
  using Compute = typename Epilogue::Compute;
  using Out = typename Epilogue::Out;
  Out* out;
  int64 stride[2];
  int64 first[2];
  int extent[2];
  int64 k;
  const typename Epilogue::Params& epilogue;
};

// The same value in a register of its own, where values are written kTogether at a time. They are then in neighbouring
// registers, as the columns that they are sums of are: a product would read two registers of the same bank (even or
// odd) at once. The upper bits of an extent are zero, which the compiler does not know: it lays the sums otherwise.
template <int kTogether, class Acc>
__device__ Acc untied(Acc value, int64 k) {
  if constexpr (kTogether == 1 || sizeof(Acc) != 4) {
    return value;
  } else {
    return __builtin_bit_cast(Acc, __builtin_bit_cast(unsigned, value) ^ static_cast<unsigned>(k >> 62));
  }
}

// Along mode kMode of C, kVector values of a thread are written by one access, which is inside or outside of C as a
// whole.
template <int kMode, int kVector>
struct SimtDirectStore {
  template <class Rows, class Columns, class Output, class Acc, int kRows, int kColumns>
  __device__ static void run(const Output& output, int thread, bool writes, void*, const Acc (&sum)[kRows][kColumns]) {
    using Epilogue = typename Output::Epilogue;
    using Compute = typename Output::Compute;
    using Out = typename Output::Out;
    if (!writes) return;
    const int my_row = Rows{}.template operator()<int>(Coord<2>{thread, 0});
    const int my_column = Columns{}.template operator()<int>(Coord<2>{thread, 0});
    constexpr Positions<Rows, kRows> kRow;
    constexpr Positions<Columns, kColumns> kColumn;
    constexpr int kDown = kMode == 0 ? kVector : 1, kAcross = kMode == 1 ? kVector : 1;
    Out* const out = output.out + my_row * output.stride[0] + my_column * output.stride[1];
    const int rows = output.extent[0] - my_row, columns = output.extent[1] - my_column;
    // Biases of what is outside are those of the last row or column.
    Compute bias[Epilogue::kBiasAlong == 0 ? kRows : Epilogue::kBiasAlong == 1 ? kColumns : 1] = {};
    if constexpr (Epilogue::kHasBias) {
      constexpr bool kByRow = Epilogue::kBiasAlong == 0;
      const int64 begin = kByRow ? output.first[0] + my_row : output.first[1] + my_column;
      const int64 last = begin + (kByRow ? rows : columns) - 1;
#pragma unroll
      for (int i = 0; i < (kByRow ? kRows : kColumns); ++i) {
        const int64 at = begin + (kByRow ? kRow.at[kByRow ? i : 0] : kColumn.at[kByRow ? 0 : i]);
        bias[i] = Epilogue::bias_at(output.epilogue, at < last ? at : last, at < last ? at : last);
      }
    }
#pragma unroll
    for (int i = 0; i < kRows; i += kDown) {
#pragma unroll
      for (int j = 0; j < kColumns; j += kAcross) {
        const int down = kRow.at[i], across = kColumn.at[j];
        const bool inside = down < rows && across < columns;
        Out* const to = out + down * output.stride[0] + across * output.stride[1];
        Vector<Out, kVector> old{}, result;
        if constexpr (Epilogue::kReads) old = load_if<Out, kVector>(inside, to);
#pragma unroll
        for (int v = 0; v < kVector; ++v) {
          const int m = i + (kDown > 1 ? v : 0), n = j + (kDown > 1 ? 0 : v);
          const Compute c = Epilogue::kReads ? convert<Compute>(old.at[v]) : 0;
          const Compute b = bias[Epilogue::kBiasAlong == 0 ? m : Epilogue::kBiasAlong == 1 ? n : 0];
          result.at[v] = convert<Out>(Epilogue::apply(output.epilogue, untied<kVector>(sum[m][n], output.k), c, b));
        }
        store_if(inside, to, result);
      }
    }
  }
};

// Image: (row, column, slice) of the tile to the offset of a sum in shared memory, kWidth neighbouring columns at once.
// ThreadValue: (thread, value) to the (row, column) that each of kWriters threads takes from there, kVector values
// along mode kMode by one access of C. kSlicedK groups of kSliceThreads threads have parts of the same sums.
template <class Image, class ThreadValue, int kMode, int kVector, int kWriters, int kValues, int kSlicedK,
          int kSliceThreads, int kWidth>
struct SimtSharedStore {
  static constexpr int kUnroll = kValues / kVector < 4 ? kValues / kVector : 4;

  template <class Rows, class Columns, class Output, class Acc, int kRows, int kColumns>
  __device__ static void run(const Output& output, int thread, bool writes, void* shared,
                             const Acc (&sum)[kRows][kColumns]) {
    using Epilogue = typename Output::Epilogue;
    using Compute = typename Output::Compute;
    using Out = typename Output::Out;
    constexpr Positions<Rows, kRows> kRow;
    constexpr Positions<Columns, kColumns> kColumn;
    Acc* const image = static_cast<Acc*>(shared);
    const auto place = [](int row, int column, int slice) {
      return Image{}.template operator()<int>(Coord<3>{row, column, slice});
    };
    __syncthreads();  // everyone has read the last tile
    if (writes) {
      const int my_row = Rows{}.template operator()<int>(Coord<2>{thread, 0});
      const int my_column = Columns{}.template operator()<int>(Coord<2>{thread, 0});
      Acc* const mine = image + place(my_row, my_column, kSlicedK > 1 ? thread / kSliceThreads : 0);
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
#pragma unroll
        for (int j = 0; j < kColumns; j += kWidth) {
          Acc* const to = mine + place(kRow.at[i], kColumn.at[j], 0);
          Vector<Acc, kWidth> part;
#pragma unroll
          for (int v = 0; v < kWidth; ++v) part.at[v] = untied<kWidth>(sum[i][j + v], output.k);
          store_shared(to, part);
        }
      }
    }
    __syncthreads();
    if (threadIdx.x >= kWriters) return;
#pragma unroll kUnroll
    for (int i = 0; i < kValues; i += kVector) {
      const auto c = ThreadValue{}.template operator()<Coord<2>>(Coord<2>{static_cast<int>(threadIdx.x), i});
      if (c.at[0] >= output.extent[0] || c.at[1] >= output.extent[1]) continue;
      Out* const to = output.out + c.at[0] * output.stride[0] + c.at[1] * output.stride[1];
      Vector<Out, kVector> result{};
      if constexpr (Epilogue::kReads) result = load_cached<Out, kVector>(to);
#pragma unroll
      for (int v = 0; v < kVector; ++v) {
        const int row = c.at[0] + (kMode == 0 ? v : 0), column = c.at[1] + (kMode == 1 ? v : 0);
        Acc total = image[place(row, column, 0)];
#pragma unroll
        for (int slice = 1; slice < kSlicedK; ++slice) total += image[place(row, column, slice)];
        Compute old = 0;
        if constexpr (Epilogue::kReads) old = convert<Compute>(result.at[v]);
        const Compute bias = Epilogue::bias_at(output.epilogue, output.first[0] + row, output.first[1] + column);
        result.at[v] = convert<Out>(Epilogue::apply(output.epilogue, total, old, bias));
      }
      store_global(to, result);
    }
  }
};

}  // namespace tilewright

// Layouts on the device: evaluated only. The algebra runs on the host, and a kernel gets its results as types.
//
//   host                      device
//   (4,(2,3)):(1,(4,8))       Layout<Shape<Int<4>, Shape<Int<2>, Int<3>>>, Stride<Int<1>, Stride<Int<4>, Int<8>>>>
//   (?,8):(1,?)               Layout<Shape<Dyn<0>, Int<8>>, Stride<Int<1>, Dyn<1>>>, dynamic = {4096, 4096}
//   (4,8):(1@1,4@0)           Layout<Shape<Int<4>, Int<8>>, Stride<Basis<1, 1>, Basis<4, 0>>>: its values are
//   coordinates S<3,4,3> o 0 o (8,64):..  Composed<Swizzle<3, 4, 3>, 0, Layout<..>>
//
// layout(i) is the value at the i-th coordinate, colexicographic: mode 0 runs fastest. layout(i, j) has one coordinate
// for each of two modes. With constant arguments, as in an unrolled loop, everything static folds away.
#pragma once

namespace tilewright {

using int64 = long long;
static_assert(sizeof(int64) == 8);

template <int64 kValue>
struct Int {};

// The integer that stands at kIndex among the dynamic ones of its layout: those of the shape first, then the strides'.
template <int kIndex>
struct Dyn {};

// kValue in mode kMode of a coordinate.
template <int64 kValue, int kMode>
struct Basis {};

template <class... Modes>
struct Shape {};

template <class... Modes>
struct Stride {};

// One integer for each mode; 32 bits are enough within a tile.
template <int kRank, class T = int>
struct Coord {
  T at[kRank];
};

template <int64 kValue>
__device__ constexpr int64 value_of(Int<kValue>, const int64*) {
  return kValue;
}

template <int kIndex>
__device__ constexpr int64 value_of(Dyn<kIndex>, const int64* dynamic) {
  return dynamic[kIndex];
}

template <class Leaf>
__device__ constexpr int64 size_of(Leaf leaf, const int64* dynamic) {
  return value_of(leaf, dynamic);
}

template <class... Modes>
__device__ constexpr int64 size_of(Shape<Modes...>, const int64* dynamic) {
  return (int64{1} * ... * size_of(Modes{}, dynamic));
}

// accumulate: result += coordinate * stride, where the result is an offset of 64 or 32 bits or a coordinate.
template <class Leaf>
__device__ constexpr void accumulate(int64& offset, int64 coordinate, Leaf stride, const int64* dynamic) {
  offset += coordinate * value_of(stride, dynamic);
}

template <class Leaf>
__device__ constexpr void accumulate(int& offset, int64 coordinate, Leaf stride, const int64* dynamic) {
  offset += static_cast<int>(coordinate) * static_cast<int>(value_of(stride, dynamic));
}

template <int kRank, int64 kValue, int kMode>
__device__ constexpr void accumulate(Coord<kRank>& result, int64 coordinate, Basis<kValue, kMode>, const int64*) {
  static_assert(kMode < kRank);
  result.at[kMode] += static_cast<int>(coordinate * kValue);
}

template <int kRank>
__device__ constexpr void accumulate(Coord<kRank>&, int64, Int<0>, const int64*) {}

// Static layouts are those of tiles, threads and values: their coordinates count in 32 bits, which divide faster.
template <class Leaf>
struct IsStatic {
  static constexpr bool value = true;
};

template <int kIndex>
struct IsStatic<Dyn<kIndex>> {
  static constexpr bool value = false;
};

template <class... Modes>
struct IsStatic<Shape<Modes...>> {
  static constexpr bool value = (true && ... && IsStatic<Modes>::value);
};

// The coordinate within a mode; what is left of it belongs to the modes after it.
template <class Mode>
__device__ constexpr int64 split(int64& coordinate, Mode mode, const int64* dynamic) {
  const int64 extent = size_of(mode, dynamic);
  if constexpr (IsStatic<Mode>::value) {
    const auto whole = static_cast<unsigned>(coordinate);
    coordinate = whole / static_cast<unsigned>(extent);
    return whole % static_cast<unsigned>(extent);
  } else {
    const int64 whole = coordinate;
    coordinate = whole / extent;
    return whole % extent;
  }
}

template <class Result, class Leaf, class Step>
__device__ constexpr void evaluate(Result& result, int64 coordinate, Leaf, Step stride, const int64* dynamic) {
  accumulate(result, coordinate, stride, dynamic);
}

template <class Result, class Mode, class Step>
__device__ constexpr void evaluate(Result& result, int64 coordinate, Shape<Mode>, Stride<Step>, const int64* dynamic) {
  evaluate(result, coordinate, Mode{}, Step{}, dynamic);  // the last mode is not wrapped
}

template <class Result, class Mode, class Next, class... Modes, class Step, class... Steps>
__device__ constexpr void evaluate(Result& result, int64 coordinate, Shape<Mode, Next, Modes...>,
                                   Stride<Step, Steps...>, const int64* dynamic) {
  const int64 here = split(coordinate, Mode{}, dynamic);
  evaluate(result, here, Mode{}, Step{}, dynamic);
  evaluate(result, coordinate, Shape<Next, Modes...>{}, Stride<Steps...>{}, dynamic);
}

// The coordinate of each top-level mode by itself.
template <class Result, int kRank, class T, class... Modes, class... Steps>
__device__ constexpr void evaluate_modes(Result& result, const Coord<kRank, T>& coordinate, Shape<Modes...>,
                                         Stride<Steps...>, const int64* dynamic) {
  static_assert(kRank == sizeof...(Modes));
  int mode = 0;
  (evaluate(result, coordinate.at[mode++], Modes{}, Steps{}, dynamic), ...);
}

template <class ShapeType, class StrideType, int kDynamic = 0>
struct Layout {
  int64 dynamic[kDynamic];

  template <class Result = int64>
  __device__ constexpr Result operator()(int64 coordinate) const {
    Result result{};
    evaluate(result, coordinate, ShapeType{}, StrideType{}, dynamic);
    return result;
  }

  template <class Result = int64, int kRank, class T>
  __device__ constexpr Result operator()(const Coord<kRank, T>& coordinate) const {
    Result result{};
    evaluate_modes(result, coordinate, ShapeType{}, StrideType{}, dynamic);
    return result;
  }
};

template <class ShapeType, class StrideType>
struct Layout<ShapeType, StrideType, 0> {
  template <class Result = int64>
  __device__ constexpr Result operator()(int64 coordinate) const {
    Result result{};
    evaluate(result, coordinate, ShapeType{}, StrideType{}, nullptr);
    return result;
  }

  template <class Result = int64, int kRank, class T>
  __device__ constexpr Result operator()(const Coord<kRank, T>& coordinate) const {
    Result result{};
    evaluate_modes(result, coordinate, ShapeType{}, StrideType{}, nullptr);
    return result;
  }
};

// offset -> offset ^ ((offset >> kShift) & mask): kBits bits from kBase + kShift on are added without carry to those
// from kBase on; a negative shift reads from below.
template <int kBits, int kBase, int kShift>
struct Swizzle {
  template <class Offset>
  __device__ constexpr Offset operator()(Offset offset) const {
    constexpr Offset kMask = ((Offset{1} << kBits) - 1) << kBase;
    if constexpr (kShift >= 0) {
      return offset ^ ((offset >> kShift) & kMask);
    } else {
      return offset ^ ((offset & kMask) << -kShift);
    }
  }
};

// c -> inner(offset + outer(c))
template <class Inner, int64 kOffset, class Outer>
struct Composed {
  template <class Result = int64, class Coordinate>
  __device__ constexpr Result operator()(const Coordinate& coordinate) const {
    return Inner{}(static_cast<Result>(kOffset) + Outer{}.template operator()<Result>(coordinate));
  }
};

// A layout in its two parts, the linear one, which many coordinates share, and what follows it.
template <class LayoutType>
struct Parts {
  using Linear = LayoutType;
  __device__ static constexpr int finish(int offset) { return offset; }
};

template <class Inner, int64 kOffset, class Outer>
struct Parts<Composed<Inner, kOffset, Outer>> {
  using Linear = Outer;
  __device__ static constexpr int finish(int offset) { return Inner{}(static_cast<int>(kOffset) + offset); }
};

}  // namespace tilewright

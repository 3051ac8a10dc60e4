// fma_tile: the sums of products of fragments.
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

#include "address.hpp"
#include "handlers.hpp"
#include "host/execute/shadow/shadow.hpp"
#include "lanes.hpp"
#include "numbers.hpp"

namespace tilewright::execute {

using program::Scalar;
using program::Space;

namespace {

struct Extents {
  uint32_t v, m, n, k;
};

Extents extents_of(const MemoryCode& memory) {
  const auto at = [&](std::size_t i) { return static_cast<uint32_t>(memory.ints[i]); };
  return {at(0), at(1), at(2), at(3)};
}

template <class T>
TILEWRIGHT_INLINE T multiply_add(T a, T b, T c) {
  if constexpr (std::is_same_v<T, float>) return std::fma(a, b, c);
  if constexpr (std::is_same_v<T, double>) return std::fma(a, b, c);
  if constexpr (std::is_integral_v<T>) return a * b + c;  // unsigned: wraps around
}

// What is rounded once to a number of the scalar, as T. Integers wrap where they are stored.
template <class T>
T rounded_fma(Scalar scalar, T a, T b, T c) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b) + static_cast<uint64_t>(c));
  } else {
    if (scalar == Scalar::kFloat64) return std::fma(a, b, c);
    if (scalar == Scalar::kFloat32) {
      return std::fma(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c));
    }
    uint8_t pattern[8];
    encode(scalar, fma_to_odd(a, b, c), pattern);
    return decode<double>(scalar, pattern);
  }
}

// All four in fragments of one type of 4 bytes: rows of the frame are multiplied where they are.
template <class T>
struct FragmentTile {
  static TILEWRIGHT_INLINE void run(Warp& warp, const Instruction& i) {
    const MemoryCode& memory = warp.code->memory[i.side];
    const Extents s = extents_of(memory);
    const T* bases[4];
    for (std::size_t x = 0; x < 4; ++x) {
      const uint64_t base = warp.at<uint64_t>(memory.accesses[x].pointer)[0];
      bases[x] = reinterpret_cast<const T*>(warp.frame + (base >> 2) * kFrameRow);
    }
    const auto row = [&](std::size_t x, uint32_t element) {
      return bases[x] + memory.accesses[x].offsets[element] / 4 * kLanes;
    };
    const Mask mask = warp.mask;
    for (uint32_t n = 0; n < s.n; ++n) {
      for (uint32_t m = 0; m < s.m; ++m) {
        for (uint32_t v = 0; v < s.v; ++v) {
          const uint32_t place = v + s.v * (m + s.m * n);
          T sums[kLanes];
          std::memcpy(sums, row(3, place), sizeof sums);
          for (uint32_t k = 0; k < s.k; ++k) {
            const T* __restrict a = row(1, v + s.v * (m + s.m * k));
            const T* __restrict b = row(2, v + s.v * (n + s.n * k));
            for (uint32_t l = 0; l < kLanes; ++l) sums[l] = multiply_add(a[l], b[l], sums[l]);
          }
          T* d = const_cast<T*>(row(0, place));
          if (mask == kAllLanes) {
            std::memcpy(d, sums, sizeof sums);
          } else {
            for (uint32_t l = 0; l < kLanes; ++l) d[l] = (mask >> l & 1) != 0 ? sums[l] : d[l];
          }
        }
      }
    }
  }
};

// Looks at element e of an operand: whether it can be touched, and what is not defined of it.
bool look(const Warp& warp, const Instruction& i, const AccessCode& access, Use use, uint32_t e, Mask& undefined) {
  if (access.is_fragment) {
    const uint64_t address = warp.at<uint64_t>(access.pointer)[0] + static_cast<uint64_t>(access.offsets[e]);
    return warp.shadow->look_at_fragment(warp, i, access, use, address, warp.mask, undefined);
  }
  uint64_t addresses[kLanes];
  row_addresses(warp, access, e, addresses);
  return warp.shadow->look(warp, i, access, use, addresses, warp.mask, undefined) == warp.mask;
}

// Looks at every operand before they are multiplied: whether all can be. A sum is defined where all that it is made of
// is.
bool look(const Warp& warp, const Instruction& i) {
  const MemoryCode& memory = warp.code->memory[i.side];
  const auto is_written = [&](std::size_t x) {
    const AccessCode& access = memory.accesses[x];
    return access.is_fragment && Shadow::is_written(warp, access, 0, access.count, warp.mask);
  };
  const AccessCode& to = memory.accesses[0];
  if (is_written(1) && is_written(2) && is_written(3) && to.is_fragment &&
      Shadow::write(warp, to, 0, to.count, warp.mask)) {
    return true;
  }
  const Extents s = extents_of(memory);
  std::vector<Mask> undefined[4];
  bool all_defined = true, is_right = true;
  for (std::size_t x = 1; x < 4; ++x) {
    const AccessCode& access = memory.accesses[x];
    undefined[x].resize(access.count);
    for (uint32_t e = 0; e < access.count; ++e) {
      is_right = look(warp, i, access, Use::kRead, e, undefined[x][e]) && is_right;
      all_defined = all_defined && undefined[x][e] == 0;
    }
  }
  for (uint32_t e = 0; e < memory.accesses[0].count; ++e) {
    Mask sum = 0;
    if (!all_defined) {
      const uint32_t v = e % s.v, m = e / s.v % s.m, n = e / s.v / s.m;
      sum = undefined[3][e];
      for (uint32_t k = 0; k < s.k; ++k) {
        sum |= undefined[1][v + s.v * (m + s.m * k)] | undefined[2][v + s.v * (n + s.n * k)];
      }
    }
    is_right = look(warp, i, memory.accesses[0], Use::kWrite, e, sum) && is_right;
  }
  return is_right;
}

template <class T>
void checked_fragment_tile(Warp& warp, const Instruction& i) {
  if (look(warp, i)) handler_of<FragmentTile<T>>()(warp, i);
}

// Any memory and any types: rows of the operands are converted to what the sums are computed with.
template <class T>
struct Tile {
  static void row(const Warp& warp, const MemoryCode& memory, std::size_t x, uint32_t element, T* to) {
    const AccessCode& access = memory.accesses[x];
    uint64_t addresses[kLanes];
    alignas(64) uint8_t values[kLanes * 8] = {};
    row_addresses(warp, access, element, addresses);
    read_row(warp, access, addresses, warp.mask, values);
    for (uint32_t l = 0; l < kLanes; ++l) to[l] = decode<T>(access.scalar, values + l * access.bytes);
  }

  static void run(Warp& warp, const Instruction& i) {
    const MemoryCode& memory = warp.code->memory[i.side];
    const Extents s = extents_of(memory);
    const AccessCode& to = memory.accesses[0];
    T a[kLanes], b[kLanes], sums[kLanes];
    uint64_t addresses[kLanes];
    alignas(64) uint8_t values[kLanes * 8];
    for (uint32_t n = 0; n < s.n; ++n) {
      for (uint32_t m = 0; m < s.m; ++m) {
        for (uint32_t v = 0; v < s.v; ++v) {
          const uint32_t place = v + s.v * (m + s.m * n);
          row(warp, memory, 3, place, sums);
          for (uint32_t k = 0; k < s.k; ++k) {
            row(warp, memory, 1, v + s.v * (m + s.m * k), a);
            row(warp, memory, 2, v + s.v * (n + s.n * k), b);
            for (uint32_t l = 0; l < kLanes; ++l) {
              sums[l] = rounded_fma<T>(to.scalar, a[l], b[l], sums[l]);
            }
          }
          for (uint32_t l = 0; l < kLanes; ++l) encode(to.scalar, sums[l], values + l * to.bytes);
          row_addresses(warp, to, place, addresses);
          write_row(warp, to, addresses, warp.mask, values);
        }
      }
    }
  }
};

template <class T, bool kChecked>
void tile(Warp& warp, const Instruction& i) {
  if constexpr (kChecked) {
    if (!look(warp, i)) return;
  }
  Tile<T>::run(warp, i);
}

}  // namespace

Handler fma_tile_handler(const MemoryCode& memory, bool checked) {
  const Scalar scalar = memory.accesses[0].scalar;
  bool fragments = true;
  for (std::size_t x = 0; x < 4; ++x) {
    fragments = fragments && memory.accesses[x].is_fragment && memory.accesses[x].bytes == 4 &&
                memory.accesses[x].scalar == scalar;
  }
  if (fragments && scalar == Scalar::kFloat32) {
    return checked ? &checked_fragment_tile<float> : handler_of<FragmentTile<float>>();
  }
  if (fragments && (scalar == Scalar::kInt32 || scalar == Scalar::kUint32)) {
    return checked ? &checked_fragment_tile<uint32_t> : handler_of<FragmentTile<uint32_t>>();
  }
  if (program::is_integer(scalar)) return checked ? &tile<int64_t, true> : &tile<int64_t, false>;
  return checked ? &tile<double, true> : &tile<double, false>;
}

}  // namespace tilewright::execute

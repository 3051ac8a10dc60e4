#include "search.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <map>

namespace tilewright::analysis {

namespace {

using Lanes = std::array<int64_t, kWarp>;
struct Class {
  uint32_t active;
  Lanes offsets;  // 0 where a lane is not active
  auto operator<=>(const Class&) const = default;
};

// How many requests there are of each class.
std::map<Class, int64_t> classes_of(const Offsets& requests) {
  // A base that every access could begin at turns the banks round alike for all; another moves the words' ends, too.
  // And where multiplying by the bytes of an element carries, constants do not stay apart.
  const bool apart =
      requests.base % kMatrixRow == 0 && std::has_single_bit(static_cast<unsigned>(requests.element_bits));
  std::map<Class, int64_t> classes;
  for (int64_t r = 0; r < requests.count; ++r) {
    const int64_t* offsets = requests.offsets + kWarp * r;
    Class found{requests.active[r], {}};
    const int first = found.active ? std::countr_zero(found.active) : 0;
    const int64_t constant = apart ? offsets[first] : 0;
    for (uint32_t left = found.active; left; left &= left - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(left));
      found.offsets[lane] = offsets[lane] ^ constant;
    }
    ++classes[found];
  }
  return classes;
}

// Whether the values of an access stay neighbours in their order.
bool keeps_values(const Swizzle& swizzle, const Offsets& requests) {
  const int width = 8 * requests.access.width;
  return swizzle.bits() == 0 || width <= requests.element_bits ||
         int64_t{requests.element_bits} << std::min<int64_t>(swizzle.base(), 8) >= width;
}

}  // namespace

std::vector<int64_t> wavefronts_under(const std::vector<Swizzle>& swizzles, const Offsets& requests) {
  const std::map<Class, int64_t> classes = classes_of(requests);
  std::vector<int64_t> found;
  found.reserve(swizzles.size());
  Lanes addresses{};
  for (const Swizzle& swizzle : swizzles) {
    int64_t total = 0;
    for (const auto& [kind, count] : classes) {
      for (std::size_t lane = 0; lane < kWarp; ++lane) {
        addresses[lane] = requests.base + swizzle(kind.offsets[lane]) * requests.element_bits / 8;
      }
      total += count * wavefronts(requests.access, addresses.data(), kind.active);
    }
    found.push_back(keeps_values(swizzle, requests) ? total : -1);
  }
  return found;
}

}  // namespace tilewright::analysis

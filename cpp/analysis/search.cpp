#include "search.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>

namespace tilewright::analysis {

namespace {

using Lanes = std::array<int64_t, kWarp>;
struct Class {
  uint32_t active;
  Lanes offsets;  // 0 where a lane is not active
  bool operator<(const Class& other) const {
    return active != other.active ? active < other.active : offsets < other.offsets;
  }
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

std::vector<Swizzle> all_swizzles(int64_t elements) {
  constexpr int64_t kPlaces = 62;  // that a swizzle reaches
  const auto last = static_cast<uint64_t>(std::max<int64_t>(elements, 1) - 1);
  const auto places = std::min<int64_t>(std::bit_width(last), kPlaces);
  std::vector<Swizzle> found{{0, 4, 3}};  // the identity, as CuTe writes it
  for (int64_t bits = 1; bits < places; ++bits) {
    for (int64_t shift = bits; shift + bits <= places; ++shift) {
      for (int64_t base = places - bits - shift; base >= 0; --base) {
        found.emplace_back(bits, base, shift);
        found.emplace_back(bits, base, -shift);
      }
    }
  }
  return found;
}

std::optional<BestSwizzle> best_swizzle(const Offsets& requests) {
  int64_t last = -1;
  for (int64_t r = 0; r < requests.count; ++r) {
    for (uint32_t left = requests.active[r]; left; left &= left - 1) {
      const int64_t offset = requests.offsets[kWarp * r + std::countr_zero(left)];
      if (offset < 0) return std::nullopt;
      last = std::max(last, offset);
    }
  }
  if (last < 0) return std::nullopt;
  const int64_t together = std::max<int64_t>(1, 8 * requests.access.width / requests.element_bits);
  const std::vector<Swizzle> swizzles = all_swizzles(last + together);
  const std::vector<int64_t> wavefronts = wavefronts_under(swizzles, requests);
  std::size_t best = 0;  // the identity, which is always legal
  for (std::size_t i = 1; i < swizzles.size(); ++i) {
    if (wavefronts[i] >= 0 && wavefronts[i] < wavefronts[best]) best = i;
  }
  return BestSwizzle{swizzles[best], wavefronts[best]};
}

}  // namespace tilewright::analysis

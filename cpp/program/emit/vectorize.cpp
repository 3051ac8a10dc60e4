#include "vectorize.hpp"

#include <algorithm>

namespace tilewright::program {

namespace {

constexpr int64_t kWidestBytes = 16;  // of an instruction

// Whether a number that `divisor` divides (0: the number 0) is a multiple of count.
bool is_multiple(int64_t divisor, int64_t count) { return divisor % count == 0; }

// `ranges`: nullptr where what is dynamic is taken for a multiple.
bool fits(const Program& program, Ranges* ranges, const Access& access, std::size_t along, int64_t count) {
  const Type& type = program.type(access.pointer);
  const int64_t element = facts(type.scalar).bits / 8;
  const auto is_swizzled_apart = [&](const ByteSwizzle& swizzle, int64_t units) {
    return swizzle.bits != 0 && (int64_t{1} << swizzle.base) % units != 0;
  };
  if (access.modes[along].extent % count != 0 || type.align % (count * element) != 0) return false;
  if (is_swizzled_apart(access.swizzle, count) || is_swizzled_apart(type.swizzle, count * element)) return false;
  if (!is_multiple(access.offset, count)) return false;
  const auto divides = [&](ValueId id, int64_t promised) {
    return ranges == nullptr || is_multiple(promised, count) || is_multiple(ranges->of(id).divisor, count);
  };
  if (access.dynamic != kNoValue && !divides(access.dynamic, access.divisor)) return false;
  for (std::size_t i = 0; i < access.modes.size(); ++i) {
    const AccessMode& mode = access.modes[i];
    if (i == along) continue;
    if (mode.dynamic == kNoValue ? !is_multiple(mode.stride, count) : !divides(mode.dynamic, mode.divisor))
      return false;
  }
  return true;
}

// Whether the first `count` elements of an access, and all those that follow by as many, can be moved by one
// instruction each. It answers for strides that are not static.
bool moves_together(const Program& program, const Access& access, int64_t count) {
  if (access.modes.empty() || facts(program.type(access.pointer).scalar).bits < 8) return false;
  const AccessMode& first = access.modes[0];
  return first.dynamic == kNoValue && first.stride == 1 && fits(program, nullptr, access, 0, count);
}

}  // namespace

Vectorized vectorized(const Program& program, Ranges& ranges, const Access& access, int64_t bytes) {
  Vectorized best;
  const Type& type = program.type(access.pointer);
  const int64_t bits = facts(type.scalar).bits;
  if (bits < 8 || type.space == Space::kRegister) return best;
  for (std::size_t along = 0; along < access.modes.size(); ++along) {
    const AccessMode& mode = access.modes[along];
    if (mode.dynamic != kNoValue || mode.stride != 1) continue;
    for (int64_t count = 2; count * bits <= bytes * 8; count *= 2) {
      if (count > best.count && fits(program, &ranges, access, along, count)) best = {count, along};
    }
  }
  return best;
}

std::optional<std::vector<std::vector<AccessMode>>> split(std::vector<AccessMode> modes,
                                                          const std::vector<int64_t>& extents) {
  std::vector<std::vector<AccessMode>> parts;
  std::size_t at = 0;
  for (const int64_t extent : extents) {
    parts.emplace_back();
    for (int64_t left = extent; left > 1;) {
      if (at == modes.size()) return std::nullopt;
      AccessMode& mode = modes[at];
      if (left % mode.extent == 0) {
        parts.back().push_back(mode);
        left /= mode.extent;
        ++at;
      } else if (mode.extent % left == 0 && mode.dynamic == kNoValue) {
        parts.back().push_back({left, mode.stride, kNoValue});
        mode.extent /= left;
        mode.stride *= left;
        left = 1;
      } else {
        return std::nullopt;
      }
    }
  }
  return parts;
}

int64_t copied_together(const Program& program, const Operation& copy) {
  const Access &from = copy.accesses[0], &to = copy.accesses[1];
  const int64_t count = copy.ints.at(1), pieces = from.size() / count;
  const auto scalar_of = [&](const Access& access) { return program.type(access.pointer).scalar; };
  const Scalar scalar = scalar_of(to);
  if (scalar_of(from) != scalar || facts(scalar).bits < 8 || facts(scalar).bits * count > kWidestBytes * 8) return 1;
  // A side in registers has any static stride; a side in memory moves by one access.
  const auto is_together = [&](const Access& access) {
    const auto parts = split(access.modes, {count, pieces});
    if (!parts) return false;
    if (program.type(access.pointer).space != Space::kRegister) return moves_together(program, access, count);
    const std::vector<AccessMode>& inner = (*parts)[0];
    return access.swizzle.bits == 0 && inner.size() == 1 && inner[0].dynamic == kNoValue;
  };
  return is_together(from) && is_together(to) ? count : 1;
}

}  // namespace tilewright::program

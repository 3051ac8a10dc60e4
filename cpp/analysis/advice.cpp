#include "advice.hpp"

#include <algorithm>
#include <charconv>

namespace tilewright::analysis {

namespace {

// With up to two digits behind the point, rounded up from the middle: `16.63`, `20.5`, `32`.
std::string mean(int64_t total, int64_t count) {
  const int64_t hundredths = (200 * total + count) / (2 * count);
  const int64_t whole = hundredths / 100, rest = hundredths % 100;
  if (rest == 0) return std::to_string(whole);
  return rest % 10 == 0 ? concat(whole, ".", rest / 10) : concat(whole, ".", rest / 10, rest % 10);
}

std::string wider(const Cost& x) {
  return concat("accesses of ", x.widest, " bytes are legal, and take ", x.widest / x.width,
                " times fewer instructions");
}

std::string against_conflicts(const Cost& x) {
  const std::string conflict = concat(x.ways, "-way bank conflict");
  const std::optional<BestSwizzle> best = x.best_swizzle();
  // An asynchronous copy may be counted by the cache's banks too; of those no swizzle, but the identity, is the best.
  if (!best || best->swizzle.bits() == 0 || best->wavefronts >= x.wavefronts)
    return conflict + ": lanes want different words of one bank; pad the stride between them";
  const Swizzle& swizzle = best->swizzle;
  return concat(conflict, "; composition with Swizzle<", swizzle.bits(), ",", swizzle.base(), ",", swizzle.shift(),
                "> takes ", counted(best->wavefronts, "wavefront"), " instead of ", x.wavefronts);
}

// The bytes between neighbouring active lanes, in whichever order they come; 0 where they are not the same for all.
int64_t distance(const std::vector<int64_t>& addresses) {
  if (addresses.size() < 2) return 0;
  const int64_t first = addresses[1] - addresses[0];
  for (std::size_t i = 1; i < addresses.size(); ++i) {
    if (addresses[i] - addresses[i - 1] != first) return 0;
  }
  return first < 0 ? -first : first;
}

int64_t behind_sector(int64_t address) { return (address % kSector + kSector) % kSector; }

std::string against_sectors(const Cost& x) {
  const int64_t lowest = x.addresses.empty() ? x.base : *std::min_element(x.addresses.begin(), x.addresses.end());
  const int64_t behind = behind_sector(lowest);
  if (x.sectors_lower(behind) == x.ideal_sectors) {
    const std::string start = behind_sector(x.base) == behind
                                  ? concat("the base ", hexadecimal(x.base))
                                  : concat("a request's lowest address ", hexadecimal(lowest));
    return concat(start, " lies ", behind, " bytes behind a sector: from an aligned one on the accesses take ",
                  x.ideal_sectors, " sectors instead of ", x.sectors);
  }
  const int64_t apart = distance(x.addresses);
  if (apart > x.width && apart <= x.widest) return wider(x);
  if (apart != 0 && apart != x.width) {
    return concat("neighbouring lanes are ", apart, " bytes apart but access ", x.width,
                  ": let them access neighbouring elements");
  }
  return concat("a request takes ", mean(x.sectors, x.requests), " sectors where ", mean(x.ideal_sectors, x.requests),
                " would do: let neighbouring lanes access neighbouring elements");
}

}  // namespace

std::string hexadecimal(int64_t value) {
  char digits[20];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value < 0 ? -value : value, 16);
  return (value < 0 ? "-0x" : "0x") + std::string(digits, end);
}

std::string advice(const Cost& cost) {
  if (cost.shared && cost.wavefronts > cost.ideal_wavefronts) return against_conflicts(cost);
  if (!cost.shared && cost.sectors > cost.ideal_sectors) return against_sectors(cost);
  if (!cost.of_matrices && cost.widest > cost.width) return wider(cost);
  if (cost.lanes < kWarp * cost.requests) {
    return concat(mean(cost.lanes, cost.requests), " of ", kWarp,
                  " lanes are active: give a warp's other lanes work, too");
  }
  return "";
}

}  // namespace tilewright::analysis

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/error.hpp"
#include "run.hpp"

namespace tilewright::execute {

namespace {
constexpr std::size_t kMostOfAKind = 32;
}

std::string_view text_of(FindingKind kind) {
  static constexpr std::string_view kTexts[] = {"race",          "missing fence", "not written", "not landed",
                                                "out of bounds", "read only",     "misaligned",  "barrier",
                                                "deadlock",      "early exit",    "lane",        "division by zero",
                                                "overflow",      "assertion",     "trap",        "no end"};
  return kTexts[static_cast<int>(kind)];
}

Finding& FindingTable::add(FindingKind kind, uint32_t place, uint32_t other_place, uint64_t cta) {
  // Two lines race in either order, which is one finding.
  if (kind == FindingKind::kRace && findings_.contains(Key{kind, other_place, place})) std::swap(place, other_place);
  const auto [found, is_new] = findings_.try_emplace(Key{kind, place, other_place});
  Finding& finding = found->second;
  if (is_new) {
    finding.kind = kind;
    finding.place = place;
    finding.other_place = other_place;
    finding.cta = cta;
    finding.count = 0;
  }
  ++finding.count;
  return finding;
}

void FindingTable::merge(const FindingTable& other) {
  for (const auto& [key, finding] : other.findings_) {
    const auto [found, is_new] = findings_.try_emplace(key, finding);
    if (is_new) continue;
    const uint64_t count = found->second.count + finding.count;
    const bool is_farther = finding.reach > found->second.reach;
    if (is_farther || (finding.reach == found->second.reach && finding.cta < found->second.cta)) {
      found->second = finding;
    }
    found->second.count = count;
  }
}

std::vector<Finding> FindingTable::sorted(const program::Program& program) const {
  std::vector<Finding> all;
  for (const auto& [key, finding] : findings_) all.push_back(finding);
  std::stable_sort(all.begin(), all.end(), [&](const Finding& a, const Finding& b) {
    const auto key = [&](const Finding& f) {
      return std::tie(f.kind, program.places[f.place], program.places[f.other_place]);
    };
    return key(a) < key(b);
  });
  std::vector<Finding> kept;
  std::size_t of_kind = 0;
  for (Finding& finding : all) {
    of_kind = !kept.empty() && kept.back().kind == finding.kind ? of_kind + 1 : of_kind * 0;
    if (of_kind < kMostOfAKind) kept.push_back(std::move(finding));
  }
  return kept;
}

}  // namespace tilewright::execute

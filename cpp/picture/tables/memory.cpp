#include "memory.hpp"

#include <algorithm>

namespace tilewright::picture {

namespace {

std::string hexadecimal(Wide x) {
  std::string digits;
  for (Wide rest = x < 0 ? -x : x; rest != 0 || digits.empty(); rest /= 16) {
    digits += "0123456789abcdef"[static_cast<int>(rest % 16)];
  }
  std::reverse(digits.begin(), digits.end());
  return (x < 0 ? "-0x" : "0x") + digits;
}

int64_t bank_at(Wide address) {
  const auto word = static_cast<int64_t>(floor_div(address, kWord) % kBanks);
  return word < 0 ? word + kBanks : word;
}

}  // namespace

Wide Memory::address(int64_t offset) const { return base + floor_div(Wide{offset} * bits, 8); }

int64_t Memory::bank(int64_t offset) const { return bank_at(address(offset)); }

void Memory::add_hover(Hover& hover, int64_t offset) const {
  const std::string of = kind.empty() ? "" : " (" + kind + ")";
  const Wide at = address(offset);
  hover.emplace_back("bank" + of, std::to_string(bank_at(at)));
  hover.emplace_back("address" + of, base >> 16 != 0 ? hexadecimal(at) : to_string(at));
}

std::vector<Entry> bank_legend(const std::set<int64_t>& groups) {
  std::vector<Entry> found;
  for (const int64_t group : groups) {
    const int64_t first = group * kGroup;
    found.push_back({group, "banks " + std::to_string(first) + " to " + std::to_string(first + kGroup - 1)});
  }
  return found;
}

}  // namespace tilewright::picture

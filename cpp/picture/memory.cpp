#include "memory.hpp"

#include <array>
#include <charconv>

#include "core/integer.hpp"

namespace tilewright::picture {

namespace {

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

std::string hexadecimal(int64_t x) {
  std::array<char, 20> digits{};
  const auto size = static_cast<uint64_t>(x);
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), x < 0 ? -size : size, 16).ptr;
  return (x < 0 ? "-0x" : "0x") + std::string(digits.data(), end);
}

}  // namespace

int64_t Memory::address(int64_t offset) const { return checked_add(base, floor_div(checked_mul(offset, bits), 8)); }

int64_t Memory::bank(int64_t offset) const {
  const int64_t word = floor_div(address(offset), kWord) % kBanks;
  return word < 0 ? word + kBanks : word;
}

void Memory::add_hover(Hover& hover, int64_t offset) const {
  const std::string of = kind.empty() ? "" : " (" + kind + ")";
  const int64_t at = address(offset);
  hover.emplace_back("bank" + of, std::to_string(bank(offset)));
  hover.emplace_back("address" + of, base >> 16 != 0 ? hexadecimal(at) : std::to_string(at));
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

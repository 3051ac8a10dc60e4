// printf: formats of C, and `{}` for a value as its type prints.
#include <bit>
#include <cctype>
#include <cstdio>

#include "handlers.hpp"
#include "host/execute/machine.hpp"
#include "numbers.hpp"

namespace tilewright::execute {

using program::Scalar;
using program::Type;

namespace {

template <class... Args>
std::string formatted(const char* format, Args... args) {
  char buffer[512];
  const int size = std::snprintf(buffer, sizeof buffer, format, args...);
  return std::string(buffer, static_cast<std::size_t>(size < 0 ? 0 : size < 512 ? size : 511));
}

// One argument of one lane.
struct Argument {
  const Type& type;
  const uint8_t* values;
  uint32_t lane;

  const uint8_t* element(uint32_t e) const { return values + (e * kLanes + lane) * bytes_of(type); }
  bool is_float() const { return type.is_number() && program::is_float(type.scalar); }
  double real(uint32_t e = 0) const {
    if (type.is_pointer()) return static_cast<double>(integer());
    return decode<double>(type.scalar, element(e));
  }
  int64_t integer(uint32_t e = 0) const {
    if (type.is_pointer()) return host::read_as<int64_t>(element(e));
    if (is_float()) return static_cast<int64_t>(real(e));
    return decode<int64_t>(type.scalar, element(e));
  }

  std::string natural() const {
    if (type.is_pointer()) return formatted("0x%llx", static_cast<unsigned long long>(integer()));
    if (!type.is_vector()) return natural(0);
    std::string text = "[";
    for (uint32_t e = 0; e < type.lanes; ++e) text += (e == 0 ? "" : ", ") + natural(e);
    return text + "]";
  }
  std::string natural(uint32_t e) const {
    if (is_float()) return formatted("%f", real(e));
    if (program::is_signed(type.scalar)) return std::to_string(integer(e));
    return std::to_string(static_cast<uint64_t>(integer(e)));
  }
};

// A conversion of C at `at`, behind its %: its flags, width and precision, and its letter; nothing where there is none.
bool conversion(const std::string& text, std::size_t at, std::string& flags, char& letter, std::size_t& end) {
  static const std::string kFlags = "-+ #0123456789.", kLengths = "hlLqjzt", kLetters = "diouxXeEfFgGaAcsp";
  flags = "%";
  while (at < text.size() && kFlags.find(text[at]) != std::string::npos) flags += text[at++];
  while (at < text.size() && kLengths.find(text[at]) != std::string::npos) ++at;
  if (at >= text.size() || kLetters.find(text[at]) == std::string::npos) return false;
  letter = text[at];
  end = at + 1;
  return true;
}

std::string converted(const std::string& flags, char letter, const Argument& argument) {
  static const std::string kIntegers = "diouxX", kReals = "eEfFgGaA";
  if (kReals.find(letter) != std::string::npos) return formatted((flags + letter).c_str(), argument.real());
  if (letter == 'c') return formatted((flags + letter).c_str(), static_cast<int>(argument.integer()));
  if (letter == 'p') return formatted("0x%llx", static_cast<unsigned long long>(argument.integer()));
  if (letter == 's') return formatted((flags + letter).c_str(), argument.natural().c_str());
  auto bits = static_cast<long long>(argument.integer());
  if (letter != 'd' && letter != 'i' && bytes_of(argument.type) < 8) {
    // As C passes an int: narrower ones keep their sign, and 32 bits are what is shown.
    bits = static_cast<long long>(static_cast<uint32_t>(bits));
  }
  return formatted((flags + "ll" + letter).c_str(), bits);
}

std::string line(const std::string& format, const Warp& warp, const Operands& info, uint32_t lane) {
  std::string text;
  std::size_t next = 0;
  const auto argument = [&] {
    const std::size_t i = next++;
    return Argument{info.types[i], warp.at<uint8_t>(info.slots[i]), lane};
  };
  for (std::size_t i = 0; i < format.size();) {
    std::string flags;
    char letter = 0;
    std::size_t end = 0;
    if (format.compare(i, 2, "{}") == 0 && next < info.slots.size()) {
      text += argument().natural();
      i += 2;
    } else if (format.compare(i, 2, "%%") == 0) {
      text += '%';
      i += 2;
    } else if (format[i] == '%' && next < info.slots.size() && conversion(format, i + 1, flags, letter, end)) {
      text += converted(flags, letter, argument());
      i = end;
    } else {
      text += format[i++];
    }
  }
  return text;
}

void print(Warp& warp, const Instruction& i) {
  const Operands& info = warp.code->operands[i.side];
  for (Mask left = warp.mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    warp.cta->printed->push_back(
        Printed{warp.cta->linear, warp.index * kLanes + lane, line(info.text, warp, info, lane)});
  }
}

}  // namespace

Handler print_handler() { return &print; }

}  // namespace tilewright::execute

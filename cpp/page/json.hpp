// Just enough JSON to answer a page.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "picture/drawing/text.hpp"

namespace tilewright::page {

class Json {
 public:
  // Numbers that a double does not hold become texts.
  Json& number(int64_t value) {
    constexpr int64_t kExact = int64_t{1} << 53;
    const std::string digits = std::to_string(value);
    return raw(value > -kExact && value < kExact ? digits : '"' + digits + '"');
  }
  // With one digit behind the point.
  Json& real(double value) { return raw(picture::number(value)); }
  Json& text(std::string_view value) {
    std::string quoted = "\"";
    for (const char c : value) {
      if (c == '"' || c == '\\') {
        quoted += '\\';
        quoted += c;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        constexpr char kHex[] = "0123456789abcdef";
        quoted += "\\u00";
        quoted += kHex[c >> 4 & 1];
        quoted += kHex[c & 15];
      } else {
        quoted += c;
      }
    }
    return raw(quoted + '"');
  }
  Json& boolean(bool value) { return raw(value ? "true" : "false"); }
  Json& null() { return raw("null"); }
  Json& key(std::string_view name) {
    text(name);
    out_ += ':';
    first_ = true;
    return *this;
  }
  Json& open(char bracket) {
    raw(std::string(1, bracket));
    first_ = true;
    return *this;
  }
  Json& close(char bracket) {
    out_ += bracket;
    first_ = false;
    return *this;
  }
  const std::string& str() const { return out_; }

 private:
  Json& raw(const std::string& piece) {
    if (!first_) out_ += ',';
    first_ = false;
    out_ += piece;
    return *this;
  }
  std::string out_;
  bool first_ = true;
};

}  // namespace tilewright::page

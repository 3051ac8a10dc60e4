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
    return value > -kExact && value < kExact ? raw(digits) : text(digits);
  }
  // With one digit behind the point.
  Json& real(double value) { return raw(picture::number(value)); }
  Json& text(std::string_view value) {
    begin();
    quote(value);
    return *this;
  }
  Json& boolean(bool value) { return raw(value ? "true" : "false"); }
  Json& null() { return raw("null"); }
  Json& key(std::string_view name) {  // in which nothing is escaped
    begin();
    out_.append("\"").append(name).append("\":");
    first_ = true;
    return *this;
  }
  Json& open(char bracket) {
    begin();
    out_ += bracket;
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
  void begin() {
    if (!first_) out_ += ',';
    first_ = false;
  }
  Json& raw(std::string_view piece) {
    begin();
    out_ += piece;
    return *this;
  }
  // Pictures are long, and little of them is escaped: what is between is appended at once.
  void quote(std::string_view value) {
    out_ += '"';
    std::size_t written = 0;
    for (std::size_t i = 0; i < value.size(); ++i) {
      const char c = value[i];
      const bool control = static_cast<unsigned char>(c) < 0x20;
      if (!control && c != '"' && c != '\\') continue;
      out_.append(value.substr(written, i - written));
      written = i + 1;
      if (control) {
        constexpr char kHex[] = "0123456789abcdef";
        out_.append("\\u00").append({kHex[c >> 4 & 1], kHex[c & 15]});
      } else {
        out_.append({'\\', c});
      }
    }
    out_.append(value.substr(written)) += '"';
  }
  std::string out_;
  bool first_ = true;
};

}  // namespace tilewright::page

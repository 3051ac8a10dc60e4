#include "text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "core/error.hpp"
#include "program/fold.hpp"
#include "program/program.hpp"

namespace tilewright::program {

namespace {

struct Names {
  std::string_view value, memory;
};

constexpr Names kNames[kScalars] = {
    {"bool", "uint8"},
    {"int8", "Int4"},
    {"int8", "int8"},
    {"int16", "int16"},
    {"int", "int"},
    {"int64", "int64"},
    {"uint8", "uint8"},
    {"uint16", "uint16"},
    {"uint32", "uint32"},
    {"uint64", "uint64"},
    {"Float4E2M1", "Float4E2M1"},
    {"Float8E4M3", "Float8E4M3"},
    {"Float8E5M2", "Float8E5M2"},
    {"Float8E8M0", "Float8E8M0"},
    {"Half", "Half"},
    {"BFloat16", "BFloat16"},
    {"TFloat32", "TFloat32"},
    {"float", "float"},
    {"double", "double"},
};

// The shortest decimal that is this number.
template <class T>
std::string decimal(T number) {
  std::array<char, 40> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  std::string text(buffer.data(), end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string hexadecimal(uint64_t bits) {
  std::array<char, 20> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), bits, 16);
  return "0x" + std::string(buffer.data(), end);
}

Expr float_literal(uint64_t pattern) {
  const auto bits = static_cast<uint32_t>(pattern);
  float number = 0;
  std::memcpy(&number, &bits, sizeof number);
  if (!std::isfinite(number)) return {concat("__builtin_bit_cast(float, ", hexadecimal(bits), "u)")};
  return {decimal(number) + "f", std::signbit(number) ? Level::kUnary : Level::kPrimary};
}

Expr double_literal(uint64_t bits) {
  double number = 0;
  std::memcpy(&number, &bits, sizeof number);
  if (!std::isfinite(number)) return {concat("__builtin_bit_cast(double, ", hexadecimal(bits), "ull)")};
  return {decimal(number), std::signbit(number) ? Level::kUnary : Level::kPrimary};
}

Expr integer_literal(Scalar scalar, uint64_t bits) {
  const int64_t value = value_of_bits(scalar, bits);
  if (scalar == Scalar::kUint64) return {std::to_string(bits) + "ull"};
  if (scalar == Scalar::kUint32) return {std::to_string(value) + "u"};
  // The least number has no literal: its magnitude is one too many.
  if (scalar == Scalar::kInt64 && value == INT64_MIN) return {"(-9223372036854775807ll - 1)"};
  if (scalar == Scalar::kInt32 && value == INT32_MIN) return {"(-2147483647 - 1)"};
  return {std::to_string(value) + (scalar == Scalar::kInt64 ? "ll" : ""),
          value < 0 ? Level::kUnary : Level::kPrimary};
}

}  // namespace

std::string within(const Expr& expression, Level level) {
  return expression.level < level ? "(" + expression.text + ")" : expression.text;
}

Expr call(std::string_view function, std::initializer_list<std::string_view> arguments) {
  std::string text(function);
  const char* before = "(";
  for (const std::string_view argument : arguments) {
    text += concat(before, argument);
    before = ", ";
  }
  return {text + (arguments.size() == 0 ? "()" : ")")};
}

Expr infix(const Expr& x, std::string_view symbol, const Expr& y, Level level) {
  // The right operand binds tighter: x - (y - z).
  const Level left = level == Level::kBits ? Level::kPrimary : level;
  const Level right = level == Level::kBits ? Level::kPrimary : static_cast<Level>(static_cast<int>(level) + 1);
  return {concat(within(x, left), " ", symbol, " ", within(y, right)), level};
}

std::string_view value_type(Scalar scalar) { return kNames[static_cast<int>(scalar)].value; }
std::string_view memory_type(Scalar scalar) { return kNames[static_cast<int>(scalar)].memory; }

std::string_view unsigned_type(Scalar scalar) { return width_of(scalar) == 64 ? "uint64" : "uint32"; }

std::string pointer_type(const Type& type) {
  if (is_sub_byte(type.scalar)) return concat("SubBytes<", memory_type(type.scalar), ">");
  return concat(memory_type(type.scalar), "*");
}

std::string declared_type(const Type& type) {
  if (type.is_pointer()) return pointer_type(type);
  if (type.is_vector()) return concat("Vec<", value_type(type.scalar), ", ", type.lanes, ">");
  return std::string(value_type(type.scalar));
}

Expr literal(Scalar scalar, uint64_t bits) {
  switch (scalar) {
    case Scalar::kBoolean:
      return {bits != 0 ? "true" : "false"};
    case Scalar::kFloat32:
      return float_literal(bits);
    case Scalar::kFloat64:
      return double_literal(bits);
    case Scalar::kTFloat32:
      return {concat("TFloat32{", float_literal(bits).text, "}")};
    default:
      if (is_float(scalar)) return {concat(value_type(scalar), "{", hexadecimal(bits), "}")};
      return integer_literal(scalar, bits);
  }
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (c == '\t') {
      result += "\\t";
    } else if (static_cast<unsigned char>(c) < 32) {
      const char digits[] = {'\\', static_cast<char>('0' + (c >> 6)), static_cast<char>('0' + (c >> 3 & 7)),
                             static_cast<char>('0' + (c & 7))};
      result.append(digits, sizeof digits);
    } else {
      result += c;
    }
  }
  return result + "\"";
}

}  // namespace tilewright::program

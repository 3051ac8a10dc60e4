#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fold.hpp"
#include "program.hpp"

namespace tilewright::program {

namespace {

class Printer {
 public:
  Printer(const Program& program, std::string& text) : program_(program), text_(text) {}

  void print(const Function& function) {
    const Block& body = program_.blocks[function.body];
    text_ += concat(function.is_kernel ? "kernel " : "host ", function.name, "(");
    parameters(body.parameters);
    text_ += ")";
    if (function.shared_bytes != 0) text_ += concat(" shared ", function.shared_bytes);
    text_ += " {\n";
    block(body, 1);
    if (!function.results.empty()) line(1, concat("return ", values(function.results)));
    text_ += "}\n";
  }

 private:
  void line(int depth, const std::string& what) { text_ += concat(std::string(2 * depth, ' '), what, "\n"); }

  std::string value(ValueId id) const {
    const Value& value = program_.values[id];
    return value.name.empty() ? concat("%", id) : concat("%", value.name, ".", id);
  }
  std::string values(const std::vector<ValueId>& ids, std::size_t from = 0) const {
    std::string text;
    for (std::size_t i = from; i < ids.size(); ++i) {
      if (i != from) text += ", ";
      text += value(ids[i]);
    }
    return text;
  }
  void parameters(const std::vector<ValueId>& ids) {
    const char* before = "";
    for (const ValueId id : ids) {
      text_ += concat(before, value(id), ": ", to_string(program_.type(id)));
      before = ", ";
    }
  }

  std::string swizzle(const ByteSwizzle& s) const {
    return concat("S<", int{s.bits}, ",", int{s.base}, ",", int{s.shift}, ">");
  }

  std::string access(const Access& access) const {
    std::string shape = "(", stride = "(";
    for (const AccessMode& mode : access.modes) {
      if (shape.size() > 1) shape += ",", stride += ",";
      shape += std::to_string(mode.extent);
      stride += mode.dynamic == kNoValue ? std::to_string(mode.stride) : value(mode.dynamic);
    }
    std::string text = value(access.pointer);
    if (access.swizzle.bits != 0) {
      text += concat(" o ", swizzle(access.swizzle), " o ", access.offset);
      if (access.dynamic != kNoValue) text += concat(" + ", value(access.dynamic));
    }
    if (!access.modes.empty()) text += concat(" o ", shape, "):", stride, ")");
    return concat("[", text, "]");
  }

  // As few digits as give the number back, `most` at the most.
  static std::string shortest(double number, int most) {
    char text[40];
    for (int digits = 1; digits <= most; ++digits) {
      std::snprintf(text, sizeof text, "%.*g", digits, number);
      const double back = std::strtod(text, nullptr);
      if (back == number || (most == 9 && static_cast<float>(back) == static_cast<float>(number))) break;
    }
    return text;
  }

  std::string constant(const Operation& operation) const {
    const Scalar scalar = program_.type(operation.results[0]).scalar;
    if (scalar == Scalar::kFloat32) {
      float number = 0;
      const auto bits = static_cast<uint32_t>(operation.bits);
      std::memcpy(&number, &bits, sizeof number);
      return shortest(number, 9);
    }
    if (scalar == Scalar::kFloat64) {
      double number = 0;
      std::memcpy(&number, &operation.bits, sizeof number);
      return shortest(number, 17);
    }
    if (is_float(scalar)) return concat("bits ", operation.bits);
    return std::to_string(value_of_bits(scalar, operation.bits));
  }

  void block(const Block& block, int depth) {
    for (const OpId id : block.operations) print(program_.operations[id], depth);
  }
  void inner(const Block& inner, int depth, const char* name) {
    std::string head;
    std::swap(head, text_);
    parameters(inner.parameters);
    std::swap(head, text_);
    line(depth, concat(name, inner.parameters.empty() ? std::string() : concat("(", head, ")"), " {"));
    block(inner, depth + 1);
    if (!inner.yields.empty()) line(depth + 1, concat("yield ", values(inner.yields)));
    line(depth, "}");
  }

  void print(const Operation& operation, int depth) {
    std::string text;
    for (const ValueId id : operation.results) {
      text += concat(text.empty() ? "" : ", ", value(id), ": ", to_string(program_.type(id)));
    }
    if (!text.empty()) text += " = ";
    text += facts(operation.code).text;
    if (operation.code == Opcode::kConstant) text += concat(" ", constant(operation));
    if (!operation.operands.empty()) text += concat(" ", values(operation.operands));
    for (const Access& each : operation.accesses) text += concat(" ", access(each));
    if (!operation.ints.empty()) {
      text += " {";
      for (std::size_t i = 0; i < operation.ints.size(); ++i) text += concat(i == 0 ? "" : ",", operation.ints[i]);
      text += "}";
    }
    if (!operation.text.empty()) text += concat(" \"", operation.text, "\"");
    if (const Place& place = program_.places[operation.place]; place.line != 0 && operation.code != Opcode::kConstant) {
      text += concat("  // line ", place.line);
    }
    line(depth, text);
    static constexpr const char* kNames[][2] = {{"then", "else"}, {"body", ""}, {"before", "body"}};
    for (std::size_t i = 0; i < operation.blocks.size(); ++i) {
      const int kind = operation.code == Opcode::kIf ? 0 : operation.code == Opcode::kFor ? 1 : 2;
      inner(program_.blocks[operation.blocks[i]], depth + 1, kNames[kind][i]);
    }
  }

  const Program& program_;
  std::string& text_;
};

}  // namespace

std::string to_string(const Program& program, const Function& function) {
  std::string text;
  Printer(program, text).print(function);
  return text;
}

std::string to_string(const Program& program) {
  std::string text;
  for (const Function& function : program.functions) {
    if (!text.empty()) text += "\n";
    text += to_string(program, function);
  }
  return text;
}

}  // namespace tilewright::program

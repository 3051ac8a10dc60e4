#include "type.hpp"

#include "core/error.hpp"
#include "program.hpp"

namespace tilewright::program {

namespace {

constexpr ScalarFacts kFacts[kScalars] = {
    {"Boolean", "bool", 8, ScalarClass::kBoolean},
    {"Int4", "i4", 4, ScalarClass::kSigned},
    {"Int8", "i8", 8, ScalarClass::kSigned},
    {"Int16", "i16", 16, ScalarClass::kSigned},
    {"Int32", "i32", 32, ScalarClass::kSigned},
    {"Int64", "i64", 64, ScalarClass::kSigned},
    {"Uint8", "u8", 8, ScalarClass::kUnsigned},
    {"Uint16", "u16", 16, ScalarClass::kUnsigned},
    {"Uint32", "u32", 32, ScalarClass::kUnsigned},
    {"Uint64", "u64", 64, ScalarClass::kUnsigned},
    {"Float4E2M1FN", "f4E2M1FN", 4, ScalarClass::kFloat},
    {"Float8E4M3FN", "f8E4M3FN", 8, ScalarClass::kFloat},
    {"Float8E5M2", "f8E5M2", 8, ScalarClass::kFloat},
    {"Float8E8M0FNU", "f8E8M0FNU", 8, ScalarClass::kFloat},
    {"Float16", "f16", 16, ScalarClass::kFloat},
    {"BFloat16", "bf16", 16, ScalarClass::kFloat},
    {"TFloat32", "tf32", 32, ScalarClass::kFloat},
    {"Float32", "f32", 32, ScalarClass::kFloat},
    {"Float64", "f64", 64, ScalarClass::kFloat},
};

}  // namespace

const ScalarFacts& facts(Scalar scalar) { return kFacts[static_cast<int>(scalar)]; }

Scalar scalar_of(std::string_view name) {
  for (int i = 0; i < kScalars; ++i) {
    if (kFacts[i].name == name) return static_cast<Scalar>(i);
  }
  throw ProgramError(concat("kernels do not compute with ", name));
}

std::string_view text_of(Space space) {
  switch (space) {
    case Space::kGlobal:
      return "gmem";
    case Space::kShared:
      return "smem";
    case Space::kRegister:
      return "rmem";
    default:
      return "generic";
  }
}

std::string to_string(const Type& type) {
  if (type.kind == Type::Kind::kNone) return "none";
  if (type.is_tensor_map()) return "tensor_map";
  const std::string_view scalar = facts(type.scalar).text;
  if (type.is_number()) return type.is_vector() ? concat(scalar, "x", type.lanes) : std::string(scalar);
  std::string text = concat("ptr<", scalar, ", ", text_of(type.space), ", align<", type.align, ">");
  if (type.swizzle.bits != 0) {
    text += concat(", S<", int{type.swizzle.bits}, ",", int{type.swizzle.base}, ",", int{type.swizzle.shift}, ">");
  }
  return text + ">";
}

}  // namespace tilewright::program

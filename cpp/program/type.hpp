// The types of a program's values: numbers, vectors of numbers, and pointers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright::program {

// Named as the Python classes are. The order is that of the table in type.cpp.
enum class Scalar : uint8_t {
  kBoolean,
  kInt4,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kFloat4E2M1FN,
  kFloat8E4M3FN,
  kFloat8E5M2,
  kFloat8E8M0FNU,
  kFloat16,
  kBFloat16,
  kTFloat32,
  kFloat32,
  kFloat64,
};
inline constexpr int kScalars = 19;

enum class ScalarClass : uint8_t { kBoolean, kSigned, kUnsigned, kFloat };

struct ScalarFacts {
  std::string_view name;  // of the Python class
  std::string_view text;  // in the program's text
  int bits;               // of one element in memory; a Boolean takes a byte
  ScalarClass family;
};
const ScalarFacts& facts(Scalar scalar);
// The scalar of a Python class's name; raises ProgramError where there is none.
Scalar scalar_of(std::string_view name);

inline bool is_float(Scalar scalar) { return facts(scalar).family == ScalarClass::kFloat; }
inline bool is_integer(Scalar scalar) { return !is_float(scalar); }  // a Boolean is one
inline bool is_signed(Scalar scalar) { return facts(scalar).family == ScalarClass::kSigned; }

enum class Space : uint8_t { kGeneric = 0, kGlobal = 1, kShared = 3, kRegister = 5 };
std::string_view text_of(Space space);

// Byte address a becomes a ^ ((a >> shift) & (mask of `bits` bits at `base`)) for shift >= 0; none where bits is 0.
struct ByteSwizzle {
  int8_t bits = 0;
  int8_t base = 0;
  int8_t shift = 0;
  friend bool operator==(const ByteSwizzle&, const ByteSwizzle&) = default;
};

struct Type {
  enum class Kind : uint8_t { kNone, kNumber, kPointer, kTensorMap };

  Kind kind = Kind::kNone;
  Scalar scalar = Scalar::kInt32;  // of a number, or of what a pointer points to
  Space space = Space::kGeneric;   // of a pointer
  ByteSwizzle swizzle;             // of a pointer
  uint32_t lanes = 1;              // of a number: 1, or the elements of a vector
  uint32_t align = 1;              // of a pointer: bytes that divide the address

  bool is_number() const { return kind == Kind::kNumber; }
  bool is_pointer() const { return kind == Kind::kPointer; }
  bool is_tensor_map() const { return kind == Kind::kTensorMap; }
  bool is_vector() const { return is_number() && lanes != 1; }
  friend bool operator==(const Type&, const Type&) = default;
};

inline Type number(Scalar scalar, uint32_t lanes = 1) {
  Type type;
  type.kind = Type::Kind::kNumber;
  type.scalar = scalar;
  type.lanes = lanes;
  return type;
}
inline Type tensor_map() {
  Type type;
  type.kind = Type::Kind::kTensorMap;
  return type;
}
inline Type pointer(Scalar scalar, Space space, uint32_t align, ByteSwizzle swizzle = {}) {
  Type type;
  type.kind = Type::Kind::kPointer;
  type.scalar = scalar;
  type.space = space;
  type.align = align;
  type.swizzle = swizzle;
  return type;
}

// `i32`, `f32x4`, `ptr<f32, gmem, align<16>>`.
std::string to_string(const Type& type);

}  // namespace tilewright::program

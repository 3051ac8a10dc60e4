// PTX that programs write as text, as the CPU executes it: instructions in a row, over registers of 64 bits that hold
// the patterns of their types. There are no jumps and no accesses to memory.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "program/type.hpp"

namespace tilewright::execute::ptx {

using program::Scalar;
using Register = uint32_t;
inline constexpr Register kNoRegister = ~Register{0};  // a result `_`, or no guard

enum class Code : uint8_t {
  kNothing,  // what has no effect here, as a prefetch
  kMove,
  kPack,    // {a, b}: the first one in the low bits
  kUnpack,  // the other way
  kAdd,
  kSub,
  kMul,  // the low half, or of floats the product
  kMulHigh,
  kMulWide,
  kMad,
  kMadHigh,
  kMadWide,
  kFma,
  kDiv,
  kRem,
  kMin,
  kMax,
  kAbs,
  kNeg,
  kCopySign,
  kAnd,
  kOr,
  kXor,
  kNot,
  kNotZero,  // cnot
  kShl,
  kShr,
  kCompare,
  kSelect,
  kConvert,
  kConvertTwo,  // cvt of two numbers to one register
  kExp2,
  kLog2,
  kSin,
  kCos,
  kRcp,
  kRsqrt,
  kSqrt,
  kTanh,
  kPopc,
  kClz,
  kBrev,
  kBfind,
  kBfe,
  kBfi,
  kLop3,
  kPrmt,
  kShfLeft,
  kShfRight,
  kDp4a,
  // of the lane, and of lanes together
  kLane,
  kLaneMask,
  kActiveMask,
  kVote,
  kShuffle,
  kRedux,
  kElect,
};

struct Operation {
  Code code = Code::kNothing;
  Scalar scalar = Scalar::kUint32;  // of the operands
  Scalar to = Scalar::kUint32;      // of the result, where it is another one
  bool is_pair = false;             // two numbers of 16 bits
  bool is_pair_to = false;
  bool flushes = false;    // .ftz
  bool saturates = false;  // .sat
  bool relu = false;
  bool is_finite = false;  // .satfinite
  bool keeps_nan = false;  // .NaN
  bool wraps = false;      // of shf
  std::string how;         // a comparison, a rounding to integers, a vote, ..
  std::string with;        // of setp: and, or, xor with the last operand
  std::vector<Register> results, operands;
  Register guard = kNoRegister;
  bool guard_is_not = false;
};

struct Assembly {
  std::vector<Operation> operations;
  std::vector<std::pair<Register, uint64_t>> constants;
  std::vector<Register> outputs, inputs;  // in the order of the constraints
  bool is_together = false;               // lanes take part in what others compute
  Register registers = 0;                 // as many
};

// The text and its constraints, which name outputs before inputs. Throws program::ProgramError with the instruction
// that is not known.
Assembly parse(const std::string& text, const std::string& constraints);

// What one lane computes, of an operation that no other lanes take part in.
uint64_t compute(const Operation& operation, const std::vector<uint64_t>& operands);

inline uint32_t bits_of(Scalar scalar) { return static_cast<uint32_t>(program::facts(scalar).bits); }
inline uint64_t low(uint64_t pattern, uint32_t bits) {
  return bits >= 64 ? pattern : pattern & ((uint64_t{1} << bits) - 1);
}

}  // namespace tilewright::execute::ptx

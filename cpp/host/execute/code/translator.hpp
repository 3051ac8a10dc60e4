// From a kernel's operations to instructions of the CPU; a source file for each part of the class.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "assembler.hpp"
#include "core/error.hpp"
#include "facts.hpp"
#include "program/emit/vectorize.hpp"

namespace tilewright::execute {

using program::Block;
using program::BlockId;
using program::Family;
using program::is_float;
using program::kNoValue;
using program::Opcode;
using program::Operation;
using program::Program;
using program::ProgramError;
using program::Scalar;
using program::Space;
using program::Type;
using program::ValueId;

inline constexpr Register kNone = kNoSlot;

inline bool is_small(Scalar scalar) {
  return is_float(scalar) && scalar != Scalar::kFloat32 && scalar != Scalar::kFloat64;
}

// What a scalar is computed with; small floats with f32.
Kind kind_of(Scalar scalar);

inline bool wraps(Scalar scalar) { return scalar == Scalar::kBoolean || scalar == Scalar::kInt4; }

// A register with the type of what it holds.
struct Operand {
  Register reg = kNone;
  Type type;
  uint32_t bytes() const { return bytes_of(type); }
  bool is_one() const { return type.is_pointer() || type.lanes == 1; }
};

class Translator {
 public:
  Translator(const Program& program, const program::Function& function, Code& code)
      : program_(program),
        code_(code),
        out_(code),
        uses_(program, function),
        ranges_(program, function, uses_),
        facts_(facts_of(program, function)),
        registers_(program.values.size(), kNone),
        allocations_(program.operations.size(), -1) {
    code.program = &program;
    code.function = &function;
  }

  void translate();

 private:
  [[noreturn]] void refuse(const Operation& operation, const std::string& why) const;

  // ---- registers of values ----

  Operand value(ValueId id) const { return {registers_[id], program_.type(id)}; }
  Operand operand(const Operation& operation, std::size_t i) const { return value(operation.operands.at(i)); }
  Operand fresh(const Type& type) { return {out_.fresh(bytes_of(type), type.is_pointer() ? 1 : type.lanes), type}; }
  Operand fresh(Scalar scalar, uint32_t lanes) { return fresh(program::number(scalar, lanes)); }
  // The register of a result, made at its first use.
  Operand result(ValueId id) {
    const Type& type = program_.type(id);
    if (registers_[id] == kNone) registers_[id] = fresh(type).reg;
    return {registers_[id], type};
  }
  Operand result(const Operation& operation) { return result(operation.results.at(0)); }
  static uint32_t lanes_of(const Operand& x) { return x.type.is_pointer() ? 1 : x.type.lanes; }

  // ---- one-to-one instructions ----

  void unary(Handler handler, const Operand& to, const Operand& a, const Operation* operation = nullptr) {
    if (handler == nullptr && operation != nullptr) {
      refuse(*operation, concat("there is none of ", program::to_string(a.type)));
    }
    out_.add(handler, to.reg, {a.reg, kNone, kNone}, lanes_of(to)).one_a = a.is_one();
    out_.set_flow(Flow::kEach, to.bytes(), a.bytes());
  }
  void binary(Handler handler, const Operand& to, const Operand& a, const Operand& b, Handler checked = nullptr) {
    Instruction& i = out_.add(handler, to.reg, {a.reg, b.reg, kNone}, std::max(lanes_of(a), lanes_of(b)), checked);
    i.one_a = a.is_one();
    i.one_b = b.is_one();
    out_.set_flow(Flow::kEach, to.bytes(), a.bytes(), b.bytes());
  }
  void ternary(Handler handler, const Operand& to, const Operand& a, const Operand& b, const Operand& c,
               Flow flow = Flow::kEach) {
    Instruction& i = out_.add(handler, to.reg, {a.reg, b.reg, c.reg}, lanes_of(to));
    i.one_a = a.is_one();
    i.one_b = b.is_one();
    i.one_c = c.is_one();
    out_.set_flow(flow, to.bytes(), a.bytes(), b.bytes(), c.bytes());
  }
  void move(const Operand& to, const Operand& from, bool masked) {
    if (to.reg == from.reg) return;
    out_.add(copy_lanes_handler(masked, to.bytes()), to.reg, {from.reg, kNone, kNone}, lanes_of(to));
    out_.set_flow(masked ? Flow::kBlend : Flow::kEach, to.bytes(), from.bytes());
  }
  Operand widened(const Operand& x) {
    if (!is_small(x.type.scalar)) return x;
    const Operand wide = fresh(Scalar::kFloat32, x.type.lanes);
    unary(widen_handler(x.type.scalar), wide, x);
    return wide;
  }
  Operand doubled(const Operand& x) {  // as f64
    const Operand wide = widened(x), twice = fresh(Scalar::kFloat64, x.type.lanes);
    unary(cast_handler(Kind::kF32, Kind::kF64), twice, wide);
    return twice;
  }
  void narrow(const Operand& to, const Operand& from) {
    unary(narrow_handler(to.type.scalar, from.type.scalar == Scalar::kFloat64), to, from);
  }

  // ---- arithmetic ----

  void compute_unary(const Operation& operation);

  void wrap(const Operand& to) { unary(wrap_handler(to.type.scalar), to, to); }

  void compute_binary(const Operation& operation, Opcode code, const Operand& to, const Operand& x, const Operand& y);
  Handler binary_of(const Operation& operation, Opcode code, Kind kind) const;

  void compute_shift(const Operation& operation);

  void compute_fma(const Operation& operation);

  void compute_cast(const Operation& operation);

  // ---- vectors ----

  void compute_vector(const Operation& operation);

  // An index as an Int32.
  Register integer_index(const Operation& operation, std::size_t at);

  void compute_reduce(const Operation& operation, const Operand& to);

  Operands all_operands(const Operation& operation) const;
  static Operands integers(const Operation& operation);

  // ---- pointers ----

  static uint32_t unit_of(Scalar scalar) { return is_half(scalar) ? 1 : bytes_of(scalar); }

  void set_constant(const Operation& operation, uint64_t bits);

  void compute_pointer(const Operation& operation);

  void allocate(const Operation& operation, const Type& type, bool half);

  Operand with_constant(Opcode code, const Operand& x, uint64_t bits);
  Operand in_bytes(const Operand& pointer, bool half);
  void from_bytes(const Operand& to, const Operand& bytes, bool half);
  Operand in_space(const Operation& operation, const Operand& x, Space from, Space to);

  // ---- memory ----

  AccessCode access(const program::Access& from);

  static void set_offsets(AccessCode& access);

  MemoryCode memory(const Operation& operation);

  void compute_mbarrier(const Operation& operation);
  void compute_bulk(const Operation& operation);
  void compute_memory(const Operation& operation);

  // ---- control ----

  void block(const Block& block);

  void compute_if(const Operation& operation);
  void branch(const Operation& operation, std::size_t which, bool masked);

  void at(const Operation& operation) { out_.place(operation.place, static_cast<uint32_t>(id_)); }

  // What a loop carries on to its next round. Where one carried value becomes another, all are read before any changes.
  void carry(const std::vector<Operand>& to, const std::vector<ValueId>& yields, std::size_t first, bool masked);

  void compute_for(const Operation& operation);

  void compute_while(const Operation& operation);

  // ---- all ----

  void special(const Operation& operation);

  void compute_warp(const Operation& operation);

  void compute_sync(const Operation& operation);

  void compute_other(const Operation& operation);

  void assembly(const Operation& operation);
  void operation(const Operation& operation);

  // Integers of 4 bits are kept with their sign.
  uint64_t constant_bits(const Operation& operation) const;

  void compute_bitcast(const Operation& operation);

  const Program& program_;
  Code& code_;
  Assembler out_;
  program::Uses uses_;
  program::Ranges ranges_;
  std::vector<ValueFacts> facts_;
  std::vector<Register> registers_;   // of values
  std::vector<int32_t> allocations_;  // of operations frame and shared
  std::size_t id_ = 0;                // of the operation that is translated
};

}  // namespace tilewright::execute

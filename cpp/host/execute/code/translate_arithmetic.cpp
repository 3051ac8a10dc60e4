// Translation: arithmetic and vectors.
#include "translator.hpp"

namespace tilewright::execute {

void Translator::compute_unary(const Operation& operation) {
  const Operand to = result(operation), x = operand(operation, 0);
  const Scalar scalar = x.type.scalar;
  const bool is_sign = operation.code == Opcode::kNeg || operation.code == Opcode::kAbs;
  if (is_small(scalar) && is_sign && scalar != Scalar::kTFloat32) {
    return unary(float_bits_handler(operation.code, scalar), to, x);
  }
  if (is_small(scalar)) {
    const Operand wide = widened(x), computed = fresh(Scalar::kFloat32, x.type.lanes);
    unary(unary_handler(operation.code, Kind::kF32), computed, wide, &operation);
    return narrow(to, computed);
  }
  unary(unary_handler(operation.code, kind_of(scalar)), to, x, &operation);
  if (wraps(scalar)) wrap(to);
}

void Translator::compute_binary(const Operation& operation, Opcode code, const Operand& to, const Operand& x,
                                const Operand& y) {
  const Scalar scalar = x.type.scalar;
  if (is_small(scalar)) {
    const Operand computed = fresh(Scalar::kFloat32, to.type.lanes);
    const Operand a = widened(x), b = widened(y);
    binary(binary_of(operation, code, Kind::kF32), computed, a, b);
    return narrow(to, computed);
  }
  const Kind kind = kind_of(scalar);
  const bool divides = !is_float(scalar) && (code == Opcode::kDiv || code == Opcode::kRem ||
                                             code == Opcode::kFloorDiv || code == Opcode::kFloorMod);
  const Handler check = divides                                ? division_check_handler(kind)
                        : operation.text == program::kHasToFit ? fit_check_handler(code, kind)
                                                               : nullptr;
  binary(binary_of(operation, code, kind), to, x, y, check);
  if (wraps(scalar)) wrap(to);
}

Handler Translator::binary_of(const Operation& operation, Opcode code, Kind kind) const {
  const Handler handler = binary_handler(code, kind);
  if (handler == nullptr)
    refuse(operation, concat("there is none of ", program::to_string(operand(operation, 0).type)));
  return handler;
}

void Translator::compute_shift(const Operation& operation) {
  const Operand to = result(operation), x = operand(operation, 0);
  Operand by = operand(operation, 1);
  const Kind kind = kind_of(x.type.scalar), kind_by = kind_of(by.type.scalar);
  if (by.bytes() > x.bytes()) {
    const Operand clamped = fresh(by.type);
    unary(clamp_shift_handler(kind_by), clamped, by);
    by = clamped;
  }
  if (by.bytes() != x.bytes()) {
    const Operand same = fresh(x.type.scalar, by.type.lanes);
    unary(cast_handler(kind_by, kind), same, by);
    by = same;
  }
  binary(binary_of(operation, operation.code, kind), to, x, by);
  if (wraps(x.type.scalar)) wrap(to);
}

void Translator::compute_fma(const Operation& operation) {
  const Operand to = result(operation);
  const Operand x = operand(operation, 0), y = operand(operation, 1), z = operand(operation, 2);
  const Scalar scalar = to.type.scalar;
  if (!is_float(scalar)) refuse(operation, "its operands are no floats");
  if (!is_small(scalar)) return ternary(fma_handler(kind_of(scalar)), to, x, y, z);
  const Operand computed = fresh(Scalar::kFloat64, to.type.lanes);
  const Operand a = doubled(x), b = doubled(y), c = doubled(z);
  ternary(fma_rounded_to_odd_handler(), computed, a, b, c);
  narrow(to, computed);
}

void Translator::compute_cast(const Operation& operation) {
  const Operand to = result(operation), x = operand(operation, 0);
  const Scalar source = x.type.scalar, target = to.type.scalar;
  if (source == target) return move(to, x, false);
  if (is_small(target)) {
    if (source == Scalar::kFloat32 || source == Scalar::kFloat64) return narrow(to, x);
    if (is_small(source)) return narrow(to, widened(x));
    const Operand wide = fresh(Scalar::kFloat64, x.type.lanes);
    unary(cast_to_odd_handler(kind_of(source)), wide, x);
    return narrow(to, wide);
  }
  const Operand wide = widened(x);
  const Kind from = kind_of(wide.type.scalar);
  if (target == Scalar::kBoolean) return unary(cast_to_boolean_handler(from), to, wide);
  if (from == kind_of(target)) {
    move(to, wide, false);
  } else {
    unary(cast_handler(from, kind_of(target)), to, wide);
  }
  if (target == Scalar::kInt4) wrap(to);
}

void Translator::compute_vector(const Operation& operation) {
  const Operand to = result(operation);
  const uint32_t bytes = to.bytes();
  const std::size_t count = operation.operands.size();
  switch (operation.code) {
    case Opcode::kSplat:
      unary(splat_handler(bytes), to, operand(operation, 0));
      return out_.set_flow(Flow::kSplat, bytes, bytes);
    case Opcode::kPack:
      out_.add_operands(pack_handler(bytes), to.reg, {}, lanes_of(to), all_operands(operation));
      return out_.set_flow(Flow::kPack, bytes);
    case Opcode::kExtract: {
      const Operand x = operand(operation, 0);
      const Register index = count > 1 ? integer_index(operation, 1) : kNone;
      Instruction& i = out_.add(extract_handler(bytes, count > 1), to.reg, {x.reg, index, kNone}, lanes_of(x));
      if (count == 1) i.side = static_cast<uint32_t>(operation.ints[0]);
      return out_.set_flow(count == 1 ? Flow::kExtract : Flow::kExtractAt, bytes, bytes);
    }
    case Opcode::kInsert: {
      const Operand x = operand(operation, 0), y = operand(operation, 1);
      const Register index = count > 2 ? integer_index(operation, 2) : kNone;
      Instruction& i = out_.add(insert_handler(bytes, count > 2), to.reg, {x.reg, y.reg, index}, lanes_of(x));
      if (count == 2) i.side = static_cast<uint32_t>(operation.ints[0]);
      return out_.set_flow(count == 2 ? Flow::kInsert : Flow::kInsertAt, bytes, bytes);
    }
    case Opcode::kShuffle:
      out_.add_operands(shuffle_elements_handler(bytes), to.reg, {operand(operation, 0).reg, kNone, kNone},
                        lanes_of(to), integers(operation));
      return out_.set_flow(Flow::kShuffle, bytes, bytes);
    default:
      return compute_reduce(operation, to);
  }
}

Register Translator::integer_index(const Operation& operation, std::size_t at) {
  const Operand index = operand(operation, at);
  if (index.type.scalar == Scalar::kInt32) return index.reg;
  const Operand narrowed = fresh(Scalar::kInt32, 1);
  unary(cast_handler(kind_of(index.type.scalar), Kind::kI32), narrowed, index);
  return narrowed.reg;
}

void Translator::compute_reduce(const Operation& operation, const Operand& to) {
  const Operand x = operand(operation, 0), init = operand(operation, 1);
  const Type scalar = program::number(x.type.scalar);
  const Opcode code = program::opcode_of(operation.text);
  const auto extracted = [&](const Operand& vector, uint32_t element) {
    if (vector.is_one()) return vector;
    const Operand one = fresh(scalar);
    out_.add(extract_handler(vector.bytes(), false), one.reg, {vector.reg, kNone, kNone}).side = element;
    out_.set_flow(Flow::kExtract, vector.bytes(), vector.bytes());
    return one;
  };
  std::vector<Operand> sums;
  for (uint32_t g = 0; g < init.type.lanes; ++g) sums.push_back(extracted(init, g));
  for (uint32_t e = 0; e < x.type.lanes; ++e) {
    Operand& sum = sums[static_cast<std::size_t>(operation.ints[e])];
    const Operand next = fresh(scalar);
    compute_binary(operation, code, next, sum, extracted(x, e));
    sum = next;
  }
  if (sums.size() == 1) return move(to, sums[0], false);
  Operands all;
  for (const Operand& sum : sums) all.slots.push_back(sum.reg);
  out_.add_operands(pack_handler(to.bytes()), to.reg, {}, lanes_of(to), std::move(all));
  out_.set_flow(Flow::kPack, to.bytes());
}

Operands Translator::all_operands(const Operation& operation) const {
  Operands all = integers(operation);
  for (std::size_t i = 0; i < operation.operands.size(); ++i) {
    all.slots.push_back(operand(operation, i).reg);
    all.types.push_back(operand(operation, i).type);
  }
  return all;
}

Operands Translator::integers(const Operation& operation) {
  Operands all;
  all.ints = operation.ints;
  all.text = operation.text;
  return all;
}

}  // namespace tilewright::execute

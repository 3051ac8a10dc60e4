// From a kernel's operations to instructions of the CPU.
#include <algorithm>

#include "address.hpp"
#include "assembler.hpp"
#include "core/error.hpp"
#include "facts.hpp"
#include "inline_asm.hpp"
#include "machine.hpp"
#include "program/fold.hpp"

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

namespace {

constexpr Register kNone = kNoSlot;

bool is_small(Scalar scalar) { return is_float(scalar) && scalar != Scalar::kFloat32 && scalar != Scalar::kFloat64; }

// What a scalar is computed with; small floats with f32.
Kind kind_of(Scalar scalar) {
  switch (scalar) {
    case Scalar::kInt4:
    case Scalar::kInt8:
      return Kind::kI8;
    case Scalar::kInt16:
      return Kind::kI16;
    case Scalar::kInt32:
      return Kind::kI32;
    case Scalar::kInt64:
      return Kind::kI64;
    case Scalar::kBoolean:
    case Scalar::kUint8:
      return Kind::kU8;
    case Scalar::kUint16:
      return Kind::kU16;
    case Scalar::kUint32:
      return Kind::kU32;
    case Scalar::kUint64:
      return Kind::kU64;
    case Scalar::kFloat64:
      return Kind::kF64;
    default:
      return Kind::kF32;
  }
}

bool wraps(Scalar scalar) { return scalar == Scalar::kBoolean || scalar == Scalar::kInt4; }

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
        facts_(facts_of(program, function)),
        registers_(program.values.size(), kNone),
        allocations_(program.operations.size(), -1) {
    code.program = &program;
    code.function = &function;
  }

  void translate() {
    const Block& body = program_.blocks[code_.function->body];
    for (const ValueId id : body.parameters) {
      const Type& type = program_.type(id);
      const bool half = type.is_pointer() && is_half(type.scalar);
      if (facts_[id].is_live) registers_[id] = out_.permanent(bytes_of(type));
      code_.parameters.push_back({registers_[id], bytes_of(type), half});
    }
    block(body);
    out_.add(end_handler(), kNone);
    out_.finish();
  }

 private:
  [[noreturn]] void refuse(const Operation& operation, const std::string& why) const {
    const program::Place& place = program_.places[operation.place];
    throw ProgramError(concat(place.file, ":", place.line, ": ", program::facts(operation.code).text,
                              " cannot be executed by the CPU: ", why));
  }

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

  void compute_unary(const Operation& operation) {
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

  void wrap(const Operand& to) { unary(wrap_handler(to.type.scalar), to, to); }

  void compute_binary(const Operation& operation, Opcode code, const Operand& to, const Operand& x, const Operand& y) {
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
    binary(binary_of(operation, code, kind), to, x, y, divides ? division_check_handler(kind) : nullptr);
    if (wraps(scalar)) wrap(to);
  }
  Handler binary_of(const Operation& operation, Opcode code, Kind kind) const {
    const Handler handler = binary_handler(code, kind);
    if (handler == nullptr)
      refuse(operation, concat("there is none of ", program::to_string(operand(operation, 0).type)));
    return handler;
  }

  void compute_shift(const Operation& operation) {
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

  void compute_fma(const Operation& operation) {
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

  void compute_cast(const Operation& operation) {
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

  // ---- vectors ----

  void compute_vector(const Operation& operation) {
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

  // An index as an Int32.
  Register integer_index(const Operation& operation, std::size_t at) {
    const Operand index = operand(operation, at);
    if (index.type.scalar == Scalar::kInt32) return index.reg;
    const Operand narrowed = fresh(Scalar::kInt32, 1);
    unary(cast_handler(kind_of(index.type.scalar), Kind::kI32), narrowed, index);
    return narrowed.reg;
  }

  void compute_reduce(const Operation& operation, const Operand& to) {
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

  Operands all_operands(const Operation& operation) const {
    Operands all = integers(operation);
    for (std::size_t i = 0; i < operation.operands.size(); ++i) {
      all.slots.push_back(operand(operation, i).reg);
      all.types.push_back(operand(operation, i).type);
    }
    return all;
  }
  static Operands integers(const Operation& operation) {
    Operands all;
    all.ints = operation.ints;
    all.text = operation.text;
    return all;
  }

  // ---- pointers ----

  static uint32_t unit_of(Scalar scalar) { return is_half(scalar) ? 1 : bytes_of(scalar); }

  void set_constant(const Operation& operation, uint64_t bits) {
    registers_[operation.results[0]] = out_.constant(bits, bytes_of(program_.type(operation.results[0])));
  }

  void compute_pointer(const Operation& operation) {
    const Type& type = program_.type(operation.results[0]);
    const bool half = type.is_pointer() && is_half(type.scalar);
    switch (operation.code) {
      case Opcode::kFrame:
        return allocate(operation, type, half);
      case Opcode::kShared:
        return set_constant(operation, static_cast<uint64_t>(operation.ints[0]) << (half ? 1 : 0));
      case Opcode::kOffset: {
        const Operand pointer = operand(operation, 0), by = operand(operation, 1);
        const bool is_wide = by.type.scalar == Scalar::kInt64;
        out_.add(offset_handler(is_wide), result(operation).reg, {pointer.reg, by.reg, kNone}).side =
            unit_of(pointer.type.scalar);
        return out_.set_flow(Flow::kEach, 8, 8, by.bytes());
      }
      case Opcode::kRecast: {
        const Operand pointer = operand(operation, 0);
        const Operand bytes = in_bytes(pointer, is_half(pointer.type.scalar));
        const Operand moved = in_space(operation, bytes, pointer.type.space, type.space);
        return from_bytes(result(operation), moved, half);
      }
      case Opcode::kAddress: {
        const Operand pointer = operand(operation, 0);
        return move(result(operation), in_bytes(pointer, is_half(pointer.type.scalar)), false);
      }
      default:
        return from_bytes(result(operation), operand(operation, 0), half);
    }
  }

  void allocate(const Operation& operation, const Type& type, bool half) {
    const auto elements = static_cast<uint64_t>(operation.ints.at(0));
    const uint64_t align = operation.ints.size() > 1 ? static_cast<uint64_t>(operation.ints[1]) : 1;
    const uint64_t to = std::max<uint64_t>({align, type.align, bytes_of(type.scalar), 4});
    const uint64_t offset = (code_.frame_bytes + to - 1) / to * to;
    const uint64_t bytes = half ? (elements + 1) / 2 : elements * bytes_of(type.scalar);
    code_.frame_bytes = static_cast<uint32_t>((offset + bytes + 3) / 4 * 4);
    const auto index = static_cast<uint32_t>(code_.allocations.size());
    allocations_[id_] = static_cast<int32_t>(index);
    code_.allocations.push_back(
        {static_cast<uint32_t>(offset), static_cast<uint32_t>(bytes), program_.values[operation.results[0]].name});
    set_constant(operation, half ? offset * 2 : offset);
    out_.add(nothing_handler(), kNone, {}, 1, frame_handler()).side = index;
  }

  Operand with_constant(Opcode code, const Operand& x, uint64_t bits) {
    const Operand constant{out_.constant(bits, 8), program::number(Scalar::kUint64)}, to = fresh(Scalar::kUint64, 1);
    binary(binary_handler(code, Kind::kU64), to, x, constant);
    return to;
  }
  Operand in_bytes(const Operand& pointer, bool half) {
    return half ? with_constant(Opcode::kShr, pointer, 1) : pointer;
  }
  void from_bytes(const Operand& to, const Operand& bytes, bool half) {
    move(to, half ? with_constant(Opcode::kShl, bytes, 1) : bytes, false);
  }
  Operand in_space(const Operation& operation, const Operand& x, Space from, Space to) {
    const auto is_host = [](Space space) { return space == Space::kGeneric || space == Space::kGlobal; };
    if (from == to || (is_host(from) && is_host(to))) return x;
    if (from == Space::kShared && to == Space::kGeneric) return with_constant(Opcode::kOr, x, kSharedWindow);
    if (from == Space::kRegister && to == Space::kGeneric) return with_constant(Opcode::kOr, x, kFrameWindow);
    if (from == Space::kGeneric) return with_constant(Opcode::kAnd, x, ~kWindowMask);
    refuse(operation, concat("no address is in ", text_of(from), " and in ", text_of(to)));
  }

  // ---- memory ----

  AccessCode access(const program::Access& from) {
    const Type& type = program_.type(from.pointer);
    const ValueFacts& facts = facts_[from.pointer];
    AccessCode to;
    to.pointer = registers_[from.pointer];
    to.space = type.space;
    to.scalar = type.scalar;
    to.bytes = bytes_of(type.scalar);
    to.unit = unit_of(type.scalar);
    to.is_half = is_half(type.scalar);
    to.is_uniform = facts.is_uniform;
    to.is_aligned = type.align % to.bytes == 0;
    to.count = static_cast<uint32_t>(from.size());
    to.align = type.align;
    to.swizzle = type.swizzle;
    to.element_swizzle = from.swizzle;
    to.offset = from.offset;
    to.is_static = from.dynamic == kNoValue;
    const auto dynamic = [&](ValueId id, bool& is_wide) {
      if (id == kNoValue) return kNone;
      is_wide = program_.type(id).scalar == Scalar::kInt64;
      return registers_[id];
    };
    to.dynamic = dynamic(from.dynamic, to.dynamic_is_wide);
    for (const program::AccessMode& mode : from.modes) {
      AccessCode::Mode& made = to.modes.emplace_back(AccessCode::Mode{mode.extent, mode.stride, kNone, false});
      made.dynamic = dynamic(mode.dynamic, made.is_wide);
      to.is_static = to.is_static && mode.dynamic == kNoValue;
    }
    if (to.is_static) set_offsets(to);
    to.parameter = facts.parameter;
    if (facts.allocation >= 0) {
      to.allocation = allocations_[static_cast<std::size_t>(facts.allocation)];
      const Operation& origin = program_.operations[static_cast<std::size_t>(facts.allocation)];
      to.name = program_.values[origin.results[0]].name;
    }
    if (to.name.empty()) to.name = program_.values[from.pointer].name;
    const uint32_t granule = to.is_half ? 1 : std::min(to.bytes, 4u);
    if (to.space == Space::kShared || to.space == Space::kGeneric) {
      code_.shared_granule = std::min(code_.shared_granule, granule);
    }
    if (to.space == Space::kRegister || to.space == Space::kGeneric) {
      code_.frame_granule = std::min(code_.frame_granule, granule);
    }
    if (to.space == Space::kGlobal || to.space == Space::kGeneric) {
      code_.global_granule = std::min(code_.global_granule, granule);
    }
    return to;
  }

  static void set_offsets(AccessCode& access) {
    for (uint32_t e = 0; e < access.count; ++e) {
      int64_t offset = access.offset, rest = e;
      for (const AccessCode::Mode& mode : access.modes) {
        offset += rest % mode.extent * mode.stride;
        rest /= mode.extent;
      }
      if (access.element_swizzle.bits != 0) {
        offset = static_cast<int64_t>(swizzled(access.element_swizzle, static_cast<uint64_t>(offset)));
      }
      access.offsets.push_back(offset * access.unit);
    }
  }

  MemoryCode memory(const Operation& operation) {
    MemoryCode memory;
    for (const program::Access& each : operation.accesses) memory.accesses.push_back(access(each));
    memory.ints = operation.ints;
    memory.text = operation.text;
    return memory;
  }

  void compute_memory(const Operation& operation) {
    MemoryCode code = memory(operation);
    switch (operation.code) {
      case Opcode::kLoad: {
        const Handler run = load_handler(code.accesses[0], false), checked = load_handler(code.accesses[0], true);
        out_.add_memory(run, checked, result(operation).reg, {}, std::move(code));
        return out_.set_flow(Flow::kMemory);
      }
      case Opcode::kStore:
      case Opcode::kFill: {
        const Operand x = operand(operation, 0);
        const Handler run = store_handler(code.accesses[0], false), checked = store_handler(code.accesses[0], true);
        out_.add_memory(run, checked, kNone, {x.reg, kNone, kNone}, std::move(code)).one_a = x.is_one();
        return out_.set_flow(Flow::kMemory);
      }
      case Opcode::kCopy:
        if (operation.text == "cp.async") {
          out_.add_memory(async_copy_handler(false), async_copy_handler(true), kNone, {}, std::move(code));
        } else if (operation.text.empty()) {
          out_.add_memory(copy_handler(false), copy_handler(true), kNone, {}, std::move(code));
        } else {
          refuse(operation, concat("there is no copy by ", operation.text));
        }
        return out_.set_flow(Flow::kMemory);
      case Opcode::kFmaTile: {
        const Handler run = fma_tile_handler(code, false), checked = fma_tile_handler(code, true);
        out_.add_memory(run, checked, kNone, {}, std::move(code));
        return out_.set_flow(Flow::kMemory);
      }
      default: {
        const AccessCode& at = code.accesses[0];
        if (at.space != Space::kShared) code_.has_global_atomics = true;
        const Register compare = operation.operands.size() > 1 ? operand(operation, 1).reg : kNone;
        const uint32_t bytes = at.bytes;
        out_.add_memory(atomic_handler(), nullptr, result(operation).reg, {operand(operation, 0).reg, compare, kNone},
                        std::move(code));
        return out_.set_flow(Flow::kAtomic, bytes, bytes, bytes);
      }
    }
  }

  // ---- control ----

  void block(const Block& block) {
    const std::size_t outer = id_;
    for (const program::OpId id : block.operations) {
      id_ = id;
      operation(program_.operations[id]);
    }
    id_ = outer;
  }

  void compute_if(const Operation& operation) {
    const Operand condition = operand(operation, 0);
    const bool masked = !facts_[operation.operands[0]].is_uniform;
    const uint32_t begin = out_.position();
    out_.add(if_handler(), kNone, {condition.reg, kNone, kNone});
    out_.set_flow(Flow::kBranch, 0, 1);
    branch(operation, 0, masked);
    const uint32_t middle = out_.position();
    out_.set_target(begin, middle);
    out_.add(else_handler(), kNone);
    branch(operation, 1, masked);
    out_.set_target(middle, out_.position());
    out_.add(end_if_handler(), kNone);
  }
  void branch(const Operation& operation, std::size_t which, bool masked) {
    const Block& inner = program_.blocks[operation.blocks[which]];
    block(inner);
    at(operation);
    for (std::size_t i = 0; i < operation.results.size(); ++i) {
      if (facts_[operation.results[i]].is_live) move(result(operation.results[i]), value(inner.yields[i]), masked);
    }
  }

  void at(const Operation& operation) { out_.place(operation.place, static_cast<uint32_t>(id_)); }

  // What a loop carries on to its next round. Where one carried value becomes another, all are read before any changes.
  void carry(const std::vector<Operand>& to, const std::vector<ValueId>& yields, std::size_t first, bool masked) {
    std::vector<Operand> from;
    for (std::size_t i = 0; i < to.size(); ++i) from.push_back(value(yields[i + first]));
    for (std::size_t i = 0; i < to.size(); ++i) {
      const bool is_overwritten = std::any_of(to.begin(), to.end(), [&](const Operand& other) {
        return other.reg == from[i].reg && other.reg != to[i].reg;
      });
      if (!is_overwritten) continue;
      const Operand kept = fresh(from[i].type);
      move(kept, from[i], false);
      from[i] = kept;
    }
    for (std::size_t i = 0; i < to.size(); ++i) move(to[i], from[i], masked);
  }

  void compute_for(const Operation& operation) {
    const Block& body = program_.blocks[operation.blocks[0]];
    const Operand start = operand(operation, 0), stop = operand(operation, 1), step = operand(operation, 2);
    const Kind kind = kind_of(start.type.scalar);
    if (is_float(start.type.scalar)) refuse(operation, "its bounds are no integers");
    const bool masked = !(facts_[operation.operands[0]].is_uniform && facts_[operation.operands[1]].is_uniform &&
                          facts_[operation.operands[2]].is_uniform);
    const Operand index = result(body.parameters[0]);
    move(index, start, false);
    std::vector<Operand> carried;
    for (std::size_t i = 0; i < operation.results.size(); ++i) {
      carried.push_back(result(body.parameters[i + 1]));
      registers_[operation.results[i]] = carried.back().reg;
      move(carried.back(), operand(operation, i + 3), false);
    }
    out_.add(enter_handler(), kNone);
    const uint32_t test = out_.position();
    out_.add(for_test_handler(kind), kNone, {index.reg, stop.reg, step.reg});
    out_.set_flow(Flow::kBranch, 0, index.bytes(), index.bytes(), index.bytes());
    block(body);
    at(operation);
    carry(carried, body.yields, 0, masked);
    binary(binary_handler(Opcode::kAdd, kind), index, index, step);
    const uint32_t last = out_.position();
    out_.add(jump_handler(), kNone).target = test;
    out_.set_target(test, last + 1);
    out_.loop(test, last);
  }

  void compute_while(const Operation& operation) {
    const Block &before = program_.blocks[operation.blocks[0]], &body = program_.blocks[operation.blocks[1]];
    std::vector<Operand> carried, decided;
    for (std::size_t i = 0; i < operation.results.size(); ++i) {
      carried.push_back(result(before.parameters[i]));
      decided.push_back(result(body.parameters[i]));
      registers_[operation.results[i]] = decided.back().reg;
      move(carried.back(), operand(operation, i), false);
    }
    out_.add(enter_handler(), kNone);
    const uint32_t first = out_.position();
    block(before);
    at(operation);
    const bool masked = !facts_[before.yields[0]].is_uniform;
    carry(decided, before.yields, 1, masked);
    const uint32_t test = out_.position();
    out_.add(while_test_handler(), kNone, {value(before.yields[0]).reg, kNone, kNone});
    out_.set_flow(Flow::kBranch, 0, 1);
    block(body);
    at(operation);
    carry(carried, body.yields, 0, masked);
    const uint32_t last = out_.position();
    out_.add(jump_handler(), kNone).target = first;
    out_.set_target(test, last + 1);
    out_.loop(first, last);
    // Lanes that have left the loop keep theirs until all have.
    for (const Operand& each : decided) out_.keep(each.reg, first, last);
  }

  // ---- all ----

  void special(const Operation& operation) {
    const Register reg = out_.permanent(4);
    registers_[operation.results[0]] = reg;
    code_.specials.push_back({operation.code, operation.ints.empty() ? 0 : static_cast<int>(operation.ints[0]), reg});
  }

  void compute_warp(const Operation& operation) {
    const Operand to = result(operation);
    switch (operation.code) {
      case Opcode::kElectOne:
        out_.add(elect_handler(), to.reg);
        return out_.set_flow(Flow::kDefined, 1);
      case Opcode::kUniform: {
        const Operand x = operand(operation, 0);
        out_.add(uniform_handler(), to.reg, {x.reg, kNone, kNone}, lanes_of(x)).side = x.bytes();
        return out_.set_flow(Flow::kEach, x.bytes(), x.bytes());
      }
      default: {
        const Handler handler = operation.code == Opcode::kShuffleSync ? shuffle_sync_handler()
                                : operation.code == Opcode::kVote      ? vote_handler()
                                : operation.code == Opcode::kMatch     ? match_handler()
                                                                       : redux_handler();
        out_.add_operands(handler, to.reg, {}, lanes_of(to), all_operands(operation));
        return out_.set_flow(operation.code == Opcode::kShuffleSync ? Flow::kNone : Flow::kTogether, to.bytes());
      }
    }
  }

  void compute_sync(const Operation& operation) {
    const auto optional = [&](std::size_t i) {
      return i < operation.operands.size() ? integer_index(operation, i) : kNone;
    };
    switch (operation.code) {
      case Opcode::kSyncThreads:
        out_.add(sync_threads_handler(), kNone);
        return;
      case Opcode::kBarrier:
      case Opcode::kBarrierArrive: {
        const Register id = optional(0), threads = optional(1);
        out_.add(barrier_handler(operation.code == Opcode::kBarrier), kNone, {id, threads, kNone});
        return;
      }
      case Opcode::kSyncWarp:
        out_.add(nothing_handler(), kNone, {optional(0), kNone, kNone}, 1, sync_warp_handler());
        return;
      case Opcode::kFence: {
        Instruction& i = out_.add_operands(nothing_handler(), kNone, {}, 1, integers(operation));
        i.checked = fence_handler();
        return;
      }
      case Opcode::kCpAsyncCommit:
        out_.add(commit_handler(), kNone);
        return;
      case Opcode::kCpAsyncWait:
        out_.add(wait_handler(), kNone).side = operation.ints.empty() ? 0 : static_cast<uint32_t>(operation.ints[0]);
        return;
      default:  // griddepcontrol: launches follow each other
        return;
    }
  }

  void compute_other(const Operation& operation) {
    switch (operation.code) {
      case Opcode::kPrmt:
        return ternary(prmt_handler(), result(operation), operand(operation, 0), operand(operation, 1),
                       operand(operation, 2));
      case Opcode::kClock:
        out_.add(clock_handler(), result(operation).reg);
        return out_.set_flow(Flow::kDefined, 8);
      case Opcode::kAssert:
        out_.add_operands(assert_handler(), kNone, {operand(operation, 0).reg, kNone, kNone}, 1, integers(operation));
        return out_.set_flow(Flow::kBranch, 0, 1);
      case Opcode::kPrintf:
        out_.add_operands(print_handler(), kNone, {}, 1, all_operands(operation));
        return out_.set_flow(Flow::kPrint);
      case Opcode::kTrap:
        out_.add(trap_handler(), kNone);
        return;
      case Opcode::kInlineAsm: {
        Operands all = all_operands(operation);
        for (const ValueId id : operation.results) {
          all.slots.push_back(result(id).reg);
          all.types.push_back(program_.type(id));
        }
        const Handler handler = inline_asm_handler(operation.text);
        if (handler == nullptr) {
          refuse(operation, concat("it knows no `", operation.text.substr(0, operation.text.find('\n')),
                                   "`; run the function on a GPU, or write it with cute.arch and cute.math"));
        }
        out_.add_operands(handler, kNone, {}, 1, std::move(all));
        return;
      }
      default:
        refuse(operation, "it belongs to the host's function");
    }
  }

  void operation(const Operation& operation) {
    at(operation);
    const program::OpcodeFacts& facts = program::facts(operation.code);
    if (facts.pure && !facts_[operation.results.at(0)].is_live) return;
    switch (facts.family) {
      case Family::kConstant:
        return set_constant(operation, constant_bits(operation));
      case Family::kSpecial:
        return special(operation);
      case Family::kUnary:
        return compute_unary(operation);
      case Family::kBinary:
        return compute_binary(operation, operation.code, result(operation), operand(operation, 0),
                              operand(operation, 1));
      case Family::kShift:
        return compute_shift(operation);
      case Family::kCompare: {
        const Operand x = operand(operation, 0);
        const Kind kind = kind_of(x.type.scalar);
        const Operand a = widened(x), b = widened(operand(operation, 1));
        return binary(compare_handler(operation.code, kind), result(operation), a, b);
      }
      case Family::kSelect: {
        const Operand to = result(operation);
        return ternary(select_handler(to.bytes()), to, operand(operation, 0), operand(operation, 1),
                       operand(operation, 2), Flow::kSelect);
      }
      case Family::kFma:
        return compute_fma(operation);
      case Family::kCast:
        return operation.code == Opcode::kCast ? compute_cast(operation) : compute_bitcast(operation);
      case Family::kVector:
        return compute_vector(operation);
      case Family::kPointer:
        return compute_pointer(operation);
      case Family::kMemory:
        return compute_memory(operation);
      case Family::kWarp:
        return compute_warp(operation);
      case Family::kSync:
        return compute_sync(operation);
      case Family::kControl:
        return operation.code == Opcode::kIf    ? compute_if(operation)
               : operation.code == Opcode::kFor ? compute_for(operation)
                                                : compute_while(operation);
      case Family::kOther:
        return compute_other(operation);
    }
  }

  // Integers of 4 bits are kept with their sign.
  uint64_t constant_bits(const Operation& operation) const {
    const Type& type = program_.type(operation.results[0]);
    if (type.scalar != Scalar::kInt4) return operation.bits;
    return static_cast<uint64_t>(program::value_of_bits(type.scalar, operation.bits)) & 0xFF;
  }

  void compute_bitcast(const Operation& operation) {
    const Operand to = result(operation), x = operand(operation, 0);
    Operands info;
    info.ints = {program::facts(x.type.scalar).bits, program::facts(to.type.scalar).bits, to.type.lanes,
                 to.type.scalar == Scalar::kInt4, x.type.lanes};
    out_.add_operands(bitcast_handler(), to.reg, {x.reg, kNone, kNone}, lanes_of(to), std::move(info));
    out_.set_flow(lanes_of(to) == lanes_of(x) ? Flow::kEach : Flow::kBitcast, to.bytes(), x.bytes());
  }

  const Program& program_;
  Code& code_;
  Assembler out_;
  std::vector<ValueFacts> facts_;
  std::vector<Register> registers_;   // of values
  std::vector<int32_t> allocations_;  // of operations frame
  std::size_t id_ = 0;                // of the operation that is translated
};

}  // namespace

std::shared_ptr<const Code> translate(const Program& program, std::size_t kernel) {
  if (kernel >= program.functions.size()) throw ProgramError(concat("the program has no function ", kernel));
  const program::Function& function = program.functions[kernel];
  if (!function.is_kernel) throw ProgramError(concat(function.name, " is no kernel"));
  auto code = std::make_shared<Code>();
  Translator(program, function, *code).translate();
  return code;
}

}  // namespace tilewright::execute

// Translation: pointers, and what accesses memory.
#include "host/execute/lanes/address.hpp"
#include "host/execute/machine.hpp"
#include "translator.hpp"

namespace tilewright::execute {

void Translator::set_constant(const Operation& operation, uint64_t bits) {
  registers_[operation.results[0]] = out_.constant(bits, bytes_of(program_.type(operation.results[0])));
}

void Translator::compute_pointer(const Operation& operation) {
  const Type& type = program_.type(operation.results[0]);
  const bool half = type.is_pointer() && is_half(type.scalar);
  switch (operation.code) {
    case Opcode::kFrame:
      return allocate(operation, type, half);
    case Opcode::kShared:
      if (operation.ints.size() > 1) {
        allocations_[id_] = static_cast<int32_t>(code_.allocations.size());
        code_.allocations.push_back({static_cast<uint32_t>(operation.ints[0]), static_cast<uint32_t>(operation.ints[1]),
                                     program_.values[operation.results[0]].name});
      }
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
    case Opcode::kMapa: {
      const Operand pointer = operand(operation, 0), rank = fresh(Scalar::kUint64, 1);
      unary(cast_handler(Kind::kI32, Kind::kU64), rank, operand(operation, 1));
      const Operand bits = with_constant(Opcode::kShl, with_constant(Opcode::kAdd, rank, 1), kRemoteShift);
      const Operand both = fresh(Scalar::kUint64, 1);
      binary(binary_handler(Opcode::kOr, Kind::kU64), both, bits, in_bytes(pointer, is_half(pointer.type.scalar)));
      return from_bytes(result(operation), with_constant(Opcode::kOr, both, kSharedWindow), half);
    }
    case Opcode::kAddress: {
      const Operand pointer = operand(operation, 0);
      return move(result(operation), in_bytes(pointer, is_half(pointer.type.scalar)), false);
    }
    default:
      return from_bytes(result(operation), operand(operation, 0), half);
  }
}

void Translator::allocate(const Operation& operation, const Type& type, bool half) {
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

Operand Translator::with_constant(Opcode code, const Operand& x, uint64_t bits) {
  const Operand constant{out_.constant(bits, 8), program::number(Scalar::kUint64)}, to = fresh(Scalar::kUint64, 1);
  binary(binary_handler(code, Kind::kU64), to, x, constant);
  return to;
}

Operand Translator::in_bytes(const Operand& pointer, bool half) {
  return half ? with_constant(Opcode::kShr, pointer, 1) : pointer;
}

void Translator::from_bytes(const Operand& to, const Operand& bytes, bool half) {
  move(to, half ? with_constant(Opcode::kShl, bytes, 1) : bytes, false);
}

Operand Translator::in_space(const Operation& operation, const Operand& x, Space from, Space to) {
  const auto is_host = [](Space space) { return space == Space::kGeneric || space == Space::kGlobal; };
  if (from == to || (is_host(from) && is_host(to))) return x;
  if (from == Space::kShared && to == Space::kGeneric) return with_constant(Opcode::kOr, x, kSharedWindow);
  if (from == Space::kRegister && to == Space::kGeneric) return with_constant(Opcode::kOr, x, kFrameWindow);
  if (from == Space::kGeneric) return with_constant(Opcode::kAnd, x, ~kWindowMask);
  refuse(operation, concat("no address is in ", text_of(from), " and in ", text_of(to)));
}

AccessCode Translator::access(const program::Access& from) {
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
  to.is_fragment = to.space == Space::kRegister && to.is_uniform && to.is_static && to.swizzle.bits == 0 &&
                   !to.is_half && to.is_aligned;
  const program::Vectorized vector = program::vectorized(program_, ranges_, from);
  to.vector = static_cast<uint32_t>(vector.count);
  for (std::size_t m = 0; m < vector.mode; ++m) to.vector_step *= static_cast<uint32_t>(from.modes[m].extent);
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

void Translator::set_offsets(AccessCode& access) {
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

MemoryCode Translator::memory(const Operation& operation) {
  MemoryCode memory;
  for (const program::Access& each : operation.accesses) memory.accesses.push_back(access(each));
  memory.ints = operation.ints;
  memory.text = operation.text;
  return memory;
}

void Translator::compute_mbarrier(const Operation& operation) {
  const auto slot = [&](std::size_t i) { return i < operation.operands.size() ? operand(operation, i).reg : kNone; };
  const auto bytes = [&](std::size_t i) { return i < operation.operands.size() ? operand(operation, i).bytes() : 0; };
  const Handler handler = operation.code == Opcode::kMbarrierInit     ? mbarrier_init_handler()
                          : operation.code == Opcode::kMbarrierArrive ? mbarrier_arrive_handler()
                          : operation.code == Opcode::kMbarrierWait   ? mbarrier_wait_handler()
                          : operation.code == Opcode::kCpAsyncArrive  ? async_arrive_handler()
                                                                      : mbarrier_test_handler();
  const Register to = operation.results.empty() ? kNone : result(operation).reg;
  out_.add_memory(handler, nullptr, to, {slot(0), slot(1), kNone}, memory(operation));
  out_.set_flow(Flow::kBarrier, 1, bytes(0), bytes(1));
}

void Translator::compute_bulk(const Operation& operation) {
  MemoryCode code = memory(operation);
  for (std::size_t i = 0; i < operation.operands.size(); ++i) code.slots.push_back(operand(operation, i).reg);
  // Elements that TMA moves are told apart as far as the kernel's own accesses tell them apart.
  const Handler handler = operation.code == Opcode::kTmaLoad     ? tma_load_handler()
                          : operation.code == Opcode::kTmaStore  ? tma_store_handler()
                          : operation.code == Opcode::kBulkLoad  ? bulk_load_handler()
                          : operation.code == Opcode::kBulkStore ? bulk_store_handler()
                                                                 : tensor_map_handler(operation.code);
  const bool is_bulk = operation.code == Opcode::kBulkLoad || operation.code == Opcode::kBulkStore;
  code.is_elected = is_bulk && uses_.is_elected(static_cast<program::OpId>(id_));
  code.is_map_in_memory = !operation.operands.empty() && program_.type(operation.operands[0]).is_pointer();
  out_.add_memory(handler, nullptr, kNone, {}, std::move(code));
  out_.set_flow(Flow::kBarrier);
}

void Translator::compute_memory(const Operation& operation) {
  MemoryCode code = memory(operation);
  switch (operation.code) {
    case Opcode::kLoad: {
      const Handler run = load_handler(false), checked = load_handler(true);
      out_.add_memory(run, checked, result(operation).reg, {}, std::move(code));
      return out_.set_flow(Flow::kMemory);
    }
    case Opcode::kStore:
    case Opcode::kFill: {
      const Operand x = operand(operation, 0);
      const Handler run = store_handler(false), checked = store_handler(true);
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
    case Opcode::kWgmma: {
      code_.has_wgmma = true;
      const Register adds = operand(operation, 0).reg;
      const Handler run = wgmma_handler(code, false), checked = wgmma_handler(code, true);
      out_.add_memory(run, checked, kNone, {adds, kNone, kNone}, std::move(code));
      return out_.set_flow(Flow::kMemory);
    }
    case Opcode::kMma:
    case Opcode::kLdMatrix:
    case Opcode::kStMatrix: {
      const auto handler_of = operation.code == Opcode::kMma        ? &mma_handler
                              : operation.code == Opcode::kLdMatrix ? &ldmatrix_handler
                                                                    : &stmatrix_handler;
      const Handler run = handler_of(code, false), checked = handler_of(code, true);
      out_.add_memory(run, checked, kNone, {}, std::move(code));
      return out_.set_flow(Flow::kMemory);
    }
    default: {
      const AccessCode& at = code.accesses[0];
      if (at.space != Space::kShared) code_.has_global_atomics = true;
      const Register compare = operation.operands.size() > 1 ? operand(operation, 1).reg : kNone;
      const uint32_t bytes = at.bytes;
      code.is_result_used = uses_.is_live_value(operation.results.at(0));
      out_.add_memory(atomic_handler(), nullptr, result(operation).reg, {operand(operation, 0).reg, compare, kNone},
                      std::move(code));
      return out_.set_flow(Flow::kAtomic, bytes, bytes, bytes);
    }
  }
}

}  // namespace tilewright::execute

// Translation: control, and what threads do together.
#include "host/execute/ptx/run.hpp"
#include "program/fold.hpp"
#include "translator.hpp"

namespace tilewright::execute {

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

void Translator::translate() {
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

void Translator::refuse(const Operation& operation, const std::string& why) const {
  const program::Place& place = program_.places[operation.place];
  throw ProgramError(concat(place.file, ":", place.line, ": ", program::facts(operation.code).text,
                            " cannot be executed by the CPU: ", why));
}

void Translator::block(const Block& block) {
  const std::size_t outer = id_;
  for (const program::OpId id : block.operations) {
    id_ = id;
    operation(program_.operations[id]);
  }
  id_ = outer;
}

void Translator::compute_if(const Operation& operation) {
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

void Translator::branch(const Operation& operation, std::size_t which, bool masked) {
  const Block& inner = program_.blocks[operation.blocks[which]];
  block(inner);
  at(operation);
  for (std::size_t i = 0; i < operation.results.size(); ++i) {
    if (facts_[operation.results[i]].is_live) move(result(operation.results[i]), value(inner.yields[i]), masked);
  }
}

void Translator::carry(const std::vector<Operand>& to, const std::vector<ValueId>& yields, std::size_t first,
                       bool masked) {
  std::vector<Operand> from;
  for (std::size_t i = 0; i < to.size(); ++i) from.push_back(value(yields[i + first]));
  for (std::size_t i = 0; i < to.size(); ++i) {
    const bool is_overwritten = std::any_of(
        to.begin(), to.end(), [&](const Operand& other) { return other.reg == from[i].reg && other.reg != to[i].reg; });
    if (!is_overwritten) continue;
    const Operand kept = fresh(from[i].type);
    move(kept, from[i], false);
    from[i] = kept;
  }
  for (std::size_t i = 0; i < to.size(); ++i) move(to[i], from[i], masked);
}

void Translator::compute_for(const Operation& operation) {
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
  binary(for_advance_handler(kind), index, index, step);
  const uint32_t last = out_.position();
  out_.add(jump_handler(), kNone).target = test;
  out_.set_target(test, last + 1);
  out_.loop(test, last);
}

void Translator::compute_while(const Operation& operation) {
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

void Translator::special(const Operation& operation) {
  const Register reg = out_.permanent(4);
  registers_[operation.results[0]] = reg;
  code_.specials.push_back({operation.code, operation.ints.empty() ? 0 : static_cast<int>(operation.ints[0]), reg});
}

void Translator::compute_warp(const Operation& operation) {
  if (operation.code == Opcode::kMbarrierTest) return compute_mbarrier(operation);
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

void Translator::compute_sync(const Operation& operation) {
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
    case Opcode::kMbarrierInit:
    case Opcode::kMbarrierArrive:
    case Opcode::kMbarrierWait:
    case Opcode::kCpAsyncArrive:
      return compute_mbarrier(operation);
    case Opcode::kTmaLoad:
    case Opcode::kTmaStore:
    case Opcode::kBulkLoad:
    case Opcode::kBulkStore:
    case Opcode::kMapCopy:
    case Opcode::kMapReplace:
    case Opcode::kMapPublish:
    case Opcode::kMapAcquire:
      return compute_bulk(operation);
    case Opcode::kBulkCommit:
      out_.add(bulk_commit_handler(), kNone);
      return;
    case Opcode::kBulkWait:
      out_.add(bulk_wait_handler(operation.ints.at(1) != 0), kNone).side = static_cast<uint32_t>(operation.ints.at(0));
      return;
    case Opcode::kTmaPrefetch:
      return;
    case Opcode::kClusterArrive:
      out_.add(cluster_arrive_handler(operation.text != "relaxed"), kNone);
      return;
    case Opcode::kClusterWait:
      out_.add(cluster_wait_handler(), kNone);
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
    case Opcode::kWgmmaFence:
      out_.add(nothing_handler(), kNone, {}, 1, wgmma_fence_handler());
      return;
    case Opcode::kWgmmaCommit:
      out_.add(nothing_handler(), kNone, {}, 1, wgmma_commit_handler());
      return;
    case Opcode::kWgmmaWait:
      out_.add(nothing_handler(), kNone, {}, 1, wgmma_wait_handler()).side =
          static_cast<uint32_t>(operation.ints.at(0));
      return;
    case Opcode::kSetMaxRegister:  // threads have all that they need
      out_.add(nothing_handler(), kNone, {}, 1, set_max_register_handler()).side =
          static_cast<uint32_t>(operation.ints.at(0));
      return;
    default:  // griddepcontrol: launches follow each other
      if (operation.text == "wait") out_.add(nothing_handler(), kNone, {}, 1, grid_wait_handler());
      return;
  }
}

void Translator::compute_other(const Operation& operation) {
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
    case Opcode::kInlineAsm:
      return assembly(operation);
    default:
      refuse(operation, "it belongs to the host's function");
  }
}

// Its operands and, behind them, its results.
void Translator::assembly(const Operation& operation) {
  Operands all = all_operands(operation);
  for (const ValueId id : operation.results) {
    all.slots.push_back(result(id).reg);
    all.types.push_back(program_.type(id));
  }
  const auto split = operation.text.rfind('\n');
  std::string unknown;
  for (const Type& type : all.types) {
    if (type.is_vector()) unknown = "vectors as its operands";
  }
  try {
    all.assembly = std::make_shared<ptx::Assembly>(ptx::parse(
        operation.text.substr(0, split), split == std::string::npos ? "" : operation.text.substr(split + 1)));
    const bool fits = all.assembly->inputs.size() == operation.operands.size() &&
                      all.assembly->outputs.size() == operation.results.size();
    if (!fits) unknown = "operands that the constraints do not name";
  } catch (const ProgramError& error) {
    unknown = error.what();
  }
  if (!unknown.empty()) {
    refuse(operation, concat("it knows no ", unknown, "; run the function on a GPU, or write it with cute.arch and ",
                             "cute.math"));
  }
  out_.add_operands(assembly_handler(), kNone, {}, static_cast<uint32_t>(operation.results.size()), std::move(all));
  return out_.set_flow(Flow::kAssembly);
}

void Translator::operation(const Operation& operation) {
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
      return compute_binary(operation, operation.code, result(operation), operand(operation, 0), operand(operation, 1));
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

uint64_t Translator::constant_bits(const Operation& operation) const {
  const Type& type = program_.type(operation.results[0]);
  if (type.scalar != Scalar::kInt4) return operation.bits;
  return static_cast<uint64_t>(program::value_of_bits(type.scalar, operation.bits)) & 0xFF;
}

void Translator::compute_bitcast(const Operation& operation) {
  const Operand to = result(operation), x = operand(operation, 0);
  Operands info;
  info.ints = {program::facts(x.type.scalar).bits, program::facts(to.type.scalar).bits, to.type.lanes,
               to.type.scalar == Scalar::kInt4, x.type.lanes};
  out_.add_operands(bitcast_handler(), to.reg, {x.reg, kNone, kNone}, lanes_of(to), std::move(info));
  out_.set_flow(lanes_of(to) == lanes_of(x) ? Flow::kEach : Flow::kBitcast, to.bytes(), x.bytes());
}

std::shared_ptr<const Code> translate(const Program& program, std::size_t kernel) {
  if (kernel >= program.functions.size()) throw ProgramError(concat("the program has no function ", kernel));
  const program::Function& function = program.functions[kernel];

  auto code = std::make_shared<Code>();
  Translator(program, function, *code).translate();
  return code;
}

}  // namespace tilewright::execute

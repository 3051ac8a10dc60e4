#include "uses.hpp"

namespace tilewright::program {

namespace {

// Operations that are not pure, and yet nobody misses where their result is not needed.
bool is_only_for_result(const Operation& operation) {
  switch (operation.code) {
    case Opcode::kLoad:
    case Opcode::kFrame:
      return true;
    case Opcode::kInlineAsm:
      return !operation.ints.empty() && operation.ints[0] == 0 && !operation.results.empty();
    default:
      return facts(operation.code).pure;
  }
}

bool is_control(const Operation& operation) { return facts(operation.code).family == Family::kControl; }

// The first operand that a loop carries.
std::size_t first_init(const Operation& operation) { return operation.code == Opcode::kFor ? 3 : 0; }

}  // namespace

Uses::Uses(const Program& program, const Function& function)
    : program_(program),
      definitions_(program.values.size()),
      live_values_(program.values.size()),
      live_ops_(program.operations.size()),
      counts_(program.values.size()),
      use_blocks_(program.values.size()),
      users_(program.values.size(), kNoOp),
      owners_(program.blocks.size(), kNoOp),
      blocks_of_ops_(program.operations.size()) {
  define(function.body, kNoOp);
  mark_effects(function.body);
  for (const ValueId id : function.results) mark(id);
  drain();
  count_block(function.body);
}

const Operation* Uses::producer(ValueId id) const {
  const Definition& at = definitions_[id];
  return at.kind == Definition::Kind::kResult ? &program_.operations[at.op] : nullptr;
}

bool Uses::is_elected(OpId op) const {
  for (BlockId block = block_of(op); owner(block) != kNoOp; block = block_of(owner(block))) {
    const Operation& operation = program_.operations[owner(block)];
    if (operation.code != Opcode::kIf || operation.blocks[0] != block) continue;
    const Operation* asked = producer(operation.operands[0]);
    if (asked != nullptr && asked->code == Opcode::kElectOne) return true;
  }
  return false;
}

void Uses::define(BlockId block, OpId owner) {
  owners_[block] = owner;
  const Block& content = program_.blocks[block];
  for (uint32_t i = 0; i < content.parameters.size(); ++i) {
    definitions_[content.parameters[i]] = {Definition::Kind::kBlockParameter, owner, i, block};
  }
  for (const OpId op : content.operations) {
    const Operation& operation = program_.operations[op];
    blocks_of_ops_[op] = block;
    for (uint32_t i = 0; i < operation.results.size(); ++i) {
      definitions_[operation.results[i]] = {Definition::Kind::kResult, op, i, block};
    }
    for (const BlockId inner : operation.blocks) define(inner, op);
  }
}

bool Uses::mark_effects(BlockId block) {
  bool any = false;
  for (const OpId op : program_.blocks[block].operations) {
    const Operation& operation = program_.operations[op];
    bool has_effect = !is_control(operation) && !is_only_for_result(operation);
    for (const BlockId inner : operation.blocks) has_effect = mark_effects(inner) || has_effect;
    if (has_effect) mark_op(op);
    any = any || has_effect;
  }
  return any;
}

void Uses::mark_access(const Access& access) {
  mark(access.pointer);
  mark(access.dynamic);
  for (const AccessMode& mode : access.modes) mark(mode.dynamic);
}

void Uses::mark_op(OpId op) {
  if (live_ops_[op]) return;
  live_ops_[op] = true;
  const Operation& operation = program_.operations[op];
  if (const OpId owner = owners_[blocks_of_ops_[op]]; owner != kNoOp) mark_op(owner);
  for (const Access& access : operation.accesses) mark_access(access);
  const std::size_t needed = !is_control(operation) || operation.code == Opcode::kIf
                                 ? operation.operands.size()
                                 : first_init(operation);  // what a loop carries is marked where it is needed
  for (std::size_t i = 0; i < needed; ++i) mark(operation.operands[i]);
  if (operation.code == Opcode::kWhile) mark(program_.blocks[operation.blocks[0]].yields.at(0));
}

void Uses::mark(ValueId id) {
  if (id == kNoValue || live_values_[id]) return;
  live_values_[id] = true;
  pending_.push_back(id);
}

void Uses::drain() {
  while (!pending_.empty()) {
    const ValueId id = pending_.back();
    pending_.pop_back();
    const Definition& at = definitions_[id];
    if (at.op == kNoOp) continue;
    mark_op(at.op);
    const Operation& operation = program_.operations[at.op];
    if (!is_control(operation)) continue;
    if (operation.code == Opcode::kIf) {
      for (const BlockId block : operation.blocks) mark(program_.blocks[block].yields[at.index]);
      continue;
    }
    // A loop: result, parameters and yields of one place live together.
    const bool is_for = operation.code == Opcode::kFor;
    if (is_for && at.kind == Definition::Kind::kBlockParameter && at.index == 0) continue;  // the index
    const std::size_t which = at.index - (is_for && at.kind == Definition::Kind::kBlockParameter ? 1 : 0);
    mark(operation.operands[first_init(operation) + which]);
    mark(operation.results[which]);
    for (std::size_t b = 0; b < operation.blocks.size(); ++b) {
      const Block& block = program_.blocks[operation.blocks[b]];
      mark(block.parameters[which + (is_for ? 1 : 0)]);
      mark(block.yields[which + (!is_for && b == 0 ? 1 : 0)]);
    }
  }
}

// f(value, user) for each use that stands in the block itself.
template <class F>
void Uses::each_use(BlockId block, F&& f) const {
  for (const OpId op : program_.blocks[block].operations) {
    if (!live_ops_[op]) continue;
    const Operation& operation = program_.operations[op];
    for (std::size_t i = 0; i < operation.operands.size(); ++i) {
      const bool is_init = is_control(operation) && operation.code != Opcode::kIf && i >= first_init(operation);
      if (is_init && !live_values_[operation.results[i - first_init(operation)]]) continue;
      f(operation.operands[i], op);
    }
    for (const Access& access : operation.accesses) {
      f(access.pointer, op);
      f(access.dynamic, op);
      for (const AccessMode& mode : access.modes) f(mode.dynamic, op);
    }
  }
  const OpId owner = owners_[block];
  if (owner == kNoOp) return;
  const Operation& operation = program_.operations[owner];
  const auto& yields = program_.blocks[block].yields;
  const std::size_t offset = operation.code == Opcode::kWhile && block == operation.blocks[0] ? 1 : 0;
  for (std::size_t i = 0; i < yields.size(); ++i) {
    if (i < offset || live_values_[operation.results[i - offset]]) f(yields[i], kNoOp);
  }
}

void Uses::use(ValueId id, BlockId block, OpId user) {
  if (id == kNoValue) return;
  ++counts_[id];
  use_blocks_[id] = block;
  users_[id] = user;
}

void Uses::count_block(BlockId block) {
  each_use(block, [&](ValueId id, OpId user) { use(id, block, user); });
  for (const OpId op : program_.blocks[block].operations) {
    if (!live_ops_[op]) continue;
    for (const BlockId inner : program_.operations[op].blocks) count_block(inner);
  }
}

uint32_t Uses::count_in_block(ValueId id, BlockId block) const {
  uint32_t count = 0;
  each_use(block, [&](ValueId used, OpId) { count += used == id; });
  for (const OpId op : program_.blocks[block].operations) {
    if (live_ops_[op]) count += count_inside(id, op);
  }
  return count;
}

uint32_t Uses::count_inside(ValueId id, OpId op) const {
  uint32_t count = 0;
  for (const BlockId block : program_.operations[op].blocks) count += count_in_block(id, block);
  return count;
}

}  // namespace tilewright::program

#include "facts.hpp"

#include <algorithm>

namespace tilewright::execute {

using program::Block;
using program::BlockId;
using program::Family;
using program::kNoValue;
using program::Opcode;
using program::Operation;
using program::Program;
using program::ValueId;

namespace {

class Facts {
 public:
  Facts(const Program& program, std::vector<ValueFacts>& facts) : program_(program), facts_(facts) {}

  void look(const program::Function& function) {
    const Block& body = program_.blocks[function.body];
    for (std::size_t i = 0; i < body.parameters.size(); ++i) {
      ValueFacts& fact = facts_[body.parameters[i]];
      fact.is_uniform = true;
      if (program_.type(body.parameters[i]).is_pointer()) fact.parameter = static_cast<int32_t>(i);
    }
    look(body);
    mark(body);
  }

 private:
  void look(const Block& block) {
    for (const program::OpId id : block.operations) look(program_.operations[id], id);
  }

  static void meet(ValueFacts& a, const ValueFacts& b) {
    a.is_uniform = a.is_uniform && b.is_uniform;
    if (a.parameter != b.parameter) a.parameter = ValueFacts::kSeveral;
    if (a.allocation != b.allocation) a.allocation = ValueFacts::kSeveral;
  }
  static bool equal(const ValueFacts& a, const ValueFacts& b) {
    return a.is_uniform == b.is_uniform && a.parameter == b.parameter && a.allocation == b.allocation;
  }

  bool uniform(const std::vector<ValueId>& ids, std::size_t first, std::size_t last) const {
    return std::all_of(ids.begin() + static_cast<std::ptrdiff_t>(first),
                       ids.begin() + static_cast<std::ptrdiff_t>(last),
                       [&](ValueId id) { return facts_[id].is_uniform; });
  }

  void look(const Operation& operation, program::OpId id) {
    switch (operation.code) {
      case Opcode::kIf:
        return look_at_if(operation);
      case Opcode::kFor:
        return look_at_for(operation);
      case Opcode::kWhile:
        return look_at_while(operation);
      case Opcode::kThreadIdx:
      case Opcode::kLaneIdx:
        return;
      case Opcode::kUniform:
        facts_[operation.results[0]].is_uniform = true;
        return;
      default:
        break;
    }
    if (operation.results.size() != 1) return;
    ValueFacts& fact = facts_[operation.results[0]];
    fact = ValueFacts{};
    const bool is_frame = operation.code == Opcode::kFrame;
    if (program::facts(operation.code).pure || is_frame) {
      fact.is_uniform = uniform(operation.operands, 0, operation.operands.size());
    }
    if (is_frame || operation.code == Opcode::kShared) fact.allocation = id;
    if (operation.code == Opcode::kOffset || operation.code == Opcode::kRecast) {
      fact.parameter = facts_[operation.operands[0]].parameter;
      const bool is_apart = operation.code == Opcode::kRecast && !operation.ints.empty();
      if (!is_apart) fact.allocation = facts_[operation.operands[0]].allocation;
    }
    if (operation.code == Opcode::kSelect && program_.type(operation.results[0]).is_pointer()) {
      ValueFacts both = facts_[operation.operands[1]];
      meet(both, facts_[operation.operands[2]]);
      fact.parameter = both.parameter;
      fact.allocation = both.allocation;
    }
  }

  void look_at_if(const Operation& operation) {
    const bool together = facts_[operation.operands[0]].is_uniform;
    for (const BlockId id : operation.blocks) look(program_.blocks[id]);
    for (std::size_t i = 0; i < operation.results.size(); ++i) {
      ValueFacts fact = facts_[program_.blocks[operation.blocks[0]].yields[i]];
      meet(fact, facts_[program_.blocks[operation.blocks[1]].yields[i]]);
      fact.is_uniform = fact.is_uniform && together;
      facts_[operation.results[i]] = fact;
    }
  }

  // Assumes the most of what is carried, and takes back what does not hold until all holds.
  void look_at_for(const Operation& operation) {
    const Block& body = program_.blocks[operation.blocks[0]];
    const bool together = uniform(operation.operands, 0, 3);
    ValueFacts& index = facts_[body.parameters[0]];
    index = ValueFacts{};
    index.is_uniform = facts_[operation.operands[0]].is_uniform && facts_[operation.operands[2]].is_uniform;
    const std::size_t count = operation.results.size();
    for (std::size_t i = 0; i < count; ++i) {
      facts_[body.parameters[i + 1]] = facts_[operation.operands[i + 3]];
      facts_[body.parameters[i + 1]].is_uniform = facts_[body.parameters[i + 1]].is_uniform && together;
    }
    for (bool changed = true; changed;) {
      look(body);
      changed = false;
      for (std::size_t i = 0; i < count; ++i) changed = narrow(body.parameters[i + 1], body.yields[i]) || changed;
    }
    for (std::size_t i = 0; i < count; ++i) facts_[operation.results[i]] = facts_[body.parameters[i + 1]];
  }

  void look_at_while(const Operation& operation) {
    const Block &before = program_.blocks[operation.blocks[0]], &body = program_.blocks[operation.blocks[1]];
    const std::size_t count = operation.results.size();
    for (std::size_t i = 0; i < count; ++i) facts_[before.parameters[i]] = facts_[operation.operands[i]];
    for (bool together = true, changed = true; changed;) {
      look(before);
      changed = false;
      if (together && !facts_[before.yields[0]].is_uniform) {
        together = false;
        changed = true;
      }
      for (std::size_t i = 0; i < count; ++i) {
        if (!together) facts_[before.parameters[i]].is_uniform = false;
        facts_[body.parameters[i]] = facts_[before.yields[i + 1]];
        if (!together) facts_[body.parameters[i]].is_uniform = false;
      }
      look(body);
      for (std::size_t i = 0; i < count; ++i) changed = narrow(before.parameters[i], body.yields[i]) || changed;
    }
    for (std::size_t i = 0; i < count; ++i) facts_[operation.results[i]] = facts_[body.parameters[i]];
  }

  bool narrow(ValueId parameter, ValueId yielded) {
    ValueFacts fact = facts_[parameter];
    meet(fact, facts_[yielded]);
    const bool changed = !equal(fact, facts_[parameter]);
    facts_[parameter] = fact;
    return changed;
  }

  void mark(const Block& block) {
    for (const ValueId id : block.yields) facts_[id].is_live = true;
    for (auto id = block.operations.rbegin(); id != block.operations.rend(); ++id) {
      const Operation& operation = program_.operations[*id];
      const bool wanted =
          !program::facts(operation.code).pure || std::any_of(operation.results.begin(), operation.results.end(),
                                                              [&](ValueId result) { return facts_[result].is_live; });
      if (!wanted) continue;
      for (auto inner = operation.blocks.rbegin(); inner != operation.blocks.rend(); ++inner) {
        mark(program_.blocks[*inner]);
      }
      for (const ValueId operand : operation.operands) facts_[operand].is_live = true;
      for (const program::Access& access : operation.accesses) {
        facts_[access.pointer].is_live = true;
        if (access.dynamic != kNoValue) facts_[access.dynamic].is_live = true;
        for (const program::AccessMode& mode : access.modes) {
          if (mode.dynamic != kNoValue) facts_[mode.dynamic].is_live = true;
        }
      }
    }
  }

  const Program& program_;
  std::vector<ValueFacts>& facts_;
};

}  // namespace

std::vector<ValueFacts> facts_of(const Program& program, const program::Function& function) {
  std::vector<ValueFacts> facts(program.values.size());
  Facts(program, facts).look(function);
  return facts;
}

}  // namespace tilewright::execute

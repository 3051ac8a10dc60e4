#include "needs.hpp"

#include "core/error.hpp"

namespace tilewright::program {

namespace {

// The user's name of what a pointer comes from.
std::string name_of(const Program& program, ValueId id) {
  for (;;) {
    if (!program.values[id].name.empty()) return program.values[id].name;
    const Operation* producer = nullptr;
    for (const OpId op : program.blocks[program.values[id].block].operations) {
      const Operation& each = program.operations[op];
      for (const ValueId result : each.results) {
        if (result == id) producer = &each;
      }
    }
    if (producer == nullptr || producer->operands.empty() || facts(producer->code).family != Family::kPointer)
      return "";
    id = producer->operands[0];
  }
}

std::string names_of(const Program& program, const Operation& operation) {
  std::string names;
  for (const Access& access : operation.accesses) {
    const std::string name = name_of(program, access.pointer);
    if (!name.empty() && names.find(name) == std::string::npos) names += (names.empty() ? " of " : ", ") + name;
  }
  return names;
}

Need need_of(const Operation& operation) {
  switch (operation.code) {
    case Opcode::kMma:
      return {static_cast<int>(operation.ints[6]), operation.text, operation.place};
    case Opcode::kLdMatrix:
      return {75, "ldmatrix", operation.place};
    case Opcode::kStMatrix:
      return {90, "stmatrix", operation.place};
    case Opcode::kWgmma:
    case Opcode::kSetMaxRegister:
      return {90, operation.code == Opcode::kWgmma ? operation.text : "setmaxregister", operation.place};
    case Opcode::kMapa:
      return {90, "the shared memory of another CTA", operation.place};
    case Opcode::kTmaLoad:
    case Opcode::kTmaStore:
      return {90, "TMA", operation.place};
    case Opcode::kMapReplace:
    case Opcode::kMapPublish:
      return {90, "a tensor map that is changed on the device", operation.place};
    case Opcode::kCpAsyncArrive:
      return {80, "cp.async", operation.place};
    case Opcode::kBulkLoad:
    case Opcode::kBulkStore:
      return {90, "a copy in bulk", operation.place};
    case Opcode::kMbarrierInit:
      return {90, "an mbarrier", operation.place};
    case Opcode::kClusterArrive:
    case Opcode::kClusterWait:
      return {90, "the barrier of a cluster", operation.place};
    case Opcode::kCopy:
      if (operation.text == "cp.async") return {80, "cp.async", operation.place};
      return {};
    default:
      return {};
  }
}

void look(const Program& program, BlockId block, Need& most) {
  for (const OpId id : program.blocks[block].operations) {
    const Operation& operation = program.operations[id];
    Need need = need_of(operation);
    if (need.architecture > most.architecture) {
      need.what += names_of(program, operation);
      most = need;
    }
    for (const BlockId inner : operation.blocks) look(program, inner, most);
  }
}

}  // namespace

Need most_needed(const Program& program, const Function& function) {
  Need most;
  look(program, function.body, most);
  return most;
}

}  // namespace tilewright::program

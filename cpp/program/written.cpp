#include "written.hpp"

#include <algorithm>
#include <set>

namespace tilewright::program {

namespace {

constexpr std::size_t kFirstArgument = 10;  // of a launch, behind its sizes

// Values and what their addresses may come from.
class Origins {
 public:
  Origins(const Program& program, const Function& function) : program_(program), from_(program.values.size()) {
    look(function.body);
  }

  std::vector<Written> written(const Function& function) {
    const auto& parameters = program_.blocks[function.body].parameters;
    std::vector<Written> found;
    std::vector<bool> seen(from_.size(), false);
    std::vector<ValueId> open;
    for (const auto& [value, place] : writes_) {
      open.assign(1, value);
      while (!open.empty()) {
        const ValueId id = open.back();
        open.pop_back();
        if (seen[id]) continue;
        seen[id] = true;
        open.insert(open.end(), from_[id].begin(), from_[id].end());
        const auto at = std::find(parameters.begin(), parameters.end(), id);
        if (at != parameters.end()) found.push_back({static_cast<std::size_t>(at - parameters.begin()), place});
      }
    }
    std::sort(found.begin(), found.end(), [](const Written& a, const Written& b) { return a.parameter < b.parameter; });
    return found;
  }

 private:
  void comes(ValueId to, ValueId from) { from_[to].push_back(from); }

  void come(const std::vector<ValueId>& to, std::size_t first_to, const std::vector<ValueId>& from,
            std::size_t first_from) {
    for (std::size_t i = 0; first_to + i < to.size() && first_from + i < from.size(); ++i)
      comes(to[first_to + i], from[first_from + i]);
  }

  void look(BlockId block) {
    for (const OpId id : program_.blocks[block].operations) {
      const Operation& operation = program_.operations[id];
      for (const BlockId inner : operation.blocks) look(inner);
      if (operation.code == Opcode::kConstant && operation.bits == 0) zeros_.insert(operation.results[0]);
      if (operation.code == Opcode::kLaunch) {
        launch(operation);
      } else if (!operation.blocks.empty()) {
        control(operation);
      } else {
        results(operation);
        accesses(operation);
      }
    }
  }

  void launch(const Operation& operation) {
    const Function& kernel = program_.functions.at(static_cast<std::size_t>(operation.ints.at(0)));
    for (const Written& one : written_parameters(program_, kernel))
      writes_.emplace_back(operation.operands.at(kFirstArgument + one.parameter), one.place);
  }

  void control(const Operation& operation) {
    const auto block = [&](std::size_t i) -> const Block& { return program_.blocks[operation.blocks[i]]; };
    switch (operation.code) {
      case Opcode::kIf:
        come(operation.results, 0, block(0).yields, 0);
        come(operation.results, 0, block(1).yields, 0);
        return;
      case Opcode::kFor:
        come(block(0).parameters, 1, operation.operands, 3);
        come(block(0).parameters, 1, block(0).yields, 0);
        come(operation.results, 0, operation.operands, 3);
        come(operation.results, 0, block(0).yields, 0);
        return;
      default:  // while
        come(block(0).parameters, 0, operation.operands, 0);
        come(block(0).parameters, 0, block(1).yields, 0);
        come(block(1).parameters, 0, block(0).yields, 1);
        come(operation.results, 0, block(0).yields, 1);
    }
  }

  void results(const Operation& operation) {
    if (operation.results.empty() || operation.operands.empty()) return;
    switch (facts(operation.code).family) {
      case Family::kPointer:  // what is added to a pointer, or chooses a CTA, is no address
        return comes(operation.results[0], operation.operands[0]);
      case Family::kSelect:
        comes(operation.results[0], operation.operands[1]);
        return comes(operation.results[0], operation.operands[2]);
      case Family::kUnary:
      case Family::kCast:
      case Family::kVector:
        for (const ValueId operand : operation.operands) comes(operation.results[0], operand);
        return;
      case Family::kBinary:  // of remainders, products and what is taken away from one no address is made
        if (operation.code == Opcode::kAdd || operation.code == Opcode::kAnd || operation.code == Opcode::kOr)
          comes(operation.results[0], operation.operands[1]);
        if (operation.code != Opcode::kRem && operation.code != Opcode::kFloorMod && operation.code != Opcode::kMul)
          comes(operation.results[0], operation.operands[0]);
        return;
      default:
        if (operation.code == Opcode::kTensorMap || operation.code == Opcode::kUniform)
          comes(operation.results[0], operation.operands[0]);
    }
  }

  void accesses(const Operation& operation) {
    switch (operation.code) {
      case Opcode::kStore:
      case Opcode::kFill:
        for (std::size_t i = 0; i < operation.accesses.size(); ++i) write(operation, i);
        return;
      case Opcode::kAtomic:  // to add nothing is to read
        if (zeros_.count(operation.operands[0]) != 0 && (operation.text == "add" || operation.text == "or")) return;
        return write(operation, 0);
      case Opcode::kFmaTile:
      case Opcode::kMma:
      case Opcode::kMapCopy:
      case Opcode::kMapReplace:
      case Opcode::kMapPublish:
        return write(operation, 0);
      case Opcode::kCopy:
      case Opcode::kLdMatrix:
      case Opcode::kStMatrix:
      case Opcode::kBulkLoad:
      case Opcode::kBulkStore:
        return write(operation, 1);
      case Opcode::kTmaStore:  // through a pointer to a tensor map, that tensor is not known
        if (program_.type(operation.operands[0]).is_tensor_map())
          writes_.emplace_back(operation.operands[0], operation.place);
        return;
      default:
        return;
    }
  }

  void write(const Operation& operation, std::size_t access) {
    writes_.emplace_back(operation.accesses.at(access).pointer, operation.place);
  }

  const Program& program_;
  std::vector<std::vector<ValueId>> from_;
  std::set<ValueId> zeros_;
  std::vector<std::pair<ValueId, uint32_t>> writes_;
};

}  // namespace

std::vector<Written> written_parameters(const Program& program, const Function& function) {
  return Origins(program, function).written(function);
}

}  // namespace tilewright::program

// Branches and loops: what they carry lives in variables that change.
#include <algorithm>

#include "core/error.hpp"
#include "emitter.hpp"
#include "program/fold.hpp"

namespace tilewright::program {

namespace {

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

// Where a name stands in a text, from a place on; npos if nowhere.
std::size_t find_name(const std::string& text, const std::string& name, std::size_t from = 0) {
  for (std::size_t at = text.find(name, from); at != std::string::npos; at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) return at;
  }
  return std::string::npos;
}

}  // namespace

void Emitter::open(std::string text) {
  line(std::move(text));
  ++depth_;
}

void Emitter::close(std::string_view text) {
  --depth_;
  line(std::string(text));
}

void Emitter::unrolled(int64_t count, int64_t step, const std::string& index, const std::function<void()>& body) {
  line("#pragma unroll");
  open(concat("for (int ", index, " = 0; ", index, " < ", count, "; ",
              step == 1 ? "++" + index : concat(index, " += ", step), ") {"));
  const std::size_t begin = lines_.size();
  body();
  --depth_;
  if (lines_.size() != begin + 1) return line("}");
  // One statement needs no block.
  std::string& head = lines_[begin - 1].text;
  head.erase(head.size() - 1);
  const std::string joined = head + lines_[begin].text;
  if (joined.size() + 2 * static_cast<std::size_t>(depth_) > 120 || lines_[begin].text[0] == '#') {
    head.pop_back();
    return;
  }
  head = joined;
  lines_.pop_back();
}

void Emitter::block(BlockId id) {
  const std::size_t frames = frames_in_scope_.size();
  for (const OpId op : program_.blocks[id].operations) {
    if (uses_.is_live(op)) emit(op);
  }
  frames_in_scope_.resize(frames);
}

void Emitter::emit(OpId id) {
  const Operation& operation = program_.operations[id];
  if (operation.place != 0) place_ = operation.place;
  switch (operation.code) {
    case Opcode::kIf:
      return branch(id);
    case Opcode::kFor:
      return count_loop(id);
    case Opcode::kWhile:
      return while_loop(id);
    case Opcode::kLoad:
      return load(operation);
    case Opcode::kStore:
      return store(operation);
    case Opcode::kFill:
      return fill(operation);
    case Opcode::kCopy:
      return copy(operation);
    case Opcode::kFmaTile:
      return fma_tile(operation);
    case Opcode::kMma:
      return mma(operation);
    case Opcode::kWgmma:
      return wgmma(operation);
    case Opcode::kWgmmaFence:
    case Opcode::kWgmmaCommit:
    case Opcode::kWgmmaWait:
    case Opcode::kSetMaxRegister:
      return wgmma_sync(id);
    case Opcode::kLdMatrix:
    case Opcode::kStMatrix:
      return matrices(operation);
    case Opcode::kAtomic:
      return atomic(operation);
    case Opcode::kFrame:
      return pointer(operation);
    case Opcode::kMbarrierInit:
    case Opcode::kMbarrierArrive:
    case Opcode::kMbarrierWait:
    case Opcode::kMbarrierTest:
    case Opcode::kCpAsyncArrive:
      return mbarrier(operation);
    case Opcode::kMapCopy:
    case Opcode::kMapReplace:
    case Opcode::kMapPublish:
    case Opcode::kMapAcquire:
      return tensor_map(operation);
    case Opcode::kTmaLoad:
    case Opcode::kTmaStore:
    case Opcode::kTmaPrefetch:
    case Opcode::kBulkLoad:
    case Opcode::kBulkStore:
      return bulk(id);
    default:
      break;
  }
  switch (facts(operation.code).family) {
    case Family::kWarp:
      return warp(operation);
    case Family::kSync:
      return sync(operation);
    default:
      return facts(operation.code).pure ? pure(operation) : other(operation);
  }
}

// Whether a value's variable may become that of what an operation gives instead: nobody else asks for it, it begins
// anew whenever the operation is reached, and it can be assigned to.
bool Emitter::can_take(ValueId id, OpId op, uint32_t own_uses) const {
  if (variables_.count(id) == 0 || uses_.count(id) != own_uses) return false;
  const Definition& at = uses_.definition(id);
  if (at.block != uses_.block_of(op)) return false;
  if (at.kind == Definition::Kind::kResult && program_.operations[at.op].code == Opcode::kFrame) return false;
  const bool is_index = at.kind == Definition::Kind::kBlockParameter && at.op != kNoOp && at.index == 0 &&
                        program_.operations[at.op].code == Opcode::kFor;
  return !is_index;
}

// How often an expression that stands where it is used has the value in it.
uint32_t Emitter::count_within(ValueId id, ValueId expression) const {
  if (id == expression) return 1;
  const Operation* producer = uses_.producer(expression);
  if (producer == nullptr || inlined_.count(expression) == 0) return 0;
  uint32_t count = 0;
  for (const ValueId operand : producer->operands) count += count_within(id, operand);
  return count;
}

// What the loop around a branch carries where the branch's result goes; kNoValue where it goes elsewhere.
ValueId Emitter::carried_by_loop(ValueId result, OpId branch) const {
  const BlockId block = uses_.block_of(branch);
  const OpId owner = uses_.owner(block);
  if (owner == kNoOp || uses_.count(result) != 1 || uses_.user(result) != kNoOp || uses_.use_block(result) != block) {
    return kNoValue;
  }
  const Operation& loop = program_.operations[owner];
  const Block& body = program_.blocks[block];
  const bool is_for = loop.code == Opcode::kFor;
  if (!is_for && (loop.code != Opcode::kWhile || block != loop.blocks[1])) return kNoValue;
  const auto at = std::find(body.yields.begin(), body.yields.end(), result) - body.yields.begin();
  return body.parameters[static_cast<std::size_t>(at) + (is_for ? 1 : 0)];
}

bool Emitter::refers(ValueId id, const std::string& target) {
  return find_name(type(id).is_vector() ? element(id, index_).text : raw(id).text, target) != std::string::npos;
}

// targets = values, all at once. An empty target is not assigned to.
void Emitter::assign(std::vector<std::string> targets, const std::vector<ValueId>& values) {
  std::vector<std::string> texts(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (targets[i].empty()) continue;
    const bool is_lazy = elements_.count(values[i]) != 0;
    if (!is_lazy) texts[i] = value(values[i]).text;
    if (texts[i] == targets[i]) targets[i].clear();
  }
  // What would be overwritten before it is read is put aside.
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (targets[i].empty()) continue;
    for (std::size_t j = 0; j < i; ++j) {
      if (targets[j].empty() || !refers(values[i], targets[j])) continue;
      const std::string name = names_.unique("next_" + targets[i]);
      if (elements_.count(values[i]) != 0) {
        declare_elements(name, type(values[i]), elements_[values[i]]);
        elements_.erase(values[i]);
        bind(values[i], name);
      } else {
        line(concat(declared_type(type(values[i])), " ", name, " = ", texts[i], ";"));
      }
      texts[i] = name;
      break;
    }
  }
  // What was put aside stands in front of all assignments: the lines of the others follow.
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (targets[i].empty()) continue;
    if (!texts[i].empty()) {
      line(concat(targets[i], " = ", texts[i], ";"));
      continue;
    }
    // Element by element, unless an element depends on others of the target.
    std::string text = element(values[i], index_).text;
    const std::string own = concat(targets[i], "[", index_, "]");
    bool is_apart = true;
    for (std::size_t at = find_name(text, targets[i]); at != std::string::npos;
         at = find_name(text, targets[i], at + 1)) {
      is_apart = is_apart && text.compare(at, own.size(), own) == 0;
    }
    if (!is_apart) {
      line(concat(targets[i], " = ", variable(values[i]), ";"));
      continue;
    }
    unrolled(type(values[i]).lanes, index_, [&] { line(concat(own, " = ", text, ";")); });
  }
}

void Emitter::declare(const std::string& name, ValueId id) {
  if (const auto found = elements_.find(id); found != elements_.end()) {
    return declare_elements(name, type(id), found->second);
  }
  line(concat(declared_type(type(id)), " ", name, " = ", value(id).text, ";"));
}

bool Emitter::is_trivial(BlockId id) const {
  const auto& operations = program_.blocks[id].operations;
  return std::all_of(operations.begin(), operations.end(),
                     [&](OpId op) { return !uses_.is_live(op) || program_.operations[op].code == Opcode::kConstant; });
}

void Emitter::branch(OpId id) {
  const Operation& operation = program_.operations[id];
  const BlockId blocks[] = {operation.blocks[0], operation.blocks[1]};
  Expr condition = value(operation.operands[0]);
  std::vector<std::string> targets(operation.results.size());
  const bool is_short[] = {is_trivial(blocks[0]), is_trivial(blocks[1])};
  for (const BlockId each : blocks) {
    if (is_trivial(each)) block(each);  // constants
  }
  std::vector<ValueId> taken;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const ValueId result = operation.results[i];
    if (!uses_.is_live_value(result)) continue;
    const ValueId yields[] = {program_.blocks[blocks[0]].yields[i], program_.blocks[blocks[1]].yields[i]};
    for (const ValueId each : {yields[0], yields[1], carried_by_loop(result, id)}) {
      if (each == kNoValue || !targets[i].empty()) continue;
      if (std::find(taken.begin(), taken.end(), each) != taken.end()) continue;
      if (!can_take(each, id, uses_.count_inside(each, id) + count_within(each, operation.operands[0]))) continue;
      targets[i] = variables_[each];
      taken.push_back(each);
    }
    if (targets[i].empty()) {
      targets[i] = names_.unique(user_name({result, yields[0], yields[1]}));
      // Where a branch does nothing, its value is what the variable begins with.
      if (is_short[1]) {
        declare(targets[i], yields[1]);
      } else if (is_short[0]) {
        declare(targets[i], yields[0]);
      } else {
        line(concat(declared_type(type(result)), " ", targets[i], ";"));
      }
      begun_[targets[i]] = is_short[1] ? yields[1] : is_short[0] ? yields[0] : kNoValue;
    }
    bind(result, targets[i]);
  }
  const uint32_t place = place_;
  const auto arm = [&](int which) {
    std::vector<Line> outer;
    std::swap(outer, lines_);
    ++depth_;
    if (!is_short[which]) block(blocks[which]);
    const auto& yields = program_.blocks[blocks[which]].yields;
    std::vector<std::string> assigned = targets;
    for (std::size_t i = 0; i < assigned.size(); ++i) {
      if (!assigned[i].empty() && begun_.count(assigned[i]) != 0 && begun_[assigned[i]] == yields[i]) {
        assigned[i].clear();
      }
    }
    assign(assigned, yields);
    --depth_;
    std::swap(outer, lines_);
    place_ = place;
    return outer;
  };
  std::vector<Line> then = arm(0), otherwise = arm(1);
  for (const std::string& target : targets) begun_.erase(target);
  if (then.empty() && otherwise.empty()) return;
  const auto put = [&](std::vector<Line>& arm_lines) {
    lines_.insert(lines_.end(), std::make_move_iterator(arm_lines.begin()), std::make_move_iterator(arm_lines.end()));
  };
  if (then.empty()) {
    line(concat("if (!", within(condition, Level::kPrimary), ") {"));
    put(otherwise);
    return line("}");
  }
  line(concat("if (", condition.text, ") {"));
  put(then);
  if (!otherwise.empty()) {
    line("} else {");
    put(otherwise);
  }
  line("}");
}

// Variables for what a loop carries: declared with what they begin with, or taken over.
std::vector<std::string> Emitter::carry(OpId id, std::size_t first_operand, std::size_t first_parameter) {
  const Operation& operation = program_.operations[id];
  std::vector<std::string> targets(operation.results.size());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const ValueId result = operation.results[i], init = operation.operands[first_operand + i];
    if (!uses_.is_live_value(result)) continue;
    const ValueId parameter = program_.blocks[operation.blocks[0]].parameters[first_parameter + i];
    if (can_take(init, id, 1)) {
      targets[i] = variables_[init];
    } else {
      targets[i] = names_.unique(user_name({result, parameter, init}));
      declare(targets[i], init);
    }
    bind(result, targets[i]);
    for (const BlockId each : operation.blocks) {
      bind(program_.blocks[each].parameters[first_parameter + i], targets[i]);
    }
  }
  return targets;
}

void Emitter::count_loop(OpId id) {
  const Operation& operation = program_.operations[id];
  const std::vector<std::string> targets = carry(id, 3, 1);
  const BlockId body = operation.blocks[0];
  const ValueId index = program_.blocks[body].parameters[0];
  const std::string name = new_name(index);
  bind(index, name);
  const Expr start = value(operation.operands[0]), stop = value(operation.operands[1]);
  const Expr step = value(operation.operands[2]);
  const std::optional<int64_t> steps = constant(operation.operands[2]);
  std::string condition, advance = concat(name, " += ", step.text);
  const Range range = ranges_.of(operation.operands[2]);
  if (range.low > 0) {
    condition = concat(name, " < ", within(stop, Level::kSum));
  } else if (range.high < 0) {
    condition = concat(name, " > ", within(stop, Level::kSum));
  } else {
    condition = concat(within(step, Level::kSum), " > 0 ? ", name, " < ", within(stop, Level::kSum), " : ", name, " > ",
                       within(stop, Level::kSum));
  }
  if (steps == 1) advance = "++" + name;
  if (steps == -1) advance = "--" + name;
  if (steps && *steps < -1) advance = concat(name, " -= ", -*steps);
  const int64_t unroll = operation.ints.empty() ? 0 : operation.ints[0];
  if (unroll != 0) line(unroll < 0 ? "#pragma unroll" : concat("#pragma unroll ", unroll));
  const uint32_t place = place_;
  open(
      concat("for (", declared_type(type(index)), " ", name, " = ", start.text, "; ", condition, "; ", advance, ") {"));
  block(body);
  assign(targets, program_.blocks[body].yields);
  place_ = place;
  close();
}

void Emitter::while_loop(OpId id) {
  const Operation& operation = program_.operations[id];
  const std::vector<std::string> targets = carry(id, 0, 0);
  const uint32_t place = place_;
  std::vector<Line> outer;
  std::swap(outer, lines_);
  ++depth_;
  block(operation.blocks[0]);
  const auto& yields = program_.blocks[operation.blocks[0]].yields;
  const std::vector<ValueId> carried(yields.begin() + 1, yields.end());
  Expr condition = value(yields[0]);
  bool changes = false;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    changes =
        changes || (!targets[i].empty() && (elements_.count(carried[i]) != 0 || value(carried[i]).text != targets[i]));
  }
  if (changes) {
    const std::string name = names_.unique("goes_on");
    line(concat("bool ", name, " = ", condition.text, ";"));
    condition = {name};
    assign(targets, carried);
  }
  const bool is_plain = lines_.empty();
  std::swap(outer, lines_);
  --depth_;
  place_ = place;
  open(is_plain ? concat("while (", condition.text, ") {") : "while (true) {");
  if (!is_plain) {
    lines_.insert(lines_.end(), std::make_move_iterator(outer.begin()), std::make_move_iterator(outer.end()));
    line(concat("if (!", within(condition, Level::kPrimary), ") break;"));
  }
  block(operation.blocks[1]);
  assign(targets, program_.blocks[operation.blocks[1]].yields);
  place_ = place;
  close();
}

}  // namespace tilewright::program

#include "builder.hpp"

#include <algorithm>

#include "check.hpp"
#include "fold.hpp"

namespace tilewright::program {

namespace {

thread_local Builder* current_builder = nullptr;

void put(std::string& key, uint64_t word) { key.append(reinterpret_cast<const char*>(&word), sizeof word); }

void put(std::string& key, const Type& type) {
  put(key, static_cast<uint64_t>(type.kind) | uint64_t{static_cast<uint8_t>(type.scalar)} << 8 |
               uint64_t{static_cast<uint8_t>(type.space)} << 16 | uint64_t{type.lanes} << 24);
  put(key, uint64_t{type.align} | uint64_t{static_cast<uint8_t>(type.swizzle.bits)} << 32 |
               uint64_t{static_cast<uint8_t>(type.swizzle.base)} << 40 |
               uint64_t{static_cast<uint8_t>(type.swizzle.shift)} << 48);
}

// Equal keys: equal operations. Only pure ones are compared, which have no accesses and no blocks.
std::string key_of(const Request& request, uint64_t bits) {
  std::string key;
  put(key, static_cast<uint64_t>(request.code) | uint64_t{request.operands.size()} << 8);
  put(key, bits);
  for (const ValueId id : request.operands) put(key, id);
  for (const int64_t number : request.ints) put(key, static_cast<uint64_t>(number));
  for (const Type& type : request.types) put(key, type);
  return key + request.text;
}

}  // namespace

Builder* current() { return current_builder; }
void set_current(Builder* builder) { current_builder = builder; }

Builder::Builder() { program_.places.emplace_back(); }

void Builder::place(const std::string& file, int line, const std::string& function) {
  const Place& last = program_.places[place_];
  if (last.line == line && last.file == file && last.function == function) return;
  const auto [found, is_new] =
      places_.try_emplace(Place{file, line, function}, static_cast<uint32_t>(program_.places.size()));
  if (is_new) program_.places.push_back(found->first);
  place_ = found->second;
}

ValueId Builder::define(const Type& type, BlockId block) {
  const auto id = static_cast<ValueId>(program_.values.size());
  program_.values.push_back(Value{type, block, place_, {}});
  definers_.emplace_back();
  return id;
}

std::vector<ValueId> Builder::begin_function(const std::string& name, bool is_kernel,
                                             const std::vector<Type>& parameters,
                                             const std::vector<std::string>& names) {
  open_functions_.push_back(program_.functions.size());
  std::vector<ValueId> ids = begin_block(parameters);
  open_.back().is_function = true;
  Function function;
  function.name = name;
  function.is_kernel = is_kernel;
  function.body = open_.back().id;
  function.parameters = names;
  for (std::size_t i = 0; i < std::min(ids.size(), names.size()); ++i) program_.values[ids[i]].name = names[i];
  program_.functions.push_back(std::move(function));
  return ids;
}

std::size_t Builder::end_function(const std::vector<ValueId>& results) {
  if (open_.empty() || !open_.back().is_function) throw ProgramError("end_function: a block inside is still open");
  for (const ValueId id : results) {
    if (!visible(id)) throw ProgramError(unseen(program_, id));
  }
  const std::size_t index = open_functions_.back();
  program_.functions[index].results = results;
  closed_[open_.back().id] = true;
  open_.pop_back();
  open_functions_.pop_back();
  return index;
}

Function& Builder::function() {
  if (open_functions_.empty()) throw ProgramError("no function is being traced");
  return program_.functions[open_functions_.back()];
}

std::vector<ValueId> Builder::begin_block(const std::vector<Type>& parameters) {
  const auto id = static_cast<BlockId>(program_.blocks.size());
  program_.blocks.emplace_back();
  closed_.push_back(false);
  open_.push_back(OpenBlock{id, false, {}});
  std::vector<ValueId> values;
  values.reserve(parameters.size());
  for (const Type& type : parameters) values.push_back(define(type, id));
  program_.blocks[id].parameters = values;
  return values;
}

BlockId Builder::end_block(const std::vector<ValueId>& yields) {
  if (open_.empty() || open_.back().is_function) throw ProgramError("end_block: no block is open");
  for (const ValueId id : yields) {
    if (!visible(id)) throw ProgramError(unseen(program_, id));
  }
  const BlockId id = open_.back().id;
  program_.blocks[id].yields = yields;
  closed_[id] = true;
  open_.pop_back();
  return id;
}

void Builder::set_yields(BlockId block, const std::vector<ValueId>& yields) {
  for (const ValueId id : yields) {
    if (id >= program_.values.size() || (program_.values[id].block != block && !visible(id))) {
      throw ProgramError(unseen(program_, id));
    }
  }
  program_.blocks[block].yields = yields;
}

void Builder::inline_block() {
  if (open_.size() < 2 || open_.back().is_function) throw ProgramError("inline_block: no block is open");
  const BlockId inner = open_.back().id;
  OpenBlock& outer = open_[open_.size() - 2];
  if (!program_.blocks[inner].parameters.empty()) throw ProgramError("inline_block: the block has parameters");
  for (const OpId id : program_.blocks[inner].operations) {
    for (const ValueId result : program_.operations[id].results) program_.values[result].block = outer.id;
    program_.blocks[outer.id].operations.push_back(id);
  }
  outer.known.merge(open_.back().known);
  program_.blocks[inner].operations.clear();
  closed_[inner] = true;
  open_.pop_back();
}

bool Builder::can_speculate() const {
  if (open_.empty()) return false;
  for (const OpId id : program_.blocks[open_.back().id].operations) {
    const Operation& operation = program_.operations[id];
    if (!facts(operation.code).pure) return false;
    const bool divides = operation.code == Opcode::kDiv || operation.code == Opcode::kRem ||
                         operation.code == Opcode::kFloorDiv || operation.code == Opcode::kFloorMod;
    if (!divides || is_float(program_.type(operation.operands[0]).scalar)) continue;
    const std::optional<int64_t> divisor = constant_integer(operation.operands[1]);
    if (!divisor || *divisor == 0) return false;
  }
  return true;
}

void Builder::abandon(std::size_t depth) {
  while (open_.size() > depth) {
    closed_[open_.back().id] = true;
    if (open_.back().is_function) open_functions_.pop_back();
    open_.pop_back();
  }
}

bool Builder::visible(ValueId id) const {
  if (id >= program_.values.size() || closed_[program_.values[id].block]) return false;
  // A value of the host function is open while its kernel is traced, and yet not the kernel's.
  const BlockId block = program_.values[id].block;
  for (auto open = open_.rbegin(); open != open_.rend(); ++open) {
    if (open->id == block) return true;
    if (open->is_function) return false;
  }
  return false;
}

void Builder::require_visible(const Request& request) const {
  const auto require = [&](ValueId id) {
    if (id != kNoValue && !visible(id)) throw ProgramError(unseen(program_, id));
  };
  for (const ValueId id : request.operands) require(id);
  for (const Access& access : request.accesses) {
    require(access.pointer);
    require(access.dynamic);
    for (const AccessMode& mode : access.modes) require(mode.dynamic);
  }
}

std::optional<uint64_t> Builder::constant_bits(ValueId id) const {
  if (!definers_[id]) return std::nullopt;
  const Operation& operation = program_.operations[*definers_[id]];
  if (operation.code != Opcode::kConstant) return std::nullopt;
  return operation.bits;
}

std::optional<int64_t> Builder::constant_integer(ValueId id) const {
  const Type& type = program_.type(id);
  if (!type.is_number() || type.is_vector() || is_float(type.scalar)) return std::nullopt;
  const std::optional<uint64_t> bits = constant_bits(id);
  if (!bits) return std::nullopt;
  return value_of_bits(type.scalar, *bits);
}

ValueId Builder::constant(Scalar scalar, uint64_t bits) {
  if (open_.empty()) throw ProgramError("no function is being traced");
  Request request{Opcode::kConstant, {}, {number(scalar)}, {}, {}, {}, {}};
  const std::string key = key_of(request, bits);
  for (auto open = open_.rbegin(); open != open_.rend(); ++open) {
    if (const auto found = open->known.find(key); found != open->known.end()) {
      return program_.operations[found->second].results[0];
    }
    if (open->is_function) break;
  }
  const auto id = static_cast<OpId>(program_.operations.size());
  const ValueId value = define(number(scalar), open_.back().id);
  definers_[value] = id;
  Operation operation{Opcode::kConstant, place_, {}, {value}, {}, {}, {}, bits, {}};
  program_.operations.push_back(std::move(operation));
  program_.blocks[open_.back().id].operations.push_back(id);
  open_.back().known.emplace(key, id);
  return value;
}

ValueId Builder::integer(Scalar scalar, int64_t value) { return constant(scalar, bits_of_value(scalar, value)); }

std::optional<ValueId> Builder::folded(const Request& request) {
  const Family family = facts(request.code).family;
  const auto& ids = request.operands;
  if (request.code == Opcode::kSelect) {
    const std::optional<int64_t> chosen = constant_integer(ids[0]);
    if (chosen) return ids[*chosen != 0 ? 1 : 2];
    if (ids[1] == ids[2]) return ids[1];
    return std::nullopt;
  }
  if (request.code == Opcode::kOffset) {
    if (constant_integer(ids[1]) == 0 && request.types.at(0) == program_.type(ids[0])) return ids[0];
    return std::nullopt;
  }
  if (ids.empty() || !program_.type(ids[0]).is_number() || program_.type(ids[0]).is_vector()) return std::nullopt;
  const Scalar scalar = program_.type(ids[0]).scalar;
  if (request.code == Opcode::kCast || request.code == Opcode::kBitcast || request.code == Opcode::kRecast) {
    if (request.types.at(0) == program_.type(ids[0])) return ids[0];
    const std::optional<int64_t> value = constant_integer(ids[0]);
    const Type& to = request.types[0];
    if (request.code == Opcode::kCast && value && !to.is_vector() && is_integer(to.scalar)) {
      return integer(to.scalar, *value);
    }
    return std::nullopt;
  }
  if (is_float(scalar)) return std::nullopt;
  const std::optional<int64_t> x = constant_integer(ids[0]);
  if (request.code == Opcode::kNot && x && scalar == Scalar::kBoolean) return integer(scalar, *x == 0);
  if (request.code == Opcode::kNeg && x) return integer(scalar, static_cast<int64_t>(0 - static_cast<uint64_t>(*x)));
  if (family != Family::kBinary && family != Family::kShift && family != Family::kCompare) return std::nullopt;
  if (program_.type(ids[1]).is_vector()) return std::nullopt;
  const std::optional<int64_t> y = constant_integer(ids[1]);
  if (family == Family::kCompare) {
    if (!x || !y) return std::nullopt;
    const std::optional<bool> result = fold_compare(request.code, scalar, *x, *y);
    return result ? std::optional(integer(Scalar::kBoolean, *result)) : std::nullopt;
  }
  if (x && y) {
    if (request.text == kHasToFit && !fits(request.code, scalar, *x, *y)) {
      throw ProgramError(does_not_fit(request.code, scalar, *x, *y));
    }
    const std::optional<int64_t> result = fold_binary(request.code, scalar, *x, *y);
    return result ? std::optional(integer(scalar, *result)) : std::nullopt;
  }
  switch (request.code) {
    case Opcode::kAdd:
    case Opcode::kOr:
    case Opcode::kXor:
      if (y == 0) return ids[0];
      if (x == 0) return ids[1];
      break;
    case Opcode::kSub:
    case Opcode::kShl:
    case Opcode::kShr:
      if (y == 0) return ids[0];
      break;
    case Opcode::kMul:
      if (y == 1) return ids[0];
      if (x == 1) return ids[1];
      if (x == 0 || y == 0) return integer(scalar, 0);
      break;
    case Opcode::kDiv:
    case Opcode::kFloorDiv:
      if (y == 1) return ids[0];
      break;
    case Opcode::kRem:
    case Opcode::kFloorMod:
      if (y == 1) return integer(scalar, 0);
      break;
    case Opcode::kMin:
    case Opcode::kMax:
      if (ids[0] == ids[1]) return ids[0];
      break;
    case Opcode::kAnd:
      if (x == 0 || y == 0) return integer(scalar, 0);
      if (scalar == Scalar::kBoolean && y == 1) return ids[0];
      if (scalar == Scalar::kBoolean && x == 1) return ids[1];
      break;
    default:
      break;
  }
  return std::nullopt;
}

std::vector<ValueId> Builder::add(Request request) {
  if (open_.empty()) throw ProgramError("no function is being traced");
  require_visible(request);
  const std::vector<Type> types = result_types_of(program_, request);
  const bool pure = facts(request.code).pure;
  std::string key;
  if (pure) {
    if (const std::optional<ValueId> value = folded(request)) return {*value};
    key = key_of(request, 0);
    for (auto open = open_.rbegin(); open != open_.rend(); ++open) {
      if (const auto found = open->known.find(key); found != open->known.end()) {
        return program_.operations[found->second].results;
      }
      if (open->is_function) break;
    }
  }
  if (locate) locate(*this);
  const auto id = static_cast<OpId>(program_.operations.size());
  const BlockId block = open_.back().id;
  Operation operation{request.code,
                      place_,
                      std::move(request.operands),
                      {},
                      std::move(request.blocks),
                      std::move(request.accesses),
                      std::move(request.ints),
                      0,
                      std::move(request.text)};
  for (const Type& type : types) {
    operation.results.push_back(define(type, block));
    definers_[operation.results.back()] = id;
  }
  const std::vector<ValueId> results = operation.results;
  program_.operations.push_back(std::move(operation));
  program_.blocks[block].operations.push_back(id);
  if (pure) open_.back().known.emplace(std::move(key), id);
  return results;
}

void Builder::name(ValueId id, const std::string& name) {
  if (program_.values[id].name.empty()) program_.values[id].name = name;
}

Program Builder::finish() {
  if (!open_.empty()) throw ProgramError("finish: a function is still open");
  return std::move(program_);
}

}  // namespace tilewright::program

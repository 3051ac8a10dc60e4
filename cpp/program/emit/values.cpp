// Values: which become variables, which stand where they are used, and vectors.
#include <algorithm>

#include "core/error.hpp"
#include "emitter.hpp"
#include "program/fold.hpp"

namespace tilewright::program {

namespace {

constexpr std::size_t kLongest = 72;  // characters of an expression that stands inside of another

std::string_view prefix_of(const Type& type) {
  if (type.is_pointer()) return "p";
  if (type.is_vector()) return "v";
  if (type.scalar == Scalar::kBoolean) return "c";
  return is_float(type.scalar) ? "x" : "i";
}

bool is_elementwise(const Operation& operation) {
  switch (facts(operation.code).family) {
    case Family::kUnary:
    case Family::kBinary:
    case Family::kShift:
    case Family::kCompare:
    case Family::kSelect:
    case Family::kFma:
    case Family::kCast:
      return true;
    default:
      return false;
  }
}

// An instruction makes two numbers of 8 bits at once, and none makes one.
bool is_narrowed_together(const Type& from, const Type& to) {
  const bool is_8 = to.scalar == Scalar::kFloat8E4M3FN || to.scalar == Scalar::kFloat8E5M2;
  return is_8 && from.scalar == Scalar::kFloat32 && from.is_vector() && from.lanes % 2 == 0;
}

}  // namespace

std::string Emitter::new_name(ValueId id) {
  const std::string& wanted = program_.values[id].name;
  return names_.unique(wanted.empty() ? concat(prefix_of(type(id)), id) : wanted);
}

std::string Emitter::user_name(std::initializer_list<ValueId> ids) const {
  for (const ValueId id : ids) {
    if (!program_.values[id].name.empty()) return program_.values[id].name;
  }
  return concat(prefix_of(type(*ids.begin())), *ids.begin());
}

std::optional<int64_t> Emitter::constant(ValueId id) const {
  const Operation* producer = uses_.producer(id);
  if (producer == nullptr || producer->code != Opcode::kConstant || is_float(type(id).scalar)) return std::nullopt;
  return value_of_bits(type(id).scalar, producer->bits);
}

Expr Emitter::raw(ValueId id) {
  if (const auto found = variables_.find(id); found != variables_.end()) {
    // Of elements of 4 bits, a parameter is the address of bytes.
    const bool is_bytes = type(id).is_pointer() && is_sub_byte(type(id).scalar) && uses_.definition(id).op == kNoOp;
    return {is_bytes ? concat(pointer_type(type(id)), "{", found->second, "}") : found->second};
  }
  if (const auto found = inlined_.find(id); found != inlined_.end()) return found->second;
  if (elements_.count(id) != 0) return {variable(id)};
  throw ProgramError(concat("value ", id, " is used before it is defined"));
}

Expr Emitter::value(ValueId id) {
  const Expr expression = raw(id);
  return type(id).is_number() ? arithmetic_.plain(expression, type(id).scalar) : expression;
}

Operand Emitter::operand(ValueId id) { return {raw(id), type(id).scalar, id}; }

Expr Emitter::element(ValueId id, const std::string& index) {
  return arithmetic_.plain(raw_element(id, index), type(id).scalar);
}

Expr Emitter::raw_element(ValueId id, const std::string& index) {
  if (!type(id).is_vector()) return raw(id);
  if (const auto found = elements_.find(id); found != elements_.end()) return found->second(index);
  return {concat(raw(id).text, "[", index, "]")};
}

std::string Emitter::variable(ValueId id) {
  if (const auto found = variables_.find(id); found != variables_.end()) return found->second;
  const std::string name = new_name(id);
  if (const auto found = elements_.find(id); found != elements_.end()) {
    declare_elements(name, type(id), found->second);
    elements_.erase(id);
  } else {
    line(concat(declared_type(type(id)), " ", name, " = ", value(id).text, ";"));
  }
  bind(id, name);
  return name;
}

std::string Emitter::as_int64(ValueId id) {
  const Expr expression = value(id);
  return type(id).scalar == Scalar::kInt64 ? within(expression, Level::kProduct)
                                           : concat("int64(", expression.text, ")");
}

// An unnamed value that is used once stands there, unless a loop would compute it again and again.
bool Emitter::is_inlined(ValueId id) const {
  if (!program_.values[id].name.empty() || uses_.count(id) != 1) return false;
  if (const OpId user = uses_.user(id); user != kNoOp && !type(id).is_vector() && type(id).is_number()) {
    const Operation& operation = program_.operations[user];
    if (!operation.results.empty() && type(operation.results[0]).is_vector()) return false;
  }
  const BlockId home = uses_.definition(id).block;
  for (BlockId at = uses_.use_block(id); at != home;) {
    const OpId owner = uses_.owner(at);
    if (owner == kNoOp || program_.operations[owner].code != Opcode::kIf) return false;
    at = uses_.block_of(owner);
  }
  return true;
}

void Emitter::define(const Operation& operation, const Expr& expression) {
  const ValueId id = operation.results[0];
  if (is_inlined(id) && expression.text.size() <= kLongest) {
    inlined_[id] = expression;
    return;
  }
  inlined_[id] = expression;
  const std::string name = new_name(id);
  line(concat(declared_type(type(id)), " ", name, " = ", value(id).text, ";"));
  inlined_.erase(id);
  bind(id, name);
}

void Emitter::define_elements(const Operation& operation, Elements elements) {
  const ValueId id = operation.results[0];
  elements_[id] = std::move(elements);
  if (is_inlined(id) && element(id, index_).text.size() <= kLongest) return;
  variable(id);
}

void Emitter::declare_elements(const std::string& name, const Type& type, const Elements& elements) {
  line(concat(declared_type(type), " ", name, ";"));
  unrolled(type.lanes, index_, [&] {
    line(concat(name, "[", index_, "] = ", arithmetic_.plain(elements(index_), type.scalar).text, ";"));
  });
}

void Emitter::pure(const Operation& operation) {
  const ValueId id = operation.results[0];
  const Type& result = type(id);
  if (operation.code == Opcode::kConstant) {
    inlined_[id] = literal(result.scalar, operation.bits);
    return;
  }
  const Family family = facts(operation.code).family;
  if (family == Family::kSpecial) return define(operation, special(operation));
  if (family == Family::kVector) return vector(operation);
  if (family == Family::kPointer) return pointer(operation);
  if (operation.code == Opcode::kPrmt) {
    arithmetic_.need("tilewright/lang_integer.cuh");
    return define(operation,
                  call("permuted_bytes", {value(operation.operands[0]).text, value(operation.operands[1]).text,
                                          value(operation.operands[2]).text}));
  }
  if (!is_elementwise(operation)) throw ProgramError(concat("no text for ", facts(operation.code).text));
  if (type(operation.operands.back()).is_pointer()) {  // select
    const auto& x = operation.operands;
    return define(operation, {concat(within(value(x[0]), Level::kOr), " ? ", within(value(x[1]), Level::kOr), " : ",
                                     within(value(x[2]), Level::kOr)),
                              Level::kTernary});
  }
  const bool has_vectors = result.is_vector() || type(operation.operands[0]).is_vector();
  if (operation.code == Opcode::kBitcast && has_vectors) return bitcast_vector(operation);
  if (!has_vectors) {
    std::vector<Operand> operands;
    for (const ValueId x : operation.operands) operands.push_back(operand(x));
    return define(operation, arithmetic_.apply(operation, operands, result.scalar));
  }
  if (operation.code == Opcode::kCast && is_narrowed_together(type(operation.operands[0]), result)) {
    arithmetic_.need("tilewright/lang_narrow.cuh");
    const std::string source = variable(operation.operands[0]), name = new_name(id);
    line(concat(declared_type(result), " ", name, " = converted<", memory_type(result.scalar), ">(", source, ");"));
    return bind(id, name);
  }
  define_elements(operation, [this, &operation, scalar = result.scalar](const std::string& index) {
    std::vector<Operand> operands;
    for (const ValueId x : operation.operands) {
      if (type(x).is_vector()) {
        operands.push_back({raw_element(x, index), type(x).scalar, kNoValue});
      } else {
        operands.push_back(operand(x));
      }
    }
    return arithmetic_.apply(operation, operands, scalar);
  });
}

Expr Emitter::special(const Operation& operation) {
  const int64_t dimension = operation.ints.empty() ? 0 : operation.ints[0];
  const std::string axis(1, "xyz"[dimension]);
  const auto component = [&](std::string_view what) { return Expr{concat("int(", what, ".", axis, ")")}; };
  // Threads count along x first.
  const bool is_flat = function_.threads[1] == 1 && function_.threads[2] == 1;
  const std::string thread =
      is_flat ? "threadIdx.x" : "(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z))";
  switch (operation.code) {
    case Opcode::kThreadIdx:
      return component("threadIdx");
    case Opcode::kBlockIdx:
      return component("blockIdx");
    case Opcode::kBlockDim:
      return component("blockDim");
    case Opcode::kGridDim:
      return component("gridDim");
    case Opcode::kLaneIdx:
      return {concat("int(", thread, " % 32)")};
    case Opcode::kWarpIdx:
      return {concat("int(", thread, " / 32)")};
    case Opcode::kClusterIdx:
      return component("__clusterIdx()");
    case Opcode::kClusterDim:
      return component("__clusterDim()");
    case Opcode::kBlockInClusterIdx:
      return component("__clusterRelativeBlockIdx()");
    case Opcode::kBlockRankInCluster:
      return {"int(__clusterRelativeBlockRank())"};
    default:
      arithmetic_.need("tilewright/lang_special.cuh");
      return {"dynamic_smem_size()"};
  }
}

void Emitter::vector(const Operation& operation) {
  const auto& x = operation.operands;
  switch (operation.code) {
    case Opcode::kSplat:
      return define_elements(operation, [this, id = x[0]](const std::string&) { return value(id); });
    case Opcode::kPack: {
      if (std::all_of(x.begin(), x.end(), [&](ValueId id) { return id == x[0]; })) {
        return define_elements(operation, [this, id = x[0]](const std::string&) { return value(id); });
      }
      const std::string name = new_name(operation.results[0]);
      std::string list;
      for (const ValueId id : x) list += (list.empty() ? "" : ", ") + value(id).text;
      line(concat(declared_type(type(operation.results[0])), " ", name, " = {{", list, "}};"));
      return bind(operation.results[0], name);
    }
    case Opcode::kExtract:
      return extract(operation);
    case Opcode::kInsert:
      return insert(operation);
    case Opcode::kShuffle:
      return shuffle(operation);
    default:
      return reduce(operation);
  }
}

void Emitter::extract(const Operation& operation) {
  const ValueId from = operation.operands[0];
  const std::string index = operation.operands.size() > 1 ? within(value(operation.operands[1]), Level::kSum)
                                                          : std::to_string(operation.ints[0]);
  define(operation, type(from).is_vector() ? element(from, index) : value(from));
}

void Emitter::insert(const Operation& operation) {
  const ValueId id = operation.results[0];
  const std::string name = new_name(id);
  const std::string index =
      operation.operands.size() > 2 ? value(operation.operands[2]).text : std::to_string(operation.ints[0]);
  const ValueId from = operation.operands[0];
  line(
      concat(declared_type(type(id)), " ", name, " = ", type(id).is_vector() ? variable(from) : value(from).text, ";"));
  const std::string at = type(id).is_vector() ? concat(name, "[", index, "]") : name;
  line(concat(at, " = ", value(operation.operands[1]).text, ";"));
  bind(id, name);
}

std::optional<std::string> Emitter::rule_of(const std::vector<int64_t>& table, const std::string& index) const {
  // The table as a layout: each mode repeats, at its stride, what the modes before it give.
  std::vector<AccessMode> modes;
  const std::size_t size = table.size();
  std::size_t covered = 1;
  while (covered < size) {
    const int64_t stride = table[covered] - table[0];
    std::size_t count = 1;
    const auto repeats = [&] {
      if ((count + 1) * covered > size) return false;
      for (std::size_t i = 0; i < covered; ++i) {
        if (table[count * covered + i] != table[i] + static_cast<int64_t>(count) * stride) return false;
      }
      return true;
    };
    while (repeats()) ++count;
    if (count == 1 || size % (covered * count) != 0) return std::nullopt;
    modes.push_back({static_cast<int64_t>(count), stride, kNoValue});
    covered *= count;
  }
  std::string text = const_cast<Emitter*>(this)->linear(modes, index);
  if (table[0] != 0) text = text == "0" ? std::to_string(table[0]) : concat(table[0], " + ", text);
  return text;
}

void Emitter::shuffle(const Operation& operation) {
  const ValueId from = operation.operands[0], id = operation.results[0];
  if (!type(id).is_vector()) {
    const std::string index = std::to_string(operation.ints[0]);
    return define(operation, type(from).is_vector() ? element(from, index) : value(from));
  }
  if (rule_of(operation.ints, index_)) {
    const std::vector<int64_t>& table = operation.ints;
    return define_elements(operation, [this, from, &table](const std::string& index) {
      return type(from).is_vector() ? element(from, *rule_of(table, index)) : value(from);
    });
  }
  const std::string source = variable(from), name = new_name(id);
  std::string list;
  for (const int64_t which : operation.ints) list += concat(list.empty() ? "" : ", ", source, "[", which, "]");
  line(concat(declared_type(type(id)), " ", name, " = {{", list, "}};"));
  bind(id, name);
}

void Emitter::reduce(const Operation& operation) {
  const ValueId from = operation.operands[0], init = operation.operands[1], id = operation.results[0];
  const Type& result = type(id);
  const std::string name = new_name(id);
  const auto step = [&](const std::string& target, const std::string& index) {
    const Expr sum = arithmetic_.reduce(operation.text, result.scalar, {target}, element(from, index));
    line(concat(target, " = ", sum.text, ";"));
  };
  if (result.is_vector()) {
    line(concat(declared_type(result), " ", name, " = ", variable(init), ";"));
  } else {
    line(concat(declared_type(result), " ", name, " = ", value(init).text, ";"));
  }
  if (!type(from).is_vector()) {
    step(result.is_vector() ? concat(name, "[", operation.ints[0], "]") : name, "0");
  } else if (!result.is_vector()) {
    unrolled(type(from).lanes, index_, [&] { step(name, index_); });
  } else if (const auto rule = rule_of(operation.ints, index_)) {
    unrolled(type(from).lanes, index_, [&] { step(concat(name, "[", *rule, "]"), index_); });
  } else {
    for (std::size_t i = 0; i < operation.ints.size(); ++i) {
      step(concat(name, "[", operation.ints[i], "]"), std::to_string(i));
    }
  }
  bind(id, name);
}

void Emitter::bitcast_vector(const Operation& operation) {
  const ValueId from = operation.operands[0], id = operation.results[0];
  const Type &x = type(from), &to = type(id);
  if (x == to)
    return define_elements(operation, [this, from](const std::string& index) { return element(from, index); });
  const std::string name = new_name(id);
  std::string source = x.is_vector() ? variable(from) : value(from).text;
  // In registers an element of 4 bits takes a byte.
  if (is_sub_byte(x.scalar)) source = concat("packed<", memory_type(x.scalar), ">(", source, ")");
  if (is_sub_byte(to.scalar)) {
    arithmetic_.need("tilewright/lang_sub_byte.cuh");
    line(concat(declared_type(to), " ", name, " = unpacked<", memory_type(to.scalar), ", ", to.lanes, ">(", source,
                ");"));
  } else {
    if (is_sub_byte(x.scalar)) arithmetic_.need("tilewright/lang_sub_byte.cuh");
    line(concat(declared_type(to), " ", name, " = __builtin_bit_cast(", declared_type(to), ", ", source, ");"));
  }
  bind(id, name);
}

}  // namespace tilewright::program

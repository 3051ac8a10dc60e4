// Copies, products of register tiles, and atomics.
#include "core/error.hpp"
#include "emitter.hpp"
#include "vectorize.hpp"

namespace tilewright::program {

void Emitter::copy(const Operation& operation) {
  const int64_t count = operation.ints.at(1), pieces = operation.accesses[0].size() / count;
  if (pieces == 1) return copy_piece(operation, count, "0");
  unrolled(pieces, index_, [&] { copy_piece(operation, count, index_); });
}

void Emitter::copy_piece(const Operation& operation, int64_t count, const std::string& index) {
  const Access &from = operation.accesses[0], &to = operation.accesses[1];
  const Scalar scalar = type(to.pointer).scalar, source = type(from.pointer).scalar;
  const int64_t pieces = from.size() / count, cache = operation.ints.size() > 2 ? operation.ints[2] : 0;
  std::string condition;
  if (operation.accesses.size() > 2) {
    const Access& predicate = operation.accesses[2];
    condition = concat("if (", read(predicate, offset(predicate, predicate.modes, index)), ") ");
  }
  const auto in = split(from.modes, {count, pieces}), out = split(to.modes, {count, pieces});
  const int64_t bytes = facts(scalar).bits * count / 8;
  if (operation.text == "cp.async") {
    if (!in || !out) throw ProgramError("copy by cp.async: the elements of one instruction do not lie together");
    // Where the predicate is false the instruction reads nothing and writes zeros.
    const std::string is_read =
        operation.accesses.size() > 2
            ? read(operation.accesses[2], offset(operation.accesses[2], operation.accesses[2].modes, index))
            : "";
    line(cp_async(shared_address_at(to, offset(to, (*out)[1], index)), pointer_at(from, offset(from, (*in)[1], index)),
                  bytes, cache, is_read));
    return;
  }
  if (count > 1 && copied_together(program_, operation) == count) {
    const std::string source_at = pointer_at(from, offset(from, (*in)[1], index));
    const std::string target_at = pointer_at(to, offset(to, (*out)[1], index));
    const auto step = [](const std::vector<AccessMode>& inner) {
      return inner[0].stride == 1 ? std::string() : concat(", ", inner[0].stride);
    };
    const bool is_from_registers = type(from.pointer).space == Space::kRegister;
    const std::string value = is_from_registers ? concat("gather<", count, step((*in)[0]), ">(", source_at, ")")
                                                : concat("*vec<", count, ">(", source_at, ")");
    if (type(to.pointer).space == Space::kRegister) {
      const std::string steps = (*out)[0][0].stride == 1 ? "" : concat("<", (*out)[0][0].stride, ">");
      line(concat(condition, "scatter", steps, "(", target_at, ", ", value, ");"));
    } else {
      line(concat(condition, "*vec<", count, ">(", target_at, ") = ", value, ";"));
    }
    return;
  }
  const auto one = [&](const std::string& from_at, const std::string& to_at) {
    Expr value = {read(from, from_at)};
    if (source != scalar)
      value = arithmetic_.apply({Opcode::kBitcast, 0, {}, {}, {}, {}, {}, 0, {}}, {{value, source}}, scalar);
    return written(to, to_at, value);
  };
  if (count == 1) {
    return line(condition + one(offset(from, from.modes, index), offset(to, to.modes, index)));
  }
  if (!condition.empty()) open(condition + "{");
  unrolled(count, other_index_, [&] {
    const std::string at = index == "0" ? other_index_ : concat(index, " * ", count, " + ", other_index_);
    line(one(offset(from, from.modes, at), offset(to, to.modes, at)));
  });
  if (!condition.empty()) close();
}

std::string Emitter::cp_async(const std::string& to, const std::string& from, int64_t bytes, int64_t cache,
                              const std::string& is_read) const {
  if (bytes != 4 && bytes != 8 && bytes != 16) {
    throw ProgramError(concat("copy by cp.async: one instruction moves 4, 8 or 16 bytes, not ", bytes));
  }
  const_cast<Emitter*>(this)->arithmetic_.need("tilewright/lang_pointer.cuh");
  const std::string addresses = concat("\"r\"(", to, "), \"l\"(global_address(", from, "))");
  const bool is_past_l1 = cache == 1 && bytes == 16;
  // The number of bytes is an operand where it is not always 16.
  std::vector<std::string> more;
  if (!is_past_l1) more.push_back(concat("\"n\"(", bytes, ")"));
  if (!is_read.empty()) more.push_back(concat("\"r\"(", is_read, " ? ", bytes, " : 0)"));
  std::string text = concat("asm volatile(\"cp.async.", is_past_l1 ? "cg" : "ca", ".shared.global [%0], [%1]",
                            is_past_l1 ? ", 16" : "");
  for (std::size_t i = 0; i < more.size(); ++i) text += concat(", %", i + 2);
  text += concat(";\" ::", addresses);
  for (const std::string& operand : more) text += ", " + operand;
  return text + " : \"memory\");";
}

void Emitter::fma_tile(const Operation& operation) {
  const Access &d = operation.accesses[0], &a = operation.accesses[1], &b = operation.accesses[2],
               &c = operation.accesses[3];
  const int64_t v = operation.ints[0], m = operation.ints[1], n = operation.ints[2], k = operation.ints[3];
  const std::string names[] = {names_.unique("v"), names_.unique("m"), names_.unique("n"), names_.unique("k")};
  const auto place = [&](const Access& access, const std::vector<std::pair<int64_t, std::string>>& shape) {
    std::vector<int64_t> extents;
    for (const auto& [extent, name] : shape) extents.push_back(extent);
    const auto parts = split(access.modes, extents);
    std::string text = "0";
    if (parts) {
      for (std::size_t i = 0; i < shape.size(); ++i) {
        if (shape[i].first == 1) continue;
        const std::string term = linear((*parts)[i], shape[i].second);
        if (term != "0") text = text == "0" ? term : concat(text, " + ", term);
      }
      if (access.swizzle.bits == 0) return text;
    }
    // The modes lie across the borders: by the linear index of the coordinate.
    std::string index = "0";
    int64_t step = 1;
    for (const auto& [extent, name] : shape) {
      if (extent > 1) index = concat(index == "0" ? "" : index + " + ", name, step == 1 ? "" : concat(" * ", step));
      step *= extent;
    }
    return offset(access, access.modes, index);
  };
  const std::vector<std::pair<int64_t, std::string>> vm = {{v, names[0]}, {m, names[1]}, {k, names[3]}};
  const std::vector<std::pair<int64_t, std::string>> vn = {{v, names[0]}, {n, names[2]}, {k, names[3]}};
  const std::vector<std::pair<int64_t, std::string>> mn = {{v, names[0]}, {m, names[1]}, {n, names[2]}};
  const Scalar scalar = type(d.pointer).scalar;
  const auto factor = [&](const Access& access, const auto& shape) {
    const Scalar own = type(access.pointer).scalar;
    return arithmetic_.plain(arithmetic_.cast({{read(access, place(access, shape))}, own}, scalar), scalar);
  };
  const std::string sum = place(d, mn);
  Expr before = {read(d, sum)};
  if (!(c == d)) {
    const Expr first = factor(c, mn);
    before = k == 1 ? first : Expr{concat(names[3], " == 0 ? ", first.text, " : ", before.text)};
  }
  // Between registers, rows there and back: neighbouring products share a factor, which an instruction then reads from
  // its register's bank once for both.
  const auto in_registers = [&](const Access& access) { return type(access.pointer).space == Space::kRegister; };
  const bool is_there_and_back = n > 1 && in_registers(a) && in_registers(b);
  const std::pair<int64_t, std::string> loops[] = {{k, names[3]}, {n, names[2]}, {m, names[1]}, {v, names[0]}};
  const std::function<void(std::size_t)> nest = [&](std::size_t depth) {
    if (depth < std::size(loops)) {
      const auto& [extent, name] = loops[depth];
      if (extent == 1) return nest(depth + 1);
      if (depth != 2 || !is_there_and_back) return unrolled(extent, name, [&] { nest(depth + 1); });
      return unrolled(extent, index_, [&] {
        line(concat("int ", name, " = ", names[2], " % 2 == 0 ? ", index_, " : ", extent - 1, " - ", index_, ";"));
        nest(depth + 1);
      });
    }
    const Operation fma = {Opcode::kFma, 0, {}, {}, {}, {}, {}, 0, {}};
    const Expr result =
        arithmetic_.apply(fma, {{factor(a, vm), scalar}, {factor(b, vn), scalar}, {before, scalar}}, scalar);
    line(written(d, sum, arithmetic_.plain(result, scalar)));
  };
  nest(0);
}

namespace {

// The type by which PTX names an atomic that is a message itself, and the constraint of its registers; empty: there is
// none, and fences stand beside an atomic that orders nothing.
std::pair<std::string, char> message_type(const std::string& what, Scalar scalar) {
  const int width = facts(scalar).bits;
  if (scalar == Scalar::kFloat32 || scalar == Scalar::kFloat64) {
    if (what == "add") return {concat("f", width), width == 32 ? 'f' : 'd'};
    return {};
  }
  if (is_float(scalar) || width < 32) return {};
  const bool is_extreme = what == "min" || what == "max";
  const std::string_view kind = what == "add" ? "u" : !is_extreme ? "b" : is_signed(scalar) ? "s" : "u";
  return {concat(kind, width), width == 32 ? 'r' : 'l'};
}

}  // namespace

void Emitter::atomic(const Operation& operation) {
  const Access& access = operation.accesses[0];
  const Scalar scalar = type(access.pointer).scalar;
  const std::string& what = operation.text;
  const int64_t order = operation.ints.empty() ? 0 : operation.ints[0];
  const int64_t scope = operation.ints.size() > 1 ? operation.ints[1] : 0;
  static constexpr std::string_view kScopes[] = {"", "_block", "", "_system"};
  static constexpr std::string_view kReach[] = {"gpu", "cta", "gpu", "sys"};
  static constexpr std::string_view kOrders[] = {"relaxed", "acquire", "release", "acq_rel"};
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"add", "atomicAdd"}, {"min", "atomicMin"}, {"max", "atomicMax"},   {"and", "atomicAnd"},
      {"or", "atomicOr"},   {"xor", "atomicXor"}, {"exch", "atomicExch"}, {"cas", "atomicCAS"}};
  std::string function;
  for (const auto& [name, builtin] : kNames) {
    if (name == what) function = concat(builtin, kScopes[scope & 3]);
  }
  const int width = facts(scalar).bits;
  const bool is_plain = scalar == Scalar::kInt32 || scalar == Scalar::kUint32 || scalar == Scalar::kUint64;
  const bool is_sum_of_floats = what == "add" && (scalar == Scalar::kFloat32 || scalar == Scalar::kFloat64);
  const bool is_wide_extreme = scalar == Scalar::kInt64 && (what == "min" || what == "max");
  const bool is_one_float = scalar == Scalar::kFloat32 && what == "exch";
  if (function.empty() || width < 16 || (is_float(scalar) && (what == "and" || what == "or" || what == "xor"))) {
    throw ProgramError(concat("atomic ", what, " of ", facts(scalar).text, ": no GPU has it"));
  }
  std::string pointer = pointer_at(access, offset(access, access.modes, "0"));
  std::string arguments = value(operation.operands[0]).text;
  // atomicCAS takes what is expected before what is stored.
  if (operation.operands.size() > 1) arguments = concat(value(operation.operands[1]).text, ", ", arguments);
  const ValueId id = operation.results[0];
  // A thread that acquires need not wait for what it has written, as it does at a fence.
  const auto [named, constraint] = order == 0 ? std::pair<std::string, char>{} : message_type(what, scalar);
  if (!named.empty()) {
    const std::string name = new_name(id);
    line(concat(declared_type(type(id)), " ", name, ";"));
    const Space space = type(access.pointer).space;
    const std::string_view named_space = space == Space::kShared ? "shared." : space == Space::kGlobal ? "global." : "";
    std::string inputs = space == Space::kShared
                             ? concat("\"r\"(", shared_address_at(access, offset(access, access.modes, "0")), ")")
                             : concat("\"l\"(", pointer, ")");
    for (std::size_t i = operation.operands.size(); i-- > 0;) {
      inputs += concat(", \"", std::string(1, constraint), "\"(", declared_type(type(id)), "(",
                       value(operation.operands[i]).text, "))");
    }
    line(concat("asm volatile(\"atom.", kOrders[order & 3], ".", kReach[scope & 3], ".", named_space, what, ".", named,
                operation.operands.size() > 1 ? " %0, [%1], %2, %3;" : " %0, [%1], %2;",
                "\" : \"=", std::string(1, constraint), "\"(", name, ") : ", inputs, " : \"memory\");"));
    if (uses_.count(id) != 0) bind(id, name);
    return;
  }
  const std::string fence = concat("asm volatile(\"fence.acq_rel.", kReach[scope & 3], ";\" ::: \"memory\");");
  std::string text;
  if (is_plain || is_sum_of_floats || is_wide_extreme || is_one_float) {
    text = concat(function, "(", pointer, ", ", arguments, ")");
  } else if (scalar == Scalar::kInt64) {
    std::string converted = concat("uint64(", value(operation.operands[0]).text, ")");
    if (operation.operands.size() > 1)
      converted = concat("uint64(", value(operation.operands[1]).text, "), ", converted);
    text = concat("int64(", function, "((uint64*)(", pointer, "), ", converted, "))");
  } else {
    arithmetic_.need("tilewright/lang_atomic.cuh");
    text = concat("atomic_", what, "(", pointer, ", ", arguments, ")");
  }
  if (order >= 2) line(fence);
  if (uses_.count(id) == 0) {
    line(text + ";");
  } else {
    const std::string name = new_name(id);
    line(concat(declared_type(type(id)), " ", name, " = ", text, ";"));
    bind(id, name);
  }
  if (order == 1 || order == 3) line(fence);
}

}  // namespace tilewright::program

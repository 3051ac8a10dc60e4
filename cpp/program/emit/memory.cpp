// Pointers, and what loads and stores.
#include <cstdlib>

#include "core/error.hpp"
#include "emitter.hpp"
#include "vectorize.hpp"

namespace tilewright::program {

namespace {

std::string sum(const std::string& a, const std::string& b) {
  if (a == "0") return b;
  if (b == "0") return a;
  return concat(a, " + ", b);
}

bool is_sum(const std::string& text) { return text.find(' ') != std::string::npos; }
std::string in_brackets(const std::string& text) { return is_sum(text) ? "(" + text + ")" : text; }

// Without the parentheses that are around the whole of it.
std::string without_parentheses(const std::string& text) {
  if (text.front() != '(') return text;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += (text[i] == '(') - (text[i] == ')');
    if (depth == 0 && i + 1 < text.size()) return text;
  }
  return text.substr(1, text.size() - 2);
}

// As a text between others: what binds looser than a product is put in parentheses.
std::string times(const std::string& x, int64_t factor) {
  if (factor == 1) return x;
  return concat(in_brackets(x), " * ", factor);
}

}  // namespace

void Emitter::pointer(const Operation& operation) {
  const ValueId id = operation.results[0];
  const Type& to = type(id);
  const auto source = [&] { return operation.operands[0]; };
  switch (operation.code) {
    case Opcode::kFrame: {
      const std::string name = new_name(id);
      const int64_t count = std::max<int64_t>(operation.ints.at(0), 1);
      const int64_t align = operation.ints.size() > 1 ? std::max<int64_t>(operation.ints[1], 1) : 1;
      const int64_t own = facts(to.scalar).bits / 8;
      const std::string aligned = align > own ? concat("alignas(", align, ") ") : "";
      if (is_sub_byte(to.scalar)) {
        arithmetic_.need("tilewright/lang_sub_byte.cuh");
        line(concat(aligned, "uint8 ", name, "_bytes[", (count + 1) / 2, "];"));
        line(concat(pointer_type(to), " ", name, " = {", name, "_bytes};"));
      } else {
        line(concat(aligned, memory_type(to.scalar), " ", name, "[", count, "];"));
      }
      if (held_.is_used(id)) frames_in_scope_.push_back(id);
      return bind(id, name);
    }
    case Opcode::kShared: {
      uses_smem_ = true;
      const std::string at = operation.ints.at(0) == 0 ? smem_ : concat("(", smem_, " + ", operation.ints[0], ")");
      if (is_sub_byte(to.scalar)) return define(operation, {concat(pointer_type(to), "{", at, "}")});
      return define(operation, {concat("(", memory_type(to.scalar), "*)", at), Level::kUnary});
    }
    case Opcode::kOffset:
      return define(operation, {concat(within(value(source()), Level::kSum), " + ",
                                       within(value(operation.operands[1]), Level::kProduct)),
                                Level::kSum});
    case Opcode::kRecast: {
      const Type& from = type(source());
      const Expr pointer = value(source());
      if (memory_type(from.scalar) == memory_type(to.scalar)) return define(operation, pointer);
      if (is_sub_byte(to.scalar) || is_sub_byte(from.scalar)) {
        arithmetic_.need("tilewright/lang_sub_byte.cuh");
        const std::string byte =
            is_sub_byte(from.scalar) ? pointer.text + ".address()" : "(uint8*)" + within(pointer, Level::kPrimary);
        if (is_sub_byte(to.scalar)) return define(operation, {concat(pointer_type(to), "{", byte, "}")});
        return define(operation, {concat("(", pointer_type(to), ")", byte), Level::kUnary});
      }
      return define(operation, {concat("(", pointer_type(to), ")", within(pointer, Level::kPrimary)), Level::kUnary});
    }
    case Opcode::kMapa: {
      const std::string there =
          concat("__cluster_map_shared_rank(", value(source()).text, ", ", value(operation.operands[1]).text, ")");
      return define(operation, {concat("(", pointer_type(to), ")", there), Level::kUnary});
    }
    case Opcode::kAddress: {
      const Type& from = type(source());
      std::string pointer = value(source()).text;
      if (is_sub_byte(from.scalar)) pointer = within(value(source()), Level::kPrimary) + ".address()";
      if (from.space == Space::kShared) {
        arithmetic_.need("tilewright/lang_pointer.cuh");
        return define(operation, {concat("int64(shared_address(", pointer, "))")});
      }
      return define(operation, {concat("int64(", pointer, ")")});
    }
    default: {  // to_pointer
      const std::string number = value(source()).text;
      if (to.space == Space::kShared) {
        arithmetic_.need("tilewright/lang_pointer.cuh");
        return define(operation, {concat("(", pointer_type(to), ")shared_pointer(", number, ")"), Level::kUnary});
      }
      return define(operation,
                    {concat("(", pointer_type(to), ")", within(value(source()), Level::kPrimary)), Level::kUnary});
    }
  }
}

Expr Emitter::swizzled(const Type& type, const Expr& pointer) {
  const ByteSwizzle& s = type.swizzle;
  if (s.bits == 0) return pointer;
  arithmetic_.need("tilewright/lang_pointer.cuh");
  const std::string name = concat("swizzled<", int{s.bits}, ", ", int{s.base}, ", ", int{s.shift}, ">");
  if (type.space != Space::kShared) return call(name, {pointer.text});
  // In shared memory, the address counts from the beginning of the block's.
  uses_smem_ = true;
  return call(name, {pointer.text, smem_});
}

// The value of a layout's modes at a coordinate: an expression of ints.
std::string Emitter::linear(const std::vector<AccessMode>& modes, const std::string& index) {
  std::string text = "0";
  int64_t covered = 1, size = 1;
  for (const AccessMode& mode : modes) size *= mode.extent;
  if (index == "0" || size == 1) return text;
  for (const AccessMode& mode : modes) {
    std::string coordinate = covered == 1 ? index : concat(in_brackets(index), " / ", covered);
    covered *= mode.extent;
    if (covered != size)
      coordinate = concat(is_sum(coordinate) && covered == mode.extent ? in_brackets(coordinate) : coordinate, " % ",
                          mode.extent);
    if (mode.extent == 1 || (mode.dynamic == kNoValue && mode.stride == 0)) continue;
    if (mode.dynamic != kNoValue) {
      text = sum(text, concat(as_int64(mode.dynamic), " * ", in_brackets(coordinate)));
    } else if (coordinate.find('/') != std::string::npos && coordinate.find('%') == std::string::npos &&
               mode.stride != 1) {
      text = sum(text, concat(coordinate, " * ", mode.stride));
    } else {
      text = sum(text, times(coordinate, mode.stride));
    }
  }
  return text;
}

void Emitter::divide_sum(ValueId id, int64_t divisor, std::string& inside, std::string& outside) {
  const Operation* producer = uses_.producer(id);
  if (ranges_.of(id).divisor % divisor == 0) {
    outside = sum(outside, within(value(id), Level::kSum));
  } else if (producer != nullptr && producer->code == Opcode::kAdd) {
    for (const ValueId part : producer->operands) divide_sum(part, divisor, inside, outside);
  } else {
    inside = sum(inside, within(value(id), Level::kSum));
  }
}

// Multiples of what a swizzle looks at are added behind it: what varies by them alone is an immediate operand then.
std::string Emitter::offset(const Access& access, const std::vector<AccessMode>& modes, const std::string& index) {
  const ByteSwizzle& s = access.swizzle;
  if (s.bits == 0) return linear(modes, index);
  const int64_t whole = int64_t{1} << (s.bits + s.base + std::abs(int{s.shift}));
  std::vector<AccessMode> within_it = modes, beside_it = modes;
  for (std::size_t i = 0; i < modes.size(); ++i) {
    const AccessMode& mode = modes[i];
    const bool is_beside =
        mode.dynamic == kNoValue ? mode.stride % whole == 0 : ranges_.of(mode.dynamic).divisor % whole == 0;
    AccessMode& left_out = is_beside ? within_it[i] : beside_it[i];
    left_out = {mode.extent, 0, kNoValue};
  }
  std::string inside = "0", outside = linear(beside_it, index);
  if (access.dynamic != kNoValue) divide_sum(access.dynamic, whole, inside, outside);
  const int64_t rest = ((access.offset % whole) + whole) % whole;
  if (rest != 0) inside = sum(inside, std::to_string(rest));
  if (access.offset != rest) outside = sum(outside, std::to_string(access.offset - rest));
  inside = sum(inside, linear(within_it, index));
  if (inside == "0") return outside;
  arithmetic_.need("tilewright/lang_pointer.cuh");
  return sum(outside, concat("swizzle<", int{s.bits}, ", ", int{s.base}, ", ", int{s.shift}, ">(", inside, ")"));
}

std::string Emitter::pointer_at(const Access& access, const std::string& offset) {
  const Type& at = type(access.pointer);
  Expr pointer = value(access.pointer);
  if (offset != "0") pointer = {concat(within(pointer, Level::kSum), " + ", offset), Level::kSum};
  return swizzled(at, pointer).text;
}

// As PTX takes it, of shared memory: what the pointer's sum begins with, and the bytes of each term in 32 bits. So the
// compiler sees constant distances from one address, which instructions have as immediates.
std::string Emitter::shared_address_at(const Access& access, const std::string& offset) {
  arithmetic_.need("tilewright/lang_pointer.cuh");
  const Type& at = type(access.pointer);
  if (at.swizzle.bits != 0 || is_sub_byte(at.scalar)) return concat("shared_address(", pointer_at(access, offset), ")");
  const int64_t bytes = facts(at.scalar).bits / 8;
  std::string terms;
  const auto add = [&](const Expr& term) {
    terms = concat(" + ", bytes == 1 ? "" : concat(bytes, "u * "), "uint32(", term.text, ")", terms);
  };
  if (offset != "0") add({offset});
  ValueId begin = access.pointer;
  while (inlined_.count(begin) != 0) {
    const Operation* producer = uses_.producer(begin);
    if (producer == nullptr || producer->code != Opcode::kOffset) break;
    add(value(producer->operands[1]));
    begin = producer->operands[0];
  }
  return concat("shared_address(", value(begin).text, ")", terms);
}

std::string Emitter::element_at(const Access& access, const std::string& offset) {
  const Type& at = type(access.pointer);
  if (at.swizzle.bits != 0) return "*" + pointer_at(access, offset);
  const Expr pointer = value(access.pointer);
  const std::string& text = pointer.text;
  // (base + x)[0] is base[x], where x is one term.
  const std::size_t plus = text.find(" + ");
  if (offset == "0" && pointer.level == Level::kSum && text.find_first_of(" (") == plus) {
    const std::string index = text.substr(plus + 3), inside = without_parentheses(index);
    const bool is_term =
        inside != index || (index.find(" + ") == std::string::npos && index.find(" - ") == std::string::npos);
    if (is_term) return concat(text.substr(0, plus), "[", inside, "]");
  }
  return concat(within(pointer, Level::kPrimary), "[", offset, "]");
}

std::string Emitter::read(const Access& access, const std::string& offset) {
  const Scalar scalar = type(access.pointer).scalar;
  if (is_sub_byte(scalar)) {
    arithmetic_.need("tilewright/lang_sub_byte.cuh");
    return concat(within(value(access.pointer), Level::kPrimary), ".get(", offset, ")");
  }
  const std::string element = element_at(access, offset);
  return scalar == Scalar::kBoolean ? element + " != 0" : element;
}

std::string Emitter::written(const Access& access, const std::string& offset, const Expr& value) {
  if (is_sub_byte(type(access.pointer).scalar)) {
    arithmetic_.need("tilewright/lang_sub_byte.cuh");
    return concat(within(this->value(access.pointer), Level::kPrimary), ".set(", offset, ", ", value.text, ");");
  }
  return concat(element_at(access, offset), " = ", value.text, ";");
}

namespace {

// An access by pieces of neighbouring elements: the modes of the pieces, and where in the vector a piece begins.
struct Pieces {
  std::vector<AccessMode> memory, lanes;
  int64_t count, step;  // pieces, and elements from a piece to its neighbour in the vector
};

Pieces pieces_of(const Access& access, const Vectorized& by) {
  Pieces pieces = {access.modes, {}, access.size() / by.count, 1};
  int64_t lane = 1;
  for (std::size_t i = 0; i < access.modes.size(); ++i) {
    if (i == by.mode) pieces.step = lane;
    pieces.lanes.push_back({access.modes[i].extent, lane, kNoValue});
    lane *= access.modes[i].extent;
  }
  for (std::vector<AccessMode>* modes : {&pieces.memory, &pieces.lanes}) {
    AccessMode& along = (*modes)[by.mode];
    along.extent /= by.count;
    along.stride *= by.count;
  }
  return pieces;
}

}  // namespace

void Emitter::load(const Operation& operation) {
  const Access& access = operation.accesses[0];
  const ValueId id = operation.results[0];
  const Type& result = type(id);
  const std::string name = new_name(id);
  bind(id, name);
  if (!result.is_vector()) {
    line(concat(declared_type(result), " ", name, " = ", read(access, offset(access, access.modes, "0")), ";"));
    return;
  }
  const Vectorized by = vectorized(program_, ranges_, access);
  const std::string declared = concat(declared_type(result), " ", name);
  if (by.count == 1) {
    line(declared + ";");
    unrolled(result.lanes, index_,
             [&] { line(concat(name, "[", index_, "] = ", read(access, offset(access, access.modes, index_)), ";")); });
    return;
  }
  const auto vector_at = [&](const std::string& offset) {
    const std::string vector = concat("*vec<", by.count, ">(", pointer_at(access, offset), ")");
    return result.scalar == Scalar::kBoolean ? concat("is_nonzero(", vector, ")") : vector;
  };
  const Pieces pieces = pieces_of(access, by);
  if (pieces.count == 1) {
    line(concat(declared, " = ", vector_at(offset(access, pieces.memory, "0")), ";"));
    return;
  }
  line(declared + ";");
  unrolled(pieces.count, index_, [&] {
    const std::string lane = linear(pieces.lanes, index_);
    const std::string step = pieces.step == 1 ? "" : concat("<", pieces.step, ">");
    line(concat("put", step, "(", name, ", ", lane, ", ", vector_at(offset(access, pieces.memory, index_)), ");"));
  });
}

void Emitter::store(const Operation& operation) {
  const Access& access = operation.accesses[0];
  const ValueId id = operation.operands[0];
  const int64_t size = access.size();
  if (size == 1) {
    const Expr stored = type(id).is_vector() ? element(id, "0") : value(id);
    return line(written(access, offset(access, access.modes, "0"), stored));
  }
  const Vectorized by = vectorized(program_, ranges_, access);
  if (by.count == 1) {
    return unrolled(size, index_,
                    [&] { line(written(access, offset(access, access.modes, index_), element(id, index_))); });
  }
  std::string name;
  if (type(id).is_vector()) {
    name = variable(id);
  } else {
    name = names_.unique("repeated");
    declare_elements(name, number(type(id).scalar, static_cast<uint32_t>(size)),
                     [&](const std::string&) { return value(id); });
  }
  const bool is_boolean = type(id).scalar == Scalar::kBoolean;
  const auto vector_at = [&](const std::string& offset) {
    return concat("*vec<", by.count, ">(", pointer_at(access, offset), ")");
  };
  const auto as_stored = [&](const std::string& vector) {
    return is_boolean ? concat("to_bytes(", vector, ")") : vector;
  };
  const Pieces pieces = pieces_of(access, by);
  if (pieces.count == 1) {
    return line(concat(vector_at(offset(access, pieces.memory, "0")), " = ", as_stored(name), ";"));
  }
  unrolled(pieces.count, index_, [&] {
    const std::string lane = linear(pieces.lanes, index_);
    const std::string step = pieces.step == 1 ? "" : concat(", ", pieces.step);
    line(concat(vector_at(offset(access, pieces.memory, index_)), " = ",
                as_stored(concat("part<", by.count, step, ">(", name, ", ", lane, ")")), ";"));
  });
}

void Emitter::fill(const Operation& operation) { store(operation); }

}  // namespace tilewright::program

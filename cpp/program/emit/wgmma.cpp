// wgmma: a function for each instruction, descriptors of the operands in shared memory, and registers that stay in
// place while instructions own them.
#include "program/wgmma.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "emitter.hpp"
#include "vectorize.hpp"

namespace tilewright::program {

namespace {

constexpr int64_t kUnit = 16, kRegisterBytes = 4;  // bytes that a descriptor counts, and of a register
constexpr std::size_t kLineLength = 118;

int64_t bytes_of(Scalar scalar) { return facts(scalar).bits / 8; }

// Lines of a list, each within the length of a line.
std::string wrapped(const std::vector<std::string>& items, const std::string& indent, const std::string& open,
                    const std::string& close) {
  std::string text = open;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string item = items[i] + (i + 1 == items.size() ? "" : ",");
    if (text.size() - begin + item.size() + 1 > kLineLength - indent.size() - close.size()) {
      text += close + "\n" + indent;
      begin = text.size();
      text += open;
    }
    text += (text.size() == begin + open.size() ? "" : " ") + item;
  }
  return text + close;
}

}  // namespace

// What the fence or wait is about, of what is there.
void Emitter::hold_registers(OpId id) {
  const std::set<ValueId>& held = held_.at(id);
  for (const ValueId frame : frames_in_scope_) {
    if (held.count(frame) != 0) line(concat("hold(", variables_.at(frame), ");"));
  }
}

// The function of an instruction: its name.
std::string Emitter::wgmma_function(const Operation& operation) {
  const Wgmma w(operation.ints);
  const Scalar of_a = type(operation.accesses[1].pointer).scalar, of_d = type(operation.accesses[0].pointer).scalar;
  std::string name = "wgmma" + operation.text.substr(operation.text.rfind("aligned.") + 7);
  std::replace(name.begin(), name.end(), '.', '_');
  const bool is_16 = bytes_of(of_a) == 2;
  name += w.is_a_in_registers ? "_rs" : "_ss";
  if (w.a.is_mn_major) name += "_m";
  if (w.b.is_mn_major) name += "_n";
  std::string& text = functions_[name];
  if (!text.empty()) return name;
  std::vector<std::string> places, outputs, inputs;
  const auto one = [&](std::vector<std::string>& list, const std::string& constraint, const std::string& value) {
    list.push_back(concat("\"", constraint, "\"(", value, ")"));
  };
  const auto of_d_together = std::max<int64_t>(kRegisterBytes / bytes_of(of_d), 1);
  for (int64_t v = 0; v < w.values_d(); v += of_d_together) {
    places.push_back(concat("%", outputs.size()));
    const bool is_whole = of_d_together == 1;
    one(outputs, of_d == Scalar::kFloat32 ? "+f" : "+r", is_whole ? concat("d[", v, "]") : concat("word(d + ", v, ")"));
  }
  std::size_t next = outputs.size();
  std::string a;
  if (w.is_a_in_registers) {
    const int64_t together = kRegisterBytes / bytes_of(of_a);
    for (int64_t v = 0; v < w.values_a(); v += together) {
      a += concat(v == 0 ? "{" : ", ", "%", next++);
      one(inputs, "r", concat("word(a + ", v, ")"));
    }
    a += "}";
  } else {
    a = concat("%", next++);
    one(inputs, "l", "a");
  }
  const std::size_t of_b = next++, of_p = next++;
  one(inputs, "l", "b");
  one(inputs, "r", "int(adds)");
  std::string tail = of_d == Scalar::kInt32 ? "" : ", 1, 1";
  if (is_16 && !w.is_a_in_registers) tail += w.a.is_mn_major ? ", 1" : ", 0";
  if (is_16) tail += w.b.is_mn_major ? ", 1" : ", 0";
  const std::string held = w.is_a_in_registers ? concat(memory_type(of_a), "* a") : std::string("uint64 a");
  const std::string indent(6, ' ');
  text = concat("__device__ __forceinline__ void ", name, "(", memory_type(of_d), "* d, ", held,
                ", uint64 b, bool adds) {\n  asm volatile(\n", indent, "\"{ .reg .pred p; setp.ne.b32 p, %", of_p,
                ", 0;\"\n", indent, "\"", operation.text, " {\"\n", indent, wrapped(places, indent, "\"", "\""), "\n",
                indent, "\"}, ", a, ", %", of_b, ", p", tail, "; }\"\n", indent, ": ",
                wrapped(outputs, indent + "  ", "", ""), "\n", indent, ": ", wrapped(inputs, indent + "  ", "", ""),
                ");\n}\n");
  return name;
}

// The descriptor of an operand's first matrix, and what leads from there to that of a coordinate.
Emitter::Operands Emitter::described(const Access& access, const Wgmma& w, bool is_a) {
  const int64_t together = kUnit / bytes_of(type(access.pointer).scalar);
  const auto parts = split(access.modes, {is_a ? w.rows : w.columns, w.depth});
  if (!parts) throw ProgramError("wgmma: the modes of an operand lie across those of the instruction");
  Operands operand;
  std::string inside = "0", begin = value(access.pointer).text;
  int64_t units = 0;
  if (access.offset % together == 0) {
    units = access.offset / together;
  } else {
    begin = concat(within(value(access.pointer), Level::kSum), " + ", access.offset);
  }
  if (access.dynamic != kNoValue) {
    const bool divides = access.divisor % together == 0 || ranges_.of(access.dynamic).divisor % together == 0;
    if (divides) {
      inside = concat(within(value(access.dynamic), Level::kPrimary), " / ", together);
    } else {
      begin += concat(" + ", within(value(access.dynamic), Level::kProduct));
    }
  }
  if (units != 0) inside = inside == "0" ? std::to_string(units) : concat(inside, " + ", units);
  operand.name = names_.unique(is_a ? "matrix_a" : "matrix_b");
  const std::string first = concat("matrix_descriptor<", descriptor_of(is_a ? w.a : w.b), "u>(", begin, ")");
  line(concat("const uint64 ", operand.name, " = ", inside == "0" ? first : concat("moved(", first, ", ", inside, ")"),
              ";"));
  for (std::vector<AccessMode> modes : *parts) {
    for (AccessMode& mode : modes) {
      if (mode.extent != 1 && (mode.dynamic != kNoValue || mode.stride % together != 0)) {
        throw ProgramError("wgmma: the matrices of an operand do not begin at multiples of 16 bytes");
      }
      mode.stride /= together;
    }
    operand.modes.push_back(modes);
  }
  return operand;
}

void Emitter::wgmma(const Operation& operation) {
  const Wgmma w(operation.ints);
  arithmetic_.need("tilewright/lang_wgmma.cuh");
  const std::string function = wgmma_function(operation);
  const Access &d = operation.accesses[0], &a = operation.accesses[1], &b = operation.accesses[2];
  open("{");
  const auto name = [&](int64_t extent, const char* wanted) {
    return extent == 1 ? std::string() : names_.unique(wanted);
  };
  const std::string m = name(w.rows, "m"), n = name(w.columns, "n"), k = name(w.depth, "k");
  const auto parts_d = *split(d.modes, {w.values_d(), w.rows, w.columns});
  std::vector<std::vector<AccessMode>> parts_a;
  Operands left;
  if (w.is_a_in_registers) {
    parts_a = *split(a.modes, {w.values_a(), w.rows, w.depth});
  } else {
    left = described(a, w, true);
  }
  const Operands right = described(b, w, false);
  const auto at = [&](const Operands& operand, const std::string& first, const std::string& second) {
    std::string text;
    for (const auto& [modes, index] : {std::pair{operand.modes[0], first}, std::pair{operand.modes[1], second}}) {
      const std::string term = index.empty() ? "0" : linear(modes, index);
      if (term != "0") text += (text.empty() ? "" : " + ") + term;
    }
    return text.empty() ? operand.name : concat("moved(", operand.name, ", ", text, ")");
  };
  const std::string first = value(operation.operands[0]).text;
  const std::string adds = k.empty() || first == "true" ? first : concat(k, " > 0 || ", first);
  const auto one = [&] {
    const std::string left_text =
        w.is_a_in_registers ? pointer_at(a, fragment_place(parts_a, 0, {m, k})) : at(left, m, k);
    line(concat(function, "(", pointer_at(d, fragment_place(parts_d, 0, {m, n})), ", ", left_text, ", ",
                at(right, n, k), ", ", adds, ");"));
  };
  const auto along_rows = [&] { w.rows == 1 ? one() : unrolled(w.rows, m, one); };
  const auto along_columns = [&] { w.columns == 1 ? along_rows() : unrolled(w.columns, n, along_rows); };
  w.depth == 1 ? along_columns() : unrolled(w.depth, k, along_columns);
  close();
}

void Emitter::wgmma_sync(OpId id) {
  const Operation& operation = program_.operations[id];
  const auto instruction = [&](const std::string& text) {
    line(concat("asm volatile(\"", text, ";\" ::: \"memory\");"));
  };
  switch (operation.code) {
    case Opcode::kWgmmaFence:
      hold_registers(id);
      return instruction("wgmma.fence.sync.aligned");
    case Opcode::kWgmmaCommit:
      return instruction("wgmma.commit_group.sync.aligned");
    case Opcode::kWgmmaWait:
      instruction(concat("wgmma.wait_group.sync.aligned ", operation.ints.at(0)));
      return hold_registers(id);
    default:
      return instruction(concat("setmaxnreg.", operation.text, ".sync.aligned.u32 ", operation.ints.at(0)));
  }
}

}  // namespace tilewright::program

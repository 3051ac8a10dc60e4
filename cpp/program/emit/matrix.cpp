// What a warp does with matrices in its registers: mma.sync, ldmatrix and stmatrix.
#include "core/error.hpp"
#include "emitter.hpp"
#include "vectorize.hpp"

namespace tilewright::program {

namespace {

constexpr int64_t kRegisterBytes = 4, kMatrixRowBytes = 16, kWarpLanes = 32;

int64_t bytes_of(Scalar scalar) { return facts(scalar).bits / 8; }
// The elements of one register.
int64_t together(Scalar scalar) { return std::max<int64_t>(kRegisterBytes / bytes_of(scalar), 1); }

// The value of static modes at an index.
int64_t value_at(const std::vector<AccessMode>& modes, int64_t index) {
  int64_t value = 0;
  for (const AccessMode& mode : modes) {
    value += index % mode.extent * mode.stride;
    index /= mode.extent;
  }
  return value;
}

// `{%2, %3}`
std::string numbered(int64_t first, int64_t count) {
  std::string text = "{";
  for (int64_t i = 0; i < count; ++i) text += concat(i == 0 ? "" : ", ", "%", first + i);
  return text + "}";
}

void append(std::string& list, const std::string& more) { list += (list.empty() ? "" : ", ") + more; }

}  // namespace

// The register of a fragment that begins at an element, as an operand of assembly. Numbers that an instruction adds to
// keep their type.
std::string Emitter::fragment_register(const Access& access, const std::string& offset, bool is_sum) {
  const Scalar scalar = type(access.pointer).scalar;
  if (scalar == Scalar::kFloat64) return concat("d\"(", element_at(access, offset), ")");
  if (is_sum && scalar == Scalar::kFloat32) return concat("f\"(", element_at(access, offset), ")");
  if (is_sum && scalar == Scalar::kInt32) return concat("r\"(", element_at(access, offset), ")");
  arithmetic_.need("tilewright/lang_matrix.cuh");
  return concat("r\"(word(", pointer_at(access, offset), "))");
}

// The offset of an element of the first part, at the coordinates that the names stand for in the others.
std::string Emitter::fragment_place(const std::vector<std::vector<AccessMode>>& parts, int64_t element,
                                    const std::vector<std::string>& names) {
  std::string text;
  const auto add = [&](const std::string& term) {
    if (term != "0") text += (text.empty() ? "" : " + ") + term;
  };
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!names[i].empty()) add(linear(parts[i + 1], names[i]));
  }
  add(std::to_string(value_at(parts[0], element)));
  return text.empty() ? "0" : text;
}

void Emitter::mma(const Operation& operation) {
  const Access &d = operation.accesses[0], &a = operation.accesses[1], &b = operation.accesses[2],
               &c = operation.accesses[3];
  const auto& n = operation.ints;
  const int64_t rows = n[3], columns = n[4], depth = n[5];
  const int64_t of_a = n[0] * n[2] / kWarpLanes, of_b = n[1] * n[2] / kWarpLanes, of_c = n[0] * n[1] / kWarpLanes;
  const auto name = [&](int64_t extent, const char* wanted) {
    return extent == 1 ? std::string() : names_.unique(wanted);
  };
  const std::string m = name(rows, "m"), column = name(columns, "n"), k = name(depth, "k");
  const auto parts = [&](const Access& access, int64_t values, int64_t first, int64_t second) {
    const auto found = split(access.modes, {values, first, second});
    if (!found) throw ProgramError("mma: the modes of a fragment lie across those of the instruction");
    return *found;
  };
  const auto parts_a = parts(a, of_a, rows, depth), parts_b = parts(b, of_b, columns, depth);
  const auto parts_c = parts(c, of_c, rows, columns), parts_d = parts(d, of_c, rows, columns);
  const auto one = [&] {
    // The instruction adds to what is there.
    for (int64_t v = 0; v < of_c && !(c == d); ++v) {
      const std::string to = element_at(d, fragment_place(parts_d, v, {m, column}));
      const std::string from = element_at(c, fragment_place(parts_c, v, {m, column}));
      line(concat(depth == 1 ? "" : concat("if (", k, " == 0) "), to, " = ", from, ";"));
    }
    std::string outputs, inputs;
    int64_t count = 0;
    const auto registers = [&](const Access& access, const auto& of, int64_t values, const std::string& first,
                               const std::string& second, std::string& list, bool is_sum) {
      const int64_t begin = count, step = together(type(access.pointer).scalar);
      for (int64_t v = 0; v < values; v += step, ++count) {
        const std::string at = fragment_place(of, v, {first, second});
        append(list, concat("\"", is_sum ? "+" : "", fragment_register(access, at, is_sum)));
      }
      return numbered(begin, count - begin);
    };
    const std::string sums = registers(d, parts_d, of_c, m, column, outputs, true);
    const std::string left = registers(a, parts_a, of_a, m, k, inputs, false);
    const std::string right = registers(b, parts_b, of_b, column, k, inputs, false);
    line(concat("asm(\"", operation.text, " ", sums, ", ", left, ", ", right, ", ", sums, ";\" : ", outputs, " : ",
                inputs, ");"));
  };
  // Columns there and back: neighbouring instructions share a fragment of A or of B.
  const auto along_columns = [&] {
    if (columns == 1) return one();
    if (rows == 1) return unrolled(columns, column, one);
    unrolled(columns, index_, [&] {
      line(concat("int ", column, " = ", m, " % 2 == 0 ? ", index_, " : ", columns - 1, " - ", index_, ";"));
      one();
    });
  };
  const auto along_rows = [&] { rows == 1 ? along_columns() : unrolled(rows, m, along_columns); };
  depth == 1 ? along_rows() : unrolled(depth, k, along_rows);
}

void Emitter::matrices(const Operation& operation) {
  const bool is_load = operation.code == Opcode::kLdMatrix;
  const Access &memory = operation.accesses[is_load ? 0 : 1], &held = operation.accesses[is_load ? 1 : 0];
  const int64_t matrices = operation.ints[0];
  const Scalar scalar = type(memory.pointer).scalar;
  const int64_t row = kMatrixRowBytes / bytes_of(scalar), each = matrices * together(scalar);
  const int64_t count = memory.size() / row;
  const auto rows = split(memory.modes, {row, count}), parts = split(held.modes, {each, count});
  if (!rows || !parts) throw ProgramError("ldmatrix: the modes lie across those of one instruction");
  arithmetic_.need("tilewright/lang_pointer.cuh");
  const std::string name = concat(is_load ? "ldmatrix" : "stmatrix", ".sync.aligned.m8n8.x", matrices,
                                  operation.ints[1] != 0 ? ".trans" : "", ".shared.b16 ");
  const auto one = [&](const std::string& index) {
    std::string registers;
    for (int64_t j = 0; j < matrices; ++j) {
      const std::string at = fragment_place(*parts, j * together(scalar), {index == "0" ? "" : index});
      append(registers, concat("\"", is_load ? "=" : "", fragment_register(held, at, false)));
    }
    const std::string address = concat("\"r\"(", shared_address_at(memory, offset(memory, (*rows)[1], index)), ")");
    line(is_load ? concat("asm volatile(\"", name, numbered(0, matrices), ", [%", matrices, "];\" : ", registers, " : ",
                          address, " : \"memory\");")
                 : concat("asm volatile(\"", name, "[%0], ", numbered(1, matrices), ";\" :: ", address, ", ", registers,
                          " : \"memory\");"));
  };
  count == 1 ? one("0") : unrolled(count, index_, [&] { one(index_); });
}

}  // namespace tilewright::program

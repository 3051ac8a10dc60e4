#include "emit.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "emitter.hpp"

namespace tilewright::program {

namespace {

// Headers of other headers come with them.
constexpr std::string_view kBase = "tilewright/lang.cuh";

constexpr uint32_t kTensorMapBytes = 128, kTensorMapAlignment = 64;

}  // namespace

Emitter::Emitter(const Program& program, const Function& function)
    : program_(program),
      function_(function),
      uses_(program, function),
      held_(program, uses_, function.body),
      ranges_(program, function, uses_),
      arithmetic_(ranges_, headers_) {
  names_.unique(function.name);  // as cuda_name says
  // Indices of loops over elements give way to the user's names.
  const Block& body = program.blocks[function.body];
  std::unordered_set<std::string_view> wanted;
  for (ValueId id = 0; id < program.values.size(); ++id) {
    if (uses_.definition(id).kind != Definition::Kind::kNone) wanted.insert(program.values[id].name);
  }
  const auto free_name = [&](std::initializer_list<const char*> candidates) {
    for (const char* candidate : candidates) {
      if (wanted.count(candidate) == 0) return names_.unique(candidate);
    }
    return names_.unique(*(candidates.end() - 1));
  };
  index_ = free_name({"i", "e", "q", "element"});
  other_index_ = free_name({"j", "f", "r", "part_element"});
  smem_ = free_name({"smem", "shared_memory"});
  for (std::size_t i = 0; i < body.parameters.size(); ++i) {
    const ValueId id = body.parameters[i];
    const std::string& name = i < function.parameters.size() ? function.parameters[i] : program.values[id].name;
    bind(id, name.empty() ? new_name(id) : names_.unique(name));
  }
}

std::string Emitter::head() {
  int64_t threads = 1;
  for (const int64_t extent : function_.threads) threads *= extent;
  std::string bounds;
  if (threads > 0) {
    bounds =
        concat("__launch_bounds__(", threads, function_.min_blocks > 0 ? concat(", ", function_.min_blocks) : "", ") ");
  }
  std::string parameters;
  for (const ValueId id : program_.blocks[function_.body].parameters) {
    const Type& t = type(id);
    if (is_sub_byte(t.scalar)) arithmetic_.need("tilewright/lang_sub_byte.cuh");
    if (is_narrow(t.scalar)) arithmetic_.need("tilewright/lang_narrow.cuh");
    if (t.is_tensor_map()) arithmetic_.need("tilewright/tma.cuh");
    const std::string type = t.is_tensor_map()                         ? "const __grid_constant__ TensorMap"
                             : t.is_pointer() && is_sub_byte(t.scalar) ? "uint8*"
                                                                       : declared_type(t);
    parameters += concat(parameters.empty() ? "" : ", ", type, " ", variables_.at(id));
  }
  return concat("extern \"C\" __global__ void ", bounds, cuda_name(function_), "(", parameters, ") {\n");
}

std::string Emitter::text(Marks marks) {
  block(function_.body);
  for (ValueId id = 0; id < program_.values.size(); ++id) {
    if (uses_.is_live_value(id) && is_narrow(type(id).scalar)) arithmetic_.need("tilewright/lang_narrow.cuh");
  }
  const std::string first = head();
  std::string text = concat("#include \"", kBase, "\"\n");
  for (const std::string_view header : headers_) text += concat("#include \"", header, "\"\n");
  text += "\nusing namespace tilewright;\n\n";
  for (const auto& [name, function] : functions_) text += function + "\n";
  uint32_t last = 0;
  const auto mark = [&](uint32_t place) {
    const bool is_known = program_.places[place].line != 0;
    if (marks == Marks::kNone || !is_known || (marks == Marks::kChanges && place == last)) return;
    last = place;
    text += concat("#line ", program_.places[place].line, " ", quoted(program_.places[place].file), "\n");
  };
  if (!lines_.empty()) mark(lines_[0].place);
  text += first;
  if (uses_smem_) text += concat("  extern __shared__ __align__(1024) uint8 ", smem_, "[];\n");
  for (const Line& each : lines_) {
    mark(each.place);
    text += std::string(2 * static_cast<std::size_t>(each.depth), ' ') + each.text + "\n";
  }
  return text + "}\n";
}

uint32_t parameter_bytes(const Type& type) {
  if (type.is_tensor_map()) return kTensorMapBytes;
  if (type.is_pointer()) return 8;
  return type.lanes * static_cast<uint32_t>(std::max(facts(type.scalar).bits / 8, 1));
}

uint32_t parameter_alignment(const Type& type) {
  if (type.is_tensor_map()) return kTensorMapAlignment;
  const uint32_t bytes = parameter_bytes(type);
  return type.is_vector() ? std::min(bytes & -bytes, 16u) : bytes;
}

std::string cuda_name(const Function& function) { return Names().unique(function.name); }

std::string cuda_source(const Program& program, const Function& function, Marks marks) {
  return Emitter(program, function).text(marks);
}

}  // namespace tilewright::program

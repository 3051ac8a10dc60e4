#include "runtime/nvrtc.hpp"

#include <memory>
#include <stdexcept>

namespace tilewright::runtime {

namespace {

constexpr int kCompilationFailed = 6;

// NVRTC takes C strings: a text with a zero byte would be cut off there.
const char* c_string(const std::string& text, const char* what) {
  if (text.find('\0') != std::string::npos) {
    throw std::invalid_argument(std::string("compile: the ") + what + " contains a zero byte");
  }
  return text.c_str();
}

}  // namespace

Nvrtc::Nvrtc(const std::string& path) : library_(path) {
  const auto need = [this](const char* symbol, auto& pointer) {
    if (!library_.find(symbol, pointer)) {
      throw LibraryError(library_.path() + " has no " + symbol + ": it is no NVRTC of CUDA 11.3 or newer");
    }
  };
  need("nvrtcVersion", version_);
  need("nvrtcGetErrorString", error_string_);
  need("nvrtcCreateProgram", create_);
  need("nvrtcDestroyProgram", destroy_);
  need("nvrtcAddNameExpression", add_name_);
  need("nvrtcCompileProgram", compile_);
  need("nvrtcGetProgramLogSize", log_size_);
  need("nvrtcGetProgramLog", log_);
  need("nvrtcGetPTXSize", ptx_size_);
  need("nvrtcGetPTX", ptx_);
  need("nvrtcGetCUBINSize", cubin_size_);
  need("nvrtcGetCUBIN", cubin_);
  need("nvrtcGetLoweredName", lowered_);
  open_builtins();
}

// NVRTC asks the loader for its second library by name alone, which fails for libraries outside the loader's paths,
// such as pip's. One of that name which is open already is taken.
void Nvrtc::open_builtins() const {
  const std::string file = path();
  const auto [major, minor] = version();
  const std::string folder = file.substr(0, file.rfind('/') + 1);
  try {
    Library(folder + "libnvrtc-builtins.so." + std::to_string(major) + "." + std::to_string(minor));
  } catch (const LibraryError&) {
    // Somewhere else, then; if nowhere, the compiler says so.
  }
}

std::string Nvrtc::text_of(int result) const {
  const char* text = error_string_(result);
  return std::string(text ? text : "unknown error") + " (" + std::to_string(result) + ")";
}

void Nvrtc::check(int result, const char* operation) const {
  if (result != 0) throw std::runtime_error(std::string(operation) + " failed: " + text_of(result));
}

std::pair<int, int> Nvrtc::version() const {
  std::pair<int, int> version;
  check(version_(&version.first, &version.second), "nvrtcVersion");
  return version;
}

// A piece of the program's output; nothing where it has none.
template <class Size, class Get>
std::optional<std::string> Nvrtc::fetch(Program program, Size size, Get get, const char* operation) const {
  size_t bytes = 0;
  if (size(program, &bytes) != 0 || bytes == 0) return std::nullopt;
  std::string data(bytes, '\0');
  check(get(program, data.data()), operation);
  return data;
}

CompileResult Nvrtc::compile(const std::string& source, const std::string& name,
                             const std::map<std::string, std::string>& headers, const std::vector<std::string>& options,
                             const std::vector<std::string>& names) const {
  std::vector<const char*> texts, includes, flags;
  for (const auto& [include, text] : headers) {
    includes.push_back(c_string(include, "name of a header"));
    texts.push_back(c_string(text, "text of a header"));
  }
  for (const std::string& option : options) flags.push_back(c_string(option, "list of options"));

  Program program = nullptr;
  check(create_(&program, c_string(source, "source"), c_string(name, "name"), static_cast<int>(texts.size()),
                texts.data(), includes.data()),
        "nvrtcCreateProgram");
  const auto destroy = [this](Program p) { destroy_(&p); };
  const std::unique_ptr<ProgramTag, decltype(destroy)> owner(program, destroy);
  for (const std::string& expression : names) {
    check(add_name_(program, c_string(expression, "list of names")), "nvrtcAddNameExpression");
  }

  const int status = compile_(program, static_cast<int>(flags.size()), flags.data());
  CompileResult result;
  result.ok = status == 0;
  const auto text = [&](auto size, auto get, const char* operation) {
    std::optional<std::string> found = fetch(program, size, get, operation);
    if (found && found->back() == '\0') found->pop_back();
    return found;
  };
  result.log = text(log_size_, log_, "nvrtcGetProgramLog").value_or("");
  if (!result.ok) {
    if (status != kCompilationFailed) result.log = "nvrtcCompileProgram: " + text_of(status) + "\n" + result.log;
    return result;
  }
  result.ptx = text(ptx_size_, ptx_, "nvrtcGetPTX");
  result.cubin = fetch(program, cubin_size_, cubin_, "nvrtcGetCUBIN");
  for (const std::string& expression : names) {
    const char* symbol = nullptr;
    check(lowered_(program, expression.c_str(), &symbol), "nvrtcGetLoweredName");
    result.lowered[expression] = symbol;
  }
  return result;
}

}  // namespace tilewright::runtime

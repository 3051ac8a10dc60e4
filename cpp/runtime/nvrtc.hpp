// NVRTC, the run-time compiler.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/library.hpp"

namespace tilewright::runtime {

struct CompileResult {
  bool ok = false;
  std::string log;                             // of the compiler; says what is wrong where ok is false
  std::optional<std::string> cubin;            // where the options name a real architecture
  std::optional<std::string> ptx;              // text
  std::map<std::string, std::string> lowered;  // name expression to symbol
};

class Nvrtc {
 public:
  // Opens the library at a path. Throws LibraryError where that fails or a symbol is missing.
  explicit Nvrtc(const std::string& path);

  std::pair<int, int> version() const;
  std::string path() const { return library_.path(); }

  // Compiles source, in which headers can be included by their names, and instantiates the name expressions.
  // A program that does not compile gives a result that is not ok.
  CompileResult compile(const std::string& source, const std::string& name,
                        const std::map<std::string, std::string>& headers, const std::vector<std::string>& options,
                        const std::vector<std::string>& names) const;

 private:
  using Program = struct ProgramTag*;

  void open_builtins() const;
  void check(int result, const char* operation) const;
  std::string text_of(int result) const;
  template <class Size, class Get>
  std::optional<std::string> fetch(Program program, Size size, Get get, const char* operation) const;

  Library library_;
  int (*version_)(int*, int*);
  const char* (*error_string_)(int);
  int (*create_)(Program*, const char*, const char*, int, const char* const*, const char* const*);
  int (*destroy_)(Program*);
  int (*add_name_)(Program, const char*);
  int (*compile_)(Program, int, const char* const*);
  int (*log_size_)(Program, size_t*);
  int (*log_)(Program, char*);
  int (*ptx_size_)(Program, size_t*);
  int (*ptx_)(Program, char*);
  int (*cubin_size_)(Program, size_t*);
  int (*cubin_)(Program, char*);
  int (*lowered_)(Program, const char*, const char**);
};

}  // namespace tilewright::runtime

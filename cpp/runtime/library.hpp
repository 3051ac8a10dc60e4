// A shared library that is opened at run time and stays open until the process ends.
#pragma once

#include <stdexcept>
#include <string>

namespace tilewright::runtime {

class LibraryError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Library {
 public:
  // A name that the loader looks for, or a path. Throws LibraryError with the loader's words.
  explicit Library(const std::string& name);

  // The address of an exported symbol, nullptr if there is none.
  void* find(const char* symbol) const noexcept;

  template <class Pointer>
  bool find(const char* symbol, Pointer& pointer) const noexcept {
    pointer = reinterpret_cast<Pointer>(find(symbol));
    return pointer != nullptr;
  }

  // The file that was opened.
  std::string path() const;

 private:
  std::string name_;
  void* handle_;
};

}  // namespace tilewright::runtime

#include "runtime/library.hpp"

#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#endif
#ifdef __linux__
#include <link.h>
#endif

namespace tilewright::runtime {

#ifdef _WIN32

Library::Library(const std::string& name) : name_(name), handle_(LoadLibraryA(name.c_str())) {
  if (handle_ == nullptr) throw LibraryError("cannot load " + name + ": error " + std::to_string(GetLastError()));
}

void* Library::find(const char* symbol) const noexcept {
  return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(handle_), symbol));
}

std::string Library::path() const {
  char path[MAX_PATH];
  const DWORD size = GetModuleFileNameA(static_cast<HMODULE>(handle_), path, MAX_PATH);
  return size == 0 || size == MAX_PATH ? name_ : std::string(path, size);
}

#else

Library::Library(const std::string& name) : name_(name), handle_(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) {
    const char* reason = dlerror();
    throw LibraryError(reason ? reason : "cannot load " + name);
  }
}

void* Library::find(const char* symbol) const noexcept { return dlsym(handle_, symbol); }

std::string Library::path() const {
#ifdef __linux__
  const link_map* map = nullptr;
  if (dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr || map->l_name == nullptr) return name_;
  return map->l_name;
#else
  return name_;
#endif
}

#endif

}  // namespace tilewright::runtime

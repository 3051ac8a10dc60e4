#include "runtime/library.hpp"

#include <dlfcn.h>
#include <link.h>

namespace tilewright::runtime {

Library::Library(const std::string& name) : name_(name), handle_(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) {
    const char* reason = dlerror();
    throw LibraryError(reason ? reason : "cannot load " + name);
  }
}

void* Library::find(const char* symbol) const noexcept { return dlsym(handle_, symbol); }

std::string Library::path() const {
  const link_map* map = nullptr;
  if (dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr || map->l_name == nullptr) return name_;
  return map->l_name;
}

}  // namespace tilewright::runtime

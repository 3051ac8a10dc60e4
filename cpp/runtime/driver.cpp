#include "runtime/driver.hpp"

#ifndef _WIN32
#include <pthread.h>
#endif

#include <algorithm>
#include <iterator>
#include <mutex>
#include <type_traits>

#include "runtime/library.hpp"

namespace tilewright::runtime {

std::atomic<bool> forked = false;

namespace {

#ifdef _WIN32
constexpr const char* kLibrary = "nvcuda.dll";
#else
constexpr const char* kLibrary = "libcuda.so.1";
#endif
constexpr int kNotInitialized = 3;

struct OpenDriver {
  Library library;
  DriverApi api;
};

[[noreturn]] void fail_missing(const Library& library, const char* function, int version) {
  throw DriverError("the CUDA driver " + library.path() + " has no " + function + " of CUDA " +
                    std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10) +
                    "; install a newer driver");
}

// Symbols are asked for by version, because an exported name such as cuCtxPushCurrent is its oldest interface.
DriverApi resolve(const Library& library) {
  DriverResult (*get)(const char*, void**, int, unsigned long long, int*) = nullptr;
  if (!library.find("cuGetProcAddress_v2", get)) {
    throw DriverError("the CUDA driver " + library.path() +
                      " is too old: it has no cuGetProcAddress_v2; install a driver for CUDA 12.0 or newer");
  }
  DriverApi api;
  const auto find = [&](const char* name, int version, auto& pointer) {
    void* address = nullptr;
    int status = 0;
    if (get(name, &address, version, 0, &status) != 0) address = nullptr;
    pointer = reinterpret_cast<std::decay_t<decltype(pointer)>>(address);
    return address != nullptr;
  };
#define TILEWRIGHT_RESOLVE(name, version, parameters) \
  if (!find(#name, version, api.name)) fail_missing(library, #name, version);
  TILEWRIGHT_DRIVER_FUNCTIONS(TILEWRIGHT_RESOLVE)
#undef TILEWRIGHT_RESOLVE
#define TILEWRIGHT_RESOLVE(name, version, parameters) find(#name, version, api.name);
  TILEWRIGHT_OPTIONAL_DRIVER_FUNCTIONS(TILEWRIGHT_RESOLVE)
#undef TILEWRIGHT_RESOLVE
  return api;
}

OpenDriver* open() {
  try {
    Library library(kLibrary);
    return new OpenDriver{library, resolve(library)};
  } catch (const LibraryError& error) {
    throw DriverError(std::string("no CUDA driver: ") + error.what() +
                      "; install NVIDIA's driver, or put the folder of libcuda.so.1 into LD_LIBRARY_PATH");
  }
}

std::mutex opening;
std::atomic<bool> used = false;  // from the moment on in which the driver is being initialised

#ifndef _WIN32
// In the child of a fork only the thread that forked goes on. So a fork waits until no other one is opening the driver,
// which nobody would finish in the child; whoever is initialising it would not finish that either, but there it is not
// asked for any more.
void before_fork() { opening.lock(); }
void after_fork() { opening.unlock(); }
void after_fork_in_child() {
  opening.unlock();
  if (used.load(std::memory_order_relaxed)) forked.store(true, std::memory_order_relaxed);
}
[[maybe_unused]] const int registered = pthread_atfork(before_fork, after_fork, after_fork_in_child);
#endif

// Opened, not initialised. Leaked on purpose: nothing may be closed while the process ends. What throws is tried again.
const OpenDriver& opened() {
  static std::atomic<const OpenDriver*> instance = nullptr;
  if (const OpenDriver* known = instance.load(std::memory_order_acquire)) return *known;
  const std::lock_guard lock(opening);
  const OpenDriver* known = instance.load(std::memory_order_relaxed);
  if (known == nullptr) {
    known = open();
    instance.store(known, std::memory_order_release);
  }
  return *known;
}

const DriverApi* initialise() {
  const DriverApi& api = opened().api;
  used.store(true, std::memory_order_relaxed);
  const DriverResult result = api.cuInit(0);
  if (result != 0) used.store(false, std::memory_order_relaxed);
  if (result == kNotInitialized) {
    fail_driver(result, "cuInit", "",
                "if this process was forked from one that had used CUDA, use the spawn start method");
  }
  if (result != 0) fail_driver(result, "cuInit");
  return &api;
}

// After these every call of the process fails.
bool is_sticky(DriverResult result) {
  constexpr int kSticky[] = {214, 220, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719};
  return std::find(std::begin(kSticky), std::end(kSticky), result) != std::end(kSticky);
}

}  // namespace

std::optional<std::string> driver_path() {
  try {
    return Library(kLibrary).path();
  } catch (const LibraryError&) {
    return std::nullopt;
  }
}

int driver_version() {
  int version = 0;
  check(opened().api.cuDriverGetVersion(&version), "cuDriverGetVersion");
  return version;
}

const DriverApi& driver() {
  check_not_forked();
  static const DriverApi* const api = initialise();
  return *api;
}

void fail_forked() {
  throw DriverError(
      "CUDA cannot be used in a forked subprocess, because the parent had used it before the fork; "
      "use the spawn start method (multiprocessing.set_start_method('spawn'))");
}

void fail_missing(const char* function, int version) { fail_missing(opened().library, function, version); }

void fail_driver(DriverResult result, const char* operation, const std::string& kernel, const std::string& hint) {
  const DriverApi& api = opened().api;
  const char* name = nullptr;
  const char* text = nullptr;
  if (api.cuGetErrorName(result, &name) != 0 || name == nullptr) name = "an error unknown to the driver";
  if (api.cuGetErrorString(result, &text) != 0 || text == nullptr) text = "no explanation";
  std::string message = std::string(operation) + " failed: " + name + " (" + std::to_string(result) + "): " + text;
  if (!kernel.empty()) message += "; kernel " + kernel;
  if (!hint.empty()) message += "; " + hint;
  if (is_sticky(result)) {
    message += "; this or an earlier kernel failed and the CUDA context is dead: restart the process";
  }
  throw DriverError(message, result, name, kernel);
}

}  // namespace tilewright::runtime

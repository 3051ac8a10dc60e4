// The CUDA driver: opened at its first use, never closed.
#pragma once

#include <atomic>
#include <optional>
#include <stdexcept>
#include <string>

#include "runtime/driver_api.hpp"

namespace tilewright::runtime {

class DriverError : public std::runtime_error {
 public:
  DriverError(const std::string& message, std::optional<int> code = std::nullopt, std::string name = "",
              std::string kernel = "")
      : std::runtime_error(message), code_(code), name_(std::move(name)), kernel_(std::move(kernel)) {}

  std::optional<int> code() const { return code_; }      // nothing where the driver was not asked
  const std::string& name() const { return name_; }      // CUDA_ERROR_...
  const std::string& kernel() const { return kernel_; }  // empty where no kernel was involved

 private:
  std::optional<int> code_;
  std::string name_;
  std::string kernel_;
};

// The file of the driver library; nothing where it cannot be loaded.
std::optional<std::string> driver_path();
// 13000 for 13.0. Works without a device.
int driver_version();

// The initialised driver. DriverError where there is none, where it is too old and in a forked child.
const DriverApi& driver();

// Set in a child that was forked after its parent had begun to initialise the driver: it doesn't work there.
extern std::atomic<bool> forked;
[[noreturn]] void fail_forked();
inline void check_not_forked() {
  if (forked.load(std::memory_order_relaxed)) fail_forked();
}

// Throws the DriverError of a result that isn't success.
[[noreturn]] void fail_driver(DriverResult result, const char* operation, const std::string& kernel = "",
                              const std::string& hint = "");
// Throws where the driver lacks an optional function.
[[noreturn]] void fail_missing(const char* function, int version);
inline void check(DriverResult result, const char* operation) {
  if (result != 0) fail_driver(result, operation);
}

}  // namespace tilewright::runtime

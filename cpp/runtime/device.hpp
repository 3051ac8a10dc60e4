// Devices and their primary contexts.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "runtime/driver.hpp"

namespace tilewright::runtime {

struct DeviceProperties {
  std::string name;
  std::array<int, 2> capability;
  int multiprocessors;
  int l2_bytes;
  int shared_per_block_optin;
  int shared_per_multiprocessor;
  int registers_per_multiprocessor;
  int clock_khz;
  uint64_t total_memory;
  std::string uuid;
};

int device_count();  // 0 where the driver finds none
DeviceProperties device_properties(int device);
// Waits until everything on the device has ended.
void synchronize(int device);

// The context that the CUDA runtime, and so torch, uses on the device. Retained once and kept.
Context primary_context(int device);

// Makes a context current for the life of the object. Costs one query where it is current already.
class CurrentContext {
 public:
  CurrentContext(const DriverApi& api, Context wanted) : api_(api) {
    Context now = nullptr;
    check(api.cuCtxGetCurrent(&now), "cuCtxGetCurrent");
    if (now == wanted) return;
    check(api.cuCtxPushCurrent(wanted), "cuCtxPushCurrent");
    pushed_ = true;
  }
  ~CurrentContext() {
    Context popped = nullptr;
    if (pushed_) api_.cuCtxPopCurrent(&popped);
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  const DriverApi& api_;
  bool pushed_ = false;
};

}  // namespace tilewright::runtime

#include "runtime/device.hpp"

#include <cstdio>
#include <map>
#include <mutex>
#include <stdexcept>

namespace tilewright::runtime {

namespace {

constexpr int kNoDevice = 100;

Device handle_of(int device) {
  const int count = device_count();
  if (device < 0 || device >= count) {
    throw std::invalid_argument("there is no CUDA device " + std::to_string(device) + ": the driver finds " +
                                std::to_string(count) + " (numbered from 0; CUDA_VISIBLE_DEVICES can hide devices)");
  }
  Device handle = 0;
  check(driver().cuDeviceGet(&handle, device), "cuDeviceGet");
  return handle;
}

std::string uuid_text(const Uuid& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", uuid.bytes[i]);
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += digits;
  }
  return text;
}

}  // namespace

int device_count() {
  int count = 0;
  try {
    check(driver().cuDeviceGetCount(&count), "cuDeviceGetCount");
  } catch (const DriverError& error) {
    if (error.code() == kNoDevice) return 0;
    throw;
  }
  return count;
}

DeviceProperties device_properties(int device) {
  const Device handle = handle_of(device);
  const DriverApi& api = driver();
  const auto attribute = [&](DeviceAttribute which) {
    int value = 0;
    check(api.cuDeviceGetAttribute(&value, which, handle), "cuDeviceGetAttribute");
    return value;
  };
  char name[256] = "";
  check(api.cuDeviceGetName(name, sizeof name, handle), "cuDeviceGetName");
  size_t memory = 0;
  check(api.cuDeviceTotalMem(&memory, handle), "cuDeviceTotalMem");
  Uuid uuid{};
  check(api.cuDeviceGetUuid(&uuid, handle), "cuDeviceGetUuid");
  return {.name = name,
          .capability = {attribute(kCapabilityMajor), attribute(kCapabilityMinor)},
          .multiprocessors = attribute(kMultiprocessors),
          .l2_bytes = attribute(kL2Bytes),
          .shared_per_block_optin = attribute(kSharedPerBlockOptin),
          .shared_per_multiprocessor = attribute(kSharedPerMultiprocessor),
          .registers_per_multiprocessor = attribute(kRegistersPerMultiprocessor),
          .clock_khz = attribute(kClockKhz),
          .total_memory = memory,
          .uuid = uuid_text(uuid)};
}

Context primary_context(int device) {
  static std::mutex mutex;
  static auto& contexts = *new std::map<int, Context>;
  const Device handle = handle_of(device);
  const std::lock_guard lock(mutex);
  const auto known = contexts.find(device);
  if (known != contexts.end()) return known->second;
  Context context = nullptr;
  check(driver().cuDevicePrimaryCtxRetain(&context, handle), "cuDevicePrimaryCtxRetain");
  contexts[device] = context;
  return context;
}

void synchronize(int device) {
  const CurrentContext current(driver(), primary_context(device));
  check(driver().cuCtxSynchronize(), "cuCtxSynchronize");
}

}  // namespace tilewright::runtime

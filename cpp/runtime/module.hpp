// Loaded programs, their kernels and the launch.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/device.hpp"

namespace tilewright::runtime {

using Extent3 = std::array<int64_t, 3>;  // as the user gave it

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
};

// An event of the user's that a launch records before the kernel has ended.
struct LaunchEvent {
  Event event = nullptr;
  int flags = 0;
  bool at_block_start = false;  // a programmatic event: recorded when all blocks have begun, without a trigger
};

// Where and how many: what stays the same from launch to launch.
struct LaunchShape {
  Dim3 grid;
  Dim3 block;
  uint32_t shared = 0;  // dynamic shared memory, bytes
  // The kernel may begin before the one enqueued before it has ended: it waits for its data itself, by griddepcontrol.
  bool programmatic = false;
  Dim3 cluster;                    // blocks that run together on neighbouring multiprocessors
  bool cooperative = false;        // all blocks run at the same time
  LaunchEvent completion_event;    // recorded when all blocks have begun
  LaunchEvent programmatic_event;  // recorded when all blocks have let dependents begin

  bool has_attributes() const {
    return programmatic || cooperative || cluster.x * cluster.y * cluster.z != 1 || completion_event.event != nullptr ||
           programmatic_event.event != nullptr;
  }
};

// What a launch asks for besides: of launches that ask for nothing, the default.
struct LaunchOptions {
  bool programmatic = false;
  bool cooperative = false;
  Extent3 cluster = {1, 1, 1};
  LaunchEvent completion_event = {};
  LaunchEvent programmatic_event = {};
};

class Module;

// A kernel in the primary context of a device. Its parameters are given as one piece of memory. Valid as long as the
// process.
class Function {
 public:
  const std::string& name() const { return name_; }
  int device() const { return device_; }
  int registers() const { return registers_; }
  int local_bytes() const { return local_bytes_; }
  int static_shared() const { return static_shared_; }
  int constant_bytes() const { return constant_bytes_; }
  int max_threads() const { return max_threads_; }
  // The bytes of all parameters; nothing where the driver cannot tell (before 12.4).
  std::optional<size_t> parameter_bytes() const { return parameter_bytes_; }

  // Allows launches with this much dynamic shared memory. The driver is asked only where it is more than before.
  void set_dynamic_shared(int64_t bytes);
  int64_t dynamic_shared() const { return dynamic_shared_; }
  int64_t most_dynamic_shared() const { return shared_optin_ - static_shared_; }
  // Allows clusters of more than 8 blocks, which not every device of the architecture need have.
  void set_nonportable_cluster();
  // Blocks that fit a multiprocessor at a time; launches with that much dynamic shared memory are allowed then.
  int occupancy(int64_t block, int64_t shared);

  // The launch shape of plain numbers. std::invalid_argument, naming the numbers, where this kernel can't have it.
  LaunchShape shape(const Extent3& grid, const Extent3& block, int64_t shared, const LaunchOptions& options = {}) const;
  void check_parameter(size_t bytes) const;

  // Enqueues the kernel; the parameters are copied before it returns. Shape and parameters must have been checked.
  void launch(const LaunchShape& shape, Stream stream, void* parameters) const {
    check_not_forked();
    if (offsets_.size() > kFewParameters) return launch_many(shape, stream, parameters);
    void* params[kFewParameters];
    point_at(parameters, params);
    enqueue(shape, stream, params);
  }

 private:
  friend class Module;
  Function(const Module& module, const std::string& symbol, std::vector<uint32_t> offsets);

  static constexpr std::size_t kFewParameters = 16;

  void point_at(void* parameters, void** params) const {
    for (std::size_t i = 0; i < offsets_.size(); ++i) params[i] = static_cast<char*>(parameters) + offsets_[i];
  }
  void enqueue(const LaunchShape& shape, Stream stream, void** params) const {
    const CurrentContext current(*api_, context_);
    const DriverResult result =
        shape.has_attributes()
            ? launch_with_attributes(shape, stream, params)
            : api_->cuLaunchKernel(handle_, shape.grid.x, shape.grid.y, shape.grid.z, shape.block.x, shape.block.y,
                                   shape.block.z, shape.shared, stream, params, nullptr);
    if (result != 0) fail_launch(result, shape, stream);
  }
  void launch_many(const LaunchShape& shape, Stream stream, void* parameters) const;
  void ask_parameters();
  void check_cluster(const Extent3& grid, const Extent3& cluster) const;
  DriverResult launch_with_attributes(const LaunchShape& shape, Stream stream, void** params) const;
  [[noreturn]] void fail_launch(DriverResult result, const LaunchShape& shape, Stream stream) const;

  const DriverApi* api_;
  Context context_;
  FunctionHandle handle_ = nullptr;
  std::string name_;
  int device_;
  int registers_ = 0, local_bytes_ = 0, static_shared_ = 0, constant_bytes_ = 0, max_threads_ = 0;
  int dynamic_shared_ = 0;         // bytes that a launch may ask for now
  int shared_optin_ = 0;           // bytes that a block of this device can have, static ones included
  bool begins_early_ = false;      // whether this device has programmatic launches
  std::vector<uint32_t> offsets_;  // of each parameter
  std::optional<size_t> parameter_bytes_;
};

// A cubin in the primary context of a device. Never unloaded: at exit the driver may be gone before us.
class Module {
 public:
  Module(int device, const std::string& cubin);
  // `offsets`: where each parameter begins in the memory that a launch is given.
  Function function(const std::string& symbol, std::vector<uint32_t> offsets = {0}) const {
    return Function(*this, symbol, std::move(offsets));
  }
  int device() const { return device_; }

 private:
  friend class Function;
  int device_;
  Context context_;
  ModuleHandle handle_ = nullptr;
};

}  // namespace tilewright::runtime

#include "runtime/module.hpp"

#include <algorithm>
#include <stdexcept>

namespace tilewright::runtime {

namespace {

constexpr int kNoBinaryForGpu = 209;
constexpr Extent3 kMaxGrid = {0x7FFFFFFF, 65535, 65535};
constexpr Extent3 kMaxBlock = {1024, 1024, 64};
constexpr int64_t kMaxCluster = 16;  // more than 8 need set_nonportable_cluster()
constexpr char kAxes[] = "xyz";

std::string tuple_text(const Extent3& values) {
  return "(" + std::to_string(values[0]) + "," + std::to_string(values[1]) + "," + std::to_string(values[2]) + ")";
}

std::string tuple_text(const Dim3& dim) { return tuple_text(Extent3{dim.x, dim.y, dim.z}); }

void check_axes(const std::string& kernel, const char* what, const Extent3& values, const Extent3& most) {
  for (int i = 0; i < 3; ++i) {
    if (values[i] >= 1 && values[i] <= most[i]) continue;
    throw std::invalid_argument("launch of " + kernel + ": " + what + " " + tuple_text(values) + " has " +
                                std::to_string(values[i]) + " along " + kAxes[i] + "; it must be from 1 to " +
                                std::to_string(most[i]));
  }
}

Dim3 dim3_of(const Extent3& v) {
  return {static_cast<uint32_t>(v[0]), static_cast<uint32_t>(v[1]), static_cast<uint32_t>(v[2])};
}

// Lets this thread load code while a stream is being captured into a CUDA graph: a load touches no stream.
class AllowDuringCapture {
 public:
  explicit AllowDuringCapture(const DriverApi& api) : api_(api) {
    check(api.cuThreadExchangeStreamCaptureMode(&mode_), "cuThreadExchangeStreamCaptureMode");
  }
  ~AllowDuringCapture() { api_.cuThreadExchangeStreamCaptureMode(&mode_); }
  AllowDuringCapture(const AllowDuringCapture&) = delete;
  AllowDuringCapture& operator=(const AllowDuringCapture&) = delete;

 private:
  const DriverApi& api_;
  CaptureMode mode_ = kCaptureRelaxed;
};

}  // namespace

Module::Module(int device, const std::string& cubin) : device_(device), context_(primary_context(device)) {
  const DriverApi& api = driver();
  const CurrentContext current(api, context_);
  const AllowDuringCapture allow(api);
  const DriverResult result = api.cuModuleLoadData(&handle_, cubin.data());
  if (result == kNoBinaryForGpu) {
    const auto [major, minor] = device_properties(device).capability;
    fail_driver(result, "cuModuleLoadData", "",
                "device " + std::to_string(device) + " has compute capability " + std::to_string(major) + "." +
                    std::to_string(minor) + ": compile for it");
  }
  check(result, "cuModuleLoadData");
}

Function::Function(const Module& module, const std::string& symbol, std::vector<uint32_t> offsets)
    : api_(&driver()), context_(module.context_), name_(symbol), device_(module.device_), offsets_(std::move(offsets)) {
  const CurrentContext current(*api_, context_);
  const AllowDuringCapture allow(*api_);
  const DriverResult result = api_->cuModuleGetFunction(&handle_, module.handle_, symbol.c_str());
  if (result != 0) fail_driver(result, "cuModuleGetFunction", name_);
  const auto attribute = [&](FunctionAttribute which) {
    int value = 0;
    const DriverResult status = api_->cuFuncGetAttribute(&value, which, handle_);
    if (status != 0) fail_driver(status, "cuFuncGetAttribute", name_);
    return value;
  };
  registers_ = attribute(kRegisters);
  local_bytes_ = attribute(kLocalBytes);
  static_shared_ = attribute(kStaticShared);
  constant_bytes_ = attribute(kConstantBytes);
  max_threads_ = attribute(kMaxThreads);
  dynamic_shared_ = attribute(kMaxDynamicShared);
  const DeviceProperties device = device_properties(device_);
  shared_optin_ = device.shared_per_block_optin;
  begins_early_ = device.capability[0] >= 9;
  ask_parameters();
}

// How many bytes the parameters take in the memory of a launch, where the driver can tell the size of each. It also
// tells where it puts them itself, which is another matter: a struct that is aligned to 64 bytes is not at 0.
void Function::ask_parameters() {
  if (api_->cuFuncGetParamInfo == nullptr) return;
  size_t end = 0;
  for (size_t i = 0; i < offsets_.size(); ++i) {
    size_t offset = 0, bytes = 0;
    if (api_->cuFuncGetParamInfo(handle_, i, &offset, &bytes) != 0) return;
    end = offsets_[i] + bytes;
  }
  parameter_bytes_ = end;
}

void Function::set_dynamic_shared(int64_t bytes) {
  const int64_t most = most_dynamic_shared();
  if (bytes < 0 || bytes > most) {
    throw std::invalid_argument("set_dynamic_shared(" + std::to_string(bytes) + ") of " + name_ + ": device " +
                                std::to_string(device_) + " gives a block " + std::to_string(shared_optin_) +
                                " bytes, of which the kernel has " + std::to_string(static_shared_) +
                                " statically; ask for 0 to " + std::to_string(most));
  }
  if (bytes <= dynamic_shared_) return;
  const DriverApi& api = driver();
  const CurrentContext current(api, context_);
  // Another Function of this kernel may have asked for more, which is left as it is.
  DriverResult result = api.cuFuncGetAttribute(&dynamic_shared_, kMaxDynamicShared, handle_);
  if (result != 0) fail_driver(result, "cuFuncGetAttribute", name_);
  if (bytes > dynamic_shared_) {
    result = api.cuFuncSetAttribute(handle_, kMaxDynamicShared, static_cast<int>(bytes));
    if (result != 0) fail_driver(result, "cuFuncSetAttribute", name_);
  }
  dynamic_shared_ = std::max(dynamic_shared_, static_cast<int>(bytes));
}

void Function::set_nonportable_cluster() {
  const DriverApi& api = driver();
  const CurrentContext current(api, context_);
  const DriverResult result = api.cuFuncSetAttribute(handle_, kNonportableClusterAllowed, 1);
  if (result != 0) fail_driver(result, "cuFuncSetAttribute", name_);
}

int Function::occupancy(int64_t block, int64_t shared) {
  if (shared > dynamic_shared_) set_dynamic_shared(shared);
  const LaunchShape launch = shape({1, 1, 1}, {block, 1, 1}, shared);
  const DriverApi& api = driver();
  const CurrentContext current(api, context_);
  int blocks = 0;
  const DriverResult result = api.cuOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, handle_, static_cast<int>(launch.block.x), launch.shared);
  if (result != 0) fail_driver(result, "cuOccupancyMaxActiveBlocksPerMultiprocessor", name_);
  return blocks;
}

void Function::check_cluster(const Extent3& grid, const Extent3& cluster) const {
  check_axes(name_, "cluster", cluster, {kMaxCluster, kMaxCluster, kMaxCluster});
  const int64_t blocks = cluster[0] * cluster[1] * cluster[2];
  if (blocks > kMaxCluster) {
    throw std::invalid_argument("launch of " + name_ + ": cluster " + tuple_text(cluster) + " has " +
                                std::to_string(blocks) + " blocks; it can have at most " + std::to_string(kMaxCluster));
  }
  for (int i = 0; i < 3; ++i) {
    if (grid[i] % cluster[i] == 0) continue;
    throw std::invalid_argument("launch of " + name_ + ": grid " + tuple_text(grid) + " has " +
                                std::to_string(grid[i]) + " blocks along " + kAxes[i] + ", which clusters of " +
                                std::to_string(cluster[i]) + " do not divide; round the grid up");
  }
}

LaunchShape Function::shape(const Extent3& grid, const Extent3& block, int64_t shared,
                            const LaunchOptions& options) const {
  check_axes(name_, "grid", grid, kMaxGrid);
  check_axes(name_, "block", block, kMaxBlock);
  const int64_t threads = block[0] * block[1] * block[2];
  if (threads > max_threads_) {
    throw std::invalid_argument("launch of " + name_ + ": block " + tuple_text(block) + " has " +
                                std::to_string(threads) + " threads; the kernel, with " + std::to_string(registers_) +
                                " registers a thread, can have at most " + std::to_string(max_threads_));
  }
  if (shared < 0 || shared > dynamic_shared_) {
    throw std::invalid_argument("launch of " + name_ + ": " + std::to_string(shared) +
                                " bytes of dynamic shared memory, but it may have 0 to " +
                                std::to_string(dynamic_shared_) + "; set_dynamic_shared() raises that to at most " +
                                std::to_string(most_dynamic_shared()));
  }
  check_cluster(grid, options.cluster);
  const LaunchShape shape = {dim3_of(grid),
                             dim3_of(block),
                             static_cast<uint32_t>(shared),
                             options.programmatic && begins_early_,
                             dim3_of(options.cluster),
                             options.cooperative,
                             options.completion_event,
                             options.programmatic_event};
  if (shape.has_attributes() && api_->cuLaunchKernelEx == nullptr) fail_missing("cuLaunchKernelEx", 11060);
  return shape;
}

void Function::check_parameter(size_t bytes) const {
  if (!parameter_bytes_ || *parameter_bytes_ == bytes) return;
  throw std::invalid_argument(
      "launch of " + name_ + ": " + (offsets_.size() == 1 ? "its parameter has " : "its parameters have ") +
      std::to_string(*parameter_bytes_) + " bytes, but " + std::to_string(bytes) + " were given");
}

void Function::launch_many(const LaunchShape& shape, Stream stream, void* parameters) const {
  std::vector<void*> params(offsets_.size());
  point_at(parameters, params.data());
  enqueue(shape, stream, params.data());
}

DriverResult Function::launch_with_attributes(const LaunchShape& shape, Stream stream, void** params) const {
  LaunchAttribute attributes[5];
  unsigned count = 0;
  if (shape.programmatic) {
    attributes[count] = {kProgrammaticStreamSerialization, {}};
    attributes[count++].value.allowed = 1;
  }
  if (shape.cooperative) {
    attributes[count] = {kCooperative, {}};
    attributes[count++].value.allowed = 1;
  }
  if (const Dim3& cluster = shape.cluster; cluster.x * cluster.y * cluster.z != 1) {
    attributes[count] = {kClusterDimension, {}};
    const unsigned extents[] = {cluster.x, cluster.y, cluster.z};
    std::copy_n(extents, 3, attributes[count++].value.cluster);
  }
  if (const LaunchEvent& e = shape.programmatic_event; e.event != nullptr) {
    attributes[count] = {kProgrammaticEvent, {}};
    attributes[count++].value.event = {e.event, e.flags, e.at_block_start};
  }
  if (const LaunchEvent& e = shape.completion_event; e.event != nullptr) {
    attributes[count] = {kLaunchCompletionEvent, {}};
    attributes[count++].value.event = {e.event, e.flags, 0};
  }
  const LaunchConfig config = {shape.grid.x,  shape.grid.y, shape.grid.z, shape.block.x, shape.block.y,
                               shape.block.z, shape.shared, stream,       attributes,    count};
  return api_->cuLaunchKernelEx(&config, handle_, params, nullptr);
}

void Function::fail_launch(DriverResult result, const LaunchShape& shape, Stream stream) const {
  fail_driver(result, shape.has_attributes() ? "cuLaunchKernelEx" : "cuLaunchKernel", name_,
              "grid " + tuple_text(shape.grid) + ", block " + tuple_text(shape.block) + ", " +
                  std::to_string(shape.shared) + " bytes of shared memory on stream " +
                  std::to_string(reinterpret_cast<uintptr_t>(stream)) + " of device " + std::to_string(device_));
}

}  // namespace tilewright::runtime

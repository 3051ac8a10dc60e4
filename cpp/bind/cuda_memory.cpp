// What results, DLPack and workspaces need of the driver: memory, and the order of streams.
#include <memory>
#include <utility>

#include "dlpack.h"
#include "runtime/device.hpp"
#include "vectorcall.hpp"

namespace py = pybind11;

namespace tilewright {
namespace {

using namespace runtime;

// Pinned memory of the host that kernels on any device reach at the same address. It lives until nobody needs it, and
// longer in a forked child, which must leave the driver alone.
std::unique_ptr<Memory> allocate_pinned(int device, int64_t size) {
  if (size < 1) throw py::value_error("allocate_pinned: the size in bytes must be positive");
  const DriverApi& api = driver();
  const Context context = primary_context(device);
  const CurrentContext current(api, context);
  constexpr unsigned kPortableAndMapped = 3;
  void* block = nullptr;
  check(api.cuMemHostAlloc(&block, static_cast<size_t>(size), kPortableAndMapped), "cuMemHostAlloc");
  std::shared_ptr<void> owner(block, [context](void* p) {
    if (forked) return;
    try {
      const DriverApi& again = driver();
      const CurrentContext current(again, context);
      again.cuMemFreeHost(p);
    } catch (const DriverError&) {
      // The process ends, or its context is dead: nothing is left to free.
    }
  });
  return std::make_unique<Memory>(reinterpret_cast<uint64_t>(block), size, DLDevice{kDLCUDAHost, 0}, std::move(owner));
}

Stream to_stream(uint64_t handle) { return reinterpret_cast<Stream>(handle); }

// Memory in the order of a stream: what is enqueued after the allocation may use it, and nothing that is enqueued after
// it was freed. A stream that is being captured into a graph records both.
class StreamMemory {
 public:
  StreamMemory(int device, int64_t bytes, uint64_t stream)
      : api_(driver()), context_(primary_context(device)), stream_(to_stream(stream)), bytes_(bytes), device_(device) {
    if (bytes < 1) throw py::value_error("allocate_async: the size in bytes must be positive");
    if (api_.cuMemAllocAsync == nullptr) fail_missing("cuMemAllocAsync", 11020);
    if (api_.cuMemFreeAsync == nullptr) fail_missing("cuMemFreeAsync", 11020);
    const CurrentContext current(api_, context_);
    check(api_.cuMemAllocAsync(&address_, static_cast<size_t>(bytes), stream_), "cuMemAllocAsync");
  }
  ~StreamMemory() {
    try {
      free();
    } catch (const DriverError&) {
      // A forked child leaves it to its parent; or the process ends, or its context is dead.
    }
  }
  StreamMemory(const StreamMemory&) = delete;
  StreamMemory& operator=(const StreamMemory&) = delete;

  void free() {
    if (address_ == 0) return;
    check_not_forked();
    const CurrentContext current(api_, context_);
    check(api_.cuMemFreeAsync(std::exchange(address_, 0), stream_), "cuMemFreeAsync");
  }
  // Enqueues that every byte becomes zero.
  void zero() const {
    if (address_ == 0) throw py::value_error("zero: the memory has been freed");
    if (api_.cuMemsetD8Async == nullptr) fail_missing("cuMemsetD8Async", 3020);
    const CurrentContext current(api_, context_);
    check(api_.cuMemsetD8Async(address_, 0, static_cast<size_t>(bytes_), stream_), "cuMemsetD8Async");
  }
  DeviceAddress address() const { return address_; }
  int64_t bytes() const { return bytes_; }
  int device() const { return device_; }
  uint64_t stream() const { return reinterpret_cast<uint64_t>(stream_); }

 private:
  const DriverApi& api_;
  Context context_;
  Stream stream_;
  DeviceAddress address_ = 0;
  int64_t bytes_;
  int device_;
};

// What is enqueued on `later` from now on waits for what is enqueued on `earlier`.
void order(int device, uint64_t earlier, uint64_t later) {
  const DriverApi& api = driver();
  const CurrentContext current(api, primary_context(device));
  constexpr unsigned kDisableTiming = 2;
  Event event = nullptr;
  check(api.cuEventCreate(&event, kDisableTiming), "cuEventCreate");
  DriverResult result = api.cuEventRecord(event, to_stream(earlier));
  const bool recorded = result == 0;
  if (recorded) result = api.cuStreamWaitEvent(to_stream(later), event, 0);
  api.cuEventDestroy(event);  // takes place once the event is over
  check(result, recorded ? "cuStreamWaitEvent" : "cuEventRecord");
}

void synchronize_stream(int device, uint64_t stream) {
  const DriverApi& api = driver();
  const CurrentContext current(api, primary_context(device));
  check(api.cuStreamSynchronize(to_stream(stream)), "cuStreamSynchronize");
}

// The device whose memory an address is; -1 for memory of the CPU, and where there is no driver.
int device_of_address(uint64_t address) {
  if (!driver_path()) return -1;
  const DriverApi& api = driver();
  if (api.cuPointerGetAttribute == nullptr) return -1;
  unsigned kind = 0;
  int device = -1;
  if (api.cuPointerGetAttribute(&kind, kMemoryType, address) != 0 || kind != kDeviceMemory) return -1;
  return api.cuPointerGetAttribute(&device, kDeviceOrdinal, address) == 0 ? device : -1;
}

// 0 where the driver has no such number, or the stream is being captured into a graph.
uint64_t stream_identity(int device, uint64_t stream) {
  const DriverApi& api = driver();
  if (api.cuStreamGetId == nullptr || api.cuStreamIsCapturing == nullptr) return 0;
  const CurrentContext current(api, primary_context(device));
  int capturing = 0;
  unsigned long long id = 0;
  if (api.cuStreamIsCapturing(to_stream(stream), &capturing) != 0 || capturing != 0) return 0;
  return api.cuStreamGetId(to_stream(stream), &id) == 0 ? id + 1 : 0;
}

}  // namespace

void bind_cuda_memory(py::module_& parent) {
  using ReleaseGil = py::call_guard<py::gil_scoped_release>;
  py::module_ m = parent.def_submodule("cuda");
  m.def("allocate_pinned", &allocate_pinned, py::arg("device"), py::arg("size"), ReleaseGil(),
        "Pinned memory of the CPU, which kernels on any device reach at the same address.");
  py::class_<StreamMemory>(m, "StreamMemory", py::custom_type_setup(bind::only_returned),
                           "Memory of a device, in the order of a stream.")
      .def_property_readonly("address", &StreamMemory::address, "0 once it is freed.")
      .def_property_readonly("bytes", &StreamMemory::bytes)
      .def_property_readonly("device", &StreamMemory::device)
      .def_property_readonly("stream", &StreamMemory::stream)
      .def("zero", &StreamMemory::zero, "Enqueue that every byte becomes zero.")
      .def("free", &StreamMemory::free,
           "Give it back once what is enqueued on its stream has ended. The object does so when it goes.");
  m.def(
      "allocate_async",
      [](int device, int64_t bytes, uint64_t stream) { return std::make_unique<StreamMemory>(device, bytes, stream); },
      py::arg("device"), py::arg("bytes"), py::arg("stream"), ReleaseGil(),
      "Memory for what is enqueued on the stream from now on, until it is freed. While the stream is captured, the "
      "graph allocates and frees it; free it before the capture ends.");
  m.def("order", &order, py::arg("device"), py::arg("earlier"), py::arg("later"),
        "Let one stream wait for what is enqueued on another; neither is waited for here.");
  m.def("device_of_address", &device_of_address, py::arg("address"),
        "The device whose memory an address is; -1 for memory of the CPU, and where there is no driver.");
  m.def("stream_identity", &stream_identity, py::arg("device"), py::arg("stream"),
        "A number of a stream that no other one of the process has or will have, though its handle may be used again; "
        "0 where the driver has none, and while the stream is captured into a graph.");
  m.def("synchronize_stream", &synchronize_stream, py::arg("device"), py::arg("stream"), ReleaseGil(),
        "Wait until all work of a stream has ended.");
}

}  // namespace tilewright

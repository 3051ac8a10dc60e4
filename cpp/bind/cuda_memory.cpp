// What results and DLPack need of the driver: pinned memory, and the order of streams.
#include <memory>

#include "dlpack.h"
#include "runtime/device.hpp"

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

}  // namespace

void bind_cuda_memory(py::module_& parent) {
  using ReleaseGil = py::call_guard<py::gil_scoped_release>;
  py::module_ m = parent.def_submodule("cuda");
  m.def("allocate_pinned", &allocate_pinned, py::arg("device"), py::arg("size"), ReleaseGil(),
        "Pinned memory of the CPU, which kernels on any device reach at the same address.");
  m.def("order", &order, py::arg("device"), py::arg("earlier"), py::arg("later"),
        "Let one stream wait for what is enqueued on another; neither is waited for here.");
  m.def("synchronize_stream", &synchronize_stream, py::arg("device"), py::arg("stream"), ReleaseGil(),
        "Wait until all work of a stream has ended.");
}

}  // namespace tilewright

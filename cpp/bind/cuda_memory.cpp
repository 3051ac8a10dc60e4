// What results and DLPack need of the driver: pinned memory, and the order of streams.
#include <memory>

#include "dlpack.h"
#include "runtime/device.hpp"
#include "runtime/library.hpp"

namespace py = pybind11;

namespace tilewright {
namespace {

using namespace runtime;

struct EventTag;
using Event = EventTag*;

// X(name, CUDA version whose interface of it is meant, parameters)
#define TILEWRIGHT_MEMORY_FUNCTIONS(X)                                     \
  X(cuMemHostAlloc, 2020, (void** memory, size_t bytes, unsigned flags))   \
  X(cuMemFreeHost, 2000, (void* memory))                                   \
  X(cuEventCreate, 2000, (Event * event, unsigned flags))                  \
  X(cuEventRecord, 2000, (Event event, Stream stream))                     \
  X(cuEventDestroy, 4000, (Event event))                                   \
  X(cuStreamWaitEvent, 3020, (Stream stream, Event event, unsigned flags)) \
  X(cuStreamSynchronize, 2000, (Stream stream))

struct MemoryApi {
#define TILEWRIGHT_MEMBER(name, version, parameters) DriverResult(*name) parameters = nullptr;
  TILEWRIGHT_MEMORY_FUNCTIONS(TILEWRIGHT_MEMBER)
#undef TILEWRIGHT_MEMBER
};

MemoryApi* resolve() {
  const Library library("libcuda.so.1");
  DriverResult (*get)(const char*, void**, int, unsigned long long, int*) = nullptr;
  auto api = std::make_unique<MemoryApi>();
  if (!library.find("cuGetProcAddress_v2", get)) throw DriverError("the CUDA driver has no cuGetProcAddress_v2");
#define TILEWRIGHT_RESOLVE(name, version, parameters)                                \
  {                                                                                  \
    void* address = nullptr;                                                         \
    int status = 0;                                                                  \
    check(get(#name, &address, version, 0, &status), "cuGetProcAddress(" #name ")"); \
    if (address == nullptr) throw DriverError("the CUDA driver has no " #name);      \
    api->name = reinterpret_cast<decltype(api->name)>(address);                      \
  }
  TILEWRIGHT_MEMORY_FUNCTIONS(TILEWRIGHT_RESOLVE)
#undef TILEWRIGHT_RESOLVE
  return api.release();
}

// After driver(), which says what is wrong where there is none.
const MemoryApi& memory_api() {
  static const MemoryApi* const api = resolve();
  return *api;
}

// Pinned memory of the host that kernels on any device reach at the same address. It lives until nobody needs it, and
// longer in a forked child, which must leave the driver alone.
std::unique_ptr<Memory> allocate_pinned(int device, int64_t size) {
  if (size < 1) throw py::value_error("allocate_pinned: the size in bytes must be positive");
  const DriverApi& api = driver();
  const Context context = primary_context(device);
  const CurrentContext current(api, context);
  constexpr unsigned kPortableAndMapped = 3;
  void* block = nullptr;
  check(memory_api().cuMemHostAlloc(&block, static_cast<size_t>(size), kPortableAndMapped), "cuMemHostAlloc");
  std::shared_ptr<void> owner(block, [context](void* p) {
    if (forked) return;
    try {
      const CurrentContext current(driver(), context);
      memory_api().cuMemFreeHost(p);
    } catch (const DriverError&) {
      // The process ends, or its context is dead: nothing is left to free.
    }
  });
  return std::make_unique<Memory>(reinterpret_cast<uint64_t>(block), size, DLDevice{kDLCUDAHost, 0}, std::move(owner));
}

Stream to_stream(uint64_t handle) { return reinterpret_cast<Stream>(handle); }

// What is enqueued on `later` from now on waits for what is enqueued on `earlier`.
void order(int device, uint64_t earlier, uint64_t later) {
  const CurrentContext current(driver(), primary_context(device));
  const MemoryApi& api = memory_api();
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
  const CurrentContext current(driver(), primary_context(device));
  check(memory_api().cuStreamSynchronize(to_stream(stream)), "cuStreamSynchronize");
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

#include "launch_hook.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "vectorcall.hpp"
#include "without_gil.hpp"

namespace py = pybind11;

namespace tilewright::bind {

namespace {

// A callback while it is set. Removing it twice does no harm.
class LaunchHook {
 public:
  explicit LaunchHook(py::object callback) : callback_(std::move(callback)) {}
  const py::object& callback() const { return callback_; }

 private:
  py::object callback_;
};

using Hooks = std::vector<std::shared_ptr<LaunchHook>>;

GilMutex hooks_mutex;

// Never destroyed: at exit there is no interpreter to release the callbacks in. The mutex guards it.
Hooks& hooks() {
  static Hooks& found = *new Hooks;
  return found;
}

std::shared_ptr<LaunchHook> add_hook(py::object callback) {
  if (!PyCallable_Check(callback.ptr())) {
    throw py::type_error("runtime.on_launch: expected callback to be callable, but got " +
                         std::string(Py_TYPE(callback.ptr())->tp_name));
  }
  const auto added = std::make_shared<LaunchHook>(std::move(callback));
  const std::lock_guard lock(hooks_mutex);
  hooks().push_back(added);
  launches_are_watched = true;
  return added;
}

void remove_hook(const std::shared_ptr<LaunchHook>& hook) {
  const std::lock_guard lock(hooks_mutex);
  std::erase(hooks(), hook);
  launches_are_watched = !hooks().empty();
}

std::string text(const Launch& launch) {
  const auto shown = [](const runtime::Dim3& dim) { return std::string(py::str(to_tuple(dim))); };
  return "Launch(" + launch.kernel + ", grid=" + shown(launch.shape.grid) + ", block=" + shown(launch.shape.block) +
         ", device=" + std::to_string(launch.device) +
         ", stream=" + std::to_string(reinterpret_cast<uintptr_t>(launch.stream)) + ")";
}

}  // namespace

py::tuple to_tuple(const runtime::Dim3& dim) { return py::make_tuple(dim.x, dim.y, dim.z); }

std::exception_ptr report(const Launch& launch) noexcept {
  static thread_local bool reporting = false;
  if (reporting) return nullptr;
  reporting = true;
  std::exception_ptr error;
  try {
    const py::object shown = py::cast(launch);
    const Hooks called = [] {  // a callback may add or remove some
      const std::lock_guard lock(hooks_mutex);
      return hooks();
    }();
    for (const auto& hook : called) hook->callback()(shown);
  } catch (...) {
    error = std::current_exception();
  }
  reporting = false;
  return error;
}

void bind_launch_hook(py::module_& m) {
  py::class_<Launch>(m, "Launch", py::custom_type_setup(only_returned),
                     "A kernel that was enqueued: what a callback of `runtime.on_launch` is given.")
      .def_readonly("plan", &Launch::plan,
                    "The plan of this kernel; None for a kernel without one. Of a plan of several kernels, the one of "
                    "its plans that this kernel runs.")
      .def_readonly("kernel", &Launch::kernel, "The kernel's symbol, as profilers show it.")
      .def_property_readonly(
          "addresses", [](const Launch& launch) { return py::tuple(py::cast(launch.addresses)); },
          "Where the plan's tensors begin, in bytes: (src, dst) of a copy, (A, B, C, bias) of a GEMM with None for no "
          "bias, then its scratch; () without a plan.")
      .def_property_readonly(
          "grid", [](const Launch& launch) { return to_tuple(launch.shape.grid); }, "Blocks along x, y, z.")
      .def_property_readonly(
          "block", [](const Launch& launch) { return to_tuple(launch.shape.block); }, "Threads along x, y, z.")
      .def_property_readonly(
          "shared", [](const Launch& launch) { return launch.shape.shared; },
          "Dynamic shared memory of a block, in bytes.")
      .def_property_readonly(
          "programmatic", [](const Launch& launch) { return launch.shape.programmatic; },
          "Whether it may begin before the kernel before it has ended.")
      .def_readonly("device", &Launch::device, "The number of the CUDA device.")
      .def_property_readonly(
          "stream", [](const Launch& launch) { return reinterpret_cast<uintptr_t>(launch.stream); },
          "The number of the CUDA stream.")
      .def("__repr__", &text);

  py::class_<LaunchHook, std::shared_ptr<LaunchHook>>(m, "LaunchHook", py::custom_type_setup(only_returned),
                                                      "A callback of `runtime.on_launch`: a context manager.")
      .def("remove", &remove_hook, "Call it no more. Removing it again does nothing.")
      .def("__enter__", [](const py::object& self) { return self; })
      .def("__exit__", [](const std::shared_ptr<LaunchHook>& hook, const py::args&) { remove_hook(hook); });
  m.def("on_launch", &add_hook, py::arg("callback"),
        "Call it for every kernel launch until the LaunchHook is removed.");
}

}  // namespace tilewright::bind

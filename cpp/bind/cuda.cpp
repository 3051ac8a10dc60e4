// The submodule _core.cuda: the driver, NVRTC, loaded programs.
#include "cuda.hpp"

#include <pybind11/stl.h>

#include <memory>
#include <tuple>

#include "launch_hook.hpp"
#include "module.hpp"
#include "runtime/device.hpp"
#include "runtime/module.hpp"
#include "runtime/nvrtc.hpp"
#include "vectorcall.hpp"

namespace py = pybind11;

namespace tilewright::bind {

namespace {

using namespace tilewright::runtime;
using ReleaseGil = py::call_guard<py::gil_scoped_release>;

PyObject* driver_error = nullptr;

using EventTuple = std::tuple<uintptr_t, int, bool>;  // handle, flags, at block start; handle 0: none

LaunchEvent event_of(const EventTuple& given) {
  const auto& [handle, flags, at_block_start] = given;
  return {reinterpret_cast<Event>(handle), flags, at_block_start};
}

py::dict to_dict(const DeviceProperties& p) {
  using namespace py::literals;
  return py::dict("name"_a = p.name, "compute_capability"_a = py::make_tuple(p.capability[0], p.capability[1]),
                  "multiprocessors"_a = p.multiprocessors, "l2_bytes"_a = p.l2_bytes,
                  "shared_per_block_optin"_a = p.shared_per_block_optin,
                  "shared_per_multiprocessor"_a = p.shared_per_multiprocessor,
                  "registers_per_multiprocessor"_a = p.registers_per_multiprocessor, "clock_khz"_a = p.clock_khz,
                  "total_memory"_a = p.total_memory, "uuid"_a = p.uuid);
}

void bind_errors(py::module_& m) {
  py::object error = py::reinterpret_steal<py::object>(
      PyErr_NewExceptionWithDoc("tilewright.DriverError",
                                "A call of the CUDA driver that failed, or no driver to call.\n\n"
                                "Attributes: code (the driver's number) or None, name (CUDA_ERROR_...), kernel.\n\n"
                                ">>> from tilewright import DriverError\n"
                                ">>> try:\n"
                                "...     raise DriverError('no CUDA driver')\n"
                                "... except DriverError as error:\n"
                                "...     print(error, error.code, [error.name], [error.kernel])\n"
                                "no CUDA driver None [''] ['']\n",
                                PyExc_RuntimeError, nullptr));
  error.attr("code") = py::none();
  error.attr("error_code") = py::none();  // the name that CuTeDSL's errors have for it
  error.attr("name") = "";
  error.attr("kernel") = "";
  m.attr("DriverError") = error;
  driver_error = error.release().ptr();
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const DriverError& e) {
      set_error(e);
    } catch (const LibraryError& e) {
      PyErr_SetString(PyExc_OSError, e.what());
    }
  });
}

void bind_compiler(py::module_& m) {
  py::class_<CompileResult>(m, "CompileResult", py::custom_type_setup(only_returned), "What NVRTC made of a program.")
      .def_readonly("ok", &CompileResult::ok)
      .def_readonly("log", &CompileResult::log, "The compiler's words.")
      .def_property_readonly(
          "cubin", [](const CompileResult& r) { return r.cubin ? std::optional<py::bytes>(*r.cubin) : std::nullopt; },
          "The machine code, where the options name a real architecture.")
      .def_readonly("ptx", &CompileResult::ptx)
      .def_readonly("lowered", &CompileResult::lowered, "Name expression to symbol.");

  py::class_<Nvrtc>(m, "Nvrtc", "The run-time compiler in a library.")
      .def(py::init<const std::string&>(), py::arg("path"), "Open the library; OSError if that fails.")
      .def_property_readonly("version", &Nvrtc::version, "(major, minor)")
      .def_property_readonly("path", &Nvrtc::path, "The file that was opened.")
      .def("compile", &Nvrtc::compile, py::arg("source"), py::arg("name"), py::arg("headers"), py::arg("options"),
           py::arg("names"), ReleaseGil(),
           "Compile a program and instantiate its name expressions. Headers are {name: text}. A program that does not "
           "compile gives a result with ok False.");
}

void bind_module(py::module_& m) {
  py::class_<Function>(m, "Function", py::custom_type_setup(only_returned), "A kernel on a device.")
      .def_property_readonly("name", &Function::name)
      .def_property_readonly("device", &Function::device)
      .def_property_readonly("registers", &Function::registers, "Of one thread.")
      .def_property_readonly("local_bytes", &Function::local_bytes, "Local memory of one thread: spills and arrays.")
      .def_property_readonly("static_shared", &Function::static_shared, "Bytes of a block.")
      .def_property_readonly("const_bytes", &Function::constant_bytes)
      .def_property_readonly("max_threads", &Function::max_threads, "Of a block of this kernel.")
      .def_property_readonly("parameter_bytes", &Function::parameter_bytes,
                             "Of all parameters; None before driver 12.4.")
      .def("set_dynamic_shared", &Function::set_dynamic_shared, py::arg("bytes"),
           "Allow launches with that much dynamic shared memory.")
      .def("set_nonportable_cluster", &Function::set_nonportable_cluster,
           "Allow clusters of more than 8 blocks, if the device has them.")
      .def("occupancy", &Function::occupancy, py::arg("block"), py::arg("shared") = 0,
           "Blocks that fit a multiprocessor at a time; launches with that much shared memory are allowed then.")
      .def(
          "launch",
          [](const Function& function, const Extent3& grid, const Extent3& block, int64_t shared, uintptr_t stream,
             const py::bytes& params, const Extent3& cluster, bool cooperative, bool programmatic,
             const EventTuple& completion_event, const EventTuple& programmatic_event) {
            const LaunchShape shape = function.shape(
                grid, block, shared,
                {programmatic, cooperative, cluster, event_of(completion_event), event_of(programmatic_event)});
            const std::string_view bytes(params);
            function.check_parameter(bytes.size());
            function.launch(shape, reinterpret_cast<Stream>(stream), const_cast<char*>(bytes.data()));
            if (!launches_are_watched) return;
            const Launch launch = {py::none(), function.name(),   {},
                                   shape,      function.device(), reinterpret_cast<Stream>(stream)};
            if (const auto error = report(launch)) std::rethrow_exception(error);
          },
          py::arg("grid"), py::arg("block"), py::arg("shared"), py::arg("stream"), py::arg("params"), py::kw_only(),
          py::arg("cluster") = Extent3{1, 1, 1}, py::arg("cooperative") = false, py::arg("programmatic") = false,
          py::arg("completion_event") = EventTuple(), py::arg("programmatic_event") = EventTuple(),
          "Enqueue the kernel; params are the bytes of its parameters, each where the kernel expects it. cluster: "
          "blocks that run together; cooperative: all blocks run at once; programmatic: the kernel may begin before "
          "the one before it on the stream has ended. Events, as (handle, flags, at block start), are recorded: "
          "completion_event when all blocks have begun, programmatic_event when all let dependents begin.");

  py::class_<Module>(m, "Module", py::custom_type_setup(only_returned), "A program in the primary context of a device.")
      .def_property_readonly("device", &Module::device)
      .def("function", &Module::function, py::arg("symbol"), py::arg("offsets") = std::vector<uint32_t>{0},
           "The kernel with that (lowered) name; where each of its parameters begins in the bytes of a launch.");

  m.def(
      "load",
      [](int device, const py::bytes& cubin) {
        const std::string image(cubin);
        const py::gil_scoped_release release;
        return Module(device, image);
      },
      py::arg("device"), py::arg("cubin"), "Load a cubin on a device. It stays there until the process ends.");
}

}  // namespace

void set_error(const DriverError& error) {
  const py::object type = py::reinterpret_borrow<py::object>(driver_error);
  py::object raised = type(error.what());
  if (error.code()) {
    raised.attr("code") = *error.code();
    raised.attr("error_code") = *error.code();
  }
  raised.attr("name") = error.name();
  raised.attr("kernel") = error.kernel();
  PyErr_SetObject(driver_error, raised.ptr());
}

void bind_cuda(py::module_& parent) {
  py::module_ m = parent.def_submodule("cuda", "The CUDA driver and NVRTC, opened at their first use.");
  bind_errors(m);
  m.def("driver_path", &driver_path, "The file of the CUDA driver, None where it cannot be loaded.");
  m.def("driver_version", &driver_version, "13000 for 13.0.");
  m.def("device_count", &device_count, "0 where the driver finds no device.");
  m.def(
      "device", [](int device) { return to_dict(device_properties(device)); }, py::arg("device"),
      "What the device has.");
  m.def("synchronize", &synchronize, py::arg("device"), ReleaseGil(), "Wait until all work of the device has ended.");
  bind_compiler(m);
  bind_module(m);
  bind_tensor_map(m);
  bind_launcher(m);
}

}  // namespace tilewright::bind

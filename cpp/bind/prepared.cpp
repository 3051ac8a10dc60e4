#include "prepared.hpp"

#include <pybind11/stl.h>

#include <array>
#include <bit>
#include <stdexcept>

#include "core/error.hpp"
#include "host_function.hpp"

namespace py = pybind11;

namespace tilewright::bind {

uint32_t Prepared::argument_index(int64_t index, const char* what) const {
  if (index >= 0 && index < CallKey::kMaxArguments) return static_cast<uint32_t>(index);
  throw std::invalid_argument(
      concat("Prepared: ", what, " names argument ", index, "; arguments are 0 to ", CallKey::kMaxArguments - 1));
}

Prepared::Prepared(std::vector<Kernel> kernels, const std::vector<RangeTuple>& ranges,
                   const std::vector<Pair>& disjoint, std::optional<int64_t> result, py::object keep,
                   py::object workspace)
    : kernels_(std::move(kernels)), keep_(std::move(keep)), workspace_(std::move(workspace)) {
  if (kernels_.empty()) throw std::invalid_argument("Prepared: there is no kernel to launch");
  for (const Kernel& kernel : kernels_) {
    if (kernel.device().device_type != device().device_type || kernel.device().device_id != device().device_id) {
      throw std::invalid_argument("Prepared: the kernels are loaded on different devices");
    }
    tensors_ |= kernel.tensors();
    buffers_ = std::max(buffers_, kernel.buffers());
  }
  if (buffers_ != 0 && workspace_.is_none()) {
    throw std::invalid_argument(
        concat("Prepared: the kernels need ", buffers_, " buffers of a workspace, but none is given"));
  }
  params_ = params();
  for (const auto& [argument, low, high] : ranges) {
    ranges_.push_back({argument_index(argument, "ranges"), low, high});
    tensors_ |= uint32_t{1} << ranges_.back().argument;
  }
  for (const auto& [a, b] : disjoint) {
    const auto count = static_cast<int64_t>(ranges_.size());
    if (a < 0 || b < 0 || a >= count || b >= count) {
      throw std::invalid_argument(concat("Prepared: disjoint names ranges ", a, " and ", b, " of ", count));
    }
    disjoint_.emplace_back(static_cast<uint32_t>(a), static_cast<uint32_t>(b));
  }
  if (result) result_ = argument_index(*result, "result");
  arguments_ = tensors_ | (result_ ? uint32_t{1} << *result_ : 0);
}

void Prepared::come_from(py::object host, std::vector<uint64_t> parameters, bool given_stream) {
  for (const Source& source : host.cast<const HostFunction&>().sources()) {
    if (source.place != Source::Place::address || source.divisor <= int64_t{CallKey::kAlignment}) continue;
    alignments_.emplace_back(source.argument, static_cast<uint64_t>(source.divisor) - 1);
  }
  host_ = std::move(host);
  host_parameters_ = std::move(parameters);
  given_stream_ = given_stream;
}

uint32_t Prepared::tensor_count() const { return static_cast<uint32_t>(std::bit_width(tensors_)); }

Prepared::Parameters Prepared::params() const {
  Parameters found;
  for (const Kernel& kernel : kernels_) found.push_back(kernel.params());
  return found;
}

std::string Prepared::overlap_text(const std::pair<uint32_t, uint32_t>& pair) const {
  return concat("arguments ", ranges_[pair.first].argument, " and ", ranges_[pair.second].argument,
                " overlap in memory");
}

// The addresses of the buffers, and what owns them.
py::object Prepared::ask_workspace(runtime::Stream stream, uint64_t* buffers) const {
  py::object answer = workspace_(reinterpret_cast<uintptr_t>(stream));
  PyObject* found = PyTuple_CheckExact(answer.ptr()) && PyTuple_GET_SIZE(answer.ptr()) == 2
                        ? PyTuple_GET_ITEM(answer.ptr(), 1)
                        : nullptr;
  if (found == nullptr || !PyTuple_CheckExact(found) || PyTuple_GET_SIZE(found) < static_cast<Py_ssize_t>(buffers_)) {
    throw py::type_error(concat("the workspace of a Prepared must return (owner, addresses of ", buffers_,
                                " buffers), not ", std::string(py::repr(answer))));
  }
  for (uint32_t i = 0; i < buffers_; ++i) {
    buffers[i] = py::cast<uint64_t>(PyTuple_GET_ITEM(found, static_cast<Py_ssize_t>(i)));
  }
  return answer;
}

// The workspace is asked before any parameter is patched: another thread may launch meanwhile. Launches on one stream
// may get the same buffers, so the kernels of each are enqueued together. A callback that fails keeps no other from
// being enqueued.
void Prepared::launch_with_python(const uint64_t* arguments, runtime::Stream stream, Parameters& params,
                                  bool patched) const {
  std::array<uint64_t, Kernel::kMaxBuffers> buffers;
  const Addresses at = {arguments, buffers.data()};
  py::object owner;  // lives until all is enqueued
  if (has_workspace()) owner = ask_workspace(stream, buffers.data());
  {
    static GilMutex sharing;  // a workspace, whoever has it
    const std::lock_guard lock(has_workspace() ? sharing : mutex_);
    for (size_t i = 0; i < kernels_.size(); ++i) {
      if (!patched) kernels_[i].patch(at, params[i].data());
      kernels_[i].launch(stream, params[i].data());
    }
  }
  for (const Kernel& kernel : kernels_) {
    if (!launches_are_watched) break;
    if (const std::exception_ptr error = kernel.tell(at, stream)) std::rethrow_exception(error);
  }
}

namespace {

void launch_at(Prepared& prepared, const std::vector<uint64_t>& addresses, uintptr_t stream) {
  if (addresses.size() < prepared.tensor_count()) {
    throw std::invalid_argument(concat("launch: ", addresses.size(), " addresses were given, but the launch needs ",
                                       prepared.tensor_count(), ", one an argument"));
  }
  if (const auto* pair = prepared.overlap(addresses.data())) {
    throw std::invalid_argument("launch: " + prepared.overlap_text(*pair));
  }
  prepared.launch(addresses.data(), reinterpret_cast<runtime::Stream>(stream));
}

std::string device_text(DLDevice device) {
  if (device.device_type == kDLCUDA) return concat("cuda:", device.device_id);
  if (device.device_type == kDLCPU) return "cpu";
  return concat("a device of DLPack type ", static_cast<int>(device.device_type));
}

// Addresses of the tensors, and the functions of the first one's library.
py::object bind_tensors(const py::object& self, const py::args& tensors,
                        const std::optional<std::vector<uint64_t>>& given) {
  const Prepared& prepared = self.cast<const Prepared&>();
  const size_t count = given ? given->size() : tensors.size();
  if (count < prepared.tensor_count() || count > CallKey::kMaxArguments) {
    throw std::invalid_argument(concat("bind: ", count, given ? " addresses" : " tensors",
                                       " were given, but the launch needs ", prepared.tensor_count()));
  }
  std::vector<uint64_t> addresses = given.value_or(std::vector<uint64_t>(count));
  const DLPackExchangeAPI* api = nullptr;
  for (size_t i = 0; i < tensors.size(); ++i) {
    PyObject* tensor = tensors[i].ptr();
    const TypeInfo info = type_info(Py_TYPE(tensor));
    DLTensor t;
    if (info.kind != Kind::tensor || !view(tensor, info, t)) {
      if (given) continue;
      throw py::type_error(concat("bind: argument ", i, ", a ", Py_TYPE(tensor)->tp_name,
                                  ", does not offer DLPack's C functions, needs gradients or is a lazy conjugate; "
                                  "give the addresses, too: bind(..., addresses=[...])"));
    }
    const DLDevice device = prepared.device();
    if (t.device.device_type != device.device_type || t.device.device_id != device.device_id) {
      throw std::invalid_argument(concat("bind: argument ", i, " is on ", device_text(t.device),
                                         ", but the kernel is loaded on ", device_text(device)));
    }
    if (!given) addresses[i] = address_of(t);
    if (i == 0) api = info.api;
    if (api != info.api) api = nullptr;  // of two libraries neither knows the other's stream
  }
  if (const auto* pair = prepared.overlap(addresses.data())) {
    throw std::invalid_argument("bind: " + prepared.overlap_text(*pair));
  }
  return make_bound(self, tensors, std::move(addresses), api);
}

}  // namespace

void bind_prepared(py::module_& m) {
  py::class_<Prepared>(m, "Prepared",
                       "Kernels that are launched one after another, with everything but the addresses and the stream.")
      .def(py::init<std::vector<Kernel>, const std::vector<Prepared::RangeTuple>&, const std::vector<Prepared::Pair>&,
                    std::optional<int64_t>, py::object, py::object>(),
           py::arg("kernels"), py::arg("ranges") = std::vector<Prepared::RangeTuple>(),
           py::arg("disjoint") = std::vector<Prepared::Pair>(), py::arg("result") = py::none(),
           py::arg("keep") = py::none(), py::kw_only(), py::arg("workspace") = py::none(),
           "ranges: (argument, low, high) in bytes from its address; disjoint: pairs of ranges that must not overlap; "
           "result: the argument that the call returns, or None; keep: any object, kept alive; workspace: called with "
           "the stream's number before each launch, returns (owner, the addresses of the buffers), of which the owner "
           "is kept until all kernels are enqueued.")
      .def("launch", &launch_at, py::arg("addresses"), py::arg("stream"),
           "Enqueue the kernels at these addresses, one an argument.")
      .def(
          "bind",
          [](const py::object& self, const py::args& tensors, const std::optional<std::vector<uint64_t>>& addresses) {
            return bind_tensors(self, tensors, addresses);
          },
          py::kw_only(), py::arg("addresses") = py::none(),
          "A Bound for these tensors. Addresses are given for tensors whose library lacks DLPack's C functions.")
      .def_property_readonly("kernels", &Prepared::kernels)
      .def_property_readonly("keep", &Prepared::keep)
      .def_property_readonly("result", &Prepared::result);
}

}  // namespace tilewright::bind

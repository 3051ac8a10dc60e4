#include "prepared.hpp"

#include <pybind11/stl.h>

#include <bit>
#include <cstring>
#include <stdexcept>

#include "core/error.hpp"
#include "runtime/tensor_map.hpp"

namespace py = pybind11;

namespace tilewright::bind {

namespace {

using runtime::Extent3;
using runtime::Function;
using runtime::Stream;

py::tuple to_tuple(const runtime::Dim3& dim) { return py::make_tuple(dim.x, dim.y, dim.z); }

// A recorder has no kernel that could refuse a shape.
runtime::LaunchShape recorded_shape(const Extent3& grid, const Extent3& block, int64_t shared, bool programmatic) {
  const auto dim = [](const Extent3& v) {
    return runtime::Dim3{static_cast<uint32_t>(v[0]), static_cast<uint32_t>(v[1]), static_cast<uint32_t>(v[2])};
  };
  return {dim(grid), dim(block), static_cast<uint32_t>(shared), programmatic};
}

}  // namespace

uint32_t Prepared::argument_index(int64_t index, const char* what) const {
  if (index >= 0 && index < CallKey::kMaxArguments) return static_cast<uint32_t>(index);
  throw std::invalid_argument(
      concat("Prepared: ", what, " names argument ", index, "; arguments are 0 to ", CallKey::kMaxArguments - 1));
}

Prepared::Prepared(py::object function, const Extent3& grid, const Extent3& block, int64_t shared,
                   const py::bytes& params, const std::vector<PointerTuple>& pointers,
                   const std::vector<PointerTuple>& ranges, const std::vector<Pair>& disjoint,
                   std::optional<int64_t> result, py::object keep, const std::vector<PointerTuple>& maps,
                   bool programmatic)
    : function_(std::move(function)), keep_(std::move(keep)) {
  const std::string_view bytes(params);
  bytes_ = bytes.size();
  params_.resize((bytes_ + sizeof(ParameterPiece) - 1) / sizeof(ParameterPiece));
  if (bytes_ != 0) std::memcpy(params_.data(), bytes.data(), bytes_);
  if (py::isinstance<Recorder>(function_)) {
    recorder_ = function_.cast<Recorder*>();
    shape_ = recorded_shape(grid, block, shared, programmatic);
    device_ = {kDLCPU, 0};
  } else {
    kernel_ = function_.cast<const Function*>();
    shape_ = kernel_->shape(grid, block, shared, programmatic);
    kernel_->check_parameter(bytes_);
    device_ = {kDLCUDA, kernel_->device()};
  }
  for (const auto& [argument, offset, add] : pointers) {
    if (offset < 0 || static_cast<uint64_t>(offset) + 8 > bytes_) {
      throw std::invalid_argument(
          concat("Prepared: a pointer at byte ", offset, " does not lie in a parameter of ", bytes_, " bytes"));
    }
    pointers_.push_back({argument_index(argument, "pointers"), static_cast<uint32_t>(offset), add});
    tensors_ |= uint32_t{1} << pointers_.back().argument;
  }
  for (const PointerTuple& map : maps) {
    maps_.push_back(map_of(map));
    tensors_ |= uint32_t{1} << maps_.back().argument;
  }
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

Prepared::Pointer Prepared::map_of(const PointerTuple& map) const {
  const auto [argument, offset, add] = map;
  if (offset < 0 || static_cast<uint64_t>(offset) + sizeof(runtime::TensorMap) > bytes_) {
    throw std::invalid_argument(
        concat("Prepared: a tensor map at byte ", offset, " does not lie in a parameter of ", bytes_, " bytes"));
  }
  if (offset % alignof(runtime::TensorMap) != 0) {
    throw std::invalid_argument(concat("Prepared: a tensor map at byte ", offset,
                                       " of the parameter; it must lie at a multiple of ",
                                       alignof(runtime::TensorMap)));
  }
  if (kernel_ != nullptr) runtime::check_tensor_maps();
  return {argument_index(argument, "maps"), static_cast<uint32_t>(offset), add};
}

uint32_t Prepared::tensor_count() const { return static_cast<uint32_t>(std::bit_width(tensors_)); }

std::string Prepared::overlap_text(const std::pair<uint32_t, uint32_t>& pair) const {
  return concat("arguments ", ranges_[pair.first].argument, " and ", ranges_[pair.second].argument,
                " overlap in memory");
}

void Prepared::patch(const uint64_t* addresses, ParameterPiece* params) const {
  auto* bytes = reinterpret_cast<unsigned char*>(params);
  for (const Pointer& pointer : pointers_) {
    const uint64_t address = addresses[pointer.argument] + static_cast<uint64_t>(pointer.add);
    std::memcpy(bytes + pointer.offset, &address, sizeof address);
  }
  for (const Pointer& map : maps_) {
    const uint64_t address = addresses[map.argument] + static_cast<uint64_t>(map.add);
    if (address % runtime::kTensorMapAlignment != 0) {
      throw std::invalid_argument(concat("launch: argument ", map.argument,
                                         " is read through a tensor map from address ", address,
                                         ", which must be a multiple of ", runtime::kTensorMapAlignment, " bytes"));
    }
    if (kernel_ != nullptr) {
      runtime::replace_address(*reinterpret_cast<runtime::TensorMap*>(bytes + map.offset), address);
    } else {
      std::memcpy(bytes + map.offset, &address, sizeof address);
    }
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
  prepared.patch(addresses.data());
  prepared.launch(reinterpret_cast<Stream>(stream));
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
  return make_bound(self, tensors, addresses.data(), api);
}

}  // namespace

void bind_prepared(py::module_& m) {
  py::class_<Recorder>(m, "Recorder",
                       "Takes the place of a Function in a Prepared where there is no GPU: its tensors are on the CPU, "
                       "and launches are written down. For tests.")
      .def(py::init<>())
      .def_readonly("count", &Recorder::count, "Launches so far.")
      .def_property_readonly(
          "last",
          [](const Recorder& r) {
            return py::make_tuple(to_tuple(r.last.shape.grid), to_tuple(r.last.shape.block), r.last.shape.shared,
                                  reinterpret_cast<uintptr_t>(r.last.stream), py::bytes(r.last.params));
          },
          "The last launch: grid, block, shared, stream, params. A tensor map in params has its new address in its "
          "first 8 bytes.")
      .def_property_readonly(
          "programmatic", [](const Recorder& r) { return r.last.shape.programmatic; },
          "Whether the last launch might overlap with what was enqueued before it.");

  py::class_<Prepared>(m, "Prepared", "A launch with everything but the addresses and the stream.")
      .def(py::init<py::object, const Extent3&, const Extent3&, int64_t, const py::bytes&,
                    const std::vector<Prepared::PointerTuple>&, const std::vector<Prepared::PointerTuple>&,
                    const std::vector<Prepared::Pair>&, std::optional<int64_t>, py::object,
                    const std::vector<Prepared::PointerTuple>&, bool>(),
           py::arg("function"), py::arg("grid"), py::arg("block"), py::arg("shared"), py::arg("params"),
           py::arg("pointers") = std::vector<Prepared::PointerTuple>(),
           py::arg("ranges") = std::vector<Prepared::PointerTuple>(),
           py::arg("disjoint") = std::vector<Prepared::Pair>(), py::arg("result") = py::none(),
           py::arg("keep") = py::none(), py::kw_only(), py::arg("maps") = std::vector<Prepared::PointerTuple>(),
           py::arg("programmatic") = false,
           "pointers: (argument, offset in params, bytes added to its address); ranges: (argument, low, high) in bytes "
           "from its address; disjoint: pairs of ranges that must not overlap; result: the argument that the call "
           "returns, or None; keep: any object, kept alive; maps: (argument, offset in params, bytes added) of tensor "
           "maps in params, whose address is replaced as a pointer is; programmatic: the kernel may begin before the "
           "one before it on the stream has ended, and waits for its data itself.")
      .def("launch", &launch_at, py::arg("addresses"), py::arg("stream"),
           "Enqueue it at these addresses, one an argument.")
      .def(
          "bind",
          [](const py::object& self, const py::args& tensors, const std::optional<std::vector<uint64_t>>& addresses) {
            return bind_tensors(self, tensors, addresses);
          },
          py::kw_only(), py::arg("addresses") = py::none(),
          "A Bound for these tensors. Addresses are given for tensors whose library lacks DLPack's C functions.")
      .def_property_readonly("function", &Prepared::function)
      .def_property_readonly("keep", &Prepared::keep)
      .def_property_readonly("result", &Prepared::result)
      .def_property_readonly("parameter_bytes", &Prepared::parameter_bytes)
      .def_property_readonly("grid", [](const Prepared& p) { return to_tuple(p.shape().grid); })
      .def_property_readonly("block", [](const Prepared& p) { return to_tuple(p.shape().block); })
      .def_property_readonly("shared", [](const Prepared& p) { return p.shape().shared; })
      .def_property_readonly("programmatic", [](const Prepared& p) { return p.shape().programmatic; });
}

}  // namespace tilewright::bind

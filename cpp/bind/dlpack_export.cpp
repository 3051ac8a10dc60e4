// DLPack, outwards; and the Python class.
#include <pybind11/stl.h>  // the vectors of to_capsule

#include <algorithm>

#include "core/error.hpp"
#include "dlpack.h"
#include "vectorcall.hpp"

namespace py = pybind11;

namespace tilewright {
namespace {

constexpr const char* kVersioned = "dltensor_versioned";
constexpr const char* kLegacy = "dltensor";

// All that a consumer gets a pointer to, in one block, with its own share of the owner. One block for each capsule:
// two that share a structure would free it twice.
template <class Managed>
struct Exported {
  Managed managed{};
  std::vector<int64_t> shape, strides;
  std::shared_ptr<void> owner;
};

// The consumer's call, on any thread and at any time. It needs no GIL: the owner takes it where it is needed.
template <class Managed>
void delete_exported(Managed* managed) {
  delete static_cast<Exported<Managed>*>(managed->manager_ctx);
}

// A capsule that nobody consumed still has its first name, and what is in it is still ours.
template <class Managed>
void delete_unconsumed(PyObject* capsule, const char* name) {
  if (!PyCapsule_IsValid(capsule, name)) return;
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  managed->deleter(managed);
}

template <class Managed>
std::unique_ptr<Exported<Managed>> export_tensor(const Memory::Export& tensor, std::shared_ptr<void> owner) {
  auto exported = std::make_unique<Exported<Managed>>();
  exported->shape = tensor.shape;
  exported->strides = tensor.strides;
  exported->owner = std::move(owner);
  Managed& managed = exported->managed;
  managed.manager_ctx = exported.get();
  managed.deleter = delete_exported<Managed>;
  const auto [code, bits, lanes] = tensor.dtype;
  // byte_offset stays 0: some consumers forget to add it.
  managed.dl_tensor.data = reinterpret_cast<void*>(tensor.address);
  managed.dl_tensor.device = {static_cast<DLDeviceType>(tensor.device.first), tensor.device.second};
  managed.dl_tensor.ndim = static_cast<int32_t>(tensor.shape.size());
  managed.dl_tensor.dtype = {static_cast<uint8_t>(code), static_cast<uint8_t>(bits), static_cast<uint16_t>(lanes)};
  managed.dl_tensor.shape = exported->shape.data();
  managed.dl_tensor.strides = exported->strides.data();
  return exported;
}

template <class Managed>
py::object to_py(std::unique_ptr<Exported<Managed>> exported, const char* name, PyCapsule_Destructor destructor) {
  PyObject* capsule = PyCapsule_New(&exported->managed, name, destructor);
  if (capsule == nullptr) throw py::error_already_set();
  exported.release();
  return py::reinterpret_steal<py::object>(capsule);
}

}  // namespace

py::object Memory::to_capsule(const Export& tensor) const {
  const int64_t bits = std::get<1>(tensor.dtype) * std::get<2>(tensor.dtype);
  const std::string what = "shape " + tuple_text(tensor.shape) + ", strides " + tuple_text(tensor.strides);
  if (tensor.shape.size() != tensor.strides.size() ||
      std::any_of(tensor.shape.begin(), tensor.shape.end(), [](int64_t extent) { return extent < 1; })) {
    throw py::value_error(what + " is not the layout of a tensor");
  }
  try {
    const auto [first, last] = reach(tensor.shape, tensor.strides, bits);
    const uint64_t begin = tensor.address + static_cast<uint64_t>(first);
    const uint64_t end = tensor.address + static_cast<uint64_t>(last);
    if (begin > tensor.address || end < tensor.address || begin < begin_ || end > end_) {
      fail(concat("the elements occupy [", hexadecimal(begin), ", ", hexadecimal(end),
                  "), which is not inside the owner's memory [", hexadecimal(begin_), ", ", hexadecimal(end_), ")"));
    }
  } catch (const LayoutError& error) {
    throw py::buffer_error(what + ": " + error.what());
  }
  if (tensor.minor < 0) {
    return to_py(export_tensor<DLManagedTensor>(tensor, owner_), kLegacy,
                 [](PyObject* capsule) { delete_unconsumed<DLManagedTensor>(capsule, kLegacy); });
  }
  auto exported = export_tensor<DLManagedTensorVersioned>(tensor, owner_);
  exported->managed.version = {DLPACK_MAJOR_VERSION, static_cast<uint32_t>(tensor.minor)};
  exported->managed.flags =
      (read_only_ ? DLPACK_FLAG_BITMASK_READ_ONLY : 0) | (tensor.copied ? DLPACK_FLAG_BITMASK_IS_COPIED : 0);
  return to_py(std::move(exported), kVersioned,
               [](PyObject* capsule) { delete_unconsumed<DLManagedTensorVersioned>(capsule, kVersioned); });
}

void bind_dlpack(py::module_& module) {
  py::class_<Memory>(module, "Memory", py::custom_type_setup(bind::only_returned), py::buffer_protocol(),
                     "A block of memory and what keeps it alive: a tensor of another library, or an allocation.")
      .def_static("from_capsule", &Memory::from_capsule, py::arg("capsule"),
                  "Take over the tensor in a DLPack capsule, versioned or not.")
      .def_static(
          "device_name", [](int type, int id) { return device_name({static_cast<DLDeviceType>(type), id}); },
          py::arg("type"), py::arg("id"), "`cpu`, `cuda:0`, ... of DLPack's type and id.")
      .def("__reduce__",
           [](const Memory&) -> py::object {
             throw py::type_error(
                 "a tensor is a view of memory, which is neither pickled nor copied with it: copy or pickle the array "
                 "that the memory belongs to, and import that with from_dlpack; copy.copy makes another view");
           })
      .def_static("allocate", &Memory::allocate, py::arg("size"), py::arg("alignment"),
                  "Zeroed memory of `size` bytes at a multiple of `alignment`.")
      .def(
          "to_capsule",
          [](const Memory& memory, uint64_t address, std::vector<int64_t> shape, std::vector<int64_t> strides,
             std::tuple<int, int, int> dtype, std::pair<int, int> device, bool copied, int minor) {
            return memory.to_capsule({address, std::move(shape), std::move(strides), dtype, device, copied, minor});
          },
          py::kw_only(), py::arg("address"), py::arg("shape"), py::arg("strides"), py::arg("dtype"), py::arg("device"),
          py::arg("copied"), py::arg("minor"),
          "A DLPack capsule of elements of this memory, which it keeps alive: of version 1.minor, or if that is -1 "
          "not versioned.")
      .def("load", &Memory::load, py::arg("address"), py::arg("shift"), py::arg("bits"),
           "The bits of the element that begins `shift` bits after a byte address.")
      .def("store", &Memory::store, py::arg("address"), py::arg("shift"), py::arg("bits"), py::arg("value"),
           "Replace the bits of the element that begins `shift` bits after a byte address.")
      .def_buffer(&Memory::buffer)
      .def_property_readonly("address", &Memory::address, "Byte address of the element at offset 0.")
      .def_property_readonly("begin", &Memory::begin, "Address of the first byte that belongs to an element.")
      .def_property_readonly("end", &Memory::end, "Address of the first byte after the elements.")
      .def_property_readonly("read_only", &Memory::read_only)
      .def_property_readonly("padded", &Memory::padded, "Whether each element of a sub-byte type fills a byte.")
      .def_property_readonly("on_host", &Memory::on_host, "Whether the CPU can read it.")
      .def_property_readonly("device", &Memory::device, "`cpu`, `cuda:0`, ...")
      .def_property_readonly("dlpack_device", &Memory::dlpack_device, "DLPack device type and id.")
      .def_property_readonly("dtype", &Memory::dtype, "DLPack type code, bits and lanes.")
      .def_property_readonly("shape", &Memory::shape)
      .def_property_readonly("strides", &Memory::strides, "In elements.");
  bind_cuda_memory(module);
}

}  // namespace tilewright

#include "dlpack.h"

#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/integer.hpp"
#include "third_party/dlpack/dlpack.h"

namespace py = pybind11;

namespace tilewright {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are read as little-endian");

std::string hexadecimal(uint64_t address) {
  char text[19];
  std::snprintf(text, sizeof text, "0x%016llx", static_cast<unsigned long long>(address));
  return text;
}

std::string tuple_text(const std::vector<int64_t>& values) {
  std::string text = "(";
  for (size_t i = 0; i < values.size(); ++i) text += (i ? "," : "") + std::to_string(values[i]);
  return text + ")";
}

py::tuple to_tuple(const std::vector<int64_t>& values) {
  py::tuple tuple(values.size());
  for (size_t i = 0; i < values.size(); ++i) tuple[i] = values[i];
  return tuple;
}

std::string device_name(DLDeviceType type) {
  constexpr std::pair<DLDeviceType, const char*> kNames[] = {
      {kDLCPU, "cpu"},     {kDLCUDA, "cuda"},          {kDLCUDAHost, "cuda_host"}, {kDLCUDAManaged, "cuda_managed"},
      {kDLROCM, "rocm"},   {kDLROCMHost, "rocm_host"}, {kDLOpenCL, "opencl"},      {kDLVulkan, "vulkan"},
      {kDLMetal, "metal"}, {kDLOneAPI, "oneapi"}};
  for (const auto& [known, name] : kNames) {
    if (known == type) return name;
  }
  return concat("device_type_", static_cast<int>(type));
}

// While the interpreter shuts down the producer's callback may be gone already: leaking is the only safe answer.
bool is_finalizing() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

// Called once, when the last reference to the memory goes. The producer's deleter may run Python code: the GIL is held,
// because a Python object is being destroyed, and an error that is under way is kept. Once the interpreter has ended,
// the memory is left alone.
template <class Managed>
void release(Managed* managed) {
  if (managed->deleter == nullptr || !Py_IsInitialized() || is_finalizing()) return;
  py::error_scope keep;
  managed->deleter(managed);
}

// Takes the tensor out of its capsule. From here on the deleter is ours to call, whatever fails later.
template <class Managed>
std::shared_ptr<Managed> take(PyObject* capsule, const char* name, const char* used) {
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  if (managed == nullptr || PyCapsule_SetName(capsule, used) != 0) throw py::error_already_set();
  return std::shared_ptr<Managed>(managed, release<Managed>);
}

class Memory {
 public:
  static std::unique_ptr<Memory> from_capsule(const py::object& capsule) {
    const std::string_view name = PyCapsule_CheckExact(capsule.ptr()) ? capsule_name(capsule.ptr()) : "";
    auto memory = std::make_unique<Memory>();
    if (name == "dltensor_versioned") {
      auto managed = take<DLManagedTensorVersioned>(capsule.ptr(), "dltensor_versioned", "used_dltensor_versioned");
      if (managed->version.major != DLPACK_MAJOR_VERSION) {
        // Nothing but the deleter may be touched.
        throw py::buffer_error(concat("the tensor has DLPack version ", managed->version.major, ".",
                                      managed->version.minor, ", but only version ", DLPACK_MAJOR_VERSION,
                                      " is understood"));
      }
      memory->read_only_ = (managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
      memory->padded_ = (managed->flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0;
      memory->adopt(managed->dl_tensor);
      memory->owner_ = std::move(managed);
    } else if (name == "dltensor") {
      auto managed = take<DLManagedTensor>(capsule.ptr(), "dltensor", "used_dltensor");
      memory->adopt(managed->dl_tensor);
      memory->owner_ = std::move(managed);
    } else if (name == "used_dltensor_versioned" || name == "used_dltensor") {
      throw py::buffer_error("the capsule was used before; __dlpack__ must make a new one for every call");
    } else {
      throw py::buffer_error(
          concat("__dlpack__ must return a capsule named dltensor_versioned or dltensor, but returned ",
                 std::string(py::repr(capsule))));
    }
    return memory;
  }

  static std::unique_ptr<Memory> allocate(int64_t size, int64_t alignment) {
    if (size < 0 || alignment < 1 || !std::has_single_bit(static_cast<uint64_t>(alignment))) {
      throw py::value_error(concat("allocate: ", size, " bytes aligned to ", alignment, " is not a block of memory"));
    }
    const auto align = static_cast<std::align_val_t>(alignment);
    const size_t bytes = size == 0 ? 1 : static_cast<size_t>(size);
    void* block = ::operator new(bytes, align);
    auto memory = std::make_unique<Memory>();
    memory->owner_ = std::shared_ptr<void>(block, [align](void* p) { ::operator delete(p, align); });
    std::memset(block, 0, bytes);
    memory->address_ = memory->begin_ = reinterpret_cast<uint64_t>(block);
    memory->end_ = memory->begin_ + static_cast<uint64_t>(size);
    memory->shape_ = {size};
    memory->strides_ = {1};
    memory->dtype_ = {kDLUInt, 8, 1};
    return memory;
  }

  // The bits of one element of at most 64 bits, which begins `shift` bits after the address.
  uint64_t load(uint64_t address, unsigned shift, unsigned bits) const {
    const unsigned bytes = (shift + bits + 7) / 8;
    uint64_t word = 0;
    std::memcpy(&word, locate(address, shift, bits), bytes);
    return (word >> shift) & mask(bits);
  }

  void store(uint64_t address, unsigned shift, unsigned bits, uint64_t value) {
    unsigned char* place = locate(address, shift, bits);
    if (read_only_) throw py::value_error("the memory is read-only");
    const unsigned bytes = (shift + bits + 7) / 8;
    uint64_t word = 0;
    std::memcpy(&word, place, bytes);
    word = (word & ~(mask(bits) << shift)) | ((value & mask(bits)) << shift);
    std::memcpy(place, &word, bytes);
  }

  py::buffer_info buffer() const {
    if (!on_host()) throw py::buffer_error("the memory of " + device() + " cannot be read by the CPU");
    return py::buffer_info(reinterpret_cast<unsigned char*>(begin_), static_cast<py::ssize_t>(end_ - begin_),
                           read_only_);
  }

  bool on_host() const { return device_.device_type == kDLCPU || device_.device_type == kDLCUDAHost; }

  std::string device() const {
    const std::string name = device_name(device_.device_type);
    return device_.device_type == kDLCPU ? name : concat(name, ":", device_.device_id);
  }

  uint64_t address() const { return address_; }
  uint64_t begin() const { return begin_; }
  uint64_t end() const { return end_; }
  bool read_only() const { return read_only_; }
  bool padded() const { return padded_; }
  py::tuple shape() const { return to_tuple(shape_); }
  py::tuple strides() const { return to_tuple(strides_); }
  py::tuple dtype() const { return py::make_tuple(dtype_.code, dtype_.bits, dtype_.lanes); }
  py::tuple dlpack_device() const { return py::make_tuple(static_cast<int>(device_.device_type), device_.device_id); }

 private:
  static std::string_view capsule_name(PyObject* capsule) {
    const char* name = PyCapsule_GetName(capsule);
    return name ? name : "";
  }

  static uint64_t mask(unsigned bits) { return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }

  void adopt(const DLTensor& tensor) {
    const auto rank = static_cast<size_t>(tensor.ndim);
    if (tensor.ndim < 0 || (tensor.ndim > 0 && tensor.shape == nullptr)) {
      throw py::buffer_error(
          concat("the tensor has ", tensor.ndim, " dimensions and ", tensor.shape ? "a" : "no", " shape"));
    }
    if (tensor.ndim > kMaxRank) {
      throw py::buffer_error(
          concat("the tensor has ", tensor.ndim, " dimensions; at most ", kMaxRank, " are supported"));
    }
    shape_.assign(tensor.shape, tensor.shape + rank);
    dtype_ = tensor.dtype;
    device_ = tensor.device;
    try {
      int64_t size = 1;
      for (const int64_t extent : shape_) {
        if (extent < 0) throw py::buffer_error("shape " + tuple_text(shape_) + " has a negative extent");
        size = checked_mul(size, extent);
      }
      if (tensor.strides != nullptr) {
        strides_.assign(tensor.strides, tensor.strides + rank);
      } else {
        // Until DLPack 1.2: compact, row-major.
        strides_.resize(rank);
        int64_t stride = 1;
        for (size_t i = rank; i-- > 0; stride = checked_mul(stride, shape_[i])) strides_[i] = stride;
      }
      if (size != 0 && tensor.data == nullptr) {
        throw py::buffer_error("shape " + tuple_text(shape_) + " has elements, but the data pointer is NULL");
      }
      address_ = begin_ = end_ = reinterpret_cast<uint64_t>(tensor.data) + tensor.byte_offset;
      if (size != 0) measure();
    } catch (const LayoutError& error) {
      throw py::buffer_error("shape " + tuple_text(shape_) + ", strides " + tuple_text(strides_) + ": " + error.what());
    }
  }

  // The bytes that the elements occupy: from the least to the greatest offset, which strides of either sign may reach.
  void measure() {
    int64_t least = 0, greatest = 0;
    for (size_t i = 0; i < shape_.size(); ++i) {
      const int64_t reach = checked_mul(shape_[i] - 1, strides_[i]);
      (reach < 0 ? least : greatest) = checked_add(reach < 0 ? least : greatest, reach);
    }
    const int64_t bits = padded_ ? (dtype_.bits * dtype_.lanes + 7) / 8 * 8 : dtype_.bits * dtype_.lanes;
    const int64_t first = checked_mul(least, bits);
    const int64_t last = checked_mul(checked_add(greatest, 1), bits);
    begin_ = address_ + static_cast<uint64_t>(first >> 3);
    end_ = address_ + static_cast<uint64_t>(last / 8 + (last % 8 != 0));
    if (begin_ > address_ || end_ < address_) fail("the elements lie outside the address space");
  }

  unsigned char* locate(uint64_t address, unsigned shift, unsigned bits) const {
    if (bits < 1 || bits > 64 || shift > 7 || shift + bits > 64) {
      throw py::value_error(concat("no element has ", bits, " bits that begin at bit ", shift));
    }
    if (!on_host()) throw std::runtime_error("the memory of " + device() + " cannot be accessed by the CPU");
    const unsigned bytes = (shift + bits + 7) / 8;
    if (address < begin_ || address > end_ || end_ - address < bytes) {
      throw py::index_error(concat("the element at address ", hexadecimal(address),
                                   " lies outside the owner's memory [", hexadecimal(begin_), ", ", hexadecimal(end_),
                                   ")"));
    }
    return reinterpret_cast<unsigned char*>(address);
  }

  static constexpr int32_t kMaxRank = 64;

  uint64_t address_ = 0;  // of the element at offset 0
  uint64_t begin_ = 0;    // of the first byte that belongs to an element
  uint64_t end_ = 0;      // of the first byte after them
  bool read_only_ = false;
  bool padded_ = false;
  std::vector<int64_t> shape_;
  std::vector<int64_t> strides_;
  DLDataType dtype_{kDLUInt, 8, 1};
  DLDevice device_{kDLCPU, 0};
  std::shared_ptr<void> owner_;
};

}  // namespace

void bind_dlpack(py::module_& module) {
  py::class_<Memory>(module, "Memory", py::buffer_protocol(),
                     "A block of memory and what keeps it alive: a tensor of another library, or an allocation.")
      .def_static("from_capsule", &Memory::from_capsule, py::arg("capsule"),
                  "Take over the tensor in a DLPack capsule, versioned or not.")
      .def_static("allocate", &Memory::allocate, py::arg("size"), py::arg("alignment"),
                  "Zeroed memory of `size` bytes at a multiple of `alignment`.")
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
}

}  // namespace tilewright

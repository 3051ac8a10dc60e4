#include "dlpack.h"

#include <bit>
#include <cstdio>
#include <cstring>
#include <new>
#include <string_view>

#include "core/error.hpp"
#include "core/integer.hpp"

namespace py = pybind11;

namespace tilewright {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are read as little-endian");

constexpr int32_t kMaxRank = 64;

// Called once, when the last reference to the memory goes: on any thread, whether it holds the GIL or not. The
// producer's deleter may run Python code, so it gets the GIL, and an error that is under way is kept. Once the
// interpreter ends, the memory is left alone.
template <class Managed>
void release(Managed* managed) {
  if (managed->deleter == nullptr || python_has_ended()) return;
  py::gil_scoped_acquire gil;
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

std::string_view capsule_name(PyObject* capsule) {
  const char* name = PyCapsule_CheckExact(capsule) ? PyCapsule_GetName(capsule) : nullptr;
  return name ? name : "";
}

uint64_t mask(unsigned bits) { return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }

py::tuple to_tuple(const std::vector<int64_t>& values) {
  py::tuple tuple(values.size());
  for (size_t i = 0; i < values.size(); ++i) tuple[i] = values[i];
  return tuple;
}

}  // namespace

std::string hexadecimal(uint64_t address) {
  char text[19];
  std::snprintf(text, sizeof text, "0x%016llx", static_cast<unsigned long long>(address));
  return text;
}

std::string tuple_text(const std::vector<int64_t>& values) {
  std::string text = "(";
  for (size_t i = 0; i < values.size(); ++i) {
    if (i != 0) text += ',';
    text += std::to_string(values[i]);
  }
  return text + ")";
}

std::string device_name(DLDevice device) {
  constexpr std::pair<DLDeviceType, const char*> kNames[] = {
      {kDLCPU, "cpu"},     {kDLCUDA, "cuda"},          {kDLCUDAHost, "cuda_host"}, {kDLCUDAManaged, "cuda_managed"},
      {kDLROCM, "rocm"},   {kDLROCMHost, "rocm_host"}, {kDLOpenCL, "opencl"},      {kDLVulkan, "vulkan"},
      {kDLMetal, "metal"}, {kDLOneAPI, "oneapi"}};
  if (device.device_type == kDLCPU) return "cpu";
  for (const auto& [known, name] : kNames) {
    if (known == device.device_type) return concat(name, ":", device.device_id);
  }
  return concat("device_type_", static_cast<int>(device.device_type), ":", device.device_id);
}

bool python_has_ended() {
#if PY_VERSION_HEX >= 0x030D0000
  return !Py_IsInitialized() || Py_IsFinalizing() != 0;
#else
  return !Py_IsInitialized() || _Py_IsFinalizing() != 0;
#endif
}

std::pair<int64_t, int64_t> reach(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides,
                                  int64_t bits) {
  int64_t least = 0, greatest = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t end = checked_mul(shape[i] - 1, strides[i]);
    (end < 0 ? least : greatest) = checked_add(end < 0 ? least : greatest, end);
  }
  const int64_t last = checked_mul(checked_add(greatest, 1), bits);
  return {checked_mul(least, bits) >> 3, last / 8 + (last % 8 != 0)};
}

std::unique_ptr<Memory> Memory::from_capsule(const py::object& capsule) {
  const std::string_view name = capsule_name(capsule.ptr());
  std::unique_ptr<Memory> memory(new Memory);
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

Memory::Memory(uint64_t address, int64_t size, DLDevice device, std::shared_ptr<void> owner)
    : address_(address),
      begin_(address),
      end_(address + static_cast<uint64_t>(size)),
      shape_{size},
      strides_{1},
      device_(device),
      owner_(std::move(owner)) {}

std::unique_ptr<Memory> Memory::allocate(int64_t size, int64_t alignment) {
  if (size < 0 || alignment < 1 || !std::has_single_bit(static_cast<uint64_t>(alignment))) {
    throw py::value_error(concat("allocate: ", size, " bytes aligned to ", alignment, " is not a block of memory"));
  }
  const auto align = static_cast<std::align_val_t>(alignment);
  const size_t bytes = size == 0 ? 1 : static_cast<size_t>(size);
  void* block = ::operator new(bytes, align);
  std::shared_ptr<void> owner(block, [align](void* p) { ::operator delete(p, align); });
  std::memset(block, 0, bytes);
  return std::make_unique<Memory>(reinterpret_cast<uint64_t>(block), size, DLDevice{kDLCPU, 0}, std::move(owner));
}

namespace {

// CuPy divides the bytes of a stride by the element's without a sign: -6 elements of 4 bytes come as 2^62 - 6. No
// address space has such strides, so they are what they were meant to be.
int64_t with_sign(int64_t stride, int element_bytes) {
  if (element_bytes < 2 || !std::has_single_bit(static_cast<unsigned>(element_bytes))) return stride;
  const int64_t half = (int64_t{1} << 62) / element_bytes * 2;  // 2^63 / element_bytes
  return stride >= half ? stride - half - half : stride;
}

}  // namespace

void Memory::adopt(const DLTensor& tensor) {
  const auto rank = static_cast<size_t>(tensor.ndim);
  if (tensor.ndim < 0 || (tensor.ndim > 0 && tensor.shape == nullptr)) {
    throw py::buffer_error(
        concat("the tensor has ", tensor.ndim, " dimensions and ", tensor.shape ? "a" : "no", " shape"));
  }
  if (tensor.ndim > kMaxRank) {
    throw py::buffer_error(concat("the tensor has ", tensor.ndim, " dimensions; at most ", kMaxRank, " are supported"));
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
      for (int64_t& stride : strides_) stride = with_sign(stride, dtype_.bits * dtype_.lanes / 8);
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
    if (size == 0) return;
    const int64_t bits = dtype_.bits * dtype_.lanes;
    const auto [first, last] = reach(shape_, strides_, padded_ ? (bits + 7) / 8 * 8 : bits);
    begin_ += static_cast<uint64_t>(first);
    end_ += static_cast<uint64_t>(last);
    if (begin_ > address_ || end_ < address_) fail("the elements lie outside the address space");
  } catch (const LayoutError& error) {
    throw py::buffer_error("shape " + tuple_text(shape_) + ", strides " + tuple_text(strides_) + ": " + error.what());
  }
}

unsigned char* Memory::locate(uint64_t address, unsigned shift, unsigned bits) const {
  if (bits < 1 || bits > 64 || shift > 7 || shift + bits > 64) {
    throw py::value_error(concat("no element has ", bits, " bits that begin at bit ", shift));
  }
  if (!on_host()) throw std::runtime_error("the memory of " + device() + " cannot be accessed by the CPU");
  const unsigned bytes = (shift + bits + 7) / 8;
  if (address < begin_ || address > end_ || end_ - address < bytes) {
    throw py::index_error(concat("the element at address ", hexadecimal(address), " lies outside the owner's memory [",
                                 hexadecimal(begin_), ", ", hexadecimal(end_), ")"));
  }
  return reinterpret_cast<unsigned char*>(address);
}

uint64_t Memory::load(uint64_t address, unsigned shift, unsigned bits) const {
  uint64_t word = 0;
  std::memcpy(&word, locate(address, shift, bits), (shift + bits + 7) / 8);
  return (word >> shift) & mask(bits);
}

void Memory::store(uint64_t address, unsigned shift, unsigned bits, uint64_t value) {
  unsigned char* place = locate(address, shift, bits);
  if (read_only_) throw py::value_error("the memory is read-only");
  const unsigned bytes = (shift + bits + 7) / 8;
  uint64_t word = 0;
  std::memcpy(&word, place, bytes);
  word = (word & ~(mask(bits) << shift)) | ((value & mask(bits)) << shift);
  std::memcpy(place, &word, bytes);
}

py::buffer_info Memory::buffer() const {
  if (!on_host()) throw py::buffer_error("the memory of " + device() + " cannot be read by the CPU");
  return py::buffer_info(reinterpret_cast<unsigned char*>(begin_), static_cast<py::ssize_t>(end_ - begin_), read_only_);
}

std::string Memory::device() const { return device_name(device_); }
py::tuple Memory::shape() const { return to_tuple(shape_); }
py::tuple Memory::strides() const { return to_tuple(strides_); }

}  // namespace tilewright

// The memory behind a tensor: imported through DLPack, or allocated here; and the way back, out through DLPack.
//
// Whoever holds an element of the memory holds its owner: a Memory, or a capsule that was exported from it. The last of
// them to go releases the owner, on whichever thread that happens.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "third_party/dlpack/dlpack.h"

namespace tilewright {

class Memory {
 public:
  static std::unique_ptr<Memory> from_capsule(const pybind11::object& capsule);
  static std::unique_ptr<Memory> allocate(int64_t size, int64_t alignment);
  // What `owner` keeps alive: `size` bytes at `address`, as bytes.
  Memory(uint64_t address, int64_t size, DLDevice device, std::shared_ptr<void> owner);

  // A DLPack capsule, dltensor_versioned or dltensor, of elements of this memory. The bits of the data type are those
  // of an item in memory; strides count items. BufferError where an element lies outside.
  struct Export {
    uint64_t address;
    std::vector<int64_t> shape, strides;
    std::tuple<int, int, int> dtype;  // code, bits, lanes
    std::pair<int, int> device;       // type, id
    bool copied;                      // nobody else has the memory
    int minor;                        // version 1.minor, or -1: not versioned
  };
  pybind11::object to_capsule(const Export& tensor) const;

  // The bits of one element of at most 64 bits, which begins `shift` bits after the address.
  uint64_t load(uint64_t address, unsigned shift, unsigned bits) const;
  void store(uint64_t address, unsigned shift, unsigned bits, uint64_t value);

  pybind11::buffer_info buffer() const;
  bool on_host() const { return device_.device_type == kDLCPU || device_.device_type == kDLCUDAHost; }
  std::string device() const;
  uint64_t address() const { return address_; }
  uint64_t begin() const { return begin_; }
  uint64_t end() const { return end_; }
  bool read_only() const { return read_only_; }
  bool padded() const { return padded_; }
  pybind11::tuple shape() const;
  pybind11::tuple strides() const;
  pybind11::tuple dtype() const { return pybind11::make_tuple(dtype_.code, dtype_.bits, dtype_.lanes); }
  pybind11::tuple dlpack_device() const {
    return pybind11::make_tuple(static_cast<int>(device_.device_type), device_.device_id);
  }

 private:
  Memory() = default;
  void adopt(const DLTensor& tensor);
  unsigned char* locate(uint64_t address, unsigned shift, unsigned bits) const;

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

// The bytes that elements occupy, as [first, last) from the address of the one at offset 0: strides of either sign
// reach from the least to the greatest offset. LayoutError where that does not fit into 64 bits.
std::pair<int64_t, int64_t> reach(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides, int64_t bits);

// While the interpreter shuts down, and once it has ended, no Python code may run: leaking is the only safe answer.
bool python_has_ended();

std::string hexadecimal(uint64_t address);
std::string tuple_text(const std::vector<int64_t>& values);
std::string device_name(DLDevice device);

// Adds the class Memory, and to the submodule cuda what concerns memory.
void bind_dlpack(pybind11::module_& module);
void bind_cuda_memory(pybind11::module_& module);

}  // namespace tilewright

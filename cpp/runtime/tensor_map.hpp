// Tensor maps: which boxes of a tensor in global memory the copy engine of Hopper (TMA) moves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "runtime/driver.hpp"

namespace tilewright::runtime {

constexpr uint64_t kTensorMapAlignment = 16;  // of addresses and strides, in bytes

// A tensor and the boxes to copy, as the user gave them: modes with the contiguous one first.
struct TiledTensor {
  uint64_t address;
  std::variant<int64_t, std::string> element;  // bits of an unsigned integer, or a name such as "bfloat16"
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // in bytes, without the first mode's
  std::vector<int64_t> box;      // elements
  std::optional<std::vector<int64_t>> element_strides;
  int64_t swizzle;       // bytes that a pattern spans, or 0
  int64_t l2_promotion;  // bytes that the L2 fetches at least, or 0
  std::string fill;      // of what lies outside the tensor: "zeros" or "nans"
};

// std::invalid_argument, naming the limit of the hardware that a number breaks; DriverError where the driver refuses or
// has no tensor maps.
TensorMap encode_tiled(const TiledTensor& tensor);

// DriverError where the driver has no tensor maps.
void check_tensor_maps();

// The same boxes of a tensor elsewhere; the address is aligned, and check_tensor_maps() has passed.
void replace_address(TensorMap& map, uint64_t address);

}  // namespace tilewright::runtime

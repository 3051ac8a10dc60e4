#include "runtime/tensor_map.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "runtime/device.hpp"

namespace tilewright::runtime {

namespace {

constexpr int64_t kMaxRank = 5;
constexpr int64_t kMaxExtent = int64_t{1} << 32;
constexpr int64_t kStrideLimit = int64_t{1} << 40;
constexpr int64_t kMaxBox = 256;
constexpr int64_t kMaxElementStride = 8;
constexpr int kNotInterleaved = 0;
constexpr DriverResult kInvalidContext = 201;

struct ElementType {
  const char* name;
  int64_t bits;
  bool is_float;
};

// In the order of CUtensorMapDataType. Of two types of the same bits the first is the one that bits alone mean.
constexpr ElementType kTypes[] = {
    {"uint8", 8, false},        {"uint16", 16, false},  {"uint32", 32, false},     {"int32", 32, false},
    {"uint64", 64, false},      {"int64", 64, false},   {"float16", 16, true},     {"float32", 32, true},
    {"float64", 64, true},      {"bfloat16", 16, true}, {"float32_ftz", 32, true}, {"tfloat32", 32, true},
    {"tfloat32_ftz", 32, true},
};

constexpr int64_t kSwizzles[] = {0, 32, 64, 128};     // in the order of CUtensorMapSwizzle
constexpr int64_t kPromotions[] = {0, 64, 128, 256};  // in the order of CUtensorMapL2promotion
constexpr const char* kFills[] = {"zeros", "nans"};   // in the order of CUtensorMapFloatOOBfill

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument("encode_tensor_map: " + what); }

std::string text(int64_t value) { return std::to_string(value); }

const ElementType& type_of(const std::variant<int64_t, std::string>& element) {
  const auto found = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const ElementType& type) {
    return std::holds_alternative<int64_t>(element) ? type.bits == std::get<int64_t>(element)
                                                    : type.name == std::get<std::string>(element);
  });
  if (found != std::end(kTypes)) return *found;
  if (std::holds_alternative<int64_t>(element)) {
    refuse("elements of " + text(std::get<int64_t>(element)) + " bits; they have 8, 16, 32 or 64");
  }
  std::string names;
  for (const ElementType& type : kTypes) names += std::string(names.empty() ? "" : ", ") + type.name;
  refuse("elements of type '" + std::get<std::string>(element) + "'; the types are " + names);
}

// The place of a value in a list, which is the driver's number of it.
template <class List, class Value>
int number_of(const List& list, const Value& value, const std::string& what, const std::string& choices) {
  const auto found = std::find(std::begin(list), std::end(list), value);
  if (found == std::end(list)) refuse(what + "; it must be " + choices);
  return static_cast<int>(found - std::begin(list));
}

template <class Word>
std::vector<Word> checked(const std::vector<int64_t>& values, size_t count, const char* what, int64_t least,
                          int64_t most) {
  if (values.size() != count) {
    refuse(std::string(what) + " has " + text(static_cast<int64_t>(values.size())) + " modes, but should have " +
           text(static_cast<int64_t>(count)) + " for this shape");
  }
  for (size_t i = 0; i < count; ++i) {
    if (values[i] >= least && values[i] <= most) continue;
    refuse(std::string(what) + "[" + std::to_string(i) + "] is " + text(values[i]) + "; it must be from " +
           text(least) + " to " + text(most));
  }
  return {values.begin(), values.end()};
}

// A map belongs to no device, but the driver makes one only in a context: any, where the thread has none yet.
template <class Call>
void in_a_context(const char* function, const Call& call) {
  DriverResult result = call();
  if (result == kInvalidContext) {
    const CurrentContext current(driver(), primary_context(0));
    result = call();
  }
  check(result, function);
}

}  // namespace

void replace_address(TensorMap& map, uint64_t address) {
  in_a_context("cuTensorMapReplaceAddress",
               [&] { return driver().cuTensorMapReplaceAddress(&map, reinterpret_cast<void*>(address)); });
}

void check_tensor_maps() {
  const DriverApi& api = driver();
  if (api.cuTensorMapEncodeTiled == nullptr) fail_missing("cuTensorMapEncodeTiled", 12000);
  if (api.cuTensorMapReplaceAddress == nullptr) fail_missing("cuTensorMapReplaceAddress", 12000);
}

TensorMap encode_tiled(const TiledTensor& tensor) {
  const size_t rank = tensor.shape.size();
  if (rank < 1 || rank > kMaxRank) refuse("the shape has " + std::to_string(rank) + " modes; it must have 1 to 5");
  const ElementType& type = type_of(tensor.element);
  if (tensor.address % kTensorMapAlignment != 0) {
    refuse("the address " + std::to_string(tensor.address) + " must be a multiple of 16 bytes");
  }
  const auto shape = checked<uint64_t>(tensor.shape, rank, "shape", 1, kMaxExtent);
  auto strides = checked<uint64_t>(tensor.strides, rank - 1, "strides", 0, kStrideLimit - 1);
  const auto box = checked<uint32_t>(tensor.box, rank, "box", 1, kMaxBox);
  const auto steps = checked<uint32_t>(tensor.element_strides.value_or(std::vector<int64_t>(rank, 1)), rank,
                                       "element_strides", 1, kMaxElementStride);
  for (size_t i = 0; i + 1 < rank; ++i) {
    if (strides[i] % kTensorMapAlignment == 0) continue;
    refuse("strides[" + std::to_string(i) + "] is " + std::to_string(strides[i]) +
           " bytes; it must be a multiple of 16");
  }
  const int swizzle =
      number_of(kSwizzles, tensor.swizzle, "swizzle is " + text(tensor.swizzle), "0, 32, 64 or 128 bytes");
  const int promotion = number_of(kPromotions, tensor.l2_promotion, "l2_promotion is " + text(tensor.l2_promotion),
                                  "0, 64, 128 or 256 bytes");
  const int fill = number_of(kFills, tensor.fill, "fill is '" + tensor.fill + "'", "'zeros' or 'nans'");
  if (fill != 0 && !type.is_float) refuse(std::string("fill 'nans' needs a floating-point type, not ") + type.name);
  const int64_t inner = tensor.box[0] * type.bits / 8;
  if (inner % static_cast<int64_t>(kTensorMapAlignment) != 0) {
    refuse("box[0] of " + text(tensor.box[0]) + " elements has " + text(inner) +
           " bytes, which must be a multiple of 16");
  }
  if (swizzle != 0 && inner > tensor.swizzle) {
    refuse("box[0] of " + text(tensor.box[0]) + " elements has " + text(inner) + " bytes, more than the " +
           text(tensor.swizzle) + " that the swizzle spans");
  }
  check_tensor_maps();
  strides.resize(rank);  // so that there is something to point at where the rank is 1
  TensorMap map;
  in_a_context("cuTensorMapEncodeTiled", [&] {
    return driver().cuTensorMapEncodeTiled(&map, static_cast<int>(&type - kTypes), static_cast<uint32_t>(rank),
                                           reinterpret_cast<void*>(tensor.address), shape.data(), strides.data(),
                                           box.data(), steps.data(), kNotInterleaved, swizzle, promotion, fill);
  });
  return map;
}

}  // namespace tilewright::runtime

// encode_tensor_map: the bytes of a tensor map, to be put into a kernel's parameter.
#include "runtime/tensor_map.hpp"

#include <pybind11/stl.h>

#include "cuda.hpp"

namespace py = pybind11;

namespace tilewright::bind {

namespace {

using namespace tilewright::runtime;

py::bytes encode(uint64_t address, std::variant<int64_t, std::string> element, std::vector<int64_t> shape,
                 std::vector<int64_t> strides, std::vector<int64_t> box,
                 std::optional<std::vector<int64_t>> element_strides, int64_t swizzle, int64_t l2_promotion,
                 std::string fill) {
  const TensorMap map = encode_tiled({address, std::move(element), std::move(shape), std::move(strides), std::move(box),
                                      std::move(element_strides), swizzle, l2_promotion, std::move(fill)});
  return {reinterpret_cast<const char*>(map.bytes), sizeof map.bytes};
}

}  // namespace

void bind_tensor_map(py::module_& m) {
  m.def("encode_tensor_map", &encode, py::arg("address"), py::arg("element"), py::arg("shape"), py::arg("strides"),
        py::arg("box"), py::arg("element_strides") = py::none(), py::arg("swizzle") = 0, py::arg("l2_promotion") = 128,
        py::arg("fill") = "zeros",
        "The 128 bytes of the tensor map of a tensor and its boxes. element: bits, or a type's name; modes with the "
        "contiguous one first; strides in bytes, without that mode's; swizzle 0, 32, 64 or 128 bytes; l2_promotion 0, "
        "64, 128 or 256 bytes; fill 'zeros' or 'nans', for what lies outside the tensor.");
}

}  // namespace tilewright::bind

// What is drawn of operations of the algebra.
#include "picture/composition.hpp"

#include "picture.hpp"
#include "picture_options.hpp"

namespace tilewright::bind {

namespace {

using namespace picture;

constexpr const char* kComposition =
    R"doc(The picture of a composition: B, A and A o B, one coordinate followed through all three.

Args: result: A o B; at: a coordinate of B, or None for one in the middle.
Raises: ValueError for an `at` outside of B.

Examples:
    >>> from tilewright._core import picture
    >>> a, b = cute.parse("6:2"), cute.parse("(3,2):(1,3)")
    >>> picture.composition(a, b, cute.composition(a, b), (1, 1)).notes
    ('at (1,1): B gives 4, A(4) = 8, and A o B at (1,1) = 8',))doc";

Left to_left(py::handle a) {
  if (is_swizzle(a)) return as_swizzle(a);
  return std::visit([](auto&& layout) { return Left(std::move(layout)); }, as_any_layout(a));
}

py::object composition_drawn(const Arg& a, const LayoutArg& b, const LayoutArg& result, const Arg& at) {
  std::optional<IntTuple> followed;
  if (!at.handle.is_none()) followed = to_integers(at.handle);
  return show([&] {
    return from_picture(
        composition_picture(to_left(a.handle), as_any_layout(b.handle), as_any_layout(result.handle), followed));
  });
}

}  // namespace

void bind_picture_operations(py::module_& m) {
  m.def("composition", composition_drawn, py::arg("a"), py::arg("b"), py::arg("result"), py::arg("at"), kComposition);
}

}  // namespace tilewright::bind

// Layouts as functions.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "core/function.hpp"
#include "core/trace.hpp"
#include "define.hpp"
#include "docs.hpp"
#include "module.hpp"

namespace tilewright::bind {

namespace {

// A verdict with its reason: true or false in a condition.
struct Verdict {
  bool holds;
  std::string reason;
  py::object witness;
};

py::object at(const AnyLayout& layout, int64_t coordinate) {
  const Trace::Silence silence;
  const IntTuple coord(static_int(coordinate));
  if (const auto* plain = std::get_if<Layout>(&layout)) return from_int_tuple(crd2idx(coord, LayoutView(*plain)));
  return from_int_tuple(std::get<ComposedLayout>(layout)(coord));
}

}  // namespace

void bind_function(py::module_& m) {
  py::class_<Verdict> verdict(
      m, "Verdict", py::custom_type_setup(only_returned), py::is_final(),
      "The answer to a question about layouts: true or false in a condition, with the reason of a no.");
  verdict.def_readonly("holds", &Verdict::holds)
      .def_readonly("reason", &Verdict::reason, "Why not; empty where it holds.")
      .def_property_readonly(
          "witness", [](const Verdict& v) { return Result(v.witness); },
          "What shows a no: coordinates and values; each function says which. None where there are none.")
      .def("__bool__", [](const Verdict& v) { return v.holds; })
      .def("__repr__",
           [](const Verdict& v) { return v.holds ? std::string("True") : concat("False (", v.reason, ")"); });
  method(verdict, "__reduce__",
         [](const Verdict& v) { return made_by("_verdict", py::make_tuple(v.holds, v.reason, v.witness)); });
  define(
      m, "_verdict",
      [](bool holds, const std::string& reason, Arg witness) {
        return Verdict{holds, reason, py::reinterpret_borrow<py::object>(witness.handle)};
      },
      py::arg("holds"), py::arg("reason"), py::arg("witness"), "The verdict of these parts, for pickle.");

  define(
      m, "is_injective",
      [](LayoutArg layout) {
        return guarded("is_injective", {layout.handle}, [&] { return is_injective(as_any_layout(layout.handle)); });
      },
      py::arg("layout"), doc::is_injective);
  define(
      m, "is_bijective",
      [](LayoutArg layout) {
        return guarded("is_bijective", {layout.handle}, [&] { return is_bijective(as_any_layout(layout.handle)); });
      },
      py::arg("layout"), doc::is_bijective);
  define(
      m, "is_admissible",
      [](LayoutArg layout, IntArg cotarget) {
        return guarded("is_admissible", {layout.handle, cotarget.handle}, [&] {
          const Layout modes = to_layout(layout.handle);
          const int64_t end = to_int64(cotarget.handle);
          if (end <= 0) return Verdict{false, concat("the cotarget ", end, " is not positive"), py::none()};
          const Admissibility answer = is_admissible(modes, end);
          return Verdict{answer.holds, answer.reason, py::none()};
        });
      },
      py::arg("layout"), py::arg("cotarget"), doc::is_admissible);
  define(
      m, "is_tractable",
      [](LayoutArg layout) {
        return guarded("is_tractable", {layout.handle}, [&] {
          const Admissibility answer = is_tractable(to_layout(layout.handle));
          return Verdict{answer.holds, answer.reason, py::none()};
        });
      },
      py::arg("layout"), doc::is_tractable);
  define(
      m, "equivalent",
      [](LayoutArg a, LayoutArg b) {
        return guarded("equivalent", {a.handle, b.handle}, [&] {
          const AnyLayout x = as_any_layout(a.handle), y = as_any_layout(b.handle);
          const Equivalence answer = equivalent(x, y);
          if (!answer.coordinate) return Verdict{answer.holds, answer.reason, py::none()};
          const int64_t i = *answer.coordinate;
          const py::tuple witness = py::make_tuple(i, at(x, i), at(y, i));
          return Verdict{
              false,
              concat("at coordinate ", i, " the values are ", notation(witness[1]), " and ", notation(witness[2])),
              witness};
        });
      },
      py::arg("a"), py::arg("b"), doc::equivalent);
  define(
      m, "is_disjoint",
      [](LayoutArg a, LayoutArg b, IntArg offset) {
        return guarded("is_disjoint", {a.handle, b.handle, offset.handle}, [&] {
          const AnyLayout x = as_any_layout(a.handle);
          const auto found = meeting(x, as_any_layout(b.handle), to_int64(offset.handle));
          if (!found) return Verdict{true, "", py::none()};
          const py::object value = at(x, found->first);
          return Verdict{
              false,
              concat("coordinates ", found->first, " and ", found->second, " share the offset ", notation(value)),
              py::make_tuple(found->first, found->second, value)};
        });
      },
      py::arg("a"), py::arg("b"), py::arg("offset") = 0, doc::is_disjoint);
  define(
      m, "image_within",
      [](LayoutArg layout, IntArg begin, IntArg end) {
        return guarded("image_within", {layout.handle, begin.handle, end.handle}, [&] {
          const AnyLayout x = as_any_layout(layout.handle);
          const int64_t low = to_int64(begin.handle), high = to_int64(end.handle);
          const auto found = outside(x, low, high);
          if (!found) return Verdict{true, "", py::none()};
          const py::object value = at(x, *found);
          return Verdict{
              false,
              concat("coordinate ", *found, " has the offset ", notation(value), ", outside [", low, ", ", high, ")"),
              py::make_tuple(*found, value)};
        });
      },
      py::arg("layout"), py::arg("begin"), py::arg("end"), doc::image_within);
  define(
      m, "_collision",
      [](LayoutArg layout) -> std::optional<std::pair<int64_t, int64_t>> {
        const auto found =
            guarded("is_injective", {layout.handle}, [&] { return collision(as_any_layout(layout.handle)); });
        if (!found) return std::nullopt;
        return std::pair{found->first, found->second};
      },
      py::arg("layout"), "Two 1-D coordinates that share an offset, or None.");
  define(
      m, "image",
      [](LayoutArg layout) {
        return guarded("image", {layout.handle}, [&] {
          const std::vector<int64_t> offsets = image(as_any_layout(layout.handle));
          return py::array_t<int64_t>(static_cast<py::ssize_t>(offsets.size()), offsets.data());
        });
      },
      py::arg("layout"), doc::image);
  define(
      m, "offset_range",
      [](LayoutArg layout) {
        return guarded("offset_range", {layout.handle}, [&] {
          const Range range = offset_range(to_layout(layout.handle));
          return py::make_tuple(range.min, range.max);
        });
      },
      py::arg("layout"), doc::offset_range);
  define(
      m, "coshape",
      [](LayoutArg layout) {
        return guarded("coshape", {layout.handle},
                       [&] { return Result(from_int_tuple(coshape(to_layout(layout.handle)))); });
      },
      py::arg("layout"), doc::coshape);
  define(
      m, "sorted_layout",
      [](LayoutArg layout) {
        return guarded("sorted_layout", {layout.handle}, [&] { return sorted_layout(to_layout(layout.handle)); });
      },
      py::arg("layout"), doc::sorted_layout);
}

}  // namespace tilewright::bind

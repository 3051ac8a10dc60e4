// Layouts as functions.
#include <pybind11/numpy.h>

#include "core/function.hpp"
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
          "What shows a no: of equivalent the smallest (coordinate, a(i), b(i)) that differ, of is_disjoint (i, j); "
          "else None.")
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
      m, "_collision",
      [](LayoutArg layout) {
        return guarded("is_injective", {layout.handle}, [&]() -> py::object {
          const auto found = collision(to_layout(layout.handle));
          return found ? py::object(py::make_tuple(found->first, found->second)) : py::none();
        });
      },
      py::arg("layout"), "Two 1-D coordinates of one offset, or None.");
  define(
      m, "is_disjoint",
      [](LayoutArg a, LayoutArg b, IntArg offset) {
        return guarded("is_disjoint", {a.handle, b.handle}, [&] {
          const Layout x = to_layout(a.handle), y = to_layout(b.handle);
          const auto found = meeting(x, y, to_int64(offset.handle));
          if (!found) return Verdict{true, "", py::none()};
          const py::tuple witness = py::make_tuple(found->first, found->second);
          return Verdict{
              false,
              concat("a(", found->first, ") = ", notation(at(x, found->first)), " = offset + b(", found->second, ")"),
              witness};
        });
      },
      py::arg("a"), py::arg("b"), py::arg("offset") = 0, doc::is_disjoint);
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
          const Admissibility answer = is_admissible(to_layout(layout.handle), to_int64(cotarget.handle));
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

#include "layout_types.hpp"

#include <pybind11/numpy.h>
#include <pybind11/operators.h>

#include "core/function.hpp"
#include "define.hpp"
#include "docs.hpp"
#include "layout_call.hpp"

namespace tilewright::bind {

namespace {

// A Python callable as inner function.
class PythonFunction final : public Function {
 public:
  explicit PythonFunction(py::object function) : function_(std::move(function)) {}
  ~PythonFunction() override {
    const py::gil_scoped_acquire gil;
    function_ = py::object();
  }
  IntTuple call(const IntTuple& argument) const override {
    const py::gil_scoped_acquire gil;
    return to_int_tuple(function_(from_int_tuple(argument)));
  }
  std::string text() const override { return "<inner>"; }
  bool equals(const Function& other) const override {
    const py::gil_scoped_acquire gil;
    return function_.equal(static_cast<const PythonFunction&>(other).function_);
  }
  std::size_t hash() const override {
    const py::gil_scoped_acquire gil;
    return static_cast<std::size_t>(py::hash(function_));
  }
  const py::object& function() const { return function_; }

 private:
  py::object function_;
};

py::object from_inner(const Inner& inner) {
  if (const auto* swizzle = std::get_if<Swizzle>(&inner)) return py::cast(LayoutSwizzle(*swizzle));
  if (const auto* layout = std::get_if<Layout>(&inner)) return py::cast(*layout);
  return static_cast<const PythonFunction&>(*std::get<std::shared_ptr<const Function>>(inner)).function();
}

constexpr int64_t kMostOffsets = int64_t{1} << 28;  // 2 GiB

py::array_t<int64_t> offsets(const AnyLayout& layout, py::handle out) {
  const auto* composed = std::get_if<ComposedLayout>(&layout);
  const int64_t count = known(size(composed ? composed->outer() : std::get<Layout>(layout)));
  py::array_t<int64_t> result;
  if (out.is_none()) {
    if (count > kMostOffsets)
      fail(concat("an array holds at most ", kMostOffsets, " offsets, but the size is ", count));
    result = py::array_t<int64_t>(static_cast<py::ssize_t>(count));
  } else {
    if (!py::array_t<int64_t>::check_(out)) wrong_kind(out, "an int64 array");
    result = py::reinterpret_borrow<py::array_t<int64_t>>(out);
    const bool contiguous = (result.flags() & py::array::c_style) != 0;
    if (result.size() != count || !contiguous || !result.writeable()) {
      throw ValueError(concat("out must be writable, contiguous and hold ", counted(count, "element"), ", but it is ",
                              result.writeable() ? "" : "not writable, ", contiguous ? "" : "not contiguous, ",
                              "of size ", static_cast<int64_t>(result.size())));
    }
  }
  int64_t* const data = result.mutable_data();
  const bool calls_python = composed && std::holds_alternative<std::shared_ptr<const Function>>(composed->inner());
  if (calls_python) {
    write_offsets(layout, data);
  } else {
    const py::gil_scoped_release nogil;
    write_offsets(layout, data);
  }
  return result;
}

py::tuple basis_modes(const BasisElement& element) {
  const BasisPath path = basis_path(element.node.basis());
  py::tuple modes(path.size());
  for (std::size_t i = 0; i < path.size(); ++i) modes[i] = path[i];
  return modes;
}

void callable(PyHeapTypeObject* type) {
  make_callable(type);
  only_returned(type);
}

[[noreturn]] void no_such_mode(int64_t i, const std::string& layout, int64_t rank) {
  throw py::index_error(concat("mode ", i, " does not exist: ", layout, " has ", counted(rank, "mode")));
}

}  // namespace

Inner to_inner(py::handle object) {
  if (is_swizzle(object)) return as_swizzle(object);
  if (is_layout(object)) return as_layout(object);
  if (PyCallable_Check(object.ptr()))
    return std::make_shared<const PythonFunction>(py::reinterpret_borrow<py::object>(object));
  wrong_kind(object, "a Swizzle, a Layout or a callable");
}

BasisElement make_basis(const Node& value, const std::vector<int64_t>& modes) {
  BasisPath path;
  for (const int64_t mode : modes) {
    if (mode < 0 || mode > 4096) fail(concat("a mode of a basis element must lie between 0 and 4096, but got ", mode));
    path.push_back(static_cast<uint32_t>(mode));
  }
  check_depth(static_cast<int64_t>(path.size()));
  return {with_basis(value, basis_id(path))};
}

void bind_layout_types(py::module_& m) {
  py::class_<Layout> layout(m, "Layout", py::custom_type_setup(callable), py::is_final(), doc::Layout);
  layout
      .def_property_readonly(
          "shape", [](const Layout& l) { return Result(from_int_tuple(l.shape())); },
          "Extents: an int or nested tuple.")
      .def_property_readonly(
          "stride", [](const Layout& l) { return Result(from_int_tuple(l.stride())); },
          "Strides, congruent with the shape.")
      .def_property_readonly(
          "max_alignment",
          [](const Layout& l) {
            return guarded("max_alignment", {py::cast(l)}, [&] { return max_alignment(l).value; });
          },
          "The alignment, in elements, that every repetition of the contiguous part keeps.")
      .def("__len__", [](const Layout& l) { return l.rank(); })
      .def("__str__", [](const Layout& l) { return to_string(l); })
      .def("__repr__", [](const Layout& l) { return to_string(l); })
      .def("__hash__", [](const Layout& l) { return hash_value(l.shape()) * 1000003u ^ hash_value(l.stride()); })
      .def(py::self == py::self);
  method(
      layout, "__getitem__",
      [](const Layout& l, IntArg mode) {
        const int64_t i = to_int64(mode.handle), rank = l.rank();
        if (i < -rank || i >= rank) no_such_mode(i, to_string(l), rank);
        return Layout(l.view().mode(i < 0 ? i + rank : i));
      },
      py::arg("mode"), "Mode i, a Layout; from the end where i is negative.");
  method(
      layout, "get_hier_coord",
      [](const Layout& l, Arg offset) {
        return guarded("get_hier_coord", {py::cast(l), offset.handle},
                       [&] { return Result(from_int_tuple(offset_to_coord(to_number(offset.handle), l))); });
      },
      py::arg("offset"), doc::get_hier_coord);
  method(
      layout, "get_flat_coord",
      [](const Layout& l, Arg offset) {
        return guarded("get_flat_coord", {py::cast(l), offset.handle}, [&] {
          const IntTuple coord = offset_to_coord(to_number(offset.handle), l);
          const IntTuple index(crd2idx(coord, l.shape()));
          return Result(from_int_tuple(idx2crd(index, l.rank() == 1 ? IntTuple(size(l)) : product_each(l.shape()))));
        });
      },
      py::arg("offset"), doc::get_flat_coord);
  method(
      layout, "get_1d_coord",
      [](const Layout& l, Arg offset) {
        return guarded("get_1d_coord", {py::cast(l), offset.handle}, [&] {
          return Result(from_leaf(crd2idx(offset_to_coord(to_number(offset.handle), l), l.shape())));
        });
      },
      py::arg("offset"), doc::get_1d_coord);
  method(
      layout, "offsets",
      [](const Layout& l, ArrayArg out) {
        return guarded("offsets", {py::cast(l)}, [&] { return offsets(l, out.handle); });
      },
      py::arg("out") = py::none(), doc::offsets);
  // Whole again by the functions that make it: there is no moment without a value.
  method(layout, "__reduce__", [](const Layout& l) {
    return made_by("_layout", py::make_tuple(from_int_tuple(l.shape()), from_int_tuple(l.stride())));
  });
  define(
      m, "_layout",
      [](Arg shape, Arg stride) {
        return guarded("Layout", {shape.handle, stride.handle},
                       [&] { return Layout(to_int_tuple(shape.handle), to_int_tuple(stride.handle)); });
      },
      py::arg("shape"), py::arg("stride"), "The layout with this shape and stride, for pickle.");

  py::class_<Swizzle> swizzle(m, "Swizzle", py::custom_type_setup(constructed<Swizzle>), doc::Swizzle);
  constructor(
      swizzle,
      [](IntArg b, IntArg base, IntArg s) {
        return guarded("Swizzle", {b.handle, base.handle, s.handle},
                       [&] { return Swizzle(to_int64(b.handle), to_int64(base.handle), to_int64(s.handle)); });
      },
      py::arg("b"), py::arg("m"), py::arg("s"));
  swizzle.def_property_readonly("num_bits", &Swizzle::bits)
      .def_property_readonly("num_base", &Swizzle::base)
      .def_property_readonly("num_shift", &Swizzle::shift)
      .def_property_readonly("y_mask", &Swizzle::y_mask, "The bits that are read.")
      .def_property_readonly("z_mask", &Swizzle::z_mask, "The bits that are changed.")
      .def("__str__", [](const Swizzle& s) { return to_string(s); })
      .def("__repr__", [](const Swizzle& s) { return to_string(s); })
      .def("__hash__", [](const Swizzle& s) { return std::hash<std::string>{}(to_string(s)); })
      .def(py::self == py::self);
  method(
      swizzle, "__call__",
      [](const Swizzle& s, IntArg offset) {
        return guarded("swizzle call", {py::cast(s), offset.handle},
                       [&] { return Result(from_leaf(apply(s, to_number(offset.handle)))); });
      },
      py::arg("offset"), "The offset with its bits changed.");
  method(swizzle, "__reduce__",
         [](const Swizzle& s) { return made_by("Swizzle", py::make_tuple(s.bits(), s.base(), s.shift())); });

  py::class_<LayoutSwizzle, Swizzle>(m, "LayoutSwizzle", py::is_final(), doc::LayoutSwizzle);

  py::class_<ComposedLayout> composed(m, "ComposedLayout", py::custom_type_setup(callable), py::is_final(),
                                      doc::ComposedLayout);
  composed.def_property_readonly("inner", [](const ComposedLayout& l) { return Result(from_inner(l.inner())); })
      .def_property_readonly("offset", [](const ComposedLayout& l) { return Result(from_int_tuple(l.offset())); })
      .def_property_readonly("outer", [](const ComposedLayout& l) { return l.outer(); })
      .def_property_readonly("shape", [](const ComposedLayout& l) { return Result(from_int_tuple(l.outer().shape())); })
      .def_property_readonly(
          "is_normal", [](const ComposedLayout& l) { return l.swizzle() != nullptr; },
          "Whether the inner function is a swizzle, so that the outer layout's domain is indexed by integers.")
      .def("__len__", [](const ComposedLayout& l) { return l.outer().rank(); })
      .def("__str__", [](const ComposedLayout& l) { return to_string(l); })
      .def("__repr__", [](const ComposedLayout& l) { return to_string(l); })
      .def("__hash__", [](const ComposedLayout& l) { return hash_value(l); })
      .def(py::self == py::self);
  method(
      composed, "__getitem__",
      [](const ComposedLayout& l, IntArg mode) {
        const int64_t i = to_int64(mode.handle), rank = l.outer().rank();
        if (i < -rank || i >= rank) no_such_mode(i, to_string(l), rank);
        return l.with_outer(Layout(l.outer().view().mode(i < 0 ? i + rank : i)));
      },
      py::arg("mode"), "Mode i, with the same inner function; from the end where i is negative.");
  method(
      composed, "offsets",
      [](const ComposedLayout& l, ArrayArg out) {
        return guarded("offsets", {py::cast(l)}, [&] { return offsets(l, out.handle); });
      },
      py::arg("out") = py::none(), doc::offsets);
  method(composed, "__reduce__", [](const ComposedLayout& l) {
    return made_by("make_composed_layout",
                   py::make_tuple(from_inner(l.inner()), from_int_tuple(l.offset()), py::cast(l.outer())));
  });

  py::class_<BasisElement> basis(m, "ScaledBasis", py::custom_type_setup(constructed<BasisElement>), py::is_final(),
                                 doc::ScaledBasis);
  constructor(
      basis,
      [](IntArg value, ModesArg mode) {
        return guarded("ScaledBasis", {value.handle, mode.handle},
                       [&] { return make_basis(to_number(value.handle), to_modes(mode.handle)); });
      },
      py::arg("value"), py::arg("mode"));
  basis.def_property_readonly("value", [](const BasisElement& e) { return Result(from_leaf(without_basis(e.node))); })
      .def_property_readonly("mode", &basis_modes, "Modes from the innermost to the outermost.")
      .def("__str__", [](const BasisElement& e) { return to_string(TupleView(&e.node)); })
      .def("__repr__", [](const BasisElement& e) { return to_string(TupleView(&e.node)); })
      .def("__hash__", [](const BasisElement& e) { return hash_value(TupleView(&e.node)); })
      .def("__eq__", [](const BasisElement& e, Arg other) {
        return py::isinstance<BasisElement>(other.handle) && e.node == other.handle.cast<BasisElement>().node;
      });
  method(
      basis, "is_static", [](const BasisElement& e) { return e.node.is_static(); },
      "Whether the value is known ahead.");
  for (const char* const name : {"__mul__", "__rmul__"}) {
    method(
        basis, name,
        [](const BasisElement& e, IntArg factor) {
          return guarded("ScaledBasis *", {py::cast(e), factor.handle},
                         [&] { return BasisElement{mul(e.node, to_leaf(factor.handle))}; });
        },
        py::arg("factor"));
  }
  method(basis, "__reduce__", [](const BasisElement& e) {
    return made_by("ScaledBasis", py::make_tuple(from_leaf(without_basis(e.node)), basis_modes(e)));
  });
}

}  // namespace tilewright::bind

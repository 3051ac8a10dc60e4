#include "convert.hpp"

#include <pybind11/stl.h>

#include "core/parse.hpp"

namespace tilewright::bind {

Registry& registry() {
  // Leaked on purpose: the interpreter may be gone when static objects die.
  static Registry* const instance = new Registry;
  return *instance;
}

void wrong_kind(py::handle object, const char* expected) {
  throw KindError(
      concat("expected ", expected, ", got ", std::string(Py_TYPE(object.ptr())->tp_name), " ", notation(object)));
}

// ---- kinds
// ------------------------------------------------------------------------------------------------------------------

namespace {

template <class T>
PyTypeObject* type_of() {
  static PyTypeObject* const type = reinterpret_cast<PyTypeObject*>(py::type::of<T>().release().ptr());
  return type;
}

template <class T>
bool is_exactly(py::handle object) {
  return Py_TYPE(object.ptr()) == type_of<T>();
}

// The C++ value inside an instance of a bound class without subclasses and with the default holder.
template <class T>
const T& value_of(py::handle object) {
  return *static_cast<const T*>(reinterpret_cast<const py::detail::instance*>(object.ptr())->simple_value_holder[0]);
}

}  // namespace

bool is_layout(py::handle object) { return is_exactly<Layout>(object); }
bool is_composed(py::handle object) { return is_exactly<ComposedLayout>(object); }
bool is_swizzle(py::handle object) { return is_exactly<Swizzle>(object); }
bool is_sequence(py::handle object) { return PyTuple_Check(object.ptr()) || PyList_Check(object.ptr()); }

bool is_tensor(py::handle object) {
  const py::object& type = registry().tensor;
  return type && PyType_IsSubtype(Py_TYPE(object.ptr()), reinterpret_cast<PyTypeObject*>(type.ptr()));
}

const Layout& as_layout(py::handle object) {
  if (is_tensor(object)) return as_layout(layout_of(object));
  if (!is_layout(object)) wrong_kind(object, "a Layout");
  return value_of<Layout>(object);
}

const ComposedLayout& as_composed(py::handle object) {
  if (!is_composed(object)) wrong_kind(object, "a ComposedLayout");
  return value_of<ComposedLayout>(object);
}

py::object layout_of(py::handle tensor) { return tensor.attr("layout"); }

AnyLayout as_any_layout(py::handle object) {
  if (is_layout(object)) return as_layout(object);
  if (is_composed(object)) return as_composed(object);
  if (is_tensor(object)) return as_any_layout(layout_of(object));
  wrong_kind(object, "a Layout or ComposedLayout");
}

// ---- to core
// ----------------------------------------------------------------------------------------------------------------

namespace {

bool is_subtype(PyTypeObject* type, const py::object& of) {
  return of && PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(of.ptr()));
}

int64_t long_value(PyObject* number) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
  if (overflow != 0)
    fail(concat("the integer ", py::str(py::handle(number)).cast<std::string>(), " does not fit into 64 bits"));
  if (value == -1 && PyErr_Occurred()) throw py::error_already_set();
  return value;
}

void append(PyObject* object, TupleBuilder& builder, int depth) {
  const bool is_tuple = PyTuple_Check(object);
  if (!is_tuple && !PyList_Check(object)) {
    builder.leaf(to_leaf(object));
    if (builder.size() > kMaxNodes) fail(concat("the tuple has more than ", kMaxNodes, " entries"));
    return;
  }
  if (depth >= kMaxDepth) fail(concat("the tuple is nested deeper than ", kMaxDepth));
  if (builder.size() > kMaxNodes) fail(concat("the tuple has more than ", kMaxNodes, " entries"));
  builder.open();
  const Py_ssize_t count = is_tuple ? PyTuple_GET_SIZE(object) : PyList_GET_SIZE(object);
  for (Py_ssize_t i = 0; i < count; ++i) {
    append(is_tuple ? PyTuple_GET_ITEM(object, i) : PyList_GET_ITEM(object, i), builder, depth + 1);
  }
  builder.close();
}

}  // namespace

Node to_leaf(py::handle object) {
  PyObject* const ptr = object.ptr();
  if (PyLong_CheckExact(ptr)) return static_int(long_value(ptr));
  if (object.is_none()) return none_node();
  PyTypeObject* const type = Py_TYPE(ptr);
  const Registry& known = registry();
  if (is_subtype(type, known.int32) || is_subtype(type, known.int64)) {
    const bool wide = is_subtype(type, known.int64);
    return dynamic_int(long_value(object.attr("_value").ptr()), long_value(object.attr("_div").ptr()), wide);
  }
  if (is_exactly<BasisElement>(object)) return value_of<BasisElement>(object).node;
  if (PyBool_Check(ptr) || !PyIndex_Check(ptr)) wrong_kind(object, "an integer, None or a nested tuple of them");
  const py::object number = py::reinterpret_steal<py::object>(PyNumber_Index(ptr));
  if (!number) throw py::error_already_set();
  return static_int(long_value(number.ptr()));
}

IntTuple to_int_tuple(py::handle object) {
  TupleBuilder builder;
  append(object.ptr(), builder, 0);
  return builder.take();
}

int64_t to_int64(py::handle object) {
  const Node leaf = to_leaf(object);
  if (!leaf.is_integer() || leaf.has_basis()) wrong_kind(object, "an integer");
  return leaf.value;
}

std::vector<int64_t> to_modes(py::handle object) {
  std::vector<int64_t> modes;
  if (!is_sequence(object)) {
    modes.push_back(to_int64(object));
    return modes;
  }
  for (const py::handle mode : object) modes.push_back(to_int64(mode));
  return modes;
}

namespace {

Tiler to_tiler_at(py::handle object, int depth) {
  if (depth >= kMaxDepth) fail(concat("the tiler is nested deeper than ", kMaxDepth));
  if (object.is_none()) return Tiler();
  if (is_layout(object)) return Tiler(as_layout(object));
  if (is_sequence(object)) {
    std::vector<Tiler> modes;
    modes.reserve(py::len(object));
    for (const py::handle mode : object) modes.push_back(to_tiler_at(mode, depth + 1));
    return Tiler(std::move(modes));
  }
  const Node extent = to_leaf(object);
  if (extent.has_basis()) wrong_kind(object, "a tiler: an integer, a Layout, None or a tuple of them");
  if (extent.value <= 0) fail(concat("the extent ", extent.value, " of a tiler must be positive"));
  return Tiler(extent);
}

}  // namespace

Tiler to_tiler(py::handle object) { return to_tiler_at(object, 0); }

// ---- from core
// --------------------------------------------------------------------------------------------------------------

py::object from_leaf(const Node& leaf) {
  if (leaf.has_basis()) return py::cast(BasisElement{leaf});
  if (leaf.is_none()) return py::none();
  if (leaf.is_static()) return py::int_(leaf.value);
  const py::object& type = leaf.is_wide() ? registry().int64 : registry().int32;
  if (!type)
    throw std::runtime_error("the dynamic integer classes are not registered: import tilewright, not tilewright._core");
  return type.attr("_make")(leaf.value, leaf.aux);
}

py::object from_int_tuple(TupleView view) {
  if (view.is_leaf()) return from_leaf(*view);
  PyTypeObject* const type = int_tuple_type();
  const py::object tuple =
      py::reinterpret_steal<py::object>(type->tp_alloc(type, static_cast<Py_ssize_t>(view.rank())));
  if (!tuple) throw py::error_already_set();
  Py_ssize_t i = 0;
  for_each_mode(view,
                [&](TupleView mode) { PyTuple_SET_ITEM(tuple.ptr(), i++, from_int_tuple(mode).release().ptr()); });
  return tuple;
}

py::object from_layout(Layout layout) {
  if (layout.shape().nodes().size() > kMaxDepth && depth(layout.shape()) > kMaxDepth) {
    fail(concat("the result is nested deeper than ", kMaxDepth));
  }
  return py::cast(std::move(layout));
}

py::object from_any_layout(AnyLayout layout) {
  if (auto* plain = std::get_if<Layout>(&layout)) return from_layout(std::move(*plain));
  return py::cast(std::move(std::get<ComposedLayout>(layout)));
}

py::object make_tensor(py::handle like, py::object iterator, py::object layout) {
  return py::type::handle_of(like)(std::move(iterator), std::move(layout));
}

// ---- errors
// -----------------------------------------------------------------------------------------------------------------

namespace {

constexpr std::size_t kMaxOperandText = 400;

void write_notation(py::handle object, std::string& out, int depth) {
  if (object.is_none()) {
    out += '_';
    return;
  }
  if (is_sequence(object) && depth < 8) {
    out += '(';
    bool first = true;
    for (const py::handle item : object) {
      if (!first) out += ',';
      first = false;
      if (out.size() > kMaxOperandText) {
        out += "...";
        break;
      }
      write_notation(item, out, depth + 1);
    }
    out += ')';
    return;
  }
  const bool speaks_cute = is_layout_like(object) || is_swizzle(object) || is_exactly<BasisElement>(object) ||
                           PyLong_Check(object.ptr()) || is_subtype(Py_TYPE(object.ptr()), registry().int32) ||
                           is_subtype(Py_TYPE(object.ptr()), registry().int64);
  out += speaks_cute ? py::str(object).cast<std::string>() : py::repr(object).cast<std::string>();
}

[[noreturn]] void raise(const char* operation, std::initializer_list<py::handle> operands, const LayoutError& error) {
  std::string text = concat(std::string(operation), "(");
  py::tuple parts(operands.size());
  std::size_t i = 0;
  for (const py::handle operand : operands) {
    const std::string part = notation(operand);
    text += (i == 0 ? "" : ", ") + part;
    parts[i++] = part;
  }
  text += concat("): ", std::string(error.what()));
  const py::object type = py::module_::import("tilewright._core").attr("LayoutError");
  const py::object exception = type(text);
  exception.attr("operation") = operation;
  exception.attr("operands") = parts;
  if (error.example()) {
    const auto& [coordinate, got, expected] = *error.example();
    const auto value = [](const std::string& text) { return from_int_tuple(std::get<IntTuple>(parse(text))); };
    exception.attr("counterexample") = py::make_tuple(coordinate, value(got), value(expected));
  }
  PyErr_SetObject(type.ptr(), exception.ptr());
  throw py::error_already_set();
}

}  // namespace

std::string notation(py::handle object) {
  std::string out;
  write_notation(object, out, 0);
  if (out.size() > kMaxOperandText) out = out.substr(0, kMaxOperandText) + "...";
  return out;
}

void rethrow(const char* operation, std::initializer_list<py::handle> operands) {
  try {
    throw;
  } catch (const LayoutError& error) {
    raise(operation, operands, error);
  } catch (const KindError& error) {
    throw py::type_error(concat(std::string(operation), ": ", std::string(error.what())));
  } catch (const ValueError& error) {
    throw py::value_error(concat(std::string(operation), ": ", std::string(error.what())));
  }
}

}  // namespace tilewright::bind

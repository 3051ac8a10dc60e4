#include "convert.hpp"

#include <pybind11/stl.h>

#include <algorithm>

#include "core/parse.hpp"
#include "program.hpp"

namespace tilewright::bind {

Registry& registry() {
  // Leaked on purpose: the interpreter may be gone when static objects die.
  static Registry* const instance = new Registry;
  return *instance;
}

namespace {

std::string kind_of(py::handle object) {
  const std::string name = Py_TYPE(object.ptr())->tp_name;
  return name.substr(name.rfind('.') + 1);  // npos + 1 is 0
}

std::string kind_and_text(py::handle object) {
  if (object.is_none()) return "None";
  std::string out = concat(kind_of(object), " ", notation(object));
  // The elements of an array of more than one dimension stand on lines of their own, and say nothing of its kind.
  if (out.find('\n') != std::string::npos && py::hasattr(object, "__dlpack__"))
    return concat(Py_TYPE(object.ptr())->tp_name, ", of which from_dlpack makes a Tensor");
  return out;
}

}  // namespace

KindError::KindError(py::handle object, std::string expected)
    : object_(object),
      expected_(std::move(expected)),
      found_(kind_and_text(object)),
      text_(concat("expected ", expected_, ", but got ", found_)) {}

void wrong_kind(py::handle object, const char* expected) { throw KindError(object, expected); }

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

// The C++ value inside an instance of a bound class with the default holder, and at most one bound base.
template <class T>
const T& value_of(py::handle object) {
  void* const value = reinterpret_cast<const py::detail::instance*>(object.ptr())->simple_value_holder[0];
  return *static_cast<const T*>(value);
}

}  // namespace

bool is_layout(py::handle object) { return is_exactly<Layout>(object); }
bool is_composed(py::handle object) { return is_exactly<ComposedLayout>(object); }
bool is_swizzle(py::handle object) { return is_exactly<Swizzle>(object) || is_exactly<LayoutSwizzle>(object); }
bool is_sequence(py::handle object) { return PyTuple_Check(object.ptr()) || PyList_Check(object.ptr()); }

bool is_tensor(py::handle object) {
  const py::object& type = registry().tensor;
  return type && PyType_IsSubtype(Py_TYPE(object.ptr()), reinterpret_cast<PyTypeObject*>(type.ptr()));
}

const Layout& as_layout(py::handle object) { return value_of<Layout>(object); }
const ComposedLayout& as_composed(py::handle object) { return value_of<ComposedLayout>(object); }
const Swizzle& as_swizzle(py::handle object) { return value_of<Swizzle>(object); }

Layout to_layout(py::handle object) {
  if (is_tensor(object)) return to_layout(layout_of(object));
  if (!is_layout(object)) wrong_kind(object, "a Layout");
  return as_layout(object);
}

py::object layout_of(py::handle tensor) {
  py::object layout = tensor.attr("layout");
  if (!is_layout(layout) && !is_composed(layout)) {
    wrong_kind(layout, "the layout of a tensor to be a Layout or ComposedLayout");
  }
  return layout;
}

AnyLayout as_any_layout(py::handle object) {
  if (is_layout(object)) return as_layout(object);
  if (is_composed(object)) return as_composed(object);
  if (is_tensor(object)) return as_any_layout(layout_of(object));
  wrong_kind(object, "a Layout or ComposedLayout");
}

py::tuple items_of(py::handle sequence) {
  if (PyTuple_Check(sequence.ptr())) return py::reinterpret_borrow<py::tuple>(sequence);
  auto items = py::reinterpret_steal<py::tuple>(PyList_AsTuple(sequence.ptr()));
  if (!items) throw py::error_already_set();
  return items;
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
  if (overflow != 0) fail(concat("the integer ", notation(number), " does not fit into 64 bits"));
  if (value == -1 && PyErr_Occurred()) throw py::error_already_set();
  return value;
}

void append(PyObject* object, TupleBuilder& builder, int depth) {
  if (PyList_Check(object)) {
    append(items_of(object).ptr(), builder, depth);
    return;
  }
  if (!PyTuple_Check(object)) {
    builder.leaf(to_leaf(object));
    return;
  }
  check_depth(depth + 1);
  builder.open();
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) append(PyTuple_GET_ITEM(object, i), builder, depth + 1);
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
    const py::object value = object.attr("_value");
    const int64_t divisor = long_value(object.attr("_div").ptr());
    if (is_symbol(value)) return symbolic_int(id_of_symbol(value), divisor, wide);
    return dynamic_int(long_value(value.ptr()), divisor, wide);
  }
  if (is_exactly<BasisElement>(object)) return value_of<BasisElement>(object).node;
  if (PyBool_Check(ptr) || !PyIndex_Check(ptr)) wrong_kind(object, "an integer, None or a nested tuple of them");
  const py::object number = py::reinterpret_steal<py::object>(PyNumber_Index(ptr));
  if (!number) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw py::error_already_set();
    PyErr_Clear();  // an array, for example, has the method and refuses
    // Another integer type whose value is known at run time only is a coordinate of 32 bits.
    const py::object value = py::getattr(object, "_value", py::none());
    if (is_symbol(value)) return to_leaf(object.attr("to")(registry().int32));
    wrong_kind(object, "an integer, None or a nested tuple of them");
  }
  return static_int(long_value(number.ptr()));
}

namespace {

bool holds_layouts_at(py::handle object, int depth) {
  if (PyLong_CheckExact(object.ptr())) return false;
  if (!is_sequence(object)) return is_layout_like(object);
  check_depth(depth);
  for (const py::handle item : items_of(object)) {
    if (holds_layouts_at(item, depth + 1)) return true;
  }
  return false;
}

}  // namespace

bool holds_layouts(py::handle object) { return is_sequence(object) && holds_layouts_at(object, 1); }

IntTuple to_int_tuple(py::handle object) {
  TupleBuilder builder;
  append(object.ptr(), builder, 0);
  return builder.take();
}

IntTuple to_integers(py::handle object) {
  IntTuple tuple = to_int_tuple(object);
  if (has_none(tuple)) wrong_kind(object, "an integer or a nested tuple of integers");
  return tuple;
}

Node to_number(py::handle object) {
  if (!PyIndex_Check(object.ptr()) || PyBool_Check(object.ptr())) wrong_kind(object, "an integer");
  return to_leaf(object);
}

int64_t to_int64(py::handle object) { return known(to_number(object)); }

std::vector<int64_t> to_modes(py::handle object) {
  std::vector<int64_t> modes;
  if (!is_sequence(object)) {
    modes.push_back(to_int64(object));
    return modes;
  }
  for (const py::handle mode : items_of(object)) modes.push_back(to_int64(mode));
  return modes;
}

namespace {

Tiler to_tiler_at(py::handle object, int depth, std::size_t& entries) {
  check_depth(depth);
  if (++entries > kMaxNodes) too_many_entries();
  if (object.is_none()) return Tiler();
  if (is_layout(object)) return Tiler(as_layout(object));
  if (PyUnicode_Check(object.ptr())) return to_tiler_at(parse_text(object), depth, entries);
  if (is_sequence(object)) {
    std::vector<Tiler> modes;
    for (const py::handle mode : items_of(object)) modes.push_back(to_tiler_at(mode, depth + 1, entries));
    return Tiler(std::move(modes));
  }
  if (!PyIndex_Check(object.ptr()) || PyBool_Check(object.ptr()))
    wrong_kind(object, "a tiler: an integer, a Layout, None or a tuple of them");
  const Node extent = to_leaf(object);
  if (!extent.is_symbolic() && extent.value <= 0)
    fail(concat("the extent ", extent.value, " of a tiler must be positive"));
  return Tiler(extent);
}

}  // namespace

Tiler to_tiler(py::handle object) {
  std::size_t entries = 0;
  return to_tiler_at(object, 0, entries);
}

py::object parse_text(py::handle text) {
  Py_ssize_t length = 0;
  const char* const characters = PyUnicode_AsUTF8AndSize(text.ptr(), &length);
  if (characters == nullptr) {
    PyErr_Clear();  // half a character
    throw ValueError(concat("expected CuTe notation, but got ", notation(text)));
  }
  const Parsed parsed = parse({characters, static_cast<std::size_t>(length)});
  if (const auto* tuple = std::get_if<IntTuple>(&parsed)) return from_int_tuple(*tuple);
  if (const auto* layout = std::get_if<Layout>(&parsed)) return from_layout(*layout);
  if (const auto* swizzle = std::get_if<Swizzle>(&parsed)) return py::cast(*swizzle);
  return py::cast(std::get<ComposedLayout>(parsed));
}

// ---- from core
// --------------------------------------------------------------------------------------------------------------

py::object from_leaf(const Node& leaf) {
  if (leaf.has_basis()) return py::cast(BasisElement{leaf});
  if (leaf.is_none()) return py::none();
  if (leaf.is_static()) return py::int_(leaf.value);
  const py::object value = leaf.is_symbolic() ? symbol_object(leaf.value) : py::int_(leaf.value);
  return (leaf.is_wide() ? registry().int64 : registry().int32).attr("_make")(value, leaf.aux);
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
  if (layout.shape().nodes().size() > kMaxDepth) check_depth(depth(layout.shape()));
  return py::cast(std::move(layout));
}

py::object from_composed(ComposedLayout layout) {
  if (layout.outer().shape().nodes().size() > kMaxDepth) check_depth(depth(layout.outer().shape()));
  return py::cast(std::move(layout));
}

py::object from_any_layout(AnyLayout layout) {
  if (auto* plain = std::get_if<Layout>(&layout)) return from_layout(std::move(*plain));
  return from_composed(std::move(std::get<ComposedLayout>(layout)));
}

py::object make_tensor(py::handle like, py::object iterator, py::object layout) {
  return py::type::handle_of(like)(std::move(iterator), std::move(layout));
}

// ---- errors
// -----------------------------------------------------------------------------------------------------------------

namespace {

constexpr std::size_t kMaxOperandText = 400;
constexpr int kMaxTextDepth = 2 * kMaxDepth;

// CuTe's text of what has one, else Python's; an object without either is shown by its type.
std::string text_of(py::handle object) {
  if (is_layout(object)) return to_string(as_layout(object));
  const bool speaks_cute = is_layout_like(object) || is_swizzle(object) || is_exactly<BasisElement>(object) ||
                           PyLong_Check(object.ptr()) || is_subtype(Py_TYPE(object.ptr()), registry().int32) ||
                           is_subtype(Py_TYPE(object.ptr()), registry().int64);
  try {
    return speaks_cute ? py::str(object).cast<std::string>() : py::repr(object).cast<std::string>();
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_Exception)) throw;
    return concat("<", Py_TYPE(object.ptr())->tp_name, ">");
  }
}

void write_notation(py::handle object, std::string& out, std::size_t limit, int depth) {
  if (object.is_none()) {
    out += '_';
  } else if (!is_sequence(object)) {
    out += text_of(object);
  } else if (depth == kMaxTextDepth) {
    out += "(...)";
  } else {
    out += '(';
    bool first = true;
    for (const py::handle item : items_of(object)) {
      if (!first) out += ',';
      first = false;
      if (out.size() > limit) {
        out += "...";
        break;
      }
      write_notation(item, out, limit, depth + 1);
    }
    out += ')';
  }
}

}  // namespace

void set_error(const char* operation, std::initializer_list<py::handle> operands, const LayoutError& error) {
  // An optional operand that was left out is not shown.
  std::size_t count = operands.size();
  while (count > 1 && operands.begin()[count - 1].is_none()) --count;
  std::string text = concat(operation, "(");
  py::tuple parts(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string part = notation(operands.begin()[i]);
    text += (i == 0 ? "" : ", ") + part;
    parts[i] = py::str(part);
  }
  text += concat("): ", error.what());
  const py::object& type = registry().error;
  const py::object exception = type(text);
  exception.attr("operation") = operation;
  exception.attr("operands") = parts;
  if (error.example()) {
    const auto& [coordinate, got, expected] = *error.example();
    const auto value = [](const std::string& text) { return from_int_tuple(std::get<IntTuple>(parse(text))); };
    exception.attr("counterexample") = py::make_tuple(coordinate, value(got), value(expected));
  }
  PyErr_SetObject(type.ptr(), exception.ptr());
}

void raise(const char* operation, std::initializer_list<py::handle> operands, const LayoutError& error) {
  set_error(operation, operands, error);
  throw py::error_already_set();
}

std::string notation(py::handle object) {
  std::string out = full_notation(object, kMaxOperandText);
  if (out.size() > kMaxOperandText) out = out.substr(0, kMaxOperandText) + "...";
  return out;
}

std::string full_notation(py::handle object, std::size_t limit) {
  std::string out;
  write_notation(object, out, limit, 0);
  return out;
}

namespace {

bool is_known(py::handle object) {
  if (!object || object.is_none() || PyLong_CheckExact(object.ptr()) || is_swizzle(object)) return true;
  if (PyUnicode_CheckExact(object.ptr())) return true;
  if (is_layout(object)) return !has_symbol(as_layout(object));
  if (is_composed(object)) {
    const ComposedLayout& composed = as_composed(object);
    return composed.swizzle() != nullptr && !composed.offset().leaf().is_symbolic() && !has_symbol(composed.outer());
  }
  if (!is_sequence(object)) return false;
  const py::tuple items = items_of(object);
  return std::all_of(items.begin(), items.end(), [](py::handle item) { return is_known(item); });
}

}  // namespace

bool all_known(std::initializer_list<py::handle> operands) {
  return std::all_of(operands.begin(), operands.end(), is_known);
}

void rethrow(const char* operation, std::initializer_list<py::handle> operands) {
  try {
    throw;
  } catch (const LayoutError& error) {
    raise(operation, operands, error);
  } catch (KindError& error) {
    error.in(operation);
    throw;
  } catch (const ValueError& error) {
    throw py::value_error(concat(operation, ": ", error.what()));
  }
}

}  // namespace tilewright::bind

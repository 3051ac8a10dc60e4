#include "define.hpp"

#include <structmember.h>

#include <cstddef>
#include <cstring>
#include <new>

#include "core/parse.hpp"

namespace tilewright::bind {

namespace {

constexpr std::size_t kMaxParameters = 24;

struct Function {
  PyObject_HEAD  //
      vectorcallfunc call;
  const Definition* definition;  // leaked: a function of the module stays
  PyObject* bound;               // what was given in brackets, a tuple; nullptr: nothing
  PyObject* weak;
};

PyTypeObject* function_type = nullptr;

Function* self_of(PyObject* object) { return reinterpret_cast<Function*>(object); }

std::string text_of_name(const py::object& name) { return name.cast<std::string>(); }

std::string signature_text(const Definition& definition) {
  std::string text = definition.name + "(";
  bool first = true, starred = false;
  for (const Parameter& parameter : definition.parameters) {
    if (!first) text += ", ";
    first = false;
    if (parameter.kind == Parameter::kKeyword && !starred) text += "*, ";
    starred = starred || parameter.kind == Parameter::kKeyword;
    if (parameter.kind == Parameter::kVariadic) text += "*";
    text += text_of_name(parameter.name);
    if (parameter.fallback) text += "=" + py::repr(parameter.fallback).cast<std::string>();
  }
  return text + ")";
}

// ---- arguments
// --------------------------------------------------------------------------------------------------------------

[[noreturn]] void refuse_call(const Definition& definition, const std::string& reason) {
  throw py::type_error(concat(definition.shown, ": ", reason, "; the signature is ", signature_text(definition)));
}

[[noreturn]] void too_many(const Definition& definition, PyObject* const* args, std::size_t count,
                           PyObject* const* values) {
  const std::string got = concat("expected ", counted(static_cast<int64_t>(definition.positional), "argument"),
                                 " by position, but got ", count);
  // What goes by keyword alone is most often what was meant.
  for (std::size_t i = definition.positional; i < definition.parameters.size(); ++i) {
    const std::string name = text_of_name(definition.parameters[i].name);
    if (values[i] != nullptr || name == "loc" || name == "ip") continue;
    throw py::type_error(
        concat(definition.shown, ": ", got, ": pass ", name, "=", notation(args[definition.positional])));
  }
  refuse_call(definition, got);
}

std::size_t find_parameter(const Definition& definition, PyObject* name) {
  const std::size_t count = definition.parameters.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (definition.parameters[i].name.ptr() == name) return i;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (PyUnicode_Compare(definition.parameters[i].name.ptr(), name) == 0) return i;
  }
  return count;
}

// One value for each parameter, nullptr where there is none.
void read_arguments(const Definition& definition, PyObject* const* args, std::size_t count, PyObject* keywords,
                    PyObject** values) {
  const std::vector<Parameter>& parameters = definition.parameters;
  const std::size_t given = std::min(count, definition.positional);
  for (std::size_t i = 0; i < given; ++i) values[i] = args[i];
  for (std::size_t i = given; i < parameters.size(); ++i) values[i] = nullptr;
  const Py_ssize_t named = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
  for (Py_ssize_t k = 0; k < named; ++k) {
    PyObject* const name = PyTuple_GET_ITEM(keywords, k);
    const std::size_t i = find_parameter(definition, name);
    if (i == parameters.size() || parameters[i].kind == Parameter::kVariadic)
      refuse_call(definition, concat("no argument is called ", py::repr(name).cast<std::string>()));
    if (values[i] != nullptr)
      refuse_call(definition, concat("got ", text_of_name(parameters[i].name), " by position and by keyword"));
    values[i] = args[count + static_cast<std::size_t>(k)];
  }
  if (count > definition.positional) too_many(definition, args, count, values);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (values[i] != nullptr) continue;
    if (!parameters[i].fallback) refuse_call(definition, concat("missing ", text_of_name(parameters[i].name)));
    values[i] = parameters[i].fallback.ptr();
  }
}

// What CuTe's notation in a text means: a layout, a swizzle, a tuple.
py::object read_text(const Definition& definition, const Parameter& parameter, PyObject* text) {
  try {
    return parse_text(text);
  } catch (const LayoutError& error) {
    const std::string name = text_of_name(parameter.name);
    raise(definition.shown.c_str(), {text}, LayoutError(concat("the text for ", name, ": ", error.what())));
  } catch (const ValueError& error) {
    throw py::value_error(concat(definition.shown, ": ", error.what()));
  }
}

bool contains(py::handle whole, py::handle part, int depth) {
  if (!is_sequence(whole) || depth > kMaxDepth) return false;
  for (const py::handle item : items_of(whole)) {
    if (item.is(part) || contains(item, part, depth + 1)) return true;
  }
  return false;
}

[[noreturn]] void raise_kind(const Definition& definition, PyObject* const* values, KindError& error) {
  for (const bool inside : {false, true}) {
    for (std::size_t i = 0; i < definition.parameters.size(); ++i) {
      const py::handle value = values[i];
      if (!(inside ? contains(value, error.object(), 0) : value.is(error.object()))) continue;
      const std::string where = inside ? concat(" in ", notation(value)) : "";
      throw py::type_error(concat(definition.shown, ": expected ", text_of_name(definition.parameters[i].name),
                                  " to be ", error.expected(), ", but got ", error.found(), where));
    }
  }
  error.in(definition.shown);
  throw py::type_error(error.what());
}

PyObject* run(const Definition& definition, PyObject** values) {
  std::vector<py::object> kept;  // what was made of texts
  for (std::size_t i = 0; i < definition.parameters.size(); ++i) {
    if (definition.parameters[i].takes_text && PyUnicode_Check(values[i])) {
      kept.push_back(read_text(definition, definition.parameters[i], values[i]));
      values[i] = kept.back().ptr();
    }
  }
  try {
    return definition.run(definition, values);
  } catch (KindError& error) {
    raise_kind(definition, values, error);
  } catch (const ValueError& error) {
    throw py::value_error(concat(definition.shown, ": ", error.what()));
  }
}

py::object joined(const py::object& bound, PyObject* more) {
  if (more == Py_None) return bound;
  py::list modes(bound);
  for (const int64_t mode : to_modes(more)) modes.append(mode);
  return py::tuple(modes);
}

PyObject* call(PyObject* object, PyObject* const* args, size_t flags, PyObject* keywords) {
  const Function* const self = self_of(object);
  const Definition& definition = *self->definition;
  const auto count = static_cast<std::size_t>(PyVectorcall_NARGS(flags));
  try {
    PyObject* values[kMaxParameters];
    if (definition.parameters.size() == 1 && definition.parameters[0].kind == Parameter::kVariadic) {
      if (keywords != nullptr) refuse_call(definition, "no argument goes by keyword");
      py::tuple items(count);
      for (std::size_t i = 0; i < count; ++i) {
        items[i] = PyUnicode_Check(args[i]) ? read_text(definition, definition.parameters[0], args[i])
                                            : py::reinterpret_borrow<py::object>(args[i]);
      }
      values[0] = items.ptr();
      return run(definition, values);
    }
    read_arguments(definition, args, count, keywords, values);
    if (self->bound == nullptr) return run(definition, values);
    PyObject*& bracketed = values[definition.bracketed];
    const py::object modes = joined(py::reinterpret_borrow<py::object>(self->bound), bracketed);
    bracketed = modes.ptr();
    return run(definition, values);
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (KindError& error) {
    error.in(definition.shown);
    PyErr_SetString(PyExc_TypeError, error.what());
  } catch (...) {
    py::detail::try_translate_exceptions();
  }
  return nullptr;
}

// ---- the type
// -----------------------------------------------------------------------------------------------------------------

PyObject* make(const Definition* definition, PyObject* bound) {
  PyObject* const object = function_type->tp_alloc(function_type, 0);
  if (object == nullptr) throw py::error_already_set();
  Function* const self = self_of(object);
  self->call = call;
  self->definition = definition;
  self->bound = bound;
  return object;
}

void dealloc(PyObject* object) {
  Function* const self = self_of(object);
  if (self->weak != nullptr) PyObject_ClearWeakRefs(object);
  Py_XDECREF(self->bound);
  PyTypeObject* const type = Py_TYPE(object);
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject* item(PyObject* object, PyObject* key) {
  const Function* const self = self_of(object);
  return python_call([&]() -> PyObject* {
    const Definition& definition = *self->definition;
    if (definition.bracketed < 0) throw py::type_error(concat(definition.shown, ": nothing is given in brackets"));
    const std::string name = text_of_name(definition.parameters[static_cast<std::size_t>(definition.bracketed)].name);
    try {
      const py::object none = py::tuple();
      const py::object bound = self->bound ? py::reinterpret_borrow<py::object>(self->bound) : none;
      return make(&definition, joined(bound, key).release().ptr());
    } catch (const KindError& error) {
      throw py::type_error(
          concat(definition.shown, ": expected ", name, " to be ", error.expected(), ", but got ", error.found()));
    }
  });
}

PyObject* get(PyObject* object, PyObject* instance, PyObject*) {
  if (instance == nullptr || instance == Py_None || !self_of(object)->definition->owner) {
    return py::handle(object).inc_ref().ptr();
  }
  return PyMethod_New(object, instance);
}

PyObject* repr(PyObject* object) {
  const Function* const self = self_of(object);
  return python_call([&] {
    const std::string bound =
        self->bound ? py::repr(py::list(py::reinterpret_borrow<py::tuple>(self->bound))).cast<std::string>() : "";
    return py::str(concat("<function ", self->definition->name, bound, ">")).release().ptr();
  });
}

py::object qualified(const Definition& definition) {
  if (!definition.owner) return py::str(definition.name);
  return py::str(concat(definition.owner.attr("__qualname__").cast<std::string>(), ".", definition.name));
}

PyObject* reduce(PyObject* object, PyObject*) {
  const Function* const self = self_of(object);
  return python_call([&]() -> PyObject* {
    if (!self->bound) return qualified(*self->definition).release().ptr();
    const py::object whole = py::module_::import("tilewright._core").attr(self->definition->name.c_str());
    return py::make_tuple(py::module_::import("operator").attr("getitem"),
                          py::make_tuple(whole, py::handle(self->bound)))
        .release()
        .ptr();
  });
}

PyObject* name_of(PyObject* object, void*) { return PyUnicode_FromString(self_of(object)->definition->name.c_str()); }
PyObject* doc_of(PyObject* object, void*) { return PyUnicode_FromString(self_of(object)->definition->doc.c_str()); }
PyObject* qualname_of(PyObject* object, void*) {
  return python_call([&] { return qualified(*self_of(object)->definition).release().ptr(); });
}

PyObject* signature_of(PyObject* object, void*) {
  return python_call([&]() -> PyObject* {
    const Definition& definition = *self_of(object)->definition;
    const py::module_ inspect = py::module_::import("inspect");
    py::list parameters;
    for (const Parameter& parameter : definition.parameters) {
      py::dict options;
      if (!(definition.owner && parameters.empty())) options["annotation"] = parameter.type;
      if (parameter.fallback) options["default"] = parameter.fallback;
      const py::object kind = inspect.attr("_ParameterKind")(static_cast<int>(parameter.kind));
      parameters.append(inspect.attr("Parameter")(parameter.name, kind, **options));
    }
    return inspect.attr("Signature")(parameters, py::arg("return_annotation") = definition.result).release().ptr();
  });
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Function, call), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Function, weak), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyGetSetDef properties[] = {
    {"__name__", name_of, nullptr, nullptr, nullptr}, {"__qualname__", qualname_of, nullptr, nullptr, nullptr},
    {"__doc__", doc_of, nullptr, nullptr, nullptr},   {"__signature__", signature_of, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMethodDef methods[] = {
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

void make_type() {
  static PyType_Slot slots[] = {
      {Py_tp_call, slot(PyVectorcall_Call)},
      {Py_tp_dealloc, slot(dealloc)},
      {Py_tp_descr_get, slot(get)},
      {Py_tp_repr, slot(repr)},
      {Py_mp_subscript, slot(item)},
      {Py_tp_members, members},
      {Py_tp_methods, methods},
      {Py_tp_getset, properties},
      {0, nullptr},
  };
  static PyType_Spec spec = {
      "tilewright._core.function", sizeof(Function), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
      slots};
  function_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (function_type == nullptr) throw py::error_already_set();
}

}  // namespace

namespace {

// The annotation that pybind11's description of a type stands for.
std::string annotation(const detail::TypeOf& type, bool of_result) {
  const char* text = type.text;
  const std::type_info* const* types = type.types;
  std::string out;
  bool here = true;  // of `@argument@result@` one half
  int half = 0;
  for (; *text != '\0'; ++text) {
    if (*text == '@') {
      half = (half + 1) % 3;
      here = half == 0 || (half == 2) == of_result;
    } else if (*text == '%') {
      const auto* const known = py::detail::get_type_info(**types++);
      const std::string name = known ? known->type->tp_name : "typing.Any";
      if (here) out += name.substr(known ? name.rfind('.') + 1 : 0);
    } else if (*text != '{' && *text != '}' && here) {
      out += *text;
    }
  }
  return out;
}

}  // namespace

void wrong_argument(const Definition& definition, std::size_t i, py::handle value) {
  throw KindError(value, concat("of type ", definition.parameters[i].type));
}

py::tuple made_by(const char* function, const py::tuple& arguments) {
  return py::make_tuple(py::module_::import("tilewright._core").attr(function), arguments);
}

py::object make_function(Definition definition) {
  if (function_type == nullptr) make_type();
  if (definition.parameters.size() > kMaxParameters) throw std::logic_error(definition.name + ": too many parameters");
  return py::reinterpret_steal<py::object>(make(new Definition(std::move(definition)), nullptr));
}

void only_returned(PyHeapTypeObject* type) {
  type->ht_type.tp_new = [](PyTypeObject* of, PyObject*, PyObject*) -> PyObject* {
    const std::string name = detail::short_name(reinterpret_cast<PyObject*>(of));
    return PyErr_Format(PyExc_TypeError, "%s: has no constructor: functions return it", name.c_str());
  };
}

namespace detail {

Parameters::Parameters(const char* name, TypeOf result, std::span<const TypeOf> types) : types_(types) {
  definition_.name = definition_.shown = name;
  definition_.result = annotation(result, true);
}

void Parameters::add(const char* name, py::object fallback) {
  const TypeOf& type = types_[definition_.parameters.size()];
  PyObject* const interned = PyUnicode_InternFromString(name);
  if (interned == nullptr) throw py::error_already_set();
  const auto kind = type.variadic ? Parameter::kVariadic : keyword_ ? Parameter::kKeyword : Parameter::kPositional;
  definition_.positional += kind == Parameter::kPositional;
  std::string text = annotation(type, false);
  if (fallback && fallback.is_none() && text != "object") text += " | None";
  definition_.parameters.push_back(
      {py::reinterpret_steal<py::object>(interned), std::move(fallback), std::move(text), kind, type.takes_text});
}

void Parameters::take(const py::arg& arg) { add(arg.name, {}); }
void Parameters::take(const py::arg_v& arg) { add(arg.name, arg.value); }
void Parameters::take(Bracketed) { definition_.bracketed = static_cast<int>(definition_.parameters.size()) - 1; }
void Parameters::take(Location) {
  keyword_ = true;
  add("loc", py::none());
  add("ip", py::none());
}
void Parameters::take(const char* doc) { definition_.doc = doc; }

Definition Parameters::finish(Run run) {
  if (definition_.parameters.size() != types_.size())
    throw std::logic_error(definition_.name + ": has parameters without a name");
  definition_.run = std::move(run);
  return std::move(definition_);
}

std::string short_name(py::handle type) { return type.attr("__name__").cast<std::string>(); }

int initialized(PyObject*, PyObject*, PyObject*) { return 0; }

void show_signature(PyTypeObject* type, PyObject* function) {
  const std::string doc =
      signature_text(*self_of(function)->definition) + "\n--\n\n" + (type->tp_doc ? type->tp_doc : "");
#if PY_VERSION_HEX >= 0x030D0000
  void* const kept = PyMem_Malloc(doc.size() + 1);
#else
  void* const kept = PyObject_Malloc(doc.size() + 1);
#endif
  if (kept == nullptr) throw std::bad_alloc();
  type->tp_doc = static_cast<char*>(std::memcpy(kept, doc.c_str(), doc.size() + 1));  // the first one is lost
}

}  // namespace detail

}  // namespace tilewright::bind

// Functions of the compiled module. One table of parameters parses the arguments of a call, names them in errors and is
// the signature that inspect, help and completion read, so that these cannot disagree.
//
// define(m, "name", f, py::arg("x"), py::kw_only(), py::arg("y") = 1, doc) takes what pybind11's module_::def does.
#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <functional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "convert.hpp"
#include "vectorcall.hpp"

namespace tilewright::bind {

struct Parameter {
  enum Kind { kPositional = 1, kVariadic = 2, kKeyword = 3 };  // the numbers of inspect's kinds

  py::object name;      // interned
  py::object fallback;  // none is given where the argument is required
  std::string type;     // as an annotation
  Kind kind;
  bool takes_text;
};

// The keywords loc and ip, which CuTeDSL's functions take; they mean nothing here.
struct Location {};

struct Definition;
using Run = std::function<PyObject*(const Definition&, PyObject* const* values)>;

struct Definition {
  std::string name;
  std::string shown;  // the name in errors
  std::string doc;
  std::string result;  // the annotation of what is returned
  std::vector<Parameter> parameters;
  std::size_t positional = 0;  // how many come first and may be given by position
  py::object owner;            // the class of a method
  int bracketed = -1;          // the parameter that may be given in brackets, f[...]
  Run run;
};

// The parameter before it may also be given in brackets: f[0](x) is f(x, mode=0).
struct Bracketed {};

[[noreturn]] void wrong_argument(const Definition& definition, std::size_t i, py::handle value);

// A new Function object.
py::object make_function(Definition definition);

// What pickle calls again, from __reduce__: a function of the module and its arguments.
py::tuple made_by(const char* function, const py::tuple& arguments);

namespace detail {

template <class T>
using Caster = py::detail::make_caster<T>;

template <class T>
struct Described {
  static constexpr auto value = Caster<T>::name;
  static constexpr auto types = decltype(value)::types();
};

// What is known of a parameter by its type.
struct TypeOf {
  const char* text;  // pybind11's description
  const std::type_info* const* types;
  bool variadic = false;
  bool takes_text = false;
};

template <class T>
constexpr TypeOf type_of() {
  using Plain = std::remove_cvref_t<T>;
  return {Described<T>::value.text, Described<T>::types.data(), std::is_base_of_v<LayoutsArg, Plain>,
          std::is_base_of_v<TextArg, Plain>};
}

// The parameters in the order of py::arg, and the types that the function has for them.
class Parameters {
 public:
  Parameters(const char* name, TypeOf result, std::span<const TypeOf> types);
  void take(const py::arg& arg);
  void take(const py::arg_v& arg);
  void take(const py::kw_only&) { keyword_ = true; }
  void take(Bracketed);
  void take(Location);
  void take(const char* doc);
  Definition finish(Run run);

 private:
  void add(const char* name, py::object fallback);

  Definition definition_;
  std::span<const TypeOf> types_;
  bool keyword_ = false;
};

template <class F, class R, class... A, std::size_t... I>
PyObject* invoke(const F& f, const Definition& definition, PyObject* const* values, R (*)(A...),
                 std::index_sequence<I...>) {
  std::tuple<Caster<A>...> casters;
  [[maybe_unused]] const auto load = [&](auto& caster, std::size_t i) {
    constexpr bool of_class =
        std::is_base_of_v<py::detail::type_caster_generic, std::remove_reference_t<decltype(caster)>>;
    if ((of_class && values[i] == Py_None) || !caster.load(values[i], true)) wrong_argument(definition, i, values[i]);
  };
  (load(std::get<I>(casters), I), ...);
  const auto call = [&]() -> R { return f(py::detail::cast_op<A>(std::move(std::get<I>(casters)))...); };
  if constexpr (std::is_void_v<R>) {
    call();
    Py_RETURN_NONE;
  } else {
    constexpr auto policy = py::return_value_policy::automatic;
    return Caster<R>::cast(call(), py::detail::return_value_policy_override<R>::policy(policy), {}).ptr();
  }
}

template <class F, class R, class... A, class... Extra>
[[gnu::cold]] Definition definition_of(const char* name, const F& f, R (*signature)(A...), const Extra&... extra) {
  static const std::array<TypeOf, sizeof...(A)> types = {type_of<A>()...};
  Parameters parameters(name, type_of<R>(), types);
  (parameters.take(extra), ...);
  return parameters.finish([f, signature](const Definition& of, PyObject* const* values) {
    return invoke(f, of, values, signature, std::index_sequence_for<A...>());
  });
}

template <class F>
using Signature = py::detail::function_signature_t<F>*;

template <class T>
PyObject*& constructor_of() {
  static PyObject* function = nullptr;  // leaked: the type lives as long
  return function;
}

std::string short_name(py::handle type);
int initialized(PyObject* self, PyObject* args, PyObject* keywords);
void show_signature(PyTypeObject* type, PyObject* function);

}  // namespace detail

template <class F, class... Extra>
[[gnu::cold]] void define(py::module_& m, const char* name, F f, const Extra&... extra) {
  m.attr(name) = make_function(detail::definition_of(name, f, detail::Signature<F>(), extra...));
}

// A method; its first parameter is self.
template <class T, class F, class... Extra>
[[gnu::cold]] void method(py::class_<T>& type, const char* name, F f, const Extra&... extra) {
  Definition definition = detail::definition_of(name, f, detail::Signature<F>(), py::arg("self"), extra...);
  definition.owner = type;
  definition.shown = detail::short_name(type) + "." + name;
  type.attr(name) = make_function(std::move(definition));
}

// The instances of T are made by f in __new__, whole, so that none is without a value.
template <class T>
void constructed(PyHeapTypeObject* type) {
  type->ht_type.tp_new = [](PyTypeObject*, PyObject* args, PyObject* keywords) {
    return PyObject_Call(detail::constructor_of<T>(), args, keywords);
  };
  type->ht_type.tp_init = detail::initialized;
}

template <class T, class F, class... Extra>
[[gnu::cold]] void constructor(py::class_<T>& type, F f, const Extra&... extra) {
  auto* const heap = reinterpret_cast<PyTypeObject*>(type.ptr());
  const std::string name = detail::short_name(type);
  PyObject* const function =
      make_function(detail::definition_of(name.c_str(), f, detail::Signature<F>(), extra...)).release().ptr();
  detail::constructor_of<T>() = function;
  type.attr("_make") = py::handle(function);  // its types, for the stubs
  detail::show_signature(heap, function);
}

}  // namespace tilewright::bind

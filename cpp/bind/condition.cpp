// condition: for which values of their dynamic integers the operations answer right.
#include "core/condition.hpp"

#include <pybind11/stl.h>

#include "define.hpp"
#include "docs.hpp"
#include "module.hpp"

namespace tilewright::bind {

namespace {

constexpr const char* kClass =
    R"doc(For which values of the dynamic integers in its operands an operation answers right.

    holds(values)  =>  the answer satisfies the law of the operation;  where `exact` is true, <=>

`str()` is the text that explain shows; `predicate` alone is the condition, in the names of `unknowns`.

>>> from tilewright import Int32, cute
>>> found = cute.explain("composition", "(128,8):(1,1000)", cute.make_layout(Int32(192))).condition
>>> found.predicate, found.unknowns, found.values
('n <= 128 or 128 | n', {'n': 'size(B)'}, {'n': 192})
>>> found.holds(), found.holds({"n": 256}), found.exact
(False, True, True)
)doc";

constexpr const char* kFunction = R"doc(The Condition of operation(*operands), given by the operation's name.

None where no operand is dynamic, or where no condition is derived: for swizzles, basis strides but in compositions,
negative strides beside others, dynamic gaps between the modes of a tile or block, and cotargets that are tuples.
)doc";

// With what it is of, for pickle.
struct Found : Condition {
  py::str operation;
  py::tuple operands;
};

bool dynamic(const Tiler& tiler) {
  if (tiler.kind() == Tiler::Kind::kExtent) return tiler.extent().is_dynamic();
  if (tiler.kind() == Tiler::Kind::kLayout)
    return !all_static(tiler.layout().shape()) || !all_static(tiler.layout().stride());
  for (const Tiler& mode : tiler.modes()) {
    if (dynamic(mode)) return true;
  }
  return false;
}

std::optional<Condition> condition_of(const std::string& operation, const py::tuple& operands) {
  std::vector<Layout> layouts;
  for (const py::handle operand : operands) {
    if (!is_layout_like(operand)) break;
    const AnyLayout layout = as_any_layout(operand);
    if (!std::holds_alternative<Layout>(layout)) return std::nullopt;
    layouts.push_back(std::get<Layout>(layout));
  }
  if (layouts.empty()) return std::nullopt;
  const Layout& a = layouts[0];
  const bool known = all_static(a.shape()) && all_static(a.stride());
  if (operation == "coalesce") return known ? std::nullopt : std::optional<Condition>(Condition{});
  if (operation == "complement") {
    const bool tuple = operands.size() > 1 && (is_layout_like(operands[1]) || is_sequence(operands[1]));
    return known || tuple ? std::nullopt : complement_condition(a);
  }
  const bool divides = operation.ends_with("_divide"), multiplies = operation.ends_with("_product");
  if (operands.size() != 2 || !(divides || multiplies || operation == "composition")) return std::nullopt;
  if (is_swizzle(operands[1]) || is_composed(operands[1])) return std::nullopt;
  const Tiler tiler = to_tiler(operands[1]);
  if (known && !dynamic(tiler)) return std::nullopt;
  if (operation == "composition") return composition_condition(a, tiler);
  return divides ? divide_condition(a, tiler) : product_condition(a, tiler);
}

std::vector<int64_t> values_of(const Condition& condition, py::handle given) {
  if (given.is_none()) return condition.values;
  if (!PyDict_Check(given.ptr())) wrong_kind(given, "a dict of the values of unknowns");
  const auto values = py::reinterpret_borrow<py::dict>(given);
  for (const auto& [name, value] : values) {
    const std::string text = py::str(name).cast<std::string>();
    std::string known;
    bool found = false;
    for (const Unknown& unknown : condition.unknowns) {
      found = found || text == unknown.name;
      known += (known.empty() ? "" : ", ") + unknown.name;
    }
    if (!found)
      throw py::value_error(concat("Condition.holds: there is no unknown ", text, "; the unknowns are ", known));
  }
  std::vector<int64_t> result = condition.values;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const Unknown& unknown = condition.unknowns[i];
    const py::str name(unknown.name);
    if (values.contains(name)) result[i] = to_int64(values[name]);
    if ((unknown.positive && result[i] <= 0) || result[i] % unknown.divisor != 0) {
      throw py::value_error(concat("Condition.holds: ", unknown.name, " is ", unknown.meaning, ", a ",
                                   unknown.positive ? "positive " : "", "multiple of ", unknown.divisor,
                                   ", but the value is ", result[i]));
    }
  }
  return result;
}

}  // namespace

void bind_condition(py::module_& m) {
  py::class_<Found> condition(m, "Condition", py::custom_type_setup(only_returned), py::is_final(), kClass);
  condition
      .def_property_readonly(
          "predicate", [](const Found& c) { return c.predicate.text(c.unknowns); },
          "The condition as text: divides `|`, `<=`, `>=`, `==`, `and`, `or`; `true` where it always holds.")
      .def_property_readonly(
          "unknowns",
          [](const Found& c) {
            py::dict found;
            for (const Unknown& unknown : c.unknowns) found[py::str(unknown.name)] = py::str(unknown.meaning);
            return found;
          },
          "What each name in the predicate stands for.")
      .def_property_readonly(
          "values",
          [](const Found& c) {
            py::dict found;
            for (std::size_t i = 0; i < c.values.size(); ++i) found[py::str(c.unknowns[i].name)] = c.values[i];
            return found;
          },
          "The values that the operands have.")
      .def_property_readonly(
          "exact", [](const Found& c) { return c.exact(); },
          "Whether the answer is wrong wherever the predicate does not hold.")
      .def_readonly("provided", &Found::provided, "Where `exact` is false: it is wrong there if this holds.")
      .def("__str__", [](const Found& c) { return c.text(); })
      .def("__repr__", [](const Found& c) { return c.text(); });
  method(
      condition, "holds",
      [](const Found& c, Arg values) {
        const std::vector<int64_t> given = values_of(c, values.handle);
        return guarded("Condition.holds", {}, [&] { return c.predicate.holds(given); });
      },
      py::arg("values") = py::none(),
      "Whether the predicate holds for the values of unknowns, a dict; what it lacks is as in the operands.");
  method(condition, "__reduce__",
         [](const Found& c) { return made_by("condition", py::make_tuple(c.operation, c.operands)); });
  define(
      m, "condition",
      [](StrArg operation, Arg operands) {
        const auto name = py::str(operation.handle);
        const py::tuple given = items_of(operands.handle);
        std::optional<Condition> found = condition_of(name.cast<std::string>(), given);
        return found ? Result(py::cast(Found{std::move(*found), name, given})) : Result(py::none());
      },
      py::arg("operation"), py::arg("operands"), kFunction);
}

}  // namespace tilewright::bind

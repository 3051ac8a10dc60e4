// explained: an operation with the steps that it has recorded.
#include "core/steps.hpp"
#include "define.hpp"
#include "docs.hpp"
#include "module.hpp"

namespace tilewright::bind {

namespace {

constexpr const char* kDoc = R"doc(Call operation(*operands) and record what the core does.

(lines, result, error): the derivation as lines, the call first and the result, or the message of `error`, last. One of
result and error, a LayoutError, is None.

    >>> from tilewright import _core
    >>> lines, result, error = _core.explained(_core.coalesce, (_core.parse("(2,4):(1,2)"),))
    >>> print(*lines[2:], sep="\n")
      2:1 and 4:2: 2*1 = 2, merged: 8:1
    result: 8:1
)doc";

std::string text_of(py::handle object) {
  if (is_layout_like(object)) {
    const AnyLayout layout = as_any_layout(object);
    const auto* composed = std::get_if<ComposedLayout>(&layout);
    return composed ? step_text(*composed) : step_text(std::get<Layout>(layout).view());
  }
  if (is_sequence(object)) {
    std::string text = "(";
    for (const py::handle item : items_of(object)) text += (text.size() == 1 ? "" : ",") + text_of(item);
    return text + ")";
  }
  if (object.is_none()) return "_";
  if (is_swizzle(object)) return to_string(as_swizzle(object));
  return step_text(IntTuple(to_leaf(object)).view());
}

// The tiler and the layout of make_layout_tv; otherwise as an operand.
std::string result_text(py::handle result) {
  if (py::isinstance<py::bool_>(result) || py::hasattr(result, "holds")) return py::repr(result).cast<std::string>();
  if (!is_sequence(result) || !holds_layouts(result)) return text_of(result);
  const py::tuple parts = items_of(result);
  return concat("tiler ", text_of(parts[0]), ", layout ", text_of(parts[1]));
}

// What works on anything but plain layouts records no steps, unless it works on the outer layout.
void require_steps(py::handle operation, const py::tuple& operands, const Trace& trace) {
  const Rule* const first = trace.steps().empty() ? nullptr : trace.steps()[0].rule;
  const bool on_outer = first == &step::kOnOuter;
  if (first == &step::kInsideDecides || first == &step::kAllCompared || first == &step::kBitsCompared) return;
  const bool takes_coordinate = py::str(operation.attr("__name__")).equal(py::str("crd2idx"));
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const py::handle operand = operands[i];
    const bool needs_layout = i == 0 && !takes_coordinate;
    const bool plain = is_layout_like(operand) ? std::holds_alternative<Layout>(as_any_layout(operand))
                                               : !needs_layout && !is_swizzle(operand);
    if (!plain && !(on_outer && i == 0))
      throw py::type_error(
          concat("explain: expected a Layout, but got ", py::type::of(operand).attr("__name__").cast<std::string>()));
  }
}

py::tuple explained(py::handle operation, py::handle operands) {
  const py::tuple given = items_of(operands);
  Trace trace;
  py::object result = py::none(), error = py::none();
  std::string outcome;
  try {
    result = operation(*given);
    outcome = "result: " + result_text(result);
  } catch (py::error_already_set& raised) {
    if (!raised.matches(registry().error)) throw;
    error = raised.value();
    outcome = "LayoutError: " + py::str(error).cast<std::string>();
  }
  require_steps(operation, given, trace);
  std::string call = py::str(operation.attr("__name__")).cast<std::string>() + "(";
  for (std::size_t i = 0; i < given.size(); ++i) call += (i == 0 ? "" : ", ") + text_of(given[i]);
  py::list lines;
  for (const std::string& line : derivation(call + ")", trace, outcome, !error.is_none())) lines.append(py::str(line));
  return py::make_tuple(lines, result, error);
}

}  // namespace

void bind_explain(py::module_& m) {
  define(
      m, "explained", [](Arg operation, Arg operands) { return explained(operation.handle, operands.handle); },
      py::arg("operation"), py::arg("operands"), kDoc);
}

}  // namespace tilewright::bind

// Python objects to core values and back. Each argument crosses once: a nested tuple becomes one flat node array, a
// result one object.
#pragma once

#include <pybind11/pybind11.h>

#include <concepts>
#include <string>
#include <vector>

#include "core/algebra.hpp"
#include "core/composed.hpp"
#include "core/symbolic.hpp"

namespace tilewright::bind {

namespace py = pybind11;

// A parameter that takes objects of several kinds: the function looks at the object itself. The annotations are names
// of tilewright.cute.operands.
struct Arg {
  static constexpr auto annotation = py::detail::const_name("object");
  py::handle handle;
  PyObject* ptr() const { return handle.ptr(); }
};

// An integer parameter: to_int64 reads it, so that an error is one of this library.
struct IntArg : Arg {
  static constexpr auto annotation = py::detail::const_name("typing.SupportsIndex");
};

// Operands of the algebra: each may also be text in CuTe's notation, which the boundary parses.
struct TextArg : Arg {};
struct LayoutArg : TextArg {
  static constexpr auto annotation = py::detail::const_name("LayoutLike");
};
struct TupleArg : TextArg {
  static constexpr auto annotation = py::detail::const_name("IntTupleLike");
};
struct CoordArg : TextArg {
  static constexpr auto annotation = py::detail::const_name("CoordLike");
};
struct TilerArg : TextArg {
  static constexpr auto annotation = py::detail::const_name("TilerLike");
};
struct LayoutsArg : LayoutArg {};  // *layouts, as a tuple
struct OperandArg : TextArg {
  static constexpr auto annotation = py::detail::const_name("Operand");
};
struct InnerArg : TextArg {
  static constexpr auto annotation =
      py::detail::const_name("Swizzle | LayoutLike | collections.abc.Callable[..., object]");
};
struct OrderArg : Arg {  // "left" and "right" are orders, no notation
  static constexpr auto annotation = py::detail::const_name("IntTupleLike");
};
struct BasisArg : TextArg {
  static constexpr auto annotation = py::detail::const_name("ScaledBasis | typing.SupportsIndex | str");
};
struct ArrayArg : Arg {
  static constexpr auto annotation = py::detail::const_name("numpy.typing.NDArray[numpy.int64]");
};
struct StrArg : Arg {
  static constexpr auto annotation = py::detail::const_name("str");
};
struct ModesArg : Arg {
  static constexpr auto annotation = py::detail::const_name("Modes");
};

// A result that may be of several kinds; none where a Python error is set.
struct Result {
  Result(py::object o) : object(std::move(o)) {}  // NOLINT: any object is a result
  py::object object;
};

// An argument of the wrong kind: becomes TypeError with the names of the operation and, where it is one of the
// arguments or in one, of the argument.
class KindError : public std::exception {
 public:
  explicit KindError(std::string text) : text_(std::move(text)) {}
  KindError(py::handle object, std::string expected);

  // Names the operation, once.
  void in(const std::string& operation) {
    if (!named_) text_ = concat(operation, ": ", text_);
    named_ = true;
  }
  const char* what() const noexcept override { return text_.c_str(); }
  py::handle object() const { return object_; }  // only to be compared
  const std::string& expected() const { return expected_; }
  const std::string& found() const { return found_; }

 private:
  py::handle object_;
  std::string expected_, found_, text_;
  bool named_ = false;
};
// An argument of the right kind with a bad value that is no matter of layouts: becomes ValueError.
class ValueError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

[[noreturn]] void wrong_kind(py::handle object, const char* expected);

// CuTe notation of any argument, for messages: at most some hundred characters. The full one goes on up to a limit.
std::string notation(py::handle object);
std::string full_notation(py::handle object, std::size_t limit);

// The Python classes of dynamic integers and of tensors, registered by the package.
struct Registry {
  py::object int32;
  py::object int64;
  py::object tensor;
  py::object error;  // LayoutError
};
Registry& registry();

// The tuple subclass whose text is CuTe's.
PyTypeObject* int_tuple_type();
void bind_int_tuple_type(py::module_& m);

// The swizzle of a ComposedLayout as a Python object: it counts elements, where a pointer's counts bytes.
struct LayoutSwizzle final : Swizzle {
  explicit LayoutSwizzle(const Swizzle& swizzle) : Swizzle(swizzle) {}
};

// A basis stride as a Python object: ScaledBasis(value, mode).
struct BasisElement {
  Node node;
};

bool is_layout(py::handle object);
bool is_composed(py::handle object);
bool is_swizzle(py::handle object);
bool is_tensor(py::handle object);
bool is_sequence(py::handle object);  // tuple or list
inline bool is_layout_like(py::handle object) { return is_layout(object) || is_composed(object) || is_tensor(object); }

// Whether a nested tuple holds layouts or tensors.
bool holds_layouts(py::handle object);

const Layout& as_layout(py::handle object);  // where is_layout(object), and so on
const ComposedLayout& as_composed(py::handle object);
const Swizzle& as_swizzle(py::handle object);
Layout to_layout(py::handle object);  // of a tensor its layout
// Layout or ComposedLayout; of a tensor its layout.
AnyLayout as_any_layout(py::handle object);
py::object layout_of(py::handle tensor);

// The items of a tuple or list as they are now; a subclass has no say in it, and code that runs later changes nothing.
py::tuple items_of(py::handle sequence);
IntTuple to_int_tuple(py::handle object);
IntTuple to_integers(py::handle object);  // without None
Node to_leaf(py::handle object);
Node to_number(py::handle object);  // an integer, static or dynamic
int64_t to_int64(py::handle object);
std::vector<int64_t> to_modes(py::handle object);  // an int or a sequence of ints
// A coordinate or a stride: None where a mode is kept.
Tiler to_tiler(py::handle object);
py::object parse_text(py::handle text);  // what CuTe's notation means

py::object from_leaf(const Node& leaf);
py::object from_int_tuple(TupleView view);
py::object from_layout(Layout layout);
py::object from_composed(ComposedLayout layout);
py::object from_any_layout(AnyLayout layout);
py::object make_tensor(py::handle like, py::object iterator, py::object layout);

// Runs an operation; what it throws becomes a Python exception that names the operation and its operands.
// Sets the Python error. `raise` throws it, too.
void set_error(const char* operation, std::initializer_list<py::handle> operands, const LayoutError& error);
[[noreturn]] void raise(const char* operation, std::initializer_list<py::handle> operands, const LayoutError& error);
[[noreturn]] void rethrow(const char* operation, std::initializer_list<py::handle> operands);
// Whether all numbers of the operands are known while a function is traced.
bool all_known(std::initializer_list<py::handle> operands);
template <class F>
auto guarded(const char* operation, std::initializer_list<py::handle> operands, F&& f) -> decltype(f()) {
  try {
    const CheckedWhileTracing scope(symbols() != nullptr && all_known(operands));
    return f();
  } catch (const LayoutError& error) {
    // A refusal is an answer, too, and to throw costs more than to decide: nothing is a result where an error is set.
    if constexpr (std::is_same_v<decltype(f()), Result>) {
      set_error(operation, operands, error);
      return Result(py::object());
    } else {
      raise(operation, operands, error);
    }
  } catch (...) {
    rethrow(operation, operands);
  }
}

// f on a Layout, on the outer layout of a ComposedLayout, or on the layout of a Tensor, which keeps its iterator.
template <class F>
py::object lift(py::handle object, F&& f) {
  if (is_layout(object)) return from_layout(f(LayoutView(as_layout(object))));
  if (is_composed(object)) return from_composed(on_outer(as_composed(object), f));
  if (is_tensor(object)) return make_tensor(object, object.attr("iterator"), lift(layout_of(object), f));
  wrong_kind(object, "a Layout, ComposedLayout or Tensor");
}

}  // namespace tilewright::bind

namespace pybind11::detail {
template <std::derived_from<tilewright::bind::Arg> T>
struct type_caster<T> {
  PYBIND11_TYPE_CASTER(T, T::annotation);
  bool load(handle source, bool) {
    value.handle = source;
    return true;
  }
};
template <>
struct type_caster<tilewright::bind::Result> {
  static constexpr auto name = const_name("typing.Any");
  static handle cast(tilewright::bind::Result&& result, return_value_policy, handle) { return result.object.release(); }
};
}  // namespace pybind11::detail

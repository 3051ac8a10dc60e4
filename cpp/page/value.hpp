// Operands as text, as a page and a command line take them: what core/parse.hpp reads, and a tiler of layouts,
// `<4:1,(2,2):(1,4)>`.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/composed.hpp"

namespace tilewright::page {

struct Value;
using Values = std::vector<Value>;

// An operand or a result. A list is a tiler of layouts, or a result of several parts.
struct Value : std::variant<IntTuple, Layout, Swizzle, ComposedLayout, Values> {
  using Variant = std::variant<IntTuple, Layout, Swizzle, ComposedLayout, Values>;
  using Variant::Variant;
  const Variant& variant() const { return *this; }
};

// An operand of the wrong kind: what Python calls TypeError.
class KindError : public std::exception {
 public:
  explicit KindError(std::string text) : text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

Value parse_value(std::string_view text);
// CuTe's text; a list in parentheses.
std::string to_string(const Value& value);
// The same as an operand in a message: at most some hundred characters.
std::string notation(const Value& value);
std::string shortened(std::string text);

const Layout& layout_of(const Value& value);
const IntTuple& tuple_of(const Value& value);
int64_t number_of(const Value& value);
// A layout, or one with a function after it.
AnyLayout any_layout_of(const Value& value);
Tiler tiler_of(const Value& value);

}  // namespace tilewright::page

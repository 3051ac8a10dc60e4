// The one error of the algebra.
//
// An operation of the core throws LayoutError with the broken condition. The caller that knows the operation's name and
// its operands as the user wrote them (the Python bindings, the fuzz target) puts them in front.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>

namespace tilewright {

// Where two functions differ: the 1-D coordinate, what CuTe answers there and what the law demands.
// The values are in CuTe notation: numbers, or coordinates for layouts with basis strides.
struct CounterExample {
  CounterExample(int64_t at, int64_t answer, int64_t truth)
      : coordinate(at), got(std::to_string(answer)), expected(std::to_string(truth)) {}
  CounterExample(int64_t at, std::string answer, std::string truth)
      : coordinate(at), got(std::move(answer)), expected(std::move(truth)) {}

  int64_t coordinate;
  std::string got;
  std::string expected;
};

class LayoutError : public std::exception {
 public:
  explicit LayoutError(std::string condition, std::optional<CounterExample> example = std::nullopt)
      : condition_(std::move(condition)), text_(condition_), example_(std::move(example)) {}

  // `in mode (1,0): condition` where the condition broke in mode 0 of mode 1.
  const char* what() const noexcept override { return text_.c_str(); }
  const std::optional<CounterExample>& example() const { return example_; }
  // Puts the mode that was worked on in front; called from the innermost mode to the outermost.
  void enter_mode(int64_t mode);
  // Puts what was worked out on the way in front of the condition.
  void add_context(const std::string& context);
  // Puts what helps behind the condition.
  void add_remedy(const std::string& remedy);

 private:
  std::string condition_;
  std::string text_;
  std::string path_;
  std::optional<CounterExample> example_;
};

[[noreturn]] void fail(const std::string& condition);

// f(), or nothing where it throws a LayoutError.
template <class F>
auto attempted(F&& f) -> std::optional<decltype(f())> {
  try {
    return f();
  } catch (const LayoutError&) {
    return std::nullopt;
  }
}

// f() as a part of an operation that works mode by mode: an error names the mode.
template <class F>
decltype(auto) in_mode(int64_t mode, F&& f) {
  try {
    return f();
  } catch (LayoutError& error) {
    error.enter_mode(mode);
    throw;
  }
}

// f() with layouts that the user did not write, such as a complement: an error shows them. context() is their text.
template <class Context, class F>
decltype(auto) in_context(Context&& context, F&& f) {
  try {
    return f();
  } catch (LayoutError& error) {
    error.add_context(context());
    throw;
  }
}

// Join pieces (strings, numbers) into one text.
template <class... Pieces>
std::string concat(const Pieces&... pieces) {
  std::string text;
  auto add = [&text](const auto& piece) {
    using Piece = std::decay_t<decltype(piece)>;
    if constexpr (std::is_arithmetic_v<Piece>) {
      text += std::to_string(piece);
    } else {
      text += piece;
    }
  };
  (add(pieces), ...);
  return text;
}

// `1 mode`, `2 modes`
inline std::string counted(int64_t count, const char* noun) { return concat(count, " ", noun, count == 1 ? "" : "s"); }

}  // namespace tilewright

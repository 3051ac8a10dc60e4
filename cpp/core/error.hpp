// The one error of the algebra.
//
// An operation of the core throws LayoutError with the broken condition. The caller that knows the operation's name and
// its operands as the user wrote them (the Python bindings, the fuzz target) puts them in front.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
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

class LayoutError : public std::runtime_error {
 public:
  explicit LayoutError(const std::string& condition, std::optional<CounterExample> example = std::nullopt)
      : std::runtime_error(condition), example_(example) {}

  const std::optional<CounterExample>& example() const { return example_; }

 private:
  std::optional<CounterExample> example_;
};

[[noreturn]] void fail(const std::string& condition);

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

}  // namespace tilewright

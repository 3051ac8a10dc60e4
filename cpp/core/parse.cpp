#include "parse.hpp"

#include <algorithm>

#include "portable.hpp"

namespace tilewright {

namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Parsed whole() {
    if (peek() == 'S') return after_inner(swizzle());
    const IntTuple first = tuple();
    if (!accept(':')) {
      end();
      return first;
    }
    Layout layout(first, tuple());
    if (at_circle()) return composed(std::move(layout));
    end();
    return layout;
  }

 private:
  [[noreturn]] void error(const std::string& expected) {
    fail(concat("expected ", expected, " at position ", position(at_), ", found ", found()));
  }
  // Characters before a byte of the text, which is UTF-8.
  int64_t position(std::size_t byte) const {
    return std::count_if(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(byte), starts_character);
  }
  std::string found() const {
    if (at_ >= text_.size()) return "the end of the text";
    std::size_t end = at_ + 1;
    while (end < text_.size() && !starts_character(text_[end])) ++end;
    return concat("'", std::string(text_.substr(at_, end - at_)), "'");
  }
  static bool starts_character(char byte) { return (byte & 0xC0) != 0x80; }
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }
  char peek() {
    skip_spaces();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) error(concat("'", std::string(1, c), "'"));
  }
  void end() {
    if (peek() != '\0' || at_ < text_.size()) error("the end of the text");
  }
  bool at_circle() { return peek() == 'o'; }

  int64_t number() {
    const bool negative = accept('-');
    if (peek() < '0' || peek() > '9') {
      if (peek() == '?')
        fail(concat("the dynamic integer at position ", position(at_), " has no value in the text; write a number"));
      error("an integer");
    }
    const std::size_t start = at_;
    int64_t value = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      const int64_t digit = text_[at_] - '0';
      if (mul_overflows(value, 10, value) || add_overflows(value, negative ? -digit : digit, value))
        fail(concat("the integer at position ", position(start), " does not fit into 64 bits"));
    }
    return value;
  }

  Node leaf() {
    if (accept('_')) {
      // `_4` is CuTe C++'s spelling of a static 4.
      if (at_ >= text_.size() || text_[at_] < '0' || text_[at_] > '9') return none_node();
    }
    Node node = static_int(number());
    BasisPath path;
    while (accept('@')) {
      const std::size_t start = at_;
      const int64_t mode = number();
      if (mode < 0 || mode > 4096) {
        at_ = start;
        error("a mode from 0 to 4096");
      }
      path.push_back(static_cast<uint32_t>(mode));
      check_depth(static_cast<int64_t>(path.size()));
    }
    return with_basis(node, basis_id(path));
  }

  IntTuple tuple() {
    TupleBuilder builder;
    part(builder, 0);
    return builder.take();
  }

  void part(TupleBuilder& builder, int depth) {
    if (!accept('(')) {
      builder.leaf(leaf());
      return;
    }
    check_depth(depth + 1);
    builder.open();
    if (!accept(')')) {
      part(builder, depth + 1);
      while (accept(',')) {
        if (peek() == ')') break;  // Python's (4,)
        part(builder, depth + 1);
      }
      expect(')');
    }
    builder.close();
  }

  Swizzle swizzle() {
    expect('S');
    accept('w');  // CuTe C++ prints Sw<3,4,3>
    expect('<');
    const int64_t bits = number();
    expect(',');
    const int64_t base = number();
    expect(',');
    const int64_t shift = number();
    expect('>');
    return {bits, base, shift};
  }

  Parsed after_inner(Swizzle inner) {
    if (at_circle()) return composed(inner);
    end();
    return inner;
  }

  ComposedLayout composed(Inner inner) {
    expect('o');
    IntTuple offset = tuple();
    expect('o');
    IntTuple shape = tuple();
    expect(':');
    Layout outer(std::move(shape), tuple());
    end();
    return {std::move(inner), std::move(offset), std::move(outer)};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Parsed parse(std::string_view text) { return Parser(text).whole(); }

}  // namespace tilewright

#include "request.hpp"

#include <charconv>

namespace tilewright::page {

namespace {

using Fields = std::map<std::string, std::string, std::less<>>;

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Fields object() {
    Fields fields;
    expect('{');
    if (next() != '}') {
      do {
        std::string name = text();
        expect(':');
        std::string value;
        if (next() == '"') {
          fields[std::move(name)] = text();
        } else if (value = word(); value != "null") {
          fields[std::move(name)] = std::move(value);
        }
      } while (next() == ',' && ++at_ > 0);
    }
    expect('}');
    if (next() != '\0') bad();
    return fields;
  }

 private:
  [[noreturn]] void bad() const { throw KindError(concat("the request is no JSON object at ", at_)); }

  // The next character that is no blank; 0 at the end.
  char next() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  void expect(char c) {
    if (next() != c) bad();
    ++at_;
  }
  std::string word() {
    const std::size_t end = std::min(text_.find_first_of(",} ", at_), text_.size());
    const std::string found(text_.substr(at_, end - at_));
    if (found.empty() || found.find_first_not_of("0123456789+-.abcdefghijklmnopqrstuvwxyz") != found.npos) bad();
    at_ = end;
    return found;
  }
  std::string text() {
    expect('"');
    std::string found;
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') {
        escape(found);
      } else {
        found += text_[at_];
      }
    }
    expect('"');
    return found;
  }
  void escape(std::string& found) {
    constexpr std::string_view kNames = "bfnrt", kMeanings = "\b\f\n\r\t";
    if (++at_ >= text_.size()) bad();
    if (text_[at_] != 'u') {
      const std::size_t i = kNames.find(text_[at_]);
      found += i == kNames.npos ? text_[at_] : kMeanings[i];
      return;
    }
    uint32_t letter = 0;
    for (int i = 0; i < 4; ++i) {
      const std::size_t digit =
          ++at_ < text_.size() ? std::string_view("0123456789abcdef").find(text_[at_]) : text_.npos;
      if (digit == text_.npos) bad();
      letter = letter << 4 | static_cast<uint32_t>(digit);
    }
    if (letter < 0x80) {
      found += static_cast<char>(letter);
    } else if (letter < 0x800) {
      found += static_cast<char>(0xc0 | letter >> 6);
      found += static_cast<char>(0x80 | (letter & 63));
    } else {
      found += static_cast<char>(0xe0 | letter >> 12);
      found += static_cast<char>(0x80 | (letter >> 6 & 63));
      found += static_cast<char>(0x80 | (letter & 63));
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Request::Request(std::string_view json) : fields_(Reader(json).object()) {}

const std::string* Request::find(const char* name) {
  field_ = name;
  const auto found = fields_.find(name);
  return found == fields_.end() ? nullptr : &found->second;
}

std::string Request::text(const char* name, const char* usual) {
  const std::string* found = find(name);
  if (found == nullptr && usual == nullptr) throw KindError(concat("the field '", name, "' is missing"));
  return found == nullptr ? usual : *found;
}

std::optional<int64_t> Request::number(const char* name) {
  const std::string* found = find(name);
  if (found == nullptr) return {};
  int64_t value = 0;
  const auto [end, error] = std::from_chars(found->data(), found->data() + found->size(), value);
  if (error != std::errc() || end != found->data() + found->size()) {
    throw KindError(concat("expected '", name, "' to be a whole number, not ", *found));
  }
  return value;
}

int64_t Request::number(const char* name, int64_t usual) { return number(name).value_or(usual); }

picture::Memory Request::memory() {
  picture::Memory found;
  if (const auto bits = number("bits")) found = {*bits, 0, false, ""};
  if (found.bits < 1) throw picture::OptionError("an element has at least one bit");
  found.base = number("base", 0);
  return found;
}

std::optional<picture::Mark> Request::mark(TupleView shape) {
  if (find("at") == nullptr) return {};
  const Value at = value("at");
  return picture::Mark{picture::index_of(tuple_of(at), picture::static_shape(shape)), to_string(at)};
}

picture::Color Request::color(const char* usual) {
  using picture::Color;
  const std::string name = text("color", usual);
  if (name == "value") return {};
  if (name == "bank") return {Color::kBank, {}, name};
  if (name == "sector" || name == "line") return {Color::kPart, {}, name, name == "line" ? 128 : 32};
  if (name == "mode") return {Color::kMode, {0}, name};
  Color found{Color::kMode, {}, name};
  const Value path = parse_value(name);
  for_each_leaf(tuple_of(path), [&](const Node& leaf) { found.path.push_back(leaf.value); });
  return found;
}

}  // namespace tilewright::page

// A request in JSON: one object of texts, numbers and yes or no.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "picture/subjects/layouts.hpp"
#include "value.hpp"

namespace tilewright::page {

// The fields of a request, as they are asked for; the last one is what an error is about. Those that are null are as if
// left out. KindError where a request is no object, or a field no value of its kind.
class Request {
 public:
  explicit Request(std::string_view json);

  const std::string& field() const { return field_; }
  void all_read() { field_.clear(); }

  const std::string* find(const char* name);
  std::string text(const char* name, const char* usual = nullptr);
  Value value(const char* name) { return parse_value(text(name)); }
  int64_t number(const char* name, int64_t usual);
  std::optional<int64_t> number(const char* name);
  picture::Memory memory();  // by the fields bits and base
  std::optional<picture::Mark> mark(TupleView shape);
  picture::Color color(const char* usual);

 private:
  std::map<std::string, std::string, std::less<>> fields_;
  std::string field_;
};

}  // namespace tilewright::page

// The core for a web page: a request of lines of text in, JSON out.
//
//     parse     TEXT                      the structure of an operand
//     describe  ROWS COLUMNS TEXT         its facts, and its offsets as far as they fit
//     apply     OPERATION TEXT...         an operation on operands, each on a line, and its derivation
//     predict   FIELD=VALUE...            what the accesses of a layout cost; predict.hpp has the fields
//     picture   JSON                      what cute.show draws; picture.hpp has the fields
//     hover     PANEL CELL                what pointing at a cell of the last picture shows
//
// Compiled to WebAssembly by scripts/build_page.py, it is the algebra of the page; Python has the same functions.
#include <charconv>
#include <cstring>

#include "describe.hpp"
#include "operations.hpp"
#include "picture.hpp"
#include "predict.hpp"

namespace tilewright::page {

namespace {

using Lines = std::vector<std::string_view>;

Lines lines_of(std::string_view text) {
  Lines lines;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    lines.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

int64_t number(std::string_view text) {
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

void write_error(Json& json, const char* kind, const std::string& call, const std::exception& error) {
  json.open('{').key("error").open('{').key("kind").text(kind);
  json.key("text").text(concat(call, ": ", error.what()));
}

struct Nothing {
  void operator()(Json&, const std::string&) const {}
};

// f(json), or the error, which says what was to be done. after(json, text) goes on behind a LayoutError.
template <class Call, class F, class After = Nothing>
std::string answer(Call&& call, F&& f, After&& after = {}) {
  Json json;
  try {
    f(json);
    return json.str();
  } catch (const LayoutError& error) {
    json = {};
    write_error(json, "LayoutError", call(), error);
    if (error.example()) {
      json.key("counterexample").open('[').number(error.example()->coordinate);
      json.text(error.example()->got).text(error.example()->expected).close(']');
    }
    json.close('}');
    after(json, concat(call(), ": ", error.what()));
    return json.close('}').str();
  } catch (const KindError& error) {
    json = {};
    write_error(json, "TypeError", call(), error);
  } catch (const std::exception& error) {
    json = {};
    write_error(json, "ValueError", call(), error);
  }
  return json.close('}').close('}').str();
}

std::string parse_call(std::string_view text) {
  return concat("parse(", shortened(concat("'", std::string(text), "'")), ")");
}

std::string parsed(std::string_view text) {
  return answer([&] { return parse_call(text); },
                [&](Json& json) {
                  const Value value = parse_value(text);
                  json.open('{').key("text").text(to_string(value)).key("parts");
                  write_parts(json, value);
                  json.close('}');
                });
}

std::string described(const Lines& lines) {
  return answer(
      [&] { return parse_call(lines[3]); },
      [&](Json& json) { write_description(json, parse_value(lines[3]), number(lines[1]), number(lines[2])); });
}

// The tiler and the layout of make_layout_tv by their names.
std::string outcome_text(const Value& result) {
  const auto* parts = std::get_if<Values>(&result.variant());
  if (parts == nullptr) return to_string(result);
  return concat("tiler ", to_string(parts->at(0)), ", layout ", to_string(parts->at(1)));
}

std::string applied(const Lines& lines) {
  Values operands;
  std::string_view at;
  Trace trace;
  const auto derive = [&](Json& json, const std::string& outcome, bool failed) {
    json.key("derivation");
    if (at.data() || !is_explained(lines[1], operands, trace)) {
      json.null();
      return;
    }
    std::string call = std::string(lines[1]) + "(";
    for (std::size_t i = 0; i < operands.size(); ++i) call += (i == 0 ? "" : ", ") + to_string(operands[i]);
    json.open('[');
    for (const std::string& line : derivation(call + ")", trace, outcome, failed)) json.text(line);
    json.close(']');
  };
  return answer([&] { return at.data() ? parse_call(at) : call_text(lines[1], operands); },
                [&](Json& json) {
                  for (std::size_t i = 2; i < lines.size(); ++i) {
                    at = lines[i];
                    operands.push_back(parse_value(at));
                  }
                  at = {};
                  const Value result = page::apply(lines[1], operands);
                  json.open('{').key("result").text(to_string(result)).key("parts");
                  write_parts(json, result);
                  derive(json, "result: " + outcome_text(result), false);
                  json.close('}');
                },
                [&](Json& json, const std::string& message) { derive(json, "LayoutError: " + message, true); });
}

std::string respond(std::string_view request) {
  const Lines lines = lines_of(request);
  const std::string_view command = lines[0];
  if (command == "parse" && lines.size() == 2) return parsed(lines[1]);
  if (command == "describe" && lines.size() == 4) return described(lines);
  if (command == "apply" && lines.size() >= 2) return applied(lines);
  if (command == "predict") return answer([] { return "analyze"; }, [&](Json& json) { write_prediction(json, lines); });
  if (command == "picture" && lines.size() == 2) return picture_answer(lines[1]);
  if (command == "hover" && lines.size() == 3) return hover_answer(number(lines[1]), number(lines[2]));
  return answer([] { return "request"; }, [](Json&) { throw KindError("is not understood"); });
}

}  // namespace

}  // namespace tilewright::page

// The answer stays until the next request.
extern "C" __attribute__((used, visibility("default"))) const char* tilewright_page(const char* request) {
  static std::string response;
  response = tilewright::page::respond(request);
  return response.c_str();
}

// The text of inline PTX as operations.
#include <algorithm>
#include <bit>
#include <cctype>
#include <cstdlib>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "assembly.hpp"
#include "core/error.hpp"
#include "program/program.hpp"

namespace tilewright::execute::ptx {

namespace {

using Words = std::vector<std::string>;

struct Form {
  std::string_view name;
  Code code;
  std::string_view types;      // of operands; b32 is u32
  std::string_view modifiers;  // that may stand there
  std::size_t operands;
  bool has_two_types = false;
};

constexpr std::string_view kIntegers = "u16 s16 u32 s32 u64 s64", kFloats = "f16 f16x2 bf16 bf16x2 f32 f64",
                           kBits = "b16 b32 b64 pred",
                           kNumbers = "u16 s16 u32 s32 u64 s64 f16 f16x2 bf16 bf16x2 f32 f64",
                           kAny = "b16 u16 s16 b32 u32 s32 f32 b64 u64 s64 f64 f16 bf16",
                           kComparisons = "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan";

constexpr Form kForms[] = {
    {"mov", Code::kMove, "b16 u16 s16 b32 u32 s32 f32 b64 u64 s64 f64 pred", "", 1},
    {"add", Code::kAdd, kNumbers, "rn ftz sat", 2},
    {"sub", Code::kSub, kNumbers, "rn ftz sat", 2},
    {"mul", Code::kMul, kNumbers, "rn ftz sat lo hi wide", 2},
    {"mad", Code::kMad, kNumbers, "rn ftz sat lo hi wide", 3},
    {"fma", Code::kFma, kFloats, "rn ftz sat relu", 3},
    {"div", Code::kDiv, "u16 s16 u32 s32 u64 s64 f32 f64", "rn approx full ftz", 2},
    {"rem", Code::kRem, kIntegers, "", 2},
    {"min", Code::kMin, kNumbers, "ftz NaN", 2},
    {"max", Code::kMax, kNumbers, "ftz NaN", 2},
    {"abs", Code::kAbs, "s16 s32 s64 f16 f16x2 bf16 bf16x2 f32 f64", "ftz", 1},
    {"neg", Code::kNeg, "s16 s32 s64 f16 f16x2 bf16 bf16x2 f32 f64", "ftz", 1},
    {"copysign", Code::kCopySign, "f32 f64", "", 2},
    {"and", Code::kAnd, kBits, "", 2},
    {"or", Code::kOr, kBits, "", 2},
    {"xor", Code::kXor, kBits, "", 2},
    {"not", Code::kNot, kBits, "", 1},
    {"cnot", Code::kNotZero, "b16 b32 b64", "", 1},
    {"shl", Code::kShl, "b16 b32 b64", "", 2},
    {"shr", Code::kShr, "b16 b32 b64 u16 s16 u32 s32 u64 s64", "", 2},
    {"setp", Code::kCompare, kAny, "ftz and or xor", 2},
    {"selp", Code::kSelect, kAny, "", 3},
    {"ex2", Code::kExp2, kFloats, "approx ftz", 1},
    {"lg2", Code::kLog2, "f32", "approx ftz", 1},
    {"sin", Code::kSin, "f32", "approx ftz", 1},
    {"cos", Code::kCos, "f32", "approx ftz", 1},
    {"rcp", Code::kRcp, "f32 f64", "approx rn ftz", 1},
    {"rsqrt", Code::kRsqrt, "f32 f64", "approx ftz", 1},
    {"sqrt", Code::kSqrt, "f32 f64", "approx rn ftz", 1},
    {"tanh", Code::kTanh, "f32 f16 f16x2 bf16 bf16x2", "approx", 1},
    {"popc", Code::kPopc, "b32 b64", "", 1},
    {"clz", Code::kClz, "b32 b64", "", 1},
    {"brev", Code::kBrev, "b32 b64", "", 1},
    {"bfind", Code::kBfind, "u32 s32 u64 s64", "shiftamt", 1},
    {"bfe", Code::kBfe, "u32 s32 u64 s64", "", 3},
    {"bfi", Code::kBfi, "b32 b64", "", 4},
    {"lop3", Code::kLop3, "b32", "", 4},
    {"prmt", Code::kPrmt, "b32", "", 3},
    {"shf", Code::kShfLeft, "b32", "l r wrap clamp", 3},
    {"dp4a", Code::kDp4a, "u32 s32", "", 3, true},
    {"activemask", Code::kActiveMask, "b32", "", 0},
    {"vote", Code::kVote, "pred b32", "sync any all uni ballot", 2},
    {"shfl", Code::kShuffle, "b32", "sync idx up down bfly", 4},
    {"redux", Code::kRedux, "u32 s32 b32", "sync add min max and or xor", 2},
    {"elect", Code::kElect, "", "sync", 1},
    {"nanosleep", Code::kNothing, "u32", "", 0},
    {"prefetch", Code::kNothing, "", "global L1 L2", 0},
};

Words words(std::string_view text, char separator) {
  Words found;
  std::string word;
  int depth = 0;
  for (const char c : text) {
    depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    if (c == separator && depth == 0) {
      found.push_back(word);
      word.clear();
    } else {
      word += c;
    }
  }
  found.push_back(word);
  return found;
}

bool has(std::string_view list, std::string_view word) {
  for (const std::string& each : words(list, ' ')) {
    if (each == word) return true;
  }
  return false;
}

// `${0}` and `${0:u}` are `$0`.
std::string without_braces(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t end = text.compare(i, 2, "${") == 0 ? text.find('}', i) : std::string::npos;
    if (end == std::string::npos) {
      plain += text[i];
    } else {
      plain += '$';
      plain.append(text, i + 2, text.find_first_of(":}", i) - i - 2);
      i = end;
    }
  }
  return plain;
}

std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(" \t\r\n"), end = text.find_last_not_of(" \t\r\n");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

std::string without_comments(const std::string& text) {
  std::string kept;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_line = text.compare(i, 2, "//") == 0, is_block = text.compare(i, 2, "/*") == 0;
    if (is_line || is_block) {
      const std::size_t end = text.find(is_line ? "\n" : "*/", i + 2);
      if (end == std::string::npos) return kept;
      i = end + (is_line ? 0 : 1);
      kept += ' ';
    } else {
      kept += text[i];
    }
  }
  return kept;
}

// A type's scalar, and whether there are two of it.
std::optional<std::pair<Scalar, bool>> type_of(std::string_view text) {
  static const std::map<std::string_view, Scalar> kTypes = {
      {"pred", Scalar::kBoolean},      {"b8", Scalar::kUint8},       {"u8", Scalar::kUint8},
      {"s8", Scalar::kInt8},           {"b16", Scalar::kUint16},     {"u16", Scalar::kUint16},
      {"s16", Scalar::kInt16},         {"b32", Scalar::kUint32},     {"u32", Scalar::kUint32},
      {"s32", Scalar::kInt32},         {"b64", Scalar::kUint64},     {"u64", Scalar::kUint64},
      {"s64", Scalar::kInt64},         {"f16", Scalar::kFloat16},    {"bf16", Scalar::kBFloat16},
      {"tf32", Scalar::kTFloat32},     {"f32", Scalar::kFloat32},    {"f64", Scalar::kFloat64},
      {"e4m3", Scalar::kFloat8E4M3FN}, {"e5m2", Scalar::kFloat8E5M2}};
  const bool is_pair = text.size() > 2 && text.substr(text.size() - 2) == "x2";
  const auto found = kTypes.find(is_pair ? text.substr(0, text.size() - 2) : text);
  if (found == kTypes.end()) return std::nullopt;
  return std::pair(found->second, is_pair);
}

class Parser {
 public:
  Parser(const std::string& text, const std::string& constraints) {
    scopes_.emplace_back();
    for (const std::string& kind : words(constraints, ',')) {
      if (trimmed(kind).empty() || trimmed(kind)[0] == '~') continue;
      const char first = trimmed(kind)[0];
      if (first == '+' || std::isdigit(static_cast<unsigned char>(first)) != 0) {
        refuse(concat("the constraint ", trimmed(kind)));
      }
      const Register own = made_.registers++;
      (first == '=' ? made_.outputs : made_.inputs).push_back(own);
      if (first != '=') written_.push_back(own);
      arguments_.push_back(own);
    }
    statements(without_comments(without_braces(text)));
  }

  Assembly made() { return std::move(made_); }

 private:
  [[noreturn]] static void refuse(const std::string& what) { throw program::ProgramError(what); }
  [[noreturn]] void refuse() const { refuse(concat("`", statement_, "`")); }

  void statements(const std::string& text) {
    std::string now;
    int depth = 0;
    for (const char c : text) {
      if (depth == 0 && trimmed(now).empty() && (c == '{' || c == '}')) {
        if (c == '{') {
          scopes_.emplace_back();
        } else if (scopes_.size() > 1) {
          scopes_.pop_back();
        }
        now.clear();
        continue;
      }
      depth += c == '{' ? 1 : c == '}' ? -1 : 0;
      if (c == ';') {
        statement(trimmed(now));
        now.clear();
      } else {
        now += std::isspace(static_cast<unsigned char>(c)) ? ' ' : c;
      }
    }
    statement(trimmed(now));
  }

  void statement(const std::string& text) {
    statement_ = text;
    if (text.empty()) return;
    if (text.compare(0, 5, ".reg ") == 0) return declare(text);
    Operation operation;
    std::string rest = text;
    if (rest[0] == '@') {
      const std::size_t end = rest.find(' ');
      if (end == std::string::npos) refuse();
      operation.guard_is_not = rest[1] == '!';
      operation.guard = operand(rest.substr(operation.guard_is_not ? 2 : 1, end - (operation.guard_is_not ? 2 : 1)),
                                Scalar::kBoolean);
      rest = trimmed(rest.substr(end));
    }
    const std::size_t end = std::min(rest.find(' '), rest.size());
    Words parts = words(rest.substr(0, end), '.');
    const std::string name = parts[0];
    parts.erase(parts.begin());
    Words operands = words(trimmed(rest.substr(end)), ',');
    for (std::string& each : operands) each = trimmed(each);
    if (operands.size() == 1 && operands[0].empty()) operands.clear();
    if (name == "cvt") {
      convert(operation, parts, operands);
    } else {
      const Form* form =
          std::find_if(std::begin(kForms), std::end(kForms), [&](const Form& f) { return f.name == name; });
      if (form == std::end(kForms)) refuse();
      known(operation, *form, parts, operands);
    }
    written_.insert(written_.end(), operation.results.begin(), operation.results.end());
    made_.operations.push_back(std::move(operation));
  }

  // `.reg .pred p, q<3>`
  void declare(const std::string& text) {
    const std::size_t dot = text.find('.', 5), end = dot == std::string::npos ? dot : text.find(' ', dot);
    if (end == std::string::npos || text.find(".v") != std::string::npos) refuse();
    for (const std::string& each : words(text.substr(end), ',')) {
      const std::string name = trimmed(each);
      const std::size_t many = name.find('<');
      if (many == std::string::npos) {
        scopes_.back()[name] = made_.registers++;
        continue;
      }
      const int count = std::atoi(name.c_str() + many + 1);
      if (count < 1 || count > 1024) refuse();
      for (int i = 0; i < count; ++i) scopes_.back()[name.substr(0, many) + std::to_string(i)] = made_.registers++;
    }
  }

  void known(Operation& operation, const Form& form, const Words& parts, const Words& operands) {
    operation.code = form.code;
    Words types;
    for (const std::string& part : parts) {
      if (form.code == Code::kCompare && operation.how.empty() && has(kComparisons, part)) {
        operation.how = part;
      } else if (has(form.modifiers, part)) {
        modify(operation, part);
      } else if (has(form.types, part)) {
        types.push_back(part);
      } else {
        refuse();
      }
    }
    if (types.size() != (form.types.empty() ? 0u : form.has_two_types ? 2u : 1u)) refuse();
    if (!types.empty()) {
      const auto type = type_of(types[0]);
      operation.scalar = operation.to = type->first;
      operation.is_pair = operation.is_pair_to = type->second;
    }
    if (form.has_two_types) {
      if (types[0] != types[1]) refuse();  // numbers of two kinds
      operation.to = operation.scalar;
    }
    const bool is_float = program::is_float(operation.scalar);
    switch (form.code) {
      case Code::kNothing:
        return;
      case Code::kMove:
        return move(operation, operands);
      case Code::kMad:
        if (is_float) operation.code = Code::kFma;
        [[fallthrough]];
      case Code::kMul:
        if (!is_float && operation.saturates) refuse();
        if (is_float != operation.how.empty()) refuse();
        if (operation.how == "wide") {
          if (bits_of(operation.scalar) == 64) refuse();
          operation.to = wider(operation.scalar);
        }
        break;
      case Code::kCompare:
        if (operation.how.empty()) refuse();
        operation.to = Scalar::kBoolean;
        break;
      case Code::kShfLeft:
        if (operation.how.empty()) refuse();
        break;
      case Code::kPopc:
      case Code::kClz:
      case Code::kBfind:
        operation.to = Scalar::kUint32;
        break;
      case Code::kVote:
      case Code::kShuffle:
      case Code::kRedux:
        if (operation.how.empty()) refuse();
        made_.is_together = true;
        break;
      case Code::kAdd:
      case Code::kSub:
        if (operation.saturates && !is_float && operation.scalar != Scalar::kInt32) refuse();
        break;
      default:
        break;
    }
    const std::size_t count = form.operands + (operation.with.empty() ? 0 : 1);
    if (operands.size() != count + 1) refuse();
    results(operation, operands[0]);
    for (std::size_t i = 1; i < operands.size(); ++i) {
      operation.operands.push_back(operand(operands[i], type_of_operand(operation, i - 1)));
    }
  }

  void modify(Operation& operation, const std::string& part) {
    if (part == "ftz") {
      operation.flushes = true;
    } else if (part == "sat") {
      operation.saturates = true;
    } else if (part == "relu") {
      operation.relu = true;
    } else if (part == "NaN") {
      operation.keeps_nan = true;
    } else if (part == "wrap") {
      operation.wraps = true;
    } else if (operation.code == Code::kCompare) {
      operation.with = part;
    } else if (operation.code == Code::kMul || operation.code == Code::kMad || operation.code == Code::kFma) {
      const bool is_mul = operation.code == Code::kMul;
      if (part == "hi") operation.code = is_mul ? Code::kMulHigh : Code::kMadHigh;
      if (part == "wide") operation.code = is_mul ? Code::kMulWide : Code::kMadWide;
      if (part != "rn") operation.how = part;
    } else if (operation.code == Code::kShfLeft || operation.code == Code::kShfRight) {
      if (part == "r") operation.code = Code::kShfRight;
      if (part == "l" || part == "r") operation.how = part;
    } else if (part != "rn" && part != "approx" && part != "full" && part != "sync") {
      operation.how = part;
    }
  }

  static Scalar wider(Scalar scalar) {
    switch (scalar) {
      case Scalar::kInt16:
        return Scalar::kInt32;
      case Scalar::kUint16:
        return Scalar::kUint32;
      case Scalar::kInt32:
        return Scalar::kInt64;
      default:
        return Scalar::kUint64;
    }
  }

  // What a constant that stands there means.
  static Scalar type_of_operand(const Operation& operation, std::size_t i) {
    const bool is_predicate = (operation.code == Code::kSelect && i == 2) ||
                              (operation.code == Code::kCompare && i == 2) || (operation.code == Code::kVote && i == 0);
    if (is_predicate) return Scalar::kBoolean;
    if (i == 2 && operation.code == Code::kMadWide) return operation.to;
    const bool counts = (operation.code == Code::kShl || operation.code == Code::kShr) && i == 1;
    return counts || operation.code == Code::kVote ? Scalar::kUint32 : operation.scalar;
  }

  void results(Operation& operation, const std::string& text) {
    for (const std::string& each : words(text, '|')) {
      operation.results.push_back(trimmed(each) == "_" ? kNoRegister : place(trimmed(each)));
    }
  }

  // `mov.b32 d, {a, b}` and `mov.b32 {d, e}, a`.
  void move(Operation& operation, const Words& operands) {
    if (operands.size() != 2) refuse();
    const auto inside = [](const std::string& text) { return words(text.substr(1, text.size() - 2), ','); };
    const bool packs = operands[1][0] == '{', unpacks = operands[0][0] == '{';
    if (packs && unpacks) refuse();
    for (const std::string& each : unpacks ? inside(operands[0]) : Words{operands[0]})
      results(operation, trimmed(each));
    for (const std::string& each : packs ? inside(operands[1]) : Words{operands[1]}) {
      operation.operands.push_back(operand(trimmed(each), operation.scalar));
    }
    const std::size_t parts = std::max(operation.results.size(), operation.operands.size());
    if ((packs || unpacks) && (parts < 2 || bits_of(operation.scalar) % parts != 0)) refuse();
    if (packs) operation.code = Code::kPack;
    if (unpacks) operation.code = Code::kUnpack;
  }

  void convert(Operation& operation, const Words& parts, const Words& operands) {
    operation.code = Code::kConvert;
    std::vector<std::pair<Scalar, bool>> types;
    for (const std::string& part : parts) {
      if (const auto type = type_of(part)) {
        types.push_back(*type);
      } else if (has("rni rzi rmi rpi", part)) {
        operation.how = part;
      } else if (has("ftz sat relu", part)) {
        modify(operation, part);
      } else if (part == "satfinite") {
        operation.is_finite = true;
      } else if (!has("rn rna", part)) {
        refuse();
      }
    }
    if (types.size() != 2 || operands.size() < 2) refuse();
    std::tie(operation.to, operation.is_pair_to) = types[0];
    std::tie(operation.scalar, operation.is_pair) = types[1];
    if (operation.is_pair_to && !operation.is_pair) operation.code = Code::kConvertTwo;
    if (operation.is_pair && !operation.is_pair_to) refuse();
    const bool narrows_long = bits_of(operation.scalar) == 64 && program::is_integer(operation.scalar) &&
                              program::is_float(operation.to) && bits_of(operation.to) < 32;
    const bool is_truncated = operation.to == Scalar::kTFloat32 && !has_part(parts, "rna");
    if (narrows_long || is_truncated) refuse();
    if (operands.size() != (operation.code == Code::kConvertTwo ? 3u : 2u)) refuse();
    results(operation, operands[0]);
    for (std::size_t i = 1; i < operands.size(); ++i)
      operation.operands.push_back(operand(operands[i], operation.scalar));
  }

  static bool has_part(const Words& parts, std::string_view part) {
    return std::find(parts.begin(), parts.end(), part) != parts.end();
  }

  // A register by its name, or an operand of the text.
  Register place(const std::string& text) {
    if (text.size() > 1 && text.size() < 5 && text[0] == '$' &&
        text.find_first_not_of("0123456789", 1) == std::string::npos) {
      const auto which = static_cast<std::size_t>(std::atoi(text.c_str() + 1));
      if (which >= arguments_.size()) refuse();
      return arguments_[which];
    }
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      const auto found = scope->find(text);
      if (found != scope->end()) return found->second;
    }
    refuse();
  }

  Register operand(const std::string& text, Scalar type) {
    if (text.empty()) refuse();
    if (text[0] == '!') return computed(Code::kNot, Scalar::kBoolean, {operand(text.substr(1), Scalar::kBoolean)}, "");
    if (text == "%laneid") return computed(Code::kLane, Scalar::kUint32, {}, "");
    if (text.compare(0, 10, "%lanemask_") == 0 && has("eq lt le gt ge", text.substr(10))) {
      return computed(Code::kLaneMask, Scalar::kUint32, {}, text.substr(10));
    }
    const bool is_number = std::isdigit(static_cast<unsigned char>(text[0])) != 0 ||
                           ((text[0] == '-' || text[0] == '+') && text.size() > 1);
    if (!is_number) {
      const Register found = place(text);
      const bool is_known = std::find(written_.begin(), written_.end(), found) != written_.end();
      if (!is_known) refuse(concat("`", statement_, "`, which reads ", text, " before it is written"));
      return found;
    }
    const Register own = made_.registers++;
    made_.constants.emplace_back(own, number(text, type));
    return own;
  }

  Register computed(Code code, Scalar scalar, std::vector<Register> operands, const std::string& how) {
    Operation operation;
    operation.code = code;
    operation.scalar = operation.to = scalar;
    operation.operands = std::move(operands);
    operation.how = how;
    operation.results = {made_.registers++};
    written_.push_back(operation.results[0]);
    made_.operations.push_back(operation);
    return operation.results[0];
  }

  uint64_t number(const std::string& text, Scalar type) const {
    char* end = nullptr;
    if (text.size() > 2 && text[0] == '0' && (text[1] == 'f' || text[1] == 'F' || text[1] == 'd' || text[1] == 'D')) {
      const uint64_t pattern = std::strtoull(text.c_str() + 2, &end, 16);
      const bool is_double = text[1] == 'd' || text[1] == 'D';
      if (*end != 0 || !program::is_float(type) || is_double != (bits_of(type) == 64)) refuse();
      return pattern;
    }
    if (text.find('.') != std::string::npos) {
      const double value = std::strtod(text.c_str(), &end);
      if (*end != 0 || !program::is_float(type)) refuse();
      return bits_of(type) == 64 ? std::bit_cast<uint64_t>(value) : std::bit_cast<uint32_t>(static_cast<float>(value));
    }
    if (program::is_float(type)) refuse();
    const bool is_negative = text[0] == '-';
    if (text.find_first_of("+-", 1) != std::string::npos) refuse();
    const uint64_t size = std::strtoull(text.c_str() + (is_negative || text[0] == '+' ? 1 : 0), &end, 0);
    if (*end != 0 && std::string(end) != "U") refuse();
    return low(is_negative ? 0 - size : size, bits_of(type));
  }

  Assembly made_;
  std::vector<Register> arguments_, written_;
  std::vector<std::map<std::string, Register>> scopes_;
  std::string statement_;
};

}  // namespace

Assembly parse(const std::string& text, const std::string& constraints) { return Parser(text, constraints).made(); }

}  // namespace tilewright::execute::ptx

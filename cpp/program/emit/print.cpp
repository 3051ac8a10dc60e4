// printf and inline PTX.
#include "core/error.hpp"
#include "emitter.hpp"
#include "program/fold.hpp"

namespace tilewright::program {

namespace {

constexpr std::string_view kConversions = "diouxXeEfFgGaAcp";

// A C conversion at text[at] = '%': where it ends, or npos where this is none.
std::size_t conversion_end(const std::string& text, std::size_t at) {
  std::size_t i = at + 1;
  while (i < text.size() && std::string_view("-+ #0").find(text[i]) != std::string_view::npos) ++i;
  while (i < text.size() && ((text[i] >= '0' && text[i] <= '9') || text[i] == '.')) ++i;
  while (i < text.size() && std::string_view("hlLqjzt").find(text[i]) != std::string_view::npos) ++i;
  return i < text.size() && kConversions.find(text[i]) != std::string_view::npos ? i : std::string::npos;
}

std::string without_length(const std::string& spec) {
  std::string result;
  for (const char c : spec) {
    if (std::string_view("hlLqjzt").find(c) == std::string_view::npos) result += c;
  }
  return result;
}


}  // namespace

// `{}` and C's conversions each take the next value; a conversion gets the length of what it prints.
void Emitter::print(const Operation& operation) {
  const std::string& text = operation.text;
  std::string format, arguments;
  std::size_t next = 0;
  const auto printed = [&](std::string flags, char conversion) {
    const ValueId id = operation.operands[next++];
    const Type& t = type(id);
    if (t.is_vector()) throw ProgramError("printf: a vector is printed element by element");
    if (t.is_pointer()) {
      arguments += concat(", (const void*)", within(value(id), Level::kPrimary));
      format += "%p";
      return;
    }
    Expr argument = is_float(t.scalar) ? arithmetic_.to_float(value(id), t.scalar) : value(id);
    const bool prints_float = std::string_view("eEfFgGaA").find(conversion) != std::string_view::npos;
    const bool is_wide = width_of(t.scalar) == 64;
    if (conversion == 0) conversion = is_float(t.scalar) ? 'f' : is_signed(t.scalar) || t.scalar == Scalar::kBoolean ? 'd' : 'u';
    if (is_float(t.scalar) && (prints_float || conversion == 'f')) {
      arguments += concat(", double(", argument.text, ")");
    } else if (is_float(t.scalar)) {
      arguments += concat(", int(", argument.text, ")");
    } else if (prints_float) {
      arguments += concat(", double(", argument.text, ")");
    } else if (is_wide) {
      arguments += ", " + argument.text;
      flags += "ll";
    } else {
      arguments += width_of(t.scalar) == 32 ? ", " + argument.text : concat(", int(", argument.text, ")");
    }
    format += "%" + flags + conversion;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool has_more = next < operation.operands.size();
    if (text[i] == '{' && i + 1 < text.size() && text[i + 1] == '}' && has_more) {
      printed("", 0);
      ++i;
    } else if (text[i] == '%' && i + 1 < text.size() && text[i + 1] == '%') {
      format += "%%";
      ++i;
    } else if (text[i] == '%') {
      const std::size_t end = has_more ? conversion_end(text, i) : std::string::npos;
      if (end == std::string::npos) {
        format += "%%";
      } else {
        printed(without_length(text.substr(i + 1, end - i - 1)), text[end]);
        i = end;
      }
    } else {
      format += text[i];
    }
  }
  line(concat("printf(", quoted(format), arguments, ");"));
}

// The text has `$0` for an operand, and `{`, `}`, `|` and `%` mean themselves, but `$$`, which is `$`.
void Emitter::inline_asm(const Operation& operation) {
  const std::size_t split = operation.text.rfind('\n');
  const std::string text = operation.text.substr(0, split);
  std::string constraints = split == std::string::npos ? "" : operation.text.substr(split + 1);
  std::string ptx;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_last = i + 1 == text.size();
    if (text[i] == '$' && !is_last && text[i + 1] == '$') {
      ptx += '$';
      ++i;
    } else if (text[i] == '$' && !is_last && text[i + 1] >= '0' && text[i + 1] <= '9') {
      ptx += '%';
    } else if (text[i] == '$' && !is_last && text[i + 1] == '{') {
      // ${0} and ${0:u}
      const std::size_t end = text.find('}', i);
      ptx += "%" + text.substr(i + 2, text.find_first_of(":}", i + 2) - i - 2);
      i = end;
    } else {
      if (text[i] == '%') ptx += '%';
      ptx += text[i];
    }
  }
  std::vector<std::string> kinds;
  for (std::size_t at = 0; at < constraints.size();) {
    const std::size_t comma = std::min(constraints.find(',', at), constraints.size());
    kinds.push_back(constraints.substr(at, comma - at));
    at = comma + 1;
  }
  std::string outputs, inputs;
  std::vector<std::string> after;
  bool clobbers = false;
  std::size_t results = 0, operands = 0;
  for (const std::string& kind : kinds) {
    if (kind.empty() || kind[0] == '~') {
      clobbers = clobbers || kind.find("memory") != std::string::npos;
    } else if (kind[0] == '=' || kind[0] == '+') {
      if (results >= operation.results.size()) throw ProgramError("inline_asm: more outputs than results");
      const ValueId id = operation.results[results++];
      const std::string name = new_name(id);
      bind(id, name);
      if (type(id).scalar == Scalar::kBoolean) {  // a register, tested against 0
        line(concat("int ", name, "_bits;"));
        after.push_back(concat("bool ", name, " = ", name, "_bits != 0;"));
        outputs += concat(outputs.empty() ? "" : ", ", quoted(kind), "(", name, "_bits)");
      } else {
        line(concat(declared_type(type(id)), " ", name, ";"));
        const bool is_struct = is_narrow(type(id).scalar);
        outputs += concat(outputs.empty() ? "" : ", ", quoted(kind), "(", name,
                          is_struct ? type(id).scalar == Scalar::kTFloat32 ? ".value" : ".bits" : "", ")");
      }
    } else {
      if (operands >= operation.operands.size()) throw ProgramError("inline_asm: more inputs than operands");
      const ValueId id = operation.operands[operands++];
      const Type& t = type(id);
      std::string argument = value(id).text;
      if (t.is_pointer() && kind == "r") {
        arithmetic_.need("tilewright/lang_pointer.cuh");
        argument = concat("shared_address(", argument, ")");
      } else if (t.is_number() && is_narrow(t.scalar)) {
        argument = within(value(id), Level::kPrimary) + (t.scalar == Scalar::kTFloat32 ? ".value" : ".bits");
      } else if (t.is_number() && t.scalar == Scalar::kBoolean) {
        argument = concat("int(", argument, ")");
      }
      inputs += concat(inputs.empty() ? "" : ", ", quoted(kind == "i" ? "n" : kind), "(", argument, ")");
    }
  }
  const bool has_effects = operation.ints.empty() || operation.ints[0] != 0;
  std::string statement = concat("asm", has_effects ? " volatile" : "", "(", quoted(ptx), " : ", outputs, " : ", inputs);
  if (has_effects || clobbers) statement += " : \"memory\"";
  line(statement + ");");
  for (std::string& text_after : after) line(std::move(text_after));
}

}  // namespace tilewright::program

// A host function as C: what evaluate.cpp computes for a call, computed by a program without Python.
//
// Every value is a variable of its C type: numbers as they are, floats that C lacks as their bits, pointers as
// addresses. Integers wrap around as they do in kernels.
#include <cstdint>
#include <utility>

#include "emit.hpp"
#include "program/evaluate.hpp"
#include "program/fold.hpp"
#include "text.hpp"
#include "uses.hpp"

namespace tilewright::program {

namespace {

constexpr std::size_t kWithoutEvents = 4;  // numbers of a launch that records no events
constexpr int kCooperative = 2, kProgrammatic = 3;
constexpr int kErrorInvalidValue = 1, kErrorAssert = 710;  // of the driver

class HostText {
 public:
  HostText(const Program& program, const Function& function)
      : program_(program), function_(function), uses_(program, function) {}

  std::string text(const std::string& name) {
    if (!function_.results.empty()) {
      throw ProgramError(function_.name + ": it returns something, but what is exported launches kernels only");
    }
    const Block& body = program_.blocks[function_.body];
    text_ = concat("static int ", name, "(", name, "_Module *module, CUstream stream");
    for (const ValueId id : body.parameters) text_ += concat(", ", c_type(id), " ", variable(id));
    text_ += ") {\n";
    run(body);
    return text_ + "  return 0;\n}\n";
  }

 private:
  [[noreturn]] void refuse(const Operation& operation, const std::string& why) const {
    throw ProgramError(concat(where(operation), why));
  }
  std::string where(const Operation& operation) const {
    const Place& place = program_.places[operation.place];
    return concat(place.file, ":", place.line, ": in ", function_.name, ", on the host: ");
  }

  Scalar scalar(ValueId id) const { return program_.type(id).scalar; }
  static std::string variable(ValueId id) { return concat("v", id); }

  std::string c_type(ValueId id) const {
    const Type& type = program_.type(id);
    if (type.is_pointer()) return "uint64_t";
    if (type.is_tensor_map()) return "tw_tensor_map";
    if (type.is_vector() || is_sub_byte(type.scalar)) {
      throw ProgramError(concat(function_.name, ": a value of type ", to_string(type), " is a kernel's"));
    }
    return c_type(type.scalar);
  }
  static std::string c_type(Scalar scalar) {
    if (scalar == Scalar::kFloat32) return "float";
    if (scalar == Scalar::kFloat64) return "double";
    return concat(is_signed(scalar) ? "int" : "uint", facts(scalar).bits, "_t");
  }
  static bool computes(Scalar scalar) { return !is_narrow(scalar); }

  // An integer in the scalar's type: wrapped around, and a truth value of Booleans.
  static std::string wrapped(Scalar scalar, const std::string& value) {
    if (scalar == Scalar::kBoolean) return concat("(", value, ") != 0");
    return concat("(", c_type(scalar), ")(", value, ")");
  }

  void line(const std::string& text) { text_ += concat(std::string(depth_ * 2, ' '), text, "\n"); }
  void set(const Operation& operation, const std::string& value) {
    const ValueId id = operation.results.at(0);
    line(concat("const ", c_type(id), " ", variable(id), " = ", value, ";"));
  }
  void declare(const std::vector<ValueId>& ids, const std::vector<ValueId>* inits = nullptr, std::size_t skip = 0) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const std::string init = inits == nullptr ? "" : " = " + variable((*inits)[i + skip]);
      line(concat(c_type(ids[i]), " ", variable(ids[i]), init, ";"));
    }
  }
  // All at once: one may be another's source.
  void assign(const std::vector<ValueId>& to, const std::vector<ValueId>& from, std::size_t skip_to = 0,
              std::size_t skip_from = 0) {
    const std::size_t count = from.size() - skip_from;
    if (count == 1) return line(concat(variable(to[skip_to]), " = ", variable(from[skip_from]), ";"));
    if (count == 0) return;
    line("{");
    ++depth_;
    for (std::size_t i = 0; i < count; ++i) {
      const ValueId id = from[i + skip_from];
      line(concat("const ", c_type(id), " next", i, " = ", variable(id), ";"));
    }
    for (std::size_t i = 0; i < count; ++i) line(concat(variable(to[i + skip_to]), " = next", i, ";"));
    --depth_;
    line("}");
  }
  void run(const Block& block) {
    ++depth_;
    for (const OpId id : block.operations) run(program_.operations[id]);
    --depth_;
  }

  void run(const Operation& operation) {
    const auto& ids = operation.operands;
    switch (facts(operation.code).family) {
      case Family::kConstant:
        return set(operation, constant(scalar(operation.results.at(0)), operation.bits));
      case Family::kUnary:
        return unary(operation);
      case Family::kBinary:
      case Family::kShift:
        return binary(operation);
      case Family::kCompare:
        return compare(operation);
      case Family::kSelect:
        return set(operation, concat(variable(ids[0]), " ? ", variable(ids[1]), " : ", variable(ids[2])));
      case Family::kCast:
        return cast(operation);
      case Family::kPointer:
        return pointer(operation);
      case Family::kControl:
        return control(operation);
      default:
        return other(operation);
    }
  }

  static std::string constant(Scalar scalar, uint64_t bits) {
    if (scalar == Scalar::kFloat32) return concat("tw_float(", bits, "u)");
    if (scalar == Scalar::kFloat64) return concat("tw_double(UINT64_C(", bits, "))");
    if (!is_signed(scalar)) return concat("UINT64_C(", bits, ")");
    const int64_t value = value_of_bits(scalar, bits);
    return value == INT64_MIN ? "INT64_MIN" : concat("INT64_C(", value, ")");
  }

  void require_computed(const Operation& operation, Scalar scalar) const {
    if (!computes(scalar))
      refuse(operation, concat("numbers of ", facts(scalar).name, " are computed in kernels only"));
  }
  [[noreturn]] void refuse_here(const Operation& operation) const {
    refuse(operation, concat(facts(operation.code).text, " is computed in kernels only"));
  }

  void unary(const Operation& operation) {
    const Scalar type = scalar(operation.operands[0]);
    const std::string x = variable(operation.operands[0]);
    require_computed(operation, type);
    if (operation.code == Opcode::kNeg) {
      return set(operation, is_float(type) ? "-" + x : wrapped(type, concat("0 - (uint64_t)", x)));
    }
    if (operation.code == Opcode::kAbs) {
      if (is_float(type)) return set(operation, concat("tw_abs(", x, ")"));
      return set(operation, wrapped(type, concat(x, " < 0 ? 0 - (uint64_t)", x, " : (uint64_t)", x)));
    }
    if (operation.code != Opcode::kNot || is_float(type)) refuse_here(operation);
    set(operation, type == Scalar::kBoolean ? concat(x, " == 0") : wrapped(type, "~" + x));
  }

  void binary(const Operation& operation) {
    const Scalar type = scalar(operation.operands[0]);
    const std::string x = variable(operation.operands[0]), y = variable(operation.operands[1]);
    require_computed(operation, type);
    if (operation.text == kHasToFit && uses_.is_live_value(operation.results.at(0))) return fitting(operation, x, y);
    set(operation, is_float(type) ? of_floats(operation, x, y) : of_integers(operation, type, x, y));
  }

  // A sum or product that something needs is refused where it does not fit, as evaluate.cpp refuses it.
  void fitting(const Operation& operation, const std::string& x, const std::string& y) {
    const char* name = operation.code == Opcode::kMul ? "mul" : operation.code == Opcode::kSub ? "sub" : "add";
    const ValueId id = operation.results.at(0);
    declare({id});
    line(concat("if (__builtin_", name, "_overflow(", x, ", ", y, ", &", variable(id), ")) return tw_fail(",
                kErrorInvalidValue, ", \"%s", does_not_fit(operation.code, scalar(id), "%lld", "%lld"), "\", ",
                quoted(where(operation)), ", (long long)", x, ", (long long)", y, ");"));
  }

  std::string of_floats(const Operation& operation, const std::string& x, const std::string& y) const {
    switch (operation.code) {
      case Opcode::kAdd:
        return x + " + " + y;
      case Opcode::kSub:
        return x + " - " + y;
      case Opcode::kMul:
        return x + " * " + y;
      case Opcode::kDiv:
        return x + " / " + y;
      case Opcode::kMin:  // a number where the other is none
        return concat(x, " < ", y, " || ", y, " != ", y, " ? ", x, " : ", y);
      case Opcode::kMax:
        return concat(x, " > ", y, " || ", y, " != ", y, " ? ", x, " : ", y);
      default:
        refuse_here(operation);
    }
  }

  std::string of_integers(const Operation& operation, Scalar type, const std::string& x, const std::string& y) {
    const auto infix = [&](const char* symbol) {
      return wrapped(type, concat("(uint64_t)", x, " ", symbol, " (uint64_t)", y));
    };
    const auto divided = [&](const char* function) {
      fail_if(concat(y, " == 0"), kErrorInvalidValue, operation, "an integer is divided by 0");
      return wrapped(type, concat(is_signed(type) ? "tw_" : "tw_unsigned_", function, "(", x, ", ", y, ")"));
    };
    const std::string too_far = concat("(uint64_t)", y, " >= ", width_of(type));
    switch (operation.code) {
      case Opcode::kAdd:
        return infix("+");
      case Opcode::kSub:
        return infix("-");
      case Opcode::kMul:
        return infix("*");
      case Opcode::kAnd:
        return infix("&");
      case Opcode::kOr:
        return infix("|");
      case Opcode::kXor:
        return infix("^");
      case Opcode::kDiv:
        return divided("div");
      case Opcode::kRem:
        return divided("rem");
      case Opcode::kFloorDiv:
        return divided(is_signed(type) ? "floor_div" : "div");
      case Opcode::kFloorMod:
        return divided(is_signed(type) ? "floor_mod" : "rem");
      case Opcode::kMin:
        return concat(x, " < ", y, " ? ", x, " : ", y);
      case Opcode::kMax:
        return concat(x, " < ", y, " ? ", y, " : ", x);
      case Opcode::kShl:
        return wrapped(type, concat(too_far, " ? 0 : (uint64_t)", x, " << ", y));
      case Opcode::kShr:
        return concat(too_far, " ? (", x, " < 0 ? -1 : 0) : ", x, " >> ", y);
      default:
        refuse_here(operation);
    }
  }

  void compare(const Operation& operation) {
    require_computed(operation, scalar(operation.operands[0]));
    static constexpr std::pair<Opcode, const char*> kSymbols[] = {{Opcode::kEq, "=="}, {Opcode::kNe, "!="},
                                                                  {Opcode::kLt, "<"},  {Opcode::kLe, "<="},
                                                                  {Opcode::kGt, ">"},  {Opcode::kGe, ">="}};
    for (const auto& [code, symbol] : kSymbols) {
      if (code != operation.code) continue;
      set(operation, concat(variable(operation.operands[0]), " ", symbol, " ", variable(operation.operands[1])));
    }
  }

  void cast(const Operation& operation) {
    const ValueId id = operation.operands[0], result = operation.results.at(0);
    const Scalar from = scalar(id), to = scalar(result);
    const std::string x = variable(id);
    if (operation.code == Opcode::kBitcast) {
      line(concat(c_type(result), " ", variable(result), ";"));
      return line(concat("memcpy(&", variable(result), ", &", x, ", sizeof ", x, ");"));
    }
    require_computed(operation, from);
    require_computed(operation, to);
    if (is_float(to)) return set(operation, concat("(", c_type(to), ")(double)", x));
    if (!is_float(from)) return set(operation, wrapped(to, x));
    fail_if(concat("!(", x, " > -9e18 && ", x, " < 9e18)"), kErrorInvalidValue, operation,
            "a number does not fit into an integer");
    set(operation, wrapped(to, "(int64_t)" + x));
  }

  void pointer(const Operation& operation) {
    const std::string x = operation.operands.empty() ? "" : variable(operation.operands[0]);
    switch (operation.code) {
      case Opcode::kOffset: {
        const int bits = facts(scalar(operation.operands[0])).bits;
        return set(operation,
                   concat(x, " + (uint64_t)((int64_t)", variable(operation.operands[1]), " * ", bits, " / 8)"));
      }
      case Opcode::kRecast:
        return set(operation, x);
      case Opcode::kToPointer:
        return set(operation, "(uint64_t)" + x);
      case Opcode::kAddress:
        return set(operation, "(int64_t)" + x);
      default:
        refuse(operation, "memory of registers and shared memory is a kernel's");
    }
  }

  void control(const Operation& operation) {
    const auto& ids = operation.operands;
    const auto block = [&](std::size_t i) -> const Block& { return program_.blocks[operation.blocks[i]]; };
    declare(operation.results);
    if (operation.code == Opcode::kIf) {
      line(concat("if (", variable(ids[0]), ") {"));
      branch(block(0), operation.results);
      line("} else {");
      branch(block(1), operation.results);
      return line("}");
    }
    line("{");
    ++depth_;
    operation.code == Opcode::kFor ? loop(operation, block(0)) : repeat(operation, block(0), block(1));
    --depth_;
    line("}");
  }

  void branch(const Block& block, const std::vector<ValueId>& results) {
    run(block);
    ++depth_;
    assign(results, block.yields);
    --depth_;
  }

  void loop(const Operation& operation, const Block& body) {
    const std::string start = variable(operation.operands[0]), stop = variable(operation.operands[1]),
                      step = variable(operation.operands[2]);
    const ValueId index = body.parameters.at(0);
    const std::vector<ValueId> carried(body.parameters.begin() + 1, body.parameters.end());
    fail_if(step + " == 0", kErrorInvalidValue, operation, "the step of a loop is 0");
    declare(carried, &operation.operands, 3);
    const std::string at = variable(index) + "_";
    line(concat("for (int64_t ", at, " = ", start, "; ", step, " > 0 ? ", at, " < ", stop, " : ", at, " > ", stop, "; ",
                at, " += ", step, ") {"));
    ++depth_;
    line(concat("const ", c_type(index), " ", variable(index), " = ", wrapped(scalar(index), at), ";"));
    --depth_;
    branch(body, carried);
    line("}");
    assign(operation.results, carried);
  }

  void repeat(const Operation& operation, const Block& before, const Block& body) {
    declare(before.parameters, &operation.operands);
    line("for (;;) {");
    run(before);
    ++depth_;
    line(concat("if (!", variable(before.yields.at(0)), ") {"));
    ++depth_;
    assign(operation.results, before.yields, 0, 1);
    line("break;");
    --depth_;
    line("}");
    declare(body.parameters, &before.yields, 1);
    --depth_;
    branch(body, before.parameters);
    line("}");
  }

  void fail_if(const std::string& condition, int error, const Operation& operation, const std::string& why) {
    line(concat("if (", condition, ") return tw_fail(", error, ", \"%s\", ", quoted(where(operation) + why), ");"));
  }

  void other(const Operation& operation) {
    const auto& ids = operation.operands;
    switch (operation.code) {
      case Opcode::kAssert:
        return fail_if("!" + variable(ids[0]), kErrorAssert, operation, "assertion failed: " + operation.text);
      case Opcode::kPrintf:
        refuse(operation, "what is exported prints in kernels only");
      case Opcode::kTensorMap:
        return tensor_map(operation);
      case Opcode::kLaunch:
        return launch(operation);
      default:
        refuse(operation, concat(facts(operation.code).text,
                                 " is a kernel's operation; a host function that launches kernels touches no memory"));
    }
  }

  // As evaluate.cpp makes it, and with what the driver's encoder is asked for there.
  void tensor_map(const Operation& operation) {
    const auto& ids = operation.operands;
    const auto rank = static_cast<std::size_t>(operation.ints.at(0));
    const int64_t swizzle = operation.ints.at(1);
    const int bits = facts(scalar(ids[0])).bits;
    const auto fail = [&](const std::string& condition, const std::string& why, const std::string& value) {
      line(concat("if (", condition, ") return tw_fail(", kErrorInvalidValue, ", \"%s", why, "\", ",
                  quoted(where(operation)), ", (long long)", value, ");"));
    };
    declare(operation.results);
    line("{");
    ++depth_;
    std::string shape, strides, box;
    for (std::size_t i = 0; i < rank; ++i) {
      const std::string extent = variable(ids[1 + i]);
      fail(concat(extent, " < 1 || ", extent, " > INT64_C(", kMostMapExtent, ")"), beyond_map_extent(i, "%lld"),
           extent);
      shape += concat(i == 0 ? "" : ", ", "(uint64_t)", extent);
      box += concat(i == 0 ? "" : ", ", operation.ints.at(2 + i));
    }
    for (std::size_t i = 1; i < rank; ++i) {
      const std::string bytes = concat("stride", i);
      line(concat("const int64_t ", bytes, " = tw_map_stride(", variable(ids[1 + i]), ", (int64_t)",
                  variable(ids[rank + i]), " * ", bits, " / 8);"));
      fail(concat(bytes, " % ", kMapAlignment, " != 0 || ", bytes, " < 0 || ", bytes, " >= INT64_C(", kMapStrideLimit,
                  ")"),
           beyond_map_stride(i, "%lld"), bytes);
      strides += concat(i == 1 ? "" : ", ", "(uint64_t)", bytes);
    }
    line(concat("const uint64_t shape[] = {", shape, "}, strides[] = {", rank == 1 ? "0" : strides, "};"));
    line(concat("const unsigned box[] = {", box, "};"));
    line(concat("const int error = tw_encode(&", variable(operation.results.at(0)), ", TW_", operation.text, ", ", rank,
                ", ", variable(ids[0]), ", shape, strides, box, ", swizzle, ");"));
    line("if (error != 0) return error;");
    --depth_;
    line("}");
  }

  void launch(const Operation& operation) {
    if (operation.ints.size() > kWithoutEvents) refuse(operation, "what is exported records no events at launches");
    constexpr std::size_t kSizes = 10;
    std::string sizes, arguments;
    for (std::size_t i = 0; i < operation.operands.size(); ++i) {
      const std::string name = variable(operation.operands[i]);
      (i < kSizes ? sizes : arguments) += i == 0 || i == kSizes ? "" : ", ";
      (i < kSizes ? sizes : arguments) += i < kSizes ? name : "(void *)&" + name;
    }
    line("{");
    ++depth_;
    line(concat("const int64_t sizes[] = {", sizes, "};"));
    line(concat("void *arguments[] = {", arguments.empty() ? "0" : arguments, "};"));
    const int64_t kernel = operation.ints.at(0);
    line(concat("const int error = tw_launch(&tw_kernels[", kernel, "], module->kernels[", kernel, "], sizes, ",
                operation.ints.at(kCooperative), ", ", operation.ints.at(kProgrammatic), ", stream, arguments);"));
    line("if (error != 0) return error;");
    --depth_;
    line("}");
  }

  const Program& program_;
  const Function& function_;
  Uses uses_;
  std::string text_;
  std::size_t depth_ = 0;
};

}  // namespace

std::string host_c_source(const Program& program, const Function& function, const std::string& name) {
  return HostText(program, function).text(name);
}

}  // namespace tilewright::program

// Operations between threads, and what has effects of its own.
#include "core/error.hpp"
#include "emitter.hpp"
#include "program/fold.hpp"

namespace tilewright::program {

namespace {

constexpr int64_t kWholeWarp = 31;  // of a shuffle's clamp

}  // namespace

// A shuffle moves 32 or 64 bits; narrower values are taken as a word.
std::string Emitter::warp_shuffled(Scalar scalar, const std::string& function, const std::string& mask,
                                   const Expr& value, const std::string& rest) {
  const auto shuffled = [&](const std::string& x) { return concat(function, "(", mask, ", ", x, rest, ")"); };
  if (scalar == Scalar::kBoolean) return concat(shuffled("int(" + value.text + ")"), " != 0");
  if (scalar == Scalar::kTFloat32) return concat("TFloat32{", shuffled(within(value, Level::kPrimary) + ".value"), "}");
  if (is_narrow(scalar)) {
    const std::string_view bits = facts(scalar).bits == 16 ? "uint16" : "uint8";
    return concat(value_type(scalar), "{", bits, "(", shuffled("int(" + within(value, Level::kPrimary) + ".bits)"),
                  ")}");
  }
  if (width_of(scalar) < 32) return concat(value_type(scalar), "(", shuffled("int(" + value.text + ")"), ")");
  return shuffled(value.text);
}

void Emitter::warp(const Operation& operation) {
  const auto& x = operation.operands;
  const ValueId id = operation.results[0];
  const Type& result = type(id);
  const std::string name = new_name(id);
  const auto define_as = [&](const std::string& text) {
    line(concat(declared_type(result), " ", name, " = ", text, ";"));
    bind(id, name);
  };
  const auto mask = [&](std::size_t i) -> std::string {
    return x.size() <= i || constant(x[i]) == -1 ? "0xffffffffu" : value(x[i]).text;
  };
  const auto each = [&](const std::function<std::string(const Expr&)>& f) {
    if (!result.is_vector()) return define_as(f(value(x[0])));
    line(concat(declared_type(result), " ", name, ";"));
    const std::string from = variable(x[0]);
    unrolled(result.lanes, index_,
             [&] { line(concat(name, "[", index_, "] = ", f({concat(from, "[", index_, "]")}), ";")); });
    bind(id, name);
  };
  switch (operation.code) {
    case Opcode::kShuffleSync: {
      const bool is_up = operation.text == "up";
      const int64_t clamp = operation.ints.empty() ? (is_up ? 0 : kWholeWarp) : operation.ints[0];
      // Which lanes are exchanged with which: segments of a power of two.
      const int64_t width = 32 - (clamp >> 8);
      if ((clamp & 31) != (is_up ? 0 : kWholeWarp) || (width & (width - 1)) != 0 || width < 1) {
        throw ProgramError(concat("shuffle_sync ", operation.text, ": mask_and_clamp is ", clamp, "; expected ",
                                  is_up ? 0 : kWholeWarp,
                                  " + 256 * (32 - width) with a width of 1, 2, 4, 8, 16 or 32"));
      }
      const std::string function = concat("__shfl_",
                                          operation.text == "bfly"  ? "xor_"
                                          : operation.text == "idx" ? ""
                                                                    : operation.text + "_",
                                          "sync");
      const std::string rest = concat(", ", value(x[1]).text, width == 32 ? "" : concat(", ", width));
      const std::string lanes = mask(2);
      return each([&](const Expr& each) { return warp_shuffled(result.scalar, function, lanes, each, rest); });
    }
    case Opcode::kUniform:
      return each(
          [&](const Expr& each) { return warp_shuffled(result.scalar, "__shfl_sync", "0xffffffffu", each, ", 0"); });
    case Opcode::kVote: {
      const std::string text = concat("__", operation.text, "_sync(", mask(1), ", ", value(x[0]).text, ")");
      return define_as(result.scalar == Scalar::kBoolean ? text + " != 0" : text);
    }
    case Opcode::kMatch:
      if (operation.text == "any") return define_as(concat("__match_any_sync(", mask(1), ", ", value(x[0]).text, ")"));
      line(concat("int ", name, "_all;"));
      return define_as(concat("__match_all_sync(", mask(1), ", ", value(x[0]).text, ", &", name, "_all)"));
    case Opcode::kReduxSync:
      if (is_float(result.scalar)) {
        throw ProgramError(concat("redux_sync of ", facts(result.scalar).text, ": expected an integer"));
      }
      if (width_of(result.scalar) != 32) {
        arithmetic_.need("tilewright/lang_reduce.cuh");
        const std::string type = declared_type(result);
        const std::string both = operation.text == "add"   ? "a + b"
                                 : operation.text == "min" ? "a < b ? a : b"
                                 : operation.text == "max" ? "a < b ? b : a"
                                 : operation.text == "and" ? "a & b"
                                 : operation.text == "or"  ? "a | b"
                                                           : "a ^ b";
        return define_as(concat("reduce_sync<", type, ">(", mask(1), ", ", value(x[0]).text, ", [](", type, " a, ",
                                type, " b) { return ", both, "; })"));
      }
      return define_as(concat("__reduce_", operation.text, "_sync(", mask(1), ", ", value(x[0]).text, ")"));
    default:
      arithmetic_.need("tilewright/lang_special.cuh");
      return define_as("elect_one()");
  }
}

void Emitter::sync(const Operation& operation) {
  const auto& x = operation.operands;
  const auto instruction = [&](const std::string& text) {
    line(concat("asm volatile(\"", text, "\" ::: \"memory\");"));
  };
  switch (operation.code) {
    case Opcode::kSyncThreads:
      return line("__syncthreads();");
    case Opcode::kSyncWarp:
      return line(concat("__syncwarp(", x.empty() ? "" : value(x[0]).text, ");"));
    case Opcode::kBarrier:
    case Opcode::kBarrierArrive: {
      const bool arrives = operation.code == Opcode::kBarrierArrive;
      if (x.size() < 2)
        return line(concat("asm volatile(\"bar.sync %0;\" ::\"r\"(", value(x[0]).text, ") : \"memory\");"));
      return line(concat("asm volatile(\"bar.", arrives ? "arrive" : "sync", " %0, %1;\" ::\"r\"(", value(x[0]).text,
                         "), \"r\"(", value(x[1]).text, ") : \"memory\");"));
    }
    case Opcode::kBulkCommit:
      return instruction("cp.async.bulk.commit_group;");
    case Opcode::kBulkWait:
      return line(concat("asm volatile(\"cp.async.bulk.wait_group", operation.ints.at(1) != 0 ? ".read" : "",
                         " %0;\" ::\"n\"(", operation.ints.at(0), ") : \"memory\");"));
    case Opcode::kClusterArrive:
      return instruction(concat("barrier.cluster.arrive.", operation.text, ".aligned;"));
    case Opcode::kClusterWait:
      return instruction("barrier.cluster.wait.acquire.aligned;");
    case Opcode::kFence:
      return instruction(concat("fence.", operation.text, ";"));
    case Opcode::kCpAsyncCommit:
      return instruction("cp.async.commit_group;");
    case Opcode::kCpAsyncWait:
      return line(
          concat("asm volatile(\"cp.async.wait_group %0;\" ::\"n\"(", operation.ints.at(0), ") : \"memory\");"));
    default:
      return instruction(concat("griddepcontrol.", operation.text, ";"));
  }
}

void Emitter::other(const Operation& operation) {
  switch (operation.code) {
    case Opcode::kClock: {
      const ValueId id = operation.results[0];
      const std::string name = new_name(id);
      bind(id, name);
      if (operation.text != "globaltimer") return line(concat("int64 ", name, " = clock64();"));
      line(concat("int64 ", name, ";"));
      return line(concat("asm volatile(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(", name, "));"));
    }
    case Opcode::kAssert: {
      const Place& place = program_.places[operation.place];
      open(concat("if (!", within(value(operation.operands[0]), Level::kPrimary), ") {"));
      std::string message = concat(place.file, ":", place.line, ": assertion failed",
                                   operation.text.empty() ? "" : ": " + operation.text, "\n");
      line(concat("printf(\"%s\", ", quoted(message), ");"));
      line("__trap();");
      return close();
    }
    case Opcode::kPrintf:
      return print(operation);
    case Opcode::kInlineAsm:
      return inline_asm(operation);
    case Opcode::kTrap:
      return line("__trap();");
    default:
      throw ProgramError(concat(facts(operation.code).text, " is no operation of a kernel"));
  }
}

}  // namespace tilewright::program

// Barriers that count arrivals and bytes.
#include "core/error.hpp"
#include "emitter.hpp"

namespace tilewright::program {

// The address of an access's only element, for functions of the device library.
std::string Emitter::shared_word(const Access& access) {
  return concat("reinterpret_cast<Barrier*>(", pointer_at(access, offset(access, access.modes, "0")), ")");
}

void Emitter::mbarrier(const Operation& operation) {
  arithmetic_.need("tilewright/mbarrier.cuh");
  const auto& x = operation.operands;
  const std::string barrier = shared_word(operation.accesses[0]);
  switch (operation.code) {
    case Opcode::kMbarrierInit:
      return line(concat("barrier_init(", barrier, ", ", value(x[0]).text, ");"));
    case Opcode::kMbarrierWait:
      return line(concat("barrier_wait(", barrier, ", ", value(x[0]).text, ");"));
    case Opcode::kMbarrierArrive: {
      const int64_t arrivals = operation.ints[0];
      const bool expects = operation.ints[1] != 0, is_there = x.size() > 1;
      const std::string where = is_there ? concat(", ", value(x[1]).text) : "";
      const std::string at = is_there ? "_at" : "";
      if (!expects) {
        const std::string count = arrivals == 1 ? "" : concat(", ", arrivals);
        return line(concat("barrier_arrive", at, "(", barrier, where, count, ");"));
      }
      const std::string bytes = concat(", ", value(x[0]).text);
      // An instruction arrives once where it expects bytes, too.
      return line(
          concat(arrivals == 0 ? "barrier_expect_only" : "barrier_expect", at, "(", barrier, bytes, where, ");"));
    }
    default: {
      const ValueId id = operation.results[0];
      const std::string name = new_name(id);
      const std::string test = concat("barrier_", operation.text, "(", barrier, ", ", value(x[0]).text, ")");
      const std::string text = x.size() > 1 ? concat("!", within(value(x[1]), Level::kPrimary), " || ", test) : test;
      line(concat("bool ", name, " = ", text, ";"));
      return bind(id, name);
    }
  }
}

}  // namespace tilewright::program

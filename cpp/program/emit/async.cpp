// Barriers that count arrivals and bytes, and copies in bulk.
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
    case Opcode::kCpAsyncArrive:
      return line(concat("barrier_arrive_by_copies(", barrier, ");"));
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

// One thread of the warp asks for a copy.
void Emitter::bulk(OpId id) {
  const Operation& operation = program_.operations[id];
  const auto& x = operation.operands;
  arithmetic_.need("tilewright/lang_pointer.cuh");
  std::string inputs;
  int64_t count = 0;
  const auto input = [&](const char* kind, const std::string& text) {
    inputs += concat(inputs.empty() ? "" : ", ", "\"", kind, "\"(", text, ")");
    return concat("%", count++);
  };
  const auto address = [&](std::size_t i) {
    const Access& access = operation.accesses[i];
    return pointer_at(access, offset(access, access.modes, "0"));
  };
  const auto shared = [&](std::size_t i) {
    return concat("[", input("r", concat("shared_address(", address(i), ")")), "]");
  };
  const auto global = [&](std::size_t i) { return concat("[", input("l", address(i)), "]"); };
  const auto map = [&] {
    return input("l", type(x[0]).is_tensor_map() ? concat("&", variables_.at(x[0])) : value(x[0]).text);
  };
  const auto box = [&](std::size_t end) {
    std::string text = concat("[", map(), ", {");
    for (std::size_t i = 1; i < end; ++i) text += concat(i == 1 ? "" : ", ", input("r", value(x[i]).text));
    return text + "}]";
  };
  const auto tensor = [&](std::size_t end) { return concat(".tensor.", end - 1, "d"); };
  std::string text, condition;
  switch (operation.code) {
    case Opcode::kTmaPrefetch:
      text = x.size() > 1 ? concat("cp.async.bulk.prefetch", tensor(x.size()), ".L2.global.tile ", box(x.size()))
                          : concat("prefetch.tensormap [", map(), "]");
      break;
    case Opcode::kTmaLoad: {
      const bool has_mask = operation.ints[1] != 0;
      if (operation.ints.size() > 2 && operation.ints[2] != 0) condition = value(x.back()).text;
      const std::size_t end = x.size() - (has_mask ? 1 : 0) - (condition.empty() ? 0 : 1);
      text = concat("cp.async.bulk", tensor(end), ".shared::cluster.global.tile.mbarrier::complete_tx::bytes",
                    has_mask ? ".multicast::cluster " : " ");
      text += shared(0) + ", ";
      text += box(end) + ", ";
      text += shared(1);
      if (has_mask) text += ", " + input("h", concat("static_cast<unsigned short>(", value(x[end]).text, ")"));
      break;
    }
    case Opcode::kTmaStore: {
      const bool reduces = !operation.text.empty();
      text = concat(reduces ? "cp.reduce.async.bulk" : "cp.async.bulk", tensor(x.size()), ".global.shared::cta.",
                    reduces ? operation.text + "." : "", "tile.bulk_group ");
      text += box(x.size()) + ", ";
      text += shared(0);
      break;
    }
    case Opcode::kBulkLoad:
      text = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes ";
      text += shared(1) + ", ";
      text += global(0) + ", ";
      text += concat(operation.ints[0], ", ");
      text += shared(2);
      break;
    default:
      text = "cp.async.bulk.global.shared::cta.bulk_group ";
      text += global(1) + ", ";
      text += shared(0) + ", ";
      text += concat(operation.ints[0]);
      break;
  }
  // Whoever comes here may say what it will need. Bulk copies may stand where one thread was elected already.
  const bool is_bulk = operation.code == Opcode::kBulkLoad || operation.code == Opcode::kBulkStore;
  const bool elects = (operation.code != Opcode::kTmaPrefetch || x.size() > 1) && condition.empty() &&
                      !(is_bulk && uses_.is_elected(id));
  if (elects) {
    arithmetic_.need("tilewright/lang_special.cuh");
    condition = "elect_one()";
  }
  if (!condition.empty()) condition = concat("if (", condition, ") ");
  line(concat(condition, "asm volatile(\"", text, ";\" :: ", inputs, " : \"memory\");"));
}

// Tensor maps that threads change in memory.
void Emitter::tensor_map(const Operation& operation) {
  const auto& x = operation.operands;
  arithmetic_.need("tilewright/tensor_map.cuh");
  const auto address = [&](std::size_t i) {
    const Access& access = operation.accesses[i];
    return pointer_at(access, offset(access, access.modes, "0"));
  };
  switch (operation.code) {
    case Opcode::kMapCopy:
      return line(concat("tensor_map_copy(", variables_.at(x[0]), ", ", address(0), ");"));
    case Opcode::kMapPublish:
      return line(concat("tensor_map_publish(", address(0), ", ", address(1), ");"));
    case Opcode::kMapAcquire:
      return line(concat("tensor_map_acquire(", address(0), ");"));
    default:
      break;
  }
  const auto rank = static_cast<std::size_t>(operation.ints[0]);
  const bool is_shared = type(operation.accesses[0].pointer).space == Space::kShared;
  const std::string at = "changed_map", map = is_shared ? "SharedTensorMap{" : "GlobalTensorMap{";
  arithmetic_.need("tilewright/lang_special.cuh");
  open("if (elect_one()) {");
  line(concat("const auto ", at, " = ", map, is_shared ? "shared_address(" : "global_address(", address(0), ")};"));
  line(concat(at, ".set_address(", value(x[0]).text, ");"));
  for (std::size_t m = 0; m < rank; ++m) {
    line(concat(at, ".set_extent<", m, ">(", value(x[1 + m]).text, ");"));
    if (m == 0) continue;
    const int bits = facts(type(x[0]).scalar).bits;
    const std::string bytes = bits == 8 ? "" : bits < 8 ? concat(" / ", 8 / bits) : concat(" * ", bits / 8);
    line(concat(at, ".set_stride<", m - 1, ">(", within(value(x[1 + rank + m]), Level::kPrimary), bytes, ");"));
  }
  close();
}

}  // namespace tilewright::program

#include "wgmma.hpp"

#include <algorithm>

#include "emit/vectorize.hpp"

namespace tilewright::program {

namespace {

constexpr int64_t kRegisterBytes = 4;

// Whether each instruction's values follow each other from a multiple of a register's on.
bool is_run(const Program& program, const Access& access, int64_t values, int64_t count) {
  const Type& type = program.type(access.pointer);
  const int64_t bytes = facts(type.scalar).bits / 8;
  const int64_t together = std::max<int64_t>(kRegisterBytes / bytes, 1);
  const auto parts = split(access.modes, {values, count});
  if (!parts || access.swizzle.bits != 0 || type.align % std::max(bytes, kRegisterBytes) != 0) return false;
  int64_t stride = 1;
  for (const AccessMode& mode : (*parts)[0]) {
    if (mode.extent == 1) continue;
    if (mode.dynamic != kNoValue || mode.stride != stride) return false;
    stride *= mode.extent;
  }
  return std::all_of((*parts)[1].begin(), (*parts)[1].end(), [&](const AccessMode& mode) {
    return mode.dynamic == kNoValue && (mode.extent == 1 || mode.stride % together == 0);
  });
}

Wgmma::Form form_at(const std::vector<int64_t>& ints, std::size_t i) {
  return {ints[i], ints[i + 1], ints[i + 2], ints[i + 3] != 0};
}

}  // namespace

Wgmma::Wgmma(const std::vector<int64_t>& ints)
    : n(ints.at(0)),
      k(ints.at(1)),
      rows(ints.at(2)),
      columns(ints.at(3)),
      depth(ints.at(4)),
      is_a_in_registers(ints.at(5) != 0),
      a(form_at(ints, 6)),
      b(form_at(ints, 10)) {}

uint64_t descriptor_of(const Wgmma::Form& form) {
  const uint64_t code = form.span == 128 ? 1 : form.span == 64 ? 2 : form.span == 32 ? 3 : 0;
  return static_cast<uint64_t>(form.leading >> 4 & 0x3FFF) << 16 |
         static_cast<uint64_t>(form.stride >> 4 & 0x3FFF) << 32 | code << 62;
}

std::optional<std::string> wrong_with_wgmma(const Program& program, const std::vector<Access>& accesses,
                                            const std::vector<int64_t>& ints) {
  if (ints.size() != Wgmma::kInts || accesses.size() != 3) return "expected d, a, b and 14 integers";
  const Wgmma w(ints);
  const auto type = [&](std::size_t i) -> const Type& { return program.type(accesses[i].pointer); };
  const int64_t sizes[] = {w.values_d() * w.rows * w.columns,
                           (w.is_a_in_registers ? w.values_a() : 1) * w.rows * w.depth, w.columns * w.depth};
  for (std::size_t i = 0; i < 3; ++i) {
    const bool is_held = i == 0 || (i == 1 && w.is_a_in_registers);
    if (!type(i).is_pointer()) return concat("access ", i, " has no pointer");
    if (type(i).space != (is_held ? Space::kRegister : Space::kShared)) {
      return concat("access ", i, " is not in ", is_held ? "registers" : "shared memory", ", but ", to_string(type(i)));
    }
    if (accesses[i].size() != sizes[i]) {
      return concat("access ", i, " has ", counted(accesses[i].size(), "element"), ", not ", sizes[i]);
    }
    const int64_t values = i == 0 ? w.values_d() : w.values_a();
    if (is_held && !is_run(program, accesses[i], values, sizes[i] / values)) {
      return concat("the values of an instruction do not follow each other in access ", i);
    }
    if (!is_held && accesses[i].swizzle.bits != 0) return concat("access ", i, " is swizzled");
  }
  return std::nullopt;
}

}  // namespace tilewright::program

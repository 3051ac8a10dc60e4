// Instructions of a warpgroup, which its four warps execute together: that all of them come to the same ones.
#include <bit>

#include "core/error.hpp"
#include "fragments.hpp"
#include "handlers.hpp"
#include "host/execute/shadow/shadow.hpp"

namespace tilewright::execute {

namespace {

using program::Opcode;

const char* name_of(const Warp& warp, const Instruction& i) {
  switch (warp.code->program->operations[i.operation].code) {
    case Opcode::kWgmma:
      return "wgmma";
    case Opcode::kWgmmaFence:
      return "warpgroup.fence";
    case Opcode::kWgmmaCommit:
      return "warpgroup.commit_group";
    case Opcode::kWgmmaWait:
      return "warpgroup.wait_group";
    default:
      return "setmaxregister";
  }
}

uint32_t line_of(const Warp& warp, const Instruction& i) { return warp.code->program->places[i.place].line; }

void set_max_register(Warp& warp, const Instruction& i) {
  look_at_lanes(warp, i, "setmaxregister");
  look_at_warpgroup(warp, i);
  warp.asked_registers = i.side;
  warp.asked_at = &i;
}

}  // namespace

void look_at_warpgroup(Warp& warp, const Instruction& i) {
  Cta& cta = *warp.cta;
  Warpgroup& group = cta.warpgroups[warp.index / kWarpsOfGroup];
  const uint64_t which = warp.in_group++ - group.first;
  if (which == group.steps.size()) {
    group.steps.push_back({&i, warp.index});
  } else if (const Warpgroup::Step& step = group.steps[which]; step.instruction->operation != i.operation) {
    const Warp& other = cta.warps[step.warp];
    Finding* finding = cta.count(warp, i, FindingKind::kLane, std::countr_zero(warp.live), step.instruction->place);
    if (finding != nullptr) {
      finding->message = concat("the four warps of a warpgroup execute ", name_of(warp, i), " together, and warp ",
                                other.index, " executes ", name_of(other, *step.instruction), " of line ",
                                line_of(other, *step.instruction), " instead; take the branch with all of them");
      finding->other = cta.thread_of(other, 0);
    }
  }
  // What all of them have executed is done with.
  const std::size_t first = warp.index / kWarpsOfGroup * kWarpsOfGroup;
  uint64_t least = warp.in_group;
  for (std::size_t w = first; w < std::min<std::size_t>(first + kWarpsOfGroup, cta.warps.size()); ++w) {
    least = std::min(least, cta.warps[w].in_group);
  }
  for (; group.first < least; ++group.first) group.steps.pop_front();
}

void find_unfinished_warpgroups(Cta& cta) {
  for (const Warp& warp : cta.warps) {
    const Warpgroup& group = cta.warpgroups[warp.index / kWarpsOfGroup];
    if (warp.in_group != group.first || group.steps.empty()) continue;
    const Warpgroup::Step& step = group.steps.front();
    const Warp& other = cta.warps[step.warp];
    Finding* finding = cta.report(other, *step.instruction, FindingKind::kLane, std::countr_zero(other.live), [&] {
      return concat("the four warps of a warpgroup execute ", name_of(other, *step.instruction), " together, and warp ",
                    warp.index, " comes to the kernel's end without it; take the branch with all of them");
    });
    if (finding != nullptr) finding->other = cta.thread_of(warp, 0);
  }
}

// A block has the registers that its threads begin with: who asks for more waits until others have given up as many.
void look_at_registers(Cta& cta) {
  constexpr uint32_t kFile = 65536, kStep = 8, kMost = 255;
  const auto threads = static_cast<uint32_t>(cta.warps.size()) * kLanes;
  const auto blocks = static_cast<uint32_t>(std::max<int64_t>(1, cta.warps[0].code->function->min_blocks));
  const uint32_t begin = kFile / (threads * blocks) / kStep * kStep;
  if (begin + kStep > kMost) return;  // the compiler may take fewer
  uint32_t all = 0;
  const Warp* most = nullptr;
  for (const Warp& warp : cta.warps) {
    all += kLanes * (warp.asked_at == nullptr ? begin : warp.asked_registers);
    if (warp.asked_at != nullptr && (most == nullptr || warp.asked_registers > most->asked_registers)) most = &warp;
  }
  if (most == nullptr || all <= begin * threads) return;
  cta.report(*most, *most->asked_at, FindingKind::kDeadlock, 0, [&] {
    return concat("threads of the block ask for ", all, " registers in all, and it has ", begin * threads, " (",
                  threads, " threads of ", begin,
                  "): who asks last waits for ever; let other warps keep fewer by "
                  "setmaxregister_decrease");
  });
}

Handler set_max_register_handler() { return &set_max_register; }

}  // namespace tilewright::execute

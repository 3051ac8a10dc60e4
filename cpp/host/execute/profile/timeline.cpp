#include "timeline.hpp"

#include <algorithm>
#include <utility>

namespace tilewright::execute {

using program::Opcode;

std::string_view text_of(SpanKind kind) {
  static constexpr std::string_view kTexts[] = {"run",       "barrier",    "mbarrier", "cluster barrier",
                                                "bulk load", "bulk store", "cp.async", "wgmma"};
  return kTexts[static_cast<std::size_t>(kind)];
}

uint32_t Timeline::open(const Warp& warp, const Instruction& instruction, SpanKind kind, int64_t barrier) {
  if (warp.cta->linear != cta_) return kNoSpan;
  spans.push_back({warp.index, kind, warp.clock - 1, 0, instruction.place, barrier});
  return static_cast<uint32_t>(spans.size() - 1);
}

void Timeline::close(uint32_t span, uint64_t step) {
  if (span == kNoSpan) return;
  uint64_t& end = spans[span].end;
  end = end == 0 ? step : std::min(end, step);
}

void Timeline::ask(const Warp& warp, const Instruction& instruction, SpanKind kind, Groups& groups) {
  if (groups.current == kNoSpan) groups.current = open(warp, instruction, kind, -1);
}

uint32_t Timeline::take_copies(const Warp& warp) {
  if (warp.cta->linear != cta_) return kNoSpan;
  return std::exchange(warps_[warp.index].copies.current, kNoSpan);
}

void Timeline::commit(Groups& groups) {
  groups.committed.push_back(groups.current);
  groups.current = kNoSpan;
}

void Timeline::wait(const Warp& warp, Groups& groups, std::size_t allowed) {
  while (groups.committed.size() > allowed) {
    close(groups.committed.front(), warp.clock);
    groups.committed.erase(groups.committed.begin());
  }
}

void Timeline::after(const Warp& warp, const Instruction& instruction) {
  if (warp.cta->linear != cta_) return;
  const program::Operation& operation = warp.code->program->operations[instruction.operation];
  const auto in_flight = [&]() -> InFlight& { return warps_[warp.index]; };
  const auto allowed = [&] {
    return operation.ints.empty() ? std::size_t{0} : static_cast<std::size_t>(operation.ints[0]);
  };
  switch (operation.code) {
    case Opcode::kCopy:
      if (operation.text == "cp.async") ask(warp, instruction, SpanKind::kCpAsync, in_flight().copies);
      return;
    case Opcode::kCpAsyncCommit:
      return commit(in_flight().copies);
    case Opcode::kCpAsyncWait:
      return wait(warp, in_flight().copies, allowed());
    case Opcode::kTmaStore:
    case Opcode::kBulkStore:
      return ask(warp, instruction, SpanKind::kBulkStore, in_flight().stores);
    case Opcode::kBulkCommit:
      return commit(in_flight().stores);
    case Opcode::kBulkWait:
      return wait(warp, in_flight().stores, allowed());
    case Opcode::kWgmma:
      return ask(warp, instruction, SpanKind::kWgmma, in_flight().products);
    case Opcode::kWgmmaCommit:
      return commit(in_flight().products);
    case Opcode::kWgmmaWait:
      return wait(warp, in_flight().products, allowed());
    default:
      return;
  }
}

void Timeline::end(const Warp& warp) {
  if (warp.cta->linear != cta_) return;
  spans.push_back({warp.index, SpanKind::kRun, 0, warp.clock, 0, -1});
  for (Span& span : spans) {
    if (span.warp == warp.index && span.end == 0) span.end = warp.clock;
  }
}

void Timeline::catch_up(Warp& warp, uint64_t step, SpanKind kind, int64_t barrier) {
  if (step <= warp.clock) return;
  if (warp.cta->linear == cta_) {
    const Instruction& instruction = warp.code->instructions[warp.pc - 1];
    spans.push_back({warp.index, kind, warp.clock, step, instruction.place, barrier});
  }
  warp.clock = step;
}

void Timeline::pass(Warp& warp, uint32_t at, const Mbarrier& barrier) {
  catch_up(warp, barrier.complete, SpanKind::kMbarrier, at);
  for (const uint32_t span : barrier.landed) close(span, warp.clock);
}

}  // namespace tilewright::execute

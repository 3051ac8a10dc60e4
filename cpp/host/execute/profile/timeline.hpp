// What the warps of one CTA do when.
//
// Time is counted in steps: a warp executes one instruction of the executor a step, and all warps do at the same time.
// A wait ends in the step of the last arrival that it waits for. Copies and products take no time of their own: they
// are under way from the step that asks for them to the first one that has waited for them.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "host/execute/machine.hpp"

namespace tilewright::execute {

enum class SpanKind : uint8_t { kRun, kBarrier, kMbarrier, kClusterBarrier, kBulkLoad, kBulkStore, kCpAsync, kWgmma };
std::string_view text_of(SpanKind kind);

// Steps [begin, end) of a warp.
struct Span {
  uint32_t warp;
  SpanKind kind;
  uint64_t begin, end;
  uint32_t place;   // an index into Program::places; 0 of kRun
  int64_t barrier;  // its number, or its byte in shared memory; -1: none
};

inline constexpr uint32_t kNoSpan = ~uint32_t{0};

class Timeline {
 public:
  explicit Timeline(uint64_t cta) : cta_(cta) {}

  // An instruction was executed.
  void after(const Warp& warp, const Instruction& instruction);
  // The warp has come to its end.
  void end(const Warp& warp);
  // What the warp waited for came in this step.
  void catch_up(Warp& warp, uint64_t step, SpanKind kind, int64_t barrier);
  // It has waited for a complete phase of an mbarrier.
  void pass(Warp& warp, uint32_t at, const Mbarrier& barrier);
  // A copy in bulk begins; kNoSpan where it is not of this CTA.
  uint32_t open(const Warp& warp, const Instruction& instruction, SpanKind kind, int64_t barrier);

  // The copies by cp.async that the warp has asked for since the last group, for an mbarrier that tells when they land.
  uint32_t take_copies(const Warp& warp);

  std::vector<Span> spans;

 private:
  // Groups of what a warp asks for: the one that is not committed, and those that were not waited for.
  struct Groups {
    uint32_t current = kNoSpan;
    std::vector<uint32_t> committed;
  };
  struct InFlight {
    Groups copies, stores, products;
  };
  void ask(const Warp& warp, const Instruction& instruction, SpanKind kind, Groups& groups);
  static void commit(Groups& groups);
  void wait(const Warp& warp, Groups& groups, std::size_t allowed);
  void close(uint32_t span, uint64_t step);

  uint64_t cta_;
  std::map<uint32_t, InFlight> warps_;
};

}  // namespace tilewright::execute

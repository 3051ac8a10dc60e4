// A CTA that is executed: its memory, its warps, and whose turn it is.
#pragma once

#include "machine.hpp"

namespace tilewright::execute {

uint64_t mixed(uint64_t x);  // SplitMix64

// Memory and warps of a CTA; used again for the next one.
class Block {
 public:
  Block(const Launch& launch, Shadow* shadow, Profile* profile, Timeline* timeline, FindingTable& findings,
        std::vector<Printed>& printed);

  Cta& cta() { return cta_; }

  void begin(uint64_t linear);

  enum class Progress : uint8_t { kOver, kTurn, kWaits };
  // Goes on until the CTA comes to its end, others have their turn, or all of its warps wait. Asks between turns
  // whether to give up.
  Progress advance(const std::function<bool()>& is_stopped);
  bool is_over() const { return cta_.has_ended; }
  // Whether a warp can go on that does not test one mbarrier again and again.
  bool can_go_on() const;
  // Nobody can go on: whether somebody waits at a named barrier, who is told about and let go.
  bool find_deadlock();
  // A warp that can go on, where there is one.
  const Warp* looping() const;
  // Whether each warp that can go on has come back to a state in which it was before, and nothing has changed since.
  bool is_stuck() const;

 private:
  void set_fixed(const Warp& warp) const;

  void set_of_block(const Warp& warp, const Special& special) const;

  // The next warp that can go on: one after the other, or as the seed chooses.
  Warp* next_ready();

  static void resume(Warp& warp);
  Progress end();

  bool within_limit(const Warp& warp);
  // Compares the warp's state at the end of a turn with those since the last change of memory.
  void note_turn(const Warp& warp);
  uint64_t changes() const;

  struct Loop {
    uint64_t changes = 0;
    std::vector<uint64_t> states;  // hashes
    bool is_stuck = false;
  };
  Cta cta_;
  std::size_t last_ = ~std::size_t{0};
  std::size_t turns_ = 0;
  std::vector<Loop> loops_;  // of warps
};

}  // namespace tilewright::execute

// A CTA that is executed: its memory, its warps, and whose turn it is.
#pragma once

#include "machine.hpp"

namespace tilewright::execute {

uint64_t mixed(uint64_t x);  // SplitMix64

// Memory and warps of a CTA; used again for the next one.
class Block {
 public:
  Block(const Launch& launch, Shadow* shadow, Profile* profile, FindingTable& findings, std::vector<Printed>& printed);

  Cta& cta() { return cta_; }

  void begin(uint64_t linear);

  // Whether the CTA came to its end; otherwise others have their turn. Asks between turns whether to give up.
  bool advance(const std::function<bool()>& is_stopped);

 private:
  void set_fixed(const Warp& warp) const;

  void set_of_block(const Warp& warp, const Special& special) const;

  // The next warp that can go on: one after the other, or as the seed chooses.
  Warp* next_ready();

  static void resume(Warp& warp);

  // Nobody can go on: whether somebody waits, who is told about and let go.
  bool find_deadlock();

  bool within_limit(const Warp& warp);

  Cta cta_;
  std::size_t last_ = ~std::size_t{0};
  std::size_t turns_ = 0;
};

}  // namespace tilewright::execute

// Which registers of wgmma the compiler must keep in place at each fence and each wait.
//
//   fence     those that a wgmma behind it uses, before the next fence: what they hold must be written before it
//   wait N    those of a wgmma that may be behind N younger groups, and that no wait has finished before: what reads
//             or writes them again must stay behind it
//
// Registers are those of a frame. All that may be under way is told by walking the blocks, around loops until nothing
// changes.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "uses.hpp"

namespace tilewright::program {

class HeldFrames {
 public:
  HeldFrames(const Program& program, const Uses& uses, BlockId body);

  bool is_used(ValueId frame) const { return frames_.count(frame) != 0; }
  // At a fence or a wait.
  const std::set<ValueId>& at(OpId op) const { return held_.at(op); }

 private:
  struct Ages {  // groups committed since wgmma was issued, 0: it is in none yet; at least and at most
    int64_t least, most;
  };
  using UnderWay = std::map<ValueId, Ages>;
  using Frames = std::set<ValueId>;

  void collect(BlockId block);
  std::vector<ValueId> frames_of(const Operation& wgmma) const;
  ValueId frame_of(const Access& access) const;
  // What is under way behind a block, of what is before it.
  UnderWay behind(BlockId block, UnderWay before);
  void wait(OpId op, UnderWay& under_way);
  // What is used in front of a block before the next fence, of what is behind it.
  Frames in_front(BlockId block, Frames behind);

  const Program& program_;
  const Uses& uses_;
  Frames frames_;
  std::map<OpId, Frames> held_;
  int64_t oldest_ = 1;  // no wait tells groups that are older from each other
};

}  // namespace tilewright::program

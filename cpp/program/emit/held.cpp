#include "held.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "program/wgmma.hpp"

namespace tilewright::program {

HeldFrames::HeldFrames(const Program& program, const Uses& uses, BlockId body) : program_(program), uses_(uses) {
  collect(body);
  if (frames_.empty()) return;
  behind(body, {});
  in_front(body, {});
}

// Every wgmma's registers; a fence or a wait holds none yet.
void HeldFrames::collect(BlockId block) {
  for (const OpId id : program_.blocks[block].operations) {
    const Operation& operation = program_.operations[id];
    for (const BlockId inner : operation.blocks) collect(inner);
    if (operation.code == Opcode::kWgmma) {
      for (const ValueId frame : frames_of(operation)) frames_.insert(frame);
    } else if (operation.code == Opcode::kWgmmaFence) {
      held_[id];
    } else if (operation.code == Opcode::kWgmmaWait) {
      held_[id];
      oldest_ = std::max(oldest_, operation.ints.at(0) + 1);
    }
  }
}

std::vector<ValueId> HeldFrames::frames_of(const Operation& wgmma) const {
  std::vector<ValueId> frames = {frame_of(wgmma.accesses[0])};
  if (Wgmma(wgmma.ints).is_a_in_registers) frames.push_back(frame_of(wgmma.accesses[1]));
  return frames;
}

// The frame in which the registers of an access are.
ValueId HeldFrames::frame_of(const Access& access) const {
  ValueId id = access.pointer;
  for (;;) {
    const Operation* producer = uses_.producer(id);
    if (producer == nullptr) break;
    if (producer->code == Opcode::kFrame) return id;
    if (producer->code != Opcode::kOffset && producer->code != Opcode::kRecast) break;
    id = producer->operands[0];
  }
  throw ProgramError("wgmma: which registers it uses is not known where the kernel is compiled");
}

HeldFrames::UnderWay HeldFrames::behind(BlockId block, UnderWay state) {
  // What either of two ways leads to; whether that is more than the first alone.
  const auto join = [](UnderWay& one, const UnderWay& other) {
    bool is_more = false;
    for (const auto& [frame, ages] : other) {
      const auto [at, is_new] = one.emplace(frame, ages);
      const Ages before = at->second;
      at->second = {std::min(before.least, ages.least), std::max(before.most, ages.most)};
      is_more = is_more || is_new || before.least != at->second.least || before.most != at->second.most;
    }
    return is_more;
  };
  for (const OpId id : program_.blocks[block].operations) {
    const Operation& operation = program_.operations[id];
    switch (operation.code) {
      case Opcode::kWgmma:
        for (const ValueId frame : frames_of(operation)) state.emplace(frame, Ages{0, 0}).first->second.least = 0;
        break;
      case Opcode::kWgmmaCommit:
        for (auto& [frame, ages] : state) {
          ages = {std::min(ages.least + 1, oldest_), std::min(ages.most + 1, oldest_)};
        }
        break;
      case Opcode::kWgmmaWait:
        wait(id, state);
        break;
      case Opcode::kIf: {
        UnderWay either;
        for (const BlockId inner : operation.blocks) join(either, behind(inner, state));
        state = std::move(either);
        break;
      }
      case Opcode::kFor:
        while (join(state, behind(operation.blocks[0], state))) {
        }
        break;
      case Opcode::kWhile: {
        UnderWay tested;
        do {
          tested = behind(operation.blocks[0], state);
        } while (join(state, behind(operation.blocks[1], tested)));
        state = std::move(tested);
        break;
      }
      default:
        break;
    }
  }
  return state;
}

void HeldFrames::wait(OpId op, UnderWay& under_way) {
  const int64_t younger = program_.operations[op].ints.at(0);
  for (auto at = under_way.begin(); at != under_way.end();) {
    Ages& ages = at->second;
    if (ages.most > younger) held_[op].insert(at->first);
    if (ages.least > younger) {
      at = under_way.erase(at);
    } else {
      ages.most = std::min(ages.most, younger);
      ++at;
    }
  }
}

HeldFrames::Frames HeldFrames::in_front(BlockId block, Frames state) {
  const auto join = [](Frames& one, const Frames& other) {
    const std::size_t before = one.size();
    one.insert(other.begin(), other.end());
    return one.size() != before;
  };
  const std::vector<OpId>& operations = program_.blocks[block].operations;
  for (auto at = operations.rbegin(); at != operations.rend(); ++at) {
    const Operation& operation = program_.operations[*at];
    switch (operation.code) {
      case Opcode::kWgmma:
        for (const ValueId frame : frames_of(operation)) state.insert(frame);
        break;
      case Opcode::kWgmmaFence:
        held_[*at].insert(state.begin(), state.end());
        state.clear();
        break;
      case Opcode::kIf: {
        Frames either;
        for (const BlockId inner : operation.blocks) join(either, in_front(inner, state));
        state = std::move(either);
        break;
      }
      // Behind a round is the next one, or what is behind the loop.
      case Opcode::kFor:
        while (join(state, in_front(operation.blocks[0], state))) {
        }
        break;
      case Opcode::kWhile:
        while (join(state, in_front(operation.blocks[1], in_front(operation.blocks[0], state)))) {
        }
        state = in_front(operation.blocks[0], std::move(state));
        break;
      default:
        break;
    }
  }
  return state;
}

}  // namespace tilewright::program

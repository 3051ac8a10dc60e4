// What of a function is needed, where its values are defined and how often they are used.
#pragma once

#include <vector>

#include "program/program.hpp"

namespace tilewright::program {

inline constexpr OpId kNoOp = ~OpId{0};

struct Definition {
  enum class Kind : uint8_t { kNone, kResult, kBlockParameter };
  Kind kind = Kind::kNone;
  OpId op = kNoOp;     // the operation, or the one that holds the block; kNoOp for a parameter of the function
  uint32_t index = 0;  // of the result or parameter
  BlockId block = 0;
};

class Uses {
 public:
  Uses(const Program& program, const Function& function);

  // Whether the operation has an effect, or a result that something with an effect needs.
  bool is_live(OpId op) const { return live_ops_[op]; }
  bool is_live_value(ValueId id) const { return live_values_[id]; }
  const Definition& definition(ValueId id) const { return definitions_[id]; }
  // The operation that gives it, nullptr for a parameter.
  const Operation* producer(ValueId id) const;
  uint32_t count(ValueId id) const { return counts_[id]; }
  // The block in which its last counted use stands; for one that is used once, its only one.
  BlockId use_block(ValueId id) const { return use_blocks_[id]; }
  // Of that use: the operation, or kNoOp where the block yields it.
  OpId user(ValueId id) const { return users_[id]; }
  // The operation that holds a block, kNoOp for a function's body.
  OpId owner(BlockId block) const { return owners_[block]; }
  BlockId block_of(OpId op) const { return blocks_of_ops_[op]; }
  // Whether one thread of a warp was elected where it stands: inside of `with elect_one():`.
  bool is_elected(OpId op) const;
  // Uses of a value by what stands in the blocks of an operation.
  uint32_t count_inside(ValueId id, OpId op) const;

 private:
  void define(BlockId block, OpId owner);
  bool mark_effects(BlockId block);
  void mark_op(OpId op);
  void mark(ValueId id);
  void mark_access(const Access& access);
  void drain();
  void count_block(BlockId block);
  void use(ValueId id, BlockId block, OpId user);
  uint32_t count_in_block(ValueId id, BlockId block) const;
  template <class F>
  void each_use(BlockId block, F&& f) const;

  const Program& program_;
  std::vector<Definition> definitions_;
  std::vector<bool> live_values_, live_ops_;
  std::vector<uint32_t> counts_;
  std::vector<BlockId> use_blocks_;
  std::vector<OpId> users_;
  std::vector<OpId> owners_;
  std::vector<BlockId> blocks_of_ops_;
  std::vector<ValueId> pending_;
};

}  // namespace tilewright::program

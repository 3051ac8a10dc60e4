// Builds a program while Python runs the function that is traced.
//
// Blocks are open or closed. Operations go into the innermost open block; a value can be used while the block that
// defines it is open. `begin_block` opens one inside, `end_block` closes it, and an operation of control takes it.
// Equal pure operations of open blocks are one operation, and operations on constants are their result.
//
// Operations of control:
//   if     cond; blocks [then, else], which yield the same types; results: what the chosen one yields
//   for    start, stop, step (one integer type), inits; block (index, carried...) -> carried...; ints [unroll];
//          results: carried. step > 0: while index < stop; step < 0: while index > stop. No trip: the inits.
//   while  inits; blocks before (carried...) -> (Boolean, carried...), body (carried...) -> carried...; results:
//   carried
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>

#include "program.hpp"

namespace tilewright::program {

struct Request {
  Opcode code;
  std::vector<ValueId> operands;
  std::vector<Type> types;  // of the results, where the operation does not fix them
  std::vector<BlockId> blocks;
  std::vector<Access> accesses;
  std::vector<int64_t> ints;
  std::string text;
};

class Builder {
 public:
  Builder();

  // Asked for the place of every new operation, where it is set.
  std::function<void(Builder&)> locate;
  // The place of the operations that follow.
  void place(const std::string& file, int line, const std::string& function);
  uint32_t place() const { return place_; }

  // Functions. A kernel is begun while its host function is open; the values of one are not visible in the other.
  std::vector<ValueId> begin_function(const std::string& name, bool is_kernel, const std::vector<Type>& parameters,
                                      const std::vector<std::string>& names);
  // The index of the function.
  std::size_t end_function(const std::vector<ValueId>& results);
  Function& function();  // the innermost open one
  bool in_function() const { return !open_functions_.empty(); }

  std::vector<ValueId> begin_block(const std::vector<Type>& parameters);
  BlockId end_block(const std::vector<ValueId>& yields);
  // Other yields for a closed block that no operation has taken yet: the block's own values, or visible ones.
  void set_yields(BlockId block, const std::vector<ValueId>& yields);
  // Closes the innermost block, which has no parameters, as a part of the one around it.
  void inline_block();
  // Whether the innermost block may run where it was not asked to: no effects, and nothing that can fail.
  bool can_speculate() const;
  // Closes what was opened since there were so many open blocks, after an error of the user's function.
  std::size_t depth() const { return open_.size(); }
  void abandon(std::size_t depth);

  // Adds the operation, or finds what it is equal to; the results.
  std::vector<ValueId> add(Request request);
  ValueId add_one(Request request) { return add(std::move(request)).at(0); }
  ValueId constant(Scalar scalar, uint64_t bits);
  ValueId integer(Scalar scalar, int64_t value);  // wraps
  // The pattern of a constant, none for another value.
  std::optional<uint64_t> constant_bits(ValueId id) const;
  std::optional<int64_t> constant_integer(ValueId id) const;

  void name(ValueId id, const std::string& name);
  bool visible(ValueId id) const;
  const Program& program() const { return program_; }
  Program& program() { return program_; }
  Program finish();

 private:
  struct OpenBlock {
    BlockId id;
    bool is_function;
    std::unordered_map<std::string, OpId> known;  // pure operations by their key
  };

  ValueId define(const Type& type, BlockId block);
  std::optional<ValueId> folded(const Request& request);
  void require_visible(const Request& request) const;

  Program program_;
  std::vector<OpenBlock> open_;
  std::vector<std::size_t> open_functions_;  // indices into program_.functions
  std::vector<std::optional<OpId>> definers_;
  std::vector<bool> closed_;  // of each block
  std::map<Place, uint32_t> places_;
  uint32_t place_ = 0;
};

// The builder of this thread's trace; nullptr at the prompt.
Builder* current();
void set_current(Builder* builder);

}  // namespace tilewright::program

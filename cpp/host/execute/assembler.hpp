// Collects the instructions of a kernel on registers without limit, and gives each a slot at the end.
#pragma once

#include <map>

#include "code.hpp"
#include "handlers.hpp"

namespace tilewright::execute {

using Register = uint32_t;  // takes the place of a Slot until all is collected

// The operands of an instruction.
struct In {
  Register a = kNoSlot;
  Register b = kNoSlot;
  Register c = kNoSlot;
};

class Assembler {
 public:
  explicit Assembler(Code& code) : code_(code) {}

  Register fresh(uint32_t bytes, uint32_t count = 1);
  // One that keeps what it holds from the beginning of the execution.
  Register permanent(uint32_t bytes);
  Register constant(uint64_t bits, uint32_t bytes);

  void place(uint32_t place, uint32_t operation) {
    place_ = place;
    operation_ = operation;
  }

  // `checked` is `run` where it is null. The reference holds until the next instruction.
  Instruction& add(Handler run, Register to, In in = {}, uint32_t count = 1, Handler checked = nullptr);
  // Instructions whose side table names registers.
  Instruction& add_memory(Handler run, Handler checked, Register to, In in, MemoryCode memory);
  Instruction& add_operands(Handler run, Register to, In in, uint32_t count, Operands operands);

  uint32_t position() const { return static_cast<uint32_t>(code_.instructions.size()); }
  void set_target(uint32_t instruction, uint32_t target) { code_.instructions[instruction].target = target; }
  // How the newest instruction's result depends on operands; the bytes of an element of each.
  void set_flow(Flow flow, uint32_t to = 0, uint32_t a = 0, uint32_t b = 0, uint32_t c = 0);
  // Instructions first to last are repeated.
  void loop(uint32_t first, uint32_t last) { loops_.push_back({first, last}); }
  void keep(Register reg, uint32_t first, uint32_t last);

  // Slots for all registers; those that are not in use at the same time share them.
  void finish();

 private:
  struct Life {
    uint32_t bytes = 0;
    bool is_permanent = false;
    uint32_t first = ~0u;
    uint32_t last = 0;
    Slot slot = kNoSlot;
  };
  struct Span {
    uint32_t first, last;
  };
  enum class Side : uint8_t { kNone, kMemory, kOperands };

  template <class F>
  void each_register(uint32_t instruction, F&& f);
  void find_lives();
  void give_slots();

  Code& code_;
  std::vector<Side> sides_;
  std::vector<Life> registers_;
  std::vector<Span> loops_;
  std::map<std::pair<uint64_t, uint32_t>, Register> constants_;
  uint32_t place_ = 0;
  uint32_t operation_ = 0;
};

}  // namespace tilewright::execute

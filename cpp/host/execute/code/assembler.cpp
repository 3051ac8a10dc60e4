#include "assembler.hpp"

#include <algorithm>

namespace tilewright::execute {

namespace {
constexpr uint32_t kAlignment = 64;
}

Register Assembler::fresh(uint32_t bytes, uint32_t count) {
  Life life;
  life.bytes = (bytes * count * kLanes + kAlignment - 1) / kAlignment * kAlignment;
  registers_.push_back(life);
  return static_cast<Register>(registers_.size() - 1);
}

Register Assembler::permanent(uint32_t bytes) {
  const Register reg = fresh(bytes);
  registers_[reg].is_permanent = true;
  return reg;
}

Register Assembler::constant(uint64_t bits, uint32_t bytes) {
  const auto [found, is_new] = constants_.try_emplace({bits, bytes}, 0);
  if (is_new) {
    found->second = permanent(bytes);
    code_.constants.push_back({found->second, bits, bytes});
  }
  return found->second;
}

Instruction& Assembler::add(Handler run, Register to, In in, uint32_t count, Handler checked) {
  Instruction instruction;
  instruction.run = run;
  instruction.checked = checked == nullptr ? run : checked;
  instruction.to = to;
  instruction.a = in.a;
  instruction.b = in.b;
  instruction.c = in.c;
  instruction.count = count;
  instruction.place = place_;
  instruction.operation = operation_;
  code_.instructions.push_back(instruction);
  sides_.push_back(Side::kNone);
  return code_.instructions.back();
}

Instruction& Assembler::add_memory(Handler run, Handler checked, Register to, In in, MemoryCode memory) {
  Instruction& instruction = add(run, to, in, 1, checked);
  instruction.side = static_cast<uint32_t>(code_.memory.size());
  code_.memory.push_back(std::move(memory));
  sides_.back() = Side::kMemory;
  return instruction;
}

Instruction& Assembler::add_operands(Handler run, Register to, In in, uint32_t count, Operands operands) {
  Instruction& instruction = add(run, to, in, count);
  instruction.side = static_cast<uint32_t>(code_.operands.size());
  code_.operands.push_back(std::move(operands));
  sides_.back() = Side::kOperands;
  return instruction;
}

void Assembler::set_flow(Flow flow, uint32_t to, uint32_t a, uint32_t b, uint32_t c) {
  Instruction& instruction = code_.instructions.back();
  instruction.flow = flow;
  instruction.bytes_to = static_cast<uint8_t>(to);
  instruction.bytes_a = static_cast<uint8_t>(a);
  instruction.bytes_b = static_cast<uint8_t>(b);
  instruction.bytes_c = static_cast<uint8_t>(c);
}

void Assembler::keep(Register reg, uint32_t first, uint32_t last) {
  registers_[reg].first = std::min(registers_[reg].first, first);
  registers_[reg].last = std::max(registers_[reg].last, last);
}

template <class F>
void Assembler::each_register(uint32_t i, F&& f) {
  Instruction& instruction = code_.instructions[i];
  const auto visit = [&](Slot& slot) {
    if (slot != kNoSlot) f(slot);
  };
  visit(instruction.to);
  visit(instruction.a);
  visit(instruction.b);
  visit(instruction.c);
  if (sides_[i] == Side::kMemory) {
    for (Slot& slot : code_.memory[instruction.side].slots) visit(slot);
    for (AccessCode& access : code_.memory[instruction.side].accesses) {
      visit(access.pointer);
      visit(access.dynamic);
      for (AccessCode::Mode& mode : access.modes) visit(mode.dynamic);
    }
  }
  if (sides_[i] == Side::kOperands) {
    for (Slot& slot : code_.operands[instruction.side].slots) visit(slot);
  }
}

void Assembler::find_lives() {
  for (uint32_t i = 0; i < position(); ++i) each_register(i, [&](Register reg) { keep(reg, i, i); });
  // What is defined in front of a loop and used inside is in use until the loop's end. Inner loops come first.
  std::sort(loops_.begin(), loops_.end(), [](const Span& a, const Span& b) { return a.last < b.last; });
  for (const Span& loop : loops_) {
    for (Life& life : registers_) {
      if (life.first < loop.first && life.last >= loop.first && life.last < loop.last) life.last = loop.last;
    }
  }
}

void Assembler::give_slots() {
  uint32_t top = 0;
  const auto grow = [&](Life& life) {
    life.slot = top;
    top += life.bytes;
  };
  std::vector<std::vector<Register>> begin(position() + 1), end(position() + 1);
  for (Register reg = 0; reg < registers_.size(); ++reg) {
    Life& life = registers_[reg];
    if (life.is_permanent) {
      grow(life);
    } else if (life.first != ~0u) {
      begin[life.first].push_back(reg);
      end[life.last].push_back(reg);
    }
  }
  std::map<uint32_t, std::vector<Slot>> free;  // by size
  for (uint32_t i = 0; i < position(); ++i) {
    for (const Register reg : begin[i]) {
      std::vector<Slot>& slots = free[registers_[reg].bytes];
      if (slots.empty()) {
        grow(registers_[reg]);
      } else {
        registers_[reg].slot = slots.back();
        slots.pop_back();
      }
    }
    // Behind the instruction: what it writes never lies where it reads.
    for (const Register reg : end[i]) free[registers_[reg].bytes].push_back(registers_[reg].slot);
  }
  code_.register_bytes = top;
}

void Assembler::finish() {
  find_lives();
  give_slots();
  for (uint32_t i = 0; i < position(); ++i) {
    each_register(i, [&](Slot& slot) { slot = registers_[slot].slot; });
  }
  for (Constant& constant : code_.constants) constant.slot = registers_[constant.slot].slot;
  for (Special& special : code_.specials) special.slot = registers_[special.slot].slot;
  for (Code::Parameter& parameter : code_.parameters) {
    if (parameter.slot != kNoSlot) parameter.slot = registers_[parameter.slot].slot;
  }
}

}  // namespace tilewright::execute

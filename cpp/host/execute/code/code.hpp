// A kernel as the CPU executes it: a flat list of instructions over the registers of a warp.
//
// A value lies in a slot: element after element, each with its 32 lanes side by side, so that a loop over lanes is a
// loop over neighbours. Arithmetic computes all lanes, active or not: a value is only read by lanes that were active
// where it was defined. What branches and loops yield, and memory, is written for the active lanes alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "program/program.hpp"

namespace tilewright::execute {

inline constexpr uint32_t kLanes = 32;
using Mask = uint32_t;
inline constexpr Mask kAllLanes = ~Mask{0};

using Slot = uint32_t;  // a byte offset into the registers of a warp
inline constexpr Slot kNoSlot = ~Slot{0};

namespace ptx {
struct Assembly;
}
struct Warp;
struct Instruction;
using Handler = void (*)(Warp& warp, const Instruction& instruction);

// How a result depends on operands, where some were never written.
enum class Flow : uint8_t {
  kNone,
  kDefined,
  kEach,  // element by element
  kSelect,
  kBlend,
  kSplat,
  kPack,
  kExtract,
  kExtractAt,
  kInsert,
  kInsertAt,
  kShuffle,
  kBitcast,
  kTogether,  // on all active lanes
  kBranch,
  kPrint,
  kAssembly,
  kAtomic,
  kBarrier,
  kMemory,
};

struct Instruction {
  Handler run = nullptr;
  Handler checked = nullptr;  // where findings are asked for
  Slot to = kNoSlot;
  Slot a = kNoSlot;
  Slot b = kNoSlot;
  Slot c = kNoSlot;
  uint32_t count = 1;  // elements of a vector
  bool one_a = false;  // the operand is a scalar that is repeated
  bool one_b = false;
  bool one_c = false;
  Flow flow = Flow::kNone;
  uint8_t bytes_to = 0;  // of an element
  uint8_t bytes_a = 0;
  uint8_t bytes_b = 0;
  uint8_t bytes_c = 0;
  uint32_t side = 0;    // an index into a side table of Code
  uint32_t target = 0;  // where to go on
  uint32_t place = 0;   // an index into Program::places
  uint32_t operation = 0;
};

// The elements that an operation touches. Addresses count bytes, of elements of 4 bits half bytes.
struct AccessCode {
  struct Mode {
    int64_t extent;
    int64_t stride;  // in address units
    Slot dynamic;    // or a value, in elements
    bool is_wide;    // an Int64
  };
  Slot pointer = kNoSlot;
  program::Space space = program::Space::kGeneric;
  program::Scalar scalar = program::Scalar::kInt32;
  uint32_t bytes = 4;        // of an element in registers
  uint32_t unit = 4;         // of an element in address units
  bool is_half = false;      // elements of 4 bits
  bool is_uniform = false;   // all lanes have one address
  bool is_static = false;    // offsets says it all
  bool is_aligned = false;   // by its type, to its elements
  bool is_fragment = false;  // in frames, and all lanes have one address: a row is 4 bytes of each lane side by side
  uint32_t count = 1;
  uint32_t align = 1;
  program::ByteSwizzle swizzle;          // of the address
  program::ByteSwizzle element_swizzle;  // of the sum, in elements
  int64_t offset = 0;                    // in elements
  Slot dynamic = kNoSlot;
  bool dynamic_is_wide = false;
  std::vector<Mode> modes;
  std::vector<int64_t> offsets;  // of each element, in address units
  uint32_t vector = 1;           // neighbouring elements that one instruction of the GPU moves
  uint32_t vector_step = 1;      // from element to element of these, in the order of the access
  int32_t parameter = -1;        // the kernel's parameter that the pointer comes from, where that is known
  int32_t allocation = -1;       // the frame, or the allocation of shared memory, that it comes from
  std::string name;              // the user's, of the pointer
};

struct MemoryCode {
  std::vector<AccessCode> accesses;
  std::vector<int64_t> ints;
  std::string text;
  std::vector<Slot> slots;        // of the operands, where the instruction has no room for them
  bool is_map_in_memory = false;  // of a copy of boxes: the first operand points to a tensor map
  bool is_result_used = false;    // of an atomic
  bool is_elected = false;        // of a bulk copy: it stands where one thread was elected already
};

struct Allocation {  // in a thread's frame, or in shared memory
  uint32_t offset;
  uint32_t bytes;
  std::string name;
};

struct Operands {  // of operations that take any number, or integers
  std::vector<Slot> slots;
  std::vector<program::Type> types;
  std::vector<int64_t> ints;
  std::string text;
  std::shared_ptr<const ptx::Assembly> assembly;  // of inline PTX
};

struct Special {
  program::Opcode code;
  int dimension;
  Slot slot;
};

struct Constant {
  Slot slot;
  uint64_t bits;
  uint32_t bytes;
};

struct Code {
  const program::Program* program = nullptr;
  const program::Function* function = nullptr;
  std::vector<Instruction> instructions;
  std::vector<MemoryCode> memory;
  std::vector<Operands> operands;
  std::vector<Constant> constants;
  std::vector<Special> specials;
  struct Parameter {
    Slot slot;
    uint32_t bytes;
    bool is_half;  // a pointer to elements of 4 bits
  };
  std::vector<Parameter> parameters;
  std::vector<Allocation> allocations;
  uint32_t register_bytes = 0;
  uint32_t frame_bytes = 0;
  uint32_t shared_granule = 4;  // bytes that are written or read together, always
  uint32_t global_granule = 4;
  uint32_t frame_granule = 4;
  bool has_wgmma = false;
  bool has_global_atomics = false;  // their order would depend on how CTAs are spread
};

// The code of a kernel; raises ProgramError where the CPU cannot execute an operation.
std::shared_ptr<const Code> translate(const program::Program& program, std::size_t kernel);

// The bytes of an element in registers.
inline uint32_t bytes_of(program::Scalar scalar) {
  const int bits = program::facts(scalar).bits;
  return bits < 8 ? 1 : static_cast<uint32_t>(bits / 8);
}
inline uint32_t bytes_of(const program::Type& type) { return type.is_number() ? bytes_of(type.scalar) : 8; }
inline bool is_half(program::Scalar scalar) { return program::facts(scalar).bits < 8; }

}  // namespace tilewright::execute

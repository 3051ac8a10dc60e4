// A program: what tracing a Python function gives. Text, CUDA C++, execution on the CPU and profiles derive from it.
//
// A function has one body block. Operations of control hold blocks of their own; a block ends by yielding values. Every
// value is defined once, by an operation or as a parameter of a block or function, and is visible to the operations
// behind it in that block and in the blocks inside.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/small_vector.hpp"
#include "opcode.hpp"
#include "type.hpp"

namespace tilewright::program {

// What is wrong with a program or with an operation that is to become part of one.
class ProgramError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using ValueId = uint32_t;  // an index into Program::values
inline constexpr ValueId kNoValue = ~ValueId{0};

struct Value {
  Type type;
  uint32_t block;    // where it is defined: an index into Program::blocks
  uint32_t place;    // an index into Program::places
  std::string name;  // the user's, where there is one
};

// A line of the user's Python.
struct Place {
  std::string file;
  int line = 0;
  std::string function;
  friend auto operator<=>(const Place&, const Place&) = default;
};

// Which elements an operation touches: pointer + swizzle(offset + sum of coordinate * stride), coordinates in
// colexicographic order. No modes: one element. All in elements.
struct AccessMode {
  int64_t extent = 1;
  int64_t stride = 0;
  ValueId dynamic = kNoValue;  // an Int32 or Int64 that is the stride instead
  int64_t divisor = 1;         // of it, by what the layout promises
  friend bool operator==(const AccessMode&, const AccessMode&) = default;
};

struct Access {
  ValueId pointer = kNoValue;
  std::vector<AccessMode> modes;
  ByteSwizzle swizzle;         // of the sum, in elements
  int64_t offset = 0;          // inside of the swizzle
  ValueId dynamic = kNoValue;  // added to offset
  int64_t divisor = 1;         // of it, by what the layout promises

  int64_t size() const {
    int64_t product = 1;
    for (const AccessMode& mode : modes) product *= mode.extent;
    return product;
  }
  friend bool operator==(const Access&, const Access&) = default;
};

using BlockId = uint32_t;  // an index into Program::blocks
using OpId = uint32_t;     // an index into Program::operations

struct Operation {
  Opcode code;
  uint32_t place = 0;
  std::vector<ValueId> operands;
  std::vector<ValueId> results;
  std::vector<BlockId> blocks;
  std::vector<Access> accesses;
  std::vector<int64_t> ints;
  uint64_t bits = 0;  // of a constant: the pattern in its scalar's width
  std::string text;
};

struct Block {
  std::vector<ValueId> parameters;
  std::vector<OpId> operations;
  std::vector<ValueId> yields;
};

struct Function {
  std::string name;
  bool is_kernel = true;
  BlockId body = 0;                     // its parameters are the function's
  std::vector<std::string> parameters;  // the user's names, of flattened arguments `a.shape[0]`
  int64_t shared_bytes = 0;             // static sum of what was allocated
  int64_t threads[3] = {0, 0, 0};       // the block's size where it is static, else 0
  int64_t cluster[3] = {1, 1, 1};
  int64_t min_blocks = 0;
  std::vector<ValueId> results;  // of a host function
};

struct Program {
  std::deque<Value> values;
  std::deque<Operation> operations;
  std::deque<Block> blocks;
  std::vector<Place> places;
  std::vector<Function> functions;

  const Type& type(ValueId id) const { return values[id].type; }
};

// The program as text: one operation a line.
std::string to_string(const Program& program);
std::string to_string(const Program& program, const Function& function);

}  // namespace tilewright::program

// What is known of integers before a kernel runs: between which bounds they lie, and what divides them.
#pragma once

#include <unordered_map>

#include "core/wide.hpp"
#include "uses.hpp"

namespace tilewright::program {

struct Range {
  Wide low, high;
  int64_t divisor = 1;  // 0: the value is 0
};

class Ranges {
 public:
  Ranges(const Program& program, const Function& function, const Uses& uses)
      : program_(program), function_(function), uses_(uses) {}

  Range of(ValueId id);
  // What x code y is where nothing wraps around.
  static Range exact(Opcode code, const Range& x, const Range& y);
  // Whether x code y fits the scalar, so that the operation needs no care.
  bool fits(Opcode code, Scalar scalar, ValueId x, ValueId y);
  bool is_negative_possible(ValueId id) { return of(id).low < 0; }
  static Range all_of(Scalar scalar);

 private:
  Range compute(ValueId id);
  Range of_parameter(const Definition& at, Scalar scalar);
  Range of_operation(const Operation& operation, uint32_t index, Scalar scalar);
  Range of_special(const Operation& operation) const;

  const Program& program_;
  const Function& function_;
  const Uses& uses_;
  std::unordered_map<ValueId, Range> known_;
};

}  // namespace tilewright::program

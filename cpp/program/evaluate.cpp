#include "evaluate.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "fold.hpp"

namespace tilewright::program {

namespace {

double float_of(Scalar scalar, uint64_t bits) {
  if (scalar == Scalar::kFloat64) {
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  float value = 0;
  const auto narrow = static_cast<uint32_t>(bits);
  std::memcpy(&value, &narrow, sizeof value);
  return value;
}

uint64_t float_bits(Scalar scalar, double value) {
  uint64_t bits = 0;
  if (scalar == Scalar::kFloat64) {
    std::memcpy(&bits, &value, sizeof value);
    return bits;
  }
  const auto narrow = static_cast<float>(value);
  uint32_t word = 0;
  std::memcpy(&word, &narrow, sizeof narrow);
  return word;
}

class Run {
 public:
  Run(const Program& program, std::size_t index) : program_(program), function_(program.functions[index]) {
    values_.resize(program.values.size());
  }

  HostRun operator()(const std::vector<uint64_t>& parameters) {
    const Block& body = program_.blocks[function_.body];
    if (parameters.size() != body.parameters.size()) {
      throw ProgramError(concat(function_.name, " takes ",
                                counted(static_cast<int64_t>(body.parameters.size()), "value"), ", but got ",
                                parameters.size()));
    }
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const ValueId id = body.parameters[i];
      values_[id] = program_.type(id).is_pointer() ? Evaluated{0, static_cast<int>(i)} : Evaluated{parameters[i], -1};
    }
    parameters_ = &parameters;
    run(body);
    require_fitting(function_.results);
    for (const ValueId id : function_.results) result_.results.push_back(values_[id]);
    return std::move(result_);
  }

 private:
  [[noreturn]] void refuse(const Operation& operation, const std::string& why) const {
    const Place& place = program_.places[operation.place];
    throw ProgramError(concat(place.file, ":", place.line, ": in ", function_.name, ", on the host: ", why));
  }

  Scalar scalar(ValueId id) const { return program_.type(id).scalar; }
  // What does not fit is refused where it is needed.
  void require_fitting(const std::vector<ValueId>& ids) const {
    for (const ValueId id : ids) require_fitting(id);
  }
  void require_fitting(ValueId id) const {
    if (values_[id].unfit == nullptr) return;
    const std::vector<ValueId>& ids = values_[id].unfit->operands;
    refuse(*values_[id].unfit, does_not_fit(values_[id].unfit->code, scalar(ids[0]), integer(ids[0]), integer(ids[1])));
  }
  int64_t integer(ValueId id) const { return value_of_bits(scalar(id), values_[id].bits); }
  double real(ValueId id) const { return float_of(scalar(id), values_[id].bits); }
  bool is_true(ValueId id) const { return values_[id].bits != 0; }
  void set(const Operation& operation, uint64_t bits) { values_[operation.results.at(0)] = Evaluated{bits, -1}; }

  void run(const Block& block) {
    for (const OpId id : block.operations) run(program_.operations[id]);
  }
  void assign(const std::vector<ValueId>& to, const std::vector<ValueId>& from, std::size_t skip_to = 0,
              std::size_t skip_from = 0) {
    std::vector<Evaluated> moved;
    for (std::size_t i = skip_from; i < from.size(); ++i) moved.push_back(values_[from[i]]);
    for (std::size_t i = 0; i < moved.size(); ++i) values_[to[i + skip_to]] = moved[i];
  }

  void run(const Operation& operation) {
    const auto& ids = operation.operands;
    compute(operation);
    if (!facts(operation.code).pure || operation.code == Opcode::kSelect) return;
    for (const ValueId id : ids) {
      if (values_[id].unfit != nullptr) values_[operation.results[0]].unfit = values_[id].unfit;
    }
  }

  void compute(const Operation& operation) {
    const auto& ids = operation.operands;
    switch (facts(operation.code).family) {
      case Family::kConstant:
        return set(operation, operation.bits);
      case Family::kUnary:
        return unary(operation);
      case Family::kBinary:
      case Family::kShift:
        return binary(operation);
      case Family::kCompare:
        return compare(operation);
      case Family::kSelect:
        require_fitting(ids[0]);
        values_[operation.results[0]] = values_[ids[is_true(ids[0]) ? 1 : 2]];
        return;
      case Family::kCast:
        return cast(operation);
      case Family::kPointer:
        return pointer(operation);
      case Family::kControl:
        return control(operation);
      default:
        return other(operation);
    }
  }

  void unary(const Operation& operation) {
    const ValueId id = operation.operands[0];
    if (is_float(scalar(id))) {
      const double x = real(id);
      switch (operation.code) {
        case Opcode::kNeg:
          return set(operation, float_bits(scalar(id), -x));
        case Opcode::kAbs:
          return set(operation, float_bits(scalar(id), std::fabs(x)));
        default:
          refuse(operation, concat(facts(operation.code).text, " is computed in kernels only"));
      }
    }
    const int64_t x = integer(id);
    const int64_t minus = static_cast<int64_t>(0 - static_cast<uint64_t>(x));
    switch (operation.code) {
      case Opcode::kNeg:
        return set(operation, bits_of_value(scalar(id), minus));
      case Opcode::kAbs:
        return set(operation, bits_of_value(scalar(id), x < 0 ? minus : x));
      case Opcode::kNot:
        return set(operation, scalar(id) == Scalar::kBoolean ? x == 0 : bits_of_value(scalar(id), ~x));
      default:
        refuse(operation, concat(facts(operation.code).text, " is computed in kernels only"));
    }
  }

  void binary(const Operation& operation) {
    const ValueId a = operation.operands[0], b = operation.operands[1];
    const Scalar type = scalar(a);
    if (is_float(type)) {
      const double x = real(a), y = real(b);
      const auto result = [&]() -> double {
        switch (operation.code) {
          case Opcode::kAdd:
            return x + y;
          case Opcode::kSub:
            return x - y;
          case Opcode::kMul:
            return x * y;
          case Opcode::kDiv:
            return x / y;
          case Opcode::kMin:
            return std::fmin(x, y);
          case Opcode::kMax:
            return std::fmax(x, y);
          default:
            refuse(operation, concat(facts(operation.code).text, " is computed in kernels only"));
        }
      }();
      return set(operation, float_bits(type, result));
    }
    const std::optional<int64_t> result = fold_binary(operation.code, type, integer(a), integer(b));
    if (!result) refuse(operation, "an integer is divided by 0");
    set(operation, bits_of_value(type, *result));
    if (operation.text == kHasToFit && !fits(operation.code, type, integer(a), integer(b))) {
      values_[operation.results[0]].unfit = &operation;
    }
  }

  void compare(const Operation& operation) {
    const ValueId a = operation.operands[0], b = operation.operands[1];
    if (!is_float(scalar(a))) {
      return set(operation, *fold_compare(operation.code, scalar(a), integer(a), integer(b)));
    }
    const double x = real(a), y = real(b);
    switch (operation.code) {
      case Opcode::kEq:
        return set(operation, x == y);
      case Opcode::kNe:
        return set(operation, x != y);
      case Opcode::kLt:
        return set(operation, x < y);
      case Opcode::kLe:
        return set(operation, x <= y);
      case Opcode::kGt:
        return set(operation, x > y);
      default:
        return set(operation, x >= y);
    }
  }

  void cast(const Operation& operation) {
    const ValueId id = operation.operands[0];
    const Scalar from = scalar(id), to = scalar(operation.results[0]);
    if (operation.code == Opcode::kBitcast) return set(operation, values_[id].bits);
    if (is_float(to)) {
      const double x = is_float(from)    ? real(id)
                       : is_signed(from) ? static_cast<double>(integer(id))
                                         : static_cast<double>(static_cast<uint64_t>(integer(id)));
      return set(operation, float_bits(to, x));
    }
    if (!is_float(from)) return set(operation, bits_of_value(to, integer(id)));
    const double x = std::trunc(real(id));
    if (!(std::fabs(x) < 9e18)) refuse(operation, concat(x, " does not fit into an integer"));
    set(operation, bits_of_value(to, static_cast<int64_t>(x)));
  }

  void pointer(const Operation& operation) {
    const ValueId id = operation.operands.empty() ? kNoValue : operation.operands[0];
    switch (operation.code) {
      case Opcode::kOffset: {
        Evaluated moved = values_[id];
        moved.bits += static_cast<uint64_t>(integer(operation.operands[1]) * facts(scalar(id)).bits / 8);
        values_[operation.results[0]] = moved;
        return;
      }
      case Opcode::kRecast:
      case Opcode::kToPointer:
        values_[operation.results[0]] = values_[id];
        return;
      case Opcode::kAddress: {
        const Evaluated& of = values_[id];
        return set(operation, of.bits + (of.base < 0 ? 0 : (*parameters_)[static_cast<std::size_t>(of.base)]));
      }
      default:
        refuse(operation, "memory of registers and shared memory is a kernel's");
    }
  }

  void control(const Operation& operation) {
    const auto& ids = operation.operands;
    const auto block = [&](std::size_t i) -> const Block& { return program_.blocks[operation.blocks[i]]; };
    if (operation.code == Opcode::kIf) {
      require_fitting(ids[0]);
      const Block& chosen = block(is_true(ids[0]) ? 0 : 1);
      run(chosen);
      return assign(operation.results, chosen.yields);
    }
    if (operation.code == Opcode::kFor) {
      const Scalar type = scalar(ids[0]);
      require_fitting({ids[0], ids[1], ids[2]});
      const int64_t stop = integer(ids[1]), step = integer(ids[2]);
      if (step == 0) refuse(operation, "the step of a loop is 0");
      assign(block(0).parameters, ids, 1, 3);
      for (int64_t i = integer(ids[0]); step > 0 ? i < stop : i > stop; i += step) {
        values_[block(0).parameters[0]] = Evaluated{bits_of_value(type, i), -1};
        run(block(0));
        assign(block(0).parameters, block(0).yields, 1);
      }
      return assign(operation.results, block(0).parameters, 0, 1);
    }
    assign(block(0).parameters, ids);
    for (;;) {
      run(block(0));
      require_fitting(block(0).yields[0]);
      const bool go_on = is_true(block(0).yields[0]);
      const auto& to = go_on ? block(1).parameters : operation.results;
      assign(to, block(0).yields, 0, 1);
      if (!go_on) return;
      run(block(1));
      assign(block(0).parameters, block(1).yields);
    }
  }

  void other(const Operation& operation) {
    const auto& ids = operation.operands;
    require_fitting(ids);
    switch (operation.code) {
      case Opcode::kAssert:
        if (!is_true(ids[0])) refuse(operation, concat("assertion failed: ", operation.text));
        return;
      case Opcode::kPrintf: {
        HostPrint print{result_.launches.size(), operation.text, {}, {}};
        for (const ValueId id : ids) {
          print.scalars.push_back(scalar(id));
          print.values.push_back(values_[id].bits);
        }
        result_.prints.push_back(std::move(print));
        return;
      }
      case Opcode::kLaunch: {
        Launched launched;
        launched.kernel = static_cast<std::size_t>(operation.ints.at(0));
        launched.ints = operation.ints;
        launched.place = operation.place;
        for (int i = 0; i < 3; ++i) {
          launched.grid[i] = integer(ids[i]);
          launched.block[i] = integer(ids[3 + i]);
          launched.cluster[i] = integer(ids[6 + i]);
        }
        launched.shared_bytes = integer(ids[9]);
        for (std::size_t i = 10; i < ids.size(); ++i) launched.arguments.push_back(values_[ids[i]]);
        launched.maps = maps_;
        result_.launches.push_back(std::move(launched));
        return;
      }
      case Opcode::kTensorMap:
        return tensor_map(operation);
      default:
        refuse(operation, concat(facts(operation.code).text,
                                 " is a kernel's operation; a host function that launches kernels touches no memory"));
    }
  }

  void tensor_map(const Operation& operation) {
    const auto& ids = operation.operands;
    const auto rank = static_cast<std::size_t>(operation.ints.at(0));
    MapOfTensor map;
    map.address = values_[ids[0]];
    map.element = operation.text;
    map.swizzle = operation.ints.at(1);
    const int64_t bits = map.bits = facts(scalar(ids[0])).bits;
    for (std::size_t i = 0; i < rank; ++i) {
      map.shape.push_back(integer(ids[1 + i]));
      map.box.push_back(operation.ints.at(2 + i));
      if (map.shape[i] < 1 || map.shape[i] > kMostMapExtent) {
        refuse(operation, beyond_map_extent(i, std::to_string(map.shape[i])));
      }
    }
    for (std::size_t i = 1; i < rank; ++i) {
      int64_t bytes = integer(ids[rank + i]) * bits / 8;
      // The stride of one element is never taken.
      if (map.shape[i] == 1) bytes = (std::max<int64_t>(bytes, 0) + kMapAlignment - 1) / kMapAlignment * kMapAlignment;
      if (bytes % kMapAlignment != 0 || bytes < 0 || bytes >= kMapStrideLimit) {
        refuse(operation, beyond_map_stride(i, std::to_string(bytes)));
      }
      map.strides.push_back(bytes);
    }
    set(operation, maps_.size());
    maps_.push_back(std::move(map));
  }

  const Program& program_;
  const Function& function_;
  const std::vector<uint64_t>* parameters_ = nullptr;
  std::vector<Evaluated> values_;
  std::vector<MapOfTensor> maps_;
  HostRun result_;
};

}  // namespace

std::string beyond_map_extent(std::size_t mode, const std::string& extent) {
  return concat("extent ", mode, " of the tensor is ", extent, "; TMA takes 1 to 2^32");
}

std::string beyond_map_stride(std::size_t mode, const std::string& bytes) {
  return concat("stride ", mode, " of the tensor is ", bytes, " bytes (the fastest mode is 0); TMA takes multiples of ",
                kMapAlignment, " below 2^40: pad the rows");
}

namespace {

struct Kinds {  // of the operations of a host function
  bool touches = false;
  bool launches = false;
};

void look_at(const Program& program, BlockId block, Kinds& kinds) {
  for (const OpId id : program.blocks[block].operations) {
    const Operation& operation = program.operations[id];
    const Family family = facts(operation.code).family;
    const bool is_vector =
        std::ranges::any_of(operation.results, [&](ValueId result) { return program.type(result).is_vector(); });
    kinds.touches |=
        family == Family::kMemory || family == Family::kVector || is_vector || operation.code == Opcode::kFrame;
    kinds.launches |= operation.code == Opcode::kLaunch;
    for (const BlockId inner : operation.blocks) look_at(program, inner, kinds);
  }
}

}  // namespace

bool is_thread(const Program& program, std::size_t index) {
  Kinds kinds;
  look_at(program, program.functions[index].body, kinds);
  return kinds.touches && !kinds.launches;
}

HostRun evaluate(const Program& program, std::size_t index, const std::vector<uint64_t>& parameters) {
  return Run(program, index)(parameters);
}

}  // namespace tilewright::program

#include "check.hpp"

#include <algorithm>
#include <numeric>

#include "builder.hpp"
#include "emit/vectorize.hpp"
#include "wgmma.hpp"

namespace tilewright::program {

namespace {

constexpr int64_t kWarpLanes = 32, kRegisterBytes = 4, kMatrixRowBits = 128, kBarrierBits = 64;
constexpr int64_t kBulkBytes = 16;
constexpr std::size_t kMostModes = 5;

// Whether the elements follow one another.
bool is_compact(const std::vector<AccessMode>& modes) {
  int64_t covered = 1;
  for (const AccessMode& mode : modes) {
    if (mode.extent == 1) continue;
    if (mode.dynamic != kNoValue || mode.stride != covered) return false;
    covered *= mode.extent;
  }
  return true;
}

// The request with what its errors are told by.
class Check {
 public:
  Check(const Program& program, const Request& request) : program_(program), request_(request) {}

  std::vector<Type> results() const {
    switch (facts(request_.code).family) {
      case Family::kConstant:
        return {given()};
      case Family::kSpecial:
        count(0);
        return {number(Scalar::kInt32)};
      case Family::kUnary:
        count(1);
        return {operand(0)};
      case Family::kBinary:
        count(2);
        return {of_lanes(same_scalar(0, 1), lanes(0, 1))};
      case Family::kShift:
        count(2);
        return {of_lanes(operand(0).scalar, lanes(0, 1))};
      case Family::kCompare:
        count(2);
        same_scalar(0, 1);
        return {of_lanes(Scalar::kBoolean, lanes(0, 1))};
      case Family::kSelect:
        return {select()};
      case Family::kFma:
        count(3);
        same_scalar(0, 1);
        return {of_lanes(same_scalar(1, 2), std::max(lanes(0, 1), lanes(1, 2)))};
      case Family::kCast:
        count(1);
        return {cast()};
      case Family::kVector:
        return {vector()};
      case Family::kPointer:
        return {pointer_result()};
      case Family::kMemory:
        return memory();
      case Family::kWarp:
        return {warp()};
      case Family::kSync:
        sync();
        return {};
      case Family::kControl:
        return control();
      case Family::kOther:
        return other();
    }
    return {};
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    std::string text(facts(request_.code).text);
    const char* before = "(";
    for (const ValueId id : request_.operands) {
      text += concat(before, to_string(program_.type(id)));
      before = ", ";
    }
    throw ProgramError(concat(text, request_.operands.empty() ? "" : ")", ": ", why));
  }

  void count(std::size_t n) const {
    if (request_.operands.size() != n) refuse(concat("expected ", n, " operands"));
  }
  const Type& operand(std::size_t i) const {
    if (i >= request_.operands.size()) refuse("an operand is missing");
    return program_.type(request_.operands[i]);
  }
  const Type& given(std::size_t i = 0) const {
    if (i >= request_.types.size()) refuse("the type of the result is missing");
    return request_.types[i];
  }
  Type of_lanes(Scalar scalar, uint32_t lanes) const { return number(scalar, lanes); }

  Scalar same_scalar(std::size_t i, std::size_t j) const {
    const Type &x = operand(i), &y = operand(j);
    if (!x.is_number() || !y.is_number() || x.scalar != y.scalar) refuse("expected numbers of one type");
    return x.scalar;
  }
  uint32_t lanes(std::size_t i, std::size_t j) const {
    const Type &x = operand(i), &y = operand(j);
    if (!x.is_number() || !y.is_number()) refuse("expected numbers");
    if (x.lanes != y.lanes && x.lanes != 1 && y.lanes != 1) refuse("the vectors have different lengths");
    return std::max(x.lanes, y.lanes);
  }

  Type select() const {
    count(3);
    const Type &condition = operand(0), &x = operand(1);
    if (!condition.is_number() || condition.scalar != Scalar::kBoolean) refuse("the condition is no Boolean");
    if (x.is_pointer()) {
      if (!(x == operand(2)) || condition.lanes != 1) refuse("expected two pointers of one type");
      return x;
    }
    const uint32_t both = lanes(1, 2);
    if (condition.lanes != 1 && both != 1 && condition.lanes != both) refuse("the vectors have different lengths");
    return of_lanes(same_scalar(1, 2), std::max(both, condition.lanes));
  }

  Type cast() const {
    const Type &from = operand(0), &to = given();
    if (!from.is_number() || !to.is_number()) refuse("expected numbers");
    if (request_.code == Opcode::kBitcast) {
      if (uint64_t{from.lanes} * facts(from.scalar).bits != uint64_t{to.lanes} * facts(to.scalar).bits) {
        refuse(concat("its bits are not those of ", to_string(to)));
      }
    } else if (from.lanes != to.lanes) {
      refuse(concat("its length is not that of ", to_string(to)));
    }
    return to;
  }

  Type vector() const {
    const auto& ints = request_.ints;
    switch (request_.code) {
      case Opcode::kSplat:
        count(1);
        return given();
      case Opcode::kPack: {
        for (std::size_t i = 0; i < request_.operands.size(); ++i) {
          if (operand(i).is_vector()) refuse("expected scalars");
          same_scalar(0, i);
        }
        return of_lanes(operand(0).scalar, static_cast<uint32_t>(request_.operands.size()));
      }
      case Opcode::kExtract:
        if (request_.operands.size() == 1) lane(ints.empty() ? -1 : ints[0]);
        return of_lanes(operand(0).scalar, 1);
      case Opcode::kInsert:
        if (request_.operands.size() == 2) lane(ints.empty() ? -1 : ints[0]);
        same_scalar(0, 1);
        return operand(0);
      case Opcode::kShuffle:
        count(1);
        for (const int64_t which : ints) lane(which);
        return of_lanes(operand(0).scalar, static_cast<uint32_t>(ints.size()));
      default: {  // reduce
        count(2);
        same_scalar(0, 1);
        if (ints.size() != operand(0).lanes) refuse("expected the group of every element");
        for (const int64_t group : ints) {
          if (group < 0 || group >= operand(1).lanes) refuse(concat("there is no group ", group));
        }
        return operand(1);
      }
    }
  }
  void lane(int64_t which) const {
    if (which < 0 || which >= operand(0).lanes) refuse(concat("there is no element ", which));
  }

  Type pointer_result() const {
    if (request_.code == Opcode::kAddress) {
      count(1);
      return number(Scalar::kInt64);
    }
    if (request_.code == Opcode::kOffset || request_.code == Opcode::kRecast) {
      if (!operand(0).is_pointer()) refuse("expected a pointer");
    }
    if (!given().is_pointer()) refuse("the result is no pointer");
    if (request_.code == Opcode::kMapa) {
      count(2);
      if (operand(0).space != Space::kShared) refuse("expected a pointer to shared memory");
      if (!(operand(1) == number(Scalar::kInt32))) refuse("expected the rank to be an Int32");
    }
    if (request_.code == Opcode::kOffset) {
      count(2);
      const Type& offset = operand(1);
      if (!offset.is_number() || (offset.scalar != Scalar::kInt32 && offset.scalar != Scalar::kInt64)) {
        refuse("expected the offset to be an Int32 or Int64");
      }
    }
    return given();
  }

  const Type& pointed(std::size_t i) const {
    if (i >= request_.accesses.size()) refuse("an access is missing");
    const Type& type = program_.type(request_.accesses[i].pointer);
    if (!type.is_pointer()) refuse(concat("access ", i, " has no pointer"));
    return type;
  }

  std::vector<Type> memory() const {
    const auto elements = [&](std::size_t i) { return static_cast<uint32_t>(request_.accesses[i].size()); };
    switch (request_.code) {
      case Opcode::kLoad:
        return {number(pointed(0).scalar, elements(0))};
      case Opcode::kStore:
        if (pointed(0).scalar != operand(0).scalar || (operand(0).lanes != elements(0) && operand(0).lanes != 1)) {
          refuse(concat("does not fit ", counted(elements(0), "element"), " of ", to_string(pointed(0))));
        }
        return {};
      case Opcode::kFill:
        if (pointed(0).scalar != operand(0).scalar || operand(0).is_vector()) {
          refuse(concat("does not fit ", to_string(pointed(0))));
        }
        return {};
      case Opcode::kCopy: {
        if (facts(pointed(0).scalar).bits != facts(pointed(1).scalar).bits) refuse("the elements differ in size");
        if (elements(0) != elements(1)) {
          refuse(concat("from ", counted(elements(0), "element"), " to ", elements(1)));
        }
        if (request_.ints.size() < 2 || request_.ints[1] < 1 || elements(0) % request_.ints[1] != 0) {
          refuse("one instruction's elements do not divide all");
        }
        if (request_.accesses.size() > 2 && elements(2) != elements(0) / request_.ints[1]) {
          refuse("expected a predicate for every instruction");
        }
        return {};
      }
      case Opcode::kFmaTile:
        for (std::size_t i = 0; i < 4; ++i) pointed(i);
        if (request_.ints.size() != 4) refuse("expected V, M, N and K");
        return {};
      case Opcode::kMma:
        mma();
        return {};
      case Opcode::kWgmma:
        if (operand(0).scalar != Scalar::kBoolean || operand(0).is_vector()) refuse("expected a Boolean");
        if (const auto why = wrong_with_wgmma(program_, request_.accesses, request_.ints)) refuse(*why);
        return {};
      case Opcode::kLdMatrix:
        matrices(0, 1);
        return {};
      case Opcode::kStMatrix:
        matrices(1, 0);
        return {};
      default:  // atomic
        if (pointed(0).scalar != operand(0).scalar) refuse(concat("does not fit ", to_string(pointed(0))));
        return {operand(0)};
    }
  }

  // A fragment in registers: each holds neighbours, at a multiple of its bytes. The elements of one register.
  int64_t registers(std::size_t i) const {
    const Type& type = pointed(i);
    const Access& access = request_.accesses[i];
    if (type.space != Space::kRegister) refuse(concat("access ", i, " is not in registers, but ", to_string(type)));
    if (facts(type.scalar).bits < 8) refuse(concat("access ", i, " has elements of less than a byte"));
    const int64_t bytes = facts(type.scalar).bits / 8, together = std::max<int64_t>(kRegisterBytes / bytes, 1);
    const bool is_swizzled = access.swizzle.bits != 0 || type.swizzle.bits != 0;
    for (const AccessMode& mode : access.modes) {
      if (mode.dynamic != kNoValue || is_swizzled) refuse(concat("the layout of access ", i, " is not static"));
    }
    const auto parts = split(access.modes, {together, access.size() / together});
    const bool is_run = parts && is_compact((*parts)[0]) &&
                        std::all_of((*parts)[1].begin(), (*parts)[1].end(), [&](const AccessMode& mode) {
                          return mode.extent == 1 || mode.stride % together == 0;
                        });
    if (!is_run || type.align % (together * bytes) != 0) {
      refuse(concat("access ", i, " has not ", together, " neighbours in each register"));
    }
    return together;
  }

  void mma() const {
    if (request_.ints.size() != 7) refuse("expected M, N and K of the instruction, their counts and the architecture");
    const auto& n = request_.ints;
    const int64_t values[] = {n[0] * n[1] / kWarpLanes, n[0] * n[2] / kWarpLanes, n[1] * n[2] / kWarpLanes};
    const int64_t sizes[] = {values[0] * n[3] * n[4], values[1] * n[3] * n[5], values[2] * n[4] * n[5], 0};
    for (std::size_t i = 0; i < 4; ++i) {
      const int64_t size = sizes[i == 3 ? 0 : i];
      registers(i);
      if (request_.accesses[i].size() != size) {
        refuse(concat("access ", i, " has ", counted(request_.accesses[i].size(), "element"), ", not ", size));
      }
    }
  }

  // Matrices between shared memory and registers.
  void matrices(std::size_t memory, std::size_t fragment) const {
    if (request_.ints.size() != 2) refuse("expected the number of matrices and whether they are transposed");
    const Type& type = pointed(memory);
    const int64_t bits = facts(type.scalar).bits, row = kMatrixRowBits / bits;
    const Access &rows = request_.accesses[memory], &held = request_.accesses[fragment];
    if (type.space != Space::kShared) refuse(concat(to_string(type), " is not in shared memory"));
    if (bits != 8 && bits != 16 && bits != 32) refuse(concat("elements of ", bits, " bits are no parts of a register"));
    if (facts(pointed(fragment).scalar).bits != bits) refuse("the elements differ in size");
    if (request_.ints[1] != 0 && bits != 16) refuse("only elements of 16 bits are transposed");
    const int64_t each = request_.ints[0] * registers(fragment);
    if (rows.size() % row != 0 || held.size() % each != 0 || rows.size() / row != held.size() / each) {
      refuse(concat(counted(rows.size(), "element"), " of rows do not belong to ", held.size(), " in registers"));
    }
    const auto parts = split(rows.modes, {row, rows.size() / row});
    if (!parts || !is_compact((*parts)[0])) {
      refuse("the elements of a row do not lie side by side");
    }
  }

  Type warp() const {
    switch (request_.code) {
      case Opcode::kVote:
        return number(request_.text == "ballot" ? Scalar::kUint32 : Scalar::kBoolean);
      case Opcode::kMatch:
        return number(Scalar::kUint32);
      case Opcode::kElectOne:
        return number(Scalar::kBoolean);
      case Opcode::kMbarrierTest:
        mbarrier(0);
        return number(Scalar::kBoolean);
      default:
        return operand(0);
    }
  }

  void sync() const {
    switch (request_.code) {
      case Opcode::kMbarrierInit:
      case Opcode::kMbarrierArrive:
      case Opcode::kMbarrierWait:
        return mbarrier(0);
      case Opcode::kTmaLoad:
        boxes(request_.ints.size() > 2 && request_.ints[2] != 0);
        return is_mbarrier(1);
      case Opcode::kTmaStore:
        return boxes(false);
      case Opcode::kTmaPrefetch:
      case Opcode::kMapCopy:
        if (!operand(0).is_tensor_map()) refuse("expected a tensor map");
        if (request_.code == Opcode::kTmaPrefetch) coordinates(request_.operands.size());
        if (request_.code == Opcode::kMapCopy) map_in_memory(0, true);
        return;
      case Opcode::kMapReplace:
        return replaced_map();
      case Opcode::kMapPublish:
        map_in_memory(0, false);
        if (pointed(1).space != Space::kShared) refuse(concat(to_string(pointed(1)), " is not in shared memory"));
        return;
      case Opcode::kMapAcquire:
        return map_in_memory(0, false);
      case Opcode::kCpAsyncArrive:
        if (request_.ints.empty() || request_.ints[0] == 0) refuse("it arrives as one that the barrier's count has");
        return mbarrier(0);
      case Opcode::kBulkLoad:
        whole_lines(Space::kGlobal, Space::kShared);
        return is_mbarrier(2);
      case Opcode::kBulkStore:
        return whole_lines(Space::kShared, Space::kGlobal);
      default:
        return;
    }
  }

  // Where a tensor map is that threads change: in global memory, or before it goes there in shared memory.
  void map_in_memory(std::size_t i, bool may_be_shared) const {
    const Space space = pointed(i).space;
    if (space == Space::kGlobal || space == Space::kGeneric || (may_be_shared && space == Space::kShared)) return;
    refuse(concat("a tensor map is in global memory", may_be_shared ? " or shared memory" : "", ", but the pointer is ",
                  to_string(pointed(i))));
  }

  void replaced_map() const {
    const auto rank = request_.ints.empty() ? 0 : static_cast<std::size_t>(request_.ints[0]);
    map_in_memory(0, true);
    if (rank < 1 || rank > kMostModes) refuse(concat("a tensor map has 1 to ", kMostModes, " modes"));
    if (request_.operands.size() != 1 + 2 * rank) refuse("expected a pointer, the extents and the strides");
    if (!operand(0).is_pointer()) refuse("expected a pointer");
    for (std::size_t i = 1; i < request_.operands.size(); ++i) {
      if (!(operand(i) == number(Scalar::kInt64))) refuse("expected extents and strides of Int64");
    }
  }

  // A box of a tensor, in shared memory and by its coordinates.
  void boxes(bool has_condition) const {
    const bool is_map = operand(0).is_tensor_map();
    if (!is_map && !(operand(0).is_pointer() && operand(0).space != Space::kShared)) {
      refuse("expected a tensor map, or a pointer to one in global memory");
    }
    if (pointed(0).space != Space::kShared) refuse(concat(to_string(pointed(0)), " is not in shared memory"));
    const std::size_t last = request_.operands.size() - (has_condition ? 1 : 0);
    coordinates(last);
    if (has_condition && !(operand(last) == number(Scalar::kBoolean))) refuse("expected the condition to be a Boolean");
    if (last > kMostModes + 2) refuse(concat("a tensor map has at most ", kMostModes, " modes"));
    if (request_.ints.empty() || request_.ints[0] < (is_map ? 1 : 0)) refuse("expected the bytes of a box");
  }

  void coordinates(std::size_t last) const {
    for (std::size_t i = 1; i < last; ++i) {
      if (!(operand(i) == number(Scalar::kInt32))) refuse("expected coordinates of Int32");
    }
  }

  void whole_lines(Space from, Space to) const {
    if (pointed(0).space != from || pointed(1).space != to) {
      refuse(concat("from ", to_string(pointed(0)), " to ", to_string(pointed(1)), ", but it copies from ",
                    text_of(from), " to ", text_of(to)));
    }
    if (request_.ints.empty() || request_.ints[0] < 1 || request_.ints[0] % kBulkBytes != 0) {
      refuse(concat("it copies multiples of ", kBulkBytes, " bytes"));
    }
  }

  // Access i is an mbarrier.
  void is_mbarrier(std::size_t i) const {
    const Type& type = pointed(i);
    if (type.space != Space::kShared || facts(type.scalar).bits != kBarrierBits) {
      refuse(concat("an mbarrier is 8 bytes of shared memory, such as an Int64, but the pointer is ", to_string(type)));
    }
  }
  void mbarrier(std::size_t i) const {
    is_mbarrier(i);
    for (std::size_t x = 0; x < request_.operands.size(); ++x) {
      const Type& of = operand(x);
      if (!of.is_number() || of.is_vector() || (of.scalar != Scalar::kInt32 && of.scalar != Scalar::kBoolean)) {
        refuse("expected operands of Int32");
      }
    }
  }

  const Block& block(std::size_t i) const {
    if (i >= request_.blocks.size()) refuse("a block is missing");
    return program_.blocks[request_.blocks[i]];
  }
  std::vector<Type> types_of(const std::vector<ValueId>& ids, std::size_t from = 0) const {
    std::vector<Type> types;
    for (std::size_t i = from; i < ids.size(); ++i) types.push_back(program_.type(ids[i]));
    return types;
  }
  void require_same(const std::vector<Type>& a, const std::vector<Type>& b, const char* what) const {
    if (a.size() != b.size()) refuse(concat(what, ": ", a.size(), " values and ", b.size()));
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!(a[i] == b[i])) refuse(concat(what, ": value ", i, " is ", to_string(a[i]), " and ", to_string(b[i])));
    }
  }

  std::vector<Type> control() const {
    if (request_.code == Opcode::kIf) {
      count(1);
      std::vector<Type> types = types_of(block(0).yields), others = types_of(block(1).yields);
      for (std::size_t i = 0; i < std::min(types.size(), others.size()); ++i) {
        // Pointers that differ in alignment alone are one of which less is known.
        if (types[i].is_pointer()) types[i].align = others[i].align = std::gcd(types[i].align, others[i].align);
      }
      require_same(types, others, "the branches");
      return types;
    }
    if (request_.code == Opcode::kFor) {
      if (request_.operands.size() < 3) refuse("expected start, stop and step");
      const std::vector<Type> inits = types_of(request_.operands, 3);
      same_scalar(0, 1);
      same_scalar(1, 2);
      require_same(inits, types_of(block(0).parameters, 1), "what the loop carries");
      require_same(inits, types_of(block(0).yields), "what the loop carries");
      return inits;
    }
    std::vector<Type> inits = types_of(request_.operands);
    require_same(inits, types_of(block(0).parameters), "what the loop carries");
    if (block(0).yields.empty()) refuse("the condition is missing");
    require_same(inits, types_of(block(1).parameters), "what the loop carries");
    require_same(inits, types_of(block(0).yields, 1), "what the loop carries");
    require_same(inits, types_of(block(1).yields), "what the loop carries");
    return inits;
  }

  std::vector<Type> other() const {
    switch (request_.code) {
      case Opcode::kPrmt:
        count(3);
        return {number(Scalar::kUint32)};
      case Opcode::kClock:
        return {number(Scalar::kInt64)};
      case Opcode::kInlineAsm:
        return request_.types;
      case Opcode::kTensorMap: {
        const auto rank = request_.ints.empty() ? 0 : static_cast<std::size_t>(request_.ints[0]);
        if (rank < 1 || rank > kMostModes) refuse(concat("a tensor map has 1 to ", kMostModes, " modes"));
        if (!operand(0).is_pointer()) refuse("expected a pointer");
        if (request_.operands.size() != 2 * rank || request_.ints.size() != 2 + rank) {
          refuse("expected a pointer, the extents, all strides but the first, and the extents of the box");
        }
        return {tensor_map()};
      }
      default:
        return {};
    }
  }

  const Program& program_;
  const Request& request_;
};

}  // namespace

std::vector<Type> result_types_of(const Program& program, const Request& request) {
  return Check(program, request).results();
}

std::string unseen(const Program& program, ValueId id) {
  if (id >= program.values.size()) return concat("value ", id, " does not exist");
  const Value& value = program.values[id];
  const Place& place = program.places[value.place];
  if (place.file.empty()) {
    return concat(value.name.empty() ? std::string("an argument") : value.name,
                  " is an argument of the function that launches, or made of one, and is not known here; pass it to "
                  "the kernel as an argument");
  }
  return concat(value.name.empty() ? std::string("a value") : value.name, " of ", place.file, ":", place.line,
                " is defined in a branch, a loop or another function, and is not known here");
}

}  // namespace tilewright::program

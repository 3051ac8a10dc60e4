#include "store.hpp"

#include <cstdint>
#include <vector>

namespace tilewright::program {

namespace {

constexpr uint64_t kFormat = 1;
constexpr std::size_t kOpcodes = 0
#define TILEWRIGHT_OPCODE(name, text, family, pure) +1
    TILEWRIGHT_OPCODES(TILEWRIGHT_OPCODE)
#undef TILEWRIGHT_OPCODE
    ;

// Numbers have seven bits a byte, the low ones first; the sign is the lowest.
class Writer {
 public:
  void number(uint64_t value) {
    for (; value >= 128; value >>= 7) bytes_ += static_cast<char>(value | 128);
    bytes_ += static_cast<char>(value);
  }
  void integer(int64_t value) { number(static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63)); }
  void text(std::string_view value) {
    number(value.size());
    bytes_ += value;
  }
  template <class T, class Write>
  void all(const T& values, const Write& write) {
    number(values.size());
    for (const auto& value : values) write(value);
  }
  void ids(const std::vector<uint32_t>& values) {
    all(values, [&](uint32_t id) { number(id); });
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  uint64_t number() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) fail("they end too early");
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 127) << shift;
      if (byte < 128) return value;
    }
    fail("a number is too long");
  }
  int64_t integer() {
    const uint64_t value = number();
    return static_cast<int64_t>(value >> 1 ^ (0 - (value & 1)));
  }
  // A number below `end`.
  uint32_t id(std::size_t end) { return below(number(), end); }
  static uint32_t below(uint64_t value, std::size_t end) {
    if (value >= end) fail(concat("there is no ", value, " among ", end));
    return static_cast<uint32_t>(value);
  }
  ValueId optional_id(std::size_t end) {
    const uint32_t value = id(end + 1);
    return value == 0 ? kNoValue : value - 1;
  }
  // How many follow; each takes a byte at least.
  std::size_t count() {
    const uint64_t value = number();
    return below(value, rest_.size() + 1);
  }
  std::string text() {
    const std::size_t size = count();
    const std::string value(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return value;
  }
  template <class T, class Read>
  void all(T& values, const Read& read) {
    for (std::size_t left = count(); left != 0; --left) values.push_back(read());
  }
  std::vector<uint32_t> ids(std::size_t end) {
    std::vector<uint32_t> values;
    all(values, [&] { return id(end); });
    return values;
  }
  void end() const {
    if (!rest_.empty()) fail(concat(rest_.size(), " of them are left over"));
  }
  [[noreturn]] static void fail(const std::string& why) {
    throw ProgramError(concat("these bytes are no program: ", why));
  }

 private:
  std::string_view rest_;
};

void write(Writer& out, const ByteSwizzle& swizzle) {
  for (const int8_t number : {swizzle.bits, swizzle.base, swizzle.shift}) out.integer(number);
}

ByteSwizzle read_swizzle(Reader& in) {
  ByteSwizzle swizzle;
  for (int8_t* number : {&swizzle.bits, &swizzle.base, &swizzle.shift}) *number = static_cast<int8_t>(in.integer());
  return swizzle;
}

void write(Writer& out, const Type& type) {
  for (const uint64_t number : {static_cast<uint64_t>(type.kind), static_cast<uint64_t>(type.scalar),
                                static_cast<uint64_t>(type.space), uint64_t{type.lanes}, uint64_t{type.align}}) {
    out.number(number);
  }
  write(out, type.swizzle);
}

Type read_type(Reader& in, const std::vector<Scalar>& scalars) {
  Type type;
  type.kind = static_cast<Type::Kind>(in.id(4));
  type.scalar = scalars[in.id(scalars.size())];
  type.space = static_cast<Space>(in.id(6));
  type.lanes = static_cast<uint32_t>(in.number());
  type.align = static_cast<uint32_t>(in.number());
  type.swizzle = read_swizzle(in);
  return type;
}

// None is 0, the others are one more than their ids.
uint64_t optional(ValueId id) { return id == kNoValue ? 0 : uint64_t{id} + 1; }

void write(Writer& out, const Access& access) {
  out.number(access.pointer);
  out.all(access.modes, [&](const AccessMode& mode) {
    out.integer(mode.extent);
    out.integer(mode.stride);
    out.number(optional(mode.dynamic));
    out.integer(mode.divisor);
  });
  write(out, access.swizzle);
  out.integer(access.offset);
  out.number(optional(access.dynamic));
  out.integer(access.divisor);
}

Access read_access(Reader& in, std::size_t values) {
  Access access;
  access.pointer = in.id(values);
  in.all(access.modes, [&] {
    AccessMode mode;
    mode.extent = in.integer();
    mode.stride = in.integer();
    mode.dynamic = in.optional_id(values);
    mode.divisor = in.integer();
    return mode;
  });
  access.swizzle = read_swizzle(in);
  access.offset = in.integer();
  access.dynamic = in.optional_id(values);
  access.divisor = in.integer();
  return access;
}

void write(Writer& out, const Operation& operation) {
  out.number(static_cast<uint64_t>(operation.code));
  out.number(operation.place);
  out.ids(operation.operands);
  out.ids(operation.results);
  out.ids(operation.blocks);
  out.all(operation.accesses, [&](const Access& access) { write(out, access); });
  out.all(operation.ints, [&](int64_t number) { out.integer(number); });
  out.number(operation.bits);
  out.text(operation.text);
}

struct Sizes {
  std::size_t values, operations, blocks, places;
};

Operation read_operation(Reader& in, const Sizes& sizes, const std::vector<Opcode>& opcodes) {
  Operation operation{opcodes[in.id(opcodes.size())], in.id(sizes.places), {}, {}, {}, {}, {}, 0, {}};
  operation.operands = in.ids(sizes.values);
  operation.results = in.ids(sizes.values);
  operation.blocks = in.ids(sizes.blocks);
  in.all(operation.accesses, [&] { return read_access(in, sizes.values); });
  in.all(operation.ints, [&] { return in.integer(); });
  operation.bits = in.number();
  operation.text = in.text();
  return operation;
}

void write(Writer& out, const Function& function) {
  out.text(function.name);
  out.number(function.is_kernel ? 1 : 0);
  out.number(function.body);
  out.all(function.parameters, [&](const std::string& name) { out.text(name); });
  out.integer(function.shared_bytes);
  for (const int64_t extent : function.threads) out.integer(extent);
  for (const int64_t extent : function.cluster) out.integer(extent);
  out.integer(function.min_blocks);
  out.ids(function.results);
}

Function read_function(Reader& in, const Sizes& sizes) {
  Function function;
  function.name = in.text();
  function.is_kernel = in.id(2) != 0;
  function.body = in.id(sizes.blocks);
  in.all(function.parameters, [&] { return in.text(); });
  function.shared_bytes = in.integer();
  for (int64_t& extent : function.threads) extent = in.integer();
  for (int64_t& extent : function.cluster) extent = in.integer();
  function.min_blocks = in.integer();
  function.results = in.ids(sizes.values);
  return function;
}

}  // namespace

std::string to_bytes(const Program& program) {
  Writer out;
  out.number(kFormat);
  out.number(kScalars);
  for (int i = 0; i < kScalars; ++i) out.text(facts(static_cast<Scalar>(i)).name);
  out.number(kOpcodes);
  for (std::size_t i = 0; i < kOpcodes; ++i) out.text(facts(static_cast<Opcode>(i)).text);
  for (const std::size_t size : {program.values.size(), program.operations.size(), program.blocks.size()}) {
    out.number(size);
  }
  out.all(program.places, [&](const Place& place) {
    out.text(place.file);
    out.integer(place.line);
    out.text(place.function);
  });
  for (const Value& value : program.values) {
    write(out, value.type);
    out.number(value.block);
    out.number(value.place);
    out.text(value.name);
  }
  for (const Operation& operation : program.operations) write(out, operation);
  for (const Block& block : program.blocks) {
    out.ids(block.parameters);
    out.ids(block.operations);
    out.ids(block.yields);
  }
  out.all(program.functions, [&](const Function& function) { write(out, function); });
  return out.take();
}

Program from_bytes(std::string_view bytes) {
  Reader in(bytes);
  if (const uint64_t format = in.number(); format != kFormat) {
    Reader::fail(concat("they have the format ", format, ", but this version reads ", kFormat));
  }
  std::vector<Scalar> scalars;
  in.all(scalars, [&] { return scalar_of(in.text()); });
  std::vector<Opcode> opcodes;
  in.all(opcodes, [&] { return opcode_of(in.text()); });
  Sizes sizes{in.count(), 0, 0, 0};
  sizes.operations = in.count();
  sizes.blocks = in.count();
  Program program;
  in.all(program.places, [&] {
    Place place;
    place.file = in.text();
    place.line = static_cast<int>(in.integer());
    place.function = in.text();
    return place;
  });
  sizes.places = program.places.size();
  for (std::size_t i = 0; i < sizes.values; ++i) {
    const Type type = read_type(in, scalars);
    const uint32_t block = in.id(sizes.blocks), place = in.id(sizes.places);
    program.values.push_back({type, block, place, in.text()});
  }
  for (std::size_t i = 0; i < sizes.operations; ++i) program.operations.push_back(read_operation(in, sizes, opcodes));
  for (std::size_t i = 0; i < sizes.blocks; ++i) {
    Block block;
    block.parameters = in.ids(sizes.values);
    block.operations = in.ids(sizes.operations);
    block.yields = in.ids(sizes.values);
    program.blocks.push_back(std::move(block));
  }
  in.all(program.functions, [&] { return read_function(in, sizes); });
  in.end();
  return program;
}

}  // namespace tilewright::program

// Writes a kernel: operation after operation, into lines that know their place in Python.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <unordered_map>

#include "arithmetic.hpp"
#include "emit.hpp"
#include "held.hpp"
#include "names.hpp"

namespace tilewright::program {

struct Wgmma;

class Emitter {
 public:
  Emitter(const Program& program, const Function& function);
  std::string text(Marks marks);

 private:
  struct Line {
    std::string text;
    uint32_t place;
    int depth;
  };
  // A vector's element by the text of its index.
  using Elements = std::function<Expr(const std::string&)>;

  // ---- lines ----
  void line(std::string text) { lines_.push_back({std::move(text), place_, depth_}); }
  void open(std::string text);
  void close(std::string_view text = "}");
  // `#pragma unroll` and a loop of `count` steps; its body is written by `body`.
  void unrolled(int64_t count, int64_t step, const std::string& index, const std::function<void()>& body);
  void unrolled(int64_t count, const std::string& index, const std::function<void()>& body) {
    unrolled(count, 1, index, body);
  }
  std::string head();

  // ---- values (values.cpp) ----
  const Type& type(ValueId id) const { return program_.type(id); }
  std::string new_name(ValueId id);
  // A scalar or pointer as an expression of its own C++ type, or as it is.
  Expr value(ValueId id);
  Expr raw(ValueId id);
  Operand operand(ValueId id);
  // Element `index` of a vector, or the scalar that is repeated.
  Expr element(ValueId id, const std::string& index);
  Expr raw_element(ValueId id, const std::string& index);
  // A variable that holds it.
  std::string variable(ValueId id);
  std::string as_int64(ValueId id);
  std::optional<int64_t> constant(ValueId id) const;
  void define(const Operation& operation, const Expr& expression);
  void define_elements(const Operation& operation, Elements elements);
  void declare_elements(const std::string& name, const Type& type, const Elements& elements);
  bool is_inlined(ValueId id) const;
  void pure(const Operation& operation);
  Expr special(const Operation& operation);
  void vector(const Operation& operation);
  void extract(const Operation& operation);
  void insert(const Operation& operation);
  void shuffle(const Operation& operation);
  void reduce(const Operation& operation);
  void bitcast_vector(const Operation& operation);
  // An expression of `index` for a table's entries, none where they follow no rule.
  std::optional<std::string> rule_of(const std::vector<int64_t>& table, const std::string& index) const;

  // ---- memory (memory.cpp, copy.cpp, matrix.cpp) ----
  void pointer(const Operation& operation);
  Expr swizzled(const Type& type, const Expr& pointer);
  // The offset of an access's element, in elements, swizzle included; `modes` may be fewer than all of it.
  std::string offset(const Access& access, const std::vector<AccessMode>& modes, const std::string& index);
  std::string linear(const std::vector<AccessMode>& modes, const std::string& index);
  // Parts of a sum: those that the divisor divides go to `outside`, the others to `inside`.
  void divide_sum(ValueId id, int64_t divisor, std::string& inside, std::string& outside);
  // One element as an lvalue, and a pointer to `count` neighbours.
  std::string element_at(const Access& access, const std::string& offset);
  std::string pointer_at(const Access& access, const std::string& offset);
  std::string shared_address_at(const Access& access, const std::string& offset);
  std::string read(const Access& access, const std::string& offset);
  std::string written(const Access& access, const std::string& offset, const Expr& value);
  void load(const Operation& operation);
  void store(const Operation& operation);
  void fill(const Operation& operation);
  void copy(const Operation& operation);
  void copy_piece(const Operation& operation, int64_t count, const std::string& index);
  std::string cp_async(const std::string& to, const std::string& from, int64_t bytes, int64_t cache,
                       const std::string& is_read) const;
  void fma_tile(const Operation& operation);
  void atomic(const Operation& operation);
  std::string fragment_register(const Access& access, const std::string& offset, bool is_sum);
  std::string fragment_place(const std::vector<std::vector<AccessMode>>& parts, int64_t element,
                             const std::vector<std::string>& names);
  void mma(const Operation& operation);
  void matrices(const Operation& operation);

  // ---- wgmma (wgmma.cpp) ----
  struct Operands {  // of all instructions: the first descriptor, and where the others are, in units of 16 bytes
    std::string name;
    std::vector<std::vector<AccessMode>> modes;
  };
  void hold_registers(OpId id);
  std::string wgmma_function(const Operation& operation);
  Operands described(const Access& access, const Wgmma& wgmma, bool is_a);
  void wgmma(const Operation& operation);
  void wgmma_sync(OpId id);

  // ---- mbarriers and copies in bulk (async.cpp) ----
  std::string shared_word(const Access& access);
  void mbarrier(const Operation& operation);
  void bulk(OpId id);
  void tensor_map(const Operation& operation);

  // ---- threads (threads.cpp), text (print.cpp) ----
  void warp(const Operation& operation);
  void sync(const Operation& operation);
  void other(const Operation& operation);
  void print(const Operation& operation);
  void inline_asm(const Operation& operation);
  std::string warp_shuffled(Scalar scalar, const std::string& function, const std::string& mask, const Expr& value,
                            const std::string& rest);

  // ---- control (control.cpp) ----
  void block(BlockId id);
  void emit(OpId id);
  void branch(OpId id);
  void count_loop(OpId id);
  void while_loop(OpId id);
  std::vector<std::string> carry(OpId id, std::size_t first_operand, std::size_t first_parameter);
  void assign(std::vector<std::string> targets, const std::vector<ValueId>& values);
  void declare(const std::string& name, ValueId id);
  bool can_take(ValueId id, OpId op, uint32_t own_uses) const;
  bool is_trivial(BlockId id) const;
  uint32_t count_within(ValueId id, ValueId expression) const;
  ValueId carried_by_loop(ValueId result, OpId branch) const;
  bool refers(ValueId id, const std::string& target);
  void bind(ValueId id, const std::string& name) { variables_[id] = name; }
  std::string user_name(std::initializer_list<ValueId> ids) const;

  const Program& program_;
  const Function& function_;
  Uses uses_;
  HeldFrames held_;
  Ranges ranges_;
  Headers headers_;
  Arithmetic arithmetic_;
  Names names_;
  std::vector<Line> lines_;
  uint32_t place_ = 0;
  int depth_ = 1;
  std::unordered_map<ValueId, std::string> variables_;
  std::unordered_map<ValueId, Expr> inlined_;
  std::unordered_map<ValueId, Elements> elements_;
  std::unordered_map<std::string, ValueId> begun_;  // variables of a branch that hold one arm's value already
  std::map<std::string, std::string> functions_;    // that the kernel calls, by name
  std::vector<ValueId> frames_in_scope_;            // those that are there, of the frames that wgmma uses
  std::string index_, other_index_, smem_;
  bool uses_smem_ = false;
};

}  // namespace tilewright::program

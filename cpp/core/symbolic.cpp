#include "symbolic.hpp"

#include "error.hpp"

namespace tilewright {

namespace {
thread_local Symbols* current_symbols = nullptr;

Symbols& symbols_in_progress() {
  if (current_symbols == nullptr) {
    fail("a value of a kernel is used outside of the function that was traced; return it, or store it in a tensor");
  }
  return *current_symbols;
}

}  // namespace

Symbols* symbols() { return current_symbols; }
void set_symbols(Symbols* symbols) { current_symbols = symbols; }

Node symbolic_int(int64_t id, int64_t divisor, bool wide) {
  Node node = dynamic_int(0, divisor, wide);
  node.value = id;
  node.tag |= kSymbolicBit;
  return node;
}

Node widened(const Node& a) {
  if (a.is_wide()) return a;
  const Node plain = without_basis(a);
  return with_basis(symbolic_int(symbols_in_progress().apply(SymbolicOp::kWiden, plain, plain, true), a.aux, true),
                    a.basis());
}

Node symbolic(SymbolicOp op, const Node& a, const Node& b, int64_t divisor) {
  const bool wide = a.is_wide() || b.is_wide();
  return symbolic_int(symbols_in_progress().apply(op, without_basis(a), without_basis(b), wide), divisor, wide);
}

}  // namespace tilewright

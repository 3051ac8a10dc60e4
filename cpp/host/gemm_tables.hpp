// The tables of a GEMM plan, as gemm_tables.py describes them, checked so that nothing that runs them can go astray.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gemm_numbers.hpp"

namespace tilewright::host {

// An array of int32 in C order.
struct Array {
  std::vector<int64_t> shape;
  std::vector<int32_t> values;

  int64_t size(std::size_t axis) const { return shape[axis]; }
};

// Accesses of some elements each, between global memory and registers or shared memory.
enum class Access { cp_async, registers, tma, direct, shared };
enum class Predicate { element, access, none };

struct Accesses {
  Array coord;  // (threads, accesses, 2)
  int mode = 1;
  Access kind = Access::registers;
  Predicate predicate = Predicate::element;
  int64_t width = 1;

  int64_t count() const { return coord.size(0) * coord.size(1); }
  // The coordinate of an element of an access; the first one's is negative where there is none.
  std::array<int64_t, 2> at(int64_t access, int64_t element) const {
    const int32_t* const first = coord.values.data() + 2 * access;
    std::array<int64_t, 2> c{first[0], first[1]};
    c[static_cast<std::size_t>(mode)] += element;
    return c;
  }
  bool is_there(int64_t access) const { return coord.values[static_cast<std::size_t>(2 * access)] >= 0; }
};

struct Operand {
  Accesses load;
  Array smem;  // (threads, accesses, width)
  bool fill = true;
  int64_t stage_elements = 0;
  std::optional<Array> fragment;  // (threads, atoms along rows, atoms along k, values)
  std::optional<Array> matrix;    // (thread rows, atoms along rows, atoms along k, rows, k)
};

struct Mma {
  std::array<int64_t, 3> shape{};
  Array thread;            // (threads, 4)
  Array c;                 // (lanes, values)
  Array c_coord;           // (threads, atoms along m, atoms along n, values, 2)
  std::optional<Array> a;  // (lanes, values)
  std::optional<Array> b;

  int64_t threads() const { return thread.size(0); }
  int64_t k_of(int64_t t) const { return thread.values[static_cast<std::size_t>(4 * t + 3)]; }
  int64_t lanes() const { return c.size(0); }
  int64_t values() const { return c.size(1); }
  int64_t atoms_m() const { return c_coord.size(1); }
  int64_t atoms_n() const { return c_coord.size(2); }
  int64_t accumulators() const { return atoms_m() * atoms_n() * values(); }  // of a thread
};

struct Store {
  Accesses accesses;
  std::optional<Array> value;       // (threads, accesses, width)
  std::optional<Array> smem_write;  // (MMA threads, accumulators)
  std::optional<Array> smem_read;   // (threads, accesses, width)
  std::optional<Array> smem_added;  // (threads, accesses, width, further sums)
  int64_t image_elements = 0;
  std::optional<Array> round_write;  // (MMA threads, accumulators)
  std::optional<Array> round_read;   // (threads, accesses)
  int64_t rounds = 1;                // found by check_tables

  int64_t written_in(std::size_t i) const { return round_write ? round_write->values[i] : 0; }
  // f(place in the image) for each sum that is added to an element; `entry` counts through smem_read.
  template <class F>
  void for_each_added(std::size_t entry, F&& f) const {
    if (!smem_added) return;
    const auto count = static_cast<std::size_t>(smem_added->size(3));
    for (std::size_t i = 0; i < count; ++i) f(static_cast<std::size_t>(smem_added->values[entry * count + i]));
  }
  int64_t read_in(std::size_t access) const { return round_read ? round_read->values[access] : 0; }
};

struct Pipeline {
  int64_t stages = 1;
  int64_t ahead = 0;
  int64_t landed = 0;
  int64_t first_read = 0;
  int64_t last_read = 0;
};

struct GemmTables {
  std::array<int64_t, 3> tile{};
  Operand a;
  Operand b;
  Mma mma;
  Store store;
  Pipeline pipeline;
  std::optional<Array> work;  // (units, 5)
  int64_t promote = 0;        // K tiles, after which sums are added to totals; 0: never
  bool residue_first = false;
  Rounding rounding = Rounding::none;

  int64_t atoms_k() const { return (a.fragment ? a.fragment : a.matrix)->size(2); }
};

// Threads that multiply one atom together: mma.thread's m, n and k, and which thread is which lane.
struct Group {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  std::vector<int32_t> thread;
};
std::vector<Group> groups_of(const Mma& mma);

// Raises PlanError naming the table and the entry where an index would lead outside of what it points into, or where
// shapes do not agree. Afterwards every index is safe; whether the tables make sense is for check_gemm to say.
void check_tables(GemmTables& tables);

}  // namespace tilewright::host

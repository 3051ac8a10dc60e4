#include "gemm_tables.hpp"

#include <algorithm>
#include <map>

#include "core/error.hpp"
#include "plan.hpp"

namespace tilewright::host {

namespace {

constexpr int64_t kMaxTile = int64_t{1} << 22;      // elements of one operand or of C
constexpr int64_t kMaxElements = int64_t{1} << 24;  // of an image of shared memory
constexpr int64_t kMaxRounds = 1024;

template <class... Pieces>
[[noreturn]] void bad(const Pieces&... pieces) {
  throw PlanError(concat("tables.", pieces...));
}

std::string text_of(const std::vector<int64_t>& numbers) {
  std::string text = "(";
  for (std::size_t i = 0; i < numbers.size(); ++i) text += concat(i == 0 ? "" : ", ", numbers[i]);
  return text + ")";
}

// Where the entry with a linear index stands.
std::string index_of(const Array& array, std::size_t linear) {
  std::vector<int64_t> index(array.shape.size());
  auto rest = static_cast<int64_t>(linear);
  for (std::size_t axis = index.size(); axis-- > 0;) {
    index[axis] = rest % array.shape[axis];
    rest /= array.shape[axis];
  }
  std::string text = text_of(index);
  text.front() = '[';
  text.back() = ']';
  return text;
}

// -1: any extent.
void check_shape(const Array& array, const std::vector<int64_t>& expected, const std::string& name, const char* axes) {
  bool fits = array.shape.size() == expected.size();
  for (std::size_t axis = 0; fits && axis < expected.size(); ++axis) {
    fits = expected[axis] < 0 ? array.shape[axis] > 0 : array.shape[axis] == expected[axis];
  }
  if (fits) return;
  std::string wanted = "(";
  for (std::size_t axis = 0; axis < expected.size(); ++axis) {
    wanted += concat(axis == 0 ? "" : ", ", expected[axis] < 0 ? "any" : std::to_string(expected[axis]));
  }
  bad(name, " has the shape ", text_of(array.shape), ", but must have ", wanted, "): ", axes);
}

void check_range(const Array& array, int64_t end, const std::string& name, const std::string& what) {
  for (std::size_t i = 0; i < array.values.size(); ++i) {
    if (array.values[i] >= 0 && array.values[i] < end) continue;
    bad(name, index_of(array, i), " = ", array.values[i], " lies outside of ", what, ", which has ", end);
  }
}

// Coordinates (.., 2) inside of a tile; a mode may be reached over by `width` elements.
void check_coordinates(const Accesses& accesses, int64_t first, int64_t second, const std::string& name) {
  for (int64_t i = 0; i < accesses.count(); ++i) {
    if (!accesses.is_there(i)) continue;
    for (const auto& c : {accesses.at(i, 0), accesses.at(i, accesses.width - 1)}) {
      if (c[0] >= 0 && c[0] < first && c[1] >= 0 && c[1] < second) continue;
      const int64_t threads = accesses.coord.size(1);
      bad(name, ": access ", i % threads, " of thread ", i / threads, " reaches the coordinate (", c[0], ", ", c[1],
          "), outside of the tile (", first, ", ", second, ")");
    }
  }
}

void check_accesses(Accesses& accesses, int64_t first, int64_t second, const std::string& name) {
  check_shape(accesses.coord, {-1, -1, 2}, name + ".coord", "threads, accesses, (first, second mode)");
  if (accesses.mode != 0 && accesses.mode != 1) bad(name, ".mode = ", accesses.mode, " must be 0 or 1");
  check_coordinates(accesses, first, second, name + ".coord");
}

void check_operand(Operand& operand, const GemmTables& tables, int64_t rows, int64_t atom_rows, int64_t groups,
                   int64_t atoms, const std::optional<Array>& tv, const std::string& name) {
  const int64_t k = tables.tile[2], atom_k = tables.mma.shape[2];
  if (operand.stage_elements < 1 || operand.stage_elements > kMaxElements) {
    bad(name, ".stage_elements = ", operand.stage_elements, " must be between 1 and ", kMaxElements);
  }
  if (operand.load.kind == Access::direct || operand.load.kind == Access::shared) {
    bad(name, ".load.kind must be \"cp.async\", \"registers\" or \"tma\"");
  }
  const std::string load = name + ".load", stage = "a stage's elements";
  if (operand.smem.shape.size() == 3) operand.load.width = operand.smem.size(2);
  check_shape(operand.smem, {-1, -1, -1}, load + ".smem", "threads, accesses, elements of an access");
  check_accesses(operand.load, rows, k, load);
  check_shape(operand.smem, {operand.load.coord.size(0), operand.load.coord.size(1), operand.load.width},
              load + ".smem", "threads and accesses of coord, elements of an access");
  for (int64_t i = 0; i < operand.load.count(); ++i) {
    if (operand.load.is_there(i)) continue;
    std::fill_n(operand.smem.values.begin() + i * operand.load.width, operand.load.width, 0);
  }
  check_range(operand.smem, operand.stage_elements, load + ".smem", stage);
  if (operand.fragment.has_value() == operand.matrix.has_value()) {
    bad(name, " must have one of fragment and matrix, but has ", operand.fragment ? "both" : "neither");
  }
  if (operand.matrix) {
    check_shape(*operand.matrix, {groups, atoms, -1, atom_rows, atom_k}, name + ".matrix",
                "threads' rows, atoms along rows, atoms along k, rows and k of an atom");
    check_range(*operand.matrix, operand.stage_elements, name + ".matrix", stage);
    return;
  }
  if (!tv) bad("mma.", name, " must say which thread holds which element, for tables.", name, " has a fragment");
  check_shape(*tv, {tables.mma.lanes(), -1}, "mma." + name, "threads of the atom as in mma.c, values");
  check_range(*tv, atom_rows * atom_k, "mma." + name, "the elements of the atom");
  check_shape(*operand.fragment, {tables.mma.threads(), atoms, -1, tv->size(1)}, name + ".fragment",
              "threads of mma.thread, atoms along rows as in mma.c_coord, atoms along k, values of the atom");
  check_range(*operand.fragment, operand.stage_elements, name + ".fragment", stage);
  std::vector<bool> held(static_cast<std::size_t>(atom_rows * atom_k));
  for (const int32_t index : tv->values) held[static_cast<std::size_t>(index)] = true;
  const auto missing = std::find(held.begin(), held.end(), false);
  if (missing == held.end()) return;
  const int64_t index = missing - held.begin();
  bad("mma.", name, " gives the element (", index % atom_rows, ", ", index / atom_rows, ") of the atom to no thread");
}

void check_mma(const GemmTables& tables) {
  const Mma& mma = tables.mma;
  for (std::size_t i = 0; i < 3; ++i) {
    if (mma.shape[i] < 1 || mma.shape[i] > tables.tile[i]) {
      bad("mma.shape_mnk[", i, "] = ", mma.shape[i], " must be between 1 and tile[", i, "] = ", tables.tile[i]);
    }
  }
  check_shape(mma.thread, {-1, 4}, "mma.thread", "threads, (lane, m, n, k)");
  check_shape(mma.c, {-1, -1}, "mma.c", "threads of the atom, values");
  check_range(mma.c, mma.shape[0] * mma.shape[1], "mma.c", "the elements of the atom");
  check_shape(mma.c_coord, {mma.threads(), -1, -1, mma.values(), 2}, "mma.c_coord",
              "threads of mma.thread, atoms along m, atoms along n, values of mma.c, (m, n)");
  if (mma.threads() * mma.accumulators() > kMaxTile) {
    bad("mma.c_coord has ", mma.threads() * mma.accumulators(), " accumulators; the CPU takes at most ", kMaxTile);
  }
  for (std::size_t i = 0; i < mma.c_coord.values.size(); ++i) {
    const int64_t extent = tables.tile[i % 2];
    if (mma.c_coord.values[i] >= 0 && mma.c_coord.values[i] < extent) continue;
    bad("mma.c_coord", index_of(mma.c_coord, i), " = ", mma.c_coord.values[i], " lies outside of the tile's ", extent);
  }
  for (int64_t t = 0; t < mma.threads(); ++t) {
    const int32_t* const at = mma.thread.values.data() + 4 * t;
    if (at[0] < 0 || at[0] >= mma.lanes()) {
      bad("mma.thread[", t, ", 0] = ", at[0], " is no lane of an atom of ", mma.lanes(), " threads");
    }
    for (int mode = 1; mode < 4; ++mode) {
      if (at[mode] >= 0 && at[mode] < mma.threads()) continue;
      bad("mma.thread[", t, "] = (", at[0], ", ", at[1], ", ", at[2], ", ", at[3], ") has no place for an atom");
    }
    if (at[3] != 0 && !tables.store.smem_added) {
      bad("mma.thread[", t, ", 3] = ", at[3],
          " must be 0: without store.smem_added, nothing adds up the sums of atoms "
          "along k");
    }
  }
  for (const Group& group : groups_of(mma)) {
    for (std::size_t lane = 0; lane < group.thread.size(); ++lane) {
      if (group.thread[lane] >= 0) continue;
      bad("mma.thread: no thread is lane ", lane, " of the atom at (", group.m, ", ", group.n, ", ", group.k, ")");
    }
  }
}

void check_store(GemmTables& tables) {
  Store& store = tables.store;
  const Mma& mma = tables.mma;
  const std::string threads = "threads, accesses, elements of an access";
  const Array* const source = store.value ? &*store.value : store.smem_read ? &*store.smem_read : nullptr;
  if (source == nullptr || (store.value && store.smem_read)) {
    bad("store must have one of value and smem_read, but has ", source == nullptr ? "neither" : "both");
  }
  if (store.smem_read.has_value() != store.smem_write.has_value()) {
    bad("store must have smem_write and smem_read, or neither of them");
  }
  if ((store.accesses.kind == Access::direct) != store.value.has_value()) {
    bad("store.kind must be \"direct\" with value, and \"shared\" or \"tma\" with smem_write and smem_read");
  }
  const std::string name = store.value ? "store.value" : "store.smem_read";
  check_shape(*source, {-1, -1, -1}, name, threads.c_str());
  store.accesses.width = source->size(2);
  check_accesses(store.accesses, tables.tile[0], tables.tile[1], "store");
  check_shape(*source, {store.accesses.coord.size(0), store.accesses.coord.size(1), -1}, name, threads.c_str());
  Array& entries = store.value ? *store.value : *store.smem_read;
  for (int64_t i = 0; i < store.accesses.count(); ++i) {
    if (store.accesses.is_there(i)) continue;
    std::fill_n(entries.values.begin() + i * store.accesses.width, store.accesses.width, 0);
  }
  if (store.smem_added && !store.smem_read)
    bad("store.smem_added is added to what smem_read names, which is not there");
  if (store.value) {
    if (store.value->size(0) > mma.threads()) bad("store.value has more threads than mma.thread");
    return check_range(*store.value, mma.accumulators(), name, "a thread's accumulators");
  }
  if (store.image_elements < 1 || store.image_elements > kMaxElements) {
    bad("store.image_elements = ", store.image_elements, " must be between 1 and ", kMaxElements);
  }
  check_shape(*store.smem_write, {mma.threads(), mma.accumulators()}, "store.smem_write", "threads, accumulators");
  check_range(*store.smem_write, store.image_elements, "store.smem_write", "the image's elements");
  check_range(*store.smem_read, store.image_elements, "store.smem_read", "the image's elements");
  if (store.smem_added) {
    const Array& read = *store.smem_read;
    check_shape(*store.smem_added, {read.size(0), read.size(1), read.size(2), -1}, "store.smem_added",
                "threads, accesses and elements of smem_read, further sums");
    check_range(*store.smem_added, store.image_elements, "store.smem_added", "the image's elements");
  }
  if (store.round_write.has_value() != store.round_read.has_value()) {
    bad("store must have round_write and round_read, or neither of them");
  }
  if (!store.round_write) return;
  check_shape(*store.round_write, {mma.threads(), mma.accumulators()}, "store.round_write", "threads, accumulators");
  check_shape(*store.round_read, {store.accesses.coord.size(0), store.accesses.coord.size(1)}, "store.round_read",
              "threads, accesses");
  check_range(*store.round_write, kMaxRounds, "store.round_write", "the rounds");
  check_range(*store.round_read, kMaxRounds, "store.round_read", "the rounds");
  for (const auto* rounds : {&*store.round_write, &*store.round_read}) {
    for (const int32_t round : rounds->values) store.rounds = std::max<int64_t>(store.rounds, round + 1);
  }
}

void check_pipeline(const Pipeline& p) {
  for (const auto& [name, value, least, most] : {std::tuple{"stages", p.stages, int64_t{1}, int64_t{64}},
                                                 {"ahead", p.ahead, 0, 64},
                                                 {"landed", p.landed, -64, 64},
                                                 {"first_read", p.first_read, -64, 0},
                                                 {"last_read", p.last_read, 0, 64}}) {
    if (value < least || value > most) {
      bad("pipeline.", name, " = ", value, " must be between ", least, " and ", most);
    }
  }
}

}  // namespace

std::vector<Group> groups_of(const Mma& mma) {
  std::map<std::array<int32_t, 3>, Group> groups;
  for (int64_t t = 0; t < mma.threads(); ++t) {
    const int32_t* const at = mma.thread.values.data() + 4 * t;
    Group& group = groups[{at[1], at[2], at[3]}];
    group.m = at[1];
    group.n = at[2];
    group.k = at[3];
    group.thread.resize(static_cast<std::size_t>(mma.lanes()), -1);
    group.thread[static_cast<std::size_t>(at[0])] = static_cast<int32_t>(t);
  }
  std::vector<Group> result;
  for (auto& [at, group] : groups) result.push_back(std::move(group));
  return result;
}

void check_tables(GemmTables& tables) {
  for (std::size_t i = 0; i < 3; ++i) {
    if (tables.tile[i] < 1 || tables.tile[i] > kMaxTile || tables.tile[i] * tables.tile[(i + 1) % 3] > kMaxTile) {
      bad("tile = (", tables.tile[0], ", ", tables.tile[1], ", ", tables.tile[2],
          ") must have positive extents whose products are at most ", kMaxTile);
    }
  }
  check_mma(tables);
  const Mma& mma = tables.mma;
  int64_t rows_m = 0, rows_n = 0;
  for (const Group& group : groups_of(mma)) {
    rows_m = std::max(rows_m, group.m + 1);
    rows_n = std::max(rows_n, group.n + 1);
  }
  check_operand(tables.a, tables, tables.tile[0], mma.shape[0], rows_m, mma.atoms_m(), mma.a, "a");
  check_operand(tables.b, tables, tables.tile[1], mma.shape[1], rows_n, mma.atoms_n(), mma.b, "b");
  const auto atoms_k = [](const Operand& x) { return (x.fragment ? x.fragment : x.matrix)->size(2); };
  if (atoms_k(tables.a) != atoms_k(tables.b)) {
    bad("a and b must have as many atoms along k, but have ", atoms_k(tables.a), " and ", atoms_k(tables.b));
  }
  check_store(tables);
  check_pipeline(tables.pipeline);
  if (tables.work) check_shape(*tables.work, {-1, 5}, "work", "units, (m tile, n tile, batch, first K tile, K tiles)");
}

}  // namespace tilewright::host

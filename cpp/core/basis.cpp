#include "basis.hpp"

#include <array>
#include <atomic>
#include <mutex>
#include <unordered_map>

namespace tilewright {

namespace {

// Of the 27 bits: 1 for a path in the table, else 2 for the number of modes and 24 for the modes.
constexpr uint32_t kInTable = 1u << 26;
constexpr uint32_t kModesBits = 24;
constexpr uint32_t kMostModes = 3;
constexpr std::size_t kMaxPaths = 1u << 18;  // in the table, where each stays for good

constexpr std::size_t kBlock = 1u << 10;

struct Entry {
  BasisId before;  // the path before the last mode
  uint32_t mode;   // the last mode
};

// Paths are read without a lock: that is done without Python's, too, and a process may fork in that moment.
struct Table {
  std::mutex mutex;  // of what is added
  std::unordered_map<uint64_t, BasisId> ids;
  std::size_t count = 0;
  std::array<std::atomic<Entry*>, kMaxPaths / kBlock> blocks{};  // entries stay where they are while it grows

  const Entry& operator[](BasisId id) const {
    const std::size_t i = id & ~kInTable;
    return blocks[i / kBlock].load(std::memory_order_acquire)[i % kBlock];
  }

  BasisId add(const Entry& entry) {
    std::atomic<Entry*>& block = blocks[count / kBlock];
    if (count % kBlock == 0) block.store(new Entry[kBlock], std::memory_order_release);
    block.load(std::memory_order_relaxed)[count % kBlock] = entry;
    return kInTable | static_cast<BasisId>(count++);
  }
};

Table& table() {
  static Table* const instance = new Table;  // never destroyed: layouts may outlive static destruction
  return *instance;
}

// The id of the first `count` modes where these are its bits, else 0.
BasisId packed(const BasisPath& path, std::size_t count) {
  if (count == 0 || count > kMostModes) return 0;
  const uint32_t width = kModesBits / static_cast<uint32_t>(count);
  uint32_t bits = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (path[i] >= 1u << width) return 0;
    bits = bits << width | path[i];
  }
  return static_cast<uint32_t>(count) << kModesBits | bits;
}

BasisId with_mode(Table& t, BasisId before, uint32_t mode) {
  const uint64_t key = uint64_t{before} << 32 | mode;
  const auto found = t.ids.find(key);
  if (found != t.ids.end()) return found->second;
  if (t.count >= kMaxPaths)
    fail(concat("a process has at most ", kMaxPaths, " different basis elements of more than three modes"));
  const BasisId id = t.add({before, mode});
  t.ids.emplace(key, id);
  return id;
}

}  // namespace

BasisId basis_id(const BasisPath& path) {
  if (path.empty()) return 0;
  if (const BasisId whole = packed(path, path.size())) return whole;
  std::size_t known = kMostModes;  // modes at the front that need no table
  BasisId id = 0;
  while (known > 0 && (known >= path.size() || (id = packed(path, known)) == 0)) --known;
  Table& t = table();
  const std::lock_guard<std::mutex> lock(t.mutex);
  for (std::size_t i = known; i < path.size(); ++i) id = with_mode(t, id, path[i]);
  return id;
}

BasisPath basis_path(BasisId id) {
  BasisPath path;
  if (id == 0) return path;
  BasisPath last;  // the modes in the table, the last first
  for (; (id & kInTable) != 0; id = table()[id].before) last.push_back(table()[id].mode);
  const uint32_t count = id >> kModesBits;
  const uint32_t width = count == 0 ? 0 : kModesBits / count;
  for (uint32_t i = count; i-- > 0;) path.push_back(id >> i * width & ((1u << width) - 1));
  for (std::size_t i = last.size(); i-- > 0;) path.push_back(last[i]);
  return path;
}

BasisPath reversed(const BasisPath& path) {
  BasisPath result;
  for (auto mode = path.rbegin(); mode != path.rend(); ++mode) result.push_back(*mode);
  return result;
}

std::string basis_suffix(BasisId id) {
  std::string text;
  for (const uint32_t mode : basis_path(id)) text += concat("@", mode);
  return text;
}

}  // namespace tilewright

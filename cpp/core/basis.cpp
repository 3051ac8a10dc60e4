#include "basis.hpp"

#include <array>
#include <atomic>
#include <map>
#include <mutex>

namespace tilewright {

namespace {

constexpr BasisId kMaxPaths = 1u << 20;  // each stays for good; a Node's tag has room for 2^28
constexpr BasisId kBlock = 1u << 10;

using Block = std::array<BasisPath, kBlock>;

// Paths are read without a lock: that is done without Python's, too, and a process may fork in that moment.
struct Table {
  std::mutex mutex;  // of what is added
  std::map<BasisPath, BasisId> ids;
  BasisId count = 0;
  std::array<std::atomic<Block*>, kMaxPaths / kBlock> blocks{};  // references stay valid while it grows

  Table() { add({}); }

  BasisId add(const BasisPath& path) {
    std::atomic<Block*>& block = blocks[count / kBlock];
    if (count % kBlock == 0) block.store(new Block, std::memory_order_release);
    (*block.load(std::memory_order_relaxed))[count % kBlock] = path;
    return count++;
  }
};

Table& table() {
  static Table* const instance = new Table;  // never destroyed: layouts may outlive static destruction
  return *instance;
}

}  // namespace

BasisId basis_id(const BasisPath& path) {
  if (path.empty()) return 0;
  Table& t = table();
  const std::lock_guard<std::mutex> lock(t.mutex);
  const auto found = t.ids.find(path);
  if (found != t.ids.end()) return found->second;
  if (t.count >= kMaxPaths) fail(concat("a process has at most ", kMaxPaths, " different basis elements"));
  const BasisId id = t.add(path);
  t.ids.emplace(path, id);
  return id;
}

const BasisPath& basis_path(BasisId id) {
  return (*table().blocks[id / kBlock].load(std::memory_order_acquire))[id % kBlock];
}

std::string basis_suffix(BasisId id) {
  std::string text;
  if (id == 0) return text;
  for (const uint32_t mode : basis_path(id)) text += concat("@", mode);
  return text;
}

}  // namespace tilewright

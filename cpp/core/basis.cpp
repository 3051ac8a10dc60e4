#include "basis.hpp"

#include <deque>
#include <map>
#include <mutex>

namespace tilewright {

namespace {

constexpr BasisId kMaxPaths = 1u << 20;  // each stays for good; a Node's tag has room for 2^28

struct Table {
  std::mutex mutex;
  std::map<BasisPath, BasisId> ids;
  std::deque<BasisPath> paths{BasisPath{}};  // a deque: references stay valid while it grows
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
  if (t.paths.size() >= kMaxPaths) fail(concat("a process has at most ", kMaxPaths, " different basis elements"));
  const auto id = static_cast<BasisId>(t.paths.size());
  t.paths.push_back(path);
  t.ids.emplace(path, id);
  return id;
}

const BasisPath& basis_path(BasisId id) {
  Table& t = table();
  const std::lock_guard<std::mutex> lock(t.mutex);
  return t.paths[id];
}

std::string basis_suffix(BasisId id) {
  std::string text;
  if (id == 0) return text;
  for (const uint32_t mode : basis_path(id)) text += concat("@", mode);
  return text;
}

}  // namespace tilewright

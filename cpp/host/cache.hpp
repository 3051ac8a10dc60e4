// The tables of the plans that were run last: a plan is mostly run again.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "tables.hpp"

namespace tilewright::host {

class TableCache {
 public:
  using Key = std::vector<int64_t>;

  // Every field that the tables depend on: all but the addresses.
  static Key key_of(const CopyPlan& plan);

  std::shared_ptr<const Tables> find(const Key& key);
  void insert(Key key, std::shared_ptr<const Tables> tables);

 private:
  struct Entry {
    Key key;
    std::shared_ptr<const Tables> tables;
    std::size_t bytes;
  };
  std::mutex mutex_;
  std::list<Entry> entries_;  // the last used one first
  std::size_t bytes_ = 0;
};

}  // namespace tilewright::host

#include "cache.hpp"

#include <algorithm>

namespace tilewright::host {

namespace {

constexpr std::size_t kMaxEntries = 64;
constexpr std::size_t kMaxBytes = std::size_t{64} << 20;

void append(TableCache::Key& key, TupleView tuple) {
  key.push_back(tuple.span());
  for (int64_t i = 0; i < tuple.span(); ++i) {
    const Node& node = tuple.get()[i];
    key.push_back(node.value);
    key.push_back(static_cast<int64_t>(node.aux) << 32 | node.tag);
  }
}

void append(TableCache::Key& key, LayoutView layout) {
  append(key, layout.shape);
  append(key, layout.stride);
}

}  // namespace

TableCache::Key TableCache::key_of(const CopyPlan& plan) {
  Key key{plan.element_bytes, static_cast<int64_t>(plan.rank),
          plan.load_vector,   plan.store_vector,
          plan.src_mode,      plan.dst_mode,
          plan.dst_shift};
  for (const Coord* field : {&plan.extents, &plan.src_strides, &plan.dst_strides, &plan.tile}) {
    key.insert(key.end(), field->begin(), field->begin() + static_cast<std::ptrdiff_t>(plan.rank));
  }
  append(key, plan.load_tv.view());
  append(key, plan.store_tv.view());
  key.push_back(plan.smem ? static_cast<int64_t>(plan.smem->index()) : -1);
  if (!plan.smem) return key;
  if (const auto* plain = std::get_if<Layout>(&*plan.smem)) {
    append(key, plain->view());
    return key;
  }
  const auto& composed = std::get<ComposedLayout>(*plan.smem);
  append(key, composed.outer().view());
  append(key, composed.offset().view());
  if (const Swizzle* swizzle = composed.swizzle()) {
    for (const int64_t part : {swizzle->bits(), swizzle->base(), swizzle->shift()}) key.push_back(part);
  }
  return key;
}

std::shared_ptr<const Tables> TableCache::find(const Key& key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.key == key; });
  if (found == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found);
  return found->tables;
}

void TableCache::insert(Key key, std::shared_ptr<const Tables> tables) {
  const std::size_t bytes = tables->bytes() + key.size() * sizeof(int64_t);
  if (bytes > kMaxBytes / 4) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  entries_.push_front({std::move(key), std::move(tables), bytes});
  bytes_ += bytes;
  while (entries_.size() > kMaxEntries || bytes_ > kMaxBytes) {
    bytes_ -= entries_.back().bytes;
    entries_.pop_back();
  }
}

}  // namespace tilewright::host

#include "call_family.hpp"

#include <algorithm>
#include <exception>
#include <optional>

namespace py = pybind11;

namespace tilewright::bind {

std::vector<py::object> kept_of(const CallKey& key) {
  std::vector<py::object> kept;
  for (uint32_t i = 0; i < key.identity_count(); ++i) {
    kept.push_back(py::reinterpret_borrow<py::object>(key.identities()[i]));
  }
  return kept;
}

std::unique_ptr<Family> Family::of(const Prepared& prepared, const CallKey& key) {
  if (!prepared.host()) return nullptr;
  auto family = std::make_unique<Family>();
  const auto& sources = prepared.host().cast<const HostFunction&>().sources();
  for (uint32_t i = 0; i < sources.size(); ++i) {
    const Source& source = sources[i];
    if (!source.is_word()) continue;
    const bool is_number = source.place == Source::Place::number;
    if (is_number && !key.has(source.argument)) continue;  // its default
    if (!is_number && key.rank(source.argument) <= source.mode) return nullptr;
    const uint32_t word = source.word(key);
    const std::optional<uint64_t> found = source.value(key.number_kind(source.argument), key.words()[word]);
    if (found == prepared.host_parameters()[i]) {
      family->slots_.push_back({word, i, &source});
    } else if (!is_number) {
      return nullptr;  // the layout is not the tensor's own
    }
  }
  std::ranges::sort(family->slots_, {}, &Slot::word);
  family->words_.assign(key.words(), key.words() + key.size());
  family->parameters_ = prepared.host_parameters();
  family->host_ = prepared.host();
  family->kept_ = kept_of(key);
  return family;
}

py::object Family::prepare(const CallKey& key) const {
  std::vector<uint64_t> parameters;
  if (!read(key, parameters)) return py::none();
  try {
    return host_.cast<const HostFunction&>().prepare(host_, parameters, key.stream() != nullptr, false);
  } catch (const std::exception&) {
    return py::none();  // the slow path says it
  }
}

int Family::visit(visitproc visit, void* arg) const {
  for (const py::object& kept : kept_) Py_VISIT(kept.ptr());
  return 0;
}

bool Family::read(const CallKey& key, std::vector<uint64_t>& parameters) const {
  if (key.size() != words_.size()) return false;
  uint32_t at = 0;
  const auto equal_until = [&](uint32_t end) {
    const bool equal = std::equal(words_.begin() + at, words_.begin() + end, key.words() + at);
    at = end + 1;
    return equal;
  };
  for (const Slot& slot : slots_) {
    if (!equal_until(slot.word) || !slot.source->is_alike(words_[slot.word], key.words()[slot.word])) return false;
  }
  if (!equal_until(key.size())) return false;
  parameters = parameters_;
  for (const auto& [word, parameter, source] : slots_) {
    const std::optional<uint64_t> found = source->value(key.number_kind(source->argument), key.words()[word]);
    if (!found) return false;
    parameters[parameter] = *found;
  }
  return true;
}

}  // namespace tilewright::bind

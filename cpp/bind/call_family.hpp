// Calls of a launcher that differ in what is a parameter of a program's host function.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "host_function.hpp"
#include "prepared.hpp"

namespace tilewright::bind {

// The objects whose identity is in a key.
std::vector<pybind11::object> kept_of(const CallKey& key);

// Calls for which the launches of a traced program are evaluated again: their keys are equal but for the words that are
// parameters of its host function.
class Family {
 public:
  // Of a call with this key; nullptr where its parameters are not found in it.
  static std::unique_ptr<Family> of(const Prepared& prepared, const CallKey& key);

  // The launches for a call that is one of these; None where it is none, or is to be refused.
  pybind11::object prepare(const CallKey& key) const;

  int visit(visitproc visit, void* arg) const;

 private:
  struct Slot {
    uint32_t word;
    uint32_t parameter;
    const Source* source;
  };

  bool read(const CallKey& key, std::vector<uint64_t>& parameters) const;

  std::vector<uint64_t> words_;
  std::vector<Slot> slots_;  // by word
  std::vector<uint64_t> parameters_;
  pybind11::object host_;
  std::vector<pybind11::object> kept_;
};

}  // namespace tilewright::bind

// A host function of a traced program, with its kernels on a device: its launches for the arguments of one call.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "call_key.hpp"
#include "program/program.hpp"
#include "without_gil.hpp"

namespace tilewright::bind {

// Where a call has the value of a parameter of the host function.
struct Source {
  enum class Place : uint8_t { fixed, address, shape, stride, number };

  Place place = Place::fixed;  // of what is fixed, calls with equal keys have the same value
  uint32_t argument = 0;
  uint32_t mode = 0;    // of a shape or stride
  int64_t divisor = 1;  // of the number; of an address the alignment in bytes
  program::Scalar scalar{};

  bool is_word() const { return place != Place::fixed && place != Place::address; }
  // Where a call's key has it.
  uint32_t word(const CallKey& key) const;
  // The parameter for a word there; nothing where the program does not take it.
  std::optional<uint64_t> value(Kind kind, uint64_t word) const;
  // Whether a program that was traced for the one word serves the other: strides of 0 and 1 are fixed in layouts, and
  // an extent of 1 may decide which stride of 1 is.
  bool is_alike(uint64_t a, uint64_t b) const {
    const auto kind = [](uint64_t word) { return word < 2 ? word : 2; };
    return place == Place::number || kind(a) == kind(b);
  }
};

class HostFunction {
 public:
  using SourceTuple = std::tuple<std::string, int64_t, int64_t, int64_t>;
  using KernelTuple = std::tuple<pybind11::object, std::vector<uint32_t>, uint32_t, int64_t, pybind11::object>;

  HostFunction(std::shared_ptr<program::Program> program, std::size_t index, const std::vector<SourceTuple>& sources,
               pybind11::object load);

  const std::vector<Source>& sources() const { return sources_; }
  // A Prepared of all launches for these parameters, with everything but the addresses; None where there is none to
  // make: the function returns or prints something, looks at addresses, or gets pointers that are no tensors' own; also
  // where a kernel is not loaded yet and may not be, since that runs Python code.
  pybind11::object prepare(const pybind11::object& self, const std::vector<uint64_t>& parameters, bool given_stream,
                           bool may_load) const;

 private:
  struct Loaded {
    pybind11::object function;
    std::vector<uint32_t> offsets;  // of its parameters
    uint32_t bytes;                 // of all
    int64_t shared;
    pybind11::object plan;  // what callbacks of launches are shown
  };

  const Loaded* loaded(std::size_t kernel, bool may_load) const;

  std::shared_ptr<program::Program> program_;
  std::size_t index_;
  std::vector<Source> sources_;  // by parameter
  pybind11::object load_;
  mutable std::map<std::size_t, Loaded> kernels_;  // that were launched
  mutable GilMutex mutex_;                         // of the map
  bool is_repeatable_;
};

void bind_host_function(pybind11::module_& m);

}  // namespace tilewright::bind

// A call of a launcher as words: equal words mean that the same launch serves both calls, but for the addresses.
#pragma once

#include <array>
#include <cstdint>

#include "exchange.hpp"

namespace tilewright::bind {

// Made for every call, on the stack: nothing here allocates, and the arrays are not cleared.
class CallKey {
 public:
  static constexpr uint32_t kMaxArguments = 32;
  static constexpr uint64_t kAlignment = 16;  // bytes: what a key tells of an address; no access is wider

  CallKey() {}  // NOLINT(modernize-use-equals-default): `= default` would clear the arrays where {} is written

  // Reads the arguments. `parameters` are the names of the callee's parameters: a tensor given by keyword is found at
  // the place of its name. False where the call has to take the slow path and cannot be remembered.
  bool read(PyObject* const* args, size_t positional, PyObject* keywords, PyObject* parameters);

  uint64_t hash() const;
  const uint64_t* words() const { return words_.data(); }
  uint32_t size() const { return size_; }

  uint32_t tensors() const { return tensors_; }                    // which arguments are tensors, as a bit mask
  uint32_t arguments() const { return arguments_; }                // which arguments are given
  const uint64_t* addresses() const { return addresses_.data(); }  // by argument, of tensors
  PyObject* argument(uint32_t index) const { return objects_[index]; }
  bool has(uint32_t index) const { return (arguments_ >> index & 1) != 0; }
  // Of a tensor; 0 of another argument.
  uint32_t rank(uint32_t index) const { return (tensors_ >> index & 1) != 0 ? words_[places_[index]] >> 8 & 255 : 0; }
  uint32_t place(uint32_t index) const { return places_[index]; }  // of an argument's first word
  Kind kind(uint32_t index) const { return static_cast<Kind>(words_[places_[index]] & 15); }
  // What the number is that an argument is or holds.
  Kind number_kind(uint32_t index) const {
    return kind(index) == Kind::numeric ? static_cast<Kind>(words_[places_[index]] >> 8 & 15) : kind(index);
  }
  // The stream that is among the arguments, or nullptr. Which one is no part of the key.
  PyObject* stream() const { return stream_; }

  // Of the tensors: there is one, and all are on one device.
  const DLPackExchangeAPI* api() const { return api_; }
  DLDevice device() const { return device_; }

  // Arguments whose identity is part of the key.
  PyObject* const* identities() const { return identities_.data(); }
  uint32_t identity_count() const { return identity_count_; }

 private:
  static constexpr uint32_t kMaxWords = 256;
  static constexpr int kMaxDepth = 4;

  bool put(uint64_t word) {
    if (size_ == kMaxWords) return false;
    words_[size_++] = word;
    return true;
  }
  bool put_argument(PyObject* object, uint32_t index);
  bool put_tensor(PyObject* object, const TypeInfo& info, uint32_t index);
  bool put_value(PyObject* object, Kind kind, int depth);
  bool put_string(PyObject* string);
  bool put_numeric(PyObject* object);

  std::array<uint64_t, kMaxWords> words_;
  std::array<uint64_t, kMaxArguments> addresses_;
  std::array<PyObject*, kMaxArguments> objects_;
  std::array<PyObject*, kMaxArguments> identities_;
  std::array<uint32_t, kMaxArguments> places_;
  PyObject* stream_ = nullptr;
  uint32_t size_ = 0;
  uint32_t tensors_ = 0;
  uint32_t arguments_ = 0;
  uint32_t identity_count_ = 0;
  const DLPackExchangeAPI* api_ = nullptr;
  DLDevice device_{};
};

}  // namespace tilewright::bind

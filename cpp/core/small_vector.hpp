// A vector of trivially copyable elements whose first N lie inside the object: layouts of ordinary rank never touch the
// heap.
#pragma once

#include <cstddef>
#include <cstring>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

namespace tilewright {

template <class T, std::size_t N>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  SmallVector() = default;
  SmallVector(const SmallVector& other) { assign(other.begin(), other.size_); }
  SmallVector(SmallVector&& other) noexcept { steal(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) assign(other.begin(), other.size_);
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) steal(other);
    return *this;
  }
  ~SmallVector() = default;

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return heap_ ? heap_.get() : reinterpret_cast<T*>(inline_); }
  const T* begin() const { return heap_ ? heap_.get() : reinterpret_cast<const T*>(inline_); }
  T* end() { return begin() + size_; }
  const T* end() const { return begin() + size_; }
  auto rbegin() const { return std::make_reverse_iterator(end()); }
  auto rend() const { return std::make_reverse_iterator(begin()); }
  T& operator[](std::size_t i) { return begin()[i]; }
  const T& operator[](std::size_t i) const { return begin()[i]; }
  T& back() { return begin()[size_ - 1]; }
  const T& back() const { return begin()[size_ - 1]; }

  void clear() { size_ = 0; }
  void pop_back() { --size_; }
  void push_back(const T& value) {
    const T copy = value;
    reserve(size_ + 1);
    begin()[size_++] = copy;
  }
  // The source must not lie in this vector.
  void append(const T* first, std::size_t count) {
    reserve(size_ + count);
    if (count != 0) std::memcpy(static_cast<void*>(begin() + size_), first, count * sizeof(T));
    size_ += count;
  }
  void erase(std::size_t i) {
    std::memmove(static_cast<void*>(begin() + i), begin() + i + 1, (size_ - i - 1) * sizeof(T));
    --size_;
  }
  void insert_front(const T& value) {
    const T copy = value;
    reserve(size_ + 1);
    std::memmove(static_cast<void*>(begin() + 1), begin(), size_ * sizeof(T));
    begin()[0] = copy;
    ++size_;
  }

 private:
  void assign(const T* first, std::size_t count) {
    size_ = 0;
    append(first, count);
  }
  void steal(SmallVector& other) {
    heap_ = std::move(other.heap_);
    capacity_ = std::exchange(other.capacity_, N);
    size_ = std::exchange(other.size_, 0);
    if (heap_) return;
    // Of a size that the compiler knows, so that no function is called: most elements are moved this way.
    if (size_ <= N / 2) {
      std::memcpy(inline_, other.inline_, N / 2 * sizeof(T));
    } else {
      std::memcpy(inline_, other.inline_, N * sizeof(T));
    }
  }
  void reserve(std::size_t count) {
    if (count <= capacity_) return;
    const std::size_t capacity = count > 2 * capacity_ ? count : 2 * capacity_;
    std::unique_ptr<T[]> grown(new T[capacity]);
    std::memcpy(static_cast<void*>(grown.get()), begin(), size_ * sizeof(T));
    heap_ = std::move(grown);
    capacity_ = capacity;
  }

  std::size_t size_ = 0;
  std::size_t capacity_ = N;
  std::unique_ptr<T[]> heap_;
  alignas(T) unsigned char inline_[N * sizeof(T)];  // raw: elements that are not there cost nothing
};

}  // namespace tilewright

// What the GIL guards, where there is one: in a free-threaded Python locks take its place.
#pragma once

#include <pybind11/critical_section.h>
#include <pybind11/pybind11.h>

namespace tilewright::bind {

#ifdef Py_GIL_DISABLED
inline constexpr bool kWithoutGil = true;

// For std::lock_guard, around code that runs no Python. A thread that waits is detached, so that it stops nobody. What
// has one is copied and moved before threads share it.
class GilMutex {
 public:
  GilMutex() = default;
  GilMutex(const GilMutex&) noexcept {}
  GilMutex& operator=(const GilMutex&) noexcept { return *this; }
  void lock() { PyMutex_Lock(&mutex_); }
  void unlock() { PyMutex_Unlock(&mutex_); }

 private:
  PyMutex mutex_ = {0};
};
#else
inline constexpr bool kWithoutGil = false;

struct GilMutex {
  void lock() {}
  void unlock() {}
};
#endif

// A scope in which no other thread is in one for the same object, unless this one waits: as the GIL keeps them apart.
using CriticalSection = pybind11::scoped_critical_section;

}  // namespace tilewright::bind

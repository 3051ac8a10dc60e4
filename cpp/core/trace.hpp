// The steps of an operation, recorded while it computes.
//
// While a Trace lives, the operations of its thread write into it what they do; elsewhere they only look at a counter.
// A step is a rule of steps.hpp with the operands, numbers and results that it had. `explain` and the interactive page
// show steps as sentences.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <variant>
#include <vector>

#include "layout.hpp"

namespace tilewright {

class ComposedLayout;
class Tiler;

// Something that an operation does, as a sentence: {0}, {1}, ... are the terms of a step.
struct Rule {
  const char* sentence;
  bool holds = true;  // else the condition of the operation is broken here
};

using Term = std::variant<std::string, IntTuple, Layout>;

struct Step {
  const Rule* rule;
  int depth;  // how many steps it is a part of
  std::vector<Term> terms;
};

class Trace {
 public:
  Trace();
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // The one that records this thread; nullptr: none does.
  static Trace* current() { return anywhere() ? of_thread() : nullptr; }
  static bool anywhere() { return living_.load(std::memory_order_relaxed) != 0; }

  // What becomes a term: a text, a number, a tuple, a layout, a mode, modes, a tiler, or a function that gives one of
  // them. Referred to alone, so that a place that records takes little code.
  class Named {
   public:
    template <class T>
    Named(const T& what)  // NOLINT: a place that records names what it has
        : what_(&what), term_([](const void* at) { return term(*static_cast<const T*>(at)); }) {}
    Term operator()() const { return term_(what_); }

   private:
    const void* what_;
    Term (*term_)(const void*);
  };
  [[gnu::cold]] void add(const Rule& rule, std::initializer_list<Named> terms);
  const std::vector<Step>& steps() const { return steps_; }
  // Forgets the steps from `start` on: another way has led to the answer.
  void rewind(std::size_t start) { steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(start), steps_.end()); }

  // While one lives, steps are parts of the last one.
  class Nested {
   public:
    explicit Nested(Trace* trace) : trace_(trace) {
      if (trace_ != nullptr) ++trace_->depth_;
    }
    ~Nested() {
      if (trace_ != nullptr) --trace_->depth_;
    }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    Trace* trace_;
  };

  // While one lives, nothing is recorded: for checks of a result, which is there already.
  class Silence {
   public:
    Silence();
    ~Silence();
    Silence(const Silence&) = delete;
    Silence& operator=(const Silence&) = delete;

   private:
    Trace* silenced_;
  };

 private:
  [[gnu::cold]] static Trace* of_thread();

  static Term term(const std::string& text) { return text; }
  static Term term(const char* text) { return std::string(text); }
  static Term term(int64_t number) { return IntTuple(static_int(number)); }
  static Term term(const Node& leaf) { return IntTuple(leaf); }
  static Term term(TupleView tuple) { return IntTuple(tuple); }
  static Term term(const IntTuple& tuple) { return tuple; }
  static Term term(LayoutView layout) { return Layout(layout); }
  static Term term(const Layout& layout) { return layout; }
  static Term term(const Mode& mode) { return Layout::leaf(mode.extent, mode.stride); }
  static Term term(const Modes& modes) { return from_modes(modes); }
  static Term term(const Tiler& tiler);
  static Term term(const ComposedLayout& layout);
  template <std::invocable F>  // what takes time to say
  static Term term(const F& f) {
    return term(f());
  }

  static std::atomic<int> living_;

  Trace* outer_;
  int depth_ = 0;
  std::vector<Step> steps_;
};

// Takes copies: what a fast loop works with stays in registers, as nobody has its address.
template <class... T>
[[gnu::cold, gnu::noinline]] void record(const Rule& rule, T... terms) {
  if (Trace* const trace = Trace::current()) trace->add(rule, {Trace::Named(terms)...});
}

// Records a step where somebody records this thread.
template <class... T>
[[gnu::always_inline]] inline void note(const Rule& rule, const T&... terms) {
  if (Trace::anywhere()) [[unlikely]]
    record(rule, terms...);
}

// Records a step of which modes are the result, unless they are the layout that there was.
template <class... T>
void note_simpler(const Rule& rule, const Modes& modes, LayoutView layout, const T&... before) {
  if (Trace* const trace = Trace::current(); trace != nullptr) [[unlikely]] {
    if (!(from_modes(modes) == Layout(layout))) trace->add(rule, {before..., modes});
  }
}

// f() as a part of an operation: its steps stand below the one that names it.
template <class F, class... T>
auto below(F&& f, const Rule& heading, const T&... terms) -> decltype(f()) {
  note(heading, terms...);
  const Trace::Nested nested(Trace::current());
  return f();
}

// CuTe's text, a dynamic integer as its value behind a question mark: `(?6,2):(8,2)`.
std::string step_text(TupleView tuple);
std::string step_text(LayoutView layout);
std::string step_text(const Tiler& tiler);
std::string step_text(const ComposedLayout& layout);
std::string step_text(const Step& step);

// The lines of a derivation: the call, the steps, indented by their depth, and the outcome. Where the operation has
// failed, the steps end at the first one whose condition does not hold.
std::vector<std::string> derivation(const std::string& call, const Trace& trace, const std::string& outcome,
                                    bool failed);

}  // namespace tilewright

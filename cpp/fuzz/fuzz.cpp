// Fuzz target: text is parsed into operands, every operation runs on them, checked and unchecked. Nothing but
// LayoutError may come out, and a checked answer must satisfy its law at every coordinate.
//
// It has libFuzzer's entry point. Without libFuzzer, main() below makes texts from a grammar, breaks some of them, and
// runs for the number of seconds given:   tilewright_fuzz [seconds] [seed]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "core/function.hpp"
#include "core/modes.hpp"
#include "core/parse.hpp"

namespace {

using namespace tilewright;

[[noreturn]] void broken(const std::string& law) {
  std::fprintf(stderr, "law broken: %s\n", law.c_str());
  std::abort();
}

// Small enough to look at every coordinate, and the numbers small enough not to overflow on the way.
bool small(LayoutView layout) {
  int64_t count = 1;
  bool fits = !has_basis(layout.stride);
  for_each_leaf(layout, [&](const Node& extent, const Node& stride) {
    fits = fits && extent.value > 0 && extent.value < 1000 && stride.value < 100000 && stride.value > -100000;
    if (fits) count *= extent.value;
    fits = fits && count < 5000;
  });
  return fits;
}

void check_composition(LayoutView a, LayoutView b, LayoutView r) {
  if (!small(a) || !small(b)) return;
  if (size(r).value != size(b).value) broken("|A o B| = |B|");
  for (int64_t i = 0; i < size(b).value; ++i) {
    const IntTuple expected = crd2idx(crd2idx(IntTuple(static_int(i)), b), a);
    if (!(crd2idx(IntTuple(static_int(i)), r) == expected)) {
      broken(concat(to_string(a), " o ", to_string(b), " = ", to_string(r), " at ", i));
    }
  }
}

void check_coalesce(LayoutView a, LayoutView r) {
  if (!small(a)) return;
  for (int64_t i = 0; i < size(a).value; ++i) {
    if (evaluate(a, i) != evaluate(r, i)) broken(concat("coalesce(", to_string(a), ") at ", i));
  }
}

void check_right_inverse(LayoutView a, LayoutView r) {
  if (!small(a) || !small(r)) return;
  for (int64_t i = 0; i < size(r).value; ++i) {
    if (evaluate(a, evaluate(r, i)) != i) broken(concat("right_inverse(", to_string(a), ") at ", i));
  }
}

void check_round_trip(LayoutView a) {
  const Parsed again = parse(to_string(a));
  if (!std::holds_alternative<Layout>(again) || !(std::get<Layout>(again) == Layout(a))) broken("parse(str(x)) == x");
}

template <class F>
void attempt(F&& f) {
  for (const bool checked : {true, false}) {
    try {
      if (checked) {
        f(true);
      } else {
        const Unchecked scope;
        f(false);
      }
    } catch (const LayoutError&) {  // the one way out
    }
  }
}

Tiler tiler_of(const Parsed& parsed) {
  if (const auto* layout = std::get_if<Layout>(&parsed)) return Tiler(*layout);
  const auto* tuple = std::get_if<IntTuple>(&parsed);
  if (tuple == nullptr) fail("no tiler");
  auto convert = [](auto&& self, TupleView view) -> Tiler {
    if (view.is_leaf()) {
      if (view->is_none()) return Tiler();
      if (view->value <= 0 || view->has_basis()) fail("not an extent");
      return Tiler(*view);
    }
    std::vector<Tiler> modes;
    for_each_mode(view, [&](TupleView mode) { modes.push_back(self(self, mode)); });
    return Tiler(std::move(modes));
  };
  return convert(convert, *tuple);
}

AnyLayout any_layout(const Parsed& parsed) {
  if (const auto* layout = std::get_if<Layout>(&parsed)) return *layout;
  if (const auto* composed = std::get_if<ComposedLayout>(&parsed)) return *composed;
  fail("no layout");
}

void unary(const Layout& a) {
  attempt([&](bool) { check_round_trip(a); });
  attempt([&](bool) { check_coalesce(a, coalesce(a)); });
  attempt([&](bool checked) {
    const Layout r = right_inverse(LayoutView(a));
    if (checked) check_right_inverse(a, r);
  });
  attempt([&](bool) { left_inverse(LayoutView(a)); });
  attempt([&](bool) { complement(a); });
  attempt([&](bool) { filter(a), filter_zeros(a), nullspace(a), max_alignment(a); });
  attempt([&](bool) { make_layout_like(a), make_fragment_like(a), flatten(LayoutView(a)); });
  attempt([&](bool) { cosize(a), offset_range(a); });
  for (const int64_t n : {1, 2, 3, 8}) {
    attempt([&](bool) { upcast(LayoutView(a), n); });
    attempt([&](bool) { downcast(LayoutView(a), n); });
    attempt([&](bool) { recast(LayoutView(a), 4 * n, 6); });
  }
  for (const int64_t i : {int64_t{0}, int64_t{5}, int64_t{-3}, int64_t{1} << 40}) {
    attempt([&](bool) { crd2idx(IntTuple(static_int(i)), LayoutView(a)); });
    attempt([&](bool) { idx2crd(IntTuple(static_int(i)), a.shape()); });
    attempt([&](bool) { offset_to_coord(static_int(i), a); });
    attempt([&](bool) { is_admissible(a, i); });
  }
  if (small(a)) attempt([&](bool) { is_injective(a), is_bijective(a), image(a); });
}

void binary(const Parsed& x, const Parsed& y) {
  attempt([&](bool) { equivalent(any_layout(x), any_layout(y)); });
  attempt([&](bool) { max_common_layout(any_layout(x), any_layout(y)); });
  if (const auto* swizzle = std::get_if<Swizzle>(&x)) {
    if (const auto* other = std::get_if<Swizzle>(&y)) attempt([&](bool) { composition(*swizzle, *other); });
    if (const auto* layout = std::get_if<Layout>(&y)) {
      attempt([&](bool) { composition(*swizzle, *layout); });
      attempt([&](bool) { composition(*layout, *swizzle); });
    }
    attempt([&](bool) { upcast(*swizzle, 4), downcast(*swizzle, 8); });
  }
  if (const auto* composed = std::get_if<ComposedLayout>(&x)) {
    attempt([&](bool) { right_inverse(*composed); });
    attempt([&](bool) { left_inverse(*composed); });
    attempt([&](bool) { recast(*composed, 8, 16); });
    if (const auto* coord = std::get_if<IntTuple>(&y)) {
      attempt([&](bool) { slice_and_offset(*coord, *composed); });
      attempt([&](bool) { (*composed)(*coord); });
    }
  }
  const auto* a = std::get_if<Layout>(&x);
  if (a == nullptr) return;
  if (const auto* b = std::get_if<Layout>(&y)) {
    attempt([&](bool checked) {
      const Layout r = composition(LayoutView(*a), LayoutView(*b));
      if (checked) check_composition(*a, *b, r);
    });
    attempt([&](bool) { blocked_product(*a, *b), raked_product(*a, *b); });
    attempt([&](bool) { make_layout_tv(*a, *b); });
    attempt([&](bool) { zip({*a, *b}), concatenate({*a, *b}), append(*a, *b), prepend(*a, *b); });
  }
  if (const auto* tuple = std::get_if<IntTuple>(&y)) {
    const TupleView t = *tuple;
    attempt([&](bool) { complement(*a, t); });
    attempt([&](bool) { coalesce(*a, t), filter(*a, t); });
    attempt([&](bool) { slice_and_offset(t, LayoutView(*a)), dice(t, LayoutView(*a)); });
    attempt([&](bool) { crd2idx(t, LayoutView(*a)); });
    attempt([&](bool) { tile_to_shape_ordered(*a, t, Major::kRight); });
    attempt([&](bool) { unflatten(LayoutView(*a), t); });
    attempt([&](bool) { make_ordered_layout(a->shape(), t); });
    attempt([&](bool) { ceil_div(a->shape(), t), round_up(a->shape(), t); });
    attempt([&](bool) { shape_div(a->shape(), t), elem_scale(a->shape(), t); });
    attempt([&](bool) { inner_product(a->shape(), t), product_like(a->shape(), t); });
    attempt([&](bool) { crd2crd(t, a->shape(), a->shape()); });
  }
  for (const auto operation : {logical_divide, zipped_divide, tiled_divide, flat_divide, logical_product,
                               zipped_product, tiled_product, flat_product}) {
    attempt([&](bool) { operation(*a, tiler_of(y)); });
  }
  attempt([&](bool) { composition(*a, tiler_of(y)); });
}

// ---- texts
// ------------------------------------------------------------------------------------------------------------------

class Source {
 public:
  explicit Source(uint64_t seed) : random_(seed) {}

  std::string text() {
    std::string made = operand() + "|" + operand();
    if (pick(4) == 0) damage(made);
    return made;
  }

 private:
  uint64_t pick(uint64_t n) { return random_() % n; }

  std::string number(bool stride) {
    static const char* const extents[] = {"1", "2", "3", "4", "5", "6", "7", "8", "12", "16", "64", "128"};
    static const char* const hard[] = {
        "0", "-1", "-4", "65536", "4294967296", "9223372036854775807", "-9223372036854775808", "1@0", "2@1@0", "_"};
    if (pick(60) == 0) return hard[pick(10)];
    if (stride && pick(6) == 0) return pick(2) == 0 ? "0" : std::to_string(pick(200));
    if (stride && pick(12) == 0) return std::to_string(1 + pick(4)) + "@" + std::to_string(pick(3));
    return extents[pick(12)];
  }
  // A profile, filled twice so that shape and stride agree.
  std::string profile(int depth) {
    if (depth == 0 || pick(3) == 0) return "#";
    std::string made = "(";
    for (uint64_t i = 0, n = 1 + pick(3); i < n; ++i) made += (i == 0 ? "" : ",") + profile(depth - 1);
    return made + ")";
  }
  std::string fill(const std::string& profile, bool stride) {
    std::string made;
    for (const char c : profile) made += c == '#' ? number(stride) : std::string(1, c);
    return made;
  }
  std::string layout() {
    const std::string shape = profile(static_cast<int>(pick(4)));
    return fill(shape, false) + ":" + fill(shape, true);
  }
  std::string swizzle() {
    return "S<" + std::to_string(pick(5)) + "," + std::to_string(pick(6)) + "," +
           std::to_string(static_cast<int>(pick(11)) - 5) + ">";
  }
  std::string operand() {
    switch (pick(8)) {
      case 0:
        return swizzle();
      case 1:
        return swizzle() + " o " + std::to_string(pick(64)) + " o " + layout();
      case 2:
      case 3:
        return fill(profile(static_cast<int>(pick(3))), pick(2) == 0);
      default:
        return layout();
    }
  }
  void damage(std::string& text) {
    static const std::string alphabet = "0123456789(),:_@|<>S o-\0?";
    for (uint64_t i = 0, n = 1 + pick(4); i < n && !text.empty(); ++i) {
      const auto at = static_cast<std::size_t>(pick(text.size()));
      switch (pick(3)) {
        case 0:
          text.erase(at, 1);
          break;
        case 1:
          text.insert(at, 1, alphabet[pick(alphabet.size())]);
          break;
        default:
          text[at] = static_cast<char>(pick(256));
      }
    }
  }

  std::mt19937_64 random_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t bar = text.find('|');
  try {
    const Parsed x = parse(text.substr(0, bar));
    if (const auto* layout = std::get_if<Layout>(&x)) unary(*layout);
    if (bar != std::string_view::npos) binary(x, parse(text.substr(bar + 1)));
  } catch (const LayoutError&) {  // text that says nothing
  }
  return 0;
}

#ifndef TILEWRIGHT_LIBFUZZER
int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 10;
  const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  Source source(seed);
  const auto start = std::chrono::steady_clock::now();
  uint64_t runs = 0;
  double slowest = 0, elapsed = 0;
  std::string slowest_text;
  while (elapsed < seconds) {
    const std::string text = source.text();
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(text.data()), text.size());
    ++runs;
    const double now = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (now - elapsed > slowest) slowest = now - elapsed, slowest_text = text;
    elapsed = now;
  }
  std::printf("%llu inputs in %.0f s, seed %llu, slowest %.2f s: %s\n", static_cast<unsigned long long>(runs), elapsed,
              static_cast<unsigned long long>(seed), slowest, slowest_text.c_str());
  return 0;
}
#endif

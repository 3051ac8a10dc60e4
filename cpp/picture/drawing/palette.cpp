#include "palette.hpp"

#include <cmath>

namespace tilewright::picture {

namespace {

// Paul Tol's "light" scheme: told apart with every kind of colour vision, and black text is readable on each.
constexpr std::array<int, 8> kPalette = {0x77aadd, 0xee8866, 0xeedd88, 0x44bb99,
                                         0xffaabb, 0x99ddff, 0xbbcc33, 0xaaaa00};
constexpr std::array<double, 3> kTints = {0.0, 0.35, 0.6};  // towards white, one for each round through the palette
constexpr double kFaded = 0.72;
constexpr int kNobody = 0xcbd0d5, kGrey = 0xb4bac1;  // no white boxes on a dark page
constexpr std::size_t kColors = kPalette.size() * kTints.size();

int mixed(int hue, int other, double part) {
  int found = 0;
  for (const int shift : {16, 8, 0}) {
    const int a = hue >> shift & 0xff, b = other >> shift & 0xff;
    found |= static_cast<int>(std::nearbyint(a + (b - a) * part)) << shift;
  }
  return found;
}

std::string text_of(int color) {
  std::string text = "#";
  for (int shift = 20; shift >= 0; shift -= 4) text += "0123456789abcdef"[color >> shift & 15];
  return text;
}

struct Colors {
  std::array<std::string, kColors> plain, faded;
  std::string nobody = text_of(kNobody), grey = text_of(kGrey);

  Colors() {
    for (std::size_t i = 0; i < kColors; ++i) {
      const int color = mixed(kPalette[i % kPalette.size()], 0xffffff, kTints[i / kPalette.size()]);
      plain[i] = text_of(color);
      faded[i] = text_of(mixed(color, kNobody, kFaded));
    }
  }
};

const Colors& colors() {
  static const Colors found;
  return found;
}

std::size_t number(int64_t owner) {
  constexpr auto count = static_cast<int64_t>(kColors);
  return static_cast<std::size_t>((owner % count + count) % count);
}

}  // namespace

const std::string& thread_color(int64_t thread) { return colors().plain[number(thread)]; }

const std::string& fill(const Owner& owner, bool faded) {
  if (!owner) return faded ? colors().grey : colors().nobody;
  return (faded ? colors().faded : colors().plain)[number(*owner)];
}

}  // namespace tilewright::picture

// Texts of pictures: their lengths in letters, their lines, their form in XML. All of them are UTF-8.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::picture {

// Letters: code points.
int64_t length(std::string_view text);
// Where the letter of this number begins.
std::size_t at_letter(std::string_view text, int64_t letter);
// Blanks on both sides, as many as there is room for.
std::string centered(std::string_view text, int64_t letters);
std::string joined(const std::vector<std::string>& parts, std::string_view between);
std::vector<std::string> split(std::string_view text, char at);

// Lines of at most so many letters, broken at blanks; all but the first begin with `indent`. Words that are longer than
// a line are cut, or where `cut` is false stand alone.
std::vector<std::string> wrapped(std::string_view text, int64_t letters, std::string_view indent = "", bool cut = true);

// A number with at most so many digits behind the point, the last one rounded to even; one digit is left out if it is
// 0.
std::string fixed(double x, int digits);
inline std::string number(double x) { return fixed(x, 1); }

// A text as it stands in SVG and HTML; a control character becomes U+FFFD.
std::string escaped(std::string_view text);

}  // namespace tilewright::picture

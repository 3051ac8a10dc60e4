#include "text.hpp"

#include <algorithm>
#include <cmath>

namespace tilewright::picture {

namespace {

bool begins_letter(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Tabs reach to the next multiple of 8 letters of their line; other white space becomes a blank.
std::string blanks_of(std::string_view text) {
  std::string found;
  int64_t column = 0;
  for (const char c : text) {
    if (c == '\t') {
      found.append(static_cast<std::size_t>(8 - column % 8), ' ');
      column += 8 - column % 8;
    } else {
      found += is_blank(c) ? ' ' : c;
      column = c == '\n' || c == '\r' ? 0 : column + begins_letter(c);
    }
  }
  return found;
}

// Words and the blanks between them, the last one first.
std::vector<std::string> chunks_of(std::string_view text) {
  std::vector<std::string> chunks;
  for (std::size_t start = 0; start < text.size();) {
    std::size_t end = start;
    while (end < text.size() && (text[end] == ' ') == (text[start] == ' ')) ++end;
    chunks.emplace_back(text.substr(start, end - start));
    start = end;
  }
  std::reverse(chunks.begin(), chunks.end());
  return chunks;
}

bool is_space(const std::string& chunk) { return chunk.empty() || chunk[0] == ' '; }

// What XML has no place for: control characters, surrogates, U+FFFE and U+FFFF. Its bytes; 0 for another letter.
std::size_t forbidden(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0; };
  if (byte(0) < 0x20) return text[0] == '\t' || text[0] == '\n' || text[0] == '\r' ? 0 : 1;
  if (byte(0) == 0xed && byte(1) >= 0xa0) return 3;
  if (byte(0) == 0xef && byte(1) == 0xbf && byte(2) >= 0xbe) return 3;
  return 0;
}

}  // namespace

int64_t length(std::string_view text) { return std::count_if(text.begin(), text.end(), begins_letter); }

std::size_t at_letter(std::string_view text, int64_t letter) {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    if (begins_letter(text[at]) && letter-- == 0) break;
  }
  return at;
}

std::string centered(std::string_view text, int64_t letters) {
  const int64_t room = letters - length(text);
  if (room <= 0) return std::string(text);
  const int64_t left = room / 2 + (room & letters & 1);
  std::string found(static_cast<std::size_t>(left), ' ');
  found += text;
  return found.append(static_cast<std::size_t>(room - left), ' ');
}

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
  std::string found;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i != 0) found += between;
    found += parts[i];
  }
  return found;
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(at, start), text.size());
    parts.emplace_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

std::vector<std::string> wrapped(std::string_view text, int64_t letters, std::string_view indent, bool cut) {
  std::vector<std::string> chunks = chunks_of(blanks_of(text));
  std::vector<std::string> lines;
  while (!chunks.empty()) {
    if (is_space(chunks.back()) && !lines.empty()) chunks.pop_back();
    const int64_t width = letters - (lines.empty() ? 0 : length(indent));
    std::vector<std::string> line;
    int64_t taken = 0;
    const auto take = [&] {
      taken += length(chunks.back());
      line.push_back(std::move(chunks.back()));
      chunks.pop_back();
    };
    while (!chunks.empty() && taken + length(chunks.back()) <= width) take();
    if (!chunks.empty() && length(chunks.back()) > width) {
      if (cut) {
        std::string& word = chunks.back();
        const std::size_t end = at_letter(word, width < 1 ? 1 : width - taken);
        line.push_back(word.substr(0, end));
        word.erase(0, end);
      } else if (line.empty()) {
        take();
      }
    }
    if (!line.empty() && is_space(line.back())) line.pop_back();
    if (!line.empty()) lines.push_back((lines.empty() ? "" : std::string(indent)) + joined(line, ""));
  }
  return lines;
}

std::string fixed(double x, int digits) {
  const double scale = digits == 1 ? 10 : 100;
  // The product and what rounding took from it tell on which side of a half the exact one lies.
  const double size = std::fabs(x), product = size * scale, lost = std::fma(size, scale, -product);
  double whole = std::floor(product);
  const double part = product - whole;
  if (part > 0.5 || (part == 0.5 && (lost > 0 || (lost == 0 && std::fmod(whole, 2) != 0)))) ++whole;
  const auto units = static_cast<int64_t>(whole), step = static_cast<int64_t>(scale);
  std::string found = (std::signbit(x) ? "-" : "") + std::to_string(units / step);
  const int64_t rest = units % step;
  if (digits == 1) {
    if (rest != 0) found += "." + std::to_string(rest);
  } else {
    found += (rest < 10 ? ".0" : ".") + std::to_string(rest);
  }
  return found;
}

std::string escaped(std::string_view text) {
  std::string found;
  found.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '&') {
      found += "&amp;";
    } else if (c == '<') {
      found += "&lt;";
    } else if (c == '>') {
      found += "&gt;";
    } else if (c == '"') {
      found += "&quot;";
    } else if (const std::size_t bytes = forbidden(text.substr(i))) {
      found += "\xef\xbf\xbd";
      i += bytes - 1;
    } else {
      found += c;
    }
  }
  return found;
}

}  // namespace tilewright::picture

#include "dense.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <set>

#include "picture/drawing/palette.hpp"
#include "picture/drawing/text.hpp"

namespace tilewright::picture {

namespace {

constexpr int64_t kKey = 46, kStroke = 8;  // bytes of a path but its lines and dashes, and of a line in it

using Texts = std::vector<std::string>;
struct Run {
  int64_t start, end;
};
struct Piece {  // of one line
  std::string color, dashes;
  int64_t start, end;
};

std::string dashes_of(const std::vector<int64_t>& lengths) {
  std::string text;
  for (const int64_t length : lengths) text += (text.empty() ? "" : " ") + std::to_string(length);
  return text;
}

std::vector<Piece> pieces_of(const Texts& line) {
  std::vector<std::pair<std::string, std::vector<Run>>> runs;  // by colour, in the order in which they come
  for (std::size_t start = 0; start < line.size();) {
    std::size_t end = start + 1;
    while (end < line.size() && line[end] == line[start]) ++end;
    if (!line[start].empty()) {
      auto known = std::find_if(runs.begin(), runs.end(), [&](const auto& run) { return run.first == line[start]; });
      if (known == runs.end()) known = runs.insert(runs.end(), {line[start], {}});
      known->second.push_back({static_cast<int64_t>(start), static_cast<int64_t>(end)});
    }
    start = end;
  }
  std::vector<Piece> found;
  for (const auto& [color, parts] : runs) {
    std::vector<int64_t> lengths;  // of runs and of the gaps between them, in turn
    std::set<int64_t> drawn, gaps;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i != 0) {
        lengths.push_back(parts[i].start - parts[i - 1].end);
        gaps.insert(lengths.back());
      }
      lengths.push_back(parts[i].end - parts[i].start);
      drawn.insert(lengths.back());
    }
    if (gaps.empty()) {
      lengths.clear();
    } else if (drawn.size() == 1 && gaps.size() == 1) {
      lengths.resize(2);
    }
    found.push_back({color, dashes_of(lengths), parts.front().start, parts.back().end});
  }
  return found;
}

bool is_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// The number of a text of digits; none beyond 64 bits.
std::optional<int64_t> value_of(const std::string& text) {
  int64_t value = 0;
  if (text.empty()) return value;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

// Rows of numbers as sums, of rows that have a number in the first column.
std::optional<Summands> sums_of(const std::vector<Texts>& texts) {
  std::vector<int64_t> begins, ends;
  for (const Texts& row : texts) {
    const auto first = row.empty() || row[0].empty() ? std::nullopt : value_of(row[0]);
    if (!first) return std::nullopt;
    begins.push_back(*first);
  }
  for (std::size_t c = 0; !texts.empty() && c < texts[0].size(); ++c) {
    ends.push_back(value_of(texts[0][c]).value_or(0) - begins[0]);
  }
  Summands found{{}, {}, false};
  for (std::size_t r = 0; r < texts.size(); ++r) {
    for (std::size_t c = 0; c < ends.size(); ++c) {
      if (!texts[r][c].empty() && value_of(texts[r][c]) != begins[r] + ends[c]) return std::nullopt;
    }
    found.rows.push_back(std::to_string(begins[r]));
  }
  for (const int64_t end : ends) found.columns.push_back(std::to_string(end));
  return found;
}

// Rows of texts as sums begins[i] + ends[j], where begins end with a comma; none where they are none. Numbers, all of
// them, are sums of numbers.
std::optional<Summands> summands_of(const std::vector<Texts>& texts) {
  const bool numbers = std::all_of(texts.begin(), texts.end(), [](const Texts& row) {
    return std::all_of(row.begin(), row.end(), [](const std::string& x) { return x.empty() || is_number(x); });
  });
  if (numbers) return sums_of(texts);
  Summands found{{}, {}, false};
  for (const Texts& row : texts) {
    const std::string* first = nullptr;
    for (const std::string& x : row) {
      if (!x.empty() && (first == nullptr || x < *first)) first = &x;
    }
    const std::string& last = *std::max_element(row.begin(), row.end());
    std::size_t same = 0;
    while (first != nullptr && same < std::min(first->size(), last.size()) && (*first)[same] == last[same]) ++same;
    const std::size_t comma = same == 0 ? std::string::npos : first->rfind(',', same - 1);
    found.rows.push_back(comma == std::string::npos ? "" : first->substr(0, comma + 1));
  }
  for (std::size_t c = 0; c < texts[0].size(); ++c) {
    std::string end;
    for (std::size_t r = 0; r < texts.size(); ++r) {
      if (texts[r][c].empty()) continue;
      end = texts[r][c].size() > found.rows[r].size() ? texts[r][c].substr(found.rows[r].size()) : "";
      break;
    }
    found.columns.push_back(std::move(end));
  }
  for (std::size_t r = 0; r < texts.size(); ++r) {
    for (std::size_t c = 0; c < found.columns.size(); ++c) {
      if (!texts[r][c].empty() && texts[r][c] != found.rows[r] + found.columns[c]) return std::nullopt;
    }
  }
  return found;
}

// Values among others: without spaces, and coordinates without the outer parentheses.
Texts shortened(Texts values) {
  const auto has = [&](char c) {
    return std::any_of(values.begin(), values.end(), [&](const std::string& x) { return x.find(c) != x.npos; });
  };
  if (has('(')) {
    for (std::string& x : values) {
      if (x.starts_with('(') && x.ends_with(')')) x = x.size() > 1 ? x.substr(1, x.size() - 2) : "";
    }
  }
  if (has('|')) {  // which stands between the values of two cells
    for (std::string& x : values) x = joined(split(x, '|'), "¦");
  }
  if (has(' ')) {
    for (std::string& x : values) x = joined(split(x, ' '), "\xc2\xa0");
  }
  return values;
}

}  // namespace

Colors colors_of(const Panel& panel, bool across) {
  const auto lines = static_cast<std::size_t>(across ? panel.rows : panel.columns);
  const auto places = static_cast<std::size_t>(across ? panel.columns : panel.rows);
  Colors found(lines, Texts(places));
  for (const Cell& cell : panel.cells) {
    const auto row = static_cast<std::size_t>(cell.row), column = static_cast<std::size_t>(cell.column);
    (across ? found.at(row).at(column) : found.at(column).at(row)) = fill(cell.owner, cell.faded);
  }
  return found;
}

Strokes strokes_of(const Colors& lines) {
  Strokes found;
  struct Known {
    Piece piece;
    std::vector<Stroke>* strokes;  // of its colour and its dashes
  };
  std::map<std::string, std::vector<Known>> known;  // by the colours of a line in one text, which is compared faster
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto [at, added] = known.try_emplace(joined(lines[i], " "));
    if (added) {
      for (Piece& piece : pieces_of(lines[i])) {
        std::vector<Stroke>& strokes = found[{piece.color, piece.dashes}];
        at->second.push_back({std::move(piece), &strokes});
      }
    }
    for (const auto& [piece, strokes] : at->second) {
      strokes->push_back({static_cast<int64_t>(i), piece.start, piece.end});
    }
  }
  const Strokes before = found;
  for (const auto& [key, parts] : before) {
    const auto& [color, dashes] = key;
    std::vector<int64_t> lengths;
    for (const std::string& part : split(dashes, ' ')) lengths.push_back(value_of(part).value_or(0));
    const auto more = static_cast<int64_t>(lengths.size()) / 2;  // runs behind the first one
    const auto size = static_cast<int64_t>(dashes.size()), count = static_cast<int64_t>(parts.size());
    if (lengths.size() <= 2 || kKey + size <= kStroke * more * count) continue;
    found.erase(key);
    std::vector<Stroke>& single = found[{color, ""}];
    for (const Stroke& part : parts) {
      int64_t at = part.start;
      for (std::size_t i = 0; i < lengths.size(); at += lengths[i++]) {
        if (i % 2 == 0) single.push_back({part.line, at, at + lengths[i]});
      }
    }
    std::sort(single.begin(), single.end());
  }
  return found;
}

int64_t bytes_of(const Strokes& strokes) {
  int64_t bytes = 0;
  for (const auto& [key, lines] : strokes) {
    bytes += kKey + static_cast<int64_t>(key.second.size() + kStroke * lines.size());
  }
  return bytes;
}

Titles Titles::of(const Panel& panel) {
  const Hover* longest = nullptr;
  for (const Cell& cell : panel.cells) {
    if (longest == nullptr || cell.hover.size() > longest->size()) longest = &cell.hover;
  }
  const std::size_t count = longest == nullptr ? 0 : longest->size();
  Titles found;
  std::size_t same = 0;
  std::vector<Texts> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    bool equal = i != 0 && same == 0;
    for (const Cell& cell : panel.cells) {
      values[i].push_back(i < cell.hover.size() ? cell.hover[i].second : "");
      const std::string text = cell.lines.empty() || cell.hover.empty() ? "" : cell.lines[0];
      equal = equal && values[i].back() == text;
    }
    if (equal) same = i;
  }
  if (same != 0) found.text = (*longest)[same].first;
  for (std::size_t i = 0; i < count; ++i) {
    if (i == same && same != 0) continue;
    found.names.push_back((*longest)[i].first);
    found.values.push_back(shortened(std::move(values[i])));
  }
  return found;
}

Titles Titles::none(const Panel& panel) {
  Titles found;
  for (const Cell& cell : panel.cells) {
    if (cell.hover.empty()) continue;
    for (const auto& [name, text] : cell.hover) found.names.push_back(name);
    break;
  }
  if (found.names.empty() || found.names[0] != "coordinate") return found;
  const auto rows = static_cast<std::size_t>(panel.rows), columns = static_cast<std::size_t>(panel.columns);
  std::vector<Texts> texts(rows, Texts(columns)), turned(columns, Texts(rows));
  for (const Cell& cell : panel.cells) {
    if (cell.hover.empty()) continue;
    const auto row = static_cast<std::size_t>(cell.row), column = static_cast<std::size_t>(cell.column);
    texts[row][column] = turned[column][row] = cell.hover[0].second;
  }
  found.place = summands_of(texts);
  if (!found.place) {
    found.place = summands_of(turned);
    if (found.place) *found.place = {found.place->columns, found.place->rows, true};
  }
  return found;
}

Titles Titles::shorter(const Panel& panel, int form) const {
  if (form == 0 || !panel.modes || names.empty() || names[0] != "coordinate") return *this;
  Titles found = *this;
  if (form == 3 && names.back() == "index") {
    found.names[0] = "1-D coordinate";
    found.names.pop_back();
    found.values[0] = std::move(found.values.back());
    found.values.pop_back();
    return found;
  }
  const bool nests = std::any_of(values[0].begin(), values[0].end(),
                                 [](const std::string& value) { return value.find('(') != std::string::npos; });
  if (!nests) return found;
  const CoordinateModes& modes = *panel.modes;
  const auto text = [&](const InMode& place) -> const std::string& { return form == 1 ? place.second : place.first; };
  std::vector<Texts> parts(2 + modes.rest.size());
  for (const Cell& cell : panel.cells) {
    parts[0].push_back(text(modes.rows.at(static_cast<std::size_t>(cell.row))));
    parts[1].push_back(text(modes.columns.at(static_cast<std::size_t>(cell.column))));
    for (std::size_t i = 0; i < modes.rest.size(); ++i) parts[2 + i].push_back(text(modes.rest[i]));
  }
  if (form == 1) {
    found.names.erase(found.names.begin());
    found.values.erase(found.values.begin());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto at = static_cast<std::ptrdiff_t>(i);
      found.names.insert(found.names.begin() + at, "coordinate in mode " + std::to_string(i));
      found.values.insert(found.values.begin() + at, shortened(std::move(parts[i])));
    }
    return found;
  }
  found.names[0] = std::to_string(parts.size()) + "-D coordinate";
  for (std::size_t cell = 0; cell < panel.cells.size(); ++cell) {
    Texts place;
    for (const Texts& part : parts) place.push_back(part[cell]);
    found.values[0][cell] = joined(place, ",");
  }
  return found;
}

int64_t Titles::bytes(std::size_t field) const {
  if (field >= names.size()) return 0;
  return std::accumulate(
      values[field].begin(), values[field].end(), int64_t{0},
      [](int64_t sum, const std::string& value) { return sum + 1 + static_cast<int64_t>(value.size()); });
}

}  // namespace tilewright::picture

#include "requests.hpp"

#include <algorithm>
#include <map>

#include "analysis/advice.hpp"
#include "core/error.hpp"
#include "picture/tables/memory.hpp"

namespace tilewright::picture {

namespace {

constexpr int64_t kLine = 128;      // bytes
constexpr int64_t kMatrix = 8;      // rows of a matrix of ldmatrix, which are read at a time
constexpr std::size_t kLines = 32;  // of global memory that are drawn

using Wanted = std::map<int64_t, std::vector<int64_t>>;  // by place in memory, the lanes that want it
using Words = std::vector<std::pair<int64_t, std::vector<int64_t>>>;
using Passes = std::vector<std::pair<int64_t, Words>>;  // by first lane; words in order of the lanes that want them

// Of the parts of memory of so many bytes, that which has an address.
int64_t part_of(int64_t address, int64_t bytes) { return static_cast<int64_t>(floor_div(address, bytes)); }

std::string counted(int64_t n, const char* what) { return concat(n, " ", what, n != 1 ? "s" : ""); }

std::string shown(const std::vector<int64_t>& lanes) {
  return concat(lanes[0], lanes.size() > 1 ? concat("+", lanes.size() - 1) : "");
}

std::string listed(const std::vector<int64_t>& lanes) {
  std::string text;
  for (const int64_t lane : lanes) text += concat(text.empty() ? "" : ", ", lane);
  return text;
}

Passes passes_of(const Lanes& request, int64_t together) {
  Passes found;
  for (const auto& [lane, address] : request.lanes) {
    const int64_t start = lane / together * together;
    auto pass = std::find_if(found.begin(), found.end(), [&](const auto& x) { return x.first == start; });
    if (pass == found.end()) pass = found.insert(found.end(), {start, {}});
    const int64_t last = part_of(address + request.width - 1, kWord);
    for (int64_t word = part_of(address, kWord); word <= last; ++word) {
      Words& words = pass->second;
      const auto known = std::find_if(words.begin(), words.end(), [&](const auto& x) { return x.first == word; });
      if (known == words.end()) {
        words.push_back({word, {lane}});
      } else {
        known->second.push_back(lane);
      }
    }
  }
  return found;
}

int64_t bank_of(int64_t word) { return (word % kBanks + kBanks) % kBanks; }

// The different words in the fullest bank.
int64_t depth(const Words& words) {
  std::array<int64_t, kBanks> count{};
  for (const auto& [word, lanes] : words) ++count[static_cast<std::size_t>(bank_of(word))];
  return *std::max_element(count.begin(), count.end());
}

Level numbered(int64_t count, int64_t step, const char* prefix) {
  Level level;
  for (int64_t i = 0; i < count; ++i) level.push_back({concat(prefix, i * step)});
  return level;
}

}  // namespace

Panel banks_panel(const Lanes& request) {
  const auto& cost = request.cost;
  int64_t together = request.op.ends_with("matrix") ? kMatrix : kBanks * kWord / std::max(request.width, kWord);
  Passes passes = passes_of(request, together);
  // Passes of a load are joined two by two where its lanes share addresses: rules.hpp, S4.
  int64_t wavefronts = 0;
  for (const auto& [start, words] : passes) wavefronts += depth(words);
  if (request.op == "load" && cost && wavefronts > cost->wavefronts) {
    together *= 2;
    passes = passes_of(request, together);
  }
  Panel panel{"", "banks across, wavefronts down; n+m: lane n and m more", 0, kBanks};
  Level labels;
  for (const auto& [start, words] : passes) {
    std::array<int64_t, kBanks> used{};
    for (const auto& [word, lanes] : words) {
      const int64_t bank = bank_of(word);
      panel.cells.push_back({panel.rows + used[static_cast<std::size_t>(bank)]++,
                             bank,
                             {shown(lanes)},
                             lanes[0],
                             {{"bank", std::to_string(bank)},
                              {"address", analysis::hexadecimal(word * kWord)},
                              {"lanes", listed(lanes)}}});
    }
    const int64_t rows = depth(words);
    labels.push_back({concat(start, " to ", start + together - 1), rows});
    panel.rows += rows;
    panel.row_rules.push_back({panel.rows});
  }
  if (!panel.row_rules.empty()) panel.row_rules.pop_back();
  panel.row_axis = {labels}, panel.column_axis = {numbered(kBanks, 1, "")};
  panel.title = request.name + ": ";
  if (!cost) return panel;
  panel.title += concat(counted(cost->wavefronts, "wavefront"), ", ideal ", cost->ideal_wavefronts);
  if (cost->alone != 0 && panel.rows < cost->wavefronts) {
    panel.title += concat("; ", panel.rows, " by these banks, the others by those of the cache");
  }
  return panel;
}

Panel lines_panel(const Lanes& request, int64_t unit) {
  Wanted parts, sectors;
  for (const auto& [lane, address] : request.lanes) {
    const int64_t last = part_of(address + (unit < kSector ? request.width - 1 : 0), unit);
    for (int64_t part = part_of(address, unit); part <= last; ++part) {
      parts[part].push_back(lane);
      sectors[part_of(part * unit, kSector)].push_back(lane);
    }
  }
  std::vector<int64_t> lines;
  for (const auto& [sector, lanes] : sectors) {
    const int64_t line = part_of(sector * kSector, kLine);
    if (lines.empty() || lines.back() != line) lines.push_back(line);
  }
  const std::size_t drawn = std::min(lines.size(), kLines);
  const int64_t across = kLine / unit;
  const bool whole = unit == kSector;
  Panel panel{request.name + ": ",
              concat(whole ? "sectors" : "words", " across, lines down; n+m: lane n and m more",
                     whole ? "" : "; dark: fetched for nothing",
                     drawn < lines.size() ? concat("; ", drawn, " of ", lines.size(), " lines are drawn") : ""),
              static_cast<int64_t>(drawn), across};
  Level labels;
  for (std::size_t row = 0; row < drawn; ++row) {
    labels.push_back({analysis::hexadecimal(lines[row] * kLine)});
    for (int64_t column = 0; column < across; ++column) {
      const int64_t part = lines[row] * across + column;
      const auto wanted = parts.find(part);
      Cell cell{static_cast<int64_t>(row), column};
      cell.hover = {{"address", analysis::hexadecimal(part * unit)}, {"lanes", "none"}};
      if (wanted != parts.end()) {
        cell.lines = {shown(wanted->second)};
        cell.owner = wanted->second[0];
        cell.hover[1].second = listed(wanted->second);
      } else if (sectors.contains(part_of(part * unit, kSector))) {
        cell.lines = {"·"};
        cell.faded = true;
      }
      panel.cells.push_back(std::move(cell));
    }
  }
  panel.row_axis = {labels}, panel.column_axis = {numbered(across, unit, "+")};
  for (int64_t after = kSector / unit; !whole && after < across; after += kSector / unit) {
    panel.column_rules.push_back({after});
  }
  if (const auto& cost = request.cost) {
    panel.title +=
        concat(counted(cost->sectors, "sector"), " in ", counted(cost->lines, "line"), ", ideal ", cost->ideal_sectors);
  }
  return panel;
}

}  // namespace tilewright::picture

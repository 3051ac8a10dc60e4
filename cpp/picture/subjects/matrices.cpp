#include "matrices.hpp"

#include <algorithm>

namespace tilewright::picture {

namespace {

constexpr int64_t kSide = 44, kCellsOfThree = 6 << 10;  // rows and columns of C, and as many of K, beyond so many cells
constexpr int64_t kRows = 8;                            // of a matrix in shared memory
constexpr std::size_t kThreads = 8;                     // of those that have an element, so many are named

// Which of M, N and K a matrix has, and where it stands.
struct Kind {
  char name;
  std::size_t first, second;
  int64_t row, column;
};
constexpr std::array<Kind, 3> kKinds = {{{'B', 1, 2, 0, 1}, {'A', 0, 2, 1, 0}, {'C', 0, 1, 1, 1}}};

// What pointing at an element shows of those that have it.
void add_owners(Hover& hover, const std::vector<Pair>& pairs) {
  std::set<int64_t> threads;
  for (const Pair& pair : pairs) threads.insert(pair.thread);
  std::string text;
  std::size_t count = 0;
  for (const int64_t thread : threads) {
    if (count++ == kThreads) break;
    text += concat(text.empty() ? "" : ", ", thread);
  }
  if (threads.size() > kThreads) text += concat(", .. ", *threads.rbegin());
  hover.emplace_back("thread", text);
  hover.emplace_back("value", std::to_string(pairs[0].value));
}

// What stands below a matrix's name; of one that is drawn turned, so is that.
std::string says_of(const Matrix& matrix, bool turned) {
  if (!turned) return matrix.says;
  return (matrix.says.empty() ? "" : matrix.says + "; ") + "K runs down, N across";
}

void fill_held(Cell& cell, const Matrix& matrix, int64_t index, const std::optional<int64_t>& only) {
  const auto known = matrix.owners->find(index);
  if (known == matrix.owners->end()) {
    cell.lines = {"-"};
    cell.faded = true;
    return;
  }
  const std::vector<Pair>& pairs = known->second;
  std::vector<Pair> own;
  for (const Pair& pair : pairs) {
    if (only && pair.thread == *only) own.push_back(pair);
  }
  const std::vector<Pair>& named = own.empty() ? pairs : own;
  const bool shared = pairs.size() > 1 && own.empty();
  cell.lines = {concat("T", named[0].thread, shared ? concat("+", pairs.size() - 1) : ""),
                std::string(1, static_cast<char>(matrix.name - 'A' + 'a')) + std::to_string(named[0].value)};
  cell.owner = named[0].thread;
  cell.faded = only && own.empty();
  cell.marked = !own.empty();
  add_owners(cell.hover, named);
}

void fill_shared(Cell& cell, const Matrix& matrix, int64_t i, int64_t j) {
  const int64_t row = i / kRows, column = j / matrix.of_row;
  const bool corner = i % kRows == 0 && j % matrix.of_row == 0;
  cell.lines = {corner ? concat(i, ",", j) : ""};
  cell.owner = row + 3 * column;
  cell.hover.emplace_back("matrix", concat("(", row, ",", column, ")"));
  cell.hover.emplace_back("from", "shared memory");
}

}  // namespace

Picture matrices_picture(const std::array<int64_t, 3>& extents, const std::vector<Matrix>& matrices,
                         const MatricesStyle& style) {
  const auto [m, n, k] =
      std::array{std::min(extents[0], kMost), std::min(extents[1], kMost), std::min(extents[2], kMost)};
  const int64_t most = m * n + m * k + n * k <= kCellsOfThree ? kMost : kSide;
  std::array<Shown, 3> shown;
  std::array<Axis, 3> axes;
  std::array<std::vector<Rule>, 3> rules;
  for (std::size_t i = 0; i < 3; ++i) {
    shown[i] = shown_of(extents[i], most);
    axes[i] = axis_of({extents[i]}, shown[i]);
    if (style.blocks && (*style.blocks)[i] > 1) rules[i] = ends((*style.blocks)[i], shown[i]);
  }
  Picture picture;
  for (const Kind& kind : kKinds) {
    const auto found =
        std::find_if(matrices.begin(), matrices.end(), [&](const Matrix& x) { return x.name == kind.name; });
    if (found == matrices.end()) continue;
    const bool turned = kind.name == 'B';
    const std::size_t down = turned ? kind.second : kind.first, across = turned ? kind.first : kind.second;
    Panel panel{std::string{kind.name, ' ', '(', "MNK"[kind.first], ',', "MNK"[kind.second], ')'},
                says_of(*found, turned),
                static_cast<int64_t>(shown[down].size()),
                static_cast<int64_t>(shown[across].size()),
                {},
                axes[down],
                axes[across],
                rules[down],
                rules[across]};
    for (std::size_t r = 0; r < shown[down].size(); ++r) {
      for (std::size_t c = 0; c < shown[across].size(); ++c) {
        if (!shown[down][r] || !shown[across][c]) continue;
        const int64_t i = turned ? *shown[across][c] : *shown[down][r],
                      j = turned ? *shown[down][r] : *shown[across][c];
        Cell cell{static_cast<int64_t>(r), static_cast<int64_t>(c)};
        cell.hover.emplace_back("coordinate", concat("(", i, ",", j, ")"));
        if (found->owners) {
          fill_held(cell, *found, i + extents[kind.first] * j, style.only);
        } else {
          fill_shared(cell, *found, i, j);
        }
        panel.cells.push_back(std::move(cell));
      }
    }
    picture.panels.push_back({kind.row, kind.column, std::move(panel)});
    const std::string note = cut_note(std::string(1, kind.name), extents[down], extents[across], most);
    if (!note.empty()) picture.notes.push_back(note);
  }
  return picture;
}

}  // namespace tilewright::picture

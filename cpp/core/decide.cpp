#include "decide.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <variant>

#include "carries.hpp"
#include "steps.hpp"

namespace tilewright {

namespace {

// A value of B as a coordinate of A, which may have more modes: those that no basis element names are at 0.
IntTuple in_profile(TupleView value, TupleView shape) {
  const BasisPath path = value.is_leaf() ? basis_path(value->basis()) : BasisPath{};
  if (value.is_leaf() && path.empty()) return IntTuple(value);
  auto within = [&] {
    BasisPath inner = path;
    inner.pop_back();
    return IntTuple(with_basis(*value, basis_id(inner)));
  };
  if (shape.is_leaf()) {
    if (!value.is_leaf()) return in_profile(value.mode(0), shape);
    return in_profile(within(), shape);
  }
  TupleBuilder builder;
  builder.open();
  for (int64_t i = 0; i < shape.rank(); ++i) {
    if (!value.is_leaf() && i < value.rank()) {
      builder.copy(in_profile(value.mode(i), shape.mode(i)));
    } else if (value.is_leaf() && i == path.back()) {
      builder.copy(in_profile(within(), shape.mode(i)));
    } else {
      builder.leaf(static_int(0));
    }
  }
  builder.close();
  return builder.take();
}

// A leaf of B: the line in A that it walks, and what one step of it is in B's 1-D coordinate.
struct Leaf {
  LayoutView layout;
  std::size_t domain;
  Line line;
  int64_t position;
};

// The part of A that leaves with one basis path walk in.
struct Domain {
  BasisId basis;
  Outer outer;
  std::optional<int64_t> end;  // of what counts
};

// A refusal is a value: to throw through all the steps of a decision would take longer than the decision.
using Decided = std::variant<Layout, LayoutError>;

// Why CuTe's way does not lead to an answer, as a text once somebody reads it.
using CauseText = std::function<std::string()>;

class Decision {
 public:
  Decision(LayoutView a, LayoutView b, Where where, const Composed* cute, const CauseText& cause)
      : a_(a), b_(b), where_(where), cute_(cute), cause_(cause) {
    auto positive = [&](LayoutView layout) {
      for_each_leaf(layout, [&](const Node& extent, const Node&) {
        if (extent.value <= 0)
          fail(concat(cause_(), "; the extent ", extent.value, " of ", to_string(layout), " is not positive"));
      });
    };
    positive(a), positive(b);
    int64_t position = 1;
    for_each_leaf(b, [&](const Node& extent, const Node& stride) {
      const std::size_t domain = domain_of(stride.basis());
      const Line line(domains_[domain].outer, extent.value, stride.value, domains_[domain].end);
      leaves_.push_back({{&extent, &stride}, domain, line, position});
      position = checked_mul(position, extent.value);
    });
    if (domains_.size() > 1) coshape(b);  // raises where a coordinate would mix integers and tuples
  }

  Decided answer() const {
    if (all_static(a_.shape) && all_static(a_.stride) && all_static(b_.shape) && all_static(b_.stride)) return found();
    if (!cute_) return LayoutError(cause_());
    if (size(cute_->layout).value != size(b_).value || first_wrong()) return refusal("");
    return cute_->layout;
  }

  // The steps that lead to the answer.
  void note_proof(const Layout& answer) const {
    for (std::size_t d = 0; d < domains_.size(); ++d) note_floors(domains_[d]);
    std::vector<LayoutView> parts;
    collect(b_, answer, parts);
    for (std::size_t k = 0; k < leaves_.size(); ++k) {
      if (leaves_[k].line.extent() > 1) note_line(leaves_[k], parts[k]);
    }
    for (std::size_t d = 0; d < domains_.size(); ++d) note_residues(lines_of(leaves_in(d)));
    note(where_ == Where::kInside ? step::kFoundInside : step::kFound, answer);
  }

 private:
  static void note_floors(const Domain& domain) {
    for (std::size_t e = 0; e < domain.outer.entries.size(); ++e) {
      const FlatFunction& part = domain.outer.parts[e];
      Floors floors;
      add_floors(floors, part, 1, INT64_MAX, 1);
      std::string text = concat(part.strides[0], "*x");
      for (const Floor& floor : floors) {
        const bool negative = floor.weight < 0;
        text += concat(negative ? " - " : " + ", to_string(negative ? -floor.weight : floor.weight), "*floor(x/",
                       floor.denominator, ")");
      }
      note(step::kFloors, text + basis_suffix(domain.outer.entries[e]));
    }
  }

  void note_line(const Leaf& leaf, LayoutView part) const {
    const Line& line = leaf.line;
    note(step::kLine, leaf.layout, line.step());
    const Trace::Nested nested(Trace::current());
    std::vector<std::string> values;
    const auto value = [&](int64_t i) {
      const Trace::Silence silence;
      return demanded(i * leaf.position);
    };
    const Line::Form form = line.form();
    for (std::size_t l = 1; l < form.marks.size(); ++l) {
      const int64_t mark = form.marks[l], before = form.marks[l - 1];
      Line::Form until = form, with = form;
      until.marks.resize(l), with.marks.resize(l + 1);
      const Layout now = from_modes(line.modes(until));
      const Trace* const trace = Trace::current();
      std::string given;
      if (trace != nullptr) {
        const Trace::Silence silence;
        given = values_text(crd2idx(IntTuple(static_int(mark)), now.view()));
      }
      note(step::kMark, now, mark, value(mark), given, before, line.extent(), from_modes(line.modes(with)));
    }
    note(step::kSame, line.counted(), part);
  }

  static void note_residues(const std::vector<Line>& lines) {
    const auto moves = [](const Line& line) { return line.counted() > 1 && line.step() != 0; };
    if (std::count_if(lines.begin(), lines.end(), moves) < 2) return;
    for (const Residues& residues : residues_of(lines)) {
      std::string sum;
      Wide all = 0;
      for (const int64_t greatest : residues.greatest) {
        sum += concat(sum.empty() ? "" : " + ", greatest);
        all += greatest;
      }
      note(all < residues.level ? step::kNoCarry : step::kCarriesCancel, residues.level, sum, to_string(all));
    }
  }

  std::size_t domain_of(BasisId basis) {
    for (std::size_t i = 0; i < domains_.size(); ++i) {
      if (domains_[i].basis == basis) return i;
    }
    const LayoutView part = at_path(a_, basis);
    domains_.push_back({basis, Outer(part), std::nullopt});
    if (where_ == Where::kInside) domains_.back().end = size(part).value;
    return domains_.size() - 1;
  }

  Decided found() const {
    std::vector<Layout> parts;
    for (const Leaf& leaf : leaves_) {
      Decided decided = part(leaf);
      if (std::holds_alternative<LayoutError>(decided)) return decided;
      parts.push_back(std::get<Layout>(std::move(decided)));
    }
    for (std::size_t i = 0; i < domains_.size(); ++i) {
      if (const auto why = carries_in(i)) return refusal(*why);
    }
    LayoutBuilder builder;
    std::size_t next = 0;
    assemble(b_, parts, next, builder);
    return builder.take();
  }

  static void assemble(LayoutView b, const std::vector<Layout>& parts, std::size_t& next, LayoutBuilder& builder) {
    if (b.is_leaf()) return builder.copy(parts[next++]);
    builder.open();
    for_each_mode(b, [&](LayoutView mode) { assemble(mode, parts, next, builder); });
    builder.close();
  }

  // The layout of one leaf: CuTe's where it is right, else the coarsest.
  Decided part(const Leaf& leaf) const {
    std::optional<Composed> own;
    const Composed* cute = cute_;
    if (!b_.is_leaf()) {  // a tuple of one leaf, too, has a profile of its own
      own = attempted([&] { return attempt(a_, leaf.layout); });
      cute = own && !own->rejected() ? &*own : nullptr;
    }
    const auto right = [&] {
      return size(cute->layout).value == leaf.line.extent() && !leaf.line.first_difference(cute->layout);
    };
    if (cute != nullptr && (cute->proved() || right())) return cute->layout;
    const Line::Form form = leaf.line.form();
    if (!form.exists()) return refusal(why_none(leaf, form));
    return from_modes(leaf.line.modes(form));
  }

  std::vector<std::size_t> leaves_in(std::size_t domain) const {
    std::vector<std::size_t> found;
    for (std::size_t k = 0; k < leaves_.size(); ++k) {
      if (leaves_[k].domain == domain) found.push_back(k);
    }
    return found;
  }

  std::vector<Line> lines_of(const std::vector<std::size_t>& leaves) const {
    std::vector<Line> lines;
    for (const std::size_t k : leaves) lines.push_back(leaves_[k].line);
    return lines;
  }

  // Why the modes of B that walk in a domain have no answer together, if they have none.
  std::optional<std::string> carries_in(std::size_t domain) const {
    const std::vector<std::size_t> group = leaves_in(domain);
    const std::vector<Line> lines = lines_of(group);
    const auto end = domains_[domain].end;
    auto at = carrying(lines, end);
    if (!at) return std::nullopt;
    if (const auto first = first_carrying(lines, end)) at = first;
    // The last of the modes whose addition changes the sum is j, those before it are i.
    std::size_t last = group.size();
    Coordinates partial(group.size(), 0);
    for (std::size_t k = 0; k < group.size(); ++k) {
      partial[k] = (*at)[k];
      if (partial[k] == 0 || !sums_differ(lines, partial)) continue;
      last = k;
      break;
    }
    int64_t i = 0;
    for (std::size_t k = 0; k < last; ++k) i += partial[k] * leaves_[group[k]].position;
    const int64_t j = partial[last] * leaves_[group[last]].position;
    std::string remedy;
    std::vector<Line> less = lines;
    less[last] = lines[last].with_extent(partial[last]);
    if (where_ == Where::kEverywhere && !carrying(less))
      remedy = concat("; with extent ", partial[last], " in ", mode_of(leaves_[group[last]]), " there is an answer");
    return concat(certificate(i, j), remedy);
  }

  static bool sums_differ(const std::vector<Line>& lines, const Coordinates& at) {
    const Outer& outer = lines.front().outer();
    for (std::size_t e = 0; e < outer.parts.size(); ++e) {
      int64_t x = 0;
      Wide sum = 0;
      for (std::size_t k = 0; k < lines.size(); ++k) {
        x += lines[k].step() * at[k];
        sum += lines[k](e, at[k]);
      }
      if (sum != outer.parts[e](x)) return true;
    }
    return false;
  }

  std::string why_none(const Leaf& leaf, const Line::Form& form) const {
    const int64_t extent = leaf.line.extent(), step = leaf.line.step();
    if (form.mixed) {
      return concat("; no layout is A o ", name(), ": its stride in ", mode_of(leaf), " would have several entries, ",
                    value_at(concat(*form.mixed * leaf.position)), " = ", demanded(*form.mixed * leaf.position));
    }
    const int64_t stop = *form.stop, mark = form.marks.back();
    const bool uneven = stop % mark != 0;
    const int64_t i = uneven ? stop % mark : stop - mark;
    std::string text = certificate(i * leaf.position, (stop - i) * leaf.position);
    if (!uneven) text += concat(", and ", stop, " does not divide the extent ", extent);
    if (where_ == Where::kInside) return text;
    const auto tile = [&](int64_t size) { return concat(size, ":", step, basis_suffix(leaf.layout.stride->basis())); };
    text += concat("; the largest tile that has an answer is ", tile(largest(leaf.line, form)));
    if (!uneven) {
      const int64_t padded = narrow((Wide{extent} + stop - 1) / stop * stop);
      const Line longer = leaf.line.with_extent(padded);
      if (longer.form().exists()) text += concat(", the next larger one is ", tile(padded));
    }
    return text;
  }

  // The greatest extent below that of the line with which it is a layout.
  static int64_t largest(const Line& line, const Line::Form& form) {
    const int64_t mark = form.marks.back();
    if (form.mixed) return mark;
    const int64_t stop = *form.stop;
    if (stop % mark != 0) return stop / mark * mark;
    const int64_t multiple = line.extent() / stop * stop;
    const Line shorter = line.with_extent(multiple);
    const Line::Form rest = shorter.form();
    return rest.exists() ? multiple : std::max(stop, largest(shorter, rest));
  }

  // A(B(i + j)) != A(B(i)) + A(B(j)), where i and j have no digit in common.
  std::string certificate(int64_t i, int64_t j) const {
    return concat("; no layout is A o ", name(), ": ", value_at(concat(i, "+", j)), " = ", demanded(i + j), ", but ",
                  value_at(concat(i)), " + ", value_at(concat(j)), " = ", demanded(i), " + ", demanded(j));
  }
  const char* name() const { return where_ == Where::kInside ? "(B, B*)" : "B"; }
  // `A(B(1+2))`
  std::string value_at(const std::string& coordinate) const {
    return concat("A(", where_ == Where::kInside ? "(B,B*)" : "B", "(", coordinate, "))");
  }

  // The smallest coordinate at which CuTe's answer, of the size of B, is not A(B(i)).
  std::optional<int64_t> first_wrong() const {
    std::optional<std::size_t> broken;
    int64_t at = 0;
    std::vector<LayoutView> parts;
    collect(b_, cute_->layout, parts);
    for (std::size_t k = 0; k < leaves_.size() && !broken; ++k) {
      if (const auto i = leaves_[k].line.first_difference(parts[k])) broken = k, at = *i;
    }
    std::optional<int64_t> first;
    if (broken) first = at * leaves_[*broken].position;
    for (std::size_t d = 0; d < domains_.size(); ++d) {
      std::vector<std::size_t> group = leaves_in(d);
      if (broken) std::erase_if(group, [&](std::size_t k) { return k > *broken; });
      if (group.empty()) continue;
      std::vector<Line> lines;
      for (const std::size_t k : group) {
        const Line& line = leaves_[k].line;
        lines.push_back(broken == k ? line.with_extent(at) : line);
      }
      auto found = carrying(lines, domains_[d].end);
      if (!found) continue;
      if (const auto smallest = first_carrying(lines, domains_[d].end)) found = smallest;
      int64_t coordinate = 0;
      for (std::size_t k = 0; k < group.size(); ++k) coordinate += (*found)[k] * leaves_[group[k]].position;
      first = std::min(first.value_or(coordinate), coordinate);
    }
    return first;
  }

  static void collect(LayoutView b, LayoutView r, std::vector<LayoutView>& parts) {
    if (b.is_leaf()) return parts.push_back(r);
    for (int64_t i = 0; i < b.rank(); ++i) collect(b.mode(i), r.mode(i), parts);
  }

  IntTuple inside(int64_t i) const { return in_profile(crd2idx(IntTuple(static_int(i)), b_), a_.shape); }
  std::string demanded(int64_t i) const { return values_text(crd2idx(inside(i), a_)); }
  std::string given(int64_t i) const {
    return values_text(crd2idx(IntTuple(static_int(i)), LayoutView(cute_->layout)));
  }

  std::string mode_of(const Leaf& leaf) const {
    const std::string text = mode_text(b_.shape, leaf.layout.shape.get());
    return text.empty() ? "mode 0" : text;
  }

  // CuTe's answer and where it is wrong, then `why`.
  LayoutError refusal(const std::string& why) const {
    if (!cute_) return LayoutError(concat(cause_(), why));
    const int64_t count = size(b_).value, found = size(cute_->layout).value;
    if (found != count) {
      // The first coordinate that only one of the two has.
      const CounterExample example =
          found < count ? CounterExample(found, "_", demanded(found)) : CounterExample(count, given(count), "_");
      return LayoutError(concat(cause_(), "; CuTe gives ", to_string(cute_->layout), " of size ", found, ", but ",
                                where_ == Where::kInside ? "(B, B*)" : "the right layout", " has size ", count, why),
                         example);
    }
    const auto at = first_wrong();
    if (!at) return LayoutError(concat(cause_(), why));
    const CounterExample example(*at, given(*at), demanded(*at));
    return LayoutError(concat(cause_(), "; at coordinate ", *at, " CuTe gives ", example.got, ", but ",
                              value_at(concat(*at)), " = A(", values_text(inside(*at)), ") = ", example.expected, why),
                       example);
  }

  LayoutView a_;
  LayoutView b_;
  Where where_;
  const Composed* cute_;
  const CauseText& cause_;
  std::deque<Domain> domains_;  // lines point into it
  std::vector<Leaf> leaves_;
};

}  // namespace

Layout decided(LayoutView a, LayoutView b, Where where) {
  Trace* const trace = Trace::current();
  const std::size_t start = trace == nullptr ? 0 : trace->steps().size();
  std::string failure;  // what made CuTe's way impossible, such as an overflow
  Composed composed = [&]() -> Composed {
    try {
      return attempt(a, b);
    } catch (const LayoutError& error) {
      failure = error.what();
      return {};
    }
  }();
  const bool answered = failure.empty() && !composed.rejected();
  if (answered && composed.proved()) return std::move(composed.layout);
  Decided decided = [&] {
    const CauseText cause = [&] { return failure.empty() ? composed.cause.text(b.shape) : failure; };
    const Decision decision(a, b, where, answered ? &composed : nullptr, cause);
    Decided answer = [&] {
      const Trace::Silence silence;
      return decision.answer();
    }();
    if (const auto* const layout = std::get_if<Layout>(&answer); layout != nullptr && trace != nullptr) {
      trace->rewind(start);  // what CuTe's conditions say does not matter here
      decision.note_proof(*layout);
    }
    return answer;
  }();
  if (auto* const error = std::get_if<LayoutError>(&decided)) throw std::move(*error);
  return std::get<Layout>(std::move(decided));
}

}  // namespace tilewright

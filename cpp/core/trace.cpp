#include "trace.hpp"

#include "composed.hpp"

namespace tilewright {

namespace {

thread_local Trace* recording = nullptr;

void write(TupleView tuple, std::string& out) {
  if (!tuple.is_leaf()) {
    out += '(';
    bool first = true;
    for_each_mode(tuple, [&](TupleView mode) {
      if (!first) out += ',';
      first = false;
      write(mode, out);
    });
    out += ')';
  } else if (tuple->is_none()) {
    out += '_';
  } else {
    out += concat(tuple->is_dynamic() ? "?" : "", tuple->value, basis_suffix(tuple->basis()));
  }
}

}  // namespace

std::atomic<int> Trace::living_{0};

Trace* Trace::of_thread() { return recording; }

Trace::Trace() : outer_(recording) {
  recording = this;
  ++living_;
}

Trace::~Trace() {
  recording = outer_;
  --living_;
}

Trace::Silence::Silence() : silenced_(recording) { recording = nullptr; }
Trace::Silence::~Silence() { recording = silenced_; }

void Trace::add(const Rule& rule, std::initializer_list<Named> terms) {
  Step step{&rule, depth_, {}};
  for (const Named& named : terms) step.terms.push_back(named());
  steps_.push_back(std::move(step));
}

std::string step_text(TupleView tuple) {
  std::string text;
  write(tuple, text);
  return text;
}

std::string step_text(LayoutView layout) { return step_text(layout.shape) + ":" + step_text(layout.stride); }

std::string step_text(const Tiler& tiler) {
  if (tiler.kind() == Tiler::Kind::kNone) return "_";
  if (tiler.kind() == Tiler::Kind::kExtent) return step_text(TupleView(&tiler.extent())) + ":1";
  if (tiler.kind() == Tiler::Kind::kLayout) return step_text(tiler.layout().view());
  std::string text = "(";
  for (const Tiler& mode : tiler.modes()) text += (text.size() == 1 ? "" : ",") + step_text(mode);
  return text + ")";
}

std::string step_text(const ComposedLayout& layout) {
  const auto* inner = std::get_if<Layout>(&layout.inner());
  return concat(inner ? step_text(inner->view()) : inner_text(layout.inner()), " o ", step_text(layout.offset().view()),
                " o ", step_text(layout.outer().view()));
}

Term Trace::term(const Tiler& tiler) { return step_text(tiler); }
Term Trace::term(const ComposedLayout& layout) { return step_text(layout); }

std::string step_text(const Step& step) {
  std::string text;
  for (const char* at = step.rule->sentence; *at != '\0'; ++at) {
    if (*at != '{') {
      text += *at;
      continue;
    }
    const Term& term = step.terms.at(static_cast<std::size_t>(at[1] - '0'));
    if (const auto* words = std::get_if<std::string>(&term)) {
      text += *words;
    } else if (const auto* tuple = std::get_if<IntTuple>(&term)) {
      text += step_text(tuple->view());
    } else {
      text += step_text(std::get<Layout>(term).view());
    }
    at += 2;
  }
  return text;
}

std::vector<std::string> derivation(const std::string& call, const Trace& trace, const std::string& outcome,
                                    bool failed) {
  std::vector<std::string> lines{call};
  for (const Step& step : trace.steps()) {
    lines.push_back(std::string(2 * static_cast<std::size_t>(step.depth + 1), ' ') + step_text(step));
    if (failed && !step.rule->holds) break;
  }
  lines.push_back(outcome);
  return lines;
}

}  // namespace tilewright

#include "predicate.hpp"

#include <algorithm>

#include "integer.hpp"

namespace tilewright {

namespace {

using Kind = Predicate::Kind;

// `1*` is left out, and so is what an unknown has no need of.
std::string text_of(const Monomial& term, const std::vector<Unknown>& unknowns) {
  std::string text = term.is_constant() || term.coefficient != 1 ? std::to_string(term.coefficient) : "";
  for (const uint32_t unknown : term.unknowns) text += (text.empty() ? "" : "*") + unknowns[unknown].name;
  return text;
}

std::string text_of(const Polynomial& sum, const std::vector<Unknown>& unknowns) {
  std::string text;
  for (const Monomial& term : sum.terms) text += (text.empty() ? "" : " + ") + text_of(term, unknowns);
  return text.empty() ? "0" : text;
}

template <class F>
void for_each_unknown(const Predicate& predicate, F&& f) {
  for (const Polynomial* side : {&predicate.left(), &predicate.right()}) {
    for (const Monomial& term : side->terms) {
      for (const uint32_t unknown : term.unknowns) f(unknown);
    }
  }
  for (const Predicate& part : predicate.parts()) for_each_unknown(part, f);
}

}  // namespace

Monomial Monomial::unknown(uint32_t index) {
  Monomial result;
  result.unknowns.push_back(index);
  return result;
}

int64_t Monomial::at(const std::vector<int64_t>& values) const {
  int64_t result = coefficient;
  for (const uint32_t unknown : unknowns) result = checked_mul(result, values[unknown]);
  return result;
}

Monomial operator*(const Monomial& a, const Monomial& b) {
  Monomial result(checked_mul(a.coefficient, b.coefficient));
  if (result.coefficient == 0) return result;
  std::merge(a.unknowns.begin(), a.unknowns.end(), b.unknowns.begin(), b.unknowns.end(),
             std::back_inserter(result.unknowns));
  return result;
}

Polynomial::Polynomial(const Monomial& term) {
  if (term.coefficient != 0) terms.push_back(term);
}

int64_t Polynomial::at(const std::vector<int64_t>& values) const {
  int64_t result = 0;
  for (const Monomial& term : terms) result = checked_add(result, term.at(values));
  return result;
}

Polynomial operator+(const Polynomial& a, const Polynomial& b) {
  Polynomial result = a;
  for (const Monomial& term : b.terms) {
    const auto same = std::find_if(result.terms.begin(), result.terms.end(),
                                   [&](const Monomial& other) { return other.unknowns == term.unknowns; });
    if (same == result.terms.end()) {
      // Longer products first, a number last.
      const auto place = std::find_if(result.terms.begin(), result.terms.end(), [&](const Monomial& other) {
        return std::pair(-static_cast<int64_t>(other.unknowns.size()), other.unknowns) >
               std::pair(-static_cast<int64_t>(term.unknowns.size()), term.unknowns);
      });
      result.terms.insert(place, term);
    } else {
      same->coefficient = checked_add(same->coefficient, term.coefficient);
      if (same->coefficient == 0) result.terms.erase(same);
    }
  }
  return result;
}

Polynomial operator-(const Polynomial& a, const Polynomial& b) {
  Polynomial negative = b;
  for (Monomial& term : negative.terms) term.coefficient = checked_mul(-1, term.coefficient);
  return a + negative;
}

bool Predicate::holds(const std::vector<int64_t>& values) const {
  const auto of = [&](const Predicate& part) { return part.holds(values); };
  switch (kind_) {
    case Kind::kTrue:
      return true;
    case Kind::kFalse:
      return false;
    case Kind::kAll:
      return std::all_of(parts_.begin(), parts_.end(), of);
    case Kind::kAny:
      return std::any_of(parts_.begin(), parts_.end(), of);
    default:
      break;
  }
  const int64_t a = left_.at(values), b = right_.at(values);
  if (kind_ == Kind::kAtMost) return a <= b;
  if (kind_ == Kind::kEqual) return a == b;
  return a == 0 || a == -1 ? a != 0 || b == 0 : b % a == 0;
}

std::vector<uint32_t> Predicate::unknowns() const {
  std::vector<uint32_t> found;
  for_each_unknown(*this, [&](uint32_t unknown) { found.push_back(unknown); });
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

Predicate Predicate::renamed(const std::vector<uint32_t>& indices) const {
  Predicate result = *this;
  for (Polynomial* side : {&result.left_, &result.right_}) {
    for (Monomial& term : side->terms) {
      for (uint32_t& unknown : term.unknowns) unknown = indices[unknown];
    }
  }
  for (Predicate& part : result.parts_) part = part.renamed(indices);
  return result;
}

std::string Predicate::text(const std::vector<Unknown>& unknowns) const {
  switch (kind_) {
    case Kind::kTrue:
      return "true";
    case Kind::kFalse:
      return "false";
    case Kind::kAll:
    case Kind::kAny: {
      std::string text;
      for (const Predicate& part : parts_) {
        if (!text.empty()) text += kind_ == Kind::kAll ? " and " : " or ";
        text += part.parts_.empty() ? part.text(unknowns) : concat("(", part.text(unknowns), ")");
      }
      return text;
    }
    default:
      break;
  }
  const std::string left = text_of(left_, unknowns), right = text_of(right_, unknowns);
  if (kind_ == Kind::kDivides) return concat(left, " | ", right);
  if (kind_ == Kind::kEqual) return concat(left, " == ", right);
  // The unknowns come first: n >= 10.
  const bool constant = left_.terms.empty() || (left_.terms.size() == 1 && left_.terms[0].is_constant());
  return constant ? concat(right, " >= ", left) : concat(left, " <= ", right);
}

}  // namespace tilewright

// What makes predicates simplifies them: a comparison of one unknown with a number has one form, parts that others
// imply are left out, and few values are looked at one by one.
#include <algorithm>
#include <numeric>
#include <optional>

#include "integer.hpp"
#include "portable.hpp"
#include "predicate.hpp"
#include "wide.hpp"

namespace tilewright {

namespace {

using Kind = Predicate::Kind;

// Beyond these, values are not listed.
constexpr int64_t kListedUpTo = 64;
constexpr int64_t kDividedUpTo = int64_t{1} << 32;

bool is_constant(const Polynomial& sum) {
  return sum.terms.empty() || (sum.terms.size() == 1 && sum.terms[0].is_constant());
}
int64_t constant_of(const Polynomial& sum) { return sum.terms.empty() ? 0 : sum.terms[0].coefficient; }

// The one unknown that this is.
std::optional<uint32_t> unknown_of(const Polynomial& sum) {
  if (sum.terms.size() != 1 || sum.terms[0].coefficient != 1 || sum.terms[0].unknowns.size() != 1) return std::nullopt;
  return sum.terms[0].unknowns[0];
}

std::optional<uint32_t> only_unknown(const Predicate& predicate) {
  const auto unknowns = predicate.unknowns();
  return unknowns.size() == 1 ? std::optional(unknowns[0]) : std::nullopt;
}

int64_t divisor_of(const Monomial& term, const std::vector<Unknown>& unknowns) {
  int64_t known = term.coefficient;
  for (const uint32_t unknown : term.unknowns) {
    if (mul_overflows(known, unknowns[unknown].divisor, known)) return term.coefficient;
  }
  return known;
}

// What a positive unknown is at least.
int64_t least_of(const Unknown& unknown) { return unknown.divisor; }

// The sum for the least values of its unknowns, and whether it only grows from there, or only falls.
struct Bounds {
  Wide at_least = 0;
  bool grows = true;
  bool falls = true;
};
Bounds bounds_of(const Polynomial& sum, const std::vector<Unknown>& unknowns) {
  Bounds bounds;
  for (const Monomial& term : sum.terms) {
    Wide value = term.coefficient;
    for (const uint32_t unknown : term.unknowns) {
      if (!unknowns[unknown].positive) bounds.grows = bounds.falls = false;
      value = wide_mul(value, least_of(unknowns[unknown]));
    }
    bounds.at_least = wide_add(bounds.at_least, value);
    if (term.is_constant()) continue;
    (term.coefficient > 0 ? bounds.falls : bounds.grows) = false;
  }
  return bounds;
}

// Both sides with positive coefficients, and no common factor.
struct Sides {
  Polynomial left;
  Polynomial right;
};
Sides sides_of(const Polynomial& difference, bool exact) {
  int64_t factor = 0;
  for (const Monomial& term : difference.terms) {
    if (exact || !term.is_constant()) factor = std::gcd(factor, term.coefficient);
  }
  Sides sides;
  for (Monomial term : difference.terms) {
    // 2*n - 5 >= 0 is n - 3 >= 0.
    term.coefficient = static_cast<int64_t>(floor_div(term.coefficient, factor));
    const bool right = term.coefficient > 0;
    if (!right) term.coefficient = checked_mul(-1, term.coefficient);
    (right ? sides.right : sides.left).terms.push_back(term);
  }
  return sides;
}

// A positive factor of both sides, if each is a product.
void cancel(Sides& sides, const std::vector<Unknown>& unknowns) {
  if (sides.left.terms.size() != 1 || sides.right.terms.size() != 1) return;
  std::vector<uint32_t>&left = sides.left.terms[0].unknowns, &right = sides.right.terms[0].unknowns;
  for (auto at = left.begin(); at != left.end();) {
    const auto same = std::find(right.begin(), right.end(), *at);
    if (same == right.end() || !unknowns[*at].positive) {
      ++at;
    } else {
      right.erase(same);
      at = left.erase(at);
    }
  }
}

std::vector<int64_t> divisors(int64_t number) {
  std::vector<int64_t> found;
  for (int64_t d = 1; d * d <= number; ++d) {
    if (number % d != 0) continue;
    found.push_back(d);
    if (d * d != number) found.push_back(number / d);
  }
  std::sort(found.begin(), found.end());
  return found;
}

// The values of the only unknown for which a predicate holds, where they are few.
class Values {
 public:
  Values(const std::vector<Unknown>& unknowns, uint32_t unknown) : unknowns_(unknowns), unknown_(unknown) {}

  bool hold(const Predicate& predicate, int64_t value) const {
    std::vector<int64_t> values(unknowns_.size(), 1);
    values[unknown_] = value;
    return predicate.holds(values);
  }

  std::optional<std::vector<int64_t>> of(const Predicate& predicate) const {
    auto found = candidates(predicate);
    if (!found) return std::nullopt;
    std::erase_if(*found,
                  [&](int64_t value) { return value % unknowns_[unknown_].divisor != 0 || !hold(predicate, value); });
    return found;
  }

 private:
  std::optional<std::vector<int64_t>> candidates(const Predicate& predicate) const {
    if (!unknowns_[unknown_].positive) return std::nullopt;
    const bool bounded = unknown_of(predicate.left()) && is_constant(predicate.right());
    const int64_t end = bounded ? constant_of(predicate.right()) : 0;
    switch (predicate.kind()) {
      case Kind::kEqual:
        if (bounded) return std::vector<int64_t>{end};
        return std::nullopt;
      case Kind::kDivides:
        if (bounded && end <= kDividedUpTo) return divisors(end);
        return std::nullopt;
      case Kind::kAtMost: {
        if (!bounded || end > kListedUpTo) return std::nullopt;
        std::vector<int64_t> all(static_cast<std::size_t>(std::max<int64_t>(end, 0)));
        std::iota(all.begin(), all.end(), 1);
        return all;
      }
      case Kind::kAll: {
        std::optional<std::vector<int64_t>> fewest;
        for (const Predicate& part : predicate.parts()) {
          auto found = candidates(part);
          if (found && (!fewest || found->size() < fewest->size())) fewest = std::move(found);
        }
        return fewest;
      }
      case Kind::kAny: {
        std::vector<int64_t> all;
        for (const Predicate& part : predicate.parts()) {
          const auto found = candidates(part);
          if (!found) return std::nullopt;
          all.insert(all.end(), found->begin(), found->end());
        }
        std::sort(all.begin(), all.end());
        all.erase(std::unique(all.begin(), all.end()), all.end());
        return all;
      }
      default:
        return std::nullopt;
    }
  }

  const std::vector<Unknown>& unknowns_;
  uint32_t unknown_;
};

// The values that p gives to the unknowns of q, if it does to all of them.
std::optional<std::vector<int64_t>> fixed_by(const Predicate& p, const Predicate& q, std::size_t count) {
  std::vector<int64_t> values(count, 0);
  std::vector<bool> known(count, false);
  const auto fix = [&](const Predicate& part) {
    const auto unknown = part.kind() == Kind::kEqual ? unknown_of(part.left()) : std::nullopt;
    if (unknown && is_constant(part.right())) values[*unknown] = constant_of(part.right()), known[*unknown] = true;
  };
  fix(p);
  if (p.kind() == Kind::kAll) std::for_each(p.parts().begin(), p.parts().end(), fix);
  for (const uint32_t unknown : q.unknowns()) {
    if (!known[unknown]) return std::nullopt;
  }
  return values;
}

// Takes the parts of parts of the same kind, and leaves out what `neutral` says; true where one decides.
bool flatten(std::vector<Predicate>& parts, Kind kind, Kind neutral, Kind decisive) {
  std::vector<Predicate> flat;
  for (Predicate& part : parts) {
    if (part.kind() == decisive) return true;
    if (part.kind() == neutral) continue;
    if (part.kind() == kind) {
      flat.insert(flat.end(), part.parts().begin(), part.parts().end());
    } else {
      flat.push_back(std::move(part));
    }
  }
  parts = std::move(flat);
  return false;
}

// Without the parts of which `needless` is true, one after the other.
template <class F>
void leave_out(std::vector<Predicate>& parts, F&& needless) {
  for (std::size_t i = 0; i < parts.size();) {
    if (needless(i)) {
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
}

// n <= a and n >= b: both ends, of one unknown.
template <class F>
bool some_ends(const std::vector<Predicate>& parts, F&& f) {
  for (const Predicate& upper : parts) {
    if (upper.kind() != Kind::kAtMost || !is_constant(upper.right())) continue;
    for (const Predicate& lower : parts) {
      if (lower.kind() == Kind::kAtMost && is_constant(lower.left()) && lower.right() == upper.left() &&
          f(constant_of(upper.right()), constant_of(lower.left())))
        return true;
    }
  }
  return false;
}

}  // namespace

Predicate Predicates::divides(const Monomial& a, const Monomial& b) const {
  Monomial divisor = a, number = b;
  for (auto at = divisor.unknowns.begin(); at != divisor.unknowns.end();) {
    const auto same = std::find(number.unknowns.begin(), number.unknowns.end(), *at);
    if (same == number.unknowns.end()) {
      ++at;
    } else {
      number.unknowns.erase(same);
      at = divisor.unknowns.erase(at);
    }
  }
  const int64_t common = std::gcd(divisor.coefficient, number.coefficient);
  divisor.coefficient /= common, number.coefficient /= common;
  if (divisor.is_constant()) {
    number.coefficient = 1;  // it has no factor in common with the divisor
    if (divisor_of(number, unknowns_) % divisor.coefficient == 0) return true;
    if (number.is_constant()) return false;
  }
  if (number.is_constant()) {
    if (number.coefficient % divisor_of(divisor, unknowns_) != 0) return false;
    divisor.coefficient = 1;
    if (number.is(1)) {
      std::vector<Predicate> ones;
      for (const uint32_t unknown : divisor.unknowns) ones.push_back(equal(Monomial::unknown(unknown), 1));
      return all(std::move(ones));
    }
  }
  return Predicate(Kind::kDivides, divisor, number);
}

Predicate Predicates::at_most(const Polynomial& a, const Polynomial& b) const {
  const Polynomial difference = b - a;
  const Bounds bounds = bounds_of(difference, unknowns_);
  if (bounds.grows && bounds.at_least >= 0) return true;
  if (bounds.falls && bounds.at_least < 0) return false;
  const Sides sides = sides_of(difference, false);
  const auto unknown = unknown_of(sides.left);
  if (unknown && unknowns_[*unknown].positive && is_constant(sides.right)) {
    const int64_t least = least_of(unknowns_[*unknown]);
    if (constant_of(sides.right) / least * least == least) return equal(sides.left, least);
  }
  return Predicate(Kind::kAtMost, sides.left, sides.right);
}

Predicate Predicates::equal(const Polynomial& a, const Polynomial& b) const {
  const Polynomial difference = b - a;
  if (is_constant(difference)) return constant_of(difference) == 0;
  int64_t factor = 0, number = 0;
  for (const Monomial& term : difference.terms) {
    if (term.is_constant()) {
      number = term.coefficient;
    } else {
      factor = std::gcd(factor, divisor_of(term, unknowns_));
    }
  }
  if (factor != 0 && number % factor != 0) return false;
  const Bounds bounds = bounds_of(difference, unknowns_);
  if (bounds.grows && bounds.at_least > 0) return false;
  if (bounds.falls && bounds.at_least < 0) return false;
  Sides sides = sides_of(difference, true);
  cancel(sides, unknowns_);
  if (is_constant(sides.left) && is_constant(sides.right)) return constant_of(sides.left) == constant_of(sides.right);
  if (is_constant(sides.left)) std::swap(sides.left, sides.right);
  if (bounds.grows != bounds.falls && is_constant(sides.right) && constant_of(sides.right) == 1 &&
      sides.left.terms.size() == 1 && sides.left.terms[0].unknowns.size() > 1) {
    std::vector<Predicate> ones;
    for (const uint32_t unknown : sides.left.terms[0].unknowns) ones.push_back(equal(Monomial::unknown(unknown), 1));
    return all(std::move(ones));
  }
  return Predicate(Kind::kEqual, sides.left, sides.right);
}

bool Predicates::implies(const Predicate& p, const Predicate& q) const {
  if (p == q || p.is_false() || q.is_true()) return true;
  if (p.is_true() || q.is_false()) return false;
  const auto p_implies = [&](const Predicate& part) { return implies(p, part); };
  const auto implies_q = [&](const Predicate& part) { return implies(part, q); };
  if (q.kind() == Kind::kAll) return std::all_of(q.parts().begin(), q.parts().end(), p_implies);
  if (p.kind() == Kind::kAny) return std::all_of(p.parts().begin(), p.parts().end(), implies_q);
  if (q.kind() == Kind::kAny && std::any_of(q.parts().begin(), q.parts().end(), p_implies)) return true;
  if (p.kind() == Kind::kAll && std::any_of(p.parts().begin(), p.parts().end(), implies_q)) return true;
  if (const auto unknown = only_unknown(p); unknown && only_unknown(q) == unknown) {
    const Values values(unknowns_, *unknown);
    if (const auto few = values.of(p))
      return std::all_of(few->begin(), few->end(), [&](int64_t value) { return values.hold(q, value); });
  }
  if (const auto fixed = fixed_by(p, q, unknowns_.size())) return q.holds(*fixed);
  // What grows: a number that divides, or is at least, and one that is divided, or is at most.
  const bool divides = p.kind() == Kind::kDivides;
  if (!divides && p.kind() != Kind::kAtMost) return false;
  if (is_constant(p.left()) && is_constant(q.left()) && p.right() == q.right()) {
    const int64_t mine = constant_of(p.left()), other = constant_of(q.left());
    if (q.kind() == Kind::kDivides) return divides && mine % other == 0;
    if (q.kind() == Kind::kAtMost) return mine >= other && (!divides || unknown_of(p.right()));
  }
  if (is_constant(p.right()) && is_constant(q.right()) && p.left() == q.left()) {
    const int64_t mine = constant_of(p.right()), other = constant_of(q.right());
    if (q.kind() == Kind::kDivides) return divides && other % mine == 0;
    if (q.kind() == Kind::kAtMost) return mine <= other;
  }
  return false;
}

Predicate Predicates::all(std::vector<Predicate> parts) const {
  if (flatten(parts, Kind::kAll, Kind::kTrue, Kind::kFalse)) return false;
  if (some_ends(parts, [](int64_t upper, int64_t lower) { return upper < lower; })) return false;
  leave_out(parts, [&](std::size_t i) {
    return std::any_of(parts.begin(), parts.end(),
                       [&](const Predicate& other) { return &other != &parts[i] && implies(other, parts[i]); });
  });
  if (parts.empty()) return true;
  if (parts.size() == 1) return parts[0];
  const Predicate together(Kind::kAll, std::move(parts));
  if (const auto unknown = only_unknown(together)) {
    const auto few = Values(unknowns_, *unknown).of(together);
    if (few && few->empty()) return false;
    if (few && few->size() == 1) return equal(Monomial::unknown(*unknown), few->front());
  }
  return together;
}

Predicate Predicates::any(std::vector<Predicate> parts) const {
  if (flatten(parts, Kind::kAny, Kind::kFalse, Kind::kTrue)) return true;
  if (some_ends(parts, [](int64_t upper, int64_t lower) { return lower <= upper + 1; })) return true;
  leave_out(parts, [&](std::size_t i) {
    return std::any_of(parts.begin(), parts.end(),
                       [&](const Predicate& other) { return &other != &parts[i] && implies(parts[i], other); });
  });
  // Of few values, those that no other part has.
  leave_out(parts, [&](std::size_t i) {
    const auto unknown = only_unknown(parts[i]);
    if (!unknown) return false;
    const Values values(unknowns_, *unknown);
    auto few = values.of(parts[i]);
    if (!few) return false;
    std::erase_if(*few, [&](int64_t value) {
      return std::any_of(parts.begin(), parts.end(), [&](const Predicate& other) {
        return &other != &parts[i] && only_unknown(other) == unknown && values.hold(other, value);
      });
    });
    if (few->size() == 1) parts[i] = equal(Monomial::unknown(*unknown), few->front());
    return few->empty();
  });
  if (parts.empty()) return false;
  if (parts.size() == 1) return parts[0];
  return Predicate(Kind::kAny, std::move(parts));
}

}  // namespace tilewright

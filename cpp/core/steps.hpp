// What the operations of the algebra do, each as the sentence that a derivation shows of it; {0}, {1}, ... are the
// terms of a step.
#pragma once

#include "trace.hpp"

namespace tilewright::step {

inline constexpr bool kBroken = false;

// Any operation: a part that is an operation itself, one that works on a mode, and what came of it.
inline constexpr Rule kCall{"{0}({1}, {2})"};
inline constexpr Rule kMode{"mode {0}: {1}"};
inline constexpr Rule kModeWith{"mode {0}: {1} {2} {3}"};
inline constexpr Rule kEquals{"= {0}"};
inline constexpr Rule kOnOuter{"A = {0}: the operation works on the layout on the right only"};
inline constexpr Rule kNothingLeft{"no mode is left: 1:0"};

// coalesce
inline constexpr Rule kFlattened{"flattened: {0}"};
inline constexpr Rule kFromTheRight{
    "from the right: s0:d0 and s1:d1 are one mode s0*s1:d0 if s0*d0 = d1; a mode of shape 1 is dropped"};
inline constexpr Rule kDropped{"{0} has shape 1: dropped"};
inline constexpr Rule kMerged{"{0} and {1}: {2}*{3} = {4}, merged: {5}"};
inline constexpr Rule kApart{"{0} and {1}: {2}*{3} = {4}, not {5}: kept apart"};
inline constexpr Rule kNotKnown{"{0} and {1}: {2}*{3} = {4} is not known to hold: kept apart"};
inline constexpr Rule kDynamicShape{"{0} and {1}: the shape {2} is not known: kept apart"};
inline constexpr Rule kCoalesced{"coalesced: {0}"};
inline constexpr Rule kTogether{"together {0}"};
inline constexpr Rule kTogetherCoalesced{"together {0}, coalesced {1}"};

// composition
inline constexpr Rule kAsFunction{"{0} = {1} as a function: {2}, where the last mode has no end"};
inline constexpr Rule kModeOfB{"{0} of B, {1}"};
inline constexpr Rule kAlong{"{0}: steps of {1} along {2} of A, {3}"};
inline constexpr Rule kReadsZero{"{0} reads A(0) only: {0}"};
inline constexpr Rule kSingleMode{"{0} in the single mode {1}: stride {2}*{3}, so {4}"};
inline constexpr Rule kSkips{"{0} in {1}: {2} divides {3}, the index into it stays 0: go on with {4}"};
inline constexpr Rule kOneStep{"{0} in {1}: the only index into it is 0: go on with {2}"};
inline constexpr Rule kNegative{"{0} in {1}: the negative stride leads to indices below 0, which A does not have",
                                kBroken};
inline constexpr Rule kStrideBroken{"{0} in {1}: {2} does not divide {3}, nor {3} {2}: stride divisibility is broken",
                                    kBroken};
inline constexpr Rule kShapeBroken{"{0} in {1}: {2}, but {3} does not divide {4}: shape divisibility is broken",
                                   kBroken};
inline constexpr Rule kUneven{"{0} in {1}: {2} does not divide {3}, {4} steps end at index {5}, {6} past a multiple",
                              kBroken};
inline constexpr Rule kTakesAll{"{0} in {1}: {2} steps fit, {3} are wanted: {4}"};
inline constexpr Rule kTakesEven{"{0} in {1}: {2} divides {3}, {4}: {5}"};
inline constexpr Rule kTakes{"{0} in {1}: {2}: {3}"};
inline constexpr Rule kGoesOn{"CuTe goes on all the same: {0}"};
inline constexpr Rule kTakesLast{"{0} in {1}, the last mode: {2}"};
inline constexpr Rule kCarries{
    "in {0} the modes of B reach {1} + {2} = {3} together, beyond its last index {4}: they carry into the next mode",
    kBroken};
inline constexpr Rule kFloors{"A(x) = {0}, by the carries into its modes"};
inline constexpr Rule kLine{"{0}: f(i) = A({1}*i)"};
inline constexpr Rule kMark{"f is {0} below i = {1}; f({1}) = {2}, not {3}, and {4} divides {1}, {1} divides {5}: {6}"};
inline constexpr Rule kSame{"no carry of A makes f another function: f(i) = R(i) for all i < {0}, R = {1}"};
inline constexpr Rule kNoCarry{"at {0} the modes of B have the residues {1} = {2} at most: no carry between them"};
inline constexpr Rule kCarriesCancel{
    "at {0} the modes of B have the residues {1} = {2}, but what their carries add cancels"};
inline constexpr Rule kFound{"R(i) = A(B(i)): R = {0}"};
inline constexpr Rule kFoundInside{"R(i) = A((B, B*)(i)), where that lies in A: R = {0}"};
inline constexpr Rule kBecomes{"{0} becomes {1}"};

// complement
inline constexpr Rule kCosize{"no cotarget is given, so it is the cosize, {0}"};
inline constexpr Rule kCoshape{"no cotarget is given, so it is the coshape, {0}"};
inline constexpr Rule kFiltered{"without the modes of stride 0 and shape 1, coalesced: {0}"};
inline constexpr Rule kOnlyZero{"the only offset is 0: all up to {0} is left over, {1}"};
inline constexpr Rule kByStride{"the modes by stride: {0}"};
inline constexpr Rule kGap{"from {0} up to stride {1}: {1}/{2} = {3}, a mode {4}"};
inline constexpr Rule kGapRounded{"from {0} up to stride {1}: floor({1}/{2}) = {3}, a mode {4}"};
inline constexpr Rule kOverlaps{"mode {0} overlaps the modes below it, which end at {1}: not injective", kBroken};
inline constexpr Rule kBeyond{"beyond {0} up to {1}: ceil({1}/{2}) = {3}, a mode {4}"};
inline constexpr Rule kTooShort{"with the tuple divided mode by mode the places end at {0}, so the cotarget is {1}"};
inline constexpr Rule kCovers{"copies of A that start at {0} make up [0, {1}), and no two of them share an offset"};
inline constexpr Rule kEntryIn{"entry {0}: {1} in {2}"};

// right_inverse, left_inverse
inline constexpr Rule kEntry{"entry {0}"};
inline constexpr Rule kByStrideIndexed{"the modes by stride, each with the index of its coordinate 1: {0}"};
inline constexpr Rule kNext{"stride {0} of {1} is the next offset: {2} reaches those below {3}"};
inline constexpr Rule kNotNext{"stride {0} of {1} is not {2}, the next offset: left out"};
inline constexpr Rule kNotKnownNext{"stride {0} of {1} is not known to be {2}, the next offset: left out"};
inline constexpr Rule kRepeats{"{0} repeats an offset: left out"};
inline constexpr Rule kNotInjective{"stride {0} of {1} is below {2}, where {3} ends: not injective", kBroken};
inline constexpr Rule kSignsDiffer{"{0} and {1} run in opposite directions, so that one borrows from the other",
                                   kBroken};
inline constexpr Rule kNoMultiple{"stride {0} of {1} is not a multiple of the stride {2} before it", kBroken};
inline constexpr Rule kInverts{"no carry of L breaks L(A(i)) = i here: {0}"};
inline constexpr Rule kInterpolated{"another layout has L(A(i)) = i, by other radices than the strides: {0}"};
inline constexpr Rule kOffsets{"offsets from {0} up to stride {1}: {1}/{0} = {2} steps of index {3}, {4}"};
inline constexpr Rule kThenItself{"then the {0} steps of {1} itself: {2}"};

// divides and products
inline constexpr Rule kDivide{"= A o (B, B*), where B* = complement(B, {0}), the shape of {1}"};
inline constexpr Rule kTiling{"B* = {0}, (B, B*) = {1}"};
inline constexpr Rule kProduct{"= (A, A* o B), where A* = complement(A, size(A)*cosize(B)) = complement(A, {0}*{1})"};
inline constexpr Rule kProductOfBasis{
    "= (A, A* o B), where A* = complement(A, coshape(A)*cosize(B)) = complement(A, {0})"};
inline constexpr Rule kPlaces{"A* = {0}"};
inline constexpr Rule kPlaced{"A* o B = {0}"};
inline constexpr Rule kRoom{"B reaches {0} places, but A* has {1}: A* with room enough = {2}"};
inline constexpr Rule kPadded{"filled up to {0} modes with 1:0: A = {1}, B = {2}"};
inline constexpr Rule kWrapped{"each as one mode of a layout: A = {0}, B = {1}"};
inline constexpr Rule kLogical{"logical: {0}"};
inline constexpr Rule kNoPair{"a mode that the tiler leaves whole must be a pair (tile, rest), but is {0}", kBroken};
inline constexpr Rule kZipped{"zipped, the first of every pair, then the second: {0}"};
inline constexpr Rule kTiled{"tiled, the second ones side by side: {0}"};
inline constexpr Rule kFlat{"flat, all side by side: {0}"};
inline constexpr Rule kBlocked{"blocked, (mode i of A, mode i of B): {0}"};
inline constexpr Rule kRaked{"raked, (mode i of B, mode i of A): {0}"};

// make_layout_tv
inline constexpr Rule kPlacesOfValues{"where the values of the threads lie: raked_product({0}, {1})"};
inline constexpr Rule kTile{"the tile has the size of each mode: {0}"};
inline constexpr Rule kBackwards{"read backwards: right_inverse({0})"};
inline constexpr Rule kAsThreadsValues{"as (threads, values): composition({0}, {1})"};

// questions about layouts as functions
inline constexpr Rule kInsideDecides{"a swizzle is a bijection, so that {0} decides"};
inline constexpr Rule kAllCompared{"all {0} offsets were compared"};
inline constexpr Rule kComponent{"component {0}"};
inline constexpr Rule kBeyondBelow{"stride {0} of {1} is beyond {2}, the last offset that smaller strides reach"};
inline constexpr Rule kNoCollision{"stride {0} of {1} is not beyond {2}, which smaller strides reach, but {3}"};
inline constexpr Rule kCollision{"the coordinates {0} and {1} have the same offset", kBroken};
inline constexpr Rule kRange{"the offsets of {0} lie in [{1}, {2}]"};
inline constexpr Rule kAsMany{"{0} coordinates, and {1} places from 0 on"};
inline constexpr Rule kCanonical{"the coarsest form of {0} is {1}, which no other form of the function has"};
inline constexpr Rule kBitsCompared{"the bits of both functions were compared, or their values where there are few"};
inline constexpr Rule kNoMeeting{"the offsets of one less those of the other are sums: {0}"};
inline constexpr Rule kMeeting{"the coordinates {0} and {1} have the same offset", kBroken};

// crd2idx
inline constexpr Rule kDigits{"{0} in {1}: ({2}) = {3}"};
inline constexpr Rule kInnerProduct{"{0} . {1} = {2} = {3}"};
inline constexpr Rule kIndex{"{0} in {1}: {2} = {3}"};

}  // namespace tilewright::step

namespace tilewright {

// f() as a part of an operation that works mode by mode: its steps stand between the heading and its result.
template <class F, class... T>
Layout on_mode(int64_t i, F&& f, const Rule& heading, const T&... terms) {
  const auto work = [&] {
    Layout result = in_mode(i, f);
    note(step::kEquals, result);
    return result;
  };
  return below(work, heading, i, terms...);
}

}  // namespace tilewright

#include "predict.hpp"

#include <algorithm>
#include <charconv>

#include "analysis/access.hpp"
#include "analysis/advice.hpp"
#include "analysis/search.hpp"
#include "core/function.hpp"
#include "subjects.hpp"
#include "value.hpp"

namespace tilewright::page {

namespace {

using analysis::Access;
using analysis::hexadecimal;
using analysis::kWarp;
using analysis::Memory;
using analysis::Op;
using analysis::Request;

constexpr int64_t kWidest = 16;            // bytes
constexpr int64_t kMostOffsets = 1 << 16;  // a page is no place for more

[[noreturn]] void bad_value(const std::string& text) { throw std::invalid_argument(text); }

Asked asked_by(const std::vector<std::string_view>& lines) {
  Asked asked;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::size_t equals = lines[i].find('=');
    if (equals == std::string_view::npos) bad_value(concat("a field without '=': ", std::string(lines[i])));
    const std::string_view name = lines[i].substr(0, equals), text = lines[i].substr(equals + 1);
    if (name == "layout") asked.layout = text;
    if (name == "memory") asked.memory = text;
    if (name == "op") asked.op = text;
    if (name == "tv") asked.tv = text;
    if (name == "tile") asked.tile = text;
    if (name == "source") asked.source = text;
    if (name == "destination") asked.destination = text;
    for (const auto& [number, field] :
         {std::pair("bits", &asked.bits), std::pair("width", &asked.width), std::pair("base", &asked.base)}) {
      if (name != number) continue;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *field);
      if (error != std::errc() || end != text.data() + text.size())
        bad_value(concat(number, " = ", std::string(text), " is no integer"));
    }
  }
  return asked;
}

// Offsets (threads, values), colexicographic.
struct Table {
  std::vector<int64_t> offsets;
  int64_t threads;
  int64_t values;
  int64_t bits;
  int64_t base;

  int64_t at(int64_t thread, int64_t value) const {
    return offsets[static_cast<std::size_t>(thread + threads * value)];
  }
  int64_t bit_address(int64_t thread, int64_t value) const { return base * 8 + at(thread, value) * bits; }
  int64_t address(int64_t thread, int64_t value) const { return bit_address(thread, value) >> 3; }
};

// What the threads of a tiled copy read of a tile in memory.
Table copied_of(const Asked& asked, const AnyLayout& memory) {
  const IntTuple tile = tuple_of(parse_value(asked.tile));
  const auto owners = readers_of(picture::owners_of(any_layout_of(parse_value(asked.tv)), tile),
                                 layout_of(parse_value(asked.source)), layout_of(parse_value(asked.destination)));
  Table table{{}, 0, 0, asked.bits, asked.base};
  for (const auto& [index, pairs] : owners) {
    for (const auto& [thread, value] : pairs) {
      table.threads = std::max(table.threads, thread + 1), table.values = std::max(table.values, value + 1);
    }
  }
  table.offsets.resize(static_cast<std::size_t>(table.threads * table.values));
  for (const auto& [index, pairs] : owners) {
    const IntTuple at = idx2crd(IntTuple(static_int(index)), tile);
    const auto* composed = std::get_if<ComposedLayout>(&memory);
    const IntTuple offset = composed ? (*composed)(at) : crd2idx(at, LayoutView(std::get<Layout>(memory)));
    if (!offset.is_leaf() || offset.leaf().has_basis()) bad_value("the offsets of a tile in memory are integers");
    for (const auto& [thread, value] : pairs) {
      table.offsets[static_cast<std::size_t>(thread + table.threads * value)] = offset.leaf().value;
    }
  }
  return table;
}

Table table_of(const Asked& asked) {
  const AnyLayout layout = any_layout_of(parse_value(asked.layout));
  if (!asked.tv.empty()) return copied_of(asked, layout);
  const auto* composed = std::get_if<ComposedLayout>(&layout);
  const Layout& domain = composed ? composed->outer() : std::get<Layout>(layout);
  const int64_t count = size(domain).value, threads = product(domain.shape().view().mode(0)).value;
  if (count > kMostOffsets) bad_value(concat(count, " elements; the page looks at up to ", kMostOffsets));
  if (asked.bits < 1 || asked.bits > 128) bad_value(concat("elements of ", asked.bits, " bits; they have 1 to 128"));
  Table table{std::vector<int64_t>(static_cast<std::size_t>(count)), threads, count / threads, asked.bits, asked.base};
  write_offsets(layout, table.offsets.data());
  return table;
}

// Where the values of an access are no neighbours; empty where they are.
std::string break_in(const Table& table, int64_t values) {
  for (int64_t t = 0; t < table.threads; ++t) {
    for (int64_t v = 0; v < table.values; ++v) {
      if (v % values == values - 1) continue;
      const int64_t step = table.at(t, v + 1) - table.at(t, v);
      if (step != 1) return concat("values ", v, " and ", v + 1, " of thread ", t, ", ", step, " elements apart");
    }
  }
  return "";
}

std::string fault_in(const Table& table, int64_t values) {
  const int64_t bits = values * table.bits;
  for (int64_t t = 0; t < table.threads; ++t) {
    for (int64_t v = 0; v < table.values; v += values) {
      if (table.bit_address(t, v) % bits == 0) continue;
      const bool at_base = table.base % (bits / 8) != 0;
      const int64_t address = at_base ? table.base : table.address(t, v);
      const std::string which = at_base ? concat("the base ", hexadecimal(address))
                                        : concat("thread ", t, ", which begins at ", hexadecimal(address));
      return concat(which, ", a multiple of ", address & -address);
    }
  }
  return "";
}

struct Widest {
  int64_t bytes;
  std::string limit;
};

Widest widest_of(const Table& table) {
  int64_t bytes = 0;
  for (int64_t values = std::max<int64_t>(1, 8 / table.bits); values * table.bits / 8 <= kWidest; values *= 2) {
    if (table.values % values != 0)
      return {bytes, concat(table.values, " value", table.values > 1 ? "s" : "", " a thread")};
    for (const auto obstacle : {break_in, fault_in}) {
      std::string reason = obstacle(table, values);
      if (!reason.empty()) return {bytes, std::move(reason)};
    }
    bytes = values * table.bits / 8;
  }
  return {bytes, ""};
}

Access access_of(const Asked& asked, const Table& table, int64_t width) {
  Access access;
  access.memory = asked.memory == "shared" ? Memory::shared : Memory::global;
  access.width = static_cast<int>(width);
  if (asked.memory != "shared" && asked.memory != "global") bad_value("memory is global or shared");
  if (asked.op == "store") {
    access.op = Op::store;
  } else if (asked.op == "cp.async") {
    access.op = Op::cp_async;
    if (width < 4) bad_value(concat("cp.async copies 4, 8 or 16 bytes, not ", width));
  } else if (asked.op == "ldmatrix" || asked.op == "stmatrix") {
    access.op = asked.op == "ldmatrix" ? Op::ldmatrix : Op::stmatrix;
    access.matrices = static_cast<int>(std::min<int64_t>(table.threads / 8, 4));
    if (access.memory != Memory::shared) bad_value(concat(std::string(asked.op), " reads shared memory"));
    if (width != kWidest) bad_value("a row of ldmatrix and stmatrix has 16 bytes");
    if (access.matrices != 1 && access.matrices != 2 && access.matrices != 4)
      bad_value(concat("8, 16 or 32 threads give the rows of matrices, not ", table.threads));
  } else if (asked.op != "load") {
    bad_value("op is load, store, cp.async, ldmatrix or stmatrix");
  }
  return access;
}

int64_t values_of(const Table& table, int64_t width) {
  if (width < 1 || width > kWidest || (width & (width - 1)) != 0)
    bad_value(concat("width = ", width, " must be 1, 2, 4, 8 or 16 bytes"));
  const int64_t values = 8 * width / table.bits;
  if (values == 0 || 8 * width % table.bits != 0)
    bad_value(concat("width = ", width, " bytes is no whole number of elements of ", table.bits, " bits"));
  if (table.values % values != 0)
    fail(concat("width = ", width, " bytes is ", values, " values, which do not divide the ", table.values,
                " values of a thread"));
  const std::string gap = break_in(table, values);
  if (!gap.empty()) fail(concat("width = ", width, " bytes is ", values, " neighbours, but there are ", gap));
  return values;
}

// A warp's lanes and where they access.
struct Warp {
  int64_t addresses[kWarp] = {};
  uint32_t active = 0;
};

std::vector<Warp> warps_of(const Table& table, int64_t values) {
  std::vector<Warp> warps;
  for (int64_t v = 0; v < table.values; v += values) {
    for (int64_t t = 0; t < table.threads; ++t) {
      if (t % kWarp == 0) warps.emplace_back();
      warps.back().addresses[t % kWarp] = table.address(t, v);
      warps.back().active |= uint32_t{1} << t % kWarp;
    }
  }
  return warps;
}

void write_request(Json& json, const Request& request) {
  json.key("lanes").number(request.lanes).key("sectors").number(request.sectors);
  json.key("ideal_sectors").number(request.ideal_sectors).key("lines").number(request.lines);
  json.key("wavefronts").number(request.wavefronts).key("ideal_wavefronts").number(request.ideal_wavefronts);
  json.key("useful_bytes").number(request.useful_bytes);
}

int64_t excess(const Request& x) { return x.sectors - x.ideal_sectors + x.wavefronts - x.ideal_wavefronts; }

void add(Request& total, const Request& x) {
  total.lanes += x.lanes, total.sectors += x.sectors, total.ideal_sectors += x.ideal_sectors, total.lines += x.lines;
  total.wavefronts += x.wavefronts, total.ideal_wavefronts += x.ideal_wavefronts;
  total.useful_bytes += x.useful_bytes;
}

std::optional<analysis::BestSwizzle> best_swizzle_of(const Table& table, const Access& access,
                                                     const std::vector<Warp>& warps) {
  std::vector<int64_t> offsets;
  std::vector<uint32_t> active;
  for (const Warp& warp : warps) {
    active.push_back(warp.active);
    for (const int64_t address : warp.addresses) offsets.push_back((address - table.base) * 8 / table.bits);
  }
  return analysis::best_swizzle({access, offsets.data(), active.data(), static_cast<int64_t>(warps.size()),
                                 static_cast<int>(table.bits), table.base});
}

int64_t sectors_lower(const Access& access, std::vector<Warp> warps, int64_t bytes) {
  int64_t sectors = 0;
  for (Warp& warp : warps) {
    for (int64_t& address : warp.addresses) address -= bytes;
    sectors += analysis::evaluate(access, warp.addresses, warp.active).sectors;
  }
  return sectors;
}

using Active = std::vector<std::pair<int64_t, int64_t>>;  // lanes with their addresses

Active active_lanes(const Warp& warp) {
  Active lanes;
  for (int lane = 0; lane < kWarp; ++lane) {
    if (warp.active >> lane & 1) lanes.emplace_back(lane, warp.addresses[lane]);
  }
  return lanes;
}

struct Prediction {
  Table table;
  Widest widest;
  int64_t width;
  Access access;
  std::vector<Warp> warps;
  Request total, worst;
  std::size_t worst_warp = 0;
};

Prediction predicted(const Asked& asked) {
  Table table = table_of(asked);
  Widest widest = widest_of(table);
  const bool of_matrices = asked.op == "ldmatrix" || asked.op == "stmatrix";
  const int64_t chosen = of_matrices ? kWidest : std::max({widest.bytes, table.bits / 8, int64_t{1}});
  const int64_t width = asked.width ? asked.width : chosen;
  const int64_t values = values_of(table, width);
  const Access access = access_of(asked, table, width);
  std::vector<Warp> warps = warps_of(table, values);
  Prediction found{std::move(table), std::move(widest), width, access, std::move(warps), {}, {}};
  for (std::size_t i = 0; i < found.warps.size(); ++i) {
    const Warp& warp = found.warps[i];
    const int lane = analysis::first_fault(access, warp.addresses, warp.active);
    if (lane >= 0)
      bad_value(concat("lane ", lane, " of request ", i, " would fault: its address ", warp.addresses[lane], " (",
                       hexadecimal(warp.addresses[lane]), ") is no multiple of the ", width, " bytes of the access"));
    const Request request = analysis::evaluate(access, warp.addresses, warp.active);
    add(found.total, request);
    if (i == 0 || excess(request) > excess(found.worst)) found.worst = request, found.worst_warp = i;
  }
  return found;
}

}  // namespace

picture::Lanes worst_request(const Asked& asked, std::string_view when) {
  const Prediction found = predicted(asked);
  const char* which = found.warps.size() > 1 ? "worst request" : "request";
  return {when.empty() ? concat("The ", which) : concat(when, ", the ", which), std::string(asked.op), found.width,
          active_lanes(found.warps[found.worst_warp]), found.worst};
}

void write_prediction(Json& json, const std::vector<std::string_view>& lines) {
  const Prediction found = predicted(asked_by(lines));
  const auto& [table, widest, width, access, warps, total, worst, worst_warp] = found;
  json.open('{').key("widest").number(widest.bytes).key("limit").text(widest.limit).key("width").number(width);
  json.key("requests").number(static_cast<int64_t>(warps.size()));
  write_request(json, total);
  json.key("worst").open('{');
  write_request(json, worst);
  std::vector<int64_t> addresses;
  json.key("request").number(static_cast<int64_t>(worst_warp)).key("addresses").open('[');
  for (const auto& [lane, address] : active_lanes(warps[worst_warp])) {
    addresses.push_back(address);
    json.number(address);
  }
  json.close(']').close('}');
  const int64_t worst_wavefronts = worst.alone ? worst.alone : worst.wavefronts, ideal = worst.ideal_wavefronts;
  const bool of_matrices = access.op == Op::ldmatrix || access.op == Op::stmatrix;
  analysis::Cost cost{access.memory == Memory::shared,
                      of_matrices,
                      width,
                      widest.bytes,
                      static_cast<int64_t>(warps.size()),
                      total.lanes,
                      total.sectors,
                      total.ideal_sectors,
                      total.wavefronts,
                      total.ideal_wavefronts,
                      ideal ? (worst_wavefronts + ideal - 1) / ideal : 1,
                      table.base,
                      addresses,
                      [&found](int64_t bytes) { return sectors_lower(found.access, found.warps, bytes); },
                      [&found] { return best_swizzle_of(found.table, found.access, found.warps); }};
  json.key("advice").text(analysis::advice(cost)).close('}');
}

}  // namespace tilewright::page

// Schedules CTAs and their warps.
#include "run.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <exception>
#include <list>
#include <numeric>
#include <optional>
#include <thread>
#include <tuple>

#include "cluster.hpp"
#include "core/error.hpp"
#include "core/wide.hpp"
#include "host/execute/profile/profile.hpp"
#include "host/execute/profile/timeline.hpp"
#include "host/execute/shadow/shadow.hpp"

namespace tilewright::execute {

namespace {

constexpr std::size_t kMostClusters = 256;  // that are under way at once
constexpr uint64_t kRounds = 1024;          // of turns in which nothing changed, after which nothing will
constexpr int64_t kSharesOfWorker = 16;
constexpr int64_t kWorkOfWorker = int64_t{1} << 14;  // instructions of warps; less does not pay for a thread's start
constexpr std::chrono::milliseconds kBetweenQuestions{100};
constexpr std::chrono::milliseconds kForTheHost{1000};  // to change what a kernel waits for

// Which clusters of CTAs follow each other: all of them, in their order or in one that the seed chooses.
class Order {
 public:
  Order(uint64_t count, uint64_t seed) : count_(count) {
    if (seed == 0 || count < 2) return;
    start_ = mixed(seed) % count;
    step_ = mixed(seed + 1) % count;
    while (std::gcd(step_, count) != 1) step_ = step_ + 1 < count ? step_ + 1 : 1;
  }
  uint64_t operator()(uint64_t i) const {
    return static_cast<uint64_t>((static_cast<Wide>(i) * static_cast<Wide>(step_) + static_cast<Wide>(start_)) %
                                 static_cast<Wide>(count_));
  }

 private:
  uint64_t count_;
  uint64_t start_ = 0;
  uint64_t step_ = 1;
};

// Executes clusters of CTAs until there are no more.
class Worker {
 public:
  Worker(const Launch& launch, const Order& order, Shadow* shadow, std::atomic<bool>& stop)
      : launch_(launch), order_(order), shadow_(shadow), stop_(stop), most_(resident(launch)) {
    if (launch.profile) profile = std::make_unique<Profile>(*launch.code, launch.profiled);
    if (launch.timed) timeline = std::make_unique<Timeline>(*launch.timed);
  }

  template <class Next>
  void work(Next&& next) {
    std::list<std::unique_ptr<Cluster>> waiting, idle;
    bool more = true;
    uint64_t turns = 0, changes = 0;  // without an end or a change, and the changes until then
    while ((more || !waiting.empty()) && !stop_) {
      if (more && shadow_ != nullptr && waiting.size() >= most_) {
        if (shadow_->changes() != changes) turns = 0;
        changes = shadow_->changes();
        if (++turns > kRounds * waiting.size() && find_starved(*waiting.front(), waiting.size(), true)) return;
      }
      std::unique_ptr<Cluster> cluster;
      uint64_t i = 0;
      if (more && waiting.size() < most_ && (more = next(i))) {
        if (idle.empty()) {
          idle.push_back(std::make_unique<Cluster>(launch_, shadow_, profile.get(), timeline.get(), findings, printed));
        }
        cluster = std::move(idle.front());
        idle.pop_front();
        cluster->begin(order_(i));
      } else if (!waiting.empty()) {
        cluster = std::move(waiting.front());
        waiting.pop_front();
      } else {
        break;
      }
      const bool is_over = cluster->advance([this] { return is_stopped(); });
      if (is_over) turns = 0;
      (is_over ? idle : waiting).push_back(std::move(cluster));
      if (shadow_ == nullptr || is_over || (more && waiting.size() < most_) || !is_stuck(waiting)) {
        stuck_since_.reset();
      } else if (is_for_ever(more) && find_starved(*waiting.front(), waiting.size(), more)) {
        return;
      }
      is_stopped();
    }
  }

  // The same; an exception stops all, and is kept.
  template <class Next>
  void try_to_work(Next&& next) {
    try {
      work(next);
    } catch (...) {
      failure = std::current_exception();
      stop_ = true;
    }
  }

  FindingTable findings;
  std::vector<Printed> printed;
  std::unique_ptr<Profile> profile;
  std::unique_ptr<Timeline> timeline;
  bool asks = false;  // whether to give up
  std::exception_ptr failure;

 private:
  static uint64_t resident(const Launch& launch) {
    return launch.check && launch.resident != 0 ? launch.resident : kMostClusters;
  }

  // The newest is asked first, as most often it is not.
  static bool is_stuck(const std::list<std::unique_ptr<Cluster>>& waiting) {
    return std::all_of(waiting.rbegin(), waiting.rend(), [](const auto& each) { return each->is_stuck(); });
  }

  // What loops may wait for the host, which is given some time; who waits for a CTA that has not begun is not.
  bool is_for_ever(bool more) {
    const auto now = std::chrono::steady_clock::now();
    if (!stuck_since_) stuck_since_ = now;
    return more || now - *stuck_since_ > kForTheHost;
  }

  // All clusters that are under way loop, and nothing changes: they wait for one that has not begun, or for nothing.
  bool find_starved(const Cluster& cluster, std::size_t under_way, bool more) {
    const Warp* warp = cluster.looping();
    if (warp == nullptr) return false;
    warp->cta->report(
        *warp, warp->code->instructions[warp->pc], FindingKind::kDeadlock, std::countr_zero(warp->live), [&] {
          if (!more) return std::string("the thread loops for ever: nothing that it reads changes any more");
          const bool one = under_way == 1;
          return concat("the thread loops for ever: ", under_way, one ? " cluster or CTA is" : " clusters or CTAs are",
                        " under way, nothing changes any more, and the others begin only when ",
                        one ? "it has" : "one of them has",
                        " come to its end. CUDA promises neither the order in which CTAs begin nor how many run at "
                        "once: let each take its number from a counter in global memory when it begins, or launch "
                        "them with cooperative=True");
        });
    return true;
  }

  bool is_stopped() {
    if (asks && is_interrupted()) stop_ = true;
    return stop_;
  }

  bool is_interrupted() {
    const auto now = std::chrono::steady_clock::now();
    if (!launch_.is_interrupted || now < next_question_) return false;
    next_question_ = now + kBetweenQuestions;
    return launch_.is_interrupted();
  }

  const Launch& launch_;
  const Order& order_;
  Shadow* shadow_;
  std::atomic<bool>& stop_;
  uint64_t most_;  // clusters that are under way at once
  std::optional<std::chrono::steady_clock::time_point> stuck_since_;
  std::chrono::steady_clock::time_point next_question_ = std::chrono::steady_clock::now() + kBetweenQuestions;
};

int64_t workers_for(const Launch& launch, uint64_t ctas) {
  // The order of atomics, and what is known about memory, would depend on who comes first.
  if (launch.check || launch.code->has_global_atomics) return 1;
  const auto most = static_cast<int64_t>(ctas);
  if (launch.threads > 0) return std::min<int64_t>(launch.threads, most);
  const int64_t warps = most * ((launch.block[0] * launch.block[1] * launch.block[2] + kLanes - 1) / kLanes);
  const int64_t worth = warps * static_cast<int64_t>(launch.code->instructions.size()) / kWorkOfWorker;
  if (worth <= 1) return 1;
  return std::min({static_cast<int64_t>(std::max(1u, std::thread::hardware_concurrency())), worth, most});
}

std::string output_of(std::vector<Printed>& printed) {
  std::stable_sort(printed.begin(), printed.end(), [](const Printed& a, const Printed& b) {
    return std::tie(a.cta, a.thread) < std::tie(b.cta, b.thread);
  });
  std::string text;
  for (const Printed& each : printed) text += each.text;
  return text;
}

}  // namespace

Outcome::Outcome() = default;
Outcome::Outcome(Outcome&&) noexcept = default;
Outcome& Outcome::operator=(Outcome&&) noexcept = default;
Outcome::~Outcome() = default;

Outcome run(const Launch& launch) {
  const uint64_t ctas = static_cast<uint64_t>(launch.grid[0]) * static_cast<uint64_t>(launch.grid[1]) *
                        static_cast<uint64_t>(launch.grid[2]);
  const uint64_t clusters = ctas / static_cast<uint64_t>(launch.cluster[0] * launch.cluster[1] * launch.cluster[2]);
  const Order order(clusters, launch.seed);
  std::unique_ptr<Shadow> shadow;
  if (launch.check) shadow = std::make_unique<Shadow>(launch);
  const int64_t count = ctas == 0 ? 1 : workers_for(launch, ctas);
  std::atomic<bool> stop{false};
  std::vector<Worker> workers;
  workers.reserve(static_cast<std::size_t>(count));
  for (int64_t i = 0; i < count; ++i) workers.emplace_back(launch, order, shadow.get(), stop);
  workers[0].asks = true;
  const uint64_t share = std::max<uint64_t>(1, clusters / static_cast<uint64_t>(count * kSharesOfWorker));
  std::atomic<uint64_t> dealt{0};
  const auto work = [&](Worker& worker) {
    uint64_t first = 0, last = 0;
    worker.try_to_work([&](uint64_t& i) {
      if (first == last) {
        first = std::min(clusters, dealt.fetch_add(share));
        last = std::min(clusters, first + share);
        if (first == last) return false;
      }
      i = first++;
      return true;
    });
  };
  std::vector<std::thread> threads;
  try {
    for (int64_t i = 1; i < count; ++i) threads.emplace_back(work, std::ref(workers[static_cast<std::size_t>(i)]));
  } catch (const std::exception&) {  // no more threads to be had: those there are do the work
  }
  work(workers[0]);
  for (std::thread& thread : threads) thread.join();
  for (const Worker& worker : workers) {
    if (worker.failure != nullptr) std::rethrow_exception(worker.failure);
  }
  FindingTable findings;
  std::vector<Printed> printed;
  for (Worker& worker : workers) {
    findings.merge(worker.findings);
    printed.insert(printed.end(), worker.printed.begin(), worker.printed.end());
  }
  Outcome outcome;
  outcome.is_interrupted = stop;
  outcome.findings = findings.sorted(*launch.code->program);
  outcome.output = output_of(printed);
  if (launch.tells_touched && shadow != nullptr) outcome.touched = shadow->touched();
  if (launch.profile) {
    for (std::size_t i = 1; i < workers.size(); ++i) workers[0].profile->merge(*workers[i].profile);
    outcome.profile = workers[0].profile->rows();
  }
  if (launch.timed) {
    for (const Worker& worker : workers) {
      outcome.timeline.insert(outcome.timeline.end(), worker.timeline->spans.begin(), worker.timeline->spans.end());
    }
  }
  return outcome;
}

}  // namespace tilewright::execute

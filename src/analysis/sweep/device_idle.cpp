// Sweeps the users of devices side by side, by the shared clock, and adds up what they do where a device does nothing.
#include "device_idle.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <tuple>
#include <utility>

#include "process_sweep.h"

namespace rlscope {
namespace {

// A process is swept ahead of the others by so many ticks, and at least to its next record.
constexpr uint64_t kTicksAhead = 1 << 20;

// What a process does, as far as idle time asks.
struct Doing {
  Scope scope;
  uint32_t wait;  // its number; 0: none
  uint8_t category;
  bool is_evaluation;
  bool is_in_tail;

  auto key() const { return std::tie(scope, wait, category, is_evaluation, is_in_tail); }
  bool operator==(const Doing& other) const { return key() == other.key(); }
  bool operator<(const Doing& other) const { return key() < other.key(); }
};

// What one process does, stretch by stretch, and for how much idle time of each place it spoke.
class User : private OwnerWatch {
 public:
  User(const IdleUser& user, size_t places, bool recovers, size_t window_bytes)
      : user_(user), file_(user.input.path, recovers), sweep_(file_, options(user, window_bytes)),
        now_ticks_(file_.header().start_ticks), added_ticks_(now_ticks_), sums_(places) {}

  uint64_t start() const { return user_.input.clock(file_.header().start_ticks); }
  // Goes to the next stretch; false behind the last one.
  bool next() {
    if (taken_ == stretches_.size()) sweep_ahead();
    bool is_any = taken_ < stretches_.size();
    doing_ = is_any ? stretches_[taken_].doing : kSilent;
    if (is_any) until_ = user_.input.clock(stretches_[taken_++].until_ticks);
    return is_any;
  }
  uint64_t until() const { return until_; }
  // The lower the sooner it speaks.
  unsigned rank() const { return ranks_[doing_]; }
  void add(size_t place, uint64_t time) {
    std::vector<uint64_t>& sums = sums_[place];
    if (doing_ >= sums.size()) sums.resize(known_.size());
    sums[doing_] += time;
  }

  void write(size_t number, IdleOfPlaces& found) const {
    for (size_t place = 0; place < sums_.size(); place++) {
      for (size_t i = 0; i < sums_[place].size(); i++) {
        if (sums_[place][i]) found.rows.push_back({place, number, idle(known_[i], sums_[place][i], found.labels)});
      }
    }
  }

  static constexpr unsigned kSilentRank = 6;

 private:
  static constexpr uint32_t kSilent = 0;
  static constexpr unsigned kRecentDigits = 8;  // binary ones of how many there are
  struct Stretch {
    uint64_t until_ticks;
    uint32_t doing;
  };
  struct Recent {
    Doing doing;
    uint32_t number = kSilent;
  };

  SweepOptions options(const IdleUser& user, size_t window_bytes) {
    SweepOptions options;
    options.limit_ticks = user.input.end_ticks;
    options.gpu_attribution = GpuAttribution::kCoincident;
    options.watch = this;
    options.window_bytes = window_bytes;
    return options;
  }

  void sweep_ahead() {
    stretches_.clear();
    taken_ = 0;
    while (stretches_.empty() && !has_ended_) {
      uint64_t next = sweep_.next_record_ticks();
      has_ended_ = !sweep_.run_until(next < kNever - kTicksAhead ? next + kTicksAhead : kNever);
    }
  }

  void own(const BreakdownPlace& place, uint32_t wait, uint64_t ticks) override {
    Doing doing{place.scope, wait, static_cast<uint8_t>(place.cell % kCategories),
                sweep_.tables().is_evaluation(place.phase), false};
    for (uint64_t end = now_ticks_ + ticks; now_ticks_ < end;) {
      IdleSpan tail = next_tail();
      doing.is_in_tail = tail.start <= now_ticks_;
      now_ticks_ = std::min(end, doing.is_in_tail ? tail.end : tail.start);
      add_stretch(std::min(now_ticks_, user_.start_ticks), kSilent);
      add_stretch(std::min(now_ticks_, user_.end_ticks), number_of(doing));
      add_stretch(now_ticks_, kSilent);
    }
  }

  // The one in which the process is, else the next one; at the end of time if there is none.
  IdleSpan next_tail() {
    while (tail_ < user_.tails.size() && user_.tails[tail_].end <= now_ticks_) tail_++;
    return tail_ < user_.tails.size() ? user_.tails[tail_] : IdleSpan{UINT64_MAX, UINT64_MAX};
  }

  void add_stretch(uint64_t until_ticks, uint32_t doing) {
    if (until_ticks <= added_ticks_) return;
    added_ticks_ = until_ticks;
    if (!stretches_.empty() && stretches_.back().doing == doing) {
      stretches_.back().until_ticks = until_ticks;
    } else {
      stretches_.push_back({until_ticks, doing});
    }
  }

  uint32_t number_of(const Doing& doing) {
    uint64_t key = uint64_t{doing.scope} << 32 ^ uint64_t{doing.wait} << 8 ^ unsigned{doing.category} << 2 ^
                   unsigned{doing.is_evaluation} << 1 ^ doing.is_in_tail;
    Recent& recent = recent_[key * 0x9e3779b97f4a7c15 >> (64 - kRecentDigits)];
    if (recent.number != kSilent && recent.doing == doing) return recent.number;
    auto [found, is_new] = numbers_.try_emplace(doing, static_cast<uint32_t>(known_.size()));
    if (is_new) {
      known_.push_back(doing);
      ranks_.push_back(3 * (doing.scope == 0) + static_cast<unsigned>(kCategoryColumns[doing.category].turn));
    }
    recent = {doing, found->second};
    return found->second;
  }

  SweptIdle idle(const Doing& doing, uint64_t time, std::set<std::string>& labels) const {
    const SweepTables& tables = sweep_.tables();
    std::string_view wait = doing.category == kWait ? tables.wait_label(file_.names(), doing.wait) : "";
    return {tables.stage_of(doing.scope), *labels.insert(tables.operation_of(doing.scope)).first,
            folded_category(doing.category), doing.is_evaluation, *labels.emplace(wait).first, doing.is_in_tail, time};
  }

  const IdleUser& user_;
  TraceFile file_;
  Sweep sweep_;
  bool has_ended_ = false;
  uint64_t now_ticks_;    // as far as it was swept
  uint64_t added_ticks_;  // as far as stretches go
  size_t tail_ = 0;       // the first one that has not ended there
  std::vector<Stretch> stretches_;
  size_t taken_ = 0;  // so many of them
  uint32_t doing_ = kSilent;
  uint64_t until_ = 0;
  std::vector<Doing> known_{{}};  // by number; the first one is kSilent's
  std::vector<unsigned> ranks_{kSilentRank};
  std::map<Doing, uint32_t> numbers_;
  Recent recent_[1 << kRecentDigits];
  std::vector<std::vector<uint64_t>> sums_;  // by place, then by number
};

struct Place {
  IdleSpan span;
  std::vector<User*> users;
  uint64_t busy_until = 0;
  uint64_t charged_until = 0;
  uint64_t unspoken = 0;
};

class IdleTime {
 public:
  IdleTime(const std::vector<IdleUser>& users, const std::vector<IdleSpan>& spans, bool recovers) {
    size_t window_bytes = SweepOptions().window_bytes / std::max<size_t>(users.size(), 1);
    for (const IdleSpan& span : spans) places_.push_back({span, {}});
    places_of_.resize(users.size());
    for (size_t i = 0; i < users.size(); i++) {
      users_.push_back(std::make_unique<User>(users[i], spans.size(), recovers, window_bytes));
      for (const auto& [device, place] : users[i].input.places) places_of_[i].push_back(place);
      std::sort(places_of_[i].begin(), places_of_[i].end());
      places_of_[i].erase(std::unique(places_of_[i].begin(), places_of_[i].end()), places_of_[i].end());
      for (size_t place : places_of_[i]) places_.at(place).users.push_back(users_[i].get());
      changes_.push({users_[i]->start(), i});
    }
  }

  // Work comes in order of its start.
  void add(const UnionWork& work) {
    go_to(work.start);
    charge(work.place, work.start);
    places_[work.place].busy_until = std::max(places_[work.place].busy_until, work.end);
  }

  IdleOfPlaces finish() {
    go_to(UINT64_MAX);
    IdleOfPlaces found;
    for (size_t i = 0; i < places_.size(); i++) charge(i, UINT64_MAX);
    for (size_t i = 0; i < users_.size(); i++) users_[i]->write(i, found);
    for (size_t i = 0; i < places_.size(); i++) {
      uint64_t time = places_[i].unspoken;
      if (time) found.rows.push_back({i, std::nullopt, {"", "", Category::kPython, false, "", false, time}});
    }
    auto is_before = [](const SweptPlaceIdle& a, const SweptPlaceIdle& b) { return a.place < b.place; };
    std::stable_sort(found.rows.begin(), found.rows.end(), is_before);
    return found;
  }

 private:
  using Change = std::pair<uint64_t, size_t>;  // when a user does something else, and which one

  void go_to(uint64_t now) {
    while (!changes_.empty() && changes_.top().first <= now) {
      auto [ticks, number] = changes_.top();
      changes_.pop();
      for (size_t place : places_of_[number]) charge(place, ticks);
      if (users_[number]->next()) changes_.push({users_[number]->until(), number});
    }
  }

  // Adds idle time up to `now`, through which no user did anything else.
  void charge(size_t number, uint64_t now) {
    Place& place = places_[number];
    uint64_t from = std::max({place.charged_until, place.busy_until, place.span.start});
    uint64_t until = std::min(now, place.span.end);
    place.charged_until = now;
    if (from >= until) return;
    User* speaker = nullptr;
    unsigned best = User::kSilentRank;
    for (User* user : place.users) {
      if (user->rank() < best) speaker = user;
      best = std::min(best, user->rank());
    }
    if (speaker) {
      speaker->add(number, until - from);
    } else {
      place.unspoken += until - from;
    }
  }

  std::vector<std::unique_ptr<User>> users_;
  std::vector<std::vector<size_t>> places_of_;  // users, by their numbers
  std::vector<Place> places_;
  std::priority_queue<Change, std::vector<Change>, std::greater<Change>> changes_;
};

}  // namespace

IdleOfPlaces device_idle(const std::vector<IdleUser>& users, const std::vector<IdleSpan>& spans, bool recovers) {
  IdleTime idle(users, spans, recovers);
  std::vector<UnionInput> inputs;
  for (const IdleUser& user : users) inputs.push_back(user.input);
  for (WorkUnion all(inputs, recovers); all.next();) idle.add(all.work());
  return idle.finish();
}

}  // namespace rlscope

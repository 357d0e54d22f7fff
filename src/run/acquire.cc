#include "run/acquire.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/tr.h"
#include "lease/watch.h"
#include "run/turn.h"

namespace berth {

namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::seconds;

using Answer = std::variant<Acquired, NotAcquired>;

/// Hundreds who start at once take turns of a few milliseconds each.
constexpr Duration patience_for_the_lock = seconds(10);
/// A machine that could not be looked at for this long is reported instead of waited for.
constexpr Duration patience_for_looks = seconds(60);
constexpr Duration news_interval = milliseconds(300);

struct Considered {
  Snapshot snapshot;
  Placement placement;
  std::size_t position = 0;  // in snapshot.waiters
};

/// What makes two pieces of news different.
struct NewsKey {
  int position = 0;
  std::vector<std::tuple<DeviceId, Rule, std::vector<std::string>>> reasons;  // by whom
  friend bool operator==(const NewsKey&, const NewsKey&) = default;
};

NewsKey key_of(int position, const Placement& placement) {
  NewsKey key{.position = position};
  for (const Refusal& refusal : placement.refused) {
    std::vector<std::string> by_whom;
    for (const Holder& holder : refusal.holders) by_whom.push_back(who(holder));
    key.reasons.emplace_back(refusal.device, refusal.rule, std::move(by_whom));
  }
  return key;
}

std::size_t position_of(const std::string& id, const Snapshot& snapshot) {
  const auto& waiters = snapshot.waiters;
  const auto found = std::find_if(waiters.begin(), waiters.end(),
                                  [&id](const Waiter& waiter) { return waiter.id == id; });
  return static_cast<std::size_t>(found - waiters.begin());
}

class Acquisition {
 public:
  Acquisition(Ledger& ledger, const Look& look, Clock& clock, const AcquireOptions& options)
      : ledger_(ledger), look_(look), clock_(clock), options_(options), started_(clock.now()) {}

  Result<Answer> run() {
    auto answer = arrive();
    if (!answer) return std::unexpected(std::move(answer).error());
    if (*answer) return *std::move(*answer);
    return wait_for_turn();
  }

 private:
  [[nodiscard]] bool is_interrupted() const {
    return options_.interrupted && options_.interrupted();
  }

  /// The first attempt: behind everybody who waits already, and the end of the queue where that
  /// gives nothing.
  Result<std::optional<Answer>> arrive() {
    auto machine = look_();
    if (!machine) return std::unexpected(std::move(machine).error());
    const auto lock = ledger_.lock(patience_for_the_lock, options_.interrupted);
    if (!lock && is_interrupted()) return give_up(NotAcquired::Why::interrupted);
    if (!lock) return std::unexpected(lock.error());
    // The tickets of a long queue are only read where they make a difference.
    auto view = ledger_.read_with_tickets({});
    if (!view) return std::unexpected(std::move(view).error());
    now_ = consider(*std::move(machine), *view);
    if (now_.placement.satisfied() && !view->ticket_ids.empty()) {
      view = ledger_.read();
      if (!view) return std::unexpected(std::move(view).error());
      now_ = consider(std::move(now_.snapshot), *view);
    }
    if (now_.placement.satisfied()) return claim(*lock);
    if (!now_.placement.possible) return give_up(NotAcquired::Why::never_possible);
    if (options_.wait && options_.wait->count() <= 0) return give_up(NotAcquired::Why::none_free);
    auto ticket = ledger_.queue(*lock, terms_of_ticket());
    if (!ticket) return std::unexpected(std::move(ticket).error());
    ticket_.emplace(*std::move(ticket));
    ahead_ = std::move(view->ticket_ids);
    return std::optional<Answer>();
  }

  Result<Answer> wait_for_turn() {
    next_look_ = last_good_look_ = asked_ = clock_.now();
    while (true) {
      if (is_interrupted()) return answer(NotAcquired::Why::interrupted);
      if (left() && left()->count() <= 0) return answer(NotAcquired::Why::timed_out);
      if (auto beaten = ticket_->beat(clock_.now()); !beaten) {
        return std::unexpected(std::move(beaten).error().because("waiting in the queue"));
      }
      auto got = take_turn_if_due();
      if (!got) return std::unexpected(std::move(got).error());
      if (*got) return *std::move(*got);
      tell_news();
      rest();
    }
  }

  Result<std::optional<Answer>> take_turn_if_due() {
    const bool due = clock_.now() >= next_look_;
    if (asleep_ && !due) return std::optional<Answer>();
    const std::size_t ahead_before = ahead_.size();
    const Instant asked_before = std::exchange(asked_, clock_.now());
    asleep_ = !is_among_the_first();
    if (asleep_) {
      watch_.reset();
      next_look_ = asked_ + sleep_between_asking(ahead_.size(), ahead_before - ahead_.size(),
                                                 asked_ - asked_before);
      return std::optional<Answer>();
    }
    begin_watching();
    if (clock_.now() < next_look_) return std::optional<Answer>();
    auto got = take_turn();
    if (got && !*got) static_cast<void>(ticket_->beat(clock_.now()));  // a look may take seconds
    return got;
  }

  /// Reads the state of the first few alone, and forgets those who left.
  bool is_among_the_first() {
    std::size_t counted = 0;
    const Instant now = clock_.now();
    for (std::size_t i = 0; i < ahead_.size() && counted < lookers_at_most;) {
      const auto state = ledger_.waiter_state(ahead_[i]);
      if (!state) {
        ahead_.erase(ahead_.begin() + static_cast<std::ptrdiff_t>(i));
        next_look_ = now;
        pause_ = shortest_pause;
        continue;
      }
      if (!state->passed && !is_stuck(*state, now)) ++counted;
      ++i;
    }
    return counted < lookers_at_most;
  }

  void begin_watching() {
    if (watch_ || watch_failed_) return;
    auto watch = LedgerWatch::open(ledger_.directory());
    watch_failed_ = !watch;  // none left: polling alone will do
    if (watch) watch_.emplace(*std::move(watch));
  }

  Result<std::optional<Answer>> take_turn() {
    auto machine = look_();
    if (!machine) {
      next_look_ = clock_.now() + longest_pause;
      if (clock_.now() - last_good_look_ < patience_for_looks) return std::optional<Answer>();
      return std::unexpected(std::move(machine).error().because(tr("looking for free devices")));
    }
    last_good_look_ = clock_.now();
    auto view = ledger_.read_with_tickets(tickets_in_sight());
    if (!view) return std::unexpected(std::move(view).error());
    const std::vector<Claim> claims_before = std::exchange(now_.snapshot.claims, {});
    now_ = consider(*std::move(machine), *view);
    idle_.note(now_.placement, clock_.now());
    if (now_.placement.satisfied()) {
      auto got = claim_under_lock();
      if (!got || *got) return got;
    }
    if (!now_.placement.possible) return give_up(NotAcquired::Why::never_possible);
    if (auto shown = show_others(); !shown) return std::unexpected(std::move(shown).error());
    plan_next_look(claims_before != now_.snapshot.claims);
    return std::optional<Answer>();
  }

  /// The claims may have changed since: they are read again, the machine is not looked at again.
  Result<std::optional<Answer>> claim_under_lock() {
    const auto lock = ledger_.lock(patience_for_the_lock, options_.interrupted);
    if (!lock && is_interrupted()) return give_up(NotAcquired::Why::interrupted);
    if (!lock) return std::unexpected(lock.error());
    const auto view = ledger_.read_with_tickets(tickets_in_sight());
    if (!view) return std::unexpected(view.error());
    now_ = consider(std::move(now_.snapshot), *view);
    if (!now_.placement.satisfied()) return std::optional<Answer>();
    return claim(*lock);
  }

  Considered consider(Snapshot machine, const LedgerView& view) {
    const std::string own = ticket_ ? ticket_->id() : std::string();
    PlaceLimits limits = options_.limits;
    const auto watched = idle_.watched(clock_.now());
    limits.watched_idle.insert(limits.watched_idle.end(), watched.begin(), watched.end());
    Considered now;
    now.snapshot = with_ledger(std::move(machine), view, clock_.now(), own);
    now.position = position_of(own, now.snapshot);
    now.placement = place_behind(now.snapshot, now.position, options_.request, limits);
    if (!ticket_ || now.placement.satisfied() || !is_held_back(now.placement)) {
      able_since_.clear();
      return now;
    }
    const std::vector<std::string> late = late_to_start(now);
    if (late.empty()) return now;
    std::erase_if(now.snapshot.waiters, [&late](const Waiter& waiter) {
      return std::find(late.begin(), late.end(), waiter.id) != late.end();
    });
    now.position = position_of(own, now.snapshot);
    now.placement = place_behind(now.snapshot, now.position, options_.request, limits);
    return now;
  }

  /// Who could start on what we see and has not for `turn_limit`, although awake: their machine
  /// looks different to them, or they are another program's.
  std::vector<std::string> late_to_start(const Considered& seen) {
    std::map<std::string, Instant> since;
    std::vector<std::string> late;
    for (const std::string& id : able_to_start(seen.snapshot, seen.position)) {
      const auto before = able_since_.find(id);
      const Instant first = before == able_since_.end() ? clock_.now() : before->second;
      since.emplace(id, first);
      if (clock_.now() - first >= turn_limit) late.push_back(id);
    }
    able_since_ = std::move(since);
    return late;
  }

  /// Under the host lock: the lease appears and the ticket goes before anybody else may choose.
  Result<std::optional<Answer>> claim(const HostLock& lock) {
    LeaseTerms terms{.run = options_.run, .command = options_.command};
    for (const Choice& choice : now_.placement.chosen) {
      terms.devices.push_back({choice.device, choice.promised});
    }
    // Our own leavings; if it fails they stay, dead. Whoever waited leaves that to others: it would
    // cost a long queue more than the claim.
    if (!ticket_) static_cast<void>(ledger_.sweep(lock));
    auto lease = ledger_.claim(lock, terms);
    if (!lease) return std::unexpected(std::move(lease).error());
    if (ticket_) static_cast<void>(ticket_->leave(lock));  // if it fails, it dies with the process
    return std::optional<Answer>(Acquired{.lease = *std::move(lease),
                                          .placement = std::move(now_.placement),
                                          .snapshot = std::move(now_.snapshot),
                                          .waited = waited()});
  }

  [[nodiscard]] TicketTerms terms_of_ticket() const {
    const Request seen = as_others_see(options_.request, options_.limits, now_.snapshot);
    TicketTerms terms{
        .command = options_.command, .wants = as_typed(options_.request), .request = to_json(seen)};
    for (const Device& device : now_.snapshot.devices) terms.devices.push_back(device.id);
    return terms;
  }

  /// Everybody before us and ourselves: those behind do not matter.
  [[nodiscard]] std::vector<std::string> tickets_in_sight() const {
    std::vector<std::string> ids = ahead_;
    ids.push_back(ticket_->id());
    return ids;
  }

  Result<void> show_others() {
    const bool head = now_.position == 0;
    const Instant now = clock_.now();
    if (!head) gathering_since_.reset();
    if (head && !gathering_since_) gathering_since_ = now;
    // Gathers for a while, stands back for as long, and so on.
    const bool gathers = head && ((now - *gathering_since_) / gather_limit) % 2 == 0;
    const auto devices =
        gathers ? worth_gathering(now_.placement, options_.request) : std::vector<DeviceId>();
    if (devices != gathered_) {
      if (auto shown = ticket_->set_gathered(devices); !shown) return shown;
      gathered_ = devices;
    }
    if (now_.position < now_.snapshot.waiters.size()) {
      now_.snapshot.waiters[now_.position].gathered = gathered_;
    }
    const bool passed = leaves_something(now_.snapshot, now_.position);
    if (passed == passed_) return {};
    passed_ = passed;
    return ticket_->set_passed(passed);
  }

  void plan_next_look(bool something_changed) {
    pause_ = something_changed ? shortest_pause : std::min<Duration>(pause_ * 2, longest_pause);
    Duration pause = pause_;
    if (idle_.is_watching()) pause = std::min<Duration>(pause, milliseconds(500));
    next_look_ = clock_.now() + pause;
    for (const auto& [id, since] : able_since_) {
      next_look_ =
          std::min(next_look_, std::max(since + turn_limit, clock_.now() + shortest_pause));
    }
  }

  void tell_news() {
    const Instant now = clock_.now();
    if (!options_.on_news || (last_news_ && now - *last_news_ < news_interval)) return;
    const int position = static_cast<int>(ahead_.size()) + 1;
    NewsKey key = key_of(position, now_.placement);
    if (last_news_ && key == told_ && !options_.tells_time) return;
    told_ = std::move(key);
    last_news_ = now;
    options_.on_news({.position = position,
                      .devices = options_.request.devices,
                      .placement = now_.placement,
                      .snapshot = now_.snapshot,
                      .waited = waited(),
                      .left = left()});
  }

  void rest() {
    const Instant now = clock_.now();
    Instant until = std::min(next_look_, now + beat_interval);
    if (const auto rest_of_wait = left()) until = std::min<Instant>(until, now + *rest_of_wait);
    if (until <= now) return;
    const bool hint = clock_.wait_readable(watch_ ? watch_->descriptor() : -1, until);
    if (hint && watch_ && watch_->drain()) {
      next_look_ = clock_.now();
      pause_ = shortest_pause;
    }
  }

  [[nodiscard]] milliseconds waited() const {
    return duration_cast<milliseconds>(clock_.now() - started_);
  }
  [[nodiscard]] std::optional<milliseconds> left() const {
    if (!options_.wait) return std::nullopt;
    return std::max(*options_.wait - waited(), milliseconds(0));
  }

  Answer answer(NotAcquired::Why why) {
    return NotAcquired{
        .why = why, .placement = std::move(now_.placement), .snapshot = std::move(now_.snapshot)};
  }
  std::optional<Answer> give_up(NotAcquired::Why why) { return answer(why); }

  Ledger& ledger_;
  const Look& look_;
  Clock& clock_;
  const AcquireOptions& options_;
  Instant started_;

  Considered now_;  // the last look
  std::optional<Ticket> ticket_;
  std::vector<std::string> ahead_;  // ids, first in the queue first
  std::optional<LedgerWatch> watch_;
  bool watch_failed_ = false;
  Instant asked_;        // whether we are among the first
  bool asleep_ = false;  // too far back to look
  Instant next_look_;
  Instant last_good_look_;
  Duration pause_ = shortest_pause;
  IdleWatch idle_;

  std::map<std::string, Instant> able_since_;
  std::optional<Instant> gathering_since_;
  std::vector<DeviceId> gathered_;
  bool passed_ = false;

  NewsKey told_;
  std::optional<Instant> last_news_;
};

}  // namespace

Result<std::variant<Acquired, NotAcquired>> acquire(Ledger& ledger, const Look& look, Clock& clock,
                                                    const AcquireOptions& options) {
  return Acquisition(ledger, look, clock, options).run();
}

}  // namespace berth

#include "run/acquire.h"

#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "lease/watch.h"
#include "run/turn.h"
#include "run/waiting_news.h"

namespace berth {

namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::seconds;

using Outcome = std::variant<Acquired, NotAcquired>;

/// A run that may wait stays at the lock this long, and then goes to the end of the queue.
constexpr Duration patience_on_arrival = seconds(1);
/// A machine that could not be looked at for this long is reported instead of waited for.
constexpr Duration patience_for_looks = seconds(60);

struct Considered {
  Snapshot snapshot;
  Placement placement;
  std::size_t position = 0;  // in snapshot.waiters
};

/// May pass while a run waits: one process sits on the lock, or the ledger's disk is full.
bool may_pass(const Error& error) {
  return error.code() == ErrorCode::timeout || error.code() == ErrorCode::io;
}

class Acquisition {
 public:
  Acquisition(Ledger& ledger, const TakeSnapshot& look, Clock& clock, const AcquireOptions& options)
      : ledger_(ledger),
        look_(look),
        clock_(clock),
        options_(options),
        limits_(options.limits),
        started_(clock.now()) {
    limits_.uid = ::geteuid();
    limits_.time_limit = options.time_limit;
  }

  Result<Outcome> run() {
    if (auto known = know_policy(); !known) return std::unexpected(std::move(known).error());
    auto answer = arrive();
    if (!answer) return std::unexpected(std::move(answer).error());
    if (*answer) return *std::move(*answer);
    return wait_for_turn();
  }

 private:
  /// The rules as they are now. An error: a file that says them cannot be read as such, and nothing
  /// is claimed.
  Result<void> know_policy() {
    if (options_.policy) {
      auto policy = options_.policy();
      if (!policy) return std::unexpected(std::move(policy).error());
      ledger_.set_policy(*std::move(policy));
    }
    limits_.policy = &ledger_.policy();
    return {};
  }

  [[nodiscard]] bool is_interrupted() const {
    return options_.interrupted && options_.interrupted();
  }

  /// The first attempt: behind everybody who waits already, and the end of the queue where that
  /// gives nothing. The lock is only taken where there is something to claim.
  Result<std::optional<Outcome>> arrive() {
    auto machine = look_();
    if (!machine) return std::unexpected(std::move(machine).error());
    ledger_.sweep();
    auto view = ledger_.read_with_tickets({});
    if (!view) return std::unexpected(std::move(view).error());
    now_ = consider(*std::move(machine), *view);
    if (auto read = consider_the_queue(*view); !read) return std::unexpected(read.error());
    const bool may_wait = !options_.wait || options_.wait->count() > 0;
    if (now_.placement.satisfied()) {
      auto got = claim_under_lock(*std::move(view),
                                  may_wait ? patience_on_arrival : patience_for_the_lock);
      if (got && *got) return got;
      if (!got && (!may_wait || !may_pass(got.error()))) return got;
    }
    if (!now_.placement.possible) return give_up(NotAcquired::Why::never_possible);
    if (!may_wait) return give_up(NotAcquired::Why::none_free);
    return queue_up();
  }

  /// Tickets are read only if they can change the answer, and only as many as needed. In a long
  /// queue the first few mostly leave nothing.
  Result<void> consider_the_queue(LedgerView& view) {
    if (!now_.placement.satisfied() || !view.has_tickets) return {};
    const auto ids = ledger_.tickets_before({});
    if (!ids) return std::unexpected(ids.error());
    for (std::size_t few = lookers_at_most; now_.placement.satisfied(); few *= 8) {
      const auto end = ids->begin() + static_cast<std::ptrdiff_t>(std::min(few, ids->size()));
      auto first = ledger_.read_with_tickets({ids->begin(), end});
      if (!first) return std::unexpected(std::move(first).error());
      view = *std::move(first);
      now_ = consider(std::move(now_.snapshot), view);
      if (end == ids->end()) break;
    }
    return {};
  }

  Result<std::optional<Outcome>> queue_up() {
    const Waiter waiter = as_waiter();
    std::vector<DeviceId> devices;
    for (const Device& device : now_.snapshot.devices) devices.push_back(device.id);
    wanted_ = waiter.request;
    while (!ticket_) {
      auto ticket = ledger_.queue(waiter, devices);
      if (ticket) {
        ticket_.emplace(*std::move(ticket));
        break;
      }
      if (!may_pass(ticket.error())) return std::unexpected(std::move(ticket).error());
      say_once(ticket.error());
      if (is_interrupted()) return give_up(NotAcquired::Why::interrupted);
      if (is_out_of_time()) return give_up(NotAcquired::Why::timed_out);
      (void)clock_.wait_readable(-1, clock_.now() + beat_interval);
    }
    if (auto read = see_who_is_ahead(); !read) return std::unexpected(read.error());
    return std::optional<Outcome>();
  }

  /// Before each look that may end in a claim: who came later may stand before us.
  Result<void> see_who_is_ahead() {
    auto ids = ledger_.tickets_before(ticket_->id());
    if (!ids) return std::unexpected(std::move(ids).error());
    std::erase_if(*ids, [this](const std::string& id) { return dead_.contains(id); });
    ahead_ = *std::move(ids);
    return {};
  }

  Result<Outcome> wait_for_turn() {
    next_look_ = last_good_look_ = asked_ = still_since_ = clock_.now();
    while (true) {
      if (is_interrupted()) return answer(NotAcquired::Why::interrupted);
      if (is_out_of_time()) return answer(NotAcquired::Why::timed_out);
      ticket_->beat(clock_.now());
      auto got = take_turn_if_due();
      if (!got) return std::unexpected(std::move(got).error());
      if (*got) return *std::move(*got);
      tell_news();
      rest();
    }
  }

  Result<std::optional<Outcome>> take_turn_if_due() {
    const bool due = clock_.now() >= next_look_;
    if (asleep_ && !due) return std::optional<Outcome>();
    const std::size_t ahead_before = ahead_.size();
    const Instant asked_before = std::exchange(asked_, clock_.now());
    asleep_ = !is_among_the_first();
    if (ahead_.size() != ahead_before) {
      still_since_ = asked_;
      left_to_us_ = false;
    }
    left_to_us_ = left_to_us_ || (asleep_ && is_left_to_us());
    asleep_ = asleep_ && !left_to_us_;
    if (asleep_) {
      watch_.reset();
      next_look_ = asked_ + sleep_between_asking(ahead_.size(), ahead_before - ahead_.size(),
                                                 asked_ - asked_before);
      return std::optional<Outcome>();
    }
    begin_watching();
    if (clock_.now() < next_look_) return std::optional<Outcome>();
    auto got = take_turn();
    if (got && !*got) ticket_->beat(clock_.now());  // a look may take seconds
    return got;
  }

  /// Reads the state of the first few only, and forgets those that left. A waiter that leaves
  /// something to others counts only if it wants what we want: then it leaves us nothing.
  bool is_among_the_first() {
    std::size_t counted = 0;
    const Instant now = clock_.now();
    for (std::size_t i = 0; i < ahead_.size() && counted < lookers_at_most;) {
      const auto state = ledger_.waiter_state(ahead_[i]);
      if (!state) {
        ledger_.sweep_ticket(ahead_[i]);
        dead_.insert(ahead_[i]);  // which others may own, so that it stays
        ahead_.erase(ahead_.begin() + static_cast<std::ptrdiff_t>(i));
        next_look_ = now;
        pause_ = shortest_pause;
        continue;
      }
      const bool counts = !state->passed || wants_the_same(ahead_[i]);
      const bool is_awake = !is_stuck(*state, now) && !late_.is_passed_over(ahead_[i], now);
      if (counts && is_awake) ++counted;
      ++i;
    }
    return counted < lookers_at_most;
  }

  /// For long, nobody ahead has left, although the ledger shows free devices for us. Those ahead
  /// may be awake and never take their turn.
  bool is_left_to_us() {
    if (asked_ - still_since_ < patience_asleep(ahead_.size())) return false;
    still_since_ = asked_;
    const auto view = ledger_.read_with_tickets({});
    if (!view) return false;
    // If leases come and go, those ahead are served.
    if (std::exchange(leases_then_, view->claims) != view->claims) return false;
    const Snapshot unused = with_ledger(as_if_unused(now_.snapshot), *view, asked_, {});
    return place(unused, options_.request, limits_).satisfied();
  }

  /// What a ticket wants never changes: it is read once.
  bool wants_the_same(const std::string& ticket) {
    const auto known = same_.find(ticket);
    if (known != same_.end()) return known->second;
    const auto view = ledger_.read_with_tickets({ticket});
    const bool same = view && !view->waiters.empty() && view->waiters[0].request == wanted_ &&
                      !is_longer(view->waiters[0].time_limit, options_.time_limit);
    same_.emplace(ticket, same);
    return same;
  }

  void begin_watching() {
    if (watch_ || watch_failed_) return;
    auto watch = LedgerWatch::open(ledger_.directory());
    watch_failed_ = !watch;  // none left: polling alone will do
    if (watch) watch_.emplace(*std::move(watch));
  }

  Result<std::optional<Outcome>> take_turn() {
    auto view = ledger_.read_with_tickets(tickets_in_sight());
    if (!view) return wait_out(view.error());
    const std::vector<Claim> claims_before = now_.snapshot.claims;
    now_.snapshot = without_ended(std::move(now_.snapshot), view->claims);
    // Nothing is claimed without a look: what was seen before says only what to tell.
    bool looks = is_worth_a_look(*view);
    if (!looks) {
      now_ = consider(std::move(now_.snapshot), *view);
      looks = now_.placement.satisfied();
    }
    if (looks) {
      auto machine = look_();
      if (!machine) {
        next_look_ = clock_.now() + longest_pause;
        if (clock_.now() - last_good_look_ < patience_for_looks) return std::optional<Outcome>();
        return std::unexpected(
            std::move(machine).error().because(sentence("looking for free devices")));
      }
      last_good_look_ = clock_.now();
      now_.snapshot = *std::move(machine);
      // Until the file is mended nothing is claimed, and no place is lost.
      if (auto known = know_policy(); !known) {
        return wait_out({ErrorCode::io, known.error().said()});
      }
      if (auto read = see_who_is_ahead(); !read) return wait_out(read.error());
      view = ledger_.read_with_tickets(tickets_in_sight());
      if (!view) return wait_out(view.error());
      now_ = consider(std::move(now_.snapshot), *view);
    }
    idle_.note(now_.placement, clock_.now());
    if (now_.placement.satisfied()) {
      auto got = claim_in_turn(*std::move(view));
      if (!got || *got) return got;
    }
    if (!now_.placement.possible) return give_up(NotAcquired::Why::never_possible);
    show_others();
    plan_next_look(claims_before != now_.snapshot.claims);
    return std::optional<Outcome>();
  }

  /// Whether the ledger leaves us anything at all. Four waiters watch a busy queue. If each looked
  /// at the machine on every event, that would be most of the queue's cost.
  bool is_worth_a_look(const LedgerView& view) {
    if (clock_.now() - last_good_look_ >= longest_pause || options_.request.idle_for) return true;
    const Snapshot unused =
        with_ledger(as_if_unused(now_.snapshot), view, clock_.now(), ticket_->id());
    const std::size_t position = position_of(ticket_->id(), unused);
    return place_behind(unused, position, options_.request, limits_).satisfied();
  }

  Result<std::optional<Outcome>> claim_in_turn(LedgerView view) {
    auto got = claim_under_lock(std::move(view), patience_for_the_lock);
    if (got) return got;
    return wait_out(got.error());
  }

  /// What may pass is told, and waited for as well: the place in the queue is kept.
  Result<std::optional<Outcome>> wait_out(const Error& error) {
    if (!may_pass(error)) return std::unexpected(error);
    if (!is_interrupted() && !is_out_of_time()) say_once(error);
    // Not sooner: each attempt is seen by all who watch the ledger, ourselves included.
    if (error.code() == ErrorCode::io) next_look_ = retry_at_ = clock_.now() + beat_interval;
    return std::optional<Outcome>();
  }

  void say_once(const Error& what) {
    hindered_by_ = what.said();
    if (options_.say && said_.insert(what.code()).second) options_.say(what.said());
  }

  /// The claims may have changed since: they are read again, nothing else is.
  Result<std::optional<Outcome>> claim_under_lock(LedgerView view, Duration patience) {
    const auto lock = ledger_.lock(patience, [this] {
      if (ticket_) ticket_->beat(clock_.now());
      return is_interrupted() || (ticket_ && is_out_of_time());
    });
    if (!lock && is_interrupted()) return give_up(NotAcquired::Why::interrupted);
    if (!lock) return std::unexpected(lock.error());
    auto leases = ledger_.read_with_tickets({});
    if (!leases) return std::unexpected(std::move(leases).error());
    if (leases->claims != view.claims) {
      view.claims = std::move(leases->claims);
      now_ = consider(std::move(now_.snapshot), view);
    }
    if (!now_.placement.satisfied()) return std::optional<Outcome>();
    return claim(*lock);
  }

  Considered consider(Snapshot machine, const LedgerView& view) {
    const std::string own = ticket_ ? ticket_->id() : std::string();
    PlaceLimits limits = limits_;
    const auto watched = idle_.watched(clock_.now());
    limits.watched_idle.insert(limits.watched_idle.end(), watched.begin(), watched.end());
    Considered now;
    now.snapshot = with_ledger(std::move(machine), view, clock_.now(), own);
    now.position = position_of(own, now.snapshot);
    now.placement = ticket_ ? place_behind(now.snapshot, now.position, options_.request, limits)
                            : place_newcomer(now.snapshot, options_.request, limits);
    if (!ticket_ || now.placement.satisfied() || !is_held_back(now.placement)) {
      late_.nobody_is_able();
      return now;
    }
    const std::vector<std::string> late =
        late_.note(now.snapshot, own, clock_.now(), limits.policy);
    if (late.empty()) return now;
    std::erase_if(now.snapshot.waiters, [&late](const Waiter& waiter) {
      return std::find(late.begin(), late.end(), waiter.id) != late.end();
    });
    now.position = position_of(own, now.snapshot);
    now.placement = place_behind(now.snapshot, now.position, options_.request, limits);
    return now;
  }

  /// Under the host lock: the lease appears and the ticket goes before anybody else may choose.
  Result<std::optional<Outcome>> claim(const HostLock& lock) {
    Claim claim = options_.claim;
    claim.devices = taken_by(now_.placement);
    auto lease = ledger_.claim(lock, std::move(claim), options_.time_limit);
    if (!lease) return std::unexpected(std::move(lease).error());
    if (ticket_) ticket_->leave();
    return std::optional<Outcome>(Acquired{.lease = *std::move(lease),
                                           .placement = std::move(now_.placement),
                                           .snapshot = std::move(now_.snapshot),
                                           .waited = waited()});
  }

  [[nodiscard]] Waiter as_waiter() const {
    return {.run = options_.claim.run,
            .command = options_.claim.command,
            .wants = as_typed(options_.request),
            .request = to_json(as_others_see(options_.request, limits_, now_.snapshot)),
            .priority = options_.priority,
            .time_limit = options_.time_limit};
  }

  /// Everybody before us and ourselves: those behind do not matter.
  [[nodiscard]] std::vector<std::string> tickets_in_sight() const {
    std::vector<std::string> ids = ahead_;
    ids.push_back(ticket_->id());
    return ids;
  }

  void show_others() {
    const bool head = !is_held_by_policy(now_.placement) &&
                      is_head(now_.snapshot, now_.position, *limits_.policy);
    const Instant now = clock_.now();
    if (!head) gathering_since_.reset();
    if (head && !gathering_since_) gathering_since_ = now;
    gathered_.clear();
    if (head) {
      const auto gathers =
          to_gather(now_.snapshot, now_.placement, options_.request, now - *gathering_since_);
      gathered_ = gathers.devices;
      if (!gathered_.empty()) ticket_->set_gathers_until(now + gathers.remaining);
    }
    ticket_->set_gathered(gathered_);
    if (now_.position < now_.snapshot.waiters.size()) {
      now_.snapshot.waiters[now_.position].gathered = gathered_;
    }
    ticket_->set_passed(leaves_something(now_.snapshot, now_.position, limits_.policy));
  }

  void plan_next_look(bool something_changed) {
    pause_ = something_changed ? shortest_pause : std::min<Duration>(pause_ * 2, longest_pause);
    Duration pause = pause_;
    if (idle_.is_watching()) pause = std::min<Duration>(pause, milliseconds(500));
    next_look_ = clock_.now() + pause;
    if (retry_at_ > clock_.now()) next_look_ = retry_at_;
    if (const auto late = late_.next_late()) {
      next_look_ = std::min(next_look_, std::max(*late, clock_.now() + shortest_pause));
    }
  }

  void tell_news() {
    news_.tell(options_, clock_.now(),
               {.position = static_cast<int>(ahead_.size()) + 1,
                .devices = options_.request.devices,
                .waited = waited(),
                .gives_up_in = left()},
               now_.placement, now_.snapshot);
  }

  void rest() {
    const Instant now = clock_.now();
    Instant until = std::min(next_look_, now + beat_interval);
    if (const auto rest_of_wait = left()) until = std::min<Instant>(until, now + *rest_of_wait);
    if (until <= now) return;
    const bool hint = clock_.wait_readable(watch_ ? watch_->descriptor() : -1, until);
    if (hint && watch_ && watch_->drain()) {
      next_look_ = std::max(clock_.now(), retry_at_);
      pause_ = shortest_pause;
    }
  }

  [[nodiscard]] bool is_out_of_time() const { return left() && left()->count() <= 0; }
  [[nodiscard]] milliseconds waited() const {
    return duration_cast<milliseconds>(clock_.now() - started_);
  }
  [[nodiscard]] std::optional<milliseconds> left() const {
    if (!options_.wait) return std::nullopt;
    return std::max(*options_.wait - waited(), milliseconds(0));
  }

  Outcome answer(NotAcquired::Why why) {
    return NotAcquired{.why = why,
                       .placement = std::move(now_.placement),
                       .snapshot = std::move(now_.snapshot),
                       .waited = waited(),
                       .hindered_by = hindered_by_};
  }
  std::optional<Outcome> give_up(NotAcquired::Why why) { return answer(why); }

  Ledger& ledger_;
  const TakeSnapshot& look_;
  Clock& clock_;
  const AcquireOptions& options_;
  PlaceLimits limits_;
  Instant started_;
  Considered now_;                       // the last look
  std::optional<Sentence> hindered_by_;  // what was said of it last
  std::optional<Ticket> ticket_;
  std::string wanted_;              // as the ticket says it
  std::vector<std::string> ahead_;  // ids, first in the queue first
  std::set<std::string> dead_;      // ids
  std::map<std::string, bool> same_;
  std::optional<LedgerWatch> watch_;
  bool watch_failed_ = false;
  Instant asked_;        // whether we are among the first
  bool asleep_ = false;  // too far back to look
  Instant next_look_;
  Instant last_good_look_;
  Duration pause_ = shortest_pause;
  IdleWatch idle_;
  LateStarters late_;
  Instant still_since_;  // nobody ahead has left, while we were asleep
  std::vector<Claim> leases_then_;
  bool left_to_us_ = false;  // until somebody ahead leaves
  std::optional<Instant> gathering_since_;
  std::vector<DeviceId> gathered_;
  std::set<ErrorCode> said_;
  Instant retry_at_;  // where the ledger could not be written
  NewsTeller news_;
};

}  // namespace

Result<std::variant<Acquired, NotAcquired>> acquire(Ledger& ledger, const TakeSnapshot& look,
                                                    Clock& clock, const AcquireOptions& options) {
  return Acquisition(ledger, look, clock, options).run();
}

}  // namespace berth

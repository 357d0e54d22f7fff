#include "serve/alert_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace berth::serve {

namespace {

/// Nothing new for so long: the file is written all the same, for the times in it.
constexpr std::chrono::seconds save_interval{60};
/// Without a look for so long, what was seen last is not what is.
constexpr std::chrono::seconds look_is_old{5};

}  // namespace

AlertWatch::AlertWatch(Loop& loop, Clock& clock, std::optional<std::string> simulated,
                       const CommandPlace& commands, Told told)
    : clock_(clock),
      simulated_(std::move(simulated)),
      told_(std::move(told)),
      tracker_(simulated_),
      sender_(loop, clock, commands) {}

AlertStore::Opened AlertWatch::open(const std::string& state_directory) {
  store_ = std::make_unique<AlertStore>(state_directory, simulated_);
  AlertStore::Opened opened = store_->open(clock_);
  AlertState state = std::exchange(opened.state, {});
  const Moment now = clock_.moment();
  restored_ = std::move(state.undelivered);
  tracker_.restore(std::move(state.active), std::move(state.ended), now);
  environment_.restore(std::move(state.facts), std::move(state.changes));
  store_->look_around();
  return opened;
}

void AlertWatch::configure(const AlertPlan& plan, Duration around) {
  look_around_interval_ = around;
  rules_ = plan.rules;
  sender_.forget_certificates();
  for (const DeliveryQueue::Dropped& one : post_.set_receivers(plan.receivers, clock_.now())) {
    told_.dropped(one);
  }
}

void AlertWatch::put_restored(Instant now) {
  const std::vector<Alert> active = tracker_.active();
  std::map<std::string, std::size_t> nobodys;
  for (const Undelivered& one : std::exchange(restored_, {})) {
    const auto of_id = [&](const Alert& alert) { return alert.id == one.alert; };
    const auto going_on = std::ranges::find_if(active, of_id);
    const auto ended = std::ranges::find_if(tracker_.ended(), of_id);
    const bool is_active = going_on != active.end();
    if (!is_active && ended == tracker_.ended().end()) continue;
    const AlertChange change{one.what, is_active ? *going_on : *ended};
    const auto message = message_of(change, host_);
    if (message && !post_.put_for(one.receiver, *message, now)) ++nobodys[one.receiver];
  }
  for (const auto& [receiver, messages] : nobodys) told_.dropped({receiver, messages});
}

void AlertWatch::evaluate(const Snapshot& snapshot, Freshness freshness,
                          std::optional<WallTime> unanswered_since) {
  const Moment now = clock_.moment();
  const AlertStore::Around around = store_ ? store_->around() : AlertStore::Around{};
  if (freshness == Freshness::new_look) {
    environment_.see(environment_of(snapshot, around.toolkit), now,
                     rules_.of(AlertRule::environment_changed).lasting);
  }
  const AlertLook look{.snapshot = snapshot,
                       .now = now.wall,
                       .is_fresh = freshness == Freshness::new_look,
                       .unanswered_since = unanswered_since,
                       .disks = around.disks,
                       .changes = environment_.changes(),
                       .cards = environment_.cards()};
  for (const AlertChange& change : tracker_.see(matches(look, rules_), rules_, now)) {
    told_.announce(change.alert);
    if (const auto message = message_of(change, host_)) post_.put(*message, now.steady);
    wants_save_ = true;
  }
  if (tracker_.left_out() != std::exchange(left_out_, tracker_.left_out())) {
    told_.note("alerts", fmt::format("there are more than {} alerts: the rest is not kept",
                                     AlertTracker::most_active));
  }
}

void AlertWatch::seen(const Snapshot& snapshot, std::optional<WallTime> unanswered_since) {
  last_look_ = clock_.now();
  host_ = snapshot.host.name.get().value_or("an unnamed host");
  if (!restored_.empty()) put_restored(last_look_);
  evaluate(snapshot, Freshness::new_look, unanswered_since);
  deliver();
  save_if_due();
}

void AlertWatch::pulse(const Snapshot* newest, std::optional<WallTime> unanswered_since) {
  const Instant now = clock_.now();
  if (store_ && now >= next_look_around_) {
    next_look_around_ = now + look_around_interval_;
    store_->look_around();
  }
  if (newest != nullptr && unanswered_since && now - last_look_ > look_is_old) {
    evaluate(*newest, Freshness::old_look, unanswered_since);
  }
  deliver();
  save_if_due();
}

void AlertWatch::deliver() {
  const Instant now = clock_.now();
  for (const DeliveryQueue::Delivery& delivery : post_.due(now)) {
    const AlertReceiver* receiver = post_.find(delivery.receiver);
    if (receiver == nullptr) continue;
    sender_.send(
        *receiver, delivery.message,
        [this, name = delivery.receiver, number = delivery.number](const Result<void>& how) {
          const auto note = post_.done(number, how, clock_.moment());
          // Both are to be read, however soon the second follows.
          if (note) told_.note((how ? "alerts again to " : "alerts to ") + name, *note);
          deliver();
          save_if_due();
        });
  }
}

void AlertWatch::save_if_due() {
  const Instant now = clock_.now();
  const std::uint64_t change = post_.change() + environment_.change();
  wants_save_ = wants_save_ || change != saved_change_ || now >= next_save_;
  // Before the first look the file knows all that we know. It may also have messages that are not
  // in the queues yet.
  if (!store_ || !wants_save_ || last_look_ == Instant{}) return;
  AlertState state{.active = tracker_.active(),
                   .ended = {tracker_.ended().begin(), tracker_.ended().end()},
                   .facts = environment_.facts(),
                   .changes = environment_.changes(),
                   .undelivered = post_.undelivered()};
  if (!store_->save(to_json(state))) return;
  saved_change_ = change;
  next_save_ = now + save_interval;
  wants_save_ = false;
  if (const auto trouble = store_->take_trouble()) {
    told_.note("alerts on disk", "alerts are not kept over a restart: " + *trouble);
  }
}

std::shared_ptr<const AlertBoard> AlertWatch::board() const {
  return std::make_shared<const AlertBoard>(
      AlertBoard{.active = tracker_.active(),
                 .ended = {tracker_.ended().begin(), tracker_.ended().end()},
                 .deliveries = post_.figures()});
}

}  // namespace berth::serve

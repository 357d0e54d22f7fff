#include "run/container/watch_plan.h"

#include <algorithm>
#include <utility>

namespace berth {

namespace {
using std::chrono::milliseconds;
using std::chrono::seconds;

/// An image may have to be pulled first: somebody looks once a second then.
constexpr Duration longest_id_pause = seconds(1);
constexpr Duration first_look_pause = milliseconds(200);
/// For a container whose process is not followed, or whose engine does not answer.
constexpr Duration longest_look_pause = seconds(30);
/// How long a container may take to start after its client has gone. Also how long an engine may
/// take to notice the end of a process.
constexpr Duration patience_with_engine = seconds(10);
/// How long after its client was ended an engine may still come to make the container.
constexpr Duration patience_with_making = seconds(1);
}  // namespace

WatchPlan::WatchPlan(Instant started) : id_at_(started + id_pause_) {}

std::optional<Instant> WatchPlan::next_deadline() const {
  std::optional<Instant> earliest;
  if (over_) return earliest;
  take_earlier(earliest, id_at_);
  take_earlier(earliest, look_at_);
  take_earlier(earliest, code_until_);
  return earliest;
}

std::vector<WatchAction> WatchPlan::step(const WatchEvent& event, Instant now) {
  Actions actions;
  if (over_) return actions;
  if (const auto* made = std::get_if<ContainerMade>(&event)) {
    on_made(*made, now, actions);
  } else if (const auto* inspected = std::get_if<ContainerInspected>(&event)) {
    on_inspected(*inspected, now, actions);
  } else if (const auto* followed = std::get_if<ProcessFollowed>(&event)) {
    if (followed->is_followed) {
      followed_ = seen_ ? seen_->process : 0;
      process_gone_ = false;
      look_at_.reset();
    }
    actions.push_back(RecordContainer{});
  } else if (std::holds_alternative<ProcessGone>(event)) {
    process_gone_ = true;
    given_up_at_ = now + patience_with_engine;
    look(actions);
  } else if (const auto* waited = std::get_if<WaitEnded>(&event)) {
    is_waited_for_ = false;
    if (waited->code) code_ = waited->code;
    if (container_ended_) {
      actions.push_back(RecordContainer{});
      return finish(actions), actions;
    }
    if (!waited->code) return look_later(now), actions;  // it may fail at once, repeatedly
    look(actions);
  } else if (const auto* ended = std::get_if<ClientEnded>(&event)) {
    given_up_at_ = now + patience_with_engine;
    on_client_ended(*ended, now, actions);
  } else if (const auto* wanted = std::get_if<EndWanted>(&event)) {
    end_wanted_ = wanted->grace;
    if (may_live()) actions.push_back(StopContainer{wanted->grace});
  } else if (std::holds_alternative<KillWanted>(event)) {
    if (may_live()) actions.push_back(KillContainer{});
  } else if (std::holds_alternative<WatchTimePassed>(event)) {
    on_time(now, actions);
  }
  return actions;
}

void WatchPlan::on_made(const ContainerMade& event, Instant now, Actions& actions) {
  if (!id_.empty() || container_ended_) return;
  if (event.id.empty()) {
    if (!find_until_ || now >= *find_until_) return end_container(now, actions);
    id_at_ = now + first_look_pause;
    return;
  }
  id_ = event.id;
  id_at_.reset();
  actions.push_back(RecordContainer{});
  look(actions);
}

void WatchPlan::look(Actions& actions) {
  if (id_.empty() || container_ended_) return;
  look_at_.reset();
  if (is_looking_) {
    looks_again_ = true;
    return;
  }
  is_looking_ = true;
  actions.push_back(InspectContainer{});
}

void WatchPlan::look_later(Instant now) {
  look_pause_ = std::clamp(look_pause_ * 2, first_look_pause, longest_look_pause);
  look_at_ = now + look_pause_;
}

void WatchPlan::on_inspected(const ContainerInspected& event, Instant now, Actions& actions) {
  is_looking_ = false;
  if (container_ended_) return;
  if (std::exchange(looks_again_, false)) return look(actions);
  using How = ContainerInspected::How;
  const bool is_given_up = given_up_at_ && now >= *given_up_at_;
  if (event.how == How::no_answer) {
    // Its process has ended, and nobody is there to say how.
    if (process_gone_ && is_given_up) return end_container(now, actions);
    // It is seen to live, whatever its engine does.
    const bool lives = followed_ != 0 && !process_gone_;
    if (client_ && lives && !std::exchange(told_, true)) actions.push_back(TellRunsOn{*client_});
    return look_later(now);
  }
  // A removed container has ended. But if its process still lives, the engine was restarted without
  // it, or another engine answers.
  const bool is_removed = event.how == How::gone;
  if (is_removed && followed_ != 0 && !process_gone_) return look_later(now);
  // nerdctl tells the id before it makes the container.
  if (is_removed && !seen_ && !client_) return look_later(now);
  if (is_removed) return end_container(now, actions);
  const bool is_new = !seen_ || *seen_ != event.seen;
  seen_ = event.seen;
  if (is_new) actions.push_back(RecordContainer{});
  if (seen_->is_running) return on_running(now, actions);
  if (seen_->has_started) {
    if (seen_->exit_code.get()) code_ = *seen_->exit_code.get();
    return end_container(now, actions);
  }
  // Made and not started: its client does that next, could not, or was ended before it could.
  is_unstarted_ = client_.has_value();
  if (client_ && (is_given_up || !is_client_cut_short())) return end_container(now, actions);
  if (client_) actions.push_back(RemoveContainer{});
  look_later(now);
}

void WatchPlan::on_running(Instant now, Actions& actions) {
  is_unstarted_ = false;
  // Stopped before it had begun: the client was asked for that, too.
  if (end_wanted_ && !container_ended_ && !process_gone_ && followed_ == 0) {
    actions.push_back(StopContainer{*end_wanted_});
  }
  if (client_ && !std::exchange(told_, true)) actions.push_back(TellRunsOn{*client_});
  if (client_ && !std::exchange(is_waited_for_, true)) actions.push_back(WaitForContainer{});
  const bool is_same = followed_ != 0 && followed_ == seen_->process;
  if (process_gone_ && is_same) {
    // The engine has yet to notice, or does not.
    if (given_up_at_ && now >= *given_up_at_) return end_container(now, actions);
    return look_later(now);
  }
  // Started, or started again by hand: then it is another process.
  if (!is_same) {
    look_pause_ = Duration{};
    look_later(now);
    if (seen_->process > 0) actions.push_back(FollowProcess{seen_->process});
    return;
  }
  look_at_.reset();
}

void WatchPlan::on_client_ended(const ClientEnded& event, Instant now, Actions& actions) {
  client_ = event.exit;
  if (container_ended_) return finish(actions);
  // What it has not written by now it never will.
  if (id_.empty()) {
    id_at_ = now;
    actions.push_back(ReadContainerId{});
    return;
  }
  look(actions);
}

/// It may have left a container that it made and did not start. podman's ends with 0 then; one
/// that could not make or start it says so by 125 to 127.
bool WatchPlan::is_client_cut_short() const {
  return client_->signal != 0 || client_->code == 0 || client_->code > 128 || end_wanted_;
}

void WatchPlan::on_time(Instant now, Actions& actions) {
  if (code_until_ && now >= *code_until_) return finish(actions);
  if (id_at_ && now >= *id_at_) {
    // That was looked for after the client's end.
    if (client_ && !is_client_cut_short()) return end_container(now, actions);
    if (client_) {
      if (!find_until_) find_until_ = now + patience_with_making;
      id_at_.reset();
      actions.push_back(FindContainer{});
      return;
    }
    id_pause_ = std::min(id_pause_ + id_pause_ / 2, longest_id_pause);
    id_at_ = now + id_pause_;
    actions.push_back(ReadContainerId{});
  }
  if (look_at_ && now >= *look_at_) look(actions);
}

void WatchPlan::end_container(Instant now, Actions& actions) {
  container_ended_ = true;
  look_at_.reset();
  id_at_.reset();
  if (!id_.empty()) actions.push_back(RecordContainer{});
  // If the container removes itself at its end, only `wait` tells the code, a moment later.
  if (client_ && is_waited_for_ && !code_) {
    code_until_ = now + patience_with_engine;
  } else if (client_) {
    finish(actions);
  }
}

/// The container's own code where it is known. Else the client's code: a client that was there
/// passes the container's on.
void WatchPlan::finish(Actions& actions) {
  over_ = true;
  // podman's client says 0 where it was ended before anything ran.
  const bool says_well = client_ == Exit{};
  const bool is_client_wrong = says_well && (id_.empty() || is_unstarted_);
  if (code_ && !id_.empty()) {
    actions.push_back(RunOver{Exit{.code = *code_}});
  } else if (!told_ && !is_client_wrong) {
    actions.push_back(RunOver{client_});
  } else {
    actions.push_back(RunOver{std::nullopt});
  }
}

}  // namespace berth

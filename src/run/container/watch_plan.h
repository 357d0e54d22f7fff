#pragma once
// How the keeper follows the container of its run: a pure state machine, like run/keeper_plan.h.
// The run lasts as long as its container, even if the client that started it ends.

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/process.h"
#include "run/container/engine.h"

namespace berth {

// --- what happened ---------------------------------------------------------------------------
/// The engine has written the container's id, or told it. Empty: it has none of this run's.
struct ContainerMade {
  std::string id;
};
/// What `inspect` came to. No container: the engine knows none of that id (any more).
struct ContainerInspected {
  enum class How { found, gone, no_answer } how = How::found;
  InspectedContainer seen;
};
/// Its first process is followed, or cannot be: it is not seen here, or not told from others.
struct ProcessFollowed {
  bool is_followed = false;
};
struct ProcessGone {};
/// `wait` has ended: with the container's exit code, or without.
struct WaitEnded {
  std::optional<int> code;
};
struct ClientEnded {
  Exit exit;
};
/// The run is to end: stop it within `grace`. Again: end it now.
struct EndWanted {
  Duration grace{};
};
struct KillWanted {};
struct WatchTimePassed {};
using WatchEvent = std::variant<ContainerMade, ContainerInspected, ProcessFollowed, ProcessGone,
                                WaitEnded, ClientEnded, EndWanted, KillWanted, WatchTimePassed>;

// --- what to do ------------------------------------------------------------------------------
struct ReadContainerId {};
/// By its label: a client that was ended may not have come to write the id. Tells ContainerMade.
struct FindContainer {};
struct InspectContainer {};
/// Only if this is the container's (cgroup, start): else ProcessFollowed says no.
struct FollowProcess {
  pid_t pid = 0;
};
struct WaitForContainer {};
struct StopContainer {
  Duration grace{};
};
struct KillContainer {};
/// One that was made and never started, and whose client has gone. One that runs stays.
struct RemoveContainer {};
/// What is known of it has changed.
struct RecordContainer {};
/// The client has ended and the container lives on: the launcher, which waits for it, is let go.
struct TellRunsOn {
  Exit exit;
};
/// Client and container have ended. Nothing: how the container ended nobody can tell.
struct RunOver {
  std::optional<Exit> exit;
};
using WatchAction = std::variant<ReadContainerId, FindContainer, InspectContainer, FollowProcess,
                                 WaitForContainer, StopContainer, KillContainer, RemoveContainer,
                                 RecordContainer, TellRunsOn, RunOver>;

class WatchPlan {
 public:
  explicit WatchPlan(Instant started);
  [[nodiscard]] std::vector<WatchAction> step(const WatchEvent& event, Instant now);
  [[nodiscard]] std::optional<Instant> next_deadline() const;
  /// Whether there is a container that has not ended, as far as is known.
  [[nodiscard]] bool may_live() const { return !over_ && !id_.empty() && !container_ended_; }
  [[nodiscard]] bool is_over() const { return over_; }
  [[nodiscard]] const std::optional<InspectedContainer>& seen() const { return seen_; }
  [[nodiscard]] const std::string& id() const { return id_; }
  /// The container was seen to end, and by which code.
  [[nodiscard]] bool has_ended() const { return container_ended_; }
  [[nodiscard]] const std::optional<int>& code() const { return code_; }

 private:
  using Actions = std::vector<WatchAction>;
  void on_inspected(const ContainerInspected& event, Instant now, Actions& actions);
  void on_running(Instant now, Actions& actions);
  void on_made(const ContainerMade& event, Instant now, Actions& actions);
  void on_client_ended(const ClientEnded& event, Instant now, Actions& actions);
  [[nodiscard]] bool is_client_cut_short() const;
  void on_time(Instant now, Actions& actions);
  void look(Actions& actions);
  void look_later(Instant now);
  void end_container(Instant now, Actions& actions);
  void finish(Actions& actions);

  std::string id_;
  std::optional<InspectedContainer> seen_;
  std::optional<Exit> client_;
  std::optional<int> code_;
  bool container_ended_ = false;
  bool is_unstarted_ = false;  // as its client left it
  bool over_ = false;
  bool told_ = false;
  bool is_looking_ = false;
  bool looks_again_ = false;  // something happened while it looked
  bool is_waited_for_ = false;
  pid_t followed_ = 0;
  bool process_gone_ = false;
  std::optional<Duration> end_wanted_;
  Duration id_pause_{std::chrono::milliseconds(50)};
  std::optional<Instant> id_at_;       // begins with the pause, which stands above for that
  std::optional<Instant> find_until_;  // by its label, again
  std::optional<Instant> code_until_;  // it has ended; how, `wait` has yet to tell
  std::optional<Instant> look_at_;
  Duration look_pause_{};
  std::optional<Instant> given_up_at_;  // what does not begin, or is not noticed to end
};

}  // namespace berth

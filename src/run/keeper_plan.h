#pragma once
// What the keeper does next: a pure state machine. The keeper's shell (keeper.cc) tells it each
// event and performs its answer. A test does the same with a FakeClock.

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/note.h"
#include "base/process.h"
#include "base/sentence.h"
#include "place/job_spec.h"
#include "run/faults.h"

namespace berth {

struct KeeperTerms {
  JobSpec job;
  bool has_lease = true;
  Duration stop_grace{};
};

// --- what happened ---------------------------------------------------------------------------
struct JobStopped {
  int signal = 0;
};
struct JobContinued {};
struct JobEnded {
  Exit exit;
};
struct SamplerEnded {};
struct SamplerNotStarted {
  Sentence why;
};
/// The result of a look at the tree. `with_device` counts those that have a GPU device file open,
/// or may have: it could not be read.
struct TreeSurveyed {
  std::size_t survivors = 0;
  std::size_t with_device = 0;
};
/// A device of the run has gone wrong.
struct DeviceFaulted {
  FaultNews news;
};
/// The run has more of a device's memory than its share; that has been told.
struct OverCap {};
/// Somebody wants the run to end, where to end its processes would not do that.
struct StopRequested {
  Duration grace{};
};
struct TimePassed {};
using KeeperEvent =
    std::variant<JobStopped, JobContinued, JobEnded, SamplerEnded, SamplerNotStarted, TreeSurveyed,
                 DeviceFaulted, OverCap, StopRequested, TimePassed>;

// --- what to do ------------------------------------------------------------------------------
struct TellStopped {
  int signal = 0;
};
struct ContinueLauncher {};
struct SurveyTree {};
struct StartSampler {};
/// To the main process only.
struct SignalJob {
  int signal = 0;
};
/// To every process of the tree.
struct SignalTree {
  int signal = 0;
};
/// The main process's end goes into the record and to the launcher.
struct TellEnd {
  Exit exit;
  std::string because;
};
struct TellFault {
  FaultNews news;
};
struct TellUser {
  Sentence text;
};
struct ReleaseLease {};
/// Nothing is left to keep.
struct Finish {};
using KeeperAction =
    std::variant<TellStopped, ContinueLauncher, SurveyTree, StartSampler, SignalJob, SignalTree,
                 Note, TellEnd, TellFault, TellUser, ReleaseLease, Finish>;

/// What the record says when the date moved differently from the steady clock. `is`: the date now;
/// `expected`: by the record's own time. Nothing: it did not, apart from a time server's
/// corrections.
[[nodiscard]] std::optional<Note> date_change(WallTime is, WallTime expected);

class KeeperPlan {
 public:
  KeeperPlan(KeeperTerms terms, Instant started);

  [[nodiscard]] std::vector<KeeperAction> step(const KeeperEvent& event, Instant now);
  /// Its lease says so: `berth extend` has moved its end. An end that has begun is not taken back.
  void know_time_limit(std::optional<std::chrono::milliseconds> limit);
  /// Goes on after a killed keeper that had begun to end the job, or had warned it. `because`: one
  /// of end_cause; empty: it had done neither.
  void go_on_after(std::string_view because, Instant now);
  /// Why the job is being ended, or that it was warned; empty: neither.
  [[nodiscard]] const std::string& because() const { return because_; }
  /// How long the job is left between TERM and KILL.
  [[nodiscard]] Duration grace() const { return terms_.stop_grace; }
  /// When TimePassed is due; nothing: no sooner than something happens.
  [[nodiscard]] std::optional<Instant> next_deadline() const;

 private:
  using Actions = std::vector<KeeperAction>;
  void on_fault(const FaultNews& news, Instant now, Actions& actions);
  void act_on_fault(Instant now, Actions& actions);
  /// TERM now, KILL later; nothing where it is being ended already. `said` becomes an event of that
  /// kind.
  void end_tree(std::string_view because, Note said, Instant now, Actions& actions);
  void on_over_cap(Instant now, Actions& actions);
  void on_survey(const TreeSurveyed& survey, Instant now, Actions& actions);
  void on_time(Instant now, Actions& actions);
  void plan_next_sampler(Instant now);
  void plan_end();

  Instant started_;
  KeeperTerms terms_;
  std::optional<Exit> ended_;
  bool told_ = false;
  bool finished_ = false;
  std::string because_;
  std::optional<Instant> warn_at_;
  std::optional<Instant> term_at_;
  std::optional<Instant> kill_at_;
  std::optional<Instant> survey_at_;
  std::optional<Instant> sampler_at_;
  bool sampler_failed_ = false;  // and that was noted
  Duration sampler_pause_{std::chrono::seconds(1)};
  /// Since when no survivor has had a device file open.
  std::optional<Instant> quiet_since_;
  /// By device and code. A sampler that was started again tells of the same faults.
  std::set<std::pair<std::size_t, std::string>> faults_;
};

}  // namespace berth

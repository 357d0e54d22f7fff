#pragma once
// The keeper's side of its run's container: does what the plan (run/container/watch_plan.h)
// answers. Each question to the engine goes through the engine's own program, in a child. So an
// engine that does not answer holds nothing up.

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/process.h"
#include "record/run_container.h"
#include "run/container/watch_plan.h"

namespace berth {

/// A command to the engine, in a child of the keeper's session.
class EngineCall {
 public:
  [[nodiscard]] bool is_under_way() const { return pid_ != 0; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] int descriptor() const { return out_.get(); }
  [[nodiscard]] std::optional<Instant> deadline() const { return deadline_; }
  [[nodiscard]] Result<void> start(const std::vector<std::string>& command,
                                   const std::vector<std::string>& environment,
                                   std::optional<Instant> deadline);
  void hear();
  /// Kills it; its end is told as any.
  void end();
  struct Answer {
    bool is_good = false;
    std::string out;
    std::string err;
  };
  [[nodiscard]] Answer take(const Exit& exit);

 private:
  pid_t pid_ = 0;
  Fd out_;
  Fd err_;
  std::string text_;
  std::optional<Instant> deadline_;
};

class ContainerWatch {
 public:
  struct Terms {
    RunContainer container;
    std::string run;                       // which its label must name
    std::vector<std::string> environment;  // the client's
    std::string directory;                 // of the record
    std::string working_directory;         // of the client: an own --cidfile may be relative
    pid_t keeper = 0;
    std::string proc = "/proc";
    std::string sys = "/sys";
  };
  struct Told {
    std::function<void(const Exit&)> runs_on;
    /// Nothing: how it ended nobody can tell.
    std::function<void(const std::optional<Exit>&)> over;
    /// It is followed by its process.
    std::function<void()> followed;
    std::function<void(const Note& note)> note;
  };
  ContainerWatch(Terms terms, Told told, Clock& clock);

  [[nodiscard]] const RunContainer& container() const { return container_; }
  [[nodiscard]] bool may_live() const { return plan_.may_live(); }
  [[nodiscard]] std::vector<int> descriptors() const;
  [[nodiscard]] std::optional<Instant> next_deadline() const;
  /// In the order of descriptors().
  void hear(const std::vector<bool>& readable);
  void pass_time();
  /// A child of the keeper has ended; false: it was none of these.
  [[nodiscard]] bool takes_end_of(pid_t child, const Exit& exit);
  void client_ended(const Exit& exit);
  void end_within(Duration grace);
  void end_now();
  /// To its first process.
  void signal(int number);

 private:
  void step(const WatchEvent& event);
  void perform(const ReadContainerId&);
  void perform(const FindContainer&);
  void perform(const InspectContainer&);
  void perform(const FollowProcess& order);
  void perform(const WaitForContainer&);
  void perform(const StopContainer& order);
  void perform(const KillContainer&);
  void perform(const RemoveContainer&);
  void perform(const RecordContainer&);
  void perform(const TellRunsOn& order);
  void perform(const RunOver& order);
  [[nodiscard]] std::optional<ProcessId> checked(pid_t pid, Fd& pidfd) const;
  void start(EngineCall& call, std::vector<std::string> words, std::optional<Duration> patience);
  void on_inspected(const EngineCall::Answer& answer);
  void on_found(const EngineCall::Answer& answer);
  void on_waited(const EngineCall::Answer& answer);
  void ask_for_image();
  void on_image(const EngineCall::Answer& answer);
  void tell_over(const RunOver& order);
  void take_memory_kills();

  Terms terms_;
  RunContainer container_;
  Told told_;
  Clock& clock_;
  WatchPlan plan_;
  EngineCall inspect_;
  bool finds_ = false;  // `inspect_` looks for its id
  EngineCall wait_;
  bool reads_events_ = false;  // `wait_` asks afterwards
  EngineCall image_;
  std::optional<RunOver> over_;  // told once the image is known
  EngineCall act_;
  bool kills_ = false;                 // `act_` is to end it now
  std::optional<Duration> stop_next_;  // asked for while a signal was handed on: the grace
  std::optional<Instant> stop_until_;  // how long `stop` is left to do that by itself
  Fd process_;
  Fd memory_;
  bool has_warned_ = false;
};

}  // namespace berth

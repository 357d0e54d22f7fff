#pragma once
// AdoptedRun: the record of a program that had begun before it was given devices, as libberth's
// leases are. Its keeper is not its parent. So how it ended cannot be told, unless it gave its
// lease back. All else is as for any run: manifest, samples, marks, events.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "record/record_writer.h"
#include "run/keeper_plan.h"
#include "run/run.h"
#include "run/sampler_child.h"

namespace berth {

class AdoptedRun {
 public:
  /// `manifest` knows what was given. The job is its `job`, the keeper this process.
  [[nodiscard]] static Result<AdoptedRun> begin(RunOptions options, RunServices services,
                                                Manifest manifest);

  /// For BERTH_MARKS.
  [[nodiscard]] std::string marks() const;
  /// The lease has been handed over: samples from now on. `let_go`: what a sampler, this one and
  /// each after it, is not to hold.
  void start_sampler(std::function<void()> let_go);
  /// Readable when the sampler has said something; -1: none runs.
  [[nodiscard]] int descriptor() const { return parts_->sampler.descriptor(); }
  /// How long until go_on() has something to do; nothing: until the sampler says something.
  [[nodiscard]] std::optional<Duration> patience() const;
  /// Hears the sampler, and starts another in the place of one that has ended.
  void go_on();

  /// `gave_back`: the program said so itself. Else it has ended, nobody knows how.
  enum class End { gave_back, unknown };
  void end(End how);

 private:
  struct Parts {
    Parts(RunOptions options, RunServices services, Manifest manifest, RecordWriter record);
    RunOptions options;
    RunServices services;
    Manifest manifest;
    RecordWriter record;
    KeeperPlan plan;  // as far as it is about the sampler and what that finds
    SamplerChild sampler;
    std::function<void()> let_go = {};
  };
  explicit AdoptedRun(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
  static void on_line(Parts& parts, const std::string& line);
  static void step(Parts& parts, const KeeperEvent& event);
  static void start(Parts& parts);
  static void note(Parts& parts, const Note& news);

  std::unique_ptr<Parts> parts_;
};

}  // namespace berth

#pragma once
// The options of `berth run`, and the RunOptions they make.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/run_words.h"
#include "app/verb.h"
#include "base/result.h"
#include "config/config.h"
#include "place/placement.h"
#include "place/visible_others.h"
#include "run/run.h"

namespace berth {

class Context;

/// `berth pick` claims nothing, and so has no place in the queue to wait in.
enum class MayWait { yes, no };

/// The flags of a job (place/job_spec.h), which `berth pick` and `berth run` share.
class RequestOptions {
 public:
  void declare(Options& options, MayWait may_wait);
  /// Those of a job's life and its names: `berth pick` has none.
  void declare_part(Options& options, JobPart part);
  /// Words that were not declared as options: "-n 2", "--memory=10G".
  [[nodiscard]] Result<void> add(const std::vector<std::string>& words);
  /// `--wait` and `--or-cpu` may stand without a value.
  [[nodiscard]] static std::vector<OptionalValue> optional_values();

  /// What the flags ask for, and where they are silent the configuration. invalid: names the flag
  /// or the file that is wrong.
  /// `user`: whose rules hold; else our own.
  [[nodiscard]] Result<JobSpec> job(const Context& context,
                                    std::optional<uid_t> user = std::nullopt) const;
  /// With MayWait::no: what was given that only waiting could do.
  [[nodiscard]] std::optional<Error> mistake_in_patience() const;
  [[nodiscard]] bool dry_run() const { return dry_run_; }
  /// `--memory auto`: job() says nothing of memory then; the amount follows from the command.
  [[nodiscard]] bool wants_memory_auto() const;
  /// The given options, as words of a command line.
  [[nodiscard]] std::vector<std::string> words() const;
  /// Whether it was given.
  [[nodiscard]] bool has(std::string_view name) const { return !typed(name).empty(); }

 private:
  void declare_one(Options& options, std::string_view name);
  [[nodiscard]] std::string& typed(std::string_view name);
  [[nodiscard]] const std::string& typed(std::string_view name) const;
  [[nodiscard]] Result<void> settle_patience(JobSpec& job) const;

  /// The given text for each of job_keys(); empty: nothing.
  std::vector<std::string> typed_ = std::vector<std::string>(job_keys().size());
  bool has_command_ = false;
  bool no_wait_ = false;
  bool dry_run_ = false;
};

/// What a look has to read for the choice of devices, and for what becomes of the job on them.
[[nodiscard]] Wanted wanted_for(const JobSpec& job);

/// What the environment says of devices.
[[nodiscard]] VisibleSettings visible_settings(const Context& context);

/// What an inherited CUDA_VISIBLE_DEVICES (and each other maker's) allows: nothing is ever widened.
/// invalid: it cannot be told what it means; says what to set.
[[nodiscard]] Result<PlaceLimits> inherited_limits(const Context& context,
                                                   const Snapshot& snapshot);

/// What the run that started last was given; none: it has none, or no record.
[[nodiscard]] std::vector<DeviceId> devices_last_had(const std::string& state_directory);

/// What `berth pick` and `berth run --dry-run` answer from: the choice that `berth run` would make
/// here. Inside a lease it chooses among the lease's devices.
struct Considered {
  Request request;  // inside a lease: for its share at most
  Snapshot snapshot;
  Placement placement;
};

/// From a look without claims. invalid: more is asked for than the lease has that we are in, or
/// CUDA_VISIBLE_DEVICES cannot be understood. Where the ledger could not be read, the context says
/// why, and nothing here counts.
[[nodiscard]] Result<Considered> considered(Context& context, const JobSpec& job, Snapshot looked);

class RunFlags {
 public:
  void declare(Options& options);

  /// Everything but the inherited limits. The error names the option.
  [[nodiscard]] Result<RunOptions> options(const Context& context,
                                           const std::vector<std::string>& command) const;

  [[nodiscard]] bool dry_run() const { return request_.dry_run(); }
  /// Whether that part of the job was given.
  [[nodiscard]] bool has(std::string_view name) const { return request_.has(name); }
  /// The given options of the job, as words of a command line.
  [[nodiscard]] std::vector<std::string> words() const;
  [[nodiscard]] bool json() const { return json_; }
  [[nodiscard]] Talk talk() const {
    return quiet_ ? Talk::quiet : verbose_ ? Talk::verbose : Talk::normal;
  }

 private:
  RequestOptions request_;
  std::string log_;
  bool json_ = false;
  bool no_bind_ = false;
  bool uuids_ = false;
  bool detach_ = false;
  bool quiet_ = false;
  bool verbose_ = false;
};

}  // namespace berth

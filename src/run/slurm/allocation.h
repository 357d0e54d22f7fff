#pragma once
// `berth run` inside a Slurm job. Slurm has chosen the cards. berth uses these, claims them in the
// node's ledger at once, and waits for nobody. Other processes on them are leftovers, and are told.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "lease/ledger.h"
#include "place/visible_others.h"
#include "run/acquire.h"

namespace berth {

/// The facts that Slurm gives a program on one of its nodes.
struct SlurmAllocation {
  std::string job;
  /// The cards of the step, or else of the job, as Slurm numbers them: "0,1". Nothing: it has none,
  /// or Slurm looks after no cards here.
  std::optional<std::string> cards;
  friend bool operator==(const SlurmAllocation&, const SlurmAllocation&) = default;
};

/// `variable`: the value of a variable of the environment. Nothing: no node of Slurm's, as in the
/// shell that salloc opens where it was typed.
[[nodiscard]] std::optional<SlurmAllocation> slurm_allocation(
    const std::function<std::optional<std::string>(const char* name)>& variable);

/// Devices that a job's environment leaves it. Nothing: it limits none.
/// `settings`: those of the environment itself. `cards`: see SlurmAllocation. `is_inside`: a lease
/// encloses the job, and may hide all other devices. Pure.
/// invalid: a list that CUDA reads in no one way; a number that Slurm did not give; none of its
/// devices is seen.
[[nodiscard]] Result<std::optional<VisibleDevices>> devices_of_job(
    VisibleSettings settings, const std::optional<std::string>& cards, bool is_inside,
    const Snapshot& snapshot, std::string_view user = {});

/// The snapshot as Slurm sees it: these devices hold only leases of this user, and nobody waits.
/// The user may start several runs in one job. Pure.
[[nodiscard]] Snapshot as_allocated(Snapshot snapshot, const std::vector<DeviceId>& devices,
                                    uid_t uid);

/// Processes on the chosen devices that should not be there: a sentence each. Pure.
[[nodiscard]] std::vector<Sentence> leftovers_on(const std::vector<Choice>& chosen,
                                                 const Snapshot& snapshot, uid_t uid);

/// As acquire() does, for devices (`options.limits.visible`) that Slurm has given: at once or not.
/// Leftovers are told by `options.say`.
[[nodiscard]] Result<std::variant<Acquired, NotAcquired>> claim_allocated(
    Ledger& ledger, const TakeSnapshot& look, Clock& clock, const AcquireOptions& options);

/// The one or the other, as the environment says.
[[nodiscard]] Result<std::variant<Acquired, NotAcquired>> acquire_or_claim(
    Ledger& ledger, const TakeSnapshot& look, Clock& clock, const AcquireOptions& options,
    const std::vector<std::string>& environment);

}  // namespace berth

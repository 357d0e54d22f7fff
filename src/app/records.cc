#include "app/records.h"

#include <unistd.h>

#include <algorithm>

#include "app/output.h"
#include "app/past_runs.h"
#include "app/progress.h"
#include "base/text.h"
#include "base/tr.h"
#include "record/run_container.h"
#include "run/slurm/queue.h"
#include "run/unrecorded.h"

namespace berth {

Result<std::string> records_directory(const Context& context) {
  if (auto state = place_of_runs(context)) {
    ProgressBar progress(context);
    write_past_runs(context, [&](double share) {
      progress.show(share, std::string(tr("writing the runs of the simulated past")));
    });
    return *std::move(state);
  }
  return fail(ErrorCode::not_found, "no records: neither XDG_STATE_HOME nor HOME is set");
}

Result<RunRecord> find_run(Context& context, const std::string& name) {
  const auto state = records_directory(context);
  if (!state) return std::unexpected(state.error());
  auto run = load_run(*state, name.empty() ? "last" : name);
  if (!run || (run->state != RunState::waiting && run->state != RunState::elsewhere)) return run;
  // Slurm alone knows of a job that it will never start, or that its node took along.
  const auto slurm = run_slurm_in(run->directory);
  if (!slurm) return run;
  const auto said =
      ask_slurm(*run, *slurm, {.clock = context.clock(), .environment = context.environment()});
  if (!said) complain(said.error().shown());
  return read_run(run->directory, run->owner);
}

Result<SamplesRead> read_samples(const Context& context, const RunRecord& run,
                                 const std::function<void(const Sample&)>& each) {
  ProgressBar progress(context);
  const std::string what = trf("reading the record of run {}", run.manifest.id);
  const WallTime began = run.manifest.started;
  const WallTime end = run.end ? run.end->at : context.clock().wall_now();
  const double whole = static_cast<double>(end.unix_ms - began.unix_ms);
  return for_each_sample(run, [&](const Sample& sample) {
    each(sample);
    progress.show(static_cast<double>(sample.at.unix_ms - began.unix_ms) / whole, what);
  });
}

Result<RunRecord> find_run_under_way(Context& context, const std::string& name) {
  auto recorded = find_run(context, name);
  if (recorded || recorded.error().code() == ErrorCode::invalid) return recorded;
  std::string id = name;
  if (name.empty() || name == "last") {
    const auto state = place_of_runs(context);
    id = state ? unrecorded_last_run(*state).value_or("") : "";
  }
  const std::vector<Claim> claims = context.read_ledger().claims;
  auto run = unrecorded_run(id, claims);
  if (!run && run.error().code() == ErrorCode::not_found) {
    const auto others = std::ranges::find_if(claims, [&](const Claim& claim) {
      return !id.empty() && claim.run == id && claim.uid != ::geteuid();
    });
    if (others == claims.end()) return recorded;
    return fail(
        ErrorCode::no_permission,
        "the run {} is {}'s: its record and its end are theirs (or root's: sudo -u {} berth …)",
        printable(id), printable(others->user), printable(others->user));
  }
  return run;
}

std::vector<LeftContainer> containers_left(const Context& context) {
  const auto state = place_of_runs(context);
  return state && !context.replay() ? left_containers(*state) : std::vector<LeftContainer>();
}

void say_containers_left(const Context& context) {
  for (const LeftContainer& left : containers_left(context)) {
    complain(trf("container {} of run {} lives on without a lease (berth stop {})",
                 short_container_id(left.container.id), left.run.manifest.id,
                 left.run.manifest.id));
  }
}

}  // namespace berth

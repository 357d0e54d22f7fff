#include "run/run_manifest.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "base/user_name.h"
#include "snapshot/questions.h"

namespace berth {

Manifest begin_manifest(const RunOptions& options, const RunServices& services) {
  const JobSpec& job = options.job;
  Manifest manifest;
  manifest.started = services.clock.wall_now();
  manifest.machine_id = own_machine_id();
  manifest.boot_id = own_boot_id();
  manifest.id = make_run_id(manifest.machine_id, manifest.boot_id, manifest.started, ::getpid());
  manifest.command = masked_command(job.command);
  manifest.working_directory = options.working_directory;
  manifest.uid = ::getuid();
  manifest.user = local_user_name(::getuid(), options.etc + "/passwd");
  manifest.wanted = as_typed(job);
  manifest.spec = typed_members(job);
  if (job.where != RunWhere::cpu) manifest.devices_wanted = job.request.devices;
  manifest.retry_of = options.retry_of;
  if (job.time_limit) manifest.time_limit_ms = job.time_limit->count();
  manifest.given.taken = manifest.started;
  manifest.given.simulated = services.simulated;
  return manifest;
}

void set_claim_terms(const Manifest& manifest, const JobSpec& job, AcquireOptions& options,
                     const std::string& proc) {
  options.claim.run = manifest.id;
  options.claim.command = command_for_others(manifest.command, proc);
  if (manifest.cap) options.claim.held_by = manifest.cap->tier;
  options.priority = job.priority;
}

void note_given(const Acquired& got, Manifest& manifest) {
  manifest.lease = got.lease.id();
  manifest.waited_ms = got.waited.count();
  manifest.given.simulated = got.snapshot.simulated;
  manifest.given.taken = got.snapshot.taken;
  manifest.given.host = got.snapshot.host;
  for (const Choice& choice : got.placement.chosen) {
    if (const Device* device = find_device(choice.device, got.snapshot)) {
      manifest.given.devices.push_back(*device);
      manifest.promised.push_back(choice.promised);
    }
  }
}

void note_when_and_where(const RunOptions& options, Clock& clock, Manifest& manifest) {
  if (options.detach) {
    manifest.log = options.log.value_or(runs_directory(options.state_directory) + "/" +
                                        manifest.id + "/output");
    struct stat facts{};
    const bool is_used = options.log && ::stat(options.log->c_str(), &facts) == 0 &&
                         S_ISREG(facts.st_mode) && facts.st_size > 0;
    manifest.log_from.reset();
    if (is_used) manifest.log_from = static_cast<std::uint64_t>(facts.st_size);
  }
  const Moment now = clock.moment();
  manifest.started = now.wall;
  manifest.started_steady_ms = steady_ms(now.steady);
}

std::optional<std::int64_t> extended_limit(const Lease* lease, const Manifest& manifest) {
  const auto limit = lease != nullptr ? lease->time_limit() : std::nullopt;
  if (!limit || limit->count() == manifest.time_limit_ms) return std::nullopt;
  return limit->count();
}

void note_start(const Manifest& manifest, RunStarted& started) {
  started.id = manifest.id;
  started.cpu_only = manifest.cpu_only;
  started.waited = std::chrono::milliseconds(manifest.waited_ms);
  started.variables = manifest.variables_set;
  started.cap = manifest.cap;
  started.isolated_by = manifest.isolated_by;
}

}  // namespace berth

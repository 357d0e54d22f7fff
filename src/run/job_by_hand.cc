#include "run/job_by_hand.h"

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/process.h"
#include "base/process_stat.h"
#include "base/signals.h"
#include "base/text.h"
#include "run/tree.h"
#include "snapshot/process_claims.h"
#include "snapshot/questions.h"

namespace berth {

Result<JobByHand> find_job_by_hand(const std::string& number, const std::string& proc) {
  const auto read = parse_unsigned(number);
  if (!read || *read == 0 || *read > std::numeric_limits<pid_t>::max()) {
    return fail(ErrorCode::invalid, "\"{}\" is no process's number", printable(number));
  }
  const auto pid = static_cast<pid_t>(*read);
  auto life = open_pidfd(pid);
  if (!life && life.error().code() == ErrorCode::not_found) {
    return fail(ErrorCode::not_found, "there is no process {}", pid);
  }
  if (!life) return std::unexpected(std::move(life).error());
  const auto process = identify_process(pid, proc);
  if (!process) return std::unexpected(process.error());
  if (user_of(pid, proc) != ::getuid()) {
    return fail(ErrorCode::no_permission,
                "process {} is another user's: only they can claim devices for it", pid);
  }
  // From here on it is that process: had it ended, its number could be another's.
  if (wait_readable({life->get()}, Duration(0)).front()) {
    return fail(ErrorCode::not_found, "process {} has ended", pid);
  }
  // In a container number 1 may be the job; here it has started everybody's.
  const auto started = pid == 1 ? descendants_of(1, proc) : std::vector<ProcessId>();
  if (std::ranges::find(started, ::getpid(), &ProcessId::pid) != started.end()) {
    return fail(ErrorCode::invalid,
                "process 1 is no job: it has started all others, this command too");
  }
  JobByHand found{.life = *std::move(life)};
  found.claim.keeper = *process;
  found.claim.job = *process;
  return found;
}

const Claim* lease_of(pid_t pid, const std::vector<Claim>& claims, const std::string& proc) {
  // No look has it where it is on no device.
  const Snapshot here{.processes = {{.id = {.pid = pid}, .ancestors = ancestors_of(pid, proc)}}};
  if (const Claim* claim = ProcessClaims(here, claims).of(pid)) return claim;
  const auto is_it = [&](const ProcessId& one) { return one.pid == pid; };
  const auto named = std::ranges::find_if(claims, [&](const Claim& claim) {
    return !claim.run.empty() &&
           std::ranges::any_of(processes_named_for(claim.run, ::getpid(), proc), is_it);
  });
  return named == claims.end() ? nullptr : &*named;
}

std::vector<const Device*> devices_of_job(pid_t job, const Snapshot& snapshot,
                                          const std::string& proc) {
  const auto own = descendants_of(job, proc);
  std::vector<const Device*> devices;
  for (const GpuProcess& use : snapshot.gpu_processes) {
    const bool is_own =
        use.pid == job || std::ranges::find(own, use.pid, &ProcessId::pid) != own.end();
    const Device* device = find_device(use.device, snapshot);
    const bool is_new = std::ranges::find(devices, device) == devices.end();
    if (is_own && !is_background(use) && device != nullptr && is_new) devices.push_back(device);
  }
  return devices;
}

}  // namespace berth

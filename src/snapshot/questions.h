#pragma once
// Pure questions of a snapshot, asked by placement, views and diagnosis alike, so that "busy" means
// one thing everywhere.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "snapshot/snapshot.h"

namespace berth {

/// What a device is to somebody who wants one.
///
/// `free` nothing of anybody's on it. `leased` a lease names it. `busy` no lease, but processes
/// compute on it. `held` no lease, memory is taken and nothing runs. `unknown` nobody can be seen
/// on it, and what would show them could not be read. `lost` it fell off the bus. `unusable` no job
/// can be given it (no driver, unsupported kind).
enum class DeviceState { free, leased, busy, held, unknown, lost, unusable };
constexpr std::size_t device_state_count = 7;
[[nodiscard]] std::string_view name_of(DeviceState state);

[[nodiscard]] DeviceState state_of(const Device& device, const Snapshot& snapshot);

[[nodiscard]] const Device* find_device(const DeviceId& id, const Snapshot& snapshot);
[[nodiscard]] const HostProcess* find_process(pid_t pid, const Snapshot& snapshot);

/// Processes on a device; a MIG parent has those of its instances too.
[[nodiscard]] std::vector<const GpuProcess*> processes_on(const DeviceId& device,
                                                          const Snapshot& snapshot);
[[nodiscard]] std::vector<const Claim*> claims_on(const DeviceId& device, const Snapshot& snapshot);

/// The claim that a process runs under: its keeper is the process or an ancestor of it. Null: a
/// stranger to the ledger, or its keeper has died.
[[nodiscard]] const Claim* claim_of(pid_t pid, const Snapshot& snapshot);

/// True for processes that only draw (a desktop): they cost memory and never block a device.
[[nodiscard]] bool only_draws(const GpuProcess& process);

/// User names with a process or a claim on the device, sorted, each once.
[[nodiscard]] std::vector<std::string> users_of(const Device& device, const Snapshot& snapshot);

/// "docker train" where its runtime's name for it is known, else as HostProcess::container.
[[nodiscard]] Reading<std::string> enclosure_title(const HostProcess& process);

/// Memory used less what the device's processes account for. Absent where either is absent, or a
/// process's memory is (then nothing can be said).
[[nodiscard]] Reading<Bytes> unexplained_memory(const Device& device, const Snapshot& snapshot);

}  // namespace berth

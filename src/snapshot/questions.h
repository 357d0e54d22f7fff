#pragma once
// Pure questions of a snapshot, asked by placement, views and diagnosis alike: a state has one
// meaning. Accounting alone has a limit of its own for how little is no work (usage_meter.h).

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/tr.h"
#include "snapshot/snapshot.h"

namespace berth {

/// What a device is to somebody who wants one for himself. `free` is exactly what placement gives
/// to a request for a whole device.
///
/// `free` nothing of anybody's on it but a desktop. `reserved` the same, and somebody in the queue
/// takes or gathers it, or a part of it. `leased` a lease names it (or the card that it
/// is an instance of). `busy` no lease, but processes compute on it. `held` no lease, memory is
/// taken and nothing runs. `unknown` nobody is seen on it, but its processes, its lease or its
/// health could not be read. `failed` nobody is on it, and its health forbids jobs. `divided` into
/// parts (MIG, AMD's partitions), which are what a job is given. `lost` it fell off the bus.
/// `unusable` no job can be given it (no driver, unsupported kind, compute mode Prohibited).
///
/// Where several hold, what takes it away for good comes first (lost, unusable). Then comes who is
/// on it (leased, busy, held): a search for a process and a repair have to know them. A failure
/// takes the place of `free` and `unknown` alone, the queue that of `free`. fault_of() and the
/// field `failed_because` also tell the failure of a card in use.
enum class DeviceState {
  free,
  reserved,
  leased,
  busy,
  held,
  unknown,
  failed,
  divided,
  lost,
  unusable
};
constexpr std::size_t device_state_count = 10;
[[nodiscard]] std::string_view name_of(DeviceState state);

[[nodiscard]] DeviceState state_of(const Device& device, const Snapshot& snapshot);

/// Why a device is not given out, also while in use. States, placement, views and doctor go by this
/// one answer. `silent` it was not heard this time; the next look may hear it. `lost` it answers
/// nobody any more. `unusable` no driver has it, or it was taken away: its `unusable_because` says.
/// `unsupported` this kind of device is not supported yet. `failed` its health forbids it:
/// fault_of() says why. `unjudged` whether it has failed could not be read. Where two hold, the
/// first.
enum class Obstacle { none, silent, lost, unusable, unsupported, failed, unjudged };
[[nodiscard]] Obstacle obstacle_of(const Device& device, const Snapshot& snapshot);

/// Why no job should be given it; null: nothing speaks against it, or nobody has judged the look.
[[nodiscard]] const DeviceFault* fault_of(const DeviceId& device, const Snapshot& snapshot);

/// Whether the driver did not answer for one of the three verdicts by which a device is judged
/// failed. Then "nothing known against it" says nothing. No verdict on this card, no right to read
/// it, or a source that never tells: these do not count. An instance has its card's.
[[nodiscard]] bool is_verdict_unread(const Device& device, const Snapshot& snapshot);

/// Whether a driver of devices could be asked at this look, and whether one could not.
[[nodiscard]] bool has_driver_answered(const Snapshot& snapshot);
[[nodiscard]] bool has_driver_failed(const Snapshot& snapshot);
/// Whether it keeps somebody who may be on a device from being seen.
[[nodiscard]] bool hides_processes(const Problem& problem);

/// Whether there is a ledger that could not be read: then no lease and nobody in the queue says
/// nothing. A source that never tells (an old capture) is not that.
[[nodiscard]] bool is_ledger_unread(const Snapshot& snapshot);

/// Whether a card is divided, by MIG into instances or as AMD's into partitions. `unknown`: reading
/// its mode failed. No word of it means whole (an old capture, a card without MIG). An instance is
/// whole itself.
enum class Division { whole, divided, unknown };
[[nodiscard]] Division division_of(const Device& device);

/// Whether it may well be usable, and the driver did not answer for it this time.
[[nodiscard]] inline bool is_silent(const Device& device) {
  return !device.lost && (device.unusable_because == Unusable::silent ||
                          device.unusable_because == Unusable::unanswered);
}

/// Whether who is on it is unknown: the driver's list could not be read, or is not for us. A source
/// that never tells (an old capture) is not that.
[[nodiscard]] bool is_list_unread(const Device& device);

/// Whose software this look asked for, in the order of Runtime.
[[nodiscard]] std::vector<Runtime> vendors_asked(const Host& host);
/// Whether its driver came with the kernel, and so has no version.
[[nodiscard]] bool has_in_tree_driver(Runtime vendor, const Host& host);
inline constexpr std::string_view in_tree_driver = as_key("in-tree driver of this kernel");

/// Whether every process of the machine can be seen from here, as far as anybody has looked.
[[nodiscard]] bool sees_all_processes(const Host& host);
/// Whether the driver numbers processes otherwise than /proc does here (a container, WSL). Then an
/// equal number proves nothing.
[[nodiscard]] bool numbers_are_the_hosts(const Host& host);
/// Whether a process of the driver's list is not seen here, as far as can be told. /proc has no
/// such number, or its process was not found on the device.
[[nodiscard]] bool is_elsewhere(const HostProcess& process, const Host& host);

/// Whether it is in the compute mode in which its administrator lets nobody compute.
[[nodiscard]] bool is_prohibited(const Device& device);

/// The number that a program of its runtime knows it by (CUDA with CUDA_DEVICE_ORDER=PCI_BUS_ID).
[[nodiscard]] inline std::optional<int> runtime_number(const Device& device) {
  return device.runtime_index ? device.runtime_index : device.index;
}

[[nodiscard]] const Device* find_device(const DeviceId& id, const Snapshot& snapshot);
/// The card at an address, as XID errors name it; null: none is there now.
[[nodiscard]] const Device* card_at(std::string_view pci_address, const Snapshot& snapshot);
[[nodiscard]] const HostProcess* find_process(pid_t pid, const Snapshot& snapshot);

/// Processes on a device; a MIG parent has those of its instances too.
[[nodiscard]] std::vector<const GpuProcess*> processes_on(const DeviceId& device,
                                                          const Snapshot& snapshot);
[[nodiscard]] std::vector<const Claim*> claims_on(const DeviceId& device, const Snapshot& snapshot);

/// Waiters that the device is reserved for, or the card that it is an instance of.
[[nodiscard]] std::vector<const Waiter*> waiters_for(const Device& device,
                                                     const Snapshot& snapshot);

/// Their names that are known, each once.
[[nodiscard]] std::vector<std::string> users_waiting_for(const Device& device,
                                                         const Snapshot& snapshot);

/// Whether the process is in the container that this claim's job is in.
[[nodiscard]] bool is_in_container_of(const Claim& claim, const HostProcess& process);

/// True for a desktop that only draws, and for a vendor's server: they cost memory and never block
/// a device.
[[nodiscard]] bool is_background(const GpuProcess& process);

/// Whether one of a divided card's own processes may run on this instance. The driver places it
/// there, or nowhere.
[[nodiscard]] bool may_be_on_instance(const GpuProcess& of_the_card, const Device& instance);

/// Memory in use that no process seen on the device explains. What an idle driver holds counts as 0
/// (DeviceKindFacts::idle_memory, 64 MiB of NVIDIA's). With a desktop 1 GiB counts as 0, beyond
/// what its processes are charged with.
///
/// Absent  failed, no permission, not sampled: whether there is any cannot be told.
[[nodiscard]] Reading<Bytes> memory_of_nobody(const Device& device,
                                              const std::vector<const GpuProcess*>& processes);

/// Utilisation now; where the device has no such number, the newest of its samples.
[[nodiscard]] Reading<Percent> load_now(const Device& device);
/// Load above this has a cause, seen or not: below it the counter flickers on an idle card.
inline constexpr Percent most_load_of_nobody{10.0};
/// Up to this a device that somebody holds is not used (`berth idle`, alerts, metrics). Less than
/// that: to speak against a holder wants more than to give away what nobody holds.
inline constexpr Percent most_load_of_idle{5.0};
/// Whether a device on which no process is seen is used all the same. Of AMD's the load alone is no
/// proof: some stand at 100 % until they are reset (the KFD lists who computes).
[[nodiscard]] bool is_load_of_nobody(const Device& device, const Reading<Percent>& load);

/// Known names of users with a process or a claim on the device, sorted, each once. There may be
/// others where is_list_unread() or is_ledger_unread().
[[nodiscard]] std::vector<std::string> users_of(const Device& device, const Snapshot& snapshot);

/// "docker train" where its runtime's name for it is known, else as HostProcess::container.
[[nodiscard]] Reading<std::string> enclosure_title(const HostProcess& process);

/// What one user's processes have of a device without a lease.
struct UnleasedUse {
  std::string user;  // empty: cannot be seen
  Bytes memory;
  friend bool operator==(const UnleasedUse&, const UnleasedUse&) = default;
};
/// Memory that leases on a device are still promised and cannot have, because processes without a
/// lease use it.
struct PromisesTaken {
  Bytes memory;                           // 0: every promise can be kept
  std::vector<UnleasedUse> by;            // the largest first; empty: every promise can be kept
  std::vector<const Claim*> promised_to;  // those with shares here
};
/// Memory used less what the device's processes account for. Absent where the memory used, the list
/// of processes or a process's memory is absent. Of a MIG instance: its card's processes that may
/// be on it are taken off, too.
[[nodiscard]] Reading<Bytes> unexplained_memory(const Device& device, const Snapshot& snapshot);

}  // namespace berth

#include "snapshot/questions.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "snapshot/device_kind.h"
#include "snapshot/snapshot_index.h"

namespace berth {

namespace {
// An idle driver holds a few MiB (framebuffer console, persistence): not somebody's memory.
Bytes negligible_memory(const Device& device) { return facts_of(device.kind).idle_memory; }
// A desktop uses more than its processes are charged with: frame buffers, the compositor. That is
// some 270 MiB on a card with one screen.
constexpr Bytes desktop_memory{std::uint64_t{1} << 30};
// A process that computes shows more than this.
constexpr Percent negligible_load{3.0};
}  // namespace

std::string_view name_of(DeviceState state) {
  switch (state) {
    case DeviceState::free:
      return "free";
    case DeviceState::reserved:
      return "reserved";
    case DeviceState::leased:
      return "leased";
    case DeviceState::busy:
      return "busy";
    case DeviceState::held:
      return "held";
    case DeviceState::unknown:
      return "unknown";
    case DeviceState::failed:
      return "failed";
    case DeviceState::divided:
      return "divided";
    case DeviceState::lost:
      return "lost";
    case DeviceState::unusable:
      return "unusable";
  }
  return "unusable";
}

namespace {

using Processes = std::vector<const GpuProcess*>;

bool failed_to_read(const auto& reading) {
  return !reading.has_value() && reading.why() == Absent::failed;
}

/// A process that only sits on its memory is the most common complaint on a shared server. A pause
/// between two batches is not that: where the driver keeps a history, all of it is asked.
DeviceState state_under_computing(const Device& device) {
  const auto is_load = [](Percent load) { return load > negligible_load; };
  const auto& now = device.utilization_gpu.get();
  const auto& history = device.utilization_history.get();
  const bool was_loaded =
      history && std::any_of(history->begin(), history->end(),
                             [&](const UtilizationSample& sample) { return is_load(sample.busy); });
  return now && !is_load(*now) && !was_loaded ? DeviceState::held : DeviceState::busy;
}

/// No process computes on it: a desktop may draw, or somebody be there who cannot be seen. Nobody
/// was seen because nobody could be is not the same as nobody.
DeviceState state_without_computing(const Device& device, const Processes& drawing) {
  const Reading<Bytes> memory = memory_of_nobody(device, drawing);
  const Reading<Percent> load = load_now(device);
  if (drawing.empty() && is_load_of_nobody(device, load)) return DeviceState::busy;
  if (failed_to_read(device.process_count) || !memory.get()) return DeviceState::unknown;
  // Neither list nor memory used would show somebody.
  if (is_list_unread(device) && !device.memory_used.get()) return DeviceState::unknown;
  // A list that is refused for good is no reason to give nobody the device, nor to blame nobody.
  if (*memory.get() > Bytes{0}) {
    return is_list_unread(device) ? DeviceState::unknown : DeviceState::held;
  }
  if (drawing.empty() && failed_to_read(load)) return DeviceState::unknown;
  return DeviceState::free;
}

DeviceState as_far_as_known(DeviceState state, const Device& device, Obstacle obstacle,
                            const Snapshot& snapshot) {
  if (state != DeviceState::free && state != DeviceState::unknown) return state;
  if (obstacle == Obstacle::failed) return DeviceState::failed;
  if (obstacle == Obstacle::unjudged || is_ledger_unread(snapshot)) return DeviceState::unknown;
  const bool is_kept = state == DeviceState::free && !waiters_for(device, snapshot).empty();
  return is_kept ? DeviceState::reserved : state;
}

DeviceState judge(const Device& device, Obstacle obstacle, bool is_leased,
                  const Processes& processes) {
  if (obstacle == Obstacle::lost) return DeviceState::lost;
  if (obstacle == Obstacle::silent || obstacle == Obstacle::unusable ||
      obstacle == Obstacle::unsupported) {
    return DeviceState::unusable;
  }
  if (is_leased) return DeviceState::leased;
  if (division_of(device) == Division::divided) return DeviceState::divided;
  const bool computes = std::any_of(processes.begin(), processes.end(),
                                    [](const GpuProcess* p) { return !is_background(*p); });
  if (computes) return state_under_computing(device);
  if (is_prohibited(device)) return DeviceState::unusable;
  if (division_of(device) == Division::unknown) return DeviceState::unknown;
  return state_without_computing(device, processes);
}

Reading<Bytes> unexplained_by(const Device& device, const Processes& processes) {
  if (!device.memory_used.get()) return device.memory_used.why();
  Bytes explained;
  for (const GpuProcess* process : processes) {
    if (!process->memory.get()) return process->memory.why();
    explained += *process->memory.get();
  }
  // The driver's two counts are taken at different moments: never below zero.
  return minus(*device.memory_used.get(), explained).value_or(Bytes{0});
}

/// Those on the device; of an instance also its card's own that may be there.
Processes processes_possibly_on(const Device& device, const Snapshot& snapshot) {
  Processes processes = processes_on(device.id, snapshot);
  if (!device.parent) return processes;
  for (const GpuProcess& use : snapshot.gpu_processes) {
    const bool of_the_card = use.device == *device.parent;
    if (of_the_card && may_be_on_instance(use, device)) processes.push_back(&use);
  }
  return processes;
}
Processes processes_possibly_on(const Device& device, const SnapshotIndex& index) {
  Processes processes = index.processes_on(device.id);
  if (!device.parent) return processes;
  for (const GpuProcess* use : index.processes_itself(*device.parent)) {
    if (may_be_on_instance(*use, device)) processes.push_back(use);
  }
  return processes;
}

}  // namespace

DeviceState state_of(const Device& device, const Snapshot& snapshot) {
  const bool is_leased = !claims_on(device.id, snapshot).empty() ||
                         (device.parent && !claims_on(*device.parent, snapshot).empty());
  const Obstacle obstacle = obstacle_of(device, snapshot);
  return as_far_as_known(
      judge(device, obstacle, is_leased, processes_possibly_on(device, snapshot)), device, obstacle,
      snapshot);
}
DeviceState state_of(const Device& device, const SnapshotIndex& index) {
  const bool is_leased = !index.claims_on(device.id).empty() ||
                         (device.parent && !index.claims_on(*device.parent).empty());
  const Obstacle obstacle = obstacle_of(device, index.snapshot());
  return as_far_as_known(judge(device, obstacle, is_leased, processes_possibly_on(device, index)),
                         device, obstacle, index.snapshot());
}

std::vector<const Waiter*> waiters_for(const Device& device, const Snapshot& snapshot) {
  std::vector<const Waiter*> waiters;
  for (const Waiter& waiter : snapshot.waiters) {
    if (std::ranges::any_of(waiter.reserved, [&](const ClaimedDevice& part) {
          return part.device == device.id || part.device == device.parent;
        })) {
      waiters.push_back(&waiter);
    }
  }
  return waiters;
}

std::vector<std::string> users_waiting_for(const Device& device, const Snapshot& snapshot) {
  std::vector<std::string> users;
  for (const Waiter* waiter : waiters_for(device, snapshot)) {
    const bool is_said = std::ranges::find(users, waiter->user) != users.end();
    if (!waiter->user.empty() && !is_said) users.push_back(waiter->user);
  }
  return users;
}

Obstacle obstacle_of(const Device& device, const Snapshot& snapshot) {
  if (is_silent(device)) return Obstacle::silent;
  if (device.lost) return Obstacle::lost;
  if (!device.unusable_because.empty()) return Obstacle::unusable;
  if (!is_supported(device)) return Obstacle::unsupported;
  if (fault_of(device.id, snapshot) != nullptr) return Obstacle::failed;
  return is_verdict_unread(device, snapshot) ? Obstacle::unjudged : Obstacle::none;
}

// Few devices are failed: the list itself is the index.
const DeviceFault* fault_of(const DeviceId& device, const Snapshot& snapshot) {
  const auto found = std::find_if(snapshot.faults.begin(), snapshot.faults.end(),
                                  [&](const DeviceFault& one) { return one.device == device; });
  return found == snapshot.faults.end() ? nullptr : &*found;
}

bool is_verdict_unread(const Device& device, const Snapshot& snapshot) {
  const Device* card = device.parent ? find_device(*device.parent, snapshot) : &device;
  if (card == nullptr) return false;
  constexpr std::array verdicts = {Detail::remapped_rows_failed, Detail::recovery_action,
                                   Detail::unrepairable_memory};
  return std::ranges::any_of(
      verdicts, [&](Detail verdict) { return failed_to_read(card->details.cell(verdict)); });
}

bool has_driver_answered(const Snapshot& snapshot) {
  return std::ranges::any_of(snapshot.sources, [](const SourceReport& report) {
    return report.succeeded && is_driver(report.source);
  });
}

bool has_driver_failed(const Snapshot& snapshot) {
  return std::ranges::any_of(snapshot.sources, [](const SourceReport& report) {
    return !report.succeeded && is_driver(report.source);
  });
}

bool hides_processes(const Problem& problem) {
  return is_driver(problem.source) && (!problem.device || problem.code == "timeout");
}

bool is_ledger_unread(const Snapshot& snapshot) {
  return std::ranges::any_of(snapshot.sources, [](const SourceReport& report) {
    return report.source == ledger_source && !report.succeeded;
  });
}

Division division_of(const Device& device) {
  if (device.parent) return Division::whole;
  constexpr std::string_view undivided = "SPX";
  if (failed_to_read(device.partition_mode)) return Division::unknown;
  const auto& mode = device.partition_mode.get();
  if (mode && !mode->starts_with(undivided)) return Division::divided;
  if (failed_to_read(device.mig_mode)) return Division::unknown;
  return device.mig_mode.get() == true ? Division::divided : Division::whole;
}

bool is_list_unread(const Device& device) {
  if (device.process_count.has_value()) return false;
  const Absent why = device.process_count.why();
  return why == Absent::failed || why == Absent::no_permission;
}

std::vector<Runtime> vendors_asked(const Host& host) {
  std::vector<Runtime> vendors;
  for (std::size_t i = 0; i < host.software.size(); ++i) {
    if (host.software[i] != VendorSoftware{}) vendors.push_back(static_cast<Runtime>(i));
  }
  return vendors;
}

bool has_in_tree_driver(Runtime vendor, const Host& host) {
  return facts_of(vendor).in_kernel &&
         host.software_of(vendor).driver == Reading<std::string>(Absent::unsupported);
}

bool sees_all_processes(const Host& host) {
  const Reading<std::string>& view = host.process_view;
  // A source that never tells (an old capture) is no doubt.
  return view.get() ? *view.get() == "whole" : view.why() == Absent::not_sampled;
}

bool numbers_are_the_hosts(const Host& host) {
  const auto& view = host.process_view.get();
  return view && *view != "whole";
}

bool is_elsewhere(const HostProcess& process, const Host& host) {
  return numbers_are_the_hosts(host) && !process.uid.get() && process.uid.why() == Absent::failed;
}

bool is_prohibited(const Device& device) {
  const auto& mode = device.compute_mode.get();
  return mode && equals_ignoring_case(*mode, "Prohibited");
}

bool may_be_on_instance(const GpuProcess& of_the_card, const Device& instance) {
  // Not placed at all: it may be on any of them, so it counts on each.
  return !of_the_card.partition || of_the_card.partition == instance.partition;
}

Reading<Bytes> memory_of_nobody(const Device& device, const Processes& processes) {
  const auto& used = device.memory_used;
  // Shared with the CPU (DGX Spark): what is used is not the device's alone.
  if (!used.get() && used.why() == Absent::unsupported) return Bytes{0};
  if (!used.get()) return used.why();
  const Reading<Bytes> unexplained = unexplained_by(device, processes);
  if (!unexplained.get()) return Bytes{0};  // it may well be that of the process that hides its own
  const Bytes most = processes.empty() ? negligible_memory(device) : desktop_memory;
  return *unexplained.get() > most ? *unexplained.get() : Bytes{0};
}

Reading<Percent> load_now(const Device& device) {
  const Reading<Percent>& now = device.utilization_gpu;
  if (now.get() || now.why() == Absent::failed) return now;
  const auto& history = device.utilization_history.get();
  if (history && !history->empty()) return history->front().busy;
  return now;
}

bool is_load_of_nobody(const Device& device, const Reading<Percent>& load) {
  if (!load.get() || *load.get() <= most_load_of_nobody) return false;
  return !facts_of(device.kind).load_may_lie || !device.process_count.has_value();
}

const Device* find_device(const DeviceId& id, const Snapshot& snapshot) {
  const auto found = std::find_if(snapshot.devices.begin(), snapshot.devices.end(),
                                  [&](const Device& device) { return device.id == id; });
  return found == snapshot.devices.end() ? nullptr : &*found;
}

const Device* card_at(std::string_view pci_address, const Snapshot& snapshot) {
  for (const Device& device : snapshot.devices) {
    if (!device.parent && device.pci_address.get() && *device.pci_address.get() == pci_address) {
      return &device;
    }
  }
  return nullptr;
}

const HostProcess* find_process(pid_t pid, const Snapshot& snapshot) {
  const auto found =
      std::find_if(snapshot.processes.begin(), snapshot.processes.end(),
                   [&](const HostProcess& process) { return process.id.pid == pid; });
  return found == snapshot.processes.end() ? nullptr : &*found;
}

std::vector<const GpuProcess*> processes_on(const DeviceId& device, const Snapshot& snapshot) {
  std::vector<const DeviceId*> instances;
  for (const Device& other : snapshot.devices) {
    if (other.parent == device) instances.push_back(&other.id);
  }
  std::vector<const GpuProcess*> found;
  for (const GpuProcess& process : snapshot.gpu_processes) {
    if (process.device == device ||
        std::any_of(instances.begin(), instances.end(),
                    [&](const DeviceId* instance) { return *instance == process.device; })) {
      found.push_back(&process);
    }
  }
  return found;
}

std::vector<const Claim*> claims_on(const DeviceId& device, const Snapshot& snapshot) {
  std::vector<const Claim*> found;
  for (const Claim& claim : snapshot.claims) {
    const bool names_it = std::any_of(claim.devices.begin(), claim.devices.end(),
                                      [&](const ClaimedDevice& c) { return c.device == device; });
    if (names_it) found.push_back(&claim);
  }
  return found;
}

bool is_in_container_of(const Claim& claim, const HostProcess& process) {
  return !claim.container.empty() && process.enclosure && process.enclosure->id == claim.container;
}

bool is_background(const GpuProcess& process) {
  return process.use == GpuUse::graphics || process.server;
}

std::vector<std::string> users_of(const Device& device, const Snapshot& snapshot) {
  std::vector<std::string> users;
  for (const Claim* claim : claims_on(device.id, snapshot)) users.push_back(claim->user);
  for (const GpuProcess* use : processes_on(device.id, snapshot)) {
    const HostProcess* process = find_process(use->pid, snapshot);
    if (process != nullptr && process->user.get()) users.push_back(*process->user.get());
  }
  std::sort(users.begin(), users.end());
  users.erase(std::unique(users.begin(), users.end()), users.end());
  return users;
}

Reading<std::string> enclosure_title(const HostProcess& process) {
  if (!process.enclosure || !process.enclosure->name.get()) return process.container;
  return process.enclosure->runtime + " " + *process.enclosure->name.get();
}

namespace {
/// What a driver is known to hold by itself is explained. A few MiB of NVIDIA's are told as they
/// are.
Reading<Bytes> beyond_the_driver(const Device& device, const Reading<Bytes>& unexplained) {
  const Bytes own = negligible_memory(device);
  const bool is_much = own > DeviceKindFacts{}.idle_memory;
  return is_much && unexplained.get() && *unexplained.get() <= own ? Bytes{0} : unexplained;
}

Reading<Bytes> unexplained_in(const Device& device, const auto& looked) {
  if (is_used_a_bound(device)) return Absent::unsupported;  // its processes make it up
  if (is_list_unread(device)) return device.process_count.why();
  return beyond_the_driver(device, unexplained_by(device, processes_possibly_on(device, looked)));
}
}  // namespace

Reading<Bytes> unexplained_memory(const Device& device, const Snapshot& snapshot) {
  return unexplained_in(device, snapshot);
}
Reading<Bytes> unexplained_memory(const Device& device, const SnapshotIndex& index) {
  return unexplained_in(device, index);
}

namespace {

std::vector<UnleasedUse> by_user(const Processes& unleased, const SnapshotIndex& index) {
  std::vector<UnleasedUse> sums;
  for (const GpuProcess* use : unleased) {
    const HostProcess* process = index.process(use->pid);
    const std::string user = process != nullptr ? process->user.get().value_or("") : "";
    const auto found = std::ranges::find(sums, user, &UnleasedUse::user);
    UnleasedUse& sum = found == sums.end() ? sums.emplace_back(user) : *found;
    sum.memory += *use->memory.get();
  }
  std::ranges::stable_sort(sums, std::ranges::greater(), &UnleasedUse::memory);
  return sums;
}

}  // namespace

PromisesTaken promises_taken(const Device& device, const SnapshotIndex& index) {
  const Processes& processes = index.processes_on(device.id);
  const auto& claims = index.claims_on(device.id);
  const auto& total = device.memory_total.get();
  const auto& free = device.memory_free.get();
  if (claims.empty() || !total || !free || is_list_unread(device) ||
      numbers_are_the_hosts(index.snapshot().host)) {
    return {};
  }
  Bytes promised;
  Bytes still_promised;
  Processes unleased = processes;
  for (const Claim* claim : claims) {
    const auto part = std::ranges::find(claim->devices, device.id, &ClaimedDevice::device);
    if (!part->promised) return {};
    Bytes used;
    std::erase_if(unleased, [&](const GpuProcess* use) {
      if (index.claim_of(use->pid) != claim) return false;
      used += use->memory.get().value_or(Bytes{0});
      return true;
    });
    promised += *part->promised;
    still_promised += minus(*part->promised, used).value_or(Bytes{0});
  }
  const auto is_unknown = [](const GpuProcess* use) { return !use->memory.has_value(); };
  if (std::ranges::any_of(processes, is_unknown)) return {};
  Bytes used_without_lease;
  for (const GpuProcess* use : unleased) used_without_lease += *use->memory.get();
  const Bytes kept = promised + device.memory_reserved.get().value_or(Bytes{0});
  const Bytes room = minus(*total, kept).value_or(Bytes{0});
  const Bytes beyond = minus(used_without_lease, room).value_or(Bytes{0});
  const Bytes missing = minus(still_promised, *free).value_or(Bytes{0});
  // A lease that is over its own promise takes from the others: that is not these processes' part.
  const Bytes taken = std::min(beyond, missing);
  if (taken <= negligible_memory(device)) return {};
  return {.memory = taken, .by = by_user(unleased, index), .promised_to = claims};
}

}  // namespace berth

// Whose the devices are: users, leases, the queue, and processes for those who ask for them.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_map>

#include "base/text.h"
#include "serve/metrics_families.h"
#include "serve/metrics_page.h"

namespace berth::serve {

namespace {

/// The use of some processes together. Their memory is unknown once one of them hides its own.
struct DeviceUse {
  std::optional<Bytes> memory = Bytes{0};
  std::vector<pid_t> pids;  // of each use of a device: a process on two devices stands here twice

  void add(const GpuProcess& process) {
    pids.push_back(process.pid);
    if (!process.memory.get()) {
      memory.reset();
    } else if (memory) {
      *memory += *process.memory.get();
    }
  }
  [[nodiscard]] std::optional<Decimal> memory_sample() const {
    return memory ? std::optional(decimal(memory->count())) : std::nullopt;
  }
  [[nodiscard]] Decimal processes() const {
    return decimal(std::set<pid_t>(pids.begin(), pids.end()).size());
  }
};

using DevicePosition = std::size_t;  // in Page::devices

struct UserUse {
  DeviceUse use;
  std::map<DevicePosition, DeviceUse> on;
  std::set<DevicePosition> present;  // with a process or a lease
  std::set<DevicePosition> leased;
};

/// What one pass over processes and leases learns.
struct PeopleFound {
  std::map<std::string, UserUse> users;                             // by the label's value
  std::map<std::string, std::map<DevicePosition, DeviceUse>> pods;  // by the labels
  std::unordered_map<const Claim*, DeviceUse> under;
  std::set<pid_t> strangers;
};

/// Labels with dcgm-exporter's names. An unknown name has no label.
std::string pod_labels(const Enclosure& enclosure) {
  constexpr std::array<std::string_view, 3> names = {"namespace", "pod", "container"};
  std::string labels;
  if (const auto& name = enclosure.name.get()) {
    const std::vector<std::string_view> parts = split(*name, '/');
    for (std::size_t i = 0; i < std::min(parts.size(), names.size()); ++i) {
      add_label(labels, names[i], parts[i]);
    }
  }
  add_label(labels, "pod_uid", *enclosure.pod_uid);
  return labels;
}

PeopleFound people_of(const Page& page) {
  const Snapshot& snapshot = page.scrape.snapshot;
  std::unordered_map<const Device*, DevicePosition> positions;
  for (DevicePosition i = 0; i < page.devices.size(); ++i) positions[page.devices[i].device] = i;
  PeopleFound people;
  for (const GpuProcess& process : snapshot.gpu_processes) {
    const auto at = positions.find(page.index.device(process.device));
    if (at == positions.end()) continue;
    if (const Claim* claim = page.index.claim_of(process.pid)) people.under[claim].add(process);
    const HostProcess* known = page.index.process(process.pid);
    if (known != nullptr && known->enclosure && known->enclosure->pod_uid) {
      people.pods[pod_labels(*known->enclosure)][at->second].add(process);
    }
    if (known == nullptr || !known->user.get()) {
      people.strangers.insert(process.pid);
      continue;
    }
    UserUse& user = people.users[label_value(*known->user.get())];
    user.use.add(process);
    user.on[at->second].add(process);
    user.present.insert(at->second);
  }
  for (const Claim& claim : snapshot.claims) {
    UserUse& user = people.users[label_value(claim.user)];
    for (const ClaimedDevice& part : claim.devices) {
      const auto at = positions.find(page.index.device(part.device));
      if (at == positions.end()) continue;
      user.present.insert(at->second);
      user.leased.insert(at->second);
    }
  }
  return people;
}

/// Whether nothing ran on it in the whole window. As `berth idle`, of each look and each sample of
/// the driver's.
bool was_idle(const Page& page, DevicePosition position) {
  const WindowStatistics* window = page.scrape.window;
  if (window == nullptr) return false;
  const DeviceWindow* device = window->of(page.devices[position].device->id, position);
  if (device == nullptr) return false;
  const WindowStatistic* load = device->of("utilization_gpu_percent");
  return load != nullptr && load->looks.most() <= most_load_of_idle.count();
}

void write_users(const Page& page, const PeopleFound& people) {
  std::vector<std::pair<std::string, const UserUse*>> users;
  for (const auto& [name, user] : people.users) {
    if (users.size() == page.options.most_users) break;
    users.emplace_back(fmt::format("user=\"{}\"", name), &user);
  }
  const auto each = [&](const Family& family, auto value) {
    page.out.begin(family);
    for (const auto& [label, user] : users) page.out.add(label, {}, value(*user));
  };
  const auto some = [](std::size_t count) { return std::optional(decimal(count)); };
  const bool leases_are_known = !is_ledger_unread(page.scrape.snapshot);
  if (leases_are_known) {
    each(families::user_devices, [&](const UserUse& user) { return some(user.present.size()); });
    each(families::user_leased, [&](const UserUse& user) { return some(user.leased.size()); });
  }
  if (leases_are_known && page.scrape.window != nullptr) {
    each(families::user_idle, [&](const UserUse& user) {
      const auto idle = std::ranges::count_if(
          user.present, [&](DevicePosition position) { return was_idle(page, position); });
      return some(static_cast<std::size_t>(idle));
    });
  }
  each(families::user_processes,
       [&](const UserUse& user) { return std::optional(user.use.processes()); });
  each(families::user_memory, [](const UserUse& user) { return user.use.memory_sample(); });
  const auto each_device = [&](const Family& family, auto value) {
    page.out.begin(family);
    for (const auto& [label, user] : users) {
      for (const auto& [position, use] : user->on) {
        page.out.add(page.devices[position].labels, label, value(use));
      }
    }
  };
  each_device(families::device_user_memory,
              [](const DeviceUse& use) { return use.memory_sample(); });
  each_device(families::device_user_processes,
              [](const DeviceUse& use) { return std::optional(use.processes()); });
  page.out.begin(families::strangers);
  page.out.add(decimal(people.strangers.size()));
}

void write_pods(const Page& page, const PeopleFound& people) {
  const auto each = [&](const Family& family, auto value) {
    page.out.begin(family);
    std::size_t written = 0;
    for (const auto& [labels, uses] : people.pods) {
      if (written++ == page.options.most_pods) break;
      for (const auto& [position, use] : uses) {
        page.out.add(page.devices[position].labels, labels, value(use));
      }
    }
  };
  each(families::pod_memory, [](const DeviceUse& use) { return use.memory_sample(); });
  each(families::pod_processes,
       [](const DeviceUse& use) { return std::optional(use.processes()); });
}

struct LabelledLease {
  const Claim* claim = nullptr;
  std::string labels;
};

/// Oldest first, no two with the same labels, no more than the bound.
std::vector<LabelledLease> labelled_leases(const Page& page) {
  std::vector<LabelledLease> leases;
  std::set<std::string> seen;
  for (const Claim& claim : page.scrape.snapshot.claims) {
    if (leases.size() == page.options.most_leases) break;
    std::string labels;
    add_label(labels, "lease", claim.id);
    add_label(labels, "run", claim.run);
    add_label(labels, "user", claim.user);
    if (seen.insert(labels).second) leases.push_back({&claim, std::move(labels)});
  }
  return leases;
}

std::optional<Decimal> promised_memory(const Claim& claim) {
  Bytes sum;
  for (const ClaimedDevice& part : claim.devices) {
    if (!part.promised) return std::nullopt;
    sum += *part.promised;
  }
  return decimal(sum.count());
}

void write_leases(const Page& page, const PeopleFound& people) {
  if (is_ledger_unread(page.scrape.snapshot)) return;
  const std::vector<LabelledLease> leases = labelled_leases(page);
  const DeviceUse nothing;
  const auto use_of = [&](const Claim& claim) -> const DeviceUse& {
    const auto found = people.under.find(&claim);
    return found == people.under.end() ? nothing : found->second;
  };
  const auto each = [&](const Family& family, auto value) {
    page.out.begin(family);
    for (const auto& [claim, labels] : leases) page.out.add(labels, {}, value(*claim));
  };
  page.out.begin(families::leases);
  page.out.add(decimal(page.scrape.snapshot.claims.size()));
  each(families::lease_start,
       [](const Claim& claim) { return std::optional(unix_seconds(claim.since)); });
  each(families::lease_devices,
       [](const Claim& claim) { return std::optional(decimal(claim.devices.size())); });
  each(families::lease_promised, promised_memory);
  each(families::lease_memory, [&](const Claim& claim) { return use_of(claim).memory_sample(); });
  each(families::lease_processes,
       [&](const Claim& claim) { return std::optional(use_of(claim).processes()); });
}

void write_queue(const Page& page) {
  const Snapshot& snapshot = page.scrape.snapshot;
  if (is_ledger_unread(snapshot)) return;
  page.out.begin(families::queue_length);
  page.out.add(decimal(snapshot.waiters.size()));
  if (snapshot.waiters.empty()) return;
  const WallTime first = std::ranges::min(snapshot.waiters, {}, &Waiter::since).since;
  // The date may have been set back since.
  const std::int64_t waited = std::max<std::int64_t>(0, snapshot.taken.unix_ms - first.unix_ms);
  page.out.begin(families::queue_wait);
  page.out.add(signed_decimal(waited, -3));
}

struct LabelledProcess {
  const GpuProcess* process = nullptr;
  std::string labels;
};

/// The processes with most memory, no more than the bound, in the order of pids.
std::vector<LabelledProcess> labelled_processes(const Page& page) {
  std::vector<const GpuProcess*> chosen;
  for (const GpuProcess& process : page.scrape.snapshot.gpu_processes) chosen.push_back(&process);
  const auto weight = [](const GpuProcess* process) {
    return process->memory.get().value_or(Bytes{0}).count();
  };
  std::ranges::stable_sort(chosen, std::greater<>(), weight);
  if (chosen.size() > page.options.most_processes) chosen.resize(page.options.most_processes);
  std::ranges::stable_sort(chosen, {}, &GpuProcess::pid);
  std::vector<LabelledProcess> labelled;
  std::set<std::string> seen;
  for (const GpuProcess* process : chosen) {
    const Device* device = page.index.device(process->device);
    const auto at = std::ranges::find(page.devices, device, &PageDevice::device);
    if (at == page.devices.end()) continue;
    std::string labels = at->labels;
    add_label(labels, "pid", std::to_string(process->pid));
    if (!seen.insert(labels).second) continue;
    if (const HostProcess* known = page.index.process(process->pid)) {
      if (known->executable_name.get()) add_label(labels, "process", *known->executable_name.get());
      if (known->user.get()) add_label(labels, "user", *known->user.get());
    }
    labelled.push_back({process, std::move(labels)});
  }
  return labelled;
}

void write_process_series(const Page& page) {
  if (!page.options.per_process) return;
  const std::vector<LabelledProcess> processes = labelled_processes(page);
  page.out.begin(families::process_memory);
  for (const auto& [process, labels] : processes) {
    page.out.add(labels, {}, decimal_in(cell_of(process->memory), 0));
  }
  page.out.begin(families::process_sm);
  for (const auto& [process, labels] : processes) {
    page.out.add(labels, {}, decimal_in(cell_of(process->utilization_sm), -2));
  }
}

void write_left_out(const Page& page, const PeopleFound& people) {
  const Snapshot& snapshot = page.scrape.snapshot;
  const auto one = [&](std::string_view what, std::size_t there, std::size_t most) {
    page.out.add(what, decimal(there > most ? there - most : 0));
  };
  page.out.begin(families::left_out);
  if (!is_ledger_unread(snapshot)) {
    one("of=\"leases\"", snapshot.claims.size(), page.options.most_leases);
  }
  one("of=\"users\"", people.users.size(), page.options.most_users);
  if (!people.pods.empty()) one("of=\"pods\"", people.pods.size(), page.options.most_pods);
  if (page.options.per_process) {
    one("of=\"processes\"", snapshot.gpu_processes.size(), page.options.most_processes);
  }
}

}  // namespace

void write_people(const Page& page) {
  const PeopleFound people = people_of(page);
  write_users(page, people);
  write_pods(page, people);
  write_leases(page, people);
  write_queue(page);
  write_process_series(page);
  write_left_out(page, people);
}

}  // namespace berth::serve

#include "view/process_rows.h"

#include <algorithm>

#include "base/tr.h"
#include "snapshot/device_kind.h"
#include "snapshot/questions.h"

namespace berth {

namespace {

// What a driver holds for itself beside its processes stays below this.
constexpr Bytes worth_a_search{std::uint64_t{256} << 20};

/// Processes that have the device's file open without being in the driver's list of the card.
std::vector<pid_t> unlisted_holders(const Device& device, const SnapshotIndex& index) {
  std::vector<pid_t> holders;
  const Reading<DeviceFiles>& files = index.snapshot().device_files;
  const auto number = card_file_number(device);
  if (!files.get() || !number.get()) return holders;
  const auto& listed = index.processes_on(device.parent.value_or(device.id));
  for (const DeviceFileHolder& one : files.get()->holders) {
    const std::string_view card_file =
        one.card_file.empty() ? facts_of(unnamed_vendor).card_file : one.card_file;
    if (one.minor != *number.get() || card_file != facts_of(device.kind).card_file) continue;
    const bool known = std::any_of(listed.begin(), listed.end(),
                                   [&](const GpuProcess* use) { return use->pid == one.pid; });
    if (!known) holders.push_back(one.pid);
  }
  return holders;
}

}  // namespace

Presence presence_of(const HostProcess* process, const Host& host) {
  if (process == nullptr) return Presence::hidden;  // a dump that tells no more than the driver
  if (!process->user.get()) {
    if (process->user.why() != Absent::failed) return Presence::hidden;
    const Reading<std::string>& view = host.process_view;
    // Whether everybody can be seen from here was asked and not answered: nobody is called gone.
    if (!view.get() && view.why() != Absent::not_sampled) return Presence::hidden;
    const bool whole = !view.get() || *view.get() == "whole";
    return whole ? Presence::gone : Presence::elsewhere;
  }
  const std::string state = process->state.get() ? *process->state.get() : "";
  if (state == "Z" || state == "X") return Presence::zombie;
  return process->stuck ? Presence::stuck : Presence::alive;
}

std::string_view unseen_words(Presence presence) {
  if (presence == Presence::gone) return tr("(ended; its memory is still held)");
  if (presence == Presence::elsewhere) return tr("(outside this container)");
  return tr("(not visible from here)");
}

bool is_of(const std::string& user, const HostProcess* process) {
  if (process == nullptr) return false;
  if (process->user.get() && *process->user.get() == user) return true;
  return process->uid.get() && std::to_string(*process->uid.get()) == user;
}

bool has_ended(const ProcessRow& row) {
  return row.presence == Presence::gone || row.presence == Presence::zombie;
}

std::string_view name_of(Presence presence) {
  switch (presence) {
    case Presence::alive:
      return "alive";
    case Presence::stuck:
      return "stuck";
    case Presence::zombie:
      return "zombie";
    case Presence::gone:
      return "gone";
    case Presence::elsewhere:
      return "elsewhere";
    case Presence::hidden:
      return "hidden";
  }
  return "hidden";
}

std::vector<ProcessRow> process_rows(const SnapshotIndex& index,
                                     const ProcessListOptions& options) {
  const Snapshot& snapshot = index.snapshot();
  std::vector<ProcessRow> rows;
  for (const Device& device : snapshot.devices) {
    const std::size_t first = rows.size();
    for (const GpuProcess* use : index.processes_itself(device.id)) {
      const HostProcess* process = index.process(use->pid);
      if (options.user && !is_of(*options.user, process)) continue;
      rows.push_back({.device = &device,
                      .use = use,
                      .process = process,
                      .claim = index.claim_of(use->pid),
                      .presence = presence_of(process, snapshot.host)});
      if (has_ended(rows.back())) rows.back().holders = unlisted_holders(device, index);
    }
    std::sort(rows.begin() + static_cast<std::ptrdiff_t>(first), rows.end(),
              [](const ProcessRow& a, const ProcessRow& b) { return a.use->pid < b.use->pid; });
  }
  return rows;
}

std::vector<GhostRow> ghost_rows(const SnapshotIndex& index) {
  const Snapshot& snapshot = index.snapshot();
  std::vector<GhostRow> rows;
  for (const Device& device : snapshot.devices) {
    // A divided card's memory is its instances', and theirs is asked for each.
    if (division_of(device) != Division::whole) continue;
    const Reading<Bytes> unexplained = unexplained_memory(device, index);
    if (!unexplained.get() || *unexplained.get() < worth_a_search) continue;
    rows.push_back({.device = &device,
                    .memory = *unexplained.get(),
                    .holders = unlisted_holders(device, index)});
  }
  return rows;
}

Reading<Percent> cpu_share(const HostProcess& process, WallTime now) {
  if (!process.cpu_time.get()) return process.cpu_time.why();
  if (!process.started.get()) return process.started.why();
  const std::int64_t age = now.unix_ms - process.started.get()->unix_ms;
  if (age <= 0) return Absent::not_sampled;  // it has only just begun
  return Percent(100.0 * static_cast<double>(process.cpu_time.get()->count()) /
                 static_cast<double>(age));
}

}  // namespace berth

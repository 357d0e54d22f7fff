// The users of a device. One row per process, per lease without a process, and per amount of memory
// that nothing visible accounts for.

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/tr.h"
#include "snapshot/questions.h"
#include "view/process_rows.h"
#include "view/status_rows.h"
#include "view/values.h"

namespace berth {

namespace {

// What a driver keeps per process beside its list (contexts, page tables) stays below this.
constexpr Bytes worth_explaining{std::uint64_t{1} << 30};

std::string command_of(const HostProcess* process, const Style& style) {
  if (process != nullptr && process->command.get() && !process->command.get()->empty()) {
    std::vector<std::string> words = *process->command.get();
    // The path of the interpreter would push out what is being run.
    const std::size_t slash = words.front().rfind('/');
    if (slash != std::string::npos && slash + 1 < words.front().size()) {
      words.front().erase(0, slash + 1);
    }
    return outside(shell_joined(words), style);
  }
  if (process != nullptr && process->executable_name.get()) {
    return outside(*process->executable_name.get(), style);
  }
  return own(tr("(not visible from here)"), style);
}

template <class ClaimOrWaiter>
bool is_of(const std::string& user, const ClaimOrWaiter& promise) {
  return promise.user == user || std::to_string(promise.uid) == user;
}

const ClaimedDevice* part_of(const std::vector<ClaimedDevice>& devices, const DeviceId& device) {
  for (const ClaimedDevice& claimed : devices) {
    if (claimed.device == device) return &claimed;
  }
  return nullptr;
}
const ClaimedDevice* part_of(const Claim& claim, const DeviceId& device) {
  return part_of(claim.devices, device);
}

/// What the processes of a claim use on a device together, as far as it is known.
Bytes used_under(const Claim& claim, const DeviceId& device, const SnapshotIndex& index) {
  Bytes sum;
  for (const GpuProcess* use : index.processes_itself(device)) {
    if (index.claim_of(use->pid) == &claim && use->memory.get()) sum += *use->memory.get();
  }
  return sum;
}

/// One process, lease or unexplained amount of memory on a device.
struct OccupantRow {
  std::string user;
  std::string pid;
  std::string command;
  std::string age;
  std::string memory;
  std::string note;  // how it stands to the leases
  Paint note_paint = Paint::plain;
};

constexpr auto columns = std::to_array<TableColumn>({
    {.header = "", .minimum = 6, .most = 16},                              // user
    {.header = "", .align = Align::right, .minimum = 5, .drop_order = 3},  // PID
    {.header = "", .minimum = 12},                                         // command
    {.header = "", .align = Align::right, .minimum = 6, .drop_order = 1},  // age
    {.header = "", .align = Align::right, .minimum = 5},                   // memory
    {.header = "", .minimum = 5, .drop_order = 2, .most = 32},             // note
});

TableRow cells_of(OccupantRow row) {
  return {{std::move(row.user), Paint::bold},
          {std::move(row.pid), Paint::dim},
          std::move(row.command),
          std::move(row.age),
          std::move(row.memory),
          {std::move(row.note), row.note_paint}};
}

/// "alice, bob": whose promises cannot be kept.
std::string promised_users(const PromisesTaken& taken) {
  std::vector<std::string> users;
  for (const Claim* claim : taken.promised_to) users.push_back(printable(claim->user));
  std::ranges::sort(users);
  users.erase(std::unique(users.begin(), users.end()), users.end());
  return joined(users, ", ");
}

void note_lease(OccupantRow& row, const GpuProcess& use, const SnapshotIndex& index) {
  const Claim* claim = index.claim_of(use.pid);
  if (claim == nullptr) {
    if (is_background(use)) {
      row.note = use.server ? tr("the driver's own") : tr("desktop");
      row.note_paint = Paint::dim;
    } else if (!index.claims_on(use.device).empty()) {
      const Device* device = index.device(use.device);
      const auto taken = device != nullptr ? promises_taken(*device, index) : PromisesTaken();
      row.note = taken.by.empty() ? std::string(tr("no lease"))
                                  : trf("uses memory promised to {}", promised_users(taken));
      row.note_paint = Paint::yellow;
    }
    return;
  }
  const ClaimedDevice* part = part_of(*claim, use.device);
  if (part == nullptr) {
    row.note = tr("outside its lease");
    row.note_paint = Paint::red;
  } else if (!part->promised) {
    row.note = tr("lease");
  } else if (used_under(*claim, use.device, index) > *part->promised) {
    row.note = trf("over its {}", bytes_short(*part->promised));
    row.note_paint = Paint::red;
  } else {
    row.note = trf("lease {}", bytes_short(*part->promised));
  }
}

OccupantRow process_row(const GpuProcess& use, const SnapshotIndex& index, const Style& style) {
  const HostProcess* process = index.process(use.pid);
  OccupantRow row;
  row.user = absent_mark(style);
  row.age = absent_mark(style);
  if (process != nullptr) {
    row.user = reading_text(process->user, style,
                            [&](const std::string& name) { return outside(name, style); });
    row.age = reading_text(process->started, style, [&](WallTime started) {
      return age_text(started, index.snapshot().taken);
    });
  }
  row.pid = std::to_string(use.pid);
  row.command = command_of(process, style);
  row.memory = reading_text(use.memory, style, bytes_short);
  note_lease(row, use, index);
  const std::string enclosure =
      process != nullptr ? enclosure_title(*process).get().value_or("") : "";
  if (!enclosure.empty()) {
    if (!row.note.empty()) row.note += ", ";
    row.note += outside(enclosure, style);
  }
  row.note = own(row.note, style);
  return row;
}

OccupantRow unused_lease_row(const Claim& claim, const ClaimedDevice& part,
                             const SnapshotIndex& index, const Style& style) {
  OccupantRow row;
  row.user = outside(claim.user, style);
  row.pid = claim.job ? std::to_string(claim.job->pid) : std::string(absent_mark(style));
  row.command =
      claim.parsed ? outside(claim.command, style) : own(tr("(lease in a newer format)"), style);
  row.age = claim.since.unix_ms > 0 ? age_text(claim.since, index.snapshot().taken)
                                    : std::string(absent_mark(style));
  row.memory = absent_mark(style);
  row.note = own(part.promised ? trf("lease {}, unused", bytes_short(*part.promised))
                               : std::string(tr("lease, unused")),
                 style);
  return row;
}

OccupantRow reservation_row(const Waiter& waiter, const DeviceId& device,
                            const SnapshotIndex& index, const Style& style) {
  OccupantRow row;
  row.user = waiter.user.empty() ? std::string(absent_mark(style)) : outside(waiter.user, style);
  row.pid = absent_mark(style);
  row.command = outside(waiter.command, style);
  row.age = age_text(waiter.since, index.snapshot().taken);
  row.memory = absent_mark(style);
  const ClaimedDevice* part = part_of(waiter.reserved, device);
  row.note = own(part != nullptr && part->promised
                     ? trf("{} reserved, waits", bytes_short(*part->promised))
                     : std::string(tr("reserved, waits")),
                 style);
  row.note_paint = Paint::yellow;
  return row;
}

std::optional<OccupantRow> unexplained_row(const Device& device, const SnapshotIndex& index,
                                           const Style& style) {
  if (division_of(device) != Division::whole) return {};
  const Reading<Bytes> unexplained = unexplained_memory(device, index);
  if (!unexplained.get()) return {};
  const bool is_all =
      state_of(device, index) == DeviceState::held && index.processes_on(device.id).empty();
  if (!is_all && *unexplained.get() < worth_explaining) return {};
  OccupantRow row;
  row.user = "?";
  row.pid = absent_mark(style);
  row.command = own(tr("(held by no visible process)"), style);
  row.age = absent_mark(style);
  row.memory = bytes_short(*unexplained.get());
  return row;
}

}  // namespace

bool has_something_on(const std::string& user, const Device& device, const SnapshotIndex& index) {
  for (const Claim* claim : index.claims_on(device.id)) {
    if (is_of(user, *claim)) return true;
  }
  for (const Waiter* waiter : waiters_for(device, index.snapshot())) {
    if (is_of(user, *waiter)) return true;
  }
  const auto& uses = index.processes_itself(device.id);
  return std::any_of(uses.begin(), uses.end(),
                     [&](const GpuProcess* use) { return is_of(user, index.process(use->pid)); });
}

std::vector<TableRow> occupants_of(const Device& device, const SnapshotIndex& index,
                                   const std::optional<std::string>& user, const Style& style) {
  std::vector<TableRow> leased;
  std::vector<TableRow> strangers;
  std::vector<const Claim*> used;
  for (const GpuProcess* use : index.processes_itself(device.id)) {
    const Claim* claim = index.claim_of(use->pid);
    if (claim != nullptr) used.push_back(claim);
    if (user && !is_of(*user, index.process(use->pid))) continue;
    const bool is_leased = claim != nullptr && part_of(*claim, device.id) != nullptr;
    (is_leased ? leased : strangers).push_back(cells_of(process_row(*use, index, style)));
  }
  for (const Claim* claim : index.claims_on(device.id)) {
    if (std::find(used.begin(), used.end(), claim) != used.end()) continue;
    if (user && !is_of(*user, *claim)) continue;
    leased.push_back(cells_of(unused_lease_row(*claim, *part_of(*claim, device.id), index, style)));
  }
  leased.insert(leased.end(), strangers.begin(), strangers.end());
  for (const Waiter* waiter : waiters_for(device, index.snapshot())) {
    if (user && !is_of(*user, *waiter)) continue;
    leased.push_back(cells_of(reservation_row(*waiter, device.id, index, style)));
  }
  if (!user) {
    if (auto rest = unexplained_row(device, index, style))
      leased.push_back(cells_of(*std::move(rest)));
  }
  return leased;
}

Table occupant_table(const std::vector<std::vector<TableRow>>& all, int width, const Style& style) {
  std::vector<TableRow> rows;
  for (const auto& one : all) rows.insert(rows.end(), one.begin(), one.end());
  return {columns, std::move(rows), 1, style, width};
}

}  // namespace berth

#include "view/process_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/text.h"
#include "base/tr.h"
#include "snapshot/device_kind.h"
#include "snapshot/process.h"
#include "snapshot/questions.h"
#include "view/process_rows.h"
#include "view/table.h"
#include "view/values.h"

namespace berth {

namespace {

// The columns of the table, from left to right.
enum Column : std::size_t {
  device_column,
  pid_column,
  user_column,
  type_column,
  age_column,
  state_column,
  cpu_column,
  resident_column,
  memory_column,
  sm_column,
  bandwidth_column,
  encoder_column,
  decoder_column,
  under_column,
  command_column,
  column_count
};

// A number cut in half is a wrong number: those are whole.
constexpr std::array<TableColumn, column_count> columns = {{
    {.header = as_key("GPU"), .minimum = 3, .when_empty = WhenEmpty::absent_goes},
    {.header = as_key("PID"), .align = Align::right, .when_empty = WhenEmpty::absent_goes},
    {.header = as_key("User"), .minimum = 6, .when_empty = WhenEmpty::absent_goes, .most = 16},
    {.header = as_key("Type"), .minimum = 1, .drop_order = 5, .when_empty = WhenEmpty::absent_goes},
    {.header = as_key("Age"),
     .align = Align::right,
     .drop_order = 3,
     .when_empty = WhenEmpty::absent_goes},
    {.header = as_key("State"),
     .minimum = 5,
     .drop_order = 6,
     .when_empty = WhenEmpty::absent_goes},
    {.header = as_key("CPU"),
     .align = Align::right,
     .drop_order = 4,
     .when_empty = WhenEmpty::absent_goes},
    {.header = as_key("RAM"),
     .align = Align::right,
     .drop_order = 7,
     .when_empty = WhenEmpty::absent_goes},
    {.header = as_key("GPU mem"), .align = Align::right, .when_empty = WhenEmpty::absent_goes},
    {.header = as_key("SM"),
     .align = Align::right,
     .drop_order = 8,
     .when_empty = WhenEmpty::absent_goes},
    // Beside the command only where it is told whole.
    {.header = as_key("Mem%"),
     .align = Align::right,
     .drop_order = ColumnWidth::luxury,
     .when_empty = WhenEmpty::absent_goes},
    {.header = as_key("Enc"),
     .align = Align::right,
     .drop_order = ColumnWidth::luxury + 2,
     .when_empty = WhenEmpty::absent_goes},
    {.header = as_key("Dec"),
     .align = Align::right,
     .drop_order = ColumnWidth::luxury + 1,
     .when_empty = WhenEmpty::absent_goes},
    {.header = as_key("Under"),
     .minimum = 5,
     .drop_order = 2,
     .when_empty = WhenEmpty::absent_goes,
     .most = 28},
    {.header = as_key("Command"), .minimum = 12},
}};

std::string device_text(const Device& device, const Style& style) {
  std::string text =
      device.index ? std::to_string(*device.index) : cut_to_width(device.id.text(), 8, !style.utf8);
  if (device.partition) {
    text +=
        fmt::format(":{}/{}", device.partition->gpu_instance, device.partition->compute_instance);
  }
  return outside(text, style);
}

std::string command_text(const HostProcess* process, Presence presence, const Style& style) {
  if (process != nullptr && process->command.get() && !process->command.get()->empty()) {
    return outside(shell_joined(*process->command.get()), style);
  }
  if (process != nullptr && process->executable_name.get()) {
    return "[" + outside(*process->executable_name.get(), style) + "]";
  }
  return own(unseen_words(presence), style);
}

TableCell state_cell(const ProcessRow& row, const Style& style) {
  switch (row.presence) {
    case Presence::alive:
      return {reading_text(row.process->state, style,
                           [&](const std::string& state) { return outside(state, style); }),
              Paint::dim};
    case Presence::stuck:
      return {own(tr("stuck"), style), Paint::red};
    case Presence::zombie:
      return {own(tr("zombie"), style), Paint::yellow};
    case Presence::gone:
      return {own(tr("gone"), style), Paint::red};
    case Presence::elsewhere:
    case Presence::hidden:
      return {std::string(absent_mark(style)), Paint::plain};
  }
  return {};
}

/// What encloses the process: its run, its container, or nothing.
std::string under_text(const ProcessRow& row, const Style& style) {
  std::string text;
  if (row.claim != nullptr) {
    text = row.claim->run.empty() ? own(tr("lease"), style) : outside(row.claim->run, style);
  }
  const std::string enclosure =
      row.process != nullptr ? enclosure_title(*row.process).get().value_or("") : "";
  if (!enclosure.empty()) {
    if (!text.empty()) text += ", ";
    text += outside(enclosure, style);
  }
  return text;
}

TableRow host_cells(const HostProcess& process, WallTime now, const Style& style) {
  TableRow cells(column_count);
  const auto shown = [&](const std::string& text) { return outside(text, style); };
  cells[pid_column].text = std::to_string(process.id.pid);
  cells[user_column] = {reading_text(process.user, style, shown), Paint::bold};
  cells[age_column].text = reading_text(process.started, style,
                                        [&](WallTime started) { return age_text(started, now); });
  cells[cpu_column].text = reading_text(cpu_share(process, now), style, percent_text);
  cells[resident_column].text = reading_text(process.memory_resident, style, bytes_short);
  return cells;
}

TableRow cells_of(const ProcessRow& row, WallTime now, const Style& style) {
  HostProcess unseen;
  unseen.user = Absent::failed;
  TableRow cells = host_cells(row.process != nullptr ? *row.process : unseen, now, style);
  cells[device_column].text = device_text(*row.device, style);
  cells[pid_column].text = std::to_string(row.use->pid);
  cells[type_column] = {std::string(word_of(row.use->use)), Paint::dim};
  cells[state_column] = state_cell(row, style);
  cells[memory_column].text = reading_text(row.use->memory, style, bytes_short);
  cells[sm_column].text = reading_text(row.use->utilization_sm, style, percent_text);
  cells[bandwidth_column].text = reading_text(row.use->utilization_memory, style, percent_text);
  cells[encoder_column].text = reading_text(row.use->utilization_encoder, style, percent_text);
  cells[decoder_column].text = reading_text(row.use->utilization_decoder, style, percent_text);
  cells[under_column] = {under_text(row, style), Paint::blue};
  cells[command_column].text = command_text(row.process, row.presence, style);
  return cells;
}

// --- under their parents -------------------------------------------------------------------------

/// The nearest parent that is in the list; -1: none is.
pid_t parent_of(const HostProcess& process, const SnapshotIndex& index) {
  for (const pid_t parent : process.ancestors) {
    if (parent > 1 && parent != process.id.pid && index.process(parent) != nullptr) return parent;
  }
  return -1;
}

class Forest {
 public:
  Forest(const std::vector<ProcessRow>& rows, const SnapshotIndex& index, const Style& style)
      : rows_(rows), index_(index), style_(style) {
    for (const ProcessRow& row : rows) add(row.use->pid);
  }

  std::vector<TableRow> lines() {
    const std::set<pid_t> roots = children_[no_parent];
    for (const pid_t root : roots) walk(root, "", true, true);
    // A file may say that two are each other's parents: then neither hangs on a root.
    for (const pid_t pid : seen_) walk(pid, "", true, true);
    return std::move(lines_);
  }

 private:
  static constexpr pid_t no_parent = -1;

  void add(pid_t pid) {
    while (pid != no_parent && seen_.insert(pid).second) {
      const HostProcess* process = index_.process(pid);
      const pid_t parent = process != nullptr ? parent_of(*process, index_) : no_parent;
      children_[parent].insert(pid);
      pid = parent;
    }
  }

  void walk(pid_t pid, const std::string& indent, bool is_last, bool is_root) {
    if (!walked_.insert(pid).second) return;
    const std::string_view branch =
        style_.utf8 ? (is_last ? "└─ " : "├─ ") : (is_last ? "`- " : "|- ");
    const std::string lead = is_root ? "" : indent + std::string(branch);
    bool shown = false;
    for (const ProcessRow& row : rows_) {
      if (row.use->pid != pid) continue;
      put(cells_of(row, index_.snapshot().taken, style_), lead, shown);
      shown = true;
    }
    if (!shown) put_parent(pid, lead);
    const std::string_view trunk = style_.utf8 ? "│  " : "|  ";
    const std::string below = is_root ? "" : indent + std::string(is_last ? "   " : trunk);
    const std::set<pid_t> children = children_[pid];
    for (const pid_t child : children) walk(child, below, child == *children.rbegin(), false);
  }

  void put(TableRow cells, const std::string& lead, bool again) {
    if (again) {  // on its second device
      cells[command_column].text = lead + own(tr("(the same)"), style_);
      for (const Column at : {user_column, age_column, state_column, cpu_column, resident_column}) {
        cells[at].text.clear();
      }
    } else {
      cells[command_column].text = lead + cells[command_column].text;
    }
    lines_.push_back(std::move(cells));
  }

  void put_parent(pid_t pid, const std::string& lead) {
    const HostProcess* process = index_.process(pid);
    if (process == nullptr) return;
    TableRow cells = host_cells(*process, index_.snapshot().taken, style_);
    cells[command_column] = {lead + command_text(process, Presence::alive, style_), Paint::dim};
    lines_.push_back(std::move(cells));
  }

  const std::vector<ProcessRow>& rows_;
  const SnapshotIndex& index_;
  const Style& style_;
  std::set<pid_t> seen_;
  std::set<pid_t> walked_;
  std::map<pid_t, std::set<pid_t>> children_;  // under no_parent: the roots
  std::vector<TableRow> lines_;
};

// --- below the table -----------------------------------------------------------------------------

std::string bullet(const std::string& text, const Style& style) {
  return warning_line(own(text, style), style);
}

std::string advice(std::string_view text, const Style& style) {
  return advice_line(own(text, style), style);
}

/// Why it is not known who has the device's file open, and what to do; empty: it is.
std::string unknown_holders(const Device& device, const Snapshot& snapshot, bool any_known) {
  const Reading<DeviceFiles>& files = snapshot.device_files;
  if (!files.get() && files.why() == Absent::not_sampled && snapshot.simulated) {
    return std::string(
        tr("the server is simulated: there is no device file that somebody could have open"));
  }
  if (!files.get()) return trf("who has it open was not found out: {}", reason_text(files.why()));
  if (const auto number = card_file_number(device); !number.get()) {
    return trf("who has it open was not found out: {}",
               trf("the number of its device file is not known ({})", reason_text(number.why())));
  }
  const Reading<std::uint64_t>& unreadable = files.get()->unreadable;
  if (!unreadable.get() && unreadable.why() == Absent::no_permission) {
    return std::string(
        tr("other users' processes could not be looked into: /proc hides them "
           "(hidepid); root sees them: sudo berth ps"));
  }
  if (!unreadable.get()) {
    return trf("who has it open was not found out: {}", reason_text(unreadable.why()));
  }
  if (*unreadable.get() > 0) {
    return *unreadable.get() == 1
               ? std::string(
                     tr("one process could not be looked into; root sees it: sudo berth ps"))
               : trf("{} processes could not be looked into; root sees them: sudo berth ps",
                     *unreadable.get());
  }
  if (any_known || sees_all_processes(snapshot.host)) return {};
  return std::string(
      tr("nobody that can be seen from here has it open. Processes outside could not be looked "
         "into: run berth on the host"));
}

std::string holders_text(const Device& device, const std::vector<pid_t>& holders,
                         const SnapshotIndex& index, const Style& style) {
  std::string text;
  for (const pid_t pid : holders) {
    const HostProcess* process = index.process(pid);
    const auto shown = [&](const std::string& user) { return outside(user, style); };
    text += advice(trf("{} ({}) has the device open: {}", pid,
                       process != nullptr ? reading_text(process->user, style, shown) : "?",
                       command_text(process, Presence::hidden, style)),
                   style);
  }
  const std::string unknown = unknown_holders(device, index.snapshot(), !holders.empty());
  if (!unknown.empty()) {
    text += advice(unknown, style);
  } else if (holders.empty()) {
    text += advice(tr("nobody has it open: the driver has not given it back; unloading the driver "
                      "or a reset by root does"),
                   style);
  }
  return text;
}

std::string ghost_text(const GhostRow& ghost, const SnapshotIndex& index, const Style& style) {
  return bullet(trf("GPU {}: {} held by no process in the driver's list",
                    device_text(*ghost.device, style), bytes_text(ghost.memory)),
                style) +
         holders_text(*ghost.device, ghost.holders, index, style);
}

/// The processes that use what leases were promised.
std::string taken_text(const Device& device, const SnapshotIndex& index, const Style& style) {
  const PromisesTaken taken = promises_taken(device, index);
  if (taken.by.empty()) return {};
  const std::string users = joined(taken.by, ", ", [](const UnleasedUse& one) {
    return (one.user.empty() ? "?" : printable(one.user)) + " " + bytes_text(one.memory);
  });
  std::set<std::string> promised;
  for (const Claim* claim : taken.promised_to) promised.insert(printable(claim->user));
  return bullet(
      trf("GPU {}: {} promised to {} are used without a lease ({})", device_text(device, style),
          bytes_text(taken.memory), joined(promised, ", "), users),
      style);
}

/// Processes that have ended and are still listed, with those that may keep their memory.
std::string ended_text(const std::vector<ProcessRow>& rows, const std::vector<GhostRow>& ghosts,
                       const SnapshotIndex& index, const Style& style) {
  const auto count = std::count_if(rows.begin(), rows.end(), has_ended);
  if (count == 0) return {};
  std::string text =
      bullet(trf("{} listed by the driver have ended and still hold memory", count), style);
  text += advice(tr("a child that inherited the device may hold it: see who has it open"), style);
  std::set<const Device*> said;
  for (const GhostRow& ghost : ghosts) said.insert(ghost.device);  // below
  for (const ProcessRow& row : rows) {
    if (!has_ended(row) || !said.insert(row.device).second) continue;
    text += bullet(
        trf("GPU {}: held by processes that have ended", device_text(*row.device, style)), style);
    text += holders_text(*row.device, row.holders, index, style);
  }
  return text;
}

bool is_blind(const Snapshot& snapshot) {
  return std::any_of(snapshot.devices.begin(), snapshot.devices.end(), is_list_unread) ||
         std::any_of(snapshot.problems.begin(), snapshot.problems.end(), hides_processes);
}

/// No row is no proof that nobody is there.
std::string empty_text(const Snapshot& snapshot, const ProcessListOptions& options) {
  if (is_blind(snapshot)) return std::string(tr("Who is on the devices could not be read."));
  if (options.user) return trf("{} has no process on any device.", printable(*options.user));
  return std::string(tr("No process is on any device."));
}

std::size_t count_of(const std::vector<ProcessRow>& rows, Presence presence) {
  return static_cast<std::size_t>(std::count_if(
      rows.begin(), rows.end(), [&](const ProcessRow& row) { return row.presence == presence; }));
}

bool is_kept_from_us(const ProcessRow& row) {
  return row.process != nullptr && !row.process->state.get() &&
         row.process->state.why() == Absent::no_permission;
}

std::string notes(const std::vector<ProcessRow>& rows, const std::vector<GhostRow>& ghosts,
                  const SnapshotIndex& index, const Style& style) {
  std::string text = ended_text(rows, ghosts, index, style);
  if (const std::size_t stuck = count_of(rows, Presence::stuck); stuck > 0) {
    text += bullet(
        stuck == 1
            ? std::string(tr("one waits in the kernel (state D): no signal reaches it there"))
            : trf("{} wait in the kernel (state D): no signal reaches them there", stuck),
        style);
    text += advice(tr("a driver or a network file system that does not answer; see the kernel log"),
                   style);
  }
  if (const auto hidden = std::count_if(rows.begin(), rows.end(), is_kept_from_us); hidden > 0) {
    text += bullet(
        trf("{} of other users cannot be looked into: /proc hides them (hidepid)", hidden), style);
    text += advice(tr("root sees them: sudo berth ps"), style);
  }
  for (const GhostRow& ghost : ghosts) text += ghost_text(ghost, index, style);
  for (const Device& device : index.snapshot().devices) text += taken_text(device, index, style);
  if (const std::string note = process_view_note(index.snapshot().host); !note.empty()) {
    text += bullet(note, style);
    if (*index.snapshot().host.process_view.get() == "namespace") {
      text += advice(tr("start the container with --pid=host, or run berth on the host"), style);
    }
  }
  for (const Problem& problem : index.snapshot().problems) {
    text += bullet(outside(problem.message.shown(), style), style);
  }
  return text.empty() ? text : "\n" + text;
}

}  // namespace

std::string process_view_note(const Host& host) {
  const auto& view = host.process_view.get();
  if (view && *view == "namespace") {
    return std::string(
        tr("this is a container, and the driver numbers processes as the host does. Names and "
           "users are known only of processes here that have the device open or a lease of it"));
  }
  if (view && *view == "wsl") {
    return std::string(tr("this is WSL: processes of Windows are not listed"));
  }
  return {};
}

std::string render_process_list(const Snapshot& snapshot, const Style& style,
                                const ProcessListOptions& options) {
  const SnapshotIndex index(snapshot);
  const std::vector<ProcessRow> rows = process_rows(index, options);
  std::string text = simulated_line(snapshot.simulated, style);
  if (rows.empty()) {
    text += own(empty_text(snapshot, options), style) + "\n";
  } else if (options.tree) {
    text += Table(columns, Forest(rows, index, style).lines(), 1, style).text();
  } else {
    std::vector<TableRow> cells;
    for (const ProcessRow& row : rows) cells.push_back(cells_of(row, snapshot.taken, style));
    text += Table(columns, std::move(cells), 1, style).text();
  }
  const std::vector<GhostRow> ghosts = options.user ? std::vector<GhostRow>() : ghost_rows(index);
  return text + notes(rows, ghosts, index, style);
}

}  // namespace berth

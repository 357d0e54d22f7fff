#include "view/status.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <set>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "base/tr.h"
#include "view/paint.h"
#include "view/placement_text.h"
#include "view/software_text.h"
#include "view/status_rows.h"
#include "view/values.h"

namespace berth {

namespace {

// From here on occupants stand behind their device instead of below it.
constexpr int wide_terminal = 132;
constexpr int narrowest_pane = 54;
constexpr int indent_below = 6;

bool is_chosen(const Device& device, const SnapshotIndex& index, const StatusOptions& options) {
  const auto named = [&](const Device& one) {
    return std::any_of(options.devices.begin(), options.devices.end(),
                       [&](const DevicePattern& pattern) { return matches(pattern, one); });
  };
  if (!options.devices.empty() && !named(device)) {
    const Device* parent = device.parent ? index.device(*device.parent) : nullptr;
    if (parent == nullptr || !named(*parent)) return false;
  }
  return !options.user || has_something_on(*options.user, device, index);
}

std::vector<const Device*> chosen_devices(const SnapshotIndex& index,
                                          const StatusOptions& options) {
  std::vector<const Device*> chosen;
  for (const Device& device : index.snapshot().devices) {
    if (is_chosen(device, index, options)) chosen.push_back(&device);
  }
  return chosen;
}

/// Indices as ranges: "0-3 5".
std::string ranges(const std::vector<int>& indices) {
  std::string text;
  for (std::size_t i = 0; i < indices.size();) {
    std::size_t last = i;
    while (last + 1 < indices.size() && indices[last + 1] == indices[last] + 1) ++last;
    if (!text.empty()) text += ' ';
    text += std::to_string(indices[i]);
    if (last > i) text += (last == i + 1 ? " " : "-") + std::to_string(indices[last]);
    i = last + 1;
  }
  return text;
}

struct Counts {
  int all = 0;  // what a job could be given: whole devices and MIG instances
  std::array<int, device_state_count> by_state{};
  std::vector<int> free_indices;
  [[nodiscard]] int of(DeviceState state) const {
    return by_state[static_cast<std::size_t>(state)];
  }
};

Counts counted(const std::vector<DeviceRow>& rows) {
  Counts counts;
  for (const DeviceRow& row : rows) {
    if (row.divided) continue;
    ++counts.all;
    ++counts.by_state[static_cast<std::size_t>(row.state)];
    if (row.state == DeviceState::free && row.device->index && !row.device->parent) {
      counts.free_indices.push_back(*row.device->index);
    }
  }
  return counts;
}

void add_simulated(Line& line, const Snapshot& snapshot, const Style& style) {
  if (!snapshot.simulated) return;
  // Never translated: the mark on a screenshot must be understood by everybody.
  line.add("SIMULATED " + outside(*snapshot.simulated, style), Paint::yellow).add("  ");
}

/// The line for two in the morning: what is free, and what is wrong.
std::string summary_line(const Counts& counts, const Snapshot& snapshot, const Style& style) {
  Line line(style);
  add_simulated(line, snapshot, style);
  const int free = counts.of(DeviceState::free);
  if (counts.all == 0) {
    const bool unknown = why_devices_are_unknown(snapshot) != nullptr;
    line.add(own(unknown ? tr("Which GPUs there are is not known") : tr("No GPU found"), style),
             Paint::yellow);
  } else if (free == 0) {
    line.add(own(trf("0 of {} free", counts.all), style), Paint::yellow);
  } else {
    std::string text = trf("{} of {} free", free, counts.all);
    if (!counts.free_indices.empty()) text += std::string(tr(": ")) + ranges(counts.free_indices);
    line.add(own(text, style), Paint::green);
  }
  // Before the states: what stands at the end is cut on a narrow terminal.
  if (!snapshot.waiters.empty()) {
    line.add("  ").add(own(trf("{} waiting", snapshot.waiters.size()), style), Paint::yellow);
  }
  for (const DeviceState state : {DeviceState::reserved, DeviceState::leased, DeviceState::busy,
                                  DeviceState::held, DeviceState::unknown, DeviceState::failed,
                                  DeviceState::divided, DeviceState::lost, DeviceState::unusable}) {
    if (counts.of(state) == 0) continue;
    line.add("  ").add(own(fmt::format("{} {}", counts.of(state), state_word(state)), style),
                       state_paint(state));
  }
  std::string time = date_time_text(snapshot.taken, style);
  const auto start = [&] { return style.width - static_cast<int>(time.size()); };
  if (line.width() + 2 > start()) time.erase(0, time.find(' ') + 1);  // the clock alone
  if (line.width() + 2 <= start()) line.space_to(start()).add(time, Paint::dim);
  return line.text();
}

std::string host_line(const Snapshot& snapshot, const Style& style) {
  const Host& host = snapshot.host;
  Line line(style);
  const auto add = [&](const std::string& text) {
    if (line.width() > 0) line.add("  ");
    line.add(text, Paint::dim);
  };
  if (host.name.get()) add(outside(*host.name.get(), style));
  for (const std::string& text : software_texts(host, SupportedWords::explained, style)) add(text);
  return line.width() > 0 ? line.text() : "";
}

std::string users_text(const std::vector<TableRow>& occupants) {
  std::vector<std::string> users;
  for (const TableRow& one : occupants) {
    const std::string& user = one.front().text;
    if (!contains(users, user)) users.push_back(user);
  }
  return joined(users, ", ");
}

/// The line under a device: its problem, or the reason that was cut in its row.
std::string line_below(const DeviceRow& row, const DeviceColumns& columns, const Style& style) {
  const bool is_cut = display_width(row.reason) > columns.reason_room();
  const std::string& text = row.health.empty() && is_cut ? row.reason : row.health;
  if (text.empty()) return "";
  Line line(style);
  line.space_to(std::min(indent_below, style.width / 10));
  const int room = std::max(style.width - line.width(), 0);
  return line.add(cut_to_width(text, room, !style.utf8), row.health_paint).text();
}

std::string device_table(const std::vector<DeviceRow>& rows,
                         const std::vector<std::vector<TableRow>>& occupants, const Style& style) {
  const bool behind = style.width >= wide_terminal;
  const int room =
      behind ? style.width - 2 - std::max(narrowest_pane, style.width * 2 / 5) : style.width;
  const DeviceColumns columns(rows, room, style);
  const int start = behind ? columns.width() + 1 : std::min(indent_below, style.width / 10);
  const Table occupant_columns = occupant_table(occupants, style.width - start, style);
  std::string text = columns.header();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Line line(style);
    columns.add(line, rows[i]);
    std::string below = line_below(rows[i], columns, style);
    for (std::size_t k = 0; k < occupants[i].size(); ++k) {
      if (k > 0 || !behind) {
        text += line.text() + std::exchange(below, "");
        line = Line(style);
      }
      line.space_to(start);
      occupant_columns.add_to(line, occupants[i][k]);
    }
    text += line.text() + below;
  }
  return text;
}

std::string queue_text(const Snapshot& snapshot, const Style& style) {
  if (snapshot.waiters.empty()) return "";
  std::string text = "\n" + Line(style).add(own(tr("Waiting"), style), Paint::bold).text();
  const TableColumn columns[] = {{.align = Align::right, .least = 3},
                                 {.most = 16},
                                 {.align = Align::right, .least = 6},
                                 {.most = style.width / 3}};
  std::vector<TableRow> rows;
  for (const Waiter& waiter : snapshot.waiters) {
    rows.push_back({std::to_string(rows.size() + 1),
                    {outside(waiter.user, style), Paint::bold},
                    age_text(waiter.since, snapshot.taken),
                    outside(waiter.wants, style)});
  }
  const Table table(columns, rows, 2, style);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Waiter& waiter = snapshot.waiters[i];
    Line line(style);
    table.add_to(line, rows[i]);
    if (waiter.stuck) {
      line.add(own(tr("does not answer, passed over"), style), Paint::yellow).add("  ");
    }
    const int room = std::max(style.width - line.width(), 0);
    line.add(cut_to_width(outside(waiter.command, style), room, !style.utf8), Paint::dim);
    text += line.text();
  }
  return text;
}

std::string problems_text(const Snapshot& snapshot, const Style& style) {
  std::string text;
  std::set<std::string> said;
  for (std::size_t i = 0; i < snapshot.problems.size(); ++i) {
    const Problem& problem = snapshot.problems[i];
    if (!said.insert(problem.message.english()).second) continue;
    if (text.empty()) text = "\n";
    text += warning_line(outside(problem.message.shown(), style), style);
    // A remedy shared by several stands once, under the last of them.
    const bool follows = std::any_of(snapshot.problems.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                     snapshot.problems.end(), [&](const Problem& later) {
                                       return later.remedy == problem.remedy &&
                                              !said.contains(later.message.english());
                                     });
    if (problem.remedy.empty() || follows) continue;
    text += advice_line(outside(problem.remedy.shown(), style), style);
  }
  return text;
}

/// Nothing to show: what was looked at, and what to do next.
std::string nothing_text(const Snapshot& snapshot, const StatusOptions& options,
                         const Style& style) {
  if (!snapshot.devices.empty()) {
    return wrapped(
        "",
        own(options.user ? trf("{} has nothing on any device shown.", printable(*options.user))
                         : std::string(tr("No device matches -i.")),
            style),
        2, style);
  }
  const auto is_of_devices = [](const SourceReport& one) { return one.source != ledger_source; };
  const auto told = [](const SourceReport& one) {
    const auto how = one.succeeded ? tr("(nothing there)") : tr("(could not be asked)");
    return printable(one.source) + " " + std::string(how);
  };
  const std::string sources =
      joined(snapshot.sources | std::views::filter(is_of_devices), ", ", told);
  std::string text;
  if (!sources.empty()) text += wrapped("", own(trf("Looked at: {}.", sources), style), 2, style);
  text += wrapped("",
                  own(tr("If a card is built in, `lspci -k` shows it and the kernel driver bound "
                         "to it. To try berth without one: `berth demo`."),
                      style),
                  2, style);
  return text;
}

/// Without which row of a device are its MIG instances shown.
std::vector<std::string> device_names(const Snapshot& snapshot) {
  std::vector<std::string> names;
  for (const Device& device : snapshot.devices) {
    names.push_back(device.index && !device.parent ? std::to_string(*device.index)
                                                   : device.id.text());
  }
  return names;
}

}  // namespace

std::vector<const Device*> shown_devices(const Snapshot& snapshot, const StatusOptions& options) {
  return chosen_devices(SnapshotIndex(snapshot), options);
}

Result<void> check_patterns(const Snapshot& snapshot, const StatusOptions& options) {
  for (const DevicePattern& pattern : options.devices) {
    const bool found = std::any_of(snapshot.devices.begin(), snapshot.devices.end(),
                                   [&](const Device& device) { return matches(pattern, device); });
    if (found) continue;
    std::string known;
    for (const std::string& name : device_names(snapshot)) known += " " + printable(name);
    return fail(ErrorCode::not_found,
                known.empty() ? sentence("no device matches \"{}\": there is none on this machine",
                                         printable(pattern.text))
                              : sentence("no device matches \"{}\"; there are:{}",
                                         printable(pattern.text), known));
  }
  return {};
}

Result<Snapshot> narrowed(const Snapshot& snapshot, const StatusOptions& options) {
  if (auto known = check_patterns(snapshot, options); !known) {
    return std::unexpected(std::move(known).error());
  }
  std::unordered_set<DeviceId> kept;
  for (const Device* device : shown_devices(snapshot, options)) kept.insert(device->id);
  Snapshot part = snapshot;
  std::erase_if(part.devices, [&](const Device& device) { return !kept.contains(device.id); });
  std::erase_if(part.gpu_processes,
                [&](const GpuProcess& use) { return !kept.contains(use.device); });
  std::erase_if(part.claims, [&](const Claim& claim) {
    return std::none_of(claim.devices.begin(), claim.devices.end(),
                        [&](const ClaimedDevice& one) { return kept.contains(one.device); });
  });
  std::set<pid_t> pids;
  for (const GpuProcess& use : part.gpu_processes) pids.insert(use.pid);
  std::erase_if(part.processes,
                [&](const HostProcess& process) { return !pids.contains(process.id.pid); });
  std::erase_if(part.problems, [&](const Problem& problem) {
    return problem.device && !kept.contains(*problem.device);
  });
  std::erase_if(part.faults, [&](const DeviceFault& one) { return !kept.contains(one.device); });
  return part;
}

std::string render_status(const Snapshot& snapshot, const Style& style,
                          const StatusOptions& options) {
  const SnapshotIndex index(snapshot);
  std::vector<DeviceRow> rows;
  std::vector<std::vector<TableRow>> occupants;
  for (const Device* device : chosen_devices(index, options)) {
    occupants.push_back(occupants_of(*device, index, options.user, style));
    const bool behind = style.width >= wide_terminal;  // then the names stand there
    rows.push_back(device_row(*device, index, behind ? "" : users_text(occupants.back()), style));
  }
  std::string text;
  if (rows.empty() && !snapshot.devices.empty()) {
    Line line(style);
    add_simulated(line, snapshot, style);
    text = (line.width() > 0 ? line.text() : "") + nothing_text(snapshot, options, style);
  } else {
    text = summary_line(counted(rows), snapshot, style);
    text += host_line(snapshot, style);
    text += rows.empty() ? nothing_text(snapshot, options, style)
                         : device_table(rows, occupants, style);
  }
  return text + queue_text(snapshot, style) + problems_text(snapshot, style);
}

}  // namespace berth

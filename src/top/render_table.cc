// The table of processes.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/text.h"
#include "base/tr.h"
#include "snapshot/process.h"
#include "snapshot/questions.h"
#include "top/painter.h"
#include "view/paint.h"
#include "view/process_rows.h"
#include "view/values.h"

namespace berth::top {

namespace {

std::string host_cell(const UseRow& row, TableColumn::What what, WallTime now, const Style& style) {
  using What = TableColumn::What;
  if (row.process == nullptr) return std::string(absent_mark(style));
  const HostProcess& process = *row.process;
  switch (what) {
    case What::user:
      return reading_text(process.user, style, [](const std::string& name) { return name; });
    case What::cpu:
      return row.cpu ? fmt::format("{:.0f}%", std::min(*row.cpu, 99999.0))
                     : std::string(absent_mark(style));
    case What::resident:
      return reading_text(process.memory_resident, style, bytes_short);
    case What::age:
      return reading_text(process.started, style,
                          [&](WallTime since) { return age_text(since, now); });
    case What::state:
      return reading_text(process.state, style, [](const std::string& word) { return word; });
    default:
      return {};
  }
}

using PresenceOf = std::map<const GpuProcess*, Presence>;

PresenceOf presences(const Seen& seen) {
  PresenceOf all;
  for (const ProcessRow& row : process_rows(seen.index, {})) all[row.use] = row.presence;
  return all;
}

std::string words_of(Presence presence) {
  switch (presence) {
    case Presence::gone:
      return std::string(tr("gone")) + " " + std::string(tr("(ended; its memory is still held)"));
    case Presence::elsewhere:
      return std::string(tr("(outside this container)"));
    case Presence::hidden:
      return std::string(tr("(not visible from here)"));
    case Presence::zombie:
      return std::string(tr("zombie"));
    case Presence::alive:
    case Presence::stuck:
      break;
  }
  return {};
}

std::string tree_mark(const UseRow& row, const Style& style) {
  if (row.depth == 0) return {};
  const auto indent = static_cast<std::size_t>(std::min(row.depth - 1, 12)) * 2;
  return std::string(indent, ' ') + (style.utf8 ? "└ " : "` ");
}

/// Without the folder of the program: "/home/alice/venv/bin/python train.py" is python's.
std::string brief(const std::string& command) {
  const std::size_t end = std::min(command.find(' '), command.size());
  const std::size_t slash = command.rfind('/', end);
  const bool has_folder = !command.empty() && command[0] == '/' && slash != std::string::npos;
  return has_folder && slash + 1 < end ? command.substr(slash + 1) : command;
}

std::string cell_text(const UseRow& row, const TableColumn& column, WallTime now,
                      const Style& style, const PresenceOf& presence) {
  using What = TableColumn::What;
  switch (column.what) {
    case What::device:
      return row.device != nullptr ? short_name(*row.device) : std::string(absent_mark(style));
    case What::pid:
      return std::to_string(row.use->pid);
    case What::type:
      return std::string(word_of(row.use->use));
    case What::memory:
      return reading_text(row.use->memory, style, bytes_short);
    case What::sm:
      return percent_of(row.use->utilization_sm, style);
    case What::bandwidth:
      return percent_of(row.use->utilization_memory, style);
    case What::encoder:
      return percent_of(row.use->utilization_encoder, style);
    case What::decoder:
      return percent_of(row.use->utilization_decoder, style);
    case What::command: {
      std::string command = brief(command_text(row));
      const auto found = presence.find(row.use);
      if (command.empty() && found != presence.end()) command = words_of(found->second);
      return tree_mark(row, style) + (command.empty() ? std::string(absent_mark(style)) : command);
    }
    case What::user:
    case What::cpu:
    case What::resident:
    case What::age:
    case What::state:
      return host_cell(row, column.what, now, style);
  }
  return {};
}

std::string header_text(const TableColumn& column, const State& state, const Style& style) {
  std::string text(column.title);
  if (!column.sort) return text;
  for (std::size_t i = 0; i < state.sort.size(); ++i) {
    if (state.sort[i].key != *column.sort) continue;
    const bool down = state.sort[i].descending;
    text += style.utf8 ? (down ? "▼" : "▲") : (down ? "v" : "^");
  }
  return text;
}

bool is_marked(const State& state, const UseRow& row) {
  return !state.marked.empty() && state.marked.contains(row.key());
}

Tone tone_of(const State& state, std::size_t place, const PresenceOf& presence) {
  const UseRow& row = state.rows[place];
  if (place == state.cursor) return Tone::selected;
  if (is_marked(state, row)) return Tone::marked;
  const auto found = presence.find(row.use);
  if (found != presence.end() && found->second == Presence::gone) return Tone::warning;
  const std::string word =
      row.process != nullptr ? row.process->state.get().value_or("") : std::string();
  if (word.starts_with('Z') || word.starts_with('D')) return Tone::warning;
  return word.starts_with('T') ? Tone::dim : Tone::plain;
}

/// What is left out, so that nobody takes a part for the whole.
std::string filter_text(const State& state) {
  std::string text;
  const auto add = [&](const std::string& part) { text += " " + part; };
  if (!state.filter.empty()) add("/" + state.filter);
  if (state.use_kind == UseKind::compute) add(std::string(tr("compute only")));
  if (state.use_kind == UseKind::graphics) add(std::string(tr("graphics only")));
  if (!state.user.empty()) add(trf("user {}", state.user));
  for (const Device* device : shown_devices(state)) {
    if (state.only_devices.contains(device->id)) add(trf("GPU {}", short_name(*device)));
  }
  return text;
}

void draw_header(const Painter& painter, const std::vector<TableColumn>& columns) {
  const int row = painter.layout.header_row;
  painter.screen.fill(0, row, painter.screen.size().columns, Tone::header);
  int at = 1;
  for (const TableColumn& column : columns) {
    if (column.width == 0) continue;
    std::string text = header_text(column, painter.state, painter.style);
    painter.cell(at, row, text, column.width, column.right, Tone::header);
    at += column.width + 1;
  }
  const std::string filter = filter_text(painter.state);
  if (filter.empty()) return;
  const int width = painter.screen.size().columns;
  const std::string shown =
      cut_to_width(own(printable(filter), painter.style), width / 2, !painter.style.utf8);
  painter.screen.put(width - display_width(shown), row, shown, Tone::warning);
}

/// Why nobody can be seen although somebody may be there, empty where nobody says why; nothing:
/// they could be seen.
std::optional<std::string> why_blind(const Snapshot& snapshot) {
  const auto problem = std::ranges::find_if(snapshot.problems, hides_processes);
  if (problem != snapshot.problems.end()) return problem->message.shown();
  const auto device = std::ranges::find_if(snapshot.devices, is_list_unread);
  if (device == snapshot.devices.end()) return std::nullopt;
  for (const Problem& one : snapshot.problems) {
    if (one.device == device->id) return one.message.shown();
  }
  return std::string();
}

std::string nothing_text(const State& state) {
  if (!state.seen) return std::string(tr("looking at the devices"));
  const Snapshot& snapshot = state.seen->snapshot;
  const auto why = why_blind(snapshot);
  if (snapshot.devices.empty()) {
    return why ? trf("which GPUs there are could not be read: {}", *why)
               : std::string(tr("no GPU was found"));
  }
  if (why && why->empty()) return std::string(tr("Who is on the devices could not be read."));
  if (why) return trf("who is on the devices could not be read: {}", *why);
  if (is_filtered(state)) return std::string(tr("no process passes the filter (Esc shows all)"));
  return std::string(tr("no process uses a GPU"));
}

/// Of the rows on the screen, where one has no command to show; else of nobody.
PresenceOf presences_shown(const State& state, const Layout& layout) {
  const std::size_t end =
      std::min(state.rows.size(),
               state.first_row + static_cast<std::size_t>(std::max(0, layout.table_rows)));
  for (std::size_t place = state.first_row; place < end; ++place) {
    if (command_text(state.rows[place]).empty()) return presences(*state.seen);
  }
  return {};
}

}  // namespace

std::string unknown_command(const Seen& seen, const GpuProcess& use) {
  const PresenceOf all = presences(seen);
  const auto found = all.find(&use);
  return found == all.end() ? std::string() : words_of(found->second);
}

void draw_table(const Painter& painter) {
  const State& state = painter.state;
  const Layout& layout = painter.layout;
  if (layout.header_row >= layout.footer_row) return;
  const std::vector<TableColumn> columns = table_columns(state);
  draw_header(painter, columns);
  if (state.rows.empty() && layout.table_rows > 0) {
    painter.cell(1, layout.table_row, nothing_text(state), painter.screen.size().columns - 1, false,
                 Tone::dim);
  }
  const WallTime now = state.seen ? state.seen->snapshot.taken : state.now;
  const PresenceOf presence = presences_shown(state, layout);
  for (int i = 0; i < layout.table_rows; ++i) {
    const std::size_t place = state.first_row + static_cast<std::size_t>(i);
    if (place >= state.rows.size()) break;
    const UseRow& row = state.rows[place];
    const int y = layout.table_row + i;
    const Tone tone = tone_of(state, place, presence);
    painter.screen.fill(0, y, painter.screen.size().columns, tone);
    if (is_marked(state, row)) painter.say(0, y, "*", tone);
    int at = 1;
    for (const TableColumn& column : columns) {
      if (column.width == 0) continue;
      painter.cell(at, y, cell_text(row, column, now, painter.style, presence), column.width,
                   column.right, tone);
      at += column.width + 1;
    }
  }
}

}  // namespace berth::top

// The table of processes.

#include <fmt/format.h>

#include <algorithm>
#include <array>
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

std::string device_cell(const UseRow& row, const Painter& painter) {
  return row.device != nullptr ? short_name(*row.device) : std::string(absent_mark(painter.style));
}
std::string pid_cell(const UseRow& row, const Painter& /*painter*/) {
  return std::to_string(row.use->pid);
}
std::string type_cell(const UseRow& row, const Painter& /*painter*/) {
  return std::string(word_of(row.use->use));
}
std::string cpu_cell(const UseRow& row, const Painter& painter) {
  return row.cpu ? fmt::format("{:.0f}%", std::min(*row.cpu, 99999.0))
                 : std::string(absent_mark(painter.style));
}
std::string age_cell(const UseRow& row, const Painter& painter) {
  if (row.process == nullptr) return std::string(absent_mark(painter.style));
  return reading_text(row.process->started, painter.style, [&](WallTime since) {
    return age_text(since, painter.state.seen->snapshot.taken);
  });
}
std::string command_cell(const UseRow& row, const Painter& painter) {
  std::string command = brief(command_text(row));
  if (command.empty()) command = unknown_command(row, painter.state.seen->snapshot.host);
  if (command.empty()) command = absent_mark(painter.style);
  return tree_mark(row, painter.style) + command;
}

std::string in_cell(const std::string& text) { return text; }
std::string in_cell(Bytes bytes) { return bytes_short(bytes); }
std::string in_cell(Percent percent) { return percent_text(percent); }

template <auto reading>
std::string of_use(const UseRow& row, const Painter& painter) {
  return reading_text(row.use->*reading, painter.style,
                      [](const auto& one) { return in_cell(one); });
}
template <auto reading>
std::string of_process(const UseRow& row, const Painter& painter) {
  if (row.process == nullptr) return std::string(absent_mark(painter.style));
  return reading_text(row.process->*reading, painter.style,
                      [](const auto& one) { return in_cell(one); });
}

using enum Align;
// Fixed widths: a table whose columns move from look to look cannot be read.
constexpr auto columns = std::to_array<ProcessColumn>({
    {as_key("GPU"), {4, 4, 0}, left, SortKey::device, device_cell},
    {as_key("PID"), {8, 7, 0}, right, SortKey::pid, pid_cell},
    {as_key("USER"), {10, 6, 1}, left, SortKey::user, of_process<&HostProcess::user>},
    {as_key("TYPE"), {4, 4, 8}, left, std::nullopt, type_cell},
    {as_key("GPU MEM"), {8, 8, 0}, right, SortKey::memory, of_use<&GpuProcess::memory>},
    {as_key("SM%"), {5, 5, 3}, right, SortKey::utilization, of_use<&GpuProcess::utilization_sm>},
    {as_key("MEM%"),
     {5, 5, 9},
     right,
     SortKey::bandwidth,
     of_use<&GpuProcess::utilization_memory>,
     true},
    {as_key("ENC%"),
     {5, 5, 9},
     right,
     SortKey::encoder,
     of_use<&GpuProcess::utilization_encoder>,
     true},
    {as_key("DEC%"),
     {5, 5, 9},
     right,
     SortKey::decoder,
     of_use<&GpuProcess::utilization_decoder>,
     true},
    {as_key("CPU%"), {6, 6, 5}, right, SortKey::cpu, cpu_cell},
    {as_key("HOST MEM"),
     {9, 8, 7},
     right,
     SortKey::resident,
     of_process<&HostProcess::memory_resident>},
    {as_key("AGE"), {6, 6, 4}, right, SortKey::age, age_cell},
    {as_key("S"), {1, 1, 6}, left, std::nullopt, of_process<&HostProcess::state>},
    {as_key("COMMAND"), {10, 10, 0}, left, SortKey::command, command_cell},
});

std::string header_text(const ProcessColumn& column, const State& state, const Style& style) {
  std::string text(tr(column.title));
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

Tone tone_of(const State& state, std::size_t place) {
  const UseRow& row = state.rows[place];
  if (place == state.cursor) return Tone::selected;
  if (is_marked(state, row)) return Tone::marked;
  if (presence_of(row.process, state.seen->snapshot.host) == Presence::gone) return Tone::warning;
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

void draw_header(const Painter& painter, const std::vector<PlacedColumn>& placed) {
  const int row = painter.layout.header_row;
  painter.screen.fill(0, row, painter.screen.size().columns, Tone::header);
  for (const PlacedColumn& one : placed) {
    const std::string text = header_text(one.column, painter.state, painter.style);
    painter.cell(one.at, row, text, one.width, one.column.align, Tone::header);
  }
  const std::string filter = filter_text(painter.state);
  if (filter.empty()) return;
  const int width = painter.screen.size().columns;
  const std::string shown =
      cut_to_width(own(printable(filter), painter.style), width / 2, !painter.style.utf8);
  painter.screen.put(width - display_width(shown), row, shown, Tone::warning);
}

/// Why no process can be seen although there may be some. Empty: no reason is told. Nothing: they
/// could be seen.
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

}  // namespace

std::string unknown_command(const UseRow& row, const Host& host) {
  const Presence presence = presence_of(row.process, host);
  if (presence == Presence::alive || presence == Presence::stuck) return {};
  if (presence == Presence::zombie) return std::string(tr("zombie"));
  const std::string why(unseen_words(presence));
  return presence == Presence::gone ? std::string(tr("gone")) + " " + why : why;
}

std::vector<PlacedColumn> table_columns(const State& state) {
  constexpr int room_for_rare_columns = 140;
  const bool has_rare = state.size.columns >= room_for_rare_columns;
  std::vector<ColumnWidth> wanted;
  for (const ProcessColumn& column : columns) {
    wanted.push_back(column.room);
    if (column.rare && !has_rare) wanted.back().wanted = 0;
  }
  const std::vector<int> widths = fitted(wanted, state.size.columns - 1, 1);
  std::vector<PlacedColumn> placed;
  int at = 1;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (widths[i] == 0) continue;
    placed.push_back({columns[i], at, widths[i]});
    at += widths[i] + 1;
  }
  placed.back().width += std::max(0, state.size.columns + 1 - at);
  return placed;
}

void draw_table(const Painter& painter) {
  const State& state = painter.state;
  const Layout& layout = painter.layout;
  if (layout.header_row >= layout.footer_row) return;
  const std::vector<PlacedColumn> placed = table_columns(state);
  draw_header(painter, placed);
  if (state.rows.empty() && layout.table_rows > 0) {
    painter.cell(1, layout.table_row, nothing_text(state), painter.screen.size().columns - 1, left,
                 Tone::dim);
  }
  for (int i = 0; i < layout.table_rows; ++i) {
    const std::size_t place = state.first_row + static_cast<std::size_t>(i);
    if (place >= state.rows.size()) break;
    const UseRow& row = state.rows[place];
    const int y = layout.table_row + i;
    const Tone tone = tone_of(state, place);
    painter.screen.fill(0, y, painter.screen.size().columns, tone);
    if (is_marked(state, row)) painter.say(0, y, "*", tone);
    for (const auto& [column, at, width] : placed) {
      painter.cell(at, y, column.text(row, painter), width, column.align, tone);
    }
  }
}

}  // namespace berth::top

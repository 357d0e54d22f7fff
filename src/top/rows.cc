// Which processes the table shows, and in which order.

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/text.h"
#include "top/model.h"

namespace berth::top {

namespace {

bool contains(std::string_view text, std::string_view what) {
  return std::search(text.begin(), text.end(), what.begin(), what.end(),
                     [](char a, char b) { return lower(a) == lower(b); }) != text.end();
}

std::string user_of(const UseRow& row) {
  return row.process != nullptr ? row.process->user.get().value_or("") : "";
}

bool is_of(GpuUse use, UseKind kind) {
  if (kind == UseKind::all) return true;
  const bool draws = use == GpuUse::graphics || use == GpuUse::both;
  return kind == UseKind::graphics ? draws : use != GpuUse::graphics;
}

bool passes(const UseRow& row, const State& state) {
  if (!is_of(row.use->use, state.use_kind)) return false;
  if (!state.only_devices.empty()) {
    const bool parent = row.device != nullptr && row.device->parent &&
                        state.only_devices.contains(*row.device->parent);
    if (!parent && !state.only_devices.contains(row.use->device)) return false;
  }
  if (!state.user.empty() && user_of(row) != state.user) return false;
  if (state.filter.empty()) return true;
  const std::string device_name =
      row.device != nullptr ? row.device->name.get().value_or("") : std::string();
  return contains(command_text(row), state.filter) || contains(user_of(row), state.filter) ||
         contains(std::to_string(row.use->pid), state.filter) ||
         contains(device_name, state.filter);
}

/// Below 0, 0, above 0. Unknown comes last, whichever way is up.
template <class T>
int compared(const std::optional<T>& a, const std::optional<T>& b, bool descending) {
  if (!a || !b) return static_cast<int>(b.has_value()) - static_cast<int>(a.has_value());
  if (*a == *b) return 0;
  return (*a < *b) != descending ? -1 : 1;
}

/// They stand in the snapshot's order.
std::optional<const Device*> device_of(const UseRow& row) {
  return row.device != nullptr ? std::optional(row.device) : std::nullopt;
}

/// Since no time in particular: the oldest began first.
std::optional<std::int64_t> age_of(const UseRow& row) {
  if (row.process == nullptr || !row.process->started.get()) return std::nullopt;
  return -row.process->started.get()->unix_ms;
}

std::optional<Bytes> resident(const UseRow& row) {
  return row.process != nullptr ? row.process->memory_resident.get() : std::nullopt;
}

std::optional<std::string> text_if_any(std::string text) {
  if (text.empty()) return std::nullopt;
  return text;
}

template <auto value>
int by(const UseRow& a, const UseRow& b, bool descending) {
  return compared(value(a), value(b), descending);
}
template <auto reading>
int by_use(const UseRow& a, const UseRow& b, bool descending) {
  return compared((a.use->*reading).get(), (b.use->*reading).get(), descending);
}

constexpr std::array<Sorting, sort_key_count> all_sortings = {{
    {"device", false, by<device_of>},
    {"memory", true, by_use<&GpuProcess::memory>},
    {"utilization", true, by_use<&GpuProcess::utilization_sm>},
    {"cpu", true, by<[](const UseRow& row) { return row.cpu; }>},
    {"age", true, by<age_of>},
    {"user", false, by<[](const UseRow& row) { return text_if_any(user_of(row)); }>},
    {"pid", false, by<[](const UseRow& row) { return std::optional(row.use->pid); }>},
    {"command", false, by<[](const UseRow& row) { return text_if_any(command_text(row)); }>},
    {"bandwidth", true, by_use<&GpuProcess::utilization_memory>},
    {"encoder", true, by_use<&GpuProcess::utilization_encoder>},
    {"decoder", true, by_use<&GpuProcess::utilization_decoder>},
    {"host-memory", true, by<resident>},
}};

/// The nearest ancestor that has a row too; 0: none.
pid_t parent_among(const UseRow& row, const std::map<pid_t, std::vector<UseRow>>& by_pid) {
  if (row.process == nullptr) return 0;
  for (const pid_t ancestor : row.process->ancestors) {
    if (ancestor != row.use->pid && by_pid.contains(ancestor)) return ancestor;
  }
  return 0;
}

/// Parents before their children; siblings stay in the order they came in.
std::vector<UseRow> as_tree(const std::vector<UseRow>& sorted) {
  std::map<pid_t, std::vector<UseRow>> by_pid;
  std::vector<pid_t> order;
  for (const UseRow& row : sorted) {
    auto& rows = by_pid[row.use->pid];
    if (rows.empty()) order.push_back(row.use->pid);
    rows.push_back(row);
  }
  std::map<pid_t, std::vector<pid_t>> children;
  for (const pid_t pid : order) children[parent_among(by_pid[pid].front(), by_pid)].push_back(pid);
  std::vector<UseRow> rows;
  std::set<pid_t> placed;
  struct TreePlace {
    pid_t pid;
    int depth;
  };
  std::vector<TreePlace> waiting;
  const auto push = [&](const std::vector<pid_t>& pids, int depth) {
    for (auto pid = pids.rbegin(); pid != pids.rend(); ++pid) waiting.push_back({*pid, depth});
  };
  const auto place_all = [&] {
    while (!waiting.empty()) {
      const TreePlace next = waiting.back();
      waiting.pop_back();
      if (!placed.insert(next.pid).second) continue;
      for (UseRow row : by_pid[next.pid]) {
        row.depth = next.depth;
        rows.push_back(row);
      }
      push(children[next.pid], next.depth + 1);
    }
  };
  push(children[0], 0);
  place_all();
  // A recording may name two processes as each other's ancestors.
  push(order, 0);
  place_all();
  return rows;
}

/// Puts the cursor on the selected process; where it has gone, on the row now in its place.
void follow_selection(State& state) {
  if (state.rows.empty()) {
    state.cursor = 0;
    return;
  }
  for (std::size_t i = 0; i < state.rows.size() && state.selected; ++i) {
    if (state.rows[i].key() != *state.selected) continue;
    state.cursor = i;
    return;
  }
  state.cursor = std::min(state.cursor, state.rows.size() - 1);
  state.selected = state.rows[state.cursor].key();
}

}  // namespace

UseKey UseRow::key() const {
  return {process != nullptr ? process->id : ProcessId{.pid = use->pid}, use->device};
}

std::string command_text(const UseRow& row) {
  if (row.process == nullptr) return {};
  if (const auto& words = row.process->command.get()) {
    std::string text;
    for (const std::string& word : *words) {
      if (!text.empty()) text += ' ';
      text += word;
    }
    return text;
  }
  if (const auto& name = row.process->executable_name.get()) return "[" + *name + "]";
  return {};
}

std::string short_name(const Device& device) {
  std::string name = device.index ? std::to_string(*device.index) : "-";
  if (device.partition) name += "." + std::to_string(device.partition->gpu_instance);
  return name;
}

std::span<const Sorting> sortings() { return all_sortings; }

std::vector<const Device*> shown_devices(const State& state) {
  std::vector<const Device*> shown;
  if (!state.seen) return shown;
  for (const Device& device : state.seen->snapshot.devices) {
    const bool wanted = state.only_devices.empty() || state.only_devices.contains(device.id) ||
                        (device.parent && state.only_devices.contains(*device.parent));
    if (wanted) shown.push_back(&device);
  }
  return shown;
}

bool is_filtered(const State& state) {
  return !state.filter.empty() || !state.user.empty() || !state.only_devices.empty() ||
         state.use_kind != UseKind::all;
}

const UseRow* selected_row(const State& state) {
  return state.cursor < state.rows.size() ? &state.rows[state.cursor] : nullptr;
}

void arrange_rows(State& state) {
  state.rows.clear();
  if (!state.seen) return;
  const Seen& seen = *state.seen;
  for (const GpuProcess& use : seen.snapshot.gpu_processes) {
    UseRow row{.use = &use,
               .process = seen.index.process(use.pid),
               .device = seen.index.device(use.device)};
    if (row.process != nullptr) row.cpu = state.cpu.of(row.process->id);
    if (passes(row, state)) state.rows.push_back(row);
  }
  std::stable_sort(state.rows.begin(), state.rows.end(), [&](const UseRow& a, const UseRow& b) {
    for (const SortLevel& level : state.sort) {
      const int order = sorting_by(level.key).compare(a, b, level.descending);
      if (order != 0) return order < 0;
    }
    return a.use->pid < b.use->pid;
  });
  if (state.tree) state.rows = as_tree(state.rows);
  std::erase_if(state.marked, [&](const UseKey& key) {
    const HostProcess* process = seen.index.process(key.process.pid);
    return process != nullptr && process->id != key.process;
  });
  follow_selection(state);
}

}  // namespace berth::top

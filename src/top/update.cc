#include <algorithm>
#include <array>
#include <csignal>
#include <type_traits>

#include "base/text.h"
#include "snapshot/questions.h"
#include "top/keys.h"
#include "top/layout.h"
#include "top/model.h"
#include "top/steps.h"

namespace berth::top {

namespace {

void keep_cursor_in_sight(State& state) {
  const Layout layout = layout_of(state);
  const auto room = static_cast<std::size_t>(std::max(layout.table_rows, 1));
  if (state.cursor < state.first_row) state.first_row = state.cursor;
  if (state.cursor >= state.first_row + room) state.first_row = state.cursor - room + 1;
  const std::size_t last = state.rows.size() > room ? state.rows.size() - room : 0;
  state.first_row = std::min(state.first_row, last);
}

void move_cursor(State& state, long by) {
  if (state.rows.empty()) return;
  const long last = static_cast<long>(state.rows.size()) - 1;
  state.cursor =
      static_cast<std::size_t>(std::clamp(static_cast<long>(state.cursor) + by, 0L, last));
  state.selected = state.rows[state.cursor].key();
}

long page(const State& state) { return std::max(1, layout_of(state).table_rows - 1); }

void scroll_panel(State& state, long by) {
  // render() stops at the text's end; this only keeps the number small.
  state.panel_scroll =
      static_cast<int>(std::clamp(static_cast<long>(state.panel_scroll) + by, 0L, 10'000L));
}

void move_focus(State& state, int by) {
  const auto devices = static_cast<int>(shown_devices(state).size());
  if (devices == 0) return;
  state.focus =
      static_cast<std::size_t>(std::clamp(static_cast<int>(state.focus) + by, 0, devices - 1));
}

void open_details(State& state) {
  const UseRow* row = selected_row(state);
  if (row == nullptr) return;
  state.panel = Panel::details;
  state.panel_scroll = 0;
  state.details.reset();
  // Another's files, if any, have its number here.
  if (row->process != nullptr && is_elsewhere(*row->process, state.seen->snapshot.host)) return;
  state.wanted.emplace_back(ReadDetails{row->key().process});
}

void toggle_panel(State& state, Panel panel) {
  state.panel = state.panel == panel ? Panel::none : panel;
  state.panel_scroll = 0;
}

void sort_by(State& state, SortKey key) {
  if (state.sort.front().key == key) {
    state.sort.front().descending = !state.sort.front().descending;
  } else {
    std::erase_if(state.sort, [&](const SortLevel& level) { return level.key == key; });
    state.sort.insert(state.sort.begin(), {key, sorting_by(key).descending_first});
    if (state.sort.size() > most_sort_levels) state.sort.resize(most_sort_levels);
  }
  arrange(state);
}

/// The next key takes the first one's place; those behind it stay.
void cycle_sort(State& state) {
  auto key = state.sort.front().key;
  do {
    key = static_cast<SortKey>((static_cast<int>(key) + 1) % sort_key_count);
  } while (std::any_of(state.sort.begin() + 1, state.sort.end(),
                       [&](const SortLevel& level) { return level.key == key; }));
  state.sort.front() = {key, sorting_by(key).descending_first};
  arrange(state);
}

/// What is sorted by now becomes the second key.
void add_sort(State& state) {
  auto key = state.sort.front().key;
  const auto is_used = [&] {
    return std::any_of(state.sort.begin(), state.sort.end(),
                       [&](const SortLevel& level) { return level.key == key; });
  };
  while (is_used()) key = static_cast<SortKey>((static_cast<int>(key) + 1) % sort_key_count);
  sort_by(state, key);
}

const Device* device_numbered(const State& state, std::uint64_t number) {
  if (!state.seen) return nullptr;
  for (const Device& device : state.seen->snapshot.devices) {
    const bool same = device.index && static_cast<std::uint64_t>(*device.index) == number;
    if (same && !device.parent) return &device;
  }
  return nullptr;
}

/// A digit chooses the device of that number; a second one soon after makes it a number of two.
void type_digit(State& state, const std::string& digit) {
  constexpr std::int64_t soon_ms = 1000;
  const bool goes_on = state.now.unix_ms - state.digits_at.unix_ms < soon_ms;
  std::string digits = goes_on && state.digits.size() < 4 ? state.digits + digit : digit;
  const Device* device = device_numbered(state, parse_unsigned(digits).value_or(0));
  if (device == nullptr) {
    digits = digit;
    device = device_numbered(state, parse_unsigned(digits).value_or(0));
  }
  state.digits = digits;
  state.digits_at = state.now;
  if (device == nullptr) {
    say(state, trf("there is no device {}", digits), false);
    return;
  }
  const bool only_this = state.only_devices.size() == 1 && state.only_devices.contains(device->id);
  state.only_devices.clear();
  if (!only_this) state.only_devices.insert(device->id);
  state.focus = 0;
  arrange(state);
}

void toggle_mark(State& state) {
  const UseRow* row = selected_row(state);
  if (row == nullptr) return;
  const UseKey key = row->key();
  if (state.marked.erase(key) == 0) state.marked.insert(key);
  move_cursor(state, 1);
}

void freeze_or_continue(State& state) {
  const UseRow* row = selected_row(state);
  const bool frozen = row != nullptr && row->process != nullptr &&
                      row->process->state.get().value_or("").starts_with('T');
  if (frozen) {
    ask_for_signal(state, SIGCONT, "CONT");
  } else {
    ask_for_signal(state, SIGSTOP, "STOP");
  }
}

void change_speed(State& state, bool faster) {
  if (state.viewer.replay) {
    state.speed = std::clamp(faster ? state.speed * 2 : state.speed / 2, 1.0 / 8, 64.0);
    return;
  }
  constexpr std::array<std::int64_t, 8> steps = {100, 250, 500, 1000, 2000, 5000, 10'000, 60'000};
  const auto now_ms = std::chrono::duration_cast<std::chrono::milliseconds>(state.interval).count();
  std::int64_t chosen = now_ms;
  for (const std::int64_t step : steps) {
    if (faster && step < now_ms) chosen = step;
    if (!faster && step > now_ms && chosen == now_ms) chosen = step;
  }
  state.interval = std::chrono::milliseconds(chosen);
}

void step_tape(State& state, int by) {
  if (!state.viewer.replay) return;
  state.paused = true;
  state.wanted.emplace_back(SkipSnapshots{by});
}

/// Escape undoes one thing at a time, the nearest first.
void escape(State& state) {
  if (state.panel != Panel::none) {
    state.panel = Panel::none;
  } else if (!state.marked.empty()) {
    state.marked.clear();
  } else if (is_filtered(state)) {
    state.filter.clear();
    state.user.clear();
    state.only_devices.clear();
    state.use_kind = UseKind::all;
    arrange(state);
  }
}

void quit_or_close(State& state) {
  state.quits = state.panel == Panel::none;
  state.panel = Panel::none;
}

void open_or_close(State& state) {
  if (state.panel == Panel::none) return open_details(state);
  state.panel = Panel::none;
}

// A key calls a function with given arguments, turns a flag, or steps through a member's values.
template <auto function, auto... given>
void act(State& state, const Key& /*key*/) {
  function(state, given...);
}
template <bool State::* flag>
void turn(State& state, const Key& /*key*/) {
  state.*flag = !(state.*flag);
  arrange(state);
}
template <auto member, int count>
void step(State& state, const Key& /*key*/) {
  using Value = std::remove_reference_t<decltype(state.*member)>;
  state.*member = static_cast<Value>((static_cast<int>(state.*member) + 1) % count);
  arrange(state);
}
void move_as_named(State& state, const Key& key) { move(state, key.name); }

using Name = Key::Name;

constexpr auto all_bindings = std::to_array<Binding>({
    {"q  Ctrl-C", as_key("quit"), {{{"q", act<quit_or_close>, {1, "q", as_key("quit")}}}}},
    {"Up Down PgUp PgDn",
     as_key("move through the processes, or through a panel's text"),
     {{{Name::up, move_as_named},
       {Name::down, move_as_named},
       {Name::page_up, move_as_named},
       {Name::page_down, move_as_named},
       {Name::home, move_as_named},
       {Name::end, move_as_named}}}},
    {"Left Right Tab",
     as_key("move from device to device"),
     {{{Name::left, act<move_focus, -1>},
       {Name::back_tab, act<move_focus, -1>},
       {Name::right, act<move_focus, 1>},
       {Name::tab, act<move_focus, 1>}}}},
    {"Enter",
     as_key("details of the process: command, environment names, device files, charts"),
     {{{Name::enter, act<open_or_close>, {5, "Enter", as_key("details")}}}}},
    {"l  !  ?",
     as_key("leases and the waiting queue; what is wrong; this help"),
     {{{"l", act<toggle_panel, Panel::leases>, {10, "l", as_key("leases")}},
       {"!", act<toggle_panel, Panel::problems>},
       {"?h", act<toggle_panel, Panel::help>, {2, "?", as_key("help")}}}}},
    {"0 to 9",
     as_key("only this device; again: all (two digits quickly: devices from 10)"),
     {{{"0123456789", [](State& state, const Key& key) { type_digit(state, key.text); }}}}},
    {"/  u",
     as_key("filter by a text; by a user's name"),
     {{{"/", act<start_typing, Mode::filter>, {6, "/", as_key("filter")}},
       {"u", act<start_typing, Mode::user>}}}},
    {"Esc",
     as_key("close the panel, unmark all, drop the filters"),
     {{{Name::escape, act<escape>}}}},
    {"s  S  a",
     as_key("sort by the next column; the other way round; by one more column"),
     {{{"s", act<cycle_sort>, {7, "s", as_key("sort")}},
       {"S", [](State& state, const Key&) { sort_by(state, state.sort.front().key); }},
       {"a", act<add_sort>}}}},
    {"t", as_key("processes as a tree"), {{{"t", turn<&State::tree>, {9, "t", as_key("tree")}}}}},
    {"Space  U",
     as_key("mark a process; unmark all"),
     {{{" ", act<toggle_mark>}, {"U", [](State& state, const Key&) { state.marked.clear(); }}}}},
    {"k",
     as_key("send a signal to the marked processes, else to the selected one"),
     {{{"k", act<start_typing, Mode::signal>, {8, "k", as_key("signal")}}}}},
    {"z  r",
     as_key("freeze or continue; change the nice value"),
     {{{"z", act<freeze_or_continue>}, {"r", act<start_typing, Mode::nice>}}}},
    {"m",
     as_key("charts: all of a device, or one reading with its axis"),
     {{{"m", step<&State::charted, chart_count + 1>}}}},
    {"H",
     as_key("charts of this host, and of the mean of its devices"),
     {{{"H", act<toggle_panel, Panel::host>}}}},
    {"d",
     as_key("all readings of the device that the charts begin with"),
     {{{"d", act<toggle_panel, Panel::device>}}}},
    {"T",
     as_key("all processes, those that compute, those that draw"),
     {{{"T", step<&State::use_kind, 3>}}}},
    {"F", as_key("temperatures in Fahrenheit or Celsius"), {{{"F", turn<&State::fahrenheit>}}}},
    {"g  w",
     as_key("charts on or off; more time per column (1, 4, 16, 64 samples)"),
     {{{"g", turn<&State::charts>}, {"w", step<&State::zoom, 4>}}}},
    {"p", as_key("pause the picture"), {{{"p", turn<&State::paused>, {12, "p", as_key("pause")}}}}},
    {"+  -",
     as_key("look more often, less often; a recording: faster, slower"),
     {{{"+=", act<change_speed, true>, {4, "+ -", as_key("speed"), true}},
       {"-", act<change_speed, false>}}}},
    {", .  [ ]",
     as_key("a recording: one snapshot back or on; ten"),
     {{{",", act<step_tape, -1>, {3, ", .", as_key("step"), true}},
       {".", act<step_tape, 1>},
       {"[", act<step_tape, -10>},
       {"]", act<step_tape, 10>}}}},
    {"c  L",
     as_key("colours: dark, light, colour-blind, mono; language"),
     {{{"c", step<&State::theme, 4>, {11, "c", as_key("colours")}},
       {"L", step<&State::language, 2>}}}},
    {"Ctrl-L  Ctrl-Z", as_key("draw anew; suspend")},  // whatever is asked: Updater
    {as_key("mouse"), as_key("select, open, sort by a column's head, scroll")},
});

void browse(State& state, const Key& key) {
  for (const Binding& binding : all_bindings) {
    for (const KeyAction& one : binding.actions) {
      if (one.act == nullptr || one.name != key.name) continue;
      const bool is_typed = key.text.size() == 1 && one.typed.contains(key.text[0]);
      if (key.name == Name::character && !is_typed) continue;
      return one.act(state, key);
    }
  }
}

struct Updater {
  State& state;

  void operator()(const Key& key) const {
    if (key.name == Key::Name::interrupt) {
      state.quits = true;
    } else if (key.name == Key::Name::suspend) {
      state.wanted.emplace_back(Suspend{});
    } else if (key.name == Key::Name::redraw) {
      state.wanted.emplace_back(Redraw{});
    } else {
      by_mode(key);
    }
  }
  void by_mode(const Key& key) const {
    switch (state.mode) {
      case Mode::browse:
        return browse(state, key);
      case Mode::filter:
      case Mode::user:
      case Mode::nice:
        return type(state, key);
      case Mode::signal:
        return choose_signal(state, key);
      case Mode::question:
        return answer(state, key);
    }
  }
  void operator()(const Mouse& mouse) const;
  void operator()(const Resized& resized) const { state.size = resized.size; }
  void operator()(const Looked& looked) const {
    if (!looked.seen) return;
    // A frozen picture stays; what is new waits for the pause to end. A tape stands by itself.
    if (state.paused && !state.viewer.replay && state.seen) return;
    state.seen = looked.seen;
    state.cpu = looked.cpu;
    state.host = looked.host;
    arrange(state);
  }
  void operator()(const Tick& tick) const {
    state.now = tick.now;
    if (state.message && state.message->until < tick.now) state.message.reset();
  }
  void operator()(const Unanswered& unanswered) const { state.unanswered_since = unanswered.since; }
  void operator()(const Outcome& outcome) const { say(state, outcome.text, outcome.good); }
  void operator()(const ProcessDetails& details) const { state.details = details; }
  void operator()(const TapePlace& place) const { state.tape = place; }
};

void click_header(State& state, int column) {
  for (const PlacedColumn& one : table_columns(state)) {
    const bool is_on = column >= one.at && column < one.at + one.width;
    if (is_on && one.column.sort) return sort_by(state, *one.column.sort);
  }
}

void click_meter(State& state, const Layout& layout, const Mouse& mouse) {
  const int width = std::max(1, state.size.columns / layout.meter_columns);
  const int column = std::min(mouse.column / width, layout.meter_columns - 1);
  const int place =
      layout.first_meter + column * layout.meter_rows + (mouse.row - layout.meters_row);
  if (place < static_cast<int>(shown_devices(state).size())) {
    state.focus = static_cast<std::size_t>(place);
  }
}

void Updater::operator()(const Mouse& mouse) const {
  if (state.mode == Mode::question || state.mode == Mode::signal) return;
  constexpr int wheel_rows = 3;
  const bool up = mouse.what == Mouse::What::wheel_up;
  if (up || mouse.what == Mouse::What::wheel_down) {
    const int by = up ? -wheel_rows : wheel_rows;
    if (state.panel != Panel::none) return scroll_panel(state, by);
    return move_cursor(state, by);
  }
  if (mouse.what != Mouse::What::press || mouse.button != 0) return;
  const Layout layout = layout_of(state);
  if (state.panel != Panel::none && mouse.row >= layout.panel_row) return;
  if (mouse.row >= layout.meters_row && mouse.row < layout.meters_row + layout.meter_rows) {
    return click_meter(state, layout, mouse);
  }
  if (mouse.row == layout.header_row) return click_header(state, mouse.column);
  const int row = mouse.row - layout.table_row;
  if (row < 0 || row >= layout.table_rows) return;
  const std::size_t clicked = state.first_row + static_cast<std::size_t>(row);
  if (clicked >= state.rows.size()) return;
  if (clicked == state.cursor) return open_details(state);
  state.cursor = clicked;
  state.selected = state.rows[clicked].key();
}

}  // namespace

std::span<const Binding> bindings() { return all_bindings; }

void arrange(State& state) {
  arrange_rows(state);
  const std::size_t devices = shown_devices(state).size();
  state.focus = devices == 0 ? 0 : std::min(state.focus, devices - 1);
}

void move(State& state, Key::Name name) {
  const bool in_panel = state.panel != Panel::none;
  const long pages = in_panel ? std::max(1, layout_of(state).panel_rows - 2) : page(state);
  long by = 0;
  if (name == Key::Name::up) by = -1;
  if (name == Key::Name::down) by = 1;
  if (name == Key::Name::page_up) by = -pages;
  if (name == Key::Name::page_down) by = pages;
  if (name == Key::Name::home) by = -1'000'000;
  if (name == Key::Name::end) by = 1'000'000;
  if (in_panel) {
    scroll_panel(state, by);
  } else {
    move_cursor(state, by);
  }
}

State update(State state, const Event& event) {
  std::visit(Updater{state}, event);
  keep_cursor_in_sight(state);
  return state;
}

}  // namespace berth::top

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include "base/text.h"
#include "snapshot/questions.h"
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
    state.sort.insert(state.sort.begin(), {key, sorts_descending_first(key)});
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
  state.sort.front() = {key, sorts_descending_first(key)};
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

void browse_character(State& state, const std::string& text) {
  if (text.size() != 1) return;
  switch (text[0]) {
    case 'q':
      state.quits = state.panel == Panel::none;
      state.panel = Panel::none;
      return;
    case '?':
    case 'h':
      return toggle_panel(state, Panel::help);
    case 'l':
      return toggle_panel(state, Panel::leases);
    case '!':
      return toggle_panel(state, Panel::problems);
    case 'H':
      return toggle_panel(state, Panel::host);
    case 'd':
      return toggle_panel(state, Panel::device);
    case 'F':
      state.fahrenheit = !state.fahrenheit;
      return;
    case 'T':
      state.use_kind = static_cast<UseKind>((static_cast<int>(state.use_kind) + 1) % 3);
      return arrange(state);
    case '/':
      return start_typing(state, Mode::filter, state.filter);
    case 'u':
      return start_typing(state, Mode::user, state.user);
    case 't':
      state.tree = !state.tree;
      return arrange(state);
    case 's':
      return cycle_sort(state);
    case 'S':
      return sort_by(state, state.sort.front().key);
    case 'a':
      return add_sort(state);
    case 'c':
      state.theme = next(state.theme);
      return;
    case 'm':
      state.charted = (state.charted + 1) % (chart_count + 1);
      return;
    case 'g':
      state.charts = !state.charts;
      return;
    case 'w':
      state.zoom = (state.zoom + 1) % 4;
      return;
    case 'L':
      state.language =
          state.language == Language::english ? Language::simplified_chinese : Language::english;
      return;
    case ' ':
      return toggle_mark(state);
    case 'U':
      state.marked.clear();
      return;
    case 'k':
      return start_typing(state, Mode::signal, "");
    case 'z':
      return freeze_or_continue(state);
    case 'r':
      return start_typing(state, Mode::nice, "");
    case 'p':
      state.paused = !state.paused;
      return;
    case '+':
    case '=':
      return change_speed(state, true);
    case '-':
      return change_speed(state, false);
    case '.':
      return step_tape(state, 1);
    case ',':
      return step_tape(state, -1);
    case ']':
      return step_tape(state, 10);
    case '[':
      return step_tape(state, -10);
    default:
      if (text[0] >= '0' && text[0] <= '9') type_digit(state, text);
  }
}

void browse(State& state, const Key& key) {
  switch (key.name) {
    case Key::Name::character:
      return browse_character(state, key.text);
    case Key::Name::enter:
      if (state.panel == Panel::none) return open_details(state);
      state.panel = Panel::none;
      return;
    case Key::Name::escape:
      return escape(state);
    case Key::Name::left:
    case Key::Name::back_tab:
      return move_focus(state, -1);
    case Key::Name::right:
    case Key::Name::tab:
      return move_focus(state, 1);
    case Key::Name::up:
    case Key::Name::down:
    case Key::Name::home:
    case Key::Name::end:
    case Key::Name::page_up:
    case Key::Name::page_down:
      return move(state, key.name);
    case Key::Name::interrupt:
    case Key::Name::suspend:
    case Key::Name::redraw:
    case Key::Name::backspace:
    case Key::Name::erase:
    case Key::Name::clear:
      return;
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
  int at = 1;
  for (const TableColumn& one : table_columns(state)) {
    if (one.width == 0) continue;
    if (column >= at && column < at + one.width && one.sort) return sort_by(state, *one.sort);
    at += one.width + 1;
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

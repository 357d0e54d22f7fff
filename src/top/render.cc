#include "top/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "top/keys.h"
#include "top/painter.h"
#include "view/paint.h"
#include "view/software_text.h"
#include "view/values.h"

namespace berth::top {

namespace {

std::string clock_text(WallTime time, const Style& style) {
  const std::string whole = date_time_text(time, style);  // "2025-10-09 08:53:20"
  return whole.substr(std::min(whole.size(), whole.find(' ') + 1));
}

std::string interval_text(const State& state) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(state.interval).count();
  if (ms < 1000) return fmt::format("{} ms", ms);
  return fmt::format("{} s", ms / 1000);
}

std::string playing_text(const State& state) {
  std::string text = state.paused ? std::string(tr("paused")) : trf("speed {}", state.speed);
  if (state.tape) text += fmt::format(" {}/{}", state.tape->position + 1, state.tape->count);
  return text;
}

std::vector<Hint> hints_of(const State& state) {
  if (state.panel != Panel::none) {
    return {
        {1, "Esc", as_key("back")}, {2, "PgUp PgDn", as_key("scroll")}, {3, "q", as_key("back")}};
  }
  std::vector<Hint> hints;
  for (const Binding& binding : bindings()) {
    for (const KeyAction& action : binding.actions) {
      const Hint& hint = action.hint;
      if (hint.place > 0 && (state.viewer.replay || !hint.of_recording)) hints.push_back(hint);
    }
  }
  std::ranges::sort(hints, {}, &Hint::place);
  return hints;
}

std::string prompt_of(Mode mode) {
  switch (mode) {
    case Mode::filter:
      return std::string(tr("filter: "));
    case Mode::user:
      return std::string(tr("user: "));
    case Mode::nice:
      return std::string(tr("nice value (-20 to 19): "));
    case Mode::browse:
    case Mode::signal:
    case Mode::question:
      break;
  }
  return {};
}

void draw_typing(const Painter& painter) {
  const State& state = painter.state;
  const int row = painter.layout.footer_row;
  const int width = painter.screen.size().columns;
  const int at = painter.say(0, row, prompt_of(state.mode), Tone::key);
  const std::string typed = printable(state.typed);  // the end of it: one sees what one types
  const int end = painter.screen.put(at, row, end_of_width(typed, std::max(0, width - at - 1)));
  painter.screen.fill(end, row, 1, Tone::header);  // where the cursor would be
}

void draw_question(const Painter& painter) {
  const int width = painter.screen.size().columns;
  const std::string ending = own(tr(" y/n"), painter.style);
  const std::string text = own(printable(painter.state.question->text), painter.style);
  const int row = painter.layout.footer_row;
  const std::string cut =
      cut_to_width(text, std::max(0, width - display_width(ending)), !painter.style.utf8);
  const int at = painter.screen.put(0, row, cut, Tone::bad);
  painter.screen.put(at, row, ending, Tone::key);
}

}  // namespace

std::size_t Painter::samples_each() const {
  return std::size_t{1} << (2 * std::clamp(state.zoom, 0, 3));
}

int Painter::say(int column, int row, std::string_view text, Tone tone, int columns) const {
  return screen.put(column, row, own(text, style), tone, columns);
}

void Painter::cell(int column, int row, std::string_view text, int columns, Align align,
                   Tone tone) const {
  if (columns <= 0) return;
  std::string made;
  if (!is_plain_ascii(text)) text = made = own(printable(text), style);
  const CellText cell = in_columns(text, columns, align, style);
  screen.put(column + cell.before, row, cell.text, tone, columns - cell.before);
  screen.fill(column, row, cell.before, tone);
  screen.fill(column + columns - cell.after, row, cell.after, tone);
}

void Painter::meter(int column, int row, int columns, double share) const {
  if (columns <= 0) return;
  Style plain = style;
  plain.colour = false;
  screen.put(column, row, bar(share, columns, plain), tone_of_share(share), columns);
}

void Painter::plot(int column, int row, int columns, int rows, const Plot& plot) const {
  if (columns <= 0 || rows <= 0) return;
  const int value_width = std::min(display_width(plot.value), columns);
  cell(column, row, plot.title, std::max(0, columns - value_width - 1), Align::left, Tone::dim);
  screen.put(column + columns - value_width, row, plot.value, plot.tone, value_width);
  if (plot.series == nullptr) return;
  if (!plot.edge.empty() && rows > 2) {
    const int axis = std::min(display_width(plot.edge) + 1, columns / 2);
    cell(column + columns - axis, row + 1, plot.edge, axis, Align::right, Tone::dim);
    cell(column + columns - axis, row + rows - 1, "0", axis, Align::right, Tone::dim);
    columns -= axis;
  }
  const auto wanted = static_cast<std::size_t>(dot_columns(columns, dots()));
  const auto lines =
      chart(plot.series->columns(wanted, samples_each()), plot.top, columns, rows - 1, dots());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    // The screen is blank there, and so is most of a chart.
    const std::size_t first = lines[i].find_first_not_of(' ');
    if (first == std::string::npos) continue;
    const std::size_t end = lines[i].find_last_not_of(' ') + 1;
    screen.put(column + static_cast<int>(first), row + 1 + static_cast<int>(i),
               std::string_view(lines[i]).substr(first, end - first), plot.tone, columns);
  }
}

Tone tone_of_share(double share) {
  if (share < 0.5) return Tone::low;
  return share < 0.85 ? Tone::middle : Tone::high;
}

std::string percent_of(const Reading<Percent>& reading, const Style& style) {
  return reading_text(reading, style, percent_text);
}

void draw_title(const Painter& painter) {
  const State& state = painter.state;
  const int width = painter.screen.size().columns;
  std::string right;
  if (state.viewer.replay) {
    right = playing_text(state) + "  ";
  } else if (state.paused) {
    right = std::string(tr("paused")) + "  ";
  } else {
    right = trf("every {}", interval_text(state)) + "  ";
  }
  const WallTime time = state.seen ? state.seen->snapshot.taken : state.now;
  right = own(right, painter.style) + clock_text(time, painter.style);
  const int right_at = std::max(0, width - display_width(right));
  int at = painter.say(0, 0, "berth top", Tone::title);
  const auto add = [&](const std::string& text, Tone tone) {
    const int room = right_at - at - 4;
    if (room < 4 || text.empty()) return;
    at = painter.screen.put(
        at + 2, 0, cut_to_width(own(printable(text), painter.style), room, !painter.style.utf8),
        tone);
  };
  if (state.seen) {
    const Snapshot& snapshot = state.seen->snapshot;
    if (snapshot.simulated) add(trf("SIMULATED: {}", *snapshot.simulated), Tone::warning);
    add(snapshot.host.name.get().value_or(""), Tone::bold);
    add(host_text(state.host), Tone::plain);
    for (const std::string& text :
         software_texts(snapshot.host, SupportedWords::number, painter.style)) {
      add(text, Tone::plain);
    }
  }
  painter.screen.put(right_at, 0, right, state.paused ? Tone::warning : Tone::dim);
}

namespace {

/// The first of the problems and of the cards that are broken, and how many more there are.
std::string what_is_wrong(const Seen& seen) {
  const Snapshot& snapshot = seen.snapshot;
  std::size_t count = snapshot.problems.size();
  std::string text;
  if (count > 0) text = snapshot.problems.front().message.shown();
  for (const DeviceFault& fault : snapshot.faults) {
    const Device* device = seen.index.device(fault.device);
    if (device == nullptr || device->parent) continue;  // an instance is as well as its card
    if (count++ > 0) continue;
    text = trf("GPU {} has failed: {}", short_name(*device), fault.evidence.shown());
  }
  if (count == 0) return {};
  if (count > 1) text += "; " + trf("{} more", count - 1);
  return text + "  " + std::string(tr("(! shows all)"));
}

}  // namespace

void draw_notice(const Painter& painter) {
  const State& state = painter.state;
  if (!painter.layout.notice_row) return;
  std::string text;
  if (state.unanswered_since) {
    text = trf("the driver does not answer since {}",
               clock_text(*state.unanswered_since, painter.style));
  }
  if (state.seen) {
    const std::string wrong = what_is_wrong(*state.seen);
    if (!text.empty() && !wrong.empty()) text += "; ";
    text += wrong;
  }
  painter.cell(0, *painter.layout.notice_row, text, painter.screen.size().columns, Align::left,
               Tone::bad);
}

void draw_footer(const Painter& painter) {
  const State& state = painter.state;
  const int row = painter.layout.footer_row;
  if (row <= 0) return;
  if (state.mode == Mode::question && state.question) return draw_question(painter);
  if (state.mode == Mode::signal) {
    std::string keys;
    for (const SignalKey& one : signal_keys) keys += fmt::format("{} {}  ", one.key, one.name);
    painter.say(0, row, trf("signal: {}Esc", keys), Tone::key);
    return;
  }
  if (state.mode != Mode::browse) return draw_typing(painter);
  if (state.message) {
    painter.cell(0, row, state.message->text, painter.screen.size().columns, Align::left,
                 state.message->good ? Tone::good : Tone::bad);
    return;
  }
  int at = 0;
  for (const Hint& hint : hints_of(state)) {
    const std::string word = own(tr(hint.word), painter.style);
    const int needed = display_width(hint.keys) + 1 + display_width(word);
    if (at + needed > painter.screen.size().columns) break;
    at = painter.screen.put(at, row, hint.keys, Tone::key);
    at = painter.screen.put(at + 1, row, word, Tone::dim) + 2;
  }
}

Screen render(const State& state, const History& history, const Style& style, Screen screen) {
  screen.clear(state.size);
  if (state.size.columns < 1 || state.size.rows < 1) return screen;
  const Layout layout = layout_of(state);
  Style plain = style;
  plain.colour = false;
  plain.width = state.size.columns;
  const Painter painter{screen, state, history, layout, plain};
  draw_title(painter);
  draw_notice(painter);
  const bool covers_meters = state.panel != Panel::none && layout.panel_row < layout.charts_row;
  if (!covers_meters) draw_meters(painter);
  if (state.panel == Panel::none) {
    draw_charts(painter);
    draw_table(painter);
  } else {
    draw_panel(painter);
  }
  draw_footer(painter);
  return screen;
}

}  // namespace berth::top

// Panels: a text over the lower part of the screen, scrolled by the keys that move.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/tr.h"
#include "snapshot/questions.h"
#include "top/keys.h"
#include "top/painter.h"
#include "view/health_text.h"
#include "view/paint.h"
#include "view/process_list.h"
#include "view/values.h"

namespace berth::top {

namespace {

std::string title_of(Panel panel) {
  switch (panel) {
    case Panel::help:
      return std::string(tr("Keys"));
    case Panel::details:
      return std::string(tr("Process"));
    case Panel::leases:
      return std::string(tr("Leases and the waiting queue"));
    case Panel::problems:
      return std::string(tr("What is wrong"));
    case Panel::host:
      return std::string(tr("This host, and the mean of its devices"));
    case Panel::device:
      return std::string(tr("All readings of the device"));
    case Panel::none:
      break;
  }
  return {};
}

std::vector<PanelLine> host_lines(const Painter& painter);

std::vector<PanelLine> lines_of(const Painter& painter) {
  switch (painter.state.panel) {
    case Panel::help:
      return help_lines(painter);
    case Panel::details:
      return detail_lines(painter);
    case Panel::leases:
      return lease_lines(painter);
    case Panel::problems:
      return problem_lines(painter);
    case Panel::host:
      return host_lines(painter);
    case Panel::device:
      return device_lines(painter);
    case Panel::none:
      break;
  }
  return {};
}

std::string list_of_devices(const std::vector<ClaimedDevice>& devices, const Seen& seen) {
  return joined(devices, ", ", [&](const ClaimedDevice& claimed) {
    const Device* device = seen.index.device(claimed.device);
    return (device != nullptr ? short_name(*device) : claimed.device.text()) + " (" +
           (claimed.promised ? bytes_text(*claimed.promised) : std::string(tr("whole"))) + ")";
  });
}

/// "name   value", the value wrapped under itself.
void add_fact(std::vector<PanelLine>& lines, std::string_view name, std::string_view value,
              const Painter& painter) {
  const Style& style = painter.style;
  add_lines(lines, labelled(own(name, style), 16, own(printable(value), style), style));
}

template <class T, class Text>
std::string known(const Reading<T>& reading, Text text) {
  if (!reading.get()) return std::string(reason_text(reading.why()));
  return std::string(text(*reading.get()));
}

void add_list(std::vector<PanelLine>& lines, std::string_view name,
              const Reading<std::vector<std::string>>& list, const Painter& painter) {
  const auto text = [](const std::vector<std::string>& words) {
    return words.empty() ? std::string(tr("none")) : joined(words, "  ", printable);
  };
  add_fact(lines, name, known(list, text), painter);
}

void add_process_facts(std::vector<PanelLine>& lines, const HostProcess& process,
                       const Painter& painter) {
  const auto same = [](const std::string& text) { return text; };
  const Snapshot& snapshot = painter.state.seen->snapshot;
  add_fact(lines, tr("user"), known(process.user, same), painter);
  add_fact(lines, tr("state"), known(process.state, same), painter);
  add_fact(lines, tr("started"),
           known(process.started,
                 [&](WallTime since) {
                   return since_text(since, snapshot.taken, painter.style) + "  " +
                          age_text(since, snapshot.taken);
                 }),
           painter);
  add_fact(lines, tr("CPU time"),
           known(process.cpu_time,
                 [](Milliseconds used) {
                   return short_duration(std::chrono::milliseconds(used.count()));
                 }),
           painter);
  add_fact(lines, tr("host memory"), known(process.memory_resident, bytes_text), painter);
  add_fact(
      lines, tr("container"),
      known(enclosure_title(process),
            [](const std::string& name) { return name.empty() ? std::string(tr("none")) : name; }),
      painter);
  if (process.enclosure && process.enclosure->image.get()) {
    add_fact(lines, tr("image"), *process.enclosure->image.get(), painter);
  }
  if (const Claim* claim = painter.state.seen->index.claim_of(process.id.pid)) {
    add_fact(lines, tr("run"), claim->run.empty() ? claim->id : claim->run, painter);
  }
}

/// A recording and a simulated server tell nothing of the host itself.
std::vector<PanelLine> host_lines(const Painter& painter) {
  const std::string known = host_text(painter.state.host);
  if (!known.empty()) return {{known}};
  return {
      {own(tr("nothing is known of this host's processors and memory"), painter.style), Tone::dim}};
}

void draw_host_charts(const Painter& painter, int row, int rows) {
  const HostHistory& host = painter.history.host();
  const Style& style = painter.style;
  const auto percent = [&](const Series& series) {
    const auto now = series.latest();
    return now ? percent_text(Percent(*now)) : std::string(absent_mark(style));
  };
  const auto share = [&](std::string_view title, const Series& series, Tone tone) {
    return Painter::Plot{std::string(title), percent(series), &series, 100, tone, "100%"};
  };
  const auto load_now = host.load.latest();
  const float most_load = std::max(1.0F, host.load.most().value_or(0));
  std::vector<Painter::Plot> plots = {
      share(tr("all devices, busy"), host.devices_busy, Tone::chart_utilization),
      share(tr("all devices, memory"), host.devices_full, Tone::chart_memory)};
  if (painter.state.host != HostUse()) {
    plots.push_back(share(tr("host CPU"), host.cpu, Tone::chart_power));
    plots.push_back(share(tr("host memory"), host.memory, Tone::chart_temperature));
    plots.push_back({std::string(tr("host load")),
                     load_now ? fmt::format("{:.1f}", *load_now) : std::string(absent_mark(style)),
                     &host.load, most_load, Tone::chart_power, fmt::format("{:.1f}", most_load)});
  }
  const int count = static_cast<int>(plots.size());
  const int lines = rows >= 8 && count > 2 ? 2 : 1;
  const int columns = (count + lines - 1) / lines;
  const int each = painter.screen.size().columns / columns;
  for (int i = 0; i < count; ++i) {
    painter.plot(1 + i % columns * each, row + i / columns * (rows / lines), each - 2, rows / lines,
                 plots[static_cast<std::size_t>(i)]);
  }
}

void draw_process_charts(const Painter& painter, int row, int rows) {
  const UseRow* selected = selected_row(painter.state);
  if (selected == nullptr || rows < 3) return;
  const UseKey key = selected->key();
  const ProcessHistory* history = painter.history.process(key.device, key.process);
  const auto series = [&](const Series ProcessHistory::* which) {
    return history == nullptr ? nullptr : &(history->*which);
  };
  const auto top_of = [](const Series* one, float at_least) {
    return std::max(at_least, one == nullptr ? 0 : one->most().value_or(0));
  };
  const Series* memory = series(&ProcessHistory::memory);
  const Series* cpu = series(&ProcessHistory::cpu);
  const Style& style = painter.style;
  const std::string cpu_now = selected->cpu
                                  ? fmt::format("{:.0f}%", std::min(*selected->cpu, 99999.0))
                                  : std::string(absent_mark(style));
  const std::array<Painter::Plot, 3> plots = {
      {{std::string(tr("GPU memory")), reading_text(selected->use->memory, style, bytes_short),
        memory, top_of(memory, 0.001F), Tone::chart_memory},
       {std::string(tr("SM utilization")), percent_of(selected->use->utilization_sm, style),
        series(&ProcessHistory::sm), 100, Tone::chart_utilization},
       {std::string(tr("CPU")), cpu_now, cpu, top_of(cpu, 100), Tone::chart_power}}};
  const int each = painter.screen.size().columns / 3;
  for (int i = 0; i < 3; ++i) {
    painter.plot(1 + i * each, row, each - 2, rows, plots.at(static_cast<std::size_t>(i)));
  }
}

}  // namespace

void add_lines(std::vector<PanelLine>& lines, std::string_view text, Tone tone) {
  for (const std::string_view line : split(text, '\n')) {
    if (!line.empty()) lines.push_back({std::string(line), tone});
  }
}

void add_wrapped(std::vector<PanelLine>& lines, std::string_view text, Tone tone, int indent,
                 const Painter& painter) {
  const std::string first(static_cast<std::size_t>(indent), ' ');
  add_lines(lines, wrapped(first, own(printable(text), painter.style), indent + 2, painter.style),
            tone);
}

std::vector<PanelLine> help_lines(const Painter& painter) {
  std::vector<PanelLine> lines;
  const Style& style = painter.style;
  for (const Binding& binding : bindings()) {
    const std::string keys = own(tr(binding.keys), style);
    const std::string what = own(tr(binding.what), style);
    const bool narrow = style.width < 60;
    if (narrow) lines.push_back({keys, Tone::key});
    add_lines(lines, narrow ? wrapped("    ", what, 4, style) : labelled(keys, 19, what, style));
  }
  return lines;
}

std::vector<PanelLine> lease_lines(const Painter& painter) {
  std::vector<PanelLine> lines;
  if (!painter.state.seen) return lines;
  const Seen& seen = *painter.state.seen;
  const WallTime now = seen.snapshot.taken;
  if (seen.snapshot.claims.empty()) {
    lines.push_back({own(tr("nobody holds a lease"), painter.style), Tone::dim});
  }
  for (const Claim& claim : seen.snapshot.claims) {
    add_wrapped(lines,
                trf("{} has GPU {} for {}", claim.user, list_of_devices(claim.devices, seen),
                    age_text(claim.since, now)),
                Tone::bold, 0, painter);
    add_wrapped(lines, claim.run.empty() ? claim.command : claim.run + "  " + claim.command,
                Tone::plain, 2, painter);
  }
  lines.push_back({""});
  if (seen.snapshot.waiters.empty()) {
    lines.push_back({own(tr("nobody waits"), painter.style), Tone::dim});
  }
  std::size_t place = 0;
  for (const Waiter& waiter : seen.snapshot.waiters) {
    add_wrapped(lines,
                trf("{}. {} waits since {} for {}", ++place, waiter.user,
                    age_text(waiter.since, now), waiter.wants),
                Tone::bold, 0, painter);
    add_wrapped(lines, waiter.run.empty() ? waiter.command : waiter.run + "  " + waiter.command,
                Tone::plain, 2, painter);
    if (waiter.reserved.empty()) continue;
    add_wrapped(lines, trf("GPU {} is reserved for it", list_of_devices(waiter.reserved, seen)),
                Tone::high, 2, painter);
  }
  return lines;
}

namespace {

Tone tone_of(HealthState state) {
  switch (state) {
    case HealthState::ok:
      return Tone::good;
    case HealthState::notice:
      return Tone::plain;
    case HealthState::unknown:
    case HealthState::degraded:
      return Tone::warning;
    case HealthState::failed:
      return Tone::bad;
  }
  return Tone::bad;
}

/// As `berth health` says it.
void add_health(std::vector<PanelLine>& lines, const DeviceHealth& health, const Painter& painter) {
  if (health.findings.empty() && health.not_examined.empty()) return;
  const Device* device = painter.state.seen->index.device(health.device);
  const std::string name = device != nullptr ? short_name(*device) : health.device.text();
  const std::string model = device != nullptr ? device->name.get().value_or("") : "";
  std::string title = trf("GPU {}", name) + std::string(tr(": "));
  title += health_word(health.state);
  if (!model.empty()) title += " (" + model + ")";
  add_wrapped(lines, title, tone_of(health.state), 0, painter);
  for (const Finding& finding : health.findings) {
    add_wrapped(lines, finding.evidence.front().shown(), tone_of(state_of(finding)), 2, painter);
    if (finding.steps.empty()) continue;
    const std::string_view arrow = painter.style.utf8 ? "→ " : "> ";
    add_wrapped(lines, std::string(arrow) + advice_of(finding).shown(), Tone::plain, 4, painter);
  }
  const std::string unread = not_examined_text(health);
  if (!unread.empty()) add_wrapped(lines, unread, Tone::dim, 2, painter);
}

}  // namespace

std::vector<PanelLine> problem_lines(const Painter& painter) {
  std::vector<PanelLine> lines;
  if (!painter.state.seen) return lines;
  for (const DeviceHealth& health : health_of(painter.state.seen->snapshot)) {
    add_health(lines, health, painter);
  }
  for (const Problem& problem : painter.state.seen->snapshot.problems) {
    add_wrapped(lines, problem.source + ": " + problem.message.shown(), Tone::bad, 0, painter);
    if (!problem.remedy.empty()) {
      add_wrapped(lines, problem.remedy.shown(), Tone::plain, 2, painter);
    }
  }
  if (lines.empty()) lines.push_back({own(tr("nothing is wrong"), painter.style), Tone::good});
  const std::string note = process_view_note(painter.state.seen->snapshot.host);
  if (!note.empty()) add_wrapped(lines, note, Tone::plain, 0, painter);
  return lines;
}

std::vector<PanelLine> detail_lines(const Painter& painter) {
  std::vector<PanelLine> lines;
  const UseRow* row = selected_row(painter.state);
  if (row == nullptr) return lines;
  add_fact(lines, "pid", std::to_string(row->use->pid), painter);
  const std::string command = command_text(*row);
  add_fact(lines, tr("command"),
           command.empty() ? unknown_command(*row, painter.state.seen->snapshot.host) : command,
           painter);
  for (const UseRow& other : painter.state.rows) {
    if (other.use->pid != row->use->pid || other.device == nullptr) continue;
    add_fact(lines, trf("GPU {}", short_name(*other.device)),
             reading_text(other.use->memory, painter.style, bytes_text) + "  " +
                 other.device->name.get().value_or(""),
             painter);
    const auto percent = [&](const Reading<Percent>& load) {
      return percent_of(load, painter.style);
    };
    add_fact(lines, tr("load there"),
             trf("SM {}, memory {}, encoder {}, decoder {}", percent(other.use->utilization_sm),
                 percent(other.use->utilization_memory), percent(other.use->utilization_encoder),
                 percent(other.use->utilization_decoder)),
             painter);
  }
  if (row->process != nullptr && is_elsewhere(*row->process, painter.state.seen->snapshot.host)) {
    add_wrapped(lines, process_view_note(painter.state.seen->snapshot.host), Tone::plain, 0,
                painter);
    return lines;
  }
  if (row->process != nullptr) add_process_facts(lines, *row->process, painter);
  if (painter.state.viewer.replay) {
    lines.push_back(
        {own(tr("a recording has nothing of a process's own files"), painter.style), Tone::dim});
    return lines;
  }
  const auto& details = painter.state.details;
  if (!details || details->process != row->key().process) {
    lines.push_back({own(tr("reading its files"), painter.style), Tone::dim});
    return lines;
  }
  add_list(lines, tr("device files"), details->device_files, painter);
  add_list(lines, tr("environment"), details->environment_names, painter);
  return lines;
}

void draw_panel(const Painter& painter) {
  const Layout& layout = painter.layout;
  const int width = painter.screen.size().columns;
  if (layout.panel_rows <= 0) return;
  const int end = layout.panel_row + layout.panel_rows;
  painter.screen.fill(0, layout.panel_row, width, Tone::header);
  painter.say(1, layout.panel_row, title_of(painter.state.panel), Tone::header);
  const bool of_host = painter.state.panel == Panel::host;
  const bool with_charts = painter.state.panel == Panel::details && layout.panel_rows >= 14;
  const int chart_rows = with_charts ? std::min(8, layout.panel_rows / 3)
                         : of_host   ? std::max(0, layout.panel_rows - 2)
                                     : 0;
  const int room = std::max(0, layout.panel_rows - 1 - chart_rows);
  const std::vector<PanelLine> lines = lines_of(painter);
  const int last = std::max(0, static_cast<int>(lines.size()) - room);
  const int first = std::min(painter.state.panel_scroll, last);
  for (int i = 0; i < room && first + i < static_cast<int>(lines.size()); ++i) {
    const PanelLine& line = lines[static_cast<std::size_t>(first + i)];
    painter.screen.put(0, layout.panel_row + 1 + i, line.text, line.tone);
  }
  if (first < last) {
    const std::string more = own(trf("{} more lines", last - first), painter.style);
    painter.screen.put(std::max(0, width - display_width(more) - 1), layout.panel_row, more,
                       Tone::header);
  }
  if (chart_rows <= 2) return;
  of_host ? draw_host_charts(painter, end - chart_rows, chart_rows)
          : draw_process_charts(painter, end - chart_rows, chart_rows);
}

}  // namespace berth::top

#include "view/health_text.h"

#include "base/json_archive.h"
#include "base/sentence.h"
#include "base/text.h"
#include "base/tr.h"
#include "snapshot/questions.h"
#include "view/table.h"
#include "view/values.h"

namespace berth {

namespace {

std::string name_text(const DeviceHealth& health, const Snapshot& snapshot, const Style& style) {
  const Device* device = find_device(health.device, snapshot);
  const bool named = device != nullptr && device->name.get();
  return named ? outside(*device->name.get(), style) : std::string(absent_mark(style));
}

std::string findings_text(const DeviceHealth& health, const Style& style) {
  std::string text;
  for (const Finding& finding : health.findings) {
    text += wrapped("      ", outside(finding.evidence.front().shown(), style), 8, style,
                    health_paint(state_of(finding)));
    if (finding.occurrences) {
      text +=
          wrapped("        ",
                  own(trf("last at {}", date_time_text(finding.occurrences->last, style)), style),
                  8, style);
    }
    if (finding.steps.empty()) continue;
    text += wrapped(style.utf8 ? "        → " : "        > ",
                    outside(advice_of(finding).shown(), style), 10, style);
  }
  const std::string unread = not_examined_text(health);
  if (unread.empty()) return text;
  return text + wrapped("      ", own(unread, style), 8, style, Paint::dim);
}

}  // namespace

std::string not_examined_text(const DeviceHealth& health) {
  std::string what;
  for (const Sentence& one : health.not_examined) {
    what += (what.empty() ? "" : std::string(tr("; "))) + one.shown();
  }
  return what.empty() ? what : trf("could not be examined: {}", what);
}

std::string_view health_word(HealthState state) {
  switch (state) {
    case HealthState::ok:
      return tr("ok");
    case HealthState::notice:
      return tr("notice");
    case HealthState::unknown:
      return tr("unknown");
    case HealthState::degraded:
      return tr("degraded");
    case HealthState::failed:
      return tr("failed");
  }
  return "";
}

Paint health_paint(HealthState state) {
  switch (state) {
    case HealthState::ok:
      return Paint::green;
    case HealthState::notice:
      return Paint::plain;
    case HealthState::unknown:
    case HealthState::degraded:
      return Paint::yellow;
    case HealthState::failed:
      return Paint::red;
  }
  return Paint::plain;
}

std::string render_health(const std::vector<DeviceHealth>& devices, const Snapshot& snapshot,
                          const Style& style) {
  std::string text = simulated_line(snapshot.simulated, style);
  if (devices.empty()) {
    text += own(tr("No device whose health could be examined."), style) + "\n";
  }
  static constexpr TableColumn columns[] = {{.align = Align::right, .least = 4}, {}, {}};
  std::vector<TableRow> rows;
  for (const DeviceHealth& health : devices) {
    rows.push_back({health.index ? std::to_string(*health.index) : std::string(absent_mark(style)),
                    {own(health_word(health.state), style), health_paint(health.state)},
                    name_text(health, snapshot, style)});
  }
  const Table table(columns, std::move(rows), 2, style);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    text += table.line(i) + findings_text(devices[i], style);
  }
  for (const Problem& problem : snapshot.problems) {
    text += warning_line(outside(problem.message.shown(), style), style);
  }
  return text;
}

// The health of devices for programs.

namespace {

void write_finding(Archive& archive, const Finding& finding) {
  archive.derived("state", std::string(name_of(state_of(finding))));
  archive.derived("code", finding.rule);
  archive.derived("evidence", finding.evidence.front().english());
  archive.derived("advice", advice_of(finding).english());
  if (!finding.occurrences) return;
  const Occurrences& seen = *finding.occurrences;
  archive.derived("times", seen.times);
  archive.derived("last_unix_ms", seen.last);
  archive.derived("last_process", seen.process.get());
  archive.derived("last_pid", seen.pid.get());
  archive.derived("before_driver_load", seen.before_driver_load);
}

}  // namespace

std::string health_json(const std::vector<DeviceHealth>& devices, const Snapshot& snapshot) {
  const auto worst = worst_of(devices);
  std::optional<std::string> state;
  if (worst) state = std::string(name_of(*worst));
  std::vector<Sentence> problems;
  for (const Problem& problem : snapshot.problems) problems.push_back(problem.message);
  return write_json(JsonLayout::indented,
                    [&](Archive& archive) {
                      archive.derived("berth_health", 1);
                      archive.derived("taken_unix_ms", snapshot.taken);
                      archive.derived("simulated", snapshot.simulated);
                      archive.derived("state", state);
                      archive.derived_list("devices", devices, [&](const DeviceHealth& health) {
                        archive.derived("id", health.device);
                        archive.derived("index", health.index);
                        archive.derived("state", std::string(name_of(health.state)));
                        archive.derived_list("findings", health.findings, [&](const Finding& one) {
                          write_finding(archive, one);
                        });
                        archive.derived("not_examined", health.not_examined);
                      });
                      archive.derived("problems", problems);
                    }) +
         "\n";
}

}  // namespace berth

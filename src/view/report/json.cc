// A report as JSON, for programs: figures, curves in columns, and the whole record of each run.

#include <algorithm>

#include "base/json_archive.h"
#include "view/findings_text.h"
#include "view/manifest_text.h"
#include "view/report/chart.h"

namespace berth {

namespace {

void write_figures(Archive& archive, const ReportFigures& figures) {
  const bool counted = figures.energy_source == EnergySource::counter;
  archive.derived("lasted_milliseconds", figures.lasted_ms);
  archive.derived("waited_milliseconds", figures.waited_ms);
  archive.derived("device_hours", figures.device_hours);
  archive.derived("mean_utilization_percent", figures.mean_utilization);
  archive.derived("utilization_p95_percent", figures.utilization_p95);
  archive.derived("memory_peak_bytes", figures.memory_peak);
  archive.derived("temperature_peak_celsius", figures.temperature_peak);
  archive.derived("energy_millijoules", figures.energy);
  archive.derived("energy_source", std::string(counted ? "counter" : "integrated power"));
  archive.derived("cost", figures.cost);
  archive.derived("main_memory_peak_bytes", figures.main_memory_peak);
  archive.derived("cpu_milliseconds", figures.cpu_time);
}

/// Parallel lists: a column of a curve is one place in each.
void write_track(Archive& archive, const Track& track) {
  const std::vector<Track::Point> points = track.points();
  const auto column = [&](std::string_view key, auto part) {
    if (!archive.open(key, true, Form::plain, nullptr)) return;
    archive.begin_list(points.size());
    for (const Track::Point& point : points) {
      archive.next_item();
      auto value = point.*part;
      put(archive, value);
    }
    archive.end_list();
    archive.close();
  };
  column("at_milliseconds", &Track::Point::at_ms);
  column("least", &Track::Point::least);
  column("mean", &Track::Point::mean);
  column("most", &Track::Point::most);
  column("begins", &Track::Point::begins);
}

/// In the order of the curves, those `of_devices` or the others.
template <class TrackOf>
void write_curves_of(Archive& archive, bool of_devices, TrackOf track_of) {
  for (std::size_t at = 0; at < quantities; ++at) {
    const auto curve = static_cast<Curve>(at);
    if (is_of_device(curve) != of_devices) continue;
    const Track& track = track_of(curve);
    archive.derived_object(std::ranges::find(curve_rows, curve, &CurveRow::curve)->key,
                           !track.empty(), [&] { write_track(archive, track); });
  }
}

void write_curves(Archive& archive, const ReportRun& run) {
  std::size_t number = 0;
  archive.derived_list("devices", run.record.manifest.given.devices, [&](const Device& device) {
    archive.derived("id", device.id);
    write_curves_of(archive, true, [&](Curve curve) -> const Track& {
      return run.curves.of_device(number, curve);
    });
    ++number;
  });
  archive.derived_object("processes", true, [&] {
    write_curves_of(archive, false,
                    [&](Curve curve) -> const Track& { return run.curves.whole(curve); });
  });
}

void write_run(Archive& archive, const ReportRun& run) {
  archive.derived("id", run.record.manifest.id);
  archive.derived("state", name_of(run.record.state));
  archive.derived("length_milliseconds", run.length_ms());
  archive.derived_object("figures", true, [&] { write_figures(archive, run.figures); });
  archive.derived("samples", run.curves.samples());
  archive.derived("torn_lines", run.torn_lines);
  archive.derived("samples_problem", run.samples_unreadable);
  archive.derived("unsampled_milliseconds", run.curves.unsampled_ms());
  archive.derived_object("curves", true, [&] { write_curves(archive, run); });
  archive.derived_list("marked_numbers", run.numbers, [&](const MarkCurve& curve) {
    archive.derived("name", curve.name);
    archive.derived("last", curve.last);
    archive.derived("per_second", curve.per_second);
    archive.derived_object("curve", true, [&] { write_track(archive, curve.track); });
  });
  archive.derived_list("phases", run.phases, [&](const ReportPhase& phase) {
    archive.derived("from_milliseconds", phase.from_ms);
    archive.derived("to_milliseconds", phase.to_ms);
    archive.derived("name", phase.name.english());
  });
  archive.derived("findings", run.findings);
  archive.derived_object("record", true,
                         [&] { write_run(archive, run.record, story_of(run.record)); });
}

void write_report(Archive& archive, const Report& report) {
  archive.derived("berth_report", 1);
  archive.derived("written_unix_ms", report.written);
  archive.derived("price_per_kwh", report.price.per_kwh);
  archive.derived("currency", report.price.currency, Form::nullable);
  archive.derived_list("runs", report.runs, [&](const ReportRun& run) { write_run(archive, run); });
  std::size_t other = 0;
  archive.derived_list("differences", report.differences, [&](const ManifestDiff& differences) {
    const auto id = [&](std::size_t number) { return report.runs[number].record.manifest.id; };
    write_differences(archive, {.a = id(0), .b = id(++other)}, differences);
  });
}

}  // namespace

std::string report_json(const Report& report) {
  return write_json(JsonLayout::narrow, [&](Archive& archive) { write_report(archive, report); }) +
         "\n";
}

}  // namespace berth

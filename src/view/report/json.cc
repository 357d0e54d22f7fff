// A report as JSON, for programs: figures, curves in columns, and the whole record of each run.

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

struct CurveName {
  Curve quantity;
  const char* key;
};
constexpr CurveName curve_names[] = {{Curve::utilization, "utilization_percent"},
                                     {Curve::memory, "memory_used_bytes"},
                                     {Curve::power, "power_draw_watts"},
                                     {Curve::temperature, "temperature_celsius"},
                                     {Curve::clock, "clock_sm_megahertz"},
                                     {Curve::pcie_sent, "pcie_sent_bytes_per_second"},
                                     {Curve::pcie_received, "pcie_received_bytes_per_second"},
                                     {Curve::cpu, "cpus_busy"},
                                     {Curve::main_memory, "main_memory_bytes"},
                                     {Curve::storage_read, "storage_read_bytes_per_second"},
                                     {Curve::storage_written, "storage_written_bytes_per_second"}};

void write_curve(Archive& archive, const CurveName& name, const Track& track) {
  archive.derived_object(name.key, !track.empty(), [&] { write_track(archive, track); });
}

bool is_of_devices(const CurveName& name) {
  return static_cast<std::size_t>(name.quantity) < device_quantities;
}

void write_curves(Archive& archive, const ReportRun& run) {
  std::size_t number = 0;
  archive.derived_list("devices", run.record.manifest.given.devices, [&](const Device& device) {
    archive.derived("id", device.id);
    for (const CurveName& name : curve_names) {
      if (!is_of_devices(name)) continue;
      write_curve(archive, name, run.curves.of_device(number, name.quantity));
    }
    ++number;
  });
  archive.derived_object("processes", true, [&] {
    for (const CurveName& name : curve_names) {
      if (!is_of_devices(name)) write_curve(archive, name, run.curves.whole(name.quantity));
    }
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

// A report as JSON, for programs: figures, curves in columns, and the whole record of each run.

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "view/findings_json.h"
#include "view/manifest_text.h"
#include "view/report/chart.h"

namespace berth {

namespace {

using Json = nlohmann::ordered_json;

template <class T>
void put(Json& object, const char* key, const Reading<T>& reading) {
  if (reading.get()) {
    object[key] = reading.get()->count();
  } else {
    object[key] = nullptr;
    object["why"][key] = name_of(reading.why());
  }
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json figures_json(const ReportFigures& figures) {
  Json json;
  json["lasted_milliseconds"] = or_null(figures.lasted_ms);
  json["waited_milliseconds"] = or_null(figures.waited_ms);
  json["device_hours"] = or_null(figures.device_hours);
  put(json, "mean_utilization_percent", figures.mean_utilization);
  put(json, "utilization_p95_percent", figures.utilization_p95);
  put(json, "memory_peak_bytes", figures.memory_peak);
  put(json, "temperature_peak_celsius", figures.temperature_peak);
  put(json, "energy_millijoules", figures.energy);
  json["energy_source"] =
      figures.energy_source == EnergySource::counter ? "counter" : "integrated power";
  json["cost"] = or_null(figures.cost);
  put(json, "main_memory_peak_bytes", figures.main_memory_peak);
  put(json, "cpu_milliseconds", figures.cpu_time);
  return json;
}

/// Parallel lists: a column of a curve is one place in each.
Json track_json(const Track& track) {
  Json json = {{"at_milliseconds", Json::array()},
               {"least", Json::array()},
               {"mean", Json::array()},
               {"most", Json::array()},
               {"begins", Json::array()}};
  for (const Track::Point& point : track.points()) {
    json["at_milliseconds"].push_back(point.at_ms);
    json["least"].push_back(point.least);
    json["mean"].push_back(point.mean);
    json["most"].push_back(point.most);
    json["begins"].push_back(point.begins);
  }
  return json;
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

Json curves_json(const ReportRun& run) {
  Json json = {{"devices", Json::array()}};
  for (std::size_t device = 0; device < run.curves.devices(); ++device) {
    Json one = {{"id", run.record.manifest.given.devices[device].id.text()}};
    for (const CurveName& name : curve_names) {
      if (static_cast<std::size_t>(name.quantity) >= device_quantities) continue;
      const Track& track = run.curves.of_device(device, name.quantity);
      one[name.key] = track.empty() ? Json(nullptr) : track_json(track);
    }
    json["devices"].push_back(std::move(one));
  }
  for (const CurveName& name : curve_names) {
    if (static_cast<std::size_t>(name.quantity) < device_quantities) continue;
    const Track& track = run.curves.whole(name.quantity);
    json["processes"][name.key] = track.empty() ? Json(nullptr) : track_json(track);
  }
  return json;
}

Json numbers_json(const ReportRun& run) {
  Json all = Json::array();
  for (const MarkCurve& curve : run.numbers) {
    all.push_back({{"name", curve.name},
                   {"last", or_null(curve.last)},
                   {"per_second", or_null(curve.per_second)},
                   {"curve", track_json(curve.track)}});
  }
  return all;
}

Json phases_json(const ReportRun& run) {
  Json all = Json::array();
  for (const ReportPhase& phase : run.phases) {
    all.push_back({{"from_milliseconds", phase.from_ms},
                   {"to_milliseconds", phase.to_ms},
                   {"name", phase.name.english()}});
  }
  return all;
}

Json run_json(const ReportRun& run) {
  Json json;
  json["id"] = run.record.manifest.id;
  json["state"] = name_of(run.record.state);
  json["length_milliseconds"] = run.length_ms();
  json["figures"] = figures_json(run.figures);
  json["samples"] = run.curves.samples();
  json["torn_lines"] = run.torn_lines;
  json["samples_problem"] = or_null(run.samples_unreadable);
  json["unsampled_milliseconds"] = run.curves.unsampled_ms();
  json["curves"] = curves_json(run);
  json["marked_numbers"] = numbers_json(run);
  json["phases"] = phases_json(run);
  json["findings"] = findings_json(run.findings);
  json["record"] = Json::parse(to_json(run.record));
  return json;
}

}  // namespace

std::string report_json(const Report& report) {
  Json root;
  root["berth_report"] = 1;
  root["written_unix_ms"] = report.written.unix_ms;
  root["price_per_kwh"] = or_null(report.price.per_kwh);
  root["currency"] = report.price.currency.empty() ? Json(nullptr) : Json(report.price.currency);
  root["runs"] = Json::array();
  for (const ReportRun& run : report.runs) root["runs"].push_back(run_json(run));
  root["differences"] = Json::array();
  for (std::size_t i = 0; i < report.differences.size(); ++i) {
    root["differences"].push_back({{"a", report.runs.front().record.manifest.id},
                                   {"b", report.runs[i + 1].record.manifest.id},
                                   {"differences", found_json(report.differences[i])},
                                   {"not_comparable", not_comparable_json(report.differences[i])}});
  }
  return printable_json(root.dump(1, ' ', false, Json::error_handler_t::replace)) + "\n";
}

}  // namespace berth

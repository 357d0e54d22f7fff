// What explain saw of what runs now and found, for programs.

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "view/findings_json.h"
#include "view/pace_text.h"

namespace berth {

namespace {

using Json = nlohmann::ordered_json;

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json devices_json(const PaceAnswer& answer) {
  Json devices = Json::array();
  for (std::size_t i = 0; i < answer.activity.devices.size(); ++i) {
    const pace::DeviceFacts& facts = answer.activity.devices[i];
    Json device = {{"id", facts.id.text()},
                   {"index", facts.index ? Json(*facts.index) : Json(nullptr)}};
    if (i < answer.pace.features.devices.size()) {
      const pace::DeviceLoad& load = answer.pace.features.devices[i];
      device["lost"] = load.lost;
      device["busy_ratio"] = or_null(load.busy);
      device["sm_ratio"] = or_null(load.sm);
      device["tensor_ratio"] = or_null(load.tensor);
      device["dram_ratio"] = or_null(load.dram);
      device["power_ratio"] = or_null(load.power);
      device["clock_ratio"] = or_null(load.clock);
      device["pcie_ratio"] = or_null(load.pcie);
      device["others_ratio"] = or_null(load.others);
    }
    devices.push_back(std::move(device));
  }
  return devices;
}

Json stretch_json(const std::optional<Stretch>& stretch) {
  if (!stretch) return nullptr;
  return {{"from_ms", stretch->from.count()}, {"to_ms", stretch->to.count()}};
}

Json phases_json(const Phases& phases) {
  Json pauses = Json::array();
  for (const Stretch& pause : phases.pauses) pauses.push_back(stretch_json(pause));
  Json repeating = nullptr;
  if (phases.repeating) {
    repeating = {{"count", phases.repeating->count},
                 {"period_ms", phases.repeating->period.count()},
                 {"length_ms", phases.repeating->length.count()},
                 {"share_ratio", phases.repeating->share}};
  }
  return {{"startup", stretch_json(phases.startup)},
          {"working", stretch_json(phases.working)},
          {"tail", stretch_json(phases.tail)},
          {"pauses", std::move(pauses)},
          {"repeating", std::move(repeating)}};
}

Json job_json(const pace::Features& features) {
  if (!features.saw_processes) return nullptr;
  Json holders = Json::array();
  for (const pace::ProcessLoad& one : features.holders.processes) holders.push_back(one.pid);
  return {{"on_devices", std::move(holders)},
          {"working_children", features.workers.processes.size()},
          {"cpus_used", features.cpu},
          {"cpus_wanted", features.wanted},
          {"cpus_allowed", or_null(features.cpus)},
          {"storage_read_bytes_per_second", or_null(features.storage_rate)},
          {"read_bytes_per_second", or_null(features.read_rate)}};
}

Json answer_json(const PaceAnswer& answer) {
  const pace::Activity& activity = answer.activity;
  const auto worst = worst_of(answer.pace.findings);
  const std::string_view framework = pace::name_of(activity.framework);
  Json json = {{"subject", activity.subject},
               {"simulated", activity.simulated ? Json(*activity.simulated) : Json(nullptr)},
               {"taken_unix_ms", activity.taken.unix_ms},
               {"taken_by", pace::name_of(activity.taken_by)},
               {"framework", framework.empty() ? Json(nullptr) : Json(framework)},
               {"seconds", answer.pace.features.seconds},
               {"torn_lines", activity.torn_lines},
               {"worst", worst ? Json(name_of(*worst)) : Json(nullptr)}};
  json["busy_ratio"] = or_null(answer.pace.features.busy_whole);
  json["devices"] = devices_json(answer);
  json["job"] = job_json(answer.pace.features);
  json["phases"] = phases_json(answer.pace.features.phases);
  json["findings"] = findings_json(answer.pace.findings);
  json["remarks"] = answer.remarks;
  return json;
}

}  // namespace

std::string pace_json(const std::vector<PaceAnswer>& answers) {
  Json all = Json::array();
  for (const PaceAnswer& answer : answers) all.push_back(answer_json(answer));
  const Json root = {{"berth_pace", 1}, {"answers", std::move(all)}};
  return printable_json(root.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

}  // namespace berth

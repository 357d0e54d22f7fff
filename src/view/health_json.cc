// The health of devices for programs.

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/tr.h"
#include "view/health_text.h"

namespace berth {

namespace {
template <class T>
nlohmann::ordered_json or_null(const Reading<T>& reading) {
  return reading.get() ? nlohmann::ordered_json(*reading.get()) : nlohmann::ordered_json(nullptr);
}
}  // namespace

std::string health_json(const std::vector<DeviceHealth>& devices, const Snapshot& snapshot) {
  using Json = nlohmann::ordered_json;
  Json root = Json::object();
  root["berth_health"] = 1;
  root["taken_unix_ms"] = snapshot.taken.unix_ms;
  root["simulated"] = snapshot.simulated ? Json(*snapshot.simulated) : Json(nullptr);
  const auto worst = worst_of(devices);
  root["state"] = worst ? Json(name_of(*worst)) : Json(nullptr);
  root["devices"] = Json::array();
  for (const DeviceHealth& health : devices) {
    Json findings = Json::array();
    for (const HealthFinding& finding : health.findings) {
      findings.push_back({{"state", name_of(finding.state)},
                          {"code", finding.code},
                          {"evidence", finding.evidence},
                          {"advice", finding.advice}});
      if (!finding.occurrences) continue;
      const Occurrences& seen = *finding.occurrences;
      findings.back()["times"] = seen.times;
      findings.back()["last_unix_ms"] = seen.last.unix_ms;
      findings.back()["last_process"] = or_null(seen.process);
      findings.back()["last_pid"] = or_null(seen.pid);
      findings.back()["before_driver_load"] = seen.before_driver_load;
    }
    root["devices"].push_back({{"id", health.device.text()},
                               {"index", health.index ? Json(*health.index) : Json(nullptr)},
                               {"state", name_of(health.state)},
                               {"findings", std::move(findings)},
                               {"not_examined", health.not_examined}});
  }
  Json problems = Json::array();
  for (const Problem& problem : snapshot.problems) problems.push_back(problem.message);
  root["problems"] = std::move(problems);
  return printable_json(root.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

}  // namespace berth

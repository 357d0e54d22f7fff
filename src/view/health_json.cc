// The health of devices for programs.

#include "base/json_archive.h"
#include "view/health_text.h"

namespace berth {

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
  std::vector<std::string> problems;
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

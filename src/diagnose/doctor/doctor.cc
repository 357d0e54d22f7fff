#include "diagnose/doctor/doctor.h"

#include <algorithm>
#include <iterator>

namespace berth {

namespace doctor {

namespace {

Part missing_parts(const Examined& host) {
  const auto unless = [](bool is_there, Part part) { return is_there ? Part::nothing : part; };
  const HostFacts& facts = host.facts;
  return unless(driver_works(host), Part::driver) | unless(facts.kernel.has_value(), Part::kernel) |
         unless(facts.cuda.has_value(), Part::cuda) |
         unless(facts.python.has_value(), Part::python) |
         unless(facts.libraries.has_value(), Part::libraries) |
         unless(facts.limits.has_value(), Part::limits) |
         unless(facts.directory.has_value(), Part::directory);
}

}  // namespace

const std::vector<Rule>& all_rules() {
  static const auto all = rows_of<Rule>(
      {driver_rules, containers_rules, cuda_rules, gpu_proof_rules, health_rules, frameworks_rules,
       visible_devices_rules, visible_others_rules, accelerators_rules, devices_rules,
       libraries_rules, toolkits_rules, variables_rules, folders_rules, machine_rules});
  return all;
}

Findings ask(const Rule& rule, const Examined& host) {
  const auto lacks = static_cast<unsigned>(missing_parts(host));
  return (lacks & static_cast<unsigned>(rule.needs)) == 0 ? rule.find(host) : Findings();
}

}  // namespace doctor

Findings examine(const Examined& host) {
  Findings findings;
  for (const doctor::Rule& rule : doctor::all_rules()) {
    std::ranges::move(doctor::ask(rule, host), std::back_inserter(findings));
  }
  sort_by_severity(findings);
  return findings;
}

}  // namespace berth

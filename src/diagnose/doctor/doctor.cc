#include "diagnose/doctor/doctor.h"

#include <algorithm>
#include <iterator>

namespace berth {

namespace doctor {

namespace {

HostPart missing_parts(const Examined& host) {
  const auto unless = [](bool is_there, HostPart part) {
    return is_there ? HostPart::nothing : part;
  };
  const HostFacts& facts = host.facts;
  return unless(driver_works(host), HostPart::driver) |
         unless(facts.kernel.has_value(), HostPart::kernel) |
         unless(facts.cuda.has_value(), HostPart::cuda) |
         unless(facts.python.has_value(), HostPart::python) |
         unless(facts.libraries.has_value(), HostPart::libraries) |
         unless(facts.limits.has_value(), HostPart::limits) |
         unless(facts.directory.has_value(), HostPart::directory);
}

}  // namespace

const std::vector<DoctorRule>& all_rules() {
  static const auto all = rows_of<DoctorRule>(
      {driver_rules, containers_rules, cuda_rules, gpu_proof_rules, health_rules, frameworks_rules,
       visible_devices_rules, visible_others_rules, accelerators_rules, devices_rules,
       libraries_rules, toolkits_rules, variables_rules, folders_rules, machine_rules});
  return all;
}

Findings ask(const DoctorRule& rule, const Examined& host) {
  const auto lacks = static_cast<unsigned>(missing_parts(host));
  return (lacks & static_cast<unsigned>(rule.needs)) == 0 ? rule.find(host) : Findings();
}

}  // namespace doctor

Findings examine(const Examined& host) {
  Findings findings;
  for (const doctor::DoctorRule& rule : doctor::all_rules()) {
    std::ranges::move(doctor::ask(rule, host), std::back_inserter(findings));
  }
  sort_by_severity(findings);
  return findings;
}

}  // namespace berth

// All rules together; each has its own tests in rules/.

#include "diagnose/doctor/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Doctor, FindsNothingOnAHealthyMachine) { EXPECT_THAT(rules_of(healthy()), IsEmpty()); }

TEST(Doctor, FindsNothingOnAMachineWithoutACard) {
  Examined host = healthy();
  host.snapshot.devices.clear();
  host.snapshot.host = {};
  host.facts.kernel = KernelSide{.module_version = Absent::unsupported};
  host.facts.device_files.clear();
  host.facts.cuda =
      CudaAnswer{.problem = "libcuda.so.1: cannot open shared object file", .is_absent = true};
  host.facts.python->frameworks = {torch_for("1.13.0", std::nullopt)};
  host.facts.python->said.frameworks[0].sees_gpu = false;
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(Doctor, FindsNothingWhereNothingWasLookedAt) {
  Examined host = healthy();
  host.facts = {};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(Doctor, EachNameBelongsToOneRule) {
  std::set<std::string_view> names;
  for (const DoctorRule& rule : all_rules()) {
    EXPECT_FALSE(names_in(rule.reports).empty());
    for (const std::string_view name : names_in(rule.reports)) {
      EXPECT_TRUE(names.insert(name).second) << name;
    }
  }
}

TEST(Doctor, ARuleIsNotAskedWhereWhatItNeedsWasNotLookedAt) {
  const DoctorRule rule{.find = [](const Examined&) { return Findings{{.rule = "found"}}; },
                        .needs = HostPart::python | HostPart::driver};
  Examined host = healthy();
  EXPECT_EQ(ask(rule, host).size(), 1U);
  host.facts.limits.reset();
  EXPECT_EQ(ask(rule, host).size(), 1U);
  host.facts.python.reset();
  EXPECT_THAT(ask(rule, host), IsEmpty());
  host = healthy();
  host.snapshot.devices.clear();
  EXPECT_THAT(ask(rule, host), IsEmpty());
}

TEST(Doctor, TellsTheWorstFirstAndEqualsInTheOrderOfTheRules) {
  Examined host = healthy();
  host.facts.variables = {
      {"NCCL_SOCKET_IFNAME", "ib"}, {"NCCL_P2P_DISABLE", "1"}, {"NCCL_BLOCKING_WAIT", "1"}};
  host.facts.libraries->preload_missing = {"/gone.so"};
  host.facts.limits->open_files = std::uint64_t{256};
  EXPECT_THAT(rules_of(host),
              ElementsAre("nccl_interface_missing", "open_files_low", "preload_missing",
                          "nccl_slow_settings", "nccl_old_names"));
}

}  // namespace
}  // namespace berth::doctor

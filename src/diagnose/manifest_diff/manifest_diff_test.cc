#include "diagnose/manifest_diff/manifest_diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A run on one device, all of whose facts are known.
Manifest a_run() {
  Manifest run;
  run.id = "20251121-014946-k3f9q2";
  run.command = {"python", "train.py"};
  run.working_directory = "/home/ada/work";
  run.user = "ada";
  run.given = SnapshotBuilder()
                  .gpu("GPU-A", 80_GiB)
                  .with([](Device& device) {
                    device.kind = DeviceKind::nvidia_gpu;
                    device.name = std::string("NVIDIA A100");
                    device.power_limit = 400_watts;
                    device.clock_sm_max = 1410_MHz;
                    device.pcie_width = 16;
                    device.persistence_mode = true;
                    device.ecc_mode = true;
                  })
                  .build();
  run.given.host.software_of(Runtime::cuda).driver = std::string("550.54");
  run.given.host.software_of(Runtime::rocm) = {.driver = Absent::unsupported,
                                               .runtime = std::string("6.3.0-39")};
  run.given.host.name = std::string("one");
  run.promised = {20_GiB};
  run.machine.operating_system = std::string("Debian 12");
  run.machine.cpu_model = std::string("AMD EPYC");
  run.machine.cpu_count = 64;
  run.machine.memory_total = 512_GiB;
  run.machine.container = std::string();
  run.git = GitFacts{.root = "/home/ada/work",
                     .commit = std::string("aaaa"),
                     .branch = std::string("main"),
                     .dirty = false};
  run.python = PythonFacts{
      .interpreter = "/usr/bin/python3",
      .version = std::string("3.11.2"),
      .packages = {{"numpy", "1.26"}, {"nvidia_cudnn_cu12", "8.9"}, {"torch", "2.3.1"}},
      .frameworks = {{.name = "torch", .version = "2.3.1", .cuda = std::string("12.1")}}};
  run.variables = {{"NVIDIA_TF32_OVERRIDE", "0"}, {"OMP_NUM_THREADS", "8"}, {"RANK", "0"}};
  run.complete = true;
  return run;
}

struct Case {
  std::string rule;
  Explains explains;
  std::function<void(Manifest&)> change;
};

Device& device_of(Manifest& run) { return run.given.devices.front(); }

const Case cases[] = {
    {"device_model", Explains::results,
     [](Manifest& run) { device_of(run).name = std::string("NVIDIA H100"); }},
    {"device_model", Explains::results,
     [](Manifest& run) { device_of(run).compute_capability = ComputeCapability{9, 0}; }},
    {"device_kind", Explains::results,
     [](Manifest& run) {
       device_of(run).kind = DeviceKind::nvidia_mig;
       device_of(run).parent = DeviceId("GPU-P");
     }},
    {"device_count", Explains::results,
     [](Manifest& run) {
       run.given.devices.push_back(device_of(run));
       run.promised.push_back(20_GiB);
     }},
    {"promised_memory", Explains::results, [](Manifest& run) { run.promised = {40_GiB}; }},
    {"framework", Explains::results,
     [](Manifest& run) { run.python->packages.back().second = "2.4.0"; }},
    {"cuda_library", Explains::results,
     [](Manifest& run) { run.python->packages[1].second = "9.1"; }},
    {"package", Explains::results,
     [](Manifest& run) { run.python->packages.front().second = "2.0"; }},
    {"cuda_build", Explains::results,
     [](Manifest& run) { run.python->frameworks.front().cuda = std::string(); }},
    {"python", Explains::results, [](Manifest& run) { run.python->version = std::string("3.12"); }},
    {"git_commit", Explains::results, [](Manifest& run) { run.git->commit = std::string("bbbb"); }},
    {"git_dirty", Explains::results, [](Manifest& run) { run.git->dirty = true; }},
    {"command", Explains::results, [](Manifest& run) { run.command.emplace_back("--seed=2"); }},
    {"variable", Explains::results, [](Manifest& run) { run.variables[0].second = "1"; }},
    {"variable", Explains::results,
     [](Manifest& run) { run.variables.emplace_back("CUBLAS_WORKSPACE_CONFIG", ":4096:8"); }},
    {"variable", Explains::results,
     [](Manifest& run) { run.variables.emplace_back("PYTHONHASHSEED", "0"); }},
    {"variable", Explains::results,
     [](Manifest& run) { run.variables.emplace_back("NCCL_ALGO", "Ring"); }},
    {"driver", Explains::speed,
     [](Manifest& run) {
       run.given.host.software_of(Runtime::cuda).driver = std::string("560.1");
     }},
    {"driver", Explains::speed,
     [](Manifest& run) {
       run.given.host.software_of(Runtime::rocm).driver = std::string("6.12.1");
     }},
    {"runtime", Explains::results,
     [](Manifest& run) {
       run.given.host.software_of(Runtime::rocm).runtime = std::string("6.4.0");
     }},
    {"device_settings", Explains::speed,
     [](Manifest& run) { device_of(run).power_limit = 300_watts; }},
    {"device_settings", Explains::speed,
     [](Manifest& run) { device_of(run).clock_sm_max = 1200_MHz; }},
    {"device_settings", Explains::speed, [](Manifest& run) { device_of(run).pcie_width = 8; }},
    {"device_settings", Explains::speed,
     [](Manifest& run) { device_of(run).persistence_mode = false; }},
    {"device_identity", Explains::speed,
     [](Manifest& run) { device_of(run).id = DeviceId("GPU-B"); }},
    {"device_memory", Explains::speed, [](Manifest& run) { device_of(run).memory_total = 40_GiB; }},
    {"processor", Explains::speed, [](Manifest& run) { run.machine.cpu_count = 32; }},
    {"system", Explains::speed,
     [](Manifest& run) { run.machine.operating_system = std::string("Ubuntu"); }},
    {"variable", Explains::speed, [](Manifest& run) { run.variables[1].second = "4"; }},
    {"variable", Explains::speed,
     [](Manifest& run) { run.variables.emplace_back("NCCL_DEBUG", "INFO"); }},
    {"variable", Explains::speed,
     [](Manifest& run) { run.variables.emplace_back("HIP_LAUNCH_BLOCKING", "1"); }},
    {"variable", Explains::speed,
     [](Manifest& run) { run.variables.emplace_back("PYTORCH_HIP_ALLOC_CONF", "x"); }},
    {"variable", Explains::speed,
     [](Manifest& run) { run.variables.emplace_back("PYTORCH_NPU_ALLOC_CONF", "x"); }},
    {"variable", Explains::speed,
     [](Manifest& run) { run.variables.emplace_back("HCCL_CONNECT_TIMEOUT", "600"); }},
    {"variable", Explains::results,
     [](Manifest& run) { run.variables.emplace_back("HCCL_DETERMINISTIC", "true"); }},
    {"variable", Explains::results,
     [](Manifest& run) { run.variables.emplace_back("MIOPEN_FIND_MODE", "1"); }},
    {"variable", Explains::neither,
     [](Manifest& run) { run.variables.emplace_back("ONEAPI_DEVICE_SELECTOR", "*:1"); }},
    {"variable", Explains::neither, [](Manifest& run) { run.variables[2].second = "1"; }},
    {"variable", Explains::neither,
     [](Manifest& run) { run.variables.emplace_back("CUDA_VISIBLE_DEVICES", "3"); }},
    {"variable", Explains::neither,
     [](Manifest& run) { run.variables.emplace_back("MLU_VISIBLE_DEVICES", "3"); }},
    {"who_and_where", Explains::neither,
     [](Manifest& run) { run.given.host.name = std::string("two"); }},
    {"who_and_where", Explains::neither, [](Manifest& run) { run.user = "bob"; }},
    {"working_directory", Explains::neither,
     [](Manifest& run) { run.working_directory = "/home/ada/copy"; }},
    {"python_path", Explains::neither,
     [](Manifest& run) { run.python->interpreter = "/opt/bin/python3"; }},
    {"container", Explains::neither,
     [](Manifest& run) { run.machine.container = std::string("docker 1a2b3c4d5e6f"); }},
};

TEST(ManifestDiff, EachOneIsFoundAloneWithWhatItCanExplain) {
  for (const Case& one : cases) {
    Manifest changed = a_run();
    one.change(changed);
    const ManifestDiff got = manifest_diff(a_run(), changed);
    ASSERT_EQ(got.found.size(), 1U) << one.rule;
    EXPECT_EQ(got.found.front().rule, one.rule);
    EXPECT_EQ(got.found.front().explains, one.explains) << one.rule;
    EXPECT_FALSE(got.found.front().why.empty()) << one.rule;
    EXPECT_NE(got.found.front().in_a, got.found.front().in_b) << one.rule;
    EXPECT_THAT(got.unknown, IsEmpty()) << one.rule;
  }
}

TEST(ManifestDiff, NamesTheVendorWhoseDriverIsAnother) {
  Manifest other = a_run();
  other.given.host.software_of(Runtime::rocm).driver = std::string("6.12.1");
  const ManifestDiff got = manifest_diff(a_run(), other);
  ASSERT_EQ(got.found.size(), 1U);
  EXPECT_EQ(got.found[0].what.english(), "AMD driver");
  EXPECT_EQ(got.found[0].in_a.english(), "in-tree driver of this kernel");
  EXPECT_EQ(got.found[0].in_b.english(), "6.12.1");
}

TEST(ManifestDiff, IdsDatesAndProcessesAreNone) {
  Manifest later = a_run();
  later.id = "20251122-014946-aaaaaa";
  later.started = {1'763'690'000'000};
  later.boot_id = "another";
  later.keeper.pid = 7;
  later.waited_ms = 5000;
  const ManifestDiff got = manifest_diff(a_run(), later);
  EXPECT_THAT(got.found, IsEmpty());
  EXPECT_THAT(got.unknown, IsEmpty());
}

TEST(ManifestDiff, WorstComesFirst) {
  Manifest other = a_run();
  other.user = "bob";
  other.given.host.software_of(Runtime::cuda).driver = std::string("560.1");
  other.git->commit = std::string("bbbb");
  std::vector<std::string> rules;
  for (const Difference& one : manifest_diff(a_run(), other).found) rules.push_back(one.rule);
  EXPECT_THAT(rules, ElementsAre("git_commit", "driver", "who_and_where"));
}

TEST(ManifestDiff, WhatOneSideDoesNotTellIsNeitherEqualNorDifferent) {
  Manifest other = a_run();
  other.given.host.software_of(Runtime::cuda).driver = Absent::no_permission;
  const ManifestDiff got = manifest_diff(a_run(), other);
  EXPECT_THAT(got.found, IsEmpty());
  ASSERT_EQ(got.unknown.size(), 1U);
  EXPECT_EQ(got.unknown.front().rule, "driver");
  EXPECT_EQ(got.unknown.front().unknown_in, NotComparable::Side::b);
  EXPECT_EQ(got.unknown.front().because.english(), "no permission to read it");
  EXPECT_TRUE(any_unknown(got, Explains::speed));
  EXPECT_FALSE(any_unknown(got, Explains::results));
}

TEST(ManifestDiff, TwoChangedWorkTreesOfOneCommitCannotBeCompared) {
  Manifest a = a_run();
  a.git->dirty = true;
  const ManifestDiff got = manifest_diff(a, a);
  EXPECT_THAT(got.found, IsEmpty());
  ASSERT_EQ(got.unknown.size(), 1U);
  EXPECT_EQ(got.unknown.front().unknown_in, NotComparable::Side::both);
  EXPECT_TRUE(any_unknown(got, Explains::results));
}

TEST(ManifestDiff, TwoMaskedSecretsCannotBeCompared) {
  Manifest a = a_run();
  a.variables.emplace_back("HF_TOKEN", "***");
  const ManifestDiff got = manifest_diff(a, a);
  EXPECT_THAT(got.found, IsEmpty());
  ASSERT_EQ(got.unknown.size(), 1U);
  EXPECT_THAT(got.unknown.front().what.english(), HasSubstr("HF_TOKEN"));
}

TEST(ManifestDiff, ThreadsMatterToResultsWhereACpuComputes) {
  Manifest a = a_run();
  a.given.devices.clear();
  a.promised.clear();
  Manifest b = a;
  b.variables[1].second = "4";
  b.machine.cpu_count = 8;
  const ManifestDiff got = manifest_diff(a, b);
  ASSERT_EQ(got.found.size(), 2U);
  EXPECT_EQ(got.found[0].explains, Explains::results);
  EXPECT_EQ(got.found[1].explains, Explains::results);
}

TEST(ManifestDiff, ACpuRunBesideAGpuRunSaysThatAloneOfTheDevices) {
  Manifest cpu = a_run();
  cpu.given.devices.clear();
  cpu.promised.clear();
  const ManifestDiff got = manifest_diff(a_run(), cpu);
  ASSERT_EQ(got.found.size(), 1U);
  EXPECT_EQ(got.found.front().rule, "cpu_or_gpu");
  EXPECT_EQ(got.found.front().in_b.english(), "CPU");
}

TEST(ManifestDiff, ASimulatedServerComparesWithNothingReal) {
  Manifest simulated = a_run();
  simulated.given.simulated = "server-8xh100";
  const ManifestDiff got = manifest_diff(a_run(), simulated);
  ASSERT_EQ(got.found.size(), 1U);
  EXPECT_EQ(got.found.front().rule, "simulated");
}

TEST(ManifestDiff, ARunIsComparedWithTheCardOfAPlaceThatIsMostLikeItsOwn) {
  Manifest here = a_run();
  here.id.clear();
  here.command.clear();
  here.promised.clear();
  Device other = here.given.devices.front();
  other.id = DeviceId("GPU-X");
  other.name = std::string("NVIDIA T4");
  here.given.devices.insert(here.given.devices.begin(), other);
  EXPECT_THAT(manifest_diff(a_run(), here).found, IsEmpty());
  here.given.devices.pop_back();
  const ManifestDiff got = manifest_diff(a_run(), here);
  ASSERT_FALSE(got.found.empty());
  EXPECT_EQ(got.found.front().rule, "device_model");
}

TEST(ManifestDiff, AVersionInFullIsNoOtherThanItsBeginning) {
  Manifest b = a_run();
  b.python->version = std::string("3.11");
  EXPECT_THAT(manifest_diff(a_run(), b).found, IsEmpty());
}

TEST(ManifestDiff, ARunThatWasOverAtOnceSaysSoInsteadOfDifferingInEverything) {
  Manifest b = a_run();
  b.machine = {};
  b.git.reset();
  b.python.reset();
  b.variables.clear();
  b.complete = false;
  const ManifestDiff got = manifest_diff(a_run(), b);
  EXPECT_THAT(got.found, IsEmpty());
  EXPECT_EQ(got.unknown.front().rule, "ungathered");
  EXPECT_TRUE(any_unknown(got, Explains::results));
}

}  // namespace
}  // namespace berth

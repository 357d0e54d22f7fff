#pragma once
// A machine on which no rule finds anything, for the tests of this folder. Each test changes what
// its rule is about.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/doctor.h"
#include "snapshot/builder.h"
#include "snapshot/device_fault.h"

namespace berth::doctor {

inline FrameworkBuild torch_for(std::string version, std::optional<TwoPart> cuda) {
  return {.name = "torch",
          .version = std::move(version),
          .where = "/venv/lib/python3.11/site-packages",
          .installer = "pip",
          .cuda = cuda,
          .cuda_source = "torch/version.py"};
}

/// Two cards, driver 580, a torch that fits, everything else as it should be.
inline Examined healthy() {
  using namespace literals;
  Examined host{.snapshot = SnapshotBuilder().gpu("GPU-a", 80_GiB).gpu("GPU-b", 80_GiB).build()};
  host.snapshot.host.software_of(Runtime::cuda).driver = std::string("580.65.06");
  host.snapshot.host.software_of(Runtime::cuda).runtime = std::string("13.0");
  for (Device& device : host.snapshot.devices) device.persistence_mode = true;
  HostFacts& facts = host.facts;
  facts.container = std::string();
  facts.container_tools =
      ContainerTools{.engines = {{"docker", "/run/docker.sock"}}, .toolkit = "/usr/bin/nvidia-ctk"};
  facts.kernel = KernelSide{.release = std::string("6.1.0"),
                            .module_version = std::string("580.65.06"),
                            .secure_boot = true,
                            .module_installed = true};
  facts.device_files = {{"/dev/nvidiactl", FileAccess::opens, "crw-rw-rw- 0:0"},
                        {"/dev/nvidia0", FileAccess::opens, "crw-rw-rw- 0:0"}};
  facts.libraries =
      Libraries{.found = {{"libcuda", "/usr/lib64/libcuda.so.580.65.06", "580.65.06", "loader"}},
                .nvcc = "/usr/local/cuda/bin/nvcc",
                .nvcc_version = TwoPart{12, 8}};
  facts.limits = Limits{.cpus_online = std::uint64_t{16},
                        .cpus_allowed = std::uint64_t{16},
                        .cpu_quota = Absent::unsupported,
                        .memory_total = 64_GiB,
                        .memory_available = 60_GiB,
                        .shared_memory_total = 32_GiB,
                        .shared_memory_free = 32_GiB,
                        .open_files = std::uint64_t{1024},
                        .open_files_hard = std::uint64_t{1'048'576},
                        .governor = std::string("powersave"),
                        .frequency_driver = std::string("intel_pstate")};
  facts.directory = WorkingDirectory{.path = "/home/ada",
                                     .file_system = "ext4",
                                     .total = 900_GiB,
                                     .free = 300_GiB,
                                     .open_microseconds = std::int64_t{40}};
  facts.cuda = CudaAnswer{.devices = {{"a", "Test GPU"}, {"b", "Test GPU"}}};
  facts.interfaces = {"eth0", "lo"};
  facts.python = PythonEnvironment{.interpreter = "/venv/bin/python",
                                   .environment = "/venv",
                                   .version = TwoPart{3, 11},
                                   .packages = {{"torch", "2.9.1+cu128"}},
                                   .frameworks = {torch_for("2.9.1+cu128", TwoPart{12, 8})}};
  facts.python->said = {
      .end = ImportEnd::answered,
      .frameworks = {{.name = "torch", .version = "2.9.1", .sees_gpu = true, .devices = 2}}};
  return host;
}

/// What is found, each with all that a reader is to be told.
inline Findings findings_of(const Examined& host) {
  for (const DoctorRule& rule : all_rules()) {
    for (const Finding& finding : ask(rule, host)) {
      EXPECT_TRUE(reports(rule.reports, finding.rule)) << finding.rule << ": not in its rule's row";
    }
  }
  Findings findings = examine(host);
  for (const Finding& finding : findings) {
    EXPECT_FALSE(finding.title.empty()) << finding.rule;
    EXPECT_FALSE(finding.meaning.empty()) << finding.rule;
    EXPECT_THAT(finding.evidence, ::testing::Not(::testing::IsEmpty())) << finding.rule;
    EXPECT_THAT(finding.steps, ::testing::Not(::testing::IsEmpty())) << finding.rule;
    for (const Sentence& one : finding.evidence) EXPECT_FALSE(one.empty()) << finding.rule;
    for (const Finding::Step& step : finding.steps) {
      EXPECT_FALSE(step.what.empty()) << finding.rule;
    }
  }
  return findings;
}

inline std::vector<std::string> rules_of(const Examined& host) {
  std::vector<std::string> names;
  for (const Finding& finding : findings_of(host)) names.push_back(finding.rule);
  return names;
}

inline Finding only(const Examined& host) {
  const Findings findings = findings_of(host);
  EXPECT_THAT(findings, ::testing::SizeIs(1));
  return findings.empty() ? Finding{} : findings.front();
}

/// The one of that name among several.
inline Finding named(std::string_view rule, const Examined& host) {
  for (const Finding& finding : findings_of(host)) {
    if (finding.rule == rule) return finding;
  }
  ADD_FAILURE() << "no " << rule << " is found";
  return {};
}

/// Its severity, its name and all its evidence: "hint persistence_off: it is off on GPU 0; …".
inline std::string told(const Finding& finding) {
  std::string text = std::string(name_of(finding.severity)) + " " + finding.rule + ": ";
  for (std::size_t i = 0; i < finding.evidence.size(); ++i) {
    text += (i == 0 ? "" : "; ") + finding.evidence[i].english();
  }
  return text;
}
/// For a host on which there is but one.
inline std::string told(const Examined& host) { return told(only(host)); }

inline std::string commands_of(const Finding& finding) {
  std::string all;
  for (const Finding::Step& step : finding.steps) all += step.command + "\n";
  return all;
}

/// The card as PCI shows it where no driver answers for it.
inline Examined without_driver(WhyUnusable unusable_because, Reading<std::string> bound) {
  Examined host = healthy();
  host.snapshot.devices.resize(1);
  Device& card = host.snapshot.devices[0];
  card.index.reset();
  card.unusable_because = std::move(unusable_because);
  card.kernel_driver = std::move(bound);
  host.facts.kernel->module_version = Absent::unsupported;
  host.facts.cuda->devices.clear();
  host.facts.device_files.clear();
  return host;
}

}  // namespace berth::doctor

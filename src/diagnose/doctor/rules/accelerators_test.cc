#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

FrameworkBuild torch_build(std::string version) {
  FrameworkBuild build = torch_for(std::move(version), std::nullopt);
  build.cuda = std::optional<TwoPart>();
  return build;
}

/// Two devices of a maker and none of NVIDIA's, with a torch that computes on them.
Examined host_of(DeviceKind kind) {
  Examined host = healthy();
  for (Device& device : host.snapshot.devices) {
    device.kind = kind;
    device.minor_number = std::uint64_t{128} + static_cast<std::uint64_t>(*device.index);
    device.compute_capability = Absent::unsupported;
  }
  HostFacts& facts = host.facts;
  facts.kernel->module_version = Absent::unsupported;
  facts.cuda.reset();
  facts.container_tools.reset();
  facts.libraries.reset();
  facts.python->frameworks.clear();
  facts.python->packages.clear();
  facts.python->said = {};
  facts.device_files.clear();
  for (const char* path : {"/dev/kfd", "/dev/dri/renderD128", "/dev/dri/renderD129",
                           "/dev/davinci_manager", "/dev/davinci0"}) {
    facts.device_files.push_back({path, FileAccess::opens, "crw-rw---- 0:44"});
  }
  return host;
}

Examined with_torch(DeviceKind kind, FrameworkBuild torch, const std::string& npu = "") {
  Examined host = host_of(kind);
  host.facts.python->packages = {{"torch", torch.version}};
  if (!npu.empty()) host.facts.python->packages.emplace_back("torch_npu", npu);
  host.facts.python->frameworks = {std::move(torch)};
  return host;
}

FrameworkBuild rocm_build() {
  FrameworkBuild build = torch_build("2.9.1+rocm6.4");
  build.is_rocm = true;
  return build;
}

TEST(DoctorAccelerators, WhoseRightItWantsToSeeUsedMemoryIsTold) {
  Examined host = with_torch(DeviceKind::intel_gpu, torch_build("2.9.1+xpu"));
  host.snapshot.devices[1].memory_used = Absent::no_permission;
  const Finding found = only(host);
  EXPECT_EQ(found.rule, "used_memory_hidden");
  EXPECT_THAT(told(found), HasSubstr("CAP_PERFMON"));
  host.snapshot.devices[1].integrated = true;
  EXPECT_THAT(rules_of(host), IsEmpty()) << "it has no memory of its own";
}

TEST(DoctorAccelerators, AMachineWhereAllFitsHasNoFinding) {
  EXPECT_THAT(rules_of(with_torch(DeviceKind::amd_gpu, rocm_build())), IsEmpty());
  EXPECT_THAT(rules_of(with_torch(DeviceKind::intel_gpu, torch_build("2.9.1+xpu"))), IsEmpty());
  EXPECT_THAT(rules_of(with_torch(DeviceKind::ascend_npu, torch_build("2.1.0"), "2.1.0.post6")),
              IsEmpty());
}

TEST(DoctorAccelerators, TorchOfAnotherMakerIsNamed) {
  const Finding cuda =
      only(with_torch(DeviceKind::amd_gpu, torch_for("2.9.1+cu128", TwoPart{12, 8})));
  EXPECT_EQ(cuda.rule, "torch_of_another_maker");
  EXPECT_EQ(cuda.title.english(), "this torch was built for CUDA, and the devices here are AMD's");
  EXPECT_THAT(cuda.steps[0].what.english(), HasSubstr("build for ROCm"));
  const Finding cpu = only(with_torch(DeviceKind::ascend_npu, torch_build("2.1.0")));
  EXPECT_THAT(cpu.title.english(), HasSubstr("for the CPU alone"));
  EXPECT_THAT(cpu.steps[0].what.english(), HasSubstr("torch_npu"));
  const Finding rocm = only(with_torch(DeviceKind::intel_gpu, rocm_build()));
  EXPECT_EQ(rocm.title.english(),
            "this torch was built for ROCm, and the devices here are Intel's");
  EXPECT_THAT(rocm.steps[0].what.english(), HasSubstr("build for XPU"));
}

TEST(DoctorAccelerators, BesideNvidiasCardsABuildForTheOtherMakerIsRight) {
  Examined host = healthy();
  host.snapshot.devices[1].kind = DeviceKind::amd_gpu;
  host.facts.device_files.push_back({"/dev/kfd", FileAccess::opens, ""});
  host.facts.python->frameworks = {rocm_build()};
  host.facts.python->said = {};
  EXPECT_THAT(rules_of(host), testing::Not(Contains("torch_cpu_only")));
}

TEST(DoctorAccelerators, TorchNpuBelongsToOneTorch) {
  const Finding found =
      only(with_torch(DeviceKind::ascend_npu, torch_build("2.4.0+cpu"), "2.1.0.post6"));
  EXPECT_EQ(told(found), "error torch_npu_differs: torch_npu 2.1.0.post6, torch 2.4.0+cpu");
  EXPECT_EQ(commands_of(found), "pip install 'torch==2.1.0'\n");
}

TEST(DoctorAccelerators, AFileThatMayNotBeOpenedNamesItsGroup) {
  Examined host = host_of(DeviceKind::amd_gpu);
  host.facts.device_files[1].access = FileAccess::forbidden;
  EXPECT_EQ(told(host),
            "error render_forbidden: /dev/dri/renderD128 is crw-rw---- 0:44, and you may not open "
            "it");
  EXPECT_THAT(commands_of(only(host)),
              HasSubstr("sudo usermod -aG $(stat -c %G /dev/dri/renderD128) $USER"));
  host = host_of(DeviceKind::amd_gpu);
  host.facts.device_files[0].access = FileAccess::forbidden;
  EXPECT_THAT(told(host), HasSubstr("/dev/kfd is"));
  host.facts.device_files[0].mode = "crw-rw---- 0:0";
  EXPECT_EQ(commands_of(only(host)), "\n") << "nobody is to be added to root's group";
  for (Device& device : host.snapshot.devices) device.kind = DeviceKind::ascend_npu;
  EXPECT_THAT(rules_of(host), IsEmpty()) << "nobody here needs that file";
  host.facts.device_files[3].access = FileAccess::forbidden;
  EXPECT_THAT(told(host), HasSubstr("/dev/davinci_manager is"));
}

TEST(DoctorAccelerators, WithoutTheKfdRocmFindsNothing) {
  Examined host = host_of(DeviceKind::amd_gpu);
  host.facts.device_files.erase(host.facts.device_files.begin());
  EXPECT_EQ(only(host).rule, "kfd_missing");
}

TEST(DoctorAccelerators, AContainerIsToldWhatItWasNotGiven) {
  const auto started_without = [](DeviceKind kind) {
    Examined host = host_of(kind);
    host.facts.container = std::string("docker");
    host.facts.device_files.clear();
    const Finding found = named("container_without_accelerators", host);
    EXPECT_EQ(found.severity, Severity::error);
    return commands_of(found);
  };
  EXPECT_EQ(started_without(DeviceKind::amd_gpu),
            "docker run --device /dev/kfd --device /dev/dri/renderD128 --device "
            "/dev/dri/renderD129 …\n");
  EXPECT_EQ(started_without(DeviceKind::intel_gpu),
            "docker run --device /dev/dri/renderD128 --device /dev/dri/renderD129 …\n");
  EXPECT_THAT(started_without(DeviceKind::ascend_npu),
              HasSubstr("--device /dev/davinci_manager --device /dev/devmm_svm --device "
                        "/dev/hisi_hdc --device /dev/davinci128"));
  Examined host = host_of(DeviceKind::amd_gpu);
  host.facts.container = std::string("docker");
  EXPECT_THAT(rules_of(host), IsEmpty());
  host = host_of(DeviceKind::hygon_dcu);
  host.facts.container = std::string("docker");
  host.facts.device_files.clear();
  EXPECT_THAT(named("container_without_accelerators", host).title.english(), HasSubstr("Hygon's"));
}

}  // namespace
}  // namespace berth::doctor

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(DoctorFrameworkCpuOnly, TorchIsReplacedByTheSameReleaseThatFits) {
  Examined host = healthy();
  host.world.python->frameworks = {torch_for("2.5.1+cpu", std::nullopt)};
  EXPECT_THAT(told(host),
              HasSubstr("error torch_cpu_only: torch 2.5.1+cpu: torch/version.py names no CUDA"));
  EXPECT_THAT(commands_of(only(host)),
              HasSubstr("/venv/bin/python -m pip install 'torch==2.5.*' --index-url "
                        "https://download.pytorch.org/whl/cu124"));
}

TEST(DoctorFrameworkCpuOnly, FamilyOfTorchIsReplacedTogether) {
  Examined host = healthy();
  host.world.python->frameworks = {torch_for("2.9.1+cpu", std::nullopt)};
  host.world.python->packages.emplace_back("torchvision", "0.24.1");
  EXPECT_THAT(commands_of(only(host)), HasSubstr("uninstall -y torch torchvision && "));
}

TEST(DoctorFrameworkCpuOnly, MirrorOfBuildsWithoutCudaIsTheCauseAndNotKept) {
  Examined host = healthy();
  host.world.python->frameworks = {torch_for("2.9.1+cpu", std::nullopt)};
  host.world.python->index_url = "https://download.pytorch.org/whl/cpu";
  host.world.python->index_source = "PIP_INDEX_URL";
  const Finding found = only(host);
  EXPECT_THAT(found.evidence.back().english(), HasSubstr("PIP_INDEX_URL"));
  EXPECT_THAT(found.steps.at(0).command, HasSubstr("--index-url"));
}

TEST(DoctorFrameworkCpuOnly, CondasTorchIsReplacedByConda) {
  Examined host = healthy();
  host.world.python->frameworks = {torch_for("2.5.1", std::nullopt)};
  host.world.python->frameworks[0].installer = "conda";
  host.world.python->is_conda = true;
  EXPECT_EQ(only(host).steps.at(0).command, "conda install -p /venv 'pytorch=*=*cuda*'");
  host.world.python->channels_source = "/home/ada/.condarc";
  EXPECT_THAT(only(host).steps.at(0).what.english(), HasSubstr("/home/ada/.condarc"));
  EXPECT_EQ(commands_of(only(host)), "conda install -p /venv 'pytorch=*=*cuda*'\n")
      << "a channel of berth's choice (-c) would go before the user's own";
}

TEST(DoctorFrameworkCpuOnly, NoTorchFitsAPythonThatIsTooOld) {
  Examined host = healthy();
  host.world.python->version = TwoPart{3, 6};
  host.world.python->frameworks = {torch_for("1.10.0+cpu", std::nullopt)};
  EXPECT_EQ(commands_of(only(host)), "\n") << "a sentence, no command";
}

TEST(DoctorFrameworkCpuOnly, AnOldCardBesideAGoodOneLeavesABuildThatFits) {
  Examined host = healthy();
  host.snapshot.devices[0].compute_capability = ComputeCapability{6, 1};
  host.snapshot.devices[1].compute_capability = ComputeCapability{12, 0};
  host.world.python->frameworks = {torch_for("2.9.1+cpu", std::optional<TwoPart>())};
  host.world.python->said.frameworks[0].sees_gpu = false;
  EXPECT_THAT(commands_of(only(host)), HasSubstr("download.pytorch.org/whl/cu1"));
}

TEST(DoctorFrameworkCpuOnly, BuildForAmdsCardsIsNamedAsSuch) {
  Examined host = healthy();
  host.world.python->frameworks = {torch_for("2.9.1+rocm6.4", std::nullopt)};
  host.world.python->frameworks[0].is_rocm = true;
  EXPECT_EQ(only(host).rule, "torch_cpu_only");
  EXPECT_THAT(only(host).title.english(), HasSubstr("it was built for AMD's"));
}

TEST(DoctorFrameworkCpuOnly, BesideAFrameworkWithCudaItIsAHint) {
  Examined host = healthy();
  host.world.python->frameworks.push_back({.name = "tensorflow",
                                           .version = "2.16.1",
                                           .cuda = std::optional<TwoPart>(),
                                           .cuda_source = "build_info.py"});
  EXPECT_EQ(told(host), "hint tensorflow_cpu_only: tensorflow 2.16.1: build_info.py names no CUDA");
}

TEST(DoctorFrameworkCpuOnly, JaxWithoutItsPluginGetsTheOneThatFitsTheDriver) {
  Examined host = healthy();
  host.world.python->frameworks = {
      {.name = "jax", .version = "0.4.38", .cuda = std::optional<TwoPart>()}};
  host.world.python->said = {};
  EXPECT_EQ(only(host).rule, "jax_cpu_only");
  EXPECT_THAT(commands_of(only(host)), HasSubstr("'jax[cuda13]'"));
  host.snapshot.host.driver_version = std::string("550.54.14");
  EXPECT_THAT(commands_of(only(host)), HasSubstr("'jax[cuda12]'"));
}

TEST(DoctorFrameworkCpuOnly, WithoutADriverThatAnswersAnyBuildIsWell) {
  Examined host = without_driver(given_to_a_machine, std::string("vfio-pci"));
  host.world.python->frameworks = {torch_for("2.5.1+cpu", std::nullopt)};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

}  // namespace
}  // namespace berth::doctor

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/doctor/healthy_host_test.h"

namespace berth::doctor {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(DoctorDriverTooOld, NewerMinorOfTheSameMajorIsNoFindingAndAnotherMajorIs) {
  Examined host = healthy();
  host.snapshot.host.software_of(Runtime::cuda).driver = std::string("535.104.05");
  EXPECT_THAT(rules_of(host), IsEmpty());
  host.facts.python->frameworks = {torch_for("2.9.1+cu130", TwoPart{13, 0})};
  EXPECT_THAT(told(host),
              HasSubstr("error driver_too_old: torch 2.9.1+cu130 was built for CUDA 13.0"));
  EXPECT_THAT(only(host).evidence.at(1).english(),
              HasSubstr("runs from 580 on (its toolkit came with 580.65.06)"));
  EXPECT_THAT(commands_of(only(host)),
              HasSubstr("'torch==2.9.*' --index-url https://download.pytorch.org/whl/cu128"));
}

TEST(DoctorDriverTooOld, ACompatLibcudaLeavesADoubt) {
  Examined host = healthy();
  host.snapshot.host.software_of(Runtime::cuda).driver = std::string("535.104.05");
  host.facts.python->frameworks = {torch_for("2.9.1+cu130", TwoPart{13, 0})};
  EXPECT_TRUE(only(host).doubt.empty());
  host.facts.libraries->found[0].path = "/usr/local/cuda/compat/libcuda.so.580.65.06";
  EXPECT_FALSE(only(host).doubt.empty());
}

TEST(DoctorDriverTooOld, ElevenPointZeroWantsItsOwnDriverAndTheFamilyALaterOne) {
  Examined host = healthy();
  host.snapshot.host.software_of(Runtime::cuda).driver = std::string("450.51.06");
  host.facts.libraries->nvcc_version = TwoPart{11, 0};
  host.facts.python->frameworks = {torch_for("1.7.1+cu110", TwoPart{11, 0})};
  EXPECT_THAT(rules_of(host), IsEmpty());
  host.facts.python->frameworks = {torch_for("1.8.0+cu111", TwoPart{11, 1})};
  EXPECT_THAT(rules_of(host), ElementsAre("driver_too_old"));
}

TEST(DoctorDriverTooOld, WhatIsNewerThanTheTableIsNoFinding) {
  Examined host = healthy();
  host.facts.python->frameworks = {torch_for("3.0.0+cu141", TwoPart{14, 1})};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorFrameworkCpuOnly, TorchIsReplacedByTheSameReleaseThatFits) {
  Examined host = healthy();
  host.facts.python->frameworks = {torch_for("2.5.1+cpu", std::nullopt)};
  EXPECT_THAT(told(host),
              HasSubstr("error torch_cpu_only: torch 2.5.1+cpu: torch/version.py names no CUDA"));
  EXPECT_THAT(commands_of(only(host)),
              HasSubstr("/venv/bin/python -m pip install 'torch==2.5.*' --index-url "
                        "https://download.pytorch.org/whl/cu124"));
}

TEST(DoctorFrameworkCpuOnly, FamilyOfTorchIsReplacedTogether) {
  Examined host = healthy();
  host.facts.python->frameworks = {torch_for("2.9.1+cpu", std::nullopt)};
  host.facts.python->packages.emplace_back("torchvision", "0.24.1");
  EXPECT_THAT(commands_of(only(host)), HasSubstr("uninstall -y torch torchvision && "));
}

TEST(DoctorFrameworkCpuOnly, MirrorOfBuildsWithoutCudaIsTheCauseAndNotKept) {
  Examined host = healthy();
  host.facts.python->frameworks = {torch_for("2.9.1+cpu", std::nullopt)};
  host.facts.python->index_url = "https://download.pytorch.org/whl/cpu";
  host.facts.python->index_source = "PIP_INDEX_URL";
  const Finding found = only(host);
  EXPECT_THAT(found.evidence.back().english(), HasSubstr("PIP_INDEX_URL"));
  EXPECT_THAT(found.steps.at(0).command, HasSubstr("--index-url"));
}

TEST(DoctorFrameworkCpuOnly, CondasTorchIsReplacedByConda) {
  Examined host = healthy();
  host.facts.python->frameworks = {torch_for("2.5.1", std::nullopt)};
  host.facts.python->frameworks[0].installer = "conda";
  host.facts.python->is_conda = true;
  EXPECT_EQ(only(host).steps.at(0).command, "conda install -p /venv 'pytorch=*=*cuda*'");
  host.facts.python->channels_source = "/home/ada/.condarc";
  EXPECT_THAT(only(host).steps.at(0).what.english(), HasSubstr("/home/ada/.condarc"));
  EXPECT_EQ(commands_of(only(host)), "conda install -p /venv 'pytorch=*=*cuda*'\n")
      << "a channel of berth's choice (-c) would go before the user's own";
}

TEST(DoctorFrameworkCpuOnly, NoTorchFitsAPythonThatIsTooOld) {
  Examined host = healthy();
  host.facts.python->version = TwoPart{3, 6};
  host.facts.python->frameworks = {torch_for("1.10.0+cpu", std::nullopt)};
  EXPECT_EQ(commands_of(only(host)), "\n") << "a sentence, no command";
}

TEST(DoctorFrameworkCpuOnly, AnOldCardBesideAGoodOneLeavesABuildThatFits) {
  Examined host = healthy();
  host.snapshot.devices[0].compute_capability = ComputeCapability{6, 1};
  host.snapshot.devices[1].compute_capability = ComputeCapability{12, 0};
  host.facts.python->frameworks = {torch_for("2.9.1+cpu", std::optional<TwoPart>())};
  host.facts.python->said.frameworks[0].sees_gpu = false;
  EXPECT_THAT(commands_of(only(host)), HasSubstr("download.pytorch.org/whl/cu1"));
}

TEST(DoctorFrameworkCpuOnly, BuildForAmdsCardsIsNamedAsSuch) {
  Examined host = healthy();
  host.facts.python->frameworks = {torch_for("2.9.1+rocm6.4", std::nullopt)};
  host.facts.python->frameworks[0].is_rocm = true;
  EXPECT_EQ(only(host).rule, "torch_cpu_only");
  EXPECT_THAT(only(host).title.english(), HasSubstr("it was built for AMD's"));
}

TEST(DoctorFrameworkCpuOnly, BesideAFrameworkWithCudaItIsAHint) {
  Examined host = healthy();
  host.facts.python->frameworks.push_back({.name = "tensorflow",
                                           .version = "2.16.1",
                                           .cuda = std::optional<TwoPart>(),
                                           .cuda_source = "build_info.py"});
  EXPECT_EQ(told(host), "hint tensorflow_cpu_only: tensorflow 2.16.1: build_info.py names no CUDA");
}

TEST(DoctorFrameworkCpuOnly, JaxWithoutItsPluginGetsTheOneThatFitsTheDriver) {
  Examined host = healthy();
  host.facts.python->frameworks = {
      {.name = "jax", .version = "0.4.38", .cuda = std::optional<TwoPart>()}};
  host.facts.python->said = {};
  EXPECT_EQ(only(host).rule, "jax_cpu_only");
  EXPECT_THAT(commands_of(only(host)), HasSubstr("'jax[cuda13]'"));
  host.snapshot.host.software_of(Runtime::cuda).driver = std::string("550.54.14");
  EXPECT_THAT(commands_of(only(host)), HasSubstr("'jax[cuda12]'"));
}

TEST(DoctorFrameworkCpuOnly, WithoutADriverThatAnswersAnyBuildIsWell) {
  Examined host = without_driver(Unusable::given_to_machine, std::string("vfio-pci"));
  host.facts.python->frameworks = {torch_for("2.5.1+cpu", std::nullopt)};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorArchitectureMissing, CardThatTheBuildHasNoCodeFor) {
  Examined host = healthy();
  host.facts.python->frameworks = {torch_for("2.9.1+cu130", TwoPart{13, 0})};
  for (Device& device : host.snapshot.devices) device.compute_capability = ComputeCapability{7, 0};
  EXPECT_THAT(told(host), HasSubstr("error architecture_missing: its compute capability is 7.0; "
                                    "torch 2.9.1+cu130 has code for 7.5, "));
  EXPECT_THAT(commands_of(only(host)), HasSubstr("cu128"));
  EXPECT_FALSE(only(host).doubt.empty());
  host.facts.python->said.frameworks[0].architectures = {{7, 5}, {8, 0}};
  EXPECT_TRUE(only(host).doubt.empty()) << "it was asked";
  for (Device& device : host.snapshot.devices) device.compute_capability = ComputeCapability{8, 9};
  EXPECT_THAT(rules_of(host), IsEmpty()) << "code for 8.0 runs on 8.9";
}

TEST(DoctorArchitectureMissing, AnOldCardBesideAGoodOneStopsNothing) {
  Examined host = healthy();
  host.snapshot.devices[0].compute_capability = ComputeCapability{6, 1};
  host.snapshot.devices[1].compute_capability = ComputeCapability{12, 0};
  host.facts.python->frameworks = {torch_for("2.9.1+cu128", TwoPart{12, 8})};
  EXPECT_THAT(told(host), HasSubstr("hint architecture_missing: its compute capability is 6.1"));
}

TEST(DoctorArchitectureMissing, PtxRunsOnCardsNewerThanTheBuild) {
  Examined host = healthy();
  for (Device& device : host.snapshot.devices) device.compute_capability = ComputeCapability{12, 0};
  host.facts.python->said.frameworks[0].architectures = {{9, 0}};
  EXPECT_THAT(rules_of(host), Contains("architecture_missing"));
  host.facts.python->said.frameworks[0].has_ptx = true;
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorArchitectureMissing, BuildOfSomebodysOwnIsNotJudgedByTheTable) {
  Examined host = healthy();
  host.facts.python->frameworks = {torch_for("2.9.0a0+nv25.10", TwoPart{13, 0})};
  for (Device& device : host.snapshot.devices) device.compute_capability = ComputeCapability{7, 0};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

Examined answering(InterpreterAnswer answer) {
  Examined host = healthy();
  host.facts.python = PythonEnvironment{
      .interpreter = "/bin/ls", .found_by = "--python", .answer = std::move(answer)};
  return host;
}

TEST(DoctorInterpreterSilent, NamesHowItEnded) {
  EXPECT_EQ(told(answering({InterpreterEnd::failed, 2, "ls: cannot access"})),
            "error interpreter_silent: asked for its version it ended with exit code 2; it wrote: "
            "ls: cannot access");
  EXPECT_THAT(told(answering({.end = InterpreterEnd::crashed, .code = 11})),
              HasSubstr("ended by signal 11"));
  EXPECT_THAT(told(answering({.end = InterpreterEnd::took_too_long})), HasSubstr("after 5 s"));
  EXPECT_THAT(told(answering({.end = InterpreterEnd::not_python})), HasSubstr("no Python"));
  const Examined host = answering({.end = InterpreterEnd::not_started, .wrote = "no processes"});
  EXPECT_THAT(told(host), HasSubstr("could not be started; it wrote: no processes"));
  EXPECT_THAT(commands_of(only(host)), HasSubstr("timeout 10 /bin/ls -c"));
}

TEST(DoctorInterpreterSilent, OneThatNobodyNamedIsAWarning) {
  Examined host = answering({.end = InterpreterEnd::failed, .code = 127});
  host.facts.python->found_by = "PATH";
  EXPECT_THAT(told(host), HasSubstr("warning interpreter_silent: "));
}

TEST(DoctorInterpreterSilent, OneThatAnsweredOrWasNotAskedIsNotSilent) {
  EXPECT_THAT(rules_of(answering({.end = InterpreterEnd::answered})), IsEmpty());
  EXPECT_THAT(rules_of(answering({.end = InterpreterEnd::not_asked})), IsEmpty());
}

TEST(DoctorImportFailed, CrashedHungOrRaised) {
  Examined host = healthy();
  ImportAnswer& said = host.facts.python->said;
  said.end = ImportEnd::crashed;
  said.detail = "signal 11";
  EXPECT_EQ(told(host), "error import_failed: its process ended by signal 11");
  said.end = ImportEnd::took_too_long;
  EXPECT_THAT(told(host), HasSubstr("warning import_failed: it had not come to an end"));
  said.end = ImportEnd::answered;
  said.frameworks[0].error = "ImportError: libcudnn.so.9";
  EXPECT_EQ(told(host), "error import_failed: it wrote: ImportError: libcudnn.so.9");
  EXPECT_THAT(commands_of(only(host)),
              HasSubstr("-X faulthandler -X importtime -c 'import torch'"));
}

TEST(DoctorImportFailed, BeforeTheFirstFrameworkItIsTheInterpreters) {
  Examined host = healthy();
  host.facts.python->said = {.end = ImportEnd::crashed, .detail = "signal 4"};
  EXPECT_EQ(only(host).title.english(),
            "the Python interpreter crashes before it imports anything");
  host.facts.python->said.end = ImportEnd::took_too_long;
  EXPECT_EQ(only(host).title.english(), "the Python interpreter does not come back");
}

TEST(DoctorImportFailed, ShowsNoSecretOfWhatItWrote) {
  Examined host = healthy();
  host.facts.python->said.frameworks[0].error =
      "OSError: api_key=hunter2 https://u:hunter2@h/ hf_abcdefghijklmnop";
  EXPECT_EQ(told(host), "error import_failed: it wrote: OSError: api_key=*** https://u:***@h/ ***");
}

TEST(DoctorImportFailed, WhatWasNotAskedHasNotFailed) {
  Examined host = healthy();
  host.facts.python->said = {.end = ImportEnd::not_asked};
  EXPECT_THAT(rules_of(host), IsEmpty());
}

TEST(DoctorFrameworkBlind, SeesNothingAlthoughItShould) {
  Examined host = healthy();
  host.facts.python->said.frameworks[0].sees_gpu = false;
  host.facts.python->said.frameworks[0].warning = "CUDA initialization: unknown error";
  EXPECT_EQ(told(host),
            "error framework_blind: torch.cuda.is_available() says there is none (version 2.9.1, "
            "asked in a process of its own); it wrote: CUDA initialization: unknown error");
  EXPECT_THAT(commands_of(only(host)), HasSubstr("import torch; torch.cuda.init()"));
  host.facts.python->said.frameworks[0].warning = "asked with api_key=hunter2";
  EXPECT_THAT(told(host), ::testing::EndsWith("it wrote: asked with api_key=***"));
  host.facts.python->said.frameworks[0].sees_gpu.reset();
  EXPECT_THAT(rules_of(host), IsEmpty()) << "it did not say";
}

TEST(DoctorFrameworkBlind, WhatAnotherRuleTellsBetterIsLeftToIt) {
  Examined host = healthy();
  host.facts.python->said.frameworks[0].sees_gpu = false;
  host.visible = VisibleList{.value = ""};
  EXPECT_THAT(rules_of(host), ElementsAre("visible_devices_none")) << "that is why";
  host.visible = VisibleList{.value = "1", .unclear = Sentence("on different cards")};
  EXPECT_THAT(rules_of(host), ::testing::Contains("framework_blind")) << "1 is one of them";
  host.visible.reset();
  host.facts.cuda->problem = "cuInit failed with error 802";
  EXPECT_THAT(rules_of(host), ElementsAre("cuda_refuses")) << "that is why";
}

TEST(DoctorShadowedModule, FileThatHidesAPackage) {
  Examined host = healthy();
  host.facts.shadowing = {"torch.py"};
  EXPECT_EQ(told(host), "warning shadowed_module: there is torch.py in /home/ada");
  EXPECT_EQ(commands_of(only(host)), "mv torch.py my_torch.py\n");
  host.facts.shadowing.clear();
  EXPECT_THAT(rules_of(host), IsEmpty());
}

}  // namespace
}  // namespace berth::doctor

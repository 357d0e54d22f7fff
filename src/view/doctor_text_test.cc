// The five lines that doctor opens with, each at most a line of 80 columns.

#include "view/doctor_text.h"
#include "base/sentence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// The lines above the first empty one.
std::vector<std::string> opening(const Examined& host) {
  const std::string text = render_doctor(host, {}, {.width = 80});
  std::vector<std::string> lines;
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty()) break;
    lines.emplace_back(line);
  }
  return lines;
}

Examined host_with(const std::vector<std::string>& names) {
  SnapshotBuilder builder;
  for (const std::string& name : names) {
    builder.gpu("GPU-" + std::to_string(&name - names.data()), 80_GiB).with([&](Device& device) {
      device.name = name;
    });
  }
  Examined host{.snapshot = builder.build()};
  host.snapshot.host.software_of(Runtime::cuda).driver = std::string("580.65.06");
  host.snapshot.host.software_of(Runtime::cuda).runtime = std::string("13.0");
  host.facts.kernel = KernelSide{};
  host.facts.python =
      PythonEnvironment{.interpreter = "/home/ada/miniconda3/envs/train/bin/python",
                        .environment = "/home/ada/miniconda3/envs/train",
                        .version = TwoPart{3, 11},
                        .frameworks = {{.name = "torch", .version = "2.9.1+cu128"}}};
  host.facts.python->said = {
      .end = ImportEnd::answered,
      .frameworks = {
          {.name = "torch", .sees_gpu = true, .devices = static_cast<int>(names.size())}}};
  return host;
}

/// libcuda numbers the devices in this order of nvidia-smi's numbers.
CudaAnswer in_order(const std::vector<int>& numbers) {
  CudaAnswer answer;
  for (const int number : numbers) answer.devices.push_back({std::to_string(number), "X"});
  return answer;
}

TEST(DoctorText, OpensWithFiveLinesOnEightEqualGpus) {
  Examined host = host_with(std::vector<std::string>(8, "NVIDIA H100 80GB HBM3"));
  host.facts.cuda = in_order({0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_THAT(opening(host),
              ElementsAre("Driver 580.65.06: 8 × NVIDIA H100 80GB HBM3.",
                          "CUDA up to 13.0, builds of any 13.x but for newer PTX; no toolkit is "
                          "needed.",
                          "Python 3.11 (/home/ada/miniconda3/envs/train): torch 2.9.1+cu128 sees 8 "
                          "GPUs.",
                          "Numbers: cuda:0 to cuda:7 are nvidia-smi's 0 to 7.",
                          "Free now: 8 of 8 (0, 1, 2, 3, 4, 5, 6, 7)."));
  host.facts.cuda = in_order({2, 0, 1, 3, 4, 5, 6, 7});
  EXPECT_EQ(opening(host).at(3),
            "Numbers: cuda:0 is nvidia-smi's 2, cuda:1 to cuda:7 are 0, 1, 3, 4, 5, 6, 7.");
}

TEST(DoctorText, OpensWithFiveLinesOnCardsOfFourKinds) {
  Examined host = host_with({"NVIDIA A100-PCIE-40GB", "NVIDIA GeForce GTX 1080 Ti",
                             "NVIDIA GeForce RTX 2080 Ti", "NVIDIA GeForce RTX 3090"});
  host.facts.cuda = in_order({0, 3, 2, 1});
  EXPECT_THAT(
      opening(host),
      ElementsAre("Driver 580.65.06: NVIDIA A100-PCIE-40GB, GTX 1080 Ti, RTX 2080 Ti, RTX 3090.",
                  ::testing::_, ::testing::_,
                  "Numbers: cuda:0 is nvidia-smi's 0, cuda:1 to cuda:3 are 3, 2, 1.",
                  "Free now: 4 of 4 (0, 1, 2, 3)."));
}

/// A card that MIG divides into instances, named as the driver numbers them.
Examined divided_host(int cards, const std::vector<unsigned>& instances) {
  SnapshotBuilder builder;
  for (int card = 0; card < cards; ++card) {
    const std::string id = "GPU-" + std::to_string(card);
    builder.gpu(id, 80_GiB).with([&](Device& device) { device.mig_mode = true; });
    for (const unsigned instance : instances) {
      builder.gpu("MIG-" + std::to_string(card) + "-" + std::to_string(instance), 10_GiB)
          .with([&](Device& device) {
            device.kind = DeviceKind::nvidia_mig;
            device.parent = DeviceId(id);
            device.index = card;
            device.partition = Partition{.gpu_instance = instance};
          });
    }
  }
  return {.snapshot = builder.build()};
}

TEST(DoctorText, NamesFreeMigInstancesAsPsDoes) {
  EXPECT_EQ(opening(divided_host(1, {1, 5, 13})).back(),
            "Free now: 3 of 3 (0:1/0, 0:5/0, 0:13/0).");
  const auto lines = opening(divided_host(8, {7, 8, 9, 11, 12, 13, 14}));
  ASSERT_EQ(lines.size(), 5U) << "56 names are more than a line";
  EXPECT_EQ(lines.back(),
            "Free now: 56 of 56 (0:7/0, 0:8/0, 0:9/0, 0:11/0, 0:12/0, 0:13/0, 0:14/0, …).");
}

TEST(DoctorText, OpensWithFiveLinesWithoutAGpu) {
  Examined host = host_with({});
  host.snapshot.host = {};
  host.facts.python->frameworks.clear();
  host.facts.python->environment.clear();
  host.facts.python->interpreter = "/root/.pyenv/shims/python";
  host.facts.cuda = CudaAnswer{.problem = "cannot open it", .is_absent = true};
  EXPECT_THAT(
      opening(host),
      ElementsAre("No NVIDIA card: programs here compute on the CPU.",
                  "Which CUDA the driver supports cannot be told.",
                  "Python 3.11 (/root/.pyenv/shims/python): no torch, tensorflow or jax.",
                  "There are no GPU numbers to compare.", "There is no GPU that could be free."));
}

TEST(DoctorText, SaysNothingOfFrameworksWhereTheInterpreterDidNotAnswer) {
  Examined host = host_with({});
  host.facts.python = PythonEnvironment{.interpreter = "/bin/ls",
                                        .found_by = "--python",
                                        .answer = {.end = InterpreterEnd::failed, .code = 2}};
  EXPECT_THAT(opening(host), Contains("Python ? (/bin/ls): whether torch, tensorflow or jax is "
                                      "there is not known."));
}

TEST(DoctorText, TestOfASimulatedGpuIsNoAllClear) {
  Examined host = host_with({"NVIDIA H100 80GB HBM3"});
  const auto text = [&] { return render_doctor(host, {}, Style{}); };
  host.gpu_proofs = {
      {.device = host.snapshot.devices[0].id, .left_out = Sentence("not of this machine")}};
  host.facts.kernel.emplace();
  EXPECT_THAT(text(), HasSubstr("Nothing found to be wrong."));
  EXPECT_THAT(doctor_json(host, {}), HasSubstr("\"not_examined\": null"));
  host.facts.kernel.reset();
  EXPECT_THAT(text(), Not(HasSubstr("Nothing found to be wrong.")));
  EXPECT_THAT(text(), HasSubstr("the test needs a real GPU"));
  EXPECT_THAT(doctor_json(host, {}), HasSubstr("\"not_examined\": \"this machine's own"));
}

TEST(DoctorText, OpensWithFiveLinesWhereTheDevicesAreNotThisMachines) {
  Examined host = host_with(std::vector<std::string>(8, "NVIDIA H100 80GB HBM3"));
  host.facts = {};
  const auto lines = opening(host);
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[2],
            "No Python, library or limit was looked at: the devices are not this machine's.");
  EXPECT_EQ(lines[3],
            "Numbers: not asked; CUDA_DEVICE_ORDER=PCI_BUS_ID makes CUDA's nvidia-smi's.");
}

}  // namespace
}  // namespace berth

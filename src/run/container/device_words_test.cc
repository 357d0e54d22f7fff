#include "run/container/device_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fd.h"
#include "base/temporary_directory.h"
#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;
using testing::HasSubstr;
using testing::StartsWith;

Snapshot four_devices(DeviceKind kind) {
  Snapshot host = SnapshotBuilder()
                      .gpu("GPU-a", 80_GiB)
                      .gpu("GPU-b", 80_GiB)
                      .gpu("GPU-c", 80_GiB)
                      .gpu("GPU-d", 80_GiB)
                      .build();
  for (Device& device : host.devices) device.kind = kind;
  return host;
}

/// The line, or why there is none.
std::string line_of(std::string_view format, const std::vector<std::string>& names,
                    const Snapshot& host, const std::string& root = "/none") {
  std::vector<DeviceId> devices;
  for (const std::string& name : names) devices.emplace_back(name);
  const auto line = devices_in_format(format, devices, host, root);
  return line ? *line : line.error().message();
}

TEST(DeviceWords, AreAListForAProgram) {
  const Snapshot host = four_devices(DeviceKind::nvidia_gpu);
  EXPECT_EQ(line_of("indices", {"GPU-a", "GPU-c"}, host), "0,2\n");
  EXPECT_EQ(line_of("uuids", {"GPU-a", "GPU-c"}, host), "GPU-a,GPU-c\n");
}

TEST(DeviceWords, AreWhatAShellSetsAndWhatItTakesAway) {
  EXPECT_EQ(line_of("env", {"GPU-a", "GPU-c"}, four_devices(DeviceKind::nvidia_gpu)),
            "export CUDA_DEVICE_ORDER=PCI_BUS_ID\nexport CUDA_VISIBLE_DEVICES=0,2\n");
  EXPECT_THAT(line_of("env", {"GPU-b"}, four_devices(DeviceKind::amd_gpu)),
              HasSubstr("unset HIP_VISIBLE_DEVICES\n"));
}

TEST(DeviceWords, OfDockerHaveQuotesWhereACommaNeedsThem) {
  const Snapshot host = four_devices(DeviceKind::nvidia_gpu);
  EXPECT_EQ(line_of("docker", {"GPU-b"}, host), "--gpus device=GPU-b\n");
  EXPECT_EQ(line_of("docker", {"GPU-a", "GPU-c"}, host), "--gpus '\"device=GPU-a,GPU-c\"'\n");
}

TEST(DeviceWords, OfDockerAreTheFilesOfOtherMakersDevices) {
  const Snapshot host = four_devices(DeviceKind::amd_gpu);
  EXPECT_EQ(line_of("docker", {"GPU-a", "GPU-c"}, host),
            "--device /dev/kfd --device /dev/dri/renderD0 --device /dev/dri/renderD2\n");
  EXPECT_THAT(line_of("cdi", {"GPU-a"}, host), HasSubstr("use --format docker"));
  EXPECT_THAT(line_of("docker", {"GPU-a"}, four_devices(DeviceKind::cambricon_mlu)),
              StartsWith("which files give a container these devices is not known"));
}

TEST(DeviceWords, OfCdiAreTheNamesOfItsFilesAndUuidsWhereTheseDoNotKnowAll) {
  const TemporaryDirectory root;
  ASSERT_TRUE(make_directories(root / "etc/cdi"));
  ASSERT_TRUE(write_file_atomically(
      root / "etc/cdi/nvidia.yaml",
      "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n"
      "- name: \"0\"\n  containerEdits:\n    deviceNodes:\n    - path: /dev/nvidia0\n"
      "- name: one\n  containerEdits:\n    deviceNodes:\n    - path: /dev/nvidia1\n"));
  Snapshot host = four_devices(DeviceKind::nvidia_gpu);
  EXPECT_EQ(line_of("cdi", {"GPU-a", "GPU-b"}, host, root.path()),
            "--device nvidia.com/gpu=0 --device nvidia.com/gpu=one\n");
  EXPECT_EQ(line_of("cdi", {"GPU-a", "GPU-c"}, host, root.path()),
            "--device nvidia.com/gpu=GPU-a --device nvidia.com/gpu=GPU-c\n");
  host.simulated = "h100x8";
  EXPECT_EQ(line_of("cdi", {"GPU-a"}, host, root.path()), "--device nvidia.com/gpu=GPU-a\n")
      << "no file names a simulated card";
}

TEST(NoDeviceInWords, KeepsAJobFromAllOfThem) {
  const std::vector<Variable> settings = {{"CUDA_VISIBLE_DEVICES", "-1"}, {"OMP_NUM_THREADS", "8"}};
  EXPECT_EQ(no_device_in_format("env", settings),
            "export CUDA_VISIBLE_DEVICES=-1\nexport OMP_NUM_THREADS=8\n");
  EXPECT_EQ(no_device_in_format("docker", settings), "-e NVIDIA_VISIBLE_DEVICES=void\n");
  EXPECT_EQ(no_device_in_format("cdi", settings), "-e NVIDIA_VISIBLE_DEVICES=void\n");
  EXPECT_EQ(no_device_in_format("indices", settings), "-1\n");
  EXPECT_EQ(no_device_in_format("uuids", settings), "-1\n");
}

}  // namespace
}  // namespace berth

#include "run/container/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "run/container/toolkit.h"
#include "snapshot/builder.h"

namespace berth {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using namespace literals;
using Words = std::vector<std::string>;

ContainerCommand words_read(const Words& words) {
  auto command = read_container_command(words);
  return command && *command ? **command : ContainerCommand();
}

std::optional<std::string> no_file(const std::string&) { return std::nullopt; }

/// What is said against it; empty: it fits.
std::string against(const Words& words, const ContainerEngine& engine = {},
                    const ReadText& files = no_file) {
  const auto wrong = contradiction_in(words_read(words), engine, JobSpec{}, files);
  return wrong ? wrong->message() : std::string();
}

TEST(ContainerPlan, RefusesWhatChoosesCardsOverTheLease) {
  for (const Words& option : {Words{"--gpus", "all"},
                              Words{"--gpus=all"},
                              Words{"--device", "nvidia.com/gpu=0"},
                              Words{"--device=/dev/nvidia0"},
                              Words{"--device", "/dev/dri"},
                              Words{"--device", "/dev/nvidia1:/dev/nvidia0"},
                              Words{"-e", "NVIDIA_VISIBLE_DEVICES=all"},
                              Words{"-eCUDA_VISIBLE_DEVICES=0"},
                              Words{"--env", "CUDA_VISIBLE_DEVICES"},
                              Words{"-e", "MLU_VISIBLE_DEVICES=0"},
                              Words{"-e", "ASCEND_VISIBLE_DEVICES=0"},
                              Words{"-e", "GPU_DEVICE_ORDINAL=0"},
                              Words{"--device", "amd.com/gpu=0"},
                              Words{"--device", "/dev/neuron0"},
                              Words{"--device-cgroup-rule", "c 226:* rmw"},
                              Words{"--env", "CUDA_*"},
                              Words{"--env-host"},
                              Words{"--privileged"},
                              Words{"-v", "/dev:/dev"},
                              Words{"--mount", "type=bind,source=/dev/,target=/d"},
                              Words{"--device-cgroup-rule", "c 195:* rmw"},
                              Words{"--restart", "always"},
                              Words{"--restart=unless-stopped"}}) {
    Words words = {"docker", "run"};
    words.insert(words.end(), option.begin(), option.end());
    words.insert(words.end(), {"image", "python"});
    const std::string said = against(words);
    EXPECT_THAT(said, HasSubstr("Write: berth run -n 1 -- docker run image python"))
        << shell_joined(words);
  }
}

TEST(ContainerPlan, LeavesWhatDoesNotTouchTheLease) {
  for (const Words& option :
       {Words{"-p", "8888:8888"}, Words{"--device", "/dev/fuse"}, Words{"--restart", "no"},
        Words{"--privileged=false"}, Words{"-e", "NVIDIA_DRIVER_CAPABILITIES=all"},
        Words{"--runtime", "nvidia"}, Words{"-v", "/data:/dev/data"}, Words{"--shm-size", "1g"},
        Words{"--device", "vendor.com/net=0"}, Words{"--device-cgroup-rule", "c 10:200 rmw"},
        Words{"--env-host=false"}}) {
    Words words = {"docker", "run"};
    words.insert(words.end(), option.begin(), option.end());
    words.push_back("image");
    EXPECT_EQ(against(words), "") << shell_joined(words);
  }
}

TEST(ContainerPlan, NamesEachReasonAndOneLine) {
  const std::string said =
      against({"docker", "run", "-d", "--gpus", "all", "--privileged", "-p", "1:1", "image"});
  EXPECT_THAT(said, AllOf(HasSubstr("--gpus all: this run chooses"),
                          HasSubstr("--privileged: a privileged container"),
                          HasSubstr("Write: berth run -n 1 -- docker run -d -p 1:1 image")));
}

TEST(ContainerPlan, ReadsFilesOfVariables) {
  const auto files = [](const std::string& path) {
    return path == "env" ? std::optional<std::string>("A=1\nCUDA_VISIBLE_DEVICES=0\n")
                         : std::nullopt;
  };
  EXPECT_THAT(against({"docker", "run", "--env-file", "env", "image"}, {}, files),
              HasSubstr("it sets CUDA_VISIBLE_DEVICES"));
  EXPECT_EQ(against({"docker", "run", "--env-file", "gone", "image"}, {}, files), "");
}

TEST(ContainerPlan, RefusesAnotherMachinesEngine) {
  const ContainerEngine far{.endpoint = "tcp://gpu3:2375", .endpoint_by = "DOCKER_HOST"};
  EXPECT_THAT(against({"docker", "run", "image"}, far),
              AllOf(HasSubstr("run on another machine (tcp://gpu3:2375)"),
                    HasSubstr("env -u DOCKER_HOST berth run -n 1 -- docker run image")));
  const ContainerEngine named{.endpoint = "ssh://gpu3", .endpoint_by = "--context lab"};
  EXPECT_THAT(against({"docker", "--context", "lab", "run", "image"}, named),
              HasSubstr("Write: berth run -n 1 -- docker run image"));
  const ContainerEngine used{.endpoint = "ssh://gpu3", .endpoint_by = "docker context use lab"};
  EXPECT_THAT(against({"docker", "run", "image"}, used),
              HasSubstr("Write: DOCKER_CONTEXT=default berth run -n 1 -- docker run image"));
  EXPECT_EQ(against({"docker", "run", "image"}, {.endpoint = "unix:///run/user/1/docker.sock"}),
            "");
}

TEST(ContainerPlan, RefusesWhatWouldMistakeAnotherContainerForItsOwn) {
  const auto files = [](const std::string& path) {
    return path == "old" ? std::optional<std::string>("a\nberth.run=x\n") : std::nullopt;
  };
  EXPECT_THAT(against({"docker", "run", "--cidfile", "old", "image"}, {}, files),
              HasSubstr("that file is there already"));
  EXPECT_EQ(against({"docker", "run", "--cidfile", "new", "image"}, {}, files), "");
  EXPECT_THAT(against({"docker", "run", "--label", "berth.run=y", "image"}, {}, files),
              HasSubstr("berth's own"));
  EXPECT_THAT(against({"docker", "run", "--label-file", "old", "image"}, {}, files),
              HasSubstr("berth's own"));
  EXPECT_EQ(against({"docker", "run", "--label", "berth.running=y", "image"}, {}, files), "");
}

TEST(ContainerPlan, ADetachedContainerIsNotStartedAgain) {
  JobSpec job;
  job.retry_on = RetryOn::gpu_lost;
  const auto wrong =
      contradiction_in(words_read({"docker", "run", "-d", "image"}), {}, job, no_file);
  ASSERT_TRUE(wrong);
  EXPECT_THAT(wrong->message(), HasSubstr("-- docker run image"));
}

// --- what is put in

Snapshot two_cards() {
  Snapshot host = SnapshotBuilder().gpu("GPU-a", 80_GiB).gpu("GPU-b", 80_GiB).build();
  host.devices[0].minor_number = 0;
  host.devices[1].minor_number = 1;
  return host;
}

std::string put_in(const Words& words, const std::vector<DeviceId>& devices,
                   const ContainerEngine& engine) {
  const auto start = start_container_with(words_read(words), devices, two_cards(), engine,
                                          {.run = "r", .cid_file = "/cid"});
  return start ? shell_joined(start->command) : start.error().message();
}

CdiSpec spec_of(std::vector<CdiDevice> devices) {
  return {.path = "/etc/cdi/nvidia.yaml",
          .version = "0.5.0",
          .kind = "nvidia.com/gpu",
          .devices = std::move(devices)};
}

const std::vector<DeviceId> both = {DeviceId("GPU-a"), DeviceId("GPU-b")};

TEST(ContainerPlan, DockerWithTheToolkitIsGivenUuids) {
  EXPECT_EQ(
      put_in({"docker", "run", "--rm", "image"}, both, {.toolkit = "/usr/bin/nvidia-ctk"}),
      "docker run --gpus '\"device=GPU-a,GPU-b\"' --cidfile /cid --label berth.run=r --rm image");
}

TEST(ContainerPlan, CdiIsGivenTheNamesOfTheSpecification) {
  ContainerEngine engine{.cdi_folders = {"/etc/cdi"}};
  engine.cdi.specs = {
      spec_of({{"0", {"/dev/nvidia0", "/dev/nvidiactl"}}, {"1", {"/dev/nvidia1"}}})};
  EXPECT_EQ(put_in({"podman", "run", "image"}, both, engine),
            "podman run --device nvidia.com/gpu=0 --device nvidia.com/gpu=1 -e "
            "NVIDIA_VISIBLE_DEVICES=void --cidfile /cid --label berth.run=r image");
  engine.cdi.specs = {spec_of({{"all", {"/dev/nvidia0", "/dev/nvidia1"}}, {"GPU-a", {}}})};
  EXPECT_THAT(put_in({"podman", "run", "image"}, {DeviceId("GPU-a")}, engine),
              HasSubstr("--device nvidia.com/gpu=GPU-a "));
}

TEST(ContainerPlan, ACardThatNoSpecificationKnowsIsSaidToBe) {
  ContainerEngine engine{.cdi_folders = {"/etc/cdi"}};
  engine.cdi.specs = {
      spec_of({{"0", {"/dev/nvidia0"}}, {"all", {"/dev/nvidia0", "/dev/nvidia1"}}})};
  EXPECT_THAT(put_in({"podman", "run", "image"}, {DeviceId("GPU-b")}, engine),
              HasSubstr("no CDI file in /etc/cdi has GPU-b"));
  engine.toolkit = "/usr/bin/nvidia-ctk";
  EXPECT_THAT(put_in({"docker", "run", "image"}, {DeviceId("GPU-b")}, engine),
              HasSubstr("--gpus '\"device=GPU-b\"'"));
  EXPECT_THAT(put_in({"podman", "run", "image"}, {DeviceId("GPU-b")}, engine),
              Not(HasSubstr("--gpus")))
      << "podman takes --gpus and gives nothing";
}

Snapshot cards_of(DeviceKind kind) {
  Snapshot host = SnapshotBuilder().gpu("a", 80_GiB).gpu("b", 80_GiB).build();
  for (Device& device : host.devices) device.kind = kind;
  host.devices[0].minor_number = 128;
  host.devices[1].minor_number = 130;
  return host;
}

std::string added(const Snapshot& host, const ContainerEngine& engine = {}) {
  const auto start =
      start_container_with(words_read({"docker", "run", "image"}), {DeviceId("a"), DeviceId("b")},
                           host, engine, {.run = "r", .cid_file = "/cid"});
  return start ? shell_joined(start->added) : start.error().message();
}

TEST(ContainerPlan, OtherMakersDevicesAreGivenByTheirFiles) {
  const std::string ending = " --cidfile /cid --label berth.run=r";
  EXPECT_EQ(added(cards_of(DeviceKind::amd_gpu)),
            "--device /dev/kfd --device /dev/dri/renderD128 --device /dev/dri/renderD130" + ending);
  EXPECT_EQ(added(cards_of(DeviceKind::intel_gpu)),
            "--device /dev/dri/renderD128 --device /dev/dri/renderD130" + ending);
  EXPECT_EQ(added(cards_of(DeviceKind::ascend_npu)),
            "--device /dev/davinci_manager --device /dev/devmm_svm --device /dev/hisi_hdc "
            "--device /dev/davinci128 --device /dev/davinci130" +
                ending);
}

TEST(ContainerPlan, BesideNvidiasCardsThoseAreKeptFromTheImage) {
  Snapshot host = cards_of(DeviceKind::amd_gpu);
  host.devices[1].kind = DeviceKind::nvidia_gpu;
  const ContainerEngine with_toolkit{.toolkit = "/usr/bin/nvidia-ctk"};
  EXPECT_THAT(added(host, with_toolkit),
              HasSubstr("--device /dev/kfd --device /dev/dri/renderD128 --gpus '\"device=b\"' "));
  EXPECT_THAT(added(host), HasSubstr("NVIDIA's container toolkit is not installed"));
  const auto start = start_container_with(words_read({"docker", "run", "image"}), {DeviceId("a")},
                                          host, {}, {.run = "r", .cid_file = "/cid"});
  ASSERT_TRUE(start);
  EXPECT_THAT(start->added, testing::Contains("NVIDIA_VISIBLE_DEVICES=void"));
}

TEST(ContainerPlan, ADeviceWhoseFilesAreNotKnownIsRefused) {
  Snapshot host = cards_of(DeviceKind::amd_gpu);
  host.devices[0].minor_number = Absent::unsupported;
  EXPECT_THAT(added(host), HasSubstr("which files give a container"));
  const std::string said = added(cards_of(DeviceKind::cambricon_mlu));
  EXPECT_THAT(said, AllOf(HasSubstr("Cambricon"), Not(HasSubstr("NVIDIA"))));
}

TEST(ContainerPlan, WithoutDevicesItIsKeptOffAllOfThem) {
  EXPECT_THAT(put_in({"docker", "run", "image"}, {}, {}),
              HasSubstr("run -e NVIDIA_VISIBLE_DEVICES=void "));
}

TEST(ContainerPlan, AnOwnFileForTheIdIsTakenOver) {
  const auto start =
      start_container_with(words_read({"docker", "run", "--cidfile", "mine", "image"}), {},
                           two_cards(), {}, {.run = "r", .cid_file = "/cid"});
  ASSERT_TRUE(start);
  EXPECT_EQ(start->cid_file, "mine");
  EXPECT_THAT(start->added, Not(testing::Contains("--cidfile")));
}

TEST(ContainerTools, AreToldTheCardsThatTheyWouldAskAnImageFor) {
  const std::vector<Variable> two = {{"CUDA_VISIBLE_DEVICES", "0,3"}};
  const auto told = [](const std::vector<Variable>& variables, std::vector<std::string> command) {
    const auto all = with_cards_for_tools(variables, command);
    return all.size() == variables.size() ? "nothing" : all.back().first + "=" + all.back().second;
  };
  EXPECT_EQ(told(two, {"enroot", "start", "image"}), "NVIDIA_VISIBLE_DEVICES=0,3");
  EXPECT_EQ(told(two, {"sh", "-c", "enroot start image"}), "NVIDIA_VISIBLE_DEVICES=0,3");
  EXPECT_EQ(told(two, {"/usr/bin/apptainer", "exec", "--nvccli", "image"}),
            "NVIDIA_VISIBLE_DEVICES=0,3");
  EXPECT_EQ(told({{"CUDA_VISIBLE_DEVICES", "-1"}}, {"enroot", "start", "image"}),
            "NVIDIA_VISIBLE_DEVICES=void");
  EXPECT_EQ(told({}, {"enroot", "start", "image"}), "NVIDIA_VISIBLE_DEVICES=void");
  EXPECT_EQ(told(two, {"python", "train.py"}), "nothing");
  EXPECT_EQ(told(two, {"docker", "run", "image"}), "nothing");
}

}  // namespace
}  // namespace berth

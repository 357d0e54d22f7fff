#include "probe/procfs/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::procfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using namespace std::string_literals;

TEST(ParseCmdline, WordsEndWithNul) {
  EXPECT_THAT(parse_cmdline("python\0train.py\0\0--x=\0"s),
              ElementsAre("python", "train.py", "", "--x="));
  EXPECT_THAT(parse_cmdline("one"), ElementsAre("one"));
}

TEST(ParseCmdline, RewrittenTitleIsSplitSoThatSecretsInItAreSeen) {
  EXPECT_THAT(parse_cmdline("server --token abc\0\0\0"s), ElementsAre("server", "--token", "abc"));
}

TEST(ParseCmdline, ZombieHasNone) {
  EXPECT_THAT(parse_cmdline(""), IsEmpty());
  EXPECT_THAT(parse_cmdline("\0\0"s), IsEmpty());
}

TEST(ParseStatus, ReadsTheRealUser) {
  EXPECT_EQ(parse_status_uid("Name:\tx\nState:\tS\nUid:\t1001\t0\t0\t0\nGid:\t7\n"), 1001U);
}

TEST(ParseStatus, RefusesAMissingOrWrongUser) {
  for (const std::string_view text : {"", "Name:\tUid:\t3\n", "\nUid:\t", "\nUid:\t-1\t",
                                      "\nUid:\t4294967296\t", "\nUid:\tx\t"}) {
    EXPECT_FALSE(parse_status_uid(text)) << text;
  }
}

TEST(ParseContextSwitches, AddsThoseOfItsOwnWishAndTheOthers) {
  EXPECT_EQ(parse_context_switches("Name:\tpython\nvoluntary_ctxt_switches:\t40\n"
                                   "nonvoluntary_ctxt_switches:\t2\n"),
            42U);
  EXPECT_EQ(parse_context_switches("Name:\tpython\nvoluntary_ctxt_switches:\t40\n"), std::nullopt);
  EXPECT_EQ(parse_context_switches("\nvoluntary_ctxt_switches:\t-1\n"
                                   "nonvoluntary_ctxt_switches:\t2\n"),
            std::nullopt);
}

TEST(ParseBootTime, FindsItsLine) {
  EXPECT_EQ(parse_boot_time("cpu 1 2\nintr 1\nbtime 1760000000\nprocesses 1\n"), 1'760'000'000);
  EXPECT_EQ(parse_boot_time("btime 5"), 5);
  EXPECT_FALSE(parse_boot_time("cpu 1 2\n"));
  EXPECT_FALSE(parse_boot_time("btime -7\n"));
  EXPECT_FALSE(parse_boot_time("btime 999999999999999999\n"));
}

constexpr std::string_view id64 =
    "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f809";

struct Case {
  std::string text;
  std::string container;
};
class ContainerInCgroup : public testing::TestWithParam<Case> {};

TEST_P(ContainerInCgroup, SaysWhatEnclosesTheProcess) {
  const auto enclosure = enclosure_in_cgroup(GetParam().text);
  EXPECT_EQ(enclosure ? container_text(*enclosure) : "", GetParam().container) << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(
    Texts, ContainerInCgroup,
    testing::Values(
        Case{"0::/user.slice/user-1001.slice/session-3.scope\n", ""},
        Case{"0::/user.slice/user-1001.slice/user@1001.service/app.slice/x.scope\n", ""},
        Case{"0::/\n", ""}, Case{"", ""}, Case{"no colons", ""}, Case{"0:", ""}, Case{"0::", ""},
        Case{"0::/system.slice/docker-" + std::string(id64) + ".scope\n", "docker 1a2b3c4d5e6f"},
        Case{"12:memory:/docker/" + std::string(id64) + "\n1:name=systemd:/\n",
             "docker 1a2b3c4d5e6f"},
        Case{"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" +
                 std::string(id64) + ".scope/container\n",
             "podman 1a2b3c4d5e6f"},
        Case{"0::/system.slice/nerdctl-" + std::string(id64) + ".scope\n",
             "containerd 1a2b3c4d5e6f"},
        Case{"0::/kubepods.slice/kubepods-burstable.slice/"
             "kubepods-burstable-pod2f5c1d3e_0000_4b1c_8d3f_112233445566.slice/cri-containerd-" +
                 std::string(id64) + ".scope\n",
             "kubernetes pod 2f5c1d3e-0000-4b1c-8d3f-112233445566"},
        Case{"4:devices:/kubepods/besteffort/pod2f5c1d3e-0000-4b1c-8d3f-112233445566/" +
                 std::string(id64) + "\n",
             "kubernetes pod 2f5c1d3e-0000-4b1c-8d3f-112233445566"},
        Case{"9:freezer:/slurm/uid_1001/job_42/step_0\n1:name=systemd:/system.slice/slurmd.service",
             "slurm job 42"},
        Case{"0::/system.slice/slurmstepd.scope/job_42/step_batch/user/task_0\n", "slurm job 42"},
        Case{"0::/system.slice/ollama.service\n", "systemd unit ollama.service"},
        Case{"0::/lxc.payload.box/init.scope\n", "lxc box"},
        Case{"0::/home/job_42/docker-nothex.scope\n", ""}));

TEST(EnclosureInCgroup, KeepsTheWholeIdAndWhoseItIs) {
  const auto podman =
      enclosure_in_cgroup("0::/user.slice/user-1001.slice/user@1001.service/user.slice/libpod-" +
                          std::string(id64) + ".scope/container\n");
  ASSERT_TRUE(podman);
  EXPECT_EQ(podman->id, id64);
  EXPECT_EQ(podman->owner_uid, 1001U);
  EXPECT_EQ(podman->name, Reading<std::string>(Absent::not_sampled));
  const auto slurm = enclosure_in_cgroup("9:freezer:/slurm/uid_1002/job_42/step_0\n");
  ASSERT_TRUE(slurm);
  EXPECT_EQ(slurm->id, "42.0");
  EXPECT_EQ(slurm->owner_uid, 1002U);
  EXPECT_EQ(slurm->name, Reading<std::string>(Absent::unsupported));
}

TEST(EnclosureInCgroup, PodNamesItsContainerHoweverTheRuntimeWritesIt) {
  const std::string uid = "2f5c1d3e-0000-4b1c-8d3f-112233445566";
  for (const std::string& path :
       {"kubepods/burstable/pod" + uid + "/" + std::string(id64),
        "kubepods.slice/kubepods-pod2f5c1d3e_0000_4b1c_8d3f_112233445566.slice/crio-" +
            std::string(id64) + ".scope",
        "system.slice/containerd.service/"
        "kubepods-burstable-pod2f5c1d3e_0000_4b1c_8d3f_112233445566.slice:cri-containerd:" +
            std::string(id64),
        // As a pod sees its neighbours: beside it, and in another class.
        "../../pod" + uid + "/" + std::string(id64),
        "../../../kubepods-pod2f5c1d3e_0000_4b1c_8d3f_112233445566.slice/cri-containerd-" +
            std::string(id64) + ".scope"}) {
    const auto enclosure = enclosure_in_cgroup("0::/" + path + "\n");
    ASSERT_TRUE(enclosure) << path;
    EXPECT_EQ(enclosure->runtime, "kubernetes") << path;
    EXPECT_EQ(enclosure->id, id64) << path;
    EXPECT_EQ(enclosure->pod_uid, uid) << path;
  }
  EXPECT_EQ(enclosure_in_cgroup("0::/kubepods/pod" + uid + "\n")->id, uid);
  EXPECT_FALSE(enclosure_in_cgroup("0::/home/pod" + uid + "/" + std::string(id64) + "\n"));
}

TEST(ContainerInCgroup, HugeTextIsReadInTime) {
  EXPECT_FALSE(enclosure_in_cgroup("0::/" + std::string(1 << 16, '/')));
}

TEST(ParseKernelMessage, TakesTimeAndLine) {
  const auto message = parse_kernel_message("4,1071,5678901234,-;NVRM: x\n SUBSYSTEM=pci\n");
  ASSERT_TRUE(message);
  EXPECT_EQ(message->boot_us, 5'678'901'234);
  EXPECT_EQ(message->text, "NVRM: x");
  for (const std::string_view text : {"", "no semicolon", "1,2;x", "1,2,x,-;y"}) {
    EXPECT_FALSE(parse_kernel_message(text)) << text;
  }
}

}  // namespace
}  // namespace berth::procfs

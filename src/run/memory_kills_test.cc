#include "run/memory_kills.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/temporary_directory.h"

namespace berth {
namespace {

class KernelCounters : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) {
    const std::filesystem::path path = std::filesystem::path(folder_.path()) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  MemoryKills count() {
    return count_memory_kills(folder_.path() + "/proc", folder_.path() + "/sys");
  }
  TemporaryDirectory folder_;
};

TEST_F(KernelCounters, ThoseOfTheGroupAndOfTheMachineAreRead) {
  put("proc/self/cgroup", "0::/user.slice/session-3.scope\n");
  put("proc/vmstat", "nr_free_pages 1\noom_kill 7\n");
  put("sys/fs/cgroup/user.slice/session-3.scope/memory.events",
      "low 0\nhigh 0\nmax 12\noom 4\noom_kill 3\noom_group_kill 0\n");
  EXPECT_EQ(count().of_group, 3U);
  EXPECT_EQ(count().of_machine, 7U);
}

TEST_F(KernelCounters, OfAGroupThatWasMadeForALimitOfADeviceAreThoseOfTheOneAbove) {
  put("proc/self/cgroup", "0::/user.slice/session-3.scope/berth-limit-00c0ffee\n");
  put("sys/fs/cgroup/user.slice/session-3.scope/memory.events", "oom_kill 3\n");
  EXPECT_EQ(count().of_group, 3U);
  put("proc/self/cgroup", "0::/user.slice/session-3.scope/other\n");
  EXPECT_EQ(count().of_group, std::nullopt);
}

TEST_F(KernelCounters, TheFirstVersionOfControlGroupsHasThemElsewhere) {
  put("proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/docker/x\n0::/\n");
  put("sys/fs/cgroup/memory/docker/x/memory.oom_control",
      "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
  EXPECT_EQ(count().of_group, 2U);
  EXPECT_EQ(count().of_machine, std::nullopt);
}

TEST_F(KernelCounters, WhereThereAreNoneTheyAreAbsent) {
  EXPECT_EQ(count().of_group, std::nullopt);
  put("proc/self/cgroup", "rubbish\n:\n::\n");
  EXPECT_EQ(count().of_group, std::nullopt);
}

TEST(MemoryKillEvent, IsOfAJobThatEndedBadlyWhileTheCounterRose) {
  const Exit killed{.signal = SIGKILL};
  const MemoryKills before{.of_group = 1, .of_machine = 5};
  ASSERT_TRUE(memory_kill_event(before, {.of_group = 2, .of_machine = 6}, killed));
  EXPECT_EQ(memory_kill_event(before, {.of_group = 2, .of_machine = 6}, killed)->kind, "oom_kill");
  EXPECT_FALSE(memory_kill_event(before, {.of_group = 2, .of_machine = 6}, {})) << "it ended well";
  EXPECT_FALSE(memory_kill_event(before, {.of_group = 1, .of_machine = 9}, killed))
      << "the machine's were others' then";
  const MemoryKills machine{.of_group = {}, .of_machine = 5};
  EXPECT_EQ(memory_kill_event(machine, {.of_group = {}, .of_machine = 6}, killed)->kind,
            "oom_kill_on_machine");
  EXPECT_FALSE(memory_kill_event(machine, {.of_group = {}, .of_machine = 6}, {.code = 1}));
  EXPECT_FALSE(memory_kill_event({}, {.of_group = 3, .of_machine = 6}, killed))
      << "what was not known before cannot have risen";
}

}  // namespace
}  // namespace berth

#include "probe/procfs/job_probe.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/process.h"
#include "base/temporary_directory.h"

namespace berth {
namespace {

/// A /proc of a few processes, as the kernel writes it.
class ProcFolder {
 public:
  ProcFolder() {
    write("stat",
          "cpu  100 5 50 800 40 1 2 3 0 0\ncpu0 50 5 25 400 20 1 2 3 0 0\ncpu1 50 0 25 400 20 0 0 "
          "0 0 0\n");
    write("vmstat", "nr_free_pages 5\npswpin 10\npswpout 3\n");
    write("pressure/io",
          "some avg10=0.00 avg60=0.00 avg300=0.00 total=123456\nfull avg10=0.00 avg60=0.00 "
          "avg300=0.00 total=99\n");
  }
  void write(const std::string& name, const std::string& text) {
    const std::string path = folder_.path() + "/" + name;
    ASSERT_TRUE(make_directories(path.substr(0, path.rfind('/'))));
    std::ofstream(path) << text;
  }
  void thread(int pid, int tid, int parent, char state, int ticks, const std::string& schedstat) {
    const std::string line = std::to_string(tid) + " (py) " + state + " " + std::to_string(parent) +
                             " 1 77 0 -1 0 11 0 42 0 " + std::to_string(ticks) +
                             " 0 0 0 20 0 2 0 500 0 10 0\n";
    const std::string task = std::to_string(pid) + "/task/" + std::to_string(tid);
    write(task + "/stat", line);
    if (!schedstat.empty()) write(task + "/schedstat", schedstat);
    if (pid == tid) write(std::to_string(pid) + "/stat", line);
  }
  void open(const std::string& name, const std::string& file) {
    const std::string path = folder_.path() + "/" + name;
    ASSERT_TRUE(make_directories(path.substr(0, path.rfind('/'))));
    std::filesystem::create_symlink(file, path);
  }
  [[nodiscard]] JobProbe probe() const {
    return JobProbe({.proc = folder_.path(), .cgroup = folder_.path() + "/cgroup"});
  }

 private:
  TemporaryDirectory folder_;
};

TEST(JobProbe, TellsOfAJobOnNoGpuWhyThatMayBe) {
  using namespace std::string_literals;
  ProcFolder proc;
  FakeClock clock;
  proc.thread(10, 10, 1, 'S', 5, "");
  proc.thread(20, 20, 10, 'R', 300, "");
  proc.write("uptime", "65.00 9.00\n");
  proc.open("10/fd/0", "/dev/null");
  proc.open("20/fd/0", "/dev/null");
  proc.write("20/maps", "7f00-7f01 r-xp 0 00:00 7 /opt/torch/lib/libtorch_cpu.so\n");
  proc.write("20/environ", "WORLD_SIZE=8\0CUDA_VISIBLE_DEVICES=-1\0"s);
  const auto processes = proc.probe().processes({10}, std::nullopt).list;
  const JobComputing said = proc.probe().computing(10, processes, false, std::nullopt, clock);
  EXPECT_EQ(said.framework, "torch") << "its child's";
  EXPECT_EQ(said.ranks, 8U);
  EXPECT_EQ(said.cpu_side, (CpuFacts{.device_files = std::uint64_t{0},
                                     .age = Milliseconds(60'000),
                                     .visible_devices = "-1"s,
                                     .hiding_variable = "CUDA_VISIBLE_DEVICES",
                                     .framework_for_cpu = true}));
  proc.open("20/fd/7", "/dev/nvidia0");
  const JobComputing opened = proc.probe().computing(10, processes, false, std::nullopt, clock);
  ASSERT_TRUE(opened.cpu_side);
  EXPECT_EQ(opened.cpu_side->device_files, Reading<std::uint64_t>(1U));
  EXPECT_FALSE(proc.probe().computing(20, processes, true, std::nullopt, clock).cpu_side)
      << "it is on a GPU";
}

TEST(JobProbe, ReadsVariablesAndBuildsOfTheMakerWhoseDevicesTheJobHas) {
  using namespace std::string_literals;
  FakeClock clock;
  const auto seen = [&](DeviceKind kind, const std::string& library, const std::string& variable) {
    ProcFolder proc;
    proc.thread(10, 10, 1, 'S', 5, "");
    proc.open("10/fd/0", "/dev/null");
    proc.write("10/maps", "1-2 r-xp 0 00:00 7 /t/lib/libtorch_cpu.so\n3-4 r-xp 0 00:00 8 /t/lib/" +
                              library + "\n");
    proc.write("10/environ", "PATH=/bin\0"s + variable + "\0"s);
    const auto processes = proc.probe().processes({10}, std::nullopt).list;
    return proc.probe().computing(10, processes, false, kind, clock).cpu_side.value();
  };
  for (const char* library : {"libtorch_xpu.so", "libtorch_npu.so", "libtorch_hip.so"}) {
    EXPECT_FALSE(seen(DeviceKind::intel_gpu, library, "A=b").framework_for_cpu) << library;
  }
  using enum DeviceKind;
  const auto hidden_by = [&](DeviceKind kind, const std::string& variable) {
    return seen(kind, "x.so", variable).hiding_variable;
  };
  EXPECT_EQ(hidden_by(amd_gpu, "ROCR_VISIBLE_DEVICES="), "ROCR_VISIBLE_DEVICES");
  EXPECT_EQ(hidden_by(amd_gpu, "HIP_VISIBLE_DEVICES=-1"), "HIP_VISIBLE_DEVICES");
  EXPECT_EQ(hidden_by(amd_gpu, "CUDA_VISIBLE_DEVICES="), "") << "an empty one hides nothing there";
  EXPECT_EQ(hidden_by(ascend_npu, "ASCEND_RT_VISIBLE_DEVICES=-1"), "ASCEND_RT_VISIBLE_DEVICES");
  EXPECT_EQ(hidden_by(ascend_npu, "CUDA_VISIBLE_DEVICES=-1"), "") << "it is not read there";
  EXPECT_EQ(hidden_by(intel_gpu, "ZE_AFFINITY_MASK=-1"), "ZE_AFFINITY_MASK");
  EXPECT_EQ(hidden_by(intel_gpu, "ZE_AFFINITY_MASK="), "") << "empty is all";
}

TEST(JobProbe, ReadsThreadsCountersAndDescendants) {
  ProcFolder proc;
  proc.thread(10, 10, 1, 'R', 300, "3000000000 250000000 9\n");
  proc.thread(10, 11, 1, 'D', 20, "210000000 0 4\n");
  proc.write("10/io",
             "rchar: 900\nwchar: 80\nsyscr: 1\nsyscw: 1\nread_bytes: 400\nwrite_bytes: 0\n");
  proc.write("10/status",
             "Name:\tpy\nVmSwap:\t     12 kB\nCpus_allowed_list:\t0-3,8\n"
             "voluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t8\n");
  proc.thread(20, 20, 10, 'S', 5, "50000000 0 1\n");
  proc.thread(30, 30, 20, 'Z', 5, "0 0 0\n");
  proc.thread(40, 40, 1, 'S', 5, "0 0 0\n");
  const auto got = proc.probe().processes({10}, std::nullopt).list;
  ASSERT_EQ(got.size(), 2U) << "10 and its child 20; 30 is a zombie, 40 somebody else's";
  EXPECT_EQ(got[0].id.pid, 10);
  EXPECT_EQ(got[0].cpu, Milliseconds(3000));
  EXPECT_TRUE(got[0].knows_delays);
  const std::vector<ThreadCounters> threads = {{10, 'R', 3'000'000'000, 250'000'000},
                                               {11, 'D', 210'000'000, 0}};
  EXPECT_EQ(got[0].threads, threads);
  EXPECT_EQ(got[0].storage_read, Bytes(400));
  EXPECT_EQ(got[0].read, Bytes(900));
  EXPECT_EQ(got[0].written, Bytes(80));
  EXPECT_EQ(got[0].major_faults, std::uint64_t{42});
  EXPECT_EQ(got[0].swapped, Bytes(12 * 1024));
  EXPECT_EQ(got[0].voluntary_switches, std::uint64_t{7});
  EXPECT_EQ(got[0].involuntary_switches, std::uint64_t{8});
  EXPECT_FALSE(got[1].read.get()) << "no io file could be read";
  EXPECT_EQ(proc.probe().cpus_allowed(10), 5.0);
}

TEST(JobProbe, WithoutSchedstatsTheTicksCountAndNoDelayIsTold) {
  ProcFolder proc;
  proc.thread(10, 10, 1, 'R', 300, "");
  const auto got = proc.probe().processes({10}, std::nullopt).list;
  ASSERT_EQ(got.size(), 1U);
  EXPECT_FALSE(got[0].knows_delays);
  EXPECT_EQ(got[0].threads.get()->at(0).cpu_ns, 3'000'000'000U);
}

TEST(JobProbe, AKeepersOwnSessionIsNotTheJobs) {
  ProcFolder proc;
  proc.thread(77, 77, 1, 'S', 1, "0 0 0\n");  // the keeper; all here are in session 77
  proc.thread(78, 78, 77, 'S', 1, "0 0 0\n");
  EXPECT_TRUE(proc.probe().processes({77}, 77).list.empty());
  EXPECT_EQ(proc.probe().processes({77}, std::nullopt).list.size(), 2U);
}

TEST(JobProbe, TheHostsCountersAndCpus) {
  ProcFolder proc;
  const HostCounters host = proc.probe().host();
  EXPECT_EQ(host.cpu_all_ticks, std::uint64_t{1001});
  EXPECT_EQ(host.cpu_idle_ticks, std::uint64_t{800});
  EXPECT_EQ(host.cpu_iowait_ticks, std::uint64_t{40});
  EXPECT_EQ(host.io_pressure, Microseconds(123456));
  EXPECT_EQ(host.swap_in, Bytes(10 * 4096));
  EXPECT_EQ(proc.probe().cpus(), std::uint64_t{2});
}

TEST(JobProbe, TheTightestQuotaAboveAProcessCounts) {
  ProcFolder proc;
  proc.thread(10, 10, 1, 'R', 1, "");
  proc.write("10/status", "Cpus_allowed_list:\t0-63\n");
  proc.write("10/cgroup", "0::/slurm/job_7/step_0\n");
  proc.write("cgroup/slurm/job_7/step_0/cpu.max", "max 100000\n");
  proc.write("cgroup/slurm/job_7/cpu.max", "250000 100000\n");
  EXPECT_EQ(proc.probe().cpus_allowed(10), 2.5);
}

TEST(JobProbe, TheQuotaOfControlGroupsOfVersion1Counts) {
  ProcFolder proc;
  proc.thread(10, 10, 1, 'R', 1, "");
  proc.write("10/status", "Cpus_allowed_list:\t0-63\n");
  proc.write(
      "10/cgroup",
      "11:cpuset:/docker/a:b\n4:cpu,cpuacct:/docker/a:b\n1:name=systemd:/docker/a:b\n0::/\n");
  proc.write("cgroup/cpu,cpuacct/docker/a:b/cpu.cfs_quota_us", "-1\n");
  proc.write("cgroup/cpu,cpuacct/docker/a:b/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(proc.probe().cpus_allowed(10), 64.0) << "-1 is no limit";
  proc.write("cgroup/cpuset/docker/a:b/cpu.cfs_quota_us", "1\n");
  proc.write("cgroup/cpuset/docker/a:b/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(proc.probe().cpus_allowed(10), 64.0) << "another controller's tree";
  proc.write("cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us", "350000\n");
  proc.write("cgroup/cpu,cpuacct/docker/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(proc.probe().cpus_allowed(10), 3.5) << "the group above";
  // In a container the path is the host's and the tree's top is the container's own group.
  proc.write("cgroup/cpu/cpu.cfs_quota_us", "50000\n");
  proc.write("cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(proc.probe().cpus_allowed(10), 0.5);
}

TEST(JobProbe, OfTooManyProcessesTheRootsAreLookedAtAndTheRestIsCounted) {
  ProcFolder proc;
  constexpr int root = 9000;
  proc.thread(root, root, 1, 'R', 1, "");
  for (int pid = 1000; pid < 1515; ++pid) proc.thread(pid, pid, root, 'S', 1, "");
  const JobProcesses got = proc.probe().processes({root}, std::nullopt);
  EXPECT_EQ(got.list.size(), JobProbe::most_processes);
  EXPECT_EQ(got.left_out, 4U) << "516 in all";
  EXPECT_EQ(got.list.front().id.pid, 1000);
  EXPECT_EQ(got.list.back().id.pid, root);
  EXPECT_EQ(proc.probe().processes({1000}, std::nullopt).left_out, 0U);
}

TEST(JobProbe, TextsThatAreNoneAreAbsent) {
  EXPECT_FALSE(procfs::parse_major_faults("7 (no end"));
  HostCounters host;
  procfs::parse_cpu_line("intr 1 2 3", host);
  EXPECT_FALSE(host.cpu_all_ticks.get());
}

TEST(JobProbe, SeesTheThreadsOfARealProcess) {
  const auto child = fork_process([] {
    std::atomic<bool> stop{false};
    std::vector<std::thread> sleepers;
    for (int i = 0; i < 3; ++i) sleepers.emplace_back([] { ::pause(); });
    std::thread burner([&] {
      while (!stop) {
      }
    });
    burner.join();
    return 0;
  });
  ASSERT_TRUE(child);
  const JobProbe probe;
  std::vector<ProcessCounters> got;
  const auto burnt = [&]() -> std::uint64_t {
    if (got.empty() || !got[0].threads.get()) return 0;
    std::uint64_t most = 0;
    for (const ThreadCounters& one : *got[0].threads.get()) {
      if (one.tid != *child) most = std::max(most, one.cpu_ns);
    }
    return most;
  };
  for (int i = 0; i < 200'000 && burnt() < 50'000'000; ++i)
    got = probe.processes({*child}, {}).list;
  ASSERT_FALSE(got.empty());
  EXPECT_EQ(got[0].threads.get()->size(), 5U) << "the first, three that sleep, one that computes";
  EXPECT_GE(burnt(), 50'000'000U);
  EXPECT_TRUE(got[0].read.get()) << "our own child's files may be read";
  EXPECT_TRUE(probe.cpus_allowed(*child).get());
  static_cast<void>(signal_child(*child, SIGKILL));
  static_cast<void>(reap(*child));
  EXPECT_TRUE(probe.processes({*child}, {}).list.empty());
}

}  // namespace
}  // namespace berth

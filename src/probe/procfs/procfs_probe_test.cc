#include "probe/procfs/procfs_probe.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <tuple>
#include <utility>

#include "base/clock.h"
#include "base/fd.h"
#include "base/process.h"
#include "base/temporary_directory.h"
#include "base/text.h"
#include "snapshot/builder.h"

namespace berth {
namespace {

using testing::ElementsAre;
using namespace std::string_literals;

/// A /proc of a few processes in a temporary directory.
class ProcTree : public testing::Test {
 protected:
  ProcTree() {
    put("stat", "cpu 1 2\nbtime 1760000000\n");
    put("passwd", "alice:x:1001:1001::/home/alice:/bin/sh\n");
    put("sys/kernel/hostname", "box\n");
    put("sys/kernel/random/boot_id", "abc\n");
  }
  void put(const std::string& name, const std::string& text) {
    const std::string path = root_ + "/" + name;
    EXPECT_TRUE(make_directories(path.substr(0, path.rfind('/'))));
    EXPECT_TRUE(write_file_atomically(path, text));
  }
  void process(pid_t pid, const std::string& comm, char state, pid_t parent, unsigned uid,
               const std::string& cmdline, const std::string& stack_begin = "0") {
    const std::string folder = std::to_string(pid);
    put(folder + "/stat", folder + " (" + comm + ") " + state + " " + std::to_string(parent) +
                              " 1 1 0 -1 0 0 0 0 0 150 50 0 0 20 0 1 0 4200 0 10 0 0 0 " +
                              stack_begin + "\n");
    put(folder + "/status", "Name:\t" + comm + "\nUid:\t" + std::to_string(uid) + "\t0\t0\t0\n");
    put(folder + "/cmdline", cmdline);
    put(folder + "/cgroup", "0::/user.slice\n");
  }
  ProcfsProbe probe() { return ProcfsProbe({.proc = root_, .passwd = root_ + "/passwd"}); }
  TemporaryDirectory directory_;
  std::string root_ = directory_.path();
};

TEST_F(ProcTree, ProcessOnADeviceIsDescribed) {
  process(1, "init", 'S', 0, 0, "init\0"s);
  process(50, "bash", 'S', 1, 1001, "bash\0"s);
  process(77, "python", 'R', 50, 1001, "python\0t.py\0--token\0secret\0"s);
  ProcfsProbe asked = probe();
  const HostProcess got = asked.look_at(77);
  EXPECT_EQ(got.id, (ProcessId{77, 4200}));
  EXPECT_THAT(got.ancestors, ElementsAre(50, 1));
  EXPECT_EQ(*got.user.get(), "1001") << "the name is asked for apart";
  EXPECT_EQ(asked.local_user(1001), "alice");
  EXPECT_THAT(*asked.command_of(77).get(), ElementsAre("python", "t.py", "--token", "***"));
  EXPECT_EQ(*got.started.get(), (WallTime{1'760'000'042'000}));
  EXPECT_EQ(*got.cpu_time.get(), Milliseconds(2000));
  EXPECT_EQ(*got.state.get(), "R");
  EXPECT_EQ(*got.container.get(), "");
  Host host;
  asked.observe_host(host);
  EXPECT_EQ(*host.name.get(), "box");
  EXPECT_EQ(*host.boot_id.get(), "abc");
}

TEST_F(ProcTree, CommandUserAndGroupAreReadAnewWithinThirtyLooks) {
  process(77, "python", 'R', 1, 1001, "python\0a.py\0"s);
  ProcfsProbe asked = probe();
  const auto words = [&] {
    asked.begin_look();
    const HostProcess got = asked.look_at(77);
    const auto command = asked.command_of(77);
    return std::tuple(got.uid, *got.container.get(), command.get()->back());
  };
  const auto before = std::tuple(Reading<uid_t>(1001U), ""s, "a.py"s);
  const auto after = std::tuple(Reading<uid_t>(1002U), "systemd unit b.service"s, "b.py"s);
  EXPECT_EQ(words(), before);
  process(77, "python", 'R', 1, 1002, "python\0b.py\0"s);
  put("77/cgroup", "0::/system.slice/b.service\n");
  int looks = 1;
  while (words() == before && looks < 60) ++looks;
  EXPECT_LE(looks, 30);
  EXPECT_EQ(words(), after);
}

TEST_F(ProcTree, AnotherProgramInTheSameProcessIsReadAnewAtOnce) {
  process(77, "sh", 'R', 1, 1001, "sh\0job\0"s);
  ProcfsProbe asked = probe();
  asked.begin_look();
  (void)asked.look_at(77);
  EXPECT_THAT(*asked.command_of(77).get(), ElementsAre("sh", "job"));
  process(77, "python", 'R', 1, 1002, "python\0"s);
  asked.begin_look();
  EXPECT_EQ(asked.look_at(77).uid, Reading<uid_t>(1002U));
  EXPECT_THAT(*asked.command_of(77).get(), ElementsAre("python"));
}

TEST_F(ProcTree, ANewProgramOfTheSameNameIsToldByItsStack) {
  process(77, "python", 'R', 1, 1001, "python\0a.py\0"s, "140722000000000");
  ProcfsProbe asked = probe();
  asked.begin_look();
  (void)asked.look_at(77);
  EXPECT_THAT(*asked.command_of(77).get(), ElementsAre("python", "a.py"));
  process(77, "python", 'R', 1, 1001, "python\0b.py\0"s, "140733000000000");
  asked.begin_look();
  (void)asked.look_at(77);
  EXPECT_THAT(*asked.command_of(77).get(), ElementsAre("python", "b.py"));
}

TEST_F(ProcTree, VanishedProcessIsAbsentWithItsReason) {
  const HostProcess got = probe().look_at(4711);
  EXPECT_EQ(got.id, (ProcessId{4711, 0}));
  EXPECT_EQ(got.uid, Reading<uid_t>(Absent::failed));
  EXPECT_EQ(got.user, Reading<std::string>(Absent::failed));
}

/// What a look says of how much of the machine's processes it can see.
class ViewOfProcesses : public ProcTree {
 protected:
  Reading<std::string> view(const std::string& release, const std::string& pid_namespace) {
    put("sys/kernel/osrelease", release + "\n");
    EXPECT_TRUE(make_directories(root_ + "/self/ns"));
    if (!pid_namespace.empty()) {
      std::filesystem::create_symlink(pid_namespace, root_ + "/self/ns/pid");
    }
    Host host;
    probe().observe_host(host);
    return host.process_view;
  }
};

TEST_F(ViewOfProcesses, IsWholeInTheFirstNamespace) {
  EXPECT_EQ(view("6.1.0-13-amd64", "pid:[4026531836]"), Reading<std::string>("whole"));
}

TEST_F(ViewOfProcesses, IsOfANamespaceInAnyOther) {
  EXPECT_EQ(view("6.1.0-13-amd64", "pid:[4026532441]"), Reading<std::string>("namespace"));
}

TEST_F(ViewOfProcesses, IsThatOfWslOnItsKernelsWhateverTheNamespace) {
  EXPECT_EQ(view("5.15.167.4-microsoft-standard-WSL2", "pid:[4026531836]"),
            Reading<std::string>("wsl"));
}

TEST_F(ViewOfProcesses, IsThatOfWslOnItsFirstKernelsToo) {
  EXPECT_EQ(view("4.4.0-19041-Microsoft", ""), Reading<std::string>("wsl"));
}

TEST_F(ViewOfProcesses, IsUnknownWhereTheNamespaceCannotBeRead) {
  EXPECT_FALSE(view("6.1.0-13-amd64", "").get());
}

TEST_F(ProcTree, WhomTheKernelKilledHasTheTimeOfItsMessage) {
  put("kmsg", "4,1,2000000,-;Out of memory: Killed process 12 (python) anon-rss:4kB\n");
  put("uptime", "10.00 5.00\n");
  const ProcfsProbe probe(
      {.proc = root_, .passwd = root_ + "/passwd", .kernel_log = root_ + "/kmsg"});
  const auto kills = probe.oom_kills({100'000});
  ASSERT_TRUE(kills.get());
  ASSERT_EQ(kills.get()->size(), 1U);
  EXPECT_EQ(kills.get()->front().at, WallTime{92'000});
  EXPECT_EQ(kills.get()->front().pid, 12);
}

TEST_F(ProcTree, ALoadOfTheDriverHasTheTimeOfItsMessage) {
  put("kmsg", "6,1,2000000,-;NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue\n");
  put("uptime", "10.00 5.00\n");
  const ProcfsProbe probe(
      {.proc = root_, .passwd = root_ + "/passwd", .kernel_log = root_ + "/kmsg"});
  const std::vector<DriverLoad> expected = {{.at = {92'000}, .version = "550.54.15"}};
  EXPECT_EQ(probe.driver_loads({100'000}), Reading<std::vector<DriverLoad>>(expected));
}

TEST_F(ProcTree, AKernelLogThatCannotBeReadSaysWhyEachTime) {
  const ProcfsProbe probe(
      {.proc = root_, .passwd = root_ + "/passwd", .kernel_log = root_ + "/none"});
  for (int look = 0; look < 2; ++look) {
    EXPECT_EQ(probe.oom_kills({1}), Reading<std::vector<OomKill>>(Absent::failed));
  }
}

TEST_F(ProcTree, ZombieKeepsItsNameAndHasNoCommand) {
  process(77, "python", 'Z', 0, 1001, "");
  EXPECT_EQ(*probe().look_at(77).executable_name.get(), "python");
  EXPECT_EQ(*probe().look_at(77).state.get(), "Z");
  EXPECT_EQ(probe().command_of(77), Reading<std::vector<std::string>>(Absent::unsupported));
}

TEST_F(ProcTree, AncestorsThatGoInCirclesEnd) {
  process(5, "a", 'S', 6, 0, "a");
  process(6, "b", 'S', 5, 0, "b");
  EXPECT_LE(probe().look_at(5).ancestors.size(), 256U);
}

TEST(PidsNamed, ArePidsOfDevicesAndJobsOnce) {
  Snapshot host = SnapshotBuilder()
                      .gpu("A", Bytes(1))
                      .process(9, "x", Bytes(1))
                      .process(7, "x", Bytes(1))
                      .process(9, "x", Bytes(1))
                      .claim("x", std::nullopt, 5)
                      .build();
  host.claims[0].job = ProcessId{.pid = 8};
  EXPECT_THAT(pids_named_by(host, host.claims), ElementsAre(7, 8, 9));  // 5 is but the keeper
}

TEST(RealProc, OwnProcessHasItsUser) {
  ProcfsProbe probe({});
  EXPECT_EQ(probe.look_at(::getpid()).uid, Reading<uid_t>(::getuid()));
}

TEST(RealProc, AProcessSaysWhenItWasReadAlsoWhereItRested) {
  ProcfsProbe probe({});
  for (int look = 0; look < 3; ++look) {
    probe.begin_look();
    const WallTime before = SystemClock().wall_now();
    const auto read = probe.look_at(::getppid()).read;
    ASSERT_TRUE(read);
    EXPECT_GE(*read, before);
    EXPECT_LE(*read, SystemClock().wall_now());
  }
  EXPECT_EQ(probe.look_at(0x7fffffff).read, std::nullopt) << "of none that there is";
}

std::size_t open_files() { return list_directory("/proc/self/fd")->size(); }

void wait_for_state(pid_t pid, char wanted) {
  SystemClock clock;
  const Instant end = clock.now() + std::chrono::seconds(30);
  const auto state = [&] { return read_process_stat(pid, "/proc").value_or(ProcessStat{}).state; };
  while (state() != wanted && clock.now() < end)
    clock.wait_until(clock.now() + std::chrono::milliseconds(1));
  ASSERT_EQ(state(), wanted);
}

/// A process that does nothing until it is ended.
class Idler {
 public:
  Idler() : pid_(*fork_process([] { return ::pause(); })) { wait_for_state(pid_, 'S'); }
  ~Idler() { end(); }
  Idler(const Idler&) = delete;
  Idler& operator=(const Idler&) = delete;
  void end() {
    if (pid_ == 0) return;
    EXPECT_TRUE(signal_child(pid_, SIGKILL));
    EXPECT_TRUE(reap(std::exchange(pid_, 0)));
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

/// How many files /proc/PID/stat of this process it has open itself.
std::size_t own_lines_open() {
  const std::string own = "/proc/" + std::to_string(::getpid()) + "/stat";
  const auto files = list_directory("/proc/self/fd").value();
  return static_cast<std::size_t>(std::ranges::count_if(files, [&](const std::string& name) {
    return read_link("/proc/self/fd/" + name).value_or("") == own;
  }));
}

// Its parents' files come and go: they are opened at the first look before which they ran.
TEST(RealProc, AFileThatStaysOpenTellsOfEachLookAnew) {
  ProcfsProbe probe({});
  const auto own_time = [&] {
    probe.begin_look();
    return probe.look_at(::getpid()).cpu_time;
  };
  const Reading<Milliseconds> before = own_time();
  EXPECT_EQ(own_lines_open(), 0U) << "one look alone keeps nothing";
  static_cast<void>(own_time());
  ASSERT_TRUE(before.get());
  while (own_time().get().value_or(Milliseconds(0)) == *before.get()) {
  }
  EXPECT_EQ(own_lines_open(), 1U) << "one file for all looks";
}

/// Bytes that this process has read so far, by the kernel's count.
std::uint64_t bytes_read() {
  const std::string io = *read_file("/proc/self/io");
  return *parse_unsigned(io.substr(7, io.find('\n') - 7));  // "rchar: 1234"
}

TEST(RealProc, ProcessesThatDidNotRunAreNotReadAgainForAWhile) {
  ProcfsProbe probe({});
  std::vector<std::unique_ptr<Idler>> idlers;
  for (int i = 0; i < 20; ++i) idlers.push_back(std::make_unique<Idler>());
  const auto read_of_a_look = [&] {
    const std::uint64_t before = bytes_read();
    probe.begin_look();
    for (const auto& idler : idlers) {
      const HostProcess seen = probe.look_at(idler->pid());
      EXPECT_EQ(seen.state, Reading<std::string>("S"s));
      EXPECT_THAT(seen.ancestors, testing::Contains(::getpid()));
    }
    return bytes_read() - before;
  };
  const std::uint64_t whole = read_of_a_look();
  EXPECT_GT(whole, 20U * 100) << "each has a line of some 300 bytes";
  static_cast<void>(read_of_a_look());
  std::uint64_t in_thirty = 0;
  for (int i = 0; i < 30; ++i) in_thirty += read_of_a_look();
  EXPECT_LT(in_thirty, 15 * whole);
}

TEST(RealProc, AProcessThatRestedAndStopsSaysSoAtTheNextLook) {
  ProcfsProbe probe({});
  const Idler idler;
  const auto state = [&] {
    probe.begin_look();
    return probe.look_at(idler.pid()).state.get().value_or("");
  };
  const auto becomes = [&](int signal, char wanted) {
    ASSERT_TRUE(signal_child(idler.pid(), signal));
    wait_for_state(idler.pid(), wanted);
  };
  for (int i = 0; i < 4; ++i) EXPECT_EQ(state(), "S");
  becomes(SIGSTOP, 'T');
  EXPECT_EQ(state(), "T");
  EXPECT_EQ(state(), "T");
  becomes(SIGCONT, 'S');
  EXPECT_EQ(state(), "S");
}

TEST(RealProc, AProcessThatRestedAndLostItsParentHasAnother) {
  Pipe names = *make_pipe();
  const pid_t parent = *fork_process([&] {
    const pid_t child = *fork_process([] { return ::pause(); });
    EXPECT_TRUE(write_all(names.write.get(), std::to_string(child)));
    return ::pause();
  });
  std::array<char, 16> text{};
  ASSERT_GT(::read(names.read.get(), text.data(), text.size()), 0);
  const auto pid = static_cast<pid_t>(*parse_unsigned(text.data()));
  ProcfsProbe probe({});
  const auto ancestors = [&] {
    probe.begin_look();
    return probe.look_at(pid).ancestors;
  };
  wait_for_state(pid, 'S');
  for (int i = 0; i < 4; ++i) EXPECT_EQ(ancestors().front(), parent);
  EXPECT_TRUE(signal_child(parent, SIGKILL));
  EXPECT_TRUE(reap(parent));
  EXPECT_NE(ancestors().front(), parent);
  EXPECT_TRUE(send_signal(read_process_stat(pid, "/proc")->id, SIGKILL));
}

TEST(RealProc, AProcessThatEndedBetweenLooksIsGoneAndItsFileIsClosed) {
  ProcfsProbe probe({});
  Idler idler;
  const pid_t pid = idler.pid();
  const std::size_t before = open_files();
  for (int i = 0; i < 3; ++i) {
    probe.begin_look();
    EXPECT_TRUE(probe.look_at(pid).state.get()) << i;
  }
  EXPECT_GT(open_files(), before);
  idler.end();
  probe.begin_look();
  EXPECT_EQ(probe.look_at(pid).executable_name, Reading<std::string>(Absent::failed));
  probe.begin_look();  // its parents' are closed a look later
  EXPECT_EQ(open_files(), before);
}

TEST(RealProc, FilesOfProcessesNobodyAsksForAreClosed) {
  ProcfsProbe probe({});
  const std::size_t before = open_files();
  const Idler idler;
  for (int i = 0; i < 3; ++i) {
    probe.begin_look();
    static_cast<void>(probe.look_at(idler.pid()));
  }
  EXPECT_GT(open_files(), before);
  for (int i = 0; i < 2; ++i) probe.begin_look();
  EXPECT_EQ(open_files(), before);
}

TEST(RealProc, LeavesMostDescriptorsToTheDriver) {
  rlimit had{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &had), 0);
  const rlimit few{.rlim_cur = 40, .rlim_max = had.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  ProcfsProbe probe({});
  const std::size_t before = open_files();
  std::vector<std::unique_ptr<Idler>> idlers;
  for (int i = 0; i < 15; ++i) idlers.push_back(std::make_unique<Idler>());
  for (int i = 0; i < 3; ++i) {
    probe.begin_look();
    for (const auto& idler : idlers) EXPECT_TRUE(probe.look_at(idler->pid()).state.get());
  }
  EXPECT_LE(open_files() - before, 10U) << "a quarter";
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &had), 0);
}

/// The driver lists process 77 on the device "A", whose file is /dev/nvidia0.
class ListedProcess : public ProcTree {
 protected:
  ListedProcess() {
    process(50, "berth", 'S', 1, 1001, "berth\0"s);
    process(77, "python", 'R', 50, 1001, "python\0"s);
    EXPECT_TRUE(make_directories(root_ + "/77/fd"));
    seen_.host.process_view = std::string("namespace");
  }
  void opens(const std::string& target, const std::string& number) {
    ASSERT_EQ(::symlink(target.c_str(), (root_ + "/77/fd/" + number).c_str()), 0);
  }
  bool is_it(const std::vector<Claim>& claims = {}) {
    return probe().is_the_listed_one(77, seen_, claims);
  }
  Snapshot seen_ = SnapshotBuilder().gpu("A", Bytes(1)).process(77, "x", Bytes(1)).build();
};

TEST_F(ListedProcess, InAContainerIsNotWhoOnlyHasItsNumber) {
  opens("/dev/null", "0");
  opens("/dev/nvidia1", "1");
  EXPECT_FALSE(is_it()) << "another device's file";
  seen_.host.process_view = std::string("wsl");
  EXPECT_FALSE(is_it());
}

TEST_F(ListedProcess, OfTheWholeMachineIsWhoHasItsNumber) {
  seen_.host.process_view = std::string("whole");
  EXPECT_TRUE(is_it());
  seen_.host.process_view = Absent::not_sampled;
  EXPECT_TRUE(is_it());
}

TEST_F(ListedProcess, InAContainerIsWhoHasTheDeviceOpen) {
  opens("/dev/nvidia0", "4");
  EXPECT_TRUE(is_it());
}

TEST_F(ListedProcess, WhereTheDeviceFileIsUnknownAnyOfTheDriversWillDo) {
  opens("/dev/nvidiactl", "4");
  EXPECT_FALSE(is_it());
  seen_.devices[0].minor_number = Absent::unsupported;
  EXPECT_TRUE(is_it());
}

TEST_F(ListedProcess, OfWslHasTheOneFileOfAllDevicesOpen) {
  seen_.host.process_view = std::string("wsl");
  opens("/dev/dxg", "4");
  EXPECT_TRUE(is_it());
}

TEST_F(ListedProcess, InAContainerIsWhoRunsUnderALeaseOfTheDevice) {
  Claim claim;
  claim.keeper = ProcessId{.pid = 50, .start_ticks = 4200};
  claim.devices.push_back({DeviceId("A"), std::nullopt});
  EXPECT_TRUE(is_it({claim}));
  claim.keeper->start_ticks = 7;
  EXPECT_FALSE(is_it({claim})) << "the number is another's: the ledger is the host's";
  claim.keeper->start_ticks = 4200;
  claim.devices[0].device = DeviceId("B");
  EXPECT_FALSE(is_it({claim})) << "the lease is of another device";
}

TEST_F(ListedProcess, NotListedAtAllIsWhoItIs) {
  EXPECT_TRUE(probe().is_the_listed_one(50, seen_, {}));
}

TEST_F(ProcTree, DiskSleepTellsWhatAProcessHasDone) {
  process(77, "python", 'D', 1, 1001, "python\0"s);
  EXPECT_EQ(probe().disk_sleep_of(77), std::nullopt) << "its switches are not told";
  const auto switched = [&](const std::string& times) {
    put("77/status", "Name:\tpython\nUid:\t1001\t0\t0\t0\nvoluntary_ctxt_switches:\t" + times +
                         "\nnonvoluntary_ctxt_switches:\t2\n");
  };
  switched("40");
  const auto before = probe().disk_sleep_of(77);
  ASSERT_TRUE(before);
  EXPECT_EQ(before->context_switches, 42U);
  EXPECT_EQ(probe().disk_sleep_of(77), before);
  switched("41");
  EXPECT_NE(probe().disk_sleep_of(77), before);
  process(77, "python", 'S', 1, 1001, "python\0"s);
  EXPECT_EQ(probe().disk_sleep_of(77), std::nullopt);
}

TEST_F(ProcTree, OpenDeviceFilesAreFoundOnce) {
  process(77, "python", 'R', 1, 1001, "python\0"s);
  process(78, "idle", 'S', 1, 1001, "idle\0"s);
  for (const char* pid : {"77", "78"}) {
    ASSERT_TRUE(make_directories(root_ + "/" + pid + "/fd"));
  }
  const auto link = [&](const std::string& target, const std::string& at) {
    ASSERT_EQ(::symlink(target.c_str(), (root_ + at).c_str()), 0);
  };
  link("/dev/nvidia3", "/77/fd/4");
  link("/dev/nvidia3", "/77/fd/5");
  link("/dev/dri/renderD3", "/77/fd/7");
  link("/dev/nvidiactl", "/77/fd/6");
  link("/dev/null", "/78/fd/0");
  const Reading<DeviceFiles> files = probe().device_files();
  ASSERT_TRUE(files.get());
  EXPECT_THAT(files.get()->holders,
              ElementsAre(DeviceFileHolder{77, 3}, DeviceFileHolder{77, 3, "/dev/dri/renderD"}));
  EXPECT_EQ(files.get()->unreadable, Reading<std::uint64_t>(0U));
}

TEST(Procfs, WhoHasDeviceFilesOpenIsNotNobodyWhereThereIsNoProc) {
  EXPECT_EQ(ProcfsProbe({.proc = "/nonexistent"}).device_files(),
            Reading<DeviceFiles>(Absent::failed));
}

}  // namespace
}  // namespace berth

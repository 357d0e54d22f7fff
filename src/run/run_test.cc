#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/process.h"
#include "base/temporary_directory.h"
#include "host_environment/environment.h"
#include "host_environment/gather.h"
#include "run/command_words.h"
#include "run/inside.h"
#include "run/launcher.h"
#include "run/memory_kills.h"
#include "run/run.h"
#include "run/sampler.h"
#include "run/tree.h"
#include "snapshot/builder.h"

namespace berth {
namespace {

using namespace literals;
using testing::Contains;
using testing::Not;

TEST(ForwardedSignals, KeysOfTheTerminalAreTheJobsAlready) {
  EXPECT_FALSE(is_to_be_forwarded({.signal = {.number = SIGINT, .from_kernel = true}}));
}

TEST(ForwardedSignals, KillOnTheLauncherAloneIsForwarded) {
  EXPECT_TRUE(is_to_be_forwarded({.signal = {.number = SIGTERM, .sender = 7}, .keeper = 5}));
}

TEST(ForwardedSignals, WhatTheGroupGotIsForwardedOnlyToAJobThatLeftTheGroup) {
  SignalFacts facts{.signal = {.number = SIGTERM, .sender = 7}, .keeper = 5, .sent_to_group = true};
  EXPECT_FALSE(is_to_be_forwarded(facts));
  facts.job_in_group = false;
  EXPECT_TRUE(is_to_be_forwarded(facts));
}

TEST(ForwardedSignals, WhatTheJobOrTheKeeperSentStays) {
  EXPECT_FALSE(is_to_be_forwarded(
      {.signal = {.number = SIGTERM, .sender = 7}, .keeper = 5, .sent_by_tree = true}));
  EXPECT_FALSE(is_to_be_forwarded({.signal = {.number = SIGCONT, .sender = 5}, .keeper = 5}));
}

TEST(ScriptCheck, FindsAssignmentsAndNamesTheLine) {
  for (const char* text :
       {"import os\nos.environ[\"CUDA_VISIBLE_DEVICES\"] = \"1\"\n",
        "#!/bin/sh\nexport CUDA_VISIBLE_DEVICES=1\n", "#!/bin/sh\nexport ROCR_VISIBLE_DEVICES=1\n",
        "import os\nos.environ['HIP_VISIBLE_DEVICES'] = '1'\n",
        "#!/bin/sh\nZE_AFFINITY_MASK=1 python x.py\n",
        "#!/bin/sh\nA=$HIP_VISIBLE_DEVICES ASCEND_RT_VISIBLE_DEVICES=1 x\n",
        "#!/bin/sh\nCUDA_VISIBLE_DEVICES=1 python x.py\n",
        "x\n  environ['CUDA_VISIBLE_DEVICES']='0'\n"}) {
    const auto found = find_visible_devices_assignment(text);
    ASSERT_TRUE(found) << text;
    EXPECT_EQ(found->number, 2) << text;
  }
}

TEST(ScriptCheck, ReadingCommentsAndComparisonsAreNoAssignments) {
  for (const char* text :
       {"print(os.environ[\"CUDA_VISIBLE_DEVICES\"])", "# export CUDA_VISIBLE_DEVICES=1",
        "if os.environ[\"CUDA_VISIBLE_DEVICES\"] == \"1\":", "echo $CUDA_VISIBLE_DEVICES",
        "os.environ.setdefault(\"CUDA_VISIBLE_DEVICES\", \"0\")",
        "export CUDA_VISIBLE_DEVICES=${CUDA_VISIBLE_DEVICES:-0}",
        "export HIP_VISIBLE_DEVICES=$ROCR_VISIBLE_DEVICES", "export MY_HIP_VISIBLE_DEVICES=1",
        "os.environ['CUDA_VISIBLE_DEVICES'] = os.environ.get('CUDA_VISIBLE_DEVICES', '0')",
        "echo \"use (CUDA_VISIBLE_DEVICES=1)\"", "python x.py  # export CUDA_VISIBLE_DEVICES=1",
        "todo CUDA_VISIBLE_DEVICES=1", "train --envCUDA_VISIBLE_DEVICES=1"}) {
    EXPECT_FALSE(find_visible_devices_assignment(text)) << text;
  }
}

TEST(ScriptCheck, FindsAssignmentsAmidALine) {
  for (const char* text :
       {"echo $CUDA_VISIBLE_DEVICES; CUDA_VISIBLE_DEVICES=1 python x.py",
        "cd x && OMP_NUM_THREADS=4 CUDA_VISIBLE_DEVICES=0 python x.py",
        "(CUDA_VISIBLE_DEVICES=1 python x.py)",
        "if true; then export A=1 CUDA_VISIBLE_DEVICES=1; fi",
        "    \"!export CUDA_VISIBLE_DEVICES=1\\n\",", "%env CUDA_VISIBLE_DEVICES=1",
        "import os; os.environ['CUDA_VISIBLE_DEVICES'] = '1'; import torch"}) {
    EXPECT_TRUE(find_visible_devices_assignment(text)) << text;
  }
}

using What = ScriptWarning::What;

std::optional<What> what_of(const std::optional<ScriptWarning>& warning) {
  return warning ? std::optional(warning->what) : std::nullopt;
}
std::optional<What> warning_about(const std::vector<std::string>& command) {
  return what_of(warning_about_devices_set_by(command, "/bin/sh"));
}

TEST(ScriptCheck, CharactersThatPythonRefusesAreNamedWithTheirLine) {
  const auto found = [](std::string_view text) {
    const auto line = find_character_python_refuses(text);
    return line ? std::to_string(line->number) + " " + line->text : "";
  };
  EXPECT_EQ(found("import torch\nprint(“hi”)\n"), "2 “ (U+201C)");
  EXPECT_THAT(found("x = 'a'\n\ny =\xC2\xA0 1\n"), testing::StartsWith("3 "));
  EXPECT_THAT(found("x = 1\xE2\x80\x8B\n"), testing::EndsWith("(U+200B)"));
  EXPECT_EQ(found("f(1，2)"), "1 ， (U+FF0C)");
  EXPECT_EQ(found("s = '''“\n”''' + f'{x[\"a\"]}“' + ’'"), "2 ’ (U+2019)");
  EXPECT_EQ(found("# 中文\nname = '\\'' # “\nprint(‘x’)"), "3 ‘ (U+2018)");
}

TEST(ScriptCheck, StringsCommentsNamesAndDoubtsAreLeftToPython) {
  for (const char* text : {"print('“hi”')  # it’s", "\"\"\"“a”\n\"“\" \"\"\"", "变量 = 1\nｘ１ = 2",
                           "r'\\'“'", "f\"{d[\"“\"]}\"", "print(\"hi”)\nx = ‘a’",
                           "# -*- coding: gbk -*-\nprint(“hi”)", "x = 'a\\\n“'", "é = 1", ""}) {
    EXPECT_FALSE(find_character_python_refuses(text)) << text;
  }
}

TEST(ScriptCheck, OnlyTheScriptThatPythonRunsIsScanned) {
  const TemporaryDirectory directory;
  const std::string script = directory.path() + "/train.py";
  ASSERT_TRUE(write_file_atomically(script, "#!/usr/bin/env python3\nprint(“hi”)\n", 0755));
  const auto warning = [&](const std::vector<std::string>& command) {
    return warning_about_characters_in(command, command[0]);
  };
  using Words = std::vector<std::string>;
  for (const Words& command : {Words{"python3", "-u", script},
                               {script},
                               {"torchrun", script},
                               {"nice", "-n", "5", "python", script},
                               {"python", "-m", "torch.distributed.run", script}}) {
    const auto warned = warning(command);
    ASSERT_EQ(what_of(warned), What::character_refused) << testing::PrintToString(command);
    EXPECT_EQ(warned->script, script);
    EXPECT_EQ(warned->line.number, 2);
    EXPECT_EQ(warned->line.text, "“ (U+201C)");
  }
  for (const Words& command : {Words{"cat", script},
                               {"python", "-m", "black", script},
                               {"python", "-c", "pass", script},
                               {"python", "other.py"}}) {
    EXPECT_FALSE(warning(command)) << testing::PrintToString(command);
  }
}

TEST(ScriptCheck, CommandThatSetsTheDevicesInItsWordsIsWarnedAbout) {
  const std::string shell = "CUDA_VISIBLE_DEVICES=1 python x.py";
  const std::string python = "import os; os.environ['CUDA_VISIBLE_DEVICES'] = '1'";
  using Words = std::vector<std::string>;
  for (const Words& command : {Words{"bash", "-c", shell},
                               {"/bin/sh", "-ec", shell},
                               {"bash", "-eo", "pipefail", "-c", shell},
                               {"nice", "-n", "5", "bash", "-l", "-c", shell},
                               {"python3", "-c", python},
                               {"python3.11", "-u", "-W", "ignore", "-c", python},
                               {"python", "-uc", python},
                               {"env", "CUDA_VISIBLE_DEVICES=2", "python"},
                               {"env", "-u", "A", "B=1", "CUDA_VISIBLE_DEVICES=2", "x"},
                               {"nohup", "/usr/bin/env", "-i", "CUDA_VISIBLE_DEVICES=2", "x"},
                               {"env", "-S", shell}}) {
    EXPECT_EQ(warning_about(command), What::command_sets_devices)
        << testing::PrintToString(command);
  }
}

TEST(ScriptCheck, AnotherMakersVariableIsWarnedAboutWhereItsDevicesAreGiven) {
  const Snapshot host = SnapshotBuilder()
                            .gpu("N", 8_GiB)
                            .gpu("A", 8_GiB)
                            .with([](Device& device) { device.kind = DeviceKind::amd_gpu; })
                            .build();
  const std::vector<std::string> command = {"env", "GPU_DEVICE_ORDINAL=2", "CUDA_VISIBLE_DEVICES=2",
                                            "python"};
  const auto given = [&](const char* device) {
    return what_of(warning_about_variables_of({DeviceId(device)}, host, command, "/bin:/usr/bin"));
  };
  EXPECT_EQ(given("A"), What::command_sets_devices);
  EXPECT_EQ(given("N"), std::nullopt) << "its programs read CUDA's, of which it was told before";
  EXPECT_EQ(warning_about(command), What::command_sets_devices);
  EXPECT_EQ(warning_about({"env", "HIP_VISIBLE_DEVICES=2", "python"}), std::nullopt);
}

TEST(ScriptCheck, CommandThatOnlyReadsTheDevicesIsNotWarnedAbout) {
  using Words = std::vector<std::string>;
  for (const Words& command :
       {Words{"bash", "-c", "echo $CUDA_VISIBLE_DEVICES"},
        {"env", "A=1", "x", "CUDA_VISIBLE_DEVICES=2"},
        {"bash", "x.sh", "-c", "CUDA_VISIBLE_DEVICES=1"},
        {"python", "-m", "x", "-c", "CUDA_VISIBLE_DEVICES=1"},
        {"python", "-c", "import os; print(os.environ['CUDA_VISIBLE_DEVICES'])"},
        {"python", "-Wc", "CUDA_VISIBLE_DEVICES=1"},
        {"echo", "CUDA_VISIBLE_DEVICES=1"},
        {"bash", "-c"}}) {
    EXPECT_EQ(warning_about(command), std::nullopt) << testing::PrintToString(command);
  }
}

TEST(ScriptCheck, ContainerWithGpusOfItsOwnChoiceIsWarnedAbout) {
  using Words = std::vector<std::string>;
  for (const Words& command :
       {Words{"docker", "run", "--rm", "--gpus", "all", "image", "python", "x.py"},
        {"sh", "-c", "docker run -e ASCEND_VISIBLE_DEVICES=0 image"},
        {"sh", "-c", "docker run -e ROCR_VISIBLE_DEVICES=0 image"},
        {"sh", "-c", "docker run --device /dev/kfd --device /dev/dri/renderD128 image"},
        {"/usr/bin/docker", "container", "run", "--gpus=all", "image"},
        {"docker", "--context", "far", "run", "--gpus", "\"device=0\"", "image"},
        {"sudo", "-E", "docker", "run", "--gpus", "all", "image"},
        {"env", "A=1", "podman", "run", "--device", "nvidia.com/gpu=all", "image"},
        {"nerdctl", "create", "--gpus", "1", "image"},
        {"docker", "run", "--runtime=nvidia", "-e", "NVIDIA_VISIBLE_DEVICES=all", "image"},
        {"docker", "run", "-e", "CUDA_VISIBLE_DEVICES=2", "image"},
        {"docker", "exec", "-it", "name", "python", "x.py"},
        {"docker", "compose", "up"},
        {"sudo", "docker", "run", "image"},
        {"sh", "-c", "cd /x && docker run -d image"},
        {"bash", "-lc", "cd /x && docker run -v \"$PWD\":/x \\\n  --gpus all image"},
        {"sh", "-c", "sudo docker run --gpus 'all' image"}}) {
    const bool is_entered = command[1] == "exec" || command[1] == "compose" ||
                            command == Words{"sudo", "docker", "run", "image"} ||
                            command.back() == "cd /x && docker run -d image";
    EXPECT_EQ(warning_about(command),
              is_entered ? What::container_entered : What::container_started)
        << testing::PrintToString(command);
  }
}

TEST(ScriptCheck, ProgramsOfACommandAreThoseThatItsWordsName) {
  EXPECT_THAT(programs_started_by({"/usr/bin/python3", "train.py", "docker"}),
              ::testing::ElementsAre("python3"));
  using Words = std::vector<std::string>;
  for (const Words& command :
       {Words{"env", "-u", "B", "A=/b", "nice", "-n", "5", "docker", "run", "nsys"},
        {"sudo", "-Eu", "dan", "docker", "nsys"},
        {"/usr/bin/timeout", "-k", "5", "10m", "nohup", "docker", "nsys"},
        {"taskset", "-c", "0-3", "stdbuf", "-oL", "docker", "nsys"},
        {"numactl", "--membind", "0", "-N1", "docker", "nsys"}}) {
    EXPECT_EQ(programs_started_by(command).back(), "docker") << testing::PrintToString(command);
    for (const std::string& program : programs_started_by(command)) {
      EXPECT_THAT(program, ::testing::Not(::testing::AnyOf("5", "dan", "10m", "0-3", "0", "nsys")));
    }
  }
  EXPECT_THAT(programs_started_by({"bash", "-c", "cd /data && A=1 docker run image | tee log"}),
              ::testing::IsSupersetOf({"bash", "cd", "docker", "tee"}));
  EXPECT_THAT(programs_started_by({}), ::testing::IsEmpty());
}

TEST(ScriptCheck, WarningAboutAContainerNamesWhatChoosesItsGpus) {
  const auto warning = warning_about_devices_set_by(
      {"podman", "run", "--device=nvidia.com/gpu=0", "image"}, "/bin/sh");
  ASSERT_EQ(what_of(warning), What::container_started);
  EXPECT_EQ(warning->by, "podman run --device=nvidia.com/gpu=0");
  EXPECT_EQ(warning->tool, "podman");
}

TEST(ScriptCheck, ContainerThatHasTheRunsGpusOrNoneIsNotWarnedAbout) {
  using Words = std::vector<std::string>;
  for (const Words& command :
       {Words{"docker", "run", "image", "python"},
        {"docker", "run", "-e", "NVIDIA_VISIBLE_DEVICES=void", "image"},
        {"docker", "run", "--gpus", "all", "-e", "CUDA_VISIBLE_DEVICES", "image"},
        {"sh", "-c", "docker run -e ZE_AFFINITY_MASK image"},
        {"sh", "-c", "docker run --gpus \"\\\"device=$CUDA_VISIBLE_DEVICES\\\"\" image"},
        {"sh", "-c", "docker run --gpus device=${CUDA_VISIBLE_DEVICES} image"},
        {"sh", "-c", "eval docker run $(berth pick --format docker) image"},
        {"sh", "-c", "# docker run --gpus all\necho 'docker run --gpus all'"},
        {"docker", "build", "-t", "run", "."},
        {"docker", "compose", "ps"},
        {"echo", "docker", "run", "--gpus", "all"},
        {"docker"},
        {"docker", "run", "--gpus"}}) {
    EXPECT_EQ(warning_about(command), std::nullopt) << testing::PrintToString(command);
  }
}

TEST(Environment, CpuOnlySetsThreadsWhereNobodyChoseANumber) {
  const auto settings = cpu_only_settings({"PATH=/bin", "MY_OMP_NUM_THREADS=3"}, 16);
  EXPECT_THAT(settings, Contains(Variable{"CUDA_VISIBLE_DEVICES", "-1"}));
  EXPECT_THAT(settings, Contains(Variable{"OMP_NUM_THREADS", "16"}));
  EXPECT_THAT(settings, Contains(Variable{"MKL_NUM_THREADS", "16"}));
}

TEST(Environment, CpuOnlySetsNoThreadsWhereANumberWasChosenForAnyLibrary) {
  for (const char* chosen :
       {"OMP_NUM_THREADS=8", "MKL_NUM_THREADS=8", "MKL_DOMAIN_NUM_THREADS=MKL_DOMAIN_BLAS=4",
        "OPENBLAS_NUM_THREADS=8", "GOTO_NUM_THREADS=8", "BLIS_NUM_THREADS=8",
        "VECLIB_MAXIMUM_THREADS=8", "NUMEXPR_NUM_THREADS=8", "NUMEXPR_MAX_THREADS=8",
        "NUMBA_NUM_THREADS=8"}) {
    const auto settings = cpu_only_settings({chosen}, 16);
    EXPECT_THAT(settings, Contains(Variable{"CUDA_VISIBLE_DEVICES", "-1"})) << chosen;
    EXPECT_THAT(settings, Not(Contains(testing::Field(&Variable::second, "16")))) << chosen;
  }
}

TEST(Environment, VariablesAreReplacedNotRepeated) {
  EXPECT_THAT(with_variables({"A=1", "B=2", "A=3"}, {{"A", "9"}}),
              testing::ElementsAre("B=2", "A=9"));
}

TEST(Environment, SecretsAmongNotableVariablesAreMasked) {
  EXPECT_THAT(
      notable_variables({"HF_TOKEN=abc", "CUDA_HOME=/opt", "HOME=/root", "AMD_API_KEY=abc",
                         "ONEAPI_PASSWORD=abc"}),
      testing::ElementsAre(Variable{"AMD_API_KEY", "***"}, Variable{"CUDA_HOME", "/opt"},
                           Variable{"HF_TOKEN", "***"}, Variable{"ONEAPI_PASSWORD", "***"}));
}

TEST(Strays, AreProcessesOfTheTreeOnDevicesNotGiven) {
  const Snapshot host = SnapshotBuilder()
                            .gpu("A", 24_GiB)
                            .process(7, "ann", 1_GiB)
                            .gpu("B", 24_GiB)
                            .process(7, "ann", 1_GiB)
                            .process(8, "bob", 1_GiB)
                            .build();
  EXPECT_THAT(strays_in(host, {7}, {host.devices[0]}),
              testing::ElementsAre(Stray{.pid = 7, .device = DeviceId("B")}));
  EXPECT_THAT(strays_in(host, {7}, host.devices), testing::IsEmpty());
}

TEST(OthersBeside, AreSummedByUserAndASumWithAGapIsMissing) {
  Snapshot host = SnapshotBuilder()
                      .gpu("A", 24_GiB)
                      .process(7, "ada", 1_GiB)
                      .process(8, "bob", 2_GiB)
                      .process(9, "bob", 3_GiB)
                      .gpu("B", 24_GiB)
                      .process(10, "cem", 4_GiB)
                      .process(11, "cem", 5_GiB)
                      .gpu("C", 24_GiB)
                      .process(12, "dee", 6_GiB)
                      .build();
  host.gpu_processes[3].memory = Absent::no_permission;
  host.processes.back().user = Absent::no_permission;
  const auto others = others_beside(host, {7}, {host.devices[1], host.devices[0]});
  const std::vector<OthersSample> expected = {{0, "cem", Absent::no_permission}, {1, "bob", 5_GiB}};
  EXPECT_EQ(others, expected);
  const std::vector<OthersSample> unseen = {{0, "", 6_GiB}};
  EXPECT_EQ(others_beside(host, {7}, {host.devices[2]}), unseen);
}

TEST(Inside, AsksOnlyForTheLeasesDevicesAndItsShare) {
  Claim claim;
  claim.devices = {{DeviceId("A"), 10_GiB}, {DeviceId("B"), 8_GiB}};
  AcquireOptions options;
  ASSERT_TRUE(narrow_to(claim, options));
  EXPECT_THAT(*options.limits.visible, testing::ElementsAre(DeviceId("A"), DeviceId("B")));
  EXPECT_EQ(std::get<Bytes>(*options.request.memory), 8_GiB);
  options.request.devices = 3;
  EXPECT_EQ(narrow_to(claim, options).error().message(),
            "this runs inside a lease of 2 device(s) and asks for 3: ask for more in the outer "
            "`berth run`");
}

TEST(Inside, SaysOfWhatIsHiddenThatItIsAndNotThatTheLeaseHasNone) {
  Claim claim;
  claim.devices = {{DeviceId("A"), {}}, {DeviceId("B"), {}}};
  AcquireOptions options{.limits = {.visible = std::vector{DeviceId("C")}}};
  EXPECT_EQ(narrow_to(claim, options).error().message(),
            "this runs inside a lease of A, B, and its own variables show none of them: unset "
            "them to use the lease's");
  options = {.limits = {.visible = std::vector{DeviceId("B"), DeviceId("C")}}};
  options.request.devices = 2;
  EXPECT_EQ(narrow_to(claim, options).error().message(),
            "this runs inside a lease of A, B, and its own variables show B: unset them to use "
            "the lease's");
}

TEST(Inside, WhatTheOuterRunUsesIsNobodyElses) {
  Claim claim;
  claim.job = ProcessId{.pid = 7};
  const Snapshot host =
      SnapshotBuilder().gpu("A", 24_GiB).used(2_GiB).process(7, "ann", 2_GiB).build();
  const Snapshot seen = without_run_of(claim, host);
  EXPECT_THAT(seen.gpu_processes, testing::IsEmpty());
  EXPECT_EQ(seen.devices.at(0).memory_used, Reading<Bytes>(0_B));
}

TEST(Inside, WhatRunsInTheOuterRunsContainerOrBelowItsJobIsNobodyElses) {
  Claim claim;
  claim.job = ProcessId{.pid = 7};
  claim.container = std::string(64, 'a');
  Snapshot host = SnapshotBuilder()
                      .gpu("A", 24_GiB)
                      .process(8, "ann", 2_GiB)
                      .process(9, "ann", 2_GiB)
                      .process(10, "bob", 2_GiB)
                      .build();
  host.processes[0].ancestors = {7, 1};
  host.processes[1].enclosure = Enclosure{.runtime = "docker", .id = claim.container};
  host.processes[2].enclosure = Enclosure{.runtime = "docker", .id = std::string(64, 'b')};
  const Snapshot seen = without_run_of(claim, host);
  ASSERT_THAT(seen.gpu_processes, testing::SizeIs(1));
  EXPECT_EQ(seen.gpu_processes[0].pid, 10);
}

TEST(Inside, WhatTheOuterRunIsFoundToUseOnlyAfterWeBeganIsItsOwnToo) {
  const TemporaryDirectory folder;
  FakeClock clock;
  auto outer = Ledger::open({.directory = folder / "l", .kind = LedgerPlace::Kind::named}, clock);
  ASSERT_TRUE(outer);
  auto lease = [&] {
    const auto lock = outer->lock(std::chrono::seconds(1));
    return outer->claim(*lock, {.devices = {{DeviceId("A"), {}}}});
  }();
  ASSERT_TRUE(lease);
  TakeSnapshot look = [&]() -> Result<Snapshot> {
    EXPECT_TRUE(lease->describe({.keeper = ProcessId{.pid = 50}, .job = ProcessId{.pid = 7}}));
    return SnapshotBuilder().gpu("A", 24_GiB).used(2_GiB).process(7, "ann", 2_GiB).build();
  };
  AcquireOptions options;
  const auto inside = enter_outer_lease(*outer, lease->id(), clock, options, look);
  ASSERT_TRUE(inside && inside->has_value());
  EXPECT_THAT(look()->gpu_processes, testing::IsEmpty());
}

TEST(RunOptions, CountADeviceFileOfEveryKindAsOpen) {
  EXPECT_THAT(RunOptions{}.device_files,
              testing::IsSupersetOf({"/dev/nvidia", "/dev/kfd", "/dev/dxg", "/dev/davinci"}));
}

/// The group's counter of kills is a file of our own here. The job itself counts it up, as the
/// kernel would while the job runs.
class MemoryKillsOfARun : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto groups = read_file("/proc/self/cgroup", 1 << 16);
    const auto group = groups ? memory_group(*groups) : std::nullopt;
    if (!group) GTEST_SKIP() << "this process is in no control group that counts memory";
    counter_ = folder_ / "sys/fs/cgroup" + *group;
    std::filesystem::create_directories(std::filesystem::path(counter_).parent_path());
    std::ofstream(counter_) << "oom 0\noom_kill 3\n";
  }

  /// The kinds of the events of a run of `sh -c script`, with $1 the counter.
  std::vector<std::string> events_after(const std::string& script, const MemoryJudge& judge = {}) {
    const RunOptions options{.job = {.command = {"/bin/sh", "-c", script, "sh", counter_},
                                     .request = {},
                                     .where = RunWhere::cpu},
                             .limits = {},
                             .environment = {"PATH=/usr/bin:/bin"},
                             .working_directory = folder_.path(),
                             .state_directory = folder_ / "state",
                             .sys = folder_ / "sys"};
    run_in_a_child(options, judge);
    std::vector<std::string> kinds;
    const auto runs = list_runs(options.state_directory);
    if (!runs || runs->runs.empty()) return {"no record"};
    const RunRecord& run = runs->runs.front();
    for (const RunEvent& event : events_of(run)) kinds.push_back(event.kind);
    if (run.end && run.end->known) kinds.push_back("exit " + std::to_string(run.end->exit.code));
    return kinds;
  }

  /// A launcher gives its input and output to the job, which are the test program's here.
  static void run_in_a_child(const RunOptions& options, const MemoryJudge& judge) {
    const auto child = fork_process([&] {
      SystemClock clock;
      const auto outcome = run_job(
          options, {.clock = clock, .look = {}, .faults = {}, .sight = {}, .memory = judge}, {});
      return outcome ? 0 : 1;
    });
    ASSERT_TRUE(child);
    const auto ended = reap(*child);
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->code, 0) << "the run was not to be had";
  }

  TemporaryDirectory folder_;
  std::string counter_;
};

TEST_F(MemoryKillsOfARun, AreWrittenDownWhereItEndedBadly) {
  EXPECT_THAT(events_after("echo oom_kill 5 > \"$1\"; exit 1"), Contains("oom_kill"));
}

TEST_F(MemoryKillsOfARun, AreNobodysWhereItEndedWellOrNoneWasCounted) {
  EXPECT_THAT(events_after("exit 1"), Not(Contains("oom_kill")));
  EXPECT_THAT(events_after("echo oom_kill 5 > \"$1\""), Not(Contains("oom_kill")));
}

TEST_F(MemoryKillsOfARun, AMistakeInTheJudgeCostsNoExitCode) {
  const auto mistaken = [](const RunRecord&) -> std::optional<Sentence> { throw std::bad_alloc(); };
  EXPECT_EQ(memory_verdict(mistaken, {}), std::nullopt);
  EXPECT_THAT(events_after("exit 3", mistaken),
              testing::AllOf(Contains("exit 3"), Not(Contains("keeper_killed"))));
  EXPECT_THAT(events_after("exit 1", [](auto&) { return sentence("its memory was used up"); }),
              Contains(std::string(out_of_gpu_memory_event)));
}

TEST(Packages, AreReadFromTheirDirectoriesNames) {
  using Package = std::pair<std::string, std::string>;
  EXPECT_EQ(package_from_directory("torch-2.3.1+cu121.dist-info"),
            std::optional(Package("torch", "2.3.1+cu121")));
  EXPECT_EQ(package_from_directory("numpy-1.24.2-py3.11.egg-info"),
            std::optional(Package("numpy", "1.24.2")));
  EXPECT_FALSE(package_from_directory("torch"));
}

}  // namespace
}  // namespace berth

#include "view/process_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "snapshot/json.h"
#include "view/example_server.h"
#include "view/process_rows.h"

namespace berth {
namespace {

using namespace literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

HostProcess& process(Snapshot& host, pid_t pid) {
  for (HostProcess& one : host.processes) {
    if (one.id.pid == pid) return one;
  }
  ADD_FAILURE() << "no process " << pid;
  return host.processes.front();
}

HostProcess& parent(Snapshot& host, pid_t pid, const std::string& command) {
  HostProcess& one = host.processes.emplace_back();
  one.id = {.pid = pid, .start_ticks = 1};
  one.user = std::string("alice");
  one.command = std::vector<std::string>{command};
  return one;
}

TEST(ProcessList, SaysWhoEachProcessIsAndWhatItCosts) {
  Snapshot host = example::server();
  process(host, 4711).cpu_time = Milliseconds(7380 * 2000);
  process(host, 4711).memory_resident = 3_GiB;
  process(host, 4711).state = std::string("R");
  const std::string text = render_process_list(host, {.width = 160});
  EXPECT_THAT(text,
              HasSubstr("4711 alice C     2h03m R     200% 3.0G   52.0G 20251009-081000-k3f9q2"));
  EXPECT_THAT(text, HasSubstr("/home/alice/venv/bin/python train.py --lr 3e-4"));
  EXPECT_THAT(text, HasSubstr("20251009-081000-k3f9q2"));  // its run
}

TEST(ProcessList, EachLoadOfAProcessHasItsColumnWhereTheCommandStaysWhole) {
  Snapshot host = example::server();
  GpuProcess& use = host.gpu_processes.front();
  use.utilization_sm = 91_percent;
  use.utilization_memory = 43_percent;
  use.utilization_encoder = 7_percent;
  use.utilization_decoder = Absent::unsupported;
  const std::string wide = render_process_list(host, {.width = 200}, {});
  EXPECT_THAT(wide, HasSubstr("GPU mem  SM Mem% Enc "));
  EXPECT_THAT(wide, HasSubstr(" 91%  43%  7% "));
  EXPECT_THAT(wide, Not(HasSubstr(" Dec "))) << "nobody's is known";
  EXPECT_THAT(render_process_list(host, {.width = 80}, {}), Not(HasSubstr("Mem%")));
}

TEST(ProcessList, ContainerStandsUnderItsNameOrElseItsId) {
  Snapshot host = example::server();
  HostProcess& one = process(host, 5100);
  one.container = std::string("docker 1a2b3c4d5e6f");
  one.enclosure = Enclosure{.runtime = "docker", .id = "1a2b3c4d5e6f", .name = std::string("gpt")};
  EXPECT_THAT(render_process_list(host, {.width = 160}), HasSubstr("docker gpt "));
  EXPECT_THAT(process_list_json(host), HasSubstr("\"name\": \"gpt\""));
  one.enclosure->name = Absent::no_permission;
  EXPECT_THAT(render_process_list(host, {.width = 160}), HasSubstr("docker 1a2b3c4d5e6f "));
  EXPECT_THAT(process_list_json(host), HasSubstr("\"name\": \"no permission\""));
}

TEST(ProcessList, FitsAnyWidthAndWritesNothingRaw) {
  Snapshot host = example::server();
  process(host, 5100).command = std::vector<std::string>{"\033[2Jevil", "\xff\xfe", "名前"};
  for (const int width : {20, 40, 80, 200}) {
    for (const bool tree : {false, true}) {
      const std::string text =
          render_process_list(host, {.width = width, .utf8 = true}, {.user = {}, .tree = tree});
      for (const std::string_view line : split(text, '\n')) {
        EXPECT_LE(display_width(line), width) << line;
        EXPECT_EQ(printable(line), line);
      }
    }
  }
}

TEST(ProcessList, EndedProcessThatHoldsMemoryIsCalledGone) {
  Snapshot host = example::server();
  HostProcess& ended = process(host, 5100);
  ended.user = ended.state = Absent::failed;
  ended.command = Absent::failed;
  ended.uid = Absent::failed;
  host.host.process_view = std::string("whole");
  const std::string text = render_process_list(host, {.width = 120});
  EXPECT_THAT(text, HasSubstr("(ended; its memory is still held)"));
  EXPECT_THAT(text, HasSubstr("! 1 listed by the driver have ended and still hold memory"));
}

TEST(ProcessList, WhoKeepsTheDeviceOfAnEndedProcessOpenIsNamed) {
  for (const char* state : {"", "Z"}) {
    Snapshot host = example::server();
    host.devices[3].minor_number = std::uint64_t{3};
    HostProcess& ended = process(host, 5100);
    ended.state = std::string(state);
    if (*state == 0) ended.user = ended.state = Absent::failed;
    host.host.process_view = std::string("whole");
    parent(host, 777, "loader");
    host.device_files = DeviceFiles{.holders = {{777, 3}}, .unreadable = 0};
    const std::string text = render_process_list(host, {.width = 120});
    EXPECT_THAT(text, HasSubstr("GPU 3: held by processes that have ended"));
    EXPECT_THAT(text, HasSubstr("777 (alice) has the device open: loader"));
    const std::string json = process_list_json(host);
    EXPECT_THAT(json.substr(0, json.find("\"unexplained\"")), HasSubstr("\"has_device_open\": ["));
    EXPECT_THAT(json, HasSubstr("\"loader\""));
    host.device_files = DeviceFiles{.holders = {}, .unreadable = 12};
    EXPECT_THAT(render_process_list(host, {.width = 120}),
                HasSubstr("12 processes could not be looked into"));
    host.device_files = DeviceFiles{.holders = {}, .unreadable = 1};
    EXPECT_THAT(render_process_list(host, {.width = 120}),
                HasSubstr("one process could not be looked into; root sees it"));
  }
}

TEST(ProcessList, ContainerSaysThatItCannotTell) {
  Snapshot host = example::server();
  HostProcess& outside = process(host, 5100);
  outside.user = Absent::failed;
  outside.command = Absent::failed;
  host.host.process_view = std::string("namespace");
  const std::string text = render_process_list(host, {.width = 120});
  EXPECT_THAT(text, HasSubstr("(outside this container)"));
  EXPECT_THAT(text, HasSubstr("--pid=host"));
  EXPECT_THAT(text, Not(HasSubstr("have ended")));
}

TEST(ProcessList, WhereNobodyKnowsWhetherAllAreSeenNobodyIsCalledGone) {
  Snapshot host = example::server();
  HostProcess& unseen = process(host, 5100);
  unseen.user = unseen.state = Absent::failed;
  unseen.command = Absent::failed;
  unseen.uid = Absent::failed;
  host.host.process_view = Absent::failed;
  const std::string text = render_process_list(host, {.width = 120});
  EXPECT_THAT(text, HasSubstr("(not visible from here)"));
  EXPECT_THAT(text, Not(HasSubstr("have ended")));
}

TEST(ProcessList, ProcessesThatProcHidesAreSaidAndNotCalledGone) {
  Snapshot host = example::server();
  HostProcess& hidden = process(host, 5100);
  hidden.user = hidden.state = Absent::no_permission;
  hidden.uid = Absent::no_permission;
  hidden.command = Absent::no_permission;
  hidden.executable_name = Absent::no_permission;
  const std::string text = render_process_list(host, {.width = 120});
  EXPECT_THAT(text, HasSubstr("(not visible from here)"));
  EXPECT_THAT(text, HasSubstr("! 1 of other users cannot be looked into"));
  EXPECT_THAT(text, Not(HasSubstr("have ended")));
  EXPECT_THAT(process_list_json(host), HasSubstr("\"presence\": \"hidden\""));
}

TEST(ProcessList, ProcessStuckInTheKernelIsSaid) {
  Snapshot host = example::server();
  process(host, 4802).state = std::string("D");
  // One look at a process that reads from a disk shows that, too.
  EXPECT_THAT(render_process_list(host, {.width = 120}), Not(HasSubstr("no signal reaches")));
  EXPECT_THAT(process_list_json(host), Not(HasSubstr("\"presence\": \"stuck\"")));
  process(host, 4802).stuck = true;
  EXPECT_THAT(render_process_list(host, {.width = 120}),
              HasSubstr("one waits in the kernel (state D): no signal reaches it"));
  EXPECT_THAT(process_list_json(host), HasSubstr("\"presence\": \"stuck\""));
  const auto again = snapshot_from_json(to_json(host, JsonLayout::compact));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->processes, host.processes);
}

TEST(ProcessList, MemoryOfNobodyNamesWhoHasTheDeviceOpen) {
  Snapshot host = example::server();
  Device& held = host.devices[4];  // 36 GiB and no process
  held.minor_number = std::uint64_t{6};
  parent(host, 777, "jupyter-lab");
  host.device_files = DeviceFiles{.holders = {{777, 6}, {4711, 0}}, .unreadable = 0};
  const std::string text = render_process_list(host, {.width = 120});
  EXPECT_THAT(text, HasSubstr("GPU 4: 36.0 GiB held by no process"));
  EXPECT_THAT(text, HasSubstr("777 (alice) has the device open: jupyter-lab"));
  host.device_files = DeviceFiles{.holders = {}, .unreadable = 12};
  EXPECT_THAT(render_process_list(host, {.width = 120}), HasSubstr("12 processes could not"));
}

TEST(ProcessList, TheFileOfAnotherMakersCardOfTheSameNumberIsNotIts) {
  constexpr const char* verdict = "nobody has it open: the driver has not given it back";
  Snapshot host = example::server();
  host.host.process_view = std::string("whole");
  Device& held = host.devices[4];
  held.minor_number = std::uint64_t{6};
  held.kind = DeviceKind::amd_gpu;
  parent(host, 777, "jupyter-lab");
  const auto told = [&](const std::string& card_file) {
    host.device_files = DeviceFiles{.holders = {{777, 6, card_file}}, .unreadable = 0};
    return render_process_list(host, {.width = 120});
  };
  EXPECT_THAT(told("/dev/dri/renderD"), HasSubstr("777 (alice) has the device open"));
  EXPECT_THAT(told(""), HasSubstr(verdict)) << "that is an NVIDIA card's";
  held.kind = DeviceKind::tenstorrent;
  EXPECT_THAT(told(""),
              AllOf(HasSubstr("who has it open was not found out"), Not(HasSubstr(verdict))));
}

TEST(ProcessList, WhereNobodyCouldLookNobodyIsNotSaidToHaveItOpen) {
  constexpr const char* verdict = "nobody has it open: the driver has not given it back";
  Snapshot host = example::server();
  host.devices[4].minor_number = std::uint64_t{6};
  host.device_files = DeviceFiles{.holders = {}, .unreadable = 0};
  host.host.process_view = std::string("whole");
  EXPECT_THAT(render_process_list(host, {.width = 200}), HasSubstr(verdict));
  host.host.process_view = std::string("namespace");
  const std::string contained = render_process_list(host, {.width = 200});
  EXPECT_THAT(contained, HasSubstr("Processes outside could not be looked into"));
  EXPECT_THAT(contained, Not(HasSubstr(verdict)));
  host.host.process_view = std::string("whole");
  host.device_files = DeviceFiles{.holders = {}, .unreadable = Absent::no_permission};
  const std::string hidden = render_process_list(host, {.width = 200});
  EXPECT_THAT(hidden, HasSubstr("could not be looked into: /proc hides them"));
  EXPECT_THAT(hidden, Not(HasSubstr(verdict)));
  EXPECT_THAT(process_list_json(host), HasSubstr("\"unreadable_processes\": null"));
  host.device_files = DeviceFiles{.holders = {}, .unreadable = Absent::failed};
  const std::string uncounted = render_process_list(host, {.width = 200});
  EXPECT_THAT(uncounted, HasSubstr("who has it open was not found out: reading it failed"));
  EXPECT_THAT(uncounted, Not(HasSubstr(verdict)));
  host.device_files = Absent::not_sampled;
  host.simulated = "faults";
  const std::string simulated = render_process_list(host, {.width = 200});
  EXPECT_THAT(simulated, HasSubstr("the server is simulated: there is no device file"));
  EXPECT_THAT(simulated, Not(HasSubstr("was not found out")));
  host.simulated.reset();
  host.device_files = DeviceFiles{.holders = {}, .unreadable = 0};
  host.devices[4].minor_number = Absent::unsupported;
  const std::string numberless = render_process_list(host, {.width = 200});
  EXPECT_THAT(numberless, HasSubstr("the number of its device file is not known"));
  EXPECT_THAT(numberless, Not(HasSubstr(verdict)));
  EXPECT_THAT(process_list_json(host), HasSubstr("\"has_device_open\": null"));
}

TEST(ProcessList, MemoryOfNobodyOnAnInstanceIsSaid) {
  Snapshot host = example::server();
  Device& card = host.devices[6];
  Device& instance = host.devices[8];  // the second of two
  card.minor_number = instance.minor_number = std::uint64_t{6};
  instance.partition = Partition{2, 0};
  instance.memory_used = 8_GiB;
  parent(host, 777, "loader");
  // 6001 is on the card's other instance.
  host.device_files = DeviceFiles{.holders = {{777, 6}, {6001, 6}}, .unreadable = 0};
  const std::string text = render_process_list(host, {.width = 120});
  EXPECT_THAT(text, HasSubstr("GPU 6:2/0: 8.0 GiB held by no process"));
  EXPECT_THAT(text, HasSubstr("777 (alice) has the device open: loader"));
  EXPECT_THAT(text, Not(HasSubstr("6001 (")));
  EXPECT_THAT(process_list_json(host), HasSubstr("\"device\": \"MIG-6a-2\""));
}

TEST(ProcessList, TreeStandsUnderItsParents) {
  Snapshot host = example::server();
  parent(host, 4000, "bash");
  parent(host, 4001, "torchrun").ancestors = {4000, 1};
  process(host, 4711).ancestors = {4001, 4000, 1};
  process(host, 4802).ancestors = {4001, 4000, 1};
  const std::string text =
      render_process_list(host, {.width = 160, .utf8 = true}, {.user = {}, .tree = true});
  const auto at = [&](const std::string& part) { return text.find(part); };
  EXPECT_THAT(text, HasSubstr("└─ torchrun"));
  EXPECT_THAT(text, HasSubstr("   ├─ /home/alice/venv/bin/python"));
  EXPECT_THAT(text, HasSubstr("   └─ python serve.py"));
  EXPECT_LT(at("bash"), at("torchrun"));
  EXPECT_LT(at("torchrun"), at("train.py"));
}

TEST(ProcessList, TreeOfAFileThatGoesInCirclesShowsEverybody) {
  Snapshot host = example::server();
  process(host, 4711).ancestors = {4802};
  process(host, 4802).ancestors = {4711};
  process(host, 5100).ancestors = {5100};
  HostProcess& nobody = parent(host, 0, "nobody");
  nobody.ancestors = {0};
  host.gpu_processes.push_back({.device = DeviceId("GPU-3d"), .pid = 0});
  const std::string text = render_process_list(host, {.width = 160}, {.user = {}, .tree = true});
  for (const char* shown : {"train.py", "serve.py", "a.out", "nobody"}) {
    EXPECT_THAT(text, HasSubstr(shown));
  }
}

TEST(ProcessList, NobodySeenWhereNobodyCouldBeIsNotCalledNobody) {
  Snapshot host = example::devices();
  host.devices[0].process_count = Absent::failed;
  EXPECT_THAT(render_process_list(host, {}), HasSubstr("could not be read"));
  EXPECT_THAT(render_process_list(host, {}, {.user = "bob", .tree = false}),
              HasSubstr("could not be read"));
}

TEST(ProcessList, OneUserAlone) {
  const std::string text =
      render_process_list(example::server(), {.width = 120}, {.user = "bob", .tree = false});
  EXPECT_THAT(text, HasSubstr("serve.py"));
  EXPECT_THAT(text, Not(HasSubstr("train.py")));
  EXPECT_THAT(render_process_list(example::server(), {}, {.user = "nobody", .tree = false}),
              HasSubstr("nobody has no process on any device."));
}

TEST(ProcessList, SimulatedIsMarked) {
  Snapshot host = example::server();
  host.simulated = "lab";
  EXPECT_THAT(render_process_list(host, {}), HasSubstr("SIMULATED lab"));
  EXPECT_THAT(process_list_json(host), HasSubstr("\"simulated\": \"lab\""));
}

TEST(ProcessList, JsonJoinsWhatASnapshotHasApart) {
  Snapshot host = example::server();
  const std::string json = process_list_json(host, {.user = "bob", .tree = false});
  EXPECT_THAT(json, HasSubstr("\"pid\": 4802"));
  EXPECT_THAT(json, HasSubstr("\"run\": \"20251009-081100-k3f9q2\""));
  EXPECT_THAT(json, HasSubstr("\"presence\": \"alive\""));
  EXPECT_THAT(json, Not(HasSubstr("4711")));
}

TEST(CpuShare, IsTimeOverAgeOrAbsent) {
  HostProcess one;
  one.started = WallTime{1000};
  EXPECT_EQ(cpu_share(one, WallTime{3000}), Reading<Percent>(one.cpu_time.why()));
  one.cpu_time = Milliseconds(1000);
  EXPECT_EQ(cpu_share(one, WallTime{3000}), Reading<Percent>(50_percent));
  EXPECT_FALSE(cpu_share(one, WallTime{1000}).has_value());  // no age yet: never a division by it
}

TEST(DeviceFilesJson, ComesBackAsItWas) {
  Snapshot host = example::server();
  host.device_files = DeviceFiles{.holders = {{777, 6}}, .unreadable = 12};
  host.host.process_view = std::string("namespace");
  auto again = snapshot_from_json(to_json(host, JsonLayout::compact));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->device_files, host.device_files);
  Snapshot hiding = host;
  hiding.device_files = DeviceFiles{.holders = {{777, 6}}, .unreadable = Absent::no_permission};
  const auto hidden = snapshot_from_json(to_json(hiding, JsonLayout::compact));
  ASSERT_TRUE(hidden.has_value());
  EXPECT_EQ(hidden->device_files, hiding.device_files);
  EXPECT_EQ(again->host.process_view, host.host.process_view);
}

}  // namespace
}  // namespace berth

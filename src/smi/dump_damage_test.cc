// Dumps that tell less than all, or that editors, shells and people have been at.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smi/dump.h"
#include "smi/fixed_source_test.h"
#include "snapshot/questions.h"

namespace berth::smi::damage_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

Snapshot read(std::string_view text, std::string_view phase = {}) {
  auto snapshot = snapshot_from_dump(text, phase);
  EXPECT_TRUE(snapshot.has_value()) << snapshot.error().message();
  return snapshot ? *snapshot : Snapshot{};
}

std::string mistake_in(std::string_view text) {
  const auto snapshot = snapshot_from_dump(text, {});
  return snapshot ? std::string("none") : snapshot.error().message();
}

std::string replaced(std::string text, std::string_view from, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += by.size()) {
    text.replace(at, from.size(), by);
  }
  return text;
}

/// Lines of the capture of an RTX 2080 SUPER, driver 595.71.05, under load.
const std::string head = R"(
==============NVSMI LOG==============

Timestamp                                              : Wed Jun 24 10:26:49 2026
Driver Version                                         : 595.71.05
CUDA Version                                           : 13.2

Attached GPUs                                          : 1
GPU 00000000:0C:00.0
)";
const std::string memory =
    R"(    Product Name                                       : NVIDIA GeForce RTX 2080 SUPER
    GPU Virtualization Mode
        Virtualization Mode                            : None
    GPU UUID                                           : GPU-00000000
    FB Memory Usage
        Total                                          : 8192 MiB
        Reserved                                       : 408 MiB
        Used                                           : 819 MiB
        Free                                           : 6967 MiB
)";
const std::string processes = R"(    Processes
        GPU instance ID                                : N/A
        Compute instance ID                            : N/A
        Process ID                                     : 5267
            Type                                       : C
            Name                                       : ffmpeg
            Used GPU Memory                            : 230 MiB
)";
const std::string whole = head + memory + processes;

// --- who is on it --------------------------------------------------------------------------------

TEST(DumpProcesses, WithoutTheSectionNobodyKnowsWhoIsThere) {
  const Snapshot host = read(head + memory);
  const Device& gpu = host.devices.at(0);
  EXPECT_EQ(gpu.process_count, Reading<std::uint64_t>(Absent::failed));
  EXPECT_EQ(unexplained_memory(gpu, host), Reading<Bytes>(Absent::failed));
  EXPECT_EQ(state_of(gpu, host), DeviceState::unknown);
  ASSERT_THAT(host.problems, SizeIs(1));
  EXPECT_EQ(host.problems[0].code, "processes_untold");
  EXPECT_THAT(host.problems[0].message.english(), HasSubstr("GPU 0"));
}

TEST(DumpProcesses, NoneInItIsNobody) {
  const Snapshot host = read(head + memory + "    Processes           : None\n");
  EXPECT_EQ(host.devices.at(0).process_count, Reading<std::uint64_t>(0));
  EXPECT_EQ(state_of(host.devices[0], host), DeviceState::held) << "memory of nobody";
  EXPECT_THAT(host.problems, IsEmpty());
  EXPECT_EQ(read(whole).devices.at(0).process_count, Reading<std::uint64_t>(1));
}

TEST(DumpProcesses, AReasonForNoneAndAListThatWasCutOffAreNotNobody) {
  for (const std::string_view said : {": N/A", ": Insufficient Permissions", ""}) {
    const Snapshot host = read(head + memory + "    Processes " + std::string(said) + "\n");
    EXPECT_EQ(host.devices.at(0).process_count, Reading<std::uint64_t>(Absent::failed)) << said;
  }
}

/// The elements of -q -x of the same card.
std::string xml_with(std::string_view list) {
  return "<?xml version=\"1.0\" ?>\n<nvidia_smi_log>\n<attached_gpus>1</attached_gpus>\n"
         "<gpu id=\"00000000:0C:00.0\">\n<fb_memory_usage><total>8192 MiB</total>"
         "<used>819 MiB</used></fb_memory_usage>\n" +
         std::string(list) + "</gpu>\n</nvidia_smi_log>\n";
}

TEST(DumpProcesses, InXmlAnEmptyElementIsNobodyAndNoElementIsNotKnown) {
  EXPECT_EQ(read(xml_with("<processes>\n</processes>")).devices.at(0).process_count,
            Reading<std::uint64_t>(0));
  EXPECT_EQ(read(xml_with("")).devices.at(0).process_count, Reading<std::uint64_t>(Absent::failed));
}

TEST(DumpProcesses, OfTwoGpusTheOneThatTellsIsCounted) {
  std::string second = replaced(whole.substr(whole.find("GPU 0000")), "0C:00.0", "0D:00.0");
  const Snapshot host = read(replaced(head, ": 1\n", ": 2\n") + memory + second);
  ASSERT_THAT(host.devices, SizeIs(2));
  EXPECT_FALSE(host.devices[0].process_count.get());
  EXPECT_EQ(host.devices[1].process_count, Reading<std::uint64_t>(1));
  ASSERT_THAT(host.problems, SizeIs(1));
  EXPECT_THAT(host.problems[0].message.english(), HasSubstr("GPU 0 is"));
}

std::string part(const std::string& heading, std::string_view output) {
  const std::string rule(80, '#');
  return rule + "\n# " + heading + "\n# $ nvidia-smi\n" + rule + "\n" + std::string(output);
}

TEST(DumpProcesses, OfACaptureItsListOfComputeAppsTellsThem) {
  const std::string titles =
      "timestamp, gpu_name, gpu_bus_id, gpu_serial, gpu_uuid, pid, process_name, used_gpu_memory "
      "[MiB]\n";
  const std::string row =
      "2026/06/24 10:26:49.980, NVIDIA GeForce RTX 2080 SUPER, 00000000:0C:00.0, [N/A], "
      "GPU-00000000-0000-0000-0000-000000000000, 5268, ffmpeg, 370 MiB\n";
  const auto of = [&](const std::string& answer) {
    return read(part("load :: query (-q)", head + memory) +
                    part("load :: query-compute-apps (per-process)", answer),
                "load");
  };
  const Snapshot busy = of(titles + row + "\n");
  EXPECT_EQ(busy.devices.at(0).process_count, Reading<std::uint64_t>(1));
  ASSERT_THAT(busy.gpu_processes, SizeIs(1));
  EXPECT_EQ(busy.gpu_processes[0].pid, 5268);
  EXPECT_EQ(busy.gpu_processes[0].memory, Reading<Bytes>(Bytes(370ULL << 20)));
  EXPECT_THAT(busy.problems, IsEmpty());
  EXPECT_EQ(of(titles + "\n").devices.at(0).process_count, Reading<std::uint64_t>(0));
  EXPECT_FALSE(of("").devices.at(0).process_count.get());
  EXPECT_FALSE(of(titles + "2026/06/24 10:26:49.980, NVIDIA\n").devices.at(0).process_count.get());
}

TEST(DumpProcesses, NoSurfaceCallsAnUnknownListEmpty) {
  Fixed source(read(head + memory));
  const std::string table = run({}, source).text;
  EXPECT_THAT(table, Not(HasSubstr("No running processes found")));
  EXPECT_THAT(table, HasSubstr("|  Running processes are not known   "));
  const std::string query = run({"-q"}, source).text;
  EXPECT_THAT(query, HasSubstr("    Processes                                          : N/A\n"));
  EXPECT_FALSE(read(query).devices.at(0).process_count.get());
  EXPECT_THAT(run({"-q", "-x"}, source).text, HasSubstr("<processes>N/A</processes>"));
}

// --- its lines -----------------------------------------------------------------------------------

/// The text with as many spaces as `width` at the beginning of each line as one tab.
std::string tabbed(const std::string& text, std::size_t width) {
  std::string made;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at) + 1;
    const std::size_t spaces = text.find_first_not_of(' ', at) - at;
    made += std::string(spaces / width, '\t') + std::string(spaces % width, ' ') +
            text.substr(at + spaces, end - at - spaces);
    at = end;
  }
  return made;
}

TEST(DumpLines, WhatLostTheLineAboveItIsNothingElse) {
  const Snapshot host = read(head +
                             "    Supported Clocks\n"
                             "            Graphics : 1980 MHz\n"
                             "        Memory : 405 MHz\n"
                             "            Graphics : 300 MHz\n"
                             "    Accounted Processes\n"
                             "            Is Running : 1\n"
                             "        Process ID : 4711\n"
                             "            Is Running : 0\n");
  const Lists& lists = host.devices.at(0).lists;
  ASSERT_THAT(lists.supported_clocks.get().value(), SizeIs(1)) << "1980 MHz is of a graphics clock";
  EXPECT_EQ(lists.supported_clocks.get()->at(0).memory, Megahertz(405));
  EXPECT_THAT(lists.supported_clocks.get()->at(0).graphics, SizeIs(1));
  ASSERT_THAT(lists.accounted_processes.get().value(), SizeIs(1)) << "the 1 is no process";
  EXPECT_EQ(lists.accounted_processes.get()->at(0).pid, 4711);
}

TEST(DumpLines, TabsAreReadAsTheSpacesTheyStandFor) {
  const Snapshot plain = read(whole);
  EXPECT_EQ(read(tabbed(whole, 4)), plain) << "a tab for each level";
  EXPECT_EQ(read(tabbed(whole, 8)), plain) << "as unexpand puts them";
}

TEST(DumpLines, WithoutIndentationItIsRefused) {
  std::string flat = whole;
  while (flat.contains("\n ")) flat = replaced(flat, "\n ", "\n");
  EXPECT_THAT(mistake_in(flat), HasSubstr("have lost the spaces they began with"));
  EXPECT_THAT(mistake_in(flat), HasSubstr("nvidia-smi -q > FILE"));
  EXPECT_THAT(mistake_in(replaced(whole, "\n    ", "\n")), HasSubstr("have lost the spaces"));
}

TEST(DumpLines, MoreGpusThanAreAttachedAreRefused) {
  const std::string twice = head + memory + "GPU Power\n        Draw : 3 W\n";
  EXPECT_THAT(mistake_in(twice), HasSubstr("\"Attached GPUs : 1\" and tells of 2"));
  EXPECT_THAT(read(replaced(whole, ": 1\n", ": 8\n")).devices, SizeIs(1)) << "of -q -i 0";
}

TEST(DumpLines, WhatStandsBehindItIsNoGpu) {
  EXPECT_EQ(read(whole + "GPU 0: NVIDIA GeForce RTX 2080 SUPER (UUID: GPU-0)\n$ \n"), read(whole));
}

TEST(DumpLines, WhatStandsBeforeItIsPassedOver) {
  for (const std::string_view before :
       {"$ nvidia-smi -q\n", "\n  $ nvidia-smi -q -l\r\nWARNING: infoROM is corrupted\n\n"}) {
    EXPECT_TRUE(looks_like_dump(std::string(before) + whole));
    EXPECT_EQ(read(std::string(before) + whole), read(whole));
    EXPECT_THAT(dumps_in(std::string(before) + whole + whole), SizeIs(2));
    EXPECT_EQ(read(std::string(before) + xml_with("")), read(xml_with("")));
  }
  EXPECT_FALSE(looks_like_dump("{\"name\": \"\n==============NVSMI LOG==============\n\"}"));
  EXPECT_FALSE(looks_like_dump(std::string(1 << 17, '\n') + "x" + std::string(1 << 17, '\n') +
                               "==============NVSMI LOG"));
}

}  // namespace
}  // namespace berth::smi::damage_test

#include "smi/dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "snapshot/questions.h"

namespace berth::smi {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Snapshot read(std::string_view text, std::string_view phase = {}) {
  auto snapshot = snapshot_from_dump(text, phase);
  EXPECT_TRUE(snapshot.has_value()) << snapshot.error().message();
  return snapshot ? *snapshot : Snapshot{};
}

/// Two GPUs of driver 550 in text, SIMULATED: made up for these tests.
constexpr std::string_view two_gpus = R"(
==============NVSMI LOG==============

Timestamp                                 : Wed Feb 28 14:27:35 2024
Driver Version                            : 550.54.14
CUDA Version                              : 12.4

Attached GPUs                             : 2
GPU 00000000:01:00.0
    Product Name                          : NVIDIA Test V100
    Product Architecture                  : Volta
    GPU UUID                              : GPU-aaaa
    A Line Of The Future                  : 7 parsecs
    Clocks Event Reasons
        Idle                              : Not Active
        SW Power Cap                      : Active
        HW Slowdown                       : Active
            HW Thermal Slowdown           : Active
    FB Memory Usage
        Total                             : 16384 MiB
        Used                              : 100 MiB
    ECC Errors
        Volatile
            Single Bit
                Device Memory             : 3
                Total                     : 4
            Double Bit
                Total                     : 1
    Remapped Rows                         : N/A
    Temperature
        GPU Current Temp                  : 37 C
    GPU Power Readings
        Power Draw                        : 44.50 W
        Current Power Limit               : 300.00 W
    Processes
        GPU instance ID                   : N/A
        Compute instance ID               : N/A
        Process ID                        : 1696
            Type                          : G
            Name                          : /usr/bin/gnome-shell
            Used GPU Memory               : 176 MiB
        GPU instance ID                   : N/A
        Compute instance ID               : N/A
        Process ID                        : 5267
            Type                          : C
            Name                          : python
            Used GPU Memory               : N/A

GPU 00000000:02:00.0
    Product Name                          : NVIDIA Test V100
    GPU UUID                              : GPU-bbbb
    FB Memory Usage
        Total                             : GPU is lost
    Processes
        Process ID                        : 7000
            Type                          : C
            Name                          : ./after_the_lost_one
            Used GPU Memory               : 8 MiB

)";

TEST(DumpText, LinesBecomeReadingsOfTheirType) {
  const Snapshot host = read(two_gpus);
  ASSERT_THAT(host.devices, SizeIs(2));
  const Device& gpu = host.devices[0];
  EXPECT_EQ(gpu.id, DeviceId("GPU-aaaa"));
  EXPECT_EQ(gpu.pci_address, Reading<std::string>("00000000:01:00.0"));
  EXPECT_EQ(gpu.memory_total, Reading<Bytes>(Bytes{16384ULL << 20}));
  EXPECT_EQ(gpu.temperature, Reading<Celsius>(Celsius{37}));
  EXPECT_EQ(gpu.power_draw, Reading<Milliwatts>(Milliwatts{44'500}));
  EXPECT_EQ(gpu.power_limit, Reading<Milliwatts>(Milliwatts{300'000}));
  EXPECT_EQ(gpu.ecc_corrected, Reading<std::uint64_t>(4));
  EXPECT_EQ(gpu.ecc_uncorrected, Reading<std::uint64_t>(1));
  EXPECT_EQ(gpu.details.get<std::uint64_t>(Detail::ecc_corrected_volatile_dram),
            Reading<std::uint64_t>(3));
  EXPECT_EQ(gpu.throttle_reasons, Reading<ClockReasons>(ClockReasons(0x4c)));
  EXPECT_EQ(gpu.details.get<std::uint64_t>(Detail::throttle_supported),
            Reading<std::uint64_t>(0x4d));
  EXPECT_EQ(gpu.details.cell(Detail::remapped_rows_pending), Cell(Absent::unsupported));
  EXPECT_EQ(gpu.details.cell(Detail::remap_banks_max), Cell(Absent::not_sampled));
  EXPECT_EQ(gpu.memory_free, Reading<Bytes>(Absent::not_sampled)) << "nobody said";
  EXPECT_EQ(host.host.software_of(Runtime::cuda).driver, Reading<std::string>("550.54.14"));
  EXPECT_EQ(host.taken, WallTime{1'709'130'455'000});
}

TEST(DumpText, LostGpuHidesNeitherTheNextNorItsProcesses) {
  const Snapshot host = read(two_gpus);
  EXPECT_FALSE(host.devices[0].lost);
  EXPECT_TRUE(host.devices[1].lost);
  EXPECT_EQ(host.devices[1].memory_total, Reading<Bytes>(Absent::failed));
  EXPECT_THAT(processes_on(host.devices[0].id, host), SizeIs(2));
  ASSERT_THAT(processes_on(host.devices[1].id, host), SizeIs(1));
  EXPECT_EQ(host.gpu_processes[0].use, GpuUse::graphics);
  EXPECT_EQ(host.gpu_processes[1].memory, Reading<Bytes>(Absent::unsupported));
  EXPECT_EQ(find_process(7000, host)->command,
            Reading<std::vector<std::string>>({"./after_the_lost_one"}));
  ASSERT_THAT(host.problems, SizeIs(1));
  EXPECT_EQ(host.problems[0].code, "device_lost");
}

TEST(DumpText, ACardThatMustBeResetIsNoCardToBeUsed) {
  std::string text(two_gpus);
  const std::string lost = "GPU is lost";
  text.replace(text.find(lost), lost.size(), "GPU requires reset");
  const Snapshot host = read(text);
  EXPECT_FALSE(host.devices[1].lost);
  EXPECT_EQ(host.devices[1].unusable_because, Unusable::must_be_reset);
  EXPECT_EQ(host.devices[1].memory_total, Reading<Bytes>(Absent::failed));
}

/// Driver 530 in XML, with names that later drivers changed; SIMULATED.
constexpr std::string_view xml_530 = R"(<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
	<timestamp>Mon Aug  7 11:10:06 2023</timestamp>
	<driver_version>530.30.02</driver_version>
	<cuda_version>12.1</cuda_version>
	<attached_gpus>1</attached_gpus>
	<gpu id="00000000:84:00.0">
		<product_name>Test &amp; Sons</product_name>
		<uuid>GPU-cccc</uuid>
		<mig_mode><current_mig>Enabled</current_mig><pending_mig>Enabled</pending_mig></mig_mode>
		<mig_devices>
			<mig_device>
				<index>0</index>
				<gpu_instance_id>2</gpu_instance_id>
				<compute_instance_id>0</compute_instance_id>
				<device_attributes><shared>
					<multiprocessor_count>42</multiprocessor_count>
				</shared></device_attributes>
				<fb_memory_usage><total>20096 MiB</total><used>17 MiB</used></fb_memory_usage>
			</mig_device>
		</mig_devices>
		<clocks_throttle_reasons>
			<clocks_throttle_reason_gpu_idle>Active</clocks_throttle_reason_gpu_idle>
		</clocks_throttle_reasons>
		<power_readings>
			<power_state>P8</power_state>
			<power_draw>23.10 W</power_draw>
			<power_limit>450.00 W</power_limit>
			<enforced_power_limit>440.00 W</enforced_power_limit>
		</power_readings>
		<retired_pages>
			<double_bit_retirement>
				<retired_count>1</retired_count>
				<retired_pagelist><retired_page>
					<retired_page_address>0x000000000005c4cf</retired_page_address>
				</retired_page></retired_pagelist>
			</double_bit_retirement>
		</retired_pages>
		<supported_clocks>
			<supported_mem_clock><value>405 MHz</value>
				<supported_graphics_clock>645 MHz</supported_graphics_clock>
			</supported_mem_clock>
		</supported_clocks>
		<processes>
			<process_info>
				<gpu_instance_id>2</gpu_instance_id>
				<compute_instance_id>0</compute_instance_id>
				<pid>77</pid><type>C</type>
				<process_name>python &lt;train&gt;</process_name>
				<used_memory>9 MiB</used_memory>
			</process_info>
		</processes>
	</gpu>
</nvidia_smi_log>
)";

TEST(DumpXml, OldNamesAreTheSameReadings) {
  const Snapshot host = read(xml_530);
  const Device& gpu = host.devices.at(0);
  EXPECT_EQ(gpu.name, Reading<std::string>("Test & Sons"));
  EXPECT_EQ(gpu.power_draw, Reading<Milliwatts>(Milliwatts{23'100}));
  EXPECT_EQ(gpu.power_limit, Reading<Milliwatts>(Milliwatts{440'000}));
  EXPECT_EQ(gpu.details.get<Milliwatts>(Detail::power_limit_requested),
            Reading<Milliwatts>(Milliwatts{450'000}));
  EXPECT_EQ(gpu.throttle_reasons, Reading<ClockReasons>(ClockReasons(1)));
}

TEST(DumpXml, ListsAndInstancesAreRead) {
  const Snapshot host = read(xml_530);
  ASSERT_THAT(host.devices, SizeIs(2));
  const Device& gpu = host.devices[0];
  const Device& instance = host.devices[1];
  EXPECT_EQ(instance.kind, DeviceKind::nvidia_mig);
  EXPECT_EQ(instance.parent, gpu.id);
  EXPECT_EQ(instance.multiprocessors, Reading<std::uint64_t>(42));
  EXPECT_EQ(instance.memory_total, Reading<Bytes>(Bytes{20096ULL << 20}));
  ASSERT_THAT(host.gpu_processes, SizeIs(1));
  EXPECT_EQ(host.gpu_processes[0].device, instance.id);
  EXPECT_EQ(host.processes.at(0).command, Reading<std::vector<std::string>>({"python <train>"}));
  ASSERT_THAT(gpu.lists.retired_pages.get().value(), SizeIs(1));
  EXPECT_EQ(gpu.lists.retired_pages.get()->at(0).address, 0x5c4cfU);
  EXPECT_THAT(gpu.lists.supported_clocks.get().value(),
              ElementsAre(SupportedClocks{Megahertz{405}, {Megahertz{645}}}));
}

TEST(DumpXml, BrokenFilesSayWhatIsWrong) {
  const auto mistake = [](std::string_view text) {
    const auto snapshot = snapshot_from_dump(text, {});
    return snapshot ? std::string("none") : snapshot.error().message();
  };
  EXPECT_THAT(mistake("<?xml version=\"1.0\"?><nvidia_smi_log><gpu>"), HasSubstr("<gpu>"));
  EXPECT_THAT(mistake("<nvidia_smi_log></gpu>"), HasSubstr("not open"));
  EXPECT_THAT(mistake("<nvidia_smi_log></nvidia_smi_log>"), HasSubstr("no GPU"));
  std::string deep = "<nvidia_smi_log>";
  for (int i = 0; i < 100; ++i) deep += "<a>";
  EXPECT_THAT(mistake(deep), HasSubstr("deeply"));
}

TEST(Dump, MaskedUuidsDoNotMakeTwoGpusOne) {
  std::string text(two_gpus);
  text.replace(text.find("GPU-bbbb"), 8, "GPU-aaaa");
  const Snapshot host = read(text);
  EXPECT_NE(host.devices[0].id, host.devices[1].id);
  EXPECT_THAT(processes_on(host.devices[1].id, host), SizeIs(1));
}

TEST(Dump, RoundsOfALoopAreOneSnapshotEach) {
  const std::string twice = std::string(two_gpus) + std::string(two_gpus);
  EXPECT_THAT(dumps_in(twice), SizeIs(2));
  EXPECT_THAT(dumps_in(two_gpus), SizeIs(1));
  EXPECT_THAT(dumps_in(xml_530), SizeIs(1));
  EXPECT_THAT(read(twice).devices, SizeIs(2));
}

TEST(Dump, ItsSnapshotsAreThoseOfItsRoundsInTheirOrder) {
  std::string later(two_gpus);
  later.replace(later.find("37 C"), 4, "90 C");
  const auto snapshots = snapshots_in(std::string(two_gpus) + later, {});
  ASSERT_TRUE(snapshots && *snapshots);
  ASSERT_THAT(**snapshots, SizeIs(2));
  EXPECT_EQ((**snapshots)[1].devices.at(0).temperature, Reading<Celsius>(Celsius(90)));
  EXPECT_FALSE(snapshots_in("{\"berth_snapshot\": 1}", {})) << "no dump";
  const auto phase = snapshots_in(two_gpus, "nosuch");
  ASSERT_TRUE(phase && !*phase);
  EXPECT_THAT(phase->error().message(), HasSubstr("has no phase \"nosuch\""));
}

TEST(Dump, CoresAreThoseOfTheProduct) {
  std::string text(two_gpus);
  text.replace(text.find("NVIDIA Test V100"), 16, "Tesla V100-PCIE");
  const Snapshot host = read(text);
  EXPECT_EQ(host.devices.at(0).cuda_cores, Reading<std::uint64_t>(5120));
  EXPECT_EQ(host.devices.at(1).cuda_cores, Reading<std::uint64_t>()) << "of no known product";
}

TEST(Capture, PhaseChoosesTheQuery) {
  const std::string rule(80, '#');
  std::string busy(two_gpus);
  busy.replace(busy.find("37 C"), 4, "90 C");
  const std::string capture = rule + "\n# a collector\n" + rule + "\n" + rule +
                              "\n# idle :: query (-q)\n# $ nvidia-smi -q\n" + rule +
                              std::string(two_gpus) + rule +
                              "\n# load :: query (-q)\n# $ nvidia-smi -q\n" + rule + busy;
  EXPECT_TRUE(looks_like_dump(capture));
  EXPECT_EQ(read(capture, "idle").devices.at(0).temperature, Reading<Celsius>(Celsius{37}));
  EXPECT_EQ(read(capture, "load").devices.at(0).temperature, Reading<Celsius>(Celsius{90}));
  EXPECT_EQ(read(capture).devices.at(0).temperature, Reading<Celsius>(Celsius{37}));
  EXPECT_EQ(snapshot_from_dump(capture, "boot").error().code(), ErrorCode::not_found);
}

TEST(Capture, ListGivesInstancesTheirNamesAndUuids) {
  const std::string rule(80, '#');
  const std::string capture = rule + "\n# capabilities :: list (-L)\n# $ nvidia-smi -L\n" + rule +
                              "\nGPU 0: Test (UUID: GPU-cccc)\n" +
                              "  MIG 2g.20gb     Device  0: (UUID: MIG-dddd)\n" + rule +
                              "\n# idle :: query (-q -x)\n# $ nvidia-smi -q -x\n" + rule + "\n" +
                              std::string(xml_530);
  const Snapshot host = read(capture);
  ASSERT_THAT(host.devices, SizeIs(2));
  EXPECT_EQ(host.devices[1].name, Reading<std::string>("Test & Sons MIG 2g.20gb"));
  EXPECT_EQ(host.devices[1].uuid, Reading<std::string>("MIG-dddd"));
}

/// A section of a capture file.
std::string part(const std::string& heading, std::string_view output) {
  const std::string rule(80, '#');
  return rule + "\n# " + heading + "\n# $ nvidia-smi\n" + rule + "\n" + std::string(output);
}

constexpr std::string_view busy_card = R"(
==============NVSMI LOG==============

Driver Version                                         : 595.80
Attached GPUs                                          : 1
GPU 00000000:01:00.0
    Product Name                                       : NVIDIA L40S
    Processes
        Process ID                                     : 20037
            Type                                       : C
            Name                                       : /usr/bin/ffmpeg
            Used GPU Memory                            : 538 MiB
        Process ID                                     : 20038
            Type                                       : C
            Name                                       : [Not Found]
            Used GPU Memory                            : 681 MiB
)";

TEST(Capture, FirstRoundOfPmonTellsWhatEachProcessDoes) {
  const std::string capture =
      part("load :: query (-q)", busy_card) + part("load :: pmon (per-process monitor)", R"(
# gpu         pid   type     sm    mem    enc    dec    jpg    ofa    command 
# Idx           #    C/G      %      %      %      %      %      %    name 
    0      20037     C      2      0     24      -      -      -    ffmpeg         
    0      20038     C      -      -      -      -      -      -    a b c          
    0      20037     C     99      9     27      -      -      -    ffmpeg         
    0      20038     C      5      0     34      -      -      -    a b c          
    0      99999     C    101      0      -      -      -      -    stranger       
)");
  const Snapshot host = read(capture);
  ASSERT_THAT(host.gpu_processes, SizeIs(2));
  EXPECT_EQ(host.gpu_processes[0].utilization_sm, Reading<Percent>(Percent(2)));
  EXPECT_EQ(host.gpu_processes[0].utilization_memory, Reading<Percent>(Percent(0)));
  EXPECT_EQ(host.gpu_processes[0].utilization_encoder, Reading<Percent>(Percent(24)));
  EXPECT_EQ(host.gpu_processes[0].utilization_decoder, Reading<Percent>());
  EXPECT_EQ(host.gpu_processes[1].utilization_sm, Reading<Percent>());
}

TEST(Capture, AccountedProcessesAreThoseOfTheirQuery) {
  const std::string capture =
      part("capabilities :: help-query-accounted-apps", "\"pid\"\n") +
      part("load :: query (-q)", busy_card) +
      part("load :: query-accounted-apps",
           "timestamp, gpu_bus_id, pid, gpu_utilization [%], mem_utilization [%], "
           "max_memory_usage [MiB], time [ms]\n"
           "2026/07/03 08:33:53.671, 00000000:01:00.0, 15727, 71 %, 8 %, 0 MiB, 5270 ms\n"
           "2026/07/03 08:33:53.671, 00000000:01:00.0, 17439, [N/A], 7 %, 538 MiB, 0 ms\n"
           "2026/07/03 08:33:53.671, 00000000:02:00.0, 18679, 1 %, 1 %, 1 MiB, 1 ms\n"
           "cut off, 00000000:01:00.0\n");
  const auto accounted = read(capture).devices.at(0).lists.accounted_processes;
  ASSERT_TRUE(accounted.get());
  ASSERT_THAT(*accounted.get(), SizeIs(2));
  const AccountedProcess& first = accounted.get()->front();
  EXPECT_EQ(first.pid, 15727);
  EXPECT_EQ(first.utilization_gpu, Reading<Percent>(Percent(71)));
  EXPECT_EQ(first.run_time, Reading<Milliseconds>(Milliseconds(5270)));
  EXPECT_EQ(accounted.get()->back().utilization_gpu, Reading<Percent>(Absent::unsupported));
  EXPECT_EQ(accounted.get()->back().memory_max, Reading<Bytes>(Bytes(538ULL << 20)));
}

TEST(Capture, ProcessesAreInTheDriversOrder) {
  const std::string_view listed =
      "timestamp, gpu_name, gpu_bus_id, pid, process_name, used_gpu_memory [MiB]\n"
      "2026/06/24 10:26:49.980, NVIDIA L40S, 00000000:01:00.0, 20038, ffmpeg, 681 MiB\n"
      "2026/06/24 10:26:49.980, NVIDIA L40S, 00000000:01:00.0, 20037, a, b, 538 MiB\n"
      "2026/06/24 10:26:49.980, NVIDIA L40S, 00000000:02:00.0, 20037, ffmpeg, 538 MiB\n"
      "2026/06/24 10:26:49.980, NVIDIA L40S, 00000000:01:00.0, 99999, stranger, 1 MiB\n";
  const std::string capture = part("capabilities :: help-query-compute-apps", "\"pid\"\n") +
                              part("load :: query (-q)", busy_card) +
                              part("load :: query-compute-apps (per-process)", listed);
  const Snapshot host = read(capture);
  ASSERT_THAT(host.gpu_processes, SizeIs(2));
  EXPECT_EQ(host.gpu_processes[0].pid, 20038);
  EXPECT_EQ(host.gpu_processes[1].pid, 20037);
  const Snapshot unlisted = read(part("load :: query (-q)", busy_card) +
                                 part("load :: query-compute-apps", "not supported\n"));
  EXPECT_EQ(unlisted.gpu_processes.at(0).pid, 20037);
}

TEST(Capture, WithoutAQueryOfAccountedProcessesKnowsOfNone) {
  EXPECT_EQ(read(part("load :: query (-q)", busy_card)).devices.at(0).lists.accounted_processes,
            Reading<std::vector<AccountedProcess>>());
}

TEST(Capture, LinksAndAffinitiesAreThoseOfTheirLists) {
  const std::string capture = part("capabilities :: topo -m",
                                   "\t\x1b[4mGPU0\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA "
                                   "ID\x1b[0m\nGPU0\t X \tSYS\t0-19,40\t1\t\tN/A\n") +
                              part("capabilities :: nvlink -s",
                                   "GPU 0: NVIDIA H100 (UUID: GPU-0)\n\t Link 0: 26.562 GB/s\n"
                                   "\t Link 1: <inactive>\n\t Link x: 1\n") +
                              part("load :: query (-q)", busy_card);
  const Device gpu = read(capture).devices.at(0);
  EXPECT_EQ(gpu.details.get<std::string>(Detail::cpu_affinity), Reading<std::string>("0-19,40"));
  EXPECT_EQ(gpu.numa_node, Reading<std::uint64_t>(1));
  const auto& links = gpu.lists.nvlinks;
  ASSERT_TRUE(links.get());
  ASSERT_THAT(*links.get(), SizeIs(2));
  EXPECT_EQ(links.get()->at(0).speed, Reading<BytesPerSecond>(BytesPerSecond(26'562'000'000U)));
  EXPECT_EQ(links.get()->at(1).active, Reading<bool>(false));
  const std::string without =
      part("capabilities :: nvlink -s", "GPU 0: x\nDevice does not have or support Nvlink\n") +
      part("load :: query (-q)", busy_card);
  EXPECT_EQ(read(without).devices.at(0).lists.nvlinks,
            Reading<std::vector<NvLink>>(Absent::unsupported));
  // The captured RTX 2080 SUPER.
  const std::string asleep =
      part("capabilities :: nvlink -s",
           "GPU 0: x\nNVML: Unable to retrieve Nvlink information as all links are inActive\n") +
      part("load :: query (-q)", busy_card);
  const auto inactive = read(asleep).devices.at(0).lists.nvlinks;
  ASSERT_TRUE(inactive.get());
  ASSERT_THAT(*inactive.get(), SizeIs(1));
  EXPECT_EQ(inactive.get()->front().active, Reading<bool>(false));
}

TEST(Dump, JsonAndOtherTextsAreNone) {
  EXPECT_FALSE(looks_like_dump("{\"berth_snapshot\": 1}"));
  EXPECT_FALSE(looks_like_dump(""));
  EXPECT_FALSE(looks_like_dump("hello"));
  EXPECT_TRUE(looks_like_dump(two_gpus));
  EXPECT_TRUE(looks_like_dump(xml_530));
}

}  // namespace
}  // namespace berth::smi

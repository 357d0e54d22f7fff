#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smi/fixed_source_test.h"
#include "smi/smi.h"
#include "snapshot/builder.h"

namespace berth::smi {
namespace {

using namespace literals;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Snapshot server(std::string driver) {
  Snapshot host =
      SnapshotBuilder()
          .gpu("GPU-1", 80_GiB)
          .used(10_GiB)
          .process(42, "alice", 1_GiB)
          .with([](Device& gpu) {
            gpu.pci_address = std::string("00000000:0c:00.0");
            gpu.architecture = std::string("Hopper");
            gpu.power_draw = Milliwatts{69'850};
            gpu.details.set(Detail::power_draw_average, Reading<Milliwatts>(69'850_watts));
            gpu.details.set(Detail::bar1_total, Reading<Bytes>(256_MiB));
          })
          .build();
  host.host.software_of(Runtime::cuda).driver = std::move(driver);
  return host;
}

Output ask(const std::vector<std::string>& argv, const Snapshot& host) {
  Fixed source(host);
  return run(argv, source);
}

TEST(Query, LayoutIsOfTheDriversGeneration) {
  const std::string old = ask({"-q"}, server("535.129.03")).text;
  EXPECT_THAT(old, StartsWith("\n==============NVSMI LOG==============\n\nTimestamp"));
  EXPECT_THAT(
      old,
      HasSubstr("\n    GPU Power Readings\n        Power Draw                        : 69.85 W\n"));
  EXPECT_THAT(old, Not(HasSubstr("Deferred Power")));
  const std::string now = ask({"-q"}, server("595.80")).text;
  EXPECT_THAT(now, HasSubstr("\n    Display Mode                                       : Requested "
                             "functionality has been deprecated\n"));
  EXPECT_THAT(now, Not(HasSubstr("Voltage")));
  const std::string next = ask({"-q"}, server("610.43")).text;
  EXPECT_THAT(next, HasSubstr("KMD Version  "));
  EXPECT_THAT(next, HasSubstr("        GPU Ceiling Power Limit\n            Current Power Limit "));
}

TEST(Query, CardInNoChassisHasNoPlaceInItButAModule) {
  Snapshot host = server("595.80");
  Details& details = host.devices[0].details;
  details.set(Detail::platform_chassis_serial, Reading<std::string>(""));
  details.set(Detail::platform_slot_number, Reading<std::uint64_t>(0));
  details.set(Detail::platform_module_id, Reading<std::uint64_t>(7));
  const std::string text = ask({"-q"}, host).text;
  EXPECT_THAT(text, HasSubstr("        Slot Number                                    : N/A\n"));
  EXPECT_THAT(text, HasSubstr("        Module Id                                      : 7\n"));
  EXPECT_EQ(ask({"--query-gpu=platform.slot_number", "--format=csv,noheader"}, host).text, "0\n");
}

TEST(Query, SelectedSectionsAloneAndWithSamples) {
  Snapshot host = server("595.80");
  host.devices[0].details.set(Detail::samples_power_max, Reading<Milliwatts>(70_watts));
  const std::string text = ask({"-q", "-d", "power"}, host).text;
  EXPECT_THAT(text, HasSubstr("    Power Samples\n        Duration "));
  EXPECT_THAT(text,
              HasSubstr("        Max                                            : 70.00 W\n"));
  EXPECT_THAT(text, Not(HasSubstr("Product Name")));
  EXPECT_THAT(text, Not(HasSubstr("Temperature")));
  EXPECT_THAT(ask({"-q"}, host).text, Not(HasSubstr("Power Samples")));
}

TEST(Query, XmlAndJsonAreOneTree) {
  const Snapshot host = server("595.80");
  const std::string xml = ask({"-q", "-x"}, host).text;
  EXPECT_THAT(xml, HasSubstr("<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v13.dtd\">"));
  EXPECT_THAT(xml, HasSubstr("\t<gpu id=\"00000000:0C:00.0\">\n"));
  EXPECT_THAT(xml, HasSubstr("\t\t\t<total>81920 MiB</total>\n"));
  EXPECT_THAT(xml, HasSubstr("\t\t\t\t<pid>42</pid>\n"));
  const std::string json = ask({"-q", "-j"}, host).text;
  EXPECT_THAT(json, HasSubstr("\"id\": \"00000000:0C:00.0\""));
  EXPECT_THAT(json, HasSubstr("\"total\": \"81920 MiB\""));
  EXPECT_THAT(json, HasSubstr("\"process_info\": [\n"));
}

TEST(Csv, HeaderHasCanonicalNamesAndUnits) {
  const Output out =
      ask({"--query-gpu=gpu_name,clocks.gr,clocks_throttle_reasons.active,memory.total,"
           "power.draw",
           "--format=csv"},
          server("595.80"));
  EXPECT_EQ(out.text,
            "name, clocks.current.graphics [MHz], clocks_event_reasons.active, memory.total [MiB], "
            "power.draw [W]\nNVIDIA Test GPU, [N/A], [N/A], 81920 MiB, 69.85 W\n");
}

// CUDA 11.8's drivers printed the name that was asked for; there was no other yet.
TEST(Csv, BeforeDriver535ReasonsHaveTheirOldNames) {
  const std::vector<std::string> words = {
      "--query-gpu=clocks.gr,clocks_throttle_reasons.sw_power_cap", "--format=csv"};
  EXPECT_THAT(ask(words, server("520.61.05")).text,
              StartsWith("clocks.current.graphics [MHz], clocks_throttle_reasons.sw_power_cap\n"));
  EXPECT_THAT(ask(words, server("535.129.03")).text,
              StartsWith("clocks.current.graphics [MHz], clocks_event_reasons.sw_power_cap\n"));
}

TEST(Csv, NoUnitsKeepsTheUnitInTheHeader) {
  EXPECT_EQ(ask({"--query-gpu=memory.used", "--format=csv,nounits"}, server("595.80")).text,
            "memory.used [MiB]\n10240\n");
  EXPECT_EQ(ask({"--query-gpu=memory.used,index", "--format=csv,noheader"}, server("595.80")).text,
            "10240 MiB, 0\n");
}

TEST(Csv, BareAndBracketedAbsenceAndDeprecatedCells) {
  EXPECT_EQ(ask({"--query-gpu=temperature.memory,fabric.state,serial,power.management",
                 "--format=csv,noheader"},
                server("595.80"))
                .text,
            "N/A, N/A, [N/A], [Requested functionality has been deprecated]\n");
}

TEST(Csv, UnknownFieldFailsTheWholeQuery) {
  const Output out = ask({"--query-gpu=name,colour", "--format=csv"}, server("595.80"));
  EXPECT_EQ(out.text, "Field \"colour\" is not a valid field to query.\n\n");
  EXPECT_EQ(out.code, 2);
}

TEST(Csv, WhatPeopleTypeAndNvidiaSmiRefusesIsAnswered) {
  Snapshot host = server("595.80");
  host.host.software_of(Runtime::cuda).runtime = std::string("13.2");
  host.devices[0].cuda_cores = 16896;
  EXPECT_EQ(ask({"--query-gpu=cuda_version,cuda_cores", "--format=csv"}, host).text,
            "cuda_version, cuda_cores\n13.2, 16896\n");
}

TEST(Csv, AKeyOfOursIsInTheUnitThatItNames) {
  Snapshot host = server("595.80");
  Device& gpu = host.devices[0];
  gpu.energy = Millijoules{23'786'139};
  gpu.details.set(Detail::samples_power_max, Reading<Milliwatts>(Milliwatts{441'370}));
  gpu.details.set(Detail::samples_power_span, Reading<Milliseconds>(Milliseconds{117'960}));
  const std::string keys =
      "--query-gpu=samples_power_max_milliwatts,samples_power_span_milliseconds,"
      "energy_millijoules,memory_used_bytes,power_draw_milliwatts,memory.used";
  EXPECT_EQ(ask({keys, "--format=csv"}, host).text,
            "samples_power_max_milliwatts [mW], samples_power_span_milliseconds [ms], "
            "energy_millijoules [mJ], memory_used_bytes [B], power_draw_milliwatts [mW], "
            "memory.used [MiB]\n441370 mW, 117960 ms, 23786139 mJ, 10737418240 B, 69850 mW, "
            "10240 MiB\n");
  EXPECT_EQ(ask({keys, "--format=csv,noheader,nounits"}, host).text,
            "441370, 117960, 23786139, 10737418240, 69850, 10240\n");
}

TEST(Csv, AKeyWhoseColumnHasNoOtherUnitIsThatColumn) {
  Snapshot host = server("595.80");
  host.devices[0].temperature = 61_celsius;
  host.devices[0].persistence_mode = true;
  EXPECT_EQ(ask({"--query-gpu=temperature_celsius,persistence_mode", "--format=csv"}, host).text,
            "temperature.gpu, persistence_mode\n61, Enabled\n");
}

TEST(Csv, ComputeAppsLeaveTheDesktopOut) {
  Snapshot host = server("595.80");
  host.gpu_processes.push_back(
      {.device = host.devices[0].id, .pid = 7, .use = GpuUse::graphics, .memory = 3_MiB});
  EXPECT_EQ(ask({"--query-compute-apps=pid,name,used_memory", "--format=csv"}, host).text,
            "pid, process_name, used_gpu_memory [MiB]\n42, python, 1024 MiB\n");
}

TEST(Csv, SomeHeadingsNameTheirUnitInOtherWords) {
  EXPECT_THAT(
      ask({"--query-gpu=power_smoothing.curr_profile.ramp_up_rate,bbx.time_run", "--format=csv"},
          server("610.57.04"))
          .text,
      StartsWith("power_smoothing.curr_profile.ramp_up_rate [W/s], "
                 "bbx.time_run [seconds]\n"));
}

TEST(Csv, LostGpuSaysSoInItsCellsAndWithoutHandleInTheExitCode) {
  Snapshot host = server("595.80");
  host.devices[0].lost = true;
  host.devices[0].memory_used = Absent::failed;
  const Output out = ask({"--query-gpu=memory.used", "--format=csv,noheader"}, host);
  EXPECT_EQ(out.text, "[GPU is lost]\n");
  EXPECT_EQ(out.code, 0) << "the driver still says who it is";
  host.devices[0].uuid = Absent::failed;
  EXPECT_EQ(ask({"--query-gpu=memory.used", "--format=csv,noheader"}, host).code, 15);
}

TEST(Csv, ACardThatMustBeResetSaysSoInItsCells) {
  Snapshot host = server("595.80");
  host.devices[0].unusable_because = Unusable::must_be_reset;
  host.devices[0].utilization_gpu = Absent::failed;
  EXPECT_EQ(ask({"--query-gpu=utilization.gpu", "--format=csv,noheader"}, host).text,
            "[GPU requires reset]\n");
}

TEST(Csv, AccountedAppsAndSupportedClocksHaveALineEach) {
  Snapshot host = server("595.80");
  host.devices[0].lists.accounted_processes = std::vector<AccountedProcess>{
      {15727, Percent{71}, Percent{8}, Bytes{0}, Milliseconds{5270}, false}};
  host.devices[0].lists.supported_clocks =
      std::vector<SupportedClocks>{{Megahertz{2619}, {Megahertz{1980}, Megahertz{345}}}};
  EXPECT_EQ(
      ask({"--query-accounted-apps=pid,gpu_util,mem_util,max_memory_usage,time", "--format=csv"},
          host)
          .text,
      "pid, gpu_utilization [%], mem_utilization [%], max_memory_usage [MiB], time [ms]\n"
      "15727, 71 %, 8 %, 0 MiB, 5270 ms\n");
  EXPECT_EQ(ask({"--query-supported-clocks=mem,gr", "--format=csv,noheader"}, host).text,
            "2619 MHz, 1980 MHz\n2619 MHz, 345 MHz\n");
}

TEST(Csv, RetiredPagesSayWhyThereAreNone) {
  Snapshot host = server("595.80");
  host.devices[0].details.put(Detail::retired_pages_single_bit, Cell(Absent::unsupported));
  host.devices[0].details.put(Detail::retired_pages_double_bit, Cell(Absent::unsupported));
  EXPECT_EQ(ask({"--query-retired-pages=retired_pages.address,retired_pages.cause",
                 "--format=csv,noheader"},
                host)
                .text,
            "[N/A], Single Bit ECC\n[N/A], Double Bit ECC\n");
}

TEST(Csv, RemappedRowsHaveALinePerCardAndSayWhatIsNotKnown) {
  Snapshot host = server("595.80");
  Details& details = host.devices[0].details;
  details.set(Detail::remapped_rows_correctable, Reading<std::uint64_t>(3));
  details.set(Detail::remapped_rows_uncorrectable, Reading<std::uint64_t>(0));
  details.set(Detail::remapped_rows_pending, Reading<bool>(true));
  details.set(Detail::remap_banks_max, Reading<std::uint64_t>(2557));
  const std::string columns =
      "--query-remapped-rows=gpu_bus_id,remapped_rows.correctable,remapped_rows.uncorrectable,"
      "remapped_rows.pending,remapped_rows.failure,remapped_rows.histogram.max";
  EXPECT_EQ(ask({columns, "--format=csv"}, host).text,
            "gpu_bus_id, remapped_rows.correctable, remapped_rows.uncorrectable, "
            "remapped_rows.pending, remapped_rows.failure, remapped_rows.histogram.max\n"
            "00000000:0C:00.0, 3, 0, 1, [N/A], 2557\n");
  EXPECT_EQ(ask({"--query-remapped-rows=remapped_rows.colour", "--format=csv"}, host).code, 2);
}

TEST(Help, NamesEveryFieldWithItsAlias) {
  const std::string help = ask({"--help-query-gpu"}, server("595.80")).text;
  EXPECT_THAT(help,
              StartsWith("List of valid properties to query for the switch \"--query-gpu\":"));
  EXPECT_THAT(help, HasSubstr("\"name\" or \"gpu_name\"\n"));
  EXPECT_THAT(help, HasSubstr("\"cuda_cores\"\n"));
  EXPECT_THAT(ask({"--help-query-compute-apps"}, server("595.80")).text,
              HasSubstr("\"used_gpu_memory\" or \"used_memory\"\n"));
}

}  // namespace
}  // namespace berth::smi

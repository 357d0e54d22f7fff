// -q -d SECTION, every section of four generations: what it prints beyond the lines of -q, and in
// which order. The pictures are in goldens/. Where real output of a section was published they have
// its lines in its order. That is POWER of 535.129, 580.65 and 595.71, CLOCK of 580.65, PERFORMANCE
// of 580.95, MEMORY of 535.129.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "smi/dump.h"
#include "smi/smi.h"

namespace berth::smi {
namespace {

constexpr const char* sections[] = {
    "MEMORY",           "UTILIZATION",    "ECC",
    "TEMPERATURE",      "POWER",          "CLOCK",
    "COMPUTE",          "PIDS",           "PERFORMANCE",
    "SUPPORTED_CLOCKS", "ACCOUNTING",     "PAGE_RETIREMENT",
    "ENCODER_STATS",    "VOLTAGE",        "SUPPORTED_GPU_TARGET_TEMP",
    "FBC_STATS",        "ROW_REMAPPER",   "RESET_STATUS",
    "POWER_SMOOTHING",  "POWER_PROFILES", "GSP_FIRMWARE_VERSION"};

/// One card that tells something in each section; labels are those of the newest drivers.
Snapshot card(const std::string& driver) {
  auto snapshot = snapshot_from_dump(
      "\n==============NVSMI LOG==============\n\nTimestamp : Thu Nov 21 18:31:40 2024\n"
      "Driver Version : " +
          driver +
          "\nCUDA Version : 12.0\n\nAttached GPUs : 1\nGPU 00000000:3B:00.0\n"
          "    Product Name : NVIDIA H100 80GB HBM3\n    Product Architecture : Hopper\n"
          "    Accounting Mode : Enabled\n    Accounting Mode Buffer Size : 4000\n"
          "    GSP Firmware Version : 580.95.05\n    Performance State : P0\n"
          "    Clocks Event Reasons\n        Idle : Not Active\n        SW Power Cap : Active\n"
          "    Clocks Event Reasons Counters\n        SW Power Capping : 50284264713 us\n"
          "    FB Memory Usage\n        Total : 81559 MiB\n        Reserved : 551 MiB\n"
          "        Used : 5952 MiB\n        Free : 75056 MiB\n"
          "    BAR1 Memory Usage\n        Total : 131072 MiB\n        Used : 9 MiB\n"
          "    Compute Mode : Default\n    Utilization\n        GPU : 97 %\n        Memory : 31 %\n"
          "    Encoder Stats\n        Active Sessions : 2\n        Average FPS : 60\n"
          "    FBC Stats\n        Active Sessions : 1\n    ECC Mode\n        Current : Enabled\n"
          "    ECC Errors\n        Volatile\n            DRAM Correctable : 3\n"
          "    Retired Pages\n        Single Bit ECC : N/A\n        Double Bit ECC : N/A\n"
          "    Remapped Rows\n        Correctable Error : 1\n        Pending : No\n"
          "    Temperature\n        GPU Current Temp : 61 C\n        GPU T.Limit Temp : 25 C\n"
          "    GPU Power Readings\n        Average Power Draw : 432.10 W\n"
          "        Current Power Limit : 700.00 W\n    Voltage\n        Graphics : 885.000 mV\n"
          "    Clocks\n        Graphics : 1980 MHz\n        SM : 1980 MHz\n"
          "    Max Clocks\n        SM : 1981 MHz\n    Processes : None\n",
      {});
  EXPECT_TRUE(snapshot.has_value()) << snapshot.error().message();
  Details& details = snapshot->devices.at(0).details;
  details.set(Detail::samples_power_span, Reading<Milliseconds>(Milliseconds{117'960}));
  details.set(Detail::samples_power_count, Reading<std::uint64_t>(119));
  details.set(Detail::samples_power_max, Reading<Milliwatts>(Milliwatts{441'370}));
  return *snapshot;
}

std::string section(const Snapshot& host, std::string name) {
  SmiRequest request;
  request.what = SmiRequest::What::query;
  request.sections = {std::move(name)};
  return render_query(host, request, {});
}

/// Each section under its name, without the heading that all of them have.
std::string all_sections(const std::string& driver) {
  const Snapshot host = card(driver);
  std::string all;
  for (const char* name : sections) {
    const std::string text = section(host, name);
    const std::size_t first = text.find("GPU 00000000:3B:00.0\n");
    EXPECT_NE(first, std::string::npos) << text;
    all += std::string("-d ") + name + "\n" + text.substr(first);
  }
  return all;
}

class Sections : public ::testing::TestWithParam<const char*> {};

TEST_P(Sections, AreThoseOfTheDriversGeneration) {
  // __FILE__ may be relative to where the compiler ran, which is where the test program lies.
  const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path() / __FILE__;
  const std::string name = std::string("sections_") + GetParam() + ".txt";
  const auto path = here.parent_path() / "goldens" / name;
  std::ostringstream wanted;
  wanted << std::ifstream(path, std::ios::binary).rdbuf();
  const std::string printed = all_sections(GetParam());
  if (wanted.str() == printed) return;
  const std::string other = ::testing::TempDir() + "berth_golden_" + name;
  std::ofstream(other, std::ios::binary) << printed;
  ADD_FAILURE() << name << " is printed otherwise now:\n"
                << printed << "if this is wanted: cp " << other << " " << path.string();
}

INSTANTIATE_TEST_SUITE_P(Drivers, Sections,
                         ::testing::Values("535.129.03", "580.95.05", "595.71.05", "610.57.04"),
                         [](const auto& driver) {
                           return "Of" + std::string(driver.param).substr(0, 3);
                         });

/// The names of the blocks below the card, in their order.
std::string blocks(const std::string& text) {
  std::istringstream lines(text.substr(text.find("GPU 0")));
  std::string names, line;
  while (std::getline(lines, line)) {
    if (!line.starts_with("    ") || line.starts_with("     ")) continue;
    const std::string name = line.substr(4, line.find(" :") - 4);
    names += name.substr(0, name.find_last_not_of(' ') + 1) + ", ";
  }
  return names;
}

TEST(SectionPower, SamplesStandDirectlyBelowTheReadingsOfTheGpu) {
  EXPECT_EQ(blocks(section(card("470.256.02"), "POWER")), "Power Readings, Power Samples, ");
  EXPECT_EQ(blocks(section(card("535.129.03"), "POWER")),
            "GPU Power Readings, Power Samples, Module Power Readings, ");
  EXPECT_EQ(
      blocks(section(card("580.65.06"), "POWER")),
      "GPU Power Readings, Power Samples, GPU Memory Power Readings, Module Power Readings, ");
  EXPECT_EQ(blocks(section(card("595.71.05"), "POWER")),
            "GPU Power Readings, Power Samples, GPU Memory Power Readings, Module Power Readings, "
            "EDPp Multiplier, ");
}

TEST(SectionClock, SamplesThatTheDriverHasNoneOfAreNotFound) {
  Snapshot host = card("580.65.06");
  Details& details = host.devices.at(0).details;
  details.put(Detail::samples_clock_sm_max, Absent::not_sampled);
  details.put(Detail::samples_clock_memory_max, Absent::unsupported);
  const std::string text = section(host, "CLOCK");
  EXPECT_THAT(text, testing::HasSubstr("    SM Clock Samples\n"
                                       "        Duration                          : Not Found\n"
                                       "        Number of Samples                 : Not Found\n"
                                       "        Max                               : Not Found\n"));
  EXPECT_THAT(text, testing::HasSubstr("        Max                               : N/A\n"));
  const auto again = snapshot_from_dump(text, {});
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->devices.at(0).details.cell(Detail::samples_clock_sm_max),
            Cell(Absent::not_sampled));
}

}  // namespace
}  // namespace berth::smi
